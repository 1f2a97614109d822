/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Schedules, jobs and the executor without any network: a transport in memory that notes what
 * happens, and can be slow where that would show a race. */
#include "base/alloc.h"
#include "traces/capture/options.h"
#include "traces/capture/report.h"
#include "traces/capture/signals.h"

#include <criterion/criterion.h>
#include <malloc.h>
#include <math.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

/* ---- schedules ---- */

#define HEAD(ranks, chunks, bytes)                                                         \
    "{\"format\": \"collsim-schedule\", \"collective\": \"allreduce\", \"ranks\": " #ranks \
    ", \"chunks\": " #chunks ", \"bytes\": " #bytes
#define SENDS(round, src, dst, chunk, op)                                              \
    "{\"round\": " #round ", \"src\": " #src ", \"dst\": " #dst ", \"chunk\": " #chunk \
    ", \"op\": \"" op "\"}"

/* Two ranks that exchange all they have. */
static const char exchange[] =
    HEAD(2, 1, 400000) ", \"transfers\": [" SENDS(0, 0, 1, 0, "exchange") "]}";

/* Rank 0 gathers a sum and gives it back; what it sends first must not be what comes later. */
static const char chain[] =
    HEAD(3, 1, 400000) ", \"transfers\": [" SENDS(0, 0, 1, 0, "reduce") ", " SENDS(
        0, 1, 2, 0, "reduce") ", " SENDS(1, 2, 0, 0, "copy") ", " SENDS(2, 0, 1, 0, "copy") "]}";

/* Chunks that go through slots that are not theirs, and are done there. */
static const char slots[] =
    HEAD(2, 2, 80) ", \"slots\": 1, \"transfers\": ["
                   "{\"round\": 0, \"src\": 0, \"dst\": 1, \"chunk\": 0, \"op\": \"exchange\", "
                   "\"src_slot\": 0, "
                   "\"dst_slot\": 0, \"own\": \"both\", \"done\": \"both\"},"
                   "{\"round\": 1, \"src\": 1, \"dst\": 0, \"chunk\": 1, \"op\": \"exchange\", "
                   "\"src_slot\": 0, "
                   "\"dst_slot\": 0, \"own\": \"both\", \"done\": \"both\"}]}";

/* Rank 2 is late; a fence of the others, then one of all. */
static const char fences[] = HEAD(3, 1, 4000) ", \"transfers\": [" SENDS(
    0, 0, 1, 0, "exchange") ", "
                            "{\"round\": 1, \"src\": 1, \"dst\": 0, \"chunk\": 0, \"op\": "
                            "\"copy\", \"fence\": true, \"fence_except\": 2}, "
                            "{\"round\": 2, \"src\": 0, \"dst\": 2, \"chunk\": 0, \"op\": "
                            "\"exchange\", \"fence\": true}, " SENDS(3, 0, 1, 0, "copy") "]}";

/* Rank 0 gathers over both its links and gives back: two servers of two ranks. */
static const char both_links
    [] = HEAD(4, 1, 400000) ", \"gpus_per_server\": 2, \"transfers\": [" SENDS(0, 3, 2, 0, "reduce") ", " SENDS(
        1, 2, 0, 0,
        "reduce") ", " SENDS(1, 1, 0, 0,
                             "reduce") ", " SENDS(2, 0, 2, 0,
                                                  "copy") ", " SENDS(2, 0, 1, 0,
                                                                     "copy") ", " SENDS(3, 2, 3, 0,
                                                                                        "copy") "]"
                                                                                                "}";

static const char *const all[] = {exchange, chain, slots, fences, both_links};
enum { N_ALL = sizeof all / sizeof all[0] };

typedef struct made {
    cap_schedule *schedule;
    cap_job      *job;
} made;

static cs_status make(const char *text, made *m, cs_error *err)
{
    *m               = (made){0};
    cs_status status = cap_schedule_parse(text, strlen(text), "text", &m->schedule, err);

    if (status == CS_OK && (status = cap_job_make(m->schedule, &m->job, err)) != CS_OK) {
        cap_schedule_free(m->schedule);
    }
    return status;
}

static made must_make(const char *text)
{
    made     m;
    cs_error err = {0};

    cr_assert_eq(make(text, &m, &err), CS_OK, "%s: %s", err.where, err.message);
    return m;
}

static void release(made *m)
{
    cap_job_free(m->job);
    cap_schedule_free(m->schedule);
}

Test(capture_schedule, chunks_are_floats_in_order)
{
    made m = must_make(HEAD(2, 3, 10007) ", \"transfers\": [" SENDS(0, 0, 1, 0, "exchange") "]}");

    /* 3336, 3336 and 3335 bytes */
    cr_expect_eq(m.schedule->chunk_begin[0], 0);
    cr_expect_eq(m.schedule->chunk_begin[1], 834);
    cr_expect_eq(m.schedule->chunk_begin[2], 1668);
    cr_expect_eq(m.schedule->chunk_begin[3], 2501);
    release(&m);
}

Test(capture_schedule, sizes_are_those_of_the_messages)
{
    made m = must_make(HEAD(
        2, 3,
        120) ", \"transfers\": ["
             "{\"round\": 0, \"src\": 0, \"dst\": 1, \"chunk\": 0, \"span\": 3, \"bytes\": 120},"
             "{\"round\": 1, \"src\": 1, \"dst\": 0, \"chunk\": 0, \"bytes\": 8}]}");

    cr_expect_eq(cap_chunk_count(m.schedule, 0), 2);
    cr_expect_eq(cap_chunk_count(m.schedule, 1), 14);
    cr_expect_eq(cap_chunk_count(m.schedule, 2), 14);
    release(&m);
}

Test(capture_schedule, servers_that_differ_have_links)
{
    made m = must_make(
        HEAD(3, 1, 4000) ", \"servers\": [{\"gpus\": 2}, {\"gpus\": 1}], \"transfers\": [" SENDS(
            0, 0, 1, 0, "reduce") ", " SENDS(1, 1, 2, 0, "reduce") "]}");

    cr_expect_eq(m.job->messages[0].link, CS_NVLINK);
    cr_expect_eq(m.job->messages[1].link, CS_NIC);
    cr_expect_eq(m.job->messages[1].data_after_receives[CS_NVLINK], 1);
    cr_expect_eq(m.job->messages[1].data_after_receives[CS_NIC], 0);
    release(&m);
}

/* ---- jobs ---- */

Test(capture_job, an_exchange_is_two_messages_that_wait_for_each_other)
{
    made               m     = must_make(exchange);
    const cap_message *there = &m.job->messages[0], *back = &m.job->messages[1];

    cr_assert_eq(m.job->n_messages, 2);
    cr_expect_eq(there->partner, 1);
    cr_expect_eq(back->partner, 0);
    cr_expect_eq(there->place_after_sends[CS_NIC], 1);
    cr_expect_eq(back->place_after_sends[CS_NIC], 1);
    cr_expect_eq(there->data_after_receives[CS_NIC], 0);
    release(&m);
}

Test(capture_job, what_is_only_added_waits_for_no_other_link)
{
    made               m        = must_make(both_links);
    const cap_message *messages = m.job->messages;

    /* Both are added to what rank 0 has: the second must not hold its port for the first. */
    cr_assert_eq(messages[1].link, CS_NIC);
    cr_assert_eq(messages[2].link, CS_NVLINK);
    cr_assert_eq(messages[2].place_after_receives[CS_NIC], 0);
    /* What is sent on has both; a copy comes after what was added before it. */
    cr_assert_eq(messages[3].data_after_receives[CS_NIC], 1);
    cr_assert_eq(messages[3].data_after_receives[CS_NVLINK], 1);
    cr_assert_eq(messages[3].place_after_receives[CS_NVLINK], 1);
    release(&m);
}

Test(capture_job, parts_that_bring_the_same_are_sent_once)
{
    made     m = must_make(HEAD(2, 1, 400) ", \"slots\": 2, \"transfers\": ["
                                               "{\"round\": 0, \"src\": 0, \"dst\": 1, \"chunk\": 0, "
                                               "\"op\": \"copy\", \"src_slot\": 0, "
                                               "\"dst_slot\": 0, \"own\": \"src\"},"
                                               "{\"round\": 0, \"src\": 0, \"dst\": 1, \"chunk\": 0, "
                                               "\"op\": \"reduce\", \"bytes\": 0, "
                                               "\"join\": true, \"src_slot\": 0, \"dst_slot\": 1, \"own\": "
                                               "\"both\", \"done\": \"dst\"}]}");
    float    memory[400], values[100];
    uint64_t count;

    cr_assert_eq(m.job->n_messages, 1);
    cr_expect_eq(m.job->messages[0].count, 100);
    cr_assert(m.job->messages[0].has_repeats && m.job->ranks[1].n_floats <= 400);
    cap_job_fill(m.job, 1, 0, memory);
    for (int i = 0; i < 100; i++) {
        values[i] = cap_value(0, 0, (uint64_t)i);
    }
    cr_expect_null(cap_message_place(m.job, &m.job->messages[0], 0, memory, &count));
    /* in two runs */
    cap_message_apply(m.job, &m.job->messages[0], 0, values, 30, memory);
    cap_message_apply(m.job, &m.job->messages[0], 30, values + 30, 70, memory);
    cr_expect_eq(cap_job_count_wrong(m.job, 1, 0, memory), 0);
    cr_expect_eq(cap_job_count_wrong(m.job, 0, 0, memory), 100, "rank 0 has got nothing");
    for (uint64_t i = 0; i < 100; i++) {
        float copied = memory[m.job->ranks[1].slot_begin[0] + i];
        cr_expect_eq(copied, values[i]);
    }
    release(&m);
}

Test(capture_job, every_wrong_float_is_counted)
{
    made   m      = must_make(exchange);
    float *memory = CS_NEW(float, m.job->ranks[0].n_floats);

    cap_job_fill(m.job, 0, 7, memory);
    cr_expect_eq(cap_job_count_wrong(m.job, 0, 7, memory), 100000, "own values are no sums");
    for (uint64_t i = 0; i < 100000; i++) {
        memory[i] = cap_value(0, 7, i) + cap_value(1, 7, i);
    }
    cr_expect_eq(cap_job_count_wrong(m.job, 0, 7, memory), 0);
    cr_expect_gt(cap_job_count_wrong(m.job, 0, 8, memory), 99000, "sums of another repetition");
    memory[99999] += 1;
    memory[0] = (float)NAN;
    cr_expect_eq(cap_job_count_wrong(m.job, 0, 7, memory), 2);
    cs_free(memory);
    release(&m);
}

/* ---- the executor over memory ---- */

/* A message on its way. */
typedef struct way {
    float   *values;
    uint64_t there, taken;
} way;

typedef struct world {
    cap_transport   transport;
    const cap_job  *job;
    cap_signals    *signals;
    way            *ways; /* [n_messages] */
    pthread_mutex_t lock;
    pthread_cond_t  changed;
    bool            is_slow, is_aborted; /* it takes long to read what is sent */
    uint32_t        fails_at;            /* this message cannot be sent */
    uint32_t        held_until;          /* message 0 is read to its end after that one has come */
    uint32_t        confirmed;           /* a bit for every message */
    uint32_t        on_port[8][CS_FABRICS][2], most; /* messages that a rank sends, receives */
} world;

static void nap(void)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = 30000000}, NULL);
}

static void count_port(world *w, uint32_t rank, uint32_t link, int end, int change)
{
    uint32_t *on_port = &w->on_port[rank][link][end];

    (void)pthread_mutex_lock(&w->lock);
    *on_port += (uint32_t)change;
    w->most = *on_port > w->most ? *on_port : w->most;
    (void)pthread_mutex_unlock(&w->lock);
}

static cs_status clear(void *state, const cap_message *m, cs_error *err)
{
    (void)err;
    count_port(state, m->dst, m->link, 1, 1);
    cap_signals_clear(((world *)state)->signals, m);
    return CS_OK;
}

static cs_status await_clear(void *state, const cap_message *m, cs_error *err)
{
    return cap_signals_await_clear(((world *)state)->signals, m, err);
}

static cs_status confirm(void *state, const cap_message *m, cs_error *err)
{
    (void)err;
    count_port(state, m->dst, m->link, 1, -1);
    cap_signals_confirm(((world *)state)->signals, m);
    return CS_OK;
}

static cs_status await_confirm(void *state, const cap_message *m, cs_error *err)
{
    cs_status status = cap_signals_await_confirm(((world *)state)->signals, m, err);

    count_port(state, m->src, m->link, 0, -1);
    return status;
}

static cs_status fence(void *state, uint32_t rank, uint32_t number, uint32_t except, cs_error *err)
{
    (void)rank;
    return cap_signals_fence(((world *)state)->signals, number, except, err);
}

/* Until a message was taken in, for 10 s at most. */
static void hold(world *w, uint32_t message)
{
    struct timespec until;

    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 10;
    (void)pthread_mutex_lock(&w->lock);
    while ((w->confirmed >> message & 1u) == 0 && !w->is_aborted &&
           pthread_cond_timedwait(&w->changed, &w->lock, &until) == 0) {
    }
    (void)pthread_mutex_unlock(&w->lock);
}

/* The first half is there at once, the second one is read later where the world is slow. */
static cs_status send_floats(void *state, const cap_message *m, const float *values, uint64_t count,
                             cs_error *err)
{
    world *w     = state;
    way   *there = &w->ways[m->id];

    if (m->id == w->fails_at) {
        return CS_FAIL(err, CS_EIO, "", "message %u cannot be sent", m->id);
    }
    count_port(w, m->src, m->link, 0, 1);
    for (int half = 0; half < 2; half++) {
        uint64_t part = half == 0 ? count / 2 : count - count / 2;
        (void)pthread_mutex_lock(&w->lock);
        if (part > 0) {
            memcpy(there->values + there->there, values, part * sizeof *values);
        }
        there->there += part;
        values += part;
        (void)pthread_cond_broadcast(&w->changed);
        (void)pthread_mutex_unlock(&w->lock);
        if (half == 0 && w->is_slow && m->id == 0) {
            if (w->held_until != CAP_NONE) {
                hold(w, w->held_until);
            }
            nap();
        }
    }
    return CS_OK;
}

static cs_status receive_floats(void *state, const cap_message *m, float *values, uint64_t count,
                                uint64_t *got_p, cs_error *err)
{
    world *w     = state;
    way   *there = &w->ways[m->id];

    (void)pthread_mutex_lock(&w->lock);
    while (there->there == there->taken && !w->is_aborted) {
        (void)pthread_cond_wait(&w->changed, &w->lock);
    }
    *got_p = there->there - there->taken < count ? there->there - there->taken : count;
    memcpy(values, there->values + there->taken, *got_p * sizeof *values);
    there->taken += *got_p;
    (void)pthread_mutex_unlock(&w->lock);
    return *got_p > 0 ? CS_OK : CS_FAIL(err, CS_EIO, "", "the run was ended");
}

static void abort_all(void *state)
{
    world *w = state;

    cap_signals_abort(w->signals);
    (void)pthread_mutex_lock(&w->lock);
    w->is_aborted = true;
    (void)pthread_cond_broadcast(&w->changed);
    (void)pthread_mutex_unlock(&w->lock);
}

static void open_world(world *w, const cap_job *job)
{
    *w           = (world){.job = job, .fails_at = CAP_NONE, .held_until = CAP_NONE};
    w->transport = (cap_transport){w,       clear,         await_clear, send_floats, receive_floats,
                                   confirm, await_confirm, fence,       abort_all};
    w->ways      = CS_NEW(way, job->n_messages);
    for (uint32_t i = 0; i < job->n_messages; i++) {
        w->ways[i].values = CS_NEW(float, job->messages[i].count);
    }
    (void)pthread_mutex_init(&w->lock, NULL);
    (void)pthread_cond_init(&w->changed, NULL);
    cr_assert_eq(cap_signals_new(job, &w->signals, NULL), CS_OK);
}

static void close_world(world *w)
{
    for (uint32_t i = 0; i < w->job->n_messages; i++) {
        cs_free(w->ways[i].values);
    }
    cs_free(w->ways);
    cap_signals_free(w->signals);
    (void)pthread_cond_destroy(&w->changed);
    (void)pthread_mutex_destroy(&w->lock);
}

/* What comes out of a run. */
typedef struct outcome {
    cs_status status;
    cs_error  err;
    uint64_t  wrong;
    double    end_s[8];
    cap_times times[16];
} outcome;

static outcome run(world *w, const double *late_s, bool is_eager)
{
    const cap_job *job = w->job;
    uint32_t       n   = job->schedule->stored->n_ranks;
    float         *memory[8];
    outcome        out = {0};
    cap_run        r   = {.job       = job,
                          .transport = &w->transport,
                          .memory    = memory,
                          .late_s    = late_s,
                          .is_eager  = is_eager,
                          .times     = out.times,
                          .end_s     = out.end_s};

    cr_assert(n <= 8 && job->n_messages <= 16);
    for (uint32_t i = 0; i < n; i++) {
        memory[i] = CS_NEW(float, job->ranks[i].n_floats);
        cap_job_fill(job, i, 0, memory[i]);
    }
    out.status = cap_execute(&r, &out.err);
    for (uint32_t i = 0; i < n; i++) {
        out.wrong += cap_job_count_wrong(job, i, 0, memory[i]);
        cs_free(memory[i]);
    }
    return out;
}

Test(capture_executor, results_are_right)
{
    for (size_t i = 0; i < N_ALL; i++) {
        for (int is_eager = 0; is_eager <= 1; is_eager++) {
            made  m = must_make(all[i]);
            world w;
            open_world(&w, m.job);
            w.is_slow   = true;
            outcome out = run(&w, NULL, is_eager != 0);
            cr_expect_eq(out.status, CS_OK, "%s", out.err.message);
            cr_expect_eq(out.wrong, 0, "schedule %zu, eager %d", i, is_eager);
            cr_expect(is_eager || w.most == 1, "a port had %u messages at once", w.most);
            close_world(&w);
            release(&m);
        }
    }
}

/* The check sees what happens where an exchange does not wait until its old value has left. */
Test(capture_executor, without_waiting_for_sends_the_sum_is_wrong)
{
    made  m = must_make(exchange);
    world w;

    open_world(&w, m.job);
    w.is_slow    = true;
    w.held_until = 1;
    for (uint32_t i = 0; i < m.job->n_messages; i++) {
        memset(m.job->messages[i].place_after_sends, 0,
               sizeof m.job->messages[i].place_after_sends);
    }
    outcome out = run(&w, NULL, false);
    cr_expect_eq(out.status, CS_OK);
    /* What was read late: half of it, or more where the machine is busy. */
    cr_expect_geq(out.wrong, 50000, "%llu", (unsigned long long)out.wrong);
    close_world(&w);
    release(&m);
}

Test(capture_executor, without_waiting_for_data_the_sum_is_wrong)
{
    made  m = must_make(chain);
    world w;

    open_world(&w, m.job);
    w.is_slow    = true;
    w.held_until = 1;
    memset(m.job->messages[1].data_after_receives, 0,
           sizeof m.job->messages[1].data_after_receives);
    outcome out = run(&w, NULL, false);
    cr_expect_eq(out.status, CS_OK);
    cr_expect_gt(out.wrong, 0);
    close_world(&w);
    release(&m);
}

Test(capture_executor, late_ranks_and_fences)
{
    const double late_s[] = {0, 0, 0.5};
    made         m        = must_make(fences);
    world        w;

    open_world(&w, m.job);
    outcome out = run(&w, late_s, false);
    cr_expect_eq(out.status, CS_OK);
    cr_expect_eq(out.wrong, 0);
    /* messages 0 and 1: the exchange; 2: behind the fence that rank 2 does not wait at */
    cr_expect_lt(out.times[2].received_s, 0.5);
    cr_expect_geq(out.times[2].send_s, out.times[0].received_s);
    cr_expect_geq(out.times[2].send_s, out.times[1].received_s);
    cr_expect_geq(out.times[3].send_s, 0.5);
    for (int rank = 0; rank < 3; rank++) {
        cr_expect_geq(out.end_s[rank], 0.5);
    }
    close_world(&w);
    release(&m);
}

/* Sums over two links into one place: the quick one does not wait for the slow one, which was
 * first. */
Test(capture_executor, adding_over_two_links)
{
    made m = must_make(
        HEAD(3, 1, 400000) ", \"servers\": [{\"gpus\": 2}, {\"gpus\": 1}], \"transfers\": [" SENDS(
            0, 2, 0, 0, "reduce") ", " SENDS(0, 1, 0, 0,
                                             "reduce") ", " SENDS(1, 0, 1, 0,
                                                                  "copy") ", " SENDS(1, 0, 2, 0,
                                                                                     "copy") "]}");
    world w;

    open_world(&w, m.job);
    w.is_slow    = true;
    w.held_until = 1;
    outcome out  = run(&w, NULL, false);
    cr_expect_eq(out.wrong, 0);
    cr_expect_lt(out.times[1].received_s, out.times[0].received_s);
    cr_expect_geq(out.times[2].send_s, out.times[0].received_s);
    close_world(&w);
    release(&m);
}

/* Two parts of a message that end in one slot: the message does not wait for itself. */
Test(capture_executor, parts_in_one_slot, .timeout = 60)
{
    made  m = must_make(HEAD(2, 1, 400) ", \"slots\": 2, \"transfers\": ["
                                         "{\"round\": 0, \"src\": 0, \"dst\": 1, \"chunk\": 0, "
                                         "\"op\": \"copy\", \"src_slot\": 0, "
                                         "\"dst_slot\": 0, \"own\": \"src\"},"
                                         "{\"round\": 0, \"src\": 0, \"dst\": 1, \"chunk\": 0, "
                                         "\"op\": \"reduce\", \"bytes\": 0, "
                                         "\"join\": true, \"src_slot\": 0, \"dst_slot\": 0, \"own\": "
                                         "\"both\", \"done\": \"dst\"},"
                                         "{\"round\": 1, \"src\": 1, \"dst\": 0, \"chunk\": 0, "
                                         "\"op\": \"copy\", \"src_slot\": 0, "
                                         "\"dst_slot\": 1, \"done\": \"dst\"}]}");
    world w;

    cr_assert_eq(m.job->messages[0].place_after_receives[CS_NIC], 0);
    open_world(&w, m.job);
    outcome out = run(&w, NULL, false);
    cr_expect_eq(out.status, CS_OK);
    cr_expect_eq(out.wrong, 0);
    close_world(&w);
    release(&m);
}

/* An exchange holds all four ports from its start on, also where one end is ready long before. */
Test(capture_executor, both_directions_of_an_exchange_start_together)
{
    const double late_s[] = {0, 0.06};
    made         m        = must_make(exchange);
    world        w;

    open_world(&w, m.job);
    outcome out = run(&w, late_s, false);
    cr_expect_geq(out.times[0].send_s, 0.06);
    cr_expect_geq(out.times[1].send_s, 0.06);
    close_world(&w);
    release(&m);
}

Test(capture_executor, the_first_failure_ends_all_ranks)
{
    const double late_s[] = {0, 0, 300};
    made         m        = must_make(chain);
    world        w;
    double       begin_s = cap_now_s();

    open_world(&w, m.job);
    w.fails_at  = 0;
    outcome out = run(&w, late_s, false);
    cr_expect_eq(out.status, CS_EIO);
    cr_expect_str_eq(out.err.message, "message 0 cannot be sent");
    cr_expect_lt(cap_now_s() - begin_s, 30, "it waited for the late rank");
    close_world(&w);
    release(&m);
}

/* ---- reports and options ---- */

#define WORD(text) ((char[]){text}) /* of a command line */

static cap_measurement measurement_of(const cap_job *job, const double *seconds, uint32_t n)
{
    cap_measurement m = {0};

    cr_assert_eq(cap_measurement_open(&m, job, n, false, NULL), CS_OK);
    for (uint32_t i = 0; i < n; i++) {
        m.repetitions[i].makespan_s = seconds[i];
    }
    return m;
}

Test(capture_report, summaries)
{
    made            m    = must_make(exchange);
    cap_measurement five = measurement_of(m.job, (const double[]){5, 1, 4, 1, 3}, 5);
    cap_measurement four = measurement_of(m.job, (const double[]){2, 9, 4, 4}, 4);

    five.repetitions[1].wrong = 3;
    five.repetitions[4].wrong = 4;
    cap_summary a = cap_summarise(&five), b = cap_summarise(&four);
    cr_expect(a.least_s == 1 && a.median_s == 3 && a.most_s == 5 && a.wrong == 7);
    cr_expect(b.least_s == 2 && b.median_s == 4 && b.most_s == 9 && b.wrong == 0);
    cap_measurement_close(&five);
    cap_measurement_close(&four);
    release(&m);
}

Test(capture_report, the_table_counts_from_the_last_arrival)
{
    const double    late_s[] = {0, 0.5};
    made            m        = must_make(exchange);
    cap_measurement one      = measurement_of(m.job, (const double[]){0.7}, 1);
    cs_text         text     = {0};

    one.late_s = late_s;
    cap_report_table(&text, "collsim-test", "box", &one, 1);
    cr_assert_not_null(strstr(text.data,
                              "# collsim-capture 1 collective allreduce schedule unnamed "
                              "ranks 2 machine box\n"));
    cr_expect_not_null(strstr(text.data, "#  late: rank 1 by 500000 us\n"));
    /* 400000 bytes in 0.2 s */
    cr_expect_not_null(strstr(text.data,
                              "\n      400000        100000     float     sum      -1   200000 "
                              "   0.00    0.00      0   200000    0.00    0.00      0\n"),
                       "%s", text.data);
    cs_text_free(&text);
    cap_measurement_close(&one);
    release(&m);
}

Test(capture_options, late_ranks)
{
    char *argv[] = {WORD("p"),           WORD("a.json"), WORD("--late"),        WORD("1=2ms"),
                    WORD("--late=0=1s"), WORD("b.json"), WORD("--repetitions"), WORD("9")};
    const cap_program program = {.name = "p", .summary = ""};
    cap_options       o;
    cs_error          err    = {0};
    double           *late_s = NULL;

    cr_assert_eq(cap_options_parse(8, argv, &program, NULL, &o, &err), CS_OK, "%s", err.message);
    cr_expect_eq(o.n_schedules, 2);
    cr_expect_eq(o.repetitions, 9);
    cr_assert_eq(cap_options_late(&o, 2, &late_s, &err), CS_OK);
    cr_expect(late_s[0] == 1 && late_s[1] == 0.002);
    cs_free(late_s);
    cr_expect_eq(cap_options_late(&o, 1, &late_s, &err), CS_EINVAL);
    cap_options_free(&o);
}

/* ---- memory ---- */

/* All that a run asks memory for, but its threads. */
static cs_status everything(const char *text, cs_error *err)
{
    char             *argv[]   = {WORD("p"), WORD("a.json"), WORD("--late"), WORD("1=2ms")};
    const cap_program program  = {.name = "p", .summary = ""};
    cap_measurement   measured = {0};
    cap_signals      *signals  = NULL;
    cap_options       o        = {0};
    cs_text           out      = {0};
    double           *late_s   = NULL;
    made              m        = {0};
    cs_status         status   = make(text, &m, err);

    if (status != CS_OK) {
        return status;
    }
    status = cap_options_parse(4, argv, &program, NULL, &o, err);
    status = status != CS_OK ? status : cap_options_late(&o, 2, &late_s, err);
    status = status != CS_OK ? status : cap_signals_new(m.job, &signals, err);
    status = status != CS_OK ? status : cap_measurement_open(&measured, m.job, 2, true, err);
    if (status == CS_OK) {
        cap_report_json(&out, "p", "box", &measured, 1);
        cap_report_table(&out, "p", "box", &measured, 1);
        cap_report_trace(&out, &measured, 1);
        status = cs_text_status(&out, err);
    }
    cs_text_free(&out);
    cap_measurement_close(&measured);
    cap_signals_free(signals);
    cs_free(late_s);
    cap_options_free(&o);
    release(&m);
    return status;
}

Test(capture_memory, any_allocation_may_fail)
{
    for (size_t i = 0; i < N_ALL; i++) {
        size_t before = 0;
        for (long passes = 0;; passes++) {
            cs_error err = {0};
            cs_alloc_fail_after(passes);
            cs_status status = everything(all[i], &err);
            cs_alloc_fail_after(-1);
            if (status == CS_OK) {
                cr_expect_gt(passes, 20);
                break;
            }
            cr_assert_eq(status, CS_ENOMEM, "%ld: %s", passes, err.message);
            cr_assert_neq(err.message[0], '\0');
            size_t now = mallinfo2().uordblks;
            cr_expect(passes < 2 || now <= before, "pass %ld leaves %zu bytes", passes,
                      now - before);
            before = now;
        }
    }
}

Test(capture_memory, the_executor_may_find_none)
{
    made  m = must_make(exchange);
    world w;
    bool  has_failed = false;

    for (long passes = 0;; passes++) {
        float    *memory[2];
        cap_times times[2];
        double    end_s[2];
        cs_error  err = {0};
        open_world(&w, m.job);
        for (uint32_t i = 0; i < 2; i++) {
            memory[i] = CS_NEW(float, m.job->ranks[i].n_floats);
            cap_job_fill(m.job, i, 0, memory[i]);
        }
        cap_run r = {.job       = m.job,
                     .transport = &w.transport,
                     .memory    = memory,
                     .times     = times,
                     .end_s     = end_s};
        cs_alloc_fail_after(passes);
        cs_status status = cap_execute(&r, &err);
        cs_alloc_fail_after(-1);
        cs_free(memory[0]);
        cs_free(memory[1]);
        close_world(&w);
        if (status == CS_OK) {
            break;
        }
        has_failed = true;
        cr_assert_eq(status, CS_ENOMEM);
    }
    cr_expect(has_failed);
    release(&m);
}
