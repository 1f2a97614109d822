/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/lib/nccl_tuning.h -- which algorithm, protocol and how many channels NCCL picks, by
 * version.
 *
 * The tuner searches its graphs (how many channels of which speed the machine carries), estimates
 * latency + size / bandwidth for every algorithm and protocol, and takes the smallest. The estimate
 * F decides and is a poor prediction; nccl_time.h has the time T that a run then takes. Both
 * are here, and not in sim/, because an algorithm and a command need them; they see the public
 * headers and sim/base alone. Times are in us and rates in GB/s = 1e9 B/s, as in NCCL.
 *
 * RCCL on MI300X is taken for NCCL on Hopper with direct links, and for rings alone: its own tables
 * and its kernels for small sizes (MSCCL++) are not in it.
 *
 * Left out: CollNet (SHARP), NVLS over several servers (it needs SHARP, too), GPUs that PCIe joins,
 * and tuner plugins, which override all of it.
 */
#ifndef CS_ALGORITHMS_LIB_NCCL_TUNING_H
#define CS_ALGORITHMS_LIB_NCCL_TUNING_H

#include "cs/cluster.h"
#include "cs/collective.h"
#include "cs/machine.h"

#include <stdint.h>

/* Generations in the order of their compute capability. */
typedef enum cs_nccl_gpu {
    CS_NCCL_VOLTA,
    CS_NCCL_AMPERE,
    CS_NCCL_HOPPER,
    CS_NCCL_BLACKWELL,
    CS_NCCL_GPUS
} cs_nccl_gpu;
#define CS_NCCL_GPU_WORDS "volta|ampere|hopper|blackwell"

/* What joins the servers. EFA_P4 is the first generation of EFA. */
typedef enum cs_nccl_fabric {
    CS_NCCL_IB,
    CS_NCCL_ROCE,
    CS_NCCL_EFA,
    CS_NCCL_EFA_P4,
    CS_NCCL_SOCKETS,
    CS_NCCL_FABRICS
} cs_nccl_fabric;
#define CS_NCCL_FABRIC_WORDS "ib|roce|efa|efa-p4|sockets"

/* In the order in which NCCL compares: the first of equals wins. */
typedef enum cs_nccl_algorithm {
    CS_NCCL_TREE,
    CS_NCCL_RING,
    CS_NCCL_NVLS,
    CS_NCCL_NVLS_TREE,
    CS_NCCL_PAT,
    CS_NCCL_ALGORITHMS
} cs_nccl_algorithm;
typedef enum cs_nccl_protocol {
    CS_NCCL_LL,
    CS_NCCL_LL128,
    CS_NCCL_SIMPLE,
    CS_NCCL_PROTOCOLS
} cs_nccl_protocol;
extern const char *const cs_nccl_algorithm_names[CS_NCCL_ALGORITHMS];
extern const char *const cs_nccl_protocol_names[CS_NCCL_PROTOCOLS];

/* The minor numbers of the known versions 2.x. */
enum { CS_NCCL_OLDEST = 8, CS_NCCL_NEWEST = 30 };

/* The same as words, from the newest on. */
#define CS_NCCL_VERSION_WORDS                                                                    \
    "2.30|2.29|2.28|2.27|2.26|2.25|2.24|2.23|2.22|2.21|2.20|2.19|2.18|2.17|2.16|2.15|2.14|2.13|" \
    "2.12|2.11|2.10|2.9|2.8"

/* The machine as NCCL sees it. Plain data. */
typedef struct cs_nccl_cluster {
    cs_nccl_gpu    gpu;
    cs_nccl_fabric fabric;
    uint32_t       servers, gpus; /* NVLink domains, and the ranks in each */
    uint32_t       nics;          /* of a server */
    double         nic_GBps;      /* of one, on the wire */
    double         pcie_GBps;     /* of one NIC's PCIe link, as NCCL counts it: Gen5 x16 is 48 */
    double         sheet_GBps;    /* of a GPU's NVLinks together, one way, by the data sheet */
    bool           has_nvswitch;
    bool           is_amd_cpu;
    bool           is_mi300x; /* RCCL on xGMI: rings alone, with Hopper's tables */
} cs_nccl_cluster;

/* What NCCL is and is told. */
typedef struct cs_nccl_setting {
    uint32_t minor;                 /* of version 2.minor, CS_NCCL_OLDEST .. CS_NCCL_NEWEST */
    uint32_t algorithms, protocols; /* bit sets: NCCL_ALGO, NCCL_PROTO */
    bool     has_nvls;              /* NCCL_NVLS_ENABLE */
    uint32_t gpus_per_process;      /* that one thread launches kernels on, nccl-tests' -g; 0: 1 */
} cs_nccl_setting;

/* Channels of a graph and the speed of each, inside a server and between servers. */
typedef struct cs_nccl_graph {
    uint32_t channels; /* 0: there is no such graph */
    double   intra_GBps, inter_GBps;
} cs_nccl_graph;

typedef struct cs_nccl_cost {
    double latency_us, bandwidth_GBps; /* of the size column; 0: not available */
} cs_nccl_cost;

/* All that does not depend on the size. */
typedef struct cs_nccl_tuning {
    const cs_nccl_cluster *cluster; /* borrowed */
    cs_nccl_setting        setting;
    cs_collective          collective;
    uint32_t               ranks, steps; /* steps: of a ring */
    cs_nccl_graph          ring, tree, nvls;
    uint32_t               channels;      /* that rings and trees launch */
    uint32_t               nvls_channels; /* that NVLS and NVLSTree launch */
    cs_nccl_cost           cost[CS_NCCL_ALGORITHMS][CS_NCCL_PROTOCOLS];
} cs_nccl_tuning;

/* What a size is given. */
typedef struct cs_nccl_choice {
    cs_nccl_algorithm algorithm;
    cs_nccl_protocol  protocol;
    double            estimate_us; /* F */
} cs_nccl_choice;

/* The cluster of `ranks` GPUs, `gpus` in each server of this machine; CS_EINVAL, CS_ENOTSUP say
 * what does not fit. The GPU's generation and the fabric follow from the preset's name, else from
 * the rate of NVLink (the fabric: InfiniBand). O(gpus^2 + NICs). */
CS_MUST_CHECK cs_status cs_nccl_cluster_of(const cs_machine *machine, uint32_t ranks, uint32_t gpus,
                                           cs_nccl_cluster *cluster, cs_error *err);

/* The same of a scenario's cluster, whose servers are alike: an NVSwitch where its NVLink is
 * switched, MI300X where direct links have 64 GB/s each, a NIC for each run of GPUs that share one,
 * InfiniBand. O(1). */
void cs_nccl_cluster_of_scenario(const cs_cluster *cluster, cs_nccl_cluster *nccl);

/* A GPU behind an NVSwitch, or an MI300X, by its name, and the preset of servers that have it. In a
 * rack NVLink joins the GPUs of many hosts. */
typedef struct cs_nccl_named_gpu {
    const char *word, *preset;
    cs_nccl_gpu gpu;
    bool        is_of_rack, has_nvswitch;
} cs_nccl_named_gpu;

/* The GPU that is named by a whole word of a text, "NVIDIA H100 80GB HBM3"; NULL: none that is
 * known, or a card for PCIe. */
const cs_nccl_named_gpu *cs_nccl_gpu_find(const char *words);

/* What the newest version picks in one server of GPUs that are named in `words`, as NCCL writes it:
 * "Ring/LL". False, and nothing is written: not known. */
enum { CS_NCCL_PICK_BYTES = 24 };
bool cs_nccl_pick_text(const char *words, cs_collective collective, uint32_t ranks, uint64_t bytes,
                       char text[CS_NCCL_PICK_BYTES]);

/* "2.28", "2.28.3", "v2.27.7+cuda12.8": the minor number, of which the nearest known one is taken
 * and `*is_known_p` false. CS_EINVAL if it is no version. */
CS_MUST_CHECK cs_status cs_nccl_version_parse(const char *word, uint32_t *minor_p, bool *is_known_p,
                                              cs_error *err);

/* The value of NCCL_ALGO or NCCL_PROTO, "Ring,Tree" or "^LL128": the bits of the `n` names, without
 * regard to case. `where` names the option in errors. */
CS_MUST_CHECK cs_status cs_nccl_filter_parse(const char *word, const char *const *names, uint32_t n,
                                             const char *where, uint32_t *bits_p, cs_error *err);

/* Tune AllReduce, AllGather or ReduceScatter. O(1). */
void cs_nccl_tune(const cs_nccl_cluster *cluster, const cs_nccl_setting *setting,
                  cs_collective collective, cs_nccl_tuning *tuning);

/* F of one algorithm and protocol in us; INFINITY where it is not available. O(1). */
double cs_nccl_estimate_us(const cs_nccl_tuning *tuning, cs_nccl_algorithm algorithm,
                           cs_nccl_protocol protocol, double bytes);

/* The factor of a tree's bandwidth at this size. */
double cs_nccl_tree_factor(cs_nccl_protocol protocol, double bytes);

/* The smallest F. False: the filters leave nothing. */
bool cs_nccl_choose(const cs_nccl_tuning *tuning, double bytes, cs_nccl_choice *choice);

/* How many channels a kernel of this size gets. */
uint32_t cs_nccl_channels(const cs_nccl_tuning *tuning, const cs_nccl_choice *choice, double bytes);

/* The rate of an MI300X's xGMI links together, one way, by the data sheet. */
#define CS_MI300X_GBps 448.0

/* The rate of a GPU's NVLinks by the data sheet, one way, and the latency that the plugin of the
 * fabric declares. */
double cs_nccl_sheet_GBps(cs_nccl_gpu gpu);
double cs_nccl_plugin_latency_us(cs_nccl_fabric fabric);

#endif
