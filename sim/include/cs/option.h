/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cs/option.h -- tables of options: one row per field of a plain struct.
 *
 * A table says everything about an option: its key, type, place in the struct, default,
 * range and one line of help. Readers (command line, config), writers (results, man page,
 * `list`) and tests all use the table, so they cannot disagree.
 *
 * Keys of quantities end in their unit: _s, _bytes, _Bps. Text values of such keys accept
 * the units of cs/units.h ("3us", "4K", "200Gb/s").
 */
#ifndef CS_OPTION_H
#define CS_OPTION_H

#include "cs/named.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

CS_BEGIN_C

/* The value of a uint32_t option that was given as "auto": the algorithm's check()
 * replaces it by the value that is used. */
#define CS_AUTO UINT32_MAX

typedef enum cs_option_type {
    CS_OPT_BOOL,   /* bool */
    CS_OPT_U32,    /* uint32_t; "auto" is CS_AUTO where the row allows it */
    CS_OPT_U64,    /* uint64_t, at most 2^53 */
    CS_OPT_F64,    /* double */
    CS_OPT_CHOICE, /* int: index into `choices` */
} cs_option_type;

typedef struct cs_option {
    const char    *name; /* key */
    cs_option_type type;
    size_t         offset;   /* in the options struct */
    double         fallback; /* value when the key is absent (CS_AUTO: "auto") */
    double         min, max; /* inclusive */
    bool           has_auto; /* "auto" is accepted */
    const char    *choices;  /* CS_OPT_CHOICE: "a|b|c"; otherwise NULL */
    const char    *help;     /* one line */
} cs_option;

/* The C type of the field picks the option type: they cannot disagree. */
/* clang-format off */
#define CS_OPTION_TYPE(struct_type, field)      \
    _Generic(((struct_type *)0)->field,         \
        bool: CS_OPT_BOOL,                      \
        uint32_t: CS_OPT_U32,                   \
        uint64_t: CS_OPT_U64,                   \
        double: CS_OPT_F64,                     \
        int: CS_OPT_CHOICE)
/* clang-format on */
#define CS_OPTION_ROW(struct_type, field, fallback_, min_, max_, auto_, choices_, help_) \
    {                                                                                    \
        .name = #field, .type = CS_OPTION_TYPE(struct_type, field),                      \
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
/* Every table ends with this row. */
#define CS_OPTION_END \
    {                 \
        .name = NULL  \
    }

/* The largest options struct of any plug-in, in bytes (a conformance test checks it). */
#define CS_OPTIONS_MAX_BYTES 256

/* Storage for the options of any plug-in. */
typedef union cs_options {
    max_align_t align;
    char        bytes[CS_OPTIONS_MAX_BYTES];
} cs_options;

/* The row of a name, or NULL; a NULL table has no rows. */
CS_API const cs_option *cs_option_find(const cs_option *table, const char *name);

/* The keys of a table, to be found by name. */
CS_API cs_named cs_option_names(const cs_option *table);

/* Write every default of `table` (NULL: no options) into `options`. */
CS_API void cs_options_default(const cs_option *table, void *options);

/* Set one option from text. An unknown key, a wrong type or a value outside the range is
 * an error at `where` that names what is accepted (and the nearest key). */
CS_API cs_status cs_options_set(const cs_option *table, void *options, const char *key,
                                const char *value, const char *where, cs_error *err);

/* Write the value of one row as text that cs_options_set() reads back exactly.
 * Returns true when the text is a JSON number or boolean, false when it is a word. */
CS_API bool cs_option_text(const cs_option *row, const void *options, char *text,
                           size_t text_bytes);

CS_END_C

#endif
