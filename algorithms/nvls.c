/* SPDX-License-Identifier: GPL-3.0-or-later */
/* AllReduce by an NVSwitch that adds up and passes on (NVLink SHARP), in one server; its halves.
 *
 * The buffer is h heads times `pieces` pieces; head j owns pieces j, j + h, .. For a piece every
 * GPU sends its contribution to the switch, which gives the sum to the head (multimem.ld_reduce);
 * the head sends it back once, and the switch passes it on to all GPUs (a multicast store). A GPU's
 * port so carries x (1 + 1/h) bytes each way: x once for all, and 1/h of it twice as a head. With
 * `local_add` the head adds its own contribution itself and keeps the sum: exactly x, which is the
 * bound in_network. Contributions run `ahead` pieces ahead of the multicasts, so that both
 * directions of all ports are busy. In the limit of many pieces, over ports of l seconds per byte:
 *
 *   T = (1 + 1/h) x l                          with local_add (or aware): x l
 *
 * With `aware` the ranks that are there add up among themselves while they wait for the last one,
 * whose contribution then goes to the heads, which are the others: x l after it has come, like
 * local_add without it, but the switch's part is done before.
 *
 * An AllGather is its second half: every GPU multicasts its block to all others, so that (n-1)/n x
 * come in. A ReduceScatter is its first: every GPU takes the sum of its block from the switch, and
 * x go out, with local_add (n-1)/n x. A ring moves no more.
 *
 * Sources: B. Klenk et al., "An In-Network Architecture for Accelerating Shared-Memory
 * Multiprocessor Collectives", ISCA 2020; what NCCL does with it, from its public source
 * (sim/doc/nccl.md).
 */
#include "algorithms/lib/accept.h"
#include "algorithms/lib/pieces.h"
#include "base/alloc.h"
#include "cs/model.h"

#include <math.h>

extern const cs_algorithm cs_algorithm_nvls;

enum {
    MOST_PIECES   = 4096,
    MOST_CHUNKS   = 65000,
    MOST_AUTO     = 256,
    AHEAD         = 4,
    MOST_REPLAYED = 200000 /* messages */
};

typedef struct nvls_options {
    uint32_t pieces, heads;
    bool     local_add, aware;
} nvls_options;

static const cs_field nvls_table[] = {
    CS_OPTION_AUTO(nvls_options, pieces, 1, MOST_PIECES, "pieces of a head's part of the buffer"),
    CS_OPTION_AUTO(nvls_options, heads, 1, CS_MAX_RANKS,
                   "GPUs that take sums from the switch; auto: all (NCCL: 32 at most)"),
    CS_OPTION(nvls_options, local_add, 0, 0, 1,
              "heads add their own contributions, and keep the sums, without the switch"),
    CS_OPTION(nvls_options, aware, 0, 0, 1,
              "the others add up before the last rank comes; they are the heads"),
    CS_FIELD_END,
};

static const cs_fabric *nvlink(const cs_scenario *scenario)
{
    return &scenario->cluster.fabrics[CS_NVLINK];
}

/* The number of pieces that is predicted to end first: a port has h + 1 messages (with local_add h)
 * of each of them, and a few more before and behind. */
static double predicted_pieces(const cs_scenario *scenario, const nvls_options *o)
{
    double alpha_s = nvlink(scenario)->alpha_s, h = o->heads, each = h + (o->local_add ? 0 : 1);
    double x_s    = (double)scenario->bytes / nvlink(scenario)->bandwidth_Bps;
    double others = scenario->cluster.n_ranks - (o->local_add ? 1.0 : 0.0);
    double fill   = fmin(AHEAD, others) + (o->local_add ? 0 : 1);

    return alpha_s > 0 ? sqrt(fill * x_s / (h * each * alpha_s)) : MOST_AUTO;
}

/* Slots for sums on their way up, those of all pieces where they wait for the last rank. Behind
 * them are those for sums on their way down. */
static uint32_t sum_slots(const nvls_options *o)
{
    return o->aware ? o->heads * o->pieces : AHEAD + 1;
}

static cs_status refuse_cluster(const cs_scenario *scenario, cs_error *err)
{
    const cs_cluster *c = &scenario->cluster;

    if (cs_n_servers(c) > 1 || c->gpus_per_server < 2) {
        return CS_FAIL(err, CS_ENOTSUP, "cluster.gpus_per_server",
                       "nvls runs inside one server: accepted is %u, as many as there are GPUs",
                       c->n_ranks);
    }
    if (nvlink(scenario)->kind != CS_SWITCHED || c->sockets > 1) {
        return CS_FAIL(err, CS_ENOTSUP, "cluster.nvlink.kind",
                       "nvls needs an NVSwitch that joins all GPUs of the server: accepted is "
                       "switched, with one socket");
    }
    return CS_OK;
}

static cs_plan plan_of(const cs_scenario *scenario, const nvls_options *o)
{
    uint32_t chunks = o->heads * o->pieces;
    bool     is_all = scenario->collective == CS_ALLREDUCE;

    return (cs_plan){.n_chunks         = chunks,
                     .n_slots          = sum_slots(o) + AHEAD + 1,
                     .n_rounds         = chunks * (!is_all    ? 1
                                                   : o->aware ? 3
                                                              : 2),
                     .uses             = CS_USES_NVLINK | CS_USES_SWITCH,
                     .chunks_differ    = !is_all && scenario->bytes % chunks != 0,
                     .ignores_arrivals = !o->aware};
}

/* The block of a rank is all that it has to take, or to give away: every rank is a head. */
static cs_status check_half(const cs_scenario *scenario, const nvls_options *o, cs_error *err)
{
    if (o->aware) {
        return CS_FAIL(err, CS_ENOTSUP, "algorithm.options.aware",
                       "has nothing to add up in %s: accepted is allreduce",
                       cs_collective_name(scenario->collective));
    }
    return o->heads == scenario->cluster.n_ranks
               ? CS_OK
               : CS_FAIL(err, CS_ENOTSUP, "algorithm.options.heads",
                         "%u of %u GPUs: in %s each is the head of its block", o->heads,
                         scenario->cluster.n_ranks, cs_collective_name(scenario->collective));
}

static cs_status choose_pieces(const cs_scenario *scenario, nvls_options *o, cs_error *err)
{
    double predicted = predicted_pieces(scenario, o), h = o->heads;
    double most     = fmin(MOST_AUTO, floor(fmin((double)scenario->bytes, MOST_CHUNKS) / h));
    bool   is_quick = 2 * predicted * h * scenario->cluster.n_ranks < MOST_REPLAYED;

    return cs_choose_pieces(&cs_algorithm_nvls, scenario, o, &o->pieces, predicted, most, is_quick,
                            err);
}

static cs_status nvls_check(const cs_scenario *scenario, void *options, cs_plan *plan,
                            cs_error *err)
{
    nvls_options *o      = options;
    uint32_t      n      = scenario->cluster.n_ranks;
    bool          is_all = scenario->collective == CS_ALLREDUCE;

    CS_TRY(refuse_cluster(scenario, err));
    uint32_t members = n - (o->aware ? 1 : 0);
    if (o->heads != CS_AUTO && o->heads > members) {
        return CS_FAIL(err, CS_EINVAL, "algorithm.options.heads",
                       "%u heads of %u GPUs: accepted are 1 .. %u and auto", o->heads, members,
                       members);
    }
    o->local_add = o->local_add || o->aware;
    if (o->heads == CS_AUTO) {
        o->heads = is_all ? (uint32_t)fmin(members, fmax(1, (double)scenario->bytes)) : members;
    }
    if (!is_all) {
        CS_TRY(check_half(scenario, o, err));
    }
    if (o->pieces == CS_AUTO && (o->heads <= scenario->bytes || !is_all) &&
        o->heads <= MOST_CHUNKS) {
        CS_TRY(choose_pieces(scenario, o, err));
    }
    uint64_t chunks = (uint64_t)o->heads * o->pieces;
    if (chunks > MOST_CHUNKS || (chunks > scenario->bytes && (is_all || o->pieces > 1))) {
        return CS_FAIL(err, CS_EINVAL, "algorithm.options.pieces",
                       "%u pieces of %u heads and %llu bytes: accepted are %d pieces in all, of at "
                       "least a byte",
                       o->pieces, o->heads, (unsigned long long)scenario->bytes, MOST_CHUNKS);
    }
    *plan = plan_of(scenario, o);
    return CS_OK;
}

/* ---- the stream ---- */

/* What is done with one piece. */
typedef enum unit_kind {
    UNIT_REDUCE, /* contributions to the switch, their sum to the head */
    UNIT_ADD,    /* aware: the last rank's contribution to the head */
    UNIT_CAST,   /* the sum to the switch, and from there to all */
} unit_kind;

typedef struct nvls {
    const cs_scenario *scenario;
    nvls_options       o;
    cs_collective      half;                   /* or CS_ALLREDUCE: both */
    uint32_t           n, chunks, slots, late; /* late: n, where nobody is left out at first */
    uint32_t           ahead, ahead_adds;      /* of reductions and additions before multicasts */
    uint64_t           total;                  /* units */
    uint64_t           unit;                   /* next */
    uint32_t           message;                /* ... and of its messages that of this rank */
    bool               is_cast;                /* the switch has the sum */
    uint32_t           round;
} nvls;

/* The rank of a head: they are spread over the ranks that are there. */
static uint32_t head_of(const nvls *s, uint32_t chunk)
{
    uint32_t members = s->n - (s->o.aware ? 1 : 0);
    uint32_t place   = (uint32_t)((uint64_t)(chunk % s->o.heads) * members / s->o.heads);

    return place + (place >= s->late);
}

/* Unit number `unit`: first the reductions and additions that run ahead; then for every piece its
 * multicast, the next addition and the next reduction. Halves do one of these for every piece. */
static unit_kind unit_at(const nvls *s, uint64_t unit, uint32_t *chunk_p)
{
    uint64_t left = unit, period = s->o.aware ? 3 : 2;

    if (s->half != CS_ALLREDUCE) {
        *chunk_p = (uint32_t)unit;
        return s->half == CS_ALLGATHER ? UNIT_CAST : UNIT_REDUCE;
    }
    if (left < s->ahead) {
        *chunk_p = (uint32_t)left;
        return UNIT_REDUCE;
    }
    left -= s->ahead;
    if (left < s->ahead_adds) {
        *chunk_p = (uint32_t)left;
        return UNIT_ADD;
    }
    left -= s->ahead_adds;
    uint32_t at = (uint32_t)(left / period), part = (uint32_t)(left % period);
    *chunk_p = at + (part == 0 ? 0 : part == 1 && s->o.aware ? s->ahead_adds : s->ahead);
    return part == 0 ? UNIT_CAST : part == 1 && s->o.aware ? UNIT_ADD : UNIT_REDUCE;
}

/* A piece while its messages are made. */
typedef struct piece {
    uint32_t chunk, head;
    uint32_t up, down; /* slots of its sum on its way to the head and from there */
    uint64_t bytes;
} piece;

static cs_transfer transfer_of(const nvls *s, const piece *p, uint32_t src, uint32_t dst, cs_op op,
                               uint32_t flags, uint32_t src_slot, uint32_t dst_slot)
{
    return (cs_transfer){.src       = src,
                         .dst       = dst,
                         .chunk     = p->chunk,
                         .src_slot  = (uint16_t)src_slot,
                         .dst_slot  = (uint16_t)dst_slot,
                         .bytes     = p->bytes,
                         .round     = s->round,
                         .span      = 1,
                         .flags     = (uint8_t)flags,
                         .op_fabric = cs_op_fabric(op, CS_NVLINK)};
}

static uint32_t hub_of(const nvls *s)
{
    return cs_switch_of(&s->scenario->cluster, 0);
}

/* One message, if it fits. */
static bool put_one(const nvls *s, const piece *p, uint32_t src, uint32_t dst, cs_op op,
                    uint32_t flags, uint32_t dst_slot, cs_block *block)
{
    if (block->count == block->capacity) {
        return false;
    }
    block->transfers[block->count++] = transfer_of(s, p, src, dst, op, flags, p->up, dst_slot);
    return true;
}

/* A message between the switch and each rank but two, from `s->message` on, as many as fit. True:
 * that was all. */
static bool put_all(nvls *s, const piece *p, bool to_switch, uint32_t skips, cs_block *block)
{
    const uint32_t    hub   = hub_of(s);
    const uint32_t    slot  = to_switch ? p->up : p->down;
    const cs_transfer model = to_switch
                                  ? transfer_of(s, p, 0, hub, CS_OP_REDUCE, CS_OWN_SRC, slot, slot)
                                  : transfer_of(s, p, hub, 0, CS_OP_COPY, CS_DONE_DST, slot, slot);
    const uint64_t    tail  = cs_tail_of(&model);
    const uint32_t    slots = cs_slots(slot, slot), late = to_switch ? s->late : s->n;
    size_t            count = block->count;
    uint32_t          rank  = s->message;

    for (; rank < s->n && count < block->capacity; rank++) {
        if (rank != skips && rank != late) {
            cs_transfer_put(&block->transfers[count++], to_switch ? rank : hub,
                            to_switch ? hub : rank, p->chunk, slots, p->bytes, tail);
        }
    }
    block->count = count;
    s->message   = rank;
    return rank == s->n;
}

/* Contributions to the switch, of which the first one begins the sum, then the sum to the head. */
static bool reduce_piece(nvls *s, const piece *p, cs_block *block)
{
    uint32_t skips = s->o.local_add ? p->head : s->n, first = 0;
    uint32_t flags = s->o.local_add                ? CS_OWN_DST | (s->o.aware ? 0u : CS_DONE_DST)
                     : s->half == CS_REDUCESCATTER ? CS_DONE_DST
                                                   : 0u;

    while (first == skips || first == s->late) {
        first++;
    }
    if (first == s->n) { /* the head alone is there */
        return true;
    }
    if (s->message <= first) {
        if (!put_one(s, p, first, hub_of(s), CS_OP_COPY, CS_OWN_SRC, p->up, block)) {
            return false;
        }
        s->message = first + 1;
    }
    return put_all(s, p, true, skips, block) &&
           put_one(s, p, hub_of(s), p->head, s->o.local_add ? CS_OP_REDUCE : CS_OP_COPY, flags,
                   p->up, block);
}

/* The last rank's contribution. Of two ranks it is the first one that comes to the head. */
static bool add_piece(nvls *s, const piece *p, cs_block *block)
{
    uint32_t own = s->n == 2 ? CS_OWN_DST : 0u;

    return put_one(s, p, s->late, p->head, CS_OP_REDUCE, CS_OWN_SRC | CS_DONE_DST | own, p->up,
                   block);
}

/* The sum to the switch, which gives it to all; in an AllGather the head's own block, to all
 * others.
 */
static bool cast_piece(nvls *s, const piece *p, cs_block *block)
{
    const bool is_own = s->half == CS_ALLGATHER;

    if (!s->is_cast) {
        if (!put_one(s, p, p->head, hub_of(s), CS_OP_COPY, is_own ? CS_OWN_SRC : 0, p->down,
                     block)) {
            return false;
        }
        s->is_cast = true;
    }
    return put_all(s, p, false, is_own || s->o.local_add ? p->head : s->n, block);
}

/* Piece number `number` in the order of the stream: heads take turns. Blocks are the ranks' in
 * their order. */
static piece piece_at(const nvls *s, uint32_t number)
{
    const uint64_t bytes = s->scenario->bytes;
    piece p = {.chunk = number, .up = number % s->slots, .down = s->slots + number % (AHEAD + 1)};

    if (s->half == CS_ALLREDUCE) {
        p.head  = head_of(s, number);
        p.bytes = cs_split(bytes, s->chunks, number);
    } else {
        p.head  = number % s->n;
        p.chunk = p.head * s->o.pieces + number / s->n;
        p.bytes = cs_split(cs_split(bytes, s->n, p.head), s->o.pieces, number / s->n);
    }
    return p;
}

static void nvls_next_block(void *state, cs_block *block)
{
    nvls *s = state;

    block->count = 0;
    for (; s->unit < s->total; s->unit++) {
        uint32_t  number;
        unit_kind kind = unit_at(s, s->unit, &number);
        bool      done = number >= s->chunks; /* nothing is left to run ahead */

        if (!done) {
            piece p = piece_at(s, number);
            done    = kind == UNIT_REDUCE ? reduce_piece(s, &p, block)
                      : kind == UNIT_ADD  ? add_piece(s, &p, block)
                                          : cast_piece(s, &p, block);
            s->round += done;
        }
        if (!done) {
            return;
        }
        s->message = 0;
        s->is_cast = false;
    }
}

static cs_status nvls_open(const cs_scenario *scenario, const void *options, void **state_p,
                           cs_error *err)
{
    const nvls_options *o = options;
    nvls               *s = CS_NEW(nvls, 1);

    if (s == NULL) {
        return CS_NO_MEMORY(err, "nvls");
    }
    *s = (nvls){.scenario = scenario,
                .o        = *o,
                .half     = scenario->collective,
                .n        = scenario->cluster.n_ranks,
                .chunks   = o->heads * o->pieces,
                .late     = scenario->cluster.n_ranks};
    for (uint32_t r = 0; o->aware && r < s->n; r++) {
        s->late = s->late == s->n || cs_arrival(scenario, r) > cs_arrival(scenario, s->late)
                      ? r
                      : s->late;
    }
    s->slots      = sum_slots(o);
    s->ahead      = o->aware ? s->chunks : AHEAD < s->chunks ? AHEAD : s->chunks;
    s->ahead_adds = o->aware ? (AHEAD < s->chunks ? AHEAD : s->chunks) : 0;
    s->total      = s->half != CS_ALLREDUCE
                        ? s->chunks
                        : s->ahead + s->ahead_adds + (uint64_t)s->chunks * (o->aware ? 3 : 2);
    *state_p      = s;
    return CS_OK;
}

static void nvls_close(void *state)
{
    cs_free(state);
}

/* What its ports carry, without alpha or the filling of the pipeline. */
static double nvls_published_form_s(const cs_scenario *scenario, const void *options)
{
    const nvls_options *o     = options;
    double              own   = 1.0 / o->heads;
    bool                loses = scenario->collective == CS_ALLGATHER || o->local_add;
    double              times =
        scenario->collective == CS_ALLREDUCE ? 1 + (o->local_add ? 0 : own) : 1 - (loses ? own : 0);

    return cs_last_arrival(scenario) +
           times * (double)scenario->bytes / nvlink(scenario)->bandwidth_Bps;
}

const cs_algorithm cs_algorithm_nvls = {
    .name          = "nvls",
    .summary       = "the NVSwitch adds up and passes on: every byte leaves a GPU once, and a head "
                     "once more",
    .source        = "B. Klenk et al., ISCA 2020; NCCL's NVLS",
    .collectives   = 1u << CS_ALLREDUCE | 1u << CS_ALLGATHER | 1u << CS_REDUCESCATTER,
    .options       = nvls_table,
    .options_bytes = sizeof(nvls_options),
    .check         = nvls_check,
    .open          = nvls_open,
    .next_block    = nvls_next_block,
    .close         = nvls_close,
    .published_form_s = nvls_published_form_s,
};
