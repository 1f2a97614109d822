/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "algorithms/stragglar/servers_course.h"

static void take_outline(const cs_rail *rail, cs_late_course *course)
{
    for (uint32_t u = 0; u < rail->n_rounds; u++) {
        course->given[u]     = cs_rail_given(rail, u);
        course->completed[u] = cs_rail_completed(rail, u);
    }
    course->last_given = cs_rail_last_given(rail->chunks, rail->halves);
}

static void take_rounds(const cs_rail *rail, uint32_t label, cs_late_course *course)
{
    for (uint32_t u = 0; u < rail->n_rounds; u++) {
        size_t                   count;
        const cs_label_transfer *t = cs_label_round(&rail->stored, u, &count);

        course->given[u] = course->completed[u] = CS_NO_LABEL;
        for (; count > 0; count--, t++) {
            bool is_mine = t->src == label || t->dst == label;
            if (is_mine && t->kind != CS_LABEL_COPY) {
                course->given[u]   = t->chunk;
                course->last_given = u;
            }
            if (is_mine &&
                (t->kind == CS_LABEL_EXCHANGE || (t->kind == CS_LABEL_COPY && t->dst == label))) {
                course->completed[u] = t->chunk;
            }
        }
    }
}

cs_status cs_late_course_make(const cs_rail *rail, uint32_t early, uint32_t label, cs_arena *arena,
                              cs_late_course *course_p, cs_error *err)
{
    cs_late_course course = {.given     = CS_ARENA_NEW(arena, uint32_t, rail->n_rounds),
                             .completed = CS_ARENA_NEW(arena, uint32_t, rail->n_rounds)};

    if (course.given == NULL || course.completed == NULL) {
        return CS_NO_MEMORY(err, "%u rounds", rail->n_rounds);
    }
    if (early + 1 == rail->servers) {
        take_outline(rail, &course);
    } else {
        take_rounds(rail, label, &course);
    }
    *course_p = course;
    return CS_OK;
}

uint32_t cs_late_course_turns(const cs_late_course *course, uint32_t rounds, uint32_t mates)
{
    uint32_t turns = 1 + rounds;

    for (uint32_t u = 0; u < rounds; u++) {
        bool     passes = mates > 0 && u + 1 < course->last_given;
        uint32_t end    = u + (passes ? mates + 2 : 3);
        turns           = course->completed[u] != CS_NO_LABEL && end > turns ? end : turns;
    }
    return turns;
}
