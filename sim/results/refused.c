/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows of scenarios that cannot be run: see results/refused.h. */
#include "results/refused.h"

#include "cs/build.h"
#include "results/columns.h"

#include <math.h>

cs_result cs_refused_result(const cs_scenario *scenario, const cs_algorithm *algorithm,
                            const cs_model *model)
{
#define NOTHING_TEXT  NULL
#define NOTHING_COUNT 0
#define NOTHING_REAL  (double)NAN
#define NOTHING_BOOL  false
    cs_result known = {
#define X(type, key) .key = NOTHING_##type,
        CS_RESULT_MAP(X)
#undef X
    };
    known.build = cs_build();
    if (algorithm != NULL) {
        known.algorithm       = algorithm->name;
        known.collective      = cs_collective_name(scenario->collective);
        known.model           = model->name;
        known.ranks           = scenario->cluster.n_ranks;
        known.bytes           = scenario->bytes;
        known.gpus_per_server = scenario->cluster.gpus_per_server;
    }
    return known;
}

void cs_refused_json(cs_text *text, const cs_result_rows *rows, size_t row)
{
    const cs_result *known    = &rows->results[row];
    const char      *scenario = rows->scenarios[row];

    cs_text_add(text, "{");
#define X(type, key)                      \
    cs_text_add(text, "\"" #key "\": ");  \
    if (CS_IS_KNOWN_##type(known->key)) { \
        cs_json_##type(text, known->key); \
    } else {                              \
        cs_text_add(text, "null");        \
    }                                     \
    cs_text_add(text, ", ");
    CS_RESULT_MAP(X)
#undef X
    cs_text_add(text, "\"options\": null, \"model_options\": null");
    cs_json_extra(text, &rows->extra, row);
    cs_text_add(text, ", \"scenario\": %s, \"error\": ", scenario != NULL ? scenario : "null");
    cs_text_add_json_string(text, rows->refusals[row]);
    cs_text_add(text, "}");
}

void cs_refused_csv(cs_text *text, const cs_result_rows *rows, size_t row)
{
    const cs_result *known    = &rows->results[row];
    const char      *scenario = rows->scenarios[row];

#define X(type, key)                      \
    if (CS_IS_KNOWN_##type(known->key)) { \
        cs_csv_##type(text, known->key);  \
    }                                     \
    cs_text_add(text, ",");
    CS_RESULT_MAP(X)
#undef X
    cs_text_add(text, ",");
    cs_csv_extra(text, &rows->extra, row);
    cs_text_add_csv_field(text, scenario != NULL ? scenario : "");
    cs_text_add(text, ",");
    cs_text_add_csv_field(text, rows->refusals[row]);
    cs_text_add(text, "\n");
}
