/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The ports and the critical path as text: see explain_text.h. */
#include "cli/explain_text.h"

#include "base/alloc.h"
#include "cs/bound.h"
#include "replay/explain.h"
#include "results/port_stats.h"

#include <math.h>
#include <string.h>

enum { SHOWN_PORTS = 16, SHOWN_STEPS = 24 };

struct cs_explain_text {
    cs_port_stats stats;
    cs_explain   *path;
};

cs_status cs_explain_text_open(const cs_job *job, cs_explain_text **explain_p, cs_error *err)
{
    cs_explain_text *e = CS_NEW(cs_explain_text, 1);

    if (e == NULL) {
        return CS_FAIL(err, CS_ENOMEM, "--explain", "out of memory");
    }
    cs_status status = cs_port_stats_init(&e->stats, &job->scenario.cluster, err);
    if (status == CS_OK) {
        status = cs_explain_open(&job->scenario, &job->plan, &e->path, err);
    }
    if (status != CS_OK) {
        cs_explain_text_close(e);
        return status;
    }
    *explain_p = e;
    return CS_OK;
}

size_t cs_explain_text_observers(cs_explain_text *explain, cs_observer *observers)
{
    observers[0] = cs_port_stats_observer(&explain->stats);
    observers[1] = cs_explain_observer(explain->path);
    return CS_EXPLAIN_OBSERVERS;
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

cs_status cs_explain_text_add(cs_explain_text *explain, const cs_result *result, cs_text *text,
                              cs_error *err)
{
    const cs_path_step *steps;
    size_t              count;
    cs_status           status = cs_explain_path(explain->path, &steps, &count, err);

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
        cs_port_stats_text(text, &explain->stats, result->elapsed_s, SHOWN_PORTS);
    }
    return status;
}

void cs_explain_text_close(cs_explain_text *explain)
{
    if (explain != NULL) {
        cs_explain_close(explain->path);
        cs_port_stats_free(&explain->stats);
        cs_free(explain);
    }
}
