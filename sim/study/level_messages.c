/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Messages of a schedule, and the ports that explain a time: see study/level_messages.h. */
#include "study/level_messages.h"

#include "base/alloc.h"

#include <math.h>

#define CLOSE 1e-13 /* relative: how well a time is met */

enum { STREAM_TRANSFERS = 1024, LEAST_BYTES = 1 << 20, MOST_STEPS = 200 };

#define MANY_BYTES ((uint64_t)1 << 32) /* in which bytes that do not divide do not count */

cs_status cs_level_job(const char *schedule, const cs_scenario *scenario, cs_job *job,
                       cs_error *err)
{
    const cs_algorithm *algorithm = NULL;
    const cs_model     *model     = NULL;

    CS_TRY(cs_algorithm_find(schedule, &algorithm, err));
    CS_TRY(cs_model_find("alpha-beta", &model, err));
    *job                              = (cs_job){.scenario = {.collective = scenario->collective,
                                                              .root       = scenario->root,
                                                              .bytes      = scenario->bytes,
                                                              .cluster    = scenario->cluster}};
    job->scenario.cluster.topology    = NULL;
    job->scenario.cluster.nic_sharers = 0;
    cs_job_set_algorithm(job, algorithm, NULL);
    cs_job_set_model(job, model, NULL);
    return CS_OK;
}

cs_scenario cs_level_scenario(cs_collective collective, uint32_t n_ranks, uint32_t g,
                              uint64_t bytes)
{
    cs_scenario s = {.collective = collective,
                     .bytes      = bytes,
                     .cluster    = {.n_ranks = n_ranks, .gpus_per_server = g}};

    for (uint32_t f = 0; f < CS_FABRICS; f++) {
        s.cluster.fabrics[f] = (cs_fabric){CS_SWITCHED, 0, CS_FAST_BPS};
    }
    return s;
}

/* The sizes of the messages over each fabric; 0: there is none. */
typedef struct message_sizes {
    double least[CS_FABRICS], most[CS_FABRICS];
} message_sizes;

static void add_block(const cs_block *block, message_sizes *sizes)
{
    for (size_t i = 0; i < block->count; i++) {
        uint32_t f     = cs_transfer_fabric(&block->transfers[i]);
        double   bytes = (double)block->transfers[i].bytes;

        sizes->least[f] = sizes->most[f] > 0 ? fmin(sizes->least[f], bytes) : bytes;
        sizes->most[f]  = fmax(sizes->most[f], bytes);
    }
}

static bool has_seen_all(const cs_cluster *cluster, const message_sizes *sizes)
{
    return (!cs_uses_nics(cluster) || sizes->most[CS_NIC] > 0) &&
           (cluster->gpus_per_server < 2 || sizes->most[CS_NVLINK] > 0);
}

/* The sizes of the first message over each fabric, or of all (`is_whole`). */
static cs_status stream_sizes(const cs_job *job, bool is_whole, message_sizes *sizes, cs_error *err)
{
    cs_transfer *transfers = CS_NEW(cs_transfer, STREAM_TRANSFERS);
    cs_block     block     = {.transfers = transfers, .capacity = STREAM_TRANSFERS};
    void        *state     = NULL;

    if (transfers == NULL) {
        return CS_NO_MEMORY(err, "the messages of a schedule");
    }
    cs_status status = cs_job_open(job, &state, err);
    if (status == CS_OK) {
        do {
            job->algorithm->next_block(state, &block);
            add_block(&block, sizes);
        } while (block.count > 0 && (is_whole || !has_seen_all(&job->scenario.cluster, sizes)));
        job->algorithm->close(state);
    }
    cs_free(transfers);
    return status;
}

static cs_status find_sizes(const char *schedule, const cs_scenario *scenario, uint64_t bytes,
                            bool is_whole, message_sizes *sizes, cs_error *err)
{
    cs_job job;

    CS_TRY(cs_level_job(schedule, scenario, &job, err));
    job.scenario.bytes = bytes;
    CS_TRY(cs_job_resolve(&job, err));
    cs_status status = stream_sizes(&job, is_whole, sizes, err);
    cs_job_release(&job);
    return status;
}

cs_status cs_level_messages(const char *schedule, const cs_scenario *scenario,
                            uint64_t bytes[CS_FABRICS], cs_error *err)
{
    const bool    is_small = scenario->bytes < LEAST_BYTES;
    const double  ratio    = is_small ? (double)scenario->bytes / LEAST_BYTES : 1;
    message_sizes sizes    = {0};

    CS_TRY(find_sizes(schedule, scenario, is_small ? LEAST_BYTES : scenario->bytes, false, &sizes,
                      err));
    for (uint32_t f = 0; f < CS_FABRICS; f++) {
        bytes[f] = (uint64_t)ceil(sizes.most[f] * ratio);
    }
    return CS_OK;
}

cs_status cs_level_check_messages(const char *schedule, const cs_scenario *scenario, cs_error *err)
{
    message_sizes sizes = {0};

    CS_TRY(find_sizes(schedule, scenario, MANY_BYTES, true, &sizes, err));
    for (uint32_t f = 0; f < CS_FABRICS; f++) {
        if (sizes.most[f] > sizes.least[f] * (1 + 1e-3) + 1) {
            return CS_FAIL(err, CS_ENOTSUP, "--algorithm",
                           "%s has messages of different sizes, so that a time of it does not say "
                           "how long each took: accepted are nccl_rings, ring, hierarchical",
                           schedule);
        }
    }
    return CS_OK;
}

/* ---- the inverse of a replay ---- */

cs_status cs_time_at(const cs_time_search *search, double x, double *time_s_p, cs_error *err)
{
    cs_job     job     = *search->job;
    cs_outcome outcome = {0};

    search->set(&job.scenario, x, search->user);
    job.verify       = false;
    cs_status status = cs_job_resolve(&job, err);
    if (status == CS_OK) {
        status = cs_job_replay(&job, NULL, 0, &outcome, err);
    }
    cs_job_release(&job);
    *time_s_p = outcome.elapsed_s;
    return status;
}

/* Times at the two ends of a bracket, less the one that is looked for. */
typedef struct bracket {
    double low, high, below, above;
} bracket;

/* Move the upper end until the time is met. */
static cs_status enclose(const cs_time_search *search, double target_s, bracket *b, cs_error *err)
{
    CS_TRY(cs_time_at(search, b->high, &b->above, err));
    for (int i = 0; b->above < target_s; i++) {
        if (i == MOST_STEPS) {
            return CS_FAIL(err, CS_ENOTSUP, "algorithm",
                           "the schedule's time does not depend on the ports that are looked for");
        }
        b->low   = b->high;
        b->below = b->above;
        b->high *= 4;
        CS_TRY(cs_time_at(search, b->high, &b->above, err));
    }
    b->below -= target_s;
    b->above -= target_s;
    return CS_OK;
}

cs_status cs_time_find(const cs_time_search *search, double target_s, double guess, double *x_p,
                       cs_error *err)
{
    bracket b = {.high = guess};
    double  t;

    CS_TRY(cs_time_at(search, 0, &b.below, err));
    *x_p = 0;
    if (b.below >= target_s) {
        return CS_OK;
    }
    CS_TRY(enclose(search, target_s, &b, err));
    *x_p = b.high;
    for (int i = 0, side = 0; i < MOST_STEPS && b.high - b.low > b.high * 1e-15; i++) {
        *x_p = b.low + (b.high - b.low) * -b.below / (b.above - b.below);
        CS_TRY(cs_time_at(search, *x_p, &t, err));
        t -= target_s;
        if (fabs(t) <= CLOSE * target_s) {
            break;
        }
        if (t < 0) {
            b.low   = *x_p;
            b.below = t;
            b.above = side < 0 ? b.above / 2 : b.above;
            side    = -1;
        } else {
            b.high  = *x_p;
            b.above = t;
            b.below = side > 0 ? b.below / 2 : b.below;
            side    = 1;
        }
    }
    return CS_OK;
}
