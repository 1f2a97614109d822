/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cs/config.h -- a configuration: what to run, as the program's JSON files say it.
 *
 *   cs_config *config = NULL;
 *   char      *json   = NULL;
 *   cs_status  status = cs_config_load("late-rank.json", &config, &err);
 *   status = status == CS_OK ? cs_config_set(config, "cluster.ranks", "16", "", &err) : status;
 *   status = status == CS_OK ? cs_config_run(config, 1, &json, &err) : status;
 *   cs_string_free(json);
 *   cs_config_free(config);
 *
 * A configuration is one scenario, or the cartesian product of a sweep. Its keys are in the manual
 * page. Nothing is checked before a scenario is built, except that the text is JSON and that its
 * sweep is one. Errors about a value of the text carry its line and column; errors about a value
 * that was set carry its origin instead. Where a sweep or a set value names another algorithm (or
 * model) than the text does, the text's options that only others have are left out.
 *
 * Any number of threads may use a configuration that nobody changes meanwhile.
 */
#ifndef CS_CONFIG_H
#define CS_CONFIG_H

#include "cs/job.h"

CS_BEGIN_C

typedef struct cs_config cs_config;

enum { CS_CONFIG_MAX_BYTES = 64 << 20, CS_CONFIG_MAX_CASES = 10 * 1000 * 1000 };

/* The empty configuration: every default. The caller owns it, as those that follow
 * (cs_config_free). */
CS_API CS_MUST_CHECK cs_status cs_config_new(cs_config **config_p, cs_error *err);

/* Read a file. A file that cannot be read is CS_EIO; anything else that is wrong is CS_EPARSE or
 * CS_EINVAL with line and column. */
CS_API CS_MUST_CHECK cs_status cs_config_load(const char *path, cs_config **config_p,
                                              cs_error *err);

/* Read `length` bytes of JSON. `name` is how errors call them; files that the configuration names
 * are looked for beside it, as if it were a path. */
CS_API CS_MUST_CHECK cs_status cs_config_parse(const char *json, size_t length, const char *name,
                                               cs_config **config_p, cs_error *err);

/* NULL is allowed. */
CS_API void cs_config_free(cs_config *config);

/* Set the value at a path ("cluster.nic.bandwidth", "faults[0].slowdown", "algorithm.name"); a
 * path that ends in "[]" appends to an array. `json` may be any JSON value; a text that is not
 * JSON is taken as a JSON string (450GB/s needs no quotes). The algorithm "all" is a sweep over
 * every one that does the collective. A sweep over the same path ends.
 * The path "sweep.PATH" adds an axis. `origin` is how errors call the value: the option's name,
 * or "--set", to which the path is added; it is copied. */
CS_API CS_MUST_CHECK cs_status cs_config_set(cs_config *config, const char *path, const char *json,
                                             const char *origin, cs_error *err);

/* How many scenarios: 1 without a sweep. */
CS_API size_t cs_config_count(const cs_config *config);

/* ---- answers as JSON; the caller owns the text (cs_string_free) ---- */

/* Run every scenario with so many threads (0 and 1: the calling one alone): the text of
 * `collsim run --format json`, an array with an object per scenario. A scenario among several that
 * cannot be run is an object with the reason as "error"; where none can be, the first reason is the
 * error of the call; what an algorithm refuses that only "all" stands for is left out. A schedule
 * that is found wrong is not: it is not "verified". */
CS_API CS_MUST_CHECK cs_status cs_config_run(const cs_config *config, unsigned jobs, char **json_p,
                                             cs_error *err);

/* Every lower bound of the one scenario: the text of `collsim bound --format json`. */
CS_API CS_MUST_CHECK cs_status cs_config_bounds(const cs_config *config, char **json_p,
                                                cs_error *err);

/* NULL is allowed. */
CS_API void cs_string_free(char *string);

/* ---- one scenario as a job ---- */

/* Scenario `index` < cs_config_count(), and the memory in which its lists lie. */
typedef struct cs_case cs_case;

/* Build it. The caller owns the case (cs_case_close), which does not need the configuration. */
CS_API CS_MUST_CHECK cs_status cs_case_open(const cs_config *config, size_t index, cs_case **case_p,
                                            cs_error *err);

/* The job, checked and not resolved; copies of it are valid as long as the case. */
CS_API const cs_job *cs_case_job(const cs_case *c);

/* The scenario alone as JSON, as it was asked for: compact, keys sorted. */
CS_API const char *cs_case_json(const cs_case *c);

/* NULL is allowed. */
CS_API void cs_case_close(cs_case *c);

CS_END_C

#endif
