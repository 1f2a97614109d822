/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rows of paths: which keys hold times, rates and sizes, their values in SI units, the bare
 * numbers that are hardly meant, and whole names for parts of them. */
#include "study/keys.h"

#include "base/alloc.h"
#include "input/tree.h"
#include "study/config.h"
#include "support/config.h"
#include "support/folder.h"

#include <criterion/criterion.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>

static const char *suffix_of(const char *path)
{
    const char *suffix = cs_key_suffix(cs_key_at(path));
    return suffix != NULL ? suffix : "";
}

Test(quantity, is_known_by_its_path)
{
    static const char *const kinds[][2] = {
        {"cluster.nic.alpha", "_s"},
        {"cluster.nic.bandwidth", "_Bps"},
        {"cluster.topology.uplink_bandwidth", "_Bps"},
        {"cluster.topology.hop_latency", "_s"},
        {"arrivals.late[0].delay", "_s"},
        {"arrivals.distribution", "_s"},
        {"arrivals.distribution.values[12]", "_s"},
        {"training.buckets[3]", "_bytes"},
        {"bytes", "_bytes"},
        {"model.options.gap_s", "_s"},
        {"model.options.gap_s_per_byte", ""},
        {"model.options.bandwidth", ""},
        {"algorithm.options.entry_barrier_s", "_s"},
        {"policies[1].options.entry_barrier_s", "_s"},
        {"algorithm.options.delay", ""},
        {"algorithm.options.segments", ""},
        {"cluster.gpus_per_server", ""},
        {"cluster.ranks", ""},
        {"arrivals.distribution.scale", "_s"},
        {"arrivals.straggler.delay.mean", "_s"},
        {"bandwidth_trace.scale", ""},
        {"faults[0].slowdown", ""},
        {"_s", ""},
        {"[\"bytes\"]", "_bytes"},
        {"", ""},
        {"]", ""},
    };

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        cr_expect_str_eq(suffix_of(kinds[i][0]), kinds[i][1], "%s", kinds[i][0]);
    }
}

/* `json` as a value of the path; a text where it is not JSON. */
static bool read(const char *path, const char *json, cs_value *value, bool *odd)
{
    json_t         *node = NULL;
    const cs_field *row  = cs_key_at(path);

    cr_assert_eq(cs_tree_value(json, "", &node, NULL), CS_OK);
    bool is_one = cs_key_value(row, node, value);
    *odd        = cs_key_is_odd(row, node);
    json_decref(node);
    return is_one;
}

Test(quantity, values_are_in_si_units)
{
    cs_value value = {0};
    bool     odd;

    cr_expect(read("cluster.nic.alpha", "3us", &value, &odd) && value.real == 3e-6);
    cr_expect(read("cluster.nic.alpha", "0.25", &value, &odd) && value.real == 0.25);
    cr_expect(read("cluster.nvlink.bandwidth", "400Gb/s", &value, &odd) && value.real == 50e9);
    cr_expect(read("bytes", "4K", &value, &odd) && value.whole == 4096);
    cr_expect(read("bytes", "77", &value, &odd) && value.whole == 77);
    cr_expect(read("bytes", "15360T", &value, &odd) && value.type == CS_VALUE_WHOLE);
    cr_expect(read("bytes", "15000000T", &value, &odd) && value.type == CS_VALUE_REAL);
    cr_expect_not(read("bytes", "12parsec", &value, &odd));
    cr_expect_not(read("cluster.nic.alpha", "3GB/s", &value, &odd));
    cr_expect_not(read("cluster.nic.alpha", "null", &value, &odd));
    cr_expect_not(read("cluster.nic.alpha", "true", &value, &odd));
    cr_expect_not(read("bytes", "0.5", &value, &odd));
}

Test(quantity, bare_numbers_are_odd_where_the_unit_is_hardly_theirs)
{
    static const struct {
        const char *path, *json;
        bool        odd;
    } cases[] = {
        {"cluster.nic.alpha", "5", true},
        {"cluster.nic.alpha", "5s", false},
        {"cluster.nic.alpha", "\"5\"", true},
        {"cluster.nic.alpha", "3e-6", false},
        {"cluster.nic.alpha", "0", false},
        {"cluster.nic.alpha", "0.009", false},
        {"cluster.nic.alpha", "0.01", true},
        {"arrivals.late[0].delay", "2", true},
        {"arrivals.late[0].delay", "0.5", false},
        {"arrivals.late[0].delay", "1.", true},
        {"arrivals.late[0].delay", "2ms", false},
        {"cluster.nvlink.bandwidth", "400", true},
        {"cluster.nvlink.bandwidth", "4e11", false},
        {"cluster.nvlink.bandwidth", "400Gb/s", false},
        {"cluster.nvlink.bandwidth", "999999", true},
        {"cluster.nvlink.bandwidth", "1000000", false},
        {"bytes", "8", false},
        {"job.compute", "300", false},
        {"timers.restart", "600", false},
        {"model.options.gap_s", "3", true},
        {"cluster.nic.alpha", "[5]", false},
        {"cluster.nic.alpha", "nonsense5", false},
        {"cluster.topology.hop_latency", "5", true},
        {"cluster.topology.links[2].latency", "5", true},
        {"arrivals.distribution", "5", true},
        {"arrivals.straggler.delay.scale", "5", true},
        {"bandwidth_trace.scale", "5", false},
        {"training.tail", "5", false},
        {"no.such.key", "5", false},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cs_value value;
        bool     odd;
        (void)read(cases[i].path, cases[i].json, &value, &odd);
        cr_expect_eq(odd, cases[i].odd, "%s = %s", cases[i].path, cases[i].json);
    }
}

/* ---- names ---- */

static void expect_spelled(const char *path, const char *json, const char *want)
{
    json_t *node = NULL;

    cr_assert_eq(cs_tree_value(json, "", &node, NULL), CS_OK);
    node       = cs_key_spell_out(cs_key_at(path), node);
    char *text = json_dumps(node, JSON_COMPACT | JSON_ENCODE_ANY);
    cr_expect_str_eq(text, want, "%s = %s: %s", path, json, text);
    cs_free(text);
    json_decref(node);
}

Test(names, are_spelled_out_where_they_name_something)
{
    expect_spelled("algorithm", "tree", "\"double_binary_tree\"");
    expect_spelled("algorithm.name", "rabenseifner", "\"rhd\"");
    expect_spelled("algorithm", "{\"name\": \"merged\", \"options\": {\"exchanges\": 2}}",
                   "{\"name\":\"merged_rhd\",\"options\":{\"exchanges\":2}}");
    expect_spelled("model", "Hockney", "\"alpha-beta\"");
    expect_spelled("collective", "AllReduce", "\"allreduce\"");
    expect_spelled("cluster", "{\"topology\": \"h100\"}", "{\"topology\":\"dgx-h100\"}");
    expect_spelled("cluster.topology.preset", "h200", "\"dgx-h200\"");
    expect_spelled("cluster.topology", "{\"name\": \"h200\", \"servers\": 2}",
                   "{\"name\":\"dgx-h200\",\"servers\":2}");
    expect_spelled("training.model", "bert", "\"bert-large\"");
    expect_spelled("montecarlo.fallback", "tree", "\"double_binary_tree\"");
    expect_spelled("policies", "[\"wait\", \"OptCC\", {\"name\": \"tree\"}]",
                   "[\"wait\",\"optcc\",{\"name\":\"double_binary_tree\"}]");
}

Test(names, that_nobody_has_stay_as_they_are)
{
    expect_spelled("algorithm", "ring", "\"ring\"");
    expect_spelled("algorithm", "rings", "\"rings\"");
    expect_spelled("algorithm", "7", "7");
    expect_spelled("cluster.topology", "h100.xml", "\"h100.xml\"");
    expect_spelled("cluster.topology", "crossbar", "\"crossbar\"");
    expect_spelled("montecarlo.fallback", "none", "\"none\"");
    expect_spelled("name", "tree", "\"tree\"");
    expect_spelled("no.such.key", "tree", "\"tree\"");
}

/* Rows are kept under the whole name, however it was written. */
Test(names, of_a_scenario_are_whole)
{
    cs_config *config = ct_config_of("{\"algorithm\": \"tree\", \"$schema\": \"s.json\","
                                     " \"sweep\": {\"cluster.topology\": [\"h100\", \"h200\"]}}");
    cs_case    c      = {0};

    ct_set_from(config, "collective", "All_Reduce", "--collective");
    cr_assert_eq(cs_config_case(config, 1, &c, NULL), CS_OK);
    cr_expect_str_eq(c.json, "{\"algorithm\":\"double_binary_tree\",\"cluster\":{\"topology\":"
                             "\"dgx-h200\"},\"collective\":\"allreduce\"}");
    cs_case_free(&c);
    cs_config_free(config);
}

/* ---- of a whole configuration ---- */

static void expect_note(const cs_error *note, const char *want)
{
    char text[800];

    cs_error_text(note, text, sizeof text);
    cr_expect_str_eq(text, want);
}

Test(notes, name_the_option_or_the_place)
{
    char       folder[CT_FOLDER_BYTES], path[128], want[400];
    cs_config *config   = NULL;
    cs_error   notes[8] = {{0}};

    ct_folder_make(folder);
    snprintf(path, sizeof path, "%s/c.json", folder);
    ct_file_write(
        path, "{\"cluster\": {\"nic\": {\"bandwidth\": 400, \"alpha\": 7}},\n"
              " \"sweep\": {\"cluster.nic.alpha\": [\"1us\", 2],\n"
              "           \"arrivals.distribution\": [{\"name\": \"exponential\", \"mean\": 3}]}}");
    cr_assert_eq(cs_config_load(path, &config, NULL), CS_OK);
    ct_folder_remove(folder);
    cr_assert_eq(
        cs_config_set(config, "arrivals.late[]", "{\"rank\":3,\"delay\":\"2\"}", "--late", NULL),
        CS_OK);
    cr_assert_eq(cs_config_notes(config, notes, 8), 4, "what an axis replaces does not count");
    expect_note(&notes[1], "--late: 2 is read as 2 s; write 2ms for milliseconds");
    snprintf(want, sizeof want,
             "%s:1:35: cluster.nic.bandwidth: 400 is read as 400 B/s; write 400GB/s or 400Gb/s",
             path);
    expect_note(&notes[0], want);
    snprintf(want, sizeof want,
             "%s:2:41: cluster.nic.alpha: 2 is read as 2 s; write 2us for microseconds", path);
    expect_note(&notes[2], want);
    snprintf(want, sizeof want,
             "%s:3:70: arrivals.distribution.mean: 3 is read as 3 s; write 3ms for milliseconds",
             path);
    expect_note(&notes[3], want);
    cs_error only[1] = {{0}};
    cr_expect_eq(cs_config_notes(config, only, 1), 4, "those without room count");

    cs_config_free(config);
}

/* What we ship is meant. */
Test(notes, there_are_none_of_the_configurations_that_come_with_the_program)
{
    glob_t found;

    cr_assert_eq(glob(COLLSIM_SOURCE_DIR "/configs/*.json", 0, NULL, &found), 0);
    cr_expect_gt(found.gl_pathc, 15);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        cs_config *config = NULL;
        cs_error   note   = {0};
        cr_assert_eq(cs_config_load(found.gl_pathv[i], &config, NULL), CS_OK);
        cr_expect_eq(cs_config_notes(config, &note, 1), 0, "%s: %s: %s", found.gl_pathv[i],
                     note.where, note.message);
        cs_config_free(config);
    }
    globfree(&found);
}
