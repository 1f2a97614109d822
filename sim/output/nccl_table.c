/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Results as the table of nccl-tests. Its line on processes and devices is replaced by lines on
 * the simulated cluster. The element type is float where the size is a whole number of floats,
 * otherwise int8, so that size = count * type holds. */
#include "output/result_rows.h"

#include "cs/topology.h"
#include "output/comparison.h"
#include "output/nccl_columns.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Longer lists of ranks and slow NICs are cut. */
#define MAX_LISTED ((uint32_t)CS_MOST_LISTED)

static void add_cluster(cs_text *text, const cs_cluster *cluster)
{
    cs_text_add(text, "# Using devices\n#  %" PRIu32 " ranks, ", cluster->n_ranks);
    if (cluster->uneven != NULL) {
        cs_text_add(text, "%" PRIu32 " to ", cs_least_gpus(cluster));
    }
    cs_text_add(text, "%" PRIu32 " per server\n", cluster->gpus_per_server);
    for (uint32_t f = 0; f < cs_n_fabrics(cluster); f++) {
        const cs_fabric *fabric    = &cluster->fabrics[f];
        double           least_Bps = cs_least_Bps(cluster, f);
        cs_text_add(text, "#  %s (%s): alpha %.6g us, bandwidth ", cs_fabric_name(f),
                    fabric->kind == CS_DIRECT ? "direct" : "switched", fabric->alpha_s * 1e6);
        if (least_Bps < fabric->bandwidth_Bps) {
            cs_text_add(text, "%.6g to ", least_Bps / 1e9);
        }
        cs_text_add(text, "%.6g GB/s", fabric->bandwidth_Bps / 1e9);
        if (cs_waits_for_links(cluster, f)) {
            cs_text_add(text, ", %" PRIu32 " of %" PRIu32 " links of a GPU at once",
                        cs_links_at_once(cluster, f), cs_links_of(cluster, f));
        }
        cs_text_add(text, "%s\n",
                    f == CS_NIC && !cs_uses_nics(cluster) ? ", not used inside one server" : "");
    }
    cs_setting_servers(cluster, "#  ", text);
    if (cluster->topology != NULL) {
        char name[96];
        cs_setting_topology(cluster->topology, name, sizeof name);
        cs_text_add(text, "#  topology: %s, %" PRIu32 " links\n", name, cluster->topology->n_links);
    }
    if (cluster->assumed != NULL) {
        cs_text_add(text, "#  assumed, %s\n", cluster->assumed);
    }
}

static void add_ranks(cs_text *text, const cs_cluster *cluster)
{
    if (cluster->n_ranks > MAX_LISTED) {
        return;
    }
    for (uint32_t rank = 0; rank < cluster->n_ranks; rank++) {
        cs_text_add(text,
                    "#  Rank %2" PRIu32 " Group  0 Pid      0 on server%-4" PRIu32
                    " device %2" PRIu32 " [0x00] simulated\n",
                    rank, cs_server_of(cluster, rank), cs_local_rank(cluster, rank));
    }
}

static void add_late(cs_text *text, const cs_scenario *scenario)
{
    uint32_t n_late = 0;

    for (uint32_t rank = 0; rank < scenario->cluster.n_ranks; rank++) {
        double arrival_s = cs_arrival(scenario, rank);
        if (arrival_s > 0 && n_late++ < MAX_LISTED) {
            cs_text_add(text, "#  late: rank %" PRIu32 " by %.6g us\n", rank, arrival_s * 1e6);
        }
    }
    if (n_late > MAX_LISTED) {
        cs_text_add(text, "#  late: %" PRIu32 " more ranks, the last one by %.6g us\n",
                    n_late - MAX_LISTED, cs_last_arrival(scenario) * 1e6);
    }
}

static void add_slow(cs_text *text, const cs_scenario *scenario)
{
    for (size_t i = 0; i < scenario->n_capacity && i < MAX_LISTED; i++) {
        const cs_capacity *step = &scenario->capacity[i];
        if (isinf(step->slowdown)) {
            cs_text_add(text, "#  dead NIC: rank %" PRIu32 " is cut off", step->rank);
        } else {
            cs_text_add(text, "#  slow NIC: rank %" PRIu32 "%s by %.6g", step->rank,
                        step->is_single ? " alone" : "", step->slowdown);
        }
        cs_text_add(text, " from %.6g us", step->from_s * 1e6);
        if (isfinite(step->until_s)) {
            cs_text_add(text, " until %.6g us", step->until_s * 1e6);
        }
        cs_text_add(text, "\n");
    }
    if (scenario->n_capacity > MAX_LISTED) {
        cs_text_add(text, "#  slow NIC: %zu more\n", scenario->n_capacity - MAX_LISTED);
    }
}

/* Add an option as a member of a JSON object if it is not what it was. */
static void add_changed_option(cs_text *text, const cs_field *row, const void *before,
                               const void *now)
{
    char old[CS_OPTION_TEXT_BYTES], new[CS_OPTION_TEXT_BYTES];

    (void)cs_field_text(row, before, old, sizeof old);
    bool        is_json = cs_field_text(row, now, new, sizeof new);
    const char *quote   = is_json ? "" : "\"";
    if (strcmp(old, new) != 0) {
        cs_text_add(text, "%s\"%s\": %s%s%s", text->length > 0 ? ", " : "", row->name, quote, new,
                    quote);
    }
}

/* A line with the options of a result that another one of the same algorithm has not. False, with
 * no text added, if there are none. */
static bool add_changed_options(cs_text *text, const cs_result *before, const cs_result *now)
{
    cs_text changed = {0};

    for (const cs_field *row = now->option_table; row != NULL && row->name != NULL; row++) {
        add_changed_option(&changed, row, &before->options, &now->options);
    }
    bool is_any = changed.length > 0;
    if (is_any) {
        cs_text_add(text, "#  from the row of %" PRIu64 " bytes on: {%s}\n", now->bytes,
                    changed.data);
    }
    text->failed = text->failed || changed.failed;
    cs_text_free(&changed);
    return is_any;
}

/* The model's options that are not what they are by default, if there are any. */
static void add_model_options(cs_text *text, const cs_result *result)
{
    cs_options defaults = {0};
    cs_text    given    = {0};

    cs_fields_default(result->model_option_table, &defaults);
    for (const cs_field *row = result->model_option_table; row != NULL && row->name != NULL;
         row++) {
        add_changed_option(&given, row, &defaults, &result->model_options);
    }
    if (given.length > 0) {
        cs_text_add(text, ", model options {%s}", given.data);
    }
    text->failed = text->failed || given.failed;
    cs_text_free(&given);
}

/* The options of the first size, and what is another from some size on (`auto` chooses by size). */
static void add_options(cs_text *text, const cs_result *results, size_t n)
{
    size_t n_lines = 0;

    cs_text_add(text, "#  options ");
    cs_options_json(text, results->option_table, &results->options);
    add_model_options(text, results);
    cs_text_add(text, "\n");
    for (size_t i = 1; i < n && n_lines < MAX_LISTED; i++) {
        n_lines += add_changed_options(text, &results[i - 1], &results[i]);
    }
    if (n_lines == MAX_LISTED) {
        cs_text_add(text, "#  ..; --format json has the options of every size\n");
    }
}

static void add_head(cs_text *text, const cs_result *results, size_t n, const cs_scenario *scenario)
{
    const cs_result *first = results;

    cs_text_add(text, "# collsim " COLLSIM_VERSION ": %s by %s, model %s\n", first->collective,
                first->algorithm, first->model);
    add_options(text, results, n);
    add_cluster(text, &scenario->cluster);
    add_ranks(text, &scenario->cluster);
    add_late(text, scenario);
    add_slow(text, scenario);
    cs_nccl_add_heading(text);
}

static void add_row(cs_text *text, const cs_result *result, const cs_scenario *scenario)
{
    bool        is_whole = cs_collectives[scenario->collective].layout == CS_WHOLE;
    uint32_t    n_ranks  = scenario->cluster.n_ranks;
    uint64_t    blocks   = is_whole ? 1 : n_ranks;
    cs_nccl_row row      = {
             .collective = scenario->collective,
             .n_ranks    = n_ranks,
             .root       = scenario->root,
             .bytes      = result->bytes,
             .is_float   = result->bytes % (4 * blocks) == 0,
             .time_s     = result->exposed_s,
             .algbw_GBps = result->algbw_GBps,
             .busbw_GBps = result->busbw_GBps,
             .wrong      = result->verified             ? "0"
                           : cs_result_is_wrong(result) ? "1"
                                                        : "N/A",
    };

    cs_nccl_add_row(text, &row);
}

static void add_us(cs_text *text, double time_s)
{
    if (isfinite(time_s)) {
        cs_text_add(text, "  %12.3f", time_s * 1e6);
    } else {
        cs_text_add(text, "  %12s", "-");
    }
}

static void add_bounds(cs_text *text, const cs_result *results, size_t n)
{
    cs_text_add(text, "#\n# %10s  %12s  %12s  %12s  %8s  %s\n", "size", "elapsed", "closed form",
                "bound", "gap", "bound's name");
    cs_text_add(text, "# %10s  %12s  %12s  %12s  %8s\n", "(B)", "(us)", "(us)", "(us)", "(ratio)");
    for (size_t i = 0; i < n; i++) {
        const cs_result *result = &results[i];

        cs_text_add(text, "# %10" PRIu64, result->bytes);
        add_us(text, result->elapsed_s);
        add_us(text, result->closed_form_s);
        add_us(text, result->bound_s);
        if (isfinite(result->gap)) {
            cs_text_add(text, "  %8.4f", result->gap);
        } else {
            cs_text_add(text, "  %8s", "-");
        }
        cs_text_add(text, "  %s\n", result->bound != NULL ? result->bound : "none");
    }
}

static void add_count(cs_text *text, uint64_t count)
{
    if (count != CS_NO_COUNT) {
        cs_text_add(text, "  %12" PRIu64, count);
    } else {
        cs_text_add(text, "  %12s", "-");
    }
}

/* What the model counts, where it counts packets. */
static void add_counts(cs_text *text, const cs_result *results, size_t n)
{
    if (results[0].counts.packets == CS_NO_COUNT) {
        return;
    }
    cs_text_add(text, "#\n# %10s  %12s  %12s  %12s  %12s  %12s\n# %10s\n", "size", "packets",
                "pauses", "drops", "marks", "sent again", "(B)");
    for (size_t i = 0; i < n; i++) {
        const cs_counts *c = &results[i].counts;
        cs_text_add(text, "# %10" PRIu64, results[i].bytes);
        add_count(text, c->packets);
        add_count(text, c->pauses);
        add_count(text, c->drops);
        add_count(text, c->marks);
        add_count(text, c->resent);
        cs_text_add(text, "\n");
    }
}

/* What the algorithm says about its choices: once for consecutive sizes with the same note. */
static void add_notes(cs_text *text, const cs_result *results, size_t n)
{
    for (size_t first = 0, end; first < n; first = end) {
        const char *note = results[first].note;
        for (end = first + 1; end < n && results[end].note == note;) {
            end++;
        }
        if (note == NULL) {
            continue;
        }
        cs_text_add(text, "# note for %" PRIu64, results[first].bytes);
        if (end > first + 1) {
            cs_text_add(text, " to %" PRIu64, results[end - 1].bytes);
        }
        cs_text_add(text, " B: %s\n", note);
    }
}

static void add_end(cs_text *text, const cs_result *results, size_t n, cs_collective collective)
{
    double   busbw_sum = 0;
    unsigned n_wrong   = 0;

    for (size_t i = 0; i < n; i++) {
        busbw_sum += results[i].busbw_GBps;
        if (cs_result_is_wrong(&results[i])) {
            n_wrong++;
            cs_text_add(text, "# wrong at %" PRIu64 " B: %s\n", results[i].bytes,
                        results[i].verdict.text);
        }
    }
    cs_text_add(text, "# Out of bounds values : %u %s\n", n_wrong, n_wrong > 0 ? "FAILED" : "OK");
    cs_text_add(text, "# Avg bus bandwidth    : %g\n#\n", busbw_sum / (double)n);
    cs_text_add(text, "# Collective test concluded: %s\n", cs_collectives[collective].perf_name);
}

void cs_results_nccl_table(cs_text *text, const cs_result *results, size_t n,
                           const cs_scenario *scenario)
{
    if (n == 0) {
        return;
    }
    add_head(text, results, n, scenario);
    for (size_t i = 0; i < n; i++) {
        add_row(text, &results[i], scenario);
    }
    add_bounds(text, results, n);
    add_counts(text, results, n);
    add_notes(text, results, n);
    add_end(text, results, n, scenario->collective);
}
