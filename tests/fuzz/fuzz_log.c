/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Measurements in any format (tables, JSON, captured runs): refused in one line, or rows that make
 * sense; and what is fitted to them is refused, or a calibration that survives being written and
 * read.
 */
#include "base/text.h"
#include "fuzz.h"
#include "traces/calibration.h"
#include "traces/calibration_json.h"

#include <math.h>
#include <string.h>

static void claim_timing(const cs_nccl_timing *timing)
{
    if (!timing->is_measured) {
        return;
    }
    FUZZ_CLAIM(isfinite(timing->time_s) && timing->time_s > 0);
    FUZZ_CLAIM(isfinite(timing->algbw_Bps) && timing->algbw_Bps >= 0);
    FUZZ_CLAIM(isfinite(timing->busbw_Bps) && timing->busbw_Bps >= 0);
}

/* No line is counted twice, and whatever is counted has its place. */
static void claim_reading(const cs_nccl_reading *reading, size_t n_rows, bool is_matrix)
{
    FUZZ_CLAIM(reading->n_rows == n_rows);
    const bool is_json = reading->n_lines == 0;
    FUZZ_CLAIM(n_rows + cs_nccl_n_skipped(reading) <= reading->n_lines || is_json || is_matrix);
    FUZZ_CLAIM(reading->run.min_bytes <= reading->run.max_bytes);
    for (int k = 0; k < CS_NCCL_REMARKS; k++) {
        const cs_nccl_remark *remark = &reading->remarks[k];
        FUZZ_CLAIM((remark->n > 0) == (remark->first_line > 0) || is_json);
        FUZZ_CLAIM(remark->first_line <= reading->n_lines || is_json);
        FUZZ_CLAIM(strlen(remark->first) < sizeof remark->first);
    }
}

static void claim_log(const cs_nccl_log *log)
{
    FUZZ_CLAIM(log->n_rows >= 1);
    const bool is_matrix = strcmp(log->program, "nvbandwidth") == 0; /* rows of one size */
    claim_reading(&log->reading, log->n_rows, is_matrix);
    for (size_t i = 0; i < log->n_rows; i++) {
        const uint64_t last = i > 0 ? log->rows[i - 1].size_bytes : 0;
        FUZZ_CLAIM(log->rows[i].size_bytes > last ||
                   ((log->schedule[0] != '\0' || is_matrix) && log->rows[i].size_bytes == last));
        FUZZ_CLAIM(log->rows[i].line >= 1 || log->reading.n_lines == 0);
        FUZZ_CLAIM(memchr(log->rows[i].choice, '\0', sizeof log->rows[i].choice) != NULL);
        for (int side = 0; side < CS_NCCL_SIDES; side++) {
            claim_timing(&log->rows[i].timings[side]);
        }
    }
}

static void claim_reads_back(const cs_calibration *calibration)
{
    cs_calibration *again = NULL;
    cs_error        err   = {0};
    cs_text         first = {0}, second = {0};

    cs_calibration_json(calibration, &first);
    FUZZ_CLAIM(cs_calibration_parse(first.data, first.length, "own", &again, &err) == CS_OK);
    cs_calibration_json(again, &second);
    FUZZ_CLAIM(strcmp(first.data, second.data) == 0);
    cs_calibration_free(again);
    cs_text_free(&first);
    cs_text_free(&second);
}

static void fit(const cs_nccl_log *log, const char *name)
{
    cs_calibrate_options options = {0};
    cs_calibration      *fitted  = NULL;
    cs_error             err     = {0};
    cs_status            status  = cs_calibrate_logs(&log, &name, 1, &options, &fitted, &err);

    if (status == CS_OK) {
        claim_reads_back(fitted);
    } else {
        fuzz_claim_error(status, &err);
    }
    cs_calibration_free(fitted);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length)
{
    cs_nccl_logs logs   = {0};
    cs_error     err    = {0};
    cs_status    status = cs_nccl_parse((const char *)data, length, "input", 0, &logs, &err);

    if (status != CS_OK) {
        fuzz_claim_error(status, &err);
        FUZZ_CLAIM(logs.n == 0);
    }
    for (size_t l = 0; l < logs.n; l++) {
        claim_log(logs.logs[l]);
        fit(logs.logs[l], logs.names[l]);
    }
    cs_nccl_logs_free(&logs);
    fuzz_measured_choices(data, length);
    return 0;
}
