/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Options: from table to struct, from text to struct, from struct to text.
 *
 * Fields are copied with memcpy(), so that neither their alignment nor the declared type of
 * the storage matters. What a text means follows from the row's type and the unit at the end
 * of its key.
 */
#include "cs/option.h"

#include "base/text.h"
#include "cs/named.h"
#include "cs/units.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MAX_U64 ((uint64_t)1 << 53)

enum { LIST_BYTES = 200 };

/* Store `value`, which the field's type can hold. */
static void store(const cs_option *row, void *options, double value)
{
    char    *field  = (char *)options + row->offset;
    bool     truth  = value > 0;
    int      choice = row->type == CS_OPT_CHOICE ? (int)value : 0;
    uint32_t u32    = row->type == CS_OPT_U32 ? (uint32_t)value : 0;
    uint64_t u64    = row->type == CS_OPT_U64 ? (uint64_t)value : 0;

    switch (row->type) {
    case CS_OPT_BOOL: memcpy(field, &truth, sizeof truth); break;
    case CS_OPT_U32: memcpy(field, &u32, sizeof u32); break;
    case CS_OPT_U64: memcpy(field, &u64, sizeof u64); break;
    case CS_OPT_F64: memcpy(field, &value, sizeof value); break;
    case CS_OPT_CHOICE: memcpy(field, &choice, sizeof choice); break;
    }
}

/* The value of a field; integers up to 2^53 are exact. */
static double load(const cs_option *row, const void *options)
{
    const char *field  = (const char *)options + row->offset;
    double      value  = 0;
    bool        truth  = false;
    int         choice = 0;
    uint32_t    u32    = 0;
    uint64_t    u64    = 0;

    switch (row->type) {
    case CS_OPT_BOOL: memcpy(&truth, field, sizeof truth); return truth ? 1 : 0;
    case CS_OPT_U32: memcpy(&u32, field, sizeof u32); return u32;
    case CS_OPT_U64: memcpy(&u64, field, sizeof u64); return (double)u64;
    case CS_OPT_F64: memcpy(&value, field, sizeof value); return value;
    case CS_OPT_CHOICE: memcpy(&choice, field, sizeof choice); return choice;
    }
    return value;
}

void cs_options_default(const cs_option *table, void *options)
{
    for (const cs_option *row = table; row != NULL && row->name != NULL; row++) {
        store(row, options, row->fallback);
    }
}

/* The range of a row as numbers of its type. */
static double least(const cs_option *row)
{
    return row->type == CS_OPT_F64 ? row->min : fmax(row->min, 0);
}

static double most(const cs_option *row)
{
    switch (row->type) {
    case CS_OPT_U32: return fmin(row->max, row->has_auto ? CS_AUTO - 1.0 : UINT32_MAX);
    case CS_OPT_U64: return fmin(row->max, (double)MAX_U64);
    case CS_OPT_BOOL:
    case CS_OPT_F64:
    case CS_OPT_CHOICE: break;
    }
    return row->max;
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), end_length = strlen(end);
    return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

static cs_status outside(const cs_option *row, const char *value, const char *where, cs_error *err)
{
    char min[32], max[32];

    cs_number_text(least(row), min, sizeof min);
    cs_number_text(most(row), max, sizeof max);
    return CS_FAIL(err, CS_EINVAL, where, "%.40s is outside [%s, %s]", value, min, max);
}

static cs_status parse_bool(const char *value, double *value_p, const char *where, cs_error *err)
{
    static const char *const words[] = {"false", "true", "0", "1", "off", "on"};

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(value, words[i]) == 0) {
            *value_p = (double)(i % 2);
            return CS_OK;
        }
    }
    return CS_FAIL(err, CS_EINVAL, where,
                   "'%.40s' is not a truth value: accepted are true, false, "
                   "1, 0, on, off",
                   value);
}

/* Length of the first of the "a|b|c". */
static size_t choice_length(const char *choices)
{
    return strcspn(choices, "|");
}

/* "a|b|c" as "a, b, c", cut where it does not fit. */
static void list_choices(const char *choices, char *list, size_t list_bytes)
{
    size_t length = 0;

    for (; *choices != '\0' && length + 2 < list_bytes; choices++) {
        list[length++] = (char)(*choices == '|' ? ',' : *choices);
        if (*choices == '|') {
            list[length++] = ' ';
        }
    }
    list[length] = '\0';
}

static cs_status parse_choice(const cs_option *row, const char *value, double *value_p,
                              const char *where, cs_error *err)
{
    const char *choice = row->choices;

    for (int index = 0;; index++) {
        size_t length = choice_length(choice);
        if (strlen(value) == length && memcmp(value, choice, length) == 0) {
            *value_p = index;
            return CS_OK;
        }
        if (choice[length] == '\0') {
            break;
        }
        choice += length + 1;
    }
    char list[LIST_BYTES];
    list_choices(row->choices, list, sizeof list);
    return CS_FAIL(err, CS_EINVAL, where, "'%.40s' is not a choice: accepted are %s", value, list);
}

/* Integers: with the units of sizes where the key ends in _bytes. */
static cs_status parse_whole(const cs_option *row, const char *value, double *value_p,
                             const char *where, cs_error *err)
{
    uint64_t  whole  = 0;
    uint64_t  max    = (uint64_t)most(row);
    bool      sized  = ends_with(row->name, "_bytes");
    cs_status status = sized
                           ? cs_parse_bytes(value, &whole, where, err)
                           : cs_parse_integer(value, (uint64_t)least(row), max, &whole, where, err);

    if (status == CS_OK && whole > max) {
        return outside(row, value, where, err);
    }
    *value_p = (double)whole;
    return status;
}

static cs_status parse_real(const cs_option *row, const char *value, double *value_p,
                            const char *where, cs_error *err)
{
    if (ends_with(row->name, "_bytes")) {
        uint64_t  bytes  = 0;
        cs_status status = cs_parse_bytes(value, &bytes, where, err);
        *value_p         = (double)bytes;
        return status;
    }
    if (ends_with(row->name, "_Bps")) {
        return cs_parse_rate(value, value_p, where, err);
    }
    if (ends_with(row->name, "_s")) {
        return cs_parse_time(value, value_p, where, err);
    }
    return cs_parse_number(value, value_p, where, err);
}

static cs_status parse_value(const cs_option *row, const char *value, double *value_p,
                             const char *where, cs_error *err)
{
    if (row->has_auto && strcmp(value, "auto") == 0) {
        *value_p = (double)CS_AUTO;
        return CS_OK;
    }
    if (row->has_auto && strspn(value, "-0123456789") == 0) {
        return CS_FAIL(
            err, CS_EINVAL, where,
            "'%.40s' is neither auto nor a whole number: accepted are auto, %.0f to %.0f", value,
            least(row), most(row));
    }
    cs_status status = CS_OK;
    switch (row->type) {
    case CS_OPT_BOOL: return parse_bool(value, value_p, where, err);
    case CS_OPT_CHOICE: return parse_choice(row, value, value_p, where, err);
    case CS_OPT_U32:
    case CS_OPT_U64: status = parse_whole(row, value, value_p, where, err); break;
    case CS_OPT_F64: status = parse_real(row, value, value_p, where, err); break;
    }
    if (status == CS_OK && !(*value_p >= least(row) && *value_p <= most(row))) {
        return outside(row, value, where, err);
    }
    return status;
}

cs_named cs_option_names(const cs_option *table)
{
    size_t n = 0;

    while (table != NULL && table[n].name != NULL) {
        n++;
    }
    return (cs_named){.things  = table,
                      .n       = n,
                      .stride  = sizeof *table,
                      .name    = offsetof(cs_option, name),
                      .aliases = CS_NO_ALIASES,
                      .status  = CS_EINVAL,
                      .what    = "unknown option"};
}

const cs_option *cs_option_find(const cs_option *table, const char *name)
{
    for (const cs_option *row = table; row != NULL && row->name != NULL; row++) {
        if (strcmp(row->name, name) == 0) {
            return row;
        }
    }
    return NULL;
}

cs_status cs_options_set(const cs_option *table, void *options, const char *key, const char *value,
                         const char *where, cs_error *err)
{
    const cs_named names  = cs_option_names(table);
    size_t         index  = 0;
    double         number = 0;
    cs_status      status = cs_find_named(&names, key, &index, where, err);

    if (status == CS_OK) {
        status = parse_value(&table[index], value, &number, where, err);
    }
    if (status == CS_OK) {
        store(&table[index], options, number);
    }
    return status;
}

bool cs_option_text(const cs_option *row, const void *options, char *text, size_t text_bytes)
{
    double value = load(row, options);

    if (row->type == CS_OPT_BOOL) {
        (void)snprintf(text, text_bytes, "%s", value > 0 ? "true" : "false");
        return true;
    }
    if (row->type == CS_OPT_CHOICE) {
        const char *choice = row->choices;
        for (int index = 0; index < (int)value && choice[choice_length(choice)] == '|'; index++) {
            choice += choice_length(choice) + 1;
        }
        (void)snprintf(text, text_bytes, "%.*s", (int)choice_length(choice), choice);
        return false;
    }
    if (row->has_auto && value >= (double)CS_AUTO) {
        (void)snprintf(text, text_bytes, "auto");
        return false;
    }
    cs_number_text(value, text, text_bytes);
    return true;
}
