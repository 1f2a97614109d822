/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Random arrivals.
 *
 * The pseudo-random numbers of a part come in blocks of iterations, a stream of its own each. (One
 * stream an iteration would be simpler, but the generator takes seeds of 32 bits, so that among
 * 100,000 of them two would likely be equal.) Who the straggler is, is a chain and found in
 * advance. Quasi-random sequences are walked from their begin: a point costs far less than
 * the delays that are computed from it.
 */
#include "cs/arrival_process.h"

#include "base/alloc.h"
#include "base/random.h"

#include <gsl/gsl_qrng.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { BLOCK = 256, NAME_BYTES = 64 };

/* The parts of an arrival that take uniform numbers, in the order of a point's dimensions. */
enum { DELAY, CALL, RANKS, N_PARTS };

static const char *const part_names[N_PARTS] = {"arrivals.straggler.delay", "arrivals.trace",
                                                "arrivals.distribution"};

static const char *const sampling_names[] = {
#define X(id, name, summary) [CS_SAMPLING_##id] = name,
    CS_SAMPLING_MAP(X)
#undef X
};

struct cs_arrival_sampler {
    const cs_arrival_process *process;
    uint32_t                  n_ranks;
    uint64_t                  seed;
    size_t                    n_iterations;
    uint32_t                  part_dims[N_PARTS]; /* uniform numbers of each part */
    uint32_t                  dims;               /* ... of all */
    const gsl_qrng_type      *quasi;              /* NULL: pseudo-random */
    uint32_t                 *stragglers;         /* [n_iterations]; NULL: none */
};

struct cs_arrival_stream {
    const cs_arrival_sampler *sampler;
    size_t                    begin, next; /* iterations of the current block or replicate */
    gsl_rng                  *random[N_PARTS];
    gsl_qrng                  quasi;
    gsl_rng                  *shifts;
    double                   *point, *shift; /* [dims], of the quasi-random sequence */
    uint32_t                  taken;         /* dimensions of the point */
};

const char *cs_sampling_name(cs_sampling sampling)
{
    return sampling_names[sampling];
}

bool cs_arrivals_are_fixed(const cs_arrival_process *p)
{
    bool has_chain = p->has_straggler && p->straggler.persistence < 1;
    bool has_calls = p->trace.n_calls > 1;
    bool any_rank  = p->has_straggler && p->straggler.rank == CS_ANY_RANK;
    bool is_random = (p->has_distribution && cs_distribution_is_random(&p->distribution)) ||
                     (p->has_straggler && cs_distribution_is_random(&p->straggler.delay));
    return !has_chain && !has_calls && !any_rank && !is_random;
}

bool cs_arrivals_have_memory(const cs_arrival_process *p)
{
    bool has_chain = p->has_straggler && p->straggler.persistence < 1 &&
                     (p->straggler.rank == CS_ANY_RANK || p->straggler.correlation > 0);
    return has_chain || (p->trace.n_calls > 1 && !p->resamples);
}

static void count_dimensions(const cs_arrival_process *p, uint32_t n_ranks, uint32_t *dims)
{
    dims[DELAY] = p->has_straggler && cs_distribution_is_random(&p->straggler.delay) ? 1 : 0;
    dims[CALL]  = p->trace.n_calls > 1 && p->resamples ? 1 : 0;
    dims[RANKS] = p->has_distribution && cs_distribution_is_random(&p->distribution) ? n_ranks : 0;
}

uint32_t cs_arrival_dimensions(const cs_arrival_process *process, uint32_t n_ranks)
{
    uint32_t dims[N_PARTS];

    count_dimensions(process, n_ranks, dims);
    return dims[DELAY] + dims[CALL] + dims[RANKS];
}

/* One of the ranks but `except`, each as likely. */
static uint32_t another_rank(uint32_t n_ranks, uint32_t except, double u)
{
    uint32_t rank = (uint32_t)(u * (n_ranks - 1));
    return rank + (rank >= except);
}

/* Three numbers an iteration, whatever is done with them. */
static cs_status find_stragglers(cs_arrival_sampler *s, cs_error *err)
{
    const cs_straggler_process *p        = &s->process->straggler;
    gsl_rng                    *stream   = cs_random_stream(s->seed, "arrivals.straggler.rank");
    uint32_t                    presumed = p->rank, last = 0;

    s->stragglers = CS_NEW(uint32_t, s->n_iterations);
    if (stream == NULL || s->stragglers == NULL) {
        gsl_rng_free(stream);
        return CS_NO_MEMORY(err, "%zu iterations", s->n_iterations);
    }
    for (size_t i = 0; i < s->n_iterations; i++) {
        double   keep = cs_random_uniform(stream), stay = cs_random_uniform(stream);
        double   which = cs_random_uniform(stream);
        bool     kept  = i > 0 && keep < p->correlation;
        uint32_t home  = p->rank == CS_ANY_RANK ? last : presumed;
        if (i == 0 && p->rank == CS_ANY_RANK) {
            last = (uint32_t)(which * s->n_ranks);
        } else if (!kept) {
            last = stay < p->persistence ? home : another_rank(s->n_ranks, home, which);
        }
        s->stragglers[i] = last;
    }
    gsl_rng_free(stream);
    return CS_OK;
}

static cs_status choose_quasi(cs_arrival_sampler *s, cs_sampling sampling, cs_error *err)
{
    switch (sampling) {
    case CS_SAMPLING_SOBOL: s->quasi = gsl_qrng_sobol; break;
    case CS_SAMPLING_NIEDERREITER: s->quasi = gsl_qrng_niederreiter_2; break;
    case CS_SAMPLING_HALTON: s->quasi = gsl_qrng_reversehalton; break;
    case CS_SAMPLING_RANDOM:
    case CS_SAMPLING_COUNT: return CS_OK;
    }
    if (s->dims > s->quasi->max_dimension) {
        return CS_FAIL(err, CS_EINVAL, "arrivals",
                       "take %u random numbers an iteration, %s has %u dimensions: accepted is %s",
                       s->dims, sampling_names[sampling], s->quasi->max_dimension,
                       s->dims <= gsl_qrng_reversehalton->max_dimension ? "halton, and random"
                                                                        : "random");
    }
    return CS_OK;
}

static cs_status check(const cs_arrival_process *process, uint32_t n_ranks, size_t n_iterations,
                       cs_error *err)
{
    if (n_iterations < 1 || n_iterations > CS_MAX_ITERATIONS) {
        return CS_FAIL(err, CS_EINVAL, "iterations", "%zu is outside [1, %d]", n_iterations,
                       CS_MAX_ITERATIONS);
    }
    if (process->trace.n_calls > 0 && process->trace.n_ranks != n_ranks) {
        return CS_FAIL(err, CS_EINVAL, "arrivals.trace",
                       "is of %u ranks, the cluster has %u: accepted is the same number",
                       process->trace.n_ranks, n_ranks);
    }
    return CS_OK;
}

cs_status cs_arrival_sampler_open(const cs_arrival_process *process, uint32_t n_ranks,
                                  uint64_t seed, size_t n_iterations, cs_sampling sampling,
                                  cs_arrival_sampler **sampler_p, cs_error *err)
{
    CS_TRY(check(process, n_ranks, n_iterations, err));
    cs_arrival_sampler *s = CS_NEW(cs_arrival_sampler, 1);
    if (s == NULL) {
        return CS_NO_MEMORY(err, "arrivals");
    }
    s->process      = process;
    s->n_ranks      = n_ranks;
    s->seed         = seed;
    s->n_iterations = n_iterations;
    count_dimensions(process, n_ranks, s->part_dims);
    s->dims          = cs_arrival_dimensions(process, n_ranks);
    cs_status status = choose_quasi(s, sampling, err);
    if (s->dims == 0) {
        s->quasi = NULL;
    }
    if (status == CS_OK && process->has_straggler) {
        status = find_stragglers(s, err);
    }
    if (status != CS_OK) {
        cs_arrival_sampler_close(s);
        return status;
    }
    *sampler_p = s;
    return CS_OK;
}

void cs_arrival_sampler_close(cs_arrival_sampler *sampler)
{
    if (sampler != NULL) {
        cs_free(sampler->stragglers);
        cs_free(sampler);
    }
}

uint32_t cs_arrival_straggler(const cs_arrival_sampler *sampler, size_t iteration)
{
    return sampler->stragglers != NULL ? sampler->stragglers[iteration] : CS_ANY_RANK;
}

static bool open_numbers(cs_arrival_stream *stream)
{
    const cs_arrival_sampler *s = stream->sampler;

    for (uint32_t part = 0; s->quasi == NULL && part < N_PARTS; part++) {
        if (s->part_dims[part] > 0) {
            stream->random[part] = cs_random_stream(s->seed, part_names[part]);
            if (stream->random[part] == NULL) {
                return false;
            }
        }
    }
    if (s->quasi != NULL) { /* by hand: gsl_qrng_alloc() has no way to report failure */
        size_t bytes   = s->quasi->state_size(s->dims);
        stream->quasi  = (gsl_qrng){s->quasi, s->dims, bytes, cs_calloc(1, bytes)};
        stream->point  = CS_NEW(double, s->dims);
        stream->shift  = CS_NEW(double, s->dims);
        stream->shifts = cs_random_stream(s->seed, "arrivals.shift");
        return stream->quasi.state != NULL && stream->point != NULL && stream->shift != NULL &&
               stream->shifts != NULL;
    }
    return true;
}

cs_status cs_arrival_stream_open(const cs_arrival_sampler *sampler, cs_arrival_stream **stream_p,
                                 cs_error *err)
{
    cs_arrival_stream *stream = CS_NEW(cs_arrival_stream, 1);

    if (stream != NULL) {
        stream->sampler = sampler;
        stream->begin   = SIZE_MAX; /* nothing yet */
    }
    if (stream == NULL || !open_numbers(stream)) {
        cs_arrival_stream_close(stream);
        return CS_NO_MEMORY(err, "arrivals");
    }
    *stream_p = stream;
    return CS_OK;
}

void cs_arrival_stream_close(cs_arrival_stream *stream)
{
    if (stream != NULL) {
        for (uint32_t part = 0; part < N_PARTS; part++) {
            gsl_rng_free(stream->random[part]);
        }
        gsl_rng_free(stream->shifts);
        cs_free(stream->quasi.state);
        cs_free(stream->point);
        cs_free(stream->shift);
        cs_free(stream);
    }
}

/* The block or replicate that an iteration belongs to, and where that begins. */
static size_t run_of(const cs_arrival_sampler *s, size_t iteration, size_t *begin_p)
{
    size_t run = iteration / BLOCK;

    *begin_p = run * BLOCK;
    if (s->quasi != NULL) {
        run      = ((iteration + 1) * CS_REPLICATES - 1) / s->n_iterations;
        *begin_p = run * s->n_iterations / CS_REPLICATES;
    }
    return run;
}

static void restart_random(cs_arrival_stream *stream, size_t run)
{
    const cs_arrival_sampler *s = stream->sampler;
    char                      name[NAME_BYTES];

    for (uint32_t part = 0; part < N_PARTS; part++) {
        if (stream->random[part] != NULL) {
            (void)snprintf(name, sizeof name, "%s/%zu", part_names[part], run);
            cs_random_restart(stream->random[part], s->seed, name);
        }
    }
}

static void restart_quasi(cs_arrival_stream *stream, size_t run)
{
    const cs_arrival_sampler *s = stream->sampler;
    char                      name[NAME_BYTES];

    (void)snprintf(name, sizeof name, "arrivals.shift/%zu", run);
    cs_random_restart(stream->shifts, s->seed, name);
    for (uint32_t d = 0; d < s->dims; d++) {
        stream->shift[d] = cs_random_uniform(stream->shifts);
    }
    (void)s->quasi->init_state(stream->quasi.state, s->dims);
}

static void skip_one(cs_arrival_stream *stream)
{
    const cs_arrival_sampler *s = stream->sampler;

    if (s->quasi != NULL) {
        (void)gsl_qrng_get(&stream->quasi, stream->point);
        return;
    }
    for (uint32_t part = 0; part < N_PARTS; part++) {
        for (uint32_t d = 0; d < s->part_dims[part]; d++) {
            (void)gsl_rng_get(stream->random[part]);
        }
    }
}

/* Make the iteration's numbers the next ones. */
static void go_to(cs_arrival_stream *stream, size_t iteration)
{
    const cs_arrival_sampler *s = stream->sampler;
    size_t                    begin, run = run_of(s, iteration, &begin);

    if (begin != stream->begin || iteration < stream->next) {
        if (s->quasi != NULL) {
            restart_quasi(stream, run);
        } else {
            restart_random(stream, run);
        }
        stream->begin = begin;
        stream->next  = begin;
    }
    while (stream->next < iteration) {
        skip_one(stream);
        stream->next++;
    }
    if (s->quasi != NULL) {
        (void)gsl_qrng_get(&stream->quasi, stream->point);
    }
    stream->taken = 0;
    stream->next++;
}

static double take_uniform(cs_arrival_stream *stream, uint32_t part)
{
    if (stream->sampler->quasi == NULL) {
        return cs_random_uniform(stream->random[part]);
    }
    double u = stream->point[stream->taken] + stream->shift[stream->taken];
    stream->taken++;
    u -= u >= 1 ? 1 : 0;
    return fmin(fmax(u, 0x1p-33), 1 - 0x1p-33);
}

static void settle(double *arrival_s, uint32_t n_ranks)
{
    double first_s = arrival_s[0];

    for (uint32_t i = 1; i < n_ranks; i++) {
        first_s = fmin(first_s, arrival_s[i]);
    }
    for (uint32_t i = 0; i < n_ranks; i++) {
        arrival_s[i] -= first_s;
    }
}

static void copy_fixed(const cs_arrival_process *process, uint32_t n_ranks, double *delay_s)
{
    for (uint32_t r = 0; r < n_ranks; r++) {
        delay_s[r] = process->late_s != NULL ? process->late_s[r] : 0;
    }
}

void cs_arrival_draw_delays(cs_arrival_stream *stream, size_t iteration, double *delay_s)
{
    const cs_arrival_sampler *s = stream->sampler;
    const cs_arrival_process *p = s->process;
    uint32_t                  n = s->n_ranks;

    go_to(stream, iteration);
    copy_fixed(p, n, delay_s);
    if (p->has_straggler) {
        double u = s->part_dims[DELAY] > 0 ? take_uniform(stream, DELAY) : 0.5;
        delay_s[s->stragglers[iteration]] += cs_distribution_quantile(&p->straggler.delay, u);
    }
    if (p->trace.n_calls > 0) {
        size_t calls = p->trace.n_calls;
        size_t call  = s->part_dims[CALL] > 0 ? (size_t)(take_uniform(stream, CALL) * (double)calls)
                                              : iteration % calls;
        for (uint32_t r = 0; r < n; r++) {
            delay_s[r] += cs_trace_arrival(&p->trace, call, r);
        }
    }
    for (uint32_t r = 0; r < s->part_dims[RANKS]; r++) {
        double u = take_uniform(stream, RANKS);
        delay_s[r] += cs_distribution_quantile(&p->distribution, u);
    }
}

void cs_arrival_draw(cs_arrival_stream *stream, size_t iteration, double *arrival_s)
{
    cs_arrival_draw_delays(stream, iteration, arrival_s);
    settle(arrival_s, stream->sampler->n_ranks);
}

cs_status cs_arrival_first(const cs_arrival_process *process, uint32_t n_ranks, uint64_t seed,
                           double *arrival_s, cs_error *err)
{
    cs_arrival_sampler *sampler = NULL;
    cs_arrival_stream  *stream  = NULL;

    if (!process->has_distribution && !process->has_straggler && process->trace.n_calls == 0) {
        copy_fixed(process, n_ranks, arrival_s);
        settle(arrival_s, n_ranks);
        return CS_OK;
    }
    CS_TRY(cs_arrival_sampler_open(process, n_ranks, seed, 1, CS_SAMPLING_RANDOM, &sampler, err));
    cs_status status = cs_arrival_stream_open(sampler, &stream, err);
    if (status == CS_OK) {
        cs_arrival_draw(stream, 0, arrival_s);
    }
    cs_arrival_stream_close(stream);
    cs_arrival_sampler_close(sampler);
    return status;
}
