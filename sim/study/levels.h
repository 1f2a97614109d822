/* SPDX-License-Identifier: GPL-3.0-or-later */
/* study/levels.h -- alpha and bandwidth of NVLink and of the NICs, each from measurements of its
 * own, for clusters of any number of such servers.
 *
 * Every row of a log becomes the time of one message over the fabric: of a link's test it is that;
 * of a collective it is the time with which a replay of the schedule that is taken for what ran
 * takes as long as the row says (study/level_messages.h), NVLink being known when the NICs are
 * looked for. The messages of all logs of a level are fitted together (traces/fit.h): regimes are
 * those of the size of a message, so that they hold for other numbers of servers, where a ring's
 * messages are smaller. A schedule can be taken for what ran if its messages over a fabric are
 * equal.
 *
 * Left out: that NCCL may run another schedule on other numbers of servers; what the network
 * between the servers does to many of them. See sim/doc/calibration.md.
 */
#ifndef CS_STUDY_LEVELS_H
#define CS_STUDY_LEVELS_H

#include "cs/job.h"
#include "traces/calibration.h"

typedef struct cs_levels_options {
    cs_calibrate_options calibrate; /* extrapolate is not used */
    uint32_t    gpus_per_server;    /* 0: as the Rank lines say, or the ranks of NVLink's log */
    const char *schedule;           /* that is taken for what ran; NULL: nccl_rings, or ring
                                       where a server has one GPU */
    bool   has_alpha[CS_LEVELS];    /* alpha_s is given */
    double alpha_s[CS_LEVELS];      /* of messages, where the logs have rates alone */
} cs_levels_options;

/* The files of one level. */
typedef struct cs_levels_files {
    const char *const *paths;
    size_t             n;
} cs_levels_files;

/* Read and fit the logs of both levels; either may have none. `files[CS_NIC]` are of several
 * servers, `files[CS_NVLINK]` of one; where those are not given, `any` are either, by their number
 * of ranks. On CS_OK *calibration_p is the caller's (cs_calibration_free). O(rows) replays for
 * either level, and a fit for each log that is left out. */
CS_MUST_CHECK cs_status cs_levels_calibrate(const cs_levels_files    files[CS_LEVELS],
                                            const cs_levels_files   *any,
                                            const cs_levels_options *options,
                                            cs_calibration **calibration_p, cs_error *err);

/* Which end of what the ports may be. */
typedef enum cs_levels_end { CS_LEVELS_MIDDLE, CS_LEVELS_FAST, CS_LEVELS_SLOW } cs_levels_end;

/* Put the ports into fabrics[CS_NIC] and fabrics[CS_NVLINK], as far as the scenario uses them. An
 * end is that of the largest error of a size that was held out of the regime; of the confidence
 * intervals where none was. CS_ENOTSUP, with what is accepted, for other collectives, for servers
 * with another number of GPUs and for messages outside of what was measured; those over NVLink take
 * the outer regime where NICs are in use, too. O(ranks). */
CS_MUST_CHECK cs_status cs_levels_ports(const cs_calibration *calibration,
                                        const cs_scenario *scenario, cs_levels_end end,
                                        cs_fabric fabrics[CS_FABRICS], cs_error *err);

/* The size of the messages over the NICs, and their regime. */
CS_MUST_CHECK cs_status cs_levels_nics(const cs_calibration *calibration,
                                       const cs_scenario *scenario, uint64_t *message_bytes_p,
                                       cs_regime *regime_p, cs_error *err);

/* The time of the schedule on so many servers, and between what it may lie: what both levels' ends
 * make of it, and the largest error of a log that was left out. */
CS_MUST_CHECK cs_status cs_levels_time(const cs_calibration *calibration, cs_collective collective,
                                       uint32_t n_servers, uint64_t bytes, cs_estimate *time_s_p,
                                       cs_error *err);

#endif
