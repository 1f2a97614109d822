/* SPDX-License-Identifier: GPL-3.0-or-later */
/* traces/measured_choices.h -- how long NCCL's collectives took by the algorithm and the protocol
 * that ran: out of logs of nccl-tests, and of NCCL's Inspector from its version 4.2 on.
 *
 * A log is one of NCCL's own choice unless something was forced: by lines of NCCL in it ("NCCL_ALGO
 * set by environment to Ring", with NCCL_DEBUG=INFO), or because its name is given behind what was
 * forced, "ring/ll128=FILE". Which one ran is said by Inspector's records, and in logs of
 * nccl-tests by NCCL's tuner (NCCL_DEBUG_SUBSYS=TUNING), by JSON (-J), or by what was forced.
 *
 * A row of nccl-tests is one measurement, of its out-of-place side. So is a call of Inspector's:
 * the shortest time of its ranks, of which three quarters must be there, because the others waited.
 * Of more than CS_CALL_LOG_MOST records every second call is kept, then every fourth, and so on.
 */
#ifndef CS_TRACES_MEASURED_CHOICES_H
#define CS_TRACES_MEASURED_CHOICES_H

#include "base/listener.h"
#include "base/text.h"
#include "cs/collective.h"

#include <stdbool.h>
#include <stdint.h>

enum { CS_CHOICE_NAME_BYTES = 16 };

/* One measurement. */
typedef struct cs_measured_choice {
    cs_collective collective;
    uint32_t      n_ranks;
    uint64_t      bytes;                                                  /* nccl-tests' size */
    char algorithm[CS_CHOICE_NAME_BYTES], protocol[CS_CHOICE_NAME_BYTES]; /* "ring", "ll128"; "":
                                                                            not said */
    bool   is_forced;                                                     /* else NCCL chose */
    double time_s;
} cs_measured_choice;

/* `{0}` is empty. */
typedef struct cs_measured_choices {
    cs_measured_choice *all; /* owned */
    size_t              n, capacity;
    cs_text             notes; /* what was left out, a sentence a line */
} cs_measured_choices;

/* Add what is in "[ALGORITHM[/PROTOCOL]=]FILE|FOLDER[,..]". In a folder, files that are no such log
 * are left out and named. `listener` may be NULL. O(n log n). */
CS_MUST_CHECK cs_status cs_measured_choices_read(cs_measured_choices *choices, const char *list,
                                                 const cs_listener *listener, cs_error *err);

void cs_measured_choices_free(cs_measured_choices *choices);

#endif
