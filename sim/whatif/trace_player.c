/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Replays of single calls: see whatif/trace_player.h. A case per algorithm and size is built once;
 * a replay is that case with the arrivals of a call and the straggler that the policy says. */
#include "whatif/trace_player.h"

#include "base/alloc.h"
#include "config/presumption.h"
#include "cs/result.h"

#include <math.h>
#include <string.h>

/* Two times that differ by less, relative to the call, are the same. */
#define SAME_RATIO 1e-12
#define STOP_RATIO 1e-10

struct cs_player {
    cs_player_setup setup;
    cs_case        *cases;     /* [n_algorithms][n_sizes] */
    double         *arrival_s; /* [n_ranks] of a made-up call */
    uint64_t        n_replays;
};

static const cs_case *case_of(const cs_player *player, size_t algorithm, size_t size)
{
    return &player->cases[algorithm * player->setup.n_sizes + size];
}

const cs_algorithm *cs_player_algorithm(const cs_player *player, size_t algorithm)
{
    return case_of(player, algorithm, 0)->job.algorithm;
}

bool cs_player_has_straggler(const cs_player *player, size_t algorithm)
{
    const cs_algorithm *row = cs_player_algorithm(player, algorithm);

    return cs_presumption_of(row, CS_PREDICTION_STATIC).straggler != NULL;
}

static cs_status build_cases(cs_player *player, cs_error *err)
{
    size_t    n      = player->setup.n_algorithms * player->setup.n_sizes;
    cs_status status = CS_OK;

    for (size_t i = 0; i < n && status == CS_OK; i++) {
        status = cs_config_case(player->setup.config, i, &player->cases[i], err);
    }
    return status;
}

cs_status cs_player_new(const cs_player_setup *setup, cs_player **player_p, cs_error *err)
{
    cs_player *player = CS_NEW(cs_player, 1);
    size_t     n      = setup->n_algorithms * setup->n_sizes;
    cs_status  status = CS_OK;

    if (player != NULL) {
        player->setup     = *setup;
        player->cases     = CS_NEW(cs_case, n);
        player->arrival_s = CS_NEW(double, setup->trace->n_ranks);
    }
    if (player == NULL || player->cases == NULL || player->arrival_s == NULL) {
        status = CS_FAIL(err, CS_ENOMEM, "", "out of memory for %zu scenarios", n);
    } else {
        status = build_cases(player, err);
    }
    if (status != CS_OK) {
        cs_player_free(player);
        return status;
    }
    *player_p = player;
    return CS_OK;
}

void cs_player_free(cs_player *player)
{
    if (player == NULL) {
        return;
    }
    for (size_t i = 0;
         player->cases != NULL && i < player->setup.n_algorithms * player->setup.n_sizes; i++) {
        cs_case_free(&player->cases[i]);
    }
    cs_free(player->cases);
    cs_free(player->arrival_s);
    cs_free(player);
}

uint64_t cs_player_replays(const cs_player *player)
{
    return player->n_replays;
}

/* The rank that a static line presumes late: the user's, or the straggler of the trace. */
static uint32_t known_rank(const cs_player *player, const cs_case *c)
{
    uint32_t given = cs_presumption_option(c->job.algorithm, &c->job.options);

    return given == CS_AUTO ? player->setup.straggler : given;
}

static cs_status replay(cs_player *player, const cs_job *given, const double *arrival_s,
                        double *exposed_s_p, cs_error *err)
{
    cs_job    job    = *given;
    cs_result result = {0};

    job.scenario.arrival_s = arrival_s;
    job.is_checked         = false;
    cs_status status       = cs_job_run(&job, NULL, 0, &result, err);
    player->n_replays++;
    if (status == CS_OK && job.verify && !result.verified) {
        return CS_FAIL(err, CS_EWRONG, job.algorithm->name, "%s", result.verdict.text);
    }
    *exposed_s_p = result.exposed_s;
    return status;
}

/* The presumed rank is there when the last of the others comes: only then do they know and agree,
 * so that no rank begins with the baseline sooner. */
static cs_status fall_back(cs_player *player, size_t size, double *exposed_s_p, cs_error *err)
{
    const cs_case *base   = case_of(player, 0, size);
    cs_status      status = replay(player, &base->job, NULL, exposed_s_p, err);

    *exposed_s_p += player->setup.agreement_s;
    return status;
}

static cs_status play(cs_player *player, size_t algorithm, cs_trace_policy policy, size_t size,
                      const double *arrival_s, double *exposed_s_p, cs_error *err)
{
    const cs_case *c          = case_of(player, algorithm, size);
    bool           is_dynamic = policy == CS_TRACE_DYNAMIC;
    cs_presumption p          = cs_presumption_of(c->job.algorithm,
                                         is_dynamic ? CS_PREDICTION_DYNAMIC : CS_PREDICTION_STATIC);
    uint32_t       n          = c->job.scenario.cluster.n_ranks;
    cs_job         job        = c->job;

    if (policy == CS_TRACE_PLAIN || p.straggler == NULL) {
        return replay(player, &job, arrival_s, exposed_s_p, err);
    }
    p.agreement_s = policy == CS_TRACE_STATIC ? 0 : player->setup.agreement_s;
    uint32_t rank = cs_presume(&p, arrival_s, n, known_rank(player, c), &job.options);
    if (policy == CS_TRACE_ADAPTIVE && rank < n && cs_behind_others_s(arrival_s, n, rank) <= 0) {
        return fall_back(player, size, exposed_s_p, err);
    }
    return replay(player, &job, arrival_s, exposed_s_p, err);
}

cs_status cs_player_call(cs_player *player, size_t algorithm, cs_trace_policy policy, size_t call,
                         double *exposed_s_p, cs_error *err)
{
    const cs_player_setup *s = &player->setup;

    return play(player, algorithm, policy, s->size_of_call[call],
                &s->trace->arrival_s[call * s->trace->n_ranks], exposed_s_p, err);
}

/* How much sooner the line ends than the baseline when the straggler comes `delay_s` late. */
static cs_status gain(cs_player *player, size_t algorithm, cs_trace_policy policy, size_t size,
                      double delay_s, double *gain_s_p, cs_error *err)
{
    const cs_case *c      = case_of(player, algorithm, size);
    uint32_t       rank   = known_rank(player, c);
    double         base_s = 0, line_s = 0;

    if (rank >= player->setup.trace->n_ranks) {
        rank = player->setup.straggler;
    }
    player->arrival_s[rank] = delay_s;
    cs_status status = play(player, 0, CS_TRACE_PLAIN, size, player->arrival_s, &base_s, err);
    if (status == CS_OK) {
        status = play(player, algorithm, policy, size, player->arrival_s, &line_s, err);
    }
    player->arrival_s[rank] = 0;
    *gain_s_p               = base_s - line_s;
    if (fabs(*gain_s_p) <= SAME_RATIO * base_s) {
        *gain_s_p = 0;
    }
    return status;
}

cs_status cs_player_break_even(cs_player *player, size_t algorithm, cs_trace_policy policy,
                               size_t size, double *delay_s_p, cs_error *err)
{
    double    low_s = 0, high_s = 0, gain_s = 0;
    cs_status status = gain(player, algorithm, policy, size, 0, &gain_s, err);

    if (status == CS_OK && gain_s > 0) {
        *delay_s_p = 0;
        return CS_OK;
    }
    /* Whatever can be done before the straggler is there has been done by then. */
    if (status == CS_OK) {
        status = play(player, algorithm, policy == CS_TRACE_ADAPTIVE ? CS_TRACE_STATIC : policy,
                      size, player->arrival_s, &high_s, err);
    }
    if (status == CS_OK) {
        high_s += player->setup.agreement_s;
        status = gain(player, algorithm, policy, size, high_s, &gain_s, err);
    }
    if (status == CS_OK && gain_s <= 0) {
        *delay_s_p = (double)INFINITY;
        return CS_OK;
    }
    for (double stop_s = STOP_RATIO * high_s; status == CS_OK && high_s - low_s > stop_s;) {
        double middle_s = (low_s + high_s) / 2;
        status          = gain(player, algorithm, policy, size, middle_s, &gain_s, err);
        low_s           = gain_s > 0 ? low_s : middle_s;
        high_s          = gain_s > 0 ? middle_s : high_s;
    }
    *delay_s_p = high_s;
    return status;
}
