/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/packet/train.h"

#include <assert.h>
#include <string.h>

cs_status cs_runs_grow(cs_run_queue *q)
{
    uint32_t old = q->capacity, capacity = old == 0 ? 8 : 2 * old;

    if (old > UINT32_MAX / 4 || !cs_resize(&q->runs, capacity, sizeof *q->runs)) {
        return CS_ENOMEM;
    }
    memcpy(q->runs + old, q->runs,
           q->head * sizeof *q->runs); /* what goes on from the array's end */
    q->capacity = capacity;
    return CS_OK;
}

bool cs_runs_are_in_order(const cs_run_queue *inbox)
{
    for (uint32_t i = 1; i < inbox->n; i++) {
        const cs_run *a = &inbox->runs[i - 1], *b = &inbox->runs[i];
        cs_ps         last = cs_run_last(a);
        if (last > b->t || (last == b->t && a->path > b->path)) {
            return false;
        }
    }
    return true;
}

/* ---- whose turn is it? ---- */

cs_status cs_turns_reserve(cs_turns *list, size_t more)
{
    size_t capacity = list->capacity < 64 ? 64 : list->capacity;

    if (list->n + more <= list->capacity) {
        return CS_OK;
    }
    while (capacity < list->n + more) {
        capacity *= 2;
    }
    if (!cs_resize(&list->all, capacity, sizeof *list->all) ||
        !cs_resize(&list->other, capacity, sizeof *list->other) ||
        !cs_resize(&list->slots, 2 * capacity + 2, sizeof *list->slots)) {
        return CS_ENOMEM;
    }
    list->capacity = capacity;
    return CS_OK;
}

void cs_turns_free(cs_turns *list)
{
    cs_free(list->all);
    cs_free(list->other);
    cs_free(list->slots);
    *list = (cs_turns){0};
}

cs_status cs_turns_add(cs_turns *list, const cs_run *run, uint32_t in, uint32_t number)
{
    CS_TRY(cs_turns_reserve(list, run->count));
    cs_turn *to = list->all + list->n;
    for (uint32_t k = 0; k < run->count; k++) {
        to[k] = (cs_turn){run->t + (cs_ps)k * run->gap, in, number};
    }
    list->n += run->count;
    return CS_OK;
}

/* Into a bucket for about each one, by time. */
static void scatter(cs_turns *list, cs_ps least, cs_ps most)
{
    cs_turn *all   = list->all;
    unsigned shift = 0;

    while ((size_t)((most - least) >> shift) > 2 * list->n) {
        shift++;
    }
    size_t n_slots = (size_t)((most - least) >> shift) + 1;
    memset(list->slots, 0, n_slots * sizeof *list->slots);
    for (size_t i = 0; i < list->n; i++) {
        list->slots[(all[i].t - least) >> shift]++;
    }
    uint32_t before = 0;
    for (size_t s = 0; s < n_slots; s++) {
        uint32_t here  = list->slots[s];
        list->slots[s] = before;
        before += here;
    }
    for (size_t i = 0; i < list->n; i++) {
        list->other[list->slots[(all[i].t - least) >> shift]++] = all[i];
    }
    list->all   = list->other;
    list->other = all;
}

/* Every packet to where it belongs among those before it. False: that is a long way, and the rest
 * is not sorted. */
static bool insert(cs_turns *list)
{
    size_t moves = 0;

    for (size_t i = 1; i < list->n; i++) {
        cs_turn moved = list->all[i];
        size_t  at    = i;
        for (; at > 0 && cs_is_later(&list->all[at - 1], &moved); at--) {
            list->all[at] = list->all[at - 1];
        }
        list->all[at] = moved;
        moves += i - at;
        if (moves > 8 * list->n) {
            return false;
        }
    }
    return true;
}

/* Parts of `width` that are sorted become parts of twice as many, till it is one. */
static void merge(cs_turns *list)
{
    for (size_t width = 1; width < list->n; width *= 2) {
        cs_turn *all = list->all, *to = list->other;
        for (size_t begin = 0; begin < list->n; begin += 2 * width) {
            size_t middle = begin + width < list->n ? begin + width : list->n;
            size_t end    = middle + width < list->n ? middle + width : list->n;
            size_t a = begin, b = middle;
            while (a < middle || b < end) {
                bool is_b = a == middle || (b < end && cs_is_later(&all[a], &all[b]));
                *to++     = is_b ? all[b++] : all[a++];
            }
        }
        list->all   = list->other;
        list->other = all;
    }
}

enum { FEW = 16 };

void cs_turns_sort(cs_turns *list)
{
    cs_ps least = CS_PS_NEVER, most = 0;
    bool  is_sorted = true;

    for (size_t i = 0; i < list->n; i++) {
        least = list->all[i].t < least ? list->all[i].t : least;
        most  = list->all[i].t > most ? list->all[i].t : most;
        is_sorted &= i == 0 || !cs_is_later(&list->all[i - 1], &list->all[i]);
    }
    if (is_sorted) {
        return;
    }
    if (list->n > FEW) {
        scatter(list, least, most);
    }
    if (!insert(list)) {
        merge(list);
    }
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

    for (uint32_t word = 0; word < CS_CALENDAR_WORDS; word++) {
        for (uint64_t bits = c->occupied[word]; bits != 0; bits &= bits - 1) {
            uint32_t t = c->first[64 * word + (uint32_t)__builtin_ctzll(bits)];
            for (; t != CS_NO_LINK; t = c->next[t]) {
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
