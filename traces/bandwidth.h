/* SPDX-License-Identifier: GPL-3.0-or-later */
/* traces/bandwidth.h -- the rate of a NIC over time, as a file of lines `time rate`, or the rates
 * of several servers' NICs, as lines `time server rate`.
 *
 * Each line says that the rate holds from that time on, until the next line (of the server); the
 * last one holds for ever. Times increase strictly; with servers they never decrease, and servers
 * increase where times are equal. Times and rates are numbers (seconds, bytes per second) or
 * quantities with a unit ("3ms", "200Gb/s") without a blank inside; servers are counted from 0.
 * Empty lines and what follows a '#' are skipped. A rate of 0 is a dead NIC.
 */
#ifndef CS_TRACES_BANDWIDTH_H
#define CS_TRACES_BANDWIDTH_H

#include "cs/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CS_BANDWIDTH_MAX_BYTES = 64 << 20 };

typedef struct cs_bandwidth_trace {
    size_t    n; /* >= 1 */
    double   *time_s;
    double   *rate_Bps;
    uint32_t *server; /* NULL: lines without a server */
} cs_bandwidth_trace;

/* Read a text, with servers or without; `name` is its name in errors, which carry line and column.
 * The caller owns the trace (cs_bandwidth_free) on CS_OK. */
CS_MUST_CHECK cs_status cs_bandwidth_parse(const char *text, size_t length, const char *name,
                                           bool has_servers, cs_bandwidth_trace *trace_p,
                                           cs_error *err);

/* The same from a file. A file that cannot be read is CS_EIO. */
CS_MUST_CHECK cs_status cs_bandwidth_load(const char *path, bool has_servers,
                                          cs_bandwidth_trace *trace_p, cs_error *err);

/* `{0}` is allowed. */
void cs_bandwidth_free(cs_bandwidth_trace *trace);

#endif
