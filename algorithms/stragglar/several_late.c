/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Several late ranks: see several_late.h. */
#include "algorithms/stragglar/several_late.h"

#include "base/fault.h"

#include <math.h>

/* Later arrivals than this many rounds after the first late rank are all the same. */
#define MOST_TICKS 1e9

/* The course of a schedule in time. */
typedef struct course {
    double start_s; /* round 0 */
    double step_s;  /* a round */
    double last;    /* rounds until the last rank is there */
} course;

cs_several_pace cs_several_pace_of(const cs_scenario *s)
{
    const cs_cluster *c      = &s->cluster;
    bool              is_one = c->gpus_per_server == c->n_ranks;
    const cs_fabric  *f      = &c->fabrics[is_one ? CS_NVLINK : CS_NIC];
    double            slow   = 1;

    for (size_t i = 0; !is_one && cs_faults_constant(s) && i < s->n_faults; i++) {
        slow = fmax(slow, s->faults[i].slow_ratio);
    }
    return (cs_several_pace){f->alpha_s, slow / f->bandwidth_Bps};
}

/* An insertion sort: few ranks, which mostly come in order. */
void cs_several_order(const cs_scenario *scenario, uint32_t *ranks)
{
    for (uint32_t r = 0; r < scenario->cluster.n_ranks; r++) {
        uint32_t at = r;
        while (at > 0 && cs_arrival(scenario, ranks[at - 1]) > cs_arrival(scenario, r)) {
            ranks[at] = ranks[at - 1];
            at--;
        }
        ranks[at] = r;
    }
}

/* Rounds until a rank is there; a rounding error is no round. */
static double ticks_until(const cs_scenario *s, const course *c, uint32_t rank)
{
    double late_s = cs_arrival(s, rank) - c->start_s;

    if (late_s <= 0) {
        return 0;
    }
    return c->step_s > 0 ? fmin(ceil(late_s / c->step_s - 1e-9), MOST_TICKS) : 0;
}

static course course_of(const cs_scenario *s, const uint32_t *ranks, const cs_several_shape *shape)
{
    uint32_t        n = s->cluster.n_ranks, early = n - shape->late;
    cs_several_pace pace    = cs_several_pace_of(s);
    double          x_s     = (double)s->bytes * pace.s_per_byte;
    double          chunks  = (double)early * shape->parts;
    double          pre_s   = cs_log2_ceil(early) * pace.alpha_s + x_s * (early - 1) / early;
    double          ready_s = cs_arrival(s, ranks[early - 1]) + pre_s;
    course          c       = {.start_s = fmax(ready_s, cs_arrival(s, ranks[early])),
                               .step_s  = pace.alpha_s + x_s / chunks};

    c.last = ticks_until(s, &c, ranks[n - 1]);
    return c;
}

/* `ticks` rounds after round 0. Behind the last arrival the count is exact, also where that arrival
 * is too far off to be counted in rounds. */
static double end_of(const cs_scenario *s, const course *c, double ticks, uint32_t last_rank)
{
    double last_s = c->start_s + c->last * c->step_s;

    if (c->last >= MOST_TICKS) {
        last_s = cs_arrival(s, last_rank);
    }
    return last_s + (ticks - c->last) * c->step_s;
}

double cs_several_least_s(const cs_scenario *s, const uint32_t *ranks,
                          const cs_several_shape *shape)
{
    uint32_t n = s->cluster.n_ranks, chunks = (n - shape->late) * shape->parts;
    course   c     = course_of(s, ranks, shape);
    double   alone = c.last + chunks - 1 + cs_log2_ceil(n);
    double   ports = cs_klate_fewest(n, n - shape->late, chunks);

    return end_of(s, &c, fmax(alone, ports), ranks[n - 1]);
}

/* Early ranks get labels in increasing order. */
static cs_status give_labels(cs_several *v, uint32_t *ranks, bool *is_late, cs_error *err)
{
    uint32_t n = v->scenario->cluster.n_ranks, label = 0;

    if (v->rank_of == NULL || ranks == NULL || is_late == NULL) {
        return CS_FAIL(err, CS_ENOMEM, "", "out of memory for %u ranks", n);
    }
    cs_several_order(v->scenario, ranks);
    for (uint32_t i = v->early; i < n; i++) {
        v->rank_of[i]     = ranks[i];
        is_late[ranks[i]] = true;
    }
    for (uint32_t r = 0; r < n; r++) {
        if (!is_late[r]) {
            v->rank_of[label++] = r;
        }
    }
    return CS_OK;
}

static cs_status make_rounds(cs_several *v, const uint32_t *ranks, cs_error *err)
{
    const cs_scenario *s       = v->scenario;
    uint32_t           n       = s->cluster.n_ranks;
    course             c       = course_of(s, ranks, &v->shape);
    uint32_t          *arrival = CS_ARENA_NEW(&v->arena, uint32_t, v->shape.late);

    if (arrival == NULL) {
        return CS_FAIL(err, CS_ENOMEM, "", "out of memory for %u late ranks", v->shape.late);
    }
    for (uint32_t i = 0; i < v->shape.late; i++) {
        arrival[i] = (uint32_t)ticks_until(s, &c, ranks[v->early + i]);
    }
    const cs_klate_task task   = {.n        = n,
                                  .early    = v->early,
                                  .parts    = v->shape.parts,
                                  .root_num = v->shape.roots * v->shape.late,
                                  .root_den = 10 * n,
                                  .arrival  = arrival};
    cs_status           status = cs_klate_build(&task, &v->klate, err);
    if (status == CS_OK) {
        v->end_s = end_of(s, &c, v->klate.ticks, ranks[n - 1]);
    }
    return status;
}

cs_status cs_several_open(cs_several *several, const cs_scenario *scenario,
                          const cs_several_shape *shape, cs_error *err)
{
    cs_several *v = several;
    uint32_t    n = scenario->cluster.n_ranks, early = n - shape->late;

    *v = (cs_several){
        .scenario = scenario, .shape = *shape, .early = early, .chunks = early * shape->parts};
    v->rank_of       = CS_ARENA_NEW(&v->arena, uint32_t, n);
    uint32_t *ranks  = CS_ARENA_NEW(&v->arena, uint32_t, n);
    cs_status status = give_labels(v, ranks, CS_ARENA_NEW(&v->arena, bool, n), err);
    if (status == CS_OK) {
        status = make_rounds(v, ranks, err);
    }
    v->pre = (cs_circulant){.cluster  = &scenario->cluster,
                            .m        = early,
                            .n_groups = 1,
                            .ranks    = v->rank_of,
                            .bytes    = scenario->bytes,
                            .n_chunks = v->chunks,
                            .has_own  = true};
    return status;
}

void cs_several_close(cs_several *several)
{
    cs_label_rounds_free(&several->klate.rounds);
    cs_arena_free(&several->arena);
}

cs_plan cs_several_plan(const cs_several *several)
{
    const cs_cluster *cluster = &several->scenario->cluster;

    return (cs_plan){
        .n_chunks   = several->chunks,
        .n_slots    = several->chunks,
        .n_rounds   = cs_circulant_steps(several->early) + several->klate.rounds.n_rounds,
        .uses       = CS_USES_EXCHANGE | CS_USES_SPAN | CS_USES_JOIN | cs_uses_nvlink(cluster),
        .starts_own = true};
}

static cs_transfer transfer_of(const cs_several *v, const cs_label_transfer *t)
{
    static const cs_op   ops[]  = {[CS_LABEL_COPY]     = CS_OP_COPY,
                                   [CS_LABEL_EXCHANGE] = CS_OP_EXCHANGE,
                                   [CS_LABEL_RAW]      = CS_OP_REDUCE,
                                   [CS_LABEL_LAST]     = CS_OP_REDUCE};
    static const uint8_t ends[] = {[CS_LABEL_COPY]     = CS_DONE_DST,
                                   [CS_LABEL_EXCHANGE] = CS_DONE_SRC | CS_DONE_DST,
                                   [CS_LABEL_RAW]      = 0,
                                   [CS_LABEL_LAST]     = CS_DONE_DST};
    uint32_t             src = v->rank_of[t->src], dst = v->rank_of[t->dst];
    uint32_t             id     = t->chunk % v->early * v->shape.parts + t->chunk / v->early;
    uint32_t             fabric = cs_fabric_of(&v->scenario->cluster, src, dst);

    return (cs_transfer){.src       = src,
                         .dst       = dst,
                         .chunk     = id,
                         .src_slot  = (uint16_t)id,
                         .dst_slot  = (uint16_t)id,
                         .bytes     = cs_split(v->scenario->bytes, v->chunks, id),
                         .round     = cs_circulant_steps(v->early) + v->round,
                         .span      = 1,
                         .flags     = ends[t->kind],
                         .op_fabric = cs_op_fabric(ops[t->kind], fabric)};
}

void cs_several_next(cs_several *several, cs_block *block)
{
    cs_several            *v      = several;
    const cs_label_rounds *rounds = &v->klate.rounds;

    if (v->next == 0 && cs_circulant_next(&v->pre, block)) {
        return;
    }
    while (v->round < rounds->n_rounds && block->count < block->capacity) {
        block->transfers[block->count++] = transfer_of(v, &rounds->transfers[v->next]);
        if (++v->next == rounds->round_end[v->round]) {
            v->round++;
        }
    }
}
