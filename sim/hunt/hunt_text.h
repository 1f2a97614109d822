/* SPDX-License-Identifier: GPL-3.0-or-later */
/* hunt/hunt_text.h -- what is known, and what to run next, for people and for programs. */
#ifndef CS_HUNT_HUNT_TEXT_H
#define CS_HUNT_HUNT_TEXT_H

#include "hunt/simulate.h"

/* What is there to say. `next`: the round to run (from 0 on), of which the runs without a result
 * are meant; CS_HUNT_NO_ROUND: the answer is sure. */
#define CS_HUNT_NO_ROUND UINT32_MAX
typedef struct cs_hunt_report {
    const cs_hunt   *hunt;
    const cs_belief *belief;
    uint32_t         next;
} cs_hunt_report;

/* Comments of a shell, behind which the script of the next round follows. */
void cs_hunt_report_table(const cs_hunt_report *report, cs_text *text);
void cs_hunt_report_json(const cs_hunt_report *report, cs_text *text);

/* Of simulated hunts. */
typedef struct cs_hunt_trials {
    const cs_hunt         *like;
    const cs_hunt_planted *planted;
    const cs_hunt_tally   *tally;
    uint64_t               seed;
} cs_hunt_trials;
void cs_hunt_trials_table(const cs_hunt_trials *trials, cs_text *text);
void cs_hunt_trials_json(const cs_hunt_trials *trials, cs_text *text);

#endif
