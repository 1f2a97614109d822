/* SPDX-License-Identifier: GPL-3.0-or-later */
/* report/page_parts.h -- the files of the page, as they were built in (scripts/cmake/CsPage.cmake).
 */
#ifndef CS_REPORT_PAGE_PARTS_H
#define CS_REPORT_PAGE_PARTS_H

#include <stddef.h>

typedef struct cs_page_part {
    const char *name; /* html, style, script, d3 */
    const char *text;
    size_t      length;
    const char *sha256; /* in base64, of what a browser runs; else "" */
} cs_page_part;

/* Ends with a row without a name; the first one where the program was built without D3. */
extern const cs_page_part cs_page_parts[];

#endif
