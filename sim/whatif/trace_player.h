/* SPDX-License-Identifier: GPL-3.0-or-later */
/* whatif/trace_player.h -- replays of single calls of a trace, line by line. */
#ifndef CS_WHATIF_TRACE_PLAYER_H
#define CS_WHATIF_TRACE_PLAYER_H

#include "whatif/trace_whatif.h"

typedef struct cs_player cs_player;

/* Algorithms that can be played; [0] is the baseline. `config` has their names and the sizes of
 * the calls as its axes; all is borrowed. */
typedef struct cs_player_setup {
    const cs_config        *config;
    const cs_arrival_trace *trace;
    size_t                  n_algorithms;
    size_t                  n_sizes;
    const size_t           *size_of_call; /* [n_calls] */
    uint32_t                straggler;
    double                  agreement_s;
} cs_player_setup;

/* The caller owns the player (cs_player_free) on CS_OK. */
CS_MUST_CHECK cs_status cs_player_new(const cs_player_setup *setup, cs_player **player_p,
                                      cs_error *err);
void                    cs_player_free(cs_player *player);

/* The algorithm itself, and whether it presumes a late rank. */
const cs_algorithm *cs_player_algorithm(const cs_player *player, size_t algorithm);
bool                cs_player_has_straggler(const cs_player *player, size_t algorithm);

/* The exposed time of one call. CS_EINVAL and CS_ENOTSUP: the algorithm refuses the scenario;
 * CS_EWRONG: its schedule is no correct collective. */
CS_MUST_CHECK cs_status cs_player_call(cs_player *player, size_t algorithm, cs_trace_policy policy,
                                       size_t call, double *exposed_s_p, cs_error *err);

/* The delay of the straggler, all others coming together, from which the line beats the baseline,
 * for calls of one size: 0, INFINITY, or between, to 1e-9 of the call's time. */
CS_MUST_CHECK cs_status cs_player_break_even(cs_player *player, size_t algorithm,
                                             cs_trace_policy policy, size_t size, double *delay_s_p,
                                             cs_error *err);

uint64_t cs_player_replays(const cs_player *player);

#endif
