/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bandwidth traces: refused in one line with a place, or rates over time that make sense and that
 * are the same when they are written and read again. Every input is read as lines with servers,
 * too.
 */
#include "base/text.h"
#include "fuzz.h"
#include "traces/bandwidth.h"

#include <math.h>
#include <string.h>

static void claim_trace(const cs_bandwidth_trace *trace)
{
    FUZZ_CLAIM(trace->n >= 1);
    for (size_t i = 0; i < trace->n; i++) {
        FUZZ_CLAIM(isfinite(trace->time_s[i]) && trace->time_s[i] >= 0);
        FUZZ_CLAIM(isfinite(trace->rate_Bps[i]) && trace->rate_Bps[i] >= 0);
        bool is_next = i > 0 && trace->server != NULL && trace->time_s[i] == trace->time_s[i - 1] &&
                       trace->server[i] > trace->server[i - 1];
        FUZZ_CLAIM(i == 0 || is_next || trace->time_s[i] > trace->time_s[i - 1]);
    }
}

static void claim_reads_back(const cs_bandwidth_trace *trace)
{
    cs_bandwidth_trace again = {0};
    cs_error           err   = {0};
    cs_text            text  = {0};

    for (size_t i = 0; i < trace->n; i++) {
        cs_text_add(&text, "%.17g\t", trace->time_s[i]);
        if (trace->server != NULL) {
            cs_text_add(&text, "%u ", trace->server[i]);
        }
        cs_text_add(&text, "%.17g\r\n", trace->rate_Bps[i]);
    }
    FUZZ_CLAIM(cs_bandwidth_parse(text.data, text.length, "own", trace->server != NULL, &again,
                                  &err) == CS_OK);
    FUZZ_CLAIM(again.n == trace->n);
    FUZZ_CLAIM(memcmp(again.time_s, trace->time_s, again.n * sizeof *again.time_s) == 0);
    FUZZ_CLAIM(memcmp(again.rate_Bps, trace->rate_Bps, again.n * sizeof *again.rate_Bps) == 0);
    cs_bandwidth_free(&again);
    cs_text_free(&text);
}

static void parse(const uint8_t *data, size_t length, bool has_servers)
{
    cs_bandwidth_trace trace = {0};
    cs_error           err   = {0};
    cs_status          status =
        cs_bandwidth_parse((const char *)data, length, "input", has_servers, &trace, &err);

    if (status != CS_OK) {
        fuzz_claim_error(status, &err);
        FUZZ_CLAIM(strcmp(err.input, "input") == 0 && err.input_line >= 1);
        FUZZ_CLAIM(err.input_column >= 1);
        FUZZ_CLAIM(trace.time_s == NULL && trace.rate_Bps == NULL && trace.server == NULL);
        return;
    }
    claim_trace(&trace);
    FUZZ_CLAIM((trace.server != NULL) == has_servers);
    claim_reads_back(&trace);
    cs_bandwidth_free(&trace);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length)
{
    parse(data, length, false);
    parse(data, length, true);
    return 0;
}
