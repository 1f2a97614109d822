/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pictures of results, as scripts for gnuplot.
 *
 * Columns are what a run was given (inputs) or what came out of it (the columns of a result that
 * are no inputs). Of the inputs that vary, the one with the most numbers is x, the algorithm is the
 * series, and one more may have panels; what is left over must be chosen or left out by the user.
 */
#include "report/plot.h"

#include "base/alloc.h"
#include "output/look.h"
#include "report/quantity.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TICKS = 12 };
enum { VALUE_BYTES = 128 };
enum { MOST_INPUTS = 64, MOST_SERIES = 32, MOST_PANELS = 12, MOST_CELLS = 250000, MOST_NEAR = 256 };
enum {
    PANEL_WIDTH  = 420,
    PANEL_HEIGHT = 340,
    HEAD         = 92,
    LEFT         = 88,
    MAP_LEFT     = 112, /* with the name of the axis */
    RIGHT        = 24,
    GAP          = 60,
    FOOT         = 66,
    MAP_NOTE     = 18 /* a line of words below the panels of a map */
};

/* What is drawn. */
typedef struct drawing {
    const cs_data         *data;
    const cs_plot_request *asked;
    const cs_data_column  *x, *y, *series, *panel, *elapsed, *exposed, *bound, *critical;
    const cs_data_column  *inputs[MOST_INPUTS]; /* those that vary */
    size_t                 n_inputs;
    double                 panels[MOST_PANELS], all_series[MOST_SERIES];
    size_t                 n_panels, n_series;
    size_t                *order; /* [n_rows] by panel, series, x; owned */
    bool                   log_x, log_y;
    double                 low_x, high_x, low_y, high_y; /* of what is drawn; low: above 0 */
    cs_text               *out;
} drawing;

/* ---- columns ---- */

static int left_of(const drawing *d)
{
    return d->asked->is_heat ? MAP_LEFT : LEFT;
}

static int note_of(const drawing *d)
{
    return d->asked->is_heat ? MAP_NOTE : 0;
}

static size_t panels_of(const drawing *d)
{
    return d->n_panels > 0 ? d->n_panels : 1;
}

static size_t n_values(const drawing *d, const cs_data_column *column)
{
    return cs_data_values(d->data, column, NULL, 0);
}

static void find_inputs(drawing *d)
{
    for (size_t i = 0; i < d->data->n_columns && d->n_inputs < MOST_INPUTS; i++) {
        const cs_data_column *c = &d->data->columns[i];
        if (cs_data_is_input(c->name) && n_values(d, c) > 1) {
            d->inputs[d->n_inputs++] = c;
        }
    }
}

/* The input of numbers with the most values that is not taken; NULL: none. */
static const cs_data_column *most_numbers(const drawing *d)
{
    const cs_data_column *best = NULL;
    size_t                most = 1;

    for (size_t i = 0; i < d->n_inputs; i++) {
        const cs_data_column *c        = d->inputs[i];
        size_t                n        = c->has_words ? 0 : n_values(d, c);
        bool                  is_taken = c == d->x || c == d->y || c == d->series || c == d->panel;
        if (n > most && !is_taken) {
            best = c;
            most = n;
        }
    }
    return best;
}

static cs_status choose(const drawing *d, const char *name, const char *option,
                        const cs_data_column **column_p, cs_error *err)
{
    return name == NULL ? CS_OK : cs_data_column_of(d->data, name, option, column_p, err);
}

static cs_status needs_numbers(const cs_data_column *column, const char *option, cs_error *err)
{
    return column->has_words
               ? CS_FAIL(err, CS_EINVAL, option,
                         "the column %s has words: accepted is one with numbers", column->name)
               : CS_OK;
}

/* A column of words, or of few numbers, for series and panels. */
static const cs_data_column *few_values(const drawing *d, size_t most)
{
    for (size_t i = 0; i < d->n_inputs; i++) {
        const cs_data_column *c = d->inputs[i];
        if (c != d->x && c != d->y && c != d->series && c != d->panel && n_values(d, c) <= most) {
            return c;
        }
    }
    return NULL;
}

static cs_status choose_columns(drawing *d, cs_error *err)
{
    const cs_plot_request *a = d->asked;

    CS_TRY(choose(d, a->x, "--x", &d->x, err));
    CS_TRY(choose(d, a->y, "--y", &d->y, err));
    CS_TRY(choose(d, a->series, "--series", &d->series, err));
    CS_TRY(choose(d, a->panel, "--panel", &d->panel, err));
    const cs_data_column *algorithm = cs_data_find(d->data, "algorithm");
    if (d->series == NULL && algorithm != NULL && (a->is_heat || n_values(d, algorithm) > 1)) {
        d->series = algorithm;
    }
    if (d->x == NULL) {
        d->x = most_numbers(d);
    }
    if (d->x == NULL) {
        return CS_FAIL(err, CS_EINVAL, "--x",
                       "no column of numbers varies: a plot needs several numbers of ranks, sizes, "
                       "delays, ..");
    }
    if (d->y == NULL) {
        d->y = a->is_heat ? most_numbers(d) : cs_data_find(d->data, "exposed_s");
    }
    if (d->y == NULL) {
        return CS_FAIL(err, CS_EINVAL, "--y",
                       a->is_heat ? "a heat map needs two columns of numbers that vary, and only "
                                    "%s does"
                                  : "there is no column exposed_s: accepted is another one of "
                                    "numbers%.0s",
                       d->x->name);
    }
    if (d->panel == NULL) {
        d->panel = few_values(d, 6);
    }
    if (d->series == NULL && !a->is_heat) {
        d->series = d->panel;
        d->panel  = few_values(d, 6);
    }
    CS_TRY(needs_numbers(d->x, "--x", err));
    return needs_numbers(d->y, "--y", err);
}

/* ---- rows ---- */

static double at(const cs_data_column *column, size_t row)
{
    return column != NULL ? column->values[row] : 0;
}

static const drawing *sorted; /* by qsort(), which has no argument for it; one thread draws */

static int by_place(const void *a, const void *b)
{
    size_t       x = *(const size_t *)a, y = *(const size_t *)b;
    const double keys[3][2] = {{at(sorted->panel, x), at(sorted->panel, y)},
                               {at(sorted->series, x), at(sorted->series, y)},
                               {at(sorted->x, x), at(sorted->x, y)}};

    for (int i = 0; i < 3; i++) {
        if (keys[i][0] < keys[i][1] || keys[i][0] > keys[i][1]) {
            return keys[i][0] < keys[i][1] ? -1 : 1;
        }
    }
    return (x > y) - (x < y);
}

static bool is_same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

/* Rows of one point that differ in an input: which? */
static cs_status refuse_ambiguous(const drawing *d, size_t a, size_t b, cs_error *err)
{
    for (size_t i = 0; i < d->n_inputs; i++) {
        const cs_data_column *c = d->inputs[i];
        if (!is_same(c->values[a], c->values[b])) {
            return CS_FAIL(err, CS_EINVAL, "--panel",
                           "%s differs, too: choose it as --panel or --series, or one of its "
                           "values with --where %s=VALUE",
                           c->name, c->name);
        }
    }
    return CS_OK;
}

/* One row a point, in their order; those without a value are left out. */
static cs_status order_rows(drawing *d, size_t *n_p, cs_error *err)
{
    size_t n = 0, kept = 0;

    d->order = CS_NEW(size_t, d->data->n_rows + 1);
    if (d->order == NULL) {
        return CS_NO_MEMORY(err, "a plot");
    }
    for (size_t r = 0; r < d->data->n_rows; r++) {
        bool is_there = !isnan(at(d->x, r)) && !isnan(at(d->y, r)) && !isnan(at(d->series, r)) &&
                        !isnan(at(d->panel, r));
        if (is_there) {
            d->order[n++] = r;
        }
    }
    if (n == 0) {
        return CS_FAIL(err, CS_EINVAL, "", "no row has numbers in %s and %s", d->x->name,
                       d->y->name);
    }
    sorted = d;
    qsort(d->order, n, sizeof *d->order, by_place);
    for (size_t i = 0; i < n; i++) {
        size_t row = d->order[i], last = kept > 0 ? d->order[kept - 1] : row;
        bool   is_new = kept == 0 || at(d->panel, row) > at(d->panel, last) ||
                      at(d->series, row) > at(d->series, last) || at(d->x, row) > at(d->x, last);
        if (!is_new && !d->asked->is_heat) {
            CS_TRY(refuse_ambiguous(d, last, row, err));
        }
        if (is_new || d->asked->is_heat) {
            d->order[kept++] = row;
        } else if (at(d->y, row) < at(d->y, last)) {
            d->order[kept - 1] = row; /* options of one algorithm: the fastest */
        }
    }
    *n_p = kept;
    return CS_OK;
}

/* ---- words ---- */

/* "16 GPUs", "4 MiB", "delay of the late GPU 1 ms", "ring" */
static void value_text(const cs_data_column *column, double value, char text[VALUE_BYTES])
{
    char number[CS_QUANTITY_BYTES];

    if (column->has_words) {
        const char *word         = column->words[(size_t)value];
        bool        is_algorithm = strcmp(column->name, "algorithm") == 0;
        (void)snprintf(text, VALUE_BYTES, "%.100s", is_algorithm ? cs_look_title(word) : word);
        return;
    }
    cs_quantity_brief(cs_quantity_of(column->name), value, number);
    if (strcmp(column->name, "ranks") == 0) {
        (void)snprintf(text, VALUE_BYTES, "%s GPUs", number);
    } else if (strcmp(column->name, "bytes") == 0) {
        (void)snprintf(text, VALUE_BYTES, "%s", number);
    } else {
        (void)snprintf(text, VALUE_BYTES, "%.60s %s", column->title, number);
    }
}

/* What all rows have in common: "allreduce, 16 GPUs, 1 GiB, alpha-beta". */
static void common_text(const drawing *d, cs_text *text)
{
    static const char *const shown[] = {"collective", "ranks", "bytes", "model"};
    char                     word[VALUE_BYTES];
    size_t                   n = 0;

    for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++) {
        const cs_data_column *c = cs_data_find(d->data, shown[i]);
        double                value;
        if (c != NULL && cs_data_values(d->data, c, &value, 1) == 1) {
            value_text(c, value, word);
            cs_text_add(text, "%s%s", n++ > 0 ? ", " : "", word);
        }
    }
}

/* ---- axes ---- */

static const double nices[] = {1, 2, 5, 10};

/* Ticks with names at round values: powers of two for whole numbers, 1-2-5 for others. */
static void add_ticks(const drawing *d, const char *axis, const cs_data_column *c, double low,
                      double high, bool is_log, int most, bool has_names)
{
    char   name[CS_QUANTITY_BYTES];
    size_t n = 0;

    if (!is_log && ((!cs_ends_in(c->name, "_s") && !cs_ends_in(c->name, "bytes")) || !(high > 0))) {
        cs_text_add(d->out, "set format %s '%s'\n", axis, has_names ? "%g" : "");
        return;
    }
    cs_text_add(d->out, "set %stics (", axis);
    if (is_log && (cs_ends_in(c->name, "bytes") || strcmp(c->name, "ranks") == 0)) {
        int first = (int)ceil(log2(low) - 1e-9), last = (int)floor(log2(high) + 1e-9);
        int step = (last - first) / most + 1;
        for (int p = first; p <= last; p += step) {
            cs_quantity_brief(cs_quantity_of(c->name), ldexp(1, p), name);
            cs_text_add(d->out, "%s'%s' %.17g", n++ > 0 ? ", " : "", has_names ? name : "",
                        ldexp(1, p));
        }
    } else if (is_log) {
        int first = (int)floor(log10(low)), last = (int)floor(log10(high) + 1e-9);
        for (int p = first; p <= last; p++) {
            for (size_t i = 0; i < (3 * (last - first) > most ? 1 : 3); i++) {
                double value = nices[i] * pow(10, p);
                if (value >= low * 0.999 && value <= high * 1.001) {
                    cs_quantity_brief(cs_quantity_of(c->name), value, name);
                    cs_text_add(d->out, "%s'%s' %.17g", n++ > 0 ? ", " : "", has_names ? name : "",
                                value);
                }
            }
        }
    } else {
        double unit = cs_ends_in(c->name, "bytes") ? exp2(floor(log2(high / 5)))
                                                   : pow(10, floor(log10(high / 5)));
        for (size_t i = 0; i < 4 && high / unit > 7; i++) {
            unit *= cs_ends_in(c->name, "bytes") ? 2 : i == 1 ? 2.5 : 2;
        }
        for (unsigned i = 0; i < MOST_TICKS && i * unit <= high * 1.001; i++) {
            double value = i * unit;
            cs_quantity_brief(cs_quantity_of(c->name), value, name);
            cs_text_add(d->out, "%s'%s' %.17g", n++ > 0 ? ", " : "", has_names ? name : "", value);
        }
    }
    cs_text_add(d->out, ")\n");
}

/* Values from `low` (above 0) to `high`; `has_zero`: some are 0. */
static bool is_log_axis(const drawing *d, bool is_x, double low, double high, bool has_zero)
{
    switch ((cs_plot_log)d->asked->logscale) {
    case CS_PLOT_LOG_NONE: return false;
    case CS_PLOT_LOG_X: return is_x && low > 0 && high > low;
    case CS_PLOT_LOG_Y: return !is_x && low > 0 && high > low;
    case CS_PLOT_LOG_XY: return low > 0 && high > low;
    case CS_PLOT_LOG_AUTO: break;
    }
    const cs_data_column *c = is_x ? d->x : d->y;
    double                values[MOST_NEAR];
    size_t                n = cs_data_values(d->data, c, values, MOST_NEAR),
           zero             = n > 0 && !(values[0] > 0) ? 1 : 0;
    /* 8, 16, 32, 64 are far apart in the middle, too */
    bool is_geometric = n >= zero + 3 && n <= MOST_NEAR && high >= 4 * low &&
                        values[(n + zero) / 2] < 0.4 * (low + high);
    return low > 0 &&
           (high >= 20 * low || (is_x && is_geometric) || (d->asked->is_heat && is_geometric)) &&
           !(has_zero && !d->asked->is_heat);
}

static void find_range(const cs_data_column *c, const size_t *rows, size_t n, double *low_p,
                       double *high_p, bool *has_zero_p)
{
    *low_p      = (double)INFINITY;
    *high_p     = 0;
    *has_zero_p = false;
    for (size_t i = 0; i < n; i++) {
        double value = c->values[rows[i]];
        *has_zero_p  = *has_zero_p || !(value > 0);
        *low_p       = value > 0 ? fmin(*low_p, value) : *low_p;
        *high_p      = fmax(*high_p, value);
    }
    *low_p = isinf(*low_p) ? 0 : *low_p;
}

/* ---- curves ---- */

/* The bound as y shows it; NAN: y is no time. */
static double bound_at(const drawing *d, size_t row)
{
    if (d->bound == NULL || d->asked->no_bound || d->asked->ratio_to != NULL) {
        return (double)NAN;
    }
    return d->y == d->exposed   ? at(d->bound, row) - (at(d->elapsed, row) - at(d->exposed, row))
           : d->y == d->elapsed ? at(d->bound, row)
                                : (double)NAN;
}

static bool is_in(const drawing *d, size_t row, size_t panel, size_t series)
{
    return (d->n_panels == 0 || is_same(at(d->panel, row), d->panels[panel])) &&
           (d->n_series == 0 || is_same(at(d->series, row), d->all_series[series]));
}

/* What the row is divided by: the same place of the algorithm; NAN: not there. */
static double reference_at(const drawing *d, size_t n, size_t panel, size_t reference, double x)
{
    for (size_t i = 0; i < n; i++) {
        if (is_in(d, d->order[i], panel, reference) && is_same(at(d->x, d->order[i]), x)) {
            return at(d->y, d->order[i]);
        }
    }
    return (double)NAN;
}

static cs_status find_reference(const drawing *d, size_t *reference_p, cs_error *err)
{
    const char *name = d->asked->ratio_to;

    *reference_p = SIZE_MAX;
    for (size_t s = 0; name != NULL && s < d->n_series; s++) {
        bool is_it =
            d->series->has_words && strcmp(d->series->words[(size_t)d->all_series[s]], name) == 0;
        *reference_p = is_it ? s : *reference_p;
    }
    return name == NULL || *reference_p != SIZE_MAX
               ? CS_OK
               : CS_FAIL(err, CS_EINVAL, "--ratio-to", "there are no rows of '%s'", name);
}

/* One block of data for each curve, and one of the bound: $P0S0, $P0B. `drawn`: which series have a
 * point. */
static cs_status add_data(drawing *d, size_t n, size_t reference, bool *drawn)
{
    size_t panels = panels_of(d), series = d->n_series > 0 ? d->n_series : 1;

    for (size_t p = 0; p < panels; p++) {
        for (size_t s = 0; s < series; s++) {
            cs_text_add(d->out, "$P%zuS%zu << EOD\n", p, s);
            for (size_t i = 0; i < n; i++) {
                size_t row = d->order[i];
                if (!is_in(d, row, p, s)) {
                    continue;
                }
                double y = at(d->y, row);
                y = reference != SIZE_MAX ? y / reference_at(d, n, p, reference, at(d->x, row)) : y;
                if (isfinite(y)) {
                    cs_text_add(d->out, "%.17g %.17g\n", at(d->x, row), y);
                    drawn[s]  = true;
                    d->low_y  = y > 0 ? fmin(d->low_y, y) : d->low_y;
                    d->high_y = fmax(d->high_y, y);
                }
            }
            cs_text_add(d->out, "EOD\n");
        }
    }
    return cs_text_status(d->out, NULL);
}

typedef struct point {
    double x, y;
} point;

static int by_x(const void *a, const void *b)
{
    const point *p = a, *q = b;
    return p->x < q->x ? -1 : p->x > q->x ? 1 : p->y > q->y ? -1 : p->y < q->y;
}

/* The least bound of all series at each x: what no schedule can be below. */
static cs_status add_bounds(drawing *d, size_t n, bool *has_bound_p, cs_error *err)
{
    size_t panels = panels_of(d);
    point *points = CS_NEW(point, n + 1);

    if (points == NULL) {
        return CS_NO_MEMORY(err, "a plot");
    }
    *has_bound_p = false;
    for (size_t p = 0; p < panels; p++) {
        size_t k = 0;
        for (size_t i = 0; i < n; i++) {
            double y       = bound_at(d, d->order[i]);
            bool   is_here = d->n_panels == 0 || is_same(at(d->panel, d->order[i]), d->panels[p]);
            if (is_here && isfinite(y) && y > 0) {
                points[k++] = (point){at(d->x, d->order[i]), y};
            }
        }
        qsort(points, k, sizeof *points, by_x);
        cs_text_add(d->out, "$P%zuB << EOD\n", p);
        for (size_t i = 0; i < k; i++) {
            if (i + 1 == k || points[i + 1].x > points[i].x) { /* the last of an x is the least */
                cs_text_add(d->out, "%.17g %.17g\n", points[i].x, points[i].y);
                d->low_y     = fmin(d->low_y, points[i].y);
                *has_bound_p = true;
            }
        }
        cs_text_add(d->out, "EOD\n");
    }
    cs_free(points);
    return cs_text_status(d->out, err);
}

/* Series that are no algorithms take the looks in their order. */
static const cs_look *look_of(const drawing *d, size_t series)
{
    static const char *const others[] = {"ring",      "stragglar", "rhd",   "allpairs",
                                         "broadcast", "circulant", "optcc", "r2ccl"};

    if (d->n_series > 0 && d->series->has_words) {
        const cs_look *look = cs_look_of(d->series->words[(size_t)d->all_series[series]]);
        if (look->algorithm != NULL) {
            return look;
        }
    }
    return cs_look_of(others[series % (sizeof others / sizeof others[0])]);
}

static void add_style(const drawing *d, size_t series, bool has_points)
{
    const cs_look *look = look_of(d, series);

    cs_text_add(d->out, " with %s lc rgb '#%06X' lw 2", has_points ? "linespoints" : "lines",
                look->light);
    if (look->dash[0] != '\0') {
        cs_text_add(d->out, " dt (%s)", look->dash);
    }
    if (has_points) {
        cs_text_add(d->out, " pt %d ps 0.7", look->point);
    }
}

#define BOUND_STYLE " with lines lc rgb '" CS_LOOK_INK "' lw 2 dt (3,3)"

static void add_key(const drawing *d, const bool *drawn, bool has_bound, bool has_points)
{
    size_t series = d->n_series > 0 ? d->n_series : 1;
    char   word[VALUE_BYTES];

    for (size_t s = 0; s < series; s++) {
        if (!drawn[s]) {
            continue;
        }
        cs_text_add(d->out, ", \\\n  keyentry");
        add_style(d, s, has_points);
        if (d->n_series > 0) {
            value_text(d->series, d->all_series[s], word);
        } else {
            (void)snprintf(word, sizeof word, "%s", d->y->title);
        }
        cs_text_add(d->out, " title ");
        cs_gnuplot_quoted(d->out, word);
    }
    if (has_bound) {
        cs_text_add(d->out, ", \\\n  keyentry" BOUND_STYLE " title 'lower bound (proven)'");
    }
    cs_text_add(d->out, "\n");
}

static void add_plots(const drawing *d, size_t panel, bool has_bound, bool has_points)
{
    size_t series = d->n_series > 0 ? d->n_series : 1;

    cs_text_add(d->out, "plot ");
    for (size_t s = 0; s < series; s++) {
        cs_text_add(d->out, "%s$P%zuS%zu", s > 0 ? ", \\\n  " : "", panel, s);
        add_style(d, s, has_points);
    }
    if (has_bound) {
        cs_text_add(d->out, ", \\\n  $P%zuB" BOUND_STYLE, panel);
    }
    cs_text_add(d->out, "\n");
}

static void add_title(const drawing *d, const cs_plot *plot, const char *what)
{
    cs_text common = {0}, title = {0};

    common_text(d, &common);
    if (d->asked->title != NULL) {
        cs_text_add(&title, "%s", d->asked->title);
    } else {
        cs_text_add(&title, "%s%s%s", what, common.length > 0 ? ": " : "",
                    common.length > 0 ? common.data : "");
    }
    d->out->failed = d->out->failed || common.failed || title.failed;
    if (!d->out->failed) {
        cs_text_add(d->out, "set label 1 ");
        cs_gnuplot_quoted(d->out, title.data);
        cs_text_add(d->out, " at screen 0.5, screen TITLE center font ',%.3g'\n",
                    cs_gnuplot_letters(title.length, plot->width));
    }
    cs_text_free(&common);
    cs_text_free(&title);
}

/* The grid of panels, with room for a title and a key above them. */
static void size_picture(const drawing *d, cs_plot *plot, size_t *columns_p)
{
    size_t panels  = panels_of(d);
    size_t columns = panels <= 3 ? panels : panels == 4 ? 2 : 3;
    size_t lines   = (panels + columns - 1) / columns;

    *columns_p   = columns;
    plot->width  = panels == 1 ? CS_PICTURE_WIDTH : (int)columns * PANEL_WIDTH;
    plot->height = panels == 1 ? CS_PICTURE_HEIGHT : (int)lines * PANEL_HEIGHT + HEAD;
    plot->height += note_of(d);
}

static void begin_panels(const drawing *d, const cs_plot *plot)
{
    cs_text_add(d->out,
                "TITLE = %.4f\nset multiplot\nset border 3 lc rgb '#808080'\nset tics nomirror out "
                "textcolor rgb '" CS_LOOK_INK "' font ',11'\n",
                1 - 24.0 / plot->height);
}

/* A plot of nothing above the panels has the key of all; entries follow. */
static void begin_key(const drawing *d, const cs_plot *plot)
{
    cs_text_add(d->out,
                "set lmargin at screen 0.01\nset rmargin at screen 0.99\nset tmargin at screen "
                "%.4f\nset bmargin at screen %.4f\nunset border\nunset tics\nset xrange [0:1]\nset "
                "yrange [0:1]\nset key center center horizontal Left reverse noenhanced samplen 3 "
                "width 1 font ',11'\nplot NaN notitle",
                1 - 40.0 / plot->height, 1 - 78.0 / plot->height);
}

static void end_key(const drawing *d)
{
    cs_text_add(d->out,
                "unset key\nunset label\nset border 3 lc rgb '#808080'\nset xrange [*:*]\n");
    for (const char *axis = "xy"; *axis != '\0'; axis++) {
        cs_text_add(d->out, "set %ctics nomirror out textcolor rgb '" CS_LOOK_INK "' font ',11'\n",
                    *axis);
    }
}

/* The place and the title of a panel; labels of y stand at the first of a line. */
static void begin_panel(const drawing *d, const cs_plot *plot, size_t panel, size_t columns)
{
    size_t lines = (panels_of(d) + columns - 1) / columns, line = panel / columns;
    size_t column = panel % columns;
    double width =
        ((double)plot->width - left_of(d) - RIGHT - GAP * (double)(columns - 1)) / (double)columns;
    double height = ((double)plot->height - HEAD - note_of(d)) / (double)lines;
    double left   = left_of(d) + (double)column * (width + GAP);
    double top = (double)plot->height - HEAD - (double)line * height - (panels_of(d) > 1 ? 22 : 0);
    double bottom = (double)plot->height - HEAD - (double)(line + 1) * height + FOOT;
    char   word[VALUE_BYTES];

    cs_text_add(d->out,
                "set lmargin at screen %.4f\nset rmargin at screen %.4f\nset tmargin at screen "
                "%.4f\nset bmargin at screen %.4f\n",
                left / plot->width, (left + width) / plot->width, top / plot->height,
                bottom / plot->height);
    if (column > 0) {
        cs_text_add(d->out, "set ylabel ''\n");
    }
    if (d->asked->ratio_to == NULL || d->asked->is_heat) {
        add_ticks(d, "y", d->y, d->low_y, d->high_y, d->log_y, 12, column == 0);
    } else {
        cs_text_add(d->out, "set format y '%s'\n", column == 0 ? "%g" : "");
    }
    if (d->n_panels > 0) {
        value_text(d->panel, d->panels[panel], word);
        cs_text_add(d->out, "set title ");
        cs_gnuplot_quoted(d->out, word);
        cs_text_add(d->out, " offset 0,-0.6 font ',12'\n");
    }
}

/* Names of ticks that have room beside each other. */
static int most_ticks(const drawing *d, const cs_plot *plot, size_t columns)
{
    int most = (plot->width - left_of(d) - RIGHT) / (int)columns / 80;
    return most < 2 ? 2 : most;
}

static void add_axes(const drawing *d, const cs_plot *plot, size_t columns)
{
    cs_text_add(d->out, "set xlabel ");
    cs_gnuplot_quoted(d->out, d->x->title);
    cs_text_add(d->out, "\n%s%s", d->log_x ? "set logscale x\n" : "",
                d->log_y ? "set logscale y\n" : "");
    if (d->log_x) {
        cs_text_add(d->out, "set xrange [%.17g:%.17g]\n", d->low_x / 1.15, d->high_x * 1.15);
    }
    add_ticks(d, "x", d->x, d->low_x, d->high_x, d->log_x, most_ticks(d, plot, columns), true);
}

/* Where the curves lie, and how axes show that. */
static void choose_axes(drawing *d, size_t n, bool is_ratio)
{
    bool has_zero = false;

    find_range(d->x, d->order, n, &d->low_x, &d->high_x, &has_zero);
    d->log_x = is_log_axis(d, true, d->low_x, d->high_x, has_zero);
    d->low_y = isinf(d->low_y) ? 0 : d->low_y;
    d->log_y = !is_ratio && is_log_axis(d, false, d->low_y, d->high_y, false);
}

static void add_y_axis(const drawing *d, bool is_ratio)
{
    if (d->log_y) {
        cs_text_add(d->out, "set yrange [%.17g:%.17g]\n", d->low_y / 1.3, d->high_y * 1.3);
    } else {
        cs_text_add(d->out, "set yrange [0:%.17g]\n", d->high_y > 0 ? d->high_y * 1.06 : 1);
    }
    cs_text_add(d->out, "set grid ytics lt 1 lw 1 lc rgb '" CS_LOOK_GRID "'\n");
    if (is_ratio) {
        cs_text_add(d->out, "set arrow 1 from graph 0, first 1 to graph 1, first 1 nohead lc rgb "
                            "'#808080'\n");
    }
}

/* What the picture shows, as a heading. */
static void name_curves(const drawing *d, bool is_ratio, char *what, size_t bytes)
{
    if (is_ratio) {
        const char *title = d->y->title;
        (void)snprintf(what, bytes, "%.*s over that of %.60s", (int)strcspn(title, ","), title,
                       d->asked->ratio_to);
    } else {
        (void)snprintf(what, bytes, "%.80s", d->y->title);
    }
    what[0] = (char)(what[0] >= 'a' && what[0] <= 'z' ? what[0] - 'a' + 'A' : what[0]);
}

static cs_status draw_curves(drawing *d, size_t n, cs_plot *plot, cs_error *err)
{
    size_t reference, columns, series = d->n_series > 0 ? d->n_series : 1;
    bool   has_bound = false, drawn[MOST_SERIES] = {false};
    char   what[160];

    CS_TRY(find_reference(d, &reference, err));
    bool is_ratio   = reference != SIZE_MAX;
    bool has_points = n / panels_of(d) / series <= 40;
    d->low_y        = (double)INFINITY;
    CS_TRY(add_data(d, n, reference, drawn));
    CS_TRY(add_bounds(d, n, &has_bound, err));
    choose_axes(d, n, is_ratio);
    size_picture(d, plot, &columns);
    name_curves(d, is_ratio, what, sizeof what);
    begin_panels(d, plot);
    add_title(d, plot, what);
    begin_key(d, plot);
    add_key(d, drawn, has_bound, has_points);
    end_key(d);
    add_axes(d, plot, columns);
    add_y_axis(d, is_ratio);
    for (size_t p = 0; p < panels_of(d); p++) {
        begin_panel(d, plot, p, columns);
        add_plots(d, p, has_bound, has_points);
    }
    cs_text_add(d->out, "unset multiplot\n");
    return cs_text_status(d->out, err);
}

/* ---- which schedule is best ---- */

/* The strength of a colour says how much faster it is than what runs if nobody chooses. */
static const double gains[] = {0.01, 0.05, 0.1, 0.2, 0.3};
enum { GAINS = sizeof gains / sizeof gains[0] };

static double strength_of(double gain)
{
    int step = 0;

    while (step < GAINS && gain >= gains[step]) {
        step++;
    }
    return 0.12 + 0.88 * step / GAINS;
}

/* The borders of cells: halfway to the neighbours, as the axis shows them. */
static double border(const double *values, size_t n, size_t i, bool is_log, double zero)
{
#define SEEN(v) (is_log ? log((v) > 0 ? (v) : zero) : (v))
    double here;

    if (n == 1) {
        here = SEEN(values[0]) + (i == 0 ? -0.5 : 0.5);
    } else if (i == 0) {
        here = SEEN(values[0]) - 0.5 * (SEEN(values[1]) - SEEN(values[0]));
    } else if (i == n) {
        here = SEEN(values[n - 1]) + 0.5 * (SEEN(values[n - 1]) - SEEN(values[n - 2]));
    } else {
        here = 0.5 * (SEEN(values[i - 1]) + SEEN(values[i]));
    }
    return is_log ? exp(here) : here;
#undef SEEN
}

/* The end of a cell, a little behind it: the next one is drawn over that, so that no seam shows. */
static double overlap(const double *values, size_t n, size_t i, bool is_log, double zero)
{
    double begin = border(values, n, i, is_log, zero), end = border(values, n, i + 1, is_log, zero);

    return i + 1 == n ? end : end + 0.05 * (end - begin);
}

static size_t index_of(const double *values, size_t n, double value)
{
    size_t low = 0, high = n;

    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        if (values[middle] <= value) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

typedef struct map {
    double     *xs, *ys;
    size_t      n_x, n_y;
    size_t     *best;      /* [panel][y][x] row + 1 */
    double     *reference; /* the time of the reference there; NAN: none */
    const char *name;      /* of the reference; NULL: none */
} map;

static void close_map(map *m)
{
    cs_free(m->xs);
    cs_free(m->ys);
    cs_free(m->best);
    cs_free(m->reference);
}

static cs_status open_map(const drawing *d, map *m, cs_error *err)
{
    size_t panels = panels_of(d);

    m->n_x = n_values(d, d->x);
    m->n_y = n_values(d, d->y);
    if (m->n_x * m->n_y * panels > MOST_CELLS) {
        return CS_FAIL(err, CS_EINVAL, "--heat", "%zu cells are more than the %d that are accepted",
                       m->n_x * m->n_y * panels, MOST_CELLS);
    }
    m->xs        = CS_NEW(double, m->n_x);
    m->ys        = CS_NEW(double, m->n_y);
    m->best      = CS_NEW(size_t, m->n_x * m->n_y * panels);
    m->reference = CS_NEW(double, m->n_x * m->n_y * panels);
    if (m->xs == NULL || m->ys == NULL || m->best == NULL || m->reference == NULL) {
        return CS_NO_MEMORY(err, "a plot");
    }
    (void)cs_data_values(d->data, d->x, m->xs, m->n_x);
    (void)cs_data_values(d->data, d->y, m->ys, m->n_y);
    return CS_OK;
}

/* Whoever runs if nobody chooses, and is there. */
static const char *reference_name(const cs_data_column *series)
{
    static const char *const plain[] = {"nccl", "nccl_rings", "ring"};

    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++) {
        for (size_t w = 0; w < series->n_words; w++) {
            if (strcmp(series->words[w], plain[i]) == 0) {
                return plain[i];
            }
        }
    }
    return NULL;
}

static void fill_map(const drawing *d, size_t n, map *m)
{
    size_t cells = m->n_x * m->n_y * (d->n_panels > 0 ? d->n_panels : 1);

    m->name = d->asked->ratio_to != NULL ? d->asked->ratio_to : reference_name(d->series);
    for (size_t i = 0; i < cells; i++) {
        m->reference[i] = (double)NAN;
    }
    for (size_t i = 0; i < n; i++) {
        size_t row   = d->order[i];
        size_t panel = d->n_panels > 0 ? index_of(d->panels, d->n_panels, at(d->panel, row)) : 0;
        size_t cell  = (panel * m->n_y + index_of(m->ys, m->n_y, at(d->y, row))) * m->n_x +
                      index_of(m->xs, m->n_x, at(d->x, row));
        double      time = at(d->exposed, row);
        const char *word = cs_data_word(d->series, row);
        if (isnan(time)) {
            continue;
        }
        if (m->best[cell] == 0 || time < at(d->exposed, m->best[cell] - 1)) {
            m->best[cell] = row + 1;
        }
        if (m->name != NULL && word != NULL && strcmp(word, m->name) == 0) {
            m->reference[cell] = fmin(time, isnan(m->reference[cell]) ? time : m->reference[cell]);
        }
    }
}

static void add_cells(const drawing *d, const map *m, size_t panel, bool *is_best)
{
    double zero_x = d->low_x / 2, zero_y = d->low_y / 2;

    cs_text_add(d->out, "$P%zu << EOD\n", panel);
    for (size_t j = 0; j < m->n_y; j++) {
        for (size_t i = 0; i < m->n_x; i++) {
            size_t cell = (panel * m->n_y + j) * m->n_x + i;
            if (m->best[cell] == 0) {
                continue;
            }
            size_t row = m->best[cell] - 1;
            double gain =
                isnan(m->reference[cell]) ? 1 : 1 - at(d->exposed, row) / m->reference[cell];
            uint32_t colour = cs_look_mix(cs_look_of(cs_data_word(d->series, row))->light, 0xFFFFFF,
                                          strength_of(gain));
            is_best[(size_t)at(d->series, row)] = true;
            cs_text_add(d->out, "%.9g %.9g %.9g %.9g %.9g %.9g %u\n", m->xs[i], m->ys[j],
                        border(m->xs, m->n_x, i, d->log_x, zero_x),
                        overlap(m->xs, m->n_x, i, d->log_x, zero_x),
                        border(m->ys, m->n_y, j, d->log_y, zero_y),
                        overlap(m->ys, m->n_y, j, d->log_y, zero_y), colour);
        }
    }
    cs_text_add(d->out, "EOD\n");
}

static void add_map_axes(const drawing *d, const map *m, const cs_plot *plot, size_t columns)
{
    bool has_zero = m->xs[0] <= 0;

    add_axes(d, plot, columns);
    cs_text_add(d->out, "set ylabel ");
    cs_gnuplot_quoted(d->out, d->y->title);
    cs_text_add(d->out, "\nset xrange [%.9g:%.9g]\nset yrange [%.9g:%.9g]\n",
                border(m->xs, m->n_x, 0, d->log_x, d->low_x / 2),
                border(m->xs, m->n_x, m->n_x, d->log_x, d->low_x / 2),
                border(m->ys, m->n_y, 0, d->log_y, d->low_y / 2),
                border(m->ys, m->n_y, m->n_y, d->log_y, d->low_y / 2));
    if (has_zero && d->log_x) {
        cs_text_add(d->out, "set xtics add ('0' %.9g)\n", d->low_x / 2);
    }
}

/* Messages that meet at one GPU cost these models nothing. */
static bool hides_incast(const drawing *d, const bool *is_best)
{
    const cs_data_column *model = cs_data_find(d->data, "model");

    for (size_t w = 0; model != NULL && w < model->n_words; w++) {
        for (size_t s = 0; s < d->series->n_words && s < MOST_SERIES; s++) {
            if (is_best[s] && cs_look_is_flattered(d->series->words[s], model->words[w])) {
                return true;
            }
        }
    }
    return false;
}

/* ---- from which delay on a schedule pays: lines over the map ---- */

/* Which axis of the map is the delay of a rank; NULL: none is. */
static const cs_data_column *delay_axis(const drawing *d)
{
    const cs_data_column *axes[] = {d->y, d->x};

    for (int i = 0; i < 2; i++) {
        if (cs_ends_in(axes[i]->name, "].delay_s")) {
            return axes[i];
        }
    }
    return NULL;
}

/* The critical delays of one series in a panel, over the other axis: `points` has room for all
 * rows. The delay of the row does not count: all rows of a place have one value. */
static size_t critical_points(const drawing *d, size_t n, size_t panel, size_t series,
                              point *points)
{
    const cs_data_column *delay = delay_axis(d), *other = delay == d->y ? d->x : d->y;
    size_t                k = 0, kept = 0;

    for (size_t i = 0; i < n && delay != NULL && d->critical != NULL; i++) {
        double y = at(d->critical, d->order[i]);
        if (is_in(d, d->order[i], panel, series) && isfinite(y) && y > 0) {
            points[k++] = (point){at(other, d->order[i]), y};
        }
    }
    if (k > 0) {
        qsort(points, k, sizeof *points, by_x);
    }
    for (size_t i = 0; i < k; i++) {
        if (i + 1 == k || points[i + 1].x > points[i].x) {
            points[kept++] = points[i];
        }
    }
    return kept;
}

/* Blocks of data, $P0C0 for series 0, which has a line where `has_line` becomes true: where it is
 * the best one somewhere, and one of its points is on the map. */
static cs_status add_critical(const drawing *d, size_t n, const bool *is_best, bool *has_line,
                              cs_error *err)
{
    const cs_data_column *delay  = delay_axis(d);
    point                *points = CS_NEW(point, n + 1);
    double                low    = delay == d->y ? d->low_y : d->low_x;
    double                high   = delay == d->y ? d->high_y : d->high_x;

    if (points == NULL) {
        return CS_NO_MEMORY(err, "a plot");
    }
    for (size_t p = 0; p < panels_of(d); p++) {
        for (size_t s = 0; s < d->n_series; s++) {
            size_t k = critical_points(d, n, p, s, points);
            cs_text_add(d->out, "$P%zuC%zu << EOD\n", p, s);
            for (size_t i = 0; i < k; i++) {
                bool is_swapped = delay == d->x;
                cs_text_add(d->out, "%.9g %.9g\n", is_swapped ? points[i].y : points[i].x,
                            is_swapped ? points[i].x : points[i].y);
                has_line[s] = has_line[s] || (is_best[(size_t)d->all_series[s]] &&
                                              points[i].y >= low && points[i].y <= high);
            }
            cs_text_add(d->out, "EOD\n");
        }
    }
    cs_free(points);
    return CS_OK;
}

/* Lines differ by their dashes, should there be several. */
static void add_critical_style(const drawing *d, size_t line)
{
    static const char *const dashes[] = {"", " dt (6,3)", " dt (2,2)", " dt (8,3,2,3)"};

    cs_text_add(d->out, " with lines lc rgb '" CS_LOOK_INK "' lw 2.5%s", dashes[line % 4]);
}

static void add_critical_lines(const drawing *d, size_t panel, const bool *has_line)
{
    size_t line = 0;

    for (size_t s = 0; s < d->n_series; s++) {
        if (has_line[s]) {
            cs_text_add(d->out,
                        ", \\\n  $P%zuC%zu with lines lc rgb '#FFFFFF' lw 5, \\\n  $P%zuC%zu",
                        panel, s, panel, s);
            add_critical_style(d, line++);
        }
    }
}

/* Whom the algorithm is compared with, where that is the same in all rows. */
static const char *reference_of_delays(const drawing *d, size_t series)
{
    const cs_data_column *reference = cs_data_find(d->data, "delay_reference");
    const char           *only      = NULL;

    for (size_t r = 0; reference != NULL && r < d->data->n_rows; r++) {
        const char *word = cs_data_word(reference, r);
        if (word != NULL && is_same(at(d->series, r), d->all_series[series])) {
            if (only != NULL && strcmp(only, word) != 0) {
                return NULL;
            }
            only = word;
        }
    }
    return only;
}

/* "critical delay vs ring"; of several lines: "critical delay of StragglAR vs ring". */
static void add_critical_key(const drawing *d, const bool *has_line)
{
    size_t lines = 0, line = 0;
    char   word[VALUE_BYTES], title[3 * VALUE_BYTES];

    for (size_t s = 0; s < d->n_series; s++) {
        lines += has_line[s];
    }
    for (size_t s = 0; s < d->n_series; s++) {
        if (has_line[s]) {
            const char *reference = reference_of_delays(d, s);
            value_text(d->series, d->all_series[s], word);
            (void)snprintf(title, sizeof title, "critical delay%s%s%s%.60s",
                           lines > 1 ? " of " : "", lines > 1 ? word : "",
                           reference != NULL ? " vs " : "", reference != NULL ? reference : "");
            cs_text_add(d->out, ", \\\n  keyentry");
            add_critical_style(d, line++);
            cs_text_add(d->out, " title ");
            cs_gnuplot_quoted(d->out, title);
        }
    }
    cs_text_add(d->out, "\n");
}

static void add_map_key(const drawing *d, const bool *is_best)
{
    char word[VALUE_BYTES];

    for (size_t s = 0; s < d->series->n_words && s < MOST_SERIES; s++) {
        if (is_best[s]) {
            value_text(d->series, (double)s, word);
            cs_text_add(d->out, ", \\\n  keyentry with boxes fs solid 1 lc rgb '#%06X' title ",
                        cs_look_of(d->series->words[s])->light);
            cs_gnuplot_quoted(d->out, word);
        }
    }
}

/* What the strength of a colour means. */
static void add_strength(const drawing *d, const map *m, const cs_plot *plot)
{
    char words[160];

    if (m->name != NULL) {
        (void)snprintf(words, sizeof words, "pale: less than 1 %% faster than %.40s; full: 30 %%",
                       m->name);
        cs_text_add(d->out, "set label 3 ");
        cs_gnuplot_quoted(d->out, words);
        cs_text_add(d->out, " at screen 0.01, screen %.4f left font ',10'\n", 12.0 / plot->height);
    }
}

static cs_status draw_cells(drawing *d, size_t n, const map *m, cs_plot *plot, cs_error *err)
{
    size_t columns;
    bool   is_best[MOST_SERIES] = {false}, has_line[MOST_SERIES] = {false};

    for (size_t p = 0; p < panels_of(d); p++) {
        add_cells(d, m, p, is_best);
    }
    CS_TRY(add_critical(d, n, is_best, has_line, err));
    size_picture(d, plot, &columns);
    begin_panels(d, plot);
    add_title(d, plot, "The best schedule");
    add_strength(d, m, plot);
    if (hides_incast(d, is_best)) {
        cs_text_add(
            d->out,
            "set label 2 'no incast in this model: allpairs looks too good' at screen 0.99, "
            "screen %.4f right font ',10'\n",
            12.0 / plot->height);
    }
    begin_key(d, plot);
    add_map_key(d, is_best);
    add_critical_key(d, has_line);
    end_key(d);
    add_map_axes(d, m, plot, columns);
    for (size_t p = 0; p < panels_of(d); p++) {
        begin_panel(d, plot, p, columns);
        cs_text_add(d->out,
                    "plot $P%zu using 1:2:3:4:5:6:7 with boxxyerror fs solid 1 noborder lc rgb "
                    "variable",
                    p);
        add_critical_lines(d, p, has_line);
        cs_text_add(d->out, "\n");
    }
    cs_text_add(d->out, "unset multiplot\n");
    return cs_text_status(d->out, err);
}

static cs_status draw_map(drawing *d, size_t n, cs_plot *plot, cs_error *err)
{
    map       m      = {.name = NULL};
    bool      zero_x = false, zero_y = false;
    cs_status status = open_map(d, &m, err);

    if (status == CS_OK) {
        fill_map(d, n, &m);
        find_range(d->x, d->order, n, &d->low_x, &d->high_x, &zero_x);
        find_range(d->y, d->order, n, &d->low_y, &d->high_y, &zero_y);
        d->log_x = is_log_axis(d, true, d->low_x, d->high_x, zero_x);
        d->log_y = is_log_axis(d, false, d->low_y, d->high_y, zero_y);
        status   = draw_cells(d, n, &m, plot, err);
    }
    close_map(&m);
    return status;
}

/* ---- all of it ---- */

static cs_status count_groups(drawing *d, cs_error *err)
{
    d->n_panels = d->panel != NULL ? cs_data_values(d->data, d->panel, d->panels, MOST_PANELS) : 0;
    if (d->n_panels > MOST_PANELS) {
        return CS_FAIL(err, CS_EINVAL, "--panel", "%s has %zu values: accepted are at most %d",
                       d->panel->name, d->n_panels, MOST_PANELS);
    }
    d->n_series =
        d->series != NULL ? cs_data_values(d->data, d->series, d->all_series, MOST_SERIES) : 0;
    if (d->n_series > MOST_SERIES) {
        return CS_FAIL(err, CS_EINVAL, "--series", "%s has %zu values: accepted are at most %d",
                       d->series->name, d->n_series, MOST_SERIES);
    }
    if (d->asked->is_heat && (d->series == NULL || !d->series->has_words || d->exposed == NULL)) {
        return CS_FAIL(err, CS_EINVAL, "--heat",
                       "needs results: columns algorithm and exposed_s with several algorithms");
    }
    return CS_OK;
}

cs_status cs_plot_make(const cs_data *data, const cs_plot_request *request, cs_plot *plot,
                       cs_error *err)
{
    drawing d = {.data = data, .asked = request, .out = &plot->script};
    size_t  n = 0;

    *plot      = (cs_plot){.width = CS_PICTURE_WIDTH, .height = CS_PICTURE_HEIGHT};
    d.elapsed  = cs_data_find(data, "elapsed_s");
    d.exposed  = cs_data_find(data, "exposed_s");
    d.bound    = d.elapsed != NULL && d.exposed != NULL ? cs_data_find(data, "bound_s") : NULL;
    d.critical = cs_data_find(data, "critical_delay_s");
    find_inputs(&d);
    cs_status status = choose_columns(&d, err);
    status           = status == CS_OK ? count_groups(&d, err) : status;
    status           = status == CS_OK ? order_rows(&d, &n, err) : status;
    if (status == CS_OK) {
        status = request->is_heat ? draw_map(&d, n, plot, err) : draw_curves(&d, n, plot, err);
    }
    cs_free(d.order);
    return status;
}
