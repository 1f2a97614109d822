/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "support/packet_world.h"

#include "base/alloc.h"
#include "support/rng.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RANKS = 64, MOST_SWITCHES = 7, MOST_EDGES = 64, MOST_CHANGES = 64 };

/* What is needed to build a world. */
typedef struct site {
    ct_packet_world         *world;
    const ct_packet_setting *set;
    ct_rng                   rng;
    uint32_t                 n_near; /* sending ports of the second fabric */
    uint32_t                 n_edges, from[MOST_EDGES], to[MOST_EDGES]; /* of CT_SWITCH_GRAPH */
    size_t                   n_ways, n_after;
} site;

/* ---- ways ---- */

static uint32_t switch_of(const site *s, uint32_t rank)
{
    const ct_packet_setting *set = s->set;

    switch (set->shape) {
    case CT_CROSSBAR: return 0;
    case CT_LEAF_SPINE: return rank / ((set->n_ranks + set->n_switches - 1) / set->n_switches);
    case CT_SWITCH_RING: return rank;
    case CT_SWITCH_GRAPH: break;
    }
    return rank % set->n_switches;
}

static uint32_t inner(const site *s, uint32_t number)
{
    return 2 * (s->set->n_ranks + s->n_near) + number;
}

/* A way over switches that are not `seen`, trying links in an order. Returns how many, 0: none. */
static uint32_t find_way(const site *s, const uint32_t *order, uint32_t at, uint32_t to, bool *seen,
                         uint32_t *links)
{
    seen[at] = true;
    for (uint32_t i = 0; i < s->n_edges; i++) {
        const uint32_t e = order[i];
        if (s->from[e] != at || seen[s->to[e]]) {
            continue;
        }
        uint32_t n = s->to[e] == to ? 0 : find_way(s, order, s->to[e], to, seen, links + 1);
        if (s->to[e] == to || n > 0) {
            links[0] = inner(s, e);
            return n + 1;
        }
    }
    return 0;
}

static uint32_t random_way(const site *s, uint32_t from, uint32_t to, uint64_t salt,
                           uint32_t *links)
{
    ct_rng   rng                 = {salt};
    bool     seen[MOST_SWITCHES] = {false};
    uint32_t order[MOST_EDGES];

    for (uint32_t i = 0; i < s->n_edges; i++) {
        uint32_t at = ct_below(&rng, i + 1);
        order[i]    = order[at];
        order[at]   = i;
    }
    return find_way(s, order, from, to, seen, links);
}

/* The links between switches on path number `path` between two ranks; returns how many. */
static uint32_t inner_way(const site *s, uint32_t a, uint32_t b, uint32_t path, uint32_t *links)
{
    const ct_packet_setting *set  = s->set;
    const uint32_t           from = switch_of(s, a), to = switch_of(s, b);
    uint32_t                 n = 0;

    if (from == to) {
        return 0;
    }
    if (set->shape == CT_LEAF_SPINE) {
        links[n++] = inner(s, from * set->n_spines + path);
        links[n++] = inner(s, set->n_switches * (set->n_spines + path) + to);
    } else if (set->shape == CT_SWITCH_RING) {
        for (uint32_t at = from; at != to; at = (at + 1) % set->n_ranks) {
            links[n++] = inner(s, at);
        }
    } else {
        n = random_way(s, from, to, set->seed + 1000 * (a * 100 + b) + path, links);
        cr_assert_gt(n, 0);
    }
    return n;
}

static bool is_near(const ct_packet_setting *set, uint32_t a, uint32_t b)
{
    return set->server > 1 && a / set->server == b / set->server;
}

static uint32_t n_paths(const site *s, uint32_t a, uint32_t b)
{
    if (is_near(s->set, a, b) || switch_of(s, a) == switch_of(s, b)) {
        return 1;
    }
    return s->set->shape == CT_LEAF_SPINE     ? s->set->n_spines
           : s->set->shape == CT_SWITCH_GRAPH ? s->set->n_paths
                                              : 1;
}

/* One way, ended. */
static void put_way(const site *s, uint32_t a, uint32_t b, uint32_t path, uint32_t *links)
{
    const ct_packet_setting *set       = s->set;
    const uint32_t           n_senders = set->n_ranks + s->n_near;
    uint32_t                 n         = 0;

    if (!is_near(set, a, b)) {
        links[n++] = a;
        n += inner_way(s, a, b, path, links + n);
        links[n++] = n_senders + b;
    } else if (set->is_direct) {
        links[n++] = set->n_ranks + a * (set->server - 1) + b % set->server -
                     (b % set->server > a % set->server);
    } else {
        links[n++] = set->n_ranks + a;
        links[n++] = n_senders + set->n_ranks + b;
    }
    links[n] = CS_NO_LINK;
}

/* ---- schedules ---- */

/* Returns the number of the message. */
static size_t add(site *s, uint32_t a, uint32_t b, int64_t bytes)
{
    ct_packet_schedule    *sc    = &s->world->schedule;
    const uint32_t         paths = n_paths(s, a, b), room = s->world->net.max_way + 1;
    const ct_packet_ports *ports = &s->set->ports[is_near(s->set, a, b)];
    ct_packet_send         send  = {.bytes   = bytes,
                                    .mtu     = ports->mtu,
                                    .header  = ports->header,
                                    .startup = ports->startup,
                                    .n_paths = s->set->routes == CT_SPRAYED ? paths : 1,
                                    .ways    = s->n_ways,
                                    .after   = s->n_after};

    send.first_path = (a + b) % send.n_paths;
    sc->sends       = realloc(sc->sends, (sc->n_sends + 1) * sizeof send);
    sc->ways        = realloc(sc->ways, (s->n_ways + send.n_paths * room) * sizeof *sc->ways);
    for (uint32_t p = 0; p < send.n_paths; p++) {
        uint32_t hashed = (uint32_t)(cs_packet_hash(a * 100 + b) % paths);
        put_way(s, a, b,
                s->set->routes == CT_SPRAYED  ? p
                : s->set->routes == CT_HASHED ? hashed
                                              : (a + b) % paths,
                sc->ways + s->n_ways);
        s->n_ways += room;
    }
    sc->sends[sc->n_sends] = send;
    return sc->n_sends++;
}

/* The last message waits for this one. */
static void wait_for(site *s, size_t on)
{
    ct_packet_schedule *sc = &s->world->schedule;

    sc->after               = realloc(sc->after, (s->n_after + 1) * sizeof *sc->after);
    sc->after[s->n_after++] = (uint32_t)on;
    sc->sends[sc->n_sends - 1].n_after++;
}

/* Everybody sends once, when what was sent to it in the round before has come. */
static void add_round(site *s, uint32_t round, size_t *came)
{
    const ct_packet_setting *set = s->set;
    const uint32_t           n   = set->n_ranks;
    size_t                   comes[MOST_RANKS];
    uint32_t                 log = 0;

    while (2u << log <= n) {
        log++;
    }
    const uint32_t step  = round % (2 * log);
    const uint32_t bit   = step < log ? step : 2 * log - 1 - step;
    const uint32_t shift = set->pattern == CT_RING ? 1 : round % (n - 1) + 1;
    for (uint32_t r = 0; r < n; r++) {
        const bool     is_rhd = set->pattern == CT_RHD;
        const uint32_t to     = is_rhd ? r ^ 1u << bit : (r + shift) % n;
        comes[to]             = add(s, r, to, is_rhd ? set->bytes >> bit : set->bytes);
        if (round > 0) {
            wait_for(s, came[r]);
        }
    }
    memcpy(came, comes, n * sizeof *came);
}

/* Everybody sends to all others; in the next round, when all has come. */
static void add_exchange(site *s, uint32_t round)
{
    const ct_packet_setting *set = s->set;
    const uint32_t           n   = set->n_ranks;
    const size_t             old = s->world->schedule.n_sends - (round > 0 ? n * (n - 1) : 0);

    for (uint32_t r = 0; r < n; r++) {
        for (uint32_t k = 0; k < n - 1; k++) {
            (void)add(s, r, set->pattern == CT_INCAST ? k + (k >= r) : (r + k + 1) % n, set->bytes);
            for (uint32_t from = 0; k == 0 && round > 0 && from < n; from++) {
                uint32_t place =
                    set->pattern == CT_INCAST ? r - (r > from) : (r + n - from - 1) % n;
                if (from != r) {
                    wait_for(s, old + from * (n - 1) + place);
                }
            }
        }
    }
}

static void add_any(site *s)
{
    const ct_packet_setting *set = s->set;
    const size_t             old = s->world->schedule.n_sends;
    const uint32_t           n = set->n_ranks, a = ct_below(&s->rng, n);
    const uint32_t           b     = (a + 1 + ct_below(&s->rng, n - 1)) % n;
    const uint64_t           most  = ct_below(&s->rng, 4) > 0 ? (uint64_t)set->bytes + 1 : 0;
    const int64_t            bytes = most > 0
                                         ? (int64_t)(ct_word(&s->rng) % most)
                                         : (int64_t)ct_below(&s->rng, 3) * set->ports[is_near(set, a, b)].mtu;

    (void)add(s, a, b, bytes);
    for (uint32_t k = ct_below(&s->rng, 4); k > 0 && old > 0; k--) {
        wait_for(s, ct_below(&s->rng, (uint32_t)old));
    }
}

static void add_messages(site *s)
{
    size_t came[MOST_RANKS] = {0};

    if (s->set->pattern == CT_FAN_IN) {
        for (uint32_t r = 1; r < s->set->n_ranks; r++) {
            (void)add(s, r, 0, s->set->bytes);
        }
        return;
    }
    for (uint32_t round = 0; round < s->set->n_rounds; round++) {
        if (s->set->pattern == CT_RANDOM) {
            add_any(s);
        } else if (s->set->pattern == CT_ALL_PAIRS || s->set->pattern == CT_INCAST) {
            add_exchange(s, round);
        } else {
            add_round(s, round, came);
        }
    }
}

static uint32_t rank_of(const site *s, uint32_t port)
{
    const uint32_t n = s->set->n_ranks;

    return port < n ? port : s->set->is_direct ? (port - n) / (s->set->server - 1) : port - n;
}

/* ---- links ---- */

static cs_ps random_time(site *s, cs_ps most, cs_ps step)
{
    return (cs_ps)(ct_word(&s->rng) % (uint64_t)(most / step + 1)) * step;
}

static void set_link(site *s, uint32_t l)
{
    const ct_packet_setting *set       = s->set;
    const uint32_t           n_senders = s->world->net.n_senders;
    const bool               is_port   = l < 2 * n_senders;
    const bool               is_second = is_port && l % n_senders >= set->n_ranks;
    const ct_packet_ports   *ports     = &set->ports[is_second];
    cs_packet_link           link      = {.bps   = is_port ? ports->bps : set->inner_bps,
                                          .delay = is_port ? ports->delay : set->inner_delay,
                                          .is_last = is_port && (l >= n_senders || (is_second && set->is_direct)),
                                          .xoff = set->xoff,
                                          .xon  = set->xon};

    if (set->is_uneven) {
        link.bps = 2 * link.bps / (2 + ct_below(&s->rng, 4));
        link.delay += ct_below(&s->rng, 1000);
        link.xoff -= ct_below(&s->rng, (uint32_t)(set->xoff / 2 + 1));
        link.xon = link.xon < link.xoff ? link.xon : link.xoff;
    }
    s->world->net.links[l] = link;
}

/* Both ports of some rank, or a link between switches, change. */
static void add_changes(site *s)
{
    static const double      factors[] = {0.125, 0.5, 0.875, 1, 2};
    const ct_packet_setting *set       = s->set;
    cs_packet_net           *net       = &s->world->net;
    uint32_t                 of[MOST_CHANGES], n = 0;
    cs_packet_change         all[MOST_CHANGES];

    for (uint32_t i = 0; i < set->n_changes && n + 2 <= MOST_CHANGES; i++) {
        const uint32_t n_inner  = net->n_links - 2 * net->n_senders;
        const bool     is_inner = n_inner > 0 && ct_below(&s->rng, 4) == 0;
        const double   factor   = factors[ct_below(&s->rng, 5)];
        const cs_ps    time     = random_time(s, set->change_by, set->change_step);
        uint32_t       link     = is_inner ? 2 * net->n_senders + ct_below(&s->rng, n_inner)
                                           : ct_below(&s->rng, net->n_senders);
        for (uint32_t k = 0; k < (is_inner ? 1 : 2); k++, link += net->n_senders) {
            of[n]    = link;
            all[n++] = (cs_packet_change){time, (int64_t)(factor * (double)net->links[link].bps)};
        }
    }
    net->changes = CS_NEW(cs_packet_change, MOST_CHANGES);
    cr_assert_not_null(net->changes);
    for (uint32_t l = 0, used = 0; l < net->n_links; l++) {
        net->links[l].changes = net->changes + used;
        for (uint32_t i = 0; i < n; i++) { /* sorted by insertion */
            uint32_t at = used;
            if (of[i] != l) {
                continue;
            }
            for (; at > used - net->links[l].n_changes && net->changes[at - 1].time > all[i].time;
                 at--) {
                net->changes[at] = net->changes[at - 1];
            }
            net->changes[at] = all[i];
            net->links[l].n_changes++;
            used++;
        }
    }
}

/* What can still come when a pause was decided. */
static int64_t headroom(const cs_packet_net *net, int64_t most_bytes)
{
    int64_t most = 0;

    for (uint32_t l = 0; l < net->n_links; l++) {
        const cs_packet_link *link   = &net->links[l];
        const cs_ps           frame  = cs_packet_ps(link->low_bps, CS_PAUSE_FRAME_BYTES);
        const double          flight = (double)(2 * link->delay + frame);
        const int64_t         bytes =
            (int64_t)((double)link->high_bps / 8e12 * flight) + 1 + 2 * most_bytes;
        most = bytes > most ? bytes : most;
    }
    return most;
}

static void add_edges(site *s)
{
    const uint32_t n = s->set->n_switches;

    for (uint32_t i = 0; s->set->shape == CT_SWITCH_GRAPH && n > 1 && i < n + n / 2; i++) {
        const uint32_t a = i % n, b = i < n ? (i + 1) % n : (a + 1 + ct_below(&s->rng, n - 1)) % n;
        s->from[s->n_edges] = s->to[s->n_edges + 1] = a;
        s->to[s->n_edges] = s->from[s->n_edges + 1] = b;
        s->n_edges += 2;
    }
}

static uint32_t n_inner(const site *s)
{
    const ct_packet_setting *set = s->set;

    return set->shape == CT_LEAF_SPINE    ? 2 * set->n_switches * set->n_spines
           : set->shape == CT_SWITCH_RING ? set->n_ranks
                                          : s->n_edges;
}

static void set_net(site *s)
{
    const ct_packet_setting *set = s->set;
    cs_packet_net           *net = &s->world->net;
    const ct_packet_ports   *a = &set->ports[0], *b = &set->ports[set->server > 1];

    add_edges(s);
    s->n_near      = set->server < 2  ? 0
                     : set->is_direct ? set->n_ranks * (set->server - 1)
                                      : set->n_ranks;
    *net           = (cs_packet_net){.n_links           = 2 * (set->n_ranks + s->n_near) + n_inner(s),
                                     .n_senders         = set->n_ranks + s->n_near,
                                     .max_way           = set->shape == CT_SWITCH_RING ? set->n_ranks + 1 : 8,
                                     .max_paths         = set->routes != CT_SPRAYED     ? 1
                                                          : set->shape == CT_LEAF_SPINE ? set->n_spines
                                                                                        : set->n_paths,
                                     .cut_through_bytes = set->cut_through_bytes,
                                     .is_lossless       = set->xoff > 0,
                                     .queue_bytes       = set->queue_bytes,
                                     .seed              = set->seed,
                                     .trains            = true};
    net->transport = set->transport;
    net->links     = CS_NEW(cs_packet_link, net->n_links);
    cr_assert_not_null(net->links);
    for (uint32_t l = 0; l < net->n_links; l++) {
        set_link(s, l);
    }
    add_changes(s);
    cs_packet_net_finish(net, a->header < b->header ? a->header : b->header);
    net->headroom_bytes = headroom(
        net, a->mtu + a->header > b->mtu + b->header ? a->mtu + a->header : b->mtu + b->header);
}

ct_packet_world ct_packet_world_of(const ct_packet_setting *setting)
{
    ct_packet_world     world = {.setting = *setting};
    ct_packet_schedule *sc    = &world.schedule;
    site                s     = {.world = &world, .set = setting, .rng = {setting->seed}};

    cr_assert(setting->n_ranks <= MOST_RANKS && setting->n_switches <= MOST_SWITCHES);
    set_net(&s);
    add_messages(&s);
    sc->late = calloc(world.net.n_senders, sizeof *sc->late);
    for (uint32_t r = 0; r < setting->n_ranks; r++) {
        const cs_ps late = random_time(&s, setting->late, setting->late_step);
        for (uint32_t p = 0; p < world.net.n_senders; p++) {
            sc->late[p] = rank_of(&s, p) == r ? late : sc->late[p];
        }
    }
    return world;
}

void ct_packet_world_free(ct_packet_world *world)
{
    cs_packet_net_free(&world->net);
    free(world->schedule.sends);
    free(world->schedule.ways);
    free(world->schedule.after);
    free(world->schedule.late);
    *world = (ct_packet_world){0};
}

/* ---- settings ---- */

ct_packet_setting ct_packet_plain(uint32_t n_ranks, ct_packet_pattern pattern, int64_t bytes)
{
    return (ct_packet_setting){.seed        = 1,
                               .n_ranks     = n_ranks,
                               .n_switches  = 1,
                               .n_paths     = 1,
                               .pattern     = pattern,
                               .n_rounds    = 1,
                               .bytes       = bytes,
                               .ports[0]    = {400000000000, 4096, 82, 500000, 0},
                               .inner_bps   = 400000000000,
                               .inner_delay = 500000,
                               .late_step   = 1,
                               .change_step = 1};
}

ct_packet_setting ct_packet_deadlock(void)
{
    ct_packet_setting set = ct_packet_plain(3, CT_SHIFT, 1000000);

    set.shape        = CT_SWITCH_RING;
    set.n_rounds     = 8;
    set.ports[0].bps = set.inner_bps = 100000000000;
    set.xoff                         = 20000;
    set.xon                          = 10000;
    return set;
}

static int64_t one_of(ct_rng *rng, const int64_t *values, uint32_t n)
{
    return values[ct_below(rng, n)];
}

#define ONE_OF(rng, ...) \
    one_of(rng, (const int64_t[]){__VA_ARGS__}, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

static void draw_links(ct_packet_setting *set, ct_rng *rng)
{
    for (uint32_t i = 0; i < 2; i++) {
        ct_packet_ports *p = &set->ports[i];
        p->bps             = ONE_OF(rng, 10, 100, 200, 400, 3600) * 1000000000;
        p->mtu             = ONE_OF(rng, 256, 1500, 4096, 9000);
        p->header          = ONE_OF(rng, 0, 1, 26, 66, 82);
        p->delay           = ONE_OF(rng, 0, 1, 100, 5000, 100000, 500000, 1500000);
        p->startup         = ONE_OF(rng, 0, 0, 0, 1, 1000, 700000);
    }
    set->inner_bps =
        ct_below(rng, 2) > 0 ? set->ports[0].bps : ONE_OF(rng, 50, 100, 800) * 1000000000;
    set->inner_delay =
        ct_below(rng, 2) > 0 ? set->ports[0].delay : ONE_OF(rng, 0, 1, 100, 5000, 100000, 1500000);
    set->is_uneven = ct_below(rng, 3) == 0;
    set->routes    = (ct_packet_routes)ct_below(rng, 3);
    set->cut_through_bytes =
        ONE_OF(rng, 0, 0, 64, 1 + ct_below(rng, (uint32_t)set->ports[0].mtu + 100));
}

static uint32_t n_messages(const ct_packet_setting *set)
{
    const uint32_t n = set->n_ranks;

    return set->pattern == CT_FAN_IN                                   ? n - 1
           : set->pattern == CT_RANDOM                                 ? set->n_rounds
           : set->pattern == CT_ALL_PAIRS || set->pattern == CT_INCAST ? set->n_rounds * n * (n - 1)
                                                                       : set->n_rounds * n;
}

static void draw_messages(ct_packet_setting *set, ct_rng *rng)
{
    static const uint32_t most_rounds[] = {
        [CT_FAN_IN] = 1, [CT_RING] = 14,  [CT_RHD] = 8,     [CT_ALL_PAIRS] = 2,
        [CT_INCAST] = 2, [CT_SHIFT] = 14, [CT_RANDOM] = 300};

    set->pattern  = (ct_packet_pattern)ct_below(rng, 9);
    set->pattern  = set->pattern > CT_RANDOM ? CT_RANDOM : set->pattern;
    set->n_rounds = 1 + ct_below(rng, most_rounds[set->pattern]);
    if (set->pattern == CT_RHD) {
        set->n_ranks = 2u << ct_below(rng, 4);
    }
    const int64_t packets = ONE_OF(rng, 100, 300, 1000, 3000) / n_messages(set) + 1;
    set->bytes            = 1 + ct_below(rng, (uint32_t)(packets * set->ports[0].mtu));
}

static void draw_queues(ct_packet_setting *set, ct_packet_queues queues, ct_rng *rng)
{
    if (queues == CT_LOSSLESS) {
        set->xoff = ONE_OF(rng, 1, 10000, 30000, 100000, 400000, 1 + ct_below(rng, 400000));
        set->xon  = ONE_OF(rng, 0, set->xoff, set->xoff / 2, set->xoff / 3);
    } else if (queues == CT_LOSSY) {
        set->queue_bytes = 9000 + 82 + ct_below(rng, 1u << (4 + ct_below(rng, 16)));
    }
}

static cs_packet_dcqcn draw_dcqcn(ct_rng *rng)
{
    return (cs_packet_dcqcn){
        .is_there        = ct_below(rng, 2) == 0,
        .g               = 1.0 / (double)ONE_OF(rng, 256, 16),
        .first_alpha     = 1.0 / (double)ONE_OF(rng, 1, 2),
        .first_cnp       = ct_uniform(rng, 0.5, 1),
        .least           = ONE_OF(rng, 0, 1) > 0 ? 0.5 : 0,
        .cnp_interval    = ONE_OF(rng, 0, 4000000, 50000000),
        .alpha_period    = ONE_OF(rng, 1000000, 55000000),
        .decrease_period = ONE_OF(rng, 0, 4000000),
        .increase_period = ONE_OF(rng, 1000000, 10000000, 55000000),
        .byte_counter    = ONE_OF(rng, 0, 10000, 100000, 10000000),
        .ai_bps          = ONE_OF(rng, 40000000, 1000000000),
        .hai_bps         = ONE_OF(rng, 400000000, 5000000000),
        .min_bps         = ONE_OF(rng, 1000000000, 20000000000),
        .fast_recovery   = ONE_OF(rng, 0, 1, 5),
        .clamp_target    = ct_below(rng, 2) == 0,
        .hai_grows       = ct_below(rng, 2) == 0,
    };
}

/* Longer than all packets can take one after the other. */
static cs_ps generous_timeout(const ct_packet_setting *set)
{
    int64_t bps = set->inner_bps;

    for (int i = 0; i < 2; i++) {
        bps = set->ports[i].bps < bps ? set->ports[i].bps : bps;
    }
    return cs_packet_ps(bps, 9082) * n_messages(set) * (1 + set->bytes / set->ports[0].mtu) *
           (set->is_uneven ? 3 : 1) * (set->n_changes > 0 ? 8 : 1);
}

static void draw_transport(ct_packet_setting *set, ct_rng *rng)
{
    cs_packet_transport *t    = &set->transport;
    const cs_ps          trip = 4 * (set->ports[0].delay + set->inner_delay) + 1000000;
    const int64_t        kmin = ct_below(rng, 1u << (1 + ct_below(rng, 17)));

    *t = (cs_packet_transport){
        .recovery = (cs_packet_recovery)ONE_OF(rng, CS_RECOVER_NONE, CS_RECOVER_GBN, CS_RECOVER_GBN,
                                               CS_RECOVER_SELECTIVE, CS_RECOVER_SELECTIVE),
        .window   = ONE_OF(rng, 0, 1, 4, 1 + ct_below(rng, 100)),
        .ack_every = 1 + ct_below(rng, 8),
        .rto = ONE_OF(rng, trip, 3 * trip, 10 * trip, 500000000, trip + generous_timeout(set)),
        .error_rate = (double)ONE_OF(rng, 0, 0, 1, 10, 100) / 1000,
        .kmin       = kmin,
        .kmax       = ONE_OF(rng, 0, kmin, 2 * kmin + 1, 200000 + kmin),
        .pmax       = (double)ONE_OF(rng, 1, 20, 100) / 100,
        .ecn_bps    = ONE_OF(rng, 0, 0, 25000000000, 400000000000),
        .dcqcn      = draw_dcqcn(rng),
    };
    if (t->window > 0 && t->ack_every > t->window) {
        t->ack_every = t->window;
    }
    if (t->dcqcn.alpha_period < t->rto / 1000) {
        t->dcqcn.alpha_period = t->rto / 1000;
    }
    if (t->recovery == CS_RECOVER_NONE) {
        t->error_rate     = 0;
        t->window         = 0;
        t->dcqcn.is_there = false;
    }
}

/* Long messages to one rank, whose rates are controlled: with timers of some packets' time. */
static void congest(ct_packet_setting *set, ct_rng *rng)
{
    const int64_t   bytes = set->ports[0].mtu + set->ports[0].header, bps = set->ports[0].bps;
    const cs_ps     slot  = cs_packet_ps(bps, bytes);
    cs_packet_dcqcn dcqcn = draw_dcqcn(rng);

    dcqcn.is_there        = true;
    dcqcn.cnp_interval    = ONE_OF(rng, 0, 4, 50) * slot;
    dcqcn.alpha_period    = ONE_OF(rng, 7, 50) * slot;
    dcqcn.decrease_period = ONE_OF(rng, 0, 0, 4, 50) * slot;
    dcqcn.increase_period = ONE_OF(rng, 5, 20, 100) * slot;
    dcqcn.byte_counter    = ONE_OF(rng, 0, 10, 50) * bytes;
    dcqcn.ai_bps          = bps / ONE_OF(rng, 20, 1000);
    dcqcn.hai_bps         = bps / ONE_OF(rng, 2, 100);
    dcqcn.min_bps         = bps / ONE_OF(rng, 2, 100, 1000);
    set->transport        = (cs_packet_transport){
               .recovery =
                   (cs_packet_recovery)ONE_OF(rng, CS_RECOVER_GBN, CS_RECOVER_GBN, CS_RECOVER_SELECTIVE),
               .ack_every = 1 + ct_below(rng, 8),
               .kmin      = ct_below(rng, 20) * bytes,
               .pmax      = ct_uniform(rng, 0.01, 1),
               .dcqcn     = dcqcn,
    };
    set->transport.kmax = set->transport.kmin + ct_below(rng, 40) * bytes + 1;
    set->transport.rto  = 4 * (set->ports[0].delay + set->inner_delay) + generous_timeout(set);
}

ct_packet_setting ct_packet_random(uint64_t seed, ct_packet_queues queues)
{
    ct_rng            rng = {seed ^ (uint64_t)queues << 48};
    ct_packet_setting set = ct_packet_plain(2 + ct_below(&rng, 14), CT_FAN_IN, 1);
    cs_ps             slot, time;

    (void)ct_word(&rng);
    set.seed  = seed;
    set.shape = (ct_packet_shape)ct_below(&rng, 4);
    draw_links(&set, &rng);
    draw_messages(&set, &rng);
    if (queues == CT_CONGESTED) {
        set.pattern      = CT_FAN_IN;
        set.n_rounds     = 1;
        set.n_ranks      = 3 + ct_below(&rng, 4);
        set.bytes        = set.ports[0].mtu * (1000 + ct_below(&rng, 3000)) / set.n_ranks;
        set.ports[0].bps = ONE_OF(&rng, 100, 200, 400) * 1000000000;
    }
    set.n_switches = 1 + ct_below(&rng, set.shape == CT_LEAF_SPINE ? 4 : MOST_SWITCHES);
    set.n_spines   = 1 + ct_below(&rng, 4);
    set.n_paths    = 1 + ct_below(&rng, 4);
    if (ct_below(&rng, 3) == 0) {
        set.server    = 2 + ct_below(&rng, set.n_ranks - 1);
        set.is_direct = ct_below(&rng, 2) == 0;
    }
    /* Half of the settings have times that fall together. */
    slot = cs_packet_ps(set.ports[0].bps, set.ports[0].mtu + set.ports[0].header);
    time = (1 + n_messages(&set) / set.n_ranks) *
           (slot * (1 + set.bytes / set.ports[0].mtu) + set.ports[0].delay);
    set.late =
        ct_below(&rng, 40) == 0 ? 4000000000000000 : ONE_OF(&rng, 0, 0, 1000000, 50000000, time);
    set.change_by = 2 * time;
    set.n_changes = ct_below(&rng, 2) * ct_below(&rng, 8);
    if (ct_below(&rng, 2) == 0) {
        set.late_step = set.change_step = slot;
    }
    if (queues == CT_TRANSPORTED || queues == CT_CONGESTED) {
        set.bytes /= 1 + ct_below(&rng, 10);
        draw_queues(&set, (ct_packet_queues)ct_below(&rng, queues == CT_CONGESTED ? 2 : 3), &rng);
    } else {
        draw_queues(&set, queues, &rng);
    }
    if (queues == CT_TRANSPORTED) {
        draw_transport(&set, &rng);
    } else if (queues == CT_CONGESTED) {
        congest(&set, &rng);
    }
    return set;
}

const char *ct_packet_text(const ct_packet_setting *set)
{
    static const char *const shapes[]   = {"crossbar", "leaf/spine", "ring", "graph"};
    static const char *const patterns[] = {"fan-in", "ring",  "rhd",   "all pairs",
                                           "incast", "shift", "random"};
    static char              text[600];

    (void)snprintf(
        text, sizeof text,
        "seed %" PRIu64 ": %s of %" PRIu32 " ranks (switches %" PRIu32 ", spines %" PRIu32
        ", server %" PRIu32 "%s), %s, %" PRIu32 " rounds of %" PRId64 " bytes, mtu %" PRId64
        ", header %" PRId64 ", %" PRId64 " Gb/s, routes %d, cut-through %" PRId64 ", xoff %" PRId64
        ", xon %" PRId64 ", queue %" PRId64 ", changes %" PRIu32 ", late %" PRId64
        " ps, delay %" PRId64 " ps%s, recovery %d, window %" PRId64 ", error rate %g, kmax %" PRId64
        ", dcqcn %d",
        set->seed, shapes[set->shape], set->n_ranks, set->n_switches, set->n_spines, set->server,
        set->is_direct ? " direct" : "", patterns[set->pattern], set->n_rounds, set->bytes,
        set->ports[0].mtu, set->ports[0].header, set->ports[0].bps / 1000000000, (int)set->routes,
        set->cut_through_bytes, set->xoff, set->xon, set->queue_bytes, set->n_changes, set->late,
        set->ports[0].delay, set->is_uneven ? ", uneven" : "", (int)set->transport.recovery,
        set->transport.window, set->transport.error_rate, set->transport.kmax,
        (int)set->transport.dcqcn.is_there);
    return text;
}

ct_packet_seeds ct_packet_seeds_of(uint64_t n)
{
    const char *first = getenv("COLLSIM_PACKET_SEED"), *more = getenv("COLLSIM_PACKET_CASES");

    return (ct_packet_seeds){first != NULL ? strtoull(first, NULL, 10) : ct_seed() * 1000000,
                             more != NULL ? strtoull(more, NULL, 10) : n};
}
