/* SPDX-License-Identifier: GPL-3.0-or-later */
/* OptCC against reference times, its formulas, and its promises about choice and fall-backs. */
#include "cs/result.h"
#include "optcc_rows.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_SLOW = 8 };

static const double RATE_BPS = 1e6;

typedef struct setup {
    cs_scenario         scenario;
    cs_fault            faults[MOST_SLOW];
    const cs_algorithm *optcc;
    cs_options          options, model_options;
    cs_result           result;
    cs_error            err;
} setup;

static void make(setup *s, unsigned p, unsigned g, const double *slow, unsigned m, uint64_t bytes)
{
    cs_fabric nic    = {CS_SWITCHED, 0, RATE_BPS};
    cs_fabric nvlink = {CS_SWITCHED, 0, RATE_BPS * (g > 1 ? g - 1 : 1)};

    *s                                     = (setup){.scenario = {.bytes = bytes, .n_faults = m}};
    s->scenario.faults                     = s->faults;
    s->scenario.cluster                    = (cs_cluster){.n_ranks = p * g, .gpus_per_server = g};
    s->scenario.cluster.fabrics[CS_NIC]    = nic;
    s->scenario.cluster.fabrics[CS_NVLINK] = nvlink;
    for (unsigned i = 0; i < m; i++) {
        s->faults[i] = (cs_fault){i * g, slow[i], 0, (double)INFINITY};
    }
    cr_assert_eq(cs_algorithm_find("optcc", &s->optcc, NULL), CS_OK);
    cs_options_default(s->optcc->options, &s->options);
    cs_options_default(cs_models[0]->options, &s->model_options);
}

static void set(setup *s, const char *key, const char *value)
{
    cr_assert_eq(cs_options_set(s->optcc->options, &s->options, key, value, key, &s->err), CS_OK,
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
    const cs_run r = {.scenario      = &s->scenario,
                      .algorithm     = s->optcc,
                      .options       = &s->options,
                      .model         = cs_models[0],
                      .model_options = &s->model_options,
                      .verify        = true};
    return cs_run_scenario(&r, &s->result, &s->err);
}

/* T over the time of the buffer on a healthy NIC of a server. */
static double relative_time(const setup *s)
{
    double share = (double)s->scenario.bytes / s->scenario.cluster.gpus_per_server;
    return s->result.elapsed_s / (share / RATE_BPS);
}

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
    cr_assert_eq(cs_options_set(cs_models[0]->options, &s->model_options, "propagation_s", text, "",
                                &s->err),
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

static void option_text(const setup *s, const char *key, char *text, size_t bytes)
{
    for (const cs_option *o = s->result.option_table; o->name != NULL; o++) {
        if (strcmp(o->name, key) == 0) {
            cs_option_text(o, &s->result.options, text, bytes);
            return;
        }
    }
    cr_assert_fail("no option %s", key);
}

Test(optcc, without_a_slow_server_the_ring_runs)
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

Test(optcc, the_ring_runs_where_it_is_predicted_to_be_faster)
{
    double slow[] = {8.0 / 7};
    setup  s;

    make(&s, 3, 1, slow, 1, 30000);
    s.scenario.cluster.fabrics[CS_NIC].alpha_s = 0.05;
    cr_assert_eq(run(&s), CS_OK);
    cr_assert_eq(s.result.rounds, 4);
}

Test(optcc, all_servers_slow_is_refused)
{
    double slow[] = {2, 2, 2, 2};
    setup  s;

    make(&s, 4, 1, slow, 4, 1 << 20);
    cr_assert_eq(run(&s), CS_ENOTSUP);
    cr_assert_str_eq(s.err.where, "faults");
}

Test(optcc, more_sections_than_bytes_are_refused)
{
    double slow[] = {2};
    setup  s;

    make(&s, 8, 1, slow, 1, 100);
    set(&s, "segments", "64");
    cr_assert_eq(run(&s), CS_EINVAL);
    cr_assert_str_eq(s.err.where, "algorithm.options.segments");
}

/* The automatic choice is within 1 % of the best of many fixed ones. */
Test(optcc, automatic_choice_is_near_the_best)
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
