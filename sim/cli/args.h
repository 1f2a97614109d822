/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli/args.h -- the options of a command, from tables that are also its help: a row says what an
 * option is called, and where its value goes: into a field of a struct, or to a key of the
 * configuration.
 */
#ifndef CS_CLI_ARGS_H
#define CS_CLI_ARGS_H

#include "base/text.h"
#include "cs/field.h"
#include "study/config.h"

/* One option, or (is_operand) what stands without one. Tables end with a row without a name. */
typedef struct cs_arg {
    char        letter; /* -x, or 0 */
    const char *name;   /* --name; of an operand: what it is called in messages */
    const char *value;  /* what the help calls its value, or NULL: it has none */
    const char *help;
    cs_field    field; /* in the table's struct; without a name: none */
    cs_setting  sets;  /* key of the configuration, which is set later; without a path: none */
    bool        marks; /* the bool at `mark` of the struct becomes true, too */
    size_t      mark;
    bool        is_operand, is_help;
} cs_arg;

/* Is the row an option, and no operand and no heading? */
bool cs_arg_is_option(const cs_arg *arg);

/* A table, and the structs in a command's job that its rows are about. */
typedef struct cs_arg_table {
    const cs_arg *args;
    size_t        object; /* of the fields */
    size_t        config; /* cs_config_choice of the keys; CS_NOWHERE: there are none */
    size_t        last;   /* const char *, the last option of the table as written; or CS_NOWHERE */
} cs_arg_table;

/* Rows. Texts are borrowed from the command line. */
#define CS_ARG_TEXT(type_, field_, letter_, name_, value_, help_)                            \
    {                                                                                        \
        .letter = (letter_), .name = (name_), .value = (value_), .help = (help_), .field = { \
            .name   = (name_),                                                               \
            .type   = CS_FIELD_TEXT,                                                         \
            .offset = offsetof(type_, field_)                                                \
        }                                                                                    \
    }
#define CS_ARG_FLAG(type_, field_, letter_, name_, help_)                 \
    {                                                                     \
        .letter = (letter_), .name = (name_), .help = (help_), .field = { \
            .name   = (name_),                                            \
            .type   = CS_FIELD_BOOL,                                      \
            .offset = offsetof(type_, field_)                             \
        }                                                                 \
    }
/* A number; what else the field is follows: .min, .max, .unit. */
#define CS_ARG_NUMBER(type_, field_, letter_, name_, value_, help_, ...)                     \
    {                                                                                        \
        .letter = (letter_), .name = (name_), .value = (value_), .help = (help_), .field = { \
            .name   = (name_),                                                               \
            .type   = CS_FIELD_TYPE(type_, field_),                                          \
            .offset = offsetof(type_, field_),                                               \
            __VA_ARGS__                                                                      \
        }                                                                                    \
    }
/* One of "a|b|c", of an int or enum. */
#define CS_ARG_CHOICE(type_, field_, letter_, name_, choices_, help_)                          \
    {                                                                                          \
        .letter = (letter_), .name = (name_), .value = (choices_), .help = (help_), .field = { \
            .name    = (name_),                                                                \
            .type    = CS_FIELD_CHOICE,                                                        \
            .offset  = offsetof(type_, field_),                                                \
            .choices = (choices_)                                                              \
        }                                                                                      \
    }

/* How results are printed, one line per format: its enum and its word. A command with a row
 * CS_ARG_FORMAT has all of them, others the first two. */
#define CS_RESULT_FORMATS(X) \
    X(TABLE, "table")        \
    X(JSON, "json")          \
    X(CSV, "csv")

typedef enum cs_result_format {
#define X(id, word) CS_AS_##id,
    CS_RESULT_FORMATS(X)
#undef X
} cs_result_format;

#define CS_FORMAT_WORD(id, word) "|" word
#define CS_RESULT_FORMAT_WORDS   (&(CS_RESULT_FORMATS(CS_FORMAT_WORD))[1])
#define CS_ARG_FORMAT(type_, field_, help_) \
    CS_ARG_CHOICE(type_, field_, 0, "format", CS_RESULT_FORMAT_WORDS, help_)

/* A key of the configuration. */
#define CS_ARG_KEY(letter_, name_, value_, path_, form_, parts_, help_)                     \
    {                                                                                       \
        .letter = (letter_), .name = (name_), .value = (value_), .help = (help_), .sets = { \
            .path  = (path_),                                                               \
            .form  = (form_),                                                               \
            .parts = (parts_),                                                              \
            .words = (value_)                                                               \
        }                                                                                   \
    }
/* Operands: one text, or as many as the array has room for. */
#define CS_ARG_OPERAND(type_, field_, name_)            \
    {                                                   \
        .name = (name_), .is_operand = true, .field = { \
            .name   = (name_),                          \
            .type   = CS_FIELD_TEXT,                    \
            .offset = offsetof(type_, field_)           \
        }                                               \
    }
#define CS_ARG_LIST_FIELD(type_, array_, n_, name_)                                \
    {                                                                              \
        .name = (name_), .type = CS_FIELD_LIST, .offset = offsetof(type_, array_), \
        .beside = offsetof(type_, n_),                                             \
        .max    = (size_t)(sizeof((type_ *)0)->array_ / sizeof(const char *))      \
    }
#define CS_ARG_OPERANDS(type_, array_, n_, name_)                                                 \
    {                                                                                             \
        .name = (name_), .is_operand = true, .field = CS_ARG_LIST_FIELD(type_, array_, n_, name_) \
    }
/* A heading of the help, no option: what the rows up to the next one are about. */
#define CS_ARG_GROUP(words_)         \
    {                                \
        .name = "", .help = (words_) \
    }
#define CS_ARG_HELP_ROW                                                          \
    {                                                                            \
        .letter = 'h', .name = "help", .help = "show this help", .is_help = true \
    }
#define CS_ARG_LAST_ROW \
    {                   \
        .name = NULL    \
    }

enum { CS_ARGS_MAX_TABLES = 4 };

typedef enum cs_args_found {
    CS_ARGS_END,
    CS_ARGS_OPTION,
    CS_ARGS_OPERAND,
    CS_ARGS_ERROR
} cs_args_found;

typedef struct cs_args {
    const cs_arg_table *tables; /* ended by one without rows */
    int                 count;  /* as main()'s argc and argv, from the first argument on */
    char *const        *words;
    int                 at;
    bool                only_operands; /* -- was seen */
    const cs_arg       *arg;           /* the last option's row ... */
    const cs_arg_table *table;         /* ... and its table */
    const char         *value;         /* of the last option, or the operand */
    const char         *option;        /* the last option as it was written */
    char                name[32];      /* its canonical name, "--ranks" */
    const char         *rest;          /* letters that follow in one word */
} cs_args;

/* The next option or operand, or, with `err` filled, CS_ARGS_ERROR. */
cs_args_found cs_args_next(cs_args *args, cs_error *err);

/* Put the value of an option or operand where its row says: `job` has the structs of the tables. */
CS_MUST_CHECK cs_status cs_args_take(const cs_args *args, void *job, cs_error *err);

/* The next element of a list with commas; `*at_p` is left at the comma behind it, or at the end.
 * False: it is empty, or has no room. */
enum { CS_WORD_BYTES = 32 };
bool cs_args_word(const char **at_p, char word[CS_WORD_BYTES]);

/* Add the help of one table, with its headings. */
void cs_args_help(cs_text *text, const cs_arg *table);

#endif
