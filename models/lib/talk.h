/* SPDX-License-Identifier: GPL-3.0-or-later */
/* models/lib/talk.h -- a conversation with a simulator in a process of its own: models/lib/frames.h
 * has what is said.
 *
 * The program is a module (base/module.h), started by cs_talk_start() and ended by cs_talk_close().
 * After the first failure nothing is said and heard any more: `why` tells what happened.
 */
#ifndef CS_MODELS_LIB_TALK_H
#define CS_MODELS_LIB_TALK_H

#include "base/child.h"
#include "cs/error.h"
#include "models/lib/frames.h"

/* `{0}` is closed. */
typedef struct cs_talk {
    const char *program;
    cs_child   *child;  /* owned */
    char       *buffer; /* owned: a frame that is not sent yet */
    size_t      n_buffered, capacity;
    bool        has_failed;
    char        why[300]; /* ... in a line */
} cs_talk;

/* What to say of a program, built where a package is installed, that is nowhere. */
#define CS_TALK_MISSING(program, package)                                       \
    program " is neither beside the program nor among its libraries: build it " \
            "with " package " and g++ installed, or name its folder in COLLSIM_MODULES"

/* Is the program there? */
bool cs_talk_finds(const char *program);

/* Start a program, CS_EMISSING saying `missing` where it is not there, and begin the frame that
 * opens the conversation. Close the talk, whatever comes of it. */
CS_MUST_CHECK cs_status cs_talk_start(cs_talk *talk, const char *program, const char *missing,
                                      cs_error *err);

/* Add to the frame that is sent next. CS_ENOMEM only. */
CS_MUST_CHECK cs_status cs_talk_put(cs_talk *talk, const void *data, size_t bytes);

/* Send OPEN, with what was put, and wait for READY. */
CS_MUST_CHECK cs_status cs_talk_open(cs_talk *talk, cs_error *err);

/* Add an item of two pieces to the frame of work, which is sent when it has grown large and before
 * the next question. A failure to send shows itself in that. CS_ENOMEM only. */
CS_MUST_CHECK cs_status cs_talk_add(cs_talk *talk, const void *item, size_t item_bytes,
                                    const void *list, size_t list_bytes);

/* Ask RUN: `run` is how far. Hears EVENT: `event`, and how many bytes of it are still to be heard.
 * CS_EIO: see `why`. */
CS_MUST_CHECK cs_status cs_talk_run(cs_talk *talk, const void *run, size_t run_bytes, void *event,
                                    size_t event_bytes, size_t *n_more_p);
CS_MUST_CHECK cs_status cs_talk_hear(cs_talk *talk, void *data, size_t bytes);

/* Note a failure that the model has seen: CS_EIO. */
cs_status cs_talk_fail(cs_talk *talk, const char *what);

/* ... which is a reply that cannot be. */
cs_status cs_talk_fail_senseless(cs_talk *talk);

/* End the program and free all. */
void cs_talk_close(cs_talk *talk);

#endif
