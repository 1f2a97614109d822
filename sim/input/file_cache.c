/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A list under one lock: few files, each read by whoever asks for it first. */
#include "input/file_cache.h"

#include "base/alloc.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

typedef struct entry {
    cs_cached_file      file; /* what holders see */
    struct entry       *next;
    const cs_file_kind *kind;
    char               *path;
    atomic_size_t       n_holders; /* the cache is one */
} entry;

struct cs_held_file {
    cs_held_file *next;
    entry        *e;
};

struct cs_file_cache {
    pthread_mutex_t lock;
    entry          *entries;
    bool            is_closed;
};

cs_file_cache *cs_file_cache_new(void)
{
    cs_file_cache *cache = CS_NEW(cs_file_cache, 1);

    if (cache != NULL) {
        pthread_mutex_init(&cache->lock, NULL);
    }
    return cache;
}

static void free_entry(entry *e)
{
    if (e->file.content != NULL) {
        e->kind->close(e->file.content);
    }
    cs_free(e->path);
    cs_free(e);
}

static void release(entry *e)
{
    if (atomic_fetch_sub(&e->n_holders, 1) == 1) {
        free_entry(e);
    }
}

void cs_file_cache_free(cs_file_cache *cache)
{
    if (cache == NULL) {
        return;
    }
    for (entry *e = cache->entries; e != NULL;) {
        entry *next = e->next;
        release(e);
        e = next;
    }
    pthread_mutex_destroy(&cache->lock);
    cs_free(cache);
}

void cs_file_cache_close(cs_file_cache *cache)
{
    pthread_mutex_lock(&cache->lock);
    cache->is_closed = true;
    pthread_mutex_unlock(&cache->lock);
}

void cs_held_files_release(cs_held_file *held)
{
    for (; held != NULL; held = held->next) {
        release(held->e);
    }
}

static cs_status load(const cs_file_kind *kind, const char *path, entry **entry_p, cs_error *err)
{
    entry   *e           = CS_NEW(entry, 1);
    uint64_t fingerprint = 0;

    if (e == NULL || (e->path = cs_strdup(path)) == NULL) {
        cs_free(e);
        return CS_NO_MEMORY(err, "a file");
    }
    e->kind = kind;
    atomic_init(&e->n_holders, 1);
    cs_status status = kind->load(path, &e->file.content, &fingerprint, err);
    if (status != CS_OK) {
        free_entry(e);
        return status;
    }
    (void)snprintf(e->file.fingerprint, sizeof e->file.fingerprint, "%016" PRIx64, fingerprint);
    *entry_p = e;
    return CS_OK;
}

/* The entry, which the lock protects; NULL after a failure. */
static cs_status find(cs_file_cache *cache, const cs_file_kind *kind, const char *path,
                      entry **entry_p, cs_error *err)
{
    entry    *e      = cache->entries;
    cs_status status = CS_OK;

    while (e != NULL && (e->kind != kind || strcmp(e->path, path) != 0)) {
        e = e->next;
    }
    if (e == NULL && cache->is_closed) {
        status = CS_FAIL(err, CS_ENOTSUP, "",
                         "'%.80s' would be a file, and none is read here but those of the "
                         "configuration that is served",
                         path);
    } else if (e == NULL) {
        status = load(kind, path, &e, err);
        if (e != NULL) {
            e->next        = cache->entries;
            cache->entries = e;
        }
    }
    *entry_p = e;
    return status;
}

cs_status cs_file_cache_get(cs_file_cache *cache, const cs_file_kind *kind, const char *path,
                            cs_arena *arena, cs_held_file **held_p, const cs_cached_file **file_p,
                            cs_error *err)
{
    cs_held_file *held = CS_ARENA_NEW(arena, cs_held_file, 1);
    entry        *e    = NULL;

    if (held == NULL) {
        return CS_NO_MEMORY(err, "a file");
    }
    pthread_mutex_lock(&cache->lock);
    cs_status status = find(cache, kind, path, &e, err);
    if (e != NULL) {
        atomic_fetch_add(&e->n_holders, 1);
        *held   = (cs_held_file){*held_p, e};
        *held_p = held;
        *file_p = &e->file;
    }
    pthread_mutex_unlock(&cache->lock);
    return status;
}
