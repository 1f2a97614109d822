/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "output/diagnosis_text.h"

#include "base/column.h"

#include <inttypes.h>
#include <math.h>

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
