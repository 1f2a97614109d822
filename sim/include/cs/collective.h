/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cs/collective.h -- what a collective is: one row of a table, from which its names, the meaning of
 * its size, its bus bandwidth, who contributes and who is owed what all follow.
 *
 * A buffer is one for all, or made of blocks: one per rank (AllGather, ReduceScatter) or one per
 * ordered pair of ranks (AlltoAll), in consecutive chunks. The final value of a chunk comes from
 * one rank or is the sum of all, and is owed to one rank or to every one, but not to the rank that
 * it comes from alone.
 */
#ifndef CS_COLLECTIVE_H
#define CS_COLLECTIVE_H

#include "cs/named.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

CS_BEGIN_C

/* One line per collective: what its enum CS_.. ends in, and its row. Bounds, readers and writers
 * ask the row; a new collective is a line here. */
/* clang-format off */
#define CS_COLLECTIVES(X)                                                                                              \
    X(ALLREDUCE,     "allreduce",     "all_reduce_perf",     CS_WHOLE,          CS_PARTY_ALL,   CS_PARTY_ALL,    2, NULL) \
    X(ALLGATHER,     "allgather",     "all_gather_perf",     CS_BLOCK_PER_RANK, CS_PARTY_FIRST, CS_PARTY_ALL,    1, NULL) \
    X(REDUCESCATTER, "reducescatter", "reduce_scatter_perf", CS_BLOCK_PER_RANK, CS_PARTY_ALL,   CS_PARTY_FIRST,  1, NULL) \
    X(ALLTOALL,      "alltoall",      "alltoall_perf",       CS_BLOCK_PER_PAIR, CS_PARTY_FIRST, CS_PARTY_SECOND, 1, NULL) \
    X(BROADCAST,     "broadcast",     "broadcast_perf",      CS_WHOLE,          CS_PARTY_ROOT,  CS_PARTY_ALL,    0, "bcast") \
    X(REDUCE,        "reduce",        "reduce_perf",         CS_WHOLE,          CS_PARTY_ALL,   CS_PARTY_ROOT,   0, NULL)
/* clang-format on */

typedef enum cs_collective {
#define X(id, ...) CS_##id,
    CS_COLLECTIVES(X)
#undef X
        CS_COLLECTIVE_COUNT
} cs_collective;

/* "allreduce, allgather, ..", as a literal. */
#define CS_COLLECTIVE_WORD(id, name, ...) ", " name
#define CS_COLLECTIVE_LIST                (&(CS_COLLECTIVES(CS_COLLECTIVE_WORD))[2])

/* Whose the value of a chunk is, or to whom it goes. */
typedef enum cs_party {
    CS_PARTY_ALL,    /* the sum of every rank; to every rank */
    CS_PARTY_ROOT,   /* the root */
    CS_PARTY_FIRST,  /* the rank of the block, the first one of a pair */
    CS_PARTY_SECOND, /* the second rank of the pair */
} cs_party;

typedef enum cs_layout { CS_WHOLE, CS_BLOCK_PER_RANK, CS_BLOCK_PER_PAIR } cs_layout;

typedef struct cs_collective_row {
    const char *name;      /* "reducescatter" */
    const char *perf_name; /* nccl-tests' program */
    cs_layout   layout; /* WHOLE: the size is every rank's buffer; else it is that of all blocks of
                           a rank together */
    cs_party    from, to;
    uint32_t    bus;     /* nccl-tests' busbw / algbw: this times (n - 1) / n; 0: 1 */
    const char *aliases; /* other names, "a|b"; or NULL */
} cs_collective_row;

/* The row of a collective, CS_COLLECTIVE_COUNT of them in the order of the enum. */
extern CS_API const cs_collective_row cs_collectives[];
extern CS_API const cs_named          cs_collective_names;

/* The name; "unknown" for what is no collective. Static storage. */
CS_API const char *cs_collective_name(cs_collective collective);

/* Write the names of those whose bits 1u << CS_.. are set, with commas between them; what does not
 * fit is cut. */
CS_API void cs_list_collectives(uint32_t collectives, char *list, size_t list_bytes);

/* Find a collective by its name ("all_reduce" and "AllReduce" are allreduce), an alias or a part of
 * the name (cs/named.h); CS_ENOENT names the choices. */
CS_API cs_status cs_collective_find(const char *name, cs_collective *collective_p, cs_error *err);

/* Does somebody send or get all of it? Does it add up what ranks have? */
static inline bool cs_collective_has_root(cs_collective collective)
{
    const cs_collective_row *row = &cs_collectives[collective];
    return row->from == CS_PARTY_ROOT || row->to == CS_PARTY_ROOT;
}

static inline bool cs_collective_reduces(cs_collective collective)
{
    return cs_collectives[collective].from == CS_PARTY_ALL;
}

/* Bus bandwidth over algorithm bandwidth, as nccl-tests defines it. */
CS_API double cs_busbw_factor(cs_collective collective, uint32_t n_ranks);

/* What the chunks of a collective are asked about. */
typedef struct cs_chunks {
    cs_collective collective;
    uint32_t      n_ranks, root;
    uint32_t      n_chunks; /* a multiple of the number of blocks */
} cs_chunks;

/* The contributors of a chunk's final value: every rank, or one. */
#define CS_EVERY_RANK UINT32_MAX

/* The rank whose value chunk `chunk` ends with, or CS_EVERY_RANK: their sum. O(1). */
CS_API uint32_t cs_chunk_contributor(const cs_chunks *chunks, uint32_t chunk);

/* Is the final value of the chunk owed to the rank (and not already its own)? O(1). */
CS_API bool cs_chunk_is_owed(const cs_chunks *chunks, uint32_t chunk, uint32_t rank);

CS_END_C

#endif
