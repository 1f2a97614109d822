/* SPDX-License-Identifier: GPL-3.0-or-later */
/* replay/explain.h -- the critical path of a run: which transfers decide the time.
 *
 * An observer that remembers every transfer with the one that it waited for: the transfer that
 * brought its data, the one before it on its sending or its receiving port, or a fence. The path
 * runs backwards from the transfer that ended last to a rank's arrival. 48 bytes a transfer.
 */
#ifndef CS_REPLAY_EXPLAIN_H
#define CS_REPLAY_EXPLAIN_H

#include "cs/job.h"

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

typedef struct cs_explain cs_explain;

/* A recorder for one run; the caller owns it. More than 20 million transfers are refused
 * while it records. */
cs_status cs_explain_open(const cs_scenario *scenario, const cs_plan *plan, cs_explain **explain_p,
                          cs_error *err);

/* The observer to hand to the replay; it borrows the recorder. */
cs_observer cs_explain_observer(cs_explain *explain);

/* The critical path, first transfer first: steps_p borrows from the recorder until it is
 * closed. */
cs_status cs_explain_path(cs_explain *explain, const cs_path_step **steps_p, size_t *count_p,
                          cs_error *err);

/* "its data", "the sending port" ...; static storage. */
const char *cs_wait_text(cs_wait wait);

void cs_explain_close(cs_explain *explain);

#endif
