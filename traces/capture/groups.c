/* SPDX-License-Identifier: GPL-3.0-or-later */
/* groups.c -- see groups.h. */
#include "groups.h"

#include "base/alloc.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* A step before steps are numbered: by round, then by what has to be apart inside of it. */
typedef struct step_key {
    uint32_t round, part;
} step_key;

/* The two halves of a rank's staging area, which are used by turns, a step each. */
struct half {
    uint32_t step;          /* that uses .. */
    uint32_t which;         /* .. this half; */
    uint64_t used;          /* so much of it. */
    uint32_t placed;        /* Last group of placings from it; CAP_NO_GROUP: none yet */
    uint32_t busy_until[2]; /* the same of the steps that used the halves before */
};

/* Where a message is staged, and the group whose placings have to be done before. */
typedef struct place_of {
    uint64_t at;
    uint32_t half, free_after;
} place_of;

typedef struct grouper {
    cap_groups  *groups;
    uint64_t     slice;
    step_key    *keys;        /* [n_messages] */
    uint32_t    *steps;       /* [n_messages] */
    uint32_t    *slices;      /* [n_messages] how many */
    uint32_t    *order;       /* [n_messages] by step, then as in the list */
    uint32_t    *first_group; /* [n_steps + 1] */
    uint32_t     n_steps;
    struct half *halves; /* [n_ranks] */
    place_of    *places; /* [n_messages] of those that are staged */
    uint32_t    *move_groups, *placing_groups;
    size_t       n_moves, n_placings;
    size_t       move_capacity, move_group_capacity, placing_capacity, placing_group_capacity;
} grouper;

/* ---- steps ---- */

static int key_order(const void *left, const void *right)
{
    const step_key *a = left, *b = right;

    if (a->round != b->round) {
        return a->round < b->round ? -1 : 1;
    }
    return (a->part > b->part) - (a->part < b->part);
}

static void not_before(step_key *key, const step_key *other)
{
    if (key_order(key, other) < 0) {
        *key = *other;
    }
}

static void after(step_key *key, const step_key *other)
{
    if (key_order(key, other) <= 0) {
        *key = (step_key){other->round, other->part + 1};
    }
}

/* The message that is the `number`-th (from 1) of a port; number 0: none, CAP_NONE. */
static uint32_t nth(const uint32_t *messages, uint32_t number)
{
    return number == 0 ? CAP_NONE : messages[number - 1];
}

static void raise_key(const grouper *g, const cap_message *m, step_key *key)
{
    const cap_rank *ranks = g->groups->job->ranks;
    const cap_port *src = ranks[m->src].ports, *dst = ranks[m->dst].ports;

    if (m->send > 0) {
        after(key, &g->keys[src[m->link].sends[m->send - 1]]);
    }
    if (m->receive > 0) {
        after(key, &g->keys[dst[m->link].receives[m->receive - 1]]);
    }
    for (uint32_t f = 0; f < CS_FABRICS; f++) {
        const uint32_t data = nth(src[f].receives, m->data_after_receives[f]);
        const uint32_t sent = nth(dst[f].sends, m->place_after_sends[f]);
        const uint32_t old  = nth(dst[f].receives, m->place_after_receives[f]);
        if (data != CAP_NONE) {
            after(key, &g->keys[data]);
        }
        if (old != CAP_NONE) {
            after(key, &g->keys[old]);
        }
        if (sent != CAP_NONE && sent != m->id && sent != m->partner) {
            not_before(key, &g->keys[sent]);
        }
    }
}

static void find_keys(grouper *g)
{
    const cap_job *job = g->groups->job;

    for (uint32_t i = 0; i < job->n_messages; i++) {
        const cap_message *m   = &job->messages[i];
        step_key           key = {.round = m->round};
        raise_key(g, m, &key);
        if (m->partner != CAP_NONE) {
            raise_key(g, &job->messages[m->partner], &key);
            g->keys[m->partner] = key;
        }
        g->keys[i] = key;
        i += m->partner != CAP_NONE; /* partners stand together */
    }
}

typedef struct keyed {
    step_key key;
    uint32_t message;
} keyed;

static int keyed_order(const void *left, const void *right)
{
    const keyed *a = left, *b = right;
    const int    by_key = key_order(&a->key, &b->key);

    return by_key != 0 ? by_key : (a->message > b->message) - (a->message < b->message);
}

/* Is it more than a plain copy of what comes? */
static bool is_worked_on(const cap_job *job, const cap_message *m)
{
    for (uint32_t i = 0; i < m->n_pieces; i++) {
        const cap_piece *p = &job->pieces[m->first_piece + i];
        if (p->adds || p->is_repeat || p->out != CAP_NOWHERE) {
            return true;
        }
    }
    return false;
}

/* Only what is worked on is cut: copies have nothing that could go on meanwhile. */
static uint32_t slices_for(const grouper *g, const cap_message *m)
{
    return g->slice == 0 || m->count <= g->slice || !is_worked_on(g->groups->job, m)
               ? 1
               : (uint32_t)((m->count - 1) / g->slice + 1);
}

/* Messages in the order of steps, steps numbered, and how many groups each has. */
static bool number_steps(grouper *g)
{
    const cap_job *job    = g->groups->job;
    keyed         *sorted = CS_NEW(keyed, job->n_messages);

    if (sorted == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < job->n_messages; i++) {
        sorted[i] = (keyed){g->keys[i], i};
    }
    qsort(sorted, job->n_messages, sizeof *sorted, keyed_order);
    uint32_t step = 0, most = 0;
    for (uint32_t i = 0; i < job->n_messages; i++) {
        if (i > 0 && key_order(&sorted[i - 1].key, &sorted[i].key) != 0) {
            g->first_group[step + 1] = g->first_group[step] + most;
            step++;
            most = 0;
        }
        const uint32_t slices       = g->slices[sorted[i].message];
        most                        = slices > most ? slices : most;
        g->order[i]                 = sorted[i].message;
        g->steps[sorted[i].message] = step;
    }
    g->n_steps = job->n_messages == 0 ? 0 : step + 1;
    if (g->n_steps > 0) {
        g->first_group[g->n_steps] = g->first_group[step] + most;
    }
    g->groups->n_groups = g->first_group[g->n_steps];
    cs_free(sorted);
    return true;
}

/* ---- moves and placings ---- */

static uint32_t group_of(const grouper *g, uint32_t message, uint32_t slice)
{
    return g->first_group[g->steps[message]] + slice;
}

static uint32_t last_group_of(const grouper *g, uint32_t message)
{
    return group_of(g, message, g->slices[message] - 1);
}

static uint32_t placed_of(const grouper *g, uint32_t message)
{
    return g->groups->spans[message].placed;
}

/* The one piece of a message that has only one; NULL: it has several. */
static const cap_piece *only_piece(const grouper *g, uint32_t message)
{
    const cap_message *m = &g->groups->job->messages[message];
    return m->n_pieces == 1 ? &g->groups->job->pieces[m->first_piece] : NULL;
}

/* Does `later` send exactly the run that `before` brings, slice by slice? */
static bool sends_on(const grouper *g, uint32_t before, uint32_t later)
{
    const cap_piece *brought = only_piece(g, before), *sent = only_piece(g, later);

    return brought != NULL && sent != NULL && brought->to == sent->from &&
           brought->count == sent->count && g->slices[before] == g->slices[later];
}

/* Before the rank's part of a group, placings of all groups up to `of` have to be done. */
static void need(grouper *g, uint32_t group, uint32_t rank, uint32_t of)
{
    uint32_t *place = &g->groups->wait_for[(size_t)group * g->groups->n_ranks + rank];

    if (of != CAP_NO_GROUP && (*place == CAP_NO_GROUP || *place < of)) {
        assert(of < group);
        *place = of;
    }
}

/* The last of those sends of the destination that have to leave before the message is put into
 * place, of its own step; CAP_NONE: all are of earlier ones. There is one a link: `link` says of
 * which. */
static uint32_t sent_meanwhile(const grouper *g, const cap_message *m, uint32_t link)
{
    const cap_port *port = &g->groups->job->ranks[m->dst].ports[link];
    const uint32_t  sent = nth(port->sends, m->place_after_sends[link]);

    return sent != CAP_NONE && g->steps[sent] == g->steps[m->id] ? sent : CAP_NONE;
}

static bool has_to_be_staged(const grouper *g, const cap_message *m)
{
    for (uint32_t f = 0; f < CS_FABRICS; f++) {
        if (sent_meanwhile(g, m, f) != CAP_NONE) {
            return true;
        }
    }
    return is_worked_on(g->groups->job, m);
}

/* After which group's messages a slice may be put into place. */
static uint32_t placing_group(const grouper *g, const cap_message *m, uint32_t slice)
{
    uint32_t group = group_of(g, m->id, slice);

    for (uint32_t f = 0; f < CS_FABRICS; f++) {
        const uint32_t sent = sent_meanwhile(g, m, f);
        if (sent == CAP_NONE) {
            continue;
        }
        const uint32_t until =
            sends_on(g, m->id, sent) ? group_of(g, sent, slice) : last_group_of(g, sent);
        group = until > group ? until : group;
    }
    return group;
}

/* Where a message is staged: from the beginning of the half that its step uses, whose turn it is.
 */
static void stage(grouper *g, const cap_message *m)
{
    struct half *h    = &g->halves[m->dst];
    place_of    *span = &g->places[m->id];

    if (h->step != g->steps[m->id]) {
        h->busy_until[h->which] = h->placed;
        h->step                 = g->steps[m->id];
        h->which                = !h->which;
        h->placed               = CAP_NO_GROUP;
        h->used                 = 0;
    }
    const uint32_t placed = g->groups->spans[m->id].placed;
    span->at              = h->used;
    span->half            = h->which;
    span->free_after      = h->busy_until[h->which];
    h->placed             = h->placed == CAP_NO_GROUP || placed > h->placed ? placed : h->placed;
    h->used += m->count;
    if (h->used > g->groups->n_staged[m->dst]) {
        g->groups->n_staged[m->dst] = h->used;
    }
}

/* Of all messages: their groups, and their places in staging areas. */
static void find_spans(grouper *g)
{
    const cap_job *job = g->groups->job;

    for (uint32_t i = 0; i < job->n_messages; i++) {
        const cap_message *m    = &job->messages[g->order[i]];
        const uint32_t     last = g->slices[m->id] - 1;
        g->groups->spans[m->id] = (struct cap_span){.first     = group_of(g, m->id, 0),
                                                    .last      = group_of(g, m->id, last),
                                                    .placed    = placing_group(g, m, last),
                                                    .is_staged = has_to_be_staged(g, m)};
        if (g->groups->spans[m->id].is_staged) {
            stage(g, m);
        }
    }
    for (uint32_t i = 0; i < job->n_messages; i++) { /* the second half stands behind the first */
        g->places[i].at += g->places[i].half * g->groups->n_staged[job->messages[i].dst];
    }
    for (uint32_t r = 0; r < g->groups->n_ranks; r++) {
        g->groups->n_staged[r] *= 2;
    }
}

static bool add_move(grouper *g, uint32_t group, cap_move move)
{
    cap_groups *groups = g->groups;

    if (!cs_grow(&groups->moves, &g->move_capacity, g->n_moves + 1, 64, sizeof move) ||
        !cs_grow(&g->move_groups, &g->move_group_capacity, g->n_moves + 1, 64,
                 sizeof *g->move_groups)) {
        return false;
    }
    g->move_groups[g->n_moves]  = group;
    groups->moves[g->n_moves++] = move;
    return true;
}

static bool add_placing(grouper *g, uint32_t group, cap_placing placing)
{
    cap_groups *groups = g->groups;

    if (!cs_grow(&groups->placings, &g->placing_capacity, g->n_placings + 1, 64, sizeof placing) ||
        !cs_grow(&g->placing_groups, &g->placing_group_capacity, g->n_placings + 1, 64,
                 sizeof *g->placing_groups)) {
        return false;
    }
    g->placing_groups[g->n_placings]  = group;
    groups->placings[g->n_placings++] = placing;
    return true;
}

/* The part of a piece that lies in [begin, end) of the message; false: none. */
static bool cut(const cap_piece *whole, uint64_t begin, uint64_t end, cap_piece *part)
{
    const uint64_t piece_end = whole->wire + whole->count;
    const uint64_t from      = whole->wire > begin ? whole->wire : begin;
    const uint64_t to        = piece_end < end ? piece_end : end;

    if (from >= to) {
        return false;
    }
    const uint64_t skip = from - whole->wire;
    *part               = *whole;
    part->wire          = from;
    part->from += skip;
    part->to += skip;
    part->base += skip;
    part->out += whole->out == CAP_NOWHERE ? 0 : skip;
    part->count = to - from;
    return true;
}

/* One slice of a message: pieces that lie together at both ends travel as one. */
static bool add_slice(grouper *g, const cap_message *m, uint32_t slice)
{
    const bool     is_staged = g->groups->spans[m->id].is_staged;
    const uint64_t begin = slice * g->slice, staging = g->places[m->id].at;
    const uint64_t rest  = m->count - begin;
    const uint64_t end   = begin + (slice + 1 == g->slices[m->id] ? rest : g->slice);
    const uint32_t group = group_of(g, m->id, slice), place = placing_group(g, m, slice);
    cap_move       open = {.message = m->id, .is_staged = is_staged};
    cap_piece      part;

    for (uint32_t i = 0; i < m->n_pieces; i++) {
        if (!cut(&g->groups->job->pieces[m->first_piece + i], begin, end, &part)) {
            continue;
        }
        const uint64_t to = is_staged ? staging + part.wire : part.to;
        if (!part.is_repeat && open.from + open.count == part.from && open.to + open.count == to) {
            open.count += part.count;
        } else if (!part.is_repeat) {
            if (open.count > 0 && !add_move(g, group, open)) {
                return false;
            }
            open.from  = part.from;
            open.to    = to;
            open.count = part.count;
        }
        const cap_placing placing = {.rank   = m->dst,
                                     .staged = to,
                                     .to     = part.to,
                                     .base   = part.base,
                                     .out    = part.out,
                                     .count  = part.count,
                                     .adds   = part.adds};
        if (is_staged && !add_placing(g, place, placing)) {
            return false;
        }
    }
    return open.count == 0 || add_move(g, group, open);
}

/* What a slice waits for: at its source, that what it sends is in place; at its destination, that
 * the staging area is free, or that what was there before is in place. */
static void find_needs(grouper *g, const cap_message *m, uint32_t slice)
{
    const cap_rank *ranks     = g->groups->job->ranks;
    const uint32_t  group     = group_of(g, m->id, slice);
    const bool      is_staged = g->groups->spans[m->id].is_staged;

    for (uint32_t f = 0; f < CS_FABRICS; f++) {
        const uint32_t data = nth(ranks[m->src].ports[f].receives, m->data_after_receives[f]);
        const uint32_t old  = nth(ranks[m->dst].ports[f].receives, m->place_after_receives[f]);
        if (data != CAP_NONE) {
            const cap_message *brings = &g->groups->job->messages[data];
            need(g, group, m->src,
                 sends_on(g, data, m->id) ? placing_group(g, brings, slice) : placed_of(g, data));
        }
        if (old != CAP_NONE && !is_staged) {
            need(g, group, m->dst, placed_of(g, old));
        }
    }
    if (is_staged) {
        need(g, group, m->dst, g->places[m->id].free_after);
    }
}

static bool add_messages(grouper *g)
{
    const cap_job *job = g->groups->job;

    for (uint32_t i = 0; i < job->n_messages; i++) {
        const cap_message *m = &job->messages[g->order[i]];
        for (uint32_t slice = 0; m->count > 0 && slice < g->slices[m->id]; slice++) {
            find_needs(g, m, slice);
            if (!add_slice(g, m, slice)) {
                return false;
            }
        }
    }
    return true;
}

/* ---- the lists of the groups ---- */

/* Sort `n` rows of `bytes` by group, those of one group as they stand, and say where each group
 * begins. */
static bool sort_by_group(void *rows_p, size_t bytes, const uint32_t *group, size_t n,
                          uint32_t n_groups, size_t *first)
{
    char   *rows   = *(char **)rows_p;
    char   *sorted = cs_calloc(n, bytes);
    size_t *next   = CS_NEW(size_t, (size_t)n_groups + 1);

    if (sorted == NULL || next == NULL) {
        cs_free(sorted);
        cs_free(next);
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        first[group[i] + 1]++;
    }
    for (uint32_t i = 0; i < n_groups; i++) {
        first[i + 1] += first[i];
        next[i] = first[i];
    }
    for (size_t i = 0; i < n; i++) {
        memcpy(sorted + next[group[i]]++ * bytes, rows + i * bytes, bytes);
    }
    cs_free(next);
    cs_free(rows);
    *(char **)rows_p = sorted;
    return true;
}

/* From "placings up to that group" to the last group that has any; and nothing where the stream has
 * waited for it before. */
static bool find_waits(grouper *g)
{
    cap_groups *groups = g->groups;
    uint32_t    n      = groups->n_ranks;
    uint32_t   *last   = CS_NEW(uint32_t, (size_t)groups->n_groups * n); /* [group][rank] */
    uint32_t   *waited = CS_NEW(uint32_t, n);                            /* group + 1; 0: none */

    if (last == NULL || waited == NULL) {
        cs_free(last);
        cs_free(waited);
        return false;
    }
    for (uint32_t group = 0; group < groups->n_groups; group++) {
        uint32_t *row = last + (size_t)group * n;
        for (uint32_t r = 0; r < n; r++) {
            row[r] = group == 0 ? CAP_NO_GROUP : last[(size_t)(group - 1) * n + r];
        }
        for (size_t i = groups->first_placing[group]; i < groups->first_placing[group + 1]; i++) {
            row[groups->placings[i].rank] = group;
        }
        for (uint32_t r = 0; r < n; r++) {
            uint32_t *wait = &groups->wait_for[(size_t)group * n + r];
            *wait          = *wait == CAP_NO_GROUP ? CAP_NO_GROUP : last[(size_t)*wait * n + r];
            if (*wait != CAP_NO_GROUP && *wait + 1 <= waited[r]) {
                *wait = CAP_NO_GROUP;
            } else if (*wait != CAP_NO_GROUP) {
                waited[r] = *wait + 1;
            }
        }
    }
    cs_free(last);
    cs_free(waited);
    return true;
}

static bool list_groups(grouper *g)
{
    cap_groups *groups = g->groups;
    uint32_t    n      = groups->n_groups;

    groups->first_move    = CS_NEW(size_t, (size_t)n + 1);
    groups->first_placing = CS_NEW(size_t, (size_t)n + 1);
    return groups->first_move != NULL && groups->first_placing != NULL &&
           sort_by_group(&groups->moves, sizeof *groups->moves, g->move_groups, g->n_moves, n,
                         groups->first_move) &&
           sort_by_group(&groups->placings, sizeof *groups->placings, g->placing_groups,
                         g->n_placings, n, groups->first_placing) &&
           find_waits(g);
}

static bool make(grouper *g)
{
    cap_groups  *groups = g->groups;
    const size_t n      = groups->job->n_messages;

    g->keys          = CS_NEW(step_key, n);
    g->steps         = CS_NEW(uint32_t, n);
    g->slices        = CS_NEW(uint32_t, n);
    g->order         = CS_NEW(uint32_t, n);
    g->first_group   = CS_NEW(uint32_t, n + 1);
    g->places        = CS_NEW(place_of, n);
    g->halves        = CS_NEW(struct half, groups->n_ranks);
    groups->spans    = CS_NEW(struct cap_span, n);
    groups->n_staged = CS_NEW(uint64_t, groups->n_ranks);
    if (g->keys == NULL || g->steps == NULL || g->slices == NULL || g->order == NULL ||
        g->first_group == NULL || g->places == NULL || g->halves == NULL || groups->spans == NULL ||
        groups->n_staged == NULL) {
        return false;
    }
    for (uint32_t r = 0; r < groups->n_ranks; r++) {
        g->halves[r] = (struct half){
            .step = UINT32_MAX, .placed = CAP_NO_GROUP, .busy_until = {CAP_NO_GROUP, CAP_NO_GROUP}};
    }
    for (size_t i = 0; i < n; i++) {
        g->slices[i] = slices_for(g, &groups->job->messages[i]);
    }
    find_keys(g);
    if (!number_steps(g)) {
        return false;
    }
    const size_t cells = (size_t)groups->n_groups * groups->n_ranks;
    groups->wait_for   = CS_NEW(uint32_t, cells);
    if (groups->wait_for == NULL) {
        return false;
    }
    for (size_t i = 0; i < cells; i++) {
        groups->wait_for[i] = CAP_NO_GROUP;
    }
    find_spans(g);
    return add_messages(g) && list_groups(g);
}

cs_status cap_groups_make(const cap_job *job, uint64_t slice, cap_groups **groups_p, cs_error *err)
{
    grouper g = {.slice = slice, .groups = CS_NEW(cap_groups, 1)};

    if (g.groups == NULL) {
        return CS_NO_MEMORY(err, "groups");
    }
    g.groups->job     = job;
    g.groups->n_ranks = job->schedule->stored->n_ranks;
    const bool made   = make(&g);
    cs_free(g.keys);
    cs_free(g.steps);
    cs_free(g.slices);
    cs_free(g.order);
    cs_free(g.first_group);
    cs_free(g.places);
    cs_free(g.halves);
    cs_free(g.move_groups);
    cs_free(g.placing_groups);
    if (!made) {
        cap_groups_free(g.groups);
        return CS_NO_MEMORY(err, "the groups of %u messages", job->n_messages);
    }
    *groups_p = g.groups;
    return CS_OK;
}

void cap_groups_free(cap_groups *groups)
{
    if (groups == NULL) {
        return;
    }
    cs_free(groups->moves);
    cs_free(groups->first_move);
    cs_free(groups->placings);
    cs_free(groups->first_placing);
    cs_free(groups->wait_for);
    cs_free(groups->n_staged);
    cs_free(groups->spans);
    cs_free(groups);
}
