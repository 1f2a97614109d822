/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/packet/transport_options.h"

#include <math.h>
#include <string.h>

typedef enum transport_name { NONE, GBN, SELECTIVE, DCQCN, DCQCN_SELECTIVE } transport_name;

/* A named set: the values of the options, in their units. Where `per_bps` is there, the thresholds
 * and the increases are those of a line of so many bit/s and grow with it. */
typedef struct dcqcn_set {
    double   kmin_bytes, kmax_bytes, pmax;
    double   g, first_alpha, first_cnp, least;
    double   cnp_s, alpha_s, decrease_s, increase_s;
    double   ai_bps, hai_bps, min_bps;
    double   per_bps;
    uint32_t byte_counter_bytes, fast_recovery, clamp_target, hai_grows;
} dcqcn_set;

/* In the order of the option's choices; sim/doc/packet.md has the sources. */
static const dcqcn_set sets[] = {
    /* paper: Zhu et al., SIGCOMM 2015; 40 Gb/s */
    {.kmin_bytes         = 5e3,
     .kmax_bytes         = 200e3,
     .pmax               = 0.01,
     .g                  = 1.0 / 256,
     .first_alpha        = 1,
     .first_cnp          = 1,
     .cnp_s              = 50e-6,
     .alpha_s            = 55e-6,
     .increase_s         = 55e-6,
     .ai_bps             = 40e6,
     .hai_bps            = 200e6,
     .min_bps            = 100e6,
     .byte_counter_bytes = 10000000,
     .fast_recovery      = 5,
     .clamp_target       = 1,
     .hai_grows          = 1},
    /* hpcc: HPCC's simulator, mode dcqcn */
    {.kmin_bytes    = 100e3,
     .kmax_bytes    = 400e3,
     .pmax          = 0.2,
     .g             = 1.0 / 256,
     .first_alpha   = 1,
     .first_cnp     = 1,
     .alpha_s       = 1e-6,
     .decrease_s    = 4e-6,
     .increase_s    = 300e-6,
     .ai_bps        = 5e6,
     .hai_bps       = 50e6,
     .min_bps       = 1e9,
     .per_bps       = 25e9,
     .fast_recovery = 1},
    /* hpcc_paper: the same simulator, mode dcqcn_paper */
    {.kmin_bytes    = 100e3,
     .kmax_bytes    = 400e3,
     .pmax          = 0.2,
     .g             = 1.0 / 256,
     .first_alpha   = 1,
     .first_cnp     = 1,
     .alpha_s       = 50e-6,
     .decrease_s    = 50e-6,
     .increase_s    = 55e-6,
     .ai_bps        = 5e6,
     .hai_bps       = 50e6,
     .min_bps       = 1e9,
     .per_bps       = 25e9,
     .fast_recovery = 1},
    /* nic: the defaults of NVIDIA's adapters from ConnectX-4 on */
    {.kmin_bytes         = 100e3,
     .kmax_bytes         = 400e3,
     .pmax               = 0.2,
     .g                  = 5.0 / 1024,
     .first_alpha        = 1023.0 / 1024,
     .first_cnp          = 1,
     .least              = 0.5,
     .cnp_s              = 4e-6,
     .alpha_s            = 1e-6,
     .decrease_s         = 4e-6,
     .increase_s         = 300e-6,
     .ai_bps             = 5e6,
     .hai_bps            = 50e6,
     .min_bps            = 1e6,
     .byte_counter_bytes = 32767 * 64,
     .fast_recovery      = 1},
};

/* ---- an option, or what the set has instead ---- */

static bool is_given(double option)
{
    return option < (double)CS_AUTO;
}

static double given_or(double option, double instead)
{
    return is_given(option) ? option : instead;
}

static int64_t whole_or(uint32_t option, double instead)
{
    return (int64_t)llround(given_or((double)option, instead));
}

static cs_ps time_or(double option_s, double instead_s)
{
    return (cs_ps)llround(given_or(option_s, instead_s) * 1e12);
}

static int64_t rate_or(double option_Bps, double instead_bps)
{
    return (int64_t)llround(is_given(option_Bps) ? 8 * option_Bps : instead_bps);
}

static bool has_dcqcn(const cs_packet_transport_options *o)
{
    return o->transport == DCQCN || o->transport == DCQCN_SELECTIVE;
}

static double growth(const dcqcn_set *set, int64_t line_bps)
{
    return set->per_bps > 0 ? (double)line_bps / set->per_bps : 1;
}

static cs_packet_dcqcn rates_of(const cs_packet_transport_options *o, const dcqcn_set *set,
                                int64_t line_bps)
{
    double grow = growth(set, line_bps);

    return (cs_packet_dcqcn){
        .is_there        = true,
        .g               = given_or(o->dcqcn_g_ratio, set->g),
        .first_alpha     = given_or(o->dcqcn_first_alpha_ratio, set->first_alpha),
        .first_cnp       = given_or(o->dcqcn_first_cnp_ratio, set->first_cnp),
        .least           = given_or(o->dcqcn_least_ratio, set->least),
        .cnp_interval    = time_or(o->dcqcn_cnp_s, set->cnp_s),
        .alpha_period    = time_or(o->dcqcn_alpha_s, set->alpha_s),
        .decrease_period = time_or(o->dcqcn_decrease_s, set->decrease_s),
        .increase_period = time_or(o->dcqcn_increase_s, set->increase_s),
        .byte_counter    = whole_or(o->dcqcn_byte_counter_bytes, set->byte_counter_bytes),
        .fast_recovery   = whole_or(o->dcqcn_fast_recovery, set->fast_recovery),
        .ai_bps          = rate_or(o->dcqcn_ai_Bps, grow * set->ai_bps),
        .hai_bps         = rate_or(o->dcqcn_hai_Bps, grow * set->hai_bps),
        .min_bps         = rate_or(o->dcqcn_min_Bps, set->min_bps),
        .clamp_target    = whole_or(o->dcqcn_clamp_target, set->clamp_target) != 0,
        .hai_grows       = whole_or(o->dcqcn_hai_grows, set->hai_grows) != 0,
    };
}

/* The thresholds of marks. Those of a set whose values grow with the rate grow with that of the
 * port; where one is given it holds for every port, and the other one is that of the hosts'. */
static cs_status set_marks(const cs_packet_transport_options *o, int64_t line_bps,
                           cs_packet_transport *t, cs_error *err)
{
    static const dcqcn_set none     = {.pmax = 0.01};
    const dcqcn_set       *set      = has_dcqcn(o) ? &sets[o->dcqcn] : &none;
    bool                   is_fixed = is_given(o->ecn_kmin_bytes) || is_given(o->ecn_kmax_bytes);
    double                 grow     = is_fixed ? growth(set, line_bps) : 1;

    t->kmin = whole_or(o->ecn_kmin_bytes, grow * set->kmin_bytes);
    t->kmax = whole_or(o->ecn_kmax_bytes, has_dcqcn(o) ? grow * set->kmax_bytes : (double)t->kmin);
    t->pmax = given_or(o->ecn_pmax_fraction, set->pmax);
    t->ecn_bps = is_fixed ? 0 : (int64_t)llround(set->per_bps);
    if (t->kmax > 0 && t->kmin > t->kmax) {
        return CS_FAIL(err, CS_EINVAL, "ecn_kmin_bytes",
                       "%lld is above ecn_kmax_bytes (%lld): accepted is at most that",
                       (long long)t->kmin, (long long)t->kmax);
    }
    return CS_OK;
}

/* A value of DCQCN is given, which nobody would look at? */
static cs_status check_dcqcn(const cs_packet_transport_options *o, cs_error *err)
{
    typedef struct options {
        cs_packet_transport_options hosts;
    } options;
    static const cs_field rows[] = {CS_TRANSPORT_ROWS(options, hosts), CS_FIELD_END};
    const options         given  = {*o};

    for (const cs_field *row = rows; row->name != NULL && !has_dcqcn(o); row++) {
        if (strncmp(row->name, "dcqcn_", 6) == 0 && is_given(cs_field_load(row, &given))) {
            return CS_FAIL(err, CS_EINVAL, row->name,
                           "a value of DCQCN without DCQCN: accepted are auto, or transport=dcqcn "
                           "or dcqcn_selective");
        }
    }
    return CS_OK;
}

bool cs_packet_transport_is_asked(const cs_packet_transport_options *o)
{
    bool marks = (is_given(o->ecn_kmin_bytes) && o->ecn_kmin_bytes > 0) ||
                 (is_given(o->ecn_kmax_bytes) && o->ecn_kmax_bytes > 0);

    return o->transport != NONE || marks || o->error_rate > 0;
}

cs_status cs_packet_transport_resolve(const cs_packet_transport_options *options, int64_t line_bps,
                                      cs_packet_transport *settings, cs_error *err)
{
    static const cs_packet_recovery recovery[] = {
        [NONE]            = CS_RECOVER_NONE,
        [GBN]             = CS_RECOVER_GBN,
        [SELECTIVE]       = CS_RECOVER_SELECTIVE,
        [DCQCN]           = CS_RECOVER_GBN,
        [DCQCN_SELECTIVE] = CS_RECOVER_SELECTIVE,
    };
    const cs_packet_transport_options *o = options;
    cs_packet_transport                t = {
                       .recovery = recovery[o->transport],
                       .window   = o->window,
                       .ack_every = o->window > 0 && o->window < o->ack_every ? o->window : o->ack_every,
                       .rto       = (cs_ps)llround(o->rto_s * 1e12),
                       .error_rate = o->error_rate,
    };

    if (o->transport == NONE && o->error_rate > 0) {
        return CS_FAIL(err, CS_EINVAL, "error_rate",
                       "%.9g without a transport, which would recover what is lost: accepted are "
                       "0, or transport=gbn, selective, dcqcn or dcqcn_selective",
                       o->error_rate);
    }
    if (o->transport == NONE && o->window > 0) {
        return CS_FAIL(err, CS_EINVAL, "window",
                       "%u packets without a transport, which would acknowledge them: accepted are "
                       "0, or transport=gbn, selective, dcqcn or dcqcn_selective",
                       o->window);
    }
    CS_TRY(check_dcqcn(o, err));
    CS_TRY(set_marks(o, line_bps, &t, err));
    if (has_dcqcn(o)) {
        t.dcqcn = rates_of(o, &sets[o->dcqcn], line_bps);
    }
    *settings = t;
    return CS_OK;
}
