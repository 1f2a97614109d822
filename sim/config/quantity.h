/* SPDX-License-Identifier: GPL-3.0-or-later */
/* config/quantity.h -- which keys of a configuration hold a time, a rate or a size, and which bare
 * numbers are hardly meant.
 *
 * Every key that cs_read_time(), cs_read_rate() or cs_read_bytes() reads has a row (check_registry
 * sees to it); options are known by how their names end.
 */
#ifndef CS_CONFIG_QUANTITY_H
#define CS_CONFIG_QUANTITY_H

#include "base/value.h"

#include <jansson.h>
#include <stdbool.h>

typedef enum cs_quantity_kind {
    CS_QUANTITY_TIME,
    CS_QUANTITY_RATE,
    CS_QUANTITY_SIZE
} cs_quantity_kind;

typedef struct cs_quantity {
    const char      *key; /* "delay"; "_s": every key that ends so */
    cs_quantity_kind kind;
    double least, most;  /* what a bare number may be without a note, in SI units; most = 0:
                            anything */
    const char *instead; /* how to write what was rather meant, '#' is the number */
    const char *within;  /* of paths that begin so alone; NULL: of all */
} cs_quantity;

/* What the last key of a path holds; NULL: no quantity. */
const cs_quantity *cs_quantity_of(const char *path);

/* "_s", "_Bps" or "_bytes". */
const char *cs_quantity_suffix(const cs_quantity *quantity);

/* The value in SI units: a real, or whole bytes. False where it is not such a quantity. */
bool cs_quantity_value(const cs_quantity *quantity, const json_t *node, cs_value *value_p);

/* Is the value a number without a unit, and hardly what was meant? */
bool cs_quantity_is_odd(const cs_quantity *quantity, const json_t *node);

#endif
