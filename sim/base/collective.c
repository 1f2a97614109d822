/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of collectives. A new one is an enum and a row. */
#include "cs/collective.h"

#include "base/nearest.h"

#include <ctype.h>
#include <stdio.h>

/* clang-format off */
const cs_collective_row cs_collectives[CS_COLLECTIVE_COUNT] = {
    [CS_ALLREDUCE]     = {"allreduce",     "all_reduce_perf",     CS_WHOLE,          CS_PARTY_ALL,   CS_PARTY_ALL,    2},
    [CS_ALLGATHER]     = {"allgather",     "all_gather_perf",     CS_BLOCK_PER_RANK, CS_PARTY_FIRST, CS_PARTY_ALL,    1},
    [CS_REDUCESCATTER] = {"reducescatter", "reduce_scatter_perf", CS_BLOCK_PER_RANK, CS_PARTY_ALL,   CS_PARTY_FIRST,  1},
    [CS_ALLTOALL]      = {"alltoall",      "alltoall_perf",       CS_BLOCK_PER_PAIR, CS_PARTY_FIRST, CS_PARTY_SECOND, 1},
    [CS_BROADCAST]     = {"broadcast",     "broadcast_perf",      CS_WHOLE,          CS_PARTY_ROOT,  CS_PARTY_ALL,    0},
    [CS_REDUCE]        = {"reduce",        "reduce_perf",         CS_WHOLE,          CS_PARTY_ALL,   CS_PARTY_ROOT,   0},
};
/* clang-format on */

const char *cs_collective_name(cs_collective collective)
{
    return (unsigned)collective < CS_COLLECTIVE_COUNT ? cs_collectives[collective].name : "unknown";
}

/* The next letter that counts, in lower case. */
static int letter(const char **text_p)
{
    while (**text_p == '_' || **text_p == '-') {
        (*text_p)++;
    }
    int c = tolower((unsigned char)**text_p);
    *text_p += c != '\0';
    return c;
}

static bool is_same_name(const char *a, const char *b)
{
    for (;;) {
        int x = letter(&a), y = letter(&b);
        if (x != y) {
            return false;
        }
        if (x == '\0') {
            return true;
        }
    }
}

const char *cs_collective_names(char *text, size_t text_bytes)
{
    size_t length = 0;

    text[0] = '\0';
    for (unsigned i = 0; i < CS_COLLECTIVE_COUNT && length < text_bytes; i++) {
        length += (size_t)snprintf(text + length, text_bytes - length, "%s%s", i > 0 ? ", " : "",
                                   cs_collectives[i].name);
    }
    return text;
}

cs_status cs_collective_find(const char *name, cs_collective *collective_p, cs_error *err)
{
    const char *names[CS_COLLECTIVE_COUNT];
    char        all[128];

    for (unsigned i = 0; i < CS_COLLECTIVE_COUNT; i++) {
        names[i] = cs_collectives[i].name;
        if (is_same_name(name, names[i])) {
            *collective_p = (cs_collective)i;
            return CS_OK;
        }
    }
    const char *near = cs_nearest(name, names, CS_COLLECTIVE_COUNT);
    return CS_FAIL(err, CS_ENOENT, "collective", "unknown collective '%.40s'%s%s%s: known are %s",
                   name, near != NULL ? " (did you mean '" : "", near != NULL ? near : "",
                   near != NULL ? "'?)" : "", cs_collective_names(all, sizeof all));
}

double cs_busbw_factor(cs_collective collective, uint32_t n_ranks)
{
    uint32_t bus = cs_collectives[collective].bus;
    double   n   = n_ranks;

    return bus > 0 ? bus * (n - 1) / n : 1;
}

static uint32_t rank_of(const cs_chunks *chunks, cs_party party, uint32_t chunk)
{
    uint32_t n    = chunks->n_ranks;
    bool     pair = cs_collectives[chunks->collective].layout == CS_BLOCK_PER_PAIR;

    switch (party) {
    case CS_PARTY_ROOT: return chunks->root;
    case CS_PARTY_FIRST: return chunk / (chunks->n_chunks / n);
    case CS_PARTY_SECOND: return pair ? chunk / (chunks->n_chunks / n / n) % n : CS_EVERY_RANK;
    case CS_PARTY_ALL: break;
    }
    return CS_EVERY_RANK;
}

uint32_t cs_chunk_contributor(const cs_chunks *chunks, uint32_t chunk)
{
    return rank_of(chunks, cs_collectives[chunks->collective].from, chunk);
}

bool cs_chunk_is_owed(const cs_chunks *chunks, uint32_t chunk, uint32_t rank)
{
    uint32_t to = rank_of(chunks, cs_collectives[chunks->collective].to, chunk);

    return (to == CS_EVERY_RANK || to == rank) && cs_chunk_contributor(chunks, chunk) != rank;
}
