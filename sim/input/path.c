/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/path.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
}

static bool is_plain_key(const char *key)
{
    const char *at = key;

    while (is_plain(*at)) {
        at++;
    }
    return *at == '\0' && at != key;
}

/* "[12]": the text behind it, or NULL. */
static const char *take_index(const char *at, cs_step *step)
{
    size_t index = 0;

    if (*at < '0' || *at > '9') {
        return NULL;
    }
    for (; *at >= '0' && *at <= '9'; at++) {
        if (index > UINT32_MAX) {
            return NULL;
        }
        index = index * 10 + (size_t)(*at - '0');
    }
    *step = (cs_step){.key = NULL, .index = index};
    return *at == ']' ? at + 1 : NULL;
}

/* A key up to its end, copied to `*to`; the text behind it, or NULL. */
static const char *take_quoted(const char *at, char **to)
{
    while (*at != '"') {
        at += *at == '\\';
        if (*at == '\0') {
            return NULL;
        }
        *(*to)++ = *at++;
    }
    return at[1] == ']' ? at + 2 : NULL;
}

static const char *take_plain(const char *at, char **to)
{
    const char *begin = at;

    while (is_plain(*at)) {
        *(*to)++ = *at++;
    }
    return at != begin ? at : NULL;
}

/* One step at `at`, whose key goes to `*to`. */
static const char *take_step(const char *at, cs_step *step, char **to)
{
    *step = (cs_step){.key = *to, .index = 0};
    if (at[0] == '[' && at[1] != '"') {
        return take_index(at + 1, step);
    }
    at       = at[0] == '[' ? take_quoted(at + 2, to) : take_plain(at, to);
    *(*to)++ = '\0';
    return at;
}

cs_status cs_path_parse(const char *text, cs_path *path, cs_error *err)
{
    const char *at = text;
    char       *to = path->keys;

    path->n_steps = 0;
    path->appends = false;
    if (strlen(text) + CS_PATH_STEPS >= sizeof path->keys) {
        return CS_FAIL(err, CS_EINVAL, text, "the path is longer than %d bytes",
                       CS_PATH_BYTES - CS_PATH_STEPS - 1);
    }
    while (at != NULL && *at != '\0' && path->n_steps < CS_PATH_STEPS) {
        if (strcmp(at, "[]") == 0 && path->n_steps > 0) {
            path->appends = true;
            return CS_OK;
        }
        at += *at == '.' && path->n_steps > 0;
        at = take_step(at, &path->steps[path->n_steps++], &to);
        if (at != NULL && *at != '\0' && *at != '.' && *at != '[') {
            at = NULL;
        }
    }
    if (at == NULL || *at != '\0' || path->n_steps == 0) {
        return CS_FAIL(err, CS_EINVAL, text,
                       "not a path: accepted are keys with dots between them and [index], as in "
                       "cluster.nic.alpha or faults[0].rank");
    }
    return CS_OK;
}

void cs_path_add_key(char *text, const char *base, const char *key)
{
    char   joined[CS_PATH_BYTES];
    bool   is_simple = is_plain_key(key);
    int    start     = snprintf(joined, sizeof joined, "%s%s", base,
                         !is_simple        ? "[\""
                                : base[0] != '\0' ? "."
                                                  : "");
    size_t at        = start < 0 ? 0 : (size_t)start;

    for (; *key != '\0' && at + 5 < sizeof joined; key++) {
        if (*key == '"' || *key == '\\') {
            joined[at++] = '\\';
        }
        joined[at++] = *key;
    }
    if (at + 5 < sizeof joined && !is_simple) {
        joined[at++] = '"';
        joined[at++] = ']';
    }
    joined[at < sizeof joined ? at : sizeof joined - 1] = '\0';
    memcpy(text, joined, sizeof joined);
}

void cs_path_add_index(char *text, const char *base, size_t index)
{
    char joined[CS_PATH_BYTES + 24] = "";

    (void)snprintf(joined, sizeof joined, "%.230s[%zu]", base, index);
    memcpy(text, joined, CS_PATH_BYTES);
    text[CS_PATH_BYTES - 1] = '\0';
}

const char *cs_path_below(const char *prefix, const char *path)
{
    size_t length = strlen(prefix);

    if (strncmp(prefix, path, length) != 0) {
        return NULL;
    }
    const char *rest = path + length;
    return *rest == '\0' || *rest == '.' || *rest == '[' ? rest : NULL;
}
