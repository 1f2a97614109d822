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

void cs_fault_check(cs_reading *r, const cs_place *place, const char *or_else, cs_fault *fault)
{
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
