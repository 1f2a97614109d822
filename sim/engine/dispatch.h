/* SPDX-License-Identifier: GPL-3.0-or-later */
/* engine/dispatch.h -- the event-driven replay of a stream over a network model.
 *
 * Two rules decide when a message starts. Port rule: every port serves its messages in stream
 * order, a message occupies all its ports from start to end; a sending port passes on at the start
 * already where the model queues what senders send; the messages of a SHARED group are on a port
 * together where the model shares bandwidth (cs_network), and one by one elsewhere; a GPU that
 * drives some of its NVLinks only has messages on so many of them (cs_links_at_once()). Data rule:
 * everything that the message reads has been written by what stands before it in the stream. What
 * comes behind it in the stream never matters, so that slots may be recycled at once.
 *
 * Blocks are pushed in. A block is taken into the window as far as it is needed to be sure of what
 * starts next: time stands still while any sending port that the stream still uses has nothing
 * that waits for it. The times are therefore those of an unlimited window, as long as not more
 * than CS_MAX_FLIGHTS messages are in it; from there on messages wait for room.
 *
 * O(1) amortised per transfer beside the model's own work; memory O(n_ranks * n_slots) and about
 * 150 bytes per message in the window. Where senders queue, all messages whose data are there are
 * in the window, with all that stand before them in the stream.
 */
#ifndef CS_ENGINE_DISPATCH_H
#define CS_ENGINE_DISPATCH_H

#include "cs/job.h"

enum { CS_DISPATCH_BLOCK = 512 }; /* the most transfers of a block that is pushed in */

typedef struct cs_dispatch cs_dispatch;

/* Start with an idle network at time 0. The caller owns the dispatcher; the resolved job and the
 * observers are borrowed. Without any that wants to see blocks there should be none. */
CS_MUST_CHECK cs_status cs_dispatch_open(const cs_job *job, const cs_observer *observers,
                                         size_t n_observers, cs_dispatch **dispatch_p,
                                         cs_error *err);

/* First pass: every block of the stream, in order, so that it is known which ports it uses. */
void cs_dispatch_count(cs_dispatch *dispatch, const cs_block *block);

/* Second pass: the same blocks again. Observers are called with earlier blocks as these end. */
CS_MUST_CHECK cs_status cs_dispatch_block(cs_dispatch *dispatch, const cs_block *block,
                                          cs_error *err);

/* Let everything end that was pushed in: what comes behind it starts then. */
CS_MUST_CHECK cs_status cs_dispatch_drain(cs_dispatch *dispatch, cs_error *err);

/* Let everything end. `end_s_p` is the last end, or the arrival or barrier behind it. */
CS_MUST_CHECK cs_status cs_dispatch_finish(cs_dispatch *dispatch, double *end_s_p, cs_error *err);

/* The last end so far, or the first arrival. */
double cs_dispatch_last_end_s(const cs_dispatch *dispatch);

/* What the model has counted; and on links, for models with watch(), which is asked for before the
 * first block, and reported when all has ended. */
cs_counts               cs_dispatch_counts(const cs_dispatch *dispatch);
CS_MUST_CHECK cs_status cs_dispatch_watch(cs_dispatch *dispatch, double sample_s, cs_error *err);
CS_MUST_CHECK cs_status cs_dispatch_report(cs_dispatch *dispatch, cs_link_report *report_p,
                                           cs_error *err);

/* NULL is allowed. */
void cs_dispatch_close(cs_dispatch *dispatch);

#endif
