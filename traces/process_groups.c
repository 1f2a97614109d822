/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "traces/process_groups.h"

#include "base/alloc.h"
#include "input/gzip.h"
#include "input/json_scan.h"

#include <stdlib.h>
#include <string.h>

#define MAX_FILE_BYTES ((size_t)64 << 20)

static cs_status no_memory(cs_error *err)
{
    return CS_NO_MEMORY(err, "process groups");
}

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Add a group with the numbers that the scan has next, an array. */
static cs_status add_group(cs_process_groups *list, const char *name, size_t length, cs_scan *s,
                           const char *path, cs_error *err)
{
    uint32_t *ranks = NULL;
    size_t    n = 0, capacity = 0;
    int64_t   rank;
    cs_status status = CS_OK;

    while (status == CS_OK && cs_scan_element(s)) {
        if (!cs_scan_integer(s, &rank) || rank < 0 || rank >= (int64_t)list->n_ranks) {
            status = CS_FAIL(err, CS_EINVAL, path, "group '%.*s': not a rank of 0 to %u",
                             (int)length, name, list->n_ranks - 1);
        } else if (!cs_grow(&ranks, &capacity, n + 1, 16, sizeof *ranks)) {
            status = no_memory(err);
        } else {
            ranks[n++] = (uint32_t)rank;
        }
    }
    if (status == CS_OK && n > 1) {
        qsort(ranks, n, sizeof *ranks, by_number);
    }
    for (size_t i = 1; i < n && status == CS_OK; i++) {
        if (ranks[i] == ranks[i - 1]) {
            status = CS_FAIL(err, CS_EINVAL, path, "group '%.*s': rank %u is there twice",
                             (int)length, name, ranks[i]);
        }
    }
    if (status == CS_OK &&
        (length >= CS_PROCESS_GROUP_BYTES ||
         !cs_grow(&list->groups, &list->capacity, list->n + 1, 8, sizeof *list->groups))) {
        status = length >= CS_PROCESS_GROUP_BYTES
                     ? CS_FAIL(err, CS_EINVAL, path, "a process group's name is too long")
                     : no_memory(err);
    }
    if (status == CS_OK) {
        cs_process_group *g = &list->groups[list->n];
        *g                  = (cs_process_group){.n_ranks = (uint32_t)n};
        memcpy(g->name, name, length);
        if (n > 0) {
            g->ranks = CS_ARENA_NEW(&list->arena, uint32_t, n);
            status   = g->ranks != NULL ? CS_OK : no_memory(err);
        }
        if (status == CS_OK && n > 0) {
            memcpy(g->ranks, ranks, n * sizeof *ranks);
        }
        list->n += status == CS_OK;
    }
    cs_free(ranks);
    return status;
}

/* Mark the ranks of the last group with its key's number: was one of them marked with it? */
static cs_status mark_last(const cs_process_groups *groups, uint32_t *marks, uint32_t key,
                           const char *path, cs_error *err)
{
    const cs_process_group *last = &groups->groups[groups->n - 1];

    for (uint32_t k = 0; k < last->n_ranks; k++) {
        if (marks[last->ranks[k]] == key) {
            return CS_FAIL(err, CS_EINVAL, path, "group '%s': rank %u is in two of its lists",
                           last->name, last->ranks[k]);
        }
        marks[last->ranks[k]] = key;
    }
    return CS_OK;
}

/* {"NAME": [0, 2, ..] or [[0, 2], [1, 3]], ..} */
static cs_status read_lists(cs_process_groups *groups, const char *path, cs_scan *s,
                            cs_scan_text key, uint32_t *marks, uint32_t number, cs_error *err)
{
    cs_scan ahead = *s;
    int  shown = (int)(key.length < CS_PROCESS_GROUP_BYTES ? key.length : CS_PROCESS_GROUP_BYTES);
    bool lists =
        cs_scan_enter(&ahead, '[') && cs_scan_element(&ahead) && cs_scan_enter(&ahead, '[');

    if (!cs_scan_enter(s, '[')) {
        return CS_FAIL(err, CS_EINVAL, path, "group '%.*s': accepted is a list of ranks", shown,
                       key.text);
    }
    if (!lists) {
        CS_TRY(add_group(groups, key.text, key.length, s, path, err));
        return mark_last(groups, marks, number, path, err);
    }
    while (cs_scan_element(s)) {
        if (!cs_scan_enter(s, '[')) {
            return CS_FAIL(err, CS_EINVAL, path, "group '%.*s': accepted are lists of ranks alone",
                           shown, key.text);
        }
        CS_TRY(add_group(groups, key.text, key.length, s, path, err));
        CS_TRY(mark_last(groups, marks, number, path, err));
    }
    return CS_OK;
}

static cs_status read_text(cs_process_groups *groups, const char *path, const char *text,
                           size_t length, uint32_t *marks, cs_error *err)
{
    cs_scan      s;
    cs_scan_text key;
    uint32_t     number = 0;

    cs_scan_begin(&s, text, length);
    if (!cs_scan_enter(&s, '{')) {
        return CS_FAIL(err, CS_EPARSE, path,
                       "accepted is an object of groups: {\"NAME\": [0, 2], ..}");
    }
    while (cs_scan_key(&s, &key)) {
        CS_TRY(read_lists(groups, path, &s, key, marks, ++number, err));
    }
    return cs_scan_is_at_end(&s) ? CS_OK : CS_FAIL(err, CS_EPARSE, path, "malformed JSON");
}

cs_status cs_process_groups_load(cs_process_groups *groups, const char *path, cs_error *err)
{
    char  *text = NULL;
    size_t length;

    CS_TRY(cs_gzip_read(path, MAX_FILE_BYTES, &text, &length, err));
    uint32_t *marks = CS_NEW(uint32_t, groups->n_ranks);
    cs_status status =
        marks != NULL ? read_text(groups, path, text, length, marks, err) : no_memory(err);
    cs_free(marks);
    cs_free(text);
    return status;
}

/* One object of the array. */
static cs_status describe_one(cs_process_groups *groups, cs_scan *s, const char *file,
                              cs_error *err)
{
    cs_scan      ranks = {0};
    cs_scan_text key, name = {0};
    bool         has_ranks = false;

    if (!cs_scan_enter(s, '{')) {
        return CS_OK;
    }
    while (cs_scan_key(s, &key)) {
        if (cs_scan_is(key, "pg_name")) {
            (void)cs_scan_string(s, &name);
        } else if (cs_scan_is(key, "ranks")) {
            ranks     = *s;
            has_ranks = cs_scan_enter(&ranks, '[');
            cs_scan_skip(s);
        } else {
            cs_scan_skip(s);
        }
    }
    return has_ranks && name.length > 0
               ? add_group(groups, name.text, name.length, &ranks, file, err)
               : CS_OK;
}

cs_status cs_process_groups_describe(cs_process_groups *groups, const char *text, size_t length,
                                     const char *name, cs_error *err)
{
    char     *plain  = cs_calloc(length + 1, 1);
    size_t    n      = 0;
    cs_status status = CS_OK;
    cs_scan   s;

    if (plain == NULL) {
        return no_memory(err);
    }
    for (size_t i = 0; i < length; i++) {
        if (text[i] != '\\') {
            plain[n++] = text[i];
        }
    }
    const char *from = strstr(plain, "[{");
    if (from != NULL && strstr(plain, "pg_name") != NULL) {
        cs_scan_begin(&s, from, n - (size_t)(from - plain));
        (void)cs_scan_enter(&s, '[');
        while (status == CS_OK && cs_scan_element(&s)) {
            status = describe_one(groups, &s, name, err);
        }
        if (status == CS_OK && s.is_wrong) {
            status = CS_FAIL(err, CS_EPARSE, name, "its process groups are damaged, or cut off");
        }
    }
    cs_free(plain);
    return status;
}

const cs_process_group *cs_process_groups_find(const cs_process_groups *list, const char *name,
                                               uint32_t rank, bool *is_named_p)
{
    for (size_t i = 0; i < list->n; i++) {
        const cs_process_group *g = &list->groups[i];
        if (strcmp(g->name, name) != 0) {
            continue;
        }
        *is_named_p = true;
        if (g->ranks == NULL ||
            bsearch(&rank, g->ranks, g->n_ranks, sizeof rank, by_number) != NULL) {
            return g;
        }
    }
    return NULL;
}

void cs_process_groups_free(cs_process_groups *groups)
{
    cs_free(groups->groups);
    cs_arena_free(&groups->arena);
    *groups = (cs_process_groups){0};
}
