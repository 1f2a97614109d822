/* SPDX-License-Identifier: GPL-3.0-or-later */
/* NICs that fail, from a topology and a log: see whatif/nic.h.
 *
 * A start-up time and a rate of the NICs are looked for with which a replay of the baseline takes
 * A without any bytes and A + B S with all of them. Times of replays grow with both, so that they
 * are found between brackets. Where the baseline takes more than A on NICs without a start-up time,
 * that stays 0 and the rate alone is fitted.
 *
 * The calls are those of a job (whatif/call.h) whose NICs fail in three ways one after the other,
 * once for each sharing, and are whole again afterwards. */
#include "whatif/nic.h"

#include "base/alloc.h"
#include "cs/capacity.h"
#include "scenario/fault.h"
#include "scenario/scenario_json.h"
#include "study/level_messages.h"
#include "study/levels.h"
#include "whatif/call.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ALGORITHMS = 128, MAX_FIRST = 2 };

/* The best estimate, and the two ends of the interval. */
typedef enum corner { MIDDLE, LOW, HIGH, CORNERS } corner;

#define EPOCH_S  1e9  /* how long the NICs stay in one of their states: longer than any call */
#define ROUNDING 1e-9 /* relative: two rates or times are the same */

typedef struct study {
    const cs_nic_question *question;
    cs_nic_report         *report;
    cs_arena               scratch;
    cs_config             *config;                     /* an algorithm for each case; owned */
    const char            *names[MAX_ALGORITHMS];      /* the baseline first */
    size_t                 n_names, n_first;           /* the first can have run .. */
    bool                   first_is_wanted[MAX_FIRST]; /* .. and were asked for, too */
    cs_case               *cases; /* [n_names]; owned, the first n_cases are built */
    size_t                 n_cases;
    cs_whatif_schedule    *schedules; /* [n_names] */
    cs_job                 call;      /* of all ranks on whole NICs; its NICs are the topology's */
    cs_fabric              nics[CORNERS];
    bool                   has_corner[CORNERS];
    cs_timeline            timeline;               /* its parts are the scratch's */
    double                *known[CS_NIC_SHARINGS]; /* [n_failed] what a schedule is made for */
    bool                  *is_excluded;            /* [n_failed] nobody is */
} study;

static const char *const sharing_names[] = {
#define X(id, name, text) name,
    CS_NIC_SHARING_MAP(X)
#undef X
};

const char *cs_nic_sharing_name(cs_nic_sharing sharing)
{
    return sharing_names[sharing];
}

/* ---- the NICs of a server ---- */

/* What the NICs that work carry, shared in a way, with these slowdowns (NULL: none); 0: none works.
 */
static double carried_Bps(const cs_cluster *c, const double *slowdown, cs_nic_sharing sharing)
{
    const cs_nics *nics    = c->nics[0];
    double         sum_Bps = 0, least_Bps = (double)INFINITY;
    uint32_t       n_working = 0;

    for (uint32_t i = 0; i < nics->n; i++) {
        double slow    = slowdown != NULL ? slowdown[i] : 1;
        bool   is_left = cs_nic_is_used(c, 0, i) && !isinf(slow) &&
                       (sharing != CS_NIC_WITHOUT_SHARES || slow == 1);
        if (is_left) {
            sum_Bps += nics->rate_Bps[i] / slow;
            least_Bps = fmin(least_Bps, nics->rate_Bps[i] / slow);
            n_working++;
        }
    }
    return sharing == CS_NIC_EQUAL_SHARES && n_working > 0 ? n_working * least_Bps : sum_Bps;
}

/* Single NICs, that fail before the call and share what is left. */
static cs_status check_fault(const cs_fault *f, cs_error *err)
{
    if (!f->is_nic || f->failover != CS_FAILOVER_POOL) {
        return CS_FAIL(
            err, CS_EINVAL, "faults",
            "%s do not go with --kill-nic and --slow-nic here: accepted are single NICs, "
            "whose servers share what is left",
            f->is_nic ? "other failovers" : "those of all NICs of a server");
    }
    if (f->capacity.from_s > 0 || isfinite(f->capacity.until_s)) {
        return CS_FAIL(err, CS_EINVAL, isinf(f->value) ? "--kill-nic" : "--slow-nic",
                       "a NIC fails before the call here: accepted is no time; 'run' takes "
                       "@FROM:UNTIL, and a job has 'faults' (whatif CONFIG.json)");
    }
    return CS_OK;
}

/* The NICs of one server as the question has them, and by how much they are slower together. */
static cs_status slow_server(study *s, uint32_t server, cs_nic_server *out, cs_error *err)
{
    const cs_case *of       = &s->cases[0];
    uint32_t       n        = cs_n_nics(&of->job.scenario.cluster, server);
    double        *slowdown = CS_ARENA_NEW(&s->scratch, double, n);

    if (slowdown == NULL) {
        return CS_NO_MEMORY(err, "%u NICs", n);
    }
    const cs_cluster *c = &of->job.scenario.cluster;
    cs_nics_slowdown(c, of->faults, of->n_faults, server, 0, slowdown);
    *out = (cs_nic_server){.server = server};
    for (uint32_t i = 0; i < n; i++) {
        out->n_dead += isinf(slowdown[i]) ? 1 : 0;
        out->n_slow += slowdown[i] > 1 && !isinf(slowdown[i]) ? 1 : 0;
    }
    for (cs_nic_sharing h = 0; h < CS_NIC_SHARINGS; h++) {
        out->slowdown[h] = fmax(1, carried_Bps(c, NULL, h) / carried_Bps(c, slowdown, h));
    }
    out->slowdown[CS_NIC_POOLED_SHARES] = cs_slowdown_always(&of->job.scenario, server);
    return CS_OK;
}

/* What the GPUs use, and which servers have failed NICs, by number. */
static cs_status see_nics(study *s, cs_error *err)
{
    cs_nic_report    *report = s->report;
    const cs_case    *of     = &s->cases[0];
    const cs_cluster *c      = &of->job.scenario.cluster;

    if (c->nics == NULL) {
        return CS_FAIL(err, CS_ENOTSUP, "--topology",
                       "%s does not say which NICs a server has: accepted are presets, NCCL's XML "
                       "and nvidia-smi's matrix",
                       s->question->topology);
    }
    for (uint32_t i = 0; i < c->nics[0]->n; i++) {
        report->n_nics += cs_nic_is_used(c, 0, i);
    }
    report->nominal_Bps =
        c->nics[0]->is_assumed ? (double)NAN : carried_Bps(c, NULL, CS_NIC_POOLED_SHARES);
    report->servers  = CS_ARENA_NEW(&report->arena, cs_nic_server, report->n_servers);
    bool *has_failed = CS_ARENA_NEW(&s->scratch, bool, report->n_servers);
    if (report->servers == NULL || has_failed == NULL) {
        return CS_NO_MEMORY(err, "%u servers", report->n_servers);
    }
    for (size_t i = 0; i < of->n_faults; i++) {
        CS_TRY(check_fault(&of->faults[i], err));
        has_failed[of->faults[i].server] = true;
    }
    for (uint32_t server = 0; server < report->n_servers; server++) {
        if (has_failed[server]) {
            CS_TRY(slow_server(s, server, &report->servers[report->n_failed++], err));
        }
    }
    return CS_OK;
}

/* ---- the cluster ---- */

/* What contradicts the question. */
static cs_status check_config(const cs_config *config, cs_error *err)
{
    static const char *const others[] = {"arrivals", "cluster.servers"};

    if (cs_config_count(config) != 1) {
        return CS_FAIL(err, CS_EINVAL, "sweep", "a NIC that fails takes one scenario");
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (cs_config_has(config, others[i])) {
            return CS_FAIL(err, CS_EINVAL, others[i],
                           "does not go with --kill-nic and --slow-nic: all ranks come together, "
                           "servers are alike, and these NICs alone fail");
        }
    }
    return CS_OK;
}

static cs_status set_number(study *s, const char *path, uint64_t value, const char *origin,
                            cs_error *err)
{
    const cs_value number = {.type = CS_VALUE_WHOLE, .whole = (int64_t)value};
    return cs_config_put(s->config, path, &number, origin, err);
}

/* As asked for, else as measured: by the NICs' log on most ranks, where there are two levels. */
static uint32_t ranks_of(const cs_nic_question *q)
{
    const cs_levels *levels  = q->calibration->levels;
    uint32_t         n_ranks = q->n_ranks > 0 ? q->n_ranks : q->calibration->n_ranks;

    for (size_t i = 0; levels != NULL && q->n_ranks == 0 && i < levels->of[CS_NIC].n_logs; i++) {
        const cs_level_log *log = &levels->of[CS_NIC].logs[i];
        n_ranks                 = log->n_ranks > n_ranks ? log->n_ranks : n_ranks;
    }
    return n_ranks > 0 ? n_ranks : 2 * levels->gpus_per_server;
}

/* The configuration of the cases, which the algorithms are an axis of: options that only some of
 * them have are left out for others. */
static cs_status set_config(study *s, cs_error *err)
{
    const cs_nic_question *q          = s->question;
    const cs_value         topology   = {.type = CS_VALUE_TEXT, .text = q->topology};
    const cs_value         collective = {.type = CS_VALUE_TEXT,
                                         .text = cs_collective_name(q->calibration->collective)};
    uint32_t               n_ranks    = ranks_of(q);

    CS_TRY(check_config(q->config, err));
    CS_TRY(cs_config_at(q->config, 0, &s->config, err));
    CS_TRY(cs_config_put(s->config, "cluster.topology", &topology, "--topology", err));
    CS_TRY(cs_config_put(s->config, "collective", &collective, "--calibration", err));
    CS_TRY(
        set_number(s, "cluster.ranks", n_ranks, q->n_ranks > 0 ? "--ranks" : "--calibration", err));
    return set_number(s, "bytes", q->bytes, "--bytes", err);
}

static cs_status set_algorithms(study *s, const char *const *names, size_t n, cs_error *err)
{
    cs_value values[MAX_ALGORITHMS];

    for (size_t i = 0; i < n; i++) {
        values[i] = (cs_value){.type = CS_VALUE_TEXT, .text = names[i]};
    }
    return cs_config_sweep_put(s->config, "algorithm.name", values, n, "--algorithm", err);
}

/* To see the cluster before it is known which algorithms there are: all of them, so that every
 * option belongs to one. */
static cs_status see_cluster(study *s, cs_error *err)
{
    const char *names[MAX_ALGORITHMS];
    size_t      n = 0;
    cs_case     c = {0};

    for (; cs_algorithms[n] != NULL && n < MAX_ALGORITHMS; n++) {
        names[n] = cs_algorithms[n]->name;
    }
    CS_TRY(set_algorithms(s, names, n, err));
    cs_status status = cs_config_case(s->config, 0, &c, err);
    if (status == CS_OK) {
        const cs_cluster *cluster  = &c.job.scenario.cluster;
        s->report->collective      = c.job.scenario.collective;
        s->report->n_ranks         = cluster->n_ranks;
        s->report->gpus_per_server = cluster->gpus_per_server;
        s->report->n_servers       = cs_n_servers(cluster);
        if (!cs_uses_nics(cluster)) {
            status = CS_FAIL(
                err, CS_ENOTSUP, "--topology",
                "%u ranks are within one server of %s, so that the log says nothing of its NICs: "
                "give a log of several servers, or fewer GPUs of each that were used (-g)",
                cluster->n_ranks, s->question->topology);
        } else if (cluster->servers != NULL || !cs_is_even(cluster)) {
            status = CS_FAIL(err, CS_ENOTSUP, "--topology",
                             "%s has servers that differ: accepted are servers that are alike",
                             s->question->topology);
        }
    }
    cs_case_free(&c);
    return status;
}

/* ---- the schedules ---- */

static cs_status add_name(study *s, const char *name, const char *option, cs_error *err)
{
    const cs_algorithm *algorithm = NULL;
    cs_error            unknown   = {0};
    cs_status           status    = cs_algorithm_find(name, &algorithm, &unknown);

    if (status != CS_OK) {
        return CS_FAIL(err, status, option, "%s", unknown.message);
    }
    for (size_t i = 0; i < s->n_names; i++) {
        if (strcmp(s->names[i], algorithm->name) == 0) {
            if (i < MAX_FIRST) {
                s->first_is_wanted[i] = true;
            }
            return CS_OK;
        }
    }
    if (s->n_names == MAX_ALGORITHMS) {
        return CS_FAIL(err, CS_EINVAL, option, "more than %d", MAX_ALGORITHMS);
    }
    s->names[s->n_names++] = algorithm->name;
    return CS_OK;
}

/* The schedules that can have run, the most likely first: the one that is said; else the default of
 * the cluster, then the one that takes least out of a server. */
static size_t list_baselines(const study *s, const char *names[MAX_FIRST])
{
    const cs_nic_report *report = s->report;

    if (s->question->baseline != NULL || s->question->calibration->schedule[0] != '\0') {
        names[0] = s->question->baseline != NULL ? s->question->baseline
                                                 : s->question->calibration->schedule;
        return 1;
    }
    if (report->collective == CS_ALLTOALL) {
        names[0] = "allpairs";
        return 1;
    }
    names[0] = report->gpus_per_server > 1 ? "nccl_rings" : "ring";
    names[1] = "parallel_rings";
    return report->gpus_per_server > 1 ? 2 : 1;
}

/* The names: those that can have run first, then what is asked for, or all. */
static cs_status choose_algorithms(study *s, cs_error *err)
{
    const cs_nic_question *q                = s->question;
    const char            *first[MAX_FIRST] = {NULL, NULL};
    size_t                 n_first          = list_baselines(s, first);

    for (size_t i = 0; i < n_first; i++) {
        CS_TRY(add_name(s, first[i], q->baseline != NULL ? "--baseline" : "--calibration", err));
    }
    s->n_first = s->n_names;
    for (size_t i = 0; i < q->n_algorithms; i++) {
        CS_TRY(add_name(s, q->algorithms[i], "--algorithm", err));
    }
    for (size_t i = 0; q->n_algorithms == 0 && cs_algorithms[i] != NULL; i++) {
        if ((cs_algorithms[i]->collectives >> s->report->collective & 1u) != 0) {
            CS_TRY(add_name(s, cs_algorithms[i]->name, "--algorithm", err));
        }
    }
    return CS_OK;
}

static cs_status build_cases(study *s, cs_error *err)
{
    CS_TRY(choose_algorithms(s, err));
    CS_TRY(set_algorithms(s, s->names, s->n_names, err));
    s->cases     = CS_NEW(cs_case, s->n_names);
    s->schedules = CS_ARENA_NEW(&s->scratch, cs_whatif_schedule, s->n_names);
    if (s->cases == NULL || s->schedules == NULL) {
        return CS_NO_MEMORY(err, "%zu scenarios", s->n_names);
    }
    for (size_t i = 0; i < s->n_names; i++) {
        CS_TRY(cs_config_case(s->config, i, &s->cases[i], err));
        s->n_cases++;
        s->schedules[i] = (cs_whatif_schedule){s->cases[i].job.algorithm, s->cases[i].job.options};
    }
    s->call                              = s->cases[0].job;
    s->call.verify                       = true;
    s->call.is_checked                   = false;
    s->call.scenario.arrival_s           = NULL;
    s->call.scenario.capacity            = NULL; /* the timeline has it */
    s->call.scenario.n_capacity          = 0;
    s->call.scenario.cluster.topology    = NULL; /* ports alone, of pooled NICs */
    s->call.scenario.cluster.nic_sharers = 0;
    s->report->model                     = s->call.model->name;
    return CS_OK;
}

/* ---- the NICs of the log ---- */

/* Start-up time of the NICs, where no byte takes time. */
static void set_alpha(cs_scenario *scenario, double x, const void *user)
{
    cs_fabric *fabrics = scenario->cluster.fabrics;
    /* a byte for every part that a ring makes of the buffer */
    uint64_t few = (uint64_t)scenario->cluster.n_ranks * scenario->cluster.gpus_per_server;

    (void)user;
    for (uint32_t f = 0; f < CS_FABRICS; f++) {
        fabrics[f].bandwidth_Bps = CS_FAST_BPS;
    }
    fabrics[CS_NIC].alpha_s = x;
    scenario->bytes         = scenario->bytes < few ? scenario->bytes : few;
}

/* Seconds a byte of the NICs whose start-up time is *user. */
static void set_slope(cs_scenario *scenario, double x, const void *user)
{
    cs_fabric *nic = &scenario->cluster.fabrics[CS_NIC];

    nic->alpha_s       = *(const double *)user;
    nic->bandwidth_Bps = fmin(1 / x, CS_FAST_BPS);
}

/* The NICs on which a schedule takes A + B S. A bandwidth of CS_FAST_BPS: it takes longer even
 * there. */
static cs_status fit_nics(const study *s, const cs_whatif_schedule *schedule, double a_s,
                          double b_s_per_byte, cs_fabric *nic, cs_error *err)
{
    cs_job         job    = s->call;
    cs_time_search search = {.job = &job, .set = set_alpha};
    double         x      = 0;

    cs_job_set_algorithm(&job, schedule->algorithm, &schedule->options);
    *nic = s->call.scenario.cluster.fabrics[CS_NIC];
    CS_TRY(cs_time_find(&search, a_s, fmax(a_s, 1e-9), &nic->alpha_s, err));
    search.set  = set_slope;
    search.user = &nic->alpha_s;
    CS_TRY(cs_time_find(&search, a_s + b_s_per_byte * (double)s->question->bytes,
                        1 / nic->bandwidth_Bps, &x, err));
    nic->bandwidth_Bps = x > 0 ? fmin(1 / x, CS_FAST_BPS) : CS_FAST_BPS;
    return CS_OK;
}

/* Is it more than the topology's NICs carry? */
static bool is_too_fast(const study *s, const cs_fabric *nic)
{
    double rate_Bps = nic->bandwidth_Bps * s->report->gpus_per_server;
    return !isnan(s->report->nominal_Bps) && rate_Bps > s->report->nominal_Bps * (1 + ROUNDING);
}

/* Say what did not fit. */
static cs_status refuse_log(const study *s, const cs_fabric *nic, const char *name, cs_error *err)
{
    const cs_nic_report *report    = s->report;
    double               rate_GBps = nic->bandwidth_Bps * report->gpus_per_server / 1e9;

    if (nic->bandwidth_Bps >= CS_FAST_BPS) {
        return CS_FAIL(err, CS_ENOTSUP, "--calibration",
                       "%s takes longer than the log at %" PRIu64 " bytes within servers alone: "
                       "accepted are larger sizes, and servers that are faster (--nvlink-alpha, "
                       "--nvlink-bandwidth)",
                       name, report->bytes);
    }
    return CS_FAIL(err, CS_ENOTSUP, "--calibration",
                   "the log is faster than the topology: %s would move %.4g GB/s out of a server "
                   "whose %u NICs carry %.4g GB/s: accepted are the two of one machine, and the "
                   "GPUs of a server that were used (-g)",
                   name, rate_GBps, report->n_nics, report->nominal_Bps / 1e9);
}

/* The ports of two levels, which say themselves what they are. They are too fast where their slow
 * end is. */
static cs_status take_levels(study *s, cs_error *err)
{
    static const cs_levels_end ends[CORNERS] = {CS_LEVELS_MIDDLE, CS_LEVELS_FAST, CS_LEVELS_SLOW};
    const cs_calibration      *c             = s->question->calibration;
    cs_fabric                 *fabrics       = s->call.scenario.cluster.fabrics;
    cs_error                   wrong         = {0};

    for (corner k = MIDDLE; k < CORNERS; k++) {
        cs_fabric ports[CS_FABRICS];
        memcpy(ports, fabrics, sizeof ports);
        cs_status status = cs_levels_ports(c, &s->call.scenario, ends[k], ports, &wrong);
        if (status != CS_OK) {
            bool is_bytes = strcmp(wrong.where, "bytes") == 0;
            return CS_FAIL(err, status, is_bytes ? "--bytes" : "--calibration", "%s",
                           wrong.message);
        }
        s->nics[k]       = ports[CS_NIC];
        s->has_corner[k] = isfinite(ports[CS_NIC].alpha_s) && ports[CS_NIC].bandwidth_Bps > 0 &&
                           ports[CS_NIC].bandwidth_Bps < CS_FAST_BPS;
        if (k == MIDDLE) {
            fabrics[CS_NVLINK] = ports[CS_NVLINK];
        }
    }
    cs_regime *regime = &s->report->regime;
    uint64_t   message;
    CS_TRY(cs_levels_nics(c, &s->call.scenario, &message, regime, err));
    const double ratio        = (double)s->report->bytes / (double)message;
    s->report->start_up_ratio = regime->alpha_s / cs_line_at(&regime->line, message);
    regime->min_bytes         = (uint64_t)(ratio * (double)regime->min_bytes);
    regime->max_bytes         = (uint64_t)(ratio * (double)regime->max_bytes);
    s->report->baseline       = s->names[0];
    s->report->has_limits     = true;
    return s->has_corner[HIGH] && is_too_fast(s, &s->nics[HIGH])
               ? refuse_log(s, &s->nics[MIDDLE], s->names[0], err)
               : CS_OK;
}

/* Which schedule ran when the log was taken, and on which NICs. */
static cs_status choose_baseline(study *s, cs_error *err)
{
    if (s->question->calibration->levels != NULL) {
        return take_levels(s, err);
    }
    cs_nic_report *report           = s->report;
    const cs_line *line             = &report->regime.line;
    const char    *names[MAX_FIRST] = {NULL, NULL};
    size_t         n = list_baselines(s, names), i = 0;

    for (;; i++) {
        CS_TRY(fit_nics(s, &s->schedules[i], line->intercept_s, line->slope_s_per_byte,
                        &s->nics[MIDDLE], err));
        bool is_within = s->nics[MIDDLE].bandwidth_Bps >= CS_FAST_BPS;
        if (!is_within && !is_too_fast(s, &s->nics[MIDDLE])) {
            break;
        }
        if (is_within || i + 1 == n) {
            return refuse_log(s, &s->nics[MIDDLE], s->names[i], err);
        }
        report->default_Bps = s->nics[MIDDLE].bandwidth_Bps * report->gpus_per_server;
    }
    report->is_other      = i > 0;
    report->baseline      = s->names[i];
    s->has_corner[MIDDLE] = true;
    return CS_OK;
}

static const cs_whatif_schedule *baseline_of(const study *s)
{
    return &s->schedules[s->report->is_other ? 1 : 0];
}

/* The ends of the interval, where both of the line's parameters have one. */
static cs_status fit_corners(study *s, cs_error *err)
{
    const cs_line *line         = &s->report->regime.line;
    const double   a_s[CORNERS] = {0, line->intercept_low_s, line->intercept_high_s};
    const double   b[CORNERS]   = {0, line->slope_low_s_per_byte, line->slope_high_s_per_byte};
    bool           has_levels   = s->question->calibration->levels != NULL;
    bool           is_bounded   = b[LOW] > 0 && isfinite(a_s[HIGH]) && isfinite(b[HIGH]);

    for (corner c = LOW; c < CORNERS && is_bounded && !has_levels; c++) {
        CS_TRY(fit_nics(s, baseline_of(s), a_s[c], b[c], &s->nics[c], err));
        s->has_corner[c] = s->nics[c].bandwidth_Bps < CS_FAST_BPS;
    }
    is_bounded         = s->has_corner[LOW] && s->has_corner[HIGH];
    s->has_corner[LOW] = s->has_corner[HIGH] = is_bounded;
    double g                                 = s->report->gpus_per_server;
    s->report->in_use_Bps =
        (cs_estimate){s->nics[MIDDLE].bandwidth_Bps * g, (double)NAN, (double)NAN};
    s->report->alpha_s = (cs_estimate){s->nics[MIDDLE].alpha_s, (double)NAN, (double)NAN};
    if (is_bounded) { /* a slow line has a low rate */
        s->report->in_use_Bps.low  = s->nics[HIGH].bandwidth_Bps * g;
        s->report->in_use_Bps.high = s->nics[LOW].bandwidth_Bps * g;
        s->report->alpha_s.low     = s->nics[LOW].alpha_s;
        s->report->alpha_s.high    = s->nics[HIGH].alpha_s;
    }
    return CS_OK;
}

/* ---- the calls ---- */

/* When the NICs begin to be shared in a way; behind the last one they are whole. */
static double begin_of(int sharing)
{
    return sharing * EPOCH_S;
}

/* The failing servers' histories: a state for each sharing, then they are whole. */
static cs_status make_timeline(study *s, cs_error *err)
{
    const cs_nic_report *report    = s->report;
    size_t               n         = report->n_failed;
    cs_history          *histories = CS_ARENA_NEW(&s->scratch, cs_history, n);
    cs_capacity         *spans     = CS_ARENA_NEW(&s->scratch, cs_capacity, n * CS_NIC_SHARINGS);
    double              *events    = CS_ARENA_NEW(&s->scratch, double, CS_NIC_SHARINGS + 1);

    s->is_excluded = CS_ARENA_NEW(&s->scratch, bool, n);
    bool has_room  = histories != NULL && spans != NULL && events != NULL && s->is_excluded != NULL;
    for (cs_nic_sharing h = 0; h < CS_NIC_SHARINGS; h++) {
        s->known[h] = CS_ARENA_NEW(&s->scratch, double, n);
        has_room    = has_room && s->known[h] != NULL;
    }
    if (!has_room) {
        return CS_NO_MEMORY(err, "%zu servers", n);
    }
    for (size_t i = 0; i < n; i++) {
        const cs_nic_server *server = &report->servers[i];
        cs_capacity         *own    = &spans[i * CS_NIC_SHARINGS];
        for (cs_nic_sharing h = 0; h < CS_NIC_SHARINGS; h++) {
            uint32_t rank  = server->server * report->gpus_per_server;
            own[h]         = (cs_capacity){rank, server->slowdown[h], begin_of((int)h),
                                           begin_of((int)h + 1), false};
            s->known[h][i] = server->slowdown[h];
        }
        histories[i] =
            (cs_history){.server = server->server, .spans = own, .n_spans = CS_NIC_SHARINGS};
    }
    for (size_t i = 0; i <= CS_NIC_SHARINGS; i++) {
        events[i] = begin_of((int)i);
    }
    s->timeline = (cs_timeline){.histories   = histories,
                                .n_histories = n,
                                .events      = events,
                                .n_events    = CS_NIC_SHARINGS + 1};
    return CS_OK;
}

/* The three times of a line at one corner. */
typedef struct phases {
    double before_s, during_s, after_s;
} phases;

static cs_status time_line(const study *s, cs_caller *caller, const cs_nic_line *line,
                           const cs_whatif_schedule *schedule, phases *p, cs_error *err)
{
    bool    is_unknown = line->sharing == CS_NIC_EQUAL_SHARES;
    cs_call call       = {.schedule = schedule,
                          .start_s  = begin_of(CS_NIC_SHARINGS),
                          .members  = {s->is_excluded, NULL, NULL}};

    CS_TRY(cs_call_time(caller, &call, &p->before_s, err));
    call.known = is_unknown ? NULL : s->known[line->sharing];
    CS_TRY(cs_call_time(caller, &call, &p->after_s, err));
    call.start_s = begin_of((int)line->sharing);
    CS_TRY(cs_call_time(caller, &call, &p->during_s, err));
    p->before_s = fmin(p->before_s, p->after_s);
    return CS_OK;
}

static void set_time(cs_estimate *time, corner c, double value)
{
    double *const places[CORNERS] = {&time->value, &time->low, &time->high};
    *places[c]                    = value;
}

/* What is said of a line that a job refuses; CS_OK where it is the algorithm that does. */
static cs_status refuse_line(const study *s, cs_nic_line *line, const cs_error *wrong,
                             cs_error *err)
{
    char text[512];

    if (wrong->status != CS_EINVAL && wrong->status != CS_ENOTSUP) {
        if (err != NULL && err->status == CS_OK) {
            *err = *wrong;
        }
        return wrong->status;
    }
    cs_error_reason(wrong, text, sizeof text);
    line->is_available = false;
    line->reason       = cs_arena_strdup(&s->report->arena, text);
    return line->reason != NULL ? CS_OK : CS_NO_MEMORY(err, "a line");
}

/* The bound on whole NICs and during the fault, and what the schedule is. Bounds are those of
 * pooled NICs: no other sharing carries more. */
static cs_status bound_line(const study *s, cs_nic_line *line, const cs_whatif_schedule *schedule,
                            cs_error *err)
{
    const cs_nic_report *report = s->report;
    cs_capacity         *steps  = CS_ARENA_NEW(&s->report->arena, cs_capacity, report->n_failed);
    const char          *name   = NULL;
    char                 chosen[32];

    if (steps == NULL) {
        return CS_NO_MEMORY(err, "a line");
    }
    size_t n = 0;
    for (size_t i = 0; i < report->n_failed; i++) {
        double   slowdown = report->servers[i].slowdown[CS_NIC_POOLED_SHARES];
        uint32_t rank     = report->servers[i].server * report->gpus_per_server;
        if (slowdown > 1) {
            steps[n++] = (cs_capacity){rank, slowdown, 0, (double)INFINITY, false};
        }
    }
    for (int is_during = 0; is_during < 2; is_during++) {
        cs_job job                           = s->call;
        job.scenario.cluster.fabrics[CS_NIC] = s->nics[MIDDLE];
        job.scenario.capacity                = is_during ? steps : NULL;
        job.scenario.n_capacity              = is_during ? n : 0;
        cs_job_set_algorithm(&job, schedule->algorithm, &schedule->options);
        CS_TRY(cs_job_resolve(&job, err));
        cs_bound_context context                              = cs_job_bounds(&job);
        double           bound_s                              = cs_best_bound(&context, &name);
        *(is_during ? &line->bound_s : &line->before_bound_s) = bound_s;
        const cs_field *option = cs_field_find(job.algorithm->options, "chosen");
        if (is_during && option != NULL) {
            (void)cs_field_text(option, &job.options, chosen, sizeof chosen);
            bool is_itself = strcmp(chosen, line->algorithm) == 0;
            line->ran      = is_itself ? NULL : cs_arena_strdup(&s->report->arena, chosen);
        }
        cs_job_release(&job);
    }
    line->bound = name;
    return CS_OK;
}

/* All there is to say of a line at the corner. */
static cs_status run_line(const study *s, cs_caller *caller, corner c, cs_nic_line *line,
                          const cs_whatif_schedule *schedule, cs_error *err)
{
    cs_error  wrong  = {0};
    phases    p      = {0};
    cs_status status = time_line(s, caller, line, schedule, &p, &wrong);

    if (status == CS_OK && c == MIDDLE) {
        status = bound_line(s, line, schedule, &wrong);
    }
    if (status != CS_OK) {
        return refuse_line(s, line, &wrong, err);
    }
    set_time(&line->before_s, c, p.before_s);
    set_time(&line->during_s, c, p.during_s);
    set_time(&line->after_s, c, p.after_s);
    return CS_OK;
}

static const cs_whatif_schedule *schedule_of(const study *s, const cs_nic_line *line)
{
    size_t i = 0;

    while (strcmp(s->names[i], line->algorithm) != 0) {
        i++;
    }
    return &s->schedules[i];
}

static cs_status run_corner(study *s, corner c, cs_error *err)
{
    cs_whatif_job job    = {.call = s->call};
    cs_caller    *caller = NULL;

    job.call.scenario.cluster.fabrics[CS_NIC] = s->nics[c];
    cs_status status                          = cs_caller_new(&job, &s->timeline, &caller, err);
    for (size_t i = 0; i < s->report->n_lines && status == CS_OK; i++) {
        cs_nic_line *line = &s->report->lines[i];
        if (line->is_available) {
            status = run_line(s, caller, c, line, schedule_of(s, line), err);
        }
    }
    if (status == CS_OK && c == MIDDLE) {
        const cs_best_call *best = cs_caller_best(caller);
        s->report->reference_s   = best->elapsed_s;
        s->report->reference     = cs_arena_strdup(&s->report->arena, best->name);
        status = s->report->reference != NULL ? CS_OK : CS_NO_MEMORY(err, "a report");
    }
    cs_caller_free(caller);
    return status;
}

/* ---- the lines ---- */

static void add_line(study *s, const char *algorithm, cs_nic_sharing sharing)
{
    s->report->lines[s->report->n_lines++] = (cs_nic_line){.algorithm         = algorithm,
                                                           .sharing           = sharing,
                                                           .is_available      = true,
                                                           .before_s          = cs_estimate_none(),
                                                           .during_s          = cs_estimate_none(),
                                                           .after_s           = cs_estimate_none(),
                                                           .saved_s           = cs_estimate_none(),
                                                           .before_busbw_GBps = (double)NAN,
                                                           .during_busbw_GBps = (double)NAN,
                                                           .after_busbw_GBps  = (double)NAN,
                                                           .before_bound_s    = (double)NAN,
                                                           .bound_s           = (double)NAN,
                                                           .gap               = (double)NAN};
}

/* Does another sharing than the pool make a difference, and is there one? */
static bool differs(const study *s, cs_nic_sharing sharing)
{
    bool is_other = false;

    for (size_t i = 0; i < s->report->n_failed; i++) {
        const double *slowdown = s->report->servers[i].slowdown;
        is_other               = is_other || slowdown[sharing] != slowdown[CS_NIC_POOLED_SHARES];
        if (isinf(slowdown[sharing])) {
            return false;
        }
    }
    return is_other;
}

/* Was the algorithm asked for? The first are there because they can have run. */
static bool is_wanted(const study *s, size_t index)
{
    return index >= s->n_first || s->first_is_wanted[index] || s->question->n_algorithms == 0;
}

/* The baseline in every way, what happens by itself first; then the others. */
static cs_status list_lines(study *s, cs_error *err)
{
    cs_nic_report *report = s->report;

    report->lines = CS_ARENA_NEW(&report->arena, cs_nic_line, s->n_names + CS_NIC_SHARINGS);
    if (report->lines == NULL) {
        return CS_NO_MEMORY(err, "%zu lines", s->n_names);
    }
    if (differs(s, CS_NIC_EQUAL_SHARES)) {
        add_line(s, report->baseline, CS_NIC_EQUAL_SHARES);
    }
    if (differs(s, CS_NIC_WITHOUT_SHARES)) {
        add_line(s, report->baseline, CS_NIC_WITHOUT_SHARES);
    }
    add_line(s, report->baseline, CS_NIC_POOLED_SHARES);
    report->lines[0].is_baseline = true;
    for (size_t i = 0; i < s->n_names; i++) {
        if (strcmp(s->names[i], report->baseline) != 0 && is_wanted(s, i)) {
            add_line(s, s->names[i], CS_NIC_POOLED_SHARES);
        }
    }
    return CS_OK;
}

static int by_time(const void *left, const void *right)
{
    const cs_nic_line *a = left, *b = right;

    if (a->is_available != b->is_available) {
        return a->is_available ? -1 : 1;
    }
    if (a->is_available && fabs(a->during_s.value - b->during_s.value) >
                               ROUNDING * fmin(a->during_s.value, b->during_s.value)) {
        return a->during_s.value < b->during_s.value ? -1 : 1;
    }
    if ((a->ran != NULL) != (b->ran != NULL)) {
        return a->ran == NULL ? -1 : 1;
    }
    int order = strcmp(a->algorithm, b->algorithm);
    return order != 0 ? order : (a->sharing > b->sharing) - (a->sharing < b->sharing);
}

/* What follows from the times of a line. */
static void finish_line(const cs_nic_report *report, const cs_nic_line *baseline, cs_nic_line *line)
{
    double S   = (double)report->bytes * cs_busbw_factor(report->collective, report->n_ranks) / 1e9;
    double low = baseline->during_s.low - line->during_s.low;
    double high = baseline->during_s.high - line->during_s.high;

    line->before_busbw_GBps = S / line->before_s.value;
    line->during_busbw_GBps = S / line->during_s.value;
    line->after_busbw_GBps  = S / line->after_s.value;
    line->gap               = line->during_s.value / line->bound_s;
    line->saved_s =
        (cs_estimate){baseline->during_s.value - line->during_s.value,
                      isnan(low) ? low : fmin(low, high), isnan(low) ? low : fmax(low, high)};
}

static void rank_lines(study *s)
{
    cs_nic_report    *report   = s->report;
    const cs_nic_line baseline = report->lines[0];

    for (size_t i = 0; i < report->n_lines; i++) {
        if (report->lines[i].is_available) {
            finish_line(report, &baseline, &report->lines[i]);
        }
    }
    qsort(report->lines, report->n_lines, sizeof report->lines[0], by_time);
    for (size_t i = 0; i < report->n_lines && report->lines[i].is_available; i++) {
        cs_nic_line *line = &report->lines[i];
        bool is_tied = i > 0 && line->during_s.value <= line[-1].during_s.value * (1 + ROUNDING);
        line->place  = is_tied ? line[-1].place : (uint32_t)i + 1;
    }
}

/* ---- the answer ---- */

/* What the calibration says of the size. */
static cs_status find_regime(study *s, cs_error *err)
{
    const cs_nic_question *q = s->question;

    if (q->calibration->levels != NULL) {
        return CS_OK; /* see take_levels() */
    }
    const cs_calibration *c       = q->calibration;
    uint32_t              n_ranks = q->n_ranks > 0 ? q->n_ranks : c->n_ranks;
    cs_error              wrong   = {0};
    cs_status             status =
        cs_calibration_regime(c, c->collective, n_ranks, q->bytes, &s->report->regime, &wrong);

    if (status != CS_OK) {
        return CS_FAIL(err, status, strcmp(wrong.where, "ranks") == 0 ? "--ranks" : "--bytes", "%s",
                       wrong.message);
    }
    const cs_line *line       = &s->report->regime.line;
    s->report->start_up_ratio = line->intercept_s / cs_line_at(line, q->bytes);
    return CS_OK;
}

static cs_status fill_report(study *s, cs_error *err)
{
    s->report->bytes = s->question->bytes;
    CS_TRY(find_regime(s, err));
    CS_TRY(set_config(s, err));
    CS_TRY(see_cluster(s, err));
    CS_TRY(build_cases(s, err));
    CS_TRY(see_nics(s, err));
    CS_TRY(choose_baseline(s, err));
    CS_TRY(fit_corners(s, err));
    CS_TRY(make_timeline(s, err));
    CS_TRY(list_lines(s, err));
    for (corner c = MIDDLE; c < CORNERS; c++) {
        if (s->has_corner[c]) {
            CS_TRY(run_corner(s, c, err));
        }
    }
    if (!s->report->lines[0].is_available) {
        return CS_FAIL(err, CS_ENOTSUP, "--baseline", "%s", s->report->lines[0].reason);
    }
    rank_lines(s);
    return CS_OK;
}

cs_status cs_nic_answer(const cs_nic_question *question, cs_nic_report *report_p, cs_error *err)
{
    cs_nic_report report = {0};
    study         s      = {.question = question, .report = &report};
    cs_status     status = fill_report(&s, err);

    for (size_t i = 0; i < s.n_cases; i++) {
        cs_case_free(&s.cases[i]);
    }
    cs_free(s.cases);
    cs_config_free(s.config);
    cs_arena_free(&s.scratch);
    if (status != CS_OK) {
        cs_nic_report_free(&report);
        return status;
    }
    *report_p = report;
    return CS_OK;
}

void cs_nic_report_free(cs_nic_report *report)
{
    cs_arena_free(&report->arena);
    *report = (cs_nic_report){0};
}
