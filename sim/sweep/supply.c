/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sweep/supply.c -- numbers of items that wait for somebody to work on them. */
#include "sweep/supply.h"

#include "base/alloc.h"

void cs_supply_init(cs_supply *supply)
{
    *supply = (cs_supply){0};
    pthread_mutex_init(&supply->lock, NULL);
    pthread_cond_init(&supply->has_item, NULL);
}

/* Room for one more range: those that are used up make it first. */
static bool has_room(cs_supply *supply)
{
    if (supply->next == supply->count) {
        supply->next = supply->count = 0;
    }
    return cs_grow(&supply->ranges, &supply->capacity, supply->count + 1, 4,
                   sizeof *supply->ranges);
}

cs_status cs_supply_give(cs_supply *supply, size_t first, size_t end, cs_error *err)
{
    if (first >= end) {
        return CS_OK;
    }
    pthread_mutex_lock(&supply->lock);
    bool is_given = has_room(supply);
    if (is_given) {
        supply->ranges[supply->count++] = (cs_supply_range){first, end};
        pthread_cond_broadcast(&supply->has_item);
    }
    pthread_mutex_unlock(&supply->lock);
    return is_given ? CS_OK : CS_FAIL(err, CS_ENOMEM, NULL, "out of memory");
}

void cs_supply_close(cs_supply *supply)
{
    pthread_mutex_lock(&supply->lock);
    supply->closed = true;
    pthread_cond_broadcast(&supply->has_item);
    pthread_mutex_unlock(&supply->lock);
}

void cs_supply_halt(cs_supply *supply)
{
    pthread_mutex_lock(&supply->lock);
    supply->halted = true;
    pthread_cond_broadcast(&supply->has_item);
    pthread_mutex_unlock(&supply->lock);
}

bool cs_supply_take(cs_supply *supply, size_t *item_p)
{
    pthread_mutex_lock(&supply->lock);
    while (supply->next == supply->count && !supply->closed && !supply->halted) {
        pthread_cond_wait(&supply->has_item, &supply->lock);
    }
    bool has_item = supply->next < supply->count && !supply->halted;
    if (has_item) {
        cs_supply_range *range = &supply->ranges[supply->next];
        *item_p                = range->first++;
        supply->next += range->first == range->end;
    }
    pthread_mutex_unlock(&supply->lock);
    return has_item;
}

void cs_supply_free(cs_supply *supply)
{
    pthread_mutex_destroy(&supply->lock);
    pthread_cond_destroy(&supply->has_item);
    cs_free(supply->ranges);
}
