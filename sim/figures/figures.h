/* SPDX-License-Identifier: GPL-3.0-or-later */
/* figures/figures.h -- the papers' figures, drawn again from this program's own numbers.
 *
 * A figure computes its data (by replay, or by a formula that a replay confirms on the way),
 * checks it against reference numbers and writes NAME.csv and NAME.gp; gnuplot turns
 * the latter into NAME.svg and NAME.png. One line in figures.def and one file each.
 */
#ifndef CS_FIGURES_FIGURES_H
#define CS_FIGURES_FIGURES_H

#include "base/text.h"
#include "cs/error.h"

#include <stdbool.h>
#include <stddef.h>

/* What a figure fills. Texts are owned by the caller (cs_figure_free). */
typedef struct cs_figure_data {
    cs_text csv;      /* header line, then rows; every column bears its unit */
    cs_text gnuplot;  /* commands that draw the file DATA (see figures/script.h) */
    size_t  n_checks; /* comparisons: with reference numbers, of replays with formulas */
    size_t  n_failed; /* of them, those that failed */
    cs_text checks;   /* one line per failed check */
} cs_figure_data;

typedef struct cs_figure {
    const char *name;    /* "stragglar-6c" */
    const char *summary; /* one line */
    const char *source;  /* paper and figure */
    cs_status (*compute)(cs_figure_data *data, cs_error *err);
    /* The same from a trace of arrivals (config/arrival_file.h) instead of the sample; NULL: the
     * figure shows no trace. */
    cs_status (*compute_trace)(const char *path, cs_figure_data *data, cs_error *err);
} cs_figure;

/* All figures, ended by NULL. */
extern CS_API const cs_figure *const cs_figures[];

CS_API cs_status cs_figure_find(const char *name, const cs_figure **figure_p, cs_error *err);

/* Compare with a reference to a relative tolerance; a miss, and a NAN, adds a line to
 * `checks`. */
CS_API void cs_figure_check(cs_figure_data *data, const char *what, double got, double want,
                            double tolerance);

/* A condition that must hold. */
CS_API void cs_figure_expect(cs_figure_data *data, const char *what, bool holds);

CS_API void cs_figure_free(cs_figure_data *data);

/* Compute one figure, from the trace of arrivals at the path `trace` where that is not NULL (an
 * error for a figure that shows none), and write NAME.csv, NAME.gp, NAME.svg and NAME.png to
 * `folder` (which exists), each complete or not at all. Without gnuplot the pictures are left out
 * and *drawn_p is false. The line of checks is added to `line`; *ok_p says whether all of them
 * passed. */
CS_API CS_MUST_CHECK cs_status cs_figure_write(const cs_figure *figure, const char *trace,
                                               const char *folder, cs_text *line, bool *ok_p,
                                               bool *drawn_p, cs_error *err);

#endif
