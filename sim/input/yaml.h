/* SPDX-License-Identifier: GPL-3.0-or-later */
/* input/yaml.h -- YAML as trees of JSON: libyaml reads and writes the text, Jansson holds the tree.
 *
 * Values are what YAML 1.2's core schema makes of plain words: null, true, false, numbers, else
 * texts (also yes, no, on, off, .inf and .nan). Aliases become copies of what they name. Refused
 * are several documents, keys that are no scalars or stand twice, the key "<<", tags but those of
 * the core schema's scalars, and a tree deeper than CS_YAML_DEPTH or of more than CS_YAML_VALUES
 * values once all aliases are written out.
 */
#ifndef CS_INPUT_YAML_H
#define CS_INPUT_YAML_H

#include "base/text.h"
#include "input/tree.h"

enum { CS_YAML_DEPTH = 64, CS_YAML_VALUES = 1 << 20 };

/* Read all of a YAML text whose root is a mapping. `input` names it in errors, which carry line and
 * column. The caller owns the tree (json_decref). O(length + values). */
cs_status cs_yaml_parse(const char *text, size_t length, const char *input, json_t **tree_p,
                        cs_error *err);

/* As cs_locate(), of a YAML text: the place of the value at `path`, or of its key; of the nearest
 * value around it where it is not there. Parses the text again. */
void cs_yaml_locate(const char *text, size_t length, const char *path, bool wants_key, int *line_p,
                    int *column_p);

/* Add a tree as YAML in block style, which reads back as the same tree. */
cs_status cs_yaml_write(json_t *tree, cs_text *out, cs_error *err);

#endif
