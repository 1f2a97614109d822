/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What signals do to the program: see cli/signals.h. */
#include "cli/signals.h"

#include "base/leftover.h"

#include <stdbool.h>
#include <unistd.h>

static volatile sig_atomic_t stop_asked;

static void ask_to_stop(int number)
{
    (void)number;
    stop_asked = 1;
}

/* Whoever waits for us sees that the signal ended us, as a shell has it: 128 and its number. */
static void clean_and_end(int number)
{
    sigset_t one;

    cs_leftovers_remove();
    (void)signal(number, SIG_DFL);
    sigemptyset(&one);
    sigaddset(&one, number);
    (void)pthread_sigmask(SIG_UNBLOCK, &one, NULL);
    (void)raise(number);
    _exit(128 + number);
}

/* All of them wait while one is handled. */
static void handle(int number, void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};

    sigemptyset(&action.sa_mask);
#define X(name) sigaddset(&action.sa_mask, name);
    CS_ENDING_SIGNALS(X)
#undef X
    (void)sigaction(number, &action, NULL);
}

static bool is_ignored(int number)
{
    struct sigaction action;
    return sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

void cs_signals_install(void)
{
    static const int ending[] = {
#define X(name) name,
        CS_ENDING_SIGNALS(X)
#undef X
    };

    for (size_t i = 0; i < sizeof ending / sizeof ending[0]; i++) {
        if (!is_ignored(ending[i])) {
            handle(ending[i], clean_and_end);
        }
    }
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN);
    (void)signal(SIGCHLD, SIG_DFL); /* who started us may have children reaped by the system */
}

const volatile sig_atomic_t *cs_signals_stop_flag(void)
{
    handle(SIGINT, ask_to_stop);
    handle(SIGTERM, ask_to_stop);
    return &stop_asked;
}
