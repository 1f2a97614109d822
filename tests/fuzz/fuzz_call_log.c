/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Logs of Inspector, dumps of Flight Recorder and snapshots of RAS, up to the first record
 * separator (0x1E) those of one rank, behind it those of another: refused in one line, or a trace
 * that makes sense, with causes that add up.
 */
#include "base/text.h"
#include "fuzz.h"
#include "traces/ras.h"
#include "traces/skew.h"

#include <math.h>
#include <string.h>

static void claim_skew(const cs_arrival_trace *trace)
{
    cs_skew skew = {0};

    FUZZ_CLAIM(cs_skew_compute(trace, &skew, NULL) == CS_OK);
    FUZZ_CLAIM(skew.straggler < trace->n_ranks);
    for (uint32_t r = 0; r < trace->n_ranks; r++) {
        const cs_skew_rank *rank = &skew.ranks[r];
        size_t              n    = 0;
        for (cs_late_cause c = CS_LATE_NOT; c < CS_LATE_CAUSES; c++) {
            n += rank->n_late[c];
        }
        FUZZ_CLAIM(n == trace->n_calls);
        FUZZ_CLAIM(rank->cause == CS_LATE_NOT || rank->n_late[rank->cause] > 0);
        FUZZ_CLAIM(isnan(rank->called_s) == (trace->queued_s == NULL));
        FUZZ_CLAIM(isnan(rank->left_s) == !trace->has_ends);
    }
    cs_skew_free(&skew);
}

static void try_texts(const cs_arrival_text *texts, size_t n, const cs_arrival_options *options)
{
    cs_arrival_trace trace = {0};

    if (fuzz_read_trace(texts, n, options, &trace)) {
        claim_skew(&trace);
        cs_arrival_trace_free(&trace);
    }
}

static void try_ras(const cs_arrival_text *texts, size_t n)
{
    cs_ras_report report = {0};
    cs_error      err    = {0};
    cs_text       text   = {0};
    cs_status     status = cs_ras_read(texts, n, &report, &err);

    if (status != CS_OK) {
        fuzz_claim_error(status, &err);
        FUZZ_CLAIM(report.comms == NULL);
        return;
    }
    for (size_t c = 0; c < report.n_comms; c++) {
        FUZZ_CLAIM(report.comms[c].n_behind + report.comms[c].n_missing <= report.comms[c].n_ranks);
    }
    cs_ras_table(&report, &text);
    cs_ras_json(&report, &text);
    FUZZ_CLAIM(!text.failed);
    cs_text_free(&text);
    cs_ras_free(&report);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length)
{
    const cs_arrival_options plain = {0}, other = {.collective = "allgather", .group = "7"};
    const uint8_t           *end    = length > 0 ? memchr(data, 0x1e, length) : NULL;
    size_t                   first  = end != NULL ? (size_t)(end - data) : length;
    size_t                   second = end != NULL ? length - first - 1 : 0;
    cs_text                  a = {0}, b = {0};

    cs_text_add_bytes(&a, (const char *)data, first);
    cs_text_add(&a, "%s", "");
    cs_text_add_bytes(&b, (const char *)data + length - second, second);
    cs_text_add(&b, "%s", "");
    const cs_arrival_text texts[] = {{"rank_0.json", a.data != NULL ? a.data : "", first},
                                     {"rank_1.json", b.data != NULL ? b.data : "", second}};
    try_texts(texts, end != NULL ? 2 : 1, &plain);
    try_texts(texts, end != NULL ? 2 : 1, &other);
    fuzz_measured_choices(data, first);
    if (cs_ras_is(texts[0].text, texts[0].length)) {
        try_ras(texts, end != NULL ? 2 : 1);
    }
    cs_text_free(&a);
    cs_text_free(&b);
    return 0;
}
