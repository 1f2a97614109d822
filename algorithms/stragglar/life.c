/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lives that grow: powers of two and doubling. See life.h; gadgets are in life_gadget.c. */
#include "algorithms/stragglar/life.h"

/* All ages grow by one; the life is lived twice, once with the fresh chunk and once with the
 * chunk of age 1 in its place; the two new steps are partners of each other. */
void cs_life_double(cs_life *life)
{
    uint32_t old = life->length, copy = old + 1;

    for (uint32_t i = old; i-- > 1;) {
        uint32_t age = life->age[i] + 1, partner = life->partner[i];
        life->age[i + 1]        = age;
        life->age[copy + i]     = age;
        life->partner[i + 1]    = partner + 1;
        life->partner[copy + i] = partner + copy;
    }
    life->q += 1;
    life->length        = 2 * old + 1;
    life->age[0]        = 0;
    life->age[1]        = life->q;
    life->partner[1]    = copy;
    life->age[copy]     = 1;
    life->partner[copy] = 1;
}

void cs_life_of_power(uint32_t q, cs_life *life)
{
    life->length     = 1;
    life->q          = 1;
    life->age[0]     = 0;
    life->partner[0] = 0;
    while (life->q < q) {
        cs_life_double(life);
    }
}

/* Append W_a. Its first step is a pair with a step in which age q is received while the own chunk
 * has age a; until that is found the steps of one own age form a list, linked by `partner`, from
 * first_of[own age] on (0: empty). */
static void add_block(cs_life *life, uint32_t a, uint32_t *first_of)
{
    life->age[life->length++] = a;
    for (uint32_t own = a + 1; own < life->q; own++) {
        uint32_t step       = life->length++;
        life->age[step]     = life->q;
        life->partner[step] = first_of[own];
        first_of[own]       = step;
    }
}

/* The pairs that the gadget at the end asks for; they leave the lists. The gadget's blocks were
 * added last, so that its steps stand at the heads. */
static void pair_gadget(cs_life *life, uint32_t *first_of)
{
    static const uint32_t pairs[4][2] = {{1, 5}, {2, 9}, {4, 7}, {6, 8}};
    uint32_t              gadget = life->length - CS_LIFE_GADGET, q = life->q;

    first_of[q - 2] = life->partner[gadget + 1]; /* C */
    first_of[q - 1] = life->partner[gadget + 2]; /* C', B1 and B2 stand above it */
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t u = gadget + pairs[i][0], v = gadget + pairs[i][1];
        life->partner[u] = v;
        life->partner[v] = u;
    }
}

static bool is_in_gadget_pair(uint32_t offset)
{
    return offset != 0 && offset != 3;
}

void cs_life_of_power_with_gadget(uint32_t q, cs_life *life, uint32_t *first_of)
{
    const uint32_t last[] = {q - 3, q - 2, q - 2, q - 1, q - 1, q - 1};

    life->length = 0;
    life->q      = q;
    for (uint32_t a = 0; a <= q; a++) {
        first_of[a] = 0;
    }
    add_block(life, 0, first_of);
    for (uint32_t a = 1; a < q; a++) {
        uint32_t kept = a + 3 < q ? 0 : a + 4 - q; /* 1, 2, 3 for q - 3, q - 2, q - 1 */
        for (uint32_t i = kept; i < 1u << (a - 1); i++) {
            add_block(life, a, first_of);
        }
    }
    for (uint32_t i = 0; i < 6; i++) {
        add_block(life, last[i], first_of);
    }
    pair_gadget(life, first_of);
    uint32_t gadget = life->length - CS_LIFE_GADGET;
    for (uint32_t i = 1; i < life->length; i++) {
        uint32_t a = life->age[i];
        if (a < q && (i < gadget || !is_in_gadget_pair(i - gadget))) {
            uint32_t partner       = first_of[a];
            first_of[a]            = life->partner[partner];
            life->partner[i]       = partner;
            life->partner[partner] = i;
        }
    }
    life->partner[0] = 0;
}
