/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Splitting a buffer: nothing is lost, nothing enlarged, for any total and any parts. */
#include "base/random.h"
#include "cs/schedule.h"

#include <criterion/criterion.h>

Test(split, parts_sum_to_the_total_and_differ_by_at_most_one)
{
    gsl_rng *stream = cs_random_stream(1, "split");

    cr_assert_not_null(stream);
    for (int round = 0; round < 3000; round++) {
        uint32_t parts = (uint32_t)gsl_rng_uniform_int(stream, 1000) + 1;
        uint64_t total = (uint64_t)gsl_rng_get(stream) << gsl_rng_uniform_int(stream, 20);
        uint64_t sum   = 0;
        total          = round % 4 == 0 ? total % (2 * (uint64_t)parts) : total;
        for (uint32_t i = 0; i < parts; i++) {
            uint64_t part = cs_split(total, parts, i);
            cr_assert(part == total / parts || part == total / parts + 1);
            cr_assert(i == 0 || part <= cs_split(total, parts, i - 1));
            sum += part;
        }
        cr_assert(sum == total);
    }
    gsl_rng_free(stream);
}

Test(split, a_range_is_the_sum_of_its_parts)
{
    for (uint32_t parts = 1; parts <= 12; parts++) {
        for (uint64_t total = 0; total <= 40; total++) {
            for (uint32_t first = 0; first <= parts; first++) {
                uint64_t sum = 0;
                for (uint32_t count = 0; first + count <= parts; count++) {
                    cr_assert(cs_split_range(total, parts, first, count) == sum);
                    sum += first + count < parts ? cs_split(total, parts, first + count) : 0;
                }
            }
        }
    }
}

Test(split, examples)
{
    cr_assert(cs_split(10, 4, 0) == 3);
    cr_assert(cs_split(10, 4, 1) == 3);
    cr_assert(cs_split(10, 4, 2) == 2);
    cr_assert(cs_split(10, 4, 3) == 2);
    cr_assert(cs_split(3, 5, 2) == 1);
    cr_assert(cs_split(3, 5, 3) == 0);
    cr_assert(cs_split_range(UINT64_C(1) << 50, 65536, 65535, 1) == UINT64_C(1) << 34);
}
