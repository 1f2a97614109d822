/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli/bench_limit.h -- what plain C reaches on this machine: the yardstick of `collsim bench`.
 *
 * A ring AllReduce whose transfers are stored in memory beforehand, in port order, with the two
 * port times and the ready time of the data, and nothing else: no generation, no checks, no choice
 * of model. The simulator generates its transfers on the fly instead of loading them.
 */
#ifndef CS_CLI_BENCH_LIMIT_H
#define CS_CLI_BENCH_LIMIT_H

#include <stdint.h>

typedef struct cs_bench_limit cs_bench_limit;

/* The stored schedule of a ring over `n_ranks`; NULL when out of memory. */
cs_bench_limit *cs_bench_limit_open(uint32_t n_ranks);

/* Replay it once; returns the time of the collective in seconds. */
double cs_bench_limit_run(cs_bench_limit *limit);

/* Transfers of one replay. */
uint64_t cs_bench_limit_transfers(const cs_bench_limit *limit);

void cs_bench_limit_close(cs_bench_limit *limit);

#endif
