/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names with ranges, one after the other. */
#include "hunt/hosts.h"

#include "base/alloc.h"
#include "base/file.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 128, MOST_DIGITS = 9 };
#define MOST_FILE_BYTES ((size_t)64 << 20)

typedef struct names {
    cs_arena    *arena;
    const char  *where;
    const char **of; /* owned until the end */
    size_t       n, capacity, most;
} names;

static cs_status add(names *list, const char *begin, size_t length, cs_error *err)
{
    char name[NAME_BYTES];

    if (length == 0 || length >= sizeof name) {
        return CS_FAIL(err, CS_EINVAL, list->where,
                       length == 0 ? "a name is empty" : "a name is longer than 127 letters");
    }
    if (list->n == list->most) {
        return CS_FAIL(err, CS_EINVAL, list->where, "more than %zu names", list->most);
    }
    memcpy(name, begin, length);
    name[length] = '\0';
    if (!cs_grow(&list->of, &list->capacity, list->n + 1, 64, sizeof *list->of) ||
        (list->of[list->n] = cs_arena_strdup(list->arena, name)) == NULL) {
        return CS_NO_MEMORY(err, "%zu names", list->n + 1);
    }
    list->n++;
    return CS_OK;
}

/* One of "001-004" or "9" at *at_p, which is left behind it. */
static cs_status read_range(const char **at_p, const names *list, unsigned long *from_p,
                            unsigned long *to_p, int *width_p, cs_error *err)
{
    const char *at     = *at_p;
    size_t      digits = strspn(at, "0123456789"), more = 0;

    *from_p = *to_p = strtoul(at, NULL, 10);
    *width_p        = (int)digits;
    if (at[digits] == '-') {
        more  = strspn(at + digits + 1, "0123456789");
        *to_p = strtoul(at + digits + 1, NULL, 10);
    }
    if (digits == 0 || digits > MOST_DIGITS || more > MOST_DIGITS ||
        (at[digits] == '-' && more == 0) || *to_p < *from_p) {
        return CS_FAIL(err, CS_EINVAL, list->where,
                       "'%.40s' is no range: accepted is node[001-128,200]", at);
    }
    *at_p = at + digits + (at[digits] == '-' ? 1 + more : 0);
    return CS_OK;
}

/* "node[001-004,9]rest", of `length` bytes, which has one pair of brackets at most. */
static cs_status expand(names *list, const char *item, size_t length, cs_error *err)
{
    const char *open  = memchr(item, '[', length);
    const char *close = memchr(item, ']', length);

    if (open == NULL && close == NULL) {
        return add(list, item, length, err);
    }
    if (open == NULL || close == NULL || close < open + 2 ||
        memchr(close, '[', length - (size_t)(close - item)) != NULL) {
        return CS_FAIL(err, CS_EINVAL, list->where,
                       "'%.*s' has brackets that are not paired: accepted is node[001-128,200]",
                       (int)(length < 60 ? length : 60), item);
    }
    for (const char *at = open; at < close;) {
        unsigned long from, to;
        int           width;
        at++;
        CS_TRY(read_range(&at, list, &from, &to, &width, err));
        if (at > close || (*at != ',' && *at != ']')) {
            return CS_FAIL(err, CS_EINVAL, list->where,
                           "'%.*s' is no range: accepted is node[001-128,200]",
                           (int)(close - open + 1), open);
        }
        for (unsigned long i = from; i <= to; i++) {
            char name[2 * NAME_BYTES];
            int n = snprintf(name, sizeof name, "%.*s%0*lu%.*s", (int)(open - item), item, width, i,
                             (int)(length - (size_t)(close + 1 - item)), close + 1);
            CS_TRY(
                add(list, name, n < 0 || (size_t)n >= sizeof name ? NAME_BYTES : (size_t)n, err));
        }
    }
    return CS_OK;
}

/* Names up to `end`, with commas outside of brackets between them. */
static cs_status read_items(names *list, const char *begin, const char *end, cs_error *err)
{
    const char *item  = begin;
    bool        inner = false;

    for (const char *at = begin; at <= end; at++) {
        if (at == end || (*at == ',' && !inner)) {
            CS_TRY(expand(list, item, (size_t)(at - item), err));
            item = at + 1;
        } else {
            inner = *at == '[' || (inner && *at != ']');
        }
    }
    return CS_OK;
}

/* Hand the names over to the arena. */
static cs_status finish(names *list, cs_status status, const char ***names_p, size_t *n_p,
                        cs_error *err)
{
    if (status == CS_OK && list->n == 0) {
        status = CS_FAIL(err, CS_EINVAL, list->where, "names no host");
    }
    if (status == CS_OK) {
        *names_p = CS_ARENA_NEW(list->arena, const char *, list->n);
        *n_p     = list->n;
        status   = *names_p != NULL ? CS_OK : CS_NO_MEMORY(err, "%zu names", list->n);
    }
    if (status == CS_OK) {
        memcpy(*names_p, list->of, list->n * sizeof *list->of);
    }
    cs_free(list->of);
    return status;
}

cs_status cs_hosts_parse(const char *text, size_t most, const char *where, cs_arena *arena,
                         const char ***names_p, size_t *n_p, cs_error *err)
{
    names list = {.arena = arena, .where = where, .most = most};

    return finish(&list, read_items(&list, text, text + strlen(text), err), names_p, n_p, err);
}

static cs_status read_lines(names *list, const char *path, const char *text, cs_error *err)
{
    int line = 1;

    for (const char *at = text; *at != '\0'; line++) {
        const char *end   = at + strcspn(at, "\n");
        const char *begin = at + strspn(at, " \t\r");
        size_t      word  = strcspn(begin, " \t\r\n#");
        if (word > 0) {
            cs_status status = read_items(list, begin, begin + word, err);
            if (status != CS_OK) {
                cs_error_locate(err, path, line, (int)(begin - at) + 1);
                return status;
            }
        }
        at = *end == '\n' ? end + 1 : end;
    }
    return CS_OK;
}

cs_status cs_hosts_load(const char *path, size_t most, cs_arena *arena, const char ***names_p,
                        size_t *n_p, cs_error *err)
{
    names     list = {.arena = arena, .where = "hosts", .most = most};
    char     *text = NULL;
    size_t    length;
    cs_status status;

    CS_TRY(cs_file_read(path, MOST_FILE_BYTES, &text, &length, err));
    status = finish(&list, read_lines(&list, path, text, err), names_p, n_p, err);
    if (status != CS_OK && err != NULL && err->input[0] == '\0') {
        cs_error_locate(err, path, 0, 0);
    }
    cs_free(text);
    return status;
}
