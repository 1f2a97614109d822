/* SPDX-License-Identifier: GPL-3.0-or-later */
/* JSON traces: as a single file, as one of two ranks' files, and as a timeline, each is refused in
 * one line or gives arrivals that make sense.
 */
#include "base/text.h"
#include "fuzz.h"

/* The other rank of a pair, whatever the input is. */
static const char other[] =
    "{\"distributedInfo\": {\"rank\": 1, \"world_size\": 2}, \"traceEvents\": [{\"ph\": \"X\", "
    "\"cat\": \"kernel\", \"name\": \"ncclDevKernel_AllReduce_Sum_f32_RING_LL\", \"pid\": 1, "
    "\"tid\": 2, \"ts\": 5, \"dur\": 7.5}]}";

static void try_texts(const cs_arrival_text *texts, size_t n, const cs_arrival_options *options)
{
    cs_arrival_trace trace = {0};

    if (fuzz_read_trace(texts, n, options, &trace)) {
        cs_arrival_trace_free(&trace);
    }
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
