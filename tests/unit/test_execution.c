/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Iterations of execution traces, against closed forms:
 *   ring on one port a rank       2 (n-1) (alpha + s / n beta)
 *   a message                     alpha + s / beta
 * and against replays of single calls; and what holds of any: the bound, faults, late ranks.
 */
#include "base/alloc.h"
#include "support/chakra.h"
#include "support/config.h"
#include "support/folder.h"
#include "support/rng.h"
#include "whatif/execution.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define ALPHA     3e-6
#define BANDWIDTH 450e9
#define NV_ALPHA  1e-6
#define SIZE      ((uint64_t)56 << 20)
#define CLOSE     1e-12

TestSuite(execution, .init = ct_folder_enter, .fini = ct_folder_leave);

static double ring_s(uint32_t n, double bytes, double alpha_s)
{
    return 2 * (n - 1) * (alpha_s + bytes / n / BANDWIDTH);
}

static cs_status try_run(const char *json, const cs_execution_options *options,
                         cs_execution_report *report, cs_error *err)
{
    cs_config *config = ct_config_of(json);
    cs_status  status = cs_execution_whatif(config, options, report, err);

    cs_config_free(config);
    return status;
}

/* The what-if of the file or folder at a path, with the ring and others. */
static cs_execution_report run(const char *json, const char *path, const char *groups)
{
    const char *const    names[] = {"ring", "rhd", "stragglar"};
    cs_execution_options options = {.paths        = &path,
                                    .n_paths      = 1,
                                    .groups_path  = groups,
                                    .algorithms   = names,
                                    .n_algorithms = 3,
                                    .baseline     = "ring"};
    cs_execution_report  report  = {0};
    cs_error             err     = {0};

    cr_assert_eq(try_run(json, &options, &report, &err), CS_OK, "%s: %s", err.where, err.message);
    return report;
}

static const cs_execution_line *find(const cs_execution_report *report, const char *algorithm,
                                     cs_prediction policy)
{
    for (size_t i = 0; i < report->n_lines; i++) {
        if (strcmp(report->lines[i].algorithm, algorithm) == 0 &&
            report->lines[i].policy == policy) {
            return &report->lines[i];
        }
    }
    cr_assert(false, "no line of %s", algorithm);
    return NULL;
}

static double ring_iteration(const char *json, const char *path, const char *groups)
{
    cs_execution_report report      = run(json, path, groups);
    double              iteration_s = find(&report, "ring", CS_PREDICTION_NONE)->iteration_s;

    cs_execution_report_free(&report);
    return iteration_s;
}

/* compute, call, compute */
static const ct_node chain[] = {
    {.id = 1, .type = CT_COMPUTE, .us = 300},
    {.id = 2, .type = CT_CALL, .deps = {1}, .comm_type = CT_ALL_REDUCE, .bytes = SIZE},
    {.id = 3, .type = CT_COMPUTE, .us = 200, .deps = {2}},
};

Test(execution, a_chain_is_the_sum_of_its_parts)
{
    ct_chakra_write("a.et", chain, 3, CT_WIRE);
    cs_execution_report r    = run("{\"cluster\": {\"ranks\": 8}}", "a.et", NULL);
    double              call = ring_s(8, (double)SIZE, ALPHA);

    const cs_execution_line *ring = find(&r, "ring", CS_PREDICTION_NONE);
    cr_expect(ring->is_baseline);
    cr_expect_float_eq(ring->iteration_s, 500e-6 + call, CLOSE);
    cr_expect_float_eq(ring->exposed_s, call, CLOSE);
    cr_expect_eq(ring->n_own, 1);
    cr_expect_float_eq(r.without_calls_s, 500e-6, CLOSE);
    cr_expect_float_eq(r.compute_s, 500e-6, CLOSE);
    cr_expect_gt(r.bound_s, 500e-6);
    cr_expect_leq(r.bound_s, find(&r, "rhd", CS_PREDICTION_NONE)->iteration_s);
    cr_expect_eq(r.late_rank, UINT32_MAX);
    cr_expect_not(find(&r, "stragglar", CS_PREDICTION_STATIC)->is_available);
    cs_execution_report_free(&r);
}

/* A call takes what a replay with the same arrivals takes. */
Test(execution, late_ranks_are_those_of_a_replay)
{
    static const char json[] = "{\"cluster\": {\"ranks\": 8}, \"bytes\": 58720256, \"algorithm\": "
                               "\"%s\", \"arrivals\": {\"late\": [{\"rank\": 3, \"delay\": %g}]}}";
    static const char *const names[]  = {"ring", "rhd", "stragglar"};
    static const double      delays[] = {20e-6, 200e-6, 5e-3};

    ct_chakra_write("a.et", chain, 3, CT_WIRE);
    for (size_t d = 0; d < 3; d++) {
        char text[300];
        (void)snprintf(text, sizeof text,
                       "{\"cluster\": {\"ranks\": 8}, \"arrivals\": {\"late\": [{\"rank\": 3, "
                       "\"delay\": %g}]}}",
                       delays[d]);
        cs_execution_report r = run(text, "a.et", NULL);
        for (size_t a = 0; a < 3; a++) {
            (void)snprintf(text, sizeof text, json, names[a], delays[d]);
            cs_config *config = ct_config_of(text);
            cs_case    c      = ct_case(config, 0);
            cs_result  result = ct_result(&c);
            bool       knows  = a == 2;
            double     want_s = 500e-6 + result.elapsed_s;
            cr_expect_float_eq(
                find(&r, names[a], knows ? CS_PREDICTION_DYNAMIC : CS_PREDICTION_NONE)->iteration_s,
                want_s, 1e-9 * want_s, "%s", names[a]);
            if (knows) {
                cr_expect_float_eq(find(&r, names[a], CS_PREDICTION_STATIC)->iteration_s, want_s,
                                   1e-9 * want_s);
            }
            cs_case_free(&c);
            cs_config_free(config);
        }
        cr_expect_eq(r.late_rank, 3);
        cr_expect_eq(r.baseline.straggler, 3);
        cr_expect_float_eq(r.without_calls_s, 500e-6 + delays[d], CLOSE);
        cs_execution_report_free(&r);
    }
}

/* Two calls beside three kernels; the second call waits for the first. */
Test(execution, calls_run_beside_kernels)
{
    const ct_node nodes[] = {
        {.id = 1, .type = CT_COMPUTE, .us = 100},
        {.id = 2, .type = CT_COMPUTE, .us = 100, .deps = {1}},
        {.id = 3, .type = CT_COMPUTE, .us = 100, .deps = {2}},
        {.id = 4, .type = CT_CALL, .comm_type = CT_ALL_REDUCE, .bytes = SIZE, .deps = {1}},
        {.id = 5, .type = CT_CALL, .comm_type = CT_ALL_REDUCE, .bytes = SIZE, .deps = {2}},
        {.id = 6, .type = CT_COMPUTE, .us = 10, .deps = {3, 5}},
        {.id = 7, .type = CT_COMPUTE, .us = 40, .deps = {2}, .on_cpu = true},
        {.id = 8, .type = CT_COMPUTE, .us = 70, .deps = {2}, .on_cpu = true},
        {.id = 9, .type = CT_MEMORY, .us = 5000},
    };
    double call = ring_s(4, (double)SIZE, ALPHA);

    ct_chakra_write("a.et", nodes, 8, CT_OBJECTS);
    cr_expect_float_eq(ring_iteration("{\"cluster\": {\"ranks\": 4}}", "a.et", NULL),
                       100e-6 + 2 * call + 10e-6, CLOSE);
    ct_chakra_write("a.et", nodes, 9, CT_OBJECTS);
    cr_expect_float_eq(ring_iteration("{\"cluster\": {\"ranks\": 4}}", "a.et", NULL), 5000e-6,
                       CLOSE);
}

/* A CPU does one thing at a time, a GPU computes one kernel at a time: the smallest number. */
Test(execution, one_thing_at_a_time)
{
    const ct_node nodes[] = {
        {.id = 1, .type = CT_COMPUTE, .us = 100},
        {.id = 2, .type = CT_COMPUTE, .us = 30, .deps = {6}},
        {.id = 3, .type = CT_COMPUTE, .us = 200, .deps = {6}},
        {.id = 4, .type = CT_COMPUTE, .us = 1000, .deps = {2}, .on_cpu = true},
        {.id = 5, .type = CT_COMPUTE, .us = 2000, .deps = {3}, .on_cpu = true},
        {.id = 6, .type = CT_METADATA},
    };

    ct_chakra_write("a.et", nodes, 6, CT_WIRE);
    cr_expect_float_eq(ring_iteration("{\"cluster\": {\"ranks\": 2}}", "a.et", NULL),
                       /* kernel 1, kernel 2, then its 1000 us, then those of kernel 3 */
                       100e-6 + 30e-6 + 1000e-6 + 2000e-6, CLOSE);
}

/* Two servers of two GPUs: one group in each, and one over both for each GPU. */
Test(execution, groups_use_their_own_ports)
{
    const ct_node in[] = {
        {.id = 1, .type = CT_CALL, .comm_type = CT_ALL_REDUCE, .bytes = SIZE, .group = "1"}};
    const ct_node over[] = {
        {.id = 1, .type = CT_CALL, .comm_type = CT_ALL_REDUCE, .bytes = SIZE, .group = "2"}};
    const char *cluster = "{\"cluster\": {\"ranks\": 4, \"gpus_per_server\": 2, \"nvlink\": "
                          "{\"bandwidth\": 900e9}}}";
    const char *slow    = "{\"cluster\": {\"ranks\": 4, \"gpus_per_server\": 2, \"nvlink\": "
                          "{\"bandwidth\": 900e9}}, \"faults\": [{\"rank\": 3, \"slowdown\": 2}]}";
    const char *slow_nic =
        "{\"cluster\": {\"ranks\": 4, \"gpus_per_server\": 2, \"nvlink\": {\"bandwidth\": 900e9}}, "
        "\"faults\": [{\"server\": 1, \"nic\": 1, \"slowdown\": 2, \"failover\": \"none\"}]}";
    double nvlink_s = 2 * (NV_ALPHA + (double)SIZE / 2 / 900e9);

    ct_file_write("groups.json", "{\"1\": [[0, 1], [2, 3]], \"2\": [[0, 2], [1, 3]]}");
    ct_chakra_write("in.et", in, 1, CT_WIRE);
    ct_chakra_write("over.et", over, 1, CT_WIRE);
    cr_expect_float_eq(ring_iteration(cluster, "in.et", "groups.json"), nvlink_s, CLOSE);
    cr_expect_float_eq(ring_iteration(slow, "in.et", "groups.json"), nvlink_s, CLOSE);
    cr_expect_float_eq(ring_iteration(cluster, "over.et", "groups.json"),
                       ring_s(2, (double)SIZE, ALPHA), CLOSE);
    double slow_s = 2 * (ALPHA + (double)SIZE / 2 / BANDWIDTH * 2);
    cr_expect_float_eq(ring_iteration(slow, "over.et", "groups.json"), slow_s, CLOSE);
    cr_expect_float_eq(ring_iteration(slow_nic, "over.et", "groups.json"), slow_s, CLOSE);
    ct_file_write("groups.json", "{\"2\": [[0, 2], [1, 3]], \"1\": [[0, 1, 2, 3]]}");
    cr_expect_lt(ring_iteration(cluster, "in.et", "groups.json"),
                 ring_iteration(slow, "in.et", "groups.json"));
}

/* Servers with different NICs: a group has the rates of its own. */
Test(execution, groups_have_the_rates_of_their_servers)
{
    const ct_node call[] = {
        {.id = 1, .type = CT_CALL, .comm_type = CT_ALL_REDUCE, .bytes = SIZE, .group = "g"}};
    const char *json = "{\"cluster\": {\"servers\": [{\"count\": 2, \"gpus\": 1}, {\"count\": 2, "
                       "\"gpus\": 1, \"nic\": {\"bandwidth\": 150e9}}]}}";

    ct_chakra_write("j.et", call, 1, CT_WIRE);
    ct_file_write("g.json", "{\"g\": [[0, 1], [2], [3]]}");
    cr_expect_float_eq(ring_iteration(json, "j.et", "g.json"), ring_s(2, (double)SIZE, ALPHA),
                       CLOSE);
    ct_file_write("g.json", "{\"g\": [[0], [1], [2, 3]]}");
    cr_expect_float_eq(ring_iteration(json, "j.et", "g.json"),
                       2 * (ALPHA + (double)SIZE / 2 / 150e9), CLOSE);
}

/* On leaves and spines ranks keep the links between them. */
Test(execution, groups_keep_the_links_between_them)
{
    const ct_node call[] = {
        {.id = 1, .type = CT_CALL, .comm_type = CT_ALL_REDUCE, .bytes = SIZE, .group = "g"}};
    const char *json = "{\"cluster\": {\"ranks\": 8, \"topology\": {\"kind\": \"leaf-spine\", "
                       "\"leaves\": 2, \"spines\": 2, \"uplink_bandwidth\": 100e9, "
                       "\"hop_latency\": 7e-6}}, \"model\": \"flow\"}";

    ct_chakra_write("j.et", call, 1, CT_WIRE);
    ct_file_write("g.json", "{\"g\": [[1, 2], [0], [3], [4], [5], [6], [7]]}");
    cr_expect_float_eq(ring_iteration(json, "j.et", "g.json"), ring_s(2, (double)SIZE, ALPHA),
                       1e-9);
    ct_file_write("g.json", "{\"g\": [[1, 5], [0], [2], [3], [4], [6], [7]]}");
    cr_expect_float_eq(ring_iteration(json, "j.et", "g.json"),
                       2 * (ALPHA + 2 * 7e-6 + (double)SIZE / 2 / 100e9), 1e-9);
}

/* Two sockets of two GPUs: NVLink inside one, the path between them across. */
Test(execution, groups_keep_their_sockets)
{
    const ct_node call[] = {
        {.id = 1, .type = CT_CALL, .comm_type = CT_ALL_REDUCE, .bytes = SIZE, .group = "g"}};
    const char *json =
        "{\"cluster\": {\"ranks\": 8, \"gpus_per_server\": 4, \"sockets\": 2, \"nvlink\": "
        "{\"bandwidth\": 900e9}, \"cross\": {\"bandwidth\": 30e9, \"alpha\": 2e-6}}}";
    double nvlink_s = 2 * (NV_ALPHA + (double)SIZE / 2 / 900e9);
    double cross_s  = 2 * (2e-6 + (double)SIZE / 2 / 30e9);

    ct_chakra_write("j.et", call, 1, CT_WIRE);
    ct_file_write("g.json", "{\"g\": [[4, 5], [0], [1], [2], [3], [6], [7]]}");
    cr_expect_float_eq(ring_iteration(json, "j.et", "g.json"), nvlink_s, CLOSE);
    ct_file_write("g.json", "{\"g\": [[5, 6], [0], [1], [2], [3], [4], [7]]}");
    cr_expect_float_eq(ring_iteration(json, "j.et", "g.json"), cross_s, CLOSE);
    ct_file_write("g.json", "{\"g\": [[2, 6], [0], [1], [3], [4], [5], [7]]}");
    cr_expect_float_eq(ring_iteration(json, "j.et", "g.json"), ring_s(2, (double)SIZE, ALPHA),
                       CLOSE);
}

/* Faults count from the begin of the iteration on. */
Test(execution, faults_come_and_go)
{
    static const char json[] = "{\"cluster\": {\"ranks\": 8}, \"faults\": [{\"rank\": 2, "
                               "\"slowdown\": 4, \"from\": %g, \"until\": %g}]}";
    double            call   = ring_s(8, (double)SIZE, ALPHA);
    char              text[200];

    ct_chakra_write("a.et", chain, 3, CT_WIRE);
    (void)snprintf(text, sizeof text, json, 0.0, 290e-6);
    cr_expect_float_eq(ring_iteration(text, "a.et", NULL), 500e-6 + call, CLOSE, "over before");
    (void)snprintf(text, sizeof text, json, 290e-6, 10.0);
    double slow_s = ring_iteration(text, "a.et", NULL);
    cr_expect_float_eq(slow_s, 500e-6 + 2 * 7 * (ALPHA + (double)SIZE / 8 / BANDWIDTH * 4), 1e-9);
    (void)snprintf(text, sizeof text, json, 290e-6, 400e-6);
    double part_s = ring_iteration(text, "a.et", NULL);
    cr_expect(part_s > 500e-6 + call && part_s < slow_s);
}

/* Stages one behind the other; a stage sends, goes on, and its port takes one at a time. */
Test(execution, messages)
{
    const ct_node first[] = {
        {.id = 1, .type = CT_COMPUTE, .us = 50},
        {.id = 2, .type = CT_SEND, .peer = 1, .tag = 1, .bytes = 9000000, .deps = {1}},
        {.id = 3, .type = CT_SEND, .peer = 1, .tag = 2, .bytes = 9000000, .deps = {1}},
    };
    const ct_node second[] = {
        {.id = 1, .type = CT_RECEIVE, .peer = 0, .tag = 2, .bytes = 9000000},
        {.id = 2, .type = CT_RECEIVE, .peer = 0, .tag = 1, .bytes = 9000000},
        {.id = 3, .type = CT_COMPUTE, .us = 100, .deps = {2}},
        {.id = 4, .type = CT_COMPUTE, .us = 100, .deps = {1}},
        {.id = 5, .type = CT_SEND, .peer = 2, .bytes = 4500000, .deps = {4}},
    };
    const ct_node third[] = {{.id = 1, .type = CT_RECEIVE, .peer = 1, .bytes = 4500000},
                             {.id = 2, .type = CT_COMPUTE, .us = 10, .deps = {1}}};
    const double  one_s   = ALPHA + 9000000 / BANDWIDTH;

    ct_chakra_write("j.0.et", first, 3, CT_WIRE);
    ct_chakra_write("j.1.et", second, 5, CT_GRAPH);
    ct_chakra_write("j.2.et", third, 2, CT_OBJECTS);
    cs_execution_report r = run("{}", "j.0.et,j.1.et,j.2.et", NULL);
    cr_expect_eq(r.trace.n_messages, 3);
    cr_expect_float_eq(find(&r, "ring", CS_PREDICTION_NONE)->iteration_s,
                       50e-6 + one_s + 200e-6 + ALPHA + 4500000 / BANDWIDTH + 10e-6, CLOSE);
    cr_expect_float_eq(r.bound_s, 200e-6, CLOSE, "the kernels of rank 1 are longer than the chain");
    cs_execution_report_free(&r);
}

Test(execution, ranks_that_wait_without_end_are_named)
{
    const ct_node waits[] = {
        {.id = 1, .type = CT_RECEIVE, .peer = 1, .bytes = 8},
        {.id = 2, .type = CT_CALL, .comm_type = CT_ALL_REDUCE, .bytes = 8, .deps = {1}}};
    const ct_node calls[] = {{.id = 1, .type = CT_CALL, .comm_type = CT_ALL_REDUCE, .bytes = 8},
                             {.id = 2, .type = CT_SEND, .peer = 0, .bytes = 8, .deps = {1}}};
    const char   *paths   = "j.0.et,j.1.et";
    cs_execution_options options = {.paths = &paths, .n_paths = 1};
    cs_execution_report  report  = {0};
    cs_error             err     = {0};

    ct_chakra_write("j.0.et", waits, 2, CT_WIRE);
    ct_chakra_write("j.1.et", calls, 2, CT_WIRE);
    cr_expect_eq(try_run("{}", &options, &report, &err), CS_EINVAL);
    cr_expect_not_null(strstr(err.message, "1 of 2 ranks of a process group enter its call 0"),
                       "%s", err.message);
}

Test(execution, what_runs_instead)
{
    const ct_node nodes[] = {
        {.id = 1, .type = CT_CALL, .comm_type = CT_ALL_REDUCE, .bytes = SIZE},
        {.id = 2, .type = CT_CALL, .comm_type = CT_ALL_GATHER, .bytes = 1 << 20, .deps = {1}},
        {.id = 3, .type = CT_CALL, .comm_type = CT_BROADCAST, .bytes = 1 << 20, .deps = {2}},
    };

    ct_chakra_write("a.et", nodes, 3, CT_WIRE);
    cs_execution_report      r    = run("{\"cluster\": {\"ranks\": 6}}", "a.et", NULL);
    const cs_execution_line *late = find(&r, "stragglar", CS_PREDICTION_STATIC);
    cr_expect_not(late->is_available);
    cr_expect_str_eq(late->reason, "no rank is late in this group");
    cr_expect_eq(find(&r, "ring", CS_PREDICTION_NONE)->n_own, 2, "a Broadcast is no ring's");
    cs_execution_report_free(&r);
}

/* Nothing is called: the default has no name, and nothing goes wrong. */
Test(execution, iterations_without_calls)
{
    const ct_node        kernel  = {.id = 1, .type = CT_COMPUTE, .us = 70};
    const char          *path    = "a.et";
    cs_execution_options options = {.paths = &path, .n_paths = 1};
    cs_execution_report  r       = {0};
    cs_error             err     = {0};
    cs_text              text    = {0};

    ct_chakra_write("a.et", &kernel, 1, CT_WIRE);
    cr_assert_eq(try_run("{}", &options, &r, &err), CS_OK, "%s", err.message);
    cr_expect_float_eq(r.lines[0].iteration_s, 70e-6, CLOSE);
    cr_expect_null(r.defaults);
    cs_execution_table(&r, &text);
    cs_execution_json(&r, &text);
    cr_expect_not(text.failed);
    cs_text_free(&text);
    cs_execution_report_free(&r);
}

/* A baseline that can do none of the calls is none; ranks that come last together are not late. */
Test(execution, baselines_and_stragglers_that_are_none)
{
    ct_node nodes[2] = {
        {.id = 1, .type = CT_COMPUTE, .us = 70},
        {.id = 2, .type = CT_CALL, .comm_type = CT_BROADCAST, .bytes = 8, .deps = {1}}};
    const char          *path    = ".";
    cs_execution_options options = {.paths = &path, .n_paths = 1, .baseline = "ring"};
    cs_execution_report  r       = {0};
    cs_error             err     = {0};
    char                 name[16];

    for (unsigned rank = 0; rank < 4; rank++) {
        (void)snprintf(name, sizeof name, "j.%u.et", rank);
        nodes[0].us = rank < 2 ? 70 : 90;
        ct_chakra_write(name, nodes, 2, CT_WIRE);
    }
    cr_expect_eq(try_run("{}", &options, &r, &err), CS_EINVAL);
    cr_expect_str_eq(err.where, "--baseline");
    options.baseline = NULL;
    err              = (cs_error){0};
    cr_assert_eq(try_run("{}", &options, &r, &err), CS_OK, "%s", err.message);
    cr_expect_eq(r.baseline.n_waited, 1);
    cr_expect_eq(r.baseline.straggler, UINT32_MAX, "two came last");
    cs_execution_report_free(&r);
}

/* A call in which nothing is sent waits for the last of its ranks; roots of configurations are not
 * those of groups. */
Test(execution, calls_of_nothing)
{
    static const char zero[] =
        "{\"workload_graph\": [{\"Id\": 1, \"NodeType\": 4, \"runtime\": %d}, "
        "{\"Id\": 2, \"NodeType\": 7, \"comm_type\": 6, \"comm_size\": 0, "
        "\"data_deps\": [1]}, {\"Id\": 3, \"NodeType\": 4, \"runtime\": 10, "
        "\"data_deps\": [2]}]}";
    char text[400];

    (void)snprintf(text, sizeof text, zero, 50);
    ct_file_write("j.0.et", text);
    (void)snprintf(text, sizeof text, zero, 80);
    ct_file_write("j.1.et", text);
    const char          *path    = "j.0.et,j.1.et";
    cs_execution_options options = {.paths = &path, .n_paths = 1};
    cs_execution_report  r       = {0};
    cs_error             err     = {0};
    cr_assert_eq(try_run("{\"cluster\": {\"ranks\": 2}, \"root\": 1}", &options, &r, &err), CS_OK,
                 "%s", err.message);
    cr_expect_float_eq(r.baseline.end_s, 90e-6, CLOSE);
    cs_execution_report_free(&r);
}

/* What is under way at once is added up, once, whoever it is. */
Test(execution, what_runs_at_once_is_said)
{
    const ct_node call[] = {
        {.id = 1, .type = CT_CALL, .comm_type = CT_ALL_REDUCE, .bytes = SIZE, .group = "g"},
        {.id = 2, .type = CT_CALL, .comm_type = CT_ALL_REDUCE, .bytes = SIZE, .group = "h"}};
    double one_s = ring_s(2, (double)SIZE, ALPHA);

    ct_chakra_write("j.et", call, 1, CT_WIRE);
    ct_file_write("g.json", "{\"g\": [[0, 1], [2, 3], [4, 5]], \"h\": [[0, 2], [1, 3], [4, 5]]}");
    cs_execution_report r = run("{\"cluster\": {\"ranks\": 6}}", "j.et", "g.json");
    cr_expect_float_eq(r.baseline.at_once_s, one_s, CLOSE);
    cr_expect_eq(r.baseline.shared_s, 0);
    cr_expect_not(r.has_shared_links);
    cs_execution_report_free(&r);
    ct_chakra_write("j.et", call, 2, CT_WIRE);
    r = run("{\"cluster\": {\"ranks\": 6}}", "j.et", "g.json");
    cr_expect_float_eq(r.baseline.shared_s, one_s, CLOSE);
    cs_execution_report_free(&r);
}

/* ---- any iteration ---- */

enum { MOST_NODES = 40, N_RANKS = 4 };

/* Nodes that wait for some before them; the same calls on all ranks, other kernels. */
static void make_random(ct_rng *rng, ct_node nodes[MOST_NODES])
{
    static const char *const groups[] = {"0", "in", "over"};

    for (uint64_t i = 0; i < MOST_NODES; i++) {
        nodes[i] = (ct_node){.id = i + 1, .us = ct_below(rng, 200), .type = CT_COMPUTE};
        if (ct_below(rng, 3) == 0) {
            nodes[i].type      = CT_CALL;
            nodes[i].comm_type = CT_ALL_REDUCE;
            nodes[i].bytes     = 1 + ct_below(rng, 1 << 24);
            nodes[i].group     = groups[ct_below(rng, 3)];
        }
        nodes[i].on_cpu = nodes[i].type == CT_COMPUTE && ct_below(rng, 4) == 0;
        for (uint32_t k = 0; k < 3 && i > 0; k++) {
            nodes[i].deps[k] = 1 + ct_below(rng, (uint32_t)i);
        }
    }
}

static void write_ranks(ct_rng *rng, const ct_node *nodes)
{
    ct_node theirs[MOST_NODES];
    char    path[16];

    for (unsigned r = 0; r < N_RANKS; r++) {
        memcpy(theirs, nodes, sizeof theirs);
        for (size_t i = 0; i < MOST_NODES; i++) {
            theirs[i].us += ct_below(rng, 100);
        }
        (void)snprintf(path, sizeof path, "j.%u.et", r);
        ct_chakra_write(path, theirs, MOST_NODES, (ct_form)(r % CT_FORMS));
    }
}

Test(execution, no_schedule_beats_the_bound_and_no_fault_helps_a_chain)
{
    const char *paths   = "j.0.et,j.1.et,j.2.et,j.3.et";
    const char *healthy = "{\"cluster\": {\"ranks\": 4, \"gpus_per_server\": 2}, \"arrivals\": "
                          "{\"late\": [{\"rank\": 1, \"delay\": 150e-6}]}}";
    const char *slow    = "{\"cluster\": {\"ranks\": 4, \"gpus_per_server\": 2}, \"arrivals\": "
                          "{\"late\": [{\"rank\": 1, \"delay\": 150e-6}]}, \"faults\": [{\"rank\": "
                          "2, \"slowdown\": 3, \"from\": 1e-4}]}";
    const char *const names[] = {"ring",         "rhd",   "double_binary_tree",
                                 "hierarchical", "nccl",  "nvls",
                                 "stragglar",    "optcc", "allpairs"};
    ct_rng            rng     = ct_rng_for(170);

    ct_file_write("g.json", "{\"in\": [[0, 1], [2, 3]], \"over\": [[0, 2], [1, 3]]}");
    for (int i = 0; i < 60 / CT_EVERY; i++) {
        ct_node nodes[MOST_NODES];
        make_random(&rng, nodes);
        write_ranks(&rng, nodes);
        cs_execution_options options = {.paths        = &paths,
                                        .n_paths      = 1,
                                        .groups_path  = "g.json",
                                        .algorithms   = names,
                                        .n_algorithms = sizeof names / sizeof names[0]};
        cs_execution_report  reports[2];
        cs_error             err = {0};
        memset(reports, 0, sizeof reports);
        cr_assert_eq(try_run(healthy, &options, &reports[0], &err), CS_OK, "%s", err.message);
        cr_assert_eq(try_run(slow, &options, &reports[1], &err), CS_OK, "%s", err.message);
        cr_expect_leq(reports[0].bound_s, reports[1].bound_s * (1 + CLOSE));
        for (size_t f = 0; f < 2; f++) {
            const cs_execution_report *r = &reports[f];
            cr_expect_gt(r->n_lines, 8);
            for (size_t k = 0; k < r->n_lines && r->lines[k].is_available; k++) {
                cr_expect_geq(r->lines[k].iteration_s, r->bound_s * (1 - 1e-9), "%s",
                              r->lines[k].algorithm);
                cr_expect_geq(r->lines[k].iteration_s, r->compute_s * (1 - 1e-9));
                cr_expect(k == 0 || r->lines[k].place == 0 ||
                          r->lines[k].iteration_s >= r->lines[k - 1].iteration_s * (1 - CLOSE));
            }
        }
        cs_execution_report_free(&reports[0]);
        cs_execution_report_free(&reports[1]);
    }
}

/* A topology whose preset has fewer GPUs by itself, and a fault on one that only the trace has. */
Test(execution, the_trace_says_how_many_ranks)
{
    char path[16];

    for (unsigned r = 0; r < 16; r++) {
        (void)snprintf(path, sizeof path, "j.%u.et", r);
        ct_chakra_write(path, chain, 3, CT_WIRE);
    }
    double whole_s = ring_iteration("{\"cluster\": {\"topology\": \"dgx-h100\"}}", ".", NULL);
    double dead_s  = ring_iteration("{\"cluster\": {\"topology\": \"dgx-h100\"}, \"faults\": "
                                     "[{\"server\": 1, \"nic\": 3, \"slowdown\": null}]}",
                                    ".", NULL);
    cr_expect_gt(dead_s, whole_s);
}

Test(execution, what_is_printed)
{
    cs_text table = {0}, json = {0}, csv = {0}, again = {0};

    ct_chakra_write("a.et", chain, 3, CT_WIRE);
    cs_execution_report r = run("{\"cluster\": {\"ranks\": 8}}", "a.et", NULL);
    cs_execution_table(&r, &table);
    cs_execution_json(&r, &json);
    cs_execution_csv(&r, &csv);
    cs_execution_report_free(&r);
    r = run("{\"cluster\": {\"ranks\": 8}}", "a.et", NULL);
    cs_execution_json(&r, &again);
    cs_execution_report_free(&r);
    cr_expect_not_null(strstr(table.data, "an iteration of 8 ranks, which all do the same"));
    cr_expect_not_null(strstr(table.data, "1 allreduce of 58720256 bytes"));
    cr_expect_not_null(strstr(table.data, "baseline"));
    cr_expect_not_null(strstr(table.data, "best: rhd"));
    cr_expect_not_null(strstr(json.data, "\"algorithm\": \"ring\", \"prediction\": null"));
    cr_expect_not_null(strstr(csv.data, "place,algorithm,prediction,baseline,iteration_s"));
    cr_expect_str_eq(json.data, again.data);
    cs_text_free(&table);
    cs_text_free(&json);
    cs_text_free(&csv);
    cs_text_free(&again);
}

Test(execution, any_allocation_may_fail)
{
    const char          *path    = "a.et";
    const char *const    names[] = {"ring", "stragglar"};
    cs_execution_options options = {
        .paths = &path, .n_paths = 1, .algorithms = names, .n_algorithms = 2};
    cs_status status = CS_ENOMEM;
    long      passes = 0;

    ct_chakra_write("a.et", chain, 3, CT_WIRE);
    for (; passes < 4000 && status == CS_ENOMEM; passes += 1 + passes / 40) {
        cs_config *config = ct_config_of("{\"cluster\": {\"ranks\": 4}, \"arrivals\": {\"late\": "
                                         "[{\"rank\": 1, \"delay\": 150e-6}]}}");
        cs_execution_report r   = {0};
        cs_error            err = {0};
        cs_alloc_fail_after(passes);
        status = cs_execution_whatif(config, &options, &r, &err);
        cs_alloc_fail_after(-1);
        if (status == CS_OK) {
            cs_execution_report_free(&r);
        }
        cs_config_free(config);
    }
    cr_expect_eq(status, CS_OK, "%d", status);
    cr_expect_gt(passes, 50);
}
