/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rotational pattern: see rotation.h. It is built as a life in time order (step i of the
 * life is role -i mod N): K[i] the age received at step i, P[i] the step of the partner. */
#include "algorithms/pattern/rotation.h"

#include <string.h>

typedef struct life {
    uint32_t  length; /* N */
    uint32_t  q;      /* ceil(log2 (N + 1)) */
    uint32_t *age, *partner;
} life;

/* n -> 2n ranks. All ages grow by one; the life is lived twice, once with the fresh chunk and
 * once with the chunk of age 1 in its place; the two new steps are partners of each other. */
static void double_life(life *l)
{
    uint32_t old = l->length, copy = old + 1;

    for (uint32_t i = old; i-- > 1;) {
        uint32_t age = l->age[i] + 1, partner = l->partner[i];
        l->age[i + 1]        = age;
        l->age[copy + i]     = age;
        l->partner[i + 1]    = partner + 1;
        l->partner[copy + i] = partner + copy;
    }
    l->q += 1;
    l->length        = 2 * old + 1;
    l->age[1]        = l->q;
    l->partner[1]    = copy;
    l->age[copy]     = 1;
    l->partner[copy] = 1;
}

bool cs_rotation_exists(uint32_t n)
{
    return n >= 2 && (n & (n - 1)) == 0;
}

static uint32_t role_of_step(uint32_t step, uint32_t early)
{
    return step == 0 ? 0 : early - step;
}

static void tables_from_life(cs_rotation *r, const life *l)
{
    for (uint32_t i = 0; i < l->length; i++) {
        uint32_t role = role_of_step(i, r->early);
        r->age[role]  = l->age[i];
        r->from[role] = i == 0 ? 0 : role_of_step(l->partner[i], r->early);
    }
}

cs_status cs_rotation_build(uint32_t n, cs_arena *arena, cs_rotation *rotation_p, cs_error *err)
{
    uint32_t    early = n - 1;
    life        l     = {.length  = 1,
                         .q       = 1,
                         .age     = CS_ARENA_NEW(arena, uint32_t, early),
                         .partner = CS_ARENA_NEW(arena, uint32_t, early)};
    cs_rotation r     = {.n     = n,
                         .early = early,
                         .age   = CS_ARENA_NEW(arena, uint32_t, early),
                         .from  = CS_ARENA_NEW(arena, uint32_t, early)};

    if (l.age == NULL || l.partner == NULL || r.age == NULL || r.from == NULL) {
        return CS_FAIL(err, CS_ENOMEM, "", "out of memory for the pattern of %u ranks", n);
    }
    while (l.length < early) {
        double_life(&l);
    }
    r.q = l.q;
    tables_from_life(&r, &l);
    *rotation_p = r;
    return CS_OK;
}

bool cs_rotation_has(const cs_rotation *rotation, uint32_t role, uint32_t age)
{
    for (uint32_t j = 1; j <= age; j++) {
        if (rotation->age[(role + j) % rotation->early] == age - j) {
            return true;
        }
    }
    return false;
}

static bool role_holds(const cs_rotation *r, uint32_t role)
{
    uint32_t depth = r->q + 1, held = 0;

    for (uint32_t age = 1; age <= depth; age++) {
        held += cs_rotation_has(r, role, age);
    }
    if (role == 0) {
        return r->age[0] == 0 && (r->early == 1 || held == 2);
    }
    uint32_t age = r->age[role], from = r->from[role];
    return held == 2 && age >= 1 && age <= depth && from >= 1 && from < r->early && from != role &&
           r->from[from] == role && cs_rotation_has(r, from, age);
}

bool cs_rotation_holds(const cs_rotation *rotation)
{
    uint64_t sum = 0, want = 0;

    for (uint32_t p = 0; p < rotation->early; p++) {
        uint64_t gets = (p + rotation->age[p]) % rotation->early;
        sum += gets * gets + gets;
        want += (uint64_t)p * p + p;
        if (!role_holds(rotation, p)) {
            return false;
        }
    }
    return sum == want;
}
