/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hierarchical AllReduce: inside the servers, over the rails, inside the servers.
 *
 * The buffer has a part for each of the L local ranks. (1) Inside every server the local rank p
 * collects part p of all others, added up; (2) the local ranks p of all N servers, which are on
 * one rail, run a ring AllReduce of part p, in N chunks; (3) inside every server p hands part p to
 * all others. Every NIC carries 2 (N-1)/N of s/L. With `segments` the buffer is cut first, and
 * segment i is inside the servers while segment i - 1 is on the rails. With `stages` = apart all
 * segments go through a stage, a barrier, and then through the next one: MSCCL's hierarchical
 * AllReduce with chunks of a fixed size and no stage that overlaps another, as AdapCC compares with
 * it (`chunk` = 1 MiB).
 *
 * Sources: two-level AllReduce as in X. Jia et al., "Highly scalable deep learning training system
 * with mixed-precision" (2018), and NCCL-based hierarchical AllReduce since; M. Cowan et al.,
 * "MSCCLang", ASPLOS 2023; X. Zhao et al., "AdapCC", ICDCS 2024.
 */
#include "algorithms/lib/accept.h"
#include "base/alloc.h"

#include <math.h>

/* What a segment goes through, one behind the other. */
enum { INTO, RAILS, OUT, STAGES };

enum { MOST_SEGMENTS = 4096 };

typedef struct hierarchical_options {
    uint32_t segments, chunk;
    int      stages; /* OVERLAP .. */
    double   barrier_s;
} hierarchical_options;

enum { OVERLAP, APART };

static const cs_field hierarchical_table[] = {
    CS_OPTION(hierarchical_options, segments, 1, 1, MOST_SEGMENTS,
              "parts of the buffer that are worked on one behind the other"),
    CS_OPTION(
        hierarchical_options, chunk, 0, 0, 1u << 30,
        "bytes of a message over the rails, at most: overrides segments; 0: as segments says"),
    CS_OPTION_CHOICE(hierarchical_options, stages, "overlap|apart",
                     "segments in several stages at once, or a barrier between stages"),
    CS_OPTION(hierarchical_options, barrier_s, 0, 0, 1e3, "cost of a barrier between stages"),
    CS_FIELD_END,
};

typedef struct hierarchical {
    const cs_scenario *scenario;
    uint32_t           servers, locals, segments;
    bool               apart;
    double             barrier_s;
    uint32_t           kept;  /* segments in work, so many slots */
    uint32_t           turn;  /* segment `turn - stage` is in a stage; apart: segment `turn` */
    uint32_t           stage; /* the latest segment's first */
    uint32_t           step;  /* of the rail ring */
    uint32_t           round; /* steps of all segments so far */
    uint32_t           rank, partner;
    bool               is_over, awaits; /* awaits: a barrier before the next message */
} hierarchical;

/* Segments that have slots at a time. */
static uint32_t kept_of(const hierarchical_options *o)
{
    return o->stages == APART ? o->segments : STAGES;
}

/* So many that a message over the rails has at most `chunk` bytes. */
static cs_status choose_segments(const cs_scenario *scenario, hierarchical_options *o,
                                 cs_error *err)
{
    uint64_t share = cs_split(scenario->bytes, scenario->cluster.n_ranks, 0);

    if (o->chunk == 0) {
        return CS_OK;
    }
    uint64_t segments = (share + o->chunk - 1) / o->chunk;
    if (segments > MOST_SEGMENTS) {
        return CS_FAIL(err, CS_ENOTSUP, "algorithm.options.chunk",
                       "chunks of %u bytes are %llu segments; at most %u are accepted", o->chunk,
                       (unsigned long long)segments, (unsigned)MOST_SEGMENTS);
    }
    o->segments = (uint32_t)segments;
    return CS_OK;
}

static cs_status hierarchical_check(const cs_scenario *scenario, void *options, cs_plan *plan,
                                    cs_error *err)
{
    hierarchical_options *o       = options;
    const cs_cluster     *c       = &scenario->cluster;
    uint32_t              servers = cs_n_servers(c);

    CS_TRY(choose_segments(scenario, o, err));
    uint64_t chunks = (uint64_t)c->n_ranks * o->segments;
    uint64_t slots  = (kept_of(o) + 1) * (uint64_t)servers;
    CS_TRY(cs_accept_slots(scenario, "hierarchical", slots, err));
    *plan =
        (cs_plan){.n_chunks = (uint32_t)chunks,
                  .n_slots  = (uint32_t)slots,
                  .n_rounds = o->segments * (2 * (servers - 1) + (c->gpus_per_server > 1 ? 2 : 0)),
                  .uses     = CS_USES_SPAN | cs_uses_nvlink(c)};
    return CS_OK;
}

static cs_status hierarchical_open(const cs_scenario *scenario, const void *options, void **state_p,
                                   cs_error *err)
{
    const hierarchical_options *o = options;
    hierarchical               *h = CS_NEW(hierarchical, 1);

    if (h == NULL) {
        return CS_NO_MEMORY(err, "hierarchical");
    }
    h->scenario  = scenario;
    h->servers   = cs_n_servers(&scenario->cluster);
    h->locals    = scenario->cluster.gpus_per_server;
    h->segments  = o->segments;
    h->apart     = o->stages == APART;
    h->barrier_s = o->barrier_s;
    h->kept      = kept_of(o);
    *state_p     = h;
    return CS_OK;
}

static uint32_t segment_of(const hierarchical *h)
{
    return h->apart ? h->turn : h->turn - h->stage;
}

/* `count` chunks of part `part` from chunk `first` on, of the segment in this stage. */
static cs_transfer part_of(const hierarchical *h, uint32_t part, uint32_t first, uint32_t count)
{
    uint32_t segment = segment_of(h);
    uint32_t chunk   = (segment * h->locals + part) * h->servers + first;
    uint32_t slot    = segment % h->kept * h->servers + first;
    uint32_t all     = h->segments * h->locals * h->servers;

    return (cs_transfer){.chunk    = chunk,
                         .src_slot = (uint16_t)slot,
                         .dst_slot = (uint16_t)slot,
                         .bytes    = cs_split_range(h->scenario->bytes, all, chunk, count),
                         .round    = h->round,
                         .span     = (uint16_t)count};
}

static void between(const hierarchical *h, cs_transfer *t, uint32_t src, uint32_t dst, cs_op op)
{
    t->src       = src;
    t->dst       = dst;
    t->op_fabric = cs_op_fabric(op, cs_fabric_of(&h->scenario->cluster, src, dst));
}

/* The partner-th local rank after this one. */
static uint32_t mate(const hierarchical *h)
{
    uint32_t base = h->rank / h->locals * h->locals, local = h->rank - base + 1 + h->partner;
    return base + (local < h->locals ? local : local - h->locals);
}

/* INTO: the mate's contribution to the part of this rank; OUT: this rank's part to the mate. */
static cs_transfer inside(const hierarchical *h)
{
    uint32_t    local = h->rank % h->locals;
    cs_transfer t     = part_of(h, local, 0, h->servers);

    if (h->stage == INTO) {
        bool is_first = h->partner == 0, is_last = h->partner + 2 == h->locals;
        between(h, &t, mate(h), h->rank, CS_OP_REDUCE);
        t.flags = (uint8_t)(CS_OWN_SRC | (is_first ? CS_OWN_DST : 0) |
                            (is_last && h->servers == 1 ? CS_DONE_DST : 0));
    } else {
        between(h, &t, h->rank, mate(h), CS_OP_COPY);
        t.dst_slot = (uint16_t)(h->kept * h->servers);
        t.flags    = CS_DONE_DST;
    }
    return t;
}

/* Step `step` of the ring over the servers, from this rank on. */
static cs_transfer on_rails(const hierarchical *h)
{
    uint32_t    n = h->servers, k = h->rank / h->locals, local = h->rank % h->locals;
    uint32_t    first = (k + 2 * n - 1 - h->step) % n;
    cs_transfer t     = part_of(h, local, first, 1);
    bool        adds  = h->step < n - 1;
    uint32_t    next  = k + 1 < n ? h->rank + h->locals : local;

    between(h, &t, h->rank, next, adds ? CS_OP_REDUCE : CS_OP_COPY);
    if (h->locals == 1) {
        t.flags |= h->step == 0 ? CS_OWN_SRC : 0;
        t.flags |= adds ? CS_OWN_DST : 0;
    }
    t.flags |= h->step + 2 >= n ? CS_DONE_DST : 0;
    return t;
}

/* How often every rank is served in a step of the stage, and how many steps it has. */
static uint32_t partners(const hierarchical *h)
{
    return h->stage == RAILS ? 1 : h->locals - 1;
}

static uint32_t steps(const hierarchical *h)
{
    return h->stage == RAILS ? 2 * (h->servers - 1) : 1;
}

static bool is_there(const hierarchical *h)
{
    bool in_range = h->apart || (h->turn >= h->stage && segment_of(h) < h->segments);
    return in_range && partners(h) > 0 && steps(h) > 0;
}

static void next_stage(hierarchical *h)
{
    h->step = 0;
    if (h->apart) {
        if (++h->turn < h->segments) {
            return;
        }
        h->turn    = 0;
        h->awaits  = h->awaits || h->round > 0;
        h->is_over = ++h->stage == STAGES;
        return;
    }
    if (++h->stage == STAGES) {
        h->stage   = 0;
        h->is_over = ++h->turn == h->segments + STAGES - 1;
    }
}

/* All ranks take a turn before any takes the next, so that one port per rank serves it at once. */
static void next_place(hierarchical *h)
{
    if (++h->rank < h->servers * h->locals) {
        return;
    }
    h->rank = 0;
    if (++h->partner < partners(h)) {
        return;
    }
    h->partner = 0;
    h->round++;
    if (++h->step == steps(h)) {
        next_stage(h);
    }
}

static void hierarchical_next_block(void *state, cs_block *block)
{
    hierarchical *h = state;

    block->count = 0;
    while (!h->is_over && block->count < block->capacity) {
        if (!is_there(h)) {
            next_stage(h);
            continue;
        }
        if (h->awaits && block->count > 0) {
            return; /* a barrier stands at the begin of a block */
        }
        block->transfers[block->count++] = h->stage == RAILS ? on_rails(h) : inside(h);
        if (h->awaits) {
            block->transfers[0].flags |= CS_FENCE;
            block->fence_except = CS_FENCE_ALL;
            block->fence_s      = h->barrier_s;
            h->awaits           = false;
        }
        next_place(h);
    }
}

/* Equal chunks, all together, one segment or stages apart: everything one after the other. */
static double hierarchical_closed_form_s(const cs_scenario *scenario, const void *options)
{
    const hierarchical_options *o = options;
    const cs_cluster           *c = &scenario->cluster;
    uint32_t                    l = c->gpus_per_server, n = cs_n_servers(c);
    uint64_t                    chunks   = (uint64_t)c->n_ranks * o->segments;
    double                      inside_s = 0, rails_s = 0, barriers_s = 0;

    if ((o->segments != 1 && o->stages != APART) || c->sockets > 1 ||
        scenario->bytes % chunks != 0 || c->servers != NULL || scenario->n_capacity > 0 ||
        cs_last_arrival(scenario) > 0) {
        return (double)NAN;
    }
    if (l > 1) {
        uint32_t serial = c->fabrics[CS_NVLINK].kind == CS_DIRECT ? 1 : l - 1;
        inside_s        = serial * cs_message_s(scenario, CS_NVLINK, scenario->bytes / chunks * n);
    }
    if (n > 1) {
        rails_s = 2 * (n - 1) * cs_message_s(scenario, CS_NIC, scenario->bytes / chunks);
    }
    if (o->stages == APART) {
        barriers_s = o->barrier_s * ((l > 1 ? 2 : 0) + (n > 1 ? 1 : 0) - 1);
    }
    return o->segments * (2 * inside_s + rails_s) + barriers_s;
}

const cs_algorithm cs_algorithm_hierarchical = {
    .name          = "hierarchical",
    .summary       = "ReduceScatter in the servers, rings over the rails, AllGather in the servers",
    .source        = "X. Jia et al., arXiv:1807.11205 (2018); stages apart: MSCCL in AdapCC",
    .collectives   = 1u << CS_ALLREDUCE,
    .options       = hierarchical_table,
    .options_bytes = sizeof(hierarchical_options),
    .check         = hierarchical_check,
    .open          = hierarchical_open,
    .next_block    = hierarchical_next_block,
    .close         = cs_free,
    .closed_form_s = hierarchical_closed_form_s,
};
