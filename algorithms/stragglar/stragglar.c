/* SPDX-License-Identifier: GPL-3.0-or-later */
/* StragglAR: an AllReduce that works while one rank is late, for every number of ranks.
 *
 * Pre-phase: the n - 1 early ranks run a ReduceScatter among themselves (barrier 1 in front);
 * label c mod (n - 1) then holds the sum of all early contributions to chunk c. Main phase
 * (barrier 2 in front, for all): in round r the late rank exchanges chunk r with its owner, both
 * add and have the final value; at the same time the other final chunks spread, one send and one
 * receive per rank and round, by the rotational pattern of rotation.h; the last rounds
 * come from tail.h. C - 1 + ceil(log2 n) rounds of one of C chunks; for C = n - 1, as in
 * the paper, that is n - 2 + ceil(log2 n), which no schedule of these chunks can beat.
 *
 * Even n keep to the telephone model; odd n need the full-duplex one-port model, or a greedy
 * (telephone_odd.h) that needs a round or two more. One chunk and three ranks have rounds
 * of their own (late_small.h).
 *
 * Instead of one rank none or several may count as late (`late_ranks`, late_number.h). The paper's
 * own rounds, which are as many or more, are made by scripts/paper_schedule.
 *
 * The straggler may be any rank; when it is not the last to arrive, the early ranks wait for
 * the last of them and nothing is hidden.
 *
 * Here: the order of the phases. What they do is in late_pre.h and late_main.h (whose
 * rounds are generated or stored); the options are in stragglar_options.h.
 *
 * Source: "Efficient AllReduce with Stragglers" (StragglAR); the rotational schedule and the choice
 * of chunks are this project's (sim/doc/stragglar.md).
 */
#include "algorithms/lib/accept.h"
#include "algorithms/stragglar/late_pre.h"
#include "algorithms/stragglar/stragglar_options.h"
#include "base/alloc.h"

#include <math.h>

typedef struct stragglar {
    cs_late_layout layout;
    cs_arena       arena;
    cs_late_pre    pre;
    cs_late_main   main;
    bool           is_early; /* in the pre-phase */
    bool           is_other; /* another number of late ranks than one: all above is unused */
    cs_late_stream other;
} stragglar;

static cs_status stragglar_check(const cs_scenario *scenario, void *options, cs_plan *plan,
                                 cs_error *err)
{
    cs_status status = cs_accept_collective(scenario, "stragglar", 1u << CS_ALLREDUCE, err);

    return status == CS_OK ? cs_stragglar_resolve(scenario, options, plan, err) : status;
}

static void stragglar_close(void *state)
{
    stragglar *s = state;

    if (s != NULL) {
        cs_late_main_close(&s->main);
        cs_late_stream_close(&s->other);
        cs_arena_free(&s->arena);
        cs_free(s);
    }
}

static cs_status open_one(stragglar *s, const cs_scenario *scenario, const cs_stragglar_options *o,
                          cs_error *err)
{
    uint32_t n = scenario->cluster.n_ranks;

    s->layout        = cs_stragglar_layout(scenario, o);
    s->is_early      = n > 2;
    cs_status status = cs_late_layout_build(&s->layout, &s->arena, err);
    if (status == CS_OK) {
        cs_late_pre_start(&s->pre, &s->layout, o->entry_barrier_s);
        status =
            cs_late_main_start(&s->main, cs_stragglar_source(n, o), &s->layout,
                               cs_late_pre_rounds(&s->layout), o->phase_barrier_s, &s->arena, err);
    }
    return status;
}

static cs_status stragglar_open(const cs_scenario *scenario, const void *options, void **state_p,
                                cs_error *err)
{
    const cs_stragglar_options *o      = options;
    const cs_late_number        number = cs_stragglar_number(o);
    stragglar                  *s      = CS_NEW(stragglar, 1);

    if (s == NULL) {
        return CS_FAIL(err, CS_ENOMEM, "", "out of memory for stragglar");
    }
    s->is_other      = o->late_ranks != 1;
    cs_status status = s->is_other ? cs_late_stream_open(&s->other, scenario, &number, err)
                                   : open_one(s, scenario, o, err);
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
    if (s->is_other) {
        cs_late_stream_next(&s->other, block);
        return;
    }
    s->is_early = s->is_early && cs_late_pre_next(&s->pre, block);
    if (!s->is_early) {
        (void)cs_late_main_next(&s->main, block);
    }
}

/* The pre-phase begins when the last early rank has come; then C - 1 + ceil(log2 n) rounds of one
 * chunk from barrier 2 on (or what the stored rounds take). Exact for equal chunks, when all ranks
 * move in lockstep, and unless the pre-phase is known as a bound only and not hidden. */
static double one_closed_form_s(const cs_scenario *scenario, const cs_stragglar_options *o)
{
    const cs_late_options *late   = (const cs_late_options *)o;
    cs_late_layout         layout = cs_stragglar_layout(scenario, o);
    uint32_t               n      = scenario->cluster.n_ranks, fabric;
    uint32_t               rounds = cs_stragglar_steps(n, o);
    double                 pre_s  = 0;
    bool                   exact  = true;

    if (!cs_is_uniform(scenario, &fabric) || scenario->bytes % o->chunks != 0) {
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
    return start_s + rounds * cs_message_s(scenario, fabric, bytes);
}

static double stragglar_closed_form_s(const cs_scenario *scenario, const void *options)
{
    const cs_stragglar_options *o      = options;
    const cs_late_number        number = cs_stragglar_number(o);

    return o->late_ranks == 1 ? one_closed_form_s(scenario, o)
                              : cs_late_number_closed_form_s(scenario, &number);
}

const cs_algorithm cs_algorithm_stragglar = {
    .name        = "stragglar",
    .summary     = "ReduceScatter among the others while one rank is late, then n-2+log2 n rounds",
    .source      = "Efficient AllReduce with Stragglers (StragglAR); rotational schedule",
    .collectives = 1u << CS_ALLREDUCE,
    .options     = cs_stragglar_table,
    .options_bytes = sizeof(cs_stragglar_options),
    .check         = stragglar_check,
    .open          = stragglar_open,
    .next_block    = stragglar_next_block,
    .close         = stragglar_close,
    .closed_form_s = stragglar_closed_form_s,
};
