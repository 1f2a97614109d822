/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cs/result.h -- one result: a scenario's time, its proof and its lower bound.
 *
 * The rows of CS_RESULT_MAP are the keys of the JSON object, the columns of the CSV and of the
 * SQLite table, in this order.
 */
#ifndef CS_RESULT_H
#define CS_RESULT_H

#include "cs/replay.h"

/* X(type, key): TEXT const char *, COUNT uint64_t, REAL double (NAN: null), BOOL bool. */
#define CS_RESULT_MAP(X)      \
    X(TEXT, algorithm)        \
    X(TEXT, collective)       \
    X(TEXT, model)            \
    X(COUNT, ranks)           \
    X(COUNT, bytes)           \
    X(COUNT, gpus_per_server) \
    X(REAL, elapsed_s)        \
    X(REAL, exposed_s)        \
    X(REAL, closed_form_s)    \
    X(REAL, bound_s)          \
    X(TEXT, bound)            \
    X(REAL, gap)              \
    X(REAL, algbw_GBps)       \
    X(REAL, busbw_GBps)       \
    X(COUNT, rounds)          \
    X(COUNT, transfers)       \
    X(COUNT, wire_bytes)      \
    X(BOOL, verified)         \
    X(REAL, published_form_s) \
    X(TEXT, build)

typedef struct cs_result {
#define CS_TYPE_TEXT  const char *
#define CS_TYPE_COUNT uint64_t
#define CS_TYPE_REAL  double
#define CS_TYPE_BOOL  bool
#define X(type, key)  CS_TYPE_##type key;
    CS_RESULT_MAP(X)
#undef X
    const cs_field *option_table; /* of the algorithm, or NULL */
    cs_options      options;      /* as resolved */
    const cs_field *model_option_table;
    cs_options      model_options;
    cs_verdict      verdict;
    uint32_t        uses; /* of the plan: CS_USES_... */
    const char     *note; /* what the algorithm says about its choice, static text; or NULL */
} cs_result;

/* Run one scenario from options as given: check, replay, closed form, bounds. The texts in
 * the result have static storage. `observers` as in cs_replay_request. */
typedef struct cs_run {
    const cs_scenario  *scenario;
    const cs_algorithm *algorithm;
    const void         *options; /* as given: copied, then resolved */
    const cs_model     *model;
    const void         *model_options;
    bool                verify;
    const cs_observer  *observers;
    size_t              n_observers;
    /* As in cs_replay_request. */
    void (*counted)(void *user, const cs_replay_request *request, uint64_t n_transfers);
    void *counted_user;
} cs_run;
CS_API CS_MUST_CHECK cs_status cs_run_scenario(const cs_run *run, cs_result *result_p,
                                               cs_error *err);

#endif
