/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/stragglar/servers_course.h -- what the late servers do in which round of the main
 * phase of StragglAR over servers (servers.h).
 */
#ifndef CS_ALGORITHMS_STRAGGLAR_SERVERS_COURSE_H
#define CS_ALGORITHMS_STRAGGLAR_SERVERS_COURSE_H

#include "algorithms/stragglar/rail.h"

#include <stdbool.h>

typedef struct cs_late_course {
    uint32_t *given;      /* [rounds] chunk whose contribution the server gives, or CS_NO_LABEL */
    uint32_t *completed;  /* [rounds] chunk that it completes, or CS_NO_LABEL */
    uint32_t  last_given; /* round */
} cs_late_course;

/* The course of late server `label`, whose tables are the arena's: of the only one by the rail's
 * outline (which is all but its tables), of several by its rounds. O(rounds), or the number of
 * their transfers. */
cs_status cs_late_course_make(const cs_rail *rail, uint32_t early, uint32_t label, cs_arena *arena,
                              cs_late_course *course_p, cs_error *err);

/* Turns of the main phase that the server needs: one before round 0, one a round, and what follows:
 * it hands out a final value the turn after the round that brought it. Along a chain of `mates` (0:
 * there is none) final values of rounds before last_given - 1 go a mate a turn. */
uint32_t cs_late_course_turns(const cs_late_course *course, uint32_t rounds, uint32_t mates);

#endif
