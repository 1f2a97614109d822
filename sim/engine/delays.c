/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The search for critical and ideal delays: see engine/delays.h. */
#include "engine/delays.h"

#include "algorithms/lib/accept.h"
#include "algorithms/lib/baseline.h"
#include "base/alloc.h"
#include "base/arena.h"
#include "cs/arrivals.h"
#include "cs/result.h"
#include "scenario/late_prediction.h"

#include <math.h>
#include <string.h>

#define LEAST_SLOPE 1e-3 /* of a margin over the delay: less says nothing of its crossing */

enum { PARTS = 64, MOST_STEPS = 64, EVENT_WORK = 64 };

#define RESOLUTION 5e-7  /* of a delay */
#define ROUNDING   1e-13 /* of a time */
#define SEEN       1e-9  /* of a time: more than rounding errors */
#define NOTHING    1e-7  /* of a time, to be gained */

/* Times that differ by less, relatively, are the same: sums of as many terms in another order. */
#define SAME 1e-11

/* A schedule that was timed. Where rates hold it ends at max(from_start_s, last arrival +
 * from_last_s). */
typedef struct timed {
    const cs_algorithm *algorithm;
    cs_options          options;
    uint64_t            bytes;                     /* of the scenario */
    double              delay_s, last_s;           /* when it was timed last, and .. */
    double              end_s;                     /* .. what came out */
    double              from_start_s, from_last_s; /* not less than they are, .. */
    bool                knows_start, knows_last;   /* .. and known */
} timed;

typedef struct search search;

/* What algorithms ask how long a schedule takes while a search goes on. */
typedef struct memory {
    cs_forecast forecast; /* the first member */
    search     *search;
} memory;

struct search {
    const cs_job           *job; /* as asked, but for the rank that is presumed late */
    const cs_delays_choice *choice;
    cs_options              options;
    cs_arena                arena;
    memory                  memory;
    cs_forecast             plain;         /* replays what it does not know */
    cs_options              model_options; /* of both */
    timed                  *timed;         /* owned */
    size_t                  n_timed, timed_capacity;
    double                  delay_s;   /* at hand */
    double                 *arrival_s; /* [n] of this delay */
    double                 *offset_s;  /* [n] of a late rank behind the first of them; NAN: early */
    double                  early_s;   /* the last early rank, after the first one */
    bool                    is_named;  /* the option `straggler` says who is late */
    bool                    is_linear; /* what the model makes of a schedule is a (max, +) system */
    bool                    gave_up;   /* it would take too long */
    const cs_algorithm     *rival;     /* the reference; NULL: the fastest baseline */
    const char             *reference; /* its name, when asked last */
    double                  high_s;    /* a delay that hides every pre-phase */
};

/* What is seen at one delay. */
typedef struct sight {
    double     exposed_s;   /* NAN: not known */
    cs_options options;     /* as resolved */
    uint32_t   n_late;      /* ranks that count as late */
    bool       is_searched; /* the schedule was made for the arrivals */
} sight;

/* ---- who is late ---- */

/* Of the `n_late` last those that come behind all others; if none does, all of them. */
static uint32_t really_late(const double *arrival_s, const uint32_t *ranks, uint32_t n,
                            uint32_t n_late)
{
    uint32_t k = n_late;

    while (k > 0 && arrival_s[ranks[n - k]] <= arrival_s[ranks[n - n_late - 1]]) {
        k--;
    }
    return k > 0 ? k : n_late;
}

/* Who is late: of the `n_late` last to arrive those that do not come with the others, or rank
 * `named` alone. */
static cs_status divide(search *s, uint32_t n_late, uint32_t named, cs_error *err)
{
    const cs_scenario *scenario = &s->job->scenario;
    uint32_t           n        = scenario->cluster.n_ranks;
    uint32_t          *ranks    = CS_ARENA_NEW(&s->arena, uint32_t, n);

    s->arrival_s = CS_ARENA_NEW(&s->arena, double, n);
    s->offset_s  = CS_ARENA_NEW(&s->arena, double, n);
    if (ranks == NULL || s->arrival_s == NULL || s->offset_s == NULL) {
        return CS_NO_MEMORY(err, "%u arrivals", n);
    }
    for (uint32_t r = 0; r < n; r++) {
        s->arrival_s[r] = r == named ? (double)INFINITY : cs_arrival(scenario, r);
    }
    cs_ranks_by_arrival(s->arrival_s, n, ranks);
    n_late         = really_late(s->arrival_s, ranks, n, n_late);
    double first_s = s->arrival_s[ranks[0]], late_s = s->arrival_s[ranks[n - n_late]];
    for (uint32_t i = 0; i < n; i++) {
        double *arrival_p     = &s->arrival_s[ranks[i]];
        s->offset_s[ranks[i]] = i < n - n_late ? (double)NAN
                                : n_late == 1  ? 0
                                               : *arrival_p - late_s;
        *arrival_p -= first_s;
    }
    s->early_s = s->arrival_s[ranks[n - n_late - 1]];
    return CS_OK;
}

/* Late ranks that come with the others count as late all the same: of those that nobody names the
 * moment after them. */
static void arrive(search *s, double delay_s)
{
    double first_s = s->early_s + delay_s;

    s->delay_s = delay_s;
    if (!s->is_named && delay_s == 0) {
        first_s = nextafter(s->early_s, (double)INFINITY);
    }
    for (uint32_t r = 0; r < s->job->scenario.cluster.n_ranks; r++) {
        s->arrival_s[r] = isnan(s->offset_s[r]) ? s->arrival_s[r] : first_s + s->offset_s[r];
    }
}

/* ---- how long a schedule takes ---- */

static bool is_too_much(const search *s, double rounds)
{
    const cs_cluster *c    = &s->job->scenario.cluster;
    const cs_model   *m    = s->job->model;
    double            work = rounds * c->n_ranks * c->gpus_per_server;
    uint64_t          most = s->choice->most_transfers;

    if (m->network != NULL) {
        work = m->network->is_foreign || m->forecasts_by != NULL ? (double)INFINITY
                                                                 : work * EVENT_WORK;
    }
    return most > 0 && work > (double)most;
}

/* Where pairs have ports of two kinds an algorithm may replay all baselines to choose one, rings of
 * 2 (n - 1) rounds among them. */
static bool is_dear(const search *s)
{
    const cs_cluster *c = &s->job->scenario.cluster;
    return !cs_one_port_kind(c) && is_too_much(s, 2.0 * c->n_ranks);
}

/* The end at the delay at hand, if it follows from what is known; else NAN. */
static double known_end_s(const search *s, const timed *t, double last_s)
{
    double most_s = fmax(t->from_start_s, last_s + t->from_last_s);
    double least_s =
        fmax(t->knows_start ? t->from_start_s : 0, t->knows_last ? last_s + t->from_last_s : 0);

    if (t->delay_s == s->delay_s) {
        return t->end_s;
    }
    bool is_known = s->is_linear && isfinite(most_s) && most_s - least_s <= ROUNDING * most_s;
    return is_known ? most_s : (double)NAN;
}

/* Of the two terms of an end that which is larger than the other can be is known. */
static void learn_from(timed *t, double last_s, double end_s)
{
    double margin_s = SEEN * end_s;

    t->knows_start = t->knows_start || end_s > last_s + t->from_last_s + margin_s;
    t->knows_last  = t->knows_last || end_s > t->from_start_s + margin_s;
}

/* What is seen now may explain what was seen before. */
static void learn(const search *s, timed *t, double last_s, double end_s)
{
    double before_s = t->last_s, before_end_s = t->end_s;

    t->delay_s      = s->delay_s;
    t->last_s       = last_s;
    t->end_s        = end_s;
    t->from_start_s = fmin(t->from_start_s, end_s);
    t->from_last_s  = fmin(t->from_last_s, end_s - last_s);
    learn_from(t, last_s, end_s);
    learn_from(t, before_s, before_end_s);
}

static bool same_value(const cs_field *row, const char *a, const char *b)
{
    bool is_pointer = row->type == CS_FIELD_TEXT || row->type == CS_FIELD_FILE;

    if (is_pointer) {
        return memcmp(a + row->offset, b + row->offset, sizeof(char *)) == 0;
    }
    return row->type == CS_FIELD_CHARS ? strcmp(a + row->offset, b + row->offset) == 0
                                       : !(cs_field_load(row, a) < cs_field_load(row, b)) &&
                                             !(cs_field_load(row, a) > cs_field_load(row, b));
}

/* By their table, where there is one: there is something between the members of a struct. */
static bool same_options(const cs_algorithm *algorithm, const void *a, const void *b)
{
    if (algorithm->options == NULL) {
        return memcmp(a, b, algorithm->options_bytes) == 0;
    }
    for (const cs_field *row = algorithm->options; row->name != NULL; row++) {
        if (!same_value(row, a, b)) {
            return false;
        }
    }
    return true;
}

/* What is prepared may be made for the arrivals, and what is reactive or waits for a clock ends
 * elsewhere. */
static bool is_constant(const cs_plan *plan)
{
    return (plan->prepared == NULL || plan->ignores_arrivals) && !plan->is_reactive &&
           plan->own_ready_s == NULL;
}

/* Where its time is kept; NULL: nowhere, it depends on the arrivals. */
static cs_status remember(search *s, const cs_scenario *scenario, const cs_algorithm *algorithm,
                          const void *options, const cs_plan *plan, timed **timed_p, cs_error *err)
{
    size_t i = 0;

    *timed_p = NULL;
    if (!is_constant(plan)) {
        return CS_OK;
    }
    while (i < s->n_timed &&
           (s->timed[i].algorithm != algorithm || s->timed[i].bytes != scenario->bytes ||
            !same_options(algorithm, &s->timed[i].options, options))) {
        i++;
    }
    if (i == s->n_timed) {
        if (!cs_grow(&s->timed, &s->timed_capacity, s->n_timed + 1, 64, sizeof *s->timed)) {
            return CS_NO_MEMORY(err, "%zu times", s->n_timed + 1);
        }
        s->timed[s->n_timed++] = (timed){.algorithm    = algorithm,
                                         .bytes        = scenario->bytes,
                                         .delay_s      = (double)NAN,
                                         .last_s       = (double)NAN,
                                         .end_s        = (double)NAN,
                                         .from_start_s = (double)INFINITY,
                                         .from_last_s  = (double)INFINITY};
        memcpy(&s->timed[i].options, options, algorithm->options_bytes);
    }
    *timed_p = &s->timed[i];
    return CS_OK;
}

/* Is a formula all that it takes, or not too long a replay? */
static bool is_affordable(const search *s, const cs_scenario *scenario,
                          const cs_algorithm *algorithm, const void *options, const cs_plan *plan)
{
    cs_job job = {.scenario = *scenario, .is_resolved = true, .plan = *plan};

    if (!is_too_much(s, plan->n_rounds)) {
        return true;
    }
    cs_job_set_algorithm(&job, algorithm, options);
    cs_job_set_model(&job, s->plain.model, s->plain.model_options);
    return !isnan(cs_job_closed_form_s(&job));
}

static cs_status replay(search *s, const cs_scenario *scenario, const cs_algorithm *algorithm,
                        const void *options, const cs_plan *plan, timed *t, double *end_s_p,
                        cs_error *err)
{
    cs_scenario plain = *scenario;

    plain.forecast = &s->plain;
    CS_TRY(s->plain.elapsed_s(&s->plain, &plain, algorithm, options, plan, end_s_p, err));
    if (t != NULL) {
        learn(s, t, cs_last_arrival(scenario), *end_s_p);
    }
    return CS_OK;
}

/* What is asked for again is worth a replay with the longest delay. */
static cs_status look_far(search *s, const cs_scenario *scenario, const cs_algorithm *algorithm,
                          const void *options, const cs_plan *plan, timed *t, cs_error *err)
{
    double delay_s = s->delay_s, end_s;

    if (!s->is_linear || isnan(t->delay_s) || t->knows_last || delay_s >= s->high_s ||
        scenario->arrival_s != s->arrival_s) {
        return CS_OK;
    }
    arrive(s, s->high_s);
    cs_status status = replay(s, scenario, algorithm, options, plan, t, &end_s, err);
    arrive(s, delay_s);
    return status;
}

static cs_status remembered_s(const cs_forecast *forecast, const cs_scenario *scenario,
                              const cs_algorithm *algorithm, const void *options,
                              const cs_plan *plan, double *end_s_p, cs_error *err)
{
    search *s      = ((const memory *)forecast)->search;
    double  last_s = cs_last_arrival(scenario);
    timed  *t;

    CS_TRY(remember(s, scenario, algorithm, options, plan, &t, err));
    *end_s_p = t != NULL ? known_end_s(s, t, last_s) : (double)NAN;
    if (isnan(*end_s_p) && (s->gave_up || !is_affordable(s, scenario, algorithm, options, plan))) {
        s->gave_up = true;
        *end_s_p   = (double)INFINITY;
    }
    if (isnan(*end_s_p) && t != NULL) {
        CS_TRY(look_far(s, scenario, algorithm, options, plan, t, err));
        *end_s_p = known_end_s(s, t, last_s);
    }
    return isnan(*end_s_p) ? replay(s, scenario, algorithm, options, plan, t, end_s_p, err) : CS_OK;
}

/* ---- one delay ---- */

/* Run an algorithm with these options at that delay. A refusal is one of the answer. */
static cs_status look(search *s, const cs_algorithm *algorithm, const cs_options *options,
                      double delay_s, sight *sight_p, cs_error *err)
{
    cs_job job = *s->job;

    arrive(s, delay_s);
    job.scenario.arrival_s = s->arrival_s;
    job.scenario.forecast  = &s->memory.forecast;
    job.algorithm          = algorithm;
    job.options            = *options;
    job.verify             = false;
    job.is_checked         = true;
    if (algorithm == s->job->algorithm && is_dear(s)) {
        s->gave_up = true;
        return CS_OK;
    }
    CS_TRY(cs_job_resolve(&job, err));
    *sight_p         = (sight){.options     = job.options,
                               .n_late      = cs_late_count(algorithm, &job.options),
                               .is_searched = job.plan.prepared != NULL};
    cs_status status = remembered_s(&s->memory.forecast, &job.scenario, algorithm, &job.options,
                                    &job.plan, &sight_p->exposed_s, err);
    sight_p->exposed_s -= cs_last_arrival(&job.scenario);
    cs_job_release(&job);
    return status;
}

static cs_status look_at_job(search *s, double delay_s, sight *sight_p, cs_error *err)
{
    return look(s, s->job->algorithm, &s->options, delay_s, sight_p, err);
}

/* ---- the reference ---- */

/* The fastest baseline, chosen as an algorithm does that runs one instead of its own schedule. */
static cs_status look_at_baselines(search *s, double delay_s, double *exposed_p, cs_error *err)
{
    cs_scenario        scenario = s->job->scenario;
    cs_baseline_choice choice   = {CS_BASELINE_AUTO, CS_AUTO};
    double             end_s;

    arrive(s, delay_s);
    scenario.arrival_s = s->arrival_s;
    scenario.forecast  = &s->memory.forecast;
    CS_TRY(cs_baseline_before(&scenario, (double)INFINITY, &choice, &end_s, err));
    *exposed_p = end_s - cs_last_arrival(&scenario);
    if (isfinite(end_s)) {
        s->reference = cs_baseline_label(&choice);
    }
    return CS_OK;
}

static cs_status look_at_one(search *s, double delay_s, double *exposed_p, cs_error *err)
{
    cs_options options = {0};
    sight      here    = {.exposed_s = (double)INFINITY};

    cs_fields_default(s->rival->options, &options);
    CS_TRY(look(s, s->rival, &options, delay_s, &here, err));
    *exposed_p   = here.exposed_s;
    s->reference = s->rival->name;
    return CS_OK;
}

/* The exposed time of what it is compared with; INFINITY: that refuses the scenario, which is the
 * end of a comparison that was asked for. */
static cs_status look_at_rival(search *s, double delay_s, double *exposed_p, cs_error *err)
{
    cs_error  wrong  = {0};
    cs_status status = s->rival != NULL ? look_at_one(s, delay_s, exposed_p, &wrong)
                                        : look_at_baselines(s, delay_s, exposed_p, &wrong);

    if (cs_status_is_refusal(status) && s->choice->against == NULL) {
        *exposed_p = (double)INFINITY;
        return CS_OK;
    }
    return status == CS_OK ? CS_OK : CS_FAIL(err, status, wrong.where, "%s", wrong.message);
}

/* The ring, where all ranks have one kind of port and the algorithm runs no baseline itself. */
static const cs_algorithm *rival_of(const search *s, const sight *zero)
{
    bool is_ring = s->choice->against == NULL && !s->choice->is_against_best && zero->n_late > 0 &&
                   cs_one_port_kind(&s->job->scenario.cluster);

    return is_ring ? cs_baseline_algorithm(CS_BASELINE_RING) : s->choice->against;
}

/* ---- from which delay on does something hold? ---- */

/* How far is it from not holding at this delay? Less than 0: it does not. */
typedef cs_status margin_fn(search *s, const void *user, double delay_s, double *margin_p,
                            cs_error *err);

/* Do what rates do over time make more than one crossing? */
static uint32_t parts_of(const search *s)
{
    return cs_capacity_is_constant(&s->job->scenario) ? 1 : PARTS;
}

/* A crossing between a delay at which it does not hold and one at which it does, which were looked
 * at; of both sides the two nearest delays that are known. */
typedef struct point {
    double delay_s, margin;
} point;

typedef struct bracket {
    point low[2], high[2]; /* [1]: the one before; NAN: there is none */
} bracket;

static bool is_open(const search *s, const bracket *b)
{
    double high_s = b->high[0].delay_s;
    return high_s - b->low[0].delay_s > RESOLUTION * high_s && high_s > SAME * s->high_s &&
           !s->gave_up;
}

/* Narrow it by a look within it. */
static cs_status probe(search *s, margin_fn *margin, const void *user, double delay_s, bracket *b,
                       cs_error *err)
{
    point here = {.delay_s = delay_s};

    if (!(delay_s > b->low[0].delay_s && delay_s < b->high[0].delay_s) || s->gave_up) {
        return CS_OK;
    }
    CS_TRY(margin(s, user, delay_s, &here.margin, err));
    point *side = here.margin > 0 ? b->high : b->low;
    side[1]     = side[0];
    side[0]     = here;
    return CS_OK;
}

/* Where the line through the points of one side passes 0; of one point that of slope 1, which is
 * what a delay hides. NAN: it never does. */
static double extrapolate(const point *side)
{
    double slope = (side[0].margin - side[1].margin) / (side[0].delay_s - side[1].delay_s);

    slope = isnan(slope) ? 1 : slope;
    return slope > LEAST_SLOPE ? side[0].delay_s - side[0].margin / slope : (double)NAN;
}

/* Look just above and just below of where it should be. */
static cs_status try_guess(search *s, margin_fn *margin, const void *user, double guess_s,
                           bracket *b, cs_error *err)
{
    double by_s = 0.4 * RESOLUTION * guess_s;

    if (!(guess_s > b->low[0].delay_s && guess_s < b->high[0].delay_s) || !is_open(s, b)) {
        return CS_OK;
    }
    CS_TRY(probe(s, margin, user, guess_s + by_s, b, err));
    return b->low[0].delay_s < guess_s ? probe(s, margin, user, guess_s - by_s, b, err) : CS_OK;
}

/* Margins are mostly lines in pieces: each side says where the crossing is. Where they say it
 * wrong, for it is a jump, the bracket is halved, ever more often before they are asked again; and
 * always where there may be other crossings, which a low side would lead to. */
static cs_status narrow(search *s, margin_fn *margin, const void *user, bracket *b, double *from_p,
                        cs_error *err)
{
    uint32_t halvings = 0, wait = 1, next = 0;

    while (is_open(s, b)) {
        double low_s = b->low[0].delay_s, high_s = b->high[0].delay_s, width_s = high_s - low_s;
        if (halvings == next && parts_of(s) == 1) {
            CS_TRY(try_guess(s, margin, user, extrapolate(b->low), b, err));
            CS_TRY(try_guess(s, margin, user, extrapolate(b->high), b, err));
            low_s  = b->low[0].delay_s;
            high_s = b->high[0].delay_s;
            if (high_s - low_s <= width_s / 4) {
                continue;
            }
            wait *= 2;
            next += wait;
        }
        CS_TRY(probe(s, margin, user, low_s + (high_s - low_s) / 2, b, err));
        halvings++;
    }
    double high_s = b->high[0].delay_s;
    *from_p       = high_s > SAME * s->high_s ? high_s : 0;
    return CS_OK;
}

/* It does not hold at low_s and does at high_s. */
static cs_status bisect(search *s, margin_fn *margin, const void *user, double low_s, double high_s,
                        double *from_p, cs_error *err)
{
    bracket b = {{{low_s, 0}, {(double)NAN, 0}}, {{high_s, 0}, {(double)NAN, 0}}};

    CS_TRY(margin(s, user, low_s, &b.low[0].margin, err));
    CS_TRY(margin(s, user, high_s, &b.high[0].margin, err));
    return narrow(s, margin, user, &b, from_p, err);
}

/* It holds at high_s. */
static cs_status scan(search *s, margin_fn *margin, const void *user, double high_s, uint32_t parts,
                      double *from_p, cs_error *err)
{
    for (uint32_t i = parts; i-- > 0 && !s->gave_up;) {
        double low_s = high_s * i / parts, m;
        CS_TRY(margin(s, user, low_s, &m, err));
        if (!(m > 0)) {
            return bisect(s, margin, user, low_s, high_s * (i + 1) / parts, from_p, err);
        }
    }
    *from_p = 0;
    return CS_OK;
}

/* ---- the ideal delay ---- */

static cs_status ideal_margin(search *s, const void *user, double delay_s, double *margin_p,
                              cs_error *err)
{
    const sight      *far     = user;
    const cs_options *options = far->is_searched ? &far->options : &s->options;
    sight             here;

    CS_TRY(look(s, s->job->algorithm, options, delay_s, &here, err));
    *margin_p = far->exposed_s * (1 + NOTHING) - here.exposed_s;
    return CS_OK;
}

/* Where e(d) is not known to be of two pieces: `guess_s` is right if it is. */
static cs_status find_ideal(search *s, const sight *far, double guess_s, double *ideal_p,
                            cs_error *err)
{
    double above_s = guess_s * (1 + RESOLUTION), below_s, m;

    if (parts_of(s) > 1) {
        return scan(s, ideal_margin, far, s->high_s, PARTS, ideal_p, err);
    }
    CS_TRY(ideal_margin(s, far, above_s, &m, err));
    if (!(m > 0)) {
        return bisect(s, ideal_margin, far, above_s, s->high_s, ideal_p, err);
    }
    below_s  = guess_s * (1 - RESOLUTION) - 2 * NOTHING * far->exposed_s;
    *ideal_p = guess_s;
    if (below_s <= 0) {
        return CS_OK;
    }
    CS_TRY(ideal_margin(s, far, below_s, &m, err));
    return m > 0 ? scan(s, ideal_margin, far, below_s, 1, ideal_p, err) : CS_OK;
}

/* ---- the critical delay ---- */

/* What is known of the algorithm. */
typedef struct course {
    double at_zero_s, far_s; /* of the schedule that runs for ever, exposed */
    bool   is_fixed;         /* it is max(at_zero_s - d, far_s) for every d */
} course;

/* How much earlier than the reference it ends; no earlier where it presumes nobody late, and runs a
 * reference itself, maybe with better options than the defaults. */
static cs_status critical_margin(search *s, const void *user, double delay_s, double *margin_p,
                                 cs_error *err)
{
    const course *c    = user;
    sight         here = {.n_late = 1};
    double        rival_s;

    if (c->is_fixed) {
        here.exposed_s = fmax(c->at_zero_s - delay_s, c->far_s);
    } else {
        CS_TRY(look_at_job(s, delay_s, &here, err));
    }
    CS_TRY(look_at_rival(s, delay_s, &rival_s, err));
    *margin_p = rival_s - here.exposed_s - SAME * rival_s;
    *margin_p = here.n_late > 0 ? *margin_p : fmin(*margin_p, 0);
    return CS_OK;
}

/* Down from a delay at which it is faster, or of a fixed schedule nearly so. A step may be too long
 * where schedules are chosen by a prediction: then what lies within it is bisected. */
static cs_status descend(search *s, const course *c, double from_s, double *critical_p,
                         cs_error *err)
{
    double high_s = s->high_s, near_s, m;

    CS_TRY(critical_margin(s, c, from_s, &m, err));
    for (int i = 0; i < MOST_STEPS && from_s > 0 && m > RESOLUTION * from_s && !s->gave_up; i++) {
        high_s = from_s;
        from_s = from_s - m > SAME * s->high_s ? from_s - m : 0;
        CS_TRY(critical_margin(s, c, from_s, &m, err));
    }
    if (from_s > 0 && m > RESOLUTION * from_s) { /* it gains little over a long range */
        return scan(s, critical_margin, c, from_s, PARTS, critical_p, err);
    }
    *critical_p = from_s;
    if (m > 0 || c->is_fixed) {
        return CS_OK;
    }
    near_s = from_s * (1 + 2 * RESOLUTION) + 10 * SAME * s->high_s;
    CS_TRY(critical_margin(s, c, near_s, &m, err));
    return m > 0 ? CS_OK : bisect(s, critical_margin, c, near_s, high_s, critical_p, err);
}

static cs_status find_critical(search *s, const course *c, double rival_far_s, double ideal_s,
                               double *critical_p, cs_error *err)
{
    double from_s = c->is_fixed ? fmax(0, c->at_zero_s - rival_far_s) : ideal_s;

    if (isinf(rival_far_s)) { /* nothing to be compared with */
        *critical_p = (double)NAN;
        return CS_OK;
    }
    *critical_p = (double)INFINITY;
    if (!(c->far_s < rival_far_s * (1 - SAME))) {
        return CS_OK;
    }
    if (parts_of(s) > 1) {
        return scan(s, critical_margin, c, s->high_s, PARTS, critical_p, err);
    }
    return descend(s, c, from_s, critical_p, err);
}

/* ---- all of it ---- */

/* A delay that hides all that can be hidden: several times what a ring takes on the slowest port,
 * and what the algorithm takes without one. */
static double high_of(const search *s, double at_zero_s)
{
    const cs_scenario *scenario = &s->job->scenario;
    const cs_cluster  *c        = &scenario->cluster;
    double             change_s = 0, slowdown = 1, ring_s = 0;

    for (size_t i = 0; i < scenario->n_capacity; i++) {
        const cs_capacity *step       = &scenario->capacity[i];
        bool               is_lasting = isinf(step->until_s) && isfinite(step->slowdown);
        slowdown                      = is_lasting ? fmax(slowdown, step->slowdown) : slowdown;
        change_s                      = fmax(change_s, step->from_s);
        change_s = isfinite(step->until_s) ? fmax(change_s, step->until_s) : change_s;
    }
    for (uint32_t f = 0; f < cs_n_fabrics(c); f++) {
        ring_s += 2 * (c->n_ranks * c->fabrics[f].alpha_s +
                       (double)scenario->bytes * slowdown / cs_least_Bps(c, f));
    }
    double high_s = change_s + (parts_of(s) > 1 ? 2 : 16) * (ring_s + at_zero_s);
    return fmin(high_s, CS_MAX_ARRIVAL_S / 4);
}

static bool is_linear(const cs_job *job)
{
    return job->model->serve != NULL && cs_capacity_is_constant(&job->scenario) &&
           !cs_waits_for_links(&job->scenario.cluster, CS_NVLINK);
}

static cs_status find_delays(search *s, cs_delays *d, cs_error *err)
{
    sight  zero = {0}, far = {0}, whole = {0};
    double rival_far_s = 0;

    CS_TRY(look_at_job(s, 0, &zero, err));
    if (s->gave_up) {
        return CS_OK;
    }
    s->high_s = high_of(s, zero.exposed_s);
    s->rival  = rival_of(s, &zero);
    CS_TRY(look_at_rival(s, s->high_s, &rival_far_s, err));
    if (s->gave_up) {
        return CS_OK;
    }
    CS_TRY(look_at_job(s, s->high_s, &far, err));
    if (s->gave_up) {
        return CS_OK;
    }
    d->reference = s->reference;
    if (far.n_late == 0) { /* the reference runs for ever */
        d->critical_s = d->ideal_s = (double)INFINITY;
        return CS_OK;
    }
    whole         = zero;
    bool is_fixed = s->is_linear && same_options(s->job->algorithm, &zero.options, &far.options) &&
                    !far.is_searched;
    if (!same_options(s->job->algorithm, &zero.options, &far.options)) {
        CS_TRY(look(s, s->job->algorithm, &far.options, 0, &whole, err));
    }
    const course c = {whole.exposed_s, far.exposed_s, is_fixed};
    d->ideal_s     = fmax(0, c.at_zero_s - c.far_s);
    d->ideal_s     = d->ideal_s > SAME * c.at_zero_s ? d->ideal_s : 0;
    if (!is_fixed) {
        CS_TRY(find_ideal(s, &far, d->ideal_s, &d->ideal_s, err));
    }
    CS_TRY(find_critical(s, &c, rival_far_s, d->ideal_s, &d->critical_s, err));
    d->reference = s->reference;
    return CS_OK;
}

/* Ranks that count as late; where that is open, as many as in the scenario as it is, or the last
 * one. */
static cs_status late_of(const cs_job *asked, uint32_t *n_late_p, cs_error *err)
{
    uint32_t n_late = cs_late_count(asked->algorithm, &asked->options);

    if (n_late == CS_AUTO) {
        cs_job job = *asked;
        CS_TRY(cs_job_resolve(&job, err));
        n_late = cs_late_count(job.algorithm, &job.options);
        n_late = n_late > 0 ? n_late : 1;
        cs_job_release(&job);
    }
    *n_late_p = n_late < asked->scenario.cluster.n_ranks ? n_late : 0;
    return CS_OK;
}

static cs_status begin(search *s, uint32_t n_late, cs_error *err)
{
    const cs_algorithm *algorithm = s->job->algorithm;
    uint32_t            named     = cs_late_option(algorithm, &s->options);

    s->is_linear                 = is_linear(s->job);
    s->plain                     = cs_job_forecast(s->job, &s->model_options);
    s->memory                    = (memory){s->plain, s};
    s->memory.forecast.elapsed_s = remembered_s;
    if (n_late == 1 && named == CS_AUTO) {
        named = cs_last_rank(&s->job->scenario);
    }
    s->is_named = cs_late_count(algorithm, &s->options) == 1;
    if (s->is_named) {
        const cs_late_prediction known = cs_late_prediction_of(algorithm, CS_PREDICTION_STATIC);
        (void)cs_predict_late(&known, NULL, 0, named, &s->options);
    }
    return divide(s, n_late, named, err);
}

cs_status cs_job_delays(const cs_job *job, const cs_delays_choice *choice, cs_delays *delays_p,
                        cs_error *err)
{
    cs_delays unknown = {(double)NAN, (double)NAN, NULL}, found = unknown;
    uint32_t  n_late = 0;
    search    s      = {.job = job, .choice = choice, .options = job->options};
    cs_status status = late_of(job, &n_late, err);

    *delays_p = unknown;
    if (status == CS_OK && n_late > 0) {
        status = begin(&s, n_late, err);
        status = status == CS_OK ? find_delays(&s, &found, err) : status;
    }
    cs_free(s.timed);
    cs_arena_free(&s.arena);
    if (status == CS_OK && !s.gave_up) {
        *delays_p = found;
    }
    return status;
}

void cs_result_set_delays(cs_result *result, const cs_delays *delays)
{
    result->critical_delay_s = delays->critical_s;
    result->ideal_delay_s    = delays->ideal_s;
    result->delay_reference  = delays->reference;
}

cs_status cs_result_add_delays(const cs_job *job, cs_result *result, cs_error *err)
{
    enum { LEAST_WORK = 1 << 21 };
    uint64_t               work   = 2 * result->transfers;
    const cs_delays_choice choice = {.most_transfers = work > LEAST_WORK ? work : LEAST_WORK};
    cs_delays              d      = {(double)NAN, (double)NAN, NULL};
    cs_error               wrong  = {0};

    cs_status status = cs_job_delays(job, &choice, &d, &wrong);
    if (status != CS_OK && !cs_status_is_refusal(status)) {
        return CS_FAIL(err, status, wrong.where, "%s", wrong.message);
    }
    cs_result_set_delays(result, &d);
    return CS_OK;
}
