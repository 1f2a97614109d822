/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A JSON Schema and a list of keys from the tables of fields.
 *
 * A row becomes a schema by its type; objects of several kinds become one "if" and "then" for each,
 * so that an editor says what is wrong with the kind that is named. Every path that can be swept
 * becomes a key of "sweep" whose elements refer to the path's own schema.
 */
#include "study/config.h"

#include "base/alloc.h"
#include "input/path.h"
#include "scenario/scenario_json.h"
#include "study/all.h"
#include "study/keys.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { POINTER_BYTES = 400, INLINE_BYTES = 100 };

/* Tables that stand in several places have a definition of their own. */
static const struct {
    const cs_field *fields;
    const char     *name, *path; /* of the definition; where it is listed */
} shared[] = {
    {cs_cluster_fields, "cluster", "cluster"},
    {cs_distribution_forms, "distribution", "arrivals.distribution"},
};
enum { N_SHARED = sizeof shared / sizeof shared[0] };

static const char *definition_of(const cs_field *row)
{
    for (size_t i = 0; i < N_SHARED; i++) {
        if (row->fields == shared[i].fields) {
            return shared[i].name;
        }
    }
    return NULL;
}

/* ---- building trees; what fails for want of memory is found at the end ---- */

typedef struct builder {
    bool failed;
} builder;

static void put(builder *b, json_t *object, const char *key, json_t *value)
{
    b->failed = json_object_set_new(object, key, value) != 0 || b->failed;
}

static void add(builder *b, json_t *array, json_t *value)
{
    b->failed = json_array_append_new(array, value) != 0 || b->failed;
}

static json_t *ref(const char *pointer)
{
    return json_pack("{s:s}", "$ref", pointer);
}

static json_t *number(double value)
{
    return value == floor(value) && fabs(value) <= 0x1p53 ? json_integer((json_int_t)value)
                                                          : json_real(value);
}

/* ---- the schema of a row ---- */

static json_t *schema_of(builder *b, const cs_field *row);

/* Texts with a unit, as base/units.c reads them. */
#define DECIMAL "^([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][-+]?[0-9]+)?"

static const char *pattern_of(const cs_field *row)
{
    switch (cs_field_unit(row)) {
    case CS_UNIT_TIME: return DECIMAL "(ns|us|ms|s|min|h|d|y)?$";
    case CS_UNIT_RATE: return DECIMAL "([kMGT]?B/s|[KMGT]iB/s|[kMGT]?b/s|[kMGT]?bps)?$";
    case CS_UNIT_SIZE: return DECIMAL "(B|[KMGT]|[KMGT]iB|[kMGT]B)?$";
    case CS_UNIT_NONE: break;
    }
    return row->has_auto ? "^auto$" : NULL;
}

static void put_types(builder *b, json_t *schema, const char *type, bool has_text, bool has_null)
{
    json_t *types = json_array();

    add(b, types, json_string(type));
    if (has_text) {
        add(b, types, json_string("string"));
    }
    if (has_null) {
        add(b, types, json_string("null"));
    }
    put(b, schema, "type", has_text || has_null ? json_incref(types) : json_string(type));
    json_decref(types);
}

static json_t *schema_of_number(builder *b, const cs_field *row)
{
    json_t     *schema  = json_object();
    const char *pattern = pattern_of(row);
    double      least = cs_field_least(row), most = cs_field_most(row);

    put_types(b, schema, row->type == CS_FIELD_F64 ? "number" : "integer", pattern != NULL,
              row->has_null);
    put(b, schema, row->is_above ? "exclusiveMinimum" : "minimum", number(least));
    if (isfinite(most)) {
        put(b, schema, "maximum", number(most));
    }
    if (pattern != NULL) {
        put(b, schema, "pattern", json_string(pattern));
    }
    return schema;
}

/* The names of choices and things. */
static json_t *names_of(builder *b, const cs_field *row)
{
    json_t  *names   = json_array();
    cs_field choices = {.choices = row->choices};
    char     text[64];

    for (size_t i = 0; row->choices != NULL && cs_field_choice(&choices, i, text, sizeof text);
         i++) {
        add(b, names, json_string(text));
    }
    for (size_t i = 0; row->names != NULL && cs_name_at(row->names, i) != NULL; i++) {
        add(b, names, json_string(cs_name_at(row->names, i)));
    }
    return names;
}

static json_t *schema_of_object(builder *b, const cs_field *fields)
{
    json_t *schema = json_object(), *properties = json_object(), *required = json_array();

    put(b, schema, "type", json_string("object"));
    for (const cs_field *row = fields; row->name != NULL; row++) {
        put(b, properties, row->name, schema_of(b, row));
        if (row->is_required) {
            add(b, required, json_string(row->name));
        }
    }
    put(b, schema, "properties", properties);
    if (json_array_size(required) > 0) {
        put(b, schema, "required", json_incref(required));
    }
    json_decref(required);
    put(b, schema, "additionalProperties", json_false());
    return schema;
}

static json_t *schema_of_list(builder *b, const cs_field *row)
{
    json_t *schema = json_object();

    put(b, schema, "type", json_string("array"));
    put(b, schema, "items", schema_of(b, row->fields));
    if (row->min > 0) {
        put(b, schema, "minItems", number(row->min));
    }
    if (row->max > 0) {
        put(b, schema, "maxItems", number(row->max));
    }
    return schema;
}

static json_t *schema_of_kinds(builder *b, const cs_field *row)
{
    json_t *schema = json_object(), *names = json_array(), *all = json_array(), *selector;

    for (const cs_field *kind = row->fields; kind->name != NULL; kind++) {
        json_t *one =
            json_pack("{s:{s:{s:{s:s}}}}", "if", "properties", row->selector, "const", kind->name);
        put(b, one, "then", schema_of_object(b, kind->fields));
        add(b, all, one);
        add(b, names, json_string(kind->name));
    }
    selector = json_object();
    put(b, selector, "enum", names);
    put(b, schema, "type", json_string("object"));
    put(b, schema, "required", json_pack("[s]", row->selector));
    put(b, schema, "properties", json_pack("{s:o}", row->selector, selector));
    put(b, schema, "allOf", all);
    return schema;
}

static json_t *schema_of_forms(builder *b, const cs_field *forms)
{
    json_t *schema = json_object(), *any = json_array();

    for (const cs_field *form = forms; form->name != NULL; form++) {
        add(b, any, schema_of(b, form));
    }
    put(b, schema, "anyOf", any);
    return schema;
}

static bool is_model(const cs_field *plug_in)
{
    return plug_in->names == &cs_model_names;
}

static const char *options_of(const cs_field *plug_in)
{
    return is_model(plug_in) ? "#/definitions/model_options" : "#/definitions/algorithm_options";
}

/* A name, or a name with options. */
static json_t *schema_of_plug_in(builder *b, const cs_field *row)
{
    const char *names = is_model(row) ? "#/definitions/model_name" : "#/definitions/algorithm_name";
    cs_field    words = {.choices = row->choices};
    json_t     *schema = json_object(), *any = json_array(), *object = json_object();

    if (row->choices != NULL) {
        add(b, any, json_pack("{s:o}", "enum", names_of(b, &words)));
    }
    add(b, any, ref(names));
    put(b, object, "type", json_string("object"));
    put(b, object, "properties",
        json_pack("{s:o, s:o}", "name", ref(names), "options", ref(options_of(row))));
    put(b, object, "additionalProperties", json_false());
    add(b, any, object);
    put(b, schema, "anyOf", any);
    return schema;
}

/* A text, one of the names of things, or either such a name or a file's. */
static json_t *schema_of_text(builder *b, const cs_field *row)
{
    json_t *schema = json_object();

    if (row->names == NULL) {
        put(b, schema, "type", json_string("string"));
    } else if (row->type == CS_FIELD_FILE) {
        put(b, schema, "anyOf",
            json_pack("[{s:o}, {s:s, s:s}]", "enum", names_of(b, row), "type", "string", "pattern",
                      "[./]"));
    } else {
        put(b, schema, "enum", names_of(b, row));
    }
    return schema;
}

static json_t *schema_of_type(builder *b, const cs_field *row)
{
    json_t *schema = NULL;

    switch (row->type) {
    case CS_FIELD_BOOL: return json_pack("{s:s}", "type", "boolean");
    case CS_FIELD_U32:
    case CS_FIELD_U64:
    case CS_FIELD_F64: return schema_of_number(b, row);
    case CS_FIELD_TEXT:
    case CS_FIELD_CHARS:
    case CS_FIELD_FILE: return schema_of_text(b, row);
    case CS_FIELD_OBJECT: return schema_of_object(b, row->fields);
    case CS_FIELD_LIST: return schema_of_list(b, row);
    case CS_FIELD_KIND: return schema_of_kinds(b, row);
    case CS_FIELD_EITHER: return schema_of_forms(b, row->fields);
    case CS_FIELD_PLUG_IN: return schema_of_plug_in(b, row);
    case CS_FIELD_CHOICE:
        schema = json_object();
        put(b, schema, "enum", names_of(b, row));
        return schema;
    case CS_FIELD_ANY: break;
    }
    return json_object();
}

/* The default as a value that the row takes. */
static void put_default(builder *b, json_t *schema, const cs_field *row)
{
    char text[64];

    if (!cs_field_default(row, text, sizeof text)) {
        return;
    }
    json_t *value = json_loads(text, JSON_DECODE_ANY, NULL); /* a number, a truth value or null */
    put(b, schema, "default", value != NULL ? value : json_string(text));
}

static json_t *schema_of(builder *b, const cs_field *row)
{
    const char *definition = definition_of(row);
    char        pointer[POINTER_BYTES];

    if (definition != NULL) {
        (void)snprintf(pointer, sizeof pointer, "#/definitions/%s", definition);
        return ref(pointer);
    }
    json_t *schema = schema_of_type(b, row);
    if (row->help != NULL) {
        put(b, schema, "description", json_string(row->help));
    }
    put_default(b, schema, row);
    return schema;
}

/* ---- options of all algorithms or models: one that several have takes what any of them does ----
 */

static void merge(builder *b, json_t *properties, const char *key, json_t *schema)
{
    json_t *old = json_object_get(properties, key), *any = json_object_get(old, "anyOf");
    bool    is_there = json_equal(old, schema) != 0;

    for (size_t i = 0; i < json_array_size(any); i++) {
        is_there = is_there || json_equal(json_array_get(any, i), schema) != 0;
    }
    if (old == NULL) {
        put(b, properties, key, schema);
    } else if (is_there) {
        json_decref(schema);
    } else if (any != NULL) {
        add(b, any, schema);
    } else {
        put(b, properties, key, json_pack("{s:[O,o]}", "anyOf", old, schema));
    }
}

static void merge_options(builder *b, json_t *properties, const cs_field *table)
{
    for (const cs_field *row = table; row != NULL && row->name != NULL; row++) {
        merge(b, properties, row->name, schema_of(b, row));
    }
}

static json_t *schema_of_options(builder *b, bool of_models)
{
    json_t *schema = json_object(), *properties = json_object();

    for (size_t i = 0; !of_models && cs_algorithms[i] != NULL; i++) {
        merge_options(b, properties, cs_algorithms[i]->options);
    }
    for (size_t i = 0; of_models && cs_models[i] != NULL; i++) {
        merge_options(b, properties, cs_models[i]->options);
    }
    put(b, schema, "type", json_string("object"));
    put(b, schema, "properties", properties);
    put(b, schema, "additionalProperties", json_false());
    return schema;
}

/* ---- what can be swept ---- */

/* A place on the way down: its path, the same as a regular expression, and its schema's pointer. */
typedef struct place {
    char path[CS_PATH_BYTES], pattern[2 * CS_PATH_BYTES], pointer[POINTER_BYTES];
    bool has_index;
} place;

typedef struct sweep {
    builder *b;
    json_t  *properties, *patterns; /* of the key "sweep" */
} sweep;

static void add_paths(sweep *s, const place *at, const cs_field *row);

/* Add to a text of `bytes`; what does not fit is cut. */
static void append(char *text, size_t bytes, const char *format, ...) CS_PRINTF(3, 4);
static void append(char *text, size_t bytes, const char *format, ...)
{
    size_t  length = strlen(text);
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text + length, bytes - length, format, args);
    va_end(args);
}

/* The place of a key, whose schema is `rest` behind the one of `at`. */
static place below(const place *at, const char *key, const char *rest)
{
    place to      = *at;
    bool  is_root = at->path[0] == '\0';

    append(to.path, sizeof to.path, "%s%s", is_root ? "" : ".", key);
    append(to.pattern, sizeof to.pattern, "%s%s", is_root ? "" : "\\.", key);
    append(to.pointer, sizeof to.pointer, "%s", rest);
    return to;
}

/* An axis over one path, of any number of values. */
static void add_axis(sweep *s, const place *at)
{
    char    pattern[sizeof at->pattern + 4];
    json_t *object = at->has_index ? s->patterns : s->properties;

    (void)snprintf(pattern, sizeof pattern, "^%s$", at->pattern);
    const char *key   = at->has_index ? pattern : at->path;
    json_t     *axis  = json_object_get(object, key);
    json_t     *items = json_object_get(axis, "items");
    if (axis == NULL) {
        put(s->b, object, key,
            json_pack("{s:s, s:i, s:o}", "type", "array", "minItems", 1, "items",
                      ref(at->pointer)));
    } else if (json_object_get(items, "anyOf") != NULL) {
        add(s->b, json_object_get(items, "anyOf"), ref(at->pointer));
    } else {
        put(s->b, axis, "items", json_pack("{s:[O,o]}", "anyOf", items, ref(at->pointer)));
    }
}

static void add_keys(sweep *s, const place *at, const cs_field *fields, const char *properties)
{
    char rest[POINTER_BYTES];

    for (const cs_field *row = fields; row->name != NULL; row++) {
        (void)snprintf(rest, sizeof rest, "%s/properties/%s", properties, row->name);
        place to = below(at, row->name, rest);
        add_axis(s, &to);
        add_paths(s, &to, row);
    }
}

static void add_elements(sweep *s, const place *at, const cs_field *row)
{
    place to = *at;

    append(to.pattern, sizeof to.pattern, "\\[[0-9]+\\]");
    append(to.pointer, sizeof to.pointer, "/items");
    to.has_index = true;
    add_axis(s, &to);
    add_paths(s, &to, row->fields);
}

static void add_kinds(sweep *s, const place *at, const cs_field *row)
{
    char rest[64];

    for (size_t i = 0; row->fields[i].name != NULL; i++) {
        (void)snprintf(rest, sizeof rest, "/allOf/%zu/then", i);
        add_keys(s, at, row->fields[i].fields, rest);
    }
}

static void add_forms(sweep *s, const place *at, const cs_field *row)
{
    for (size_t i = 0; row->fields[i].name != NULL; i++) {
        place form = *at;
        append(form.pointer, sizeof form.pointer, "/anyOf/%zu", i);
        add_paths(s, &form, &row->fields[i]);
    }
}

static void add_options(sweep *s, const place *at, const cs_field *table)
{
    for (const cs_field *row = table; row != NULL && row->name != NULL; row++) {
        char rest[POINTER_BYTES];
        (void)snprintf(rest, sizeof rest, "/properties/%s", row->name);
        place to = below(at, row->name, rest);
        if (json_object_get(to.has_index ? s->patterns : s->properties, to.path) == NULL) {
            add_axis(s, &to);
        }
    }
}

static void add_plug_in(sweep *s, const place *at, const cs_field *row)
{
    const char *where = row->choices != NULL ? "/anyOf/1" : "/anyOf/0";
    place       name = below(at, "name", where), options = below(at, "options", "");

    (void)snprintf(options.pointer, sizeof options.pointer, "%s", options_of(row));
    add_axis(s, &name);
    add_axis(s, &options);
    for (size_t i = 0; row->names == &cs_algorithm_names && cs_algorithms[i] != NULL; i++) {
        add_options(s, &options, cs_algorithms[i]->options);
    }
    for (size_t i = 0; row->names == &cs_model_names && cs_models[i] != NULL; i++) {
        add_options(s, &options, cs_models[i]->options);
    }
}

/* Every path below one. */
static void add_paths(sweep *s, const place *at, const cs_field *row)
{
    place       here       = *at;
    const char *definition = definition_of(row);

    if (definition != NULL) {
        (void)snprintf(here.pointer, sizeof here.pointer, "#/definitions/%s", definition);
    }
    switch (row->type) {
    case CS_FIELD_OBJECT: add_keys(s, &here, row->fields, ""); break;
    case CS_FIELD_LIST: add_elements(s, &here, row); break;
    case CS_FIELD_KIND: add_kinds(s, &here, row); break;
    case CS_FIELD_EITHER: add_forms(s, &here, row); break;
    case CS_FIELD_PLUG_IN: add_plug_in(s, &here, row); break;
    case CS_FIELD_BOOL:
    case CS_FIELD_U32:
    case CS_FIELD_U64:
    case CS_FIELD_F64:
    case CS_FIELD_CHOICE:
    case CS_FIELD_TEXT:
    case CS_FIELD_CHARS:
    case CS_FIELD_FILE:
    case CS_FIELD_ANY: break;
    }
}

static json_t *schema_of_sweep(builder *b)
{
    static const char *const never[] = {"$schema", "sweep", "calibration"};
    sweep                    s       = {b, json_object(), json_object()};
    const place              root    = {.pointer = "#/definitions/scenario"};
    json_t                  *schema  = json_object();

    add_keys(&s, &root, cs_scenario_fields, "");
    for (size_t i = 0; i < sizeof never / sizeof never[0]; i++) {
        (void)json_object_del(s.properties, never[i]);
    }
    /* A figure's own names, whatever they are. */
    put(b, s.patterns, "^figure\\.let\\.[A-Za-z0-9_]+$",
        json_pack("{s:s, s:i}", "type", "array", "minItems", 1));
    put(b, schema, "type", json_string("object"));
    put(b, schema, "description", json_string(cs_field_find(cs_scenario_fields, "sweep")->help));
    put(b, schema, "properties", s.properties);
    put(b, schema, "patternProperties", s.patterns);
    put(b, schema, "additionalProperties", json_false());
    return schema;
}

/* ---- the whole ---- */

static json_t *whole_schema(builder *b)
{
    json_t *root = json_object(), *definitions = json_object();
    json_t *scenario = schema_of_object(b, cs_scenario_fields);

    put(b, json_object_get(scenario, "properties"), "sweep", schema_of_sweep(b));
    put(b, definitions, "scenario", scenario);
    put(b, definitions, "whatif", schema_of_object(b, cs_whatif_fields));
    json_t *names = names_of(b, &(cs_field){.names = &cs_algorithm_names});
    add(b, names, json_string(CS_ALL_ALGORITHMS));
    put(b, definitions, "algorithm_name", json_pack("{s:o}", "enum", names));
    put(b, definitions, "model_name",
        json_pack("{s:o}", "enum", names_of(b, &(cs_field){.names = &cs_model_names})));
    put(b, definitions, "algorithm_options", schema_of_options(b, false));
    put(b, definitions, "model_options", schema_of_options(b, true));
    put(b, definitions, "cluster", schema_of_object(b, cs_cluster_fields));
    put(b, definitions, "distribution", schema_of_forms(b, cs_distribution_forms));
    put(b, root, "$schema", json_string("http://json-schema.org/draft-07/schema#"));
    put(b, root, "title", json_string("configuration of collsim"));
    put(b, root, "if", json_pack("{s:[s]}", "required", "job"));
    put(b, root, "then", ref("#/definitions/whatif"));
    put(b, root, "else", ref("#/definitions/scenario"));
    put(b, root, "definitions", definitions);
    return root;
}

/* A list of words and numbers, as long as it may be. */
static bool is_flat(const json_t *node)
{
    bool is_flat = json_is_array(node);

    for (size_t i = 0; i < json_array_size(node) && is_flat; i++) {
        is_flat = !json_is_object(json_array_get(node, i));
    }
    return is_flat;
}

/* A value in one line where it is short, else a line for every member. */
static void print(cs_text *text, json_t *node, unsigned depth)
{
    const char *key;
    json_t     *value;
    size_t      i     = 0;
    char       *dump  = json_dumps(node, JSON_ENCODE_ANY);
    bool        is_in = dump != NULL && (strlen(dump) <= INLINE_BYTES || is_flat(node));

    text->failed = text->failed || dump == NULL;
    if (is_in || !(json_is_object(node) || json_is_array(node))) {
        cs_text_add(text, "%s", dump != NULL ? dump : "");
        cs_free(dump);
        return;
    }
    cs_free(dump);
    cs_text_add(text, json_is_object(node) ? "{" : "[");
    json_object_foreach(node, key, value)
    {
        cs_text_add(text, "%s\n%*s", i++ > 0 ? "," : "", (int)(2 * depth + 2), "");
        cs_text_add_json_string(text, key);
        cs_text_add(text, ": ");
        print(text, value, depth + 1);
    }
    json_array_foreach(node, i, value)
    {
        cs_text_add(text, "%s\n%*s", i > 0 ? "," : "", (int)(2 * depth + 2), "");
        print(text, value, depth + 1);
    }
    cs_text_add(text, "\n%*s%s", (int)(2 * depth), "", json_is_object(node) ? "}" : "]");
}

void cs_config_schema(cs_text *text)
{
    builder b = {false};

    cs_tree_setup();
    json_t *root = whole_schema(&b);
    if (!b.failed) {
        print(text, root, 0);
        cs_text_add(text, "\n");
    }
    text->failed = text->failed || b.failed;
    json_decref(root);
}

/* ---- the list of keys ---- */

/* One key, from every place where it stands with the same meaning. */
typedef struct key_row {
    char path[CS_PATH_BYTES];
    char kinds[CS_PATH_BYTES]; /* of objects that have it: "leaf-spine, rails"; "": all */
    const cs_field *row;
    bool            is_whatif;
} key_row;

typedef struct key_list {
    key_row *rows; /* owned */
    size_t   n, room;
    bool     is_whatif, failed;
} key_list;

static void list_fields(key_list *list, const char *path, const char *kind, const cs_field *fields);

/* What several kinds have in the same sense is one row. */
static void add_row(key_list *list, const char *path, const char *kind, const cs_field *row)
{
    for (size_t i = 0; i < list->n && kind[0] != '\0'; i++) {
        key_row *old = &list->rows[i];
        if (old->is_whatif == list->is_whatif && strcmp(old->path, path) == 0 &&
            strcmp(old->row->help, row->help) == 0) {
            append(old->kinds, sizeof old->kinds, ", %s", kind);
            return;
        }
    }
    if (!cs_grow(&list->rows, &list->room, list->n + 1, 64, sizeof *list->rows)) {
        list->failed = true;
        return;
    }
    key_row *to = &list->rows[list->n++];
    *to         = (key_row){.row = row, .is_whatif = list->is_whatif};
    append(to->path, sizeof to->path, "%s", path);
    append(to->kinds, sizeof to->kinds, "%s", kind);
}

/* What is below a row; what has a definition is listed in one place only. */
static void list_below(key_list *list, const char *path, const cs_field *row)
{
    char element[CS_PATH_BYTES] = "";

    for (size_t i = 0; i < N_SHARED; i++) {
        if (row->fields == shared[i].fields && strcmp(path, shared[i].path) != 0) {
            return;
        }
    }
    if (row->type == CS_FIELD_OBJECT) {
        list_fields(list, path, "", row->fields);
    } else if (row->type == CS_FIELD_LIST) {
        append(element, sizeof element, "%s[]", path);
        list_below(list, element, row->fields);
    } else if (row->type == CS_FIELD_EITHER) {
        for (const cs_field *form = row->fields; form->name != NULL; form++) {
            if (form->type == CS_FIELD_OBJECT) {
                list_fields(list, path, form->name, form->fields);
            } else {
                list_below(list, path, form);
            }
        }
    } else if (row->type == CS_FIELD_KIND) {
        for (const cs_field *kind = row->fields; kind->name != NULL; kind++) {
            list_fields(list, path, kind->name, kind->fields);
        }
    }
}

static void list_fields(key_list *list, const char *path, const char *kind, const cs_field *fields)
{
    for (const cs_field *row = fields; row->name != NULL; row++) {
        char inner[CS_PATH_BYTES] = "";
        append(inner, sizeof inner, "%s%s%s", path, path[0] != '\0' ? "." : "", row->name);
        if (list->is_whatif && cs_key_below(&cs_key_scenario, row->name) != NULL &&
            path[0] == '\0' && row->type != CS_FIELD_LIST) {
            continue; /* as in a scenario */
        }
        add_row(list, inner, kind, row);
        list_below(list, inner, row);
    }
}

static const char *unit_name(const cs_field *row)
{
    switch (cs_field_unit(row)) {
    case CS_UNIT_TIME: return "s";
    case CS_UNIT_RATE: return "B/s";
    case CS_UNIT_SIZE: return "bytes";
    case CS_UNIT_NONE: break;
    }
    return NULL;
}

static bool is_ranged(const cs_field *row)
{
    return row->type == CS_FIELD_U32 || row->type == CS_FIELD_U64 || row->type == CS_FIELD_F64;
}

static void add_member(cs_text *text, const char *key, const char *value)
{
    cs_text_add(text, ", \"%s\": ", key);
    cs_text_add_json_string(text, value);
}

static void add_json(cs_text *text, const key_row *k, bool is_first)
{
    const cs_field *number = cs_key_number(k->row);
    char            value[64], choices[CS_PATH_BYTES] = "";
    bool            has_default = cs_field_default(k->row, value, sizeof value);

    for (size_t i = 0; k->row->type == CS_FIELD_CHOICE && k->row->names != NULL &&
                       cs_name_at(k->row->names, i) != NULL;
         i++) {
        append(choices, sizeof choices, "%s%s", i > 0 ? "|" : "", cs_name_at(k->row->names, i));
    }
    cs_text_add(text, "%s{\"key\": ", is_first ? "" : ",\n ");
    cs_text_add_json_string(text, k->path);
    add_member(text, "of", k->is_whatif ? "whatif" : "scenario");
    add_member(text, "kinds", k->kinds[0] != '\0' ? k->kinds : NULL);
    add_member(text, "type", cs_field_type_name(k->row));
    add_member(text, "unit", unit_name(number));
    add_member(text, "default", has_default ? value : NULL);
    cs_text_add(text, ", \"required\": %s", k->row->is_required ? "true" : "false");
    if (is_ranged(number)) {
        cs_text_add(text, ", \"min\": ");
        cs_text_add_number(text, cs_field_least(number));
        cs_text_add(text, ", \"max\": ");
        cs_text_add_number(text, cs_field_most(number));
    }
    add_member(text, "choices", choices[0] != '\0' ? choices : k->row->choices);
    add_member(text, "help", k->row->help);
    cs_text_add(text, "}");
}

/* One key in a line or two. */
static void add_line(cs_text *text, const key_row *k)
{
    char value[64];
    bool has_default = cs_field_default(k->row, value, sizeof value);

    cs_text_add(text, "%s", k->path);
    if (k->kinds[0] != '\0') {
        cs_text_add(text, " (%s)", k->kinds);
    }
    cs_text_add(text, "\n    %s: %s%s%s%s%s\n", cs_field_type_name(k->row),
                k->row->help != NULL ? k->row->help : "", k->row->is_required ? " (required)" : "",
                has_default ? " (" : "", has_default ? value : "", has_default ? ")" : "");
}

void cs_config_keys(cs_text *text, bool json)
{
    key_list list = {.rows = NULL};

    list_fields(&list, "", "", cs_scenario_fields);
    list.is_whatif = true;
    list_fields(&list, "", "", cs_whatif_fields);
    for (size_t i = 0; i < list.n; i++) {
        if (json) {
            add_json(text, &list.rows[i], i == 0);
        } else {
            add_line(text, &list.rows[i]);
        }
    }
    text->failed = text->failed || list.failed;
    cs_free(list.rows);
}
