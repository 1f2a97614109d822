/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A window moves over the file: what is left of it goes to its front, the rest is filled. */
#include "input/lines.h"

#include "base/alloc.h"
#include "input/gzip.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WINDOW_BYTES (2 * CS_LINES_MOST_BYTES)

struct cs_lines {
    char       *path;   /* in errors; NULL: a text in memory */
    FILE       *file;   /* NULL: a text in memory */
    cs_gzip    *gzip;   /* NULL: not compressed */
    char       *window; /* NULL: a text in memory */
    const char *text;   /* the window, or the text */
    size_t      at, length;
    double      file_bytes;
    int         number;
    bool        is_at_end, is_in_cut; /* ..: inside a line of which the beginning was handed out */
    cs_error    damage;               /* what is behind the end of what could be read; or CS_OK */
};

static cs_status tell_damage(const cs_lines *l, cs_error *err)
{
    if (err != NULL) {
        *err = l->damage;
    }
    return l->damage.status;
}

/* Fill the window up. Damage is told when all in front of it was. */
static cs_status fill(cs_lines *l, cs_error *err)
{
    size_t left = l->length - l->at, added = 0;

    if (l->file == NULL || l->is_at_end) {
        return CS_OK;
    }
    memmove(l->window, l->window + l->at, left);
    l->at     = 0;
    l->length = left;
    if (l->gzip != NULL) {
        cs_status status =
            cs_gzip_next(l->gzip, l->window + left, WINDOW_BYTES - left, &added, &l->damage);
        if (status == CS_EPARSE) {
            cs_error_locate(&l->damage, l->path, 0, 0);
        } else if (status != CS_OK) {
            return tell_damage(l, err);
        }
    } else {
        added = fread(l->window + left, 1, WINDOW_BYTES - left, l->file);
    }
    l->length += added;
    l->is_at_end = l->length < WINDOW_BYTES || l->damage.status != CS_OK;
    if (l->is_at_end && ferror(l->file) != 0) {
        cs_status status = CS_FAIL(err, CS_EIO, "", "cannot be read: %s", strerror(errno));
        cs_error_locate(err, l->path, 0, 0);
        return status;
    }
    return CS_OK;
}

static cs_status open_file(cs_lines *l, cs_error *err)
{
    struct stat info;
    char        begin[2];
    /* A pipe must not hold us. */
    int fd = open(l->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    l->file = fd >= 0 ? fdopen(fd, "rb") : NULL;
    if (l->file == NULL) {
        cs_status status = CS_FAIL(err, CS_EIO, "", "cannot be opened: %s", strerror(errno));
        if (fd >= 0) {
            (void)close(fd);
        }
        return status;
    }
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
        return CS_FAIL(err, CS_EIO, "", "is not a regular file");
    }
    l->file_bytes = (double)info.st_size;
    size_t n      = fread(begin, 1, sizeof begin, l->file);
    rewind(l->file);
    if (cs_gzip_is(begin, n)) {
        CS_TRY(cs_gzip_open(l->file, &l->gzip, err));
    }
    l->window = CS_NEW(char, WINDOW_BYTES);
    l->text   = l->window;
    return l->window != NULL ? CS_OK : CS_NO_MEMORY(err, "a part of a file");
}

cs_status cs_lines_open(const char *path, cs_lines **lines_p, cs_error *err)
{
    cs_lines *l = CS_NEW(cs_lines, 1);

    if (l == NULL || (l->path = cs_strdup(path)) == NULL) {
        cs_free(l);
        return CS_NO_MEMORY(err, "the lines of a file");
    }
    cs_status status = open_file(l, err);
    if (status != CS_OK) {
        cs_error_locate(err, path, 0, 0);
    } else {
        status = fill(l, err);
    }
    if (status != CS_OK) {
        cs_lines_close(l);
        return status;
    }
    *lines_p = l;
    return CS_OK;
}

cs_status cs_lines_open_text(const char *text, size_t length, cs_lines **lines_p, cs_error *err)
{
    cs_lines *l = CS_NEW(cs_lines, 1);

    if (l == NULL) {
        return CS_NO_MEMORY(err, "the lines of a text");
    }
    *l       = (cs_lines){.text = text, .length = length, .is_at_end = true};
    *lines_p = l;
    return CS_OK;
}

const char *cs_lines_ahead(const cs_lines *lines, size_t *length_p)
{
    size_t left = lines->length - lines->at;

    *length_p = left < CS_LINES_MOST_BYTES ? left : CS_LINES_MOST_BYTES;
    return lines->text + lines->at;
}

/* Go behind the end of a line, however far it is. */
static cs_status skip_rest(cs_lines *l, cs_error *err)
{
    l->is_in_cut = false;
    for (;;) {
        const char *from = l->text + l->at;
        const char *end  = memchr(from, '\n', l->length - l->at);
        if (end != NULL) {
            l->at += (size_t)(end - from) + 1;
            return CS_OK;
        }
        l->at = l->length;
        if (l->is_at_end) {
            return CS_OK;
        }
        CS_TRY(fill(l, err));
    }
}

/* The end of the line that is next; NULL: not in reach, or farther than a line may be. */
static const char *next_end(const cs_lines *l)
{
    size_t left = l->length - l->at;

    return left > 0 ? memchr(l->text + l->at, '\n',
                             left < CS_LINES_MOST_BYTES ? left : CS_LINES_MOST_BYTES)
                    : NULL;
}

cs_status cs_lines_next(cs_lines *lines, cs_line_view *line_p, bool *more_p, cs_error *err)
{
    if (lines->is_in_cut) {
        CS_TRY(skip_rest(lines, err));
    }
    const char *end = next_end(lines);
    if (end == NULL) { /* the line may go on in the file */
        CS_TRY(fill(lines, err));
        end = next_end(lines);
    }
    const char *from = lines->text + lines->at;
    size_t      left = lines->length - lines->at;
    size_t      most = left < CS_LINES_MOST_BYTES ? left : CS_LINES_MOST_BYTES;

    *more_p = left > 0;
    if (left == 0) {
        return tell_damage(lines, err);
    }
    lines->number += lines->number < INT_MAX;
    *line_p          = (cs_line_view){.text       = from,
                                      .length     = end != NULL ? (size_t)(end - from) : most,
                                      .number     = lines->number,
                                      .is_cut     = end == NULL && left > most,
                                      .has_no_end = end == NULL && left <= most};
    lines->is_in_cut = line_p->is_cut;
    lines->at += end != NULL ? line_p->length + 1 : most;
    return CS_OK;
}

double cs_lines_share(const cs_lines *lines)
{
    long at = lines->file != NULL ? ftell(lines->file) : 0;
    return at > 0 && lines->file_bytes > 0 ? fmin((double)at / lines->file_bytes, 1) : 0;
}

void cs_lines_close(cs_lines *lines)
{
    if (lines == NULL) {
        return;
    }
    if (lines->file != NULL) {
        (void)fclose(lines->file);
    }
    cs_gzip_close(lines->gzip);
    cs_free(lines->window);
    cs_free(lines->path);
    cs_free(lines);
}
