/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tests/support/synthesis.h -- AdapCC's syntheses on small clusters. */
#ifndef CT_SUPPORT_SYNTHESIS_H
#define CT_SUPPORT_SYNTHESIS_H

#include "algorithms/adapcc/synthesize.h"

/* Servers of 4 GPUs: fast ones with 12.5 GB/s and NVLinks of 100 GB/s, slow ones with half. Free
 * with cs_logical_free(). */
void ct_logical_servers(cs_logical *l, uint32_t n_fast, uint32_t n_slow);

/* At most 4 trees for 256 MiB from any root, the cost by volume, 1000 moves from seed 1, and for
 * solvers 60 s and 2000 nodes. */
cs_synthesis ct_synthesis(const cs_logical *l, cs_collective collective, cs_synthesizer by);

/* The first, second, third .. allocation fails until it succeeds, which takes fewer than `most`. */
void ct_synthesis_without_memory(const cs_synthesis *q, long most);

#endif
