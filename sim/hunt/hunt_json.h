/* SPDX-License-Identifier: GPL-3.0-or-later */
/* hunt/hunt_json.h -- a hunt as a file, from which it goes on: what was asked for, the hosts, and
 * the groups and results of every round. What they mean is computed anew from that.
 */
#ifndef CS_HUNT_HUNT_JSON_H
#define CS_HUNT_HUNT_JSON_H

#include "hunt/hunt.h"

/* Add the hunt as JSON; the same bytes for the same hunt. */
void cs_hunt_json(const cs_hunt *hunt, cs_text *text);

/* Read it back. Refused, with line, column and key, is whatever cannot have been written: unknown
 * keys, hosts in two groups of a round, results of runs that are none, and settings, hosts or rails
 * that do not fit the id of the hunt. The caller owns the hunt (cs_hunt_free) on CS_OK. */
CS_MUST_CHECK cs_status cs_hunt_parse(const char *text, size_t length, const char *name,
                                      cs_hunt *hunt_p, cs_error *err);
CS_MUST_CHECK cs_status cs_hunt_load(const char *path, cs_hunt *hunt_p, cs_error *err);

/* Write the file: to a temporary name first, then renamed. */
CS_MUST_CHECK cs_status cs_hunt_save(const cs_hunt *hunt, const char *path, cs_error *err);

#endif
