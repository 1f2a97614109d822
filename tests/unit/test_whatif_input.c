/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What-if configurations: presets, traces, and what is refused. */
#include "cs/topology.h"
#include "support/folder.h"
#include "whatif_setup.h"

Test(whatif_input, nccl_timers)
{
    outcome a = run("", "\"preset\": \"nccl\"");
    outcome b = run("", "\"preset\": \"nccl\", \"ib_timeout\": 14, \"ib_retry_count\": 5");
    outcome c = run("", "\"preset\": \"nccl\", \"detect\": \"2s\"");

    EXPECT_NEAR(a.job.timers.detect_s, 7 * 4.096e-6 * 1048576);
    EXPECT_NEAR(b.job.timers.detect_s, 5 * 4.096e-6 * 16384);
    cr_assert_eq(c.job.timers.detect_s, 2);
    static const struct {
        const char *timers;
        double      timeout;
    } versions[] = {{"\"preset\": \"nccl\", \"nccl_version\": \"2.12\"", 16384},
                    {"\"preset\": \"nccl\", \"nccl_version\": \"2.14\"", 262144},
                    {"\"preset\": \"nccl\", \"nccl_version\": \"2.22\"", 262144},
                    {"\"preset\": \"nccl\", \"nccl_version\": \"2.23\"", 1048576}};
    for (size_t i = 0; i < sizeof versions / sizeof versions[0]; i++) {
        outcome of_version = run("", versions[i].timers);
        EXPECT_NEAR(of_version.job.timers.detect_s, 7 * 4.096e-6 * versions[i].timeout);
        release(&of_version);
    }
    release(&a);
    release(&b);
    release(&c);
}

Test(whatif_input, bad_input_is_located)
{
    static const struct {
        const char *json, *error;
    } cases[] = {
        {"{" CLUSTER "}", ":1:1: the key 'job' is missing"},
        {"{\"job\": {\"iterations\": 1, \"bytes\": 1}}", ":1:9: job: the key 'compute' is missing"},
        {"{\"job\": {\"iterations\": 0, \"compute\": 1, \"bytes\": 1}}", ":1:24: job.iterations: "},
        {"{\"job\": {\"iterations\": 1, \"compute\": 1, \"bytes\": 0}}", ":1:50: job.bytes: "},
        {"{" JOB ",\n\"faults\": [{\"rank\": 8, \"slowdown\": 2}]}", ":2:21: faults[0].rank: "},
        {"{" JOB ",\n\"faults\": [{\"rank\": 0}]}", ":2:12: faults[0]: the key 'slowdown'"},
        {"{" JOB ",\n\"faults\": [{\"rank\": 0, \"slowdown\": 0.5}]}",
         ":2:36: faults[0].slowdown: 0.5 is outside"},
        {"{" JOB ",\n\"faults\": [{\"rank\": 0, \"slowdown\": null, \"down\": false}]}",
         ":2:50: faults[0].down: "},
        {"{" JOB ",\n\"faults\": [{\"server\": 0, \"nic\": 1, \"slowdown\": 2}]}",
         ":2:33: faults[0].nic: NIC 1 is not there: server 0 has 1, 0 to 0"},
        {"{" JOB ",\n\"faults\": [{\"server\": 0, \"nic\": 0, \"slowdown\": 2, \"from\": 5},\n"
         "{\"server\": 0, \"nic\": 0, \"slowdown\": 2, \"failover\": \"none\"}]}",
         ":2:12: faults[0]: pool, but none for NIC 0 of server 0"},
        {"{" JOB ",\n\"faults\": [{\"rank\": 0, \"slowdown\": 2, \"from\": 5, \"until\": 5}]}",
         ":2:59: faults[0].until: 5 s is not after"},
        {"{" JOB ",\n\"policies\": [\"iccl\", \"pray\"]}",
         ":2:22: policies[1]: unknown policy 'pray': accepted are healthy, iccl, "},
        {"{" JOB ",\n\"policies\": [3]}",
         ":2:14: policies[0]: is a number: accepted is healthy, iccl, exclude, shrink, restart, "
         "spare, wait or the name"},
        {"{" JOB ",\n\"policies\": []}", ":2:13: policies: names no policy"},
        {"{" JOB ",\n\"timers\": {\"preset\": \"ucx\"}}", ":2:22: timers.preset: unknown word"},
        {"{" JOB ",\n\"timers\": {\"ib_timeout\": 20}}", ":2:26: timers.ib_timeout: belongs to"},
        {"{" JOB ",\n\"timers\": {\"nccl_version\": \"2.12\"}}",
         ":2:28: timers.nccl_version: belongs to"},
        {"{" JOB ",\n\"policies\": [\"iccl\", \"nccl\"]}",
         ":2:22: policies[1]: 'nccl' is what NCCL does about a dead NIC: accepted where"},
        {"{" JOB ",\n\"timers\": {\"detect\": -1}}", ":2:22: timers.detect: "},
        {"{" JOB ",\n\"timer\": {}}", ":2:1: timer: unknown key"},
        {"{" JOB ",\n\"sweep\": {\"job.calls\": [1, 2]}}", ": sweep: a what-if takes one job"},
        {"{" JOB ",\n\"bandwidth_trace\": {\"rank\": 0, \"file\": \"/nonexistent/t\"}}",
         "/nonexistent/t: cannot be opened"},
        {"{" JOB ",\n\"model\": \"guess\"}", ":2:10: model: "},
        {"{" JOB ",\n\"model\": {\"name\": \"guess\"}}", ":2:19: model.name: "},
        {"{" JOB ",\n\"model\": {\"options\": {\"no_such\": 1}}}",
         ":2:23: model.options.no_such: unknown option"},
        {"{" JOB ",\n\"cluster\": {\"ranks\": 6, \"gpus_per_server\": 4}}",
         ":2:44: cluster.gpus_per_server: "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        expect_refused(cases[i].json, cases[i].error);
    }
}

Test(whatif_input, a_trace_is_read_beside_its_configuration)
{
    char     folder[] = "/tmp/collsim-test-whatif-XXXXXX", path[100], json[1000];
    outcome  o        = {0};
    cs_error err      = {0};
    cr_assert_not_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/trace", folder);
    ct_file_write(path, "0 3\n12.5 0.9\n27.5 1.8\n");
    snprintf(json, sizeof json,
             "{" JOB ", " CLUSTER ", \"bandwidth_trace\": {\"rank\": 0, \"file\": \"%s\", "
             "\"scale\": 1e9}}",
             path);
    cr_assert_eq(try_job(json, &o, &err), CS_OK, "%s", err.message);
    EXPECT_NEAR(total(&o, "iccl"), 127.5); /* as with a fault from 12.5 to 27.5 */
    release(&o);
    ct_file_write(path, "0 3\n12.5 zero\n");
    cr_assert_eq(try_job(json, &o, &err), CS_EINVAL);
    cr_assert_eq(err.input_line, 2);
    cr_assert_eq(err.input_column, 6);
    cr_assert_not_null(strstr(err.input, "/trace"));
    unlink(path);
    rmdir(folder);
}

Test(whatif_input, memory_that_runs_out_is_an_error)
{
    outcome o = run("{\"rank\": 0, \"slowdown\": 2, \"from\": 12.6, \"until\": 40}", "");

    cs_whatif_free(&o.report);
    run_without_memory(&o.job);
    release(&o);
}

/* A file is looked for beside the configuration, and means what its object would mean; the job may
 * outlive the configuration; an allocation that fails leaves nothing behind. */
Test(whatif_input, a_topology_may_be_a_file)
{
    static const char shape[]  = "{\"kind\": \"leaf-spine\", \"leaves\": 2, \"spines\": 1, "
                                 "\"uplink_bandwidth\": \"1GB/s\"}";
    static const char server[] = "{\"kind\": \"server\", \"gpus\": 2, \"nics\": 1, \"servers\": 8}";
    char              folder[CT_FOLDER_BYTES], of_server[128], of_shape[128], input[128];
    cs_config        *config = NULL;
    cs_status         status = CS_ENOMEM;
    cs_whatif_job     job    = {0};
    long              passes = 0;

    ct_folder_make(folder);
    (void)snprintf(of_shape, sizeof of_shape, "%s/shape.json", folder);
    (void)snprintf(of_server, sizeof of_server, "%s/server.json", folder);
    (void)snprintf(input, sizeof input, "%s/job.json", folder);
    ct_file_write(of_shape, shape);
    ct_file_write(of_server, server);
    ct_file_write(input, "{" JOB ", \"model\": \"flow\", \"cluster\": {\"ranks\": 16, "
                         "\"topology\": \"shape.json\"}}");
    cr_assert_eq(cs_config_load(input, &config, NULL), CS_OK);
    for (; status != CS_OK && passes < 1000; passes++) {
        cs_alloc_fail_after(passes);
        status = cs_whatif_read(config, &job, NULL);
        cs_alloc_fail_after(-1);
        cr_assert(status == CS_OK || status == CS_ENOMEM || status == CS_EPARSE);
    }
    cr_assert_eq(status, CS_OK);
    cr_expect_not_null(job.call.scenario.cluster.topology);
    cs_whatif_job_free(&job);
    ct_set(config, "cluster", "{\"topology\": {\"kind\": \"file\", \"path\": \"server.json\"}}");
    cr_assert_eq(cs_whatif_read(config, &job, NULL), CS_EIO); /* set: of the working folder */
    cs_config_free(config);
    ct_file_write(input, "{" JOB ", \"model\": \"flow\", \"cluster\": {\"topology\": "
                         "{\"kind\": \"file\", \"path\": \"server.json\"}}}");
    cr_assert_eq(cs_config_load(input, &config, NULL), CS_OK);
    cr_assert_eq(cs_whatif_read(config, &job, NULL), CS_OK);
    cs_config_free(config);
    ct_folder_remove(folder);
    cr_expect_eq(job.call.scenario.cluster.n_ranks, 16);
    cr_expect_eq(job.call.scenario.cluster.fabrics[CS_NIC].bandwidth_Bps, 25e9);
    cr_assert_not_null(job.call.scenario.cluster.topology);
    cr_expect_gt(job.call.scenario.cluster.topology->n_links, 0);
    cs_whatif_job_free(&job);
}
