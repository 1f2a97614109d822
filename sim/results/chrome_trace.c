/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Recording a run for its timeline: see chrome_trace.h. The file is drawn at the end, by
 * chrome_trace_draw.c. */
#include "results/chrome_trace_records.h"

#include "base/alloc.h"

cs_status cs_chrome_trace_open(const cs_scenario *scenario, cs_chrome_trace **trace_p,
                               cs_error *err)
{
    cs_chrome_trace *trace = CS_NEW(cs_chrome_trace, 1);

    if (trace == NULL) {
        return CS_FAIL(err, CS_ENOMEM, "trace", "out of memory");
    }
    trace->scenario = scenario;
    *trace_p        = trace;
    return CS_OK;
}

void cs_chrome_trace_close(cs_chrome_trace *trace)
{
    if (trace != NULL) {
        cs_free(trace->records);
        cs_free(trace);
    }
}

static cs_status record_block(void *user, const cs_block *block, const cs_interval *intervals,
                              cs_error *err)
{
    cs_chrome_trace *trace = user;

    if (!cs_grow(&trace->records, &trace->capacity, trace->n_records + block->count, block->count,
                 sizeof *trace->records)) {
        return CS_FAIL(err, CS_ENOMEM, "trace", "out of memory for the timeline");
    }
    for (size_t i = 0; i < block->count; i++) {
        const cs_transfer *t = &block->transfers[i];

        trace->records[trace->n_records++] =
            (cs_trace_record){*t, intervals[i], block->fence_s, block->fence_except};
        if (!(intervals[i].end_s <= CS_CHROME_TRACE_MAX_S)) {
            return CS_FAIL(err, CS_EINVAL, "trace", "a message ends after %g s; at most %g s fit",
                           intervals[i].end_s, CS_CHROME_TRACE_MAX_S);
        }
        trace->n_messages += cs_transfer_op(t) == CS_OP_EXCHANGE ? 2 : 1;
    }
    if (trace->n_messages > CS_CHROME_TRACE_MAX_MESSAGES) {
        return CS_FAIL(err, CS_EINVAL, "trace",
                       "more than %u messages, which no viewer opens; take fewer ranks or fewer "
                       "segments",
                       CS_CHROME_TRACE_MAX_MESSAGES);
    }
    return CS_OK;
}

cs_observer cs_chrome_trace_observer(cs_chrome_trace *trace)
{
    return (cs_observer){.block = record_block, .user = trace};
}
