/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From options to keys of a configuration: see scenario_args.h. */
#include "cli/scenario_args.h"

#include "cli/cli.h"
#include "cli/config_args.h"
#include "cs/scenario.h"
#include "cs/units.h"

#include <stdio.h>
#include <string.h>

enum {
    ALGORITHM = 1,
    COLLECTIVE,
    RANKS,
    BYTES,
    MIN_BYTES,
    MAX_BYTES,
    FACTOR,
    GPUS,
    MODEL,
    ALPHA,
    BANDWIDTH,
    NVLINK_ALPHA,
    NVLINK_BANDWIDTH,
    NVLINK_KIND,
    NVLINK_CONCURRENT,
    TOPOLOGY,
    CALIBRATION,
    LATE,
    SLOW,
    OPT,
    MODEL_OPT,
    SET,
    NO_VERIFY,
    SEED,
    ROOT
};

/* clang-format off */
const cs_arg cs_scenario_args[] = {
    {ALGORITHM, 'a', "algorithm", "A[,B..]", "algorithms; 'collsim list algorithms' has all (nccl_rings where -g > 1, else ring)"},
    {COLLECTIVE, 'c', "collective", "C", "allreduce, allgather, reducescatter, alltoall, broadcast, reduce"},
    {RANKS, 'n', "ranks", "N[,N..]", "number of GPUs (8)"},
    {BYTES, 's', "bytes", "S[,S..]", "nccl-tests' size: 4096, 8K, 32M, 1G (32M)"},
    {MIN_BYTES, 'b', "min-bytes", "S", "sizes from here"},
    {MAX_BYTES, 'e', "max-bytes", "S", "... up to here"},
    {FACTOR, 'f', "factor", "F", "... each F times the one before (2)"},
    {GPUS, 'g', "gpus-per-server", "G", "GPUs that share a server and its NVLink (1)"},
    {MODEL, 'm', "model", "M", "network model; 'collsim list models' has all (alpha-beta)"},
    {ALPHA, 0, "alpha", "T", "start-up time of a transfer over the NICs (3us)"},
    {BANDWIDTH, 0, "bandwidth", "R", "rate of a NIC port: 450GB/s, 200Gb/s (450GB/s)"},
    {NVLINK_ALPHA, 0, "nvlink-alpha", "T", "the same for NVLink (1us)"},
    {NVLINK_BANDWIDTH, 0, "nvlink-bandwidth", "R", "the same for NVLink (450GB/s)"},
    {NVLINK_KIND, 0, "nvlink-kind", "K", "switched (a port per GPU) or direct (a link per pair)"},
    {NVLINK_CONCURRENT, 0, "nvlink-concurrent", "N", "links of a mesh that a GPU drives at once (all)"},
    {TOPOLOGY, 0, "topology", "NAME|FILE", "servers and the network between them: a preset or a file"},
    {CALIBRATION, 0, "calibration", "FILE", "alpha and bandwidth from 'collsim calibrate'"},
    {LATE, 0, "late", "RANK=TIME", "rank arrives TIME after the first (repeatable)"},
    {SLOW, 0, "slow", "RANK=L[@FROM[:UNTIL]]", "NICs of the rank's server slowed by L (repeatable)"},
    {OPT, 0, "opt", "KEY=VALUE", "option of the algorithm (repeatable)"},
    {MODEL_OPT, 0, "model-opt", "KEY=VALUE", "option of the model (repeatable)"},
    {SET, 0, "set", "PATH=JSON", "any key of the configuration (repeatable)"},
    {SEED, 0, "seed", "N", "seed of everything random (1)"},
    {ROOT, 0, "root", "RANK", "root of broadcast and reduce (0)"},
    {NO_VERIFY, 0, "no-verify", NULL, "do not check that the schedule is the collective"},
    {0, 0, NULL, NULL, NULL},
};
/* clang-format on */

cs_status cs_scenario_choice_add(cs_scenario_choice *choice, int id, const cs_args *args,
                                 cs_error *err)
{
    switch (id) {
    case CS_ARG_OPERAND:
        return cs_cli_only(&choice->config_path, args->value, "configuration", err);
    case ALGORITHM: choice->algorithms = args->value; return CS_OK;
    case RANKS: choice->ranks = args->value; return CS_OK;
    case BYTES: choice->sizes = args->value; return CS_OK;
    case MIN_BYTES: choice->min_bytes = args->value; return CS_OK;
    case MAX_BYTES: choice->max_bytes = args->value; return CS_OK;
    case FACTOR: choice->factor = args->value; return CS_OK;
    default: break;
    }
    const cs_config_key *key = cs_config_key_of(args->name);
    if (key == NULL) {
        return CS_FAIL(err, CS_EINTERNAL, args->name, "the option is in no table");
    }
    if (choice->n_set == sizeof choice->set / sizeof choice->set[0]) {
        return CS_FAIL(err, CS_EINVAL, key->option, "more than %zu options", choice->n_set);
    }
    choice->set[choice->n_set].key     = key;
    choice->set[choice->n_set++].value = args->value;
    return CS_OK;
}

/* A comma-separated list: one value sets the key, several become an axis. */
static cs_status set_list(cs_config *config, const char *path, const char *list, bool is_text,
                          const char *origin, cs_error *err)
{
    cs_text   json   = {0};
    size_t    count  = 0;
    cs_status status = CS_OK;

    cs_text_add(&json, "[");
    for (const char *at = list; status == CS_OK; at = strchr(at, ',') + 1) {
        size_t length = strcspn(at, ",");
        char   word[64];
        if (length == 0 || length >= sizeof word) {
            status = CS_FAIL(err, CS_EINVAL, origin, "'%s' is not a list of values", list);
            break;
        }
        memcpy(word, at, length);
        word[length] = '\0';
        cs_text_add(&json, "%s", count++ > 0 ? "," : "");
        uint64_t number;
        if (!is_text) {
            status = cs_parse_integer(word, 0, UINT64_MAX >> 1, &number, origin, err);
            cs_text_add(&json, "%s", word);
        } else {
            cs_text_add_json_string(&json, word);
        }
        if (at[length] == '\0') {
            break;
        }
    }
    cs_text_add(&json, "]");
    status = status == CS_OK ? cs_text_status(&json, err) : status;
    if (status == CS_OK && count > 1) {
        status = cs_config_sweep_set(config, path, json.data, origin, err);
    } else if (status == CS_OK) {
        json.data[json.length - 1] = '\0';
        status                     = cs_config_set(config, path, json.data + 1, origin, err);
    }
    cs_text_free(&json);
    return status;
}

/* nccl-tests' -b, -e, -f. */
static cs_status set_size_range(cs_scenario_choice *choice, cs_error *err)
{
    uint64_t  low, high;
    double    factor = 2;
    cs_text   json   = {0};
    cs_status status = cs_parse_bytes(choice->min_bytes ? choice->min_bytes : choice->max_bytes,
                                      &low, "--min-bytes", err);
    high = low;
    if (status == CS_OK && choice->max_bytes != NULL) {
        status = cs_parse_bytes(choice->max_bytes, &high, "--max-bytes", err);
    }
    if (status == CS_OK && choice->factor != NULL) {
        status = cs_parse_number(choice->factor, &factor, "--factor", err);
    }
    if (status == CS_OK && !(factor >= 1.001 && factor <= 1e15)) {
        status = CS_FAIL(err, CS_EINVAL, "--factor", "%g is outside [1.001, 1e15]", factor);
    }
    if (status == CS_OK && (low > CS_MAX_BYTES || high > CS_MAX_BYTES)) {
        bool is_low = low > CS_MAX_BYTES && choice->min_bytes != NULL;
        status      = CS_FAIL(err, CS_EINVAL, is_low ? "--min-bytes" : "--max-bytes",
                              "%llu is outside [1, %llu]", (unsigned long long)(is_low ? low : high),
                              (unsigned long long)CS_MAX_BYTES);
    }
    if (status == CS_OK && (low == 0 || low > high)) {
        status = CS_FAIL(err, CS_EINVAL, "--min-bytes", "sizes from %llu to %llu: none",
                         (unsigned long long)low, (unsigned long long)high);
    }
    uint64_t last = 0;
    for (double size = (double)low; status == CS_OK && size <= (double)high; size *= factor) {
        uint64_t bytes = (uint64_t)size;
        if (bytes != last) {
            cs_text_add(&json, "%s%llu", last == 0 ? "[" : ",", (unsigned long long)bytes);
        }
        last = bytes;
    }
    cs_text_add(&json, "]");
    status = status == CS_OK ? cs_text_status(&json, err) : status;
    if (status == CS_OK) {
        status = cs_config_sweep_set(choice->config, "bytes", json.data, "--min-bytes", err);
    }
    cs_text_free(&json);
    return status;
}

static bool is_set(const cs_scenario_choice *choice, const char *option)
{
    for (size_t i = 0; i < choice->n_set; i++) {
        if (strcmp(choice->set[i].key->option, option) == 0) {
            return true;
        }
    }
    return false;
}

/* A calibration brings alpha and bandwidth: no second source is accepted. */
static cs_status refuse_contradictions(const cs_scenario_choice *choice, cs_error *err)
{
    bool sets_nic = is_set(choice, "--alpha") || is_set(choice, "--bandwidth");

    if (is_set(choice, "--calibration") && sets_nic) {
        return CS_FAIL(
            err, CS_EINVAL, "--calibration",
            "brings alpha and bandwidth: --alpha and --bandwidth are not accepted with it");
    }
    return CS_OK;
}

cs_status cs_scenario_choice_finish(cs_scenario_choice *choice, cs_error *err)
{
    cs_status status = choice->config_path != NULL
                           ? cs_config_load(choice->config_path, &choice->config, err)
                           : cs_config_new(&choice->config, err);

    if (status == CS_OK && choice->algorithms != NULL) {
        status = set_list(choice->config, "algorithm.name", choice->algorithms, true, "--algorithm",
                          err);
    }
    if (status == CS_OK && choice->ranks != NULL) {
        status = set_list(choice->config, "cluster.ranks", choice->ranks, false, "--ranks", err);
    }
    if (status == CS_OK && choice->sizes != NULL && choice->min_bytes != NULL) {
        status = CS_FAIL(err, CS_EINVAL, "--min-bytes", "sizes are given by --bytes already");
    }
    if (status == CS_OK) {
        status = refuse_contradictions(choice, err);
    }
    if (status == CS_OK && choice->sizes != NULL) {
        status = set_list(choice->config, "bytes", choice->sizes, true, "--bytes", err);
    }
    if (status == CS_OK && (choice->min_bytes != NULL || choice->max_bytes != NULL)) {
        status = set_size_range(choice, err);
    }
    for (size_t i = 0; i < choice->n_set && status == CS_OK; i++) {
        status = cs_config_key_set(choice->config, choice->set[i].key, choice->set[i].value, err);
    }
    if (status == CS_OK) {
        status = cs_config_refuse_training(choice->config, err);
    }
    if (status == CS_OK) {
        cs_config_say_notes(choice->config);
    }
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
    for (size_t i = 0; i < count && status == CS_OK; i++) {
        cs_case c = {0};
        status    = cs_config_case(choice->config, i, &c, err);
        if (status == CS_OK) {
            status = visit(user, &c, err);
        }
        cs_case_free(&c);
    }
    cs_scenario_choice_free(choice);
    return status;
}

void cs_scenario_choice_free(cs_scenario_choice *choice)
{
    cs_config_free(choice->config);
    choice->config = NULL;
}
