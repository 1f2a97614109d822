/* SPDX-License-Identifier: GPL-3.0-or-later */
/* engine/explain.h -- the critical path of a run: which transfers decide the time.
 *
 * Every transfer waited for another one: that which brought its data, the one before it on its
 * sending or its receiving port, or a fence. The path runs backwards from the transfer that ended
 * last to a rank's arrival.
 */
#ifndef CS_ENGINE_EXPLAIN_H
#define CS_ENGINE_EXPLAIN_H

#include "base/arena.h"
#include "cs/recording.h"

/* What a transfer waited for longest before it could start. */
typedef enum cs_wait {
    CS_WAIT_ARRIVAL, /* for its source or destination to arrive */
    CS_WAIT_DATA,    /* for the transfer that brought its data */
    CS_WAIT_TX,      /* for the sending port, or for links beside it */
    CS_WAIT_RX,      /* for the receiving port, or for links beside it */
    CS_WAIT_FENCE,   /* for a barrier */
} cs_wait;

typedef struct cs_path_step {
    double   start_s, end_s;
    uint32_t src, dst, chunk, round;
    cs_wait  wait;
} cs_path_step;

/* The limit of the recording: 20 million transfers. */
cs_status cs_critical_path_limit(const cs_recording *recording, cs_error *err);

/* The critical path of a replay of `scenario`, first transfer first; the steps are the arena's.
 * 8 bytes a transfer and 4 a port and slot besides. */
CS_MUST_CHECK cs_status cs_critical_path(const cs_recording *recording, const cs_scenario *scenario,
                                         cs_arena *arena, const cs_path_step **steps_p,
                                         size_t *count_p, cs_error *err);

/* "its data", "the sending port" ...; static storage. */
const char *cs_wait_text(cs_wait wait);

#endif
