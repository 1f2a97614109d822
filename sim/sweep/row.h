/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sweep/row.h -- what one scenario of a sweep became, as bytes and back.
 *
 * Both ends are the same build of the program (cs_ranks_agree() sees to it): the fields are those
 * of CS_RESULT_MAP and of the tables of options, in their order.
 */
#ifndef CS_SWEEP_ROW_H
#define CS_SWEEP_ROW_H

#include "cs/result.h"
#include "sweep/farm.h"

typedef struct cs_sweep_row {
    size_t      index;      /* of the scenario */
    bool        is_refused; /* it could not be run */
    bool        is_wrong;   /* the schedule was found wrong */
    bool        was_there;  /* in the file before: then there is only `key` beside these */
    bool        lacks;      /* ... without a value in some column of the sweep */
    uint64_t    key;        /* of the store */
    const char *scenario;   /* canonical JSON; borrowed, as all texts */
    cs_result   result;     /* where it was refused: what is known of it */
    const char *reason;     /* ... and why */
} cs_sweep_row;

void cs_sweep_row_pack(cs_text *to, const cs_sweep_row *row);

/* Texts point into the bytes. CS_EIO when these are no row. */
CS_MUST_CHECK cs_status cs_sweep_row_unpack(cs_farm_row from, cs_sweep_row *row_p, cs_error *err);

#endif
