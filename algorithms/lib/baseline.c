/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "algorithms/lib/baseline.h"

#include "algorithms/lib/accept.h"
#include "algorithms/lib/fallback.h"
#include "cs/model.h"

#include <math.h>

/* Numbers of segments that are tried. */
static const uint32_t segments_tried[] = {1, 2, 3, 4, 6, 8, 12, 16};
enum { TRIED = sizeof segments_tried / sizeof segments_tried[0] };

/* A name for each of them. */
#define LABELS(name)                                                                          \
    {                                                                                         \
        name, name " segments=2", name " segments=3", name " segments=4", name " segments=6", \
            name " segments=8", name " segments=12", name " segments=16",                     \
    }

#define X(id, name) extern const cs_algorithm cs_algorithm_##name;
CS_BASELINE_MAP(X)
#undef X

static const cs_algorithm *const baselines[CS_BASELINE_COUNT] = {
#define X(id, name) [CS_BASELINE_##id] = &cs_algorithm_##name,
    CS_BASELINE_MAP(X)
#undef X
};

static const char *const labels[CS_BASELINE_COUNT][TRIED] = {
#define X(id, name) [CS_BASELINE_##id] = LABELS(#name),
    CS_BASELINE_MAP(X)
#undef X
};

const cs_algorithm *cs_baseline_algorithm(cs_baseline baseline)
{
    return baselines[baseline];
}

const char *cs_baseline_label(const cs_baseline_choice *choice)
{
    size_t i = 0;

    while (i < TRIED && segments_tried[i] != choice->segments) {
        i++;
    }
    return labels[choice->baseline][i < TRIED ? i : 0];
}

double cs_baseline_predicted_s(const cs_scenario *scenario, cs_baseline baseline)
{
    uint32_t n = scenario->cluster.n_ranks, q = cs_log2_ceil(n), rounds = 2 * (n - 1);
    cs_pace  p       = cs_usual_pace(scenario);
    double   buffers = 2.0 * (n - 1) / n;

    if ((baseline == CS_BASELINE_MERGED_RHD && n % 2 == 1) || baseline == CS_BASELINE_RHD) {
        return (double)INFINITY; /* the latter is never faster than circulant */
    }
    if (baseline == CS_BASELINE_CIRCULANT || baseline == CS_BASELINE_MERGED_RHD) {
        rounds = 2 * q - (baseline == CS_BASELINE_MERGED_RHD ? 1 : 0);
    } else if (baseline == CS_BASELINE_LATENCY_OPTIMAL) {
        rounds  = q;
        buffers = q;
    }
    return cs_last_arrival(scenario) + rounds * p.alpha_s +
           buffers * (double)scenario->bytes * p.s_per_byte;
}

cs_baseline cs_baseline_predicted(const cs_scenario *scenario)
{
    cs_baseline best = CS_BASELINE_CIRCULANT;

    for (int b = CS_BASELINE_CIRCULANT; b <= CS_BASELINE_RING; b++) {
        if (cs_baseline_predicted_s(scenario, (cs_baseline)b) <
            cs_baseline_predicted_s(scenario, best)) {
            best = (cs_baseline)b;
        }
    }
    return best;
}

/* Do the closed forms of alpha-beta hold, or nobody has said on what else it runs? */
static bool adds_alphas(const cs_scenario *s)
{
    const cs_forecast *f = s->forecast;

    return f == NULL || cs_closed_forms_hold(f->model, s, f->model_options, 0);
}

/* Before this no ring ends, in so many segments: the late server's neighbour gets 2 (N - 1)/N of
 * the buffer from it, nearly all of it after the last arrival, in as many messages for every
 * segment; on alpha-beta each of them holds the port for alpha. */
static double rings_end_s(const cs_scenario *s, uint32_t segments)
{
    const cs_cluster *c   = &s->cluster;
    const cs_fabric  *nic = &c->fabrics[CS_NIC];
    double            n = cs_n_servers(c), nics = c->gpus_per_server;

    return cs_last_arrival(s) + (adds_alphas(s) ? 2 * (n - 1) * segments * nic->alpha_s : 0) +
           2 * (n - 1) / n * (double)s->bytes / (nics * nic->bandwidth_Bps);
}

/* Before this no ring through all ranks ends, on several servers: what begins at the last rank goes
 * twice around but for two hops, at each of which it pays alpha. */
static double ring_of_all_end_s(const cs_scenario *s)
{
    const cs_cluster *c    = &s->cluster;
    double            hops = c->n_ranks, nics = cs_n_servers(c), inside_s = (double)INFINITY;

    for (uint32_t f = CS_NVLINK; f < cs_n_fabrics(c); f++) {
        inside_s = fmin(inside_s, c->fabrics[f].alpha_s);
    }
    inside_s     = isinf(inside_s) ? 0 : inside_s;
    double lap_s = nics * c->fabrics[CS_NIC].alpha_s + (hops - nics) * inside_s;
    double two_s = 2 * fmax(c->fabrics[CS_NIC].alpha_s, inside_s);
    return cs_last_arrival(s) + (adds_alphas(s) ? 2 * lap_s - two_s : 0);
}

/* Before this none of the others ends: the last rank sends the buffer, where there are 2^k of them
 * 2 (n - 1)/n of it, over all its ports. */
static double flat_end_s(const cs_scenario *s)
{
    const cs_cluster *c     = &s->cluster;
    double            n     = c->n_ranks;
    double            times = (c->n_ranks & (c->n_ranks - 1)) == 0 ? 2 * (n - 1) / n : 1;
    double            Bps   = 0;

    for (uint32_t f = 0; f < cs_n_fabrics(c); f++) {
        Bps += c->fabrics[f].bandwidth_Bps * cs_links_of(c, f);
    }
    return cs_last_arrival(s) + times * (double)s->bytes / Bps;
}

/* A baseline that is the fastest so far. */
typedef struct leader {
    cs_baseline_choice choice;
    double             end_s;
} leader;

/* Other numbers of segments than 1 of one baseline, while they help. */
static cs_status try_segments(const cs_scenario *scenario, cs_baseline baseline, leader *leader_p,
                              cs_error *err)
{
    double   best_s = (double)INFINITY, this_s = 0;
    uint32_t worse = 0;

    for (size_t i = 1; i < TRIED && worse < 2; i++) {
        if (rings_end_s(scenario, segments_tried[i]) >= leader_p->end_s) {
            break;
        }
        cs_error  wrong  = {0};
        cs_status status = cs_fallback_elapsed_s(
            baselines[baseline], (cs_fallback_option){"segments", segments_tried[i]}, scenario,
            &this_s, &wrong);
        if (cs_status_is_refusal(status)) {
            break;
        }
        if (status != CS_OK) {
            return CS_FAIL(err, status, wrong.where, "%s", wrong.message);
        }
        if (this_s < leader_p->end_s) {
            *leader_p = (leader){{baseline, segments_tried[i]}, this_s};
        }
        worse  = this_s < best_s ? 0 : worse + 1;
        best_s = fmin(best_s, this_s);
    }
    return CS_OK;
}

/* Of baselines first .. end - 1 with one segment the fastest. Rings through all ranks, of which the
 * replay takes the longest, come last, and only where they can still be it. */
static cs_status lead_all(const cs_scenario *scenario, uint32_t first, uint32_t end,
                          leader *leader_p, cs_error *err)
{
    const cs_algorithm *some[CS_BASELINE_COUNT];
    cs_error            refusal = {0};
    cs_status           status  = CS_ENOTSUP;

    for (int laps = 0; laps < 2; laps++) {
        uint32_t which[CS_BASELINE_COUNT], n = 0, fastest = 0;
        double   end_s = 0;
        for (uint32_t b = first; b < end; b++) {
            bool is_lap = (b == CS_BASELINE_RING || b == CS_BASELINE_NCCL_RINGS) &&
                          !cs_one_port_kind(&scenario->cluster);
            if (is_lap == (laps == 1)) {
                which[n]  = b;
                some[n++] = baselines[b];
            }
        }
        if (n == 0 || (laps == 1 && ring_of_all_end_s(scenario) > leader_p->end_s)) {
            continue;
        }
        cs_error  wrong = {0};
        cs_status now   = cs_fastest(scenario, some, n, &fastest, &end_s, &wrong);
        if (now != CS_OK && !cs_status_is_refusal(now)) {
            return CS_FAIL(err, now, wrong.where, "%s", wrong.message);
        }
        refusal       = refusal.status == CS_OK ? wrong : refusal;
        status        = now == CS_OK ? CS_OK : status;
        bool is_first = which[fastest] < (uint32_t)leader_p->choice.baseline;
        if (now == CS_OK && (end_s < leader_p->end_s || (end_s <= leader_p->end_s && is_first) ||
                             leader_p->choice.baseline == CS_BASELINE_AUTO)) {
            *leader_p = (leader){{(cs_baseline)which[fastest], 1}, end_s};
        }
    }
    return status == CS_OK ? CS_OK
                           : CS_FAIL(err, refusal.status, refusal.where, "%s", refusal.message);
}

/* With 1 segment, or as many as are asked for: of those that can end before the limit. */
static cs_status lead(const cs_scenario *scenario, const cs_baseline_choice *asked, double limit_s,
                      leader *leader_p, cs_error *err)
{
    bool     is_free  = asked->baseline == CS_BASELINE_AUTO;
    bool     no_flat  = limit_s <= flat_end_s(scenario);
    bool     no_rings = limit_s <= rings_end_s(scenario, 1);
    uint32_t first    = no_flat ? CS_BASELINE_RING : CS_BASELINE_CIRCULANT;
    uint32_t end      = no_rings ? CS_BASELINE_RING : CS_BASELINE_COUNT;

    if (!is_free) {
        bool is_out = (uint32_t)asked->baseline < first || (uint32_t)asked->baseline >= end;
        first       = is_out ? end : (uint32_t)asked->baseline;
        end         = is_out ? end : first + 1;
    }
    if (first >= end) {
        return CS_OK;
    }
    if (!is_free && asked->segments != CS_AUTO && cs_has_segments(baselines[first])) {
        leader_p->choice = *asked;
        return cs_fallback_elapsed_s(baselines[first],
                                     (cs_fallback_option){"segments", asked->segments}, scenario,
                                     &leader_p->end_s, err);
    }
    return lead_all(scenario, first, end, leader_p, err);
}

cs_status cs_baseline_before(const cs_scenario *scenario, double limit_s,
                             cs_baseline_choice *choice_p, double *end_s_p, cs_error *err)
{
    leader best    = {.end_s = (double)INFINITY};
    bool   is_even = cs_one_port_kind(&scenario->cluster); /* rings are all the same there */

    CS_TRY(lead(scenario, choice_p, limit_s, &best, err));
    best.end_s = fmin(best.end_s, limit_s);
    for (int b = CS_BASELINE_RING; b < CS_BASELINE_COUNT && !is_even; b++) {
        bool is_asked = choice_p->baseline == CS_BASELINE_AUTO || (int)choice_p->baseline == b;
        if (is_asked && choice_p->segments == CS_AUTO && cs_has_segments(baselines[b])) {
            CS_TRY(try_segments(scenario, (cs_baseline)b, &best, err));
        }
    }
    *end_s_p = best.end_s < limit_s ? best.end_s : (double)INFINITY;
    if (best.end_s < limit_s) {
        *choice_p = best.choice;
    }
    return CS_OK;
}
