/* SPDX-License-Identifier: GPL-3.0-or-later */
/* output/store.h -- rows on disk: one SQLite file that a killed command continues.
 *
 * A file holds one table of one kind of row (cs_store_table): a unique `key`, the columns of the
 * row, some texts, and one column per key that a sweep has varied. One of the texts identifies a
 * row: `key` is its hash. A scenario that could not be run has its reason in the text `error` and
 * NULL in the columns of what is not known of it. Every row bears the `build` that made it. Rows
 * are stored by key, so their order says nothing about the order in which they were added; they are
 * never overwritten. A store is used by one thread at a time.
 */
#ifndef CS_OUTPUT_STORE_H
#define CS_OUTPUT_STORE_H

#include "base/column.h"

typedef struct cs_store cs_store;

/* A kind of rows. The columns and texts are members of two structs; among the columns are
 * `algorithm` and `build`, among the texts `error`. */
typedef struct cs_store_table {
    const char      *name;
    int64_t          layout;  /* its number: files of another are refused */
    const cs_column *columns; /* the first is of every scenario that could be built */
    const cs_column *texts;
    size_t           columns_bytes, texts_bytes; /* of the structs */
    const char      *owner;                      /* the text that identifies a row */
    const char      *is_wrong; /* SQL: when is the schedule of a row with an error wrong, and not
                                  refused? */
} cs_store_table;

/* What identifies a row: a hash of its text, and a second, independent hash by which a collision
 * of the first is noticed. */
typedef struct cs_store_key {
    uint64_t key;
    uint64_t check;
    bool     is_refused; /* of a stored row: the scenario could not be run */
    bool     is_wrong;   /* ... its schedule was found wrong */
    bool is_incomplete;  /* ... it is older than some of the columns that the store was asked for,
                            and has no value in them (cs_store_fill) */
} cs_store_key;

cs_store_key cs_store_key_of(const char *text);

/* The one of `n` keys in ascending order that has this `key`, or NULL. O(log n). */
const cs_store_key *cs_store_key_find(const cs_store_key *keys, size_t n, uint64_t key);

/* What is wanted of a store. `{0}`: rows of this build alone, and no columns of a sweep. */
typedef struct cs_store_request {
    bool               accepts_builds; /* go on where another build has written rows */
    size_t             n_columns;      /* of the sweep; added where they are not there */
    const char *const *columns;        /* their names; borrowed until the store is closed */
} cs_store_request;

/* Open or create; `table` has static storage. CS_EIO (naming the file) where that fails; CS_EINVAL
 * where the file is not a store, is a damaged one, is one of another layout, or holds rows of
 * another build that are not accepted. The caller owns the store (cs_store_close). O(rows). */
CS_MUST_CHECK cs_status cs_store_open(const char *path, const cs_store_table *table,
                                      const cs_store_request *request, cs_store **store_p,
                                      cs_error *err);

/* All keys, in ascending order; the caller owns the array (cs_free). CS_EINVAL when one belongs to
 * another row. O(rows). */
CS_MUST_CHECK cs_status cs_store_keys(cs_store *store, cs_store_key **keys_p, size_t *n_p,
                                      cs_error *err);

/* Is there a row of this key? Then read its columns into `columns` and its texts into `texts`,
 * structs of the table or NULL; the texts that they point to are valid until the next call.
 * CS_EINVAL when the key belongs to another `text`, unless that is NULL. */
CS_MUST_CHECK cs_status cs_store_find(cs_store *store, uint64_t key, const char *text,
                                      void *columns, void *texts, bool *has_p, cs_error *err);

/* Several cs_store_add() between these two are one transaction: on disk all or none. Without
 * them, every row is a transaction of its own. */
CS_MUST_CHECK cs_status cs_store_begin(cs_store *store, cs_error *err);
CS_MUST_CHECK cs_status cs_store_commit(cs_store *store, cs_error *err);

typedef struct cs_store_row {
    const void     *columns, *texts; /* structs of the table */
    bool            is_partial;      /* as in cs_row */
    const cs_value *values;          /* of the columns that the store was asked for; NULL: null */
} cs_store_row;

/* Add a row. A row that is there already is left alone. CS_EINVAL when the key belongs to another
 * row, or a trigger in the file drops the row. */
CS_MUST_CHECK cs_status cs_store_add(cs_store *store, const cs_store_row *row, cs_error *err);

/* Give the row of a key the values of the columns that the store was asked for. */
CS_MUST_CHECK cs_status cs_store_fill(cs_store *store, uint64_t key, const cs_value *values,
                                      cs_error *err);

/* Bring everything into the one file: no -wal and -shm beside it, unless somebody else has it
 * open. */
CS_MUST_CHECK cs_status cs_store_finish(cs_store *store, cs_error *err);

/* Read all rows of a file, in the order of their keys, without writing to it: the columns of its
 * table as they are named there, without `key` and its like. Values are valid during the call; what
 * `visit` returns ends the reading. CS_EINVAL where the file holds something else. O(rows). */
typedef cs_status       cs_store_visit(void *user, const char *const *names, const cs_value *values,
                                       size_t n, cs_error *err);
CS_MUST_CHECK cs_status cs_store_read(const char *path, const cs_store_table *table,
                                      cs_store_visit *visit, void *user, cs_error *err);

/* Close and free; an open transaction is lost. NULL is allowed. */
void cs_store_close(cs_store *store);

#endif
