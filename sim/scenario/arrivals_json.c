/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The key "arrivals": fixed delays, a distribution, a straggler, a measured trace; they add up.
 *
 *   "arrivals": {"late": [{"rank": 7, "delay": "1ms"}],
 *                "distribution": {"name": "lognormal", "mean": "3ms", "stddev": "1ms"},
 *                "straggler": {"rank": 0, "persistence": 0.9, "delay": "4.48ms"},
 *                "trace": {"path": "arrivals.csv", "pick": "resample"}}
 */
#include "scenario/scenario_json.h"
#include "traces/arrival_file.h"

#include <math.h>

#define NOT_LATE (-1.0) /* no delay was given */

typedef struct late_rank {
    uint32_t rank;
    double   delay_s;
} late_rank;

typedef struct arrivals_keys {
    late_rank           *late;
    size_t               n_late;
    cs_distribution      distribution;
    cs_straggler_process straggler;
    struct {
        const char *path;
        int         pick; /* 1: resample */
    } trace;
} arrivals_keys;

/* Somebody is presumed, or persistence says how long a straggler stays. */
static void check_straggler(cs_reading *r, const cs_place *place, void *object)
{
    const cs_straggler_process *s           = object;
    cs_place                    correlation = cs_place_get(place, "correlation");

    if (s->rank != CS_ANY_RANK) {
        return;
    }
    cs_read_required(r, place, "persistence");
    if (correlation.node != NULL && !cs_reading_failed(r)) {
        CS_REFUSE(r, &correlation, CS_EINVAL,
                  "needs a presumed 'rank': without one, 'persistence' is the correlation");
    }
}

/* clang-format off */
static const cs_field late_fields[] = {
    CS_KEY(late_rank, rank, "rank", .max = CS_MAX_RANKS - 1, .is_rank = true, .is_required = true,
           .help = "who is late"),
    CS_KEY(late_rank, delay_s, "delay", .unit = CS_UNIT_TIME, .max = (double)INFINITY,
           .plain = &cs_plain_delay, .is_required = true, .help = "by how much"),
    CS_FIELD_END,
};
static const cs_field late[] = {
    {.name = "late", .type = CS_FIELD_OBJECT, .fields = late_fields},
    CS_FIELD_END,
};
static const cs_field straggler_fields[] = {
    CS_KEY(cs_straggler_process, rank, "rank", .fallback = CS_ANY_RANK, .max = CS_MAX_RANKS - 1,
           .is_rank = true, .has_null = true, .help = "the rank that is favoured; null: none"),
    CS_KEY(cs_straggler_process, persistence, "persistence", .fallback = 1, .max = 1,
           .help = "probability that it is that rank; without one, that the straggler stays"),
    CS_KEY(cs_straggler_process, correlation, "correlation", .max = 0.9999,
           .help = "probability that the straggler stays who it was"),
    CS_KEY_OF(CS_FIELD_EITHER, cs_straggler_process, delay, "delay", .fields = cs_distribution_forms,
              .read = cs_read_distribution, .is_required = true, .help = "its extra delay"),
    CS_FIELD_END,
};
static const cs_field trace_fields[] = {
    CS_KEY_OF(CS_FIELD_FILE, arrivals_keys, trace.path, "path", .is_required = true,
              .help = "a file of arrivals, or several with commas between them"),
    CS_KEY(arrivals_keys, trace.pick, "pick", .choices = "in-order|resample",
           .help = "iteration i takes call i, or any call"),
    {.name = "fingerprint", .type = CS_FIELD_TEXT, .offset = CS_NOWHERE, .help = "of the arrivals"},
    CS_FIELD_END,
};
const cs_field cs_arrivals_fields[] = {
    CS_KEY_LIST(arrivals_keys, late, n_late, "late", late, .help = "fixed delays"),
    CS_KEY_OF(CS_FIELD_EITHER, arrivals_keys, distribution, "distribution",
              .fields = cs_distribution_forms, .read = cs_read_distribution,
              .help = "a delay of every rank"),
    CS_KEY_OF(CS_FIELD_OBJECT, arrivals_keys, straggler, "straggler", .fields = straggler_fields,
              .check = check_straggler, .help = "an extra delay of one rank"),
    {.name = "trace", .type = CS_FIELD_OBJECT, .fields = trace_fields, .help = "measured arrivals"},
    CS_FIELD_END,
};
/* clang-format on */

/* One delay for every rank; NULL without any. */
static const double *late_of_ranks(cs_reading *r, const cs_place *arrivals, const arrivals_keys *a)
{
    uint32_t n       = r->cluster->n_ranks;
    cs_place place   = cs_place_get(arrivals, "late");
    double  *delay_s = a->n_late > 0 ? CS_ARENA_NEW(r->arena, double, n) : NULL;

    if (delay_s == NULL && a->n_late > 0) {
        CS_REFUSE_MEMORY(r, &place, "arrivals");
    }
    for (uint32_t i = 0; delay_s != NULL && i < n; i++) {
        delay_s[i] = NOT_LATE;
    }
    for (size_t i = 0; delay_s != NULL && i < a->n_late && !cs_reading_failed(r); i++) {
        uint32_t rank = a->late[i].rank;
        if (delay_s[rank] != NOT_LATE) {
            cs_place item = cs_place_item(&place, i), key = cs_place_get(&item, "rank");
            CS_REFUSE(r, &key, CS_EINVAL, "rank %u is late twice: accepted is one delay per rank",
                      rank);
        }
        delay_s[rank] = a->late[i].delay_s;
    }
    for (uint32_t i = 0; delay_s != NULL && i < n; i++) {
        delay_s[i] = delay_s[i] == NOT_LATE ? 0 : delay_s[i];
    }
    return delay_s;
}

const cs_arrival_file *cs_read_trace(cs_reading *r, const cs_place *parent, const char *path)
{
    const cs_cached_file *file = cs_read_file(r, &cs_arrival_file_kind, path, &r->error);

    if (file == NULL) {
        return NULL;
    }
    cs_keep_fingerprint(r, parent, file->fingerprint, "other arrivals: theirs");
    return cs_reading_failed(r) ? NULL : file->content;
}

static void read_measured(cs_reading *r, const cs_place *arrivals, const arrivals_keys *a,
                          cs_case *c)
{
    cs_place place = cs_place_get(arrivals, "trace"), path = cs_place_get(&place, "path");
    uint32_t n = r->cluster->n_ranks;

    if (place.node == NULL || cs_reading_failed(r)) {
        return;
    }
    const cs_arrival_file *file = cs_read_trace(r, &place, a->trace.path);
    if (file == NULL) {
        return;
    }
    const cs_arrival_trace *trace = &file->trace;
    if (trace->n_ranks != n) {
        CS_REFUSE(r, &path, CS_EINVAL, "holds arrivals of %u ranks, the cluster has %u",
                  trace->n_ranks, n);
        return;
    }
    c->arrival_notes = file->notes.data;
    c->arrivals.trace =
        (cs_arrival_trace){.n_ranks = n, .n_calls = trace->n_calls, .arrival_s = trace->arrival_s};
    c->arrivals.resamples = a->trace.pick == 1;
}

/* Iteration 0 into the scenario; NULL where all arrive together. */
static void set_first(cs_reading *r, const cs_place *arrivals, cs_case *c)
{
    uint32_t n       = c->job.scenario.cluster.n_ranks;
    double   last_s  = 0;
    double  *first_s = CS_ARENA_NEW(r->arena, double, n);

    if (first_s == NULL ||
        cs_arrival_first(&c->arrivals, n, c->job.scenario.seed, first_s, NULL) != CS_OK) {
        CS_REFUSE_MEMORY(r, arrivals, "arrivals");
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        last_s = fmax(last_s, first_s[i]);
    }
    c->job.scenario.arrival_s = last_s > 0 ? first_s : NULL;
}

void cs_read_arrivals(cs_reading *r, const cs_place *place, const cs_field *row, void *object)
{
    cs_case            *c       = object;
    cs_arrival_process *process = &c->arrivals;
    arrivals_keys       a       = {.late = NULL};

    cs_fields_default(row->fields, &a);
    if (!cs_read_fields(r, place, row->fields, &a)) {
        return;
    }
    process->late_s           = late_of_ranks(r, place, &a);
    process->has_distribution = cs_place_has(place, "distribution");
    process->distribution     = a.distribution;
    process->has_straggler    = cs_place_has(place, "straggler");
    if (process->has_straggler) {
        process->straggler = a.straggler;
    }
    read_measured(r, place, &a, c);
    if (!cs_reading_failed(r)) {
        set_first(r, place, c);
    }
}
