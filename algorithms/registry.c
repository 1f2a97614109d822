/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The list of algorithms, made from algorithms.def, and how one is found by name. */
#include "base/nearest.h"
#include "cs/algorithm.h"

#include <string.h>

#define CS_ALGORITHM(x) extern const cs_algorithm cs_algorithm_##x;
#include "algorithms/algorithms.def"
#undef CS_ALGORITHM

const cs_algorithm *const cs_algorithms[] = {
#define CS_ALGORITHM(x) &cs_algorithm_##x,
#include "algorithms/algorithms.def"
#undef CS_ALGORITHM
    NULL,
};

enum { N_ALGORITHMS = sizeof cs_algorithms / sizeof cs_algorithms[0] - 1 };

cs_status cs_algorithm_find(const char *name, const cs_algorithm **algorithm_p, cs_error *err)
{
    const char *names[N_ALGORITHMS];

    for (size_t i = 0; i < N_ALGORITHMS; i++) {
        names[i] = cs_algorithms[i]->name;
        if (strcmp(name, names[i]) == 0) {
            *algorithm_p = cs_algorithms[i];
            return CS_OK;
        }
    }
    const char *near = cs_nearest(name, names, N_ALGORITHMS);
    return CS_FAIL(err, CS_ENOENT, "algorithm",
                   "no algorithm '%s'%s%s%s; 'collsim list algorithms' has all", name,
                   near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "");
}
