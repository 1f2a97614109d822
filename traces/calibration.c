/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The logs are checked against each other, the points of the chosen side are pooled and sorted
 * by size and time, fitted (fit.c), and the lines are turned into port parameters by the cost
 * models. Steps of these, S being the size column of nccl-tests, n the ranks:
 *   ring AllReduce                2 (n - 1) (alpha + S / n beta)
 *   ring AllGather, ReduceScatter,
 *   pairwise AlltoAll               (n - 1) (alpha + S / n beta)   (S = all n blocks)
 *   allpairs (captured) AllReduce         2 (alpha + (n - 1) / n S beta), of the others half
 */
#include "traces/calibration.h"

#include "base/alloc.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void cs_calibration_free(cs_calibration *calibration)
{
    if (calibration != NULL) {
        for (size_t l = 0; calibration->levels != NULL && l < CS_LEVELS; l++) {
            cs_free(calibration->levels->of[l].logs);
        }
        cs_free(calibration->levels);
        cs_free(calibration->logs);
        cs_free(calibration->others);
        cs_free(calibration->points);
        cs_free(calibration);
    }
}

/* "1 KiB", "8 GiB", "1000 B": a size without rounding. */
static void bytes_text(uint64_t bytes, char text[32])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    size_t                   unit    = 0;

    while (unit < 4 && bytes >= 1024 && bytes % 1024 == 0) {
        bytes /= 1024;
        unit++;
    }
    snprintf(text, 32, "%llu %s", (unsigned long long)bytes, units[unit]);
}

cs_status cs_calibration_steps(const char *schedule, cs_collective collective, uint32_t n_ranks,
                               double *steps_p, double *wire_ratio_p, cs_error *err)
{
    const bool is_direct = strcmp(schedule, "allpairs") == 0;
    double     n         = (double)n_ranks;

    if (schedule[0] != '\0' && !is_direct && strcmp(schedule, "ring") != 0) {
        return CS_FAIL(
            err, CS_ENOTSUP, "schedule",
            "%s: alpha and bandwidth cannot be concluded from its times alone; accepted: "
            "captured runs of ring and allpairs, whose times are A + B S",
            schedule);
    }

    if (cs_collective_has_root(collective)) {
        uint32_t rootless = 0;
        char     list[120];
        for (cs_collective c = 0; c < CS_COLLECTIVE_COUNT; c++) {
            rootless |= cs_collective_has_root(c) ? 0 : 1u << c;
        }
        cs_list_collectives(rootless, list, sizeof list);
        return CS_FAIL(err, CS_ENOTSUP, "collective",
                       "%s has no port parameters (its depth is unknown), accepted: %s",
                       cs_collective_name(collective), list);
    }
    if (n_ranks < 2) {
        return CS_FAIL(err, CS_ENOTSUP, "ranks", "%u, accepted: 2 or more", n_ranks);
    }
    *steps_p      = cs_collectives[collective].bus * (is_direct ? 1 : n - 1);
    *wire_ratio_p = is_direct ? (n - 1) / n : 1 / n;
    return CS_OK;
}

static cs_status check_asked(const cs_calibration *c, cs_collective collective, uint32_t n_ranks,
                             uint64_t bytes, cs_error *err)
{
    char asked[32], low[32], high[32];

    if (c->levels != NULL) {
        return CS_FAIL(err, CS_ENOTSUP, "",
                       "describes NVLink and NICs; accepted: a calibration of one port for each "
                       "rank, from 'calibrate LOG'");
    }
    const cs_regime *first = &c->regimes[0];
    const cs_regime *last  = &c->regimes[c->n_regimes - 1];
    if (collective != c->collective) {
        return CS_FAIL(err, CS_ENOTSUP, "collective", "not calibrated here: %s; accepted: %s",
                       cs_collective_name(collective), cs_collective_name(c->collective));
    }
    if (n_ranks != c->n_ranks && !c->extrapolate) {
        return CS_FAIL(err, CS_ENOTSUP, "ranks",
                       "not calibrated here: %u ranks; accepted: %u, the number measured, or "
                       "extrapolation allowed in the calibration",
                       n_ranks, c->n_ranks);
    }
    if (bytes < first->min_bytes || bytes > last->max_bytes) {
        bytes_text(bytes, asked);
        bytes_text(first->min_bytes, low);
        bytes_text(last->max_bytes, high);
        return CS_FAIL(err, CS_ENOTSUP, "bytes", "not calibrated here: %s; accepted: %s .. %s",
                       asked, low, high);
    }
    return CS_OK;
}

/* A line between two: joined, and so are the ends of the intervals. */
static cs_line join(const cs_regime *below, const cs_regime *above, uint64_t bytes)
{
    const cs_line *a = &below->line, *b = &above->line;
    const cs_line  ends[3][2] = {
         {*a, *b},
         {{.intercept_s = a->intercept_low_s, .slope_s_per_byte = a->slope_low_s_per_byte},
          {.intercept_s = b->intercept_low_s, .slope_s_per_byte = b->slope_low_s_per_byte}},
         {{.intercept_s = a->intercept_high_s, .slope_s_per_byte = a->slope_high_s_per_byte},
          {.intercept_s = b->intercept_high_s, .slope_s_per_byte = b->slope_high_s_per_byte}}};
    double intercept[3], slope[3];

    for (size_t e = 0; e < 3; e++) {
        cs_line_join(&ends[e][0], below->max_bytes, &ends[e][1], above->min_bytes, bytes,
                     &intercept[e], &slope[e]);
    }
    return (cs_line){.intercept_s           = intercept[0],
                     .intercept_low_s       = intercept[1],
                     .intercept_high_s      = intercept[2],
                     .slope_s_per_byte      = slope[0],
                     .slope_low_s_per_byte  = slope[1],
                     .slope_high_s_per_byte = slope[2]};
}

/* The regime of a size that is not above the last one; `steps` and `wire_ratio` are those of the
 * cost model. */
static cs_regime regime_at(const cs_regime *regimes, uint64_t bytes, double steps,
                           double wire_ratio)
{
    const cs_regime *above = regimes;

    while (bytes > above->max_bytes) {
        above++;
    }
    cs_regime regime = *above;
    if (bytes >= above->min_bytes || above == regimes) {
        return regime;
    }
    const cs_regime    *below = above - 1;
    const cs_fit_error *left = &below->held_out, *right = &above->held_out;
    regime.min_bytes           = below->min_bytes;
    regime.n_points            = below->n_points + above->n_points;
    regime.line                = join(below, above, bytes);
    regime.alpha_s             = regime.line.intercept_s / steps;
    regime.bandwidth_Bps       = steps * wire_ratio / regime.line.slope_s_per_byte;
    regime.held_out.mean_ratio = fmax(left->mean_ratio, right->mean_ratio);
    regime.held_out.max_ratio  = fmax(left->max_ratio, right->max_ratio);
    regime.held_out.n          = left->n < right->n ? left->n : right->n;
    return regime;
}

cs_status cs_calibration_regime(const cs_calibration *c, cs_collective collective, uint32_t n_ranks,
                                uint64_t bytes, cs_regime *regime_p, cs_error *err)
{
    double steps = 0, wire_ratio = 0;

    CS_TRY(check_asked(c, collective, n_ranks, bytes, err));
    CS_TRY(cs_calibration_steps(c->schedule, collective, c->n_ranks, &steps, &wire_ratio, err));
    *regime_p = regime_at(c->regimes, bytes, steps, wire_ratio);
    return CS_OK;
}

bool cs_level_regime(const cs_level *level, uint64_t message_bytes, bool extends,
                     cs_regime *regime_p)
{
    const cs_regime *last = &level->regimes[level->n_regimes - 1];

    if (!extends &&
        (message_bytes < level->regimes[0].min_bytes || message_bytes > last->max_bytes)) {
        return false;
    }
    *regime_p =
        message_bytes > last->max_bytes ? *last : regime_at(level->regimes, message_bytes, 1, 1);
    return true;
}

cs_status cs_calibration_apply(const cs_calibration *c, cs_collective collective, uint32_t n_ranks,
                               uint64_t bytes, double *alpha_s_p, double *bandwidth_Bps_p,
                               cs_error *err)
{
    cs_regime regime;

    CS_TRY(cs_calibration_regime(c, collective, n_ranks, bytes, &regime, err));
    *alpha_s_p       = regime.alpha_s;
    *bandwidth_Bps_p = regime.bandwidth_Bps;
    return CS_OK;
}

/* The largest error of what was held out. */
static double largest_error(const cs_calibration *c, uint32_t n_ranks, const cs_regime *regime)
{
    double largest = 0;

    if (n_ranks == c->n_ranks) {
        return regime->held_out.n > 0 ? regime->held_out.max_ratio : HUGE_VAL;
    }
    for (size_t o = 0; o < c->n_others; o++) {
        largest = fmax(largest, c->others[o].error.max_ratio);
    }
    return c->n_others > 0 ? largest : HUGE_VAL;
}

cs_status cs_calibration_time(const cs_calibration *c, cs_collective collective, uint32_t n_ranks,
                              uint64_t bytes, cs_estimate *time_s_p, cs_error *err)
{
    double    steps = 0, wire_ratio = 0;
    cs_regime regime;

    CS_TRY(cs_calibration_regime(c, collective, n_ranks, bytes, &regime, err));
    CS_TRY(cs_calibration_steps(c->schedule, collective, n_ranks, &steps, &wire_ratio, err));
    double time_s = steps * (regime.alpha_s + wire_ratio * (double)bytes / regime.bandwidth_Bps);
    double error  = largest_error(c, n_ranks, &regime);
    *time_s_p =
        (cs_estimate){time_s, time_s / (1 + error), error < 1 ? time_s / (1 - error) : HUGE_VAL};
    return CS_OK;
}

/* From logs. */

static cs_status check_collective(const cs_nccl_log *log, const cs_calibrate_options *options,
                                  cs_error *err)
{
    bool is_known = log->collective_from != CS_NCCL_UNKNOWN;

    if (!is_known && log->program[0] != '\0') {
        return CS_FAIL(err, CS_ENOTSUP, "collective",
                       "%s cannot be calibrated, accepted: allreduce, allgather, reducescatter, "
                       "alltoall",
                       log->program);
    }
    if (!is_known && !options->has_collective) {
        return CS_FAIL(err, CS_EINVAL, "collective", "the log does not say which it is: give it");
    }
    if (is_known && options->has_collective && log->collective != options->collective) {
        return CS_FAIL(err, CS_EINVAL, "collective", "the log is of %s, not of %s",
                       cs_collective_name(log->collective),
                       cs_collective_name(options->collective));
    }
    return CS_OK;
}

static cs_status check_rows(const cs_nccl_log *log, const cs_calibrate_options *options,
                            int *line_p, cs_error *err)
{
    for (size_t r = 0; r < log->n_rows; r++) {
        const cs_nccl_timing *timing = &log->rows[r].timings[options->column];

        if (!log->is_deviation && timing->is_checked && timing->n_wrong > 0) {
            *line_p = (int)log->rows[r].line;
            return CS_FAIL(err, CS_EINVAL, "#wrong",
                           "%.0f wrong results at size %llu: a table with wrong results is no "
                           "measurement",
                           timing->n_wrong, (unsigned long long)log->rows[r].size_bytes);
        }
    }
    return CS_OK;
}

static cs_collective collective_of(const cs_nccl_log *log, const cs_calibrate_options *options)
{
    return options->has_collective ? options->collective : log->collective;
}

static uint32_t ranks_of(const cs_nccl_log *log, const cs_calibrate_options *options)
{
    return options->n_ranks > 0 && !log->is_part ? options->n_ranks : log->n_ranks;
}

cs_status cs_calibrate_check(const cs_nccl_log *log, const cs_calibrate_options *options,
                             int *line_p, cs_error *err)
{
    if (log->measured == CS_NCCL_COLLECTIVE) {
        CS_TRY(check_collective(log, options, err));
    }
    if (log->is_cputime) {
        return CS_FAIL(err, CS_EINVAL, "time",
                       "the log has CPU times (-C), not those of the operation");
    }
    return check_rows(log, options, line_p, err);
}

/* Is the log fit for a calibration of one level? */
static cs_status check_log(const cs_nccl_log *log, const cs_calibrate_options *options, int *line_p,
                           cs_error *err)
{
    double steps = 0, wire_ratio = 0;

    if (log->measured != CS_NCCL_COLLECTIVE) {
        return CS_FAIL(err, CS_ENOTSUP, "collective",
                       "%s measures the link between two and no collective: accepted are "
                       "calibrate --nvlink LOG and calibrate --nic LOG",
                       log->program);
    }
    CS_TRY(cs_calibrate_check(log, options, line_p, err));
    if (log->n_ranks == 0 && options->n_ranks == 0) {
        return CS_FAIL(err, CS_EINVAL, "ranks",
                       "the log does not say how many: no Rank lines, and busbw / algbw is too "
                       "coarse; give the number");
    }
    return cs_calibration_steps(log->schedule, collective_of(log, options), ranks_of(log, options),
                                &steps, &wire_ratio, err);
}

/* May the two logs be of one calibration? */
static cs_status check_pair(const cs_nccl_log *a, const cs_nccl_log *b, const char *name_b,
                            const cs_calibrate_options *options, cs_error *err)
{
    cs_collective collective_a = collective_of(a, options);
    cs_collective collective_b = collective_of(b, options);
    cs_status     status       = CS_OK;

    if (collective_a != collective_b) {
        status = CS_FAIL(err, CS_EINVAL, "",
                         "%s on %u ranks, but the first log is of %s on %u: only logs of the same "
                         "are pooled, calibrate the others on their own",
                         cs_collective_name(collective_b), ranks_of(b, options),
                         cs_collective_name(collective_a), ranks_of(a, options));
    } else if (strcmp(a->schedule, b->schedule) != 0) {
        status = CS_FAIL(err, CS_EINVAL, "",
                         "schedule '%s', but the first log is of '%s': calibrate each on its own",
                         b->schedule, a->schedule);
    } else if (a->device[0] != '\0' && b->device[0] != '\0' && strcmp(a->device, b->device) != 0) {
        status = CS_FAIL(err, CS_EINVAL, "",
                         "measured on %s, but the first log on %s: calibrate each on its own",
                         b->device, a->device);
    }
    cs_error_locate(err, name_b, 0, 0);
    return status;
}

static int by_size(const void *a, const void *b)
{
    const cs_point *p = a, *q = b;

    if (p->bytes != q->bytes) {
        return p->bytes < q->bytes ? -1 : 1;
    }
    return (p->time_s > q->time_s) - (p->time_s < q->time_s);
}

/* All points of the chosen side on so many ranks, sorted; the caller frees them. */
static cs_status pool(const cs_nccl_log *const *logs, size_t n, uint32_t n_ranks,
                      const cs_calibrate_options *options, cs_point **points_p, size_t *n_points_p,
                      cs_error *err)
{
    const cs_nccl_side side = options->column;

    cs_point *points;
    size_t    n_rows = 0, n_points = 0;

    for (size_t l = 0; l < n; l++) {
        n_rows += logs[l]->n_rows;
    }
    points = CS_NEW(cs_point, n_rows);
    if (points == NULL) {
        return CS_NO_MEMORY(err, "%zu rows", n_rows);
    }
    for (size_t l = 0; l < n; l++) {
        for (size_t r = 0; r < logs[l]->n_rows && ranks_of(logs[l], options) == n_ranks; r++) {
            const cs_nccl_row *row = &logs[l]->rows[r];
            if (row->timings[side].is_measured) {
                points[n_points++] = (cs_point){row->size_bytes, row->timings[side].time_s};
            }
        }
    }
    qsort(points, n_points, sizeof *points, by_size);
    *points_p   = points;
    *n_points_p = n_points;
    return CS_OK;
}

/* The lines' cost-model parameters: A = steps alpha, B = steps wire_ratio beta. */
static cs_status take_fit(cs_calibration *c, const cs_fit *fit, cs_error *err)
{
    double steps = 0, wire_ratio = 0;

    CS_TRY(cs_calibration_steps(c->schedule, c->collective, c->n_ranks, &steps, &wire_ratio, err));
    for (size_t r = 0; r < fit->n_regimes; r++) {
        const cs_regime_fit *from = &fit->regimes[r];

        c->regimes[r] = (cs_regime){
            .min_bytes     = from->min_bytes,
            .max_bytes     = from->max_bytes,
            .n_points      = from->n_points,
            .line          = from->line,
            .alpha_s       = from->line.intercept_s / steps,
            .bandwidth_Bps = steps * wire_ratio / from->line.slope_s_per_byte,
            .in_sample     = from->in_sample,
            .held_out      = from->held_out,
        };
    }
    c->n_regimes  = fit->n_regimes;
    c->in_sample  = fit->in_sample;
    c->held_out   = fit->held_out;
    c->every      = fit->every;
    c->n_outliers = fit->n_outliers;
    memcpy(c->outliers, fit->outliers, sizeof c->outliers);
    return CS_OK;
}

/* `given` if there is one, else `found`. */
static void set_text(char *to, size_t bytes, const char *given, const char *found)
{
    cs_plain_text(to, bytes, given != NULL ? given : found);
}

/* The logs' names without folders; the last is "..", where not all fit. */
static void name_sources(cs_calibration *c)
{
    const size_t room = sizeof c->source;
    size_t       used = 0;

    for (size_t l = 0; l < c->n_logs; l++) {
        const char *name  = c->logs[l].name;
        size_t      bytes = strlen(name) + (l > 0 ? 2 : 0);
        size_t      kept  = l + 1 < c->n_logs ? strlen(", ..") : 0;
        if (used + bytes + kept >= room) {
            (void)snprintf(c->source + used, room - used, "%s..", l > 0 ? ", " : "");
            return;
        }
        used += (size_t)snprintf(c->source + used, room - used, "%s%s", l > 0 ? ", " : "", name);
    }
}

/* Keep how the logs were read, and what their rows say of the column that is used and of the other.
 */
static cs_status keep_readings(cs_calibration *c, const cs_nccl_log *const *logs, size_t n,
                               cs_nccl_side side, cs_error *err)
{
    c->logs = CS_NEW(cs_nccl_reading, n);
    if (c->logs == NULL) {
        return CS_NO_MEMORY(err, "%zu logs", n);
    }
    c->n_logs = n;
    for (size_t l = 0; l < n; l++) {
        c->logs[l] = logs[l]->reading;
        for (size_t r = 0; r < logs[l]->n_rows; r++) {
            const cs_nccl_row    *row   = &logs[l]->rows[r];
            const cs_nccl_timing *other = &row->timings[side == 0];
            char                  text[48];

            (void)snprintf(text, sizeof text, "size %llu", (unsigned long long)row->size_bytes);
            if (!row->timings[side].is_measured) {
                cs_nccl_remark_add(&c->logs[l], CS_NCCL_UNMEASURED_ROWS, (int)row->line, text);
            }
            if (!logs[l]->is_deviation && other->is_checked && other->n_wrong > 0) {
                cs_nccl_remark_add(&c->logs[l], CS_NCCL_WRONG_ROWS, (int)row->line, text);
            }
        }
    }
    return CS_OK;
}

static void describe(cs_calibration *c, const cs_nccl_log *log, const cs_calibrate_options *options)
{
    c->collective     = collective_of(log, options);
    c->n_ranks        = ranks_of(log, options);
    c->extrapolate    = options->extrapolate;
    c->hold_out_every = options->fit.hold_out_every;
    c->seed           = options->fit.seed;
    c->column         = options->column;
    memcpy(c->schedule, log->schedule, sizeof c->schedule);
    set_text(c->machine, sizeof c->machine, options->machine, log->device);
    set_text(c->versions, sizeof c->versions, options->versions, log->versions);
    set_text(c->date, sizeof c->date, options->date, "");
    set_text(c->note, sizeof c->note, options->note, "");
    if (options->source != NULL) {
        set_text(c->source, sizeof c->source, options->source, "");
    } else {
        name_sources(c);
    }
}

/* What is given must fit where it is kept. */
static cs_status check_texts(const cs_calibrate_options *options, cs_error *err)
{
    const struct {
        const char *name, *text;
        size_t      bytes;
    } texts[] = {
        {"machine", options->machine, sizeof((cs_calibration *)0)->machine},
        {"versions", options->versions, sizeof((cs_calibration *)0)->versions},
        {"source", options->source, sizeof((cs_calibration *)0)->source},
        {"date", options->date, sizeof((cs_calibration *)0)->date},
        {"note", options->note, sizeof((cs_calibration *)0)->note},
    };

    for (size_t t = 0; t < sizeof texts / sizeof texts[0]; t++) {
        if (texts[t].text != NULL && strlen(texts[t].text) >= texts[t].bytes) {
            return CS_FAIL(err, CS_EINVAL, texts[t].name,
                           "a text of %zu bytes, accepted: at most %zu", strlen(texts[t].text),
                           texts[t].bytes - 1);
        }
    }
    return CS_OK;
}

static cs_status check_logs(const cs_nccl_log *const *logs, const char *const *names, size_t n,
                            const cs_calibrate_options *options, cs_error *err)
{
    for (size_t l = 0; l < n; l++) {
        int       line   = 0;
        cs_status status = check_log(logs[l], options, &line, err);
        if (status != CS_OK) {
            cs_error_locate(err, names[l], line, 0);
            return status;
        }
        if (l > 0) {
            CS_TRY(check_pair(logs[0], logs[l], names[l], options, err));
        }
    }
    return CS_OK;
}

/* What NCCL chose at a size, by a log; NULL where none says it. */
static const char *choice_at(const cs_nccl_log *const *logs, size_t n, uint32_t n_ranks,
                             uint64_t bytes)
{
    for (size_t l = 0; l < n; l++) {
        for (size_t r = 0; r < logs[l]->n_rows && logs[l]->n_ranks == n_ranks; r++) {
            const cs_nccl_row *row = &logs[l]->rows[r];
            if (row->size_bytes == bytes && row->choice[0] != '\0') {
                return row->choice;
            }
        }
    }
    return NULL;
}

/* Say of each break what changes there, as far as it can be told. */
static void name_breaks(cs_calibration *c, const cs_nccl_log *const *logs, size_t n,
                        cs_nccl_picks *picks)
{
    char picked[2][CS_NCCL_CHOICE_BYTES];

    c->n_breaks = c->n_regimes - 1;
    for (size_t b = 0; b < c->n_breaks; b++) {
        cs_break *brk = &c->breaks[b];

        *brk =
            (cs_break){c->regimes[b].max_bytes, c->regimes[b + 1].min_bytes, CS_BREAK_LOG, "", ""};
        const char *from = choice_at(logs, n, c->n_ranks, brk->after_bytes);
        const char *to   = choice_at(logs, n, c->n_ranks, brk->before_bytes);
        if (from == NULL && to == NULL && c->schedule[0] == '\0' && picks != NULL &&
            picks(c->machine, c->collective, c->n_ranks, brk->after_bytes / 2, picked[0]) &&
            picks(c->machine, c->collective, c->n_ranks, 2 * brk->before_bytes, picked[1])) {
            brk->evidence = CS_BREAK_TUNER;
            from          = picked[0];
            to            = picked[1];
        }
        if (from == NULL || to == NULL || strcmp(from, to) == 0) {
            brk->evidence = CS_BREAK_UNKNOWN;
        } else {
            cs_plain_text(brk->from, sizeof brk->from, from);
            cs_plain_text(brk->to, sizeof brk->to, to);
        }
    }
}

/* Predict points of another number of ranks, as far as their sizes are in range. */
static cs_status predict(cs_calibration *c, uint32_t n_ranks, const cs_point *points, size_t n,
                         cs_fit_error *error_p, cs_error *err)
{
    const bool extrapolate = c->extrapolate;
    double    *ratios      = CS_NEW(double, n);
    size_t     n_ratios    = 0;

    if (ratios == NULL) {
        return CS_NO_MEMORY(err, "%zu errors", n);
    }
    c->extrapolate = true;
    for (size_t i = 0; i < n; i++) {
        cs_estimate time = {0};
        if (cs_calibration_time(c, c->collective, n_ranks, points[i].bytes, &time, NULL) == CS_OK) {
            ratios[n_ratios++] = fabs(time.value - points[i].time_s) / points[i].time_s;
        }
    }
    c->extrapolate = extrapolate;
    *error_p       = cs_fit_error_of(ratios, n_ratios);
    cs_free(ratios);
    return CS_OK;
}

/* The next number of ranks above `above` that a log has; 0: none. */
static uint32_t next_ranks(const cs_nccl_log *const *logs, size_t n, uint32_t above,
                           const cs_calibrate_options *options)
{
    uint32_t next = 0;

    for (size_t l = 0; l < n; l++) {
        uint32_t n_ranks = ranks_of(logs[l], options);
        next             = n_ranks > above && (next == 0 || n_ranks < next) ? n_ranks : next;
    }
    return next;
}

/* Hold the logs of other numbers of ranks against the calibration. */
static cs_status hold_out_ranks(cs_calibration *c, const cs_nccl_log *const *logs, size_t n,
                                const cs_calibrate_options *options, cs_error *err)
{
    cs_status status = CS_OK;

    c->others = CS_NEW(cs_other_ranks, n);
    if (c->others == NULL) {
        return CS_NO_MEMORY(err, "%zu logs", n);
    }
    for (uint32_t n_ranks = next_ranks(logs, n, 0, options); n_ranks > 0 && status == CS_OK;
         n_ranks          = next_ranks(logs, n, n_ranks, options)) {
        cs_other_ranks *other    = &c->others[c->n_others];
        cs_point       *points   = NULL;
        size_t          n_points = 0;
        if (n_ranks == c->n_ranks) {
            continue;
        }
        CS_TRY(pool(logs, n, n_ranks, options, &points, &n_points, err));
        other->n_ranks = n_ranks;
        status         = predict(c, n_ranks, points, n_points, &other->error, err);
        c->n_others += status == CS_OK;
        cs_free(points);
    }
    return status;
}

static cs_status calibrate(cs_calibration *c, const cs_nccl_log *const *logs, size_t n,
                           const cs_calibrate_options *options, cs_error *err)
{
    cs_fit fit = {0};

    CS_TRY(pool(logs, n, c->n_ranks, options, &c->points, &c->n_points, err));
    CS_TRY(cs_fit_regimes(c->points, c->n_points, &options->fit, &fit, err));
    CS_TRY(take_fit(c, &fit, err));
    name_breaks(c, logs, n, options->picks);
    return hold_out_ranks(c, logs, n, options, err);
}

cs_status cs_calibration_new(const cs_nccl_log *const *logs, size_t n,
                             const cs_calibrate_options *options, cs_calibration **calibration_p,
                             cs_error *err)
{
    CS_TRY(check_texts(options, err));
    cs_calibration *c = CS_NEW(cs_calibration, 1);
    if (c == NULL) {
        return CS_NO_MEMORY(err, "a calibration");
    }
    cs_status status = keep_readings(c, logs, n, options->column, err);
    if (status != CS_OK) {
        cs_calibration_free(c);
        return status;
    }
    describe(c, logs[0], options);
    *calibration_p = c;
    return CS_OK;
}

cs_status cs_calibrate_logs(const cs_nccl_log *const *logs, const char *const *names, size_t n,
                            const cs_calibrate_options *options, cs_calibration **calibration_p,
                            cs_error *err)
{
    cs_calibration *c = NULL;

    if (n == 0) {
        return CS_FAIL(err, CS_EINVAL, "", "no log given, accepted: one or more");
    }
    CS_TRY(check_texts(options, err));
    CS_TRY(check_logs(logs, names, n, options, err));
    cs_status status = cs_calibration_new(logs, n, options, &c, err);
    if (status == CS_OK) {
        status = calibrate(c, logs, n, options, err);
    }
    if (status != CS_OK) {
        cs_error_locate(err, names[0], 0, 0);
        cs_calibration_free(c);
        return status;
    }
    *calibration_p = c;
    return CS_OK;
}

/* Of the files that hold several logs, those of the collective that the options ask for stay, and
 * those on so many ranks come first: the others are held out. */
static cs_status select_parts(cs_nccl_logs *logs, size_t from, const cs_calibrate_options *options,
                              cs_error *err)
{
    uint32_t     collectives = 0, ranks = 0;
    bool         is_one_number = true;
    size_t       n_kept = from, n_first = from;
    const size_t n = logs->n;
    char         list[120];

    for (size_t l = from; l < n; l++) {
        cs_nccl_log *log  = logs->logs[l];
        char        *name = logs->names[l];
        if (log->is_part && options->has_collective && log->collective != options->collective) {
            continue;
        }
        logs->logs[l]         = logs->logs[n_kept];
        logs->names[l]        = logs->names[n_kept];
        logs->logs[n_kept]    = log;
        logs->names[n_kept++] = name;
        if (log->is_part) {
            collectives |= 1u << log->collective;
            is_one_number = is_one_number && (ranks == 0 || ranks == log->n_ranks);
            ranks         = log->n_ranks;
        }
        if (!log->is_part || options->n_ranks == 0 || log->n_ranks == options->n_ranks) {
            logs->logs[n_kept - 1]  = logs->logs[n_first];
            logs->names[n_kept - 1] = logs->names[n_first];
            logs->logs[n_first]     = log;
            logs->names[n_first++]  = name;
        }
    }
    cs_list_collectives(collectives, list, sizeof list);
    if ((collectives & (collectives - 1)) != 0) {
        return CS_FAIL(err, CS_EINVAL, "collective", "the file holds %s: give one", list);
    }
    if (n_first == from) {
        return CS_FAIL(err, CS_EINVAL, "", "the file holds no %s on %u ranks",
                       options->has_collective ? cs_collective_name(options->collective)
                                               : "collective",
                       options->n_ranks);
    }
    if (!is_one_number && options->n_ranks == 0) {
        return CS_FAIL(err, CS_EINVAL, "ranks",
                       "the file holds several numbers: give one, the others are held out");
    }
    while (logs->n > n_kept) {
        cs_nccl_log_free(logs->logs[--logs->n]);
        cs_free(logs->names[logs->n]);
    }
    return CS_OK;
}

cs_status cs_calibrate(const char *const *paths, size_t n, const cs_calibrate_options *options,
                       cs_calibration **calibration_p, cs_error *err)
{
    cs_nccl_logs logs   = {0};
    cs_status    status = CS_OK;

    for (size_t l = 0; l < n && status == CS_OK; l++) {
        const size_t from = logs.n;
        status            = cs_nccl_read(paths[l], options->n_ranks, &logs, err);
        if (status == CS_OK) {
            status = select_parts(&logs, from, options, err);
            cs_error_locate(err, paths[l], 0, 0);
        }
    }
    if (status == CS_OK) {
        status =
            cs_calibrate_logs((const cs_nccl_log *const *)logs.logs,
                              (const char *const *)logs.names, logs.n, options, calibration_p, err);
    }
    cs_nccl_logs_free(&logs);
    return status;
}

/* For people: every column has its unit in the header; confidence intervals stand in brackets. */

static void add_text_line(cs_text *text, const char *key, const char *value)
{
    if (value[0] != '\0') {
        cs_text_add(text, "# %-10s %s\n", key, value);
    }
}

static void add_outliers(const cs_outlier *outliers, size_t n, cs_text *text)
{
    for (size_t o = 0; o < n; o++) {
        const cs_outlier *outlier = &outliers[o];
        cs_text_add(text, "# %-10s %llu B took %.2f us, %.2f expected: left out\n", "outlier",
                    (unsigned long long)outlier->point.bytes, outlier->point.time_s * 1e6,
                    outlier->expected_s * 1e6);
    }
}

static void add_breaks(const cs_calibration *c, cs_text *text)
{
    static const char *const evidence[] = {
        "nothing says what changes", "NCCL's tuner, as modelled, changes near it", "by the log"};

    for (size_t b = 0; b < c->n_breaks; b++) {
        const cs_break *brk = &c->breaks[b];
        cs_text_add(text, "# %-10s between %llu and %llu B: ", "break",
                    (unsigned long long)brk->after_bytes, (unsigned long long)brk->before_bytes);
        if (brk->evidence != CS_BREAK_UNKNOWN) {
            cs_text_add(text, "%s to %s, ", brk->from, brk->to);
        }
        cs_text_add(text, "%s\n", evidence[brk->evidence]);
    }
}

/* What is known of the measurements; then how the logs were read. */
static void add_origin(const cs_calibration *c, cs_text *text)
{
    add_text_line(text, "machine", c->machine);
    add_text_line(text, "versions", c->versions);
    add_text_line(text, "source", c->source);
    add_text_line(text, "date", c->date);
    add_text_line(text, "note", c->note);
    for (size_t l = 0; l < c->n_logs; l++) {
        cs_nccl_reading_text(&c->logs[l], text);
    }
}

static void add_columns(const cs_regime *first, cs_text *text)
{
    cs_text_add(text, "# t(S) = A + S/R per regime, %s in brackets; GB/s = 1e9 B/s\n",
                cs_regime_is_of_rates(first) ? "A as given, R the median of the rates, the slowest "
                                               "and the fastest"
                                             : "95 % confidence intervals");
    cs_text_add(text, "# %10s %12s %6s  %-30s  %-27s %9s %10s %9s %9s %9s %9s\n", "from", "to",
                "points", "A", "R", "alpha", "bandwidth", "fit med", "fit max", "held med",
                "held max");
    cs_text_add(text, "# %10s %12s %6s  %-30s  %-27s %9s %10s %9s %9s %9s %9s\n", "(B)", "(B)", "",
                "(us)", "(GB/s)", "(us)", "(GB/s)", "(%)", "(%)", "(%)", "(%)");
}

static void add_heading(const cs_calibration *c, cs_text *text)
{
    cs_text_add(text, "# %s on %u ranks, %zu points, %s column\n",
                cs_collective_name(c->collective), c->n_ranks, c->n_points,
                cs_nccl_side_name(c->column));
    add_text_line(text, "schedule", c->schedule);
    add_origin(c, text);
    add_outliers(c->outliers, c->n_outliers, text);
    add_breaks(c, text);
    add_columns(&c->regimes[0], text);
}

/* "value [low, high]", open where the interval is not bounded. */
static void interval_text(char *to, size_t bytes, double value, double low, double high)
{
    if (isfinite(high)) {
        snprintf(to, bytes, "%.2f [%.2f, %.2f]", value, low, high);
    } else {
        snprintf(to, bytes, "%.2f [%.2f, inf)", value, low);
    }
}

static void add_errors(cs_text *text, const cs_fit_error *error)
{
    if (error->n > 0) {
        cs_text_add(text, " %9.2f %9.2f", 100 * error->median_ratio, 100 * error->max_ratio);
    } else {
        cs_text_add(text, " %9s %9s", "-", "-");
    }
}

static void add_regime(const cs_regime *regime, cs_text *text)
{
    const cs_line *line = &regime->line;
    char           intercept[96], rate[96];

    interval_text(intercept, sizeof intercept, line->intercept_s * 1e6, line->intercept_low_s * 1e6,
                  line->intercept_high_s * 1e6);
    interval_text(rate, sizeof rate, 1e-9 / line->slope_s_per_byte,
                  1e-9 / line->slope_high_s_per_byte, 1e-9 / line->slope_low_s_per_byte);
    cs_text_add(text, "%12llu %12llu %6zu  %-30s  %-27s %9.3f %10.2f",
                (unsigned long long)regime->min_bytes, (unsigned long long)regime->max_bytes,
                regime->n_points, intercept, rate, regime->alpha_s * 1e6,
                regime->bandwidth_Bps * 1e-9);
    add_errors(text, &regime->in_sample);
    add_errors(text, &regime->held_out);
    cs_text_add(text, "\n");
}

/* "# error      held out, size by size: median 1.20 %, mean 2.31 %, max 8.10 % (29 points)". */
static void add_error(cs_text *text, const char *what, const cs_fit_error *error)
{
    if (error->n == 0) {
        cs_text_add(text, "# %-10s %s: of no point\n", "error", what);
        return;
    }
    cs_text_add(text, "# %-10s %s: median %.2f %%, mean %.2f %%, max %.2f %% (%zu points)\n",
                "error", what, 100 * error->median_ratio, 100 * error->mean_ratio,
                100 * error->max_ratio, error->n);
}

/* "# log        nic.log: allreduce on 16 ranks, 29 points" and its errors. */
static void add_level_log(const cs_level_log *log, cs_text *text)
{
    char what[192];

    cs_text_add(text, "# %-10s %s: %s", "of", log->name, log->what);
    if (log->n_ranks > 0) {
        cs_text_add(text, " on %u ranks", log->n_ranks);
    }
    cs_text_add(text, ", %zu points", log->n_points);
    if (log->n_unused > 0) {
        cs_text_add(text, "; rows that do not show it: %zu", log->n_unused);
    }
    cs_text_add(text, "\n");
    if (log->n_points > 0) {
        (void)snprintf(what, sizeof what, "%s, fitted", log->name);
        add_error(text, what, &log->fitted);
    }
    if (log->left_out.n > 0) {
        (void)snprintf(what, sizeof what, "%s, from the other logs alone", log->name);
        add_error(text, what, &log->left_out);
    }
}

static void add_level(const cs_level *level, const char *name, cs_text *text)
{
    if (level->n_regimes == 0) {
        cs_text_add(text, "# %-10s not measured\n", name);
        return;
    }
    cs_text_add(text, "#\n# %-10s %zu points; S is the size of a message\n", name, level->n_points);
    add_outliers(level->outliers, level->n_outliers, text);
    add_columns(&level->regimes[0], text);
    for (size_t r = 0; r < level->n_regimes; r++) {
        add_regime(&level->regimes[r], text);
    }
    add_error(text, "messages, fitted", &level->in_sample);
    add_error(text, "messages, held out, size by size", &level->held_out);
    for (size_t l = 0; l < level->n_logs; l++) {
        add_level_log(&level->logs[l], text);
    }
}

static void add_levels(const cs_calibration *c, cs_text *text)
{
    cs_text_add(text, "# two levels, %u GPU%s a server, %s, %s column\n",
                c->levels->gpus_per_server, c->levels->gpus_per_server == 1 ? "" : "s",
                c->levels->is_any ? "any collective" : cs_collective_name(c->collective),
                cs_nccl_side_name(c->column));
    cs_text_add(text, "# %-10s %s is taken for what ran\n", "schedule", c->schedule);
    add_origin(c, text);
    add_level(&c->levels->of[CS_NVLINK], "NVLink", text);
    add_level(&c->levels->of[CS_NIC], "NIC", text);
}

void cs_calibration_table(const cs_calibration *calibration, cs_text *text)
{
    if (calibration->levels != NULL) {
        add_levels(calibration, text);
        return;
    }
    add_heading(calibration, text);
    for (size_t r = 0; r < calibration->n_regimes; r++) {
        add_regime(&calibration->regimes[r], text);
    }
    add_error(text, "fitted", &calibration->in_sample);
    add_error(text, "held out, size by size", &calibration->held_out);
    if (calibration->hold_out_every > 0) {
        char what[64];
        (void)snprintf(what, sizeof what, "held out, every k-th size, k = %llu",
                       (unsigned long long)calibration->hold_out_every);
        add_error(text, what, &calibration->every);
    }
    for (size_t o = 0; o < calibration->n_others; o++) {
        char what[64];
        (void)snprintf(what, sizeof what, "held out, %u ranks", calibration->others[o].n_ranks);
        add_error(text, what, &calibration->others[o].error);
    }
}
