/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Jobs of training for the tests of their parts: three buckets on 8 GPUs, with closed forms. */
#ifndef CS_TESTS_TRAINING_SETUP_H
#define CS_TESTS_TRAINING_SETUP_H

#include "analytic/formula.h"
#include "montecarlo_setup.h"

#define RATE 300e9
enum { RANKS = 8 };

/* Three buckets of two sizes, all of which split into 56 chunks: closed forms hold. */
#define JOB "{\"compute\": \"1ms\", \"buckets\": [56000000, 112000000, 56000000]}"

static inline cs_config *job_config(const char *algorithm)
{
    cs_config *config = eight_gpus(algorithm);

    ct_set(config, "training", JOB);
    return config;
}

#define JOB_ARRIVALS                                                                           \
    "{\"distribution\": {\"name\": \"lognormal\", \"mean\": \"200us\", \"stddev\": \"99us\"}," \
    " \"straggler\": {\"rank\": 0, \"persistence\": 0.8, "                                     \
    "\"delay\": {\"name\": \"exponential\", \"mean\": \"1ms\"}}}"

static inline cs_config *random_job(void)
{
    cs_config *config = job_config("ring");

    ct_set(config, "arrivals", JOB_ARRIVALS);
    ct_set(config, "training.overlap", "0.6");
    ct_set(config, "training.tail", "\"100us\"");
    ct_set(config, "montecarlo", "{\"prediction\": \"static\", \"agreement\": \"20us\"}");
    ct_set(config, "sweep.algorithm.name",
           "[\"ring\", \"rhd\", \"allpairs\", \"broadcast\", \"stragglar\"]");
    return config;
}

static inline double ring(double bytes)
{
    return cs_formula_ring(RANKS, ALPHA, bytes / RATE);
}

#endif
