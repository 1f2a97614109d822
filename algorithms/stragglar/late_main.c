/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The main phase: see late_main.h. */
#include "algorithms/stragglar/late_main.h"

#include "algorithms/stragglar/late_small.h"
#include "algorithms/stragglar/matching_rounds.h"
#include "algorithms/stragglar/tail.h"
#include "algorithms/stragglar/telephone_odd.h"

uint32_t cs_late_main_depth(cs_late_source source, uint32_t n, uint32_t chunks)
{
    bool is_short = source == CS_LATE_ROTATION || source == CS_LATE_PAPER;
    return is_short ? cs_rotation_depth(n) : chunks;
}

cs_status cs_late_main_build(cs_late_source source, uint32_t n, uint32_t chunks,
                             cs_label_rounds *rounds_p, cs_error *err)
{
    switch (source) {
    case CS_LATE_ONE_CHUNK: return cs_one_chunk_build(n, rounds_p, err);
    case CS_LATE_THREE_RANKS: return cs_three_ranks_build(chunks, rounds_p, err);
    case CS_LATE_TELEPHONE_ODD: return cs_telephone_odd_build(n, rounds_p, err);
    case CS_LATE_MATCHING: return cs_matching_rounds_build(n, CS_TIES_PUBLISHED, rounds_p, err);
    case CS_LATE_MATCHING_NEWEST: return cs_matching_rounds_build(n, CS_TIES_NEWEST, rounds_p, err);
    case CS_LATE_ROTATION:
    case CS_LATE_PAPER: break;
    }
    return CS_FAIL(err, CS_EINTERNAL, "", "this schedule is not stored");
}

/* The steady state, and the tail behind it, turned to where C rounds have led. */
static cs_status start_rotation(cs_late_main *m, const cs_late_layout *l, uint32_t first_round,
                                double barrier_s, cs_arena *arena, cs_error *err)
{
    cs_rotation rotation;
    cs_status   status = cs_rotation_build(l->early + 1, arena, &rotation, err);

    if (status == CS_OK) {
        status = cs_tail_build(&rotation, &m->stored, err);
    }
    if (status == CS_OK) {
        status =
            cs_rotation_stream_start(&m->steady, l, &rotation, first_round, barrier_s, arena, err);
    }
    m->has_steady = true;
    m->stream     = (cs_label_stream){.layout      = l,
                                      .rounds      = &m->stored,
                                      .first_round = first_round + l->chunks,
                                      .turn        = l->chunks % l->early,
                                      .shift       = l->chunks - l->early};
    return status;
}

/* Algorithm 1 is checked as a whole, then made again round by round. */
static cs_status start_paper(cs_late_main *m, uint32_t n, cs_arena *arena, cs_error *err)
{
    cs_status status = cs_paper_rounds_check(n, err);

    if (status == CS_OK) {
        status = cs_paper_rounds_start(&m->paper, n, arena, err);
    }
    m->made          = (cs_label_rounds){.transfers = m->paper.out, .round_end = &m->paper.count};
    m->stream.rounds = &m->made;
    return status;
}

cs_status cs_late_main_start(cs_late_main *main, cs_late_source source,
                             const cs_late_layout *layout, uint32_t first_round, double barrier_s,
                             cs_arena *arena, cs_error *err)
{
    *main = (cs_late_main){.has_steady = false};
    if (source == CS_LATE_ROTATION) {
        return start_rotation(main, layout, first_round, barrier_s, arena, err);
    }
    main->stream = (cs_label_stream){.layout      = layout,
                                     .rounds      = &main->stored,
                                     .first_round = first_round,
                                     .has_barrier = true,
                                     .barrier_s   = barrier_s};
    return source == CS_LATE_PAPER
               ? start_paper(main, layout->early + 1, arena, err)
               : cs_late_main_build(source, layout->early + 1, layout->chunks, &main->stored, err);
}

void cs_late_main_close(cs_late_main *main)
{
    cs_label_rounds_free(&main->stored);
}

/* The next round of Algorithm 1 takes the place of the last one. */
static bool make_round(cs_late_main *m)
{
    if (m->paper.out == NULL || !cs_paper_rounds_next(&m->paper)) {
        return false;
    }
    m->stream.first_round += m->made.n_rounds;
    m->stream.has_barrier = m->made.n_rounds == 0;
    m->stream.round       = 0;
    m->stream.next        = 0;
    m->made.n_rounds      = 1;
    return true;
}

bool cs_late_main_next(cs_late_main *main, cs_block *block)
{
    return (main->has_steady && cs_rotation_stream_next(&main->steady, block)) ||
           cs_label_stream_next(&main->stream, block) ||
           (make_round(main) && cs_label_stream_next(&main->stream, block));
}
