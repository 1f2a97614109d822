/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bytes of messages, counted into bins while the run goes on. */
#include "output/usage.h"

#include "base/alloc.h"
#include "cs/topology.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LINK_ROWS = 4096, ENOUGH_SERVERS = 8 };

static uint32_t rows_of(uint32_t count, uint32_t per_row)
{
    return count / per_row + (count % per_row != 0);
}

/* How many ranks share a row: as few as possible, whole servers where there are many. */
static uint32_t ranks_per_row(const cs_cluster *c)
{
    uint32_t panels = 2 * cs_n_fabrics(c), per_row = 1;
    bool     by_server = cs_n_servers(c) >= ENOUGH_SERVERS && c->uneven == NULL;

    while ((uint64_t)panels * rows_of(c->n_ranks, per_row) > CS_USAGE_MOST_PORT_ROWS) {
        per_row =
            per_row == 1 && by_server && c->gpus_per_server > 1 ? c->gpus_per_server : 2 * per_row;
    }
    return per_row;
}

/* Is there room for a row for every pair of ranks of a direct fabric? */
static bool has_room_for_pairs(const cs_cluster *c)
{
    uint64_t rows = 0;

    for (uint32_t f = 0; f < cs_n_fabrics(c); f++) {
        bool is_direct = c->fabrics[f].kind == CS_DIRECT;
        rows += 2 * (uint64_t)c->n_ranks * (is_direct ? c->gpus_per_server : 1);
    }
    return rows <= CS_USAGE_MOST_PORT_ROWS;
}

static void add_panel(cs_usage *usage, cs_usage_panel panel, uint32_t rows)
{
    panel.first_row                  = usage->n_rows;
    panel.n_rows                     = (size_t)rows * panel.each;
    usage->panels[usage->n_panels++] = panel;
    usage->n_rows += panel.n_rows;
}

/* ---- who shares a row ---- */

/* Ranks that have a row of their own: they are late, or slow, by so much. */
typedef struct own_rows {
    cs_usage_span spans[CS_USAGE_MOST_OWN];
    double        by[CS_USAGE_MOST_OWN];
    uint32_t      n;
} own_rows;

/* Keep it where it is among the largest; of equal ones the first comes first. */
static void offer(own_rows *own, cs_usage_span span, double by)
{
    uint32_t at = own->n;

    for (uint32_t i = 0; i < own->n; i++) {
        if (own->spans[i].first == span.first && own->spans[i].end == span.end) {
            own->by[i] = fmax(own->by[i], by);
            return;
        }
    }
    while (at > 0 && own->by[at - 1] < by) {
        at--;
    }
    if (at == CS_USAGE_MOST_OWN) {
        return;
    }
    own->n = own->n < CS_USAGE_MOST_OWN ? own->n + 1 : CS_USAGE_MOST_OWN;
    memmove(own->spans + at + 1, own->spans + at, (own->n - at - 1) * sizeof *own->spans);
    memmove(own->by + at + 1, own->by + at, (own->n - at - 1) * sizeof *own->by);
    own->spans[at] = span;
    own->by[at]    = by;
}

static void find_late(const cs_scenario *s, own_rows *own)
{
    for (uint32_t rank = 0; rank < s->cluster.n_ranks; rank++) {
        double arrival_s = cs_arrival(s, rank);
        if (arrival_s > 0) {
            offer(own, (cs_usage_span){rank, rank + 1}, arrival_s);
        }
    }
}

static void find_slow(const cs_scenario *s, own_rows *own)
{
    const cs_cluster *c = &s->cluster;

    for (size_t i = 0; i < s->n_capacity; i++) {
        const cs_capacity *step   = &s->capacity[i];
        uint32_t           server = cs_server_of(c, step->rank);
        uint32_t           first  = step->is_single ? step->rank : cs_server_first(c, server);
        if (step->slowdown > 1) {
            offer(own,
                  (cs_usage_span){first, first + (step->is_single ? 1 : cs_server_gpus(c, server))},
                  step->slowdown);
        }
    }
}

/* Does a group begin with the rank? */
static void mark_starts(const own_rows *own, uint32_t n_ranks, uint32_t *starts_here)
{
    for (uint32_t i = 0; i < own->n; i++) {
        starts_here[own->spans[i].first] = 1;
        if (own->spans[i].end < n_ranks) {
            starts_here[own->spans[i].end] = 1;
        }
    }
}

/* Groups of at most so many consecutive ranks. */
static cs_status group_ranks(cs_usage *usage, uint32_t per_row)
{
    const cs_scenario *s    = usage->scenario;
    uint32_t           n    = s->cluster.n_ranks;
    own_rows           late = {.n = 0}, slow = {.n = 0};

    usage->group_of = CS_ARENA_NEW(&usage->arena, uint32_t, n);
    usage->starts   = CS_ARENA_NEW(&usage->arena, uint32_t, (size_t)n + 1);
    if (usage->group_of == NULL || usage->starts == NULL) {
        return CS_ENOMEM;
    }
    find_late(s, &late);
    find_slow(s, &slow);
    mark_starts(&late, n, usage->group_of);
    mark_starts(&slow, n, usage->group_of);
    for (uint32_t rank = 0; rank < n; rank++) {
        if (rank % per_row == 0 || usage->group_of[rank] != 0) {
            usage->starts[usage->n_groups++] = rank;
        }
        usage->group_of[rank] = usage->n_groups - 1;
    }
    usage->starts[usage->n_groups] = n;
    return CS_OK;
}

cs_usage_span cs_usage_ranks(const cs_usage *usage, const cs_usage_panel *panel, size_t row)
{
    const uint32_t *start = &usage->starts[row / panel->each];

    return (cs_usage_span){start[0], start[1]};
}

cs_status cs_usage_init(cs_usage *usage, const cs_scenario *scenario, cs_error *err)
{
    const cs_cluster *c       = &scenario->cluster;
    uint32_t          n_links = c->topology != NULL ? c->topology->n_links : 0;
    uint32_t          per_row = ranks_per_row(c);
    bool              pairs   = has_room_for_pairs(c);

    *usage = (cs_usage){.scenario = scenario};
    if (group_ranks(usage, per_row) != CS_OK) {
        return CS_NO_MEMORY(err, "the use of ports over time");
    }
    for (uint32_t k = 0; k < 2 * cs_n_fabrics(c); k++) {
        bool     is_direct = c->fabrics[k / 2].kind == CS_DIRECT;
        uint32_t each      = pairs && is_direct ? c->gpus_per_server : 1;
        add_panel(usage,
                  (cs_usage_panel){
                      .sends = k % 2 == 0, .fabric = k / 2, .per_row = per_row, .each = each},
                  usage->n_groups);
    }
    if (n_links > 0) {
        uint32_t links = rows_of(n_links, MOST_LINK_ROWS);
        add_panel(usage, (cs_usage_panel){.is_links = true, .per_row = links, .each = 1},
                  rows_of(n_links, links));
    }
    usage->bytes = cs_arena_alloc(&usage->arena, usage->n_rows, sizeof *usage->bytes);
    return usage->bytes != NULL ? CS_OK : CS_NO_MEMORY(err, "the use of ports over time");
}

/* Make bins twice as wide: neighbours become one. */
static void widen_bins(cs_usage *usage)
{
    for (size_t r = 0; r < usage->n_rows; r++) {
        double *bytes = usage->bytes[r];
        for (size_t i = 0; i < CS_USAGE_BINS / 2; i++) {
            bytes[i] = bytes[2 * i] + bytes[2 * i + 1];
        }
        memset(bytes + CS_USAGE_BINS / 2, 0, CS_USAGE_BINS / 2 * sizeof *bytes);
    }
    usage->bin_s *= 2;
}

void cs_usage_extend(cs_usage *usage, double until_s)
{
    if (until_s > 0 && !(usage->until_s > 0)) { /* what was before took no time: it is in bin 0 */
        usage->bin_s = exp2(ceil(log2(until_s / CS_USAGE_BINS)));
    } else if (usage->bin_s <= 0) {
        usage->bin_s = 0x1p-40;
    }
    usage->until_s = fmax(usage->until_s, until_s);
    while (until_s > CS_USAGE_BINS * usage->bin_s) {
        widen_bins(usage);
    }
}

static size_t bin_at(const cs_usage *usage, double time_s)
{
    double bin = floor(time_s / usage->bin_s);
    return bin >= CS_USAGE_BINS ? CS_USAGE_BINS - 1 : bin > 0 ? (size_t)bin : 0;
}

/* Spread `bytes` evenly over the interval; the last bin gets what is left, so that the sum is
 * that of the bytes. */
static void spread(const cs_usage *usage, double *bins, cs_interval when, double bytes)
{
    size_t first = bin_at(usage, when.start_s), last = bin_at(usage, when.end_s);
    double rate = bytes / (when.end_s - when.start_s), left = bytes;

    for (size_t i = first; i < last; i++) {
        double from_s = fmax(when.start_s, (double)i * usage->bin_s);
        double here   = rate * ((double)(i + 1) * usage->bin_s - from_s);
        bins[i] += here;
        left -= here;
    }
    bins[last] += left;
}

static void count_port(cs_usage *usage, size_t panel, uint32_t here, uint32_t there,
                       cs_interval when, double bytes)
{
    const cs_usage_panel *p    = &usage->panels[panel];
    uint32_t              mate = p->each > 1 ? cs_local_rank(&usage->scenario->cluster, there) : 0;
    size_t                row  = (size_t)usage->group_of[here] * p->each + mate;

    spread(usage, usage->bytes[p->first_row + row], when, bytes);
}

static void count_links(cs_usage *usage, uint32_t src, uint32_t dst, uint32_t fabric,
                        cs_interval when, double bytes)
{
    const cs_usage_panel *p = &usage->panels[usage->n_panels - 1];
    const cs_topology    *t = usage->scenario->cluster.topology;
    uint32_t              links[CS_MAX_ROUTE], n;

    n = t->kind->route(t, &usage->scenario->cluster, src, dst, fabric, links);
    for (uint32_t k = 0; k < n; k++) {
        spread(usage, usage->bytes[p->first_row + links[k] / p->per_row], when, bytes);
    }
}

static void count_way(cs_usage *usage, const cs_transfer *t, uint32_t src, uint32_t dst,
                      cs_interval when)
{
    const cs_cluster *c      = &usage->scenario->cluster;
    uint32_t          fabric = cs_transfer_fabric(t);

    if (!cs_is_switch(c, src)) {
        count_port(usage, 2 * (size_t)fabric, src, dst, when, (double)t->bytes);
    }
    if (!cs_is_switch(c, dst)) {
        count_port(usage, 2 * (size_t)fabric + 1, dst, src, when, (double)t->bytes);
    }
    if (usage->panels[usage->n_panels - 1].is_links) {
        count_links(usage, src, dst, fabric, when, (double)t->bytes);
    }
}

static cs_status count_block(void *user, const cs_block *block, const cs_interval *intervals,
                             cs_error *err)
{
    cs_usage *usage = user;

    (void)err;
    for (size_t i = 0; i < block->count; i++) {
        const cs_transfer *t = &block->transfers[i];
        cs_usage_extend(usage, intervals[i].end_s);
        if (t->bytes == 0) {
            continue;
        }
        count_way(usage, t, t->src, t->dst, intervals[i]);
        if (cs_transfer_op(t) == CS_OP_EXCHANGE) {
            count_way(usage, t, t->dst, t->src, intervals[i]);
        }
    }
    return CS_OK;
}

cs_observer cs_usage_observer(cs_usage *usage)
{
    return (cs_observer){.block = count_block, .user = usage};
}

size_t cs_usage_n_bins(const cs_usage *usage)
{
    return usage->bin_s > 0 && usage->until_s > 0
               ? (size_t)fmin(ceil(usage->until_s / usage->bin_s), CS_USAGE_BINS)
               : 0;
}

/* The links of a row of links. */
static cs_usage_span links_of(const cs_usage *usage, const cs_usage_panel *panel, size_t row)
{
    uint32_t total = usage->scenario->cluster.topology->n_links;
    uint32_t first = (uint32_t)row * panel->per_row;

    return (cs_usage_span){first, total - first < panel->per_row ? total : first + panel->per_row};
}

size_t cs_usage_ports(const cs_usage *usage, const cs_usage_panel *panel, size_t row)
{
    const cs_cluster *c = &usage->scenario->cluster;
    cs_usage_span     span =
        panel->is_links ? links_of(usage, panel, row) : cs_usage_ranks(usage, panel, row);
    size_t links = 0;

    if (panel->is_links) {
        return span.end - span.first;
    }
    if (panel->each > 1) {
        uint32_t mate   = (uint32_t)(row % panel->each);
        uint32_t server = cs_server_of(c, span.first), peer = cs_server_first(c, server) + mate;
        return mate < cs_server_gpus(c, server) && peer != span.first &&
               cs_fabric_of(c, span.first, peer) == panel->fabric;
    }
    if (c->uneven == NULL) {
        return (size_t)(span.end - span.first) * cs_links_of(c, panel->fabric);
    }
    for (uint32_t rank = span.first; rank < span.end; rank++) {
        uint32_t gpus = cs_server_gpus(c, cs_server_of(c, rank));
        links += cs_links_among(c, panel->fabric, gpus);
    }
    return links;
}

/* What a row's ranks have together, of all links of a GPU as many as it drives at once. */
static double ranks_Bps(const cs_cluster *c, const cs_usage_panel *panel, cs_usage_span span)
{
    double sum = 0;

    if (c->servers == NULL && c->uneven == NULL) {
        uint32_t ports = (span.end - span.first) * cs_links_at_once(c, panel->fabric);
        return ports * c->fabrics[panel->fabric].bandwidth_Bps;
    }
    for (uint32_t rank = span.first; rank < span.end; rank++) {
        uint32_t server = cs_server_of(c, rank), gpus = cs_server_gpus(c, server);
        sum += cs_links_at_once_among(c, panel->fabric, gpus) *
               cs_server_Bps(c, server, panel->fabric);
    }
    return sum;
}

double cs_usage_capacity_Bps(const cs_usage *usage, const cs_usage_panel *panel, size_t row)
{
    const cs_cluster *c     = &usage->scenario->cluster;
    size_t            ports = cs_usage_ports(usage, panel, row);
    double            sum   = 0;

    if (!panel->is_links && panel->each == 1) {
        return ranks_Bps(c, panel, cs_usage_ranks(usage, panel, row));
    }
    if (!panel->is_links) {
        uint32_t server = cs_server_of(c, (uint32_t)(row / panel->each));
        return (double)ports * cs_server_Bps(c, server, panel->fabric);
    }
    for (size_t i = 0; i < ports; i++) {
        sum += c->topology->links[row * panel->per_row + i].bandwidth_Bps;
    }
    return sum;
}

double cs_usage_bytes(const cs_usage *usage, const cs_usage_panel *panel, size_t row)
{
    const double *bins = usage->bytes[panel->first_row + row];
    double        sum  = 0;

    for (size_t i = 0; i < CS_USAGE_BINS; i++) {
        sum += bins[i];
    }
    return sum;
}

double cs_usage_share(const cs_usage *usage, const cs_usage_panel *panel, size_t row, size_t bin)
{
    double capacity_Bps = cs_usage_capacity_Bps(usage, panel, row);
    double width_s      = fmin(usage->bin_s, usage->until_s - (double)bin * usage->bin_s);

    if (capacity_Bps <= 0 || width_s <= 0) {
        return 0;
    }
    return usage->bytes[panel->first_row + row][bin] / (capacity_Bps * width_s);
}

typedef struct weight {
    double share; /* of its capacity, over the run */
    size_t row;
} weight;

static int heavier(const void *left, const void *right)
{
    const weight *a = left, *b = right;
    if (a->share != b->share) {
        return a->share > b->share ? -1 : 1;
    }
    return (a->row > b->row) - (a->row < b->row);
}

static int by_row(const void *left, const void *right)
{
    const weight *a = left, *b = right;
    return (a->row > b->row) - (a->row < b->row);
}

/* The busiest links in their own order. */
static cs_status busiest_links(const cs_usage *usage, const cs_usage_panel *panel, size_t most,
                               size_t *rows, size_t *n_p)
{
    weight *weights = CS_NEW(weight, panel->n_rows);
    size_t  n       = 0;

    if (weights == NULL) {
        return CS_ENOMEM;
    }
    for (size_t r = 0; r < panel->n_rows; r++) {
        weights[n] =
            (weight){cs_usage_bytes(usage, panel, r) / cs_usage_capacity_Bps(usage, panel, r), r};
        n += weights[n].share > 0;
    }
    qsort(weights, n, sizeof *weights, heavier);
    n = n < most ? n : most;
    qsort(weights, n, sizeof *weights, by_row);
    for (size_t i = 0; i < n; i++) {
        rows[i] = weights[i].row;
    }
    *n_p = n;
    cs_free(weights);
    return CS_OK;
}

static bool carried_something(const cs_usage *usage, uint32_t fabric)
{
    const cs_usage_panel *panel = &usage->panels[2 * (size_t)fabric];
    double                bytes = 0;

    for (size_t r = 0; r < panel->n_rows; r++) {
        bytes += cs_usage_bytes(usage, panel, r);
    }
    return bytes > 0;
}

cs_status cs_usage_shown(const cs_usage *usage, const cs_usage_panel *panel, size_t most_links,
                         size_t *rows, size_t *n_p)
{
    if (panel->is_links) {
        return busiest_links(usage, panel, most_links, rows, n_p);
    }
    *n_p         = 0;
    bool is_used = carried_something(usage, panel->fabric);
    for (size_t r = 0; r < panel->n_rows && is_used; r++) {
        rows[*n_p] = r;
        *n_p += cs_usage_ports(usage, panel, r) > 0;
    }
    return CS_OK;
}

static void name_link(const cs_usage *usage, const cs_usage_panel *panel, size_t row, char *text,
                      size_t text_bytes)
{
    const cs_topology *t     = usage->scenario->cluster.topology;
    uint32_t           first = (uint32_t)row * panel->per_row;
    size_t             n     = cs_usage_ports(usage, panel, row);

    if (n > 1) {
        (void)snprintf(text, text_bytes, "links %u .. %zu", first, first + n - 1);
    } else {
        t->kind->link_name(t, first, text, text_bytes);
    }
}

void cs_usage_row_name(const cs_usage *usage, const cs_usage_panel *panel, size_t row,
                       const char *rank, char *text, size_t text_bytes)
{
    const cs_cluster *c = &usage->scenario->cluster;
    cs_usage_span     span =
        panel->is_links ? (cs_usage_span){0, 1} : cs_usage_ranks(usage, panel, row);
    uint32_t g = c->gpus_per_server, first = span.first, last = span.end - 1;
    bool     are_servers = cs_is_even(c) && g > 1 && first % g == 0 && span.end % g == 0;

    if (panel->is_links) {
        name_link(usage, panel, row, text, text_bytes);
    } else if (panel->each > 1) {
        (void)snprintf(text, text_bytes, "%s %u %s %u", rank, first, panel->sends ? "→" : "←",
                       cs_server_first(c, cs_server_of(c, first)) + (uint32_t)(row % panel->each));
    } else if (first == last) {
        (void)snprintf(text, text_bytes, "%s %u", rank, first);
    } else if (are_servers && last - first < g) {
        (void)snprintf(text, text_bytes, "server %u", cs_server_of(c, first));
    } else if (are_servers) {
        (void)snprintf(text, text_bytes, "servers %u .. %u", cs_server_of(c, first),
                       cs_server_of(c, last));
    } else {
        (void)snprintf(text, text_bytes, "%ss %u .. %u", rank, first, last);
    }
}

void cs_usage_free(cs_usage *usage)
{
    cs_arena_free(&usage->arena);
    *usage = (cs_usage){0};
}
