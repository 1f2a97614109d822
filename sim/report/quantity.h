/* SPDX-License-Identifier: GPL-3.0-or-later */
/* report/quantity.h -- numbers as people read them, in pictures and on the page
 * (sim/report/page/format.js does the same). Three significant digits.
 */
#ifndef CS_REPORT_QUANTITY_H
#define CS_REPORT_QUANTITY_H

#include <stddef.h>

/* What a number counts: enum, and the name in the page's data. */
#define CS_QUANTITIES(X) \
    X(COUNT, "count")    \
    X(SIZE, "bytes")     \
    X(S, "s")            \
    X(BPS, "Bps")        \
    X(RATIO, "ratio")    \
    X(NUMBER, "number")  \
    X(WORD, "word")

typedef enum cs_quantity {
#define X(id, name) CS_QUANTITY_##id,
    CS_QUANTITIES(X)
#undef X
} cs_quantity;

const char *cs_quantity_name(cs_quantity unit);

/* That of a column, by its name: ranks, bytes, what ends in _s, _Bps. */
cs_quantity cs_quantity_of(const char *column);

/* "2.92 ms", "706 µs", "1 GiB", "19,200", "50 GB/s", "1.08"; "never" where it is infinite, "–"
 * where it is not known. */
enum { CS_QUANTITY_BYTES = 48 };
void cs_quantity_text(cs_quantity unit, double value, char text[CS_QUANTITY_BYTES]);

/* The same without zeros at the end, for axes: "2.5 ms", "10 µs", "0". */
void cs_quantity_brief(cs_quantity unit, double value, char text[CS_QUANTITY_BYTES]);

/* "36 %", "1.4 %", "−5.0 %" of 0.36, 0.014 and -0.05, with a no-break space. */
void cs_percent_text(double part, char text[CS_QUANTITY_BYTES]);

#endif
