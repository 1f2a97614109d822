/* SPDX-License-Identifier: GPL-3.0-or-later */
/* results/store_montecarlo.h -- rows of many iterations on disk, in the manner of results/store.h.
 *
 * Table `montecarlo`: a unique `key`, one column per row of CS_MONTECARLO_MAP, `scenario`, `error`,
 * and `run`: JSON that holds all that the row depends on (the scenario, the baseline's, how many
 * iterations, ...), of which `key` is the hash. Rows are stored by key, so their order says
 * nothing about the order in which they were added. A store is used by one thread at a time.
 */
#ifndef CS_RESULTS_STORE_MONTECARLO_H
#define CS_RESULTS_STORE_MONTECARLO_H

#include "results/montecarlo_row.h"

typedef struct cs_montecarlo_store cs_montecarlo_store;

/* As cs_store_open(). */
CS_API CS_MUST_CHECK cs_status cs_montecarlo_store_open(const char           *path,
                                                        cs_montecarlo_store **store_p,
                                                        cs_error             *err);

/* The row of a run; *has_p says whether there is one. The caller owns the row
 * (cs_montecarlo_row_free). CS_EINVAL when the key belongs to another run. */
CS_API CS_MUST_CHECK cs_status cs_montecarlo_store_find(cs_montecarlo_store *store, const char *run,
                                                        cs_montecarlo_row *row_p, bool *has_p,
                                                        cs_error *err);

/* The keys of all rows (cs_store_key_of() of their runs), ascending; the caller owns the array
 * (cs_free). O(rows). */
CS_API CS_MUST_CHECK cs_status cs_montecarlo_store_keys(cs_montecarlo_store *store,
                                                        uint64_t **keys_p, size_t *n_p,
                                                        cs_error *err);

/* Several cs_montecarlo_store_add() between these two are one transaction: on disk all or none.
 * Without them, every row is a transaction of its own. */
CS_API CS_MUST_CHECK cs_status cs_montecarlo_store_begin(cs_montecarlo_store *store, cs_error *err);
CS_API CS_MUST_CHECK cs_status cs_montecarlo_store_commit(cs_montecarlo_store *store,
                                                          cs_error            *err);

/* Add a row. A row that is there already is left alone. CS_EINVAL when the key belongs to another
 * run. */
CS_API CS_MUST_CHECK cs_status cs_montecarlo_store_add(cs_montecarlo_store *store, const char *run,
                                                       const cs_montecarlo_row *row, cs_error *err);

/* Bring everything into the one file, unless somebody else has it open. */
CS_API CS_MUST_CHECK cs_status cs_montecarlo_store_finish(cs_montecarlo_store *store,
                                                          cs_error            *err);

/* NULL is allowed. */
CS_API void cs_montecarlo_store_close(cs_montecarlo_store *store);

#endif
