/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tests/support/goal.h -- a reader of GOAL and an interpreter of LogGOPS, written from the rules of
 * the real LogGOPSim (sim/schedules/export_goal.c has them) and apart from the library's writer. */
#ifndef CT_SUPPORT_GOAL_H
#define CT_SUPPORT_GOAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ct_goal ct_goal;

/* Read a file's text. NULL where a rule is broken: `why` (of 200 bytes) then has the line and the
 * reason. Free with ct_goal_free(). */
ct_goal *ct_goal_read(const char *text, char *why);
void     ct_goal_free(ct_goal *goal);

size_t   ct_goal_sends(const ct_goal *goal);
uint32_t ct_goal_ranks(const ct_goal *goal);

/* L, o, g, G in whole nanoseconds, as LogGOPSim takes them; no message is too long to be eager. */
typedef struct ct_loggops {
    uint64_t L, o, g, G;
    bool     is_duplex; /* not LogGOPSim: who receives may send meanwhile */
} ct_loggops;

/* When the last CPU is free, in nanoseconds; UINT64_MAX where some operation never ends. */
uint64_t ct_goal_time(const ct_goal *goal, const ct_loggops *parameters);

#endif
