/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What NCCL itself would run: algorithm, protocol and channels as its tuner picks them for the
 * cluster, size and version (lib/nccl_tuning.h), as the schedule of that name here.
 *
 *   ring      nccl_rings, as many as there are channels and local ranks, on a mesh of links as many
 *             as find links of their own; one root: reduce_ring
 *   tree      double_binary_tree of NCCL's shape
 *   nvls      nvls, 32 heads at most
 *   nvlstree  nvls_tree, 32 heads at most
 *   pat       circulant, which has its rounds and its bytes
 *   p2p       AlltoAll: allpairs; over servers of several GPUs two_step_alltoall, its PXN
 *
 * A time is that of the schedule on the model. It is not NCCL's: a protocol's flags (half of LL,
 * 1/16 of LL128), the pace of kernels and their launch are not in it, but in `collsim expect`
 * (lib/nccl_time.h).
 *
 * Source: what NCCL does, from its public source (sim/doc/nccl.md).
 */
#include "algorithms/lib/fallback.h"
#include "algorithms/lib/nccl_tuning.h"
#include "base/alloc.h"

#include <math.h>

enum { MOST_HEADS = 32, MOST_CHANNELS = 64 };

extern const cs_algorithm cs_algorithm_allpairs, cs_algorithm_circulant,
    cs_algorithm_double_binary_tree, cs_algorithm_nccl_rings, cs_algorithm_nvls,
    cs_algorithm_nvls_tree, cs_algorithm_reduce_ring, cs_algorithm_two_step_alltoall;

/* nccl_options.algorithm: those of the tuner in its order, and what AlltoAll is. */
enum { GPU_MI300X = 1 + CS_NCCL_GPUS }; /* nccl_options.gpu */
enum { CHOSEN_AUTO, CHOSEN_TUNED, CHOSEN_P2P = CHOSEN_TUNED + CS_NCCL_ALGORITHMS };

typedef struct nccl_options {
    int      version;   /* CS_NCCL_NEWEST - minor */
    int      algorithm; /* CHOSEN_AUTO .. */
    int      protocol;  /* 0: auto; or 1 + cs_nccl_protocol */
    uint32_t channels;
    bool     nvls;
    int      gpu;    /* 0: auto; 1 + cs_nccl_gpu; or GPU_MI300X */
    int      fabric; /* cs_nccl_fabric */
} nccl_options;

static const cs_field nccl_table[] = {
    CS_OPTION_CHOICE(nccl_options, version, CS_NCCL_VERSION_WORDS, "of NCCL"),
    CS_OPTION_CHOICE(nccl_options, algorithm, "auto|tree|ring|nvls|nvlstree|pat|p2p",
                     "as NCCL_ALGO; auto: the tuner's"),
    CS_OPTION_CHOICE(nccl_options, protocol, "auto|ll|ll128|simple",
                     "as NCCL_PROTO; auto: the tuner's"),
    CS_OPTION_AUTO(nccl_options, channels, 1, MOST_CHANNELS,
                   "that a kernel gets; of rings, as many differ as a server has GPUs"),
    CS_OPTION(nccl_options, nvls, 1, 0, 1, "NCCL_NVLS_ENABLE"),
    CS_OPTION_CHOICE(nccl_options, gpu, "auto|" CS_NCCL_GPU_WORDS "|mi300x",
                     "generation; auto: that with the nearest rate of NVLink"),
    CS_OPTION_CHOICE(nccl_options, fabric, CS_NCCL_FABRIC_WORDS, "what joins the servers"),
    CS_FIELD_END,
};

/* The schedule of what was chosen, with the one option that it is given. */
typedef struct chosen_schedule {
    const cs_algorithm *algorithm;
    cs_fallback_option  option;
} chosen_schedule;

static chosen_schedule schedule_of(const cs_scenario *scenario, const nccl_options *o)
{
    const cs_cluster *c     = &scenario->cluster;
    const uint32_t    g     = c->gpus_per_server;
    const uint32_t    rings = o->channels < g ? o->channels : g;
    const bool        is_capped =
        g > MOST_HEADS && scenario->bytes >= MOST_HEADS && scenario->collective == CS_ALLREDUCE;
    const cs_fallback_option heads   = {is_capped ? "heads" : NULL, MOST_HEADS};
    const cs_fallback_option mesh    = {"order", 2};
    const bool               is_mesh = c->fabrics[CS_NVLINK].kind == CS_DIRECT && g > 2;

    switch (o->algorithm - CHOSEN_TUNED) {
    case CS_NCCL_TREE:
        return (chosen_schedule){&cs_algorithm_double_binary_tree, {"shape", 1}}; /* nccl */
    case CS_NCCL_NVLS: return (chosen_schedule){&cs_algorithm_nvls, heads};
    case CS_NCCL_NVLS_TREE: return (chosen_schedule){&cs_algorithm_nvls_tree, heads};
    case CS_NCCL_PAT: return (chosen_schedule){&cs_algorithm_circulant, {0}};
    case CS_NCCL_ALGORITHMS:
        return g > 1 && cs_n_servers(c) > 1
                   ? (chosen_schedule){&cs_algorithm_two_step_alltoall, {"gather", 1}} /* server */
                   : (chosen_schedule){&cs_algorithm_allpairs, {0}};
    default:
        return (chosen_schedule){cs_collective_has_root(scenario->collective)
                                     ? &cs_algorithm_reduce_ring
                                     : &cs_algorithm_nccl_rings,
                                 is_mesh ? mesh : (cs_fallback_option){"channels", rings}};
    }
}

static cs_status refuse_choice(const nccl_options *o, const cs_scenario *scenario, cs_error *err)
{
    const char *const name = o->algorithm == CHOSEN_AUTO ? "auto"
                             : o->algorithm == CHOSEN_P2P
                                 ? "p2p"
                                 : cs_nccl_algorithm_names[o->algorithm - CHOSEN_TUNED];

    return CS_FAIL(err, CS_ENOTSUP, "algorithm.options.algorithm",
                   "%s%s%s: NCCL does not do %s so on such a cluster", name,
                   o->protocol > 0 ? " with " : "",
                   o->protocol > 0 ? cs_nccl_protocol_names[o->protocol - 1] : "",
                   cs_collective_name(scenario->collective));
}

/* Broadcast, Reduce and AlltoAll leave the tuner one way. */
static cs_status choose_only(const cs_scenario *scenario, nccl_options *o, uint32_t channels,
                             cs_error *err)
{
    const int only = scenario->collective == CS_ALLTOALL ? CHOSEN_P2P : CHOSEN_TUNED + CS_NCCL_RING;

    if ((o->algorithm != CHOSEN_AUTO && o->algorithm != only) ||
        (only == CHOSEN_P2P && o->protocol > 0 && o->protocol - 1 != CS_NCCL_SIMPLE)) {
        return refuse_choice(o, scenario, err);
    }
    o->algorithm = only;
    o->protocol  = o->protocol > 0 ? o->protocol : 1 + CS_NCCL_SIMPLE;
    o->channels  = o->channels == CS_AUTO ? channels : o->channels;
    return CS_OK;
}

static cs_status choose(const cs_scenario *scenario, nccl_options *o, cs_error *err)
{
    cs_nccl_cluster cluster;
    cs_nccl_tuning  tuning;
    cs_nccl_choice  choice;
    const uint32_t  all     = UINT32_MAX;
    cs_nccl_setting setting = {
        .minor      = (uint32_t)(CS_NCCL_NEWEST - o->version),
        .algorithms = o->algorithm == CHOSEN_AUTO ? all : 1u << (o->algorithm - CHOSEN_TUNED),
        .protocols  = o->protocol == 0 ? all : 1u << (o->protocol - 1),
        .has_nvls   = o->nvls};
    const cs_collective c = scenario->collective;

    cs_nccl_cluster_of_scenario(&scenario->cluster, &cluster);
    if (o->gpu > 0) {
        cluster.is_mi300x = o->gpu == GPU_MI300X;
        cluster.gpu       = cluster.is_mi300x ? CS_NCCL_HOPPER : (cs_nccl_gpu)(o->gpu - 1);
    }
    cluster.fabric = (cs_nccl_fabric)o->fabric;
    o->gpu         = cluster.is_mi300x ? GPU_MI300X : 1 + (int)cluster.gpu;
    if (c == CS_ALLTOALL || cs_collective_has_root(c)) {
        cs_nccl_tune(&cluster, &setting, CS_ALLREDUCE, &tuning);
        return choose_only(scenario, o, tuning.channels, err);
    }
    cs_nccl_tune(&cluster, &setting, c, &tuning);
    if (o->algorithm == CHOSEN_P2P || !cs_nccl_choose(&tuning, (double)scenario->bytes, &choice)) {
        return refuse_choice(o, scenario, err);
    }
    o->algorithm = CHOSEN_TUNED + (int)choice.algorithm;
    o->protocol  = 1 + (int)choice.protocol;
    if (o->channels == CS_AUTO) {
        o->channels = cs_nccl_channels(&tuning, &choice, (double)scenario->bytes);
    }
    return CS_OK;
}

static void nccl_release(void *prepared)
{
    cs_fallback_release(prepared);
    cs_free(prepared);
}

static cs_status nccl_check(const cs_scenario *scenario, void *options, cs_plan *plan,
                            cs_error *err)
{
    nccl_options *o = options;

    CS_TRY(choose(scenario, o, err));
    const chosen_schedule chosen   = schedule_of(scenario, o);
    cs_fallback_plan     *prepared = CS_NEW(cs_fallback_plan, 1);
    if (prepared == NULL) {
        return CS_NO_MEMORY(err, "nccl");
    }
    cs_status status =
        cs_fallback_prepare(chosen.algorithm, chosen.option, scenario, prepared, err);
    if (status != CS_OK) {
        cs_free(prepared);
        return status;
    }
    *plan          = prepared->plan;
    plan->prepared = prepared;
    return CS_OK;
}

static cs_status nccl_open(const cs_scenario *scenario, const void *options, const void *prepared,
                           void **state_p, cs_error *err)
{
    cs_fallback *f = CS_NEW(cs_fallback, 1);

    (void)options;
    if (f == NULL) {
        return CS_NO_MEMORY(err, "nccl");
    }
    cs_status status = cs_fallback_open_prepared(f, prepared, scenario, err);
    if (status != CS_OK) {
        cs_free(f);
        return status;
    }
    *state_p = f;
    return CS_OK;
}

static void nccl_next_block(void *state, cs_block *block)
{
    cs_fallback_next(state, block);
}

static void nccl_close(void *state)
{
    if (state != NULL) {
        cs_fallback_close(state);
        cs_free(state);
    }
}

static double nccl_closed_form_s(const cs_scenario *scenario, const void *options)
{
    const chosen_schedule chosen = schedule_of(scenario, options);
    return cs_fallback_closed_form_s(chosen.algorithm, chosen.option, scenario);
}

const cs_algorithm cs_algorithm_nccl = {
    .name        = "nccl",
    .summary     = "what NCCL would run: rings, trees, NVLS, NVLSTree or PAT, as its tuner picks",
    .source      = "NCCL's src/graph/tuning.cc, v2.8 to v2.30",
    .collectives = 1u << CS_ALLREDUCE | 1u << CS_ALLGATHER | 1u << CS_REDUCESCATTER |
                   1u << CS_ALLTOALL | 1u << CS_BROADCAST | 1u << CS_REDUCE,
    .options       = nccl_table,
    .options_bytes = sizeof(nccl_options),
    .check         = nccl_check,
    .open_prepared = nccl_open,
    .release       = nccl_release,
    .next_block    = nccl_next_block,
    .close         = nccl_close,
    .closed_form_s = nccl_closed_form_s,
};
