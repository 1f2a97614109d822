/* SPDX-License-Identifier: GPL-3.0-or-later */
/* NICs that fail, against closed forms: a line A + B S of a log, taken for nccl_rings on N servers
 * of g GPUs, is 2 (n-1) (alpha + S / (n g r)), so that a server whose k NICs together are slower by
 * l makes A + l B S of it. */
#include "base/alloc.h"
#include "support/program.h"
#include "support/rng.h"
#include "traces/calibration_json.h"
#include "whatif/nic.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef COLLSIM_SOURCE_DIR
#error "COLLSIM_SOURCE_DIR is the root of the sources"
#endif

/* Two DGX A100: 8 NICs of 25 GB/s each, 16 GPUs. */
enum { RANKS = 16, GPUS = 8, NICS = 8 };

#define BYTES   ((uint64_t)1 << 30)
#define ALPHA   50e-6
#define RATE    20e9 /* of a GPU's part of the NICs, in use */
#define NOMINAL 25e9
#define CLOSE   1e-9

static const double steps = 2 * (RANKS - 1);

static double a_s(void)
{
    return steps * ALPHA;
}

static double b_s(void)
{
    return steps / RANKS / GPUS / RATE;
}

static double ring_s(double a, double b, double slowdown)
{
    return a + slowdown * b * (double)BYTES;
}

/* A log of so many ranks with one line; the ends of its interval are 4 % and 2 % away. */
static cs_calibration log_of(double a, double b)
{
    cs_calibration c = {.collective = CS_ALLREDUCE, .n_ranks = RANKS, .n_regimes = 1};

    c.regimes[0] = (cs_regime){.min_bytes = 1 << 20,
                               .max_bytes = (uint64_t)1 << 33,
                               .n_points  = 14,
                               .line      = {.intercept_s           = a,
                                             .intercept_low_s       = 0.96 * a,
                                             .intercept_high_s      = 1.04 * a,
                                             .slope_s_per_byte      = b,
                                             .slope_low_s_per_byte  = 0.98 * b,
                                             .slope_high_s_per_byte = 1.02 * b},
                               .held_out  = {.mean_ratio = 0.01, .max_ratio = 0.03, .n = 14}};
    return c;
}

static const char *const rings[] = {"nccl_rings"};

/* A NIC that fails, as a question has it. */
typedef struct nic_fault {
    uint32_t server, nic;
    double   slowdown; /* INFINITY: it is dead */
} nic_fault;

static cs_status set_fault(cs_config *config, const nic_fault *f, cs_error *err)
{
    char text[120], slowdown[40] = "null";

    if (isfinite(f->slowdown)) {
        snprintf(slowdown, sizeof slowdown, "%.17g", f->slowdown);
    }
    snprintf(text, sizeof text, "{\"server\": %u, \"nic\": %u, \"slowdown\": %s}", f->server,
             f->nic, slowdown);
    return cs_config_set(config, "faults[]", text, "--kill-nic", err);
}

/* The question about two DGX A100, of all that is not said: one algorithm. */
static cs_status ask(const cs_calibration *c, const nic_fault *faults, size_t n, const char *model,
                     cs_nic_question q, cs_nic_report *report, cs_error *err)
{
    cs_config *config = NULL;
    cs_status  status = cs_config_new(&config, err);

    q.config      = config;
    q.topology    = q.topology != NULL ? q.topology : "dgx-a100";
    q.calibration = c;
    q.bytes       = q.bytes > 0 ? q.bytes : BYTES;
    for (size_t i = 0; status == CS_OK && i < n; i++) {
        status = set_fault(config, &faults[i], err);
    }
    if (status == CS_OK && model != NULL) {
        status = cs_config_set(config, "model.name", model, "--model", err);
    }
    if (status == CS_OK) {
        status = cs_nic_answer(&q, report, err);
    }
    cs_config_free(config);
    return status;
}

static cs_nic_report answer(const cs_calibration *c, const nic_fault *faults, size_t n,
                            const char *model, cs_nic_question q)
{
    cs_nic_report report = {0};
    cs_error      err    = {0};

    cr_assert_eq(ask(c, faults, n, model, q, &report, &err), CS_OK, "%s: %s", err.where,
                 err.message);
    return report;
}

static const cs_nic_question only_rings = {.algorithms = rings, .n_algorithms = 1};

static const cs_nic_line *line_of(const cs_nic_report *r, const char *name, cs_nic_sharing sharing)
{
    for (size_t i = 0; i < r->n_lines; i++) {
        if (strcmp(r->lines[i].algorithm, name) == 0 && r->lines[i].sharing == sharing) {
            return &r->lines[i];
        }
    }
    cr_assert(false, "no line of %s", name);
    return NULL;
}

#define EXPECT_NEAR(value, want) \
    cr_expect_lt(fabs((value) - (want)), CLOSE *fabs(want), "%.17g, not %.17g", (value), (want))

Test(nic, a_dead_one_leaves_the_rate_of_the_others)
{
    const cs_calibration c     = log_of(a_s(), b_s());
    const nic_fault      fault = {1, 3, (double)INFINITY};
    cs_nic_report        r     = answer(&c, &fault, 1, NULL, only_rings);
    const cs_nic_line   *line  = &r.lines[0];
    const double         l = NICS / (NICS - 1.0), busbw = steps / RANKS * (double)BYTES / 1e9;

    cr_assert_eq(r.n_lines, 1);
    cr_assert_eq(r.n_failed, 1);
    cr_expect_eq(r.servers[0].server, 1);
    EXPECT_NEAR(r.servers[0].slowdown[CS_NIC_POOLED_SHARES], l);
    EXPECT_NEAR(r.nominal_Bps, NICS * NOMINAL);
    EXPECT_NEAR(r.in_use_Bps.value, NICS * RATE);
    EXPECT_NEAR(r.in_use_Bps.low, NICS * RATE / 1.02);
    EXPECT_NEAR(r.in_use_Bps.high, NICS * RATE / 0.98);
    EXPECT_NEAR(r.alpha_s.value, ALPHA);
    EXPECT_NEAR(r.alpha_s.high, 1.04 * ALPHA);
    EXPECT_NEAR(line->before_s.value, ring_s(a_s(), b_s(), 1));
    EXPECT_NEAR(line->during_s.value, ring_s(a_s(), b_s(), l));
    EXPECT_NEAR(line->during_s.low, ring_s(0.96 * a_s(), 0.98 * b_s(), l));
    EXPECT_NEAR(line->during_s.high, ring_s(1.04 * a_s(), 1.02 * b_s(), l));
    EXPECT_NEAR(line->after_s.value, ring_s(a_s(), b_s(), 1));
    EXPECT_NEAR(line->during_busbw_GBps, busbw / ring_s(a_s(), b_s(), l));
    cr_expect_eq(line->saved_s.value, 0);
    cr_expect(line->is_baseline);
    EXPECT_NEAR(r.reference_s, line->before_s.value);
    cs_nic_report_free(&r);
}

Test(nic, a_slow_one_costs_what_its_striping_makes_of_it)
{
    const cs_calibration c             = log_of(a_s(), b_s());
    const double         L             = 4;
    const nic_fault      fault         = {0, 7, L};
    cs_nic_report        r             = answer(&c, &fault, 1, NULL, only_rings);
    const double want[CS_NIC_SHARINGS] = {[CS_NIC_POOLED_SHARES]  = NICS / (NICS - 1 + 1 / L),
                                          [CS_NIC_EQUAL_SHARES]   = L,
                                          [CS_NIC_WITHOUT_SHARES] = NICS / (NICS - 1.0)};

    cr_assert_eq(r.n_lines, CS_NIC_SHARINGS);
    for (cs_nic_sharing h = 0; h < CS_NIC_SHARINGS; h++) {
        const cs_nic_line *line = line_of(&r, "nccl_rings", h);
        EXPECT_NEAR(line->during_s.value, ring_s(a_s(), b_s(), want[h]));
        EXPECT_NEAR(line->before_s.value, ring_s(a_s(), b_s(), 1));
        cr_expect_eq(line->is_baseline, h == CS_NIC_EQUAL_SHARES);
    }
    const cs_nic_line *best = line_of(&r, "nccl_rings", CS_NIC_POOLED_SHARES);
    cr_expect_eq(best->place, 1);
    EXPECT_NEAR(best->saved_s.value,
                (want[CS_NIC_EQUAL_SHARES] - want[CS_NIC_POOLED_SHARES]) * b_s() * (double)BYTES);
    cr_expect_lt(best->saved_s.low, best->saved_s.value);
    cr_expect_gt(best->saved_s.high, best->saved_s.value);
    cs_nic_report_free(&r);
}

Test(nic, several_count_per_server)
{
    const cs_calibration c        = log_of(a_s(), b_s());
    const nic_fault      faults[] = {{1, 0, (double)INFINITY}, {0, 2, 2}, {1, 5, (double)INFINITY}};
    cs_nic_report        r        = answer(&c, faults, 3, NULL, only_rings);

    cr_assert_eq(r.n_failed, 2);
    cr_expect_eq(r.servers[0].n_slow, 1);
    cr_expect_eq(r.servers[1].n_dead, 2);
    EXPECT_NEAR(r.servers[1].slowdown[CS_NIC_POOLED_SHARES], NICS / (NICS - 2.0));
    EXPECT_NEAR(line_of(&r, "nccl_rings", CS_NIC_POOLED_SHARES)->during_s.value,
                ring_s(a_s(), b_s(), NICS / (NICS - 2.0)));
    EXPECT_NEAR(line_of(&r, "nccl_rings", CS_NIC_EQUAL_SHARES)->during_s.value,
                ring_s(a_s(), b_s(), 2));
    cs_nic_report_free(&r);
}

/* More than a ring gets out of 8 NICs of 25 GB/s, and less than the schedule that moves least. */
Test(nic, a_log_that_is_faster_than_rings_was_of_another_schedule)
{
    const cs_calibration c     = log_of(a_s(), b_s() * RATE / 28e9);
    const nic_fault      fault = {0, 0, (double)INFINITY};
    cs_nic_report        r     = answer(&c, &fault, 1, NULL, only_rings);

    cr_expect_str_eq(r.baseline, "parallel_rings");
    cr_expect(r.is_other);
    EXPECT_NEAR(r.default_Bps, GPUS * 28e9);
    cr_expect_leq(r.in_use_Bps.value, GPUS * NOMINAL);
    const cs_nic_line *line = line_of(&r, "parallel_rings", CS_NIC_POOLED_SHARES);
    EXPECT_NEAR(line->before_s.value, ring_s(a_s(), b_s() * RATE / 28e9, 1));
    cr_expect(line->is_baseline);
    cr_expect_not(line_of(&r, "nccl_rings", CS_NIC_POOLED_SHARES)->is_baseline);
    cs_nic_report_free(&r);
}

/* A size that no regime holds lies on the join of those beside it, with the larger of their errors.
 */
Test(nic, between_two_regimes_lies_their_join)
{
    cs_calibration  c     = log_of(a_s(), b_s());
    const nic_fault fault = {0, 0, (double)INFINITY};
    double          a = 0, b = 0;

    c.n_regimes                      = 2;
    c.regimes[1]                     = log_of(2 * a_s(), b_s() * 1.5).regimes[0];
    c.regimes[0].max_bytes           = BYTES / 2;
    c.regimes[1].min_bytes           = BYTES * 2;
    c.regimes[1].held_out.mean_ratio = 0.2;
    c.regimes[0].held_out.max_ratio  = 0.5;
    cs_line_join(&c.regimes[0].line, BYTES / 2, &c.regimes[1].line, BYTES * 2, BYTES, &a, &b);
    cs_nic_report r = answer(&c, &fault, 1, NULL, only_rings);
    cr_assert(b > b_s() && b < 1.5 * b_s());
    EXPECT_NEAR(r.lines[0].before_s.value, ring_s(a, b, 1));
    EXPECT_NEAR(r.lines[0].during_s.value, ring_s(a, b, NICS / (NICS - 1.0)));
    EXPECT_NEAR(r.lines[0].before_s.high, ring_s(1.04 * a, 1.02 * b, 1));
    cr_expect_eq(r.regime.held_out.mean_ratio, 0.2);
    cr_expect_eq(r.regime.held_out.max_ratio, 0.5);
    cr_expect_eq(r.regime.n_points, (size_t)28);
    cs_nic_report_free(&r);
}

/* A captured run says what ran; a ring of ranks crosses with one NIC of a server, that of one GPU.
 */
Test(nic, a_captured_run_says_what_ran)
{
    cs_calibration  c     = log_of(a_s(), b_s() * GPUS);
    const nic_fault fault = {0, 0, (double)INFINITY};

    memcpy(c.schedule, "ring", sizeof "ring");
    cs_nic_report r = answer(&c, &fault, 1, NULL, only_rings);
    cr_expect_str_eq(r.baseline, "ring");
    cr_expect(line_of(&r, "ring", CS_NIC_POOLED_SHARES)->is_baseline);
    EXPECT_NEAR(r.in_use_Bps.value, NICS * RATE);
    EXPECT_NEAR(line_of(&r, "ring", CS_NIC_POOLED_SHARES)->during_s.value,
                ring_s(a_s(), b_s() * GPUS, NICS / (NICS - 1.0)));
    cs_nic_report_free(&r);
}

Test(nic, servers_that_differ_are_refused)
{
    cs_calibration        c      = log_of(a_s(), b_s());
    const nic_fault       fault  = {0, 0, 2};
    const cs_nic_question q      = {.topology = "adapcc"};
    cs_nic_report         report = {0};
    cs_error              err    = {0};

    c.n_ranks = 24;
    cr_assert_eq(ask(&c, &fault, 1, NULL, q, &report, &err), CS_ENOTSUP);
    cr_expect_not_null(strstr(err.message, "servers that differ"), "%s", err.message);
}

/* An interval that has no end at one side is none. */
Test(nic, intervals_without_ends_are_none)
{
    cs_calibration  c                      = log_of(a_s(), b_s());
    const nic_fault fault                  = {0, 0, (double)INFINITY};
    c.regimes[0].line.slope_low_s_per_byte = 0;
    cs_nic_report r                        = answer(&c, &fault, 1, NULL, only_rings);

    cr_expect(isnan(r.lines[0].during_s.low) && isnan(r.lines[0].during_s.high));
    cr_expect(isnan(r.in_use_Bps.low) && isnan(r.lines[0].saved_s.low));
    EXPECT_NEAR(r.lines[0].before_s.value, ring_s(a_s(), b_s(), 1));
    cs_nic_report_free(&r);
}

Test(nic, other_models_and_collectives_take_the_time_of_the_log)
{
    static const char *const   models[] = {"alpha-beta", "loggp", "flow"};
    static const cs_collective done[] = {CS_ALLREDUCE, CS_ALLGATHER, CS_REDUCESCATTER, CS_ALLTOALL};
    const nic_fault            fault  = {0, 0, (double)INFINITY};

    for (size_t m = 0; m < 3; m++) {
        for (size_t k = 0; k < 4; k++) {
            cs_calibration c  = log_of(a_s(), b_s() * (done[k] == CS_ALLTOALL ? 4 : 1));
            c.collective      = done[k];
            const char   *own = done[k] == CS_ALLTOALL ? "allpairs" : "nccl_rings";
            cs_nic_report r   = answer(&c, &fault, 1, models[m],
                                       (cs_nic_question){.algorithms = &own, .n_algorithms = 1});
            const double  want =
                ring_s(c.regimes[0].line.intercept_s, c.regimes[0].line.slope_s_per_byte, 1);
            cr_expect_lt(fabs(r.lines[0].before_s.value - want), 1e-7 * want,
                         "%s, %s: %.17g, %.17g", models[m], own, r.lines[0].before_s.value, want);
            cr_expect_gt(r.lines[0].during_s.value, r.lines[0].before_s.value);
            cs_nic_report_free(&r);
        }
    }
}

/* Whatever fails, on whatever machine: no time is below the bound, nor below the best without the
 * fault, and no schedule is faster for the fault. */
Test(nic, nothing_is_faster_for_a_fault)
{
    static const char *const topologies[] = {"dgx-a100", "p4d.24xlarge", "p5.48xlarge"};
    static const uint32_t    used[]       = {8, 4, 32};
    ct_rng                   rng          = ct_rng_for(11);

    for (int draw = 0; draw < 6; draw++) {
        size_t         t = (size_t)draw % 3, n = 1 + (size_t)draw % 3;
        cs_calibration c = log_of(a_s() * ct_uniform(&rng, 1, 4), b_s() * ct_uniform(&rng, 4, 7));
        nic_fault      faults[3];
        c.n_ranks      = draw % 2 == 0 ? 16 : 24;
        uint32_t first = ct_below(&rng, used[t]);
        for (size_t i = 0; i < n; i++) {
            uint32_t nic = (first + (uint32_t)i) % used[t];
            faults[i]    = (nic_fault){ct_below(&rng, 2), nic, ct_uniform(&rng, 1, 7)};
        }
        faults[0].slowdown = draw % 4 == 0 ? (double)INFINITY : faults[0].slowdown;
        cs_nic_report r = answer(&c, faults, n, NULL, (cs_nic_question){.topology = topologies[t]});
        cr_assert_gt(r.n_lines, 10);
        for (size_t i = 0; i < r.n_lines && r.lines[i].is_available; i++) {
            const cs_nic_line *line = &r.lines[i];
            cr_expect_geq(line->during_s.value * (1 + CLOSE), line->before_s.value, "%s, draw %d",
                          line->algorithm, draw);
            cr_expect_geq(line->during_s.value * (1 + CLOSE), r.reference_s);
            cr_expect_geq(line->during_s.value * (1 + CLOSE), line->bound_s, "%s", line->algorithm);
            cr_expect_geq(line->before_s.value * (1 + CLOSE), line->before_bound_s);
            cr_expect_geq(line->gap, 1 - CLOSE);
            cr_expect_leq(line->during_s.low, line->during_s.value * (1 + CLOSE));
            cr_expect_geq(line->during_s.high * (1 + CLOSE), line->during_s.value);
            cr_expect(i == 0 || line[-1].place <= line->place);
        }
        cs_nic_report_free(&r);
    }
}

Test(nic, memory_runs_out_at_every_step)
{
    const cs_calibration c         = log_of(a_s(), b_s());
    const nic_fault      fault     = {0, 3, 2};
    long                 n_refused = 0;

    for (long passes = 0;; passes++) {
        cs_nic_report report = {0};
        cs_error      err    = {0};
        cs_alloc_fail_after(passes);
        cs_status status = ask(&c, &fault, 1, NULL, only_rings, &report, &err);
        cs_alloc_fail_after(-1);
        if (status == CS_OK) {
            cs_nic_report_free(&report);
            break;
        }
        cr_assert_eq(status, CS_ENOMEM, "%ld: %s: %s", passes, err.where, err.message);
        cr_assert_eq(err.status, CS_ENOMEM);
        n_refused++;
    }
    cr_assert_gt(n_refused, 50);
}

/* ---- as text ---- */

/* A field of a CSV line, as it stands. */
static const char *field_of(const char *line, size_t index, char *field, size_t bytes)
{
    size_t at = 0, n = 0;
    bool   quoted = false;

    for (const char *p = line; *p != '\0' && *p != '\n'; p++) {
        quoted = *p == '"' ? !quoted : quoted;
        if (*p == ',' && !quoted) {
            at++;
        } else if (at == index && *p != '"' && n + 1 < bytes) {
            field[n++] = *p;
        }
    }
    field[n] = '\0';
    return field;
}

/* Every column of the CSV is a key of the lines in JSON with the same value. */
Test(nic, columns_say_the_same_in_both_forms)
{
    const cs_calibration c     = log_of(a_s(), b_s());
    const nic_fault      fault = {0, 3, 2};
    cs_nic_report        r     = answer(&c, &fault, 1, NULL, (cs_nic_question){0});
    cs_text              json = {0}, csv = {0};
    json_error_t         wrong;
    char                 key[64], field[400], number[32];
    size_t               n_columns = 0, row = 0;

    cs_nic_json(&r, 1, &json);
    cs_nic_csv(&r, 1, &csv);
    json_t *tree = json_loads(json.data, 0, &wrong);
    cr_assert_not_null(tree, "%s", wrong.text);
    json_t *report = json_array_get(tree, 0), *lines = json_object_get(report, "lines");
    cr_assert_eq(json_array_size(lines), r.n_lines);
    for (const char *line = strchr(csv.data, '\n') + 1; *line != '\0'; row++) {
        json_t *object = json_array_get(lines, row);
        for (n_columns = 1; field_of(csv.data, n_columns, key, sizeof key)[0] != '\0';
             n_columns++) {
            json_t *value = json_object_get(object, key);
            (void)field_of(line, n_columns, field, sizeof field);
            if (json_is_string(value)) {
                cr_expect_str_eq(field, json_string_value(value), "%s", key);
            } else if (json_is_number(value)) {
                cs_number_text(json_number_value(value), number, sizeof number);
                cr_expect_str_eq(field, number, "%s", key);
            } else if (json_is_boolean(value)) {
                cr_expect_str_eq(field, json_is_true(value) ? "true" : "false", "%s", key);
            } else {
                cr_expect_str_eq(field, "", "%s of row %zu", key, row);
            }
        }
        line = strchr(line, '\n') + 1;
    }
    cr_expect_eq(row, r.n_lines);
    cr_expect_gt(n_columns, 20);
    EXPECT_NEAR(json_number_value(json_object_get(report, "server_in_use_Bps")),
                r.in_use_Bps.value);
    json_decref(tree);
    cs_text_free(&json);
    cs_text_free(&csv);
    cs_nic_report_free(&r);
}

/* A calibration may be the log itself. */
Test(nic, a_log_is_calibrated_when_it_is_loaded)
{
    static const char path[] = COLLSIM_SOURCE_DIR "/traces/generated-ring8.log";
    const char       *paths  = path;
    cs_calibration   *left = NULL, *right = NULL;
    cs_text           a = {0}, b = {0};

    cr_assert_eq(cs_calibration_load(path, &left, NULL), CS_OK);
    cr_assert_eq(cs_calibrate(&paths, 1, &(cs_calibrate_options){0}, &right, NULL), CS_OK);
    cs_calibration_json(left, &a);
    cs_calibration_json(right, &b);
    cr_expect_str_eq(a.data, b.data);
    cs_text_free(&a);
    cs_text_free(&b);
    cs_calibration_free(left);
    cs_calibration_free(right);
}

/* ---- what is refused, as a user meets it ---- */

#define P4D  " --topology p4d.24xlarge"
#define LOG  " --calibration " COLLSIM_SOURCE_DIR "/traces/a100x16-p4de-allreduce.json"
#define RING " --calibration " COLLSIM_SOURCE_DIR "/traces/generated-ring8.log"

Test(nic_cli, refuses_with_the_reason)
{
    static const struct {
        const char *arguments, *words;
    } cases[] = {
        {"whatif --kill-nic 0.3@1ms" P4D LOG, "a NIC fails before the call here"},
        {"whatif --slow-nic 0.3=2@0s:2ms" P4D LOG, "--slow-nic: a NIC fails before the call here"},
        {"whatif --kill-nic 0.3=2" P4D LOG, "'0.3=2' is not of the form SERVER.NIC[@FROM[:UNTIL]]"},
        {"whatif --slow-nic 3" P4D LOG, "'3' is not of the form SERVER.NIC=L[@FROM[:UNTIL]]"},
        {"whatif --slow-nic 0.3=0.5" P4D LOG, "0.5 is outside [1, 1000000000]"},
        {"whatif --slow-nic 0.3=x" P4D LOG, "'x' is not a number"},
        {"whatif --kill-nic .3" P4D LOG, "'.3' is not of the form"},
        {"whatif --kill-nic 1." P4D LOG, "--kill-nic"},
        {"whatif --kill-nic x" P4D LOG, "--kill-nic"},
        {"whatif --kill-nic 0.4" P4D LOG, "NIC 4 is not there: server 0 has 4, 0 to 3"},
        {"whatif --kill-nic 2.0" P4D LOG, "server 2 is not there: accepted are 0 to 1"},
        {"whatif --kill-nic 0.3 --set 'faults[0].failover=\"none\"'" P4D LOG,
         "other failovers do not go with --kill-nic"},
        {"whatif --kill-nic 0.0 --kill-nic 0.1 --kill-nic 0.2 --kill-nic 0.3" P4D LOG,
         "the last NIC of server 0 dies"},
        {"whatif --kill-nic 0.5 -g 4 --topology dgx-a100" RING,
         "NIC 5 is used by none of the 4 GPUs"},
        {"whatif --kill-nic 0.3" P4D RING, "8 ranks are within one server of p4d.24xlarge"},
        {"whatif --kill-nic 0.0 -g 2 --topology dgx-a100" RING,
         "the log is faster than the topology"},
        {"whatif --kill-nic 0.0 --baseline nccl_rings" P4D LOG,
         "nccl_rings would move 78.94 GB/s out of a server whose 4 NICs carry 50 GB/s"},
        {"whatif --kill-nic 0.3 -s 4" P4D LOG, "--bytes: not calibrated here: 4 B"},
        {"whatif --kill-nic 0.3 -s 1T,2T" P4D LOG, "--bytes: not calibrated here: 1 TiB"},
        {"whatif --kill-nic 0.3 -s 8" P4D LOG,
         "takes longer than the log at 8 bytes within servers"},
        {"whatif --kill-nic 0.3 -s 0" P4D LOG, "--bytes: 0: accepted are 1 to"},
        {"whatif --kill-nic 0.3 -s ,1" P4D LOG, "--bytes: ',1' is not a list of up to 64 sizes"},
        {"whatif --kill-nic 0.3 -n 32" P4D LOG, "--ranks: not calibrated here: 32 ranks"},
        {"whatif --kill-nic 0.3" LOG, "--topology: is missing"},
        {"whatif --kill-nic 0.3" P4D, "--calibration: is missing"},
        {"whatif --kill-nic 0.0 --topology adapcc" LOG, "the last NIC of server 0 dies"},
        {"whatif --kill-nic 0.3 --topology nowhere" LOG, "unknown topology"},
        {"whatif --kill-nic 0.3 --trace x.csv" P4D LOG, "two questions"},
        {"whatif --kill-nic 0.3 --preset nccl" P4D LOG, "--preset: belongs to a job"},
        {"whatif --kill-nic 0.3 --alpha 1us" P4D LOG, "--alpha: belongs to a trace"},
        {"whatif --set 'faults=[{\"rank\": 1, \"slowdown\": 2}]' --kill-nic 0.3" P4D LOG,
         "those of all NICs of a server do not go with --kill-nic"},
        {"whatif --kill-nic 0.3 --set 'sweep.seed=[1,2]'" P4D LOG, "takes one scenario"},
        {"whatif --kill-nic 0.3 x.json" P4D LOG, "x.json: NICs that fail take no configuration"},
        {"whatif --kill-nic 0.3 -a nothing" P4D LOG, "--algorithm: no algorithm 'nothing'"},
        {"whatif --kill-nic 0.3 --baseline nothing" P4D LOG, "--baseline: no algorithm 'nothing'"},
        {"whatif --topology dgx-a100 " COLLSIM_SOURCE_DIR "/configs/whatif-change.json",
         "--topology: belongs to NICs that fail"},
        {"whatif -a ring " COLLSIM_SOURCE_DIR "/configs/whatif-change.json",
         "-a: belongs to a trace of arrivals, --trace FILE, or to NICs that fail"},
        {"whatif", "needs a configuration, a trace or a NIC"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ct_program_says(cases[i].arguments, 2, cases[i].words);
    }
}

Test(nic_cli, says_of_some_sizes_that_they_are_not_calibrated)
{
    ct_program_says("whatif --kill-nic 0.3 -s 4,1G -a optcc" P4D LOG, 0,
                    "note: size 4: --bytes: not calibrated here: 4 B");
    ct_program_says("whatif --kill-nic 0.3 -s 4,1G -a optcc" P4D LOG, 0, "# size 1073741824 B");
}
