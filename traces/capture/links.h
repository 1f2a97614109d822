/* SPDX-License-Identifier: GPL-3.0-or-later */
/* capture/links.h -- alpha and beta of every link, from messages that one pair of ranks sends at a
 * time.
 *
 * The pairs meet as in a tournament (circle method): in every round each rank has at most one
 * partner, so that no two pairs share a port. In a meeting either rank sends messages of several
 * sizes, each answered by an empty one; the sender notes the round trip on its own clock.
 * What a message takes one way is its round trip less half of an empty one. So the two directions
 * of a pair are told apart, which a ping-pong of equal sizes cannot do, and no clocks are compared.
 *
 *   alpha   half of the shortest empty round trip, whoever began it: the same both ways
 *   beta    slope by least squares through the shortest times of the sizes >= CAP_SLOPE_FROM_BYTES
 *
 * alpha is not the intercept of that line: behind a token bucket (or where small messages take
 * another protocol) the intercept is no latency, and can be negative; it is kept beside alpha.
 */
#ifndef CAPTURE_LINKS_H
#define CAPTURE_LINKS_H

#include "base/text.h"

#include <stdint.h>

#define CAP_SLOPE_FROM_BYTES 65536
/* A link is slow where its rate is less than the median's by this factor. */
#define CAP_SLOW_RATIO 1.25

/* Rounds until each of n ranks has met every other; 0 for n = 1. */
uint32_t cap_tournament_rounds(uint32_t n);
/* Whom rank meets in round; rank itself where it sits out (odd n). Symmetric. O(1). */
uint32_t cap_tournament_partner(uint32_t n, uint32_t round, uint32_t rank);
/* Divides a round into turns: in a turn no host has more ranks at work than capacity[host], but a
 * pair alone is always allowed. host[rank] is less than n, and so is its number in capacity. Writes
 * turn[rank] (that of its meeting; 0 where it sits out) and returns their number. busy is room for
 * n * n counts. O(n * turns). */
uint32_t cap_tournament_turns(uint32_t n, uint32_t round, const uint32_t *host,
                              const uint32_t *capacity, uint32_t *turn, uint32_t *busy);

/* One direction of a pair. */
typedef struct cap_link {
    double alpha_s;
    double beta_s_per_byte; /* <= 0: no slope could be found, the times are noise */
    double intercept_s;
    double fit_error; /* largest |alpha + beta bytes - time| / time over the sizes of the slope */
    bool   same_host;
    double slower; /* median rate of the links of its kind / its own rate; 0 without a slope */
} cap_link;

/* Of n ranks; times are round trips of a message with its empty answer, in seconds. Index of
 * (src, dst): src * n_ranks + dst; the diagonal is unused. All arrays belong to it. */
typedef struct cap_links {
    uint32_t  n_ranks, n_sizes;
    uint64_t *sizes_bytes;          /* rising, from 0 */
    double   *minimum_s, *median_s; /* [(src * n_ranks + dst) * n_sizes + size] */
    uint32_t *host;                 /* number of the host of each rank */
    cap_link *links;
} cap_links;

/* Sizes are copied. CS_ENOMEM: nothing is held. */
cs_status cap_links_create(cap_links *links, uint32_t n_ranks, const uint64_t *sizes_bytes,
                           uint32_t n_sizes, cs_error *err);
void      cap_links_destroy(cap_links *links);

/* Minimum and median of n >= 1 values, which are sorted in place. */
void cap_minimum_median(double *values, size_t n, double *minimum_p, double *median_p);

/* From times and hosts to alpha, beta and who is slow. CS_ENOMEM. */
cs_status cap_links_fit(cap_links *links, cs_error *err);

/* Two matrices, then a line for each rank that sends or receives slowly to or from all of its
 * kind, and each other slow link; "no link is slow" where there is none. */
void cap_links_table(cs_text *text, const cap_links *links);
/* One JSON object, on lines of its own. */
void cap_links_json(cs_text *text, const cap_links *links, const char *machine);

#endif
