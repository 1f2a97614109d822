/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From options to keys of a configuration: see scenario_args.h. */
#include "cli/scenario_args.h"

#include "base/alloc.h"
#include "cli/progress.h"
#include "cs/scenario.h"
#include "study/all.h"

#include <stdio.h>
#include <string.h>

/* clang-format off */
#define KEY(letter, name, value, path, help) CS_ARG_KEY(letter, name, value, path, CS_SET_VALUE, NULL, help)
#define SIZE(field, letter, name, help)                                                            \
    CS_ARG_NUMBER(cs_scenario_choice, field, letter, name, "S", help, .unit = CS_UNIT_SIZE, .min = 1, \
                  .max = (double)CS_MAX_BYTES)
const cs_arg cs_scenario_args[] = {
    CS_ARG_GROUP("what to run"),
    CS_ARG_KEY('a', "algorithm", "A[,B..]", "algorithm.name", CS_SET_LIST, NULL,
               "algorithms, or all that can; 'collsim list algorithms' has them (NCCL's)"),
    KEY('c', "collective", "C", "collective", CS_COLLECTIVE_LIST),
    CS_ARG_KEY('n', "ranks", "N[,N..]", "cluster.ranks", CS_SET_LIST, NULL, "number of GPUs: 8, 4,6, 8..64, 8:1024:x2 (8)"),
    CS_ARG_KEY('s', "bytes", "S[,S..]", "bytes", CS_SET_LIST, NULL, "nccl-tests' size: 4096, 8K, 32M, 1K:1G:x4 (32M)"),
    CS_ARG_KEY(0, "opt", "KEY=VALUE", "algorithm.options", CS_SET_BELOW, NULL, "option of the algorithm (repeatable)"),
    KEY(0, "root", "RANK", "root", "root of broadcast and reduce (0)"),
    CS_ARG_KEY(0, "no-verify", NULL, "verify", CS_SET_FALSE, NULL, "do not check that the schedule is the collective"),
    CS_ARG_GROUP("sweeps (lists and ranges of -a, -n, -s, --late and --slow are some, too)"),
    SIZE(min_bytes, 'b', "min-bytes", "sizes from here"),
    SIZE(max_bytes, 'e', "max-bytes", "... up to here"),
    CS_ARG_NUMBER(cs_scenario_choice, factor, 'f', "factor", "F", "... each F times the one before (2)",
                  .min = 1.001, .max = 1e15),
    CS_ARG_GROUP("cluster and model"),
    KEY('g', "gpus-per-server", "G", "cluster.gpus_per_server", "GPUs that share a server and its NVLink (1)"),
    KEY('m', "model", "M", "model.name", "network model; 'collsim list models' has all (alpha-beta)"),
    KEY(0, "alpha", "T", "cluster.nic.alpha", "start-up time of a transfer over the NICs (3us)"),
    KEY(0, "bandwidth", "R", "cluster.nic.bandwidth", "rate of a NIC port: 450GB/s, 200Gb/s (450GB/s)"),
    KEY(0, "nvlink-alpha", "T", "cluster.nvlink.alpha", "the same for NVLink (1us)"),
    KEY(0, "nvlink-bandwidth", "R", "cluster.nvlink.bandwidth", "the same for NVLink (450GB/s)"),
    KEY(0, "nvlink-kind", "K", "cluster.nvlink.kind", "switched (a port per GPU) or direct (a link per pair)"),
    KEY(0, "nvlink-concurrent", "N", "cluster.nvlink.concurrent", "links of a mesh that a GPU drives at once (all)"),
    CS_ARG_KEY(0, "topology", "NAME|FILE", "cluster.topology", CS_SET_NAME, NULL,
               "servers and the network between them: a preset or a file"),
    KEY(0, "calibration", "FILE", "calibration", "alpha and bandwidth from 'collsim calibrate', or a log of nccl-tests"),
    CS_ARG_KEY(0, "model-opt", "KEY=VALUE", "model.options", CS_SET_BELOW, NULL, "option of the model (repeatable)"),
    CS_ARG_GROUP("late ranks and faults"),
    CS_ARG_KEY(0, "late", "RANK=TIME", "arrivals.late[]", CS_SET_PARTS, "rank=delay",
               "rank arrives TIME after the first: 7=1ms, 7=0s,1ms, 7=10us:20ms:x2 (repeatable)"),
#define CS_FAULT(kind, key, least, most, slowdown, help, option, letter, option_help)              \
    CS_ARG_KEY(0, option, "RANK=" letter "[@FROM[:UNTIL]]", "faults[]", CS_SET_PARTS,              \
               "rank=" key "@from:until", option_help),                                            \
    CS_SLOW_NIC_ROW(option, key, letter),
#include "scenario/faults.def"
#undef CS_FAULT
    CS_KILL_NIC_ROW,
    CS_ARG_GROUP("everything else"),
    CS_CONFIG_SET_ROW,
    KEY(0, "seed", "N", "seed", "seed of everything random (1)"),
    CS_QUIET_ROW(cs_scenario_choice, is_quiet),
    CS_ARG_LAST_ROW,
};
/* clang-format on */

/* Every size from `low` to `high`, as an axis; `sizes` has room for all. */
static size_t list_sizes(double low, double high, double factor, cs_value *sizes)
{
    uint64_t last = 0;
    size_t   n    = 0;
    double   size = low;

    while (size <= high) {
        uint64_t bytes = (uint64_t)size;
        if (bytes != last && sizes != NULL) {
            sizes[n] = (cs_value){.type = CS_VALUE_WHOLE, .whole = (int64_t)bytes};
        }
        n += bytes != last;
        last = bytes;
        size *= factor;
    }
    return n;
}

/* nccl-tests' -b, -e, -f. */
static cs_status set_size_range(cs_scenario_choice *choice, cs_error *err)
{
    uint64_t low    = choice->min_bytes > 0 ? choice->min_bytes : choice->max_bytes;
    uint64_t high   = choice->max_bytes > 0 ? choice->max_bytes : low;
    double   factor = choice->factor > 0 ? choice->factor : 2;

    if (low > high) {
        return CS_FAIL(err, CS_EINVAL, "--min-bytes", "sizes from %llu to %llu: none",
                       (unsigned long long)low, (unsigned long long)high);
    }
    size_t    n     = list_sizes((double)low, (double)high, factor, NULL);
    cs_value *sizes = CS_NEW(cs_value, n);
    if (sizes == NULL) {
        return CS_FAIL(err, CS_ENOMEM, "--min-bytes", "out of memory for %zu sizes", n);
    }
    (void)list_sizes((double)low, (double)high, factor, sizes);
    cs_status status = cs_config_sweep_put(choice->config, "bytes", sizes, n, "--min-bytes", err);
    cs_free(sizes);
    return status;
}

/* Two sources for one thing. */
static cs_status refuse_contradictions(const cs_scenario_choice *choice, cs_error *err)
{
    const cs_config_choice *given    = &choice->given;
    bool                    sets_nic = cs_config_choice_has(given, "cluster.nic.alpha") ||
                    cs_config_choice_has(given, "cluster.nic.bandwidth");

    if (choice->min_bytes > 0 && cs_config_choice_has(given, "bytes")) {
        return CS_FAIL(err, CS_EINVAL, "--min-bytes", "sizes are given by --bytes already");
    }
    if (cs_config_choice_has(given, "calibration") && sets_nic) {
        return CS_FAIL(
            err, CS_EINVAL, "--calibration",
            "brings alpha and bandwidth: --alpha and --bandwidth are not accepted with it");
    }
    return CS_OK;
}

bool cs_config_names_algorithm(const cs_config *config)
{
    return cs_config_has(config, "algorithm.name") || cs_config_text(config, "algorithm") != NULL ||
           cs_config_has_axis(config, "algorithm.name");
}

/* Trees are for adapcc, which need not be said. */
static cs_status name_adapcc(cs_config *config, cs_error *err)
{
    const cs_value name = {.type = CS_VALUE_TEXT, .text = "adapcc"};

    return !cs_config_has(config, "algorithm.options.strategy") || cs_config_names_algorithm(config)
               ? CS_OK
               : cs_config_put(config, "algorithm.name", &name, "--opt strategy", err);
}

cs_status cs_scenario_choice_finish(cs_scenario_choice *choice, cs_error *err)
{
    bool has_range = choice->min_bytes > 0 || choice->max_bytes > 0;

    CS_TRY(cs_config_choice_load(&choice->given, &choice->config, err));
    CS_TRY(refuse_contradictions(choice, err));
    CS_TRY(cs_config_choice_apply_lists(&choice->given, cs_scenario_args, choice->config, err));
    if (has_range) {
        CS_TRY(set_size_range(choice, err));
    }
    CS_TRY(cs_config_choice_apply(&choice->given, choice->config, err));
    CS_TRY(name_adapcc(choice->config, err));
    CS_TRY(cs_config_refuse_training(choice->config, err));
    cs_config_say_notes(choice->config);
    return CS_OK;
}

void cs_say_left_out(const cs_left_out *out)
{
    if (out->text.length > 0) {
        cs_cli_progress_hide();
        fprintf(stderr, "collsim: note: left out of all: %s\n", out->text.data);
    }
}

/* Build a scenario and hand it to `visit`. */
static cs_status visit_one(const cs_scenario_choice *choice, size_t index, cs_scenario_visit *visit,
                           void *user, cs_error *err)
{
    cs_case   c      = {0};
    cs_status status = cs_config_case(choice->config, index, &c, err);

    if (status == CS_OK) {
        status = visit(user, &c, err);
    }
    cs_case_free(&c);
    return status;
}

cs_status cs_scenario_choice_visit(cs_scenario_choice *choice, cs_scenario_visit *visit, void *user,
                                   cs_error *err)
{
    cs_left_out out    = {0};
    cs_status   status = CS_OK;
    size_t      count  = cs_config_count(choice->config);

    cs_cli_progress_begin("scenarios", choice->is_quiet || count == 1);
    for (size_t i = 0; i < count && status == CS_OK; i++) {
        cs_error wrong = {0};
        choice->index  = i;
        status         = visit_one(choice, i, visit, user, &wrong);
        if (status != CS_OK && cs_config_leave_out(choice->config, i, &wrong, &out)) {
            status = CS_OK;
        } else if (status != CS_OK) {
            *err = wrong;
        }
        cs_cli_progress(i + 1, count);
    }
    cs_cli_progress_end();
    if (status == CS_OK && out.n == count) {
        status = cs_left_out_refusal(&out, err);
    } else if (status == CS_OK) {
        cs_say_left_out(&out);
    }
    cs_left_out_free(&out);
    return status;
}

cs_status cs_scenario_choice_run(cs_scenario_choice *choice, bool only_one,
                                 cs_scenario_visit *visit, void *user, cs_error *err)
{
    cs_status status = cs_scenario_choice_finish(choice, err);
    size_t    count  = status == CS_OK ? cs_config_count(choice->config) : 0;

    if (status == CS_OK && only_one && count != 1) {
        status =
            CS_FAIL(err, CS_EINVAL, "--format", "json needs exactly one scenario, not %zu", count);
    }
    if (status == CS_OK) {
        status = cs_scenario_choice_visit(choice, visit, user, err);
    }
    cs_scenario_choice_free(choice);
    return status;
}

/* The only scenario, with a word as a key's value. */
static cs_status take_only(cs_scenario_choice *choice, const char *command, const char *key,
                           const char *word, cs_case *c, cs_error *err)
{
    const cs_value value = {.type = CS_VALUE_TEXT, .text = word};

    CS_TRY(cs_config_put(choice->config, key, &value, command, err));
    if (cs_config_count(choice->config) != 1) {
        return CS_FAIL(err, CS_EINVAL, command, "needs exactly one scenario, not %zu",
                       cs_config_count(choice->config));
    }
    return cs_config_case(choice->config, 0, c, err);
}

cs_status cs_scenario_choice_adapcc(cs_scenario_choice *choice, const char *command, cs_case *c,
                                    cs_error *err)
{
    *c = (cs_case){0};
    if (cs_config_choice_has(&choice->given, "algorithm.name")) {
        return CS_FAIL(err, CS_EINVAL, "--algorithm", "%s is always about adapcc", command);
    }
    CS_TRY(cs_scenario_choice_finish(choice, err));
    CS_TRY(take_only(choice, command, "algorithm.name", "adapcc", c, err));
    if (c->job.scenario.cluster.nic_sharers > 1 && !cs_config_has(choice->config, "model.name")) {
        cs_case_free(c);
        *c = (cs_case){0};
        CS_TRY(take_only(choice, command, "model.name", "flow", c, err));
    }
    return CS_OK;
}

void cs_scenario_choice_free(cs_scenario_choice *choice)
{
    cs_config_free(choice->config);
    choice->config = NULL;
}

/* ---- a stored schedule in place of an algorithm ---- */

static cs_status set_number(cs_config *config, const char *path, uint64_t number, cs_error *err)
{
    const cs_value value = {.type = CS_VALUE_WHOLE, .whole = (int64_t)number};

    return cs_config_put(config, path, &value, "--schedule", err);
}

/* Its servers, where the configuration does not say more of them. */
static cs_status set_servers(cs_config *config, const cs_cluster *servers, cs_error *err)
{
    cs_text text = {0};

    if (cs_config_has(config, "cluster.servers")) {
        return CS_OK;
    }
    cs_schedule_add_servers(servers, &text);
    cs_status status = cs_text_status(&text, err);
    if (status == CS_OK) {
        status = cs_config_set(config, "cluster.servers", text.data, "--schedule", err);
    }
    cs_text_free(&text);
    return status;
}

cs_status cs_schedule_arg_load(cs_scenario_choice *choice, const char *path, cs_stored **schedule_p,
                               cs_error *err)
{
    cs_config *config = choice->config;

    if (cs_config_choice_has(&choice->given, "algorithm.name") ||
        cs_config_choice_has(&choice->given, "cluster.ranks")) {
        return CS_FAIL(
            err, CS_EINVAL, "--schedule",
            "brings its own schedule and ranks: --algorithm and --ranks are not accepted "
            "with it");
    }
    CS_TRY(cs_schedule_load(path, schedule_p, err));
    const cs_stored *schedule = *schedule_p;
    const cs_cluster servers  = cs_stored_cluster(schedule);
    CS_TRY(set_number(config, "cluster.ranks", schedule->n_ranks, err));
    const cs_value name = {.type = CS_VALUE_TEXT, .text = cs_collective_name(schedule->collective)};
    CS_TRY(cs_config_put(config, "collective", &name, "--schedule", err));
    if (!cs_is_even(&servers)) {
        CS_TRY(set_servers(config, &servers, err));
    } else if (schedule->gpus_per_server > 1) {
        CS_TRY(set_number(config, "cluster.gpus_per_server", schedule->gpus_per_server, err));
    }
    if (schedule->sockets > 1) {
        CS_TRY(set_number(config, "cluster.sockets", schedule->sockets, err));
    }
    if (schedule->bytes > 0 && choice->min_bytes == 0 &&
        !cs_config_choice_has(&choice->given, "bytes")) {
        CS_TRY(set_number(config, "bytes", schedule->bytes, err));
    }
    return CS_OK;
}
