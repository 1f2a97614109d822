/* SPDX-License-Identifier: GPL-3.0-or-later */
/* input/file_cache.h -- files that a configuration has read (traces of arrivals, topologies): each
 * once, however many cases are built from it and by however many threads, so that all cases have
 * the same contents whatever happens to the file meanwhile.
 *
 * What a file holds belongs to the cache and to everybody who holds the file; the last one frees
 * it, so that a case may outlive its configuration.
 */
#ifndef CS_INPUT_FILE_CACHE_H
#define CS_INPUT_FILE_CACHE_H

#include "base/arena.h"
#include "cs/error.h"

#include <stdint.h>

/* A format, or several that are told apart by their contents. */
typedef struct cs_file_kind {
    /* Read the file. The caller owns *content_p, which nobody will change. *fingerprint_p is a hash
     * of all that counts in it. */
    cs_status (*load)(const char *path, void **content_p, uint64_t *fingerprint_p, cs_error *err);
    void (*close)(void *content);
} cs_file_kind;

enum { CS_FINGERPRINT_BYTES = 17 };

/* A file that was read. */
typedef struct cs_cached_file {
    void *content;                           /* of the type that the kind says; not to be changed */
    char  fingerprint[CS_FINGERPRINT_BYTES]; /* 16 hexadecimal digits */
} cs_cached_file;

/* The files that somebody holds: a list in an arena, NULL is none. */
typedef struct cs_held_file cs_held_file;

typedef struct cs_file_cache cs_file_cache;

/* An empty cache, or NULL when out of memory. */
cs_file_cache *cs_file_cache_new(void);

/* NULL is allowed. */
void cs_file_cache_free(cs_file_cache *cache);

/* Find or read a file and hold it: it is added to *held_p, whose entry is the arena's. May be
 * called from any number of threads; one reads a file, the others wait. Errors are those of load().
 */
cs_status cs_file_cache_get(cs_file_cache *cache, const cs_file_kind *kind, const char *path,
                            cs_arena *arena, cs_held_file **held_p, const cs_cached_file **file_p,
                            cs_error *err);

/* From now on no file is read any more: one that is not there is CS_ENOTSUP. For whoever answers
 * strangers; nothing that is said of a file tells whether there is one. */
void cs_file_cache_close(cs_file_cache *cache);

/* Let all files of a list go, before its arena is freed. */
void cs_held_files_release(cs_held_file *held);

#endif
