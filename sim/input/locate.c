/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finding a value in a JSON text. The scanner walks down one step of the path at a time and skips
 * whole values by counting brackets outside of strings. */
#include "input/locate.h"

#include <string.h>

typedef struct scanner {
    const char *text;
    size_t      at, length;
} scanner;

/* The byte at the scanner, or NUL at the end. */
static char peek(const scanner *s)
{
    return (char)(s->at < s->length ? s->text[s->at] : '\0');
}

static void skip_space(scanner *s)
{
    while (s->at < s->length && strchr(" \t\r\n", s->text[s->at]) != NULL &&
           s->text[s->at] != '\0') {
        s->at++;
    }
}

static bool take(scanner *s, char c)
{
    skip_space(s);
    if (peek(s) != c || s->at >= s->length) {
        return false;
    }
    s->at++;
    return true;
}

/* From an opening quote to behind the closing one. */
static void skip_string(scanner *s)
{
    for (s->at++; s->at < s->length && s->text[s->at] != '"'; s->at++) {
        if (s->text[s->at] == '\\') {
            s->at++;
        }
    }
    s->at = s->at < s->length ? s->at + 1 : s->length;
}

/* From the first byte of a value to behind its last one. */
static void skip_value(scanner *s)
{
    size_t depth = 0;

    if (s->at >= s->length) {
        return;
    }
    do {
        char c = peek(s);
        if (c == '"') {
            skip_string(s);
            continue;
        }
        if (depth == 0 && (c == ',' || c == '}' || c == ']')) {
            return;
        }
        depth += c == '{' || c == '[';
        depth -= c == '}' || c == ']';
        s->at++;
    } while (s->at < s->length && (depth > 0 || strchr(",}] \t\r\n", s->text[s->at]) == NULL));
}

/* The scanner stands at a key: read it and its colon, and stand at the value. */
static bool take_key(scanner *s, const char *key, bool *is_it_p)
{
    size_t length = strlen(key), begin = s->at + 1;

    if (peek(s) != '"') {
        return false;
    }
    skip_string(s);
    *is_it_p = s->at - begin == length + 1 && memcmp(s->text + begin, key, length) == 0;
    if (!take(s, ':')) {
        return false;
    }
    skip_space(s);
    return true;
}

/* Go to the value of one step down; `key_at_p` becomes the place of its key (or of the value
 * itself in an array). */
static bool descend(scanner *s, const cs_step *step, size_t *key_at_p)
{
    bool is_it = false;

    if (!take(s, step->key != NULL ? '{' : '[')) {
        return false;
    }
    for (size_t i = 0;; i++) {
        skip_space(s);
        *key_at_p = s->at;
        if (step->key != NULL && !take_key(s, step->key, &is_it)) {
            return false;
        }
        if (step->key != NULL ? is_it : i == step->index) {
            return s->at < s->length && peek(s) != ']';
        }
        skip_value(s);
        if (!take(s, ',')) {
            return false;
        }
    }
}

void cs_line_column(const char *text, size_t length, size_t offset, int *line_p, int *column_p)
{
    int line = 1, column = 1;

    for (size_t i = 0; i < offset && i < length; i++) {
        if (text[i] == '\n') {
            line++;
            column = 1;
        } else {
            column += ((unsigned char)text[i] & 0xc0u) != 0x80u;
        }
    }
    *line_p   = line;
    *column_p = column;
}

bool cs_locate_value(const char *text, size_t length, const cs_path *path, size_t *begin_p,
                     size_t *end_p)
{
    scanner s = {text, 0, length};
    size_t  key_at;

    skip_space(&s);
    for (size_t i = 0; i < path->n_steps; i++) {
        if (!descend(&s, &path->steps[i], &key_at)) {
            return false;
        }
    }
    *begin_p = s.at;
    skip_value(&s);
    *end_p = s.at;
    return true;
}

void cs_locate(const char *text, size_t length, const char *path, bool wants_key, int *line_p,
               int *column_p)
{
    cs_path steps;
    scanner s = {text, 0, length};
    size_t  place, key_at = 0;

    skip_space(&s);
    place = s.at;
    if (cs_path_parse(path, &steps, NULL) != CS_OK) {
        steps.n_steps = 0;
    }
    for (size_t i = 0; i < steps.n_steps; i++) {
        if (!descend(&s, &steps.steps[i], &key_at)) {
            break;
        }
        place = wants_key && i + 1 == steps.n_steps ? key_at : s.at;
    }
    cs_line_column(text, length, place, line_p, column_p);
}
