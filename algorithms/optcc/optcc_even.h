/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/optcc/optcc_even.h -- what an OptCC schedule with equal sections, that is
 * without ramp and bubbles, takes for any number of slow servers.
 *
 * The times are those of one cycle, and of NVLink only where it holds up every position.
 */
#ifndef CS_ALGORITHMS_OPTCC_OPTCC_EVEN_H
#define CS_ALGORITHMS_OPTCC_OPTCC_EVEN_H

#include "algorithms/optcc/optcc_shape.h"

typedef struct cs_optcc_lengths {
    double        section_s;  /* of a section of a copy on a healthy NIC */
    double        port_s;     /* a message holds each of its ports for that beside its bytes */
    double        gap_s;      /* least time between the starts of two messages of a port */
    double        beyond_s;   /* the data are there so much later than the ports are free */
    double        nvlink_s;   /* what a server's NVLink takes for a position; 0: there is none */
    const double *slow_ratio; /* [m] */
    double        largest_ratio, sum_ratio;
    uint32_t      copies; /* Q */
} cs_optcc_lengths;

/* How long a message of so many sections holds a port. */
double cs_optcc_port_s(const cs_optcc_lengths *lengths, double sections);

/* By formula: exact for one slow server (for l >= 2 from R = 3 on), otherwise an upper bound that
 * is missed by O(1 / (H R)) of itself: 0.8 % from H = 40 and R = 5 on, 7 % at H = 8 and R = 3
 * (measured). O(1).
 *
 * A position of the wave takes, in the middle, as long as its slowest cycle: a slow port (Q l_1 s),
 * two sections to the next node (2 s and what lies beyond the ports, once for all copies), or a
 * healthy port, Q (2 (H-1) s + sum l_i s) / H. In the first H - 1 positions and in the last ones
 * messages carry one section, not two. A chain of causes cannot be on a slow port from beginning
 * to end: it changes from contributions to finals, and crosses one loop at the pace of the
 * healthy ones. All with what a message costs its ports beside. */
double cs_optcc_even_s(const cs_optcc_lengths *lengths, const cs_optcc_shape *shape);

/* The exact time of one copy on the alpha-beta model, message by message (apart from the rounding
 * of sections to bytes), or NAN where that is more than CS_OPTCC_MAX_MARCH messages, where H or m
 * are too large, and where something lies beyond the ports. O(messages). */
uint64_t cs_optcc_messages(const cs_optcc_shape *shape);
enum { CS_OPTCC_MAX_MARCH = 1 << 16 };
double cs_optcc_march_s(const cs_optcc_lengths *lengths, const cs_optcc_shape *shape);

#endif
