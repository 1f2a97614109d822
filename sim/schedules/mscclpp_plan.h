/* SPDX-License-Identifier: GPL-3.0-or-later */
/* schedules/mscclpp_plan.h -- an execution plan of MSCCL++ (schedules/mscclpp.h): what its JSON
 * says, with all numbers resolved; and what it is as a program of MSCCL. */
#ifndef CS_SCHEDULES_MSCCLPP_PLAN_H
#define CS_SCHEDULES_MSCCLPP_PLAN_H

#include "schedules/msccl_program.h"

/* What the executor of MSCCL++ holds of a thread block and of a GPU. */
enum {
    CS_MSCCLPP_MAX_OPS        = 64,
    CS_MSCCLPP_MAX_CHANNELS   = 16, /* of a type, and as many remote buffers */
    CS_MSCCLPP_MAX_SEMAPHORES = 16, /* and as many barriers */
};

enum {
    CS_MSCCLPP_MAX_LANES = 64,      /* channels or semaphores of an operation */
    CS_MSCCLPP_MAX_ENDS  = 64,      /* buffers of an operation */
    CS_MSCCLPP_MAX_PARTS = 64,      /* thread blocks of a group */
    CS_MSCCLPP_MAX_TIMES = 1 << 13, /* operations of a thread block */
    CS_MSCCLPP_SLICES    = 2,       /* of a pipeline */
};

/* Name, what src_buff and dst_buff are (l: of the GPU itself, r: of a peer, *: any more of those),
 * and what it does with them. */
/* clang-format off */
#define CS_MSCCLPP_OP_MAP(X)                                                              \
    X(NOP,         "nop",         "",    "",     0)                                       \
    X(BARRIER,     "barrier",     "",    "",     0)                                       \
    X(PUT,         "put",         "l*",  "r*",   CS_MSCCLPP_PAIRS)                        \
    X(PWS,         "pws",         "l*",  "r*",   CS_MSCCLPP_PAIRS | CS_MSCCLPP_PORT)      \
    X(PWSF,        "pwsf",        "l*",  "r*",   CS_MSCCLPP_PAIRS | CS_MSCCLPP_PORT)      \
    X(GET,         "get",         "r*",  "l*",   CS_MSCCLPP_PAIRS)                        \
    X(COPY,        "copy",        "l",   "l",    0)                                       \
    X(SIGNAL,      "signal",      "",    "",     0)                                       \
    X(WAIT,        "wait",        "",    "",     0)                                       \
    X(RLXSIGNAL,   "rlxsignal",   "",    "",     CS_MSCCLPP_RELAXED)                      \
    X(RLXWAIT,     "rlxwait",     "",    "",     CS_MSCCLPP_RELAXED)                      \
    X(FLUSH,       "flush",       "",    "",     CS_MSCCLPP_PORT)                         \
    X(RE,          "re",          "ll*", "l",    CS_MSCCLPP_ADDS)                         \
    X(RES,         "res",         "ll*", "lr*",  CS_MSCCLPP_ADDS)                         \
    X(RRE,         "rre",         "lr*", "l",    CS_MSCCLPP_ADDS)                         \
    X(RRES,        "rres",        "lr*", "lr*",  CS_MSCCLPP_ADDS)                         \
    X(PPKT,        "ppkt",        "l*",  "r*",   CS_MSCCLPP_PAIRS | CS_MSCCLPP_TO_PACKETS)        \
    X(RPPKT,       "rppkt",       "l",   "rr*",  CS_MSCCLPP_FROM_PACKETS | CS_MSCCLPP_TO_PACKETS) \
    X(CPKT,        "cpkt",        "l",   "l",    CS_MSCCLPP_TO_PACKETS)                   \
    X(UPKT,        "upkt",        "l",   "l",    CS_MSCCLPP_FROM_PACKETS)                 \
    X(REPKT,       "repkt",       "ll*", "l",    CS_MSCCLPP_ADDS | CS_MSCCLPP_SUM_PACKETS) \
    X(RESPKT,      "respkt",      "ll*", "lr*",  CS_MSCCLPP_ADDS | CS_MSCCLPP_SUM_PACKETS) \
    X(RECPKT,      "recpkt",      "ll*", "ll",   CS_MSCCLPP_ADDS | CS_MSCCLPP_SUM_PACKETS) \
    X(RECSPKT,     "recspkt",     "ll*", "llr*", CS_MSCCLPP_ADDS | CS_MSCCLPP_SUM_PACKETS) \
    X(SEM_ACQUIRE, "sem_acquire", "",    "",     0)                                       \
    X(SEM_RELEASE, "sem_release", "",    "",     0)                                       \
    X(PIPELINE,    "pipeline",    "",    "",     0)
/* clang-format on */

enum {
    CS_MSCCLPP_PAIRS        = 1u << 0, /* the k-th src goes to the k-th dst */
    CS_MSCCLPP_ADDS         = 1u << 1, /* the first dst is the sum of all src; others are copies */
    CS_MSCCLPP_TO_PACKETS   = 1u << 2, /* all dst hold packets */
    CS_MSCCLPP_FROM_PACKETS = 1u << 3, /* all src do */
    CS_MSCCLPP_SUM_PACKETS  = 1u << 4, /* all src and dst but the first do */
    CS_MSCCLPP_PORT         = 1u << 5, /* over ports only */
    CS_MSCCLPP_RELAXED      = 1u << 6,
};

typedef enum cs_mscclpp_kind {
#define X(id, ...) CS_MSCCLPP_##id,
    CS_MSCCLPP_OP_MAP(X)
#undef X
        CS_MSCCLPP_OP_COUNT
} cs_mscclpp_kind;

/* What an operation of a kind does. */
uint32_t cs_mscclpp_traits(uint32_t op);

/* Chunks of a buffer of a GPU. */
typedef struct cs_mscclpp_end {
    uint32_t gpu, index, size;
    uint8_t  buffer; /* cs_msccl_buffer */
} cs_mscclpp_end;

typedef struct cs_mscclpp_op {
    uint8_t                     kind; /* cs_mscclpp_kind */
    bool                        is_port;
    uint32_t                    origin; /* of the plan's */
    const cs_mscclpp_end       *src, *dst;
    uint32_t                    n_src, n_dst;
    const uint32_t             *ids; /* channels of the plan, semaphores of the GPU */
    uint32_t                    n_ids;
    uint32_t                    barrier, n_blocks; /* that meet there */
    uint32_t                    part, n_parts;     /* of the thread block in its group */
    uint32_t                    message, round;    /* message 0: not said */
    const struct cs_mscclpp_op *inner;             /* of a pipeline */
    uint32_t                    n_inner;
} cs_mscclpp_op;

typedef struct cs_mscclpp_block {
    cs_mscclpp_op *ops;
    uint32_t       n_ops;
} cs_mscclpp_block;

/* One end of a channel. */
typedef struct cs_mscclpp_channel {
    uint32_t gpu, peer;
    uint32_t index; /* among those of the type at the GPU */
    uint32_t twin;  /* the other end, of the plan's channels, or CS_MSCCL_NONE */
    bool     is_port;
} cs_mscclpp_channel;

typedef struct cs_mscclpp_gpu {
    cs_mscclpp_block *blocks;
    uint32_t          n_blocks, n_scratch;
    uint32_t          first_channel[2], n_channels[2]; /* of memory, of ports: of the plan's */
    uint32_t         *semaphores;                      /* what they begin with */
    uint32_t          n_semaphores;
} cs_mscclpp_gpu;

typedef struct cs_mscclpp_plan {
    const char         *name;
    cs_collective       collective;
    bool                in_place;
    uint32_t            root; /* or CS_MSCCL_NONE */
    uint32_t            n_gpus, n_inputs, n_outputs;
    cs_mscclpp_gpu     *gpus;
    cs_mscclpp_channel *channels;
    uint32_t            n_channels;
    cs_msccl_origin    *origins; /* of operations; in front of them, each GPU's call */
    uint32_t            n_origins;
    uint32_t            split;      /* into so many parts every chunk is cut */
    bool                has_slices; /* some operation is a pipeline */
} cs_mscclpp_plan;

/* Read a plan; all memory is the arena's. Errors have their place. */
cs_status cs_mscclpp_read(const char *text, size_t length, const char *input, cs_arena *arena,
                          cs_mscclpp_plan *plan, cs_error *err);

/* The plan as a program, whose order is that of its signals; all memory is the arena's. What can be
 * seen without running it is refused. `left` (not filled yet) is filled where signals or semaphores
 * are left over at the end, which is CS_EWRONG if all else is right. Errors of a plan have a path
 * (cs_error.where) that is yet to be located. */
cs_status cs_mscclpp_program(const cs_mscclpp_plan *plan, const char *input, cs_arena *arena,
                             cs_msccl_program *program, cs_error *left, cs_error *err);

#endif
