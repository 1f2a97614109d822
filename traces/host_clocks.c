/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "traces/host_clocks.h"

#include "base/alloc.h"
#include "base/statistics.h"

#include <math.h>

#define TO_SIGMA 1.4826 /* median of |x| of a normal variable to its standard deviation */

/* The work of one call of cs_host_clocks_set(). */
typedef struct setting {
    const cs_call_ends *ends;
    cs_host_clocks     *clocks;
    uint32_t           *by_host;          /* [n_ranks] the ranks, host by host */
    uint32_t           *of_host;          /* [n_hosts + 1] where those of a host begin in that */
    double             *x, *y;            /* [n_calls] */
    double             *scratch;          /* [n_calls or n_ranks] */
    double             *off_s;            /* [n_ranks][n_calls] */
    double             *vary_s, *apart_s; /* [n_ranks] */
    cs_error           *err;
} setting;

/* The ranks of each host, by counting. */
static void sort_by_host(setting *s)
{
    const cs_call_ends *ends = s->ends;

    for (uint32_t i = 0; i < ends->n_ranks; i++) {
        s->of_host[ends->host[i] + 2]++;
    }
    for (size_t h = 2; h < s->clocks->n_hosts + 2; h++) {
        s->of_host[h] += s->of_host[h - 1];
    }
    for (uint32_t i = 0; i < ends->n_ranks; i++) {
        s->by_host[s->of_host[ends->host[i] + 1]++] = i;
    }
}

static double middle_of(double *x, size_t n)
{
    cs_sort_samples(x, n);
    return cs_estimate_quantile(x, n, 0.5, 0).value;
}

/* The earlier ones of values that are sorted: a quarter, of four the first. */
static double early_of(const double *sorted, size_t n)
{
    return sorted[(n - 1) / 4];
}

/* When the earlier ranks of a host left call `k`; not the middle of them, which would be moved by
 * one of two that always leaves late. NAN: not known. */
static double host_end_s(const setting *s, size_t k, uint32_t host)
{
    const double *end_s   = &s->ends->end_s[k * s->ends->n_ranks];
    size_t        n_known = 0;

    for (uint32_t i = s->of_host[host]; i < s->of_host[host + 1]; i++) {
        if (!isnan(end_s[s->by_host[i]])) {
            s->scratch[n_known++] = end_s[s->by_host[i]];
        }
    }
    cs_sort_samples(s->scratch, n_known);
    return n_known > 0 ? early_of(s->scratch, n_known) : (double)NAN;
}

/* Offset and drift of a clock from its differences `y` at readings `x`: the median of the slopes
 * between samples that are half of them apart (Theil and Sen, over the pairs that say most), then
 * of what is left. `scratch` has room for n. */
static void fit_clock(const double *x, const double *y, size_t n, double *scratch, double *offset_p,
                      double *drift_p)
{
    size_t half = n / 2, n_slopes = 0;

    for (size_t i = 0; i + half < n && half > 0; i++) {
        double dx = x[i + half] - x[i];
        if (dx > 0) {
            scratch[n_slopes++] = (y[i + half] - y[i]) / dx;
        }
    }
    *drift_p = n_slopes >= 4 ? middle_of(scratch, n_slopes) : 0;
    for (size_t i = 0; i < n; i++) {
        scratch[i] = y[i] - *drift_p * x[i];
    }
    *offset_p = middle_of(scratch, n);
}

/* All clocks against that of the first rank's host. */
static void set_clocks(setting *s)
{
    cs_host_clocks *clocks = s->clocks;

    for (uint32_t h = 0; h < clocks->n_hosts; h++) {
        bool is_empty       = s->of_host[h] == s->of_host[h + 1];
        clocks->offset_s[h] = is_empty ? (double)NAN : 0;
        clocks->drift[h]    = clocks->offset_s[h];
        if (h == clocks->reference || is_empty) {
            continue;
        }
        size_t n_known = 0;
        for (size_t k = 0; k < s->ends->n_calls; k++) {
            s->x[n_known] = host_end_s(s, k, h);
            s->y[n_known] = s->x[n_known] - host_end_s(s, k, clocks->reference);
            n_known += isnan(s->y[n_known]) ? 0 : 1;
        }
        if (n_known > 0) {
            fit_clock(s->x, s->y, n_known, s->scratch, &clocks->offset_s[h], &clocks->drift[h]);
        }
    }
}

/* How far ranks leave behind the earlier ones in each call. */
static void find_ends_apart(setting *s)
{
    const cs_call_ends *ends = s->ends;

    for (size_t k = 0; k < ends->n_calls; k++) {
        size_t n_known = 0;
        for (uint32_t i = 0; i < ends->n_ranks; i++) {
            double end_s =
                cs_host_clocks_read(s->clocks, ends->host[i], ends->end_s[k * ends->n_ranks + i]);
            s->off_s[i * ends->n_calls + k] = end_s;
            if (!isnan(end_s)) {
                s->scratch[n_known++] = end_s;
            }
        }
        if (ends->n_ranks > 2) { /* of two, the earlier one is now this, now that */
            cs_sort_samples(s->scratch, n_known);
        }
        for (uint32_t i = 0; i < ends->n_ranks; i++) {
            s->off_s[i * ends->n_calls + k] -= early_of(s->scratch, n_known);
        }
    }
}

/* The middle of what is known of values, by their size, or of the differences of neighbours. */
static double middle_size(const double *x, size_t n, bool of_neighbours, double *scratch)
{
    size_t n_known = 0;

    for (size_t k = of_neighbours; k < n; k++) {
        double size = fabs(of_neighbours ? (x[k] - x[k - 1]) / sqrt(2) : x[k]);
        if (!isnan(size)) {
            scratch[n_known++] = size;
        }
    }
    return n_known > 0 ? middle_of(scratch, n_known) : 0;
}

/* How far ends are apart of ranks that leave together: the larger one of how they vary from call to
 * call, and of how far most are behind the early ones. A rank that always leaves late is not in it:
 * of two ranks, the better one says how far they are apart. */
static void find_error(setting *s, double resolution_s)
{
    size_t n = s->ends->n_calls, n_ranks = s->ends->n_ranks;

    find_ends_apart(s);
    for (uint32_t i = 0; i < n_ranks; i++) {
        s->vary_s[i]  = middle_size(&s->off_s[i * n], n, true, s->scratch);
        s->apart_s[i] = middle_size(&s->off_s[i * n], n, false, s->scratch);
    }
    cs_sort_samples(s->vary_s, n_ranks);
    cs_sort_samples(s->apart_s, n_ranks);
    s->clocks->error_s =
        fmax(TO_SIGMA * fmax(s->vary_s[n_ranks / 2], s->apart_s[(n_ranks - 1) / 2]), resolution_s);
}

static cs_status make_room(setting *s)
{
    size_t n = s->ends->n_calls, n_ranks = s->ends->n_ranks, n_hosts = s->clocks->n_hosts;

    s->clocks->offset_s = CS_NEW(double, n_hosts);
    s->clocks->drift    = CS_NEW(double, n_hosts);
    s->by_host          = CS_NEW(uint32_t, n_ranks);
    s->of_host          = CS_NEW(uint32_t, n_hosts + 2);
    s->x                = CS_NEW(double, n);
    s->y                = CS_NEW(double, n);
    s->scratch          = CS_NEW(double, n > n_ranks ? n : n_ranks);
    s->off_s            = CS_NEW(double, n *n_ranks);
    s->vary_s           = CS_NEW(double, n_ranks);
    s->apart_s          = CS_NEW(double, n_ranks);
    return s->clocks->offset_s != NULL && s->clocks->drift != NULL && s->by_host != NULL &&
                   s->of_host != NULL && s->x != NULL && s->y != NULL && s->scratch != NULL &&
                   s->off_s != NULL && s->vary_s != NULL && s->apart_s != NULL
               ? CS_OK
               : CS_NO_MEMORY(s->err, "the clocks of a log");
}

cs_status cs_host_clocks_set(const cs_call_ends *ends, size_t n_hosts, double resolution_s,
                             cs_host_clocks *clocks_p, cs_error *err)
{
    cs_host_clocks clocks = {.n_hosts = n_hosts, .reference = ends->host[0]};
    setting        s      = {.ends = ends, .clocks = &clocks, .err = err};
    cs_status      status = make_room(&s);

    if (status == CS_OK) {
        sort_by_host(&s);
        set_clocks(&s);
        find_error(&s, resolution_s);
        *clocks_p = clocks;
    } else {
        cs_host_clocks_free(&clocks);
    }
    cs_free(s.by_host);
    cs_free(s.of_host);
    cs_free(s.x);
    cs_free(s.y);
    cs_free(s.scratch);
    cs_free(s.off_s);
    cs_free(s.vary_s);
    cs_free(s.apart_s);
    return status;
}

void cs_host_clocks_note(const cs_host_clocks *clocks, char *const *names, size_t most,
                         cs_text *text)
{
    char   name[64], reference[64];
    size_t n_noted = 0;

    cs_plain_text(reference, sizeof reference, names[clocks->reference]);
    for (size_t h = 0; h < clocks->n_hosts && n_noted < most; h++) {
        if (h == clocks->reference || isnan(clocks->offset_s[h])) {
            continue;
        }
        cs_plain_text(name, sizeof name, names[h]);
        cs_text_add(text, "clock of %s: %.6g s %s %s, %.3g ppm %s; set by the ends of the calls\n",
                    name, fabs(clocks->offset_s[h]),
                    clocks->offset_s[h] < 0 ? "behind" : "ahead of", reference,
                    fabs(clocks->drift[h]) * 1e6, clocks->drift[h] < 0 ? "slow" : "fast");
        n_noted++;
    }
}

void cs_host_clocks_free(cs_host_clocks *clocks)
{
    cs_free(clocks->offset_s);
    cs_free(clocks->drift);
    *clocks = (cs_host_clocks){0};
}
