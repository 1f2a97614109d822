/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Processes that answer: see serve/worker.h. */
#include "serve/worker.h"

#include "base/alloc.h"
#include "base/leftover.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PIPE = 3, LINE_BYTES = 128, BLOCK_BYTES = 1 << 16 };

/* ---- in the process ---- */

static cs_status write_all(void *user, const char *bytes, size_t length, cs_error *err)
{
    (void)user;
    while (length > 0) {
        ssize_t n = write(PIPE, bytes, length);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return CS_FAIL(err, CS_EIO, "", "nobody reads the answer");
        }
        bytes += n;
        length -= (size_t)n;
    }
    return CS_OK;
}

static cs_status begin(void *user, int http, const char *type, cs_error *err)
{
    char line[LINE_BYTES];
    int  n = snprintf(line, sizeof line, "%d %s\n", http, type);

    return write_all(user, line, (size_t)n, err);
}

/* Programs that it has started end with it. */
static void end(int number)
{
    (void)number;
    cs_leftovers_remove();
    _exit(EXIT_FAILURE);
}

static void handle_signals(void)
{
    struct sigaction action = {.sa_handler = end};
    sigset_t         none;

    sigemptyset(&action.sa_mask);
#define X(name) (void)sigaction(name, &action, NULL);
    CS_ENDING_SIGNALS(X)
#undef X
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Of memory so much; of files, and what a crash would leave, nothing. */
static void limit(uint64_t most_bytes)
{
    const struct rlimit none = {0, 0};

    (void)setrlimit(RLIMIT_FSIZE, &none);
    (void)setrlimit(RLIMIT_CORE, &none);
#ifndef __SANITIZE_ADDRESS__ /* whose shadow counts */
    const struct rlimit memory = {most_bytes, most_bytes};
    (void)setrlimit(RLIMIT_DATA, &memory);
#else
    (void)most_bytes;
#endif
}

/* Keep the pipe alone: a socket that stays open here would not be closed for its client. */
static void leave_files(int file)
{
    if (file != PIPE) {
        (void)dup2(file, PIPE);
    }
    if (close_range(PIPE + 1, ~0u, 0) != 0) {
        for (int i = PIPE + 1; i < (int)sysconf(_SC_OPEN_MAX); i++) {
            (void)close(i);
        }
    }
}

static _Noreturn void work(int file, pid_t server, const cs_api *api, const cs_call *call)
{
    const cs_api_sink sink = {.begin = begin, .write = write_all};
    cs_error          err  = {0};

    handle_signals();
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != server) {
        _exit(EXIT_FAILURE); /* it has ended meanwhile */
    }
    leave_files(file);
    limit(api->most_bytes);
    cs_status status = cs_api_answer(api, call, &sink, &err);
    _exit(status == CS_OK ? EXIT_SUCCESS : EXIT_FAILURE);
}

/* ---- in the server ---- */

cs_status cs_worker_start(cs_worker *worker, const cs_api *api, const cs_call *call, cs_error *err)
{
    int   files[2];
    pid_t server = getpid();

    *worker = (cs_worker){.file = -1};
    if (pipe2(files, O_CLOEXEC) != 0) {
        return CS_FAIL(err, CS_EIO, "", "cannot open a pipe: %s", strerror(errno));
    }
    pid_t pid = fork();
    if (pid == 0) {
        work(files[1], server, api, call);
    }
    int code = errno;
    (void)close(files[1]);
    if (pid < 0) {
        (void)close(files[0]);
        return CS_FAIL(err, CS_EIO, "", "cannot start a process: %s", strerror(code));
    }
    (void)fcntl(files[0], F_SETFL, O_NONBLOCK);
    worker->pid  = pid;
    worker->file = files[0];
    return CS_OK;
}

/* Take the line "200 application/json" apart, as soon as it is whole; what stands behind it belongs
 * to the bytes. */
static void take_line(cs_worker *worker, cs_text *bytes)
{
    char *data = worker->line.data;
    char *end  = data != NULL ? memchr(data, '\n', worker->line.length) : NULL;

    if (end == NULL) {
        return;
    }
    worker->http     = atoi(data);
    const char *type = memchr(data, ' ', (size_t)(end - data));
    if (type != NULL) {
        cs_text_add_bytes(&worker->type, type + 1, (size_t)(end - type - 1));
    }
    cs_text_add_bytes(bytes, end + 1, worker->line.length - (size_t)(end + 1 - data));
    cs_text_free(&worker->line);
}

bool cs_worker_read(cs_worker *worker, size_t room, cs_text *bytes)
{
    char   block[BLOCK_BYTES];
    size_t taken = 0;

    while (taken < room) {
        ssize_t n = read(worker->file, block, sizeof block);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return n < 0 && errno == EAGAIN;
        }
        taken += (size_t)n;
        if (worker->http > 0) {
            cs_text_add_bytes(bytes, block, (size_t)n);
        } else {
            cs_text_add_bytes(&worker->line, block, (size_t)n);
            take_line(worker, bytes);
        }
        if (bytes->failed || worker->line.failed) {
            return false;
        }
    }
    return true;
}

void cs_worker_stop(const cs_worker *worker, bool at_once)
{
    if (worker->pid > 0) {
        (void)kill(worker->pid, at_once ? SIGKILL : SIGTERM);
    }
}

bool cs_worker_close(cs_worker *worker)
{
    int status = -1;

    if (worker->pid > 0) {
        (void)close(worker->file);
        while (waitpid(worker->pid, &status, 0) < 0 && errno == EINTR) {
        }
    }
    cs_text_free(&worker->type);
    cs_text_free(&worker->line);
    *worker = (cs_worker){0};
    return status == 0;
}
