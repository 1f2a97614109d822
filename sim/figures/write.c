/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One figure from its description to its files, all of them through base/file.h. gnuplot draws the
 * pictures into a folder of their own, beside the script, whose name nobody knows before and into
 * which nobody else looks. */
#include "base/alloc.h"
#include "base/child.h"
#include "base/file.h"
#include "base/leftover.h"
#include "figures/figure.h"

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

/* The first line of gnuplot's complaint that says something: it begins with pictures of where
 * it stood. Where there is none, how it ended. */
static const char *first_words(cs_child *child, char text[COMPLAINT_BYTES])
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
                         first_words(child, complaint));
    }
    cs_child_close(child);
    return status;
}

/* ---- pictures ---- */

/* A whole picture ends like this, but for empty lines. */
typedef struct picture_kind {
    const char *extension, *end;
} picture_kind;

static const picture_kind kinds[] = {{"svg", "</svg>"}, {"png", "IEND\xae\x42\x60\x82"}};

enum { N_KINDS = sizeof kinds / sizeof kinds[0], MOST_PICTURE_BYTES = 256 << 20 };

/* Where gnuplot draws. */
typedef struct studio {
    char folder[PATH_MAX], pictures[N_KINDS][PATH_MAX];
    int  folder_note, notes[N_KINDS];
} studio;

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

static void studio_close(const studio *s)
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

/* In `folder`, for the pictures of `name`. */
static cs_status studio_open(studio *s, const char *folder, const char *name, cs_error *err)
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
        studio_close(s);
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

/* Take a picture that is whole out of the studio. */
static cs_status keep_picture(const studio *s, size_t kind, const char *folder, const char *name,
                              cs_error *err)
{
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
        status = cs_file_write(to, data, length, err);
    }
    cs_free(data);
    return status;
}

static cs_status draw(const char *name, const char *folder, bool *drawn_p, cs_error *err)
{
    studio    s;
    char      first[256], script[96];
    cs_status status = studio_open(&s, folder, name, err);

    if (status != CS_OK) {
        return status;
    }
    const char *place = strrchr(s.folder, '/') + 1;
    (void)snprintf(first, sizeof first, "SVG = '%s/%s.svg'; PNG = '%s/%s.png'", place, name, place,
                   name);
    (void)snprintf(script, sizeof script, "%s.gp", name);
    status = run_gnuplot(folder, script, first, drawn_p, err);
    for (size_t i = 0; i < N_KINDS && status == CS_OK && *drawn_p; i++) {
        status = keep_picture(&s, i, folder, name, err);
    }
    studio_close(&s);
    return status;
}

/* ---- the figure ---- */

static void add_csv(const cs_figure_table *table, cs_text *csv)
{
    const cs_figure *figure = table->figure;

    assert(figure != NULL);
    for (size_t i = 0; i < figure->n_columns; i++) {
        cs_text_add(csv, "%s%s", i > 0 ? "," : "", figure->columns[i].name);
    }
    cs_text_add(csv, "\n");
    for (size_t k = 0; k < table->n_rows * figure->n_columns; k++) {
        const cs_operand *cell = &table->cells[k];
        if (cell->text != NULL) {
            cs_text_add_csv_field(csv, cell->text);
        } else if (!isnan(cell->number)) {
            cs_text_add_number(csv, cell->number);
        }
        cs_text_add(csv, "%s", (k + 1) % figure->n_columns == 0 ? "\n" : ",");
    }
}

cs_status cs_figure_compute(const cs_figure_request *request, cs_figure_data *data, cs_error *err)
{
    cs_figure       figure = {0};
    cs_figure_table table  = {0};
    cs_status       status = cs_figure_open(&figure, request, err);

    if (status == CS_OK) {
        data->name = cs_strdup(figure.name);
        status     = data->name != NULL ? cs_figure_table_fill(&table, &figure, request, err)
                                        : CS_NO_MEMORY(err, "a figure");
    }
    if (status == CS_OK) {
        add_csv(&table, &data->csv);
        status = cs_text_status(&data->csv, err);
    }
    if (status == CS_OK) {
        status = cs_figure_script(&table, &data->script, err);
    }
    if (status == CS_OK) {
        status = cs_figure_check_all(&table, data, err);
    }
    cs_figure_table_free(&table);
    cs_figure_close(&figure);
    return status == CS_OK ? cs_text_status(&data->checks, err) : status;
}

void cs_figure_data_free(cs_figure_data *data)
{
    cs_free(data->name);
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
    return draw(data->name, folder, drawn_p, err);
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
