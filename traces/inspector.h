/* SPDX-License-Identifier: GPL-3.0-or-later */
/* traces/inspector.h -- logs of NCCL's Inspector, record by record, for those who want more than
 * arrivals (traces/arrival_formats.h has these, and the format). */
#ifndef CS_TRACES_INSPECTOR_H
#define CS_TRACES_INSPECTOR_H

#include "traces/arrival_file.h"
#include "traces/call_log.h"

/* What else a record says, in texts that end with the call; no text: not said. */
typedef struct cs_inspected {
    cs_scan_text host;                /* "?": not said */
    cs_scan_text algorithm, protocol; /* "Ring", "LL128": from version 4.2 on */
} cs_inspected;

/* Takes one call of one rank, whose `host` is left open. */
typedef cs_status (*cs_inspector_taker)(void *user, const cs_logged_call *call,
                                        const cs_inspected *extra, cs_error *err);

/* Give all collectives of all files to `take`; the notes say what was left out. `listener` may be
 * NULL. */
CS_MUST_CHECK cs_status cs_inspector_visit(const cs_arrival_text *texts, size_t n,
                                           const cs_listener *listener, cs_inspector_taker take,
                                           void *user, cs_text *notes, cs_error *err);

#endif
