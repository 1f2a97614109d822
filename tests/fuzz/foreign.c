/* SPDX-License-Identifier: GPL-3.0-or-later */
/* This file takes the place of base/child.c and base/module.c in the program: a child says what the
 * input has. */
#include "foreign.h"

#include "base/child.h"
#include "base/module.h"
#include "base/text.h"
#include "cs/result.h"
#include "fuzz.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_TRANSFERS = 4000 };

/* The input, and what was said to it. */
struct cs_child {
    const uint8_t *at, *end;
    cs_text        heard; /* bytes of a frame that is not whole yet */
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

static void claim_frame(const cs_talk_frame *frame, const char *body)
{
    cs_talk_opening opening;

    if (frame->kind == CS_TALK_OPEN) {
        FUZZ_CLAIM(frame->bytes >= sizeof opening);
        memcpy(&opening, body, sizeof opening);
        FUZZ_CLAIM(memchr(opening.build, '\0', sizeof opening.build) != NULL);
        claim_open(body + sizeof opening, frame->bytes - sizeof opening);
    } else if (frame->kind == CS_TALK_WORK) {
        claim_work(body, frame->bytes);
    } else {
        FUZZ_CLAIM(frame->kind == CS_TALK_RUN);
        claim_run(body, frame->bytes);
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
            FUZZ_CLAIM(to->is_open == (frame.kind != CS_TALK_OPEN));
            to->is_open = true;
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

static void run(const cs_scenario *scenario, const cs_algorithm *algorithm,
                const cs_options *model_options)
{
    fuzz_limit  limit    = {.transfers_left = MAX_TRANSFERS};
    cs_observer observer = fuzz_limit_observer(&limit);
    cs_job      job      = {.scenario = *scenario, .verify = true};
    cs_result   result   = {0};
    cs_error    err      = {0};

    cs_job_set_algorithm(&job, algorithm, NULL);
    cs_job_set_model(&job, foreign_model, model_options);
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
    cs_options               options   = {0};
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
    cs_fields_default(foreign_model->options, &options);
    foreign_begin(settings, &options);
    run(&c.job.scenario, algorithm, &options);
    cs_case_free(&c);
    cs_config_free(config);
    return 0;
}
