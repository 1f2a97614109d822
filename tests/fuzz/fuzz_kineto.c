/* SPDX-License-Identifier: GPL-3.0-or-later */
/* JSON traces: as a single file, as one of two ranks' files, and as a timeline, each is refused in
 * one line or gives arrivals that make sense.
 */
#include "base/text.h"
#include "fuzz.h"
#include "traces/arrival_file.h"

#include <math.h>

/* The other rank of a pair, whatever the input is. */
static const char other[] =
    "{\"distributedInfo\": {\"rank\": 1, \"world_size\": 2}, \"traceEvents\": [{\"ph\": \"X\", "
    "\"cat\": \"kernel\", \"name\": \"ncclDevKernel_AllReduce_Sum_f32_RING_LL\", \"pid\": 1, "
    "\"tid\": 2, \"ts\": 5, \"dur\": 7.5}]}";

static void try_texts(const cs_arrival_text *texts, size_t n, const cs_arrival_options *options)
{
    cs_arrival_trace trace  = {0};
    cs_arrival_notes notes  = {0};
    cs_error         err    = {0};
    cs_status        status = cs_arrival_texts_read(texts, n, options, &trace, &notes, &err);

    if (status != CS_OK) {
        fuzz_claim_error(status, &err);
        FUZZ_CLAIM(trace.arrival_s == NULL);
        return;
    }
    FUZZ_CLAIM(trace.n_ranks >= 2 && trace.n_calls >= 1);
    for (size_t i = 0; i < trace.n_calls * trace.n_ranks; i++) {
        FUZZ_CLAIM(isfinite(trace.arrival_s[i]) && trace.arrival_s[i] >= 0);
    }
    cs_arrival_trace_free(&trace);
    cs_arrival_notes_free(&notes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length)
{
    const cs_arrival_options plain = {0};
    const cs_arrival_options work  = {.category = "work", .skip_incomplete = true};
    const cs_arrival_options sends = {.collective = "alltoall", .skip_incomplete = true};
    cs_text                  text  = {0};

    cs_text_add_bytes(&text, (const char *)data, length);
    cs_text_add(&text, "%s", "");
    const cs_arrival_text texts[] = {{"input", text.data != NULL ? text.data : "", length},
                                     {"other", other, sizeof other - 1}};
    try_texts(texts, 1, &plain);
    try_texts(texts, 1, &work);
    try_texts(texts, 1, &sends);
    try_texts(texts, 2, &plain);
    cs_text_free(&text);
    return 0;
}
