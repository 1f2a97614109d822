/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "output/diagnosis_text.h"

#include "base/column.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* baseline_s is there where a baseline is. */
static const cs_column columns[] = {
    CS_COLUMN(cs_diagnosis_row, bytes),      CS_COLUMN(cs_diagnosis_row, algorithm),
    CS_COLUMN(cs_diagnosis_row, protocol),   CS_COLUMN(cs_diagnosis_row, measured_s),
    CS_COLUMN(cs_diagnosis_row, expected_s), CS_COLUMN(cs_diagnosis_row, baseline_s),
    CS_COLUMN(cs_diagnosis_row, bound_s),    CS_COLUMN(cs_diagnosis_row, ratio),
    CS_COLUMN(cs_diagnosis_row, efficiency), CS_COLUMN_END,
};

typedef struct verdict_row {
    const char *name;
    uint64_t    from_bytes, to_bytes;
    const char *evidence, *next;
} verdict_row;
static const cs_column verdict_columns[] = {
    CS_COLUMN(verdict_row, name),     CS_COLUMN(verdict_row, from_bytes),
    CS_COLUMN(verdict_row, to_bytes), CS_COLUMN(verdict_row, evidence),
    CS_COLUMN(verdict_row, next),     CS_COLUMN_END,
};

void cs_diagnosis_json(cs_text *text, const cs_diagnosis *d)
{
    cs_text_add(text, "{\"verdicts\": [");
    for (size_t i = 0; i < d->n_verdicts; i++) {
        const cs_nccl_verdict *v = &d->verdicts[i];
        const verdict_row row = {cs_verdict_name(v->kind), v->from_bytes, v->to_bytes, v->evidence,
                                 cs_verdict_next(v->kind)};
        cs_json_next(text, "\n", "\n");
        cs_text_add(text, "{");
        cs_json_row(text, &(cs_row){verdict_columns, &row, true});
        cs_text_add(text, "}");
    }
    cs_text_add(text, "\n],\n\"rows\": [");
    for (size_t i = 0; i < d->n_rows; i++) {
        cs_text_add(text, i > 0 ? ",\n{" : "\n{");
        cs_json_row(text, &(cs_row){columns, &d->rows[i], true});
        cs_text_add(text, "}");
    }
    cs_text_add(text, "\n]}\n");
}

void cs_diagnosis_csv(cs_text *text, const cs_diagnosis *d)
{
    cs_csv_keys(text, columns);
    cs_csv_end(text);
    for (size_t i = 0; i < d->n_rows; i++) {
        cs_csv_row(text, &(cs_row){columns, &d->rows[i], true});
        cs_csv_end(text);
    }
}

static void add_time(cs_text *text, double s)
{
    double us = s * 1e6;

    if (isnan(us)) {
        cs_text_add(text, " %11s", "-");
    } else {
        cs_text_add(text, us < 10000 ? " %11.2f" : us < 1e6 ? " %11.1f" : " %11.0f", us);
    }
}

static void add_verdict(cs_text *text, const cs_nccl_verdict *v)
{
    cs_text_add(text, "# %s", cs_verdict_name(v->kind));
    if (v->from_bytes == v->to_bytes) {
        cs_text_add(text, " at %" PRIu64 " B", v->from_bytes);
    } else {
        cs_text_add(text, " from %" PRIu64 " to %" PRIu64 " B", v->from_bytes, v->to_bytes);
    }
    cs_text_add(text, ": %s\n", v->evidence);
    if (cs_verdict_next(v->kind)[0] != '\0') {
        cs_text_add(text, "#   next: %s\n", cs_verdict_next(v->kind));
    }
}

void cs_diagnosis_table(cs_text *text, const cs_diagnosis *d)
{
    cs_text_add(text, "#%13s %9s %8s %11s %11s", "size", "algorithm", "protocol", "measured",
                "expected");
    cs_text_add(text, d->has_baseline ? " %11s" : "%s", d->has_baseline ? "baseline" : "");
    cs_text_add(text, " %11s %6s %6s\n#%13s %9s %8s %11s %11s", "bound", "ratio", "eff.", "(B)", "",
                "", "(us)", "(us)");
    cs_text_add(text, d->has_baseline ? " %11s" : "%s", d->has_baseline ? "(us)" : "");
    cs_text_add(text, " %11s %6s %6s\n", "(us)", "", "(%)");
    for (size_t i = 0; i < d->n_rows; i++) {
        const cs_diagnosis_row *r = &d->rows[i];
        cs_text_add(text, "%14" PRIu64 " %9s %8s", r->bytes, r->algorithm, r->protocol);
        add_time(text, r->measured_s);
        add_time(text, r->expected_s);
        if (d->has_baseline) {
            add_time(text, r->baseline_s);
        }
        add_time(text, r->bound_s);
        if (isnan(r->ratio)) {
            cs_text_add(text, " %6s", "-");
        } else {
            cs_text_add(text, " %6.2f", r->ratio);
        }
        cs_text_add(text, " %6.1f\n", 100 * r->efficiency);
    }
    cs_text_add(text, "# ratio: measured / %s; eff.: bound, by the data sheet, / measured\n",
                d->has_baseline ? "baseline" : "expected, which is 20 % off in one of ten sizes");
    for (size_t i = 0; i < d->n_verdicts; i++) {
        add_verdict(text, &d->verdicts[i]);
    }
    if (d->cluster->servers > 1 && !d->has_baseline) {
        cs_text_add(text,
                    "# not to be seen: one NIC of %u that is missing, %.0f %%; a log of the "
                    "same servers as --baseline would show it\n",
                    d->cluster->nics, 100.0 / (d->cluster->nics > 1 ? d->cluster->nics - 1 : 1));
    }
}

/* ---- the picture ---- */

static double expected_s(const cs_diagnosis_row *row)
{
    return row->expected_s;
}

static double measured_s(const cs_diagnosis_row *row)
{
    return row->measured_s;
}

static double bound_s(const cs_diagnosis_row *row)
{
    return row->bound_s;
}

static double baseline_s(const cs_diagnosis_row *row)
{
    return row->baseline_s;
}

/* A block of lines "bytes GB/s". */
static void add_block(cs_text *script, const cs_diagnosis *d, const char *name,
                      double (*time_s)(const cs_diagnosis_row *row))
{
    const double factor =
        cs_busbw_factor(d->collective, d->cluster->servers * d->cluster->gpus) / 1e9;

    cs_text_add(script, "$%s << END\n", name);
    for (size_t i = 0; i < d->n_rows; i++) {
        const double s = time_s(&d->rows[i]);
        if (s > 0) {
            cs_text_add(script, "%" PRIu64 " %.6g\n", d->rows[i].bytes,
                        (double)d->rows[i].bytes / s * factor);
        }
    }
    cs_text_add(script, "END\n");
}

cs_status cs_diagnosis_draw(cs_text *picture, const cs_diagnosis *d, cs_picture kind, cs_error *err)
{
    cs_text script = {0};
    char    title[160];

    (void)snprintf(title, sizeof title, "%s on %" PRIu32 " x %" PRIu32 " GPUs: %s%s",
                   cs_collective_name(d->collective), d->cluster->servers, d->cluster->gpus,
                   cs_verdict_name(d->verdicts[0].kind), d->n_verdicts > 1 ? ", .." : "");
    add_block(&script, d, "bound", bound_s);
    add_block(&script, d, "expected", expected_s);
    add_block(&script, d, "measured", measured_s);
    if (d->has_baseline) {
        add_block(&script, d, "baseline", baseline_s);
    }
    cs_text_add(&script, "set title ");
    cs_gnuplot_quoted(&script, title);
    cs_text_add(&script, "\nset logscale y 10\nset ylabel 'bus bandwidth, GB/s'\n");
    cs_gnuplot_sizes(&script, (double)d->rows[0].bytes, (double)d->rows[d->n_rows - 1].bytes);
    cs_text_add(&script,
                "set key bottom right Left reverse noenhanced\n"
                "plot $bound with lines lw 2.5 lc rgb '#000000' title 'bound, by the data sheet', "
                "$expected using 1:($2/1.2):($2*1.2) with filledcurves fc rgb '#CCE1F0' notitle, "
                "$expected with lines lw 2 lc rgb '#0072B2' title 'expected, 20 %% up and down', "
                "%s$measured with linespoints pt 7 ps 0.6 lw 1.5 lc rgb '#D55E00' title "
                "'measured'\n",
                d->has_baseline
                    ? "$baseline with linespoints pt 4 ps 0.5 lc rgb '#009E73' title 'baseline', "
                    : "");
    cs_status status = cs_text_status(&script, err);
    status           = status == CS_OK
                           ? cs_gnuplot_draw(&script, kind, CS_PICTURE_WIDTH, CS_PICTURE_HEIGHT, picture, err)
                           : status;
    cs_text_free(&script);
    return status;
}
