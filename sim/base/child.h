/* SPDX-License-Identifier: GPL-3.0-or-later */
/* base/child.h -- a program that is started to answer questions, and a line to it.
 *
 * The line is a stream socket, the child's standard input, over which both speak. What the child
 * prints is kept for its obituary. Nothing of it outlives cs_child_close(), and it is left no
 * other open file. A broken line is an error, never a signal. One thread at a time per child.
 */
#ifndef CS_BASE_CHILD_H
#define CS_BASE_CHILD_H

#include "cs/error.h"

#include <stddef.h>
#include <sys/types.h>

typedef struct cs_child cs_child;

/* Start the program at `path`, without arguments. The caller owns the child. */
CS_MUST_CHECK cs_status cs_child_start(const char *path, cs_child **child_p, cs_error *err);

/* Say, or hear, exactly so many bytes; CS_EIO when the child does not play its part any more. */
CS_MUST_CHECK cs_status cs_child_say(cs_child *child, const void *data, size_t bytes);
CS_MUST_CHECK cs_status cs_child_hear(cs_child *child, void *data, size_t bytes);

/* Why a child fell silent, in a line: how it ended and the first line that it printed. It is ended
 * first if it has not. */
void cs_child_obituary(cs_child *child, char *text, size_t text_bytes);

/* Its process. */
pid_t cs_child_pid(const cs_child *child);

/* End it and free everything; NULL is allowed. */
void cs_child_close(cs_child *child);

#endif
