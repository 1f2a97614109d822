/* SPDX-License-Identifier: GPL-3.0-or-later */
/* study/schema.h -- the keys of configurations for people and editors, out of the tables that read
 * them.
 */
#ifndef CS_STUDY_SCHEMA_H
#define CS_STUDY_SCHEMA_H

#include "base/text.h"

/* Add a JSON Schema (draft 7, which editors know best) of configurations: of scenarios, and of
 * what-if jobs where there is the key "job". It describes the form in which a file should be
 * written: whole names, numbers as numbers. What depends on other keys or on files, and the range
 * of a text with a unit, only the reader knows. Fails (text->failed) without memory. */
void cs_config_schema(cs_text *text);

/* Add every key: its path, type, unit, default and range, and what it is, as a table or as the
 * elements of a JSON array. Keys of one kind of object say which; what stands in several places is
 * listed once. */
void cs_config_keys(cs_text *text, bool json);

#endif
