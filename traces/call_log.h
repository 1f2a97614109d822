/* SPDX-License-Identifier: GPL-3.0-or-later */
/* traces/call_log.h -- calls of process groups as always-on logs have them: every process writes
 * its own, on the clock of its host, and some calls are lost. Records come rank by rank or mixed;
 * out of them comes a trace of arrivals.
 *
 * Calls of different ranks are the same where group, collective and number agree. Ranks that are
 * nowhere are named. Logs lose records (of 256 ranks that each lose 5 %, no call is whole): which
 * calls are used all the same is in traces/call_grid.h; ranks that lost one of these are taken to
 * come, leave and be called as the middle of the others. Other calls are left out. The notes count
 * both.
 *
 * Clocks. Where records have readings of their host's clock, the clocks are set by the ends of the
 * calls (traces/host_clocks.h): a host all of whose ranks always leave late looks like one whose
 * clock is ahead, so such a slow network cannot be seen. Where there are no readings, or few ranks
 * have them, or one steps back, arrivals come from the times inside (traces/arrival_rows.h).
 *
 * Memory is bounded: of more than CS_CALL_LOG_MOST records every second call is kept, then every
 * fourth, and so on, the same ones on all ranks; the notes say so.
 */
#ifndef CS_TRACES_CALL_LOG_H
#define CS_TRACES_CALL_LOG_H

#include "cs/collective.h"
#include "input/json_scan.h"
#include "traces/arrival_rows.h"
#include "traces/call_record.h"

#define CS_CALL_LOG_MOST ((size_t)1 << 21)

typedef struct cs_call_log cs_call_log;

/* One call of one rank. Times in ns, CS_NO_TIME: not known. */
typedef struct cs_logged_call {
    cs_scan_text  group; /* the communicator, by any name that all its ranks give it */
    cs_collective collective;
    uint64_t      sequence; /* the number of the call among those of its group and collective */
    uint32_t      rank, n_ranks; /* in the group; n_ranks 0: not known */
    uint32_t      host;          /* cs_call_log_host() */
    int64_t       started_ns;    /* of the kernel, on the host's clock */
    int64_t       inside_ns;     /* from there to its end */
    int64_t       queued_ns;     /* from the host's call to there */
    uint64_t      bytes;         /* as nccl-tests counts them; 0: not known */
} cs_logged_call;

/* Begin a log. `resolution_ns`: how finely its times are given. */
CS_MUST_CHECK cs_status cs_call_log_open(int64_t resolution_ns, cs_call_log **log_p, cs_error *err);

/* The number of a host. O(1) for the host of the call before, else O(hosts). */
CS_MUST_CHECK cs_status cs_call_log_host(cs_call_log *log, cs_scan_text name, uint32_t *host_p,
                                         cs_error *err);

/* Add a record; it is copied. A rank's counters may begin again (the job was restarted): its calls
 * from there on are others. Refused: a rank that its group cannot have. O(1) amortised. */
CS_MUST_CHECK cs_status cs_call_log_add(cs_call_log *log, const cs_logged_call *call,
                                        cs_error *err);

/* Make a trace of the group and collective that the options ask for; else it is the group with most
 * records, and AllReduce, or the collective with most records where there is no AllReduce. Notes
 * say what was chosen, lost and assumed. `name` is the input's in errors. O(n log n). */
CS_MUST_CHECK cs_status cs_call_log_finish(cs_call_log *log, const cs_arrival_options *options,
                                           const char *name, cs_arrival_trace *trace_p,
                                           cs_arrival_notes *notes, cs_error *err);

/* Records that a reader leaves out, and which. */
typedef struct cs_left_out {
    size_t      n;
    const char *what; /* "sends and receives" */
} cs_left_out;

/* A line for each kind of which there are any. */
void cs_note_left_out(const cs_left_out *list, size_t n, cs_text *text);

/* NULL is allowed. */
void cs_call_log_close(cs_call_log *log);

#endif
