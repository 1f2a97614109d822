/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A shell as a child, which does what it is told over the line. */
#include "base/child.h"

#include "base/alloc.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const cs_child_program sh = {.path = "/bin/sh"};

static cs_child *shell(void)
{
    cs_child *child = NULL;
    cs_error  err   = {0};

    cr_assert_eq(cs_child_start(&sh, &child, &err), CS_OK, "%s", err.message);
    return child;
}

static void tell(cs_child *child, const char *command)
{
    cr_assert_eq(cs_child_send(child, command, strlen(command)), CS_OK);
}

static void expect_no_child(void)
{
    cr_assert(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD, "a process is left");
}

/* Does a process run, and is no zombie that nobody has waited for? */
static bool runs(pid_t pid)
{
    char path[40], line[200] = "";

    (void)snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    FILE *file = fopen(path, "r");
    bool  is   = file != NULL && fgets(line, sizeof line, file) != NULL;
    if (file != NULL) {
        (void)fclose(file);
    }
    return is && strstr(line, ") Z ") == NULL;
}

Test(child, answers)
{
    cs_child *child    = shell();
    char      text[16] = "";

    for (int i = 0; i < 3; i++) {
        tell(child, "printf 'what %d\\n' 17 >&0\n");
        cr_assert_eq(cs_child_receive(child, text, 8), CS_OK);
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
    cr_assert_eq(cs_child_receive(two, text, 2), CS_OK);
    cr_assert_eq(memcmp(text, "4\n", 2), 0, "%s", text);
    cs_child_close(one);
    cs_child_close(two);
    expect_no_child();
}

Test(child, says_why_it_ended)
{
    cs_child *child = shell();
    char      text[200], byte;

    tell(child, "echo first; echo second >&2; exit 3\n");
    cr_assert_eq(cs_child_receive(child, &byte, 1), CS_EIO);
    cs_child_exit_reason(child, text, sizeof text);
    cr_assert_str_eq(text, "ended with status 3: first");
    cs_child_close(child);
    child = shell();
    tell(child, "kill -9 $$\n");
    cr_assert_eq(cs_child_receive(child, &byte, 1), CS_EIO);
    cs_child_exit_reason(child, text, sizeof text);
    cr_assert_str_eq(text, "was ended by signal 9");
    /* No SIGPIPE: the test would end here. */
    cr_assert_eq(cs_child_send(child, "x", 1), CS_EIO);
    cs_child_close(child);
    expect_no_child();
}

/* Its words and its folder are its own; what it says and how it ended is known. */
Test(child, may_do_a_job)
{
    const cs_child_program job = {
        .path   = "sh",
        .words  = {"-c", "pwd; echo $1 >&2; cat; exit $2", "-", "a b", "0"},
        .folder = "/usr"};
    const cs_child_program other = {.path = "sh", .words = {"-c", "echo much more; exit 4"}};
    char                   text[16];
    cs_child              *child = NULL;

    cr_assert_eq(cs_child_start(&job, &child, NULL), CS_OK);
    cr_assert(cs_child_finish(child, text, sizeof text));
    cr_assert_str_eq(text, "/usr\na b\n");
    cs_child_close(child);
    cr_assert_eq(cs_child_start(&other, &child, NULL), CS_OK);
    cr_assert_not(cs_child_finish(child, text, 6));
    cr_assert_str_eq(text, "much ");
    cs_child_close(child);
    expect_no_child();
}

/* What it writes comes back whole, apart from what it complains about; without reading all it may
 * end well. */
Test(child, may_be_a_filter)
{
    const cs_child_program twice = {.path = "sh", .words = {"-c", "echo oops >&2; sed s/x/xy/g"}};
    const cs_child_program deaf  = {.path = "sh", .words = {"-c", "echo enough"}};
    cs_text                input = {0}, output = {0};

    for (int i = 0; i < 100000; i++) {
        cs_text_add(&input, "x\n");
    }
    cs_text_add(&output, ">");
    cr_assert_eq(cs_child_filter(&twice, &input, &output, NULL), CS_OK);
    cr_assert_eq(output.length, 1 + 300000);
    cr_assert_eq(strncmp(output.data, ">xy\nxy\n", 7), 0);
    cr_assert_eq(cs_child_filter(&deaf, &input, &output, NULL), CS_OK);
    cr_assert_str_eq(output.data + 1 + 300000, "enough\n");
    cs_text_free(&input);
    cs_text_free(&output);
    expect_no_child();
}

Test(child, a_filter_that_fails_gives_nothing)
{
    const cs_child_program fails = {.path  = "sh",
                                    .words = {"-c", "echo half; echo why >&2; exit 5"}};
    const cs_child_program dies  = {.path = "sh", .words = {"-c", "kill -9 $$"}};
    const cs_child_program none  = {.path = "no-such-program"};
    cs_text                input = {0}, output = {0};
    cs_error               err = {0};

    cs_text_add(&input, "x");
    cr_assert_eq(cs_child_filter(&fails, &input, &output, &err), CS_EIO);
    cr_assert_str_eq(err.message, "ended with status 5: why");
    err = (cs_error){0};
    cr_assert_eq(cs_child_filter(&dies, &input, &output, &err), CS_EIO);
    cr_assert_str_eq(err.message, "was ended by signal 9");
    cr_assert_eq(cs_child_filter(&none, &input, &output, NULL), CS_EMISSING);
    cr_assert_eq(output.length, 0);
    cs_text_free(&input);
    expect_no_child();
}

/* Signals that we ignore or hold back do to it what they do to everybody. */
Test(child, inherits_no_signal)
{
    const cs_child_program job = {.path  = "sh",
                                  .words = {"-c", "grep -E '^Sig(Blk|Ign)' /proc/self/status"}};
    const uint64_t         own = 1u << (SIGTERM - 1) | 1u << (SIGPIPE - 1) | 1u << (SIGXFSZ - 1);
    char                   text[80];
    uint64_t               held = own, ignored = own;
    sigset_t               some;
    cs_child              *child = NULL;

    sigemptyset(&some);
    sigaddset(&some, SIGTERM);
    cr_assert_eq(sigprocmask(SIG_BLOCK, &some, NULL), 0);
    cr_assert(signal(SIGPIPE, SIG_IGN) != SIG_ERR && signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    cr_assert_eq(cs_child_start(&job, &child, NULL), CS_OK);
    cr_assert(cs_child_finish(child, text, sizeof text));
    cs_child_close(child);
    cr_assert_eq(sscanf(text, "SigBlk: %" SCNx64 " SigIgn: %" SCNx64, &held, &ignored), 2);
    cr_expect_eq(held & own, 0, "%s", text);
    cr_expect_eq(ignored & own, 0, "%s", text);
}

Test(child, takes_along_whom_it_started)
{
    cs_child *child    = shell();
    char      text[16] = "";

    tell(child, "sleep 60 & printf '%-15d' $! >&0\n");
    cr_assert_eq(cs_child_receive(child, text, 15), CS_OK);
    pid_t grandchild = (pid_t)strtol(text, NULL, 10);
    cr_assert_gt(grandchild, 0);
    cr_assert_eq(kill(grandchild, 0), 0);
    cs_child_close(child);
    for (int i = 0; i < 1000 && runs(grandchild); i++) {
        usleep(5000);
    }
    cr_assert_not(runs(grandchild));
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
    const cs_child_program nowhere = {.path = "/nowhere/program"}, folder = {.path = "/"};
    const cs_child_program in_none = {.path = "/bin/sh", .folder = "/nowhere"};
    cs_child              *child   = NULL;
    cs_error               err     = {0};

    cr_assert_eq(cs_child_start(&nowhere, &child, &err), CS_EMISSING);
    cr_assert_not_null(strstr(err.message, "/nowhere/program cannot be started"));
    cr_assert_eq(cs_child_start(&folder, &child, NULL), CS_EIO);
    cr_assert_neq(cs_child_start(&in_none, &child, NULL), CS_OK);
    cs_alloc_fail_after(0);
    err              = (cs_error){0};
    cs_status status = cs_child_start(&sh, &child, &err);
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
    cs_status status = cs_child_start(&sh, &child, NULL);
    (void)dup2(kept, STDERR_FILENO);
    cr_assert_eq(status, CS_OK);
    tell(child, "echo yes >&0\n");
    cr_assert_eq(cs_child_receive(child, text, 4), CS_OK);
    cr_assert_eq(memcmp(text, "yes\n", 4), 0);
    cs_child_close(child);
}
