/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the page of `report` is told: settings, answers, and the file. */
#include "base/alloc.h"
#include "input/tree.h"
#include "report/answer.h"
#include "report/page_parts.h"
#include "report/report.h"
#include "support/config.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static void take(cs_data *data, const char *json)
{
    cs_error err = {0};

    cr_assert_eq(cs_data_take(data, json, strlen(json), &err), CS_OK, "%s", err.message);
}

/* What `collsim run` finds of a configuration. */
static void run(const char *json, cs_data *data)
{
    cs_config *config = ct_config_of(json);
    cs_error   err    = {0};

    *data = (cs_data){.has_scenarios = true};
    cr_assert_eq(cs_data_run(config, 1, data, &err), CS_OK, "%s", err.message);
    cs_config_free(config);
}

static void sweep_of(const cs_data *data, size_t most, cs_sweep *sweep)
{
    cs_error err = {0};
    cr_assert_eq(cs_sweep_make(data, most, sweep, &err), CS_OK, "%s", err.message);
}

Test(report, numbers_have_three_digits_and_a_unit)
{
    static const struct {
        cs_quantity unit;
        double      value;
        const char *text;
    } cases[] = {
        {CS_QUANTITY_S, 0, "0 µs"},
        {CS_QUANTITY_S, 2.917e-3, "2.92 ms"},
        {CS_QUANTITY_S, 706.4e-6, "706 µs"},
        {CS_QUANTITY_S, 1, "1.00 s"},
        {CS_QUANTITY_S, 0.9996e-3, "1.00 ms"},
        {CS_QUANTITY_S, 0.99949e-3, "999 µs"},
        {CS_QUANTITY_S, 12.34e-6, "12.3 µs"},
        {CS_QUANTITY_S, 1.5e-9, "0.00150 µs"},
        {CS_QUANTITY_S, 9.995, "9.99 s"},
        {CS_QUANTITY_S, 9.995e-6, "9.99 µs"},
        {CS_QUANTITY_S, 9.9951, "10.0 s"},
        {CS_QUANTITY_S, 12345, "12,345 s"},
        {CS_QUANTITY_SIZE, 1073741824, "1 GiB"},
        {CS_QUANTITY_SIZE, 1518500250, "1.41 GiB"},
        {CS_QUANTITY_SIZE, 512, "512 B"},
        {CS_QUANTITY_SIZE, 65536, "64 KiB"},
        {CS_QUANTITY_COUNT, 19200, "19,200"},
        {CS_QUANTITY_COUNT, 1234567, "1,234,567"},
        {CS_QUANTITY_RATIO, 1.08, "1.08"},
        {CS_QUANTITY_RATIO, 0, "0"},
        {CS_QUANTITY_BPS, 50e9, "50 GB/s"},
        {CS_QUANTITY_BPS, 12.5e9, "12.5 GB/s"},
        {CS_QUANTITY_S, (double)INFINITY, "never"},
        {CS_QUANTITY_S, (double)NAN, "–"},
    };
    char text[CS_QUANTITY_BYTES];

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cs_quantity_text(cases[i].unit, cases[i].value, text);
        cr_expect_str_eq(text, cases[i].text);
    }
    cs_percent_text(0.361, text);
    cr_expect_str_eq(text, "36\xc2\xa0%");
    cs_percent_text(-0.05, text);
    cr_expect_str_eq(text, "\xe2\x88\x92"
                           "5.0\xc2\xa0%");
    cs_percent_text(-0.0001, text);
    cr_expect_str_eq(text, "0.0\xc2\xa0%");
    cs_percent_text(0, text);
    cr_expect_str_eq(text, "0\xc2\xa0%");
    cs_percent_text(12.345, text);
    cr_expect_str_eq(text, "1,234\xc2\xa0%");
    cs_percent_text(0.0144, text);
    cr_expect_str_eq(text, "1.4\xc2\xa0%");
    cr_expect_eq(cs_quantity_of("arrivals.late[0].delay_s"), CS_QUANTITY_S);
    cr_expect_eq(cs_quantity_of("bytes"), CS_QUANTITY_SIZE);
    cr_expect_eq(cs_quantity_of("ranks"), CS_QUANTITY_COUNT);
}

Test(report, columns_of_swept_keys_have_titles_in_words)
{
    static const char *const titles[][2] = {
        {"cluster.topology.uplink_bandwidth_Bps", "uplink bandwidth"},
        {"cluster.nic.bandwidth_Bps", "nic bandwidth"},
        {"algorithm.options.segments", "segments"},
        {"arrivals.late[0].delay_s", "delay of the late GPU"},
        {"faults[0].slowdown", "slowdown"},
        {"ranks", "GPUs"},
        {"plain_s", "plain_s"},
    };

    for (size_t i = 0; i < sizeof titles / sizeof titles[0]; i++) {
        char    json[128];
        cs_data data = {0};
        (void)snprintf(json, sizeof json, "[{\"%s\":1}]", titles[i][0]);
        take(&data, json);
        cr_expect_str_eq(data.columns[0].title, titles[i][1]);
        cs_data_free(&data);
    }
}

Test(report, numbers_at_axes_have_no_zeros_at_their_end)
{
    static const struct {
        const char *column;
        double      value;
        const char *text;
    } cases[] = {
        {"bytes", 1 << 20, "1 MiB"},  {"late_s", 1.5e-3, "1.5 ms"},
        {"late_s", 1e-5, "10 µs"},    {"late_s", 0, "0"},
        {"late_s", 100e-9, "0.1 µs"}, {"ranks", 1024, "1,024"},
        {"gap", 1.5, "1.5"},          {"nic.bandwidth_Bps", 5e10, "50 GB/s"},
    };
    char text[CS_QUANTITY_BYTES];

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cs_quantity_brief(cs_quantity_of(cases[i].column), cases[i].value, text);
        cr_expect_str_eq(text, cases[i].text);
    }
}

static const char grid[] =
    "[{\"algorithm\":\"ring\",\"ranks\":8,\"bytes\":1024,\"exposed_s\":4e-3},"
    "{\"algorithm\":\"rhd\",\"ranks\":8,\"bytes\":1024,\"exposed_s\":2e-3},"
    "{\"algorithm\":\"rhd\",\"ranks\":8,\"bytes\":1024,\"exposed_s\":1e-3},"
    "{\"algorithm\":\"ring\",\"ranks\":16,\"bytes\":1024,\"exposed_s\":8e-3},"
    "{\"algorithm\":\"ring\",\"ranks\":16,\"bytes\":2048,\"exposed_s\":9e-3},"
    "{\"algorithm\":\"rhd\",\"ranks\":8,\"bytes\":2048,\"error\":\"no\"}]";

Test(report, rows_become_settings_of_algorithms)
{
    cs_data  data = {0};
    cs_sweep s    = {0};

    take(&data, grid);
    sweep_of(&data, 1000, &s);
    const cs_data_column *exposed = cs_data_find(&data, "exposed_s");
    cr_assert_eq(s.n_dims, 2);
    cr_assert_eq(s.n_algorithms, 2);
    cr_assert_eq(s.n_settings, 4);
    cr_expect_str_eq(s.dims[0].name, "ranks");
    cr_expect(s.dims[0].values[0] == 8 && s.dims[0].values[1] == 16);
    cr_expect(cs_sweep_at(&s, 0, 0, exposed) == 4e-3);
    cr_expect(cs_sweep_at(&s, 0, 1, exposed) == 1e-3, "the fastest of two counts");
    cr_expect_eq(cs_sweep_state(&s, 0, 0), CS_CELL_RUN);
    cr_expect_eq(cs_sweep_state(&s, 1, 1), CS_CELL_FAILED);
    cr_expect_str_eq(cs_sweep_error(&s, 1, 1), "no");
    cr_expect_eq(cs_sweep_state(&s, 2, 1), CS_CELL_NONE);
    cr_expect(isnan(cs_sweep_at(&s, 2, 1, exposed)));
    cs_sweep_free(&s);
    cs_data_free(&data);
}

Test(report, what_is_beyond_the_limit_is_thinned_and_said)
{
    cs_text  json = {0};
    cs_data  data = {0};
    cs_sweep s    = {0};

    cs_text_add(&json, "[");
    for (int i = 0; i < 64; i++) {
        cs_text_add(&json, "%s{\"algorithm\":\"ring\",\"ranks\":%d,\"exposed_s\":%d}",
                    i > 0 ? "," : "", i + 2, i + 1);
    }
    cs_text_add(&json, "]");
    take(&data, json.data);
    sweep_of(&data, 64, &s);
    cr_expect_eq(s.n_settings, 64);
    cr_expect_str_eq(s.thinned, "");
    cs_sweep_free(&s);
    sweep_of(&data, 63, &s);
    cr_expect_eq(s.n_settings, 32);
    cr_expect_eq(s.dims[0].n, 32);
    cr_expect_eq(s.n_left_out, 32);
    cr_expect(strstr(s.thinned, "32 of 64 settings") != NULL, "%s", s.thinned);
    const cs_data_column *ranks = cs_data_find(&data, "ranks");
    for (size_t k = 0; k < s.n_settings; k++) { /* rows are still those of their values */
        cr_expect(cs_sweep_at(&s, k, 0, ranks) == s.dims[0].values[s.index[k]]);
    }
    cs_sweep_free(&s);
    cs_data_free(&data);
    cs_text_free(&json);
}

Test(report, the_setting_that_is_shown_first_can_be_chosen)
{
    cs_data  data = {0};
    cs_sweep s    = {0};
    cs_error err  = {0};
    size_t   at   = 0;

    take(&data, grid);
    sweep_of(&data, 1000, &s);
    cr_expect_eq(cs_sweep_choose(&s, "ranks=16,bytes=2K", &at, &err), CS_OK, "%s", err.message);
    cr_expect_eq(at, 3);
    cr_expect_eq(cs_sweep_choose(&s, "ranks=9", &at, &err), CS_OK);
    cr_expect_eq(at, 1, "the nearest number of ranks, and the larger size");
    cr_expect_eq(cs_sweep_choose(&s, "ranks", &at, &err), CS_EINVAL);
    cr_expect(strstr(err.message, "COLUMN=VALUE") != NULL);
    err = (cs_error){0};
    cr_expect_eq(cs_sweep_choose(&s, "speed=9", &at, &err), CS_EINVAL);
    cr_expect(strstr(err.message, "'speed' is not there") != NULL, "%s", err.message);
    cs_sweep_free(&s);
    cs_data_free(&data);
}

/* The ANSWER of a setting, which the caller frees. */
static json_t *answer_of(cs_answers *answers, size_t setting)
{
    cs_text  text = {0};
    cs_error err  = {0};
    json_t  *tree = NULL;

    cr_assert_eq(cs_answer_json(answers, setting, &text, &err), CS_OK, "%s", err.message);
    cr_assert_eq(cs_tree_parse(text.data, text.length, "", &tree, &err), CS_OK, "%s", err.message);
    cs_text_free(&text);
    return tree;
}

/* What a setting's sentence says, with its places filled; in a buffer until the next call. */
static const char *said(cs_answers *answers, size_t setting, const char *key)
{
    static char text[2000];
    json_t     *answer = answer_of(answers, setting);
    cs_text     html   = {0};
    cs_error    err    = {0};

    cr_assert_eq(cs_answer_text(answers, setting, json_string_value(json_object_get(answer, key)),
                                &html, &err),
                 CS_OK);
    (void)snprintf(text, sizeof text, "%s", html.data != NULL ? html.data : "");
    cs_text_free(&html);
    json_decref(answer);
    return text;
}

/* The sentence of one result set with two algorithms. */
static void expect_sentence(const char *ring_s, const char *rhd_s, const char *kind,
                            const char *words)
{
    char       json[400];
    cs_data    data    = {0};
    cs_sweep   s       = {0};
    cs_answers answers = {0};

    (void)snprintf(json, sizeof json,
                   "[{\"algorithm\":\"ring\",\"collective\":\"allgather\",\"ranks\":8,\"bytes\":"
                   "1024,\"exposed_s\":%s},{\"algorithm\":\"rhd\",\"collective\":\"allgather\","
                   "\"ranks\":8,\"bytes\":1024,\"exposed_s\":%s}]",
                   ring_s, rhd_s);
    take(&data, json);
    sweep_of(&data, 1000, &s);
    cs_answers_open(&answers, &s, "");
    json_t *answer = answer_of(&answers, 0);
    cr_expect_str_eq(json_string_value(json_object_get(answer, "kind")), kind);
    cr_expect(strstr(said(&answers, 0, "sentence"), words) != NULL, "%s",
              said(&answers, 0, "sentence"));
    json_decref(answer);
    cs_answers_close(&answers);
    cs_sweep_free(&s);
    cs_data_free(&data);
}

Test(report, what_gains_less_than_two_percent_is_not_worth_a_change)
{
    expect_sentence("1e-3", "0.979e-3", "run",
                    "run <b class=\"run\" data-algorithm=\"rhd\">rhd</b>");
    expect_sentence("1e-3", "0.981e-3", "keep",
                    "For an AllGather of 1 KiB on 8 GPUs, keep <b class=\"run\" "
                    "data-algorithm=\"ring\">ring</b>");
    expect_sentence("1e-3", "2e-3", "keep", "keep");
    expect_sentence("null", "2e-3", "run", "run");
}

static const char late_gpu[] =
    "{\"cluster\":{\"ranks\":8,\"nic\":{\"bandwidth\":\"450GB/s\",\"alpha\":\"3us\"}},"
    "\"bytes\":\"1GiB\",\"arrivals\":{\"late\":[{\"rank\":7,\"delay\":\"4ms\"}]},"
    "\"sweep\":{\"algorithm.name\":[\"ring\",\"allpairs\",\"stragglar\"],"
    "\"bytes\":[\"1KiB\",\"1GiB\"],\"arrivals.late[0].delay\":[\"0s\",\"4ms\"]}}";

Test(report, where_nothing_could_be_run_the_reason_is_the_answer)
{
    cs_data    data    = {0};
    cs_sweep   s       = {0};
    cs_answers answers = {0};

    take(&data, grid);
    sweep_of(&data, 1000, &s);
    cs_answers_open(&answers, &s, "");
    json_t *answer = answer_of(&answers, 1);
    cr_expect_str_eq(json_string_value(json_object_get(answer, "kind")), "error");
    cr_expect(json_is_null(json_object_get(answer, "best")));
    cr_expect(strstr(said(&answers, 1, "sentence"), "nothing could be run") != NULL);
    cr_expect_str_eq(said(&answers, 1, "because"), "rhd: no");
    json_decref(answer);
    cs_answers_close(&answers);
    cs_sweep_free(&s);
    cs_data_free(&data);
}

Test(report, what_a_refused_row_names_is_not_looked_at)
{
    cs_data    data    = {.has_scenarios = true};
    cs_sweep   s       = {0};
    cs_answers answers = {0};
    cs_case    c       = {0};
    cs_error   err     = {0};

    take(&data,
         "[{\"algorithm\":\"ring\",\"error\":\"no\",\"exposed_s\":null,\"scenario\":{\"cluster\":"
         "{\"ranks\":8},\"arrivals\":{\"late\":[{\"rank\":3,\"delay\":\"1ms\"}]}}},"
         "{\"algorithm\":\"rhd\",\"exposed_s\":1e-3,\"scenario\":{\"cluster\":{\"ranks\":8}}}]");
    sweep_of(&data, 1000, &s);
    cs_answers_open(&answers, &s, "");
    cr_expect_eq(cs_answer_case(&answers, 0, 0, &c, &err), CS_ENOENT);
    cs_case_free(&c);
    c = (cs_case){0};
    cr_expect_eq(cs_answer_case(&answers, 0, 1, &c, &err), CS_OK);
    cs_case_free(&c);
    cr_expect(strncmp(said(&answers, 0, "sentence"), "For ", 4) == 0, "%s",
              said(&answers, 0, "sentence"));
    cs_answers_close(&answers);
    cs_sweep_free(&s);
    cs_data_free(&data);
}

Test(report, the_sentence_says_who_is_late_and_what_the_model_leaves_out)
{
    cs_data    data    = {0};
    cs_sweep   s       = {0};
    cs_answers answers = {0};

    run(late_gpu, &data);
    sweep_of(&data, 1000, &s);
    cs_answers_open(&answers, &s, "");
    cr_assert_eq(s.n_settings, 4);
    cr_expect_eq(answers.n_verified, 12);
    /* settings: size, then delay */
    cr_expect(strstr(said(&answers, 0, "sentence"), "When all 8 GPUs come on time") != NULL, "%s",
              said(&answers, 0, "sentence"));
    cr_expect(strstr(said(&answers, 0, "sentence"), "allpairs</b>, or ") != NULL, "%s",
              said(&answers, 0, "sentence"));
    cr_expect(strstr(said(&answers, 3, "sentence"),
                     "When GPU 7 of 8 comes <span class=\"num\" "
                     "data-dim=\"arrivals.late[0].delay_s\">4.00 ms</span> late to an AllReduce") !=
                  NULL,
              "%s", said(&answers, 3, "sentence"));
    cr_expect(strstr(said(&answers, 3, "sentence"), "StragglAR</b>.") != NULL);
    cr_expect(strstr(said(&answers, 3, "because"), "No schedule can be faster than") != NULL);
    cs_answers_close(&answers);
    cs_sweep_free(&s);
    cs_data_free(&data);
}

static json_t *make(const cs_data *data, cs_report_options options, cs_report *report)
{
    cs_error err  = {0};
    json_t  *tree = NULL;

    options.title   = "a <name>";
    options.command = "collsim report";
    options.base    = "";
    cr_assert_eq(cs_report_make(data, &options, report, &err), CS_OK, "%s", err.message);
    cr_assert_eq(cs_tree_parse(report->data.data, report->data.length, "", &tree, &err), CS_OK,
                 "%d:%d: %s", err.input_line, err.input_column, err.message);
    return tree;
}

Test(report, what_rows_do_not_say_is_not_said)
{
    cs_data    data    = {0};
    cs_sweep   s       = {0};
    cs_answers answers = {0};

    take(&data, "[{\"algorithm\":\"ring\",\"faults\":1,\"exposed_s\":1e-3},"
                "{\"algorithm\":\"ring\",\"faults\":2,\"exposed_s\":2e-3}]");
    sweep_of(&data, 1000, &s);
    cs_answers_open(&answers, &s, "");
    cr_expect_eq(cs_answer_before(&s, 0), s.n_settings, "numbers are no faults in words");
    cr_expect(strncmp(said(&answers, 0, "sentence"), "For a collective with ", 22) == 0, "%s",
              said(&answers, 0, "sentence"));
    cs_answers_close(&answers);
    cs_sweep_free(&s);
    cs_data_free(&data);
}

Test(report, long_names_are_whole_in_tiles)
{
    char       json[700], name[201];
    cs_data    data    = {0};
    cs_sweep   s       = {0};
    cs_answers answers = {0};

    memset(name, 'x', 200);
    name[200] = '\0';
    (void)snprintf(json, sizeof json, "[{\"algorithm\":\"%s\",\"exposed_s\":1e-3}]", name);
    take(&data, json);
    sweep_of(&data, 1000, &s);
    cs_answers_open(&answers, &s, "");
    json_t     *answer = answer_of(&answers, 0);
    const char *value =
        json_string_value(json_array_get(json_array_get(json_object_get(answer, "tiles"), 0), 0));
    cr_expect(strlen(value) == 207 && strncmp(value, "{time:xx", 8) == 0, "%s", value);
    json_decref(answer);
    cs_answers_close(&answers);
    cs_sweep_free(&s);
    cs_data_free(&data);
}

Test(report, the_data_name_all_that_the_page_shows)
{
    cs_data   data   = {0};
    cs_report report = {.data = {0}};

    run(late_gpu, &data);
    json_t *tree  = make(&data, (cs_report_options){.has_runs = true}, &report);
    json_t *sweep = json_object_get(tree, "sweep");
    cr_expect_eq(json_integer_value(json_object_get(tree, "schema")), 1);
    cr_expect_str_eq(json_string_value(json_object_get(tree, "baseline")), "ring");
    cr_expect_eq(json_array_size(json_object_get(sweep, "dims")), 2);
    cr_expect_eq(json_array_size(json_object_get(sweep, "algorithms")), 3);
    cr_expect_eq(json_array_size(json_object_get(tree, "runs")), 2);
    cr_expect_eq(json_array_size(json_object_get(tree, "views")), 1);
    cr_expect_gt(json_array_size(json_object_get(tree, "lower")), 1);
    cr_expect_eq(json_object_size(json_object_get(tree, "looks")), 3);
    cr_expect(strstr(report.header.data, "a &lt;name&gt; <i>12 schedules, all verified</i>") !=
              NULL);
    cr_expect(strstr(report.ranking.data, "<th>StragglAR</th>") != NULL);
    json_decref(tree);
    cs_report_free(&report);
    cs_data_free(&data);
}

Test(report, what_is_broken_is_compared_with_what_was_before)
{
    cs_config *config = ct_config_of(
        "{\"cluster\":{\"ranks\":8,\"gpus_per_server\":4},\"bytes\":\"64MiB\",\"faults\":"
        "[{\"server\":1,\"nic\":2,\"slowdown\":null}],\"sweep\":{\"algorithm.name\":"
        "[\"nccl_rings\",\"r2ccl\"]}}");
    cs_data   data   = {.has_scenarios = true};
    cs_report report = {.data = {0}};
    cs_error  err    = {0};

    cr_assert_eq(cs_report_before(config, &err), CS_OK, "%s", err.message);
    cr_assert_eq(cs_report_before(config, &err), CS_OK, "a second time changes nothing");
    cr_assert_eq(cs_data_run(config, 1, &data, &err), CS_OK, "%s", err.message);
    json_t *tree   = make(&data, (cs_report_options){.has_runs = true}, &report);
    json_t *dims   = json_object_get(json_object_get(tree, "sweep"), "dims");
    json_t *values = json_object_get(json_array_get(dims, 0), "values");
    cr_expect_str_eq(json_string_value(json_array_get(values, 0)), "no NIC broken");
    cr_expect_str_eq(json_string_value(json_array_get(values, 1)), "NIC 2 of server 1 dead");
    cr_expect(strstr(report.sentence.data, "NIC 2 of server 1 dead") != NULL);
    cr_expect_geq(json_array_size(json_object_get(tree, "runs")), 2);
    const char *view = json_string_value(
        json_object_get(json_array_get(json_object_get(tree, "views"), 0), "name"));
    cr_expect(strstr(view, "before and after") != NULL, "%s", view);
    json_decref(tree);
    cs_report_free(&report);
    cs_data_free(&data);
    cs_config_free(config);
}

Test(report, a_name_cannot_end_the_script_that_holds_it)
{
    cs_data   data   = {0};
    cs_report report = {.data = {0}};
    cs_text   html   = {0};
    cs_error  err    = {0};

    take(&data, "[{\"algorithm\":\"</script><!--\",\"ranks\":8,\"bytes\":8,\"exposed_s\":1e-3}]");
    json_decref(make(&data, (cs_report_options){.has_runs = true}, &report));
    if (cs_page_parts[0].name == NULL) { /* built without D3 */
        cr_expect_eq(cs_report_html(&report, false, &html, &err), CS_EMISSING);
        cr_expect(strstr(err.message, "node-d3") != NULL);
    } else {
        cr_expect_eq(cs_report_html(&report, false, &html, &err), CS_OK, "%s", err.message);
        cr_expect(strstr(html.data, "</script><!--") == NULL);
        cr_expect(strstr(html.data, "{{") == NULL || strstr(html.data, "{{DATA}}") == NULL);
        cr_expect(strstr(html.data, cs_report_policy(false)) != NULL);
    }
    cs_text_free(&html);
    cs_report_free(&report);
    cs_data_free(&data);
}

Test(report, refuses_what_it_cannot_show)
{
    cs_data           data    = {0};
    cs_report         report  = {.data = {0}};
    cs_error          err     = {0};
    cs_report_options options = {.title = "", .command = "", .base = ""};

    take(&data, "[{\"algorithm\":\"ring\",\"ranks\":8}]");
    cr_expect_eq(cs_report_make(&data, &options, &report, &err), CS_EINVAL);
    cr_expect(strstr(err.message, "exposed_s") != NULL, "%s", err.message);
    cs_report_free(&report);
    cs_data_free(&data);
    err = (cs_error){0};
    take(&data, "[{\".exposed_s\":1,\"ranks\":8}]"); /* which ends as the name does */
    cr_expect_eq(cs_report_make(&data, &options, &report, &err), CS_EINVAL);
    cs_report_free(&report);
    cs_data_free(&data);
    err = (cs_error){0};
    take(&data, "[{\"a\":1,\"b\":1,\"c\":1,\"d\":1,\"e\":1,\"f\":1,\"g\":1,\"exposed_s\":1},"
                "{\"a\":2,\"b\":2,\"c\":2,\"d\":2,\"e\":2,\"f\":2,\"g\":2,\"exposed_s\":1}]");
    cr_expect_eq(cs_report_make(&data, &options, &report, &err), CS_EINVAL);
    cr_expect(strstr(err.message, "more than 6 inputs vary") != NULL, "%s", err.message);
    cs_report_free(&report);
    cs_data_free(&data);
}

Test(report, every_allocation_may_fail)
{
    cs_data           data    = {0};
    cs_report_options options = {.title = "t", .command = "c", .base = "", .has_runs = true};
    cs_status         status  = CS_ENOMEM;
    long              passes  = 0;

    run("{\"cluster\":{\"ranks\":4},\"bytes\":\"1MiB\",\"arrivals\":{\"late\":[{\"rank\":3,"
        "\"delay\":\"1ms\"}]},\"sweep\":{\"algorithm.name\":[\"ring\",\"rhd\"],\"bytes\":"
        "[\"1KiB\",\"1MiB\"]}}",
        &data);
    for (; status != CS_OK && passes < 20000; passes += 1 + passes / 50) {
        cs_report report = {.data = {0}};
        cs_error  err    = {0};
        cs_alloc_fail_after(passes);
        status = cs_report_make(&data, &options, &report, &err);
        cs_alloc_fail_after(-1);
        cr_expect(status == CS_OK || status == CS_ENOMEM, "%ld: %s", passes, err.message);
        cs_report_free(&report);
    }
    cr_expect_eq(status, CS_OK);
    cs_data_free(&data);
}
