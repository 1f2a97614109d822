/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From options to keys of a configuration: see scenario_args.h. */
#include "cli/scenario_args.h"

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
    {ALGORITHM, 'a', "algorithm", "A[,B..]", "algorithms; 'collsim list algorithms' has all (ring)"},
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

/* Options that set one key as it is. */
static const struct {
    int         id;
    const char *path, *origin;
} plain[] = {
    {COLLECTIVE, "collective", "--collective"},
    {GPUS, "cluster.gpus_per_server", "--gpus-per-server"},
    {MODEL, "model.name", "--model"},
    {ALPHA, "cluster.nic.alpha", "--alpha"},
    {BANDWIDTH, "cluster.nic.bandwidth", "--bandwidth"},
    {NVLINK_ALPHA, "cluster.nvlink.alpha", "--nvlink-alpha"},
    {NVLINK_BANDWIDTH, "cluster.nvlink.bandwidth", "--nvlink-bandwidth"},
    {NVLINK_KIND, "cluster.nvlink.kind", "--nvlink-kind"},
    {TOPOLOGY, "cluster.topology", "--topology"},
    {CALIBRATION, "calibration", "--calibration"},
    {SEED, "seed", "--seed"},
    {ROOT, "root", "--root"},
    {LATE, "late", "--late"},
    {SLOW, "slow", "--slow"},
    {OPT, "opt", "--opt"},
    {MODEL_OPT, "model-opt", "--model-opt"},
    {SET, "set", "--set"},
};
/* clang-format on */

static cs_status remember(cs_scenario_choice *choice, const char *path, const char *value,
                          const char *origin, cs_error *err)
{
    if (choice->n_set == sizeof choice->set / sizeof choice->set[0]) {
        return CS_FAIL(err, CS_EINVAL, origin, "more than %zu options", choice->n_set);
    }
    choice->set[choice->n_set].path   = path;
    choice->set[choice->n_set].value  = value;
    choice->set[choice->n_set].origin = origin;
    choice->n_set++;
    return CS_OK;
}

cs_status cs_scenario_choice_add(cs_scenario_choice *choice, int id, const cs_args *args,
                                 cs_error *err)
{
    switch (id) {
    case CS_ARG_OPERAND:
        if (choice->config_path != NULL) {
            return CS_FAIL(err, CS_EINVAL, args->value, "only one configuration is accepted");
        }
        choice->config_path = args->value;
        return CS_OK;
    case ALGORITHM: choice->algorithms = args->value; return CS_OK;
    case RANKS: choice->ranks = args->value; return CS_OK;
    case BYTES: choice->sizes = args->value; return CS_OK;
    case MIN_BYTES: choice->min_bytes = args->value; return CS_OK;
    case MAX_BYTES: choice->max_bytes = args->value; return CS_OK;
    case FACTOR: choice->factor = args->value; return CS_OK;
    case NO_VERIFY: return remember(choice, "verify", "false", "--no-verify", err);
    default: break;
    }
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++) {
        if (plain[i].id == id) {
            return remember(choice, plain[i].path, args->value, plain[i].origin, err);
        }
    }
    return CS_FAIL(err, CS_EINTERNAL, args->name, "the option is in no table");
}

/* Split what has the form KEY=VALUE (which the message calls `form`); the key is copied. */
static cs_status split_pair(const char *text, const char *form, const char *origin, char *key,
                            size_t key_bytes, const char **value_p, cs_error *err)
{
    const char *equals = strchr(text, '=');

    if (equals == NULL || equals == text || (size_t)(equals - text) >= key_bytes) {
        return CS_FAIL(err, CS_EINVAL, origin, "'%s' is not of the form %s", text, form);
    }
    memcpy(key, text, (size_t)(equals - text));
    key[equals - text] = '\0';
    *value_p           = equals + 1;
    return CS_OK;
}

static cs_status set_option(cs_config *config, const char *prefix, const char *text,
                            const char *origin, cs_error *err)
{
    char        path[160], key[96], name[112];
    const char *value = NULL;
    cs_status status  = split_pair(text, prefix[0] != '\0' ? "KEY=VALUE" : "PATH=JSON", origin, key,
                                   sizeof key, &value, err);

    if (status != CS_OK) {
        return status;
    }
    snprintf(path, sizeof path, "%s%s", prefix, key);
    snprintf(name, sizeof name, "%s%s%s", origin, prefix[0] != '\0' ? " " : "",
             prefix[0] != '\0' ? key : "");
    return cs_config_set(config, path, value, name, err);
}

static cs_status add_late(cs_config *config, const char *text, cs_error *err)
{
    char        rank[32];
    const char *time = NULL;
    uint64_t    number;
    cs_text     json   = {0};
    cs_status   status = split_pair(text, "RANK=TIME", "--late", rank, sizeof rank, &time, err);

    if (status == CS_OK) {
        status = cs_parse_integer(rank, 0, UINT32_MAX, &number, "--late", err);
    }
    if (status != CS_OK) {
        return status;
    }
    cs_text_add(&json, "{\"rank\":%llu,\"delay\":", (unsigned long long)number);
    cs_text_add_json_string(&json, time);
    cs_text_add(&json, "}");
    status = cs_text_status(&json, err);
    if (status == CS_OK) {
        status = cs_config_set(config, "arrivals.late[]", json.data, "--late", err);
    }
    cs_text_free(&json);
    return status;
}

/* L[@FROM[:UNTIL]] as the rest of a fault's object. */
static void add_slow_text(cs_text *json, char *text)
{
    char *from  = strchr(text, '@');
    char *until = from != NULL ? strchr(from, ':') : NULL;

    if (from != NULL) {
        *from++ = '\0';
    }
    if (until != NULL) {
        *until++ = '\0';
    }
    cs_text_add(json, "\"slowdown\":%s", text);
    if (from != NULL) {
        cs_text_add(json, ",\"from\":");
        cs_text_add_json_string(json, from);
    }
    if (until != NULL) {
        cs_text_add(json, ",\"until\":");
        cs_text_add_json_string(json, until);
    }
}

static cs_status add_slow(cs_config *config, const char *text, cs_error *err)
{
    char        rank[32], rest[128];
    const char *value = "";
    uint64_t    number;
    double      ratio;
    cs_text     json = {0};
    cs_status   status =
        split_pair(text, "RANK=L[@FROM[:UNTIL]]", "--slow", rank, sizeof rank, &value, err);

    if (status == CS_OK) {
        status = cs_parse_integer(rank, 0, UINT32_MAX, &number, "--slow", err);
    }
    if (status == CS_OK && strlen(value) >= sizeof rest) {
        status = CS_FAIL(err, CS_EINVAL, "--slow", "'%s' is too long", value);
    }
    if (status != CS_OK) {
        return status;
    }
    memcpy(rest, value, strlen(value) + 1);
    cs_text_add(&json, "{\"rank\":%llu,", (unsigned long long)number);
    add_slow_text(&json, rest);
    cs_text_add(&json, "}");
    status = cs_parse_number(rest, &ratio, "--slow", err);
    if (status == CS_OK) {
        status = cs_text_status(&json, err);
    }
    if (status == CS_OK) {
        status = cs_config_set(config, "faults[]", json.data, "--slow", err);
    }
    cs_text_free(&json);
    return status;
}

static cs_status set_one(cs_config *config, const char *path, const char *value, const char *origin,
                         cs_error *err)
{
    if (strcmp(path, "late") == 0) {
        return add_late(config, value, err);
    }
    if (strcmp(path, "slow") == 0) {
        return add_slow(config, value, err);
    }
    if (strcmp(path, "opt") == 0) {
        return set_option(config, "algorithm.options.", value, origin, err);
    }
    if (strcmp(path, "model-opt") == 0) {
        return set_option(config, "model.options.", value, origin, err);
    }
    if (strcmp(path, "set") == 0) {
        return set_option(config, "", value, origin, err);
    }
    return cs_config_set(config, path, value, origin, err);
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

static bool is_set(const cs_scenario_choice *choice, const char *path)
{
    for (size_t i = 0; i < choice->n_set; i++) {
        if (strcmp(choice->set[i].path, path) == 0) {
            return true;
        }
    }
    return false;
}

/* A calibration brings alpha and bandwidth: no second source is accepted. */
static cs_status refuse_contradictions(const cs_scenario_choice *choice, cs_error *err)
{
    bool sets_nic = is_set(choice, "cluster.nic.alpha") || is_set(choice, "cluster.nic.bandwidth");

    if (is_set(choice, "calibration") && sets_nic) {
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
        status = set_one(choice->config, choice->set[i].path, choice->set[i].value,
                         choice->set[i].origin, err);
    }
    return status == CS_OK ? cs_config_refuse_training(choice->config, err) : status;
}

void cs_scenario_choice_free(cs_scenario_choice *choice)
{
    cs_config_free(choice->config);
    choice->config = NULL;
}
