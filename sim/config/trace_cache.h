/* SPDX-License-Identifier: GPL-3.0-or-later */
/* config/trace_cache.h -- traces of arrivals that a configuration has read: each file once, however
 * many cases are built from it and by however many threads. */
#ifndef CS_CONFIG_TRACE_CACHE_H
#define CS_CONFIG_TRACE_CACHE_H

#include "cs/arrivals.h"

typedef struct cs_trace_cache cs_trace_cache;

/* An empty cache, or NULL when out of memory. */
cs_trace_cache *cs_trace_cache_new(void);

/* NULL is allowed. */
void cs_trace_cache_free(cs_trace_cache *cache);

/* The trace in a file (or in several, see config/arrival_file.h). It belongs to the cache and is
 * valid as long as that. May be called from any number of threads. */
cs_status cs_trace_cache_get(cs_trace_cache *cache, const char *path,
                             const cs_arrival_trace **trace_p, cs_error *err);

#endif
