/* SPDX-License-Identifier: GPL-3.0-or-later */
/* report/plot.h -- a picture of results: curves over one column, or which schedule is best over
 * two. What is not chosen is guessed from what varies.
 */
#ifndef CS_REPORT_PLOT_H
#define CS_REPORT_PLOT_H

#include "output/gnuplot.h"
#include "report/data.h"

/* Columns by name; NULL: guessed. `{0}` guesses all. */
typedef struct cs_plot_request {
    const char *x, *y;    /* of curves: over x; of a heat map: its axes */
    const char *series;   /* a curve for each of its values */
    const char *panel;    /* a panel for each of its values */
    const char *ratio_to; /* an algorithm: values over its own, at the same place */
    const char *title;
    bool        is_heat;  /* which algorithm has the least exposed time, over x and y */
    bool        no_bound; /* leave the lower bound out */
    int         logscale; /* cs_plot_log */
} cs_plot_request;

typedef enum cs_plot_log {
    CS_PLOT_LOG_AUTO, /* where values differ by a factor of 20 */
    CS_PLOT_LOG_NONE,
    CS_PLOT_LOG_X,
    CS_PLOT_LOG_Y,
    CS_PLOT_LOG_XY
} cs_plot_log;

/* A script for gnuplot with its data, and how large the picture is. */
typedef struct cs_plot {
    cs_text script; /* owned */
    int     width, height;
} cs_plot;

/* Make the script. CS_EINVAL where columns are not there, are not numbers, or where rows that
 * would be one point differ in something that is not drawn: it is named. O(rows log rows).
 * cs_text_free() the script, also after an error. */
CS_MUST_CHECK cs_status cs_plot_make(const cs_data *data, const cs_plot_request *request,
                                     cs_plot *plot, cs_error *err);

#endif
