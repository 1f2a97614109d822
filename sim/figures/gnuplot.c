/* SPDX-License-Identifier: GPL-3.0-or-later */
/* gnuplot as a child process, without a shell: the script is a file, what it complains about
 * comes back through a pipe. No time limit: the scripts are our own. */
#include "figures/gnuplot.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COMPLAINT_BYTES = 512 };

/* Start it with stdin and stdout at /dev/null and stderr at `complaints_fd`. Returns an errno. */
static int start(const char *folder, const char *const *words, int complaints_fd, pid_t *pid_p)
{
    posix_spawn_file_actions_t actions;
    char                      *argv[8] = {NULL};
    int                        failure = posix_spawn_file_actions_init(&actions);

    if (failure != 0) {
        return failure;
    }
    for (size_t i = 0; i < 7 && words[i] != NULL; i++) {
        memcpy(&argv[i], &words[i], sizeof argv[i]);
    }
    failure = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    if (failure == 0) {
        failure = posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    }
    if (failure == 0) {
        failure = posix_spawn_file_actions_adddup2(&actions, complaints_fd, 2);
    }
    if (failure == 0) {
        failure = posix_spawn_file_actions_addchdir_np(&actions, folder);
    }
    if (failure == 0) {
        failure = posix_spawnp(pid_p, words[0], &actions, NULL, argv, environ);
    }
    (void)posix_spawn_file_actions_destroy(&actions);
    return failure;
}

/* Read to the end, keep the beginning. */
static void read_complaint(int fd, char *text, size_t text_bytes)
{
    char    rest[256];
    size_t  length = 0;
    ssize_t got    = 1;

    while (got > 0 || (got < 0 && errno == EINTR)) {
        bool has_room = length + 1 < text_bytes;
        got           = has_room ? read(fd, text + length, text_bytes - 1 - length)
                                 : read(fd, rest, sizeof rest);
        length += has_room && got > 0 ? (size_t)got : 0;
    }
    text[length] = '\0';
}

static int wait_for(pid_t pid)
{
    int state = 0;

    while (waitpid(pid, &state, 0) < 0) {
        if (errno != EINTR) {
            return -1;
        }
    }
    return WIFEXITED(state) ? WEXITSTATUS(state) : -1;
}

/* The first line of gnuplot's complaint that says something: it begins with pictures of where
 * it stood. */
static const char *first_words(char *text)
{
    for (char *save = NULL, *line = strtok_r(text, "\n", &save); line != NULL;
         line = strtok_r(NULL, "\n", &save)) {
        if (strstr(line, "line ") != NULL || strstr(line, "rror") != NULL) {
            return line;
        }
    }
    return "it does not say why";
}

cs_status cs_gnuplot_run(const char *folder, const char *script, const char *first, bool *found_p,
                         cs_error *err)
{
    const char *const words[] = {"gnuplot", "-d", "-e", first, script, NULL};
    char              complaint[COMPLAINT_BYTES];
    int               ends[2];
    pid_t             pid = 0;

    if (pipe2(ends, O_CLOEXEC) != 0) {
        return CS_FAIL(err, CS_EIO, "gnuplot", "cannot make a pipe: %s", strerror(errno));
    }
    int failure = start(folder, words, ends[1], &pid);
    (void)close(ends[1]);
    if (failure != 0) {
        (void)close(ends[0]);
        *found_p = false;
        return failure == ENOENT
                   ? CS_OK
                   : CS_FAIL(err, CS_EIO, "gnuplot", "cannot be started: %s", strerror(failure));
    }
    read_complaint(ends[0], complaint, sizeof complaint);
    (void)close(ends[0]);
    *found_p = true;
    if (wait_for(pid) != 0) {
        return CS_FAIL(err, CS_EIO, "gnuplot", "could not draw %s: %s", script,
                       first_words(complaint));
    }
    return CS_OK;
}
