/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The data rule: who has to write before a message may read. A slot names the version that was
 * written last in stream order; readers wait for the version that they find, whatever is written
 * later. Nothing is cleared when a version is resolved: a name counts as long as the version is
 * pending and has the slot among its own, for a version that takes up the name again writes it
 * into all its slots. */
#include "replay/dispatch_state.h"

enum { STRIDE = 16 }; /* slots that are compared at once */

static inline size_t slot_of(const cs_dispatch *d, uint32_t rank, uint32_t slot)
{
    return (size_t)rank * d->ports.n_slots + slot;
}

/* How many of `span` neighbours from the first one on have its name? */
static inline uint32_t same_name(const uint32_t *newest, uint32_t span)
{
    uint32_t name = newest[0], i = 1;

    for (uint32_t differences = 0; i + STRIDE <= span; i += STRIDE) {
        for (uint32_t k = 0; k < STRIDE; k++) { /* no branch: spans are long in halving */
            differences |= newest[i + k] ^ name;
        }
        if (differences != 0) {
            break;
        }
    }
    while (i < span && newest[i] == name) {
        i++;
    }
    return i;
}

/* How many of `span` neighbours from `first` on have the same name and wait for the same version
 * (0: for nothing)? The name may be that of a version of other slots, or of some of these. */
static inline uint32_t same_wait(const cs_dispatch *d, size_t first, uint32_t span,
                                 uint32_t *version_p)
{
    uint32_t          name = d->newest[first], run = same_name(d->newest + first, span);
    const cs_version *v = cs_version_at(d, name);

    *version_p = 0;
    if (name == 0 || v->pending == 0) {
        return run;
    }
    if (first < v->slot) {
        return v->slot - first < run ? (uint32_t)(v->slot - first) : run;
    }
    if (first - v->slot < v->span) {
        uint32_t left = v->span - (uint32_t)(first - v->slot);
        *version_p    = name;
        return left < run ? left : run;
    }
    return run;
}

/* How many of `span` neighbours from `first` on wait for the same version, and for which? */
static inline uint32_t same_version(const cs_dispatch *d, size_t first, uint32_t span,
                                    uint32_t *version_p)
{
    uint32_t run = same_wait(d, first, span, version_p);

    for (uint32_t version; *version_p == 0 && run < span;) {
        uint32_t more = same_wait(d, first + run, span - run, &version);
        if (version != 0) {
            break;
        }
        run += more;
    }
    return run;
}

static inline void read_slots(cs_dispatch *d, uint32_t message, size_t first, uint32_t span)
{
    for (uint32_t i = 0, version; i < span;) {
        i += same_version(d, first + i, span - i, &version);
        if (version != 0) {
            cs_wait_in(d, &cs_version_at(d, version)->waiters, message << 1);
            cs_message_at(d, message)->waits++;
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

/* A new version of `span` neighbours that needs the message and, unless 0, version `before`. */
static inline void add_version(cs_dispatch *d, uint32_t message, size_t first, uint32_t span,
                               uint32_t before)
{
    uint32_t    index = cs_pool_take(&d->versions, sizeof(cs_version));
    cs_message *m     = cs_message_at(d, message);

    *cs_version_at(d, index) = (cs_version){
        .next = m->versions, .pending = before != 0 ? 2 : 1, .slot = first, .span = span};
    m->versions = index;
    for (uint32_t i = 0; i < span; i++) {
        d->newest[first + i] = index;
    }
    if (before != 0) {
        cs_wait_in(d, &cs_version_at(d, before)->waiters, index << 1 | 1);
    }
}

/* New versions: one for all slots or, where the message adds to them, one for all neighbours that
 * wait for the same. */
static inline void write_slots(cs_dispatch *d, uint32_t message, size_t first, uint32_t span,
                               bool adds)
{
    for (uint32_t i = 0, run, before = 0; i < span; i += run) {
        run = adds ? same_version(d, first + i, span - i, &before) : span;
        add_version(d, message, first + i, run, before);
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
    for (uint32_t e = cs_version_at(d, index)->waiters, next; e != 0; e = next) {
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
