/* SPDX-License-Identifier: GPL-3.0-or-later */
/* results/store.h -- results on disk: one SQLite file that a killed sweep continues.
 *
 * Table `results`, one row per scenario: a unique `key`, one column per row of CS_RESULT_MAP,
 * `options` (JSON), `scenario` (canonical JSON) and `error`. A scenario that could not be run has
 * its reason in `error` and NULL in the columns of the result; where the schedule was found
 * wrong, `error` says how. Rows are stored by key, so their order says nothing about the order
 * in which they were added. A store is used by one thread at a time.
 */
#ifndef CS_RESULTS_STORE_H
#define CS_RESULTS_STORE_H

#include "base/text.h"
#include "cs/result.h"

typedef struct cs_store cs_store;

/* What identifies a scenario: a hash of its canonical JSON (of a row of another store: of the text
 * that identifies it) and of this program's version, and a second, independent hash by which a
 * collision of the first is noticed. */
typedef struct cs_store_key {
    uint64_t key;
    uint64_t check;
    bool     failed; /* of a stored row: it has an `error` */
} cs_store_key;

CS_API cs_store_key cs_store_key_of(const char *scenario);

/* The one of `n` keys in ascending order that has this `key`, or NULL. O(log n). */
CS_API const cs_store_key *cs_store_key_find(const cs_store_key *keys, size_t n, uint64_t key);

/* Open or create. CS_EIO (naming the file) where that fails; CS_EINVAL where the file is not a
 * store, or one of another layout or another version of this program. The caller owns the store
 * (cs_store_close). */
CS_API CS_MUST_CHECK cs_status cs_store_open(const char *path, cs_store **store_p, cs_error *err);

/* All keys, in ascending order; the caller owns the array (cs_free). O(rows). */
CS_API CS_MUST_CHECK cs_status cs_store_keys(cs_store *store, cs_store_key **keys_p, size_t *n_p,
                                             cs_error *err);

/* Is there a row for this scenario? CS_EINVAL when its key belongs to another scenario. */
CS_API CS_MUST_CHECK cs_status cs_store_has(cs_store *store, const char *scenario, bool *has_p,
                                            cs_error *err);

/* Several cs_store_add() between these two are one transaction: on disk all or none. Without
 * them, every row is a transaction of its own. */
CS_API CS_MUST_CHECK cs_status cs_store_begin(cs_store *store, cs_error *err);
CS_API CS_MUST_CHECK cs_status cs_store_commit(cs_store *store, cs_error *err);

/* Add a row: `result`, or NULL and the reason in `error`. A row that is there already is left
 * alone. CS_EINVAL when the key belongs to another scenario. */
CS_API CS_MUST_CHECK cs_status cs_store_add(cs_store *store, const char *scenario,
                                            const cs_result *result, const char *error,
                                            cs_error *err);

/* Bring everything into the one file: no -wal and -shm beside it, unless somebody else has it
 * open. */
CS_API CS_MUST_CHECK cs_status cs_store_finish(cs_store *store, cs_error *err);

/* Close and free; an open transaction is lost. NULL is allowed. */
CS_API void cs_store_close(cs_store *store);

#endif
