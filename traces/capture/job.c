/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From the list of transfers to what every rank does: two passes. The first one lays out the
 * memories, the second one makes messages, and follows which of them read and wrote every slot
 * last.
 */
#include "job.h"

#include "base/alloc.h"

#include <math.h>
#include <string.h>

enum { CAP_RUN = 1024 }; /* floats that are compared at once */

/* ---- memories ---- */

static uint64_t *new_places(size_t count)
{
    uint64_t *places = CS_NEW(uint64_t, count);

    for (size_t i = 0; places != NULL && i < count; i++) {
        places[i] = CAP_NOWHERE;
    }
    return places;
}

/* Slots and chunks are first marked with the floats that they need. */
static void need(uint64_t *places, uint32_t index, uint64_t count)
{
    if (places[index] == CAP_NOWHERE || places[index] < count) {
        places[index] = count;
    }
}

/* What one end of a transfer touches. */
static void need_end(const cap_job *job, uint32_t rank, const cs_transfer *t, uint32_t slot,
                     bool uses_own, bool is_done)
{
    cap_rank *r = &job->ranks[rank];

    for (uint32_t k = 0; k < t->span; k++) {
        uint64_t count = cap_chunk_count(job->schedule, t->chunk + k);
        need(r->slot_begin, slot + k, count);
        if (uses_own) {
            need(r->own_begin, t->chunk + k, count);
        }
        if (is_done && !job->schedule->is_in_place) {
            need(r->out_begin, t->chunk + k, count);
        }
    }
}

static uint64_t place(uint64_t *places, size_t count, uint64_t at)
{
    for (size_t i = 0; i < count; i++) {
        if (places[i] != CAP_NOWHERE) {
            uint64_t floats = places[i];
            places[i]       = at;
            at += floats;
        }
    }
    return at;
}

static cs_status lay_out(cap_job *job, cs_error *err)
{
    const cap_schedule *s = job->schedule;
    uint32_t            n = s->stored->n_ranks, n_chunks = s->stored->n_chunks;

    for (uint32_t r = 0; r < n; r++) {
        cap_rank *rank   = &job->ranks[r];
        rank->slot_begin = new_places(s->n_slots);
        rank->own_begin  = new_places(n_chunks);
        rank->out_begin  = new_places(n_chunks);
        if (rank->slot_begin == NULL || rank->own_begin == NULL || rank->out_begin == NULL) {
            return CS_NO_MEMORY(err, "the memories of %u ranks", n);
        }
    }
    for (uint32_t i = 0; i < s->n_transfers; i++) {
        const cs_transfer *t = &s->transfers[i];
        need_end(job, t->src, t, t->src_slot, (t->flags & CS_OWN_SRC) != 0,
                 (t->flags & CS_DONE_SRC) != 0);
        need_end(job, t->dst, t, t->dst_slot, (t->flags & CS_OWN_DST) != 0,
                 (t->flags & CS_DONE_DST) != 0);
    }
    for (uint32_t r = 0; r < n; r++) {
        cap_rank *rank = &job->ranks[r];
        rank->n_floats = place(rank->slot_begin, s->n_slots, 0);
        rank->n_floats = place(rank->own_begin, n_chunks, rank->n_floats);
        rank->n_floats = place(rank->out_begin, n_chunks, rank->n_floats);
    }
    return CS_OK;
}

/* ---- messages ---- */

/* How many messages of each port have read and written a slot so far, or stood before the last one
 * that has; `set` are those writes that what comes later must not precede. */
typedef struct mark {
    uint32_t read[CS_FABRICS], written[CS_FABRICS], set[CS_FABRICS];
} mark;

typedef struct maker {
    cap_job *job;
    mark    *marks; /* [n_ranks][n_slots] */
    size_t   message_capacity, piece_capacity;
    uint32_t fence; /* so many so far */
} maker;

/* One end of a transfer, of the direction that is sent. */
typedef struct way {
    uint32_t src, dst, src_slot, dst_slot;
    bool     src_own, dst_own, adds, done;
} way;

static way way_there(const cs_transfer *t)
{
    return (way){.src      = t->src,
                 .dst      = t->dst,
                 .src_slot = t->src_slot,
                 .dst_slot = t->dst_slot,
                 .src_own  = (t->flags & CS_OWN_SRC) != 0,
                 .dst_own  = (t->flags & CS_OWN_DST) != 0,
                 .adds     = cs_transfer_op(t) != CS_OP_COPY,
                 .done     = (t->flags & CS_DONE_DST) != 0};
}

/* The other direction of an exchange. */
static way way_back(const cs_transfer *t)
{
    return (way){.src      = t->dst,
                 .dst      = t->src,
                 .src_slot = t->dst_slot,
                 .dst_slot = t->src_slot,
                 .src_own  = (t->flags & CS_OWN_DST) != 0,
                 .dst_own  = (t->flags & CS_OWN_SRC) != 0,
                 .adds     = true,
                 .done     = (t->flags & CS_DONE_SRC) != 0};
}

static cap_message *add_message(maker *m, const cs_transfer *t, const way *w)
{
    cap_job *job    = m->job;
    uint32_t link   = cs_transfer_fabric(t);
    cap_message new = {.id          = job->n_messages,
                       .src         = w->src,
                       .dst         = w->dst,
                       .link        = link,
                       .round       = t->round,
                       .partner     = CAP_NONE,
                       .fence       = m->fence,
                       .send        = job->ranks[w->src].ports[link].n_sends,
                       .receive     = job->ranks[w->dst].ports[link].n_receives,
                       .first_piece = job->n_pieces};

    if (!cs_grow(&job->messages, &m->message_capacity, job->n_messages + 1, 64,
                 sizeof *job->messages)) {
        return NULL;
    }
    job->ranks[w->src].ports[link].n_sends++;
    job->ranks[w->dst].ports[link].n_receives++;
    job->messages[job->n_messages] = new;
    return &job->messages[job->n_messages++];
}

/* Does `b` go on where `a` ends, everywhere? */
static bool continues(const cap_piece *a, const cap_piece *b)
{
    return b->wire == a->wire + a->count && b->from == a->from + a->count &&
           b->to == a->to + a->count && a->adds == b->adds &&
           (!a->adds || b->base == a->base + a->count) &&
           (a->out == CAP_NOWHERE ? b->out == CAP_NOWHERE : b->out == a->out + a->count) &&
           !a->is_repeat && !b->is_repeat;
}

static bool add_piece(maker *m, cap_message *message, const cap_piece *piece)
{
    cap_job *job = m->job;

    if (piece->count == 0) {
        return true;
    }
    if (message->n_pieces > 0 && continues(&job->pieces[job->n_pieces - 1], piece)) {
        job->pieces[job->n_pieces - 1].count += piece->count;
        return true;
    }
    if (!cs_grow(&job->pieces, &m->piece_capacity, (size_t)job->n_pieces + 1, 64,
                 sizeof *job->pieces)) {
        return false;
    }
    job->pieces[job->n_pieces++] = *piece;
    message->n_pieces++;
    return true;
}

/* The chunks of one transfer in one direction. */
static bool add_pieces(maker *m, cap_message *message, const cs_transfer *t, const way *w,
                       bool is_repeat)
{
    const cap_rank *src = &m->job->ranks[w->src], *dst = &m->job->ranks[w->dst];
    uint64_t        before = 0, wire;

    message->has_repeats |= is_repeat;
    for (uint32_t k = 0; k < t->span && is_repeat; k++) {
        before += cap_chunk_count(m->job->schedule, t->chunk + k);
    }
    wire = message->count - before;
    for (uint32_t k = 0; k < t->span; k++) {
        uint32_t  chunk = t->chunk + k;
        uint64_t  count = cap_chunk_count(m->job->schedule, chunk);
        cap_piece piece = {
            .wire      = wire,
            .from      = w->src_own ? src->own_begin[chunk] : src->slot_begin[w->src_slot + k],
            .to        = dst->slot_begin[w->dst_slot + k],
            .base      = w->dst_own ? dst->own_begin[chunk] : dst->slot_begin[w->dst_slot + k],
            .out       = w->done ? dst->out_begin[chunk] : CAP_NOWHERE,
            .count     = count,
            .adds      = w->adds,
            .is_repeat = is_repeat};
        if (!add_piece(m, message, &piece)) {
            return false;
        }
        wire += count;
        message->count += is_repeat ? 0 : count;
    }
    return true;
}

static mark *mark_of(const maker *m, uint32_t rank, uint32_t slot)
{
    return &m->marks[(size_t)rank * m->job->schedule->n_slots + slot];
}

static void at_least(uint32_t *numbers, const uint32_t *others)
{
    for (uint32_t f = 0; f < CS_FABRICS; f++) {
        numbers[f] = numbers[f] < others[f] ? others[f] : numbers[f];
    }
}

/* What a message waits for at its source, and that it reads. Before note_writes() of it and of its
 * partner. */
static void note_reads(maker *m, cap_message *message, const cs_transfer *t, const way *w)
{
    for (uint32_t k = 0; k < t->span && !w->src_own; k++) {
        mark *slot = mark_of(m, w->src, w->src_slot + k);
        at_least(message->data_after_receives, slot->written);
        slot->read[message->link] = message->send + 1;
    }
}

/* What is only added to a slot may be added in any order: a port does not wait for another one's.
 */
static void note_writes(maker *m, cap_message *message, const cs_transfer *t, const way *w)
{
    uint32_t *own      = &message->place_after_receives[message->link];
    bool      commutes = w->adds && !w->dst_own && (!w->done || m->job->schedule->is_in_place);

    for (uint32_t k = 0; k < t->span; k++) {
        mark *slot = mark_of(m, w->dst, w->dst_slot + k);
        at_least(message->place_after_sends, slot->read);
        at_least(message->place_after_receives, commutes ? slot->set : slot->written);
        slot->written[message->link] = message->receive + 1;
        if (!commutes) {
            slot->set[message->link] = message->receive + 1;
        }
    }
    /* Parts that are put into the same place do not wait for themselves. */
    *own = *own > message->receive ? message->receive : *own;
}

static bool add_exchange(maker *m, const cs_transfer *t)
{
    const way there = way_there(t), back = way_back(t);
    uint32_t  first = m->job->n_messages;

    for (int i = 0; i < 2; i++) {
        const way   *w       = i == 0 ? &there : &back;
        cap_message *message = add_message(m, t, w);
        if (message == NULL || !add_pieces(m, message, t, w, false)) {
            return false;
        }
        message->partner = first + (i == 0);
        note_reads(m, message, t, w);
    }
    note_writes(m, &m->job->messages[first], t, &there);
    note_writes(m, &m->job->messages[first + 1], t, &back);
    return true;
}

/* A message of `parts` transfers, each of which is read before any of them is put into place. */
static bool add_joined(maker *m, const cs_transfer *t, uint32_t parts)
{
    const way    w       = way_there(t);
    cap_message *message = add_message(m, t, &w);

    for (uint32_t i = 0; message != NULL && i < parts; i++) {
        const way part = way_there(&t[i]);
        if (!add_pieces(m, message, &t[i], &part, i > 0 && cs_is_repeat(&t[i]))) {
            return false;
        }
        note_reads(m, message, &t[i], &part);
    }
    for (uint32_t i = 0; message != NULL && i < parts; i++) {
        const way part = way_there(&t[i]);
        note_writes(m, message, &t[i], &part);
    }
    return message != NULL;
}

static bool add_transfers(maker *m)
{
    const cap_schedule *s = m->job->schedule;

    for (uint32_t i = 0, parts; i < s->n_transfers; i += parts) {
        const cs_transfer *t = &s->transfers[i];
        for (parts = 1; i + parts < s->n_transfers && (t[parts].flags & CS_JOIN) != 0; parts++) {
        }
        m->fence += (t->flags & CS_FENCE) != 0;
        bool is_exchange = cs_transfer_op(t) == CS_OP_EXCHANGE;
        if (is_exchange ? !add_exchange(m, t) : !add_joined(m, t, parts)) {
            return false;
        }
    }
    return true;
}

/* The lists of the ports, from what messages say of their places in them. */
static bool list_ports(cap_job *job)
{
    for (uint32_t r = 0; r < job->schedule->stored->n_ranks; r++) {
        for (uint32_t f = 0; f < CS_FABRICS; f++) {
            cap_port *port = &job->ranks[r].ports[f];
            port->sends    = CS_NEW(uint32_t, port->n_sends);
            port->receives = CS_NEW(uint32_t, port->n_receives);
            if (port->sends == NULL || port->receives == NULL) {
                return false;
            }
        }
    }
    for (uint32_t i = 0; i < job->n_messages; i++) {
        const cap_message *m = &job->messages[i];

        job->ranks[m->src].ports[m->link].sends[m->send]       = i;
        job->ranks[m->dst].ports[m->link].receives[m->receive] = i;
        job->most_count = m->count > job->most_count ? m->count : job->most_count;
    }
    return true;
}

static cs_status make_messages(cap_job *job, cs_error *err)
{
    const cap_schedule *s = job->schedule;
    maker               m = {.job = job};

    m.marks         = CS_NEW(mark, (size_t)s->stored->n_ranks * s->n_slots);
    bool has_memory = m.marks != NULL && add_transfers(&m) && list_ports(job);
    cs_free(m.marks);
    return has_memory ? CS_OK : CS_NO_MEMORY(err, "the messages of %u transfers", s->n_transfers);
}

cs_status cap_job_make(const cap_schedule *schedule, cap_job **job_p, cs_error *err)
{
    cap_job *job = CS_NEW(cap_job, 1);

    if (job != NULL) {
        job->schedule = schedule;
        job->ranks    = CS_NEW(cap_rank, schedule->stored->n_ranks);
    }
    if (job == NULL || job->ranks == NULL) {
        cs_free(job);
        return CS_NO_MEMORY(err, "a job");
    }
    cs_status status = lay_out(job, err);
    if (status == CS_OK) {
        status = make_messages(job, err);
    }
    if (status != CS_OK) {
        cap_job_free(job);
        return status;
    }
    *job_p = job;
    return CS_OK;
}

void cap_job_free(cap_job *job)
{
    if (job == NULL) {
        return;
    }
    for (uint32_t r = 0; r < job->schedule->stored->n_ranks; r++) {
        for (uint32_t f = 0; f < CS_FABRICS; f++) {
            cs_free(job->ranks[r].ports[f].sends);
            cs_free(job->ranks[r].ports[f].receives);
        }
        cs_free(job->ranks[r].slot_begin);
        cs_free(job->ranks[r].own_begin);
        cs_free(job->ranks[r].out_begin);
    }
    cs_free(job->ranks);
    cs_free(job->messages);
    cs_free(job->pieces);
    cs_free(job);
}

/* ---- values ---- */

static uint32_t mix(uint32_t x)
{
    x = (x ^ x >> 16) * 0x7feb352du;
    x = (x ^ x >> 15) * 0x846ca68bu;
    return x ^ x >> 16;
}

static uint32_t word_of_place(uint64_t at)
{
    return mix((uint32_t)at ^ (uint32_t)(at >> 32) * 0x9e3779b9u);
}

static uint32_t word_of_rank(uint32_t rank, uint32_t repetition)
{
    return mix(rank * 0x9e3779b9u + repetition * 0x85ebca6bu + 1);
}

static float value_of(uint32_t rank_word, uint32_t place_word)
{
    return (float)(((rank_word ^ place_word) & 4095u) + 1);
}

float cap_value(uint32_t rank, uint32_t repetition, uint64_t at)
{
    return value_of(word_of_rank(rank, repetition), word_of_place(at));
}

static void fill_chunk(const cap_schedule *s, uint32_t chunk, uint32_t rank_word, float *to)
{
    uint64_t begin = s->chunk_begin[chunk], count = cap_chunk_count(s, chunk);

    for (uint64_t i = 0; i < count; i++) {
        to[i] = value_of(rank_word, word_of_place(begin + i));
    }
}

void cap_job_fill(const cap_job *job, uint32_t rank, uint32_t repetition, float *memory)
{
    const cap_schedule *s          = job->schedule;
    const cap_rank     *r          = &job->ranks[rank];
    uint32_t            word       = word_of_rank(rank, repetition);
    bool                starts_own = s->stored->plan.starts_own;

    for (uint64_t i = 0; i < r->n_floats; i++) {
        memory[i] = NAN;
    }
    for (uint32_t c = 0; c < s->stored->n_chunks; c++) {
        if (starts_own && r->slot_begin[c] != CAP_NOWHERE) {
            fill_chunk(s, c, word, memory + r->slot_begin[c]);
        }
        if (r->own_begin[c] != CAP_NOWHERE) {
            fill_chunk(s, c, word, memory + r->own_begin[c]);
        }
    }
}

/* What floats [at, at + count) of the buffer end with. */
static void expect(const cap_schedule *s, uint32_t who, uint32_t repetition, uint64_t at,
                   uint32_t count, float *want)
{
    uint32_t place_words[CAP_RUN];
    bool     is_sum = who == CS_EVERY_RANK;
    uint32_t first = is_sum ? 0 : who, end = is_sum ? s->stored->n_ranks : who + 1;

    for (uint32_t i = 0; i < count; i++) {
        place_words[i] = word_of_place(at + i);
        want[i]        = 0;
    }
    for (uint32_t r = first; r < end; r++) {
        uint32_t word = word_of_rank(r, repetition);
        for (uint32_t i = 0; i < count; i++) {
            want[i] += value_of(word, place_words[i]);
        }
    }
}

static uint64_t count_wrong_in_chunk(const cap_schedule *s, uint32_t chunk, uint32_t repetition,
                                     const float *values)
{
    const cs_chunks chunks = cap_chunks(s);
    uint32_t        who    = cs_chunk_contributor(&chunks, chunk);
    uint64_t        begin = s->chunk_begin[chunk], left = cap_chunk_count(s, chunk), wrong = 0;
    float           want[CAP_RUN];

    while (left > 0) {
        uint32_t run = left < CAP_RUN ? (uint32_t)left : CAP_RUN;
        expect(s, who, repetition, begin, run, want);
        for (uint32_t i = 0; i < run; i++) {
            wrong += !(values[i] == want[i]); /* NAN is wrong, too */
        }
        values += run;
        begin += run;
        left -= run;
    }
    return wrong;
}

uint64_t cap_job_count_wrong(const cap_job *job, uint32_t rank, uint32_t repetition,
                             const float *memory)
{
    const cap_schedule *s      = job->schedule;
    const cap_rank     *r      = &job->ranks[rank];
    const cs_chunks     chunks = cap_chunks(s);
    uint64_t            wrong  = 0;

    for (uint32_t c = 0; c < s->stored->n_chunks; c++) {
        if (cs_chunk_is_owed(&chunks, c, rank)) {
            uint64_t at = s->is_in_place ? r->slot_begin[c] : r->out_begin[c];
            wrong += at == CAP_NOWHERE ? cap_chunk_count(s, c)
                                       : count_wrong_in_chunk(s, c, repetition, memory + at);
        }
    }
    return wrong;
}

/* ---- taking in ---- */

static void apply_piece(const cap_piece *piece, uint64_t from, const float *values, uint64_t count,
                        float *memory)
{
    float *to = memory + piece->to + from;

    if (piece->adds) {
        const float *base = memory + piece->base + from;
        for (uint64_t i = 0; i < count; i++) {
            to[i] = base[i] + values[i];
        }
    } else if (to != values) {
        memcpy(to, values, count * sizeof *to);
    }
    if (piece->out != CAP_NOWHERE) {
        memcpy(memory + piece->out + from, to, count * sizeof *to);
    }
}

void cap_message_apply(const cap_job *job, const cap_message *message, uint64_t wire,
                       const float *values, uint64_t count, float *memory)
{
    const cap_piece *piece = job->pieces + message->first_piece;

    for (const cap_piece *last = piece + message->n_pieces; piece < last; piece++) {
        uint64_t begin = piece->wire > wire ? piece->wire : wire;
        uint64_t end   = piece->wire + piece->count;

        end = end < wire + count ? end : wire + count;
        if (begin < end) {
            apply_piece(piece, begin - piece->wire, values + (begin - wire), end - begin, memory);
        }
    }
}

float *cap_message_place(const cap_job *job, const cap_message *message, uint64_t wire,
                         float *memory, uint64_t *count_p)
{
    const cap_piece *piece = job->pieces + message->first_piece;

    for (const cap_piece *last = piece + message->n_pieces; piece < last; piece++) {
        if (wire >= piece->wire && wire < piece->wire + piece->count) {
            uint64_t from = wire - piece->wire;
            *count_p      = piece->count - from;
            return piece->adds || piece->out != CAP_NOWHERE || message->has_repeats
                       ? NULL
                       : memory + piece->to + from;
        }
    }
    *count_p = 0;
    return NULL;
}
