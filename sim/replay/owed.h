/* SPDX-License-Identifier: GPL-3.0-or-later */
/* replay/owed.h -- what a collective owes: which rank must end with which chunk, and whose
 * contributions that chunk must hold. */
#ifndef CS_REPLAY_OWED_H
#define CS_REPLAY_OWED_H

#include "cs/schedule.h"

/* The contributors of a chunk's final value: every rank, or one. */
#define CS_EVERY_RANK UINT32_MAX

/* Chunk `chunk` of `n_chunks`: the rank whose value it is, or CS_EVERY_RANK. The chunks
 * of a rank's block (allgather, reducescatter) are consecutive; block i * n + j of an
 * alltoall, of n_chunks / n^2 consecutive chunks, goes from rank i to rank j. */
uint32_t cs_owed_contributor(const cs_scenario *scenario, uint32_t n_chunks, uint32_t chunk);

/* Is the final value of the chunk owed to the rank (and not already its own)? */
bool cs_is_owed(const cs_scenario *scenario, uint32_t n_chunks, uint32_t chunk, uint32_t rank);

#endif
