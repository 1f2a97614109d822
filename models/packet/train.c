/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/packet/train.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- the ways of messages ---- */

cs_ways cs_ways_of(const cs_packet_net *net)
{
    cs_ways ways = {.width = net->max_way};

    while (UINT64_C(1) << ways.shift < (uint64_t)ways.width * net->max_paths) {
        ways.shift++;
    }
    return ways;
}

cs_status cs_ways_keep(cs_ways *ways, const cs_packet_message *message)
{
    size_t    most = (size_t)1 << (32 - ways->shift);
    uint32_t *kept;

    if (message->number >= most ||
        !cs_grow(&ways->links, &ways->n_messages, (size_t)message->number + 1, 64,
                 sizeof *ways->links << ways->shift)) {
        return CS_ENOMEM;
    }
    kept = ways->links + cs_step_first(ways, message->number);
    for (uint32_t i = 0; i < message->n_paths; i++, kept += ways->width) {
        memcpy(kept, message->ways + (size_t)i * (ways->width + 1),
               ways->width * sizeof *ways->links);
    }
    return CS_OK;
}

/* ---- runs ---- */

cs_status cs_runs_grow(cs_runs *q)
{
    uint32_t old = q->capacity, capacity = old == 0 ? 8 : 2 * old;

    if (old > UINT32_MAX / 4 || !cs_resize(&q->runs, capacity, sizeof *q->runs)) {
        return CS_ENOMEM;
    }
    /* what goes on from the array's end */
    memcpy(q->runs + old, q->runs, q->head * sizeof *q->runs);
    q->capacity = capacity;
    return CS_OK;
}

/* ---- the order at a port ---- */

/* A key is a time in a window, which is at most CS_LONGEST_WINDOW, and the number of a run. */
enum { RUN_BITS = 32 };

_Static_assert(CS_LONGEST_WINDOW == UINT64_C(1) << (63 - RUN_BITS), "both fit into a key");

static int by_key(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Every key to where it belongs among those before it; where that is a long way for many, by
 * qsort(). */
static void insertion_sort(uint64_t *keys, uint32_t n)
{
    int64_t room = 8 * (int64_t)n;

    for (uint32_t i = 1; i < n; i++) {
        uint64_t k = keys[i];
        uint32_t j = i;
        for (; j > 0 && k < keys[j - 1]; j--) {
            keys[j] = keys[j - 1];
        }
        keys[j] = k;
        if (i - j > 16 && (room -= i - j) < 0) {
            qsort(keys, n, sizeof *keys, by_key);
            return;
        }
    }
}

/* Keys, to which those of `count` packets are added. */
static cs_status add_keys(cs_keys *k, uint64_t first, uint64_t gap, uint32_t count)
{
    uint64_t last = first + (count - 1) * gap;

    if (k->n > UINT32_MAX / 4 - count ||
        !cs_grow(&k->keys, &k->capacity, (size_t)k->n + count, 64, sizeof *k->keys)) {
        return CS_ENOMEM;
    }
    for (uint64_t *key = k->keys + k->n, *end = key + count; key < end; first += gap) {
        *key++ = first;
    }
    k->low  = k->n == 0 || last - (count - 1) * gap < k->low ? last - (count - 1) * gap : k->low;
    k->high = k->n == 0 || last > k->high ? last : k->high;
    k->n += count;
    return CS_OK;
}

/* Sort keys: two buckets for every one, then insertion, which has little left to do. */
static cs_status sort_keys(cs_keys *k, const uint64_t **sorted_p)
{
    uint32_t n = k->n, shift = 0, total = 0, n_slots;

    *sorted_p = k->keys;
    if (n <= 16) {
        insertion_sort(k->keys, n);
        return CS_OK;
    }
    while ((k->high - k->low) >> shift >= 2 * (uint64_t)n) {
        shift++;
    }
    n_slots = (uint32_t)((k->high - k->low) >> shift) + 1;
    if (!cs_grow(&k->sorted, &k->sorted_capacity, n, 64, sizeof *k->sorted) ||
        !cs_grow(&k->slots, &k->slot_capacity, n_slots, 64, sizeof *k->slots)) {
        return CS_ENOMEM;
    }
    memset(k->slots, 0, n_slots * sizeof *k->slots);
    for (uint32_t i = 0; i < n; i++) {
        k->slots[(k->keys[i] - k->low) >> shift]++;
    }
    for (uint32_t i = 0; i < n_slots; i++) {
        uint32_t count = k->slots[i];
        k->slots[i]    = total;
        total += count;
    }
    for (uint32_t i = 0; i < n; i++) {
        k->sorted[k->slots[(k->keys[i] - k->low) >> shift]++] = k->keys[i];
    }
    insertion_sort(k->sorted, n);
    *sorted_p = k->sorted;
    return CS_OK;
}

static void free_keys(cs_keys *k)
{
    cs_free(k->keys);
    cs_free(k->sorted);
    cs_free(k->slots);
}

static uint64_t key_of(const cs_runs *list, uint32_t number, cs_ps begin)
{
    return (uint64_t)(list->runs[number].t - begin) << RUN_BITS | number;
}

static uint64_t last_key_of(const cs_runs *list, uint32_t number, cs_ps begin)
{
    return (uint64_t)(cs_run_last(&list->runs[number]) - begin) << RUN_BITS | number;
}

/* Where the runs of a list, from number `from` on, no longer follow each other in time, the links
 * of one time in their order. */
static uint32_t order_ends(const cs_runs *list, uint32_t from)
{
    for (uint32_t i = from + 1; i < list->n; i++) {
        cs_ps last = cs_run_last(&list->runs[i - 1]);
        if (last > list->runs[i].t ||
            (last == list->runs[i].t && list->runs[i - 1].in > list->runs[i].in)) {
            return i;
        }
    }
    return list->n;
}

/* Two lists that are each in order, merged into `sorted`: runs are cut where they overlap. */
static cs_status merge_runs(cs_run_order *o, cs_walk a, cs_walk b)
{
    while (a.r < a.end || b.r < b.end) {
        cs_ps    t_a = cs_walk_time(&a), t_b = cs_walk_time(&b);
        bool     is_a  = t_a < t_b || (t_a == t_b && a.r->in <= b.r->in);
        cs_walk *w     = is_a ? &a : &b;
        cs_ps    t     = is_a ? t_a : t_b;
        uint32_t count = t_a == t_b ? 1 : cs_walk_before(w, is_a ? t_b : t_a);
        CS_TRY(cs_runs_append(&o->sorted, t, w->r->gap, count, w->r->step, w->r->bytes, w->r->in));
        cs_walk_on(w, count);
    }
    return CS_OK;
}

/* Runs that meet, taken apart into packets, each a run of `sorted`. */
static cs_status sort_packets(cs_run_order *o, const cs_runs *list, cs_ps begin,
                              const uint64_t *meeting, uint32_t n)
{
    const uint64_t *sorted;

    o->of_packets.n = 0;
    for (uint32_t i = 0; i < n; i++) {
        const cs_run *r = &list->runs[(uint32_t)meeting[i]];
        CS_TRY(add_keys(&o->of_packets, meeting[i], (uint64_t)r->gap << RUN_BITS, r->count));
    }
    CS_TRY(sort_keys(&o->of_packets, &sorted));
    while (o->sorted.capacity - o->sorted.n < o->of_packets.n) {
        CS_TRY(cs_runs_grow(&o->sorted));
    }
    for (uint32_t i = 0; i < o->of_packets.n; i++) {
        const cs_run *r = &list->runs[(uint32_t)sorted[i]];
        cs_ps         t = begin + (cs_ps)(sorted[i] >> RUN_BITS);
        cs_run_set(&o->sorted.runs[o->sorted.n++], t, 0, 1, r->step, r->bytes, r->in);
    }
    return CS_OK;
}

/* Runs of any order into `sorted`, those that meet taken apart. */
static cs_status sort_runs(cs_run_order *o, const cs_runs *list, cs_ps begin)
{
    const uint64_t *sorted;

    o->of_runs.n = 0;
    for (uint32_t i = 0; i < list->n; i++) {
        CS_TRY(add_keys(&o->of_runs, key_of(list, i, begin), 0, 1));
    }
    CS_TRY(sort_keys(&o->of_runs, &sorted));
    for (uint32_t i = 0, next; i < list->n; i = next) {
        const cs_run *r    = &list->runs[(uint32_t)sorted[i]];
        uint64_t      last = last_key_of(list, (uint32_t)sorted[i], begin);
        for (next = i + 1; next < list->n && sorted[next] < last; next++) {
            uint64_t other = last_key_of(list, (uint32_t)sorted[next], begin);
            last           = other > last ? other : last;
        }
        CS_TRY(next == i + 1
                   ? cs_runs_append(&o->sorted, r->t, r->gap, r->count, r->step, r->bytes, r->in)
                   : sort_packets(o, list, begin, sorted + i, next - i));
    }
    return CS_OK;
}

cs_status cs_runs_sort(cs_run_order *order, const cs_runs *list, cs_ps begin,
                       const cs_runs **sorted_p)
{
    uint32_t half = order_ends(list, 0);

    *sorted_p = list;
    if (half == list->n) {
        return CS_OK;
    }
    *sorted_p       = &order->sorted;
    order->sorted.n = 0;
    if (order_ends(list, half) == list->n) { /* of two links, mostly */
        return merge_runs(order, cs_walk_of(list, 0, half), cs_walk_of(list, half, list->n));
    }
    return sort_runs(order, list, begin);
}

void cs_run_order_free(cs_run_order *order)
{
    cs_free(order->sorted.runs);
    free_keys(&order->of_runs);
    free_keys(&order->of_packets);
    *order = (cs_run_order){0};
}

/* ---- links in the order of their numbers ---- */

cs_status cs_link_set_open(cs_link_set *set, uint32_t n_links)
{
    *set = (cs_link_set){.bits = CS_NEW(uint64_t, n_links / 64 + 1), .first = UINT32_MAX};
    return set->bits != NULL ? CS_OK : CS_ENOMEM;
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

bool cs_calendar_go_on(cs_calendar *c, const cs_event_queue *ends, cs_ps horizon)
{
    double end = cs_events_next_s(ends);

    if (end < (double)horizon) {
        horizon = (cs_ps)end;
    }
    return cs_calendar_find(c, horizon == CS_PS_NEVER ? INT64_MAX : horizon / c->width);
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
