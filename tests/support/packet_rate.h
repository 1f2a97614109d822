/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tests/support/packet_rate.h -- the rate of one message under DCQCN, for the oracle of packets:
 * written from the rules at the head of models/packet/dcqcn.h alone.
 */
#ifndef CT_SUPPORT_PACKET_RATE_H
#define CT_SUPPORT_PACKET_RATE_H

#include "models/packet/net.h"

/* In the order in which they fire in one picosecond. */
enum { CT_ALPHA_TIMER, CT_DECREASE_TIMER, CT_INCREASE_TIMER, CT_RATE_TIMERS };

typedef struct ct_packet_rate {
    const cs_packet_dcqcn *set; /* NULL: the rate is not controlled */
    int64_t                bps, target, line;
    double                 alpha;
    int64_t                bytes, time_stage, byte_stage;
    bool                   has_cnp, alpha_flag, decrease_flag;
    cs_ps                  due[CT_RATE_TIMERS]; /* CS_PS_NEVER: it does not run */
} ct_packet_rate;

/* No set, or one that is not there: the rate is not controlled. */
ct_packet_rate ct_packet_rate_of(const cs_packet_dcqcn *set, int64_t line_bps);
void           ct_packet_rate_cnp(ct_packet_rate *r, cs_ps now);
void           ct_packet_rate_fire(ct_packet_rate *r, uint32_t timer, cs_ps now);
void           ct_packet_rate_count(ct_packet_rate *r, int64_t bytes);

#endif
