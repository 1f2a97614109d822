/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A campaign whose scenarios are the lines of the report: the samples of a line are its exposed
 * times of all calls in order, every call replayed. */
#include "campaign/trace_whatif.h"

#include "base/alloc.h"
#include "base/text.h"
#include "campaign/campaign.h"
#include "campaign/chosen_algorithms.h"
#include "campaign/samples.h"
#include "campaign/trial.h"
#include "scenario/scenario_json.h"
#include "traces/skew.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SIZES = 1024, MOST_POLICIES = 3 };

#define CONFIDENCE 0.95
#define DAY_HOURS  24.0
#define SAME_RATIO 1e-12 /* two times that differ by less, relative to the call, are the same */
#define STOP_RATIO 1e-10 /* how exactly a break-even delay is found */

/* The work of one call of cs_trace_whatif(). */
typedef struct study {
    cs_config              *config;
    const cs_arrival_trace *trace;
    const cs_trace_options *options;
    cs_chosen_algorithms    chosen;           /* [0]: the baseline */
    uint64_t                sizes[MAX_SIZES]; /* different ones */
    size_t                  n_sizes, common_size;
    size_t                 *size_of_call; /* in the arena of the report */
    cs_case                *cases;        /* [n_names][n_sizes]; owned */
    cs_trace_report        *report;
} study;

/* ---- which algorithms, sizes and ranks ---- */

/* The baseline, then what is asked for, or all that know the collective. */
static cs_status choose_algorithms(study *s, const cs_scenario *scenario, cs_error *err)
{
    const cs_trace_options *o        = s->options;
    const char             *baseline = o->baseline != NULL
                                           ? o->baseline
                                           : cs_default_algorithm(&scenario->cluster, scenario->collective);

    CS_TRY(cs_chosen_algorithms_add(&s->chosen, baseline, "--baseline", err));
    for (size_t i = 0; i < o->n_algorithms; i++) {
        CS_TRY(cs_chosen_algorithms_add(&s->chosen, o->algorithms[i], "--algorithm", err));
    }
    if (o->n_algorithms == 0) {
        return cs_chosen_algorithms_add_all(&s->chosen, 1u << scenario->collective, err);
    }
    return CS_OK;
}

static uint64_t bytes_of(const study *s, size_t call, uint64_t configured)
{
    if (s->options->bytes > 0) {
        return s->options->bytes;
    }
    return s->trace->bytes != NULL ? s->trace->bytes[call] : configured;
}

/* The different sizes, in the order of their first call, and the most common one (of several, the
 * largest). */
static cs_status choose_sizes(study *s, uint64_t configured, cs_error *err)
{
    size_t counts[MAX_SIZES] = {0};

    for (size_t c = 0; c < s->trace->n_calls; c++) {
        uint64_t bytes = bytes_of(s, c, configured);
        size_t   k     = 0;
        while (k < s->n_sizes && s->sizes[k] != bytes) {
            k++;
        }
        if (k == MAX_SIZES) {
            return CS_FAIL(err, CS_EINVAL, "bytes",
                           "more than %d different sizes: give one for all with --bytes",
                           MAX_SIZES);
        }
        s->sizes[k]        = bytes;
        s->n_sizes         = k == s->n_sizes ? k + 1 : s->n_sizes;
        s->size_of_call[c] = k;
        counts[k]++;
    }
    for (size_t k = 1; k < s->n_sizes; k++) {
        size_t best = s->common_size;
        if (counts[k] > counts[best] ||
            (counts[k] == counts[best] && s->sizes[k] > s->sizes[best])) {
            s->common_size = k;
        }
    }
    s->report->break_even_bytes = s->sizes[s->common_size];
    return CS_OK;
}

static cs_status set_sizes(study *s, cs_error *err)
{
    cs_value *values = CS_ARENA_NEW(&s->report->arena, cs_value, s->n_sizes);

    if (values == NULL) {
        return CS_NO_MEMORY(err, "%zu sizes of calls", s->n_sizes);
    }
    for (size_t i = 0; i < s->n_sizes; i++) {
        values[i] = (cs_value){.type = CS_VALUE_WHOLE, .whole = (int64_t)s->sizes[i]};
    }
    return cs_config_sweep_put(s->config, "bytes", values, s->n_sizes, "--bytes", err);
}

/* To see the scenario before it is known which algorithms there are: all, so that every option
 * belongs to one. */
static cs_status set_any_algorithm(study *s, cs_error *err)
{
    cs_chosen_algorithms all = {.n = 0};

    CS_TRY(cs_chosen_algorithms_add_all(&all, UINT32_MAX, err));
    return cs_chosen_algorithms_sweep(&all, s->config, err);
}

/* What contradicts a trace. */
static cs_status check_config(const study *s, cs_error *err)
{
    if (cs_config_count(s->config) != 1) {
        return CS_FAIL(err, CS_EINVAL, "sweep", "a what-if on a trace takes one scenario");
    }
    if (cs_config_has(s->config, "arrivals")) {
        return CS_FAIL(err, CS_EINVAL, "arrivals", "come from the trace: leave the key out");
    }
    if (s->options->bytes == 0 && s->trace->bytes == NULL && !cs_config_has(s->config, "bytes")) {
        return CS_FAIL(err, CS_EINVAL, "--bytes",
                       "the trace does not say how large its calls are: give a size");
    }
    return CS_OK;
}

/* The number of ranks is the trace's. */
static cs_status set_ranks(const study *s, cs_error *err)
{
    char    text[16];
    cs_case c = {0};

    (void)snprintf(text, sizeof text, "%u", s->trace->n_ranks);
    if (cs_config_has(s->config, "cluster.ranks")) {
        cs_status status = cs_config_case(s->config, 0, &c, err);
        uint32_t  ranks  = c.job.scenario.cluster.n_ranks;
        cs_case_free(&c);
        if (status == CS_OK && ranks != s->trace->n_ranks) {
            return CS_FAIL(err, CS_EINVAL, "cluster.ranks", "is %u, the trace has %u ranks", ranks,
                           s->trace->n_ranks);
        }
        return status;
    }
    return cs_config_set(s->config, "cluster.ranks", text, "--trace", err);
}

/* Which algorithms and sizes the lines are made of; `c` is filled in. */
static cs_status choose(study *s, cs_case *c, cs_error *err)
{
    CS_TRY(set_any_algorithm(s, err));
    CS_TRY(set_ranks(s, err));
    CS_TRY(cs_config_case(s->config, 0, c, err));
    s->size_of_call = CS_ARENA_NEW(&s->report->arena, size_t, s->trace->n_calls);
    if (s->size_of_call == NULL) {
        return CS_NO_MEMORY(err, "the sizes of %zu calls", s->trace->n_calls);
    }
    CS_TRY(choose_algorithms(s, &c->job.scenario, err));
    return choose_sizes(s, c->job.scenario.bytes, err);
}

/* Make the configuration a sweep over the algorithms and sizes of the lines. */
static cs_status prepare(study *s, cs_error *err)
{
    cs_case c = {0};

    CS_TRY(check_config(s, err));
    cs_status status = choose(s, &c, err);
    cs_case_free(&c);
    CS_TRY(status);
    CS_TRY(cs_chosen_algorithms_sweep(&s->chosen, s->config, err));
    return set_sizes(s, err);
}

/* A case for each algorithm and size, on the arrivals of the trace. */
static cs_status build_cases(study *s, cs_error *err)
{
    size_t n = s->chosen.n * s->n_sizes;

    s->cases = CS_NEW(cs_case, n);
    if (s->cases == NULL) {
        return CS_NO_MEMORY(err, "%zu scenarios", n);
    }
    for (size_t i = 0; i < n; i++) {
        CS_TRY(cs_config_case(s->config, i, &s->cases[i], err));
        s->cases[i].arrivals               = (cs_arrival_process){.trace = *s->trace};
        s->cases[i].job.scenario.arrival_s = s->trace->arrival_s;
        s->cases[i].job.is_checked         = false;
    }
    return CS_OK;
}

static void free_cases(study *s)
{
    for (size_t i = 0; s->cases != NULL && i < s->chosen.n * s->n_sizes; i++) {
        cs_case_free(&s->cases[i]);
    }
    cs_free(s->cases);
}

/* ---- the lines ---- */

static size_t algorithm_of(const study *s, const cs_trace_line *line)
{
    size_t a = 0;

    while (s->chosen.names[a] != line->algorithm) {
        a++;
    }
    return a;
}

/* The rank that a static line presumes late: the user's, or the straggler of the trace. */
static uint32_t known_rank(const study *s, const cs_case *c)
{
    uint32_t given = cs_late_option(c->job.algorithm, &c->job.options);

    return given == CS_AUTO ? s->report->straggler : given;
}

/* The case of a line; owns nothing. */
static cs_case case_of(const study *s, const cs_trace_line *line, size_t size)
{
    cs_case        c    = s->cases[algorithm_of(s, line) * s->n_sizes + size];
    const cs_case *base = &s->cases[size];

    c.policy = (cs_prediction_policy){.prediction  = line->policy,
                                      .presumed    = known_rank(s, &c),
                                      .agreement_s = s->options->agreement_s};
    if (line->policy == CS_PREDICTION_ADAPTIVE) {
        c.policy.fallback         = base->job.algorithm;
        c.policy.fallback_options = &base->job.options;
    }
    return c;
}

/* Replay every call of a line. */
static cs_status replay_calls(const study *s, const cs_trace_line *line, cs_error *err)
{
    cs_case   *cases   = CS_NEW(cs_case, s->n_sizes);
    size_t     n       = s->trace->n_calls;
    cs_samples samples = {0};

    if (cases == NULL) {
        return CS_NO_MEMORY(err, "%zu scenarios", s->n_sizes);
    }
    for (size_t i = 0; i < s->n_sizes; i++) {
        cases[i] = case_of(s, line, i);
    }
    const cs_sampling_request request = {.iterations  = n,
                                         .case_of     = s->size_of_call,
                                         .n_cases     = s->n_sizes,
                                         .is_replayed = true,
                                         .is_verified = cases[0].job.verify};
    cs_status                 status  = cs_samples_draw(cases, &request, &samples, err);
    if (status == CS_OK) {
        memcpy(line->call_s, samples.exposed_s, n * sizeof *line->call_s);
    }
    cs_samples_free(&samples);
    cs_free(cases);
    return status;
}

/* The baseline and a line on arrivals where all ranks but one come together. */
typedef struct late_rank_case {
    cs_case   base_case, line_case;
    cs_trials base, line;
    uint32_t  rank;      /* that comes late */
    double   *arrival_s; /* [n_ranks]; owned */
} late_rank_case;

static cs_status time_trial(const late_rank_case *d, const cs_trials *trials, double *exposed_s_p,
                            cs_error *err)
{
    cs_trial  trial  = {0};
    cs_status status = cs_trial_run(trials, d->arrival_s, 0, &trial, err);

    *exposed_s_p = trial.exposed_s;
    return status;
}

/* How much sooner the line ends than the baseline when the rank comes `delay_s` late. */
static cs_status find_gain(const late_rank_case *d, double delay_s, double *gain_s_p, cs_error *err)
{
    double base_s = 0, line_s = 0;

    d->arrival_s[d->rank] = delay_s;
    cs_status status      = time_trial(d, &d->base, &base_s, err);
    if (status == CS_OK) {
        status = time_trial(d, &d->line, &line_s, err);
    }
    d->arrival_s[d->rank] = 0;
    *gain_s_p             = base_s - line_s;
    if (fabs(*gain_s_p) <= SAME_RATIO * base_s) {
        *gain_s_p = 0;
    }
    return status;
}

/* How long the line takes when all come together and none falls back: whatever can be done before
 * the late rank is there has been done by then. */
static cs_status find_longest_delay(const late_rank_case *d, double *delay_s_p, cs_error *err)
{
    cs_case   c      = d->line_case;
    cs_trials trials = {0};

    if (c.policy.prediction == CS_PREDICTION_ADAPTIVE) {
        c.policy = (cs_prediction_policy){.prediction = CS_PREDICTION_STATIC,
                                          .presumed   = c.policy.presumed};
    }
    CS_TRY(cs_trials_open(&c, true, c.job.verify, &trials, err));
    cs_status status = time_trial(d, &trials, delay_s_p, err);
    cs_trials_close(&trials);
    return status;
}

/* Bisect the delay at which the gain becomes positive. */
static cs_status bisect_delay(const late_rank_case *d, double agreement_s, double *delay_s_p,
                              cs_error *err)
{
    double low_s = 0, high_s = 0, gain_s = 0;

    *delay_s_p = 0;
    CS_TRY(find_gain(d, 0, &gain_s, err));
    if (gain_s > 0) {
        return CS_OK;
    }
    CS_TRY(find_longest_delay(d, &high_s, err));
    high_s += agreement_s;
    CS_TRY(find_gain(d, high_s, &gain_s, err));
    if (gain_s <= 0) {
        *delay_s_p = (double)INFINITY;
        return CS_OK;
    }
    for (double stop_s = STOP_RATIO * high_s; high_s - low_s > stop_s;) {
        double middle_s = (low_s + high_s) / 2;
        CS_TRY(find_gain(d, middle_s, &gain_s, err));
        low_s  = gain_s > 0 ? low_s : middle_s;
        high_s = gain_s > 0 ? middle_s : high_s;
    }
    *delay_s_p = high_s;
    return CS_OK;
}

/* The delay of the straggler, all others coming together, from which the line beats the baseline,
 * for calls of the most common size: 0, INFINITY, or between, to 1e-9 of the call's time. */
static cs_status find_break_even(const study *s, const cs_trace_line *line, double *delay_s_p,
                                 cs_error *err)
{
    static const cs_trace_line plain = {.policy = CS_PREDICTION_NONE};
    cs_trace_line              base  = plain;
    late_rank_case             d     = {.line_case = case_of(s, line, s->common_size),
                                        .arrival_s = CS_NEW(double, s->trace->n_ranks)};

    base.algorithm = s->chosen.names[0];
    d.base_case    = case_of(s, &base, s->common_size);
    d.rank         = d.line_case.policy.presumed;
    d.rank         = d.rank < s->trace->n_ranks ? d.rank : s->report->straggler;
    cs_status status =
        d.arrival_s != NULL
            ? cs_trials_open(&d.base_case, true, d.base_case.job.verify, &d.base, err)
            : CS_NO_MEMORY(err, "the arrivals of %u ranks", s->trace->n_ranks);
    if (status == CS_OK) {
        status = cs_trials_open(&d.line_case, true, d.line_case.job.verify, &d.line, err);
    }
    if (status == CS_OK) {
        status = bisect_delay(&d, s->options->agreement_s, delay_s_p, err);
    }
    cs_trials_close(&d.base);
    cs_trials_close(&d.line);
    cs_free(d.arrival_s);
    return status;
}

/* ---- the campaign: a line is a scenario, its row what is not in its samples ---- */

typedef struct line_row {
    double break_even_s;
} line_row;

typedef struct line_texts {
    const char *reason; /* for which the line is not available */
} line_texts;

static const cs_column      line_columns[] = {CS_COLUMN(line_row, break_even_s), CS_COLUMN_END};
static const cs_column      line_notes[]   = {CS_COLUMN(line_texts, reason), CS_COLUMN_END};
static const cs_store_table line_table     = {.name          = "lines",
                                              .columns       = line_columns,
                                              .texts         = line_notes,
                                              .columns_bytes = sizeof(line_row),
                                              .texts_bytes   = sizeof(line_texts)};

/* cs_campaign.work. A line that the algorithm refuses has a reason; the baseline must run. */
static cs_status do_line(void *user, size_t index, cs_work *work, cs_error *err)
{
    const study         *s       = user;
    const cs_trace_line *line    = &s->report->lines[index];
    line_row             row     = {(double)NAN};
    line_texts           texts   = {NULL};
    cs_error             refused = {0};
    cs_status            status  = replay_calls(s, line, &refused);

    if (status == CS_OK && !line->is_baseline) {
        status = find_break_even(s, line, &row.break_even_s, &refused);
    }
    bool is_refused = cs_status_is_refusal(status) && !line->is_baseline;
    if (status != CS_OK && !is_refused) {
        return CS_FAIL(err, status, line->is_baseline ? "--baseline" : line->algorithm, "%s",
                       refused.message);
    }
    texts.reason = is_refused ? refused.message : NULL;
    cs_work_put(work,
                &(cs_campaign_row){.is_refused = is_refused, .columns = &row, .texts = &texts});
    return CS_OK;
}

/* cs_campaign.take */
static cs_status take_line(void *user, const cs_campaign_row *from, cs_error *err)
{
    const study      *s     = user;
    cs_trace_line    *line  = &s->report->lines[from->scenario];
    const line_row   *row   = from->columns;
    const line_texts *texts = from->texts;

    line->is_available = !from->is_refused;
    line->break_even_s = row->break_even_s;
    if (from->is_refused) {
        line->reason = cs_arena_strdup(&s->report->arena, texts->reason);
    }
    return from->is_refused && line->reason == NULL
               ? CS_NO_MEMORY(err, "why %s is not available", line->algorithm)
               : CS_OK;
}

static cs_status add_line(study *s, size_t algorithm, cs_prediction policy, cs_error *err)
{
    cs_trace_report *report = s->report;
    double          *call_s = CS_ARENA_NEW(&report->arena, double, s->trace->n_calls);

    report->lines[report->n_lines++] = (cs_trace_line){.algorithm     = s->chosen.names[algorithm],
                                                       .policy        = policy,
                                                       .is_baseline   = algorithm == 0,
                                                       .exposed_s     = (double)NAN,
                                                       .saved_s       = cs_estimate_none(),
                                                       .total_s       = (double)NAN,
                                                       .won_ratio     = (double)NAN,
                                                       .break_even_s  = (double)NAN,
                                                       .day_gpu_hours = cs_estimate_none(),
                                                       .call_s        = call_s};
    return call_s != NULL ? CS_OK : CS_NO_MEMORY(err, "the times of %zu calls", s->trace->n_calls);
}

/* A line for each policy of each algorithm. */
static cs_status list_lines(study *s, cs_error *err)
{
    static const cs_prediction late[MOST_POLICIES] = {CS_PREDICTION_STATIC, CS_PREDICTION_DYNAMIC,
                                                      CS_PREDICTION_ADAPTIVE};
    cs_trace_report           *report              = s->report;
    size_t                     most = MOST_POLICIES * s->chosen.n + 1; /* and hindsight */

    report->lines = CS_ARENA_NEW(&report->arena, cs_trace_line, most);
    if (report->lines == NULL) {
        return CS_NO_MEMORY(err, "%zu lines of a report", most);
    }
    for (size_t a = 0; a < s->chosen.n; a++) {
        const cs_algorithm *row        = s->cases[a * s->n_sizes].job.algorithm;
        cs_late_prediction  of         = cs_late_prediction_of(row, CS_PREDICTION_STATIC);
        bool                predicts   = of.straggler != NULL && a > 0;
        size_t              n_policies = predicts ? MOST_POLICIES : 1;
        for (size_t i = 0; i < n_policies; i++) {
            CS_TRY(add_line(s, a, predicts ? late[i] : CS_PREDICTION_NONE, err));
        }
    }
    return CS_OK;
}

/* Why an algorithm cannot run is said once. */
static void drop_repeats(cs_trace_report *report)
{
    const char *refused = NULL;
    size_t      n       = 0;

    for (size_t i = 0; i < report->n_lines; i++) {
        cs_trace_line line = report->lines[i];
        if (line.algorithm == refused) {
            continue;
        }
        if (!line.is_available) {
            refused     = line.algorithm;
            line.policy = CS_PREDICTION_NONE;
        }
        report->lines[n++] = line;
    }
    report->n_lines = n;
}

static void tell(void *user, size_t done, size_t total)
{
    const study *s = user;
    cs_tell(&s->options->listener, done, total);
}

static cs_status run_lines(study *s, cs_error *err)
{
    const cs_campaign   c      = {.n_scenarios = s->report->n_lines,
                                  .table       = &line_table,
                                  .user        = s,
                                  .work        = do_line,
                                  .take        = take_line,
                                  .progress    = tell,
                                  .jobs        = s->options->jobs};
    cs_campaign_summary sum    = {0};
    cs_status           status = cs_campaign_run(&c, &sum, err);

    if (status == CS_OK && sum.missing > 0) {
        return CS_FAIL(err, sum.failure.status, sum.failure.where, "%s", sum.failure.message);
    }
    drop_repeats(s->report);
    return status;
}

/* ---- what each line saves, and their order ---- */

typedef struct comparison {
    const cs_arrival_trace *trace;
    cs_trace_report        *report;
    double                 *values;  /* [n_calls] */
    double                  scale_s; /* longest call of the baseline */
} comparison;

/* The fastest line of each call. */
static bool add_hindsight(const comparison *k)
{
    cs_trace_report *report = k->report;
    cs_trace_line   *best   = &report->lines[report->n_lines];
    double          *least  = CS_ARENA_NEW(&report->arena, double, k->trace->n_calls);

    if (least == NULL) {
        return false;
    }
    for (size_t c = 0; c < k->trace->n_calls; c++) {
        least[c] = report->lines[0].call_s[c];
        for (size_t i = 1; i < report->n_lines; i++) {
            const cs_trace_line *line = &report->lines[i];
            least[c] = line->is_available ? fmin(least[c], line->call_s[c]) : least[c];
        }
    }
    *best = (cs_trace_line){.algorithm    = "best of all",
                            .policy       = CS_PREDICTION_HINDSIGHT,
                            .is_available = true,
                            .break_even_s = (double)NAN,
                            .call_s       = least};
    report->n_lines++;
    return true;
}

static void compare_line(const comparison *k, cs_trace_line *line)
{
    const double *base = k->report->lines[0].call_s;
    size_t        n = k->trace->n_calls, n_won = 0;
    double        factor = k->trace->n_ranks * DAY_HOURS / k->report->period_s;

    line->exposed_s = line->total_s = 0;
    for (size_t c = 0; c < n; c++) {
        k->values[c] = base[c] - line->call_s[c];
        k->values[c] = fabs(k->values[c]) > SAME_RATIO * base[c] ? k->values[c] : 0;
        line->exposed_s += line->call_s[c] / (double)n;
        line->total_s += k->values[c];
        n_won += k->values[c] > 0;
    }
    line->saved_s       = cs_estimate_series(k->values, n, k->scale_s, CONFIDENCE);
    line->won_ratio     = (double)n_won / (double)n;
    line->day_gpu_hours = (cs_estimate){line->saved_s.value * factor, line->saved_s.low * factor,
                                        line->saved_s.high * factor};
}

/* What saves more; what was asked for first. */
static int by_place(const void *left, const void *right)
{
    const cs_trace_line *a = left, *b = right;

    if (a->is_available != b->is_available) {
        return a->is_available ? -1 : 1;
    }
    if ((a->policy == CS_PREDICTION_HINDSIGHT) != (b->policy == CS_PREDICTION_HINDSIGHT)) {
        return a->policy == CS_PREDICTION_HINDSIGHT ? 1 : -1;
    }
    if (a->is_available && a->saved_s.value != b->saved_s.value) {
        return a->saved_s.value > b->saved_s.value ? -1 : 1;
    }
    if (a->is_baseline != b->is_baseline) {
        return a->is_baseline ? -1 : 1;
    }
    int order = strcmp(a->algorithm, b->algorithm);
    return order != 0 ? order : (a->policy > b->policy) - (a->policy < b->policy);
}

/* How far the first of `n` lines is ahead of the first that is slower. */
static void set_lead(comparison *k, size_t n)
{
    cs_trace_report *report = k->report;
    size_t           second = 1;

    while (second < n && report->lines[second].place == 1) {
        second++;
    }
    report->second = second < n ? second : 0;
    report->lead_s = cs_estimate_none();
    if (report->second > 0) {
        for (size_t c = 0; c < k->trace->n_calls; c++) {
            k->values[c] = report->lines[second].call_s[c] - report->lines[0].call_s[c];
        }
        report->lead_s = cs_estimate_series(k->values, k->trace->n_calls, k->scale_s, CONFIDENCE);
    }
}

/* The lines in their order, with places. */
static void rank_lines(comparison *k)
{
    cs_trace_report *report = k->report;
    uint32_t         n      = 0;

    for (size_t c = 0; c < k->trace->n_calls; c++) {
        k->scale_s = fmax(k->scale_s, report->lines[0].call_s[c]);
    }
    for (size_t i = report->n_lines; i-- > 0;) {
        if (report->lines[i].is_available) {
            compare_line(k, &report->lines[i]);
        }
    }
    qsort(report->lines, report->n_lines, sizeof report->lines[0], by_place);
    for (size_t i = 0; i < report->n_lines; i++) {
        cs_trace_line *line = &report->lines[i];
        bool           is_tied =
            i > 0 && line[-1].saved_s.value - line->saved_s.value <= SAME_RATIO * k->scale_s;
        if (line->is_available && line->policy != CS_PREDICTION_HINDSIGHT) {
            n           = (uint32_t)i + 1;
            line->place = is_tied ? line[-1].place : n;
        }
    }
    set_lead(k, n);
}

/* Add the line of hindsight, compare all with the baseline, and order them. */
static cs_status compare_lines(study *s, cs_error *err)
{
    comparison k = {.trace  = s->trace,
                    .report = s->report,
                    .values = CS_ARENA_NEW(&s->report->arena, double, s->trace->n_calls)};

    if (k.values == NULL || !add_hindsight(&k)) {
        return CS_NO_MEMORY(err, "the times of %zu calls", s->trace->n_calls);
    }
    rank_lines(&k);
    return CS_OK;
}

/* ---- the report ---- */

/* Who is the straggler, and how long did calls take once all ranks were there? */
static cs_status describe_trace(study *s, cs_error *err)
{
    cs_skew   skew   = {0};
    cs_status status = cs_skew_compute(s->trace, &skew, err);

    if (status == CS_OK) {
        s->report->straggler   = skew.straggler;
        s->report->zero_wait_s = skew.zero_wait_s.mean.value;
        s->report->period_s    = s->options->period_s;
    }
    cs_skew_free(&skew);
    return status;
}

static cs_status fill_report(study *s, cs_error *err)
{
    if (s->trace->number != NULL) {
        return CS_FAIL(err, CS_EINVAL, "--trace",
                       "logs of %u of %u ranks: a replay needs the arrivals of all (arrivals says "
                       "what can be said of these)",
                       s->trace->n_ranks, s->trace->group_ranks);
    }
    CS_TRY(prepare(s, err));
    CS_TRY(describe_trace(s, err));
    CS_TRY(build_cases(s, err));
    CS_TRY(list_lines(s, err));
    CS_TRY(run_lines(s, err));
    return compare_lines(s, err);
}

cs_status cs_trace_whatif(cs_config *config, const cs_arrival_trace *trace,
                          const cs_trace_options *options, cs_trace_report *report_p, cs_error *err)
{
    cs_trace_report report = {0};
    study           s = {.config = config, .trace = trace, .options = options, .report = &report};
    cs_status       status = fill_report(&s, err);

    free_cases(&s);
    if (status != CS_OK) {
        cs_trace_report_free(&report);
        return status;
    }
    *report_p = report;
    return CS_OK;
}

void cs_trace_report_free(cs_trace_report *report)
{
    cs_arena_free(&report->arena);
    *report = (cs_trace_report){0};
}
