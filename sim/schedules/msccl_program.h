/* SPDX-License-Identifier: GPL-3.0-or-later */
/* schedules/msccl_program.h -- a program of MSCCL's interpreter, out of its XML
 * (schedules/msccl.h), or what a plan of MSCCL++ is as one (schedules/mscclpp_plan.h). */
#ifndef CS_SCHEDULES_MSCCL_PROGRAM_H
#define CS_SCHEDULES_MSCCL_PROGRAM_H

#include "base/arena.h"
#include "cs/cluster.h"
#include "cs/collective.h"

enum {
    CS_MSCCL_MAX_CHANNELS = 32,
    CS_MSCCL_MAX_PEERS    = 32, /* thread blocks of a channel that send, and that receive */
    CS_MSCCL_MAX_STEPS    = 256,
    CS_MSCCL_MAX_BLOCKS   = 1024, /* of a GPU */
    CS_MSCCL_MAX_AWAITED  = 128,  /* thread blocks of a GPU that may be waited for */
    CS_MSCCL_MAX_COUNT    = 71,
    CS_MSCCL_MAX_CHUNKS   = 1 << 15, /* of a buffer */
    CS_MSCCL_MAX_ELEMENTS = 4095,    /* steps, thread blocks, all GPUs: what a GPU reads */
    CS_MSCCL_MAX_PLACES   = 1 << 24, /* chunks of all buffers together */
    CS_MSCCL_MAX_MOVES    = 1 << 21, /* chunks of all steps together */
};

#define CS_MSCCL_NONE UINT32_MAX

/* Type, and what it does. */
#define CS_MSCCL_OP_MAP(X)                                                                   \
    X(NOP, "nop", 0)                                                                         \
    X(SEND, "s", CS_MSCCL_SENDS | CS_MSCCL_READS)                                            \
    X(RECV, "r", CS_MSCCL_RECEIVES | CS_MSCCL_WRITES)                                        \
    X(RCS, "rcs", CS_MSCCL_RECEIVES | CS_MSCCL_WRITES | CS_MSCCL_SENDS)                      \
    X(RRS, "rrs", CS_MSCCL_RECEIVES | CS_MSCCL_READS | CS_MSCCL_ADDS | CS_MSCCL_SENDS)       \
    X(RRC, "rrc", CS_MSCCL_RECEIVES | CS_MSCCL_READS | CS_MSCCL_ADDS | CS_MSCCL_WRITES)      \
    X(RRCS, "rrcs",                                                                          \
      CS_MSCCL_RECEIVES | CS_MSCCL_READS | CS_MSCCL_ADDS | CS_MSCCL_WRITES | CS_MSCCL_SENDS) \
    X(COPY, "cpy", CS_MSCCL_READS | CS_MSCCL_WRITES)                                         \
    X(REDUCE, "re", CS_MSCCL_READS | CS_MSCCL_ADDS | CS_MSCCL_WRITES)

enum {
    CS_MSCCL_SENDS    = 1u << 0,
    CS_MSCCL_RECEIVES = 1u << 1,
    CS_MSCCL_READS    = 1u << 2, /* src */
    CS_MSCCL_WRITES   = 1u << 3, /* dst */
    CS_MSCCL_ADDS     = 1u << 4, /* src to what is received, or to dst */
};

typedef enum cs_msccl_op {
#define X(id, name, traits) CS_MSCCL_##id,
    CS_MSCCL_OP_MAP(X)
#undef X
        CS_MSCCL_OP_COUNT
} cs_msccl_op;

typedef enum cs_msccl_buffer { CS_MSCCL_INPUT, CS_MSCCL_OUTPUT, CS_MSCCL_SCRATCH } cs_msccl_buffer;

typedef struct cs_msccl_end {
    uint16_t offset; /* chunk of the buffer */
    uint8_t  buffer;
} cs_msccl_end;

typedef struct cs_msccl_step {
    uint8_t      op, traits;
    bool         has_dep;
    uint16_t     count;
    cs_msccl_end src, dst;
    uint32_t     waits_for;     /* step of the program, or CS_MSCCL_NONE */
    uint32_t     number, round; /* of the message that it sends; 0: they are not said */
    uint32_t     block;         /* of the program */
    int          line, column;
} cs_msccl_step;

typedef struct cs_msccl_block {
    uint32_t gpu, id, channel;
    uint32_t send, recv; /* GPU, or CS_MSCCL_NONE */
    uint32_t first_step, n_steps;
    int      line, column;
} cs_msccl_block;

typedef struct cs_msccl_gpu {
    uint32_t first_block, n_blocks;
    uint32_t n_chunks[3]; /* by buffer */
    int      line, column;
} cs_msccl_gpu;

/* How a step of a plan is ordered. A thread block of a plan is many threads: what it does is not
 * in order but where it says so, and one operation is several steps here, at both its GPUs. */
typedef struct cs_msccl_order {
    uint32_t event;      /* the step that stands for its operation; it comes when that one does */
    uint32_t base;       /* the step of its thread block that it comes behind, or NONE */
    uint32_t origin;     /* operation of the plan */
    bool     joins;      /* it comes behind all steps of the block since `base`, too */
    bool     is_relaxed; /* what it waits for has been done, but its writes need not be seen */
    bool     is_flagged; /* it reads packets, each of which says that it is there */
    bool     is_packets; /* what it writes, or sends, are packets */
} cs_msccl_order;

/* An operation of a plan, by its places in the lists of the file. */
typedef struct cs_msccl_origin {
    uint32_t    gpu, block, op, inner; /* inner: of a pipeline, or NONE */
    const char *name;                  /* NULL: the GPU's call as a whole */
} cs_msccl_origin;

/* A program: gpus, their blocks and the blocks' steps one behind the other. */
typedef struct cs_msccl_program {
    const char     *input; /* name of the file */
    char            name[64];
    cs_collective   collective;
    uint32_t        root;             /* or CS_MSCCL_NONE: it is not said */
    uint32_t        n_gpus, n_chunks; /* nchunksperloop */
    uint32_t        n_channels;
    uint32_t        n_ahead; /* sends that a connection holds */
    bool            in_place, out_of_place;
    bool            has_numbers; /* every step that sends says its message's */
    uint32_t        n_scratch;   /* the most of a GPU */
    cs_msccl_gpu   *gpus;
    cs_msccl_block *blocks;
    cs_msccl_step  *steps;
    uint32_t        n_blocks, n_steps;

    /* Of a plan; NULL: the steps of a thread block come one behind the other. */
    cs_msccl_order        *orders; /* [n_steps] */
    const cs_msccl_origin *origins;
    uint32_t               split;     /* chunks here of one in the file */
    uint32_t               n_threads; /* so many thread blocks first are the plan's */
    uint32_t              *begins;    /* [gpus] step at which its call begins */
    uint32_t              *ends;      /* [gpus] ... and ends */
    bool                   relaxes;   /* some steps are relaxed */
} cs_msccl_program;

/* Read a program; all memory is the arena's. Every rule that can be seen without taking a step
 * holds afterwards. */
cs_status cs_msccl_read(const char *text, size_t length, const char *input, cs_arena *arena,
                        cs_msccl_program *program, cs_error *err);

/* MSCCL's word for a collective, NULL where it has none. */
const char *cs_msccl_collective_name(cs_collective collective);

/* Chunks of a GPU's input or output. */
uint32_t cs_msccl_chunks_of(const cs_msccl_program *p, uint32_t buffer);

/* Where a GPU keeps chunks: places of the input and output come first, then the scratch buffer.
 * `aliases`: input and output are one buffer. */
uint32_t cs_msccl_n_places(const cs_msccl_program *p, bool aliases);
uint32_t cs_msccl_place(const cs_msccl_program *p, bool aliases, uint32_t gpu, uint32_t buffer,
                        uint32_t offset);

/* The chunk of the collective that the GPU's input has, or its output must have, at an offset. */
uint32_t cs_msccl_chunk(const cs_msccl_program *p, uint32_t gpu, uint32_t buffer, uint32_t offset);
uint32_t cs_msccl_all_chunks(const cs_msccl_program *p);

/* What a step is called: "the step in line 12", "op 3 (put) of thread block 0 of GPU 1". */
enum { CS_MSCCL_NAME_BYTES = 96 };
const char *cs_msccl_step_name(const cs_msccl_program *p, const cs_msccl_step *step,
                               char name[CS_MSCCL_NAME_BYTES]);

/* Fill an error about a step, with its place: of a plan, its path, which is to be located yet. */
#define CS_MSCCL_FAIL(err, status, p, s, ...) \
    cs_msccl_fail_at(CS_FAIL((err), (status), "step", __VA_ARGS__), (err), (p), (s))
cs_status cs_msccl_fail_at(cs_status status, cs_error *err, const cs_msccl_program *p,
                           const cs_msccl_step *step);

/* ---- a program of which all steps were taken: which messages went, and what they carried ---- */

/* What a place holds: nothing, a GPU's own chunk, or a value. */
#define CS_MSCCL_NOTHING UINT32_MAX
#define CS_MSCCL_OWN     ((uint32_t)1 << 31)

/* A chunk that came with a message, or a sum of two others that the GPU had. */
typedef struct cs_msccl_value {
    uint32_t a, b;  /* sum of these; of a message: itself, CS_MSCCL_NONE */
    uint32_t chunk; /* of the collective; of a sum: of its first part */
    uint32_t place; /* where it was put first */
    uint32_t step;  /* that made it */
    uint64_t print; /* sum of pseudo-random words of all contributions */
} cs_msccl_value;

typedef struct cs_msccl_message {
    uint32_t send_step, recv_step;
    uint32_t first; /* of payloads; the values at the receiver are first_value .. */
    uint32_t first_value;
    uint32_t number; /* of the file, or 0; what is one message has one number */
    uint32_t round;
    uint16_t count;
    uint8_t  state;
} cs_msccl_message;

/* A program that was run, in place or not. */
typedef struct cs_msccl_run {
    const cs_msccl_program *program;
    bool                    aliases;
    uint32_t                n_places;
    uint32_t               *at;       /* [gpus][places] at the end: what is there */
    cs_msccl_message       *messages; /* in stream order */
    uint32_t                n_messages;
    uint32_t               *payloads; /* what was sent, chunk by chunk */
    cs_msccl_value         *values;
    uint32_t                n_values;
    uint32_t               *order;    /* [n_steps] steps in an order in which they were taken */
    uint32_t               *incoming; /* [n_steps] step that sent what a step received, or NONE */
    cs_error                unset; /* of a plan: the first that read what was not there, if any */
} cs_msccl_run;

/* Take all steps. CS_EPARSE: some can never be taken (of a plan CS_EWRONG); CS_EWRONG: one reads
 * what is not there (of a plan, this is left in the run: what is not there may come too late). */
cs_status cs_msccl_take_steps(const cs_msccl_program *p, bool aliases, cs_arena *arena,
                              cs_msccl_run *run, cs_error *err);

/* The sum of the words of all contributions in a value of a GPU. */
uint64_t cs_msccl_print(const cs_msccl_run *run, uint32_t gpu, uint32_t value);

/* Do any two steps race for a chunk? CS_EWRONG with both. */
cs_status cs_msccl_check_order(const cs_msccl_run *run, cs_error *err);

#endif
