/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/watch.h"

#include "cli/cli.h"
#include "cs/bound.h"
#include "engine/explain.h"
#include "output/chrome_trace.h"
#include "output/heatmap.h"

#include <math.h>
#include <string.h>

enum { SHOWN_PORTS = 16, SHOWN_STEPS = 24 };

cs_status cs_watch_open(cs_watch *w, const cs_watch_choice *choice, const cs_scenario *scenario,
                        cs_error *err)
{
    size_t    n_limits = 0;
    cs_status status   = CS_OK;

    w->choice   = choice;
    w->scenario = scenario;
    if (choice->trace_path != NULL) {
        w->recording.limits[n_limits++] = cs_chrome_trace_limit;
    }
    if (choice->explains) {
        w->recording.limits[n_limits++] = cs_critical_path_limit;
        status                          = cs_port_stats_init(&w->stats, &scenario->cluster, err);
        w->observers[w->n_observers++]  = cs_port_stats_observer(&w->stats);
    }
    if (n_limits > 0) {
        w->observers[w->n_observers++] = cs_recording_observer(&w->recording);
    }
    if (status == CS_OK && choice->heatmap_path != NULL) {
        status                         = cs_usage_init(&w->usage, scenario, err);
        w->observers[w->n_observers++] = cs_usage_observer(&w->usage);
    }
    return status;
}

static cs_status write_trace(const cs_watch *w, cs_error *err)
{
    cs_text   text   = {0};
    cs_status status = cs_chrome_trace(&w->recording, w->scenario, &text, err);

    if (status == CS_OK) {
        status = cs_cli_write(w->choice->trace_path, &text, err);
    }
    cs_text_free(&text);
    return status;
}

static cs_status write_heatmap(cs_watch *w, const cs_result *result, cs_error *err)
{
    cs_text   text   = {0};
    cs_status status = cs_heatmap_svg(&w->usage, result, &text, err);

    if (status == CS_OK) {
        status = cs_cli_write(w->choice->heatmap_path, &text, err);
    }
    cs_text_free(&text);
    return status;
}

static void add_step(cs_text *text, const cs_path_step *s)
{
    cs_text_add(text, "#   %12.3f %12.3f  round %-6u %5u -> %-5u chunk %-6u waited for %s\n",
                s->start_s * 1e6, s->end_s * 1e6, s->round, s->src, s->dst, s->chunk,
                cs_wait_text(s->wait));
}

static void add_path(cs_text *text, const cs_path_step *steps, size_t count)
{
    double moving   = 0;
    size_t waits[5] = {0};

    for (size_t i = 0; i < count; i++) {
        moving += steps[i].end_s - steps[i].start_s;
        waits[steps[i].wait]++;
    }
    cs_text_add(text,
                "# critical path: %zu transfers, %.3f us under way; waited %zu times for data, "
                "%zu for a sending\n#   and %zu for a receiving port, %zu for a barrier\n",
                count, moving * 1e6, waits[CS_WAIT_DATA], waits[CS_WAIT_TX], waits[CS_WAIT_RX],
                waits[CS_WAIT_FENCE]);
    cs_text_add(text, "#   %12s %12s\n", "start (us)", "end (us)");
    for (size_t i = 0; i < count; i++) {
        if (i == SHOWN_STEPS / 2 && count > SHOWN_STEPS) {
            size_t left_out = count - SHOWN_STEPS;
            cs_text_add(text, "#   ... %zu more ...\n", left_out);
            i += left_out;
        }
        add_step(text, &steps[i]);
    }
}

/* What proves how good the time is: the bound, what it counts, and what it assumes. */
static void add_bound(cs_text *text, const cs_result *result)
{
    for (size_t i = 0; cs_bounds[i] != NULL; i++) {
        const cs_bound *b = cs_bounds[i];
        if (strcmp(b->name, result->bound) != 0) {
            continue;
        }
        cs_text_add(text, "# bound %s, %.3f us: %s\n#   (%s; %s)\n", b->name, result->bound_s * 1e6,
                    b->summary, b->assumption, b->source);
    }
    if (result->gap <= 1 + 1e-9) {
        cs_text_add(text, "# optimal: no schedule can be faster in this scenario\n");
    } else if (!isnan(result->gap)) {
        cs_text_add(text, "# no schedule can be faster by more than %.3f %%\n",
                    100 * (1 - 1 / result->gap));
    }
}

static cs_status explain(const cs_watch *w, const cs_result *result, cs_text *text, cs_error *err)
{
    const cs_path_step *steps;
    size_t              count;
    cs_arena            arena = {0};
    cs_status status = cs_critical_path(&w->recording, w->scenario, &arena, &steps, &count, err);

    if (status == CS_OK) {
        cs_text_add(text, "#\n# %s, %llu ranks, %llu bytes: %.3f us", result->algorithm,
                    (unsigned long long)result->ranks, (unsigned long long)result->bytes,
                    result->elapsed_s * 1e6);
        if (!isnan(result->gap)) {
            cs_text_add(text, ", %.4f x the bound %s", result->gap, result->bound);
        }
        cs_text_add(text, "\n");
        add_bound(text, result);
        add_path(text, steps, count);
        cs_port_stats_text(text, &w->stats, result->elapsed_s, SHOWN_PORTS);
    }
    cs_arena_free(&arena);
    return status;
}

cs_status cs_watch_report(cs_watch *w, const cs_result *result, cs_text *notes, cs_error *err)
{
    cs_status status = CS_OK;

    if (w->choice->trace_path != NULL) {
        status = write_trace(w, err);
    }
    if (status == CS_OK && w->choice->heatmap_path != NULL) {
        status = write_heatmap(w, result, err);
    }
    if (status == CS_OK && w->choice->explains) {
        status = explain(w, result, notes, err);
    }
    return status;
}

void cs_watch_close(cs_watch *w)
{
    cs_recording_free(&w->recording);
    cs_port_stats_free(&w->stats);
    cs_usage_free(&w->usage);
}
