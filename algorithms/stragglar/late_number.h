/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/stragglar/late_number.h -- StragglAR with another number of late ranks than one: none,
 * when a plain AllReduce runs (late_prefix.h), or several (several_late.h).
 */
#ifndef CS_ALGORITHMS_STRAGGLAR_LATE_NUMBER_H
#define CS_ALGORITHMS_STRAGGLAR_LATE_NUMBER_H

#include "algorithms/lib/fallback.h"
#include "algorithms/stragglar/late_prefix.h"

/* What was asked for, and after cs_late_number_choose() what it came to. */
typedef struct cs_late_number {
    uint32_t         late;     /* k, or CS_AUTO */
    uint32_t         chunks;   /* 0 or CS_AUTO: the best number */
    uint32_t         roots;    /* as in cs_several_shape, or CS_AUTO */
    cs_late_baseline baseline; /* or CS_BASELINE_AUTO */
} cs_late_number;

/* Replace what is CS_AUTO. `one_s` is the end that is predicted for one late rank, for k = auto,
 * which may come to 1; then the rest is left as it is. Refused: k >= n, several late ranks of more
 * than CS_KLATE_MOST, chunks that n - k does not divide. */
cs_status cs_late_number_choose(const cs_scenario *scenario, double one_s, cs_late_number *number,
                                cs_error *err);

/* The plan of a chosen number, which is not 1. The schedule is made for it. */
cs_status cs_late_number_plan(const cs_scenario *scenario, cs_late_number *number, cs_plan *plan,
                              cs_error *err);

/* The stream. `{0}` may be closed. */
typedef struct cs_late_stream {
    cs_several  several;
    cs_fallback baseline;
} cs_late_stream;

cs_status cs_late_stream_open(cs_late_stream *stream, const cs_scenario *scenario,
                              const cs_late_number *number, cs_error *err);
void      cs_late_stream_next(cs_late_stream *stream, cs_block *block);
void      cs_late_stream_close(cs_late_stream *stream);

/* The baseline's closed form; NAN with several late ranks, who overlap as they come. */
double cs_late_number_closed_form_s(const cs_scenario *scenario, const cs_late_number *number);

#endif
