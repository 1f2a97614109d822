/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "algorithms/lib/nccl_diagnosis.h"

#include "base/alloc.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Where a band ends to be normal. With a baseline the machine's own habits count no more. */
typedef struct limits {
    double latency_low, latency_high, large_low, large_high;
} limits;
static const limits of_expected = {0.6, 1.6, 0.8, 1.3}, of_baseline = {0.75, 1.25, 1 / 1.07, 1.07};

#define LATENCY_BYTES ((uint64_t)64 << 10)
#define LARGE_BYTES   ((uint64_t)64 << 20)
#define RISING_BYTES  ((uint64_t)4 << 20) /* rates rise with sizes at least up to here */

static const double WITHIN_BOUND  = 0.98; /* printed times are rounded */
static const double COLLAPSED     = 0.6;  /* of the next smaller size's rate */
static const double FAR           = 2.5;
static const double SAME_NICS     = 0.13;
static const double SAME          = 0.1;
static const double NVLS_SLOWER   = 1.15;
static const double NVLS_SAME     = 0.08;
static const double MIDDLE_SLOWER = 1.6;

enum { ENOUGH_LATENCIES = 3, LAST_ROWS = 3, MIDDLE_ROWS = 3, MOST_NICS = 16 };

const char *cs_verdict_name(cs_verdict_kind kind)
{
    static const char *const names[] = {
#define X(id, name, next) [CS_VERDICT_##id] = name,
        CS_VERDICT_MAP(X)
#undef X
    };
    return names[kind];
}

const char *cs_verdict_next(cs_verdict_kind kind)
{
    static const char *const nexts[] = {
#define X(id, name, next) [CS_VERDICT_##id] = next,
        CS_VERDICT_MAP(X)
#undef X
    };
    return nexts[kind];
}

__attribute__((format(printf, 5, 6))) static void say(cs_diagnosis *d, cs_verdict_kind kind,
                                                      uint64_t from_bytes, uint64_t to_bytes,
                                                      const char *format, ...)
{
    cs_nccl_verdict *v = &d->verdicts[d->n_verdicts++];
    va_list          arguments;

    *v = (cs_nccl_verdict){.kind = kind, .from_bytes = from_bytes, .to_bytes = to_bytes};
    va_start(arguments, format);
    (void)vsnprintf(v->evidence, sizeof v->evidence, format, arguments);
    va_end(arguments);
}

/* ---- rows ---- */

static cs_status fill_row(const cs_diagnosis *d, cs_diagnosis_row *r, cs_error *err)
{
    const double bytes  = (double)r->bytes;
    const bool   is_p2p = d->collective == CS_ALLTOALL;
    double       us;

    if (is_p2p) {
        r->choice = (cs_nccl_choice){.protocol = CS_NCCL_SIMPLE};
        us        = cs_nccl_alltoall_us(d->cluster, bytes);
    } else if (cs_nccl_choose(&d->tuning, bytes, &r->choice)) {
        us = cs_nccl_time_us(&d->tuning, r->choice.algorithm, r->choice.protocol, bytes);
    } else {
        return CS_FAIL(err, CS_EINVAL, "--nccl-algo", "nothing is left that does %s here",
                       cs_collective_name(d->collective));
    }
    r->algorithm  = is_p2p ? "p2p" : cs_nccl_algorithm_names[r->choice.algorithm];
    r->protocol   = cs_nccl_protocol_names[r->choice.protocol];
    r->expected_s = us / 1e6;
    r->bound_s    = cs_nccl_bound_s(d->cluster, d->collective, bytes, d->tuning.nvls.channels >= 2);
    r->efficiency = r->bound_s / r->measured_s;
    r->ratio      = r->measured_s / (d->has_baseline ? r->baseline_s : r->expected_s);
    return CS_OK;
}

/* The median ratio of sizes in a band; NAN where there are fewer than `least`. */
static cs_status median_of(const cs_diagnosis *d, uint64_t from, uint64_t to, size_t least,
                           double *median_p, cs_error *err)
{
    double *ratios = CS_NEW(double, d->n_rows);
    size_t  n      = 0;

    if (ratios == NULL) {
        return CS_NO_MEMORY(err, "%zu rows", d->n_rows);
    }
    for (size_t i = 0; i < d->n_rows; i++) {
        bool counts =
            d->rows[i].bytes >= from && d->rows[i].bytes <= to && !isnan(d->rows[i].ratio);
        if (counts) {
            ratios[n++] = d->rows[i].ratio;
        }
    }
    gsl_sort(ratios, 1, n);
    *median_p = n >= least && n > 0 ? gsl_stats_median_from_sorted_data(ratios, 1, n) : (double)NAN;
    cs_free(ratios);
    return CS_OK;
}

/* Where large sizes begin. */
static uint64_t first_large(const cs_diagnosis *d)
{
    const uint64_t last  = d->rows[d->n_rows - 1].bytes;
    const uint64_t least = last / 8 > LARGE_BYTES ? last / 8 : LARGE_BYTES;
    const size_t   third = d->n_rows > LAST_ROWS ? d->n_rows - LAST_ROWS : 0;

    return last >= least ? least : d->rows[third].bytes;
}

/* ---- verdicts ---- */

/* What the ratios are relative to, in "three times what ..". */
static const char *reference_of(const cs_diagnosis *d)
{
    return d->has_baseline ? "the baseline took" : "was expected";
}

static void find_impossible(cs_diagnosis *d)
{
    for (size_t i = 0; i < d->n_rows; i++) {
        const cs_diagnosis_row *r = &d->rows[i];
        if (r->measured_s < WITHIN_BOUND * r->bound_s) {
            say(d, CS_VERDICT_BOUND, r->bytes, r->bytes,
                "%.4g us, and no such servers need less than %.4g us", r->measured_s * 1e6,
                r->bound_s * 1e6);
            return;
        }
    }
}

static double rate(const cs_diagnosis_row *r)
{
    return (double)r->bytes / r->measured_s;
}

static bool find_collapse(cs_diagnosis *d)
{
    for (size_t i = 0; i + 1 < d->n_rows; i++) {
        const cs_diagnosis_row *r = &d->rows[i], *next = r + 1;
        if (r->bytes >= RISING_BYTES && next->ratio > FAR && rate(next) < COLLAPSED * rate(r)) {
            say(d, CS_VERDICT_COLLAPSE, next->bytes, d->rows[d->n_rows - 1].bytes,
                "the rate falls from %.4g to %.4g GB/s, %.3g times what %s", rate(r) / 1e9,
                rate(next) / 1e9, next->ratio, reference_of(d));
            return true;
        }
    }
    return false;
}

/* As if over fewer NICs? By what a ring over them would move. */
static bool find_nics(cs_diagnosis *d, uint64_t from)
{
    const cs_nccl_cluster  *c     = d->cluster;
    const cs_diagnosis_row *last  = &d->rows[d->n_rows - 1];
    const double            ranks = (double)c->servers * c->gpus;
    const double            times = d->collective == CS_ALLREDUCE ? 2 : 1;
    const double            GBps  = times * (ranks - 1) / ranks * rate(last) / 1e9;
    const double            nics = GBps / cs_nccl_nic_GBps(c), k = fmax(1, round(nics));

    if (c->servers == 1 || c->nics > MOST_NICS || !(2 * k <= c->nics) ||
        !(fabs(nics / k - 1) < SAME_NICS)) {
        return false;
    }
    say(d, CS_VERDICT_NICS, from, last->bytes, "as if %.0f GB/s came over %.0f of %u NICs", GBps, k,
        c->nics);
    return true;
}

/* Another algorithm whose time the last row has. */
static bool find_algorithm(cs_diagnosis *d, uint64_t from)
{
    const cs_diagnosis_row *last  = &d->rows[d->n_rows - 1];
    const cs_nccl_choice   *mine  = &last->choice;
    double                  least = SAME;
    cs_nccl_choice          found = *mine;

    for (cs_nccl_algorithm a = 0; a < CS_NCCL_ALGORITHMS; a++) {
        for (cs_nccl_protocol p = 0; p < CS_NCCL_PROTOCOLS; p++) {
            bool is_mine = a == mine->algorithm && p == mine->protocol;
            if (is_mine || d->tuning.cost[a][p].bandwidth_GBps <= 0) {
                continue;
            }
            double other_s = cs_nccl_time_us(&d->tuning, a, p, (double)last->bytes) / 1e6;
            double off     = fabs(last->measured_s / other_s - 1);
            if (off < least) {
                least = off;
                found = (cs_nccl_choice){.algorithm = a, .protocol = p};
            }
        }
    }
    if (found.algorithm == mine->algorithm && found.protocol == mine->protocol) {
        return false;
    }
    bool is_nvls = mine->algorithm == CS_NCCL_NVLS || mine->algorithm == CS_NCCL_NVLS_TREE;
    bool is_off  = is_nvls && found.algorithm == CS_NCCL_RING;
    say(d, is_off ? CS_VERDICT_NVLS_OFF : CS_VERDICT_WRONG_ALGORITHM, from, last->bytes,
        "%s/%s was expected, and the time is that of %s/%s", last->algorithm, last->protocol,
        cs_nccl_algorithm_names[found.algorithm], cs_nccl_protocol_names[found.protocol]);
    return true;
}

/* From which size on is every row slow? */
static uint64_t slow_from(const cs_diagnosis *d, double limit)
{
    size_t   i    = d->n_rows;
    uint64_t from = d->rows[d->n_rows - 1].bytes;

    while (i > 0 && !(d->rows[i - 1].ratio <= limit)) { /* sizes without a ratio say nothing */
        i--;
        from = isnan(d->rows[i].ratio) ? from : d->rows[i].bytes;
    }
    return from;
}

/* What it looks like is told by expected times: beside a baseline only if it is far from those. */
static void find_slow(cs_diagnosis *d, double limit, bool has_collapsed)
{
    const cs_diagnosis_row *end    = &d->rows[d->n_rows - 1];
    const bool              is_far = end->measured_s > of_expected.large_high * end->expected_s;
    const uint64_t          last = d->rows[d->n_rows - 1].bytes, from = slow_from(d, limit);
    const bool              is_p2p = d->collective == CS_ALLTOALL;

    if (is_far && !has_collapsed && !find_nics(d, from) && !is_p2p) {
        (void)find_algorithm(d, from);
    }
    say(d, CS_VERDICT_SLOW, from, last, "%.3g times what %s at large sizes", d->large,
        reference_of(d));
}

/* Behind one switch a ring's time is near that of NVLS. */
static void find_nvls_off(cs_diagnosis *d)
{
    const cs_diagnosis_row *last = &d->rows[d->n_rows - 1];

    if (d->cluster->servers > 1 || last->choice.algorithm != CS_NCCL_NVLS ||
        d->collective == CS_ALLTOALL || !(d->large > NVLS_SLOWER)) {
        return;
    }
    double ring_s =
        cs_nccl_time_us(&d->tuning, CS_NCCL_RING, CS_NCCL_SIMPLE, (double)last->bytes) / 1e6;
    if (fabs(last->measured_s / ring_s - 1) < NVLS_SAME) {
        say(d, CS_VERDICT_NVLS_OFF, first_large(d), last->bytes,
            "nvls was expected, and the time is that of ring/simple");
    }
}

static void find_middle(cs_diagnosis *d)
{
    size_t run = 0;

    for (size_t i = 0; i < d->n_rows; i++) {
        const cs_diagnosis_row *r         = &d->rows[i];
        bool                    is_middle = r->bytes > LATENCY_BYTES && r->bytes < LARGE_BYTES;
        run                               = is_middle && r->ratio > MIDDLE_SLOWER ? run + 1 : 0;
        if (run == MIDDLE_ROWS) {
            say(d, CS_VERDICT_MIDDLE, d->rows[i + 1 - MIDDLE_ROWS].bytes, r->bytes,
                "%.3g times what %s", r->ratio, reference_of(d));
            return;
        }
    }
}

static void find_verdicts(cs_diagnosis *d)
{
    const limits  *l     = d->has_baseline ? &of_baseline : &of_expected;
    const uint64_t first = d->rows[0].bytes, last = d->rows[d->n_rows - 1].bytes;
    const bool     is_slow = d->large > l->large_high;

    find_impossible(d);
    bool has_collapsed = find_collapse(d);
    if (is_slow) {
        find_slow(d, l->large_high, has_collapsed);
    } else if (!d->has_baseline) {
        find_nvls_off(d);
    }
    if (d->large < l->large_low) {
        say(d, CS_VERDICT_FAST, first_large(d), last, "%.3g times what %s at large sizes", d->large,
            reference_of(d));
    }
    if (d->latency > l->latency_high || d->latency < l->latency_low) {
        bool is_high = d->latency > l->latency_high;
        say(d, is_high ? CS_VERDICT_LATENCY_HIGH : CS_VERDICT_LATENCY_LOW, first,
            last < LATENCY_BYTES ? last : LATENCY_BYTES, "%.3g times what %s up to 64 KiB",
            d->latency, reference_of(d));
    }
    if (!is_slow) {
        find_middle(d);
    }
    if (d->n_verdicts == 0) {
        say(d, CS_VERDICT_NORMAL, first, last, "large sizes take %.3g times what %s", d->large,
            reference_of(d));
    }
}

cs_status cs_nccl_diagnose(cs_diagnosis *diagnosis, const cs_nccl_setting *setting, cs_error *err)
{
    cs_diagnosis *d = diagnosis;

    d->n_verdicts = 0;
    CS_TRY(cs_nccl_time_check(d->cluster, d->collective, err));
    if (d->collective == CS_ALLTOALL && setting->gpus_per_process > 1) {
        return CS_FAIL(err, CS_ENOTSUP, "--gpus-per-process",
                       "how long alltoall takes where a thread launches on %u GPUs (nccl-tests' "
                       "-g) is not known: accepted is 1",
                       setting->gpus_per_process);
    }
    cs_nccl_tune(d->cluster, setting, d->collective, &d->tuning);
    for (size_t i = 0; i < d->n_rows; i++) {
        CS_TRY(fill_row(d, &d->rows[i], err));
    }
    CS_TRY(median_of(d, 0, LATENCY_BYTES, ENOUGH_LATENCIES, &d->latency, err));
    CS_TRY(median_of(d, first_large(d), UINT64_MAX, 1, &d->large, err));
    if (isnan(d->large)) {
        return CS_FAIL(err, CS_EINVAL, "--baseline",
                       "has none of the log's sizes from %" PRIu64
                       " B on, which tell whether they are slow",
                       first_large(d));
    }
    find_verdicts(d);
    return CS_OK;
}
