/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sweep/row.h -- what one scenario of a sweep became, as bytes and back.
 *
 * Both ends are the same version of the program (cs_ranks_agree() sees to it): the fields are those
 * of CS_RESULT_MAP and of the tables of options, in their order.
 */
#ifndef CS_SWEEP_ROW_H
#define CS_SWEEP_ROW_H

#include "cs/result.h"
#include "sweep/farm.h"

typedef struct cs_sweep_row {
    bool        was_there; /* in the file before; then there is only `failed` */
    bool        failed;    /* it has an error */
    const char *scenario;  /* canonical JSON; borrowed, as all texts */
    bool        has_result;
    cs_result   result;
    const char *reason; /* without a result: why */
} cs_sweep_row;

void cs_sweep_row_pack(cs_text *to, const cs_sweep_row *row);

/* Texts point into the bytes. CS_EIO when these are no row. */
CS_MUST_CHECK cs_status cs_sweep_row_unpack(cs_farm_row from, cs_sweep_row *row_p, cs_error *err);

#endif
