/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One figure from its description to its files, all of them through base/file.h. gnuplot draws both
 * pictures into a temporary folder beside the script, whose name nobody can know before and which
 * nobody else may read. */
#include "base/alloc.h"
#include "base/child.h"
#include "base/column.h"
#include "base/file.h"
#include "base/leftover.h"
#include "figures/figure.h"
#include "output/svg.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- gnuplot, as a child process without a shell ---- */

enum { COMPLAINT_BYTES = 512 };

/* The first line of gnuplot's complaint that names a line or an error: gnuplot shows the command
 * before. Where there is none, how gnuplot ended. */
static const char *find_complaint(cs_child *child, char text[COMPLAINT_BYTES])
{
    for (char *save = NULL, *line = strtok_r(text, "\n", &save); line != NULL;
         line = strtok_r(NULL, "\n", &save)) {
        if (strstr(line, "line ") != NULL || strstr(line, "rror") != NULL) {
            return line;
        }
    }
    cs_child_exit_reason(child, text, COMPLAINT_BYTES);
    return text;
}

/* Run gnuplot in `folder` on the file `script` there, after the commands `first`; the user's own
 * settings of gnuplot are not read. No time limit: nothing waits for it. Where gnuplot is not
 * installed, *found_p is false and the status CS_OK. */
static cs_status run_gnuplot(const char *folder, const char *script, const char *first,
                             bool *found_p, cs_error *err)
{
    const cs_child_program gnuplot = {
        .path = "gnuplot", .words = {"-d", "-e", first, script}, .folder = folder};
    char      complaint[COMPLAINT_BYTES];
    cs_child *child  = NULL;
    cs_error  why    = {0};
    cs_status status = cs_child_start(&gnuplot, &child, &why);

    *found_p = status != CS_EMISSING;
    if (status != CS_OK) {
        return *found_p ? CS_FAIL(err, status, "gnuplot", "%s", why.message) : CS_OK;
    }
    if (!cs_child_finish(child, complaint, sizeof complaint)) {
        status = CS_FAIL(err, CS_EIO, "gnuplot", "could not draw %s: %s", script,
                         find_complaint(child, complaint));
    }
    cs_child_close(child);
    return status;
}

/* ---- pictures ---- */

/* How a picture that is complete ends, but for empty lines. */
typedef struct picture_kind {
    const char *extension, *end;
} picture_kind;

static const picture_kind kinds[] = {{"svg", "</svg>"}, {"png", "IEND\xae\x42\x60\x82"}};

enum { N_KINDS = sizeof kinds / sizeof kinds[0], MOST_PICTURE_BYTES = 256 << 20 };

/* The temporary folder, into which gnuplot draws. */
typedef struct drawing_folder {
    char folder[PATH_MAX], pictures[N_KINDS][PATH_MAX];
    int  folder_note, notes[N_KINDS];
} drawing_folder;

/* "FOLDER/NAME.EXTENSION" in room for PATH_MAX bytes. */
static cs_status join(char *path, const char *folder, const char *name, const char *extension,
                      cs_error *err)
{
    int n = snprintf(path, PATH_MAX, "%s/%s.%s", folder, name, extension);

    if (n < 0 || n >= PATH_MAX) {
        return CS_FAIL(err, CS_EIO, NULL, "the path of %s.%s is too long", name, extension);
    }
    return CS_OK;
}

static cs_status write_text(const char *folder, const char *name, const char *extension,
                            const cs_text *text, cs_error *err)
{
    char path[PATH_MAX];

    CS_TRY(cs_text_status(text, err));
    CS_TRY(join(path, folder, name, extension, err));
    return cs_file_write(path, text->data, text->length, err);
}

static void drawing_folder_close(const drawing_folder *s)
{
    sigset_t before;

    cs_leftovers_hold(&before);
    for (size_t i = 0; i < N_KINDS; i++) {
        (void)unlink(s->pictures[i]);
        cs_leftover_forget(s->notes[i]);
    }
    (void)rmdir(s->folder);
    cs_leftover_forget(s->folder_note);
    cs_leftovers_release(&before);
}

/* Make one in `folder`, for the pictures of `name`. */
static cs_status drawing_folder_open(drawing_folder *s, const char *folder, const char *name,
                                     cs_error *err)
{
    sigset_t  before;
    cs_status status = join(s->folder, folder, ".collsim-figure", "XXXXXX", err);

    if (status != CS_OK) {
        return status;
    }
    cs_leftovers_hold(&before);
    bool is_made   = mkdtemp(s->folder) != NULL;
    s->folder_note = is_made ? cs_leftover_folder(s->folder) : -1;
    cs_leftovers_release(&before);
    if (!is_made) {
        return CS_FAIL(err, CS_EIO, folder, "cannot make a folder in it: %s", strerror(errno));
    }
    for (size_t i = 0; i < N_KINDS; i++) {
        cs_status joined = join(s->pictures[i], s->folder, name, kinds[i].extension, err);
        s->notes[i]      = joined == CS_OK ? cs_leftover_file(s->pictures[i]) : -1;
        status           = status == CS_OK ? joined : status;
    }
    if (status != CS_OK) {
        drawing_folder_close(s);
    }
    return status;
}

static bool ends_with(const char *data, size_t length, const picture_kind *kind)
{
    size_t n = strlen(kind->end);

    while (length > 0 && data[length - 1] == '\n') {
        length--;
    }
    return length >= n && memcmp(data + length - n, kind->end, n) == 0;
}

/* Write a picture; an SVG gets the figure's title in place of gnuplot's. */
static cs_status write_picture(const char *to, const picture_kind *kind, const char *title,
                               const char *data, size_t length, cs_error *err)
{
    cs_text titled = {0};

    if (strcmp(kind->extension, "svg") != 0) {
        return cs_file_write(to, data, length, err);
    }
    cs_svg_retitle(&titled, data, length, title);
    cs_status status = cs_text_status(&titled, err);
    status = status == CS_OK ? cs_file_write(to, titled.data, titled.length, err) : status;
    cs_text_free(&titled);
    return status;
}

/* Copy a picture that is complete from the temporary folder to `folder`. */
static cs_status keep_picture(const drawing_folder *s, size_t kind, const char *folder,
                              const cs_figure_data *figure, cs_error *err)
{
    const char *name = figure->name;
    char        to[PATH_MAX];
    char       *data   = NULL;
    size_t      length = 0;
    const char *what   = kinds[kind].extension;
    cs_error    why    = {0};
    cs_status   status = join(to, folder, name, what, err);

    if (status != CS_OK) {
        return status;
    }
    status = cs_file_read(s->pictures[kind], MOST_PICTURE_BYTES, &data, &length, &why);
    if (status == CS_EIO || (status == CS_OK && length == 0)) {
        status = CS_FAIL(err, CS_EIO, "gnuplot", "drew no %s for %s", what, name);
    } else if (status != CS_OK) {
        status = CS_FAIL(err, status, "gnuplot", "the %s of %s %s", what, name, why.message);
    } else if (!ends_with(data, length, &kinds[kind])) {
        status = CS_FAIL(err, CS_EIO, "gnuplot", "drew half a %s for %s", what, name);
    } else {
        status = write_picture(to, &kinds[kind], figure->title.data, data, length, err);
    }
    cs_free(data);
    return status;
}

static cs_status draw(const cs_figure_data *figure, const char *folder, bool *drawn_p,
                      cs_error *err)
{
    const char    *name = figure->name;
    drawing_folder s;
    char           first[256], script[96];
    cs_status      status = drawing_folder_open(&s, folder, name, err);

    if (status != CS_OK) {
        return status;
    }
    const char *place = strrchr(s.folder, '/') + 1;
    (void)snprintf(first, sizeof first, "SVG = '%s/%s.svg'; PNG = '%s/%s.png'", place, name, place,
                   name);
    (void)snprintf(script, sizeof script, "%s.gp", name);
    status = run_gnuplot(folder, script, first, drawn_p, err);
    for (size_t i = 0; i < N_KINDS && status == CS_OK && *drawn_p; i++) {
        status = keep_picture(&s, i, folder, figure, err);
    }
    drawing_folder_close(&s);
    return status;
}

/* ---- the figure ---- */

static cs_value value_of(const cs_operand *cell)
{
    return cell->text != NULL    ? (cs_value){.type = CS_VALUE_TEXT, .text = cell->text}
           : isnan(cell->number) ? (cs_value){.type = CS_VALUE_NONE}
                                 : (cs_value){.type = CS_VALUE_REAL, .real = cell->number};
}

static void add_csv(const cs_figure_table *table, cs_text *csv)
{
    const cs_figure *figure = table->figure;

    assert(figure != NULL);
    for (size_t i = 0; i < figure->n_columns; i++) {
        cs_csv_value(csv, (cs_value){.type = CS_VALUE_TEXT, .text = figure->columns[i].name});
    }
    cs_csv_end(csv);
    for (size_t row = 0; row < table->n_rows; row++) {
        for (size_t i = 0; i < figure->n_columns; i++) {
            cs_csv_value(csv, value_of(&table->cells[row * figure->n_columns + i]));
        }
        cs_csv_end(csv);
    }
}

/* What a figure shows. Its own words are about its own cluster: changed, it is called by what was
 * changed. */
static void add_title(const cs_figure *figure, cs_text *title)
{
    if (!figure->is_changed) {
        cs_text_add(title, "%s", figure->title);
        return;
    }
    cs_text_add(title, "a figure redrawn");
    for (size_t i = 0; i < figure->n_sets; i++) {
        cs_text_add(title, "%s %s=%s", i == 0 ? " with" : ",", figure->sets[i].path,
                    figure->sets[i].json);
    }
}

/* cs_figure_compute() with what it gives back: `figure` and `table` are filled in. */
static cs_status compute(const cs_figure_request *request, cs_figure *figure,
                         cs_figure_table *table, cs_figure_data *data, cs_error *err)
{
    CS_TRY(cs_figure_open(figure, request, err));
    data->name = cs_strdup(figure->name);
    if (data->name == NULL) {
        return CS_NO_MEMORY(err, "the name of a figure");
    }
    add_title(figure, &data->title);
    CS_TRY(cs_text_status(&data->title, err));
    CS_TRY(cs_figure_table_fill(table, figure, request, err));
    add_csv(table, &data->csv);
    CS_TRY(cs_text_status(&data->csv, err));
    CS_TRY(cs_figure_script(table, &data->script, err));
    CS_TRY(cs_figure_check_all(table, data, err));
    return cs_text_status(&data->checks, err);
}

cs_status cs_figure_compute(const cs_figure_request *request, cs_figure_data *data, cs_error *err)
{
    cs_figure       figure = {0};
    cs_figure_table table  = {0};
    cs_status       status = compute(request, &figure, &table, data, err);

    cs_figure_table_free(&table);
    cs_figure_close(&figure);
    return status;
}

void cs_figure_data_free(cs_figure_data *data)
{
    cs_free(data->name);
    cs_text_free(&data->title);
    cs_text_free(&data->csv);
    cs_text_free(&data->script);
    cs_text_free(&data->checks);
    *data = (cs_figure_data){0};
}

static cs_status write_files(const cs_figure_data *data, const char *folder, bool *drawn_p,
                             cs_error *err)
{
    CS_TRY(write_text(folder, data->name, "csv", &data->csv, err));
    CS_TRY(write_text(folder, data->name, "gp", &data->script, err));
    return draw(data, folder, drawn_p, err);
}

cs_status cs_figure_write(const cs_figure_request *request, const char *folder, cs_text *line,
                          bool *ok_p, bool *drawn_p, cs_error *err)
{
    cs_figure_data data   = {0};
    bool           drawn  = false;
    cs_status      status = cs_figure_compute(request, &data, err);

    if (status == CS_OK) {
        status = write_files(&data, folder, &drawn, err);
    }
    if (status == CS_OK) {
        cs_text_add(line, "%s: %zu checks passed, %zu failed -> %s/%s.%s\n", data.name,
                    data.n_checks - data.n_failed, data.n_failed, folder, data.name,
                    drawn ? "{csv,svg,png}" : "csv");
        cs_text_add(line, "%s", data.checks.length > 0 ? data.checks.data : "");
        if (data.skips_references) {
            cs_text_add(line, "%s: references of the paper apply to its own cluster: not checked\n",
                        data.name);
        }
        if (!drawn) {
            cs_text_add(line, "%s: no picture, gnuplot is missing: apt-get install gnuplot-nox\n",
                        data.name);
        }
        *ok_p    = data.n_failed == 0;
        *drawn_p = drawn;
    }
    cs_figure_data_free(&data);
    return status;
}
