/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lives that lose one or two steps of a gadget: see life.h. The steps of the gadget keep their
 * names; U, V, V1 and V2 are new. `s` is its first step. */
#include "algorithms/stragglar/life.h"

#include <string.h>

uint32_t cs_life_copied_gadget(const cs_life *life)
{
    return (life->length - 1) / 2 + 1 - CS_LIFE_GADGET;
}

static void pair(cs_life *life, uint32_t u, uint32_t v)
{
    life->partner[u] = v;
    life->partner[v] = u;
}

/* The new steps, with their new ages: C0 C V2 | A1 U V1 | E1 | E2, pairs C-U, V1-E1, V2-E2; C0 and
 * A1 stay with whom they were. C (holding D and q-2, getting q-1) and U (D and q-1, getting q-2)
 * swap; V1 and V2 (q and q-1, getting D) give q-1 to E1 and E2, which hold D and q. */
void cs_life_remove_two(cs_life *life, uint32_t gadget)
{
    uint32_t       q = life->q, s = gadget, end = gadget + CS_LIFE_GADGET;
    const uint32_t age[] = {q - 3, q - 1, q + 1, q - 2, q - 2, q + 1, q - 1, q - 1};

    for (uint32_t i = end; i < life->length; i++) {
        life->age[i - 2]     = life->age[i];
        life->partner[i - 2] = life->partner[i];
    }
    life->length -= 2;
    memcpy(life->age + s, age, sizeof age);
    for (uint32_t i = 1; i < life->length; i++) {
        life->partner[i] -= life->partner[i] >= end ? 2 : 0;
    }
    pair(life, s + 1, s + 4);
    pair(life, s + 5, s + 6);
    pair(life, s + 2, s + 7);
}

/* The new steps, C0 C C' | A1 U V | E1 | E2 | E3: U gets q-2 from C, V gets D from A1, E1 and E2
 * get q-1 from U and V, C gets q from E2, and who got q from A1 gets it from E1. C'-E3 stay. */
void cs_life_remove_one(cs_life *life)
{
    uint32_t       q = life->q, s = life->length - CS_LIFE_GADGET;
    const uint32_t age[]    = {q - 3, q, q, q - 2, q - 2, q + 1, q - 1, q - 1, q - 1};
    uint32_t       after_a1 = life->partner[s + 3];

    life->length -= 1;
    memcpy(life->age + s, age, sizeof age);
    life->partner[after_a1] = s + 6;
    pair(life, s + 2, s + 8);
    life->partner[s + 1] = s + 7;
    life->partner[s + 4] = s + 1;
    life->partner[s + 5] = s + 3;
    life->partner[s + 6] = s + 4;
    life->partner[s + 7] = s + 5;
}
