/* SPDX-License-Identifier: GPL-3.0-or-later */
/* output/listing.h -- what there is, as JSON: what `collsim list --format json` prints and what the
 * page of `serve` chooses from. Each adds the objects of an array, a line each.
 */
#ifndef CS_OUTPUT_LISTING_H
#define CS_OUTPUT_LISTING_H

#include "base/text.h"
#include "cs/field.h"

/* Name, title, summary, source, collectives, options. */
void cs_list_algorithms_json(cs_text *text);

/* Name, summary, source, options of those that can be used. */
void cs_list_models_json(cs_text *text);

/* Name, summary, source, number of servers. */
void cs_list_topologies_json(cs_text *text);

/* The key `collectives` with the names of those whose bit is set. */
void cs_list_collectives_json(cs_text *text, uint32_t bits);

/* The default of an option in words; it is cut where it does not fit. */
void cs_list_default_text(const cs_field *table, const cs_field *row, char *text, size_t bytes);

#endif
