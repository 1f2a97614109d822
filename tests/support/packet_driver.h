/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tests/support/packet_driver.h -- a simulator of packets behind something that behaves like the
 * dispatcher: ends are taken in the order of their times, messages are handed over then, and no
 * window is processed that holds the next end or the next rank that comes.
 */
#ifndef CT_SUPPORT_PACKET_DRIVER_H
#define CT_SUPPORT_PACKET_DRIVER_H

#include "support/packet_world.h"

typedef struct ct_packet_run {
    cs_status        status; /* of what failed first */
    cs_ps           *end;    /* owned [n_sends]; CS_PS_NEVER: it has not */
    size_t           n_missing;
    cs_packet_totals totals;
    char             why[400]; /* that messages are missing, or that it failed */
} ct_packet_run;

/* Send the schedule of a world. The engine stops at more times where `stops` is not 0, drawn from
 * it. A broken contract fails the test. */
ct_packet_run ct_packet_drive(const ct_packet_world *world, const cs_packet_engine *engine,
                              uint64_t stops);
void          ct_packet_run_free(ct_packet_run *run);

/* Drive the engine; a message that ends at another time than the oracle's fails the test, and so
 * do other totals, and a reason that is not true: a deadlock's cycle, headroom that is exceeded. */
void ct_packet_same(const ct_packet_world *world, const ct_packet_answer *want,
                    const cs_packet_engine *engine, uint64_t stops);

#endif
