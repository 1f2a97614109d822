/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "output/listing.h"

#include "base/column.h"
#include "cs/algorithm.h"
#include "cs/machine.h"
#include "cs/model.h"
#include "output/look.h"

/* What every entry has. */
#define ENTRY(type) CS_COLUMN(type, name), CS_COLUMN(type, summary), CS_COLUMN(type, source)

static const cs_column algorithm_columns[] = {ENTRY(cs_algorithm), CS_COLUMN_END};
static const cs_column model_columns[]     = {ENTRY(cs_model), CS_COLUMN_END};
static const cs_column topology_columns[]  = {
     ENTRY(cs_preset), CS_COLUMN_AS("servers", cs_preset, n_servers), CS_COLUMN_END};

typedef struct option_row {
    const char *name, *type, *fallback, *help;
} option_row;

static const cs_column option_columns[] = {
    CS_COLUMN(option_row, name),
    CS_COLUMN(option_row, type),
    CS_COLUMN_AS("default", option_row, fallback),
    CS_COLUMN(option_row, help),
    CS_COLUMN_END,
};

/* The next object, which is left open. */
static void open_entry(cs_text *text, const cs_column *columns, const void *entry)
{
    cs_json_next(text, "", "\n ");
    cs_text_add(text, "{");
    cs_json_row(text, &(cs_row){columns, entry, false});
}

void cs_list_default_text(const cs_field *table, const cs_field *row, char *text, size_t bytes)
{
    cs_options options = {0};

    cs_fields_default(table, &options);
    cs_field_text(row, &options, text, bytes);
}

static void add_number(cs_text *text, const char *key, double value)
{
    cs_json_key(text, key);
    cs_text_add_number(text, value);
}

/* What a number may be, or which words there are. */
static void add_range(cs_text *text, const cs_field *o)
{
    char word[CS_OPTION_TEXT_BYTES];

    if (o->type == CS_FIELD_U32 || o->type == CS_FIELD_U64 || o->type == CS_FIELD_F64) {
        add_number(text, "min", cs_field_least(o));
        add_number(text, "max", cs_field_most(o));
        cs_json_key(text, "auto");
        cs_text_add(text, o->has_auto ? "true" : "false");
    }
    if (o->type == CS_FIELD_CHOICE) {
        cs_json_key(text, "choices");
        cs_text_add(text, "[");
        for (size_t i = 0; cs_field_choice(o, i, word, sizeof word); i++) {
            cs_json_next(text, "", " ");
            cs_text_add_json_string(text, word);
        }
        cs_text_add(text, "]");
    }
}

static void add_options(cs_text *text, const cs_field *table)
{
    char fallback[CS_OPTION_TEXT_BYTES];

    cs_json_key(text, "options");
    cs_text_add(text, "[");
    for (const cs_field *o = table; o != NULL && o->name != NULL; o++) {
        cs_list_default_text(table, o, fallback, sizeof fallback);
        const option_row row = {o->name, cs_field_type_name(o), fallback, o->help};
        cs_json_next(text, "", " ");
        cs_text_add(text, "{");
        cs_json_row(text, &(cs_row){option_columns, &row, false});
        add_range(text, o);
        cs_text_add(text, "}");
    }
    cs_text_add(text, "]");
}

void cs_list_collectives_json(cs_text *text, uint32_t bits)
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

void cs_list_algorithms_json(cs_text *text)
{
    for (size_t i = 0; cs_algorithms[i] != NULL; i++) {
        const cs_algorithm *a = cs_algorithms[i];
        open_entry(text, algorithm_columns, a);
        cs_json_key(text, "title");
        cs_text_add_json_string(text, cs_look_title(a->name));
        cs_list_collectives_json(text, a->collectives);
        add_options(text, a->options);
        cs_text_add(text, "}");
    }
}

void cs_list_models_json(cs_text *text)
{
    for (size_t i = 0; cs_models[i] != NULL; i++) {
        const cs_model *m = cs_models[i];
        if (m->missing == NULL || m->missing() == NULL) {
            open_entry(text, model_columns, m);
            add_options(text, m->options);
            cs_text_add(text, "}");
        }
    }
}

void cs_list_topologies_json(cs_text *text)
{
    for (const cs_preset *p = cs_presets; p->name != NULL; p++) {
        open_entry(text, topology_columns, p);
        cs_text_add(text, "}");
    }
}
