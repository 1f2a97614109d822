/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/lib/talk.h"

#include "base/alloc.h"
#include "base/module.h"
#include "cs/build.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { FIRST_BYTES = 1 << 12, WORK_BYTES = 1 << 16 };

bool cs_talk_finds(const char *program)
{
    char path[PATH_MAX + 64];

    return cs_module_find(program, X_OK, path, sizeof path);
}

/* The line is broken: how did the child end? */
static cs_status fail_silent(cs_talk *talk)
{
    char exit_reason[240];

    cs_child_exit_reason(talk->child, exit_reason, sizeof exit_reason);
    snprintf(talk->why, sizeof talk->why, "%s %s", talk->program, exit_reason);
    talk->has_failed = true;
    return CS_EIO;
}

cs_status cs_talk_fail(cs_talk *talk, const char *what)
{
    snprintf(talk->why, sizeof talk->why, "%s: %s", talk->program, what);
    talk->has_failed = true;
    return CS_EIO;
}

cs_status cs_talk_fail_senseless(cs_talk *talk)
{
    return cs_talk_fail(talk, "a reply makes no sense");
}

static cs_status say(cs_talk *talk, const void *data, size_t bytes)
{
    return cs_child_send(talk->child, data, bytes) == CS_OK ? CS_OK : fail_silent(talk);
}

cs_status cs_talk_hear(cs_talk *talk, void *data, size_t bytes)
{
    return cs_child_receive(talk->child, data, bytes) == CS_OK ? CS_OK : fail_silent(talk);
}

/* The head of the reply that is due. */
static cs_status hear_frame(cs_talk *talk, uint32_t kind, cs_talk_frame *frame)
{
    char text[200] = "";

    CS_TRY(cs_talk_hear(talk, frame, sizeof *frame));
    if (frame->kind == CS_TALK_FAILED) {
        size_t bytes = frame->bytes < sizeof text ? frame->bytes : sizeof text - 1;
        CS_TRY(cs_talk_hear(talk, text, bytes));
        text[strcspn(text, "\r\n")] = '\0';
        return cs_talk_fail(talk, text);
    }
    return frame->kind == kind ? CS_OK : cs_talk_fail_senseless(talk);
}

cs_status cs_talk_put(cs_talk *talk, const void *data, size_t bytes)
{
    if (!cs_grow(&talk->buffer, &talk->capacity, talk->n_buffered + bytes, FIRST_BYTES, 1)) {
        return CS_ENOMEM;
    }
    if (bytes > 0) {
        memcpy(talk->buffer + talk->n_buffered, data, bytes);
    }
    talk->n_buffered += bytes;
    return CS_OK;
}

/* What was put is a frame of this kind. */
static cs_status send_frame(cs_talk *talk, uint32_t kind)
{
    cs_talk_frame frame = {kind, (uint32_t)talk->n_buffered};

    CS_TRY(say(talk, &frame, sizeof frame));
    CS_TRY(say(talk, talk->buffer, talk->n_buffered));
    talk->n_buffered = 0;
    return CS_OK;
}

cs_status cs_talk_start(cs_talk *talk, const char *program, const char *missing, cs_error *err)
{
    char             path[PATH_MAX + 64];
    cs_child_program started = {.path = path};
    cs_talk_opening  opening = {.build = ""};

    *talk = (cs_talk){.program = program};
    if (!cs_module_find(program, X_OK, path, sizeof path)) {
        return CS_FAIL(err, CS_EMISSING, "model", "%s", missing);
    }
    CS_TRY(cs_child_start(&started, &talk->child, err));
    (void)snprintf(opening.build, sizeof opening.build, "%s", cs_build());
    return cs_talk_put(talk, &opening, sizeof opening) == CS_OK ? CS_OK
                                                                : CS_NO_MEMORY(err, "the links");
}

cs_status cs_talk_open(cs_talk *talk, cs_error *err)
{
    cs_talk_frame frame = {0};

    if (send_frame(talk, CS_TALK_OPEN) == CS_OK &&
        hear_frame(talk, CS_TALK_READY, &frame) == CS_OK && frame.bytes > 0) {
        (void)cs_talk_fail_senseless(talk);
    }
    return talk->has_failed ? CS_FAIL(err, CS_EIO, "model", "%s", talk->why) : CS_OK;
}

cs_status cs_talk_add(cs_talk *talk, const void *item, size_t item_bytes, const void *list,
                      size_t list_bytes)
{
    size_t bytes = item_bytes + list_bytes;

    if (talk->has_failed) {
        return CS_OK;
    }
    if (talk->n_buffered > 0 && talk->n_buffered + bytes > WORK_BYTES &&
        send_frame(talk, CS_TALK_WORK) != CS_OK) {
        return CS_OK;
    }
    CS_TRY(cs_talk_put(talk, item, item_bytes));
    return cs_talk_put(talk, list, list_bytes);
}

cs_status cs_talk_run(cs_talk *talk, const void *run, size_t run_bytes, void *event,
                      size_t event_bytes, size_t *n_more_p)
{
    const cs_talk_frame frame = {CS_TALK_RUN, (uint32_t)run_bytes};
    cs_talk_frame       reply = {0};

    if (talk->has_failed || (talk->n_buffered > 0 && send_frame(talk, CS_TALK_WORK) != CS_OK)) {
        return CS_EIO;
    }
    CS_TRY(say(talk, &frame, sizeof frame));
    CS_TRY(say(talk, run, run_bytes));
    CS_TRY(hear_frame(talk, CS_TALK_EVENT, &reply));
    if (reply.bytes < event_bytes) {
        return cs_talk_fail_senseless(talk);
    }
    *n_more_p = reply.bytes - event_bytes;
    return cs_talk_hear(talk, event, event_bytes);
}

void cs_talk_close(cs_talk *talk)
{
    cs_child_close(talk->child);
    cs_free(talk->buffer);
    *talk = (cs_talk){0};
}
