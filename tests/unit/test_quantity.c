/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which keys hold times, rates and sizes, their values in SI units, and the bare numbers that are
 * hardly meant. */
#include "config/quantity.h"

#include "config/config.h"
#include "config/tree.h"
#include "support/config.h"
#include "support/folder.h"

#include <criterion/criterion.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>

static const char *suffix_of(const char *path)
{
    const cs_quantity *q = cs_quantity_of(path);
    return q != NULL ? cs_quantity_suffix(q) : "";
}

Test(quantity, is_known_by_the_last_key_of_its_path)
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
        {"algorithm.options.chunk_bytes", "_bytes"},
        {"algorithm.options.delay", ""},
        {"algorithm.options.segments", ""},
        {"cluster.gpus_per_server", ""},
        {"cluster.ranks", ""},
        {"arrivals.distribution.scale", "_s"},
        {"arrivals.straggler.delay.mean", "_s"},
        {"bandwidth_trace.scale", ""},
        {"faults[0].slowdown", ""},
        {"_s", ""},
        {"[\"bytes\"]", ""},
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
    json_t            *node = NULL;
    const cs_quantity *q    = cs_quantity_of(path);

    cr_assert_eq(cs_tree_value(json, "", &node, NULL), CS_OK);
    bool is_one = cs_quantity_value(q, node, value);
    *odd        = cs_quantity_is_odd(q, node);
    json_decref(node);
    return is_one;
}

Test(quantity, values_are_in_si_units)
{
    cs_value value = {0};
    bool     odd;

    cr_expect(read("x.alpha", "3us", &value, &odd) && value.real == 3e-6);
    cr_expect(read("x.alpha", "0.25", &value, &odd) && value.real == 0.25);
    cr_expect(read("x.bandwidth", "400Gb/s", &value, &odd) && value.real == 50e9);
    cr_expect(read("bytes", "4K", &value, &odd) && value.whole == 4096);
    cr_expect(read("bytes", "77", &value, &odd) && value.whole == 77);
    cr_expect(read("bytes", "15360T", &value, &odd) && value.type == CS_VALUE_WHOLE);
    cr_expect(read("bytes", "15000000T", &value, &odd) && value.type == CS_VALUE_REAL);
    cr_expect_not(read("bytes", "12parsec", &value, &odd));
    cr_expect_not(read("x.alpha", "3GB/s", &value, &odd));
    cr_expect_not(read("x.alpha", "null", &value, &odd));
    cr_expect_not(read("x.alpha", "true", &value, &odd));
    cr_expect_not(read("bytes", "0.5", &value, &odd));
}

Test(quantity, bare_numbers_are_odd_where_the_unit_is_hardly_theirs)
{
    static const struct {
        const char *path, *json;
        bool        odd;
    } cases[] = {
        {"x.alpha", "5", true},
        {"x.alpha", "5s", false},
        {"x.alpha", "\"5\"", true},
        {"x.alpha", "3e-6", false},
        {"x.alpha", "0", false},
        {"x.alpha", "0.009", false},
        {"x.alpha", "0.01", true},
        {"x.delay", "2", true},
        {"x.delay", "0.5", false},
        {"x.delay", "1.", true},
        {"x.delay", "2ms", false},
        {"x.bandwidth", "400", true},
        {"x.bandwidth", "4e11", false},
        {"x.bandwidth", "400Gb/s", false},
        {"x.bandwidth", "999999", true},
        {"x.bandwidth", "1000000", false},
        {"bytes", "8", false},
        {"job.compute", "300", false},
        {"timers.restart", "600", false},
        {"model.options.gap_s", "3", true},
        {"x.alpha", "[5]", false},
        {"x.alpha", "nonsense5", false},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cs_value value;
        bool     odd;
        (void)read(cases[i].path, cases[i].json, &value, &odd);
        cr_expect_eq(odd, cases[i].odd, "%s = %s", cases[i].path, cases[i].json);
    }
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
    FILE *file = fopen(path, "w");
    fputs("{\"cluster\": {\"nic\": {\"bandwidth\": 400, \"alpha\": 7}},\n"
          " \"sweep\": {\"cluster.nic.alpha\": [\"1us\", 2],\n"
          "           \"arrivals.distribution\": [{\"name\": \"exponential\", \"mean\": 3}]}}",
          file);
    fclose(file);
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
