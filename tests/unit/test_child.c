/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A shell as a child, which does what it is told over the line. */
#include "base/child.h"

#include "base/alloc.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static cs_child *shell(void)
{
    cs_child *child = NULL;
    cs_error  err   = {0};

    cr_assert_eq(cs_child_start("/bin/sh", &child, &err), CS_OK, "%s", err.message);
    cr_assert_gt(cs_child_pid(child), 0);
    return child;
}

static void tell(cs_child *child, const char *command)
{
    cr_assert_eq(cs_child_say(child, command, strlen(command)), CS_OK);
}

static void expect_no_child(void)
{
    cr_assert(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD, "a process is left");
}

Test(child, answers)
{
    cs_child *child    = shell();
    char      text[16] = "";

    for (int i = 0; i < 3; i++) {
        tell(child, "printf 'what %d\\n' 17 >&0\n");
        cr_assert_eq(cs_child_hear(child, text, 8), CS_OK);
        cr_assert_eq(memcmp(text, "what 17\n", 8), 0);
    }
    cs_child_close(child);
    expect_no_child();
}

/* Only the standard files, and the folder that ls reads. */
Test(child, inherits_no_file)
{
    cs_child *one = shell(), *two = shell();
    char      text[8] = "";

    tell(two, "n=$(ls /proc/self/fd | wc -l); echo $((n)) >&0\n");
    cr_assert_eq(cs_child_hear(two, text, 2), CS_OK);
    cr_assert_eq(memcmp(text, "4\n", 2), 0, "%s", text);
    cs_child_close(one);
    cs_child_close(two);
    expect_no_child();
}

Test(child, has_an_obituary)
{
    cs_child *child = shell();
    char      text[200], byte;

    tell(child, "echo first; echo second >&2; exit 3\n");
    cr_assert_eq(cs_child_hear(child, &byte, 1), CS_EIO);
    cs_child_obituary(child, text, sizeof text);
    cr_assert_str_eq(text, "ended with status 3: first");
    cs_child_close(child);
    child = shell();
    tell(child, "kill -9 $$\n");
    cr_assert_eq(cs_child_hear(child, &byte, 1), CS_EIO);
    cs_child_obituary(child, text, sizeof text);
    cr_assert_str_eq(text, "was ended by signal 9");
    /* No SIGPIPE: the test would end here. */
    cr_assert_eq(cs_child_say(child, "x", 1), CS_EIO);
    cs_child_close(child);
    expect_no_child();
}

/* One that sleeps, one that was never talked to. */
Test(child, is_ended_by_close)
{
    cs_child *child = shell();

    tell(child, "trap '' TERM; sleep 60\n");
    cs_child_close(child);
    cs_child_close(shell());
    cs_child_close(NULL);
    expect_no_child();
}

Test(child, that_cannot_be_started_is_an_error)
{
    cs_child *child = NULL;
    cs_error  err   = {0};

    cr_assert_eq(cs_child_start("/nowhere/program", &child, &err), CS_EIO);
    cr_assert_not_null(strstr(err.message, "/nowhere/program cannot be started"));
    cs_alloc_fail_after(0);
    err              = (cs_error){0};
    cs_status status = cs_child_start("/bin/sh", &child, &err);
    cs_alloc_fail_after(-1);
    cr_assert_eq(status, CS_ENOMEM);
    cr_assert_null(child);
    expect_no_child();
}

/* Even where the standard files are closed, they are the child's own and nobody else's. */
Test(child, may_be_started_without_standard_files)
{
    char      text[4] = "";
    int       kept    = dup(STDERR_FILENO);
    cs_child *child   = NULL;

    close(STDIN_FILENO);
    close(STDOUT_FILENO);
    close(STDERR_FILENO);
    cs_status status = cs_child_start("/bin/sh", &child, NULL);
    (void)dup2(kept, STDERR_FILENO);
    cr_assert_eq(status, CS_OK);
    tell(child, "echo yes >&0\n");
    cr_assert_eq(cs_child_hear(child, text, 4), CS_OK);
    cr_assert_eq(memcmp(text, "yes\n", 4), 0);
    cs_child_close(child);
}
