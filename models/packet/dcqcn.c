/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/packet/dcqcn.h"

#include <math.h>

void cs_dcqcn_begin(cs_dcqcn *state, int64_t line_bps)
{
    *state = (cs_dcqcn){.rate_bps = line_bps, .target_bps = line_bps, .line_bps = line_bps};
    for (int t = 0; t < CS_DCQCN_TIMERS; t++) {
        state->due[t] = CS_PS_NEVER;
    }
}

/* So much of the rate, not below the least rate. */
static int64_t part_of_rate(const cs_dcqcn *s, const cs_packet_dcqcn *settings, double factor)
{
    int64_t rate = (int64_t)llround((double)s->rate_bps * factor);
    int64_t min  = settings->min_bps < s->line_bps ? settings->min_bps : s->line_bps;

    return rate < min ? min : rate;
}

static void decrease(cs_dcqcn *s, const cs_packet_dcqcn *settings, cs_ps now)
{
    double factor = 1 - s->alpha / 2;

    if (settings->clamp_target || s->time_stage > 0) {
        s->target_bps = s->rate_bps;
    }
    s->rate_bps   = part_of_rate(s, settings, factor < settings->least ? settings->least : factor);
    s->time_stage = s->byte_stage = s->bytes = 0;
    s->due[CS_DCQCN_INCREASE]                = now + settings->increase_period;
}

static void increase(cs_dcqcn *s, const cs_packet_dcqcn *settings)
{
    int64_t t = s->time_stage, b = settings->byte_counter > 0 ? s->byte_stage : t - 1;
    int64_t least = t < b ? t : b, most = t < b ? b : t;

    if (least > settings->fast_recovery) {
        s->target_bps +=
            settings->hai_bps * (settings->hai_grows ? least - settings->fast_recovery : 1);
    } else if (most > settings->fast_recovery) {
        s->target_bps += settings->ai_bps;
    }
    s->target_bps = s->target_bps > s->line_bps ? s->line_bps : s->target_bps;
    s->rate_bps   = (s->rate_bps + s->target_bps) / 2;
}

static void gain_alpha(cs_dcqcn *s, const cs_packet_dcqcn *settings, bool congested)
{
    s->alpha = (1 - settings->g) * s->alpha;
    if (congested) {
        s->alpha = s->alpha + settings->g;
    }
}

void cs_dcqcn_cnp(cs_dcqcn *state, const cs_packet_dcqcn *settings, cs_ps now)
{
    bool is_first = !state->has_cnp, at_once = settings->decrease_period == 0;

    if (is_first) {
        state->has_cnp    = true;
        state->alpha      = settings->first_alpha;
        state->rate_bps   = part_of_rate(state, settings, settings->first_cnp);
        state->target_bps = state->rate_bps;
    }
    if (at_once) {
        decrease(state, settings, now);
        gain_alpha(state, settings, true);
    } else {
        state->alpha_flag    = !is_first;
        state->decrease_flag = true;
    }
    if (at_once || is_first) {
        state->due[CS_DCQCN_ALPHA] = now + settings->alpha_period;
    }
    if (!at_once && is_first) {
        state->due[CS_DCQCN_DECREASE] = now + settings->decrease_period;
    }
}

void cs_dcqcn_fire(cs_dcqcn *state, const cs_packet_dcqcn *settings, cs_dcqcn_timer timer,
                   cs_ps now)
{
    switch (timer) {
    case CS_DCQCN_ALPHA:
        gain_alpha(state, settings, state->alpha_flag);
        state->alpha_flag = false;
        state->due[timer] = now + settings->alpha_period;
        break;
    case CS_DCQCN_DECREASE:
        if (state->decrease_flag) {
            decrease(state, settings, now);
        }
        state->decrease_flag = false;
        state->due[timer]    = now + settings->decrease_period;
        break;
    case CS_DCQCN_INCREASE:
        state->time_stage++;
        increase(state, settings);
        state->due[timer] = now + settings->increase_period;
        break;
    }
}

void cs_dcqcn_count(cs_dcqcn *state, const cs_packet_dcqcn *settings, int64_t bytes)
{
    if (!state->has_cnp || settings->byte_counter <= 0) {
        return;
    }
    state->bytes += bytes;
    if (state->bytes >= settings->byte_counter) {
        state->bytes = 0;
        state->byte_stage++;
        increase(state, settings);
    }
}
