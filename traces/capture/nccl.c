/* SPDX-License-Identifier: GPL-3.0-or-later */
/* collsim-nccl: run schedules on GPUs by NCCL's sends and receives, or all ranks on one GPU.
 *
 * One process has all GPUs, or mpirun starts one for each (or for some) of them. Process 0 reads
 * the files, prints and writes; what the others measure comes to it.
 */
#include "base/alloc.h"
#include "base/file.h"
#include "cs/units.h"
#include "gpu.h"
#include "options.h"
#include "processes.h"
#include "report.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_BYTES  ((size_t)1 << 30) /* of a schedule */
#define SLICE_BYTES ((uint64_t)32 << 20)
#define WANTED      0.9 /* of the rate of messages alone */

enum { PROBE_ROUNDS = 20 };

/* ---- options ---- */

typedef struct settings {
    bool     is_loopback, probes, shares_gpu;
    uint32_t first_gpu;
    uint64_t slice_bytes;
    double   timeout_s;
} settings;

static cs_status take_loopback(void *target, const char *text, cs_error *err)
{
    (void)text;
    (void)err;
    ((settings *)target)->is_loopback = true;
    return CS_OK;
}

static cs_status take_probe(void *target, const char *text, cs_error *err)
{
    (void)text;
    (void)err;
    ((settings *)target)->probes = true;
    return CS_OK;
}

static cs_status take_share(void *target, const char *text, cs_error *err)
{
    (void)text;
    (void)err;
    ((settings *)target)->shares_gpu = true;
    return CS_OK;
}

static cs_status take_gpu(void *target, const char *text, cs_error *err)
{
    uint64_t gpu = 0;

    CS_TRY(cs_parse_integer(text, 0, 1023, &gpu, "--gpu", err));
    ((settings *)target)->first_gpu = (uint32_t)gpu;
    return CS_OK;
}

static cs_status take_slice(void *target, const char *text, cs_error *err)
{
    uint64_t *bytes = &((settings *)target)->slice_bytes;

    CS_TRY(cs_parse_bytes(text, bytes, "--slice", err));
    return *bytes == 0 || *bytes >= sizeof(float)
               ? CS_OK
               : CS_FAIL(err, CS_EINVAL, "--slice",
                         "'%.40s': accepted are 0 (messages are whole) "
                         "and at least 4 bytes",
                         text);
}

static cs_status take_timeout(void *target, const char *text, cs_error *err)
{
    double *time_s = &((settings *)target)->timeout_s;

    CS_TRY(cs_parse_time(text, time_s, "--timeout", err));
    return *time_s > 0 && *time_s <= 3600 ? CS_OK
                                          : CS_FAIL(err, CS_EINVAL, "--timeout",
                                                    "'%.40s': accepted are times up to 1 h", text);
}

static const cap_option own_options[] = {
    {"--loopback", NULL, "all ranks on one GPU: streams, and copies in place of messages",
     take_loopback},
    {"--gpu", "N", "the (first) GPU, as CUDA counts them (0)", take_gpu},
    {"--slice", "BYTES", "what is added is cut into slices of so much, 0: not at all (32M)",
     take_slice},
    {"--probe", NULL, "measure messages as long as the longest one alone, too", take_probe},
    {"--share-gpu", NULL, "under mpirun: processes may share a GPU, and talk through sockets",
     take_share},
    {"--timeout", "TIME", "a repetition that takes longer is ended, exit 3 (60s)", take_timeout},
    {NULL, NULL, NULL, NULL},
};

static const cap_program program = {
    .name    = "collsim-nccl",
    .summary = "run collsim's schedules on GPUs, by NCCL, and check every number",
    .options = own_options};

/* ---- one schedule ---- */

typedef struct run {
    const settings      *settings;
    const cap_options   *options;
    const cap_processes *processes;
    cap_schedule        *schedule;
    cap_job             *job;
    cap_groups          *groups;
    double              *late_s;
    cap_gpu             *gpu;
    cap_times           *times; /* [n_messages] of repetitions whose times are not kept */
    cap_measurement      measurement;
    uint64_t             wrong;                  /* also of warm-ups */
    double               clock_s, clock_error_s; /* this process's clock - process 0's */
    double               enqueue_s;              /* the longest */
    bool                 enqueued_early;         /* always */
    double               alone_Bps;              /* NAN: not measured */
} run;

static void close_run(run *r)
{
    cap_gpu_close(r->gpu);
    r->gpu = NULL;
    cs_free(r->times);
    r->times = NULL;
}

static void free_run(run *r)
{
    close_run(r);
    cap_measurement_close(&r->measurement);
    cs_free(r->late_s);
    cap_groups_free(r->groups);
    cap_job_free(r->job);
    cap_schedule_free(r->schedule);
}

/* Process 0 reads the file for all. */
static cs_status load(run *r, const char *path, cs_error *err)
{
    char     *text   = NULL;
    size_t    length = 0;
    cs_status status = CS_OK;

    if (r->processes->index == 0) {
        status = cs_file_read(path, MOST_BYTES, &text, &length, err);
    }
    CS_TRY(cap_processes_agree(status, err));
    cap_processes_share(&length, sizeof length);
    if (r->processes->index != 0) {
        text   = cs_calloc(length + 1, 1);
        status = text != NULL ? CS_OK : CS_NO_MEMORY(err, "%s", path);
    }
    status = cap_processes_agree(status, err);
    if (status == CS_OK) {
        cap_processes_share(text, length);
        status = cap_schedule_parse(text, length, path, &r->schedule, err);
    }
    cs_free(text);
    return status;
}

/* Which GPUs are whose. */
static cs_status set_up(const run *r, cap_device_setup *setup, cs_error *err)
{
    const settings *s = r->settings;
    const uint32_t  n = r->schedule->stored->n_ranks, of = r->processes->n;
    const char     *why;
    const uint32_t  there = cap_device_count(&why);

    if (there == 0) {
        return CS_FAIL(err, CS_EIO, "",
                       "no GPU can be used here (%s); accepted: an NVIDIA GPU and its driver, one "
                       "for each rank, or one for all with --loopback",
                       why);
    }
    if (s->first_gpu >= there) {
        return CS_FAIL(err, CS_EINVAL, "--gpu", "is %u, and there %s %u; accepted: 0 to %u",
                       s->first_gpu, there == 1 ? "is" : "are", there, there - 1);
    }
    if (n % of != 0) {
        return CS_FAIL(err, CS_EINVAL, "", "%u ranks cannot be divided among %u processes", n, of);
    }
    *setup = (cap_device_setup){.n_ranks    = n,
                                .first_rank = r->processes->index * (n / of),
                                .n_local    = n / of,
                                .first_gpu  = s->first_gpu,
                                .one_gpu    = s->is_loopback};
    if (s->is_loopback) {
        return CS_OK;
    }
    setup->first_gpu += r->processes->on_host * setup->n_local;
    if (s->shares_gpu && setup->n_local == 1) {
        setup->first_gpu %= there;
    }
    if (setup->first_gpu + setup->n_local > there) {
        return CS_FAIL(err, CS_EIO, "",
                       "rank %u needs GPU %u, and there %s %u; accepted: a GPU for each rank, or "
                       "one for all with --loopback",
                       setup->first_rank + setup->n_local - 1,
                       setup->first_gpu + setup->n_local - 1, there == 1 ? "is" : "are", there);
    }
    return CS_OK;
}

/* Memory, streams and connections of this process. */
static cs_status open_gpu(run *r, cs_error *err)
{
    cap_device_setup setup;
    const char      *why    = NULL;
    cs_status        status = cap_processes_agree(set_up(r, &setup, err), err);

    CS_TRY(status);
    if (!setup.one_gpu && r->processes->index == 0 && !cap_device_id(setup.id, &why)) {
        status = CS_FAIL(err, CS_EIO, "", "NCCL cannot begin: %s", why);
    }
    CS_TRY(cap_processes_agree(status, err));
    cap_processes_share(setup.id, sizeof setup.id);
    return cap_processes_agree(cap_gpu_open(r->groups, &setup, &r->gpu, err), err);
}

static cs_status open_run(run *r, const char *path, cs_error *err)
{
    CS_TRY(load(r, path, err));
    CS_TRY(cap_options_late(r->options, r->schedule->stored->n_ranks, &r->late_s, err));
    CS_TRY(cap_job_make(r->schedule, &r->job, err));
    CS_TRY(cap_groups_make(r->job, r->settings->slice_bytes / sizeof(float), &r->groups, err));
    r->times              = CS_NEW(cap_times, r->job->n_messages);
    r->measurement.late_s = r->late_s;
    r->enqueued_early     = true;
    r->alone_Bps          = (double)NAN;
    if (r->times == NULL) {
        return CS_NO_MEMORY(err, "the times of %u messages", r->job->n_messages);
    }
    return cap_measurement_open(&r->measurement, r->job, r->options->repetitions,
                                r->options->trace != NULL, err);
}

/* A moment that all processes agree on, in which nothing has to be enqueued any more: on process
 * 0's clock, and on this one's. */
static double agree_on_start(run *r, double *own_start_s)
{
    double lead_s = cap_gpu_lead_s(r->gpu), start_s;

    cap_processes_greatest(&lead_s, 1);
    r->clock_s = cap_processes_clock(&r->clock_error_s);
    start_s    = cap_now_s() + lead_s;
    cap_processes_share(&start_s, sizeof start_s);
    *own_start_s = start_s + r->clock_s;
    return start_s;
}

static_assert(sizeof(cap_times) == 3 * sizeof(double), "times are gathered as numbers");

/* What all processes have measured. Times count from the common start on any clock. */
static void gather(run *r, const cap_gpu_result *result, cap_repetition *out)
{
    const uint32_t n = r->schedule->stored->n_ranks;

    if (r->processes->n > 1) {
        cap_processes_greatest(&result->times->send_s, 3 * (size_t)r->job->n_messages);
        cap_processes_greatest(out->end_s, n);
    }
    out->wrong      = cap_processes_sum(result->wrong);
    out->makespan_s = 0;
    for (uint32_t rank = 0; rank < n; rank++) {
        out->makespan_s = fmax(out->makespan_s, out->end_s[rank]);
    }
    r->wrong += out->wrong;
}

/* Repetition `number` of all, warm-ups first. */
static cs_status repeat(run *r, uint32_t number, cap_repetition *out, cs_error *err)
{
    double         own_start_s = 0;
    cap_gpu_result result      = {.times = out->times != NULL ? out->times : r->times,
                                  .end_s = out->end_s};

    CS_TRY(cap_processes_agree(cap_gpu_fill(r->gpu, number, err), err));
    out->start_s           = agree_on_start(r, &own_start_s);
    const cs_status status = cap_gpu_repeat(r->gpu, number, own_start_s, r->late_s,
                                            r->settings->timeout_s, &result, err);
    CS_TRY(cap_processes_agree(status, err));
    gather(r, &result, out);
    if (number >= r->options->warmups) {
        r->enqueue_s      = fmax(r->enqueue_s, result.enqueue_s);
        r->enqueued_early = r->enqueued_early && result.enqueued_early;
    }
    return CS_OK;
}

/* Messages alone: the first time they are connected. */
static cs_status probe(run *r, cs_error *err)
{
    double rate_Bps = 0, own_start_s = 0;

    CS_TRY(cap_processes_agree(cap_gpu_probe_open(r->gpu, r->job->most_count, err), err));
    for (int i = 0; i < 2; i++) {
        (void)agree_on_start(r, &own_start_s);
        const cs_status status = cap_gpu_probe(r->gpu, i == 0 ? 1 : PROBE_ROUNDS, own_start_s,
                                               r->settings->timeout_s, &rate_Bps, err);
        CS_TRY(cap_processes_agree(status, err));
    }
    rate_Bps = -rate_Bps;
    cap_processes_greatest(&rate_Bps, 1);
    r->alone_Bps = -rate_Bps;
    return CS_OK;
}

static cs_status measure(run *r, cs_error *err)
{
    const uint32_t warmups = r->options->warmups, n = warmups + r->options->repetitions;

    for (uint32_t i = 0; i < n; i++) {
        CS_TRY(repeat(r, i, &r->measurement.repetitions[i < warmups ? 0 : i - warmups], err));
    }
    return r->settings->probes ? probe(r, err) : CS_OK;
}

/* ---- what comes out ---- */

/* Bytes per second at the busiest port, from the last arrival on, in the median repetition. */
static double executor_Bps(const run *r)
{
    uint64_t most = 0;
    double   last = 0;

    for (uint32_t rank = 0; rank < r->schedule->stored->n_ranks; rank++) {
        uint64_t sent = 0, received = 0;
        for (uint32_t i = 0; i < r->job->n_messages; i++) {
            const cap_message *m = &r->job->messages[i];
            sent += m->src == rank ? m->count : 0;
            received += m->dst == rank ? m->count : 0;
        }
        most = sent > most ? sent : most;
        most = received > most ? received : most;
        last = fmax(last, r->late_s == NULL ? 0 : r->late_s[rank]);
    }
    return (double)most * sizeof(float) / (cap_summarise(&r->measurement).median_s - last);
}

static cs_status add_extra(run *r, cs_error *err)
{
    cs_text     text = {0};
    char        name[256];
    const char *why;

    cs_text_add(&text, ", \"mode\": \"%s\", \"library\": ",
                r->settings->is_loopback ? "loopback" : "messages");
    cs_text_add_json_string(&text, cap_device_library());
    cs_text_add(&text, ", \"gpus\": [");
    for (uint32_t i = 0; i < cap_device_count(&why); i++) {
        cs_text_add(&text, "%s", i > 0 ? ", " : "");
        cap_device_name(i, name, sizeof name);
        cs_text_add_json_string(&text, name);
    }
    cs_text_add(&text,
                "], \"processes\": %" PRIu32 ", \"groups\": %" PRIu32 ", \"slice_bytes\": %" PRIu64
                ",\n  \"enqueued_early\": %s, \"enqueue_s\": ",
                r->processes->n, r->groups->n_groups, r->settings->slice_bytes,
                r->enqueued_early ? "true" : "false");
    cs_text_add_number(&text, r->enqueue_s);
    cs_text_add(&text, ", \"clock_error_s\": ");
    cs_text_add_number(&text, r->clock_error_s);
    cs_text_add(&text, ", \"alone_Bps\": ");
    cs_text_add_number(&text, r->alone_Bps);
    cs_text_add(&text, ", \"executor_Bps\": ");
    cs_text_add_number(&text, executor_Bps(r));
    r->measurement.extra = text.data;
    return cs_text_status(&text, err);
}

static void print_probe(const run *r, const char *path)
{
    const double executor = executor_Bps(r), ratio = executor / r->alone_Bps;

    printf("# probe %s: messages of %" PRIu64 " B: %s alone %.2f GB/s, executor %.2f GB/s: %.1f %% "
           "(%.0f %% are wanted)\n",
           path, r->job->most_count * sizeof(float),
           r->settings->is_loopback ? "copies" : "ncclSend and ncclRecv", r->alone_Bps * 1e-9,
           executor * 1e-9, ratio * 100, WANTED * 100);
}

static void print_remarks(const run *r, const char *path)
{
    if (r->wrong > 0) {
        fprintf(stderr, "%s: %s: %" PRIu64 " wrong numbers: the result is no %s\n", program.name,
                path, r->wrong, cs_collective_name(r->schedule->stored->collective));
    }
    if (!r->enqueued_early) {
        fprintf(stderr,
                "%s: %s: enqueueing took longer than the time before the start: what this host "
                "could not enqueue in time is part of the times\n",
                program.name, path);
    }
}

static cs_status run_schedule(run *r, const char *path, cs_error *err)
{
    cs_status status = cap_processes_agree(open_run(r, path, err), err);

    if (status != CS_OK) {
        if (status == CS_EINVAL && err->where[0] == '\0') {
            cs_error_locate(err, path, 0, 0);
        }
        return status;
    }
    status = open_gpu(r, err);
    if (status == CS_OK) {
        status = measure(r, err);
    }
    if (status == CS_OK) {
        double error_s = r->clock_error_s + cap_gpu_clock_error_s(r->gpu);
        cap_processes_greatest(&error_s, 1);
        r->clock_error_s = error_s;
        status           = add_extra(r, err);
    }
    close_run(r);
    return status;
}

static cs_status report(const cap_options *o, const run *runs, cs_error *err)
{
    cap_measurement *all = CS_NEW(cap_measurement, o->n_schedules);

    if (all == NULL) {
        return CS_NO_MEMORY(err, "the results");
    }
    for (size_t i = 0; i < o->n_schedules; i++) {
        all[i] = runs[i].measurement;
        print_remarks(&runs[i], o->schedules[i]);
    }
    cs_status status = cap_report_write(program.name, o, all, o->n_schedules, err);
    for (size_t i = 0; i < o->n_schedules && status == CS_OK; i++) {
        if (runs[i].settings->probes) {
            print_probe(&runs[i], o->schedules[i]);
        }
    }
    cs_free(all);
    return status;
}

/* ---- the program ---- */

/* NCCL refuses two ranks on one GPU of a host. Told that each is a host of its own, it takes the
 * way between hosts. What the user has set stays. */
static void share_gpu(const cap_processes *processes)
{
    char host[64] = "", id[96];

    (void)gethostname(host, sizeof host - 1);
    snprintf(id, sizeof id, "%s-%u", host, processes->index);
    setenv("NCCL_HOSTID", id, 0);
    setenv("NCCL_P2P_DISABLE", "1", 0);
    setenv("NCCL_SHM_DISABLE", "1", 0);
    setenv("NCCL_NET", "Socket", 0);
    setenv("NCCL_IB_DISABLE", "1", 0);
}

static cs_status check(const settings *s, const cap_options *o, const cap_processes *p,
                       cs_error *err)
{
    if (o->trace != NULL && o->n_schedules > 1) {
        return CS_FAIL(err, CS_EINVAL, "--trace", "accepted with one schedule, here are %zu",
                       o->n_schedules);
    }
    if (s->is_loopback && (p->n > 1 || s->shares_gpu)) {
        return CS_FAIL(err, CS_EINVAL, "--loopback",
                       "all ranks are in one process; without it, mpirun and --share-gpu are "
                       "accepted");
    }
    if (s->shares_gpu && p->n == 1) {
        return CS_FAIL(err, CS_EINVAL, "--share-gpu",
                       "NCCL takes two ranks on one GPU from two processes: accepted under mpirun "
                       "(in one process: --loopback)");
    }
    return CS_OK;
}

static cs_status run_all(const cap_options *o, const settings *s, const cap_processes *p,
                         uint64_t *wrong_p, cs_error *err)
{
    run      *runs   = CS_NEW(run, o->n_schedules);
    cs_status status = runs != NULL ? CS_OK : CS_NO_MEMORY(err, "the schedules");

    status = cap_processes_agree(status, err);
    for (size_t i = 0; i < o->n_schedules && status == CS_OK; i++) {
        runs[i] = (run){.settings = s, .options = o, .processes = p};
        status  = run_schedule(&runs[i], o->schedules[i], err);
        *wrong_p += runs[i].wrong;
    }
    if (status == CS_OK && p->index == 0) {
        status = report(o, runs, err);
    }
    for (size_t i = 0; runs != NULL && i < o->n_schedules; i++) {
        free_run(&runs[i]);
    }
    cs_free(runs);
    return cap_processes_agree(status, err);
}

static cs_status start(int argc, char **argv, cap_options *o, settings *s, const cap_processes *p,
                       uint64_t *wrong_p, cs_error *err)
{
    if (p->index != 0 && freopen("/dev/null", "w", stdout) == NULL) {
        return CS_FAIL(err, CS_EIO, "", "cannot open /dev/null");
    }
    CS_TRY(cap_options_parse(argc, argv, &program, s, o, err));
    if (o->is_done) {
        return CS_OK;
    }
    CS_TRY(check(s, o, p, err));
    if (s->shares_gpu) {
        share_gpu(p);
    }
    return run_all(o, s, p, wrong_p, err);
}

int main(int argc, char **argv)
{
    settings      s      = {.slice_bytes = SLICE_BYTES, .timeout_s = 60};
    cap_options   o      = {0};
    cap_processes p      = {0};
    cs_error      err    = {0};
    uint64_t      wrong  = 0;
    cs_status     status = cap_processes_join(&argc, &argv, &p, &err);

    if (status == CS_OK) {
        status = start(argc, argv, &o, &s, &p, &wrong, &err);
    }
    int code = wrong > 0 ? CAP_WRONG : CAP_OK;
    if (status != CS_OK) {
        code = p.index == 0 ? cap_fail(&program, &err) : CAP_BROKEN;
    }
    cap_options_free(&o);
    cap_processes_leave();
    return code;
}
