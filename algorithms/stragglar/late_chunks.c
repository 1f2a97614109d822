/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The number of chunks: see late_chunks.h. All candidates are tried: the main phase alone has its
 * minimum near sqrt((q - 1) x / alpha), but the pre-phase makes steps. */
#include "algorithms/stragglar/late_chunks.h"

#include "algorithms/lib/accept.h"
#include "algorithms/stragglar/late_pre.h"
#include "base/fault.h"

#include <math.h>

/* alpha, and the seconds per byte of the two phases. */
typedef struct pace {
    double alpha_s, pre_s_per_byte, main_s_per_byte;
} pace;

static pace pace_of(const cs_scenario *s, uint32_t late)
{
    const cs_cluster *c          = &s->cluster;
    bool              is_one     = c->gpus_per_server == c->n_ranks;
    const cs_fabric  *f          = &c->fabrics[is_one ? CS_NVLINK : CS_NIC];
    double            slow_early = 1, slow_late = 1;

    for (size_t i = 0; !is_one && cs_faults_constant(s) && i < s->n_faults; i++) {
        double ratio = s->faults[i].slow_ratio;
        if (s->faults[i].rank == late && c->gpus_per_server == 1) {
            slow_late = ratio;
        } else {
            slow_early = fmax(slow_early, ratio);
        }
    }
    return (pace){f->alpha_s, slow_early / f->bandwidth_Bps,
                  fmax(slow_early, slow_late) / f->bandwidth_Bps};
}

uint32_t cs_late_least_chunks(uint32_t n)
{
    return n == 3 ? 2 : cs_log2_ceil(n) + 1;
}

uint32_t cs_late_main_rounds(uint32_t n, uint32_t chunks)
{
    return chunks - 1 + cs_log2_ceil(n);
}

static double end_s(const cs_scenario *s, const cs_late_options *options, const pace *p,
                    uint32_t chunks, uint32_t rounds, cs_prephase prephase)
{
    cs_late_layout layout = cs_late_layout_of(s, options->straggler, chunks, 1, prephase);
    double         bytes = (double)s->bytes / chunks, pre_s = 0;
    bool           is_exact;

    if (layout.early > 1) {
        pre_s = cs_late_pre_s(&layout, bytes, p->alpha_s, p->pre_s_per_byte, &is_exact);
    }
    return cs_late_main_start_s(s, options, pre_s) +
           rounds * (p->alpha_s + bytes * p->main_s_per_byte);
}

double cs_late_end_s(const cs_scenario *scenario, const cs_late_options *options, uint32_t chunks,
                     uint32_t rounds, cs_prephase prephase)
{
    pace p = pace_of(scenario, options->straggler);
    return end_s(scenario, options, &p, chunks, rounds, prephase);
}

/* A time before which no main phase begins: any ReduceScatter of m ranks needs ceil(log2 m)
 * messages and (m - 1)/m of the buffer. */
static double earliest_s(const cs_scenario *s, const cs_late_options *options, const pace *p)
{
    uint32_t early = s->cluster.n_ranks - 1;
    double   most  = (double)s->bytes * (early - 1) / early;

    return cs_late_main_start_s(s, options,
                                cs_log2_ceil(early) * p->alpha_s + most * p->pre_s_per_byte);
}

uint32_t cs_late_best_chunks(const cs_scenario *scenario, const cs_late_options *options,
                             cs_prephase prephase)
{
    uint32_t n = scenario->cluster.n_ranks, best = 1, q = cs_log2_ceil(n);
    pace     p       = pace_of(scenario, options->straggler);
    double   x_s     = (double)scenario->bytes * p.main_s_per_byte;
    double   best_s  = end_s(scenario, options, &p, 1, q, prephase);
    double   first_s = earliest_s(scenario, options, &p);
    double   turning = sqrt((q - 1) * x_s / p.alpha_s); /* from here on the main phase grows */
    uint64_t most    = scenario->bytes;

    most = most < CS_LATE_MOST_AUTO_CHUNKS ? most : CS_LATE_MOST_AUTO_CHUNKS;
    for (uint32_t chunks = cs_late_least_chunks(n); chunks <= most; chunks++) {
        uint32_t rounds = cs_late_main_rounds(n, chunks);
        if (chunks > turning && first_s + rounds * (p.alpha_s + x_s / chunks) >= best_s) {
            break;
        }
        cs_late_layout layout = cs_late_layout_of(scenario, options->straggler, chunks,
                                                  n == 3 ? chunks : q + 2, prephase);
        double         this_s = end_s(scenario, options, &p, chunks, rounds, prephase);
        if (cs_late_layout_check(&layout, NULL) != CS_OK) {
            continue;
        }
        best   = this_s < best_s ? chunks : best;
        best_s = this_s < best_s ? this_s : best_s;
    }
    return best;
}
