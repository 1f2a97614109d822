/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is accepted and hardly meant: bare numbers that stand for another unit than their key's. The
 * tree is searched, not the scenarios: every number is written once, however many scenarios it is
 * in. */
#include "study/config_state.h"
#include "study/keys.h"

#include <stdio.h>
#include <string.h>

enum { MOST_DEPTH = CS_PATH_STEPS, HINT_BYTES = 128 };

typedef struct search {
    const cs_config *config;
    const cs_axis   *axis; /* whose value is searched; NULL: the tree */
    size_t           point;
    cs_error        *notes;
    size_t           room, n;
} search;

/* "write #us for microseconds" with the number put in. */
static void write_hint(const char *instead, const char *number, char hint[HINT_BYTES])
{
    size_t length = 0;

    for (; *instead != '\0' && length + 1 < HINT_BYTES; instead++) {
        int n = *instead == '#' ? snprintf(hint + length, HINT_BYTES - length, "%s", number)
                                : snprintf(hint + length, HINT_BYTES - length, "%c", *instead);
        length += n > 0 ? (size_t)n : 0;
    }
}

static void add_note(search *s, const char *path, const cs_field *row, const json_t *node)
{
    const cs_field *quantity = cs_key_number(row);
    cs_error        note     = {0};
    char            number[40], hint[HINT_BYTES] = "";

    if (s->n++ >= s->room) {
        return;
    }
    if (json_is_string(node)) {
        (void)snprintf(number, sizeof number, "%.32s", json_string_value(node));
    } else {
        (void)snprintf(number, sizeof number, "%.15g", json_number_value(node));
    }
    write_hint(cs_field_plain(quantity)->instead, number, hint);
    (void)CS_FAIL(&note, CS_EINVAL, path, "%s is read as %s %s; %s", number, number,
                  cs_field_unit(quantity) == CS_UNIT_RATE ? "B/s" : "s", hint);
    s->notes[s->n - 1] = (cs_error){0};
    (void)cs_config_locate_error(s->config, &note, false, s->point, &s->notes[s->n - 1]);
}

/* `row` says what the node is; what no row knows holds no quantity. */
static void search_node(search *s, const char *path, const cs_field *row, json_t *node,
                        unsigned depth)
{
    char        below[CS_PATH_BYTES];
    const char *key, *rest;
    json_t     *child;
    size_t      i;

    if (depth > MOST_DEPTH || row == NULL ||
        (s->axis == NULL && depth > 0 && cs_axes_above(&s->config->axes, path, &rest) != NULL)) {
        return;
    }
    if (json_is_object(node)) {
        json_object_foreach(node, key, child)
        {
            cs_path_add_key(below, path, key);
            search_node(s, below, cs_key_below(row, key), child, depth + 1);
        }
    } else if (json_is_array(node)) {
        json_array_foreach(node, i, child)
        {
            cs_path_add_index(below, path, i);
            search_node(s, below, cs_key_below(row, NULL), child, depth + 1);
        }
    } else if (cs_key_is_odd(row, node)) {
        add_note(s, path, row, node);
    }
}

size_t cs_config_notes(const cs_config *config, cs_error *notes, size_t room)
{
    search s = {.config = config, .point = CS_NO_POINT, .notes = notes, .room = room};

    search_node(&s, "", cs_key_root(config->tree), config->tree, 0);
    for (size_t i = 0; i < config->axes.n_axes; i++) {
        s.axis = &config->axes.axes[i];
        for (size_t k = 0; k < json_array_size(s.axis->values); k++) {
            s.point = cs_axes_point(&config->axes, i, k);
            search_node(&s, s.axis->path, cs_key_at(s.axis->path),
                        json_array_get(s.axis->values, k), 0);
        }
    }
    return s.n;
}
