/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All policies of a job, their losses and their order: see whatif/whatif.h. */
#include "whatif/whatif.h"

#include "whatif/reason.h"
#include "whatif/walk.h"

#include <math.h>
#include <stdlib.h>

#define S_PER_HOUR 3600.0
#define LEAST_LOSS 1e-9 /* relative to what was spent: rounding */

static const char *const piece_texts[] = {
#define X(id, text) [CS_PIECE_##id] = text,
    CS_PIECE_MAP(X)
#undef X
};

const char *cs_piece_text(cs_piece_kind kind)
{
    return piece_texts[kind];
}

/* The policy's own algorithm; CS_ENOENT when this build has none of that name. */
static cs_status find_adapted(cs_policy policy, const cs_algorithm **algorithm_p)
{
    *algorithm_p = NULL;
    return policy == CS_POLICY_OPTCC || policy == CS_POLICY_R2CCL
               ? cs_algorithm_find(cs_policy_name(policy), algorithm_p, NULL)
               : CS_OK;
}

static void count_loss(const cs_whatif_job *job, const cs_whatif_report *report,
                       cs_whatif_line *line)
{
    double lost_s  = line->total_s - line->iterations * report->healthy_iteration_s;
    bool   is_none = isfinite(lost_s) && fabs(lost_s) <= LEAST_LOSS * line->total_s;

    line->lost_gpu_hours = is_none ? 0 : lost_s * job->cluster.n_ranks / S_PER_HOUR;
}

static cs_status add_reason(const cs_whatif_job *job, cs_whatif_report *report,
                            cs_whatif_line *line, cs_error *err)
{
    cs_text text = {0};

    cs_whatif_reason(job, report, line, &text);
    cs_status status = cs_text_status(&text, err);
    if (status == CS_OK) {
        line->reason = cs_arena_strdup(&report->arena, text.data);
        status       = line->reason != NULL ? CS_OK : CS_FAIL(err, CS_ENOMEM, "", "out of memory");
    }
    cs_text_free(&text);
    return status;
}

/* Does the policy ever run its own schedule? If not, say so where nothing else was said. */
static void note_unused(const cs_walk_request *q, cs_whatif_line *line)
{
    for (size_t i = 0; i < line->n_pieces; i++) {
        if (line->pieces[i].kind == CS_PIECE_ADAPTED) {
            return;
        }
    }
    if (q->adapted != NULL && line->note == NULL && q->job->n_outages > 0) {
        line->note = "never switched: no fault was known before the job's end";
    }
}

/* One policy on one timeline. */
static cs_status run_policy(const cs_whatif_job *job, const cs_timeline *timeline,
                            cs_caller *caller, cs_policy policy, cs_whatif_report *report,
                            cs_error *err)
{
    cs_whatif_line *line   = &report->lines[report->n_lines++];
    cs_walk_request q      = {.job                 = job,
                              .timeline            = timeline,
                              .caller              = caller,
                              .policy              = policy,
                              .healthy_iteration_s = report->healthy_iteration_s,
                              .arena               = &report->arena};
    cs_status       status = cs_algorithm_find("ring", &q.ring, err);

    *line = (cs_whatif_line){.policy = policy};
    if (status == CS_OK && find_adapted(policy, &q.adapted) != CS_OK) {
        line->note   = "this build has no algorithm of that name";
        line->reason = "not available";
        return CS_OK;
    }
    if (status == CS_OK) {
        status = cs_walk(&q, line, err);
    }
    if (status == CS_OK) {
        line->is_available = true;
        count_loss(job, report, line);
        note_unused(&q, line);
        status = add_reason(job, report, line, err);
    }
    return status;
}

/* The ring without faults: one call, one iteration, the whole job. */
static cs_status run_healthy(const cs_whatif_job *job, cs_whatif_report *report, cs_error *err)
{
    cs_whatif_job faultless = *job;
    cs_timeline   timeline  = {0};
    cs_caller    *caller    = NULL;
    const bool    nobody[1] = {false};
    cs_call       call      = {.is_excluded = nobody};
    cs_status     status;

    faultless.n_outages = 0;
    status              = cs_timeline_build(&faultless, &timeline, err);
    if (status == CS_OK) {
        status = cs_caller_new(&faultless, &timeline, &caller, err);
    }
    if (status == CS_OK) {
        status = cs_algorithm_find("ring", &call.algorithm, err);
    }
    if (status == CS_OK) {
        status = cs_call_time(caller, &call, &report->healthy_call_s, err);
    }
    if (status == CS_OK) {
        double calls_s = 0, head_s = (1 - job->overlap_ratio) * job->compute_s;
        for (uint32_t i = 0; i < job->calls; i++) {
            calls_s += report->healthy_call_s;
        }
        report->healthy_iteration_s = fmax(job->compute_s, head_s + calls_s);
        status = run_policy(&faultless, &timeline, caller, CS_POLICY_HEALTHY, report, err);
        report->replays += cs_caller_replays(caller);
    }
    cs_caller_free(caller);
    cs_timeline_free(&timeline);
    return status;
}

static cs_status run_faulty(const cs_whatif_job *job, cs_whatif_report *report, cs_error *err)
{
    cs_timeline timeline = {0};
    cs_caller  *caller   = NULL;
    cs_status   status   = cs_timeline_build(job, &timeline, err);

    if (status == CS_OK) {
        status = cs_caller_new(job, &timeline, &caller, err);
    }
    for (int p = 0; p < CS_POLICY_COUNT && status == CS_OK; p++) {
        if (job->wants[p] && p != CS_POLICY_HEALTHY) {
            status = run_policy(job, &timeline, caller, (cs_policy)p, report, err);
        }
    }
    if (caller != NULL) {
        report->replays += cs_caller_replays(caller);
    }
    cs_caller_free(caller);
    cs_timeline_free(&timeline);
    return status;
}

/* The reference, then what loses less, then what came first in the list of policies. */
static int compare(const void *left, const void *right)
{
    const cs_whatif_line *a = left, *b = right;
    bool                  a_is_first = a->policy == CS_POLICY_HEALTHY;

    if (a_is_first || b->policy == CS_POLICY_HEALTHY) {
        return a_is_first ? -1 : 1;
    }
    if (a->is_available != b->is_available) {
        return a->is_available ? -1 : 1;
    }
    if (a->lost_gpu_hours != b->lost_gpu_hours) {
        return a->lost_gpu_hours < b->lost_gpu_hours ? -1 : 1;
    }
    return a->policy < b->policy ? -1 : 1;
}

/* Policies that lose equally much share a place. */
static void rank_lines(cs_whatif_report *report)
{
    qsort(report->lines, report->n_lines, sizeof report->lines[0], compare);
    for (uint32_t i = 1; i < report->n_lines && report->lines[i].is_available; i++) {
        cs_whatif_line *line = &report->lines[i];
        bool is_tied         = i > 1 && line->lost_gpu_hours == report->lines[i - 1].lost_gpu_hours;
        line->place          = is_tied ? report->lines[i - 1].place : i;
    }
}

cs_status cs_whatif_run(const cs_whatif_job *job, cs_whatif_report *report_p, cs_error *err)
{
    cs_whatif_report report = {0};
    cs_status        status = run_healthy(job, &report, err);

    if (status == CS_OK) {
        status = run_faulty(job, &report, err);
    }
    if (status != CS_OK) {
        cs_whatif_free(&report);
        return status;
    }
    rank_lines(&report);
    *report_p = report;
    return CS_OK;
}

void cs_whatif_free(cs_whatif_report *report)
{
    cs_arena_free(&report->arena);
    *report = (cs_whatif_report){0};
}
