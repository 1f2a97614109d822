/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The packet model: messages are cut into packets, which wait in the queues of ports.
 *
 * The rules, and the order of what happens in one picosecond, are in sim/doc/packet.md. Nothing is
 * averaged: every end is a whole number of picoseconds that follows from the rules, whichever
 * engine (models/packet/engine.h) computes it.
 *
 * Left out: what hosts spend on packets, buffers that ports share, adaptive routing.
 */
#include "models/packet/packet.h"

#include "models/packet/drive.h"

#include <math.h>
#include <string.h>

_Static_assert(offsetof(cs_packet_model_options, net) == 0, "the rows of the net count from there");

/* Marks and DCQCN: options, the least and the most that they accept, and what they are in each set
 * of values where they are "auto", `times` as much. `line` says how many times faster the hosts'
 * ports are than those that the set is for; so does `mark`, but where both thresholds are auto it
 * is 1, since every port has its own then.
 *
 * paper: Zhu et al., SIGCOMM 2015, at 40 Gb/s. hpcc, hpcc_paper: the simulator of HPCC, modes dcqcn
 * and dcqcn_paper, at 25 Gb/s. nic: NVIDIA's adapters from ConnectX-4 on; the marks are HPCC's.
 * sim/doc/packet.md says where each value was read. */
/* clang-format off */
#define DCQCN_VALUES(X)                                                                           \
    /* option                 least  most  times paper      hpcc       hpcc_paper nic */          \
    X(ecn_kmin_bytes,           0,     4e9,  mark, 5e3,       100e3,     100e3,     100e3,        \
      "bytes waiting at a port from which on it marks packets; auto: those of dcqcn's set, else " \
      "no marks")                                                                                 \
    X(ecn_kmax_bytes,           0,     4e9,  mark, 200e3,     400e3,     400e3,     400e3,        \
      ".. above which it marks every packet; 0: no marks")                                        \
    X(ecn_pmax_fraction,        0,     1,    1,    0.01,      0.2,       0.2,       0.2,          \
      ".. and what share it marks at ecn_kmax_bytes; auto: the set's, or 0.01")                   \
    X(dcqcn_g_ratio,            0,     1,    1,    1.0 / 256, 1.0 / 256, 1.0 / 256, 5.0 / 1024,   \
      "gain of alpha")                                                                            \
    X(dcqcn_first_alpha_ratio,  0,     1,    1,    1,         1,         1,         1023.0 / 1024,\
      "alpha at a message's first CNP")                                                           \
    X(dcqcn_first_cnp_ratio,    0,     1,    1,    1,         1,         1,         1,            \
      "what the first CNP leaves of the rate, before any decrease")                               \
    X(dcqcn_least_ratio,        0,     1,    1,    0,         0,         0,         0.5,          \
      "what one decrease leaves of the rate at least")                                            \
    X(dcqcn_cnp_s,              0,     10,   1,    50e-6,     0,         0,         4e-6,         \
      "least time between two CNPs of a message")                                                 \
    X(dcqcn_alpha_s,            1e-9,  10,   1,    55e-6,     1e-6,      50e-6,     1e-6,         \
      "period of alpha's timer")                                                                  \
    X(dcqcn_decrease_s,         0,     10,   1,    0,         4e-6,      50e-6,     4e-6,         \
      "period of the check whether a CNP came; 0: every CNP decreases at once")                   \
    X(dcqcn_increase_s,         1e-9,  10,   1,    55e-6,     300e-6,    55e-6,     300e-6,       \
      "period of the timer of increases")                                                         \
    X(dcqcn_byte_counter_bytes, 0,     4e9,  1,    10e6,      0,         0,         32767 * 64,   \
      "bytes after which there is another increase; 0: the timer alone counts")                   \
    X(dcqcn_fast_recovery,      0,     1000, 1,    5,         1,         1,         1,            \
      "increases that go half of the way back, before additive ones")                             \
    X(dcqcn_ai_Bps,             0,     4e9,  line, 40e6 / 8,  5e6 / 8,   5e6 / 8,   5e6 / 8,      \
      "additive increase")                                                                        \
    X(dcqcn_hai_Bps,            0,     4e9,  line, 200e6 / 8, 50e6 / 8,  50e6 / 8,  50e6 / 8,     \
      "hyper increase")                                                                           \
    X(dcqcn_hai_grows,          0,     1,    1,    1,         0,         0,         0,            \
      "1: the i-th hyper increase in a row is i times as large")                                  \
    X(dcqcn_min_Bps,            0.125, 4e9,  1,    100e6 / 8, 1e9 / 8,   1e9 / 8,   1e6 / 8,      \
      "least rate of a message")                                                                  \
    X(dcqcn_clamp_target,       0,     1,    1,    1,         0,         0,         0,            \
      "1: every decrease remembers the rate as the target; 0: only one after the timer has "      \
      "increased it")
/* clang-format on */

/* In the order of the sets; 0: nothing is multiplied. */
static const double dcqcn_lines_bps[] = {0, 25e9, 25e9, 0};

#define VALUE_ROW(key, least, most, times, paper, hpcc, hpcc_paper, nic, text) \
    CS_OPTION_AUTO(cs_packet_model_options, key, least, most, text),

typedef enum transport_name { NONE, GBN, SELECTIVE, DCQCN, DCQCN_SELECTIVE } transport_name;

static const cs_field packet_table[] = {
    CS_PACKET_ROWS(cs_packet_options),
    CS_OPTION(cs_packet_options, cut_through_bytes, 0, 0, CS_MAX_PACKET_BYTES,
              "a switch sends a packet on when so much of it has come; 0: when all has"),
    CS_OPTION(cs_packet_options, lossless, 0, 0, 1,
              "switches pause who sends to them before their queues overflow (PFC)"),
    CS_OPTION_AUTO(cs_packet_options, xoff_bytes, 1, 4e9,
                   "lossless: what came over a link and is still in the switch, above which the "
                   "link is paused; given, it means lossless"),
    CS_OPTION_AUTO(cs_packet_options, xon_bytes, 0, 4e9, "lossless: .. up to which it resumes"),
    CS_OPTION_AUTO(cs_packet_options, headroom_bytes, 0, 4e9,
                   "lossless: room above xoff_bytes for what is still on its way"),
    CS_OPTION(cs_packet_options, trains, 1, 0, 1,
              "packets in a row are served as one, with the same result"),
    CS_OPTION_CHOICE(cs_packet_model_options, transport, "none|gbn|selective|dcqcn|dcqcn_selective",
                     "how hosts recover losses: not at all, go-back-N, or only what is missing; "
                     "dcqcn: the same, and a rate that follows marks"),
    CS_OPTION(cs_packet_model_options, window, 0, 0, 1e9,
              "packets of a message that are under way at most; 0: no limit"),
    CS_OPTION(cs_packet_model_options, ack_every, 4, 1, 1e6,
              "a receiver acknowledges every so many packets, and the last one"),
    CS_OPTION(cs_packet_model_options, rto_s, 500e-6, 1e-6, 10,
              "a sender sends again what is not acknowledged for so long"),
    CS_OPTION(cs_packet_model_options, error_rate, 0, 0, 0.999,
              "share of packets that a link corrupts, each by itself; needs a transport"),
    CS_OPTION_CHOICE(cs_packet_model_options, dcqcn, "paper|hpcc|hpcc_paper|nic",
                     "set of values for all options dcqcn_* and ecn_* that are auto"),
    DCQCN_VALUES(VALUE_ROW) CS_FIELD_END,
};

/* ---- what the options about hosts mean ---- */

/* Given, or the set's. */
#define VALUE_FIELD(key, least, most, times, paper, hpcc, hpcc_paper, nic, text) double key;
#define VALUE_OF(key, least, most, times, paper, hpcc, hpcc_paper, nic, text) \
    .key = given_or(o->key, (times) * ((const double[]){paper, hpcc, hpcc_paper, nic})[o->dcqcn]),

typedef struct dcqcn_values {
    DCQCN_VALUES(VALUE_FIELD)
} dcqcn_values;

static bool is_given(double option)
{
    return option < (double)CS_AUTO;
}

static double given_or(double option, double instead)
{
    return is_given(option) ? option : instead;
}

static int64_t whole(double x)
{
    return (int64_t)llround(x);
}

static bool has_dcqcn(const cs_packet_model_options *o)
{
    return o->transport == DCQCN || o->transport == DCQCN_SELECTIVE;
}

/* Thresholds that are given hold for every port, and beside them what the set has for the hosts'.
 */
static bool marks_are_given(const cs_packet_model_options *o)
{
    return is_given(o->ecn_kmin_bytes) || is_given(o->ecn_kmax_bytes);
}

static dcqcn_values values_of(const cs_packet_model_options *o, int64_t line_bps)
{
    double per_bps = dcqcn_lines_bps[o->dcqcn];
    double line    = per_bps > 0 ? (double)line_bps / per_bps : 1;
    double mark    = marks_are_given(o) ? line : 1;

    return (dcqcn_values){DCQCN_VALUES(VALUE_OF)};
}

static void set_dcqcn(const cs_packet_model_options *o, int64_t line_bps, cs_packet_transport *t)
{
    const dcqcn_values v = values_of(o, line_bps);

    t->kmin    = whole(v.ecn_kmin_bytes);
    t->kmax    = whole(v.ecn_kmax_bytes);
    t->pmax    = v.ecn_pmax_fraction;
    t->ecn_bps = marks_are_given(o) ? 0 : whole(dcqcn_lines_bps[o->dcqcn]);
    t->dcqcn   = (cs_packet_dcqcn){
          .is_there        = true,
          .g               = v.dcqcn_g_ratio,
          .first_alpha     = v.dcqcn_first_alpha_ratio,
          .first_cnp       = v.dcqcn_first_cnp_ratio,
          .least           = v.dcqcn_least_ratio,
          .cnp_interval    = whole(v.dcqcn_cnp_s * 1e12),
          .alpha_period    = whole(v.dcqcn_alpha_s * 1e12),
          .decrease_period = whole(v.dcqcn_decrease_s * 1e12),
          .increase_period = whole(v.dcqcn_increase_s * 1e12),
          .byte_counter    = whole(v.dcqcn_byte_counter_bytes),
          .fast_recovery   = whole(v.dcqcn_fast_recovery),
          .ai_bps          = whole(8 * v.dcqcn_ai_Bps),
          .hai_bps         = whole(8 * v.dcqcn_hai_Bps),
          .min_bps         = whole(8 * v.dcqcn_min_Bps),
          .clamp_target    = v.dcqcn_clamp_target > 0,
          .hai_grows       = v.dcqcn_hai_grows > 0,
    };
}

/* Something is given that nobody would look at? */
static cs_status check_hosts(const cs_packet_model_options *o, cs_error *err)
{
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
    for (const cs_field *row = packet_table; row->name != NULL && !has_dcqcn(o); row++) {
        if (strncmp(row->name, "dcqcn_", 6) == 0 && is_given(cs_field_load(row, o))) {
            return CS_FAIL(err, CS_EINVAL, row->name,
                           "a value of DCQCN without DCQCN: accepted are auto, or transport=dcqcn "
                           "or dcqcn_selective");
        }
    }
    return CS_OK;
}

cs_status cs_packet_resolve(const cs_packet_model_options *options, int64_t line_bps,
                            cs_packet_transport *settings, cs_error *err)
{
    static const cs_packet_recovery recovery[] = {
        [NONE]            = CS_RECOVER_NONE,
        [GBN]             = CS_RECOVER_GBN,
        [SELECTIVE]       = CS_RECOVER_SELECTIVE,
        [DCQCN]           = CS_RECOVER_GBN,
        [DCQCN_SELECTIVE] = CS_RECOVER_SELECTIVE,
    };
    const cs_packet_model_options *o = options;
    cs_packet_transport            t = {
                   .recovery  = recovery[o->transport],
                   .window    = o->window,
                   .ack_every = o->window > 0 && o->window < o->ack_every ? o->window : o->ack_every,
                   .rto       = whole(o->rto_s * 1e12),
                   .error_rate = o->error_rate,
                   .kmin       = whole(given_or(o->ecn_kmin_bytes, 0)),
                   .pmax       = given_or(o->ecn_pmax_fraction, 0.01),
    };

    CS_TRY(check_hosts(o, err));
    t.kmax = whole(given_or(o->ecn_kmax_bytes, (double)t.kmin));
    if (has_dcqcn(o)) {
        set_dcqcn(o, line_bps, &t);
    }
    if (t.kmax > 0 && t.kmin > t.kmax) {
        return CS_FAIL(err, CS_EINVAL, "ecn_kmin_bytes",
                       "%lld is above ecn_kmax_bytes (%lld): accepted is at most that",
                       (long long)t.kmin, (long long)t.kmax);
    }
    *settings = t;
    return CS_OK;
}

/* ---- the model ---- */

static int64_t line_bps(const cs_cluster *cluster)
{
    return (int64_t)(8 * cluster->fabrics[CS_NIC].bandwidth_Bps);
}

static cs_status choose(cs_packet_ports *ports, const void *options,
                        const cs_packet_engine **engine_p, cs_error *err)
{
    cs_packet_net             *net = &ports->net;
    const cs_packet_transport *t   = &net->transport;

    CS_TRY(cs_packet_resolve(options, line_bps(ports->ports->cluster), &net->transport, err));
    if (net->queue_bytes > 0 || t->recovery != CS_RECOVER_NONE || t->kmax > 0) {
        *engine_p = &cs_packet_transported;
    } else {
        *engine_p = net->is_lossless ? &cs_packet_lossless : &cs_packet_unlimited;
    }
    return CS_OK;
}

static cs_status packet_open(const cs_ports *ports, const void *options, void **state_p,
                             cs_error *err)
{
    return cs_packet_open(ports, options, choose, state_p, err);
}

static const cs_network packet_network = {
    .shares_receivers = cs_packet_queues,
    .queues_senders   = cs_packet_queues,
    .open             = packet_open,
    .inject           = cs_packet_inject,
    .next             = cs_packet_next,
    .advance          = cs_packet_advance,
    .count            = cs_packet_counts,
    .watch            = cs_packet_watch,
    .report           = cs_packet_report,
    .why              = cs_packet_why,
    .close            = cs_packet_close,
};

static cs_status packet_check(const cs_scenario *scenario, const void *options, cs_error *err)
{
    const cs_packet_model_options *o = options;
    cs_packet_transport            settings;

    CS_TRY(cs_packet_check(scenario, &o->net, err));
    return cs_packet_resolve(o, line_bps(&scenario->cluster), &settings, err);
}

const cs_model cs_model_packet = {
    .name    = "packet",
    .summary = "packets through the queues of ports and switches, to the picosecond: headers, "
               "store-and-forward, incast, pauses; leaves out buffers that ports share, adaptive "
               "routing, what hosts spend on a packet",
    .source  = "rules: sim/doc/packet.md; PFC: IEEE 802.1Qbb",
    .options = packet_table,
    .options_bytes = sizeof(cs_packet_model_options),
    .check         = packet_check,
    .network       = &packet_network,
    .latency_s     = cs_packet_latency_s,
    .message_cost  = cs_packet_message_cost,
};
