/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A table of fixed size, so that a handler can walk it whatever it interrupts: a note is claimed,
 * filled, and only then given its kind.
 */
#include "base/leftover.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

/* More than there are threads, each with a child (CS_MAX_JOBS). */
enum { MOST_NOTES = 2048 };

enum kind { FREE, CLAIMED, GROUP, FILE_OF_OURS, FOLDER };

typedef struct leftover {
    atomic_int  kind;
    pid_t       group;
    const char *path; /* borrowed */
} leftover;

static leftover notes[MOST_NOTES];

void cs_leftovers_hold(sigset_t *before)
{
    sigset_t ending;

    sigemptyset(&ending);
#define X(name) sigaddset(&ending, name);
    CS_ENDING_SIGNALS(X)
#undef X
    (void)pthread_sigmask(SIG_BLOCK, &ending, before);
}

void cs_leftovers_release(const sigset_t *before)
{
    int reason = errno;

    (void)pthread_sigmask(SIG_SETMASK, before, NULL);
    errno = reason;
}

static int note(enum kind kind, pid_t group, const char *path)
{
    for (int i = 0; i < MOST_NOTES; i++) {
        int expected = FREE;
        if (atomic_compare_exchange_strong(&notes[i].kind, &expected, CLAIMED)) {
            notes[i].group = group;
            notes[i].path  = path;
            atomic_store(&notes[i].kind, (int)kind);
            return i;
        }
    }
    return -1;
}

int cs_leftover_file(const char *path)
{
    return note(FILE_OF_OURS, 0, path);
}

int cs_leftover_folder(const char *path)
{
    return note(FOLDER, 0, path);
}

int cs_leftover_group(pid_t group)
{
    return note(GROUP, group, NULL);
}

void cs_leftover_forget(int noted)
{
    if (noted >= 0) {
        atomic_store(&notes[noted].kind, FREE);
    }
}

static void remove_one(const leftover *l, enum kind kind)
{
    switch (kind) {
    case GROUP:
        while (waitpid(l->group, NULL, 0) < 0 && errno == EINTR) {
        }
        break;
    case FILE_OF_OURS: (void)unlink(l->path); break;
    case FOLDER: (void)rmdir(l->path); break;
    case FREE:
    case CLAIMED: break;
    }
}

void cs_leftovers_remove(void)
{
    static const enum kind order[] = {GROUP, FILE_OF_OURS, FOLDER};

    for (int i = 0; i < MOST_NOTES; i++) {
        if (atomic_load(&notes[i].kind) == GROUP) {
            (void)kill(-notes[i].group, SIGKILL);
        }
    }
    for (size_t k = 0; k < sizeof order / sizeof order[0]; k++) {
        for (int i = 0; i < MOST_NOTES; i++) {
            if (atomic_load(&notes[i].kind) == (int)order[k]) {
                remove_one(&notes[i], order[k]);
            }
        }
    }
}
