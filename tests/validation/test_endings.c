/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How the program ends when it is not let go on: by signals, limits and outputs that take nothing.
 * It says why, a shell sees it, and nothing half-done stays. */
#include "base/alloc.h"
#include "base/file.h"
#include "support/folder.h"
#include "support/program.h"
#include "support/query.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE_MS = 60000 };

static char folder[CT_FOLDER_BYTES];

static void set_up(void)
{
    ct_folder_make(folder);
}

static void tear_down(void)
{
    ct_folder_remove(folder);
}

TestSuite(endings, .init = set_up, .fini = tear_down);

static void nap(long milliseconds)
{
    const struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    (void)nanosleep(&time, NULL);
}

static const char *in_folder(const char *name)
{
    static char path[CT_FOLDER_BYTES + 64];

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void write_file(const char *name, const char *text, mode_t mode)
{
    cr_assert_eq(cs_file_write(in_folder(name), text, strlen(text), NULL), CS_OK);
    cr_assert_eq(chmod(in_folder(name), mode), 0);
}

/* How many files of the folder have names that begin so; NULL: any. */
static int count_files(const char *beginning)
{
    DIR *dir = opendir(folder);
    int  n   = 0;

    cr_assert_not_null(dir);
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        bool is_dot = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
        n +=
            beginning != NULL ? strncmp(entry->d_name, beginning, strlen(beginning)) == 0 : !is_dot;
    }
    (void)closedir(dir);
    return n;
}

/* Start collsim in the folder, as the leader of a group, with what a shell in the foreground gives
 * it; what it prints goes to "printed" there. Programs and modules of the folder come first. */
static pid_t start(const char *const *words)
{
    const char *path        = getenv("PATH");
    char       *argv[24]    = {strdup("collsim")};
    char        paths[4096] = "";
    size_t      n           = 1;

    for (; words[n - 1] != NULL; n++) {
        cr_assert_lt(n, 23);
        argv[n] = strdup(words[n - 1]);
    }
    (void)snprintf(paths, sizeof paths, "%s:%s", folder, path != NULL ? path : "/usr/bin:/bin");
    pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        (void)setpgid(0, 0);
        bool is_ready = chdir(folder) == 0 && freopen("printed", "w", stdout) != NULL &&
                        dup2(STDOUT_FILENO, STDERR_FILENO) >= 0 &&
                        signal(SIGINT, SIG_DFL) != SIG_ERR && signal(SIGTERM, SIG_DFL) != SIG_ERR &&
                        signal(SIGHUP, SIG_DFL) != SIG_ERR && setenv("PATH", paths, 1) == 0;
        if (is_ready && access("collsim-simgrid", X_OK) == 0) {
            is_ready = setenv("COLLSIM_MODULES", folder, 1) == 0;
        }
        if (is_ready) {
            (void)execv(COLLSIM_BINARY, argv);
        }
        _exit(127);
    }
    for (size_t i = 0; i < n; i++) {
        free(argv[i]);
    }
    (void)setpgid(child, child);
    return child;
}

/* Its end, as waitpid() has it; a program that does not end fails the test. */
static int end_of(pid_t program)
{
    int how = 0;

    for (int i = 0; i < PATIENCE_MS; i++) {
        if (waitpid(program, &how, WNOHANG) == program) {
            return how;
        }
        nap(1);
    }
    (void)kill(program, SIGKILL);
    (void)waitpid(program, &how, 0);
    cr_assert_fail("it does not end");
    return how;
}

/* Wait until the file is there and has a whole line, a number. */
static pid_t wait_for_number(const char *name)
{
    char *data   = NULL;
    pid_t number = 0;

    for (int i = 0; i < PATIENCE_MS && number == 0; i++) {
        size_t length = 0;
        if (cs_file_read(in_folder(name), 100, &data, &length, NULL) == CS_OK) {
            number = length > 0 && data[length - 1] == '\n' ? (pid_t)strtol(data, NULL, 10) : 0;
            cs_free(data);
        }
        nap(1);
    }
    cr_assert_gt(number, 0, "%s is not there", name);
    return number;
}

/* Is a process gone, or no more than an entry in a table, before long? */
static bool is_gone(pid_t process)
{
    char path[40], line[300];

    (void)snprintf(path, sizeof path, "/proc/%ld/stat", (long)process);
    for (int i = 0; i < 2000; i++) {
        FILE *file = fopen(path, "r");
        bool  runs =
            file != NULL && fgets(line, sizeof line, file) != NULL && strstr(line, ") Z ") == NULL;
        if (file != NULL) {
            (void)fclose(file);
        }
        if (!runs) {
            return true;
        }
        nap(1);
    }
    (void)kill(process, SIGKILL);
    return false;
}

static const int ending[] = {SIGINT, SIGTERM, SIGHUP};

enum { N_ENDING = sizeof ending / sizeof ending[0] };

/* A gnuplot that draws half of a picture and then takes its time, with a child of its own. */
static const char slow_gnuplot[] = "#!/bin/sh\n"
                                   "svg=$(echo \"$3\" | sed \"s/.*SVG = '\\([^']*\\)'.*/\\1/\")\n"
                                   "echo '<svg>' >$svg\n"
                                   "sleep 300 &\n"
                                   "echo $! >sleeps\n"
                                   "echo $$ >draws\n"
                                   "wait\n";

Test(endings, a_signal_ends_gnuplot_and_leaves_no_half_picture)
{
    const char *const words[] = {"figure", "stragglar-5c", "-o", ".", NULL};

    for (int i = 0; i < N_ENDING; i++) {
        write_file("gnuplot", slow_gnuplot, 0755);
        pid_t program = start(words);
        pid_t draws = wait_for_number("draws"), sleeps = wait_for_number("sleeps");
        cr_assert_eq(kill(program, ending[i]), 0);
        int how = end_of(program);
        cr_expect(WIFSIGNALED(how) && WTERMSIG(how) == ending[i], "%d: %d", ending[i], how);
        cr_expect(is_gone(draws), "gnuplot draws on");
        cr_expect(is_gone(sleeps), "whom gnuplot started goes on");
        cr_expect_eq(count_files("."), 2, "something besides . and .. is left");
        cr_expect_eq(count_files("stragglar-5c."), 2, "there is more than a table and a script");
        ct_folder_remove(folder);
        cr_assert_eq(mkdir(folder, 0700), 0);
    }
}

/* A part of the program that never answers. */
static const char slow_simgrid[] = "#!/bin/sh\n"
                                   "sleep 300 &\n"
                                   "echo $! >sleeps\n"
                                   "echo $$ >answers\n"
                                   "wait\n";

Test(endings, a_signal_ends_simgrid)
{
    static const char *const runs[] = {
        "run",     "-m",  "simgrid",     "-a",    "ring", "-n", "4",       "-s",         "1M",
        "--alpha", "1us", "--bandwidth", "1GB/s", "-g",   "1",  "--trace", "trace.json", NULL};

    for (int i = 0; i < N_ENDING; i++) {
        write_file("collsim-simgrid", slow_simgrid, 0755);
        pid_t program = start(runs);
        pid_t answers = wait_for_number("answers"), sleeps = wait_for_number("sleeps");
        cr_assert_eq(kill(program, ending[i]), 0);
        int how = end_of(program);
        cr_expect(WIFSIGNALED(how) && WTERMSIG(how) == ending[i], "%d: %d", ending[i], how);
        cr_expect(is_gone(answers));
        cr_expect(is_gone(sleeps));
        cr_expect_eq(count_files("trace.json"), 0);
        ct_folder_remove(folder);
        cr_assert_eq(mkdir(folder, 0700), 0);
    }
}

/* It is caught while it writes: as soon as the temporary file can be seen. */
Test(endings, a_signal_leaves_no_temporary_file)
{
    const char *const words[] = {"schedule", "ring", "-n",   "300", "--format",
                                 "json",     "-o",   "file", NULL};
    int               caught  = 0;

    for (int i = 0; i < 40 && caught < 3; i++) {
        pid_t program = start(words);
        int   how     = 0;
        while (count_files(".collsim-") == 0 && waitpid(program, &how, WNOHANG) == 0) {
        }
        if (count_files("file") == 0 && kill(program, SIGTERM) == 0) {
            how = end_of(program);
            caught += WIFSIGNALED(how) && WTERMSIG(how) == SIGTERM && count_files("file") == 0;
        }
        cr_assert_eq(count_files(".collsim-"), 0, "a temporary file is left");
        (void)waitpid(program, &how, 0);
        (void)unlink(in_folder("file"));
    }
    cr_assert_gt(caught, 0, "it was never caught");
}

/* nohup, and shells that start something in the background. */
Test(endings, what_was_ignored_stays_ignored)
{
    static const char *const words[] = {"run", "-m", "simgrid", "-n", "4", "-s", "1M", NULL};

    write_file("collsim-simgrid", slow_simgrid, 0755);
    write_file("collsim-sh", "#!/bin/sh\ntrap '' HUP\nexec \"$@\"\n", 0755);
    cs_text command = {0};
    cs_text_add(&command, "cd %s; COLLSIM_MODULES=. exec ./collsim-sh %s", folder, COLLSIM_BINARY);
    for (size_t i = 0; words[i] != NULL; i++) {
        cs_text_add(&command, " %s", words[i]);
    }
    pid_t program = fork();
    if (program == 0) {
        (void)execl("/bin/sh", "sh", "-c", command.data, (char *)NULL);
        _exit(127);
    }
    pid_t answers = wait_for_number("answers");
    cr_assert_eq(kill(program, SIGHUP), 0);
    nap(200);
    cr_expect_eq(waitpid(program, NULL, WNOHANG), 0, "it has ended");
    cr_expect_eq(kill(answers, 0), 0);
    cr_assert_eq(kill(program, SIGTERM), 0);
    int how = end_of(program);
    cr_expect(WIFSIGNALED(how) && WTERMSIG(how) == SIGTERM);
    cr_expect(is_gone(answers));
    cs_text_free(&command);
}

/* Ctrl-C on a terminal goes to all processes of the group, and must not break what is in hand. */
Test(endings, a_sweep_that_is_stopped_finishes_what_it_has_in_hand)
{
    const char *modules = getenv("COLLSIM_MODULES");
    const char  config[] =
        "{\"cluster\": {\"ranks\": 24, \"nic\": {\"bandwidth\": \"1GB/s\", \"alpha\": \"1us\"}},"
        " \"algorithm\": {\"name\": \"ring\"}, \"model\": {\"name\": \"simgrid\"},"
        " \"bytes\": \"1MiB\", \"sweep\": {\"seed\": [";
    const char *const words[] = {"sweep", "config.json", "-o", "r.db", "-j", "2", NULL};
    cs_text           text    = {0};
    char              program_of_it[512];
    struct stat       info;

    (void)snprintf(program_of_it, sizeof program_of_it, "%s/collsim-simgrid",
                   modules != NULL ? modules : ".");
    if (access(program_of_it, X_OK) != 0) {
        (void)fprintf(stderr, "skipped: without collsim-simgrid\n");
        return;
    }
    cs_text_add(&text, "%s1", config);
    for (int i = 2; i <= 3000; i++) {
        cs_text_add(&text, ", %d", i);
    }
    cs_text_add(&text, "]}}\n");
    write_file("config.json", text.data, 0644);
    cs_text_free(&text);
    pid_t program = start(words);
    for (int i = 0; i < PATIENCE_MS && stat(in_folder("r.db-wal"), &info) != 0; i++) {
        nap(1);
    }
    nap(500);
    cr_assert_eq(kill(-program, SIGINT), 0);
    int how = end_of(program);
    cr_expect(WIFEXITED(how) && WEXITSTATUS(how) == 3, "%d", how);
    char  *printed = NULL;
    size_t length  = 0;
    cr_assert_eq(cs_file_read(in_folder("printed"), 10000, &printed, &length, NULL), CS_OK);
    cr_expect_not_null(strstr(printed, ", 0 with an error; stopped, the same command"), "%s",
                       printed);
    cr_expect_null(strstr(printed, "missing"), "%s", printed);
    cs_free(printed);
    text = ct_query(in_folder("r.db"), "SELECT count(*) > 0, count(error) FROM results");
    cr_expect_str_eq(text.data, "1|0\n");
    cs_text_free(&text);
    cr_expect_eq(count_files("r.db"), 1);
}

/* Run with streams of a shell; the exit code and, on standard error, that one line. */
static void expect_line(const char *arguments, const char *streams, int code, const char *line)
{
    cs_text text = {0};
    char    all[256];

    (void)snprintf(all, sizeof all, "2>&1 %s", streams);
    cr_expect_eq(ct_program(arguments, all, &text), code, "%s", arguments);
    cr_expect_str_eq(text.data, line, "%s", arguments);
    cs_text_free(&text);
}

Test(endings, an_output_that_takes_nothing_is_an_error_of_every_command)
{
    static const char *const commands[] = {"",
                                           "--version",
                                           "--help",
                                           "help",
                                           "run --help",
                                           "run -n 4 -s 1M",
                                           "run -n 4 -s 1M --explain",
                                           "run -n 4 -s 1M --format json",
                                           "bound -n 4 -s 1M",
                                           "list algorithms",
                                           "list models --format json",
                                           "schedule ring -n 4 --format text",
                                           "topology dgx-h100",
                                           "whatif --help",
                                           "compare --help",
                                           "bench --help"};
    char                     config[400];

    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        expect_line(commands[i], ">/dev/full", 3,
                    "collsim: cannot write to standard output: No space left on device\n");
        expect_line(commands[i], ">&-", 3,
                    "collsim: cannot write to standard output: Bad file descriptor\n");
    }
    cs_text text = {0};
    (void)snprintf(config, sizeof config, "schedule ring -n 4 --format json -o %s", in_folder("s"));
    cr_assert_eq(ct_program(config, "2>&1", &text), 0, "%s", text.data);
    (void)snprintf(config, sizeof config, "verify %s", in_folder("s"));
    expect_line(config, ">/dev/full", 3,
                "collsim: cannot write to standard output: No space left on device\n");
    write_file("c.json", "{\"cluster\": {\"ranks\": 4}, \"bytes\": \"1MiB\"}\n", 0644);
    for (int i = 0; i < 2; i++) {
        (void)snprintf(config, sizeof config, "sweep %s/c.json -o %s/r.db", folder, folder);
        expect_line(config, i == 0 ? ">&-" : ">/dev/full", 3,
                    i == 0 ? "collsim: cannot write to standard output: Bad file descriptor\n"
                           : "collsim: cannot write to standard output: No space left on device\n");
    }
    cs_text_free(&text);
    text = ct_query(in_folder("r.db"), "PRAGMA integrity_check; SELECT count(*) FROM results");
    cr_expect_str_eq(text.data, "ok\n1\n");
    cs_text_free(&text);
}

/* The limit of a shell on the size of files: an error, and no signal. */
Test(endings, a_file_that_grows_too_large_is_an_error)
{
    static const char line[] = "file: cannot be written: File too large\n";
    cs_text           text   = {0};
    char              command[512];

    (void)snprintf(
        command, sizeof command,
        "cd %s && ulimit -f 8 && { %s schedule ring -n 64 --format json -o file; echo $?; "
        "%s schedule ring -n 64 --format json >other; echo $?; } 2>&1",
        folder, COLLSIM_BINARY, COLLSIM_BINARY);
    FILE *pipe = popen(command, "r"); /* NOLINT(cert-env33-c): the test's own words */
    cr_assert_not_null(pipe);
    char   block[1000];
    size_t got = fread(block, 1, sizeof block, pipe);
    cs_text_add_bytes(&text, block, got);
    cs_text_add(&text, "%s", "");
    cr_assert_eq(pclose(pipe), 0, "%s", text.data);
    cr_expect_not_null(strstr(text.data, line), "%s", text.data);
    cr_expect_not_null(strstr(text.data, "cannot write to standard output: File too large\n3\n"),
                       "%s", text.data);
    cr_expect_not_null(strstr(text.data, "large\n3\ncollsim"), "%s", text.data);
    cr_expect_eq(count_files(NULL), 1, "more is left than what the shell has made");
    cs_text_free(&text);
}
