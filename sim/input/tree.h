/* SPDX-License-Identifier: GPL-3.0-or-later */
/* input/tree.h -- trees of JSON in Jansson: read a text, find or change a value by its path. Every
 * allocation of Jansson passes base/alloc.h.
 */
#ifndef CS_INPUT_TREE_H
#define CS_INPUT_TREE_H

#include "input/path.h"

#include <jansson.h>

/* Called first by everything here; any number of times, from any thread. */
void cs_tree_setup(void);

/* Read all of a JSON text whose root is an object. `input` names it in errors, which carry
 * line and column. The caller owns the tree (json_decref). */
cs_status cs_tree_parse(const char *text, size_t length, const char *input, json_t **tree_p,
                        cs_error *err);
/* The same of a text that is an array. */
cs_status cs_tree_parse_array(const char *text, size_t length, const char *input, json_t **tree_p,
                              cs_error *err);

/* Turn Jansson's error into ours; `line_offset` lines stand before the text that it read. */
cs_status cs_tree_refuse(const json_error_t *problem, const char *input, int line_offset,
                         cs_error *err);

/* Read any JSON value. A text that does not begin like an object, an array or a string and is
 * not JSON becomes a JSON string: 450GB/s needs no quotes. */
cs_status cs_tree_value(const char *text, const char *where, json_t **value_p, cs_error *err);

/* Make a JSON string; a text that is not UTF-8 is refused. */
cs_status cs_tree_text(const char *text, const char *where, json_t **value_p, cs_error *err);

/* Put `value` (stolen, also on failure) at a path of `tree`, which is an object. Objects on the
 * way are made. A text on the way, as in {"algorithm": "ring"}, becomes {"name": text}. */
cs_status cs_tree_set(json_t *tree, const cs_path *path, json_t *value, const char *where,
                      cs_error *err);

/* "a number", "an object" and so on. */
const char *cs_tree_kind(const json_t *node);

/* What is at a path, or NULL. */
json_t *cs_tree_at(json_t *tree, const cs_path *path);

#endif
