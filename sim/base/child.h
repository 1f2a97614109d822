/* SPDX-License-Identifier: GPL-3.0-or-later */
/* base/child.h -- a program that is started to answer questions or to do a job, and a line to it.
 *
 * The line is a stream socket, the child's standard input, over which both speak. What the child
 * prints is kept for its exit reason. It leads a group of processes of its own, of which nothing
 * outlives cs_child_close() or a signal that ends this process (base/leftover.h), and it is left no
 * other open file. A broken line is an error, never a signal. One thread at a time per child.
 */
#ifndef CS_BASE_CHILD_H
#define CS_BASE_CHILD_H

#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct cs_child cs_child;

enum { CS_CHILD_MOST_WORDS = 7 };

typedef struct cs_child_program {
    const char *path;                       /* without a slash it is looked for in PATH */
    const char *words[CS_CHILD_MOST_WORDS]; /* its arguments, up to the first NULL */
    const char *folder;                     /* in which it works; NULL: in ours */
} cs_child_program;

/* Start a program; CS_EMISSING where it is not there. The caller owns the child. */
CS_MUST_CHECK cs_status cs_child_start(const cs_child_program *program, cs_child **child_p,
                                       cs_error *err);

/* Send, or receive, exactly so many bytes; CS_EIO when the child does not answer any more. */
CS_MUST_CHECK cs_status cs_child_send(cs_child *child, const void *data, size_t bytes);
CS_MUST_CHECK cs_status cs_child_receive(cs_child *child, void *data, size_t bytes);

/* Why a child does not answer, in a line: how it ended and the first line that it printed. It is
 * ended first if it has not. */
void cs_child_exit_reason(cs_child *child, char *text, size_t text_bytes);

/* For a child that does its job without being asked: close the line and wait for its end, however
 * long that takes. What it printed goes to `text`, as far as there is room. Did it exit with 0? */
CS_MUST_CHECK bool cs_child_finish(cs_child *child, char *text, size_t text_bytes);

/* Run a program that turns its standard input into its standard output: what it writes is added to
 * `output`, what it complains about goes into the error where it fails. CS_EMISSING where it is not
 * there. */
CS_MUST_CHECK cs_status cs_child_filter(const cs_child_program *program, const cs_text *input,
                                        cs_text *output, cs_error *err);

/* End it and free everything; NULL is allowed. */
void cs_child_close(cs_child *child);

#endif
