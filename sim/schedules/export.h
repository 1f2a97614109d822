/* SPDX-License-Identifier: GPL-3.0-or-later */
/* schedules/export.h -- a schedule in formats that other programs read.
 *
 *   text   for people: a head, then the transfers of each round
 *   json   what cs_schedule_load() reads (schedules/schedule_json.h has the keys); the schedule
 *          comes back with the same transfers, and with the slots of its algorithm where it
 *          does not keep every chunk in place
 *   msccl  XML of MSCCL's interpreter, as microsoft/msccl reads it: in place, one send or one
 *          receive peer per thread block. Leaves out sizes, fabrics, shared groups and barriers;
 *          refuses alltoall, schedules that keep chunks elsewhere on their way, and what exceeds
 *          the limits of the runtime
 *   mscclpp  an execution plan of MSCCL++ (schedules/mscclpp.h): in place, with its signals, one
 *          thread block of a GPU at a time. Leaves out and refuses what msccl does, within the
 *          limits of that executor
 *   goal   text of LogGOPSim's GOAL: messages with their data dependencies, sends of a rank in
 *          order. A barrier only orders each rank's own operations
 *   svg    a picture of a small schedule (output/grid.h has the limits) as it is replayed on the
 *          job's model and verified: ports over time, coloured by stage
 */
#ifndef CS_SCHEDULES_EXPORT_H
#define CS_SCHEDULES_EXPORT_H

#include "base/text.h"
#include "cs/job.h"

/* One line per format: its enum, its word, and what makes it: a writer of recorded schedules
 * (schedules/export_list.h), or of a replay. */
#define CS_EXPORTS(X)                                 \
    X(TEXT, "text", .write = cs_export_text)          \
    X(JSON, "json", .write = cs_export_json)          \
    X(MSCCL, "msccl", .write = cs_export_msccl)       \
    X(MSCCLPP, "mscclpp", .write = cs_export_mscclpp) \
    X(GOAL, "goal", .write = cs_export_goal)          \
    X(SVG, "svg", .draw = cs_export_svg)

typedef enum cs_export_format {
#define X(id, ...) CS_EXPORT_##id,
    CS_EXPORTS(X)
#undef X
        CS_EXPORT_COUNT
} cs_export_format;

/* "text|json|..", as a literal. */
#define CS_EXPORT_WORD(id, word, ...) "|" word
#define CS_EXPORT_CHOICES             (&(CS_EXPORTS(CS_EXPORT_WORD))[1])

/* More transfers than this are refused. */
enum { CS_EXPORT_MAX_TRANSFERS = 5 * 1000 * 1000 };

/* Add the whole schedule of a resolved job to `out`. O(transfers x span) time and 32 bytes per
 * transfer. */
CS_MUST_CHECK cs_status cs_export_schedule(const cs_job *job, cs_export_format format, cs_text *out,
                                           cs_error *err);

#endif
