/* SPDX-License-Identifier: GPL-3.0-or-later */
/* study/config.h -- what the program asks of a configuration beside cs/config.h. */
#ifndef CS_STUDY_CONFIG_H
#define CS_STUDY_CONFIG_H

#include "base/column.h"
#include "base/text.h"
#include "cs/config.h"
#include "scenario/case.h"

/* Scenario `index` as a configuration without a sweep, to be changed further (cs_config_set).
 * Errors about its values have the place that they have in `config`, which must outlive it. The
 * caller owns it. */
CS_MUST_CHECK cs_status cs_config_at(const cs_config *config, size_t index, cs_config **point_p,
                                     cs_error *err);

/* Take from `other` every value that `config` does not have, at any depth, and every axis over
 * something of which it says nothing. Files that such a value names are looked for beside the file
 * of `config`. */
CS_MUST_CHECK cs_status cs_config_complete(cs_config *config, const cs_config *other,
                                           cs_error *err);

/* ---- for whoever answers strangers ---- */

/* Read every file that the configuration names, and none from now on: scenarios of it and of its
 * guests that name another one are refused (CS_ENOTSUP). Of a sweep of more scenarios than
 * CS_CONFIG_MANY_CASES, those that one value of an axis beside the first ones of all others
 * brings. */
enum { CS_CONFIG_MANY_CASES = 4096 };
CS_MUST_CHECK cs_status cs_config_close_files(const cs_config *config, cs_error *err);

/* Read a configuration that may name files of `host` alone, whose files are closed; names of files
 * are looked for beside that of the host. It must not outlive the host. */
CS_MUST_CHECK cs_status cs_config_parse_guest(const char *json, size_t length,
                                              const cs_config *host, cs_config **config_p,
                                              cs_error *err);

/* Add the configuration as it is now, with its sweep, as JSON: with so many blanks for each depth,
 * or (0) in a line. */
CS_MUST_CHECK cs_status cs_config_json(const cs_config *config, size_t indent, cs_text *text,
                                       cs_error *err);

/* Is there an axis over that path? */
bool cs_config_has_axis(const cs_config *config, const char *path);

/* As cs_config_set(), of a value that is no JSON: whole numbers, reals, texts and truth values. */
CS_MUST_CHECK cs_status cs_config_put(cs_config *config, const char *path, const cs_value *value,
                                      const char *origin, cs_error *err);

/* Sweep over `n` such values: add an axis, or replace the one of the same path. The first axis is
 * the outermost loop. */
CS_MUST_CHECK cs_status cs_config_sweep_put(cs_config *config, const char *path,
                                            const cs_value *values, size_t n, const char *origin,
                                            cs_error *err);

/* What the value of a command-line option is, and for which key. Numbers are numbers, and texts
 * of quantities stay as they were written; the key's row (study/keys.h) says what it takes. */
typedef enum cs_setting_form {
    CS_SET_VALUE, /* the value of the key at `path` */
    CS_SET_LIST,  /* the same, or several with commas between them, which become an axis; numbers
                     may be ranges: 8..64, 8:1024:x2, 8:64:+8, 10us:20ms:x2 */
    CS_SET_FALSE, /* no value: the key is false */
    CS_SET_PARTS, /* an object that is added to a list: its keys in `parts`, with what stands
                     between them, as "rank=slowdown@from:until"; what stands behind "@" and ":" may
                     be missing, and a key before "!" is null; a number behind "=" may be a list of
                     them, too: it is an axis then, "arrivals.late[0].delay" */
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
CS_MUST_CHECK cs_status cs_config_apply(cs_config *config, const cs_setting *how, const char *text,
                                        const char *origin, cs_error *err);

/* Does the text make an axis, or may it? */
bool cs_setting_sweeps(const cs_setting *how, const char *text);

/* Build scenario number `index` < count. May be called from any number of threads as long as
 * nobody changes the configuration. The caller owns the case (cs_case_free); on failure it is
 * left alone. O(size of one scenario). */
CS_MUST_CHECK cs_status cs_config_case(const cs_config *config, size_t index, cs_case *case_p,
                                       cs_error *err);

/* The same, but an error does not say where in the file: for those who expect many, because finding
 * the place takes as long as the file. */
CS_MUST_CHECK cs_status cs_config_try_case(const cs_config *config, size_t index, cs_case *case_p,
                                           cs_error *err);

/* Can a scenario be built? CS_OK with the first that can; where none of the first 1,000 can, the
 * error of the first one, with its place. */
CS_MUST_CHECK cs_status cs_config_check(const cs_config *config, cs_error *err);

/* Is there a value at a path, from the file or set? Sweeps are not looked at. */
bool cs_config_has(const cs_config *config, const char *path);

/* For commands that time calls, each by itself: CS_EINVAL, with its place, where the configuration
 * has the key "training" or a sweep over something in it. */
CS_MUST_CHECK cs_status cs_config_refuse_training(const cs_config *config, cs_error *err);

/* A hash of everything that the cases are built from, except what calibrations say: equal for two
 * configurations that were read from the same file and set in the same way. 0: out of memory. */
uint64_t cs_config_fingerprint(const cs_config *config);

/* The scenario that `index` is compared with: it takes every axis of the algorithm, of its options
 * and of "montecarlo" at its first value, and agrees with `index` on all others. `algorithm`:
 * where the axis of the algorithms has that name instead; CS_EINVAL where no scenario has. */
CS_MUST_CHECK cs_status cs_config_baseline(const cs_config *config, size_t index,
                                           const char *algorithm, size_t *baseline_p,
                                           cs_error *err);

/* Add scenario `index` as JSON, as it was asked for and not checked. Keys as in cs_case.json. */
CS_MUST_CHECK cs_status cs_config_point(const cs_config *config, size_t index, cs_text *text,
                                        cs_error *err);

/* Say what sets scenario `index` apart from the others: "PATH=VALUE" with blanks between them, for
 * every axis of several values that counts for its algorithm and is not among `shown` (paths, ends
 * with NULL). `algorithm` and `model` are the names that its case had; NULL: it had none, and
 * every axis counts. Nothing is added where there
 * is no such axis. */
CS_MUST_CHECK cs_status cs_config_label(const cs_config *config, size_t index,
                                        const char *algorithm, const char *model,
                                        const char *const *shown, cs_text *text, cs_error *err);

/* Mark the scenarios that only repeat an earlier one in many iterations: they differ in options
 * that the algorithm lacks, or in "montecarlo" where it presumes nobody late. `repeats` has room
 * for cs_config_count(). O(scenarios), and nothing where no such axis is swept. */
CS_MUST_CHECK cs_status cs_config_repeats(const cs_config *config, bool *repeats, cs_error *err);

/* Add what was left out of each trace of arrivals that the scenarios have, and assumed, a sentence
 * a line, each once: "lost: 3 of 80 records ..". Nothing of scenarios that cannot be built. O(size
 * of the traces, where they have not been read). */
void cs_config_arrival_notes(const cs_config *config, cs_text *text);

/* Numbers without a unit that are hardly meant (cs_plain): "--alpha: 5 is read as 5 s;
 * ..". Fills as many of the `room` records as there are, each once, and returns how many there are.
 * What an axis replaces does not count. O(size of the configuration). */
size_t cs_config_notes(const cs_config *config, cs_error *notes, size_t room);

/* The columns that a sweep adds to rows which have `columns`: one for each of its axes whose key is
 * not such a column already. A column is called as the path, with the unit behind it:
 * "arrivals.late[0].delay_s". Values are in SI units; what is no such quantity, and every text, is
 * a text; objects and lists are JSON. */
typedef struct cs_sweep_columns cs_sweep_columns;
CS_MUST_CHECK cs_status cs_sweep_columns_open(const cs_config *config, const cs_column *columns,
                                              cs_sweep_columns **columns_p, cs_error *err);
/* NULL is allowed. */
void cs_sweep_columns_close(cs_sweep_columns *columns);

/* Their names; `n_p` is how many. Valid until they are closed, as are the texts of values. */
const char *const *cs_sweep_columns_names(const cs_sweep_columns *columns, size_t *n_p);

/* The values of scenario `index`, one for each column. O(axes). */
void cs_sweep_columns_row(const cs_sweep_columns *columns, size_t index, cs_value *values);

/* The value of the keys "name" and "description", or NULL. Valid until the configuration
 * changes. */
const char *cs_config_text(const cs_config *config, const char *key);

/* ---- the keys that there are ---- */

/* Add a JSON Schema (draft 7, which editors know best) of configurations: of scenarios, and of
 * what-if jobs where there is the key "job". It describes the form in which a file should be
 * written: whole names, numbers as numbers. What depends on other keys or on files, and the range
 * of a text with a unit, only the reader knows. Fails (text->failed) without memory. */
void cs_config_schema(cs_text *text);

/* Add every key: its path, type, unit, default and range, and what it is, as a table or as the
 * elements of a JSON array. Keys of one kind of object say which; what stands in several places is
 * listed once. */
void cs_config_keys(cs_text *text, bool json);

#endif
