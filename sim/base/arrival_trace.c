/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/alloc.h"
#include "cs/arrivals.h"

void cs_arrival_trace_free(cs_arrival_trace *trace)
{
    cs_free(trace->arrival_s);
    cs_free(trace->inside_s);
    cs_free(trace->bytes);
    *trace = (cs_arrival_trace){0};
}
