/* SPDX-License-Identifier: GPL-3.0-or-later */
/* GPUs that other work slows: see whatif/interference.h. One stream of numbers a turn. */
#include "whatif/interference.h"

#include "base/random.h"

#include <math.h>

#define MAX_TURNS 0x1p48 /* more than a job lives */

uint64_t cs_interference_turn(const cs_interference *interference, double time_s)
{
    double turn = floor(time_s / interference->every_s);

    if ((turn + 1) * interference->every_s <= time_s) { /* the quotient was rounded */
        turn++;
    } else if (turn * interference->every_s > time_s) {
        turn--;
    }
    return (uint64_t)fmin(turn, MAX_TURNS);
}

double cs_interference_end(const cs_interference *interference, uint64_t turn)
{
    return ((double)turn + 1) * interference->every_s;
}

/* A whole number below `n`. */
static uint32_t below(gsl_rng *stream, uint32_t n)
{
    return (uint32_t)(cs_random_uniform(stream) * n);
}

/* Of a server whose first rank is `is_slowed_p`: `left` of its GPUs, each set equally likely. */
static void choose(gsl_rng *stream, uint32_t left, uint32_t n_gpus, bool *is_slowed_p)
{
    for (uint32_t i = 0; i < n_gpus; i++) {
        is_slowed_p[i] = below(stream, n_gpus - i) < left;
        left -= is_slowed_p[i];
    }
}

cs_status cs_interference_draw(const cs_interference *interference, const cs_cluster *cluster,
                               uint64_t seed, uint64_t turn, bool *is_slowed_p, cs_error *err)
{
    gsl_rng *stream = cs_random_stream(seed ^ cs_mix64(turn), "interference");

    if (stream == NULL) {
        return CS_NO_MEMORY(err, "interference");
    }
    for (uint32_t server = 0; server < cs_n_servers(cluster); server++) {
        uint32_t gpus = cs_server_gpus(cluster, server);
        uint32_t most = interference->gpus < gpus ? interference->gpus : gpus;
        choose(stream, below(stream, most + 1), gpus,
               is_slowed_p + cs_server_first(cluster, server));
    }
    gsl_rng_free(stream);
    return CS_OK;
}
