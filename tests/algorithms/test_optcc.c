/* SPDX-License-Identifier: GPL-3.0-or-later */
/* OptCC against reference times and its formulas; what it chooses by itself, where the plain ring
 * runs instead and how the result says so; what is refused. */
#include "algorithms/optcc/time.h"
#include "base/alloc.h"
#include "cs/result.h"
#include "optcc_rows.h"
#include "support/rng.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_SLOW = 64 };

static const double RATE_BPS = 1e6;

typedef struct setup {
    cs_scenario         scenario;
    cs_capacity         capacity[MOST_SLOW];
    const cs_algorithm *optcc;
    cs_options          options, model_options;
    const cs_model     *model; /* NULL: alpha-beta */
    bool                is_unverified;
    cs_result           result;
    cs_error            err;
} setup;

static void make(setup *s, unsigned p, unsigned g, const double *slow, unsigned m, uint64_t bytes)
{
    cs_fabric nic    = {CS_SWITCHED, 0, RATE_BPS};
    cs_fabric nvlink = {CS_SWITCHED, 0, RATE_BPS * (g > 1 ? g - 1 : 1)};

    *s                                     = (setup){.scenario = {.bytes = bytes, .n_capacity = m}};
    s->scenario.capacity                   = s->capacity;
    s->scenario.cluster                    = (cs_cluster){.n_ranks = p * g, .gpus_per_server = g};
    s->scenario.cluster.fabrics[CS_NIC]    = nic;
    s->scenario.cluster.fabrics[CS_NVLINK] = nvlink;
    for (unsigned i = 0; i < m; i++) {
        s->capacity[i] = (cs_capacity){i * g, slow[i], 0, (double)INFINITY, false};
    }
    cr_assert_eq(cs_algorithm_find("optcc", &s->optcc, NULL), CS_OK);
    cs_fields_default(s->optcc->options, &s->options);
    cs_fields_default(cs_models[0]->options, &s->model_options);
}

static void set(setup *s, const char *key, const char *value)
{
    cr_assert_eq(cs_field_set(s->optcc->options, &s->options, key, value, key, &s->err), CS_OK,
                 "%s", s->err.message);
}

static void set_number(setup *s, const char *key, unsigned value)
{
    char text[16];

    snprintf(text, sizeof text, "%u", value);
    set(s, key, text);
}

static cs_status run(setup *s)
{
    cs_job job = {.scenario = s->scenario, .verify = !s->is_unverified};

    cs_job_set_algorithm(&job, s->optcc, &s->options);
    cs_job_set_model(&job, s->model != NULL ? s->model : cs_models[0], &s->model_options);
    return cs_job_run(&job, NULL, 0, &s->result, &s->err);
}

/* T over the time of the buffer on a healthy NIC of a server. */
static double relative_time(const setup *s)
{
    double share = (double)s->scenario.bytes / s->scenario.cluster.gpus_per_server;
    return s->result.elapsed_s / (share / RATE_BPS);
}

/* ---- times ---- */

static void set_row(setup *s, const optcc_row *row)
{
    double section_s = OPTCC_SECTION_BYTES / RATE_BPS;
    char   text[40];

    make(s, row->p, row->g, row->slow, row->m, row->bytes);
    if (row->sections > 0) {
        set_number(s, "sections", row->sections);
    } else {
        set_number(s, "rounds", row->rounds);
    }
    set_number(s, "ramp", row->ramp);
    set_number(s, "copies", row->copies);
    set(s, "bubbles", row->bubbles != 0 ? "on" : "off");
    set(s, "chosen", "optcc");
    s->scenario.cluster.fabrics[CS_NIC].alpha_s = row->alpha * section_s;
    snprintf(text, sizeof text, "%.17g", row->propagation * section_s);
    cr_assert_eq(
        cs_field_set(cs_models[0]->options, &s->model_options, "propagation_s", text, "", &s->err),
        CS_OK);
}

static void run_row(const optcc_row *row)
{
    setup s;

    set_row(&s, row);
    cr_assert_eq(run(&s), CS_OK, "%s", s.err.message);
    double got = relative_time(&s);
    cr_assert(s.result.verified, "p=%u m=%u R=%u: %s", row->p, row->m, row->rounds,
              s.result.verdict.text);
    cr_assert(fabs(got - row->want) <= 1e-12 * row->want,
              "p=%u g=%u m=%u l=%g R=%u N=%u ramp=%u bubbles=%u copies=%u: %.15g, want %.15g",
              row->p, row->g, row->m, row->slow[0], row->rounds, row->sections, row->ramp,
              row->bubbles, row->copies, got, row->want);
    cr_assert(s.result.bound_s <= s.result.elapsed_s * (1 + 1e-12));
}

#define RUN_ROWS(rows)                                          \
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows)[0]; i++) \
    run_row(&(rows)[i])

Test(optcc, reference_one_slow_server)
{
    RUN_ROWS(rows_slow);
}

Test(optcc, reference_any_number_of_sections)
{
    RUN_ROWS(rows_sections);
}

Test(optcc, reference_one_server_a_little_slow)
{
    RUN_ROWS(rows_fast);
}

Test(optcc, reference_several_slow_servers)
{
    RUN_ROWS(rows_several);
}

Test(optcc, reference_servers_of_several_gpus)
{
    RUN_ROWS(rows_servers);
}

Test(optcc, reference_start_up_times)
{
    RUN_ROWS(rows_alpha);
}

Test(optcc, reference_interleaved_copies)
{
    RUN_ROWS(rows_copies);
}

Test(optcc, reference_ramps)
{
    RUN_ROWS(rows_ramp);
}

/* Up to 18 million messages, each of them checked. */
Test(optcc, reference_many_ranks, .timeout = 300)
{
    RUN_ROWS(rows_large);
}

/* l >= 2, R >= 3: T = s (l (N + 1) + 2 (p - 2)), exactly. */
Test(optcc, one_slow_server_meets_its_formula)
{
    for (unsigned p = 4; p <= 40; p += 3) {
        for (unsigned rounds = 3; rounds <= 9; rounds += 2) {
            double   slow[] = {2 + 0.25 * (p % 7)};
            unsigned N      = rounds * (p - 2);
            setup    s;
            if (N < p + 1) {
                continue;
            }
            make(&s, p, 1, slow, 1, (uint64_t)N * 5040);
            set_number(&s, "rounds", rounds);
            cr_assert_eq(run(&s), CS_OK);
            double want = (slow[0] * (N + 1) + 2 * (p - 2.0)) / N;
            cr_assert(fabs(relative_time(&s) - want) <= 1e-12 * want, "p=%u R=%u", p, rounds);
        }
    }
}

/* Several slow servers: never above the formula of the construction, never below a bound. */
Test(optcc, several_slow_servers_stay_below_their_formula)
{
    uint64_t random = 12345;

    for (int i = 0; i < 200; i++) {
        double slow[4], sum = 0, most = 0;
        setup  s;
        random            = random * 6364136223846793005u + 1442695040888963407u;
        unsigned m        = 2 + (unsigned)(random >> 60) % 3;
        unsigned H        = 3 + (unsigned)(random >> 40) % 12;
        unsigned rounds   = 3 + (unsigned)(random >> 33) % 5;
        double   sections = rounds * (H - 1.0) - 2;
        for (unsigned k = 0; k < m; k++) {
            slow[k] = 1.05 + (double)(random >> (8 * k) & 255) / 64;
            sum += slow[k];
            most = fmax(most, slow[k]);
        }
        make(&s, H + m, 1, slow, m, (uint64_t)1 << 40);
        set_number(&s, "rounds", rounds);
        cr_assert_eq(run(&s), CS_OK, "%s", s.err.message);
        double loop = fmax(H * fmax(2, most), 2 * (H - 1.0) + sum);
        double want = (loop * (sections + H + 1) / H + sum) / sections;
        cr_assert(s.result.verified);
        cr_assert(relative_time(&s) <= want * (1 + 1e-9), "m=%u H=%u R=%u: %g above %g", m, H,
                  rounds, relative_time(&s), want);
        cr_assert(s.result.bound_s <= s.result.elapsed_s * (1 + 1e-12));
    }
}

/* Any number of bytes: still an AllReduce. */
Test(optcc, odd_sizes_are_exact)
{
    static const uint64_t sizes[] = {97, 1000, 12345677};
    static const double   slow[]  = {1.3, 2.7};

    for (unsigned p = 4; p < 12; p++) {
        for (size_t i = 0; i < 3; i++) {
            for (unsigned m = 1; m <= 2; m++) {
                setup s;
                make(&s, p, 1, slow, m, sizes[i]);
                cr_assert_eq(run(&s), CS_OK, "%s", s.err.message);
                cr_assert(s.result.verified, "p=%u m=%u bytes=%llu", p, m,
                          (unsigned long long)sizes[i]);
            }
        }
    }
}

/* ---- choices and refusals ---- */

static void option_text(const setup *s, const char *key, char *text, size_t bytes)
{
    for (const cs_field *o = s->result.option_table; o->name != NULL; o++) {
        if (strcmp(o->name, key) == 0) {
            cs_field_text(o, &s->result.options, text, bytes);
            return;
        }
    }
    cr_assert_fail("no option %s", key);
}

/* The fastest of the rings on the same scenario. */
static double fastest_ring_s(const setup *s)
{
    static const char *const names[] = {"ring", "nccl_rings", "parallel_rings"};
    double                   best    = HUGE_VAL;

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        setup other = *s;
        cr_assert_eq(cs_algorithm_find(names[i], &other.optcc, NULL), CS_OK);
        cs_fields_default(other.optcc->options, &other.options);
        cr_assert_eq(run(&other), CS_OK, "%s: %s", names[i], other.err.message);
        best = fmin(best, other.result.elapsed_s);
    }
    return best;
}

/* A ring ran instead of OptCC, the fastest: it is right, no option pretends otherwise, and the note
 * says why. */
static void check_ring_instead(setup *s, const char *why)
{
    static const char *const keys[] = {"segments", "rounds", "sections", "ramp", "around"};
    char                     text[40], note[80];

    cr_assert_eq(run(s), CS_OK, "%s", s->err.message);
    cr_assert(s->result.verified);
    option_text(s, "chosen", text, sizeof text);
    cr_assert_str_neq(text, "optcc");
    (void)snprintf(note, sizeof note, "optcc: %s runs instead: ", text);
    cr_expect_float_eq(s->result.elapsed_s, fastest_ring_s(s), 1e-12 * s->result.elapsed_s);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        option_text(s, keys[i], text, sizeof text);
        cr_expect_str_eq(text, "0", "%s", keys[i]);
    }
    if (why == NULL) {
        cr_expect_null(s->result.note);
    } else {
        cr_assert_not_null(s->result.note);
        cr_expect_eq(strncmp(s->result.note, note, strlen(note)), 0, "%s", s->result.note);
        cr_expect_not_null(strstr(s->result.note, why), "%s", s->result.note);
    }
}

Test(optcc_choice, no_slow_server_even_when_optcc_is_asked_for)
{
    setup s;

    make(&s, 8, 1, NULL, 0, 1 << 20);
    set(&s, "chosen", "optcc");
    set(&s, "segments", "16");
    check_ring_instead(&s, "no server's NIC is slow");
    make(&s, 8, 1, (double[]){3}, 1, 1 << 20); /* ends before the run does */
    s.capacity[0].until_s = 1e-3;
    set(&s, "chosen", "optcc");
    check_ring_instead(&s, "no server's NIC is slow for the whole run");
}

/* p - m < 2: the construction needs a ring. One server alone uses no NIC. */
Test(optcc_choice, too_few_healthy_servers)
{
    static const double slow[] = {2, 3, 1.5};
    setup               s;

    for (unsigned m = 1; m <= 3; m++) {
        for (unsigned g = 1; g <= 2; g++) {
            make(&s, m + 1, g, slow, m, 1 << 20);
            set(&s, "chosen", "optcc");
            set(&s, "segments", "4");
            check_ring_instead(&s, "fewer than two servers are healthy");
        }
    }
    make(&s, 1, 4, slow, 1, 1 << 20);
    check_ring_instead(&s, "fewer than two");
}

Test(optcc_choice, fewer_bytes_than_sections)
{
    setup s;

    make(&s, 8, 1, (double[]){2}, 1, 8);
    set(&s, "chosen", "optcc");
    set(&s, "copies", "2");
    check_ring_instead(&s, "too few bytes");
}

Test(optcc_choice, ring_that_was_asked_for_needs_no_note)
{
    setup s;

    make(&s, 8, 1, (double[]){2}, 1, 1 << 20);
    set(&s, "chosen", "ring");
    check_ring_instead(&s, NULL);
    make(&s, 8, 1, (double[]){2}, 1, 1 << 20);
    set(&s, "chosen", "optcc");
    cr_assert_eq(run(&s), CS_OK);
    cr_expect_null(s.result.note);
}

Test(optcc_choice, without_a_slow_server_the_ring_runs)
{
    setup s;
    char  text[40];

    make(&s, 8, 1, NULL, 0, 1 << 20);
    cr_assert_eq(run(&s), CS_OK);
    cr_assert(s.result.verified);
    cr_assert_eq(s.result.rounds, 14);
    option_text(&s, "chosen", text, sizeof text);
    cr_assert_str_eq(text, "ring");
}

Test(optcc_choice, the_ring_runs_where_it_is_predicted_to_be_faster)
{
    setup s;

    make(&s, 3, 1, (double[]){8.0 / 7}, 1, 30000);
    s.scenario.cluster.fabrics[CS_NIC].alpha_s = 0.05;
    check_ring_instead(&s, "faster than a way around");
}

Test(optcc_choice, all_servers_slow_is_refused)
{
    double slow[] = {2, 2, 2, 2};
    setup  s;

    make(&s, 4, 1, slow, 4, 1 << 20);
    cr_assert_eq(run(&s), CS_ENOTSUP);
    cr_assert_str_eq(s.err.where, "faults");
}

static void check_refused(const char *key, const char *value, cs_status want)
{
    setup s;

    make(&s, 8, 1, (double[]){2}, 1, 100);
    cs_status status = cs_field_set(s.optcc->options, &s.options, key, value, key, &s.err);
    if (status == CS_OK) {
        status = run(&s);
        cr_expect_str_eq(s.err.where, "algorithm.options.segments");
        cr_expect_not_null(strstr(s.err.message, "fewer segments are accepted"), "%s",
                           s.err.message);
    }
    cr_expect_eq(status, want, "%s=%s", key, value);
}

Test(optcc_choice, sections_are_at_least_one_and_at_most_one_a_byte)
{
    static const char *const keys[] = {"segments", "rounds", "sections"};

    for (size_t i = 0; i < 3; i++) {
        check_refused(keys[i], "0", CS_EINVAL);
        check_refused(keys[i], "-1", CS_EINVAL);
        check_refused(keys[i], "101", CS_EINVAL);
        check_refused(keys[i], "1000000", CS_EINVAL);
        check_refused(keys[i], "99999999999", CS_EINVAL);
    }
}

/* From one section on, with or without a special one, a part of a round, blocks and ramps. */
Test(optcc_choice, any_number_of_sections_is_an_allreduce)
{
    static const double slows[][2] = {{2.5, 1}, {1.3, 1}, {3, 1.5}};
    char                text[40];

    for (unsigned p = 4; p <= 9; p++) {
        for (unsigned N = 1; N <= 4 * p; N++) {
            for (size_t i = 0; i < 3; i++) {
                setup s;
                make(&s, p, 1, slows[i], i == 2 ? 2 : 1, 1000003);
                set_number(&s, "sections", N);
                set_number(&s, "ramp", N % 3);
                cr_assert_eq(run(&s), CS_OK, "%s", s.err.message);
                cr_assert(s.result.verified, "p=%u N=%u: %s", p, N, s.result.verdict.text);
                cr_assert(s.result.bound_s <= s.result.elapsed_s * (1 + 1e-12));
                option_text(&s, "sections", text, sizeof text);
                cr_assert_eq((unsigned)atoi(text), N);
            }
        }
    }
}

/* The automatic choice is within 1 % of the best of many fixed ones. */
Test(optcc_choice, automatic_choice_is_near_the_best)
{
    static const double slows[] = {8.0 / 7, 4.0 / 3, 1.6, 2.0, 3.0};

    for (size_t i = 0; i < 5; i++) {
        for (unsigned p = 8; p <= 32; p *= 2) {
            double best = HUGE_VAL;
            setup  s;
            for (unsigned k = 2; k <= 256; k *= 2) {
                make(&s, p, 1, &slows[i], 1, 1 << 30);
                s.scenario.cluster.fabrics[CS_NIC].alpha_s = 1;
                set_number(&s, "segments", k);
                cr_assert_eq(run(&s), CS_OK);
                best = fmin(best, s.result.elapsed_s);
            }
            make(&s, p, 1, &slows[i], 1, 1 << 30);
            s.scenario.cluster.fabrics[CS_NIC].alpha_s = 1;
            cr_assert_eq(run(&s), CS_OK);
            cr_assert(s.result.elapsed_s <= 1.01 * best, "p=%u l=%g: %g, best fixed %g", p,
                      slows[i], s.result.elapsed_s, best);
        }
    }
}

/* Scenarios in which two schedules are compared: so many servers, slow ones, bytes and alpha. */
static const unsigned grid_p[]       = {3, 4, 5, 6, 8, 12, 17, 33, 64};
static const double   grid_slow[][4] = {{1.15},
                                        {1.5},
                                        {2},
                                        {4},
                                        {4.0 / 3, 8.0 / 7},
                                        {2, 4.0 / 3},
                                        {3, 3},
                                        {4, 1.2},
                                        {1.5, 1.5, 1.5, 1.5},
                                        {2, 3, 4, 5}};
static const double   grid_alpha[]   = {0, 1e-6, 3e-6, 30e-6};

static unsigned count_slow(const double *slow)
{
    unsigned m = 0;

    while (m < 4 && slow[m] > 0) {
        m++;
    }
    return m;
}

static double time_of(unsigned p, const double *slow, double alpha_s, uint64_t bytes,
                      const char *chosen)
{
    setup s;

    make(&s, p, 1, slow, count_slow(slow), bytes);
    s.scenario.cluster.fabrics[CS_NIC].alpha_s       = alpha_s;
    s.scenario.cluster.fabrics[CS_NIC].bandwidth_Bps = 25e9;
    set(&s, "chosen", chosen);
    s.is_unverified = true;
    cr_assert_eq(run(&s), CS_OK, "%s", s.err.message);
    return s.result.elapsed_s;
}

/* auto is at most 1 % slower than the faster one of the plain ring and OptCC. */
Test(optcc_choice, auto_runs_the_faster_schedule, .timeout = 120)
{
    double worst = 1;

    for (size_t i = 0; i < sizeof grid_p / sizeof grid_p[0]; i++) {
        for (size_t j = 0; j < sizeof grid_slow / sizeof grid_slow[0]; j++) {
            if (count_slow(grid_slow[j]) + 2 > grid_p[i]) {
                continue;
            }
            for (unsigned k = 0; k < 4 * 5; k++) {
                uint64_t      bytes = (uint64_t)1 << (14 + 4 * (k / 4));
                double        a     = grid_alpha[k % 4];
                const double *slow  = grid_slow[j];
                double        best  = fmin(time_of(grid_p[i], slow, a, bytes, "ring"),
                                           time_of(grid_p[i], slow, a, bytes, "optcc"));
                double        ratio = time_of(grid_p[i], slow, a, bytes, "auto") / best;
                worst               = fmax(worst, ratio);
                cr_expect(ratio <= 1.01, "p=%u l=%g,%g.. alpha=%g bytes=%llu: %g times the best",
                          grid_p[i], slow[0], slow[1], a, (unsigned long long)bytes, ratio);
            }
        }
    }
    cr_log_info("auto is at most %.4f times the faster schedule", worst);
}

/* Many servers, where only the estimate is quick enough: p = 1024, two a little slow. */
Test(optcc_choice, auto_of_many_servers_runs_the_faster_schedule, .timeout = 120)
{
    const double slow[4] = {4.0 / 3, 8.0 / 7};

    for (int k = 26; k <= 30; k += 2) {
        uint64_t bytes = (uint64_t)1 << k;
        double   best  = fmin(time_of(1024, slow, 3e-6, bytes, "ring"),
                              time_of(1024, slow, 3e-6, bytes, "optcc"));
        cr_expect(time_of(1024, slow, 3e-6, bytes, "auto") <= 1.01 * best, "2^%d bytes", k);
    }
}

/* The exact prediction is the replay's time, up to the bytes of a section. */
Test(optcc_choice, exact_predictions_are_the_times_of_replays)
{
    static const double slows[][4] = {{2.5}, {4}, {1.4}, {1.3, 1.1}, {3, 2}, {4, 3, 2, 1.3}};

    for (size_t i = 0; i < sizeof slows / sizeof slows[0]; i++) {
        unsigned m = count_slow(slows[i]);
        for (unsigned p = m + 2; p <= m + 14; p += 3) {
            for (unsigned rounds = cs_optcc_least_rounds(p, m); rounds <= 9; rounds++) {
                setup            s;
                cs_optcc_setting t = {.p               = p,
                                      .m               = m,
                                      .slowdown        = slows[i],
                                      .bytes           = (uint64_t)1 << 40,
                                      .port_s          = 1e4 * (rounds % 3),
                                      .s_per_byte      = 1 / RATE_BPS,
                                      .gpus_per_server = 1,
                                      .nvlink_lanes    = 1};
                for (unsigned k = 0; k < m; k++) {
                    t.largest_slowdown = fmax(t.largest_slowdown, slows[i][k]);
                    t.sum_slowdown += slows[i][k];
                }
                cs_optcc_shape shape = cs_optcc_shape_for(&t, rounds, 0, 0, false);
                make(&s, p, 1, slows[i], m, t.bytes);
                set_number(&s, "rounds", rounds);
                set(&s, "bubbles", "off");
                set(&s, "ramp", "0");
                s.scenario.cluster.fabrics[CS_NIC].alpha_s = t.port_s;
                cr_assert_eq(run(&s), CS_OK);
                double want = s.result.elapsed_s, got = cs_optcc_predict_s(&t, &shape, 1);
                cr_assert(fabs(got - want) <= 1e-8 * want, "p=%u m=%u R=%u: %.12g, replayed %.12g",
                          p, m, rounds, got, want);
            }
        }
    }
}

/* ---- against R2CCL ---- */

static double seconds_of(const setup *s, const char *algorithm)
{
    setup other = *s;

    cr_assert_eq(cs_algorithm_find(algorithm, &other.optcc, NULL), CS_OK);
    cs_fields_default(other.optcc->options, &other.options);
    cr_assert_eq(run(&other), CS_OK, "%s: %s", algorithm, other.err.message);
    return other.result.elapsed_s;
}

/* One of eight NICs dead: T0 + x/7 is less than the 2 x of OptCC without bubbles. The result says
 * what ran, and it is the schedule of `r2ccl`. */
Test(optcc_choice, r2ccl_runs_where_it_is_faster)
{
    setup s;
    char  text[40];

    make(&s, 8, 8, (double[]){8.0 / 7}, 1, 1u << 30);
    s.scenario.cluster.fabrics[CS_NIC]    = (cs_fabric){CS_SWITCHED, 3e-6, 50e9};
    s.scenario.cluster.fabrics[CS_NVLINK] = (cs_fabric){CS_SWITCHED, 1e-6, 450e9};
    s.scenario.capacity                   = s.capacity;
    cr_assert_eq(run(&s), CS_OK, "%s", s.err.message);
    cr_assert(s.result.verified);
    option_text(&s, "chosen", text, sizeof text);
    cr_assert_str_eq(text, "r2ccl");
    cr_assert_not_null(s.result.note);
    cr_expect_not_null(strstr(s.result.note, "r2ccl runs instead"));
    double auto_s = s.result.elapsed_s;
    cr_expect_eq(auto_s, seconds_of(&s, "r2ccl"));
    set(&s, "chosen", "optcc");
    cr_assert_eq(run(&s), CS_OK);
    cr_expect_lt(auto_s, s.result.elapsed_s);
    cs_fields_default(s.optcc->options, &s.options);
    set(&s, "chosen", "r2ccl");
    cr_assert_eq(run(&s), CS_OK);
    cr_expect_eq(auto_s, s.result.elapsed_s);
    cr_expect_null(s.result.note);
}

/* A line of one healthy server: OptCC needs a ring of two, R2CCL keeps a slow one as a member. */
Test(optcc_choice, r2ccl_runs_where_optcc_cannot)
{
    setup s;
    char  text[40];

    make(&s, 3, 1, (double[]){4, 1.05}, 2, 1u << 30);
    cr_assert_eq(run(&s), CS_OK, "%s", s.err.message);
    option_text(&s, "chosen", text, sizeof text);
    cr_assert_str_eq(text, "r2ccl");
    cr_expect_lt(s.result.elapsed_s, fastest_ring_s(&s));
}

/* Never slower than R2CCL or a ring, never faster than without the fault. */
Test(optcc_choice, auto_is_the_fastest_of_three)
{
    ct_rng   rng     = ct_rng_for(91);
    uint32_t n_r2ccl = 0;

    for (int i = 0; i < 120; i++) {
        uint32_t p = 3 + ct_below(&rng, 10), g = 1u << ct_below(&rng, 4), m = 1 + ct_below(&rng, 2);
        double   slow[2];
        setup    s;
        char     text[40];
        for (int k = 0; k < 2; k++) {
            slow[k] = ct_below(&rng, 2) ? 8.0 / 7 : ct_uniform(&rng, 1.02, 4);
        }
        make(&s, p, g, slow, m, (uint64_t)1 << (10 + ct_below(&rng, 22)));
        s.scenario.capacity                   = s.capacity;
        s.scenario.cluster.fabrics[CS_NIC]    = (cs_fabric){CS_SWITCHED, i % 3 * 1e-6, 50e9};
        s.scenario.cluster.fabrics[CS_NVLINK] = (cs_fabric){CS_SWITCHED, i % 2 * 1e-6, 450e9};
        cr_assert_eq(run(&s), CS_OK, "%s", s.err.message);
        double got_s = s.result.elapsed_s;
        cr_assert(s.result.verified && s.result.bound_s <= got_s * (1 + 1e-12));
        option_text(&s, "chosen", text, sizeof text);
        n_r2ccl += strcmp(text, "r2ccl") == 0;
        cr_assert_leq(got_s, fastest_ring_s(&s) * (1 + 1e-12), "p=%u g=%u: ring", p, g);
        s.scenario.n_capacity = 0;
        double none_s         = seconds_of(&s, "optcc");
        s.scenario.n_capacity = m;
        double r2ccl_s        = seconds_of(&s, "r2ccl");
        cr_assert(got_s <= r2ccl_s * (1 + 1e-12) || r2ccl_s < none_s, "p=%u g=%u: r2ccl", p, g);
        cr_assert_geq(got_s, none_s * (1 - 1e-12), "p=%u g=%u: faster than without", p, g);
    }
    cr_assert_gt(n_r2ccl, 5);
}

/* A way around two servers saves start-ups whether none, one or both of them are slow. */
Test(optcc_choice, another_slow_server_makes_nothing_faster)
{
    double last_s = 0;

    for (unsigned m = 0; m <= 2; m++) {
        setup s;
        make(&s, 8, 8, (double[]){1.05, 1.2}, m, 1u << 20);
        s.scenario.capacity                   = s.capacity;
        s.scenario.cluster.fabrics[CS_NIC]    = (cs_fabric){CS_SWITCHED, 3e-6, 50e9};
        s.scenario.cluster.fabrics[CS_NVLINK] = (cs_fabric){CS_SWITCHED, 1e-6, 450e9};
        cr_assert_eq(run(&s), CS_OK, "%s", s.err.message);
        cr_expect_geq(s.result.elapsed_s, last_s, "%u slow: %g s, one less %g s", m,
                      s.result.elapsed_s, last_s);
        last_s = s.result.elapsed_s;
    }
}

/* ---- on LogGP ---- */

/* The schedule that `auto` takes on one model, replayed on LogGP: seconds. */
static double on_loggp(setup s, const char *chosen_on)
{
    static const char *const keys[] = {"sections", "ramp", "bubbles", "copies"};
    char                     values[sizeof keys / sizeof keys[0]][40], chosen[16];

    cr_assert_eq(cs_model_find(chosen_on, &s.model, NULL), CS_OK);
    cs_fields_default(s.model->options, &s.model_options);
    cr_assert_eq(run(&s), CS_OK, "%s", s.err.message);
    option_text(&s, "chosen", chosen, sizeof chosen);
    cr_assert_str_eq(chosen, "optcc");
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        option_text(&s, keys[i], values[i], sizeof values[i]);
        set(&s, keys[i], values[i]);
    }
    cr_assert_eq(cs_model_find("loggp", &s.model, NULL), CS_OK);
    cs_fields_default(s.model->options, &s.model_options);
    cr_assert_eq(run(&s), CS_OK, "%s", s.err.message);
    cr_expect(s.result.verified);
    return s.result.elapsed_s;
}

Test(optcc_choice, what_auto_takes_on_loggp_is_never_slower_than_what_it_takes_on_alpha_beta)
{
    const double ratios[] = {8. / 7, 4. / 3, 2, 4};

    for (uint32_t servers = 8; servers <= 64; servers *= 2) {
        for (size_t i = 0; i < sizeof ratios / sizeof ratios[0]; i++) {
            setup s;
            make(&s, servers, 1, &ratios[i], 1, UINT64_C(1) << 30);
            s.scenario.cluster.fabrics[CS_NIC] = (cs_fabric){CS_SWITCHED, 3e-6, 25e9};
            s.scenario.capacity                = s.capacity;
            double own_s = on_loggp(s, "loggp"), other_s = on_loggp(s, "alpha-beta");
            cr_expect_leq(own_s, other_s, "%u servers, l = %g: %g s, %g s", servers, ratios[i],
                          own_s, other_s);
        }
    }
}

/* ---- a late rank ---- */

/* p ranks, rank `slow` slow by l (none: l = 1), rank `late` late by so many times the buffer. */
static void make_late(setup *s, unsigned p, unsigned slow, double l, unsigned late, double delay,
                      uint64_t bytes, double *arrival_s)
{
    make(s, p, 1, &l, l > 1, bytes);
    s->scenario.capacity = s->capacity;
    s->capacity[0].rank  = slow;
    for (unsigned r = 0; r < p; r++) {
        arrival_s[r] = r == late ? delay * (double)bytes / RATE_BPS : 0;
    }
    s->scenario.arrival_s = arrival_s;
}

/* Times of an independent list scheduler that knows the rules of the page alone, the best of five
 * leads, over the buffer's time. */
Test(optcc_late, reference_of_interleaved_orders)
{
    static const struct {
        unsigned p, slow, sections;
        double   l, delay, want;
    } rows[] = {
        {5, 0, 64, 1.25, 0.25, 2.0234375},    {5, 0, 64, 1.25, 1.0, 2.33203125},
        {5, 0, 64, 2, 0.5, 2.609375},         {5, 0, 64, 3, 1.5, 4.625},
        {9, 0, 128, 1.25, 0.5, 2.078125},     {9, 0, 128, 2, 1.0, 3.1171875},
        {5, 1, 48, 1.25, 0.5, 2.640625},      {5, 1, 48, 2, 0.25, 3.083333333333},
        {5, 1, 48, 3, 0.5, 3.895833333333},   {9, 1, 112, 1.25, 1.0, 2.401785714286},
        {9, 1, 112, 2, 0.25, 2.482142857143}, {9, 1, 112, 3, 1.5, 4.508928571429},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        double arrival_s[16];
        setup  s;
        make_late(&s, rows[i].p, rows[i].slow, rows[i].l, 0, rows[i].delay,
                  (uint64_t)rows[i].sections * 1000000, arrival_s);
        set(&s, "late", "interleave");
        set_number(&s, "sections", rows[i].sections);
        cr_assert_eq(run(&s), CS_OK, "%s", s.err.message);
        cr_assert(s.result.verified);
        cr_expect(fabs(relative_time(&s) - rows[i].want) < 2e-3 * rows[i].want,
                  "row %zu: %.12g, want %.12g", i, relative_time(&s), rows[i].want);
    }
}

/* Whoever is slow and late, whenever: an AllReduce, above the bound of the slowest rank after the
 * last arrival, and `auto` is the best of what there is, and not faster than without the fault. */
Test(optcc_late, auto_is_sound)
{
    ct_rng   rng           = ct_rng_for(92);
    unsigned n_interleaved = 0;

    for (int i = 0; i < 150; i++) {
        unsigned p = 3 + ct_below(&rng, 10), late = ct_below(&rng, p), slow = ct_below(&rng, p);
        double   l     = ct_below(&rng, 3) ? ct_uniform(&rng, 1, 2) : ct_uniform(&rng, 2, 4);
        double   delay = ct_uniform(&rng, 0.01, 2), arrival_s[16], best_s = HUGE_VAL;
        uint64_t bytes = (uint64_t)1 << (6 + ct_below(&rng, 22));
        char     text[40];
        setup    s;
        slow = ct_below(&rng, 2) ? late : slow;
        make_late(&s, p, slow, l, late, delay, bytes, arrival_s);
        s.scenario.cluster.fabrics[CS_NIC].alpha_s = i % 3 * 1e-3 * (double)bytes / RATE_BPS;
        double least_s                             = arrival_s[late] + l * (double)bytes / RATE_BPS;
        cr_assert_eq(run(&s), CS_OK, "%s", s.err.message);
        double got_s = s.result.elapsed_s;
        cr_assert(s.result.verified);
        cr_assert(s.result.bound_s <= got_s * (1 + 1e-12) &&
                  s.result.bound_s > least_s * (1 - 1e-9));
        option_text(&s, "late", text, sizeof text);
        n_interleaved += strcmp(text, "interleave") == 0;
        best_s                = fastest_ring_s(&s);
        s.scenario.n_capacity = 0;
        cr_assert_geq(got_s, seconds_of(&s, "optcc") * (1 - 1e-12), "p=%u l=%g delay=%g", p, l,
                      delay);
        s.scenario.n_capacity = l > 1;
        cs_fields_default(s.optcc->options, &s.options);
        set(&s, "late", "delay");
        cr_assert_eq(run(&s), CS_OK);
        best_s = fmin(best_s, s.result.elapsed_s);
        cr_assert_leq(got_s, best_s * (1 + 1e-12));
        cs_fields_default(s.optcc->options, &s.options);
        set(&s, "late", "interleave");
        if (run(&s) == CS_OK) {
            cr_assert(s.result.verified && s.result.bound_s <= s.result.elapsed_s * (1 + 1e-12));
        }
    }
    cr_assert_gt(n_interleaved, 20, "%u", n_interleaved);
}

Test(optcc_late, resolved_options_resolve_to_themselves)
{
    double arrival_s[16];
    setup  s;

    make_late(&s, 9, 3, 1.25, 3, 1, 1 << 26, arrival_s);
    cr_assert_eq(run(&s), CS_OK);
    double first_s = s.result.elapsed_s;
    s.options      = s.result.options;
    cr_assert_eq(run(&s), CS_OK);
    cr_assert_eq(s.result.elapsed_s, first_s);
}

/* A forecast that counts the schedules of OptCC that it is asked for. All take as long as a late
 * rank in which nothing is hidden. */
static unsigned n_asked;

static cs_status count(const cs_forecast *forecast, const cs_scenario *scenario,
                       const cs_algorithm *algorithm, const void *options, const cs_plan *plan,
                       double *elapsed_s_p, cs_error *err)
{
    (void)forecast, (void)options, (void)plan, (void)err;
    n_asked += strcmp(algorithm->name, "optcc") == 0;
    *elapsed_s_p = cs_last_arrival(scenario) + 2 * (double)scenario->bytes / RATE_BPS;
    return CS_OK;
}

/* Random arrivals ask for a choice each: nothing is replayed for it where predictions are good. */
Test(optcc_late, no_order_is_replayed_where_its_end_is_known)
{
    double      arrival_s[16];
    cs_plan     plan = {0};
    char        text[40];
    setup       s;
    cs_forecast forecast = {
        .elapsed_s = count, .model = cs_models[0], .model_options = &s.model_options};

    make_late(&s, 12, 0, 1, 3, 20, 1 << 22, arrival_s);
    cr_assert_str_eq(cs_models[0]->name, "alpha-beta");
    s.scenario.forecast = &forecast;
    cr_assert_eq(cs_algorithm_check(s.optcc, &s.scenario, &s.options, &plan, &s.err), CS_OK);
    cs_plan_release(s.optcc, &plan);
    cs_field_text(cs_field_find(s.optcc->options, "late"), &s.options, text, sizeof text);
    cr_expect_str_eq(text, "interleave");
    cr_expect_eq(n_asked, 0, "%u", n_asked);
}

/* Hundreds of ranks: a second or two, more where everything is slow. */
Test(optcc_late, many_ranks_are_interleaved_quickly)
{
    double  arrival_s[700];
    clock_t begin = clock();
    setup   s;

    make_late(&s, 700, 5, 1.25, 5, 0.5, 1 << 30, arrival_s);
    set(&s, "late", "interleave");
    s.is_unverified = true;
    cr_assert_eq(run(&s), CS_OK, "%s", s.err.message);
    cr_expect_gt(s.result.elapsed_s, s.result.bound_s);
    cr_expect_lt(clock() - begin, 15 * CLOCKS_PER_SEC);
}

static void check_not_interleaved(setup *s, const char *why)
{
    set(s, "late", "interleave");
    cr_assert_eq(run(s), CS_ENOTSUP, "%s", why);
    cr_expect_str_eq(s->err.where, "algorithm.options.late");
    cr_expect_not_null(strstr(s->err.message, why), "%s", s->err.message);
}

Test(optcc_late, what_cannot_be_interleaved_is_refused)
{
    double arrival_s[1024];
    setup  s;

    make(&s, 8, 1, (double[]){2}, 1, 1 << 20);
    check_not_interleaved(&s, "needs a late rank");
    make_late(&s, 8, 1, 2, 0, 1, 1 << 20, arrival_s);
    s.capacity[1]         = (cs_capacity){.rank = 3, .slowdown = 2, .until_s = (double)INFINITY};
    s.scenario.n_capacity = 2;
    check_not_interleaved(&s, "one slow NIC at most");
    make_late(&s, 3, 1, 2, 0, 1, 1 << 20, arrival_s);
    check_not_interleaved(&s, "two other ranks");
    make_late(&s, 8, 1, 2, 0, 1, 1 << 20, arrival_s);
    s.scenario.cluster.gpus_per_server = 2;
    s.capacity[0].rank                 = 0;
    check_not_interleaved(&s, "servers of one GPU");
    make_late(&s, 1024, 1, 2, 0, 1, 1 << 30, arrival_s);
    check_not_interleaved(&s, "at most 1048576 are accepted");
    make_late(&s, 8, 1, 2, 0, 1, 100, arrival_s);
    set(&s, "late", "interleave");
    set(&s, "sections", "101");
    cr_assert_eq(run(&s), CS_EINVAL);
    cr_expect_str_eq(s.err.where, "algorithm.options.sections");
}

/* Without memory for it the run fails cleanly, wherever that happens. */
Test(optcc_late, failed_allocations_are_reported)
{
    double arrival_s[16];
    int    passes = 0;

    for (bool failed = true; failed; passes++) {
        setup s;
        make_late(&s, 6, 2, 1.5, 2, 1, 1 << 20, arrival_s);
        set(&s, "late", "interleave");
        cs_alloc_fail_after(passes);
        cs_status status = run(&s);
        cs_alloc_fail_after(-1);
        failed = status != CS_OK;
        cr_assert(!failed || status == CS_ENOMEM, "%d: %s", passes, s.err.message);
        cr_assert_lt(passes, 2000);
    }
    cr_assert_gt(passes, 20);
}
