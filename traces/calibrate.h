/* SPDX-License-Identifier: GPL-3.0-or-later */
/* traces/calibrate.h -- from logs of nccl-tests to a calibration. */
#ifndef CS_TRACES_CALIBRATE_H
#define CS_TRACES_CALIBRATE_H

#include "traces/calibration.h"

/* What the logs do not say. `{0}` takes everything from them, out-of-place. All texts are
 * borrowed; NULL: as the log has it, or empty. One that is longer than its place in the
 * calibration is refused. */
typedef struct cs_calibrate_options {
    bool          has_collective; /* `collective` is given */
    cs_collective collective;
    uint32_t      n_ranks; /* 0: from the logs; overrules their Rank lines */
    cs_nccl_side  column;
    size_t        max_regimes; /* 0: CS_MAX_REGIMES */
    bool          extrapolate; /* copied to the calibration */
    const char   *machine, *versions, *date, *note;
    const char   *source; /* NULL: the names of the logs */
} cs_calibrate_options;

/* Read `n` >= 1 files and fit their rows together. All must be of the same collective, number
 * of ranks and, where they name one, device; otherwise each needs a calibration of its own.
 * On CS_OK *calibration_p is the caller's (cs_calibration_free). */
cs_status cs_calibrate(const char *const *paths, size_t n, const cs_calibrate_options *options,
                       cs_calibration **calibration_p, cs_error *err);

/* The same from logs that are read already; `names` are theirs in errors. */
cs_status cs_calibrate_logs(const cs_nccl_log *const *logs, const char *const *names, size_t n,
                            const cs_calibrate_options *options, cs_calibration **calibration_p,
                            cs_error *err);

#endif
