/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Messages of a schedule, and the ports that explain a time: see study/level_messages.h. */
#include "study/level_messages.h"

#include "base/alloc.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define CLOSE 1e-13 /* relative: how well a time is met */

enum { STREAM_TRANSFERS = 1024, LEAST_BYTES = 1 << 20, MOST_STEPS = 200 };

#define MANY_TRANSFERS 0x1p23 /* about; whose replay takes a tenth of a second or more */

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

/* Can a time of the schedule say how long a message took? */
static bool is_accepted(const cs_algorithm *algorithm, cs_collective collective)
{
    return (algorithm->equal_messages >> collective & 1u) != 0;
}

cs_status cs_level_accept(const cs_algorithm *algorithm, cs_collective collective, cs_error *err)
{
    char   list[240] = "";
    size_t length    = 0;

    if (is_accepted(algorithm, collective)) {
        return CS_OK;
    }
    for (size_t a = 0; cs_algorithms[a] != NULL && length < sizeof list; a++) {
        if (is_accepted(cs_algorithms[a], collective)) {
            length += (size_t)snprintf(list + length, sizeof list - length, "%s%s",
                                       length > 0 ? ", " : "", cs_algorithms[a]->name);
        }
    }
    if ((algorithm->collectives >> collective & 1u) == 0) {
        return CS_FAIL(err, CS_ENOTSUP, "--algorithm", "%s does no %s: accepted for it (-a): %s",
                       algorithm->name, cs_collective_name(collective), list);
    }
    return CS_FAIL(err, CS_ENOTSUP, "--algorithm",
                   "%s has messages that differ, share a start-up time or are chosen by the ports, "
                   "so that its time does not say how long one took: accepted for %s (-a): %s",
                   algorithm->name, cs_collective_name(collective), list);
}

/* The largest message over each fabric so far; 0: there was none. */
static void see_block(const cs_block *block, uint64_t bytes[CS_FABRICS])
{
    for (size_t i = 0; i < block->count; i++) {
        const cs_transfer *t = &block->transfers[i];
        const uint32_t     f = cs_transfer_fabric(t);

        bytes[f] = t->bytes > bytes[f] ? t->bytes : bytes[f];
    }
}

static bool has_seen_all(const cs_cluster *cluster, const uint64_t bytes[CS_FABRICS])
{
    return (!cs_uses_nics(cluster) || bytes[CS_NIC] > 0) &&
           (cluster->gpus_per_server < 2 || bytes[CS_NVLINK] > 0);
}

static cs_status stream_sizes(const cs_job *job, uint64_t bytes[CS_FABRICS], cs_error *err)
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
            see_block(&block, bytes);
        } while (block.count > 0 && !has_seen_all(&job->scenario.cluster, bytes));
        job->algorithm->close(state);
    }
    cs_free(transfers);
    return status;
}

cs_status cs_level_messages(const char *schedule, const cs_scenario *scenario,
                            uint64_t bytes[CS_FABRICS], cs_error *err)
{
    const bool   is_small          = scenario->bytes < LEAST_BYTES;
    const double ratio             = is_small ? (double)scenario->bytes / LEAST_BYTES : 1;
    uint64_t     sizes[CS_FABRICS] = {0};
    cs_job       job;

    CS_TRY(cs_level_job(schedule, scenario, &job, err));
    job.scenario.bytes = is_small ? LEAST_BYTES : scenario->bytes;
    CS_TRY(cs_job_resolve(&job, err));
    cs_status status = stream_sizes(&job, sizes, err);
    cs_job_release(&job);
    for (uint32_t f = 0; f < CS_FABRICS && status == CS_OK; f++) {
        bytes[f] = (uint64_t)ceil((double)sizes[f] * ratio);
    }
    return status;
}

/* ---- one server for all of them ----
 *
 * Where all servers do the same at the same times, what one sends is all that has to be replayed:
 * what it would receive from the server before it is what it sends to the next one. */

/* The options of the algorithm that streams the messages of server 0 alone. */
typedef struct server_options {
    const cs_job *whole;
} server_options;

typedef struct one_server {
    const cs_algorithm *algorithm;
    void               *state;
    uint32_t            gpus;
} one_server;

static cs_status server_open(const cs_scenario *scenario, const void *options, void **state_p,
                             cs_error *err)
{
    const cs_job *whole = ((const server_options *)options)->whole;
    one_server   *one   = CS_NEW(one_server, 1);

    if (one == NULL) {
        return CS_NO_MEMORY(err, "the messages of a server");
    }
    *one = (one_server){.algorithm = whole->algorithm, .gpus = scenario->cluster.gpus_per_server};
    cs_status status = cs_job_open(whole, &one->state, err);
    if (status != CS_OK) {
        cs_free(one);
        return status;
    }
    one->algorithm->keep_one_server(one->state);
    *state_p = one;
    return CS_OK;
}

static void server_next_block(void *state, cs_block *block)
{
    one_server *one = state;

    one->algorithm->next_block(one->state, block);
    for (size_t i = 0; i < block->count; i++) {
        cs_transfer *t = &block->transfers[i];
        t->src %= one->gpus;
        t->dst %= one->gpus;
    }
}

static void server_close(void *state)
{
    one_server *one = state;

    if (one != NULL) {
        one->algorithm->close(one->state);
        cs_free(one);
    }
}

/* Are all servers alike, and their chunks (to a byte, where there are very many of them)? */
static bool is_alike(const cs_job *job)
{
    const cs_scenario *s = &job->scenario;
    const cs_cluster  *c = &s->cluster;
    const double       n = (double)job->plan.n_chunks * job->plan.n_rounds; /* transfers, about */

    return job->algorithm->keep_one_server != NULL && !cs_collective_has_root(s->collective) &&
           cs_n_servers(c) > 2 && c->servers == NULL && c->uneven == NULL && c->topology == NULL &&
           c->nics == NULL && s->n_capacity == 0 && cs_last_arrival(s) == 0 &&
           job->model->serve != NULL && (s->bytes % job->plan.n_chunks == 0 || n > MANY_TRANSFERS);
}

cs_status cs_level_time(const cs_job *job, double *time_s_p, cs_error *err)
{
    const cs_algorithm   server  = {.name       = job->algorithm->name,
                                    .open       = server_open,
                                    .next_block = server_next_block,
                                    .close      = server_close};
    const server_options options = {job};
    cs_job               one     = *job;
    cs_outcome           outcome = {0};

    one.verify = false;
    if (is_alike(job)) {
        one.algorithm = &server;
        memcpy(&one.options, &options, sizeof options);
    }
    CS_TRY(cs_job_replay(&one, NULL, 0, &outcome, err));
    *time_s_p = outcome.elapsed_s;
    return CS_OK;
}

/* ---- the inverse of a replay ---- */

cs_status cs_time_at(const cs_time_search *search, double x, double *time_s_p, cs_error *err)
{
    cs_job job = *search->job;

    search->set(&job.scenario, x, search->user);
    cs_status status = cs_job_resolve(&job, err);
    if (status == CS_OK) {
        status = cs_level_time(&job, time_s_p, err);
    }
    cs_job_release(&job);
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
