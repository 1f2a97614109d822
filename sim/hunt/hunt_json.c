/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hunts as JSON. The tables list the keys for the reader, and those of settings for the writer,
 * too.
 */
#include "hunt/hunt_json.h"

#include "base/alloc.h"
#include "base/file.h"
#include "hunt/script.h"
#include "input/locate.h"
#include "input/reader.h"

#include <string.h>

#define FORMAT     "collsim-hunt-1"
#define MOST_BYTES ((size_t)1 << 30) /* of a file */
#define MOST_COUNT 1e9
#define MOST_BPS   1e18
#define MOST_NOISE 1.0

typedef struct result_keys {
    uint32_t    test, rows;
    double      busbw_Bps;
    const char *log;
} result_keys;

typedef struct group_keys {
    uint32_t    *hosts;
    result_keys *results;
    size_t       n_hosts, n_results;
} group_keys;

typedef struct round_keys {
    uint32_t    size;
    group_keys *groups;
    size_t      n_groups;
} round_keys;

typedef struct root_keys {
    cs_hunt_setting setting;
    const char     *id, *command;
    const char    **hosts, **rails;
    round_keys     *rounds;
    size_t          n_hosts, n_rails, n_rounds;
} root_keys;

/* clang-format off */
#define FIELD(type, field, key, least, most) \
    CS_KEY(type, field, key, .min = (least), .max = (most), .is_required = true)
#define TEXT(type, field, key) CS_KEY(type, field, key, .is_required = true)
static const cs_field a_word[] = {{.name = "word", .type = CS_FIELD_TEXT}, CS_FIELD_END};
static const cs_field a_host[] = {
    {.name = "host", .type = CS_FIELD_U32, .max = CS_HUNT_MAX_HOSTS - 1}, CS_FIELD_END};

static const cs_field result_fields[] = {
    FIELD(result_keys, test, "test", 0, CS_HUNT_MAX_RAILS - 1),
    FIELD(result_keys, busbw_Bps, "busbw_Bps", 1, MOST_BPS),
    FIELD(result_keys, rows, "rows", 1, MOST_COUNT),
    TEXT(result_keys, log, "log"),
    CS_FIELD_END,
};
static const cs_field a_result[] = {
    {.name = "result", .type = CS_FIELD_OBJECT, .fields = result_fields}, CS_FIELD_END};
static const cs_field group_fields[] = {
    CS_KEY_LIST(group_keys, hosts, n_hosts, "hosts", a_host, .min = 2, .max = CS_HUNT_MAX_HOSTS, .is_required = true),
    CS_KEY_LIST(group_keys, results, n_results, "results", a_result, .max = CS_HUNT_MAX_RAILS, .is_required = true),
    CS_FIELD_END,
};
static const cs_field a_group[] = {
    {.name = "group", .type = CS_FIELD_OBJECT, .fields = group_fields}, CS_FIELD_END};
static const cs_field round_fields[] = {
    FIELD(round_keys, size, "size", 2, CS_HUNT_MAX_HOSTS),
    CS_KEY_LIST(round_keys, groups, n_groups, "groups", a_group, .min = 1, .max = CS_HUNT_MAX_HOSTS, .is_required = true),
    CS_FIELD_END,
};
static const cs_field a_round[] = {
    {.name = "round", .type = CS_FIELD_OBJECT, .fields = round_fields}, CS_FIELD_END};

static const cs_field root_fields[] = {
    {.name = "format", .type = CS_FIELD_CHOICE, .offset = CS_NOWHERE, .choices = FORMAT, .is_required = true},
    TEXT(root_keys, id, "id"),
    FIELD(root_keys, setting.effect, "effect", 0, 0.9999),
    FIELD(root_keys, setting.noise, "noise", 0, MOST_NOISE),
    FIELD(root_keys, setting.confidence, "confidence", 0.5, 0.9999),
    FIELD(root_keys, setting.bad, "bad", 1, CS_HUNT_MAX_BAD),
    FIELD(root_keys, setting.rows, "rows", 1, 1000),
    FIELD(root_keys, setting.group, "group", 0, CS_HUNT_MAX_HOSTS),
    FIELD(root_keys, setting.gpus, "gpus", 1, 1024),
    FIELD(root_keys, setting.bytes, "bytes", 1, 1099511627776.0),
    FIELD(root_keys, setting.healthy_Bps, "healthy_Bps", 0, MOST_BPS),
    TEXT(root_keys, command, "command"),
    CS_KEY_LIST(root_keys, hosts, n_hosts, "hosts", a_word, .min = CS_HUNT_MIN_HOSTS, .max = CS_HUNT_MAX_HOSTS, .is_required = true),
    CS_KEY_LIST(root_keys, rails, n_rails, "rails", a_word, .max = CS_HUNT_MAX_RAILS, .is_required = true),
    CS_KEY_LIST(root_keys, rounds, n_rounds, "rounds", a_round, .max = CS_HUNT_MAX_ROUNDS, .is_required = true),
    CS_FIELD_END,
};
/* clang-format on */

/* ---- writing ---- */

static void add_words(cs_text *text, const char *key, const char *const *words, size_t n)
{
    cs_text_add(text, ",\n  \"%s\": [", key);
    for (size_t i = 0; i < n; i++) {
        cs_text_add(text, "%s", i > 0 ? ", " : "");
        cs_text_add_json_string(text, words[i]);
    }
    cs_text_add(text, "]");
}

static void add_group(cs_text *text, const cs_hunt *hunt, const cs_hunt_round *round,
                      uint32_t group)
{
    bool is_first = true;

    cs_text_add(text, "      {\"hosts\": [");
    for (uint32_t i = 0; i < hunt->n_hosts; i++) {
        if (round->group_of[i] == group) {
            cs_text_add(text, "%s%u", is_first ? "" : ", ", i);
            is_first = false;
        }
    }
    cs_text_add(text, "], \"results\": [");
    is_first = true;
    for (uint32_t test = 0; test < cs_hunt_n_tests(hunt); test++) {
        const cs_hunt_result *r = cs_hunt_at(hunt, round, group, test);
        if (!(r->busbw_Bps > 0)) {
            continue;
        }
        cs_text_add(text, "%s{\"test\": %u, \"busbw_Bps\": ", is_first ? "" : ", ", test);
        cs_text_add_number(text, r->busbw_Bps);
        cs_text_add(text, ", \"rows\": %u, \"log\": ", r->rows);
        cs_text_add_json_string(text, r->log != NULL ? r->log : "");
        cs_text_add(text, "}");
        is_first = false;
    }
    cs_text_add(text, "]}");
}

void cs_hunt_json(const cs_hunt *hunt, cs_text *text)
{
    root_keys keys = {.setting = hunt->setting};
    char      id[CS_HUNT_ID_BYTES], value[64];

    cs_hunt_id(hunt, id);
    cs_text_add(text, "{\n  \"format\": \"" FORMAT "\",\n  \"id\": \"%s\"", id);
    for (const cs_field *row = root_fields + 2; row->type != CS_FIELD_TEXT; row++) {
        (void)cs_field_text(row, &keys, value, sizeof value);
        cs_text_add(text, ",\n  \"%s\": %s", row->name, value);
    }
    cs_text_add(text, ",\n  \"command\": ");
    cs_text_add_json_string(text, hunt->command != NULL ? hunt->command : "");
    add_words(text, "hosts", hunt->hosts, hunt->n_hosts);
    add_words(text, "rails", hunt->rails, hunt->n_rails);
    cs_text_add(text, ",\n  \"rounds\": [");
    for (uint32_t t = 0; t < hunt->n_rounds; t++) {
        const cs_hunt_round *round = hunt->rounds[t];
        cs_text_add(text, "%s\n    {\"size\": %u, \"groups\": [\n", t > 0 ? "," : "", round->size);
        for (uint32_t g = 0; g < round->n_groups; g++) {
            add_group(text, hunt, round, g);
            cs_text_add(text, g + 1 < round->n_groups ? ",\n" : "\n    ]}");
        }
    }
    cs_text_add(text, "%s]\n}\n", hunt->n_rounds > 0 ? "\n  " : "");
}

cs_status cs_hunt_save(const cs_hunt *hunt, const char *path, cs_error *err)
{
    cs_text   text = {0};
    cs_status status;

    cs_hunt_json(hunt, &text);
    status = cs_text_status(&text, err);
    status = status == CS_OK ? cs_file_write(path, text.data, text.length, err) : status;
    cs_text_free(&text);
    return status;
}

/* ---- reading ---- */

static void take_results(cs_reading *r, const cs_place *place, const group_keys *keys,
                         uint32_t group, cs_hunt_round *round, cs_hunt *hunt)
{
    cs_place list = cs_place_get(place, "results");

    for (size_t i = 0; i < keys->n_results && !cs_reading_failed(r); i++) {
        const result_keys *result = &keys->results[i];
        cs_place           item = cs_place_item(&list, i), test = cs_place_get(&item, "test");
        if (result->test >= cs_hunt_n_tests(hunt)) {
            CS_REFUSE(r, &test, CS_EINVAL, "%u: a group makes %u", result->test,
                      cs_hunt_n_tests(hunt));
        } else if (cs_hunt_at(hunt, round, group, result->test)->busbw_Bps > 0) {
            CS_REFUSE(r, &test, CS_EINVAL, "%u stands there twice", result->test);
        } else if (cs_hunt_put(hunt, cs_hunt_at(hunt, round, group, result->test),
                               result->busbw_Bps, result->rows, result->log, &r->error) != CS_OK) {
            return;
        }
    }
}

static void take_group(cs_reading *r, const cs_place *place, const group_keys *keys, uint32_t group,
                       cs_hunt_round *round, cs_hunt *hunt)
{
    cs_place list = cs_place_get(place, "hosts");

    for (size_t i = 0; i < keys->n_hosts && !cs_reading_failed(r); i++) {
        uint32_t host = keys->hosts[i];
        cs_place item = cs_place_item(&list, i);
        if (host >= hunt->n_hosts) {
            CS_REFUSE(r, &item, CS_EINVAL, "%u: there are %u hosts, from 0 on", host,
                      hunt->n_hosts);
        } else if (round->group_of[host] != CS_HUNT_IDLE) {
            CS_REFUSE(r, &item, CS_EINVAL, "%u is in group %u of this round already", host,
                      round->group_of[host] + 1);
        } else {
            round->group_of[host] = group;
        }
    }
    take_results(r, place, keys, group, round, hunt);
}

static void take_rounds(cs_reading *r, const cs_place *root, const root_keys *keys, cs_hunt *hunt)
{
    cs_place list = cs_place_get(root, "rounds");

    for (size_t t = 0; t < keys->n_rounds && !cs_reading_failed(r); t++) {
        const round_keys *round_of = &keys->rounds[t];
        cs_place          item     = cs_place_item(&list, t);
        cs_place          groups   = cs_place_get(&item, "groups");
        cs_hunt_round    *round    = NULL;
        if (round_of->n_groups > hunt->n_hosts / 2) {
            CS_REFUSE(r, &groups, CS_EINVAL, "are %zu: %u hosts make %u at most",
                      round_of->n_groups, hunt->n_hosts, hunt->n_hosts / 2);
            return;
        }
        if (cs_hunt_add_round(hunt, (uint32_t)round_of->n_groups, round_of->size, &round,
                              &r->error) != CS_OK) {
            return;
        }
        for (size_t g = 0; g < round_of->n_groups && !cs_reading_failed(r); g++) {
            cs_place group = cs_place_item(&groups, g);
            take_group(r, &group, &round_of->groups[g], (uint32_t)g, round, hunt);
        }
    }
}

/* Whatever changes a hunt behind its back would make its rounds say something else. */
static void check_id(cs_reading *r, const cs_place *root, const root_keys *keys,
                     const cs_hunt *hunt)
{
    char     id[CS_HUNT_ID_BYTES];
    cs_place place = cs_place_get(root, "id");

    cs_hunt_id(hunt, id);
    if (strcmp(id, keys->id) != 0) {
        CS_REFUSE(r, &place, CS_EINVAL,
                  "is not that of these settings, hosts and rails: they were changed, and another "
                  "hunt begins with --hosts");
    }
}

static void read_root(cs_reading *r, json_t *tree, cs_hunt *hunt)
{
    cs_place  root  = cs_place_root(tree);
    root_keys keys  = {.id = NULL};
    cs_error  wrong = {0};
    cs_status status;

    if (!cs_read_fields(r, &root, root_fields, &keys)) {
        return;
    }
    status = cs_hunt_begin(&keys.setting, keys.hosts, keys.n_hosts, keys.rails, keys.n_rails, hunt,
                           &wrong);
    if (status == CS_OK && keys.command[0] != '\0') {
        status         = cs_script_check(hunt, keys.command, &wrong);
        wrong.where[0] = '\0';
        (void)strncat(wrong.where, "command", sizeof wrong.where - 1);
        status = status == CS_OK ? cs_hunt_set_command(hunt, keys.command, &wrong) : status;
    }
    if (status != CS_OK) {
        cs_place place = cs_place_get(&root, wrong.where);
        CS_REFUSE(r, &place, status, "%s", wrong.message);
        return;
    }
    check_id(r, &root, &keys, hunt);
    take_rounds(r, &root, &keys, hunt);
}

cs_status cs_hunt_parse(const char *text, size_t length, const char *name, cs_hunt *hunt_p,
                        cs_error *err)
{
    cs_arena   arena = {0};
    cs_reading r     = {.arena = &arena};
    cs_hunt    hunt  = {.n_hosts = 0};
    json_t    *tree  = NULL;
    int        line = 0, column = 0;

    CS_TRY(cs_tree_parse(text, length, name, &tree, err));
    read_root(&r, tree, &hunt);
    json_decref(tree);
    cs_arena_free(&arena);
    if (!cs_reading_failed(&r)) {
        *hunt_p = hunt;
        return CS_OK;
    }
    cs_hunt_free(&hunt);
    if (r.error.status != CS_ENOMEM) {
        cs_locate(text, length, r.error.where, r.key_is_wrong, &line, &column);
        cs_error_locate(&r.error, name, line, column);
    }
    if (err != NULL && err->status == CS_OK) {
        *err = r.error;
    }
    return r.error.status;
}

cs_status cs_hunt_load(const char *path, cs_hunt *hunt_p, cs_error *err)
{
    char     *text   = NULL;
    size_t    length = 0;
    cs_status status;

    CS_TRY(cs_file_read(path, MOST_BYTES, &text, &length, err));
    status = cs_hunt_parse(text, length, path, hunt_p, err);
    cs_free(text);
    return status;
}
