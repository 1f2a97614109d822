/* SPDX-License-Identifier: GPL-3.0-or-later */
/* StragglAR: an AllReduce that works while one rank is late.
 *
 * Pre-phase: the n - 1 early ranks run a ring ReduceScatter among themselves (barrier 1 in front);
 * label c then holds the sum of all early contributions to chunk c. Main phase (barrier 2
 * in front, for all): in round r the late rank exchanges chunk r with label r, both add and have
 * the final value; at the same time the other final chunks spread, one send and one
 * receive per rank and round, by the rotational pattern of pattern/rotation.h; the last rounds
 * come from pattern/tail.h. n - 2 + log2 n rounds of one chunk, which is the lower bound.
 *
 * The straggler may be any rank; when it is not the last to arrive, the early ranks wait for
 * the last of them and nothing is hidden. Here: powers of two.
 *
 * Slots: chunk c lives in slot c mod (D + 1), since it is spread within D = q + 1 rounds; the
 * owner of a chunk keeps it in a slot of its own (`home`), where the pre-phase left it.
 *
 * Source: "Efficient AllReduce with Stragglers" (StragglAR); the rotational schedule is this
 * project's (sim/doc/stragglar.md).
 */
#include "algorithms/pattern/accept.h"
#include "algorithms/pattern/late.h"
#include "algorithms/pattern/ring_pass.h"
#include "algorithms/pattern/rotation.h"
#include "algorithms/pattern/tail.h"
#include "base/alloc.h"

#include <math.h>

static const cs_option stragglar_table[] = {CS_LATE_ROWS(cs_late_options), CS_OPTION_END};

/* One role of the steady state, packed for the inner loop. */
typedef struct role {
    uint32_t from;    /* role that it receives from */
    uint16_t age;     /* age of what it receives */
    uint16_t is_home; /* the sender is the chunk's owner */
} role;

typedef enum phase { PRE, STEADY, TAIL, END } phase;

typedef struct stragglar {
    const cs_scenario *scenario;
    cs_late_options    options;
    cs_arena           arena;
    cs_rotation        rotation;
    cs_tail            tail;
    role              *roles;
    cs_ring_pass       ring;
    phase              phase;
    uint32_t           early;      /* N, also the number of chunks */
    uint32_t           depth;      /* slots that recycle: D + 1; the next one is `home` */
    uint32_t           pre_rounds; /* rounds before the main phase */
    uint32_t           round;      /* of the main phase */
    uint32_t           next_role;
    uint32_t           next_tail;
} stragglar;

static uint32_t main_rounds(uint32_t n)
{
    return n - 2 + cs_log2_ceil(n);
}

static cs_status stragglar_check(const cs_scenario *scenario, void *options, cs_plan *plan,
                                 cs_error *err)
{
    uint32_t  n      = scenario->cluster.n_ranks;
    cs_status status = cs_accept_collective(scenario, "stragglar", 1u << CS_ALLREDUCE, err);

    if (status == CS_OK && !cs_rotation_exists(n)) {
        status = CS_FAIL(err, CS_ENOTSUP, "cluster.ranks",
                         "stragglar needs a power of two, got %u ranks", n);
    }
    if (status == CS_OK) {
        status = cs_late_check(scenario, options, err);
    }
    if (status == CS_OK) {
        *plan = (cs_plan){.n_chunks = n - 1,
                          .n_slots  = cs_log2_ceil(n) + 3,
                          .n_rounds = n - 2 + main_rounds(n),
                          .uses     = CS_USES_EXCHANGE | cs_uses_nvlink(&scenario->cluster)};
    }
    return status;
}

static void stragglar_close(void *state)
{
    stragglar *s = state;

    if (s != NULL) {
        cs_arena_free(&s->arena);
        cs_free(s);
    }
}

static cs_status build_tables(stragglar *s, uint32_t n, cs_error *err)
{
    cs_status status = cs_rotation_build(n, &s->arena, &s->rotation, err);

    if (status == CS_OK) {
        status = cs_tail_build(&s->rotation, &s->arena, &s->tail, err);
    }
    if (status != CS_OK) {
        return status;
    }
    s->roles = CS_ARENA_NEW(&s->arena, role, s->early);
    if (s->roles == NULL) {
        return CS_FAIL(err, CS_ENOMEM, "", "out of memory for %u roles", s->early);
    }
    for (uint32_t p = 1; p < s->early; p++) {
        uint32_t from = s->rotation.from[p], age = s->rotation.age[p];
        s->roles[p] = (role){from, (uint16_t)age, (from + age) % s->early == 0};
    }
    return CS_OK;
}

static cs_status stragglar_open(const cs_scenario *scenario, const void *options, void **state_p,
                                cs_error *err)
{
    stragglar *s = CS_NEW(stragglar, 1);
    uint32_t   n = scenario->cluster.n_ranks;

    if (s == NULL) {
        return CS_FAIL(err, CS_ENOMEM, "", "out of memory for stragglar");
    }
    s->scenario      = scenario;
    s->options       = *(const cs_late_options *)options;
    s->early         = n - 1;
    s->depth         = cs_log2_ceil(n) + 2;
    s->pre_rounds    = n - 2;
    s->phase         = s->early > 1 ? PRE : STEADY;
    s->ring          = (cs_ring_pass){.cluster   = &scenario->cluster,
                                      .m         = s->early,
                                      .skip      = s->options.straggler,
                                      .bytes     = scenario->bytes,
                                      .end_step  = s->early - 1,
                                      .last_slot = s->depth,
                                      .keep_slot = CS_RING_SLOT};
    cs_status status = build_tables(s, n, err);
    if (status != CS_OK) {
        stragglar_close(s);
        return status;
    }
    *state_p = s;
    return CS_OK;
}

static void next_pre_block(stragglar *s, cs_block *block)
{
    bool is_first = s->ring.step == 0 && s->ring.position == 0;

    if (!cs_ring_pass_next(&s->ring, block)) {
        s->phase = STEADY;
    } else if (is_first) {
        cs_late_fence(block, s->options.straggler, s->options.entry_barrier_s);
    }
}

/* Label `round` and the straggler exchange chunk `round`. */
static void add_exchange(stragglar *s, cs_block *block)
{
    const cs_scenario *c    = s->scenario;
    uint32_t           late = s->options.straggler, r = s->round;
    uint32_t           owner = r + (r >= late);
    uint32_t           own   = s->early == 1 ? CS_OWN_SRC | CS_OWN_DST : CS_OWN_DST;

    block->transfers[block->count++] = (cs_transfer){
        .src       = owner,
        .dst       = late,
        .chunk     = r,
        .src_slot  = (uint16_t)s->depth,
        .dst_slot  = (uint16_t)(r % s->depth),
        .bytes     = cs_split(c->bytes, s->early, r),
        .round     = s->pre_rounds + r,
        .span      = 1,
        .flags     = (uint8_t)(own | CS_DONE_SRC | CS_DONE_DST),
        .op_fabric = cs_op_fabric(CS_OP_EXCHANGE, cs_fabric_of(&c->cluster, owner, late))};
    if (r == 0) {
        cs_late_fence(block, CS_FENCE_ALL, s->options.phase_barrier_s);
    }
    s->next_role = 1;
}

static void add_fabrics(const stragglar *s, cs_transfer *out, size_t count)
{
    const cs_cluster *cluster = &s->scenario->cluster;

    for (size_t i = 0; cluster->gpus_per_server > 1 && i < count; i++) {
        out[i].op_fabric =
            cs_op_fabric(cs_transfer_op(&out[i]), cs_fabric_of(cluster, out[i].src, out[i].dst));
    }
}

/* What the roles [first, end) receive in the current round; returns the number of transfers. The
 * chunks of the first rounds that do not exist yet are left out. */
static size_t emit_roles(const stragglar *s, cs_transfer *out, uint32_t first, uint32_t end)
{
    const cs_transfer model = {.round     = s->pre_rounds + s->round,
                               .span      = 1,
                               .flags     = CS_DONE_DST,
                               .op_fabric = CS_OP_COPY};
    const role       *roles = s->roles;
    uint64_t          tail = cs_tail_of(&model), base = s->scenario->bytes / s->early;
    uint32_t          early = s->early, r = s->round, depth = s->depth, turn = r % depth;
    uint32_t          late = s->options.straggler, extra = (uint32_t)(s->scenario->bytes % early);
    size_t            count = 0;

    for (uint32_t p = first; p < end; p++) {
        role     what  = roles[p];
        uint32_t chunk = r - what.age;
        uint32_t src = r + what.from, dst = r + p;
        uint32_t slot = turn - what.age;
        src -= src >= early ? early : 0;
        dst -= dst >= early ? early : 0;
        slot += turn < what.age ? depth : 0;
        uint32_t from = what.is_home != 0 ? depth : slot;
        cs_transfer_put(&out[count], src + (src >= late), dst + (dst >= late), chunk,
                        cs_slots(from, slot), base + (chunk < extra), tail);
        count += r >= what.age;
    }
    return count;
}

static void next_steady_block(stragglar *s, cs_block *block)
{
    while (s->round < s->early && block->count < block->capacity) {
        if (s->next_role == 0) {
            if (s->round == 0 && block->count > 0) {
                return;
            }
            add_exchange(s, block);
        }
        size_t       room = block->capacity - block->count, left = s->early - s->next_role;
        uint32_t     end = s->next_role + (uint32_t)(left < room ? left : room);
        cs_transfer *out = block->transfers + block->count;
        size_t       got = emit_roles(s, out, s->next_role, end);
        add_fabrics(s, out, got);
        block->count += got;
        s->next_role = end;
        if (end >= s->early) {
            s->next_role = 0;
            s->round++;
        }
    }
    s->phase = s->round == s->early && block->count == 0 ? TAIL : STEADY;
}

/* The slot in which a label keeps a chunk. */
static uint32_t slot_of(const stragglar *s, uint32_t label, uint32_t chunk)
{
    return label == chunk ? s->depth : chunk % s->depth;
}

static void next_tail_block(stragglar *s, cs_block *block)
{
    const cs_tail *tail = &s->tail;
    uint32_t       n = s->early + 1, late = s->options.straggler;
    size_t         end = tail->n_rounds == 0 ? 0 : tail->round_end[tail->n_rounds - 1];

    while (s->next_tail < end && block->count < block->capacity) {
        cs_tail_transfer t = tail->transfers[s->next_tail];
        block->transfers[block->count++] =
            (cs_transfer){.src       = cs_rank_of_label(t.src, late, n),
                          .dst       = cs_rank_of_label(t.dst, late, n),
                          .chunk     = t.chunk,
                          .src_slot  = (uint16_t)slot_of(s, t.src, t.chunk),
                          .dst_slot  = (uint16_t)slot_of(s, t.dst, t.chunk),
                          .bytes     = cs_split(s->scenario->bytes, s->early, t.chunk),
                          .round     = s->pre_rounds + s->round,
                          .span      = 1,
                          .flags     = CS_DONE_DST,
                          .op_fabric = CS_OP_COPY};
        if (++s->next_tail == tail->round_end[s->round - s->early]) {
            s->round++;
        }
    }
    add_fabrics(s, block->transfers, block->count);
    s->phase = block->count == 0 ? END : TAIL;
}

static void stragglar_next_block(void *state, cs_block *block)
{
    stragglar *s = state;

    block->count = 0;
    while (block->count == 0 && s->phase != END) {
        if (s->phase == PRE) {
            next_pre_block(s, block);
        } else if (s->phase == STEADY) {
            next_steady_block(s, block);
        } else {
            next_tail_block(s, block);
        }
    }
}

/* The pre-phase begins when the last early rank has come; then n - 2 + log2 n rounds of one
 * chunk from barrier 2 on. Exact for equal chunks, when all ranks move in lockstep. */
static double stragglar_closed_form_s(const cs_scenario *scenario, const void *options)
{
    uint32_t n = scenario->cluster.n_ranks, fabric;

    if (!cs_is_uniform(scenario, &fabric) || scenario->bytes % (n - 1) != 0) {
        return (double)NAN;
    }
    double step = cs_message_s(scenario, fabric, scenario->bytes / (n - 1));
    return cs_late_main_start_s(scenario, options, (n - 2) * step) + main_rounds(n) * step;
}

const cs_algorithm cs_algorithm_stragglar = {
    .name        = "stragglar",
    .summary     = "ReduceScatter among the others while one rank is late, then n-2+log2 n rounds",
    .source      = "Efficient AllReduce with Stragglers (StragglAR); rotational schedule",
    .collectives = 1u << CS_ALLREDUCE,
    .options     = stragglar_table,
    .options_bytes = sizeof(cs_late_options),
    .check         = stragglar_check,
    .open          = stragglar_open,
    .next_block    = stragglar_next_block,
    .close         = stragglar_close,
    .closed_form_s = stragglar_closed_form_s,
};
