/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Option tables: defaults, reading, writing, and the words of every refusal. */
#include "cs/field.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

typedef struct sample_options {
    bool     relay;
    uint32_t segments;
    uint32_t channels;
    uint64_t seed;
    uint64_t segment_bytes;
    double   overhead_s;
    double   link_Bps;
    double   share_ratio;
    double   window_bytes;
    uint32_t wide;
    int      order;
} sample_options;

static const cs_field table[] = {
    CS_OPTION(sample_options, relay, true, 0, 1, "a bool"),
    CS_OPTION_AUTO(sample_options, segments, 1, 64, "auto or a number"),
    CS_OPTION(sample_options, channels, 4, 1, 8, "a number"),
    CS_OPTION(sample_options, seed, 1, 0, HUGE_VAL, "a large number"),
    CS_OPTION(sample_options, segment_bytes, 4096, 16, 1 << 20, "a size"),
    CS_OPTION(sample_options, overhead_s, 1e-6, 0, 1, "a time"),
    CS_OPTION(sample_options, link_Bps, 1e9, 1, 1e15, "a rate"),
    CS_OPTION(sample_options, share_ratio, 0.5, -1, 1, "a number"),
    CS_OPTION(sample_options, window_bytes, 0, 0, 1e6, "a size in a double"),
    CS_OPTION_AUTO(sample_options, wide, 0, UINT32_MAX, "auto or any number"),
    CS_OPTION_CHOICE(sample_options, order, "first|second|third", "a choice"),
    CS_FIELD_END,
};

static sample_options defaults(void)
{
    sample_options options;

    memset(&options, 0x5a, sizeof options);
    cs_fields_default(table, &options);
    return options;
}

static sample_options set(const char *key, const char *value)
{
    cs_error       err     = {0};
    sample_options options = defaults();

    cr_assert_eq(cs_field_set(table, &options, key, value, "w", &err), CS_OK, "%s=%s: %s", key,
                 value, err.message);
    return options;
}

static void check_refused(const char *key, const char *value, const char *message)
{
    cs_error       err     = {0};
    sample_options options = defaults(), before = options;

    cr_assert_eq(cs_field_set(table, &options, key, value, "w", &err), CS_EINVAL, "%s=%s", key,
                 value);
    cr_assert_str_eq(err.where, "w");
    cr_assert_str_eq(err.message, message);
    cr_assert_eq(memcmp(&options, &before, sizeof options), 0, "%s=%s changed a field", key, value);
}

Test(option, defaults)
{
    sample_options options = defaults();

    cr_assert(options.relay);
    cr_assert_eq(options.segments, CS_AUTO);
    cr_assert_eq(options.channels, 4);
    cr_assert_eq(options.seed, 1);
    cr_assert_eq(options.segment_bytes, 4096);
    cr_assert(options.overhead_s == 1e-6);
    cr_assert(options.share_ratio == 0.5);
    cr_assert_eq(options.order, 0);
    cs_fields_default(NULL, NULL);
}

Test(option, booleans)
{
    static const char *const truths[] = {"true", "1", "on"}, *const lies[] = {"false", "0", "off"};

    for (size_t i = 0; i < 3; i++) {
        cr_assert(set("relay", truths[i]).relay);
        cr_assert_not(set("relay", lies[i]).relay);
    }
    check_refused("relay", "yes",
                  "'yes' is not a truth value: accepted are true, false, 1, 0, on, off");
    check_refused("relay", "", "'' is not a truth value: accepted are true, false, 1, 0, on, off");
}

Test(option, integers)
{
    cr_assert_eq(set("channels", "1").channels, 1);
    cr_assert_eq(set("channels", "8").channels, 8);
    check_refused("channels", "9", "9 is outside [1, 8]");
    check_refused("channels", "0", "0 is outside [1, 8]");
    check_refused("channels", "-1", "-1 is outside [1, 8]");
    check_refused("channels", "4294967297", "4294967297 is outside [1, 8]");
    check_refused("channels", "2.5", "'2.5' is not a whole number: accepted are 1 to 8");
    check_refused("channels", "auto", "'auto' is not a whole number: accepted are 1 to 8");
    cr_assert_eq(set("seed", "9007199254740992").seed, UINT64_C(9007199254740992));
    check_refused("seed", "9007199254740993", "9007199254740993 is outside [0, 9007199254740992]");
}

Test(option, automatic)
{
    cr_assert_eq(set("segments", "auto").segments, CS_AUTO);
    cr_assert_eq(set("segments", "64").segments, 64);
    check_refused("segments", "65", "65 is outside [1, 64]");
    check_refused("segments", "4294967295", "4294967295 is outside [1, 64]");
    cr_assert_eq(set("wide", "4294967294").wide, 4294967294);
    check_refused("wide", "4294967295", "4294967295 is outside [0, 4294967294]");
    check_refused("segments", "many",
                  "'many' is neither auto nor a whole number: accepted are auto, 1 to 64");
}

Test(option, quantities_take_units)
{
    cr_assert_eq(set("segment_bytes", "4K").segment_bytes, 4096);
    cr_assert(set("window_bytes", "1.5kB").window_bytes == 1500);
    cr_assert(set("overhead_s", "4.48ms").overhead_s == 4.48e-3);
    cr_assert(set("link_Bps", "200Gb/s").link_Bps == 25e9);
    cr_assert(set("share_ratio", "-0.25").share_ratio == -0.25);
    check_refused("segment_bytes", "2M", "2M is outside [16, 1048576]");
    check_refused("segment_bytes", "8", "8 is outside [16, 1048576]");
    check_refused("overhead_s", "2s", "2s is outside [0 s, 1 s]");
    check_refused("link_Bps", "0", "0 is outside [1, 1e+15]");
    check_refused("share_ratio", "3us",
                  "'3us' is not a number: accepted are numbers such as 2, 0.5, 8/7, 1e-3");
    check_refused("overhead_s", "4K",
                  "'4K' is not a time: accepted are 700ns, 3us, 4.48ms, 1s, 5min, 2h, 30d, 1y, or "
                  "a bare number of "
                  "seconds");
}

Test(option, choices)
{
    cr_assert_eq(set("order", "first").order, 0);
    cr_assert_eq(set("order", "second").order, 1);
    cr_assert_eq(set("order", "third").order, 2);
    check_refused("order", "thi",
                  "unknown word 'thi', did you mean 'third'?: accepted are first, second, third");
    check_refused(
        "order", "third|",
        "unknown word 'third|', did you mean 'third'?: accepted are first, second, third");
    check_refused("order", "first|second",
                  "unknown word 'first|second': accepted are first, second, third");
    check_refused("order", "", "unknown word '': accepted are first, second, third");
}

Test(option, unknown_keys_name_the_nearest)
{
    check_refused(
        "segmets", "1",
        "unknown option 'segmets', did you mean 'segments'?: accepted are relay, segments, "
        "channels, seed, segment_bytes, overhead_s, link_Bps, share_ratio, window_bytes, "
        "wide, order");
    check_refused("zzzzzz", "1",
                  "unknown option 'zzzzzz': accepted are relay, segments, channels, seed, "
                  "segment_bytes, overhead_s, link_Bps, share_ratio, window_bytes, wide, order");
    cs_error err = {0};
    cr_assert_eq(cs_field_set(NULL, NULL, "x", "1", "w", &err), CS_EINVAL);
    cr_assert_str_eq(err.message, "unknown option 'x': accepted are none");
}

static const cs_field *row_of(const char *key)
{
    const cs_field *row = table;

    while (strcmp(row->name, key) != 0) {
        row++;
    }
    return row;
}

static void check_round_trip(const char *key, const char *value, const char *expected, bool is_json)
{
    char           text[64];
    sample_options options = set(key, value), again = defaults();

    cr_assert_eq(cs_field_text(row_of(key), &options, text, sizeof text), is_json);
    cr_assert_str_eq(text, expected);
    cr_assert_eq(cs_field_set(table, &again, key, text, "w", NULL), CS_OK);
    cr_assert_eq(memcmp(&options, &again, sizeof options), 0, "%s=%s", key, value);
}

Test(option, text_reads_back)
{
    check_round_trip("relay", "off", "false", true);
    check_round_trip("relay", "1", "true", true);
    check_round_trip("segments", "auto", "auto", false);
    check_round_trip("segments", "7", "7", true);
    check_round_trip("seed", "9007199254740991", "9007199254740991", true);
    check_round_trip("segment_bytes", "1M", "1048576", true);
    check_round_trip("overhead_s", "0.1", "0.1", true);
    check_round_trip("overhead_s", "0.30000000000000004", "0.30000000000000004", true);
    check_round_trip("link_Bps", "200Gb/s", "25000000000", true);
    check_round_trip("window_bytes", "1e6", "1000000", true);
    check_round_trip("share_ratio", "-1", "-1", true);
    check_round_trip("order", "third", "third", false);
}

Test(option, fields_need_no_alignment)
{
    char           storage[sizeof(sample_options) + 1];
    sample_options copy;

    cs_fields_default(table, storage + 1);
    cr_assert_eq(cs_field_set(table, storage + 1, "seed", "5", "w", NULL), CS_OK);
    memcpy(&copy, storage + 1, sizeof copy);
    cr_assert_eq(copy.seed, 5);
    cr_assert_eq(copy.channels, 4);
}

static void expect_default(const char *want, cs_field row)
{
    char text[64] = "nothing";
    bool has_one  = cs_field_default(&row, text, sizeof text);

    cr_expect_eq(has_one, want != NULL, "%s", text);
    cr_expect(want == NULL || strcmp(text, want) == 0, "%s: %s", want, text);
}

Test(option, defaults_are_written_as_a_configuration_has_them)
{
    static const cs_field time = {
        .type = CS_FIELD_F64, .unit = CS_UNIT_TIME, .name = "x", .max = HUGE_VAL};
    static const cs_field rate = {
        .type = CS_FIELD_F64, .unit = CS_UNIT_RATE, .name = "x", .max = 1e15};
    static const cs_field size = {
        .type = CS_FIELD_U64, .unit = CS_UNIT_SIZE, .name = "x", .max = 1e15};
    static const cs_field count = {.type = CS_FIELD_U32, .name = "x", .min = 1, .max = 9};
    cs_field              row;

#define DEFAULT(of, value, want) row = (of), row.fallback = (value), expect_default((want), row)
    DEFAULT(time, 3e-6, "3us");
    DEFAULT(time, 0, "0s");
    DEFAULT(time, 0.1, "100ms");
    DEFAULT(time, 600, "600s");
    DEFAULT(time, 1.0 / 3, "0.3333333333333333");
    DEFAULT(time, (double)NAN, NULL);
    DEFAULT(time, HUGE_VAL, NULL);
    DEFAULT(rate, 450e9, "450GB/s");
    DEFAULT(rate, 25e9, "25GB/s");
    DEFAULT(size, 32 << 20, "32MiB");
    DEFAULT(size, 1000, "1000B");
    DEFAULT(count, 7, "7");
    DEFAULT(count, 0, NULL);
    row.has_null = true;
    expect_default("null", row);
    row             = count;
    row.fallback    = 7;
    row.is_required = true;
    expect_default(NULL, row);
    expect_default("auto", *row_of("segments"));
    expect_default("true", *row_of("relay"));
    expect_default("first", *row_of("order"));
}
