/* SPDX-License-Identifier: GPL-3.0-or-later */
/* traces/call_record.h -- one call of one rank as logs have it, once its names are sorted out. */
#ifndef CS_TRACES_CALL_RECORD_H
#define CS_TRACES_CALL_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#define CS_NO_TIME INT64_MIN

/* Times in ns, CS_NO_TIME: not known. */
typedef struct cs_call_record {
    uint64_t call;       /* its number among the calls of its group, the same on all ranks */
    int64_t  started_ns; /* of the kernel, on the host's clock */
    int64_t  inside_ns;  /* from there to its end */
    int64_t  queued_ns;  /* from the host's call to there */
    uint64_t bytes;      /* 0: not known */
    uint32_t rank;       /* in the group */
} cs_call_record;

/* In a grid (traces/call_grid.h): is it a record that was lost? */
static inline bool cs_call_record_is_lost(const cs_call_record *r)
{
    return r->inside_ns == CS_NO_TIME;
}

#endif
