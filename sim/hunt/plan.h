/* SPDX-License-Identifier: GPL-3.0-or-later */
/* hunt/plan.h -- which groups to run next. */
#ifndef CS_HUNT_PLAN_H
#define CS_HUNT_PLAN_H

#include "hunt/belief.h"

/* Add the next round to the hunt, by what is believed now.
 *
 * At first the hosts are cut, in their order, into about sqrt(n bad) groups: that makes the fewest
 * runs if a second round is to find one bad host. (Three at least, from six hosts on: of two that
 * differ, either may be the healthy one.) Later every host that is still suspected gets a
 * group of its own, filled up with hosts that are hardly suspected any more; where they are too
 * many, they are dealt out so that those that were together are together no longer. Groups of the
 * earlier size are kept where there are enough of them, since what is healthy there is known by
 * then. Some groups of hosts that are trusted run beside them as controls; all others are left
 * alone. O(n log n). */
CS_MUST_CHECK cs_status cs_hunt_plan(cs_hunt *hunt, const cs_belief *belief, cs_error *err);

#endif
