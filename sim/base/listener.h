/* SPDX-License-Identifier: GPL-3.0-or-later */
/* base/listener.h -- who is told how far long work is. */
#ifndef CS_BASE_LISTENER_H
#define CS_BASE_LISTENER_H

#include <stddef.h>
#include <stdint.h>

/* `{0}` is nobody. One thread at a time tells; nothing that is computed depends on it. */
typedef struct cs_listener {
    void (*told)(void *user, uint64_t done, uint64_t total);
    void *user;
} cs_listener;

/* NULL is allowed. */
static inline void cs_tell(const cs_listener *listener, uint64_t done, uint64_t total)
{
    if (listener != NULL && listener->told != NULL) {
        listener->told(listener->user, done, total);
    }
}

#endif
