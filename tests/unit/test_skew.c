/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Statistics of arrivals against numbers worked out by hand. */
#include "base/alloc.h"
#include "base/random.h"
#include "base/text.h"
#include "traces/skew.h"
#include "traces/skew_text.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Four calls of three ranks: rank 2, 2, 1 and (a tie of all) 2 are last. */
static double arrivals[] = {0, 1, 4, 1, 0, 3, 0, 2, 1, 0, 0, 0};
static double inside[]   = {5, 4, 1, 4, 5, 2, 3, 1, 2, 1, 1, 2};

static const cs_arrival_trace trace = {
    .n_ranks = 3, .n_calls = 4, .arrival_s = arrivals, .inside_s = inside};

Test(skew, ranks_and_straggler)
{
    cs_skew skew = {0};

    cr_assert_eq(cs_skew_compute(&trace, &skew, NULL), CS_OK);
    cr_assert_eq(skew.straggler, 2);
    cr_assert_eq(skew.ranks[0].n_last, 0);
    cr_assert_eq(skew.ranks[1].n_last, 1);
    cr_assert_eq(skew.ranks[2].n_last, 3);
    cr_assert_float_eq(skew.last_ratio, 0.75, 1e-15);
    cr_assert_float_eq(skew.repeat_ratio, 1.0 / 3, 1e-15);
    cr_assert_float_eq(skew.ranks[2].arrival_s.mean.value, 2, 1e-15);
    cr_assert_float_eq(skew.ranks[2].arrival_s.p50.value, 2, 1e-15);
    cr_assert_float_eq(skew.ranks[2].arrival_s.p95.value, 3 + 0.85, 1e-15);
    cr_assert_float_eq(skew.ranks[2].arrival_s.max, 4, 1e-15);
    cr_assert_float_eq(skew.ranks[0].wait_mean_s, (4 + 2 + 2 + 0) / 4.0, 1e-15);
    cr_assert_float_eq(skew.ranks[2].wait_mean_s, (0 + 0 + 1 + 0) / 4.0, 1e-15);
    cs_skew_free(&skew);
}

Test(skew, delays)
{
    cs_skew skew = {0};

    cr_assert_eq(cs_skew_compute(&trace, &skew, NULL), CS_OK);
    /* 3, 2, 1, 0 */
    cr_assert_float_eq(skew.delay_s.mean.value, 1.5, 1e-15);
    cr_assert_float_eq(skew.delays_s[0], 0, 0);
    cr_assert_float_eq(skew.delays_s[3], 3, 0);
    /* of rank 2: 3, 2, -1, 0 */
    cr_assert_float_eq(skew.straggler_delay_s.mean.value, 1, 1e-15);
    cr_assert_float_eq(skew.straggler_delay_s.min, -1, 1e-15);
    /* 4, 3, 2, 0 */
    cr_assert_float_eq(skew.spread_s.mean.value, 2.25, 1e-15);
    /* 1, 2, 1, 1; ends 5 5 5 | 5 5 5 | 3 3 3 | 1 1 2 */
    cr_assert_float_eq(skew.zero_wait_s.mean.value, 1.25, 1e-15);
    cr_assert_float_eq(skew.end_spread_s, 1, 1e-15);
    cs_skew_free(&skew);
}

Test(skew, one_call_without_times_inside)
{
    const cs_arrival_trace one  = {.n_ranks = 2, .n_calls = 1, .arrival_s = (double[]){0, 3}};
    cs_skew                skew = {0};

    cr_assert_eq(cs_skew_compute(&one, &skew, NULL), CS_OK);
    cr_assert(isnan(skew.repeat_ratio));
    cr_assert(isnan(skew.zero_wait_s.mean.value) && isnan(skew.end_spread_s));
    cr_assert_float_eq(skew.delay_s.p99.value, 3, 0);
    cs_skew_free(&skew);
}

Test(skew, texts)
{
    cs_arrival_notes notes = {.format = "test", .period_s = (double)NAN, .n_warmup = 2};
    cs_skew          skew  = {0};
    cs_text          text  = {0};

    cr_assert_eq(cs_skew_compute(&trace, &skew, NULL), CS_OK);
    cs_skew_table(&trace, &skew, &notes, &text);
    cr_expect(strstr(text.data, "test: 4 calls of 3 ranks\nleft out as warm-up: 2\n") != NULL);
    cr_expect(strstr(text.data, "rank 2 is last in 75.0 % of the calls; the last rank is that of "
                                "the call before in 33.3 %") != NULL);
    cr_expect(strstr(text.data, "not late so often that it is more than chance\n") != NULL);
    cs_text_free(&text);
    cs_skew_csv(&trace, &skew, &text);
    cr_expect(strstr(text.data, ",4,0.25,3,0.75,true,") != NULL, "%s", text.data);
    cs_text_free(&text);
    cs_skew_json(&trace, &skew, &notes, &text);
    cr_expect(strstr(text.data, "\"straggler\": 2, \"last_ratio\": 0.75") != NULL);
    cr_expect(strstr(text.data, "{\"ratio\": 0.5, \"delay_s\": 1.5}") != NULL);
    cs_text_free(&text);
    cs_skew_free(&skew);
}

/* Ends that differ by rounding are equal; ends that nobody measured are not spoken of. */
Test(skew, ends_are_as_fine_as_the_times_of_the_trace)
{
    static double          late[] = {0, 3e-6}, within[] = {8.3e-6, 5.3e-6 + 1.7e-21};
    const cs_arrival_trace same = {
        .n_ranks = 2, .n_calls = 1, .arrival_s = late, .inside_s = within};
    const struct {
        double      resolution_s, inside_s;
        const char *words, *json;
    } cases[] = {
        {0.2e-6, 5.3e-6 + 1e-19,
         "ranks leave a call together, as finely as its times are given (0.2 us)\n",
         "\"end_spread_s\": 0, \"end_resolution_s\": 2e-07"},
        {1e-19, 5.3e-6 + 1e-19, "ranks leave a call together\n", "\"end_spread_s\": 0,"},
        {0.2e-6, 5.6e-6, "ranks leave a call within 0.3 us of each other\n",
         "\"end_resolution_s\": 2e-07"},
        {(double)NAN, 5.6e-6, NULL, "\"end_spread_s\": null, \"end_resolution_s\": null"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cs_arrival_notes notes = {
            .format = "test", .period_s = (double)NAN, .end_resolution_s = cases[i].resolution_s};
        cs_skew skew  = {0};
        cs_text table = {0}, json = {0};

        within[1] = cases[i].inside_s;
        cr_assert_eq(cs_skew_compute(&same, &skew, NULL), CS_OK);
        cs_skew_table(&same, &skew, &notes, &table);
        cs_skew_json(&same, &skew, &notes, &json);
        cr_expect(cases[i].words != NULL ? strstr(table.data, cases[i].words) != NULL
                                         : strstr(table.data, "ranks leave") == NULL,
                  "%zu: %s", i, table.data);
        cr_expect(strstr(json.data, cases[i].json) != NULL, "%zu: %s", i, json.data);
        cs_text_free(&table);
        cs_text_free(&json);
        cs_skew_free(&skew);
    }
}

/* A note is handed on in full, however long. */
Test(skew, long_notes)
{
    cs_arrival_notes notes = {.format = "test"};
    cs_text          text  = {0};

    for (int i = 0; i < 100; i++) {
        cs_text_add(&notes.text, "\xc3\xa4 word, ");
    }
    cs_text_add(&notes.text, "the end\nmore\n");
    cs_arrival_notes_json(&notes, &text);
    cr_expect(strstr(text.data, "\xc3\xa4 word, the end\", \"more\"]") != NULL, "%s", text.data);
    cs_text_free(&text);
    cs_arrival_notes_free(&notes);
}

/* A table has 64 ranks: those that are last in the most calls, of several the lower ones. */
Test(skew, a_table_has_the_ranks_that_matter)
{
    enum { MANY = 200, FREQUENT = 150, OTHER = 199 };
    static double          late[3][MANY];
    const cs_arrival_trace many  = {.n_ranks = MANY, .n_calls = 3, .arrival_s = late[0]};
    cs_arrival_notes       notes = {.format = "test", .period_s = (double)NAN};
    cs_skew                skew  = {0};
    cs_text                text  = {0};
    uint32_t               rows  = 0;

    late[0][FREQUENT] = late[2][FREQUENT] = 1;
    late[1][OTHER]                        = 1;
    cr_assert_eq(cs_skew_compute(&many, &skew, NULL), CS_OK);
    cs_skew_table(&many, &skew, &notes, &text);
    for (uint32_t r = 0; r < MANY; r++) {
        char row[16];
        (void)snprintf(row, sizeof row, "\n%6u ", r);
        bool is_there = strstr(text.data, row) != NULL;
        rows += is_there;
        cr_expect_eq(is_there, r < 62 || r == FREQUENT || r == OTHER, "rank %u", r);
    }
    cr_expect_eq(rows, 64);
    cr_expect(strstr(text.data, "... and 136 more") != NULL);
    cs_text_free(&text);
    cs_skew_free(&skew);
}

enum { RANKS = 64, CALLS = 100 };

/* Arrivals with a long tail: log-normal, as those of real hosts are. */
static double tail(uint64_t a, uint64_t b)
{
    double sum = -6;

    for (uint64_t i = 0; i < 12; i++) {
        sum += (double)(cs_mix64(cs_mix64(a * 4096 + b) + i) >> 11) * 0x1p-53;
    }
    return 1e-4 * exp(sum);
}

/* Ranks whose arrivals have a long tail are each late now and then: by chance, which is no cause.
 */
Test(skew, chance_is_no_cause)
{
    static double    arrival_s[CALLS * RANKS], queued_s[CALLS * RANKS], inside_s[CALLS * RANKS];
    cs_arrival_trace t = {.arrival_s = arrival_s,
                          .queued_s  = queued_s,
                          .inside_s  = inside_s,
                          .has_ends  = true,
                          .n_calls   = CALLS};

    for (uint64_t seed = 0; seed < 40; seed++) {
        cs_skew skew = {0};
        t.n_ranks    = seed % 2 == 0 ? RANKS : 8;
        t.n_calls    = seed % 4 < 2 ? CALLS : 40;
        for (size_t i = 0; i < t.n_calls * t.n_ranks; i++) {
            arrival_s[i] = tail(seed, i);
            queued_s[i]  = 1e-5;
            inside_s[i]  = 1 - arrival_s[i] + tail(seed + 1000, i) * 1e-2;
        }
        cr_assert_eq(cs_skew_compute(&t, &skew, NULL), CS_OK);
        for (uint32_t r = 0; r < t.n_ranks; r++) {
            cr_expect_eq(skew.ranks[r].cause, CS_LATE_NOT, "%u: rank %u is late in %zu",
                         (unsigned)seed, r, t.n_calls - skew.ranks[r].n_late[CS_LATE_NOT]);
        }
        cs_skew_free(&skew);
    }
}

/* A rank that is very late now and then is the straggler, not the one that happens to be last most
 * often. */
Test(skew, late_now_and_then)
{
    static const cs_late_cause causes[] = {CS_LATE_HOST, CS_LATE_GPU, CS_LATE_NETWORK};
    static double              arrival_s[CALLS * 16], queued_s[CALLS * 16], inside_s[CALLS * 16];
    cs_arrival_trace           t = {.arrival_s = arrival_s,
                                    .queued_s  = queued_s,
                                    .inside_s  = inside_s,
                                    .has_ends  = true,
                                    .n_calls   = CALLS,
                                    .n_ranks   = 16};

    for (uint32_t seed = 0; seed < 30; seed++) {
        cs_skew       skew  = {0};
        uint32_t      who   = seed % 16;
        cs_late_cause cause = causes[seed % 3];
        for (size_t i = 0; i < (size_t)CALLS * 16; i++) {
            double late_s = i % 16 == who && i / 16 % 10 == 9 ? 5e-3 : 0;
            arrival_s[i]  = tail(seed, i) + (cause == CS_LATE_NETWORK ? 0 : late_s);
            queued_s[i]   = 1e-5 + (cause == CS_LATE_GPU ? late_s : 0);
            inside_s[i]   = 1 - arrival_s[i] + tail(seed + 1000, i) * 1e-2;
            inside_s[i] += cause == CS_LATE_NETWORK ? late_s / 10 : 0;
        }
        cr_assert_eq(cs_skew_compute(&t, &skew, NULL), CS_OK);
        cr_expect_eq(skew.straggler, who, "%u: rank %u", seed, skew.straggler);
        cr_expect_eq(skew.ranks[who].cause, cause, "%u: %d", seed, (int)skew.ranks[who].cause);
        cs_skew_free(&skew);
    }
}

/* When hosts make calls is known more coarsely than the lateness: then the cause is not known. */
Test(skew, coarse_times_of_calls_tell_no_cause)
{
    static double    arrival_s[CALLS * 8], queued_s[CALLS * 8];
    cs_arrival_trace t = {
        .arrival_s = arrival_s, .queued_s = queued_s, .n_calls = CALLS, .n_ranks = 8};

    for (uint32_t i = 0; i < 4; i++) {
        cs_skew skew    = {0};
        double  poll_s  = i < 2 ? 0.1 : 1e-3; /* a watchdog looks that seldom */
        double  delay_s = 2e-2;
        for (size_t k = 0; k < (size_t)CALLS * 8; k++) {
            bool is_late = k % 8 == 3;
            arrival_s[k] = tail(i, k) + (is_late ? delay_s : 0);
            queued_s[k]  = poll_s * (double)(cs_mix64(k) % 1000) * 1e-3;
            queued_s[k] += is_late && i % 2 == 0 ? delay_s : 0;
        }
        cr_assert_eq(cs_skew_compute(&t, &skew, NULL), CS_OK);
        cr_expect_eq(skew.straggler, 3);
        cr_expect_eq(skew.ranks[3].cause,
                     i < 2    ? CS_LATE_UNKNOWN
                     : i == 2 ? CS_LATE_GPU
                              : CS_LATE_HOST,
                     "%u: %d", i, (int)skew.ranks[3].cause);
        cs_skew_free(&skew);
    }
}

Test(skew, out_of_memory)
{
    cs_skew skew = {0};

    for (long passes = 0; passes < 6; passes++) {
        cs_error err = {0};
        cs_alloc_fail_after(passes);
        cs_status status = cs_skew_compute(&trace, &skew, &err);
        cs_alloc_fail_after(-1);
        cr_assert_eq(status, CS_ENOMEM);
        cr_assert_null(skew.ranks);
    }
}
