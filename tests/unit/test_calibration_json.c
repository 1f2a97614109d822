/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calibrations as JSON: read back exactly, and every refusal names the key. */
#include "base/alloc.h"
#include "calibration_setup.h"
#include "traces/calibration_json.h"

#include <string.h>

static char *json_of(const cs_calibration *c)
{
    cs_text text = {0};

    cs_calibration_json(c, &text);
    cr_assert_eq(cs_text_status(&text, NULL), CS_OK);
    return text.data;
}

Test(calibration_json, json_reads_back_exactly)
{
    cs_calibration *c = make_calibration(true), *again = NULL;
    char           *text = json_of(c), *text_again;
    cs_error        err  = {0};

    cr_assert_eq(cs_calibration_parse(text, strlen(text), "c.json", &again, &err), CS_OK, "%s: %s",
                 err.where, err.message);
    text_again = json_of(again);
    cr_assert_str_eq(text, text_again);
    cr_assert(again->extrapolate);
    cr_assert_eq(again->regimes[1].alpha_s, c->regimes[1].alpha_s);
    cs_free(text);
    cs_free(text_again);
    cs_calibration_free(c);
    cs_calibration_free(again);
}

/* Replace the first `old` behind `after` in the JSON and expect an error at a key. */
static void check_broken(const char *after, const char *old, const char *new, const char *where)
{
    cs_calibration *c    = make_calibration(false);
    char           *text = json_of(c), *at = strstr(strstr(text, after), old);
    cs_text         broken = {0};
    cs_error        err    = {0};

    cr_assert_not_null(at);
    cs_text_add_bytes(&broken, text, (size_t)(at - text));
    cs_text_add(&broken, "%s%s", new, at + strlen(old));
    cs_calibration_free(c);
    c                = NULL;
    cs_status status = cs_calibration_parse(broken.data, broken.length, "c.json", &c, &err);
    cr_expect(status != CS_OK && !cs_status_is_failure(status) && status == err.status, "%s",
              where);
    cr_expect_str_eq(err.where, where, "'%s' instead of '%s': %s", err.where, where, err.message);
    cr_expect_str_eq(err.input, "c.json");
    cr_expect_gt(err.input_line, 0, "%s", where);
    cs_calibration_free(c);
    cs_text_free(&broken);
    cs_free(text);
}

/* Files of earlier versions do not say how the logs were read. */
Test(calibration_json, logs_may_be_missing)
{
    cs_calibration *c = make_calibration(true), *again = NULL;
    char           *text = json_of(c), *at = strstr(text, "  \"logs\""), *behind, *text_again;
    cs_text         without = {0};
    cs_error        err     = {0};

    cr_assert_not_null(at);
    behind = strstr(at, "  \"regimes\"");
    cs_text_add_bytes(&without, text, (size_t)(at - text));
    cs_text_add(&without, "%s", behind);
    cr_assert_eq(cs_calibration_parse(without.data, without.length, "c.json", &again, &err), CS_OK,
                 "%s: %s", err.where, err.message);
    cr_expect_eq(again->n_logs, 0);
    text_again = json_of(again);
    cr_expect_str_eq(text_again, without.data);
    cs_calibration_free(c);
    cs_calibration_free(again);
    cs_text_free(&without);
    cs_free(text);
    cs_free(text_again);
}

/* Outliers, breaks, other numbers of ranks and what was held out beside that. */
Test(calibration_json, lists_read_back_exactly)
{
    cs_calibration *c = make_calibration(true), *again = NULL;
    cs_error        err = {0};

    c->hold_out_every = 4;
    c->every          = (cs_fit_error){0.02, 0.01, 0.125, 24};
    c->seed           = 7;
    c->n_outliers     = 2;
    c->outliers[0]    = (cs_outlier){{32, 22.25e-6}, 13.66e-6};
    c->outliers[1]    = (cs_outlier){{64, 1.0 / 3}, 0.1};
    c->breaks[0]      = (cs_break){1 << 20, 2 << 20, CS_BREAK_LOG, "Ring/LL", "Ring/Simple"};
    c->n_others       = 1;
    c->others[0]      = (cs_other_ranks){4, {0.5, 0.25, 0.75, 20}};
    char *text        = json_of(c);
    cr_assert_eq(cs_calibration_parse(text, strlen(text), "c.json", &again, &err), CS_OK, "%s: %s",
                 err.where, err.message);
    cr_expect_eq(again->every.max_ratio, 0.125);
    cr_expect_eq(again->every.median_ratio, 0.01);
    cr_expect_eq(again->held_out.median_ratio, c->held_out.median_ratio);
    cr_expect_eq(memcmp(again->outliers, c->outliers, 2 * sizeof(cs_outlier)), 0);
    cr_assert_eq(again->n_breaks, 1);
    cr_expect_str_eq(again->breaks[0].to, "Ring/Simple");
    cr_expect_eq(again->breaks[0].evidence, CS_BREAK_LOG);
    cr_assert_eq(again->n_others, 1);
    cr_expect_eq(again->others[0].n_ranks, 4);
    cr_expect_eq(again->others[0].error.max_ratio, 0.75);
    char *text_again = json_of(again);
    cr_expect_str_eq(text, text_again);
    cs_free(text);
    cs_free(text_again);
    cs_calibration_free(c);
    cs_calibration_free(again);
}

/* Every kind of remark is written and read. */
Test(calibration_json, remarks_read_back_exactly)
{
    cs_calibration *c = make_calibration(true), *again = NULL;
    cs_error        err = {0};
    char           *text, *text_again;

    c->logs[0].run = (cs_nccl_run){.line           = 3,
                                   .min_bytes      = 8,
                                   .max_bytes      = (uint64_t)1 << 53,
                                   .step_bytes     = 7,
                                   .n_warmup_iters = 5,
                                   .n_iters        = 20};
    for (int k = 0; k < CS_NCCL_REMARKS; k++) {
        for (int n = 0; n <= k; n++) {
            cs_nccl_remark_add(&c->logs[0], (cs_nccl_remark_kind)k, 10 * k + n, "a \"line\" \\");
        }
    }
    text = json_of(c);
    cr_assert_eq(cs_calibration_parse(text, strlen(text), "c.json", &again, &err), CS_OK, "%s: %s",
                 err.where, err.message);
    text_again = json_of(again);
    cr_expect_str_eq(text, text_again);
    cr_expect_eq(cs_nccl_n_skipped(&again->logs[0]), cs_nccl_n_skipped(&c->logs[0]));
    cr_expect_eq(again->logs[0].run.max_bytes, (uint64_t)1 << 53);
    for (int k = 0; k < CS_NCCL_REMARKS; k++) {
        cr_expect_eq(again->logs[0].remarks[k].n, (uint64_t)k + 1);
        cr_expect_eq(again->logs[0].remarks[k].first_line, 10u * (unsigned)k);
        cr_expect_str_eq(again->logs[0].remarks[k].first, "a \"line\" \\");
    }
    cs_calibration_free(c);
    cs_calibration_free(again);
    cs_free(text);
    cs_free(text_again);
}

Test(calibration_json, json_refusals_name_the_key)
{
    check_broken("{", "collsim-calibration-1", "other", "format");
    check_broken("{", "allreduce", "allreduced", "collective");
    check_broken("{", "out-of-place", "sideways", "column");
    check_broken("\"ranks\"", "8", "1", "ranks");
    check_broken("{", "\"machine\"", "\"maschine\"", "maschine");
    check_broken("\"regimes\"", "\"points\": 11", "\"points\": \"11\"", "regimes[0].points");
    check_broken("\"regimes\"", "\"min_bytes\": 1024", "\"min_bytes\": 0", "regimes[0].min_bytes");
    check_broken("\"regimes\"", "\"max_bytes\"", "\"max_byte\"", "regimes[0].max_byte");
    check_broken("\"regimes\"", "\"alpha_s\": ", "\"alpha_s\": 1", "regimes[0]");
    check_broken("\"regimes\"", "8589934592", "858993", "regimes[1]");
    check_broken("{", "\"extrapolate_ranks\": false", "\"extrapolate_ranks\": 0",
                 "extrapolate_ranks");
    check_broken("\"logs\"", "\"lines\"", "\"line\"", "logs[0].line");
    check_broken("\"logs\"", "\"made.log\"", "7", "logs[0].name");
    check_broken("\"logs\"", "\"skipped_lines\": 0", "\"skipped_lines\": 1",
                 "logs[0].skipped_lines");
    check_broken("\"logs\"", "\"skipped\": []", "\"skipped\": {}", "logs[0].skipped");
    check_broken("\"logs\"", "\"skipped\": []",
                 "\"skipped\": [{\"kind\": \"unchecked\", \"count\": 1, \"first_line\": 1, "
                 "\"first\": \"\"}]",
                 "logs[0].skipped[0].kind");
    check_broken("\"logs\"", "\"doubts\": []", "\"doubts\": [{\"kind\": \"unchecked\"}]",
                 "logs[0].doubts[0]");
    check_broken("\"logs\"", "\"doubts\": []",
                 "\"doubts\": [{\"kind\": \"unchecked\", \"count\": 1, \"first_line\": 1, "
                 "\"first\": \"\"}, {\"kind\": \"unchecked\", \"count\": 1, "
                 "\"first_line\": 1, \"first\": \"\"}]",
                 "logs[0].doubts[1]");
    check_broken("{", ",", "", "");
}
