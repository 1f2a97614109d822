/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The key "faults": which NIC is slow and when. */
#include "base/fault.h"
#include "config/scenario_json.h"

#include <math.h>

#define COUNT(list)  (sizeof(list) / sizeof(list)[0])
#define MAX_SLOWDOWN 1e9

static const char *const fault_keys[] = {"rank", "slowdown", "from", "until"};

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
