/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One schedule on every model: nothing parts on a crossbar without sharing; behind an uplink the
 * first transfer that waits is named with the links that it shares. */
#include "output/model_compare.h"

#include "base/alloc.h"
#include "cs/topology.h"
#include "support/scene.h"

#include <criterion/criterion.h>
#include <string.h>

static ct_scene      scene;
static cs_link       links[8];
static cs_leaf_spine shape;
static cs_topology   topology;
static cs_model_row  rows[16];
static size_t        n_rows;

static void count(void *user, uint64_t done, uint64_t total)
{
    size_t *n = user;

    cr_expect(done == ++*n && total >= done);
}

static cs_status compare(cs_error *err)
{
    const cs_job job    = ct_scene_job(&scene, "flow");
    size_t       n_told = 0;

    cs_status status =
        cs_compare_models(&job, 1e-9, &(cs_listener){count, &n_told}, rows, &n_rows, err);
    cr_expect(status != CS_OK || n_told == n_rows, "every model is told");
    return status;
}

static const cs_model_row *row_of(const char *model)
{
    for (size_t i = 0; i < n_rows; i++) {
        if (strcmp(rows[i].model->name, model) == 0) {
            return &rows[i];
        }
    }
    cr_assert(false, "no row of %s", model);
    return NULL;
}

static void set_uplink(double uplink_Bps)
{
    shape = (cs_leaf_spine){2, 1, uplink_Bps, 0};
    cs_leaf_spine_make(&shape, links, &topology);
    scene.scenario.cluster.topology = &topology;
}

Test(model_compare, nothing_parts_where_nothing_is_shared)
{
    ct_scene_set(&scene, "ring", CS_ALLREDUCE, 6, 60000);
    ct_scene_ready(&scene);
    cr_assert_eq(compare(NULL), CS_OK);
    for (size_t i = 0; i < n_rows; i++) {
        /* Packets have headers, and are stored on their way. */
        const cs_network *network = rows[i].model->network;
        bool              parts   = network != NULL && network->queues_senders != NULL;
        cr_assert(rows[i].parts == parts && !rows[i].no_topology && rows[i].outcome.verified, "%s",
                  rows[i].model->name);
    }
}

/* rhd of 4: at distance 2 both pairs cross one uplink. */
Test(model_compare, names_the_first_transfer_and_the_uplink_that_it_shares)
{
    ct_scene_set(&scene, "rhd", CS_ALLREDUCE, 4, 4000000);
    set_uplink(450e9);
    ct_scene_ready(&scene);
    cr_assert_eq(compare(NULL), CS_OK);
    const cs_model_row *flow = row_of("flow");
    cr_assert(row_of("alpha-beta")->no_topology && !flow->no_topology);
    cr_assert(flow->parts);
    cr_assert_eq(flow->transfer.round, 0);
    cr_assert_float_eq(flow->mine.end_s, 3e-6 + 2 * 2000000 / 450e9, 1e-15);
    cr_assert_float_eq(flow->theirs.end_s, 3e-6 + 2000000 / 450e9, 1e-15);
    cr_assert_float_eq(flow->mine_alone_s, 3e-6 + 2000000 / 450e9, 1e-15);
    cr_assert_float_eq(flow->theirs_alone_s, 3e-6 + 2000000 / 450e9, 1e-15);
    cr_assert_eq(flow->n_shared, 2);
    cr_assert_not_null(strstr(flow->shared[0].name, "uplink leaf"), "%s", flow->shared[0].name);
    cr_assert_not_null(strstr(flow->shared[1].name, "downlink spine 0"));
    cr_assert(flow->shared[0].n_others == 1 && flow->shared[1].n_others == 1);
}

Test(model_compare, any_allocation_may_fail)
{
    cs_status status = CS_ENOMEM;

    ct_scene_set(&scene, "rhd", CS_ALLREDUCE, 4, 4000);
    set_uplink(450e9);
    ct_scene_ready(&scene);
    for (long passes = 0; status != CS_OK; passes++) {
        cs_error err = {0};
        cs_alloc_fail_after(passes);
        status = compare(&err);
        cs_alloc_fail_after(-1);
        cr_assert(status == CS_OK || (status == CS_ENOMEM && err.message[0] != '\0'));
        cr_assert_lt(passes, 500);
    }
}

/* One way of a ring of two, in 2442 packets of 4096 bytes and one of 1568, each with 82 more. */
Test(model_compare, says_what_a_message_costs_alone)
{
    ct_scene_set(&scene, "ring", CS_ALLREDUCE, 2, 20008000);
    ct_scene_ready(&scene);
    cr_assert_eq(compare(NULL), CS_OK);
    const cs_model_row *packet = row_of("packet");
    double              full_s = 9284e-12, last_s = 3667e-12; /* to the picosecond, as packets do */
    cr_assert(packet->parts && packet->n_shared == 0);
    cr_assert_float_eq(packet->theirs_alone_s, 3e-6 + 10004000 / 450e9, 1e-15);
    cr_assert_float_eq(packet->mine_alone_s, 3e-6 + 2443 * full_s + last_s, 1e-14);
    cr_assert_float_eq(packet->mine_alone_s, packet->mine.end_s - packet->mine.start_s, 1e-14);
}

/* Packets in another process are a matter of minutes: not for who did not ask. */
Test(model_compare, leaves_out_what_takes_minutes)
{
    size_t n_left_out = 0;

    ct_scene_set(&scene, "ring", CS_ALLREDUCE, 8, (uint64_t)4 << 30);
    ct_scene_ready(&scene);
    cr_assert_eq(compare(NULL), CS_OK);
    for (size_t i = 0; i < n_rows; i++) {
        const cs_network *n          = rows[i].model->network;
        bool              takes_long = n != NULL && n->is_foreign && n->queues_senders != NULL;
        cr_assert_eq(rows[i].refusal.status, takes_long ? CS_ENOTSUP : CS_OK, "%s",
                     rows[i].model->name);
        n_left_out += takes_long;
    }
    cr_assert_leq(n_left_out, 1);
    cr_assert_not(row_of("packet")->outcome.elapsed_s <= row_of("flow")->outcome.elapsed_s);
}
