/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From what users say to what the tuner sees: machines, versions, filters. */
#include "algorithms/lib/nccl_tuning.h"
#include "base/arena.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- machines ---- */

/* What the rates of a preset do not tell. */
static const struct known {
    const char    *preset;
    cs_nccl_gpu    gpu;
    cs_nccl_fabric fabric;
    bool           is_amd_cpu;
} known[] = {
    {"dgx-a100", CS_NCCL_AMPERE, CS_NCCL_IB, true},     /* EPYC 7742 */
    {"p5.48xlarge", CS_NCCL_HOPPER, CS_NCCL_EFA, true}, /* EPYC 7R13 */
    {"p4d.24xlarge", CS_NCCL_AMPERE, CS_NCCL_EFA_P4, false},
    {"p4de.24xlarge", CS_NCCL_AMPERE, CS_NCCL_EFA_P4, false},
    {"adapcc-a100", CS_NCCL_AMPERE, CS_NCCL_IB, false},
    {"adapcc-v100", CS_NCCL_VOLTA, CS_NCCL_IB, false},
};

/* A GPU's links to the other `gpus - 1`, together; 0: a pair has none. */
static double links_of(const cs_machine *m, uint32_t gpus)
{
    double sum = 0;

    if (m->nvswitch_Bps > 0) {
        return m->nvswitch_Bps;
    }
    for (uint32_t a = 0; a < gpus; a++) {
        double own = 0;
        for (uint32_t b = 0; b < gpus; b++) {
            const double rate =
                m->nvlink_Bps != NULL ? m->nvlink_Bps[(size_t)a * m->n_gpus + b] : 0;
            if (a != b && rate <= 0) {
                return 0;
            }
            own += a != b ? rate : 0;
        }
        sum = a == 0 ? own : fmin(sum, own);
    }
    return sum;
}

/* The generation whose data sheet the rate of all links of a GPU is nearest to. */
static cs_nccl_gpu gpu_of_rate(double rate_GBps)
{
    cs_nccl_gpu best = CS_NCCL_VOLTA;

    for (uint32_t g = 0; g < CS_NCCL_GPUS; g++) {
        if (fabs(log(cs_nccl_sheet_GBps(g) / rate_GBps)) <
            fabs(log(cs_nccl_sheet_GBps(best) / rate_GBps))) {
            best = g;
        }
    }
    return best;
}

/* PCIe as NCCL counts it: 24 of 31.5 GB/s, 48 of 63. */
#define PCIE_SHARE (48.0 / 63)
static const double PCIE4_GBps = 24, PCIE5_GBps = 48; /* where nothing else is known */

/* Linux names EFA's devices so. */
static bool is_efa(const cs_machine *m)
{
    return m->n_nics > 0 &&
           (strncmp(m->nics[0].name, "rdmap", 5) == 0 || strncmp(m->nics[0].name, "efa", 3) == 0);
}

/* The NICs of the first GPUs; those that EFA's plugin joins for a GPU are one. */
static cs_status add_nics(const cs_machine *m, cs_nccl_cluster *c, cs_error *err)
{
    cs_arena      arena  = {0};
    cs_nic_choice nics   = {0};
    cs_status     status = cs_machine_choose_nics(m, c->gpus, &arena, &nics);
    double        wire = 0, pcie = 0;

    if (status != CS_OK) {
        cs_arena_free(&arena);
        return CS_NO_MEMORY(err, "NICs");
    }
    for (uint32_t i = 0; i < m->n_nics; i++) {
        if (nics.sharers[i] > 0) {
            c->nics++;
            wire += m->nics[i].wire_Bps / 1e9;
            pcie += m->nics[i].pcie_Bps / 1e9 * PCIE_SHARE;
        }
    }
    cs_arena_free(&arena);
    if (c->nics == 0) {
        return CS_FAIL(err, CS_EINVAL, "--topology", "%s has no NICs: one server alone is accepted",
                       m->name);
    }
    if (c->fabric == CS_NCCL_EFA && c->nics > c->gpus) {
        c->nics = c->gpus;
    }
    c->nic_GBps  = wire / c->nics;
    c->pcie_GBps = pcie / c->nics;
    return CS_OK;
}

cs_status cs_nccl_cluster_of(const cs_machine *machine, uint32_t ranks, uint32_t gpus,
                             cs_nccl_cluster *cluster, cs_error *err)
{
    cs_nccl_cluster c = {.gpus = gpus < ranks ? gpus : ranks, .fabric = CS_NCCL_IB};

    if (ranks < 2 || ranks > CS_MAX_RANKS) {
        return CS_FAIL(err, CS_EINVAL, "--ranks", "%u: accepted are 2 to %u", ranks, CS_MAX_RANKS);
    }
    if (gpus < 1 || gpus > machine->n_gpus) {
        return CS_FAIL(err, CS_EINVAL, "--gpus-per-server", "%u: %s has %u GPUs", gpus,
                       machine->name, machine->n_gpus);
    }
    if (ranks % c.gpus != 0) {
        return CS_FAIL(err, CS_EINVAL, "--ranks", "%u GPUs do not fill servers of %u", ranks,
                       c.gpus);
    }
    const double links = links_of(machine, c.gpus), all = links_of(machine, machine->n_gpus);
    c.is_mi300x = machine->link_name != NULL && strcmp(machine->link_name, "xGMI") == 0;
    if (c.is_mi300x && fabs(all / (CS_MI300X_GBps * 1e9) - 1) > 0.05) {
        return CS_FAIL(err, CS_ENOTSUP, "--topology",
                       "%s: what RCCL does over xGMI of %.4g GB/s a GPU is not known: accepted are "
                       "MI300X with %g",
                       machine->name, all / 1e9, CS_MI300X_GBps);
    }
    if (c.gpus > 1 && links <= 0) {
        return CS_FAIL(err, CS_ENOTSUP, "--topology",
                       "%s: NVLink does not join all of %u GPUs, and times over PCIe are not known",
                       machine->name, c.gpus);
    }
    c.servers      = ranks / c.gpus;
    c.has_nvswitch = machine->nvswitch_Bps > 0;
    c.gpu          = gpu_of_rate(fmax(all, links) > 0 ? fmax(all, links) / 1e9 : 300);
    c.gpu          = c.is_mi300x ? CS_NCCL_HOPPER : c.gpu;
    if (is_efa(machine)) {
        c.fabric = c.gpu == CS_NCCL_AMPERE ? CS_NCCL_EFA_P4 : CS_NCCL_EFA;
    }
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(known[i].preset, machine->name) == 0) {
            c.gpu        = known[i].gpu;
            c.fabric     = known[i].fabric;
            c.is_amd_cpu = known[i].is_amd_cpu;
        }
    }
    c.sheet_GBps = links > 0 ? links / 1e9 : cs_nccl_sheet_GBps(c.gpu);
    if (c.servers > 1) {
        CS_TRY(add_nics(machine, &c, err));
    }
    *cluster = c;
    return CS_OK;
}

void cs_nccl_cluster_of_scenario(const cs_cluster *cluster, cs_nccl_cluster *nccl)
{
    const cs_fabric *nvlink = &cluster->fabrics[CS_NVLINK], *nic = &cluster->fabrics[CS_NIC];
    const uint32_t   g = cluster->gpus_per_server, sharers = cluster->nic_sharers;
    const bool       is_switched = nvlink->kind == CS_SWITCHED && cluster->sockets <= 1;
    const double     rate_GBps   = nvlink->bandwidth_Bps / 1e9 * (is_switched || g < 2 ? 1 : g - 1);
    const bool       has_link    = sharers > 1 && cluster->topology != NULL;
    const double     nic_GBps =
        nic->bandwidth_Bps / 1e9 * (sharers > 1 && !has_link ? (double)sharers : 1);

    *nccl = (cs_nccl_cluster){.gpu          = gpu_of_rate(rate_GBps),
                              .fabric       = CS_NCCL_IB,
                              .servers      = cs_n_servers(cluster),
                              .gpus         = g,
                              .nics         = sharers > 1 ? g / sharers : g,
                              .nic_GBps     = nic_GBps,
                              .pcie_GBps    = nic_GBps > PCIE4_GBps ? PCIE5_GBps : PCIE4_GBps,
                              .sheet_GBps   = rate_GBps,
                              .has_nvswitch = is_switched,
                              .is_mi300x =
                                  !is_switched && g > 1 && fabs(rate_GBps - 64 * (g - 1.0)) < 0.5};
}

/* ---- words ---- */

static const cs_nccl_named_gpu named_gpus[] = {
    {"GB200", "nvl72", CS_NCCL_BLACKWELL, true, true},
    {"GB300", "nvl72", CS_NCCL_BLACKWELL, true, true},
    {"B200", "hgx-b200", CS_NCCL_BLACKWELL, false, true},
    {"B300", "hgx-b200", CS_NCCL_BLACKWELL, false, true},
    {"H200", "dgx-h200", CS_NCCL_HOPPER, false, true},
    {"H100", "dgx-h100", CS_NCCL_HOPPER, false, true},
    {"H800", "dgx-h100", CS_NCCL_HOPPER, false, true},
    {"H20", "dgx-h100", CS_NCCL_HOPPER, false, true},
    {"A100", "dgx-a100", CS_NCCL_AMPERE, false, true},
    {"A800", "dgx-a100", CS_NCCL_AMPERE, false, true},
    {"MI300X", "mi300x", CS_NCCL_HOPPER, false, false},
};

/* Is the word there, between other signs than letters and digits? */
static bool has_word(const char *text, const char *word)
{
    const size_t length = strlen(word);

    for (const char *at = text; *at != '\0'; at++) {
        bool begins = at == text || !isalnum((unsigned char)at[-1]);
        if (begins && strncasecmp(at, word, length) == 0 && !isalnum((unsigned char)at[length])) {
            return true;
        }
    }
    return false;
}

const cs_nccl_named_gpu *cs_nccl_gpu_find(const char *words)
{
    const bool is_card = has_word(words, "PCIe") || has_word(words, "NVL");

    for (size_t i = 0; !is_card && i < sizeof named_gpus / sizeof named_gpus[0]; i++) {
        if (has_word(words, named_gpus[i].word)) {
            return &named_gpus[i];
        }
    }
    return NULL;
}

bool cs_nccl_pick_text(const char *words, cs_collective collective, uint32_t ranks, uint64_t bytes,
                       char text[CS_NCCL_PICK_BYTES])
{
    static const char *const algorithms[] = {"Tree", "Ring", "NVLS", "NVLSTree", "PAT"};
    static const char *const protocols[]  = {"LL", "LL128", "Simple"};
    const uint32_t tuned         = 1u << CS_ALLREDUCE | 1u << CS_ALLGATHER | 1u << CS_REDUCESCATTER;
    const cs_nccl_named_gpu *gpu = cs_nccl_gpu_find(words);
    const cs_nccl_setting    setting = {.minor      = CS_NCCL_NEWEST,
                                        .algorithms = UINT32_MAX,
                                        .protocols  = UINT32_MAX,
                                        .has_nvls   = true};
    cs_nccl_tuning           tuning;
    cs_nccl_choice           choice;

    if (gpu == NULL || !gpu->has_nvswitch || (tuned >> collective & 1u) == 0 || ranks < 2 ||
        ranks > (gpu->is_of_rack ? 72u : 8u)) {
        return false;
    }
    const cs_nccl_cluster server = {.gpu          = gpu->gpu,
                                    .servers      = 1,
                                    .gpus         = ranks,
                                    .sheet_GBps   = cs_nccl_sheet_GBps(gpu->gpu),
                                    .has_nvswitch = true};
    cs_nccl_tune(&server, &setting, collective, &tuning);
    if (!cs_nccl_choose(&tuning, (double)bytes, &choice)) {
        return false;
    }
    (void)snprintf(text, CS_NCCL_PICK_BYTES, "%s/%s", algorithms[choice.algorithm],
                   protocols[choice.protocol]);
    return true;
}

cs_status cs_nccl_version_parse(const char *word, uint32_t *minor_p, bool *is_known_p,
                                cs_error *err)
{
    const char *at    = word[0] == 'v' ? word + 1 : word;
    char       *end   = NULL;
    const bool  is_ok = at[0] >= '0' && at[0] <= '9';
    const long  major = is_ok ? strtol(at, &end, 10) : -1;
    long        minor = -1;

    if (is_ok && end[0] == '.' && end[1] >= '0' && end[1] <= '9') {
        minor = strtol(end + 1, &end, 10);
    }
    if (minor < 0 || (end[0] != '\0' && strchr(".+-", end[0]) == NULL)) {
        return CS_FAIL(err, CS_EINVAL, "--nccl-version",
                       "'%s' is no version: accepted is MAJOR.MINOR[.PATCH], as 2.28.3", word);
    }
    const long known_minor = major < 2                ? CS_NCCL_OLDEST
                             : major > 2              ? CS_NCCL_NEWEST
                             : minor < CS_NCCL_OLDEST ? CS_NCCL_OLDEST
                             : minor > CS_NCCL_NEWEST ? CS_NCCL_NEWEST
                                                      : minor;
    *is_known_p            = major == 2 && known_minor == minor;
    *minor_p               = (uint32_t)known_minor;
    return CS_OK;
}

cs_status cs_nccl_filter_parse(const char *word, const char *const *names, uint32_t n,
                               const char *where, uint32_t *bits_p, cs_error *err)
{
    const bool is_inverted = word[0] == '^';
    uint32_t   bits        = 0;

    for (const char *at = word + (is_inverted ? 1 : 0);;) {
        const size_t length = strcspn(at, ",");
        uint32_t     found  = n;
        for (uint32_t i = 0; i < n; i++) {
            if (strlen(names[i]) == length && strncasecmp(names[i], at, length) == 0) {
                found = i;
            }
        }
        if (found == n) {
            return CS_FAIL(
                err, CS_EINVAL, where, "unknown word '%.*s': accepted are %s, %s, %s%s%s",
                (int)(length < 40 ? length : 40), at, names[0], names[1], names[2],
                n > 3 ? ", nvlstree, pat" : "", ", and ^ before the list for all others");
        }
        bits |= 1u << found;
        if (at[length] == '\0') {
            break;
        }
        at += length + 1;
    }
    *bits_p = is_inverted ? ((1u << n) - 1) & ~bits : bits;
    return CS_OK;
}
