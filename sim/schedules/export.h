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
 * the limits of the runtime goal   text of LogGOPSim's GOAL: messages with their data dependencies,
 * sends of a rank in order. A barrier only orders each rank's own operations svg    a picture for
 * people; it needs a network model, so it has a function of its own
 */
#ifndef CS_SCHEDULES_EXPORT_H
#define CS_SCHEDULES_EXPORT_H

#include "base/text.h"
#include "cs/job.h"

/* One row per format: enum and name. */
#define CS_EXPORT_MAP(X) X(TEXT, "text") X(JSON, "json") X(MSCCL, "msccl") X(GOAL, "goal")

typedef enum cs_export_format {
#define X(id, name) CS_EXPORT_##id,
    CS_EXPORT_MAP(X)
#undef X
        CS_EXPORT_COUNT
} cs_export_format;

/* More transfers than this are refused. */
enum { CS_EXPORT_MAX_TRANSFERS = 5 * 1000 * 1000 };

/* Find a format by its name; CS_EINVAL names the choices. */
CS_MUST_CHECK cs_status cs_export_find(const char *name, cs_export_format *format_p, cs_error *err);

/* Add the whole schedule of a resolved job to `out`. O(transfers x span) time and 32 bytes per
 * transfer. */
CS_MUST_CHECK cs_status cs_export_schedule(const cs_job *job, cs_export_format format, cs_text *out,
                                           cs_error *err);

/* Add a picture of a small schedule (output/grid.h has the limits) as it is replayed and
 * verified: ports over time, coloured by stage. */
CS_MUST_CHECK cs_status cs_export_svg(const cs_job *job, cs_text *out, cs_error *err);

#endif
