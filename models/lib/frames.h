/* SPDX-License-Identifier: GPL-2.0-or-later */
/* models/lib/frames.h -- what a model and its simulator, a program of ours in a child process, say
 * to each other over a stream socket, which is the child's standard input.
 *
 * Both are built together and run on one machine: numbers are as the machine has them. Every
 * message is a cs_talk_frame and that many bytes behind it:
 *
 *   OPEN    model: cs_talk_opening and what the simulator's own protocol.h has; first of all
 *   WORK    model: as often as it likes: what is to be simulated; there is no reply
 *   RUN     model: how far
 *   READY   child: to OPEN, empty
 *   EVENT   child: to RUN: what happened
 *   FAILED  child: instead of a reply, and the last that it says: one line of text
 *
 * A child whose socket is closed ends.
 *
 * This file and models/lib/child.hh are parts of programs that are linked with simulators under
 * version 2 of the licence.
 */
#ifndef CS_MODELS_LIB_FRAMES_H
#define CS_MODELS_LIB_FRAMES_H

#include <stdint.h>

enum { CS_TALK_BUILD_BYTES = 64 };

enum {
    CS_TALK_OPEN = 1,
    CS_TALK_WORK,
    CS_TALK_RUN,
    CS_TALK_READY,
    CS_TALK_EVENT,
    CS_TALK_FAILED,
};

typedef struct cs_talk_frame {
    uint32_t kind, bytes; /* of what follows */
} cs_talk_frame;

/* Both are of one build (cs/build.h), or their results would be of two programs. */
typedef struct cs_talk_opening {
    char build[CS_TALK_BUILD_BYTES];
} cs_talk_opening;

#endif
