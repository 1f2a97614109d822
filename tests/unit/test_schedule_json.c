/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Schedule files: what is read, what the stream of a stored schedule says, and that verifying
 * it can fail. The words of refusals are in tests/errors. */
#include "base/alloc.h"
#include "cs/job.h"
#include "schedules/schedule_json.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static cs_stored *parse(const char *text)
{
    cs_stored *stored = NULL;
    cs_error   err    = {0};

    cr_assert_eq(cs_schedule_parse(text, strlen(text), "text", &stored, &err), CS_OK,
                 "%d:%d: %s: %s", err.input_line, err.input_column, err.where, err.message);
    return stored;
}

static cs_scenario scenario_of(const cs_stored *stored)
{
    cs_scenario s = {.cluster = {.fabrics = {{CS_SWITCHED, 1e-6, 1e9}, {CS_SWITCHED, 1e-7, 1e10}}}};

    cs_schedule_scenario(stored, &s);
    return s;
}

/* A job without a model: what a stored schedule does and whether it is right. */
static cs_job job_of(const cs_stored *stored)
{
    const cs_stored_options options = {stored};
    cs_job                  job     = {.scenario = scenario_of(stored)};

    cs_job_set_algorithm(&job, &cs_algorithm_stored, &options);
    return job;
}

static cs_verdict verify(const cs_stored *stored)
{
    cs_job     job     = job_of(stored);
    cs_verdict verdict = {0};
    cs_error   err     = {0};

    cr_assert_eq(cs_job_resolve(&job, &err), CS_OK, "%s", err.message);
    cr_assert_eq(cs_job_verify(&job, &verdict, &err), CS_OK, "%s", err.message);
    cs_job_release(&job);
    return verdict;
}

static bool is_correct(const char *text)
{
    cs_stored *stored  = parse(text);
    cs_verdict verdict = verify(stored);

    cs_stored_free(stored);
    return verdict.is_correct;
}

#define HEAD(collective, ranks, chunks)                                                \
    "{\"format\": \"collsim-schedule\", \"version\": 1, \"collective\": \"" collective \
    "\", \"ranks\": " ranks ", \"chunks\": " chunks ", \"bytes\": 10, \"transfers\": ["

Test(schedule, reads_every_key)
{
    cs_stored *s = parse(
        "{\"transfers\": [ {\"round\": 0, \"src\": 0, \"dst\": 1, \"chunk\": 2, \"op\": "
        "\"exchange\"},\n"
        "{\"round\": 3, \"src\": 2, \"dst\": 1, \"chunk\": 0, \"span\": 3, \"fabric\": \"nic\","
        " \"bytes\": 7, \"shared\": true, \"fence\": true, \"fence_except\": 3,"
        " \"fence_s\": \"2us\", \"op\": \"copy\"} ],"
        "\"format\": \"collsim-schedule\", \"collective\": \"allreduce\", \"algorithm\": \"mine\","
        " \"ranks\": 4, \"chunks\": 3, \"bytes\": 10, \"gpus_per_server\": 2, \"version\": 1}");

    cr_assert_str_eq(s->name, "mine");
    cr_assert_eq(s->n_ranks, 4);
    cr_assert_eq(s->n_chunks, 3);
    cr_assert_eq(s->bytes, 10);
    cr_assert_eq(s->gpus_per_server, 2);
    cr_assert_eq(s->recording.n_transfers, 2);
    const cs_transfer *t = s->recording.transfers;
    cr_assert_eq(t[0].bytes, 3, "chunks of 10 bytes are 4, 3, 3");
    cr_assert_eq(cs_transfer_op(&t[0]), CS_OP_EXCHANGE);
    cr_assert_eq(cs_transfer_fabric(&t[0]), CS_NVLINK);
    cr_assert_eq(t[0].flags, CS_DONE_SRC, "rank 1 is written again, rank 0 is not");
    cr_assert_eq(t[1].round, 3);
    cr_assert_eq(t[1].span, 3);
    cr_assert_eq(t[1].bytes, 7);
    cr_assert_eq(cs_transfer_fabric(&t[1]), CS_NIC);
    cr_assert_eq(t[1].flags, CS_SHARED | CS_FENCE | CS_DONE_DST);
    cr_assert_eq(s->recording.n_fences, 1);
    cr_assert_eq(s->recording.fences[0].index, 1);
    cr_assert_eq(s->recording.fences[0].except, 3);
    cr_assert_eq(s->recording.fences[0].cost_s, 2e-6);
    cr_assert_not(s->is_scalable);
    cr_assert_eq(s->plan.n_rounds, 4);
    cr_assert_eq(s->plan.n_slots, 3);
    cr_assert(s->plan.starts_own);
    cr_assert_eq(s->plan.uses, CS_USES_EXCHANGE | CS_USES_SHARED | CS_USES_SPAN | CS_USES_NVLINK);
    cs_stored_free(s);
}

Test(schedule, is_verified_for_every_collective)
{
    cr_assert(is_correct(HEAD("allreduce", "2", "1") "{\"round\":0,\"src\":1,\"dst\":0,\"chunk\":0,"
                                                     "\"op\":\"exchange\"}]}"));
    cr_assert(
        is_correct(HEAD("allgather", "2", "2") "{\"round\":0,\"src\":0,\"dst\":1,\"chunk\":0},"
                                               "{\"round\":0,\"src\":1,\"dst\":0,\"chunk\":1}]}"));
    cr_assert_not(
        is_correct(HEAD("allgather", "2", "2") "{\"round\":0,\"src\":0,\"dst\":1,\"chunk\":0},"
                                               "{\"round\":0,\"src\":1,\"dst\":0,\"chunk\":0}]}"));
    cr_assert(is_correct(
        HEAD("reducescatter", "2",
             "4") "{\"round\":0,\"src\":0,\"dst\":1,\"chunk\":2,\"span\":2,\"op\":\"reduce\"},"
                  "{\"round\":0,\"src\":1,\"dst\":0,\"chunk\":0,\"span\":2,\"op\":\"reduce\"}]}"));
    cr_assert(
        is_correct(HEAD("alltoall", "2", "4") "{\"round\":0,\"src\":0,\"dst\":1,\"chunk\":1},"
                                              "{\"round\":0,\"src\":1,\"dst\":0,\"chunk\":2}]}"));
    cr_assert_not(
        is_correct(HEAD("alltoall", "2", "4") "{\"round\":0,\"src\":0,\"dst\":1,\"chunk\":2},"
                                              "{\"round\":0,\"src\":1,\"dst\":0,\"chunk\":1}]}"));
    cr_assert(
        is_correct(HEAD("broadcast", "3", "1") "{\"round\":0,\"src\":0,\"dst\":2,\"chunk\":0},"
                                               "{\"round\":1,\"src\":2,\"dst\":1,\"chunk\":0}]}"));
    cr_assert_not(
        is_correct(HEAD("broadcast", "3", "1") "{\"round\":0,\"src\":1,\"dst\":2,\"chunk\":0},"
                                               "{\"round\":1,\"src\":0,\"dst\":1,\"chunk\":0}]}"));
    cr_assert(is_correct(HEAD(
        "reduce", "3", "1") "{\"round\":0,\"src\":2,\"dst\":1,\"chunk\":0,\"op\":\"reduce\"},"
                            "{\"round\":1,\"src\":1,\"dst\":0,\"chunk\":0,\"op\":\"reduce\"}]}"));
}

/* Any block of the stream has room for a message, so that none has more parts than that. */
Test(schedule, messages_have_so_many_parts)
{
    for (unsigned parts = 64; parts <= 65; parts++) {
        char       text[16384] = HEAD("allreduce", "2", "65");
        size_t     length      = strlen(text);
        cs_stored *stored      = NULL;
        cs_error   err         = {0};
        for (unsigned k = 0; k < parts; k++) {
            length +=
                (size_t)sprintf(text + length, "%s{\"round\":0,\"src\":0,\"dst\":1,\"chunk\":%u%s}",
                                k > 0 ? "," : "", k, k > 0 ? ",\"join\":true" : "");
        }
        (void)strcpy(text + length, "]}");
        cs_status status = cs_schedule_parse(text, strlen(text), "text", &stored, &err);
        cr_assert_eq(status, parts == 64 ? CS_OK : CS_EINVAL);
        cr_assert(parts == 64 || strcmp(err.message, "a message has at most 64 parts") == 0, "%s",
                  err.message);
        cs_stored_free(stored);
    }
}

/* Every rank of an alltoall has a buffer of the size of the column, a block of which goes to each
 * rank: in one chunk or in several. */
Test(schedule, alltoall_sends_blocks)
{
    cs_stored *s =
        parse(HEAD("alltoall", "2", "8") "{\"round\":0,\"src\":0,\"dst\":1,\"chunk\":2},"
                                         "{\"round\":0,\"src\":1,\"dst\":0,\"chunk\":4,"
                                         "\"span\":2},"
                                         "{\"round\":1,\"src\":0,\"dst\":1,\"chunk\":3}]}");

    cr_assert_eq(s->recording.transfers[0].bytes, 2, "a quarter of 10 bytes, without the odd ones");
    cr_assert_eq(s->recording.transfers[1].bytes, 6, "the first half, with the odd ones");
    cr_assert_eq(s->recording.transfers[2].bytes, 2);
    cr_assert(s->is_scalable);
    cr_assert(verify(s).is_correct);
    cs_stored_free(s);
    cr_assert_not(is_correct(
        HEAD("alltoall", "2", "8") "{\"round\":0,\"src\":0,\"dst\":1,\"chunk\":2},"
                                   "{\"round\":0,\"src\":1,\"dst\":0,\"chunk\":4,\"span\":2},"
                                   "{\"round\":1,\"src\":0,\"dst\":1,\"chunk\":1}]}"));
}

/* Lost, doubled and overwritten contributions of a ring of three. */
Test(schedule, wrong_ones_are_found_out)
{
    static const char *const lines[] = {
        "{\"round\":0,\"src\":0,\"dst\":1,\"chunk\":0,\"op\":\"reduce\"}",
        "{\"round\":1,\"src\":1,\"dst\":2,\"chunk\":0,\"op\":\"reduce\"}",
        "{\"round\":2,\"src\":2,\"dst\":0,\"chunk\":0}",
        "{\"round\":3,\"src\":0,\"dst\":1,\"chunk\":0}",
        "{\"round\":4,\"src\":0,\"dst\":1,\"chunk\":0,\"op\":\"reduce\"}",
    };
    static const struct {
        const char *order; /* numbers of lines */
        bool        is_right;
    } cases[] = {{"0123", true},  {"012", false},  {"123", false},  {"01234", false},
                 {"0013", false}, {"0122", false}, {"01233", true}, {"", false}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[2048] = HEAD("allreduce", "3", "1");
        for (const char *at = cases[i].order; *at != '\0'; at++) {
            strcat(text, at != cases[i].order ? "," : "");
            strcat(text, lines[*at - '0']);
        }
        strcat(text, "]}");
        cr_assert_eq(is_correct(text), cases[i].is_right, "order %s", cases[i].order);
    }
}

Test(schedule, keeps_slots_that_are_given)
{
    cs_stored *s =
        parse("{\"format\": \"collsim-schedule\", \"collective\": \"allreduce\", \"ranks\": 2, "
              "\"chunks\": 1,"
              " \"bytes\": 10, \"slots\": 9, \"transfers\": ["
              "{\"round\":0,\"src\":0,\"dst\":1,\"chunk\":0,\"op\":\"reduce\",\"src_slot\":0,"
              "\"dst_slot\":7,\"own\":\"both\",\"done\":\"dst\"},"
              "{\"round\":1,\"src\":1,\"dst\":0,\"chunk\":0,\"src_slot\":7,\"dst_slot\":8,"
              "\"done\":\"dst\"}]}");

    cr_assert(s->has_slots);
    cr_assert_eq(s->plan.n_slots, 9);
    cr_assert_not(s->plan.starts_own);
    cr_assert_eq(s->recording.transfers[0].dst_slot, 7);
    cr_assert_eq(s->recording.transfers[0].flags, CS_OWN_SRC | CS_OWN_DST | CS_DONE_DST);
    cr_assert_eq(s->recording.transfers[1].src_slot, 7);
    cr_assert_eq(s->recording.transfers[1].dst_slot, 8);
    cr_assert(verify(s).is_correct);
    cs_stored_free(s);
}

/* A barrier begins a block of its own, whatever the block's size. */
Test(schedule, blocks_begin_at_barriers)
{
    cs_stored          *s        = parse(HEAD(
                        "allreduce", "2", "1") "{\"round\":0,\"src\":0,\"dst\":1,\"chunk\":0,\"op\":\"reduce\"},"
                                                               "{\"round\":1,\"src\":1,\"dst\":0,\"chunk\":0,\"fence\":true},"
                                                               "{\"round\":2,\"src\":1,\"dst\":0,\"chunk\":0},"
                                                               "{\"round\":2,\"src\":1,\"dst\":0,\"chunk\":0,\"fence\":true,"
                                                               "\"fence_except\":0,\"fence_s\":0.5}]}");
    static const size_t counts[] = {1, 2, 1, 0};
    cs_job              job      = job_of(s);
    cs_transfer         room[64];
    cs_block            block = {.transfers = room, .capacity = 64};
    void               *state = NULL;

    cr_assert_eq(cs_job_open(&job, &state, NULL), CS_OK);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        cs_algorithm_stored.next_block(state, &block);
        cr_assert_eq(block.count, counts[i], "block %zu has %zu", i, block.count);
        if (i == 1) {
            cr_assert_eq(block.fence_except, CS_FENCE_ALL);
        } else if (i == 2) {
            cr_assert_eq(block.fence_except, 0);
            cr_assert_eq(block.fence_s, 0.5);
        }
    }
    cs_algorithm_stored.close(state);
    cs_stored_free(s);
}

Test(schedule, scales_to_other_sizes)
{
    cs_stored *s = parse(HEAD("allreduce", "2", "1") "{\"round\":0,\"src\":1,\"dst\":0,\"chunk\":0,"
                                                     "\"op\":\"exchange\"}]}");
    cs_job     job = job_of(s);
    cs_transfer room[64];
    cs_block    block = {.transfers = room, .capacity = 64};
    void       *state = NULL;

    job.scenario.bytes = 12345;
    cr_assert_eq(cs_job_resolve(&job, NULL), CS_OK);
    cr_assert_eq(cs_job_open(&job, &state, NULL), CS_OK);
    cs_algorithm_stored.next_block(state, &block);
    cr_assert_eq(room[0].bytes, 12345);
    cs_algorithm_stored.close(state);
    cs_job_release(&job);
    job.scenario.cluster.n_ranks = 3;
    cr_assert_eq(cs_job_resolve(&job, NULL), CS_ENOTSUP);
    job.scenario.cluster.n_ranks = 2;
    job.scenario.collective      = CS_BROADCAST;
    cr_assert_eq(cs_job_resolve(&job, NULL), CS_ENOTSUP);
    cs_stored_free(s);
}

Test(schedule, survives_every_failed_allocation)
{
    static const char text[] = HEAD("allreduce", "2", "1") "{\"round\":0,\"src\":1,\"dst\":0,"
                                                           "\"chunk\":0,\"op\":\"exchange\","
                                                           "\"fence\":true}]}";
    cs_status         status = CS_ENOMEM;
    cs_stored        *stored = NULL;

    for (long passes = 0; status != CS_OK; passes++) {
        cr_assert_lt(passes, 1000);
        cs_alloc_fail_after(passes);
        status = cs_schedule_parse(text, sizeof text - 1, "text", &stored, NULL);
        cs_alloc_fail_after(-1);
    }
    cr_assert_eq(stored->recording.n_transfers, 1);
    cs_stored_free(stored);
}

/* Cut or changed anywhere, a schedule is read or refused, never more. */
Test(schedule, survives_damaged_texts)
{
    static const char text[] = HEAD("allreduce", "2", "1") "{\"round\":0,\"src\":1,\"dst\":0,"
                                                           "\"chunk\":0,\"op\":\"exchange\"}]}";
    static const char odd[]  = "\"{}[],:0\\\n";

    for (size_t at = 0; at < sizeof text - 1; at++) {
        for (size_t i = 0; i < sizeof odd; i++) {
            char       damaged[sizeof text];
            cs_stored *stored = NULL;
            cs_error   err    = {0};
            memcpy(damaged, text, sizeof text);
            damaged[at]   = odd[i];
            size_t length = i + 1 < sizeof odd ? sizeof text - 1 : at;
            if (cs_schedule_parse(damaged, length, "text", &stored, &err) == CS_OK) {
                cs_stored_free(stored);
            } else {
                cr_assert(err.status != CS_ENOMEM && err.input_line >= 1 && err.input_column >= 1,
                          "%s at %zu", err.message, at);
            }
        }
    }
}
