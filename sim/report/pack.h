/* SPDX-License-Identifier: GPL-3.0-or-later */
/* report/pack.h -- columns of numbers as JSON that the page unpacks: little-endian, zlib, base64
 * (sim/report/page/README.md, COL).
 */
#ifndef CS_REPORT_PACK_H
#define CS_REPORT_PACK_H

#include "base/text.h"

#include <stddef.h>
#include <stdint.h>

typedef enum cs_pack_type {
    CS_PACK_U8,
    CS_PACK_U16,
    CS_PACK_U32,
    CS_PACK_F32,
    CS_PACK_F64,
} cs_pack_type;

/* Add the object of a column. Each value is cast to the type, which must hold it. `delta`: each
 * less the one before it, of integers alone; it packs what ascends. The same values give the same
 * text. CS_ENOMEM only. O(n). */
CS_MUST_CHECK cs_status cs_pack(cs_text *json, cs_pack_type type, const double *values, size_t n,
                                bool delta, cs_error *err);
CS_MUST_CHECK cs_status cs_pack_whole(cs_text *json, cs_pack_type type, const uint32_t *values,
                                      size_t n, bool delta, cs_error *err);

/* Add `n` bytes in base64 (RFC 4648) without line breaks. */
void cs_base64(cs_text *text, const unsigned char *bytes, size_t n);

#endif
