/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Histories of faults: read, refused with a place, and used by jobs. */
#include "failures_setup.h"
#include "traces/fault_history.h"
#include "whatif/recorded.h"

#define NIC                                                                                  \
    "\"fault_type\": {\"Level\": \"Hardware Failure\", \"Class\": \"NIC\", \"Desc\": \"NIC " \
    "Lost\"}"
#define GPU \
    "\"fault_type\": {\"Level\": \"Hardware Failure\", \"Class\": \"GPU\", \"Desc\": \"xid\"}"
#define BEGIN(node, days, type)                                                                    \
    "{\"node_id\": \"" node "\", \"event_time\": " days ", \"event_type\": \"fault_start\", " type \
    "}"
#define END(node, days, type) \
    "{\"node_id\": \"" node "\", \"event_time\": " days ", \"event_type\": \"fault_end\", " type "}"

static cs_status parse(const char *text, cs_fault_history *h, cs_error *err)
{
    return cs_fault_history_parse(text, strlen(text), "faults.json", h, err);
}

Test(fault_history, ends_close_the_first_open_fault_of_their_node_and_type)
{
    static const char text[] = "[" BEGIN("a", "1", NIC) "," BEGIN("a", "2", NIC) "," BEGIN(
        "b", "2", GPU) "," BEGIN("a", "2.5", GPU) "," END("a", "3", NIC) "," END("a", "3", GPU) "]";
    cs_fault_history h   = {.n = 0};
    cs_error         err = {0};

    cr_assert_eq(parse(text, &h, &err), CS_OK, "%s", err.message);
    cr_assert_eq(h.n, 4);
    cr_assert_eq(h.n_nodes, 2);
    cr_assert_eq(h.n_types, 2);
    cr_expect_str_eq(h.nodes[0], "a");
    cr_expect_str_eq(h.types[1].class_name, "GPU");
    cr_expect_eq(h.faults[0].from_s, DAY_S);
    cr_expect_eq(h.faults[0].until_s, 3 * DAY_S);
    cr_expect(isinf(h.faults[1].until_s));
    cr_expect(isinf(h.faults[2].until_s));
    cr_expect_eq(h.faults[3].until_s, 3 * DAY_S);
    cr_expect_eq(h.faults[3].node, 0);
    cr_expect_eq(h.end_s, 3 * DAY_S);
    cs_fault_history_free(&h);
}

Test(fault_history, words_that_are_missing_are_empty_and_other_keys_are_skipped)
{
    cs_fault_history h   = {.n = 0};
    cs_error         err = {0};

    cr_assert_eq(parse("[{\"node_id\": \"a\", \"event_time\": 0, \"event_type\": \"fault_start\", "
                       "\"operator\": 7}]",
                       &h, &err),
                 CS_OK, "%s", err.message);
    cr_expect_str_eq(h.types[0].class_name, "");
    cs_fault_history_free(&h);
}

Test(fault_history, many_nodes_and_types_are_told_apart)
{
    cs_text          text = {0};
    cs_fault_history h    = {.n = 0};
    cs_error         err  = {0};

    for (unsigned i = 0; i < 3000; i++) {
        cs_text_add(&text,
                    "%s{\"node_id\": \"n%u\", \"event_time\": %u, \"event_type\": \"fault_start\", "
                    "\"fault_type\": {\"Class\": \"c%u\"}}",
                    i == 0 ? "[" : ",\n", i % 500, i, i % 70);
    }
    cs_text_add(&text, "]");
    cr_assert_eq(cs_fault_history_parse(text.data, text.length, "many", &h, &err), CS_OK);
    cr_assert_eq(h.n_nodes, 500);
    cr_assert_eq(h.n_types, 70);
    for (unsigned i = 0; i < 3000; i++) {
        cr_expect_eq(h.faults[i].node, i % 500);
        cr_expect_eq(h.faults[i].type, i % 70);
    }
    cs_fault_history_free(&h);
    cs_text_free(&text);
}

/* 60,000 of one node that are all open at once: in time that does not grow with their square, and
 * each kind is closed in the order in which it began. */
Test(fault_history, faults_that_are_open_together, .timeout = 60)
{
    enum { FAULTS = 60000, KINDS = 3 };
    cs_text          text = {0};
    cs_fault_history h    = {.n = 0};
    cs_error         err  = {0};

    for (unsigned i = 0; i < 2 * FAULTS; i++) {
        cs_text_add(&text,
                    "%s{\"node_id\": \"n\", \"event_time\": %u, \"event_type\": \"fault_%s\", "
                    "\"fault_type\": {\"Class\": \"c%u\"}}",
                    i == 0 ? "[" : ",\n", i, i < FAULTS ? "start" : "end", i % KINDS);
    }
    cs_text_add(&text, "]");
    cr_assert_eq(cs_fault_history_parse(text.data, text.length, "open", &h, &err), CS_OK);
    cr_assert_eq(h.n, FAULTS);
    for (unsigned i = 0; i < FAULTS; i++) {
        cr_assert_float_eq(h.faults[i].until_s, (i + FAULTS) * 86400.0, 1e-3, "%u", i);
    }
    cs_fault_history_free(&h);
    cs_text_free(&text);
}

static void expect_bad(const char *text, const char *words)
{
    cs_fault_history h   = {.n = 0};
    cs_error         err = {0};
    char             said[800];

    cr_assert_neq(parse(text, &h, &err), CS_OK, "accepted: %s", text);
    cs_error_text(&err, said, sizeof said);
    cr_expect_not_null(strstr(said, words), "%s: %s", text, said);
}

Test(fault_history, bad_input_is_located)
{
    expect_bad("", "faults.json:1:1: not JSON");
    expect_bad("{}", "faults.json:1:1: is an object: accepted is an array");
    expect_bad("[]", "has no fault");
    expect_bad("[\n 3]", "faults.json:2:2: [0]: is a number: accepted is an object with node_id");
    expect_bad("[{\"event_time\": 1}]", "faults.json:1:2: [0]: the key 'node_id' is missing");
    expect_bad("[{\"node_id\": 7}]", "[0].node_id: is a number: accepted is a text");
    expect_bad("[{\"node_id\": \"a\", \"event_time\": -1, \"event_type\": \"fault_start\"}]",
               "faults.json:1:33: [0].event_time");
    expect_bad("[{\"node_id\": \"a\", \"event_time\": 1, \"event_type\": \"fault\"}]",
               "[0].event_type");
    expect_bad("[{\"node_id\": \"a\", \"event_time\": 1, \"event_type\": \"fault_start\", "
               "\"fault_type\": 3}]",
               "[0].fault_type: is a number: accepted is an object with Level");
    expect_bad("[" BEGIN("a", "2", NIC) ",\n" END("a", "1", NIC) "]",
               "faults.json:2:32: [1].event_time: 1 days is before the event before it, 2");
    expect_bad("[" BEGIN("a", "1", NIC) ",\n" END("a", "2", GPU) "]",
               "faults.json:2:1: [1]: ends a fault of node 'a' (GPU, xid) that has not begun");
}

Test(fault_history, memory_may_run_out_anywhere)
{
    static const char text[] = "[" BEGIN("a", "1", NIC) "," END("a", "3", NIC) "]";
    cs_status         status = CS_ENOMEM;

    for (long passes = 0; status == CS_ENOMEM; passes++) {
        cs_fault_history h   = {.n = 0};
        cs_error         err = {0};
        cs_alloc_fail_after(passes);
        status = parse(text, &h, &err);
        cs_alloc_fail_after(-1);
        cs_fault_history_free(&h);
        cr_assert(status == CS_OK || status == CS_ENOMEM, "%s", err.message);
        cr_assert_lt(passes, 10000);
    }
    cr_assert_eq(status, CS_OK);
}

/* ---- jobs ---- */

static cs_status try_study(const char *history, const char *failures, const char *spares, study *s,
                           cs_error *err)
{
    char json[3000], path[] = "/tmp/collsim-faults-XXXXXX";
    int  fd = mkstemp(path);

    cr_assert_geq(fd, 0);
    cr_assert_eq(write(fd, history, strlen(history)), (ssize_t)strlen(history));
    (void)close(fd);
    snprintf(json, sizeof json,
             "{\"job\": {\"compute\": \"1s\", \"bytes\": 240000000, \"spares\": %s}, \"cluster\": "
             "{\"ranks\": 2, \"nic\": {\"bandwidth\": 1.8e9, \"alpha\": 0}}, \"failures\": "
             "{\"nics\": 4, \"history\": {\"file\": \"%s\", %s}, \"timers\": {\"detect\": 0}, "
             "\"policies\": [\"wait\", \"iccl\", \"spare\"]}",
             spares, path, failures);
    cs_status status = try_study_of(json, 2, s, err);
    (void)unlink(path);
    return status;
}

#define HISTORY                                                                                \
    "[" BEGIN("a", "1", NIC) "," END("a", "3", NIC) "," BEGIN("b", "4", GPU) "," END("b", "5", \
                                                                                     GPU) "]"

/* Two blocks of two servers, each for 10 days: whatever the blocks are, all is in them. */
Test(fault_history, blocks_take_every_server_once)
{
    study    s   = {0};
    cs_error err = {0};

    cr_assert_eq(try_study(HISTORY, "\"nodes\": 4, \"length\": \"10d\", \"pick\": \"blocks\"}", "0",
                           &s, &err),
                 CS_OK, "%s: %s", err.where, err.message);
    const cs_failure_setting *at = s.report.settings;
    cr_assert_eq(s.report.n_settings, 1);
    cr_expect_eq(at->trials, 2);
    EXPECT_NEAR(at->duration_s, 10 * DAY_S);
    EXPECT_NEAR(at->causes[CS_RECORDED_NIC].failures.value, 0.5);
    EXPECT_NEAR(at->causes[CS_RECORDED_SERVER].failures.value, 0.5);
    EXPECT_NEAR(at->causes[CS_RECORDED_NIC].down.value, 2.0 / (2 * 8 * 10));
    EXPECT_NEAR(at->causes[CS_RECORDED_NIC].cause.mtbf_s, (4 * 4 * 10 - 2) * DAY_S);
    EXPECT_NEAR(at->causes[CS_RECORDED_NIC].cause.mttr_s, 2 * DAY_S);
    EXPECT_NEAR(at->causes[CS_RECORDED_SERVER].cause.mttr_s, DAY_S);
    /* two days of one job, one of the other, and a restart after the latter */
    EXPECT_NEAR(line_in(at, "wait")->lost.value, (3 * 24 + 600 / 3600.0) * 2 / 2);
    release_study(&s);
}

Test(fault_history, words_say_what_a_fault_takes)
{
    study    s   = {0};
    cs_error err = {0};

    cr_assert_eq(try_study(HISTORY,
                           "\"length\": \"10d\", \"pick\": \"blocks\", \"nics\": [\"xid\"], "
                           "\"ignore\": [\"NIC\"]}",
                           "0", &s, &err),
                 CS_OK, "%s: %s", err.where, err.message);
    cr_expect_eq(s.report.settings->causes[CS_RECORDED_NIC].failures.value, 1);
    cr_expect_eq(s.report.settings->causes[CS_RECORDED_SERVER].failures.value, 0);
    release_study(&s);
}

/* A mean time without end is no number. */
Test(fault_history, what_never_failed_is_said_to_fail_never)
{
    study    s    = {0};
    cs_text  text = {0};
    cs_error err  = {0};

    cr_assert_eq(try_study(HISTORY,
                           "\"length\": \"10d\", \"nics\": [\"xid\"], \"ignore\": [\"NIC\"]}", "0",
                           &s, &err),
                 CS_OK, "%s: %s", err.where, err.message);
    cs_failures_table(&s.job, &s.report, &text);
    cr_expect_not_null(strstr(text.data, "never"), "%s", text.data);
    cr_expect_null(strstr(text.data, "e+2"), "%s", text.data);
    cs_text_free(&text);
    release_study(&s);
}

/* A fleet of two servers is drawn for a job of two: on average it has their faults. */
Test(fault_history, samples_have_the_fleets_faults_on_average)
{
    study    s   = {0};
    cs_error err = {0};

    cr_assert_eq(try_study(HISTORY, "\"length\": \"10d\"}, \"trials\": 2000, \"confidence\": 0.999",
                           "0", &s, &err),
                 CS_OK, "%s: %s", err.where, err.message);
    for (int i = 0; i < CS_RECORDED_CAUSES; i++) {
        const cs_estimate *e = &s.report.settings->causes[i].failures;
        cr_expect(e->low <= 1 && 1 <= e->high, "%g .. %g", e->low, e->high);
    }
    release_study(&s);
}

/* Exponential faults of 300 servers: the second half lies where the first one says. */
Test(fault_history, the_second_half_is_predicted_from_the_first)
{
    static const cs_failure_cause causes[] = {
        {"nic", CS_TAKES_NIC, 400 * DAY_S, 1, DAY_S, 1},
        {"server", CS_TAKES_SERVER, 300 * DAY_S, 1, DAY_S, 1}};
    const cs_fleet fleet    = {.causes     = causes,
                               .n_causes   = 2,
                               .n_servers  = 300,
                               .gpus       = 1,
                               .nics       = 4,
                               .duration_s = 200 * DAY_S,
                               .seed       = 5};
    cs_fault_type  types[2] = {{"", "NIC", ""}, {"", "GPU", ""}};
    uint8_t        takes[2] = {CS_TAKES_NIC, CS_TAKES_SERVER};
    cs_outages     outages  = {0};
    cs_error       err      = {0};
    cs_arena       arena    = {0};
    cs_record      record;

    cr_assert_eq(cs_outages_draw(&fleet, 0, &outages, &err), CS_OK);
    cs_fault_record *faults = CS_NEW(cs_fault_record, outages.n);
    for (size_t i = 0; i < outages.n; i++) {
        const cs_outage *o = &outages.list[i];
        faults[i]          = (cs_fault_record){o->from_s, o->until_s, o->server, o->cause};
    }
    const cs_fault_history history  = {.n_nodes = 300,
                                       .types   = types,
                                       .n_types = 2,
                                       .faults  = faults,
                                       .n       = outages.n,
                                       .end_s   = 200 * DAY_S};
    const cs_recorded      recorded = {.takes = takes, .n_nodes = 300, .length_s = 200 * DAY_S};
    cr_assert_eq(cs_record_index(&recorded, &history, 10, 1, &arena, &record, &err), CS_OK);
    for (int cause = 0; cause < CS_RECORDED_CAUSES; cause++) {
        cs_record_fit    first  = cs_record_fit_of(&record, cause, 4, 0, 100 * DAY_S);
        cs_record_fit    second = cs_record_fit_of(&record, cause, 4, 100 * DAY_S, 200 * DAY_S);
        cs_failure_cause few    = cs_record_draw(&first, cause, 1e-4, 0.5),
                         many   = cs_record_draw(&first, cause, 1 - 1e-4, 0.5);
        double happened         = second.up_s / second.failures;
        cr_expect_float_eq(cs_record_cause(&first, cause).mtbf_s / causes[cause].mtbf_s, 1, 0.2);
        cr_expect_float_eq(cs_record_cause(&first, cause).mttr_s / DAY_S, 1, 0.25);
        cr_expect(many.mtbf_s < happened && happened < few.mtbf_s, "%g: %g .. %g", happened,
                  many.mtbf_s, few.mtbf_s);
        cr_expect(first.repair_shape > 0.7 && first.repair_shape < 1.4, "%g", first.repair_shape);
    }
    cs_arena_free(&arena);
    cs_outages_free(&outages);
    cs_free(faults);
}

/* Repairs that all take about as long leave less to doubt than as many that vary. */
Test(fault_history, the_doubt_about_repairs_is_that_of_their_mean)
{
    double spread[3];

    for (int i = 0; i < 3; i++) {
        const cs_record_fit fit    = {.failures         = 40,
                                      .repairs          = 40,
                                      .up_s             = 1e6,
                                      .down_s           = 4e4,
                                      .repair_shape     = 1,
                                      .repair_variation = pow(10, 2 * (i - 1))};
        double              low_s  = cs_record_draw(&fit, CS_RECORDED_NIC, 0.5, 0.975).mttr_s;
        double              high_s = cs_record_draw(&fit, CS_RECORDED_NIC, 0.5, 0.025).mttr_s;
        cr_expect(low_s < 1000 && 1000 < high_s, "%g .. %g", low_s, high_s);
        spread[i] = log(high_s / low_s);
    }
    /* 40 numbers of that variation: 1.96 * 2 * sqrt(variation / 40), where it is small. */
    cr_expect_float_eq(spread[0], 3.92 * 0.1 / sqrt(40), 0.003);
    cr_expect_float_eq(spread[1], 3.92 / sqrt(40), 0.03);
    cr_expect_gt(spread[2], 3 * spread[1]);
}

Test(fault_history, the_example_predicts_what_it_says)
{
    cs_config *config = NULL;
    study      s      = {0};
    cs_error   err    = {0};

    cr_assert_eq(cs_config_load(COLLSIM_SOURCE_DIR "/configs/whatif-history.json", &config, &err),
                 CS_OK, "%s", err.message);
    cr_assert_eq(cs_whatif_read(config, &s.job, &err), CS_OK, "%s: %s", err.where, err.message);
    cr_assert_eq(cs_failures_run(&s.job, 2, &s.report, &err), CS_OK, "%s", err.message);
    cr_assert_eq(s.report.n_settings, 3);
    cr_assert_eq(s.report.n_predictions, 2 + 7);
    cr_expect_eq(s.report.jobs, 96 / 17);
    for (size_t i = 0; i < 2; i++) {
        const cs_failure_prediction *p = &s.report.predictions[i];
        cr_expect(p->predicted.low <= p->happened && p->happened <= p->predicted.high,
                  "%s: %g .. %g, %g", p->name, p->predicted.low, p->predicted.high, p->happened);
    }
    release_study(&s);
    cs_config_free(config);
}

static void expect_no_study(const char *failures, const char *spares, const char *words)
{
    study    s   = {0};
    cs_error err = {0};
    char     text[800];

    cr_assert_neq(try_study(HISTORY, failures, spares, &s, &err), CS_OK, "accepted: %s", failures);
    cs_error_text(&err, text, sizeof text);
    cr_expect_not_null(strstr(text, words), "%s: %s", failures, text);
    release_study(&s);
}

Test(fault_history, histories_that_do_not_fit_are_refused)
{
    expect_no_study("\"nodes\": 1}", "0", "failures.history.nodes: 1: the history names 2");
    expect_no_study("\"length\": \"2d\"}", "0", "failures.history.length");
    expect_no_study("\"pick\": \"blocks\"}", "1",
                    "is of 2 servers, fewer than the job and its spares, 3");
    expect_no_study("\"predict\": true}", "5", "fewer than the job and its spares");
    expect_no_study("\"nics\": [\"fan\"]}", "0", "failures.history.nics[0]: 'fan' is no Class");
    expect_no_study("\"ignore\": [\"GPU\", \"\"]}", "0", "failures.history.ignore[1]");
    expect_no_study("\"nodes\": 2}, \"duration\": \"6d\"", "0",
                    "accepted is a 'duration' of at most that");
    expect_no_study("\"nodes\": 2, \"pick\": \"blocks\"}, \"duration\": 1e-300", "0",
                    "failures.duration: 1e-300 s give");
    expect_no_study("\"nodes\": 2, \"pick\": \"blocks\"}, \"duration\": 2.8e-13", "0",
                    "trials of 4 policies or causes");
    expect_no_study("\"nodes\": 2}, \"mtbf_factors\": [2]", "0", "has no 'mtbf_factors'");
    expect_no_study("\"nodes\": 2}, \"preset\": \"llama3\"", "0",
                    "accepted is one of 'causes', 'preset' and 'history'");
}
