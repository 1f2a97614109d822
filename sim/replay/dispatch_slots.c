/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The data rule: who has to write before a message may read. A slot names the version that was
 * written last in stream order, as long as it is not resolved; readers wait for the version that
 * they find, whatever is written later. */
#include "replay/dispatch_state.h"

static inline size_t slot_of(const cs_dispatch *d, uint32_t rank, uint32_t slot)
{
    return (size_t)rank * d->ports.n_slots + slot;
}

static inline void read_slots(cs_dispatch *d, uint32_t message, size_t first, uint32_t span)
{
    uint32_t last = 0;

    for (size_t s = first; s < first + span; s++) {
        uint32_t version = d->newest[s];
        if (version != last && version != 0) {
            cs_wait_in(d, &cs_version_at(d, version)->waiters, message << 1);
            cs_message_at(d, message)->waits++;
        }
        last = version;
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
    uint32_t run = 0;

    for (size_t s = first; s < first + span; s++) {
        uint32_t before = d->newest[s];
        if (adds && before != 0) {
            uint32_t    index = add_version(d, message, s);
            cs_version *v     = cs_version_at(d, index);
            v->span           = 1;
            v->pending        = 2;
            cs_wait_in(d, &cs_version_at(d, before)->waiters, index << 1 | 1);
            d->newest[s] = index;
            run          = 0;
            continue;
        }
        run = run != 0 ? run : add_version(d, message, s);
        cs_version_at(d, run)->span++;
        d->newest[s] = run;
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
    cs_version *v = cs_version_at(d, index);

    for (size_t s = v->slot; s < v->slot + v->span; s++) {
        d->newest[s] = d->newest[s] == index ? 0 : d->newest[s];
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
