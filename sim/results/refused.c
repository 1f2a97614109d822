/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows of scenarios that cannot be run: see results/refused.h. There is no flag that is known. */
#include "results/refused.h"

#include "results/columns.h"

#include <math.h>

#define IS_KNOWN_TEXT(value)  ((value) != NULL)
#define IS_KNOWN_COUNT(value) ((value) != 0)
#define IS_KNOWN_REAL(value)  isfinite(value)
#define IS_KNOWN_BOOL(value)  ((void)(value), false)

void cs_refused_json(cs_text *text, const cs_refused *refused)
{
    const cs_result *known = refused->known;

    cs_text_add(text, "{");
#define X(type, key)                      \
    cs_text_add(text, "\"" #key "\": ");  \
    if (IS_KNOWN_##type(known->key)) {    \
        cs_json_##type(text, known->key); \
    } else {                              \
        cs_text_add(text, "null");        \
    }                                     \
    cs_text_add(text, ", ");
    CS_RESULT_MAP(X)
#undef X
    cs_text_add(text, "\"options\": null, \"model_options\": null, \"scenario\": %s, \"error\": ",
                refused->scenario != NULL ? refused->scenario : "null");
    cs_text_add_json_string(text, refused->error);
    cs_text_add(text, "}");
}

void cs_refused_csv(cs_text *text, const cs_refused *refused)
{
    const cs_result *known = refused->known;

#define X(type, key)                     \
    if (IS_KNOWN_##type(known->key)) {   \
        cs_csv_##type(text, known->key); \
    }                                    \
    cs_text_add(text, ",");
    CS_RESULT_MAP(X)
#undef X
    cs_text_add(text, ",");
    cs_text_add_csv_field(text, refused->scenario != NULL ? refused->scenario : "");
    cs_text_add(text, ",");
    cs_text_add_csv_field(text, refused->error);
    cs_text_add(text, "\n");
}
