/* SPDX-License-Identifier: GPL-3.0-or-later */
/* config/schedule_fields.h -- the keys of a schedule's JSON: of its head, and of one transfer. */
#ifndef CS_CONFIG_SCHEDULE_FIELDS_H
#define CS_CONFIG_SCHEDULE_FIELDS_H

#include "algorithms/pattern/stored.h"
#include "config/reader.h"

/* All keys of the head but the transfers; then check what one of them cannot show alone. What is
 * wrong goes into the reading. */
void      cs_schedule_read_head(cs_reading *r, const cs_place *head, cs_stored *stored);
cs_status cs_schedule_check_head(cs_reading *r, const cs_place *head, const cs_stored *stored);

/* One element of the list of transfers; it is added to the schedule. The reading's cluster is the
 * schedule's. */
void cs_schedule_read_transfer(cs_reading *r, const cs_place *item, cs_stored *stored);

#endif
