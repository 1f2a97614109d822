/* SPDX-License-Identifier: GPL-3.0-or-later */
/* montecarlo/outcome.h -- what became of one scenario of a run, as bytes and back.
 *
 * Both ends are the same version of the program (cs_ranks_agree() sees to it): the fields of the
 * row are those of CS_MONTECARLO_MAP, in their order, doubles as their 64 bits.
 */
#ifndef CS_MONTECARLO_OUTCOME_H
#define CS_MONTECARLO_OUTCOME_H

#include "results/montecarlo_row.h"
#include "sweep/farm.h"

typedef enum cs_montecarlo_fate {
    CS_FATE_RUN,     /* there is a row */
    CS_FATE_THERE,   /* the file has the row */
    CS_FATE_STOPPED, /* it was given up: there is no row */
    CS_FATE_COUNT
} cs_montecarlo_fate;

typedef struct cs_montecarlo_outcome {
    cs_montecarlo_fate fate;
    uint64_t           index; /* of the scenario */
    const char        *key;   /* see cs_montecarlo_key(); borrowed; NULL where no file is written */
    cs_montecarlo_row  row;   /* of CS_FATE_RUN, else {0}; owned */
} cs_montecarlo_outcome;

void cs_montecarlo_outcome_pack(cs_text *to, const cs_montecarlo_outcome *outcome);

/* The key points into the bytes, the row is the caller's (cs_montecarlo_row_free). CS_EIO when the
 * bytes are no outcome; CS_ENOMEM. */
CS_MUST_CHECK cs_status cs_montecarlo_outcome_unpack(cs_farm_row            from,
                                                     cs_montecarlo_outcome *outcome_p,
                                                     cs_error              *err);

#endif
