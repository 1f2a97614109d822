/* SPDX-License-Identifier: GPL-3.0-or-later */
/* AdapCC under relay control, on networks: every contribution is in every sum once, whoever is
 * late; relays join chunk by chunk; the coordinator decides as on paper; all models agree. */
#include "algorithms/adapcc/adapcc.h"
#include "algorithms/adapcc/late.h"
#include "base/alloc.h"
#include "cs/recording.h"
#include "cs/result.h"
#include "support/port_network.h"
#include "support/rng.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#define ROOT CS_TREE_ROOT
#define MIB  ((uint64_t)1 << 20)

enum { MOST_RANKS = 32 };

/* What a run has decided: a copy. */
typedef struct seen {
    cs_relay_setting      setting;
    cs_relay_times        times; /* without lists */
    cs_relay_worker_times workers[MOST_RANKS];
    uint32_t              n_told;
} seen;

static void see(void *user, const void *decisions)
{
    const cs_late_decisions *d = decisions;
    seen                    *s = user;

    s->n_told++;
    s->setting = d->given.setting;
    s->times   = d->times;
    memcpy(s->workers, d->times.workers, d->given.setting.n_ranks * sizeof *s->workers);
    s->times.workers = NULL;
}

static cs_scenario make_scenario(cs_collective collective, uint32_t n, uint32_t g, uint64_t bytes,
                                 const double *arrival_s)
{
    cs_scenario s = {.collective = collective, .bytes = bytes, .seed = 1, .arrival_s = arrival_s};

    s.cluster                    = (cs_cluster){.n_ranks = n, .gpus_per_server = g};
    s.cluster.fabrics[CS_NIC]    = (cs_fabric){CS_SWITCHED, 20e-6, 12.5e9};
    s.cluster.fabrics[CS_NVLINK] = (cs_fabric){CS_DIRECT, 5e-6, 100e9};
    return s;
}

static cs_adapcc_options make_options(uint32_t trees, uint32_t chunk, int relay)
{
    return (cs_adapcc_options){
        .trees = trees, .chunk = chunk, .moves = 3, .relay = relay, .cycle_s = CS_RELAY_CYCLE_S};
}

static cs_job make_job(const cs_scenario *scenario, const cs_adapcc_options *options,
                       const char *model)
{
    const cs_algorithm *adapcc = NULL;
    const cs_model     *found  = NULL;
    cs_job              job    = {.scenario = *scenario, .verify = true};

    cr_assert_eq(cs_algorithm_find("adapcc", &adapcc, NULL), CS_OK);
    cr_assert_eq(cs_model_find(model, &found, NULL), CS_OK);
    cs_job_set_algorithm(&job, adapcc, options);
    cs_job_set_model(&job, found, NULL);
    return job;
}

/* What must hold of every run. */
static cs_result run_job(const cs_job *job, seen *s)
{
    const cs_observer observer = {.decided = see, .user = s};
    cs_result         r;
    cs_error          err = {0};

    *s = (seen){.n_told = 0};
    cr_assert_eq(cs_job_run(job, &observer, 1, &r, &err), CS_OK, "%s", err.message);
    cr_assert(r.verified, "%s", r.verdict.text);
    cr_assert_eq(s->n_told, 1u);
    cr_assert_geq(r.elapsed_s, r.bound_s * (1 - 1e-9), "%s", r.bound);
    cr_assert_geq(r.elapsed_s, cs_last_arrival(&job->scenario) * (1 - 1e-12));
    for (uint32_t i = 0; i < job->scenario.cluster.n_ranks; i++) {
        const cs_relay_worker_times *w = &s->workers[i];
        cr_assert(w->role == CS_WORKER_ACTIVE || w->role == CS_WORKER_DONE);
        cr_assert(w->missing_bytes >= 0 && w->missing_bytes <= (double)job->scenario.bytes);
        if (w->role == CS_WORKER_ACTIVE) {
            cr_assert_leq(cs_arrival(&job->scenario, i), s->times.decided_s);
            cr_assert_eq(w->missing_bytes, 0);
        } else if (!isnan(w->from_s)) {
            cr_assert_geq(w->from_s, cs_arrival(&job->scenario, i) * (1 - 1e-12));
            cr_assert_geq(w->from_s, s->times.phase1_end_s * (1 - 1e-12));
        } else {
            cr_assert(w->missing_bytes == 0 || job->scenario.collective == CS_REDUCE);
        }
    }
    return r;
}

static void draw_late(ct_rng *rng, uint32_t n, uint32_t mask, double *arrival_s)
{
    for (uint32_t i = 0; i < n; i++) {
        bool is_late = (mask >> i & 1u) != 0;
        arrival_s[i] = !is_late                ? 0
                       : ct_below(rng, 4) == 0 ? ct_uniform(rng, 0, 0.3)
                                               : ct_uniform(rng, 0, 0.03);
    }
}

static void draw_options(ct_rng *rng, cs_adapcc_options *o)
{
    *o            = make_options(1 + ct_below(rng, 4), 1u << (16 + ct_below(rng, 5)),
                                 1 + (int)ct_below(rng, 2));
    o->one_starts = ct_below(rng, 2) == 1;
    o->rpc        = (int)ct_below(rng, 2);
    o->rpc_s      = ct_below(rng, 2) == 1 ? 1e-3 : 0;
    o->join       = (int)ct_below(rng, 3);
    o->volumes    = (int)ct_below(rng, 3);
}

/* All start at once: phase 1 is the schedule without control. */
Test(adapcc_late, nobody_who_is_late_costs_nothing)
{
    static const char *const models[]      = {"alpha-beta", "loggp", "flow"};
    double                   arrival_s[16] = {0};
    ct_rng                   rng           = ct_rng_for(1204);

    for (uint32_t i = 0; i < 24; i++) {
        uint32_t          g = 1 + ct_below(&rng, 2), n = g * (3 + ct_below(&rng, 6));
        cs_collective     collective = i % 4 == 3 ? CS_REDUCE : CS_ALLREDUCE;
        cs_adapcc_options o          = make_options(1 + ct_below(&rng, 4), 1u << 20, 0);
        cs_scenario       scenario   = make_scenario(collective, n, g, 64000000, arrival_s);
        cs_job            job        = make_job(&scenario, &o, models[i % 3]);
        cs_result         off;
        seen              s;

        cr_assert_eq(cs_job_run(&job, NULL, 0, &off, NULL), CS_OK);
        o.relay = 1 + (int)ct_below(&rng, 2);
        job     = make_job(&scenario, &o, models[i % 3]);
        cr_assert_eq(run_job(&job, &s).elapsed_s, off.elapsed_s, "%s, %u ranks", models[i % 3], n);
    }
}

/* Runs with some late ranks: those that were late, that joined phase 1, and runs of one rank. */
typedef struct tally {
    uint32_t n_late, n_joined, n_lone;
} tally;

static void run_late(ct_rng *rng, uint32_t n, uint32_t mask, int join, tally *count)
{
    double            arrival_s[MOST_RANKS];
    bool              is_reduce = ct_below(rng, 4) == 0;
    cs_adapcc_options o;
    seen              s;

    draw_late(rng, n, mask, arrival_s);
    draw_options(rng, &o);
    o.join = join;
    cs_scenario scenario =
        make_scenario(is_reduce ? CS_REDUCE : CS_ALLREDUCE, n, 1, 64 * MIB, arrival_s);
    scenario.root    = ct_below(rng, n);
    const cs_job job = make_job(&scenario, &o, "alpha-beta");
    (void)run_job(&job, &s);
    count->n_lone += s.times.n_active == 1;
    for (uint32_t i = 0; i < n; i++) {
        double missing = s.workers[i].missing_bytes;
        count->n_late += s.workers[i].role == CS_WORKER_DONE;
        count->n_joined += missing > 0 && missing < 64 * (double)MIB;
    }
}

/* All sets of late ranks, with every reading of joining. */
Test(adapcc_late, all_contribute_once_whoever_is_late)
{
    ct_rng rng      = ct_rng_for(1201);
    tally  count[3] = {{0}};

    for (uint32_t n = 2; n <= 6; n++) {
        for (uint32_t mask = 1; mask + 1 < 1u << n; mask++) {
            for (int join = 0; join < 3; join++) {
                run_late(&rng, n, mask, join, &count[join]);
            }
        }
    }
    for (int join = 0; join < 3; join++) {
        cr_assert_gt(count[join].n_late, 200u);
        cr_assert_gt(count[join].n_lone, 0u);
    }
    cr_assert_gt(count[0].n_joined, 20u, "%u of %u late ranks", count[0].n_joined, count[0].n_late);
    cr_assert_eq(count[1].n_joined, 0u);
    cr_assert_gt(count[2].n_joined, count[0].n_joined, "leaves join, too: %u, not %u",
                 count[2].n_joined, count[0].n_joined);
}

/* One tree with some late ranks, which come at any time of phase 1 and later. */
static void run_tree(ct_rng *rng, const cs_strategy *strategy, uint32_t mask, int join,
                     bool is_reduce, tally *count)
{
    const uint64_t      bytes = strategy->trees[0].size_bytes;
    uint32_t            n     = strategy->n_ranks;
    double              arrival_s[MOST_RANKS];
    cs_strategy_options o = {.strategy = strategy,
                             .control  = {.relay      = 2,
                                          .join       = join,
                                          .rpc_s      = ct_below(rng, 2) == 0 ? 0 : 2e-4,
                                          .cycle_s    = 1e-4,
                                          .one_starts = true}};
    seen                run;

    for (uint32_t i = 0; i < n; i++) {
        arrival_s[i] = (mask >> i & 1u) != 0 ? ct_uniform(rng, 2e-3, 20e-3) : 0;
    }
    cs_job job        = {.scenario =
                             make_scenario(is_reduce ? CS_REDUCE : CS_ALLREDUCE, n, 1, bytes, arrival_s),
                         .verify = true};
    job.scenario.root = cs_tree_root(&strategy->trees[0]);
    cs_job_set_algorithm(&job, &cs_algorithm_strategy, &o);
    cs_job_set_model(&job, cs_models[0], NULL);
    (void)run_job(&job, &run);
    count->n_lone += run.times.n_active == 1;
    for (uint32_t i = 0; i < n; i++) {
        double missing = run.workers[i].missing_bytes;
        count->n_late += run.workers[i].role == CS_WORKER_DONE;
        count->n_joined += missing > 0 && missing < (double)bytes;
    }
}

/* All trees over up to four ranks with all sets of late ranks; over five with root 0, of each tree
 * some of the sets, which are all of them in eight trees. */
Test(adapcc_late, all_contribute_once_in_all_trees)
{
    ct_rng   rng      = ct_rng_for(1207);
    uint32_t n_trees  = 0;
    tally    count[2] = {{0}};

    for (uint32_t n = 2; n <= 5; n++) {
        uint32_t codes = (n < 5 ? n : 1) * (uint32_t)pow(n, n - 1);
        for (uint32_t code = 0; code < codes; code++) {
            uint32_t    root = code / (uint32_t)pow(n, n - 1), rest = code;
            cs_strategy s;

            cr_assert_eq(cs_strategy_make(&s, n, 1, NULL), CS_OK);
            for (uint32_t g = 0; g < n; g++) {
                s.trees[0].parent[g] = g == root ? ROOT : rest % n;
                rest                 = g == root ? rest : rest / n;
            }
            bool is_tree = cs_strategy_check(&s, NULL) == CS_OK;
            cs_strategy_set_sizes(&s, 64000000, 10000000);
            for (uint32_t mask = 1; is_tree && mask + 1 < 1u << n; mask++) {
                if (n == 5 && (n_trees + mask) % 8 != 0) {
                    continue;
                }
                run_tree(&rng, &s, mask, 0, (code + mask) % 3 == 0, &count[0]);
                run_tree(&rng, &s, mask, 2, (code + mask) % 3 == 0, &count[1]);
            }
            n_trees += is_tree;
            cs_strategy_free(&s);
        }
    }
    cr_assert_eq(n_trees, 2 + 9 + 64 + 125u);
    for (uint32_t i = 0; i < 2; i++) {
        cr_assert_gt(count[i].n_lone, 50u);
        cr_assert_gt(count[i].n_late, 2000u);
    }
    cr_assert_gt(count[1].n_joined, 3 * count[0].n_joined / 2, "%u, not %u", count[1].n_joined,
                 count[0].n_joined);
}

/* All late at once is nobody late; and the one that is first alone waits for a second one. */
Test(adapcc_late, all_late_at_once)
{
    const double arrival_s[][4] = {{0, 0, 0, 0}, {0, 30e-3, 30e-3, 30e-3}};

    for (int join = 0; join < 3; join++) {
        for (uint32_t i = 0; i < 2; i++) {
            cs_adapcc_options o        = make_options(2, 1u << 20, 1);
            const cs_scenario scenario = make_scenario(CS_ALLREDUCE, 4, 1, MIB, arrival_s[i]);
            seen              s;

            o.join           = join;
            const cs_job job = make_job(&scenario, &o, "alpha-beta");
            (void)run_job(&job, &s);
            cr_assert_eq(s.times.n_active, 4u);
            cr_assert_float_eq(s.times.decided_s, arrival_s[i][1], 1e-12);
        }
    }
}

/* Trees whose share is nothing have a chunk all the same, which a rank may miss without missing a
 * byte. */
Test(adapcc_late, a_byte_is_shared_by_many_trees)
{
    ct_rng rng = ct_rng_for(1205);

    for (uint32_t i = 0; i < 100; i++) {
        uint32_t          g = 2 + ct_below(&rng, 2), n = g * (2 + ct_below(&rng, 3));
        double            arrival_s[MOST_RANKS];
        cs_adapcc_options o;
        seen              s;

        for (uint32_t r = 0; r < n; r++) {
            arrival_s[r] = r == 0 ? 0 : ct_uniform(&rng, 0, 5e-3);
        }
        draw_options(&rng, &o);
        o.cycle_s                  = 50e-6;
        o.rpc                      = 1;
        o.join                     = 0;
        o.trees                    = 3 + ct_below(&rng, 3);
        const cs_scenario scenario = make_scenario(CS_ALLREDUCE, n, g, 1, arrival_s);
        const cs_job      job      = make_job(&scenario, &o, "alpha-beta");
        (void)run_job(&job, &s);
    }
}

/* The dispatcher over the arithmetic of alpha-beta ends everything at the same bits; on the others,
 * where messages share ports and relays join elsewhere, every contribution is there as well. */
Test(adapcc_late, all_models_replay_it)
{
    ct_rng rng = ct_rng_for(1202);

    for (uint32_t i = 0; i < 24; i++) {
        uint32_t          g = 1 + ct_below(&rng, 2), n = g * (2 + ct_below(&rng, 4));
        double            arrival_s[MOST_RANKS];
        cs_adapcc_options o;
        seen              one, other;

        draw_late(&rng, n, 1 + ct_below(&rng, (1u << n) - 2), arrival_s);
        arrival_s[ct_below(&rng, n)] = 0;
        draw_options(&rng, &o);
        const cs_scenario scenario = make_scenario(CS_ALLREDUCE, n, g, 16 * MIB, arrival_s);
        double            least    = 1;
        for (uint32_t r = 0; r < n; r++) {
            least = fmin(least, arrival_s[r]);
        }
        for (uint32_t r = 0; r < n; r++) {
            arrival_s[r] -= least;
        }
        cs_job    job   = make_job(&scenario, &o, "alpha-beta");
        cs_result ports = run_job(&job, &one);

        cs_job_set_model(&job, &ct_port_network, NULL);
        cs_result events = run_job(&job, &other);
        cr_assert_eq(ports.elapsed_s, events.elapsed_s);
        cr_assert_eq(ports.wire_bytes, events.wire_bytes);
        cr_assert_eq(memcmp(one.workers, other.workers, n * sizeof *one.workers), 0);
        job = make_job(&scenario, &o, "flow");
        (void)run_job(&job, &other);
        job = make_job(&scenario, &o, i % 2 == 0 ? "loggp" : "packet");
        (void)run_job(&job, &other);
    }
}

static void make_chain(cs_strategy *s, uint64_t bytes, uint64_t chunk_bytes)
{
    const uint32_t parents[] = {ROOT, 0, 1};

    cr_assert_eq(cs_strategy_make(s, 3, 1, NULL), CS_OK);
    memcpy(s->trees[0].parent, parents, sizeof parents);
    cr_assert_eq(cs_strategy_check(s, NULL), CS_OK);
    cs_strategy_set_sizes(s, bytes, chunk_bytes);
}

/* Ranks 0 and 2 start at 10 ms, rank 1 relays between them. Where it is ready when 6 of 16 chunks
 * have set out to it, 6/16 of 64 MB are left for phase 2, as on paper. */
Test(adapcc_late, a_relay_joins_at_the_next_chunk)
{
    double              arrival_s[] = {0, 0, 0};
    cs_scenario         scenario    = make_scenario(CS_REDUCE, 3, 1, 64000000, arrival_s);
    cs_strategy_options o           = {.control = {.relay = 2, .cycle_s = CS_RELAY_CYCLE_S}};
    double              chunk_s     = 20e-6 + 4e6 / 12.5e9;
    cs_strategy         s;

    make_chain(&s, 64000000, 4000000);
    o.strategy = &s;
    for (uint32_t started = 0; started <= 16; started++) {
        cs_job    job = {.scenario = scenario, .verify = true};
        seen      run;
        double    from_s;
        cs_result r;

        arrival_s[1] = 10e-3 + chunk_s * (started - 0.5);
        cs_job_set_algorithm(&job, &cs_algorithm_strategy, &o);
        cs_job_set_model(&job, cs_models[0], NULL);
        r = run_job(&job, &run);
        if (started == 0) { /* it is there when the others start */
            cr_assert_eq(run.times.n_active, 3u);
            continue;
        }
        from_s = run.times.phase1_from_s;
        cr_assert_eq(run.times.n_active, 2u);
        cr_assert_float_eq(from_s, 10e-3, 1e-12);
        cr_assert_float_eq(run.workers[1].missing_bytes, started * 4e6, 0.5);
        cr_assert_float_eq(run.times.phase1_end_s, from_s + (16 + 1) * chunk_s, 1e-9);
        cr_assert_float_eq(run.workers[1].from_s, run.times.phase1_end_s, 1e-9);
        cr_assert_float_eq(run.workers[1].to_s, run.times.phase1_end_s + started * chunk_s, 1e-9);
        cr_assert_float_eq(r.elapsed_s, run.workers[1].to_s, 1e-9);
        cr_assert_eq(r.wire_bytes, (uint64_t)2 * 64000000 + started * 4000000);
    }
    cs_strategy_free(&s);
}

/* Rank 2 is a leaf below rank 1, which is active as rank 0 is. Ready in the middle of a chunk of
 * rank 1, it is announced for the next one, which waits for it; without announcement all its data
 * are left for phase 2. With messages that take 1 ms it is known 2 ms later. */
Test(adapcc_late, a_leaf_is_announced)
{
    double              arrival_s[] = {0, 0, 0};
    cs_scenario         scenario    = make_scenario(CS_REDUCE, 3, 1, 64000000, arrival_s);
    cs_strategy_options o           = {.control = {.relay = 2, .cycle_s = CS_RELAY_CYCLE_S}};
    double              chunk_s     = 20e-6 + 4e6 / 12.5e9;
    cs_strategy         s;

    make_chain(&s, 64000000, 4000000);
    o.strategy = &s;
    for (uint32_t i = 0; i < 3 * 16; i++) {
        uint32_t started = 1 + i / 3;
        bool     joins   = i % 3 > 0 && started < 16;
        cs_job   job     = {.scenario = scenario, .verify = true};
        seen     run;
        double   rpc_s = i % 3 == 2 ? 1e-3 : 0, from_s = 10e-3 + 2 * rpc_s, end_s;

        arrival_s[2]    = from_s - 2 * rpc_s + chunk_s * (started - .5);
        o.control.join  = i % 3 > 0 ? 2 : 0;
        o.control.rpc_s = rpc_s;
        cs_job_set_algorithm(&job, &cs_algorithm_strategy, &o);
        cs_job_set_model(&job, cs_models[0], NULL);
        cs_result r = run_job(&job, &run);
        cr_assert_eq(run.times.n_active, 2u);
        cr_assert_float_eq(run.times.phase1_from_s, from_s, 1e-12);
        end_s = from_s + (joins ? 16.5 : 16) * chunk_s;
        cr_assert_float_eq(run.times.phase1_end_s, end_s, 1e-9, "%u: lacks %g: %g", i,
                           run.workers[2].missing_bytes,
                           (run.times.phase1_end_s - end_s) / chunk_s);
        cr_assert_float_eq(run.workers[2].missing_bytes, joins ? started * 4e6 : 64e6, 0.5);
        cr_assert_float_eq(r.elapsed_s, end_s + ((joins ? started : 16) + 1) * chunk_s, 1e-9);
        cr_assert_eq(r.wire_bytes, (joins ? 128 : 192) * (uint64_t)1000000 +
                                       (joins ? started : 0) * (uint64_t)4000000);
    }
    cs_strategy_free(&s);
}

/* Rank 3 is a leaf below relay 2, which has nothing to pass on before rank 3 is announced; so is
 * relay 2 itself. Whoever comes first: each is in the sum from its announcement on. */
Test(adapcc_late, a_relay_passes_on_for_who_is_announced)
{
    const uint32_t      parents[]    = {ROOT, 0, 1, 2, 2};
    double              arrival_s[]  = {0, 0, 0, 0, 0};
    const double        late_ms[][3] = {{72, 74, 76},  {74, 72, 76},  {76, 74, 72}, {74, 76, 72},
                                        {72, 500, 72}, {500, 72, 73}, {72, 72, 72}};
    cs_strategy_options o = {.control = {.relay = 2, .join = 2, .cycle_s = CS_RELAY_CYCLE_S}};
    cs_strategy         s;

    cr_assert_eq(cs_strategy_make(&s, 5, 1, NULL), CS_OK);
    memcpy(s.trees[0].parent, parents, sizeof parents);
    cr_assert_eq(cs_strategy_check(&s, NULL), CS_OK);
    cs_strategy_set_sizes(&s, 640000000, 10000000);
    o.strategy = &s;
    for (uint32_t i = 0; i < 4 * 7; i++) {
        cs_job job = {.scenario = make_scenario(i % 2 == 0 ? CS_ALLREDUCE : CS_REDUCE, 5, 1,
                                                640000000, arrival_s),
                      .verify   = true};
        seen   run;

        for (uint32_t w = 0; w < 3; w++) {
            arrival_s[2 + w] = late_ms[i / 4][w] * 1e-3;
        }
        cs_job_set_algorithm(&job, &cs_algorithm_strategy, &o);
        cs_job_set_model(&job, i % 4 < 2 ? cs_models[0] : &ct_port_network, NULL);
        (void)run_job(&job, &run);
        cr_assert_eq(run.times.n_active, 2u, "%u at %g to %g", run.times.n_active,
                     run.times.decided_s, run.times.phase1_end_s);
        for (uint32_t w = 2; w < 5; w++) {
            double missing = run.workers[w].missing_bytes;
            if (arrival_s[w] > .1) {
                cr_assert_eq(missing, 640e6);
                continue;
            }
            cr_assert(missing > 0 && missing < 640e6, "%u: rank %u lacks %g", i, w, missing);
            for (uint32_t v = 2; v < 5; v++) {
                double other = run.workers[v].missing_bytes;
                cr_assert(!(arrival_s[w] < arrival_s[v]) || missing <= other,
                          "%u: who is ready earlier lacks no more", i);
            }
        }
    }
    cs_strategy_free(&s);
}

/* Messages of a run, told apart by what they carry. */
enum { MOST_SEEN = 4096 };

typedef struct messages {
    struct {
        uint64_t what;
        double   start_s, end_s;
    } of[MOST_SEEN];
    size_t n;
} messages;

static cs_status keep_messages(void *user, const cs_block *block, const cs_interval *intervals,
                               cs_error *err)
{
    messages *m = user;

    (void)err;
    for (size_t i = 0; i < block->count && m->n < MOST_SEEN; i++) {
        const cs_transfer *t    = &block->transfers[i];
        uint64_t           what = ((uint64_t)t->round * 64 + t->src) * 64 + t->dst;
        m->of[m->n].what        = what * 4096 + t->chunk;
        m->of[m->n].start_s     = intervals[i].start_s;
        m->of[m->n++].end_s     = intervals[i].end_s;
    }
    return CS_OK;
}

static void run_for_messages(const cs_scenario *scenario, cs_adapcc_options *o, int join,
                             messages *m)
{
    const cs_observer observer = {.block = keep_messages, .user = m};
    cs_result         r;

    o->join          = join;
    m->n             = 0;
    const cs_job job = make_job(scenario, o, "flow"); /* port models: turns differ */
    cr_assert_eq(cs_job_run(&job, &observer, 1, &r, NULL), CS_OK);
    cr_assert(r.verified);
    cr_assert_lt(m->n, MOST_SEEN);
}

/* What has begun before the first announcement is there is as if nobody had been announced: the
 * coordinator knows nothing of what comes. */
Test(adapcc_late, announcements_change_nothing_before_them)
{
    static messages without, with;
    ct_rng          rng   = ct_rng_for(1206);
    uint32_t        n_new = 0;

    for (uint32_t i = 0; i < 60; i++) {
        uint32_t          n = 4 + ct_below(&rng, 4);
        double            arrival_s[MOST_RANKS], first_s = (double)INFINITY;
        cs_adapcc_options o = make_options(1 + ct_below(&rng, 3), 1u << 21, 2);
        size_t            k = 0;

        for (uint32_t r = 0; r < n; r++) {
            arrival_s[r] = r < 2 ? 0 : ct_uniform(&rng, 5e-3, 25e-3);
            first_s      = r < 2 ? first_s : fmin(first_s, arrival_s[r]);
        }
        o.rpc_s                    = ct_below(&rng, 2) == 0 ? 0 : 5e-4;
        const cs_scenario scenario = make_scenario(CS_ALLREDUCE, n, 1, 32 * MIB, arrival_s);
        run_for_messages(&scenario, &o, 1, &without);
        run_for_messages(&scenario, &o, 2, &with);
        first_s += 2 * o.rpc_s;
        for (size_t w = 0; w < with.n; w++) { /* both in the order of the stream */
            while (k < without.n && without.of[k].what < with.of[w].what &&
                   without.of[k].start_s > first_s) {
                k++;
            }
            bool is_same = k < without.n && without.of[k].what == with.of[w].what;
            if (with.of[w].start_s < first_s) {
                cr_assert(is_same, "%u: message %zu is new", i, w);
                cr_assert_eq(with.of[w].start_s, without.of[k].start_s);
                if (with.of[w].end_s < first_s) {
                    cr_assert_eq(with.of[w].end_s, without.of[k].end_s);
                }
            }
            n_new += !is_same;
            k += is_same;
        }
    }
    cr_assert_gt(n_new, 200u);
}

/* When it starts, and with whom, is what the computation on paper says for the same rate. */
Test(adapcc_late, the_coordinator_decides_as_on_paper)
{
    ct_rng rng = ct_rng_for(1203);

    for (uint32_t i = 0; i < 200; i++) {
        uint32_t          n = 2 + ct_below(&rng, 9);
        double            arrival_s[MOST_RANKS];
        cs_adapcc_options o = make_options(2, 1u << 20, 1 + (int)ct_below(&rng, 2));
        cs_relay_times    paper;
        seen              s;

        draw_late(&rng, n, 2 * ct_below(&rng, 1u << (n - 1)), arrival_s);
        o.rpc_s                    = ct_below(&rng, 2) == 1 ? 2e-3 : 0;
        o.one_starts               = ct_below(&rng, 2) == 1;
        const cs_scenario scenario = make_scenario(CS_ALLREDUCE, n, 1, 32 * MIB, arrival_s);
        const cs_job      job      = make_job(&scenario, &o, "alpha-beta");
        (void)run_job(&job, &s);
        const cs_relay_case given = {.setting = s.setting, .ready_s = arrival_s, .rpc_s = o.rpc_s};
        cr_assert_eq(cs_relay_times_of(&given, &paper, NULL), CS_OK);
        cr_assert_eq(s.times.ticks, paper.ticks);
        cr_assert_eq(s.times.n_active, paper.n_active);
        cr_assert_float_eq(s.times.decided_s, paper.decided_s, 1e-12);
        cr_assert_float_eq(s.times.phase1_from_s, paper.phase1_from_s, 1e-12);
        for (uint32_t r = 0; r < n; r++) {
            bool is_active = paper.workers[r].role == CS_WORKER_ACTIVE;
            cr_assert_eq(s.workers[r].role == CS_WORKER_ACTIVE, is_active);
            if (arrival_s[r] + o.rpc_s > s.times.phase1_end_s && !is_active) {
                cr_assert_eq(s.workers[r].missing_bytes, paper.workers[r].missing_bytes,
                             "who is ready behind phase 1 sends all");
            }
        }
        cs_relay_times_free(&paper);
    }
}

/* Who relays is used before it comes. */
typedef struct early {
    double   arrival_s;
    uint32_t rank, n_early;
} early;

static cs_status find_early(void *user, const cs_block *block, const cs_interval *intervals,
                            cs_error *err)
{
    early *e = user;

    (void)err;
    for (size_t i = 0; i < block->count; i++) {
        e->n_early += block->transfers[i].src == e->rank && intervals[i].end_s < e->arrival_s;
    }
    return CS_OK;
}

Test(adapcc_late, a_relay_passes_on_before_it_comes)
{
    const double        arrival_s[] = {0, 0.2, 0};
    early               found       = {.arrival_s = 0.2, .rank = 1};
    const cs_observer   observer    = {.block = find_early, .user = &found};
    cs_strategy_options o           = {.control = {.relay = 1, .cycle_s = CS_RELAY_CYCLE_S}};
    cs_job      job = {.scenario = make_scenario(CS_ALLREDUCE, 3, 1, 1600, arrival_s), .verify = 1};
    cs_result   r;
    cs_strategy s;

    make_chain(&s, 1600, 100);
    o.strategy = &s;
    cs_job_set_algorithm(&job, &cs_algorithm_strategy, &o);
    cs_job_set_model(&job, cs_models[0], NULL);
    cr_assert_eq(cs_job_run(&job, &observer, 1, &r, NULL), CS_OK);
    cr_assert(r.verified);
    cr_assert_eq(found.n_early, 2 * 16u, "every chunk up, and the result down");
    cr_assert_lt(r.exposed_s, 16 * 2 * 21e-6 + 1e-9, "behind its arrival: its broadcast alone");
    cs_strategy_free(&s);
}

/* Without joins a run is never faster with a slow NIC: the coordinator decides as without it. With
 * them a longer phase 1 may take in a chunk more. */
Test(adapcc_late, a_fault_never_makes_it_faster)
{
    ct_rng rng = ct_rng_for(1204);

    for (uint32_t i = 0; i < 60; i++) {
        uint32_t          n = 3 + ct_below(&rng, 5);
        double            arrival_s[MOST_RANKS];
        cs_adapcc_options o =
            make_options(1 + ct_below(&rng, 4), 1u << 19, 1 + (int)ct_below(&rng, 2));
        const cs_capacity slow = {ct_below(&rng, n), ct_uniform(&rng, 1, 4), 0, (double)INFINITY,
                                  false};
        seen              healthy, faulty;

        draw_late(&rng, n, 2 * ct_below(&rng, 1u << (n - 1)), arrival_s);
        o.join                = 1;
        cs_scenario scenario  = make_scenario(CS_ALLREDUCE, n, 1, 32 * MIB, arrival_s);
        cs_job      job       = make_job(&scenario, &o, "alpha-beta");
        double      healthy_s = run_job(&job, &healthy).elapsed_s;
        scenario.capacity     = &slow;
        scenario.n_capacity   = 1;
        job                   = make_job(&scenario, &o, "alpha-beta");
        double faulty_s       = run_job(&job, &faulty).elapsed_s;
        cr_assert_geq(faulty_s, healthy_s * (1 - 1e-12));
        cr_assert_eq(faulty.times.ticks, healthy.times.ticks);
    }
}

static void compare_with_off(const char *model, double most_off)
{
    const double      late_s[]  = {0, 0, 3e-3, 0, 0};
    double            at_once_s = 0;
    cs_adapcc_options off = make_options(2, 1u << 18, 0), on = make_options(2, 1u << 18, 1);

    for (uint32_t i = 0; i < 2; i++) {
        const double     *arrival_s = i == 0 ? NULL : late_s;
        const cs_scenario scenario  = make_scenario(CS_ALLREDUCE, 5, 1, 8 * MIB, arrival_s);
        cs_job            job       = make_job(&scenario, &off, model);
        cs_result         all;
        seen              s;

        cr_assert_eq(cs_job_run(&job, NULL, 0, &all, NULL), CS_OK);
        cr_assert(all.verified);
        job         = make_job(&scenario, &on, model);
        cs_result r = run_job(&job, &s);
        at_once_s   = i == 0 ? all.elapsed_s : at_once_s;
        double want = i == 0 ? at_once_s : at_once_s + 5e-3;
        cr_assert_geq(r.elapsed_s, all.elapsed_s * (1 - 1e-12), "without control some start early");
        cr_assert_eq(s.times.n_active, 5u, "at the next tick");
        cr_assert_eq(r.wire_bytes, all.wire_bytes);
        cr_assert_float_eq(r.elapsed_s, want, most_off * want + 1e-12, "%s: %g, not %g", model,
                           r.elapsed_s, want);
    }
}

/* Off, it is the wait for all that it was. With all ready at once relay control costs nothing where
 * the messages of a port share it; where a port serves one after the other, the order of a turn is
 * not planned as it is without control. */
Test(adapcc_late, all_there_is_as_before)
{
    compare_with_off("flow", 0);
    compare_with_off("alpha-beta", .25);
}

/* Who is not ready at the deadline is left out, and the sum is that of the others; without that
 * all are waited for. A stream over the dispatcher is counted before that is known. */
Test(adapcc_late, who_never_comes_is_left_out)
{
    const double      arrival_s[] = {0, 30e-3, 0, 1, 0, 2};
    cs_adapcc_options o           = make_options(2, 1u << 20, 2);
    const cs_scenario scenario    = make_scenario(CS_ALLREDUCE, 6, 1, 64 * MIB, arrival_s);
    const cs_model   *models[]    = {cs_models[0], &ct_port_network};
    double            elapsed_s   = 0;

    for (uint32_t i = 0; i < 4; i++) {
        cs_job            job;
        cs_result         r;
        seen              s        = {.n_told = 0};
        const cs_observer observer = {.decided = see, .user = &s};

        o.exclude = i >= 2;
        job       = make_job(&scenario, &o, "alpha-beta");
        cs_job_set_model(&job, models[i % 2], NULL);
        cr_assert_eq(cs_job_run(&job, &observer, 1, &r, NULL), CS_OK);
        cr_assert(r.verified, "%s", r.verdict.text);
        cr_assert_eq(s.workers[1].role, CS_WORKER_DONE);
        cr_assert_eq(s.times.n_faulty, o.exclude ? 2u : 0u);
        for (uint32_t w = 3; w < 6; w += 2) {
            cr_assert_eq(s.workers[w].role, o.exclude ? CS_WORKER_FAULTY : CS_WORKER_DONE);
        }
        if (i == 0) {
            cr_assert_gt(r.elapsed_s, 2);
        } else if (i == 2) {
            cs_relay_times *t = &s.times;
            cr_assert_float_eq(t->deadline_s, t->phase1_end_s + 5 * (t->phase1_end_s - t->first_s),
                               1e-12);
            cr_assert_eq(r.elapsed_s, t->deadline_s);
            cr_assert_float_eq(r.exposed_s, t->deadline_s - 30e-3, 1e-12, "the last that came");
            cr_assert(isnan(r.gap) && r.note != NULL);
        } else {
            cr_assert_eq(r.elapsed_s, elapsed_s);
        }
        elapsed_s = r.elapsed_s;
    }
}

/* ---- what would be wrong is seen ---- */

static const cs_algorithm *whole;
static uint32_t            n_changed;

/* Phase 1 is told as if a relay had never been ready: its own would be lost, or counted twice. */
static void told_wrong(void *state, const cs_block *block, const cs_interval *intervals)
{
    whole->told(state, block, intervals);
    for (size_t i = 0; i < block->count; i++) {
        cs_transfer *t = &block->transfers[i];
        if ((t->flags & CS_OWN_DST) != 0 && n_changed++ == 0) {
            t->flags &= (uint8_t)~CS_OWN_DST;
        }
    }
}

Test(adapcc_late, a_wrong_sum_is_found)
{
    double              arrival_s[] = {0, 7e-3, 0};
    cs_strategy_options o           = {.control = {.relay = 2, .cycle_s = CS_RELAY_CYCLE_S}};
    cs_job              job = {.scenario = make_scenario(CS_ALLREDUCE, 3, 1, 64000000, arrival_s),
                               .verify   = true};
    cs_algorithm        broken = cs_algorithm_strategy;
    cs_verdict          verdict;
    cs_result           r;
    cs_strategy         s;

    make_chain(&s, 64000000, 4000000);
    o.strategy  = &s;
    whole       = &cs_algorithm_strategy;
    n_changed   = 0;
    broken.told = told_wrong;
    for (uint32_t i = 0; i < 2; i++) {
        cs_job_set_algorithm(&job, &broken, &o);
        cs_job_set_model(&job, i == 0 ? cs_models[0] : &ct_port_network, NULL);
        n_changed = 0;
        cr_assert_eq(cs_job_run(&job, NULL, 0, &r, NULL), CS_OK);
        cr_assert_gt(n_changed, 1u);
        cr_assert_not(r.verified);
        cr_assert_not_null(strstr(r.verdict.text, "ends as another sum"), "%s", r.verdict.text);
    }
    /* The stream that is told nothing is a schedule, too: nobody joins. It cannot be kept. */
    cs_recording recording = {0};
    cs_error     err       = {0};
    cs_job_set_algorithm(&job, &cs_algorithm_strategy, &o);
    cr_assert_eq(cs_job_resolve(&job, NULL), CS_OK);
    cr_assert_eq(cs_job_verify(&job, &verdict, NULL), CS_OK);
    cr_assert(verdict.is_correct, "%s", verdict.text);
    cr_assert_eq(cs_recording_stream(&recording, &job, &err), CS_ENOTSUP);
    cr_assert_not_null(strstr(err.message, "decides while it runs"), "%s", err.message);
    cs_recording_free(&recording);
    cs_job_release(&job);
    cs_strategy_free(&s);
}

Test(adapcc_late, what_it_cannot_do_is_refused)
{
    const double      arrival_s[] = {0, 1e-3, 0, 0};
    cs_adapcc_options o           = make_options(2, 1u << 18, 1);
    cs_scenario       scenario    = make_scenario(CS_BROADCAST, 4, 1, MIB, arrival_s);
    cs_job            job         = make_job(&scenario, &o, "alpha-beta");
    cs_error          err         = {0};

    cr_assert_eq(cs_job_resolve(&job, &err), CS_ENOTSUP);
    cr_assert_str_eq(err.where, "algorithm.options.relay");
    scenario = make_scenario(CS_ALLREDUCE, 4, 1, MIB, arrival_s);
    o        = make_options(2, 8, 1);
    job      = make_job(&scenario, &o, "alpha-beta");
    cr_assert_eq(cs_job_resolve(&job, &err), CS_ENOTSUP, "a slot for every chunk");
}

Test(adapcc_late, memory_may_end_anywhere)
{
    const double      arrival_s[] = {0, 6e-3, 0, 20e-3};
    cs_adapcc_options o           = make_options(2, 1u << 18, 2);
    const char *const models[]    = {"alpha-beta", "flow", "alpha-beta", "alpha-beta"};

    for (uint32_t i = 0; i < 4; i++) {
        o.exclude                  = i == 2;
        o.join                     = i == 3 ? 2 : 0;
        const cs_scenario scenario = make_scenario(CS_ALLREDUCE, 4, 1, 64 * MIB, arrival_s);
        const cs_job      job      = make_job(&scenario, &o, models[i]);
        cs_status         status   = CS_ENOMEM;
        for (long passes = 0; status != CS_OK; passes++) {
            cs_result r;
            cs_error  err = {0};

            cr_assert_lt(passes, 2000);
            cs_alloc_fail_after(passes);
            status = cs_job_run(&job, NULL, 0, &r, &err);
            cs_alloc_fail_after(-1);
            cr_assert(status == CS_OK || status == CS_ENOMEM, "%s", err.message);
        }
    }
}
