/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The list of algorithms, made from algorithms.def, and how one is found by name. */
#include "cs/algorithm.h"

#include <stdio.h>

#define CS_ALGORITHM(x) extern const cs_algorithm cs_algorithm_##x;
#include "algorithms/algorithms.def"
#undef CS_ALGORITHM

const cs_algorithm *const cs_algorithms[] = {
#define CS_ALGORITHM(x) &cs_algorithm_##x,
#include "algorithms/algorithms.def"
#undef CS_ALGORITHM
    NULL,
};

const cs_named cs_algorithm_names = {
    .things      = cs_algorithms,
    .n           = sizeof cs_algorithms / sizeof cs_algorithms[0] - 1,
    .stride      = sizeof(void *),
    .by_pointer  = true,
    .takes_parts = true,
    .name        = offsetof(cs_algorithm, name),
    .aliases     = offsetof(cs_algorithm, aliases),
    .status      = CS_ENOENT,
    .what        = "no algorithm",
    .hint        = "; 'collsim list algorithms' has all",
};

/* What it needs, and which algorithms do without. */
static cs_status refuse_uneven(const cs_algorithm *algorithm, const cs_cluster *cluster,
                               cs_collective collective, cs_error *err)
{
    char   list[240] = "";
    size_t used      = 0;

    for (const cs_algorithm *const *a = cs_algorithms; *a != NULL && used < sizeof list; a++) {
        if ((*a)->takes_uneven && ((*a)->collectives >> collective & 1u) != 0) {
            int n =
                snprintf(list + used, sizeof list - used, "%s%s", used > 0 ? ", " : "", (*a)->name);
            used += n > 0 ? (size_t)n : 0;
        }
    }
    return CS_FAIL(err, CS_ENOTSUP, "cluster.servers",
                   "%s needs as many GPUs in every server, here are %u to %u: accepted are %s",
                   algorithm->name, cs_least_gpus(cluster), cluster->gpus_per_server, list);
}

cs_status cs_algorithm_check(const cs_algorithm *algorithm, const cs_scenario *scenario,
                             void *options, cs_plan *plan, cs_error *err)
{
    char list[120];

    if ((algorithm->collectives >> scenario->collective & 1u) == 0) {
        cs_list_collectives(algorithm->collectives, list, sizeof list);
        return CS_FAIL(err, CS_ENOTSUP, "collective", "%s does not do %s; it does %s",
                       algorithm->name, cs_collective_name(scenario->collective), list);
    }
    if (scenario->cluster.uneven != NULL && !algorithm->takes_uneven) {
        return refuse_uneven(algorithm, &scenario->cluster, scenario->collective, err);
    }
    return algorithm->check(scenario, options, plan, err);
}

cs_status cs_algorithm_find(const char *name, const cs_algorithm **algorithm_p, cs_error *err)
{
    size_t index = 0;

    CS_TRY(cs_find_named(&cs_algorithm_names, name, &index, "algorithm", err));
    *algorithm_p = cs_algorithms[index];
    return CS_OK;
}
