/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hunts without a cluster. */
#include "hunt/simulate.h"

#include "base/random.h"
#include "hunt/plan.h"

#include <gsl/gsl_randist.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define HEALTHY_BPS 350e9

static bool is_same(const cs_suspect *a, const cs_suspect *b)
{
    return a->kind == b->kind && a->host == b->host && a->rail == b->rail;
}

static cs_suspect draw_one(const cs_hunt *like, const cs_hunt_planted *planted, gsl_rng *stream)
{
    cs_suspect one = {.kind = planted->kind};

    if (planted->is_any && like->n_rails > 0) {
        one.kind = (cs_suspect_kind)gsl_rng_uniform_int(stream, 3);
    }
    if (one.kind != CS_SUSPECT_RAIL) {
        one.host = (uint32_t)gsl_rng_uniform_int(stream, like->n_hosts);
    }
    if (one.kind != CS_SUSPECT_NODE) {
        one.rail = (uint32_t)gsl_rng_uniform_int(stream, like->n_rails);
    }
    return one;
}

/* Do two of them show in the same runs alone, as a node and its NIC do? Then nobody could tell. */
static bool is_hidden(const cs_suspect *a, const cs_suspect *b)
{
    bool same_host = a->host == b->host && a->kind != CS_SUSPECT_RAIL && b->kind != CS_SUSPECT_RAIL;
    bool same_rail = a->rail == b->rail && a->kind != CS_SUSPECT_NODE && b->kind != CS_SUSPECT_NODE;

    return is_same(a, b) ||
           (same_host && (a->kind == CS_SUSPECT_NODE || b->kind == CS_SUSPECT_NODE)) ||
           (same_rail && (a->kind == CS_SUSPECT_RAIL || b->kind == CS_SUSPECT_RAIL));
}

cs_status cs_hunt_draw(const cs_hunt *like, const cs_hunt_planted *planted, uint64_t seed,
                       uint64_t index, cs_suspect *planted_p, cs_error *err)
{
    char     name[48];
    gsl_rng *stream;

    (void)snprintf(name, sizeof name, "hunt.planted.%" PRIu64, index);
    stream = cs_random_stream(seed, name);
    if (stream == NULL) {
        return CS_NO_MEMORY(err, "a random stream");
    }
    for (uint32_t i = 0; i < planted->bad; i++) {
        bool again = true;
        while (again) {
            planted_p[i] = draw_one(like, planted, stream);
            again        = false;
            for (uint32_t j = 0; j < i; j++) {
                again = again || is_hidden(&planted_p[i], &planted_p[j]);
            }
        }
    }
    gsl_rng_free(stream);
    return CS_OK;
}

/* ---- one hunt ---- */

/* Which groups hold a bad host, by test. */
static bool is_slow(const cs_hunt_round *round, const cs_suspect *bad, uint32_t n, uint32_t group,
                    uint32_t test)
{
    for (uint32_t i = 0; i < n; i++) {
        bool host = bad[i].kind == CS_SUSPECT_RAIL || round->group_of[bad[i].host] == group;
        bool rail = bad[i].kind == CS_SUSPECT_NODE || bad[i].rail == test;
        if (host && rail) {
            return true;
        }
    }
    return false;
}

static void measure(const cs_hunt *hunt, const cs_hunt_planted *planted, const cs_suspect *bad,
                    gsl_rng *stream)
{
    const cs_hunt_round *round = hunt->rounds[hunt->n_rounds - 1];
    uint32_t             tests = cs_hunt_n_tests(hunt), rows = hunt->setting.rows;
    double               noise = hypot(planted->noise / sqrt(rows), planted->run_noise);

    for (uint32_t i = 0; i < cs_hunt_n_runs(hunt, round); i++) {
        bool   slow       = is_slow(round, bad, planted->bad, i / tests, i % tests);
        double off        = noise > 0 ? gsl_ran_gaussian_ziggurat(stream, noise) : 0;
        round->results[i] = (cs_hunt_result){
            .busbw_Bps = HEALTHY_BPS * (slow ? 1 - planted->effect : 1) * exp(off), .rows = rows};
    }
}

static bool is_right(const cs_belief *b, const cs_suspect *bad, uint32_t n)
{
    uint32_t found = 0;

    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = 0; j < b->n_best; j++) {
            found += is_same(&bad[i], &b->best[j]);
        }
    }
    return found == n && b->n_best == n;
}

static uint32_t n_busy(const cs_hunt *hunt, uint32_t round)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < hunt->n_hosts; i++) {
        n += hunt->rounds[round]->group_of[i] != CS_HUNT_IDLE;
    }
    return n;
}

static void count(const cs_hunt *hunt, const cs_belief *b, bool is_found, cs_hunt_tally *t)
{
    uint64_t runs  = cs_hunt_n_all_runs(hunt);
    bool     sure  = cs_belief_is_sure(hunt, b);
    double   hosts = 0;

    for (uint32_t r = 0; r < hunt->n_rounds; r++) {
        hosts += n_busy(hunt, r);
    }
    t->hunts++;
    t->right += sure && is_found;
    t->wrong += sure && !is_found;
    t->unsure += !sure;
    t->rounds[hunt->n_rounds]++;
    t->mean_rounds += hunt->n_rounds;
    t->mean_runs += (double)runs;
    t->mean_hosts += hosts / hunt->n_rounds;
    t->most_rounds = hunt->n_rounds > t->most_rounds ? hunt->n_rounds : t->most_rounds;
    t->most_runs   = runs > t->most_runs ? runs : t->most_runs;
}

/* Until it is sure, or out of rounds. */
static cs_status go_on(cs_hunt *hunt, const cs_hunt_planted *planted, const cs_suspect *bad,
                       uint32_t most_rounds, gsl_rng *stream, cs_hunt_tally *t, cs_error *err)
{
    cs_belief belief;

    CS_TRY(cs_belief_of(hunt, &belief, err));
    while (hunt->n_rounds < most_rounds && !cs_belief_is_sure(hunt, &belief)) {
        cs_status status = cs_hunt_plan(hunt, &belief, err);
        cs_belief_free(&belief);
        CS_TRY(status);
        measure(hunt, planted, bad, stream);
        CS_TRY(cs_belief_of(hunt, &belief, err));
    }
    count(hunt, &belief, is_right(&belief, bad, planted->bad), t);
    cs_belief_free(&belief);
    return CS_OK;
}

static cs_status hunt_once(const cs_hunt *like, const cs_hunt_planted *planted,
                           uint32_t most_rounds, uint64_t seed, cs_hunt_tally *t, cs_error *err)
{
    cs_hunt    hunt = {.n_hosts = 0};
    cs_suspect bad[CS_HUNT_MAX_BAD];
    char       name[48];
    gsl_rng   *stream;
    cs_status  status;

    (void)snprintf(name, sizeof name, "hunt.noise.%" PRIu64, t->hunts);
    CS_TRY(cs_hunt_draw(like, planted, seed, t->hunts, bad, err));
    stream = cs_random_stream(seed, name);
    if (stream == NULL) {
        return CS_NO_MEMORY(err, "a random stream");
    }
    status = cs_hunt_begin(&like->setting, like->hosts, like->n_hosts, like->rails, like->n_rails,
                           &hunt, err);
    status = status == CS_OK ? go_on(&hunt, planted, bad, most_rounds, stream, t, err) : status;
    cs_hunt_free(&hunt);
    gsl_rng_free(stream);
    return status;
}

cs_status cs_hunt_simulate(const cs_hunt *like, const cs_hunt_planted *planted, uint64_t hunts,
                           uint32_t most_rounds, uint64_t seed, const cs_listener *listener,
                           cs_hunt_tally *tally_p, cs_error *err)
{
    cs_hunt_tally t = {.hunts = 0};

    if (planted->bad < 1 || planted->bad > CS_HUNT_MAX_BAD || planted->bad >= like->n_hosts) {
        return CS_FAIL(err, CS_EINVAL, "planted", "%u: accepted are 1 to %d, fewer than hosts",
                       planted->bad, CS_HUNT_MAX_BAD);
    }
    if (like->n_rails == 0 && planted->kind != CS_SUSPECT_NODE && !planted->is_any) {
        return CS_FAIL(err, CS_EINVAL, "planted", "NICs and rails need the names of the rails");
    }
    if (like->n_rails > 0 && planted->kind == CS_SUSPECT_RAIL && !planted->is_any &&
        planted->bad >= like->n_rails) {
        return CS_FAIL(err, CS_EINVAL, "planted", "%u rails: accepted are fewer than all %u",
                       planted->bad, like->n_rails);
    }
    for (uint64_t i = 0; i < hunts; i++) {
        CS_TRY(hunt_once(like, planted, most_rounds, seed, &t, err));
        cs_tell(listener, t.hunts, hunts);
    }
    if (t.hunts > 0) {
        t.mean_rounds /= (double)t.hunts;
        t.mean_runs /= (double)t.hunts;
        t.mean_hosts /= (double)t.hunts;
    }
    *tally_p = t;
    return CS_OK;
}
