/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/adapcc/plans.h -- plans, which are trees over servers: families of them, and the trees
 * over ranks that they become.
 *
 * A plan has a parent server, or CS_TREE_ROOT, for each server. In the tree one GPU of each server,
 * its leader, talks to other servers. Tree m has another leader than tree m - 1, near another NIC
 * where there are several; the other GPUs hang below it as a star or a chain.
 */
#ifndef CS_ALGORITHMS_ADAPCC_PLANS_H
#define CS_ALGORITHMS_ADAPCC_PLANS_H

#include "algorithms/adapcc/cost.h"

#include <gsl/gsl_rng.h>

/* Fast servers have 99 % of the fastest one's rate at least; the others are slow. */
typedef enum cs_plan_family {
    CS_PLAN_CHAINS,
    CS_PLAN_TWO_CHAINS,
    CS_PLAN_HEAPS_2,
    CS_PLAN_HEAPS_2_NEXT, /* each tree begins with the next server */
    CS_PLAN_HEAPS_3,
    CS_PLAN_STARS,
    CS_PLAN_BALANCED,       /* each server has the children that its ports have time for */
    CS_PLAN_ALIKE_FAMILIES, /* those below need servers that differ */
    CS_PLAN_SLOW_FIRST_CHAINS = CS_PLAN_ALIKE_FAMILIES,
    CS_PLAN_SLOW_ROOTS,
    CS_PLAN_SLOW_ROOT_OR_LEAF,
    CS_PLAN_SLOW_ROOT_HEAPS,
    CS_PLAN_SLOW_HEAPS,  /* such heaps, and those below, in turn */
    CS_PLAN_FAST_CHAINS, /* slow ones are leaves */
    CS_PLAN_FAST_HEAPS_2,
    CS_PLAN_FAST_TWO_CHAINS,
    CS_PLAN_FAMILIES
} cs_plan_family;

/* Order the servers by rate times latency to the next one, as the released program does, and let
 * the first GPU of each lead; else by rate. */
typedef enum cs_plan_order { CS_PLAN_BY_RATE, CS_PLAN_BY_CODE } cs_plan_order;

typedef struct cs_planner {
    const cs_logical *logical;
    cs_collective     collective;
    uint32_t          root; /* of every tree, or CS_ANY_ROOT */
    cs_plan_order     order;
    uint32_t          n_fast;
    uint32_t         *ranked; /* [servers] the fast ones first */
    uint32_t         *list;   /* [servers] at work */
    uint32_t         *slow;   /* [servers] at work */
    uint32_t         *turns;  /* [ranks] the GPUs of each server, in their turns as leaders */
    double           *out_Bps, *in_Bps; /* [servers] */
    double           *out, *in;         /* [servers] buffers that BALANCED has given them so far */
} cs_planner;

/* The topology is borrowed. The caller closes it, also after a failure. O(ranks). */
CS_MUST_CHECK cs_status cs_planner_open(cs_planner *planner, const cs_logical *logical,
                                        cs_collective collective, uint32_t root,
                                        cs_plan_order order, cs_error *err);
void                    cs_planner_close(cs_planner *planner);

/* How many families there are for these servers. */
static inline cs_plan_family cs_planner_families(const cs_planner *planner)
{
    return planner->n_fast < planner->logical->n_servers ? CS_PLAN_FAMILIES
                                                         : CS_PLAN_ALIKE_FAMILIES;
}

/* plan[servers] becomes number m of n_plans plans of a family, which are asked for one after the
 * other. O(servers), BALANCED O(servers^2). */
void cs_planner_plan(cs_planner *planner, cs_plan_family family, uint32_t m, uint32_t n_plans,
                     uint32_t *plan);

/* The GPU of a server that talks to others in trees with leaders of turn m. O(1). */
uint32_t cs_planner_leader(const cs_planner *planner, uint32_t server, uint32_t m);

/* The released program's plan m. */
void cs_planner_plan_code(cs_planner *planner, uint32_t m, uint32_t *plan);

/* Give a server another parent, or let two change places. There are two servers at least; the plan
 * may have a circle behind it. */
void cs_planner_move(const cs_planner *planner, uint32_t *plan, gsl_rng *random);

/* Make tree `tree` of a strategy, which has all ranks as members, of a plan, with leaders of turn
 * m. False: the plan has a circle. O(ranks). */
bool cs_planner_plant(const cs_planner *planner, const uint32_t *plan, uint32_t m, bool chains,
                      cs_strategy *strategy, uint32_t tree);

#endif
