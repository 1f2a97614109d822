/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Things by their names, and the nearest name to a word that is none.
 *
 * Words and names of 64 characters and more are near to nothing: no name is that long.
 *
 * Source of the distance: R. A. Wagner and M. J. Fischer, "The string-to-string correction
 * problem", J. ACM 21 (1974).
 */
#include "cs/named.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { LONGEST = 64, SHORTEST_PART = 2, LIST_BYTES = 220 };

#define NOT_FOUND SIZE_MAX
#define AMBIGUOUS (SIZE_MAX - 1)

static const char *text_at(const cs_named *named, size_t index, size_t offset)
{
    const char *at = (const char *)named->things + index * named->stride;
    const char *thing, *text;

    memcpy(&thing, named->by_pointer ? at : (const char *)&at, sizeof thing);
    memcpy(&text, thing + offset, sizeof text);
    return text;
}

const char *cs_name_at(const cs_named *named, size_t index)
{
    return index < named->n ? text_at(named, index, named->name) : NULL;
}

static const char *aliases_at(const cs_named *named, size_t index)
{
    return named->aliases != CS_NO_ALIASES ? text_at(named, index, named->aliases) : NULL;
}

/* The next letter of [*text_p, end) that counts, in lower case; NUL at the end. */
static int letter(const char **text_p, const char *end)
{
    while (*text_p < end && (**text_p == '_' || **text_p == '-')) {
        (*text_p)++;
    }
    return *text_p < end ? tolower((unsigned char)*(*text_p)++) : '\0';
}

/* Does the name begin as the word does, and with `is_whole` also end there? */
static bool begins_as(const char *name, const char *name_end, const char *word, bool is_whole)
{
    const char *word_end = word + strlen(word);

    for (;;) {
        int x = letter(&word, word_end);
        if (x == '\0') {
            return !is_whole || letter(&name, name_end) == '\0';
        }
        if (x != letter(&name, name_end)) {
            return false;
        }
    }
}

static bool contains(const char *name, const char *end, const char *word)
{
    for (const char *at = name; at < end; at++) {
        if (begins_as(at, end, word, false)) {
            return true;
        }
    }
    return false;
}

/* Is the word the name of the thing or one of its aliases, or a part of one? */
static bool fits(const cs_named *named, size_t index, const char *word, bool is_part)
{
    const char *name = cs_name_at(named, index), *rest = aliases_at(named, index);

    while (name != NULL) {
        const char *end = name + strcspn(name, "|");
        if (is_part ? contains(name, end, word) : begins_as(name, end, word, true)) {
            return true;
        }
        name = rest;
        rest =
            name != NULL && name[strcspn(name, "|")] == '|' ? name + strcspn(name, "|") + 1 : NULL;
    }
    return false;
}

/* The only thing that fits, NOT_FOUND or AMBIGUOUS. */
static size_t only_one(const cs_named *named, const char *word, bool is_part)
{
    size_t found = NOT_FOUND;

    for (size_t i = 0; i < named->n; i++) {
        if (fits(named, i, word, is_part)) {
            found = found == NOT_FOUND ? i : AMBIGUOUS;
        }
    }
    return found;
}

static size_t find(const cs_named *named, const char *word)
{
    size_t found = NOT_FOUND;

    for (size_t i = 0; i < named->n; i++) {
        if (strcmp(cs_name_at(named, i), word) == 0) {
            return i;
        }
    }
    if (named->takes_parts && strlen(word) >= SHORTEST_PART) {
        found = only_one(named, word, false);
        found = found == NOT_FOUND ? only_one(named, word, true) : found;
    }
    return found;
}

static size_t smallest(size_t a, size_t b, size_t c)
{
    size_t least = a < b ? a : b;
    return least < c ? least : c;
}

/* Both lengths are below LONGEST; one row of the table at a time. */
static size_t edit_distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    size_t row[LONGEST];

    for (size_t j = 0; j <= b_length; j++) {
        row[j] = j;
    }
    for (size_t i = 1; i <= a_length; i++) {
        size_t diagonal = row[0];
        row[0]          = i;
        for (size_t j = 1; j <= b_length; j++) {
            size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
            diagonal        = row[j];
            row[j]          = smallest(replaced, row[j] + 1, row[j - 1] + 1);
        }
    }
    return row[b_length];
}

const char *cs_nearest_name(const cs_named *named, const char *word)
{
    size_t      length = strlen(word);
    size_t      limit  = length / 3 > 2 ? length / 3 : 2;
    const char *best   = NULL;

    if (length >= LONGEST) {
        return NULL;
    }
    for (size_t i = 0; i < named->n; i++) {
        const char *name        = cs_name_at(named, i);
        size_t      name_length = strlen(name);
        if (name_length >= LONGEST) {
            continue;
        }
        size_t distance = edit_distance(word, length, name, name_length);
        if (distance <= limit && distance < length) {
            best = name;
            if (distance == 0) {
                break;
            }
            limit = distance - 1;
        }
    }
    return best;
}

/* Add ", name" to a list; what does not fit is cut. */
static void add_name(char *list, size_t list_bytes, const char *name)
{
    size_t length = strlen(list);

    (void)snprintf(list + length, list_bytes - length, "%s%s", length > 0 ? ", " : "", name);
}

void cs_list_names(const cs_named *named, char *list, size_t list_bytes)
{
    list[0] = '\0';
    for (size_t i = 0; i < named->n; i++) {
        add_name(list, list_bytes, cs_name_at(named, i));
    }
}

static cs_status refuse_several(const cs_named *named, const char *word, const char *where,
                                cs_error *err)
{
    char list[LIST_BYTES] = "";
    bool is_part          = only_one(named, word, false) == NOT_FOUND;

    for (size_t i = 0; i < named->n; i++) {
        if (fits(named, i, word, is_part)) {
            add_name(list, sizeof list, cs_name_at(named, i));
        }
    }
    return CS_FAIL(err, named->status, where, "'%.40s' is a part of several names: %s", word, list);
}

cs_status cs_find_named(const cs_named *named, const char *word, size_t *index_p, const char *where,
                        cs_error *err)
{
    char   list[LIST_BYTES] = "none";
    size_t found            = find(named, word);

    if (found == AMBIGUOUS) {
        return refuse_several(named, word, where, err);
    }
    if (found != NOT_FOUND) {
        *index_p = found;
        return CS_OK;
    }
    if (err == NULL || err->status != CS_OK) {
        return named->status;
    }
    const char *near = cs_nearest_name(named, word);
    if (named->hint == NULL && named->n > 0) {
        cs_list_names(named, list, sizeof list);
    }
    return CS_FAIL(err, named->status, where, "%s '%.40s'%s%s%s%s%s", named->what, word,
                   near != NULL ? ", did you mean '" : "", near != NULL ? near : "",
                   near != NULL ? "'?" : "", named->hint != NULL ? named->hint : ": accepted are ",
                   named->hint != NULL ? "" : list);
}
