/* SPDX-License-Identifier: GPL-3.0-or-later */
/* schedules/msccl.h -- schedules from the XML of MSCCL's interpreter, by the runtime's own rules.
 *
 * Three runtimes read these files: microsoft/msccl, RCCL and msccl-executor-nccl. A program gives
 * every GPU thread blocks, and each of these steps that it takes in order. What is read:
 *
 *   algo   ngpus, nchunksperloop, nchannels, proto (Simple, LL, LL128), inplace, outofplace, coll
 *          (allreduce, allgather, reduce_scatter or reducescatter, alltoall, broadcast, reduce);
 *          name and root may be there. A file has no size: minBytes and maxBytes are for the
 *          runtime.
 *   gpu    id, i_chunks, o_chunks, s_chunks: of the input, output and scratch buffer
 *   tb     id, send, recv (a GPU or -1), chan
 *   step   s, type, srcbuf, srcoff, dstbuf, dstoff (i, o, s and a chunk), cnt, depid, deps, hasdep;
 *          message and round where this program wrote the file: the runtimes pass them over
 *
 *   s      send src
 *   r      receive into dst
 *   rcs    receive into dst and send on            rrc    dst = src + what is received
 *   rrs    send src + what is received             rrcs   the same, and send it on
 *   cpy    dst = src                               re     dst = dst + src
 *   nop    only waits
 *
 * src and dst are chunks of the GPU itself. In place, input and output are one buffer: for
 * allgather the input is the GPU's block of the output, for reduce_scatter the output is its block
 * of the input. `re` steps in a row are one fused step of the runtime, which changes nothing here.
 *
 * A connection is a pair of GPUs and a channel; at most one thread block sends into it and one
 * receives from it, and its k-th send belongs to its k-th receive. It holds 2 sends that the
 * receiver has not come to yet (Simple; 8 for LL and LL128), the next one waits. A step with depid
 * waits until the first step with hasdep="1" at or behind step deps of that thread block has ended.
 * Waits of nop steps belong to the step behind them, which must have one of its own.
 *
 * A file that a runtime would not load, or whose steps cannot all be taken, is refused with file,
 * line and column (CS_EPARSE; CS_ENOTSUP where the engine is at its limits). A program that reads a
 * chunk before anything is there, whose steps race for a chunk (one writes what another reads or
 * writes, and nothing orders them), or that loses a GPU's own chunk, is no correct collective
 * (CS_EWRONG, with the place of the step). Everything else that is wrong is left to the engine's
 * verifier, as for any schedule.
 *
 * What the replay keeps. Every message, its bytes, and what each sends and needs; the order of a
 * connection; and an order of each GPU's messages, which the engine's ports keep: that of the
 * numbers in the file (what has the same number is one message), or else that of a machine whose
 * GPUs send one message and receive one at a time, first come, first served (msccl_run.c).
 *
 * What it does not keep. The threads of a block and the protocol's speed; that a thread block, or a
 * step that waits, holds up messages whose data are there; the pipelining of a step that receives
 * and sends; local copies and sums, which take no time.
 *
 * Source: M. Cowan et al., "MSCCLang", ASPLOS 2023; the parsers and interpreters of the runtimes.
 */
#ifndef CS_SCHEDULES_MSCCL_H
#define CS_SCHEDULES_MSCCL_H

#include "algorithms/stored.h"

enum { CS_MSCCL_MAX_BYTES = 256 << 20 }; /* of a file */

/* Read a text, run it, check it. The caller owns the schedule, which has no size of its
 * own (bytes = 0). A file for calls in place and others is run both ways; both must be correct. */
CS_MUST_CHECK cs_status cs_msccl_parse(const char *text, size_t length, const char *input,
                                       cs_stored **stored_p, cs_error *err);

/* Run a program in one way of calling it, and check its order. The caller owns the schedule. */
struct cs_msccl_program;
CS_MUST_CHECK cs_status cs_msccl_run_as(const struct cs_msccl_program *p, bool aliases,
                                        cs_stored **stored_p, cs_error *err);

#endif
