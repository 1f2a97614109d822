/* SPDX-License-Identifier: GPL-3.0-or-later */
/* OptCC against reference times and its formulas. */
#include "optcc_rows.h"
#include "optcc_setup.h"

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
