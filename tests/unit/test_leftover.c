/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is noted is removed, what was forgotten is left, and no signal comes in between. */
#include "base/leftover.h"

#include "support/folder.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[CT_FOLDER_BYTES];

static void set_up(void)
{
    ct_folder_make(folder);
}

static void tear_down(void)
{
    ct_folder_remove(folder);
}

TestSuite(leftover, .init = set_up, .fini = tear_down);

static bool is_there(const char *path)
{
    struct stat info;
    return lstat(path, &info) == 0;
}

static void make_file(const char *path)
{
    FILE *file = fopen(path, "w");

    cr_assert_not_null(file);
    cr_assert_eq(fclose(file), 0);
}

/* A folder is noted before what is in it, and there is a process that would write into it. */
Test(leftover, what_is_noted_is_removed)
{
    char  inner[128], file[160], kept[128], forgotten[128];
    pid_t child = fork();

    if (child == 0) {
        (void)setpgid(0, 0);
        for (;;) {
            (void)pause();
        }
    }
    cr_assert_gt(child, 0);
    (void)setpgid(child, child);
    (void)snprintf(inner, sizeof inner, "%s/inner", folder);
    (void)snprintf(file, sizeof file, "%s/file", inner);
    (void)snprintf(kept, sizeof kept, "%s/kept", folder);
    (void)snprintf(forgotten, sizeof forgotten, "%s/forgotten", folder);
    cr_assert_eq(mkdir(inner, 0700), 0);
    make_file(file);
    make_file(kept);
    make_file(forgotten);
    int note = cs_leftover_file(forgotten);
    (void)cs_leftover_folder(inner);
    (void)cs_leftover_file(file);
    (void)cs_leftover_group(child);
    cs_leftover_forget(note);
    cs_leftovers_remove();
    cr_expect_not(is_there(inner));
    cr_expect(is_there(kept));
    cr_expect(is_there(forgotten));
    cr_expect(waitpid(child, NULL, WNOHANG) == -1 && errno == ECHILD, "it is not waited for");
}

/* There is room for a child of each thread, and one note too many is no harm. */
Test(leftover, notes_are_used_again)
{
    char      path[128];
    const int most = 5000;
    int       n    = 0;

    (void)snprintf(path, sizeof path, "%s/file", folder);
    while (n < most && cs_leftover_file(path) >= 0) {
        n++;
    }
    cr_assert(n > 1024 && n < most, "%d", n);
    cs_leftover_forget(-1);
    cs_leftover_forget(n / 2);
    cr_expect_eq(cs_leftover_file(path), n / 2);
    cr_expect_eq(cs_leftover_file(path), -1);
    make_file(path);
    cs_leftovers_remove();
    cr_expect_not(is_there(path));
}

static volatile sig_atomic_t n_came;

static void count(int number)
{
    (void)number;
    n_came++;
}

Test(leftover, signals_are_held_back_until_they_are_released)
{
    sigset_t outer, inner;

    cr_assert(signal(SIGTERM, count) != SIG_ERR && signal(SIGHUP, count) != SIG_ERR);
    cs_leftovers_hold(&outer);
    cs_leftovers_hold(&inner);
    cr_assert_eq(raise(SIGTERM), 0);
    cr_assert_eq(raise(SIGHUP), 0);
    cs_leftovers_release(&inner);
    cr_expect_eq(n_came, 0);
    errno = EEXIST;
    cs_leftovers_release(&outer);
    cr_expect_eq(n_came, 2);
    cr_expect_eq(errno, EEXIST);
}
