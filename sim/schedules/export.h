/* SPDX-License-Identifier: GPL-3.0-or-later */
/* schedules/export.h -- a schedule in formats that other programs read.
 *
 * Text is for people: a head, then the transfers of each round.
 *
 * JSON is what cs_schedule_load() reads (schedules/schedule_json.h has the keys). The schedule
 * comes back with the same transfers, and with the slots of its algorithm where it does not keep
 * every chunk in place.
 *
 * MSCCL is the XML of MSCCL's interpreter, as microsoft/msccl reads it: in place, one send or one
 * receive peer per thread block. It leaves out sizes, fabrics, shared groups and barriers; refused
 * are alltoall, schedules that keep chunks elsewhere on their way, and what exceeds the limits of
 * the runtime.
 *
 * GOAL is LogGOPSim's text: messages with their data dependencies, sends of a rank in order. A
 * barrier only orders each rank's own operations.
 *
 * SVG is a picture for people. It needs a network model, so it has a function of its own.
 */
#ifndef CS_SCHEDULES_EXPORT_H
#define CS_SCHEDULES_EXPORT_H

#include "base/text.h"
#include "cs/job.h"

typedef enum cs_export_format {
    CS_EXPORT_TEXT,
    CS_EXPORT_JSON,
    CS_EXPORT_MSCCL,
    CS_EXPORT_GOAL,
    CS_EXPORT_COUNT
} cs_export_format;

/* More transfers than this are refused. */
enum { CS_EXPORT_MAX_TRANSFERS = 5 * 1000 * 1000 };

/* Add the whole schedule of a resolved job to `out`. O(transfers x span) time and 32 bytes per
 * transfer. */
CS_MUST_CHECK cs_status cs_export_schedule(const cs_job *job, cs_export_format format, cs_text *out,
                                           cs_error *err);

/* Add a picture of a small schedule (output/grid.h has the limits) as it is replayed and
 * verified: ports over time, coloured by stage. */
CS_MUST_CHECK cs_status cs_export_svg(const cs_job *job, cs_text *out, cs_error *err);

#endif
