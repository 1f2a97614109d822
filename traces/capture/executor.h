/* SPDX-License-Identifier: GPL-3.0-or-later */
/* capture/executor.h -- run the ranks of a job that live in this process, one repetition at a time.
 *
 * Every port of a rank is a thread, which serves its messages one at a time in the order of the
 * list (capture/job.h). With *port discipline*, a message starts when both its ports are free and
 * the data are there (of an exchange: all four ports), and keeps them until the receiver has all of
 * it. That is the rule of collsim's port models. How the two ends tell each other is up to the
 * transport; it should not load the links that are measured. Without discipline ("eager") a sender
 * goes on as soon as the transport has taken its message.
 *
 * A message of a disciplined port, in this order:
 *
 *     the receiver's port                          the sender's port
 *     (both wait for the fences before the message, the sender for its data, too)
 *     clear(message)                          ->   await_clear(message)
 *     receive() until all is there            <-   send(message)
 *     confirm(message)                        ->   await_confirm(message)
 *
 * Of an exchange, clear() is called when the sending port of the same rank has come to the partner,
 * too; then both directions start together.
 */
#ifndef CAPTURE_EXECUTOR_H
#define CAPTURE_EXECUTOR_H

#include "job.h"

/* How messages travel. All hooks may be called by several threads at once, but for one message
 * only by one thread of its sender and one of its receiver. They block. On failure they fill `err`
 * and return its status; when abort() was called, those that wait return CS_EIO. */
typedef struct cap_transport {
    void *state;

    /* At the receiver: its port is free. At the sender: wait for that. */
    cs_status (*clear)(void *state, const cap_message *message, cs_error *err);
    cs_status (*await_clear)(void *state, const cap_message *message, cs_error *err);

    /* At the sender: send `count` floats, the next ones of the message. */
    cs_status (*send)(void *state, const cap_message *message, const float *values, uint64_t count,
                      cs_error *err);
    /* At the receiver: the next floats of the message, `count` of them, or fewer if the rest is not
     * there yet, but at least one. */
    cs_status (*receive)(void *state, const cap_message *message, float *values, uint64_t count,
                         uint64_t *got_p, cs_error *err);

    /* At the receiver: it has everything. At the sender: wait for that. */
    cs_status (*confirm)(void *state, const cap_message *message, cs_error *err);
    cs_status (*await_confirm)(void *state, const cap_message *message, cs_error *err);

    /* Fence number `fence` (0, 1, ..): wait until all ranks but `except` (CS_FENCE_ALL: all) are
     * there. Called once by each of those ranks. */
    cs_status (*fence)(void *state, uint32_t rank, uint32_t fence, uint32_t except, cs_error *err);

    /* The repetition has failed: end all calls that wait, soon. May be called by any thread, often.
     */
    void (*abort)(void *state);
} cap_transport;

/* When a message was sent and received, in seconds after the start of the repetition. NAN: that end
 * is not in this process. */
typedef struct cap_times {
    double send_s;     /* the sender has both ports and the data, and starts */
    double sent_s;     /* the sender's port is free again */
    double received_s; /* all of it is in place at the receiver */
} cap_times;

typedef struct cap_run {
    const cap_job       *job;
    const cap_transport *transport;
    float *const        *memory; /* [n_ranks] filled by cap_job_fill(); NULL: not in this process */
    const double        *late_s; /* [n_ranks] when a rank enters, after the start; NULL: all at 0 */
    bool                 is_eager;
    int                  priority; /* SCHED_FIFO of the threads; 0: as usual */
    /* Optional. All threads of this process wait to be told when to start: when? CLOCK_MONOTONIC;
     * without the hook: soon. */
    double (*when)(void *context);
    /* Optional. All threads sleep until `start_s`, which lies in the future. */
    void (*started)(void *context, double start_s);
    void *context;
    /* What comes out. */
    double     start_s; /* CLOCK_MONOTONIC */
    cap_times *times;   /* [n_messages] */
    double    *end_s; /* [n_ranks] when the last port of a rank had done its last message, after the
                         start; NAN: not in this process */
} cap_run;

/* CLOCK_MONOTONIC in seconds; sleep until then. */
double cap_now_s(void);
void   cap_sleep_until(double time_s);

/* Run one repetition; return when all ranks of this process are done. The first failure of any
 * thread ends it. CS_ENOMEM, CS_EIO (no thread could be started), or what the transport says. */
cs_status cap_execute(cap_run *run, cs_error *err);

#endif
