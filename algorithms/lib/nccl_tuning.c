/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Facts of NCCL's src/graph/tuning.cc, search.cc, topo.h, connect.cc and enqueue.cc, tags v2.8.4 to
 * v2.30.7. Every number of the tuner stands in the tables at the top, with the version that brought
 * it; those of the times that runs take are in nccl_time.c. */
#include "algorithms/lib/nccl_tuning.h"

#include <math.h>
#include <string.h>

const char *const cs_nccl_algorithm_names[CS_NCCL_ALGORITHMS] = {"tree", "ring", "nvls", "nvlstree",
                                                                 "pat"};
const char *const cs_nccl_protocol_names[CS_NCCL_PROTOCOLS]   = {"ll", "ll128", "simple"};

/* ---- tables ---- */

/* From this version on; a row holds until the next of its table. Latencies in us. */
typedef struct latencies {
    uint32_t since;
    double   base[CS_NCCL_ALGORITHMS][CS_NCCL_PROTOCOLS];
    double   nvlink[CS_NCCL_ALGORITHMS][CS_NCCL_PROTOCOLS];
    double   network[CS_NCCL_ALGORITHMS][CS_NCCL_PROTOCOLS];
} latencies;

/* clang-format off */
/* tuning.cc: baseLatencies, hwLatencies. Tree, Ring, NVLS, NVLSTree, PAT. */
static const latencies latency_table[] = {
    {8,  {{4.4, 4.4, 0}, {3.6, 10, 8.4}, {0}, {0}, {0}},
         {{.52, 1.25, 28}, {.47, 1.9, 3.4}, {0, 0, 23}, {0, 0, 23}, {0}},
         {{5, 8.5, 28}, {2.7, 4, 9.6}, {0, 0, 18}, {0, 0, 14}, {0}}},
    {18, {{6.8, 14, 0}, {6.6, 14, 8.4}, {0}, {0}, {0}},
         {{.6, 1.25, 28}, {.6, 1.9, 3.4}, {0, 0, 23}, {0, 0, 23}, {0}},
         {{5, 8.5, 28}, {2.7, 4, 14}, {0, 0, 18}, {0, 0, 14}, {0}}},
    {21, {{6.8, 14, 0}, {6.6, 14, 8.4}, {0}, {0}, {0}},
         {{.6, 1.25, 28}, {.6, 1.9, 3.4}, {0, 0, 25}, {0, 0, 25}, {0}},
         {{5, 8.5, 28}, {2.7, 4, 14}, {0, 0, 18}, {0, 0, 14}, {0}}},
    {23, {{6.8, 14, 8.4}, {6.6, 14, 8.4}, {0}, {0}, {8, 8, 8}},
         {{.6, 1.25, 4}, {.6, 1.9, 3.4}, {0, 0, 25}, {0, 0, 25}, {0, 0, 4}},
         {{5, 8.5, 14}, {2.7, 4, 14}, {0, 0, 18}, {0, 0, 14}, {0, 0, 14}}},
    {29, {{6.8, 14, 8.4}, {6.6, 14, 8.4}, {0}, {0}, {8, 8, 8}},
         {{.6, 1.25, 4}, {.6, 1.9, 3.4}, {0, 0, 25}, {0, 0, 25}, {0, 0, 4}},
         {{5, 8.5, 14}, {2.7, 4, 14}, {0, 0, 18}, {0, 0, 20.9}, {0, 0, 14}}},
};

/* Limits of the rates in GB/s, of a channel but `ll`, for 1, 2 and more servers. */
enum { SPANS = 3 };
typedef struct caps {
    uint32_t    since;
    cs_nccl_gpu gpu;
    double      ll[SPANS];     /* llMaxBws: of all channels, in one server */
    double      ring[SPANS];   /* perChMaxRingLL128Bws */
    double      ll128[SPANS];  /* perChMaxTreeLL128Bws */
    double      tree[SPANS];   /* perChMaxTreeBws */
    double      nvlstree[SPANS]; /* perChMaxNVLSTreeBws; 0: no limit */
} caps;
static const caps cap_table[] = { /* a later row of a GPU replaces an earlier one */
    {8,  CS_NCCL_VOLTA,     {39, 39, 20.4},     {16.9, 16.9, 16.9}, {20, 20, 20},       {26.5, 18.5, 10},   {0}},
    {8,  CS_NCCL_AMPERE,    {87.7, 22.5, 19},   {16.9, 16.9, 16.9}, {20, 20, 20},       {24, 23.6, 17.8},   {0}},
    {8,  CS_NCCL_HOPPER,    {87.7, 22.5, 19},   {16.9, 16.9, 16.9}, {36.7, 36.7, 29},   {38.7, 41.4, 36},   {0}},
    {8,  CS_NCCL_BLACKWELL, {282, 90, 70},      {16.9, 16.9, 16.9}, {73.4, 73.4, 58},   {77.4, 82.8, 72},   {0}},
    {9,  CS_NCCL_VOLTA,     {39, 39, 20.4},     {20, 20, 20},       {20, 20, 20},       {26.5, 18.5, 10},   {0}},
    {9,  CS_NCCL_AMPERE,    {87.7, 22.5, 19},   {20, 20, 20},       {20, 20, 20},       {24, 23.6, 17.8},   {0}},
    {9,  CS_NCCL_HOPPER,    {87.7, 22.5, 19},   {36.7, 36.7, 36.7}, {36.7, 36.7, 29},   {38.7, 41.4, 36},   {0}},
    {9,  CS_NCCL_BLACKWELL, {282, 90, 70},      {36.7, 36.7, 36.7}, {73.4, 73.4, 58},   {77.4, 82.8, 72},   {0}},
    {18, CS_NCCL_BLACKWELL, {282, 90, 70},      {73.4, 73.4, 73.4}, {73.4, 73.4, 58},   {77.4, 82.8, 72},   {0}},
    {21, CS_NCCL_HOPPER,    {141, 45, 35},      {36.7, 36.7, 36.7}, {36.7, 36.7, 29},   {38.7, 41.4, 36},   {0}},
    {28, CS_NCCL_HOPPER,    {141, 45, 35},      {36.7, 36.7, 36.7}, {36.7, 36.7, 29},   {38.7, 41.4, 36},   {0, 57.7, 45.5}},
    {28, CS_NCCL_BLACKWELL, {282, 90, 70},      {73.4, 73.4, 73.4}, {55.6, 31.67, 20},  {70, 42.8, 24},     {0, 96, 43.1}},
    {29, CS_NCCL_BLACKWELL, {282, 90, 70},      {34.5, 34.6, 34.5}, {55.6, 31.67, 20},  {70, 42.8, 24},     {0, 96, 43.8}},
    {30, CS_NCCL_BLACKWELL, {282, 90, 70},      {40, 40, 40},       {55.6, 31.67, 20},  {70, 42.8, 24},     {0, 96, 80}},
};
/* Over several servers the rows of llMaxBws are those of the CPU: Intel and others, AMD. */
static const double ll_cap_of_cpu[2][SPANS] = {{39, 39, 20.4}, {87.7, 22.5, 19}};

/* Until 2.17 the rate of all channels together was limited (Ampere, Hopper). */
static const double old_cap_GBps[CS_NCCL_GPUS] = {0, 235, 370, 370};

/* treeCorrectionFactor, by floor(log2(bytes / 64)); 1 beyond. */
enum { TREE_FACTORS = 23 };
static const double tree_factors[CS_NCCL_PROTOCOLS][TREE_FACTORS] = {
    {1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1},
    {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1},
    {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9},
};

/* topo.h: what the search counts for one NVLink, and how many links make up the data sheet's rate. */
typedef struct gpu_row {
    double   link_GBps, links, sheet_GBps;
    double   nvls_efficiency; /* nvlsEfficiency, from 2.28 on */
    double   intra[16], inter[24]; /* speeds that the search tries, fastest first; 0 ends */
} gpu_row;
#define OLD_INTRA {40, 30, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3}
#define OLD_INTER {48, 30, 28, 24, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3, 2.4, 1.2, .24, .12}
static const gpu_row gpu_table[CS_NCCL_GPUS] = {
    {20, 6, 150, 0, OLD_INTRA, OLD_INTER},
    {20, 12, 300, 0, OLD_INTRA, OLD_INTER},
    {20.6, 18, 450, .85, {60, 50, 40, 30, 24, 20, 15, 12, 11, 6, 3},
     {48, 45, 42, 40, 30, 24, 22, 20, 17.5, 15, 12, 6, 3, 2.4, 1.2, .24, .12}},
    {40.1, 18, 900, .74, {90, 80, 70, 60, 50, 40, 30, 24, 20, 19, 18},
     {96, 48, 45.1, 42, 40, 30, 24, 22, 20, 17.5, 15, 12, 6, 3, 2.4, 1.2, .24, .12}},
};
/* Speeds between servers that 2.30 tries beside those of Blackwell, and one inside that 2.29
 * replaced. */
static const double inter_since_230[] = {86, 80};
#define INTRA_BEFORE_229 50.0
#define INTRA_SINCE_229  45.0

/* What a network plugin declares as latencyInter. */
static const double plugin_latency_us[CS_NCCL_FABRICS] = {0, 0, 75, 75, 0};

/* enqueue.cc: threads of a channel and least bytes of each. LL of a ring: times the ranks. */
static const double threads_of[CS_NCCL_PROTOCOLS] = {512, 640, 512};
static const double least_bytes[CS_NCCL_PROTOCOLS] = {8, 8, 64};
/* clang-format on */

enum { MOST_SEARCHED = 32, MOST_CHANNELS = 64, OLD_CHANNELS = 32 };
#define SLACK 1e-9 /* of a comparison of rates */

double cs_nccl_sheet_GBps(cs_nccl_gpu gpu)
{
    return gpu_table[gpu].sheet_GBps;
}

double cs_nccl_plugin_latency_us(cs_nccl_fabric fabric)
{
    return plugin_latency_us[fabric];
}

static const latencies *latencies_of(uint32_t minor)
{
    const latencies *found = latency_table;

    for (size_t i = 0; i < sizeof latency_table / sizeof latency_table[0]; i++) {
        found = latency_table[i].since <= minor ? &latency_table[i] : found;
    }
    return found;
}

static const caps *caps_of(uint32_t minor, cs_nccl_gpu gpu)
{
    const caps *found = cap_table;

    for (size_t i = 0; i < sizeof cap_table / sizeof cap_table[0]; i++) {
        found = cap_table[i].since <= minor && cap_table[i].gpu == gpu ? &cap_table[i] : found;
    }
    return found;
}

/* ---- the search of graphs ---- */

/* Speeds that are tried, fastest first. */
typedef struct speeds {
    double GBps[24];
    size_t n;
} speeds;

static speeds speeds_of(const cs_nccl_cluster *c, uint32_t minor)
{
    const gpu_row *row  = &gpu_table[c->gpu];
    const double  *from = c->servers == 1 ? row->intra : row->inter;
    speeds         s    = {.n = 0};

    for (size_t i = 0; from[i] > 0; i++) {
        double speed = from[i];
        if (c->gpu == CS_NCCL_BLACKWELL && c->servers == 1 && minor >= 29 &&
            speed == INTRA_BEFORE_229) {
            speed = INTRA_SINCE_229;
        }
        s.GBps[s.n++] = speed;
        if (c->gpu == CS_NCCL_BLACKWELL && c->servers > 1 && minor >= 30 && i == 0) {
            s.GBps[s.n++] = inter_since_230[0];
            s.GBps[s.n++] = inter_since_230[1];
        }
    }
    return s;
}

/* A GPU's NVLinks as the search counts them. */
static double nvlink_of(const cs_nccl_cluster *c)
{
    const gpu_row *row = &gpu_table[c->gpu];
    return row->link_GBps * row->links * c->sheet_GBps / row->sheet_GBps;
}

static double nic_of(const cs_nccl_cluster *c)
{
    return c->nic_GBps < c->pcie_GBps ? c->nic_GBps : c->pcie_GBps;
}

/* How many channels of a speed fit. */
static double ring_room(const cs_nccl_cluster *c, double speed)
{
    double room = c->gpus > 1 ? floor(nvlink_of(c) / speed + SLACK) : (double)MOST_SEARCHED;

    if (c->servers > 1) {
        room = fmin(room, c->nics * floor(nic_of(c) / speed + SLACK));
    }
    return fmin(room, MOST_SEARCHED);
}

static cs_nccl_graph search_ring(const cs_nccl_cluster *c, const speeds *tried)
{
    double k = 0, best = 0;

    for (size_t i = 0; i < tried->n; i++) {
        const double speed = tried->GBps[i], room = ring_room(c, speed);
        if (room < 1) {
            continue;
        }
        if (room * speed > k * best) {
            k    = room;
            best = speed;
        }
        if (k * best >= nvlink_of(c) || (i + 1 < tried->n && tried->GBps[i + 1] / best <= .49)) {
            break;
        }
    }
    if (k == 0) {
        k    = 1;
        best = .1;
    }
    if (best >= 25 && !(c->gpu >= CS_NCCL_HOPPER && best < 50 && k > 4)) {
        const double doubled = fmin(2 * k, MOST_SEARCHED);
        best /= ceil(doubled / k);
        k = doubled;
    }
    return (cs_nccl_graph){(uint32_t)k, best, best};
}

/* As many channels as the ring; over servers the speed inside is raised, then that between. */
static cs_nccl_graph search_tree(const cs_nccl_cluster *c, const cs_nccl_graph *ring,
                                 const speeds *tried)
{
    cs_nccl_graph tree  = *ring;
    const double  k     = ring->channels;
    const double  total = c->gpus > 1 ? nvlink_of(c) * c->gpus / (c->gpus - 1.0) : 1e9;

    if (c->servers == 1) {
        return tree;
    }
    for (size_t i = 0; i < tried->n; i++) {
        const double s = tried->GBps[i];
        if (s < 2 * ring->inter_GBps + SLACK && s * k <= total + SLACK && s >= ring->inter_GBps) {
            tree.intra_GBps = s;
            break;
        }
    }
    for (size_t i = 0; i < tried->n; i++) {
        const double s = tried->GBps[i];
        if (s * fmax(1, k / c->nics) <= nic_of(c) && s * k <= total && s >= ring->inter_GBps) {
            tree.inter_GBps = s;
            break;
        }
    }
    tree.intra_GBps = fmax(tree.intra_GBps, tree.inter_GBps);
    return tree;
}

/* Every port carries the pieces of all heads once and its own twice. */
static cs_nccl_graph search_nvls(const cs_nccl_cluster *c, const speeds *tried)
{
    uint32_t     heads = c->gpus < 32 ? c->gpus : 32;
    const double limit = c->servers > 1 ? nic_of(c) : (double)INFINITY;
    double       intra = 0;

    if (c->servers > 1 && c->nics < heads) {
        heads = c->nics;
    }
    for (size_t i = 0; i < tried->n && intra == 0; i++) {
        const double s = tried->GBps[i];
        intra          = s <= limit && (heads + 1) * s <= nvlink_of(c) + SLACK ? s : 0;
    }
    double inter = intra;
    for (size_t i = tried->n; i > 0 && intra > 0; i--) { /* slowest first */
        const double s        = tried->GBps[i - 1];
        const bool   is_below = c->servers == 1 ? s < 2 * intra : s <= limit && inter < 2 * intra;
        inter                 = s > inter && is_below ? s : inter;
    }
    return (cs_nccl_graph){intra > 0 ? heads : 0, intra, inter};
}

/* ---- costs ---- */

static uint32_t floor_log2(uint32_t n)
{
    uint32_t log = 0;

    while (n >>= 1) {
        log++;
    }
    return log;
}

static bool is_allreduce(const cs_nccl_tuning *t)
{
    return t->collective == CS_ALLREDUCE;
}

static uint32_t span_of(const cs_nccl_cluster *c)
{
    return c->servers < SPANS ? c->servers - 1 : SPANS - 1;
}

/* Can the library use it here? */
static bool is_there(const cs_nccl_tuning *t, cs_nccl_algorithm a, cs_nccl_protocol p)
{
    const cs_nccl_cluster *c       = t->cluster;
    const bool             is_nvls = t->nvls.channels >= 2 && p == CS_NCCL_SIMPLE;

    if (c->is_mi300x) {
        return a == CS_NCCL_RING;
    }
    switch (a) {
    case CS_NCCL_TREE: return is_allreduce(t);
    case CS_NCCL_RING: return true;
    case CS_NCCL_NVLS: return is_nvls && c->servers == 1;
    case CS_NCCL_NVLS_TREE:
        return is_nvls && c->servers > 1 && t->setting.minor >= 18 && is_allreduce(t);
    case CS_NCCL_PAT:
        return c->gpus == 1 && t->setting.minor >= 23 && p == CS_NCCL_SIMPLE && !is_allreduce(t);
    case CS_NCCL_ALGORITHMS: break;
    }
    return false;
}

/* Steps of a ring that pass between servers, as the version counts them. */
static double ring_network_steps(const cs_nccl_tuning *t)
{
    const double servers = t->cluster->servers;

    if (servers == 1) {
        return 0;
    }
    return !is_allreduce(t)         ? servers - 1
           : t->setting.minor >= 23 ? 2 * (servers - 1)
                                    : 2 * servers;
}

static double latency_of(const cs_nccl_tuning *t, cs_nccl_algorithm a, cs_nccl_protocol p)
{
    const cs_nccl_cluster *c       = t->cluster;
    const latencies       *l       = latencies_of(t->setting.minor);
    const double           plugin  = plugin_latency_us[c->fabric];
    const bool             is_old  = t->setting.minor < 18;
    const bool             is_tree = c->gpus == 1 && t->setting.minor >= 23;
    const double           hop     = l->network[is_tree ? CS_NCCL_TREE : a][p];
    const double           log     = floor_log2(c->servers);
    double                 intra   = l->nvlink[a][p];
    double inter = (is_old && plugin > 0 ? 0 : hop) + plugin * (p == CS_NCCL_SIMPLE ? 2 : 1);

    if (a == CS_NCCL_PAT) {
        return l->base[a][p] + log * inter / 3.5 + 2.8 * t->ranks;
    }
    if (a == CS_NCCL_RING) {
        const double network = ring_network_steps(t);
        double       least   = 0;
        if (c->servers > 1) {
            least = (c->is_amd_cpu ? 2.0 : 1.0) * (p == CS_NCCL_SIMPLE ? 3 : 1);
            intra *= is_old && p == CS_NCCL_LL ? 1.8 : 1;
        }
        return l->base[a][p] + (t->steps - network) * fmax(intra, least) + network * inter;
    }
    if (a == CS_NCCL_TREE) {
        return l->base[a][p] + 2 * ((c->gpus - 1) * intra + log * inter);
    }
    return intra + (a == CS_NCCL_NVLS_TREE ? 2 * log * inter : 0);
}

/* A channel's rate by NVLS or NVLSTree. */
static double nvls_rate(const cs_nccl_tuning *t, cs_nccl_algorithm a)
{
    const cs_nccl_cluster *c     = t->cluster;
    const cs_nccl_graph   *g     = &t->nvls;
    const double           heads = g->channels, gpus = c->gpus;

    if (t->setting.minor < 28) {
        if (a == CS_NCCL_NVLS_TREE) {
            return fmin(g->intra_GBps, c->servers <= 2 ? g->inter_GBps : g->inter_GBps / 2);
        }
        return is_allreduce(t) || t->setting.minor < 27
                   ? fmin(g->intra_GBps, g->inter_GBps)
                   : fmin(g->intra_GBps * (gpus - 1) / gpus, g->inter_GBps * .9);
    }
    const double cap = caps_of(t->setting.minor, c->gpu)->nvlstree[span_of(c)];
    double       own = g->intra_GBps * gpu_table[c->gpu].nvls_efficiency * (heads - 1) / heads;
    own *= is_allreduce(t) ? 2 : (gpus - 1) / gpus;
    const double far = g->inter_GBps * (a == CS_NCCL_NVLS_TREE && c->servers <= 2 ? 2 : 1);
    return fmin(fmin(own, far), a == CS_NCCL_NVLS_TREE && cap > 0 ? cap : (double)INFINITY);
}

static double ring_rate(const cs_nccl_tuning *t, cs_nccl_protocol p, double bus, double ll_cap)
{
    const cs_nccl_cluster *c = t->cluster;

    if (p == CS_NCCL_LL) {
        const double old = c->servers > 1 || is_allreduce(t) ? .25 : 1.0 / 3;
        return fmin(ll_cap, bus * (t->setting.minor >= 21 ? .5 : old));
    }
    if (p == CS_NCCL_LL128) {
        return fmin(bus * .92,
                    t->ring.channels * caps_of(t->setting.minor, c->gpu)->ring[span_of(c)]);
    }
    return bus;
}

static double tree_rate(const cs_nccl_tuning *t, cs_nccl_protocol p, double bus, double ll_cap)
{
    const cs_nccl_cluster *c    = t->cluster;
    const caps            *cap  = caps_of(t->setting.minor, c->gpu);
    double                 rate = fmin(bus * .92, t->tree.channels * cap->tree[span_of(c)]);

    if (p == CS_NCCL_LL) {
        rate = fmin(rate / 3.8, ll_cap);
    } else if (p == CS_NCCL_LL128) {
        rate = fmin(rate * (c->servers == 1 ? 7.0 / 9 : 120.0 / 128),
                    t->tree.channels * cap->ll128[span_of(c)]);
    }
    /* all of a channel's traffic over NICs on one GPU */
    const bool is_narrow = c->servers > 1 && (c->gpu >= CS_NCCL_HOPPER || c->gpus == 1);
    return is_narrow ? rate * .85 : rate;
}

/* What part of the bus rate is the rate of the size column. */
static double share_of(const cs_nccl_tuning *t, cs_nccl_algorithm a)
{
    const double servers = t->cluster->servers, exact = (double)t->ranks / t->steps;

    if (a == CS_NCCL_RING) {
        return exact;
    }
    if (!is_allreduce(t)) {
        return 1;
    }
    if (a == CS_NCCL_TREE) {
        return .5;
    }
    if (t->setting.minor == 18) {
        return a == CS_NCCL_NVLS ? .75 : .7 * servers / (2 * (servers - 1));
    }
    return t->setting.minor >= 28 ? exact : 5.0 / 6;
}

static double bandwidth_of(const cs_nccl_tuning *t, cs_nccl_algorithm a, cs_nccl_protocol p)
{
    const cs_nccl_cluster *c       = t->cluster;
    const bool             is_nvls = a == CS_NCCL_NVLS || a == CS_NCCL_NVLS_TREE;
    const cs_nccl_graph   *g       = is_nvls ? &t->nvls : a == CS_NCCL_TREE ? &t->tree : &t->ring;
    const double ll_cap = c->servers > 1 ? ll_cap_of_cpu[c->is_amd_cpu ? 1 : 0][span_of(c)]
                                         : caps_of(t->setting.minor, c->gpu)->ll[0];
    double       rate = is_nvls ? nvls_rate(t, a) : c->servers <= 2 ? g->intra_GBps : g->inter_GBps;
    double       bus  = g->channels * rate;

    if (t->setting.minor < 18 && old_cap_GBps[c->gpu] > 0) {
        bus = fmin(bus, old_cap_GBps[c->gpu]);
    }
    if (a == CS_NCCL_RING) {
        bus = ring_rate(t, p, bus, ll_cap);
    } else if (a == CS_NCCL_TREE) {
        bus = tree_rate(t, p, bus, ll_cap);
    } else if (a == CS_NCCL_PAT) {
        bus *= .75;
    }
    return bus * share_of(t, a);
}

void cs_nccl_tune(const cs_nccl_cluster *cluster, const cs_nccl_setting *setting,
                  cs_collective collective, cs_nccl_tuning *tuning)
{
    const speeds   tried    = speeds_of(cluster, setting->minor);
    const uint32_t ranks    = cluster->servers * cluster->gpus;
    const bool     has_nvls = setting->has_nvls && setting->minor >= 17 && cluster->has_nvswitch &&
                          cluster->gpu >= CS_NCCL_HOPPER && cluster->gpus > 2;
    cs_nccl_tuning t = {.cluster = cluster, .setting = *setting, .collective = collective};

    t.ranks = ranks;
    t.steps = collective == CS_ALLREDUCE ? 2 * (ranks - 1) : ranks - 1;
    t.ring  = search_ring(cluster, &tried);
    t.tree  = search_tree(cluster, &t.ring, &tried);
    if (has_nvls) {
        t.nvls = search_nvls(cluster, &tried);
    }
    const uint32_t most = setting->minor >= 25 ? MOST_CHANNELS : OLD_CHANNELS;
    t.channels          = 2 * t.ring.channels < most ? 2 * t.ring.channels : most;
    if (cluster->gpu >= CS_NCCL_HOPPER && cluster->servers > 1 && t.ring.intra_GBps > 45 &&
        t.channels < 16) {
        t.channels *= 2;
    }
    t.nvls_channels = cluster->gpu == CS_NCCL_HOPPER ? 16 : cluster->servers == 1 ? 24 : 32;
    for (uint32_t a = 0; a < CS_NCCL_ALGORITHMS; a++) {
        for (uint32_t p = 0; p < CS_NCCL_PROTOCOLS; p++) {
            if (is_there(&t, a, p)) {
                t.cost[a][p] = (cs_nccl_cost){latency_of(&t, a, p), bandwidth_of(&t, a, p)};
            }
        }
    }
    *tuning = t;
}

/* ---- the choice ---- */

double cs_nccl_tree_factor(cs_nccl_protocol protocol, double bytes)
{
    uint32_t at = 0;

    if (bytes < 64) {
        return 1;
    }
    while (at < TREE_FACTORS && bytes >= ldexp(128, (int)at)) {
        at++;
    }
    return at < TREE_FACTORS ? tree_factors[protocol][at] : 1;
}

double cs_nccl_estimate_us(const cs_nccl_tuning *tuning, cs_nccl_algorithm algorithm,
                           cs_nccl_protocol protocol, double bytes)
{
    const cs_nccl_cluster *c       = tuning->cluster;
    const cs_nccl_cost    *cost    = &tuning->cost[algorithm][protocol];
    double                 latency = cost->latency_us, rate = cost->bandwidth_GBps;

    if (rate <= 0) {
        return (double)INFINITY;
    }
    if (algorithm == CS_NCCL_TREE) {
        rate *= cs_nccl_tree_factor(protocol, bytes);
    }
    if (algorithm == CS_NCCL_RING && protocol == CS_NCCL_SIMPLE && c->servers > 1 &&
        tuning->collective == CS_ALLREDUCE &&
        bytes / ((double)tuning->channels * tuning->ranks) >= 64) {
        latency *= c->gpu < CS_NCCL_AMPERE ? 1.9 : 1.4;
    }
    return latency + bytes / (1000 * rate);
}

bool cs_nccl_choose(const cs_nccl_tuning *tuning, double bytes, cs_nccl_choice *choice)
{
    cs_nccl_choice best = {.estimate_us = (double)INFINITY};

    for (uint32_t a = 0; a < CS_NCCL_ALGORITHMS; a++) {
        for (uint32_t p = 0; p < CS_NCCL_PROTOCOLS; p++) {
            const double us = cs_nccl_estimate_us(tuning, a, p, bytes);
            if ((tuning->setting.algorithms >> a & 1u) != 0 &&
                (tuning->setting.protocols >> p & 1u) != 0 && us < best.estimate_us) {
                best = (cs_nccl_choice){a, p, us};
            }
        }
    }
    *choice = best;
    return isfinite(best.estimate_us);
}

uint32_t cs_nccl_channels(const cs_nccl_tuning *tuning, const cs_nccl_choice *choice, double bytes)
{
    const bool   is_ring_ll = choice->algorithm == CS_NCCL_RING && choice->protocol == CS_NCCL_LL;
    const double each       = threads_of[choice->protocol] * least_bytes[choice->protocol] *
                        (is_ring_ll ? tuning->ranks : 1);

    if (choice->algorithm == CS_NCCL_NVLS || choice->algorithm == CS_NCCL_NVLS_TREE) {
        return tuning->nvls_channels;
    }
    return (uint32_t)fmax(1, fmin(tuning->channels, floor(bytes / each)));
}
