/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Clocks that are off and drift, set by the ends of calls: planted ones are found, whatever is lost
 * and whoever always leaves late. */
#include "base/alloc.h"
#include "base/random.h"
#include "traces/host_clocks.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { CALLS = 400, RANKS = 12, HOSTS = 5 };

/* Host 4 has no rank. */
static const double offsets[HOSTS] = {0, -1800, 0.25, 7, 0}, drifts[HOSTS] = {0, 4e-5, -2e-5, 0, 0};

static double draw(uint64_t a, uint64_t b)
{
    return (double)(cs_mix64(cs_mix64(a) + b) >> 11) * 0x1p-53;
}

/* Ends that are 10 us apart, of which 10 % are lost; `slow` leaves a second late. */
static void write_ends(uint32_t host[RANKS], double *end_s, uint32_t slow)
{
    for (uint32_t r = 0; r < RANKS; r++) {
        host[r] = r / 3;
    }
    for (uint64_t k = 0; k < CALLS; k++) {
        for (uint32_t r = 0; r < RANKS; r++) {
            double at_s          = 0.3 * (double)k + 1e-5 * draw(k, r) + (r == slow);
            at_s                 = (at_s + offsets[host[r]]) / (1 - drifts[host[r]]);
            end_s[k * RANKS + r] = draw(r, k + 77) < 0.1 ? (double)NAN : at_s;
        }
    }
}

Test(host_clocks, planted_clocks_are_found)
{
    static double end_s[CALLS * RANKS];
    uint32_t      host[RANKS];

    for (uint32_t slow = 0; slow <= RANKS; slow += 4) { /* the last one: nobody */
        cs_host_clocks     clocks = {0};
        const cs_call_ends ends   = {CALLS, RANKS, host, end_s};
        write_ends(host, end_s, slow);
        cr_assert_eq(cs_host_clocks_set(&ends, HOSTS, 1e-9, &clocks, NULL), CS_OK);
        for (uint32_t h = 0; h < 4; h++) {
            double reading_s = (60 + offsets[h]) / (1 - drifts[h]);
            cr_expect_float_eq(cs_host_clocks_read(&clocks, h, reading_s), 60, 1e-5, "host %u: %g",
                               h, cs_host_clocks_read(&clocks, h, reading_s) - 60);
            cr_expect_float_eq(clocks.drift[h], drifts[h], 1e-6);
        }
        cr_expect(isnan(clocks.offset_s[4]));
        cr_expect(clocks.error_s > 2e-6 && clocks.error_s < 2e-5, "%g", clocks.error_s);
        cs_host_clocks_free(&clocks);
    }
}

Test(host_clocks, notes_name_who_has_ranks)
{
    static double      end_s[CALLS * RANKS];
    static char        a[] = "a", b[] = "b", c[] = "c", d[] = "d", e[] = "e";
    char              *names[HOSTS] = {a, b, c, d, e};
    uint32_t           host[RANKS];
    cs_host_clocks     clocks = {0};
    const cs_call_ends ends   = {CALLS, RANKS, host, end_s};
    cs_text            text   = {0};

    write_ends(host, end_s, RANKS);
    cr_assert_eq(cs_host_clocks_set(&ends, HOSTS, 1e-9, &clocks, NULL), CS_OK);
    cs_host_clocks_note(&clocks, names, 2, &text);
    cr_expect_not_null(strstr(text.data, "clock of b: 1800 s behind a, 40 ppm fast"), "%s",
                       text.data);
    cr_expect_not_null(strstr(text.data, "clock of c: "));
    cr_expect_null(strstr(text.data, "clock of d: "), "two were asked for");
    cs_text_free(&text);
    cs_host_clocks_note(&clocks, names, HOSTS, &text);
    cr_expect_not_null(strstr(text.data, "clock of d: "));
    cr_expect_null(strstr(text.data, "clock of e: "), "nobody is there");
    cs_text_free(&text);
    cs_host_clocks_free(&clocks);
}

Test(host_clocks, no_error_is_below_the_resolution)
{
    const double       end_s[] = {1, 1, 2, 2, 3, 3};
    const uint32_t     host[]  = {0, 1};
    const cs_call_ends ends    = {3, 2, host, end_s};
    cs_host_clocks     clocks  = {0};

    cr_assert_eq(cs_host_clocks_set(&ends, 2, 1e-6, &clocks, NULL), CS_OK);
    cr_expect_eq(clocks.error_s, 1e-6);
    cr_expect_eq(clocks.offset_s[1], 0);
    cs_host_clocks_free(&clocks);
}

Test(host_clocks, survives_every_failing_allocation)
{
    static double      end_s[CALLS * RANKS];
    uint32_t           host[RANKS];
    const cs_call_ends ends   = {CALLS, RANKS, host, end_s};
    cs_status          status = CS_ENOMEM;

    write_ends(host, end_s, 0);
    for (long passes = 0; status != CS_OK; passes++) {
        cs_host_clocks clocks = {0};
        cs_alloc_fail_after(passes);
        status = cs_host_clocks_set(&ends, HOSTS, 1e-9, &clocks, NULL);
        cs_alloc_fail_after(-1);
        cr_assert(status == CS_OK || (status == CS_ENOMEM && clocks.offset_s == NULL));
        cr_assert(passes < 100);
        cs_host_clocks_free(&clocks);
    }
}
