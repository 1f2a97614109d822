/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The noise of runs, and what is healthy: a mixture of runs that are slowed and runs that are not.
 */
#include "hunt/likelihood.h"

#include "base/alloc.h"
#include "base/statistics.h"

#include <math.h>
#include <string.h>

/* How many runs what is said of the noise is worth; how often a run is slow without a cause, and
 * over what range of logarithms. */
#define PRIOR_RUNS    4.0
#define GLITCH        1e-3
#define GLITCH_RANGE  3.2
#define LEAST_NOISE   1e-4
#define LEAST_EFFECT  0.05
#define MOST_EFFECT   2.5 /* a logarithm: 92 % are lost */
#define EFFECT_SPREAD 0.2 /* of a known effect's logarithm */
#define HEALTHY_RUNS  0.5 /* that the stated healthy bandwidth is worth */
#define LOCAL_STEPS   3
#define MEDIAN_TO_SD  1.4826
#define LEAST_OTHERS  0.2 /* healthy runs, to judge one by */

/* ---- runs ---- */

static uint32_t class_of(const cs_hunt *hunt, cs_likelihood *l, uint32_t round)
{
    for (uint32_t t = 0; t < round; t++) {
        if (hunt->rounds[t]->size == hunt->rounds[round]->size) {
            return l->size_of[l->first[t]];
        }
    }
    return l->n_classes++;
}

static void take_runs(const cs_hunt *hunt, cs_likelihood *l)
{
    for (uint32_t t = 0; t < hunt->n_rounds; t++) {
        uint32_t size = class_of(hunt, l, t), end = l->first[t + 1];
        for (uint32_t i = l->first[t]; i < end; i++) {
            const cs_hunt_result *r = &hunt->rounds[t]->results[i - l->first[t]];
            l->log_rate[i]          = r->busbw_Bps > 0 ? log(r->busbw_Bps) : (double)NAN;
            l->weight[i]            = fmin(1, r->rows / (double)hunt->setting.rows);
            l->size_of[i]           = size;
        }
    }
}

static double prior_noise(const cs_hunt *hunt)
{
    return fmax(LEAST_NOISE, hunt->setting.noise / sqrt(hunt->setting.rows));
}

/* ---- the first guess ---- */

/* The runs of a class from the slowest to the fastest; `x` has room for all. */
static uint32_t sort_class(const cs_likelihood *l, uint32_t class, double *x)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < l->n_runs; i++) {
        if (l->size_of[i] == class && !isnan(l->log_rate[i])) {
            x[n++] = l->log_rate[i];
        }
    }
    if (n > 0) {
        cs_sort_samples(x, n);
    }
    return n;
}

/* From what rate on a run of a class counts as healthy at first. The median is the upper one of
 * two, as what is bad is slower. */
static double least_healthy(double *x, uint32_t n, cs_likelihood_start start, double noise)
{
    double center = x[start == CS_FROM_MEDIAN ? n / 2 : n - 1], sd = noise;

    if (start == CS_FROM_MEDIAN && n > 2) {
        for (uint32_t i = 0; i < n; i++) {
            x[i] = fabs(x[i] - center);
        }
        cs_sort_samples(x, n);
        sd = x[n / 2] * MEDIAN_TO_SD;
        sd = sqrt((PRIOR_RUNS * noise * noise + n * sd * sd) / (PRIOR_RUNS + n));
    }
    return center - 3 * sd;
}

static void guess(const cs_hunt *hunt, cs_likelihood_start start, cs_likelihood *l, double *x)
{
    for (uint32_t class = 0; class < l->n_classes; class ++) {
        uint32_t n     = sort_class(l, class, x);
        double   least = n > 0 ? least_healthy(x, n, start, prior_noise(hunt)) : 0;
        for (uint32_t i = 0; i < l->n_runs; i++) {
            if (l->size_of[i] == class) {
                l->hit[i] = l->log_rate[i] < least ? 1 : 0;
            }
        }
    }
}

/* ---- estimates ---- */

/* How much a run says of what is healthy. */
static double soundness(const cs_likelihood *l, uint32_t run)
{
    return (1 - l->hit[run]) * (1 - l->odd[run]) * l->weight[run];
}

/* The healthy mean of every size of groups. */
static void fit_centers(const cs_hunt *hunt, cs_likelihood *l)
{
    double stated = hunt->setting.healthy_Bps;

    for (uint32_t class = 0; class < l->n_classes; class ++) {
        double sum = 0, n = 0, top = -(double)INFINITY;
        for (uint32_t i = 0; i < l->n_runs; i++) {
            if (l->size_of[i] == class && !isnan(l->log_rate[i])) {
                double w = soundness(l, i);
                sum += w * l->log_rate[i];
                n += w;
                top = fmax(top, l->log_rate[i]);
            }
        }
        if (stated > 0) {
            sum += HEALTHY_RUNS * log(stated);
            n += HEALTHY_RUNS;
        }
        /* All of them hit: the fastest says most, but is no evidence. */
        l->center[class] = n > LEAST_OTHERS ? sum / n : isfinite(top) ? top : (double)NAN;
        l->n_of[class]   = n > LEAST_OTHERS ? n : 0;
    }
}

/* The scale of the healthy runs around their centers, together with what was said of it. */
static void fit_noise(const cs_hunt *hunt, cs_likelihood *l)
{
    double known = prior_noise(hunt), squares = PRIOR_RUNS * known * known;
    double freedom = PRIOR_RUNS;

    for (uint32_t class = 0; class < l->n_classes; class ++) {
        freedom -= fmin(1, l->n_of[class]);
    }
    for (uint32_t i = 0; i < l->n_runs; i++) {
        if (!isnan(l->log_rate[i])) {
            double off = l->log_rate[i] - l->center[l->size_of[i]];
            squares += soundness(l, i) * off * off;
            freedom += (1 - l->hit[i]) * (1 - l->odd[i]);
        }
    }
    l->freedom = fmax(freedom, PRIOR_RUNS);
    l->noise   = fmax(LEAST_NOISE, sqrt(squares / l->freedom));
}

/* In steps, of which each stands for what lies around it. */
typedef struct effects {
    double   drop[CS_HUNT_EFFECTS], chance[CS_HUNT_EFFECTS];
    double   half_step; /* part of the drop */
    uint32_t n;
} effects;

/* What something bad takes off the logarithm. */
static effects effects_of(const cs_hunt *hunt, double noise)
{
    effects e   = {.n = 0};
    double  sum = 0;

    if (hunt->setting.effect > 0) {
        double drop = -log1p(-hunt->setting.effect);
        for (int z = -4; z <= 4; z++) {
            e.drop[e.n]     = drop * exp(EFFECT_SPREAD * z / 2);
            e.chance[e.n++] = exp(-z * z / 8.0);
        }
        e.half_step = expm1(EFFECT_SPREAD / 2) / 2;
    } else {
        double least = fmin(fmax(LEAST_EFFECT, 3 * noise), MOST_EFFECT / 2);
        for (int i = 0; i < CS_HUNT_EFFECTS; i++) {
            e.drop[e.n]     = least * pow(MOST_EFFECT / least, i / (double)(CS_HUNT_EFFECTS - 1));
            e.chance[e.n++] = 1;
        }
        e.half_step = expm1(log(MOST_EFFECT / least) / (CS_HUNT_EFFECTS - 1)) / 2;
    }
    for (uint32_t i = 0; i < e.n; i++) {
        sum += e.chance[i];
    }
    for (uint32_t i = 0; i < e.n; i++) {
        e.chance[i] /= sum;
    }
    return e;
}

static double student(double z, double freedom)
{
    return pow(1 + z * z / freedom, -(freedom + 1) / 2);
}

static void set_ratios(const cs_hunt *hunt, cs_likelihood *l)
{
    const effects e     = effects_of(hunt, l->noise);
    double        v     = l->freedom;
    double        peak  = exp(lgamma((v + 1) / 2) - lgamma(v / 2)) / sqrt(v * M_PI);
    double        known = prior_noise(hunt) / l->noise;

    l->least_drop = hunt->setting.effect > 0 ? -log1p(-hunt->setting.effect) : e.drop[0];
    l->log_sound  = PRIOR_RUNS * (log(known) - known * known / 2);
    for (uint32_t i = 0; i < l->n_runs; i++) {
        uint32_t class = l->size_of[i];
        l->ratio[i]    = 0;
        if (isnan(l->log_rate[i]) || isnan(l->center[class])) {
            continue;
        }
        /* What is healthy comes from all other runs: no run is its own evidence. */
        double own    = soundness(l, i);
        double others = l->n_of[class] - own;
        if (others < LEAST_OTHERS) {
            continue;
        }
        double center = (l->center[class] * l->n_of[class] - own * l->log_rate[i]) / others;
        double scale  = l->noise * sqrt(1 / l->weight[i] + 1 / others);
        double off    = l->log_rate[i] - center;
        double sound = student(off / scale, v), slowed = 0;
        double glitch = GLITCH / GLITCH_RANGE * scale / peak;
        double drop   = fmax(off, -e.drop[e.n - 1]); /* slower still is no less bad */
        for (uint32_t k = 0; k < e.n; k++) {
            double wide = hypot(scale, e.half_step * e.drop[k]);
            slowed += e.chance[k] * student((drop + e.drop[k]) / wide, v) * scale / wide;
        }
        sound       = (1 - GLITCH) * sound + glitch;
        l->odd[i]   = glitch / sound;
        l->ratio[i] = log(((1 - GLITCH) * slowed + glitch) / sound);
        l->log_sound += log(sound * peak / scale);
    }
}

void cs_likelihood_fit(const cs_hunt *hunt, cs_likelihood *l)
{
    fit_centers(hunt, l);
    fit_noise(hunt, l);
    set_ratios(hunt, l);
}

cs_status cs_likelihood_begin(const cs_hunt *hunt, cs_likelihood_start start, cs_arena *arena,
                              cs_likelihood *l_p, cs_error *err)
{
    cs_likelihood l = {.n_tests = cs_hunt_n_tests(hunt), .arena = arena};
    double       *scratch;

    for (uint32_t t = 0; t < hunt->n_rounds; t++) {
        l.first[t + 1] = l.first[t] + (uint32_t)cs_hunt_n_runs(hunt, hunt->rounds[t]);
    }
    l.n_runs   = l.first[hunt->n_rounds];
    l.log_rate = CS_ARENA_NEW(arena, double, l.n_runs);
    l.weight   = CS_ARENA_NEW(arena, double, l.n_runs);
    l.hit      = CS_ARENA_NEW(arena, double, l.n_runs);
    l.odd      = CS_ARENA_NEW(arena, double, l.n_runs);
    l.ratio    = CS_ARENA_NEW(arena, double, l.n_runs);
    l.size_of  = CS_ARENA_NEW(arena, uint32_t, l.n_runs);
    l.center   = CS_ARENA_NEW(arena, double, hunt->n_rounds + 1);
    l.n_of     = CS_ARENA_NEW(arena, double, hunt->n_rounds + 1);
    scratch    = CS_ARENA_NEW(arena, double, l.n_runs);
    if (l.log_rate == NULL || l.weight == NULL || l.hit == NULL || l.odd == NULL ||
        l.ratio == NULL || l.size_of == NULL || l.center == NULL || l.n_of == NULL ||
        scratch == NULL) {
        return CS_NO_MEMORY(err, "%u runs", l.n_runs);
    }
    take_runs(hunt, &l);
    guess(hunt, start, &l, scratch);
    for (int step = 0; step < LOCAL_STEPS; step++) {
        cs_likelihood_fit(hunt, &l);
        for (uint32_t t = 0; t < hunt->n_rounds; t++) {
            double share = fmin(0.5, hunt->setting.bad / (double)hunt->rounds[t]->n_groups);
            double odds  = log(share / (1 - share));
            for (uint32_t i = l.first[t]; i < l.first[t + 1]; i++) {
                l.hit[i] = 1 / (1 + exp(-odds - l.ratio[i]));
            }
        }
    }
    cs_likelihood_fit(hunt, &l);
    *l_p = l;
    return CS_OK;
}
