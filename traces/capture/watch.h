/* SPDX-License-Identifier: GPL-3.0-or-later */
/* capture/watch.h -- what happens beside a repetition: a watchdog on every processor that notices
 * when the machine stands still, and commands at given times. */
#ifndef CAPTURE_WATCH_H
#define CAPTURE_WATCH_H

#include "cs/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- the watchdog ---- */

typedef struct cap_watch cap_watch;

/* A thread on every processor (SCHED_FIFO 1 where that is permitted) that sleeps for half a
 * millisecond at a time. CS_ENOMEM, CS_EIO. The caller owns it; stop() takes NULL. */
cs_status cap_watch_start(cap_watch **watch_p, cs_error *err);
void      cap_watch_stop(cap_watch *watch);

/* By how much the longest of these sleeps since the last call was too long, in seconds. */
double cap_watch_worst_s(cap_watch *watch);

/* Processor time since the machine started, in ticks: busy, and all of it. False: /proc/stat says
 * nothing. */
bool cap_processor_ticks(double *busy_p, double *total_p);

/* ---- commands at times ---- */

/* What to do `at_s` after the start of a repetition, and when it was done in the last one. */
typedef struct cap_change {
    double      at_s;
    const char *command; /* of a shell, one line; borrowed */
    double      begin_s, end_s;
} cap_change;

typedef struct cap_changer cap_changer;

/* A shell that runs all along, so that a change only costs its own command, with that SCHED_FIFO
 * priority where it is permitted (0: none). CS_ENOMEM, CS_EIO. The
 * caller owns it; close() takes NULL. */
cs_status cap_changer_open(int priority, cap_changer **changer_p, cs_error *err);
void      cap_changer_close(cap_changer *changer);

/* Run a command now and wait for it. CS_EIO: it has failed. */
cs_status cap_changer_run(cap_changer *changer, const char *command, cs_error *err);

/* Start with `start_s` (CLOCK_MONOTONIC) as time 0; changes are in the order of their times.
 * finish() ends what was not begun, kills a command that goes on for 10 s, and says what has
 * failed. */
cs_status cap_changer_begin(cap_changer *changer, cap_change *changes, size_t n, double start_s,
                            cs_error *err);
cs_status cap_changer_finish(cap_changer *changer, cs_error *err);

#endif
