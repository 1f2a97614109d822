/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One row for each bound that applies. */
#include "output/bound_rows.h"

#include "base/column.h"

#include <inttypes.h>
#include <math.h>

typedef struct bound_row {
    const char *name;
    double      bound_s;
    bool        is_general, is_best;
    const char *summary, *assumption, *source;
} bound_row;

static const cs_column bound_columns[] = {
    CS_COLUMN(bound_row, name),       CS_COLUMN(bound_row, bound_s),
    CS_COLUMN(bound_row, is_general), CS_COLUMN(bound_row, is_best),
    CS_COLUMN(bound_row, summary),    CS_COLUMN(bound_row, assumption),
    CS_COLUMN(bound_row, source),     CS_COLUMN_END,
};

static void add_json(cs_text *text, const bound_row *row)
{
    cs_json_next(text, "", "\n ");
    cs_text_add(text, "{");
    cs_json_row(text, &(cs_row){bound_columns, row, false});
    cs_text_add(text, "}");
}

static void add_line(cs_text *text, const bound_row *row)
{
    cs_text_add(text, "%-18s %14.3f  %c  %s", row->name, row->bound_s * 1e6,
                row->is_best ? '*' : (row->is_general ? ' ' : '-'), row->summary);
    if (!row->is_general) {
        cs_text_add(text, " [%s]", row->assumption);
    }
    cs_text_add(text, "\n");
}

static void add_bounds(cs_text *text, const cs_bound_context *context, bool json)
{
    const char *best;

    cs_best_bound(context, &best);
    if (json) {
        cs_text_add(text, "[");
    } else {
        cs_text_add(text, "# %-16s %14s     (* the largest, - not for every schedule)\n", "bound",
                    "us");
    }
    for (size_t i = 0; cs_bounds[i] != NULL; i++) {
        const cs_bound *b   = cs_bounds[i];
        const bound_row row = {b->name,    b->seconds(context), b->is_general, b->name == best,
                               b->summary, b->assumption,       b->source};
        if (!isnan(row.bound_s)) {
            (json ? add_json : add_line)(text, &row);
        }
    }
    cs_text_add(text, "%s", json ? "]\n" : "");
}

cs_status cs_bound_rows(cs_text *text, const cs_job *job, cs_bound_format format, cs_error *err)
{
    const cs_scenario *s       = &job->scenario;
    bool               json    = format == CS_BOUND_JSON;
    bool               does    = (job->algorithm->collectives & 1u << s->collective) != 0;
    cs_job             bounded = *job;

    bounded.algorithm = does ? job->algorithm : NULL;
    cs_status status  = cs_job_resolve(&bounded, err);
    if (status == CS_OK && !json) {
        cs_text_add(text, "# %s, %u ranks, %" PRIu64 " bytes, for schedules %s%s on %s\n",
                    cs_collective_name(s->collective), s->cluster.n_ranks, s->bytes,
                    does ? "like " : "with one transfer at a time on a port",
                    does ? job->algorithm->name : "", job->model->name);
    }
    if (status == CS_OK) {
        const cs_bound_context context = cs_job_bounds(&bounded);
        add_bounds(text, &context, json);
    }
    cs_job_release(&bounded);
    return status;
}
