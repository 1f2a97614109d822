/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tables and logs of arrivals: refused in one line, or a trace that makes sense, that survives
 * being written and read, and whose statistics are numbers.
 */
#include "base/alloc.h"
#include "base/text.h"
#include "fuzz.h"
#include "input/gzip.h"
#include "traces/arrival_formats.h"
#include "traces/skew.h"

#include <string.h>

enum { MOST_UNPACKED = 1 << 20 };

static bool read_text(const char *data, size_t length, bool skips, cs_arrival_trace *trace)
{
    const cs_arrival_options options  = {.skip_incomplete = skips, .sets_warmup = skips};
    cs_arrival_text          text     = {"input", data, length};
    char                    *unpacked = NULL;
    cs_error                 err      = {0};

    if (cs_gzip_is(data, length)) {
        cs_status status =
            cs_gzip_unpack(data, length, MOST_UNPACKED, &unpacked, &text.length, &err);
        if (status != CS_OK) {
            fuzz_claim_error(status, &err);
            return false;
        }
        FUZZ_CLAIM(text.length <= MOST_UNPACKED && unpacked[text.length] == '\0');
        text.text = unpacked;
    }
    bool is_read = fuzz_read_trace(&text, 1, &options, trace);
    cs_free(unpacked);
    return is_read;
}

static void claim_skew(const cs_arrival_trace *trace)
{
    cs_skew skew = {0};

    FUZZ_CLAIM(cs_skew_compute(trace, &skew, NULL) == CS_OK);
    FUZZ_CLAIM(skew.straggler < trace->n_ranks);
    FUZZ_CLAIM(skew.last_ratio > 0 && skew.last_ratio <= 1);
    FUZZ_CLAIM(skew.delay_s.min >= 0 && skew.delay_s.min <= skew.delay_s.max);
    FUZZ_CLAIM(skew.delay_s.p50.value <= skew.delay_s.p99.value);
    cs_skew_free(&skew);
}

static void claim_reads_back(const cs_arrival_trace *trace)
{
    cs_arrival_trace again = {0};
    cs_text          text  = {0};

    cs_arrival_table_write(trace, &text);
    FUZZ_CLAIM(read_text(text.data, text.length, false, &again));
    FUZZ_CLAIM(again.n_ranks == trace->n_ranks && again.n_calls == trace->n_calls);
    FUZZ_CLAIM(memcmp(again.arrival_s, trace->arrival_s,
                      trace->n_calls * trace->n_ranks * sizeof(double)) == 0);
    cs_arrival_trace_free(&again);
    cs_text_free(&text);
}

static void try_text(const uint8_t *data, size_t length, bool skips)
{
    cs_arrival_trace trace = {0};
    cs_text          text  = {0};

    cs_text_add_bytes(&text, (const char *)data, length);
    cs_text_add(&text, "%s", "");
    if (read_text(text.data != NULL ? text.data : "", length, skips, &trace)) {
        claim_skew(&trace);
        claim_reads_back(&trace);
        cs_arrival_trace_free(&trace);
    }
    cs_text_free(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length)
{
    try_text(data, length, false);
    try_text(data, length, true);
    return 0;
}
