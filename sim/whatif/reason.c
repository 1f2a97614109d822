/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The pieces of each kind, put together and put into words: see whatif/reason.h. Numbers have
 * three digits here; the exact ones are in the pieces. */
#include "whatif/reason.h"

#include <math.h>

#define SAME_PACE  1e-9 /* rounding */
#define MANY_TIMES 10.0 /* from here on a percentage says less than a factor */

/* All pieces of one kind. */
typedef struct kind_sum {
    double   duration_s, iterations, held_s;
    uint32_t most_excluded;
} kind_sum;

static void sum_up(const cs_whatif_line *line, kind_sum *sums)
{
    for (size_t i = 0; i < CS_PIECE_COUNT; i++) {
        sums[i] = (kind_sum){0};
    }
    for (size_t i = 0; i < line->n_pieces; i++) {
        const cs_piece *piece = &line->pieces[i];
        kind_sum       *sum   = &sums[piece->kind];
        sum->duration_s += piece->until_s - piece->from_s;
        sum->iterations += piece->iterations;
        sum->held_s += piece->held_s;
        sum->most_excluded =
            piece->excluded > sum->most_excluded ? piece->excluded : sum->most_excluded;
    }
}

static void add_separator(cs_text *text, int *count)
{
    cs_text_add(text, "%s", (*count)++ == 0 ? ": " : ", ");
}

/* "2.1 % slower during 60 s", than the best schedule without a fault */
static void add_pace(cs_text *text, const kind_sum *sum, double best_s, int *count)
{
    double busy_s  = sum->duration_s - sum->held_s;
    double ratio   = busy_s / (sum->iterations * best_s);
    double percent = (ratio - 1) * 100;

    add_separator(text, count);
    if (sum->iterations > 0 && ratio >= MANY_TIMES) {
        cs_text_add(text, "%.3g times as long during %.4g s", ratio, busy_s);
    } else if (sum->iterations > 0) {
        cs_text_add(text, "%.3g %% %s during %.4g s", fabs(percent),
                    percent < 0 ? "faster" : "slower", busy_s);
    } else {
        cs_text_add(text, "no iteration done during %.4g s", busy_s);
    }
}

static void add_stops(cs_text *text, const cs_whatif_line *line, const kind_sum *sums, int *count)
{
    double held_s = sums[CS_PIECE_DEGRADED].held_s;

    if (held_s > 0) {
        add_separator(text, count);
        cs_text_add(text, "calls held for %.4g s until the repair", held_s);
    }
    if (sums[CS_PIECE_RESTART].duration_s > 0) {
        add_separator(text, count);
        cs_text_add(text, "%.4g s stopped to restart", sums[CS_PIECE_RESTART].duration_s);
    }
    if (sums[CS_PIECE_ABORTED].duration_s > 0) {
        add_separator(text, count);
        cs_text_add(text, "%.3g s of work dropped", sums[CS_PIECE_ABORTED].duration_s);
    }
    if (sums[CS_PIECE_STUCK].duration_s > 0) {
        add_separator(text, count);
        cs_text_add(text, "stuck from %.6g s on", line->pieces[line->n_pieces - 1].from_s);
    }
}

/* The job's schedule on healthy NICs is worth a word where there is a better one. */
static void add_healthy(cs_text *text, const cs_whatif_job *job, const cs_whatif_report *report,
                        const kind_sum *sum, int *count)
{
    if (sum->duration_s > 0 &&
        report->healthy_iteration_s > report->best_iteration_s * (1 + SAME_PACE)) {
        add_pace(text, sum, report->best_iteration_s, count);
        cs_text_add(text, " with %s on healthy NICs", job->schedule.algorithm->name);
    }
}

static void add_paces(cs_text *text, const cs_whatif_job *job, const cs_whatif_report *report,
                      const cs_whatif_line *line, const kind_sum *sums, int *count)
{
    bool   switches = line->policy->kind == CS_POLICY_SWITCH;
    double best_s   = report->best_iteration_s;

    if (sums[CS_PIECE_ADAPTED].duration_s > 0) {
        add_pace(text, &sums[CS_PIECE_ADAPTED], best_s, count);
        cs_text_add(text, " with %s", line->policy->name);
    }
    if (sums[CS_PIECE_SMALLER].duration_s > 0) {
        add_pace(text, &sums[CS_PIECE_SMALLER], best_s, count);
        cs_text_add(text, " without %u of %u servers", sums[CS_PIECE_SMALLER].most_excluded,
                    cs_n_servers(&job->cluster));
    }
    if (sums[CS_PIECE_DEGRADED].duration_s > sums[CS_PIECE_DEGRADED].held_s) {
        add_pace(text, &sums[CS_PIECE_DEGRADED], best_s, count);
        cs_text_add(text, " with %s on degraded NICs%s", job->schedule.algorithm->name,
                    switches ? ", before the switch" : "");
    }
    add_healthy(text, job, report, &sums[CS_PIECE_HEALTHY], count);
}

void cs_whatif_reason(const cs_whatif_job *job, const cs_whatif_report *report,
                      const cs_whatif_line *line, cs_text *text)
{
    kind_sum sums[CS_PIECE_COUNT];
    int      count = 0;

    if (line->policy->kind == CS_POLICY_HEALTHY && line->lost_gpu_hours == 0) {
        cs_text_add(text, "the reference");
        return;
    }
    sum_up(line, sums);
    if (isinf(line->lost_gpu_hours)) {
        cs_text_add(text, "never ends");
    } else if (line->lost_gpu_hours != 0) {
        cs_text_add(text, "%s %.3g GPU-hours", line->lost_gpu_hours < 0 ? "gains" : "loses",
                    fabs(line->lost_gpu_hours));
    }
    add_paces(text, job, report, line, sums, &count);
    add_stops(text, line, sums, &count);
    if (count == 0 && line->lost_gpu_hours == 0) {
        cs_text_add(text, "loses nothing");
    }
}
