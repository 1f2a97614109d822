/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "support/packet_rate.h"

#include <math.h>

ct_packet_rate ct_packet_rate_of(const cs_packet_dcqcn *set, int64_t line_bps)
{
    return (ct_packet_rate){.set    = set != NULL && set->is_there ? set : NULL,
                            .bps    = line_bps,
                            .target = line_bps,
                            .line   = line_bps,
                            .due    = {CS_PS_NEVER, CS_PS_NEVER, CS_PS_NEVER}};
}

static void scale(ct_packet_rate *r, double factor)
{
    const double min  = fmin((double)r->set->min_bps, (double)r->line);
    const double part = (double)llround((double)r->bps * factor);

    r->bps = (int64_t)fmax(part, min);
}

static void decrease(ct_packet_rate *r, cs_ps now)
{
    if (r->set->clamp_target || r->time_stage != 0) {
        r->target = r->bps;
    }
    scale(r, fmax(1 - r->alpha / 2, r->set->least));
    r->time_stage             = 0;
    r->byte_stage             = 0;
    r->bytes                  = 0;
    r->due[CT_INCREASE_TIMER] = now + r->set->increase_period;
}

static void increase(ct_packet_rate *r)
{
    const bool    has_bytes = r->set->byte_counter > 0;
    const int64_t other     = has_bytes ? r->byte_stage : r->time_stage - 1;
    const int64_t excess = (r->time_stage < other ? r->time_stage : other) - r->set->fast_recovery;

    if (excess > 0) {
        r->target += r->set->hai_grows ? excess * r->set->hai_bps : r->set->hai_bps;
    } else if (r->time_stage > r->set->fast_recovery || other > r->set->fast_recovery) {
        r->target += r->set->ai_bps;
    }
    if (r->target > r->line) {
        r->target = r->line;
    }
    r->bps = (r->bps + r->target) / 2;
}

void ct_packet_rate_cnp(ct_packet_rate *r, cs_ps now)
{
    const bool is_nic = r->set->decrease_period > 0, is_first = !r->has_cnp;

    r->has_cnp = true;
    if (is_first) {
        r->alpha = r->set->first_alpha;
        scale(r, r->set->first_cnp);
        r->target = r->bps;
    }
    if (!is_nic) {
        decrease(r, now);
        r->alpha               = (1 - r->set->g) * r->alpha + r->set->g;
        r->due[CT_ALPHA_TIMER] = now + r->set->alpha_period;
        return;
    }
    r->decrease_flag = true;
    if (is_first) {
        r->due[CT_ALPHA_TIMER]    = now + r->set->alpha_period;
        r->due[CT_DECREASE_TIMER] = now + r->set->decrease_period;
    } else {
        r->alpha_flag = true;
    }
}

void ct_packet_rate_fire(ct_packet_rate *r, uint32_t timer, cs_ps now)
{
    if (timer == CT_ALPHA_TIMER) {
        r->alpha      = (1 - r->set->g) * r->alpha + (r->alpha_flag ? r->set->g : 0);
        r->alpha_flag = false;
        r->due[timer] = now + r->set->alpha_period;
    } else if (timer == CT_DECREASE_TIMER) {
        r->due[timer] = now + r->set->decrease_period;
        if (r->decrease_flag) {
            decrease(r, now);
        }
        r->decrease_flag = false;
    } else {
        r->due[timer] = now + r->set->increase_period;
        r->time_stage++;
        increase(r);
    }
}

void ct_packet_rate_count(ct_packet_rate *r, int64_t bytes)
{
    if (r->has_cnp && r->set->byte_counter > 0 && (r->bytes += bytes) >= r->set->byte_counter) {
        r->bytes = 0;
        r->byte_stage++;
        increase(r);
    }
}
