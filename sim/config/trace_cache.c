/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A list under one lock: few files, each read by whoever asks for it first. */
#include "config/trace_cache.h"

#include "base/alloc.h"
#include "config/arrival_file.h"

#include <pthread.h>
#include <string.h>

typedef struct entry {
    struct entry    *next;
    char            *path;
    cs_arrival_trace trace;
} entry;

struct cs_trace_cache {
    pthread_mutex_t lock;
    entry          *entries;
};

cs_trace_cache *cs_trace_cache_new(void)
{
    cs_trace_cache *cache = CS_NEW(cs_trace_cache, 1);

    if (cache != NULL) {
        pthread_mutex_init(&cache->lock, NULL);
    }
    return cache;
}

static void free_entry(entry *e)
{
    if (e != NULL) {
        cs_arrival_trace_free(&e->trace);
        cs_free(e->path);
        cs_free(e);
    }
}

void cs_trace_cache_free(cs_trace_cache *cache)
{
    if (cache == NULL) {
        return;
    }
    for (entry *e = cache->entries; e != NULL;) {
        entry *next = e->next;
        free_entry(e);
        e = next;
    }
    pthread_mutex_destroy(&cache->lock);
    cs_free(cache);
}

static cs_status load(const char *path, entry **entry_p, cs_error *err)
{
    entry *e = CS_NEW(entry, 1);

    if (e == NULL || (e->path = cs_strdup(path)) == NULL) {
        free_entry(e);
        return CS_FAIL(err, CS_ENOMEM, "", "out of memory for a trace");
    }
    cs_status status = cs_arrival_file_load(path, &e->trace, err);
    if (status != CS_OK) {
        free_entry(e);
        return status;
    }
    *entry_p = e;
    return CS_OK;
}

cs_status cs_trace_cache_get(cs_trace_cache *cache, const char *path,
                             const cs_arrival_trace **trace_p, cs_error *err)
{
    cs_status status = CS_OK;

    pthread_mutex_lock(&cache->lock);
    entry *e = cache->entries;
    while (e != NULL && strcmp(e->path, path) != 0) {
        e = e->next;
    }
    if (e == NULL) {
        status = load(path, &e, err);
        if (e != NULL) {
            e->next        = cache->entries;
            cache->entries = e;
        }
    }
    if (e != NULL) {
        *trace_p = &e->trace;
    }
    pthread_mutex_unlock(&cache->lock);
    return status;
}
