/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/packet/ports.h"

#include "base/alloc.h"
#include "cs/capacity.h"
#include "cs/scenario.h"

#include <math.h>

/* Times stay exact, in picoseconds and as seconds, below that. */
#define MAX_TIME_S 4000.0
/* What whole picoseconds can hold, with room for sums. */
#define MAX_PS 0x1p62

static int64_t whole(double x)
{
    return (int64_t)llround(x);
}

/* ---- what is accepted ---- */

static bool is_auto(uint32_t option)
{
    return option == CS_AUTO;
}

static bool is_lossless(const cs_packet_options *o)
{
    return o->lossless || (o->xoff_bytes > 0 && !is_auto(o->xoff_bytes));
}

static cs_status check_packets(const char *key, uint32_t mtu, uint32_t header, cs_error *err)
{
    if ((uint64_t)mtu + header > CS_MAX_PACKET_BYTES) {
        return CS_FAIL(err, CS_EINVAL, key,
                       "packets of %u + %u bytes: accepted are at most 2^20 together", mtu, header);
    }
    return CS_OK;
}

static cs_status check_queues(const cs_packet_options *o, cs_error *err)
{
    uint32_t nic   = o->mtu_bytes + o->header_bytes;
    uint32_t local = o->nvlink_mtu_bytes + o->nvlink_header_bytes;
    uint32_t most  = nic > local ? nic : local;

    if (o->queue_bytes > 0 && o->queue_bytes < most) {
        return CS_FAIL(
            err, CS_EINVAL, "queue_bytes",
            "%llu bytes hold no packet of %u: accepted are 0 (no limit) and at least that many",
            (unsigned long long)o->queue_bytes, most);
    }
    if (o->queue_bytes > 0 && is_lossless(o)) {
        return CS_FAIL(err, CS_EINVAL, "queue_bytes",
                       "queues that drop packets are not lossless: accepted is either queue_bytes "
                       "or lossless");
    }
    if (!is_auto(o->xon_bytes) && !is_auto(o->xoff_bytes) && o->xon_bytes > o->xoff_bytes) {
        return CS_FAIL(err, CS_EINVAL, "xon_bytes",
                       "%u is above xoff_bytes (%u): accepted is at most that", o->xon_bytes,
                       o->xoff_bytes);
    }
    return CS_OK;
}

static cs_status check_delays(const cs_cluster *cluster, const cs_packet_options *o, cs_error *err)
{
    uint32_t n = cs_n_fabrics(cluster);

    for (uint32_t f = 0; f < n && o->link_delay_s < CS_AUTO; f++) {
        double alpha_s = cluster->fabrics[f].alpha_s;
        if (whole(alpha_s * 1e12) < 2 * whole(o->link_delay_s * 1e12)) {
            return CS_FAIL(err, CS_EINVAL, "link_delay_s",
                           "two links of %.9g s take longer than the %s ports' alpha of %.9g s: "
                           "accepted is at most half of it",
                           o->link_delay_s, cs_fabric_name(f), alpha_s);
        }
    }
    return CS_OK;
}

static cs_status check_times(const cs_scenario *s, cs_error *err)
{
    double latest_s = cs_last_arrival(s);

    for (size_t i = 0; i < s->n_capacity; i++) {
        latest_s = fmax(latest_s, s->capacity[i].from_s);
        latest_s =
            isfinite(s->capacity[i].until_s) ? fmax(latest_s, s->capacity[i].until_s) : latest_s;
    }
    if (latest_s > MAX_TIME_S) {
        return CS_FAIL(err, CS_ENOTSUP, "model",
                       "an arrival or a change of a NIC at %.6g s: packets are counted in whole "
                       "picoseconds, exact up to %.0f s",
                       latest_s, MAX_TIME_S);
    }
    return CS_OK;
}

cs_status cs_packet_check(const cs_scenario *scenario, const cs_packet_options *options,
                          cs_error *err)
{
    const cs_packet_options *o = options;

    CS_TRY(check_packets("mtu_bytes", o->mtu_bytes, o->header_bytes, err));
    CS_TRY(check_packets("nvlink_mtu_bytes", o->nvlink_mtu_bytes, o->nvlink_header_bytes, err));
    CS_TRY(check_queues(o, err));
    CS_TRY(check_delays(&scenario->cluster, o, err));
    return check_times(scenario, err);
}

/* ---- the net ---- */

cs_ps cs_packet_time(const cs_packet_ports *p, double time_s)
{
    return whole((time_s - p->ports->first_s) * 1e12);
}

double cs_packet_time_s(const cs_packet_ports *p, cs_ps time)
{
    return p->ports->first_s + (double)time * 1e-12;
}

static int64_t bps_of(double bandwidth_Bps)
{
    int64_t bps = whole(8 * bandwidth_Bps);
    return bps < 1 ? 1 : bps;
}

static uint32_t fabric_of_port(const cs_ports *ports, uint32_t port)
{
    uint32_t f = cs_n_fabrics(ports->cluster) - 1;

    while (f > CS_NIC && port < ports->port_base[f]) {
        f--;
    }
    return f;
}

static bool is_direct(const cs_ports *ports, uint32_t fabric)
{
    return ports->cluster->fabrics[fabric].kind == CS_DIRECT;
}

/* Is a port of a mesh all that there is between its two ranks? Not where the topology has narrower
 * links there, of pairs or servers that differ. */
static bool is_whole_way(const cs_ports *ports, uint32_t fabric, uint32_t port)
{
    const cs_cluster *c = ports->cluster;
    uint32_t          g = c->gpus_per_server, i = port - ports->port_base[fabric];
    uint32_t          inner[CS_MAX_ROUTE], from = i / g, server = cs_server_of(c, from);
    uint32_t          to      = cs_server_first(c, server) + i % g;
    bool              is_mate = i % g < cs_server_gpus(c, server) && from != to;

    return is_direct(ports, fabric) &&
           (c->topology == NULL || !is_mate ||
            cs_topology_path(c->topology, c, from, to, fabric, 0, inner) == 0);
}

/* The delay of a port's link. */
static cs_ps delay_of(const cs_packet_ports *p, uint32_t fabric)
{
    cs_ps  alpha = whole(p->ports->alpha_s[fabric] * 1e12);
    double given = p->options.link_delay_s;

    return given < CS_AUTO ? whole(given * 1e12) : alpha / 2;
}

/* The ranks at the ends of a port's links; one that is the whole way has both. */
static void set_ends(cs_packet_ports *p, uint32_t fabric, uint32_t port)
{
    const cs_ports *ports = p->ports;
    uint32_t        g     = ports->cluster->gpus_per_server;
    uint32_t        i     = port - ports->port_base[fabric];
    cs_packet_link *tx    = &p->net.links[port];
    cs_packet_link *rx    = &p->net.links[cs_link_of_receiver(ports, port)];

    tx->from = rx->to = is_direct(ports, fabric) ? i / g : i;
    tx->to = rx->from = CS_NO_RANK;
    if (tx->is_last) {
        const cs_cluster *c      = ports->cluster;
        uint32_t          server = cs_server_of(c, i / g), mate = i % g;
        if (mate < cs_server_gpus(c, server)) { /* ports have the stride of the largest server */
            tx->to = cs_server_first(c, server) + mate;
        }
    }
}

static void set_ports(cs_packet_ports *p)
{
    const cs_ports *ports = p->ports;

    for (uint32_t port = 0; port < ports->n_ports; port++) {
        uint32_t        fabric = fabric_of_port(ports, port);
        cs_packet_link *tx     = &p->net.links[port];
        cs_packet_link *rx     = &p->net.links[cs_link_of_receiver(ports, port)];
        tx->is_last            = is_whole_way(ports, fabric, port);
        rx->is_last            = true;
        tx->delay = rx->delay = (tx->is_last ? 2 : 1) * delay_of(p, fabric); /* both ports' */
        set_ends(p, fabric, port);
    }
    for (uint32_t f = 0; f < cs_n_fabrics(ports->cluster); f++) {
        p->startup[f] = whole(ports->alpha_s[f] * 1e12) - 2 * delay_of(p, f);
        p->startup[f] = p->options.link_delay_s < CS_AUTO ? p->startup[f] : 0;
    }
}

static cs_status set_rates(cs_packet_ports *p)
{
    uint32_t n         = p->net.n_links;
    double  *bandwidth = CS_NEW(double, n);

    if (bandwidth == NULL) {
        return CS_ENOMEM;
    }
    cs_links_bandwidth(p->ports, bandwidth);
    for (uint32_t l = 0; l < n; l++) {
        p->net.links[l].bps = bps_of(bandwidth[l]);
    }
    cs_free(bandwidth);
    return CS_OK;
}

/* The changes link by link; those of a link come in their order in time. */
static cs_status set_changes(cs_packet_ports *p)
{
    size_t          n       = cs_links_changes(p->ports, NULL);
    cs_link_change *changes = CS_NEW(cs_link_change, n);

    p->net.changes = CS_NEW(cs_packet_change, n);
    if (changes == NULL || p->net.changes == NULL) {
        cs_free(changes);
        return CS_ENOMEM;
    }
    (void)cs_links_changes(p->ports, changes);
    for (size_t i = 0; i < n; i++) {
        p->net.links[changes[i].link].n_changes++;
    }
    cs_packet_change *next = p->net.changes;
    for (uint32_t l = 0; l < p->net.n_links; l++) {
        cs_packet_link *link = &p->net.links[l];
        link->changes        = next;
        next += link->n_changes;
        link->n_changes = 0;
    }
    for (size_t i = 0; i < n; i++) {
        cs_packet_link   *link    = &p->net.links[changes[i].link];
        cs_packet_change *change  = p->net.changes + (link->changes - p->net.changes);
        change[link->n_changes++] = (cs_packet_change){cs_packet_time(p, changes[i].time_s),
                                                       bps_of(changes[i].bandwidth_Bps)};
    }
    cs_free(changes);
    return CS_OK;
}

static uint32_t most_bytes(const cs_packet_options *o)
{
    uint32_t nic = o->mtu_bytes + o->header_bytes;
    uint32_t own = o->nvlink_mtu_bytes + o->nvlink_header_bytes;

    return nic > own ? nic : own;
}

/* What a link can bring in so many picoseconds. */
static double bytes_in(const cs_packet_link *link, double ps)
{
    return (double)link->high_bps / 8e12 * ps;
}

/* Automatic thresholds of a link: twice what it brings in a round trip, and 4 packets; half of that
 * to go on, which lasts until it brings more. The headroom is the largest that any link needs: what
 * comes until a pause acts and nothing is under way any more, and a packet at either end. */
static void set_thresholds(cs_packet_ports *p)
{
    const cs_packet_options *o        = &p->options;
    int64_t                  bytes    = most_bytes(o);
    int64_t                  headroom = 0;

    for (uint32_t l = 0; l < p->net.n_links; l++) {
        cs_packet_link *link  = &p->net.links[l];
        double          trip  = 2.0 * (double)link->delay;
        double          frame = (double)cs_packet_ps(link->low_bps, CS_PAUSE_FRAME_BYTES);
        int64_t         need  = (int64_t)bytes_in(link, trip + frame) + 1 + 2 * bytes;
        int64_t         xoff  = 2 * whole(bytes_in(link, trip)) + 4 * bytes;
        link->xoff            = is_auto(o->xoff_bytes) ? xoff : o->xoff_bytes;
        link->xon             = is_auto(o->xon_bytes) ? link->xoff / 2 : o->xon_bytes;
        headroom              = need > headroom ? need : headroom;
    }
    p->net.headroom_bytes = is_auto(o->headroom_bytes) ? headroom : o->headroom_bytes;
}

/* How many ways the packets of one message can have. */
static uint32_t most_paths(const cs_packet_ports *p)
{
    const cs_topology   *t     = p->ports->cluster->topology;
    const cs_leaf_spine *shape = t != NULL ? cs_leaf_spine_of(t) : NULL;

    if (t == NULL || p->options.paths != CS_PATHS_SPRAY) {
        return 1;
    }
    return shape != NULL && shape->n_spines < CS_MAX_PATHS ? shape->n_spines : CS_MAX_PATHS;
}

static cs_status fill(cs_packet_ports *p)
{
    const cs_topology *t     = p->ports->cluster->topology;
    uint32_t           inner = t != NULL ? t->n_links : 0;
    uint32_t           least = p->options.header_bytes, own = p->options.nvlink_header_bytes;

    p->net.ports     = p->ports;
    p->net.n_links   = cs_links_count(p->ports);
    p->net.n_senders = p->ports->n_ports;
    p->net.links     = CS_NEW(cs_packet_link, p->net.n_links);
    if (p->net.links == NULL || set_rates(p) != CS_OK || set_changes(p) != CS_OK) {
        return CS_ENOMEM;
    }
    set_ports(p);
    for (uint32_t i = 0; i < inner; i++) {
        cs_packet_link *link = &p->net.links[cs_link_of_inner(p->ports, i)];
        link->delay          = whole(t->links[i].latency_s * 1e12);
        link->from = link->to = CS_NO_RANK;
    }
    p->net.max_way           = cs_links_most_of_way(p->ports);
    p->net.max_paths         = most_paths(p);
    p->net.cut_through_bytes = p->options.cut_through_bytes;
    p->net.queue_bytes       = (int64_t)p->options.queue_bytes;
    p->net.is_lossless       = is_lossless(&p->options);
    p->net.trains            = p->options.trains;
    p->net.seed              = p->ports->seed;
    if (p->ports->cluster->gpus_per_server > 1 && own < least) {
        least = own;
    }
    cs_packet_net_finish(&p->net, least);
    set_thresholds(p);
    p->ways = CS_NEW(uint32_t, (size_t)p->net.max_paths * (p->net.max_way + 1));
    p->back = CS_NEW(uint32_t, p->net.max_way + 1);
    return p->ways == NULL || p->back == NULL ? CS_ENOMEM : CS_OK;
}

/* A threshold that is given and one that is automatic? */
static cs_status check_thresholds(const cs_packet_ports *p, cs_error *err)
{
    char name[64];

    for (uint32_t l = 0; l < p->net.n_links && p->net.is_lossless; l++) {
        const cs_packet_link *link = &p->net.links[l];
        if (link->xon > link->xoff) {
            cs_packet_link_text(&p->net, l, name, sizeof name);
            return CS_FAIL(err, CS_EINVAL, "xon_bytes",
                           "%lld is above the automatic xoff_bytes of %s (%lld): accepted is at "
                           "most that",
                           (long long)link->xon, name, (long long)link->xoff);
        }
    }
    return CS_OK;
}

cs_status cs_packet_ports_open(cs_packet_ports *p, const cs_ports *ports,
                               const cs_packet_options *options, cs_error *err)
{
    *p = (cs_packet_ports){.ports = ports, .options = *options};
    if (fill(p) != CS_OK) {
        return CS_NO_MEMORY(err, "the links");
    }
    return check_thresholds(p, err);
}

void cs_packet_ports_close(cs_packet_ports *p)
{
    cs_packet_net_free(&p->net);
    cs_free(p->ways);
    cs_free(p->back);
    *p = (cs_packet_ports){0};
}

/* ---- messages ---- */

/* Path `i` of the topology as a way: the sending port, the inner links, the receiving port. */
static void write_way(const cs_packet_ports *p, const cs_flight *flight, bool is_back, uint32_t i,
                      uint32_t *way)
{
    uint32_t links[CS_MAX_LINKS_OF_WAY];
    double   latency_s;
    uint32_t n = cs_links_of_path(p->ports, flight, is_back, i, links, &latency_s), k = 0;

    way[k++] = links[0];
    for (uint32_t l = 2; l < n; l++) {
        way[k++] = links[l];
    }
    if (!p->net.links[links[0]].is_last) {
        way[k++] = links[1];
    }
    way[k] = CS_NO_LINK;
}

/* The path of a message that has one: the topology's, or by a hash. */
static uint32_t path_of(const cs_packet_ports *p, const cs_flight *flight, bool is_back)
{
    uint64_t pair = is_back ? (uint64_t)flight->dst << 32 | flight->src
                            : (uint64_t)flight->src << 32 | flight->dst;

    if (p->options.paths == CS_PATHS_STATIC) {
        return 0;
    }
    return (uint32_t)(cs_packet_hash(p->net.seed ^ cs_packet_hash(pair)) %
                      cs_links_n_paths(p->ports, flight, is_back));
}

/* The ways of a message's packets. Returns how many. */
static uint32_t find_ways(cs_packet_ports *p, const cs_flight *flight, bool is_back)
{
    if (p->options.paths != CS_PATHS_SPRAY) {
        write_way(p, flight, is_back, path_of(p, flight, is_back), p->ways);
        return 1;
    }
    uint32_t n = cs_links_n_paths(p->ports, flight, is_back);
    for (uint32_t i = 0; i < n; i++) {
        write_way(p, flight, is_back, i, p->ways + (size_t)i * (p->net.max_way + 1));
    }
    return n;
}

/* How long the message would take alone, link after link. */
static double slowest_ps(const cs_packet_ports *p, double packets, int64_t bytes)
{
    double ps = 0;

    for (const uint32_t *l = p->ways; *l != CS_NO_LINK; l++) {
        const cs_packet_link *link = &p->net.links[*l];
        ps += packets * (double)bytes * 8e12 / (double)link->low_bps + (double)link->delay;
    }
    return ps;
}

cs_status cs_packet_message_of(cs_packet_ports *p, const cs_flight *flight, bool is_back,
                               cs_packet_message *message)
{
    const cs_packet_options *o      = &p->options;
    bool                     is_nic = flight->fabric == CS_NIC;
    uint32_t                 number = 2 * flight->handle + is_back;

    *message = (cs_packet_message){
        .key     = flight->id << CS_PACKET_NUMBER_BITS | number,
        .number  = number,
        .bytes   = (int64_t)flight->bytes,
        .mtu     = is_nic ? o->mtu_bytes : o->nvlink_mtu_bytes,
        .header  = is_nic ? o->header_bytes : o->nvlink_header_bytes,
        .ready   = cs_packet_time(p, flight->start_s) + p->startup[flight->fabric],
        .n_paths = find_ways(p, flight, is_back),
        .ways    = p->ways,
    };
    if (p->wants_back) {
        write_way(p, flight, !is_back, path_of(p, flight, !is_back), p->back);
        message->back = p->back;
    }
    int64_t packets = cs_packet_count(message->bytes, message->mtu);
    p->most_ps += slowest_ps(p, (double)packets, message->mtu + message->header);
    return packets <= INT32_MAX && p->most_ps + (double)message->ready < MAX_PS ? CS_OK
                                                                                : CS_ENOTSUP;
}
