/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One figure to files, all of them through base/file.h. gnuplot draws the pictures into a folder of
 * their own, beside the script, whose name nobody knows before and into which nobody else looks. */
#include "base/alloc.h"
#include "base/file.h"
#include "base/leftover.h"
#include "figures/figures.h"
#include "figures/gnuplot.h"
#include "figures/script.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
    char      path[PATH_MAX];
    cs_status status = cs_text_status(text, err);

    if (status == CS_OK) {
        status = join(path, folder, name, extension, err);
    }
    return status == CS_OK ? cs_file_write(path, text->data, text->length, err) : status;
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
    status = cs_gnuplot_run(folder, script, first, drawn_p, err);
    for (size_t i = 0; i < N_KINDS && status == CS_OK && *drawn_p; i++) {
        status = keep_picture(&s, i, folder, name, err);
    }
    studio_close(&s);
    return status;
}

static cs_status write_files(const cs_figure *figure, const cs_figure_data *data,
                             const char *folder, bool *drawn_p, cs_error *err)
{
    cs_text   script = {0};
    cs_status status = cs_text_status(&data->gnuplot, err);

    if (status == CS_OK) {
        status = write_text(folder, figure->name, "csv", &data->csv, err);
    }
    if (status == CS_OK) {
        cs_figure_script(figure, data, &script);
        status = write_text(folder, figure->name, "gp", &script, err);
    }
    cs_text_free(&script);
    return status == CS_OK ? draw(figure->name, folder, drawn_p, err) : status;
}

static cs_status compute(const cs_figure *figure, const char *trace, cs_figure_data *data,
                         cs_error *err)
{
    if (trace == NULL) {
        return figure->compute(data, err);
    }
    if (figure->compute_trace == NULL) {
        return CS_FAIL(err, CS_EINVAL, figure->name, "shows no trace; stragglar-2a does");
    }
    return figure->compute_trace(trace, data, err);
}

cs_status cs_figure_write(const cs_figure *figure, const char *trace, const char *folder,
                          cs_text *line, bool *ok_p, bool *drawn_p, cs_error *err)
{
    cs_figure_data data   = {0};
    bool           drawn  = false;
    cs_status      status = compute(figure, trace, &data, err);

    if (status == CS_OK) {
        status = cs_text_status(&data.checks, err);
    }
    if (status == CS_OK) {
        status = write_files(figure, &data, folder, &drawn, err);
    }
    if (status == CS_OK) {
        cs_text_add(line, "%s: %zu checks passed, %zu failed -> %s/%s.%s\n", figure->name,
                    data.n_checks - data.n_failed, data.n_failed, folder, figure->name,
                    drawn ? "{csv,svg,png}" : "csv");
        cs_text_add(line, "%s", data.checks.length > 0 ? data.checks.data : "");
        *ok_p    = data.n_failed == 0 && data.n_checks > 0;
        *drawn_p = drawn;
    }
    cs_figure_free(&data);
    return status;
}
