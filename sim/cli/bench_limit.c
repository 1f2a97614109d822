/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A stored ring in plain C: see bench_limit.h. */
#include "cli/bench_limit.h"

#include "base/alloc.h"

typedef struct step {
    uint32_t src, dst;
    uint32_t from, to; /* ready times that it reads and writes */
    double   bytes;
} step;

struct cs_bench_limit {
    uint32_t n;
    uint64_t count;
    step    *steps;
    double  *tx, *rx, *ready;
};

cs_bench_limit *cs_bench_limit_open(uint32_t n_ranks)
{
    cs_bench_limit *l = CS_NEW(cs_bench_limit, 1);
    uint32_t        n = n_ranks;

    if (l == NULL) {
        return NULL;
    }
    l->n     = n;
    l->count = (uint64_t)2 * (n - 1) * n;
    l->steps = CS_NEW(step, l->count);
    l->tx    = CS_NEW(double, n);
    l->rx    = CS_NEW(double, n);
    l->ready = CS_NEW(double, 2 * (size_t)n);
    if (l->steps == NULL || l->tx == NULL || l->rx == NULL || l->ready == NULL) {
        cs_bench_limit_close(l);
        return NULL;
    }
    for (uint64_t i = 0; i < l->count; i++) {
        uint32_t src = (uint32_t)(i % n), dst = (src + 1) % n, turn = (uint32_t)(i / n) & 1u;
        l->steps[i] = (step){src, dst, 2 * src + turn, 2 * dst + (turn ^ 1u), 1073741824.0 / n};
    }
    return l;
}

double cs_bench_limit_run(cs_bench_limit *limit)
{
    const double alpha = 3e-6, pace = 1 / 450e9;
    double      *tx = limit->tx, *rx = limit->rx, *ready = limit->ready, last = 0;

    for (size_t r = 0; r < limit->n; r++) {
        tx[r] = rx[r] = ready[2 * r] = ready[2 * r + 1] = 0;
    }
    for (uint64_t i = 0; i < limit->count; i++) {
        const step *s     = &limit->steps[i];
        double      start = tx[s->src] > rx[s->dst] ? tx[s->src] : rx[s->dst];
        start             = start > ready[s->from] ? start : ready[s->from];
        double end        = start + alpha + s->bytes * pace;
        tx[s->src]        = end;
        rx[s->dst]        = end;
        ready[s->to]      = end;
    }
    for (uint32_t r = 0; r < limit->n; r++) {
        last = rx[r] > last ? rx[r] : last;
    }
    return last;
}

uint64_t cs_bench_limit_transfers(const cs_bench_limit *limit)
{
    return limit->count;
}

void cs_bench_limit_close(cs_bench_limit *limit)
{
    if (limit != NULL) {
        cs_free(limit->steps);
        cs_free(limit->tx);
        cs_free(limit->rx);
        cs_free(limit->ready);
        cs_free(limit);
    }
}
