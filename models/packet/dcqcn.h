/* SPDX-License-Identifier: GPL-3.0-or-later */
/* models/packet/dcqcn.h -- DCQCN's reaction point: the rate of one message as its CNPs come.
 *
 * The state of a message begins with rate = target = the line's rate (the largest that the sending
 * port ever has), and nothing happens before its first CNP. Rates are whole bit/s, alpha is a
 * double; every formula is computed as it is written here, from left to right.
 *
 * CNP. The first one of the message sets alpha = first_alpha and rate = target =
 * llround(rate * first_cnp), but not below min_bps. Then,
 *   decrease_period = 0 (Zhu et al.): decrease; alpha = (1 - g) * alpha + g; the alpha timer starts
 *     anew.
 *   decrease_period > 0 (NICs): the first CNP starts the alpha timer and the decrease timer and
 *     sets the flag of the decrease timer alone; every later one sets the flags of both.
 * Decrease. target = rate if clamp_target, or if the increase timer has fired since the last
 *     decrease (else the target stays). rate = llround(rate * f) with f = 1 - alpha / 2, but not
 *     below `least`; rate not below min_bps. Both stages and the byte counter are 0, the increase
 *     timer starts anew.
 * Alpha timer, every alpha_period since it was started. decrease_period = 0, or its flag is not
 *     set: alpha = (1 - g) * alpha. Its flag is set: alpha = (1 - g) * alpha + g. It clears the
 *     flag.
 * Decrease timer, every decrease_period since it was started: if its flag is set, decrease and
 * clear the flag. Increase timer, every increase_period since it was started: time stage + 1, then
 * increase. Byte counter: bytes on the wire of the packets that the message starts after its first
 * CNP. Where they reach byte_counter (> 0), they are 0 again, byte stage + 1, then increase.
 * Increase. With a byte counter, least = the smaller and most = the larger of the two stages;
 *     without, least = time stage - 1 and most = time stage. least > fast_recovery:
 *     target += hai_bps * (hai_grows ? least - fast_recovery : 1). Else most > fast_recovery:
 *     target += ai_bps. Else the target stays. The target is not above the line's rate; rate =
 *     (rate + target) / 2, rounded down.
 * min_bps above the line's rate means the line's rate.
 *
 * Where several timers of a message fire in one picosecond, the order is alpha, decrease, increase.
 * The timers stop when all packets of the message are acknowledged.
 */
#ifndef CS_MODELS_PACKET_DCQCN_H
#define CS_MODELS_PACKET_DCQCN_H

#include "models/packet/net.h"

/* In the order in which they fire. */
typedef enum cs_dcqcn_timer { CS_DCQCN_ALPHA, CS_DCQCN_DECREASE, CS_DCQCN_INCREASE } cs_dcqcn_timer;

enum { CS_DCQCN_TIMERS = 3 };

typedef struct cs_dcqcn {
    int64_t rate_bps, target_bps, line_bps;
    double  alpha;
    int64_t bytes; /* since the byte counter was 0 */
    int64_t time_stage, byte_stage;
    bool    has_cnp; /* one has come */
    bool    alpha_flag, decrease_flag;
    cs_ps   due[CS_DCQCN_TIMERS]; /* CS_PS_NEVER: it does not run */
} cs_dcqcn;

void cs_dcqcn_begin(cs_dcqcn *state, int64_t line_bps);

/* A CNP comes. */
void cs_dcqcn_cnp(cs_dcqcn *state, const cs_packet_dcqcn *settings, cs_ps now);

/* A timer that is due fires, and is set anew. */
void cs_dcqcn_fire(cs_dcqcn *state, const cs_packet_dcqcn *settings, cs_dcqcn_timer timer,
                   cs_ps now);

/* A packet of so many bytes on the wire has started. */
void cs_dcqcn_count(cs_dcqcn *state, const cs_packet_dcqcn *settings, int64_t bytes);

#endif
