/* SPDX-License-Identifier: GPL-3.0-or-later */
/* report/data.h -- results as columns, for whoever draws them: read from a database of `sweep`,
 * from CSV or JSON that `run` and others print, or run here.
 */
#ifndef CS_REPORT_DATA_H
#define CS_REPORT_DATA_H

#include "base/arena.h"
#include "base/listener.h"
#include "study/all.h"

/* A column has numbers, or words. */
typedef struct cs_data_column {
    const char  *name;
    const char  *title; /* in words: "GPUs", "size", "delay of the late GPU", "uplink bandwidth" */
    bool         has_words;
    double      *values; /* [n_rows]; NAN: nothing there. With words: their places in `words` */
    const char **words;  /* [n_words], each once, in the order of their first rows */
    size_t       n_words, word_room;
    size_t      *places; /* a hash table of words, with room for [place_room]; 0: free */
    size_t       place_room;
} cs_data_column;

/* `{0}` may be freed. */
typedef struct cs_data {
    const char *name;          /* of the file, or "" */
    bool        has_scenarios; /* set before it is filled: keep the column `scenario`, what a
                                  row is in JSON */
    size_t          n_rows, n_columns, row_room, column_room;
    cs_data_column *columns;
    double         *scratch; /* [row_room] for cs_data_values(): one thread looks at the data */
    cs_arena        arena;   /* names and words */
} cs_data;

enum { CS_DATA_MOST_COLUMNS = 256 };

/* What a file is: by its first bytes, not its name. */
typedef enum cs_data_kind {
    CS_DATA_CONFIG, /* a JSON object: to be run */
    CS_DATA_ROWS,   /* results */
} cs_data_kind;
CS_MUST_CHECK cs_status cs_data_kind_of(const char *path, cs_data_kind *kind_p, cs_error *err);

/* Read results: a database of `sweep`, a JSON array of objects, or a CSV whose first line names its
 * columns. CS_EINVAL (a database of something else) and CS_EPARSE say what is accepted; at least
 * one row is there. O(cells). */
CS_MUST_CHECK cs_status cs_data_read(const char *path, cs_data *data, cs_error *err);

/* Take rows from an array of objects in memory. */
CS_MUST_CHECK cs_status cs_data_take(cs_data *data, const char *json, size_t length, cs_error *err);

/* Run all scenarios of a configuration on `jobs` threads. Those that are refused have an `error`.
 * cs_data_run_told() says to the listener how many are done.
 */
CS_MUST_CHECK cs_status cs_data_run(const cs_config *config, unsigned jobs, cs_data *data,
                                    cs_error *err);
CS_MUST_CHECK cs_status cs_data_run_told(const cs_config *config, unsigned jobs,
                                         const cs_listener *listener, cs_data *data, cs_error *err);

/* A column by its name; NULL: there is none. O(columns). */
const cs_data_column *cs_data_find(const cs_data *data, const char *name);

/* The same, and by the last key of its path alone, without the unit, where only one column has it:
 * "delay" for "arrivals.late[0].delay_s". CS_EINVAL with all names where there is none; `option` is
 * who asks. */
CS_MUST_CHECK cs_status cs_data_column_of(const cs_data *data, const char *name, const char *option,
                                          const cs_data_column **column_p, cs_error *err);

/* The different values that are there, in ascending order (of words: in the order of their first
 * rows), at most `most` of them into `values`, which may be NULL; returns how many there are. */
size_t cs_data_values(const cs_data *data, const cs_data_column *column, double *values,
                      size_t most);

/* The word of a row; NULL: nothing there. */
const char *cs_data_word(const cs_data_column *column, size_t row);

/* Keep only the rows whose column has that value: NAME=VALUE, a number with its unit by the name's
 * end (_s, bytes), or a word. CS_EINVAL where none is left. */
CS_MUST_CHECK cs_status cs_data_keep(cs_data *data, const char *condition, const char *option,
                                     cs_error *err);

/* The value that a text means in a column of numbers: a number with its unit by the name's end (_s,
 * bytes). */
CS_MUST_CHECK cs_status cs_data_parse(const char *name, const char *text, const char *option,
                                      double *value_p, cs_error *err);

/* Is a column what a run was given, and not what came out of it? Options, which follow from the
 * other columns where they were not swept, and scenarios are neither. */
bool cs_data_is_input(const char *name);

void cs_data_free(cs_data *data);

#endif
