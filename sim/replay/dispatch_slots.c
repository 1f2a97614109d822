/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The data rule: who has to write before a message may read. A slot names the version that was
 * written last in stream order, as long as it is not resolved; readers wait for the version that
 * they find, whatever is written later. */
#include "replay/dispatch_state.h"

static inline size_t slot_of(const cs_dispatch *d, uint32_t rank, uint32_t slot)
{
    return (size_t)rank * d->ports.n_slots + slot;
}

/* Do all of `span` neighbours hold the version `value`? Without a branch inside: spans are long in
 * halving and doubling. */
static inline bool all_are(const uint32_t *newest, uint32_t span, uint32_t value)
{
    uint32_t differences = 0;

    for (uint32_t i = 0; i < span; i++) {
        differences |= newest[i] ^ value;
    }
    return differences == 0;
}

static inline void wait_for(cs_dispatch *d, uint32_t message, uint32_t version)
{
    if (version != 0) {
        cs_wait_in(d, &cs_version_at(d, version)->waiters, message << 1);
        cs_message_at(d, message)->waits++;
    }
}

static inline void read_slots(cs_dispatch *d, uint32_t message, size_t first, uint32_t span)
{
    const uint32_t *newest = d->newest + first;
    uint32_t        last   = newest[0];

    wait_for(d, message, last);
    if (all_are(newest, span, last)) {
        return;
    }
    for (uint32_t i = 1; i < span; i++) {
        if (newest[i] != last) {
            last = newest[i];
            wait_for(d, message, last);
        }
    }
}

void cs_slots_read(cs_dispatch *d, uint32_t message, const cs_transfer *t)
{
    if ((t->flags & CS_OWN_SRC) == 0) {
        read_slots(d, message, slot_of(d, t->src, t->src_slot), t->span);
    }
    if (cs_transfer_op(t) == CS_OP_EXCHANGE && (t->flags & CS_OWN_DST) == 0) {
        read_slots(d, message, slot_of(d, t->dst, t->dst_slot), t->span);
    }
}

static inline uint32_t add_version(cs_dispatch *d, uint32_t message, size_t slot)
{
    uint32_t    index = cs_pool_take(&d->versions, sizeof(cs_version));
    cs_message *m     = cs_message_at(d, message);

    *cs_version_at(d, index) = (cs_version){.next = m->versions, .pending = 1, .slot = slot};
    m->versions              = index;
    return index;
}

/* New versions: one for all neighbours that need nothing but the message itself, and one of its
 * own for every slot to which the message adds while an earlier version is not resolved. */
static inline void write_slots(cs_dispatch *d, uint32_t message, size_t first, uint32_t span,
                               bool adds)
{
    uint32_t *newest = d->newest + first, run = 0;

    if (!adds || all_are(newest, span, 0)) {
        run                         = add_version(d, message, first);
        cs_version_at(d, run)->span = span;
        for (uint32_t i = 0; i < span; i++) {
            newest[i] = run;
        }
        return;
    }
    for (uint32_t i = 0; i < span; i++) {
        uint32_t before = newest[i];
        run             = run == 0 || before != 0 ? add_version(d, message, first + i) : run;
        newest[i]       = run;
        cs_version_at(d, run)->span++;
        if (before != 0) {
            cs_version_at(d, run)->pending = 2;
            cs_wait_in(d, &cs_version_at(d, before)->waiters, run << 1 | 1);
            run = 0;
        }
    }
}

/* In an exchange both ends read first, so that nothing written before can still be missing. */
void cs_slots_write(cs_dispatch *d, uint32_t message, const cs_transfer *t)
{
    cs_op op   = cs_transfer_op(t);
    bool  adds = op == CS_OP_REDUCE && (t->flags & CS_OWN_DST) == 0;

    write_slots(d, message, slot_of(d, t->dst, t->dst_slot), t->span, adds);
    if (op == CS_OP_EXCHANGE) {
        write_slots(d, message, slot_of(d, t->src, t->src_slot), t->span, false);
    }
}

/* One thing less that a version waits for. Resolved ones are put on the list. */
static inline void settle(cs_dispatch *d, uint32_t index, uint32_t *resolved)
{
    cs_version *v = cs_version_at(d, index);

    if (--v->pending == 0) {
        v->next   = *resolved;
        *resolved = index;
    }
}

static void resolve(cs_dispatch *d, uint32_t index, uint32_t *resolved)
{
    const cs_version *v      = cs_version_at(d, index);
    uint32_t         *newest = d->newest + v->slot, span = v->span;

    for (uint32_t i = 0; i < span; i++) {
        newest[i] = newest[i] == index ? 0 : newest[i];
    }
    for (uint32_t e = v->waiters, next; e != 0; e = next) {
        uint32_t target = cs_edge_at(d, e)->target;
        next            = cs_edge_at(d, e)->next;
        cs_pool_give(&d->edges, sizeof(cs_edge), e);
        if ((target & 1u) != 0) {
            settle(d, target >> 1, resolved);
        } else {
            cs_message_notify(d, target >> 1);
        }
    }
    cs_pool_give(&d->versions, sizeof(cs_version), index);
}

void cs_slots_end(cs_dispatch *d, const cs_message *m)
{
    uint32_t resolved = 0;

    for (uint32_t v = m->versions, next; v != 0; v = next) {
        next = cs_version_at(d, v)->next;
        settle(d, v, &resolved);
    }
    while (resolved != 0) {
        uint32_t index = resolved;
        resolved       = cs_version_at(d, index)->next;
        resolve(d, index, &resolved);
    }
}
