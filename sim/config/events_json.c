/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The keys "arrivals" and "faults": which rank is late, which NIC is slow and when. */
#include "base/fault.h"
#include "config/scenario_json.h"

#include <math.h>

#define COUNT(list)  (sizeof(list) / sizeof(list)[0])
#define MAX_SLOWDOWN 1e9
#define NOT_LATE     (-1.0) /* no delay was given */

static const char *const arrivals_keys[] = {"late"};
static const char *const late_keys[]     = {"rank", "delay"};
static const char *const fault_keys[]    = {"rank", "slowdown", "from", "until"};

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

/* Ranks without a delay arrive at 0; when all are late, times count from the first of them.
 * Returns false when all arrive together. */
static bool settle_arrivals(double *delay_s, uint32_t n_ranks)
{
    double first_s = (double)INFINITY, last_s = 0;

    for (uint32_t i = 0; i < n_ranks; i++) {
        delay_s[i] = delay_s[i] == NOT_LATE ? 0 : delay_s[i];
        first_s    = fmin(first_s, delay_s[i]);
        last_s     = fmax(last_s, delay_s[i]);
    }
    for (uint32_t i = 0; i < n_ranks; i++) {
        delay_s[i] -= first_s;
    }
    return last_s > first_s;
}

void cs_read_arrivals(cs_reading *r, const cs_field *root, cs_scenario *scenario)
{
    cs_field arrivals = cs_field_get(root, "arrivals");
    uint32_t n        = scenario->cluster.n_ranks;

    if (!cs_read_object(r, &arrivals, arrivals_keys, COUNT(arrivals_keys))) {
        return;
    }
    cs_field late  = cs_field_get(&arrivals, "late");
    size_t   count = cs_read_array(r, &late);
    if (count == 0) {
        return;
    }
    double *delay_s = CS_ARENA_NEW(r->arena, double, n);
    if (delay_s == NULL) {
        CS_REFUSE(r, &late, CS_ENOMEM, "out of memory for arrivals");
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        delay_s[i] = NOT_LATE;
    }
    for (size_t i = 0; i < count && !cs_reading_failed(r); i++) {
        cs_field item = cs_field_item(&late, i);
        read_late(r, &item, delay_s, n);
    }
    if (!cs_reading_failed(r) && settle_arrivals(delay_s, n)) {
        scenario->arrival_s = delay_s;
    }
}

static void read_fault(cs_reading *r, const cs_field *item, cs_fault *fault, uint32_t n_ranks)
{
    cs_field until = cs_field_get(item, "until");
    cs_field from  = cs_field_get(item, "from");

    *fault = (cs_fault){.slow_ratio = 1, .until_s = (double)INFINITY};
    if (!cs_read_object(r, item, fault_keys, COUNT(fault_keys))) {
        return;
    }
    cs_read_required(r, item, "rank");
    cs_read_required(r, item, "slowdown");
    cs_read_u32(r, item, "rank", 0, n_ranks - 1, &fault->rank);
    cs_read_number(r, item, "slowdown", 1, MAX_SLOWDOWN, &fault->slow_ratio);
    cs_read_time(r, item, "from", &fault->from_s);
    if (until.node != NULL && !json_is_null(until.node)) {
        cs_read_time(r, item, "until", &fault->until_s);
    }
    if (cs_reading_failed(r)) {
        return;
    }
    if (!(fault->from_s >= 0)) {
        CS_REFUSE(r, &from, CS_EINVAL, "%.15g s is negative: accepted are times from 0 on",
                  fault->from_s);
    } else if (!(fault->until_s > fault->from_s)) {
        CS_REFUSE(r, &until, CS_EINVAL,
                  "%.15g s is not after the begin at %.15g s: accepted are later times and null",
                  fault->until_s, fault->from_s);
    }
}

void cs_read_faults(cs_reading *r, const cs_field *root, cs_scenario *scenario)
{
    cs_field list  = cs_field_get(root, "faults");
    size_t   count = cs_read_array(r, &list);

    if (count == 0) {
        return;
    }
    cs_fault *faults = CS_ARENA_NEW(r->arena, cs_fault, count);
    if (faults == NULL) {
        CS_REFUSE(r, &list, CS_ENOMEM, "out of memory for faults");
        return;
    }
    for (size_t i = 0; i < count && !cs_reading_failed(r); i++) {
        cs_field item = cs_field_item(&list, i);
        read_fault(r, &item, &faults[i], scenario->cluster.n_ranks);
    }
    if (!cs_reading_failed(r) && cs_faults_sort(faults, count, &scenario->cluster) != CS_OK) {
        CS_REFUSE(r, &list, CS_ENOMEM, "out of memory for faults");
        return;
    }
    scenario->faults   = faults;
    scenario->n_faults = count;
}
