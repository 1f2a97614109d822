/* SPDX-License-Identifier: GPL-3.0-or-later */
/* traces/fault_history.h -- what failed in a fleet of servers, and when it was repaired.
 *
 * A file is a JSON array of events in the order of their times:
 *
 *   {"node_id": "..", "event_time": DAYS, "event_type": "fault_start" or "fault_end",
 *    "fault_type": {"Level": "..", "Class": "..", "Desc": ".."}}
 *
 * as the trace of C. Shou et al., "InfiniteHBD", SIGCOMM 2025, is published. An end closes the
 * first open fault of its node and type; what is never closed lasts for ever. "fault_type" and its
 * keys may be missing; other keys are skipped.
 */
#ifndef CS_TRACES_FAULT_HISTORY_H
#define CS_TRACES_FAULT_HISTORY_H

#include "base/arena.h"
#include "cs/error.h"

#include <stddef.h>
#include <stdint.h>

enum { CS_FAULT_HISTORY_MAX_BYTES = 256 << 20 };

/* A kind of fault in the words of the file; "" where it has none. */
typedef struct cs_fault_type {
    const char *level, *class_name, *description;
} cs_fault_type;

typedef struct cs_fault_record {
    double   from_s, until_s; /* until_s INFINITY: the file does not say */
    uint32_t node, type;
} cs_fault_record;

typedef struct cs_fault_history {
    cs_arena         arena;
    const char     **nodes; /* names, in the order in which they first fail */
    size_t           n_nodes;
    cs_fault_type   *types;
    size_t           n_types;
    cs_fault_record *faults; /* by from_s, as in the file */
    size_t           n;      /* >= 1 */
    double           end_s;  /* the last event */
} cs_fault_history;

/* Read a text; `name` is its name in errors, which carry line and column. The caller owns the
 * history (cs_fault_history_free) on CS_OK. */
CS_MUST_CHECK cs_status cs_fault_history_parse(const char *text, size_t length, const char *name,
                                               cs_fault_history *history_p, cs_error *err);

/* The same from a file. A file that cannot be read is CS_EIO. */
CS_MUST_CHECK cs_status cs_fault_history_load(const char *path, cs_fault_history *history_p,
                                              cs_error *err);

/* `{0}` is allowed. */
void cs_fault_history_free(cs_fault_history *history);

#endif
