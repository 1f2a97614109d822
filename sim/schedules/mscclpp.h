/* SPDX-License-Identifier: GPL-3.0-or-later */
/* schedules/mscclpp.h -- schedules from execution plans of MSCCL++, verified with their signals.
 *
 * A plan is JSON. What is read (what else stands there is passed over):
 *
 *   collective        allreduce, allgather, reducescatter, alltoall, broadcast or reduce
 *   inplace           are input and output one buffer? For allgather the input is the GPU's block
 *                     of the output, for reducescatter the other way round
 *   name, root        may be there
 *   gpus[]            id (its place), input_chunks, output_chunks, scratch_chunks
 *     channels[]      channel_type (memory, port) and connected_to: peers. The k-th channel of a
 *                     type to a peer ends at that peer's k-th one back
 *     remote_buffers[] rank, type (i, o, s)
 *     semaphores[]    init_value
 *     threadblocks[]  channels[] {channel_type, channel_ids}, remote_buffer_refs[]
 *                     {access_channel_type, remote_buffer_ids}: what numbers in operations mean
 *       ops[]         name; src_buff[], dst_buff[] {type or buffer_id, index, size};
 *                     channel_type, channel_ids; barrier_id, num_threadblocks; semaphore_ids;
 *                     tbg_info {tb_id, tbg_size}; of pipelines iter_context {num_chunks}, ops.
 *                     message and round where this program wrote the file
 *
 *   copy             dst = src                      re, res    dst = all src; res puts it, too
 *   put, get         to, from a peer's memory       rre, rres  the same, src of peers
 *   pws, pwsf        put, signal (and flush)        flush      waits until puts have read src
 *   signal, wait     over channels; rlxsignal, rlxwait: without order of memory
 *   nop              threads of the block wait for each other; barrier: thread blocks, too
 *   sem_release, sem_acquire   between thread blocks
 *   ppkt, cpkt       src to dst in packets          rppkt      puts packets on as they come
 *   upkt             dst = packets                  repkt, respkt, recpkt, recspkt: re of packets
 *   pipeline         its operations, for one slice of their chunks after the other
 *
 * What comes before what. The threads of a block do its operations each for itself: only what a nop
 * (or a barrier) stands between is in order. A signal is after what a nop before it has seen, and
 * the k-th wait after the k-th signal of the channel; what stands behind a nop behind the wait is
 * after both. Of channels and semaphores in a list each is another thread's, which is in order with
 * itself. A put over a port is done by a proxy: after what was asked of the channel before, in
 * order with its signals, but with the thread block only from a flush on. Relaxed signals order all
 * but what was written before them. A packet (LL) bears a flag: reading it is after writing it, and
 * nothing else follows from it but that the writer has done its reading by the reader's next nop.
 * A GPU's call begins, and ends when all its thread blocks have: its input and output are the
 * caller's before and behind. Its scratch buffer is the plan's.
 *
 * Wrong (CS_EWRONG, with the operations by name): two uses of a chunk of which one writes it and
 * that are in no order; a wait, barrier or packet that comes for ever; a signal that nobody waits
 * for, or a semaphore that does not end as it began (the next call would begin with it); packets
 * that are written twice into a place (a call has one flag). Then the result is up to the engine's
 * verifier, as for any schedule.
 *
 * Not modelled (CS_ENOTSUP): operations of switches (glres, gstore, gstorepkt); packets and plain
 * data in one scratch buffer; a channel that several thread blocks wait at. A pipeline is taken as
 * for messages of two slices, with a scratch buffer that holds both.
 *
 * What the replay keeps is what it keeps of MSCCL's XML (schedules/msccl.h): messages, what each
 * needs, and an order of each GPU's, by message and round where the file has them.
 *
 * Source: A. Shah et al., "MSCCL++: Rethinking GPU Communication Abstractions for Cutting-edge AI
 * Applications", arXiv:2504.09014; the executor and the language of microsoft/mscclpp.
 */
#ifndef CS_SCHEDULES_MSCCLPP_H
#define CS_SCHEDULES_MSCCLPP_H

#include "algorithms/stored.h"

enum { CS_MSCCLPP_MAX_BYTES = 64 << 20 }; /* of a file */

/* Is a JSON text a plan: an object with gpus and without a format? O(length). */
bool cs_mscclpp_is_plan(const char *text, size_t length);

/* Read a plan, run it, check it. The caller owns the schedule, which has no size of its own. */
CS_MUST_CHECK cs_status cs_mscclpp_parse(const char *text, size_t length, const char *input,
                                         cs_stored **stored_p, cs_error *err);

#endif
