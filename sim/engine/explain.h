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

/* Of one transfer: what it waited for and the index of that transfer in the recording. */
typedef struct cs_cause {
    unsigned before : 28; /* CS_NO_CAUSE: none, it waited for an arrival or for nothing */
    cs_wait  wait : 4;
} cs_cause;
#define CS_NO_CAUSE 0xfffffffu /* 28 bits */

/* What every transfer of a replay waited for, and the critical path. */
typedef struct cs_causes {
    const cs_cause *causes; /* [n_transfers] of the recording */
    const uint32_t *path;   /* [n_path] indices of transfers, first transfer first */
    size_t          n_path;
} cs_causes;

typedef struct cs_path_step {
    double   start_s, end_s;
    uint32_t src, dst, chunk, round;
    cs_wait  wait;
} cs_path_step;

/* The limit of the recording: 20 million transfers. */
cs_status cs_critical_path_limit(const cs_recording *recording, cs_error *err);

/* The causes of a replay of `scenario`; all lists are the arena's. A cause stands before its
 * transfer in the recording, and, but for a part of a message, has ended when the transfer starts;
 * parts that bring the same once more wait for the part that travelled and are on no path. 4 bytes
 * a transfer, and 4 a port and slot while it works. O(transfers). */
CS_MUST_CHECK cs_status cs_causes_find(const cs_recording *recording, const cs_scenario *scenario,
                                       cs_arena *arena, cs_causes *causes_p, cs_error *err);

/* The critical path of a replay of `scenario`, first transfer first; the steps are the arena's.
 * 4 bytes a transfer and 4 a port and slot besides. */
CS_MUST_CHECK cs_status cs_critical_path(const cs_recording *recording, const cs_scenario *scenario,
                                         cs_arena *arena, const cs_path_step **steps_p,
                                         size_t *count_p, cs_error *err);

/* "its data", "the sending port" ...; static storage. */
const char *cs_wait_text(cs_wait wait);

#endif
