/* SPDX-License-Identifier: GPL-3.0-or-later */
/* device.h -- the GPUs of this process, as far as collsim-nccl needs them.
 *
 * A device set has one member per local rank: memory, two streams (CAP_MESSAGES, CAP_SUMS) and an
 * array of events. Whatever takes time is enqueued on a stream and done later, in the order of that
 * stream; between streams only events order anything. Two implementations:
 *
 *   device_cuda.cu  CUDA and NCCL; all calls of theirs in this project are there
 *   device_host.c   the same semantics on a CPU, for tests: work that is enqueued is done in an
 *                   order drawn at random among all that streams and events allow, and a message
 *                   passes only where both ends have come to it, as without any buffer. What is
 *                   right there for many seeds does not hang on lucky timing.
 *
 * Errors stick: after the first one every call returns at once, and cap_device_error says it in one
 * sentence. So callers enqueue a whole run and ask once, after cap_device_finish.
 * Sizes are elements of float32 unless they end in _bytes; times are seconds of CLOCK_MONOTONIC.
 * Not for several threads.
 */
#ifndef CAPTURE_DEVICE_H
#define CAPTURE_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CAP_DEVICE_ID_BYTES 128

typedef struct cap_devices cap_devices;

typedef enum cap_stream { CAP_MESSAGES, CAP_SUMS, CAP_STREAMS } cap_stream;

typedef struct cap_device_setup {
    uint32_t n_ranks;    /* of all processes together */
    uint32_t first_rank; /* of this process */
    uint32_t n_local;    /* its ranks are first_rank .. first_rank + n_local - 1 */
    uint32_t first_gpu;  /* GPU of the first local rank; further ranks take the next ones */
    bool     one_gpu;    /* all local ranks on that GPU, without NCCL: no messages */
    uint32_t n_events;   /* of each local rank */
    /* What cap_device_id gave on one process, the same bytes on all; unused with one_gpu. */
    unsigned char id[CAP_DEVICE_ID_BYTES];
} cap_device_setup;

/* How many GPUs this process can use. 0: none, and *why_p (static storage) says why. */
uint32_t cap_device_count(const char **why_p);
/* What GPU `gpu` is, for people. NUL-terminated, "" where it cannot be said. */
void cap_device_name(uint32_t gpu, char *name, size_t name_bytes);
/* Versions of what carries messages, for results: "NCCL 2.28.9, CUDA 13.0". Static storage. */
const char *cap_device_library(void);

/* A fresh identity of a set of ranks. false: *why_p says why. */
bool cap_device_id(unsigned char id[CAP_DEVICE_ID_BYTES], const char **why_p);
/* Collective over all processes of the set. Never NULL but without memory; what fails is in
 * cap_device_error. Members are counted from 0 below. */
cap_devices *cap_devices_create(const cap_device_setup *setup);
/* Ends messages that are still under way where there was an error. NULL is fine. */
void cap_devices_destroy(cap_devices *devices);
/* NULL: all is well. Valid until the set is destroyed. */
const char *cap_device_error(const cap_devices *devices);

/* Memory of a member, freed with the set; NULL after an error. */
float *cap_device_alloc(cap_devices *devices, uint32_t member, uint64_t n);
/* At once: they return when the data are there. */
void cap_device_upload(cap_devices *devices, uint32_t member, float *to, const float *from,
                       uint64_t n);
void cap_device_download(cap_devices *devices, uint32_t member, float *to, const float *from,
                         uint64_t n);

/* ---- enqueued ---- */

/* Nothing behind it on the stream starts before at_s. Every run of a member begins with one on
 * CAP_MESSAGES: the times of its events count from there. */
void cap_device_start(cap_devices *devices, uint32_t member, double at_s);
void cap_device_record(cap_devices *devices, uint32_t member, cap_stream stream, uint32_t event);
/* The stream of `member` goes on when the event of `of`, recorded before this call, has come. */
void cap_device_wait(cap_devices *devices, uint32_t member, cap_stream stream, uint32_t of,
                     uint32_t event);
/* to = from; the two may be memory of different members of a set on one GPU. */
void cap_device_copy(cap_devices *devices, uint32_t member, cap_stream stream, float *to,
                     const float *from, uint64_t n);
/* to = base + from, element by element; base may be to. */
void cap_device_sum(cap_devices *devices, uint32_t member, cap_stream stream, float *to,
                    const float *base, const float *from, uint64_t n);
/* Messages between _begin and _end are one group: on CAP_MESSAGES of each member concerned, they
 * progress together, and what is behind them starts when all of that member's are through. The
 * k-th send from a to b is taken by the k-th receive of b from a. Peers are ranks. */
void cap_device_group_begin(cap_devices *devices);
void cap_device_send(cap_devices *devices, uint32_t member, uint32_t to_rank, const float *from,
                     uint64_t n);
void cap_device_receive(cap_devices *devices, uint32_t member, uint32_t from_rank, float *to,
                        uint64_t n);
void cap_device_group_end(cap_devices *devices);

/* ---- at once ---- */

/* Waits until everything that was enqueued is done; an error where that takes longer than
 * timeout_s from the call on. */
void cap_device_finish(cap_devices *devices, double timeout_s);
/* When the last cap_device_start of the member let its stream go on. Known after _finish. */
double cap_device_started(const cap_devices *devices, uint32_t member);
/* When the event, recorded after that start, came. Known after _finish. */
double cap_device_event_s(cap_devices *devices, uint32_t member, uint32_t event);
/* How far times of different members may be apart from what they say. */
double cap_device_clock_error_s(const cap_devices *devices);

#ifdef __cplusplus
}
#endif
#endif
