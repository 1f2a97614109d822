/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Quantities as text: every unit, exactness, and what is refused with which words. */
#include "cs/units.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct sample {
    const char *text;
    double      value;
} sample;

static void check_bytes(const char *text, uint64_t expected)
{
    cs_error err   = {0};
    uint64_t bytes = 1;

    cr_assert_eq(cs_parse_bytes(text, &bytes, "k", &err), CS_OK, "%s: %s", text, err.message);
    cr_assert(bytes == expected, "%s gave %llu", text, (unsigned long long)bytes);
}

static void check_refused(cs_status status, const cs_error *err, const char *message)
{
    cr_assert_eq(status, CS_EINVAL, "accepted: %s", message);
    cr_assert_str_eq(err->where, "k");
    cr_assert_str_eq(err->message, message);
}

Test(units, sizes)
{
    check_bytes("0", 0);
    check_bytes("4096", 4096);
    check_bytes("4096B", 4096);
    check_bytes("8K", 8192);
    check_bytes("8k", 8192);
    check_bytes("3m", 3 << 20);
    check_bytes("1g", 1 << 30);
    check_bytes("1t", 1ull << 40);
    check_bytes("32M", UINT64_C(33554432));
    check_bytes("1G", UINT64_C(1073741824));
    check_bytes("2T", UINT64_C(2199023255552));
    check_bytes("3KiB", 3072);
    check_bytes("3MiB", UINT64_C(3145728));
    check_bytes("3GiB", UINT64_C(3221225472));
    check_bytes("3TiB", UINT64_C(3298534883328));
    check_bytes("7kB", 7000);
    check_bytes("7MB", UINT64_C(7000000));
    check_bytes("7GB", UINT64_C(7000000000));
    check_bytes("7TB", UINT64_C(7000000000000));
}

Test(units, sizes_are_exact)
{
    check_bytes("1.5G", UINT64_C(1610612736));
    check_bytes("0.1kB", 100);
    check_bytes("4.35kB", 4350);
    check_bytes("1.0000000000000000000000000K", 1024);
    check_bytes("1e6", 1000000);
    check_bytes("25e-1kB", 2500);
    check_bytes("0.0009765625K", 1);
    check_bytes("0e-9999", 0);
    check_bytes("9007199254740993", UINT64_C(9007199254740993));
    check_bytes("18446744073709551615", UINT64_MAX);
}

Test(units, wrong_sizes_are_refused)
{
    static const char *const texts[] = {
        "",
        " 1",
        "1 ",
        "1 K",
        "K",
        ".",
        "-",
        "+1",
        "0x10",
        "1KB",
        "1kb",
        "1kb",
        "1Kib",
        "1KiBx",
        "nan",
        "inf",
        "1e",
        "1.2.3",
        "1e5K6",
        "1,5G",
        "1GB/s",
        "1.5",
        "0.1K",
        "-1",
        "1e-3",
        "1e20",
        "99999999999999999999",
        "18446744073709551616",
        "16777216T",
        "1e9999",
        "1e999999999999999999",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        cs_error err   = {0};
        uint64_t bytes = 77;
        cr_assert_eq(cs_parse_bytes(texts[i], &bytes, "k", &err), CS_EINVAL, "%s", texts[i]);
        cr_assert_eq(bytes, 77, "%s changed the output", texts[i]);
        cr_assert_not_null(strstr(err.message, "accepted are 4096, 8K, 32M, 1G"));
    }
}

Test(units, size_messages)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"12parsec", "'12parsec' is not a size: accepted are 4096, 8K, 32M, 1G, KiB, MiB, GiB, kB, "
                     "MB, GB"},
        {"-5K", "'-5K' is negative: accepted are 4096, 8K, 32M, 1G, KiB, MiB, GiB, kB, MB, GB"},
        {"1.5", "'1.5' is not a whole number of bytes: accepted are 4096, 8K, 32M, 1G, KiB, MiB, "
                "GiB, kB, MB, GB"},
        {"1e30", "'1e30' is larger than any size: accepted are 4096, 8K, 32M, 1G, KiB, MiB, GiB, "
                 "kB, MB, GB"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cs_error  err = {0};
        uint64_t  bytes;
        cs_status status = cs_parse_bytes(cases[i].text, &bytes, "k", &err);
        check_refused(status, &err, cases[i].message);
    }
}

/* Times and rates are the doubles nearest to the decimal number: the bits must agree. */
Test(units, times)
{
    static const sample samples[] = {
        {"0", 0.0},          {"1s", 1.0},      {"700ns", 700e-9}, {"3us", 3e-6},
        {"4.48ms", 4.48e-3}, {"90min", 5400},  {"2h", 7200},      {"1.5d", 129600},
        {"50y", 1577880000}, {"0.25", 0.25},   {"1e-3", 1e-3},    {"1e-3ms", 1e-6},
        {"12.5us", 12.5e-6}, {".5s", 0.5},     {"2.s", 2.0},      {"0.3ns", 0.3e-9},
        {"7E+2us", 7e-4},    {"1e308", 1e308},
    };
    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++) {
        cs_error err  = {0};
        double   time = -1;
        cr_assert_eq(cs_parse_time(samples[i].text, &time, "k", &err), CS_OK, "%s", err.message);
        cr_assert(time == samples[i].value, "%s gave %.17g", samples[i].text, time);
    }
}

Test(units, every_millisecond_is_correctly_rounded)
{
    for (int i = 0; i < 20000; i++) {
        char   text[32], same[32];
        double time = -1;
        (void)snprintf(text, sizeof text, "%d.%02dms", i / 100, i % 100);
        (void)snprintf(same, sizeof same, "%de-5", i);
        cr_assert_eq(cs_parse_time(text, &time, "k", NULL), CS_OK);
        cr_assert(time == strtod(same, NULL), "%s gave %.17g", text, time);
    }
}

Test(units, rates)
{
    static const sample samples[] = {
        {"1", 1.0},
        {"8B/s", 8.0},
        {"8kB/s", 8e3},
        {"8MB/s", 8e6},
        {"450GB/s", 450e9},
        {"2TB/s", 2e12},
        {"1KiB/s", 1024.0},
        {"1MiB/s", 1048576.0},
        {"450GiB/s", 450.0 * 1073741824.0},
        {"1TiB/s", 1099511627776.0},
        {"16b/s", 2.0},
        {"16kb/s", 2e3},
        {"16Mb/s", 2e6},
        {"200Gb/s", 25e9},
        {"1.6Tb/s", 2e11},
        {"16bps", 2.0},
        {"16kbps", 2e3},
        {"16Mbps", 2e6},
        {"200Gbps", 25e9},
        {"1Tbps", 125e9},
        {"1e9", 1e9},
    };
    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++) {
        cs_error err  = {0};
        double   rate = -1;
        cr_assert_eq(cs_parse_rate(samples[i].text, &rate, "k", &err), CS_OK, "%s", err.message);
        cr_assert(rate == samples[i].value, "%s gave %.17g", samples[i].text, rate);
    }
}

Test(units, wrong_times_and_rates_are_refused)
{
    static const char *const texts[] = {
        "",         "-1",    "-3us",    "-1GB/s", "-0",     "nan", "NAN", "inf",
        "infinity", "0x1p3", "1e400",   "3 us",   "3us ",   "us",  "3US", "3mins",
        "200G",     "200Gb", "200GBps", "1KB/s",  "3hours", "1e",  "--1",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        double value = 77;
        cr_assert_eq(cs_parse_time(texts[i], &value, "k", NULL), CS_EINVAL, "%s", texts[i]);
        cr_assert_eq(cs_parse_rate(texts[i], &value, "k", NULL), CS_EINVAL, "%s", texts[i]);
        cr_assert_eq(value, 77);
    }
    cs_error err = {0};
    double   value;
    check_refused(cs_parse_time("-3us", &value, "k", &err), &err,
                  "'-3us' is negative: accepted are 700ns, 3us, 4.48ms, 1s, 5min, 2h, 30d, 1y, or "
                  "a bare number of "
                  "seconds");
    err = (cs_error){0};
    check_refused(cs_parse_rate("200Gb", &value, "k", &err), &err,
                  "'200Gb' is not a rate: accepted are 450GB/s, 450GiB/s, 200Gb/s, 200Gbps, or a "
                  "bare number of B/s");
}

Test(units, numbers)
{
    static const sample samples[] = {
        {"-2.5", -2.5}, {"1e-3", 1e-3}, {"0.1", 0.1}, {"-0", 0.0}, {"17976931e301", 17976931e301},
    };
    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++) {
        double value = 77;
        cr_assert_eq(cs_parse_number(samples[i].text, &value, "k", NULL), CS_OK);
        cr_assert(value == samples[i].value, "%s gave %.17g", samples[i].text, value);
    }
    double value = 77;
    cr_assert_eq(cs_parse_number("8/7", &value, "k", NULL), CS_OK);
    cr_expect_eq(value, 8.0 / 7);
    cr_assert_eq(cs_parse_number("1/0", &value, "k", NULL), CS_EINVAL);
    cr_assert_eq(cs_parse_number("1/2/3", &value, "k", NULL), CS_EINVAL);
    cr_assert_eq(cs_parse_number("/2", &value, "k", NULL), CS_EINVAL);
    cr_assert_eq(cs_parse_number("2/", &value, "k", NULL), CS_EINVAL);
    cr_assert_eq(cs_parse_number("1s", &value, "k", NULL), CS_EINVAL);
    cr_assert_eq(cs_parse_number("nan", &value, "k", NULL), CS_EINVAL);
    cr_assert_eq(cs_parse_number("1e309", &value, "k", NULL), CS_EINVAL);
    cr_assert_eq(cs_parse_number("-1e309", &value, "k", NULL), CS_EINVAL);
}

Test(units, every_printed_double_reads_back)
{
    for (int i = 0; i < 10000; i++) {
        char   text[40];
        double value = (double)(i * 7919 + 1) / 3.0 * (i % 2 == 0 ? 1e-200 : 1e150), read = 0;
        (void)snprintf(text, sizeof text, "%.17g", value);
        cr_assert_eq(cs_parse_number(text, &read, "k", NULL), CS_OK);
        cr_assert(read == value, "%s gave %.17g", text, read);
    }
}

Test(units, integers)
{
    uint64_t value = 77;

    cr_assert_eq(cs_parse_integer("3", 3, 5, &value, "k", NULL), CS_OK);
    cr_assert_eq(value, 3);
    cr_assert_eq(cs_parse_integer("18446744073709551615", 0, UINT64_MAX, &value, "k", NULL), CS_OK);
    cr_assert(value == UINT64_MAX);

    cs_error err = {0};
    check_refused(cs_parse_integer("6", 3, 5, &value, "k", &err), &err, "6 is outside [3, 5]");
    err = (cs_error){0};
    check_refused(cs_parse_integer("-4", 3, 5, &value, "k", &err), &err, "-4 is outside [3, 5]");
    err = (cs_error){0};
    check_refused(cs_parse_integer("18446744073709551616", 0, UINT64_MAX, &value, "k", &err), &err,
                  "18446744073709551616 is outside [0, 18446744073709551615]");
    err = (cs_error){0};
    check_refused(cs_parse_integer("4.0", 3, 5, &value, "k", &err), &err,
                  "'4.0' is not a whole number: accepted are 3 to 5");
    cr_assert_eq(cs_parse_integer("", 3, 5, &value, "k", NULL), CS_EINVAL);
    cr_assert_eq(cs_parse_integer("+4", 3, 5, &value, "k", NULL), CS_EINVAL);
    cr_assert_eq(cs_parse_integer("2", 3, 5, &value, "k", NULL), CS_EINVAL);
    cr_assert(value == UINT64_MAX);
}
