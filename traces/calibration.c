/* SPDX-License-Identifier: GPL-3.0-or-later */
/* traces/calibration.c -- see calibration.h.
 *
 * Steps of the cost models, S being the size column of nccl-tests, n the ranks:
 *   ring AllReduce                2 (n - 1) (alpha + S / n beta)
 *   ring AllGather, ReduceScatter,
 *   pairwise AlltoAll               (n - 1) (alpha + S / n beta)   (S = all n blocks)
 */
#include "traces/calibration.h"

#include "base/alloc.h"

#include <stdio.h>

void cs_calibration_free(cs_calibration *calibration)
{
    if (calibration != NULL) {
        cs_free(calibration->logs);
        cs_free(calibration);
    }
}

void cs_calibration_bytes_text(uint64_t bytes, char text[32])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    size_t                   unit    = 0;

    while (unit < 4 && bytes >= 1024 && bytes % 1024 == 0) {
        bytes /= 1024;
        unit++;
    }
    snprintf(text, 32, "%llu %s", (unsigned long long)bytes, units[unit]);
}

cs_status cs_calibration_steps(cs_collective collective, uint32_t n_ranks, double *steps_p,
                               double *wire_ratio_p, cs_error *err)
{
    double n = (double)n_ranks;

    if (collective != CS_ALLREDUCE && collective != CS_ALLGATHER &&
        collective != CS_REDUCESCATTER && collective != CS_ALLTOALL) {
        return CS_FAIL(err, CS_ENOTSUP, "collective",
                       "%s has no port parameters (its depth is unknown), accepted: allreduce, "
                       "allgather, reducescatter, alltoall",
                       cs_collective_name(collective));
    }
    if (n_ranks < 2) {
        return CS_FAIL(err, CS_ENOTSUP, "ranks", "%u, accepted: 2 or more", n_ranks);
    }
    *steps_p      = collective == CS_ALLREDUCE ? 2 * (n - 1) : n - 1;
    *wire_ratio_p = 1 / n;
    return CS_OK;
}

/* The regime for one operation, or a refusal that says what is accepted. */
static cs_status find_regime(const cs_calibration *c, cs_collective collective, uint32_t n_ranks,
                             uint64_t bytes, cs_regime *regime_p, cs_error *err)
{
    const cs_regime *first = &c->regimes[0];
    const cs_regime *last  = &c->regimes[c->n_regimes - 1];
    char             asked[32], low[32], high[32];

    if (collective != c->collective) {
        return CS_FAIL(err, CS_ENOTSUP, "collective", "not calibrated here: %s; accepted: %s",
                       cs_collective_name(collective), cs_collective_name(c->collective));
    }
    if (n_ranks != c->n_ranks && !c->extrapolate) {
        return CS_FAIL(err, CS_ENOTSUP, "ranks",
                       "not calibrated here: %u ranks; accepted: %u, the number measured, or "
                       "extrapolation allowed in the calibration",
                       n_ranks, c->n_ranks);
    }
    if (bytes < first->min_bytes || bytes > last->max_bytes) {
        cs_calibration_bytes_text(bytes, asked);
        cs_calibration_bytes_text(first->min_bytes, low);
        cs_calibration_bytes_text(last->max_bytes, high);
        return CS_FAIL(err, CS_ENOTSUP, "bytes", "not calibrated here: %s; accepted: %s .. %s",
                       asked, low, high);
    }
    while (bytes > first->max_bytes) {
        first++;
    }
    *regime_p = *first;
    return CS_OK;
}

cs_status cs_calibration_apply(const cs_calibration *calibration, cs_collective collective,
                               uint32_t n_ranks, uint64_t bytes, double *alpha_s_p,
                               double *bandwidth_Bps_p, cs_error *err)
{
    cs_regime regime = {0};
    cs_status status = find_regime(calibration, collective, n_ranks, bytes, &regime, err);

    if (status == CS_OK) {
        *alpha_s_p       = regime.alpha_s;
        *bandwidth_Bps_p = regime.bandwidth_Bps;
    }
    return status;
}

cs_status cs_calibration_predict(const cs_calibration *calibration, cs_collective collective,
                                 uint32_t n_ranks, uint64_t bytes, double *time_s_p, cs_error *err)
{
    cs_regime regime = {0};
    double    steps = 0, wire_ratio = 0;
    cs_status status = find_regime(calibration, collective, n_ranks, bytes, &regime, err);

    if (status == CS_OK && n_ranks == calibration->n_ranks) {
        *time_s_p = cs_line_at(&regime.line, bytes);
        return CS_OK;
    }
    if (status == CS_OK) {
        status = cs_calibration_steps(collective, n_ranks, &steps, &wire_ratio, err);
    }
    if (status == CS_OK) {
        *time_s_p = steps * (regime.alpha_s + wire_ratio * (double)bytes / regime.bandwidth_Bps);
    }
    return status;
}
