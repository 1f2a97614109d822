/* SPDX-License-Identifier: GPL-3.0-or-later */
/* figures/figures.h -- figures are data: a sweep, a script for gnuplot and reference numbers.
 *
 * A figure is a configuration (NAME.json) with one more key, "figure": which runs each point of its
 * sweep takes, which columns the table has, and which checks must hold; sim/doc/figures.md has all
 * its keys. Here it is run, checked, and written as NAME.csv and NAME.gp, which gnuplot turns into
 * NAME.svg and NAME.png. Files for the figures of the papers lie in one folder
 * (cs_figure_folder()); any other file can be drawn, too.
 */
#ifndef CS_FIGURES_FIGURES_H
#define CS_FIGURES_FIGURES_H

#include "base/listener.h"
#include "base/text.h"
#include "cs/error.h"

#include <stdbool.h>
#include <stddef.h>

/* ---- which there are ---- */

/* The folder of the figures that come with the program: COLLSIM_FIGURES names it, else it is
 * found from where the program lies, in its source tree or where it is installed. CS_EMISSING:
 * it is nowhere. `folder` has room for `folder_bytes`. */
CS_MUST_CHECK cs_status cs_figure_folder(char *folder, size_t folder_bytes, cs_error *err);

typedef struct cs_figure_entry {
    char *name;           /* "stragglar-6c" */
    char *title, *source; /* what it shows; paper and figure */
    bool  has_trace;      /* it shows a trace of arrivals */
} cs_figure_entry;

/* All of them, stragglar-6c before stragglar-10c. The caller owns the list (cs_figure_list_free).
 */
CS_MUST_CHECK cs_status cs_figure_list(cs_figure_entry **list_p, size_t *n_p, cs_error *err);
void                    cs_figure_list_free(cs_figure_entry *list, size_t n);

/* ---- one of them ---- */

/* Results of scenarios that figures have run, for those that run the same ones. */
typedef struct cs_figure_results cs_figure_results;
cs_figure_results               *cs_figure_results_new(void); /* NULL: out of memory */
void                             cs_figure_results_free(cs_figure_results *results);
/* Who is told how many of the scenarios that a figure lacks are done. */
void cs_figure_results_tell(cs_figure_results *results, const cs_listener *listener);

/* A value of the configuration to be changed, as in cs_config_set(). */
typedef struct cs_figure_set {
    const char *path, *json;
} cs_figure_set;

typedef struct cs_figure_request {
    const char          *name; /* of the list, or the path of a file */
    const cs_figure_set *sets;
    size_t               n_sets;
    const char          *trace;   /* of arrivals, instead of the figure's own; NULL: that */
    unsigned             jobs;    /* threads; 0 and 1: one */
    cs_figure_results   *results; /* NULL: of this figure alone */
} cs_figure_request;

/* What a figure becomes. */
typedef struct cs_figure_data {
    char   *name;             /* of the files, without an ending; owned, as the texts */
    cs_text title;            /* what it shows, as the SVG says */
    cs_text csv;              /* header line, then rows; every column bears its unit */
    cs_text script;           /* for gnuplot, to be run beside the CSV */
    size_t  n_checks;         /* of replays, and with reference numbers */
    size_t  n_failed;         /* of them, those that failed */
    cs_text checks;           /* one line per failed check */
    bool    skips_references; /* something was changed: they are not those of this cluster */
} cs_figure_data;

/* Run it. `data` is empty, and to be freed in any case. */
CS_MUST_CHECK cs_status cs_figure_compute(const cs_figure_request *request, cs_figure_data *data,
                                          cs_error *err);
void                    cs_figure_data_free(cs_figure_data *data);

/* Compare to a relative tolerance; a miss, and a NAN, adds a line to `checks`. */
void cs_figure_check(cs_figure_data *data, const char *what, double got, double want,
                     double tolerance);
/* A condition that must hold. */
void cs_figure_expect(cs_figure_data *data, const char *what, bool holds);

/* Run it and write NAME.csv, NAME.gp, NAME.svg and NAME.png to `folder` (which exists), each
 * complete or not at all. Without gnuplot the pictures are left out and *drawn_p is false. The
 * line of checks is added to `line`; *ok_p says whether all of them passed. */
CS_MUST_CHECK cs_status cs_figure_write(const cs_figure_request *request, const char *folder,
                                        cs_text *line, bool *ok_p, bool *drawn_p, cs_error *err);

#endif
