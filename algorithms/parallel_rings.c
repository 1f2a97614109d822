/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parallel Rings: one ring per local rank, so that all NICs of a server work all the time.
 *
 * AllGather: N - 1 ring steps over the N servers instead of the n - 1 of a flat ring, while the
 * local ranks hand each other what came over the network (pattern/rail_rings.h). ReduceScatter is
 * its time reversal, AllReduce both. Local rank p of every server must be on the same rail.
 *
 * Source: Parallel Rings (multi-HCA AllGather for dense GPU servers); the last exchange between two
 * sockets, which the paper's listing leaves out, ReduceScatter and AllReduce are this project's.
 */
#include "algorithms/pattern/accept.h"
#include "algorithms/pattern/rail_rings.h"
#include "base/alloc.h"

#include <math.h>

#define RINGS_DO (1u << CS_ALLREDUCE | 1u << CS_REDUCESCATTER | 1u << CS_ALLGATHER)

typedef struct rings_options {
    int      exchange; /* cs_rail_exchange */
    uint32_t segments;
} rings_options;

static const cs_field rings_table[] = {
    CS_OPTION_CHOICE(rings_options, exchange, "mesh|sockets",
                     "inside a server: from each to each, or once between its two sockets"),
    CS_OPTION(rings_options, segments, 1, 1, 1024, "chunks that a block is cut in"),
    CS_FIELD_END,
};

static cs_rail_rings rings_of(const cs_scenario *scenario, const rings_options *options)
{
    return (cs_rail_rings){.cluster   = &scenario->cluster,
                           .exchange  = (cs_rail_exchange)options->exchange,
                           .segments  = options->segments,
                           .bytes     = scenario->bytes,
                           .hands_out = scenario->collective != CS_ALLGATHER,
                           .collects  = scenario->collective != CS_REDUCESCATTER};
}

static cs_status rings_check(const cs_scenario *scenario, void *options, cs_plan *plan,
                             cs_error *err)
{
    const rings_options *o      = options;
    const cs_cluster    *c      = &scenario->cluster;
    cs_rail_rings        rings  = rings_of(scenario, o);
    cs_status            status = cs_accept_collective(scenario, "parallel_rings", RINGS_DO, err);

    if (status == CS_OK && o->exchange == CS_RAIL_SOCKETS && c->gpus_per_server % 2 != 0) {
        status = CS_FAIL(err, CS_ENOTSUP, "cluster.gpus_per_server",
                         "exchange=sockets needs as many GPUs on either socket, got %u per server",
                         c->gpus_per_server);
    }
    if (status == CS_OK) {
        status = cs_accept_slots(scenario, "parallel_rings", cs_rail_slots(&rings), err);
    }
    if (status == CS_OK) {
        *plan =
            (cs_plan){.n_chunks      = c->n_ranks * o->segments,
                      .n_slots       = cs_rail_slots(&rings),
                      .n_rounds      = cs_rail_rounds(&rings),
                      .uses          = cs_uses_nvlink(c),
                      .chunks_differ = scenario->bytes % ((uint64_t)c->n_ranks * o->segments) != 0};
    }
    return status;
}

static cs_status rings_open(const cs_scenario *scenario, const void *options, void **state_p,
                            cs_error *err)
{
    cs_rail_rings *rings = CS_NEW(cs_rail_rings, 1);

    if (rings == NULL) {
        return CS_FAIL(err, CS_ENOMEM, "", "out of memory for parallel rings");
    }
    *rings   = rings_of(scenario, options);
    *state_p = rings;
    return CS_OK;
}

static void rings_next_block(void *state, cs_block *block)
{
    cs_rail_next(state, block);
}

/* With a link for every pair of local ranks: a ring step takes R, an exchange D, and either the
 * rings are never held up, or the exchanges are: max((N-1) R + D, N D) for either half. Exact for
 * whole blocks of one size, when all arrive together and no NIC is slow. With one local rank
 * nothing is exchanged. */
static double rings_closed_form_s(const cs_scenario *scenario, const void *options)
{
    const rings_options *o       = options;
    const cs_cluster    *c       = &scenario->cluster;
    uint32_t             servers = cs_n_servers(c), g = c->gpus_per_server;
    bool                 is_direct = g <= 2 || c->fabrics[CS_NVLINK].kind == CS_DIRECT;
    double               halves    = scenario->collective == CS_ALLREDUCE ? 2 : 1;

    if (!is_direct || c->sockets > 1 || o->exchange != CS_RAIL_MESH || o->segments != 1 ||
        scenario->n_faults > 0 || cs_last_arrival(scenario) > 0 ||
        scenario->bytes % c->n_ranks != 0) {
        return (double)NAN;
    }
    double step     = cs_message_s(scenario, CS_NIC, scenario->bytes / c->n_ranks);
    double exchange = g > 1 ? cs_message_s(scenario, CS_NVLINK, scenario->bytes / c->n_ranks) : 0;
    return halves * fmax((servers - 1) * step + exchange, servers * exchange);
}

const cs_algorithm cs_algorithm_parallel_rings = {
    .name          = "parallel_rings",
    .summary       = "a ring per local rank over all NICs, exchanges inside servers meanwhile",
    .source        = "Parallel Rings (multi-HCA AllGather); ReduceScatter by time reversal",
    .collectives   = RINGS_DO,
    .options       = rings_table,
    .options_bytes = sizeof(rings_options),
    .check         = rings_check,
    .open          = rings_open,
    .next_block    = rings_next_block,
    .close         = cs_free,
    .closed_form_s = rings_closed_form_s,
};
