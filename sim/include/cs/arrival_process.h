/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cs/arrival_process.h -- when the ranks come to collective after collective, at random.
 *
 * The arrival of a rank in one iteration (one call) is the sum of up to four parts: its fixed
 * delay, a delay from a distribution (independent for every rank and iteration), an extra delay
 * where the rank is the iteration's straggler, and its arrival in one call of a measured trace.
 * The vector is then shifted so that its earliest arrival is 0.
 *
 * Who the straggler is:
 *  - with a presumed rank: that rank with probability `persistence`, otherwise one of the others,
 *    each as likely; with probability `correlation` no new choice is made and the
 *    straggler of the iteration before remains. Whatever the correlation, the presumed rank's
 *    share of the iterations is `persistence` ("straggler persistence" in StragglAR, Table 2).
 *  - without one (rank = CS_ANY_RANK): the first is any rank; from then on it remains with
 *    probability `persistence`, otherwise another takes its place, each as likely. Every rank's
 *    share is 1/n.
 *
 * What iteration i holds depends on the process, the number of ranks, the seed and i alone:
 * not on how many iterations there are, who draws them and in which order. (Quasi-random points
 * depend on how many there are, too.) Each part has a stream of its own, so that adding
 * one part leaves the others as they are.
 */
#ifndef CS_ARRIVAL_PROCESS_H
#define CS_ARRIVAL_PROCESS_H

#include "cs/arrivals.h"
#include "cs/distribution.h"

CS_BEGIN_C

#define CS_ANY_RANK UINT32_MAX

enum {
    CS_MAX_ITERATIONS = 20 * 1000 * 1000, /* of one sampler */
    CS_REPLICATES     = 16                /* of a quasi-random sequence, each shifted at random */
};

typedef struct cs_straggler_process {
    cs_distribution delay;
    uint32_t        rank;        /* presumed, or CS_ANY_RANK */
    double          persistence; /* [0, 1] */
    double          correlation; /* [0, 1); 0 where rank is CS_ANY_RANK */
} cs_straggler_process;

/* Plain data, everything borrowed. `{0}`: all ranks arrive together. */
typedef struct cs_arrival_process {
    const double        *late_s; /* n_ranks fixed delays >= 0; NULL: none */
    bool                 has_distribution, has_straggler;
    cs_distribution      distribution;
    cs_straggler_process straggler;
    cs_arrival_trace     trace;     /* n_calls = 0: none */
    bool                 resamples; /* any call of the trace; else call i modulo n_calls */
} cs_arrival_process;

/* Does every iteration hold the same arrivals? */
CS_API bool cs_arrivals_are_fixed(const cs_arrival_process *process);

/* Does an iteration depend on the one before? Confidence intervals must know. */
CS_API bool cs_arrivals_have_memory(const cs_arrival_process *process);

/* Where the uniform numbers come from. X(id, name, summary). */
#define CS_SAMPLING_MAP(X)                                                 \
    X(RANDOM, "random", "pseudo-random (Mersenne Twister)")                \
    X(SOBOL, "sobol", "quasi-random, at most 40 dimensions")               \
    X(NIEDERREITER, "niederreiter", "quasi-random, at most 12 dimensions") \
    X(HALTON, "halton", "quasi-random (reverse Halton), at most 1229 dimensions")

typedef enum cs_sampling {
#define X(id, name, summary) CS_SAMPLING_##id,
    CS_SAMPLING_MAP(X)
#undef X
        CS_SAMPLING_COUNT
} cs_sampling;

CS_API const char *cs_sampling_name(cs_sampling sampling);

/* How many uniform numbers one iteration takes, who the straggler is not counted: the dimensions
 * of a quasi-random point. */
CS_API uint32_t cs_arrival_dimensions(const cs_arrival_process *process, uint32_t n_ranks);

/* What all threads share: the stragglers of all iterations, found in advance. */
typedef struct cs_arrival_sampler cs_arrival_sampler;

/* `process` is borrowed until cs_arrival_sampler_close(). With quasi-random numbers the iterations
 * are cut into CS_REPLICATES runs [r N / CS_REPLICATES, (r+1) N / CS_REPLICATES), each one the
 * sequence from its begin with a random shift of its own (R. Cranley, T. N. L. Patterson, SIAM J.
 * Numer. Anal. 13, 1976). Only the delays are quasi-random, never who the straggler is.
 * CS_EINVAL for more than CS_MAX_ITERATIONS iterations, too many dimensions, or a trace of other
 * ranks. O(iterations) time, 4 bytes an iteration where there are stragglers. */
CS_API CS_MUST_CHECK cs_status cs_arrival_sampler_open(const cs_arrival_process *process,
                                                       uint32_t n_ranks, uint64_t seed,
                                                       size_t n_iterations, cs_sampling sampling,
                                                       cs_arrival_sampler **sampler_p,
                                                       cs_error            *err);
/* NULL is allowed. */
CS_API void cs_arrival_sampler_close(cs_arrival_sampler *sampler);

/* The iteration's straggler, or CS_ANY_RANK where the process has none. */
CS_API uint32_t cs_arrival_straggler(const cs_arrival_sampler *sampler, size_t iteration);

/* What one thread draws from. */
typedef struct cs_arrival_stream cs_arrival_stream;

CS_API CS_MUST_CHECK cs_status cs_arrival_stream_open(const cs_arrival_sampler *sampler,
                                                      cs_arrival_stream **stream_p, cs_error *err);
/* NULL is allowed. */
CS_API void cs_arrival_stream_close(cs_arrival_stream *stream);

/* The arrivals of one iteration: n_ranks times, the earliest 0. O(n_ranks) where iterations ascend
 * one by one; otherwise the way to the iteration is walked without computing its delays. */
CS_API void cs_arrival_draw(cs_arrival_stream *stream, size_t iteration, double *arrival_s);

/* The same before it is shifted: the sum of every rank's parts. */
CS_API void cs_arrival_draw_delays(cs_arrival_stream *stream, size_t iteration, double *delay_s);

/* The arrivals of iteration 0, pseudo-random, without a sampler of one's own. Fixed delays alone
 * are copied, and nothing fails then. */
CS_API CS_MUST_CHECK cs_status cs_arrival_first(const cs_arrival_process *process, uint32_t n_ranks,
                                                uint64_t seed, double *arrival_s, cs_error *err);

CS_END_C

#endif
