/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "watch.h"

#include "base/alloc.h"
#include "executor.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SLEEP_S 0.0005
enum { COMMAND_LIMIT_S = 10 }; /* that a command may take after its repetition has ended */

/* ---- the watchdog ---- */

typedef struct guard {
    cap_watch *watch;
    int        processor;
    pthread_t  thread;
} guard;

struct cap_watch {
    guard          *guards; /* [n_guards] */
    size_t          n_guards;
    pthread_mutex_t lock;
    double          worst_s;
    _Atomic bool    ends;
};

static void *stand_guard(void *argument)
{
    const guard       *g         = argument;
    struct sched_param parameter = {.sched_priority = 1};
    cpu_set_t          here;

    CPU_ZERO(&here);
    CPU_SET((size_t)g->processor, &here);
    (void)pthread_setaffinity_np(pthread_self(), sizeof here, &here);
    (void)pthread_setschedparam(pthread_self(), SCHED_FIFO, &parameter);
    (void)prctl(PR_SET_TIMERSLACK, 1000);
    while (!g->watch->ends) {
        double wake_s = cap_now_s() + SLEEP_S;
        cap_sleep_until(wake_s);
        double late_s = cap_now_s() - wake_s;
        if (late_s > SLEEP_S) {
            (void)pthread_mutex_lock(&g->watch->lock);
            g->watch->worst_s = fmax(g->watch->worst_s, late_s);
            (void)pthread_mutex_unlock(&g->watch->lock);
        }
    }
    return NULL;
}

cs_status cap_watch_start(cap_watch **watch_p, cs_error *err)
{
    cap_watch *w = CS_NEW(cap_watch, 1);
    cpu_set_t  usable;

    CPU_ZERO(&usable);
    (void)sched_getaffinity(0, sizeof usable, &usable);
    if (w != NULL) {
        w->guards = CS_NEW(guard, (size_t)CPU_COUNT(&usable));
    }
    if (w == NULL || w->guards == NULL) {
        cs_free(w);
        return CS_NO_MEMORY(err, "a watchdog");
    }
    (void)pthread_mutex_init(&w->lock, NULL);
    for (int p = 0; p < CPU_SETSIZE; p++) {
        guard *g = &w->guards[w->n_guards];
        if (!CPU_ISSET((size_t)p, &usable)) {
            continue;
        }
        *g = (guard){.watch = w, .processor = p};
        if (pthread_create(&g->thread, NULL, stand_guard, g) != 0) {
            cap_watch_stop(w);
            return CS_FAIL(err, CS_EIO, "", "cannot start a watchdog");
        }
        w->n_guards++;
    }
    *watch_p = w;
    return CS_OK;
}

void cap_watch_stop(cap_watch *w)
{
    if (w == NULL) {
        return;
    }
    w->ends = true;
    for (size_t i = 0; i < w->n_guards; i++) {
        (void)pthread_join(w->guards[i].thread, NULL);
    }
    (void)pthread_mutex_destroy(&w->lock);
    cs_free(w->guards);
    cs_free(w);
}

double cap_watch_worst_s(cap_watch *w)
{
    (void)pthread_mutex_lock(&w->lock);
    double worst_s = w->worst_s;
    w->worst_s     = 0;
    (void)pthread_mutex_unlock(&w->lock);
    return worst_s;
}

bool cap_processor_ticks(double *busy_p, double *total_p)
{
    FILE  *file      = fopen("/proc/stat", "re");
    char   line[512] = "", *at = line + 3;
    double total = 0, idle = 0;
    int    n = 0;

    if (file == NULL) {
        return false;
    }
    bool is_there = fgets(line, sizeof line, file) != NULL && strncmp(line, "cpu ", 4) == 0;
    (void)fclose(file);
    /* user, nice, system, idle, iowait, irq, softirq, steal */
    for (char *end; is_there && n < 8; n++, at = end) {
        double ticks = strtod(at, &end);
        if (end == at) {
            break;
        }
        total += ticks;
        idle += n == 3 || n == 4 ? ticks : 0;
    }
    *busy_p  = total - idle;
    *total_p = total;
    return n == 8;
}

/* ---- commands at times ---- */

struct cap_changer {
    FILE           *to, *from; /* of the shell */
    pid_t           shell;
    cap_change     *changes;
    size_t          n_changes;
    double          start_s;
    bool            is_running; /* the thread */
    pthread_t       thread;
    pthread_mutex_t lock;
    bool            ends;
    cs_status       status;
    cs_error        err;
};

static void run_shell(const int to[2], const int from[2], int priority)
{
    struct sched_param parameter = {.sched_priority = priority};

    (void)(priority > 0 && sched_setscheduler(0, SCHED_FIFO, &parameter) != 0);
    (void)setpgid(0, 0); /* it ends together with its commands */
    /* Only the duplicates stay open. */
    if (dup2(to[0], STDIN_FILENO) >= 0 && dup2(from[1], STDOUT_FILENO) >= 0) {
        (void)execl("/bin/sh", "sh", (char *)NULL);
    }
    _exit(127);
}

static void close_pair(const int pair[2])
{
    (void)close(pair[0]);
    (void)close(pair[1]);
}

static cs_status start_shell(cap_changer *c, int priority, cs_error *err)
{
    int to[2], from[2];

    if (pipe2(to, O_CLOEXEC) != 0) {
        return CS_FAIL(err, CS_EIO, "", "cannot make a pipe: %s", strerror(errno));
    }
    if (pipe2(from, O_CLOEXEC) != 0) {
        close_pair(to);
        return CS_FAIL(err, CS_EIO, "", "cannot make a pipe: %s", strerror(errno));
    }
    c->shell = fork();
    if (c->shell == 0) {
        run_shell(to, from, priority);
    }
    if (c->shell < 0) {
        close_pair(to);
        close_pair(from);
        return CS_FAIL(err, CS_EIO, "", "cannot start a shell: %s", strerror(errno));
    }
    (void)close(to[0]);
    (void)close(from[1]);
    c->to   = fdopen(to[1], "w");
    c->from = fdopen(from[0], "r");
    return c->to != NULL && c->from != NULL ? CS_OK : CS_NO_MEMORY(err, "a shell");
}

cs_status cap_changer_open(int priority, cap_changer **changer_p, cs_error *err)
{
    cap_changer *c = CS_NEW(cap_changer, 1);

    if (c == NULL) {
        return CS_NO_MEMORY(err, "a shell");
    }
    (void)pthread_mutex_init(&c->lock, NULL);
    cs_status status = start_shell(c, priority, err);
    if (status != CS_OK) {
        cap_changer_close(c);
        return status;
    }
    *changer_p = c;
    return CS_OK;
}

void cap_changer_close(cap_changer *c)
{
    if (c == NULL) {
        return;
    }
    (void)(c->to != NULL && fclose(c->to) != 0);
    (void)(c->from != NULL && fclose(c->from) != 0);
    (void)(c->shell > 0 && waitpid(c->shell, NULL, 0) < 0);
    (void)pthread_mutex_destroy(&c->lock);
    cs_free(c);
}

/* The shell answers with the command's exit status, in a line of its own. */
cs_status cap_changer_run(cap_changer *c, const char *command, cs_error *err)
{
    char answer[32] = "";

    if (fprintf(c->to, "{ %s\n} >&2; echo $?\n", command) < 0 || fflush(c->to) != 0 ||
        fgets(answer, sizeof answer, c->from) == NULL) {
        return CS_FAIL(err, CS_EIO, "", "the shell has ended at '%.120s'", command);
    }
    return strcmp(answer, "0\n") == 0 ? CS_OK
                                      : CS_FAIL(err, CS_EIO, "", "'%.120s' failed with status %.*s",
                                                command, (int)strcspn(answer, "\n"), answer);
}

static bool must_end(cap_changer *c)
{
    (void)pthread_mutex_lock(&c->lock);
    bool ends = c->ends;
    (void)pthread_mutex_unlock(&c->lock);
    return ends;
}

static void *make_changes(void *argument)
{
    cap_changer *c = argument;

    for (size_t i = 0; i < c->n_changes && c->status == CS_OK; i++) {
        cap_change *change = &c->changes[i];
        double      left_s;
        while ((left_s = c->start_s + change->at_s - cap_now_s()) > 0 && !must_end(c)) {
            cap_sleep_until(cap_now_s() + fmin(left_s, 0.02));
        }
        if (must_end(c)) {
            break;
        }
        change->begin_s = cap_now_s() - c->start_s;
        c->status       = cap_changer_run(c, change->command, &c->err);
        change->end_s   = cap_now_s() - c->start_s;
    }
    return NULL;
}

cs_status cap_changer_begin(cap_changer *c, cap_change *changes, size_t n, double start_s,
                            cs_error *err)
{
    for (size_t i = 0; i < n; i++) {
        changes[i].begin_s = changes[i].end_s = (double)NAN;
    }
    c->changes   = changes;
    c->n_changes = n;
    c->start_s   = start_s;
    c->ends      = false;
    c->status    = CS_OK;
    c->err       = (cs_error){0};
    if (pthread_create(&c->thread, NULL, make_changes, c) != 0) {
        return CS_FAIL(err, CS_EIO, "", "cannot start a thread");
    }
    c->is_running = true;
    return CS_OK;
}

/* A command that does not end is killed, with the shell. */
static void join_changes(cap_changer *c)
{
    struct timespec until;

    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += COMMAND_LIMIT_S;
    if (pthread_timedjoin_np(c->thread, NULL, &until) != 0) {
        (void)kill(-c->shell, SIGKILL);
        (void)pthread_join(c->thread, NULL);
    }
}

cs_status cap_changer_finish(cap_changer *c, cs_error *err)
{
    if (!c->is_running) {
        return CS_OK;
    }
    (void)pthread_mutex_lock(&c->lock);
    c->ends = true;
    (void)pthread_mutex_unlock(&c->lock);
    join_changes(c);
    c->is_running = false;
    if (c->status != CS_OK && err != NULL && err->status == CS_OK) {
        *err = c->err;
    }
    return c->status;
}
