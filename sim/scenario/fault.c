/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Faults in order: a merge sort by server and time, and what the sorted list says about one
 * server.
 */
#include "cs/fault.h"

#include "base/alloc.h"

#include <math.h>
#include <string.h>

/* Servers of a cluster that has not been checked yet, too. */
static uint32_t server_of(const cs_fault *fault, const cs_cluster *cluster)
{
    return fault->rank / (cluster->gpus_per_server > 0 ? cluster->gpus_per_server : 1);
}

static int compare_numbers(double a, double b)
{
    return (a > b) - (a < b);
}

static bool is_before(const cs_fault *a, const cs_fault *b, const cs_cluster *cluster)
{
    uint32_t server = server_of(a, cluster), other = server_of(b, cluster);

    if (server != other) {
        return server < other;
    }
    int order = compare_numbers(a->from_s, b->from_s);
    order     = order != 0 ? order : compare_numbers(a->until_s, b->until_s);
    if (order == 0 && a->rank != b->rank) {
        return a->rank < b->rank;
    }
    order = order != 0 ? order : compare_numbers(a->slow_ratio, b->slow_ratio);
    return order < 0;
}

/* Merge the sorted [0, middle) and [middle, n) of `from` into `to`. */
static void merge(const cs_fault *from, size_t middle, size_t n, cs_fault *to,
                  const cs_cluster *cluster)
{
    size_t left = 0, right = middle;

    for (size_t i = 0; i < n; i++) {
        bool takes_right =
            left == middle || (right < n && is_before(&from[right], &from[left], cluster));
        to[i] = takes_right ? from[right++] : from[left++];
    }
}

cs_status cs_faults_sort(cs_fault *faults, size_t n, const cs_cluster *cluster)
{
    cs_fault *merged = CS_NEW(cs_fault, n);

    if (merged == NULL) {
        return CS_ENOMEM;
    }
    for (size_t width = 1; width < n; width *= 2) {
        for (size_t first = 0; first < n; first += 2 * width) {
            size_t count  = n - first < 2 * width ? n - first : 2 * width;
            size_t middle = count < width ? count : width;
            merge(faults + first, middle, count, merged + first, cluster);
        }
        memcpy(faults, merged, n * sizeof *faults);
    }
    cs_free(merged);
    return CS_OK;
}

bool cs_faults_constant(const cs_scenario *scenario)
{
    for (size_t i = 0; i < scenario->n_faults; i++) {
        const cs_fault *fault = &scenario->faults[i];
        if (fault->from_s > 0 || isfinite(fault->until_s)) {
            return false;
        }
    }
    return true;
}

/* The first fault of `server` or of one behind it. */
static size_t first_fault(const cs_scenario *scenario, uint32_t server)
{
    size_t low = 0, high = scenario->n_faults;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (server_of(&scenario->faults[middle], &scenario->cluster) < server) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

double cs_slow_ratio_always(const cs_scenario *scenario, uint32_t server)
{
    double covered_s = 0, least = HUGE_VAL;

    for (size_t i = first_fault(scenario, server); i < scenario->n_faults; i++) {
        const cs_fault *fault = &scenario->faults[i];
        if (server_of(fault, &scenario->cluster) != server || fault->from_s > covered_s) {
            break;
        }
        covered_s = fault->until_s;
        least     = fmin(least, fault->slow_ratio);
    }
    return isinf(covered_s) ? least : 1.0;
}
