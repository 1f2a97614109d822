/* SPDX-License-Identifier: GPL-3.0-or-later */
/* report/number.h -- numbers as the page writes them (sim/report/page/format.js does the same).
 */
#ifndef CS_REPORT_NUMBER_H
#define CS_REPORT_NUMBER_H

#include <stddef.h>

/* What a number counts: enum, and the name in the page's data. */
#define CS_PAGE_UNITS(X) \
    X(COUNT, "count")    \
    X(BYTES, "bytes")    \
    X(S, "s")            \
    X(BPS, "Bps")        \
    X(RATIO, "ratio")    \
    X(NUMBER, "number")  \
    X(WORD, "word")

typedef enum cs_page_unit {
#define X(id, name) CS_PAGE_##id,
    CS_PAGE_UNITS(X)
#undef X
} cs_page_unit;

const char *cs_page_unit_name(cs_page_unit unit);

/* That of a column, by its name: ranks, bytes, what ends in _s, _Bps. */
cs_page_unit cs_page_unit_of(const char *column);

/* "2.92 ms", "706 µs", "1 GiB", "19,200", "50 GB/s", "1.08"; "never" where it is infinite, "–"
 * where it is not known. Three significant digits. */
enum { CS_PAGE_NUMBER_BYTES = 48 };
void cs_page_number(cs_page_unit unit, double value, char text[CS_PAGE_NUMBER_BYTES]);

/* "36 %", "1.4 %", "−5.0 %" of 0.36, 0.014 and -0.05, with a no-break space. */
void cs_page_percent(double part, char text[CS_PAGE_NUMBER_BYTES]);

#endif
