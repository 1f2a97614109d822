/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a collective owes to whom: see replay/owed.h. */
#include "replay/owed.h"

uint32_t cs_owed_contributor(const cs_scenario *scenario, uint32_t n_chunks, uint32_t chunk)
{
    uint32_t n = scenario->cluster.n_ranks;

    switch (scenario->collective) {
    case CS_ALLGATHER:
    case CS_ALLTOALL: return chunk / (n_chunks / n);
    case CS_BROADCAST: return scenario->root;
    case CS_ALLREDUCE:
    case CS_REDUCESCATTER:
    case CS_REDUCE:
    case CS_COLLECTIVE_COUNT: break;
    }
    return CS_EVERY_RANK;
}

bool cs_is_owed(const cs_scenario *scenario, uint32_t n_chunks, uint32_t chunk, uint32_t rank)
{
    uint32_t n = scenario->cluster.n_ranks;

    switch (scenario->collective) {
    case CS_ALLGATHER: return chunk / (n_chunks / n) != rank;
    case CS_REDUCESCATTER: return chunk / (n_chunks / n) == rank;
    case CS_ALLTOALL:
        return chunk / (n_chunks / n / n) % n == rank && chunk / (n_chunks / n) != rank;
    case CS_BROADCAST: return rank != scenario->root;
    case CS_REDUCE: return rank == scenario->root;
    case CS_ALLREDUCE:
    case CS_COLLECTIVE_COUNT: break;
    }
    return true;
}
