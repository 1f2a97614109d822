/* SPDX-License-Identifier: GPL-3.0-or-later */
/* results/store_montecarlo.h -- rows of many iterations on disk, in the manner of results/store.h,
 * whose keys, transactions, finish and close serve this store, too.
 *
 * Table `montecarlo`: a unique `key`, one column per row of CS_MONTECARLO_MAP, `scenario`, `error`,
 * and `run`: JSON that holds all that the row depends on (the scenario, the baseline's, how many
 * iterations, ...), of which `key` is the hash. Rows are stored by key, so their order says
 * nothing about the order in which they were added. A store is used by one thread at a time.
 */
#ifndef CS_RESULTS_STORE_MONTECARLO_H
#define CS_RESULTS_STORE_MONTECARLO_H

#include "results/montecarlo_row.h"
#include "results/store.h"

/* As cs_store_open(). */
CS_API CS_MUST_CHECK cs_status cs_montecarlo_store_open(const char *path, bool accepts_builds,
                                                        cs_store **store_p, cs_error *err);

/* The row of a run; *has_p says whether there is one. The caller owns the row
 * (cs_montecarlo_row_free). CS_EINVAL when the key belongs to another run. */
CS_API CS_MUST_CHECK cs_status cs_montecarlo_store_find(cs_store *store, const char *run,
                                                        cs_montecarlo_row *row_p, bool *has_p,
                                                        cs_error *err);

/* Add a row. A row that is there already is left alone. CS_EINVAL when the key belongs to another
 * run. */
CS_API CS_MUST_CHECK cs_status cs_montecarlo_store_add(cs_store *store, const char *run,
                                                       const cs_montecarlo_row *row, cs_error *err);

#endif
