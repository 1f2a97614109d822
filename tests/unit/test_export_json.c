/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Schedules exported as JSON come back as the same schedules: transfers, slots, messages of several
 * parts, barriers, groups and fabrics. */
#include "cs/result.h"
#include "export_setup.h"
#include "schedules/schedule_json.h"

#include <math.h>
#include <string.h>

/* Written, read, replayed: the same to the last bit, and correct; for another size too. */
static void check_round_trip(const char *algorithm, const char *collective, unsigned ranks)
{
    sample     j      = open_sample(algorithm, collective, ranks, "1000003");
    cs_text    text   = export_sample(&j, CS_EXPORT_JSON);
    cs_stored *stored = NULL;
    cs_error   err    = {0};

    cr_assert_eq(cs_schedule_parse(text.data, text.length, "text", &stored, &err), CS_OK,
                 "%s of %u: %s", algorithm, ranks, err.message);
    cs_job     again  = stored_job(&j.c.job, stored);
    cs_outcome direct = replay(&j.c.job);
    cs_outcome loaded = replay(&again);
    cr_assert(loaded.verified, "%s of %u: %s", algorithm, ranks, loaded.verdict.text);
    cr_assert_eq(direct.elapsed_s, loaded.elapsed_s, "%s of %u", algorithm, ranks);
    cr_assert_eq(direct.n_transfers, loaded.n_transfers);
    cr_assert_eq(direct.wire_bytes, loaded.wire_bytes);
    j.c.job.scenario.bytes = 777777;
    again                  = stored_job(&j.c.job, stored);
    direct                 = replay(&j.c.job);
    loaded                 = replay(&again);
    cr_assert_eq(direct.wire_bytes, loaded.wire_bytes, "%s of %u", algorithm, ranks);
    cr_assert_eq(direct.elapsed_s, loaded.elapsed_s, "%s of %u", algorithm, ranks);
    cs_stored_free(stored);
    cs_text_free(&text);
    close_sample(&j);
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

/* What is in a file, without a model. */
static cs_job loaded_job(const cs_stored *stored)
{
    const cs_fabric port  = {CS_SWITCHED, 0, 1e9};
    cs_job          given = {.scenario = {.cluster = {.fabrics = {port, port}}}};

    cs_schedule_scenario(stored, &given.scenario);
    return stored_job(&given, stored);
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
    cs_job     job     = loaded_job(stored);
    cs_verdict verdict = {0};
    cr_assert_eq(cs_job_verify(&job, &verdict, &err), CS_OK);
    cr_assert(verdict.is_correct, "%s", verdict.text);
    cr_assert_eq(cs_export_schedule(&job, CS_EXPORT_MSCCL, &text, &err), CS_ENOTSUP);
    cs_text_free(&text);
    err = (cs_error){0};
    cr_assert_eq(cs_export_schedule(&job, CS_EXPORT_JSON, &text, &err), CS_OK);
    cr_assert_eq(cs_schedule_parse(text.data, text.length, "again", &again, &err), CS_OK, "%s",
                 err.message);
    cr_assert(again->has_slots && again->plan.starts_own);
    cr_assert_eq(
        memcmp(stored->recording.transfers, again->recording.transfers, 3 * sizeof(cs_transfer)),
        0);
    cs_text_free(&text);
    cs_stored_free(stored);
    cs_stored_free(again);
}

/* Messages of several parts stay what they are: OptCC takes the same time from a file. */
Test(export_json, joined_messages_come_back)
{
    cs_capacity         fault  = {0, 3, 0, (double)INFINITY};
    cs_fabric           nic    = {CS_SWITCHED, 3e-6, 1e9};
    cs_scenario         s      = {.bytes      = 100000,
                                  .capacity   = &fault,
                                  .n_capacity = 1,
                                  .cluster = {.n_ranks = 5, .gpus_per_server = 1, .fabrics = {nic, nic}}};
    const cs_algorithm *optcc  = NULL;
    cs_stored          *stored = NULL;
    cs_job              job    = {.scenario = s};
    cs_error            err    = {0};
    cs_text             text   = {0};

    cr_assert_eq(cs_algorithm_find("optcc", &optcc, &err), CS_OK);
    cs_job_set_algorithm(&job, optcc, NULL);
    cs_job_set_model(&job, cs_models[0], NULL);
    cr_assert_eq(cs_field_set(optcc->options, &job.options, "rounds", "8", "", &err), CS_OK);
    cr_assert_eq(cs_job_resolve(&job, &err), CS_OK);
    cs_outcome direct = replay(&job);
    cr_assert(direct.verified);
    cr_assert_eq(cs_export_schedule(&job, CS_EXPORT_JSON, &text, &err), CS_OK);
    cr_assert_not_null(strstr(text.data, "\"join\": true"));
    cr_assert_eq(cs_schedule_parse(text.data, text.length, "again", &stored, &err), CS_OK, "%s",
                 err.message);
    const cs_job from_file = stored_job(&job, stored);
    cs_outcome   again     = replay(&from_file);
    cr_assert(again.verified);
    cr_assert_eq(again.elapsed_s, direct.elapsed_s);
    cs_job_release(&job);
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
    cs_stored *stored = NULL, *again = NULL;
    cs_error   err  = {0};
    cs_text    text = {0};

    cr_assert_eq(cs_schedule_parse(odd, sizeof odd - 1, "odd", &stored, &err), CS_OK, "%s",
                 err.message);
    const cs_job job = loaded_job(stored);
    cr_assert_eq(cs_export_schedule(&job, CS_EXPORT_JSON, &text, &err), CS_OK);
    cr_assert_eq(cs_schedule_parse(text.data, text.length, "again", &again, &err), CS_OK, "%s",
                 err.message);
    cr_assert_eq(again->root, 2);
    cr_assert_eq(again->gpus_per_server, 2);
    cr_assert_eq(again->recording.n_transfers, 3);
    cr_assert_eq(
        memcmp(stored->recording.transfers, again->recording.transfers, 3 * sizeof(cs_transfer)),
        0);
    cr_assert_eq(again->recording.n_fences, 2);
    for (size_t i = 0; i < 2; i++) {
        cr_assert_eq(again->recording.fences[i].index, i + 1);
        cr_assert_eq(again->recording.fences[i].except, i == 0 ? 0 : CS_FENCE_ALL);
        cr_assert_eq(again->recording.fences[i].cost_s, i == 0 ? 0.1 : 0);
    }
    cs_text_free(&text);
    cr_assert_eq(cs_export_schedule(&job, CS_EXPORT_TEXT, &text, &err), CS_OK);
    cr_assert_not_null(strstr(text.data, "round 2\n  barrier of all ranks but 0, 0.1 s\n"
                                         "  2 -> 1  chunk 0..2  99 bytes  copy  nic\n"));
    cs_text_free(&text);
    cr_assert_eq(cs_export_schedule(&job, CS_EXPORT_GOAL, &text, &err), CS_OK);
    cr_assert_not_null(strstr(text.data, "rank 1 {\nl1: recv 99b from 2 tag 1\nb2: calc 0\n"
                                         "b2 requires l1\nl2: send 10b to 0 tag 2\n"
                                         "l2 requires l1\nl2 requires b2\n}\n"),
                       "%s", text.data);
    cs_text_free(&text);
    cs_stored_free(stored);
    cs_stored_free(again);
}
