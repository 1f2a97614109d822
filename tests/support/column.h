/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tests/support/column.h -- packed columns of the report page, read as a page reads them: base64,
 * zlib, little-endian, differences added up. */
#ifndef CT_SUPPORT_COLUMN_H
#define CT_SUPPORT_COLUMN_H

#include <jansson.h>
#include <stddef.h>

/* The values of a column; what is no column fails the test. Free with free(). */
double *ct_column(const json_t *column, size_t *n_p);

/* Bytes of base64, of which there must be exactly `n`; free(). */
unsigned char *ct_base64(const char *text, size_t *n_p);

#endif
