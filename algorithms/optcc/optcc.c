/* SPDX-License-Identifier: GPL-3.0-or-later */
/* OptCC: AllReduce around slow NICs, close to the lower bound.
 *
 * The m slow servers are taken out of the ring; every section of the buffer is reduced around the
 * ring of the H = p - m healthy ones (stage S1), the slow servers' contributions go straight to
 * the section's owner (S3) and the final value comes straight back (S2), while it goes around the
 * ring (S4). The transfers are in optcc_stream.h, the variants for one slow server (special
 * section, bubbles, ramp) and all numbers in optcc_shape.h, the choice among them by
 * predicted time in optcc_time.h.
 *
 * Which schedule runs, and where one of the rings (lib/fallback.h) runs instead, is
 * optcc_choice.h's: `chosen` in the result and the plan's note say so.
 *
 * Source: OptCC; the schedule is this project's construction (sim/doc/optcc.md).
 */
#include "algorithms/lib/accept.h"
#include "algorithms/lib/fallback.h"
#include "algorithms/optcc/optcc_choice.h"
#include "algorithms/optcc/optcc_stream.h"
#include "base/alloc.h"

typedef struct optcc {
    cs_optcc_stream stream;
    cs_fallback     ring;    /* open when a ring was chosen */
    uint32_t       *around;  /* [m] servers that are gone around, ascending */
    uint32_t       *healthy; /* [H] servers of the nodes */
} optcc;

static cs_status optcc_check(const cs_scenario *scenario, void *options, cs_plan *plan,
                             cs_error *err)
{
    cs_status status = cs_accept_collective(scenario, "optcc", 1u << CS_ALLREDUCE, err);

    return status == CS_OK ? cs_optcc_resolve(scenario, options, plan, err) : status;
}

static void optcc_close(void *state)
{
    optcc *s = state;

    if (s != NULL) {
        cs_fallback_close(&s->ring);
        cs_free(s->around);
        cs_free(s->healthy);
        cs_free(s);
    }
}

/* Which server is which node. */
static cs_status number_servers(optcc *s, const cs_scenario *scenario, uint32_t around)
{
    uint32_t p = cs_n_servers(&scenario->cluster), nodes = 0, next = 0;

    s->around  = CS_NEW(uint32_t, p);
    s->healthy = CS_NEW(uint32_t, p);
    if (s->around == NULL || s->healthy == NULL) {
        return CS_ENOMEM;
    }
    uint32_t m = cs_optcc_servers_around(scenario, around, s->around, NULL);
    for (uint32_t r = 0; r < p; r++) {
        if (next < m && s->around[next] == r) {
            next++;
        } else {
            s->healthy[nodes++] = r;
        }
    }
    return CS_OK;
}

static cs_status begin_stream(optcc *s, const cs_scenario *scenario, const cs_optcc_options *o,
                              cs_error *err)
{
    if (number_servers(s, scenario, o->around) != CS_OK) {
        return CS_FAIL(err, CS_ENOMEM, "", "out of memory for optcc over %u servers",
                       cs_n_servers(&scenario->cluster));
    }
    s->stream = (cs_optcc_stream){.cluster = &scenario->cluster,
                                  .shape   = cs_optcc_resolved_shape(scenario, o),
                                  .bytes   = scenario->bytes,
                                  .gpus    = scenario->cluster.gpus_per_server,
                                  .copies  = o->copies,
                                  .slow    = s->around,
                                  .healthy = s->healthy};
    cs_optcc_begin(&s->stream);
    return CS_OK;
}

static cs_status optcc_open(const cs_scenario *scenario, const void *options, void **state_p,
                            cs_error *err)
{
    const cs_optcc_options *o = options;
    optcc                  *s = CS_NEW(optcc, 1);

    if (s == NULL) {
        return CS_FAIL(err, CS_ENOMEM, "", "out of memory for optcc");
    }
    cs_status status =
        o->chosen >= CS_OPTCC_CHOSEN_RINGS
            ? cs_fallback_open(&s->ring, cs_rings[o->chosen - CS_OPTCC_CHOSEN_RINGS], scenario, err)
            : begin_stream(s, scenario, o, err);
    if (status != CS_OK) {
        optcc_close(s);
        return status;
    }
    *state_p = s;
    return CS_OK;
}

static void optcc_next_block(void *state, cs_block *block)
{
    optcc *s = state;

    block->count = 0;
    if (s->ring.algorithm != NULL) {
        cs_fallback_next(&s->ring, block);
    } else {
        cs_optcc_next(&s->stream, block);
    }
}

const cs_algorithm cs_algorithm_optcc = {
    .name          = "optcc",
    .summary       = "AllReduce around slow NICs: a ring of the healthy, short cuts for the slow",
    .source        = "OptCC; own construction, sim/doc/optcc.md",
    .collectives   = 1u << CS_ALLREDUCE,
    .options       = cs_optcc_table,
    .options_bytes = sizeof(cs_optcc_options),
    .check         = optcc_check,
    .open          = optcc_open,
    .next_block    = optcc_next_block,
    .close         = optcc_close,
};
