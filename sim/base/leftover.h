/* SPDX-License-Identifier: GPL-3.0-or-later */
/* base/leftover.h -- what must not outlive the process: temporary files and folders, children.
 *
 * Whoever makes one holds the signals back, makes it, notes it, and lets the signals through again;
 * it is forgotten in the same way when it is gone or has its final name. A signal that ends the
 * process thus finds a note of everything that is there (cs_leftovers_remove). The library notes;
 * only the program handles signals.
 */
#ifndef CS_BASE_LEFTOVER_H
#define CS_BASE_LEFTOVER_H

#include <signal.h>
#include <sys/types.h>

/* The signals that end a program which cleans up behind itself. */
#define CS_ENDING_SIGNALS(X) X(SIGINT) X(SIGTERM) X(SIGHUP)

/* Hold them back from this thread, and let through what was let through before. */
void cs_leftovers_hold(sigset_t *before);
void cs_leftovers_release(const sigset_t *before);

/* Note a file, a folder (to be empty when all noted files are gone), or a group of processes. The
 * path is borrowed until it is forgotten. What is returned is for cs_leftover_forget(); -1 where
 * there are thousands already, of which no more note is taken. */
int cs_leftover_file(const char *path);
int cs_leftover_folder(const char *path);
int cs_leftover_group(pid_t group);

/* -1 is allowed. */
void cs_leftover_forget(int note);

/* Kill the processes and wait for their ends, then remove files and folders. For a handler of
 * signals, in a process that ends: async-signal-safe. */
void cs_leftovers_remove(void);

#endif
