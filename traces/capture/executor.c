/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One thread for every port. What the threads of a rank tell each other are numbers that only grow,
 * under a lock of the rank.
 */
#include "executor.h"

#include "base/alloc.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

enum {
    RUN_FLOATS = 1 << 14, /* floats that are received before they are added */
    SLACK_NS   = 1000,    /* of the timers that threads sleep on */
    NS_IN_S    = 1000000000,
};
#define NAP_S   0.05  /* a late rank looks so often whether the run has failed */
#define AHEAD_S 0.003 /* all threads sleep when the repetition starts */

double cap_now_s(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

void cap_sleep_until(double time_s)
{
    struct timespec until = {.tv_sec = (time_t)time_s};

    until.tv_nsec = (long)((time_s - (double)until.tv_sec) * NS_IN_S);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) {
    }
}

/* ---- what the ports of a rank know of each other ---- */

typedef struct local {
    pthread_mutex_t lock;
    pthread_cond_t  changed;
    pthread_mutex_t placing;    /* held while values are added: ports may add to the same floats */
    uint32_t ready[CS_FABRICS]; /* sends whose data are there, and that wait for their turn */
    uint32_t open[CS_FABRICS];  /* receives that the port has come to */
    uint32_t left[CS_FABRICS];  /* sends whose values have left the memory */
    uint32_t received[CS_FABRICS]; /* receives that are in place */
    uint32_t n_ports;              /* threads */
    uint32_t n_at_fence;           /* of them that have come to the next fence */
    uint32_t fences;               /* that were passed */
} local;

typedef struct shared {
    const cap_run  *run;
    local          *locals;   /* [n_ranks] */
    uint32_t        n_locals; /* that are initialised */
    pthread_mutex_t lock;
    pthread_cond_t  changed;
    bool            is_open; /* start_s is known */
    double          start_s;
    cs_status       status; /* of the first failure */
    cs_error       *err;
    _Atomic bool    has_failed;
} shared;

/* A thread. */
typedef struct worker {
    shared   *shared;
    uint32_t  rank, link;
    bool      sends;
    float    *scratch; /* of a receiver */
    uint32_t  fences;  /* that this port was at */
    double    end_s;
    pthread_t thread;
} worker;

/* Remember the first failure, and end whatever waits. */
static void give_up(shared *s, cs_status status, const cs_error *err)
{
    (void)pthread_mutex_lock(&s->lock);
    if (s->status == CS_OK) {
        s->status = status;
        if (s->err != NULL && s->err->status == CS_OK) {
            *s->err = *err;
        }
    }
    s->has_failed = true;
    (void)pthread_cond_broadcast(&s->changed);
    (void)pthread_mutex_unlock(&s->lock);
    s->run->transport->abort(s->run->transport->state);
    for (uint32_t r = 0; r < s->n_locals; r++) {
        (void)pthread_mutex_lock(&s->locals[r].lock);
        (void)pthread_cond_broadcast(&s->locals[r].changed);
        (void)pthread_mutex_unlock(&s->locals[r].lock);
    }
}

static void set(local *l, uint32_t *number, uint32_t value)
{
    (void)pthread_mutex_lock(&l->lock);
    *number = value;
    (void)pthread_cond_broadcast(&l->changed);
    (void)pthread_mutex_unlock(&l->lock);
}

/* Wait until every number of `have` is at least that of `want`. False: the run has failed. */
static bool wait_for_all(const worker *w, const uint32_t *have, const uint32_t *want)
{
    local *l = &w->shared->locals[w->rank];
    bool   is_there;

    (void)pthread_mutex_lock(&l->lock);
    for (;;) {
        is_there = true;
        for (uint32_t f = 0; f < CS_FABRICS; f++) {
            is_there = is_there && have[f] >= want[f];
        }
        if (is_there || w->shared->has_failed) {
            break;
        }
        (void)pthread_cond_wait(&l->changed, &l->lock);
    }
    (void)pthread_mutex_unlock(&l->lock);
    return !w->shared->has_failed;
}

static bool wait_for(const worker *w, const uint32_t *have, uint32_t link, uint32_t want)
{
    uint32_t wants[CS_FABRICS] = {0};

    wants[link] = want;
    return wait_for_all(w, have, wants);
}

/* Is it so already? */
static bool is_reached(local *l, const uint32_t *have, const uint32_t *want)
{
    bool is_there = true;

    (void)pthread_mutex_lock(&l->lock);
    for (uint32_t f = 0; f < CS_FABRICS; f++) {
        is_there = is_there && have[f] >= want[f];
    }
    (void)pthread_mutex_unlock(&l->lock);
    return is_there;
}

/* ---- fences ---- */

/* The last port of the rank that comes to a fence meets the other ranks there. */
static cs_status pass_fence(worker *w, uint32_t except, cs_error *err)
{
    shared   *s      = w->shared;
    local    *l      = &s->locals[w->rank];
    cs_status status = CS_OK;

    (void)pthread_mutex_lock(&l->lock);
    bool is_last = ++l->n_at_fence == l->n_ports;
    (void)pthread_mutex_unlock(&l->lock);
    if (is_last) {
        status =
            s->run->transport->fence(s->run->transport->state, w->rank, w->fences, except, err);
    }
    (void)pthread_mutex_lock(&l->lock);
    if (is_last) {
        l->n_at_fence = 0;
        l->fences     = w->fences + 1;
        (void)pthread_cond_broadcast(&l->changed);
    }
    while (l->fences <= w->fences && !s->has_failed) {
        (void)pthread_cond_wait(&l->changed, &l->lock);
    }
    (void)pthread_mutex_unlock(&l->lock);
    return status;
}

/* All fences before number `until` that the port has not passed. */
static cs_status pass_fences(worker *w, uint32_t until, cs_error *err)
{
    const cs_recording *recording = &w->shared->run->job->schedule->stored->recording;

    for (; w->fences < until && !w->shared->has_failed; w->fences++) {
        uint32_t except = recording->fences[w->fences].except;
        if (except != w->rank) {
            CS_TRY(pass_fence(w, except, err));
        }
    }
    return CS_OK;
}

/* ---- ports ---- */

static cs_status send_pieces(const worker *w, const cap_message *m, cs_error *err)
{
    const cap_run   *run   = w->shared->run;
    const cap_piece *piece = run->job->pieces + m->first_piece;

    for (const cap_piece *last = piece + m->n_pieces; piece < last; piece++) {
        if (!piece->is_repeat) {
            CS_TRY(run->transport->send(run->transport->state, m,
                                        run->memory[w->rank] + piece->from, piece->count, err));
        }
    }
    return CS_OK;
}

static cs_status serve_send(worker *w, const cap_message *m, cs_error *err)
{
    const cap_run       *run       = w->shared->run;
    const cap_transport *transport = run->transport;
    local               *l         = &w->shared->locals[w->rank];
    cap_times           *times     = &run->times[m->id];

    if (!wait_for_all(w, l->received, m->data_after_receives)) {
        return CS_OK;
    }
    set(l, &l->ready[w->link], m->send + 1);
    if (!run->is_eager) {
        CS_TRY(transport->await_clear(transport->state, m, err));
        if (m->partner != CAP_NONE &&
            !wait_for(w, l->open, w->link, run->job->messages[m->partner].receive + 1)) {
            return CS_OK;
        }
    }
    times->send_s = cap_now_s() - w->shared->start_s;
    CS_TRY(send_pieces(w, m, err));
    set(l, &l->left[w->link], m->send + 1);
    if (!run->is_eager) {
        CS_TRY(transport->await_confirm(transport->state, m, err));
    }
    times->sent_s = cap_now_s() - w->shared->start_s;
    w->end_s      = times->sent_s;
    return CS_OK;
}

static void apply(const worker *w, const cap_message *m, uint64_t wire, uint64_t count)
{
    const cap_run *run = w->shared->run;
    local         *l   = &w->shared->locals[w->rank];

    (void)pthread_mutex_lock(&l->placing);
    cap_message_apply(run->job, m, wire, w->scratch, count, run->memory[w->rank]);
    (void)pthread_mutex_unlock(&l->placing);
}

/* Take in everything without touching the memory. */
static cs_status receive_aside(const worker *w, const cap_message *m, cs_error *err)
{
    const cap_transport *transport = w->shared->run->transport;

    for (uint64_t wire = 0, got; wire < m->count; wire += got) {
        CS_TRY(
            transport->receive(transport->state, m, w->scratch + wire, m->count - wire, &got, err));
    }
    return CS_OK;
}

/* Take in everything where it belongs, or add it as it comes. */
static cs_status receive_in_place(const worker *w, const cap_message *m, cs_error *err)
{
    const cap_run       *run       = w->shared->run;
    const cap_transport *transport = run->transport;
    float               *memory    = run->memory[w->rank];

    for (uint64_t wire = 0, got; wire < m->count; wire += got) {
        uint64_t count;
        float   *to = cap_message_place(run->job, m, wire, memory, &count);
        if (to != NULL) {
            CS_TRY(transport->receive(transport->state, m, to, count, &got, err));
            continue;
        }
        count = m->count - wire < RUN_FLOATS ? m->count - wire : RUN_FLOATS;
        CS_TRY(transport->receive(transport->state, m, w->scratch, count, &got, err));
        apply(w, m, wire, got);
    }
    return CS_OK;
}

static cs_status serve_receive(worker *w, const cap_message *m, cs_error *err)
{
    const cap_run       *run       = w->shared->run;
    const cap_transport *transport = run->transport;
    local               *l         = &w->shared->locals[w->rank];

    set(l, &l->open[w->link], m->receive + 1);
    if (!run->is_eager) {
        if (m->partner != CAP_NONE &&
            !wait_for(w, l->ready, w->link, run->job->messages[m->partner].send + 1)) {
            return CS_OK;
        }
        CS_TRY(transport->clear(transport->state, m, err));
    }
    bool may_write = is_reached(l, l->left, m->place_after_sends) &&
                     is_reached(l, l->received, m->place_after_receives);
    CS_TRY(may_write ? receive_in_place(w, m, err) : receive_aside(w, m, err));
    if (!run->is_eager) {
        CS_TRY(transport->confirm(transport->state, m, err));
    }
    if (!may_write) {
        if (!wait_for_all(w, l->left, m->place_after_sends) ||
            !wait_for_all(w, l->received, m->place_after_receives)) {
            return CS_OK;
        }
        apply(w, m, 0, m->count);
    }
    w->end_s                     = cap_now_s() - w->shared->start_s;
    run->times[m->id].received_s = w->end_s;
    set(l, &l->received[w->link], m->receive + 1);
    return CS_OK;
}

static cs_status serve(worker *w, cs_error *err)
{
    const cap_job  *job  = w->shared->run->job;
    const cap_port *port = &job->ranks[w->rank].ports[w->link];
    uint32_t        n    = w->sends ? port->n_sends : port->n_receives;

    for (uint32_t i = 0; i < n && !w->shared->has_failed; i++) {
        const cap_message *m = &job->messages[w->sends ? port->sends[i] : port->receives[i]];
        CS_TRY(pass_fences(w, m->fence, err));
        if (!w->shared->has_failed) {
            CS_TRY(w->sends ? serve_send(w, m, err) : serve_receive(w, m, err));
        }
    }
    return pass_fences(w, (uint32_t)job->schedule->stored->recording.n_fences, err);
}

/* Until the rank enters. False: the run has failed. */
static bool enter(worker *w)
{
    shared *s      = w->shared;
    double  late_s = s->run->late_s != NULL ? s->run->late_s[w->rank] : 0;

    (void)pthread_mutex_lock(&s->lock);
    while (!s->is_open && !s->has_failed) {
        (void)pthread_cond_wait(&s->changed, &s->lock);
    }
    (void)pthread_mutex_unlock(&s->lock);
    for (double left_s; !s->has_failed && (left_s = s->start_s + late_s - cap_now_s()) > NAP_S;) {
        cap_sleep_until(cap_now_s() + fmin(NAP_S, left_s - NAP_S / 2));
    }
    if (!s->has_failed) {
        cap_sleep_until(s->start_s + late_s);
        w->end_s = late_s;
    }
    return !s->has_failed;
}

static cs_status set_priority(int priority, cs_error *err)
{
    struct sched_param parameter = {.sched_priority = priority};

    if (priority > 0 && pthread_setschedparam(pthread_self(), SCHED_FIFO, &parameter) != 0) {
        return CS_FAIL(err, CS_EIO, "", "no thread may run with SCHED_FIFO priority %d here",
                       priority);
    }
    return CS_OK;
}

static void *run_port(void *argument)
{
    worker  *w   = argument;
    cs_error err = {0};

    (void)prctl(PR_SET_TIMERSLACK, SLACK_NS);
    cs_status status = set_priority(w->shared->run->priority, &err);
    if (status == CS_OK && enter(w)) {
        status = serve(w, &err);
    }
    if (status != CS_OK) {
        give_up(w->shared, status, &err);
    }
    return NULL;
}

/* ---- a repetition ---- */

static uint32_t n_messages_of(const cap_port *port, bool sends)
{
    return sends ? port->n_sends : port->n_receives;
}

/* Floats that a receiver takes in before they are put into place: a whole message where that may
 * have to wait. */
static uint64_t scratch_floats(const cap_job *job, const cap_port *port)
{
    uint64_t most = 0;

    for (uint32_t i = 0; i < port->n_receives; i++) {
        const cap_message *m     = &job->messages[port->receives[i]];
        bool               waits = false;
        for (uint32_t f = 0; f < CS_FABRICS; f++) {
            waits = waits || m->place_after_sends[f] > 0 || m->place_after_receives[f] > 0;
        }
        uint64_t count = waits || m->count < RUN_FLOATS ? m->count : RUN_FLOATS;
        most           = most < count ? count : most;
    }
    return most;
}

/* Has the rank such a port? One that has no message at all still comes to the fences. */
static bool has_port(const cap_rank *rank, uint32_t link, bool sends)
{
    bool is_idle = true;

    for (uint32_t f = 0; f < CS_FABRICS; f++) {
        is_idle = is_idle && rank->ports[f].n_sends == 0 && rank->ports[f].n_receives == 0;
    }
    return n_messages_of(&rank->ports[link], sends) > 0 || (is_idle && link == CS_NIC && sends);
}

/* A worker for every port of the ranks of this process; `*n_p` of them. */
static cs_status make_workers(shared *s, worker **workers_p, size_t *n_p, cs_error *err)
{
    const cap_job *job     = s->run->job;
    uint32_t       n_ranks = job->schedule->stored->n_ranks;
    worker        *workers = CS_NEW(worker, (size_t)n_ranks * 2 * CS_FABRICS);

    *workers_p = workers;
    for (uint32_t i = 0; workers != NULL && i < n_ranks * 2 * CS_FABRICS; i++) {
        uint32_t        rank = i / (2 * CS_FABRICS), link = i / 2 % CS_FABRICS;
        const cap_port *port = &job->ranks[rank].ports[link];
        worker         *w    = &workers[*n_p];
        if (s->run->memory[rank] == NULL || !has_port(&job->ranks[rank], link, i % 2 == 0)) {
            continue;
        }
        *w = (worker){.shared = s, .rank = rank, .link = link, .sends = i % 2 == 0};
        s->locals[rank].n_ports++;
        (*n_p)++;
        if (!w->sends) {
            uint64_t floats = scratch_floats(job, port);
            w->scratch      = CS_NEW(float, floats);
            if (w->scratch == NULL) {
                return CS_NO_MEMORY(err, "messages of %llu floats", (unsigned long long)floats);
            }
            memset(w->scratch, 1, floats * sizeof *w->scratch); /* its pages are there */
        }
    }
    return workers != NULL ? CS_OK : CS_NO_MEMORY(err, "the ports of %u ranks", n_ranks);
}

/* Start the threads, let them go, wait for them. */
static cs_status run_workers(shared *s, worker *workers, size_t n)
{
    size_t n_started = 0;

    while (n_started < n && !s->has_failed) {
        int problem =
            pthread_create(&workers[n_started].thread, NULL, run_port, &workers[n_started]);
        if (problem != 0) {
            cs_error  why    = {0};
            cs_status status = CS_FAIL(&why, CS_EIO, "", "cannot start thread %zu of %zu: %s",
                                       n_started + 1, n, strerror(problem));
            give_up(s, status, &why);
            break;
        }
        n_started++;
    }
    const bool   asks    = s->run->when != NULL && !s->has_failed;
    const double start_s = asks ? s->run->when(s->run->context) : cap_now_s() + AHEAD_S;
    (void)pthread_mutex_lock(&s->lock);
    s->start_s = start_s;
    s->is_open = true;
    (void)pthread_cond_broadcast(&s->changed);
    (void)pthread_mutex_unlock(&s->lock);
    if (s->run->started != NULL && !s->has_failed) {
        s->run->started(s->run->context, s->start_s);
    }
    for (size_t i = 0; i < n_started; i++) {
        (void)pthread_join(workers[i].thread, NULL);
    }
    return s->status;
}

static void clear_times(const cap_run *run)
{
    uint32_t n_ranks = run->job->schedule->stored->n_ranks;

    for (uint32_t i = 0; i < run->job->n_messages; i++) {
        run->times[i] = (cap_times){(double)NAN, (double)NAN, (double)NAN};
    }
    for (uint32_t r = 0; r < n_ranks; r++) {
        double late_s = run->late_s != NULL ? run->late_s[r] : 0;
        run->end_s[r] = run->memory[r] != NULL ? late_s : (double)NAN;
    }
}

static void open_locals(shared *s)
{
    for (uint32_t n = s->run->job->schedule->stored->n_ranks; s->n_locals < n; s->n_locals++) {
        (void)pthread_mutex_init(&s->locals[s->n_locals].lock, NULL);
        (void)pthread_mutex_init(&s->locals[s->n_locals].placing, NULL);
        (void)pthread_cond_init(&s->locals[s->n_locals].changed, NULL);
    }
}

static void close_locals(shared *s)
{
    for (uint32_t r = 0; r < s->n_locals; r++) {
        (void)pthread_mutex_destroy(&s->locals[r].placing);
        (void)pthread_mutex_destroy(&s->locals[r].lock);
        (void)pthread_cond_destroy(&s->locals[r].changed);
    }
    cs_free(s->locals);
}

cs_status cap_execute(cap_run *run, cs_error *err)
{
    shared  s       = {.run = run, .err = err};
    worker *workers = NULL;
    size_t  n       = 0;

    s.locals = CS_NEW(local, run->job->schedule->stored->n_ranks);
    if (s.locals == NULL) {
        return CS_NO_MEMORY(err, "the ports of %u ranks", run->job->schedule->stored->n_ranks);
    }
    (void)pthread_mutex_init(&s.lock, NULL);
    (void)pthread_cond_init(&s.changed, NULL);
    open_locals(&s);
    clear_times(run);
    cs_status status = make_workers(&s, &workers, &n, err);
    if (status == CS_OK) {
        status       = run_workers(&s, workers, n);
        run->start_s = s.start_s;
    }
    for (size_t i = 0; i < n; i++) {
        run->end_s[workers[i].rank] = fmax(run->end_s[workers[i].rank], workers[i].end_s);
        cs_free(workers[i].scratch);
    }
    cs_free(workers);
    close_locals(&s);
    (void)pthread_cond_destroy(&s.changed);
    (void)pthread_mutex_destroy(&s.lock);
    return status;
}
