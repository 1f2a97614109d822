/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Links: the tournament, and what is found in times of networks that are made up. */
#include "traces/capture/links.h"

#include "base/alloc.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t SIZES[] = {0, 4096, 65536, 262144, 1048576, 2097152};
enum { N_SIZES = sizeof SIZES / sizeof SIZES[0] };

Test(links, everybody_meets_everybody_once_and_nobody_twice_in_a_round)
{
    for (uint32_t n = 1; n <= 33; n++) {
        uint32_t met[33][33] = {{0}};
        for (uint32_t round = 0; round < cap_tournament_rounds(n); round++) {
            uint32_t out = 0;
            for (uint32_t rank = 0; rank < n; rank++) {
                const uint32_t partner = cap_tournament_partner(n, round, rank);
                cr_assert_lt(partner, n);
                cr_assert_eq(cap_tournament_partner(n, round, partner), rank);
                met[rank][partner]++;
                out += partner == rank;
            }
            cr_assert_eq(out, n % 2, "%u of %u ranks sit out", out, n);
        }
        for (uint32_t a = 0; a < n; a++) {
            for (uint32_t b = 0; b < n; b++) {
                cr_assert(a == b || met[a][b] == 1, "n %u: %u met %u %u times", n, a, b, met[a][b]);
            }
        }
    }
}

Test(links, turns_keep_to_what_a_host_can_serve)
{
    enum { N = 12 };
    for (uint32_t n_hosts = 1; n_hosts <= N; n_hosts++) {
        for (uint32_t room = 1; room <= 5; room++) {
            uint32_t host[N], capacity[N], turn[N], busy[N * N];
            for (uint32_t i = 0; i < N; i++) {
                host[i]     = i % n_hosts;
                capacity[i] = room;
            }
            for (uint32_t round = 0; round < cap_tournament_rounds(N); round++) {
                const uint32_t n_turns = cap_tournament_turns(N, round, host, capacity, turn, busy);
                for (uint32_t t = 0; t < n_turns; t++) {
                    uint32_t at_work[N] = {0}, all = 0;
                    for (uint32_t i = 0; i < N; i++) {
                        if (turn[i] == t) {
                            cr_assert_eq(turn[cap_tournament_partner(N, round, i)], t);
                            at_work[host[i]]++;
                            all++;
                        }
                    }
                    cr_assert_gt(all, 0, "a turn of nobody");
                    for (uint32_t h = 0; h < n_hosts; h++) {
                        cr_assert(at_work[h] <= room || at_work[h] <= 2);
                        cr_assert(at_work[h] <= room || room == 1, "two of a host, room for one");
                    }
                }
            }
        }
    }
}

Test(links, a_round_is_one_turn_where_hosts_have_room)
{
    uint32_t host[8] = {0}, capacity[8] = {8}, turn[8], busy[64];

    cr_assert_eq(cap_tournament_turns(8, 3, host, capacity, turn, busy), 1);
    capacity[0] = 2;
    cr_assert_eq(cap_tournament_turns(8, 3, host, capacity, turn, busy), 4);
}

/* A network: alpha, and beta of (src, dst). */
typedef double (*rate_of)(uint32_t src, uint32_t dst);

static cap_links measured(uint32_t n, double alpha_s, double credit_bytes, rate_of rate)
{
    cap_links links;

    cr_assert_eq(cap_links_create(&links, n, SIZES, N_SIZES, NULL), CS_OK);
    for (uint32_t src = 0; src < n; src++) {
        for (uint32_t dst = 0; dst < n; dst++) {
            for (uint32_t size = 0; size < N_SIZES && src != dst; size++) {
                const double bytes = fmax(0, (double)SIZES[size] - credit_bytes);
                const size_t i     = ((size_t)src * n + dst) * N_SIZES + size;
                links.minimum_s[i] = 2 * alpha_s + bytes / rate(src, dst);
                links.median_s[i]  = 1.1 * links.minimum_s[i];
            }
        }
    }
    return links;
}

static char *table_of(const cap_links *links)
{
    cs_text text = {0};

    cap_links_table(&text, links);
    return text.data;
}

static char *json_of(const cap_links *links)
{
    cs_text text = {0};

    cap_links_json(&text, links, "a machine");
    return text.data;
}

static double even(uint32_t src, uint32_t dst)
{
    (void)src;
    (void)dst;
    return 1e9;
}

Test(links, alpha_and_beta_of_a_plain_network)
{
    cap_links links = measured(4, 20e-6, 0, even);

    cr_assert_eq(cap_links_fit(&links, NULL), CS_OK);
    for (uint32_t i = 0; i < 16; i++) {
        if (i / 4 != i % 4) {
            cr_assert_float_eq(links.links[i].alpha_s, 20e-6, 1e-12);
            cr_assert_float_eq(links.links[i].beta_s_per_byte, 1e-9, 1e-15);
            cr_assert_float_eq(links.links[i].slower, 1, 1e-9);
            cr_assert_lt(links.links[i].fit_error, 1e-9);
        }
    }
    char *text = table_of(&links);
    cr_assert(strstr(text, "no link is slow") != NULL, "%s", text);
    cs_free(text);
    cap_links_destroy(&links);
}

Test(links, credit_of_a_token_bucket_does_not_become_alpha)
{
    cap_links links = measured(2, 20e-6, 30000, even);

    cr_assert_eq(cap_links_fit(&links, NULL), CS_OK);
    cr_assert_float_eq(links.links[1].alpha_s, 20e-6, 1e-12);
    cr_assert_float_eq(links.links[1].beta_s_per_byte, 1e-9, 1e-15);
    cr_assert_float_eq(links.links[1].intercept_s, 20e-6 - 30e-6, 1e-11, "less than nothing");
    cap_links_destroy(&links);
}

static double slow_sender(uint32_t src, uint32_t dst)
{
    (void)dst;
    return src == 2 ? 0.5e9 : 1e9;
}

Test(links, rank_that_sends_slowly_is_named_once)
{
    cap_links links = measured(6, 5e-6, 0, slow_sender);

    cr_assert_eq(cap_links_fit(&links, NULL), CS_OK);
    char *text = table_of(&links);
    cr_assert(strstr(text, "rank 2 sends to all ranks of its host at 1/2.00") != NULL, "%s", text);
    cr_assert(strstr(text, "receives") == NULL && strstr(text, "from rank") == NULL, "%s", text);
    cs_free(text);
    cap_links_destroy(&links);
}

static double slow_pair(uint32_t src, uint32_t dst)
{
    return src == 1 && dst == 4 ? 0.25e9 : dst == 3 ? 0.7e9 : 1e9;
}

Test(links, one_slow_direction_and_a_slow_receiver)
{
    cap_links links = measured(6, 5e-6, 0, slow_pair);

    cr_assert_eq(cap_links_fit(&links, NULL), CS_OK);
    char *text = table_of(&links);
    cr_assert(strstr(text, "from rank 1 to rank 4 at 1/4.00") != NULL, "%s", text);
    cr_assert(strstr(text, "from rank 4 to rank 1") == NULL, "%s", text);
    cr_assert(strstr(text, "rank 3 receives from all ranks of its host at 1/1.43") != NULL, "%s",
              text);
    cs_free(text);

    char *json = json_of(&links);
    cr_assert(strstr(json,
                     "{\"format\": \"collsim-links\", \"version\": 1, \"machine\": \"a machine\", "
                     "\"ranks\": 6,") == json,
              "%s", json);
    cr_assert(strstr(json, "\"slow\": [{\"dst\": 3, \"same_host\": true, ") != NULL, "%s", json);
    const char *link =
        strstr(json, "  {\"src\": 1, \"dst\": 4, \"same_host\": true, \"alpha_s\": ");
    cr_assert_not_null(link, "%s", json);
    const double rate = strtod(strstr(link, "\"bandwidth_Bps\": ") + 17, NULL);
    cr_assert_float_eq(rate, 0.25e9, 1);
    cs_free(json);
    cap_links_destroy(&links);
}

static double two_hosts(uint32_t src, uint32_t dst)
{
    return src / 4 == dst / 4 ? 10e9 : 1e9;
}

Test(links, links_between_hosts_are_held_against_each_other_only)
{
    cap_links links = measured(8, 5e-6, 0, two_hosts);

    for (uint32_t rank = 0; rank < 8; rank++) {
        links.host[rank] = rank / 4;
    }
    cr_assert_eq(cap_links_fit(&links, NULL), CS_OK);
    char *text = table_of(&links);
    cr_assert(strstr(text, "no link is slow") != NULL, "%s", text);
    cs_free(text);
    cap_links_destroy(&links);
}

static double endless(uint32_t src, uint32_t dst)
{
    (void)dst;
    return src == 0 ? HUGE_VAL : 1e9;
}

Test(links, times_without_a_slope_are_said_to_be_unknown)
{
    cap_links links = measured(2, 5e-6, 0, endless);

    cr_assert_eq(cap_links_fit(&links, NULL), CS_OK);
    cr_assert_leq(links.links[1].beta_s_per_byte, 0);
    char *text = table_of(&links), *json = json_of(&links);
    cr_assert(strstr(text, "?") != NULL, "%s", text);
    cr_assert(strstr(json, "\"bandwidth_Bps\": null") != NULL, "%s", json);
    cs_free(text);
    cs_free(json);
    cap_links_destroy(&links);
}

Test(links, median_of_even_and_odd_numbers)
{
    double four[] = {4, 1, 3, 2}, one[] = {7}, minimum, median;

    cap_minimum_median(four, 4, &minimum, &median);
    cr_assert(minimum == 1 && median == 2.5);
    cap_minimum_median(one, 1, &minimum, &median);
    cr_assert(minimum == 7 && median == 7);
}

Test(links, each_failing_allocation_is_said)
{
    bool done = false;

    for (long passes = 0; !done; passes++) {
        cap_links links = {0};
        cs_text   text  = {0};
        cs_error  err   = {0};
        cs_alloc_fail_after(passes);
        cs_status status = cap_links_create(&links, 3, SIZES, N_SIZES, &err);
        if (status == CS_OK) {
            status = cap_links_fit(&links, &err);
        }
        if (status == CS_OK) {
            cap_links_table(&text, &links);
            cap_links_json(&text, &links, "m");
            status = cs_text_status(&text, &err);
        }
        cs_alloc_fail_after(-1);
        done = status == CS_OK;
        cr_assert(done || (status == CS_ENOMEM && err.status == CS_ENOMEM));
        cr_assert_lt(passes, 1000);
        cs_text_free(&text);
        cap_links_destroy(&links);
    }
}
