/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/packet/train.h"

#include <assert.h>
#include <string.h>

cs_status cs_runs_grow(cs_run_queue *q)
{
    uint32_t capacity = q->capacity == 0 ? 8 : 2 * q->capacity;
    cs_run  *runs     = capacity > UINT32_MAX / 2 ? NULL : CS_NEW(cs_run, capacity);

    if (runs == NULL) {
        return CS_ENOMEM;
    }
    for (uint32_t i = 0; i < q->n; i++) {
        runs[i] = q->runs[(q->head + i) & (q->capacity - 1)];
    }
    cs_free(q->runs);
    *q = (cs_run_queue){.runs = runs, .n = q->n, .capacity = capacity};
    return CS_OK;
}

cs_status cs_inbox_grow(cs_inbox *inbox)
{
    uint32_t capacity = inbox->capacity == 0 ? 8 : 2 * inbox->capacity;

    if (capacity > UINT32_MAX / 2 || !cs_resize(&inbox->runs, capacity, sizeof *inbox->runs)) {
        return CS_ENOMEM;
    }
    inbox->capacity = capacity;
    return CS_OK;
}

/* ---- the calendar ---- */

enum { NOT_INSIDE = -1 };

cs_status cs_calendar_open(cs_calendar *c, cs_ps width, uint32_t n_tokens)
{
    *c = (cs_calendar){
        .width = width, .next = CS_NEW(uint32_t, n_tokens), .when = CS_NEW(int64_t, n_tokens)};
    if (c->next == NULL || c->when == NULL) {
        return CS_ENOMEM;
    }
    for (uint32_t i = 0; i < n_tokens; i++) {
        c->when[i] = NOT_INSIDE;
    }
    return CS_OK;
}

void cs_calendar_close(cs_calendar *c)
{
    cs_free(c->next);
    cs_free(c->when);
}

static void append(cs_calendar *c, uint32_t token, int64_t window)
{
    uint32_t b = (uint32_t)window % CS_CALENDAR_BUCKETS;

    c->when[token] = window;
    c->next[token] = CS_NO_LINK;
    if ((c->occupied[b / 64] >> b % 64 & 1) == 0) {
        c->occupied[b / 64] |= UINT64_C(1) << b % 64;
        c->first[b] = token;
    } else {
        c->next[c->last[b]] = token;
    }
    c->last[b] = token;
}

void cs_calendar_put(cs_calendar *c, uint32_t token, cs_ps time)
{
    int64_t window = time / c->width;

    assert(window >= c->window && c->when[token] == NOT_INSIDE);
    append(c, token, window);
    c->n_inside++;
}

/* How many buckets behind bucket `b`, going round, is the first that is occupied? Some one is. */
static uint32_t steps_to_occupied(const cs_calendar *c, uint32_t b)
{
    uint32_t word = b / 64;
    uint64_t bits = c->occupied[word] & ~UINT64_C(0) << b % 64;

    while (bits == 0) {
        word = (word + 1) % CS_CALENDAR_WORDS;
        bits = c->occupied[word];
    }
    return (64 * word + (uint32_t)__builtin_ctzll(bits) - b) % CS_CALENDAR_BUCKETS;
}

/* Is a token of the bucket due in its window, not in one of a later round? */
static bool is_due(const cs_calendar *c, int64_t window)
{
    uint32_t token = c->first[(uint32_t)window % CS_CALENDAR_BUCKETS];

    while (token != CS_NO_LINK && c->when[token] != window) {
        token = c->next[token];
    }
    return token != CS_NO_LINK;
}

/* The earliest window of all tokens: those of a round to come are far, so this is rare. */
static int64_t earliest(const cs_calendar *c)
{
    int64_t least = INT64_MAX;

    for (uint32_t b = 0; b < CS_CALENDAR_BUCKETS; b++) {
        if ((c->occupied[b / 64] >> b % 64 & 1) != 0) {
            for (uint32_t t = c->first[b]; t != CS_NO_LINK; t = c->next[t]) {
                least = c->when[t] < least ? c->when[t] : least;
            }
        }
    }
    return least;
}

bool cs_calendar_find(cs_calendar *c, int64_t limit)
{
    int64_t window = c->window, round_end = c->window + CS_CALENDAR_BUCKETS;

    if (c->n_inside == 0) {
        c->window = limit != INT64_MAX && limit > window ? limit : window;
        return false;
    }
    for (; window < limit && window < round_end; window++) {
        window += steps_to_occupied(c, (uint32_t)window % CS_CALENDAR_BUCKETS);
        if (window < round_end && is_due(c, window)) {
            break;
        }
    }
    if (window >= round_end && limit > round_end) {
        window = earliest(c); /* steps may have gone beyond it */
    }
    if (window < limit) {
        c->window = window;
        return true;
    }
    c->window = limit > c->window ? limit : c->window;
    return false;
}

uint32_t cs_calendar_take(cs_calendar *c)
{
    uint32_t b = (uint32_t)c->window % CS_CALENDAR_BUCKETS, due = CS_NO_LINK, last = CS_NO_LINK;
    uint32_t token = c->first[b];

    c->occupied[b / 64] &= ~(UINT64_C(1) << b % 64);
    for (uint32_t next; token != CS_NO_LINK; token = next) {
        next = c->next[token];
        if (c->when[token] != c->window) {
            append(c, token, c->when[token]);
            continue;
        }
        c->when[token] = NOT_INSIDE;
        c->n_inside--;
        c->next[token] = CS_NO_LINK;
        if (due == CS_NO_LINK) {
            due = token;
        } else {
            c->next[last] = token;
        }
        last = token;
    }
    return due;
}
