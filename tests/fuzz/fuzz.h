/* SPDX-License-Identifier: GPL-3.0-or-later */
/* fuzz.h -- what the fuzz targets in C share: claims (claim.h), errors, and files in memory. */
#ifndef FUZZ_H
#define FUZZ_H

#include "claim.h"
#include "cs/job.h"
#include "study/config.h"
#include "traces/arrival_file.h"

/* A failure must say what is wrong, in one printable line, with a status of its own that is not
 * that of a bug; or whatever status somebody else told. */
void fuzz_claim_error(cs_status status, const cs_error *err);
void fuzz_claim_told(cs_status status, const cs_error *err);

/* An observer that ends a replay after some thousand transfers: keeps inputs quick. */
typedef struct fuzz_limit {
    size_t transfers_left;
    bool   is_reached;
} fuzz_limit;
cs_observer fuzz_limit_observer(fuzz_limit *limit);

/* A text as a file that exists in memory alone; close it. Writes its path. */
enum { FUZZ_PATH_BYTES = 32 };
int fuzz_memory_file(const void *data, size_t length, char path[FUZZ_PATH_BYTES]);

/* A text read as the file of a configuration. */
cs_status fuzz_load_config(const void *data, size_t length, cs_config **config_p, cs_error *err);

/* Read a trace of arrivals: refused (false), or one that makes sense, the caller's. */
bool fuzz_read_trace(const cs_arrival_text *texts, size_t n, const cs_arrival_options *options,
                     cs_arrival_trace *trace_p);

/* A text as a log of what ran how fast: refused, or measurements that make sense and can be
 * audited.
 */
void fuzz_measured_choices(const void *data, size_t length);

#endif
