/* SPDX-License-Identifier: GPL-3.0-or-later */
/* capture/mpi_watchdog.h -- ends a run that hangs: a rank that was stopped, a host that is gone, a
 * network that takes nothing any more.
 *
 * A thread of each rank knows what the rank is at, and until when. When rank 0 is too late, it asks
 * all ranks, whose threads answer; then it prints what was going on and who did not answer, and
 * ends all (MPI_Abort, exit code 3). Another rank does that if rank 0 has not a few seconds later.
 * A rank that dies is noticed by mpirun, which ends the others.
 */
#ifndef CAPTURE_MPI_WATCHDOG_H
#define CAPTURE_MPI_WATCHDOG_H

#include "cs/error.h"

typedef struct cap_watchdog cap_watchdog;

/* All ranks call it, with the same limit. The caller owns it. CS_ENOMEM, CS_EIO. */
cs_status cap_watchdog_start(const char *program, double limit_s, cap_watchdog **watchdog_p,
                             cs_error *err);

/* What follows, "what repetition", is to be done in the limit from now on, and `more_s` besides.
 * The text is copied. */
void cap_watchdog_expect(cap_watchdog *watchdog, double more_s, const char *format, ...)
    CS_PRINTF(3, 4);

/* All ranks call it. NULL is allowed. */
void cap_watchdog_end(cap_watchdog *watchdog);

#endif
