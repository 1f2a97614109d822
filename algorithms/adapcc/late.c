/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The stream of a strategy under relay control.
 *
 * Who starts, and when, follows from the arrivals alone: check() asks the coordinator. What is
 * decided in the run: where relays join phase 1, and with that what phase 2 has to move.
 *
 * Joining changes sums, not messages: a relay's first message of a chunk costs the same whether it
 * is copied or added to the relay's own data. So the stream gives phase 1 as if nobody joined, and
 * changes the operation when it is told that the message began after the relay was ready. Phase 2
 * is asked for when phase 1 has ended everywhere, and all joins are known. Ranks that are ready
 * nearly together broadcast together, others one behind the other.
 *
 * A relay that does not receive sends messages if it joins, so that times change. Where the
 * coordinator announces such joins, they are known before the run: for each in the order of time
 * phase 1 is rehearsed on the model that forecasts, with those before it, and joins at what has not
 * begun when the announcement is there. What begins later cannot change what was before.
 *
 * Source: AdapCC, section IV-C; distribution of messages to the coordinator: its released samples
 * and Fig. 19d.
 */
#include "algorithms/adapcc/late.h"

#include "algorithms/adapcc/hops.h"
#include "algorithms/adapcc/replay.h"
#include "algorithms/lib/accept.h"
#include "base/alloc.h"
#include "base/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Times are the same that differ by less than that part of a cycle. */
static const double SAME = 1e-6;

/* A relay's place among the late ranks. */
#define NOT_LATE UINT32_MAX

/* What all streams of a schedule share. */
typedef struct prepared {
    void            *trees; /* without control: of replay.h; nothing else then */
    cs_strategy      strategy;
    cs_staging       staging;
    cs_relay_setting setting;
    bool             joins;
    double          *ready_s;  /* [n_ranks] the coordinator knows */
    double          *own_s;    /* [n_ranks] its own contribution may be used */
    double           answer_s; /* from the coordinator to the last worker */
    uint32_t        *by_ready; /* [n_ranks] ranks, first one first */
    uint32_t        *late_of;  /* [n_ranks] place among the late, or NOT_LATE */
    uint32_t         n_late;
    uint32_t        *late;   /* [n_late] ranks, first one first */
    bool            *begins; /* [n_late] a stage of broadcasts; else it goes with those before */
    uint32_t         most_together;
    double           start_s; /* of phase 1: the last worker knows */
} prepared;

typedef struct stream {
    const prepared    *p;
    const cs_scenario *scenario;
    void              *trees; /* without control */
    cs_relay           relay;
    uint32_t           n_heard; /* workers that the coordinator has been told of */
    cs_hops            hops;    /* of the stage, or of the broadcast */
    uint32_t           phase1_rounds, first_round, turn;
    size_t             next;
    bool               is_phase1, is_told;
    uint32_t          *missing;  /* [n_late][n_trees] c0: chunks that lack the rank's data */
    uint32_t          *senders;  /* [n_late] who broadcasts, in that order */
    uint32_t          *round_of; /* [n_late] of broadcasts together: where they begin, */
    uint32_t          *first_of; /* [n_late] and the first of their senders */
    uint32_t           n_senders, n_begun, told_at;
    uint32_t           n_passed; /* late ranks that have been asked whether they broadcast */

    cs_late_decisions decisions;
} stream;

/* ---- the coordinator ---- */

/* What a message to or from the coordinator takes: 0.43 ms at least, 0.99 ms for half of them, 1.58
 * ms for nine tenths, 9.85 ms at most; between these exponentially. */
static double measured_s(gsl_rng *random)
{
    static const double part[] = {0, 0.5, 0.9, 1}, time_s[] = {0.43e-3, 0.99e-3, 1.58e-3, 9.85e-3};
    double              u = cs_random_uniform(random);
    size_t              i = u < part[1] ? 0 : u < part[2] ? 1 : 2;

    return time_s[i] * pow(time_s[i + 1] / time_s[i], (u - part[i]) / (part[i + 1] - part[i]));
}

/* When the coordinator hears of each worker; and what its answer takes to the last one. */
static cs_status hear(prepared *p, const cs_scenario *scenario, const cs_late_control *c,
                      cs_error *err)
{
    gsl_rng *random = cs_random_stream(scenario->seed, "adapcc.rpc");

    if (random == NULL) {
        return CS_NO_MEMORY(err, "adapcc");
    }
    p->answer_s = c->rpc == 0 ? c->rpc_s : 0;
    for (uint32_t r = 0; r < scenario->cluster.n_ranks; r++) {
        double there_s = c->rpc == 0 ? c->rpc_s : measured_s(random);
        double back_s  = c->rpc == 0 ? c->rpc_s : measured_s(random);
        p->ready_s[r]  = cs_arrival(scenario, r) + there_s;
        p->answer_s    = fmax(p->answer_s, back_s);
    }
    gsl_rng_free(random);
    return CS_OK;
}

typedef struct worker {
    double   ready_s;
    uint32_t rank;
} worker;

static int by_ready(const void *left, const void *right)
{
    const worker *a = left, *b = right;

    if (a->ready_s != b->ready_s) {
        return a->ready_s < b->ready_s ? -1 : 1;
    }
    return a->rank < b->rank ? -1 : a->rank > b->rank;
}

static cs_status sort_by_ready(prepared *p, uint32_t n, cs_error *err)
{
    worker *workers = CS_NEW(worker, n);

    if (workers == NULL) {
        return CS_NO_MEMORY(err, "%u workers", n);
    }
    for (uint32_t r = 0; r < n; r++) {
        workers[r] = (worker){p->ready_s[r], r};
    }
    qsort(workers, n, sizeof *workers, by_ready);
    for (uint32_t i = 0; i < n; i++) {
        p->by_ready[i] = workers[i].rank;
    }
    cs_free(workers);
    return CS_OK;
}

/* Tell the coordinator until it starts phase 1. All come, so it does. */
static void wait_for_start(const prepared *p, cs_relay *relay, uint32_t *n_heard_p)
{
    double same_s = SAME * p->setting.cycle_s;

    while (relay->state == CS_RELAY_IDLE || relay->state == CS_RELAY_WAIT) {
        double wake_s = relay->state == CS_RELAY_WAIT ? relay->wake_s : (double)INFINITY;
        bool   is_all = *n_heard_p == p->setting.n_ranks;
        if (!is_all && p->ready_s[p->by_ready[*n_heard_p]] <= wake_s + same_s) {
            uint32_t rank = p->by_ready[(*n_heard_p)++];
            cs_relay_tell(relay, CS_RELAY_IS_READY, rank, fmin(p->ready_s[rank], wake_s));
        } else {
            cs_relay_tell(relay, CS_RELAY_TICK, 0, wake_s);
        }
    }
}

/* ---- what is decided before the run ---- */

void cs_late_release(void *given)
{
    prepared *p = given;

    if (p == NULL) {
        return;
    }
    cs_trees_release(p->trees);
    cs_staging_free(&p->staging);
    cs_strategy_free(&p->strategy);
    cs_free(p->ready_s);
    cs_free(p->own_s);
    cs_free(p->by_ready);
    cs_free(p->late_of);
    cs_free(p->late);
    cs_free(p->begins);
    cs_free(p);
}

static cs_relay_setting setting_of(const cs_scenario *scenario, const cs_late_control *c,
                                   double rate_Bps)
{
    cs_relay_setting s =
        cs_relay_setting_of((cs_relay_rule)(c->relay - 1), scenario->cluster.n_ranks,
                            (double)scenario->bytes, rate_Bps);

    s.collective   = scenario->collective;
    s.one_starts   = c->one_starts;
    s.cycle_s      = c->cycle_s;
    s.volumes      = c->volumes > 0 ? (cs_relay_volumes)(c->volumes - 1) : s.volumes;
    s.fault_factor = c->excludes ? s.fault_factor : (double)INFINITY;
    return s;
}

/* Broadcasts go together, turn by turn, whose ranks are ready before the first one's could end:
 * they keep several senders' ports busy. None of them waits long for another. */
static void put_together(prepared *p, const cs_scenario *scenario)
{
    const cs_cluster *c      = &scenario->cluster;
    uint32_t          fabric = cs_uses_nics(c) ? CS_NIC : CS_NVLINK, n_together = 0;
    double            least_s = (double)scenario->bytes / c->fabrics[fabric].bandwidth_Bps;
    double            first_s = 0;
    uint32_t          n       = 0;

    for (uint32_t i = 0; i < c->n_ranks; i++) {
        uint32_t rank = p->by_ready[i];
        if (p->late_of[rank] == NOT_LATE) {
            continue;
        }
        bool is_near     = n > 0 && p->ready_s[rank] < first_s + least_s;
        p->begins[n]     = !is_near || n_together == CS_MOST_TOGETHER;
        first_s          = p->begins[n] ? p->ready_s[rank] : first_s;
        n_together       = p->begins[n] ? 1 : n_together + 1;
        p->late[n++]     = rank;
        p->most_together = n_together > p->most_together ? n_together : p->most_together;
    }
}

/* Who starts, and when. */
static cs_status decide(prepared *p, const cs_logical *logical, const cs_scenario *scenario,
                        const cs_late_control *c, cs_error *err)
{
    uint32_t n = scenario->cluster.n_ranks, n_heard = 0;
    cs_relay relay;
    bool    *is_active = CS_NEW(bool, n);

    p->ready_s  = CS_NEW(double, n);
    p->own_s    = CS_NEW(double, n);
    p->by_ready = CS_NEW(uint32_t, n);
    p->late_of  = CS_NEW(uint32_t, n);
    p->late     = CS_NEW(uint32_t, n);
    p->begins   = CS_NEW(bool, n);
    if (is_active == NULL || p->ready_s == NULL || p->own_s == NULL || p->by_ready == NULL ||
        p->late_of == NULL || p->late == NULL || p->begins == NULL) {
        cs_free(is_active);
        return CS_NO_MEMORY(err, "adapcc");
    }
    cs_status status = cs_relay_init(&relay, &p->setting, err);
    if (status == CS_OK) {
        status = hear(p, scenario, c, err);
    }
    if (status == CS_OK) {
        status = sort_by_ready(p, n, err);
    }
    if (status == CS_OK) {
        wait_for_start(p, &relay, &n_heard);
        p->start_s = relay.wake_s + p->answer_s;
        for (uint32_t r = 0; r < n; r++) {
            is_active[r]  = relay.workers[r] == CS_WORKER_ACTIVE;
            p->late_of[r] = is_active[r] ? NOT_LATE : p->n_late++;
            p->own_s[r]   = fmax(p->start_s, p->ready_s[r]); /* the active are ready before */
        }
        put_together(p, scenario);
        status = cs_staging_open(&p->staging, &p->strategy, logical, scenario->collective,
                                 is_active, p->most_together, err);
    }
    cs_relay_free(&relay);
    cs_free(is_active);
    return status;
}

/* Rounds of phase 1, and of all broadcasts where nobody joins. */
static cs_status count_rounds(const prepared *p, uint32_t *n_rounds_p, cs_error *err)
{
    uint32_t       *whole                     = CS_NEW(uint32_t, p->strategy.n_trees);
    const uint32_t *missing[CS_MOST_TOGETHER] = {NULL};
    cs_hops         hops;
    cs_status       status = cs_hops_open(&hops, &p->staging, err);

    if (status == CS_OK && whole == NULL) {
        status = CS_NO_MEMORY(err, "adapcc");
    }
    if (status == CS_OK) {
        cs_hops_phase1(&hops, &p->staging);
        *n_rounds_p = hops.n_turns;
        for (uint32_t m = 0; m < p->strategy.n_trees; m++) {
            whole[m] = p->staging.lanes[m].n_chunks;
        }
        for (uint32_t i = 0; i < CS_MOST_TOGETHER; i++) {
            missing[i] = whole;
        }
        for (uint32_t i = 0, n; i < p->n_late; i += n) {
            for (n = 1; i + n < p->n_late && !p->begins[i + n];) {
                n++;
            }
            cs_hops_broadcast(&hops, &p->staging, n, &p->late[i], missing);
            *n_rounds_p += hops.n_turns;
        }
    }
    cs_hops_free(&hops);
    cs_free(whole);
    return status;
}

/* The turns of phase 1, for the rates that trees without control are replayed for. What is
 * announced joins edges that carry one chunk a turn. */
static cs_status plan_phase1(prepared *p, const cs_scenario *scenario, const cs_logical *healthy,
                             const cs_strategy_options *o, cs_error *err)
{
    const cs_forecast *f      = scenario->forecast;
    cs_logical         actual = {0};
    cs_status          status = CS_OK;

    p->staging.are_shared = f != NULL && cs_ports_are_shared(f->model, f->model_options);
    if (o->control.join == 2) {
        return CS_OK;
    }
    if (!o->for_full_rates) {
        status = cs_logical_of_scenario(&actual, scenario, err);
    }
    if (status == CS_OK) {
        status = cs_staging_plan(&p->staging, o->for_full_rates ? healthy : &actual, err);
    }
    cs_logical_free(&actual);
    return status;
}

static cs_status control(const cs_scenario *scenario, const cs_strategy_options *o, prepared *p,
                         cs_plan *plan, cs_error *err)
{
    cs_scenario healthy  = *scenario;
    cs_logical  logical  = {0};
    double      rate_Bps = 0;
    uint32_t    n_rounds = 0;

    healthy.capacity   = NULL; /* the coordinator has profiled the links as they should be */
    healthy.n_capacity = 0;
    cs_status status   = cs_strategy_copy(&p->strategy, o->strategy, err);
    if (status == CS_OK) {
        status = cs_logical_of_scenario(&logical, &healthy, err);
    }
    if (status == CS_OK) {
        status = cs_trees_fit(scenario, o->strategy, &logical, err);
    }
    if (status == CS_OK) {
        status = cs_relay_rate(&p->strategy, &logical, scenario->collective, &rate_Bps, err);
    }
    if (status == CS_OK) {
        p->setting = setting_of(scenario, &o->control, rate_Bps);
        p->joins   = o->control.join != 1;
        status     = cs_relay_check(&p->setting, err);
    }
    if (status == CS_OK) {
        status = decide(p, &logical, scenario, &o->control, err);
    }
    if (status == CS_OK) {
        status = plan_phase1(p, scenario, &logical, o, err);
    }
    if (status == CS_OK) {
        status = cs_accept_slots(scenario, "adapcc with relays", p->staging.n_slots, err);
    }
    if (status == CS_OK) {
        status = count_rounds(p, &n_rounds, err);
    }
    cs_logical_free(&logical);
    *plan = (cs_plan){.n_chunks = (uint32_t)p->staging.n_chunks,
                      .n_slots  = (uint32_t)p->staging.n_slots,
                      .n_rounds = n_rounds,
                      .uses     = cs_uses_nvlink(&scenario->cluster) | CS_USES_JOIN |
                              (p->staging.are_shared ? CS_USES_SHARED : 0u),
                      .starts_own    = true,
                      .is_reactive   = true,
                      .own_ready_s   = p->own_s,
                      .chunks_differ = true};
    return status;
}

static cs_status check_control(const cs_scenario *scenario, const cs_strategy_options *o,
                               cs_error *err)
{
    if (scenario->collective != CS_ALLREDUCE && scenario->collective != CS_REDUCE) {
        return CS_FAIL(err, CS_ENOTSUP, "algorithm.options.relay",
                       "%s: relays are for an allreduce and a reduce, whose parts can be added "
                       "later; accepted is off",
                       cs_collective_name(scenario->collective));
    }
    if (o->strategy->n_members != scenario->cluster.n_ranks) {
        return CS_FAIL(err, CS_ENOTSUP, "strategy", "the trees are over %u of %u ranks",
                       o->strategy->n_members, scenario->cluster.n_ranks);
    }
    for (uint32_t m = 0; m < o->strategy->n_trees; m++) {
        const cs_strategy_tree *t = &o->strategy->trees[m];
        for (uint32_t g = 0; g < scenario->cluster.n_ranks; g++) {
            if (!t->aggregates[g] && t->n_children[g] > 0) {
                return CS_FAIL(err, CS_ENOTSUP, "algorithm.options.relay",
                               "rank %u forwards in tree %u: relays are for ranks that add up", g,
                               m);
            }
        }
    }
    return CS_OK;
}

/* ---- the stream ---- */

static uint32_t *missing_of(const stream *st, uint32_t rank)
{
    return st->missing + (size_t)st->p->late_of[rank] * st->p->strategy.n_trees;
}

static uint32_t own_from(const prepared *p, uint32_t m, uint32_t rank)
{
    return p->staging.own_from[(size_t)m * p->setting.n_ranks + rank];
}

void cs_late_close(void *state)
{
    stream *st = state;

    if (st == NULL) {
        return;
    }
    cs_trees_close(st->trees);
    cs_relay_free(&st->relay);
    cs_hops_free(&st->hops);
    cs_free(st->missing);
    cs_free(st->senders);
    cs_free(st->first_of);
    cs_free(st->round_of);
    cs_relay_times_free(&st->decisions.times);
    cs_free(st);
}

/* What the coordinator has decided when phase 1 starts. */
static void begin_decisions(stream *st)
{
    const prepared *p = st->p;
    cs_relay_times *t = &st->decisions.times;

    st->decisions.given = (cs_relay_case){.setting = p->setting, .ready_s = p->ready_s};
    t->first_s          = st->relay.first_s;
    t->ticks            = st->relay.wake_tick;
    t->decided_s        = st->relay.wake_s;
    t->n_active         = st->relay.n_active;
    t->phase1_from_s    = p->start_s;
    t->phase1_end_s     = p->start_s;
    t->deadline_s       = (double)NAN;
    t->end_s            = p->start_s;
    t->wait_all_s       = (double)NAN;
    for (uint32_t r = 0; r < p->setting.n_ranks; r++) {
        bool is_late = p->late_of[r] != NOT_LATE;
        t->workers[r] =
            (cs_relay_worker_times){.role          = is_late ? CS_WORKER_RELAY : CS_WORKER_ACTIVE,
                                    .joined_s      = (double)NAN,
                                    .missing_bytes = is_late ? p->setting.bytes : 0,
                                    .from_s        = (double)NAN,
                                    .to_s          = (double)NAN};
    }
}

static cs_status begin(stream *st, cs_error *err)
{
    const prepared *p       = st->p;
    uint32_t        n_trees = p->strategy.n_trees;

    CS_TRY(cs_relay_init(&st->relay, &p->setting, err));
    CS_TRY(cs_hops_open(&st->hops, &p->staging, err));
    st->missing                 = CS_NEW(uint32_t, (size_t)p->n_late * n_trees);
    st->senders                 = CS_NEW(uint32_t, p->n_late);
    st->first_of                = CS_NEW(uint32_t, p->n_late);
    st->round_of                = CS_NEW(uint32_t, p->n_late);
    st->decisions.times.workers = CS_NEW(cs_relay_worker_times, p->setting.n_ranks);
    if (st->missing == NULL || st->senders == NULL || st->round_of == NULL ||
        st->first_of == NULL || st->decisions.times.workers == NULL) {
        return CS_NO_MEMORY(err, "adapcc");
    }
    for (uint32_t r = 0; r < p->setting.n_ranks; r++) {
        for (uint32_t m = 0; m < n_trees && p->late_of[r] != NOT_LATE; m++) {
            uint32_t own = own_from(p, m, r), n_chunks = p->staging.lanes[m].n_chunks;

            missing_of(st, r)[m] = own < n_chunks ? own : n_chunks;
        }
    }
    wait_for_start(p, &st->relay, &st->n_heard);
    begin_decisions(st);
    cs_hops_phase1(&st->hops, &p->staging);
    st->phase1_rounds = st->hops.n_turns;
    st->is_phase1     = true;
    return CS_OK;
}

cs_status cs_late_open(const cs_scenario *scenario, const void *options, const void *given,
                       void **state_p, cs_error *err)
{
    const prepared *p  = given;
    stream         *st = CS_NEW(stream, 1);

    if (st == NULL) {
        return CS_NO_MEMORY(err, "adapcc");
    }
    (void)options;
    *st              = (stream){.p = p, .scenario = scenario};
    cs_status status = p->trees == NULL ? begin(st, err) : cs_trees_open(p->trees, &st->trees, err);
    if (status != CS_OK) {
        cs_late_close(st);
        return status;
    }
    *state_p = st;
    return CS_OK;
}

/* Go on to the next hop that carries a chunk in its turn; false: there is none any more. */
static bool seek(stream *st)
{
    while (st->turn < st->hops.n_turns) {
        for (; st->next < st->hops.n; st->next++) {
            const cs_hop *hop = &st->hops.hops[st->next];
            if (st->turn - hop->lag - hop->first < hop->limit - hop->first) { /* large before */
                return true;
            }
        }
        st->next = 0;
        st->turn++;
    }
    return false;
}

/* What part k of a message does. In phase 1 a rank that was announced adds its own data to what it
 * passes on, and has them in the result. */
static cs_op op_of(const stream *st, const cs_hop *hop, uint32_t k, uint32_t number)
{
    const prepared *p     = st->p;
    bool            is_up = p->strategy.trees[hop->tree].parent[hop->src] == hop->dst;
    cs_op           op    = hop->parts[k].op;

    if (!st->is_phase1 || number < own_from(p, hop->tree, hop->dst)) {
        return op;
    }
    return is_up ? CS_OP_REDUCE : CS_OP_COPY;
}

/* One message. */
static void put(const stream *st, const cs_hop *hop, cs_block *block)
{
    const cs_lane *lane   = &st->p->staging.lanes[hop->tree];
    uint32_t       number = st->turn - hop->lag;
    uint64_t       from   = (uint64_t)number * lane->chunk_bytes;
    uint64_t bytes  = number + 1 == lane->n_chunks ? lane->size_bytes - from : lane->chunk_bytes;
    uint8_t  fabric = cs_fabric_of(&st->scenario->cluster, hop->src, hop->dst);

    for (uint32_t k = 0; k < hop->n_parts; k++) {
        cs_op op       = op_of(st, hop, k, number);
        bool  adds_own = hop->parts[k].op == CS_OP_COPY && op == CS_OP_REDUCE;

        block->transfers[block->count++] =
            (cs_transfer){.src       = hop->src,
                          .dst       = hop->dst,
                          .chunk     = lane->first_chunk + number,
                          .src_slot  = cs_slot_at(lane, hop->from, number, hop->sender),
                          .dst_slot  = cs_slot_at(lane, hop->parts[k].to, number, hop->sender),
                          .bytes     = k == 0 ? bytes : 0,
                          .round     = st->first_round + st->turn,
                          .span      = 1,
                          .flags     = (uint8_t)((hop->is_own ? CS_OWN_SRC : 0) |
                                             (k > 0 ? CS_JOIN : 0) | (adds_own ? CS_OWN_DST : 0) |
                                             (k == 0 && hop->is_shared ? CS_SHARED : 0)),
                          .op_fabric = cs_op_fabric(op, fabric)};
    }
}

static void fill(stream *st, cs_block *block)
{
    while (block->count + CS_HOP_PARTS <= block->capacity && seek(st)) {
        put(st, &st->hops.hops[st->next++], block);
    }
}

/* What the coordinator orders in phase 2. */
static void obey(stream *st)
{
    cs_relay_times *t = &st->decisions.times;

    for (size_t i = 0; i < st->relay.n_orders; i++) {
        const cs_relay_order  *order = &st->relay.orders[i];
        cs_relay_worker_times *w     = &t->workers[order->rank];
        if (order->verb == CS_RELAY_JOIN) {
            w->joined_s = order->time_s;
        } else if (order->verb == CS_RELAY_BROADCAST) {
            const uint32_t *missing = missing_of(st, order->rank);

            w->role          = CS_WORKER_DONE;
            w->missing_bytes = 0;
            for (uint32_t m = 0; m < st->p->strategy.n_trees; m++) {
                w->missing_bytes += (double)cs_chunks_bytes(&st->p->strategy.trees[m], missing[m]);
            }
            t->end_s = fmax(t->end_s, order->time_s);
        } else if (order->verb == CS_RELAY_EXCLUDE) {
            w->role          = CS_WORKER_FAULTY;
            w->missing_bytes = 0;
            t->n_faulty++;
            t->end_s = fmax(t->end_s, order->time_s);
        }
    }
}

/* Tell of all who are ready by then. */
static void hear_until(stream *st, double until_s)
{
    const prepared *p      = st->p;
    double          same_s = SAME * p->setting.cycle_s;

    while (st->n_heard < p->setting.n_ranks) {
        uint32_t rank = p->by_ready[st->n_heard];
        if (!(p->ready_s[rank] <= until_s + same_s)) {
            break;
        }
        st->n_heard++;
        cs_relay_tell(&st->relay, CS_RELAY_IS_READY, rank, fmin(p->ready_s[rank], until_s));
        obey(st);
    }
}

/* Phase 1 has ended everywhere: who broadcasts, and who is left out. A stream that is told nothing
 * waits for all. */
static void end_phase1(stream *st)
{
    double end_s = st->decisions.times.phase1_end_s;

    st->is_phase1 = false;
    hear_until(st, end_s);
    cs_relay_tell(&st->relay, CS_RELAY_PHASE1_ENDS, 0, end_s);
    obey(st);
    if (st->is_told && isfinite(st->relay.deadline_s)) {
        st->decisions.times.deadline_s = st->relay.deadline_s;
        hear_until(st, st->relay.deadline_s);
        cs_relay_tell(&st->relay, CS_RELAY_DEADLINE, 0, st->relay.deadline_s);
        obey(st);
    }
    hear_until(st, (double)INFINITY);
}

/* The broadcasts that go together next. */
static void begin_broadcasts(stream *st)
{
    const prepared *p     = st->p;
    uint32_t       *ranks = &st->senders[st->n_senders], n = 0;
    const uint32_t *missing[CS_MOST_TOGETHER] = {NULL};

    do {
        uint32_t rank = p->late[st->n_passed++];
        if (st->decisions.times.workers[rank].role == CS_WORKER_DONE) {
            missing[n] = missing_of(st, rank);
            ranks[n++] = rank;
        }
    } while (st->n_passed < p->n_late && !p->begins[st->n_passed]);

    st->first_round += st->hops.n_turns;
    st->first_of[st->n_begun]   = st->n_senders;
    st->round_of[st->n_begun++] = st->first_round;
    st->n_senders += n;
    cs_hops_broadcast(&st->hops, &p->staging, n, ranks, missing);
    st->turn = 0;
    st->next = 0;
}

void cs_late_next_block(void *state, cs_block *block)
{
    stream *st = state;

    if (st->trees != NULL) {
        cs_trees_next_block(st->trees, block);
        return;
    }
    block->count        = 0;
    block->is_stage_end = false;
    if (st->is_phase1 && seek(st)) {
        fill(st, block);
        block->is_stage_end = st->p->n_late > 0 && !seek(st);
        return;
    }
    if (st->is_phase1) {
        end_phase1(st);
    }
    fill(st, block);
    while (block->count == 0 && st->n_passed < st->p->n_late) {
        begin_broadcasts(st);
        fill(st, block);
    }
}

/* ---- what it is told ---- */

static uint32_t tree_of(const prepared *p, uint32_t chunk)
{
    uint32_t low = 0, high = p->strategy.n_trees - 1;

    while (low < high) { /* the last one whose first chunk is not behind it */
        uint32_t middle = (low + high + 1) / 2;
        if (p->staging.lanes[middle].first_chunk <= chunk) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low;
}

/* A message of phase 1 to a rank that is late: is its data in the chunk? */
static void settle(stream *st, cs_transfer *t, double start_s)
{
    const prepared         *p = st->p;
    uint32_t                m = tree_of(p, t->chunk), rank = t->dst;
    const cs_lane          *lane   = &p->staging.lanes[m];
    const cs_strategy_tree *tree   = &p->strategy.trees[m];
    uint32_t                number = t->chunk - lane->first_chunk;
    uint32_t               *from   = &missing_of(st, rank)[m];
    uint8_t                 fabric = (uint8_t)cs_transfer_fabric(t);
    bool                    begins =
        t->dst_slot == cs_slot_at(lane, CS_GOING_UP, number, 0) && cs_transfer_op(t) == CS_OP_COPY;
    bool is_result = t->dst_slot == t->chunk && tree->parent[rank] == t->src;

    if (begins && p->joins && p->own_s[rank] <= start_s) {
        *from = number < *from ? number : *from;
        t->flags |= CS_OWN_DST;
        t->op_fabric = cs_op_fabric(CS_OP_REDUCE, fabric);
    } else if (is_result && number >= *from) {
        t->op_fabric = cs_op_fabric(CS_OP_COPY, fabric); /* its own is in it already */
    }
}

static void note_broadcast(stream *st, const cs_transfer *t, const cs_interval *held)
{
    cs_relay_times *times = &st->decisions.times;

    while (st->told_at + 1 < st->n_begun && t->round >= st->round_of[st->told_at + 1]) {
        st->told_at++;
    }
    const cs_lane         *lane   = &st->p->staging.lanes[tree_of(st->p, t->chunk)];
    bool                   is_own = (t->flags & CS_OWN_SRC) != 0;
    uint32_t               sender = is_own ? 0 : cs_sender_at(lane, t->src_slot);
    uint32_t               rank = is_own ? t->src : st->senders[st->first_of[st->told_at] + sender];
    cs_relay_worker_times *w    = &times->workers[rank];
    w->from_s    = isnan(w->from_s) || held->start_s < w->from_s ? held->start_s : w->from_s;
    w->to_s      = isnan(w->to_s) || held->end_s > w->to_s ? held->end_s : w->to_s;
    times->end_s = fmax(times->end_s, w->to_s);
}

void cs_late_told(void *state, const cs_block *block, const cs_interval *intervals)
{
    stream         *st    = state;
    cs_relay_times *times = &st->decisions.times;

    st->is_told = true;
    for (size_t i = 0; i < block->count; i++) {
        cs_transfer *t = &block->transfers[i];
        if (t->round >= st->phase1_rounds) {
            note_broadcast(st, t, &intervals[i]);
            continue;
        }
        times->phase1_end_s = fmax(times->phase1_end_s, intervals[i].end_s);
        times->end_s        = fmax(times->end_s, intervals[i].end_s);
        if (st->p->late_of[t->dst] != NOT_LATE) {
            settle(st, t, intervals[i].start_s);
        }
    }
}

const void *cs_late_decided(const void *state, bool *is_out, double *known_s_p)
{
    const stream *st = state;

    for (uint32_t r = 0; r < st->p->setting.n_ranks; r++) {
        is_out[r] = st->decisions.times.workers[r].role == CS_WORKER_FAULTY;
    }
    *known_s_p = st->decisions.times.n_faulty > 0 ? st->decisions.times.deadline_s : 0;
    return &st->decisions;
}

/* ---- announcements ---- */

/* What a rehearsal is to find out, and does. */
typedef struct rehearsal {
    double    time_s;       /* when? */
    cs_begun *begun;        /* [n_ranks] by then */
    double    phase1_end_s; /* when has phase 1 ended? */
} rehearsal;

typedef struct rehearsal_options {
    rehearsal *notes;
} rehearsal_options;

/* A stream of phase 1 alone. */
typedef struct rehearsing {
    rehearsal *notes;
    void      *whole;
} rehearsing;

static void rehearse_close(void *state)
{
    rehearsing *s = state;

    if (s != NULL) {
        cs_late_close(s->whole);
        cs_free(s);
    }
}

static cs_status rehearse_open(const cs_scenario *scenario, const void *options, const void *given,
                               void **state_p, cs_error *err)
{
    const rehearsal_options *o = options;
    rehearsing              *s = CS_NEW(rehearsing, 1);

    if (s == NULL) {
        return CS_NO_MEMORY(err, "adapcc");
    }
    s->notes         = o->notes;
    cs_status status = cs_late_open(scenario, NULL, given, &s->whole, err);
    if (status != CS_OK) {
        rehearse_close(s);
        return status;
    }
    *state_p = s;
    return CS_OK;
}

static void rehearse_next_block(void *state, cs_block *block)
{
    rehearsing *s = state;

    block->count = 0;
    if (seek(s->whole)) {
        cs_late_next_block(s->whole, block);
    }
}

static void rehearse_told(void *state, const cs_block *block, const cs_interval *intervals)
{
    rehearsal *notes = ((rehearsing *)state)->notes;

    for (size_t i = 0; i < block->count; i++) {
        const cs_transfer *t   = &block->transfers[i];
        cs_begun          *src = &notes->begun[t->src], *dst = &notes->begun[t->dst];
        if (intervals[i].start_s <= notes->time_s) {
            src->out = t->round >= src->out ? t->round + 1 : src->out;
            dst->in  = t->round >= dst->in ? t->round + 1 : dst->in;
        }
        notes->phase1_end_s = fmax(notes->phase1_end_s, intervals[i].end_s);
    }
}

static const void *rehearse_decided(const void *state, bool *is_out, double *known_s_p)
{
    (void)state;
    (void)is_out;
    (void)known_s_p;
    return NULL;
}

static const cs_algorithm rehearsed = {
    .name          = "adapcc",
    .options_bytes = sizeof(rehearsal_options),
    .open_prepared = rehearse_open,
    .next_block    = rehearse_next_block,
    .told          = rehearse_told,
    .decided       = rehearse_decided,
    .close         = rehearse_close,
};

/* Is there a tree in which a rank sends nothing up? */
static bool is_idle(const prepared *p, uint32_t rank)
{
    bool is = false;

    for (uint32_t m = 0; m < p->strategy.n_trees && !is; m++) {
        is = p->staging.sends_from[(size_t)m * p->setting.n_ranks + rank] == CS_NEVER;
    }
    return is;
}

/* Announce relays in the order in which they hear of it, until phase 1 has ended. */
static cs_status announce(prepared *p, const cs_scenario *scenario, const cs_plan *plan,
                          cs_error *err)
{
    const cs_forecast *f       = scenario->forecast;
    uint32_t           n       = p->setting.n_ranks;
    rehearsal          notes   = {.begun = CS_NEW(cs_begun, n)};
    rehearsal_options  options = {&notes};
    cs_plan            known   = *plan;
    cs_status          status  = CS_OK;

    if (notes.begun == NULL) {
        return CS_NO_MEMORY(err, "adapcc");
    }
    known.prepared = p;
    for (uint32_t i = 0; i < n && f != NULL && status == CS_OK; i++) {
        uint32_t rank = p->by_ready[i];
        double   elapsed_s;

        if (p->late_of[rank] == NOT_LATE || !is_idle(p, rank)) {
            continue;
        }
        memset(notes.begun, 0, n * sizeof *notes.begun);
        notes.phase1_end_s = 0;
        notes.time_s       = p->ready_s[rank] + p->answer_s;
        status = f->elapsed_s(f, scenario, &rehearsed, &options, &known, &elapsed_s, err);
        if (status != CS_OK || !(notes.time_s < notes.phase1_end_s)) {
            break;
        }
        for (uint32_t m = 0; m < p->strategy.n_trees; m++) {
            if (cs_staging_announce(&p->staging, m, rank, notes.begun)) {
                p->own_s[rank] = notes.time_s;
            }
        }
    }
    cs_free(notes.begun);
    return status;
}

static cs_status strategy_check(const cs_scenario *scenario, void *options, cs_plan *plan,
                                cs_error *err)
{
    const cs_strategy_options *o    = options;
    prepared                  *p    = CS_NEW(prepared, 1);
    cs_plan                    made = {0};

    if (p == NULL) {
        return CS_NO_MEMORY(err, "adapcc");
    }
    cs_status status = CS_OK;
    if (o->control.relay == 0) {
        status =
            cs_trees_check(scenario, o->strategy, o->chunk_bytes, o->for_full_rates, &made, err);
        p->trees = made.prepared;
    } else {
        status = check_control(scenario, o, err);
        if (status == CS_OK) {
            status = control(scenario, o, p, &made, err);
        }
        if (status == CS_OK && o->control.join == 2) {
            status = announce(p, scenario, &made, err);
        }
    }
    if (status != CS_OK) {
        cs_late_release(p);
        return status;
    }
    made.prepared = p;
    *plan         = made;
    return CS_OK;
}

const cs_algorithm cs_algorithm_strategy = {.name          = "adapcc",
                                            .summary       = "trees from a file",
                                            .source        = "the file",
                                            .options_bytes = sizeof(cs_strategy_options),
                                            .check         = strategy_check,
                                            CS_STRATEGY_STREAMS};
