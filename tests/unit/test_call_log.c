/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Always-on logs: planted late ranks and causes, clocks that are off and drift, records that are
 * lost, out of order or twice, jobs that begin again, and input that is no log.
 */
#include "base/alloc.h"
#include "base/text.h"
#include "call_log_setup.h"
#include "traces/arrival_file.h"
#include "traces/arrival_formats.h"
#include "traces/call_log.h"
#include "traces/skew_text.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

Test(call_log, every_planted_rank_and_cause_is_found)
{
    static const cs_late_cause causes[] = {CS_LATE_HOST, CS_LATE_GPU, CS_LATE_NETWORK};

    for (uint32_t i = 0; i < 60; i++) {
        plant p    = usual();
        p.n_ranks  = i % 4 == 3 ? 4 : 16;
        p.cause    = causes[i % 3];
        p.who      = (uint32_t)(cs_mix64(i) % p.n_ranks);
        p.offset_s = 3600 * (draw(i, 0, 9) - 0.5); /* hours apart */
        p.drift    = 1e-4 * (draw(i, 1, 9) - 0.5);
        p.delay_s  = 1e-3 + 2e-2 * draw(i, 2, 9);
        found f    = find(&p);

        cr_expect_eq(f.trace.n_calls, p.n_calls);
        cr_expect(f.trace.clock_error_s > 1e-6 && f.trace.clock_error_s < 3e-5, "error %g",
                  f.trace.clock_error_s);
        cr_expect_eq(f.skew.straggler, p.who, "plant %u: rank %u", i, f.skew.straggler);
        cr_expect_eq(f.skew.ranks[p.who].cause, p.cause, "plant %u: cause %d", i,
                     (int)f.skew.ranks[p.who].cause);
        cr_expect_float_eq(f.skew.straggler_delay_s.mean.value, p.delay_s, 2.5e-4, "plant %u: %g",
                           i, f.skew.straggler_delay_s.mean.value - p.delay_s);
        for (uint32_t r = 0; r < p.n_ranks; r++) {
            cr_expect(r == p.who || f.skew.ranks[r].cause == CS_LATE_NOT, "plant %u: rank %u", i,
                      r);
        }
        let_go(&f);
    }
}

/* Nobody is late: nobody is accused. */
Test(call_log, without_a_late_rank_there_is_no_cause)
{
    for (uint32_t i = 0; i < 10; i++) {
        plant p   = usual();
        p.delay_s = 0;
        p.n_ranks = 8;
        p.first_sn += 1000 * i;
        p.jitter_s = 1e-4 * (1 + i);
        found f    = find(&p);
        for (uint32_t r = 0; r < p.n_ranks; r++) {
            cr_expect_eq(f.skew.ranks[r].cause, CS_LATE_NOT, "%u: rank %u: %d", i, r,
                         (int)f.skew.ranks[r].cause);
        }
        let_go(&f);
    }
}

/* Without times of kernels, arrivals come from the times inside, and host and GPU look alike. */
Test(call_log, records_without_events)
{
    plant p      = usual();
    p.is_verbose = false;
    found f      = find(&p);

    cr_expect_eq(f.skew.straggler, p.who);
    cr_expect_eq(f.skew.ranks[p.who].cause, CS_LATE_UNKNOWN);
    cr_expect_float_eq(f.skew.straggler_delay_s.mean.value, p.delay_s, 2.5e-4);
    cr_expect_null(f.trace.queued_s);
    cr_expect(strstr(f.notes.text.data, "NCCL_INSPECTOR_DUMP_VERBOSE") != NULL);
    let_go(&f);
}

/* Lost, out of order, and both with clocks that are off. */
Test(call_log, lost_and_mixed_records)
{
    plant p      = usual();
    p.n_ranks    = 8;
    p.lost_ratio = 0.02;
    p.is_mixed   = true;
    p.who        = 3;
    p.offset_s   = -12;
    p.per_server = 4;
    found f      = find(&p);

    cr_expect_eq(f.skew.straggler, p.who);
    cr_expect_eq(f.skew.ranks[p.who].cause, CS_LATE_HOST);
    cr_expect_eq(f.trace.n_calls + f.notes.n_incomplete, p.n_calls);
    cr_expect(f.notes.n_incomplete < 3, "%zu left out", f.notes.n_incomplete);
    cr_expect_not_null(strstr(f.notes.text.data, "lost: "));
    cr_expect_float_eq(f.notes.period_s, 0.3, 1e-4, "%g", f.notes.period_s);
    let_go(&f);
}

/* Calls that are left out would move those behind them: every tenth call would not be that. */
Test(call_log, lost_records_and_a_period)
{
    for (uint32_t i = 0; i < 6; i++) {
        plant p      = usual();
        p.period     = 10;
        p.lost_ratio = 0.005 * (1 + i);
        p.first_sn += 1000 * i;
        found f = find(&p);

        cr_expect_eq(f.skew.straggler, p.who);
        cr_expect_eq(f.skew.ranks[p.who].cause, p.cause);
        cr_expect_eq(f.skew.pattern.kind, CS_PATTERN_PERIODIC, "%u: %s", i,
                     cs_pattern_name(f.skew.pattern.kind));
        cr_expect_eq(f.skew.pattern.period_calls, 10, "%u: %zu", i, f.skew.pattern.period_calls);
        let_go(&f);
    }
}

/* Of many ranks that each lose some records hardly a call is whole: those that are lost come with
 * the others. */
Test(call_log, many_ranks_that_each_lose_records)
{
    static const cs_late_cause causes[] = {CS_LATE_HOST, CS_LATE_GPU, CS_LATE_NETWORK, CS_LATE_NOT};

    for (uint32_t i = 0; i < 8; i++) {
        plant p      = usual();
        p.n_ranks    = MAX_RANKS;
        p.lost_ratio = 0.08;
        p.offset_s   = 777;
        p.is_mixed   = true;
        p.cause      = causes[i % 4];
        p.first_sn   = 1 + 500 * i;
        found f      = find(&p);

        cr_expect_gt(f.trace.n_calls, 190, "%zu calls", f.trace.n_calls);
        cr_expect_eq(f.trace.n_calls + f.notes.n_incomplete, p.n_calls);
        cr_expect(strstr(f.notes.text.data, "lost: ") != NULL, "%s", f.notes.text.data);
        cr_expect_float_eq(f.notes.period_s, 0.3, 1e-4, "%g", f.notes.period_s);
        cr_expect(p.cause == CS_LATE_NOT || f.skew.straggler == p.who);
        for (uint32_t r = 0; r < p.n_ranks; r++) {
            cr_expect_eq(f.skew.ranks[r].cause, r == p.who ? p.cause : CS_LATE_NOT,
                         "%u: rank %u: %d", i, r, (int)f.skew.ranks[r].cause);
        }
        let_go(&f);
    }
}

/* A rank that has few calls is needed: only those are used, though others are lost there. */
Test(call_log, a_short_log_among_many)
{
    const cs_arrival_options options         = {0};
    cs_text                  logs[MAX_RANKS] = {{0}};
    plant                    p               = usual();
    cs_arrival_trace         trace           = {0};
    cs_arrival_notes         notes           = {0};
    cs_error                 err             = {0};

    p.n_ranks    = MAX_RANKS;
    p.lost_ratio = 0.05;
    write_logs(&p, logs);
    logs[3].length = (size_t)(strstr(logs[3].data, "\"coll_sn\": 60,") - logs[3].data);
    cr_assert_eq(read_logs(logs, p.n_ranks, &options, &trace, &notes, &err), CS_OK, "%s",
                 err.message);
    cr_expect(trace.n_calls > 55 && trace.n_calls < 60, "%zu calls", trace.n_calls);
    cr_expect_not_null(strstr(notes.text.data, "lost: "));
    cs_arrival_trace_free(&trace);
    cs_arrival_notes_free(&notes);
    free_logs(logs);
}

/* Clocks are set by ranks that leave together: one of two on a server that always leaves late does
 * not move its server's, nor does it count as the clocks' error. */
Test(call_log, slow_networks_on_servers_of_two)
{
    for (uint32_t i = 0; i < 12; i++) {
        plant p      = usual();
        p.per_server = 2;
        p.n_ranks    = i % 3 == 0 ? 2 : i % 3 == 1 ? 4 : 16;
        p.who        = (uint32_t)(cs_mix64(i) % p.n_ranks);
        p.cause      = CS_LATE_NETWORK;
        p.offset_s   = -1234;
        p.drift      = 3e-5;
        p.delay_s    = 1e-3 * (1 + i);
        found f      = find(&p);

        cr_expect(f.trace.clock_error_s < 3e-5, "%u: %g", i, f.trace.clock_error_s);
        cr_expect_eq(f.skew.straggler, p.who, "%u: rank %u", i, f.skew.straggler);
        for (uint32_t r = 0; r < p.n_ranks; r++) {
            cr_expect_eq(f.skew.ranks[r].cause, r == p.who ? CS_LATE_NETWORK : CS_LATE_NOT,
                         "%u: rank %u: %d", i, r, (int)f.skew.ranks[r].cause);
        }
        let_go(&f);
    }
}

/* Who leaves late need not come last in any call: the table has all ranks all the same. */
Test(call_log, a_table_of_a_slow_network)
{
    plant   p    = usual();
    cs_text text = {0};

    p.cause    = CS_LATE_NETWORK;
    p.jitter_s = 1e-6;
    p.offset_s = 3;
    p.n_calls  = 40;
    for (uint32_t who = 0; who < p.n_ranks; who += 3) {
        p.who   = who;
        found f = find(&p);
        char  row[16];
        cs_skew_table(&f.trace, &f.skew, &f.notes, &text);
        (void)snprintf(row, sizeof row, "\n%6u ", who);
        cr_expect_not_null(strstr(text.data, row), "%s", text.data);
        cr_expect_not_null(strstr(text.data, "  network  <- straggler\n"), "%s", text.data);
        cs_text_free(&text);
        let_go(&f);
    }
}

/* Of two ranks, how far their ends are apart is what varies, whichever leaves first. */
Test(call_log, two_ranks)
{
    for (uint32_t i = 0; i < 40; i++) {
        plant p      = usual();
        p.n_ranks    = 2;
        p.per_server = 1 + i % 2;
        p.who        = i / 2 % 2;
        p.cause      = i / 4 % 2 == 0 ? CS_LATE_HOST : CS_LATE_GPU;
        p.offset_s   = 99;
        p.n_calls    = 60;
        p.first_sn += 100 * i;
        p.end_error_s = 1e-5;
        found f       = find(&p);

        cr_expect(f.trace.clock_error_s > 3e-6 && f.trace.clock_error_s < 8e-6, "%u: %g", i,
                  f.trace.clock_error_s);
        cr_expect_eq(f.skew.straggler, p.who);
        cr_expect_eq(f.skew.ranks[p.who].cause, p.cause, "%u: %d", i,
                     (int)f.skew.ranks[p.who].cause);
        cr_expect_eq(f.skew.ranks[1 - p.who].cause, CS_LATE_NOT);
        let_go(&f);
    }
}

/* A message of NCCL is one block, the size of nccl-tests all of them. */
Test(call_log, sizes_are_those_of_nccl_tests)
{
    static const struct {
        const char *name;
        uint64_t    bytes;
    } cases[] = {{"AllReduce", 1048576},
                 {"Broadcast", 1048576},
                 {"AllGather", 4194304},
                 {"ReduceScatter", 4194304},
                 {"AlltoAll", 4194304}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const cs_arrival_options options = {.collective = cases[i].name};
        cs_arrival_trace         trace   = {0};
        cs_arrival_notes         notes   = {0};
        cs_text                  log     = {0};
        cs_error                 err     = {0};
        for (int r = 0; r < 4; r++) {
            cs_text_add(
                &log,
                "{\"header\": {\"id\": \"a\", \"rank\": %d, \"n_ranks\": 4}, \"coll_perf\": "
                "{\"coll\": \"%s\", \"coll_sn\": 1, \"coll_msg_size_bytes\": 1048576, "
                "\"coll_exec_time_us\": %d}}\n",
                r, cases[i].name, 100 + r);
        }
        const cs_arrival_text text = {"log", log.data, log.length};
        cr_assert_eq(cs_arrival_texts_read(&text, 1, &options, &trace, &notes, &err), CS_OK, "%s",
                     err.message);
        cr_expect_eq(trace.bytes[0], cases[i].bytes, "%s: %llu", cases[i].name,
                     (unsigned long long)trace.bytes[0]);
        cs_arrival_trace_free(&trace);
        cs_arrival_notes_free(&notes);
        cs_text_free(&log);
    }
}

/* Where some ranks' logs have no events, the times inside are what all have. */
Test(call_log, ranks_without_events_among_others)
{
    plant p    = usual();
    p.n_silent = 2;
    found f    = find(&p);

    cr_expect_eq(f.trace.n_calls, p.n_calls);
    cr_expect_eq(f.skew.straggler, p.who);
    cr_expect_eq(f.skew.ranks[p.who].cause, CS_LATE_UNKNOWN);
    cr_expect(strstr(f.notes.text.data, "too few ranks have times of kernels") != NULL, "%s",
              f.notes.text.data);
    let_go(&f);
}

/* A whole server is late, or a rail: said for it, too. */
Test(call_log, servers_and_rails)
{
    plant p = usual();
    found f = find(&p);

    cr_expect_eq(f.trace.n_servers, 2);
    cr_expect_str_eq(f.trace.server_names[1], "node1");
    cr_expect_eq(f.skew.n_servers, 2);
    cr_expect_eq(f.skew.n_rails, 8);
    cr_expect_eq(f.skew.servers[1].cause, CS_LATE_NOT, "one rank is not a server");
    cr_expect_geq(f.skew.rails[3].n_late, f.trace.n_calls);
    let_go(&f);

    enum { CALLS = 4 }; /* seldom late is not a cause */
    double                 arrival[16 * CALLS], inside[16 * CALLS];
    static uint32_t        server[]      = {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3};
    static char            letters[4][2] = {"a", "b", "c", "d"};
    char                  *names[]       = {letters[0], letters[1], letters[2], letters[3]};
    const cs_arrival_trace trace         = {.n_ranks      = 16,
                                            .n_calls      = CALLS,
                                            .arrival_s    = arrival,
                                            .inside_s     = inside,
                                            .has_ends     = true,
                                            .server       = server,
                                            .server_names = names,
                                            .n_servers    = 4};
    for (uint32_t i = 0; i < 16 * CALLS; i++) {
        arrival[i] = server[i % 16] == 2 ? 1 : 0.001 * (i % 16);
        inside[i]  = 2 - arrival[i];
    }
    cr_assert_eq(cs_skew_compute(&trace, &f.skew, NULL), CS_OK);
    cr_expect_eq(f.skew.servers[2].cause, CS_LATE_UNKNOWN);
    cr_expect_float_eq(f.skew.servers[2].came_s, 0.993, 0.01, "%g", f.skew.servers[2].came_s);
    cs_skew_free(&f.skew);
}

/* Ranks that nobody has a log of are named; the others keep their numbers. */
Test(call_log, missing_ranks)
{
    const cs_arrival_options options         = {0};
    plant                    p               = usual();
    cs_text                  logs[MAX_RANKS] = {{0}};
    cs_arrival_trace         trace           = {0};
    cs_arrival_notes         notes           = {0};
    cs_error                 err             = {0};
    cs_skew                  skew            = {0};

    write_logs(&p, logs);
    cs_text first = logs[0];
    logs[0]       = logs[15]; /* rank 0 is gone, so is 15's second copy */
    cr_assert_eq(read_logs(logs, 15, &options, &trace, &notes, &err), CS_OK, "%s", err.message);
    cr_assert_eq(cs_skew_compute(&trace, &skew, NULL), CS_OK);
    cr_expect_eq(trace.n_ranks, 15);
    cr_expect_eq(trace.group_ranks, 16);
    cr_expect_eq(cs_trace_number(&trace, skew.straggler), p.who);
    cr_expect(strstr(notes.text.data, "no log of 1 of 16 ranks: 0\n") != NULL, "%s",
              notes.text.data);
    logs[0] = first;
    free_logs(logs);
    cs_skew_free(&skew);
    cs_arrival_trace_free(&trace);
    cs_arrival_notes_free(&notes);
}

/* Counters begin again: calls after that are others. Copies count once. */
Test(call_log, restarts_and_copies)
{
    const cs_arrival_options options         = {0};
    plant                    p               = usual();
    cs_text                  logs[MAX_RANKS] = {{0}};
    cs_arrival_trace         trace           = {0};
    cs_arrival_notes         notes           = {0};
    cs_error                 err             = {0};

    p.n_ranks = 4;
    p.who     = 1;
    write_logs(&p, logs);
    for (uint32_t r = 0; r < 4; r++) {
        plant again = p;
        again.first_sn -= 200; /* the same numbers, a minute later */
        for (uint64_t c = 200; c < 300; c++) {
            add_record(&again, c, r, &logs[r]);
        }
    }
    add_record(&p, 7, 2, &logs[3]);
    cr_assert_eq(read_logs(logs, 4, &options, &trace, &notes, &err), CS_OK, "%s", err.message);
    cr_expect_eq(trace.n_calls, 300);
    cr_expect(strstr(notes.text.data, "counters of calls begin again") != NULL, "%s",
              notes.text.data);
    cr_expect(strstr(notes.text.data, "1 records are there twice") != NULL, "%s", notes.text.data);
    free_logs(logs);
    cs_arrival_trace_free(&trace);
    cs_arrival_notes_free(&notes);
}

/* Lines of Prometheus: `name{labels} value`, one kind of each name, named before. */
Test(call_log, gauges)
{
    plant   p    = usual();
    found   f    = find(&p);
    cs_text text = {0};
    size_t  n    = 0;
    char    busbw[80];

    cs_skew_prom(&f.trace, &f.skew, &f.notes, &text);
    cr_assert(!text.failed);
    for (char *line = strtok(text.data, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        static char name[64];
        if (strncmp(line, "# TYPE ", 7) == 0) {
            cr_assert_eq(sscanf(line, "# TYPE %63s gauge", name), 1);
        } else if (line[0] != '#') {
            double value;
            cr_expect(strncmp(line, name, strlen(name)) == 0 && line[strlen(name)] == '{', "%s",
                      line);
            cr_expect_eq(sscanf(strrchr(line, '}') + 1, "%lf", &value), 1, "%s", line);
            cr_expect(strstr(line, "collective=\"AllReduce\",comm_name=\"0x7e1c\",message_size=\""
                                   "1.00MB\"} ") != NULL,
                      "%s", line);
            n++;
        }
    }
    cr_expect_eq(n, 5 * 16 + 3);
    cs_text_free(&text);
    cs_skew_prom(&f.trace, &f.skew, &f.notes, &text);
    cr_expect(strstr(text.data,
                     "collsim_straggler{rank=\"11\",cause=\"host\",pattern=\"steady\",") != NULL);
    cr_expect(strstr(text.data, "{rank=\"11\",node=\"node1\",nranks=\"16\",n_nodes=\"2\",") !=
              NULL);
    (void)snprintf(busbw, sizeof busbw, "\"1.00MB\"} %.3g",
                   1048576.0 * 30 / 16 / f.skew.zero_wait_s.mean.value / 1e9);
    cr_expect(strstr(strstr(text.data, "nccl_bus_bandwidth_gbs{"), busbw) != NULL, "%s", busbw);
    cs_text_free(&text);
    let_go(&f);
}

static void told(void *user, uint64_t done, uint64_t total)
{
    uint64_t *last = user;

    cr_expect(done >= last[0] && done <= total, "%llu of %llu", (unsigned long long)done,
              (unsigned long long)total);
    last[0] = done;
    last[1]++;
}

/* Somebody may be told how far it is. */
Test(call_log, tells_how_far_it_is)
{
    uint64_t                 last[2]         = {0};
    const cs_listener        listener        = {told, last};
    const cs_arrival_options options         = {.listener = &listener};
    plant                    p               = usual();
    cs_text                  logs[MAX_RANKS] = {{0}};
    cs_arrival_trace         trace           = {0};
    cs_arrival_notes         notes           = {0};

    write_logs(&p, logs);
    cr_assert_eq(read_logs(logs, p.n_ranks, &options, &trace, &notes, NULL), CS_OK);
    cr_expect_geq(last[1], p.n_ranks);
    cr_expect_geq(last[0], (p.n_ranks - 1) * 1000);
    free_logs(logs);
    cs_arrival_trace_free(&trace);
    cs_arrival_notes_free(&notes);
}

/* ---- Flight Recorder ---- */

/* A dump of a rank; entry `unfinished` has not ended. */
static void write_dump(const plant *p, uint32_t r, size_t unfinished, bool has_durations,
                       cs_text *text)
{
    cs_text_add(text, "{\"version\": \"2.10\", \"pg_config\": {\"7\": {\"name\": \"7\", \"desc\": "
                      "\"dp\", \"ranks\": \"[");
    for (uint32_t k = 0; k < p->n_ranks; k++) {
        cs_text_add(text, "%s%u", k > 0 ? ", " : "", 2 * k + 1); /* odd ranks of a larger job */
    }
    cs_text_add(text, "]\"}}, \"rank\": %u, \"entries\": [", 2 * r + 1);
    for (size_t c = 0; c < p->n_calls; c++) {
        double called_s, came_s = 0, left_s;
        times_of(p, c, r, &called_s, &came_s, &left_s);
        cs_text_add(
            text,
            "%s{\"pg_id\": 3, \"process_group\": [\"7\", \"dp\"], \"collective_seq_id\": %zu, "
            "\"is_p2p\": false, \"profiling_name\": \"nccl:_all_gather_base\", "
            "\"input_sizes\": [[1024, 8]], \"input_dtypes\": [\"BFloat16\"], \"output_sizes\": "
            "[[4096, 8]], \"output_dtypes\": [\"BFloat16\"], \"state\": \"%s\", "
            "\"time_created_ns\": %lld, \"time_discovered_started_ns\": %lld, "
            "\"time_discovered_completed_ns\": ",
            c > 0 ? ", " : "", c + 1, c == unfinished ? "started" : "completed",
            1000 * reading_us(p, r, called_s), 1000 * reading_us(p, r, came_s));
        if (c == unfinished) {
            cs_text_add(text, "null}");
        } else if (has_durations) {
            cs_text_add(text, "%lld, \"duration_ms\": %.6f}",
                        1000 * reading_us(p, r, left_s) + 40000, (left_s - came_s) * 1e3);
        } else {
            cs_text_add(text, "%lld}", 1000 * reading_us(p, r, left_s));
        }
    }
    cs_text_add(text, "]}");
}

Test(call_log, dumps_of_flight_recorder)
{
    static const cs_late_cause causes[] = {CS_LATE_HOST, CS_LATE_GPU};

    for (int i = 0; i < 8; i++) {
        const cs_arrival_options options         = {0};
        plant                    p               = usual();
        cs_text                  logs[MAX_RANKS] = {{0}};
        found                    f               = {0};
        cs_error                 err             = {0};
        p.n_ranks                                = 8;
        p.who                                    = (uint32_t)(3 * i + 1) % 8;
        p.cause                                  = causes[i % 2];
        p.offset_s                               = 77;
        p.end_error_s                            = 0;
        for (uint32_t r = 0; r < p.n_ranks; r++) {
            write_dump(&p, r, r == 5 ? 33 : SIZE_MAX, i < 6, &logs[r]);
        }
        cr_assert_eq(read_logs(logs, 8, &options, &f.trace, &f.notes, &err), CS_OK, "%s: %s",
                     err.where, err.message);
        cr_assert_eq(cs_skew_compute(&f.trace, &f.skew, &err), CS_OK);
        cr_expect_str_eq(f.notes.format, "PyTorch Flight Recorder");
        cr_expect_eq(f.trace.n_calls, p.n_calls, "one had not ended on one rank");
        cr_expect_eq(f.trace.bytes[0], 65536, "the larger side, in bytes of its type");
        cr_expect_eq(f.skew.straggler, p.who, "%d: %u", i, f.skew.straggler);
        cr_expect_eq(f.skew.ranks[p.who].cause, p.cause, "%d: %d", i,
                     (int)f.skew.ranks[p.who].cause);
        cr_expect_float_eq(f.skew.straggler_delay_s.mean.value, p.delay_s, 2.5e-4);
        cr_expect_eq(strstr(f.notes.text.data, "have no duration") != NULL, i >= 6);
        cr_expect(strstr(f.notes.text.data, "allgather of group 7\n") != NULL, "%s",
                  f.notes.text.data);
        let_go(&f);
        free_logs(logs);
    }
}

/* Refused, or noted, each with its place. */
Test(call_log, bad_logs)
{
    static const struct {
        const char *text, *word;
        int         line;
    } cases[] = {
        {"{\"header\": {\"id\": \"a\", \"rank\": 0, \"n_ranks\": 2}, \"coll_perf\": {}}\nnothing\n",
         "no record of a collective", 0},
        {"{\"header\": {\"id\": \"a\", \"rank\": 0, \"n_ranks\": 2}, \"coll_perf\": {}\nnothing\n",
         "no JSON object", 1},
        {"{\"header\": {\"id\": \"a\", \"rank\": 0, \"n_ranks\": 2}, \"coll_perf\": {\"coll\": "
         "\"AllReduce\", \"coll_sn\": 1, \"coll_exec_time_us\": 10}}\n",
         "logs of one rank only", 0},
        {"{\"header\": {\"id\": \"a\", \"rank\": 0}, \"p2p_perf\": {}}\n",
         "no record of a collective", 0},
        {"{\"header\": {\"id\": \"a\", \"rank\": 5, \"n_ranks\": 2}, \"coll_perf\": {\"coll\": "
         "\"AllReduce\", \"coll_sn\": 1, \"coll_exec_time_us\": 10}}\n",
         "rank 5 of a group of 2", 1},
        {"{\"header\": {\"id\": \"a\", \"rank\": 0, \"n_ranks\": 2}, \"coll_perf\": {\"coll\": "
         "\"AllReduce\", \"coll_sn\": 1, \"coll_exec_time_us\": 10}}\n"
         "{\"header\": {\"id\": \"a\", \"rank\": 1, \"n_ranks\": 2}, \"coll_perf\": {\"coll\": "
         "\"AllReduce\", \"coll_sn\": 2, \"coll_exec_time_us\": 10}}\n",
         "none of 2 calls is there on all 2 ranks", 0},
        {"{\"entries\": 3}", "no array of entries", 0},
        {"{\"entries\": []}", "which rank it is of", 0},
        {"{\"rank\": 0, \"entries\": [{\"profiling_name\": \"nccl:send 0->1\", "
         "\"collective_seq_id\": 1}]}",
         "no record of a collective", 0},
        {"{\"rank\": 0,\n \"entries\": [{]}", "expected", 2},
        {"\x80\x05rest", "is a pickle", 1},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const cs_arrival_options options = {0};
        const cs_arrival_text    text    = {"log", cases[i].text, strlen(cases[i].text)};
        cs_arrival_trace         trace   = {0};
        cs_arrival_notes         notes   = {0};
        cs_error                 err     = {0};
        cr_expect_neq(cs_arrival_texts_read(&text, 1, &options, &trace, &notes, &err), CS_OK);
        cr_expect(strstr(err.message, cases[i].word) != NULL, "%zu: %s", i, err.message);
        cr_expect_eq(err.input_line, cases[i].line, "%zu: line %d", i, err.input_line);
        cr_expect(trace.arrival_s == NULL && notes.text.data == NULL);
    }
}

/* Every allocation fails once, and nothing is lost. */
Test(call_log, survives_every_failing_allocation)
{
    const cs_arrival_options options         = {0};
    plant                    p               = usual();
    cs_text                  logs[MAX_RANKS] = {{0}};

    p.n_calls  = 12;
    p.offset_s = 4;
    write_logs(&p, logs);
    for (long passes = 0;; passes++) {
        cs_arrival_trace trace = {0};
        cs_arrival_notes notes = {0};
        cs_skew          skew  = {0};
        cs_error         err   = {0};
        cs_alloc_fail_after(passes);
        cs_status status = read_logs(logs, p.n_ranks, &options, &trace, &notes, &err);
        if (status == CS_OK) {
            status = cs_skew_compute(&trace, &skew, &err);
        }
        cs_alloc_fail_after(-1);
        cs_skew_free(&skew);
        cs_arrival_trace_free(&trace);
        cs_arrival_notes_free(&notes);
        if (status == CS_OK) {
            cr_expect_gt(passes, 20);
            break;
        }
        cr_assert_eq(status, CS_ENOMEM, "after %ld: %s", passes, err.message);
    }
    free_logs(logs);
}

/* More records than are kept: the same calls stay on all ranks. */
Test(call_log, thins_out)
{
    const cs_arrival_options options = {0};
    cs_call_log             *log     = NULL;
    cs_arrival_trace         trace   = {0};
    cs_arrival_notes         notes   = {0};
    cs_error                 err     = {0};
    const size_t             n_calls = CS_CALL_LOG_MOST * 3 / 4;

    cr_assert_eq(cs_call_log_open(1000, &log, &err), CS_OK);
    for (uint32_t r = 0; r < 2; r++) {
        for (size_t c = 0; c < n_calls; c++) {
            const cs_logged_call call = {.group      = {"g", 1},
                                         .collective = CS_ALLREDUCE,
                                         .sequence   = c,
                                         .rank       = r,
                                         .n_ranks    = 2,
                                         .started_ns = CS_NO_TIME,
                                         .queued_ns  = CS_NO_TIME,
                                         .inside_ns  = 1000 + 1000 * (int64_t)r};
            cr_assert_eq(cs_call_log_add(log, &call, &err), CS_OK);
        }
    }
    uint32_t host = 9;
    cr_assert_eq(cs_call_log_host(log, (cs_scan_text){"h", 1}, &host, &err), CS_OK);
    cr_assert_eq(host, 0);
    cr_assert_eq(cs_call_log_finish(log, &options, "log", &trace, &notes, &err), CS_OK, "%s",
                 err.message);
    cr_expect_eq(trace.n_calls, n_calls / 2);
    cr_expect(strstr(notes.text.data, "one call of every 2 is used") != NULL);
    cr_expect_float_eq(cs_trace_arrival(&trace, 0, 0), 1e-6, 1e-12);
    cs_call_log_close(log);
    cs_arrival_trace_free(&trace);
    cs_arrival_notes_free(&notes);
}

/* Numbers that repeat cannot be thinned out: what there is no room for is left out. */
Test(call_log, numbers_that_never_move)
{
    const cs_arrival_options options = {0};
    cs_call_log             *log     = NULL;
    cs_arrival_trace         trace   = {0};
    cs_arrival_notes         notes   = {0};
    cs_error                 err     = {0};
    uint32_t                 host    = 9;

    cr_assert_eq(cs_call_log_open(1000, &log, &err), CS_OK);
    cr_assert_eq(cs_call_log_host(log, (cs_scan_text){"h", 1}, &host, &err), CS_OK);
    for (size_t c = 0; c < CS_CALL_LOG_MOST + 1000; c++) {
        const cs_logged_call call = {.group      = {"g", 1},
                                     .collective = CS_ALLREDUCE,
                                     .rank       = c % 2,
                                     .n_ranks    = 2,
                                     .started_ns = CS_NO_TIME,
                                     .queued_ns  = CS_NO_TIME,
                                     .inside_ns  = 1000};
        cr_assert_eq(cs_call_log_add(log, &call, &err), CS_OK);
    }
    cr_assert_eq(cs_call_log_finish(log, &options, "log", &trace, &notes, &err), CS_OK, "%s",
                 err.message);
    cr_expect_eq(trace.n_calls, 1);
    cr_expect(strstr(notes.text.data, "1000 records whose numbers of calls repeat") != NULL, "%s",
              notes.text.data);
    cs_call_log_close(log);
    cs_arrival_trace_free(&trace);
    cs_arrival_notes_free(&notes);
}

/* The rank of a dump that does not say it is that behind "rank" in its name, else the last number.
 */
Test(call_log, ranks_in_names_of_files)
{
    static const char *const names[][2] = {
        {"/tmp/7/job77_rank0_node3.json", "job77_Rank-1_node3.json"},
        {"nccl_trace_0", "x9/nccl_trace_1.json"},
        {"rank0.v2.json", "rank1.v2.json"},
        {"rank12_rank_0", "rank_1"}};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const cs_arrival_options options  = {0};
        cs_arrival_text          texts[2] = {{0}};
        cs_text                  dumps[2] = {{0}};
        cs_arrival_trace         trace    = {0};
        cs_arrival_notes         notes    = {0};
        cs_error                 err      = {0};
        for (int r = 0; r < 2; r++) {
            cs_text_add(&dumps[r],
                        "{\"entries\": [{\"profiling_name\": \"nccl:all_reduce\", "
                        "\"process_group\": \"0\", \"collective_seq_id\": 1, \"duration_ms\": %d, "
                        "\"time_discovered_completed_ns\": 99000000}]}",
                        2 - r);
            texts[r] = (cs_arrival_text){names[i][r], dumps[r].data, dumps[r].length};
        }
        cr_assert_eq(cs_arrival_texts_read(texts, 2, &options, &trace, &notes, &err), CS_OK,
                     "%zu: %s", i, err.message);
        cr_expect_eq(trace.n_ranks, 2);
        cr_expect_null(trace.number);
        cr_expect_float_eq(cs_trace_arrival(&trace, 0, 1), 1e-3, 1e-12, "%zu", i);
        cs_arrival_trace_free(&trace);
        cs_arrival_notes_free(&notes);
        cs_text_free(&dumps[0]);
        cs_text_free(&dumps[1]);
    }
}

/* Lines that are no records, also the first of a file, are left out and named. */
Test(call_log, torn_lines)
{
    static const char *const torn[]  = {"le\": \"v4.1\"}, \"coll_perf\": 1}}\n", "garbage\n",
                                        "{\"header\": {\"id\": \"0x7e1c\"\n", "\x01\x02\n", "{}}\n"};
    const cs_arrival_options options = {0};
    cs_text                  logs[MAX_RANKS] = {{0}};
    plant                    p               = usual();
    cs_arrival_trace         trace           = {0};
    cs_arrival_notes         notes           = {0};
    cs_error                 err             = {0};

    for (uint32_t r = 0; r < 5; r++) {
        cs_text_add(&logs[r], "%s", torn[r]);
    }
    write_logs(&p, logs);
    for (uint32_t r = 5; r < 8; r++) {
        cs_text_add(&logs[r], "%s%s", torn[r - 5], "{}\n");
    }
    cr_assert_eq(read_logs(logs, p.n_ranks, &options, &trace, &notes, &err), CS_OK, "%s",
                 err.message);
    cr_expect_eq(trace.n_calls, p.n_calls);
    cr_expect(strstr(notes.text.data,
                     "left out: 8 lines that are no JSON object, the first is log:1\n") != NULL,
              "%s", notes.text.data);
    cs_arrival_trace_free(&trace);
    cs_arrival_notes_free(&notes);
    free_logs(logs);
}

/* Of a compressed log that is cut off, what is in front counts. */
Test(call_log, compressed_logs_that_are_cut_off)
{
    const cs_arrival_options options         = {0};
    cs_text                  logs[MAX_RANKS] = {{0}};
    plant                    p               = usual();
    cs_arrival_trace         trace           = {0};
    cs_arrival_notes         notes           = {0};
    cs_error                 err             = {0};
    char                     folder[]        = "/tmp/cs_cut_XXXXXX", path[64], line[64];
    const char *const        paths[]         = {folder};

    cr_assert_not_null(mkdtemp(folder));
    write_logs(&p, logs);
    for (uint32_t r = 0; r < p.n_ranks; r++) {
        (void)snprintf(path, sizeof path, "%s/rank%u.log.gz", folder, r);
        gzFile file = gzopen(path, "wb");
        cr_assert_eq(gzwrite(file, logs[r].data, (unsigned)logs[r].length), (int)logs[r].length);
        cr_assert_eq(gzclose(file), Z_OK);
        if (r == 7) {
            struct stat info;
            cr_assert_eq(stat(path, &info), 0);
            cr_assert_eq(truncate(path, info.st_size * 9 / 10), 0);
        }
        cs_text_free(&logs[r]);
    }
    cr_assert_eq(cs_arrival_files_load(paths, 1, &options, &trace, &notes, &err), CS_OK, "%s",
                 err.message);
    cr_expect(trace.n_calls > p.n_calls / 2 && trace.n_calls < p.n_calls, "%zu", trace.n_calls);
    cr_expect_null(strstr(notes.text.data, "lost: "), "%s", notes.text.data);
    cr_expect(strstr(notes.text.data, "the rest of 1 compressed files that are damaged") != NULL &&
                  strstr(notes.text.data, "rank7.log.gz") != NULL,
              "%s", notes.text.data);
    cs_arrival_trace_free(&trace);
    cs_arrival_notes_free(&notes);
    (void)snprintf(line, sizeof line, "rm -r %s", folder);
    cr_expect_eq(system(line), 0);
}

/* Groups of very many ranks each, one record each: refused before memory is. */
Test(call_log, more_ranks_than_memory_is_for)
{
    cs_call_log *log    = NULL;
    cs_error     err    = {0};
    cs_status    status = cs_call_log_open(1000, &log, &err);

    for (uint32_t g = 0; g < 1000 && status == CS_OK; g++) {
        char name[16];
        (void)snprintf(name, sizeof name, "%u", g);
        const cs_logged_call call = {.group      = {name, strlen(name)},
                                     .collective = CS_ALLREDUCE,
                                     .rank       = 65535,
                                     .n_ranks    = 65536,
                                     .started_ns = CS_NO_TIME,
                                     .queued_ns  = CS_NO_TIME,
                                     .inside_ns  = 1000};
        status                    = cs_call_log_add(log, &call, &err);
    }
    cr_expect_eq(status, CS_EINVAL);
    cr_expect(strstr(err.message, "ranks in all groups together") != NULL, "%s", err.message);
    cs_call_log_close(log);
}
