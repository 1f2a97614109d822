/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cs/units.h -- quantities as people write them.
 *
 * Sizes: bytes; K, M, G, T and KiB, MiB, GiB, TiB are powers of 1024 (as in nccl-tests),
 * kB, MB, GB, TB powers of 1000. Rates: B/s; "450GB/s", "450GiB/s", "200Gb/s", "200Gbps"; a
 * bare number is B/s. Times: seconds; "700ns", "3us", "4.48ms", "1s", "5min", "2h", "30d", "1y"
 * (365.25 d); a bare number is s.
 */
#ifndef CS_UNITS_H
#define CS_UNITS_H

#include "cs/error.h"

#include <stdint.h>

CS_BEGIN_C

/* Each reads all of `text`; `where` names the key in the error. Output only on CS_OK. */
CS_API cs_status cs_parse_bytes(const char *text, uint64_t *bytes_p, const char *where,
                                cs_error *err);
CS_API cs_status cs_parse_rate(const char *text, double *rate_Bps_p, const char *where,
                               cs_error *err);
CS_API cs_status cs_parse_time(const char *text, double *time_s_p, const char *where,
                               cs_error *err);
/* A plain finite number. */
CS_API cs_status cs_parse_number(const char *text, double *value_p, const char *where,
                                 cs_error *err);
/* A plain integer in [min, max]. */
CS_API cs_status cs_parse_integer(const char *text, uint64_t min, uint64_t max, uint64_t *value_p,
                                  const char *where, cs_error *err);

CS_END_C

#endif
