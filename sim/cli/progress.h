/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli/progress.h -- how far a command is, on standard error: a bar on a terminal, elsewhere a line
 * every 10 s (output/progress.h). There is one at a time. */
#ifndef CS_CLI_PROGRESS_H
#define CS_CLI_PROGRESS_H

#include "base/listener.h"

#include <stdbool.h>
#include <stdint.h>

/* Begin; `what` is borrowed until the end. With `is_quiet` nothing is said. */
void cs_cli_progress_begin(const char *what, bool is_quiet);

/* So much is done. For one thread at a time; nothing is said where nothing was begun. */
void cs_cli_progress(uint64_t done, uint64_t total);

/* Who tells that. */
extern const cs_listener cs_cli_listener;

/* Take the bar away, before something else is written to standard error or output. It comes back.
 */
void cs_cli_progress_hide(void);

void cs_cli_progress_end(void);

/* The row -q of a command whose job has a bool there. */
#define CS_QUIET_ROW(type_, field_) \
    CS_ARG_FLAG(type_, field_, 'q', "quiet", "say nothing about the progress")

#endif
