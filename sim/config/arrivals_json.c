/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The key "arrivals": fixed delays, a distribution, a straggler, a measured trace; they add up.
 *
 *   "arrivals": {"late": [{"rank": 7, "delay": "1ms"}],
 *                "distribution": {"name": "lognormal", "mean": "3ms", "stddev": "1ms"},
 *                "straggler": {"rank": 0, "persistence": 0.9, "delay": "4.48ms"},
 *                "trace": {"path": "arrivals.csv", "pick": "resample"}}
 */
#include "config/arrival_file.h"
#include "config/file_field.h"
#include "config/scenario_json.h"

#include <math.h>

#define COUNT(list) (sizeof(list) / sizeof(list)[0])
#define NOT_LATE    (-1.0) /* no delay was given */

static const char *const arrivals_keys[]  = {"late", "distribution", "straggler", "trace"};
static const char *const late_keys[]      = {"rank", "delay"};
static const char *const trace_keys[]     = {"path", "pick", "fingerprint"};
static const char *const pick_words[]     = {"in-order", "resample"};
static const char *const straggler_keys[] = {"rank", "persistence", "correlation", "delay"};

static void read_late(cs_reading *r, const cs_field *item, double *delay_s, uint32_t n_ranks)
{
    uint32_t rank  = 0;
    double   delay = 0;

    if (!cs_read_object(r, item, late_keys, COUNT(late_keys))) {
        return;
    }
    cs_read_required(r, item, "rank");
    cs_read_required(r, item, "delay");
    cs_read_u32(r, item, "rank", 0, n_ranks - 1, &rank);
    cs_read_time(r, item, "delay", &delay);
    if (cs_reading_failed(r)) {
        return;
    }
    if (!(delay >= 0)) {
        cs_field field = cs_field_get(item, "delay");
        CS_REFUSE(r, &field, CS_EINVAL, "%.15g s is negative: accepted are times from 0 on", delay);
    } else if (delay_s[rank] != NOT_LATE) {
        cs_field field = cs_field_get(item, "rank");
        CS_REFUSE(r, &field, CS_EINVAL, "rank %u is late twice: accepted is one delay per rank",
                  rank);
    } else {
        delay_s[rank] = delay;
    }
}

static void read_all_late(cs_reading *r, const cs_field *arrivals, uint32_t n_ranks,
                          const double **late_s_p)
{
    cs_field late  = cs_field_get(arrivals, "late");
    size_t   count = cs_read_array(r, &late);

    if (count == 0) {
        return;
    }
    double *delay_s = CS_ARENA_NEW(r->arena, double, n_ranks);
    if (delay_s == NULL) {
        CS_REFUSE(r, &late, CS_ENOMEM, "out of memory for arrivals");
        return;
    }
    for (uint32_t i = 0; i < n_ranks; i++) {
        delay_s[i] = NOT_LATE;
    }
    for (size_t i = 0; i < count && !cs_reading_failed(r); i++) {
        cs_field item = cs_field_item(&late, i);
        read_late(r, &item, delay_s, n_ranks);
    }
    for (uint32_t i = 0; i < n_ranks; i++) {
        delay_s[i] = delay_s[i] == NOT_LATE ? 0 : delay_s[i];
    }
    *late_s_p = delay_s;
}

static void read_straggler(cs_reading *r, const cs_field *arrivals, uint32_t n_ranks,
                           cs_arrival_process *process)
{
    cs_field              field = cs_field_get(arrivals, "straggler");
    cs_straggler_process *s     = &process->straggler;

    if (!cs_read_object(r, &field, straggler_keys, COUNT(straggler_keys))) {
        return;
    }
    cs_field rank = cs_field_get(&field, "rank"), delay = cs_field_get(&field, "delay");
    cs_field correlation = cs_field_get(&field, "correlation");
    bool     is_presumed = rank.node != NULL && !json_is_null(rank.node);
    *s                   = (cs_straggler_process){.rank = CS_ANY_RANK, .persistence = 1};
    cs_read_required(r, &field, "delay");
    if (is_presumed) {
        cs_read_u32(r, &field, "rank", 0, n_ranks - 1, &s->rank);
    } else {
        cs_read_required(r, &field, "persistence");
    }
    cs_read_number(r, &field, "persistence", 0, 1, &s->persistence);
    if (!cs_reading_failed(r) && correlation.node != NULL && !is_presumed) {
        CS_REFUSE(r, &correlation, CS_EINVAL,
                  "needs a presumed 'rank': without one, 'persistence' is the correlation");
    }
    cs_read_number(r, &field, "correlation", 0, 0.9999, &s->correlation);
    cs_read_distribution(r, &delay, &s->delay);
    process->has_straggler = true;
}

const cs_arrival_trace *cs_read_trace(cs_reading *r, const cs_field *parent, const char *key)
{
    const char *path = NULL;

    cs_read_required(r, parent, key);
    cs_read_file_names(r, parent, key, &path);
    if (cs_reading_failed(r)) {
        return NULL;
    }
    const cs_cached_file *file = cs_read_file(r, &cs_arrival_file_kind, path, &r->error);
    if (file == NULL) {
        return NULL;
    }
    cs_keep_fingerprint(r, parent, file->fingerprint, "other arrivals: theirs");
    return cs_reading_failed(r) ? NULL : file->content;
}

static void read_measured(cs_reading *r, const cs_field *arrivals, uint32_t n_ranks,
                          cs_arrival_process *process)
{
    cs_field field = cs_field_get(arrivals, "trace"), path;
    size_t   pick  = 0;

    if (!cs_read_object(r, &field, trace_keys, COUNT(trace_keys))) {
        return;
    }
    cs_read_word(r, &field, "pick", pick_words, COUNT(pick_words), &pick);
    const cs_arrival_trace *trace = cs_read_trace(r, &field, "path");
    if (trace == NULL) {
        return;
    }
    path = cs_field_get(&field, "path");
    if (trace->n_ranks != n_ranks) {
        CS_REFUSE(r, &path, CS_EINVAL, "holds arrivals of %u ranks, the cluster has %u",
                  trace->n_ranks, n_ranks);
        return;
    }
    process->trace = (cs_arrival_trace){
        .n_ranks = n_ranks, .n_calls = trace->n_calls, .arrival_s = trace->arrival_s};
    process->resamples = pick == 1;
}

/* Iteration 0 into the scenario; NULL where all arrive together. */
static void draw_first(cs_reading *r, const cs_field *arrivals, cs_case *c)
{
    uint32_t n       = c->job.scenario.cluster.n_ranks;
    double   last_s  = 0;
    double  *first_s = CS_ARENA_NEW(r->arena, double, n);

    if (first_s == NULL ||
        cs_arrival_first(&c->arrivals, n, c->job.scenario.seed, first_s, NULL) != CS_OK) {
        CS_REFUSE(r, arrivals, CS_ENOMEM, "out of memory for arrivals");
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        last_s = fmax(last_s, first_s[i]);
    }
    c->job.scenario.arrival_s = last_s > 0 ? first_s : NULL;
}

void cs_read_arrivals(cs_reading *r, const cs_field *root, cs_case *c)
{
    cs_field arrivals = cs_field_get(root, "arrivals");
    uint32_t n        = c->job.scenario.cluster.n_ranks;

    if (!cs_read_object(r, &arrivals, arrivals_keys, COUNT(arrivals_keys))) {
        return;
    }
    cs_field distribution = cs_field_get(&arrivals, "distribution");
    read_all_late(r, &arrivals, n, &c->arrivals.late_s);
    if (distribution.node != NULL) {
        cs_read_distribution(r, &distribution, &c->arrivals.distribution);
        c->arrivals.has_distribution = true;
    }
    read_straggler(r, &arrivals, n, &c->arrivals);
    read_measured(r, &arrivals, n, &c->arrivals);
    if (!cs_reading_failed(r)) {
        draw_first(r, &arrivals, c);
    }
}
