/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From the text of an option to a key of a configuration: every value becomes a node of the tree
 * once, by the row of its key. */
#include "study/config_state.h"
#include "study/keys.h"

#include "cs/units.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { WORD_BYTES = 256, LIST_BYTES = 4096 };

#define MOST_EXACT 0x1p53

static cs_status no_memory(const char *origin, cs_error *err)
{
    return CS_FAIL(err, CS_ENOMEM, origin, "out of memory for a value");
}

/* A number as JSON writes it; NULL: it is none. */
static json_t *number_node(const char *text)
{
    json_t *node = json_loads(text, JSON_DECODE_ANY, NULL);

    if (node != NULL && !json_is_number(node)) {
        json_decref(node);
        node = NULL;
    }
    return node;
}

/* A number, or what else its row takes: a text with a unit, "auto", null. What it means is read
 * with the scenario; what can mean nothing is refused here. Numbers that JSON does not know, as
 * 007, are those of the row. */
static cs_status quantity_node(const cs_field *row, const char *text, bool keeps_texts,
                               const char *origin, json_t **node_p, cs_error *err)
{
    bool   is_text = cs_field_unit(row) != CS_UNIT_NONE;
    double value   = 0;

    if (row->has_null && strcmp(text, "null") == 0) {
        *node_p = json_null();
        return CS_OK;
    }
    *node_p = is_text && keeps_texts ? NULL : number_node(text);
    if (*node_p != NULL) {
        return CS_OK;
    }
    if (is_text || row->has_auto) {
        return cs_tree_text(text, origin, node_p, err);
    }
    CS_TRY(cs_field_parse(row, text, &value, origin, err));
    bool is_whole = fabs(value) < MOST_EXACT && value == floor(value);
    *node_p       = is_whole ? json_integer((json_int_t)value) : json_real(value);
    return *node_p != NULL ? CS_OK : no_memory(origin, err);
}

/* The value of a key; `keeps_texts`: quantities stay as they were written. */
static cs_status node_of(const cs_field *row, const char *text, bool keeps_texts,
                         const char *origin, json_t **node_p, cs_error *err)
{
    switch (row != NULL ? row->type : CS_FIELD_ANY) {
    case CS_FIELD_U32:
    case CS_FIELD_U64:
    case CS_FIELD_F64: return quantity_node(row, text, keeps_texts, origin, node_p, err);
    case CS_FIELD_CHOICE:
    case CS_FIELD_TEXT:
    case CS_FIELD_CHARS:
    case CS_FIELD_FILE:
    case CS_FIELD_PLUG_IN: return cs_tree_text(text, origin, node_p, err);
    case CS_FIELD_BOOL:
    case CS_FIELD_OBJECT:
    case CS_FIELD_LIST:
    case CS_FIELD_KIND:
    case CS_FIELD_EITHER:
    case CS_FIELD_ANY: break;
    }
    return cs_tree_value(text, origin, node_p, err);
}

/* ---- values that are no texts ---- */

static json_t *node_of_value(const cs_value *value)
{
    switch (value->type) {
    case CS_VALUE_NONE: return json_null();
    case CS_VALUE_BOOL: return json_boolean(value->whole != 0);
    case CS_VALUE_WHOLE: return json_integer(value->whole);
    case CS_VALUE_COUNT: return json_integer((json_int_t)value->count);
    case CS_VALUE_REAL: return json_real(value->real);
    case CS_VALUE_TEXT: return json_string(value->text);
    case CS_VALUE_JSON: break;
    }
    return json_loads(value->text, JSON_DECODE_ANY, NULL);
}

cs_status cs_config_put(cs_config *config, const char *path, const cs_value *value,
                        const char *origin, cs_error *err)
{
    json_t *node = NULL;

    if (value->type == CS_VALUE_TEXT) {
        CS_TRY(cs_tree_text(value->text, origin, &node, err));
        return cs_config_set_node(config, path, node, origin, err);
    }
    node = node_of_value(value);
    return node != NULL ? cs_config_set_node(config, path, node, origin, err)
                        : no_memory(origin, err);
}

cs_status cs_config_sweep_put(cs_config *config, const char *path, const cs_value *values, size_t n,
                              const char *origin, cs_error *err)
{
    json_t   *array  = json_array();
    bool      is_all = array != NULL;
    cs_status status;

    for (size_t i = 0; i < n && is_all; i++) {
        is_all = json_array_append_new(array, node_of_value(&values[i])) == 0;
    }
    status = is_all ? cs_config_add_axis(config, path, array, origin, origin, err)
                    : no_memory(origin, err);
    json_decref(array);
    return status;
}

/* ---- forms ---- */

/* Copy the first `length` bytes of a text into an array of `room`. */
static cs_status take_word(const char *text, size_t length, char *word, size_t room,
                           const char *origin, cs_error *err)
{
    if (length >= room) {
        return CS_FAIL(err, CS_EINVAL, origin, "'%.40s...' is too long", text);
    }
    memcpy(word, text, length);
    word[length] = '\0';
    return CS_OK;
}

static cs_status apply_value(cs_config *config, const char *path, const char *text,
                             const char *origin, cs_error *err)
{
    json_t *node = NULL;

    CS_TRY(node_of(cs_key_at(path), text, false, origin, &node, err));
    return cs_config_set_node(config, path, node, origin, err);
}

#define LEAST_FACTOR 1.001

/* "8..64", all whole numbers between; "8:64:x2", each twice the one before; "8:64:+8". */
typedef struct range {
    uint64_t first, last;
    double   factor; /* or 1, */
    uint64_t step;   /* and this much more each time */
} range;

/* Cut a word at a text in it; NULL: it is not there. */
static char *cut(char *word, const char *at)
{
    char *found = word != NULL ? strstr(word, at) : NULL;

    if (found != NULL) {
        *found = '\0';
        found += strlen(at);
    }
    return found;
}

/* False: it is no range. */
static cs_status read_range(const char *word, range *r, bool *is_range_p, const char *origin,
                            cs_error *err)
{
    char  first[WORD_BYTES];
    char *last = NULL, *step = NULL;

    (void)snprintf(first, sizeof first, "%s", word);
    *r   = (range){.factor = 1, .step = 1};
    last = cut(first, "..");
    if (last == NULL) {
        last = cut(first, ":");
        step = cut(last, ":");
        if (step == NULL) {
            *is_range_p = false;
            return CS_OK;
        }
    }
    *is_range_p = true;
    CS_TRY(cs_parse_bytes(first, &r->first, origin, err));
    CS_TRY(cs_parse_bytes(last, &r->last, origin, err));
    bool is_ok = r->first <= r->last;
    if (step != NULL && step[0] == 'x') {
        r->step = 0;
        CS_TRY(cs_parse_number(step + 1, &r->factor, origin, err));
        is_ok = is_ok && r->factor >= LEAST_FACTOR && r->first > 0;
    } else if (step != NULL && step[0] == '+') {
        CS_TRY(cs_parse_bytes(step + 1, &r->step, origin, err));
        is_ok = is_ok && r->step > 0;
    } else {
        is_ok = is_ok && step == NULL;
    }
    if (!is_ok) {
        return CS_FAIL(err, CS_EINVAL, origin,
                       "'%s' is no range: accepted are 8..64, 8:64:x2, 8:64:+8, from the smaller "
                       "to the larger number",
                       word);
    }
    return CS_OK;
}

/* Values that are the same once rounded down are one. */
static cs_status add_range(json_t *array, const range *r, const char *origin, cs_error *err)
{
    double   value = (double)r->first;
    uint64_t last  = UINT64_MAX;

    if (r->step > 0 && (r->last - r->first) / r->step >= CS_CONFIG_MAX_CASES) {
        return CS_FAIL(err, CS_EINVAL, origin, "a range of more than %d values",
                       CS_CONFIG_MAX_CASES);
    }
    while (value <= (double)r->last) {
        uint64_t whole = (uint64_t)value;
        if (whole != last && json_array_append_new(array, json_integer((json_int_t)whole)) != 0) {
            return no_memory(origin, err);
        }
        last  = whole;
        value = value * r->factor + (double)r->step;
    }
    return CS_OK;
}

/* ---- ranges of times, rates and other numbers: "10us:20ms:x2", "0ms:10ms:+1ms" ---- */

static cs_status parse_real(const cs_field *row, const char *text, double *value_p,
                            const char *origin, cs_error *err)
{
    switch (cs_field_unit(row)) {
    case CS_UNIT_TIME: return cs_parse_time(text, value_p, origin, err);
    case CS_UNIT_RATE: return cs_parse_rate(text, value_p, origin, err);
    case CS_UNIT_SIZE:
    case CS_UNIT_NONE: break;
    }
    return cs_parse_number(text, value_p, origin, err);
}

/* What stands behind the last digit. */
static const char *unit_of(const char *text)
{
    const char *unit = text + strlen(text);

    while (unit > text && strchr("0123456789.", unit[-1]) == NULL) {
        unit--;
    }
    return unit;
}

/* Numbers of one unit; a step of 0 is a factor. */
typedef struct real_range {
    double      first, last, factor, step;
    const char *unit; /* of the first that has one */
} real_range;

static cs_status read_reals(const cs_field *row, const char *first, const char *last,
                            const char *step, real_range *r, bool *is_ok_p, const char *origin,
                            cs_error *err)
{
    char   one[WORD_BYTES + 1];
    double scale = 1;

    *r =
        (real_range){.factor = 1, .unit = *unit_of(first) != '\0' ? unit_of(first) : unit_of(last)};
    CS_TRY(parse_real(row, first, &r->first, origin, err));
    CS_TRY(parse_real(row, last, &r->last, origin, err));
    (void)snprintf(one, sizeof one, "1%s", r->unit);
    CS_TRY(parse_real(row, one, &scale, origin, err));
    *is_ok_p = r->first <= r->last;
    if (step[0] == 'x') {
        CS_TRY(cs_parse_number(step + 1, &r->factor, origin, err));
        *is_ok_p = *is_ok_p && r->factor >= LEAST_FACTOR && r->first > 0;
    } else if (step[0] == '+') {
        CS_TRY(parse_real(row, step + 1, &r->step, origin, err));
        *is_ok_p = *is_ok_p && r->step > 0;
    } else {
        *is_ok_p = false;
    }
    r->first /= scale;
    r->last /= scale;
    r->step /= scale;
    return CS_OK;
}

/* Values as they would be written: 12 digits and the unit. */
static cs_status add_reals(json_t *array, const cs_field *row, const real_range *r,
                           const char *origin, cs_error *err)
{
    const double end   = r->last * (1 + 1e-9);
    double       value = r->first;

    if (r->step > 0 && (r->last - r->first) / r->step >= CS_CONFIG_MAX_CASES) {
        return CS_FAIL(err, CS_EINVAL, origin, "a range of more than %d values",
                       CS_CONFIG_MAX_CASES);
    }
    for (size_t i = 0; value <= end; i++) {
        char    text[WORD_BYTES];
        json_t *node = NULL;
        (void)snprintf(text, sizeof text, "%.12g%s", value, r->unit);
        CS_TRY(node_of(row, text, true, origin, &node, err));
        if (json_array_append_new(array, node) != 0) {
            return no_memory(origin, err);
        }
        value = r->step > 0 ? r->first + (double)(i + 1) * r->step : value * r->factor;
    }
    return CS_OK;
}

static cs_status add_range_of_reals(json_t *array, const cs_field *row, const char *word,
                                    const char *origin, cs_error *err)
{
    char       first[WORD_BYTES];
    real_range r;
    bool       is_ok = false;

    (void)snprintf(first, sizeof first, "%s", word);
    char *last = cut(first, ":"), *step = cut(last, ":");
    if (step != NULL) {
        CS_TRY(read_reals(row, first, last, step, &r, &is_ok, origin, err));
    }
    if (!is_ok) {
        return CS_FAIL(
            err, CS_EINVAL, origin,
            "'%s' is no range: accepted are %s, from the smaller to the larger one, with "
            "x only from above 0",
            word,
            cs_field_unit(row) == CS_UNIT_TIME ? "10us:20ms:x2, 0ms:10ms:+1ms"
                                               : "1:8:x2, 1:4:+0.5");
    }
    return add_reals(array, row, &r, origin, err);
}

static bool is_whole(const cs_field *row)
{
    return row != NULL && (row->type == CS_FIELD_U32 || row->type == CS_FIELD_U64);
}

static bool is_real(const cs_field *row)
{
    return row != NULL && row->type == CS_FIELD_F64;
}

/* Add the values of "a,b,.." to an array; numbers may be ranges. */
static cs_status add_values(json_t *array, const cs_field *row, const char *list,
                            const char *origin, cs_error *err)
{
    range r;
    bool  is_range = false;

    for (const char *at = list; at != NULL;) {
        size_t  length = strcspn(at, ",");
        char    word[WORD_BYTES];
        json_t *node = NULL;
        if (length == 0) {
            return CS_FAIL(err, CS_EINVAL, origin, "'%s' is not a list of values", list);
        }
        CS_TRY(take_word(at, length, word, sizeof word, origin, err));
        if (is_whole(row)) {
            CS_TRY(read_range(word, &r, &is_range, origin, err));
        }
        if (is_range) {
            CS_TRY(add_range(array, &r, origin, err));
        } else if (is_real(row) && strchr(word, ':') != NULL) {
            CS_TRY(add_range_of_reals(array, row, word, origin, err));
        } else {
            CS_TRY(node_of(row, word, true, origin, &node, err));
            if (json_array_append_new(array, node) != 0) {
                return no_memory(origin, err);
            }
        }
        at = at[length] == ',' ? at + length + 1 : NULL;
    }
    return CS_OK;
}

static cs_status apply_list(cs_config *config, const char *path, const char *list,
                            const char *origin, cs_error *err)
{
    json_t *array = json_array();

    if (array == NULL) {
        return no_memory(origin, err);
    }
    cs_status status = add_values(array, cs_key_at(path), list, origin, err);
    if (status == CS_OK && json_array_size(array) > 1) {
        status = cs_config_add_axis(config, path, array, origin, origin, err);
    } else if (status == CS_OK) {
        status =
            cs_config_set_node(config, path, json_incref(json_array_get(array, 0)), origin, err);
    }
    json_decref(array);
    return status;
}

static cs_status refuse_form(const cs_setting *how, const char *text, const char *origin,
                             cs_error *err)
{
    return CS_FAIL(err, CS_EINVAL, origin, "'%s' is not of the form %s", text, how->words);
}

/* "0=2@1ms:3ms" by the keys of "rank=slowdown@from:until". */
typedef struct parts {
    const cs_field *row;         /* of the object */
    const char     *keys, *text; /* what is left; the text is NULL behind its end */
    bool            is_value;    /* what follows stands behind an equals sign */
    json_t         *object;
    char            swept[WORD_BYTES]; /* the key that has several values, "": none has */
    json_t         *values;            /* of it */
} parts;

/* Several values of a key: the object has the first. */
static cs_status add_swept(parts *p, const cs_field *row, const char *key, const char *list,
                           const char *origin, cs_error *err)
{
    p->values = json_array();
    if (p->values == NULL) {
        return no_memory(origin, err);
    }
    CS_TRY(add_values(p->values, row, list, origin, err));
    (void)snprintf(p->swept, sizeof p->swept, "%s", key);
    json_t *first = json_deep_copy(json_array_get(p->values, 0));
    return json_object_set_new(p->object, key, first) == 0 ? CS_OK : no_memory(origin, err);
}

/* The value of a key. */
static cs_status add_key(parts *p, const char *key, const char *word, const char *origin,
                         cs_error *err)
{
    const cs_field *row  = cs_key_below(p->row, key);
    json_t         *node = NULL;

    if (p->is_value && is_real(row) && strpbrk(word, ",:") != NULL) {
        return add_swept(p, row, key, word, origin, err);
    }
    CS_TRY(node_of(row, word, true, origin, &node, err));
    return json_object_set_new(p->object, key, node) == 0 ? CS_OK : no_memory(origin, err);
}

/* The next part: the text moves on. NULL is what a key has that stands before "!". False in
 * *fits_p: a dot or an equals sign is missing, or what stands before it. */
static cs_status add_part(parts *p, bool *fits_p, const char *origin, cs_error *err)
{
    char        key[WORD_BYTES], word[LIST_BYTES], end;
    size_t      key_length = strcspn(p->keys, "!.=@:");
    const char *text       = p->text;

    CS_TRY(take_word(p->keys, key_length, key, sizeof key, origin, err));
    p->keys += key_length;
    end = *p->keys;
    if (end == '!') {
        p->keys += 1;
        return json_object_set_new(p->object, key, json_null()) == 0 ? CS_OK
                                                                     : no_memory(origin, err);
    }
    const char *behind = end != '\0' ? strchr(text, end) : NULL;
    size_t      length = behind != NULL ? (size_t)(behind - text) : strlen(text);
    bool        is_due = end == '.' || end == '=';
    *fits_p            = !is_due || (behind != NULL && length > 0);
    if (!*fits_p) {
        return CS_OK;
    }
    CS_TRY(take_word(text, length, word, sizeof word, origin, err));
    *fits_p = strchr(word, '=') == NULL;
    if (!*fits_p) {
        return CS_OK;
    }
    CS_TRY(add_key(p, key, word, origin, err));
    p->keys += end != '\0';
    p->text     = behind != NULL ? behind + 1 : NULL;
    p->is_value = end == '=';
    return CS_OK;
}

/* Add the object to its list, and an axis over the key that has several values. */
static cs_status set_parts(cs_config *config, const char *path, parts *p, const char *origin,
                           cs_error *err)
{
    char element[CS_PATH_BYTES];

    cs_config_appended_path(config, path, element);
    CS_TRY(cs_config_set_node(config, path, json_incref(p->object), origin, err));
    if (json_array_size(p->values) <= 1) {
        return CS_OK;
    }
    cs_path_add_key(element, element, p->swept);
    return cs_config_add_axis(config, element, p->values, origin, origin, err);
}

static cs_status apply_parts(cs_config *config, const cs_setting *how, const char *text,
                             const char *origin, cs_error *err)
{
    parts p = {
        .row = cs_key_at(how->path), .keys = how->parts, .text = text, .object = json_object()};
    cs_status status = p.object != NULL ? CS_OK : no_memory(origin, err);
    bool      fits   = true;

    while (status == CS_OK && fits && *p.keys != '\0' && p.text != NULL) {
        status = add_part(&p, &fits, origin, err);
    }
    if (status == CS_OK && !fits) {
        status = refuse_form(how, text, origin, err);
    }
    if (status == CS_OK) {
        status = set_parts(config, how->path, &p, origin, err);
    }
    json_decref(p.object);
    json_decref(p.values);
    return status;
}

bool cs_setting_sweeps(const cs_setting *how, const char *text)
{
    if (text == NULL) {
        return false;
    }
    const char *value  = how->form == CS_SET_PARTS ? strchr(text, '=') : text;
    size_t      length = value != NULL ? strcspn(value, "@") : 0;

    return (how->form == CS_SET_LIST && strpbrk(text, ",:.") != NULL) ||
           (how->form == CS_SET_PARTS && value != NULL && strcspn(value, ",:") < length);
}

/* KEY=VALUE below the path, or PATH=JSON where that is empty. */
static cs_status apply_below(cs_config *config, const cs_setting *how, const char *text,
                             const char *origin, cs_error *err)
{
    char        path[2 * WORD_BYTES], inner[WORD_BYTES], name[2 * WORD_BYTES];
    const char *equals   = strchr(text, '=');
    bool        has_path = how->path[0] != '\0';

    if (equals == NULL || equals == text) {
        return refuse_form(how, text, origin, err);
    }
    CS_TRY(take_word(text, (size_t)(equals - text), inner, sizeof inner, origin, err));
    (void)snprintf(path, sizeof path, "%s%s%s", how->path, has_path ? "." : "", inner);
    (void)snprintf(name, sizeof name, "%s%s%s", origin, has_path ? " " : "", has_path ? inner : "");
    return cs_config_set(config, path, equals + 1, name, err);
}

/* The object at the path, if it has keys but names nothing; else NULL. */
static json_t *nameless_at(const cs_config *config, const char *path)
{
    static const char *const names[] = {"kind", "path", "preset"};
    cs_path                  steps;
    json_t                  *old =
        cs_path_parse(path, &steps, NULL) == CS_OK ? cs_tree_at(config->tree, &steps) : NULL;

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (json_object_get(old, names[i]) != NULL) {
            return NULL;
        }
    }
    return json_is_object(old) ? old : NULL;
}

static cs_status apply_name(cs_config *config, const char *path, const char *text,
                            const char *origin, cs_error *err)
{
    json_t *node = NULL, *old = nameless_at(config, path), *both;

    CS_TRY(node_of(cs_key_at(path), text, false, origin, &node, err));
    if (json_is_string(node) && old != NULL) {
        both       = json_object();
        bool is_ok = json_object_update(both, old) == 0;
        if (json_object_set_new(both, "name", node) != 0 || !is_ok) {
            json_decref(both);
            return no_memory(origin, err);
        }
        node = both;
    }
    return cs_config_set_node(config, path, node, origin, err);
}

cs_status cs_config_apply(cs_config *config, const cs_setting *how, const char *text,
                          const char *origin, cs_error *err)
{
    const cs_value no = {.type = CS_VALUE_BOOL, .whole = 0};

    switch (how->form) {
    case CS_SET_VALUE: return apply_value(config, how->path, text, origin, err);
    case CS_SET_LIST: return apply_list(config, how->path, text, origin, err);
    case CS_SET_FALSE: return cs_config_put(config, how->path, &no, origin, err);
    case CS_SET_PARTS: return apply_parts(config, how, text, origin, err);
    case CS_SET_BELOW: return apply_below(config, how, text, origin, err);
    case CS_SET_NAME: break;
    }
    return apply_name(config, how->path, text, origin, err);
}
