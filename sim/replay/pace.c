/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How fast a request is replayed on this machine: its schedule is cut after its first blocks, which
 * is a schedule, too, because what a transfer needs stands before it. Left out: that the rest may
 * be of another kind. */
#include "base/alloc.h"
#include "cs/replay.h"

#include <time.h>

enum {
    LEAST_SAMPLE = 2000, /* transfers */
    STEP         = 10,   /* as many as before */
    RESERVE      = 3     /* where links are shared, they may take so many times longer each */
};

/* The options of the algorithm that streams the beginning of another. */
typedef struct prefix_options {
    const cs_replay_request *whole;
    uint64_t                 most;
} prefix_options;

typedef struct prefix {
    const cs_algorithm *algorithm;
    void               *state;
    uint64_t            left;
} prefix;

static cs_status prefix_open(const cs_scenario *scenario, const void *options, void **state_p,
                             cs_error *err)
{
    const prefix_options *o = options;
    prefix               *p = CS_NEW(prefix, 1);

    if (p == NULL) {
        return CS_FAIL(err, CS_ENOMEM, "", "out of memory for a schedule");
    }
    *p               = (prefix){.algorithm = o->whole->algorithm, .left = o->most};
    cs_status status = p->algorithm->open(scenario, o->whole->options, &p->state, err);
    if (status != CS_OK) {
        cs_free(p);
        return status;
    }
    *state_p = p;
    return CS_OK;
}

/* A block is never cut. */
static void prefix_next_block(void *state, cs_block *block)
{
    prefix *p = state;

    block->count = 0;
    if (p->left > 0) {
        p->algorithm->next_block(p->state, block);
        p->left -= block->count < p->left ? block->count : p->left;
    }
}

static void prefix_close(void *state)
{
    prefix *p = state;

    if (p != NULL) {
        p->algorithm->close(p->state);
        cs_free(p);
    }
}

static double now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static cs_status replay_prefix(const cs_replay_request *request, uint64_t most,
                               cs_replay_pace *pace_p, cs_error *err)
{
    const cs_algorithm   algorithm = {.name       = request->algorithm->name,
                                      .open       = prefix_open,
                                      .next_block = prefix_next_block,
                                      .close      = prefix_close};
    const prefix_options options   = {request, most};
    cs_replay_request    part      = *request;
    cs_outcome           outcome;
    double               begin_s = now_s();

    part.algorithm   = &algorithm;
    part.options     = &options;
    part.verify      = false;
    part.n_observers = 0;
    part.counted     = NULL;
    cs_status status = cs_replay(&part, &outcome, err);
    if (status == CS_OK) {
        *pace_p = (cs_replay_pace){outcome.n_transfers, now_s() - begin_s};
    }
    return status;
}

cs_status cs_replay_measure(const cs_replay_request *request, double most_s, cs_replay_pace *pace_p,
                            cs_error *err)
{
    cs_replay_pace pace   = {0};
    cs_status      status = CS_OK;

    for (uint64_t most = LEAST_SAMPLE; status == CS_OK; most *= STEP) {
        status = replay_prefix(request, most, &pace, err);
        if (pace.n_transfers < most || pace.time_s * STEP * RESERVE > most_s) {
            break;
        }
    }
    if (status == CS_OK) {
        *pace_p = pace;
    }
    return status;
}
