/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cs/schedule.h -- a schedule is a stream of transfers, never stored whole.
 *
 * An algorithm fills blocks of transfers. Two rules make the stream all that a network
 * model needs:
 *
 *   Order rule. Whatever a transfer needs stands before it in the stream, and every port
 *   serves its transfers in stream order.
 *   Data rule. A transfer may start when the slot at its source is ready; when it ends,
 *   the slot at its destination is ready (never earlier than it was for CS_OP_REDUCE). A rank's own
 *   contribution is ready when the rank arrives.
 *
 * The buffer is split in `n_chunks` chunks (cs_split). A *slot* is where a rank keeps
 * a chunk while it is in work: a transfer reads `src_slot` at its source and writes
 * `dst_slot` at its destination. Slots are recycled:
 *   CS_OWN_SRC  the source sends its own contribution, whatever its slot holds;
 *   CS_OWN_DST  the destination's slot is recycled: it begins with its own contribution
 *               (CS_OP_REDUCE and CS_OP_EXCHANGE; a CS_OP_COPY recycles it by itself);
 *   CS_DONE_*   after the transfer that end holds its final value of the chunk.
 * Every rank must become DONE exactly once for every chunk that the collective owes it, which
 * is how a schedule is verified without storing it.
 * In a CS_OP_EXCHANGE both ends keep the sum, each in its slot.
 * A switch (cs_switch_of()) may stand for one end of a transfer inside its server, that of the
 * network (cs_network_switch()) for one of a transfer over a NIC: it has slots as ranks have,
 * nothing of its own to begin with, and is done with nothing.
 *
 * A transfer may span several consecutive chunks in as many consecutive slots; it is one
 * message of `bytes` bytes and all of them are ready at its end.
 * A message may have several parts (CS_JOIN). A part that brings what the part before it brought,
 * the same chunks from the same slot, into another slot of the destination has 0 bytes: nothing
 * travels twice (cs_is_repeat).
 */
#ifndef CS_SCHEDULE_H
#define CS_SCHEDULE_H

#include "cs/scenario.h"

#include <assert.h>
#include <string.h>

CS_BEGIN_C

typedef enum cs_op {
    CS_OP_COPY,     /* dst gets src's value */
    CS_OP_REDUCE,   /* dst adds src's value to its own */
    CS_OP_EXCHANGE, /* both send, both keep the sum: both ports of both ends, two messages */
} cs_op;

enum {
    CS_OWN_SRC  = 1u << 0,
    CS_OWN_DST  = 1u << 1,
    CS_DONE_SRC = 1u << 2, /* only with CS_OP_EXCHANGE */
    CS_DONE_DST = 1u << 3,
    CS_SHARED   = 1u << 4, /* fan-out and fan-in group: on every port, the transfers of one
                              round pay alpha once and share the bandwidth */
    CS_FENCE = 1u << 5,    /* the block's fence stands before it: first of its block only */
    CS_JOIN  = 1u << 6,    /* one message with the transfer before it (same ends, fabric, block):
                              it starts when the data of all parts are there, pays alpha once,
                              and all parts are ready at its end */
};

typedef struct cs_transfer {
    uint32_t src, dst;  /* ranks, src != dst; with CS_USES_SWITCH one may be a switch */
    uint32_t chunk;     /* first chunk */
    uint16_t src_slot;  /* where the source keeps the first chunk */
    uint16_t dst_slot;  /* where the destination keeps it */
    uint64_t bytes;     /* of the whole message, one direction; < 2^53 */
    uint32_t round;     /* never decreases in the stream */
    uint16_t span;      /* consecutive chunks, >= 1 */
    uint8_t  flags;     /* CS_OWN_SRC .. CS_JOIN */
    uint8_t  op_fabric; /* cs_op | fabric << 4: use the functions below */
} cs_transfer;

static_assert(sizeof(cs_transfer) == 32, "two transfers in a cache line");

static inline cs_op cs_transfer_op(const cs_transfer *t)
{
    return (cs_op)(t->op_fabric & 15u);
}
static inline uint32_t cs_transfer_fabric(const cs_transfer *t)
{
    return (uint32_t)t->op_fabric >> 4;
}
static inline uint8_t cs_op_fabric(cs_op op, uint32_t fabric)
{
    return (uint8_t)((uint32_t)op | fabric << 4);
}

/* The last four bytes of a transfer (span, flags, op and fabric) as one word. */
static inline uint32_t cs_transfer_tail(const cs_transfer *t)
{
    uint32_t tail;
    memcpy(&tail, (const char *)t + offsetof(cs_transfer, span), sizeof tail);
    return tail;
}

/* One chunk, COPY or REDUCE, over the NICs, not in a SHARED group: what nearly all transfers
 * are, and what models may serve in a loop without branches. One load, one comparison. */
static inline bool cs_is_simple(const cs_transfer *t)
{
    cs_transfer mask = *t, want = *t; /* of which only the tails count */

    mask.span      = 0xffffu;
    mask.flags     = CS_SHARED;
    mask.op_fabric = 0xfeu;
    want.span      = 1;
    want.flags     = 0;
    want.op_fabric = 0;
    return (cs_transfer_tail(t) & cs_transfer_tail(&mask)) == cs_transfer_tail(&want);
}

/* Does a part with CS_JOIN bring once more what the part before it in the list brought? Of t[-1]
 * and t[0]. */
static inline bool cs_is_repeat(const cs_transfer *t)
{
    return (t->flags & CS_JOIN) != 0 && t[-1].chunk == t->chunk && t[-1].span == t->span &&
           t[-1].src_slot == t->src_slot && ((t[-1].flags ^ t->flags) & CS_OWN_SRC) == 0;
}

/* Two 32-bit fields that lie one behind the other, as one word to store. */
static inline uint64_t cs_pair(uint32_t first, uint32_t second)
{
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return (uint64_t)first << 32 | second;
#else
    return (uint64_t)second << 32 | first;
#endif
}

/* Write a transfer in four stores, for the inner loops of generators, which spend their time on
 * stores (ten for the fields one by one). `slots` is cs_slots(), `tail` the last eight bytes of a
 * transfer with the right round, span, flags and op (cs_tail_of). */
static inline void cs_transfer_put(cs_transfer *out, uint32_t src, uint32_t dst, uint32_t chunk,
                                   uint32_t slots, uint64_t bytes, uint64_t tail)
{
    uint64_t ranks = cs_pair(src, dst), place = cs_pair(chunk, slots);

    memcpy((char *)out + offsetof(cs_transfer, src), &ranks, sizeof ranks);
    memcpy((char *)out + offsetof(cs_transfer, chunk), &place, sizeof place);
    memcpy((char *)out + offsetof(cs_transfer, bytes), &bytes, sizeof bytes);
    memcpy((char *)out + offsetof(cs_transfer, round), &tail, sizeof tail);
}

/* src_slot and dst_slot as cs_transfer_put() takes them. */
static inline uint32_t cs_slots(uint32_t src_slot, uint32_t dst_slot)
{
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return src_slot << 16 | dst_slot;
#else
    return dst_slot << 16 | src_slot;
#endif
}

static inline uint64_t cs_tail_of(const cs_transfer *model)
{
    uint64_t tail;
    memcpy(&tail, (const char *)model + offsetof(cs_transfer, round), sizeof tail);
    return tail;
}

/* Who waits at a fence: nobody moves on before all of them have come and ended what stands before.
 * Ends of messages count, whatever ports a model keeps closed for longer. */
#define CS_FENCE_ALL UINT32_MAX /* all ranks; otherwise: all but this rank */

#define CS_MAX_PARTS 64u /* of a message: any block has room for it */

/* A block: filled by the algorithm, in memory of the caller. */
typedef struct cs_block {
    cs_transfer *transfers;    /* room for `capacity` */
    size_t       capacity;     /* >= CS_MAX_PARTS */
    size_t       count;        /* filled; 0 = the stream has ended */
    uint32_t     fence_except; /* if transfers[0] has CS_FENCE: CS_FENCE_ALL or a rank */
    double       fence_s;      /* ... and what the barrier costs */
    bool         is_stage_end; /* what comes behind it starts when all up to its end has ended; it
                                  is not asked for before that (cs_plan.is_reactive) */
} cs_block;

/* What a stream uses: lets models pick a loop and refuse what they cannot do. */
enum {
    CS_USES_EXCHANGE       = 1u << 0,
    CS_USES_SHARED         = 1u << 1,
    CS_USES_SPAN           = 1u << 2, /* some span > 1 */
    CS_USES_NVLINK         = 1u << 3,
    CS_USES_JOIN           = 1u << 4,
    CS_USES_SWITCH         = 1u << 5, /* switches add up and pass on (cs_switch_of()) */
    CS_USES_NETWORK_SWITCH = 1u << 6, /* .. that of the network, too; only with CS_USES_SWITCH */
};

/* When a transfer held its ports. */
typedef struct cs_interval {
    double start_s, end_s;
} cs_interval;

#define CS_MAX_SLOTS 65535u

/* What is known before the first transfer. */
typedef struct cs_plan {
    uint32_t n_chunks; /* the buffer's parts; >= 1 */
    uint32_t n_slots;  /* slots per rank; 1 .. CS_MAX_SLOTS */
    uint32_t n_rounds;
    uint32_t uses;             /* CS_USES_* */
    bool     starts_own;       /* slot c of every rank begins with its own contribution to chunk c
                                  (n_slots >= n_chunks): no CS_OWN_* flag is needed */
    bool is_reactive;          /* the stream is told when its transfers began and ended
                                  (cs_algorithm.told). Which of them is the last one for a rank may
                                  be open when they are given: slot c of every rank that is owed
                                  chunk c has its final value when the stream has ended
                                  (n_slots >= n_chunks), and no CS_DONE_* flag is needed */
    const double *own_ready_s; /* [n_ranks] after the first arrival: own contributions are there at
                                  these times, at the earliest when their ranks come, which pass on
                                  what flows through them before; what `prepared` keeps. So a clock
                                  may decide when those start that have come. NULL: a rank takes
                                  part when it has come */
    bool chunks_differ; /* chunks are not cs_split() parts of the buffer: their sizes are in the
                           transfers only */
    bool is_round_synchronous; /* every rank sends and receives at most once a round and
                                  nothing of round r + 1 starts before round r has ended,
                                  when all arrive together and all ports are equal */
    bool uses_trees; /* every byte goes along trees, each over all ranks, to their roots, from them,
                        or both, one behind the other */
    bool ignores_arrivals; /* another case that differs in its arrivals alone has the same plan and
                              schedule */
    const char *note;      /* what the user should be told about the choice, static text; or NULL */
    void *prepared; /* what the algorithm keeps for its streams (cs_algorithm.release), or NULL */
} cs_plan;

/* Who has slots: the ranks, and switches where they take part. */
static inline uint32_t cs_plan_ends(const cs_plan *plan, const cs_cluster *cluster)
{
    return (plan->uses & CS_USES_SWITCH) != 0 ? cs_n_ends(cluster) : cluster->n_ranks;
}

/* Part `index` of `total` split in `parts`: the first total % parts parts are one byte
 * larger. Nothing is lost and nothing enlarged. */
static inline uint64_t cs_split(uint64_t total, uint32_t parts, uint32_t index)
{
    return total / parts + (index < total % parts ? 1 : 0);
}

/* Bytes of the parts [first, first + count). */
static inline uint64_t cs_split_range(uint64_t total, uint32_t parts, uint32_t first,
                                      uint32_t count)
{
    uint64_t extra = total % parts, end = (uint64_t)first + count;
    uint64_t large = (end < extra ? end : extra) - (first < extra ? first : extra);
    return total / parts * count + large;
}

/* Bytes of the chunks [first, first + count) for a size of `bytes` (nccl-tests' column). The chunks
 * are equal parts of a rank's buffer; in an alltoall every rank has a buffer of its own, whose
 * parts are the chunks that it sends, rank 0's first. */
static inline uint64_t cs_chunk_bytes(cs_collective collective, uint32_t n_ranks, uint32_t n_chunks,
                                      uint64_t bytes, uint32_t first, uint32_t count)
{
    bool     is_pair = cs_collectives[collective].layout == CS_BLOCK_PER_PAIR;
    uint32_t parts   = is_pair ? n_chunks / n_ranks : n_chunks;
    uint32_t begin = first / parts, end = (first + count) / parts;

    return (end - begin) * bytes + cs_split_range(bytes, parts, 0, (first + count) % parts) -
           cs_split_range(bytes, parts, 0, first % parts);
}

CS_END_C

#endif
