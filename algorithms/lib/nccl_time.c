/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "algorithms/lib/nccl_time.h"

#include <math.h>

/* ---- the constants, each with its origin; us and GB/s ---- */

/* Origin of ring, alltoall and nvls: tables of nccl-tests on one machine each of 8 A100, 8 H100 and
 * 8 B200 with 2, 4 and 8 GPUs, 512 B to 512 MiB, half precision. NVLS: also public logs of a p5 and
 * of 8 B300. Blackwell's LL128 and Simple: the fit leaves a valley, of which the point was taken
 * that keeps forced rings on 8 B300. */
typedef struct gpu_times {
    struct { /* a ring in one domain behind NVSwitch */
        double base, step, wake,
            payload;                /* LL: launch, a step, waking all warps and channels, rate */
        double step128, payload128; /* LL128 */
        double base_simple, step_simple; /* Simple: launch, exposed latency of a step ... */
        double port, copy, fill; /* ... rate of a port, of the last local copy; part of a slice */
    } ring;
    struct {
        double base, peer, ramp,
            step; /* launch, a further peer, ramp to 8 MiB, from 32 KiB a peer */
        double port, copy;
    } alltoall;
    struct {
        double loop, small_chunk, fill,
            fill_of_rank;         /* of a loop; a chunk below 128 KiB; in loops */
        double multi, multi_many; /* multimem rate of a port; in domains of more than 8 GPUs */
        double tree_share;        /* of it that NVLSTree reaches */
    } nvls;
    double p2p; /* rate of a port in other rings: the same logs, 2 A100 for direct links */
    double ll_tiny, ll_step; /* LL step of other rings up to 16 B and beyond (Volta: a guess) */
} gpu_times;

/* clang-format off */
static const gpu_times times_of[CS_NCCL_GPUS] = {
    [CS_NCCL_VOLTA] = {.p2p = 132, .ll_tiny = .6, .ll_step = .8},
    [CS_NCCL_AMPERE] = {
        .ring = {8.3, .91, 3.5, 109, 3.2, 195, 21, 6.6, 240, 870, .5},
        .alltoall = {11.1, .4, 21, 0, 204, 840},
        .p2p = 235, .ll_tiny = 1.25, .ll_step = 1.4},
    [CS_NCCL_HOPPER] = {
        .ring = {4.8, .81, 1.3, 204, 1.8, 312, 9.8, 6.1, 380, 1060, .5},
        .alltoall = {6.9, .15, 5.8, 4.4, 325, 1760},
        .nvls = {1.9, 3.1, 1.35, 0, 316, 316, .932},
        .p2p = 370, .ll_tiny = .45, .ll_step = .65},
    [CS_NCCL_BLACKWELL] = {
        .ring = {7.3, 1.30, 1.4, 319, 2.3, 600, 5.9, 16, 690, 1275, .25},
        .alltoall = {9.6, .2, 10.8, 0, 583, 704},
        .nvls = {.1, 8.5, 1.75, .036, 541, 436, .95}, /* 436: 72 GB200 */
        .p2p = 690, .ll_tiny = .6, .ll_step = .8},
};

/* A network hop, a loop of NVLSTree, the part of the line rate that is reached; LL128's part of its
 * rate; the buffer of Simple. Loop of 48 us: 2 x 8 H20. EFA: logs of p5 and p4de. RoCE's .93: OCI. */
static const struct fabric_times {
    double hop, loop, share, ll128, buffer;
} fabric_of[CS_NCCL_FABRICS] = {
    [CS_NCCL_IB] = {5, 48, .965, 1, 4 << 20},
    [CS_NCCL_ROCE] = {5, 48, .93, 1, 4 << 20},
    [CS_NCCL_EFA] = {26, 66, .965, 1, 8 << 20},
    [CS_NCCL_EFA_P4] = {70, 140, .87, .5, 8 << 20},
    [CS_NCCL_SOCKETS] = {5, 48, .93, 1, 4 << 20}, /* refused: nothing is known */
};
/* clang-format on */

#define LEAST_US         5.0 /* one kernel behind the other */
#define LAUNCH_US        4.3 /* one thread with several GPUs, each of them: 8 A100, issue 2140 ... */
#define LAUNCH_OLD_US    .2  /* ... and, before 2.12, of each channel */
#define TINY_BYTES       16.0 /* up to here one flag carries it all: a step takes .. of the time */
#define TINY_SHARE       .8
#define HIDDEN_HALF_US   20.0 /* a step's transfer that hides half of its latency (Hopper on) */
#define LEAST_EXPOSED    .1
#define STEP_NVLINK_US   8.0 /* Simple in other rings, before the network's hop ... */
#define STEP_NETWORK_US  14.0
#define STEP_OLD_GPU_US  2.0   /* ... and so much more up to Ampere */
#define DIRECT_SHARE     .72   /* of the data sheet where links join pairs: 2 A100 */
#define OTHER_SHARE      .9    /* of p2p without NVSwitch, else; trees */
#define MI300X_P2P_GBps  310.0 /* 2 x 8 MI300X, from 1 GiB on */
#define TREE_NIC_SHARE   .97
#define NVLS_BASE_US     15.0
#define NVLS_TREE_US     25.0
#define NVLS_TREE_HOP_US 5.5
#define NVLS_CHUNK       131072.0

/* How long a port of this cluster's GPUs is slower than those of the table: its share of links. */
static double links_share(const cs_nccl_cluster *c)
{
    return c->sheet_GBps / cs_nccl_sheet_GBps(c->gpu);
}

/* Bytes over the size that the busiest server sends by two complementary trees. */
static double tree_load(uint32_t servers)
{
    return servers == 2 ? 1 : servers == 3 ? 1.5 : 2;
}

static double log2_floor(uint32_t n)
{
    return floor(log2((double)n));
}

static double p2p_of(const cs_nccl_cluster *c)
{
    const double rate = times_of[c->gpu].p2p * links_share(c);

    if (c->is_mi300x) {
        return MI300X_P2P_GBps * c->sheet_GBps / CS_MI300X_GBps;
    }
    if (c->has_nvswitch) {
        return rate;
    }
    return c->gpu == CS_NCCL_AMPERE ? c->sheet_GBps * DIRECT_SHARE : rate * OTHER_SHARE;
}

double cs_nccl_nic_GBps(const cs_nccl_cluster *cluster)
{
    return fmin(cluster->nic_GBps * fabric_of[cluster->fabric].share, cluster->pcie_GBps);
}

/* What a server's NICs carry together. */
static double nics_of(const cs_nccl_cluster *c)
{
    return c->servers == 1 ? 0 : c->nics * cs_nccl_nic_GBps(c);
}

/* The part of a step's latency that its own transfer of `us` does not hide. */
static double exposed(double us)
{
    return fmax(LEAST_EXPOSED, 1 / (1 + us / HIDDEN_HALF_US));
}

/* ---- rings ---- */

/* A channel works on its piece steps + 1 times: over a link, and at last a copy into the result. */
static double ring_of_domain(const cs_nccl_tuning *t, cs_nccl_protocol p, double bytes)
{
    const gpu_times *k     = &times_of[t->cluster->gpu];
    const double     share = links_share(t->cluster), n = t->ranks, steps = t->steps;

    if (p == CS_NCCL_LL) {
        const double awake = fmin(1, fmax(0, log2(fmax(bytes, 1) / 4096) / 3));
        const double wake  = k->ring.wake * sqrt(n / 4) * awake;
        const double data  = (steps + 1) * bytes / n / (k->ring.payload * share * 1e3);
        return k->ring.base + steps * k->ring.step * (bytes <= TINY_BYTES ? TINY_SHARE : 1) +
               hypot(wake, data);
    }
    if (p == CS_NCCL_LL128) {
        return k->ring.base + steps * k->ring.step128 +
               (steps + 1) * bytes / n / (k->ring.payload128 * share * 1e3);
    }
    const double channels = t->channels;
    const double port = k->ring.port * share / channels * 1e3, copy = k->ring.copy / channels * 1e3;
    const double piece = bytes / (n * channels);
    const double chunk = fmin(piece, fabric_of[t->cluster->fabric].buffer / 2);
    const double step  = chunk / port;
    double       late  = k->ring.step_simple;
    if (t->cluster->gpu >= CS_NCCL_HOPPER) {
        late *= sqrt(2 / n) * exposed(step);
    }
    return k->ring.base_simple + fmax(1, piece / chunk) * (steps * (step + late) + chunk / copy) +
           k->ring.fill * step;
}

/* Simple over several servers, over direct links and on Volta. */
static double other_ring(const cs_nccl_tuning *t, double bytes)
{
    const cs_nccl_cluster *c = t->cluster;
    const double           n = t->ranks, gpus = c->gpus, channels = t->channels,
                 piece = bytes / (n * channels);
    double rate = p2p_of(c), far = 0;

    if (c->servers > 1) {
        far  = t->collective == CS_ALLREDUCE ? 2 * (c->servers - 1.0) : c->servers - 1.0;
        rate = fmin(gpus > 1 ? rate * gpus / (gpus - 1) : rate, nics_of(c));
    }
    const double chunk = fmin(piece, fabric_of[c->fabric].buffer / 2);
    const double step  = chunk / (rate / channels * 1e3);
    const double near = t->steps - far, net = STEP_NETWORK_US + fabric_of[c->fabric].hop;
    double       late = near * STEP_NVLINK_US + far * net;
    late = c->gpu < CS_NCCL_HOPPER ? late + t->steps * STEP_OLD_GPU_US : late * exposed(step);
    if (n > 16) { /* latencies of many ranks overlap in part */
        late *= sqrt(16 / n);
    }
    return 8.4 + fmax(1, piece / chunk) * (t->steps * step + late);
}

/* ---- NVLS ---- */

/* The bytes of a loop of all channels over all heads, and the chunk. */
static double nvls_loop(const cs_nccl_tuning *t, bool is_tree, double bytes, double *chunk_p)
{
    const cs_nccl_cluster *c     = t->cluster;
    const double           ops   = (double)t->nvls_channels * t->nvls.channels;
    double                 chunk = NVLS_CHUNK;

    if (!is_tree) {
        chunk = bytes < 64 * ops * chunk ? 65536 : chunk;
        chunk = bytes < 8 * ops * chunk && chunk > 32768 ? 32768 : chunk;
        chunk = bytes < 2 * ops * chunk && chunk > 16384 ? 16384 : chunk;
    } else {
        const bool is_efa = c->fabric == CS_NCCL_EFA || c->fabric == CS_NCCL_EFA_P4;
        chunk             = c->servers >= 4 && !is_efa ? 65536 : chunk;
        chunk             = bytes < 4 * ops * chunk && chunk > 65536 ? 65536 : chunk;
        chunk             = bytes < ops * chunk && chunk > 32768 ? 32768 : chunk;
    }
    *chunk_p = chunk;
    return ops * chunk;
}

/* The rate of the size through a port that carries every head's piece once and its own twice. */
static double multimem_rate(const cs_nccl_cluster *c)
{
    const gpu_times *k     = &times_of[c->gpu];
    const double     heads = c->gpus < 32 ? c->gpus : 32;

    return (c->gpus > 8 ? k->nvls.multi_many : k->nvls.multi) * links_share(c) / (1 + 1 / heads);
}

static double nvls(const cs_nccl_tuning *t, double bytes)
{
    const cs_nccl_cluster *c     = t->cluster;
    const gpu_times       *k     = &times_of[c->gpu];
    double                 chunk = 0;
    const double           loop  = nvls_loop(t, false, bytes, &chunk);
    const double           each  = k->nvls.loop + k->nvls.small_chunk * (1 - chunk / NVLS_CHUNK) +
                        fmin(bytes, loop) / (multimem_rate(c) * 1e3);
    const double fill = k->nvls.fill + k->nvls.fill_of_rank * fmax(0, t->ranks - 8.0);

    return NVLS_BASE_US + each * (fmax(bytes < loop ? 1 : .75, bytes / loop) + fill);
}

static double nvls_tree(const cs_nccl_tuning *t, double bytes)
{
    const cs_nccl_cluster     *c     = t->cluster;
    const struct fabric_times *net   = &fabric_of[c->fabric];
    double                     chunk = 0;
    const double               loop  = nvls_loop(t, true, bytes, &chunk);
    const double               rate  = fmin(multimem_rate(c) * times_of[c->gpu].nvls.tree_share,
                                            nics_of(c) / tree_load(c->servers));
    const double               small = fmin(1, bytes / (1 << 20));
    const double               each  = fmax(loop / (rate * 1e3), net->loop);

    return NVLS_TREE_US + 2 * log2_floor(c->servers) * (NVLS_TREE_HOP_US + net->hop) +
           each * (fmax(small, bytes / loop) + (1 + .02 * c->gpus) * small);
}

/* ---- what is left: the tuner's latency with the fabric's own hop, and its rate ---- */

static double tree_rate(const cs_nccl_tuning *t, cs_nccl_protocol p, double bytes)
{
    const cs_nccl_cluster *c = t->cluster;

    if (p == CS_NCCL_SIMPLE && c->servers > 1) {
        return fmin(TREE_NIC_SHARE * nics_of(c) / tree_load(c->servers),
                    c->gpus > 1 ? OTHER_SHARE * p2p_of(c) / 2 : (double)INFINITY);
    }
    if (c->servers == 2 && c->gpus == 1) {
        return .9 * nics_of(c) * (p == CS_NCCL_LL128 ? 15.0 / 16 : .5);
    }
    const double part = p == CS_NCCL_LL128 && c->servers > 1 ? fabric_of[c->fabric].ll128 : 1;
    return t->cost[CS_NCCL_TREE][p].bandwidth_GBps * cs_nccl_tree_factor(p, bytes) * part;
}

static double by_estimate(const cs_nccl_tuning *t, cs_nccl_algorithm a, cs_nccl_protocol p,
                          double bytes)
{
    const cs_nccl_cluster *c       = t->cluster;
    const gpu_times       *k       = &times_of[c->gpu];
    double                 latency = t->cost[a][p].latency_us, rate = t->cost[a][p].bandwidth_GBps;

    if (c->servers > 1 && a != CS_NCCL_PAT) {
        const double ways = t->collective == CS_ALLREDUCE ? 2 : 1;
        const double hops =
            a == CS_NCCL_TREE ? 2 * log2_floor(c->servers) : ways * (c->servers - 1);
        latency += hops * (fabric_of[c->fabric].hop - 5 -
                           cs_nccl_plugin_latency_us(c->fabric) * (p == CS_NCCL_SIMPLE ? 2 : 1));
    }
    if (a == CS_NCCL_TREE) {
        rate = tree_rate(t, p, bytes);
    } else if (a == CS_NCCL_RING && p == CS_NCCL_LL && c->servers == 1) {
        latency = 6.6 + t->steps * (bytes <= TINY_BYTES ? k->ll_tiny : k->ll_step);
    } else if (a == CS_NCCL_RING && p == CS_NCCL_LL128) {
        rate = fmin(rate, p2p_of(c) * .92 * t->ranks / t->steps);
        if (c->gpu < CS_NCCL_HOPPER && c->servers == 1) {
            rate *= .75;
            latency = 14 + t->steps * 3.5;
        }
    }
    return latency + bytes / (1e3 * rate);
}

/* The time with the launches of a thread that has several GPUs. Before 2.12 each channel adds to
 * them, and kernels other than LL's overlap with them in part only. */
static double with_launches(const cs_nccl_tuning *t, cs_nccl_protocol p, double bytes, double us)
{
    const double gpus     = t->setting.gpus_per_process;
    double       launches = LAUNCH_US * gpus;

    if (t->setting.minor < 12) {
        const double all = t->channels, some = ceil(bytes / (4096.0 * t->ranks));
        launches += LAUNCH_OLD_US * gpus * (p == CS_NCCL_LL ? fmin(all, some) : all);
        us = p == CS_NCCL_LL ? us : hypot(us, launches);
    }
    return fmax(us, launches);
}

double cs_nccl_time_us(const cs_nccl_tuning *tuning, cs_nccl_algorithm algorithm,
                       cs_nccl_protocol protocol, double bytes)
{
    const cs_nccl_cluster *c  = tuning->cluster;
    double                 us = 0;

    if (algorithm == CS_NCCL_NVLS) {
        us = nvls(tuning, bytes);
    } else if (algorithm == CS_NCCL_NVLS_TREE) {
        us = nvls_tree(tuning, bytes);
    } else if (algorithm == CS_NCCL_RING && c->servers == 1 && c->has_nvswitch &&
               c->gpu != CS_NCCL_VOLTA) {
        us = ring_of_domain(tuning, protocol, bytes);
    } else if (algorithm == CS_NCCL_RING && protocol == CS_NCCL_SIMPLE) {
        us = other_ring(tuning, bytes);
    } else {
        us = by_estimate(tuning, algorithm, protocol, bytes);
    }
    return tuning->setting.gpus_per_process > 1 ? with_launches(tuning, protocol, bytes, us)
                                                : fmax(us, LEAST_US);
}

double cs_nccl_alltoall_us(const cs_nccl_cluster *cluster, double bytes)
{
    const gpu_times *k     = &times_of[cluster->gpu];
    const double     n     = cluster->gpus;
    const double     share = links_share(cluster);
    const double     us =
        k->alltoall.base + k->alltoall.peer * (n - 2) +
        k->alltoall.ramp * sqrt(fmin(1, bytes / (8 << 20))) +
        (bytes / n >= 32768 ? k->alltoall.step : 0) +
        bytes / 1e3 * ((n - 1) / n / (k->alltoall.port * share) + 1 / n / k->alltoall.copy);

    return fmax(us, LEAST_US);
}

cs_status cs_nccl_time_check(const cs_nccl_cluster *cluster, cs_collective collective,
                             cs_error *err)
{
    if (collective == CS_BROADCAST || collective == CS_REDUCE) {
        return CS_FAIL(err, CS_ENOTSUP, "collective",
                       "the time of %s is not known: accepted are allreduce, allgather, "
                       "reducescatter, alltoall",
                       cs_collective_name(collective));
    }
    if (collective == CS_ALLTOALL &&
        (cluster->servers > 1 || !cluster->has_nvswitch || cluster->gpu == CS_NCCL_VOLTA)) {
        return CS_FAIL(err, CS_ENOTSUP, "collective",
                       "the time of alltoall is known of one server with NVSwitches alone, A100 "
                       "or later");
    }
    if (cluster->servers > 1 && cluster->fabric == CS_NCCL_SOCKETS) {
        return CS_FAIL(err, CS_ENOTSUP, "--fabric",
                       "times over TCP sockets are not known: accepted are ib, roce, efa, efa-p4");
    }
    return CS_OK;
}

double cs_nccl_bound_s(const cs_nccl_cluster *cluster, cs_collective collective, double bytes,
                       bool in_network)
{
    const double gpus = cluster->gpus, servers = cluster->servers, n = gpus * servers;
    const double ways = collective == CS_ALLREDUCE ? 2 : 1;

    if (servers > 1) {
        return ways * (servers - 1) / servers * bytes / (cluster->nics * cluster->nic_GBps * 1e9);
    }
    const double share = collective == CS_ALLREDUCE && in_network ? 1 : ways * (n - 1) / n;
    return share * bytes / (cluster->sheet_GBps * 1e9);
}

bool cs_nccl_is_measured(const cs_nccl_cluster *cluster)
{
    return cluster->servers == 1 && cluster->has_nvswitch && cluster->gpu != CS_NCCL_VOLTA;
}

double cs_nccl_uncertainty(const cs_nccl_cluster *cluster, cs_collective collective, double bytes)
{
    if (!cs_nccl_is_measured(cluster)) {
        return cluster->fabric == CS_NCCL_EFA || cluster->fabric == CS_NCCL_EFA_P4 ? .3 : .2;
    }
    /* 90th percentiles over seven machines none of which gave a constant */
    const double small = 65536, middle = 1 << 20, large = 64 << 20;
    if (collective == CS_ALLTOALL) {
        return bytes <= small ? .225 : bytes <= middle ? .292 : bytes <= large ? .163 : .116;
    }
    return bytes <= small ? .092 : bytes <= middle ? .105 : bytes <= large ? .121 : .062;
}
