/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two levels against the truth: logs of replays on ports that are known, with noise, give these
 * ports back, and the times on other numbers of servers. */
#include "base/alloc.h"
#include "base/file.h"
#include "study/levels.h"
#include "support/folder.h"
#include "support/program.h"
#include "support/rng.h"
#include "traces/calibration_json.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { GPUS = 4, LEAST = 12, MOST = 30 };

#define NOISE 0.01

static cs_fabric true_ports[CS_FABRICS] = {[CS_NIC]    = {CS_SWITCHED, 4e-6, 20e9},
                                           [CS_NVLINK] = {CS_SWITCHED, 1e-6, 200e9},
                                           [CS_CROSS]  = {CS_SWITCHED, 0, 1e12}};

static cs_job job_on(const char *schedule, cs_collective collective, uint32_t n_ranks,
                     uint32_t gpus, uint64_t bytes)
{
    const cs_algorithm *algorithm = NULL;
    const cs_model     *model     = NULL;
    cs_error            err       = {0};
    cs_job              job       = {.scenario = {.collective = collective,
                                                  .bytes      = bytes,
                                                  .cluster = {.n_ranks = n_ranks, .gpus_per_server = gpus}}};

    memcpy(job.scenario.cluster.fabrics, true_ports, sizeof true_ports);
    cr_assert_eq(cs_algorithm_find(schedule, &algorithm, &err), CS_OK);
    cr_assert_eq(cs_model_find("alpha-beta", &model, &err), CS_OK);
    cs_job_set_algorithm(&job, algorithm, NULL);
    cs_job_set_model(&job, model, NULL);
    cr_assert_eq(cs_job_resolve(&job, &err), CS_OK, "%s", err.message);
    return job;
}

static double replay_s(const char *schedule, cs_collective collective, uint32_t n_ranks,
                       uint32_t gpus, uint64_t bytes)
{
    cs_job     job     = job_on(schedule, collective, n_ranks, gpus, bytes);
    cs_outcome outcome = {0};
    cs_error   err     = {0};

    cr_assert_eq(cs_job_replay(&job, NULL, 0, &outcome, &err), CS_OK, "%s", err.message);
    cs_job_release(&job);
    return outcome.elapsed_s;
}

static double form_s(const char *schedule, cs_collective collective, uint32_t n_ranks,
                     uint32_t gpus, uint64_t bytes)
{
    cs_job       job    = job_on(schedule, collective, n_ranks, gpus, bytes);
    const double time_s = cs_job_closed_form_s(&job);

    cr_assert(isfinite(time_s));
    cs_job_release(&job);
    return time_s;
}

static void add_row(cs_text *text, uint64_t bytes, double time_s, double factor)
{
    const double algbw = (double)bytes / time_s / 1e9;
    char         side[100];

    snprintf(side, sizeof side, " %.9g %.6g %.6g 0", time_s * 1e6, algbw, algbw * factor);
    cs_text_add(text, "%llu %llu float sum -1%s%s\n", (unsigned long long)bytes,
                (unsigned long long)bytes / 4, side, side);
}

/* The log of a schedule on so many ranks of servers with GPUS each, with its Rank lines. */
static void make_log(const char *name, const char *schedule, cs_collective collective,
                     uint32_t n_ranks, double noise, ct_rng *rng)
{
    cs_text        text = {0};
    const uint32_t gpus = n_ranks < GPUS ? n_ranks : GPUS;

    for (uint32_t r = 0; r < n_ranks; r++) {
        cs_text_add(&text, "#  Rank %2u Group  0 Pid %u on node%u device %u [0x07] X100\n", r,
                    r + 1, r / GPUS, r % GPUS);
    }
    cs_text_add(&text, "# Collective test starting: %s\n", cs_collectives[collective].perf_name);
    for (int power = LEAST; power <= MOST; power++) {
        const uint64_t bytes = (uint64_t)1 << power;
        const double   ratio = 1 + ct_uniform(rng, -noise, noise);
        add_row(&text, bytes, ratio * replay_s(schedule, collective, n_ranks, gpus, bytes),
                cs_busbw_factor(collective, n_ranks));
    }
    ct_file_write(name, text.data);
    cs_text_free(&text);
}

TestSuite(levels, .init = ct_folder_enter, .fini = ct_folder_leave);

static cs_calibration *calibrate(const char *const *nvlink, size_t n_nvlink, const char *const *nic,
                                 size_t n_nic, const cs_levels_options *options)
{
    const cs_levels_files files[CS_LEVELS] = {
        [CS_NIC] = {nic, n_nic}, [CS_NVLINK] = {nvlink, n_nvlink}};
    const cs_levels_files any = {NULL, 0};
    cs_calibration       *c   = NULL;
    cs_error              err = {0};

    cr_assert_eq(cs_levels_calibrate(files, &any, options, &c, &err), CS_OK, "%s: %s: %s",
                 err.input, err.where, err.message);
    return c;
}

static void expect_near(double value, double truth, double ratio, const char *what,
                        const char *schedule)
{
    cr_expect_leq(fabs(value / truth - 1), ratio, "%s of %s: %g, not %g", what, schedule, value,
                  truth);
}

/* The ports of both levels are those that the logs were made with; the times on more servers are
 * theirs, and the interval holds them. */
static void recover(const char *schedule, cs_collective collective, double noise, double close)
{
    static const char *const nvlink[] = {"1.log"}, *const nic[] = {"2.log", "4.log"};
    static const uint32_t   servers[] = {3, 8, 16};
    const cs_levels_options options   = {.schedule = schedule};
    ct_rng                  rng       = ct_rng_for((uint64_t)collective + 77);

    make_log("1.log", schedule, collective, GPUS, noise, &rng);
    make_log("2.log", schedule, collective, 2 * GPUS, noise, &rng);
    make_log("4.log", schedule, collective, 4 * GPUS, noise, &rng);
    cs_calibration *c = calibrate(nvlink, 1, nic, 2, &options);

    cr_expect_str_eq(c->schedule, schedule);
    cr_expect_eq(c->levels->gpus_per_server, GPUS);
    cr_expect_eq(c->collective, collective);
    cr_expect(!c->levels->is_any);
    for (uint32_t l = 0; l < CS_LEVELS; l++) {
        const cs_level *level = &c->levels->of[l];
        for (uint64_t message = 1 << 14; message <= 1 << 22; message *= 16) {
            cs_regime    regime;
            const double truth =
                true_ports[l].alpha_s + (double)message / true_ports[l].bandwidth_Bps;
            cr_assert(cs_level_regime(level, message, false, &regime));
            expect_near(cs_line_at(&regime.line, message), truth, close, "a message", schedule);
        }
        expect_near(level->regimes[0].alpha_s, true_ports[l].alpha_s, 2 * close, "alpha", schedule);
        expect_near(level->regimes[level->n_regimes - 1].bandwidth_Bps, true_ports[l].bandwidth_Bps,
                    2 * close, "rate", schedule);
    }
    for (size_t i = 0; i < c->levels->of[CS_NIC].n_logs; i++) {
        const cs_level_log *log = &c->levels->of[CS_NIC].logs[i];
        cr_expect_gt(log->left_out.n, 10, "%s: %zu rows", log->name, log->left_out.n);
        cr_expect_lt(log->left_out.max_ratio, 2 * close, "%s: %g", log->name,
                     log->left_out.max_ratio);
    }
    for (size_t i = 0; i < 3; i++) {
        for (uint64_t bytes = 1 << 20; bytes <= 1 << 30; bytes *= 32) {
            cs_estimate  time_s = {0};
            cs_error     err    = {0};
            const double truth  = replay_s(schedule, collective, servers[i] * GPUS, GPUS, bytes);
            cr_assert_eq(cs_levels_time(c, collective, servers[i], bytes, &time_s, &err), CS_OK,
                         "%s", err.message);
            expect_near(time_s.value, truth, close, "a time", schedule);
            cr_expect(time_s.low * (1 - 1e-9) <= truth && truth <= time_s.high * (1 + 1e-9),
                      "%s, %u servers, %llu B: %g not in %g .. %g", schedule, servers[i],
                      (unsigned long long)bytes, truth, time_s.low, time_s.high);
        }
    }
    cs_calibration_free(c);
}

Test(levels, recovers_the_ports_exactly)
{
    recover("nccl_rings", CS_ALLREDUCE, 0, 1e-6);
    recover("hierarchical", CS_ALLREDUCE, 0, 1e-6);
    recover("parallel_rings", CS_ALLREDUCE, 0, 1e-6);
    recover("nccl_rings", CS_ALLGATHER, 0, 1e-6);
    recover("parallel_rings", CS_REDUCESCATTER, 0, 1e-6);
}

Test(levels, recovers_the_ports_from_noise)
{
    recover("nccl_rings", CS_ALLREDUCE, NOISE, 0.03);
    recover("hierarchical", CS_ALLREDUCE, NOISE, 0.03);
    recover("parallel_rings", CS_ALLREDUCE, NOISE, 0.03);
}

/* A file says all that a prediction needs: it reads back as it was written, and run, whatif and the
 * library say the same of it. */
Test(levels, a_file_of_two_levels)
{
    static const char *const nvlink[] = {"1.log"}, *const nic[] = {"2.log", "4.log"};
    const cs_levels_options options = {.calibrate = {.date = "today"}};
    ct_rng                  rng     = ct_rng_for(5);
    cs_text                 first = {0}, second = {0};
    cs_calibration         *again  = NULL;
    cs_error                err    = {0};
    cs_estimate             time_s = {0};

    make_log("1.log", "nccl_rings", CS_ALLREDUCE, GPUS, NOISE, &rng);
    make_log("2.log", "nccl_rings", CS_ALLREDUCE, 2 * GPUS, NOISE, &rng);
    make_log("4.log", "nccl_rings", CS_ALLREDUCE, 4 * GPUS, NOISE, &rng);
    cs_calibration *c = calibrate(nvlink, 1, nic, 2, &options);
    cs_calibration_json(c, &first);
    ct_file_write("c.json", first.data);
    cr_assert_eq(cs_calibration_load("c.json", &again, &err), CS_OK, "%s: %s", err.where,
                 err.message);
    cs_calibration_json(again, &second);
    cr_expect_str_eq(first.data, second.data);
    cr_assert_eq(cs_levels_time(again, CS_ALLREDUCE, 8, 1 << 28, &time_s, &err), CS_OK);

    json_t *result = ct_program_result(
        "run --calibration c.json -n 32 -g 4 -s 256M -a nccl_rings --format json");
    cr_expect_eq(json_number_value(json_object_get(result, "elapsed_s")), time_s.value);
    json_decref(result);
    cs_calibration_free(c);
    cs_calibration_free(again);
    cs_text_free(&first);
    cs_text_free(&second);

    ct_program_says("run --calibration c.json -n 4 -g 4 -s 256M -a nccl_rings", 0, "268435456");
    ct_program_says("run --calibration c.json -n 8 -g 8 -s 256M -a ring", 0, "268435456");
    ct_program_says("run --calibration c.json -n 32 -g 8 -s 256M", 2,
                    "calibration: not calibrated here: 8 GPUs a server; accepted: 4, as measured");
    ct_program_says("run --calibration c.json -n 32 -g 4 -s 256M -c allgather", 2,
                    "not calibrated here: allgather; accepted: allreduce");
    ct_program_says("run --calibration c.json -n 32 -g 4 -s 1T", 2,
                    "over the NICs on 32 ranks; accepted: about");
    ct_program_says("run --calibration c.json -n 32 -g 4 -s 256M --nvlink-kind direct", 2,
                    "without nvlink.kind direct");
    ct_program_says("calibrate --nvlink 1.log --nic 2.log --servers 2,8", 0,
                    "allreduce by nccl_rings: the time");
    ct_program_says("calibrate --nvlink 1.log --nic 2.log --servers 2,x", 2, "--servers");
    ct_program_says("calibrate -g 4 1.log 2.log 4.log", 0, "4.log, from the other logs alone");
    ct_program_says("whatif --kill-nic 0.1 --topology dgx-a100 -n 16 -g 4 --calibration c.json "
                    "-a nccl_rings",
                    0, "as if nccl_rings ran: the NICs of a server carried");
    ct_program_says("whatif --kill-nic 0.1 --topology dgx-a100 -n 16 -g 4 --calibration c.json "
                    "-a nccl_rings",
                    0, "time  limits   busbw");
}

/* What contradicts itself is refused in one line. */
Test(levels, refusals)
{
    ct_rng rng = ct_rng_for(9);

    make_log("1.log", "nccl_rings", CS_ALLREDUCE, GPUS, 0, &rng);
    make_log("2.log", "nccl_rings", CS_ALLREDUCE, 2 * GPUS, 0, &rng);
    make_log("6.log", "nccl_rings", CS_ALLREDUCE, 2 * GPUS, 0, &rng);
    cs_text text = ct_file_read("2.log");
    for (char *at = text.data; (at = strstr(at, "X100")) != NULL; at++) {
        *at = 'Y';
    }
    ct_file_write("y.log", text.data);
    ct_file_write("bare.log", strstr(text.data, "# Collective"));
    cs_text_free(&text);
    ct_file_write("ran.log",
                  "# collsim-capture 1 collective allreduce schedule allpairs ranks 4 "
                  "machine here\n1048576 262144 float sum -1 100 10.49 15.73 0 N/A N/A N/A N/A\n");

    const struct {
        const char *arguments, *words;
    } cases[] = {
        {"calibrate --nvlink 2.log --nic 2.log", "--nvlink: 2.log spans several servers"},
        {"calibrate --nvlink 2.log -g 4",
         "--nvlink: 2.log spans several servers: 8 ranks on 2 hosts"},
        {"calibrate --nic 1.log --nvlink 1.log", "--nic: 1.log is within one server: 4 ranks"},
        {"calibrate --nic 2.log", "--nvlink: is missing"},
        {"calibrate --nic 2.log --nvlink 1.log -g 2", "-g: 2 GPUs a server, but 1.log has 4"},
        {"calibrate --nic y.log --nvlink 1.log", "measured on Y100, but 1.log on X100"},
        {"calibrate --nic 2.log --nvlink 1.log 6.log", "is it of one server, or of several?"},
        {"calibrate --servers 2 1.log", "--servers: belongs to two levels"},
        {"calibrate --nic 2.log --nvlink 1.log -a broadcast",
         "accepted for allreduce (-a): flat_ring, hierarchical, latency_optimal, "
         "nccl_rings, parallel_rings, ring\n"},
        {"calibrate --nic 2.log --nvlink 1.log -a nothing", "--algorithm: "},
        {"calibrate --nic 2.log --nvlink 1.log -a rhd", "rhd has messages that differ"},
        {"calibrate --nic 2.log --nvlink 1.log -a allpairs", "share a start-up time"},
        {"calibrate --nic 2.log --nvlink 1.log -a double_binary_tree", "chosen by the ports"},
        {"calibrate --nic 2.log --nvlink 1.log -a r2ccl", "--algorithm: r2ccl has messages"},
        {"calibrate --nic 2.log --nvlink 1.log -a optcc", "--algorithm: optcc has messages"},
        {"calibrate --nic 2.log --nvlink 1.log -a binomial",
         "--algorithm: binomial does no allreduce: accepted for it (-a): flat_ring"},
        {"calibrate --nic 2.log --nvlink 1.log --extrapolate",
         "--extrapolate: belongs to one level"},
        {"calibrate --nic 2.log --nvlink 1.log -o x.svg", "accepted for two is a JSON file"},
        {"calibrate --nic 2.log --nvlink none.log", "none.log"},
        {"calibrate --nvlink 1.log --servers 2", "says nothing of NICs"},
        {"calibrate -g 4", "needs logs"},
        {"calibrate --nic bare.log", "-g: nothing says how many GPUs a server of bare.log has"},
        {"calibrate --nic bare.log -g 1 --nic-alpha 3", "--nic-alpha"},
        {"calibrate --nic bare.log -g 1 --nic-alpha 3us",
         "--nic-alpha: is for logs that have rates"},
        {"calibrate --nic 2.log --nvlink 1.log --nic 2.log", "2.log: is given twice"},
        {"calibrate --nic 2.log --nvlink 1.log --hold-out 4", "--hold-out: belongs to one level"},
        {"calibrate --nvlink ran.log -a ring", "ran.log: is a captured run: allpairs has messages"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cs_text said = {0};
        int     code = ct_program(cases[i].arguments, "2>&1 >/dev/null", &said);
        cr_expect_eq(code, cases[i].words[0] == 'n' && strstr(cases[i].words, "none.log") ? 3 : 2,
                     "%s: exit %d", cases[i].arguments, code);
        cr_expect(strstr(said.data, cases[i].words) != NULL, "%s: %s", cases[i].arguments,
                  said.data);
        cr_expect_eq(strchr(said.data, '\n') - said.data + 1, (long)said.length,
                     "%s: several lines", cases[i].arguments);
        cs_text_free(&said);
    }
}

/* Small messages over NICs that are hidden behind NVLink are not seen, but the large ones' regime
 * does not contradict them: it holds for them, too, and the times are right. */
Test(levels, hidden_nics)
{
    static const char *const nvlink[] = {"1.log"}, *const nic[] = {"2.log"};
    const cs_levels_options options = {.schedule = "nccl_rings"};
    ct_rng                  rng     = ct_rng_for(21);

    true_ports[CS_NIC].alpha_s = 1e-6; /* in a step NVLink has three messages, of 1 us each */
    make_log("1.log", "nccl_rings", CS_ALLREDUCE, GPUS, 0, &rng);
    make_log("2.log", "nccl_rings", CS_ALLREDUCE, 2 * GPUS, 0, &rng);
    cs_calibration     *c    = calibrate(nvlink, 1, nic, 1, &options);
    const cs_level     *nics = &c->levels->of[CS_NIC];
    const cs_level_log *log  = &nics->logs[0];

    cr_expect_gt(log->n_unused, 3, "%zu rows are hidden", log->n_unused);
    cr_expect_eq(log->n_points + log->n_unused, MOST - LEAST + 1);
    cr_expect_eq(nics->regimes[0].min_bytes, (1 << LEAST) / (2 * GPUS * GPUS));
    for (uint64_t bytes = 1 << 16; bytes <= 1 << 30; bytes *= 128) {
        cs_estimate time_s = {0};
        cs_error    err    = {0};
        cr_assert_eq(cs_levels_time(c, CS_ALLREDUCE, 8, bytes, &time_s, &err), CS_OK, "%s",
                     err.message);
        expect_near(time_s.value, replay_s("nccl_rings", CS_ALLREDUCE, 8 * GPUS, GPUS, bytes), 1e-6,
                    "a time", "nccl_rings");
    }
    cs_calibration_free(c);
}

static void make_osu(const char *name, const char *title, const char *unit, int least, int most,
                     double (*value_of)(double bytes))
{
    cs_text text = {0};

    cs_text_add(&text, "# OSU MPI-CUDA %s Test v7.2\n# Size  %s\n", title, unit);
    for (int power = least; power <= most; power++) {
        cs_text_add(&text, "%llu %.6f\n", 1ull << power, value_of(ldexp(1, power)));
    }
    ct_file_write(name, text.data);
    cs_text_free(&text);
}

static double latency_us(double bytes)
{
    return 3 + bytes / 20e3;
}

/* Half a microsecond between two messages that are under way. */
static double rate_MBps(double bytes)
{
    return bytes / (0.5 + bytes / 20e3);
}

/* A log of latencies that is left out is left out of the messages that rates become, too: these
 * have another alpha then, or none. */
Test(levels, a_latency_that_is_left_out)
{
    static const char *const nic[]   = {"lat.txt", "bw.txt"};
    cs_levels_options        options = {.gpus_per_server = 1};

    make_osu("lat.txt", "Latency", "Latency (us)", 3, 12, latency_us);
    make_osu("bw.txt", "Bandwidth", "Bandwidth (MB/s)", 3, 24, rate_MBps);
    for (int given = 0; given < 2; given++) {
        options.has_alpha[CS_NIC] = given == 1;
        options.alpha_s[CS_NIC]   = 12e-6;
        cs_calibration     *c     = calibrate(NULL, 0, nic, 2, &options);
        const cs_level_log *log   = &c->levels->of[CS_NIC].logs[0];
        cr_expect_str_eq(log->what, "osu_latency");
        cr_expect_lt(log->fitted.max_ratio, 0.01, "%g", log->fitted.max_ratio);
        cr_expect_eq(log->left_out.n, given == 1 ? 10 : 0, "%zu", log->left_out.n);
        cr_expect(given == 0 || fabs(log->left_out.max_ratio - 3) < 0.1, "%g",
                  log->left_out.max_ratio);
        cs_calibration_free(c);
    }
}

/* Rates of one size have no confidence interval; two sizes are too few, whatever NVLink does. */
Test(levels, tests_of_links)
{
    static const char pairs[] = "Running device_to_device_memcpy_read_ce.\n"
                                "memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)\n"
                                "          0       1\n0  N/A  276.07\n1  259.49  N/A\n\n";

    ct_file_write("pairs.txt", pairs);
    make_osu("two.txt", "Latency", "Latency (us)", 10, 11, latency_us);
    ct_program_says("calibrate --nvlink pairs.txt --nvlink-alpha 2us", 0,
                    "A as given, R the median of the rates, the slowest and the fastest");
    ct_program_says("calibrate --nic two.txt -g 1", 2,
                    "--nic: 2 points of 2 sizes, accepted: 3 sizes or more");
    ct_program_says("calibrate --nic two.txt --nvlink pairs.txt --nvlink-alpha 2us", 2,
                    "--nic: 2 points of 2 sizes, accepted: 3 sizes or more");
}

/* A log of 8192 ranks, and times on as many, for which a single server is replayed: the truth is in
 * closed form. */
Test(levels, very_many_servers, .timeout = 60)
{
    static const char *const nvlink[] = {"1.log"}, *const nic[] = {"n.log"};
    const uint32_t    n       = 8192;
    cs_levels_options options = {.schedule = "nccl_rings", .calibrate.n_ranks = n};
    ct_rng            rng     = ct_rng_for(3);
    cs_text           text    = {0};

    make_log("1.log", "nccl_rings", CS_ALLREDUCE, GPUS, 0, &rng);
    cs_text_add(&text, "# Collective test starting: all_reduce_perf\n");
    for (int power = 20; power <= MOST; power++) {
        const uint64_t bytes = (uint64_t)1 << power;
        add_row(&text, bytes, form_s("nccl_rings", CS_ALLREDUCE, n, GPUS, bytes),
                cs_busbw_factor(CS_ALLREDUCE, n));
    }
    ct_file_write("n.log", text.data);
    cs_text_free(&text);
    cs_calibration *c = calibrate(nvlink, 1, nic, 1, &options);

    for (uint32_t ranks = 64; ranks <= 4 * n; ranks *= 8) {
        const uint64_t bytes  = (uint64_t)ranks << 14;
        cs_estimate    time_s = {0};
        cs_error       err    = {0};
        cr_assert_eq(cs_levels_time(c, CS_ALLREDUCE, ranks / GPUS, bytes, &time_s, &err), CS_OK,
                     "%s", err.message);
        expect_near(time_s.value, form_s("nccl_rings", CS_ALLREDUCE, ranks, GPUS, bytes), 1e-6,
                    "a time", "nccl_rings");
    }
    cs_calibration_free(c);
}

/* A file of several collectives and numbers of ranks: -c chooses, -g sorts, and logs on fewer GPUs
 * than a server has are predicted, not fitted. */
Test(levels, a_file_of_several_logs)
{
    static const cs_collective collectives[] = {CS_ALLREDUCE, CS_ALLGATHER};
    static const uint32_t      ranks[]       = {2, GPUS, 2 * GPUS};
    cs_text                    text          = {0};

    cs_text_add(&text, "{\"devices\": [{\"name\": \"X\"}], \"collectives\": [");
    for (size_t i = 0; i < 6; i++) {
        const cs_collective c = collectives[i / 3];
        const uint32_t      n = ranks[i % 3];
        for (int power = 14; power <= 26; power++) {
            const uint64_t bytes  = (uint64_t)1 << power;
            const double   time_s = replay_s("nccl_rings", c, n, n < GPUS ? n : GPUS, bytes);
            cs_text_add(&text,
                        "%s{\"op\": \"%s\", \"width\": %u, \"bytes\": %llu, \"time_us\": %.6f, "
                        "\"algbw_gbps\": %.6f, \"busbw_gbps\": %.6f}",
                        i == 0 && power == 14 ? "" : ",", cs_collective_name(c), n,
                        (unsigned long long)bytes, time_s * 1e6, (double)bytes / time_s / 1e9,
                        (double)bytes / time_s / 1e9 * cs_busbw_factor(c, n));
        }
    }
    cs_text_add(&text, "]}\n");
    ct_file_write("a.json", text.data);
    cs_text_free(&text);

    ct_program_says("calibrate -g 4 a.json", 2, "a log before it of");
    ct_program_says("calibrate -g 4 -c allgather a.json", 0,
                    "a.json (allgather, 2 ranks): allgather on 2 ranks, 0 points");
    ct_program_says("calibrate -g 4 -c allreduce a.json --servers 8", 0,
                    "a.json (allreduce, 8 ranks): allreduce on 8 ranks, 13 points");
}

Test(levels, out_of_memory)
{
    static const char *const nvlink[] = {"1.log"}, *const nic[] = {"2.log"};
    const cs_levels_files   files[CS_LEVELS] = {[CS_NIC] = {nic, 1}, [CS_NVLINK] = {nvlink, 1}};
    const cs_levels_files   any              = {NULL, 0};
    const cs_levels_options options          = {.calibrate.fit.max_regimes = 1};
    ct_rng                  rng              = ct_rng_for(11);
    cs_status               status           = CS_ENOMEM;

    make_log("1.log", "nccl_rings", CS_ALLREDUCE, GPUS, 0, &rng);
    make_log("2.log", "nccl_rings", CS_ALLREDUCE, 2 * GPUS, 0, &rng);
    for (long passes = 0; status != CS_OK; passes += 1 + passes / 50) {
        cs_calibration *c   = NULL;
        cs_error        err = {0};
        cs_alloc_fail_after(passes);
        status = cs_levels_calibrate(files, &any, &options, &c, &err);
        cs_alloc_fail_after(-1);
        cr_assert(status == CS_OK || status == CS_ENOMEM, "%ld: %d: %s", passes, (int)status,
                  err.message);
        cr_expect_eq(c != NULL, status == CS_OK);
        cs_calibration_free(c);
    }
}
