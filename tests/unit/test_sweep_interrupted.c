/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sweeps that end before they are done: killed, stopped, with a full disk. What is written stays,
 * and the rest is run the next time. */
#include "sweep_setup.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

TestSuite(sweep_interrupted, .init = set_up, .fini = tear_down);

/* Dies without a word when `*user` rows are done. */
static void die_at(void *user, size_t done, size_t total)
{
    (void)total;
    if (done >= *(size_t *)user) {
        kill(getpid(), SIGKILL);
    }
}

Test(sweep_interrupted, killed_and_run_again_it_goes_on)
{
    static const unsigned jobs[] = {1, 3};
    cs_config            *config = rings(60);

    sweep_to(config, other, 1);
    for (int i = 0; i < 2; i++) {
        size_t           at      = 50;
        cs_sweep_options options = {.path = path, .jobs = jobs[i], .progress = die_at, .user = &at};
        cs_sweep_summary summary;
        int              how   = 0;
        pid_t            child = fork();

        if (child == 0) {
            _exit((int)cs_sweep(config, &options, &summary, NULL));
        }
        cr_assert_eq(waitpid(child, &how, 0), child);
        cr_assert(WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL);
        long n = count(path, "1");
        cr_expect(n >= 50 && n < 240, "%ld rows", n);
        summary = sweep_to(config, path, jobs[i]);
        cr_expect_eq(summary.count.done_before, (size_t)n);
        cr_expect_eq(summary.count.run, 240 - (size_t)n);
        expect_same_rows(path, other);
        unlink(path);
    }
    cs_config_free(config);
}

static volatile sig_atomic_t stop;

static void stop_at(void *user, size_t done, size_t total)
{
    (void)total;
    stop = done >= *(size_t *)user;
}

Test(sweep_interrupted, stopped_it_keeps_what_is_done_and_leaves_one_file)
{
    cs_config       *config = rings(60);
    size_t           at     = 30;
    struct stat      info;
    char             wal[160];
    cs_sweep_options options = {
        .path = path, .jobs = 2, .progress = stop_at, .user = &at, .stop = &stop};

    cs_sweep_summary summary = sweep_with(config, &options);
    cr_expect(summary.count.is_stopped);
    cr_expect(summary.count.run >= 30 && summary.count.run < 240);
    cr_expect_eq(count(path, "1"), (long)summary.count.run);
    snprintf(wal, sizeof wal, "%s-wal", path);
    cr_expect_neq(stat(wal, &info), 0);
    options.stop     = NULL;
    options.progress = NULL;
    size_t before    = summary.count.run;
    summary          = sweep_with(config, &options);
    cr_expect_eq(summary.count.done_before, before);
    cr_expect_eq(summary.count.done_before + summary.count.run, 240);
    cr_expect_not(summary.count.is_stopped);
    cs_config_free(config);
}

/* The child may write no more than 200 kB into a file. */
Test(sweep_interrupted, a_full_disk_ends_it_and_keeps_what_is_written)
{
    cs_config       *config  = rings(500);
    cs_sweep_options options = {.path = path, .jobs = 2};
    cs_sweep_summary summary;
    int              how   = 0;
    pid_t            child = fork();

    if (child == 0) {
        struct rlimit limit = {200000, 200000};
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &limit);
        _exit((int)cs_sweep(config, &options, &summary, NULL));
    }
    cr_assert_eq(waitpid(child, &how, 0), child);
    cr_expect(WIFEXITED(how));
    cr_expect_eq(WEXITSTATUS(how), CS_EIO);
    long n = count(path, "1");
    cr_expect(n > 0 && n < 2000, "%ld rows", n);
    summary = sweep_with(config, &options);
    cr_expect_eq(summary.count.done_before, (size_t)n);
    cr_expect_eq(count(path, "1"), 2000);
    cs_config_free(config);
}
