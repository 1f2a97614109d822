/* SPDX-License-Identifier: GPL-3.0-or-later */
/* results/refused.h -- a scenario that cannot be run, as a row among results. */
#ifndef CS_RESULTS_REFUSED_H
#define CS_RESULTS_REFUSED_H

#include "base/text.h"
#include "cs/result.h"

typedef struct cs_refused {
    const cs_result *known;    /* what is known of it; NULL, 0 and NAN are not */
    const char      *scenario; /* as JSON; NULL: not known */
    const char      *error;    /* why, one line */
} cs_refused;

/* Add the object of a result: the same keys, null for what is not known, and `error`. */
CS_API void cs_refused_json(cs_text *text, const cs_refused *refused);

/* Add the line of a result: empty for what is not known; `error` is the last column. */
CS_API void cs_refused_csv(cs_text *text, const cs_refused *refused);

#endif
