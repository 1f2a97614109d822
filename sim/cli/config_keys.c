/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From an option to the key of a configuration: see config_keys.h. */
#include "cli/config_keys.h"

#include "base/text.h"
#include "cs/units.h"

#include <stdio.h>
#include <string.h>

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

/* KEY=VALUE below the path, or PATH=JSON where that is empty. */
static cs_status set_pair(cs_config *config, const cs_config_key *key, const char *text,
                          cs_error *err)
{
    char        path[160], inner[96], name[112];
    bool        is_option = key->path[0] != '\0';
    const char *value     = NULL;
    cs_status   status = split_pair(text, is_option ? "KEY=VALUE" : "PATH=JSON", key->option, inner,
                                    sizeof inner, &value, err);

    if (status != CS_OK) {
        return status;
    }
    snprintf(path, sizeof path, "%s%s", key->path, inner);
    snprintf(name, sizeof name, "%s%s%s", key->option, is_option ? " " : "",
             is_option ? inner : "");
    return cs_config_set(config, path, value, name, err);
}

static cs_status add_late(cs_config *config, const cs_config_key *key, const char *text,
                          cs_error *err)
{
    char        rank[32];
    const char *time = NULL;
    uint64_t    number;
    cs_text     json   = {0};
    cs_status   status = split_pair(text, "RANK=TIME", key->option, rank, sizeof rank, &time, err);

    if (status == CS_OK) {
        status = cs_parse_integer(rank, 0, UINT32_MAX, &number, key->option, err);
    }
    if (status != CS_OK) {
        return status;
    }
    cs_text_add(&json, "{\"rank\":%llu,\"delay\":", (unsigned long long)number);
    cs_text_add_json_string(&json, time);
    cs_text_add(&json, "}");
    status = cs_text_status(&json, err);
    if (status == CS_OK) {
        status = cs_config_set(config, key->path, json.data, key->option, err);
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

static cs_status add_slow(cs_config *config, const cs_config_key *key, const char *text,
                          cs_error *err)
{
    char        rank[32], rest[128];
    const char *value = "";
    uint64_t    number;
    double      ratio;
    cs_text     json = {0};
    cs_status   status =
        split_pair(text, "RANK=L[@FROM[:UNTIL]]", key->option, rank, sizeof rank, &value, err);

    if (status == CS_OK) {
        status = cs_parse_integer(rank, 0, UINT32_MAX, &number, key->option, err);
    }
    if (status == CS_OK && strlen(value) >= sizeof rest) {
        status = CS_FAIL(err, CS_EINVAL, key->option, "'%s' is too long", value);
    }
    if (status != CS_OK) {
        return status;
    }
    memcpy(rest, value, strlen(value) + 1);
    cs_text_add(&json, "{\"rank\":%llu,", (unsigned long long)number);
    add_slow_text(&json, rest);
    cs_text_add(&json, "}");
    status = cs_parse_number(rest, &ratio, key->option, err);
    if (status == CS_OK) {
        status = cs_text_status(&json, err);
    }
    if (status == CS_OK) {
        status = cs_config_set(config, key->path, json.data, key->option, err);
    }
    cs_text_free(&json);
    return status;
}

static cs_status set_value(cs_config *config, const cs_config_key *key, const char *value,
                           cs_error *err)
{
    return cs_config_set(config, key->path, value, key->option, err);
}

static cs_status set_topology(cs_config *config, const cs_config_key *key, const char *value,
                              cs_error *err)
{
    return cs_config_name_topology(config, value, key->option, err);
}

static cs_status set_false(cs_config *config, const cs_config_key *key, const char *value,
                           cs_error *err)
{
    (void)value;
    return cs_config_set(config, key->path, "false", key->option, err);
}

static const cs_config_key keys[] = {
    {"--collective", "collective", set_value},
    {"--gpus-per-server", "cluster.gpus_per_server", set_value},
    {"--model", "model.name", set_value},
    {"--alpha", "cluster.nic.alpha", set_value},
    {"--bandwidth", "cluster.nic.bandwidth", set_value},
    {"--nvlink-alpha", "cluster.nvlink.alpha", set_value},
    {"--nvlink-bandwidth", "cluster.nvlink.bandwidth", set_value},
    {"--nvlink-kind", "cluster.nvlink.kind", set_value},
    {"--nvlink-concurrent", "cluster.nvlink.concurrent", set_value},
    {"--topology", "cluster.topology", set_topology},
    {"--calibration", "calibration", set_value},
    {"--seed", "seed", set_value},
    {"--root", "root", set_value},
    {"--late", "arrivals.late[]", add_late},
    {"--slow", "faults[]", add_slow},
    {"--opt", "algorithm.options.", set_pair},
    {"--model-opt", "model.options.", set_pair},
    {"--set", "", set_pair},
    {"--no-verify", "verify", set_false},
};

const cs_config_key *cs_config_key_of(const char *option)
{
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        if (strcmp(keys[i].option, option) == 0) {
            return &keys[i];
        }
    }
    return NULL;
}

cs_status cs_config_key_set(cs_config *config, const cs_config_key *key, const char *value,
                            cs_error *err)
{
    return key->set(config, key, value, err);
}
