/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One figure to files: data and script through base/file.h, pictures by gnuplot under names of
 * their own first, then renamed. */
#include "base/file.h"
#include "figures/figures.h"
#include "figures/gnuplot.h"
#include "figures/script.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const kinds[] = {"svg", "png"};

enum { N_KINDS = 2 };

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

/* Give the picture its final name. */
static cs_status keep_picture(const char *folder, const char *temporary, const char *name,
                              const char *kind, cs_error *err)
{
    char        from[PATH_MAX], to[PATH_MAX];
    struct stat info;
    cs_status   status = join(from, folder, temporary, kind, err);

    if (status == CS_OK) {
        status = join(to, folder, name, kind, err);
    }
    if (status != CS_OK) {
        return status;
    }
    if (stat(from, &info) != 0 || info.st_size == 0) {
        return CS_FAIL(err, CS_EIO, "gnuplot", "drew no %s for %s", kind, name);
    }
    if (rename(from, to) != 0) {
        return CS_FAIL(err, CS_EIO, "gnuplot", "cannot write %s: %s", to, strerror(errno));
    }
    return CS_OK;
}

static void remove_pictures(const char *folder, const char *temporary)
{
    char path[PATH_MAX];

    for (size_t i = 0; i < N_KINDS; i++) {
        if (join(path, folder, temporary, kinds[i], NULL) == CS_OK) {
            (void)unlink(path);
        }
    }
}

static cs_status draw(const char *name, const char *folder, bool *drawn_p, cs_error *err)
{
    char temporary[96], first[256], script[96];

    (void)snprintf(temporary, sizeof temporary, ".%s-%ld", name, (long)getpid());
    (void)snprintf(first, sizeof first, "SVG = '%s.svg'; PNG = '%s.png'", temporary, temporary);
    (void)snprintf(script, sizeof script, "%s.gp", name);
    cs_status status = cs_gnuplot_run(folder, script, first, drawn_p, err);
    for (size_t i = 0; i < N_KINDS && status == CS_OK && *drawn_p; i++) {
        status = keep_picture(folder, temporary, name, kinds[i], err);
    }
    if (status != CS_OK) {
        remove_pictures(folder, temporary);
    }
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
