/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What collsim-simgrid replies: whatever it is, a replay with the model simgrid says what is wrong
 * in one line, or ends in a time; and what the model asks is what the protocol allows.
 *
 * An input is a byte that picks a scenario and the bytes that the model hears. Neither SimGrid nor
 * a process is there: this file takes the place of base/child.c and base/module.c in the program.
 */
#include "base/alloc.h"
#include "base/child.h"
#include "base/module.h"
#include "base/text.h"
#include "cs/result.h"
#include "fuzz.h"
#include "models/simgrid/protocol.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_TRANSFERS = 4000 };

extern const cs_model cs_model_simgrid;

/* The input, and what was said to it. */
struct cs_child {
    const uint8_t *at, *end;
    cs_text        heard; /* bytes of a frame that is not whole yet */
    uint32_t       n_links, n_flows;
    bool           is_open;
};

static cs_child child; /* of the input that is tried */

bool cs_module_find(const char *file_name, int mode, char *path, size_t path_bytes)
{
    (void)mode;
    (void)snprintf(path, path_bytes, "%s", file_name);
    return true;
}

cs_status cs_child_start(const cs_child_program *program, cs_child **child_p, cs_error *err)
{
    (void)program;
    (void)err;
    *child_p = &child;
    return CS_OK;
}

static void claim_open(const char *body, size_t bytes)
{
    cs_talk_opening opening;
    cs_sg_open      open;

    FUZZ_CLAIM(bytes >= sizeof opening + sizeof open);
    memcpy(&opening, body, sizeof opening);
    FUZZ_CLAIM(memchr(opening.build, '\0', sizeof opening.build) != NULL);
    body += sizeof opening;
    bytes -= sizeof opening;
    memcpy(&open, body, sizeof open);
    FUZZ_CLAIM(bytes ==
               sizeof open + open.n_links * sizeof(double) + open.n_changes * sizeof(cs_sg_change));
    for (uint32_t i = 0; i < open.n_links; i++) {
        double bandwidth_Bps;
        memcpy(&bandwidth_Bps, body + sizeof open + i * sizeof bandwidth_Bps, sizeof bandwidth_Bps);
        FUZZ_CLAIM(isfinite(bandwidth_Bps) && bandwidth_Bps > 0);
    }
    for (uint32_t i = 0; i < open.n_changes; i++) {
        cs_sg_change c;
        memcpy(&c, body + sizeof open + open.n_links * sizeof(double) + i * sizeof c, sizeof c);
        FUZZ_CLAIM(c.time_s >= 0 && c.bandwidth_Bps > 0 && c.link < open.n_links);
    }
    child.n_links = open.n_links;
    child.is_open = true;
}

static void claim_flows(const char *body, size_t bytes)
{
    for (size_t at = 0; at < bytes;) {
        cs_sg_flow flow;
        FUZZ_CLAIM(bytes - at >= sizeof flow);
        memcpy(&flow, body + at, sizeof flow);
        at += sizeof flow;
        FUZZ_CLAIM(isfinite(flow.begin_s) && flow.begin_s >= 0 && flow.n_links >= 1);
        FUZZ_CLAIM((bytes - at) / sizeof(uint32_t) >= flow.n_links);
        for (uint32_t i = 0; i < flow.n_links; i++, at += sizeof(uint32_t)) {
            uint32_t link;
            memcpy(&link, body + at, sizeof link);
            FUZZ_CLAIM(link < child.n_links);
        }
        child.n_flows++;
    }
}

static void claim_frame(const cs_talk_frame *frame, const char *body)
{
    cs_sg_run run;

    FUZZ_CLAIM(child.is_open == (frame->kind != CS_TALK_OPEN));
    if (frame->kind == CS_TALK_OPEN) {
        claim_open(body, frame->bytes);
    } else if (frame->kind == CS_TALK_WORK) {
        claim_flows(body, frame->bytes);
    } else {
        FUZZ_CLAIM(frame->kind == CS_TALK_RUN && frame->bytes == sizeof run);
        memcpy(&run, body, sizeof run);
        FUZZ_CLAIM(run.horizon_s >= 0 && (child.n_flows > 0 || isfinite(run.horizon_s)));
    }
}

cs_status cs_child_send(cs_child *to, const void *data, size_t bytes)
{
    cs_talk_frame frame;

    cs_text_add_bytes(&to->heard, data, bytes);
    if (to->heard.length >= sizeof frame) {
        memcpy(&frame, to->heard.data, sizeof frame);
        FUZZ_CLAIM(to->heard.length <= sizeof frame + frame.bytes);
        if (to->heard.length == sizeof frame + frame.bytes) {
            claim_frame(&frame, to->heard.data + sizeof frame);
            cs_text_free(&to->heard);
        }
    }
    return CS_OK;
}

cs_status cs_child_receive(cs_child *from, void *data, size_t bytes)
{
    if (bytes > (size_t)(from->end - from->at)) {
        return CS_EIO;
    }
    if (bytes > 0) {
        memcpy(data, from->at, bytes);
    }
    from->at += bytes;
    return CS_OK;
}

void cs_child_exit_reason(cs_child *of, char *text, size_t text_bytes)
{
    (void)of;
    (void)snprintf(text, text_bytes, "ended with status 1");
}

void cs_child_close(cs_child *of)
{
    if (of != NULL) {
        cs_text_free(&of->heard);
    }
}

/* ---- scenarios ---- */

static void run(const cs_scenario *scenario, const cs_algorithm *algorithm)
{
    fuzz_limit  limit    = {.transfers_left = MAX_TRANSFERS};
    cs_observer observer = fuzz_limit_observer(&limit);
    cs_job      job      = {.scenario = *scenario, .verify = true};
    cs_result   result   = {0};
    cs_error    err      = {0};

    cs_job_set_algorithm(&job, algorithm, NULL);
    cs_job_set_model(&job, &cs_model_simgrid, NULL);
    cs_status status = cs_job_run(&job, &observer, 1, &result, &err);
    if (status != CS_OK) {
        fuzz_claim_error(status, &err);
        return;
    }
    FUZZ_CLAIM(result.verified);
    FUZZ_CLAIM(isfinite(result.elapsed_s) && result.elapsed_s >= 0);
    FUZZ_CLAIM(result.exposed_s <= result.elapsed_s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length)
{
    static const char *const names[] = {"ring", "rhd", "allpairs", "rhd"};
    double                   late[4] = {0, 0, 1e-3, 0};
    cs_capacity              slow    = {.rank = 1, .slowdown = 2, .from_s = 1e-5, .until_s = 1e-3};
    const cs_algorithm      *algorithm = NULL;
    uint8_t                  settings  = length > 0 ? data[0] : 0;
    cs_config               *config    = NULL;
    cs_case                  c         = {0};

    FUZZ_CLAIM(cs_config_new(&config, NULL) == CS_OK);
    FUZZ_CLAIM(cs_config_set(config, "cluster.ranks", "4", "--set", NULL) == CS_OK);
    FUZZ_CLAIM(cs_config_case(config, 0, &c, NULL) == CS_OK);
    FUZZ_CLAIM(cs_algorithm_find(names[settings & 3], &algorithm, NULL) == CS_OK);
    c.job.scenario.bytes      = 1 << 16;
    c.job.scenario.arrival_s  = (settings & 4) != 0 ? late : NULL;
    c.job.scenario.capacity   = (settings & 8) != 0 ? &slow : NULL;
    c.job.scenario.n_capacity = (settings & 8) != 0 ? 1 : 0;
    child                     = (cs_child){.at = data + (length > 0 ? 1 : 0), .end = data + length};
    run(&c.job.scenario, algorithm);
    cs_case_free(&c);
    cs_config_free(config);
    return 0;
}
