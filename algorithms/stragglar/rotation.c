/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A rotational pattern is built in time order, as a sequence of steps, and grows out of a smaller
 * one.
 *
 * All early ranks go through the same N steps, each at its own time: in step i (i = 0 .. N-1) a
 * rank receives the chunk of age[i] from the rank that is in step partner[i]. Step 0 is the
 * exchange with the straggler. Step i is role -i mod N.
 *
 * A rank holds two of the last D = q + 1 chunks. In the base state these are the oldest two,
 * of ages q and D. A *block* W_a leads from the base state back to it: receive age a, then age q
 * while the own chunk ages from a + 1 to q - 1. A *patch* is a piece of ten steps that begins in
 * the base state:
 *
 *     ages   q-3 q  q  | q-2 q  | q-2 q  | q-1 | q-1 | q-1      (W_q-3, two W_q-2, three W_q-1)
 *     names  C0  C  C' | A1  B1 | A2  B2 | E1  | E2  | E3       pairs C-A2, C'-E3, B1-E1, B2-E2
 *
 * in which one or two steps can be saved. All functions are O(length), in place.
 * cs_rotation_build() checks what comes out.
 *
 * Source: this project (sim/doc/stragglar.md).
 */
#include "algorithms/stragglar/rotation.h"

#include "algorithms/lib/accept.h"
#include "base/alloc.h"

#include <stddef.h>
#include <string.h>

enum { PATCH_STEPS = 10 };

/* ---- doubling and powers of two ---- */

/* n -> 2n ranks; the base state must be that of step 0. Room for 2 length + 1 steps. A patch at the
 * end stays there, and stands at copied_patch() too. All ages grow by one; the sequence is run
 * through twice, once with the fresh chunk and once with the chunk of age 1 in its place; the two
 * new steps are partners of each other. */
static void double_sequence(cs_rotation_sequence *seq)
{
    uint32_t old = seq->length, copy = old + 1;

    for (uint32_t i = old; i-- > 1;) {
        uint32_t age = seq->age[i] + 1, partner = seq->partner[i];
        seq->age[i + 1]        = age;
        seq->age[copy + i]     = age;
        seq->partner[i + 1]    = partner + 1;
        seq->partner[copy + i] = partner + copy;
    }
    seq->q += 1;
    seq->length        = 2 * old + 1;
    seq->age[0]        = 0;
    seq->age[1]        = seq->q;
    seq->partner[1]    = copy;
    seq->age[copy]     = 1;
    seq->partner[copy] = 1;
}

/* The sequence for 2^q ranks by doubling from n = 2. */
static void power_of_two(uint32_t q, cs_rotation_sequence *seq)
{
    seq->length     = 1;
    seq->q          = 1;
    seq->age[0]     = 0;
    seq->partner[0] = 0;
    while (seq->q < q) {
        double_sequence(seq);
    }
}

/* Append W_a. Its first step is a pair with a step in which age q is received while the own chunk
 * has age a; until that is found the steps of one own age form a list, linked by `partner`, from
 * first_of[own age] on (0: empty). */
static void add_block(cs_rotation_sequence *seq, uint32_t a, uint32_t *first_of)
{
    seq->age[seq->length++] = a;
    for (uint32_t own = a + 1; own < seq->q; own++) {
        uint32_t step      = seq->length++;
        seq->age[step]     = seq->q;
        seq->partner[step] = first_of[own];
        first_of[own]      = step;
    }
}

/* The pairs that the patch at the end asks for; they leave the lists. The patch's blocks were
 * added last, so that its steps stand at the heads. */
static void pair_patch(cs_rotation_sequence *seq, uint32_t *first_of)
{
    static const uint32_t pairs[4][2] = {{1, 5}, {2, 9}, {4, 7}, {6, 8}};
    uint32_t              patch = seq->length - PATCH_STEPS, q = seq->q;

    first_of[q - 2] = seq->partner[patch + 1]; /* C */
    first_of[q - 1] = seq->partner[patch + 2]; /* C', B1 and B2 stand above it */
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t u = patch + pairs[i][0], v = patch + pairs[i][1];
        seq->partner[u] = v;
        seq->partner[v] = u;
    }
}

static bool is_in_patch_pair(uint32_t offset)
{
    return offset != 0 && offset != 3;
}

/* The order of blocks is free: W_0, then those with a = 1, 2, .. that the patch leaves over, then
 * the patch. */
void cs_rotation_sequence_of_power(uint32_t q, cs_rotation_sequence *seq, uint32_t *first_of)
{
    const uint32_t last[] = {q - 3, q - 2, q - 2, q - 1, q - 1, q - 1};

    seq->length = 0;
    seq->q      = q;
    for (uint32_t a = 0; a <= q; a++) {
        first_of[a] = 0;
    }
    add_block(seq, 0, first_of);
    for (uint32_t a = 1; a < q; a++) {
        uint32_t kept = a + 3 < q ? 0 : a + 4 - q; /* 1, 2, 3 for q - 3, q - 2, q - 1 */
        for (uint32_t i = kept; i < 1u << (a - 1); i++) {
            add_block(seq, a, first_of);
        }
    }
    for (uint32_t i = 0; i < 6; i++) {
        add_block(seq, last[i], first_of);
    }
    pair_patch(seq, first_of);
    uint32_t patch = seq->length - PATCH_STEPS;
    for (uint32_t i = 1; i < seq->length; i++) {
        uint32_t a = seq->age[i];
        if (a < q && (i < patch || !is_in_patch_pair(i - patch))) {
            uint32_t partner      = first_of[a];
            first_of[a]           = seq->partner[partner];
            seq->partner[i]       = partner;
            seq->partner[partner] = i;
        }
    }
    seq->partner[0] = 0;
}

/* ---- patches ----
 *
 * The steps of the patch keep their names; U, V, V1 and V2 are new. `s` is its first step. */

/* After double_sequence(): where the patch of the first copy begins. */
static uint32_t copied_patch(const cs_rotation_sequence *seq)
{
    return (seq->length - 1) / 2 + 1 - PATCH_STEPS;
}

static void pair(cs_rotation_sequence *seq, uint32_t u, uint32_t v)
{
    seq->partner[u] = v;
    seq->partner[v] = u;
}

/* n -> n - 2 ranks, n even, with the patch that begins in step `patch`. It is used up. The new
 * steps, with their new ages: C0 C V2 | A1 U V1 | E1 | E2, pairs C-U, V1-E1, V2-E2; C0 and  A1 stay
 * with whom they were. C (holding D and q-2, getting q-1) and U (D and q-1, getting q-2)  swap; V1
 * and V2 (q and q-1, getting D) give q-1 to E1 and E2, which hold D and q. */
static void remove_two(cs_rotation_sequence *seq, uint32_t patch)
{
    uint32_t       q = seq->q, s = patch, end = patch + PATCH_STEPS;
    const uint32_t age[] = {q - 3, q - 1, q + 1, q - 2, q - 2, q + 1, q - 1, q - 1};

    for (uint32_t i = end; i < seq->length; i++) {
        seq->age[i - 2]     = seq->age[i];
        seq->partner[i - 2] = seq->partner[i];
    }
    seq->length -= 2;
    memcpy(seq->age + s, age, sizeof age);
    for (uint32_t i = 1; i < seq->length; i++) {
        seq->partner[i] -= seq->partner[i] >= end ? 2 : 0;
    }
    pair(seq, s + 1, s + 4);
    pair(seq, s + 5, s + 6);
    pair(seq, s + 2, s + 7);
}

/* n -> n - 1 ranks, n even, with the patch at the end. Partners are no pairs any more: partner[i]
 * is whom step i receives from. The new steps, C0 C C' | A1 U V | E1 | E2 | E3: U gets q-2 from C,
 * V gets D from A1, E1 and E2  get q-1 from U and V, C gets q from E2, and who got q from A1 gets
 * it from E1. C'-E3 stay. */
static void remove_one(cs_rotation_sequence *seq)
{
    uint32_t       q = seq->q, s = seq->length - PATCH_STEPS;
    const uint32_t age[]    = {q - 3, q, q, q - 2, q - 2, q + 1, q - 1, q - 1, q - 1};
    uint32_t       after_a1 = seq->partner[s + 3];

    seq->length -= 1;
    memcpy(seq->age + s, age, sizeof age);
    seq->partner[after_a1] = s + 6;
    pair(seq, s + 2, s + 8);
    seq->partner[s + 1] = s + 7;
    seq->partner[s + 4] = s + 1;
    seq->partner[s + 5] = s + 3;
    seq->partner[s + 6] = s + 4;
    seq->partner[s + 7] = s + 5;
}

/* ---- small n ----
 *
 * The sequences that no rule makes. They were found by a search for tables that satisfy the
 * conditions of rotation.h (a SAT solver needs less than a second for all of them);
 * cs_rotation_build() checks each again. Even n: pairs. Odd n: whom one receives from. */

enum { MOST = 35 }; /* steps */

typedef struct entry {
    uint8_t n, q;
    uint8_t age[MOST], partner[MOST];
} entry;

static const entry table[] = {
    {5, 3, {0, 3, 1, 4}, {0, 3, 1, 2}},
    {6, 3, {0, 4, 3, 2, 1}, {0, 4, 3, 2, 1}},
    {7, 3, {0, 2, 4, 2, 1, 3}, {0, 2, 3, 5, 1, 4}},
    {9, 4, {0, 2, 5, 5, 1, 4, 4, 3}, {0, 2, 5, 6, 1, 4, 7, 3}},
    {10, 4, {0, 4, 4, 2, 5, 3, 1, 3, 5}, {0, 6, 4, 7, 2, 8, 1, 3, 5}},
    {11, 4, {0, 3, 5, 2, 5, 3, 1, 4, 2, 5}, {0, 9, 8, 7, 6, 4, 1, 5, 2, 3}},
    {12, 4, {0, 4, 3, 5, 3, 2, 4, 3, 1, 4, 4}, {0, 8, 3, 2, 10, 9, 7, 6, 1, 5, 4}},
    {13, 4, {0, 4, 3, 5, 2, 4, 3, 1, 4, 2, 5, 3}, {0, 11, 10, 9, 8, 7, 5, 1, 6, 2, 4, 3}},
    {14, 4, {0, 3, 5, 4, 3, 2, 4, 3, 3, 2, 1, 5, 4}, {0, 10, 9, 8, 12, 11, 7, 6, 3, 2, 1, 5, 4}},
    {15,
     4,
     {0, 3, 5, 4, 3, 2, 4, 3, 1, 4, 4, 3, 2, 4},
     {0, 13, 12, 11, 10, 9, 8, 6, 1, 7, 5, 3, 2, 4}},
    {17,
     5,
     {0, 4, 6, 4, 6, 2, 4, 6, 4, 3, 1, 6, 5, 5, 3, 5},
     {0, 15, 14, 13, 12, 11, 10, 9, 7, 6, 1, 8, 5, 4, 3, 2}},
    {18,
     5,
     {0, 4, 6, 5, 3, 6, 3, 1, 6, 4, 6, 2, 5, 5, 4, 3, 5},
     {0, 7, 16, 15, 9, 14, 12, 1, 11, 4, 13, 8, 6, 10, 5, 3, 2}},
    {20,
     5,
     {0, 5, 3, 6, 6, 1, 5, 5, 5, 2, 5, 5, 3, 5, 3, 5, 4, 4, 4},
     {0, 5, 3, 2, 8, 1, 9, 12, 4, 6, 14, 18, 7, 16, 10, 17, 13, 15, 11}},
    {22,
     5,
     {0, 4, 6, 5, 5, 4, 3, 1, 6, 5, 5, 2, 5, 5, 3, 5, 3, 5, 4, 4, 4},
     {0, 7, 11, 14, 8, 10, 9, 1, 4, 6, 5, 2, 16, 20, 3, 18, 12, 19, 15, 17, 13}},
    {24,
     5,
     {0, 5, 5, 2, 6, 6, 4, 4, 4, 1, 3, 6, 6, 2, 5, 5, 3, 5, 3, 5, 4, 4, 4},
     {0, 9, 13, 10, 16, 6, 5, 11, 12, 1, 3, 7, 8, 2, 18, 22, 4, 20, 14, 21, 17, 19, 15}},
    {26,
     5,
     {0, 4, 6, 5, 2, 6, 3, 6, 4, 4, 3, 1, 6, 4, 6, 2, 5, 5, 3, 5, 3, 5, 4, 4, 4},
     {0, 11, 15, 18, 12, 10, 13, 8, 7, 14, 5, 1, 4, 6, 9, 2, 20, 24, 3, 22, 16, 23, 19, 21, 17}},
    {28,
     5,
     {0, 5, 5, 5, 5, 4, 4, 3, 5, 2, 5, 5, 1, 5, 4, 6, 4, 2, 5, 5, 3, 5, 3, 5, 4, 4, 4},
     {0,  12, 9, 7,  16, 11, 8,  3,  6,  2,  20, 5,  1, 17,
      15, 14, 4, 13, 22, 26, 10, 24, 18, 25, 21, 23, 19}},
    {30,
     5,
     {0, 4, 6, 5, 1, 6, 5, 5, 4, 3, 5, 3, 5, 4, 4, 4, 2, 5, 5, 2, 5, 5, 3, 5, 3, 5, 4, 4, 4},
     {0, 4, 16, 9,  1, 19, 11, 15, 10, 3,  8,  6,  13, 12, 18,
      7, 2, 22, 14, 5, 24, 28, 17, 26, 20, 27, 23, 25, 21}},
    {34,
     6,
     {0, 6, 6, 5, 7, 2, 7, 5, 7, 5, 4, 6, 5, 1, 5, 7, 6,
      6, 5, 3, 6, 4, 7, 3, 6, 6, 4, 6, 4, 6, 5, 5, 5},
     {0, 13, 4, 22, 2, 14, 19, 21, 12, 17, 20, 18, 8,  1,  5,  23, 26,
      9, 11, 6, 10, 7, 3,  15, 28, 32, 16, 30, 24, 31, 27, 29, 25}},
    {36,
     6,
     {0, 5, 7, 6, 6, 2, 7, 5, 7, 4, 6, 5, 3, 6, 1, 7, 6, 2,
      7, 7, 6, 3, 3, 7, 7, 3, 6, 6, 4, 6, 4, 6, 5, 5, 5},
     {0,  14, 5,  12, 9, 2, 22, 23, 10, 4,  8,  20, 3,  24, 1,  17, 25, 15,
      21, 28, 11, 18, 6, 7, 13, 16, 30, 34, 19, 32, 26, 33, 29, 31, 27}},
};

/* The sequence for n ranks from the table of those that no rule makes; false where there is none.
 * Even n <= 36, and odd n <= 17 for which it is not an involution. From n = 20 on the last ten
 * steps are a patch. */
static bool find_in_table(uint32_t n, cs_rotation_sequence *seq)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (table[i].n != n) {
            continue;
        }
        seq->length = n - 1;
        seq->q      = table[i].q;
        for (uint32_t step = 0; step < n - 1; step++) {
            seq->age[step]     = table[i].age[step];
            seq->partner[step] = table[i].partner[step];
        }
        return true;
    }
    return false;
}

/* ---- the pattern ---- */

enum { MOST_HALVINGS = 32 };

static bool is_power(uint32_t n)
{
    return (n & (n - 1)) == 0;
}

/* The sequence for even n, from the smallest one outwards: halve until there is one that is known,
 * then double as often; where n/2 is odd, the next pattern is the double of (n + 2)/2, less two. */
static void build_even(uint32_t n, bool needs_patch, cs_rotation_sequence *seq, uint32_t *scratch)
{
    uint32_t sizes[MOST_HALVINGS], depth = 0;

    if (is_power(n) && !needs_patch) {
        power_of_two(cs_log2_ceil(n), seq);
        return;
    }
    while (!is_power(n) && !find_in_table(n, seq)) {
        sizes[depth++] = n;
        n              = n % 4 == 0 ? n / 2 : (n + 2) / 2;
    }
    if (is_power(n)) {
        cs_rotation_sequence_of_power(cs_log2_ceil(n), seq, scratch);
    }
    while (depth-- > 0) {
        double_sequence(seq);
        if (sizes[depth] % 4 != 0) {
            remove_two(seq, copied_patch(seq));
        }
    }
}

static void build_sequence(uint32_t n, cs_rotation_sequence *seq, uint32_t *scratch)
{
    if (n % 2 == 0) {
        build_even(n, false, seq, scratch);
    } else if (!find_in_table(n, seq)) {
        build_even(n + 1, true, seq, scratch);
        remove_one(seq);
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
    uint32_t scratch[MOST_HALVINGS];
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
