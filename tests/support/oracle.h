/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tests/support/oracle.h -- is a recorded schedule the collective? Written from the rules in
 * cs/schedule.h alone: every slot holds the exact multiset of contributions. Slow and plain: O(n)
 * per transfer and chunk, 4 bytes per rank, slot and rank. */
#ifndef CT_SUPPORT_ORACLE_H
#define CT_SUPPORT_ORACLE_H

#include "support/stream.h"

typedef struct ct_judgement {
    bool     is_correct;
    uint32_t rank, chunk; /* the first wrong one */
    char     text[160];
} ct_judgement;

ct_judgement ct_judge(const cs_scenario *scenario, const cs_plan *plan, const ct_stream *stream);

/* The stream of a checked scene; one that is not the collective fails the test. Free with
 * ct_stream_free(). */
ct_stream ct_scene_judged(const ct_scene *scene);

#endif
