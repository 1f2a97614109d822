/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "traces/skew.h"

#include "base/alloc.h"

#include <math.h>
#include <stdbool.h>

static uint32_t last_of_call(const cs_arrival_trace *trace, size_t call)
{
    return cs_last_of_arrivals(&trace->arrival_s[call * trace->n_ranks], trace->n_ranks);
}

/* How far a rank is behind the last of the others. */
static double behind_others_s(const cs_arrival_trace *trace, size_t call, uint32_t rank)
{
    return cs_behind_others_s(&trace->arrival_s[call * trace->n_ranks], trace->n_ranks, rank);
}

static void find_straggler(const cs_arrival_trace *trace, cs_skew *skew)
{
    size_t   n_same = 0;
    uint32_t before = 0;

    for (size_t c = 0; c < trace->n_calls; c++) {
        uint32_t last = last_of_call(trace, c);
        skew->ranks[last].n_last++;
        n_same += c > 0 && last == before;
        before = last;
    }
    for (uint32_t r = 1; r < trace->n_ranks; r++) {
        bool is_more    = skew->ranks[r].n_last > skew->ranks[skew->straggler].n_last;
        skew->straggler = is_more ? r : skew->straggler;
    }
    skew->last_ratio = (double)skew->ranks[skew->straggler].n_last / (double)trace->n_calls;
    skew->repeat_ratio =
        trace->n_calls > 1 ? (double)n_same / (double)(trace->n_calls - 1) : (double)NAN;
}

/* The values sorted are left in `sorted`. */
static cs_spread spread_of(const double *values, size_t n, double *sorted)
{
    cs_spread spread;

    cs_spread_of(values, n, 0, 0, sorted, &spread);
    return spread;
}

/* `last_s`: the last arrival of each call; `values` has room for as many. */
static void describe_ranks(const cs_arrival_trace *trace, const double *last_s, cs_skew *skew,
                           double *values)
{
    for (uint32_t r = 0; r < trace->n_ranks; r++) {
        double wait_s = 0;
        for (size_t c = 0; c < trace->n_calls; c++) {
            values[c] = cs_trace_arrival(trace, c, r);
            wait_s += (last_s[c] - values[c]) / (double)trace->n_calls;
        }
        skew->ranks[r].arrival_s   = spread_of(values, trace->n_calls, skew->delays_s);
        skew->ranks[r].wait_mean_s = wait_s;
    }
}

static void describe_calls(const cs_arrival_trace *trace, const double *last_s, cs_skew *skew,
                           double *values)
{
    size_t n = trace->n_calls;

    for (size_t c = 0; c < n; c++) {
        values[c] = behind_others_s(trace, c, skew->straggler);
    }
    skew->straggler_delay_s = spread_of(values, n, skew->delays_s);
    skew->spread_s          = spread_of(last_s, n, skew->delays_s);
    for (size_t c = 0; c < n; c++) {
        values[c] = behind_others_s(trace, c, last_of_call(trace, c));
    }
    skew->delay_s = spread_of(values, n, skew->delays_s);
}

static void describe_inside(const cs_arrival_trace *trace, cs_skew *skew, double *values,
                            double *sorted)
{
    skew->zero_wait_s  = cs_spread_none();
    skew->end_spread_s = trace->inside_s != NULL ? 0 : (double)NAN;
    for (size_t c = 0; c < trace->n_calls && trace->inside_s != NULL; c++) {
        const double *inside_s = &trace->inside_s[c * trace->n_ranks];
        double        first_s = (double)INFINITY, last_s = 0, least_s = (double)INFINITY;
        for (uint32_t r = 0; r < trace->n_ranks; r++) {
            double end_s = cs_trace_arrival(trace, c, r) + inside_s[r];
            first_s      = fmin(first_s, end_s);
            last_s       = fmax(last_s, end_s);
            least_s      = fmin(least_s, inside_s[r]);
        }
        values[c]          = least_s;
        skew->end_spread_s = fmax(skew->end_spread_s, last_s - first_s);
    }
    if (trace->inside_s != NULL) {
        skew->zero_wait_s = spread_of(values, trace->n_calls, sorted);
    }
}

cs_status cs_skew_compute(const cs_arrival_trace *trace, cs_skew *skew_p, cs_error *err)
{
    cs_skew skew   = {.n_ranks  = trace->n_ranks,
                      .n_calls  = trace->n_calls,
                      .ranks    = CS_NEW(cs_skew_rank, trace->n_ranks),
                      .delays_s = CS_NEW(double, trace->n_calls)};
    double *values = CS_NEW(double, trace->n_calls), *last_s = CS_NEW(double, trace->n_calls);

    if (skew.ranks == NULL || skew.delays_s == NULL || values == NULL || last_s == NULL) {
        cs_free(values);
        cs_free(last_s);
        cs_skew_free(&skew);
        return CS_NO_MEMORY(err, "the skew of %zu calls", trace->n_calls);
    }
    for (size_t c = 0; c < trace->n_calls; c++) {
        last_s[c] = cs_trace_arrival(trace, c, last_of_call(trace, c));
    }
    find_straggler(trace, &skew);
    describe_ranks(trace, last_s, &skew, values);
    describe_calls(trace, last_s, &skew, values);
    describe_inside(trace, &skew, values, last_s);
    cs_free(values);
    cs_free(last_s);
    *skew_p = skew;
    return CS_OK;
}

void cs_skew_free(cs_skew *skew)
{
    cs_free(skew->ranks);
    cs_free(skew->delays_s);
    *skew = (cs_skew){0};
}
