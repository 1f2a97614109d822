/* SPDX-License-Identifier: GPL-3.0-or-later */
/* figures/figure.h -- a figure as it is worked through: its files, its description as it was read,
 * its table, its checks and its script. */
#ifndef CS_FIGURES_FIGURE_H
#define CS_FIGURES_FIGURE_H

#include "algorithms/stored.h"
#include "cs/arrivals.h"
#include "cs/result.h"
#include "figures/expression.h"
#include "figures/figures.h"
#include "input/reader.h"
#include "study/config.h"
#include "traces/skew.h"

#include <limits.h>

/* ---- files (folder.c) ---- */

/* The file of a figure: a name of the list, or a path (it has a '/' or ends in ".json"). */
cs_status cs_figure_find(const char *name, char *path, size_t path_bytes, cs_error *err);

/* The path of a file whose name is meant beside the file `path`; `ending` is added where the name
 * has none. */
cs_status cs_figure_beside(const char *path, const char *name, const char *ending, char *place,
                           size_t place_bytes, cs_error *err);

/* ---- the description (description.c) ---- */

/* A scenario that is run for each row. */
typedef struct cs_figure_run {
    const char *name;
    const char *when;          /* an expression; NULL: always */
    const char *equal_parts;   /* an expression, NULL: none; the buffer is changed to the nearest
                                  that splits into so many equal parts, and the bandwidth so that it
                                  takes as long */
    bool        is_optional;   /* where it is refused it has no values */
    bool        has_delays;    /* its critical and ideal delays are found, too */
    const char *schedule_path; /* of a schedule instead of an algorithm, or NULL */
    cs_stored  *schedule;      /* what it holds; owned */
    json_t     *sets;          /* {PATH: VALUE}; texts that begin with '=' are expressions */
} cs_figure_run;

/* "NAME = EXPRESSION" */
typedef struct cs_figure_column {
    const char *name, *expression;
} cs_figure_column;

/* For each row for which `where` holds: `holds`, or `value` is `is` to a tolerance. */
typedef struct cs_figure_rule {
    const char *what;  /* in words */
    const char *where; /* NULL: all rows */
    const char *holds; /* NULL: the other kind */
    const char *value, *is;
    double      relative, absolute; /* one of them is 0, or both */
} cs_figure_rule;

typedef struct cs_figure {
    cs_arena    arena;  /* of all texts */
    cs_config  *config; /* with everything that was changed; owned */
    json_t     *tree;   /* its key "figure"; owned */
    char        path[PATH_MAX];
    const char *name; /* of the files */
    const char *title, *source;
    const char *script, *reference, *trace, *data; /* paths; the last three may be NULL */
    bool        is_changed;                        /* by whoever asked for it */

    const cs_figure_set *sets; /* what was changed; borrowed */
    size_t               n_sets;

    cs_figure_run    *runs;
    cs_figure_column *columns, *values;
    cs_figure_rule   *rules;
    size_t            n_runs, n_columns, n_values, n_rules;
} cs_figure;

/* Read the figure that is asked for. The caller closes it, also after an error. */
cs_status cs_figure_open(cs_figure *figure, const cs_figure_request *request, cs_error *err);
void      cs_figure_close(cs_figure *figure);

/* How many groups of rows there are, and the configuration of one; the caller owns it. */
size_t    cs_figure_groups(const cs_figure *figure);
cs_status cs_figure_group(const cs_figure *figure, size_t group, cs_config **config_p,
                          cs_error *err);

/* Rules from a list like that of the key "checks", in the arena. `path` is that of the list. */
void cs_figure_read_rules(cs_reading *reading, const cs_place *list, cs_figure_rule **rules_p,
                          size_t *n_p);

/* The lines of a CSV as a list of objects {NAME: VALUE}; names are those of its first line (csv.c).
 * The caller owns it. */
cs_status cs_figure_read_csv(const char *path, json_t **rows_p, cs_error *err);

/* The error of something at `path` of the configuration, with its place. */
cs_status cs_figure_blame(const cs_figure *figure, const char *path, const cs_error *from,
                          cs_error *err);

/* ---- the table (table.c) ---- */

/* What AdapCC's coordinator decided in a run: `{0}` where there was none. Times are from the first
 * arrival on. */
typedef struct cs_figure_worker {
    double heard_s;  /* the coordinator knows that it is ready */
    bool   is_relay; /* phase 1 starts without its tensor */
} cs_figure_worker;
typedef struct cs_figure_start {
    double            start_s; /* of phase 1 */
    uint32_t          n_ranks;
    cs_figure_worker *workers; /* [n_ranks]; owned */
} cs_figure_start;

/* A scenario to run. */
typedef struct cs_figure_item {
    char            *key; /* what makes it this one; owned */
    uint64_t         hash;
    const cs_stored *schedule; /* or NULL */
    bool             has_delays;
    cs_case          c;
    cs_result        result;
    cs_figure_start  start;
    cs_error         error;    /* why there is no result */
    size_t           run, row; /* which it was first */
} cs_figure_item;

#define CS_FIGURE_NO_ITEM SIZE_MAX

/* One point of the sweep, with one line of the data. */
typedef struct cs_figure_point {
    json_t      *lets;     /* its own names and those of its line, or NULL */
    cs_case      base;     /* without any run's changes */
    size_t      *items;    /* [n_runs]; CS_FIGURE_NO_ITEM: it is not run here */
    const char **refusals; /* [n_runs]; why an optional run could not be made, or NULL */
} cs_figure_point;

/* The scenario that a run made last. At points where it would be the same it is not built again. */
typedef struct cs_figure_last {
    json_t *tree; /* before the buffer was made to split evenly, or NULL */
    double  parts;
    size_t  item;
} cs_figure_last;

typedef struct cs_figure_table {
    const cs_figure *figure;
    cs_arena         arena;

    cs_figure_point *points;
    size_t           n_points;
    cs_figure_item  *items;
    size_t           n_items, item_capacity;
    cs_figure_last  *last; /* [n_runs] */

    json_t *lines; /* of the data, or NULL: each makes a row of every point of the sweep; owned */

    /* Where a trace is shown, a row is one of its calls, at the only point; else a point. */
    cs_arrival_trace trace;
    cs_skew          skew;
    double          *straggler_delays_s; /* [n_calls], sorted */

    size_t      n_rows;
    cs_operand *cells;     /* [n_rows][n_columns] */
    bool        is_filled; /* all cells are known */
} cs_figure_table;

/* Run everything and work out all cells. The caller frees it, also after an error. */
cs_status cs_figure_table_fill(cs_figure_table *table, const cs_figure *figure,
                               const cs_figure_request *request, cs_error *err);
void      cs_figure_table_free(cs_figure_table *table);

/* Run the items whose results are not known yet, each once and on several threads (results.c); what
 * is known is taken from `results`, which keeps the rest. Errors of a scenario are in its item;
 * those of the machine and of the program are returned, too. */
CS_MUST_CHECK cs_status cs_figure_run_items(cs_figure_results *results, cs_figure_item *items,
                                            size_t n_items, unsigned jobs, cs_error *err);

/* ---- what names mean in a row (scope.c) ---- */

typedef struct cs_figure_scope {
    cs_figure_table       *table;
    const cs_figure_point *point; /* NULL: no row */
    size_t                 row;
    size_t                 n_columns; /* the first of them are known */
    bool                   has_results;
    unsigned               depth;       /* of names that are expressions */
    const char *const     *bound_names; /* more names, which come first */
    const cs_operand      *bound;
    size_t                 n_bound;
} cs_figure_scope;

/* The scope of a row whose columns are all known. */
cs_figure_scope cs_figure_scope_of(cs_figure_table *table, size_t row);
cs_names        cs_figure_names(cs_figure_scope *scope);

/* ---- checks (checks.c) ---- */

/* Of every run, of the figure's own rules, and with reference numbers where these apply. */
cs_status cs_figure_check_all(cs_figure_table *table, cs_figure_data *data, cs_error *err);

/* ---- the script for gnuplot (script.c) ---- */

/* Add the whole script of a figure. */
cs_status cs_figure_script(cs_figure_table *table, cs_text *script, cs_error *err);

#endif
