/* SPDX-License-Identifier: GPL-3.0-or-later */
/* capture/mpi.c -- collsim-mpi: run schedules over MPI, a rank each; probe links.
 *
 * Rank 0 reads the files, prints and writes; what the others measure comes to it. Before every
 * repetition and behind the last one the clocks are compared (clock.h), so that all start at the
 * same moment, and times of all ranks are on the clock of rank 0.
 */
#include "base/alloc.h"
#include "base/file.h"
#include "cs/units.h"
#include "executor.h"
#include "mpi_link.h"
#include "mpi_transport.h"
#include "mpi_watchdog.h"
#include "options.h"
#include "report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_BYTES    ((size_t)1 << 30) /* of a schedule */
#define START_AHEAD_S 0.02              /* in so long every rank has heard when */

enum { ROUND_TRIPS = 32 }; /* of a comparison of clocks */

static const uint64_t PROBED_BYTES[] = {0, 4096, 65536, 262144, 524288, 1048576, 2097152};
enum { N_PROBED = sizeof PROBED_BYTES / sizeof PROBED_BYTES[0], PROBES = 10 };

/* A schedule, and what was measured of it (all of it at rank 0 only). */
typedef struct played {
    cap_schedule    *schedule;
    cap_job         *job;
    double          *late_s;
    cap_measurement *measurement; /* of program.measurements */
} played;

typedef struct program {
    cap_options   options;
    bool          probes, is_eager;
    uint32_t      busy;
    double        timeout_s;
    int           rank, n_ranks;
    cap_watchdog *watchdog;
    cap_links     links;
    /* [options.n_schedules] */
    played          *played;
    cap_measurement *measurements;
    bool             is_wrong; /* some number is, of a schedule or a warm-up */
} program;

/* ---- options ---- */

static cs_status take_probe(void *target, const char *text, cs_error *err)
{
    (void)text;
    (void)err;
    ((program *)target)->probes = true;
    return CS_OK;
}

static cs_status take_links(void *target, const char *text, cs_error *err)
{
    ((program *)target)->options.links = text;
    return take_probe(target, NULL, err);
}

static cs_status take_eager(void *target, const char *text, cs_error *err)
{
    (void)text;
    (void)err;
    ((program *)target)->is_eager = true;
    return CS_OK;
}

static cs_status take_busy(void *target, const char *text, cs_error *err)
{
    uint64_t busy = 0;

    CS_TRY(cs_parse_integer(text, 1, CAP_MAX_RANKS, &busy, "--busy", err));
    ((program *)target)->busy = (uint32_t)busy;
    return CS_OK;
}

static cs_status take_timeout(void *target, const char *text, cs_error *err)
{
    double time_s = 0;

    CS_TRY(cs_parse_time(text, &time_s, "--timeout", err));
    if (!(time_s > 0)) {
        return CS_FAIL(err, CS_EINVAL, "--timeout", "is %s; accepted: a time above 0", text);
    }
    ((program *)target)->timeout_s = time_s;
    return CS_OK;
}

static const cap_option OPTIONS[] = {
    {"--probe", NULL, "first measure alpha and bandwidth between all ranks", take_probe},
    {"--links", "FILE", "write what --probe measures there, as JSON", take_links},
    {"--busy", "N", "ranks of a host that probe at the same time (its processors)", take_busy},
    {"--eager", NULL, "send as soon as data are there, whatever the receiver does", take_eager},
    {"--timeout", "TIME", "longest that a repetition or a probe may take (60s)", take_timeout},
    {NULL, NULL, NULL, NULL},
};

static const cap_program PROGRAM = {
    .name    = "collsim-mpi",
    .summary = "run collsim's schedules over MPI, one rank of mpirun each, and check every number",
    .options = OPTIONS,
    .needs_no_schedule = true,
};

/* ---- one schedule ---- */

/* A rank while it plays one. */
typedef struct player {
    program           *program;
    const char        *path;
    MPI_Comm           comm; /* of the ranks of the schedule */
    uint32_t           rank, n_ranks;
    played            *played;
    cap_mpi_transport *transport;
    float            **memory;        /* [n_ranks] NULL but for this one */
    cap_offset        *offsets;       /* [n_ranks] at rank 0: of the last comparison */
    cap_offset offset, offset_before; /* of this rank: the last one, and the one before it */
    cap_times *times;                 /* [n_messages] */
    double    *numbers;               /* [3 * n_messages + n_ranks] */
    double     start_s;               /* of the repetition, on rank 0's clock */
    unsigned long long wrong;         /* at rank 0: of all repetitions */
} player;

/* This rank cannot go on, and the others wait for it: end all. */
_Noreturn static void give_up(const program *p, const cs_error *err)
{
    cs_error own = *err;

    if (own.where[0] == '\0') {
        snprintf(own.where, sizeof own.where, "rank %d", p->rank);
    }
    (void)cap_fail(&PROGRAM, &own);
    fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, CAP_BROKEN);
    _Exit(CAP_BROKEN);
}

/* Rank 0 reads the file; all make the job of it. */
static cs_status load(program *p, const char *path, played *to, cs_error *err)
{
    char              *text   = NULL;
    size_t             length = 0;
    unsigned long long bytes  = 0;
    cs_status status = p->rank == 0 ? cs_file_read(path, MOST_BYTES, &text, &length, err) : CS_OK;

    CS_TRY(cap_mpi_agree(MPI_COMM_WORLD, status, err));
    bytes = length;
    MPI_Bcast(&bytes, 1, MPI_UNSIGNED_LONG_LONG, 0, MPI_COMM_WORLD);
    if (p->rank != 0) {
        length = (size_t)bytes;
        text   = cs_calloc(length + 1, 1);
        status = text != NULL ? CS_OK : CS_NO_MEMORY(err, "%s", path);
    }
    status = cap_mpi_agree(MPI_COMM_WORLD, status, err);
    if (status == CS_OK) {
        MPI_Bcast(text, (int)length, MPI_BYTE, 0, MPI_COMM_WORLD);
        status = cap_schedule_parse(text, length, path, &to->schedule, err);
    }
    cs_free(text);
    if (status == CS_OK && to->schedule->stored->n_ranks > (uint32_t)p->n_ranks) {
        status = CS_FAIL(err, CS_EINVAL, "", "has %u ranks, and mpirun started %d",
                         to->schedule->stored->n_ranks, p->n_ranks);
        cs_error_locate(err, path, 0, 0);
    }
    if (status == CS_OK) {
        status = cap_options_late(&p->options, to->schedule->stored->n_ranks, &to->late_s, err);
    }
    if (status == CS_OK) {
        status = cap_job_make(to->schedule, &to->job, err);
    }
    return cap_mpi_agree(MPI_COMM_WORLD, status, err);
}

static cs_status open_player(player *own, cs_error *err)
{
    const program *p    = own->program;
    const cap_job *job  = own->played->job;
    int            rank = 0;

    MPI_Comm_rank(own->comm, &rank);
    own->rank        = (uint32_t)rank;
    own->n_ranks     = own->played->schedule->stored->n_ranks;
    own->memory      = cs_calloc(own->n_ranks, sizeof *own->memory);
    own->offsets     = cs_calloc(own->n_ranks, sizeof *own->offsets);
    own->times       = cs_calloc(job->n_messages, sizeof *own->times);
    own->numbers     = cs_calloc(3 * (size_t)job->n_messages + own->n_ranks, sizeof(double));
    cs_status status = CS_OK;
    if (own->memory != NULL) {
        own->memory[own->rank] = cs_calloc(job->ranks[own->rank].n_floats, sizeof(float));
    }
    if (own->memory == NULL || own->memory[own->rank] == NULL || own->offsets == NULL ||
        own->times == NULL || own->numbers == NULL) {
        status = CS_NO_MEMORY(err, "%llu floats of rank %u",
                              (unsigned long long)job->ranks[own->rank].n_floats, own->rank);
    } else {
        status =
            cap_measurement_open(own->played->measurement, job, p->options.repetitions, true, err);
        own->played->measurement->late_s   = own->played->late_s;
        own->played->measurement->is_eager = p->is_eager;
    }
    status = cap_mpi_agree(own->comm, status, err);
    if (status == CS_OK) {
        status = cap_mpi_transport_open(own->comm, job, &own->transport, err);
    }
    return status;
}

static void close_player(player *own)
{
    cap_mpi_transport_close(own->transport);
    if (own->memory != NULL) {
        cs_free(own->memory[own->rank]);
    }
    cs_free(own->memory);
    cs_free(own->offsets);
    cs_free(own->times);
    cs_free(own->numbers);
}

/* Every rank gets what rank 0 found of its clock. */
static void compare_clocks(player *own)
{
    own->offset_before = own->offset;
    cap_mpi_compare_clocks(own->comm, ROUND_TRIPS, own->offsets);
    cap_mpi_barrier(own->comm);
    MPI_Scatter(own->offsets, sizeof own->offset, MPI_BYTE, &own->offset, sizeof own->offset,
                MPI_BYTE, 0, own->comm);
}

/* The greatest of what the ranks have; NAN counts as nothing. */
static void greatest_of_all(const player *own, double *values, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        values[i] = isnan(values[i]) ? -HUGE_VAL : values[i];
    }
    MPI_Reduce(own->rank == 0 ? MPI_IN_PLACE : values, values, (int)n, MPI_DOUBLE, MPI_MAX, 0,
               own->comm);
    for (size_t i = 0; i < n; i++) {
        values[i] = values[i] > -HUGE_VAL ? values[i] : (double)NAN;
    }
}

/* Bring the times of a repetition, which are after this rank's own start, to rank 0, on its clock,
 * and the number of those that are wrong. */
static void gather(player *own, cap_repetition *repetition, double own_start_s)
{
    const cap_clock clock = cap_clock_between(own->offset_before, own->offset);
    const uint32_t  n     = repetition->times != NULL ? own->played->job->n_messages : 0;
    const size_t    n_all = 3 * (size_t)n + own->n_ranks;
    double         *all   = own->numbers;

    for (uint32_t i = 0; i < n; i++) {
        all[3 * (size_t)i]     = own->times[i].send_s;
        all[3 * (size_t)i + 1] = own->times[i].sent_s;
        all[3 * (size_t)i + 2] = own->times[i].received_s;
    }
    memcpy(all + 3 * (size_t)n, repetition->end_s, own->n_ranks * sizeof *all);
    for (size_t i = 0; i < n_all; i++) {
        all[i] = cap_clock_to_reference(&clock, own_start_s + all[i]) - repetition->start_s;
    }
    greatest_of_all(own, all, n_all);
    for (uint32_t i = 0; i < n; i++) {
        repetition->times[i] = (cap_times){.send_s     = all[3 * (size_t)i],
                                           .sent_s     = all[3 * (size_t)i + 1],
                                           .received_s = all[3 * (size_t)i + 2]};
    }
    memcpy(repetition->end_s, all + 3 * (size_t)n, own->n_ranks * sizeof *all);
    repetition->makespan_s = 0;
    for (uint32_t rank = 0; rank < own->n_ranks; rank++) {
        repetition->makespan_s = fmax(repetition->makespan_s, repetition->end_s[rank]);
    }
    unsigned long long wrong = repetition->wrong, sum = 0;
    MPI_Reduce(&wrong, &sum, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, 0, own->comm);
    repetition->wrong = sum;
    own->wrong += sum;
}

static double latest(const player *own)
{
    double most = 0;

    for (uint32_t rank = 0; own->played->late_s != NULL && rank < own->n_ranks; rank++) {
        most = fmax(most, own->played->late_s[rank]);
    }
    return most;
}

/* When the repetition starts, on this rank's clock: all ranks ask when they are ready, rank 0
 * decides. */
static double when_to_start(void *context)
{
    player         *own   = context;
    const cap_clock clock = cap_clock_between(own->offset, own->offset);

    cap_mpi_barrier(own->comm);
    own->start_s = cap_now_s() + START_AHEAD_S;
    MPI_Bcast(&own->start_s, 1, MPI_DOUBLE, 0, own->comm);
    return cap_clock_from_reference(&clock, own->start_s);
}

/* One repetition into `to`; numbers of warm-ups are the first ones. */
static void play_once(player *own, uint32_t number, cap_repetition *to)
{
    const cap_job      *job   = own->played->job;
    const cap_transport hooks = cap_mpi_transport_hooks(own->transport);
    cs_error            err   = {0};
    cap_run             run   = {.job       = job,
                                 .transport = &hooks,
                                 .memory    = own->memory,
                                 .late_s    = own->played->late_s,
                                 .is_eager  = own->program->is_eager,
                                 .when      = when_to_start,
                                 .context   = own,
                                 .times     = own->times,
                                 .end_s     = to->end_s};

    cap_watchdog_expect(own->program->watchdog, latest(own), "%s: repetition %u", own->path,
                        number);
    cap_job_fill(job, own->rank, number, own->memory[own->rank]);
    if (number == 0) {
        compare_clocks(own);
    }
    if (cap_execute(&run, &err) != CS_OK) {
        give_up(own->program, &err);
    }
    to->start_s = own->start_s;
    to->wrong   = cap_job_count_wrong(job, own->rank, number, own->memory[own->rank]);
    cap_mpi_barrier(own->comm);
    compare_clocks(own);
    gather(own, to, run.start_s);
}

static void clocks_json(const player *own, cs_text *text)
{
    cs_text_add(text, ", \"clocks\": [");
    for (uint32_t rank = 0; rank < own->n_ranks; rank++) {
        cs_text_add(text, "%s{\"offset_s\": ", rank > 0 ? ", " : "");
        cs_text_add_number(text, own->offsets[rank].offset_s);
        cs_text_add(text, ", \"error_s\": ");
        cs_text_add_number(text, own->offsets[rank].error_s);
        cs_text_add(text, "}");
    }
    cs_text_add(text, "]");
}

static void play_all(player *own)
{
    const program   *p    = own->program;
    cap_measurement *m    = own->played->measurement;
    cs_text          text = {0};

    for (uint32_t i = 0; i < p->options.warmups; i++) {
        play_once(own, i, &m->repetitions[0]);
    }
    for (uint32_t i = 0; i < p->options.repetitions; i++) {
        play_once(own, p->options.warmups + i, &m->repetitions[i]);
    }
    clocks_json(own, &text);
    m->extra = text.data;
    if (own->rank == 0 && own->wrong > 0) {
        fprintf(stderr, "%s: %s: %llu wrong numbers: the result is no %s\n", PROGRAM.name,
                own->path, own->wrong,
                cs_collective_name(own->played->schedule->stored->collective));
    }
    own->program->is_wrong = own->program->is_wrong || own->wrong > 0;
}

static cs_status play(program *p, const char *path, played *to, cs_error *err)
{
    player    own    = {.program = p, .path = path, .played = to, .comm = MPI_COMM_NULL};
    cs_status status = CS_OK;

    cap_watchdog_expect(p->watchdog, 0, "reading %s", path);
    CS_TRY(load(p, path, to, err));
    const bool takes_part = (uint32_t)p->rank < to->schedule->stored->n_ranks;
    MPI_Comm_split(MPI_COMM_WORLD, takes_part ? 0 : MPI_UNDEFINED, p->rank, &own.comm);
    if (takes_part) {
        status = open_player(&own, err);
        if (status == CS_OK) {
            play_all(&own);
        }
        close_player(&own);
        MPI_Comm_free(&own.comm);
    } else { /* the others know better how long it takes */
        cap_watchdog_expect(p->watchdog, HUGE_VAL, "%s", path);
    }
    return cap_mpi_agree(MPI_COMM_WORLD, status, err);
}

/* ---- what comes out ---- */

static cs_status write_all(const program *p, cs_error *err)
{
    const cap_options *o = &p->options;

    if (o->links != NULL) {
        cs_text links = {0};
        cap_links_json(&links, &p->links, o->machine);
        cs_status status = cap_write(o->links, &links, err);
        cs_text_free(&links);
        CS_TRY(status);
    }
    return o->n_schedules == 0
               ? CS_OK
               : cap_report_write(PROGRAM.name, o, p->measurements, o->n_schedules, err);
}

/* ---- the program ---- */

static cs_status probe(program *p, cs_error *err)
{
    const cap_mpi_probe what = {
        .sizes_bytes = PROBED_BYTES, .n_sizes = N_PROBED, .repetitions = PROBES, .busy = p->busy};
    cs_text   text   = {0};
    cs_status status = CS_OK;

    cap_watchdog_expect(p->watchdog, 0, "probing links");
    CS_TRY(cap_mpi_probe_links(MPI_COMM_WORLD, &what, &p->links, err));
    if (p->rank == 0) {
        cap_links_table(&text, &p->links);
        status = cap_write(NULL, &text, err);
        cs_text_free(&text);
    }
    return status;
}

/* Everything; at rank 0 `*code_p` is what the run found. */
static cs_status work(program *p, int *code_p, cs_error *err)
{
    p->played        = cs_calloc(p->options.n_schedules, sizeof *p->played);
    p->measurements  = cs_calloc(p->options.n_schedules, sizeof *p->measurements);
    cs_status status = p->played != NULL && p->measurements != NULL
                           ? CS_OK
                           : CS_NO_MEMORY(err, "%zu schedules", p->options.n_schedules);
    CS_TRY(cap_mpi_agree(MPI_COMM_WORLD, status, err));
    if (p->probes) {
        CS_TRY(cap_mpi_agree(MPI_COMM_WORLD, probe(p, err), err));
    }
    for (size_t i = 0; i < p->options.n_schedules; i++) {
        p->played[i].measurement = &p->measurements[i];
        CS_TRY(play(p, p->options.schedules[i], &p->played[i], err));
    }
    cap_watchdog_expect(p->watchdog, 0, "writing results");
    if (p->rank == 0) {
        status  = write_all(p, err);
        *code_p = p->is_wrong ? CAP_WRONG : CAP_OK;
    }
    return cap_mpi_agree(MPI_COMM_WORLD, status, err);
}

static void close_program(program *p)
{
    for (size_t i = 0; p->played != NULL && i < p->options.n_schedules; i++) {
        played *one = &p->played[i];
        cap_measurement_close(&p->measurements[i]);
        cap_job_free(one->job);
        cap_schedule_free(one->schedule);
        cs_free(one->late_s);
    }
    cs_free(p->played);
    cs_free(p->measurements);
    cap_links_destroy(&p->links);
    cap_options_free(&p->options);
}

/* The command line, which all ranks read alike; rank 0 prints. */
static cs_status read_options(program *p, int argc, char **argv, cs_error *err)
{
    if (p->rank != 0 && freopen("/dev/null", "w", stdout) == NULL) {
        return CS_FAIL(err, CS_EIO, "", "cannot open /dev/null");
    }
    CS_TRY(cap_options_parse(argc, argv, &PROGRAM, p, &p->options, err));
    if (!p->options.is_done && p->options.n_schedules == 0 && !p->probes) {
        return CS_FAIL(err, CS_EINVAL, "", "nothing to do: accepted are schedules and --probe");
    }
    if (p->options.trace != NULL && p->options.n_schedules != 1) {
        return CS_FAIL(err, CS_EINVAL, "--trace", "accepted with one schedule, here are %zu",
                       p->options.n_schedules);
    }
    return CS_OK;
}

/* The exit code, on all ranks. */
static int run(program *p, int argc, char **argv)
{
    cs_error  err    = {0};
    int       code   = CAP_OK;
    cs_status status = cap_mpi_agree(MPI_COMM_WORLD, read_options(p, argc, argv, &err), &err);

    if (status == CS_OK && p->options.is_done) {
        return CAP_OK;
    }
    if (status == CS_OK &&
        cap_watchdog_start(PROGRAM.name, p->timeout_s, &p->watchdog, &err) != CS_OK) {
        give_up(p, &err);
    }
    if (status == CS_OK) {
        status = work(p, &code, &err);
        cap_watchdog_end(p->watchdog);
    }
    if (status != CS_OK && p->rank == 0) {
        code = cap_fail(&PROGRAM, &err);
    }
    MPI_Bcast(&code, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return code;
}

int main(int argc, char **argv)
{
    program p        = {.timeout_s = 60};
    int     provided = 0, code = CAP_BROKEN;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &p.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &p.n_ranks);
    if (provided >= MPI_THREAD_MULTIPLE) {
        code = run(&p, argc, argv);
    } else if (p.rank == 0) {
        fputs("collsim-mpi: this MPI has no MPI_THREAD_MULTIPLE, which two ports of a rank need\n",
              stderr);
    }
    close_program(&p);
    fflush(stdout);
    fflush(stderr);
    MPI_Finalize();
    return code;
}
