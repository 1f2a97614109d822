/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/stragglar/late_main.h -- the main phase of a schedule with one late rank, from
 * whichever source its rounds come.
 *
 * The rotational schedule is generated round by round (rotation_stream.h) and has a stored tail
 * (tail.h); all others are stored as a whole (label_stream.h). A further source is a row of
 * cs_late_source, a case of cs_late_main_build(), and nothing else here.
 */
#ifndef CS_ALGORITHMS_STRAGGLAR_LATE_MAIN_H
#define CS_ALGORITHMS_STRAGGLAR_LATE_MAIN_H

#include "algorithms/stragglar/label_stream.h"
#include "algorithms/stragglar/rotation_stream.h"

typedef enum cs_late_source {
    CS_LATE_ROTATION,      /* n != 3, C > ceil(log2 n) */
    CS_LATE_ONE_CHUNK,     /* C = 1 */
    CS_LATE_THREE_RANKS,   /* n = 3, C >= 2 */
    CS_LATE_TELEPHONE_ODD, /* C = n - 1 */
} cs_late_source;

typedef struct cs_late_main {
    cs_rotation_stream steady; /* unless has_steady is false */
    cs_label_rounds    stored; /* the tail of the rotation, or all rounds; owned */
    cs_label_stream    stream;
    bool               has_steady;
} cs_late_main;

/* Slots that recycle: a few for the rotation; one for every chunk where rounds are stored, since
 * nothing is known of how long a chunk is in work. */
uint32_t cs_late_main_depth(cs_late_source source, uint32_t n, uint32_t chunks);

/* All rounds of a source that is stored. Free with cs_label_rounds_free(); output only on CS_OK. */
cs_status cs_late_main_build(cs_late_source source, uint32_t n, uint32_t chunks,
                             cs_label_rounds *rounds_p, cs_error *err);

/* Begin in round `first_round`, behind a barrier of all ranks. `main` must stay where it is,
 * borrows the layout and keeps tables in the arena; cs_late_main_close() frees the rest, also after
 * a failure. */
cs_status cs_late_main_start(cs_late_main *main, cs_late_source source,
                             const cs_late_layout *layout, uint32_t first_round, double barrier_s,
                             cs_arena *arena, cs_error *err);
void      cs_late_main_close(cs_late_main *main);

/* Fill the empty block; false at the end. */
bool cs_late_main_next(cs_late_main *main, cs_block *block);

#endif
