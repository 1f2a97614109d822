/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/nccl_args.h"

#include "base/arena.h"
#include "cli/config_args.h"
#include "topology/topology_file.h"

#include <stdio.h>

enum { OF_TOPOLOGY = 0 };

/* clang-format off */
#define TEXT(field, letter, name, value, help) CS_ARG_TEXT(cs_nccl_asked, field, letter, name, value, help)
const cs_arg cs_nccl_args[] = {
    CS_ARG_GROUP("servers and NCCL"),
    CS_ARG_NUMBER(cs_nccl_asked, ranks, 'n', "ranks", "N", "number of GPUs (those of a server)", .min = 2, .max = CS_MAX_RANKS),
    CS_ARG_NUMBER(cs_nccl_asked, gpus, 'g', "gpus-per-server", "G", "GPUs of a server that are used (all, or what N leaves for each of the fewest servers)", .min = 1, .max = CS_MAX_RANKS),
    TEXT(topology, 0, "topology", "NAME|FILE", "servers: a preset, NCCL's topology XML or nvidia-smi's matrix"),
    TEXT(version, 0, "nccl-version", "V", "version of NCCL, 2.8 to 2.30 (2.30)"),
    CS_ARG_FLAG(cs_nccl_asked, is_strict, 0, "strict", "refuse a version that is not known, instead of taking the nearest"),
    TEXT(algorithms, 0, "nccl-algo", "A[,A..]", "NCCL_ALGO: tree, ring, nvls, nvlstree, pat; ^ before: all others"),
    TEXT(protocols, 0, "nccl-proto", "P[,P..]", "NCCL_PROTO: ll, ll128, simple; ^ before: all others"),
    CS_ARG_FLAG(cs_nccl_asked, has_no_nvls, 0, "no-nvls", "NCCL_NVLS_ENABLE=0"),
    CS_ARG_NUMBER(cs_nccl_asked, gpus_per_process, 0, "gpus-per-process", "K", "GPUs that one thread launches on, nccl-tests' -g (1)", .min = 1, .max = CS_MACHINE_MAX_GPUS),
    CS_ARG_CHOICE(cs_nccl_asked, gpu, 0, "gpu", "auto|" CS_NCCL_GPU_WORDS, "generation of the GPUs (that of the topology)"),
    CS_ARG_CHOICE(cs_nccl_asked, fabric, 0, "fabric", "auto|" CS_NCCL_FABRIC_WORDS, "what joins the servers (that of the topology, else ib)"),
    CS_ARG_LAST_ROW,
};
/* clang-format on */

/* What NCCL is and is told; where a version is not known, the nearest one is taken and named. */
cs_status cs_nccl_asked_setting(const cs_nccl_asked *asked, cs_nccl_setting *setting, cs_error *err)
{
    bool is_known = true;

    *setting = (cs_nccl_setting){.minor            = CS_NCCL_NEWEST,
                                 .algorithms       = UINT32_MAX,
                                 .protocols        = UINT32_MAX,
                                 .has_nvls         = !asked->has_no_nvls,
                                 .gpus_per_process = asked->gpus_per_process};
    if (asked->version != NULL) {
        CS_TRY(cs_nccl_version_parse(asked->version, &setting->minor, &is_known, err));
    }
    if (!is_known && asked->is_strict) {
        return CS_FAIL(err, CS_EINVAL, "--nccl-version",
                       "%s is not known: accepted with --strict are 2.%d to 2.%d", asked->version,
                       CS_NCCL_OLDEST, CS_NCCL_NEWEST);
    }
    if (!is_known) {
        (void)fprintf(stderr, "collsim: note: --nccl-version: %s is not known, 2.%u is taken\n",
                      asked->version, setting->minor);
    }
    if (asked->algorithms != NULL) {
        CS_TRY(cs_nccl_filter_parse(asked->algorithms, cs_nccl_algorithm_names, CS_NCCL_ALGORITHMS,
                                    "--nccl-algo", &setting->algorithms, err));
    }
    return asked->protocols == NULL
               ? CS_OK
               : cs_nccl_filter_parse(asked->protocols, cs_nccl_protocol_names, CS_NCCL_PROTOCOLS,
                                      "--nccl-proto", &setting->protocols, err);
}

/* Where the topology does not say the rate of NVLink, it is that of the generation that was asked
 * for; what is left of its assumptions is said. */
static void use_assumed(const cs_nccl_asked *asked, const cs_machine *m, cs_nccl_cluster *cluster)
{
    const char *nvlink = m->assumed[CS_RATE_NVLINK], *nic = m->assumed[CS_RATE_NIC];

    if (nvlink != NULL && asked->gpu != OF_TOPOLOGY) {
        cluster->sheet_GBps = cs_nccl_sheet_GBps(cluster->gpu);
    } else if (nvlink != NULL) {
        (void)fprintf(stderr,
                      "collsim: note: --topology: %s: assumed are %s; --gpu says otherwise\n",
                      asked->topology, nvlink);
    }
    if (nic != NULL && cluster->servers > 1) {
        (void)fprintf(stderr, "collsim: note: --topology: %s: assumed are %s\n", asked->topology,
                      nic);
    }
}

/* The GPUs of a server where `ranks` fill the fewest of `most` GPUs each alike; all of them where
 * they do not. */
static uint32_t spread(uint32_t ranks, uint32_t most)
{
    const uint32_t servers = ranks / most + (ranks % most > 0);

    return servers > 0 && ranks % servers == 0 ? ranks / servers : most;
}

static cs_status use_site(const cs_nccl_asked *asked, const cs_topology_file *file,
                          cs_nccl_cluster *cluster, cs_error *err)
{
    const cs_machine *m = file->site.machine;

    if (m == NULL) {
        return CS_FAIL(err, CS_ENOTSUP, "--topology",
                       "%s says nothing of servers: accepted are a preset, NCCL's topology XML and "
                       "nvidia-smi's matrix",
                       asked->topology);
    }
    if (file->site.tail != NULL) {
        return CS_FAIL(err, CS_ENOTSUP, "--topology", "%s: servers must be alike", asked->topology);
    }
    const uint32_t gpus  = asked->gpus > 0 ? asked->gpus : spread(asked->ranks, m->n_gpus);
    const uint32_t ranks = asked->ranks > 0 ? asked->ranks : gpus;
    CS_TRY(cs_nccl_cluster_of(m, ranks, gpus, cluster, err));
    if (asked->gpus_per_process > 0 && cluster->gpus % asked->gpus_per_process != 0) {
        return CS_FAIL(err, CS_EINVAL, "--gpus-per-process",
                       "%u does not divide the %u of a server", asked->gpus_per_process,
                       cluster->gpus);
    }
    if (asked->gpu != OF_TOPOLOGY) {
        cluster->gpu = (cs_nccl_gpu)(asked->gpu - 1);
    }
    if (asked->fabric != OF_TOPOLOGY) {
        cluster->fabric = (cs_nccl_fabric)(asked->fabric - 1);
    }
    use_assumed(asked, m, cluster);
    return CS_OK;
}

cs_status cs_nccl_asked_cluster(const cs_nccl_asked *asked, cs_nccl_cluster *cluster, cs_error *err)
{
    cs_topology_file file  = {0};
    cs_arena         arena = {0};

    if (asked->topology == NULL) {
        return CS_FAIL(err, CS_EINVAL, "--topology",
                       "needs a preset or a file: 'collsim list topologies' has the presets");
    }
    cs_status status = cs_topology_open(asked->topology, &arena, &file, err);
    if (status == CS_OK) {
        status = use_site(asked, &file, cluster, err);
        cs_topology_file_close(&file);
    }
    cs_arena_free(&arena);
    return status;
}

void cs_nccl_heading_add(const cs_nccl_cluster *c, const cs_nccl_setting *setting, cs_text *text)
{
    static const char *const gpus[]    = {"Volta", "Ampere", "Hopper", "Blackwell"};
    static const char *const fabrics[] = {"InfiniBand", "RoCE", "EFA", "EFA (P4)", "sockets"};

    cs_text_add(text, "# expected of %s 2.%u, %u ranks: %u x %u %s GPUs of %.4g GB/s %s%s",
                c->is_mi300x ? "RCCL" : "NCCL", setting->minor, c->servers * c->gpus, c->servers,
                c->gpus, c->is_mi300x ? "MI300X" : gpus[c->gpu], c->sheet_GBps,
                c->is_mi300x ? "xGMI" : "NVLink", c->has_nvswitch ? "" : " (direct)");
    if (c->servers > 1) {
        cs_text_add(text, ", %u NICs of %.4g GB/s, %s", c->nics, c->nic_GBps, fabrics[c->fabric]);
    }
    cs_text_add(text, "\n");
}
