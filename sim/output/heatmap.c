/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Use of ports and links over time as a picture.
 *
 * A cell is one row in one bin. All cells of one shade are one path, in which neighbours are one
 * box: this keeps the file small. The pointer over a row shows its numbers. A time before a rank
 * arrives is hatched, and a rank whose NIC is slow at some time is marked: shares are of the
 * nominal bandwidth, so a NIC that is half as fast is full at 50 %. Rows of late and of slow ranks
 * are high enough for their names, however thin the others are.
 */
#include "output/usage.h"

#include "base/alloc.h"
#include "output/svg.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Pixels. */
#define MARGIN 16.0
#define HEAD   104.0
#define AXIS   50.0
#define WIDTH  1000.0
#define BAR    240.0

#define PANEL_TITLE 24.0
#define MOST_HEIGHT 860.0 /* of all rows together, unless they become too thin */
#define LEAST_ROW   4.0
#define MOST_ROW    18.0
#define LEAST_LEFT  132.0
#define CHARACTER   5.6
#define NAMED_ROW   9.0 /* a row with a name of its own is at least that high */

enum { SHADES = 20, N_STOPS = 5, MOST_NAME = 48 };

typedef struct heat_row {
    const cs_usage_panel *panel;
    size_t                row;    /* of the panel */
    bool                  is_own; /* of a late rank, or of slow ones alone */
    bool                  is_named;
    double                y, height;
} heat_row;

typedef struct picture {
    cs_usage        *usage;
    const cs_result *result;
    cs_text         *out;
    heat_row        *rows; /* owned; panel by panel */
    size_t           n_rows, n_links_left_out;
    double           left;   /* room for the names */
    double           bottom; /* of the last row */
    double           bin_width;
    size_t           n_bins;
} picture;

/* All ports of fabrics that carried something, and the links that were most in use. */
static cs_status choose_rows(picture *p)
{
    size_t *rows = CS_NEW(size_t, p->usage->n_rows), n = 0;

    if (rows == NULL) {
        return CS_ENOMEM;
    }
    for (size_t k = 0; k < p->usage->n_panels; k++) {
        const cs_usage_panel *panel = &p->usage->panels[k];
        if (cs_usage_shown(p->usage, panel, CS_HEATMAP_MOST_LINKS, rows, &n) != CS_OK) {
            cs_free(rows);
            return CS_ENOMEM;
        }
        for (size_t i = 0; i < n; i++) {
            p->rows[p->n_rows++] = (heat_row){.panel = panel, .row = rows[i]};
        }
        p->n_links_left_out += panel->is_links ? panel->n_rows - n : 0;
    }
    cs_free(rows);
    return CS_OK;
}

static bool is_links(const heat_row *row)
{
    return row->panel->is_links;
}

static cs_usage_span ranks_of(const picture *p, const heat_row *row)
{
    return cs_usage_ranks(p->usage, row->panel, row->row);
}

/* When the only rank of a row comes; 0 where there are several, or links. */
static double late_s(const picture *p, const heat_row *row)
{
    cs_usage_span span = is_links(row) ? (cs_usage_span){0, 0} : ranks_of(p, row);

    return span.end - span.first == 1 ? cs_arrival(p->usage->scenario, span.first) : 0;
}

/* Is the NIC of one of the row's ranks slow at some time; of all of them, if `all`? */
static bool is_slow(const picture *p, const heat_row *row, bool all)
{
    const cs_scenario *s    = p->usage->scenario;
    const cs_cluster  *c    = &s->cluster;
    cs_usage_span      span = is_links(row) ? (cs_usage_span){0, 0} : ranks_of(p, row);

    for (size_t i = 0; i < s->n_capacity && !is_links(row) && row->panel->fabric == CS_NIC; i++) {
        const cs_capacity *step   = &s->capacity[i];
        uint32_t           server = cs_server_of(c, step->rank);
        uint32_t           first  = step->is_single ? step->rank : cs_server_first(c, server);
        uint32_t           end    = first + (step->is_single ? 1 : cs_server_gpus(c, server));
        bool               is_among =
            all ? first <= span.first && span.end <= end : first < span.end && span.first < end;
        if (step->slowdown > 1 && is_among) {
            return true;
        }
    }
    return false;
}

/* All rows of their own are named, of the others those for which there is room between these. */
static void choose_names(picture *p)
{
    double last = -NAMED_ROW; /* of the name above: its row's middle */

    for (size_t i = 0; i < p->n_rows; i++) {
        heat_row *row    = &p->rows[i];
        double    middle = row->y + row->height / 2;
        bool      fits   = middle - last >= NAMED_ROW;
        for (size_t k = i + 1; k < p->n_rows && !row->is_own && fits; k++) {
            double next = p->rows[k].y + p->rows[k].height / 2 - middle;
            fits        = next >= NAMED_ROW || !p->rows[k].is_own;
            if (next >= NAMED_ROW) {
                break;
            }
        }
        row->is_named = row->is_own || fits;
        last          = row->is_named ? middle : last;
    }
}

static void place_rows(picture *p, double top)
{
    double y = top, height = floor(MOST_HEIGHT / fmax((double)p->n_rows, 1));

    height = fmin(fmax(height, LEAST_ROW), MOST_ROW);
    for (size_t i = 0; i < p->n_rows; i++) {
        heat_row *row = &p->rows[i];
        y += i == 0 || row->panel != row[-1].panel ? PANEL_TITLE : 0;
        row->y      = y;
        row->is_own = late_s(p, row) > 0 || is_slow(p, row, true);
        row->height = is_links(row) || row->is_own ? fmax(height, NAMED_ROW) : height;
        y += row->height;
    }
    p->bottom = y;
    choose_names(p);
}

/* The width of the names. */
static void find_left(picture *p)
{
    char name[96];

    p->left = LEAST_LEFT;
    for (size_t i = 0; i < p->n_rows; i++) {
        cs_usage_row_name(p->usage, p->rows[i].panel, p->rows[i].row, "rank", name, sizeof name);
        p->left = fmax(p->left, ceil(CHARACTER * fmin((double)strlen(name), MOST_NAME)) + 12);
    }
}

static cs_status choose_and_place(picture *p)
{
    p->rows = CS_NEW(heat_row, p->usage->n_rows);
    if (p->rows == NULL || choose_rows(p) != CS_OK) {
        return CS_ENOMEM;
    }
    place_rows(p, HEAD);
    find_left(p);
    return CS_OK;
}

/* From light green to dark blue, readable in grey and for the colour-blind; idle is nearly white.
 */
static const unsigned char stops[N_STOPS][3] = {{0xD8, 0xEE, 0xC4},
                                                {0x7C, 0xCB, 0xBB},
                                                {0x2C, 0x95, 0xBF},
                                                {0x22, 0x5E, 0xA8},
                                                {0x08, 0x1D, 0x58}};
static const unsigned char idle[3]           = {0xF6, 0xF6, 0xF3};

static void colour(int shade, unsigned rgb[3])
{
    double at = (shade - 1) * (N_STOPS - 1.0) / (SHADES - 1);
    int    i  = (int)fmin(floor(fmax(at, 0)), N_STOPS - 2);

    for (int k = 0; k < 3; k++) {
        double mixed = stops[i][k] + (at - i) * (stops[i + 1][k] - stops[i][k]);
        rgb[k]       = shade == 0 ? idle[k] : (unsigned)lround(mixed);
    }
}

/* Nothing is 0, the last shade is all. */
static int shade_of(double share)
{
    if (share <= 1e-9) {
        return 0;
    }
    return (int)fmin(fmax(ceil(share * SHADES - 1e-6), 1), SHADES);
}

static double x_of(const picture *p, double time_s)
{
    return p->left + time_s / p->usage->bin_s * p->bin_width;
}

static double right_of(const picture *p)
{
    return p->left + (double)p->n_bins * p->bin_width;
}

static void add_style(const picture *p)
{
    unsigned rgb[3];

    cs_text_add(p->out, "%s",
                CS_SVG_STYLE
                ".p{font-size:11px;font-weight:bold}.r{font-size:9px;text-anchor:end}"
                ".f{font-weight:bold}.s{fill:url(#slow)}.x{font-size:11px;text-anchor:middle}"
                ".g{stroke:#888;stroke-width:.7}.h{fill:url(#late)}.o{fill:#FFF;fill-opacity:0}"
                ".u,.h,.s{shape-rendering:crispEdges}");
    for (int s = 0; s <= SHADES; s++) {
        colour(s, rgb);
        cs_text_add(p->out, ".u%d{fill:#%02X%02X%02X}", s, rgb[0], rgb[1], rgb[2]);
    }
    cs_text_add(p->out, "%s", "</style>\n" CS_SVG_HATCHES);
    cs_svg_background(p->out);
}

/* A number with a unit, of which each is `fold` of the one before. */
static void quantity(double value, double fold, const char *const units[5], char *text,
                     size_t text_bytes)
{
    size_t i = 0;

    while (i < 4 && value >= fold) {
        value /= fold;
        i++;
    }
    (void)snprintf(text, text_bytes, "%.4g %s", value, units[i]);
}

/* Sizes are in powers of 1024, as everybody asks for them; rates in powers of 1000, as vendors
 * give them. */
static void size_text(double bytes, char *text, size_t text_bytes)
{
    static const char *const units[5] = {"B", "KiB", "MiB", "GiB", "TiB"};

    quantity(bytes, 1024, units, text, text_bytes);
}

static void rate_text(double bytes_per_s, char *text, size_t text_bytes)
{
    static const char *const units[5] = {"B", "KB", "MB", "GB", "TB"};

    quantity(bytes_per_s, 1000, units, text, text_bytes);
}

enum { TITLE_BYTES = 256 };

static void title_of(const picture *p, char title[TITLE_BYTES])
{
    const cs_result *r = p->result;
    double           unit_s;
    const char      *unit = cs_time_unit(r->elapsed_s, &unit_s);
    char             bytes[32];

    size_text((double)r->bytes, bytes, sizeof bytes);
    (void)snprintf(title, TITLE_BYTES, "Use of ports over time: %s by %s, %llu ranks, %s, %.6g %s",
                   r->collective, r->algorithm, (unsigned long long)r->ranks, bytes,
                   r->elapsed_s / unit_s, unit);
}

static void add_head(const picture *p, const char *title)
{
    double      bin_unit_s;
    const char *bin_unit = cs_time_unit(p->usage->bin_s, &bin_unit_s);

    cs_text_add(p->out, "<text class=\"t\" x=\"%.0f\" y=\"24\">%s</text>\n", MARGIN, title);
    cs_text_add(p->out,
                "<text class=\"l\" x=\"%.0f\" y=\"42\">Share of the nominal bandwidth in use, in "
                "bins of %.4g %s; a message counts evenly over its time, start-up included; model "
                "%s</text>\n",
                MARGIN, p->usage->bin_s / bin_unit_s, bin_unit, p->result->model);
}

/* All shades from 0 to 100 %, and what else there is. */
static void add_legend(const picture *p)
{
    const cs_scenario *s = p->usage->scenario;
    double             x = p->left + BAR + 48;

    cs_text_add(p->out, "<g class=\"u\">");
    for (int k = 0; k <= SHADES; k++) {
        cs_text_add(p->out, "<rect class=\"u%d\" x=\"%.0f\" y=\"56\" width=\"12\" height=\"14\"/>",
                    k, p->left + k * 12.0);
    }
    cs_text_add(p->out,
                "</g>\n<text class=\"l\" x=\"%.0f\" y=\"67\">in use</text>\n"
                "<text class=\"x\" x=\"%.0f\" y=\"84\">0</text>"
                "<text class=\"x\" x=\"%.0f\" y=\"84\">50</text>"
                "<text class=\"x\" x=\"%.0f\" y=\"84\">100 %%</text>\n",
                MARGIN, p->left + 6, p->left + 6 + BAR / 2, p->left + 6 + BAR);
    if (cs_last_arrival(s) > 0) {
        cs_text_add(p->out,
                    "<rect class=\"h\" x=\"%.0f\" y=\"56\" width=\"24\" height=\"14\"/>"
                    "<text class=\"l\" x=\"%.0f\" y=\"67\">not arrived yet</text>\n",
                    x, x + 30);
        x += 150;
    }
    if (s->n_capacity > 0) {
        cs_text_add(p->out,
                    "<path class=\"s\" d=\"M%.0f 56h24v14h-24z\"/>"
                    "<text class=\"l\" x=\"%.0f\" y=\"67\">slow NIC at some time</text>\n",
                    x, x + 30);
    }
}

/* Ports of the panel, and the share of them all that the whole run used. */
static void name_panel(const picture *p, size_t i)
{
    static const char *const fabrics[CS_FABRICS] = {"NIC", "NVLink", "path between sockets"};
    const cs_usage_panel    *panel               = p->rows[i].panel;
    const cs_cluster        *c                   = &p->usage->scenario->cluster;
    double                   bytes = 0, capacity_Bps = 0;
    size_t                   ports = 0;
    char                     rate[32], least[32];

    for (size_t r = 0; r < panel->n_rows; r++) {
        ports += cs_usage_ports(p->usage, panel, r);
        capacity_Bps += cs_usage_capacity_Bps(p->usage, panel, r);
        bytes += cs_usage_bytes(p->usage, panel, r);
    }
    cs_text_add(p->out, "<text class=\"p\" x=\"%.0f\" y=\"%.0f\">", p->left, p->rows[i].y - 6);
    if (panel->is_links) {
        cs_text_add(p->out, "links between the ports: %zu", ports);
    } else {
        double most_Bps  = c->fabrics[panel->fabric].bandwidth_Bps;
        double least_Bps = cs_least_Bps(c, panel->fabric);
        rate_text(most_Bps, rate, sizeof rate);
        rate_text(least_Bps, least, sizeof least);
        cs_text_add(p->out, "%s, %s: %zu ports of %s%s%s/s", fabrics[panel->fabric],
                    panel->sends ? "sending" : "receiving", ports,
                    least_Bps < most_Bps ? least : "", least_Bps < most_Bps ? "/s to " : "", rate);
    }
    cs_text_add(p->out, ", %.1f %% in use on average",
                100 * bytes / (capacity_Bps * p->usage->until_s));
    if (panel->is_links && p->n_links_left_out > 0) {
        cs_text_add(p->out, "; %zu that are idle or no busier are left out", p->n_links_left_out);
    }
    cs_text_add(p->out, "</text>\n");
}

static void add_late(const picture *p, const heat_row *row)
{
    double until_s = late_s(p, row);

    if (until_s > 0) {
        cs_text_add(p->out, "<path class=\"h\" d=\"M%.0f %.0fH%.1fv%.0fH%.0fz\"/>\n", p->left,
                    row->y, fmin(x_of(p, until_s), right_of(p)), row->height, p->left);
    }
}

/* Its name where there is room for it, and its numbers for the pointer. */
static void add_row(const picture *p, size_t i)
{
    const heat_row *row = &p->rows[i];
    double          bytes, capacity_Bps = cs_usage_capacity_Bps(p->usage, row->panel, row->row);
    bool            slow = is_slow(p, row, false);
    char            name[96], amount[32];

    cs_usage_row_name(p->usage, row->panel, row->row, "rank", name, sizeof name);
    bytes = cs_usage_bytes(p->usage, row->panel, row->row);
    size_text(bytes, amount, sizeof amount);
    add_late(p, row);
    if (slow) {
        cs_text_add(p->out,
                    "<rect class=\"s\" x=\"%.0f\" y=\"%.0f\" width=\"6\" height=\"%.0f\"/>\n",
                    p->left - 6, row->y, row->height);
    }
    if (row->is_named) {
        cs_text_add(p->out, "<text class=\"r%s\" x=\"%.0f\" y=\"%.1f\">", slow ? " f" : "",
                    p->left - 9, row->y + row->height / 2 + 3);
        cs_svg_words(p->out, name, MOST_NAME);
        cs_text_add(p->out, "</text>\n");
    }
    cs_text_add(p->out,
                "<rect class=\"o\" x=\"%.0f\" y=\"%.0f\" width=\"%.0f\" height=\"%.0f\">"
                "<title>",
                p->left, row->y, right_of(p) - p->left, row->height);
    cs_svg_words(p->out, name, MOST_NAME);
    cs_text_add(p->out, ": %s, %.1f %% in use on average</title></rect>\n", amount,
                100 * bytes / (capacity_Bps * p->usage->until_s));
}

static void add_rows(const picture *p)
{
    for (size_t i = 0; i < p->n_rows; i++) {
        if (i == 0 || p->rows[i].panel != p->rows[i - 1].panel) {
            name_panel(p, i);
        }
        add_row(p, i);
    }
}

/* The boxes of one shade in one row. */
static void add_cells(const picture *p, const heat_row *row, int shade, const int *shades)
{
    for (size_t b = 0, end; b < p->n_bins; b = end) {
        for (end = b + 1; end < p->n_bins && shades[end] == shades[b]; end++) {
        }
        if (shades[b] == shade) {
            double x = p->left + (double)b * p->bin_width, width = (double)(end - b) * p->bin_width;
            cs_text_add(p->out, "M%.0f %.0fh%.0fv%.0fh-%.0fz", x, row->y, width, row->height,
                        width);
        }
    }
}

static cs_status add_shades(const picture *p)
{
    int *shades = CS_NEW(int, p->n_rows * p->n_bins + 1);

    if (shades == NULL) {
        return CS_ENOMEM;
    }
    for (size_t i = 0; i < p->n_rows * p->n_bins; i++) {
        const heat_row *row = &p->rows[i / p->n_bins];
        shades[i] = shade_of(cs_usage_share(p->usage, row->panel, row->row, i % p->n_bins));
    }
    cs_text_add(p->out, "<g class=\"u\">\n");
    for (int s = 0; s <= SHADES; s++) {
        cs_text_add(p->out, "<path class=\"u%d\" d=\"", s);
        for (size_t i = 0; i < p->n_rows; i++) {
            add_cells(p, &p->rows[i], s, shades + i * p->n_bins);
        }
        cs_text_add(p->out, "\"/>\n");
    }
    cs_text_add(p->out, "</g>\n");
    cs_free(shades);
    return CS_OK;
}

static void add_axis(const picture *p)
{
    cs_time_axis axis = cs_time_axis_until(p->usage->until_s, 80 * p->usage->bin_s / p->bin_width);
    double       y    = p->bottom;

    for (int i = 0; i < axis.n_marks; i++) {
        double x = x_of(p, i * axis.step * axis.unit_s);
        cs_text_add(p->out,
                    "<path class=\"g\" d=\"M%.1f %.0fv5\"/>"
                    "<text class=\"x\" x=\"%.1f\" y=\"%.0f\">%.*f</text>\n",
                    x, y + 2, x, y + 20, axis.decimals, i * axis.step);
    }
    cs_text_add(p->out,
                "<text class=\"x\" x=\"%.0f\" y=\"%.0f\">time after the first arrival, %s</text>\n",
                (p->left + right_of(p)) / 2, y + 38, axis.unit);
}

static cs_status draw(picture *p)
{
    double    width = fmax(right_of(p), p->left + 700) + 2 * MARGIN, height = p->bottom + AXIS;
    char      title[TITLE_BYTES];
    cs_status status;

    title_of(p, title);
    cs_svg_begin(p->out, width, height, title);
    add_style(p);
    add_head(p, title);
    add_legend(p);
    status = add_shades(p);
    add_rows(p);
    add_axis(p);
    cs_svg_end(p->out);
    return status;
}

cs_status cs_heatmap_svg(cs_usage *usage, const cs_result *result, cs_text *out, cs_error *err)
{
    picture   p = {.usage = usage, .result = result, .out = out};
    cs_status status;

    cs_usage_extend(usage, result->elapsed_s);
    status = choose_and_place(&p);
    if (status == CS_OK) {
        p.n_bins    = cs_usage_n_bins(usage);
        p.bin_width = floor(WIDTH / fmax((double)p.n_bins, 1));
        status      = draw(&p);
    }
    cs_free(p.rows);
    return status == CS_OK ? cs_text_status(out, err)
                           : CS_FAIL(err, status, "", "out of memory for the use of ports");
}
