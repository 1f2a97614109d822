/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sweep/farm_ranks.h -- a farm over ranks: rank 0 hands out items, the others work.
 *
 * Rank 0 hands every other rank a few items more than it has threads, and fills up when half of
 * them have come back as rows: what is under way, and waits to be collected, stays bounded, and
 * nobody waits for an answer. Towards the end it hands out fewer, so that all are done at about the
 * same time. Rank 0 itself only collects.
 *
 * What one rank cannot do (its machine lacks a module, or memory) goes to another that has not
 * failed in the same words. So a rank that can do nothing costs the others nothing, and what nobody
 * can do is not tried for ever: at most once by each rank.
 *
 * Messages (all numbers as in sweep/wire.h):
 *   ITEMS   u64 first, u64 end
 *   ROWS    u32 n, then n times: u64 item, u64 length, bytes
 *   MISSED  u64 item, error; the rank goes on
 *   FAILED  u64 item, error; no row comes behind it
 *   STOP    nothing
 *
 * When mpirun ends a run (because a rank died, or on Ctrl-C) it sends SIGTERM to every rank, and
 * SIGKILL a second later; but SIGKILL at once when it sees the first of them go. So nobody goes
 * before rank 0 has said END, and rank 0 has its second to collect and to close the file.
 */
#ifndef CS_SWEEP_FARM_RANKS_H
#define CS_SWEEP_FARM_RANKS_H

#include "sweep/farm.h"

enum { CS_FARM_MAX_AHEAD = 32, CS_FARM_MAX_ROWS = 64 };

/* Rank 0's part, and that of the others, of cs_farm_run(). */
CS_MUST_CHECK cs_status cs_farm_lead(const cs_farm *farm, cs_farm_misses *misses, cs_error *err);
CS_MUST_CHECK cs_status cs_farm_serve(const cs_farm *farm, cs_error *err);

#endif
