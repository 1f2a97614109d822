/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Exports: what is written, that JSON comes back as the same schedule, and that the MSCCL and
 * GOAL texts do their job when somebody else runs them in any order that they allow. */
#include "base/alloc.h"
#include "config/config.h"
#include "config/schedule_json.h"
#include "cs/replay.h"
#include "results/export.h"

#include "cs/result.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A checked case and its plan. */
typedef struct job {
    cs_config *config;
    cs_case    c;
    cs_plan    plan;
} job;

static job open_job(const char *algorithm, const char *collective, unsigned ranks,
                    const char *bytes)
{
    job      j   = {0};
    cs_error err = {0};
    char     number[16];

    snprintf(number, sizeof number, "%u", ranks);
    cr_assert_eq(cs_config_new(&j.config, &err), CS_OK);
    cr_assert_eq(cs_config_set(j.config, "algorithm", algorithm, "-a", &err), CS_OK);
    cr_assert_eq(cs_config_set(j.config, "collective", collective, "-c", &err), CS_OK);
    cr_assert_eq(cs_config_set(j.config, "cluster.ranks", number, "-n", &err), CS_OK);
    cr_assert_eq(cs_config_set(j.config, "bytes", bytes, "-s", &err), CS_OK);
    cr_assert_eq(cs_config_set(j.config, "arrivals.late[]", "{\"rank\": 1, \"delay\": \"3us\"}",
                               "--late", &err),
                 CS_OK);
    cr_assert_eq(cs_config_case(j.config, 0, &j.c, &err), CS_OK, "%s", err.message);
    cr_assert_eq(j.c.algorithm->check(&j.c.scenario, &j.c.options, &j.plan, &err), CS_OK, "%s",
                 err.message);
    return j;
}

static void close_job(job *j)
{
    cs_case_free(&j->c);
    cs_config_free(j->config);
}

static cs_text export_job(const job *j, cs_export_format format)
{
    cs_text  text = {0};
    cs_error err  = {0};

    cr_assert_eq(cs_export_schedule(&j->c.scenario, j->c.algorithm, &j->c.options, &j->plan, format,
                                    &text, &err),
                 CS_OK, "%s", err.message);
    return text;
}

Test(export, text_of_a_small_ring)
{
    job     j    = open_job("ring", "reducescatter", 2, "5");
    cs_text text = export_job(&j, CS_EXPORT_TEXT);

    cr_assert_str_eq(text.data, "# ring reducescatter: 2 ranks, 5 bytes in 2 chunks, 1 rounds, 2 "
                                "messages\n"
                                "round 0\n"
                                "  0 -> 1  chunk 1  2 bytes  reduce  nic\n"
                                "  1 -> 0  chunk 0  3 bytes  reduce  nic\n");
    cs_text_free(&text);
    text = export_job(&j, CS_EXPORT_JSON);
    cr_assert_str_eq(text.data,
                     "{\"format\": \"collsim-schedule\", \"version\": 1, \"collective\": "
                     "\"reducescatter\", \"algorithm\": \"ring\",\n"
                     " \"ranks\": 2, \"chunks\": 2, \"bytes\": 5,\n"
                     " \"transfers\": [\n"
                     "{\"round\": 0, \"src\": 0, \"dst\": 1, \"chunk\": 1, \"op\": \"reduce\"},\n"
                     "{\"round\": 0, \"src\": 1, \"dst\": 0, \"chunk\": 0, \"op\": \"reduce\"}\n"
                     "]}\n");
    cs_text_free(&text);
    close_job(&j);
}

static cs_outcome replay(const job *j, const cs_algorithm *algorithm, const void *options,
                         const cs_plan *plan)
{
    cs_outcome        outcome = {0};
    cs_error          err     = {0};
    cs_replay_request request = {.scenario      = &j->c.scenario,
                                 .algorithm     = algorithm,
                                 .options       = options,
                                 .plan          = plan,
                                 .model         = j->c.model,
                                 .model_options = &j->c.model_options,
                                 .verify        = true};

    cr_assert_eq(cs_replay(&request, &outcome, &err), CS_OK, "%s", err.message);
    return outcome;
}

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

Test(export, json_comes_back_the_same)
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
Test(export, slots_are_kept_where_they_are_needed)
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

/* Everything else that a transfer may say comes back, too. */
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
Test(export, joined_messages_come_back)
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
    cs_options_default(optcc->options, &options);
    cr_assert_eq(cs_options_set(optcc->options, &options, "rounds", "8", "", &err), CS_OK);
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

Test(export, barriers_groups_and_fabrics_come_back)
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

/* An interpreter of MSCCL's XML that knows nothing of this project: thread blocks take turns in
 * random order; a step waits for its dependency, a receive for its message. */
enum { GPUS = 16, BLOCKS = 40, STEPS = 200, CHUNKS = 64, QUEUE = 200 };

typedef struct step {
    char     type[4], buffer[2];
    unsigned offset, count;
    int      depid, deps, hasdep;
} step;

typedef struct tb {
    int    send, recv;
    size_t n_steps, next;
    step   steps[STEPS];
} tb;

typedef struct machine {
    unsigned n_gpus;
    size_t   n_tbs[GPUS];
    tb       tbs[GPUS][BLOCKS];
    uint64_t data[GPUS][CHUNKS]; /* which contributions, 4 bits of count for each */
    uint64_t queue[GPUS][GPUS][QUEUE][CHUNKS];
    size_t   sent[GPUS][GPUS], received[GPUS][GPUS];
} machine;

static void read_xml(machine *m, char *xml)
{
    unsigned gpu = 0, id;

    for (char *line = strtok(xml, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        tb  *block;
        int  send, recv;
        step s = {0};
        line += strspn(line, " ");
        if (sscanf(line, "<gpu id=\"%u\"", &id) == 1) {
            gpu       = id;
            m->n_gpus = id + 1;
        } else if (sscanf(line, "<tb id=\"%u\" send=\"%d\" recv=\"%d\" chan=\"0\"", &id, &send,
                          &recv) == 3) {
            cr_assert(send == -1 || recv == -1);
            cr_assert_eq(id, m->n_tbs[gpu]);
            block       = &m->tbs[gpu][m->n_tbs[gpu]++];
            block->send = send;
            block->recv = recv;
            for (size_t i = 0; i < id; i++) {
                cr_assert(send == -1 || m->tbs[gpu][i].send != send, "two send to %d", send);
                cr_assert(recv == -1 || m->tbs[gpu][i].recv != recv, "two receive from %d", recv);
            }
        } else if (sscanf(line,
                          "<step s=\"%u\" type=\"%3[a-z]\" srcbuf=\"%1[io]\" srcoff=\"%u\" "
                          "dstbuf=\"%*1[io]\" dstoff=\"%*u\" cnt=\"%u\" depid=\"%d\" deps=\"%d\" "
                          "hasdep=\"%d\"/>",
                          &id, s.type, s.buffer, &s.offset, &s.count, &s.depid, &s.deps,
                          &s.hasdep) == 8) {
            block = &m->tbs[gpu][m->n_tbs[gpu] - 1];
            cr_assert_eq(id, block->n_steps, "steps are numbered without gaps");
            block->steps[block->n_steps++] = s;
        }
    }
}

/* One step if it can be taken. */
static bool take_step(machine *m, unsigned g, size_t t)
{
    tb   *block = &m->tbs[g][t];
    step *s     = &block->steps[block->next];

    if (block->next == block->n_steps) {
        return false;
    }
    if (s->depid >= 0) {
        cr_assert(m->tbs[g][s->depid].steps[s->deps].hasdep, "hasdep is missing");
        if (m->tbs[g][s->depid].next <= (size_t)s->deps) {
            return false;
        }
    }
    uint64_t *data = &m->data[g][s->offset];
    if (strcmp(s->type, "s") == 0) {
        size_t at = m->sent[g][block->send]++;
        memcpy(m->queue[g][block->send][at], data, s->count * sizeof *data);
    } else if (s->type[0] == 'r') {
        if (m->received[block->recv][g] == m->sent[block->recv][g]) {
            return false;
        }
        uint64_t *from = m->queue[block->recv][g][m->received[block->recv][g]++];
        for (unsigned k = 0; k < s->count; k++) {
            data[k] = from[k] + (strcmp(s->type, "rrc") == 0 ? data[k] : 0);
        }
    } else {
        cr_assert_str_eq(s->type, "nop");
    }
    block->next++;
    return true;
}

static void run_machine(machine *m, unsigned seed)
{
    size_t left = 0;

    for (unsigned g = 0; g < m->n_gpus; g++) {
        for (size_t t = 0; t < m->n_tbs[g]; t++) {
            left += m->tbs[g][t].n_steps;
        }
    }
    for (size_t idle = 0; left > 0 && idle < 200000; idle++) {
        seed       = seed * 1103515245u + 12345u;
        unsigned g = (seed >> 8) % m->n_gpus;
        if (m->n_tbs[g] > 0 && take_step(m, g, (seed >> 16) % m->n_tbs[g])) {
            left--;
            idle = 0;
        }
    }
    cr_assert_eq(left, 0, "%zu steps wait for ever", left);
}

static void check_msccl(const char *algorithm, const char *collective, unsigned ranks,
                        unsigned seed)
{
    job      j    = open_job(algorithm, collective, ranks, "1M");
    cs_text  text = export_job(&j, CS_EXPORT_MSCCL);
    machine *m    = calloc(1, sizeof *m);
    uint64_t all  = 0;

    cr_assert_leq(j.plan.n_chunks, CHUNKS);
    read_xml(m, text.data);
    cr_assert_eq(m->n_gpus, ranks);
    for (unsigned g = 0; g < ranks; g++) {
        all += (uint64_t)1 << 4 * g;
        for (unsigned c = 0; c < j.plan.n_chunks; c++) {
            m->data[g][c] = (uint64_t)1 << 4 * g;
        }
    }
    run_machine(m, seed);
    for (unsigned g = 0; g < ranks; g++) {
        for (unsigned c = 0; c < j.plan.n_chunks; c++) {
            unsigned owner    = c / (j.plan.n_chunks >= ranks ? j.plan.n_chunks / ranks : 1);
            bool     gathers  = strcmp(collective, "allgather") == 0;
            bool     scatters = strcmp(collective, "reducescatter") == 0;
            uint64_t want     = gathers ? (uint64_t)1 << 4 * owner : all;
            cr_assert(m->data[g][c] == want || (scatters && owner != g),
                      "%s %s of %u: chunk %u of gpu %u is %llx", algorithm, collective, ranks, c, g,
                      (unsigned long long)m->data[g][c]);
        }
    }
    free(m);
    cs_text_free(&text);
    close_job(&j);
}

Test(export, msccl_is_correct_in_any_order)
{
    for (unsigned seed = 1; seed <= 5; seed++) {
        check_msccl("ring", "allreduce", 5, seed);
        check_msccl("ring", "allgather", 6, seed);
        check_msccl("ring", "reducescatter", 7, seed);
        check_msccl("rhd", "allreduce", 8, seed);
        check_msccl("rhd", "allreduce", 11, seed);
        check_msccl("circulant", "allreduce", 11, seed);
        check_msccl("merged_rhd", "allreduce", 12, seed);
        check_msccl("allpairs", "allreduce", 9, seed);
        check_msccl("stragglar", "allreduce", 8, seed);
        check_msccl("broadcast", "allreduce", 8, seed);
    }
}

/* GOAL: every label once, every `requires` points backwards, and every message has both ends. */
Test(export, goal_is_consistent)
{
    job                j    = open_job("stragglar", "allreduce", 8, "7M");
    cs_text            text = export_job(&j, CS_EXPORT_GOAL);
    unsigned           rank = 0, n_ranks = 0, label = 0, other, peer, tag;
    size_t             n_send = 0, n_recv = 0, n_needs = 0;
    long               sends[1000] = {0};
    unsigned long long bytes;

    for (char *line = strtok(text.data, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        if (sscanf(line, "num_ranks %u", &n_ranks) == 1) {
            cr_assert_eq(n_ranks, 8);
        } else if (sscanf(line, "rank %u {", &rank) == 1) {
            label = 0;
        } else if (sscanf(line, "l%u: send %llub to %u tag %u", &other, &bytes, &peer, &tag) == 4) {
            cr_assert_eq(other, ++label);
            sends[tag] += (long)(rank * 100 + peer + bytes * 10000);
            n_send++;
        } else if (sscanf(line, "l%u: recv %llub from %u tag %u", &other, &bytes, &peer, &tag) ==
                   4) {
            cr_assert_eq(other, ++label);
            sends[tag] -= (long)(peer * 100 + rank + bytes * 10000);
            n_recv++;
        } else if (sscanf(line, "l%u requires l%u", &other, &tag) == 2 ||
                   sscanf(line, "l%u irequires l%u", &other, &tag) == 2) {
            cr_assert(other == label && tag < label && tag >= 1, "%s", line);
            n_needs++;
        } else {
            cr_assert(strcmp(line, "}") == 0 || line[0] == 'b' || strchr(line, 'b') != NULL, "%s",
                      line);
        }
    }
    for (size_t i = 0; i < sizeof sends / sizeof sends[0]; i++) {
        cr_assert_eq(sends[i], 0, "message %zu has ends that differ", i);
    }
    cs_outcome outcome = replay(&j, j.c.algorithm, &j.c.options, &j.plan);
    cr_assert_eq(n_send, outcome.n_transfers);
    cr_assert_eq(n_recv, outcome.n_transfers);
    cr_assert_gt(n_needs, n_send);
    cs_text_free(&text);
    close_job(&j);
}

Test(export, formats_have_names)
{
    cs_export_format format;
    cs_error         err = {0};

    cr_assert_eq(cs_export_find("goal", &format, &err), CS_OK);
    cr_assert_eq(format, CS_EXPORT_GOAL);
    cr_assert_eq(cs_export_find("xml", &format, &err), CS_EINVAL);
}

Test(export, refuses_what_is_too_long)
{
    job      j    = open_job("ring", "allreduce", 2048, "1G");
    cs_text  text = {0};
    cs_error err  = {0};

    cr_assert_eq(cs_export_schedule(&j.c.scenario, j.c.algorithm, &j.c.options, &j.plan,
                                    CS_EXPORT_TEXT, &text, &err),
                 CS_ENOTSUP);
    cr_assert_eq(text.length, 0);
    close_job(&j);
}

Test(export, survives_every_failed_allocation)
{
    job j = open_job("rhd", "allreduce", 4, "1M");

    for (int f = 0; f < CS_EXPORT_COUNT; f++) {
        cs_status status = CS_ENOMEM;
        for (long passes = 0; status != CS_OK; passes++) {
            cs_text  text = {0};
            cs_error err  = {0};
            cr_assert_lt(passes, 1000);
            cs_alloc_fail_after(passes);
            status = cs_export_schedule(&j.c.scenario, j.c.algorithm, &j.c.options, &j.plan,
                                        (cs_export_format)f, &text, &err);
            cs_alloc_fail_after(-1);
            cr_assert(status == CS_OK || status == CS_ENOMEM);
            cs_text_free(&text);
        }
    }
    close_job(&j);
}
