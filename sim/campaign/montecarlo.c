/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every scenario over many iterations, into a file and into a report.
 *
 * It is a campaign whose threads are inside a scenario. Scenarios with the same baseline follow
 * each other, the baseline first, so that its samples are drawn once, or once by each rank that
 * works on some of them. */
#include "campaign/montecarlo.h"

#include "base/alloc.h"
#include "base/random.h"
#include "base/statistics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_QUASI = 2 * CS_REPLICATES }; /* two points of each copy */

/* Exposed times are differences of elapsed times: what is less than this part of them is none. */
#define ROUNDING  1e-12
#define DAY_HOURS 24.0

typedef struct run {
    const cs_config      *config;
    cs_montecarlo_options options;
    size_t                base; /* whose samples follow; SIZE_MAX: nobody's */
    bool                  base_failed;
    cs_samples            base_samples;
    size_t               *scenarios;   /* [n], in the order of work; owned */
    size_t                n;           /* without those that repeat others */
    uint64_t              done, total; /* iterations, for the progress */
    cs_montecarlo_report *report; /* of rank 0: its rows stand at the numbers of their scenarios */
} run;

/* ---- what a run may ask for ---- */

/* Two points are the least of which a copy has a mean with a spread. */
static cs_status check_copies(const cs_montecarlo_options *options, size_t iterations,
                              cs_error *err)
{
    if (options->sampling != CS_SAMPLING_RANDOM && iterations < LEAST_QUASI) {
        return CS_FAIL(err, CS_EINVAL, "--iterations",
                       "%zu are too few for %d shifted sequences: accepted are %d and more",
                       iterations, CS_REPLICATES, LEAST_QUASI);
    }
    return CS_OK;
}

/* Options out of range, too many scenarios, no such baseline. */
static cs_status check_request(const cs_config *config, const cs_montecarlo_options *options,
                               cs_error *err)
{
    size_t total = cs_config_count(config), baseline;

    if (options->iterations < 1 || options->iterations > CS_MAX_ITERATIONS) {
        return CS_FAIL(err, CS_EINVAL, "--iterations", "%zu is outside [1, %d]",
                       options->iterations, CS_MAX_ITERATIONS);
    }
    if (!(options->confidence > 0 && options->confidence < 1)) {
        return CS_FAIL(err, CS_EINVAL, "--confidence", "%.15g is outside (0, 1)",
                       options->confidence);
    }
    if (options->n_quantiles == 1) {
        return CS_FAIL(err, CS_EINVAL, "quantiles", "1: accepted are 2 and more");
    }
    if (check_copies(options, options->iterations, err) != CS_OK) {
        return CS_EINVAL;
    }
    if (total > CS_MONTECARLO_MAX_CASES) {
        return CS_FAIL(err, CS_EINVAL, "sweep", "has %zu scenarios: accepted are at most %d", total,
                       CS_MONTECARLO_MAX_CASES);
    }
    return cs_config_baseline(config, 0, options->baseline, &baseline, err);
}

/* Is nothing random in the scenario, so that every iteration is the first? Who presumes the last
 * rank of the iteration before knows less in the first. */
static bool is_fixed(const cs_case *c)
{
    return cs_arrivals_are_fixed(&c->arrivals) && c->policy.prediction != CS_PREDICTION_PREVIOUS;
}

/* How many iterations a scenario takes: those of the options; one where nothing is random; one for
 * each call of a trace that is taken in order, where these are fewer and the options take them,
 * else CS_EINVAL. */
static cs_status iterations_of(const cs_montecarlo_options *options, const cs_case *c,
                               size_t *iterations_p, cs_error *err)
{
    size_t calls      = c->arrivals.resamples ? 0 : c->arrivals.trace.n_calls;
    bool   is_shorter = calls > 0 && calls < options->iterations;

    if (is_fixed(c)) {
        *iterations_p = 1;
        return CS_OK;
    }
    if (is_shorter && !options->takes_fewer) {
        return CS_FAIL(err, CS_EINVAL, "--iterations",
                       "%zu are more than the %zu calls of the trace, which are taken in order: "
                       "accepted are at most %zu, or any number with arrivals.trace.pick=resample",
                       options->iterations, calls, calls);
    }
    *iterations_p = is_shorter ? calls : options->iterations;
    return check_copies(options, *iterations_p, err);
}

static size_t quantiles_of(const cs_montecarlo_options *options)
{
    return options->n_quantiles > 0 ? options->n_quantiles : CS_MONTECARLO_QUANTILES;
}

/* Add what the row of a scenario depends on, as JSON. `c` and `baseline` are filled in. */
static cs_status add_identity(const run *r, size_t index, cs_case *c, cs_case *baseline,
                              cs_text *text, cs_error *err)
{
    const cs_montecarlo_options *o    = &r->options;
    size_t                       base = 0, iterations = 0;

    CS_TRY(cs_config_case(r->config, index, c, err));
    CS_TRY(iterations_of(o, c, &iterations, err));
    CS_TRY(cs_config_baseline(r->config, index, o->baseline, &base, err));
    CS_TRY(cs_config_case(r->config, base, baseline, err));
    cs_text_add(text, "{\"baseline\":%s,\"confidence\":", baseline->json);
    cs_text_add_number(text, o->confidence);
    cs_text_add(text, ",\"iterations\":%zu,\"quantiles\":%zu,\"replay\":%s,\"sampling\":\"%s\"",
                iterations, quantiles_of(o), o->is_replayed ? "true" : "false",
                cs_sampling_name(o->sampling));
    cs_text_add(text, ",\"scenario\":%s,\"verify_all\":%s}", c->json,
                o->is_verified ? "true" : "false");
    return cs_text_status(text, err);
}

/* The text that identifies the row of a scenario in a file. */
static cs_status identify(const run *r, size_t index, cs_text *text, cs_error *err)
{
    cs_case   c = {0}, baseline = {0};
    cs_status status = add_identity(r, index, &c, &baseline, text, err);

    cs_case_free(&c);
    cs_case_free(&baseline);
    return status;
}

/* ---- samples ---- */

/* Of the iterations of one scenario. */
static void report_iterations(void *user, size_t iterations_done)
{
    const run                   *r = user;
    const cs_montecarlo_options *o = &r->options;

    if (o->progress != NULL) {
        o->progress(o->user, r->done + iterations_done, r->total);
    }
}

static cs_status draw(run *r, const cs_case *c, bool reports, cs_samples *samples_p, cs_error *err)
{
    const cs_montecarlo_options *o       = &r->options;
    cs_sampling_request          request = {.jobs        = o->jobs,
                                            .sampling    = o->sampling,
                                            .is_replayed = o->is_replayed,
                                            .is_verified = o->is_verified,
                                            .progress    = reports ? report_iterations : NULL,
                                            .user        = r,
                                            .stop        = o->stop};
    cs_status                    status  = iterations_of(o, c, &request.iterations, err);

    if (is_fixed(c)) {
        request.sampling = CS_SAMPLING_RANDOM; /* of which there is none */
    }
    return status == CS_OK ? cs_samples_draw(c, &request, samples_p, err) : status;
}

static void forget_baseline(run *r)
{
    cs_samples_free(&r->base_samples);
    r->base        = SIZE_MAX;
    r->base_failed = false;
}

/* Draw the samples of the baseline, unless they are there or it cannot be run. */
static cs_status draw_baseline(run *r, size_t base, bool *stopped_p, cs_error *err)
{
    cs_case    c       = {0};
    cs_samples samples = {0};
    cs_error   reason  = {0};

    if (r->base == base) {
        return CS_OK;
    }
    forget_baseline(r);
    cs_status status = cs_config_case(r->config, base, &c, err);
    if (status != CS_OK) {
        return status;
    }
    status = draw(r, &c, false, &samples, &reason);
    cs_case_free(&c);
    if (cs_status_is_failure(status)) {
        if (err != NULL && err->status == CS_OK) {
            *err = reason;
        }
        return status;
    }
    *stopped_p = samples.is_stopped;
    if (samples.is_stopped) {
        cs_samples_free(&samples);
        return CS_OK;
    }
    r->base         = base;
    r->base_failed  = status != CS_OK;
    r->base_samples = samples;
    return CS_OK;
}

/* ---- the row of a scenario ---- */

/* What is known of training before the iterations are run. */
static void describe_training(const cs_training *training, cs_montecarlo_row *row)
{
    if (training->workload != NULL) {
        snprintf(row->workload, sizeof row->workload, "%s", training->workload->name);
    }
    row->bytes         = training->bytes;
    row->calls         = training->n_buckets;
    row->compute_s     = training->compute_s;
    row->overlap_ratio = training->overlap_ratio;
    row->tail_s        = training->tail_s;
}

void cs_training_compare(const cs_samples *samples, const cs_samples *baseline, double confidence,
                         double *scratch, cs_montecarlo_row *row)
{
    size_t groups = samples->n_groups > baseline->n_groups ? samples->n_groups : baseline->n_groups;
    double own_s  = cs_estimate_mean(samples->elapsed_s, samples->n, 0, confidence).value;
    double base_s = cs_estimate_mean(baseline->elapsed_s, samples->n, 0, confidence).value;
    double hours  = (double)row->ranks * DAY_HOURS;
    double ratio  = 1 - own_s / base_s;

    for (size_t i = 0; i < samples->n; i++) {
        double saved_s = baseline->elapsed_s[i] - samples->elapsed_s[i];
        scratch[i]     = (saved_s - ratio * baseline->elapsed_s[i]) / base_s;
    }
    cs_estimate error      = cs_estimate_mean(scratch, samples->n, groups, confidence);
    row->iteration_speedup = base_s / own_s;
    row->saved_ratio       = (cs_estimate){ratio, ratio + error.low, ratio + error.high};
    row->gpu_hours_per_day =
        (cs_estimate){hours * ratio, hours * row->saved_ratio.low, hours * row->saved_ratio.high};
}

/* Everything that is known before the scenario is run. */
static void describe(const run *r, const cs_case *c, cs_montecarlo_row *row)
{
    const cs_cluster *cluster = &c->job.scenario.cluster;
    snprintf(row->algorithm, sizeof row->algorithm, "%s", c->job.algorithm->name);
    snprintf(row->collective, sizeof row->collective, "%s",
             cs_collective_name(c->job.scenario.collective));
    snprintf(row->model, sizeof row->model, "%s", c->job.model->name);
    snprintf(row->sampling, sizeof row->sampling, "%s", cs_sampling_name(r->options.sampling));
    snprintf(row->build, sizeof row->build, "%s", cs_build());
    row->ranks           = cluster->n_ranks;
    row->bytes           = c->job.scenario.bytes;
    row->gpus_per_server = cluster->gpus_per_server;
    row->confidence      = r->options.confidence;
    row->calls           = 1;
    if (c->training.n_buckets > 0) {
        describe_training(&c->training, row);
    }
}

/* The exposed time's quantiles as JSON. `scratch` is what cs_spread_of() left of it. */
static cs_status fill_quantiles(const run *r, const cs_samples *s, double *scratch,
                                cs_montecarlo_row *row, cs_error *err)
{
    size_t  count = quantiles_of(&r->options);
    double *found = CS_NEW(double, count);
    cs_text text  = {0};

    if (found == NULL) {
        return CS_NO_MEMORY(err, "%zu quantiles", count);
    }
    if (s->n_groups > 0) {
        memcpy(scratch, s->exposed_s, s->n * sizeof *scratch);
        cs_sort_samples(scratch, s->n);
    }
    cs_quantiles_of(scratch, s->n, found, count);
    for (size_t k = 0; k < count; k++) {
        cs_text_add(&text, k > 0 ? "," : "[");
        cs_text_add_number(&text, found[k]);
    }
    cs_text_add(&text, "]");
    cs_free(found);
    if (text.failed) {
        cs_text_free(&text);
        return CS_NO_MEMORY(err, "%zu quantiles", count);
    }
    row->quantiles_s = text.data;
    return CS_OK;
}

static cs_status fill(const run *r, const cs_case *c, const cs_samples *s, double *scratch,
                      cs_montecarlo_row *row, cs_error *err)
{
    double n = (double)s->n, confidence = r->options.confidence;

    for (size_t i = 0; i < s->n; i++) {
        scratch[i] = s->elapsed_s[i] - s->exposed_s[i] - c->training.tail_s;
    }
    row->last_arrival_mean_s = cs_estimate_mean(scratch, s->n, 0, confidence).value;
    cs_spread_of(s->elapsed_s, s->n, s->n_groups, confidence, scratch, &row->elapsed_s);
    cs_spread_of(s->exposed_s, s->n, s->n_groups, confidence, scratch, &row->exposed_s);
    CS_TRY(fill_quantiles(r, s, scratch, row, err));
    if (s->presumes) {
        snprintf(row->prediction, sizeof row->prediction, "%s",
                 cs_prediction_name(c->policy.prediction));
        row->hit_ratio = (double)s->n_hits / n;
    }
    if (s->presumes && c->policy.fallback != NULL) {
        snprintf(row->fallback, sizeof row->fallback, "%s", c->policy.fallback->name);
        row->fallback_ratio = (double)s->n_fallbacks / (n * s->calls);
    }
    if (c->training.n_buckets > 0) {
        row->exposed_ratio = row->exposed_s.mean.value / row->elapsed_s.mean.value;
    }
    row->replays  = s->n_replays;
    row->verified = c->job.verify || r->options.is_verified;
    return CS_OK;
}

/* Pair by pair. */
static void compare(const run *r, const cs_samples *s, double *scratch, cs_montecarlo_row *row)
{
    const double *base = r->base_samples.exposed_s;
    size_t        wins = 0;
    size_t groups = s->n_groups > r->base_samples.n_groups ? s->n_groups : r->base_samples.n_groups;

    for (size_t i = 0; i < s->n; i++) {
        double saved_s = base[i] - s->exposed_s[i];
        wins += saved_s > ROUNDING * s->elapsed_s[i];
        s->elapsed_s[i] = saved_s; /* the elapsed times are done with */
    }
    cs_spread_of(s->elapsed_s, s->n, groups, r->options.confidence, scratch, &row->saved_s);
    row->win_ratio = (double)wins / (double)s->n;
    row->speedup =
        cs_estimate_mean(base, s->n, 0, r->options.confidence).value / row->exposed_s.mean.value;
}

static cs_status run_case(run *r, const cs_case *c, size_t index, size_t base,
                          cs_montecarlo_row *row, bool *stopped_p, cs_error *err)
{
    cs_samples samples = {0};
    double    *scratch = NULL;
    cs_status  status  = CS_OK;

    if (base != index) {
        status = draw_baseline(r, base, stopped_p, err);
    }
    if (status != CS_OK || *stopped_p) {
        return status;
    }
    cs_error reason = {0};
    status          = draw(r, c, true, &samples, &reason);
    if (status != CS_OK) {
        cs_error_reason(&reason, row->error, sizeof row->error);
        if (cs_status_is_failure(status) && err != NULL && err->status == CS_OK) {
            *err = reason;
        }
        return cs_status_is_failure(status) ? status : CS_OK;
    }
    *stopped_p = samples.is_stopped;
    if (!samples.is_stopped && (scratch = CS_NEW(double, samples.n)) == NULL) {
        status = CS_NO_MEMORY(err, "%zu iterations", samples.n);
    } else if (!samples.is_stopped) {
        status = fill(r, c, &samples, scratch, row, err);
        if (base != index && !r->base_failed && c->training.n_buckets > 0) {
            cs_training_compare(&samples, &r->base_samples, r->options.confidence, scratch, row);
        }
        if (base != index && !r->base_failed) {
            compare(r, &samples, scratch, row);
        }
    }
    cs_free(scratch);
    if (base == index && status == CS_OK && !samples.is_stopped) {
        forget_baseline(r);
        r->base         = index;
        r->base_samples = samples;
        samples         = (cs_samples){0};
    }
    cs_samples_free(&samples);
    return status;
}

/* The name of the baseline's algorithm. */
static cs_status name_baseline(const run *r, size_t base, cs_montecarlo_row *row, cs_error *err)
{
    cs_case   c      = {0};
    cs_status status = cs_config_case(r->config, base, &c, err);

    if (status == CS_OK) {
        snprintf(row->baseline, sizeof row->baseline, "%s", c.job.algorithm->name);
    }
    cs_case_free(&c);
    return status;
}

/* run_scenario() with what it gives back: `c` and `row` are filled in, also where it fails. */
static cs_status make_row(run *r, size_t index, cs_case *c, cs_montecarlo_row *row, bool *stopped_p,
                          cs_error *err)
{
    size_t base = index, iterations = 0;

    CS_TRY(cs_config_baseline(r->config, index, r->options.baseline, &base, err));
    CS_TRY(cs_config_case(r->config, index, c, err));
    CS_TRY(iterations_of(&r->options, c, &iterations, err));
    row->scenario = cs_strdup(c->json);
    if (row->scenario == NULL) {
        return CS_NO_MEMORY(err, "the text of a scenario");
    }
    if (base != index) {
        CS_TRY(name_baseline(r, base, row, err));
    }
    describe(r, c, row);
    row->iterations = iterations;
    return run_case(r, c, index, base, row, stopped_p, err);
}

/* The row of a scenario. One that cannot be run is a row with an error; failures of the machine or
 * the program (cs_status_is_failure), what cs_config_case() refuses, and more iterations than calls
 * of a trace that is taken in order (they would repeat calls, and intervals would count the same
 * call as several) are errors. The caller owns the row. *stopped_p: *stop came first, there is
 * none. Up to 36 bytes an iteration. */
static cs_status run_scenario(run *r, size_t index, cs_montecarlo_row *row_p, bool *stopped_p,
                              cs_error *err)
{
    cs_montecarlo_row row = cs_montecarlo_row_unknown();
    cs_case           c   = {0};

    *stopped_p       = false;
    cs_status status = make_row(r, index, &c, &row, stopped_p, err);
    cs_case_free(&c);
    if (status != CS_OK || *stopped_p) {
        cs_montecarlo_row_free(&row);
        return status;
    }
    *row_p = row;
    return CS_OK;
}

/* ---- the campaign ---- */

/* One scenario in the order of work. */
typedef struct item {
    size_t baseline, index;
} item;

static int by_baseline(const void *left, const void *right)
{
    const item *a = left, *b = right;
    bool        a_first = a->index == a->baseline, b_first = b->index == b->baseline;

    if (a->baseline != b->baseline) {
        return a->baseline < b->baseline ? -1 : 1;
    }
    if (a_first != b_first) {
        return a_first ? -1 : 1;
    }
    return (a->index > b->index) - (a->index < b->index);
}

/* The scenarios that repeat no other, each with its baseline. */
static cs_status find_items(const run *r, item *items, size_t *n_p, cs_error *err)
{
    size_t    total = cs_config_count(r->config), first = 0, n = 0;
    bool     *repeats = CS_NEW(bool, total);
    cs_status status  = repeats != NULL ? cs_config_repeats(r->config, repeats, err)
                                        : CS_NO_MEMORY(err, "%zu scenarios", total);

    if (status == CS_OK) {
        status = cs_config_baseline(r->config, 0, r->options.baseline, &first, err);
    }
    for (size_t i = 0; i < total && status == CS_OK; i++) {
        items[n].index = i;
        status = cs_config_baseline(r->config, i, r->options.baseline, &items[n].baseline, err);
        n += !repeats[i] && (!r->options.is_first_setting || items[n].baseline == first);
    }
    *n_p = n;
    cs_free(repeats);
    return status;
}

static cs_status list_scenarios(run *r, cs_error *err)
{
    size_t    total  = cs_config_count(r->config);
    item     *items  = CS_NEW(item, total);
    cs_status status = CS_OK;

    r->scenarios = CS_NEW(size_t, total);
    status       = items != NULL && r->scenarios != NULL ? find_items(r, items, &r->n, err)
                                                         : CS_NO_MEMORY(err, "%zu scenarios", total);
    if (status == CS_OK) {
        qsort(items, r->n, sizeof *items, by_baseline);
    }
    for (size_t i = 0; i < r->n && status == CS_OK; i++) {
        r->scenarios[i] = items[i].index;
    }
    cs_free(items);
    return status;
}

/* cs_campaign.begin: the order of work, and on rank 0 room for the rows. */
static cs_status begin(void *user, const size_t **scenarios_p, size_t *n_p, cs_error *err)
{
    run *r = user;

    CS_TRY(check_request(r->config, &r->options, err));
    CS_TRY(list_scenarios(r, err));
    if (cs_ranks_leads(r->options.ranks)) {
        r->report->rows = CS_NEW(cs_montecarlo_row, cs_config_count(r->config));
        if (r->report->rows == NULL) {
            return CS_NO_MEMORY(err, "the rows of %zu scenarios", r->n);
        }
    }
    r->total     = (uint64_t)r->n * r->options.iterations;
    *scenarios_p = r->scenarios;
    *n_p         = r->n;
    return CS_OK;
}

static void report_progress(void *user, size_t done, size_t total)
{
    run *r = user;

    (void)total;
    r->done = (uint64_t)done * r->options.iterations;
    r->options.progress(r->options.user, r->done, r->total);
}

/* do_scenario() with what it gives back: `row` and `key` are filled in, also where it fails. */
static cs_status put_scenario(run *r, size_t index, cs_work *work, cs_montecarlo_row *row,
                              cs_text *key, cs_error *err)
{
    bool is_stored = false, is_stopped = false;

    if (r->options.path != NULL) {
        CS_TRY(identify(r, index, key, err));
        CS_TRY(cs_work_identify(work, key->data, &is_stored, err));
    }
    if (is_stored) {
        return CS_OK;
    }
    CS_TRY(run_scenario(r, index, row, &is_stopped, err));
    if (!is_stopped) {
        const cs_montecarlo_texts texts = {row->quantiles_s, row->scenario,
                                           key->data != NULL ? key->data : "",
                                           row->error[0] != '\0' ? row->error : NULL};
        cs_work_put(work, &(cs_campaign_row){.columns = row, .texts = &texts});
    }
    return CS_OK;
}

/* cs_campaign.work */
static cs_status do_scenario(void *user, size_t index, cs_work *work, cs_error *err)
{
    cs_montecarlo_row row    = {0};
    cs_text           key    = {0};
    cs_status         status = put_scenario(user, index, work, &row, &key, err);

    cs_montecarlo_row_free(&row);
    cs_text_free(&key);
    return status;
}

/* What the table says beside its columns. */
static cs_status add_settings(const run *r, size_t index, cs_montecarlo_row *row, cs_error *err)
{
    static const char *const shown[] = {"algorithm.name",        "cluster.ranks",       "bytes",
                                        "montecarlo.prediction", "montecarlo.fallback", NULL};
    cs_text                  text    = {0};
    cs_status                status =
        cs_config_label(r->config, index, row->algorithm, row->model, shown, &text, err);

    if (status == CS_OK) {
        row->settings = text.data;
    } else {
        cs_text_free(&text);
    }
    return status;
}

/* cs_campaign.take: one row into the report, which then owns it. */
static cs_status take_row(void *user, const cs_campaign_row *from, cs_error *err)
{
    run                       *r      = user;
    cs_montecarlo_report      *report = r->report;
    const cs_montecarlo_texts *texts  = from->texts;
    cs_montecarlo_row          row    = *(const cs_montecarlo_row *)from->columns;

    row.settings = NULL;
    row.scenario = cs_strdup(texts->scenario);
    row.quantiles_s =
        texts->exposed_quantiles_s != NULL ? cs_strdup(texts->exposed_quantiles_s) : NULL;
    snprintf(row.error, sizeof row.error, "%s", texts->error != NULL ? texts->error : "");
    bool has_texts =
        row.scenario != NULL && (row.quantiles_s != NULL || texts->exposed_quantiles_s == NULL);
    cs_status status = has_texts ? add_settings(r, from->scenario, &row, err)
                                 : CS_NO_MEMORY(err, "the text of a scenario");
    if (status != CS_OK) {
        cs_montecarlo_row_free(&row);
        return status;
    }
    report->rows[from->scenario] = row;
    report->failed += row.error[0] != '\0';
    report->n_fixed += row.iterations == 1 && r->options.iterations > 1;
    return CS_OK;
}

/* Close the gaps that a stop has left, repeated scenarios, and what is missing; and put the values
 * of what is swept beside the rows. */
static cs_status pack_rows(const cs_config *config, cs_montecarlo_report *report, cs_error *err)
{
    size_t    total = cs_config_count(config), n_columns = 0;
    cs_status status;

    if (report->rows == NULL) {
        return CS_OK;
    }
    status = cs_sweep_columns_open(config, cs_montecarlo_columns, &report->columns, err);
    if (status == CS_OK) {
        report->swept.names = cs_sweep_columns_names(report->columns, &n_columns);
        report->values      = cs_calloc(total, n_columns * sizeof *report->values);
        status              = report->values != NULL
                                  ? CS_OK
                                  : CS_NO_MEMORY(err, "the swept values of %zu scenarios", total);
    }
    report->swept.n_columns = n_columns;
    report->swept.values    = report->values;
    for (size_t i = 0; i < total; i++) {
        if (report->rows[i].scenario == NULL) {
            continue;
        }
        if (status == CS_OK) {
            cs_sweep_columns_row(report->columns, i, report->values + report->n_rows * n_columns);
        }
        report->rows[report->n_rows++] = report->rows[i];
    }
    return status;
}

static cs_status run_campaign(run *r, cs_error *err)
{
    const cs_montecarlo_options *o = &r->options;
    const cs_campaign            c = {.n_scenarios    = cs_config_count(r->config),
                                      .table          = &cs_montecarlo_table,
                                      .user           = r,
                                      .begin          = begin,
                                      .work           = do_scenario,
                                      .take           = take_row,
                                      .reads_stored   = true,
                                      .path           = o->path,
                                      .accepts_builds = o->accepts_builds,
                                      .config         = r->config,
                                      .jobs           = 1,
                                      .ranks          = o->ranks,
                                      .progress = o->progress != NULL ? report_progress : NULL,
                                      .stop     = o->stop};

    return cs_campaign_run(&c, &r->report->count, err);
}

cs_status cs_montecarlo_run(const cs_config *config, const cs_montecarlo_options *options,
                            cs_montecarlo_report *report_p, cs_error *err)
{
    size_t               total  = cs_config_count(config);
    cs_montecarlo_report report = {0};
    run r = {.config = config, .options = *options, .base = SIZE_MAX, .report = &report};

    if (!cs_ranks_leads(options->ranks)) {
        r.options.progress = NULL;
    }
    cs_status status = run_campaign(&r, err);
    forget_baseline(&r);
    cs_free(r.scenarios);
    cs_status packed = pack_rows(config, &report, err);
    status           = status == CS_OK ? packed : status;
    if (status != CS_OK) {
        cs_montecarlo_report_free(&report);
        return status;
    }
    report.n_repeats = total - report.count.total;
    *report_p        = report;
    return CS_OK;
}

cs_status cs_montecarlo_fingerprint(const cs_config *config, const cs_montecarlo_options *options,
                                    uint64_t *fingerprint_p, cs_error *err)
{
    const run r      = {.config = config, .options = *options};
    cs_text   key    = {0};
    cs_status status = check_request(config, options, err);

    if (status == CS_OK) {
        status = identify(&r, 0, &key, err);
    }
    if (status == CS_OK) {
        uint64_t hash  = cs_mix64(cs_config_fingerprint(config)) ^ cs_hash_text(key.data);
        *fingerprint_p = cs_mix64(hash + (options->path != NULL));
    }
    cs_text_free(&key);
    return status;
}

void cs_montecarlo_report_free(cs_montecarlo_report *report)
{
    for (size_t i = 0; i < report->n_rows; i++) {
        cs_montecarlo_row_free(&report->rows[i]);
    }
    cs_free(report->rows);
    cs_free(report->values);
    cs_sweep_columns_close(report->columns);
    *report = (cs_montecarlo_report){0};
}
