/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a trace would have saved, against the closed forms of the StragglAR paper:
 *   ring                  2 (n-1) (alpha + s / n beta)
 *   pre-phase T           (n-2) tau with tau = alpha + s / (n-1) beta, from the last of the others
 * on stragglar             T - min(max(d, 0), T) + (n - 2 + log2 n) tau from the last arrival on,
 * if the presumed rank is last by d; with d = 0 if it is not last break-even delay      T + (n - 2
 * + log2 n) tau - ring
 */
#include "base/alloc.h"
#include "campaign/trace_whatif.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS = 8, CALLS = 6, LATE = 3 };

#define BYTES     ((uint64_t)56 << 20) /* divides by 7 and by 8 */
#define ALPHA     3e-6
#define BANDWIDTH 450e9

static double ring_s(double bytes)
{
    return 2 * (RANKS - 1) * (ALPHA + bytes / RANKS / BANDWIDTH);
}

static double tau_s(double bytes)
{
    return ALPHA + bytes / (RANKS - 1) / BANDWIDTH;
}

static double stragglar_s(double bytes, double delay_s)
{
    double pre_s = (RANKS - 2) * tau_s(bytes);

    return pre_s - fmin(fmax(delay_s, 0), pre_s) + (RANKS - 2 + 3) * tau_s(bytes);
}

/* Delays of rank 3 behind all others (call 4: rank 5 is late instead). */
static const double delays[CALLS] = {1e-3, 0.2e-3, 0.05e-3, 0.4e-3, -0.3e-3, 2e-3};

static cs_arrival_trace make_trace(double *arrivals)
{
    memset(arrivals, 0, RANKS * CALLS * sizeof *arrivals);
    for (size_t c = 0; c < CALLS; c++) {
        arrivals[c * RANKS + (delays[c] > 0 ? LATE : 5)] = fabs(delays[c]);
    }
    return (cs_arrival_trace){.n_ranks = RANKS, .n_calls = CALLS, .arrival_s = arrivals};
}

static cs_trace_report run(const cs_arrival_trace *trace, const cs_trace_options *options)
{
    cs_config      *config = NULL;
    cs_trace_report report = {0};
    cs_error        err    = {0};

    cr_assert_eq(cs_config_new(&config, &err), CS_OK);
    cr_assert_eq(cs_trace_whatif(config, trace, options, &report, &err), CS_OK, "%s: %s", err.where,
                 err.message);
    cs_config_free(config);
    return report;
}

static const cs_trace_line *find(const cs_trace_report *report, const char *algorithm,
                                 cs_prediction policy)
{
    for (size_t i = 0; i < report->n_lines; i++) {
        if (strcmp(report->lines[i].algorithm, algorithm) == 0 &&
            report->lines[i].policy == policy) {
            return &report->lines[i];
        }
    }
    cr_assert(false, "no line of %s", algorithm);
    return NULL;
}

/* The exposed time of every call and what follows from it. */
static void expect_line(const cs_trace_report *report, const cs_arrival_trace *trace,
                        const char *algorithm, cs_prediction policy, const double *exposed_s)
{
    const cs_trace_line *line    = find(report, algorithm, policy);
    double               saved_s = 0, won = 0;

    for (size_t c = 0; c < trace->n_calls; c++) {
        cr_expect_float_eq(line->call_s[c], exposed_s[c], 1e-12,
                           "%s, call %zu: %.9g instead of %.9g", algorithm, c, line->call_s[c],
                           exposed_s[c]);
        saved_s += ring_s(BYTES) - exposed_s[c];
        won += exposed_s[c] < ring_s(BYTES) - 1e-12;
    }
    cr_expect_float_eq(line->total_s, saved_s, 1e-12);
    cr_expect_float_eq(line->saved_s.value, saved_s / CALLS, 1e-12);
    cr_expect_float_eq(line->won_ratio, won / CALLS, 1e-15);
}

Test(trace_whatif, policies_follow_the_closed_forms)
{
    double                 arrivals[RANKS * CALLS], exposed_s[3][CALLS];
    const cs_arrival_trace trace   = make_trace(arrivals);
    const cs_trace_options options = {.bytes = BYTES, .period_s = 0.5};
    cs_trace_report        report  = run(&trace, &options);

    for (size_t c = 0; c < CALLS; c++) {
        exposed_s[0][c] = stragglar_s(BYTES, delays[c]);
        exposed_s[1][c] = stragglar_s(BYTES, fabs(delays[c]));
        exposed_s[2][c] = delays[c] > 0 ? exposed_s[0][c] : ring_s(BYTES);
    }
    cr_assert_eq(report.straggler, LATE);
    expect_line(&report, &trace, "stragglar", CS_PREDICTION_STATIC, exposed_s[0]);
    expect_line(&report, &trace, "stragglar", CS_PREDICTION_DYNAMIC, exposed_s[1]);
    expect_line(&report, &trace, "stragglar", CS_PREDICTION_ADAPTIVE, exposed_s[2]);
    const cs_trace_line *dynamic = find(&report, "stragglar", CS_PREDICTION_DYNAMIC);
    cr_expect_float_eq(dynamic->day_gpu_hours.value, dynamic->saved_s.value / 0.5 * 24 * RANKS,
                       1e-12);
    cr_assert(report.lines[0].place == 1 && report.lines[0].policy == CS_PREDICTION_DYNAMIC);
    cs_trace_report_free(&report);
}

Test(trace_whatif, break_even_is_the_critical_delay)
{
    double                 arrivals[RANKS * CALLS];
    const cs_arrival_trace trace    = make_trace(arrivals);
    const cs_trace_options options  = {.bytes = BYTES, .period_s = (double)NAN};
    cs_trace_report        report   = run(&trace, &options);
    double                 critical = stragglar_s(BYTES, 0) - ring_s(BYTES);

    cr_assert_float_eq(find(&report, "stragglar", CS_PREDICTION_STATIC)->break_even_s, critical,
                       1e-12);
    cr_assert_float_eq(find(&report, "stragglar", CS_PREDICTION_DYNAMIC)->break_even_s, critical,
                       1e-12);
    cr_assert_eq(find(&report, "rhd", CS_PREDICTION_NONE)->break_even_s, 0);
    cr_assert(isinf(find(&report, "broadcast", CS_PREDICTION_STATIC)->break_even_s));
    cr_assert(isnan(find(&report, "ring", CS_PREDICTION_NONE)->break_even_s));
    cr_assert(isnan(find(&report, "rhd", CS_PREDICTION_NONE)->day_gpu_hours.value));
    cs_trace_report_free(&report);
}

Test(trace_whatif, hindsight_is_the_fastest_of_each_call)
{
    static const char *const names[] = {"stragglar"};
    double                   arrivals[RANKS * CALLS];
    const cs_arrival_trace   trace   = make_trace(arrivals);
    const cs_trace_options   options = {
          .algorithms = names, .n_algorithms = 1, .bytes = BYTES, .period_s = (double)NAN};
    cs_trace_report      report = run(&trace, &options);
    const cs_trace_line *best   = find(&report, "best of all", CS_PREDICTION_HINDSIGHT);

    cr_assert_eq(report.n_lines, 5, "ring, three ways of stragglar, hindsight");
    for (size_t c = 0; c < CALLS; c++) {
        double want = fmin(ring_s(BYTES), stragglar_s(BYTES, fabs(delays[c])));
        cr_expect_float_eq(best->call_s[c], want, 1e-12);
    }
    cs_trace_report_free(&report);
}

Test(trace_whatif, agreement_costs_dynamic_and_adaptive)
{
    double                 arrivals[RANKS * CALLS];
    const cs_arrival_trace trace   = make_trace(arrivals);
    cs_trace_options       options = {.bytes = BYTES, .period_s = (double)NAN};
    cs_trace_report        free    = run(&trace, &options);
    options.agreement_s            = 10e-6;
    cs_trace_report costly         = run(&trace, &options);

    /* call 2: 50 us late, so the others' 10 us more are not hidden; call 4: the baseline */
    cr_expect_float_eq(find(&costly, "stragglar", CS_PREDICTION_DYNAMIC)->call_s[2],
                       find(&free, "stragglar", CS_PREDICTION_DYNAMIC)->call_s[2] + 10e-6, 1e-12);
    cr_expect_float_eq(find(&costly, "stragglar", CS_PREDICTION_ADAPTIVE)->call_s[4],
                       find(&free, "ring", CS_PREDICTION_NONE)->call_s[4] + 10e-6, 1e-12);
    cr_expect_float_eq(find(&costly, "stragglar", CS_PREDICTION_STATIC)->call_s[2],
                       find(&free, "stragglar", CS_PREDICTION_STATIC)->call_s[2], 0);
    cs_trace_report_free(&free);
    cs_trace_report_free(&costly);
}

/* Calls of two sizes; the sizes are the trace's. */
/* A broadcast begins with whoever is there, but the ranks that fall back on it begin together, when
 * the last of the others shows that the presumed one has come: call 4 is such a one. */
Test(trace_whatif, whoever_falls_back_has_waited)
{
    double                 arrivals[RANKS * CALLS];
    cs_arrival_trace       trace        = make_trace(arrivals);
    const char            *algorithms[] = {"stragglar"};
    const cs_trace_options options      = {
             .baseline = "broadcast", .algorithms = algorithms, .n_algorithms = 1, .bytes = BYTES};
    cs_trace_report      report = run(&trace, &options);
    const cs_trace_line *base   = find(&report, "broadcast", CS_PREDICTION_NONE);
    const cs_trace_line *line   = find(&report, "stragglar", CS_PREDICTION_ADAPTIVE);

    memset(arrivals, 0, sizeof arrivals);
    cs_trace_report      together = run(&trace, &options);
    const cs_trace_line *all      = find(&together, "broadcast", CS_PREDICTION_NONE);

    cr_expect(base->call_s[4] < 0.95 * all->call_s[4], "nothing overlaps");
    cr_expect_float_eq(line->call_s[4], all->call_s[4], 1e-15, "%g instead of %g", line->call_s[4],
                       all->call_s[4]);
    cs_trace_report_free(&report);
    cs_trace_report_free(&together);
}

Test(trace_whatif, sizes_of_the_trace)
{
    double           arrivals[RANKS * CALLS];
    uint64_t         bytes[CALLS]  = {BYTES, 56 << 10, 56 << 10, BYTES, BYTES, 56 << 10};
    cs_arrival_trace trace         = make_trace(arrivals);
    trace.bytes                    = bytes;
    const cs_trace_options options = {.period_s = (double)NAN};
    cs_trace_report        report  = run(&trace, &options);

    for (size_t c = 0; c < CALLS; c++) {
        double size = (double)bytes[c];
        cr_expect_float_eq(find(&report, "ring", CS_PREDICTION_NONE)->call_s[c], ring_s(size),
                           1e-12);
        cr_expect_float_eq(find(&report, "stragglar", CS_PREDICTION_DYNAMIC)->call_s[c],
                           stragglar_s(size, fabs(delays[c])), 1e-12);
    }
    cr_expect_eq(report.break_even_bytes, BYTES, "of two equally common ones the larger");
    cs_trace_report_free(&report);
}

/* What no baseline or configuration can mean. */
Test(trace_whatif, refusals)
{
    double                   arrivals[RANKS * CALLS];
    const cs_arrival_trace   trace   = make_trace(arrivals);
    static const char *const wrong[] = {"rign"};
    const struct {
        const char      *path, *value, *where;
        cs_trace_options options;
    } cases[] = {
        {NULL, NULL, "--bytes", {.period_s = 1}},
        {"cluster.ranks", "4", "cluster.ranks", {.bytes = 1024}},
        {"arrivals", "{\"late\": []}", "arrivals", {.bytes = 1024}},
        {"sweep.cluster.nic.alpha", "[1e-6, 2e-6]", "sweep", {.bytes = 1024}},
        {NULL, NULL, "--algorithm", {.bytes = 1024, .algorithms = wrong, .n_algorithms = 1}},
        {NULL, NULL, "--baseline", {.bytes = 1024, .baseline = "rign"}},
        {"cluster.gpus_per_server", "3", "--set cluster.gpus_per_server", {.bytes = 1024}},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cs_config      *config = NULL;
        cs_trace_report report = {0};
        cs_error        err    = {0};
        cr_assert_eq(cs_config_new(&config, &err), CS_OK);
        if (cases[i].path != NULL) {
            cr_assert_eq(cs_config_set(config, cases[i].path, cases[i].value, "--set", &err), CS_OK,
                         "%s", err.message);
        }
        cs_status status = cs_trace_whatif(config, &trace, &cases[i].options, &report, &err);
        cr_expect(status != CS_OK && status == err.status, "case %zu", i);
        cr_expect_str_eq(err.where, cases[i].where, "case %zu: %s: %s", i, err.where, err.message);
        cr_expect_null(report.lines);
        cs_config_free(config);
    }
}

/* stragglar on 2 ranks has no pre-phase, optcc refuses; neither ends the run. */
Test(trace_whatif, what_an_algorithm_refuses_becomes_a_line)
{
    static double          arrivals[] = {0, 1e-3, 0, 2e-3};
    const cs_arrival_trace trace      = {.n_ranks = 2, .n_calls = 2, .arrival_s = arrivals};
    const cs_trace_options options    = {.bytes = 4096, .period_s = (double)NAN};
    cs_trace_report        report     = run(&trace, &options);
    cs_text                text       = {0};

    for (size_t i = 0; i < report.n_lines; i++) {
        const cs_trace_line *line = &report.lines[i];
        cr_expect(line->is_available == (line->reason == NULL), "%s", line->algorithm);
        cr_expect(line->is_available || line->place == 0);
    }
    cr_expect_eq(find(&report, "stragglar", CS_PREDICTION_STATIC)->place,
                 find(&report, "stragglar", CS_PREDICTION_DYNAMIC)->place, "the same calls: a tie");
    cs_trace_table(&report, &trace, &text);
    cs_trace_json(&report, &trace, &(cs_arrival_notes){.n_warmup = 3}, &text);
    cs_trace_csv(&report, &text);
    cr_expect(strstr(text.data, "best: ") != NULL);
    cs_text_free(&text);
    cs_trace_report_free(&report);
}

static const char *table_of(cs_trace_report *report, const cs_arrival_trace *trace, cs_text *text)
{
    cs_text_free(text);
    cs_trace_table(report, trace, text);
    return text->data;
}

/* Times inside the calls say whether the cluster is the one of the trace. */
Test(trace_whatif, another_machine_is_said)
{
    static double          arrivals[] = {0, 1e-3, 0, 2e-3};
    const cs_arrival_trace trace      = {.n_ranks = 2, .n_calls = 2, .arrival_s = arrivals};
    const cs_trace_options options    = {.bytes = 1 << 30, .period_s = (double)NAN};
    cs_trace_report        report     = run(&trace, &options);
    cs_text                text       = {0};
    size_t                 base       = 0;

    while (!report.lines[base].is_baseline) {
        base++;
    }
    cr_expect_null(strstr(table_of(&report, &trace, &text), "once all ranks were there"));
    report.zero_wait_s = report.lines[base].exposed_s * 1.4;
    cr_expect_not_null(strstr(table_of(&report, &trace, &text), "once all ranks were there"));
    cr_expect_null(strstr(text.data, "is not that of the trace"));
    report.zero_wait_s = report.lines[base].exposed_s * 1.6;
    cr_expect_not_null(strstr(table_of(&report, &trace, &text), "is not that of the trace"));
    report.zero_wait_s = report.lines[base].exposed_s / 1.6;
    cr_expect_not_null(strstr(table_of(&report, &trace, &text), "is not that of the trace"));
    cs_text_free(&text);
    cs_trace_report_free(&report);
}

Test(trace_whatif, out_of_memory)
{
    static const char *const names[] = {"stragglar"};
    double                   arrivals[RANKS * CALLS];
    const cs_arrival_trace   trace   = make_trace(arrivals);
    const cs_trace_options   options = {
          .algorithms = names, .n_algorithms = 1, .bytes = BYTES, .period_s = (double)NAN};
    cs_status status = CS_ENOMEM;

    /* Jansson calls some failures of its allocations malformed input. */
    for (long passes = 0; status != CS_OK && passes < 100000; passes += passes < 200 ? 1 : 37) {
        cs_config      *config = NULL;
        cs_trace_report report = {0};
        cs_error        err    = {0};
        cr_assert_eq(cs_config_new(&config, &err), CS_OK);
        cs_alloc_fail_after(passes);
        status = cs_trace_whatif(config, &trace, &options, &report, &err);
        cs_alloc_fail_after(-1);
        cr_assert(status == CS_OK ||
                      ((status == CS_ENOMEM || status == CS_EPARSE) && report.lines == NULL),
                  "%ld: %s", passes, err.message);
        cs_trace_report_free(&report);
        cs_config_free(config);
    }
    cr_assert_eq(status, CS_OK);
}
