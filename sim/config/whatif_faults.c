/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The timeline of faults of a job. A bandwidth trace becomes outages, too: one per line whose
 * rate is below the NIC's. All are sorted by server and time, and none may overlap. */
#include "config/whatif_faults.h"

#include "traces/bandwidth.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(list)  (sizeof(list) / sizeof(list)[0])
#define MAX_SLOWDOWN 1e9
#define MAX_TIME_S   1e12
#define MAX_SCALE    1e15
#define NO_FAULT     SIZE_MAX /* the outage is of the trace */

static const char *const fault_keys[] = {"rank", "slowdown", "down", "from", "until"};
static const char *const trace_keys[] = {"rank", "file", "scale"};

/* Outages while they are collected. */
typedef struct outage_item {
    cs_outage outage;
    uint32_t  server;
    size_t    index; /* in "faults", or NO_FAULT */
} outage_item;

typedef struct outage_list {
    outage_item *items;
    size_t       n, room;
} outage_list;

static void append(cs_reading *r, outage_list *list, const cs_outage *outage, uint32_t server,
                   size_t index)
{
    if (list->n == list->room) {
        size_t       room  = list->room > 0 ? 2 * list->room : 64;
        outage_item *items = CS_ARENA_NEW(r->arena, outage_item, room);
        if (items == NULL) {
            (void)CS_FAIL(&r->error, CS_ENOMEM, "faults", "out of memory for faults");
            return;
        }
        if (list->n > 0) {
            memcpy(items, list->items, list->n * sizeof *items);
        }
        list->items = items;
        list->room  = room;
    }
    list->items[list->n++] = (outage_item){*outage, server, index};
}

/* "slowdown": a number, or null: no bandwidth is left. */
static void read_slowdown(cs_reading *r, const cs_field *item, cs_outage *outage)
{
    cs_field slowdown = cs_field_get(item, "slowdown"), down = cs_field_get(item, "down");
    bool     is_null = slowdown.node != NULL && json_is_null(slowdown.node);

    outage->slow_ratio = (double)INFINITY;
    cs_read_bool(r, item, "down", &outage->is_down);
    if (cs_reading_failed(r)) {
        return;
    }
    if (slowdown.node == NULL && !outage->is_down) {
        CS_REFUSE(r, item, CS_EINVAL, "the key 'slowdown' (or \"down\": true) is missing");
    } else if (is_null && down.node != NULL && !outage->is_down) {
        CS_REFUSE(r, &down, CS_EINVAL, "is false, but a slowdown of null means a dead NIC");
    } else if (slowdown.node != NULL && !is_null) {
        cs_read_number(r, item, "slowdown", 1, MAX_SLOWDOWN, &outage->slow_ratio);
    }
    outage->is_down = outage->is_down || isinf(outage->slow_ratio);
}

static void read_span(cs_reading *r, const cs_field *item, cs_outage *outage)
{
    cs_field from = cs_field_get(item, "from"), until = cs_field_get(item, "until");

    outage->until_s = (double)INFINITY;
    cs_read_time(r, item, "from", &outage->from_s);
    if (until.node != NULL && !json_is_null(until.node)) {
        cs_read_time(r, item, "until", &outage->until_s);
    }
    if (cs_reading_failed(r)) {
        return;
    }
    if (!(outage->from_s >= 0 && outage->from_s <= MAX_TIME_S)) {
        CS_REFUSE(r, &from, CS_EINVAL, "%.15g s is outside [0 s, %.15g s]", outage->from_s,
                  MAX_TIME_S);
    } else if (!(outage->until_s > outage->from_s)) {
        CS_REFUSE(r, &until, CS_EINVAL,
                  "%.15g s is not after the begin at %.15g s: accepted are later times and null",
                  outage->until_s, outage->from_s);
    }
}

static void read_faults(cs_reading *r, const cs_field *root, const cs_cluster *cluster,
                        outage_list *list)
{
    cs_field faults = cs_field_get(root, "faults");
    size_t   count  = cs_read_array(r, &faults);

    for (size_t i = 0; i < count && !cs_reading_failed(r); i++) {
        cs_field  item   = cs_field_item(&faults, i);
        cs_outage outage = {0};
        if (!cs_read_object(r, &item, fault_keys, COUNT(fault_keys))) {
            return;
        }
        cs_read_required(r, &item, "rank");
        cs_read_u32(r, &item, "rank", 0, cluster->n_ranks - 1, &outage.rank);
        read_slowdown(r, &item, &outage);
        read_span(r, &item, &outage);
        bool matters = outage.is_down || outage.slow_ratio > 1;
        if (!cs_reading_failed(r) && matters) {
            append(r, list, &outage, outage.rank / cluster->gpus_per_server, i);
        }
    }
}

/* Relative to the folder of the configuration's file. */
static const char *path_beside(cs_reading *r, const char *input, const char *path)
{
    const char *slash  = input != NULL ? strrchr(input, '/') : NULL;
    size_t      folder = slash != NULL && path[0] != '/' ? (size_t)(slash - input) + 1 : 0;
    char       *joined = CS_ARENA_NEW(r->arena, char, folder + strlen(path) + 1);

    if (joined == NULL) {
        (void)CS_FAIL(&r->error, CS_ENOMEM, "bandwidth_trace", "out of memory for a path");
        return NULL;
    }
    if (folder > 0) {
        memcpy(joined, input, folder);
    }
    memcpy(joined + folder, path, strlen(path) + 1);
    return joined;
}

/* One outage per line whose rate is below the NIC's. */
static void add_trace(cs_reading *r, const cs_bandwidth_trace *trace, uint32_t rank, double scale,
                      const cs_cluster *cluster, outage_list *list)
{
    double nominal_Bps = cluster->fabrics[CS_NIC].bandwidth_Bps;

    for (size_t i = 0; i < trace->n && !cs_reading_failed(r); i++) {
        double    rate_Bps = trace->rate_Bps[i] * scale;
        double    ratio    = nominal_Bps / rate_Bps;
        bool      is_dead  = !(ratio <= MAX_SLOWDOWN);
        cs_outage outage   = {.rank       = rank,
                              .is_down    = is_dead,
                              .slow_ratio = is_dead ? (double)INFINITY : ratio,
                              .from_s     = trace->time_s[i],
                              .until_s = i + 1 < trace->n ? trace->time_s[i + 1] : (double)INFINITY};
        if (ratio > 1) {
            append(r, list, &outage, rank / cluster->gpus_per_server, NO_FAULT);
        }
    }
}

static void read_trace(cs_reading *r, const cs_field *root, const char *input,
                       const cs_cluster *cluster, outage_list *list)
{
    cs_field           field = cs_field_get(root, "bandwidth_trace");
    uint32_t           rank  = 0;
    double             scale = 1;
    const char        *name  = NULL;
    cs_bandwidth_trace trace = {0};

    if (!cs_read_object(r, &field, trace_keys, COUNT(trace_keys))) {
        return;
    }
    cs_read_required(r, &field, "rank");
    cs_read_required(r, &field, "file");
    cs_read_u32(r, &field, "rank", 0, cluster->n_ranks - 1, &rank);
    cs_read_text(r, &field, "file", &name);
    cs_read_number(r, &field, "scale", 1 / MAX_SCALE, MAX_SCALE, &scale);
    const char *path = cs_reading_failed(r) ? NULL : path_beside(r, input, name);
    if (path == NULL) {
        return;
    }
    if (cs_bandwidth_load(path, &trace, &r->error) == CS_OK) {
        add_trace(r, &trace, rank, scale, cluster, list);
        cs_bandwidth_free(&trace);
    }
}

static int compare(const void *left, const void *right)
{
    const outage_item *a = left, *b = right;

    if (a->server != b->server) {
        return a->server < b->server ? -1 : 1;
    }
    if (a->outage.from_s != b->outage.from_s) {
        return a->outage.from_s < b->outage.from_s ? -1 : 1;
    }
    return a->index < b->index ? -1 : a->index > b->index;
}

/* Refuse the later one of the first two that overlap, at its place in the configuration. */
static void check_overlap(cs_reading *r, const cs_field *root, const outage_list *list)
{
    for (size_t i = 1; i < list->n && !cs_reading_failed(r); i++) {
        const outage_item *a = &list->items[i - 1], *b = &list->items[i];
        if (a->server != b->server || a->outage.until_s <= b->outage.from_s) {
            continue;
        }
        cs_field faults = cs_field_get(root, "faults");
        size_t   index  = b->index != NO_FAULT ? b->index : a->index;
        cs_field item   = cs_field_item(&faults, index);
        CS_REFUSE(r, &item, CS_EINVAL,
                  "overlaps another fault of server %u: one holds in [%.15g s, %.15g s), the other "
                  "from %.15g s on",
                  a->server, a->outage.from_s, a->outage.until_s, b->outage.from_s);
    }
}

void cs_read_outages(cs_reading *r, const cs_field *root, const char *input, cs_whatif_job *job)
{
    outage_list list = {0};

    if (cs_reading_failed(r)) {
        return;
    }
    read_faults(r, root, &job->cluster, &list);
    read_trace(r, root, input, &job->cluster, &list);
    if (cs_reading_failed(r) || list.n == 0) {
        return;
    }
    qsort(list.items, list.n, sizeof *list.items, compare);
    check_overlap(r, root, &list);
    cs_outage *outages = CS_ARENA_NEW(r->arena, cs_outage, list.n);
    if (outages == NULL) {
        (void)CS_FAIL(&r->error, CS_ENOMEM, "faults", "out of memory for faults");
        return;
    }
    for (size_t i = 0; i < list.n; i++) {
        outages[i] = list.items[i].outage;
    }
    job->outages   = outages;
    job->n_outages = list.n;
}
