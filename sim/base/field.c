/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fields: from table to struct, from text to struct, from struct to text.
 *
 * Fields are copied with memcpy(), so that neither their alignment nor the declared type of
 * the storage matters. A value on its way is a double: integers are exact up to 2^53.
 */
#include "cs/field.h"

#include "base/text.h"
#include "cs/units.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MAX_U64 ((uint64_t)1 << 53)

enum { MOST_CHOICES = 32, CHOICES_BYTES = 256 };

const cs_plain cs_plain_latency = {0, 0.01, "write #us for microseconds"}; /* 2000 km of fibre and
                                                                              back */
const cs_plain cs_plain_delay = {0, 1, "write #ms for milliseconds"}; /* more is a crash rather than
                                                                         a straggler */
const cs_plain cs_plain_rate = {1e6, (double)INFINITY, "write #GB/s or #Gb/s"}; /* less is Ethernet
                                                                                   in 1980 */

static bool is_number(const cs_field *row)
{
    return row->type == CS_FIELD_U32 || row->type == CS_FIELD_U64 || row->type == CS_FIELD_F64;
}

static bool is_whole(const cs_field *row)
{
    return row->type == CS_FIELD_U32 || row->type == CS_FIELD_U64;
}

void cs_field_store(const cs_field *row, void *object, double value)
{
    char    *field  = object;
    bool     truth  = value > 0;
    int      choice = row->type == CS_FIELD_CHOICE || row->type == CS_FIELD_KIND ? (int)value : 0;
    uint32_t u32    = row->type == CS_FIELD_U32 ? (uint32_t)value : 0;
    uint64_t u64    = row->type == CS_FIELD_U64 ? (uint64_t)value : 0;

    if (row->offset == CS_NOWHERE) {
        return;
    }
    field += row->offset;
    switch (row->type) {
    case CS_FIELD_BOOL: memcpy(field, &truth, sizeof truth); break;
    case CS_FIELD_U32: memcpy(field, &u32, sizeof u32); break;
    case CS_FIELD_U64: memcpy(field, &u64, sizeof u64); break;
    case CS_FIELD_F64: memcpy(field, &value, sizeof value); break;
    case CS_FIELD_CHOICE:
    case CS_FIELD_KIND: memcpy(field, &choice, sizeof choice); break;
    case CS_FIELD_TEXT:
    case CS_FIELD_CHARS:
    case CS_FIELD_FILE:
    case CS_FIELD_OBJECT:
    case CS_FIELD_LIST:
    case CS_FIELD_EITHER:
    case CS_FIELD_PLUG_IN:
    case CS_FIELD_ANY: break;
    }
}

double cs_field_load(const cs_field *row, const void *object)
{
    const char *field  = object;
    double      value  = 0;
    bool        truth  = false;
    int         choice = 0;
    uint32_t    u32    = 0;
    uint64_t    u64    = 0;

    if (row->offset == CS_NOWHERE) {
        return row->fallback;
    }
    field += row->offset;
    switch (row->type) {
    case CS_FIELD_BOOL: memcpy(&truth, field, sizeof truth); return truth ? 1 : 0;
    case CS_FIELD_U32: memcpy(&u32, field, sizeof u32); return u32;
    case CS_FIELD_U64: memcpy(&u64, field, sizeof u64); return (double)u64;
    case CS_FIELD_F64: memcpy(&value, field, sizeof value); return value;
    case CS_FIELD_CHOICE:
    case CS_FIELD_KIND: memcpy(&choice, field, sizeof choice); return choice;
    case CS_FIELD_TEXT:
    case CS_FIELD_CHARS:
    case CS_FIELD_FILE:
    case CS_FIELD_OBJECT:
    case CS_FIELD_LIST:
    case CS_FIELD_EITHER:
    case CS_FIELD_PLUG_IN:
    case CS_FIELD_ANY: break;
    }
    return value;
}

void cs_fields_default(const cs_field *table, void *object)
{
    for (const cs_field *row = table; row != NULL && row->name != NULL; row++) {
        if (row->type == CS_FIELD_OBJECT && row->read == NULL) {
            cs_fields_default(row->fields, (char *)object + row->offset);
        } else if (row->type == CS_FIELD_CHARS) {
            ((char *)object)[row->offset] = '\0';
        } else {
            cs_field_store(row, object, row->fallback);
        }
    }
}

const char *cs_field_type_name(const cs_field *row)
{
    static const char *const names[] = {
        [CS_FIELD_BOOL] = "boolean", [CS_FIELD_U32] = "integer",   [CS_FIELD_U64] = "integer",
        [CS_FIELD_F64] = "number",   [CS_FIELD_CHOICE] = "choice", [CS_FIELD_TEXT] = "text",
        [CS_FIELD_CHARS] = "text",   [CS_FIELD_FILE] = "file",     [CS_FIELD_OBJECT] = "object",
        [CS_FIELD_LIST] = "list",    [CS_FIELD_KIND] = "object",   [CS_FIELD_EITHER] = "value",
        [CS_FIELD_PLUG_IN] = "name", [CS_FIELD_ANY] = "value",
    };
    return names[row->type];
}

static cs_status parse_quantity(cs_unit unit, const char *text, double *value_p, const char *where,
                                cs_error *err)
{
    uint64_t  bytes  = 0;
    cs_status status = CS_OK;

    switch (unit) {
    case CS_UNIT_TIME: return cs_parse_time(text, value_p, where, err);
    case CS_UNIT_RATE: return cs_parse_rate(text, value_p, where, err);
    case CS_UNIT_SIZE:
        status   = cs_parse_bytes(text, &bytes, where, err);
        *value_p = (double)bytes;
        return status;
    case CS_UNIT_NONE: break;
    }
    return cs_parse_number(text, value_p, where, err);
}

/* A quantity with the unit that makes its number short and read back exactly: "3us", "32MiB". */
static void quantity_text(cs_unit unit, double value, char *text, size_t text_bytes)
{
    static const struct {
        cs_unit     unit;
        double      scale;
        const char *name;
    } units[] = {
        {CS_UNIT_TIME, 1, "s"},        {CS_UNIT_TIME, 1e-3, "ms"},    {CS_UNIT_TIME, 1e-6, "us"},
        {CS_UNIT_TIME, 1e-9, "ns"},    {CS_UNIT_RATE, 1e9, "GB/s"},   {CS_UNIT_RATE, 1e6, "MB/s"},
        {CS_UNIT_RATE, 1, "B/s"},      {CS_UNIT_SIZE, 0x1p30, "GiB"}, {CS_UNIT_SIZE, 0x1p20, "MiB"},
        {CS_UNIT_SIZE, 0x1p10, "KiB"}, {CS_UNIT_SIZE, 1, "B"},
    };

    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        double number = value / units[i].scale, again = -1;
        if (units[i].unit != unit || (value != 0 && !(fabs(number) >= 1))) {
            continue;
        }
        (void)snprintf(text, text_bytes, "%.6g%s", number, units[i].name);
        if (parse_quantity(unit, text, &again, NULL, NULL) == CS_OK && again == value) {
            return;
        }
    }
    cs_number_text(value, text, text_bytes);
}

bool cs_field_default(const cs_field *row, char *text, size_t text_bytes)
{
    double value     = row->fallback;
    bool   is_choice = row->type == CS_FIELD_CHOICE, is_truth = row->type == CS_FIELD_BOOL;

    if (row->is_required || isnan(value) || !(is_choice || is_truth || is_number(row))) {
        return false;
    }
    if (is_truth) {
        (void)snprintf(text, text_bytes, "%s", value > 0 ? "true" : "false");
    } else if (is_choice) {
        return value >= 0 && cs_field_choice(row, (size_t)value, text, text_bytes);
    } else if (row->has_auto && value >= (double)CS_AUTO) {
        (void)snprintf(text, text_bytes, "auto");
    } else if (!cs_field_takes(row, value) || isinf(value)) {
        (void)snprintf(text, text_bytes, "null");
        return row->has_null;
    } else {
        quantity_text(cs_field_unit(row), value, text, text_bytes);
    }
    return true;
}

double cs_field_least(const cs_field *row)
{
    return is_whole(row) ? fmax(row->min, 0) : row->min;
}

double cs_field_most(const cs_field *row)
{
    double limit = row->type == CS_FIELD_U64   ? (double)MAX_U64
                   : row->type != CS_FIELD_U32 ? row->max
                   : row->has_auto             ? CS_AUTO - 1.0
                                               : UINT32_MAX;
    return fmin(row->max, limit);
}

bool cs_field_takes(const cs_field *row, double value)
{
    double least = cs_field_least(row);

    return (row->is_above ? value > least : value >= least) && value <= cs_field_most(row);
}

/* The unit that the name of a number ends in. */
static cs_unit unit_of_name(const cs_field *row)
{
    if (!is_number(row)) {
        return CS_UNIT_NONE;
    }
    return cs_ends_in(row->name, "_bytes") ? CS_UNIT_SIZE
           : is_whole(row)                 ? CS_UNIT_NONE
           : cs_ends_in(row->name, "_Bps") ? CS_UNIT_RATE
           : cs_ends_in(row->name, "_s")   ? CS_UNIT_TIME
                                           : CS_UNIT_NONE;
}

cs_unit cs_field_unit(const cs_field *row)
{
    return row->unit != CS_UNIT_NONE ? row->unit : unit_of_name(row);
}

/* Of options, times are latencies. */
const cs_plain *cs_field_plain(const cs_field *row)
{
    if (row->plain != NULL) {
        return row->plain;
    }
    return cs_field_unit(row) == CS_UNIT_RATE  ? &cs_plain_rate
           : unit_of_name(row) == CS_UNIT_TIME ? &cs_plain_latency
                                               : NULL;
}

static cs_status outside(const cs_field *row, const char *text, const char *where, cs_error *err)
{
    bool        is_time = cs_field_unit(row) == CS_UNIT_TIME;
    const char *unit    = is_time ? " s" : "";
    size_t      length  = strlen(text);
    bool        is_bare = length > 0 && text[length - 1] >= '0' && text[length - 1] <= '9';
    char        min[32], max[32];

    cs_number_text(cs_field_least(row), min, sizeof min);
    cs_number_text(cs_field_most(row), max, sizeof max);
    return CS_FAIL(err, CS_EINVAL, where, "%.40s%s is outside %s%s%s, %s%s]", text,
                   is_bare ? unit : "", row->is_above ? "(" : "[", min, unit, max, unit);
}

static cs_status parse_bool(const char *text, double *value_p, const char *where, cs_error *err)
{
    static const char *const words[] = {"false", "true", "0", "1", "off", "on"};

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(text, words[i]) == 0) {
            *value_p = (double)(i % 2);
            return CS_OK;
        }
    }
    return CS_FAIL(err, CS_EINVAL, where,
                   "'%.40s' is not a truth value: accepted are true, false, "
                   "1, 0, on, off",
                   text);
}

/* Choice `index` of "a|b|c", and its length; NULL behind the last one. */
static const char *choice_at(const char *choices, size_t index, size_t *length_p)
{
    for (*length_p = strcspn(choices, "|"); index > 0; index--) {
        if (choices[*length_p] == '\0') {
            return NULL;
        }
        choices += *length_p + 1;
        *length_p = strcspn(choices, "|");
    }
    return choices;
}

bool cs_field_has_choice(const cs_field *row, const char *text)
{
    size_t      length = 0;
    const char *choice;

    for (size_t i = 0; row->choices != NULL && (choice = choice_at(row->choices, i, &length));
         i++) {
        if (strlen(text) == length && memcmp(choice, text, length) == 0) {
            return true;
        }
    }
    return false;
}

bool cs_field_choice(const cs_field *row, size_t index, char *text, size_t text_bytes)
{
    size_t      length = 0;
    const char *choice = row->names != NULL ? cs_name_at(row->names, index)
                                            : choice_at(row->choices, index, &length);

    if (choice != NULL) {
        length = row->names != NULL ? strlen(choice) : length;
        (void)snprintf(text, text_bytes, "%.*s", (int)length, choice);
    }
    return choice != NULL;
}

static cs_status parse_choice(const cs_field *row, const char *text, double *value_p,
                              const char *where, cs_error *err)
{
    char        copy[CHOICES_BYTES];
    const char *words[MOST_CHOICES];
    size_t      n = 0, index = 0, length = 0;
    cs_named    named = CS_NAMED_WORDS(words, 0, "unknown word", NULL);

    if (row->names == NULL) {
        (void)snprintf(copy, sizeof copy, "%s", row->choices);
        for (const char *at; n < MOST_CHOICES && (at = choice_at(row->choices, n, &length)) != NULL;
             n++) {
            words[n]                                   = copy + (at - row->choices);
            copy[(size_t)(at - row->choices) + length] = '\0';
        }
        named.n = n;
    }
    cs_status status =
        cs_find_named(row->names != NULL ? row->names : &named, text, &index, where, err);
    *value_p = (double)index;
    return status;
}

/* "8/7" */
static cs_status parse_ratio(const char *text, double *value_p, const char *where, cs_error *err)
{
    char        above[32] = "";
    const char *slash     = strchr(text, '/');
    size_t      length    = (size_t)(slash - text);
    double      numerator = 0, denominator = 0;

    if (length < sizeof above) {
        memcpy(above, text, length);
    }
    if (cs_parse_number(above, &numerator, where, NULL) != CS_OK ||
        cs_parse_number(slash + 1, &denominator, where, NULL) != CS_OK || !(denominator > 0)) {
        return CS_FAIL(err, CS_EINVAL, where,
                       "'%.40s' is not a number: accepted are numbers and fractions, as in 8/7",
                       text);
    }
    *value_p = numerator / denominator;
    return CS_OK;
}

static cs_status parse_number(const cs_field *row, const char *text, double *value_p,
                              const char *where, cs_error *err)
{
    double    least = cs_field_least(row), most = cs_field_most(row);
    uint64_t  whole = 0;
    cs_unit   unit  = cs_field_unit(row);
    cs_status status;

    if (row->has_auto && strcmp(text, "auto") == 0) {
        *value_p = (double)CS_AUTO;
        return CS_OK;
    }
    if (row->has_auto && strspn(text, "-0123456789") == 0) {
        return CS_FAIL(err, CS_EINVAL, where,
                       "'%.40s' is neither auto nor a %snumber: accepted are auto, %.10g to %.10g",
                       text, is_whole(row) ? "whole " : "", least, most);
    }
    if (is_whole(row) && unit == CS_UNIT_NONE) {
        status   = cs_parse_integer(text, (uint64_t)least, (uint64_t)most, &whole, where, err);
        *value_p = (double)whole;
        return status;
    }
    status = row->is_ratio && strchr(text, '/') != NULL
                 ? parse_ratio(text, value_p, where, err)
                 : parse_quantity(unit, text, value_p, where, err);
    return status == CS_OK && !cs_field_takes(row, *value_p) ? outside(row, text, where, err)
                                                             : status;
}

cs_status cs_field_parse(const cs_field *row, const char *text, double *value_p, const char *where,
                         cs_error *err)
{
    switch (row->type) {
    case CS_FIELD_BOOL: return parse_bool(text, value_p, where, err);
    case CS_FIELD_CHOICE: return parse_choice(row, text, value_p, where, err);
    case CS_FIELD_U32:
    case CS_FIELD_U64:
    case CS_FIELD_F64: return parse_number(row, text, value_p, where, err);
    case CS_FIELD_TEXT:
    case CS_FIELD_CHARS:
    case CS_FIELD_FILE:
    case CS_FIELD_OBJECT:
    case CS_FIELD_LIST:
    case CS_FIELD_KIND:
    case CS_FIELD_EITHER:
    case CS_FIELD_PLUG_IN:
    case CS_FIELD_ANY: break;
    }
    return CS_FAIL(err, CS_EINTERNAL, where, "the field is no number, truth value or choice");
}

const cs_field *cs_field_find(const cs_field *table, const char *name)
{
    for (const cs_field *row = table; row != NULL && row->name != NULL; row++) {
        if (strcmp(row->name, name) == 0) {
            return row;
        }
    }
    return NULL;
}

cs_named cs_field_names(const cs_field *table, const char *what)
{
    size_t n = 0;

    while (table != NULL && table[n].name != NULL) {
        n++;
    }
    return (cs_named){.things  = table,
                      .n       = n,
                      .stride  = sizeof *table,
                      .name    = offsetof(cs_field, name),
                      .aliases = CS_NO_ALIASES,
                      .status  = CS_EINVAL,
                      .what    = what};
}

cs_status cs_field_set(const cs_field *table, void *object, const char *name, const char *value,
                       const char *where, cs_error *err)
{
    const cs_named names  = cs_field_names(table, "unknown option");
    size_t         index  = 0;
    double         number = 0;

    CS_TRY(cs_find_named(&names, name, &index, where, err));
    CS_TRY(cs_field_parse(&table[index], value, &number, where, err));
    cs_field_store(&table[index], object, number);
    return CS_OK;
}

bool cs_field_text(const cs_field *row, const void *object, char *text, size_t text_bytes)
{
    double value = cs_field_load(row, object);

    if (row->type == CS_FIELD_CHARS) {
        const char *chars = (const char *)object + row->offset;
        (void)snprintf(text, text_bytes, "%s", chars[0] != '\0' ? chars : "null");
        return chars[0] == '\0';
    }
    if (row->type == CS_FIELD_BOOL) {
        (void)snprintf(text, text_bytes, "%s", value > 0 ? "true" : "false");
        return true;
    }
    if (row->type == CS_FIELD_CHOICE) {
        (void)cs_field_choice(row, (size_t)value, text, text_bytes);
        return false;
    }
    if (row->has_auto && value >= (double)CS_AUTO) {
        (void)snprintf(text, text_bytes, "auto");
        return false;
    }
    if (is_whole(row)) {
        (void)snprintf(text, text_bytes, "%.0f", value);
    } else {
        cs_number_text(value, text, text_bytes);
    }
    return true;
}
