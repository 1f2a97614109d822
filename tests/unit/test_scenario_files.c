/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files that a scenario names: what they hold is part of it, whatever the format; each is read once
 * for all cases; a case may outlive the configuration; a failed allocation leaves nothing behind.
 */
#include "base/alloc.h"
#include "base/text.h"
#include "campaign/montecarlo.h"
#include "campaign/sweep.h"
#include "cs/result.h"
#include "support/config.h"
#include "support/folder.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { FORMATS = 3 };

static char folder[CT_FOLDER_BYTES], topology[128], config_path[128], database[128], other[128];

/* Two versions of a topology of two ranks in each format: other rates. */
static const char *const files[FORMATS][2] = {
    {"{\"kind\": \"graph\", \"nodes\": [\"a\", \"b\"], \"ranks\": [\"a\", \"b\"], \"links\": "
     "[{\"from\": \"a\", \"to\": \"b\", \"bandwidth\": \"10GB/s\"}]}",
     "{\"kind\": \"graph\", \"nodes\": [\"a\", \"b\"], \"ranks\": [\"a\", \"b\"], \"links\": "
     "[{\"from\": \"a\", \"to\": \"b\", \"bandwidth\": \"20GB/s\"}]}"},
    {"<platform version=\"4.1\"><zone id=\"z\" routing=\"Full\"><host id=\"a\" speed=\"1Gf\"/>"
     "<host id=\"b\" speed=\"1Gf\"/><link id=\"l\" bandwidth=\"10GBps\" latency=\"1us\"/>"
     "<route src=\"a\" dst=\"b\"><link_ctn id=\"l\"/></route></zone></platform>",
     "<platform version=\"4.1\"><zone id=\"z\" routing=\"Full\"><host id=\"a\" speed=\"1Gf\"/>"
     "<host id=\"b\" speed=\"1Gf\"/><link id=\"l\" bandwidth=\"20GBps\" latency=\"1us\"/>"
     "<route src=\"a\" dst=\"b\"><link_ctn id=\"l\"/></route></zone></platform>"},
    {"\tGPU0\tGPU1\tNIC0\tCPU Affinity\nGPU0\t X \tNV4\tPIX\t0-15\nGPU1\tNV4\t X \tPIX\t0-15\n"
     "NIC0\tPIX\tPIX\t X\n",
     "\tGPU0\tGPU1\tNIC0\tCPU Affinity\nGPU0\t X \tNV2\tPIX\t0-15\nGPU1\tNV2\t X \tPIX\t0-15\n"
     "NIC0\tPIX\tPIX\t X\n"},
};

static void set_up(void)
{
    ct_folder_make(folder);
    snprintf(topology, sizeof topology, "%s/t.txt", folder);
    snprintf(config_path, sizeof config_path, "%s/c.json", folder);
    snprintf(database, sizeof database, "%s/r.db", folder);
    snprintf(other, sizeof other, "%s/m.db", folder);
}

static void tear_down(void)
{
    ct_folder_remove(folder);
}

TestSuite(scenario_files, .init = set_up, .fini = tear_down);

/* Two sizes over the topology `t.txt` beside the configuration, given as `json`. */
static cs_config *load(const char *json)
{
    cs_config *config = NULL;
    cs_error   err    = {0};
    cs_text    text   = {0};

    cs_text_add(&text,
                "{\"model\": \"flow\", \"cluster\": {\"ranks\": 2, \"topology\": %s}, "
                "\"algorithm\": \"ring\", "
                "\"sweep\": {\"bytes\": [1000000, 2000000]}}",
                json);
    cr_assert_not(text.failed);
    ct_file_write(config_path, text.data);
    cs_text_free(&text);
    cr_assert_eq(cs_config_load(config_path, &config, &err), CS_OK, "%s", err.message);
    return config;
}

/* The JSON of the first scenario; the caller frees it. */
static char *json_of(const char *json)
{
    cs_config *config = load(json);
    cs_case    c      = ct_case(config, 0);
    char      *text   = cs_strdup(c.json);

    cr_assert_not_null(text);
    cs_case_free(&c);
    cs_config_free(config);
    return text;
}

Test(scenario_files, what_a_topology_holds_is_part_of_the_scenario)
{
    for (size_t f = 0; f < FORMATS; f++) {
        ct_file_write(topology, files[f][0]);
        char *first = json_of("\"t.txt\""), *same = json_of("\"t.txt\"");
        char *object = json_of("{\"path\": \"t.txt\", \"kind\": \"file\"}");
        ct_file_write(topology, files[f][1]);
        char *changed = json_of("\"t.txt\"");
        cr_expect_str_eq(first, same);
        cr_expect_str_eq(first, object);
        cr_expect_str_neq(first, changed, "format %zu", f);
        cs_free(first);
        cs_free(same);
        cs_free(object);
        cs_free(changed);
    }
}

/* The scenario's own JSON is a configuration, as long as the file holds the same. */
Test(scenario_files, another_topology_under_the_name_is_refused)
{
    cs_config *config = NULL;
    cs_case    c      = {0};
    cs_error   err    = {0};

    ct_file_write(topology, files[0][0]);
    char *json = json_of("\"t.txt\"");
    ct_file_write(config_path, json);
    cr_assert_eq(cs_config_load(config_path, &config, NULL), CS_OK);
    c = ct_case(config, 0);
    cr_expect_str_eq(c.json, json);
    cs_case_free(&c);
    cs_config_free(config);
    ct_file_write(topology, files[0][1]);
    cr_assert_eq(cs_config_load(config_path, &config, NULL), CS_OK);
    cr_expect_eq(cs_config_case(config, 0, &c, &err), CS_EINVAL);
    cr_expect_str_eq(err.where, "cluster.topology.fingerprint");
    cr_expect_not_null(strstr(err.message, "but the file holds another topology"), "%s",
                       err.message);
    cs_config_free(config);
    cs_free(json);
}

/* The file is gone before the second case, and the configuration before the cases. */
Test(scenario_files, a_file_is_read_once_and_lives_as_long_as_its_cases)
{
    for (size_t f = 0; f < FORMATS; f++) {
        ct_file_write(topology, files[f][0]);
        cs_config *config = load("\"t.txt\"");
        cs_case    cases[2];
        cases[0] = ct_case(config, 0);
        cr_assert_eq(remove(topology), 0);
        cases[1] = ct_case(config, 1);
        cs_config_free(config);
        for (size_t i = 0; i < 2; i++) {
            cs_result result = ct_result(&cases[i]);
            cr_expect(result.verified);
            cs_case_free(&cases[i]);
        }
    }
}

static cs_sweep_summary sweep(const cs_config *config)
{
    const cs_sweep_options options = {.path = database, .jobs = 2};
    cs_sweep_summary       summary = {0};
    cs_error               err     = {0};

    cr_assert_eq(cs_sweep(config, &options, &summary, &err), CS_OK, "%s", err.message);
    cr_assert_eq(summary.refused + summary.wrong + summary.count.missing, 0);
    return summary;
}

Test(scenario_files, a_store_takes_no_row_of_an_older_file)
{
    cs_montecarlo_options options = {.iterations = 10, .confidence = 0.95, .path = other};
    cs_montecarlo_report  report  = {0};

    for (int version = 0; version < 2; version++) {
        ct_file_write(topology, files[0][version]);
        cs_config *config = load("\"t.txt\"");
        cr_expect_eq(sweep(config).count.run, 2);
        cr_expect_eq(sweep(config).count.done_before, 2);
        cr_assert_eq(cs_montecarlo_run(config, &options, &report, NULL), CS_OK);
        cr_expect_eq(report.count.run, 2);
        cs_montecarlo_report_free(&report);
        cr_assert_eq(cs_montecarlo_run(config, &options, &report, NULL), CS_OK);
        cr_expect_eq(report.count.done_before, 2);
        cs_montecarlo_report_free(&report);
        cs_config_free(config);
    }
}

/* Jansson's parser does not tell a lack of memory from what is no JSON. */
Test(scenario_files, every_failed_allocation_is_clean)
{
    for (size_t f = 0; f < FORMATS; f++) {
        cs_status status = CS_ENOMEM;
        long      passes = 0;
        ct_file_write(topology, files[f][0]);
        for (; status != CS_OK && passes < 1000; passes++) {
            cs_config *config = load("\"t.txt\"");
            cs_case    c      = {0};
            cs_error   err    = {0};
            cs_alloc_fail_after(passes);
            status = cs_config_case(config, 0, &c, &err);
            cs_alloc_fail_after(-1);
            cs_case_free(&c);
            cs_config_free(config);
            cr_assert(status == CS_OK || status == CS_ENOMEM || (f == 0 && status == CS_EPARSE),
                      "%zu, %ld: %s: %s", f, passes, err.where, err.message);
        }
        cr_expect_eq(status, CS_OK);
        cr_expect_gt(passes, 10);
    }
}
