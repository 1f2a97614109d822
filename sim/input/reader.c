/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tables of fields over a JSON tree. A number that is in its row's range is taken as it is;
 * anything else goes through its text, so that one parser decides what a quantity means, wherever
 * it was written, and says what is wrong with it. */
#include "input/reader.h"

#include "base/text.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define MOST_EXACT ((json_int_t)1 << 53)

enum { ACCEPTED_BYTES = 200, MOST_KEYS = 64 };

cs_place cs_place_root(json_t *tree)
{
    return (cs_place){.node = tree, .parent = NULL, .key = NULL, .index = 0};
}

cs_place cs_place_get(const cs_place *parent, const char *key)
{
    return (cs_place){json_object_get(parent->node, key), parent, key, 0};
}

cs_place cs_place_item(const cs_place *parent, size_t index)
{
    return (cs_place){json_array_get(parent->node, index), parent, NULL, index};
}

void cs_place_path(const cs_place *place, char *path)
{
    const cs_place *chain[CS_PATH_STEPS];
    size_t          depth = 0;

    for (; place->parent != NULL && depth < CS_PATH_STEPS; place = place->parent) {
        chain[depth++] = place;
    }
    path[0] = '\0';
    while (depth-- > 0) {
        if (chain[depth]->key != NULL) {
            cs_path_add_key(path, path, chain[depth]->key);
        } else {
            cs_path_add_index(path, path, chain[depth]->index);
        }
    }
}

/* ---- what a row accepts ---- */

static bool is_number_row(const cs_field *row)
{
    return row->type == CS_FIELD_U32 || row->type == CS_FIELD_U64 || row->type == CS_FIELD_F64;
}

/* Does a row accept this kind of value? */
static bool accepts(const cs_field *row, const json_t *node)
{
    switch (row->type) {
    case CS_FIELD_BOOL: return json_is_boolean(node);
    case CS_FIELD_U32:
    case CS_FIELD_U64:
    case CS_FIELD_F64:
        return json_is_number(node) ||
               (json_is_string(node) && (row->has_auto || cs_field_unit(row) != CS_UNIT_NONE));
    case CS_FIELD_CHOICE:
    case CS_FIELD_TEXT:
    case CS_FIELD_CHARS:
    case CS_FIELD_FILE: return json_is_string(node);
    case CS_FIELD_OBJECT:
    case CS_FIELD_KIND: return json_is_object(node);
    case CS_FIELD_LIST: return json_is_array(node);
    case CS_FIELD_PLUG_IN: return json_is_string(node) || json_is_object(node);
    case CS_FIELD_EITHER:
    case CS_FIELD_ANY: break;
    }
    return row->type == CS_FIELD_ANY;
}

static const char *words_of_number(const cs_field *row)
{
    switch (cs_field_unit(row)) {
    case CS_UNIT_TIME: return "a time, as in \"3us\"";
    case CS_UNIT_RATE: return "a rate, as in \"450GB/s\"";
    case CS_UNIT_SIZE: return "a size, as in 4096 or \"32MiB\"";
    case CS_UNIT_NONE: break;
    }
    return "a number";
}

/* ... in words: "a number", "an object". */
static void describe(const cs_field *row, char *text)
{
    static const char *const words[] = {
        [CS_FIELD_BOOL]    = "true or false",
        [CS_FIELD_CHOICE]  = "a text",
        [CS_FIELD_TEXT]    = "a text",
        [CS_FIELD_CHARS]   = "a text",
        [CS_FIELD_FILE]    = "a text",
        [CS_FIELD_OBJECT]  = "an object",
        [CS_FIELD_LIST]    = "an array",
        [CS_FIELD_KIND]    = "an object with a",
        [CS_FIELD_PLUG_IN] = "a name, or an object with a 'name'",
        [CS_FIELD_EITHER]  = "a value",
        [CS_FIELD_ANY]     = "a value",
    };
    bool is_kind = row->type == CS_FIELD_KIND;

    (void)snprintf(text, ACCEPTED_BYTES, "%s%s%s%s%s",
                   is_number_row(row) ? words_of_number(row) : words[row->type],
                   is_kind ? " '" : "", is_kind ? row->selector : "", is_kind ? "'" : "",
                   row->has_null ? ", or null" : "");
}

void cs_refuse_kind(cs_reading *r, const cs_place *place, const char *accepted)
{
    if (json_is_string(place->node)) {
        CS_REFUSE(r, place, CS_EINVAL, "is the text '%.40s': accepted is %s",
                  json_string_value(place->node), accepted);
    } else {
        CS_REFUSE(r, place, CS_EINVAL, "is %s: accepted is %s", cs_tree_kind(place->node),
                  accepted);
    }
}

static void refuse_row(cs_reading *r, const cs_place *place, const cs_field *row)
{
    char accepted[ACCEPTED_BYTES];

    describe(row, accepted);
    cs_refuse_kind(r, place, accepted);
}

/* ---- scalars ---- */

/* A scalar as text, in the buffer where it is no text yet; NULL: it is no scalar. */
static const char *text_of(const json_t *node, char *buffer, size_t bytes)
{
    if (json_is_integer(node)) {
        (void)snprintf(buffer, bytes, "%lld", (long long)json_integer_value(node));
    } else if (json_is_real(node)) {
        cs_number_text(json_real_value(node), buffer, bytes);
    } else if (json_is_boolean(node)) {
        return json_is_true(node) ? "true" : "false";
    } else {
        return json_string_value(node);
    }
    return buffer;
}

/* A number that a double holds exactly, or that need not be exact. */
static bool is_plain_number(const cs_field *row, const json_t *node)
{
    json_int_t whole = json_integer_value(node);

    return (row->type == CS_FIELD_F64 && json_is_number(node)) ||
           (is_number_row(row) && json_is_integer(node) && whole >= -MOST_EXACT &&
            whole <= MOST_EXACT);
}

/* A number, truth value or choice into its field. */
static void read_scalar(cs_reading *r, const cs_place *place, const cs_field *row, void *object)
{
    char            buffer[40];
    cs_field        of_ranks;
    const cs_field *limits = row;
    double          value  = json_number_value(place->node);

    if (row->is_rank && r->cluster != NULL) {
        of_ranks     = *row;
        of_ranks.max = r->cluster->n_ranks - 1.0;
        limits       = &of_ranks;
    }
    if (row->type == CS_FIELD_BOOL && json_is_boolean(place->node)) {
        value = json_is_true(place->node) ? 1 : 0;
    } else if (!is_plain_number(row, place->node) || !cs_field_takes(limits, value)) {
        cs_error    wrong = {0};
        const char *text  = text_of(place->node, buffer, sizeof buffer);
        if (cs_field_parse(limits, text, &value, "", &wrong) != CS_OK) {
            CS_REFUSE(r, place, wrong.status, "%s", wrong.message);
            return;
        }
    }
    cs_field_store(row, object, value);
}

/* The names, each with the first `folder_bytes` of `folder` before it unless it begins with '/'. */
static const char *names_in(cs_arena *arena, const char *names, const char *folder,
                            size_t folder_bytes)
{
    size_t n = 1, length = strlen(names);

    for (const char *c = names; *c != '\0'; c++) {
        n += *c == ',';
    }
    char *paths = CS_ARENA_NEW(arena, char, length + n * folder_bytes + 1), *end = paths;
    while (paths != NULL) {
        size_t one = strcspn(names, ",");
        if (folder_bytes > 0 && names[0] != '/') {
            memcpy(end, folder, folder_bytes);
            end += folder_bytes;
        }
        memcpy(end, names, one);
        end += one;
        names += one;
        if (*names == '\0') {
            break;
        }
        *end++ = *names++;
    }
    return paths;
}

/* Names of files, each found beside the file in which it stands. */
static const char *find_files(cs_reading *r, const cs_place *place, const char *names)
{
    char where[CS_PATH_BYTES];

    cs_place_path(place, where);
    const char *file  = r->file_of != NULL ? r->file_of(r->context, where) : NULL;
    const char *slash = file != NULL ? strrchr(file, '/') : NULL;
    return names_in(r->arena, names, file, slash != NULL ? (size_t)(slash - file) + 1 : 0);
}

/* The whole name of what a text names; the text itself where it may be any, NULL where it is
 * refused. */
static const char *whole_name(cs_reading *r, const cs_place *place, const cs_field *row)
{
    const char *text  = json_string_value(place->node);
    size_t      index = 0;
    cs_error    wrong = {0};

    if (row->names == NULL || cs_field_has_choice(row, text)) {
        return text;
    }
    if (cs_find_named(row->names, text, &index, "", &wrong) != CS_OK) {
        CS_REFUSE(r, place, wrong.status, "%s", wrong.message);
        return NULL;
    }
    return cs_name_at(row->names, index);
}

static void read_text(cs_reading *r, const cs_place *place, const cs_field *row, void *object)
{
    char       *field = object;
    const char *text  = whole_name(r, place, row);

    if (text == NULL || row->offset == CS_NOWHERE) {
        return;
    }
    field += row->offset;
    if (row->type == CS_FIELD_CHARS && strlen(text) >= row->bytes) {
        CS_REFUSE(r, place, CS_EINVAL, "has %zu bytes: accepted are at most %zu", strlen(text),
                  row->bytes - 1);
        return;
    }
    if (row->type == CS_FIELD_CHARS) {
        memcpy(field, text, strlen(text) + 1);
        return;
    }
    text =
        row->type == CS_FIELD_FILE ? find_files(r, place, text) : cs_arena_strdup(r->arena, text);
    if (text == NULL) {
        CS_REFUSE_MEMORY(r, place, "a text");
        return;
    }
    memcpy(field, &text, sizeof text);
}

/* ---- objects and lists ---- */

/* Refuse the keys of an object that no row has. */
static void check_keys(cs_reading *r, const cs_place *place, const cs_field *fields)
{
    char        path[CS_PATH_BYTES];
    const char *key;
    json_t     *value;
    size_t      index;

    json_object_foreach(place->node, key, value)
    {
        if (cs_field_find(fields, key) == NULL) {
            const cs_named named = cs_field_names(fields, "unknown key");
            cs_place       child = cs_place_get(place, key);
            cs_place_path(&child, path);
            r->key_is_wrong = true;
            (void)!cs_find_named(&named, key, &index, path, &r->error);
            return;
        }
    }
}

static bool is_object(cs_reading *r, const cs_place *place)
{
    if (cs_reading_failed(r) || place->node == NULL) {
        return false;
    }
    if (!json_is_object(place->node)) {
        cs_refuse_kind(r, place, "an object");
    }
    return !cs_reading_failed(r);
}

size_t cs_read_elements(cs_reading *r, const cs_place *place)
{
    if (cs_reading_failed(r) || place->node == NULL) {
        return 0;
    }
    if (!json_is_array(place->node)) {
        cs_refuse_kind(r, place, "an array");
        return 0;
    }
    return json_array_size(place->node);
}

bool cs_read_keys(cs_reading *r, const cs_place *place, const cs_field *fields)
{
    if (is_object(r, place)) {
        check_keys(r, place, fields);
    }
    return place->node != NULL && !cs_reading_failed(r);
}

void cs_read_required(cs_reading *r, const cs_place *parent, const char *key)
{
    if (!cs_reading_failed(r) && !cs_place_has(parent, key)) {
        CS_REFUSE(r, parent, CS_EINVAL, "the key '%s' is missing", key);
    }
}

static void read_field(cs_reading *r, const cs_place *place, const cs_field *row, void *object)
{
    if (cs_reading_failed(r)) {
        return;
    }
    if (row->read != NULL) {
        row->read(r, place, row, object);
    } else if (place->node != NULL) {
        cs_read_row(r, place, row, object);
    }
}

/* Readers of rows leave the object's other keys alone. As many keys as rows have found are all
 * known. */
bool cs_read_fields(cs_reading *r, const cs_place *place, const cs_field *fields, void *object)
{
    json_t *nodes[MOST_KEYS];
    size_t  n = 0, n_found = 0;

    if (!is_object(r, place)) {
        return false;
    }
    for (; fields[n].name != NULL; n++) {
        assert(n < MOST_KEYS);
        nodes[n] = json_object_get(place->node, fields[n].name);
        n_found += nodes[n] != NULL;
    }
    if (n_found != json_object_size(place->node)) {
        check_keys(r, place, fields);
    }
    for (size_t i = 0; i < n && !cs_reading_failed(r); i++) {
        const cs_place child = {nodes[i], place, fields[i].name, 0};
        if (fields[i].is_required && child.node == NULL) {
            cs_read_required(r, place, fields[i].name);
        }
        read_field(r, &child, &fields[i], object);
    }
    return !cs_reading_failed(r);
}

void cs_read_key(cs_reading *r, const cs_place *parent, const cs_field *fields, const char *name,
                 void *object)
{
    cs_place child = cs_place_get(parent, name);

    if (child.node != NULL) {
        read_field(r, &child, cs_field_find(fields, name), object);
    }
}

static void read_object(cs_reading *r, const cs_place *place, const cs_field *row, void *object)
{
    void *inner = (char *)object + row->offset;

    if (cs_read_fields(r, place, row->fields, inner) && row->check != NULL) {
        row->check(r, place, inner);
    }
}

static void refuse_length(cs_reading *r, const cs_place *place, const cs_field *row, size_t n)
{
    const char *some = row->min == 1 ? "one element" : "more elements";

    if (n == 0) {
        CS_REFUSE(r, place, CS_EINVAL, "is empty: accepted is %s or more", some);
    } else {
        CS_REFUSE(r, place, CS_EINVAL, "has %zu elements: accepted are %.0f to %.0f", n, row->min,
                  row->max);
    }
}

/* Every element into the arena, then the list into its field. */
static void read_list(cs_reading *r, const cs_place *place, const cs_field *row, void *object)
{
    const cs_field *element = row->fields;
    size_t          n       = json_array_size(place->node);
    char           *items   = NULL;

    if ((double)n < row->min || (row->max > 0 && (double)n > row->max)) {
        refuse_length(r, place, row, n);
        return;
    }
    if (n > 0 && (items = cs_arena_alloc(r->arena, n, row->bytes)) == NULL) {
        CS_REFUSE_MEMORY(r, place, "%zu elements", n);
        return;
    }
    for (size_t i = 0; i < n && !cs_reading_failed(r); i++) {
        cs_place item = cs_place_item(place, i);
        if (element->type == CS_FIELD_OBJECT) {
            cs_fields_default(element->fields, items + i * row->bytes);
        }
        read_field(r, &item, element, items + i * row->bytes);
    }
    memcpy((char *)object + row->offset, &items, sizeof items);
    memcpy((char *)object + row->beside, &n, sizeof n);
}

/* Without the key that says which kind it is: is a key misspelt, or is there none? */
static void refuse_nameless(cs_reading *r, const cs_place *place, const cs_field *row)
{
    cs_field all[MOST_KEYS] = {{.name = NULL}};
    size_t   n              = 0;

    for (const cs_field *kind = row->fields; kind->name != NULL; kind++) {
        for (const cs_field *f = kind->fields; f->name != NULL && n + 1 < MOST_KEYS; f++) {
            if (cs_field_find(all, f->name) == NULL) {
                all[n++] = *f;
                all[n]   = (cs_field){.name = NULL};
            }
        }
    }
    check_keys(r, place, all);
    cs_read_required(r, place, row->selector);
}

static void read_kind(cs_reading *r, const cs_place *place, const cs_field *row, void *object)
{
    const cs_named named    = cs_field_names(row->fields, "unknown word");
    cs_place       selector = cs_place_get(place, row->selector);
    cs_error       wrong    = {0};
    size_t         index    = 0;

    if (selector.node == NULL) {
        refuse_nameless(r, place, row);
        return;
    }
    if (!json_is_string(selector.node)) {
        cs_refuse_kind(r, &selector, "a text");
        return;
    }
    if (cs_find_named(&named, json_string_value(selector.node), &index, "", &wrong) != CS_OK) {
        CS_REFUSE(r, &selector, wrong.status, "%s", wrong.message);
        return;
    }
    const cs_field *kind = &row->fields[index];
    cs_field_store(row, object, (double)index);
    cs_fields_default(kind->fields, (char *)object + kind->offset);
    read_object(r, place, kind, object);
}

static void read_either(cs_reading *r, const cs_place *place, const cs_field *row, void *object)
{
    char   accepted[ACCEPTED_BYTES] = "", one[ACCEPTED_BYTES];
    size_t length                   = 0;

    for (const cs_field *form = row->fields; form->name != NULL; form++) {
        if (accepts(form, place->node)) {
            read_field(r, place, form, object);
            return;
        }
        describe(form, one);
        int added = snprintf(accepted + length, sizeof accepted - length, "%s%s",
                             length > 0 ? ", or " : "", one);
        length += added > 0 && (size_t)added < sizeof accepted - length ? (size_t)added : 0;
    }
    cs_refuse_kind(r, place, accepted);
}

void cs_read_row(cs_reading *r, const cs_place *place, const cs_field *row, void *object)
{
    if (cs_reading_failed(r) || (row->has_null && json_is_null(place->node))) {
        return;
    }
    if (row->type == CS_FIELD_EITHER) {
        read_either(r, place, row, object);
        return;
    }
    if (!accepts(row, place->node)) {
        refuse_row(r, place, row);
        return;
    }
    switch (row->type) {
    case CS_FIELD_BOOL:
    case CS_FIELD_U32:
    case CS_FIELD_U64:
    case CS_FIELD_F64:
    case CS_FIELD_CHOICE: read_scalar(r, place, row, object); break;
    case CS_FIELD_TEXT:
    case CS_FIELD_CHARS:
    case CS_FIELD_FILE: read_text(r, place, row, object); break;
    case CS_FIELD_OBJECT: read_object(r, place, row, object); break;
    case CS_FIELD_LIST: read_list(r, place, row, object); break;
    case CS_FIELD_KIND: read_kind(r, place, row, object); break;
    case CS_FIELD_EITHER:
    case CS_FIELD_PLUG_IN:
    case CS_FIELD_ANY: break;
    }
}

void cs_read_option(cs_reading *r, const cs_place *place, const cs_field *row, void *options)
{
    if (row->type == CS_FIELD_CHARS) {
        if (json_is_string(place->node)) {
            read_text(r, place, row, options);
        } else if (!json_is_null(place->node)) {
            refuse_row(r, place, row);
        }
        return;
    }
    if (json_is_object(place->node) || json_is_array(place->node) || json_is_null(place->node)) {
        cs_refuse_kind(r, place, "a number, a text or a truth value");
        return;
    }
    read_scalar(r, place, row, options);
}

void cs_read_elsewhere(cs_reading *r, const cs_place *place, const cs_field *row, void *object)
{
    (void)r;
    (void)place;
    (void)row;
    (void)object;
}

/* ---- files ---- */

const cs_cached_file *cs_read_file(cs_reading *r, const cs_file_kind *kind, const char *path,
                                   cs_error *err)
{
    const cs_cached_file *file = NULL;

    return cs_file_cache_get(r->cache, kind, path, r->arena, &r->files, &file, err) == CS_OK ? file
                                                                                             : NULL;
}

const char *cs_read_file_name(cs_reading *r, const cs_place *place)
{
    static const cs_field row  = {.name = "file", .type = CS_FIELD_FILE};
    const char           *path = NULL;

    cs_read_row(r, place, &row, &path);
    return path;
}

void cs_keep_fingerprint(cs_reading *r, const cs_place *parent, const char *fingerprint,
                         const char *others)
{
    cs_place    place = cs_place_get(parent, "fingerprint");
    const char *given = json_string_value(place.node);

    if (cs_reading_failed(r)) {
        return;
    }
    if (given != NULL && strcmp(given, fingerprint) != 0) {
        CS_REFUSE(r, &place, CS_EINVAL, "is '%.40s', but the file holds %s is %s", given, others,
                  fingerprint);
    } else if (json_object_set_new(parent->node, "fingerprint", json_string(fingerprint)) != 0) {
        CS_REFUSE_MEMORY(r, parent, "a fingerprint");
    }
}
