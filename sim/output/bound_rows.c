/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One row for each bound that applies. */
#include "output/bound_rows.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

typedef struct bound_row {
    const char *collective; /* these three: of CSV, where many scenarios have rows */
    uint64_t    ranks, bytes;
    const char *name;
    double      bound_s, busbw_GBps;
    bool        is_general, is_best;
    const char *summary, *assumption, *source;
} bound_row;

const cs_column cs_bound_columns[] = {
    CS_COLUMN(bound_row, collective), CS_COLUMN(bound_row, ranks),
    CS_COLUMN(bound_row, bytes),      CS_COLUMN(bound_row, name),
    CS_COLUMN(bound_row, bound_s),    CS_COLUMN(bound_row, busbw_GBps),
    CS_COLUMN(bound_row, is_general), CS_COLUMN(bound_row, is_best),
    CS_COLUMN(bound_row, summary),    CS_COLUMN(bound_row, assumption),
    CS_COLUMN(bound_row, source),     CS_COLUMN_END,
};
enum { SCENARIO_COLUMNS = 3 };

static void add_json(cs_text *text, const bound_row *row)
{
    cs_json_next(text, "", "\n ");
    cs_text_add(text, "{");
    cs_json_row(text, &(cs_row){cs_bound_columns + SCENARIO_COLUMNS, row, false});
    cs_text_add(text, "}");
}

static void add_line(cs_text *text, const bound_row *row)
{
    char busbw[24] = "-";

    if (!isnan(row->busbw_GBps)) {
        (void)snprintf(busbw, sizeof busbw, "%.2f", row->busbw_GBps);
    }
    cs_text_add(text, "%-18s %14.3f %10s  %c  %s", row->name, row->bound_s * 1e6, busbw,
                row->is_best ? '*' : (row->is_general ? ' ' : '-'), row->summary);
    if (!row->is_general) {
        cs_text_add(text, " [%s]", row->assumption);
    }
    cs_text_add(text, "\n");
}

void cs_bound_csv_keys(cs_text *text, const cs_extra_columns *extra)
{
    cs_csv_keys(text, cs_bound_columns);
    cs_csv_extra_keys(text, extra);
    cs_csv_end(text);
}

/* nccl-tests sees the exposed time, from the last arrival on. A bound before that forbids nothing.
 */
static double busbw_of(const cs_scenario *s, double bound_s)
{
    double exposed_s = bound_s - cs_last_arrival(s);
    double bytes     = cs_busbw_factor(s->collective, s->cluster.n_ranks) * (double)s->bytes;

    return exposed_s > 0 ? bytes / exposed_s / 1e9 : (double)NAN;
}

static void add_row(cs_text *text, const bound_row *row, cs_bound_format format,
                    const cs_extra_columns *extra, size_t index)
{
    switch (format) {
    case CS_BOUND_TABLE: add_line(text, row); break;
    case CS_BOUND_JSON: add_json(text, row); break;
    case CS_BOUND_CSV:
        cs_csv_row(text, &(cs_row){cs_bound_columns, row, false});
        cs_csv_extra(text, extra, index);
        cs_csv_end(text);
        break;
    }
}

static void add_bounds(cs_text *text, const cs_bound_context *context, cs_bound_format format,
                       const cs_extra_columns *extra, size_t index)
{
    const cs_scenario *s = context->scenario;
    const char        *best;

    cs_best_bound(context, &best);
    if (format == CS_BOUND_JSON) {
        cs_text_add(text, "[");
    } else if (format == CS_BOUND_TABLE) {
        cs_text_add(text,
                    "# %-16s %14s %10s     (* the largest, - not for every schedule; busbw in "
                    "GB/s)\n",
                    "bound", "us", "busbw");
    }
    for (size_t i = 0; cs_bounds[i] != NULL; i++) {
        const cs_bound *b       = cs_bounds[i];
        double          bound_s = b->seconds(context);
        const bound_row row     = {.collective = cs_collective_name(s->collective),
                                   .ranks      = s->cluster.n_ranks,
                                   .bytes      = s->bytes,
                                   .name       = b->name,
                                   .bound_s    = bound_s,
                                   .busbw_GBps = busbw_of(s, bound_s),
                                   .is_general = b->is_general,
                                   .is_best    = b->name == best,
                                   .summary    = b->summary,
                                   .assumption = b->assumption,
                                   .source     = b->source};
        if (!isnan(bound_s)) {
            add_row(text, &row, format, extra, index);
        }
    }
    cs_text_add(text, "%s", format == CS_BOUND_JSON ? "]\n" : "");
}

cs_status cs_bound_rows(cs_text *text, const cs_job *job, cs_bound_format format,
                        const cs_extra_columns *extra, size_t index, cs_error *err)
{
    const cs_scenario *s       = &job->scenario;
    bool               does    = (job->algorithm->collectives & 1u << s->collective) != 0;
    cs_job             bounded = *job;

    bounded.algorithm = does ? job->algorithm : NULL;
    cs_status status  = cs_job_resolve(&bounded, err);
    if (status == CS_OK && format == CS_BOUND_TABLE) {
        cs_text_add(text, "# %s, %u ranks, %" PRIu64 " bytes, for schedules %s%s on %s\n",
                    cs_collective_name(s->collective), s->cluster.n_ranks, s->bytes,
                    does ? "like " : "with one transfer at a time on a port",
                    does ? job->algorithm->name : "", job->model->name);
    }
    if (status == CS_OK) {
        const cs_bound_context context = cs_job_bounds(&bounded);
        add_bounds(text, &context, format, extra, index);
    }
    cs_job_release(&bounded);
    return status;
}
