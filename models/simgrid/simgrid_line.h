/* SPDX-License-Identifier: GPL-3.0-or-later */
/* models/simgrid/simgrid_line.h -- the conversation with collsim-simgrid; what is said is in
 * models/simgrid/protocol.h. After the first failure a line says and hears nothing any more. */
#ifndef CS_MODELS_SIMGRID_SIMGRID_LINE_H
#define CS_MODELS_SIMGRID_SIMGRID_LINE_H

#include "base/child.h"
#include "cs/model.h"

typedef struct cs_simgrid_line {
    cs_child *child;  /* owned */
    char     *buffer; /* owned: a frame of flows that is not sent yet */
    uint32_t  n_buffered;
    double    now_s; /* the last that it heard; time never goes back */
    bool      has_failed;
    char      why[300]; /* ... in a line */
} cs_simgrid_line;

#define CS_SIMGRID_PROGRAM "collsim-simgrid"

/* Start the program at `path` and describe the links to it. `line` is zeroed; close it, whatever
 * comes of it. */
CS_MUST_CHECK cs_status cs_simgrid_line_open(cs_simgrid_line *line, const char *path,
                                             const cs_ports *ports, cs_error *err);
void                    cs_simgrid_line_close(cs_simgrid_line *line);

/* A flow over `n` links, from `begin_s` (after the first arrival) on. A failure shows itself in the
 * next question. */
void cs_simgrid_line_add(cs_simgrid_line *line, double begin_s, uint64_t bytes, uint32_t number,
                         const uint32_t *links, uint32_t n);

/* Let SimGrid go on until a flow ends, at most to `horizon_s`. Gives its time and which flows, of
 * `n_flows` that are there, end now: `ended` has room for them. CS_EIO: see `why`. */
CS_MUST_CHECK cs_status cs_simgrid_line_run(cs_simgrid_line *line, double horizon_s,
                                            uint32_t n_flows, double *now_s_p, uint32_t *ended,
                                            uint32_t *n_ended_p);

/* Note a failure that the model has seen: CS_EIO. */
cs_status cs_simgrid_line_fail(cs_simgrid_line *line, const char *what);

#endif
