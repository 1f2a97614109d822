/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Faults of single NICs and of whole servers, together: closed forms, and random lists against what
 * the hardware has at a moment, counted naively. */
#include "base/alloc.h"
#include "base/arena.h"
#include "cs/scenario.h"
#include "scenario/fault.h"
#include "support/rng.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { MOST_NICS = 6, MOST_GPUS = 8, MOST_FAULTS = 7, CASES = 3000, MOMENTS = 25 };

#define NEVER ((double)INFINITY)

/* Servers of g GPUs, with a NIC each unless the tables say otherwise. */
typedef struct setting {
    cs_cluster     cluster;
    double         rate_Bps[MOST_NICS];
    uint32_t       first[MOST_GPUS], count[MOST_GPUS], order[MOST_NICS];
    cs_nics        nics;
    const cs_nics *each[3];
    cs_fault       faults[MOST_FAULTS];
    size_t         n;
} setting;

static setting servers_of(uint32_t g)
{
    return (setting){.cluster = {.n_ranks         = 3 * g,
                                 .gpus_per_server = g,
                                 .fabrics = {{CS_SWITCHED, 1e-6, 50e9}, {CS_SWITCHED, 0, 450e9}}}};
}

static cs_fault *add(setting *s, uint32_t server, uint32_t nic, double slowdown, double from_s,
                     double until_s)
{
    cs_fault *f = &s->faults[s->n++];
    uint32_t  g = s->cluster.gpus_per_server;

    *f = (cs_fault){.is_nic   = nic != UINT32_MAX,
                    .server   = server,
                    .nic      = nic,
                    .value    = slowdown,
                    .capacity = {server * g, slowdown, from_s, until_s, false}};
    return f;
}

/* Merge, and look at the result as a scenario. */
static cs_status merge(const setting *s, cs_arena *arena, cs_scenario *scenario, size_t *wrong,
                       cs_error *err)
{
    cs_capacity *steps = NULL;
    size_t       n     = 0;
    cs_status status = cs_faults_merge(&s->cluster, s->faults, s->n, CS_KEEPS_A_NIC, arena, &steps,
                                       &n, wrong, err);

    *scenario = (cs_scenario){.collective = CS_ALLREDUCE,
                              .bytes      = 1024,
                              .cluster    = s->cluster,
                              .capacity   = steps,
                              .n_capacity = n};
    return status;
}

static double slowdown_of(const cs_scenario *scenario, uint32_t rank, double time_s)
{
    size_t             n;
    const cs_capacity *steps = cs_capacity_of(scenario, rank, &n);
    return cs_slowdown_at(steps, n, time_s);
}

static void expect_slow(const setting *s, uint32_t rank, double time_s, double want)
{
    cs_arena    arena = {0};
    cs_scenario scenario;
    size_t      wrong;
    cs_error    err = {0};

    cr_assert_eq(merge(s, &arena, &scenario, &wrong, &err), CS_OK, "%s", err.message);
    cr_assert_eq(cs_scenario_check(&scenario, &err), CS_OK, "%s", err.message);
    double is = slowdown_of(&scenario, rank, time_s);
    cr_assert(is == want, "rank %u at %g: %.17g, not %.17g", rank, time_s, is, want);
    cs_arena_free(&arena);
}

/* k of g NICs dead, pooled: g / (g - k); to the last digit what --slow g/(g-k) says. */
Test(fault_merge, dead_nics_leave_the_rest)
{
    for (uint32_t g = 2; g <= MOST_GPUS; g++) {
        setting s = servers_of(g);
        for (uint32_t k = 1; k < g && k < MOST_FAULTS; k++) {
            add(&s, 1, k, NEVER, 0, NEVER);
            expect_slow(&s, g + g - 1, 0, (double)g / (g - k));
            expect_slow(&s, 0, 0, 1);
            expect_slow(&s, 2 * g, 0, 1);
        }
    }
}

/* A dead one and one that has 1/l left: 8 / (8 - 1 - (1 - 1/l)); a slow server on top multiplies.
 */
Test(fault_merge, deficits_add_up_and_servers_multiply)
{
    setting s = servers_of(8);

    add(&s, 0, 3, NEVER, 1, 4);
    add(&s, 0, 5, 2, 2, 5);
    add(&s, 0, UINT32_MAX, 1.5, 3, 6);
    expect_slow(&s, 0, 0.5, 1);
    expect_slow(&s, 0, 1, 8.0 / 7);
    expect_slow(&s, 7, 2, 8 / 6.5);
    expect_slow(&s, 3, 3, 8 / 6.5 * 1.5);
    expect_slow(&s, 3, 4, 8 / 7.5 * 1.5);
    expect_slow(&s, 3, 5, 1.5);
    expect_slow(&s, 3, 6, 1);
    add(&s, 0, 5, 2, 0, NEVER); /* another reason for the same NIC */
    expect_slow(&s, 3, 2, 8 / 6.25);
}

/* A neighbour is shared by two; who follows a dead neighbour goes on to the next one. */
Test(fault_merge, neighbours_and_nobody)
{
    setting s = servers_of(4);

    add(&s, 1, 3, NEVER, 0, NEVER)->failover = CS_FAILOVER_NEIGHBOUR;
    expect_slow(&s, 7, 0, 2);
    expect_slow(&s, 4, 0, 2);
    expect_slow(&s, 5, 0, 1);
    add(&s, 1, 0, NEVER, 0, NEVER)->failover = CS_FAILOVER_NEIGHBOUR;
    for (uint32_t rank = 4; rank < 8; rank++) {
        expect_slow(&s, rank, 0, rank == 6 ? 1 : 3);
    }
    add(&s, 1, 1, 2, 0, NEVER)->failover = CS_FAILOVER_NEIGHBOUR;
    expect_slow(&s, 4, 0, 6);
    for (size_t i = 0; i < s.n; i++) {
        s.faults[i].failover = CS_FAILOVER_NONE;
    }
    expect_slow(&s, 4, 0, NEVER);
    expect_slow(&s, 5, 0, 2);
    expect_slow(&s, 6, 0, 1);
}

static void expect_refused(const setting *s, size_t wrong, const char *key, const char *words)
{
    cs_arena    arena = {0};
    cs_scenario scenario;
    size_t      is  = SIZE_MAX;
    cs_error    err = {0};

    cr_assert_eq(merge(s, &arena, &scenario, &is, &err), CS_EINVAL, "%s", words);
    cr_assert_eq(is, wrong, "%s: fault %zu", err.message, is);
    cr_assert_str_eq(err.where, key);
    cr_assert_not_null(strstr(err.message, words), "%s", err.message);
    cs_arena_free(&arena);
}

Test(fault_merge, what_leaves_nothing_is_refused)
{
    setting s = servers_of(1);

    add(&s, 2, 0, NEVER, 0, NEVER);
    expect_refused(&s, 0, "nic", "the last NIC of server 2 dies, which has 1 for its 1 GPU:");
    s = servers_of(2);
    add(&s, 0, 0, NEVER, 5, 6);
    add(&s, 0, 1, NEVER, 0, 5);
    expect_slow(&s, 0, 5, 2);
    s.faults[1].capacity.until_s = 5.5;
    expect_refused(&s, 0, "nic", "the last NIC");
    s.faults[0].failover = s.faults[1].failover = CS_FAILOVER_NONE;
    expect_refused(&s, 0, "nic", "the last NIC");
    s.faults[1].failover         = CS_FAILOVER_NEIGHBOUR;
    s.faults[1].capacity.until_s = 1;
    expect_refused(&s, 1, "failover", "neighbour, but none for NIC 0 of server 0");
}

/* ---- random lists against a count ---- */

/* NICs that several GPUs have, and GPUs that have several. */
static void choose_nics(setting *s, ct_rng *rng)
{
    uint32_t g = s->cluster.gpus_per_server, n = 1 + ct_below(rng, MOST_NICS);

    for (uint32_t i = 0; i < n; i++) {
        s->rate_Bps[i] = ct_below(rng, 2) == 0 ? 50e9 : 25e9 * (1 + ct_below(rng, 4));
        s->order[i]    = (i + 1) % n;
    }
    for (uint32_t gpu = 0; gpu < g; gpu++) {
        s->first[gpu] = ct_below(rng, n);
        s->count[gpu] = 1 + ct_below(rng, n - s->first[gpu]);
    }
    s->nics = (cs_nics){n, s->rate_Bps, s->first, s->count, s->order, false};
    for (size_t i = 0; i < 3; i++) {
        s->each[i] = &s->nics;
    }
    s->cluster.nics = s->each;
}

static uint32_t place(const setting *s, uint32_t gpu, uint32_t k)
{
    return s->cluster.nics != NULL ? s->order[s->first[gpu] + k] : gpu;
}

static uint32_t places(const setting *s, uint32_t gpu)
{
    return s->cluster.nics != NULL ? s->count[gpu] : 1;
}

/* What a NIC carries at a moment, in its own rate. */
static double left_of(const setting *s, uint32_t server, uint32_t nic, double time_s)
{
    double left = 1;

    for (size_t i = 0; i < s->n; i++) {
        const cs_fault *f     = &s->faults[i];
        bool            holds = f->is_nic && f->server == server && f->nic == nic &&
                     f->capacity.from_s <= time_s && time_s < f->capacity.until_s;
        left /= holds ? f->capacity.slowdown : 1;
    }
    return left * (s->cluster.nics != NULL ? s->rate_Bps[nic] : 1);
}

static uint32_t use_of(const setting *s, uint32_t server, uint32_t nic, int failover, double time_s)
{
    uint32_t n = cs_n_nics(&s->cluster, server);

    for (uint32_t k = 0; failover == CS_FAILOVER_NEIGHBOUR && k < n; k++) {
        uint32_t next = (nic + k) % n;
        if (cs_nic_is_used(&s->cluster, server, next) && left_of(s, server, next, time_s) > 0) {
            return next;
        }
    }
    return nic;
}

/* What a GPU has of the NICs that it uses, each divided by all its uses. */
static double port_at(const setting *s, uint32_t server, uint32_t gpu, int failover, double time_s)
{
    double sum = 0;

    for (uint32_t k = 0; k < places(s, gpu); k++) {
        uint32_t mine = use_of(s, server, place(s, gpu, k), failover, time_s), users = 0;
        for (uint32_t other = 0; other < s->cluster.gpus_per_server; other++) {
            for (uint32_t j = 0; j < places(s, other); j++) {
                users += use_of(s, server, place(s, other, j), failover, time_s) == mine;
            }
        }
        sum += left_of(s, server, mine, time_s) / users;
    }
    return sum;
}

static double oracle(const setting *s, uint32_t rank, int failover, double time_s)
{
    uint32_t g = s->cluster.gpus_per_server, server = rank / g;
    double   slow = 1, before = 0, now = 0;

    for (size_t i = 0; i < s->n; i++) {
        const cs_fault *f     = &s->faults[i];
        bool            holds = !f->is_nic && f->server == server && f->capacity.from_s <= time_s &&
                     time_s < f->capacity.until_s;
        slow *= holds ? f->capacity.slowdown : 1;
    }
    if (failover != CS_FAILOVER_POOL) {
        before = port_at(s, server, rank % g, CS_FAILOVER_NONE, -1);
        now    = port_at(s, server, rank % g, failover, time_s);
    }
    for (uint32_t nic = 0; failover == CS_FAILOVER_POOL && nic < cs_n_nics(&s->cluster, server);
         nic++) {
        bool is_used = cs_nic_is_used(&s->cluster, server, nic);
        before += is_used ? left_of(s, server, nic, -1) : 0;
        now += is_used ? left_of(s, server, nic, time_s) : 0;
    }
    return slow * fmax(1, before / now);
}

static uint32_t choose_used(const setting *s, ct_rng *rng)
{
    uint32_t nic;

    do {
        nic = ct_below(rng, cs_n_nics(&s->cluster, 0));
    } while (!cs_nic_is_used(&s->cluster, 0, nic));
    return nic;
}

/* Faults on a few times, so that many begin and end together. */
static void choose_faults(setting *s, ct_rng *rng, int failover)
{
    size_t n = 1 + ct_below(rng, MOST_FAULTS);

    for (size_t i = 0; i < n; i++) {
        bool      is_nic = ct_below(rng, 4) > 0, is_dead = is_nic && ct_below(rng, 3) == 0;
        double    slow    = is_dead ? NEVER : 1 + ct_below(rng, 8) / 4.0;
        double    from_s  = ct_below(rng, 5);
        double    until_s = ct_below(rng, 3) == 0 ? NEVER : from_s + 1 + ct_below(rng, 3);
        uint32_t  server  = ct_below(rng, 3);
        cs_fault *f =
            add(s, server, is_nic ? choose_used(s, rng) : UINT32_MAX, slow, from_s, until_s);
        f->failover = is_nic ? failover : 0;
    }
}

/* Is it refused exactly where a server has a moment without any NIC? */
static bool has_lost_server(const setting *s)
{
    bool is_lost = false;

    for (uint32_t server = 0; server < 3; server++) {
        for (double t = 0; t < 12; t++) {
            is_lost = is_lost ||
                      isinf(oracle(s, server * s->cluster.gpus_per_server, CS_FAILOVER_POOL, t));
        }
    }
    return is_lost;
}

Test(fault_merge, random_faults_are_what_is_counted)
{
    ct_rng   rng     = ct_rng_for(20261);
    uint32_t refused = 0, cut = 0;

    for (int i = 0; i < CASES; i++) {
        setting     s        = servers_of(1 + ct_below(&rng, MOST_GPUS));
        int         failover = (int)ct_below(&rng, CS_FAILOVERS);
        cs_arena    arena    = {0};
        cs_scenario scenario;
        size_t      wrong;
        cs_error    err = {0};

        if (ct_below(&rng, 2) == 0) {
            choose_nics(&s, &rng);
        }
        choose_faults(&s, &rng, failover);
        cs_status status = merge(&s, &arena, &scenario, &wrong, &err);
        cr_assert_eq(status == CS_OK, !has_lost_server(&s), "case %d: %s", i, err.message);
        refused += status != CS_OK;
        if (status == CS_OK) {
            cr_assert_eq(cs_scenario_check(&scenario, &err), CS_OK, "case %d: %s", i, err.message);
            cut += cs_capacity_cuts_off(&scenario);
        }
        for (int k = 0; status == CS_OK && k < MOMENTS; k++) {
            double   time_s = ct_below(&rng, 24) / 2.0;
            uint32_t rank   = ct_below(&rng, s.cluster.n_ranks);
            double   is     = slowdown_of(&scenario, rank, time_s),
                   want     = oracle(&s, rank, failover, time_s);
            bool is_same    = is == want || fabs(is - want) <= 1e-12 * want;
            cr_assert(is_same, "case %d, rank %u at %g: %.17g, not %.17g", i, rank, time_s, is,
                      want);
        }
        cs_arena_free(&arena);
    }
    cr_expect_gt(refused, CASES / 50);
    cr_expect_gt(cut, CASES / 50);
}

/* The order of the list says nothing. */
Test(fault_merge, the_order_of_faults_does_not_matter)
{
    ct_rng rng = ct_rng_for(7);

    for (int i = 0; i < 200; i++) {
        setting     s     = servers_of(4), turned;
        cs_arena    arena = {0};
        cs_scenario a, b;
        size_t      wrong;

        choose_faults(&s, &rng, (int)ct_below(&rng, CS_FAILOVERS));
        turned = s;
        for (size_t k = 0; k < s.n; k++) {
            turned.faults[k] = s.faults[s.n - 1 - k];
        }
        cs_status status = merge(&s, &arena, &a, &wrong, NULL);
        cr_assert_eq(merge(&turned, &arena, &b, &wrong, NULL), status);
        cr_assert_eq(status == CS_OK ? a.n_capacity : 0, status == CS_OK ? b.n_capacity : 0);
        for (size_t k = 0; status == CS_OK && k < a.n_capacity; k++) {
            const cs_capacity *x = &a.capacity[k], *y = &b.capacity[k];
            cr_assert(x->rank == y->rank && x->slowdown == y->slowdown && x->from_s == y->from_s &&
                      x->until_s == y->until_s && x->is_single == y->is_single);
        }
        cs_arena_free(&arena);
    }
}

/* Out of memory, wherever it is: said, and nothing is leaked. */
Test(fault_merge, no_memory)
{
    setting s = servers_of(4);

    add(&s, 0, 0, NEVER, 0, NEVER)->failover = CS_FAILOVER_NEIGHBOUR;
    add(&s, 0, UINT32_MAX, 2, 1, 2);
    for (long passes = 0, failed = 1; failed; passes++) {
        cs_arena    arena = {0};
        cs_scenario scenario;
        size_t      wrong;
        cs_error    err = {0};

        cs_alloc_fail_after(passes);
        cs_status status = merge(&s, &arena, &scenario, &wrong, &err);
        cs_alloc_fail_after(-1);
        failed = status == CS_ENOMEM;
        cr_assert(failed || (status == CS_OK && passes > 5), "%ld: %s", passes, err.message);
        cs_arena_free(&arena);
    }
}
