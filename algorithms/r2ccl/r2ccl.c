/* SPDX-License-Identifier: GPL-3.0-or-later */
/* R2CCL's AllReduce around one slow NIC, as a correct schedule.
 *
 * z is the rank with the slow NIC (slowdown l), h_1 .. h_{p-1} are the others in ring order behind
 * it. The buffer is split in n / l and the rest, in k pieces:
 *
 *   A   n / l goes around the ring of all ranks: the slow NIC moves 1 / l of the bytes at 1 / l of
 *       the rate, which takes as long as the whole buffer without a fault (T0).
 *   B1  beside it, in the time that healthy ports have left, the rest is added along
 *       h_1 -> h_2 -> .. -> h_{p-1}. Hop i sends group g = step - (i - 1) behind A's step: what a
 *       hop needs came one step before, and both fit in the time of a slow step. (The chain runs
 *       this way because A keeps the receiving port of h_1 and the sending port of h_{p-1} busy
 *       from beginning to end: they talk to z.)
 *   B2  piece by piece z -> h_{p-1} (which then has the total), h_{p-1} -> .. -> h_1, and h_1 -> z:
 *       a port carries every piece once, at z's rate or at full rate. (One rank that both
 *       starts the broadcast and serves z would send for (1 + 1/l) times as long.)
 *
 * At alpha = 0 that is T0 + (l-1) n (1 + 1/k) + (p-2) (1 - 1/l) n / k, n being the buffer's time
 * on a healthy NIC, for k = p and for k = multiples of p + 1; uneven groups (p + 1 at most) can
 * make other k a little slower. Two slots for A; the end of the chain keeps the healthy sums in a
 * slot per piece. O(1) per transfer, no memory but the state.
 *
 * Several slow NICs: this is done for the slowest (ties: the lowest rank), the others are members
 * of ring and chain and slow them down. The fastest of the rings (lib/fallback.h) runs instead,
 * and `chosen` in the result says so, where no NIC is slow for ever, p < 3, there are fewer bytes
 * than ranks, or (unless `pieces` or `chosen` ask for R2CCL) the ring is predicted to be faster.
 * Around a slow NIC: one GPU per server only.
 *
 * Source: R2CCL, as quoted and compared in OptCC. Its released code
 * (github.com/r2cc-project/R-2CCL, f45cbcb) stands in an AllReduce of a part and a Broadcast of the
 * rest, which is timed alike and is not an AllReduce; the chain that makes it one is this
 * project's.
 */
#include "algorithms/lib/accept.h"
#include "algorithms/lib/fallback.h"
#include "algorithms/lib/ring_pass.h"
#include "algorithms/r2ccl/time.h"
#include "base/alloc.h"
#include "cs/capacity.h"

#include <math.h>

enum { CHOSEN_AUTO, CHOSEN_R2CCL, CHOSEN_RINGS /* and on: cs_rings */ };
enum { REST = 2 }; /* slots 0 and 1 carry the ring; the rest lies in REST and behind it */

typedef struct r2ccl_options {
    uint32_t pieces;
    int      chosen;
} r2ccl_options;

static const cs_field r2ccl_table[] = {
    CS_OPTION_AUTO(r2ccl_options, pieces, 1, CS_R2CCL_MAX_PIECES,
                   "pieces of what crosses the slow NIC at the end"),
    CS_OPTION_CHOICE(r2ccl_options, chosen, "auto|r2ccl|" CS_RINGS_CHOICES,
                     "what runs; auto: the fastest"),
    CS_FIELD_END,
};

typedef struct r2ccl {
    const cs_cluster *cluster;
    cs_r2ccl_shape    shape;
    cs_fallback       fallback; /* open when a ring was chosen */
    cs_ring_pass      ring;     /* A */
    uint32_t          slow;     /* z */
    uint32_t          width;    /* largest group */
    uint32_t          step;     /* of A and B1 */
    uint32_t          hop;      /* next of B1 in this step; 0: A is next */
    uint32_t          piece;    /* of B2 */
    uint32_t          link;     /* next of this piece: up, p - 2 in the chain, down */
} r2ccl;

/* The slowest NIC, and what the chain of the others is like. Returns its rank. */
static uint32_t find_slowest(const cs_scenario *scenario, cs_r2ccl_setting *setting)
{
    uint32_t n = scenario->cluster.n_ranks, slow = 0;

    setting->slowdown       = cs_slowdown_always(scenario, 0);
    setting->other_slowdown = 1;
    for (uint32_t r = 1; r < n; r++) {
        double slowdown = cs_slowdown_always(scenario, r);
        if (slowdown > setting->slowdown) {
            setting->other_slowdown = setting->slowdown;
            setting->slowdown       = slowdown;
            slow                    = r;
        } else {
            setting->other_slowdown = fmax(setting->other_slowdown, slowdown);
        }
    }
    return slow;
}

static double chain_slowdowns(const cs_scenario *scenario, uint32_t slow)
{
    uint32_t n      = scenario->cluster.n_ranks;
    double   before = cs_slowdown_always(scenario, (slow + 1) % n), sum = 0;

    for (uint32_t i = 2; i < n; i++) {
        double slowdown = cs_slowdown_always(scenario, (slow + i) % n);
        sum += fmax(before, slowdown);
        before = slowdown;
    }
    return sum;
}

static cs_r2ccl_setting setting_of(const cs_scenario *scenario, uint32_t *slow_p)
{
    const cs_fabric *nic     = &scenario->cluster.fabrics[CS_NIC];
    cs_r2ccl_setting setting = {.p          = scenario->cluster.n_ranks,
                                .bytes      = scenario->bytes,
                                .alpha_s    = nic->alpha_s,
                                .s_per_byte = 1 / nic->bandwidth_Bps};

    *slow_p                 = find_slowest(scenario, &setting);
    setting.chain_slowdowns = chain_slowdowns(scenario, *slow_p);
    return setting;
}

#define NOTES(why) CS_RINGS_NOTES("r2ccl", why)
static const char *const healthy_notes[] = NOTES("no NIC is slow for the whole run");
static const char *const few_notes[]     = NOTES("it takes three ranks to go around one");
static const char *const bytes_notes[]   = NOTES("the buffer has too few bytes");
static const char *const slower_notes[]  = NOTES("it is predicted to be faster");

/* Why nothing can go around the slow NIC; NULL where something can. */
static const char *const *no_detour(const cs_r2ccl_setting *setting)
{
    if (!(setting->slowdown > 1)) {
        return healthy_notes;
    }
    if (setting->p < 3) {
        return few_notes;
    }
    bool is_tiny = setting->bytes < setting->p || cs_r2ccl_shape_of(setting, 1).rest_bytes == 0;
    return is_tiny ? bytes_notes : NULL;
}

/* Resolve the options of a detour, unless the ring is faster. A number of pieces that was asked for
 * is an order to use it. */
static bool ring_wins(const cs_r2ccl_setting *setting, r2ccl_options *o)
{
    bool is_free = o->pieces == CS_AUTO;

    if (is_free) {
        o->pieces = cs_r2ccl_choose(setting);
    }
    return is_free && o->chosen == CHOSEN_AUTO &&
           cs_r2ccl_ring_s(setting) < cs_r2ccl_predict_s(setting, o->pieces);
}

/* At the end of the chain a slot per piece, on the way two groups. */
static uint32_t n_slots(const cs_r2ccl_shape *shape)
{
    uint32_t two_groups = 2 * cs_r2ccl_largest_group(shape);
    return REST + (shape->pieces > two_groups ? shape->pieces : two_groups);
}

static cs_status r2ccl_check(const cs_scenario *scenario, void *options, cs_plan *plan,
                             cs_error *err)
{
    r2ccl_options   *o       = options;
    uint32_t         n       = scenario->cluster.n_ranks, slow;
    cs_r2ccl_setting setting = setting_of(scenario, &slow);

    CS_TRY(cs_accept_collective(scenario, "r2ccl", 1u << CS_ALLREDUCE, err));
    const char *const *why     = o->chosen >= CHOSEN_RINGS ? NULL : no_detour(&setting);
    bool               is_ring = o->chosen >= CHOSEN_RINGS || why != NULL;
    if (!is_ring && scenario->cluster.gpus_per_server > 1) {
        return CS_FAIL(err, CS_ENOTSUP, "cluster.gpus_per_server",
                       "r2ccl goes around a slow NIC with one GPU per server here, got %u",
                       scenario->cluster.gpus_per_server);
    }
    if (!is_ring && ring_wins(&setting, o)) {
        is_ring = true;
        why     = slower_notes;
    }
    if (is_ring) {
        o->pieces = 1;
        return cs_ring_instead(scenario, CHOSEN_RINGS, why, &o->chosen, plan, err);
    }
    o->chosen            = CHOSEN_R2CCL;
    cs_r2ccl_shape shape = cs_r2ccl_shape_of(&setting, o->pieces);
    if (shape.pieces > shape.rest_bytes) {
        return CS_FAIL(err, CS_EINVAL, "algorithm.options.pieces",
                       "%u pieces of %llu bytes: at most one piece per byte is accepted",
                       shape.pieces, (unsigned long long)shape.rest_bytes);
    }
    *plan = (cs_plan){.n_chunks      = n + shape.pieces,
                      .n_slots       = n_slots(&shape),
                      .n_rounds      = 2 * (n - 1) + shape.pieces,
                      .uses          = cs_r2ccl_largest_group(&shape) > 1 ? CS_USES_SPAN : 0,
                      .chunks_differ = true};
    return cs_accept_slots(scenario, "r2ccl", plan->n_slots, err);
}

static void r2ccl_close(void *state)
{
    r2ccl *s = state;

    if (s != NULL) {
        cs_fallback_close(&s->fallback);
        cs_free(s);
    }
}

static cs_status r2ccl_open(const cs_scenario *scenario, const void *options, void **state_p,
                            cs_error *err)
{
    const r2ccl_options *o      = options;
    r2ccl               *s      = CS_NEW(r2ccl, 1);
    cs_status            status = CS_OK;

    if (s == NULL) {
        return CS_NO_MEMORY(err, "r2ccl");
    }
    if (o->chosen >= CHOSEN_RINGS) {
        status = cs_fallback_open(&s->fallback, cs_rings[o->chosen - CHOSEN_RINGS], scenario, err);
    } else {
        cs_r2ccl_setting setting = setting_of(scenario, &s->slow);
        s->cluster               = &scenario->cluster;
        s->shape                 = cs_r2ccl_shape_of(&setting, o->pieces);
        s->width                 = cs_r2ccl_largest_group(&s->shape);
        s->ring                  = (cs_ring_pass){.cluster   = s->cluster,
                                                  .m         = scenario->cluster.n_ranks,
                                                  .skip      = CS_RING_ALL,
                                                  .bytes     = s->shape.ring_bytes,
                                                  .end_step  = 1,
                                                  .last_slot = CS_RING_SLOT,
                                                  .keep_slot = CS_RING_SLOT,
                                                  .is_final  = true};
    }
    if (status != CS_OK) {
        r2ccl_close(s);
        return status;
    }
    *state_p = s;
    return CS_OK;
}

/* h_i; h_0 and h_p are z. */
static uint32_t rank_of(const r2ccl *s, uint32_t i)
{
    uint32_t label = s->slow + i, n = s->shape.p;
    return label < n ? label : label - n;
}

/* `count` pieces from h_from to h_to. */
static cs_transfer message(const r2ccl *s, uint32_t from, uint32_t to, uint32_t first,
                           uint32_t count)
{
    return (cs_transfer){
        .src   = rank_of(s, from),
        .dst   = rank_of(s, to),
        .chunk = s->shape.p + first,
        .bytes = cs_split_range(s->shape.rest_bytes, s->shape.pieces, first, count),
        .span  = (uint16_t)count,
    };
}

/* B1: what hop h_i -> h_{i+1} adds in this step. */
static cs_transfer chain_message(const r2ccl *s, uint32_t i)
{
    uint32_t    group = s->step + 1 - i, end = s->shape.p - 1;
    uint32_t    first = cs_r2ccl_first_piece(&s->shape, group);
    uint32_t    count = cs_r2ccl_first_piece(&s->shape, group + 1) - first;
    uint32_t    slot  = REST + (group & 1u) * s->width;
    cs_transfer t     = message(s, i, i + 1, first, count);

    t.src_slot  = (uint16_t)slot;
    t.dst_slot  = (uint16_t)(i + 1 == end ? REST + first : slot);
    t.round     = s->step;
    t.flags     = (uint8_t)(CS_OWN_DST | (i == 1 ? CS_OWN_SRC : 0u));
    t.op_fabric = cs_op_fabric(CS_OP_REDUCE, CS_NIC);
    return t;
}

/* B2: link 0 goes up to the end of the chain, p - 1 down to z, the chain is between them. */
static cs_transfer piece_message(const r2ccl *s)
{
    uint32_t    p = s->shape.p, link = s->link;
    cs_transfer t = message(s, p - link, p - 1 - link, s->piece, 1);

    t.src_slot  = (uint16_t)(link == 1 ? REST + s->piece : REST);
    t.dst_slot  = (uint16_t)(link == 0 ? REST + s->piece : REST);
    t.round     = 2 * (p - 1) + s->piece;
    t.flags     = (uint8_t)(CS_DONE_DST | (link == 0 ? CS_OWN_SRC : 0u));
    t.op_fabric = cs_op_fabric(link == 0 ? CS_OP_REDUCE : CS_OP_COPY, CS_NIC);
    return t;
}

/* A's part of the step; when it is out, B1 begins at the first hop that has a group. */
static void add_ring_step(r2ccl *s, cs_block *block)
{
    uint32_t groups = s->shape.groups;

    cs_ring_pass_next(&s->ring, block);
    if (s->ring.step > s->step) {
        s->hop = s->step + 2 > groups ? s->step + 2 - groups : 1;
    }
}

static void add_chain_step(r2ccl *s, cs_block *block)
{
    uint32_t last = s->step + 1 < s->shape.p - 2 ? s->step + 1 : s->shape.p - 2;

    while (s->hop <= last && block->count < block->capacity) {
        block->transfers[block->count++] = chain_message(s, s->hop++);
    }
    if (s->hop > last) {
        s->hop           = 0;
        s->ring.end_step = ++s->step + 1;
    }
}

static void add_pieces(r2ccl *s, cs_block *block)
{
    while (s->piece < s->shape.pieces && block->count < block->capacity) {
        block->transfers[block->count++] = piece_message(s);
        if (++s->link == s->shape.p) {
            s->link = 0;
            s->piece++;
        }
    }
}

static void r2ccl_next_block(void *state, cs_block *block)
{
    r2ccl *s = state;

    block->count = 0;
    if (s->fallback.algorithm != NULL) {
        cs_fallback_next(&s->fallback, block);
        return;
    }
    while (s->step < 2 * (s->shape.p - 1) && block->count < block->capacity) {
        if (s->hop == 0) {
            add_ring_step(s, block);
        } else {
            add_chain_step(s, block);
        }
    }
    add_pieces(s, block);
}

/* What the paper predicts, whatever runs: T0 (1 + p (l-1) / (2 (p-1))) = T0 + (l-1) n, with
 * T0 = 2 (p-1) / p n for the ring without a fault, n = bytes / rate and no alpha. The replay does
 * not equal it: it pays the filling of the pipeline. Stated for one slow NIC at most. */
static double r2ccl_published_form_s(const cs_scenario *scenario, const void *options)
{
    uint32_t         slow;
    cs_r2ccl_setting t = setting_of(scenario, &slow);
    double           p = t.p, t0 = 2 * (p - 1) / p * (double)t.bytes * t.s_per_byte;

    bool is_ring = ((const r2ccl_options *)options)->chosen >= CHOSEN_RINGS;

    if (is_ring || t.other_slowdown > 1 || !cs_capacity_is_constant(scenario) ||
        cs_last_arrival(scenario) > 0) {
        return (double)NAN;
    }
    return t0 * (1 + p * (t.slowdown - 1) / (2 * (p - 1)));
}

const cs_algorithm cs_algorithm_r2ccl = {
    .name             = "r2ccl",
    .summary          = "ring on 1/l of the buffer, the rest once each way over the slow NIC",
    .source           = "R2CCL, closed form as in OptCC; own correct schedule",
    .collectives      = 1u << CS_ALLREDUCE,
    .options          = r2ccl_table,
    .options_bytes    = sizeof(r2ccl_options),
    .check            = r2ccl_check,
    .open             = r2ccl_open,
    .next_block       = r2ccl_next_block,
    .close            = r2ccl_close,
    .published_form_s = r2ccl_published_form_s,
};
