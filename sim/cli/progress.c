/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How far a command is: see progress.h. */
#include "cli/progress.h"

#include "output/progress.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

static cs_progress progress;
static bool        is_shown; /* something was begun that is to be seen */

static double now_s(void)
{
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* What cannot be written is not missed. */
static void say(cs_text *text)
{
    if (text->length > 0) {
        (void)fwrite(text->data, 1, text->length, stderr);
        (void)fflush(stderr);
    }
    cs_text_free(text);
}

void cs_cli_progress_begin(const char *what, bool is_quiet)
{
    is_shown = !is_quiet;
    cs_progress_begin(&progress, what, isatty(STDERR_FILENO) != 0, now_s());
}

void cs_cli_progress(uint64_t done, uint64_t total)
{
    cs_text text = {0};

    if (is_shown) {
        cs_progress_step(&progress, done, total, now_s(), &text);
        say(&text);
    }
}

static void told(void *user, uint64_t done, uint64_t total)
{
    (void)user;
    cs_cli_progress(done, total);
}

const cs_listener cs_cli_listener = {.told = told};

void cs_cli_progress_hide(void)
{
    cs_text text = {0};

    if (is_shown) {
        cs_progress_hide(&progress, &text);
        say(&text);
    }
}

void cs_cli_progress_end(void)
{
    cs_cli_progress_hide();
    is_shown = false;
}
