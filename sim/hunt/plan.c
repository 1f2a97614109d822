/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The next round of a hunt. */
#include "hunt/plan.h"

#include "base/alloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    /* Groups of the first round, if there are hosts for them: of two, either may be healthy. */
    LEAST_CUT  = 3,
    CONTROLS   = 2, /* groups of trusted hosts beside those of suspects */
    LEAST_RUNS = 6, /* groups of a size, earlier ones included: what is healthy comes from them */
    SPREAD     = 8, /* hosts from which on one more does not count */
};

/* A host that is as good as known to be bad tells nothing more. */
#define IS_KNOWN 0.9999

/* With noise that leaves many suspects of one bad host, smaller groups would make many runs, and
 * hardly fewer rounds. */
#define MORE_GROUPS 1.5

typedef struct ranked {
    double   p;
    uint32_t kin, host;
} ranked;

typedef struct plan {
    cs_hunt         *hunt;
    const cs_belief *belief;
    ranked          *hosts; /* by what is believed of them, the most suspected first */
    uint32_t         n;     /* without those that are known to be bad */
    uint32_t         suspects;
    double           effective; /* so many suspects of the same probability are as uncertain */
    double           expected;  /* so many of the suspects are bad */
    uint32_t         size, n_groups;
} plan;

static int compare_ranked(const void *a, const void *b)
{
    const ranked *x = a, *y = b;

    if (x->p != y->p) {
        return x->p > y->p ? -1 : 1;
    }
    if (x->kin != y->kin) {
        return x->kin < y->kin ? -1 : 1;
    }
    return x->host < y->host ? -1 : x->host > y->host;
}

/* Put the hosts in order, and say how many of them are to be looked at. */
static void rank_hosts(plan *p)
{
    const cs_hunt *hunt = p->hunt;
    double         left = 0, taken = 0, entropy = 0;
    double         spare = (1 - hunt->setting.confidence) / 4;

    for (uint32_t i = 0; i < hunt->n_hosts; i++) {
        double host_p = p->belief->host_p[i];
        if (hunt->n_rails == 0 && host_p > IS_KNOWN) {
            continue;
        }
        p->hosts[p->n++] = (ranked){host_p, p->belief->kin[i], i};
        left += host_p;
    }
    qsort(p->hosts, p->n, sizeof *p->hosts, compare_ranked);
    while (p->suspects < p->n && (p->suspects == 0 || left > spare)) {
        left -= p->hosts[p->suspects].p;
        taken += p->hosts[p->suspects++].p;
    }
    for (uint32_t i = 0; i < p->suspects && taken > 0; i++) {
        double share = p->hosts[i].p / taken;
        entropy -= share > 0 ? share * log(share) : 0;
    }
    p->effective = exp(entropy);
    p->expected  = taken;
}

/* Groups of a size that have run already. */
static uint32_t n_run(const cs_hunt *hunt, uint32_t size)
{
    uint32_t n = 0;

    for (uint32_t t = 0; t < hunt->n_rounds; t++) {
        n += hunt->rounds[t]->size == size ? hunt->rounds[t]->n_groups : 0;
    }
    return n;
}

static void choose_size(plan *p)
{
    const cs_hunt *hunt  = p->hunt;
    uint32_t       fixed = hunt->setting.group, n = p->n;
    double         wanted = sqrt((double)n * hunt->setting.bad);
    uint32_t       last   = hunt->n_rounds > 0 ? hunt->rounds[hunt->n_rounds - 1]->size : 0;

    if (fixed > 0) {
        p->size = fixed;
    } else if (hunt->n_rounds == 0) {
        p->size = (uint32_t)(n / wanted + 0.5);
        p->size = p->size < n / LEAST_CUT ? p->size : n / LEAST_CUT;
    } else {
        const uint32_t held = n / last; /* groups of the last round's size */
        wanted              = fmin(p->effective * 0.95, fmax(1, p->expected) * MORE_GROUPS * held);
        wanted              = fmax(1, floor(wanted + 0.5));
        p->size             = held >= wanted ? last : (uint32_t)(n / wanted);
    }
    p->size     = p->size < 2 ? 2 : p->size;
    p->size     = p->size > n ? n : p->size;
    p->n_groups = n / p->size;
    if (hunt->n_rounds > 0) {
        uint32_t seen = n_run(hunt, p->size), needed = p->suspects + CONTROLS;
        uint32_t least = seen < LEAST_RUNS ? LEAST_RUNS - seen : 0;
        needed         = needed > least ? needed : least;
        p->n_groups    = p->n_groups < needed ? p->n_groups : needed;
    }
}

/* The first round: neighbours stay together, and what does not divide is spread. */
static void cut(const plan *p, cs_hunt_round *round)
{
    uint32_t n = p->size >= SPREAD ? p->n : p->n_groups * p->size;

    for (uint32_t i = 0; i < n; i++) {
        round->group_of[i] = (uint32_t)((uint64_t)i * p->n_groups / n);
    }
}

/* Deal the suspects out, to and fro, then fill up with the others in the order of hosts; `shift`
 * turns the order. */
static void deal(const plan *p, uint32_t shift, uint32_t *room, cs_hunt_round *round)
{
    uint32_t groups = p->n_groups, group = 0, most = groups * p->size;

    for (uint32_t i = 0; i < p->hunt->n_hosts; i++) {
        round->group_of[i] = CS_HUNT_IDLE;
    }
    for (uint32_t g = 0; g < groups; g++) {
        room[g] = p->size;
    }
    uint32_t n = p->suspects < most ? p->suspects : most;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t lap = i / groups, at = i % groups;
        uint32_t to                                        = lap % 2 == 0 ? at : groups - 1 - at;
        round->group_of[p->hosts[(i + shift) % p->n].host] = to;
        room[to]--;
    }
    for (uint32_t i = 0; i < p->n; i++) {
        uint32_t host = p->hosts[(i + n + shift) % p->n].host;
        if (round->group_of[host] != CS_HUNT_IDLE) {
            break;
        }
        while (group < groups && room[group] == 0) {
            group++;
        }
        if (group == groups) {
            break;
        }
        round->group_of[host] = group;
        room[group]--;
    }
}

/* Were the same hosts together before, so that the round would tell nothing new? */
static bool is_repeated(const cs_hunt *hunt, const cs_hunt_round *round)
{
    for (uint32_t t = 0; t + 1 < hunt->n_rounds; t++) {
        if (memcmp(hunt->rounds[t]->group_of, round->group_of,
                   hunt->n_hosts * sizeof *round->group_of) == 0) {
            return true;
        }
    }
    return false;
}

static int compare_hosts(const void *a, const void *b)
{
    const ranked *x = a, *y = b;

    return x->host < y->host ? -1 : x->host > y->host;
}

static cs_status add(plan *p, cs_error *err)
{
    cs_hunt_round *round = NULL;
    uint32_t      *room  = CS_NEW(uint32_t, p->n_groups);

    if (room == NULL) {
        return CS_NO_MEMORY(err, "%u groups", p->n_groups);
    }
    cs_status status = cs_hunt_add_round(p->hunt, p->n_groups, p->size, &round, err);
    if (status == CS_OK && p->hunt->n_rounds == 1) {
        cut(p, round);
    } else if (status == CS_OK) {
        qsort(p->hosts + p->suspects, p->n - p->suspects, sizeof *p->hosts, compare_hosts);
        uint32_t shift = 0;
        do {
            deal(p, shift++, room, round);
        } while (p->suspects > p->n_groups && shift < p->n && shift < SPREAD &&
                 is_repeated(p->hunt, round));
    }
    cs_free(room);
    return status;
}

cs_status cs_hunt_plan(cs_hunt *hunt, const cs_belief *belief, cs_error *err)
{
    plan      p = {.hunt = hunt, .belief = belief};
    cs_status status;

    p.hosts = CS_NEW(ranked, hunt->n_hosts);
    if (p.hosts == NULL) {
        return CS_NO_MEMORY(err, "%u hosts", hunt->n_hosts);
    }
    rank_hosts(&p);
    if (p.n < 2) {
        status =
            CS_FAIL(err, CS_EINVAL, "hosts", "are all bad, as it seems: nothing is left to run");
    } else {
        choose_size(&p);
        status = add(&p, err);
    }
    cs_free(p.hosts);
    return status;
}
