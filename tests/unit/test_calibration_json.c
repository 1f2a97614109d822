/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calibrations as JSON: read back exactly, and every refusal names the key. */
#include "base/alloc.h"
#include "calibration_setup.h"
#include "config/calibration_json.h"

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
    c = NULL;
    cr_expect_eq(cs_calibration_parse(broken.data, broken.length, "c.json", &c, &err), CS_EPARSE,
                 "%s", where);
    cr_expect_str_eq(err.where, where, "'%s' instead of '%s': %s", err.where, where, err.message);
    cr_expect_str_eq(err.input, "c.json");
    cr_expect_gt(err.input_line, 0, "%s", where);
    cs_calibration_free(c);
    cs_text_free(&broken);
    cs_free(text);
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
    check_broken("{", ",", "", "");
}
