/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Max-min fairness by progressive filling: all rates of a component rise together until a link is
 * full or a flow is at its bound; those flows are done, the others go on with what is left.
 *
 * A heap holds what every link can give to each flow that is still open. These shares only rise as
 * flows are fixed, so that a share in the heap that is out of date is too low and is corrected when
 * it gets to the top. Shares that differ by rounding only are one level and give one rate.
 *
 * O((flows * hops + links) log links). Source: D. Bertsekas, R. Gallager, Data Networks, 2nd ed.,
 * section 6.5.2.
 */
#include "models/flow/flow_net.h"

#include <math.h>
#include <stdlib.h>

#define SAME_LEVEL 1e-12

static double share_of(const cs_flow_link *link)
{
    return link->n_left > 0 ? fmax(link->left_Bps, 0) / link->n_left : (double)INFINITY;
}

static void sift_down(cs_flow_share *heap, uint32_t n, uint32_t at)
{
    cs_flow_share moved = heap[at];

    for (uint32_t child; (child = 2 * at + 1) < n; at = child) {
        child += child + 1 < n && heap[child + 1].share_Bps < heap[child].share_Bps;
        if (!(heap[child].share_Bps < moved.share_Bps)) {
            break;
        }
        heap[at] = heap[child];
    }
    heap[at] = moved;
}

static void open_links(cs_flow_net *net)
{
    uint32_t n = net->n_found_links;

    for (uint32_t i = 0; i < n; i++) {
        cs_flow_link *link = &net->links[net->found_link[i]];
        link->left_Bps     = cs_flow_capacity(net, link);
        link->n_left       = link->n_flows;
        net->shares[i]     = (cs_flow_share){share_of(link), net->found_link[i]};
    }
    for (uint32_t i = n / 2; i-- > 0;) {
        sift_down(net->shares, n, i);
    }
}

/* Bring the smallest share that is up to date to the top; `n_p` shrinks by links that are done. */
static double least_share(cs_flow_net *net, uint32_t *n_p)
{
    cs_flow_share *heap = net->shares;

    while (*n_p > 0) {
        double share = share_of(&net->links[heap[0].link]);
        if (share <= heap[0].share_Bps) {
            return share;
        }
        if (isinf(share)) {
            heap[0] = heap[--*n_p];
        } else {
            heap[0].share_Bps = share;
        }
        sift_down(heap, *n_p, 0);
    }
    return (double)INFINITY;
}

static void fix(cs_flow_net *net, uint32_t flow, double rate_Bps, double s_per_byte)
{
    cs_flow           *f   = &net->flows[flow];
    const cs_flow_hop *hop = &net->hops[(size_t)flow * net->stride];

    f->is_fixed        = true;
    f->next_s_per_byte = s_per_byte;
    for (uint32_t k = 0; k < f->n_hops; k++) {
        cs_flow_link *link = &net->links[hop[k].link];
        link->left_Bps -= rate_Bps;
        link->n_left--;
    }
}

static void fill_link(cs_flow_net *net, uint32_t index, double rate_Bps)
{
    for (uint32_t h = net->links[index].first; h != 0; h = net->hops[h - 1].behind) {
        uint32_t flow = (h - 1) / net->stride;
        if (!net->flows[flow].is_fixed) {
            fix(net, flow, rate_Bps, 1.0 / rate_Bps);
        }
    }
}

/* Flows with the fastest bound last: they are the last ones to reach it. Equal ones, the common
 * case, need no sorting. */
static void sort_by_bound(cs_flow_net *net)
{
    uint32_t *order = net->found, n = net->n_found;
    bool      is_sorted = true;

    for (uint32_t i = 1; i < n && is_sorted; i++) {
        is_sorted =
            net->flows[order[i - 1]].bound_s_per_byte >= net->flows[order[i]].bound_s_per_byte;
    }
    for (uint32_t gap = is_sorted ? 0 : n / 2; gap > 0; gap = gap == 2 ? 1 : gap * 5 / 11) {
        for (uint32_t i = gap; i < n; i++) {
            uint32_t moved = order[i], at = i;
            double   bound = net->flows[moved].bound_s_per_byte;
            for (; at >= gap && net->flows[order[at - gap]].bound_s_per_byte < bound; at -= gap) {
                order[at] = order[at - gap];
            }
            order[at] = moved;
        }
    }
}

void cs_flow_fill(cs_flow_net *net)
{
    uint32_t n_links = net->n_found_links, next = 0;
    double   level_Bps = 0;

    sort_by_bound(net);
    open_links(net);
    for (;;) {
        while (next < net->n_found && net->flows[net->found[next]].is_fixed) {
            next++;
        }
        if (next == net->n_found) {
            return;
        }
        double share_Bps = least_share(net, &n_links);
        double bound     = net->flows[net->found[next]].bound_s_per_byte;
        if (1.0 <= share_Bps * bound * (1 + SAME_LEVEL)) {
            fix(net, net->found[next], 1.0 / bound, bound);
        } else {
            level_Bps = share_Bps <= level_Bps * (1 + SAME_LEVEL) ? level_Bps : share_Bps;
            fill_link(net, net->shares[0].link, level_Bps);
        }
    }
}
