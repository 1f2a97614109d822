/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Schedules exported as JSON come back as the same schedules: transfers, slots, messages of several
 * parts, barriers, groups and fabrics. */
#include "config/schedule_json.h"
#include "cs/result.h"
#include "export_setup.h"

#include <math.h>
#include <string.h>

/* Written, read, replayed: the same to the last bit, and correct; for another size too. */
static void check_round_trip(const char *algorithm, const char *collective, unsigned ranks)
{
    job        j      = open_job(algorithm, collective, ranks, "1000003");
    cs_text    text   = export_job(&j, CS_EXPORT_JSON);
    cs_stored *stored = NULL;
    cs_error   err    = {0};
    cs_plan    plan;

    cr_assert_eq(cs_schedule_parse(text.data, text.length, "text", &stored, &err), CS_OK,
                 "%s of %u: %s", algorithm, ranks, err.message);
    cs_stored_options options = {stored};
    cr_assert_eq(cs_algorithm_stored.check(&j.c.scenario, &options, &plan, &err), CS_OK);
    cs_outcome direct = replay(&j, j.c.algorithm, &j.c.options, &j.plan);
    cs_outcome loaded = replay(&j, &cs_algorithm_stored, &options, &plan);
    cr_assert(loaded.verified, "%s of %u: %s", algorithm, ranks, loaded.verdict.text);
    cr_assert_eq(direct.elapsed_s, loaded.elapsed_s, "%s of %u", algorithm, ranks);
    cr_assert_eq(direct.n_transfers, loaded.n_transfers);
    cr_assert_eq(direct.wire_bytes, loaded.wire_bytes);
    j.c.scenario.bytes = 777777;
    cr_assert_eq(cs_algorithm_stored.check(&j.c.scenario, &options, &plan, &err), CS_OK, "%s",
                 err.message);
    direct = replay(&j, j.c.algorithm, &j.c.options, &j.plan);
    loaded = replay(&j, &cs_algorithm_stored, &options, &plan);
    cr_assert_eq(direct.wire_bytes, loaded.wire_bytes, "%s of %u", algorithm, ranks);
    cr_assert_eq(direct.elapsed_s, loaded.elapsed_s, "%s of %u", algorithm, ranks);
    cs_stored_free(stored);
    cs_text_free(&text);
    close_job(&j);
}

Test(export_json, json_comes_back_the_same)
{
    static const unsigned ranks[] = {2, 4, 8, 16};

    for (size_t i = 0; i < sizeof ranks / sizeof ranks[0]; i++) {
        check_round_trip("ring", "allreduce", ranks[i]);
        check_round_trip("ring", "allgather", ranks[i]);
        check_round_trip("ring", "reducescatter", ranks[i]);
        check_round_trip("rhd", "allreduce", ranks[i]);
        check_round_trip("rhd", "allgather", ranks[i]);
        check_round_trip("allpairs", "allreduce", ranks[i]);
        check_round_trip("broadcast", "allreduce", ranks[i]);
        check_round_trip("stragglar", "allreduce", ranks[i]);
    }
    check_round_trip("ring", "allreduce", 7);
    check_round_trip("rhd", "allreduce", 13);
    check_round_trip("circulant", "allreduce", 11);
    check_round_trip("circulant", "allgather", 7);
    check_round_trip("merged_rhd", "allreduce", 12);
    check_round_trip("latency_optimal", "allreduce", 13);
}

/* A schedule that needs a second place for a chunk: rank 2 passes on the sum of 0 and 1 while
 * its own contribution waits. JSON keeps the slots, MSCCL refuses. */
Test(export_json, slots_are_kept_where_they_are_needed)
{
    static const char relay[] =
        "{\"format\": \"collsim-schedule\", \"collective\": \"reduce\", \"root\": 1, \"ranks\": 3,"
        " \"chunks\": 1, \"bytes\": 10, \"slots\": 2, \"starts_own\": true, \"transfers\": ["
        "{\"round\":0,\"src\":0,\"dst\":2,\"chunk\":0,\"src_slot\":0,\"dst_slot\":1},"
        "{\"round\":1,\"src\":2,\"dst\":1,\"chunk\":0,\"op\":\"reduce\",\"src_slot\":1,\"dst_"
        "slot\":0},"
        "{\"round\":2,\"src\":2,\"dst\":1,\"chunk\":0,\"op\":\"reduce\",\"src_slot\":0,\"dst_"
        "slot\":0,"
        "\"done\":\"dst\"}]}";
    cs_stored *stored = NULL, *again = NULL;
    cs_error   err  = {0};
    cs_text    text = {0};

    cr_assert_eq(cs_schedule_parse(relay, sizeof relay - 1, "relay", &stored, &err), CS_OK);
    cs_scenario       s = {.cluster = {.fabrics = {{CS_SWITCHED, 0, 1e9}, {CS_SWITCHED, 0, 1e9}}}};
    cs_stored_options options = {stored};
    cs_plan           plan;
    cs_verdict        verdict = {0};
    cs_schedule_scenario(stored, &s);
    cr_assert_eq(cs_algorithm_stored.check(&s, &options, &plan, &err), CS_OK);
    cr_assert_eq(cs_verify(&s, &cs_algorithm_stored, &options, &plan, &verdict, &err), CS_OK);
    cr_assert(verdict.is_correct, "%s", verdict.text);
    cr_assert_eq(
        cs_export_schedule(&s, &cs_algorithm_stored, &options, &plan, CS_EXPORT_MSCCL, &text, &err),
        CS_ENOTSUP);
    cs_text_free(&text);
    err = (cs_error){0};
    cr_assert_eq(
        cs_export_schedule(&s, &cs_algorithm_stored, &options, &plan, CS_EXPORT_JSON, &text, &err),
        CS_OK);
    cr_assert_eq(cs_schedule_parse(text.data, text.length, "again", &again, &err), CS_OK, "%s",
                 err.message);
    cr_assert(again->has_slots && again->plan.starts_own);
    cr_assert_eq(memcmp(stored->transfers, again->transfers, 3 * sizeof(cs_transfer)), 0);
    cs_text_free(&text);
    cs_stored_free(stored);
    cs_stored_free(again);
}

static double replayed_s(const cs_scenario *s, const cs_algorithm *algorithm, const void *options)
{
    const cs_run run = {.scenario  = s,
                        .algorithm = algorithm,
                        .options   = options,
                        .model     = cs_models[0],
                        .verify    = true};
    cs_result    result;
    cs_error     err = {0};

    cr_assert_eq(cs_run_scenario(&run, &result, &err), CS_OK, "%s", err.message);
    cr_assert(result.verified);
    return result.elapsed_s;
}

/* Messages of several parts stay what they are: OptCC takes the same time from a file. */
Test(export_json, joined_messages_come_back)
{
    cs_fault            fault  = {0, 3, 0, (double)INFINITY};
    cs_fabric           nic    = {CS_SWITCHED, 3e-6, 1e9};
    cs_scenario         s      = {.bytes    = 100000,
                                  .faults   = &fault,
                                  .n_faults = 1,
                                  .cluster = {.n_ranks = 5, .gpus_per_server = 1, .fabrics = {nic, nic}}};
    const cs_algorithm *optcc  = NULL;
    cs_stored          *stored = NULL;
    cs_options          options;
    cs_plan             plan;
    cs_error            err  = {0};
    cs_text             text = {0};

    cr_assert_eq(cs_algorithm_find("optcc", &optcc, &err), CS_OK);
    cs_fields_default(optcc->options, &options);
    cr_assert_eq(cs_field_set(optcc->options, &options, "rounds", "8", "", &err), CS_OK);
    double direct_s = replayed_s(&s, optcc, &options);
    cr_assert_eq(optcc->check(&s, &options, &plan, &err), CS_OK);
    cr_assert_eq(cs_export_schedule(&s, optcc, &options, &plan, CS_EXPORT_JSON, &text, &err),
                 CS_OK);
    cr_assert_not_null(strstr(text.data, "\"join\": true"));
    cr_assert_eq(cs_schedule_parse(text.data, text.length, "again", &stored, &err), CS_OK, "%s",
                 err.message);
    cs_stored_options from_file = {stored};
    cr_assert_eq(replayed_s(&s, &cs_algorithm_stored, &from_file), direct_s);
    cs_stored_free(stored);
    cs_text_free(&text);
}

/* Everything else that a transfer may say comes back, too. */
Test(export_json, barriers_groups_and_fabrics_come_back)
{
    static const char odd[] =
        "{\"format\": \"collsim-schedule\", \"collective\": \"broadcast\", \"root\": 2, \"ranks\": "
        "4,"
        " \"chunks\": 3, \"bytes\": 10, \"gpus_per_server\": 2, \"transfers\": ["
        "{\"round\":0,\"src\":2,\"dst\":3,\"chunk\":0,\"span\":3,\"fabric\":\"nvlink\",\"shared\":"
        "true},"
        "{\"round\":2,\"src\":2,\"dst\":1,\"chunk\":0,\"span\":3,\"bytes\":99,\"fence\":true,"
        "\"fence_except\":0,\"fence_s\":0.1},"
        "{\"round\":5,\"src\":1,\"dst\":0,\"chunk\":0,\"span\":3,\"fence\":true}]}";
    cs_stored  *stored = NULL, *again = NULL;
    cs_error    err  = {0};
    cs_text     text = {0};
    cs_plan     plan;
    cs_scenario s = {.cluster = {.fabrics = {{CS_SWITCHED, 0, 1e9}, {CS_SWITCHED, 0, 1e9}}}};

    cr_assert_eq(cs_schedule_parse(odd, sizeof odd - 1, "odd", &stored, &err), CS_OK, "%s",
                 err.message);
    cs_stored_options options = {stored};
    cs_schedule_scenario(stored, &s);
    cr_assert_eq(cs_algorithm_stored.check(&s, &options, &plan, &err), CS_OK);
    cr_assert_eq(
        cs_export_schedule(&s, &cs_algorithm_stored, &options, &plan, CS_EXPORT_JSON, &text, &err),
        CS_OK);
    cr_assert_eq(cs_schedule_parse(text.data, text.length, "again", &again, &err), CS_OK, "%s",
                 err.message);
    cr_assert_eq(again->root, 2);
    cr_assert_eq(again->gpus_per_server, 2);
    cr_assert_eq(again->n_transfers, 3);
    cr_assert_eq(memcmp(stored->transfers, again->transfers, 3 * sizeof(cs_transfer)), 0);
    cr_assert_eq(again->n_fences, 2);
    for (size_t i = 0; i < 2; i++) {
        cr_assert_eq(again->fences[i].index, i + 1);
        cr_assert_eq(again->fences[i].except, i == 0 ? 0 : CS_FENCE_ALL);
        cr_assert_eq(again->fences[i].cost_s, i == 0 ? 0.1 : 0);
    }
    cs_text_free(&text);
    cr_assert_eq(
        cs_export_schedule(&s, &cs_algorithm_stored, &options, &plan, CS_EXPORT_TEXT, &text, &err),
        CS_OK);
    cr_assert_not_null(strstr(text.data, "round 2\n  barrier of all ranks but 0, 0.1 s\n"
                                         "  2 -> 1  chunk 0..2  99 bytes  copy  nic\n"));
    cs_text_free(&text);
    cr_assert_eq(
        cs_export_schedule(&s, &cs_algorithm_stored, &options, &plan, CS_EXPORT_GOAL, &text, &err),
        CS_OK);
    cr_assert_not_null(strstr(text.data, "rank 1 {\nl1: recv 99b from 2 tag 1\nb2: calc 0\n"
                                         "b2 requires l1\nl2: send 10b to 0 tag 2\n"
                                         "l2 requires l1\nl2 requires b2\n}\n"),
                       "%s", text.data);
    cs_text_free(&text);
    cs_stored_free(stored);
    cs_stored_free(again);
}
