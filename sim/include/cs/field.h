/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cs/field.h -- tables of fields: one row per named and typed field of a plain struct.
 *
 * A row says everything about a field: its name (the key), type, unit, place in the struct,
 * default, range and one line of help. Options of algorithms and models, the keys of
 * configurations, calibrations and schedules are all such tables. Readers (command line, JSON),
 * writers (results, manual page, `list`, JSON Schema) and tests use the same rows, so that they
 * cannot disagree.
 *
 * Quantities are numbers in SI units, or texts with a unit (cs/units.h: "3us", "4K", "200Gb/s").
 * Options' names end in the unit: _s, _bytes, _Bps; where a row names no unit, that is it.
 */
#ifndef CS_FIELD_H
#define CS_FIELD_H

#include "cs/named.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

CS_BEGIN_C

/* The value of a uint32_t that was given as "auto": the algorithm's check() replaces it by the
 * value that is used. */
#define CS_AUTO UINT32_MAX

/* The place of a field that is checked, but stored nowhere. */
#define CS_NOWHERE SIZE_MAX

/* What a field is, in C and in JSON. */
typedef enum cs_field_type {
    CS_FIELD_BOOL,   /* bool */
    CS_FIELD_U32,    /* uint32_t; "auto" is CS_AUTO where the row allows it */
    CS_FIELD_U64,    /* uint64_t, at most 2^53 */
    CS_FIELD_F64,    /* double */
    CS_FIELD_CHOICE, /* int or enum: index into `choices` or `names` */
    CS_FIELD_TEXT,   /* const char *, whose memory is the reading's */
    CS_FIELD_CHARS,  /* char[bytes] */
    CS_FIELD_FILE, /* const char *: a file, or several with commas between them, beside the file in
                     which they are named */
    CS_FIELD_OBJECT, /* a struct with the rows `fields`, whose places count from `offset` */
    CS_FIELD_LIST,   /* pointer to `bytes` for each element, their number (size_t) `beside` it; the
                       rows `fields` are one, the element's; `min` to `max` elements (0: any) */
    CS_FIELD_KIND, /* an object of one of several kinds: `fields` has an OBJECT for each, `selector`
                     is the key that names it; `offset`: int or enum, the kind's index */
    CS_FIELD_EITHER,  /* any of `fields`, told apart by what JSON has there */
    CS_FIELD_PLUG_IN, /* pointer to an algorithm or model, its cs_options `beside` it; in JSON its
                        name, or {"name": .., "options": {..}} */
    CS_FIELD_ANY,     /* anything: the row's reader knows */
} cs_field_type;

typedef enum cs_unit { CS_UNIT_NONE, CS_UNIT_TIME, CS_UNIT_RATE, CS_UNIT_SIZE } cs_unit;

/* What a number without a unit is hardly meant for: seconds from 10 ms on where latencies stand,
 * B/s below 1 MB/s. */
typedef struct cs_plain {
    double      least, most; /* [least, most) is plausible */
    const char *instead;     /* how to write what was rather meant; '#' is the number */
} cs_plain;
extern CS_API const cs_plain cs_plain_latency;
extern CS_API const cs_plain cs_plain_delay;
extern CS_API const cs_plain cs_plain_rate;

/* For rows that are read in their own way, or whose values depend on each other (input/reader.h).
 * `object` is the struct that the row's places count from. */
struct cs_reading;
struct cs_place;
struct cs_field;
typedef void cs_field_read(struct cs_reading *r, const struct cs_place *place,
                           const struct cs_field *row, void *object);
typedef void cs_fields_check(struct cs_reading *r, const struct cs_place *place, void *object);

typedef struct cs_field {
    const char   *name; /* key */
    cs_field_type type;
    cs_unit       unit;   /* NONE: that of the name's end */
    size_t        offset; /* in the struct, or CS_NOWHERE */
    size_t        beside; /* LIST, PLUG_IN: place of what belongs to it */
    size_t        bytes;  /* CHARS, LIST */
    double fallback; /* value when the key is absent (CS_AUTO: "auto"); NAN, or out of the range: it
                        depends on others */
    double                 min, max; /* inclusive, but `min` where it is_above */
    bool                   is_above;
    bool                   has_auto; /* "auto" is accepted */
    bool                   has_null; /* null is accepted: the default */
    bool                   is_ratio; /* an option may give it as a fraction: 8/7 */
    bool                   is_required;
    bool                   is_rank;  /* below the number of ranks */
    const char            *choices;  /* CHOICE: "a|b|c", or .. */
    const cs_named        *names;    /* .. the names of things; also of TEXT and PLUG_IN */
    const char            *selector; /* KIND */
    const struct cs_field *fields;   /* rows of OBJECT, LIST, KIND, EITHER; end with CS_FIELD_END */
    const cs_plain        *plain;    /* NULL: that of the unit */
    const char            *help;     /* one line */
    cs_field_read         *read; /* instead of what the type says; called where the key is absent,
                                    too. NULL: none */
    cs_fields_check *check;      /* of an OBJECT, once all its rows are read. NULL: none */
} cs_field;

/* The C type of the field picks the row's type: they cannot disagree. */
/* clang-format off */
#define CS_FIELD_TYPE(struct_type, field)       \
    _Generic(((struct_type *)0)->field,         \
        bool: CS_FIELD_BOOL,                     \
        uint32_t: CS_FIELD_U32,                  \
        uint64_t: CS_FIELD_U64,                  \
        double: CS_FIELD_F64,                    \
        int: CS_FIELD_CHOICE,                    \
        char *: CS_FIELD_CHARS,                  \
        const char *: CS_FIELD_TEXT)
/* clang-format on */

/* A key; the rest of the row follows: CS_KEY(cs_cluster, n_ranks, "ranks", .fallback = 8, ..). */
#define CS_KEY(struct_type, field, key_, ...)                                               \
    {                                                                                       \
        .name = (key_), .type = CS_FIELD_TYPE(struct_type, field),                          \
        .offset = offsetof(struct_type, field), .bytes = sizeof(((struct_type *)0)->field), \
        __VA_ARGS__                                                                         \
    }
/* The same for a key whose C type does not say what it is: enums, structs, lists, files. */
#define CS_KEY_OF(type_, struct_type, field, key_, ...)                                      \
    {                                                                                        \
        .name = (key_), .type = (type_), .offset = offsetof(struct_type, field), __VA_ARGS__ \
    }
/* A list of `item` elements. */
#define CS_KEY_LIST(struct_type, field, count, key_, item_, ...)                            \
    {                                                                                       \
        .name = (key_), .type = CS_FIELD_LIST, .offset = offsetof(struct_type, field),      \
        .beside = offsetof(struct_type, count), .bytes = sizeof *((struct_type *)0)->field, \
        .fields = (item_), __VA_ARGS__                                                      \
    }

/* An option, which is called as its field. */
#define CS_OPTION_ROW(struct_type, field, fallback_, min_, max_, auto_, choices_, help_) \
    {                                                                                    \
        .name = #field, .type = CS_FIELD_TYPE(struct_type, field),                       \
        .offset = offsetof(struct_type, field), .fallback = (fallback_), .min = (min_),  \
        .max = (max_), .has_auto = (auto_), .choices = (choices_), .help = (help_)       \
    }
#define CS_OPTION(struct_type, field, fallback_, min_, max_, help_) \
    CS_OPTION_ROW(struct_type, field, fallback_, min_, max_, false, NULL, help_)
/* A uint32_t that may be "auto", which is also its default. */
#define CS_OPTION_AUTO(struct_type, field, min_, max_, help_) \
    CS_OPTION_ROW(struct_type, field, (double)CS_AUTO, min_, max_, true, NULL, help_)
/* One of the names in "a|b|c"; the default is the first one. */
#define CS_OPTION_CHOICE(struct_type, field, choices_, help_) \
    CS_OPTION_ROW(struct_type, field, 0, 0, 64, false, choices_, help_)
/* A text; none is null. The field is as long as CS_OPTION_TEXT_BYTES at most. */
#define CS_OPTION_TEXT_BYTES 256
#define CS_OPTION_TEXT(struct_type, field, help_) \
    CS_KEY(struct_type, field, #field, .has_null = true, .help = (help_))
/* Every table ends with this row. */
#define CS_FIELD_END \
    {                \
        .name = NULL \
    }

/* The largest options struct of any plug-in, in bytes (a conformance test checks it). */
#define CS_OPTIONS_MAX_BYTES 512

/* Storage for the options of any plug-in. */
typedef union cs_options {
    max_align_t align;
    char        bytes[CS_OPTIONS_MAX_BYTES];
} cs_options;

/* The row of a name, or NULL; a NULL table has no rows. */
CS_API const cs_field *cs_field_find(const cs_field *table, const char *name);

/* The names of a table, to be found by cs_find_named(); `what` begins a refusal: "unknown key". */
CS_API cs_named cs_field_names(const cs_field *table, const char *what);

/* "integer", "number", "choice", ..: what a row is in a word. Static storage. */
CS_API const char *cs_field_type_name(const cs_field *row);

/* The unit of a row, and what its bare numbers are hardly meant for (NULL: they may be anything).
 */
CS_API cs_unit         cs_field_unit(const cs_field *row);
CS_API const cs_plain *cs_field_plain(const cs_field *row);

/* The least and the most that a row accepts, as numbers of its type. */
CS_API double cs_field_least(const cs_field *row);
CS_API double cs_field_most(const cs_field *row);

/* Is a number in the range of the row? */
CS_API bool cs_field_takes(const cs_field *row, double value);

/* Write every default of `table` (NULL: no fields) into `object`; objects within it that are read
 * in their own way are left alone. */
CS_API void cs_fields_default(const cs_field *table, void *object);

/* Set one field from text. An unknown name, a wrong type or a value outside the range is an error
 * at `where` that names what is accepted (and the nearest name). Numbers, truth values and choices
 * only. */
CS_API cs_status cs_field_set(const cs_field *table, void *object, const char *name,
                              const char *value, const char *where, cs_error *err);

/* The same in two steps: the value of a row as a number, and the number into the field, whose type
 * can hold it. */
CS_API CS_MUST_CHECK cs_status cs_field_parse(const cs_field *row, const char *text,
                                              double *value_p, const char *where, cs_error *err);
CS_API void                    cs_field_store(const cs_field *row, void *object, double value);

/* The value of a field that is a number, a truth value or a choice: whole numbers up to 2^53 are
 * exact. */
CS_API double cs_field_load(const cs_field *row, const void *object);

/* Write the value of one row as text that cs_field_set() reads back exactly, of CHARS the text.
 * Returns true when that is a JSON number, boolean or (no CHARS) null, false when it is a word. */
CS_API bool cs_field_text(const cs_field *row, const void *object, char *text, size_t text_bytes);

/* Write the default of a row as a configuration may have it: "3us", "auto", "null", "true", a
 * choice. False where there is none: the key is required, or what its absence means depends on
 * others (the row's fallback is NAN, or out of its range). */
CS_API bool cs_field_default(const cs_field *row, char *text, size_t text_bytes);

/* Write choice `index` of a row to `text`; false where there is none. */
CS_API bool cs_field_choice(const cs_field *row, size_t index, char *text, size_t text_bytes);

/* Is the text one of the "a|b|c" of a row, which need not have any? */
CS_API bool cs_field_has_choice(const cs_field *row, const char *text);

CS_END_C

#endif
