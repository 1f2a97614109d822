/* SPDX-License-Identifier: GPL-3.0-or-later */
/* config/whatif_faults.h -- the keys "faults" and "bandwidth_trace" of a job. */
#ifndef CS_CONFIG_WHATIF_FAULTS_H
#define CS_CONFIG_WHATIF_FAULTS_H

#include "config/field.h"
#include "config/whatif_json.h"

/* Fill the job's outages; its cluster is there already. `input` is the configuration's file (or
 * NULL): the trace's path is relative to its folder. */
void cs_read_outages(cs_reading *r, const cs_field *root, const char *input, cs_whatif_job *job);

#endif
