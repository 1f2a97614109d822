/* SPDX-License-Identifier: GPL-3.0-or-later */
/* traces/kineto.h -- arrivals out of JSON traces: of NCCL kernels, or of a rank's work.
 *
 * NCCL traces are those of PyTorch's profiler. With one file per rank, `distributedInfo.rank` says
 * which rank a file is of (where no file has it: their order); in a single file every
 * process that has NCCL kernels is a rank. The k-th collective of every rank of a process group is
 * one call. Clocks of different ranks are not compared: all ranks are taken to leave a call
 * together, so arrival = longest kernel - own kernel, and the shortest kernel came last. An
 * all-to-all is a collective, whose size may differ between the ranks: the largest counts. Sends
 * and receives of point-to-point are none; NCCL kernels that are left out are counted in the notes.
 *
 * Refused: a single rank, process groups with ranks that are not there, more than 4,096 process
 * groups, ranks whose calls differ in kind, size or number, kernels of one stream that overlap (a
 * clock that stepped back).
 *
 * A single file without any NCCL kernel is a timeline (traces/timeline_trace.h).
 */
#ifndef CS_TRACES_KINETO_H
#define CS_TRACES_KINETO_H

#include "traces/arrival_file.h"

/* Read JSON traces: see cs_arrival_texts_read(). O(size of the texts + calls log calls). */
CS_MUST_CHECK cs_status cs_kineto_read(const cs_arrival_text *texts, size_t n,
                                       const cs_arrival_options *options, cs_arrival_trace *trace_p,
                                       cs_arrival_notes *notes, cs_error *err);

#endif
