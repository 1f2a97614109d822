/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report.h"

#include "base/alloc.h"
#include "output/nccl_columns.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

cs_status cap_measurement_open(cap_measurement *measurement, const cap_job *job,
                               uint32_t n_repetitions, bool keeps_times, cs_error *err)
{
    uint32_t n_ranks = job->schedule->stored->n_ranks;
    bool     has_all = true;

    measurement->job           = job;
    measurement->repetitions   = CS_NEW(cap_repetition, n_repetitions);
    measurement->n_repetitions = measurement->repetitions != NULL ? n_repetitions : 0;
    for (uint32_t i = 0; i < measurement->n_repetitions; i++) {
        cap_repetition *r = &measurement->repetitions[i];
        *r                = (cap_repetition){.makespan_s = (double)NAN,
                                             .end_s      = CS_NEW(double, n_ranks),
                                             .times      = keeps_times ? CS_NEW(cap_times, job->n_messages) : NULL,
                                             .cpu        = (double)NAN,
                                             .retransmits = (double)NAN,
                                             .oversleep_s = (double)NAN};
        has_all           = has_all && r->end_s != NULL && (r->times != NULL || !keeps_times);
    }
    return has_all && measurement->n_repetitions == n_repetitions
               ? CS_OK
               : CS_NO_MEMORY(err, "%u repetitions", n_repetitions);
}

void cap_measurement_close(cap_measurement *measurement)
{
    for (uint32_t i = 0; i < measurement->n_repetitions; i++) {
        cs_free(measurement->repetitions[i].end_s);
        cs_free(measurement->repetitions[i].times);
    }
    cs_free(measurement->repetitions);
    cs_free(measurement->extra);
    *measurement = (cap_measurement){0};
}

static double last_arrival_s(const cap_measurement *m)
{
    double last_s = 0;

    for (uint32_t r = 0; m->late_s != NULL && r < m->job->schedule->stored->n_ranks; r++) {
        last_s = fmax(last_s, m->late_s[r]);
    }
    return last_s;
}

/* The k-th smallest makespan, from 0; equal ones are in the order of the repetitions. */
static double ranked_s(const cap_measurement *m, uint32_t k)
{
    for (uint32_t i = 0; i < m->n_repetitions; i++) {
        double   candidate_s = m->repetitions[i].makespan_s;
        uint32_t before      = 0;
        for (uint32_t j = 0; j < m->n_repetitions; j++) {
            double other_s = m->repetitions[j].makespan_s;
            before += other_s < candidate_s || (j < i && !(other_s > candidate_s));
        }
        if (before == k) {
            return candidate_s;
        }
    }
    return (double)NAN;
}

cap_summary cap_summarise(const cap_measurement *m)
{
    uint32_t    n       = m->n_repetitions;
    cap_summary summary = {.least_s  = ranked_s(m, 0),
                           .median_s = (ranked_s(m, (n - 1) / 2) + ranked_s(m, n / 2)) / 2,
                           .most_s   = ranked_s(m, n - 1)};

    for (uint32_t i = 0; i < n; i++) {
        summary.wrong += m->repetitions[i].wrong;
    }
    return summary;
}

/* ---- JSON ---- */

static void add_member(cs_text *text, const char *name, double value)
{
    cs_text_add(text, ", \"%s\": ", name);
    cs_text_add_number(text, value);
}

static void add_repetition(cs_text *text, const cap_measurement *m, const cap_repetition *r)
{
    cs_text_add(text, "{\"makespan_s\": ");
    cs_text_add_number(text, r->makespan_s);
    add_member(text, "exposed_s", r->makespan_s - last_arrival_s(m));
    cs_text_add(text, ", \"wrong\": %" PRIu64, r->wrong);
    add_member(text, "cpu", r->cpu);
    add_member(text, "retransmits", r->retransmits);
    add_member(text, "oversleep_s", r->oversleep_s);
    cs_text_add(text, ", \"rank_end_s\": [");
    for (uint32_t rank = 0; rank < m->job->schedule->stored->n_ranks; rank++) {
        cs_text_add(text, "%s", rank > 0 ? ", " : "");
        cs_text_add_number(text, r->end_s[rank]);
    }
    cs_text_add(text, "]}");
}

static void add_late(cs_text *text, const cap_measurement *m)
{
    bool is_first = true;

    cs_text_add(text, ", \"late\": [");
    for (uint32_t r = 0; m->late_s != NULL && r < m->job->schedule->stored->n_ranks; r++) {
        if (m->late_s[r] > 0) {
            cs_text_add(text, "%s{\"rank\": %" PRIu32, is_first ? "" : ", ", r);
            add_member(text, "late_s", m->late_s[r]);
            cs_text_add(text, "}");
            is_first = false;
        }
    }
    cs_text_add(text, "]");
}

static void add_run(cs_text *text, const cap_measurement *m)
{
    const cs_stored *stored  = m->job->schedule->stored;
    cap_summary      summary = cap_summarise(m);

    cs_text_add(text,
                "{\"collective\": \"%s\", \"schedule\": ", cs_collective_name(stored->collective));
    cs_text_add_json_string(text, m->job->schedule->name);
    cs_text_add(text, ", \"ranks\": %" PRIu32 ", \"bytes\": %" PRIu64 ", \"messages\": %" PRIu32,
                stored->n_ranks, stored->bytes, m->job->n_messages);
    cs_text_add(text, ", \"discipline\": \"%s\"", m->is_eager ? "eager" : "ports");
    add_late(text, m);
    cs_text_add(text, ",\n  \"makespan_s\": {\"min\": ");
    cs_text_add_number(text, summary.least_s);
    add_member(text, "median", summary.median_s);
    add_member(text, "max", summary.most_s);
    cs_text_add(text, "}, \"wrong\": %" PRIu64 "%s,\n  \"repetitions\": [", summary.wrong,
                m->extra != NULL ? m->extra : "");
    for (uint32_t i = 0; i < m->n_repetitions; i++) {
        cs_text_add(text, "%s\n   ", i > 0 ? "," : "");
        add_repetition(text, m, &m->repetitions[i]);
    }
    cs_text_add(text, "]}");
}

void cap_report_json(cs_text *text, const char *program, const char *machine,
                     const cap_measurement *measurements, size_t n)
{
    cs_text_add(text,
                "{\"format\": \"collsim-capture\", \"version\": 1, \"program\": \"%s\", "
                "\"machine\": \"%s\",\n \"runs\": [",
                program, machine);
    for (size_t i = 0; i < n; i++) {
        cs_text_add(text, "%s\n ", i > 0 ? "," : "");
        add_run(text, &measurements[i]);
    }
    cs_text_add(text, "\n]}\n");
}

/* ---- the table ---- */

static void add_head(cs_text *text, const char *program, const char *machine,
                     const cap_measurement *first)
{
    const cs_stored *stored = first->job->schedule->stored;

    cs_text_add(text,
                "# collsim-capture 1 collective %s schedule %s ranks %" PRIu32 " machine %s\n",
                cs_collective_name(stored->collective), first->job->schedule->name, stored->n_ranks,
                machine);
    cs_text_add(text, "# %s " COLLSIM_VERSION ", %s, medians\n", program,
                first->is_eager ? "eager" : "port discipline");
    for (uint32_t r = 0; first->late_s != NULL && r < stored->n_ranks; r++) {
        if (first->late_s[r] > 0) {
            cs_text_add(text, "#  late: rank %" PRIu32 " by %.6g us\n", r, first->late_s[r] * 1e6);
        }
    }
    cs_nccl_add_heading(text);
}

static void add_row(cs_text *text, const cap_measurement *m)
{
    const cs_stored *stored    = m->job->schedule->stored;
    cap_summary      summary   = cap_summarise(m);
    double           exposed_s = summary.median_s - last_arrival_s(m);
    double           algbw     = (double)stored->bytes / exposed_s * 1e-9;
    char             wrong[24];
    cs_nccl_row      row = {
             .collective = stored->collective,
             .n_ranks    = stored->n_ranks,
             .root       = stored->root,
             .bytes      = stored->bytes,
             .is_float   = true,
             .time_s     = exposed_s,
             .algbw_GBps = algbw,
             .busbw_GBps = algbw * cs_busbw_factor(stored->collective, stored->n_ranks),
             .wrong      = wrong,
    };

    (void)snprintf(wrong, sizeof wrong, "%" PRIu64, summary.wrong);
    cs_nccl_add_row(text, &row);
}

/* Do two stand in one table? */
static bool is_alike(const cap_measurement *a, const cap_measurement *b)
{
    const cs_stored *one = a->job->schedule->stored, *other = b->job->schedule->stored;

    return one->collective == other->collective && one->n_ranks == other->n_ranks &&
           one->root == other->root && strcmp(a->job->schedule->name, b->job->schedule->name) == 0;
}

void cap_report_table(cs_text *text, const char *program, const char *machine,
                      const cap_measurement *measurements, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || !is_alike(&measurements[i - 1], &measurements[i])) {
            add_head(text, program, machine, &measurements[i]);
        }
        add_row(text, &measurements[i]);
    }
}

/* ---- Chrome trace ---- */

static void add_row_names(cs_text *text, const cap_job *job, const char **comma_p)
{
    static const char *const ends[] = {"sends", "receives"};

    for (uint32_t i = 0; i < job->schedule->stored->n_ranks * CS_FABRICS * 2; i++) {
        uint32_t        rank = i / (2 * CS_FABRICS), link = i / 2 % CS_FABRICS;
        const cap_port *port = &job->ranks[rank].ports[link];
        if ((i % 2 == 0 ? port->n_sends : port->n_receives) > 0) {
            cs_text_add(text,
                        "%s{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": %" PRIu32
                        ", \"tid\": %" PRIu32 ", \"args\": {\"name\": \"%s %s\"}}",
                        *comma_p, rank, i % (2 * CS_FABRICS), cs_fabric_name(link), ends[i % 2]);
            *comma_p = ",\n";
        }
    }
    for (uint32_t rank = 0; rank < job->schedule->stored->n_ranks; rank++) {
        cs_text_add(text,
                    "%s{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": %" PRIu32
                    ", \"args\": {\"name\": \"rank %" PRIu32 "\"}}",
                    *comma_p, rank, rank);
    }
}

static void add_slice(cs_text *text, const cap_message *m, uint32_t row, double begin_s,
                      double end_s)
{
    bool     sends = row % 2 == 0;
    uint32_t rank = sends ? m->src : m->dst, peer = sends ? m->dst : m->src;

    cs_text_add(text,
                ",\n{\"ph\": \"X\", \"name\": \"%s %" PRIu32 "\", \"pid\": %" PRIu32
                ", \"tid\": %" PRIu32 ", \"ts\": %.3f, \"dur\": %.3f, "
                "\"args\": {\"message\": %" PRIu32 ", \"round\": %" PRIu32 ", \"bytes\": %" PRIu64
                "}}",
                sends ? "to" : "from", peer, rank, row, begin_s * 1e6, (end_s - begin_s) * 1e6,
                m->id, m->round, m->count * sizeof(float));
}

/* The messages of one port, which begin when the one before has ended. */
static void add_port(cs_text *text, const cap_job *job, const cap_repetition *r, uint32_t rank,
                     uint32_t row, double origin_s)
{
    const cap_port *port   = &job->ranks[rank].ports[row / 2];
    bool            sends  = row % 2 == 0;
    uint32_t        n      = sends ? port->n_sends : port->n_receives;
    double          free_s = 0;

    for (uint32_t i = 0; i < n; i++) {
        const cap_message *m       = &job->messages[sends ? port->sends[i] : port->receives[i]];
        const cap_times   *times   = &r->times[m->id];
        double             end_s   = sends ? times->sent_s : times->received_s;
        double             begin_s = fmax(free_s, fmin(times->send_s, end_s));
        if (isfinite(end_s)) {
            add_slice(text, m, row, origin_s + begin_s, origin_s + end_s);
            free_s = end_s;
        }
    }
}

void cap_report_trace(cs_text *text, const cap_measurement *measurements, size_t n)
{
    const char *comma = "";

    cs_text_add(text, "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n");
    if (n > 0) {
        add_row_names(text, measurements[0].job, &comma);
    }
    for (size_t i = 0; i < n; i++) {
        const cap_measurement *m = &measurements[i];
        for (uint32_t k = 0; k < m->n_repetitions; k++) {
            const cap_repetition *r        = &m->repetitions[k];
            double                origin_s = r->start_s - measurements[0].repetitions[0].start_s;
            for (uint32_t row = 0; row < m->job->schedule->stored->n_ranks * 2 * CS_FABRICS;
                 row++) {
                if (r->times != NULL) {
                    add_port(text, m->job, r, row / (2 * CS_FABRICS), row % (2 * CS_FABRICS),
                             origin_s);
                }
            }
        }
    }
    cs_text_add(text, "\n]}\n");
}

cs_status cap_report_write(const char *program, const cap_options *options,
                           const cap_measurement *measurements, size_t n, cs_error *err)
{
    cs_text   table = {0}, json = {0}, trace = {0};
    cs_status status = CS_OK;

    if (!options->is_quiet || options->table != NULL) {
        cap_report_table(&table, program, options->machine, measurements, n);
        status = cap_write(options->table, &table, err);
    }
    if (status == CS_OK && options->json != NULL) {
        cap_report_json(&json, program, options->machine, measurements, n);
        status = cap_write(options->json, &json, err);
    }
    if (status == CS_OK && options->trace != NULL) {
        cap_report_trace(&trace, measurements, n);
        status = cap_write(options->trace, &trace, err);
    }
    cs_text_free(&table);
    cs_text_free(&json);
    cs_text_free(&trace);
    return status;
}
