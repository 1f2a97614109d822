/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who shares the links of a topology: one look at the route of every pair. */
#include "base/alloc.h"
#include "results/topology_view.h"

#include <stdlib.h>
#include <string.h>

#define MOST_RANKS 2048u

static int compare(const void *left, const void *right)
{
    const cs_link_use *a = left, *b = right;

    if (a->ratio != b->ratio) {
        return a->ratio > b->ratio ? -1 : 1;
    }
    return a->link < b->link ? -1 : a->link > b->link;
}

/* Count the links on the routes from or to one rank; `last` remembers who was counted last. */
static void count(const cs_cluster *c, uint32_t rank, bool sending, cs_link_use *uses,
                  uint32_t *last)
{
    const cs_topology *t = c->topology;
    uint32_t           links[CS_MAX_ROUTE];

    for (uint32_t other = 0; other < c->n_ranks; other++) {
        uint32_t src = sending ? rank : other, dst = sending ? other : rank;
        uint32_t fabric = cs_fabric_of(c, src, dst);
        uint32_t n      = src == dst ? 0 : t->kind->route(t, c, src, dst, fabric, links);
        for (uint32_t i = 0; i < n; i++) {
            cs_link_use *use    = &uses[links[i]];
            bool         is_new = last[links[i]] != rank + 1;
            last[links[i]]      = rank + 1;
            use->fabric         = fabric;
            use->pairs += sending;
            use->senders += sending && is_new;
            use->receivers += !sending && is_new;
        }
    }
}

cs_status cs_topology_uses(const cs_cluster *cluster, cs_link_use **uses_p, size_t *n_uses_p,
                           cs_error *err)
{
    uint32_t     n    = cluster->topology != NULL ? cluster->topology->n_links : 0;
    cs_link_use *uses = CS_NEW(cs_link_use, n + 1u);
    uint32_t    *last = CS_NEW(uint32_t, n + 1u);
    size_t       used = 0;

    if (uses == NULL || last == NULL) {
        cs_free(uses);
        cs_free(last);
        return CS_FAIL(err, CS_ENOMEM, "", "out of memory for %u links", n);
    }
    for (int sending = 0; sending < 2 && n > 0 && cluster->n_ranks <= MOST_RANKS; sending++) {
        memset(last, 0, n * sizeof *last);
        for (uint32_t rank = 0; rank < cluster->n_ranks; rank++) {
            count(cluster, rank, sending != 0, uses, last);
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        if (uses[i].pairs > 0) {
            cs_link_use *use = &uses[used++];
            *use             = uses[i];
            uint32_t most    = use->senders < use->receivers ? use->senders : use->receivers;
            use->link        = i;
            use->ratio       = most * cluster->fabrics[use->fabric].bandwidth_Bps /
                         cluster->topology->links[i].bandwidth_Bps;
        }
    }
    qsort(uses, used, sizeof *uses, compare);
    cs_free(last);
    *uses_p   = uses;
    *n_uses_p = used;
    return CS_OK;
}
