/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Times of known regimes, a log and a calibration with them. */
#ifndef CS_TESTS_CALIBRATION_SETUP_H
#define CS_TESTS_CALIBRATION_SETUP_H

#include "base/text.h"
#include "traces/calibration.h"

#include <criterion/criterion.h>
#include <stdio.h>

typedef struct truth {
    uint64_t limit_bytes;
    double   intercept_s, rate_Bps;
} truth;

static inline double true_time(const truth *regimes, uint64_t bytes)
{
    while (bytes > regimes->limit_bytes) {
        regimes++;
    }
    return regimes->intercept_s + (double)bytes / regimes->rate_Bps;
}

static const truth two[] = {{1 << 20, 30e-6, 20e9}, {1ull << 33, 100e-6, 120e9}};

/* A log of AllReduce on 8 ranks with the times of `two`. */
static inline void make_log(cs_text *text, const char *device)
{
    cs_text_add(text, "#  Rank  7 Pid 1 on a device  7 [0x07] %s\n", device);
    for (uint64_t bytes = 1024; bytes <= 1ull << 33; bytes *= 2) {
        double time_s = true_time(two, bytes), algbw = (double)bytes / time_s / 1e9;
        char   side[100];

        snprintf(side, sizeof side, " %.9g %.2f %.2f 0", time_s * 1e6, algbw, algbw * 1.75);
        cs_text_add(text, "%llu %llu float sum -1%s%s\n", (unsigned long long)bytes,
                    (unsigned long long)bytes / 4, side, side);
    }
}

static inline cs_calibration *make_calibration(bool extrapolate)
{
    cs_calibrate_options options = {.extrapolate = extrapolate, .date = "today"};
    cs_calibration      *c       = NULL;
    cs_nccl_log         *log     = NULL;
    const char          *name    = "folder/made.log";
    cs_text              text    = {0};
    cs_error             err     = {0};

    make_log(&text, "X100");
    cr_assert_eq(cs_nccl_log_parse(text.data, text.length, name, 0, &log, &err), CS_OK, "%s",
                 err.message);
    cr_assert_eq(cs_calibrate_logs((const cs_nccl_log *const *)&log, &name, 1, &options, &c, &err),
                 CS_OK, "%s", err.message);
    cs_nccl_log_free(log);
    cs_text_free(&text);
    return c;
}

#endif
