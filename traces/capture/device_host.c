/* SPDX-License-Identifier: GPL-3.0-or-later */
/* device_host.c -- see device.h; GPUs played by the CPU, for tests.
 *
 * Nothing is done when it is enqueued. cap_device_finish collects everything that could come next
 * (heads of streams whose events have come, groups whose member has come to them, pairs of a send
 * and a receive that have met) and does one of them, drawn at random, until nothing is left. Where
 * something is left and nothing can come next, real GPUs would hang: it says who waits for what.
 *
 * COLLSIM_HOST_GPUS   how many GPUs there seem to be (8)
 * COLLSIM_HOST_SEED   of the order (1)
 */
#include "base/alloc.h"
#include "device.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* One in so many steps of a stream or a pair, its priority is drawn again. */
enum { REDRAW = 32 };

typedef enum host_op_kind { OP_START, OP_RECORD, OP_WAIT, OP_COPY, OP_SUM, OP_GROUP } host_op_kind;

typedef struct host_op {
    host_op_kind kind;
    float       *to;
    const float *base, *from;
    uint64_t     n;
    double       at_s;     /* OP_START */
    uint32_t     of;       /* OP_WAIT: whose event */
    uint32_t     event;    /* OP_RECORD, OP_WAIT */
    uint32_t     record;   /* of that event: the how manieth, from 1 */
    size_t       messages; /* OP_GROUP: first of them, and how many */
    uint32_t     n_messages, n_open;
    bool         posted;
} host_op;

/* A list that grows at its end and is read from `head`. */
typedef struct op_queue {
    host_op *ops; /* owned */
    size_t   n, capacity, head;
} op_queue;

typedef struct host_message {
    uint32_t     member, peer;
    bool         is_send;
    float       *to;   /* of a receive */
    const float *from; /* of a send */
    uint64_t     n;
} host_message;

/* Ends of messages from one rank to another that were posted and have not met. */
typedef struct ends {
    struct posted {
        host_op            *group;
        const host_message *message;
    } * posted; /* owned */
    size_t n, capacity, head;
} ends;

typedef struct host_event {
    uint32_t n_enqueued, n_done;
    double   at_s;
} host_event;

struct cap_devices {
    cap_device_setup setup;
    op_queue        *queues;   /* owned [n_local * CAP_STREAMS] */
    host_event      *events;   /* owned [n_local * n_events] */
    double          *starts_s; /* owned [n_local] */
    ends            *sends;    /* owned [n_ranks * n_ranks], by src * n_ranks + dst */
    ends            *receives;
    host_message    *messages; /* owned; those of the open group are at its end */
    size_t           n_messages, messages_capacity, group_begin;
    float          **memory; /* owned, each */
    size_t           n_memory, memory_capacity;
    uint64_t         random;
    uint64_t        *priorities; /* owned [n_local * CAP_STREAMS + n_ranks * n_ranks] */
    char             error[256];
};

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void fail(cap_devices *devices, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    if (devices->error[0] == '\0') {
        (void)vsnprintf(devices->error, sizeof devices->error, format, args);
    }
    va_end(args);
}

/* Room for one more of `bytes` each; false: out of memory, which is said. */
static bool room(cap_devices *devices, void *list_p, size_t n, size_t *capacity_p, size_t bytes)
{
    if (!cs_grow(list_p, capacity_p, n + 1, 64, bytes)) {
        fail(devices, "out of memory");
        return false;
    }
    return true;
}

static uint64_t draw(cap_devices *devices, uint64_t below)
{
    devices->random ^= devices->random << 13;
    devices->random ^= devices->random >> 7;
    devices->random ^= devices->random << 17;
    return devices->random % below;
}

/* ---- the set ---- */

static unsigned long setting(const char *name, unsigned long otherwise)
{
    const char *text = getenv(name);
    return text == NULL || *text == '\0' ? otherwise : strtoul(text, NULL, 10);
}

uint32_t cap_device_count(const char **why_p)
{
    *why_p = "COLLSIM_HOST_GPUS is 0";
    return (uint32_t)setting("COLLSIM_HOST_GPUS", 8);
}

void cap_device_name(uint32_t gpu, char *name, size_t name_bytes)
{
    snprintf(name, name_bytes, "host %u", (unsigned)gpu);
}

const char *cap_device_library(void)
{
    return "host memory";
}

bool cap_device_id(unsigned char id[CAP_DEVICE_ID_BYTES], const char **why_p)
{
    *why_p = NULL;
    memset(id, 0, CAP_DEVICE_ID_BYTES);
    return true;
}

cap_devices *cap_devices_create(const cap_device_setup *setup)
{
    cap_devices *devices = cs_calloc(1, sizeof *devices);

    if (devices == NULL) {
        return NULL;
    }
    const size_t n_pairs = (size_t)setup->n_ranks * setup->n_ranks;
    devices->setup       = *setup;
    devices->random      = 0x9e3779b97f4a7c15u * (setting("COLLSIM_HOST_SEED", 1) + 1);
    devices->queues      = cs_calloc((size_t)setup->n_local * CAP_STREAMS, sizeof *devices->queues);
    devices->events =
        cs_calloc((size_t)setup->n_local * setup->n_events + 1, sizeof *devices->events);
    devices->starts_s    = cs_calloc(setup->n_local, sizeof *devices->starts_s);
    devices->sends       = cs_calloc(n_pairs, sizeof *devices->sends);
    devices->receives    = cs_calloc(n_pairs, sizeof *devices->receives);
    const size_t n_parts = (size_t)setup->n_local * CAP_STREAMS + n_pairs;
    devices->priorities  = cs_calloc(n_parts, sizeof *devices->priorities);
    if (devices->priorities == NULL || devices->queues == NULL || devices->events == NULL ||
        devices->starts_s == NULL || devices->sends == NULL || devices->receives == NULL) {
        fail(devices, "out of memory");
    } else if (setup->n_local != setup->n_ranks) {
        fail(devices, "GPUs played by the CPU cannot talk to another process; "
                      "all ranks in one process are accepted");
    }
    for (size_t i = 0; devices->priorities != NULL && i < n_parts; i++) {
        devices->priorities[i] = draw(devices, UINT32_MAX);
    }
    return devices;
}

void cap_devices_destroy(cap_devices *devices)
{
    if (devices == NULL) {
        return;
    }
    const size_t n_pairs = (size_t)devices->setup.n_ranks * devices->setup.n_ranks;
    for (size_t i = 0; devices->queues != NULL && i < (size_t)devices->setup.n_local * CAP_STREAMS;
         i++) {
        cs_free(devices->queues[i].ops);
    }
    for (size_t i = 0; i < n_pairs; i++) {
        cs_free(devices->sends != NULL ? devices->sends[i].posted : NULL);
        cs_free(devices->receives != NULL ? devices->receives[i].posted : NULL);
    }
    for (size_t i = 0; i < devices->n_memory; i++) {
        cs_free(devices->memory[i]);
    }
    cs_free(devices->priorities);
    cs_free(devices->memory);
    cs_free(devices->messages);
    cs_free(devices->receives);
    cs_free(devices->sends);
    cs_free(devices->starts_s);
    cs_free(devices->events);
    cs_free(devices->queues);
    cs_free(devices);
}

const char *cap_device_error(const cap_devices *devices)
{
    return devices->error[0] == '\0' ? NULL : devices->error;
}

float *cap_device_alloc(cap_devices *devices, uint32_t member, uint64_t n)
{
    (void)member;
    if (devices->error[0] != '\0') {
        return NULL;
    }
    float *memory = cs_realloc(NULL, n + 1, sizeof *memory);
    if (memory == NULL || !room(devices, &devices->memory, devices->n_memory,
                                &devices->memory_capacity, sizeof *devices->memory)) {
        fail(devices, "out of memory");
        cs_free(memory);
        return NULL;
    }
    memset(memory, 0xff, (n + 1) * sizeof *memory); /* no number: sums of it are noticed */
    devices->memory[devices->n_memory++] = memory;
    return memory;
}

void cap_device_upload(cap_devices *devices, uint32_t member, float *to, const float *from,
                       uint64_t n)
{
    (void)member;
    if (devices->error[0] == '\0') {
        memcpy(to, from, n * sizeof *to);
    }
}

void cap_device_download(cap_devices *devices, uint32_t member, float *to, const float *from,
                         uint64_t n)
{
    cap_device_upload(devices, member, to, from, n);
}

/* ---- enqueued ---- */

static void enqueue(cap_devices *devices, uint32_t member, cap_stream stream, host_op next)
{
    if (devices->error[0] != '\0') {
        return;
    }
    op_queue *queue = &devices->queues[(size_t)member * CAP_STREAMS + stream];
    if (room(devices, &queue->ops, queue->n, &queue->capacity, sizeof *queue->ops)) {
        queue->ops[queue->n++] = next;
    }
}

static host_event *event_of(cap_devices *devices, uint32_t member, uint32_t number)
{
    return &devices->events[(size_t)member * devices->setup.n_events + number];
}

void cap_device_start(cap_devices *devices, uint32_t member, double at_s)
{
    enqueue(devices, member, CAP_MESSAGES, (host_op){.kind = OP_START, .at_s = at_s});
}

void cap_device_record(cap_devices *devices, uint32_t member, cap_stream stream, uint32_t number)
{
    if (devices->error[0] == '\0') {
        const uint32_t record = ++event_of(devices, member, number)->n_enqueued;
        enqueue(devices, member, stream,
                (host_op){.kind = OP_RECORD, .event = number, .record = record});
    }
}

void cap_device_wait(cap_devices *devices, uint32_t member, cap_stream stream, uint32_t of,
                     uint32_t number)
{
    if (devices->error[0] != '\0') {
        return;
    }
    const uint32_t record = event_of(devices, of, number)->n_enqueued;
    if (record == 0) {
        fail(devices, "member %u waits for event %u of member %u, which nobody has recorded",
             (unsigned)member, (unsigned)number, (unsigned)of);
    }
    enqueue(devices, member, stream,
            (host_op){.kind = OP_WAIT, .of = of, .event = number, .record = record});
}

void cap_device_copy(cap_devices *devices, uint32_t member, cap_stream stream, float *to,
                     const float *from, uint64_t n)
{
    enqueue(devices, member, stream, (host_op){.kind = OP_COPY, .to = to, .from = from, .n = n});
}

void cap_device_sum(cap_devices *devices, uint32_t member, cap_stream stream, float *to,
                    const float *base, const float *from, uint64_t n)
{
    enqueue(devices, member, stream,
            (host_op){.kind = OP_SUM, .to = to, .base = base, .from = from, .n = n});
}

void cap_device_group_begin(cap_devices *devices)
{
    devices->group_begin = devices->n_messages;
}

static void message_add(cap_devices *devices, host_message next)
{
    if (devices->setup.one_gpu) {
        fail(devices, "ranks of one GPU cannot send messages to each other");
    }
    if (devices->error[0] == '\0' && room(devices, &devices->messages, devices->n_messages,
                                          &devices->messages_capacity, sizeof *devices->messages)) {
        devices->messages[devices->n_messages++] = next;
    }
}

void cap_device_send(cap_devices *devices, uint32_t member, uint32_t to_rank, const float *from,
                     uint64_t n)
{
    message_add(
        devices,
        (host_message){.member = member, .peer = to_rank, .is_send = true, .from = from, .n = n});
}

void cap_device_receive(cap_devices *devices, uint32_t member, uint32_t from_rank, float *to,
                        uint64_t n)
{
    message_add(devices, (host_message){.member = member, .peer = from_rank, .to = to, .n = n});
}

void cap_device_group_end(cap_devices *devices)
{
    const size_t begin = devices->group_begin, end = devices->n_messages;

    /* The messages of a member behind one another, in their order, as a second copy. */
    for (uint32_t member = 0; member < devices->setup.n_local; member++) {
        const size_t first = devices->n_messages;
        for (size_t i = begin; i < end && devices->error[0] == '\0'; i++) {
            if (devices->messages[i].member == member) {
                message_add(devices, devices->messages[i]);
            }
        }
        const uint32_t n = (uint32_t)(devices->n_messages - first);
        if (n > 0) {
            enqueue(devices, member, CAP_MESSAGES,
                    (host_op){.kind = OP_GROUP, .messages = first, .n_messages = n, .n_open = n});
        }
    }
}

/* ---- done ---- */

static host_op *head_of(op_queue *queue)
{
    return queue->head < queue->n ? &queue->ops[queue->head] : NULL;
}

static ends *ends_of(cap_devices *devices, const host_message *message)
{
    const uint32_t rank = devices->setup.first_rank + message->member, n = devices->setup.n_ranks;

    return message->is_send ? &devices->sends[(size_t)rank * n + message->peer]
                            : &devices->receives[(size_t)message->peer * n + rank];
}

static bool can_go_on(cap_devices *devices, const host_op *head, double now)
{
    switch (head->kind) {
    case OP_START: return now >= head->at_s;
    case OP_WAIT: return event_of(devices, head->of, head->event)->n_done >= head->record;
    case OP_GROUP: return !head->posted || head->n_open == 0;
    case OP_RECORD:
    case OP_COPY:
    case OP_SUM: break;
    }
    return true;
}

static void post(cap_devices *devices, host_op *group)
{
    for (uint32_t i = 0; i < group->n_messages; i++) {
        const host_message *message = &devices->messages[group->messages + i];
        ends               *list    = ends_of(devices, message);
        if (!room(devices, &list->posted, list->n, &list->capacity, sizeof *list->posted)) {
            return;
        }
        list->posted[list->n++] = (struct posted){group, message};
    }
    group->posted = true;
}

static void go_on(cap_devices *devices, size_t queue, host_op *head)
{
    const uint32_t member = (uint32_t)(queue / CAP_STREAMS);
    host_event    *event;

    switch (head->kind) {
    case OP_START: devices->starts_s[member] = now_s(); break;
    case OP_RECORD:
        event         = event_of(devices, member, head->event);
        event->n_done = head->record;
        event->at_s   = now_s();
        break;
    case OP_COPY: memcpy(head->to, head->from, head->n * sizeof *head->to); break;
    case OP_SUM:
        for (uint64_t i = 0; i < head->n; i++) {
            head->to[i] = head->base[i] + head->from[i];
        }
        break;
    case OP_GROUP:
        if (!head->posted) {
            post(devices, head);
            return; /* it stays until its messages have met their other ends */
        }
        break;
    case OP_WAIT: break;
    }
    devices->queues[queue].head++;
}

static bool have_met(const cap_devices *devices, size_t pair)
{
    return devices->sends[pair].head < devices->sends[pair].n &&
           devices->receives[pair].head < devices->receives[pair].n;
}

static void pass(cap_devices *devices, size_t pair)
{
    const struct posted send    = devices->sends[pair].posted[devices->sends[pair].head++];
    const struct posted receive = devices->receives[pair].posted[devices->receives[pair].head++];

    if (send.message->n != receive.message->n) {
        fail(devices, "rank %u sends %llu elements to rank %u, which receives %llu",
             (unsigned)(pair / devices->setup.n_ranks), (unsigned long long)send.message->n,
             (unsigned)(pair % devices->setup.n_ranks), (unsigned long long)receive.message->n);
        return;
    }
    memcpy(receive.message->to, send.message->from, send.message->n * sizeof *send.message->from);
    send.group->n_open--;
    receive.group->n_open--;
}

/* One step of all that could come next; false: there is none. It is the one of the highest
 * priority, which are drawn, and drawn again now and then. So some stream falls back as far behind
 * the others as it can, which it would not if each step were drawn by itself (Burckhardt et al.,
 * ASPLOS 2010).
 */
static bool step(cap_devices *devices, double now)
{
    const size_t n_queues = (size_t)devices->setup.n_local * CAP_STREAMS;
    const size_t n_pairs  = (size_t)devices->setup.n_ranks * devices->setup.n_ranks;
    host_op     *next     = NULL; /* NULL: a message */
    size_t       drawn    = n_queues + n_pairs;

    for (size_t i = 0; i < n_queues + n_pairs; i++) {
        host_op   *head = i < n_queues ? head_of(&devices->queues[i]) : NULL;
        const bool can  = i < n_queues ? head != NULL && can_go_on(devices, head, now)
                                       : have_met(devices, i - n_queues);
        if (can &&
            (drawn == n_queues + n_pairs || devices->priorities[i] > devices->priorities[drawn])) {
            drawn = i;
            next  = head;
        }
    }
    if (drawn == n_queues + n_pairs) {
        return false;
    }
    if (draw(devices, REDRAW) == 0) {
        devices->priorities[drawn] = draw(devices, UINT32_MAX);
    }
    if (next != NULL) {
        go_on(devices, drawn, next);
    } else {
        pass(devices, drawn - n_queues);
    }
    return true;
}

/* Nothing can go on: wait for a start, or say that it is stuck. false: there is nothing left. */
static bool await_start(cap_devices *devices)
{
    const host_op *stuck    = NULL;
    double         first_s  = 0;
    bool           starting = false;
    size_t         where    = 0;

    for (size_t i = 0; i < (size_t)devices->setup.n_local * CAP_STREAMS; i++) {
        const host_op *head = head_of(&devices->queues[i]);
        if (head != NULL && head->kind == OP_START) {
            first_s  = starting && first_s < head->at_s ? first_s : head->at_s;
            starting = true;
        } else if (head != NULL && stuck == NULL) {
            stuck = head;
            where = i;
        }
    }
    if (starting) {
        const double          left = first_s - now_s();
        const struct timespec t    = {.tv_sec  = (time_t)left,
                                      .tv_nsec = (long)((left - (double)(time_t)left) * 1e9)};
        if (left > 0) {
            nanosleep(&t, NULL);
        }
        return true;
    }
    if (stuck != NULL) {
        fail(devices, "stuck: stream %u of rank %u waits for %s that cannot come",
             (unsigned)(where % CAP_STREAMS),
             (unsigned)(devices->setup.first_rank + where / CAP_STREAMS),
             stuck->kind == OP_GROUP ? "a message" : "an event");
    }
    return false;
}

void cap_device_finish(cap_devices *devices, double timeout_s)
{
    const double end_s = now_s() + timeout_s;
    double       now   = now_s();

    while (devices->error[0] == '\0' && (step(devices, now) || await_start(devices))) {
        now = now_s();
        if (now > end_s) {
            fail(devices, "not done after %g s", timeout_s);
        }
    }
    for (size_t i = 0; i < (size_t)devices->setup.n_local * CAP_STREAMS; i++) {
        devices->queues[i].n = devices->queues[i].head = 0;
    }
    for (size_t i = 0; i < (size_t)devices->setup.n_ranks * devices->setup.n_ranks; i++) {
        devices->sends[i].n = devices->sends[i].head = 0;
        devices->receives[i].n = devices->receives[i].head = 0;
    }
    devices->n_messages = 0;
}

double cap_device_started(const cap_devices *devices, uint32_t member)
{
    return devices->starts_s[member];
}

double cap_device_event_s(cap_devices *devices, uint32_t member, uint32_t number)
{
    return event_of(devices, member, number)->at_s;
}

double cap_device_clock_error_s(const cap_devices *devices)
{
    (void)devices;
    return 0;
}
