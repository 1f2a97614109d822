/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hierarchical AllReduce, its halves, Broadcast and Reduce: inside the servers, over the rails,
 * inside the servers.
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
 * ReduceScatter is (1) and the first half of (2), AllGather the second half and (3), with the
 * blocks of the local ranks p for part p: they do not lie side by side, so that a message inside a
 * server has a part for each of the N servers, at most CS_MAX_PARTS; where there are more, it is
 * several.
 *
 * Reduce: (1) is the same, (2) is a chain over the servers that ends at the root's, and in (3) the
 * root alone collects. Broadcast is that backwards: the root hands out its parts, chains lead from
 * its server to all others, and (3) is as above. So all NICs of a server share the buffer; what
 * segments are for is that a chain is at work on as many as there are servers.
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

enum { MOST_SEGMENTS = 4096, MOST_AUTO = 1024 };

typedef struct hierarchical_options {
    uint32_t segments, chunk;
    int      stages; /* OVERLAP .. */
    double   barrier_s;
} hierarchical_options;

enum { OVERLAP, APART };

static const cs_field hierarchical_table[] = {
    CS_OPTION_AUTO(hierarchical_options, segments, 1, MOST_SEGMENTS,
                   "parts of the buffer that are worked on one behind the other; auto: 1, with a "
                   "root by alpha and bandwidth"),
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
    cs_collective      collective;
    uint32_t           root, root_server;
    bool               apart;
    bool               is_one_server; /* what server 0 sends alone, without a root */
    double             barrier_s;
    uint32_t           kept;  /* segments in work, so many slots */
    uint32_t           turn;  /* segment `turn - stage` is in a stage; apart: segment `turn` */
    uint32_t           stage; /* the latest segment's first */
    uint32_t           step;  /* of the rail ring */
    uint32_t           round; /* steps of all segments so far */
    uint32_t           rank, partner;
    uint32_t           group;           /* of the parts of a message inside a server */
    bool               is_over, awaits; /* awaits: a barrier before the next message */
} hierarchical;

/* Do blocks of ranks take the place of parts? */
static bool has_blocks(cs_collective collective)
{
    return collective == CS_ALLGATHER || collective == CS_REDUCESCATTER;
}

/* Segments that have slots at a time. */
static uint32_t kept_of(const hierarchical_options *o)
{
    return o->stages == APART ? o->segments : STAGES;
}

/* With a root K segments take the sum of all stages and K - 1 times the longest: a hop over the
 * rails, or what the root's ports inside its server do for a segment. The K for which that is
 * least. */
static uint32_t best_segments(const cs_scenario *scenario)
{
    const cs_cluster *c = &scenario->cluster;
    uint32_t          l = c->gpus_per_server, n = cs_n_servers(c), best = 1;
    uint32_t          serial  = l == 1 ? 0 : c->fabrics[CS_NVLINK].kind == CS_DIRECT ? 1 : l - 1;
    uint64_t          part    = scenario->bytes / l;
    double            least_s = (double)INFINITY;

    for (uint32_t k = 1; k <= MOST_AUTO && k <= part / n + 1; k++) {
        double hop_s    = n > 1 ? cs_message_s(scenario, CS_NIC, part / k) : 0;
        double inside_s = 2 * serial * cs_message_s(scenario, CS_NVLINK, part / k);
        double end_s    = (n - 1) * hop_s + inside_s + (k - 1) * fmax(hop_s, inside_s);
        best            = end_s < least_s ? k : best;
        least_s         = fmin(end_s, least_s);
    }
    return best;
}

/* As asked for, or so many that a message over the rails has at most `chunk` bytes. */
static cs_status choose_segments(const cs_scenario *scenario, hierarchical_options *o,
                                 cs_error *err)
{
    bool     has_root = cs_collective_has_root(scenario->collective);
    uint32_t parts    = has_root ? scenario->cluster.gpus_per_server : scenario->cluster.n_ranks;
    uint64_t share    = cs_split(scenario->bytes, parts, 0);

    if (o->chunk == 0) {
        o->segments = o->segments != CS_AUTO ? o->segments : has_root ? best_segments(scenario) : 1;
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
    bool     blocks = has_blocks(scenario->collective);
    uint32_t halves = scenario->collective == CS_ALLREDUCE ? 2 : 1;
    uint32_t inside = c->gpus_per_server == 1 ? 0 : blocks ? 1 : 2;
    CS_TRY(cs_accept_slots(scenario, "hierarchical", slots, err));
    *plan = (cs_plan){.n_chunks = (uint32_t)chunks,
                      .n_slots  = (uint32_t)slots,
                      .n_rounds = o->segments * (halves * (servers - 1) + inside),
                      .uses     = (blocks ? inside > 0 && servers > 1 ? (uint32_t)CS_USES_JOIN : 0u
                                          : (uint32_t)CS_USES_SPAN) |
                              cs_uses_nvlink(c)};
    return CS_OK;
}

/* The ranks that are served in this step: all, the root, or a server, the root's or the one that a
 * chain has reached. */
static uint32_t sending_server(const hierarchical *h)
{
    uint32_t begin = h->root_server + (h->collective == CS_REDUCE ? 1 : 0);
    return h->stage == RAILS ? (begin + h->step) % h->servers : h->root_server;
}

static bool serves_all(const hierarchical *h)
{
    return !cs_collective_has_root(h->collective) ||
           h->stage == (h->collective == CS_BROADCAST ? OUT : INTO);
}

static uint32_t first_rank(const hierarchical *h)
{
    if (serves_all(h)) {
        return 0;
    }
    bool is_one = h->collective == CS_BROADCAST && h->stage == INTO;
    return is_one ? h->root : sending_server(h) * h->locals;
}

static uint32_t end_rank(const hierarchical *h)
{
    if (serves_all(h)) {
        return (h->is_one_server ? 1 : h->servers) * h->locals;
    }
    bool is_one = h->collective == CS_BROADCAST && h->stage == INTO;
    return first_rank(h) + (is_one ? 1 : h->locals);
}

static cs_status hierarchical_open(const cs_scenario *scenario, const void *options, void **state_p,
                                   cs_error *err)
{
    const hierarchical_options *o = options;
    hierarchical               *h = CS_NEW(hierarchical, 1);

    if (h == NULL) {
        return CS_NO_MEMORY(err, "hierarchical");
    }
    h->scenario    = scenario;
    h->servers     = cs_n_servers(&scenario->cluster);
    h->locals      = scenario->cluster.gpus_per_server;
    h->collective  = scenario->collective;
    h->root        = scenario->root;
    h->root_server = cs_server_of(&scenario->cluster, scenario->root);
    h->segments    = o->segments;
    h->apart       = o->stages == APART;
    h->barrier_s   = o->barrier_s;
    h->kept        = kept_of(o);
    h->rank        = first_rank(h);
    *state_p       = h;
    return CS_OK;
}

static uint32_t segment_of(const hierarchical *h)
{
    return h->apart ? h->turn : h->turn - h->stage;
}

/* The block of the local rank `part` of a server, of the segment in this stage. */
static cs_transfer block_of(const hierarchical *h, uint32_t part, uint32_t server)
{
    uint32_t segment = segment_of(h);
    uint32_t chunk   = (server * h->locals + part) * h->segments + segment;
    uint32_t slot    = segment % h->kept * h->servers + server;
    uint32_t all     = h->segments * h->locals * h->servers;

    return (cs_transfer){.chunk    = chunk,
                         .src_slot = (uint16_t)slot,
                         .dst_slot = (uint16_t)slot,
                         .bytes    = cs_split(h->scenario->bytes, all, chunk),
                         .round    = h->round,
                         .span     = 1};
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

/* The root's part for a mate. */
static cs_transfer hand_out(const hierarchical *h)
{
    uint32_t    to = mate(h);
    cs_transfer t  = part_of(h, to % h->locals, 0, h->servers);

    between(h, &t, h->rank, to, CS_OP_COPY);
    t.flags = CS_OWN_SRC | CS_DONE_DST;
    return t;
}

/* Is there a message between the rank and its mate? What the root has, or collects, concerns the
 * root alone. */
static bool is_wanted(const hierarchical *h)
{
    if (!cs_collective_has_root(h->collective) || h->stage != OUT) {
        return true;
    }
    return (mate(h) == h->root) == (h->collective == CS_REDUCE);
}

/* INTO: the mate's contribution to the part of this rank; OUT: this rank's part to the mate. */
static cs_transfer inside(const hierarchical *h)
{
    uint32_t    local = h->rank % h->locals;
    cs_transfer t     = part_of(h, local, 0, h->servers);

    if (h->stage == INTO && h->collective == CS_BROADCAST) {
        return hand_out(h);
    }
    if (h->stage == INTO) {
        bool is_first = h->partner == 0, is_last = h->partner + 2 == h->locals;
        between(h, &t, mate(h), h->rank, CS_OP_REDUCE);
        bool is_owed = h->collective == CS_ALLREDUCE || h->rank == h->root;
        t.flags      = (uint8_t)(CS_OWN_SRC | (is_first ? CS_OWN_DST : 0) |
                            (is_last && is_owed && h->servers == 1 ? CS_DONE_DST : 0));
    } else {
        bool is_own = h->collective == CS_BROADCAST && h->rank == h->root;
        between(h, &t, h->rank, mate(h), CS_OP_COPY);
        t.dst_slot = (uint16_t)(h->kept * h->servers);
        t.flags    = (uint8_t)(CS_DONE_DST | (is_own ? CS_OWN_SRC : 0));
    }
    return t;
}

/* The same with the block of this local rank of server number `number`. */
static cs_transfer inside_blocks(const hierarchical *h, uint32_t number)
{
    uint32_t    local  = h->rank % h->locals;
    bool        is_own = number == h->rank / h->locals;
    cs_transfer t      = block_of(h, local, number);

    if (h->stage == INTO) {
        bool is_first = h->partner == 0, is_last = h->partner + 2 == h->locals;
        between(h, &t, mate(h), h->rank, CS_OP_REDUCE);
        t.flags = (uint8_t)(CS_OWN_SRC | (is_first ? CS_OWN_DST : 0) |
                            (is_last && h->servers == 1 ? CS_DONE_DST : 0));
    } else {
        between(h, &t, h->rank, mate(h), CS_OP_COPY);
        t.dst_slot = (uint16_t)(h->kept * h->servers + number);
        t.flags    = (uint8_t)(CS_DONE_DST | (is_own ? CS_OWN_SRC : 0));
    }
    return t;
}

/* Step `step` of the ring over the servers, from this rank on. */
static cs_transfer on_rails(const hierarchical *h)
{
    uint32_t    n = h->servers, k = h->rank / h->locals, local = h->rank % h->locals;
    bool        gathers = h->collective == CS_ALLGATHER;
    uint32_t    step    = h->step + (gathers ? n - 1 : 0);
    uint32_t    first   = (k + 2 * n - 1 - step) % n;
    cs_transfer t =
        has_blocks(h->collective) ? block_of(h, local, first) : part_of(h, local, first, 1);
    bool     adds = step < n - 1;
    uint32_t next = k + 1 < n ? h->rank + h->locals : local;

    between(h, &t, h->rank, next, adds ? CS_OP_REDUCE : CS_OP_COPY);
    if (h->locals == 1) {
        t.flags |= step == 0 ? CS_OWN_SRC : 0;
        t.flags |= adds ? CS_OWN_DST : 0;
    }
    t.flags |= gathers && h->step == 0 ? CS_OWN_SRC : 0;
    t.flags |= step + 2 >= n ? CS_DONE_DST : 0;
    if (h->is_one_server) { /* it goes where that from the server before arrives */
        t.dst_slot = (uint16_t)(t.dst_slot - first + (first + n - 1) % n);
    }
    return t;
}

/* Step `step` of the chain: the whole part, from this rank's server to the next one. */
static cs_transfer along_chain(const hierarchical *h)
{
    uint32_t    local = h->rank % h->locals, server = h->rank / h->locals;
    uint32_t    next = server + 1 < h->servers ? h->rank + h->locals : local;
    bool        adds = h->collective == CS_REDUCE, is_last = h->step + 2 == h->servers;
    cs_transfer t = part_of(h, local, 0, h->servers);

    between(h, &t, h->rank, next, adds ? CS_OP_REDUCE : CS_OP_COPY);
    if (adds) {
        t.flags |= h->locals == 1 ? CS_OWN_DST | (h->step == 0 ? CS_OWN_SRC : 0) : 0;
        t.flags |= is_last && next == h->root ? CS_DONE_DST : 0;
    } else {
        t.flags = CS_DONE_DST | (h->rank == h->root ? CS_OWN_SRC : 0);
    }
    return t;
}

/* How often every rank is served in a step of the stage, and how many steps it has. */
static uint32_t partners(const hierarchical *h)
{
    bool is_left_out = (h->collective == CS_ALLGATHER && h->stage == INTO) ||
                       (h->collective == CS_REDUCESCATTER && h->stage == OUT);
    return h->stage == RAILS ? 1 : is_left_out ? 0 : h->locals - 1;
}

/* Messages that a rank and its partner have, and the parts of the next one. */
static uint32_t groups(const hierarchical *h)
{
    bool is_split = has_blocks(h->collective) && h->stage != RAILS;
    return is_split ? (h->servers + CS_MAX_PARTS - 1) / CS_MAX_PARTS : 1;
}

static uint32_t parts(const hierarchical *h)
{
    uint32_t left     = h->servers - h->group * CS_MAX_PARTS;
    bool     is_split = has_blocks(h->collective) && h->stage != RAILS;
    return !is_split ? 1 : left < CS_MAX_PARTS ? left : CS_MAX_PARTS;
}

static uint32_t steps(const hierarchical *h)
{
    uint32_t ways = h->collective == CS_ALLREDUCE ? 2 : 1;
    return h->stage == RAILS ? ways * (h->servers - 1) : 1;
}

static bool is_there(const hierarchical *h)
{
    bool in_range = h->apart || (h->turn >= h->stage && segment_of(h) < h->segments);
    return in_range && partners(h) > 0 && steps(h) > 0;
}

static void next_stage(hierarchical *h)
{
    h->step = 0;
    if (h->apart && ++h->turn == h->segments) {
        h->turn    = 0;
        h->awaits  = h->awaits || h->round > 0;
        h->is_over = ++h->stage == STAGES;
    } else if (!h->apart && ++h->stage == STAGES) {
        h->stage   = 0;
        h->is_over = ++h->turn == h->segments + STAGES - 1;
    }
    h->rank = first_rank(h);
}

/* All ranks take a turn before any takes the next, so that one port per rank serves it at once. */
static void next_place(hierarchical *h)
{
    if (++h->rank < end_rank(h)) {
        return;
    }
    h->rank = first_rank(h);
    if (++h->group < groups(h)) {
        return;
    }
    h->group = 0;
    if (++h->partner < partners(h)) {
        return;
    }
    h->partner = 0;
    h->round++;
    if (++h->step == steps(h)) {
        next_stage(h);
    }
    h->rank = first_rank(h);
}

static cs_transfer current(const hierarchical *h, uint32_t part)
{
    if (h->stage != RAILS) {
        return has_blocks(h->collective) ? inside_blocks(h, h->group * CS_MAX_PARTS + part)
                                         : inside(h);
    }
    return cs_collective_has_root(h->collective) ? along_chain(h) : on_rails(h);
}

static void hierarchical_keep_one_server(void *state)
{
    hierarchical *h  = state;
    h->is_one_server = true;
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
        if (h->stage != RAILS && !is_wanted(h)) {
            next_place(h);
            continue;
        }
        if ((h->awaits && block->count > 0) || block->count + parts(h) > block->capacity) {
            return; /* a barrier stands at the begin of a block, a message in one */
        }
        for (uint32_t i = 0; i < parts(h); i++) {
            cs_transfer t = current(h, i);
            t.flags |= i > 0 ? CS_JOIN : 0;
            block->transfers[block->count++] = t;
        }
        if (h->awaits) {
            block->transfers[0].flags |= CS_FENCE;
            block->fence_except = CS_FENCE_ALL;
            block->fence_s      = h->barrier_s;
            h->awaits           = false;
        }
        next_place(h);
    }
}

/* Equal chunks, all together, one segment or stages apart: everything one after the other. With a
 * root a chain passes on a segment while it takes the next. */
static double hierarchical_closed_form_s(const cs_scenario *scenario, const void *options)
{
    const hierarchical_options *o = options;
    const cs_cluster           *c = &scenario->cluster;
    uint32_t                    l = c->gpus_per_server, n = cs_n_servers(c);
    uint64_t                    chunks   = (uint64_t)c->n_ranks * o->segments;
    double                      inside_s = 0, rails_s = 0, barriers_s = 0;

    bool is_chain = l == 1 && cs_collective_has_root(scenario->collective);
    if ((o->segments != 1 && o->stages != APART && !is_chain) || c->sockets > 1 ||
        scenario->bytes % chunks != 0 || c->servers != NULL || scenario->n_capacity > 0 ||
        cs_last_arrival(scenario) > 0) {
        return (double)NAN;
    }
    bool     blocks = has_blocks(scenario->collective);
    uint32_t ways   = scenario->collective == CS_ALLREDUCE ? 2 : 1;
    if (l > 1) {
        uint32_t serial = c->fabrics[CS_NVLINK].kind == CS_DIRECT ? 1 : l - 1;
        uint32_t more   = blocks ? (n + CS_MAX_PARTS - 1) / CS_MAX_PARTS - 1 : 0;
        inside_s = serial * (cs_message_s(scenario, CS_NVLINK, scenario->bytes / chunks * n) +
                             more * c->fabrics[CS_NVLINK].alpha_s);
    }
    if (n > 1 && cs_collective_has_root(scenario->collective)) {
        rails_s = (o->segments + n - 2.0) / o->segments *
                  cs_message_s(scenario, CS_NIC, scenario->bytes / chunks * n);
    } else if (n > 1) {
        rails_s = ways * (n - 1) * cs_message_s(scenario, CS_NIC, scenario->bytes / chunks);
    }
    if (o->stages == APART) {
        barriers_s = o->barrier_s * ((l > 1 ? blocks ? 1 : 2 : 0) + (n > 1 ? 1 : 0) - 1);
    }
    return o->segments * ((blocks ? 1 : 2) * inside_s + rails_s) + barriers_s;
}

const cs_algorithm cs_algorithm_hierarchical = {
    .name        = "hierarchical",
    .summary     = "in the servers, over the rails (rings; with a root chains), in the servers",
    .source      = "X. Jia et al., arXiv:1807.11205 (2018); stages apart: MSCCL in AdapCC",
    .collectives = 1u << CS_ALLREDUCE | 1u << CS_ALLGATHER | 1u << CS_REDUCESCATTER |
                   1u << CS_BROADCAST | 1u << CS_REDUCE,
    .options         = hierarchical_table,
    .options_bytes   = sizeof(hierarchical_options),
    .check           = hierarchical_check,
    .open            = hierarchical_open,
    .equal_messages  = 1u << CS_ALLREDUCE,
    .keep_one_server = hierarchical_keep_one_server,
    .next_block      = hierarchical_next_block,
    .close           = cs_free,
    .closed_form_s   = hierarchical_closed_form_s,
};
