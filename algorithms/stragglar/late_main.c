/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The main phase: see late_main.h. */
#include "algorithms/stragglar/late_main.h"

#include "algorithms/stragglar/late_small.h"
#include "algorithms/stragglar/tail.h"
#include "algorithms/stragglar/telephone_odd.h"

uint32_t cs_late_main_depth(cs_late_source source, uint32_t n, uint32_t chunks)
{
    return source == CS_LATE_ROTATION ? cs_rotation_depth(n) : chunks;
}

cs_status cs_late_main_build(cs_late_source source, uint32_t n, uint32_t chunks,
                             cs_label_rounds *rounds_p, cs_error *err)
{
    switch (source) {
    case CS_LATE_ONE_CHUNK: return cs_one_chunk_build(n, rounds_p, err);
    case CS_LATE_THREE_RANKS: return cs_three_ranks_build(chunks, rounds_p, err);
    case CS_LATE_TELEPHONE_ODD: return cs_telephone_odd_build(n, rounds_p, err);
    case CS_LATE_ROTATION: break;
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
    return cs_late_main_build(source, layout->early + 1, layout->chunks, &main->stored, err);
}

void cs_late_main_close(cs_late_main *main)
{
    cs_label_rounds_free(&main->stored);
}

bool cs_late_main_next(cs_late_main *main, cs_block *block)
{
    return (main->has_steady && cs_rotation_stream_next(&main->steady, block)) ||
           cs_label_stream_next(&main->stream, block);
}
