/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "algorithms/stragglar/rotation.h"

#include "algorithms/lib/accept.h"
#include "algorithms/stragglar/rotation_sequence.h"
#include "base/alloc.h"

enum { MOST_STEPS = 32 };

static bool is_power(uint32_t n)
{
    return (n & (n - 1)) == 0;
}

/* The sequence for even n, from the smallest one outwards: halve until there is one that is known,
 * then double as often; where n/2 is odd, the next pattern is the double of (n + 2)/2, less two. */
static void build_even(uint32_t n, bool needs_patch, cs_rotation_sequence *seq, uint32_t *scratch)
{
    uint32_t sizes[MOST_STEPS], depth = 0;

    if (is_power(n) && !needs_patch) {
        cs_rotation_sequence_of_power(cs_log2_ceil(n), seq);
        return;
    }
    while (!is_power(n) && !cs_rotation_sequence_from_table(n, seq)) {
        sizes[depth++] = n;
        n              = n % 4 == 0 ? n / 2 : (n + 2) / 2;
    }
    if (is_power(n)) {
        cs_rotation_sequence_of_power_with_patch(cs_log2_ceil(n), seq, scratch);
    }
    while (depth-- > 0) {
        cs_rotation_sequence_double(seq);
        if (sizes[depth] % 4 != 0) {
            cs_rotation_sequence_remove_two(seq, cs_rotation_sequence_copied_patch(seq));
        }
    }
}

static void build_sequence(uint32_t n, cs_rotation_sequence *seq, uint32_t *scratch)
{
    if (n % 2 == 0) {
        build_even(n, false, seq, scratch);
    } else if (!cs_rotation_sequence_from_table(n, seq)) {
        build_even(n + 1, true, seq, scratch);
        cs_rotation_sequence_remove_one(seq);
    }
}

static uint32_t role_of_step(uint32_t step, uint32_t early)
{
    return step == 0 ? 0 : early - step;
}

static void tables_from_sequence(cs_rotation *r, const cs_rotation_sequence *l)
{
    for (uint32_t i = 0; i < r->early; i++) {
        uint32_t role = role_of_step(i, r->early);
        r->age[role]  = l->age[i];
        r->from[role] = i == 0 ? 0 : role_of_step(l->partner[i], r->early);
    }
}

cs_status cs_rotation_build(uint32_t n, cs_arena *arena, cs_rotation *rotation_p, cs_error *err)
{
    uint32_t early = n - 1, room = n + 4; /* on the way a sequence is up to three steps longer */
    cs_rotation_sequence l = {.age     = CS_ARENA_NEW(arena, uint32_t, room),
                              .partner = CS_ARENA_NEW(arena, uint32_t, room)};
    cs_rotation          r = {.n     = n,
                              .early = early,
                              .q     = cs_log2_ceil(n),
                              .age   = CS_ARENA_NEW(arena, uint32_t, early),
                              .from  = CS_ARENA_NEW(arena, uint32_t, early)};

    if (n < 2 || n == 3) {
        return CS_FAIL(err, CS_EINTERNAL, "cluster.ranks", "no rotational pattern has %u ranks", n);
    }
    if (l.age == NULL || l.partner == NULL || r.age == NULL || r.from == NULL) {
        return CS_NO_MEMORY(err, "the pattern of %u ranks", n);
    }
    uint32_t scratch[MOST_STEPS];
    build_sequence(n, &l, scratch);
    if (l.length != early || l.q != r.q) {
        return CS_FAIL(err, CS_EINTERNAL, "cluster.ranks",
                       "the pattern of %u ranks has %u steps instead of %u", n, l.length, early);
    }
    tables_from_sequence(&r, &l);
    CS_TRY(cs_rotation_check(&r, err));
    *rotation_p = r;
    return CS_OK;
}

/* Role p held another role before: j rounds ago it had role p + j and received age k[p + j], which
 * has grown by j since. */
uint32_t cs_rotation_held(const cs_rotation *rotation, uint32_t role)
{
    uint32_t depth = rotation->q + 1, held = 0, early = rotation->early;
    uint32_t p = role;

    for (uint32_t j = 1; j <= depth; j++) {
        p            = p + 1 == early ? 0 : p + 1;
        uint32_t age = rotation->age[p] + j;
        held |= age <= depth ? 1u << age : 0;
    }
    return held;
}

enum { GETS = 1, SENDS = 2 }; /* marks of check_role() */

/* Which condition does this role break? NULL: none. */
static const char *broken_by(const cs_rotation *r, uint32_t role, uint8_t *marks)
{
    uint32_t depth = r->q + 1, age = r->age[role], from = r->from[role];
    bool     two = r->early == 1 || __builtin_popcount(cs_rotation_held(r, role)) == 2;

    if (role == 0 ? age != 0 : age < 1 || age > depth) {
        return "C1: an age out of range";
    }
    uint32_t owner = (uint32_t)(((uint64_t)role + age) % r->early);
    if ((marks[owner] & GETS) != 0) {
        return "C2: a chunk is received twice";
    }
    marks[owner] |= GETS;
    if (role == 0) {
        return two ? NULL : "C4: not two chunks are held";
    }
    if (from < 1 || from >= r->early || from == role || (marks[from] & SENDS) != 0 ||
        (r->n % 2 == 0 && r->from[from] != role)) {
        return "C3: no partner, or not in both directions";
    }
    marks[from] |= SENDS;
    if ((cs_rotation_held(r, from) >> age & 1u) == 0) {
        return "C3: the sender lacks the chunk";
    }
    return two ? NULL : "C4: not two chunks are held";
}

cs_status cs_rotation_check(const cs_rotation *rotation, cs_error *err)
{
    uint8_t  *marks  = CS_NEW(uint8_t, rotation->early);
    cs_status status = CS_OK;

    if (marks == NULL) {
        return CS_NO_MEMORY(err, "checking %u roles", rotation->early);
    }
    for (uint32_t p = 0; status == CS_OK && p < rotation->early; p++) {
        const char *broken = broken_by(rotation, p, marks);
        if (broken != NULL) {
            status = CS_FAIL(err, CS_EINTERNAL, "cluster.ranks",
                             "the pattern of %u ranks breaks condition %s (role %u)", rotation->n,
                             broken, p);
        }
    }
    cs_free(marks);
    return status;
}
