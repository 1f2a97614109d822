/* SPDX-License-Identifier: GPL-3.0-or-later */
/* schedules/schedule_json.h -- schedules from files: JSON, what begins with '<': MSCCL's XML
 * (schedules/msccl.h), or JSON with gpus: plans of MSCCL++ (schedules/mscclpp.h).
 *
 *   {"format": "collsim-schedule", "version": 1, "collective": "allreduce", "ranks": 4,
 *    "chunks": 4, "bytes": 4096, "algorithm": "ring", "root": 0, "gpus_per_server": 1,
 *    "transfers": [{"round": 0, "src": 0, "dst": 1, "chunk": 0, "op": "reduce"}, ..]}
 *
 * algorithm, root and gpus_per_server may be left out. Where servers have different numbers of GPUs
 * there is "servers": [{"count": 2, "gpus": 4}, {"gpus": 1}] in place of gpus_per_server, as in a
 * configuration's cluster. A transfer moves `span` chunks (1) by
 * `op` (copy, reduce, exchange) over `fabric` (nic, nvlink; what joins the two ranks); `bytes`
 * is the chunks' share of the buffer unless given. "shared": true puts it in the fan-out and
 * fan-in group of its round; "join": true makes it one message with the transfer before it;
 * "fence": true puts a barrier of all ranks (but "fence_except")
 * before it, which costs "fence_s". The order of the list is the order of the stream.
 *
 * Chunks stay in place: a rank that sends chunk c sends what it has got for c so far. A schedule
 * that keeps chunks elsewhere on their way has "slots": N at the top and in every transfer
 * "src_slot" and "dst_slot", "own" and "done" (none, src, dst or both; see cs/schedule.h), and
 * "starts_own": true if slot c of every rank begins with its chunk c.
 */
#ifndef CS_SCHEDULES_SCHEDULE_JSON_H
#define CS_SCHEDULES_SCHEDULE_JSON_H

#include "algorithms/stored.h"
#include "base/text.h"
#include "cs/job.h"

enum { CS_SCHEDULE_MAX_BYTES = 1 << 30 };

/* Read a file; transfers are read one by one, so that memory is the file plus 32 bytes per
 * transfer. Errors carry file, line and column. The caller owns the schedule
 * (cs_stored_free). */
CS_MUST_CHECK cs_status cs_schedule_load(const char *path, cs_stored **stored_p, cs_error *err);

/* The same from a text; `input` is its name in errors. */
CS_MUST_CHECK cs_status cs_schedule_parse(const char *text, size_t length, const char *input,
                                          cs_stored **stored_p, cs_error *err);

/* The same from JSON only, which asks for nothing of the rest of the library. */
CS_MUST_CHECK cs_status cs_schedule_json_parse(const char *text, size_t length, const char *input,
                                               cs_stored **stored_p, cs_error *err);

/* Is it the collective that it says? Asks no network model. */
CS_MUST_CHECK cs_status cs_schedule_verify(const cs_stored *stored, cs_verdict *verdict_p,
                                           cs_error *err);

/* The scenario that a schedule was made for; alpha, bandwidth, arrivals, faults and seed of
 * `scenario` stay as they are, and so does its size if the schedule has none, so that a run can
 * start from a configuration. */
void cs_schedule_scenario(const cs_stored *stored, cs_scenario *scenario);

/* Write that list of a cluster's servers. */
void cs_schedule_add_servers(const cs_cluster *cluster, cs_text *out);

#endif
