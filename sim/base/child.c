/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Child processes by posix_spawn(). The line to a child is a pair of sockets; what it prints goes
 * into files in memory, so that it never waits for a reader. */
#include "base/child.h"

#include "base/alloc.h"
#include "base/leftover.h"

#include <assert.h>
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
    pid_t pid;      /* and its group; 0: none, or it has been waited for */
    int   note;     /* of the group, for the signals that end us */
    int   line;     /* socket; -1: none */
    int   printed;  /* what it prints, a file in memory; -1: none */
    int   output;   /* of a filter, what it writes to its standard output: another one; or -1 */
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

static bool open_files(cs_child *child, bool is_filter, int *far_p)
{
    int ends[2] = {-1, -1};

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        return false;
    }
    child->line    = move_up(ends[0]);
    *far_p         = move_up(ends[1]);
    child->printed = move_up(memfd_create("collsim-child", MFD_CLOEXEC));
    if (is_filter) {
        child->output = move_up(memfd_create("collsim-child", MFD_CLOEXEC));
    }
    return child->line >= 0 && *far_p >= 0 && child->printed >= 0 &&
           (child->output >= 0 || !is_filter);
}

/* What we ignore or hold back is not the child's to inherit. Returns an errno. */
static int set_attributes(posix_spawnattr_t *attributes)
{
    const short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP;
    sigset_t    signals;

    sigemptyset(&signals);
    int failed = posix_spawnattr_setsigmask(attributes, &signals);
    sigaddset(&signals, SIGPIPE);
    sigaddset(&signals, SIGXFSZ);
    failed = failed != 0 ? failed : posix_spawnattr_setsigdefault(attributes, &signals);
    failed = failed != 0 ? failed : posix_spawnattr_setpgroup(attributes, 0);
    return failed != 0 ? failed : posix_spawnattr_setflags(attributes, flags);
}

/* Returns an errno. */
static int set_files(posix_spawn_file_actions_t *files, const cs_child *child, int far,
                     const char *folder)
{
    int output = child->output >= 0 ? child->output : child->printed;
    int failed = posix_spawn_file_actions_adddup2(files, far, STDIN_FILENO);

    if (failed == 0) {
        failed = posix_spawn_file_actions_adddup2(files, output, STDOUT_FILENO);
    }
    if (failed == 0) {
        failed = posix_spawn_file_actions_adddup2(files, child->printed, STDERR_FILENO);
    }
    /* Whoever started us may have left files open that exec does not close. */
    failed =
        failed != 0 ? failed : posix_spawn_file_actions_addclosefrom_np(files, STDERR_FILENO + 1);
    if (failed == 0 && folder != NULL) {
        failed = posix_spawn_file_actions_addchdir_np(files, folder);
    }
    return failed;
}

/* posix_spawnp() takes its words for its own, and leaves them alone. Returns an errno. */
static int spawn_with(cs_child *child, const cs_child_program *program,
                      const posix_spawn_file_actions_t *files, const posix_spawnattr_t *attributes)
{
    char    *arguments[CS_CHILD_MOST_WORDS + 2] = {NULL};
    sigset_t before;

    memcpy(&arguments[0], &program->path, sizeof arguments[0]);
    for (size_t i = 0; i < CS_CHILD_MOST_WORDS && program->words[i] != NULL; i++) {
        memcpy(&arguments[i + 1], &program->words[i], sizeof arguments[i + 1]);
    }
    cs_leftovers_hold(&before);
    int failed  = posix_spawnp(&child->pid, program->path, files, attributes, arguments, environ);
    child->pid  = failed == 0 ? child->pid : 0;
    child->note = failed == 0 ? cs_leftover_group(child->pid) : -1;
    cs_leftovers_release(&before);
    return failed;
}

/* Returns an errno. */
static int spawn(cs_child *child, const cs_child_program *program, int far)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t          attributes;

    if (posix_spawn_file_actions_init(&files) != 0) {
        return ENOMEM;
    }
    if (posix_spawnattr_init(&attributes) != 0) {
        posix_spawn_file_actions_destroy(&files);
        return ENOMEM;
    }
    int failed = set_attributes(&attributes);
    failed     = failed != 0 ? failed : set_files(&files, child, far, program->folder);
    failed     = failed != 0 ? failed : spawn_with(child, program, &files, &attributes);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return failed;
}

/* The status of an errno with which no program starts. */
static cs_status status_of(int failed)
{
    return failed == ENOMEM ? CS_ENOMEM : failed == ENOENT ? CS_EMISSING : CS_EIO;
}

static cs_status start(const cs_child_program *program, bool is_filter, cs_child **child_p,
                       cs_error *err)
{
    cs_child *child  = CS_NEW(cs_child, 1);
    int       far    = -1;
    int       failed = 0;

    if (child == NULL) {
        return CS_NO_MEMORY(err, "a child process");
    }
    child->line = child->printed = child->output = child->note = -1;

    failed = open_files(child, is_filter, &far) ? spawn(child, program, far) : errno;
    close_file(&far);
    if (failed != 0) {
        cs_child_close(child);
        return CS_FAIL(err, status_of(failed), NULL, "%s cannot be started: %s", program->path,
                       strerror(failed));
    }
    *child_p = child;
    return CS_OK;
}

cs_status cs_child_start(const cs_child_program *program, cs_child **child_p, cs_error *err)
{
    return start(program, false, child_p, err);
}

cs_status cs_child_send(cs_child *child, const void *data, size_t bytes)
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

cs_status cs_child_receive(cs_child *child, void *data, size_t bytes)
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

/* Has it ended? `options` of waitid(): WNOHANG, or 0 to wait until it has. Until it is forgotten
 * its number must not be given to another process: that is why it is waited for twice. */
static bool has_ended(cs_child *child, int options)
{
    siginfo_t info = {0};
    sigset_t  before;
    int       failed;

    do {
        failed = waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOWAIT | options);
    } while (failed != 0 && errno == EINTR);
    if (failed == 0 && info.si_pid == 0) {
        return false;
    }
    (void)kill(-child->pid, SIGKILL); /* whom it may have started */
    cs_leftovers_hold(&before);
    child->is_known = waitpid(child->pid, &child->how, 0) == child->pid;
    cs_leftover_forget(child->note);
    cs_leftovers_release(&before);
    child->pid = 0;
    return true;
}

/* End it; it may have ended already. */
static void end(cs_child *child)
{
    if (child->pid != 0) {
        (void)kill(-child->pid, SIGKILL);
        (void)has_ended(child, 0);
    }
}

/* A child that broke off has a moment to end by itself, so that it can be seen how. */
static void let_end(cs_child *child)
{
    close_file(&child->line);
    for (int i = 0; i < 100 && child->pid != 0 && !has_ended(child, WNOHANG); i++) {
        usleep(1000);
    }
    end(child);
}

bool cs_child_finish(cs_child *child, char *text, size_t text_bytes)
{
    close_file(&child->line);
    if (child->pid != 0) {
        (void)has_ended(child, 0);
    }
    ssize_t n                   = pread(child->printed, text, text_bytes - 1, 0);
    text[n > 0 ? (size_t)n : 0] = '\0';
    return child->is_known && WIFEXITED(child->how) && WEXITSTATUS(child->how) == 0;
}

void cs_child_exit_reason(cs_child *child, char *text, size_t text_bytes)
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

/* Add all that a filter has written. */
static cs_status take_output(const cs_child *child, cs_text *output, cs_error *err)
{
    char    part[4096];
    off_t   at = 0;
    ssize_t n;

    while ((n = pread(child->output, part, sizeof part, at)) > 0) {
        cs_text_add_bytes(output, part, (size_t)n);
        at += n;
    }
    return n == 0 ? cs_text_status(output, err)
                  : CS_FAIL(err, CS_EIO, NULL, "what it wrote cannot be read: %s", strerror(errno));
}

cs_status cs_child_filter(const cs_child_program *program, const cs_text *input, cs_text *output,
                          cs_error *err)
{
    char      why[256];
    cs_child *child  = NULL;
    cs_status status = start(program, true, &child, err);

    if (status != CS_OK) {
        return status;
    }
    assert(child != NULL);
    (void)!cs_child_send(child, input->data, input->length); /* how it ends says enough */
    if (cs_child_finish(child, why, sizeof why)) {
        status = take_output(child, output, err);
    } else {
        cs_child_exit_reason(child, why, sizeof why);
        status = CS_FAIL(err, CS_EIO, program->path, "%s", why);
    }
    cs_child_close(child);
    return status;
}

void cs_child_close(cs_child *child)
{
    if (child == NULL) {
        return;
    }
    close_file(&child->line);
    end(child);
    close_file(&child->printed);
    close_file(&child->output);
    cs_free(child);
}
