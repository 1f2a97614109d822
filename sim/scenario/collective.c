/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of collectives, from the lines of cs/collective.h. */
#include "cs/collective.h"

#include <stdio.h>

const cs_collective_row cs_collectives[CS_COLLECTIVE_COUNT] = {
#define X(id, ...) [CS_##id] = {__VA_ARGS__},
    CS_COLLECTIVES(X)
#undef X
};

const char *cs_collective_name(cs_collective collective)
{
    return (unsigned)collective < CS_COLLECTIVE_COUNT ? cs_collectives[collective].name : "unknown";
}

const cs_named cs_collective_names = {
    .things      = cs_collectives,
    .n           = CS_COLLECTIVE_COUNT,
    .stride      = sizeof cs_collectives[0],
    .takes_parts = true,
    .name        = offsetof(cs_collective_row, name),
    .aliases     = offsetof(cs_collective_row, aliases),
    .status      = CS_ENOENT,
    .what        = "unknown collective",
};

void cs_list_collectives(uint32_t collectives, char *list, size_t list_bytes)
{
    size_t length = 0;

    list[0] = '\0';
    for (cs_collective c = 0; c < CS_COLLECTIVE_COUNT && length < list_bytes; c++) {
        if ((collectives >> c & 1u) != 0) {
            length += (size_t)snprintf(list + length, list_bytes - length, "%s%s",
                                       length > 0 ? ", " : "", cs_collective_name(c));
        }
    }
}

cs_status cs_collective_find(const char *name, cs_collective *collective_p, cs_error *err)
{
    size_t index = 0;

    CS_TRY(cs_find_named(&cs_collective_names, name, &index, "collective", err));
    *collective_p = (cs_collective)index;
    return CS_OK;
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
