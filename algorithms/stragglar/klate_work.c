/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Estimates of klate.h's time: see klate_work.h. */
#include "algorithms/stragglar/klate_work.h"

#include "algorithms/stragglar/klate.h"
#include "cs/schedule.h"

double cs_klate_work(uint32_t n, uint32_t early, uint32_t chunks)
{
    double rounds   = cs_klate_fewest(n, early, chunks);
    double searches = (double)n * n * early / 80;
    double scans    = (2.0 * (n - early) + 1) * chunks;

    return rounds * (searches + scans);
}

/* The work grows with the parts, so that halving finds the last number. */
uint32_t cs_klate_most_parts(uint32_t n, uint32_t early)
{
    uint32_t low = 1, high = CS_MAX_SLOTS / early + 1;

    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (cs_klate_work(n, early, early * middle) <= CS_KLATE_MOST_WORK) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}
