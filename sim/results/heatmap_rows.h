/* SPDX-License-Identifier: GPL-3.0-or-later */
/* results/heatmap_rows.h -- which rows of cs_usage a heat map shows, where, and what they are
 * called. */
#ifndef CS_RESULTS_HEATMAP_ROWS_H
#define CS_RESULTS_HEATMAP_ROWS_H

#include "results/usage.h"

/* A row with a name of its own is at least that high, in pixels. */
#define CS_HEATMAP_NAMED 9.0

/* Names have at most that many characters. */
enum { CS_HEATMAP_NAME = 48 };

typedef struct cs_heatmap_row {
    const cs_usage_panel *panel;
    size_t                row; /* of the panel */
    double                y, height;
} cs_heatmap_row;

typedef struct cs_heatmap_rows {
    const cs_usage *usage; /* borrowed */
    cs_heatmap_row *rows;  /* owned; panel by panel */
    size_t          n_rows, n_links_left_out;
    double          left;   /* room for the names */
    double          bottom; /* of the last row */
} cs_heatmap_rows;

/* Choose and place the rows from `top` on: all ports of fabrics that carried something, and the
 * links that were most in use. Free in every case. CS_ENOMEM, without a record. */
cs_status cs_heatmap_rows_choose(cs_heatmap_rows *rows, const cs_usage *usage, double top);

/* What a row is called. */
void cs_heatmap_row_name(const cs_heatmap_rows *rows, const cs_heatmap_row *row, char *text,
                         size_t text_bytes);

void cs_heatmap_rows_free(cs_heatmap_rows *rows);

#endif
