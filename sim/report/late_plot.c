/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ranks are put into groups; each group has a value and a band at every point, out of the calls and
 * ranks that share it. */
#include "report/late_plot.h"

#include "base/alloc.h"
#include "output/look.h"
#include "output/svg.h"
#include "report/quantity.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    MOST_GROUPS = CS_LOOKS_APART,
    OTHERS      = MOST_GROUPS, /* the group of all that are not late */
    NAME_BYTES  = 96,
    HEAD        = 66, /* pixels of title and subtitle */
    FOOT        = 62, /* .. of the axis of calls */
    KEY_LINE    = 19,
    FEW_POINTS  = 60, /* points have marks */
    FEW_TICKS   = 12  /* every call has a number */
};

/* A logarithmic axis: the largest values are so many times those that most calls have. */
#define LOG_FROM 20.0
#define SELDOM   0.02 /* of the points: what is larger there is not usual */

/* Ranks that are drawn as one. */
typedef struct group {
    char     name[NAME_BYTES];
    uint32_t n_ranks;
    bool     is_left;                   /* by when they leave: their network is slow */
    double  *middle_s, *low_s, *high_s; /* [n_points]; owned */
} group;

typedef struct drawing {
    const cs_arrival_trace *trace;
    const cs_skew          *skew;
    const cs_arrival_notes *notes;
    size_t                  n_points, n_of_point; /* calls that share a point; the last has less */
    group                   groups[MOST_GROUPS + 1]; /* the last one: OTHERS */
    size_t                  n_groups;
    uint32_t               *group_of; /* [n_ranks] */
    bool                    is_log;
    double                  low_s, high_s; /* ends of the axis */
    double                  unit_s;
    const char             *unit;
    cs_text                *out;
} drawing;

/* ---- groups ---- */

static double late_s(const cs_skew_rank *rank)
{
    return rank->cause == CS_LATE_NETWORK ? rank->left_s : rank->came_s;
}

/* A group with room for more ranks; where there is none left, the last one takes all. */
static size_t new_group(drawing *d, const char *name)
{
    if (d->n_groups == MOST_GROUPS) {
        return MOST_GROUPS - 1;
    }
    (void)snprintf(d->groups[d->n_groups].name, NAME_BYTES, "%s", name);
    return d->n_groups++;
}

static void join(drawing *d, uint32_t rank, size_t g)
{
    group *to         = &d->groups[g];
    d->group_of[rank] = (uint32_t)g;
    to->is_left =
        d->skew->ranks[rank].cause == CS_LATE_NETWORK && (to->n_ranks == 0 || to->is_left);
    to->n_ranks++;
}

/* Ranks of a server or rail of which most are late. */
static void add_part(drawing *d, const uint32_t *part_of, uint32_t part, const char *name)
{
    size_t g = new_group(d, name);

    for (uint32_t r = 0; r < d->trace->n_ranks; r++) {
        if (part_of[r] == part && d->group_of[r] == OTHERS &&
            d->skew->ranks[r].cause != CS_LATE_NOT) {
            join(d, r, g);
        }
    }
}

static bool is_late_part(const cs_skew_part *part)
{
    return part->cause != CS_LATE_NOT && part->n_ranks > 1;
}

static void add_servers(drawing *d)
{
    for (uint32_t v = 0; v < d->skew->n_servers && d->n_groups < MOST_GROUPS - 1; v++) {
        char host[64], name[NAME_BYTES];
        if (is_late_part(&d->skew->servers[v])) {
            cs_plain_text(host, sizeof host, d->trace->server_names[v]);
            (void)snprintf(name, sizeof name, "server %s", host);
            add_part(d, d->trace->server, v, name);
        }
    }
}

/* The place of each rank in its server; `scratch` has room for all servers. */
static void find_rails(const drawing *d, uint32_t *rail_of, uint32_t *scratch)
{
    for (uint32_t r = 0; r < d->trace->n_ranks; r++) {
        rail_of[r] = scratch[d->trace->server[r]]++;
    }
}

static cs_status add_rails(drawing *d, cs_error *err)
{
    if (d->skew->n_rails == 0) {
        return CS_OK;
    }
    uint32_t *rail_of = CS_NEW(uint32_t, d->trace->n_ranks);
    uint32_t *scratch = CS_NEW(uint32_t, d->trace->n_servers);
    bool      is_room = rail_of != NULL && scratch != NULL;

    if (is_room) {
        find_rails(d, rail_of, scratch);
    }
    for (uint32_t k = 0; is_room && k < d->skew->n_rails && d->n_groups < MOST_GROUPS - 1; k++) {
        char name[NAME_BYTES];
        if (is_late_part(&d->skew->rails[k])) {
            (void)snprintf(name, sizeof name, "rail %u", k);
            add_part(d, rail_of, k, name);
        }
    }
    cs_free(rail_of);
    cs_free(scratch);
    return is_room ? CS_OK : CS_NO_MEMORY(err, "the rails of a picture");
}

/* The latest rank that is in no group yet; UINT32_MAX: none is late. */
static uint32_t latest(const drawing *d)
{
    const cs_skew *skew = d->skew;
    uint32_t       best = UINT32_MAX;

    if (d->group_of[skew->straggler] == OTHERS) {
        return skew->straggler;
    }
    for (uint32_t r = 0; r < skew->n_ranks; r++) {
        if (d->group_of[r] == OTHERS && skew->ranks[r].cause != CS_LATE_NOT &&
            (best == UINT32_MAX || late_s(&skew->ranks[r]) > late_s(&skew->ranks[best]))) {
            best = r;
        }
    }
    return best;
}

static cs_status find_groups(drawing *d, cs_error *err)
{
    d->group_of = CS_NEW(uint32_t, d->trace->n_ranks);
    if (d->group_of == NULL) {
        return CS_NO_MEMORY(err, "the ranks of a picture");
    }
    for (uint32_t r = 0; r < d->trace->n_ranks; r++) {
        d->group_of[r] = OTHERS;
    }
    add_servers(d);
    CS_TRY(add_rails(d, err));
    for (uint32_t r = latest(d); r != UINT32_MAX; r = latest(d)) {
        char name[NAME_BYTES];
        (void)snprintf(name, sizeof name, "rank %u", cs_trace_number(d->trace, r));
        join(d, r, new_group(d, name));
    }
    group *last = &d->groups[MOST_GROUPS - 1];
    if (d->n_groups == MOST_GROUPS && last->n_ranks > 1) {
        (void)snprintf(last->name, NAME_BYTES, "%u more", last->n_ranks);
    }
    d->groups[OTHERS].n_ranks = d->trace->n_ranks;
    for (size_t g = 0; g < d->n_groups; g++) {
        d->groups[OTHERS].n_ranks -= d->groups[g].n_ranks;
    }
    return CS_OK;
}

static const group *group_of_straggler(const drawing *d)
{
    return &d->groups[d->group_of[d->skew->straggler]];
}

/* ---- points ---- */

/* Which call is the first of a point; of the one behind the last, how many there are. */
static size_t first_call(const drawing *d, size_t point)
{
    const size_t first = point * d->n_of_point;
    return first < d->trace->n_calls ? first : d->trace->n_calls;
}

/* Where a point stands: the middle of its calls. */
static double place_of(const drawing *d, size_t point)
{
    return ((double)first_call(d, point) + (double)first_call(d, point + 1) - 1) / 2;
}

static double quantile(const double *sorted, size_t n, double q)
{
    return cs_estimate_quantile(sorted, n, q, 0).value;
}

/* What it takes to find points: of all entries of a point's calls, group by group. */
typedef struct finding {
    double *late_s[2]; /* [n_ranks] of a call: when ranks come, and when they leave */
    double *sorted_s;  /* [n_ranks] */
    double *values;    /* [entries of a point] */
    bool    is_asked[2];
} finding;

/* The values of all groups at a point. */
static void find_point(const drawing *d, size_t point, const finding *f)
{
    const uint32_t n     = d->trace->n_ranks;
    const size_t   first = first_call(d, point), n_calls = first_call(d, point + 1) - first;
    size_t         at[MOST_GROUPS + 1] = {0};

    for (size_t g = 1; g <= OTHERS; g++) {
        at[g] = at[g - 1] + d->groups[g - 1].n_ranks * n_calls;
    }
    for (size_t c = first; c < first + n_calls; c++) {
        for (int k = 0; k < 2; k++) {
            if (f->is_asked[k]) {
                cs_skew_call(d->trace, c, k == 1, f->late_s[k], f->sorted_s);
            }
        }
        for (uint32_t r = 0; r < n; r++) {
            const uint32_t g   = d->group_of[r];
            f->values[at[g]++] = f->late_s[d->groups[g].is_left][r];
        }
    }
    for (size_t g = 0; g <= OTHERS; g++) {
        const group *of     = &d->groups[g];
        const size_t n_in   = of->n_ranks * n_calls;
        double      *values = f->values + at[g] - n_in;
        if (n_in > 0) {
            cs_sort_samples(values, n_in);
            of->middle_s[point] = quantile(values, n_in, 0.5);
            of->low_s[point]    = g == OTHERS ? of->middle_s[point] : values[0];
            of->high_s[point]   = g == OTHERS ? quantile(values, n_in, 0.95) : values[n_in - 1];
        }
    }
}

static bool make_room(drawing *d, finding *f)
{
    const size_t n_ranks = d->trace->n_ranks;
    bool         is_room = true;

    f->late_s[0] = CS_NEW(double, n_ranks);
    f->late_s[1] = CS_NEW(double, n_ranks);
    f->sorted_s  = CS_NEW(double, n_ranks);
    f->values    = CS_NEW(double, d->n_of_point *n_ranks);
    for (size_t g = 0; g <= OTHERS; g++) {
        group *of    = &d->groups[g];
        of->middle_s = CS_NEW(double, d->n_points);
        of->low_s    = CS_NEW(double, d->n_points);
        of->high_s   = CS_NEW(double, d->n_points);
        is_room      = is_room && of->middle_s != NULL && of->low_s != NULL && of->high_s != NULL;
        f->is_asked[of->is_left] = f->is_asked[of->is_left] || of->n_ranks > 0;
    }
    return is_room && f->late_s[0] != NULL && f->late_s[1] != NULL && f->sorted_s != NULL &&
           f->values != NULL;
}

static cs_status find_points(drawing *d, cs_error *err)
{
    const size_t n = d->trace->n_calls;
    finding      f = {.values = NULL};

    d->n_of_point             = (n - 1) / CS_LATE_PLOT_POINTS + 1;
    d->n_points               = (n - 1) / d->n_of_point + 1;
    d->groups[OTHERS].is_left = group_of_straggler(d)->is_left;
    const bool is_room        = make_room(d, &f);
    for (size_t p = 0; p < d->n_points && is_room; p++) {
        find_point(d, p, &f);
    }
    cs_free(f.late_s[0]);
    cs_free(f.late_s[1]);
    cs_free(f.sorted_s);
    cs_free(f.values);
    return is_room ? CS_OK : CS_NO_MEMORY(err, "the points of a picture");
}

/* The ends of the axis, and whether it is logarithmic: where the largest values, or other groups,
 * would leave nothing to see of what is usual. `scratch` has room for all points. */
static void choose_axis(drawing *d, double *scratch)
{
    double usual_s = 0, least_s = (double)INFINITY;

    for (size_t g = 0; g <= OTHERS; g++) {
        const group *of = &d->groups[g];
        for (size_t p = 0; p < d->n_points && of->n_ranks > 0; p++) {
            d->high_s  = fmax(d->high_s, of->high_s[p]);
            d->low_s   = fmin(d->low_s, of->low_s[p]);
            scratch[p] = of->high_s[p];
        }
        if (g < d->n_groups) {
            cs_sort_samples(scratch, d->n_points);
            double most_s = quantile(scratch, d->n_points, 1 - SELDOM);
            usual_s       = fmax(usual_s, most_s);
            least_s       = most_s > 0 ? fmin(least_s, most_s) : least_s;
        }
    }
    d->high_s = fmax(d->high_s, fmax(1.5 * d->trace->clock_error_s, 1e-9));
    d->is_log = usual_s > 0 && (d->high_s > LOG_FROM * usual_s || usual_s > LOG_FROM * least_s);
    if (d->is_log) {
        d->low_s = fmax(d->trace->clock_error_s / 2, fmin(least_s / 10, d->high_s / 1000));
    }
    d->unit = cs_time_unit(d->high_s, &d->unit_s);
}

/* A value on the axis, in its unit. */
static double on_axis(const drawing *d, double value_s)
{
    return fmax(value_s, d->is_log ? d->low_s : value_s) / d->unit_s;
}

static void add_blocks(const drawing *d)
{
    for (size_t g = 0; g <= OTHERS; g++) {
        const group *of = &d->groups[g];
        cs_text_add(d->out, "$G%zu << END\n", g);
        for (size_t p = 0; p < d->n_points && of->n_ranks > 0; p++) {
            cs_text_add(d->out, "%.6g %.6g %.6g %.6g\n", place_of(d, p),
                        on_axis(d, of->middle_s[p]), on_axis(d, of->low_s[p]),
                        on_axis(d, of->high_s[p]));
        }
        cs_text_add(d->out, "END\n");
    }
}

/* ---- words ---- */

/* "Rank 5 comes 5.52 ms late: its GPU is late, the host makes the call in time" */
static void add_answer(const drawing *d, cs_text *title)
{
    const cs_skew_rank *rank   = &d->skew->ranks[d->skew->straggler];
    const group        *of     = group_of_straggler(d);
    uint32_t            number = cs_trace_number(d->trace, d->skew->straggler);
    uint32_t            n_more = d->trace->n_ranks - d->groups[OTHERS].n_ranks - of->n_ranks;
    char                time[CS_QUANTITY_BYTES], share[CS_QUANTITY_BYTES];

    cs_quantity_text(CS_QUANTITY_S, late_s(rank), time);
    cs_percent_text(d->skew->last_ratio, share);
    if (rank->cause == CS_LATE_NOT) {
        cs_text_add(title,
                    "Nobody is late more often than by chance; rank %u is last in %s of the calls",
                    number, share);
        return;
    }
    cs_text_add(title, "Rank %u %s %s late: %s", number,
                rank->cause == CS_LATE_NETWORK ? "leaves" : "comes", time,
                cs_late_cause_words(rank->cause));
    if (of->n_ranks > 1) {
        cs_text_add(title, "; so are %u more of %s", of->n_ranks - 1, of->name);
    }
    if (n_more > 0) {
        cs_text_add(title, "; %u other%s %s late, too", n_more, n_more > 1 ? "s" : "",
                    n_more > 1 ? "are" : "is");
    }
}

/* What the answer is about. */
static void add_subject(const drawing *d, cs_text *line)
{
    const cs_pattern *p = &d->skew->pattern;
    char              time[CS_QUANTITY_BYTES];

    cs_text_add(line,
                "%s: %zu call%s of %u ranks; late: on average behind the first quarter of the "
                "others",
                d->notes->format, d->trace->n_calls, d->trace->n_calls == 1 ? "" : "s",
                d->trace->n_ranks);
    if (p->kind == CS_PATTERN_PERIODIC) {
        cs_text_add(line, "; it repeats every %zu calls", p->period_calls);
    } else if (p->kind == CS_PATTERN_DRIFTING) {
        cs_quantity_text(CS_QUANTITY_S, fabs(p->slope_s_per_call), time);
        cs_text_add(line, "; %s %s from call to call", time,
                    p->slope_s_per_call > 0 ? "later" : "earlier");
    } else if (p->kind == CS_PATTERN_CHANGING) {
        cs_text_add(line, "; it changes %zu time%s", p->n_changes, p->n_changes > 1 ? "s" : "");
    }
}

static void add_label(const drawing *d, int tag, const cs_text *words, int pixels_down, double most)
{
    cs_text_add(d->out, "set label %d ", tag);
    cs_gnuplot_quoted(d->out, words->data != NULL ? words->data : "");
    cs_text_add(d->out, " at screen 0.5, screen 1-%d/HEIGHT center font ',%.3g' tc rgb '%s'\n",
                pixels_down, fmin(most, cs_gnuplot_letters(words->length, CS_PICTURE_WIDTH)),
                CS_LOOK_INK);
}

static void add_words(const drawing *d)
{
    cs_text title = {0}, subject = {0};

    add_answer(d, &title);
    add_subject(d, &subject);
    add_label(d, 1, &title, 22, 14);
    add_label(d, 2, &subject, 44, 10);
    d->out->failed = d->out->failed || title.failed || subject.failed;
    cs_text_free(&title);
    cs_text_free(&subject);
}

/* ---- what the lateness of the straggler does ---- */

static double last_call(const drawing *d)
{
    return d->trace->n_calls > 1 ? (double)(d->trace->n_calls - 1) : 1;
}

static void add_line(const drawing *d, double from, double from_s, double to, double to_s)
{
    cs_text_add(d->out,
                "set arrow from first %.6g,%.6g to first %.6g,%.6g nohead front lw 1.2 dt (3,5) lc "
                "rgb '" CS_LOOK_INK "'\n",
                from, on_axis(d, from_s), to, on_axis(d, to_s));
}

/* Steps: the means between them, and where they are. */
static void add_changes(const drawing *d)
{
    const cs_pattern *p     = &d->skew->pattern;
    const double      width = last_call(d);

    for (size_t i = 0; i <= p->n_changes; i++) {
        double from  = i > 0 ? (double)p->change[i - 1] - 0.5 : 0;
        double until = i < p->n_changes ? (double)p->change[i] - 0.5 : width;
        char   time[CS_QUANTITY_BYTES], words[2 * CS_QUANTITY_BYTES];
        add_line(d, from, p->mean_s[i], until, p->mean_s[i]);
        if (i == 0) {
            continue;
        }
        cs_text_add(d->out,
                    "set arrow from first %.6g, graph 0 to first %.6g, graph 1 nohead back lw 1 dt "
                    "(2,3) lc rgb '" CS_LOOK_INK "'\n",
                    from, from);
        cs_quantity_text(CS_QUANTITY_S, p->mean_s[i], time);
        if (until - from > 0.2 * width) {
            (void)snprintf(words, sizeof words, " from call %zu on: %s", p->change[i - 1], time);
        } else if (until - from > 0.06 * width) {
            (void)snprintf(words, sizeof words, " %zu", p->change[i - 1]);
        } else {
            continue;
        }
        cs_text_add(d->out, "set label ");
        cs_gnuplot_quoted(d->out, words);
        cs_text_add(d->out, " at first %.6g, graph 0.96 left font ',10'\n", from);
    }
}

/* One period, from the latest call of the first one to that of the next. */
static void add_period(const drawing *d)
{
    const cs_pattern *p     = &d->skew->pattern;
    const double      width = last_call(d);
    const size_t      n     = d->trace->n_calls / p->period_calls;
    const group      *of    = group_of_straggler(d);
    size_t            peak  = 0;

    if ((double)p->period_calls < 0.04 * width || n < 2 || d->n_of_point > 1) {
        return; /* too short to be seen: the subtitle says it */
    }
    for (size_t k = 1; k < p->period_calls; k++) {
        peak = of->middle_s[k] > of->middle_s[peak] ? k : peak;
    }
    cs_text_add(d->out,
                "set arrow from first %zu, graph 0.97 to first %zu, graph 0.97 heads front lw 1 lc "
                "rgb '" CS_LOOK_INK "'\nset label '  %zu calls' at first %zu, graph 0.97 left font "
                "',10'\n",
                peak, peak + p->period_calls, p->period_calls, peak + p->period_calls);
}

static void add_pattern(const drawing *d)
{
    const cs_pattern   *p    = &d->skew->pattern;
    const cs_skew_rank *rank = &d->skew->ranks[d->skew->straggler];
    const double        half = p->slope_s_per_call * last_call(d) / 2;

    switch (p->kind) {
    case CS_PATTERN_CHANGING: add_changes(d); break;
    case CS_PATTERN_PERIODIC: add_period(d); break;
    case CS_PATTERN_DRIFTING:
        add_line(d, 0, late_s(rank) - half, last_call(d), late_s(rank) + half);
        break;
    case CS_PATTERN_STEADY:
    case CS_PATTERN_KINDS: break;
    }
}

/* ---- the picture ---- */

/* The clocks' error at the foot. */
static void add_error(const drawing *d)
{
    if (d->trace->clock_error_s > 0) {
        cs_text_add(d->out,
                    "set object 1 rectangle from graph 0, first %.6g to graph 1, first %.6g back "
                    "fs solid 1 noborder fc rgb '#FBE8CF'\n",
                    on_axis(d, fmax(d->low_s, -d->trace->clock_error_s)),
                    on_axis(d, d->trace->clock_error_s));
    }
}

static void add_axes(const drawing *d)
{
    const double room = 0.06 * (d->high_s - d->low_s);

    cs_text_add(d->out,
                "set border 3 lc rgb '#808080'\nset tics nomirror out textcolor rgb '" CS_LOOK_INK
                "' font ',11'\nset grid ytics lc rgb '" CS_LOOK_GRID "'\nset xlabel 'call");
    if (d->n_of_point > 1) {
        cs_text_add(d->out,
                    " (%zu share a point: their middle; a band from the least to the largest)",
                    d->n_of_point);
    }
    cs_text_add(d->out, "' offset 0,0.4 font ',11'\nset ylabel 'late by (%s%s)' font ',11'\n",
                d->unit, d->is_log ? "; what is less stands at the foot" : "");
    const double margin = d->trace->n_calls > 1 ? 0.01 * last_call(d) : 1;
    cs_text_add(d->out, "set xrange [%.6g:%.6g]\n%sset yrange [%.6g:%.6g]\n%s", -margin,
                (double)(d->trace->n_calls - 1) + margin,
                d->trace->n_calls <= FEW_TICKS ? "set xtics 1\n" : "",
                (d->is_log ? d->low_s : d->low_s - room / 3) / d->unit_s,
                (d->is_log ? d->high_s * 2 : d->high_s + 2 * room) / d->unit_s,
                d->is_log ? "set logscale y\nset format y '%g'\n" : "");
}

static bool has_band(const drawing *d, const group *of)
{
    return of->n_ranks > 1 || d->n_of_point > 1;
}

static void add_others(const drawing *d)
{
    const group *of = &d->groups[OTHERS];

    if (of->n_ranks == 1) {
        cs_text_add(
            d->out,
            ", \\\n  $G%d using 1:2 with linespoints pt 7 ps 0.3 lw 2 lc rgb '#9A9A9A' title 'the "
            "other rank'",
            OTHERS);
    } else if (of->n_ranks > 1) {
        cs_text_add(
            d->out,
            ", \\\n  $G%d using %s rgb '#C9C9C9' title 'the other %u ranks, middle to 95 %%'",
            OTHERS,
            d->n_points > 1 ? "1:3:4 with filledcurves fs solid 1 noborder fc"
                            : "1:3:3:4 with yerrorbars pt 0 lw 12 lc",
            of->n_ranks);
    }
}

static void add_curves(const drawing *d)
{
    cs_text_add(d->out, "plot NaN notitle");
    add_others(d);
    for (size_t g = 0; g < d->n_groups; g++) {
        if (has_band(d, &d->groups[g])) {
            cs_text_add(d->out,
                        ", \\\n  $G%zu using 1:3:4 with filledcurves fs transparent solid 0.25 "
                        "noborder fc rgb '#%06X' notitle",
                        g, cs_look_apart(g)->light);
        }
    }
    for (size_t g = d->n_groups; g-- > 0;) { /* the latest on top */
        const cs_look *look = cs_look_apart(g);
        cs_text_add(d->out, ", \\\n  $G%zu using 1:2 with %s lw 2 lc rgb '#%06X'", g,
                    d->n_points <= FEW_POINTS ? "linespoints" : "lines", look->light);
        if (d->n_points <= FEW_POINTS) {
            cs_text_add(d->out, " pt %d ps 0.7", look->point);
        }
        cs_text_add(d->out, " notitle");
    }
}

/* The groups by name, the straggler's first in the order of their colours. */
static void add_key(const drawing *d)
{
    for (size_t g = 0; g < d->n_groups; g++) {
        const group   *of   = &d->groups[g];
        const cs_look *look = cs_look_apart(g);
        char           words[2 * NAME_BYTES];
        (void)snprintf(words, sizeof words, "%s%s", of->name,
                       of->is_left != d->groups[OTHERS].is_left ? " (when it leaves)" : "");
        cs_text_add(d->out, ", \\\n  keyentry with %s lw 2 lc rgb '#%06X'",
                    d->n_points <= FEW_POINTS ? "linespoints" : "lines", look->light);
        if (d->n_points <= FEW_POINTS) {
            cs_text_add(d->out, " pt %d ps 0.7", look->point);
        }
        cs_text_add(d->out, " title ");
        cs_gnuplot_quoted(d->out, words);
    }
    if (d->trace->clock_error_s > 0) {
        char time[CS_QUANTITY_BYTES];
        cs_quantity_text(CS_QUANTITY_S, d->trace->clock_error_s, time);
        cs_text_add(d->out,
                    ", \\\n  keyentry with boxes fs solid 1 noborder fc rgb '#FBE8CF' title "
                    "'error of the clocks: %s'",
                    time);
    }
    cs_text_add(d->out, "\n");
}

/* How many lines the key has, with as many entries each as have room. */
static size_t key_lines(const drawing *d, size_t *columns_p)
{
    const bool has_others = d->groups[OTHERS].n_ranks > 0;
    size_t     n          = d->n_groups + has_others + (d->trace->clock_error_s > 0);
    size_t     longest    = has_others ? 40 : 10;

    for (size_t g = 0; g < d->n_groups; g++) {
        size_t length = strlen(d->groups[g].name) + (d->groups[g].is_left ? 18 : 0);
        longest       = length > longest ? length : longest;
    }
    size_t columns = (size_t)(CS_PICTURE_WIDTH - 20) / (60 + 7 * longest);
    *columns_p     = columns < 1 ? 1 : columns > n ? n : columns;
    return (n + *columns_p - 1) / *columns_p;
}

static void draw(const drawing *d, cs_plot *plot)
{
    size_t       columns;
    const size_t lines = key_lines(d, &columns);

    plot->width  = CS_PICTURE_WIDTH;
    plot->height = CS_PICTURE_HEIGHT + (int)(lines > 2 ? (lines - 2) * KEY_LINE : 0);
    cs_text_add(d->out,
                "HEIGHT = %d.0\nset tmargin at screen 1-%d/HEIGHT\n"
                "set bmargin at screen %zu/HEIGHT\n"
                "set key at screen 0.5, screen 6/HEIGHT center bottom horizontal maxcols %zu Left "
                "reverse noenhanced samplen 2.5 width 1 font ',11'\n",
                plot->height, HEAD, FOOT + lines * KEY_LINE, columns);
    add_blocks(d);
    add_words(d);
    add_axes(d);
    add_error(d);
    add_pattern(d);
    add_curves(d);
    add_key(d);
}

cs_status cs_late_plot_make(const cs_arrival_trace *trace, const cs_skew *skew,
                            const cs_arrival_notes *notes, cs_plot *plot, cs_error *err)
{
    drawing   d      = {.trace = trace, .skew = skew, .notes = notes, .out = &plot->script};
    cs_status status = find_groups(&d, err);

    if (status == CS_OK) {
        status = find_points(&d, err);
    }
    double *scratch = status == CS_OK ? CS_NEW(double, d.n_points) : NULL;
    if (status == CS_OK && scratch == NULL) {
        status = CS_NO_MEMORY(err, "the axis of a picture");
    }
    if (status == CS_OK) {
        choose_axis(&d, scratch);
        draw(&d, plot);
        status = cs_text_status(&plot->script, err);
    }
    cs_free(scratch);
    cs_free(d.group_of);
    for (size_t g = 0; g <= OTHERS; g++) {
        cs_free(d.groups[g].middle_s);
        cs_free(d.groups[g].low_s);
        cs_free(d.groups[g].high_s);
    }
    return status;
}
