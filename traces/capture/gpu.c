/* SPDX-License-Identifier: GPL-3.0-or-later */
/* gpu.c -- see gpu.h. */
#include "gpu.h"

#include "base/alloc.h"

#include <math.h>

/* Events of a rank: of each group four. */
enum {
    BEGINS, /* what the rank's messages wait for is there */
    CAME,   /* on one GPU: what it receives is there */
    ENDS,   /* its messages are through */
    PLACED, /* so are the group's placings */
    EVENTS
};

struct cap_gpu {
    const cap_groups *groups; /* borrowed */
    cap_device_setup  setup;
    cap_devices      *devices;
    float           **memory;  /* [n_local] on the GPUs */
    float           **staging; /* [n_local] */
    float            *host;    /* as long as the longest memory */
    bool             *is_used; /* [n_local] in the group at hand */
    double            lead_s;
    float           **probe_from, **probe_to; /* [n_local], each of probe_count */
    uint64_t          probe_count;
};

static cs_status failed(const cap_gpu *gpu, cs_error *err)
{
    const char *why = cap_device_error(gpu->devices);
    return why == NULL ? CS_OK : CS_FAIL(err, CS_EIO, "", "%s", why);
}

static bool is_local(const cap_gpu *gpu, uint32_t rank)
{
    return rank >= gpu->setup.first_rank && rank - gpu->setup.first_rank < gpu->setup.n_local;
}

static uint32_t member_of(const cap_gpu *gpu, uint32_t rank)
{
    return rank - gpu->setup.first_rank;
}

static uint32_t event_of(uint32_t group, uint32_t event)
{
    return group * EVENTS + event;
}

static void allocate(cap_gpu *gpu)
{
    for (uint32_t i = 0; i < gpu->setup.n_local; i++) {
        const uint32_t rank = gpu->setup.first_rank + i;
        gpu->memory[i]  = cap_device_alloc(gpu->devices, i, gpu->groups->job->ranks[rank].n_floats);
        gpu->staging[i] = cap_device_alloc(gpu->devices, i, gpu->groups->n_staged[rank]);
    }
}

cs_status cap_gpu_open(const cap_groups *groups, const cap_device_setup *setup, cap_gpu **gpu_p,
                       cs_error *err)
{
    cap_gpu *gpu  = CS_NEW(cap_gpu, 1);
    uint64_t most = 0;

    if (gpu == NULL) {
        return CS_NO_MEMORY(err, "the ranks of this process");
    }
    for (uint32_t i = 0; i < setup->n_local; i++) {
        const uint64_t n = groups->job->ranks[setup->first_rank + i].n_floats;
        most             = n > most ? n : most;
    }
    gpu->groups         = groups;
    gpu->setup          = *setup;
    gpu->setup.n_events = (groups->n_groups > 0 ? groups->n_groups : 1) * EVENTS;
    gpu->lead_s         = 2e-3 + 20e-6 * groups->n_groups * setup->n_local;
    gpu->memory         = CS_NEW(float *, setup->n_local);
    gpu->staging        = CS_NEW(float *, setup->n_local);
    gpu->host           = CS_NEW(float, most);
    gpu->is_used        = CS_NEW(bool, setup->n_local);
    gpu->probe_from     = CS_NEW(float *, setup->n_local);
    gpu->probe_to       = CS_NEW(float *, setup->n_local);
    gpu->devices        = cap_devices_create(&gpu->setup);
    if (gpu->memory == NULL || gpu->staging == NULL || gpu->host == NULL || gpu->is_used == NULL ||
        gpu->probe_from == NULL || gpu->probe_to == NULL || gpu->devices == NULL) {
        cap_gpu_close(gpu);
        return CS_NO_MEMORY(err, "the ranks of this process");
    }
    allocate(gpu);
    const cs_status status = failed(gpu, err);
    if (status != CS_OK) {
        cap_gpu_close(gpu);
        return status;
    }
    *gpu_p = gpu;
    return CS_OK;
}

void cap_gpu_close(cap_gpu *gpu)
{
    if (gpu == NULL) {
        return;
    }
    cap_devices_destroy(gpu->devices);
    cs_free(gpu->probe_to);
    cs_free(gpu->probe_from);
    cs_free(gpu->is_used);
    cs_free(gpu->host);
    cs_free(gpu->staging);
    cs_free(gpu->memory);
    cs_free(gpu);
}

double cap_gpu_lead_s(const cap_gpu *gpu)
{
    return gpu->lead_s;
}

double cap_gpu_clock_error_s(const cap_gpu *gpu)
{
    return cap_device_clock_error_s(gpu->devices);
}

/* ---- one group ---- */

static const cap_message *message_of(const cap_gpu *gpu, const cap_move *move)
{
    return &gpu->groups->job->messages[move->message];
}

static const float *source(const cap_gpu *gpu, const cap_move *move)
{
    return gpu->memory[member_of(gpu, message_of(gpu, move)->src)] + move->from;
}

static float *destination(const cap_gpu *gpu, const cap_move *move)
{
    const uint32_t member = member_of(gpu, message_of(gpu, move)->dst);
    return (move->is_staged ? gpu->staging : gpu->memory)[member] + move->to;
}

/* Local ranks with messages in the group wait for what these need. */
static void begin_group(cap_gpu *gpu, uint32_t group)
{
    const cap_groups *groups = gpu->groups;

    for (uint32_t i = 0; i < gpu->setup.n_local; i++) {
        gpu->is_used[i] = false;
    }
    for (size_t k = groups->first_move[group]; k < groups->first_move[group + 1]; k++) {
        const cap_message *m       = message_of(gpu, &groups->moves[k]);
        const uint32_t     ends[2] = {m->src, m->dst};
        for (int e = 0; e < 2; e++) {
            if (is_local(gpu, ends[e])) {
                gpu->is_used[member_of(gpu, ends[e])] = true;
            }
        }
    }
    for (uint32_t i = 0; i < gpu->setup.n_local; i++) {
        const uint32_t rank  = gpu->setup.first_rank + i;
        const uint32_t first = groups->wait_for[(size_t)group * groups->n_ranks + rank];
        if (gpu->is_used[i] && first != CAP_NO_GROUP) {
            cap_device_wait(gpu->devices, i, CAP_MESSAGES, i, event_of(first, PLACED));
        }
        if (gpu->is_used[i]) {
            cap_device_record(gpu->devices, i, CAP_MESSAGES, event_of(group, BEGINS));
        }
    }
}

static void send_messages(cap_gpu *gpu, uint32_t group)
{
    const cap_groups *groups = gpu->groups;

    cap_device_group_begin(gpu->devices);
    for (size_t k = groups->first_move[group]; k < groups->first_move[group + 1]; k++) {
        const cap_move    *move = &groups->moves[k];
        const cap_message *m    = message_of(gpu, move);
        if (is_local(gpu, m->src)) {
            cap_device_send(gpu->devices, member_of(gpu, m->src), m->dst, source(gpu, move),
                            move->count);
        }
        if (is_local(gpu, m->dst)) {
            cap_device_receive(gpu->devices, member_of(gpu, m->dst), m->src, destination(gpu, move),
                               move->count);
        }
    }
    cap_device_group_end(gpu->devices);
}

/* The same on one GPU, where member = rank. */
static void copy_messages(cap_gpu *gpu, uint32_t group)
{
    const cap_groups *groups = gpu->groups;

    for (size_t k = groups->first_move[group]; k < groups->first_move[group + 1]; k++) {
        const cap_move    *move = &groups->moves[k];
        const cap_message *m    = message_of(gpu, move);
        cap_device_wait(gpu->devices, m->dst, CAP_MESSAGES, m->src, event_of(group, BEGINS));
        cap_device_copy(gpu->devices, m->dst, CAP_MESSAGES, destination(gpu, move),
                        source(gpu, move), move->count);
    }
    for (uint32_t i = 0; i < gpu->setup.n_local; i++) {
        if (gpu->is_used[i]) {
            cap_device_record(gpu->devices, i, CAP_MESSAGES, event_of(group, CAME));
        }
    }
    for (size_t k = groups->first_move[group]; k < groups->first_move[group + 1]; k++) {
        const cap_message *m = message_of(gpu, &groups->moves[k]);
        cap_device_wait(gpu->devices, m->src, CAP_MESSAGES, m->dst, event_of(group, CAME));
    }
}

static void end_group(cap_gpu *gpu, uint32_t group)
{
    const cap_groups *groups = gpu->groups;

    for (uint32_t i = 0; i < gpu->setup.n_local; i++) {
        if (gpu->is_used[i]) {
            cap_device_record(gpu->devices, i, CAP_MESSAGES, event_of(group, ENDS));
        }
        gpu->is_used[i] = false; /* from here on: has placings */
    }
    for (size_t k = groups->first_placing[group]; k < groups->first_placing[group + 1]; k++) {
        const cap_placing *p = &groups->placings[k];
        if (!is_local(gpu, p->rank)) {
            continue;
        }
        const uint32_t i      = member_of(gpu, p->rank);
        float         *memory = gpu->memory[i], *staged = gpu->staging[i] + p->staged;
        if (!gpu->is_used[i]) {
            cap_device_wait(gpu->devices, i, CAP_SUMS, i, event_of(group, ENDS));
            gpu->is_used[i] = true;
        }
        if (p->adds) {
            cap_device_sum(gpu->devices, i, CAP_SUMS, memory + p->to, memory + p->base, staged,
                           p->count);
        } else {
            cap_device_copy(gpu->devices, i, CAP_SUMS, memory + p->to, staged, p->count);
        }
        if (p->out != CAP_NOWHERE) {
            cap_device_copy(gpu->devices, i, CAP_SUMS, memory + p->out, memory + p->to, p->count);
        }
    }
    for (uint32_t i = 0; i < gpu->setup.n_local; i++) {
        if (gpu->is_used[i]) {
            cap_device_record(gpu->devices, i, CAP_SUMS, event_of(group, PLACED));
        }
    }
}

/* ---- a repetition ---- */

static void enqueue(cap_gpu *gpu, double start_s, const double *late_s)
{
    for (uint32_t i = 0; i < gpu->setup.n_local; i++) {
        const double late = late_s == NULL ? 0 : late_s[gpu->setup.first_rank + i];
        cap_device_start(gpu->devices, i, start_s + late);
    }
    for (uint32_t group = 0; group < gpu->groups->n_groups; group++) {
        begin_group(gpu, group);
        if (gpu->setup.one_gpu) {
            copy_messages(gpu, group);
        } else {
            send_messages(gpu, group);
        }
        end_group(gpu, group);
    }
}

static double time_of(cap_gpu *gpu, uint32_t rank, uint32_t group, uint32_t event)
{
    return is_local(gpu, rank)
               ? cap_device_event_s(gpu->devices, member_of(gpu, rank), event_of(group, event))
               : (double)NAN;
}

static void later(double *time_s, double other_s)
{
    if (!(*time_s >= other_s)) {
        *time_s = other_s;
    }
}

static void read_times(cap_gpu *gpu, double start_s, cap_gpu_result *result)
{
    const cap_job *job = gpu->groups->job;

    for (uint32_t r = 0; r < gpu->groups->n_ranks; r++) {
        result->end_s[r] = is_local(gpu, r)
                               ? cap_device_started(gpu->devices, member_of(gpu, r)) - start_s
                               : (double)NAN;
    }
    for (uint32_t i = 0; i < job->n_messages; i++) {
        const cap_message     *m    = &job->messages[i];
        const struct cap_span *span = &gpu->groups->spans[i];
        cap_times              t    = {(double)NAN, (double)NAN, (double)NAN};
        if (m->count > 0) { /* nothing travels otherwise, and nobody waits for it */
            t.send_s = time_of(gpu, m->src, span->first, BEGINS) - start_s;
            t.sent_s = time_of(gpu, m->src, span->last, ENDS) - start_s;
            t.received_s =
                time_of(gpu, m->dst, span->placed, span->is_staged ? PLACED : ENDS) - start_s;
            if (is_local(gpu, m->src)) {
                later(&result->end_s[m->src], t.sent_s);
            }
            if (is_local(gpu, m->dst)) {
                later(&result->end_s[m->dst], t.received_s);
            }
        }
        if (result->times != NULL) {
            result->times[i] = t;
        }
    }
}

static double latest_s(const cap_gpu *gpu, const double *late_s)
{
    double latest = 0;

    for (uint32_t i = 0; late_s != NULL && i < gpu->setup.n_local; i++) {
        const double late = late_s[gpu->setup.first_rank + i];
        latest            = late > latest ? late : latest;
    }
    return latest;
}

/* Begin earlier next time where enqueueing took longer, at most by a second: what does not fit into
 * the driver's queues is enqueued during the run, however early that begins. */
static void adapt_lead(cap_gpu *gpu, double enqueue_s)
{
    const double wanted = 1.5 * enqueue_s + 1e-3;
    gpu->lead_s         = wanted < gpu->lead_s ? gpu->lead_s : wanted > 1 ? 1 : wanted;
}

cs_status cap_gpu_fill(cap_gpu *gpu, uint32_t repetition, cs_error *err)
{
    const cap_job *job = gpu->groups->job;

    for (uint32_t i = 0; i < gpu->setup.n_local; i++) {
        const uint32_t rank = gpu->setup.first_rank + i;
        cap_job_fill(job, rank, repetition, gpu->host);
        cap_device_upload(gpu->devices, i, gpu->memory[i], gpu->host, job->ranks[rank].n_floats);
    }
    return failed(gpu, err);
}

cs_status cap_gpu_repeat(cap_gpu *gpu, uint32_t repetition, double start_s, const double *late_s,
                         double timeout_s, cap_gpu_result *result, cs_error *err)
{
    const cap_job *job   = gpu->groups->job;
    const double   begin = cap_now_s();

    enqueue(gpu, start_s, late_s);
    const double enqueued  = cap_now_s();
    result->enqueue_s      = enqueued - begin;
    result->enqueued_early = enqueued <= start_s;
    adapt_lead(gpu, result->enqueue_s);
    cap_device_finish(gpu->devices,
                      fmax(0, start_s - enqueued) + latest_s(gpu, late_s) + timeout_s);
    CS_TRY(failed(gpu, err));
    read_times(gpu, start_s, result);
    result->wrong = 0;
    for (uint32_t i = 0; i < gpu->setup.n_local; i++) {
        const uint32_t rank = gpu->setup.first_rank + i;
        cap_device_download(gpu->devices, i, gpu->host, gpu->memory[i], job->ranks[rank].n_floats);
        CS_TRY(failed(gpu, err));
        result->wrong += cap_job_count_wrong(job, rank, repetition, gpu->host);
    }
    return failed(gpu, err);
}

/* ---- messages alone ---- */

/* Every rank to the next one, from and into memory of its own. */
static void send_round(cap_gpu *gpu, uint64_t count, float *const *from, float *const *to)
{
    const uint32_t n = gpu->groups->n_ranks;

    cap_device_group_begin(gpu->devices);
    for (uint32_t i = 0; i < gpu->setup.n_local; i++) {
        const uint32_t rank = gpu->setup.first_rank + i;
        cap_device_send(gpu->devices, i, (rank + 1) % n, from[i], count);
        cap_device_receive(gpu->devices, i, (rank + n - 1) % n, to[i], count);
    }
    cap_device_group_end(gpu->devices);
}

/* As copy_messages() has it, with the events of group 0. */
static void copy_round(cap_gpu *gpu, uint64_t count, float *const *from, float *const *to)
{
    const uint32_t n = gpu->groups->n_ranks;

    for (uint32_t i = 0; i < n; i++) {
        cap_device_record(gpu->devices, i, CAP_MESSAGES, BEGINS);
    }
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t before = (i + n - 1) % n;
        cap_device_wait(gpu->devices, i, CAP_MESSAGES, before, BEGINS);
        cap_device_copy(gpu->devices, i, CAP_MESSAGES, to[i], from[before], count);
        cap_device_record(gpu->devices, i, CAP_MESSAGES, CAME);
    }
    for (uint32_t i = 0; i < n; i++) {
        cap_device_wait(gpu->devices, i, CAP_MESSAGES, (i + 1) % n, CAME);
    }
}

cs_status cap_gpu_probe_open(cap_gpu *gpu, uint64_t count, cs_error *err)
{
    for (uint32_t i = 0; i < gpu->setup.n_local; i++) {
        gpu->probe_from[i] = cap_device_alloc(gpu->devices, i, count);
        gpu->probe_to[i]   = cap_device_alloc(gpu->devices, i, count);
    }
    gpu->probe_count = count;
    return failed(gpu, err);
}

cs_status cap_gpu_probe(cap_gpu *gpu, uint32_t rounds, double start_s, double timeout_s,
                        double *rate_Bps_p, cs_error *err)
{
    double least = (double)INFINITY;

    for (uint32_t i = 0; i < gpu->setup.n_local; i++) {
        cap_device_start(gpu->devices, i, start_s);
    }
    for (uint32_t k = 0; k < rounds; k++) {
        if (gpu->setup.one_gpu) {
            copy_round(gpu, gpu->probe_count, gpu->probe_from, gpu->probe_to);
        } else {
            send_round(gpu, gpu->probe_count, gpu->probe_from, gpu->probe_to);
        }
    }
    for (uint32_t i = 0; i < gpu->setup.n_local; i++) {
        cap_device_record(gpu->devices, i, CAP_MESSAGES, ENDS);
    }
    cap_device_finish(gpu->devices, fmax(0, start_s - cap_now_s()) + timeout_s);
    CS_TRY(failed(gpu, err));
    for (uint32_t i = 0; i < gpu->setup.n_local; i++) {
        const double took_s =
            cap_device_event_s(gpu->devices, i, ENDS) - cap_device_started(gpu->devices, i);
        const double rate = (double)rounds * (double)gpu->probe_count * sizeof(float) / took_s;
        least             = rate < least ? rate : least;
    }
    *rate_Bps_p = least;
    return failed(gpu, err);
}
