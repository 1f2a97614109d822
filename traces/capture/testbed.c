/* SPDX-License-Identifier: GPL-3.0-or-later */
/* collsim-testbed: all ranks of a schedule in one process, over TCP, each in a network namespace of
 * its own or all on the loopback device. */
#include "base/alloc.h"
#include "cs/units.h"
#include "options.h"
#include "report.h"
#include "sockets.h"
#include "watch.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PRIME_BYTES ((uint64_t)1 << 20)
#define GAP_S       0.06
#define MOST_MEMORY 0.8 /* of what the machine has */
enum { PRIORITY = 2 };

/* ---- options ---- */

typedef struct settings {
    cap_places  places;
    bool        is_eager, has_prime;
    int         priority; /* -1: not said */
    double      gap_s;    /* NAN: not said */
    double      timeout_s;
    cap_change *changes; /* [n_changes] by time; owned */
    size_t      n_changes, change_capacity;
    const char *before;
    cap_late    cut; /* this rank's connections end then */
    bool        has_cut;
} settings;

static cs_status take_netns(void *target, const char *text, cs_error *err)
{
    (void)err;
    ((settings *)target)->places.netns = text;
    return CS_OK;
}

static cs_status take_address(void *target, const char *text, cs_error *err)
{
    (void)err;
    ((settings *)target)->places.address = text;
    return CS_OK;
}

static cs_status take_inside(void *target, const char *text, cs_error *err)
{
    (void)err;
    ((settings *)target)->places.inside = text;
    return CS_OK;
}

/* N,N,..: no number twice. */
static cs_status take_places(void *target, const char *text, cs_error *err)
{
    cap_places *places   = &((settings *)target)->places;
    size_t      capacity = 0;

    cs_free(places->numbers);
    places->numbers   = NULL;
    places->n_numbers = 0;
    for (const char *at = text, *end; at != NULL; at = *end == ',' ? end + 1 : NULL) {
        char     word[16];
        uint64_t number = 0;
        end             = at + strcspn(at, ",");
        if ((size_t)(end - at) >= sizeof word) {
            return CS_FAIL(err, CS_EINVAL, "--places",
                           "'%.40s': accepted are numbers of ranks, as in 0,3,6", at);
        }
        (void)snprintf(word, sizeof word, "%.*s", (int)(end - at), at);
        CS_TRY(cs_parse_integer(word, 0, CS_MAX_RANKS - 1, &number, "--places", err));
        for (size_t i = 0; i < places->n_numbers; i++) {
            if (places->numbers[i] == number) {
                return CS_FAIL(err, CS_EINVAL, "--places", "%s stands twice", word);
            }
        }
        if (!cs_grow(&places->numbers, &capacity, places->n_numbers + 1, 16,
                     sizeof *places->numbers)) {
            return CS_NO_MEMORY(err, "the places");
        }
        places->numbers[places->n_numbers++] = (uint32_t)number;
    }
    return CS_OK;
}

static cs_status take_congestion(void *target, const char *text, cs_error *err)
{
    (void)err;
    ((settings *)target)->places.congestion = text;
    return CS_OK;
}

static cs_status take_prime(void *target, const char *text, cs_error *err)
{
    settings *s = target;

    s->has_prime = true;
    return cs_parse_bytes(text, &s->places.prime_bytes, "--prime", err);
}

static cs_status take_eager(void *target, const char *text, cs_error *err)
{
    (void)text;
    (void)err;
    ((settings *)target)->is_eager = true;
    return CS_OK;
}

static cs_status take_priority(void *target, const char *text, cs_error *err)
{
    uint64_t priority = 0;

    CS_TRY(cs_parse_integer(text, 0, 99, &priority, "--priority", err));
    ((settings *)target)->priority = (int)priority;
    return CS_OK;
}

/* A time from 0 to an hour. */
static cs_status take_time(const char *text, const char *option, double *time_p, cs_error *err)
{
    CS_TRY(cs_parse_time(text, time_p, option, err));
    return *time_p >= 0 && *time_p <= 3600
               ? CS_OK
               : CS_FAIL(err, CS_EINVAL, option, "'%.40s': accepted are times from 0 to 1 h", text);
}

static cs_status take_gap(void *target, const char *text, cs_error *err)
{
    return take_time(text, "--gap", &((settings *)target)->gap_s, err);
}

static cs_status take_timeout(void *target, const char *text, cs_error *err)
{
    return take_time(text, "--timeout", &((settings *)target)->timeout_s, err);
}

static cs_status take_at(void *target, const char *text, cs_error *err)
{
    settings   *s     = target;
    const char *equal = strchr(text, '=');
    char        time[32];
    cap_change  change = {0};

    if (equal == NULL || equal[1] == '\0' || strchr(text, '\n') != NULL ||
        (size_t)(equal - text) >= sizeof time) {
        return CS_FAIL(err, CS_EINVAL, "--at",
                       "'%.60s': accepted is TIME=COMMAND, a line for a shell", text);
    }
    (void)snprintf(time, sizeof time, "%.*s", (int)(equal - text), text);
    CS_TRY(take_time(time, "--at", &change.at_s, err));
    change.command = equal + 1;
    if (!cs_grow(&s->changes, &s->change_capacity, s->n_changes + 1, 4, sizeof *s->changes)) {
        return CS_NO_MEMORY(err, "the changes");
    }
    size_t i = s->n_changes++;
    for (; i > 0 && s->changes[i - 1].at_s > change.at_s; i--) {
        s->changes[i] = s->changes[i - 1];
    }
    s->changes[i] = change;
    return CS_OK;
}

static cs_status take_before(void *target, const char *text, cs_error *err)
{
    ((settings *)target)->before = text;
    return strchr(text, '\n') == NULL
               ? CS_OK
               : CS_FAIL(err, CS_EINVAL, "--before", "accepted is one line for a shell");
}

static cs_status take_cut(void *target, const char *text, cs_error *err)
{
    settings *s = target;
    unsigned  rank;
    int       length = 0;

    if (sscanf(text, "%9u=%n", &rank, &length) != 1 || length == 0) {
        return CS_FAIL(err, CS_EINVAL, "--cut", "'%.40s': accepted is RANK=TIME, as in 3=20ms",
                       text);
    }
    s->has_cut  = true;
    s->cut.rank = rank;
    return take_time(text + length, "--cut", &s->cut.late_s, err);
}

static const cap_option own_options[] = {
    {"--netns", "NAME",
     "network namespace of a rank: {rank}, {host} (rank + 1), {server} are replaced", take_netns},
    {"--address", "ADDRESS", "its address, with the same words (127.0.0.1)", take_address},
    {"--inside", "ADDRESS", "its address for ranks of the same server (--address)", take_inside},
    {"--places", "N,N,..", "what {rank} is for ranks 0, 1, .., and {host} less 1 (0,1,..)",
     take_places},
    {"--eager", NULL, "no port discipline: TCP takes what it can", take_eager},
    {"--congestion", "NAME", "TCP's congestion control (reno)", take_congestion},
    {"--prime", "BYTES", "that every connection carries first (1M in namespaces, else 0)",
     take_prime},
    {"--gap", "TIME", "pause before a repetition (60 ms in namespaces, else 0)", take_gap},
    {"--priority", "N",
     "SCHED_FIFO of the ranks; 0: none (2 in namespaces, where permitted, else 0)", take_priority},
    {"--at", "TIME=COMMAND", "a shell's command in every repetition (repeatable)", take_at},
    {"--before", "COMMAND", "... and before every repetition, as to restore a rate", take_before},
    {"--timeout", "TIME", "a repetition that takes longer is ended, exit 3 (120s)", take_timeout},
    {"--cut", "RANK=TIME", "end all connections of a rank then, as if it died", take_cut},
    {NULL, NULL, NULL, NULL},
};

static const cap_program program = {
    .name    = "collsim-testbed",
    .summary = "run collsim's schedules over TCP, all ranks in one process, and check every number",
    .options = own_options};

/* May threads have that priority here? */
static bool is_permitted(int priority)
{
    struct sched_param parameter = {.sched_priority = priority}, usual = {0};
    bool               is_set = pthread_setschedparam(pthread_self(), SCHED_FIFO, &parameter) == 0;

    (void)(is_set && pthread_setschedparam(pthread_self(), SCHED_OTHER, &usual) != 0);
    return is_set;
}

static cs_status complete(settings *s, cs_error *err)
{
    bool has_places = s->places.netns != NULL;

    if (s->priority < 0) {
        s->priority = has_places && is_permitted(PRIORITY) ? PRIORITY : 0;
    } else if (s->priority > 0 && !is_permitted(s->priority)) {
        return CS_FAIL(err, CS_EINVAL, "--priority", "%d is not permitted here", s->priority);
    }
    s->gap_s = isnan(s->gap_s) ? (has_places ? GAP_S : 0) : s->gap_s;
    if (!s->has_prime) {
        s->places.prime_bytes = has_places ? PRIME_BYTES : 0;
    }
    return CS_OK;
}

/* ---- what ends a repetition early ---- */

typedef struct limit {
    const settings *settings;
    cap_sockets    *sockets;
    double          end_s, cut_s; /* CLOCK_MONOTONIC; INFINITY: never */
    pthread_mutex_t lock;
    pthread_cond_t  changed;
    bool            is_over, has_expired;
    pthread_t       thread;
} limit;

static struct timespec realtime_in(double wait_s)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_REALTIME, &t);
    double s = (double)t.tv_nsec * 1e-9 + wait_s;
    t.tv_sec += (time_t)s;
    t.tv_nsec = (long)((s - floor(s)) * 1e9);
    return t;
}

static void *keep_limit(void *argument)
{
    limit *l = argument;

    (void)pthread_mutex_lock(&l->lock);
    while (!l->is_over && !l->has_expired) {
        double          now_s = cap_now_s();
        struct timespec until = realtime_in(fmax(0, fmin(l->end_s, l->cut_s) - now_s));
        if (now_s >= l->cut_s) {
            cap_sockets_cut(l->sockets, l->settings->cut.rank);
            l->cut_s = (double)INFINITY;
        } else if (now_s >= l->end_s) {
            l->has_expired = true;
        } else {
            (void)pthread_cond_timedwait(&l->changed, &l->lock, &until);
        }
    }
    bool has_expired = l->has_expired;
    (void)pthread_mutex_unlock(&l->lock);
    if (has_expired) {
        const cap_transport *transport = cap_sockets_transport(l->sockets);
        transport->abort(transport->state);
    }
    return NULL;
}

static void end_limit(limit *l)
{
    (void)pthread_mutex_lock(&l->lock);
    l->is_over = true;
    (void)pthread_cond_signal(&l->changed);
    (void)pthread_mutex_unlock(&l->lock);
    (void)pthread_join(l->thread, NULL);
    (void)pthread_cond_destroy(&l->changed);
    (void)pthread_mutex_destroy(&l->lock);
}

/* ---- one schedule ---- */

/* Everything that a run of one schedule needs. */
typedef struct bed {
    const settings    *settings;
    const cap_options *options;
    cap_schedule      *schedule;
    cap_job           *job;
    double            *late_s;
    float            **memory;
    cap_sockets       *sockets;
    cap_watch         *watch;   /* of the program */
    cap_changer       *changer; /* of the program; NULL: nothing to change */
    cs_status          begun;   /* of the changes */
    cs_error           begin_error;
    cap_measurement    measurement;
    uint64_t           wrong;   /* also of warm-ups */
    cs_text            changes; /* JSON */
} bed;

static void close_bed(bed *b)
{
    cap_sockets_close(b->sockets);
    b->sockets = NULL;
    for (uint32_t r = 0; b->memory != NULL && r < b->schedule->stored->n_ranks; r++) {
        cs_free(b->memory[r]);
    }
    cs_free(b->memory);
    b->memory = NULL;
    cs_text_free(&b->changes);
}

static void free_bed(bed *b)
{
    close_bed(b);
    cap_measurement_close(&b->measurement);
    cs_free(b->late_s);
    cap_job_free(b->job);
    cap_schedule_free(b->schedule);
}

static cs_status allocate_memory(bed *b, cs_error *err)
{
    uint32_t n      = b->schedule->stored->n_ranks;
    double   needed = 0, there = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);

    for (uint32_t r = 0; r < n; r++) {
        needed += (double)b->job->ranks[r].n_floats * sizeof(float);
    }
    if (needed > MOST_MEMORY * there) {
        return CS_FAIL(err, CS_EINVAL, "bytes",
                       "the ranks need %.3g GB of memory; this machine has %.3g GB", needed * 1e-9,
                       there * 1e-9);
    }
    b->memory = CS_NEW(float *, n);
    for (uint32_t r = 0; r < n && b->memory != NULL; r++) {
        b->memory[r] = CS_NEW(float, b->job->ranks[r].n_floats);
        if (b->memory[r] == NULL) {
            return CS_NO_MEMORY(err, "%.3g GB of buffers", needed * 1e-9);
        }
    }
    return b->memory != NULL ? CS_OK : CS_NO_MEMORY(err, "the buffers");
}

static cs_status open_bed(bed *b, const char *path, cs_error *err)
{
    CS_TRY(cap_schedule_load(path, &b->schedule, err));
    CS_TRY(cap_job_make(b->schedule, &b->job, err));
    CS_TRY(cap_options_late(b->options, b->schedule->stored->n_ranks, &b->late_s, err));
    if (b->settings->has_cut && b->settings->cut.rank >= b->schedule->stored->n_ranks) {
        return CS_FAIL(err, CS_EINVAL, "--cut", "there is no rank %u among %u",
                       b->settings->cut.rank, b->schedule->stored->n_ranks);
    }
    CS_TRY(allocate_memory(b, err));
    b->measurement.late_s   = b->late_s;
    b->measurement.is_eager = b->settings->is_eager;
    CS_TRY(cap_measurement_open(&b->measurement, b->job, b->options->repetitions,
                                b->options->trace != NULL, err));
    return cap_sockets_open(b->job, &b->settings->places, &b->sockets, err);
}

/* Called by cap_execute() when all threads wait for the start. */
static void started(void *context, double start_s)
{
    bed *b = context;

    if (b->changer != NULL) {
        b->begun = cap_changer_begin(b->changer, b->settings->changes, b->settings->n_changes,
                                     start_s, &b->begin_error);
    }
}

/* A repetition between its start and its end. */
static cs_status execute(bed *b, cap_run *run, cs_error *err)
{
    double late_s = 0;
    limit  l      = {.settings = b->settings, .sockets = b->sockets};

    for (uint32_t r = 0; b->late_s != NULL && r < b->schedule->stored->n_ranks; r++) {
        late_s = fmax(late_s, b->late_s[r]);
    }
    l.end_s = cap_now_s() + late_s + b->settings->timeout_s;
    l.cut_s = b->settings->has_cut ? cap_now_s() + b->settings->cut.late_s : (double)INFINITY;
    (void)pthread_mutex_init(&l.lock, NULL);
    (void)pthread_cond_init(&l.changed, NULL);
    if (pthread_create(&l.thread, NULL, keep_limit, &l) != 0) {
        return CS_FAIL(err, CS_EIO, "", "cannot start a thread");
    }
    cs_error  why    = {0};
    cs_status status = cap_execute(run, &why);
    end_limit(&l);
    if (status != CS_OK && l.has_expired) {
        return CS_FAIL(err, CS_EIO, "", "a repetition had not ended %g s after the last rank came",
                       b->settings->timeout_s);
    }
    if (status != CS_OK && err->status == CS_OK) {
        *err = why;
    }
    return status;
}

/* The changes of a repetition, as JSON. */
static cs_status finish_changes(bed *b, bool is_kept, cs_error *err)
{
    if (b->changer == NULL) {
        return CS_OK;
    }
    cs_status status = cap_changer_finish(b->changer, err);
    if (is_kept) {
        cs_text_add(&b->changes, "%s[", b->changes.length > 0 ? ", " : "");
        for (size_t i = 0; i < b->settings->n_changes; i++) {
            const cap_change *change = &b->settings->changes[i];
            cs_text_add(&b->changes, "%s{\"at_s\": ", i > 0 ? ", " : "");
            cs_text_add_number(&b->changes, change->at_s);
            cs_text_add(&b->changes, ", \"begin_s\": ");
            cs_text_add_number(&b->changes, change->begin_s);
            cs_text_add(&b->changes, ", \"end_s\": ");
            cs_text_add_number(&b->changes, change->end_s);
            cs_text_add(&b->changes, "}");
        }
        cs_text_add(&b->changes, "]");
    }
    return status;
}

static cs_status prepare(bed *b, uint32_t number, cs_error *err)
{
    for (uint32_t r = 0; r < b->schedule->stored->n_ranks; r++) {
        cap_job_fill(b->job, r, number, b->memory[r]);
    }
    cap_sockets_reset(b->sockets);
    if (b->settings->before != NULL) {
        CS_TRY(cap_changer_run(b->changer, b->settings->before, err));
    }
    cap_sleep_until(cap_now_s() + b->settings->gap_s);
    (void)cap_watch_worst_s(b->watch);
    return CS_OK;
}

static uint64_t count_wrong(const bed *b, uint32_t number)
{
    uint64_t wrong = 0;

    for (uint32_t r = 0; r < b->schedule->stored->n_ranks; r++) {
        wrong += cap_job_count_wrong(b->job, r, number, b->memory[r]);
    }
    return wrong;
}

/* Repetition `number` of all, warm-ups first. `times` has room for every message. */
static cs_status repeat(bed *b, uint32_t number, cap_times *times, cap_repetition *out,
                        cs_error *err)
{
    double   busy[2] = {0}, total[2] = {0};
    uint32_t n   = b->schedule->stored->n_ranks;
    cap_run  run = {.job       = b->job,
                    .transport = cap_sockets_transport(b->sockets),
                    .memory    = b->memory,
                    .late_s    = b->late_s,
                    .is_eager  = b->settings->is_eager,
                    .priority  = b->settings->priority,
                    .started   = started,
                    .context   = b,
                    .times     = times,
                    .end_s     = out->end_s};

    CS_TRY(prepare(b, number, err));
    double retransmits = (double)cap_sockets_retransmits(b->sockets);
    bool   has_ticks   = cap_processor_ticks(&busy[0], &total[0]);
    b->begun           = CS_OK;
    b->begin_error     = (cs_error){0};
    cs_status status   = execute(b, &run, err);
    cs_status changed  = finish_changes(b, number >= b->options->warmups, err);
    if (b->begun != CS_OK && status == CS_OK) {
        *err = b->begin_error;
        return b->begun;
    }
    CS_TRY(status);
    CS_TRY(changed);
    has_ticks        = has_ticks && cap_processor_ticks(&busy[1], &total[1]);
    out->oversleep_s = cap_watch_worst_s(b->watch);
    out->cpu = has_ticks && total[1] > total[0] ? (busy[1] - busy[0]) / (total[1] - total[0])
                                                : (double)NAN;
    out->retransmits = (double)cap_sockets_retransmits(b->sockets) - retransmits;
    out->start_s     = run.start_s;
    out->makespan_s  = 0;
    for (uint32_t r = 0; r < n; r++) {
        out->makespan_s = fmax(out->makespan_s, out->end_s[r]);
    }
    out->wrong = count_wrong(b, number);
    b->wrong += out->wrong;
    return CS_OK;
}

static cs_status measure(bed *b, cs_error *err)
{
    uint32_t   n      = b->options->warmups + b->options->repetitions;
    cap_times *times  = CS_NEW(cap_times, b->job->n_messages);
    cs_status  status = times != NULL ? CS_OK : CS_NO_MEMORY(err, "the times of messages");

    for (uint32_t i = 0; i < n && status == CS_OK; i++) {
        uint32_t        kept = i < b->options->warmups ? 0 : i - b->options->warmups;
        cap_repetition *out  = &b->measurement.repetitions[kept];
        status               = repeat(b, i, out->times != NULL ? out->times : times, out, err);
    }
    cs_free(times);
    return status;
}

/* What else is said of the run. */
static cs_status add_extra(bed *b, cs_error *err)
{
    cs_text text = {0};

    cs_text_add(&text, ", \"priority\": %d, \"prime_bytes\": %" PRIu64, b->settings->priority,
                b->settings->places.prime_bytes);
    if (b->settings->n_changes > 0) {
        cs_text_add(&text, ",\n  \"changes\": [%s]",
                    b->changes.data != NULL ? b->changes.data : "");
    }
    if (b->changes.failed || cs_text_status(&text, err) != CS_OK) {
        cs_text_free(&text);
        return CS_NO_MEMORY(err, "the results");
    }
    b->measurement.extra = text.data;
    return CS_OK;
}

static cs_status run_schedule(bed *b, const char *path, cs_error *err)
{
    cs_status status = open_bed(b, path, err);

    if (status == CS_OK) {
        status = measure(b, err);
    }
    if (status == CS_OK) {
        status = add_extra(b, err);
    }
    if (status == CS_OK && b->wrong > 0) {
        (void)fprintf(stderr, "%s: %s: %" PRIu64 " wrong numbers: the result is no %s\n",
                      program.name, path, b->wrong,
                      cs_collective_name(b->schedule->stored->collective));
    }
    close_bed(b);
    if (status != CS_OK && status != CS_ENOMEM) {
        cs_error_locate(err, path, 0, 0);
    }
    return status;
}

/* ---- the program ---- */

static cs_status report(const cap_options *o, const bed *beds, size_t n, cs_error *err)
{
    cap_measurement *all = CS_NEW(cap_measurement, n);

    if (all == NULL) {
        return CS_NO_MEMORY(err, "the results");
    }
    for (size_t i = 0; i < n; i++) {
        all[i] = beds[i].measurement;
    }
    cs_status status = cap_report_write(program.name, o, all, n, err);
    cs_free(all);
    return status;
}

/* Run all schedules; `*wrong_p` numbers were wrong. */
static cs_status run_all(const cap_options *o, const settings *s, uint64_t *wrong_p, cs_error *err)
{
    bed         *beds    = CS_NEW(bed, o->n_schedules);
    cap_watch   *watch   = NULL;
    cap_changer *changer = NULL;
    cs_status    status  = beds != NULL ? CS_OK : CS_NO_MEMORY(err, "the schedules");

    if (status == CS_OK) {
        status = cap_watch_start(&watch, err);
    }
    if (status == CS_OK && (s->n_changes > 0 || s->before != NULL)) {
        status = cap_changer_open(s->priority, &changer, err);
    }
    for (size_t i = 0; i < o->n_schedules && status == CS_OK; i++) {
        beds[i] = (bed){.settings = s, .options = o, .watch = watch, .changer = changer};
        status  = run_schedule(&beds[i], o->schedules[i], err);
        *wrong_p += beds[i].wrong;
    }
    if (status == CS_OK) {
        status = report(o, beds, o->n_schedules, err);
    }
    for (size_t i = 0; beds != NULL && i < o->n_schedules; i++) {
        free_bed(&beds[i]);
    }
    cs_free(beds);
    cap_changer_close(changer);
    cap_watch_stop(watch);
    return status;
}

static cs_status start(int argc, char **argv, cap_options *o, settings *s, uint64_t *wrong_p,
                       cs_error *err)
{
    CS_TRY(cap_options_parse(argc, argv, &program, s, o, err));
    if (o->is_done) {
        return CS_OK;
    }
    if (o->trace != NULL && o->n_schedules > 1) {
        return CS_FAIL(err, CS_EINVAL, "--trace", "accepted with one schedule, here are %zu",
                       o->n_schedules);
    }
    CS_TRY(complete(s, err));
    return run_all(o, s, wrong_p, err);
}

int main(int argc, char **argv)
{
    settings    s     = {.priority = -1, .gap_s = (double)NAN, .timeout_s = 120};
    cap_options o     = {0};
    cs_error    err   = {0};
    uint64_t    wrong = 0;

    s.places.congestion = "reno";
    (void)signal(SIGPIPE, SIG_IGN);
    cs_status status = start(argc, argv, &o, &s, &wrong, &err);
    cap_options_free(&o);
    cs_free(s.changes);
    cs_free(s.places.numbers);
    if (status != CS_OK) {
        return cap_fail(&program, &err);
    }
    return wrong > 0 ? CAP_WRONG : CAP_OK;
}
