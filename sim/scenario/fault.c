/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The kinds of faults, from faults.def, and what the keys of a fault mean together. */
#include "scenario/fault.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const keys[CS_FAULT_KINDS] = {
#define CS_FAULT(kind, key, ...) [CS_FAULT_##kind] = (key),
#include "scenario/faults.def"
#undef CS_FAULT
};

const char *cs_failover_name(cs_failover failover)
{
    static const char *const names[] = {
#define X(id, name) name,
        CS_FAILOVER_MAP(X)
#undef X
    };
    return names[failover];
}

const char *cs_fault_key(cs_fault_kind kind)
{
    return keys[kind];
}

double cs_fault_slowdown(cs_fault_kind kind, double value)
{
    switch (kind) {
#define CS_FAULT(kind, key, least, most, slowdown, ...) \
    case CS_FAULT_##kind:                               \
        return isinf(value) ? value : (slowdown);
#include "scenario/faults.def"
#undef CS_FAULT
    case CS_FAULT_KINDS: break;
    }
    return (double)NAN;
}

static void refuse_none(cs_reading *r, const cs_place *place, const char *or_else)
{
    char names[200] = "";

    for (size_t kind = 0; kind < CS_FAULT_KINDS; kind++) {
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s'%s'", kind > 0 ? " or " : "", keys[kind]);
    }
    CS_REFUSE(r, place, CS_EINVAL, "the key %s%s is missing", names, or_else);
}

/* A NIC that is there, and that a GPU uses. */
static void check_nic(cs_reading *r, const cs_place *place, cs_fault *fault)
{
    const cs_cluster *c      = r->cluster;
    cs_place          server = cs_place_get(place, "server"), nic = cs_place_get(place, "nic");

    if (fault->server >= cs_n_servers(c)) {
        CS_REFUSE(r, &server, CS_EINVAL, "server %u is not there: accepted are 0 to %u",
                  fault->server, cs_n_servers(c) - 1);
        return;
    }
    uint32_t n = cs_n_nics(c, fault->server);
    if (n == 0) {
        CS_REFUSE(r, &nic, CS_EINVAL, "servers have no NICs");
        return;
    }
    if (fault->nic >= n) {
        CS_REFUSE(r, &nic, CS_EINVAL, "NIC %u is not there: server %u has %u, 0 to %u", fault->nic,
                  fault->server, n, n - 1);
        return;
    }
    if (!cs_nic_is_used(c, fault->server, fault->nic)) {
        CS_REFUSE(r, &nic, CS_EINVAL,
                  "NIC %u is used by none of the %u GPUs, which use those nearest to them: nothing "
                  "changes",
                  fault->nic, cs_server_gpus(c, fault->server));
        return;
    }
    fault->is_nic        = true;
    fault->capacity.rank = cs_server_first(c, fault->server);
}

/* All NICs of a rank's server, or one NIC. */
static void check_who(cs_reading *r, const cs_place *place, cs_fault *fault)
{
    static const char *const of_nic[] = {"server", "failover"};
    cs_place                 rank     = cs_place_get(place, "rank");
    bool                     has_nic  = cs_place_has(place, "nic");

    if (has_nic && rank.node != NULL) {
        CS_REFUSE(
            r, &rank, CS_EINVAL,
            "is for all NICs of the rank's server, and 'nic' for one: accepted is one of them");
    } else if (has_nic && !cs_place_has(place, "server")) {
        cs_read_required(r, place, "server");
    } else if (has_nic) {
        check_nic(r, place, fault);
    }
    for (size_t i = 0; i < sizeof of_nic / sizeof of_nic[0] && !has_nic; i++) {
        cs_place key = cs_place_get(place, of_nic[i]);
        if (key.node != NULL && !cs_reading_failed(r)) {
            CS_REFUSE(r, &key, CS_EINVAL, "is accepted together with 'nic', for one NIC");
        }
    }
    if (!has_nic && rank.node == NULL && !cs_reading_failed(r)) {
        cs_read_required(r, place, "rank");
    }
}

void cs_fault_check(cs_reading *r, const cs_place *place, const char *or_else, cs_fault *fault)
{
    check_who(r, place, fault);
    fault->kind              = CS_FAULT_KINDS;
    fault->capacity.slowdown = (double)INFINITY;
    for (cs_fault_kind kind = 0; kind < CS_FAULT_KINDS; kind++) {
        cs_place key = cs_place_get(place, keys[kind]);
        if (key.node == NULL) {
            continue;
        }
        if (fault->kind != CS_FAULT_KINDS) {
            CS_REFUSE(r, &key, CS_EINVAL,
                      "says what the NICs have, and so does '%s': accepted is "
                      "one of them",
                      keys[fault->kind]);
        }
        fault->kind              = kind;
        fault->capacity.slowdown = cs_fault_slowdown(kind, fault->value);
    }
    if (fault->kind == CS_FAULT_KINDS && or_else != NULL) {
        refuse_none(r, place, or_else);
    }
}

void cs_fault_check_span(cs_reading *r, const cs_place *place, const cs_fault *fault)
{
    cs_place until  = cs_place_get(place, "until");
    double   from_s = fault->capacity.from_s, until_s = fault->capacity.until_s;

    if (!(until_s > from_s)) {
        CS_REFUSE(r, &until, CS_EINVAL,
                  "%.15g s is not after the begin at %.15g s: accepted are later times and null",
                  until_s, from_s);
    }
}

void cs_fault_refuse(cs_reading *r, const cs_place *list, size_t index, const cs_error *wrong)
{
    cs_place item = cs_place_item(list, index), key = cs_place_get(&item, wrong->where);

    CS_REFUSE(r, key.node != NULL ? &key : &item, wrong->status, "%s", wrong->message);
}
