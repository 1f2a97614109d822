/* SPDX-License-Identifier: GPL-3.0-or-later */
/* serve/worker.h -- a process that makes one answer: a copy of the server without its sockets.
 *
 * What strangers ask for may take any time and memory, in any algorithm, model or library. A
 * process of its own can be ended at any moment, may have so much memory and not more, may write no
 * file, and takes nothing with it that belongs to others. The server that starts it has one thread.
 *
 * An answer comes over a pipe: its status and type in a line, then its bytes.
 */
#ifndef CS_SERVE_WORKER_H
#define CS_SERVE_WORKER_H

#include "serve/api.h"

#include <sys/types.h>

/* `{0}` is none. */
typedef struct cs_worker {
    pid_t   pid;  /* 0: none */
    int     file; /* to read from, which does not block */
    int     http; /* of the answer; 0: its line has not come */
    cs_text type; /* of its bytes */
    cs_text line; /* what has come of the line */
} cs_worker;

/* Start one; close it in any case but an error. */
CS_MUST_CHECK cs_status cs_worker_start(cs_worker *worker, const cs_api *api, const cs_call *call,
                                        cs_error *err);

/* Read what has come, and add what belongs to the answer's bytes to `bytes`, at most about `room`
 * of them. True where there may be more; false: it has ended. */
bool cs_worker_read(cs_worker *worker, size_t room, cs_text *bytes);

/* Ask it to end, or (the second time) have it end. */
void cs_worker_stop(const cs_worker *worker, bool at_once);

/* Behind its end, or in front of it: wait until it has, and free everything. Was the answer
 * complete? */
bool cs_worker_close(cs_worker *worker);

#endif
