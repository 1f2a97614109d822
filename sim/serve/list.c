/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a client can choose from: GET /api/v1/list. The options have what a field or a slider needs
 * to know, which the tables of `collsim list` have not. */
#include "base/column.h"
#include "cs/algorithm.h"
#include "cs/build.h"
#include "cs/machine.h"
#include "cs/model.h"
#include "output/look.h"
#include "serve/api.h"

#include <inttypes.h>
#include <math.h>

static void add_text(cs_text *text, const char *key, const char *value)
{
    cs_json_key(text, key);
    cs_text_add_json_string(text, value);
}

static void add_number(cs_text *text, const char *key, double value)
{
    cs_json_key(text, key);
    cs_text_add_number(text, value);
}

static void add_choices(cs_text *text, const cs_field *row)
{
    char word[CS_OPTION_TEXT_BYTES];

    cs_json_key(text, "choices");
    cs_text_add(text, "[");
    for (size_t i = 0; cs_field_choice(row, i, word, sizeof word); i++) {
        cs_json_next(text, "", " ");
        cs_text_add_json_string(text, word);
    }
    cs_text_add(text, "]");
}

/* The default as the value of its key. */
static void add_fallback(cs_text *text, const cs_field *table, const cs_field *row)
{
    cs_options options = {0};
    char       word[CS_OPTION_TEXT_BYTES];

    cs_fields_default(table, &options);
    cs_json_key(text, "default");
    if (cs_field_text(row, &options, word, sizeof word)) {
        cs_text_add(text, "%s", word);
    } else if (row->type == CS_FIELD_CHARS && word[0] == '\0') {
        cs_text_add(text, "null");
    } else {
        cs_text_add_json_string(text, word);
    }
}

static void add_options(cs_text *text, const cs_field *table)
{
    cs_json_key(text, "options");
    cs_text_add(text, "[");
    for (const cs_field *o = table; o != NULL && o->name != NULL; o++) {
        bool is_number =
            o->type == CS_FIELD_U32 || o->type == CS_FIELD_U64 || o->type == CS_FIELD_F64;
        cs_json_next(text, "", " ");
        cs_text_add(text, "{");
        add_text(text, "name", o->name);
        add_text(text, "type", cs_field_type_name(o));
        add_fallback(text, table, o);
        if (is_number) {
            add_number(text, "min", cs_field_least(o));
            add_number(text, "max", cs_field_most(o));
            cs_json_key(text, "auto");
            cs_text_add(text, o->has_auto ? "true" : "false");
        }
        if (o->type == CS_FIELD_CHOICE) {
            add_choices(text, o);
        }
        add_text(text, "help", o->help);
        cs_text_add(text, "}");
    }
    cs_text_add(text, "]");
}

static void add_collectives(cs_text *text, uint32_t bits)
{
    cs_json_key(text, "collectives");
    cs_text_add(text, "[");
    for (int c = 0; c < CS_COLLECTIVE_COUNT; c++) {
        if ((bits & 1u << c) != 0) {
            cs_json_next(text, "", " ");
            cs_text_add_json_string(text, cs_collective_name((cs_collective)c));
        }
    }
    cs_text_add(text, "]");
}

static void add_algorithms(cs_text *text)
{
    cs_json_key(text, "algorithms");
    cs_text_add(text, "[");
    for (size_t i = 0; cs_algorithms[i] != NULL; i++) {
        const cs_algorithm *a = cs_algorithms[i];
        cs_json_next(text, "\n ", "\n ");
        cs_text_add(text, "{");
        add_text(text, "name", a->name);
        add_text(text, "title", cs_look_title(a->name));
        add_text(text, "summary", a->summary);
        add_collectives(text, a->collectives);
        add_options(text, a->options);
        cs_text_add(text, "}");
    }
    cs_text_add(text, "]");
}

/* Those that can be used. */
static void add_models(cs_text *text)
{
    cs_json_key(text, "models");
    cs_text_add(text, "[");
    for (size_t i = 0; cs_models[i] != NULL; i++) {
        const cs_model *m = cs_models[i];
        if (m->missing != NULL && m->missing() != NULL) {
            continue;
        }
        cs_json_next(text, "\n ", "\n ");
        cs_text_add(text, "{");
        add_text(text, "name", m->name);
        add_text(text, "summary", m->summary);
        add_options(text, m->options);
        cs_text_add(text, "}");
    }
    cs_text_add(text, "]");
}

static void add_topologies(cs_text *text)
{
    cs_json_key(text, "topologies");
    cs_text_add(text, "[");
    for (const cs_preset *p = cs_presets; p->name != NULL; p++) {
        cs_json_next(text, "\n ", "\n ");
        cs_text_add(text, "{");
        add_text(text, "name", p->name);
        add_text(text, "summary", p->summary);
        add_number(text, "servers", p->n_servers);
        cs_text_add(text, "}");
    }
    cs_text_add(text, "]");
}

static void add_limits(cs_text *text, const cs_api *api)
{
    cs_json_key(text, "limits");
    cs_text_add(text, "{");
    add_number(text, "request_bytes", CS_REQUEST_MOST_BYTES);
    add_number(text, "scenarios", CS_API_MOST_SCENARIOS);
    add_number(text, "sweep_scenarios", CS_API_MOST_SWEPT);
    add_number(text, "time_s", api->most_time_s);
    add_number(text, "sweep_time_s", api->most_sweep_s);
    add_number(text, "memory_bytes", (double)api->most_bytes);
    cs_text_add(text, "}");
}

void cs_api_list(const cs_api *api, cs_text *text)
{
    cs_text config = {0};

    cs_text_add(text, "{\"schema\": 1");
    add_text(text, "build", cs_build());
    add_collectives(text, (1u << CS_COLLECTIVE_COUNT) - 1);
    add_algorithms(text);
    add_models(text);
    add_topologies(text);
    add_limits(text, api);
    cs_json_key(text, "config");
    bool has_config = cs_config_json(api->base, 0, &config, NULL) == CS_OK;
    cs_text_add(text, "%s}\n", has_config ? config.data : "null");
    text->failed = text->failed || !has_config;
    cs_text_free(&config);
}
