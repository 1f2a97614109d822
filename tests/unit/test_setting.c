/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From the text of an option to a key: every form, what it becomes in the tree, and every refusal.
 */
#include "base/alloc.h"
#include "support/config.h"

#include "study/keys.h"
#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

static const cs_setting late = {"arrivals.late[]", CS_SET_PARTS, "rank=delay", "RANK=TIME"};
static const cs_setting slow = {"faults[]", CS_SET_PARTS, "rank=slowdown@from:until",
                                "RANK=L[@FROM[:UNTIL]]"};

static cs_config *new_config(void)
{
    cs_config *config = NULL;

    cr_assert_eq(cs_config_new(&config, NULL), CS_OK);
    return config;
}

static void expect_json(cs_config *config, size_t index, const char *want)
{
    cs_text text = {0};

    cr_assert_eq(cs_config_point(config, index, &text, NULL), CS_OK);
    cr_expect_str_eq(text.data, want);
    cs_text_free(&text);
}

static void expect_set(const cs_setting *how, const char *value, const char *want)
{
    cs_config *config = new_config();
    cs_error   err    = {0};

    cr_expect_eq(cs_config_apply(config, how, value, "--x", &err), CS_OK, "%s: %s", value,
                 err.message);
    expect_json(config, 0, want);
    cs_config_free(config);
}

static void expect_refused(const cs_setting *how, const char *value, const char *want)
{
    cs_config *config = new_config();
    cs_error   err    = {0};
    char       text[800];

    cr_expect_neq(cs_config_apply(config, how, value, "--x", &err), CS_OK, "%s", value);
    cs_error_text(&err, text, sizeof text);
    cr_expect_str_eq(text, want);
    expect_json(config, 0, "{}");
    cs_config_free(config);
}

static cs_setting at(const char *path, cs_setting_form form)
{
    return (cs_setting){.path = path, .form = form, .words = "KEY=VALUE"};
}

Test(setting, values_are_what_their_key_takes)
{
    static const struct {
        const char *path, *value, *want;
    } rows[] = {
        {"seed", "7", "{\"seed\":7}"},
        {"seed", "007", "{\"seed\":7}"},
        {"seed", "1e3", "{\"seed\":1000.0}"},
        {"cluster.nic.alpha", "3us", "{\"cluster\":{\"nic\":{\"alpha\":\"3us\"}}}"},
        {"cluster.nic.alpha", "5", "{\"cluster\":{\"nic\":{\"alpha\":5}}}"},
        {"cluster.nvlink.concurrent", "null", "{\"cluster\":{\"nvlink\":{\"concurrent\":null}}}"},
        {"collective", "All-Reduce", "{\"collective\":\"allreduce\"}"},
        {"collective", "5", "{\"collective\":\"5\"}"},
        {"model.name", "hockney", "{\"model\":{\"name\":\"alpha-beta\"}}"},
        {"calibration", "true", NULL},
        {"verify", "true", "{\"verify\":true}"},
        {"arrivals.distribution", "{\"name\": \"constant\", \"value\": 1}",
         "{\"arrivals\":{\"distribution\":{\"name\":\"constant\",\"value\":1}}}"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const cs_setting how = at(rows[i].path, CS_SET_VALUE);
        if (rows[i].want != NULL) {
            expect_set(&how, rows[i].value, rows[i].want);
        }
    }
    const cs_setting seed = at("seed", CS_SET_VALUE), verify = at("verify", CS_SET_FALSE);
    expect_refused(&seed, "x",
                   "--x: 'x' is not a whole number: accepted are 0 to 9007199254740992");
    expect_set(&verify, NULL, "{\"verify\":false}");
}

Test(setting, lists_of_one_are_a_value_and_of_several_an_axis)
{
    const cs_setting ranks = at("cluster.ranks", CS_SET_LIST), bytes = at("bytes", CS_SET_LIST);
    const cs_setting names  = at("algorithm.name", CS_SET_LIST);
    cs_config       *config = new_config();

    expect_set(&ranks, "8", "{\"cluster\":{\"ranks\":8}}");
    expect_set(&bytes, "32", "{\"bytes\":\"32\"}");
    expect_set(&names, "tree", "{\"algorithm\":{\"name\":\"double_binary_tree\"}}");
    cr_assert_eq(cs_config_apply(config, &ranks, "4,8", "-n", NULL), CS_OK);
    cr_assert_eq(cs_config_apply(config, &names, "ring,tree,rhd", "-a", NULL), CS_OK);
    cr_expect_eq(cs_config_count(config), 6);
    expect_json(config, 4,
                "{\"algorithm\":{\"name\":\"double_binary_tree\"},\"cluster\":{\"ranks\":8}}");
    cs_config_free(config);
    expect_refused(&ranks, "4,", "--x: '4,' is not a list of values");
    expect_refused(&ranks, "", "--x: '' is not a list of values");
    expect_refused(&ranks, "4,,8", "--x: '4,,8' is not a list of values");
    expect_refused(&ranks, "4,many", "--x: 'many' is not a whole number: accepted are 2 to 65536");
}

/* How many values, and the last of them. */
static void expect_range(const cs_setting *how, const char *text, size_t n, const char *last)
{
    cs_config *config = new_config();
    cs_error   err    = {0};

    cr_assert_eq(cs_config_apply(config, how, text, "-n", &err), CS_OK, "%s: %s", text,
                 err.message);
    cr_expect_eq(cs_config_count(config), n, "%s: %zu", text, cs_config_count(config));
    expect_json(config, n - 1, last);
    cs_config_free(config);
}

Test(setting, whole_numbers_may_be_ranges)
{
    const cs_setting ranks = at("cluster.ranks", CS_SET_LIST), bytes = at("bytes", CS_SET_LIST);

    expect_range(&ranks, "8..64", 57, "{\"cluster\":{\"ranks\":64}}");
    expect_range(&ranks, "8:1024:x2", 8, "{\"cluster\":{\"ranks\":1024}}");
    expect_range(&ranks, "8:1000:x2", 7, "{\"cluster\":{\"ranks\":512}}");
    expect_range(&ranks, "2,8:32:+8,100", 6, "{\"cluster\":{\"ranks\":100}}");
    expect_range(&ranks, "2:4:x1.01", 2, "{\"cluster\":{\"ranks\":3}}");
    expect_range(&ranks, "8..8", 1, "{\"cluster\":{\"ranks\":8}}");
    expect_range(&bytes, "1k:1g:x4", 11, "{\"bytes\":1073741824}");
    expect_refused(&ranks, "8..4",
                   "--x: '8..4' is no range: accepted are 8..64, 8:64:x2, 8:64:+8, from the "
                   "smaller to the larger number");
    expect_refused(&ranks, "8:64:x1",
                   "--x: '8:64:x1' is no range: accepted are 8..64, 8:64:x2, 8:64:+8, from the "
                   "smaller to the larger number");
    expect_refused(&ranks, "8:64:+0",
                   "--x: '8:64:+0' is no range: accepted are 8..64, 8:64:x2, 8:64:+8, from the "
                   "smaller to the larger number");
    expect_refused(&ranks, "8:64:2",
                   "--x: '8:64:2' is no range: accepted are 8..64, 8:64:x2, 8:64:+8, from the "
                   "smaller to the larger number");
    expect_refused(&ranks, "8..many",
                   "--x: 'many' is not a size: accepted are 4096, 8K, 32M, 1G, KiB, MiB, GiB, kB, "
                   "MB, GB");
    expect_refused(&bytes, "1..100000000", "--x: a range of more than 10000000 values");
}

/* The delay of the first late rank in every scenario, with blanks between them. */
static void expect_delays(const cs_setting *how, const char *text, const char *want)
{
    cs_config *config = new_config();
    cs_error   err    = {0};
    cs_text    got = {0}, point = {0};

    cr_assert_eq(cs_config_apply(config, how, text, "--late", &err), CS_OK, "%s: %s", text,
                 err.message);
    for (size_t i = 0; i < cs_config_count(config); i++) {
        cr_assert_eq(cs_config_point(config, i, &point, NULL), CS_OK);
        const char *delay = strstr(point.data, "\"delay\":");
        cr_assert_not_null(delay, "%s", point.data);
        delay += strlen("\"delay\":");
        cs_text_add(&got, "%s%.*s", i > 0 ? " " : "", (int)strcspn(delay, ",}"), delay);
        cs_text_free(&point);
    }
    cr_expect_str_eq(got.data, want, "%s: %s", text, got.data);
    cs_text_free(&got);
    cs_config_free(config);
}

Test(setting, a_range_by_a_factor_does_not_begin_at_0)
{
    const cs_setting ranks = at("cluster.ranks", CS_SET_LIST);

    expect_refused(&ranks, "0:8:x2",
                   "--x: '0:8:x2' is no range: accepted are 8..64, 8:64:x2, 8:64:+8, from the "
                   "smaller to the larger number");
}

Test(setting, several_delays_are_an_axis)
{
    cs_config *config = new_config();
    cs_text    text   = {0};

    expect_delays(&late, "7=0s,1ms,2ms", "\"0s\" \"1ms\" \"2ms\"");
    expect_delays(&late, "7=10us:85us:x2", "\"10us\" \"20us\" \"40us\" \"80us\"");
    expect_delays(&late, "7=0.1ms:0.3ms:+100us", "\"0.1ms\" \"0.2ms\" \"0.3ms\"");
    expect_delays(&late, "7=0:2ms:+1ms", "\"0ms\" \"1ms\" \"2ms\"");
    expect_delays(&late, "7=0s,1ms:2ms:x2,1h", "\"0s\" \"1ms\" \"2ms\" \"1h\"");
    expect_delays(&late, "7=0.5:1:+0.25", "\"0.5\" \"0.75\" \"1\"");
    expect_delays(&late, "7=1ms:1ms:x2", "\"1ms\"");
    cr_assert_eq(cs_config_apply(config, &late, "7=1ms,2ms", "-x", NULL), CS_OK);
    cr_assert_eq(cs_config_apply(config, &late, "5=3ms,4ms", "-x", NULL), CS_OK);
    cr_assert_eq(cs_config_apply(config, &slow, "0=2,3@1ms:3ms", "-x", NULL), CS_OK);
    cr_expect_eq(cs_config_count(config), 8);
    cr_expect(cs_config_has_axis(config, "arrivals.late[1].delay"));
    cr_expect(cs_config_has_axis(config, "faults[0].slowdown"));
    cr_assert_eq(cs_config_point(config, 7, &text, NULL), CS_OK);
    cr_expect_str_eq(text.data, "{\"arrivals\":{\"late\":[{\"delay\":\"2ms\",\"rank\":7},"
                                "{\"delay\":\"4ms\",\"rank\":5}]},\"faults\":[{\"from\":\"1ms\","
                                "\"rank\":0,\"slowdown\":3,\"until\":\"3ms\"}]}");
    cs_text_free(&text);
    cs_config_free(config);
}

#define NO_RANGE_OF_TIMES                                                                     \
    " is no range: accepted are 10us:20ms:x2, 0ms:10ms:+1ms, from the smaller to the larger " \
    "one, with x only from above 0"

Test(setting, ranges_of_delays_that_are_none_are_refused)
{
    static const char *const none[] = {"1us:2us",   "0s:1ms:x2",  "2ms:1ms:x2", "1ms:2ms:+0s",
                                       "1ms:2ms:2", "1ms:2ms:x1", "1ms:2ms:"};

    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        char text[64], want[300];
        (void)snprintf(text, sizeof text, "7=%s", none[i]);
        (void)snprintf(want, sizeof want, "--x: '%s'" NO_RANGE_OF_TIMES, none[i]);
        expect_refused(&late, text, want);
    }
    expect_refused(&late, "7=1ms,", "--x: '1ms,' is not a list of values");
    expect_refused(&late, "7=1ms,5=2ms", "--x: '7=1ms,5=2ms' is not of the form RANK=TIME");
    expect_refused(&late, "7=1ns:1s:+1ns", "--x: a range of more than 10000000 values");
    expect_refused(&late, "7=1GB:2ms:x2",
                   "--x: '1GB' is not a time: accepted are 700ns, 3us, 4.48ms, 1s, 5min, 2h, 30d, "
                   "1y, or a bare number of seconds");
}

Test(setting, parts_become_an_object_in_a_list)
{
    cs_config *config = new_config();

    expect_set(&late, "7=4.48ms", "{\"arrivals\":{\"late\":[{\"delay\":\"4.48ms\",\"rank\":7}]}}");
    expect_set(&late, "7=2", "{\"arrivals\":{\"late\":[{\"delay\":\"2\",\"rank\":7}]}}");
    expect_set(&slow, "0=2", "{\"faults\":[{\"rank\":0,\"slowdown\":2}]}");
    expect_set(&slow, "0=2.5@1ms", "{\"faults\":[{\"from\":\"1ms\",\"rank\":0,\"slowdown\":2.5}]}");
    expect_set(&slow, "0=8/4", "{\"faults\":[{\"rank\":0,\"slowdown\":2}]}");
    expect_set(&slow, "0=5/2", "{\"faults\":[{\"rank\":0,\"slowdown\":2.5}]}");
    expect_set(&slow, "0=02", "{\"faults\":[{\"rank\":0,\"slowdown\":2}]}");
    expect_set(&slow, "0=02.5", "{\"faults\":[{\"rank\":0,\"slowdown\":2.5}]}");
    expect_set(&slow, "0=2@1ms:3ms",
               "{\"faults\":[{\"from\":\"1ms\",\"rank\":0,\"slowdown\":2,\"until\":\"3ms\"}]}");
    cr_assert_eq(cs_config_apply(config, &slow, "0=2", "--slow", NULL), CS_OK);
    cr_assert_eq(cs_config_apply(config, &slow, "99=2", "--slow", NULL), CS_OK);
    cr_expect_str_eq(ct_refusal(config, 0), "--slow: 99 is outside [0, 7]");
    cs_config_free(config);
    expect_refused(&late, "7", "--x: '7' is not of the form RANK=TIME");
    expect_refused(&late, "=1ms", "--x: '=1ms' is not of the form RANK=TIME");
    expect_refused(&late, "x=1ms", "--x: 'x' is not a whole number: accepted are 0 to 65535");
    expect_refused(&slow, "0=fast",
                   "--x: 'fast' is not a number: accepted are numbers such as 2, 0.5, 8/7, 1e-3");
}

Test(setting, keys_below_a_path)
{
    const cs_setting opt = at("algorithm.options", CS_SET_BELOW), any = at("", CS_SET_BELOW);
    char             long_key[400];

    expect_set(&opt, "segments=64", "{\"algorithm\":{\"options\":{\"segments\":64}}}");
    expect_set(&any, "cluster.ranks=4", "{\"cluster\":{\"ranks\":4}}");
    expect_set(&any, "algorithm=tree", "{\"algorithm\":\"double_binary_tree\"}");
    expect_refused(&opt, "segments", "--x: 'segments' is not of the form KEY=VALUE");
    expect_refused(&opt, "=3", "--x: '=3' is not of the form KEY=VALUE");
    memset(long_key, 'k', sizeof long_key);
    memcpy(long_key + sizeof long_key - 3, "=1", 3);
    expect_refused(&opt, long_key,
                   "--x: 'kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk...' is too long");
}

Test(setting, typed_values_and_axes)
{
    const cs_value values[] = {{.type = CS_VALUE_WHOLE, .whole = 4096},
                               {.type = CS_VALUE_TEXT, .text = "1G"},
                               {.type = CS_VALUE_REAL, .real = 8192}};
    const cs_value bad      = {.type = CS_VALUE_TEXT, .text = "\xff"};
    cs_config     *config   = new_config();
    cs_error       err      = {0};

    cr_assert_eq(cs_config_sweep_put(config, "bytes", values, 3, "--bytes", NULL), CS_OK);
    cr_expect_eq(cs_config_count(config), 3);
    cr_assert_eq(cs_config_put(config, "seed", &values[0], "--seed", NULL), CS_OK);
    expect_json(config, 1, "{\"bytes\":\"1G\",\"seed\":4096}");
    expect_json(config, 2, "{\"bytes\":8192.0,\"seed\":4096}");
    cr_expect_eq(cs_config_put(config, "name", &bad, "--name", &err), CS_EPARSE);
    cr_expect_str_eq(err.message, "the value is not UTF-8");
    cs_config_free(config);
}

/* Whatever is refused for want of memory leaves the configuration usable. */
Test(setting, any_allocation_may_fail)
{
    static const cs_setting list = {"algorithm.name", CS_SET_LIST, NULL, NULL};
    static const struct {
        const cs_setting *how;
        const char       *value;
    } rows[] = {{&late, "7=4ms"}, {&slow, "0=2@1ms:3ms"}, {&list, "ring,tree"}, {&list, "tree"}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cs_status status = CS_ENOMEM;
        for (long passes = 0; status != CS_OK; passes++) {
            cs_config *config = new_config();
            cr_assert_lt(passes, 200);
            cs_alloc_fail_after(passes);
            status = cs_config_apply(config, rows[i].how, rows[i].value, "--x", NULL);
            cs_alloc_fail_after(-1);
            cr_assert(status == CS_OK || status == CS_ENOMEM);
            cs_config_free(config);
        }
    }
}
