/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cs/arrivals.h"
#include "base/alloc.h"

#include <math.h>

void cs_arrival_trace_free(cs_arrival_trace *trace)
{
    cs_free(trace->arrival_s);
    cs_free(trace->inside_s);
    cs_free(trace->bytes);
    *trace = (cs_arrival_trace){0};
}

uint32_t cs_last_of_arrivals(const double *arrival_s, uint32_t n_ranks)
{
    uint32_t last = 0;

    for (uint32_t r = 1; r < n_ranks; r++) {
        last = arrival_s[r] >= arrival_s[last] ? r : last;
    }
    return last;
}

double cs_behind_others_s(const double *arrival_s, uint32_t n_ranks, uint32_t rank)
{
    double others_s = 0;

    for (uint32_t r = 0; r < n_ranks; r++) {
        others_s = r == rank ? others_s : fmax(others_s, arrival_s[r]);
    }
    return arrival_s[rank] - others_s;
}
