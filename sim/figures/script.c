/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The script for gnuplot: the names that style.gp and the figure's own commands use, among them the
 * look of every algorithm, then style.gp with the own commands in it. style.gp lies beside the
 * figure, or in the folder of figures. */
#include "base/alloc.h"
#include "base/file.h"
#include "figures/figure.h"
#include "output/look.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MOST_BYTES = 1 << 20 };

/* The line of style.gp for which the figure's commands stand. */
static const char PLACE[] = "# FIGURE\n";

static cs_status find_style(const cs_figure *figure, char *path, size_t path_bytes, cs_error *err)
{
    char folder[PATH_MAX];

    CS_TRY(cs_figure_beside(figure->path, "style.gp", "", path, path_bytes, err));
    if (access(path, R_OK) == 0) {
        return CS_OK;
    }
    CS_TRY(cs_figure_folder(folder, sizeof folder, err));
    int n = snprintf(path, path_bytes, "%s/style.gp", folder);
    return n > 0 && (size_t)n < path_bytes
               ? CS_OK
               : CS_FAIL(err, CS_EINVAL, "", "the path of style.gp is too long");
}

/* 'text' as gnuplot writes it. */
static void add_quoted(cs_text *script, const char *text)
{
    cs_text_add_bytes(script, "'", 1);
    for (; *text != '\0'; text++) {
        bool is_quote = *text == '\'', is_control = (unsigned char)*text < ' ';
        cs_text_add_bytes(script, is_quote ? "''" : is_control ? " " : text, is_quote ? 2 : 1);
    }
    cs_text_add_bytes(script, "'", 1);
}

/* A text in a comment. */
static void add_line(cs_text *script, const char *text)
{
    for (; *text != '\0'; text++) {
        cs_text_add_bytes(script, (unsigned char)*text < ' ' ? " " : text, 1);
    }
}

/* What every script may say of the first row. */
static const cs_figure_column standard_values[] = {
    {"MODEL", "model"},
    {"RANKS", "ranks"},
    {"GPUS_PER_SERVER", "gpus_per_server"},
    {"SIZE_GIB", "bytes / GiB"},
    {"ALPHA_US", "1e6 * alpha_s"},
    {"RATE_GBPS", "bandwidth_Bps / 1e9"},
    {"NIC_US", "1e6 * nic_alpha_s"},
    {"NIC_GBPS", "nic_bandwidth_Bps / 1e9"},
    {"NVLINK_US", "1e6 * nvlink_alpha_s"},
    {"NVLINK_GBPS", "nvlink_bandwidth_Bps / 1e9"},
};

/* NAME = VALUE in the first row. */
static cs_status add_values(cs_figure_table *table, const cs_figure_column *values, size_t n,
                            cs_text *script, cs_error *err)
{
    cs_figure_scope scope = cs_figure_scope_of(table, 0);
    cs_names        names = cs_figure_names(&scope);

    for (size_t i = 0; i < n && table->n_rows > 0; i++) {
        cs_operand value = {0};
        cs_error   wrong = {0};
        char       path[64];
        if (cs_expression_value(values[i].expression, &names, &value, &wrong) != CS_OK) {
            (void)snprintf(path, sizeof path, "figure.values[%zu]", i);
            return cs_figure_blame(table->figure, path, &wrong, err);
        }
        cs_text_add(script, "%s = ", values[i].name);
        if (value.text != NULL) {
            add_quoted(script, value.text);
        } else if (isfinite(value.number)) {
            cs_text_add(script, "%.17g", value.number);
        } else {
            cs_text_add(script, "NaN");
        }
        cs_text_add(script, "\n");
    }
    return CS_OK;
}

static void add_head(const cs_figure *figure, cs_text *script)
{
    const char *name = figure->name;

    cs_text_add(script, "# %s: %s\n", name, figure->title);
    if (figure->source != NULL) {
        cs_text_add(script, "# after: %s\n", figure->source);
    }
    cs_text_add(script, "# gnuplot %s.gp draws %s.csv again.\n", name, name);
    for (size_t i = 0; i < figure->n_sets; i++) {
        cs_text_add(script, "# --set ");
        add_line(script, figure->sets[i].path);
        cs_text_add(script, "=");
        add_line(script, figure->sets[i].json);
        cs_text_add(script, "\n");
    }
    cs_text_add(script, "CHANGED = %d\n", figure->is_changed);
    if (figure->trace != NULL) {
        const char *slash = strrchr(figure->trace, '/');
        cs_text_add(script, "TRACE = ");
        add_quoted(script, slash != NULL ? slash + 1 : figure->trace);
        cs_text_add(script, "\n");
    }
    cs_text_add(script, "DATA = '%s.csv'\n", name);
    cs_text_add(script, "if (!exists('SVG')) SVG = '%s.svg'\n", name);
    cs_text_add(script, "if (!exists('PNG')) PNG = '%s.png'\n", name);
}

/* ---- one colour, dash and mark for an algorithm ---- */

/* Numbers of line styles: these and the place in the table. */
enum { FIRST_STYLE = 100, FIRST_OPEN_STYLE = 200 };

static bool is_fat(const cs_look *look)
{
    return strcmp(look->algorithm, "stragglar") == 0;
}

/* The mark without its filling; those of lines alone stay as they are. */
static int open_point(int point)
{
    return point >= 5 && point % 2 == 1 ? point - 1 : point == 3 ? 2 : point;
}

/* A line style. Widths of one colour differ a little: gnuplot's SVG forgets the dashes of a line
 * that has colour and width of the one before. */
static void add_style(cs_text *script, int number, const cs_look *look, const char *dash, int point,
                      double thinner)
{
    cs_text_add(script,
                "LOOKS = LOOKS . \"set style line %d lc rgb col_%s lw %.3f dt %s%s%s pt %d "
                "ps 1.4*PS; \"\n",
                number, look->algorithm, (is_fat(look) ? 3 : 2.5) - thinner,
                dash[0] != '\0' ? "(" : "", dash[0] != '\0' ? dash : "1",
                dash[0] != '\0' ? ")" : "", point);
}

/* Of every algorithm: col_NAME, its colour; ls_NAME, its line style; open_NAME, that of a second
 * curve of it; title_NAME, what it is called. LOOKS sets the styles. */
static void add_looks(cs_text *script)
{
    cs_text_add(script, "INK = 0x%s; GRID = 0x%s; LOOKS = ''\n", &CS_LOOK_INK[1], &CS_LOOK_GRID[1]);
    for (int i = 0; cs_looks[i].algorithm != NULL; i++) {
        const cs_look *look = &cs_looks[i];
        const char    *name = look->algorithm;
        cs_text_add(script, "col_%s = 0x%06X; ls_%s = %d; open_%s = %d; title_%s = ", name,
                    (unsigned)look->light, name, FIRST_STYLE + i, name, FIRST_OPEN_STYLE + i, name);
        add_quoted(script, look->title);
        cs_text_add(script, "\n");
        add_style(script, FIRST_STYLE + i, look, look->dash, look->point, 0.004 * i);
        add_style(script, FIRST_OPEN_STYLE + i, look, "6,3", open_point(look->point),
                  0.3 + 0.004 * i);
    }
}

/* A file that was read; the text is owned. */
typedef struct script_part {
    char  *text;
    size_t length;
} script_part;

/* cs_figure_script() with what it gives back: `style` and `own` are filled in. */
static cs_status write_script(cs_figure_table *table, script_part *style, script_part *own,
                              cs_text *script, cs_error *err)
{
    const cs_figure *figure = table->figure;
    char             path[PATH_MAX];

    CS_TRY(find_style(figure, path, sizeof path, err));
    CS_TRY(cs_file_read(path, MOST_BYTES, &style->text, &style->length, err));
    CS_TRY(cs_file_read(figure->script, MOST_BYTES, &own->text, &own->length, err));
    const char *place = strstr(style->text, PLACE);
    if (place == NULL) {
        return CS_FAIL(err, CS_EINVAL, path, "has no line '# FIGURE'");
    }
    add_head(figure, script);
    add_looks(script);
    CS_TRY(add_values(table, standard_values, sizeof standard_values / sizeof standard_values[0],
                      script, err));
    CS_TRY(add_values(table, figure->values, figure->n_values, script, err));
    const char *rest = place + sizeof PLACE - 1;
    cs_text_add_bytes(script, style->text, (size_t)(place - style->text));
    cs_text_add_bytes(script, own->text, own->length);
    cs_text_add_bytes(script, rest, style->length - (size_t)(rest - style->text));
    return cs_text_status(script, err);
}

cs_status cs_figure_script(cs_figure_table *table, cs_text *script, cs_error *err)
{
    script_part style = {0}, own = {0};
    cs_status   status = write_script(table, &style, &own, script, err);

    cs_free(style.text);
    cs_free(own.text);
    return status;
}
