/* SPDX-License-Identifier: GPL-3.0-or-later */
/* output/progress.h -- what is said about work that takes long: on a terminal a bar that is drawn
 * again and again, elsewhere a line every 10 s; both with the time that is left at the pace so far.
 *
 * There is no clock and no stream in here: who has them passes times in, on any clock that does not
 * step back, and writes what comes out.
 */
#ifndef CS_OUTPUT_PROGRESS_H
#define CS_OUTPUT_PROGRESS_H

#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>

#define CS_PROGRESS_BEGIN_S 1.0  /* until then there is no bar */
#define CS_PROGRESS_DRAW_S  0.1  /* at least between two bars */
#define CS_PROGRESS_LINE_S  10.0 /* ... and between two lines */

typedef struct cs_progress {
    const char *what;          /* "sweep"; borrowed */
    bool        is_bar;        /* else lines */
    bool        has_first;     /* something was done when it was told first, */
    uint64_t    first_done;    /* .. so much: it is no part of the pace */
    double      first_s;       /* .. then */
    double      begun_s;       /* when it began, */
    double      said_s;        /* .. and when something was last said */
    size_t      drawn_columns; /* of the bar that stands there; 0: none does */
} cs_progress;

void cs_progress_begin(cs_progress *p, const char *what, bool is_bar, double now_s);

/* So much is done: add what is to be written now, mostly nothing. */
void cs_progress_step(cs_progress *p, uint64_t done, uint64_t total, double now_s, cs_text *text);

/* Add what takes the bar away: at the end, and before anything else is written to the terminal. */
void cs_progress_hide(cs_progress *p, cs_text *text);

/* "7 s", "25 min", "3.4 h" */
enum { CS_DURATION_BYTES = 32 };
void cs_duration_text(double time_s, char text[CS_DURATION_BYTES]);

#endif
