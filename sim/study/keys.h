/* SPDX-License-Identifier: GPL-3.0-or-later */
/* study/keys.h -- the keys of configurations by their paths: which row of which table says what
 * stands there, without reading anything.
 */
#ifndef CS_STUDY_KEYS_H
#define CS_STUDY_KEYS_H

#include "base/value.h"
#include "cs/field.h"

#include <jansson.h>

/* The root of scenarios, as a row of an object. */
extern const cs_field cs_key_scenario;

/* The root that a tree has: of scenarios, or of what-if jobs. */
const cs_field *cs_key_root(const json_t *tree);

/* The row of a key of an object, or with `key` NULL of an element of a list; of a kind, form or
 * plug-in that has it. NULL: there is none. `row` may be NULL. */
const cs_field *cs_key_below(const cs_field *row, const char *key);

/* The row at a path ("cluster.nic.alpha", "faults[2].rank"), of a scenario or else of a what-if;
 * NULL: there is no such key. */
const cs_field *cs_key_at(const char *path);

/* Of several forms of a value, the one that is a number; else the row itself. */
const cs_field *cs_key_number(const cs_field *row);

/* "_s", "_Bps" or "_bytes"; NULL: the row is no quantity. */
const char *cs_key_suffix(const cs_field *row);

/* The value of a quantity in SI units: a real, or whole bytes. False where it is none. */
bool cs_key_value(const cs_field *row, const json_t *node, cs_value *value_p);

/* Is the value a number without a unit, and hardly what was meant? */
bool cs_key_is_odd(const cs_field *row, const json_t *node);

/* Write names of algorithms, models, collectives, .. in a tree as they are whole: "tree" becomes
 * "double_binary_tree". What no name fits is left alone. Returns the node, which is another one
 * where it was such a name (the old one is released); NULL: out of memory, `node` is released. */
json_t *cs_key_spell_out(const cs_field *row, json_t *node);

#endif
