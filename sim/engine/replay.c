/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The engine: one pass over the stream. Every block is served by the model, followed by the
 * fingerprints and shown to the observers while it is still in the cache. Over a network model the
 * dispatcher takes the blocks, after a first pass in which it counts. A reactive stream is one more
 * observer, the first one: blocks are followed and counted as it has left them. */
#include "cs/job.h"

#include "cs/capacity.h"
#include "engine/dispatch.h"
#include "engine/ports.h"
#include "engine/verify.h"

#include <assert.h>
#include <math.h>

enum { BLOCK = CS_DISPATCH_BLOCK }; /* 16 KiB of transfers: half of a small L1 cache */

typedef struct run {
    const cs_job      *job;
    const cs_observer *observers; /* those of a reactive stream begin with itself */
    size_t             n_observers;
    bool               shows;   /* one of them wants to see blocks */
    bool               reacts;  /* the stream is told of its blocks */
    const cs_observer *watches; /* the one that wants to know about links; NULL: none, or the model
                                   does not count there */
    cs_arena        arena;
    cs_ports        ports;
    cs_fingerprints prints;
    cs_block        block;
    cs_transfer     transfers[BLOCK];
    cs_interval    *intervals; /* of the block; NULL unless they are shown, on a port model */
    cs_dispatch    *dispatch;  /* NULL on a port model */
    void           *stream;    /* the one that is served; NULL: none is open */
    bool           *is_cut; /* [cs_n_ends()] by a dead NIC that nothing takes the place of; NULL: no
                               rank is */
    cs_outcome outcome;
} run;

static void count_block(run *r, const cs_block *block)
{
    const cs_transfer *t     = block->transfers;
    uint32_t           uses  = r->job->plan.uses;
    uint64_t           bytes = 0, back = 0, exchanges = 0, joins = 0;

    for (size_t i = 0; i < block->count; i++) {
        bytes += t[i].bytes;
    }
    for (size_t i = 0; (uses & CS_USES_EXCHANGE) != 0 && i < block->count; i++) {
        bool is_both = cs_transfer_op(&t[i]) == CS_OP_EXCHANGE;
        exchanges += is_both;
        back += is_both ? t[i].bytes : 0;
    }
    for (size_t i = 0; (uses & CS_USES_JOIN) != 0 && i < block->count; i++) {
        joins += (t[i].flags & CS_JOIN) != 0;
    }
    r->outcome.n_transfers += block->count + exchanges - joins;
    r->outcome.wire_bytes += bytes + back;
}

/* A block of a reactive stream, with its times: what it is now is what is checked. */
static cs_status tell_stream(void *user, const cs_block *block, const cs_interval *intervals,
                             cs_error *err)
{
    run *r = user;

    (void)err;
    r->job->algorithm->told(r->stream, block, intervals);
    if (r->job->verify) {
        cs_fingerprints_block(&r->prints, block);
    }
    count_block(r, block);
    return CS_OK;
}

/* Which ranks no message over NICs may reach. */
static cs_status list_cuts(run *r, cs_error *err)
{
    const cs_scenario *s = &r->job->scenario;

    if (!cs_capacity_cuts_off(s)) {
        return CS_OK;
    }
    r->is_cut = CS_ARENA_NEW(&r->arena, bool, cs_n_ends(&s->cluster));
    if (r->is_cut == NULL) {
        return CS_NO_MEMORY(err, "%u ranks", s->cluster.n_ranks);
    }
    for (size_t i = 0; i < s->n_capacity; i++) {
        r->is_cut[s->capacity[i].rank] |= isinf(s->capacity[i].slowdown);
    }
    return CS_OK;
}

static cs_status refuse_cut(const run *r, const cs_transfer *t, cs_error *err)
{
    const cs_cluster *c    = &r->job->scenario.cluster;
    uint32_t          rank = r->is_cut[t->src] ? t->src : t->dst;

    return CS_FAIL(err, CS_ENOTSUP, "faults",
                   "the NIC of rank %u (GPU %u of server %u) dies and nothing takes its place, but "
                   "%s sends over it in round %u: accepted are the failovers pool and neighbour, "
                   "and schedules that can do without",
                   rank, cs_local_rank(c, rank), cs_server_of(c, rank), r->job->algorithm->name,
                   t->round);
}

/* A schedule that needs a NIC that is dead, then or at another time, is refused. */
static cs_status check_cuts(const run *r, cs_error *err)
{
    for (size_t i = 0; r->is_cut != NULL && i < r->block.count; i++) {
        const cs_transfer *t = &r->block.transfers[i];
        if (cs_transfer_fabric(t) == CS_NIC && (r->is_cut[t->src] || r->is_cut[t->dst])) {
            return refuse_cut(r, t, err);
        }
    }
    return CS_OK;
}

/* The stream before the observers. */
static cs_status add_stream(run *r, cs_error *err)
{
    cs_observer *all = CS_ARENA_NEW(&r->arena, cs_observer, r->n_observers + 1);

    if (all == NULL) {
        return CS_NO_MEMORY(err, "observers");
    }
    all[0] = (cs_observer){.block = tell_stream, .user = r};
    for (size_t i = 0; i < r->n_observers; i++) {
        all[i + 1] = r->observers[i];
    }
    r->observers = all;
    r->n_observers++;
    return CS_OK;
}

static cs_status open_run(run *r, cs_error *err)
{
    const cs_job *job = r->job;

    r->block  = (cs_block){.transfers = r->transfers, .capacity = BLOCK};
    r->reacts = job->plan.is_reactive;
    CS_TRY(list_cuts(r, err));
    if (r->reacts) {
        CS_TRY(add_stream(r, err));
    }
    for (size_t i = 0; i < r->n_observers; i++) {
        r->shows = r->shows || r->observers[i].block != NULL;
        if (r->observers[i].links != NULL && job->model->network != NULL &&
            job->model->network->watch != NULL) {
            r->watches = &r->observers[i];
        }
    }
    if (r->shows && job->model->network == NULL) {
        r->intervals = CS_ARENA_NEW(&r->arena, cs_interval, BLOCK);
        if (r->intervals == NULL) {
            return CS_NO_MEMORY(err, "a block of transfers");
        }
    }
    CS_TRY(
        job->model->network != NULL
            ? cs_dispatch_open(job, r->observers, r->shows ? r->n_observers : 0, &r->dispatch, err)
            : cs_ports_open(&r->ports, &r->arena, &job->scenario, &job->plan, err));
    if (r->watches != NULL) {
        CS_TRY(cs_dispatch_watch(r->dispatch, r->watches->sample_s, err));
    }
    if (job->verify) {
        CS_TRY(cs_fingerprints_open(&r->prints, &r->arena, &job->scenario, &job->plan, err));
    }
    return CS_OK;
}

/* Behind the last block. */
static cs_status finish_dispatch(run *r, cs_error *err)
{
    cs_link_report report;

    CS_TRY(cs_dispatch_finish(r->dispatch, &r->outcome.exposed_s, err));
    r->outcome.counts = cs_dispatch_counts(r->dispatch);
    if (r->watches != NULL) {
        CS_TRY(cs_dispatch_report(r->dispatch, &report, err));
        CS_TRY(r->watches->links(r->watches->user, &report, err));
    }
    return CS_OK;
}

/* On a port model: times at once. */
static cs_status serve_ports(run *r, cs_error *err)
{
    const cs_job *job   = r->job;
    cs_block     *block = &r->block;

    if ((block->transfers[0].flags & CS_FENCE) != 0) {
        cs_ports_fence(&r->ports, block->fence_except, block->fence_s);
    }
    job->model->serve(&r->ports, &job->model_options, block->transfers, block->count, r->intervals);
    for (size_t i = 0; r->intervals != NULL && r->ports.first_s < 0 && i < block->count; i++) {
        r->intervals[i].start_s -= r->ports.first_s;
        r->intervals[i].end_s -= r->ports.first_s;
    }
    for (size_t i = 0; r->shows && i < r->n_observers; i++) {
        const cs_observer *o = &r->observers[i];
        if (o->block != NULL) {
            CS_TRY(o->block(o->user, block, r->intervals, err));
        }
    }
    return CS_OK;
}

static cs_status serve_block(run *r, cs_error *err)
{
    cs_status status =
        r->dispatch != NULL ? cs_dispatch_block(r->dispatch, &r->block, err) : serve_ports(r, err);

    if (r->job->verify && !r->reacts) {
        cs_fingerprints_block(&r->prints, &r->block);
    }
    if (r->dispatch == NULL && !r->reacts) {
        count_block(r, &r->block);
    }
    if (r->block.is_stage_end && r->dispatch == NULL) {
        cs_ports_end_stage(&r->ports);
    } else if (r->block.is_stage_end && status == CS_OK) {
        status = cs_dispatch_drain(r->dispatch, err);
    }
    return status;
}

/* The first pass for the dispatcher. */
static cs_status count_for_dispatch(run *r, cs_error *err)
{
    cs_dispatch_count(r->dispatch, &r->block);
    if (!r->reacts) {
        count_block(r, &r->block);
    }
    (void)err;
    return CS_OK;
}

/* Show the blocks of a stream to `take`, up to the end of its stage. False in *goes_on_p: it has
 * ended. */
static cs_status for_stage(run *r, void *state, cs_status (*take)(run *r, cs_error *err),
                           bool *goes_on_p, cs_error *err)
{
    const cs_algorithm *a      = r->job->algorithm;
    cs_status           status = CS_OK;
    bool                ends   = false;

    while (status == CS_OK && !ends) {
        a->next_block(state, &r->block);
        *goes_on_p = r->block.count > 0;
        ends       = !*goes_on_p || r->block.is_stage_end;
        status     = check_cuts(r, err);
        status     = status == CS_OK && *goes_on_p ? take(r, err) : status;
    }
    return status;
}

/* A stage of the stream that goes ahead, which is closed behind the last one. */
static cs_status count_stage(run *r, void **counted_p, cs_error *err)
{
    bool goes_on = true;

    CS_TRY(for_stage(r, *counted_p, count_for_dispatch, &goes_on, err));
    if (goes_on) {
        return CS_OK;
    }
    r->job->algorithm->close(*counted_p);
    *counted_p = NULL;
    for (size_t i = 0; i < r->n_observers && !r->reacts; i++) {
        if (r->observers[i].counted != NULL) {
            r->observers[i].counted(r->observers[i].user, r->outcome.n_transfers);
        }
    }
    return CS_OK;
}

/* Stage by stage; nearly all streams are one. Over a network model another stream goes ahead by a
 * stage, which is counted. */
static cs_status serve_stages(run *r, void **counted_p, cs_error *err)
{
    if (r->dispatch != NULL) {
        CS_TRY(cs_job_open(r->job, counted_p, err));
        CS_TRY(count_stage(r, counted_p, err));
    }
    CS_TRY(cs_job_open(r->job, &r->stream, err));
    for (bool goes_on = true; goes_on;) {
        CS_TRY(for_stage(r, r->stream, serve_block, &goes_on, err));
        if (goes_on && *counted_p != NULL) {
            CS_TRY(count_stage(r, counted_p, err));
        }
    }
    return CS_OK;
}

static cs_status serve_stream(run *r, cs_error *err)
{
    void     *counted = NULL;
    cs_status status  = serve_stages(r, &counted, err);

    r->job->algorithm->close(counted);
    CS_TRY(status);
    if (r->dispatch != NULL) {
        CS_TRY(finish_dispatch(r, err));
    } else {
        r->outcome.exposed_s = cs_ports_end_s(&r->ports);
    }
    return CS_OK;
}

/* Is the schedule right, and if not, where is it wrong? What a reactive stream has decided cannot
 * be streamed again. */
static cs_status check_fingerprints(run *r, cs_error *err)
{
    cs_verdict *verdict = &r->outcome.verdict;

    r->outcome.verified = cs_fingerprints_hold(&r->prints);
    if (r->outcome.verified || r->reacts) {
        *verdict = cs_fingerprints_verdict(&r->prints);
        return CS_OK;
    }
    cs_status status = cs_locate_error(r->job, verdict, err);
    if (status == CS_ENOMEM) { /* wrong all the same, but nobody can say where */
        *verdict = (cs_verdict){.text = "a value that is owed is wrong or never complete"};
        if (err != NULL) {
            *err = (cs_error){0};
        }
        return CS_OK;
    }
    if (status == CS_OK && verdict->is_correct) {
        status = CS_FAIL(err, CS_EINTERNAL, "", "fingerprints and contribution counts disagree");
    }
    return status;
}

/* What a reactive stream has decided. Ranks that were left out in the end neither have to be there
 * nor count. */
static cs_status take_decisions(run *r, cs_error *err)
{
    const cs_scenario *s       = &r->job->scenario;
    bool              *is_out  = CS_ARENA_NEW(&r->arena, bool, s->cluster.n_ranks);
    double             first_s = 0 - cs_last_arrival(s), last_s = 0, known_s = 0;

    if (is_out == NULL) {
        return CS_NO_MEMORY(err, "%u ranks", s->cluster.n_ranks);
    }
    const void *decisions = r->job->algorithm->decided(r->stream, is_out, &known_s);
    for (uint32_t i = 0; i < s->cluster.n_ranks; i++) {
        r->outcome.n_out += is_out[i];
        last_s = is_out[i] ? last_s : fmax(last_s, cs_arrival(s, i));
    }
    if (r->outcome.n_out > 0) {
        double end_s         = r->dispatch != NULL ? cs_dispatch_last_end_s(r->dispatch)
                                                   : cs_ports_last_end_s(&r->ports);
        r->outcome.elapsed_s = fmax(end_s - first_s, fmax(known_s, last_s));
        r->outcome.exposed_s = r->outcome.elapsed_s - last_s;
        if (r->job->verify) {
            cs_fingerprints_leave_out(&r->prints, is_out);
        }
    }
    for (size_t i = 0; i < r->n_observers && decisions != NULL; i++) {
        if (r->observers[i].decided != NULL) {
            r->observers[i].decided(r->observers[i].user, decisions);
        }
    }
    return CS_OK;
}

static cs_status replay(run *r, cs_error *err)
{
    CS_TRY(open_run(r, err));
    CS_TRY(serve_stream(r, err));
    r->outcome.elapsed_s = cs_last_arrival(&r->job->scenario) + r->outcome.exposed_s;
    if (r->reacts) {
        CS_TRY(take_decisions(r, err));
    }
    return r->job->verify ? check_fingerprints(r, err) : CS_OK;
}

cs_status cs_job_replay(const cs_job *job, const cs_observer *observers, size_t n_observers,
                        cs_outcome *outcome_p, cs_error *err)
{
    run r; /* without its transfers being zeroed */

    assert(job->is_resolved);
    r.job            = job;
    r.observers      = observers;
    r.n_observers    = n_observers;
    r.shows          = false;
    r.watches        = NULL;
    r.arena          = (cs_arena){0};
    r.intervals      = NULL;
    r.dispatch       = NULL;
    r.stream         = NULL;
    r.reacts         = false;
    r.is_cut         = NULL;
    r.outcome        = (cs_outcome){.counts = CS_NO_COUNTS};
    cs_status status = replay(&r, err);

    if (status == CS_OK) {
        *outcome_p = r.outcome;
    }
    job->algorithm->close(r.stream);
    cs_dispatch_close(r.dispatch);
    cs_arena_free(&r.arena);
    return status;
}

cs_status cs_job_verify(const cs_job *job, cs_verdict *verdict_p, cs_error *err)
{
    const cs_algorithm *algorithm = job->algorithm;
    cs_arena            arena     = {0};
    cs_fingerprints     prints;
    void               *state = NULL;
    cs_block  block  = {.transfers = CS_ARENA_NEW(&arena, cs_transfer, BLOCK), .capacity = BLOCK};
    cs_status status = block.transfers == NULL
                           ? CS_NO_MEMORY(err, "a block of transfers")
                           : cs_fingerprints_open(&prints, &arena, &job->scenario, &job->plan, err);

    if (status == CS_OK) {
        status = cs_job_open(job, &state, err);
    }
    if (status == CS_OK) {
        for (algorithm->next_block(state, &block); block.count > 0;
             algorithm->next_block(state, &block)) {
            cs_fingerprints_block(&prints, &block);
        }
        algorithm->close(state);
        *verdict_p = (cs_verdict){.is_correct = cs_fingerprints_hold(&prints)};
        if (!verdict_p->is_correct) {
            status = cs_locate_error(job, verdict_p, err);
        }
    }
    cs_arena_free(&arena);
    return status;
}
