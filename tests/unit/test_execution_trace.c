/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Execution traces: all three forms say the same, ranks and groups are found, what contradicts
 * itself is refused where it does. */
#include "base/alloc.h"
#include "support/chakra.h"
#include "support/folder.h"
#include "support/program.h"
#include "traces/execution_trace.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

TestSuite(execution_trace, .init = ct_folder_enter, .fini = ct_folder_leave);

/* Two kernels, a call between them, a CPU operation and memory beside. */
static const ct_node plain[] = {
    {.id = 10, .type = CT_COMPUTE, .us = 100},
    {.id = 11, .type = CT_CALL, .deps = {10}, .comm_type = CT_ALL_REDUCE, .bytes = 1 << 20},
    {.id = 12, .type = CT_COMPUTE, .us = 50, .deps = {11, 13}, .control = 10},
    {.id = 13, .type = CT_COMPUTE, .us = 7, .deps = {10}, .on_cpu = true},
    {.id = 14, .type = CT_MEMORY, .us = 9},
};
enum { N_PLAIN = sizeof plain / sizeof plain[0] };

static cs_execution_trace load(const char *path, uint32_t n_ranks)
{
    cs_execution_trace trace = {0};
    cs_error           err   = {0};

    cr_assert_eq(cs_execution_trace_load(&path, 1, NULL, n_ranks, &trace, &err), CS_OK, "%s: %s",
                 err.where, err.message);
    return trace;
}

/* Loading fails, and says so. */
static void expect_refusal(const char *path, const char *groups, uint32_t n_ranks,
                           const char *words)
{
    cs_execution_trace trace = {0};
    cs_error           err   = {0};
    char               text[600];

    cs_status status = cs_execution_trace_load(&path, 1, groups, n_ranks, &trace, &err);
    cs_error_text(&err, text, sizeof text);
    cr_expect(status == CS_EINVAL || status == CS_EPARSE, "%s: %d", words, status);
    cr_expect(strstr(text, words) != NULL, "'%s' is not in '%s'", words, text);
}

Test(execution_trace, every_form_says_the_same)
{
    for (ct_form form = CT_WIRE; form < CT_FORMS; form++) {
        ct_chakra_write("job.0.et", plain, N_PLAIN, form);
        cr_assert(cs_execution_trace_is("job.0.et"), "form %d", form);
        cs_execution_trace t = load("job.0.et", 4);
        cr_expect_eq(t.n_ranks, 4);
        cr_expect(t.is_one_file);
        cr_expect_eq(t.n_nodes, 4 * N_PLAIN);
        cr_expect_eq(t.n_calls, 1);
        cr_expect_eq(t.n_groups, 1);
        cr_expect_eq(t.groups[0].n_ranks, 4);
        cr_expect_eq(t.calls[0].bytes, 1 << 20);
        cr_expect_eq(t.calls[0].collective, CS_ALLREDUCE);
        const cs_execution *x       = &t.ranks[3];
        const uint8_t       kinds[] = {CS_WORK_COMPUTE, CS_WORK_CALL, CS_WORK_COMPUTE, CS_WORK_HOST,
                                       CS_WORK_OTHER};
        for (uint32_t i = 0; i < N_PLAIN; i++) {
            cr_expect_eq(x->nodes[i].id, plain[i].id);
            cr_expect_eq(x->nodes[i].kind, kinds[i], "form %d, node %u", form, i);
            cr_expect_eq(x->nodes[i].duration_s, (double)plain[i].us * 1e-6);
        }
        cr_expect_eq(x->nodes[2].needs, 2, "control does not count beside data");
        cr_expect_eq(x->nodes[1].first_user - x->nodes[0].first_user, 2);
        cr_expect_float_eq(x->compute_s, 150e-6, 1e-12);
        cr_expect_str_eq(t.notes.data,
                         "1 control dependencies are left out beside those of data: they "
                         "say who called whom\n");
        cs_execution_trace_free(&t);
    }
}

Test(execution_trace, control_counts_where_there_is_nothing_else)
{
    const ct_node nodes[] = {{.id = 1, .type = CT_COMPUTE, .us = 1},
                             {.id = 2, .type = CT_COMPUTE, .us = 1, .control = 1}};

    ct_chakra_write("a.et", nodes, 2, CT_WIRE);
    cs_execution_trace t = load("a.et", 2);
    cr_expect_eq(t.ranks[0].nodes[1].needs, 1);
    cs_execution_trace_free(&t);
}

Test(execution_trace, a_file_per_rank)
{
    ct_node nodes[2] = {
        {.id = 1, .type = CT_COMPUTE},
        {.id = 2, .type = CT_CALL, .deps = {1}, .comm_type = CT_ALL_GATHER, .bytes = 1000}};
    char path[32];

    ct_file_write("README.txt", "no trace\n");
    for (unsigned r = 0; r < 12; r++) {
        (void)snprintf(path, sizeof path, "job.%u.et", r);
        nodes[0].us = r;
        ct_chakra_write(path, nodes, 2, r % 2 == 0 ? CT_WIRE : CT_OBJECTS);
    }
    cs_execution_trace t = load(".", 0);
    cr_expect_eq(t.n_ranks, 12);
    cr_expect_eq(t.calls[0].bytes, 12 * 1000, "an AllGather is as large as what all have then");
    for (uint32_t r = 0; r < 12; r++) {
        cr_expect_float_eq(t.ranks[r].compute_s, r * 1e-6, 1e-15, "rank2 before rank10");
    }
    cr_expect_not_null(strstr(t.notes.data, "README.txt"));
    cs_execution_trace_free(&t);
    expect_refusal("job.0.et,job.2.et", NULL, 0, "job.2.et: its rank is too large");
    expect_refusal("job.0.et,job.1.et", NULL, 4, "--ranks: is 4, and there are files of 2 ranks");
    expect_refusal("job.0.et,job.0.et", NULL, 0, "another file has the same rank");
    expect_refusal("job.0.et", NULL, 0, "--ranks: is missing");
}

/* Ranks 0 1 and 2 3 are one group each, "1"; 0 2 and 1 3, "2", by the file. */
Test(execution_trace, groups_of_the_trace_and_of_a_file)
{
    ct_node nodes[] = {
        {.id = 1, .type = CT_METADATA, .values = NULL},
        {.id = 2, .type = CT_CALL, .comm_type = CT_ALL_REDUCE, .bytes = 8, .group = "1"},
        {.id        = 3,
         .type      = CT_CALL,
         .comm_type = CT_ALL_REDUCE,
         .bytes     = 9,
         .group     = "2",
         .deps      = {2}},
        {.id = 4, .type = CT_CALL, .comm_type = CT_BARRIER, .group = "0", .deps = {3}},
    };
    const char *low =
        "['[{\"pg_name\": \"0\", \"ranks\": []}, {\"pg_name\": \"1\", \"ranks\": [1, 0]}]']";
    const char *high = "['[{\"pg_name\": \"1\", \"ranks\": [2, 3], \"group_size\": 2}]']";
    char        path[32];

    for (ct_form form = CT_WIRE; form < CT_FORMS; form++) {
        for (unsigned r = 0; r < 4; r++) {
            (void)snprintf(path, sizeof path, "job.%u.et", r);
            nodes[0].values = r < 2 ? low : high;
            ct_chakra_write(path, nodes, 4, form);
        }
        ct_file_write("groups.json", "{\"2\": [[0, 2], [1, 3]]}");
        expect_refusal("job.0.et,job.1.et,job.2.et,job.3.et", NULL, 0, "process group '2'");
        const char        *paths = "job.0.et,job.1.et,job.2.et,job.3.et";
        cs_execution_trace t     = {0};
        cs_error           err   = {0};
        cr_assert_eq(cs_execution_trace_load(&paths, 1, "groups.json", 0, &t, &err), CS_OK,
                     "%s: %s", err.where, err.message);
        cr_expect_eq(t.n_groups, 5);
        cr_expect_eq(t.n_calls, 5);
        cr_expect_eq(t.ranks[0].groups[0], t.ranks[1].groups[0]);
        cr_expect_neq(t.ranks[0].groups[0], t.ranks[2].groups[0]);
        cr_expect_eq(t.ranks[0].groups[1], t.ranks[2].groups[1]);
        cr_expect_eq(t.ranks[0].groups[2], t.ranks[3].groups[2]);
        cr_expect_eq(t.groups[t.ranks[3].groups[1]].ranks[0], 1);
        cs_execution_trace_free(&t);
    }
    ct_file_write("groups.json", "{\"2\": [0, 2]}");
    expect_refusal("job.0.et,job.1.et,job.2.et,job.3.et", "groups.json", 0,
                   "used on rank 1, which is not in it");
    ct_file_write("groups.json", "{\"2\": [0, 7]}");
    expect_refusal("job.0.et,job.1.et,job.2.et,job.3.et", "groups.json", 0, "not a rank of 0 to 3");
    ct_file_write("groups.json", "{\"2\": 5}");
    expect_refusal("job.0.et,job.1.et,job.2.et,job.3.et", "groups.json", 0, "a list of ranks");
    ct_file_write("groups.json", "{\"2\": [0, 0]}");
    expect_refusal("job.0.et,job.1.et,job.2.et,job.3.et", "groups.json", 0, "there twice");
}

/* Calls are in the order of the program, whatever the numbers say. */
Test(execution_trace, dependencies_come_before_numbers)
{
    const ct_node nodes[] = {
        {.id = 1, .type = CT_CALL, .comm_type = CT_ALL_REDUCE, .bytes = 10, .deps = {3}},
        {.id = 2, .type = CT_CALL, .comm_type = CT_ALL_REDUCE, .bytes = 20},
        {.id = 3, .type = CT_CALL, .comm_type = CT_ALL_REDUCE, .bytes = 30},
    };

    ct_chakra_write("a.et", nodes, 3, CT_WIRE);
    cs_execution_trace t = load("a.et", 2);
    cr_expect_eq(t.calls[0].bytes, 20);
    cr_expect_eq(t.calls[1].bytes, 30);
    cr_expect_eq(t.calls[2].bytes, 10);
    cs_execution_trace_free(&t);
}

Test(execution_trace, what_contradicts_itself_is_refused)
{
    ct_node circle[] = {{.id = 1, .type = CT_COMPUTE, .deps = {3}},
                        {.id = 2, .type = CT_COMPUTE, .deps = {1}},
                        {.id = 3, .type = CT_COMPUTE, .deps = {2}}};
    ct_node twice[]  = {{.id = 5, .type = CT_COMPUTE}, {.id = 5, .type = CT_COMPUTE}};
    ct_node other    = {.id = 1, .type = CT_CALL, .comm_type = CT_BROADCAST, .bytes = 8};
    ct_node call     = {.id = 1, .type = CT_CALL, .comm_type = CT_ALL_REDUCE, .bytes = 8};
    ct_node dims     = {.id = 3, .type = CT_CALL, .bytes = 8, .lacks_dim = true};
    ct_node send     = {.id = 1, .type = CT_SEND, .peer = 1, .bytes = 8, .tag = 4};
    ct_node receive  = {.id = 1, .type = CT_RECEIVE, .peer = 0, .bytes = 8, .tag = 5};
    ct_node far      = {.id = 1, .type = CT_SEND, .peer = 9, .bytes = 8};

    ct_node huge     = {.id = 1, .type = CT_CALL, .bytes = (uint64_t)1 << 51};
    ct_node gathered = {
        .id = 1, .type = CT_CALL, .comm_type = CT_ALL_GATHER, .bytes = (uint64_t)1 << 49};

    ct_chakra_write("a.et", &huge, 1, CT_WIRE);
    expect_refusal("a.et", NULL, 2, "comm_size is negative or larger than 2^50");
    ct_chakra_write("a.et", &gathered, 1, CT_WIRE);
    expect_refusal("a.et", NULL, 4, "gather more than 2^50 bytes");
    ct_chakra_write("a.et", circle, 3, CT_WIRE);
    expect_refusal("a.et", NULL, 2, "waits for itself");
    ct_chakra_write("a.et", twice, 2, CT_GRAPH);
    expect_refusal("a.et", NULL, 2, "node 5 is there twice");
    ct_chakra_write("a.et", &send, 1, CT_WIRE);
    expect_refusal("a.et", NULL, 2, "accepted is a file per rank");
    for (ct_form form = CT_WIRE; form < CT_FORMS; form++) {
        ct_chakra_write("a.et", &dims, 1, form);
        expect_refusal("a.et", NULL, 2, "involved_dim");
    }
    ct_chakra_write("j.0.et", &call, 1, CT_WIRE);
    ct_chakra_write("j.1.et", &other, 1, CT_WIRE);
    expect_refusal("j.0.et,j.1.et", NULL, 0, "another rank calls another collective");
    ct_chakra_write("j.1.et", &twice[0], 1, CT_WIRE);
    expect_refusal("j.0.et,j.1.et", NULL, 0, "rank 1 has 0 of the 1 calls that rank 0 has");
    ct_chakra_write("j.0.et", &send, 1, CT_WIRE);
    ct_chakra_write("j.1.et", &receive, 1, CT_WIRE);
    expect_refusal("j.0.et,j.1.et", NULL, 0,
                   "from rank 0 to 1 with tag 4: the other rank receives");
    ct_chakra_write("j.1.et", &call, 1, CT_WIRE);
    expect_refusal("j.0.et,j.1.et", NULL, 0, "node 1");
    ct_chakra_write("j.0.et", &far, 1, CT_WIRE);
    expect_refusal("j.0.et,j.1.et", NULL, 0, "comm_dst is no rank");
}

/* Wherever a file ends, it is refused, or what is there is whole nodes. */
Test(execution_trace, files_that_are_cut_off)
{
    for (ct_form form = CT_WIRE; form < CT_FORMS; form++) {
        cs_text text    = {0};
        size_t  refused = 0;
        ct_chakra_add(plain, N_PLAIN, form, &text);
        for (size_t length = 1; length < text.length; length++) {
            cs_execution_trace t    = {0};
            cs_error           err  = {0};
            char              *copy = cs_calloc(length, 1);
            memcpy(copy, text.data, length);
            cs_status status =
                cs_execution_texts_read(&(cs_execution_text){"a.et", copy, length}, 1, 2, &t, &err);
            if (status == CS_OK) {
                cr_expect(t.n_nodes % 2 == 0 && t.n_nodes <= 2 * N_PLAIN);
                cs_execution_trace_free(&t);
            } else {
                cr_expect(status == CS_EPARSE || status == CS_EINVAL);
                refused++;
            }
            cs_free(copy);
        }
        cr_expect_gt(refused, text.length / 2);
        cs_text_free(&text);
    }
}

Test(execution_trace, what_is_left_out_is_said)
{
    const ct_node nodes[] = {
        {.id = 3, .type = CT_COMPUTE, .us = 4, .deps = {1, 2}},
        {.id = 4, .type = CT_CALL, .comm_type = CT_GATHER, .us = 8, .bytes = 100},
        {.id = 5, .type = CT_CALL, .comm_type = CT_ALL_REDUCE, .us = 8, .deps = {3}},
        {.id = 6, .type = CT_CALL, .comm_type = CT_ALL_REDUCE, .bytes = 64, .deps = {5}},
    };

    ct_chakra_write("a.et", nodes, 4, CT_WIRE);
    cs_execution_trace t = load("a.et", 2);
    cr_expect_not_null(strstr(t.notes.data, "2 dependencies on nodes that are not in the trace"));
    cr_expect_not_null(strstr(t.notes.data, "2 calls of Gather"));
    cr_expect_not_null(strstr(t.notes.data, "waits for 2 of 2 parts in calls"));
    cr_expect_eq(t.ranks[0].nodes[1].kind, CS_WORK_OTHER);
    cr_expect_eq(t.ranks[0].nodes[0].needs, 0);
    cs_execution_trace_free(&t);
}

/* Two communicators of the same ranks are two, and no name is that of all. */
Test(execution_trace, groups_are_names_and_ranks)
{
    const ct_node nodes[] = {
        {.id = 1, .type = CT_CALL, .comm_type = CT_ALL_REDUCE, .bytes = 8, .group = "0"},
        {.id = 2, .type = CT_CALL, .comm_type = CT_ALL_REDUCE, .bytes = 8, .group = "dp"},
        {.id = 3, .type = CT_CALL, .comm_type = CT_ALL_REDUCE, .bytes = 8, .group = ""},
        {.id = 4, .type = CT_CALL, .comm_type = CT_ALL_REDUCE, .bytes = 8},
    };
    const char        *path = "a.et";
    cs_execution_trace t    = {0};
    cs_error           err  = {0};

    ct_chakra_write("a.et", nodes, 4, CT_WIRE);
    ct_file_write("g.json", "{\"dp\": [0, 1, 2]}");
    cr_assert_eq(cs_execution_trace_load(&path, 1, "g.json", 3, &t, &err), CS_OK, "%s",
                 err.message);
    cr_expect_eq(t.n_groups, 2);
    cr_expect_eq(t.n_calls, 4);
    cr_expect_eq(t.ranks[0].nodes[2].sequence, 1);
    cr_expect_eq(t.ranks[0].nodes[3].sequence, 2);
    cr_expect_eq(t.ranks[0].nodes[1].sequence, 0);
    cs_execution_trace_free(&t);
    ct_file_write("g.json", "{\"dp\": [[0, 1], [1, 2]]}");
    expect_refusal("a.et", "g.json", 3, "rank 1 is in two of its lists");
}

/* What is called like the others in a folder is one of them. */
Test(execution_trace, a_damaged_file_of_a_folder_is_not_left_out)
{
    ct_chakra_write("t.0.et", plain, N_PLAIN, CT_WIRE);
    ct_chakra_write("t.1.et", plain, N_PLAIN, CT_WIRE);
    ct_file_write("t.2.et", "");
    ct_file_write("notes.txt", "");
    expect_refusal(".", NULL, 0, "t.2.et: no Chakra execution trace");
}

Test(execution_trace, numbers_that_nothing_can_mean)
{
    ct_node endless = {.id = 1, .type = CT_COMPUTE, .us = 2000000000000};

    for (ct_form form = CT_WIRE; form < CT_FORMS; form++) {
        ct_chakra_write("a.et", &endless, 1, form);
        expect_refusal("a.et", NULL, 2, "longer than 1e6 s");
    }
    ct_file_write("a.et", "{\"workload_graph\": [{\"Id\": 1, \"NodeType\": 4, \"runtime\": -5}]}");
    expect_refusal("a.et", NULL, 2, "its duration is negative");
    ct_file_write("a.et", "{\"workload_graph\": [{\"Id\": 1, \"NodeType\": 7, \"comm_type\": 5, "
                          "\"comm_size\": 8, \"root\": 2}]}");
    expect_refusal("a.et", NULL, 2, "its root is no rank of the job");
    ct_file_write("a.et", "{\"workload_graph\": [{\"Id\": 1, \"NodeType\": 4, \"num_ops\": 50}, "
                          "{\"Id\": 2, \"NodeType\": 7, \"is_cpu_op\": true, \"runtime\": 5}]}");
    cs_execution_trace t = load("a.et", 2);
    cr_expect_not_null(strstr(t.notes.data, "1 nodes have operations (num_ops) and no duration"));
    cr_expect_not_null(strstr(t.notes.data, "1 calls are operations of the CPU"));
    cs_execution_trace_free(&t);
}

/* A rank that puts nothing into a call is in it all the same; roots agree. */
Test(execution_trace, calls_of_nothing_are_calls)
{
    ct_node nodes[2] = {{.id = 1, .type = CT_CALL}, {.id = 2, .type = CT_CALL, .deps = {1}}};
    static const char zero[] =
        "{\"workload_graph\": [{\"Id\": 1, \"NodeType\": 7, \"comm_type\": 0, "
        "\"comm_size\": 0}, {\"Id\": 2, \"NodeType\": 7, \"comm_type\": 0, "
        "\"comm_size\": 99, \"data_deps\": [1]}]}";
    static const char rooted[] = "{\"workload_graph\": [{\"Id\": 1, \"NodeType\": 7, "
                                 "\"comm_type\": 5, \"comm_size\": 8, \"root\": %d}]}";
    cs_text           text     = {0};

    nodes[0].bytes = 7;
    nodes[1].bytes = 99;
    ct_chakra_write("j.0.et", nodes, 2, CT_WIRE);
    ct_file_write("j.1.et", zero);
    cs_execution_trace t = load("j.0.et,j.1.et", 0);
    cr_expect_eq(t.n_calls, 2);
    cr_expect_eq(t.calls[0].bytes, 7, "the larger of 7 and 0");
    cr_expect_eq(t.calls[1].bytes, 99);
    cs_execution_trace_free(&t);
    cs_text_add(&text, rooted, 0);
    ct_file_write("j.0.et", text.data);
    text.length = 0;
    cs_text_add(&text, rooted, 1);
    ct_file_write("j.1.et", text.data);
    expect_refusal("j.0.et,j.1.et", NULL, 0, "another rank names another root");
    cs_text_free(&text);
}

/* Numbers of any kind that are none, and pieces that end too soon. */
Test(execution_trace, damage_inside_a_node_is_seen)
{
    static const char *const odd[] = {"\"runtime\": 1e300",
                                      "\"data_deps\": [\"x2\"]",
                                      "\"comm_size\": \"1e6\"",
                                      "\"Id\": \"abc\"",
                                      "\"runtime\": \"99999999999999999999999\"",
                                      "\"runtime\": null"};
    static const char        groups[] =
        "{\"workload_graph\": [{\"Id\": 1, \"NodeType\": 1, \"inputs\": "
        "{\"values\": \"['[{\\\"pg_name\\\": \\\"1\\\", \\\"ranks\\\": [0, 1\"}}]}";
    cs_text text = {0};

    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        text.length = 0;
        cs_text_add(&text, "{\"workload_graph\": [{\"NodeType\": 4, %s}]}", odd[i]);
        ct_file_write("a.et", text.data);
        expect_refusal("a.et", NULL, 2, "a number of it is none");
    }
    ct_file_write("a.et", groups);
    expect_refusal("a.et", NULL, 2, "process groups are damaged");
    /* A dependency whose last byte is missing: the list is one byte long and says that more follow.
     */
    static const char wire[] = "\x05\x0a\x03"
                               "1.0"
                               "\x07\x08\x01\x18\x04\x2a\x01\x80";
    FILE             *file   = fopen("a.et", "wb");
    cr_assert(file != NULL && fwrite(wire, 1, sizeof wire - 1, file) == sizeof wire - 1);
    cr_assert_eq(fclose(file), 0);
    expect_refusal("a.et", NULL, 2, "a.et");
    cs_text_free(&text);
}

/* A group may be a number in protobuf, too. */
Test(execution_trace, groups_that_are_numbers)
{
    /* comm_size 8, pg_name 7 as int64 */
    static const char wire[] = "\x05\x0a\x03"
                               "1.0"
                               "\x23\x08\x01\x12\x01"
                               "n"
                               "\x18\x07"
                               "\x52\x0d\x0a\x09"
                               "comm_size"
                               "\x48\x08"
                               "\x52\x0b\x0a\x07"
                               "pg_name"
                               "\x48\x07";
    FILE             *file   = fopen("a.et", "wb");

    cr_assert(file != NULL && fwrite(wire, 1, sizeof wire - 1, file) == sizeof wire - 1);
    cr_assert_eq(fclose(file), 0);
    expect_refusal("a.et", NULL, 2, "process group '7'");
}

/* Recognised by what is in reach of a long beginning. */
Test(execution_trace, metadata_may_be_longer_than_a_beginning)
{
    char *source = cs_calloc((size_t)3 << 20, 1);

    memset(source, 'x', ((size_t)3 << 20) - 1);
    for (ct_form form = CT_WIRE; form <= CT_OBJECTS; form++) {
        cs_text text = {0};
        ct_chakra_add_made_from(source, plain, N_PLAIN, form, &text);
        FILE *file = fopen("long.0.json", "wb");
        cr_assert(file != NULL && fwrite(text.data, 1, text.length, file) == text.length);
        cr_assert_eq(fclose(file), 0);
        cr_expect(cs_execution_trace_is("long.0.json"), "form %d", form);
        cs_execution_trace t = load("long.0.json", 2);
        cr_expect_eq(t.n_nodes, 2 * N_PLAIN);
        cs_execution_trace_free(&t);
        cs_text_free(&text);
    }
    cs_free(source);
}

Test(execution_trace, other_files_are_no_traces)
{
    ct_file_write("log.csv", "iteration,rank,arrival_s\n0,0,0\n0,1,1e-3\n");
    ct_file_write("log.json", "{\"traceEvents\": [{\"name\": \"x\", \"ph\": \"X\"}]}");
    ct_file_write("empty.et", "");
    cr_expect_not(cs_execution_trace_is("log.csv"));
    cr_expect_not(cs_execution_trace_is("log.json"));
    cr_expect_not(cs_execution_trace_is("empty.et"));
    cr_expect_not(cs_execution_trace_is("nothing"));
    cr_expect_not(cs_execution_trace_is("."));
    expect_refusal("log.csv", NULL, 2, "no Chakra execution trace");
}

/* A collective that was written as a trace is verified by the program that is in its metadata. */
Test(execution_trace, a_collective_is_the_program_that_it_was_made_from)
{
    cs_text said = {0};

    cr_assert_eq(ct_program("schedule rhd -n 4 --format msccl -o rhd.xml", "2>&1", &said), 0);
    cs_text xml = ct_file_read("rhd.xml");
    for (ct_form form = CT_WIRE; form <= CT_OBJECTS; form++) {
        cs_text text = {0};
        ct_chakra_add_made_from(xml.data, plain, N_PLAIN, form, &text);
        FILE *file = fopen("made.0.et", "wb");
        cr_assert(file != NULL && fwrite(text.data, 1, text.length, file) == text.length);
        cr_assert_eq(fclose(file), 0);
        ct_program_says("verify made.0.et", 0, "a correct allreduce over 4 ranks");
        ct_program_says("whatif --trace made.0.et -n 4 -a ring -q", 0,
                        "1 allreduce of 1048576 bytes");
        cs_text_free(&text);
    }
    ct_chakra_write("plain.0.et", plain, N_PLAIN, CT_WIRE);
    ct_program_says("verify plain.0.et", 2, "nothing says which data its messages carry");
    cs_text_free(&said);
    cs_text_free(&xml);
}

Test(execution_trace, any_allocation_may_fail)
{
    ct_node nodes[] = {
        {.id = 1, .type = CT_METADATA, .values = "['[{\"pg_name\": \"1\", \"ranks\": [0, 1]}]']"},
        {.id        = 9,
         .type      = CT_CALL,
         .comm_type = CT_ALL_REDUCE,
         .bytes     = 8,
         .group     = "1",
         .deps      = {1}},
        {.id = 8, .type = CT_SEND, .bytes = 8, .peer = 1},
        {.id = 7, .type = CT_COMPUTE, .us = 8, .deps = {9}},
    };
    const char *paths = "j.0.et,j.1.et";

    ct_chakra_write("j.0.et", nodes, 4, CT_WIRE);
    nodes[2] = (ct_node){.id = 8, .type = CT_RECEIVE, .bytes = 8, .peer = 0};
    ct_chakra_write("j.1.et", nodes, 4, CT_OBJECTS);
    ct_file_write("groups.json", "{\"2\": [[0], [1]]}");
    cs_status status = CS_ENOMEM;
    long      passes = 0;
    for (; passes < 1000 && status == CS_ENOMEM; passes++) {
        cs_execution_trace t   = {0};
        cs_error           err = {0};
        cs_alloc_fail_after(passes);
        status = cs_execution_trace_load(&paths, 1, "groups.json", 0, &t, &err);
        cs_alloc_fail_after(-1);
        if (status == CS_OK) {
            cs_execution_trace_free(&t);
        }
    }
    cr_expect_eq(status, CS_OK);
    cr_expect_gt(passes, 20);
}
