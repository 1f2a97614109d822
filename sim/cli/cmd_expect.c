/* SPDX-License-Identifier: GPL-3.0-or-later */
/* collsim expect: what nccl-tests would show on a cluster. */
#include "algorithms/lib/nccl_time.h"
#include "base/alloc.h"
#include "base/arena.h"
#include "cli/cli.h"
#include "cli/scenario_args.h"
#include "output/expect_rows.h"
#include "topology/topology_file.h"

#include <stdio.h>
#include <string.h>

enum { GPU_OF_TOPOLOGY = 0, FABRIC_OF_TOPOLOGY = 0, MOST_CANDIDATES = 16 };

/* nccl-tests' curve, where no size is given. */
enum { FIRST_BYTES = 8 };
#define LAST_BYTES ((uint64_t)8 << 30)

typedef struct expect_job {
    cs_scenario_choice choice; /* of the sizes and the collective */
    const char        *topology, *version, *algorithms, *protocols, *output;
    uint32_t           ranks, gpus; /* 0: not given */
    uint32_t           gpus_per_process;
    int                gpu;    /* GPU_OF_TOPOLOGY, or 1 + cs_nccl_gpu */
    int                fabric; /* FABRIC_OF_TOPOLOGY, or 1 + cs_nccl_fabric */
    bool               is_strict, has_no_nvls, explains;
    cs_result_format   format;
    cs_nccl_cluster    cluster;
    cs_nccl_setting    setting;
    cs_nccl_tuning     tuning; /* of the collective of the sizes; borrows the cluster */
    cs_expect_row     *rows;   /* owned */
    size_t             n_rows, row_capacity;
    cs_text           *text;
} expect_job;

/* clang-format off */
#define TEXT(field, letter, name, value, help) CS_ARG_TEXT(expect_job, field, letter, name, value, help)
#define SIZE(field, letter, name, help)                                                            \
    CS_ARG_NUMBER(cs_scenario_choice, field, letter, name, "S", help, .unit = CS_UNIT_SIZE, .min = 1, \
                  .max = (double)CS_MAX_BYTES)
static const cs_arg size_args[] = {
    CS_ARG_KEY('c', "collective", "C", "collective", CS_SET_VALUE, NULL, "allreduce (default), allgather, reducescatter, alltoall"),
    CS_ARG_KEY('s', "bytes", "S[,S..]", "bytes", CS_SET_LIST, NULL, "nccl-tests' size: 4096, 8K, 32M, 1G (8 to 8G)"),
    SIZE(min_bytes, 'b', "min-bytes", "sizes from here"),
    SIZE(max_bytes, 'e', "max-bytes", "... up to here"),
    CS_ARG_NUMBER(cs_scenario_choice, factor, 'f', "factor", "F", "... each F times the one before (2)",
                  .min = 1.001, .max = 1e15),
    CS_ARG_LAST_ROW,
};
static const cs_arg expect_args[] = {
    CS_ARG_NUMBER(expect_job, ranks, 'n', "ranks", "N", "number of GPUs (those of a server)", .min = 2, .max = CS_MAX_RANKS),
    CS_ARG_NUMBER(expect_job, gpus, 'g', "gpus-per-server", "G", "GPUs of a server that are used (all)", .min = 1, .max = CS_MAX_RANKS),
    TEXT(topology, 0, "topology", "NAME|FILE", "servers: a preset, NCCL's topology XML or nvidia-smi's matrix"),
    TEXT(version, 0, "nccl-version", "V", "version of NCCL, 2.8 to 2.30 (2.30)"),
    CS_ARG_FLAG(expect_job, is_strict, 0, "strict", "refuse a version that is not known, instead of taking the nearest"),
    TEXT(algorithms, 0, "nccl-algo", "A[,A..]", "NCCL_ALGO: tree, ring, nvls, nvlstree, pat; ^ before: all others"),
    TEXT(protocols, 0, "nccl-proto", "P[,P..]", "NCCL_PROTO: ll, ll128, simple; ^ before: all others"),
    CS_ARG_FLAG(expect_job, has_no_nvls, 0, "no-nvls", "NCCL_NVLS_ENABLE=0"),
    CS_ARG_NUMBER(expect_job, gpus_per_process, 0, "gpus-per-process", "K", "GPUs that one thread launches on, nccl-tests' -g (1)", .min = 1, .max = CS_MACHINE_MAX_GPUS),
    CS_ARG_CHOICE(expect_job, gpu, 0, "gpu", "auto|" CS_NCCL_GPU_WORDS, "generation of the GPUs (that of the topology)"),
    CS_ARG_CHOICE(expect_job, fabric, 0, "fabric", "auto|" CS_NCCL_FABRIC_WORDS, "what joins the servers (that of the topology, else ib)"),
    CS_ARG_FLAG(expect_job, explains, 0, "explain", "the estimates of all candidates, too"),
    CS_ARG_FORMAT(expect_job, format, "how to print (table)"),
    TEXT(output, 'o', "output", "FILE", "write there instead of standard output"),
    CS_ARG_HELP_ROW,
    CS_ARG_LAST_ROW,
};
static const cs_arg_table expect_tables[] = {
    {size_args, offsetof(expect_job, choice), offsetof(expect_job, choice) + offsetof(cs_scenario_choice, given), CS_NOWHERE},
    {expect_args, 0, CS_NOWHERE, CS_NOWHERE}, {.args = NULL}};
/* clang-format on */

/* What NCCL is and is told; where a version is not known, the nearest one is taken and named. */
static cs_status read_setting(expect_job *j, cs_error *err)
{
    bool is_known = true;

    j->setting = (cs_nccl_setting){.minor            = CS_NCCL_NEWEST,
                                   .algorithms       = UINT32_MAX,
                                   .protocols        = UINT32_MAX,
                                   .has_nvls         = !j->has_no_nvls,
                                   .gpus_per_process = j->gpus_per_process};
    if (j->version != NULL) {
        CS_TRY(cs_nccl_version_parse(j->version, &j->setting.minor, &is_known, err));
    }
    if (!is_known && j->is_strict) {
        return CS_FAIL(err, CS_EINVAL, "--nccl-version",
                       "%s is not known: accepted with --strict are 2.%d to 2.%d", j->version,
                       CS_NCCL_OLDEST, CS_NCCL_NEWEST);
    }
    if (!is_known) {
        (void)fprintf(stderr, "collsim: note: --nccl-version: %s is not known, 2.%u is taken\n",
                      j->version, j->setting.minor);
    }
    if (j->algorithms != NULL) {
        CS_TRY(cs_nccl_filter_parse(j->algorithms, cs_nccl_algorithm_names, CS_NCCL_ALGORITHMS,
                                    "--nccl-algo", &j->setting.algorithms, err));
    }
    return j->protocols == NULL
               ? CS_OK
               : cs_nccl_filter_parse(j->protocols, cs_nccl_protocol_names, CS_NCCL_PROTOCOLS,
                                      "--nccl-proto", &j->setting.protocols, err);
}

/* Where the topology does not say the rate of NVLink, it is that of the generation that was asked
 * for; what is left of its assumptions is said. */
static void use_assumed(expect_job *j, const cs_machine *m)
{
    const char *nvlink = m->assumed[CS_RATE_NVLINK], *nic = m->assumed[CS_RATE_NIC];

    if (nvlink != NULL && j->gpu != GPU_OF_TOPOLOGY) {
        j->cluster.sheet_GBps = cs_nccl_sheet_GBps(j->cluster.gpu);
    } else if (nvlink != NULL) {
        (void)fprintf(stderr,
                      "collsim: note: --topology: %s: assumed are %s; --gpu says otherwise\n",
                      j->topology, nvlink);
    }
    if (nic != NULL && j->cluster.servers > 1) {
        (void)fprintf(stderr, "collsim: note: --topology: %s: assumed are %s\n", j->topology, nic);
    }
}

static cs_status use_site(expect_job *j, const cs_topology_file *file, cs_error *err)
{
    const cs_machine *m = file->site.machine;

    if (m == NULL) {
        return CS_FAIL(err, CS_ENOTSUP, "--topology",
                       "%s says nothing of servers: accepted are a preset, NCCL's topology XML and "
                       "nvidia-smi's matrix",
                       j->topology);
    }
    if (file->site.tail != NULL) {
        return CS_FAIL(err, CS_ENOTSUP, "--topology", "%s: servers must be alike", j->topology);
    }
    const uint32_t gpus  = j->gpus > 0 ? j->gpus : m->n_gpus;
    const uint32_t ranks = j->ranks > 0 ? j->ranks : gpus;
    CS_TRY(cs_nccl_cluster_of(m, ranks, gpus, &j->cluster, err));
    if (j->gpus_per_process > 0 && j->cluster.gpus % j->gpus_per_process != 0) {
        return CS_FAIL(err, CS_EINVAL, "--gpus-per-process",
                       "%u does not divide the %u of a server", j->gpus_per_process,
                       j->cluster.gpus);
    }
    if (j->gpu != GPU_OF_TOPOLOGY) {
        j->cluster.gpu = (cs_nccl_gpu)(j->gpu - 1);
    }
    if (j->fabric != FABRIC_OF_TOPOLOGY) {
        j->cluster.fabric = (cs_nccl_fabric)(j->fabric - 1);
    }
    use_assumed(j, m);
    return CS_OK;
}

static cs_status read_cluster(expect_job *j, cs_error *err)
{
    cs_topology_file file  = {0};
    cs_arena         arena = {0};

    if (j->topology == NULL) {
        return CS_FAIL(err, CS_EINVAL, "--topology",
                       "needs a preset or a file: 'collsim list topologies' has the presets");
    }
    cs_status status = cs_topology_open(j->topology, &arena, &file, err);
    if (status == CS_OK) {
        status = use_site(j, &file, err);
        cs_topology_file_close(&file);
    }
    cs_arena_free(&arena);
    return status;
}

static void explain(const expect_job *j, uint64_t bytes, const cs_nccl_choice *choice)
{
    const cs_nccl_tuning *t = &j->tuning;
    cs_expect_candidate   all[MOST_CANDIDATES];
    size_t                n = 0;

    for (uint32_t a = 0; a < CS_NCCL_ALGORITHMS; a++) {
        for (uint32_t p = 0; p < CS_NCCL_PROTOCOLS; p++) {
            if (t->cost[a][p].bandwidth_GBps <= 0 || n == MOST_CANDIDATES) {
                continue;
            }
            all[n++] = (cs_expect_candidate){
                .algorithm      = cs_nccl_algorithm_names[a],
                .protocol       = cs_nccl_protocol_names[p],
                .latency_us     = t->cost[a][p].latency_us,
                .bandwidth_GBps = t->cost[a][p].bandwidth_GBps,
                .estimate_us    = cs_nccl_estimate_us(t, a, p, (double)bytes),
                .expected_us    = cs_nccl_time_us(t, a, p, (double)bytes),
                .is_filtered =
                    (t->setting.algorithms >> a & 1u) == 0 || (t->setting.protocols >> p & 1u) == 0,
                .is_chosen = choice->algorithm == a && choice->protocol == p,
            };
        }
    }
    cs_expect_candidates(j->text, bytes, all, n);
}

/* The rows of the sizes share the tuning. */
static cs_status add_case(void *user, cs_case *c, cs_error *err)
{
    expect_job         *j          = user;
    const cs_collective collective = c->job.scenario.collective;
    const uint64_t      bytes      = c->job.scenario.bytes;
    const uint32_t      ranks      = j->cluster.servers * j->cluster.gpus;
    const bool          is_p2p     = collective == CS_ALLTOALL;
    cs_nccl_choice      choice     = {.protocol = CS_NCCL_SIMPLE};
    double              us;

    if (j->n_rows == 0) {
        CS_TRY(cs_nccl_time_check(&j->cluster, collective, err));
        cs_nccl_tune(&j->cluster, &j->setting, collective, &j->tuning);
    }
    if (is_p2p) {
        us = cs_nccl_alltoall_us(&j->cluster, (double)bytes);
    } else if (cs_nccl_choose(&j->tuning, (double)bytes, &choice)) {
        us = cs_nccl_time_us(&j->tuning, choice.algorithm, choice.protocol, (double)bytes);
    } else {
        return CS_FAIL(err, CS_EINVAL, j->algorithms != NULL ? "--nccl-algo" : "--nccl-proto",
                       "nothing is left that does %s here", cs_collective_name(collective));
    }
    if (!cs_grow(&j->rows, &j->row_capacity, j->n_rows + 1, 64, sizeof *j->rows)) {
        return CS_NO_MEMORY(err, "%zu rows", j->n_rows + 1);
    }
    if (j->explains && !is_p2p) {
        explain(j, bytes, &choice);
    }
    const bool   in_network = j->tuning.nvls.channels >= 2;
    const double off        = cs_nccl_uncertainty(&j->cluster, collective, (double)bytes);
    j->rows[j->n_rows++]    = (cs_expect_row){
           .bytes     = bytes,
           .algorithm = is_p2p ? "p2p" : cs_nccl_algorithm_names[choice.algorithm],
           .protocol  = cs_nccl_protocol_names[choice.protocol],
           .channels  = is_p2p ? CS_NO_CHANNELS : cs_nccl_channels(&j->tuning, &choice, (double)bytes),
           .expected_s = us / 1e6,
           .low_s      = us / 1e6 * (1 - off),
           .high_s     = us / 1e6 * (1 + off),
           .bound_s    = cs_nccl_bound_s(&j->cluster, collective, (double)bytes, in_network),
           .busbw_GBps = (double)bytes / us / 1e3 * cs_busbw_factor(collective, ranks),
    };
    return CS_OK;
}

static void add_heading(const expect_job *j, cs_text *text)
{
    static const char *const gpus[]    = {"Volta", "Ampere", "Hopper", "Blackwell"};
    static const char *const fabrics[] = {"InfiniBand", "RoCE", "EFA", "EFA (P4)", "sockets"};
    const cs_nccl_cluster   *c         = &j->cluster;

    cs_text_add(text, "# expected of NCCL 2.%u, %u ranks: %u x %u %s GPUs of %.4g GB/s NVLink%s",
                j->setting.minor, c->servers * c->gpus, c->servers, c->gpus, gpus[c->gpu],
                c->sheet_GBps, c->has_nvswitch ? "" : " (direct)");
    if (c->servers > 1) {
        cs_text_add(text, ", %u NICs of %.4g GB/s, %s", c->nics, c->nic_GBps, fabrics[c->fabric]);
    }
    cs_text_add(text, "\n");
}

static cs_status print(expect_job *j, cs_text *text, cs_error *err)
{
    switch (j->format) {
    case CS_AS_JSON: cs_expect_rows_json(text, j->rows, j->n_rows); break;
    case CS_AS_CSV: cs_expect_rows_csv(text, j->rows, j->n_rows); break;
    case CS_AS_TABLE:
        cs_expect_rows_table(text, j->rows, j->n_rows, cs_nccl_is_measured(&j->cluster));
        break;
    }
    return cs_cli_write_output(j->output, text, err);
}

static cs_status answer(void *job, cs_text *text, cs_error *err)
{
    expect_job *j      = job;
    cs_status   status = CS_OK;

    if (j->explains && j->format != CS_AS_TABLE) {
        return CS_FAIL(err, CS_EINVAL, "--explain", "is for --format table");
    }
    j->text   = text;
    status    = read_setting(j, err);
    status    = status == CS_OK ? read_cluster(j, err) : status;
    bool bare = !cs_config_choice_has(&j->choice.given, "bytes") && j->choice.min_bytes == 0 &&
                j->choice.max_bytes == 0;
    if (bare) {
        j->choice.min_bytes = FIRST_BYTES;
        j->choice.max_bytes = LAST_BYTES;
    }
    status = status == CS_OK ? cs_scenario_choice_finish(&j->choice, err) : status;
    if (status == CS_OK && j->format == CS_AS_TABLE) {
        add_heading(j, text);
    }
    status = status == CS_OK ? cs_scenario_choice_visit(&j->choice, add_case, j, err) : status;
    status = status == CS_OK ? print(j, text, err) : status;
    cs_free(j->rows);
    cs_scenario_choice_free(&j->choice);
    return status;
}

static int expect_run(int count, char *const *words)
{
    expect_job j = {.topology = NULL};
    return cs_cli_answer(&cs_command_expect, count, words, answer, &j);
}

const cs_command cs_command_expect = {
    .name    = "expect",
    .usage   = "expect --topology NAME|FILE [-n N] [-g G] [options]",
    .summary = "what nccl-tests would show: the time of what NCCL picks",
    .tables  = expect_tables,
    .run     = expect_run,
};
