/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cs/arrivals.h"
#include "base/alloc.h"

#include <math.h>
#include <stdbool.h>

void cs_arrival_trace_free(cs_arrival_trace *trace)
{
    cs_free(trace->arrival_s);
    cs_free(trace->inside_s);
    cs_free(trace->queued_s);
    cs_free(trace->number);
    cs_free(trace->server);
    for (uint32_t i = 0; i < trace->n_servers && trace->server_names != NULL; i++) {
        cs_free(trace->server_names[i]);
    }
    cs_free(trace->server_names);
    cs_free(trace->bytes);
    *trace = (cs_arrival_trace){0};
}

uint32_t cs_last_of_arrivals(const double *arrival_s, uint32_t n_ranks)
{
    uint32_t last = 0;

    for (uint32_t r = 1; r < n_ranks; r++) {
        last = arrival_s[r] >= arrival_s[last] ? r : last;
    }
    return last;
}

/* Does rank a come before rank b? */
static bool comes_before(const double *arrival_s, uint32_t a, uint32_t b)
{
    return arrival_s[a] != arrival_s[b] ? arrival_s[a] < arrival_s[b] : a < b;
}

/* Let the entry `at` of a heap of `n` down to its place. The last to come is on top. */
static void sift_down(const double *arrival_s, uint32_t *heap, uint32_t n, uint32_t at)
{
    uint32_t rank = heap[at];

    for (uint32_t child = 2 * at + 1; child < n; child = 2 * at + 1) {
        if (child + 1 < n && comes_before(arrival_s, heap[child], heap[child + 1])) {
            child++;
        }
        if (!comes_before(arrival_s, rank, heap[child])) {
            break;
        }
        heap[at] = heap[child];
        at       = child;
    }
    heap[at] = rank;
}

/* A heap sort: it needs no memory. */
void cs_ranks_by_arrival(const double *arrival_s, uint32_t n_ranks, uint32_t *ranks)
{
    bool in_order = true;

    for (uint32_t r = 0; r < n_ranks; r++) {
        ranks[r] = r;
        in_order = in_order && (r == 0 || arrival_s == NULL || arrival_s[r - 1] <= arrival_s[r]);
    }
    if (in_order) {
        return;
    }
    for (uint32_t i = n_ranks / 2; i-- > 0;) {
        sift_down(arrival_s, ranks, n_ranks, i);
    }
    for (uint32_t end = n_ranks - 1; end > 0; end--) {
        uint32_t last = ranks[0];
        ranks[0]      = ranks[end];
        ranks[end]    = last;
        sift_down(arrival_s, ranks, end, 0);
    }
}

double cs_behind_others_s(const double *arrival_s, uint32_t n_ranks, uint32_t rank)
{
    double others_s = 0;

    for (uint32_t r = 0; r < n_ranks; r++) {
        others_s = r == rank ? others_s : fmax(others_s, arrival_s[r]);
    }
    return arrival_s[rank] - others_s;
}
