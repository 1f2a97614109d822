/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The timeline: every transfer is there, at its time, on tracks that hold the format's rules; and
 * the checker of the rules sees when they are broken. */
#include "base/alloc.h"
#include "base/arena.h"
#include "base/file.h"
#include "engine/explain.h"
#include "observer_setup.h"
#include "output/chrome_trace.h"
#include "support/folder.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const cs_link_counters no_counters;

static bool trace_of(const cs_scenario *scenario, const cs_algorithm *algorithm,
                     const cs_model *model, cs_text *text, cs_result *result)
{
    cs_recording recording = {.limits = {cs_chrome_trace_limit}};
    cs_observer  observer  = cs_recording_observer(&recording);
    bool         ran       = run_with(scenario, algorithm, model, &observer, 1, result);

    if (ran) {
        cr_assert_eq(cs_chrome_trace(&recording, scenario, &no_counters, result, text, NULL),
                     CS_OK);
    }
    cs_recording_free(&recording);
    return ran;
}

/* The exit status of scripts/check_chrome_trace for files, which it names where they are wrong. */
static int check_files(const char *pattern, const char *streams)
{
    char command[600];

    (void)snprintf(command, sizeof command, COLLSIM_PYTHON " %s/scripts/check_chrome_trace %s %s",
                   COLLSIM_SOURCE_DIR, pattern, streams);
    int status = system(command);
    cr_assert(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* The same for a text. */
static int check(const char *text, size_t length)
{
    char path[] = "/tmp/cs_trace_XXXXXX";
    int  fd     = mkstemp(path);

    cr_assert_geq(fd, 0);
    close(fd);
    cr_assert_eq(cs_file_write(path, text, length, NULL), CS_OK);
    int status = check_files(path, ">/dev/null 2>&1");
    unlink(path);
    return status;
}

static size_t count_phase(const json_t *events, const char *phase)
{
    size_t  i, n = 0;
    json_t *event;

    json_array_foreach(events, i, event)
    {
        n += strcmp(json_string_value(json_object_get(event, "ph")), phase) == 0;
    }
    return n;
}

static double number(const json_t *event, const char *key)
{
    return json_number_value(json_object_get(event, key));
}

/* A ring of 4: step s of 6 begins at s (alpha + S/4/B) on every rank; 24 messages, each a slice
 * on two tracks; all but the first step's wait for the message before. */
Test(chrome_trace, a_ring_is_drawn_as_its_formula_says)
{
    cs_scenario scenario = scenario_of(4, 1, CS_SWITCHED);
    cs_text     text     = {0};
    cs_result   result;
    double      step_us = 3 + 840 * 4096 / 4 / 50e9 * 1e6;
    size_t      i;
    json_t     *event;

    cr_assert(trace_of(&scenario, ring(), cs_models[0], &text, &result));
    json_t *json = json_loads(text.data, JSON_REJECT_DUPLICATES, NULL);
    cr_assert_not_null(json);
    cr_expect_str_eq(json_string_value(json_object_get(json, "displayTimeUnit")), "ns");
    const json_t *events = json_object_get(json, "traceEvents");
    cr_expect_eq(count_phase(events, "X"), 48 + 6, "and the critical path");
    cr_expect_eq(count_phase(events, "s"), 20);
    cr_expect_eq(count_phase(events, "f"), 20);
    json_array_foreach(events, i, event)
    {
        const json_t *args = json_object_get(event, "args");
        if (strcmp(json_string_value(json_object_get(event, "ph")), "X") == 0) {
            double round = number(args, "round");
            cr_expect_eq(json_is_true(json_object_get(args, "critical")),
                         json_object_get(event, "cname") != NULL);
            cr_expect_float_eq(number(event, "ts"), round * step_us, 2e-6);
            cr_expect_float_eq(number(event, "dur"), step_us, 2e-6);
            cr_expect_eq(number(args, "bytes"), 840 * 4096 / 4);
            cr_expect_eq(number(args, "span"), 1);
        }
    }
    json_decref(json);
    cr_expect_eq(check(text.data, text.length), 0);
    cs_text_free(&text);
}

/* The metadata say what was run, and what came out. */
Test(chrome_trace, metadata_are_the_scenario_and_its_result)
{
    static const double arrival_s[4] = {0, 0, 0, 250e-6};
    cs_scenario         scenario     = scenario_of(4, 1, CS_SWITCHED);
    cs_text             text         = {0};
    cs_result           result;

    scenario.arrival_s = arrival_s;
    cr_assert(trace_of(&scenario, ring(), cs_models[0], &text, &result));
    json_t *json = json_loads(text.data, JSON_REJECT_DUPLICATES, NULL);
    cr_assert_not_null(json);
    const json_t *other = json_object_get(json, "otherData");
    cr_expect_str_eq(json_string_value(json_object_get(other, "collsim")), COLLSIM_VERSION);
    cr_expect_str_eq(json_string_value(json_object_get(other, "algorithm")), "ring");
    cr_expect_str_eq(json_string_value(json_object_get(other, "collective")), "allreduce");
    cr_expect_str_eq(json_string_value(json_object_get(other, "model")), cs_models[0]->name);
    cr_expect_not_null(
        strstr(json_string_value(json_object_get(other, "setting")), "late 3 by 250 us"));
    cr_expect_eq(number(other, "ranks"), 4);
    cr_expect_eq(number(other, "bytes"), (double)result.bytes);
    cr_expect_float_eq(number(other, "elapsed_us"), 1e6 * result.elapsed_s, 1e-9);
    cr_expect_float_eq(number(other, "bound_us"), 1e6 * result.bound_s, 1e-9);
    json_decref(json);
    cs_text_free(&text);
}

/* The last value of a counter of bytes of a rank. */
static double last_bytes(const json_t *events, uint32_t rank, const char *key)
{
    double  last_us = -1, bytes = -1;
    size_t  i;
    json_t *event;

    json_array_foreach(events, i, event)
    {
        const char *name = json_string_value(json_object_get(event, "name"));
        if (strcmp(json_string_value(json_object_get(event, "ph")), "C") == 0 &&
            strcmp(name, "bytes") == 0 && number(event, "pid") == rank &&
            number(event, "ts") > last_us) {
            last_us = number(event, "ts");
            bytes   = number(json_object_get(event, "args"), key);
        }
    }
    return bytes;
}

/* 6 steps of a quarter each: every rank sends and receives 1.5 times the buffer. */
Test(chrome_trace, every_rank_counts_its_bytes)
{
    cs_scenario scenario = scenario_of(4, 1, CS_SWITCHED);
    cs_text     text     = {0};
    cs_result   result;

    cr_assert(trace_of(&scenario, ring(), cs_models[0], &text, &result));
    json_t       *json   = json_loads(text.data, 0, NULL);
    const json_t *events = json_object_get(json, "traceEvents");
    for (uint32_t rank = 0; rank < 4; rank++) {
        cr_expect_eq(last_bytes(events, rank, "sent"), 6 * 840 * 4096 / 4);
        cr_expect_eq(last_bytes(events, rank, "received"), 6 * 840 * 4096 / 4);
    }
    json_decref(json);
    cs_text_free(&text);
}

/* The process "critical path" has the steps of --explain, in their order, and the transfers are
 * marked where they are drawn, too. */
Test(chrome_trace, the_critical_path_is_marked)
{
    static const double arrival_s[8] = {0, 0, 0, 0, 0, 0, 0, 200e-6};
    cs_scenario         scenario     = scenario_of(8, 1, CS_SWITCHED);
    cs_recording        recording    = {.limits = {cs_chrome_trace_limit}};
    cs_observer         observer     = cs_recording_observer(&recording);
    const cs_path_step *steps        = NULL;
    cs_arena            arena        = {0};
    cs_text             text         = {0};
    cs_result           result;
    size_t              n = 0, i, at = 0, marked = 0;
    json_t             *event;
    double              pid = -1;

    scenario.arrival_s = arrival_s;
    cr_assert(run_with(&scenario, ring(), cs_models[0], &observer, 1, &result));
    cr_assert_eq(cs_chrome_trace(&recording, &scenario, &no_counters, &result, &text, NULL), CS_OK);
    cr_assert_eq(cs_critical_path(&recording, &scenario, &arena, &steps, &n, NULL), CS_OK);
    cr_assert_gt(n, 7);
    json_t       *json   = json_loads(text.data, 0, NULL);
    const json_t *events = json_object_get(json, "traceEvents");
    json_array_foreach(events, i, event)
    {
        const json_t *args = json_object_get(event, "args");
        const char   *cat  = json_string_value(json_object_get(event, "cat"));
        const char   *name = json_string_value(json_object_get(args, "name"));
        if (name != NULL && strcmp(name, "critical path") == 0) {
            pid = number(event, "pid");
        }
        if (json_is_true(json_object_get(args, "critical"))) {
            bool is_path = number(event, "pid") == pid;
            cr_expect_str_eq(cat, is_path ? "critical" : "nic");
            marked += !is_path;
            if (is_path) {
                cr_assert_lt(at, n);
                cr_expect_float_eq(number(event, "ts"), 1e6 * steps[at].start_s, 2e-6);
                cr_expect_eq(number(args, "chunk"), steps[at].chunk);
                cr_expect_str_eq(json_string_value(json_object_get(args, "waited for")),
                                 cs_wait_text(steps[at].wait));
                at++;
            }
        }
    }
    cr_expect_eq(at, n);
    cr_expect_eq(marked, 2 * n, "on the sender's and on the receiver's track");
    cr_expect_eq(check(text.data, text.length), 0);
    json_decref(json);
    cs_arena_free(&arena);
    cs_text_free(&text);
    cs_recording_free(&recording);
}

Test(chrome_trace, late_ranks_have_a_slice_until_they_arrive)
{
    static const double arrival_s[4] = {0, 0, 0, 123.456789e-6};
    cs_scenario         scenario     = scenario_of(4, 1, CS_SWITCHED);
    cs_text             text         = {0};
    cs_result           result;

    scenario.arrival_s = arrival_s;
    cr_assert(trace_of(&scenario, ring(), cs_models[0], &text, &result));
    cr_expect_not_null(strstr(text.data, "{\"ph\":\"X\",\"pid\":3,\"tid\":0,\"ts\":0.000000,"
                                         "\"dur\":123.456789,\"name\":\"compute\""));
    cr_expect_eq(check(text.data, text.length), 0);
    cs_text_free(&text);
}

/* Parts of a message, beside the first, that have bytes: each is a slice of its own. */
static size_t count_joined(const cs_scenario *scenario, const cs_algorithm *algorithm)
{
    cs_transfer transfers[64];
    cs_block    block = {.transfers = transfers, .capacity = 64};
    cs_job      job   = {.scenario = *scenario};
    void       *state = NULL;
    size_t      count = 0;

    cs_job_set_algorithm(&job, algorithm, NULL);
    cr_assert_eq(cs_job_resolve(&job, NULL), CS_OK);
    cr_assert_eq(cs_job_open(&job, &state, NULL), CS_OK);
    do {
        algorithm->next_block(state, &block);
        for (size_t i = 0; i < block.count; i++) {
            count += (transfers[i].flags & CS_JOIN) != 0 && transfers[i].bytes > 0;
        }
    } while (block.count > 0);
    algorithm->close(state);
    cs_job_release(&job);
    return count;
}

/* Slices of the process "critical path", which is none of a rank or switch. */
static size_t count_on_path(const json_t *events)
{
    double  pid = -1;
    size_t  i, n = 0;
    json_t *event;

    for (int pass = 0; pass < 2; pass++) {
        json_array_foreach(events, i, event)
        {
            const char *name =
                json_string_value(json_object_get(json_object_get(event, "args"), "name"));
            pid = name != NULL && strcmp(name, "critical path") == 0 ? number(event, "pid") : pid;
            n += pass == 1 && number(event, "pid") == pid &&
                 strcmp(json_string_value(json_object_get(event, "ph")), "X") == 0;
        }
    }
    return n;
}

/* Exchanges, shared groups, fences, latency that holds no port, a port for each pair. */
Test(chrome_trace, every_algorithm_and_model_holds_the_rules)
{
    static const double arrival_s[8] = {0, 0, 0, 0, 0, 0, 0, 200e-6};
    static const struct {
        uint32_t       gpus;
        cs_fabric_kind kind;
    } clusters[] = {{1, CS_SWITCHED}, {4, CS_SWITCHED}, {4, CS_DIRECT}, {8, CS_DIRECT}};
    char folder[CT_FOLDER_BYTES], path[200];
    int  n_checked = 0;

    ct_folder_make(folder);
    for (size_t a = 0; cs_algorithms[a] != NULL; a++) {
        for (size_t m = 0; cs_models[m] != NULL; m++) {
            for (size_t c = 0; c < 4; c++) {
                cs_scenario scenario = scenario_of(8, clusters[c].gpus, clusters[c].kind);
                cs_text     text     = {0};
                cs_result   result;

                while ((cs_algorithms[a]->collectives >> scenario.collective & 1u) == 0) {
                    scenario.collective++;
                }
                scenario.arrival_s = arrival_s;
                if (trace_of(&scenario, cs_algorithms[a], cs_models[m], &text, &result)) {
                    json_t *json   = json_loads(text.data, 0, NULL);
                    size_t  n_x    = count_phase(json_object_get(json, "traceEvents"), "X");
                    size_t  joined = count_joined(&scenario, cs_algorithms[a]);
                    n_x -= count_on_path(json_object_get(json, "traceEvents"));
                    cr_expect_eq(n_x, 2 * (result.transfers + joined) + 1, "%s",
                                 cs_algorithms[a]->name);
                    (void)snprintf(path, sizeof path, "%s/%s-%s-%zu.json", folder,
                                   cs_algorithms[a]->name, cs_models[m]->name, c);
                    cr_assert_eq(cs_file_write(path, text.data, text.length, NULL), CS_OK);
                    json_decref(json);
                    n_checked++;
                }
                cs_text_free(&text);
            }
        }
    }
    (void)snprintf(path, sizeof path, "%s/*.json", folder);
    cr_expect_eq(check_files(path, ">/dev/null"), 0);
    ct_folder_remove(folder);
    cr_expect_gt(n_checked, 4);
}

Test(chrome_trace, messages_that_overlap_take_two_tracks)
{
    cs_scenario  scenario  = scenario_of(4, 1, CS_SWITCHED);
    cs_recording recording = {.limits = {cs_chrome_trace_limit}};
    cs_observer  observer  = cs_recording_observer(&recording);
    cs_text      text      = {0};
    size_t       i, n = 0;
    json_t      *event;

    feed_overlap(&observer);
    cr_assert_eq(cs_chrome_trace(&recording, &scenario, &no_counters, NULL, &text, NULL), CS_OK);
    cr_expect_eq(check(text.data, text.length), 0);
    cr_expect_not_null(strstr(text.data, "\"pid\":0,\"tid\":5,\"ts\":4.000000,\"dur\":10.0"));
    cr_expect_not_null(strstr(text.data, "\"args\":{\"name\":\"tx nic (2)\"}"));
    cr_expect_not_null(strstr(text.data, "\"name\":\"copy c0-1 -> 2\""));
    cr_expect_not_null(strstr(text.data, "{\"ph\":\"s\",\"pid\":1,\"tid\":5,\"ts\":9.000000"));
    cr_expect_not_null(strstr(text.data, "{\"ph\":\"f\",\"pid\":1,\"tid\":1,\"ts\":14.000000"));
    json_t *json = json_loads(text.data, 0, NULL);
    json_array_foreach(json_object_get(json, "traceEvents"), i, event)
    {
        n += strcmp(json_string_value(json_object_get(event, "name")), "busy tx ports") == 0;
    }
    cr_expect_eq(n, 3);
    json_decref(json);
    cs_text_free(&text);
    cs_recording_free(&recording);
}

Test(chrome_trace, two_runs_give_the_same_bytes)
{
    cs_scenario scenario = scenario_of(8, 1, CS_SWITCHED);
    cs_text     one = {0}, two = {0};
    cs_result   result;

    cr_assert(trace_of(&scenario, ring(), cs_models[0], &one, &result));
    cr_assert(trace_of(&scenario, ring(), cs_models[0], &two, &result));
    cr_expect_str_eq(one.data, two.data);
    cs_text_free(&one);
    cs_text_free(&two);
}

Test(chrome_trace, too_many_messages_are_refused)
{
    static cs_transfer transfers[500];
    static cs_interval intervals[500];
    cs_block           block     = {.transfers = transfers, .capacity = 500, .count = 500};
    cs_recording       recording = {.limits = {cs_chrome_trace_limit}};
    cs_observer        observer  = cs_recording_observer(&recording);
    cs_error           err       = {0};
    cs_status          status    = CS_OK;
    long               n_taken   = 0;

    for (; status == CS_OK && n_taken < 3000000; n_taken += 500) {
        status = observer.block(observer.user, &block, intervals, &err);
    }
    cr_expect_eq(status, CS_EINVAL);
    cr_expect_eq(n_taken, 2000500);
    cr_expect_not_null(strstr(err.message, "2000000"));
    cs_recording_free(&recording);
}

/* Times are picoseconds in 63 bits. */
Test(chrome_trace, messages_that_are_too_late_are_refused)
{
    static const cs_interval when      = {8e6, 1e7};
    cs_transfer              one       = {.src = 0, .dst = 1, .bytes = 8, .span = 1};
    cs_block                 block     = {.transfers = &one, .count = 1};
    cs_recording             recording = {.limits = {cs_chrome_trace_limit}};
    cs_observer              observer  = cs_recording_observer(&recording);
    cs_error                 err       = {0};

    cr_expect_eq(observer.block(observer.user, &block, &when, &err), CS_EINVAL);
    cr_expect_not_null(strstr(err.message, "ends after 1e+07 s"));
    cs_recording_free(&recording);
}

Test(chrome_trace, the_checker_sees_broken_traces)
{
#define NAMED \
    "{\"ph\":\"M\",\"pid\":1,\"tid\":1,\"name\":\"thread_name\",\"args\":{\"name\":\"t\"}},"
#define SLICE(ts, dur) \
    "{\"ph\":\"X\",\"ts\":" ts ",\"dur\":" dur ",\"pid\":1,\"tid\":1,\"name\":\"n\"}"
#define ARROW(ph, ts)                                                       \
    ",{\"ph\":\"" ph "\",\"ts\":" ts ",\"pid\":1,\"tid\":1,\"name\":\"n\"," \
    "\"cat\":\"c\",\"id\":1,\"bp\":\"e\"}"
#define COUNTED(ts, bytes)                                       \
    ",{\"ph\":\"C\",\"ts\":" ts ",\"pid\":1,\"name\":\"bytes\"," \
    "\"args\":{\"sent\":" bytes "}}"
#define TWO SLICE("0", "1.000001") "," SLICE("1.000001", "2")
    static const struct {
        const char *events;
        int         want;
    } cases[] = {
        {NAMED TWO, 0},
        {NAMED TWO ARROW("s", "0.5") ARROW("f", "1.000001"), 0},
        {NAMED TWO ",{\"ph\":\"C\",\"ts\":1,\"pid\":1,\"name\":\"n\",\"args\":{\"a\":0}}", 0},
        {NAMED SLICE("0", "1.000002") "," SLICE("1.000001", "2"), 1},
        {NAMED SLICE("0", "-1"), 1},
        {SLICE("0", "1"), 1},
        {NAMED TWO ARROW("s", "0.5"), 1},
        {NAMED TWO ARROW("f", "0.5"), 1},
        {NAMED TWO ARROW("s", "0.5") ARROW("s", "0.5") ARROW("f", "1"), 1},
        {NAMED TWO ARROW("s", "2") ARROW("f", "1"), 1},
        {NAMED TWO ARROW("s", "0.5") ARROW("f", "9"), 1},
        {NAMED TWO ",{\"ph\":\"C\",\"ts\":1,\"pid\":1,\"name\":\"n\",\"args\":{\"a\":-1}}", 1},
        {NAMED TWO ",{\"ph\":\"X\",\"ts\":9,\"pid\":1,\"tid\":1,\"name\":\"n\"}", 1},
        {NAMED TWO COUNTED("0", "1") COUNTED("1", "2"), 0},
        {NAMED TWO COUNTED("0", "2") COUNTED("1", "1"), 1},
        {NAMED TWO ",{\"ph\":\"?\"}", 1},
        {NAMED TWO ",", 1},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[2000];
        int  length = snprintf(text, sizeof text, "{\"traceEvents\":[%s]}", cases[i].events);
        cr_expect_eq(check(text, (size_t)length), cases[i].want, "case %zu", i);
    }
    cr_expect_eq(check("{\"traceEvents\":[],\"otherData\":{\"a\":[]}}", 39), 1);
    cr_expect_eq(check("{\"traceEvents\":[],\"otherData\":{\"a\":\"b\"}}", 40), 0);
}

Test(chrome_trace, every_failed_allocation_is_reported)
{
    cs_scenario scenario = scenario_of(4, 1, CS_SWITCHED);

    for (long passes = 0; passes < 1000; passes++) {
        cs_recording recording = {.limits = {cs_chrome_trace_limit}};
        cs_observer  observer  = cs_recording_observer(&recording);
        cs_text      text      = {0};
        cs_result    result;

        cs_alloc_fail_after(passes);
        bool      ran = run_with(&scenario, ring(), cs_models[0], &observer, 1, &result);
        cs_status status =
            ran ? cs_chrome_trace(&recording, &scenario, &no_counters, NULL, &text, NULL)
                : CS_ENOMEM;
        cs_alloc_fail_after(-1);
        cs_recording_free(&recording);
        cs_text_free(&text);
        if (status == CS_OK) {
            cr_assert_gt(passes, 10);
            return;
        }
        cr_assert_eq(status, CS_ENOMEM);
    }
    cr_assert(false, "it never succeeded");
}
