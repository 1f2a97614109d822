/* SPDX-License-Identifier: GPL-3.0-or-later */
/* engine/ports.h -- the port state of a single-pass replay, built from a scenario. */
#ifndef CS_ENGINE_PORTS_H
#define CS_ENGINE_PORTS_H

#include "base/arena.h"
#include "cs/model.h"

/* Number the ports of the cluster's fabrics: port_base, n_ports and what else the cluster says; no
 * state. `uses` is a plan's. */
void cs_ports_place(cs_ports *ports, const cs_cluster *cluster, uint32_t uses);

/* What network models need of `ports`: numbering, rates of every port and arrivals, no port state
 * and no slots. All memory is the arena's. O(n_ranks + steps). */
cs_status cs_ports_describe(cs_ports *ports, cs_arena *arena, const cs_scenario *scenario,
                            const cs_plan *plan, cs_error *err);

/* Fill `ports` for the scenario: every port is free and every own contribution ready when its
 * rank arrives; where the plan has ranks relay, ports are free from the first arrival on. All
 * memory is the arena's. O(n_ranks * n_slots + steps). */
cs_status cs_ports_open(cs_ports *ports, cs_arena *arena, const cs_scenario *scenario,
                        const cs_plan *plan, cs_error *err);

/* A barrier among all ranks but `except` (CS_FENCE_ALL: among all) that costs `cost_s`: it waits
 * for their arrivals and for the ends of all messages before it, not for ports that the model keeps
 * closed after its messages (LogGP's gap), which stay closed behind it as long as they would have
 * without it. Returns the time at which it lets go. O(n_ports). */
double cs_ports_fence(cs_ports *ports, uint32_t except, double cost_s);

/* No port is free before the last end so far. O(n_ports). */
void cs_ports_end_stage(cs_ports *ports);

/* The last end so far, or the first arrival. O(n_ports). */
double cs_ports_last_end_s(const cs_ports *ports);

/* When everything has ended and every rank has come: the last end that the model has said, or the
 * last time at which any port becomes free. */
double cs_ports_end_s(const cs_ports *ports);

#endif
