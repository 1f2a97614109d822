/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Speaking to collsim-simgrid: see models/simgrid/simgrid_line.h. */
#include "models/simgrid/simgrid_line.h"

#include "base/alloc.h"
#include "cs/build.h"
#include "models/lib/links.h"
#include "models/simgrid/protocol.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { BUFFER_BYTES = 1 << 16 };

/* The line is broken: how did the child end? */
static cs_status fail_silent(cs_simgrid_line *line)
{
    char reason[240];

    cs_child_exit_reason(line->child, reason, sizeof reason);
    snprintf(line->why, sizeof line->why, "%s %s", CS_SIMGRID_PROGRAM, reason);
    line->has_failed = true;
    return CS_EIO;
}

cs_status cs_simgrid_line_fail(cs_simgrid_line *line, const char *what)
{
    snprintf(line->why, sizeof line->why, "%s: %s", CS_SIMGRID_PROGRAM, what);
    line->has_failed = true;
    return CS_EIO;
}

static cs_status fail_senseless(cs_simgrid_line *line)
{
    return cs_simgrid_line_fail(line, "a reply makes no sense");
}

static cs_status say(cs_simgrid_line *line, const void *data, size_t bytes)
{
    return cs_child_say(line->child, data, bytes) == CS_OK ? CS_OK : fail_silent(line);
}

static cs_status hear(cs_simgrid_line *line, void *data, size_t bytes)
{
    return cs_child_hear(line->child, data, bytes) == CS_OK ? CS_OK : fail_silent(line);
}

/* The head of the reply that is due. */
static cs_status hear_frame(cs_simgrid_line *line, uint32_t kind, cs_sg_frame *frame)
{
    char text[200] = "";

    if (hear(line, frame, sizeof *frame) != CS_OK) {
        return CS_EIO;
    }
    if (frame->kind == CS_SG_FAILED) {
        size_t bytes = frame->bytes < sizeof text ? frame->bytes : sizeof text - 1;
        if (hear(line, text, bytes) != CS_OK) {
            return CS_EIO;
        }
        text[strcspn(text, "\r\n")] = '\0';
        return cs_simgrid_line_fail(line, text);
    }
    return frame->kind == kind ? CS_OK : fail_senseless(line);
}

/* The platform and how it changes. */
static cs_status send_links(cs_simgrid_line *line, const cs_ports *ports)
{
    uint32_t   n_links   = cs_links_count(ports);
    size_t     n_changes = cs_links_changes(ports, NULL);
    cs_sg_open opening   = {.n_links = n_links, .n_changes = (uint32_t)n_changes};
    size_t     bytes = sizeof opening + n_links * sizeof(double) + n_changes * sizeof(cs_sg_change);
    cs_sg_frame     frame     = {CS_SG_OPEN, (uint32_t)bytes};
    double         *bandwidth = CS_NEW(double, n_links);
    cs_link_change *changes   = CS_NEW(cs_link_change, n_changes);
    cs_status       status    = CS_ENOMEM;

    if (bandwidth != NULL && changes != NULL) {
        (void)snprintf(opening.build, sizeof opening.build, "%s", cs_build());
        cs_links_bandwidth(ports, bandwidth);
        cs_links_changes(ports, changes);
        status = say(line, &frame, sizeof frame);
        status = status == CS_OK ? say(line, &opening, sizeof opening) : status;
        status = status == CS_OK ? say(line, bandwidth, n_links * sizeof *bandwidth) : status;
    }
    for (size_t i = 0; i < n_changes && status == CS_OK; i++) {
        cs_sg_change change = {.time_s        = changes[i].time_s - ports->first_s,
                               .bandwidth_Bps = changes[i].bandwidth_Bps,
                               .link          = changes[i].link};
        status              = say(line, &change, sizeof change);
    }
    cs_free(bandwidth);
    cs_free(changes);
    status = status == CS_OK ? hear_frame(line, CS_SG_READY, &frame) : status;
    return status == CS_OK && frame.bytes != 0 ? fail_senseless(line) : status;
}

cs_status cs_simgrid_line_open(cs_simgrid_line *line, const char *path, const cs_ports *ports,
                               cs_error *err)
{
    const cs_child_program program = {.path = path};
    cs_status              status  = CS_ENOMEM;

    line->buffer = CS_NEW(char, BUFFER_BYTES);
    if (line->buffer != NULL) {
        status = cs_child_start(&program, &line->child, err);
        status = status == CS_OK ? send_links(line, ports) : status;
    }
    if (status == CS_ENOMEM) {
        CS_FAIL(err, CS_ENOMEM, NULL, "out of memory for the links");
    } else if (line->has_failed) {
        CS_FAIL(err, status, "model", "%s", line->why);
    }
    return status;
}

void cs_simgrid_line_close(cs_simgrid_line *line)
{
    cs_child_close(line->child);
    cs_free(line->buffer);
}

static cs_status send_flows(cs_simgrid_line *line)
{
    cs_sg_frame frame  = {CS_SG_FLOWS, line->n_buffered};
    cs_status   status = CS_OK;

    if (line->n_buffered > 0) {
        status           = say(line, &frame, sizeof frame);
        status           = status == CS_OK ? say(line, line->buffer, line->n_buffered) : status;
        line->n_buffered = 0;
    }
    return status;
}

static void put(cs_simgrid_line *line, const void *data, size_t bytes)
{
    memcpy(line->buffer + line->n_buffered, data, bytes);
    line->n_buffered += (uint32_t)bytes;
}

void cs_simgrid_line_add(cs_simgrid_line *line, double begin_s, uint64_t bytes, uint32_t number,
                         const uint32_t *links, uint32_t n)
{
    const cs_sg_flow flow   = {begin_s, bytes, number, n};
    size_t           length = sizeof flow + n * sizeof *links;

    if (!line->has_failed &&
        (line->n_buffered + length <= BUFFER_BYTES || send_flows(line) == CS_OK)) {
        put(line, &flow, sizeof flow);
        put(line, links, n * sizeof *links);
    }
}

cs_status cs_simgrid_line_run(cs_simgrid_line *line, double horizon_s, uint32_t n_flows,
                              double *now_s_p, uint32_t *ended, uint32_t *n_ended_p)
{
    const cs_sg_frame frame = {CS_SG_RUN, sizeof(cs_sg_run)};
    const cs_sg_run   run   = {horizon_s};
    cs_sg_frame       reply = {0};
    cs_sg_event       event = {0};

    if (line->has_failed || send_flows(line) != CS_OK || say(line, &frame, sizeof frame) != CS_OK ||
        say(line, &run, sizeof run) != CS_OK || hear_frame(line, CS_SG_EVENT, &reply) != CS_OK ||
        hear(line, &event, sizeof event) != CS_OK) {
        return CS_EIO;
    }
    bool is_clear = event.n_ended <= n_flows && isfinite(event.now_s) &&
                    event.now_s >= line->now_s &&
                    reply.bytes == sizeof event + event.n_ended * sizeof(uint32_t) &&
                    (event.n_ended > 0 || isfinite(horizon_s));
    if (!is_clear) {
        return fail_senseless(line);
    }
    *now_s_p = line->now_s = event.now_s;
    *n_ended_p             = event.n_ended;
    return hear(line, ended, event.n_ended * sizeof *ended);
}
