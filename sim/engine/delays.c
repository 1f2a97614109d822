/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The search for critical and ideal delays: see engine/delays.h. */
#include "engine/delays.h"

#include "algorithms/lib/accept.h"
#include "algorithms/lib/fallback.h"
#include "base/arena.h"
#include "cs/arrivals.h"
#include "cs/result.h"
#include "scenario/late_prediction.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PARTS = 64, MOST_STEPS = 64, EVENT_WORK = 64 };

#define RESOLUTION 5e-7 /* of a delay */
#define NOTHING    1e-7 /* of a time, to be gained */

/* Times that differ by less, relatively, are the same: sums of as many terms in another order. */
#define SAME 1e-11

/* One that it is compared with. */
typedef struct rival {
    const cs_algorithm *algorithm;
    cs_options          options;
    double              far_s; /* exposed when the pre-phase is hidden; INFINITY: it refuses */
} rival;

typedef struct search {
    const cs_job           *job; /* as asked, but for the rank that is presumed late */
    const cs_delays_choice *choice;
    cs_options              options;
    cs_arena                arena;
    double                 *arrival_s; /* [n] of the delay at hand */
    double                 *offset_s;  /* [n] of a late rank behind the first of them; NAN: early */
    double                  early_s;   /* the last early rank, after the first one */
    bool                    is_named;  /* the option `straggler` says who is late */
    bool                    is_linear; /* what the model makes of a schedule is a (max, +) system */
    bool                    gave_up;   /* it would take too long */
    rival                   rivals[CS_BASELINES];
    uint32_t                n_rivals;
    const char             *reference; /* the fastest of them, when asked last */
    double                  high_s;    /* a delay that hides every pre-phase */
} search;

/* What is seen at one delay. */
typedef struct sight {
    double     exposed_s;   /* NAN: not known */
    cs_options options;     /* as resolved */
    uint32_t   n_late;      /* ranks that count as late */
    bool       is_searched; /* the schedule was made for the arrivals */
} sight;

/* ---- who is late ---- */

typedef struct place {
    double   arrival_s;
    uint32_t rank;
} place;

static int by_arrival(const void *a, const void *b)
{
    const place *x = a, *y = b;

    if (x->arrival_s != y->arrival_s) {
        return x->arrival_s < y->arrival_s ? -1 : 1;
    }
    return (x->rank > y->rank) - (x->rank < y->rank);
}

/* Those of the `n_late` last that come behind all others; if none does, all of them. */
static uint32_t really_late(const place *places, uint32_t n, uint32_t n_late)
{
    uint32_t k = n_late;

    while (k > 0 && places[n - k].arrival_s <= places[n - n_late - 1].arrival_s) {
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
    place             *places   = CS_ARENA_NEW(&s->arena, place, n);

    s->arrival_s = CS_ARENA_NEW(&s->arena, double, n);
    s->offset_s  = CS_ARENA_NEW(&s->arena, double, n);
    if (places == NULL || s->arrival_s == NULL || s->offset_s == NULL) {
        return CS_NO_MEMORY(err, "%u arrivals", n);
    }
    for (uint32_t r = 0; r < n; r++) {
        double arrival_s = r == named ? (double)INFINITY : cs_arrival(scenario, r);
        places[r]        = (place){arrival_s, r};
    }
    qsort(places, n, sizeof *places, by_arrival);
    n_late = really_late(places, n, n_late);
    for (uint32_t i = 0; i < n; i++) {
        bool is_late                 = i >= n - n_late;
        s->offset_s[places[i].rank]  = !is_late ? (double)NAN
                                       : n_late == 1
                                           ? 0
                                           : places[i].arrival_s - places[n - n_late].arrival_s;
        s->arrival_s[places[i].rank] = places[i].arrival_s - places[0].arrival_s;
    }
    s->early_s = places[n - n_late - 1].arrival_s - places[0].arrival_s;
    return CS_OK;
}

/* Late ranks that come with the others count as late all the same: of those that nobody names the
 * moment after them. */
static void arrive(search *s, double delay_s)
{
    double first_s = s->early_s + delay_s;

    if (!s->is_named && delay_s == 0) {
        first_s = nextafter(s->early_s, (double)INFINITY);
    }
    for (uint32_t r = 0; r < s->job->scenario.cluster.n_ranks; r++) {
        s->arrival_s[r] = isnan(s->offset_s[r]) ? s->arrival_s[r] : first_s + s->offset_s[r];
    }
}

/* ---- one delay ---- */

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

static cs_status replay(search *s, const cs_job *job, double *exposed_s_p, cs_error *err)
{
    double     closed_s = cs_job_closed_form_s(job);
    cs_outcome outcome;

    if (!isnan(closed_s)) {
        *exposed_s_p = closed_s - cs_last_arrival(&job->scenario);
        return CS_OK;
    }
    *exposed_s_p = (double)NAN;
    s->gave_up   = s->gave_up || is_too_much(s, job->plan.n_rounds);
    if (s->gave_up) {
        return CS_OK;
    }
    CS_TRY(cs_job_replay(job, NULL, 0, &outcome, err));
    *exposed_s_p = outcome.exposed_s;
    return CS_OK;
}

/* Run an algorithm with these options at that delay. A refusal is one of the answer. */
static cs_status look(search *s, const cs_algorithm *algorithm, const cs_options *options,
                      double delay_s, sight *sight_p, cs_error *err)
{
    cs_job job = *s->job;

    arrive(s, delay_s);
    job.scenario.arrival_s = s->arrival_s;
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
    cs_status status = replay(s, &job, &sight_p->exposed_s, err);
    cs_job_release(&job);
    return status;
}

static cs_status look_at_job(search *s, double delay_s, sight *sight_p, cs_error *err)
{
    return look(s, s->job->algorithm, &s->options, delay_s, sight_p, err);
}

/* ---- the reference ---- */

/* The exposed time of the fastest rival. Those that are slower for ever than one is at this delay
 * are not looked at: with less delay no schedule is faster. */
static cs_status look_at_rivals(search *s, double delay_s, double *least_p, cs_error *err)
{
    bool   is_seen[CS_BASELINES] = {false};
    double least_s               = (double)INFINITY;

    for (;;) {
        uint32_t next = s->n_rivals;
        sight    here = {.exposed_s = (double)INFINITY};
        for (uint32_t i = 0; i < s->n_rivals; i++) {
            bool is_open = !is_seen[i] && s->rivals[i].far_s < least_s;
            if (is_open && (next == s->n_rivals || s->rivals[i].far_s < s->rivals[next].far_s)) {
                next = i;
            }
        }
        if (next == s->n_rivals) {
            break;
        }
        const rival *r = &s->rivals[next];
        is_seen[next]  = true;
        CS_TRY(look(s, r->algorithm, &r->options, delay_s, &here, err));
        if (here.exposed_s < least_s) {
            least_s      = here.exposed_s;
            s->reference = r->algorithm->name;
        }
    }
    *least_p = least_s;
    return CS_OK;
}

static cs_status add_rival(search *s, const cs_algorithm *algorithm, cs_error *err)
{
    rival    *r     = &s->rivals[s->n_rivals++];
    cs_error  wrong = {0};
    sight     far   = {.exposed_s = (double)INFINITY};
    cs_status status;

    *r = (rival){.algorithm = algorithm};
    cs_fields_default(algorithm->options, &r->options);
    status = look(s, algorithm, &r->options, s->high_s, &far, &wrong);
    if (status != CS_OK && !(cs_status_is_refusal(status) && s->choice->against == NULL)) {
        return CS_FAIL(err, status, wrong.where, "%s", wrong.message);
    }
    r->far_s = status == CS_OK ? far.exposed_s : (double)INFINITY;
    return CS_OK;
}

/* Is the ring the reference? */
static bool is_ring(const search *s, const sight *zero)
{
    return s->choice->against == NULL && !s->choice->is_against_best && zero->n_late > 0 &&
           cs_one_port_kind(&s->job->scenario.cluster);
}

static cs_status find_rivals(search *s, const sight *zero, double *far_s_p, cs_error *err)
{
    extern const cs_algorithm cs_algorithm_ring;
    const cs_algorithm       *one = is_ring(s, zero) ? &cs_algorithm_ring : s->choice->against;

    for (uint32_t i = 0; i < (one != NULL ? 1 : CS_BASELINES) && !s->gave_up; i++) {
        CS_TRY(add_rival(s, one != NULL ? one : cs_baselines[i], err));
    }
    *far_s_p = (double)INFINITY;
    for (uint32_t i = 0; i < s->n_rivals; i++) {
        if (s->rivals[i].far_s < *far_s_p) {
            *far_s_p     = s->rivals[i].far_s;
            s->reference = s->rivals[i].algorithm->name;
        }
    }
    return CS_OK;
}

/* ---- from which delay on does something hold? ---- */

/* How far is it from not holding at this delay? Less than 0: it does not. */
typedef cs_status margin_fn(search *s, const void *user, double delay_s, double *margin_p,
                            cs_error *err);

static cs_status bisect(search *s, margin_fn *margin, const void *user, double low_s, double high_s,
                        double *from_p, cs_error *err)
{
    while (high_s - low_s > RESOLUTION * high_s && high_s > SAME * s->high_s && !s->gave_up) {
        double middle_s = low_s + (high_s - low_s) / 2, m;
        CS_TRY(margin(s, user, middle_s, &m, err));
        if (m > 0) {
            high_s = middle_s;
        } else {
            low_s = middle_s;
        }
    }
    *from_p = high_s > SAME * s->high_s ? high_s : 0;
    return CS_OK;
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

/* Do what rates do over time make more than one crossing? */
static uint32_t parts_of(const search *s)
{
    return cs_capacity_is_constant(&s->job->scenario) ? 1 : PARTS;
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
    CS_TRY(look_at_rivals(s, delay_s, &rival_s, err));
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
        const cs_capacity *step = &scenario->capacity[i];
        slowdown = isfinite(step->slowdown) ? fmax(slowdown, step->slowdown) : slowdown;
        change_s = fmax(change_s, step->from_s);
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

static bool same_options(const search *s, const sight *a, const sight *b)
{
    return memcmp(&a->options, &b->options, s->job->algorithm->options_bytes) == 0;
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
    CS_TRY(find_rivals(s, &zero, &rival_far_s, err));
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
    bool is_fixed = s->is_linear && same_options(s, &zero, &far) && !far.is_searched;
    if (!same_options(s, &zero, &far)) {
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

    s->is_linear = is_linear(s->job);
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
