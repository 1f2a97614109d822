/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/lib/arrivals.h"

#include "base/alloc.h"

#include <math.h>
#include <stdlib.h>

static int by_time(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

cs_status cs_late_arrivals_open(cs_late_arrivals *late, const cs_ports *ports, cs_error *err)
{
    *late = (cs_late_arrivals){.time_s = CS_NEW(double, ports->n_ranks)};
    if (late->time_s == NULL) {
        return CS_NO_MEMORY(err, "the arrivals");
    }
    for (uint32_t r = 0; r < ports->n_ranks; r++) {
        if (ports->arrival_s[r] > ports->first_s) {
            late->time_s[late->n++] = ports->arrival_s[r];
        }
    }
    qsort(late->time_s, late->n, sizeof *late->time_s, by_time);
    return CS_OK;
}

void cs_late_arrivals_free(cs_late_arrivals *late)
{
    cs_free(late->time_s);
    *late = (cs_late_arrivals){0};
}

double cs_late_arrivals_next_s(cs_late_arrivals *late, double now_s)
{
    while (late->next < late->n && late->time_s[late->next] <= now_s) {
        late->next++;
    }
    return late->next < late->n ? late->time_s[late->next] : (double)INFINITY;
}
