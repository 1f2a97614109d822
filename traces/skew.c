/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "traces/skew.h"

#include "base/alloc.h"

#include <gsl/gsl_cdf.h>
#include <limits.h>
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

/* How long after the last of the others a rank leaves. */
static double leaves_behind_others_s(const cs_arrival_trace *trace, size_t call, uint32_t rank)
{
    const double *inside_s = &trace->inside_s[call * trace->n_ranks];
    double        others_s = -(double)INFINITY;

    for (uint32_t r = 0; r < trace->n_ranks; r++) {
        if (r != rank) {
            others_s = fmax(others_s, cs_trace_arrival(trace, call, r) + inside_s[r]);
        }
    }
    return cs_trace_arrival(trace, call, rank) + inside_s[rank] - others_s;
}

const char *cs_late_cause_name(cs_late_cause cause)
{
    static const char *const names[CS_LATE_CAUSES] = {
        [CS_LATE_HOST] = "host", [CS_LATE_GPU] = "gpu", [CS_LATE_NETWORK] = "network"};

    return names[cause];
}

const char *cs_late_cause_words(cs_late_cause cause)
{
    static const char *const words[CS_LATE_CAUSES] = {
        [CS_LATE_UNKNOWN] = "host or GPU, the trace does not tell",
        [CS_LATE_HOST]    = "its host makes the call late",
        [CS_LATE_GPU]     = "its GPU is late, the host makes the call in time",
        [CS_LATE_NETWORK] = "its network is slow",
    };

    return words[cause];
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
        values[c] = skew->ranks[skew->straggler].cause == CS_LATE_NETWORK
                        ? leaves_behind_others_s(trace, c, skew->straggler)
                        : behind_others_s(trace, c, skew->straggler);
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

/* ---- why ---- */

#define LATE_SCATTERS 3.0  /* so many times as far behind the others as the early ones are apart */
#define LATE_TAILS    2.5  /* ... and as ranks that are seldom late ever are */
#define LATE_ERRORS   2.0  /* ... and as the clocks' error */
#define LATE_RATIO    0.02 /* of the calls: seldom late is not a cause */
#define LATE_TIMES    3.0  /* as often as the ranks that are seldom late */
#define LATE_CHANCE   0.01 /* that it is chance, for all ranks together */
#define TAIL          0.95 /* of the calls */

/* Times of one call, of one kind, and the same sorted. */
typedef struct moment {
    bool    is_known;
    double *at_s, *sorted_s; /* [n_ranks] */
    double  apart_s;         /* how far the early ones are apart, in most calls */
    double  tail_s;          /* ranks that are seldom late are seldom farther behind */
} moment;

enum { CALLED, CAME, LEFT, MOMENTS };

/* So many calls, and times of ranks in them, say what most calls are like. */
enum { APART_CALLS = 4096, APART_TIMES = 1 << 22 };

/* The lower quartile of sorted values (type 7, as in base/statistics.h) without the one at
 * `left_out`. */
static double quarter_without(const double *sorted, uint32_t n, uint32_t left_out)
{
    double   at  = 0.25 * (double)(n - 2);
    uint32_t low = (uint32_t)at, high = low + 1 < n - 1 ? low + 1 : low;
    double   part = at - (double)low;

    low += low >= left_out;
    high += high >= left_out;
    return sorted[low] + part * (sorted[high] - sorted[low]);
}

static uint32_t place_of(const double *sorted, uint32_t n, double value)
{
    uint32_t low = 0, high = n;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (sorted[middle] < value) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* How far a rank is behind the first quarter of the others. */
static double behind_s(const moment *m, uint32_t n, uint32_t rank)
{
    double at_s = m->at_s[rank];
    return at_s - quarter_without(m->sorted_s, n, place_of(m->sorted_s, n, at_s));
}

static bool is_late(const moment *m, double by_s, double error_s)
{
    return m->is_known && by_s > 0 && by_s > LATE_SCATTERS * m->apart_s &&
           by_s > LATE_TAILS * m->tail_s && by_s > LATE_ERRORS * error_s;
}

/* The times of a call, of every kind that is known. */
static void fill_moments(const cs_arrival_trace *trace, size_t call, moment m[MOMENTS])
{
    const size_t from = call * trace->n_ranks;

    for (uint32_t r = 0; r < trace->n_ranks; r++) {
        double came_s     = trace->arrival_s[from + r];
        m[CAME].at_s[r]   = came_s;
        m[CALLED].at_s[r] = trace->queued_s != NULL ? came_s - trace->queued_s[from + r] : 0;
        m[LEFT].at_s[r]   = trace->has_ends ? came_s + trace->inside_s[from + r] : 0;
    }
    for (int k = 0; k < MOMENTS; k++) {
        for (uint32_t r = 0; r < trace->n_ranks && m[k].is_known; r++) {
            m[k].sorted_s[r] = m[k].at_s[r];
        }
        if (m[k].is_known) {
            cs_sort_samples(m[k].sorted_s, trace->n_ranks);
        }
    }
}

/* Calls that say what most calls are like. */
static size_t n_usual_calls(const cs_arrival_trace *trace)
{
    size_t n = APART_TIMES / trace->n_ranks;

    n = n < APART_CALLS ? n : APART_CALLS;
    n = n > 0 ? n : 1;
    return trace->n_calls < n ? trace->n_calls : n;
}

/* From how far each rank is behind in the usual calls, [n_ranks][n_calls]: how far ranks are that
 * are seldom late. A quarter of the ranks are taken to be such: of two ranks, the better one. */
static double tail_of(double *behind, uint32_t n_ranks, size_t n_calls)
{
    for (uint32_t r = 0; r < n_ranks; r++) {
        double *of_rank = &behind[r * n_calls];
        cs_sort_samples(of_rank, n_calls);
        behind[r] = cs_estimate_quantile(of_rank, n_calls, TAIL, 0).value;
    }
    cs_sort_samples(behind, n_ranks);
    return fmax(behind[(n_ranks - 1) / 4], 0);
}

/* How far the earlier half of the ranks is apart (the middle over all calls; of two ranks the
 * earlier one is alone), and how far behind ranks are that are seldom late. */
static cs_status find_usual(const cs_arrival_trace *trace, moment m[MOMENTS], double *scratch,
                            cs_error *err)
{
    const uint32_t n = trace->n_ranks, half = n >= 4 ? n / 2 - 1 : 1;
    const size_t   n_samples = n_usual_calls(trace);
    double        *behind    = CS_NEW(double, n *n_samples);

    if (behind == NULL) {
        return CS_NO_MEMORY(err, "the usual skew of a trace");
    }
    for (int k = 0; k < MOMENTS; k++) {
        for (size_t c = 0; c < n_samples && m[k].is_known; c++) {
            fill_moments(trace, c * trace->n_calls / n_samples, m);
            scratch[c] = n > 2 ? m[k].sorted_s[half] - m[k].sorted_s[0] : 0;
            for (uint32_t r = 0; r < n; r++) {
                behind[r * n_samples + c] = behind_s(&m[k], n, r);
            }
        }
        if (m[k].is_known) {
            cs_sort_samples(scratch, n_samples);
            m[k].apart_s = cs_estimate_quantile(scratch, n_samples, 0.5, 0).value;
            m[k].tail_s  = tail_of(behind, n, n_samples);
        }
    }
    cs_free(behind);
    return CS_OK;
}

/* Who made it come so late? Not to be told where hosts make calls at times that are as far apart,
 * or are not known better. */
static cs_late_cause host_or_gpu(const moment *called, double called_s, double came_s)
{
    if (!called->is_known || came_s <= LATE_SCATTERS * called->apart_s) {
        return CS_LATE_UNKNOWN;
    }
    return called_s >= came_s / 2 ? CS_LATE_HOST : CS_LATE_GPU;
}

/* Count the call for a rank. */
static void judge(const cs_arrival_trace *trace, const moment m[MOMENTS], uint32_t r,
                  cs_skew_rank *rank)
{
    const uint32_t n        = trace->n_ranks;
    const double   share    = 1 / (double)trace->n_calls;
    const double   called_s = m[CALLED].is_known ? behind_s(&m[CALLED], n, r) : (double)NAN;
    const double   came_s   = behind_s(&m[CAME], n, r);
    const double   left_s   = m[LEFT].is_known ? behind_s(&m[LEFT], n, r) : (double)NAN;
    cs_late_cause  cause    = CS_LATE_NOT;

    if (is_late(&m[CAME], came_s, trace->clock_error_s)) {
        cause = host_or_gpu(&m[CALLED], called_s, came_s);
    } else if (is_late(&m[LEFT], left_s, trace->clock_error_s)) {
        cause = CS_LATE_NETWORK;
    }
    rank->n_late[cause]++;
    rank->called_s += called_s * share;
    rank->came_s += came_s * share;
    rank->left_s += left_s * share;
}

/* How often must a rank be late to be no matter of chance? From the sorted counts of all: the lower
 * half is late by chance, and so is each next one as long as a Poisson variable with the mean of
 * those in front of it (and one more call, because none is not never) may well be so large. */
static double least_count(const double *counts, uint32_t n_ranks)
{
    double sum = 1;

    for (uint32_t m = 0; m < n_ranks; m++) {
        double   mean  = m > 0 ? sum / (double)m : 0;
        unsigned count = counts[m] < (double)UINT_MAX ? (unsigned)counts[m] : UINT_MAX;
        if (2 * m >= n_ranks && count > 0 &&
            gsl_cdf_poisson_Q(count - 1, mean) < LATE_CHANCE / (double)n_ranks) {
            return counts[m];
        }
        sum += counts[m];
    }
    return (double)INFINITY;
}

/* Of most calls in which the rank is late, if it is late at least so often. */
static cs_late_cause cause_of(const cs_skew_rank *rank, size_t n_calls, double least)
{
    cs_late_cause most = CS_LATE_UNKNOWN;

    for (cs_late_cause c = CS_LATE_UNKNOWN; c < CS_LATE_CAUSES; c++) {
        most = rank->n_late[c] > rank->n_late[most] ? c : most;
    }
    return (double)(n_calls - rank->n_late[CS_LATE_NOT]) >= least ? most : CS_LATE_NOT;
}

static void find_causes(const cs_arrival_trace *trace, cs_skew *skew, moment m[MOMENTS],
                        double *counts)
{
    for (size_t c = 0; c < trace->n_calls; c++) {
        fill_moments(trace, c, m);
        for (uint32_t r = 0; r < trace->n_ranks; r++) {
            judge(trace, m, r, &skew->ranks[r]);
        }
    }
    for (uint32_t r = 0; r < trace->n_ranks; r++) {
        counts[r] = (double)(trace->n_calls - skew->ranks[r].n_late[CS_LATE_NOT]);
    }
    cs_sort_samples(counts, trace->n_ranks);
    double usual = cs_estimate_quantile(counts, trace->n_ranks, 0.25, 0).value;
    double least = least_count(counts, trace->n_ranks);
    usual        = trace->n_ranks == 2 ? counts[0] : usual;
    least        = fmax(least, fmax(LATE_RATIO * (double)trace->n_calls, LATE_TIMES * usual));
    for (uint32_t r = 0; r < trace->n_ranks; r++) {
        skew->ranks[r].cause = cause_of(&skew->ranks[r], trace->n_calls, least);
    }
}

void cs_skew_call(const cs_arrival_trace *trace, size_t call, bool is_left, double *late_s,
                  double *sorted_s)
{
    const uint32_t n    = trace->n_ranks;
    const size_t   from = call * n;

    for (uint32_t r = 0; r < n; r++) {
        late_s[r]   = trace->arrival_s[from + r] + (is_left ? trace->inside_s[from + r] : 0);
        sorted_s[r] = late_s[r];
    }
    cs_sort_samples(sorted_s, n);
    for (uint32_t r = 0; r < n; r++) {
        late_s[r] -= quarter_without(sorted_s, n, place_of(sorted_s, n, late_s[r]));
    }
}

/* How the lateness of the straggler goes; `late_s` has room for a value of every call. */
static cs_status add_pattern(const cs_arrival_trace *trace, cs_skew *skew, double *late_s,
                             cs_error *err)
{
    const bool is_left = skew->ranks[skew->straggler].cause == CS_LATE_NETWORK;
    double    *call_s  = CS_NEW(double, 2 * (size_t)trace->n_ranks);

    if (call_s == NULL) {
        return CS_NO_MEMORY(err, "the pattern of a skew");
    }
    for (size_t c = 0; c < trace->n_calls; c++) {
        cs_skew_call(trace, c, is_left, call_s, call_s + trace->n_ranks);
        late_s[c] = call_s[skew->straggler];
    }
    cs_free(call_s);
    return cs_pattern_find(late_s, trace->n_calls, &skew->pattern, err);
}

/* `scratch` has room for a value of every call. */
static cs_status add_causes(const cs_arrival_trace *trace, cs_skew *skew, double *scratch,
                            cs_error *err)
{
    const size_t n          = trace->n_ranks;
    double      *room       = CS_NEW(double, (2 * MOMENTS + 1) * n);
    moment       m[MOMENTS] = {
              {.is_known = trace->queued_s != NULL}, {.is_known = true}, {.is_known = trace->has_ends}};

    if (room == NULL) {
        return CS_NO_MEMORY(err, "the causes of a skew");
    }
    for (size_t k = 0; k < MOMENTS; k++) {
        m[k].at_s     = room + 2 * k * n;
        m[k].sorted_s = m[k].at_s + n;
    }
    cs_status status = find_usual(trace, m, scratch, err);
    if (status == CS_OK) {
        find_causes(trace, skew, m, room + (size_t)(2 * MOMENTS) * n);
    }
    cs_free(room);
    return status;
}

/* ---- servers and rails ---- */

/* What the ranks of each part have in common; `part_of` says of which one each rank is. */
static cs_skew_part *describe_split(const cs_arrival_trace *trace, const cs_skew *skew,
                                    const uint32_t *part_of, uint32_t n_parts)
{
    cs_skew_part *parts  = CS_NEW(cs_skew_part, n_parts);
    double       *values = CS_NEW(double, 2 * (size_t)trace->n_ranks);

    for (uint32_t p = 0; p < n_parts && parts != NULL && values != NULL; p++) {
        cs_skew_part *part                       = &parts[p];
        uint32_t      n_by_cause[CS_LATE_CAUSES] = {0};
        for (uint32_t r = 0; r < trace->n_ranks; r++) {
            const cs_skew_rank *rank = &skew->ranks[r];
            if (part_of[r] != p) {
                continue;
            }
            values[part->n_ranks]                    = rank->came_s;
            values[trace->n_ranks + part->n_ranks++] = rank->left_s;
            part->n_late += skew->n_calls - rank->n_late[CS_LATE_NOT];
            n_by_cause[rank->cause]++;
        }
        if (part->n_ranks > 0) {
            cs_sort_samples(values, part->n_ranks);
            part->came_s = cs_estimate_quantile(values, part->n_ranks, 0.5, 0).value;
            part->left_s = (double)NAN;
        }
        if (part->n_ranks > 0 && trace->has_ends) {
            cs_sort_samples(values + trace->n_ranks, part->n_ranks);
            part->left_s =
                cs_estimate_quantile(values + trace->n_ranks, part->n_ranks, 0.5, 0).value;
        }
        for (cs_late_cause c = CS_LATE_UNKNOWN; c < CS_LATE_CAUSES; c++) {
            part->cause = 2 * n_by_cause[c] > part->n_ranks ? c : part->cause;
        }
    }
    cs_free(values);
    if (values == NULL) {
        cs_free(parts);
        return NULL;
    }
    return parts;
}

/* The place of each rank among those of its server; false where servers differ in size. */
static bool find_rails(const cs_arrival_trace *trace, uint32_t *rail_of, uint32_t *n_of_server)
{
    for (uint32_t r = 0; r < trace->n_ranks; r++) {
        rail_of[r] = n_of_server[trace->server[r]]++;
    }
    for (uint32_t v = 1; v < trace->n_servers; v++) {
        if (n_of_server[v] != n_of_server[0]) {
            return false;
        }
    }
    return n_of_server[0] > 1;
}

static cs_status describe_parts(const cs_arrival_trace *trace, cs_skew *skew, cs_error *err)
{
    if (trace->server == NULL || trace->n_servers < 2) {
        return CS_OK;
    }
    uint32_t *rail_of     = CS_NEW(uint32_t, trace->n_ranks);
    uint32_t *n_of_server = CS_NEW(uint32_t, trace->n_servers);
    bool      is_whole    = rail_of != NULL && n_of_server != NULL;

    if (is_whole) {
        skew->n_servers = trace->n_servers;
        skew->servers   = describe_split(trace, skew, trace->server, trace->n_servers);
        is_whole        = skew->servers != NULL;
    }
    if (is_whole && find_rails(trace, rail_of, n_of_server)) {
        skew->n_rails = n_of_server[0];
        skew->rails   = describe_split(trace, skew, rail_of, skew->n_rails);
        is_whole      = skew->rails != NULL;
    }
    cs_free(rail_of);
    cs_free(n_of_server);
    return is_whole ? CS_OK : CS_NO_MEMORY(err, "the servers of a skew");
}

/* Where the rank that is last most often is not late by any measure, but others are: the one of
 * them that is the latest. Every rank is the last now and then. */
static void find_late_rank(const cs_arrival_trace *trace, cs_skew *skew)
{
    uint32_t worst = skew->straggler;

    for (uint32_t r = 0; r < skew->n_ranks; r++) {
        cs_late_cause cause = skew->ranks[r].cause;
        if (cause == CS_LATE_NOT || cause == CS_LATE_NETWORK) {
            continue;
        }
        if (skew->ranks[worst].cause == CS_LATE_NOT ||
            skew->ranks[r].came_s > skew->ranks[worst].came_s) {
            worst = r;
        }
    }
    if (skew->ranks[skew->straggler].cause == CS_LATE_NOT ||
        skew->ranks[skew->straggler].cause == CS_LATE_NETWORK) {
        skew->straggler  = worst;
        skew->last_ratio = (double)skew->ranks[worst].n_last / (double)trace->n_calls;
    }
}

/* Where nobody comes late: the rank that leaves late most often. */
static void find_slow_network(const cs_arrival_trace *trace, cs_skew *skew)
{
    uint32_t worst = 0;

    for (uint32_t r = 0; r < skew->n_ranks; r++) {
        cs_late_cause cause = skew->ranks[r].cause;
        if (cause != CS_LATE_NOT && cause != CS_LATE_NETWORK) {
            return;
        }
        worst = skew->ranks[r].n_late[CS_LATE_NETWORK] > skew->ranks[worst].n_late[CS_LATE_NETWORK]
                    ? r
                    : worst;
    }
    if (skew->ranks[worst].cause == CS_LATE_NETWORK) {
        skew->straggler = worst;
        skew->last_ratio =
            (double)skew->ranks[worst].n_late[CS_LATE_NETWORK] / (double)trace->n_calls;
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
    cs_status status = add_causes(trace, &skew, values, err);
    if (status == CS_OK) {
        status = describe_parts(trace, &skew, err);
    }
    if (status == CS_OK) {
        find_late_rank(trace, &skew);
        find_slow_network(trace, &skew);
        status = add_pattern(trace, &skew, values, err);
    }
    if (status != CS_OK) {
        cs_free(values);
        cs_free(last_s);
        cs_skew_free(&skew);
        return status;
    }
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
    cs_free(skew->servers);
    cs_free(skew->rails);
    *skew = (cs_skew){0};
}
