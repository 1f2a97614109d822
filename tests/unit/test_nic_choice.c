/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which NICs a GPU uses: random servers against the definition read word by word, nearness below a
 * switch, and the largest server there may be in no time. */
#include "base/arena.h"
#include "cs/machine.h"
#include "support/rng.h"

#include <criterion/criterion.h>
#include <string.h>
#include <time.h>

enum { MOST = 24 };

static cs_arena arena;

static uint32_t distance(const cs_device *gpu, const cs_device *nic)
{
    return gpu->bridge > 0 && gpu->bridge == nic->bridge         ? 0
           : gpu->pcie != CS_NO_SWITCH && gpu->pcie == nic->pcie ? 1
           : gpu->socket == nic->socket                          ? 2
                                                                 : 3;
}

/* The nearest NICs of a GPU, in order; returns how many. */
static uint32_t nearest_of(const cs_machine *m, uint32_t gpu, uint32_t *nics)
{
    uint32_t least = UINT32_MAX, n = 0;

    for (uint32_t i = 0; i < m->n_nics; i++) {
        uint32_t d = distance(&m->gpus[gpu], &m->nics[i]);
        least      = d < least ? d : least;
    }
    for (uint32_t i = 0; i < m->n_nics; i++) {
        if (distance(&m->gpus[gpu], &m->nics[i]) == least) {
            nics[n++] = i;
        }
    }
    return n;
}

/* The GPU has its equal part of the NICs that it and others like best. */
static void check_gpu(const cs_machine *m, uint32_t g, uint32_t gpu, const cs_nic_choice *choice)
{
    uint32_t mine[MOST], others[MOST], n = nearest_of(m, gpu, mine), rivals = 0, place = 0;

    for (uint32_t i = 0; i < g; i++) {
        bool alike = nearest_of(m, i, others) == n && memcmp(mine, others, n * sizeof *mine) == 0;
        place += alike && i < gpu;
        rivals += alike;
    }
    uint32_t from = place * n / rivals, to = (place + 1) * n / rivals;
    uint32_t count = to > from ? to - from : 1;
    cr_assert_eq(choice->count[gpu], count, "gpu %u of %u", gpu, g);
    for (uint32_t i = 0; i < count; i++) {
        cr_assert_eq(choice->order[choice->first[gpu] + i], mine[from + i], "gpu %u of %u", gpu, g);
    }
}

/* Bridges are below switches, switches at sockets. */
static void place(ct_rng *rng, cs_device *d)
{
    d->socket = ct_below(rng, 3);
    d->pcie   = ct_below(rng, 3) == 0 ? CS_NO_SWITCH : 3 * d->socket + ct_below(rng, 3);
    d->bridge =
        d->pcie == CS_NO_SWITCH || ct_below(rng, 2) == 0 ? 0 : 1 + 2 * d->pcie + ct_below(rng, 2);
}

Test(nic_choice, is_what_its_definition_says)
{
    ct_rng rng = ct_rng_for(7);

    for (int round = 0; round < 400; round++) {
        cs_device     gpus[MOST] = {0}, nics[MOST] = {0};
        cs_machine    m      = {.n_gpus     = 1 + ct_below(&rng, MOST),
                                .n_nics     = 1 + ct_below(&rng, MOST),
                                .n_sockets  = 3,
                                .n_switches = 9,
                                .gpus       = gpus,
                                .nics       = nics};
        cs_nic_choice choice = {0};
        uint32_t      shares = 0, used = 0, g = 1 + ct_below(&rng, m.n_gpus);
        for (uint32_t i = 0; i < MOST; i++) {
            place(&rng, &gpus[i]);
            place(&rng, &nics[i]);
        }
        cr_assert_eq(cs_machine_choose_nics(&m, g, &arena, &choice), CS_OK);
        for (uint32_t i = 0; i < g; i++) {
            check_gpu(&m, g, i, &choice);
            used += choice.count[i];
        }
        for (uint32_t i = 0; i < m.n_nics; i++) {
            shares += choice.sharers[i];
        }
        cr_assert_eq(shares, used);
        cs_arena_free(&arena);
    }
}

/* Two switches below one: every GPU has the NIC of its own, whatever their order is. */
Test(nic_choice, a_switch_below_a_switch_is_nearer)
{
    cs_device  gpus[2] = {{.bridge = 1}, {.bridge = 2}}, nics[2] = {{.bridge = 2}, {.bridge = 1}};
    cs_machine m = {
        .n_gpus = 2, .n_nics = 2, .n_sockets = 1, .n_switches = 1, .gpus = gpus, .nics = nics};
    cs_nic_choice choice;

    cr_assert_eq(cs_machine_choose_nics(&m, 2, &arena, &choice), CS_OK);
    cr_assert_eq(choice.order[choice.first[0]], 1);
    cr_assert_eq(choice.order[choice.first[1]], 0);
    cs_arena_free(&arena);
}

/* 1024 GPUs and 1024 NICs at one socket: 4 s before NICs were grouped, 1 ms since. */
Test(nic_choice, of_the_largest_server_takes_no_time)
{
    cs_server_shape   shape = {.n_gpus    = CS_MACHINE_MAX_GPUS,
                               .n_nics    = CS_MACHINE_MAX_NICS,
                               .n_sockets = 1,
                               .mesh      = CS_MESH_NONE};
    const cs_machine *m     = cs_server_make(&shape, "largest", &arena);
    cs_nic_choice     choice;
    clock_t           start = clock();

    cr_assert_not_null(m);
    cr_assert_eq(cs_machine_choose_nics(m, m->n_gpus, &arena, &choice), CS_OK);
    cr_assert_lt((double)(clock() - start) / CLOCKS_PER_SEC, 0.5);
    for (uint32_t i = 0; i < m->n_gpus; i++) {
        cr_assert_eq(choice.order[choice.first[i]], i);
    }
    cs_arena_free(&arena);
}
