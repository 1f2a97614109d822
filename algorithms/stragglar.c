/* SPDX-License-Identifier: GPL-3.0-or-later */
/* StragglAR: an AllReduce that works while one rank is late, for every number of ranks.
 *
 * Pre-phase: the n - 1 early ranks run a ReduceScatter among themselves (barrier 1 in front);
 * label c mod (n - 1) then holds the sum of all early contributions to chunk c. Main phase
 * (barrier 2 in front, for all): in round r the late rank exchanges chunk r with its owner, both
 * add and have the final value; at the same time the other final chunks spread, one send and one
 * receive per rank and round, by the rotational pattern of pattern/rotation.h; the last rounds
 * come from pattern/tail.h. C - 1 + ceil(log2 n) rounds of one of C chunks; for C = n - 1, as in
 * the paper, that is n - 2 + ceil(log2 n), which no schedule of these chunks can beat.
 *
 * Even n keep to the telephone model; odd n need the full-duplex one-port model, or a greedy
 * (pattern/telephone_odd.h) that needs a round or two more. One chunk and three ranks have rounds
 * of their own (pattern/late_small.h).
 *
 * The straggler may be any rank; when it is not the last to arrive, the early ranks wait for
 * the last of them and nothing is hidden.
 *
 * Here: options and the order of the phases. What they do is in pattern/late_pre.h, late_main.h
 * (whose rounds are generated or stored) and late_chunks.h.
 *
 * Source: "Efficient AllReduce with Stragglers" (StragglAR); the rotational schedule and the choice
 * of chunks are this project's (sim/doc/stragglar.md).
 */
#include "algorithms/pattern/accept.h"
#include "algorithms/pattern/late_chunks.h"
#include "algorithms/pattern/late_main.h"
#include "algorithms/pattern/late_pre.h"
#include "algorithms/pattern/telephone_odd.h"
#include "base/alloc.h"

#include <math.h>

enum { MODEL_AUTO, MODEL_TELEPHONE, MODEL_DUPLEX };
enum { MOST_CHUNKS = 1 << 20 };

typedef struct stragglar_options {
    CS_LATE_OPTIONS;
    int      model;
    uint32_t chunks; /* 0: n - 1 */
    int      prephase;
} stragglar_options;

static const cs_option stragglar_table[] = {
    CS_LATE_ROWS(stragglar_options),
    CS_OPTION_CHOICE(stragglar_options, model, "auto|telephone|duplex",
                     "may a rank receive from another one than it sends to? auto: for odd n only"),
    CS_OPTION_ROW(stragglar_options, chunks, 0, 0, MOST_CHUNKS, true, NULL,
                  "parts of the buffer; 0: n - 1, as in the paper; auto: the best number"),
    CS_OPTION_CHOICE(stragglar_options, prephase, "ring|circulant",
                     "how the early ranks reduce; fewer than n - 1 chunks: always circulant"),
    CS_OPTION_END};

typedef struct stragglar {
    cs_late_layout layout;
    cs_arena       arena;
    cs_late_pre    pre;
    cs_late_main   main;
    bool           is_early; /* in the pre-phase */
} stragglar;

/* Where the rounds of the main phase come from. */
static cs_late_source source_of(uint32_t n, const stragglar_options *o)
{
    if (o->chunks == 1) {
        return CS_LATE_ONE_CHUNK;
    }
    if (n == 3) {
        return CS_LATE_THREE_RANKS;
    }
    return n % 2 == 1 && o->model == MODEL_TELEPHONE ? CS_LATE_TELEPHONE_ODD : CS_LATE_ROTATION;
}

static cs_late_layout layout_of(const cs_scenario *scenario, const stragglar_options *o)
{
    uint32_t n     = scenario->cluster.n_ranks;
    uint32_t depth = cs_late_main_depth(source_of(n, o), n, o->chunks);
    return cs_late_layout_of(scenario, o->straggler, o->chunks, depth, (cs_prephase)o->prephase);
}

/* Rounds of the main phase; those of the greedy are not known before it has run. */
static cs_status main_rounds(uint32_t n, const stragglar_options *o, uint32_t *rounds_p,
                             cs_error *err)
{
    cs_label_rounds rounds = {0};

    *rounds_p = cs_late_main_rounds(n, o->chunks);
    if (source_of(n, o) != CS_LATE_TELEPHONE_ODD) {
        return CS_OK;
    }
    cs_status status = cs_telephone_odd_build(n, &rounds, err);
    *rounds_p        = rounds.n_rounds;
    cs_label_rounds_free(&rounds);
    return status;
}

/* Odd n in the telephone model: what is stored is n - 1 chunks (or one). */
static cs_status check_telephone(const cs_scenario *scenario, stragglar_options *o, cs_error *err)
{
    uint32_t n = scenario->cluster.n_ranks, rounds;

    if (n > CS_TELEPHONE_MOST_RANKS) {
        return CS_FAIL(err, CS_ENOTSUP, "algorithm.options.model",
                       "telephone with an odd number of ranks is made by a slow greedy: at most %d "
                       "ranks, got %u; duplex needs a round less",
                       CS_TELEPHONE_MOST_RANKS, n);
    }
    if (o->chunks == CS_AUTO) {
        o->chunks        = n - 1;
        cs_status status = main_rounds(n, o, &rounds, err);
        if (status != CS_OK) {
            return status;
        }
        const cs_late_options *late = (const cs_late_options *)o;
        double many_s = cs_late_end_s(scenario, late, n - 1, rounds, (cs_prephase)o->prephase);
        double one_s  = cs_late_end_s(scenario, late, 1, cs_log2_ceil(n), CS_PREPHASE_CIRCULANT);
        o->chunks     = one_s < many_s ? 1 : n - 1;
    }
    if (o->chunks != 1 && o->chunks != n - 1) {
        return CS_FAIL(err, CS_ENOTSUP, "algorithm.options.chunks",
                       "%u ranks in the telephone model: accepted are 1, %u and auto, not %u", n,
                       n - 1, o->chunks);
    }
    return CS_OK;
}

static cs_status check_chunks(const cs_scenario *scenario, stragglar_options *o, cs_error *err)
{
    uint32_t n = scenario->cluster.n_ranks, least = cs_late_least_chunks(n);

    o->chunks = o->chunks == 0 ? n - 1 : o->chunks;
    if (n % 2 == 1 && o->model == MODEL_TELEPHONE) {
        return check_telephone(scenario, o, err);
    }
    if (o->chunks == CS_AUTO) {
        const cs_late_options *late = (const cs_late_options *)o;
        o->chunks                   = cs_late_best_chunks(scenario, late, (cs_prephase)o->prephase);
    }
    if (o->chunks != 1 && o->chunks < least) {
        return CS_FAIL(err, CS_ENOTSUP, "algorithm.options.chunks",
                       "%u ranks: accepted are 1, %u or more, and auto, not %u", n, least,
                       o->chunks);
    }
    return CS_OK;
}

static cs_status check_options(const cs_scenario *scenario, stragglar_options *o, cs_error *err)
{
    cs_status status = cs_late_check(scenario, (cs_late_options *)o, err);

    if (o->model == MODEL_AUTO) {
        o->model = scenario->cluster.n_ranks % 2 == 0 ? MODEL_TELEPHONE : MODEL_DUPLEX;
    }
    if (status == CS_OK) {
        status = check_chunks(scenario, o, err);
    }
    if (status == CS_OK) {
        o->prephase = (int)layout_of(scenario, o).prephase;
    }
    return status;
}

static cs_status stragglar_check(const cs_scenario *scenario, void *options, cs_plan *plan,
                                 cs_error *err)
{
    stragglar_options *o = options;
    uint32_t           n = scenario->cluster.n_ranks, rounds = 0;
    cs_status status = cs_accept_collective(scenario, "stragglar", 1u << CS_ALLREDUCE, err);

    if (status == CS_OK) {
        status = check_options(scenario, o, err);
    }
    if (status != CS_OK) {
        return status;
    }
    cs_late_layout layout = layout_of(scenario, o);
    status                = cs_late_layout_check(&layout, err);
    if (status == CS_OK) {
        status = main_rounds(n, o, &rounds, err);
    }
    if (status == CS_OK) {
        *plan = (cs_plan){.n_chunks = o->chunks,
                          .n_slots  = layout.n_slots,
                          .n_rounds = cs_late_pre_rounds(&layout) + rounds,
                          .uses     = CS_USES_EXCHANGE | cs_late_pre_uses(&layout) |
                                  cs_uses_nvlink(&scenario->cluster)};
    }
    return status;
}

static void stragglar_close(void *state)
{
    stragglar *s = state;

    if (s != NULL) {
        cs_late_main_close(&s->main);
        cs_arena_free(&s->arena);
        cs_free(s);
    }
}

static cs_status stragglar_open(const cs_scenario *scenario, const void *options, void **state_p,
                                cs_error *err)
{
    const stragglar_options *o = options;
    stragglar               *s = CS_NEW(stragglar, 1);
    uint32_t                 n = scenario->cluster.n_ranks;

    if (s == NULL) {
        return CS_FAIL(err, CS_ENOMEM, "", "out of memory for stragglar");
    }
    s->layout        = layout_of(scenario, o);
    s->is_early      = n > 2;
    cs_status status = cs_late_layout_build(&s->layout, &s->arena, err);
    if (status == CS_OK) {
        cs_late_pre_start(&s->pre, &s->layout, o->entry_barrier_s);
        status =
            cs_late_main_start(&s->main, source_of(n, o), &s->layout,
                               cs_late_pre_rounds(&s->layout), o->phase_barrier_s, &s->arena, err);
    }
    if (status != CS_OK) {
        stragglar_close(s);
        return status;
    }
    *state_p = s;
    return CS_OK;
}

/* Phases begin with a new block, since barriers stand at the beginning of blocks. */
static void stragglar_next_block(void *state, cs_block *block)
{
    stragglar *s = state;

    block->count = 0;
    s->is_early  = s->is_early && cs_late_pre_next(&s->pre, block);
    if (!s->is_early) {
        (void)cs_late_main_next(&s->main, block);
    }
}

/* The pre-phase begins when the last early rank has come; then C - 1 + ceil(log2 n) rounds of one
 * chunk from barrier 2 on. Exact for equal chunks, when all ranks move in lockstep, and unless the
 * pre-phase is known as a bound only and not hidden. */
static double stragglar_closed_form_s(const cs_scenario *scenario, const void *options)
{
    const stragglar_options *o      = options;
    const cs_late_options   *late   = options;
    cs_late_layout           layout = layout_of(scenario, o);
    uint32_t                 n      = scenario->cluster.n_ranks, fabric;
    double                   pre_s  = 0;
    bool                     exact  = true;

    if (!cs_is_uniform(scenario, &fabric) || scenario->bytes % o->chunks != 0 ||
        source_of(n, o) == CS_LATE_TELEPHONE_ODD) {
        return (double)NAN;
    }
    const cs_fabric *f     = &scenario->cluster.fabrics[fabric];
    uint64_t         bytes = scenario->bytes / o->chunks;
    if (n > 2) {
        pre_s = cs_late_pre_s(&layout, (double)bytes, f->alpha_s, 1 / f->bandwidth_Bps, &exact);
    }
    double start_s = cs_late_main_start_s(scenario, late, pre_s);
    if (!exact && start_s > cs_late_main_start_s(scenario, late, 0)) {
        return (double)NAN;
    }
    return start_s + cs_late_main_rounds(n, o->chunks) * cs_message_s(scenario, fabric, bytes);
}

const cs_algorithm cs_algorithm_stragglar = {
    .name        = "stragglar",
    .summary     = "ReduceScatter among the others while one rank is late, then n-2+log2 n rounds",
    .source      = "Efficient AllReduce with Stragglers (StragglAR); rotational schedule",
    .collectives = 1u << CS_ALLREDUCE,
    .options     = stragglar_table,
    .options_bytes = sizeof(stragglar_options),
    .check         = stragglar_check,
    .open          = stragglar_open,
    .next_block    = stragglar_next_block,
    .close         = stragglar_close,
    .closed_form_s = stragglar_closed_form_s,
};
