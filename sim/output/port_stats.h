/* SPDX-License-Identifier: GPL-3.0-or-later */
/* output/port_stats.h -- what every port did during a run: what `run --explain` prints. Sums for
 * each port, so it is an observer of its own and needs no recording. */
#ifndef CS_OUTPUT_PORT_STATS_H
#define CS_OUTPUT_PORT_STATS_H

#include "base/text.h"
#include "cs/job.h"

/* One port and direction. */
typedef struct cs_port_stat {
    uint64_t n_messages;
    uint64_t bytes;
    double   busy_s;  /* with at least one message under way */
    double   first_s; /* start of the first message */
    double   until_s; /* end of the last one */
} cs_port_stat;

typedef struct cs_port_stats {
    const cs_cluster *cluster;              /* borrowed */
    size_t            base[CS_FABRICS + 1]; /* first port of a fabric; the last: how many */
    cs_port_stat     *ports[2];             /* sending, receiving; owned */
} cs_port_stats;

/* All zero; cs_port_stats_free() it. `cluster` is borrowed until then. */
CS_MUST_CHECK cs_status cs_port_stats_init(cs_port_stats *stats, const cs_cluster *cluster,
                                           cs_error *err);

/* The observer that counts; for one replay. It does not fail. */
cs_observer cs_port_stats_observer(cs_port_stats *stats);

/* The port of `here` on the way to or from `there`. */
cs_port_stat *cs_port_stats_at(const cs_port_stats *stats, bool sends, uint32_t fabric,
                               uint32_t here, uint32_t there);

/* Add a table of all ports that were used, the busiest first, at most `max_ports` of them, and
 * one line on all together. Idle time is what is left of `elapsed_s`. */
void cs_port_stats_text(cs_text *text, const cs_port_stats *stats, double elapsed_s,
                        size_t max_ports);

void cs_port_stats_free(cs_port_stats *stats);

#endif
