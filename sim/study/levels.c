/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a calibration of two levels says of a cluster: see study/levels.h. */
#include "study/levels.h"

#include "study/level_messages.h"

#include <inttypes.h>
#include <math.h>

static const char *const level_names[CS_LEVELS] = {"NICs", "NVLink"};

/* Move the port to an end of what it may be: by the largest error of a size that was held out; the
 * ends of the intervals where none was. (A and B of an interval go against each other, so that both
 * ends at once are farther than the times.) */
static void move_port(const cs_regime *r, cs_levels_end end, cs_fabric *port)
{
    const double   e    = r->held_out.max_ratio;
    const cs_line *line = &r->line;

    if (end == CS_LEVELS_MIDDLE) {
        return;
    }
    if (r->held_out.n == 0) {
        bool is_fast  = end == CS_LEVELS_FAST;
        port->alpha_s = is_fast ? line->intercept_low_s : line->intercept_high_s;
        port->bandwidth_Bps =
            1 / (is_fast ? line->slope_low_s_per_byte : line->slope_high_s_per_byte);
    } else if (end == CS_LEVELS_FAST) {
        port->alpha_s /= 1 + e;
        port->bandwidth_Bps *= 1 + e;
    } else {
        port->alpha_s       = e < 1 ? port->alpha_s / (1 - e) : HUGE_VAL;
        port->bandwidth_Bps = e < 1 ? port->bandwidth_Bps * (1 - e) : 0;
    }
}

static cs_status check_asked(const cs_calibration *c, const cs_scenario *s, cs_error *err)
{
    const cs_levels *levels = c->levels;

    if (!levels->is_any && s->collective != c->collective) {
        return CS_FAIL(err, CS_ENOTSUP, "collective", "not calibrated here: %s; accepted: %s",
                       cs_collective_name(s->collective), cs_collective_name(c->collective));
    }
    if (cs_uses_nics(&s->cluster) && s->cluster.gpus_per_server != levels->gpus_per_server) {
        return CS_FAIL(err, CS_ENOTSUP, "gpus_per_server",
                       "not calibrated here: %u GPUs a server; accepted: %u, as measured",
                       s->cluster.gpus_per_server, levels->gpus_per_server);
    }
    return CS_OK;
}

/* The messages of the schedule; of a collective that it does not do, a rank's part of the buffer.
 */
static cs_status ask_messages(const cs_calibration *c, const cs_scenario *s,
                              uint64_t messages[CS_FABRICS], cs_error *err)
{
    const cs_algorithm *algorithm = NULL;

    CS_TRY(cs_algorithm_find(c->schedule, &algorithm, err));
    if ((algorithm->collectives >> s->collective & 1u) != 0) {
        return cs_level_messages(c->schedule, s, messages, err);
    }
    for (uint32_t f = 0; f < CS_FABRICS; f++) {
        messages[f] = (s->bytes + s->cluster.n_ranks - 1) / s->cluster.n_ranks;
    }
    return CS_OK;
}

static cs_status refuse_message(const cs_calibration *c, uint32_t l, uint64_t message,
                                const cs_scenario *s, cs_error *err)
{
    const cs_level *level = &c->levels->of[l];
    const double    ratio = (double)s->bytes / (double)message;

    return CS_FAIL(err, CS_ENOTSUP, "bytes",
                   "not calibrated here: %" PRIu64 " bytes are messages of %" PRIu64
                   " over the %s on %u ranks; accepted: about %.4g to %.4g bytes",
                   s->bytes, message, level_names[l], s->cluster.n_ranks,
                   ratio * (double)level->regimes[0].min_bytes,
                   ratio * (double)level->regimes[level->n_regimes - 1].max_bytes);
}

/* The regime of the messages over a level that the scenario uses. */
static cs_status regime_of(const cs_calibration *c, const cs_scenario *s, uint32_t l,
                           const uint64_t messages[CS_FABRICS], cs_regime *regime_p, cs_error *err)
{
    const bool extends = l == CS_NVLINK && cs_uses_nics(&s->cluster);

    if (c->levels->of[l].n_regimes == 0) {
        return CS_FAIL(err, CS_ENOTSUP, "", "says nothing of %s: accepted with %s LOG",
                       level_names[l], cs_level_option(l));
    }
    return cs_level_regime(&c->levels->of[l], messages[l], extends, regime_p)
               ? CS_OK
               : refuse_message(c, l, messages[l], s, err);
}

cs_status cs_levels_nics(const cs_calibration *c, const cs_scenario *s, uint64_t *message_bytes_p,
                         cs_regime *regime_p, cs_error *err)
{
    uint64_t messages[CS_FABRICS];

    CS_TRY(check_asked(c, s, err));
    CS_TRY(ask_messages(c, s, messages, err));
    CS_TRY(regime_of(c, s, CS_NIC, messages, regime_p, err));
    *message_bytes_p = messages[CS_NIC];
    return CS_OK;
}

cs_status cs_levels_ports(const cs_calibration *c, const cs_scenario *s, cs_levels_end end,
                          cs_fabric fabrics[CS_FABRICS], cs_error *err)
{
    const bool is_used[CS_LEVELS] = {
        [CS_NIC] = cs_uses_nics(&s->cluster), [CS_NVLINK] = s->cluster.gpus_per_server > 1};
    uint64_t  messages[CS_FABRICS];
    cs_regime regime;

    CS_TRY(check_asked(c, s, err));
    CS_TRY(ask_messages(c, s, messages, err));
    for (uint32_t l = 0; l < CS_LEVELS; l++) {
        if (is_used[l]) {
            CS_TRY(regime_of(c, s, l, messages, &regime, err));
            fabrics[l].alpha_s       = regime.alpha_s;
            fabrics[l].bandwidth_Bps = regime.bandwidth_Bps;
            move_port(&regime, end, &fabrics[l]);
        }
    }
    return CS_OK;
}

/* The largest error of a log that was left out. */
static double left_out_error(const cs_calibration *c, uint32_t n_servers)
{
    double largest = 0;

    for (uint32_t l = 0; l < CS_LEVELS; l++) {
        const cs_level *level = &c->levels->of[l];
        for (size_t i = 0; i < level->n_logs && (l == CS_NIC) == (n_servers > 1); i++) {
            bool is_part = level->logs[i].n_points == 0; /* of a server: see hold_out_parts() */
            largest      = is_part ? largest : fmax(largest, level->logs[i].left_out.max_ratio);
        }
    }
    return largest;
}

/* The time at an end; infinite where the ports may be as slow as anything. */
static cs_status time_at_end(const cs_calibration *c, cs_scenario *s, cs_levels_end end,
                             double *time_s_p, cs_error *err)
{
    cs_job job;

    CS_TRY(cs_levels_ports(c, s, end, s->cluster.fabrics, err));
    for (uint32_t l = 0; l < CS_LEVELS; l++) {
        cs_fabric *port = &s->cluster.fabrics[l];
        if (isinf(port->alpha_s) || !(port->bandwidth_Bps > 0)) {
            *time_s_p = HUGE_VAL;
            return CS_OK;
        }
        port->bandwidth_Bps = fmin(port->bandwidth_Bps, CS_FAST_BPS);
    }
    CS_TRY(cs_level_job(c->schedule, s, &job, err));
    CS_TRY(cs_job_resolve(&job, err));
    cs_status status = cs_level_time(&job, time_s_p, err);
    cs_job_release(&job);
    return status;
}

cs_status cs_levels_time(const cs_calibration *c, cs_collective collective, uint32_t n_servers,
                         uint64_t bytes, cs_estimate *time_s_p, cs_error *err)
{
    const uint32_t g      = c->levels->gpus_per_server;
    cs_scenario    s      = cs_level_scenario(collective, n_servers * g, g, bytes);
    cs_estimate    time_s = {0};
    const double   e      = left_out_error(c, n_servers);

    CS_TRY(time_at_end(c, &s, CS_LEVELS_MIDDLE, &time_s.value, err));
    CS_TRY(time_at_end(c, &s, CS_LEVELS_FAST, &time_s.low, err));
    CS_TRY(time_at_end(c, &s, CS_LEVELS_SLOW, &time_s.high, err));
    time_s.low  = fmin(time_s.low, time_s.value / (1 + e));
    time_s.high = fmax(time_s.high, e < 1 ? time_s.value / (1 - e) : HUGE_VAL);
    *time_s_p   = time_s;
    return CS_OK;
}
