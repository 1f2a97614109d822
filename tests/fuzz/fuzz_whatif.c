/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What-if jobs: whatever is in the file, it is refused in one line or is a job whose faults are in
 * order; the small ones are run, and the intervals of every policy cover its time without a gap.
 * What stands behind a form feed is the file of a bandwidth trace: the job finds it as "200".
 */
#include "base/text.h"
#include "cs/result.h"
#include "fuzz.h"
#include "whatif/failures.h"
#include "whatif/whatif.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

enum {
    TRACE_FILE    = 200,
    MAX_RUN_RANKS = 12,
    MAX_TRANSFERS = 5000,
    MAX_CHANGES   = 8,
    MAX_CALLS     = 1000,
    MAX_STEPS     = 200, /* iterations where each of them may be another */
    MAX_SYNTHESES = 6    /* and where trees are made for each */
};

static void claim_faults(const cs_whatif_job *job)
{
    for (size_t i = 0; i < job->n_faults; i++) {
        const cs_fault    *f = &job->faults[i];
        const cs_capacity *c = &f->capacity, *before = &(f - 1)->capacity;
        uint32_t           g = job->call.scenario.cluster.gpus_per_server;
        FUZZ_CLAIM(c->rank < job->call.scenario.cluster.n_ranks);
        FUZZ_CLAIM(isfinite(c->from_s) && c->from_s >= 0 && c->from_s < c->until_s);
        FUZZ_CLAIM(c->slowdown > 1 || f->is_down);
        FUZZ_CLAIM(i == 0 || before->rank / g < c->rank / g ||
                   (before->rank / g == c->rank / g && before->from_s <= c->from_s));
    }
}

static void claim_job(const cs_whatif_job *job)
{
    const cs_whatif_timers *t = &job->timers;

    FUZZ_CLAIM(job->iterations >= 1 && job->calls >= 1 && job->call.scenario.bytes >= 1);
    FUZZ_CLAIM(isfinite(job->compute_s) && job->compute_s >= 0 && job->horizon_s > 0);
    FUZZ_CLAIM(job->overlap_ratio >= 0 && job->overlap_ratio <= 1);
    FUZZ_CLAIM(job->batch % job->call.scenario.cluster.n_ranks == 0);
    FUZZ_CLAIM(job->interference.gpus == 0 ||
               (job->interference.every_s > 0 && job->interference.level_ratio > 0));
    FUZZ_CLAIM(!job->death.is_there || (job->death.rank < job->call.scenario.cluster.n_ranks &&
                                        job->death.checkpoint >= 1 && job->death.at_s >= 0));
    FUZZ_CLAIM(t->detect_s >= 0 && t->reschedule_s >= 0 && t->restart_s >= 0 && t->rejoin_s >= 0);
    FUZZ_CLAIM(job->n_policies >= 1 && job->policies[0].kind == CS_POLICY_HEALTHY);
    claim_faults(job);
}

/* Is one replay of the schedule quick? */
static bool is_quick(const cs_whatif_job *job, const cs_whatif_schedule *schedule)
{
    fuzz_limit  limit    = {.transfers_left = MAX_TRANSFERS};
    cs_observer observer = fuzz_limit_observer(&limit);
    cs_job      call     = job->call;
    cs_result   result   = {0};
    cs_error    err      = {0};

    if (schedule->algorithm != NULL) {
        cs_job_set_algorithm(&call, schedule->algorithm, &schedule->options);
        (void)!cs_job_run(&call, &observer, 1, &result, &err);
    }
    return !limit.is_reached;
}

static bool makes_trees(const cs_whatif_schedule *schedule)
{
    return schedule->algorithm != NULL && strcmp(schedule->algorithm->name, "adapcc") == 0;
}

/* Iterations that are taken one by one, at most. */
static uint64_t max_steps(const cs_whatif_job *job)
{
    bool makes = makes_trees(&job->schedule);

    for (size_t i = 0; i < job->n_policies; i++) {
        makes = makes || makes_trees(&job->policies[i].schedule);
    }
    return makes ? MAX_SYNTHESES : MAX_STEPS;
}

static bool is_small(const cs_whatif_job *job)
{
    bool is = job->call.scenario.cluster.n_ranks <= MAX_RUN_RANKS && job->n_faults <= MAX_CHANGES &&
              job->calls <= MAX_CALLS && is_quick(job, &job->schedule) &&
              (job->iterations <= max_steps(job) ||
               (job->interference.gpus == 0 && job->profiling.period == 0));

    for (size_t i = 0; i < job->n_policies && is; i++) {
        is = is_quick(job, &job->policies[i].schedule);
    }
    return is;
}

/* Are there few servers, and few failures of each of few trials? */
static bool has_few_failures(const cs_whatif_job *job)
{
    const cs_failures *f       = &job->failures;
    uint32_t           servers = cs_n_servers(&job->call.scenario.cluster) + job->spares;
    double             n = 0, settings = 1;
    cs_fleet fleet = {.gpus = job->call.scenario.cluster.gpus_per_server, .nics = f->nics};

    for (size_t i = 0; i < f->n_causes; i++) {
        n += f->duration_s / f->causes[i].mtbf_s * servers *
             cs_cause_components(&f->causes[i], &fleet);
    }
    settings *= f->n_mtbf_factors > 0 ? (double)f->n_mtbf_factors : 1;
    settings *= f->n_mttr_factors > 0 ? (double)f->n_mttr_factors : 1;
    return f->n_mtbf_factors == 0 && n <= MAX_CHANGES && servers <= 4 * MAX_RUN_RANKS &&
           settings * (double)f->trials <= MAX_STEPS;
}

static void claim_failures(const cs_failure_report *report)
{
    for (size_t i = 0; i < report->n_settings; i++) {
        for (size_t k = 0; k < report->settings[i].n_lines; k++) {
            const cs_failure_line *l = &report->settings[i].lines[k];
            FUZZ_CLAIM(l->lost.value >= 0 && l->lost.value <= l->paid * (1 + 1e-9));
            FUZZ_CLAIM(l->stalled >= 0 && l->stopped >= 0 && l->redone >= 0 && l->spares >= 0);
        }
    }
}

static void run_failures(const cs_whatif_job *job)
{
    cs_failure_report report = {0};
    cs_error          err    = {0};
    cs_text           text   = {0};
    cs_status         status = cs_failures_run(job, 1, &report, &err);

    if (status != CS_OK) {
        fuzz_claim_error(status, &err);
        return;
    }
    claim_failures(&report);
    cs_failures_table(job, &report, &text);
    cs_failures_json(job, &report, &text);
    cs_failures_csv(job, &report, &text);
    FUZZ_CLAIM(!text.failed && strlen(text.data) == text.length);
    cs_text_free(&text);
    cs_failure_report_free(&report);
}

static void claim_line(const cs_whatif_job *job, const cs_whatif_line *line)
{
    double iterations = 0;

    if (!line->is_available) {
        FUZZ_CLAIM(line->reason != NULL && line->n_intervals == 0);
        return;
    }
    for (size_t i = 0; i < line->n_intervals; i++) {
        const cs_job_interval *p = &line->intervals[i];
        FUZZ_CLAIM(p->from_s == (i == 0 ? 0 : line->intervals[i - 1].until_s));
        FUZZ_CLAIM(p->until_s >= p->from_s && p->kind < CS_INTERVAL_COUNT);
        FUZZ_CLAIM(p->iterations >= 0 && p->lost >= 0);
        iterations += p->iterations - p->lost;
    }
    FUZZ_CLAIM(line->n_intervals == 0 ||
               line->intervals[line->n_intervals - 1].until_s == line->total_s);
    FUZZ_CLAIM(fabs(iterations - line->iterations) <= 1e-6 * fmax(1, line->iterations));
    FUZZ_CLAIM(!line->is_finished || isfinite(line->total_s));
    FUZZ_CLAIM(line->iterations <= (double)job->iterations * (1 + 1e-9));
}

static void print(const cs_whatif_job *job, const cs_whatif_report *report)
{
    cs_text text = {0};

    cs_whatif_table(job, report, &text);
    cs_whatif_json(job, report, &text);
    cs_whatif_csv(job, report, &text);
    FUZZ_CLAIM(!text.failed && strlen(text.data) == text.length);
    cs_text_free(&text);
}

static void run(const cs_whatif_job *job)
{
    cs_whatif_report report = {0};
    cs_error         err    = {0};
    cs_status        status = cs_whatif_run(job, &report, &err);

    if (status != CS_OK) {
        fuzz_claim_error(status, &err);
        return;
    }
    FUZZ_CLAIM(report.n_lines == job->n_policies);
    for (size_t i = 0; i < report.n_lines; i++) {
        claim_line(job, &report.lines[i]);
    }
    print(job, &report);
    cs_whatif_free(&report);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length)
{
    const uint8_t *feed   = length > 0 ? memchr(data, '\f', length) : NULL;
    size_t         n_json = feed != NULL ? (size_t)(feed - data) : length;
    cs_config     *config = NULL;
    cs_whatif_job  job    = {0};
    cs_error       err    = {0};
    char           path[FUZZ_PATH_BYTES];

    int fd = fuzz_memory_file(feed != NULL ? feed + 1 : data,
                              feed != NULL ? length - n_json - 1 : 0, path);
    FUZZ_CLAIM(dup2(fd, TRACE_FILE) == TRACE_FILE);
    cs_status status = fuzz_load_config(data, n_json, &config, &err);
    if (status == CS_OK) {
        status = cs_whatif_read(config, &job, &err);
    }
    if (status != CS_OK) {
        fuzz_claim_error(status, &err);
    } else {
        claim_job(&job);
        if (job.failures.is_there) {
            if (is_small(&job) && has_few_failures(&job)) {
                run_failures(&job);
            }
        } else if (is_small(&job)) {
            run(&job);
        }
        cs_whatif_job_free(&job);
    }
    cs_config_free(config);
    (void)close(fd);
    (void)close(TRACE_FILE);
    return 0;
}
