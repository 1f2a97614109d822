/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A small schedule as a space-time grid: rows are ports, time goes to the right, every transfer is
 * a box on the row of its sender and on that of its receiver, coloured by what it is for.
 *
 * A box shows the rank at the other end and the chunk, with a '+' where the receiver adds. Boxes of
 * one message touch. Its tooltip has all numbers. Shaded: before a rank's arrival grey, slow NICs
 * red. Left out: barriers, and texts where a box is too small for them.
 *
 * The text is a self-contained SVG 1.1; the same schedule gives the same bytes.
 */
#include "output/grid.h"
#include "output/svg.h"
#include "output/tracks.h"
#include "schedules/export_list.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Pixels. */
#define MARGIN     16.0
#define LEFT       124.0
#define HEAD       60.0
#define LANE       26.0
#define LEAST_LANE 4.0
#define MOST_ROW   80.0
#define RANK_GAP   5.0
#define AXIS       46.0
#define LINE       19.0
#define CHARACTER  6.0
#define BOX_WIDTH  30.0

typedef struct picture {
    const cs_job  *job;
    const cs_grid *grid;
    cs_text       *out;
    double         until_s; /* the time at the right edge */
    double         px_per_s;
    double         width;  /* of the time axis, pixels */
    double         top;    /* of the first row */
    double        *row_y;  /* [n_rows] */
    double         bottom; /* of the last row */
    cs_grid_names  names;  /* of the stages */
} picture;

static double lane_height(const cs_grid_row *row)
{
    return fmax(LEAST_LANE, fmin(LANE, MOST_ROW / row->n_lanes));
}

static double row_height(const cs_grid_row *row)
{
    return lane_height(row) * row->n_lanes;
}

static double x_of(const picture *p, double time_s)
{
    double x = LEFT + time_s * p->px_per_s;
    return fmin(fmax(x, LEFT), LEFT + p->width);
}

static int compare_numbers(const void *left, const void *right)
{
    const double *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

/* The median duration of the transfers, or 0. */
static double median_s(const cs_grid *grid, double *durations)
{
    size_t count = 0;

    for (size_t i = 0; i < grid->recording.n_transfers; i++) {
        const cs_interval *when = &grid->recording.intervals[i];
        double             s    = when->end_s - when->start_s;
        if (s > 0) {
            durations[count++] = s;
        }
    }
    if (count == 0) {
        return 0;
    }
    qsort(durations, count, sizeof *durations, compare_numbers);
    return durations[count / 2];
}

static void place_rows(picture *p, double n_legend_lines)
{
    double y = HEAD + LINE * n_legend_lines + 10;

    p->top = y;
    for (size_t i = 0; i < p->grid->n_rows; i++) {
        const cs_grid_row *row = &p->grid->rows[i];
        y += i > 0 && row->rank != row[-1].rank ? RANK_GAP : 0;
        p->row_y[i] = y;
        y += row_height(row);
    }
    p->bottom = y;
}

/* Entries of the legend, one after the other, in lines as wide as the picture. With `draw` false
 * only the lines are counted. */
static double legend(const picture *p, bool draw)
{
    static const uint32_t order[] = {CS_OP_REDUCE, CS_OP_COPY, CS_OP_EXCHANGE};

    double x = MARGIN, y = HEAD, width = LEFT + p->width;
    bool   is_used[CS_GRID_STAGES] = {false};

    for (size_t i = 0; i < p->grid->recording.n_transfers; i++) {
        is_used[p->grid->stages[i]] = true;
    }
    for (uint32_t k = 0; k < CS_GRID_STAGES; k++) {
        uint32_t s     = k - k % 3 + order[k % 3];
        double   needs = 34 + CHARACTER * (double)strlen(cs_grid_stage_text(p->names, s));
        if (!is_used[s]) {
            continue;
        }
        if (x > MARGIN && x + needs > width) {
            x = MARGIN;
            y += LINE;
        }
        if (draw) {
            cs_text_add(p->out,
                        "<rect class=\"s%u\" x=\"%.1f\" y=\"%.1f\" width=\"16\" height=\"12\"/>"
                        "<text class=\"l\" x=\"%.1f\" y=\"%.1f\">%s</text>\n",
                        s, x, y - 10, x + 21, y, cs_grid_stage_text(p->names, s));
        }
        x += needs;
    }
    return (y - HEAD) / LINE + 1;
}

static void add_style(const picture *p)
{
    cs_text_add(p->out, "%s",
                CS_SVG_STYLE
                ".c{font-size:9px;"
                "text-anchor:middle}.r{font-size:11px;font-weight:bold;text-anchor:end}"
                ".d{font-size:9px;text-anchor:end;fill:#555}"
                ".x{font-size:11px;text-anchor:middle}.b{stroke:#333;stroke-width:.6}"
                ".bg{fill:#F4F4F4}.late{fill:url(#late)}.slow{fill:url(#slow)}"
                ".g{stroke:#D8D8D8;stroke-width:.7}");
    for (uint32_t s = 0; s < CS_GRID_STAGES; s++) {
        cs_text_add(p->out, ".s%u{fill:%s}", s, cs_grid_stage_colour(s));
    }
    cs_text_add(p->out, "%s", "</style>\n" CS_SVG_HATCHES);
}

static void add_options(cs_text *out, const cs_result *r)
{
    char value[64];

    for (const cs_field *row = r->option_table; row != NULL && row->name != NULL; row++) {
        (void)cs_field_text(row, &r->options, value, sizeof value);
        cs_text_add(out, "%s%s=%s", row == r->option_table ? "; " : " ", row->name, value);
    }
}

/* What the picture shows, as far as it is wide; its tooltip has all. */
static cs_status add_subtitle(const picture *p, cs_error *err)
{
    const cs_result *r    = &p->grid->result;
    cs_text          all  = {0};
    size_t           most = (size_t)((LEFT + p->width) / CHARACTER);

    cs_text_add(&all,
                "box: the rank at the other end, below it the chunk (+: the receiver adds); model "
                "%s%s",
                r->model, r->verified ? "; verified" : "");
    add_options(&all, r);
    cs_status status = cs_text_status(&all, err);
    if (status == CS_OK) {
        bool is_cut = strlen(all.data) > most;
        cs_text_add(p->out, "<text class=\"l\" x=\"%.1f\" y=\"42\"><title>", MARGIN);
        cs_svg_words(p->out, all.data, strlen(all.data));
        cs_text_add(p->out, "</title>");
        cs_svg_words(p->out, all.data, is_cut ? most - 2 : most);
        cs_text_add(p->out, "%s</text>\n", is_cut ? " .." : "");
    }
    cs_text_free(&all);
    return status;
}

enum { TITLE_BYTES = 256 };

static void title_of(const picture *p, char title[TITLE_BYTES])
{
    const cs_result *r = &p->grid->result;
    double           unit_s;
    const char      *unit = cs_time_unit(p->until_s, &unit_s);

    (void)snprintf(title, TITLE_BYTES, "%s %s: %u ranks, %llu bytes, %llu messages, %.6g %s",
                   r->algorithm, r->collective, (unsigned)r->ranks, (unsigned long long)r->bytes,
                   (unsigned long long)r->transfers, r->elapsed_s / unit_s, unit);
}

static cs_status add_head(const picture *p, const char *title, cs_error *err)
{
    cs_text_add(p->out, "<text class=\"t\" x=\"%.1f\" y=\"24\">%s</text>\n", MARGIN, title);
    return add_subtitle(p, err);
}

static void add_axis(const picture *p)
{
    cs_time_axis axis = cs_time_axis_until(p->until_s, 70 / p->px_per_s);
    double       y    = p->bottom;

    for (int i = 0; i < axis.n_marks; i++) {
        double x = x_of(p, i * axis.step * axis.unit_s);
        cs_text_add(p->out,
                    "<line class=\"g\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>"
                    "<text class=\"x\" x=\"%.1f\" y=\"%.1f\">%.*f</text>\n",
                    x, p->top, x, y + 5, x, y + 18, axis.decimals, i * axis.step);
    }
    cs_text_add(p->out,
                "<text class=\"x\" x=\"%.1f\" y=\"%.1f\">time after the first arrival, %s</text>\n",
                LEFT + p->width / 2, y + 36, axis.unit);
}

static void add_shade(const picture *p, const char *class_name, double from_s, double until_s,
                      size_t row, const char *text)
{
    double x = x_of(p, from_s);

    cs_text_add(p->out,
                "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\">"
                "<title>%s</title></rect>\n",
                class_name, x, p->row_y[row], x_of(p, until_s) - x, row_height(&p->grid->rows[row]),
                text);
}

static void shade_row(const picture *p, size_t i)
{
    const cs_scenario *scenario = &p->job->scenario;
    const cs_grid_row *row      = &p->grid->rows[i];
    double             late_s   = cs_arrival(scenario, row->rank);
    size_t             n;
    const cs_capacity *steps = cs_capacity_of(scenario, row->rank, &n);

    add_shade(p, "bg", 0, p->until_s, i, row->direction == CS_TX ? "sends" : "receives");
    for (size_t k = 0; k < n && row->fabric == CS_NIC; k++) {
        if (steps[k].from_s < p->until_s && steps[k].slowdown > 1) {
            add_shade(p, "slow", steps[k].from_s, fmin(steps[k].until_s, p->until_s), i,
                      "slow NIC");
        }
    }
    if (late_s > 0) {
        add_shade(p, "late", 0, late_s, i, "not arrived yet");
    }
}

/* The name of a rank, and below it the slowdown of its NICs. */
static void name_rank(const picture *p, size_t i)
{
    const cs_scenario *scenario = &p->job->scenario;
    uint32_t           rank     = p->grid->rows[i].rank;
    double             y        = p->row_y[i] + 13;
    size_t             n, k = 0;
    const cs_capacity *steps = cs_capacity_of(scenario, rank, &n);

    cs_text_add(p->out, "<text class=\"r\" x=\"%.1f\" y=\"%.1f\">rank %u</text>\n", LEFT - 34, y,
                rank);
    while (k < n && !(steps[k].slowdown > 1)) {
        k++;
    }
    if (k < n) {
        cs_text_add(p->out, "<text class=\"d\" x=\"%.1f\" y=\"%.1f\">NIC %.4g x slower</text>\n",
                    LEFT - 34, y + 13, steps[k].slowdown);
    }
    if (cs_arrival(scenario, rank) > 0) {
        cs_text_add(p->out, "<text class=\"d\" x=\"%.1f\" y=\"%.1f\">late</text>\n", LEFT - 34,
                    y + 25);
    }
}

static void add_rows(const picture *p)
{
    static const char *const lanes[CS_FABRICS][2] = {
        {"tx", "rx"}, {"nvl tx", "nvl rx"}, {"skt tx", "skt rx"}};

    for (size_t i = 0; i < p->grid->n_rows; i++) {
        const cs_grid_row *row = &p->grid->rows[i];
        shade_row(p, i);
        if (i == 0 || row[-1].rank != row->rank) {
            name_rank(p, i);
        }
        cs_text_add(p->out, "<text class=\"d\" x=\"%.1f\" y=\"%.1f\">%s</text>\n", LEFT - 4,
                    p->row_y[i] + row_height(row) / 2 + 3, lanes[row->fabric][row->direction]);
    }
}

/* All that is known of a transfer, for its tooltip. */
static void add_tooltip(const picture *p, size_t transfer)
{
    const cs_transfer *t    = &p->grid->recording.transfers[transfer];
    const cs_interval *when = &p->grid->recording.intervals[transfer];

    cs_text_add(p->out, "<title>%u to %u, chunk %u", t->src, t->dst, t->chunk);
    if (t->span > 1) {
        cs_text_add(p->out, " to %u", t->chunk + t->span - 1);
    }
    cs_text_add(p->out, ", %llu bytes, round %u, %s: ", (unsigned long long)t->bytes, t->round,
                cs_grid_stage_text(p->names, p->grid->stages[transfer]));
    cs_text_add_number(p->out, when->start_s);
    cs_text_add(p->out, " s to ");
    cs_text_add_number(p->out, when->end_s);
    cs_text_add(p->out, " s</title>");
}

static void add_box(const picture *p, const cs_grid_bar *bar)
{
    const cs_transfer *t      = &p->grid->recording.transfers[bar->transfer];
    const cs_interval *when   = &p->grid->recording.intervals[bar->transfer];
    const cs_grid_row *row    = &p->grid->rows[bar->row];
    double             height = lane_height(row), y = p->row_y[bar->row] + bar->lane * height;
    double             x = x_of(p, when->start_s), width = x_of(p, when->end_s) - x;
    const char        *adds        = cs_transfer_op(t) == CS_OP_COPY ? "" : "+";
    int                digits      = snprintf(NULL, 0, "%u%s", t->chunk, adds);
    int                peer_digits = snprintf(NULL, 0, "%u", bar->peer) + 1;
    double             needs       = CHARACTER * (digits > peer_digits ? digits : peer_digits);

    cs_text_add(p->out,
                "<g><rect class=\"b s%u\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>",
                p->grid->stages[bar->transfer], x, y, fmax(width, 0.5), height);
    add_tooltip(p, bar->transfer);
    if (height >= 22 && width >= needs) {
        cs_text_add(p->out,
                    "<text class=\"c\" x=\"%.1f\" y=\"%.1f\">%s%u</text>"
                    "<text class=\"c\" x=\"%.1f\" y=\"%.1f\">%u%s</text>",
                    x + width / 2, y + 11, row->direction == CS_TX ? "→" : "←", bar->peer,
                    x + width / 2, y + 22, t->chunk, adds);
    }
    cs_text_add(p->out, "</g>\n");
}

static cs_status draw(const picture *p, cs_error *err)
{
    double width = LEFT + p->width + 2 * MARGIN, height = p->bottom + AXIS;
    char   title[TITLE_BYTES];

    title_of(p, title);
    cs_svg_begin(p->out, width, height, title);
    add_style(p);
    cs_svg_background(p->out);
    cs_status status = add_head(p, title, err);
    (void)legend(p, true);
    add_rows(p);
    add_axis(p);
    for (size_t i = 0; i < p->grid->n_bars; i++) {
        add_box(p, &p->grid->bars[i]);
    }
    cs_svg_end(p->out);
    return status;
}

static cs_status draw_grid(picture *p, cs_grid *grid, cs_error *err)
{
    CS_TRY(cs_grid_fill(grid, p->job, err));
    double *durations = CS_ARENA_NEW(&grid->arena, double, grid->recording.n_transfers + 1);
    p->row_y          = CS_ARENA_NEW(&grid->arena, double, grid->n_rows + 1);
    if (durations == NULL || p->row_y == NULL) {
        return CS_NO_MEMORY(err, "the picture of a schedule");
    }
    double median = median_s(grid, durations);
    p->until_s    = grid->result.elapsed_s > 0 ? grid->result.elapsed_s : 1;
    p->width      = median > 0 ? p->until_s / median * BOX_WIDTH : 0;
    p->width      = fmin(fmax(p->width, 900), 12000);
    p->px_per_s   = p->width / p->until_s;
    p->names      = cs_grid_names_of(&p->job->scenario, &grid->result);
    place_rows(p, legend(p, false));
    CS_TRY(draw(p, err));
    return cs_text_status(p->out, err);
}

cs_status cs_export_svg(const cs_job *job, cs_text *out, cs_error *err)
{
    cs_grid   grid   = {0};
    picture   p      = {.job = job, .grid = &grid, .out = out};
    cs_status status = draw_grid(&p, &grid, err);

    cs_grid_free(&grid);
    return status;
}
