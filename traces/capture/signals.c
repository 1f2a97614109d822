/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who waits for a message is its sender: there is a lock and a condition for every rank that sends,
 * and one more for the fences. */
#include "signals.h"

#include "base/alloc.h"

#include <pthread.h>

enum { IS_CLEAR = 1, IS_CONFIRMED = 2 };

typedef struct room {
    pthread_mutex_t lock;
    pthread_cond_t  changed;
} room;

struct cap_signals {
    const cap_job *job;
    uint8_t       *flags;   /* [n_messages] under the lock of the message's source */
    uint32_t      *n_there; /* [n_fences] ranks, under the lock of the last room */
    room          *rooms;   /* [n_ranks + 1] */
    uint32_t       n_rooms; /* that are initialised */
    _Atomic bool   is_aborted;
};

void cap_signals_free(cap_signals *s)
{
    for (uint32_t i = 0; s != NULL && i < s->n_rooms; i++) {
        (void)pthread_mutex_destroy(&s->rooms[i].lock);
        (void)pthread_cond_destroy(&s->rooms[i].changed);
    }
    if (s != NULL) {
        cs_free(s->flags);
        cs_free(s->n_there);
        cs_free(s->rooms);
        cs_free(s);
    }
}

cs_status cap_signals_new(const cap_job *job, cap_signals **signals_p, cs_error *err)
{
    const cs_stored *stored = job->schedule->stored;
    cap_signals     *s      = CS_NEW(cap_signals, 1);

    if (s != NULL) {
        s->job     = job;
        s->flags   = CS_NEW(uint8_t, job->n_messages);
        s->n_there = CS_NEW(uint32_t, stored->recording.n_fences);
        s->rooms   = CS_NEW(room, (size_t)stored->n_ranks + 1);
    }
    if (s == NULL || s->flags == NULL || s->n_there == NULL || s->rooms == NULL) {
        cap_signals_free(s);
        return CS_NO_MEMORY(err, "the signals of %u messages", job->n_messages);
    }
    for (; s->n_rooms <= stored->n_ranks; s->n_rooms++) {
        (void)pthread_mutex_init(&s->rooms[s->n_rooms].lock, NULL);
        (void)pthread_cond_init(&s->rooms[s->n_rooms].changed, NULL);
    }
    *signals_p = s;
    return CS_OK;
}

void cap_signals_reset(cap_signals *s)
{
    for (uint32_t i = 0; i < s->job->n_messages; i++) {
        s->flags[i] = 0;
    }
    for (size_t i = 0; i < s->job->schedule->stored->recording.n_fences; i++) {
        s->n_there[i] = 0;
    }
    s->is_aborted = false;
}

static cs_status aborted(cs_error *err)
{
    return CS_FAIL(err, CS_EIO, "", "the run was ended");
}

static void raise_flag(cap_signals *s, const cap_message *message, uint8_t flag)
{
    room *at = &s->rooms[message->src];

    (void)pthread_mutex_lock(&at->lock);
    s->flags[message->id] |= flag;
    (void)pthread_cond_broadcast(&at->changed);
    (void)pthread_mutex_unlock(&at->lock);
}

static cs_status await_flag(cap_signals *s, const cap_message *message, uint8_t flag, cs_error *err)
{
    room *at = &s->rooms[message->src];

    (void)pthread_mutex_lock(&at->lock);
    while ((s->flags[message->id] & flag) == 0 && !s->is_aborted) {
        (void)pthread_cond_wait(&at->changed, &at->lock);
    }
    (void)pthread_mutex_unlock(&at->lock);
    return s->is_aborted ? aborted(err) : CS_OK;
}

void cap_signals_clear(cap_signals *s, const cap_message *message)
{
    raise_flag(s, message, IS_CLEAR);
}

void cap_signals_confirm(cap_signals *s, const cap_message *message)
{
    raise_flag(s, message, IS_CONFIRMED);
}

cs_status cap_signals_await_clear(cap_signals *s, const cap_message *message, cs_error *err)
{
    return await_flag(s, message, IS_CLEAR, err);
}

cs_status cap_signals_await_confirm(cap_signals *s, const cap_message *message, cs_error *err)
{
    return await_flag(s, message, IS_CONFIRMED, err);
}

cs_status cap_signals_fence(cap_signals *s, uint32_t fence, uint32_t except, cs_error *err)
{
    uint32_t n    = s->job->schedule->stored->n_ranks;
    uint32_t want = except < n ? n - 1 : n;
    room    *at   = &s->rooms[n];

    (void)pthread_mutex_lock(&at->lock);
    s->n_there[fence]++;
    (void)pthread_cond_broadcast(&at->changed);
    while (s->n_there[fence] < want && !s->is_aborted) {
        (void)pthread_cond_wait(&at->changed, &at->lock);
    }
    (void)pthread_mutex_unlock(&at->lock);
    return s->is_aborted ? aborted(err) : CS_OK;
}

void cap_signals_abort(cap_signals *s)
{
    s->is_aborted = true;
    for (uint32_t i = 0; i < s->n_rooms; i++) {
        (void)pthread_mutex_lock(&s->rooms[i].lock);
        (void)pthread_cond_broadcast(&s->rooms[i].changed);
        (void)pthread_mutex_unlock(&s->rooms[i].lock);
    }
}
