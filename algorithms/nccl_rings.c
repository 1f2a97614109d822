/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rings as NCCL builds them: several channels, each with its share of every block and its own order
 * inside the servers, so that all NICs of a server are in use (pattern/channel_rings.h). n - 1
 * steps of a c-th of a block, for c channels.
 *
 * Source: NCCL's ring algorithm (S. Jeaugey, "NCCL 2.0", GTC 2017).
 */
#include "algorithms/pattern/accept.h"
#include "algorithms/pattern/channel_rings.h"
#include "base/alloc.h"

#define RINGS_DO (1u << CS_ALLREDUCE | 1u << CS_REDUCESCATTER | 1u << CS_ALLGATHER)

enum { MOST_CHANNELS = 32767 }; /* two slots each */

typedef struct nccl_options {
    uint32_t channels;
    int      order; /* cs_channel_order */
} nccl_options;

static const cs_field nccl_table[] = {
    CS_OPTION_AUTO(nccl_options, channels, 1, MOST_CHANNELS,
                   "rings, at most one per GPU of a server; auto: as many"),
    CS_OPTION_CHOICE(nccl_options, order, "rotated|sockets",
                     "ranks inside a server: rotated by ring, or one socket after the other"),
    CS_FIELD_END,
};

static cs_channel_rings rings_of(const cs_scenario *scenario, const nccl_options *options)
{
    return (cs_channel_rings){.scenario = scenario,
                              .channels = options->channels,
                              .order    = (cs_channel_order)options->order};
}

static cs_status check_options(const cs_scenario *scenario, nccl_options *o, cs_error *err)
{
    uint32_t g = scenario->cluster.gpus_per_server;

    if (o->channels == CS_AUTO) {
        o->channels = g;
    }
    if (o->channels > g) {
        return CS_FAIL(err, CS_ENOTSUP, "channels",
                       "%u rings need as many NICs in a server, which has %u", o->channels, g);
    }
    if (o->order == CS_CHANNEL_SOCKETS && g % 2 != 0) {
        return CS_FAIL(err, CS_ENOTSUP, "order",
                       "sockets needs as many GPUs on either socket, got %u per server", g);
    }
    return CS_OK;
}

static cs_status nccl_check(const cs_scenario *scenario, void *options, cs_plan *plan,
                            cs_error *err)
{
    cs_status status = cs_accept_collective(scenario, "nccl_rings", RINGS_DO, err);

    if (status == CS_OK) {
        status = check_options(scenario, options, err);
    }
    if (status == CS_OK) {
        uint64_t n_slots = 2 * (uint64_t)((const nccl_options *)options)->channels;
        status           = cs_accept_slots(scenario, "nccl_rings", n_slots, err);
    }
    if (status == CS_OK) {
        cs_channel_rings rings = rings_of(scenario, options);
        *plan                  = cs_channel_plan(&rings);
    }
    return status;
}

static cs_status nccl_open(const cs_scenario *scenario, const void *options, void **state_p,
                           cs_error *err)
{
    cs_channel_rings *rings = CS_NEW(cs_channel_rings, 1);

    if (rings == NULL) {
        return CS_FAIL(err, CS_ENOMEM, "", "out of memory for rings");
    }
    *rings   = rings_of(scenario, options);
    *state_p = rings;
    return CS_OK;
}

static void nccl_next_block(void *state, cs_block *block)
{
    cs_channel_next(state, block);
}

static double nccl_closed_form_s(const cs_scenario *scenario, const void *options)
{
    cs_channel_rings rings = rings_of(scenario, options);
    return cs_channel_closed_form_s(&rings);
}

const cs_algorithm cs_algorithm_nccl_rings = {
    .name          = "nccl_rings",
    .summary       = "one ring per channel, each with its share of every block, over all NICs",
    .source        = "NCCL's rings (S. Jeaugey, GTC 2017)",
    .collectives   = RINGS_DO,
    .options       = nccl_table,
    .options_bytes = sizeof(nccl_options),
    .check         = nccl_check,
    .open          = nccl_open,
    .next_block    = nccl_next_block,
    .close         = cs_free,
    .closed_form_s = nccl_closed_form_s,
};
