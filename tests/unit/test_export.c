/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Exports: what is written as text, JSON and GOAL, what is refused, memory that runs out. JSON
 * comes back as the same schedule: transfers, slots, messages of several parts, barriers, groups
 * and fabrics. MSCCL's XML does its job when somebody else runs it in any order that it allows, and
 * keeps the limits of the runtime. */
#include "algorithms/stored.h"
#include "base/alloc.h"
#include "cs/job.h"
#include "cs/result.h"
#include "schedules/export.h"
#include "schedules/schedule_json.h"
#include "support/config.h"
#include "support/msccl.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* A case whose job is resolved. */
typedef struct sample {
    cs_config *config;
    cs_case    c;
} sample;

static sample open_sample(const char *algorithm, const char *collective, unsigned ranks,
                          const char *bytes)
{
    sample   j   = {0};
    cs_error err = {0};
    char     number[16];

    (void)snprintf(number, sizeof number, "%u", ranks);
    cr_assert_eq(cs_config_new(&j.config, &err), CS_OK);
    ct_set(j.config, "algorithm", algorithm);
    ct_set(j.config, "collective", collective);
    ct_set(j.config, "cluster.ranks", number);
    ct_set(j.config, "bytes", bytes);
    ct_set(j.config, "arrivals.late[]", "{\"rank\": 1, \"delay\": \"3us\"}");
    j.c = ct_case(j.config, 0);
    cr_assert_eq(cs_job_resolve(&j.c.job, &err), CS_OK, "%s", err.message);
    return j;
}

static void close_sample(sample *j)
{
    cs_job_release(&j->c.job);
    cs_case_free(&j->c);
    cs_config_free(j->config);
}

static cs_text export_sample(const sample *j, cs_export_format format)
{
    cs_text  text = {0};
    cs_error err  = {0};

    cr_assert_eq(cs_export_schedule(&j->c.job, format, &text, &err), CS_OK, "%s", err.message);
    return text;
}

/* A job that runs this schedule, resolved. */
static cs_job stored_job(const cs_job *instead_of, const cs_stored *stored)
{
    const cs_stored_options options = {stored};
    cs_job                  job     = *instead_of;
    cs_error                err     = {0};

    job.is_resolved = false;
    cs_job_set_algorithm(&job, &cs_algorithm_stored, &options);
    cr_assert_eq(cs_job_resolve(&job, &err), CS_OK, "%s", err.message);
    return job;
}

static cs_outcome replay(const cs_job *given)
{
    cs_outcome outcome = {0};
    cs_error   err     = {0};
    cs_job     job     = *given;

    job.verify = true;
    cr_assert_eq(cs_job_replay(&job, NULL, 0, &outcome, &err), CS_OK, "%s", err.message);
    return outcome;
}

/* ---- all formats ---- */

Test(export, text_of_a_small_ring)
{
    sample  j    = open_sample("ring", "reducescatter", 2, "5");
    cs_text text = export_sample(&j, CS_EXPORT_TEXT);

    cr_assert_str_eq(text.data, "# ring reducescatter: 2 ranks, 5 bytes in 2 chunks, 1 rounds, 2 "
                                "messages\n"
                                "round 0\n"
                                "  0 -> 1  chunk 1  2 bytes  reduce  nic\n"
                                "  1 -> 0  chunk 0  3 bytes  reduce  nic\n");
    cs_text_free(&text);
    text = export_sample(&j, CS_EXPORT_JSON);
    cr_assert_str_eq(text.data,
                     "{\"format\": \"collsim-schedule\", \"version\": 1, \"collective\": "
                     "\"reducescatter\", \"algorithm\": \"ring\",\n"
                     " \"ranks\": 2, \"chunks\": 2, \"bytes\": 5,\n"
                     " \"transfers\": [\n"
                     "{\"round\": 0, \"src\": 0, \"dst\": 1, \"chunk\": 1, \"op\": \"reduce\"},\n"
                     "{\"round\": 0, \"src\": 1, \"dst\": 0, \"chunk\": 0, \"op\": \"reduce\"}\n"
                     "]}\n");
    cs_text_free(&text);
    close_sample(&j);
}

Test(export, formats_have_names)
{
    cs_export_format format  = CS_EXPORT_COUNT;
    cs_error         err     = {0};
    const cs_field   table[] = {
          {.name = "format", .type = CS_FIELD_CHOICE, .choices = CS_EXPORT_CHOICES}, {.name = NULL}};

    cr_assert_eq(cs_field_set(table, &format, "format", "goal", "", &err), CS_OK);
    cr_assert_eq(format, CS_EXPORT_GOAL);
    cr_assert_eq(cs_field_set(table, &format, "format", "xml", "", &err), CS_EINVAL);
    cr_assert_not_null(strstr(err.message, "text, json, msccl, mscclpp, goal, svg"), "%s",
                       err.message);
}

Test(export, refuses_what_is_too_long)
{
    sample   j    = open_sample("ring", "allreduce", 2048, "1G");
    cs_text  text = {0};
    cs_error err  = {0};

    cr_assert_eq(cs_export_schedule(&j.c.job, CS_EXPORT_TEXT, &text, &err), CS_ENOTSUP);
    cr_assert_eq(text.length, 0);
    close_sample(&j);
}

Test(export, survives_every_failed_allocation)
{
    sample j = open_sample("rhd", "allreduce", 4, "1M");

    for (int f = 0; f < CS_EXPORT_COUNT; f++) {
        cs_status status = CS_ENOMEM;
        for (long passes = 0; status != CS_OK; passes++) {
            cs_text  text = {0};
            cs_error err  = {0};
            cr_assert_lt(passes, 1000);
            cs_alloc_fail_after(passes);
            status = cs_export_schedule(&j.c.job, (cs_export_format)f, &text, &err);
            cs_alloc_fail_after(-1);
            cr_assert(status == CS_OK || status == CS_ENOMEM);
            cs_text_free(&text);
        }
    }
    close_sample(&j);
}

/* ---- JSON ---- */

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
    cs_capacity         fault  = {0, 3, 0, (double)INFINITY, false};
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

/* ---- MSCCL ---- */

/* Chunk by chunk, as with large ones: the two that a connection holds must do. */
static void check_msccl(const char *algorithm, const char *collective, unsigned ranks,
                        unsigned seed)
{
    sample              j       = open_sample(algorithm, collective, ranks, "1M");
    cs_text             text    = export_sample(&j, CS_EXPORT_MSCCL);
    ct_msccl           *program = ct_msccl_read(text.data);
    const ct_msccl_call call    = {.seed = seed, .in_place = true, .is_chunkwise = true};

    cr_assert_not_null(program);
    cr_assert_eq(ct_msccl_gpus(program), ranks);
    cr_assert_eq(ct_msccl_run(program, &call), CT_MSCCL_RIGHT, "%s %s of %u, seed %u", algorithm,
                 collective, ranks, seed);
    ct_msccl_free(program);
    cs_text_free(&text);
    close_sample(&j);
}

Test(export_msccl, msccl_is_correct_in_any_order)
{
    for (unsigned seed = 1; seed <= 5; seed++) {
        check_msccl("ring", "allreduce", 5, seed);
        check_msccl("ring", "allgather", 6, seed);
        check_msccl("ring", "reducescatter", 7, seed);
        check_msccl("rhd", "allreduce", 8, seed);
        check_msccl("rhd", "allreduce", 11, seed);
        check_msccl("circulant", "allreduce", 11, seed);
        check_msccl("merged_rhd", "allreduce", 12, seed);
        check_msccl("merged_rhd", "allreduce", 16, seed);
        check_msccl("allpairs", "allreduce", 9, seed);
        check_msccl("stragglar", "allreduce", 8, seed);
        check_msccl("broadcast", "allreduce", 8, seed);
    }
}

/* The limits of microsoft/msccl. */
typedef struct limits {
    unsigned gpu, n_gpus, n_channels, n_chunks;
    size_t   n_blocks, n_steps, n_elements; /* of the thread block, of the GPU, of the GPU */
    unsigned peers[2][32];                  /* of the GPU's channels */
} limits;

static void check_gpu(const limits *l)
{
    cr_assert_lt(l->n_elements, 4096, "gpu %u has %zu elements", l->gpu, l->n_elements);
    cr_assert_leq(l->n_blocks, 216);
    for (unsigned c = 0; c < 32; c++) {
        cr_assert(l->peers[0][c] <= 32 && l->peers[1][c] <= 32, "gpu %u, channel %u", l->gpu, c);
    }
}

static void check_step(limits *l, const char *line)
{
    char     type[4];
    unsigned s, from, to, count;
    int      depid, deps, hasdep;

    cr_assert_eq(sscanf(line,
                        "<step s=\"%u\" type=\"%3[a-z]\" srcbuf=\"%*1[io]\" srcoff=\"%u\" "
                        "dstbuf=\"%*1[io]\" dstoff=\"%u\" cnt=\"%u\" depid=\"%d\" deps=\"%d\" "
                        "hasdep=\"%d\"/>",
                        &s, type, &from, &to, &count, &depid, &deps, &hasdep),
                 8, "%s", line);
    cr_assert(s < 256 && s == l->n_steps, "step %u", s);
    cr_assert_lt(count, 72);
    cr_assert(strcmp(type, "nop") == 0 || (count > 0 && to + count <= l->n_chunks));
    cr_assert(depid < 128 && from < 32768);
    l->n_steps++;
}

static void check_line(limits *l, const char *line)
{
    unsigned id, channel;
    int      send, recv;

    line += strspn(line, " ");
    l->n_elements += line[0] == '<' && line[1] != '/';
    if (strncmp(line, "<gpu", 4) == 0) {
        check_gpu(l);
        cr_assert_eq(sscanf(line, "<gpu id=\"%u\"", &l->gpu), 1);
        l->n_elements = 1 + l->n_gpus;
        l->n_blocks   = 0;
        memset(l->peers, 0, sizeof l->peers);
    } else if (strncmp(line, "<tb", 3) == 0) {
        cr_assert_eq(sscanf(line, "<tb id=\"%u\" send=\"%d\" recv=\"%d\" chan=\"%u\"", &id, &send,
                            &recv, &channel),
                     4);
        cr_assert(id == l->n_blocks && channel < l->n_channels && channel < 32);
        l->peers[send >= 0][channel]++;
        l->n_blocks++;
        l->n_steps = 0;
    } else if (strncmp(line, "<step", 5) == 0) {
        check_step(l, line);
    }
}

/* Which of two texts stands in the export? Its limits hold. */
static void check_limits(const char *algorithm, const char *collective, unsigned ranks,
                         const char *head)
{
    sample  j     = open_sample(algorithm, collective, ranks, "1M");
    cs_text text  = export_sample(&j, CS_EXPORT_MSCCL);
    limits  l     = {.n_gpus = ranks, .n_chunks = j.c.job.plan.n_chunks};
    char   *first = strstr(text.data, "nchannels=\"");

    cr_assert_not_null(strstr(text.data, head), "%s", head);
    cr_assert_eq(sscanf(first, "nchannels=\"%u\"", &l.n_channels), 1);
    for (char *line = strtok(text.data, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        check_line(&l, line);
    }
    check_gpu(&l);
    cs_text_free(&text);
    close_sample(&j);
}

Test(export_msccl, keeps_the_limits_of_the_runtime)
{
    check_limits("ring", "reducescatter", 4, "coll=\"reduce_scatter\"");
    check_limits("ring", "allreduce", 4, "maxBytes=\"9223372036854775807\"");
    check_limits("ring", "allreduce", 128, "nchannels=\"1\""); /* 254 sends */
    check_limits("ring", "allreduce", 130, "nchannels=\"2\""); /* 258 */
    check_limits("ring", "allgather", 300, "nchannels=\"2\"");
    check_limits("allpairs", "allreduce", 33, "nchannels=\"1\""); /* 32 peers */
    check_limits("allpairs", "allreduce", 64, "nchannels=\"");
    check_limits("rhd", "allreduce", 256, "cnt=\"71\"");
    check_limits("merged_rhd", "allreduce", 64, "nchannels=\"");
    check_limits("circulant", "allreduce", 200, "nchannels=\"");
}

static void check_refused(const char *algorithm, unsigned ranks, const char *chunks,
                          const char *why)
{
    sample   j    = open_sample(algorithm, "allreduce", ranks, "1M");
    cs_text  text = {0};
    cs_error err  = {0};

    if (chunks != NULL) {
        cr_assert_eq(
            cs_field_set(j.c.job.algorithm->options, &j.c.job.options, "chunks", chunks, "", &err),
            CS_OK);
        cs_job_release(&j.c.job);
        cr_assert_eq(cs_job_resolve(&j.c.job, &err), CS_OK);
    }
    cr_assert_eq(cs_export_schedule(&j.c.job, CS_EXPORT_MSCCL, &text, &err), CS_ENOTSUP);
    cr_assert_str_eq(err.message, why);
    cr_assert_eq(text.length, 0);
    close_sample(&j);
}

Test(export_msccl, refuses_what_the_runtime_cannot_load)
{
    check_refused("allpairs", 66, NULL,
                  "msccl: gpu 0 waits for its thread block 129: accepted are waits for the first "
                  "128");
    check_refused("circulant", 1200, NULL,
                  "msccl: 1200 ranks and 1200 chunks are too many: accepted are 1023 and 32768");
    check_refused("ring", 900, NULL,
                  "msccl: the file needs 3237301 elements: written, and read, are 2^20");
    check_refused("double_binary_tree", 8, "600",
                  "msccl: gpu 1 needs 4809 elements (steps, thread blocks, all GPUs): the runtime "
                  "reads 4095");
}
