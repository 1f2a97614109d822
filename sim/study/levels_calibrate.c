/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A calibration of two levels from logs: see study/levels.h. NVLink is fitted first; what its rows
 * leave of the times across servers is the NICs'. */
#include "study/levels.h"

#include "base/alloc.h"
#include "study/level_messages.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_PART 0.1 /* of a row's time that the level must make up to say something of it */

/* ---- from a row to a message ---- */

/* One log of a level, and what was made of it. */
typedef struct source {
    const cs_nccl_log *log;
    const char        *name; /* of the file */
    uint32_t           level;
    cs_collective      collective;
    uint32_t           n_ranks; /* of a collective */
    cs_point          *points;  /* [n_points] messages; from the end on, those that are hidden */
    double            *rests_s; /* of rates: [n_rows], a message less its alpha */
    size_t            *rows;    /* whose they are */
    size_t             n_points;
    bool               is_held_out; /* on fewer GPUs than a server has: predicted alone */
    size_t             n_hidden;    /* rows whose time is another level's: no message was seen */
    size_t             n_unused;    /* of rates: sizes that were measured otherwise, too */
} source;

/* All logs, and the calibration that is being made of them. */
typedef struct bench {
    const cs_levels_options *options;
    cs_calibration          *c;
    source                  *sources; /* owned, and their arrays */
    size_t                   n;
    cs_point                *points; /* [n_rows] room */
    double                  *ratios; /* [n_rows] room */
    size_t                   n_rows; /* of all logs */
} bench;

static cs_fabric fabric_of(const cs_regime *regime)
{
    return (cs_fabric){CS_SWITCHED, regime->alpha_s, regime->bandwidth_Bps};
}

/* Where NICs are looked for: put NVLink there, as it is known. */
static cs_status set_nvlink(const bench *b, uint64_t message_bytes, cs_scenario *s, cs_error *err)
{
    const cs_level *nvlink = &b->c->levels->of[CS_NVLINK];
    cs_regime       regime;

    if (s->cluster.gpus_per_server < 2) {
        return CS_OK;
    }
    if (nvlink->n_regimes == 0) {
        return CS_FAIL(err, CS_EINVAL, "--nvlink",
                       "is missing: what NVLink takes of these times has to be known first; "
                       "accepted: --nvlink LOG of one server, or -g 1");
    }
    (void)cs_level_regime(nvlink, message_bytes, true, &regime);
    s->cluster.fabrics[CS_NVLINK] = fabric_of(&regime);
    return CS_OK;
}

static void set_message(cs_scenario *scenario, double x, const void *user)
{
    scenario->cluster.fabrics[*(const uint32_t *)user].alpha_s = x;
}

/* The message over the level's fabric whose time explains a row of a collective; n_points stays
 * where the row says too little of it. */
static cs_status explain_row(const bench *b, source *s, size_t row, cs_error *err)
{
    const cs_nccl_row *r        = &s->log->rows[row];
    const double       time_s   = r->timings[b->options->calibrate.column].time_s;
    const uint32_t     g        = b->c->levels->gpus_per_server;
    cs_scenario        scenario = cs_level_scenario(s->collective, s->n_ranks,
                                             s->level == CS_NVLINK ? s->n_ranks : g, r->size_bytes);
    uint64_t           messages[CS_FABRICS];
    cs_job             job;
    double             without_s = 0, x = 0;
    cs_time_search     search = {.job = &job, .set = set_message, .user = &s->level};

    CS_TRY(cs_level_messages(b->c->schedule, &scenario, messages, err));
    if (s->level == CS_NIC) {
        CS_TRY(set_nvlink(b, messages[CS_NVLINK], &scenario, err));
    }
    CS_TRY(cs_level_job(b->c->schedule, &scenario, &job, err));
    CS_TRY(cs_time_at(&search, 0, &without_s, err));
    const uint64_t bytes = messages[s->level];
    if (without_s > (1 - LEAST_PART) * time_s) {
        size_t at     = s->log->n_rows - ++s->n_hidden;
        s->rows[at]   = row;
        s->points[at] = (cs_point){bytes, time_s};
        return CS_OK;
    }
    CS_TRY(cs_time_find(&search, time_s, time_s, &x, err));
    s->rows[s->n_points]     = row;
    s->points[s->n_points++] = (cs_point){bytes, x + (double)bytes / CS_FAST_BPS};
    return CS_OK;
}

/* How long a message takes that has no bytes: the shortest time of the level's logs of messages but
 * `without`; as given, where there are none. *above_p is the largest size that they have. */
static bool find_alpha(const bench *b, uint32_t level, const source *without, double *alpha_s_p,
                       uint64_t *above_p)
{
    uint64_t least = UINT64_MAX;

    *above_p = 0;
    for (size_t i = 0; i < b->n; i++) {
        const source *s = &b->sources[i];
        if (s->level != level || s == without || s->log->measured == CS_NCCL_RATE) {
            continue;
        }
        for (size_t p = 0; p < s->n_points; p++) {
            if (s->points[p].bytes < least) {
                least      = s->points[p].bytes;
                *alpha_s_p = s->points[p].time_s;
            }
            *above_p = s->points[p].bytes > *above_p ? s->points[p].bytes : *above_p;
        }
    }
    if (b->options->has_alpha[level] && least == UINT64_MAX) {
        *alpha_s_p = b->options->alpha_s[level];
    }
    return b->options->has_alpha[level] || least < UINT64_MAX;
}

/* Messages from the rates of a log, of rows[]: a rest and alpha each. Sizes that were measured one
 * message at a time have no need of them. Returns how many there are. */
static size_t messages_of_rates(const source *s, double alpha_s, uint64_t above, cs_point *points,
                                size_t *rows)
{
    size_t n = 0;

    for (size_t r = 0; r < s->log->n_rows; r++) {
        const uint64_t bytes  = s->log->rows[r].size_bytes;
        const double   time_s = alpha_s + s->rests_s[r];
        if (bytes > above && time_s > 0) {
            points[n] = (cs_point){bytes, time_s};
            if (rows != NULL) {
                rows[n] = r;
            }
            n++;
        }
    }
    return n;
}

/* What is between two messages that are under way is a line, too: its A is the time that a sender
 * needs for each, in whose place alpha is put. */
static cs_status take_rates(const bench *b, source *s, cs_error *err)
{
    const size_t n       = s->log->n_rows;
    double       alpha_s = 0;
    uint64_t     above   = 0;
    cs_fit       gaps    = {0};

    if (!find_alpha(b, s->level, NULL, &alpha_s, &above)) {
        return CS_FAIL(err, CS_EINVAL, cs_level_option(s->level),
                       "%s has rates alone, which do not say how long a message takes: give a log "
                       "of latencies beside it, or %s-alpha T",
                       s->name, cs_level_option(s->level));
    }
    s->rests_s = CS_NEW(double, n);
    if (s->rests_s == NULL) {
        return CS_NO_MEMORY(err, "%zu rates", n);
    }
    for (size_t r = 0; r < n; r++) {
        const cs_nccl_row *row = &s->log->rows[r];
        b->points[r]           = (cs_point){row->size_bytes, row->timings[0].time_s};
    }
    bool has_line = n >= CS_REGIME_SIZES &&
                    cs_fit_regimes(b->points, n, &b->options->calibrate.fit, &gaps, NULL) == CS_OK;
    for (size_t r = 0; r < n; r++) {
        const cs_point point = b->points[r];
        double         gap_s = 0;
        for (size_t k = 0; k < gaps.n_regimes && has_line; k++) {
            gap_s =
                point.bytes >= gaps.regimes[k].min_bytes ? gaps.regimes[k].line.intercept_s : gap_s;
        }
        s->rests_s[r] = fmax(0, point.time_s - gap_s);
    }
    s->n_points = messages_of_rates(s, alpha_s, above, s->points, s->rows);
    s->n_unused = n - s->n_points;
    return CS_OK;
}

static cs_status take_rows(const bench *b, source *s, cs_error *err)
{
    const cs_nccl_side column = s->log->measured == CS_NCCL_COLLECTIVE || s->log->n_ranks > 0
                                    ? b->options->calibrate.column
                                    : CS_NCCL_OUT_OF_PLACE;

    for (size_t r = 0; r < s->log->n_rows; r++) {
        const cs_nccl_row    *row    = &s->log->rows[r];
        const cs_nccl_timing *timing = &row->timings[column];
        if (!timing->is_measured) {
            continue;
        }
        if (s->log->measured == CS_NCCL_COLLECTIVE) {
            CS_TRY(explain_row(b, s, r, err));
        } else {
            s->rows[s->n_points]     = r;
            s->points[s->n_points++] = (cs_point){row->size_bytes, timing->time_s};
        }
    }
    return CS_OK;
}

/* ---- the fit of a level ---- */

static int by_size(const void *a, const void *b)
{
    const cs_point *p = a, *q = b;

    if (p->bytes != q->bytes) {
        return p->bytes < q->bytes ? -1 : 1;
    }
    return (p->time_s > q->time_s) - (p->time_s < q->time_s);
}

/* The messages of all logs of a level but one, in order of size. Rates do not know of its alpha
 * either: without another one they say nothing. */
static size_t pool(const bench *b, uint32_t level, const source *without)
{
    size_t   n       = 0;
    double   alpha_s = 0;
    uint64_t above   = 0;
    bool     has     = find_alpha(b, level, without, &alpha_s, &above);

    for (size_t i = 0; i < b->n; i++) {
        const source *s = &b->sources[i];
        if (s->level != level || s == without || s->is_held_out) {
            continue;
        }
        if (s->rests_s == NULL && s->n_points > 0) {
            memcpy(b->points + n, s->points, s->n_points * sizeof *s->points);
            n += s->n_points;
        } else if (s->rests_s != NULL && has) {
            n += messages_of_rates(s, alpha_s, above, b->points + n, NULL);
        }
    }
    qsort(b->points, n, sizeof *b->points, by_size);
    return n;
}

static void take_fit(cs_level *level, const cs_fit *fit)
{
    level->n_regimes = fit->n_regimes;
    for (size_t r = 0; r < fit->n_regimes; r++) {
        const cs_regime_fit *from = &fit->regimes[r];
        level->regimes[r]         = (cs_regime){.min_bytes     = from->min_bytes,
                                                .max_bytes     = from->max_bytes,
                                                .n_points      = from->n_points,
                                                .line          = from->line,
                                                .alpha_s       = from->line.intercept_s,
                                                .bandwidth_Bps = 1 / from->line.slope_s_per_byte,
                                                .in_sample     = from->in_sample,
                                                .held_out      = from->held_out};
    }
    level->in_sample  = fit->in_sample;
    level->held_out   = fit->held_out;
    level->n_outliers = fit->n_outliers;
    memcpy(level->outliers, fit->outliers, sizeof level->outliers);
}

/* Rates of a single size and an alpha: one line, between the slowest and the fastest of them. */
static bool take_single_rate(const bench *b, uint32_t level, size_t n, cs_level *to)
{
    const double alpha_s = b->options->alpha_s[level];
    const size_t middle  = n / 2;

    if (!b->options->has_alpha[level] || n == 0 || b->points[0].bytes != b->points[n - 1].bytes ||
        !(b->points[0].time_s > alpha_s)) {
        return false;
    }
    const double bytes = (double)b->points[0].bytes;
    cs_line      line  = {.intercept_s           = alpha_s,
                          .intercept_low_s       = alpha_s,
                          .intercept_high_s      = alpha_s,
                          .slope_s_per_byte      = (b->points[middle].time_s - alpha_s) / bytes,
                          .slope_low_s_per_byte  = (b->points[0].time_s - alpha_s) / bytes,
                          .slope_high_s_per_byte = (b->points[n - 1].time_s - alpha_s) / bytes};
    to->n_regimes      = 1;
    to->regimes[0]     = (cs_regime){.min_bytes     = 1,
                                     .max_bytes     = b->points[0].bytes,
                                     .n_points      = n,
                                     .line          = line,
                                     .alpha_s       = alpha_s,
                                     .bandwidth_Bps = 1 / line.slope_s_per_byte};
    return true;
}

static cs_status fit_level(const bench *b, uint32_t level, const source *without, cs_level *to,
                           cs_error *err)
{
    cs_fit fit = {0};
    size_t n   = pool(b, level, without);

    to->n_points = n;
    if (take_single_rate(b, level, n, to)) {
        return CS_OK;
    }
    CS_TRY(cs_fit_regimes(b->points, n, &b->options->calibrate.fit, &fit, err));
    take_fit(to, &fit);
    return CS_OK;
}

/* ---- how well the times of a log are described ---- */

/* The time of a row by a level; 0: its messages are outside of what was measured. */
static cs_status predict_row(const bench *b, const source *s, const cs_level *level, size_t point,
                             double *time_s_p, cs_error *err)
{
    const cs_nccl_row *row = &s->log->rows[s->rows[point]];
    cs_regime          regime;

    *time_s_p = 0;
    if (!cs_level_regime(level, s->points[point].bytes, false, &regime)) {
        return CS_OK;
    }
    if (s->log->measured != CS_NCCL_COLLECTIVE) {
        *time_s_p = cs_line_at(&regime.line, s->points[point].bytes);
        return CS_OK;
    }
    const uint32_t g        = s->level == CS_NVLINK ? s->n_ranks : b->c->levels->gpus_per_server;
    cs_scenario    scenario = cs_level_scenario(s->collective, s->n_ranks, g, row->size_bytes);
    uint64_t       messages[CS_FABRICS];
    cs_job         job;
    cs_time_search search = {.job = &job, .set = set_message, .user = &s->level};

    CS_TRY(cs_level_messages(b->c->schedule, &scenario, messages, err));
    if (s->level == CS_NIC) {
        CS_TRY(set_nvlink(b, messages[CS_NVLINK], &scenario, err));
    }
    scenario.cluster.fabrics[s->level] = fabric_of(&regime);
    CS_TRY(cs_level_job(b->c->schedule, &scenario, &job, err));
    return cs_time_at(&search, regime.alpha_s, time_s_p, err);
}

static cs_status find_errors(const bench *b, const source *s, const cs_level *level,
                             cs_fit_error *error_p, cs_error *err)
{
    size_t n = 0;

    for (size_t p = 0; p < s->n_points; p++) {
        const cs_nccl_row *row        = &s->log->rows[s->rows[p]];
        double             time_s     = 0;
        double             measured_s = s->log->measured == CS_NCCL_COLLECTIVE
                                            ? row->timings[b->options->calibrate.column].time_s
                                            : s->points[p].time_s;
        CS_TRY(predict_row(b, s, level, p, &time_s, err));
        if (time_s > 0) {
            b->ratios[n++] = fabs(time_s - measured_s) / measured_s;
        }
    }
    *error_p = cs_fit_error_of(b->ratios, n);
    return CS_OK;
}

/* Rows in which the NICs are hidden behind NVLink say that they take no longer. Where an outer
 * regime does not contradict them, by more than they could tell, it holds as far as their sizes
 * reach. */
static cs_status extend(const bench *b, uint32_t l, cs_level *level, cs_error *err)
{
    cs_regime *first = &level->regimes[0], *last = &level->regimes[level->n_regimes - 1];
    cs_level   wide = *level;
    uint64_t   low = first->min_bytes, high = last->max_bytes; /* of those that agree .. */
    uint64_t   least = 1, most = UINT64_MAX;                   /* .. between those that do not */

    wide.regimes[0].min_bytes                    = 1;
    wide.regimes[level->n_regimes - 1].max_bytes = UINT64_MAX;
    for (size_t i = 0; i < b->n; i++) {
        const source *s = &b->sources[i];
        for (size_t h = 1; h <= s->n_hidden && s->level == l; h++) {
            const size_t   at     = s->log->n_rows - h;
            const uint64_t bytes  = s->points[at].bytes;
            double         time_s = 0;
            if (bytes >= first->min_bytes && bytes <= last->max_bytes) {
                continue;
            }
            CS_TRY(predict_row(b, s, &wide, at, &time_s, err));
            bool agrees = time_s <= s->points[at].time_s / (1 - LEAST_PART);
            if (bytes < first->min_bytes) {
                low   = agrees && bytes < low ? bytes : low;
                least = !agrees && bytes + 1 > least ? bytes + 1 : least;
            } else {
                high = agrees && bytes > high ? bytes : high;
                most = !agrees && bytes - 1 < most ? bytes - 1 : most;
            }
        }
    }
    low              = low > least ? low : least;
    high             = high < most ? high : most;
    first->min_bytes = low < first->min_bytes ? low : first->min_bytes;
    last->max_bytes  = high > last->max_bytes ? high : last->max_bytes;
    return CS_OK;
}

/* What a log says of its level, and how well the level says it; with and without the log. */
static cs_status describe_log(const bench *b, const source *s, cs_level_log *log, cs_error *err)
{
    const cs_level *level   = &b->c->levels->of[s->level];
    cs_level        without = {0};

    (void)snprintf(log->name, sizeof log->name, "%s", s->log->reading.name);
    (void)snprintf(log->what, sizeof log->what, "%.31s",
                   s->log->measured == CS_NCCL_COLLECTIVE ? cs_collective_name(s->collective)
                                                          : s->log->program);
    log->n_ranks  = s->n_ranks;
    log->n_points = s->n_points;
    log->n_unused = s->n_unused + s->n_hidden;
    if (s->is_held_out) {
        log->n_points = 0;
        return find_errors(b, s, level, &log->left_out, err);
    }
    CS_TRY(find_errors(b, s, level, &log->fitted, err));
    cs_status status = fit_level(b, s->level, s, &without, NULL);
    if (status == CS_OK) {
        CS_TRY(find_errors(b, s, &without, &log->left_out, err));
    } else if (status == CS_ENOMEM) {
        return CS_NO_MEMORY(err, "a fit");
    }
    return CS_OK;
}

/* Why there is no line: the rows are another level's, or there are too few, or they do not grow. */
static cs_status refuse_fit(const bench *b, uint32_t l, const char *why, cs_error *err)
{
    size_t n_hidden = 0, n_rows = 0;

    for (size_t i = 0; i < b->n; i++) {
        const source *s = &b->sources[i];
        n_hidden += s->level == l ? s->n_hidden : 0;
        n_rows += s->level == l && !s->is_held_out ? s->n_hidden + s->n_points : 0;
    }
    if (n_hidden == 0) {
        return CS_FAIL(err, CS_EINVAL, cs_level_option(l), "%s", why);
    }
    return CS_FAIL(err, CS_EINVAL, cs_level_option(l),
                   "%zu of %zu times are no more than %s takes within the servers, by NVLink's "
                   "log, which leaves too few sizes: accepted are logs of one machine, and another "
                   "schedule (-a)",
                   n_hidden, n_rows, b->c->schedule);
}

static cs_status make_level(const bench *b, uint32_t l, cs_error *err)
{
    cs_level *level = &b->c->levels->of[l];

    for (size_t i = 0; i < b->n; i++) {
        source *s = &b->sources[i];
        if (s->level == l && s->log->measured != CS_NCCL_RATE) {
            CS_TRY(take_rows(b, s, err));
        }
        level->n_logs += s->level == l;
    }
    for (size_t i = 0; i < b->n; i++) {
        if (b->sources[i].level == l && b->sources[i].log->measured == CS_NCCL_RATE) {
            CS_TRY(take_rates(b, &b->sources[i], err));
        }
    }
    if (level->n_logs == 0) {
        return CS_OK;
    }
    level->logs = CS_NEW(cs_level_log, level->n_logs);
    if (level->logs == NULL) {
        return CS_NO_MEMORY(err, "%zu logs", level->n_logs);
    }
    cs_error  why    = {0};
    cs_status status = fit_level(b, l, NULL, level, &why);
    if (status == CS_EINVAL) {
        return refuse_fit(b, l, why.message, err);
    }
    if (status != CS_OK) {
        return CS_FAIL(err, status, cs_level_option(l), "%s", why.message);
    }
    CS_TRY(extend(b, l, level, err));
    for (size_t i = 0, at = 0; i < b->n; i++) {
        if (b->sources[i].level == l) {
            CS_TRY(describe_log(b, &b->sources[i], &level->logs[at++], err));
        }
    }
    return CS_OK;
}

/* ---- which log is of what ---- */

/* Without the maker, which old versions leave out. */
static const char *model_of(const cs_nccl_log *log)
{
    return strncmp(log->device, "NVIDIA ", 7) == 0 ? log->device + 7 : log->device;
}

static cs_status check_devices(const bench *b, cs_error *err)
{
    const source *first = NULL;

    for (size_t i = 0; i < b->n; i++) {
        const source *s = &b->sources[i];
        if (s->log->device[0] == '\0') {
            continue;
        }
        if (first != NULL && strcmp(model_of(first->log), model_of(s->log)) != 0) {
            return CS_FAIL(err, CS_EINVAL, "",
                           "measured on %s, but %s on %s: the levels must be of one machine",
                           s->log->device, first->log->reading.name, first->log->device);
        }
        first = s;
    }
    return CS_OK;
}

/* How many GPUs of a host the log lists; 0: it does not say. */
static uint32_t gpus_on_host(const cs_nccl_log *log)
{
    return log->n_hosts > 0 && log->n_ranks_listed % log->n_hosts == 0
               ? log->n_ranks_listed / log->n_hosts
               : 0;
}

/* GPUs of a server: as given, as the Rank lines of the NICs' logs have it, else the most ranks of
 * NVLink's. */
static cs_status count_gpus(const bench *b, cs_error *err)
{
    uint32_t      given = b->options->gpus_per_server, most = 0, listed = 0;
    const source *across = NULL; /* a collective whose servers nobody lists */

    for (size_t i = 0; i < b->n; i++) {
        const source *s = &b->sources[i];
        uint32_t      g = gpus_on_host(s->log);
        if (s->level == CS_NVLINK && s->log->measured == CS_NCCL_COLLECTIVE) {
            most = s->n_ranks > most ? s->n_ranks : most;
        } else if (s->level == CS_NIC && s->log->measured == CS_NCCL_COLLECTIVE && g == 0) {
            across = s;
        } else if (s->level == CS_NIC && g > 0) {
            if (given == 0 && listed > 0 && listed != g) {
                return CS_FAIL(err, CS_EINVAL, "-g",
                               "%s has %u GPUs on a host by its Rank lines, a log before it %u: "
                               "give the GPUs of a server",
                               s->name, g, listed);
            }
            listed = g;
        }
        if (given > 0 && g > 0 && given % g != 0) {
            return CS_FAIL(err, CS_EINVAL, "-g",
                           "%u GPUs a server, but %s has %u on a host by its Rank lines", given,
                           s->name, g);
        }
    }
    if (across != NULL && given == 0 && listed == 0 && most == 0) {
        return CS_FAIL(err, CS_EINVAL, "-g",
                       "nothing says how many GPUs a server of %s has: give the number, or "
                       "NVLink's log of a whole server (--nvlink)",
                       across->name);
    }
    b->c->levels->gpus_per_server = given > 0 ? given : listed > 0 ? listed : most > 0 ? most : 1;
    return CS_OK;
}

static cs_status check_span(const bench *b, const source *s, cs_error *err)
{
    const uint32_t g = b->c->levels->gpus_per_server, n = s->n_ranks;

    if (s->log->measured == CS_NCCL_RATE || n == 0) {
        return CS_OK;
    }
    if (s->level == CS_NVLINK) {
        bool is_on_hosts   = b->options->gpus_per_server == 0 && s->log->n_hosts > 1;
        bool is_of_several = n > g && n % g == 0; /* else NVLink joins more GPUs than were used */
        if (is_of_several || is_on_hosts) {
            return CS_FAIL(err, CS_EINVAL, "--nvlink",
                           "%s spans several servers: %u ranks on %u hosts, %u GPUs a server; "
                           "accepted: a log of one server (-g G where servers are larger)",
                           s->name, n, s->log->n_hosts > 0 ? s->log->n_hosts : (n + g - 1) / g, g);
        }
        return CS_OK;
    }
    if (n <= g) {
        return CS_FAIL(err, CS_EINVAL, "--nic",
                       "%s is within one server: %u ranks, %u GPUs a server; accepted: a log of "
                       "several (-g G where servers have fewer)",
                       s->name, n, g);
    }
    if (n % g != 0) {
        return CS_FAIL(err, CS_EINVAL, "--nic",
                       "%s has %u ranks, which is no number of servers of %u GPUs (-g)", s->name, n,
                       g);
    }
    return CS_OK;
}

/* The schedule must do what was measured, and its times must say what messages took. */
static cs_status check_schedule(const bench *b, const source *s, cs_error *err)
{
    const cs_algorithm *algorithm = NULL, *ran = NULL;

    CS_TRY(cs_algorithm_find(b->c->schedule, &algorithm, err));
    CS_TRY(cs_level_accept(algorithm, s->collective, err));
    if (s->log->schedule[0] == '\0' || strcmp(s->log->schedule, algorithm->name) == 0) {
        return CS_OK;
    }
    cs_error why = {0};
    if (cs_algorithm_find(s->log->schedule, &ran, NULL) == CS_OK &&
        cs_level_accept(ran, s->collective, &why) != CS_OK) {
        return CS_FAIL(err, why.status, s->name, "is a captured run: %s", why.message);
    }
    return CS_FAIL(err, CS_EINVAL, "--algorithm",
                   "is %s, but %s is a captured run of %s: accepted is -a %s", algorithm->name,
                   s->name, s->log->schedule, s->log->schedule);
}

/* One collective for all: a message takes another time in each, as NCCL runs them. */
static cs_status check_collective(const bench *b, const source *s, cs_error *err)
{
    if (!b->c->levels->is_any && s->collective != b->c->collective) {
        return CS_FAIL(err, CS_EINVAL, "",
                       "%s is of %s, but a log before it of %s: only logs of one collective are "
                       "calibrated together (-c chooses from a file that holds several)",
                       s->name, cs_collective_name(s->collective),
                       cs_collective_name(b->c->collective));
    }
    b->c->collective     = s->collective;
    b->c->levels->is_any = false;
    return CS_OK;
}

static cs_status set_schedule(const bench *b, cs_error *err)
{
    const cs_algorithm *algorithm = NULL;
    const char         *name      = b->options->schedule;

    name = name != NULL ? name : b->c->levels->gpus_per_server > 1 ? "nccl_rings" : "ring";
    cs_error wrong = {0};
    if (cs_algorithm_find(name, &algorithm, &wrong) != CS_OK) {
        return CS_FAIL(err, wrong.status, "--algorithm", "%s", wrong.message);
    }
    (void)snprintf(b->c->schedule, sizeof b->c->schedule, "%s", algorithm->name);
    return CS_OK;
}

/* The number of ranks and the collective of a log. */
static cs_status see_source(const bench *b, source *s, cs_error *err)
{
    const cs_calibrate_options *o    = &b->options->calibrate;
    int                         line = 0;
    cs_status                   status;

    status = cs_calibrate_check(s->log, o, &line, err);
    if (status != CS_OK) {
        cs_error_locate(err, s->name, line, 0);
        return status;
    }
    s->collective = o->has_collective ? o->collective : s->log->collective;
    s->n_ranks    = s->log->n_ranks;
    if (s->log->measured != CS_NCCL_COLLECTIVE) {
        return CS_OK;
    }
    if (s->n_ranks == 0 && s->level == CS_NVLINK) {
        s->n_ranks = b->options->gpus_per_server;
    } else if (s->n_ranks == 0) {
        s->n_ranks = o->n_ranks;
    }
    if (s->n_ranks < 2) {
        return CS_FAIL(err, CS_EINVAL, s->level == CS_NVLINK ? "-g" : "-n",
                       "%s does not say on how many ranks it was measured: give the number",
                       s->name);
    }
    return CS_OK;
}

/* What NVLink takes in a whole server is what counts: an operation on fewer GPUs pays as much for
 * its launch, so that its messages seem to take longer. */
static void hold_out_parts(const bench *b)
{
    uint32_t most = 0;

    for (size_t i = 0; i < b->n; i++) {
        const source *s = &b->sources[i];
        most            = s->level == CS_NVLINK && s->n_ranks > most ? s->n_ranks : most;
    }
    for (size_t i = 0; i < b->n; i++) {
        source *s = &b->sources[i];
        s->is_held_out =
            s->level == CS_NVLINK && s->log->measured == CS_NCCL_COLLECTIVE && s->n_ranks < most;
    }
}

/* An alpha that nothing asks for would be left unused in silence. */
static cs_status check_alphas(const bench *b, cs_error *err)
{
    for (uint32_t l = 0; l < CS_LEVELS; l++) {
        bool has_rates = false;
        for (size_t i = 0; i < b->n; i++) {
            const source *s = &b->sources[i];
            has_rates       = has_rates || (s->level == l && s->log->measured == CS_NCCL_RATE);
        }
        if (b->options->has_alpha[l] && !has_rates) {
            return CS_FAIL(err, CS_EINVAL, l == CS_NIC ? "--nic-alpha" : "--nvlink-alpha",
                           "is for logs that have rates alone (osu_bw, ib_write_bw, nvbandwidth): "
                           "none is given with %s",
                           cs_level_option(l));
        }
    }
    return CS_OK;
}

static cs_status see_sources(bench *b, cs_error *err)
{
    CS_TRY(check_alphas(b, err));
    for (size_t i = 0; i < b->n; i++) {
        CS_TRY(see_source(b, &b->sources[i], err));
    }
    hold_out_parts(b);
    CS_TRY(check_devices(b, err));
    CS_TRY(count_gpus(b, err));
    CS_TRY(set_schedule(b, err));
    b->c->levels->is_any = true;
    for (size_t i = 0; i < b->n; i++) {
        const source *s = &b->sources[i];
        CS_TRY(check_span(b, s, err));
        if (s->log->measured == CS_NCCL_COLLECTIVE) {
            CS_TRY(check_collective(b, s, err));
            CS_TRY(check_schedule(b, s, err));
        }
    }
    return CS_OK;
}

/* ---- all of it ---- */

static cs_status bench_open(bench *b, const cs_nccl_logs *logs, const uint32_t *levels,
                            cs_error *err)
{
    b->n       = logs->n;
    b->sources = CS_NEW(source, logs->n);
    for (size_t i = 0; i < logs->n; i++) {
        b->n_rows += logs->logs[i]->n_rows;
    }
    b->points = CS_NEW(cs_point, b->n_rows);
    b->ratios = CS_NEW(double, b->n_rows);
    if (b->sources == NULL || b->points == NULL || b->ratios == NULL) {
        return CS_NO_MEMORY(err, "%zu logs", logs->n);
    }
    for (size_t i = 0; i < logs->n; i++) {
        source *s = &b->sources[i];
        *s        = (source){.log = logs->logs[i], .name = logs->names[i], .level = levels[i]};
        s->points = CS_NEW(cs_point, s->log->n_rows);
        s->rows   = CS_NEW(size_t, s->log->n_rows);
        if (s->points == NULL || s->rows == NULL) {
            return CS_NO_MEMORY(err, "%zu rows", s->log->n_rows);
        }
    }
    return CS_OK;
}

static void bench_close(bench *b)
{
    for (size_t i = 0; i < b->n && b->sources != NULL; i++) {
        cs_free(b->sources[i].points);
        cs_free(b->sources[i].rows);
        cs_free(b->sources[i].rests_s);
    }
    cs_free(b->sources);
    cs_free(b->points);
    cs_free(b->ratios);
}

static cs_status calibrate(bench *b, const cs_nccl_logs *logs, const uint32_t *levels,
                           cs_error *err)
{
    CS_TRY(cs_calibration_new((const cs_nccl_log *const *)logs->logs, logs->n,
                              &b->options->calibrate, &b->c, err));
    b->c->levels = CS_NEW(cs_levels, 1);
    if (b->c->levels == NULL) {
        return CS_NO_MEMORY(err, "two levels");
    }
    CS_TRY(bench_open(b, logs, levels, err));
    CS_TRY(see_sources(b, err));
    CS_TRY(make_level(b, CS_NVLINK, err));
    return make_level(b, CS_NIC, err);
}

/* Of a file that holds several collectives, the one that is asked for stays. */
static void select_parts(cs_nccl_logs *logs, size_t from, const cs_calibrate_options *o)
{
    size_t n_kept = from;

    for (size_t l = from; l < logs->n; l++) {
        cs_nccl_log *log  = logs->logs[l];
        char        *name = logs->names[l];
        bool is_other = log->is_part && o->has_collective && log->measured == CS_NCCL_COLLECTIVE &&
                        log->collective != o->collective;
        if (!is_other) {
            logs->logs[l]         = logs->logs[n_kept];
            logs->names[l]        = logs->names[n_kept];
            logs->logs[n_kept]    = log;
            logs->names[n_kept++] = name;
        }
    }
    cs_nccl_logs_cut(logs, n_kept);
}

/* Read the files of one level, or (CS_LEVELS) of either; levels[i] says of which a log is. */
static cs_status read_files(const cs_levels_files *files, uint32_t level,
                            const cs_levels_options *options, cs_nccl_logs *logs, uint32_t **levels,
                            size_t *capacity, cs_error *err)
{
    for (size_t f = 0; f < files->n; f++) {
        const size_t from = logs->n;
        CS_TRY(cs_nccl_read(files->paths[f], level == CS_NIC ? options->calibrate.n_ranks : 0, logs,
                            err));
        select_parts(logs, from, &options->calibrate);
        if (!cs_grow(levels, capacity, logs->n, 8, sizeof **levels)) {
            return CS_NO_MEMORY(err, "%zu logs", logs->n);
        }
        for (size_t l = from; l < logs->n; l++) {
            const uint32_t n_ranks = logs->logs[l]->n_ranks;
            if (level == CS_LEVELS && n_ranks == 0) {
                return CS_FAIL(err, CS_EINVAL, logs->names[l],
                               "it does not say on how many ranks it was measured: of one server, "
                               "or of several? accepted: --nvlink %s, --nic %s",
                               logs->names[l], logs->names[l]);
            }
            bool is_nic  = n_ranks > options->gpus_per_server;
            (*levels)[l] = level < CS_LEVELS ? level : is_nic ? CS_NIC : CS_NVLINK;
        }
    }
    return CS_OK;
}

static bool is_among(const cs_levels_files *files, size_t n, const char *path)
{
    for (size_t f = 0; f < n; f++) {
        if (strcmp(files->paths[f], path) == 0) {
            return true;
        }
    }
    return false;
}

/* A log that is there twice would be left out, and still be known. */
static cs_status check_twice(const cs_levels_files *files, cs_error *err)
{
    for (size_t f = 0; f < files->n; f++) {
        if (is_among(files, f, files->paths[f])) {
            return CS_FAIL(err, CS_EINVAL, files->paths[f], "is given twice: accepted is once");
        }
    }
    return CS_OK;
}

cs_status cs_levels_calibrate(const cs_levels_files files[CS_LEVELS], const cs_levels_files *any,
                              const cs_levels_options *options, cs_calibration **calibration_p,
                              cs_error *err)
{
    bench        b        = {.options = options};
    cs_nccl_logs logs     = {0};
    uint32_t    *levels   = NULL;
    size_t       capacity = 0;
    cs_status    status   = check_twice(any, err);

    if (status == CS_OK) {
        status = read_files(any, CS_LEVELS, options, &logs, &levels, &capacity, err);
    }
    for (uint32_t l = CS_LEVELS; l-- > 0 && status == CS_OK;) {
        status = check_twice(&files[l], err);
        if (status == CS_OK) {
            status = read_files(&files[l], l, options, &logs, &levels, &capacity, err);
        }
    }
    if (status == CS_OK && logs.n == 0) {
        status = CS_FAIL(err, CS_EINVAL, "", "no log given, accepted: one or more");
    }
    if (status == CS_OK) {
        status = calibrate(&b, &logs, levels, err);
    }
    bench_close(&b);
    cs_nccl_logs_free(&logs);
    cs_free(levels);
    if (status != CS_OK) {
        cs_calibration_free(b.c);
        return status;
    }
    *calibration_p = b.c;
    return CS_OK;
}
