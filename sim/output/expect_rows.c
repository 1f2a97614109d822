/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "output/expect_rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A column for each member; the count of channels may be missing. */
static const cs_column columns[] = {
    CS_COLUMN(cs_expect_row, bytes),      CS_COLUMN(cs_expect_row, algorithm),
    CS_COLUMN(cs_expect_row, protocol),   CS_COLUMN_MAYBE_AS("channels", cs_expect_row, channels),
    CS_COLUMN(cs_expect_row, expected_s), CS_COLUMN(cs_expect_row, low_s),
    CS_COLUMN(cs_expect_row, high_s),     CS_COLUMN(cs_expect_row, bound_s),
    CS_COLUMN(cs_expect_row, busbw_GBps), CS_COLUMN_END,
};

void cs_expect_rows_json(cs_text *text, const cs_expect_row *rows, size_t n)
{
    cs_text_add(text, "[");
    for (size_t i = 0; i < n; i++) {
        cs_json_next(text, "\n", "\n");
        cs_text_add(text, "{");
        cs_json_row(text, &(cs_row){columns, &rows[i], true});
        cs_text_add(text, "}");
    }
    cs_text_add(text, "\n]\n");
}

void cs_expect_rows_csv(cs_text *text, const cs_expect_row *rows, size_t n)
{
    cs_csv_keys(text, columns);
    cs_csv_end(text);
    for (size_t i = 0; i < n; i++) {
        cs_csv_row(text, &(cs_row){columns, &rows[i], true});
        cs_csv_end(text);
    }
}

/* A time as nccl-tests prints it. */
static void add_time(cs_text *text, double us)
{
    cs_text_add(text, us < 10000 ? " %11.2f" : us < 1e6 ? " %11.1f" : " %11.0f", us);
}

void cs_expect_rows_table(cs_text *text, const cs_expect_row *rows, size_t n, bool is_measured)
{
    cs_text_add(text, "#%13s %9s %8s %8s %11s %8s %8s %11s %10s %5s\n", "size", "algorithm",
                "protocol", "channels", "time", "algbw", "busbw", "bound", "efficiency", "+-");
    cs_text_add(text, "#%13s %9s %8s %8s %11s %8s %8s %11s %10s %5s\n", "(B)", "", "", "", "(us)",
                "(GB/s)", "(GB/s)", "(us)", "(%)", "(%)");
    for (size_t i = 0; i < n; i++) {
        const cs_expect_row *r = &rows[i];
        char                 channels[24];
        (void)snprintf(channels, sizeof channels, "%" PRIu64, r->channels);
        cs_text_add(text, "%14" PRIu64 " %9s %8s %8s", r->bytes, r->algorithm, r->protocol,
                    r->channels == CS_NO_CHANNELS ? "-" : channels);
        add_time(text, r->expected_s * 1e6);
        cs_text_add(text, " %8.2f %8.2f", (double)r->bytes / r->expected_s / 1e9, r->busbw_GBps);
        add_time(text, r->bound_s * 1e6);
        cs_text_add(text, " %10.1f %5.0f\n", 100 * r->bound_s / r->expected_s,
                    100 * (r->high_s / r->expected_s - 1));
    }
    cs_text_add(text,
                "# time: expected; +-: %s\n"
                "# bound: by the data sheet of NVLink or of the NICs; efficiency: bound / "
                "time\n",
                is_measured ? "nine of ten measured times of such servers are so close"
                            : "a judgement, from few measured clusters like this");
}

void cs_expect_candidates(cs_text *text, uint64_t bytes, const cs_expect_candidate *all, size_t n)
{
    cs_text_add(text, "# %" PRIu64 " B: %-9s %-8s %12s %12s %14s %13s\n", bytes, "algorithm",
                "protocol", "latency (us)", "rate (GB/s)", "estimate (us)", "expected (us)");
    for (size_t i = 0; i < n; i++) {
        const cs_expect_candidate *c = &all[i];
        cs_text_add(text, "#   %-9s %-8s %12.3f %12.2f %14.3f %13.3f%s\n", c->algorithm,
                    c->protocol, c->latency_us, c->bandwidth_GBps, c->estimate_us, c->expected_us,
                    c->is_chosen     ? "  <- smallest estimate"
                    : c->is_filtered ? "  filtered out"
                                     : "");
    }
}

/* Algorithms as NCCL's plugin reads them. */
static const char *plugin_name(const char *algorithm)
{
    static const char *const names[][2] = {{"nvlstree", "nvls_tree"},
                                           {"collnetdirect", "collnet_direct"},
                                           {"collnetchain", "collnet_chain"}};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(algorithm, names[i][0]) == 0) {
            return names[i][1];
        }
    }
    return algorithm;
}

void cs_expect_loss_lines(cs_text *text, const cs_expect_loss *losses, size_t n,
                          const char *collective, uint32_t servers, uint32_t ranks)
{
    cs_text_add(
        text,
        "# collective,min,max,algo,proto,channels,nNodes,nRanks,numPipeOps,regBuff (-1: any)\n");
    for (size_t i = 0; i < n; i++) {
        const cs_expect_loss *l = &losses[i];
        cs_text_add(text, "# %s/%s takes up to %.0f %% longer\n", l->chosen, l->chosen_protocol,
                    100 * l->lost_ratio);
        cs_text_add(text, "%s,%" PRIu64 ",%" PRIu64 ",%s,%s,-1,%" PRIu32 ",%" PRIu32 ",-1,-1\n",
                    collective, l->min_bytes, l->max_bytes, plugin_name(l->algorithm), l->protocol,
                    servers, ranks);
    }
    if (n == 0) {
        cs_text_add(text, "# nowhere\n");
    }
}

void cs_expect_audit(cs_text *text, const cs_expect_loss *losses, size_t n, const char *collective,
                     uint32_t servers, uint32_t ranks, double threshold)
{
    cs_text_add(
        text,
        "# where another choice that was measured is expected to be more than %.0f %% faster "
        "than NCCL's, as its example of a tuner plugin reads it\n",
        100 * threshold);
    cs_expect_loss_lines(text, losses, n, collective, servers, ranks);
}
