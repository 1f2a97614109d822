/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a client can choose from: GET /api/v1/list. */
#include "base/column.h"
#include "cs/build.h"
#include "output/listing.h"
#include "serve/api.h"

static void add_number(cs_text *text, const char *key, double value)
{
    cs_json_key(text, key);
    cs_text_add_number(text, value);
}

static void add_list(cs_text *text, const char *key, void (*add)(cs_text *text))
{
    cs_json_key(text, key);
    cs_text_add(text, "[");
    add(text);
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
    cs_json_key(text, "build");
    cs_text_add_json_string(text, cs_build());
    cs_list_collectives_json(text, (1u << CS_COLLECTIVE_COUNT) - 1);
    add_list(text, "algorithms", cs_list_algorithms_json);
    add_list(text, "models", cs_list_models_json);
    add_list(text, "topologies", cs_list_topologies_json);
    add_limits(text, api);
    cs_json_key(text, "config");
    bool has_config = cs_config_json(api->base, 0, &config, NULL) == CS_OK;
    cs_text_add(text, "%s}\n", has_config ? config.data : "null");
    text->failed = text->failed || !has_config;
    cs_text_free(&config);
}
