/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hunts for slow nodes: what is found without noise, for every node; what a belief is (it adds up,
 * evidence moves it the right way, names and order of hosts do not matter), against sums over all
 * sets; simulated hunts; states as JSON; memory that runs out. */
#include "base/alloc.h"
#include "hunt/hosts.h"
#include "hunt/hunt_json.h"
#include "hunt/hunt_text.h"
#include "hunt/plan.h"
#include "hunt/script.h"
#include "hunt/simulate.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_HOSTS = 1100 };

static char        host_texts[MOST_HOSTS][16];
static const char *host_names[MOST_HOSTS];
static const char *rail_names[] = {"mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3",
                                   "mlx5_4", "mlx5_5", "mlx5_6", "mlx5_7"};

static void set_up(void)
{
    for (int i = 0; i < MOST_HOSTS; i++) {
        (void)snprintf(host_texts[i], sizeof host_texts[i], "node%04d", i);
        host_names[i] = host_texts[i];
    }
}

TestSuite(hunt, .init = set_up);

static cs_hunt begin(const cs_hunt_setting *setting, uint32_t n_hosts, uint32_t n_rails)
{
    cs_hunt  hunt;
    cs_error err = {0};

    cr_assert_eq(cs_hunt_begin(setting, host_names, n_hosts, rail_names, n_rails, &hunt, &err),
                 CS_OK, "%s: %s", err.where, err.message);
    return hunt;
}

static cs_belief believe(const cs_hunt *hunt)
{
    cs_belief belief;
    cs_error  err = {0};

    cr_assert_eq(cs_belief_of(hunt, &belief, &err), CS_OK, "%s", err.message);
    return belief;
}

/* Results of the last round without noise, where one host is slow. */
static void measure(cs_hunt *hunt, uint32_t slow, double effect)
{
    cs_hunt_round *round = hunt->rounds[hunt->n_rounds - 1];

    for (uint32_t g = 0; g < round->n_groups; g++) {
        bool   is_hit = slow < hunt->n_hosts && round->group_of[slow] == g;
        double rate   = 360e9 * (is_hit ? 1 - effect : 1);
        for (uint32_t test = 0; test < cs_hunt_n_tests(hunt); test++) {
            cr_assert_eq(cs_hunt_put(hunt, cs_hunt_at(hunt, round, g, test), rate, 8, "log", NULL),
                         CS_OK);
        }
    }
}

/* Hunt for one host; how many rounds it took. */
static uint32_t hunt_for(uint32_t n_hosts, uint32_t slow, double effect, bool is_told,
                         cs_hunt_setting setting)
{
    setting.effect    = is_told ? effect : 0;
    cs_hunt   hunt    = begin(&setting, n_hosts, 0);
    cs_belief belief  = believe(&hunt);
    uint32_t  n_found = slow < n_hosts ? 1 : 0, rounds;

    while (!cs_belief_is_sure(&hunt, &belief)) {
        cr_assert_lt(hunt.n_rounds, 8, "host %u of %u", slow, n_hosts);
        cr_assert_eq(cs_hunt_plan(&hunt, &belief, NULL), CS_OK);
        cs_belief_free(&belief);
        measure(&hunt, slow, effect);
        belief = believe(&hunt);
    }
    cr_assert_eq(belief.n_best, n_found, "host %u of %u", slow, n_hosts);
    cr_assert(n_found == 0 || belief.best[0].host == slow, "host %u of %u", slow, n_hosts);
    rounds = hunt.n_rounds;
    cs_belief_free(&belief);
    cs_hunt_free(&hunt);
    return rounds;
}

/* ---- without noise ---- */

Test(hunt, every_node_of_1024_is_found_in_two_rounds)
{
    for (uint32_t slow = 0; slow < 1024; slow++) {
        cr_assert_eq(hunt_for(1024, slow, 0.14, true, cs_hunt_default()), 2);
        if (slow % 16 == 5) { /* in each group one */
            cr_assert_leq(hunt_for(1024, slow, 0.5, false, cs_hunt_default()), 2);
        }
    }
}

Test(hunt, every_node_of_any_number_is_found)
{
    for (uint32_t n = 4; n <= 70; n++) {
        for (uint32_t slow = 0; slow < n; slow++) {
            cr_assert_leq(hunt_for(n, slow, 0.3, true, cs_hunt_default()), 4);
        }
    }
}

Test(hunt, slower_than_expected_is_found)
{
    cs_hunt_setting setting = cs_hunt_default();

    for (uint32_t slow = 0; slow < 256; slow += 5) {
        cs_hunt   hunt      = begin(&setting, 256, 0);
        cs_belief belief    = believe(&hunt);
        hunt.setting.effect = 0.05;
        while (!cs_belief_is_sure(&hunt, &belief)) {
            cr_assert_lt(hunt.n_rounds, 4);
            cr_assert_eq(cs_hunt_plan(&hunt, &belief, NULL), CS_OK);
            cs_belief_free(&belief);
            measure(&hunt, slow, 0.9);
            belief = believe(&hunt);
        }
        cr_assert(belief.n_best == 1 && belief.best[0].host == slow);
        cs_belief_free(&belief);
        cs_hunt_free(&hunt);
    }
}

Test(hunt, nothing_slow_is_said)
{
    for (uint32_t n = 8; n <= 1024; n *= 2) {
        cr_assert_leq(hunt_for(n, n, 0.2, true, cs_hunt_default()), 3, "%u", n);
    }
}

/* ---- rounds ---- */

/* Groups have their size, and hosts one group at most. */
static void check_round(const cs_hunt *hunt, const cs_hunt_round *round)
{
    for (uint32_t g = 0; g < round->n_groups; g++) {
        uint32_t size = cs_hunt_group_size(hunt, round, g);
        cr_assert(size == round->size || (hunt->n_rounds == 1 && size == round->size + 1),
                  "%u hosts in a group of %u", size, round->size);
    }
    for (uint32_t i = 0; i < hunt->n_hosts; i++) {
        cr_assert(round->group_of[i] < round->n_groups || round->group_of[i] == CS_HUNT_IDLE);
    }
}

Test(hunt, groups_of_a_round_are_of_one_size)
{
    cs_hunt_setting setting = cs_hunt_default();

    for (uint32_t n = 4; n < MOST_HOSTS; n += n < 64 ? 1 : 37) {
        cs_hunt hunt = begin(&setting, n, 0);
        for (int round = 0; round < 4; round++) {
            cs_belief belief = believe(&hunt);
            cr_assert_eq(cs_hunt_plan(&hunt, &belief, NULL), CS_OK);
            check_round(&hunt, hunt.rounds[hunt.n_rounds - 1]);
            measure(&hunt, n / 3, 0.2);
            cs_belief_free(&belief);
        }
        cs_hunt_free(&hunt);
    }
}

/* ---- beliefs ---- */

/* A hunt of a few hosts in pairs, with these rates. */
static cs_hunt small_hunt(const double rates[2][4], double effect)
{
    static const uint32_t groups[2][8] = {{0, 0, 1, 1, 2, 2, 3, 3}, {0, 1, 2, 3, 0, 1, 2, 3}};
    cs_hunt_setting       setting      = cs_hunt_default();

    setting.effect = effect;
    cs_hunt hunt   = begin(&setting, 8, 0);
    for (int t = 0; t < 2; t++) {
        cs_hunt_round *round = NULL;
        cr_assert_eq(cs_hunt_add_round(&hunt, 4, 2, &round, NULL), CS_OK);
        memcpy(round->group_of, groups[t], sizeof groups[t]);
        for (uint32_t g = 0; g < 4; g++) {
            cr_assert_eq(cs_hunt_put(&hunt, &round->results[g], rates[t][g], 8, "log", NULL),
                         CS_OK);
        }
    }
    return hunt;
}

Test(hunt, more_evidence_makes_more_suspect)
{
    double last = 0;

    for (double lost = 0; lost < 0.2; lost += 0.01) {
        /* host 1 is in group 0, then in group 1 */
        const double rates[2][4] = {{360e9 * (1 - lost), 361e9, 362e9, 359e9},
                                    {358e9, 360e9 * (1 - lost), 361e9, 360e9}};
        cs_hunt      hunt        = small_hunt(rates, 0.2);
        cs_belief    belief      = believe(&hunt);
        cr_assert_geq(belief.host_p[1], last * (1 - 1e-9), "%g after %g at %g", belief.host_p[1],
                      last, lost);
        last = belief.host_p[1];
        cs_belief_free(&belief);
        cs_hunt_free(&hunt);
    }
    cr_assert_gt(last, 0.99);
}

Test(hunt, what_cannot_be_told_apart_is_equally_likely)
{
    cs_hunt_setting setting = cs_hunt_default();
    cs_hunt         hunt    = begin(&setting, 64, 0);
    cs_belief       belief  = believe(&hunt);

    for (uint32_t i = 1; i < 64; i++) {
        cr_assert_eq(belief.host_p[i], belief.host_p[0]);
    }
    cr_assert_eq(cs_hunt_plan(&hunt, &belief, NULL), CS_OK);
    cs_belief_free(&belief);
    measure(&hunt, 21, 0.3);
    belief = believe(&hunt);
    for (uint32_t i = 0; i < 64; i++) {
        double same = belief.host_p[i / 8 * 8];
        cr_assert_eq(belief.host_p[i], same);
        cr_assert(i / 8 == 2 ? same > 0.1 && same < 0.2 : same < 0.01, "%u: %g", i, same);
    }
    cs_belief_free(&belief);
    cs_hunt_free(&hunt);
}

/* Where the sets are few enough to be all there, the parts of the belief add up: what is expected
 * of the number of slow hosts lies between the chances that there is one, and that times the most
 * that a set has. */
Test(hunt, probabilities_add_up)
{
    const double rates[2][4] = {{330e9, 360e9, 358e9, 364e9}, {349e9, 361e9, 357e9, 362e9}};

    cs_hunt   hunt   = small_hunt(rates, 0.1);
    cs_belief belief = believe(&hunt);
    double    sum    = 0;
    for (uint32_t i = 0; i < 8; i++) {
        cr_assert(belief.host_p[i] >= 0 && belief.host_p[i] <= 1);
        sum += belief.host_p[i];
    }
    cr_assert_geq(sum, 1 - belief.none_p - 1e-9);
    cr_assert_leq(sum, 3 * (1 - belief.none_p) + 1e-9);
    cr_assert_leq(belief.none_p + (belief.n_best > 0 ? belief.best_p : 0), 1 + 1e-9);
    cs_belief_free(&belief);
    cs_hunt_free(&hunt);
}

Test(hunt, the_order_of_hosts_does_not_matter)
{
    const double rates[2][4]  = {{330e9, 360e9, 358e9, 364e9}, {349e9, 361e9, 357e9, 362e9}};
    const double turned[2][4] = {{364e9, 358e9, 360e9, 330e9}, {362e9, 357e9, 361e9, 349e9}};
    cs_hunt      a = small_hunt(rates, 0), b = small_hunt(turned, 0);
    cs_belief    p = believe(&a), q = believe(&b);

    for (uint32_t i = 0; i < 8; i++) {
        cr_assert_float_eq(p.host_p[i], q.host_p[7 - i], 1e-9, "%u: %g and %g", i, p.host_p[i],
                           q.host_p[7 - i]);
    }
    cs_belief_free(&p);
    cs_belief_free(&q);
    cs_hunt_free(&a);
    cs_hunt_free(&b);
}

Test(hunt, a_run_that_failed_is_evidence)
{
    const double rates[2][4] = {{360e9, 361e9, 362e9, 359e9}, {358e9, 360e9, 361e9, 360e9}};

    cs_hunt hunt = small_hunt(rates, 0);
    cr_assert_eq(cs_hunt_put_failed(&hunt, "r1-g01", NULL), CS_OK);
    cr_assert_eq(cs_hunt_put_failed(&hunt, "r2-g02", NULL), CS_OK);
    cr_assert_eq(cs_hunt_put_failed(&hunt, "r2-g05", NULL), CS_EINVAL);
    cs_belief belief = believe(&hunt);
    cr_assert(belief.n_best == 1 && belief.best[0].host == 1 && belief.best_p > 0.9, "%g",
              belief.best_p);
    cr_assert_float_eq(belief.healthy_Bps / 360e9, 1, 0.01);
    cs_belief_free(&belief);
    cs_hunt_free(&hunt);
}

/* ---- simulated hunts ---- */

typedef struct trial {
    uint32_t        hosts, rails, told, rows;
    double          effect;
    cs_hunt_planted planted;
    uint64_t        hunts, least_right;
    uint32_t        most_rounds; /* 0: no limit */
    double          mean_rounds;
} trial;

Test(hunt, simulated_hunts_end_in_time_and_right)
{
    static const trial trials[] = {
        {1024, 0, 1, 8, .14, {1, .14, .05, 0, false, CS_SUSPECT_NODE}, 200, 200, 2, 2},
        {1024, 0, 1, 8, 0, {1, .14, .05, 0, false, CS_SUSPECT_NODE}, 100, 99, 3, 2.1},
        {1024, 0, 3, 8, .14, {3, .14, .05, 0, false, CS_SUSPECT_NODE}, 100, 99, 4, 2.2},
        {1024, 0, 1, 8, 0, {3, .14, .05, 0, false, CS_SUSPECT_NODE}, 100, 99, 4, 2.6},
        {1024, 8, 1, 8, .14, {1, .14, .05, 0, false, CS_SUSPECT_RAIL}, 20, 20, 2, 2},
        {1024, 8, 1, 8, .14, {1, .14, .05, 0, false, CS_SUSPECT_NIC}, 20, 20, 2, 2},
        {1024, 8, 1, 8, .14, {1, .14, .05, 0, true, CS_SUSPECT_NODE}, 20, 20, 2, 2},
        {1024, 0, 1, 1, .14, {1, .14, .05, 0, false, CS_SUSPECT_NODE}, 40, 39, 0, 4.6},
        {1024, 0, 1, 8, .14, {1, .14, .05, .05, false, CS_SUSPECT_NODE}, 30, 29, 0, 5},
        {8, 0, 1, 8, 0, {1, .5, .05, 0, false, CS_SUSPECT_NODE}, 300, 297, 3, 2.05},
        {7, 0, 1, 8, 0, {1, .5, .05, 0, false, CS_SUSPECT_NODE}, 300, 297, 3, 2.1},
        {100, 0, 2, 8, .2, {2, .2, .02, 0, false, CS_SUSPECT_NODE}, 200, 199, 4, 2.5},
    };

    for (size_t i = 0; i < sizeof trials / sizeof *trials; i++) {
        const trial    *t       = &trials[i];
        cs_hunt_setting setting = cs_hunt_default();
        cs_hunt_tally   tally;
        setting.bad    = t->told;
        setting.rows   = t->rows;
        setting.effect = t->effect;
        cs_hunt like   = begin(&setting, t->hosts, t->rails);
        cr_assert_eq(cs_hunt_simulate(&like, &t->planted, t->hunts, 20, 7, NULL, &tally, NULL),
                     CS_OK);
        cr_assert_geq(tally.right, t->least_right, "trial %zu", i);
        cr_assert_eq(tally.right + tally.wrong + tally.unsure, t->hunts);
        cr_assert_leq(tally.mean_rounds, t->mean_rounds, "trial %zu: %g", i, tally.mean_rounds);
        cr_assert(t->most_rounds == 0 || tally.most_rounds <= t->most_rounds, "trial %zu: %u", i,
                  tally.most_rounds);
        cs_hunt_free(&like);
    }
}

Test(hunt, simulated_hunts_depend_on_the_seed_alone)
{
    static const cs_hunt_planted planted = {2, .2, .05, 0, true, CS_SUSPECT_NODE};
    cs_hunt_setting              setting = cs_hunt_default();
    cs_hunt                      like    = begin(&setting, 40, 4);
    cs_hunt_tally                a, b, c;

    cr_assert_eq(cs_hunt_simulate(&like, &planted, 40, 9, 1, NULL, &a, NULL), CS_OK);
    cr_assert_eq(cs_hunt_simulate(&like, &planted, 40, 9, 1, NULL, &b, NULL), CS_OK);
    cr_assert_eq(cs_hunt_simulate(&like, &planted, 40, 9, 2, NULL, &c, NULL), CS_OK);
    cr_assert_arr_eq(&a, &b, sizeof a);
    cr_assert_arr_neq(&a, &c, sizeof a);
    cs_hunt_free(&like);
}

/* ---- the bound ---- */

Test(hunt, the_bound_is_what_can_be_told)
{
    cs_hunt_setting setting = cs_hunt_default();
    cs_hunt         hunt    = begin(&setting, 1024, 0);
    cs_hunt_bound one = cs_hunt_bound_of(&hunt, 1, 0, 0), three = cs_hunt_bound_of(&hunt, 3, 0, 0);

    cr_assert_float_eq(one.bits, 10, 1e-9);
    cr_assert_float_eq(one.bits_per_round, log2(513), 1e-9);
    cr_assert_eq(one.rounds, 2);
    cr_assert_eq(one.runs, 10);
    cr_assert_float_eq(three.bits, log2(1024.0 * 1023 * 1022 / 6), 1e-9);
    cr_assert_eq(three.rounds, 2);

    /* With rails, each kind has its own number of suspects. */
    cs_hunt       railed = begin(&setting, 1024, 8);
    cs_hunt_bound rail   = cs_hunt_bound_of(&railed, 1, 1u << CS_SUSPECT_RAIL, 0);
    cs_hunt_bound nic    = cs_hunt_bound_of(&railed, 1, 1u << CS_SUSPECT_NIC, 0);
    cs_hunt_bound any    = cs_hunt_bound_of(&railed, 1, 0, 0);
    cr_assert(rail.rounds == 1 && nic.rounds == 2 && any.rounds == 2);
    cr_assert_float_eq(rail.bits, 3, 1e-9);
    cr_assert_float_eq(nic.bits, 13, 1e-9);
    cr_assert_float_eq(any.bits, log2(1024 * 9 + 8), 1e-9);
    cs_hunt_free(&railed);

    /* 512 channels that are hit once in 512: Shannon's bits of the ratio of effect to noise. */
    hunt.setting.rows   = 1;
    double        ratio = -log(1 - .14) / .05, q = 1 / 512.0;
    cs_hunt_bound noisy = cs_hunt_bound_of(&hunt, 1, 0, .14);
    cr_assert_float_eq(noisy.bits_per_round, 256 * log2(1 + ratio * ratio * q * (1 - q)), 1e-9);
    cr_assert_float_eq(noisy.bits_per_run, 0.5 * log2(1 + ratio * ratio / 4), 1e-9);
    cs_hunt_free(&hunt);
}

/* ---- names, scripts, files ---- */

Test(hunt, lists_of_hosts)
{
    static const struct {
        const char *text;
        size_t      n;
        const char *first, *last;
    } good[] = {
        {"a,b,c", 3, "a", "c"},
        {"n[1-3]", 3, "n1", "n3"},
        {"n[001-010,20]x", 11, "n001x", "n20x"},
        {"login,n[8-11].ib", 5, "login", "n11.ib"},
    };
    static const char *const bad[] = {"",      ",a",      "a,",     "n[",     "n]",
                                      "n[]",   "n[a]",    "n[1-]",  "n[2-1]", "n[1][2]",
                                      "n[1,]", "n[1-99]", "n[1 2]", "n[-1]",  "n[9999999999]"};

    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        cs_arena     arena = {0};
        const char **names = NULL;
        size_t       n     = 0;
        cr_assert_eq(cs_hosts_parse(good[i].text, 20, "x", &arena, &names, &n, NULL), CS_OK);
        cr_assert_eq(n, good[i].n);
        cr_assert_str_eq(names[0], good[i].first);
        cr_assert_str_eq(names[n - 1], good[i].last);
        cs_arena_free(&arena);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        cs_arena     arena = {0};
        const char **names = NULL;
        size_t       n     = 0;
        cs_error     err   = {0};
        cr_assert_eq(cs_hosts_parse(bad[i], 20, "x", &arena, &names, &n, &err), CS_EINVAL, "%s",
                     bad[i]);
        cr_assert_str_eq(err.where, "x");
        cs_arena_free(&arena);
    }
}

/* A hunt with one round measured and one planned. */
static cs_hunt begun_hunt(uint32_t n_rails)
{
    cs_hunt_setting setting = cs_hunt_default();
    cs_hunt         hunt    = begin(&setting, 20, n_rails);

    cr_assert_eq(cs_hunt_set_command(&hunt, cs_script_command(CS_LAUNCH_SRUN, n_rails > 0), NULL),
                 CS_OK);
    for (int round = 0; round < 2; round++) {
        cs_belief belief = believe(&hunt);
        cr_assert_eq(cs_hunt_plan(&hunt, &belief, NULL), CS_OK);
        cs_belief_free(&belief);
        if (round == 0) {
            measure(&hunt, 7, 0.14);
        }
    }
    return hunt;
}

Test(hunt, labels_name_their_runs)
{
    cs_hunt hunt = begun_hunt(8);

    for (uint32_t t = 0; t < hunt.n_rounds; t++) {
        for (uint32_t g = 0; g < hunt.rounds[t]->n_groups; g++) {
            for (uint32_t test = 0; test < 8; test++) {
                char     label[CS_HUNT_LABEL_BYTES];
                uint32_t a = 9, b = 9, c = 9;
                cs_hunt_label(&hunt, t, g, test, label);
                cr_assert(cs_hunt_find_label(&hunt, label, &a, &b, &c), "%s", label);
                cr_assert(a == t && b == g && c == test, "%s", label);
            }
        }
    }
    static const char *const none[] = {"",
                                       "r1-g01",
                                       "r0-g01-mlx5_0",
                                       "r3-g01-mlx5_0",
                                       "r1-g99-mlx5_0",
                                       "r1-g01-mlx5_8",
                                       "r1-g01-mlx5_0 "};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        uint32_t a, b, c;
        cr_assert_not(cs_hunt_find_label(&hunt, none[i], &a, &b, &c), "%s", none[i]);
    }
    cs_hunt_free(&hunt);
}

Test(hunt, a_script_has_the_runs_that_are_missing)
{
    cs_hunt hunt = begun_hunt(0);
    cs_text text = {0};

    cs_script_add(&hunt, 0, &text);
    cr_assert_null(strstr(text.data, "srun"), "%s", text.data);
    cs_text_free(&text);
    hunt.rounds[0]->results[1].busbw_Bps = 0;
    cs_script_add(&hunt, 0, &text);
    cr_assert_not_null(
        strstr(text.data,
               "r1-g02'; srun -N 4 --ntasks-per-node=8 -w node0004,node0005,node0006,node0007 "
               "all_reduce_perf -b 1073741824 -e 1132462080 -i 8388608 -g 1 -w 5 -n 20; } > "
               "r1-g02.log 2>&1 ) &\nwait\n"),
        "%s", text.data);
    cr_assert_null(strstr(text.data, "r1-g01"));
    cs_text_free(&text);
    cs_hunt_free(&hunt);
}

Test(hunt, a_state_reads_back_the_same)
{
    for (uint32_t rails = 0; rails <= 8; rails += 4) {
        cs_hunt  hunt  = begun_hunt(rails), again;
        cs_text  first = {0}, second = {0};
        cs_error err = {0};
        cs_hunt_json(&hunt, &first);
        cr_assert_eq(cs_hunt_parse(first.data, first.length, "state", &again, &err), CS_OK,
                     "%d:%d: %s: %s", err.input_line, err.input_column, err.where, err.message);
        cs_hunt_json(&again, &second);
        cr_assert_str_eq(first.data, second.data);
        cs_belief a = believe(&hunt), b = believe(&again);
        cr_assert_arr_eq(a.host_p, b.host_p, 20 * sizeof(double));
        cs_belief_free(&a);
        cs_belief_free(&b);
        cs_text_free(&first);
        cs_text_free(&second);
        cs_hunt_free(&hunt);
        cs_hunt_free(&again);
    }
}

Test(hunt, every_byte_of_a_state_that_is_lost_is_noticed)
{
    cs_hunt hunt = begun_hunt(0);
    cs_text text = {0};

    cs_hunt_json(&hunt, &text);
    for (size_t length = 0; length + 1 < text.length; length++) {
        cs_hunt  again;
        cs_error err = {0};
        cr_assert_neq(cs_hunt_parse(text.data, length, "state", &again, &err), CS_OK);
        cr_assert_str_eq(err.input, "state");
        cr_assert_gt(err.input_line, 0);
    }
    cs_text_free(&text);
    cs_hunt_free(&hunt);
}

/* ---- memory that runs out ---- */

static cs_status all_of_it(const char *state, size_t length, cs_text *text, cs_error *err)
{
    cs_hunt        hunt   = {.n_hosts = 0};
    cs_belief      belief = {.n_best = 0};
    cs_hunt_report report = {.hunt = &hunt, .belief = &belief, .next = 1};
    cs_status      status = cs_hunt_parse(state, length, "state", &hunt, err);

    if (status == CS_OK) {
        status = cs_belief_of(&hunt, &belief, err);
    }
    if (status == CS_OK) {
        status = cs_hunt_plan(&hunt, &belief, err);
    }
    if (status == CS_OK) {
        cs_hunt_report_table(&report, text);
        cs_hunt_report_json(&report, text);
        cs_hunt_json(&hunt, text);
        status = cs_text_status(text, err);
    }
    cs_belief_free(&belief);
    cs_hunt_free(&hunt);
    return status;
}

Test(hunt, every_allocation_may_fail)
{
    cs_hunt   hunt   = begun_hunt(4);
    cs_text   state  = {0};
    cs_status status = CS_ENOMEM;
    long      passes = 0;

    cs_hunt_json(&hunt, &state);
    for (; status != CS_OK; passes++) {
        cs_text  text = {0};
        cs_error err  = {0};
        cs_alloc_fail_after(passes);
        status = all_of_it(state.data, state.length, &text, &err);
        cs_alloc_fail_after(-1);
        cr_assert(status == CS_OK || status == CS_ENOMEM, "%ld: %s: %s", passes, err.where,
                  err.message);
        cs_text_free(&text);
    }
    cr_assert_gt(passes, 50);
    cs_text_free(&state);
    cs_hunt_free(&hunt);
}
