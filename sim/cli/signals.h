/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli/signals.h -- what signals do to the program: the same in every command. */
#ifndef CS_CLI_SIGNALS_H
#define CS_CLI_SIGNALS_H

#include <signal.h>

/* For the beginning of the program. Those that end it (CS_ENDING_SIGNALS) end children and remove
 * temporary files first, and then end it as if they were not handled. One that was ignored stays so
 * (nohup). Broken pipes and limits on files are errors of the write, and no signals. */
void cs_signals_install(void);

/* From now on SIGINT and SIGTERM, even if they were ignored, make the flag true, and end nothing.
 */
const volatile sig_atomic_t *cs_signals_stop_flag(void);

#endif
