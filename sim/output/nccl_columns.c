/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "output/nccl_columns.h"

#include <inttypes.h>

void cs_nccl_add_heading(cs_text *text)
{
    cs_text_add(text, "#\n# %10s  %12s  %8s  %6s  %6s           out-of-place", "", "", "", "", "");
    cs_text_add(text, "                       in-place          \n");
    cs_text_add(text, "# %10s  %12s  %8s  %6s  %6s", "size", "count", "type", "redop", "root");
    for (int half = 0; half < 2; half++) {
        cs_text_add(text, "  %7s  %6s  %6s %6s", "time", "algbw", "busbw", "#wrong");
    }
    cs_text_add(text, "\n# %10s  %12s  %8s  %6s  %6s", "(B)", "(elements)", "", "", "");
    for (int half = 0; half < 2; half++) {
        cs_text_add(text, "  %7s  %6s  %6s  %5s", "(us)", "(GB/s)", "(GB/s)", "");
    }
    cs_text_add(text, "\n");
}

void cs_nccl_add_row(cs_text *text, const cs_nccl_row *row)
{
    bool        is_whole = cs_collectives[row->collective].layout == CS_WHOLE;
    uint64_t    count    = row->bytes / (is_whole ? 1 : row->n_ranks) / (row->is_float ? 4 : 1);
    const char *redop    = cs_collective_reduces(row->collective) ? "sum" : "none";
    double      time_us  = row->time_s * 1e6;
    int         decimals = time_us >= 10000.0 ? 0 : time_us >= 100.0 ? 1 : 2;

    cs_text_add(text, "%12" PRIu64 "  %12" PRIu64 "  %8s  %6s", row->bytes, count,
                row->is_float ? "float" : "int8", redop);
    if (cs_collective_has_root(row->collective)) {
        cs_text_add(text, "  %6" PRIu32, row->root);
    } else {
        cs_text_add(text, "  %6d", -1);
    }
    for (int half = 0; half < 2; half++) {
        cs_text_add(text, "  %7.*f  %6.2f  %6.2f  %5s", decimals, time_us, row->algbw_GBps,
                    row->busbw_GBps, row->wrong);
    }
    cs_text_add(text, "\n");
}
