/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Plans of MSCCL++: what they become, what is refused and in which words. What is taken away from
 * plans, and round trips, are in tests/conformance. */
#include "base/alloc.h"
#include "base/file.h"
#include "schedules/export.h"
#include "schedules/mscclpp.h"
#include "schedules/schedule_json.h"
#include "support/scene.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *read_sample(const char *name)
{
    char     path[512], *text = NULL;
    size_t   length = 0;
    cs_error err    = {0};

    (void)snprintf(path, sizeof path, COLLSIM_SOURCE_DIR "/tests/exports/mscclpp/%s.json", name);
    cr_assert_eq(cs_file_read(path, 1 << 20, &text, &length, &err), CS_OK, "%s", err.message);
    return text;
}

static cs_status status_of(const char *text, cs_error *err)
{
    cs_stored *stored  = NULL;
    cs_verdict verdict = {0};
    cs_status  status  = cs_schedule_parse(text, strlen(text), "plan", &stored, err);

    if (status == CS_OK) {
        cr_assert_eq(cs_schedule_verify(stored, &verdict, err), CS_OK, "%s", err->message);
        status = verdict.is_correct ? CS_OK : CS_FAIL(err, CS_EWRONG, "", "%s", verdict.text);
    }
    cs_stored_free(stored);
    return status;
}

/* A text with the n-th `from` (0: the first) in place of which there is `to`. */
static char *change(const char *text, const char *from, uint32_t n, const char *to)
{
    const char *at = strstr(text, from);

    for (; n > 0 && at != NULL; n--) {
        at = strstr(at + 1, from);
    }
    cr_assert_not_null(at, "%s", from);
    size_t before  = (size_t)(at - text);
    char  *changed = malloc(strlen(text) + strlen(to) + 1);
    memcpy(changed, text, before);
    (void)sprintf(changed + before, "%s%s", to, at + strlen(from));
    return changed;
}

Test(schedule_mscclpp, is_known_by_its_keys)
{
    static const struct {
        const char *text;
        bool        is_plan;
    } cases[] = {
        {"{\"gpus\": []}", true},
        {" {\"name\": \"x\", \"gpus\": 3}", true},
        {"{\"format\": \"collsim-schedule\", \"gpus\": 3}", false},
        {"{\"gpus\": [], \"format\": 1}", false},
        {"{\"x\": {\"gpus\": []}}", false},
        {"[\"gpus\"]", false},
        {"", false},
        {"{\"gpus\"", false},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cr_assert_eq(cs_mscclpp_is_plan(cases[i].text, strlen(cases[i].text)), cases[i].is_plan,
                     "%s", cases[i].text);
    }
}

/* What goes between GPUs are messages; what is added at the receiver is a part of them. */
Test(schedule_mscclpp, puts_become_transfers)
{
    char      *text   = read_sample("reduce-ports");
    cs_stored *stored = NULL;
    cs_error   err    = {0};

    cr_assert_eq(cs_schedule_parse(text, strlen(text), "plan", &stored, &err), CS_OK, "%s",
                 err.message);
    cr_assert_str_eq(stored->name, "reduce-ports");
    cr_assert(stored->collective == CS_REDUCE && stored->root == 1 && stored->n_ranks == 3);
    cr_assert(stored->n_chunks == 2 && stored->bytes == 0 && stored->any_servers);
    cr_assert_eq(cs_recording_messages(&stored->recording), 3);
    const cs_transfer *t = stored->recording.transfers;
    cr_assert(t[0].src == 2 && t[0].dst == 0 && t[0].chunk == 0 && t[0].span == 2);
    cr_assert_eq(t[0].flags & CS_OWN_SRC, CS_OWN_SRC);
    cr_assert_eq(cs_transfer_op(&t[0]), CS_OP_REDUCE);
    cr_assert(t[1].src == 0 && t[1].dst == 1 && t[1].chunk == 0 && t[1].span == 1);
    cr_assert(t[2].src == 0 && t[2].dst == 1 && t[2].chunk == 1 && t[2].span == 1);
    cr_assert_eq(t[2].flags & CS_DONE_DST, CS_DONE_DST);
    cs_stored_free(stored);
    cs_free(text);
}

/* Slices and shares of a group are parts of chunks. */
Test(schedule_mscclpp, chunks_are_cut_for_slices_and_groups)
{
    static const struct {
        const char *name;
        uint32_t    n_chunks;
    } cases[] = {{"allreduce-slices", 2}, {"allgather-group", 12}, {"allgather-put", 6}};

    for (size_t i = 0; i < 3; i++) {
        char      *text   = read_sample(cases[i].name);
        cs_stored *stored = NULL;
        cs_error   err    = {0};
        cr_assert_eq(cs_schedule_parse(text, strlen(text), "plan", &stored, &err), CS_OK, "%s",
                     err.message);
        cr_assert_eq(stored->n_chunks, cases[i].n_chunks, "%s: %u", cases[i].name,
                     stored->n_chunks);
        cs_stored_free(stored);
        cs_free(text);
    }
}

typedef struct refusal {
    const char *sample, *from;
    uint32_t    n; /* of those there are */
    const char *to;
    cs_status   status;
    const char *where, *message;
} refusal;

#define SIGNAL(ids) \
    "{\"name\": \"signal\", \"channel_type\": \"memory\", \"channel_ids\": [" ids "]}"
#define WAIT(ids) "{\"name\": \"wait\", \"channel_type\": \"memory\", \"channel_ids\": [" ids "]}"
#define NOP       "{\"name\": \"nop\"}"

/* Races, with both operations by name; and who waits for ever. */
static const refusal wrong[] = {
    {"allgather-put", "{\"name\": \"rlxwait\", \"channel_type\": \"memory\", \"channel_ids\": [0]}",
     0, NOP, CS_EWRONG, "gpus[1].threadblocks[0].ops[3]",
     "op 3 (put) of thread block 0 of GPU 1 writes chunk 2 of the in-place buffer of GPU 0, which "
     "nothing orders before the end of that GPU's call"},
    {"allgather-put", ",\n          " WAIT("0"), 0, "", CS_EWRONG, "gpus[1].threadblocks[0].ops[3]",
     "op 3 (put) of thread block 0 of GPU 1 writes chunk 2 of the in-place buffer of GPU 0, which "
     "nothing orders before the end of that GPU's call"},
    {"allreduce-rres", WAIT("0, 1"), 1, WAIT("0"), CS_EWRONG, "gpus[2].threadblocks[0].ops[3]",
     "op 3 (rres) of thread block 0 of GPU 2 writes chunk 2 of the in-place buffer of GPU 0, which "
     "nothing orders before the end of that GPU's call"},
    {"allreduce-rres", NOP, 1, SIGNAL("0"), CS_EWRONG, "gpus[0].threadblocks[0].ops[3]",
     "op 3 (rres) of thread block 0 of GPU 0 writes chunk 0 of the in-place buffer of GPU 1, which "
     "nothing orders before the end of that GPU's call"},
    {"allgather-put", "\"signal\"", 0, "\"rlxsignal\"", CS_EWRONG, "gpus[0].threadblocks[0].ops[3]",
     "op 3 (put) of thread block 0 of GPU 0 writes chunk 0 of the in-place buffer of GPU 1, which "
     "nothing orders before the end of that GPU's call"},
    {"allgather-put", ",\n          " SIGNAL("0"), 1, "", CS_EWRONG,
     "gpus[2].threadblocks[0].ops[6]",
     "op 6 (wait) of thread block 0 of GPU 2 waits for ever: it is wait 2 at memory channel 0 of "
     "GPU 2 from GPU 0, which is signalled 1 times"},
    {"allgather-put", "\"connected_to\": [0, 2]", 0, "\"connected_to\": [2, 2]", CS_EWRONG,
     "gpus[0].threadblocks[0].ops[1]",
     "op 1 (rlxwait) of thread block 0 of GPU 0 waits for ever: it is wait 1 at memory channel 0 "
     "of GPU 0 from GPU 1, which is signalled 0 times"},
    {"allreduce-barrier", "\"barrier_id\": 3", 0, "\"barrier_id\": 4", CS_EWRONG,
     "gpus[0].threadblocks[1].ops[4]",
     "op 4 (barrier) of thread block 1 of GPU 0 is for 2 thread blocks, and 1 come there for the "
     "1. time"},
    {"reduce-ports", "{\"name\": \"sem_acquire\", \"semaphore_ids\": [0]}", 1, NOP, CS_EWRONG,
     "gpus[0].threadblocks[1].ops[6]",
     "op 6 (pws) of thread block 1 of GPU 0 reads chunk 3 of the scratch buffer of GPU 0, which op "
     "5 (re) of thread block 0 of GPU 0 writes, and nothing orders the two"},
    {"reduce-ports", "{\"name\": \"sem_acquire\", \"semaphore_ids\": [0]}", 0,
     "{\"name\": \"sem_release\", \"semaphore_ids\": [0]}", CS_ENOTSUP,
     "gpus[0].threadblocks[1].ops[0]",
     "semaphore 0 is signalled, or waited for, by two thread blocks: not modelled"},
    {"reduce-ports", "{\"init_value\": 0}", 0, "{\"init_value\": 1}", CS_EWRONG,
     "gpus[0].threadblocks[0].ops[2]",
     "op 2 (re) of thread block 0 of GPU 0 writes chunk 2 of the scratch buffer of GPU 0, which op "
     "2 (put) of thread block 1 of GPU 0 reads, and nothing orders the two"},
    {"reduce-ports", ",\n          {\"name\": \"sem_acquire\", \"semaphore_ids\": [0]}", 0,
     ",\n          {\"name\": \"nop\"}", CS_EWRONG, "gpus[0].threadblocks[1].ops[6]",
     "op 6 (pws) of thread block 1 of GPU 0 reads chunk 3 of the scratch buffer of GPU 0, which op "
     "5 (re) of thread block 0 of GPU 0 writes, and nothing orders the two"},
    {"reduce-ports", "\"pwsf\"", 0, "\"pws\"", CS_EWRONG, "gpus[2].threadblocks[0].ops[0]",
     "op 0 (pws) of thread block 0 of GPU 2 reads chunk 0 of the in-place buffer of GPU 2, which "
     "nothing orders before the end of that GPU's call"},
    {"reduce-ports", "\"channel_ids\": [1]", 0, "\"channel_ids\": [0]", CS_EPARSE,
     "gpus[0].threadblocks[1].ops[2]",
     "op 2 (put) of thread block 1 of GPU 0 puts into a buffer of GPU 1 over a channel to GPU 2"},
    {"allreduce-packets", "{\"name\": \"ppkt\", \"src_buff\": [{\"type\": \"i\", \"index\": 1", 0,
     "{\"name\": \"ppkt\", \"src_buff\": [{\"type\": \"i\", \"index\": 2", CS_EWRONG,
     "gpus[0].threadblocks[2].ops[1]",
     "op 1 (upkt) of thread block 2 of GPU 0 writes chunk 2 of the in-place buffer of GPU 0, which "
     "op 0 (ppkt) of thread block 0 of GPU 0 reads, and nothing orders the two"},
    {"allreduce-packets", "[{\"buffer_id\": 0, \"index\": 0", 0, "[{\"buffer_id\": 0, \"index\": 2",
     CS_EWRONG, "gpus[2].threadblocks[0].ops[1]",
     "op 1 (ppkt) of thread block 0 of GPU 2 writes packets into chunk 2 of the scratch buffer of "
     "GPU 1, as op 0 (ppkt) of thread block 0 of GPU 0 does: a call has one flag"},
    {"broadcast-packets", "\"upkt\", \"src_buff\": [{\"type\": \"s\", \"index\": 0, \"size\": 2}]",
     0, "\"copy\", \"src_buff\": [{\"type\": \"s\", \"index\": 0, \"size\": 2}]", CS_ENOTSUP,
     "gpus[0].threadblocks[0].ops[2]",
     "op 2 (copy) of thread block 0 of GPU 0 uses the scratch buffer of GPU 0, in which are "
     "packets and plain data: not modelled"},
    {"broadcast-packets", "[{\"buffer_id\": 0, \"index\": 0, \"size\": 1}, ", 0,
     "[{\"buffer_id\": 0, \"index\": 1, \"size\": 1}, ", CS_EWRONG,
     "gpus[0].threadblocks[0].ops[0]",
     "op 0 (ppkt) of thread block 0 of GPU 0 writes packets into chunk 1 of the scratch buffer of "
     "GPU 1, as op 0 (ppkt) of thread block 0 of GPU 0 does: a call has one flag"},
    {"allreduce-barrier", "{\"name\": \"get\"", 0, "{\"name\": \"nop\"", CS_EWRONG,
     "gpus[0].threadblocks[1].ops[5]",
     "GPU 0 reads chunk 0 of its scratch buffer before anything is there"},
    {"alltoall-twice", "{\"name\": \"copy\"", 0, "{\"name\": \"nop\"", CS_EWRONG, "gpu",
     "GPU 0 ends without its own chunk in chunk 0 of its output"},
    {"allreduce-slices", "{\"name\": \"nop\"}, {\"name\": \"rre\"", 0, "{\"name\": \"rre\"",
     CS_EWRONG, "gpus[0].threadblocks[1].ops[0].ops[1]",
     "op 0.1 (rre) of thread block 1 of GPU 0 reads chunk 0 of the scratch buffer of GPU 1, which "
     "op 0.0 (copy) of thread block 0 of GPU 1 writes, and nothing orders the two"},
    {"allgather-group", "\"tb_id\": 1", 0, "\"tb_id\": 0", CS_EWRONG,
     "gpus[0].threadblocks[1].ops[3]",
     "op 3 (put) of thread block 1 of GPU 0 writes chunk 0 of the in-place buffer of GPU 1, which "
     "op 3 (put) of thread block 0 of GPU 0 writes, and nothing orders the two"},
    {"allgather-put", "\"put\"", 0, "\"glres\"", CS_ENOTSUP, "gpus[0].threadblocks[0].ops[3]",
     "op 3 (glres) of thread block 0 of GPU 0 adds up or spreads in a switch, which is not "
     "modelled"},
    {"allgather-put", "\"put\"", 0, "\"fold\"", CS_ENOTSUP, "gpus[0].threadblocks[0].ops[3]",
     "op 3 (fold) of thread block 0 of GPU 0 is not known"},
    {"allgather-put", "\"put\"", 0, "\"pws\"", CS_EPARSE, "gpus[0].threadblocks[0].ops[3]",
     "op 3 (pws) of thread block 0 of GPU 0 is accepted over ports only"},
    {"allgather-put", "\"put\"", 0, "\"res\"", CS_EPARSE,
     "gpus[0].threadblocks[0].ops[3].dst_buff[0]", "the key 'type' is missing"},
    {"allgather-put", "\"allgather\"", 0, "\"sendrecv\"", CS_ENOTSUP, "collective",
     "'sendrecv' is no collective: accepted are allreduce, allgather, reducescatter, alltoall, "
     "broadcast, reduce"},
    {"allgather-put", "\"allgather\",", 0, "3,", CS_EINVAL, "collective",
     "is a number: accepted is a text"},
    {"allgather-put", "\"inplace\": true", 0, "\"inplace\": 1", CS_EPARSE, "inplace",
     "the key 'inplace' must be true or false"},
    {"allgather-put", "\"id\": 1,", 0, "\"id\": 2,", CS_EPARSE, "gpus[0].threadblocks[1].id",
     "stands at place 1 of its list, which it must name"},
    {"allgather-put", "\"output_chunks\": 6", 0, "\"output_chunks\": 5", CS_EPARSE, "gpus[1]",
     "input_chunks and output_chunks are 2 and 6, and 2 and 5 of GPU 0"},
    {"allgather-put", "\"output_chunks\": 6", 1, "\"output_chunks\": 5", CS_EPARSE, "gpus[1]",
     "input_chunks and output_chunks are 2 and 5, and 2 and 6 of GPU 0"},
    {"allgather-put", "\"index\": 0, \"size\": 2}", 0, "\"index\": 5, \"size\": 2}", CS_EPARSE,
     "gpus[0].threadblocks[0].ops[3].src_buff[0]",
     "op 3 (put) of thread block 0 of GPU 0 uses 2 chunks from 5 on of a buffer of 6"},
    {"allgather-put", "\"index\": 0, \"size\": 2}", 0, "\"index\": 0, \"size\": 1}", CS_EPARSE,
     "gpus[0].threadblocks[0].ops[3]",
     "op 3 (put) of thread block 0 of GPU 0 has buffers of different sizes, 1 and 2"},
    {"allgather-put", "\"index\": 0, \"size\": 2}", 0, "\"index\": -1, \"size\": 2}", CS_EPARSE,
     "gpus[0].threadblocks[0].ops[3].src_buff[0].index", "accepted is an integer from 0 to 32768"},
    {"allgather-put", "\"index\": 0, \"size\": 2}", 0, "\"size\": 2}", CS_EPARSE,
     "gpus[0].threadblocks[0].ops[3].src_buff[0]", "the key 'index' is missing"},
    {"allgather-put", "\"buffer_id\": 0", 0, "\"buffer_id\": 1", CS_EPARSE,
     "gpus[0].threadblocks[0].ops[3].dst_buff[0]",
     "op 3 (put) of thread block 0 of GPU 0 uses buffer_id 1: the thread block has 1 buffers over "
     "that channel type"},
    {"allgather-put", "\"channel_ids\": [0]}", 0, "\"channel_ids\": [1]}", CS_EPARSE,
     "gpus[0].threadblocks[0].ops[0]",
     "op 0 (rlxsignal) of thread block 0 of GPU 0 uses channel 1: there are 1"},
    {"allgather-put", "\"channel_ids\": [0]}", 0, "\"channel_ids\": []}", CS_EPARSE,
     "gpus[0].threadblocks[0].ops[0]",
     "op 0 (rlxsignal) of thread block 0 of GPU 0 names no channel or semaphore"},
    {"allgather-put", "\"channel_ids\": [1]}]", 0, "\"channel_ids\": [2]}]", CS_EPARSE,
     "gpus[0].threadblocks[1].channels[0].channel_ids", "2 is not there: its GPU has 2 of them"},
    {"allgather-put", "\"connected_to\": [1, 2]", 0, "\"connected_to\": [0, 2]", CS_EPARSE,
     "gpus[0].channels[0].connected_to", "GPU 0 has itself as a peer"},
    {"allgather-put", "\"rank\": 1", 0, "\"rank\": 0", CS_EPARSE, "gpus[0].remote_buffers[0]",
     "GPU 0 has a buffer of itself as a peer's"},
    {"allgather-put", "\"type\": \"o\", \"access", 0, "\"type\": \"x\", \"access", CS_EPARSE,
     "gpus[0].remote_buffers[0].type", "'x' is not known: accepted are i, o, s"},
    {"allgather-put", "\"channel_type\": \"memory\", \"channel_ids\"", 0,
     "\"channel_type\": \"switch\", \"channel_ids\"", CS_ENOTSUP, "gpus[0].threadblocks[0].ops[0]",
     "op 0 (rlxsignal) of thread block 0 of GPU 0 uses a switch, which is not modelled"},
    {"allreduce-slices", "\"num_chunks\": 1", 0, "\"num_chunks\": 2", CS_ENOTSUP,
     "gpus[0].threadblocks[0].ops[0].ops[0]",
     "op 0.0 (copy) of thread block 0 of GPU 0 moves 1 chunks in a pipeline over 2, which is not "
     "modelled"},
    {"allreduce-slices", "{\"name\": \"nop\"}", 0, "{\"name\": \"pipeline\"}", CS_EPARSE,
     "gpus[0].threadblocks[0].ops[0].ops[1]",
     "op 0.1 (pipeline) of thread block 0 of GPU 0 stands in a pipeline"},
    {"allgather-group", "\"tb_id\": 1", 0, "\"tb_id\": 2", CS_EPARSE,
     "gpus[0].threadblocks[1].ops[3].tbg_info",
     "op 3 (put) of thread block 1 of GPU 0 is number 2 of a group of 2"},
    {"allreduce-packets", "\"dst_buff\": [{\"type\": \"i\", \"index\": 1", 0,
     "\"dst_buff\": [{\"type\": \"s\", \"index\": 1", CS_ENOTSUP, "gpus[0].threadblocks[2].ops[0]",
     "op 0 (upkt) of thread block 2 of GPU 0 uses the scratch buffer of GPU 0, in which are "
     "packets and plain data: not modelled"},
    {"allreduce-packets", "\"upkt\", \"src_buff\": [{\"type\": \"s\"", 0,
     "\"upkt\", \"src_buff\": [{\"type\": \"i\"", CS_EPARSE,
     "gpus[0].threadblocks[2].ops[0].src_buff[0]",
     "op 0 (upkt) of thread block 2 of GPU 0 uses 1 chunks from 4 on of a buffer of 3"},
    {"allreduce-barrier", "\"barrier_id\": 3, ", 0, "", CS_EPARSE, "gpus[0].threadblocks[0].ops[4]",
     "the key 'barrier_id' is missing"},
    {"allreduce-rres", "\"gpus\": [", 0, "\"gpus\": {\"a\": [", CS_EPARSE, "",
     "not JSON: '}' expected near end of file"},
};

Test(schedule_mscclpp, says_what_is_wrong)
{
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        const refusal *r       = &wrong[i];
        char          *text    = read_sample(r->sample);
        char          *changed = change(text, r->from, r->n, r->to);
        cs_error       err     = {0};
        cs_status      status  = status_of(changed, &err);
        cr_assert_eq(status, r->status, "%zu: %d: %s", i, status, err.message);
        cr_assert_str_eq(err.where, r->where, "%zu: %s: %s", i, err.where, err.message);
        cr_assert_str_eq(err.message, r->message, "%zu: %s", i, err.message);
        cr_assert_gt(err.input_line, 0, "%zu", i);
        free(changed);
        cs_free(text);
    }
}

/* Both wait for the other before they signal. */
Test(schedule_mscclpp, names_who_waits_in_a_circle)
{
    char    *text = read_sample("alltoall-twice");
    char    *one  = change(text, SIGNAL("0") ",\n          " WAIT("0"), 0,
                           WAIT("0") ",\n          " SIGNAL("0"));
    char    *two  = change(one, SIGNAL("0") ",\n          " WAIT("0") ",\n          " NOP, 0,
                           WAIT("0") ",\n          " SIGNAL("0") ",\n          " NOP);
    cs_error err  = {0};

    cr_assert_eq(status_of(one, &err), CS_OK, "one of them may: %s", err.message);
    cr_assert_eq(status_of(two, &err), CS_EWRONG);
    cr_assert_str_eq(err.message, "op 1 (wait) of thread block 0 of GPU 0 waits for ever for op 2 "
                                  "(signal) of thread block 0 of GPU 1, which in the end waits for "
                                  "it, too");
    cr_assert_str_eq(err.where, "gpus[0].threadblocks[0].ops[1]");
    free(one);
    free(two);
    cs_free(text);
}

/* What is left over would be there when the next call begins. */
Test(schedule_mscclpp, counts_signals_and_semaphores)
{
    static const refusal cases[] = {
        {"alltoall-twice", WAIT("0") ",\n          " WAIT("0"), 0, WAIT("0"), CS_EWRONG,
         "gpus[1].threadblocks[0].ops[7]",
         "memory channel 0 of GPU 0 from GPU 1 is signalled 3 times and waited for 2 times: the "
         "next call would begin with the difference"},
        {"reduce-ports", "[{\"init_value\": 0}]", 0, "[{\"init_value\": 0}, {\"init_value\": 2}]",
         CS_OK, "", ""},
        {"allreduce-slices", ",\n          " NOP, 0,
         ",\n          {\"name\": \"sem_acquire\", \"semaphore_ids\": [0]}", CS_EWRONG,
         "gpus[0].threadblocks[1].ops[1]",
         "op 1 (sem_acquire) of thread block 1 of GPU 0 waits for ever: it is wait 3 at semaphore "
         "0, which is signalled 2 times"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const refusal *r       = &cases[i];
        char          *text    = read_sample(r->sample);
        char          *changed = change(text, r->from, r->n, r->to);
        cs_error       err     = {0};
        cr_assert_eq(status_of(changed, &err), r->status, "%zu: %s", i, err.message);
        cr_assert_str_eq(err.where, r->where, "%zu: %s: %s", i, err.where, err.message);
        cr_assert_str_eq(err.message, r->message, "%zu: %s", i, err.message);
        free(changed);
        cs_free(text);
    }
}

/* Keys that are passed over, and keys that need not be there. */
Test(schedule_mscclpp, is_tolerant)
{
    static const char *const changes[][3] = {
        {"allgather-put", "\"protocol\": \"Simple\",", "\"protocol\": 7, \"x\": {\"ops\": [1]},"},
        {"allgather-put", "\"name\": \"allgather-put\", ", ""},
        {"allgather-put", "\"id\": 1,", ""},
        {"allgather-put", ",\n      \"semaphores\": []", ""},
        {"allgather-put", ", \"scratch_chunks\": 0", ""},
        {"allreduce-rres", "\"output_chunks\": 3", "\"output_chunks\": 3, \"y\": null"},
        {"reduce-ports", "\"collective\": \"reduce\"", "\"collective\": \"reduce\", \"root\": 1"},
        {"reducescatter-packets", "\"reducescatter\"", "\"reduce_scatter\""},
    };

    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        char    *text    = read_sample(changes[i][0]);
        char    *changed = change(text, changes[i][1], 0, changes[i][2]);
        cs_error err     = {0};
        cr_assert_eq(status_of(changed, &err), CS_OK, "%zu: %s: %s", i, err.where, err.message);
        free(changed);
        cs_free(text);
    }
}

/* recpkt keeps what repkt has summed as packets, too, which upkt can take. */
Test(schedule_mscclpp, sums_are_kept_as_packets)
{
    char *text = read_sample("reducescatter-packets");
    char *more = change(text, "\"scratch_chunks\": 2", 0, "\"scratch_chunks\": 4");
    char *sum  = change(more, "\"repkt\"", 0, "\"recpkt\"");
    char *kept = change(
        sum, "\"dst_buff\": [{\"type\": \"i\", \"index\": 0, \"size\": 2}], \"reduce_op\"", 0,
        "\"dst_buff\": [{\"type\": \"i\", \"index\": 0, \"size\": 2}, {\"type\": "
        "\"s\", \"index\": 2, \"size\": 2}], \"reduce_op\"");
    char    *back  = change(kept, "\"reduce_op\": \"sum\"}", 0,
                            "\"reduce_op\": \"sum\"}, {\"name\": \"nop\"}, {\"name\": \"upkt\", "
                                "\"src_buff\": [{\"type\": \"s\", \"index\": 2, \"size\": 2}], "
                                "\"dst_buff\": [{\"type\": \"o\", \"index\": 0, \"size\": 2}]}");
    char    *early = change(back, "{\"name\": \"nop\"}, ", 0, "");
    cs_error err   = {0};

    cr_assert_eq(status_of(back, &err), CS_OK, "%s", err.message);
    cr_assert_eq(status_of(early, &err), CS_EWRONG);
    cr_assert_str_eq(err.message, "op 2 (upkt) of thread block 0 of GPU 0 writes chunk 0 of the "
                                  "in-place buffer of GPU 0, which op 1 (recpkt) of thread block 0 "
                                  "of GPU 0 writes, and no nop stands between them");
    free(early);
    free(back);
    free(kept);
    free(sum);
    free(more);
    cs_free(text);
}

Test(schedule_mscclpp, survives_every_failed_allocation)
{
    static const char *const names[] = {"reduce-ports", "allreduce-packets", "allreduce-slices",
                                        "allreduce-barrier"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char     *text   = read_sample(names[i]);
        cs_status status = CS_ENOMEM;
        for (long passes = 0; status != CS_OK; passes++) {
            cs_stored *stored = NULL;
            cs_error   err    = {0};
            cr_assert_lt(passes, 20000);
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

static ct_scene *scene_of(const char *algorithm, cs_collective collective, uint32_t n, uint32_t g)
{
    static ct_scene scene;
    cs_error        err = {0};

    ct_scene_set(&scene, algorithm, collective, n, 4096 * n);
    scene.scenario.cluster.gpus_per_server = g;
    cr_assert_eq(ct_scene_check(&scene, &err), CS_OK, "%s", err.message);
    return &scene;
}

Test(schedule_mscclpp, writing_survives_every_failed_allocation)
{
    const cs_job job    = ct_scene_job(scene_of("rhd", CS_ALLREDUCE, 4, 2), NULL);
    cs_status    status = CS_ENOMEM;

    for (long passes = 0; status != CS_OK; passes++) {
        cs_text  text = {0};
        cs_error err  = {0};
        cr_assert_lt(passes, 20000);
        cs_alloc_fail_after(passes);
        status = cs_export_schedule(&job, CS_EXPORT_MSCCLPP, &text, &err);
        cs_alloc_fail_after(-1);
        cr_assert(status == CS_OK || (status == CS_ENOMEM && err.status == CS_ENOMEM), "%s",
                  err.message);
        cs_text_free(&text);
    }
}

/* GPUs of a server use memory channels, others ports; thread blocks hand over by semaphores, then
 * by barriers, up to what an executor holds. */
Test(schedule_mscclpp, writes_what_an_executor_takes)
{
    static const struct {
        const char   *algorithm;
        cs_collective collective;
        uint32_t      n, g;
        const char   *has[3], *has_not;
    } cases[] = {
        {"ring", CS_ALLREDUCE, 2, 1, {"\"pwsf\"", "\"port\"", "\"re\""}, "memory"},
        {"ring", CS_ALLREDUCE, 2, 2, {"\"put\"", "\"memory\"", "\"nop\""}, "port"},
        {"ring", CS_ALLGATHER, 4, 2, {"\"port\"", "\"memory\"", "\"type\": \"o\""}, "\"re\""},
        {"tree", CS_BROADCAST, 4, 4, {"\"root\": 0", "\"put\"", "\"wait\""}, "\"re\""},
        {"ring", CS_ALLREDUCE, 16, 1, {"sem_release", "sem_acquire", "\"init_value\""}, "barrier"},
        {"ring", CS_ALLREDUCE, 80, 1, {"sem_release", "\"barrier_id\": 0", ""}, "memory"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const cs_job job = ct_scene_job(
            scene_of(cases[i].algorithm, cases[i].collective, cases[i].n, cases[i].g), NULL);
        cs_text  text = {0};
        cs_error err  = {0};
        cr_assert_eq(cs_export_schedule(&job, CS_EXPORT_MSCCLPP, &text, &err), CS_OK, "%s",
                     err.message);
        for (size_t k = 0; k < 3; k++) {
            cr_assert_not_null(strstr(text.data, cases[i].has[k]), "%zu: %s", i, cases[i].has[k]);
        }
        cr_assert_null(strstr(text.data, cases[i].has_not), "%zu: %s", i, cases[i].has_not);
        cs_text_free(&text);
    }
}

Test(schedule_mscclpp, refuses_what_no_executor_takes)
{
    static const struct {
        const char   *algorithm;
        cs_collective collective;
        uint32_t      n;
        const char   *message;
    } cases[] = {
        {"pairwise", CS_ALLTOALL, 4,
         "mscclpp: alltoall is not exported, as it does not work in place"},
        {"ring", CS_ALLREDUCE, 160,
         "mscclpp: gpu 1 needs more than the 33 thread blocks of 64 operations that its semaphores "
         "and barriers can put in a row"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const cs_job job =
            ct_scene_job(scene_of(cases[i].algorithm, cases[i].collective, cases[i].n, 1), NULL);
        cs_text  text = {0};
        cs_error err  = {0};
        cr_assert_eq(cs_export_schedule(&job, CS_EXPORT_MSCCLPP, &text, &err), CS_ENOTSUP);
        cr_assert_str_eq(err.message, cases[i].message, "%s", err.message);
        cs_text_free(&text);
    }
}
