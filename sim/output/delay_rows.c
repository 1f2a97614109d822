/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "output/delay_rows.h"

#include <inttypes.h>
#include <string.h>

const cs_column cs_delay_columns[] = {
    CS_COLUMN(cs_delay_row, algorithm),
    CS_COLUMN(cs_delay_row, model),
    CS_COLUMN(cs_delay_row, ranks),
    CS_COLUMN(cs_delay_row, bytes),
    CS_COLUMN(cs_delay_row, gpus_per_server),
    CS_COLUMN(cs_delay_row, critical_delay_s),
    CS_COLUMN(cs_delay_row, ideal_delay_s),
    CS_COLUMN(cs_delay_row, delay_reference),
    CS_COLUMN_END,
};

cs_delay_row cs_delay_row_of(const cs_job *job, const cs_delays *delays)
{
    const cs_scenario *s   = &job->scenario;
    cs_delay_row       row = {.algorithm        = job->algorithm->name,
                              .model            = job->model->name,
                              .ranks            = s->cluster.n_ranks,
                              .bytes            = s->bytes,
                              .gpus_per_server  = s->cluster.gpus_per_server,
                              .critical_delay_s = delays->critical_s,
                              .ideal_delay_s    = delays->ideal_s,
                              .delay_reference  = delays->reference};

    cs_setting_text(s, row.setting, sizeof row.setting);
    return row;
}

void cs_delay_rows_json(cs_text *text, const cs_delay_row *rows, size_t n,
                        const cs_extra_columns *extra)
{
    cs_text_add(text, "[");
    for (size_t i = 0; i < n; i++) {
        cs_json_next(text, "\n", "\n");
        cs_text_add(text, "{");
        cs_json_row(text, &(cs_row){cs_delay_columns, &rows[i], false});
        cs_json_extra(text, extra, i);
        cs_text_add(text, "}");
    }
    cs_text_add(text, "\n]\n");
}

void cs_delay_rows_csv(cs_text *text, const cs_delay_row *rows, size_t n,
                       const cs_extra_columns *extra)
{
    cs_csv_keys(text, cs_delay_columns);
    cs_csv_extra_keys(text, extra);
    cs_csv_end(text);
    for (size_t i = 0; i < n; i++) {
        cs_csv_row(text, &(cs_row){cs_delay_columns, &rows[i], false});
        cs_csv_extra(text, extra, i);
        cs_csv_end(text);
    }
}

void cs_delay_rows_table(cs_text *text, const cs_delay_row *rows, size_t n)
{
    int width = 16;

    for (size_t i = 0; i < n; i++) {
        const char *reference = rows[i].delay_reference;
        int         length    = reference != NULL ? (int)strlen(reference) : 0;
        width                 = length > width ? length : width;
    }
    cs_text_add(text, "# %-14s %7s %14s %14s %14s  %-*s %s\n", "algorithm", "ranks", "size (B)",
                "critical (us)", "ideal (us)", width, "faster than", "setting");
    for (size_t i = 0; i < n; i++) {
        const cs_delay_row *r = &rows[i];
        char                critical[CS_DELAY_TEXT_BYTES], ideal[CS_DELAY_TEXT_BYTES];
        cs_delay_text(r->critical_delay_s, critical);
        cs_delay_text(r->ideal_delay_s, ideal);
        cs_text_add(text, "%-16s %7" PRIu64 " %14" PRIu64 " %14s %14s  %-*s %s\n", r->algorithm,
                    r->ranks, r->bytes, critical, ideal, width,
                    r->delay_reference != NULL ? r->delay_reference : "-", r->setting);
    }
    cs_text_add(text,
                "# critical: the delay of the late rank after the last of the others from which on "
                "the algorithm is faster\n"
                "# ideal: nothing more is gained from it on; never: no delay is long enough\n");
}
