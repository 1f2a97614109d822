/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ports are numbered as the replay numbers them: one per rank and direction in a switched
 * fabric, one per ordered pair of a server in a direct one. A port's busy time is the union of its
 * messages, which come in the order of their starts. Those of switches are those of their GPUs.
 */
#include "output/port_stats.h"

#include "base/alloc.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

static size_t ports_of_rank(const cs_cluster *cluster, uint32_t fabric)
{
    return cluster->fabrics[fabric].kind == CS_DIRECT ? cluster->gpus_per_server : 1;
}

cs_status cs_port_stats_init(cs_port_stats *stats, const cs_cluster *cluster, cs_error *err)
{
    *stats = (cs_port_stats){.cluster = cluster};
    for (uint32_t f = 0; f < CS_FABRICS; f++) {
        bool is_there = f < cs_n_fabrics(cluster);
        stats->base[f + 1] =
            stats->base[f] + (is_there ? cluster->n_ranks * ports_of_rank(cluster, f) : 0);
    }
    for (int side = 0; side < 2; side++) {
        stats->ports[side] = CS_NEW(cs_port_stat, stats->base[CS_FABRICS]);
        if (stats->ports[side] == NULL) {
            cs_port_stats_free(stats);
            return CS_NO_MEMORY(err, "the ports' statistics");
        }
    }
    return CS_OK;
}

cs_port_stat *cs_port_stats_at(const cs_port_stats *stats, bool sends, uint32_t fabric,
                               uint32_t here, uint32_t there)
{
    size_t each = ports_of_rank(stats->cluster, fabric);
    return &stats->ports[sends ? 0 : 1][stats->base[fabric] + here * each +
                                        (each > 1 ? cs_local_rank(stats->cluster, there) : 0)];
}

/* Parts that join a message have their bytes and their time, but are none of their own. */
static void count_message(cs_port_stat *port, const cs_transfer *t, const cs_interval *interval)
{
    if (port->n_messages == 0) {
        port->first_s = interval->start_s;
    }
    port->n_messages += (t->flags & CS_JOIN) == 0;
    port->bytes += t->bytes;
    port->busy_s += fmax(0, interval->end_s - fmax(interval->start_s, port->until_s));
    port->until_s = fmax(port->until_s, interval->end_s);
}

static void count_way(cs_port_stats *stats, const cs_transfer *t, uint32_t src, uint32_t dst,
                      const cs_interval *interval)
{
    uint32_t fabric = cs_transfer_fabric(t);

    if (!cs_is_switch(stats->cluster, src)) {
        count_message(cs_port_stats_at(stats, true, fabric, src, dst), t, interval);
    }
    if (!cs_is_switch(stats->cluster, dst)) {
        count_message(cs_port_stats_at(stats, false, fabric, dst, src), t, interval);
    }
}

static cs_status count_block(void *user, const cs_block *block, const cs_interval *intervals,
                             cs_error *err)
{
    (void)err;
    for (size_t i = 0; i < block->count; i++) {
        const cs_transfer *t = &block->transfers[i];

        count_way(user, t, t->src, t->dst, &intervals[i]);
        if (cs_transfer_op(t) == CS_OP_EXCHANGE) {
            count_way(user, t, t->dst, t->src, &intervals[i]);
        }
    }
    return CS_OK;
}

cs_observer cs_port_stats_observer(cs_port_stats *stats)
{
    return (cs_observer){.block = count_block, .user = stats};
}

/* A used port, for sorting: `number` counts over both directions. */
typedef struct entry {
    const cs_port_stat *port;
    size_t              number;
} entry;

static int compare_entries(const void *left, const void *right)
{
    const entry *a = left, *b = right;
    if (a->port->busy_s != b->port->busy_s) {
        return a->port->busy_s > b->port->busy_s ? -1 : 1;
    }
    return a->number < b->number ? -1 : a->number > b->number;
}

static size_t used_ports(const cs_port_stats *stats, entry *entries)
{
    size_t n_ports = stats->base[CS_FABRICS], n_used = 0;

    for (size_t i = 0; i < 2 * n_ports; i++) {
        const cs_port_stat *port = &stats->ports[i / n_ports][i % n_ports];
        if (port->n_messages > 0) {
            entries[n_used++] = (entry){port, i};
        }
    }
    qsort(entries, n_used, sizeof *entries, compare_entries);
    return n_used;
}

static void add_port(cs_text *text, const cs_port_stats *stats, const entry *e, double elapsed_s)
{
    size_t   n_ports = stats->base[CS_FABRICS], number = e->number % n_ports;
    bool     sends  = e->number < n_ports;
    uint32_t fabric = 0;
    while (number >= stats->base[fabric + 1]) {
        fabric++;
    }
    size_t each = ports_of_rank(stats->cluster, fabric);
    size_t rank = (number - stats->base[fabric]) / each;

    cs_text_add(text, "%6zu  %s  %-6s", rank, sends ? "tx" : "rx", cs_fabric_name(fabric));
    if (each > 1) {
        const cs_cluster *c     = stats->cluster;
        uint32_t          first = cs_server_first(c, cs_server_of(c, (uint32_t)rank));
        cs_text_add(text, "  %6zu", first + (number - stats->base[fabric]) % each);
    } else {
        cs_text_add(text, "  %6s", "-");
    }
    cs_text_add(text, "  %12.3f  %12.3f  %6.2f  %12" PRIu64 "  %16" PRIu64 "\n",
                e->port->busy_s * 1e6, fmax(0, elapsed_s - e->port->busy_s) * 1e6,
                elapsed_s > 0 ? 100 * e->port->busy_s / elapsed_s : 0, e->port->n_messages,
                e->port->bytes);
}

static void add_all(cs_text *text, const entry *entries, size_t n_used, double elapsed_s)
{
    double   busy_s = 0;
    uint64_t bytes  = 0;

    for (size_t i = 0; i < n_used; i++) {
        busy_s += entries[i].port->busy_s;
        bytes += entries[i].port->bytes;
    }
    cs_text_add(text,
                "%zu ports used (each direction counts), busy %.2f %% of the time on average, "
                "%" PRIu64 " bytes through them\n",
                n_used, n_used > 0 && elapsed_s > 0 ? 100 * busy_s / elapsed_s / (double)n_used : 0,
                bytes);
}

void cs_port_stats_text(cs_text *text, const cs_port_stats *stats, double elapsed_s,
                        size_t max_ports)
{
    entry *entries = CS_NEW(entry, 2 * stats->base[CS_FABRICS]);

    if (entries == NULL) {
        text->failed = true;
        return;
    }
    size_t n_used = used_ports(stats, entries);
    cs_text_add(text, "%6s  %s  %-6s  %6s  %12s  %12s  %6s  %12s  %16s\n", "rank", "tx", "fabric",
                "peer", "busy(us)", "idle(us)", "busy%", "messages", "bytes");
    for (size_t i = 0; i < n_used && i < max_ports; i++) {
        add_port(text, stats, &entries[i], elapsed_s);
    }
    if (n_used > max_ports) {
        cs_text_add(text, "... and %zu ports that were less busy\n", n_used - max_ports);
    }
    add_all(text, entries, n_used, elapsed_s);
    cs_free(entries);
}

void cs_port_stats_free(cs_port_stats *stats)
{
    cs_free(stats->ports[0]);
    cs_free(stats->ports[1]);
    *stats = (cs_port_stats){0};
}
