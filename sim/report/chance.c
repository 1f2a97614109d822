/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Random arrivals for the page: a campaign of the first setting, and a sentence about what is
 * random in it. */
#include "report/chance.h"

#include "base/alloc.h"
#include "campaign/montecarlo.h"
#include "report/data.h"
#include "report/pack.h"
#include "report/quantity.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CONFIDENCE 0.95

/* ---- what is random ---- */

static void add_time(cs_text *text, double time_s)
{
    char words[CS_QUANTITY_BYTES];

    cs_quantity_brief(CS_QUANTITY_S, time_s, words);
    cs_text_add(text, "%s", words);
}

/* "4 ms", or "a random time (gamma, 9.46 ms on average, standard deviation 2 ms)". */
static void add_delay(cs_text *text, const cs_distribution *d)
{
    double stddev_s = cs_distribution_stddev(d);

    if (!cs_distribution_is_random(d)) {
        add_time(text, cs_distribution_mean(d));
        return;
    }
    if (d->kind == CS_DISTRIBUTION_EMPIRICAL) {
        cs_text_add(text, "one of %zu measured times (", d->n_values);
    } else {
        cs_text_add(text, "a random time (%s, ", cs_distribution_name(d->kind));
    }
    add_time(text, cs_distribution_mean(d));
    cs_text_add(text, " on average");
    if (isfinite(stddev_s)) {
        cs_text_add(text, ", standard deviation ");
        add_time(text, stddev_s);
    }
    cs_text_add(text, ")");
}

static void add_straggler(cs_text *text, const cs_straggler_process *s)
{
    if (s->rank != CS_ANY_RANK) {
        cs_text_add(text, "GPU %" PRIu32 " is late by ", s->rank);
    } else {
        cs_text_add(text, "one of the GPUs is late by ");
    }
    add_delay(text, &s->delay);
    if (s->rank == CS_ANY_RANK && s->persistence > 0) {
        cs_text_add(text, ", in %.4g\xc2\xa0%% of them the one of the iteration before",
                    100 * s->persistence);
    } else if (s->rank != CS_ANY_RANK && s->persistence < 1) {
        cs_text_add(text, " in %.4g\xc2\xa0%% of them, another GPU in the others",
                    100 * s->persistence);
    }
    if (s->correlation > 0) {
        cs_text_add(text, " (correlation %.4g)", s->correlation);
    }
}

static void add_trace(cs_text *text, const cs_arrival_process *p)
{
    if (p->resamples) {
        cs_text_add(text, "the GPUs come as in one of %zu measured calls, each as likely",
                    p->trace.n_calls);
    } else {
        cs_text_add(text, "the GPUs come as in one measured call after the other");
    }
}

/* "In every iteration every GPU is late by .., and GPU 0 is late by .. in 90 % of them, .." */
static void add_sentence(cs_text *text, const cs_arrival_process *p)
{
    const char *joint = "In every iteration ";

    if (p->has_distribution) {
        cs_text_add(text, "%severy GPU is late by ", joint);
        add_delay(text, &p->distribution);
        joint = ", and ";
    }
    if (p->has_straggler) {
        cs_text_add(text, "%s", joint);
        add_straggler(text, &p->straggler);
        joint = ", and ";
    }
    if (p->trace.n_calls > 0) {
        cs_text_add(text, "%s", joint);
        add_trace(text, p);
    }
    cs_text_add(text, "%s.", p->late_s != NULL ? "; fixed delays are added" : "");
}

cs_status cs_chance_is_there(const cs_config *config, bool *is_there_p, cs_error *err)
{
    cs_case c = {0};

    CS_TRY(cs_config_case(config, 0, &c, err));
    *is_there_p = !cs_arrivals_are_fixed(&c.arrivals);
    cs_case_free(&c);
    return CS_OK;
}

static cs_status describe(cs_text *json, const cs_config *config, cs_error *err)
{
    cs_case c    = {0};
    cs_text text = {0};

    CS_TRY(cs_config_case(config, 0, &c, err));
    cs_status status = CS_OK;
    if (cs_arrivals_are_fixed(&c.arrivals)) {
        status = CS_FAIL(err, CS_ENOTSUP, "arrivals",
                         "nothing is random: accepted are arrivals with a distribution, a "
                         "straggler or a trace");
    } else {
        add_sentence(&text, &c.arrivals);
        cs_text_add_json_string(json, text.data);
        status = cs_text_status(&text, err);
    }
    cs_text_free(&text);
    cs_case_free(&c);
    return status;
}

/* ---- rows ---- */

/* Is it the first of its algorithm, and was it run? */
static bool is_shown(const cs_montecarlo_report *report, size_t index)
{
    bool is_first = report->rows[index].error[0] == '\0';

    for (size_t i = 0; i < index && is_first; i++) {
        is_first = report->rows[i].error[0] != '\0' ||
                   strcmp(report->rows[i].algorithm, report->rows[index].algorithm) != 0;
    }
    return is_first;
}

static void add_number(cs_text *json, const char *key, double value)
{
    cs_text_add(json, ",\"%s\":", key);
    cs_text_add_number(json, value);
}

/* The numbers of a JSON array. */
static void read_numbers(const char *array, double *numbers, size_t n)
{
    const char *at = array;

    for (size_t k = 0; k < n; k++) {
        char *end  = NULL;
        numbers[k] = strtod(at + 1, &end); /* behind the bracket, or the comma */
        at         = end;
    }
}

static cs_status add_row(cs_text *json, const cs_montecarlo_row *row, double *scratch,
                         cs_error *err)
{
    cs_text_add(json, "{\"algorithm\":");
    cs_text_add_json_string(json, row->algorithm);
    add_number(json, "mean_s", row->exposed_s.mean.value);
    add_number(json, "p50_s", row->exposed_s.p50.value);
    add_number(json, "p95_s", row->exposed_s.p95.value);
    add_number(json, "p99_s", row->exposed_s.p99.value);
    add_number(json, "win_ratio", row->win_ratio);
    cs_text_add(json, ",\"quantiles\":");
    read_numbers(row->quantiles_s, scratch, CS_CHANCE_QUANTILES);
    CS_TRY(cs_pack(json, CS_PACK_F64, scratch, CS_CHANCE_QUANTILES, false, err));
    cs_text_add(json, "}");
    return CS_OK;
}

static cs_status add_rows(cs_text *json, const cs_montecarlo_report *report, cs_error *err)
{
    const cs_montecarlo_row *first   = NULL;
    double                  *scratch = CS_NEW(double, CS_CHANCE_QUANTILES);
    cs_status                status  = CS_OK;

    if (scratch == NULL) {
        return CS_NO_MEMORY(err, "%d quantiles", CS_CHANCE_QUANTILES);
    }
    for (size_t i = 0; i < report->n_rows && status == CS_OK; i++) {
        const cs_montecarlo_row *row = &report->rows[i];
        if (!is_shown(report, i)) {
            continue;
        }
        if (first == NULL) {
            cs_text_add(json,
                        ",\"iterations\":%" PRIu64 ",\"ranks\":%" PRIu64 ",\"bytes\":%" PRIu64
                        ",\"rows\":[",
                        row->iterations, row->ranks, row->bytes);
        }
        cs_text_add(json, "%s", first != NULL ? "," : "");
        first  = row;
        status = add_row(json, row, scratch, err);
    }
    cs_text_add(json, "]}");
    cs_free(scratch);
    if (status == CS_OK && first == NULL) {
        return CS_FAIL(err, CS_ENOTSUP, "arrivals", "no algorithm could be run: %.300s",
                       report->n_rows > 0 ? report->rows[0].error : "");
    }
    return status;
}

cs_status cs_chance_json(cs_text *json, const cs_config *config, unsigned jobs, cs_error *err)
{
    const cs_montecarlo_options options = {.iterations       = CS_CHANCE_ITERATIONS,
                                           .takes_fewer      = true,
                                           .confidence       = CONFIDENCE,
                                           .n_quantiles      = CS_CHANCE_QUANTILES,
                                           .is_first_setting = true,
                                           .jobs             = jobs};
    cs_montecarlo_report        report  = {0};

    cs_text_add(json, "{\"text\":");
    CS_TRY(describe(json, config, err));
    CS_TRY(cs_montecarlo_run(config, &options, &report, err));
    cs_status status = report.count.missing == 0
                           ? add_rows(json, &report, err)
                           : CS_FAIL(err, report.count.failure.status, report.count.failure.where,
                                     "%.300s", report.count.failure.message);
    cs_montecarlo_report_free(&report);
    return status == CS_OK ? cs_text_status(json, err) : status;
}
