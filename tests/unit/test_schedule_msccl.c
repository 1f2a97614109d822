/* SPDX-License-Identifier: GPL-3.0-or-later */
/* MSCCL XML as schedules: what a program of a few steps becomes. The words of refusals are in
 * tests/errors, public dialects and mutants in tests/conformance/test_msccl.c. */
#include "base/alloc.h"
#include "base/file.h"
#include "schedules/msccl.h"
#include "schedules/schedule_json.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAD(coll, chunks, more)                                                                \
    "<algo nchannels=\"2\" nchunksperloop=\"" chunks "\" ngpus=\"2\" proto=\"LL\" coll=\"" coll \
    "\" " more ">\n"
#define GPU(id, i, o, s) \
    "<gpu id=\"" id "\" i_chunks=\"" i "\" o_chunks=\"" o "\" s_chunks=\"" s "\">\n"
#define TB(id, send, recv) "<tb id=\"" id "\" send=\"" send "\" recv=\"" recv "\" chan=\"0\">\n"
#define STEP(s, type, from, at, to, in, cnt)                                                 \
    "<step s=\"" s "\" type=\"" type "\" srcbuf=\"" from "\" srcoff=\"" at "\" dstbuf=\"" to \
    "\" dstoff=\"" in "\" cnt=\"" cnt "\" depid=\"-1\" deps=\"-1\" hasdep=\"0\"/>\n"
#define END "</tb></gpu>\n"

static cs_stored *parse(const char *text)
{
    cs_stored *stored = NULL;
    cs_error   err    = {0};

    cr_assert_eq(cs_schedule_parse(text, strlen(text), "text", &stored, &err), CS_OK,
                 "%d:%d: %s: %s", err.input_line, err.input_column, err.where, err.message);
    return stored;
}

static bool is_correct(const cs_stored *stored)
{
    cs_verdict verdict = {0};
    cs_error   err     = {0};

    cr_assert_eq(cs_schedule_verify(stored, &verdict, &err), CS_OK, "%s", err.message);
    return verdict.is_correct;
}

static const char swap_text[] =
    HEAD("allreduce", "2", "inplace=\"1\" name=\"swap\"") GPU("0", "2", "0", "0") TB("0", "1", "1")
        STEP("0", "s", "i", "0", "i", "0", "2") STEP("1", "rrc", "i", "0", "i", "0", "2")
            END GPU("1", "2", "0", "0") TB("0", "0", "0") STEP("0", "s", "i", "0", "i", "0", "2")
                STEP("1", "rrc", "i", "0", "i", "0", "2") END "</algo>\n";

/* JSON or XML is told by what comes first. */
Test(schedule_msccl, is_known_by_its_first_letter)
{
    static const char *const before[] = {"", "  \n\t", "\xef\xbb\xbf", "\xef\xbb\xbf \r\n",
                                         "<?xml version=\"1.0\"?>\n<!-- made by hand -->\n"};
    char                     text[4096];

    for (size_t i = 0; i < sizeof before / sizeof before[0]; i++) {
        (void)snprintf(text, sizeof text, "%s%s", before[i], swap_text);
        cs_stored *s = parse(text);
        cr_assert_str_eq(s->name, "swap");
        cs_stored_free(s);
    }
    cs_error   err    = {0};
    cs_stored *stored = NULL;
    cr_assert_eq(cs_schedule_parse("{\"format\": 1}", 13, "text", &stored, &err), CS_EINVAL);
    cr_assert_str_eq(err.where, "format");
}

/* Both send what they had: their own chunks need no slot, the sums begin with them. */
Test(schedule_msccl, messages_become_transfers)
{
    cs_stored *s = parse(swap_text);

    cr_assert_eq(s->collective, CS_ALLREDUCE);
    cr_assert_eq(s->n_ranks, 2);
    cr_assert_eq(s->n_chunks, 2);
    cr_assert_eq(s->bytes, 0);
    cr_assert(s->is_scalable && s->has_slots && !s->starts_own);
    cr_assert_eq(s->recording.n_transfers, 2);
    for (uint32_t i = 0; i < 2; i++) {
        const cs_transfer *t = &s->recording.transfers[i];
        cr_assert(t->src == i && t->dst == 1 - i && t->chunk == 0 && t->span == 2);
        cr_assert_eq(cs_transfer_op(t), CS_OP_REDUCE);
        cr_assert_eq(t->flags, CS_OWN_SRC | CS_OWN_DST | CS_DONE_DST);
        cr_assert_eq(t->round, 0);
    }
    cr_assert_eq(cs_recording_messages(&s->recording), 2);
    cr_assert(is_correct(s));
    cs_stored_free(s);
}

/* A received chunk that is copied, added to one place and sent on from another goes into the slots
 * of all sums that it is part of, in one message. */
Test(schedule_msccl, copies_and_sums_are_parts_of_one_message)
{
    cs_stored *s = parse(
        HEAD("allreduce", "1", "inplace=\"0\"") GPU("0", "1", "1", "1") TB("0", "1", "1")
            STEP("0", "s", "i", "0", "s", "0", "1") STEP("1", "r", "i", "0", "o", "0", "1") END GPU(
                "1", "1", "1", "2") TB("0", "0", "0") STEP("0", "r", "i", "0", "s", "0", "1")
                STEP("1", "cpy", "s", "0", "s", "1", "1") STEP("2", "cpy", "i", "0", "o", "0", "1")
                    STEP("3", "re", "s", "0", "o", "0", "1")
                        STEP("4", "re", "i", "0", "s", "1", "1")
                            STEP("5", "s", "s", "1", "o", "0", "1") END "</algo>\n");

    cr_assert_eq(s->recording.n_transfers, 3);
    cr_assert_eq(cs_recording_messages(&s->recording), 2);
    cr_assert_eq(s->recording.transfers[0].flags & CS_JOIN, 0);
    cr_assert_neq(s->recording.transfers[1].flags & CS_JOIN, 0);
    cr_assert(cs_is_repeat(&s->recording.transfers[1]), "nothing travels twice");
    cr_assert_neq(s->recording.transfers[0].dst_slot, s->recording.transfers[1].dst_slot);
    cr_assert_eq(s->recording.transfers[2].src_slot, s->recording.transfers[1].dst_slot,
                 "the sum in the scratch buffer is sent, that in the output stays");
    cr_assert_eq(s->recording.transfers[0].flags & CS_DONE_DST, CS_DONE_DST);
    cr_assert(is_correct(s));
    cs_stored_free(s);
}

/* A chunk that nobody looks at still travels. */
Test(schedule_msccl, what_is_not_used_is_sent_too)
{
    cs_stored *s = parse(HEAD("broadcast", "1", "inplace=\"1\" root=\"0\"") GPU("0", "1", "0", "1")
                             TB("0", "1", "1") STEP("0", "s", "i", "0", "i", "0", "1")
                                 STEP("1", "r", "i", "0", "s", "0", "1") END GPU("1", "1", "0", "0")
                                     TB("0", "0", "0") STEP("0", "r", "i", "0", "i", "0", "1")
                                         STEP("1", "s", "i", "0", "i", "0", "1") END "</algo>\n");

    cr_assert_eq(s->recording.n_transfers, 2);
    cr_assert_eq(s->root, 0);
    cr_assert(is_correct(s));
    cs_stored_free(s);
}

static const char broadcast_text[] =
    GPU("0", "1", "1", "0") TB("0", "-1", "1") STEP("0", "r", "i", "0", "o", "0", "1")
        END GPU("1", "1", "1", "0") TB("0", "0", "-1") STEP("0", "s", "i", "0", "o", "0", "1")
            STEP("1", "cpy", "i", "0", "o", "0", "1") END "</algo>\n";

/* The root is the one that is said, or the one that fits. */
Test(schedule_msccl, finds_the_root)
{
    char     text[4096];
    cs_error err = {0};

    (void)snprintf(text, sizeof text, "%s%s", HEAD("broadcast", "1", "inplace=\"0\""),
                   broadcast_text);
    cs_stored *s = parse(text);
    cr_assert_eq(s->root, 1);
    cr_assert(is_correct(s));
    cs_stored_free(s);
    (void)snprintf(text, sizeof text, "%s%s", HEAD("broadcast", "1", "inplace=\"0\" root=\"0\""),
                   broadcast_text);
    cr_assert_eq(cs_schedule_parse(text, strlen(text), "text", &s, &err), CS_EWRONG);
    cr_assert_str_eq(err.message, "GPU 0 ends without its own chunk in chunk 0 of its output");
}

/* A program is for any servers: its messages take what joins their GPUs. */
Test(schedule_msccl, takes_the_fabrics_of_the_cluster)
{
    cs_stored        *s        = parse(swap_text);
    cs_stored_options options  = {s};
    cs_scenario       scenario = {.collective = CS_ALLREDUCE,
                                  .bytes      = 1000,
                                  .cluster    = {.n_ranks         = 2,
                                                 .gpus_per_server = 1,
                                                 .fabrics = {{CS_SWITCHED, 0, 1e9}, {CS_SWITCHED, 0, 1e9}}}};
    cs_transfer       room[CS_MAX_PARTS];
    cs_block          block = {.transfers = room, .capacity = CS_MAX_PARTS};

    for (uint32_t g = 1; g <= 2; g++) {
        cs_plan plan                     = {0};
        void   *state                    = NULL;
        scenario.cluster.gpus_per_server = g;
        cr_assert_eq(cs_algorithm_stored.check(&scenario, &options, &plan, NULL), CS_OK);
        cr_assert_eq((plan.uses & CS_USES_NVLINK) != 0, g == 2);
        cr_assert_eq(cs_algorithm_stored.open(&scenario, &options, &state, NULL), CS_OK);
        cs_algorithm_stored.next_block(state, &block);
        cr_assert_eq(block.count, 2);
        cr_assert_eq(cs_transfer_fabric(&room[0]), g == 2 ? CS_NVLINK : CS_NIC);
        cr_assert_eq(room[0].bytes, 1000, "both chunks of the size that is asked for");
        cs_algorithm_stored.close(state);
    }
    cs_stored_free(s);
}

/* Numbers of messages order the stream and make one message of several steps. */
Test(schedule_msccl, keeps_the_numbers_of_messages)
{
    static const char *const numbers[] = {"", " message=\"2\" round=\"7\"",
                                          " message=\"1\" round=\"5\""};
    char                     text[4096];

    for (size_t n = 0; n < 3; n++) {
        const char *first = numbers[n], *second = n == 2 ? numbers[1] : first;
        (void)snprintf(
            text, sizeof text, "%s%s%s%s/>\n%s%s/>\n%s%s%s%s%s",
            HEAD("allgather", "4", "inplace=\"1\""), GPU("0", "2", "4", "0") TB("0", "1", "-1"),
            "<step s=\"0\" type=\"s\" srcbuf=\"o\" srcoff=\"0\" dstbuf=\"o\" dstoff=\"0\" "
            "cnt=\"1\" depid=\"-1\" deps=\"-1\" hasdep=\"0\"",
            first,
            "<step s=\"1\" type=\"s\" srcbuf=\"o\" srcoff=\"1\" dstbuf=\"o\" dstoff=\"1\" "
            "cnt=\"1\" depid=\"-1\" deps=\"-1\" hasdep=\"0\"",
            second, END, GPU("1", "2", "4", "0"), TB("0", "-1", "0"),
            STEP("0", "r", "i", "0", "o", "0", "1") STEP("1", "r", "i", "0", "o", "1", "1"),
            END "</algo>\n");
        cs_stored *s = parse(text);
        cr_assert_eq(s->recording.n_transfers, 2);
        cr_assert_eq(cs_recording_messages(&s->recording), n == 1 ? 1 : 2, "case %zu", n);
        cr_assert_eq(s->recording.transfers[1].round, n == 0 ? 1 : 7, "case %zu: round %u", n,
                     s->recording.transfers[1].round);
        cs_stored_free(s);
    }
}

static char *read_sample(const char *name)
{
    char     path[512], *text = NULL;
    size_t   length = 0;
    cs_error err    = {0};

    (void)snprintf(path, sizeof path, COLLSIM_SOURCE_DIR "/tests/exports/msccl/%s.xml", name);
    cr_assert_eq(cs_file_read(path, 1 << 20, &text, &length, &err), CS_OK, "%s", err.message);
    return text;
}

Test(schedule_msccl, survives_every_failed_allocation)
{
    static const char *const names[] = {"ring-ll", "allpairs-out-of-place", "reduce"};

    for (size_t i = 0; i < 3; i++) {
        char     *text   = read_sample(names[i]);
        cs_status status = CS_ENOMEM;
        for (long passes = 0; status != CS_OK; passes++) {
            cs_stored *stored = NULL;
            cs_error   err    = {0};
            cr_assert_lt(passes, 5000);
            cs_alloc_fail_after(passes);
            status = cs_schedule_parse(text, strlen(text), "text", &stored, &err);
            cs_alloc_fail_after(-1);
            cr_assert(status == CS_OK || (status == CS_ENOMEM && err.status == CS_ENOMEM), "%s: %s",
                      names[i], err.message);
            cs_stored_free(stored);
        }
        cs_free(text);
    }
}

/* A program of two GPUs whose first one has so many thread blocks of so many local steps. */
static char *many_steps(uint32_t blocks, uint32_t steps)
{
    char  *text   = malloc(1000 + (size_t)blocks * (200 + (size_t)steps * 200));
    size_t length = (size_t)sprintf(text, "%s%s", HEAD("allreduce", "2", "inplace=\"1\""),
                                    GPU("0", "2", "0", "1"));

    for (uint32_t b = 0; b < blocks; b++) {
        length += (size_t)sprintf(text + length,
                                  "<tb id=\"%u\" send=\"-1\" recv=\"-1\" chan=\"0\">\n", b);
        for (uint32_t s = 0; s < steps; s++) {
            length +=
                (size_t)sprintf(text + length,
                                "<step s=\"%u\" type=\"cpy\" srcbuf=\"i\" srcoff=\"0\" "
                                "dstbuf=\"s\" dstoff=\"0\" cnt=\"1\" depid=\"-1\" deps=\"-1\" "
                                "hasdep=\"0\"/>\n",
                                s);
        }
        length += (size_t)sprintf(text + length, "</tb>\n");
    }
    (void)sprintf(text + length, "</gpu>\n%s</gpu>\n</algo>\n", GPU("1", "2", "0", "0"));
    return text;
}

static cs_status status_of(const char *text, cs_error *err)
{
    cs_stored *stored = NULL;
    cs_status  status = cs_schedule_parse(text, strlen(text), "text", &stored, err);

    cs_stored_free(stored);
    return status;
}

Test(schedule_msccl, refuses_what_no_runtime_loads)
{
    static const struct {
        uint32_t    blocks, steps;
        const char *why;
    } cases[] = {
        {1, 257, "257 steps are too many: accepted are 256"},
        {1, 300, "300 steps are too many: accepted are 256"},
        {16, 256,
         "16 thread blocks and 4115 elements (steps, thread blocks, all GPUs) are too many: "
         "accepted are 1024 and 4095"},
        {1025, 1,
         "1025 thread blocks and 2053 elements (steps, thread blocks, all GPUs) are too many: "
         "accepted are 1024 and 4095"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char    *text = many_steps(cases[i].blocks, cases[i].steps);
        cs_error err  = {0};
        cr_assert_eq(status_of(text, &err), CS_EPARSE);
        cr_assert_str_eq(err.message, cases[i].why);
        free(text);
    }
}

/* Files without end are refused before they are read to theirs. */
Test(schedule_msccl, refuses_what_is_too_large)
{
    size_t     at     = 0;
    char      *text   = malloc((size_t)6 << 21);
    cs_stored *stored = NULL;
    cs_error   err    = {0};

    at += (size_t)sprintf(text, "<algo>");
    for (int i = 0; i < (1 << 20) + 10; i++) {
        memcpy(text + at, "<gpu/>", 6);
        at += 6;
    }
    memcpy(text + at, "</algo>", 8);
    cr_assert_eq(status_of(text, &err), CS_EPARSE);
    cr_assert_str_eq(err.message, "too many elements: accepted are 2^20, nested 64 deep");
    err = (cs_error){0};
    cr_assert_eq(cs_schedule_parse(text, (size_t)CS_MSCCL_MAX_BYTES + 1, "text", &stored, &err),
                 CS_EPARSE);
    cr_assert_str_eq(err.message, "268435457 bytes of XML are too many: accepted are 268435456");
    free(text);
}

/* GPU 0 sends its chunk in one thread block and receives into it in another. Only GPU 1, which
 * sends what it has received, orders the two; it does not if it sends first. */
Test(schedule_msccl, order_may_rest_on_other_gpus)
{
    static const char *const others[] = {
        STEP("0", "rrc", "i", "0", "i", "0", "1") STEP("1", "s", "i", "0", "i", "0", "1"),
        STEP("0", "s", "i", "0", "i", "0", "1") STEP("1", "rrc", "i", "0", "i", "0", "1")};
    char text[4096];

    for (int i = 0; i < 2; i++) {
        cs_error err = {0};
        (void)snprintf(text, sizeof text, "%s%s%s%s%s%s%s",
                       HEAD("allreduce", "1", "inplace=\"1\"") GPU("0", "1", "0", "0")
                           TB("0", "1", "-1") STEP("0", "s", "i", "0", "i", "0", "1"),
                       "</tb>" TB("1", "-1", "1"),
                       i == 0 ? STEP("0", "r", "i", "0", "i", "0", "1")
                              : STEP("0", "rrc", "i", "0", "i", "0", "1"),
                       END GPU("1", "1", "0", "0") TB("0", "0", "0"), others[i], END, "</algo>\n");
        cr_assert_eq(status_of(text, &err), i == 0 ? CS_OK : CS_EWRONG, "%d: %s", i, err.message);
    }
}

/* Sums that double with every step are not spelled out. */
Test(schedule_msccl, refuses_sums_without_end)
{
    char    *text   = malloc(100000);
    size_t   length = (size_t)sprintf(text, "%s%s%s", HEAD("allreduce", "1", "inplace=\"1\""),
                                      GPU("0", "1", "0", "1"),
                                      TB("0", "1", "1") STEP("0", "s", "i", "0", "i", "0", "1")
                                          STEP("1", "r", "i", "0", "s", "0", "1"));
    cs_error err    = {0};

    for (int s = 2; s < 100; s++) {
        length +=
            (size_t)sprintf(text + length,
                            "<step s=\"%d\" type=\"re\" srcbuf=\"s\" srcoff=\"0\" dstbuf=\"s\" "
                            "dstoff=\"0\" cnt=\"1\" depid=\"-1\" deps=\"-1\" hasdep=\"0\"/>\n",
                            s);
    }
    (void)sprintf(text + length, "%s%s%s%s%s", STEP("100", "re", "s", "0", "i", "0", "1"), END,
                  GPU("1", "1", "0", "0") TB("0", "0", "0") STEP("0", "s", "i", "0", "i", "0", "1"),
                  STEP("1", "rrc", "i", "0", "i", "0", "1"), END "</algo>\n");
    cr_assert_eq(status_of(text, &err), CS_ENOTSUP);
    cr_assert_str_eq(err.message, "sums of more than 2^24 chunks");
    free(text);
}
