/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Snapshots of NCCL's RAS: who does not answer, who is behind, and what hangs. */
#include "base/alloc.h"
#include "traces/ras.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

/* A job of 4 ranks: rank 2 has made `calls_2` AllReduces, the others `calls`; rank 3 answers or
 * not. */
static void write_snapshot(char *text, size_t bytes, const char *time, int calls, int calls_2,
                           const char *missing)
{
    size_t used = (size_t)snprintf(text, bytes,
                                   "{\"nccl_version\": \"2.29.1\", \"timestamp\": \"%s\", "
                                   "\"communicators_count\": 1, \"communicators\": [{\"hash\": "
                                   "\"0xae94\", \"size\": 4, \"ranks\": [",
                                   time);
    for (int r = 0; r < (missing != NULL ? 3 : 4); r++) {
        used += (size_t)snprintf(
            text + used, bytes - used,
            "%s{\"rank\": %d, \"host\": \"10.0.0.%d\", \"pid\": %d, \"cuda_dev\": %d, \"status\": "
            "{\"init_state\": 0, \"async_error\": 0, \"abort_flag\": false}, "
            "\"collective_counts\": {\"AllGather\": 7, \"AllReduce\": %d}}",
            r > 0 ? ", " : "", r, r / 2, 100 + r, r % 2, r == 2 ? calls_2 : calls);
    }
    (void)snprintf(text + used, bytes - used,
                   "], \"missing_ranks\": [%s]}], \"ras\": {\"timeouts_count\": 0}}",
                   missing != NULL ? missing : "");
}

#define GONE                                                                            \
    "{\"rank\": 3, \"host\": \"10.0.0.1\", \"pid\": 103, \"cuda_dev\": 1, \"status\": " \
    "{\"unresponsive\": true, \"considered_dead\": %s}}"

static cs_ras_report read_texts(const char *a, const char *b)
{
    const cs_arrival_text texts[] = {{"a.json", a, strlen(a)},
                                     {"b.json", b, b != NULL ? strlen(b) : 0}};
    cs_ras_report         report  = {0};
    cs_error              err     = {0};

    cr_assert(cs_ras_is(a, strlen(a)));
    cr_assert_eq(cs_ras_read(texts, b != NULL ? 2 : 1, &report, &err), CS_OK, "%s", err.message);
    return report;
}

static void says(const cs_ras_report *report, const char *words)
{
    cs_text text = {0};

    cs_ras_table(report, &text);
    cr_expect(strstr(text.data, words) != NULL, "'%s' is not in:\n%s", words, text.data);
    cs_text_free(&text);
}

Test(ras, one_snapshot)
{
    char text[4000];

    write_snapshot(text, sizeof text, "2025-12-19 13:06:53", 60, 60, NULL);
    cs_ras_report report = read_texts(text, NULL);
    cr_expect_eq(report.n_comms, 1);
    cr_expect_eq(report.comms[0].n_behind + report.comms[0].n_missing, 0);
    says(&report, "0xae94, 4 ranks: all ranks have made the same calls\n");
    cs_ras_free(&report);

    write_snapshot(text, sizeof text, "2025-12-19 13:06:53", 60, 59, NULL);
    report = read_texts(text, NULL);
    says(&report, "a second snapshot tells whether it hangs; behind are\n"
                  "  rank 2 on 10.0.0.1, GPU 0, process 102: 1 call behind\n");
    cs_ras_free(&report);

    char gone[300];
    (void)snprintf(gone, sizeof gone, GONE, "false");
    write_snapshot(text, sizeof text, "2025-12-19 13:06:53", 60, 60, gone);
    report = read_texts(text, NULL);
    says(&report, "some do not answer: look at\n"
                  "  rank 3 on 10.0.0.1, GPU 1, process 103: does not answer\n");
    cs_ras_free(&report);
    (void)snprintf(gone, sizeof gone, GONE, "true");
    write_snapshot(text, sizeof text, "2025-12-19 13:06:53", 60, 60, gone);
    report = read_texts(text, NULL);
    says(&report, "process 103: is given up as dead\n");
    cr_expect_eq(report.comms[0].ranks[3].behind, 0);
    cs_ras_free(&report);
}

/* In whichever order they are given. */
Test(ras, two_snapshots)
{
    char first[4000], second[4000];

    write_snapshot(first, sizeof first, "2025-12-19 13:06:53", 60, 59, NULL);
    write_snapshot(second, sizeof second, "2025-12-19 13:07:53", 60, 59, NULL);
    cs_ras_report report = read_texts(second, first);
    cr_expect(report.comms[0].is_stuck);
    cr_expect_str_eq(report.time, "2025-12-19 13:07:53");
    says(&report, "nothing moved since the snapshot before: it hangs, and waits for\n"
                  "  rank 2 on 10.0.0.1, GPU 0, process 102: 1 call behind\n");
    cs_text json = {0};
    cs_ras_json(&report, &json);
    cr_expect(strstr(json.data, "{\"communicator\": \"0xae94\", \"size\": 4, \"stuck\": true, "
                                "\"missing\": 0, \"behind\": 1, \"ranks\": [") != NULL,
              "%s", json.data);
    cr_expect(strstr(json.data,
                     "{\"rank\": 2, \"host\": \"10.0.0.1\", \"state\": \"answers\", \"failed\": "
                     "false, \"calls\": 66, \"behind\": 1}") != NULL,
              "%s", json.data);
    cs_text_free(&json);
    cs_ras_free(&report);

    write_snapshot(second, sizeof second, "2025-12-19 13:07:53", 90, 89, NULL);
    report = read_texts(first, second);
    cr_expect(!report.comms[0].is_stuck);
    says(&report, "calls go on: no hang");
    cs_ras_free(&report);
}

/* The last two of three count, in whichever order they are given. */
Test(ras, three_snapshots)
{
    static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                     {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    char             text[3][4000];

    write_snapshot(text[0], sizeof text[0], "2025-12-19 13:06:00", 50, 50, NULL);
    write_snapshot(text[1], sizeof text[1], "2025-12-19 13:07:00", 60, 59, NULL);
    write_snapshot(text[2], sizeof text[2], "2025-12-19 13:08:00", 60, 59, NULL);
    for (int k = 0; k < 6; k++) {
        cs_arrival_text texts[3];
        cs_ras_report   report = {0};
        for (int i = 0; i < 3; i++) {
            texts[i] = (cs_arrival_text){"s", text[orders[k][i]], strlen(text[orders[k][i]])};
        }
        cr_assert_eq(cs_ras_read(texts, 3, &report, NULL), CS_OK);
        cr_expect_str_eq(report.time, "2025-12-19 13:08:00", "order %d", k);
        cr_expect(report.comms[0].is_stuck, "order %d", k);
        cr_expect_eq(report.n_snapshots, 3);
        cs_ras_free(&report);
    }
}

Test(ras, bad_snapshots)
{
    static const struct {
        const char *text, *word;
    } cases[] = {
        {"{\"communicators\": 3}", "no array"},
        {"{\"communicators\": [{\"ranks\": [{}]}]}", "a rank without its number"},
        {"{\"communicators\": [{\"ranks\": [{\"rank\": 70000}]}]}", "a rank without its number"},
        {"{\"communicators\": [", "expected"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const cs_arrival_text text   = {"a.json", cases[i].text, strlen(cases[i].text)};
        cs_ras_report         report = {0};
        cs_error              err    = {0};
        cr_expect_eq(cs_ras_read(&text, 1, &report, &err), CS_EPARSE);
        cr_expect(strstr(err.message, cases[i].word) != NULL, "%zu: %s", i, err.message);
        cr_expect_str_eq(err.input, "a.json");
        cr_expect_null(report.comms);
    }
    cr_expect(!cs_ras_is("{\"traceEvents\": []}", 19));
    cr_expect(!cs_ras_is("[1]", 3));
}

Test(ras, survives_every_failing_allocation)
{
    char first[4000], second[4000];

    write_snapshot(first, sizeof first, "2025-12-19 13:06:53", 60, 59, NULL);
    write_snapshot(second, sizeof second, "2025-12-19 13:07:53", 60, 59, NULL);
    const cs_arrival_text texts[] = {{"a", first, strlen(first)}, {"b", second, strlen(second)}};
    for (long passes = 0;; passes++) {
        cs_ras_report report = {0};
        cs_error      err    = {0};
        cs_alloc_fail_after(passes);
        cs_status status = cs_ras_read(texts, 2, &report, &err);
        cs_alloc_fail_after(-1);
        cs_ras_free(&report);
        if (status == CS_OK) {
            cr_expect_gt(passes, 10);
            break;
        }
        cr_assert_eq(status, CS_ENOMEM, "after %ld: %s", passes, err.message);
    }
}
