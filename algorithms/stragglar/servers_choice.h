/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/stragglar/servers_choice.h -- which schedule of StragglAR over servers (servers.h)
 * ends first: how many ranks count as late, in which form, with how many chunks.
 *
 * Ends are predicted (servers_time.h). What is predicted by a bound is then replayed, if it may end
 * before the best that is known: chain against tree for small buffers, several late ranks.
 */
#ifndef CS_ALGORITHMS_STRAGGLAR_SERVERS_CHOICE_H
#define CS_ALGORITHMS_STRAGGLAR_SERVERS_CHOICE_H

#include "algorithms/stragglar/servers_time.h"

/* Options of `stragglar`: what is asked for. */
typedef struct cs_servers_wish {
    uint32_t straggler;               /* of one late rank */
    uint32_t late_ranks;              /* k >= 1, or CS_AUTO */
    uint32_t chunks;                  /* C; 0 or CS_AUTO: the best */
    uint32_t gateways;                /* G, or CS_AUTO */
    bool     forms[CS_SERVERS_FORMS]; /* those that are accepted */
    bool     whole, halves;           /* of three servers: as is accepted */
} cs_servers_wish;

typedef struct cs_servers_choice {
    cs_servers_shape        shape;
    cs_multi_late_schedule *rounds; /* where several servers are late; owned */
    double end_s;    /* after the first arrival: as the scenario's forecast says, .. */
    bool   is_bound; /* .. or, where that was not needed, no later on alpha-beta */
} cs_servers_choice;

/* Ask the forecast, if there is one. */
cs_status cs_servers_forecast(const cs_scenario *scenario, cs_servers_choice *choice,
                              cs_error *err);

/* Can so many late ranks be the last to arrive with a server that has none, and not too many
 * servers? */
cs_status cs_servers_accept_late(const cs_scenario *scenario, const cs_servers_late *late,
                                 cs_error *err);

/* The choice; its rounds are freed with cs_multi_late_free(). Where late_ranks is auto: k after
 * which there is a gap in the arrivals, of the MOST_GAPS largest. Refused: what does not go
 * together or is not possible, by the option's name. */
cs_status cs_servers_choose(const cs_scenario *scenario, const cs_servers_wish *wish,
                            cs_servers_choice *choice_p, cs_error *err);

#endif
