/* SPDX-License-Identifier: GPL-3.0-or-later */
/* gpu.h -- run the groups of a job (groups.h) on the GPUs of this process (device.h).
 *
 * A repetition: the memories are filled and uploaded; then every rank's stream of messages begins
 * with a kernel that waits for the common start (of a late rank: for its arrival); group by group,
 * waits, messages, sums and time stamps are enqueued behind it; then everything is awaited,
 * downloaded and compared. The start is so far ahead that enqueueing is done before it wherever the
 * queues of the driver hold it all (enqueued_early says whether it was).
 *
 * With messages between GPUs a group is an NCCL group of the local ranks. With `one_gpu`, ranks are
 * streams of one GPU, and a message is a copy on the stream of its receiver, which starts when both
 * ends have come to the group; the sender goes on when its receivers of the group have everything.
 */
#ifndef CAPTURE_GPU_H
#define CAPTURE_GPU_H

#include "device.h"
#include "executor.h"
#include "groups.h"

typedef struct cap_gpu cap_gpu;

/* What one repetition gave for the ranks of this process, beside cap_times of the messages. */
typedef struct cap_gpu_result {
    cap_times *times;     /* [n_messages] filled; NAN: that end is not in this process. NULL: no */
    double    *end_s;     /* [n_ranks] filled; NAN: not in this process */
    uint64_t   wrong;     /* floats that are not what they should be */
    double     enqueue_s; /* how long the host took to enqueue it all */
    bool       enqueued_early; /* before the first rank started */
} cap_gpu_result;

/* The caller owns it and keeps groups and setup's id as long. `setup.n_events` is set here.
 * CS_ENOMEM, CS_EIO (what CUDA or NCCL says). */
cs_status cap_gpu_open(const cap_groups *groups, const cap_device_setup *setup, cap_gpu **gpu_p,
                       cs_error *err);
/* NULL is allowed. */
void cap_gpu_close(cap_gpu *gpu);

/* How long before the start enqueueing should begin, from how long it took so far; the processes of
 * one run agree on the longest. */
double cap_gpu_lead_s(const cap_gpu *gpu);

/* Fill the memories of the local ranks with the data of a repetition (cap_job_fill). */
cs_status cap_gpu_fill(cap_gpu *gpu, uint32_t repetition, cs_error *err);

/* That repetition, ranks entering at start_s + late_s[rank]
 * (NULL: all at start_s), which is CLOCK_MONOTONIC of this host. Times of the result count from
 * start_s. CS_EIO: it failed, or took longer than timeout_s behind the last start; the cap_gpu can
 * then only be closed. */
cs_status cap_gpu_repeat(cap_gpu *gpu, uint32_t repetition, double start_s, const double *late_s,
                         double timeout_s, cap_gpu_result *result, cs_error *err);

/* Messages alone, what the executor is measured against: memory for messages of `count` floats; */
cs_status cap_gpu_probe_open(cap_gpu *gpu, uint64_t count, cs_error *err);
/* and bytes per second that a rank sends while every rank sends one such message to the next rank
 * and receives one, `rounds` times in groups of their own. The least of the local ranks. Starts and
 * failures are as in cap_gpu_repeat. */
cs_status cap_gpu_probe(cap_gpu *gpu, uint32_t rounds, double start_s, double timeout_s,
                        double *rate_Bps_p, cs_error *err);

/* How far times of different ranks of this process may be apart from what they say. */
double cap_gpu_clock_error_s(const cap_gpu *gpu);

#endif
