/* SPDX-License-Identifier: GPL-3.0-or-later */
/* config/file_field.h -- files that a configuration names and that are part of its scenarios. What
 * they hold is in the scenario's JSON as a fingerprint, so that rows of a store belong to the
 * contents of a file, not to its name. */
#ifndef CS_CONFIG_FILE_FIELD_H
#define CS_CONFIG_FILE_FIELD_H

#include "config/field.h"
#include "config/file_cache.h"

/* The file, through the reading's cache; whoever owns the reading's files holds it. NULL: *err says
 * why (the reading has not failed yet). */
const cs_cached_file *cs_read_file(cs_reading *r, const cs_file_kind *kind, const char *path,
                                   cs_error *err);

/* Put the fingerprint into `parent` as its key "fingerprint". Where there is one already, it must
 * be the same; `others` says what a file with another one holds: "other arrivals: theirs". */
void cs_keep_fingerprint(cs_reading *r, const cs_field *parent, const char *fingerprint,
                         const char *others);

#endif
