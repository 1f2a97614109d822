/* SPDX-License-Identifier: GPL-3.0-or-later */
/* config/config.h -- a configuration: one scenario, or the cartesian product of a sweep.
 *
 * A configuration is a JSON file (its keys are in the manual), changed by command-line options,
 * each of which sets one path of it. Nothing is checked before a case is built, except that the
 * file is JSON and that its sweep is one. Errors about a value from the file carry its line and
 * column; errors about a value that was set carry the name of the option instead. Where a sweep
 * or an option names another algorithm (or model) than the file does, the file's options that
 * only others have are left out.
 */
#ifndef CS_CONFIG_CONFIG_H
#define CS_CONFIG_CONFIG_H

#include "base/text.h"
#include "base/value.h"
#include "config/case.h"

typedef struct cs_config cs_config;

enum { CS_CONFIG_MAX_BYTES = 64 << 20, CS_CONFIG_MAX_CASES = 10 * 1000 * 1000 };

/* The empty configuration: every default. */
CS_API CS_MUST_CHECK cs_status cs_config_new(cs_config **config_p, cs_error *err);

/* Read a file. A file that cannot be read is CS_EIO; anything else that is wrong is CS_EPARSE or
 * CS_EINVAL with line and column. */
CS_API CS_MUST_CHECK cs_status cs_config_load(const char *path, cs_config **config_p,
                                              cs_error *err);

/* NULL is allowed. */
CS_API void cs_config_free(cs_config *config);

/* Set the value at a path ("cluster.nic.bandwidth", "faults[0].slowdown", "algorithm.name"); a
 * path that ends in "[]" appends to an array. `json` may be any JSON value; a text that is not
 * JSON is taken as a JSON string (450GB/s needs no quotes). A sweep over the same path ends.
 * The path "sweep.PATH" adds an axis. `origin` is how errors call the value: the option's name,
 * or "--set", to which the path is added; it is copied. */
CS_API CS_MUST_CHECK cs_status cs_config_set(cs_config *config, const char *path, const char *json,
                                             const char *origin, cs_error *err);

/* The same for a value that is no JSON: whole numbers, reals, texts and truth values. */
CS_API CS_MUST_CHECK cs_status cs_config_put(cs_config *config, const char *path,
                                             const cs_value *value, const char *origin,
                                             cs_error *err);

/* Sweep over `n` such values: add an axis, or replace the one of the same path. The first axis is
 * the outermost loop. */
CS_API CS_MUST_CHECK cs_status cs_config_sweep_put(cs_config *config, const char *path,
                                                   const cs_value *values, size_t n,
                                                   const char *origin, cs_error *err);

/* What the value of a command-line option is, and for which key. Numbers are numbers, and texts
 * of quantities stay as they were written; the key's row (config/keys.h) says what it takes. */
typedef enum cs_setting_form {
    CS_SET_VALUE, /* the value of the key at `path` */
    CS_SET_LIST,  /* the same, or several with commas between them, which become an axis */
    CS_SET_FALSE, /* no value: the key is false */
    CS_SET_PARTS, /* an object that is added to a list: its keys in `parts`, with what stands
                     between them, as "rank=slowdown@from:until"; those behind the second may be
                     missing */
    CS_SET_BELOW, /* KEY=VALUE, any JSON: of a key in the object at `path`; "": PATH=VALUE */
    CS_SET_NAME,  /* a name; where keys stand in the object at `path` that name nothing, as
                     "cluster.topology.servers" from an option before, they stay beside it */
} cs_setting_form;

typedef struct cs_setting {
    const char     *path; /* NULL: the option sets no key */
    cs_setting_form form;
    const char     *parts;
    const char     *words; /* how messages write the value's form: "RANK=TIME" */
} cs_setting;

/* Set a key from the text of an option, which is called `origin`; `text` is NULL where there is
 * none. */
CS_API CS_MUST_CHECK cs_status cs_config_apply(cs_config *config, const cs_setting *how,
                                               const char *text, const char *origin, cs_error *err);

/* How many scenarios: 1 without a sweep. */
CS_API size_t cs_config_count(const cs_config *config);

/* Build scenario number `index` < count. May be called from any number of threads as long as
 * nobody changes the configuration. The caller owns the case (cs_case_free); on failure it is
 * left alone. O(size of one scenario). */
CS_API CS_MUST_CHECK cs_status cs_config_case(const cs_config *config, size_t index,
                                              cs_case *case_p, cs_error *err);

/* The same, but an error does not say where in the file: for those who expect many, because finding
 * the place takes as long as the file. */
CS_API CS_MUST_CHECK cs_status cs_config_try_case(const cs_config *config, size_t index,
                                                  cs_case *case_p, cs_error *err);

/* Is there a value at a path, from the file or set? Sweeps are not looked at. */
CS_API bool cs_config_has(const cs_config *config, const char *path);

/* For commands that time calls, each by itself: CS_EINVAL, with its place, where the configuration
 * has the key "training" or a sweep over something in it. */
CS_API CS_MUST_CHECK cs_status cs_config_refuse_training(const cs_config *config, cs_error *err);

/* A hash of everything that the cases are built from, except what calibrations say: equal for two
 * configurations that were read from the same file and set in the same way. 0: out of memory. */
CS_API uint64_t cs_config_fingerprint(const cs_config *config);

/* The scenario that `index` is compared with: it takes every axis of the algorithm, of its options
 * and of "montecarlo" at its first value, and agrees with `index` on all others. `algorithm`:
 * where the axis of the algorithms has that name instead; CS_EINVAL where no scenario has. */
CS_API CS_MUST_CHECK cs_status cs_config_baseline(const cs_config *config, size_t index,
                                                  const char *algorithm, size_t *baseline_p,
                                                  cs_error *err);

/* Add scenario `index` as JSON, as it was asked for and not checked. Keys as in cs_case.json. */
CS_API CS_MUST_CHECK cs_status cs_config_point(const cs_config *config, size_t index, cs_text *text,
                                               cs_error *err);

/* Say what sets scenario `index` apart from the others: "PATH=VALUE" with blanks between them, for
 * every axis of several values that counts for its algorithm and is not among `shown` (paths, ends
 * with NULL). `algorithm` and `model` are the names that its case had; NULL: it had none, and
 * every axis counts. Nothing is added where there
 * is no such axis. */
CS_API CS_MUST_CHECK cs_status cs_config_settings(const cs_config *config, size_t index,
                                                  const char *algorithm, const char *model,
                                                  const char *const *shown, cs_text *text,
                                                  cs_error *err);

/* Mark the scenarios that only repeat an earlier one in many iterations: they differ in options
 * that the algorithm lacks, or in "montecarlo" where it presumes nobody late. `repeats` has room
 * for cs_config_count(). O(scenarios), and nothing where no such axis is swept. */
CS_API CS_MUST_CHECK cs_status cs_config_repeats(const cs_config *config, bool *repeats,
                                                 cs_error *err);

/* Numbers without a unit that are hardly meant (cs_plain): "--alpha: 5 is read as 5 s;
 * ..". Fills as many of the `room` records as there are, each once, and returns how many there are.
 * What an axis replaces does not count. O(size of the configuration). */
CS_API size_t cs_config_notes(const cs_config *config, cs_error *notes, size_t room);

/* The columns that a sweep adds to a table of results: one for each of its axes whose key is not a
 * column of results already. A column is called as the path, with the unit behind it:
 * "arrivals.late[0].delay_s". Values are in SI units; what is no such quantity, and every text, is
 * a text; objects and lists are JSON. */
typedef struct cs_sweep_columns cs_sweep_columns;
CS_API CS_MUST_CHECK cs_status  cs_sweep_columns_open(const cs_config   *config,
                                                      cs_sweep_columns **columns_p, cs_error *err);
/* NULL is allowed. */
CS_API void cs_sweep_columns_close(cs_sweep_columns *columns);

/* Their names; `n_p` is how many. Valid until they are closed, as are the texts of values. */
CS_API const char *const *cs_sweep_columns_names(const cs_sweep_columns *columns, size_t *n_p);

/* The values of scenario `index`, one for each column. O(axes). */
CS_API void cs_sweep_columns_row(const cs_sweep_columns *columns, size_t index, cs_value *values);

/* The value of the keys "name" and "description", or NULL. Valid until the configuration
 * changes. */
CS_API const char *cs_config_text(const cs_config *config, const char *key);

#endif
