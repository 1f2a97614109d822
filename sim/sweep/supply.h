/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sweep/supply.h -- numbers of items that wait for somebody to work on them.
 *
 * One thread gives ranges, several take one number at a time, in the order in which they were
 * given.
 */
#ifndef CS_SWEEP_SUPPLY_H
#define CS_SWEEP_SUPPLY_H

#include "cs/error.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct cs_supply_range {
    size_t first, end; /* first <= item < end */
} cs_supply_range;

typedef struct cs_supply {
    pthread_mutex_t  lock;
    pthread_cond_t   has_item;
    cs_supply_range *ranges; /* owned; those from `next` on are left */
    size_t           next, count, capacity;
    bool             closed; /* nothing more is given */
    bool             halted; /* nothing more is taken */
} cs_supply;

/* An empty, open supply; cs_supply_free() it. */
void cs_supply_init(cs_supply *supply);

/* Give first, first + 1, .. end - 1. */
cs_status cs_supply_give(cs_supply *supply, size_t first, size_t end, cs_error *err);

/* Nothing more is given: who waits in vain is let go. */
void cs_supply_close(cs_supply *supply);

/* Nothing more is taken, whatever is left. */
void cs_supply_halt(cs_supply *supply);

/* Take one number, waiting for it. False: there is none, and none will come. */
bool cs_supply_take(cs_supply *supply, size_t *item_p);

/* Free; no thread uses it any more. */
void cs_supply_free(cs_supply *supply);

#endif
