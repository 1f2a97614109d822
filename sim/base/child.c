/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Starting a child and speaking to it: see base/child.h. */
#include "base/child.h"

#include "base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

struct cs_child {
    pid_t pid;      /* 0: none, or it has been waited for */
    int   line;     /* socket; -1: none */
    int   printed;  /* what it prints, a file in memory; -1: none */
    int   how;      /* it ended, as waitpid() says it */
    bool  is_known; /* is `how`? */
};

static void close_file(int *file_p)
{
    if (*file_p >= 0) {
        close(*file_p);
    }
    *file_p = -1;
}

/* Away from the standard files, which the child's are laid over. */
static int move_up(int file)
{
    if (file < 0 || file > STDERR_FILENO) {
        return file;
    }
    int moved = fcntl(file, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    close(file);
    return moved;
}

static bool open_files(cs_child *child, int *far_p)
{
    int ends[2] = {-1, -1};

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        return false;
    }
    child->line    = move_up(ends[0]);
    *far_p         = move_up(ends[1]);
    child->printed = move_up(memfd_create("collsim-child", MFD_CLOEXEC));
    return child->line >= 0 && *far_p >= 0 && child->printed >= 0;
}

/* Returns an errno. */
static int spawn(cs_child *child, const char *path, int far)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t          attributes;
    sigset_t                   signals;
    char                      *name        = cs_strdup(path);
    char *const                arguments[] = {name, NULL};

    if (name == NULL || posix_spawn_file_actions_init(&files) != 0) {
        cs_free(name);
        return ENOMEM;
    }
    if (posix_spawnattr_init(&attributes) != 0) {
        posix_spawn_file_actions_destroy(&files);
        cs_free(name);
        return ENOMEM;
    }
    sigemptyset(&signals);
    int failed = posix_spawnattr_setsigmask(&attributes, &signals);
    sigaddset(&signals, SIGPIPE);
    failed = failed != 0 ? failed : posix_spawnattr_setsigdefault(&attributes, &signals);
    failed = failed != 0 ? failed
                         : posix_spawnattr_setflags(&attributes,
                                                    POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    failed = failed != 0 ? failed : posix_spawn_file_actions_adddup2(&files, far, STDIN_FILENO);
    for (int file = STDOUT_FILENO; file <= STDERR_FILENO && failed == 0; file++) {
        failed = posix_spawn_file_actions_adddup2(&files, child->printed, file);
    }
    /* Whoever started us may have left files open that exec does not close. */
    failed =
        failed != 0 ? failed : posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
    if (failed == 0) {
        failed = posix_spawn(&child->pid, path, &files, &attributes, arguments, environ);
    }
    child->pid = failed == 0 ? child->pid : 0;
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    cs_free(name);
    return failed;
}

cs_status cs_child_start(const char *path, cs_child **child_p, cs_error *err)
{
    cs_child *child  = CS_NEW(cs_child, 1);
    int       far    = -1;
    int       failed = 0;

    if (child == NULL) {
        return CS_FAIL(err, CS_ENOMEM, NULL, "out of memory");
    }
    child->line = child->printed = -1;
    failed                       = open_files(child, &far) ? spawn(child, path, far) : errno;
    close_file(&far);
    if (failed != 0) {
        cs_child_close(child);
        return CS_FAIL(err, failed == ENOMEM ? CS_ENOMEM : CS_EIO, NULL, "%s cannot be started: %s",
                       path, strerror(failed));
    }
    *child_p = child;
    return CS_OK;
}

cs_status cs_child_say(cs_child *child, const void *data, size_t bytes)
{
    const char *from = data;

    while (bytes > 0) {
        ssize_t n = send(child->line, from, bytes, MSG_NOSIGNAL);
        if (n < 0 && errno != EINTR) {
            return CS_EIO;
        }
        from += n > 0 ? n : 0;
        bytes -= n > 0 ? (size_t)n : 0;
    }
    return CS_OK;
}

cs_status cs_child_hear(cs_child *child, void *data, size_t bytes)
{
    char *to = data;

    while (bytes > 0) {
        ssize_t n = recv(child->line, to, bytes, 0);
        if (n == 0 || (n < 0 && errno != EINTR)) {
            return CS_EIO;
        }
        to += n > 0 ? n : 0;
        bytes -= n > 0 ? (size_t)n : 0;
    }
    return CS_OK;
}

/* Wait for its end; whatever it does now interests nobody. It may be gone already. */
static void end(cs_child *child)
{
    pid_t waited = 0;

    if (child->pid == 0) {
        return;
    }
    kill(child->pid, SIGKILL);
    do {
        waited = waitpid(child->pid, &child->how, 0);
    } while (waited < 0 && errno == EINTR);
    child->is_known = waited == child->pid;
    child->pid      = 0;
}

/* A child that broke off has a moment to end by itself, so that it can be seen how. */
static void let_end(cs_child *child)
{
    close_file(&child->line);
    for (int i = 0; i < 100 && child->pid != 0; i++) {
        if (waitpid(child->pid, &child->how, WNOHANG) == child->pid) {
            child->is_known = true;
            child->pid      = 0;
        } else {
            usleep(1000);
        }
    }
    end(child);
}

void cs_child_obituary(cs_child *child, char *text, size_t text_bytes)
{
    char    line[160] = "";
    ssize_t n         = 0;
    char    how[64]   = "ended";

    let_end(child);
    n                           = pread(child->printed, line, sizeof line - 1, 0);
    line[n > 0 ? (size_t)n : 0] = '\0';
    line[strcspn(line, "\r\n")] = '\0';
    if (child->is_known && WIFSIGNALED(child->how)) {
        snprintf(how, sizeof how, "was ended by signal %d", WTERMSIG(child->how));
    } else if (child->is_known) {
        snprintf(how, sizeof how, "ended with status %d", WEXITSTATUS(child->how));
    }
    snprintf(text, text_bytes, "%s%s%s", how, line[0] != '\0' ? ": " : "", line);
}

pid_t cs_child_pid(const cs_child *child)
{
    return child->pid;
}

void cs_child_close(cs_child *child)
{
    if (child == NULL) {
        return;
    }
    close_file(&child->line);
    end(child);
    close_file(&child->printed);
    cs_free(child);
}
