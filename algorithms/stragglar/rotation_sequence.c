/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "algorithms/stragglar/rotation_sequence.h"

#include <stddef.h>
#include <string.h>

/* ---- doubling and powers of two ---- */

/* All ages grow by one; the sequence is run through twice, once with the fresh chunk and once with
 * the chunk of age 1 in its place; the two new steps are partners of each other. */
void cs_rotation_sequence_double(cs_rotation_sequence *seq)
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

void cs_rotation_sequence_of_power(uint32_t q, cs_rotation_sequence *seq)
{
    seq->length     = 1;
    seq->q          = 1;
    seq->age[0]     = 0;
    seq->partner[0] = 0;
    while (seq->q < q) {
        cs_rotation_sequence_double(seq);
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
    uint32_t              patch = seq->length - CS_PATCH_STEPS, q = seq->q;

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

void cs_rotation_sequence_of_power_with_patch(uint32_t q, cs_rotation_sequence *seq,
                                              uint32_t *first_of)
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
    uint32_t patch = seq->length - CS_PATCH_STEPS;
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

uint32_t cs_rotation_sequence_copied_patch(const cs_rotation_sequence *seq)
{
    return (seq->length - 1) / 2 + 1 - CS_PATCH_STEPS;
}

static void pair(cs_rotation_sequence *seq, uint32_t u, uint32_t v)
{
    seq->partner[u] = v;
    seq->partner[v] = u;
}

/* The new steps, with their new ages: C0 C V2 | A1 U V1 | E1 | E2, pairs C-U, V1-E1, V2-E2; C0 and
 * A1 stay with whom they were. C (holding D and q-2, getting q-1) and U (D and q-1, getting q-2)
 * swap; V1 and V2 (q and q-1, getting D) give q-1 to E1 and E2, which hold D and q. */
void cs_rotation_sequence_remove_two(cs_rotation_sequence *seq, uint32_t patch)
{
    uint32_t       q = seq->q, s = patch, end = patch + CS_PATCH_STEPS;
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

/* The new steps, C0 C C' | A1 U V | E1 | E2 | E3: U gets q-2 from C, V gets D from A1, E1 and E2
 * get q-1 from U and V, C gets q from E2, and who got q from A1 gets it from E1. C'-E3 stay. */
void cs_rotation_sequence_remove_one(cs_rotation_sequence *seq)
{
    uint32_t       q = seq->q, s = seq->length - CS_PATCH_STEPS;
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

bool cs_rotation_sequence_from_table(uint32_t n, cs_rotation_sequence *seq)
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
