/* SPDX-License-Identifier: GPL-3.0-or-later */
/* output/comparison.h -- which schedule should run: the algorithms side by side, one row per
 * setting and size, with the lower bound and the best of them. */
#ifndef CS_OUTPUT_COMPARISON_H
#define CS_OUTPUT_COMPARISON_H

#include "base/text.h"
#include "cs/result.h"

enum { CS_SETTING_BYTES = 256 };

/* The kind of a topology and what its links carry: "leaf-spine of 12.5 to 50 GB/s". O(links). */
void cs_setting_topology(const cs_topology *topology, char *text, size_t text_bytes);

/* The ports that are used, the topology, who is late and what is broken, in a few words: "nic 3 us,
 * 450 GB/s, leaf-spine of 50 GB/s, late 7 by 2000 us, slow 0 by 2 from 1000 us". What does not fit
 * is cut. */
void cs_setting_text(const cs_scenario *scenario, char *text, size_t text_bytes);

/* Servers that differ in rates or numbers of GPUs, a line with `before` in front for those that
 * follow each other and are alike: "servers 0-3: 4 GPUs, nic 12.5 GB/s, nvlink 100 GB/s". Nothing
 * where all are alike; after CS_MOST_LISTED lines the rest is "others". */
enum { CS_MOST_LISTED = 16 };
void cs_setting_servers(const cs_cluster *cluster, const char *before, cs_text *text);

/* A number that is the same for scenarios that differ in nothing but the algorithm: arrivals,
 * faults, cluster, collective, size and the options of the model. */
uint64_t cs_setting_key(const cs_scenario *scenario, const cs_result *result);

/* Have two scenarios of as many ranks the same arrivals, faults and topology? */
bool cs_same_conditions(const cs_scenario *a, const cs_scenario *b);

/* A delay in microseconds, "never" where it is infinite, or "-" where it is not known. */
enum { CS_DELAY_TEXT_BYTES = 32 };
void cs_delay_text(double delay_s, char text[CS_DELAY_TEXT_BYTES]);

/* One result that is compared. */
typedef struct cs_compared {
    const cs_result *result; /* borrowed */
    char             setting[CS_SETTING_BYTES];
    uint64_t         key;
    double           paced_s; /* exposed with CS_PACED_GAP_S; NAN: as without it, or not known */
} cs_compared;

/* Of the names, the algorithm that runs if nobody chooses: nccl, nccl_rings or ring, the first of
 * them that is there; NULL: none. */
const char *cs_reference_algorithm(const char *const *names, size_t n);

/* A message that leaves with others on one alpha is not for nothing: about what an RDMA NIC or a
 * GPU takes from one to the next (the papers' formulas: 0). */
#define CS_PACED_GAP_S 0.2e-6

/* Which of them are the fastest of their rows? `is_best` has room for `n`. O(n). */
CS_MUST_CHECK cs_status cs_compared_best(const cs_compared *rows, size_t n, bool *is_best,
                                         cs_error *err);

/* How the table looks. */
typedef struct cs_comparison_look {
    bool is_all;     /* it is all that is printed: also with one algorithm */
    bool has_colour; /* the best is marked for a terminal */
} cs_comparison_look;

/* Add the comparison of `n` results as `#` lines (nccl-tests' parsers skip them). Nothing is added
 * when there is only one algorithm, unless the look says so. Results are compared when their keys
 * agree; of several results of one algorithm (its options differ) the fastest counts. The best is
 * marked with another one that is faster where `paced_s` of the best counts. Behind it stand its
 * gap, and its exposed time against that of the reference: nccl, nccl_rings or ring, the first of
 * them that is there. Of algorithms that presume a rank late the critical delay stands behind the
 * bound, where it is known. Columns that do not fit in 120 characters stand below each other, and a
 * setting of all rows below them. O(n x algorithms). */
CS_MUST_CHECK cs_status cs_comparison(cs_text *text, const cs_compared *rows, size_t n,
                                      const cs_comparison_look *look, cs_error *err);

#endif
