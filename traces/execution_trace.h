/* SPDX-License-Identifier: GPL-3.0-or-later */
/* traces/execution_trace.h -- what every rank of a job does in an iteration: compute, calls of
 * collectives, messages, and what waits for what. Read from Chakra execution traces (schema 1.0 and
 * those before): protobuf, or one of its two forms as JSON (traces/chakra.h).
 *
 * A node is one piece of work of one rank. It begins when all that it depends on has ended. Calls
 * of a process group match by their order on each of its ranks, messages by their order from one
 * rank to another with one tag: the order is that of the node numbers, as far as dependencies let
 * it be.
 */
#ifndef CS_TRACES_EXECUTION_TRACE_H
#define CS_TRACES_EXECUTION_TRACE_H

#include "base/arena.h"
#include "base/text.h"
#include "cs/collective.h"
#include "cs/error.h"

#include <stdbool.h>
#include <stdint.h>

enum { CS_EXECUTION_MAX_NODES = 1 << 28 };       /* of one rank */
#define CS_EXECUTION_MAX_BYTES ((size_t)4 << 30) /* of one file, unpacked */

typedef enum cs_work_kind {
    CS_WORK_NOTHING, /* takes no time: metadata, and what has none */
    CS_WORK_HOST,    /* on the CPU */
    CS_WORK_COMPUTE, /* a kernel on the GPU */
    CS_WORK_OTHER,   /* memory, storage: takes its time beside all else */
    CS_WORK_CALL,    /* its rank's part in a collective */
    CS_WORK_SEND,
    CS_WORK_RECEIVE,
    CS_WORK_KINDS
} cs_work_kind;

typedef struct cs_work {
    uint64_t id;         /* the node's number in the file */
    double   duration_s; /* as recorded; of calls and messages not used */
    uint64_t bytes;      /* that a rank puts into a call; of a message */
    uint32_t needs;      /* on how many nodes it depends */
    uint32_t first_user; /* of cs_execution.users: those that depend on it, up to the next one's */
    uint32_t sequence;   /* of calls: how many the rank's group had before; of messages: number */
    uint32_t group;      /* of calls: index into the rank's groups; of messages: the other rank */
    uint32_t tag;        /* of messages */
    uint32_t root;       /* of calls: a rank of the job; UINT32_MAX: not said */
    uint8_t  kind;       /* cs_work_kind */
    uint8_t  collective; /* of calls */
} cs_work;

/* What one rank does. */
typedef struct cs_execution {
    const cs_work  *nodes; /* [n_nodes + 1] by number; the last has only first_user */
    uint32_t        n_nodes;
    const uint32_t *users;  /* indices of nodes */
    const uint32_t *groups; /* [n_groups] of the job; UINT32_MAX: no call is of it */
    uint32_t        n_groups;
    double          compute_s; /* all kernels together */
} cs_execution;

/* A process group: its name and its ranks, as one may have several of the same ranks. Its calls are
 * those of the trace from first_call on. */
typedef struct cs_work_group {
    const char     *name;  /* "0": all ranks, unless the trace says otherwise */
    const uint32_t *ranks; /* [n_ranks] in ascending order */
    uint32_t        n_ranks;
    uint32_t        first_call, n_calls;
} cs_work_group;

/* A call of a group: what its ranks' nodes are parts of. */
typedef struct cs_work_call {
    uint64_t bytes; /* in nccl-tests' size column; 0: nothing is sent */
    uint32_t group;
    uint32_t root; /* a rank of the job; UINT32_MAX: the first of the group */
    uint8_t  collective;
} cs_work_call;

typedef struct cs_work_message {
    uint64_t bytes;
    uint32_t src, dst;
} cs_work_message;

typedef struct cs_execution_trace {
    cs_arena         arena;
    cs_execution    *ranks; /* [n_ranks]; where one file is for all, they share its lists */
    uint32_t         n_ranks;
    bool             is_one_file;
    cs_work_group   *groups;
    uint32_t         n_groups;
    cs_work_call    *calls;
    uint32_t         n_calls;
    cs_work_message *messages;
    uint32_t         n_messages;
    uint64_t         n_nodes; /* of all ranks */
    cs_text          notes;   /* lines about what was left out or assumed */
} cs_execution_trace;

/* Is there an execution trace at the path: a file, or a folder with one? A path at which nothing
 * can be read is none. */
bool cs_execution_trace_is(const char *path);

/* Read a trace: one file for all of `n_ranks` ranks, or one file or folder per rank, whose names
 * end in the rank's number (NAME.0.et, NAME.1.et, ..; `n_ranks` is then their number, or 0). Each
 * of `n` paths may be a list with commas. `groups_path`: a JSON file that says which ranks the
 * process groups have that the trace names ({"1": [0, 2], ..}), or NULL. Refused: ranks that are
 * missing or there twice, dependencies in a circle, calls of a group that do not match. On CS_OK
 * the trace is the caller's. Some 4 M nodes/s. */
CS_MUST_CHECK cs_status cs_execution_trace_load(const char *const *paths, size_t n,
                                                const char *groups_path, uint32_t n_ranks,
                                                cs_execution_trace *trace_p, cs_error *err);

/* One text in memory; `name` is its name in errors. */
typedef struct cs_execution_text {
    const char *name, *text;
    size_t      length;
} cs_execution_text;

/* The same from texts: one for all of `n_ranks` ranks, or one for each in their order. */
CS_MUST_CHECK cs_status cs_execution_texts_read(const cs_execution_text *texts, size_t n,
                                                uint32_t n_ranks, cs_execution_trace *trace_p,
                                                cs_error *err);

/* `{0}` is allowed. */
void cs_execution_trace_free(cs_execution_trace *trace);

#endif
