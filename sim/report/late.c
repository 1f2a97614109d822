/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/late.h"

#include "report/quantity.h"
#include "traces/skew.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_RANKS = 256, PERCENT = 100 };

/* Lines of schedules under the policy that is shown; hindsight is none. */
static bool is_shown(const cs_trace_line *line)
{
    return line->is_available && line->place > 0 &&
           (line->policy == CS_PREDICTION_NONE || line->policy == CS_PREDICTION_STATIC);
}

static cs_status make_rows(const cs_arrival_trace *trace, const cs_trace_report *report,
                           const char *collective, cs_data *data, cs_error *err)
{
    cs_text json = {0};
    size_t  n    = 0;

    cs_text_add(&json, "[");
    for (size_t i = 0; i < report->n_lines; i++) {
        const cs_trace_line *line = &report->lines[i];
        if (is_shown(line)) {
            cs_text_add(&json,
                        "%s{\"algorithm\":\"%s\",\"collective\":\"%s\",\"ranks\":%u,"
                        "\"bytes\":%" PRIu64 ",\"exposed_s\":",
                        n++ > 0 ? "," : "", line->algorithm, collective, trace->n_ranks,
                        report->break_even_bytes);
            cs_text_add_number(&json, line->exposed_s);
            cs_text_add(&json, "}");
        }
    }
    cs_text_add(&json, "]");
    cs_status status = cs_text_status(&json, err);
    status           = status == CS_OK ? cs_data_take(data, json.data, json.length, err) : status;
    cs_text_free(&json);
    return status;
}

static void add_begin(const cs_skew *skew, cs_text *begin)
{
    char share[CS_QUANTITY_BYTES], delay[CS_QUANTITY_BYTES];

    cs_percent_text(skew->last_ratio, share);
    cs_quantity_text(CS_QUANTITY_S, skew->straggler_delay_s.mean.value, delay);
    cs_text_add(begin, "In %zu calls of %u GPUs, GPU %u %s in %s", skew->n_calls, skew->n_ranks,
                skew->straggler,
                skew->ranks[skew->straggler].cause == CS_LATE_NETWORK ? "leaves late"
                                                                      : "comes last",
                share);
    if (skew->straggler_delay_s.mean.value > 0) {
        char *space = strchr(delay, ' '); /* a number and its unit stay together */
        cs_text_add(begin, ", on average %.*s\xc2\xa0%s behind all others", (int)(space - delay),
                    delay, space + 1);
    }
    if (cs_late_cause_name(skew->ranks[skew->straggler].cause) != NULL) {
        cs_text_add(begin, " (%s)", cs_late_cause_words(skew->ranks[skew->straggler].cause));
    }
    cs_text_add(begin, ":");
}

/* Those that are last most often come first where there are too many. */
static bool is_listed(const cs_skew *skew, uint32_t rank)
{
    size_t before = 0;

    for (uint32_t r = 0; skew->n_ranks > MOST_RANKS && r < skew->n_ranks; r++) {
        before += skew->ranks[r].n_last > skew->ranks[rank].n_last ||
                  (skew->ranks[r].n_last == skew->ranks[rank].n_last && r < rank);
    }
    return before < MOST_RANKS;
}

static void add_number(cs_text *json, const char *key, double value)
{
    cs_text_add(json, ",\"%s\":", key);
    cs_text_add_number(json, value);
}

static void add_name(cs_text *json, const char *key, const char *name)
{
    cs_text_add(json, ",\"%s\":", key);
    if (name != NULL) {
        cs_text_add_json_string(json, name);
    } else {
        cs_text_add(json, "null");
    }
}

static void add_ranks(const cs_arrival_trace *trace, const cs_skew *skew, cs_text *json)
{
    size_t n = 0;

    cs_text_add(json, "\"ranks\":[");
    for (uint32_t r = 0; r < skew->n_ranks; r++) {
        const cs_skew_rank *rank = &skew->ranks[r];
        if (!is_listed(skew, r)) {
            continue;
        }
        cs_text_add(json, "%s{\"rank\":%u", n++ > 0 ? "," : "", r);
        add_number(json, "last_ratio", (double)rank->n_last / (double)skew->n_calls);
        add_number(json, "mean_s", rank->arrival_s.mean.value);
        add_number(json, "p50_s", rank->arrival_s.p50.value);
        add_number(json, "p95_s", rank->arrival_s.p95.value);
        add_number(json, "max_s", rank->arrival_s.max);
        add_number(json, "waits_s", rank->wait_mean_s);
        add_number(json, "called_s", rank->called_s);
        add_number(json, "came_s", rank->came_s);
        add_number(json, "left_s", rank->left_s);
        add_name(json, "cause", cs_late_cause_name(rank->cause));
        add_name(json, "why", cs_late_cause_words(rank->cause));
        add_name(json, "server",
                 trace->server != NULL ? trace->server_names[trace->server[r]] : NULL);
        cs_text_add(json, "}");
    }
    cs_text_add(json, "]");
}

static void add_policies(const cs_trace_report *report, cs_text *json)
{
    size_t n = 0;

    cs_text_add(json, ",\"policies\":[");
    for (size_t i = 0; i < report->n_lines; i++) {
        const cs_trace_line *line = &report->lines[i];
        if (!line->is_available) {
            continue;
        }
        cs_text_add(json, "%s{\"name\":\"%s\",\"policy\":\"%s\",\"is_baseline\":%s",
                    n++ > 0 ? "," : "", line->algorithm, cs_prediction_name(line->policy),
                    line->is_baseline ? "true" : "false");
        add_number(json, "exposed_s", line->exposed_s);
        add_number(json, "saved_s", line->saved_s.value);
        add_number(json, "total_s", line->total_s);
        add_number(json, "saved_ratio",
                   line->saved_s.value / (line->exposed_s + line->saved_s.value));
        add_number(json, "won_ratio", line->won_ratio);
        add_number(json, "break_even_s", line->break_even_s);
        cs_text_add(json, "}");
    }
    cs_text_add(json, "]");
}

/* How the times of the trace and of the model compare: a cluster that is not that of the trace
 * saves other times. */
static void add_doubts(const cs_trace_report *report, cs_text *text)
{
    double base_s = (double)NAN;
    char   measured[CS_QUANTITY_BYTES], predicted[CS_QUANTITY_BYTES];

    for (size_t i = 0; i < report->n_lines; i++) {
        base_s = report->lines[i].is_baseline ? report->lines[i].exposed_s : base_s;
    }
    if (fabs(report->zero_wait_s - base_s) > 0.5 * base_s) { /* no, where one is not known */
        cs_quantity_text(CS_QUANTITY_S, report->zero_wait_s, measured);
        cs_quantity_text(CS_QUANTITY_S, base_s, predicted);
        cs_text_add(text,
                    "Once all ranks were there, a call of the trace took %s, of the model %s: "
                    "the model is not that machine, so what is fastest on it need not be so there "
                    "(name the machine: --topology, --calibration, or --alpha and --bandwidth).",
                    measured, predicted);
    }
}

static void add_section(const cs_arrival_trace *trace, const cs_arrival_notes *notes,
                        const cs_trace_report *report, const cs_skew *skew, const cs_text *doubt,
                        cs_text *json)
{
    cs_text text = {0};

    cs_text_add(&text, "%s: %zu calls of %u GPUs.", notes->format, skew->n_calls, skew->n_ranks);
    if (!isnan(skew->repeat_ratio)) {
        char share[CS_QUANTITY_BYTES];
        cs_percent_text(skew->repeat_ratio, share);
        cs_text_add(&text, " The last rank is that of the call before in %s.", share);
    }
    if (trace->clock_error_s > 0) {
        char error[CS_QUANTITY_BYTES];
        cs_quantity_text(CS_QUANTITY_S, trace->clock_error_s, error);
        cs_text_add(&text, " Clocks agree within %s.", error);
    }
    if (doubt->length > 0) {
        cs_text_add(&text, " %s", doubt->data);
    }
    cs_text_add(json, "{\"text\":");
    cs_text_add_json_string(json, text.data);
    cs_text_add(json, ",\"calls\":%zu,\"straggler\":%u,", skew->n_calls, skew->straggler);
    cs_text_add(json, "\"straggler_ratio\":");
    cs_text_add_number(json, skew->last_ratio);
    cs_text_add(json, ",");
    add_ranks(trace, skew, json);
    add_policies(report, json);
    cs_text_add(json, "}");
    json->failed = json->failed || text.failed;
    cs_text_free(&text);
}

cs_status cs_late_make(const cs_arrival_trace *trace, const cs_arrival_notes *notes,
                       const cs_trace_report *report, const char *collective, cs_late *late,
                       cs_error *err)
{
    cs_skew   skew   = {0};
    cs_status status = cs_skew_compute(trace, &skew, err);

    if (status != CS_OK) {
        return status;
    }
    add_begin(&skew, &late->begin);
    add_doubts(report, &late->doubt);
    add_section(trace, notes, report, &skew, &late->doubt, &late->json);
    cs_skew_free(&skew);
    CS_TRY(cs_text_status(&late->begin, err));
    CS_TRY(cs_text_status(&late->doubt, err));
    CS_TRY(cs_text_status(&late->json, err));
    return make_rows(trace, report, collective, &late->data, err);
}

void cs_late_free(cs_late *late)
{
    cs_data_free(&late->data);
    cs_text_free(&late->json);
    cs_text_free(&late->begin);
    cs_text_free(&late->doubt);
}
