/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of nccl-tests, read back as its parsers do: the last eight fields of every line that
 * is no comment, and some of the comments. */
#include "cs/result.h"
#include "output/result_rows.h"
#include "traces/nccl_tests.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ROWS = 32, MAX_FIELDS = 16 };

typedef struct row {
    char line[256];
    char fields[MAX_FIELDS][32];
    int  n_fields;
} row;

typedef struct table {
    row    rows[MAX_ROWS];
    int    n_rows;
    double avg_busbw;
    int    out_of_bounds;
    char   verdict[16], concluded[64];
} table;

static void read_row(row *r, const char *line)
{
    char copy[256];

    snprintf(r->line, sizeof r->line, "%s", line);
    snprintf(copy, sizeof copy, "%s", line);
    for (char *save = NULL, *word = strtok_r(copy, " ", &save); word != NULL;
         word = strtok_r(NULL, " ", &save)) {
        cr_assert_lt(r->n_fields, MAX_FIELDS);
        snprintf(r->fields[r->n_fields++], sizeof r->fields[0], "%s", word);
    }
}

static table read_table(const char *text)
{
    table t = {.avg_busbw = (double)NAN, .out_of_bounds = -1};

    while (*text != '\0') {
        char   line[256];
        size_t length = strcspn(text, "\n");
        snprintf(line, sizeof line, "%.*s", (int)length, text);
        text += length + (text[length] == '\n');
        if (line[0] == '#') {
            sscanf(line, "# Avg bus bandwidth    : %lf", &t.avg_busbw);
            sscanf(line, "# Out of bounds values : %d %15s", &t.out_of_bounds, t.verdict);
            sscanf(line, "# Collective test concluded: %63s", t.concluded);
        } else {
            cr_assert_lt(t.n_rows, MAX_ROWS);
            read_row(&t.rows[t.n_rows++], line);
        }
    }
    return t;
}

/* Field `index` of the last eight. */
static const char *last(const row *r, int index)
{
    cr_assert_geq(r->n_fields, 8);
    return r->fields[r->n_fields - 8 + index];
}

static cs_scenario scenario_of(uint32_t n_ranks, cs_collective collective)
{
    cs_fabric nic = {.kind = CS_SWITCHED, .alpha_s = 3e-6, .bandwidth_Bps = 50e9};

    return (cs_scenario){
        .collective = collective,
        .bytes      = 1 << 20,
        .cluster    = {.n_ranks = n_ranks, .gpus_per_server = 1, .fabrics = {nic, nic}}};
}

static cs_result result_of(uint64_t bytes, double exposed_s, uint32_t n_ranks)
{
    double algbw = (double)bytes / exposed_s / 1e9;

    return (cs_result){.algorithm       = "ring",
                       .collective      = "allreduce",
                       .model           = "alpha-beta",
                       .ranks           = n_ranks,
                       .bytes           = bytes,
                       .gpus_per_server = 1,
                       .elapsed_s       = exposed_s,
                       .exposed_s       = exposed_s,
                       .closed_form_s   = (double)NAN,
                       .bound_s         = exposed_s / 2,
                       .bound           = "bandwidth",
                       .gap             = 2,
                       .algbw_GBps      = algbw,
                       .busbw_GBps      = algbw * 2 * (n_ranks - 1) / n_ranks,
                       .verified        = true};
}

/* A line of nccl-tests 2.14 on eight H100 (with both halves alike). */
Test(table, a_row_is_the_one_of_nccl_tests_byte_for_byte)
{
    static const char want[] =
        "  1073741824     268435456     float     sum      -1   4253.0  252.47  441.81      0"
        "   4253.0  252.47  441.81      0";
    cs_scenario scenario = scenario_of(8, CS_ALLREDUCE);
    cs_result   r        = result_of(1073741824, 4253.0e-6, 8);
    cs_text     text     = {0};

    r.algbw_GBps = 252.47;
    r.busbw_GBps = 441.81;
    cs_results_nccl_table(&text, &r, 1, &scenario);
    table t = read_table(text.data);
    cr_assert_eq(t.n_rows, 1);
    cr_expect_str_eq(t.rows[0].line, want);
    cr_expect_str_eq(t.concluded, "all_reduce_perf");
    cs_text_free(&text);
}

Test(table, times_lose_decimals_as_they_grow)
{
    static const struct {
        double      time_us;
        const char *text;
    } cases[] = {{8.125, "8.12"},     {84.294, "84.29"}, {100.04, "100.0"}, {1121.44, "1121.4"},
                 {9999.94, "9999.9"}, {10000, "10000"},  {62239.2, "62239"}};
    enum { N = sizeof cases / sizeof cases[0] };
    cs_scenario scenario = scenario_of(8, CS_ALLREDUCE);
    cs_result   results[N];
    cs_text     text = {0};

    for (int i = 0; i < N; i++) {
        results[i] = result_of(1 << 20, cases[i].time_us * 1e-6, 8);
    }
    cs_results_nccl_table(&text, results, N, &scenario);
    table t = read_table(text.data);
    cr_assert_eq(t.n_rows, N);
    for (int i = 0; i < N; i++) {
        cr_expect_str_eq(last(&t.rows[i], 0), cases[i].text);
        cr_expect_str_eq(last(&t.rows[i], 4), cases[i].text);
    }
    cs_text_free(&text);
}

/* What the algorithm says about its choice stands once for all consecutive sizes. */
Test(table, notes_name_the_sizes_they_are_for)
{
    static const char few[] = "too few bytes", fast[] = "the ring is faster";
    cs_scenario       scenario   = scenario_of(8, CS_ALLREDUCE);
    cs_result         results[5] = {0};
    cs_text           text       = {0};

    for (int i = 0; i < 5; i++) {
        results[i] = result_of(UINT64_C(1024) << i, 1e-3, 8);
    }
    results[0].note = few;
    results[1].note = results[2].note = fast;
    results[4].note                   = few;
    cs_results_nccl_table(&text, results, 5, &scenario);
    cr_expect_not_null(strstr(text.data, "\n# note for 1024 B: too few bytes\n"
                                         "# note for 2048 to 4096 B: the ring is faster\n"
                                         "# note for 16384 B: too few bytes\n"
                                         "# Out of bounds"),
                       "%s", text.data);
    cs_text_free(&text);
}

/* Of models that count packets; what they do not count is a dash. */
Test(table, counts_stand_below_the_bounds)
{
    cs_scenario scenario   = scenario_of(8, CS_ALLREDUCE);
    cs_result   results[2] = {result_of(1024, 1e-3, 8), result_of(2048, 1e-3, 8)};
    cs_text     text       = {0};

    results[0].counts = results[1].counts = CS_NO_COUNTS;
    cs_results_nccl_table(&text, results, 2, &scenario);
    cr_expect_null(strstr(text.data, "packets"));
    cs_text_free(&text);
    results[0].counts = (cs_counts){77, 5, 0, CS_NO_COUNT, CS_NO_COUNT};
    results[1].counts = (cs_counts){78, 6, 1, 2, 3};
    cs_results_nccl_table(&text, results, 2, &scenario);
    cr_expect_not_null(
        strstr(
            text.data,
            "\n#       size       packets        pauses         drops         marks    sent again\n"
            "#        (B)\n"
            "#       1024            77             5             0             -             -\n"
            "#       2048            78             6             1             2             3\n"),
        "%s", text.data);
    cs_text_free(&text);
}

Test(table, bandwidths_of_a_simulated_ring)
{
    const cs_algorithm *ring = NULL;
    cs_job              job  = {.scenario = scenario_of(8, CS_ALLREDUCE), .verify = true};
    cs_result           results[4];
    cs_text             text = {0};
    double              sum  = 0;

    cr_assert_eq(cs_algorithm_find("ring", &ring, NULL), CS_OK);
    cs_job_set_algorithm(&job, ring, NULL);
    cs_job_set_model(&job, cs_models[0], NULL);
    for (int i = 0; i < 4; i++) {
        job.scenario.bytes = 1u << (16 + 4 * i);
        cr_assert_eq(cs_job_run(&job, NULL, 0, &results[i], NULL), CS_OK);
    }
    cs_results_nccl_table(&text, results, 4, &job.scenario);
    table t = read_table(text.data);
    cr_assert_eq(t.n_rows, 4);
    for (int i = 0; i < 4; i++) {
        double bytes = 1u << (16 + 4 * i);
        double time  = 14 * (3e-6 + bytes / 8 / 50e9);
        double unit  = time >= 1e-2 ? 1 : time >= 1e-4 ? 0.1 : 0.01;

        cr_expect_eq(strtod(t.rows[i].fields[0], NULL), bytes);
        cr_expect_eq(strtod(t.rows[i].fields[1], NULL), bytes / 4);
        cr_expect_float_eq(strtod(last(&t.rows[i], 0), NULL), time * 1e6, unit * 0.51);
        cr_expect_float_eq(strtod(last(&t.rows[i], 1), NULL), bytes / time / 1e9, 0.0051);
        cr_expect_float_eq(strtod(last(&t.rows[i], 2), NULL), bytes / time / 1e9 * 1.75, 0.0051);
        cr_expect_str_eq(last(&t.rows[i], 3), "0");
        sum += bytes / time / 1e9 * 1.75;
    }
    cr_expect_float_eq(t.avg_busbw, sum / 4, 1e-5 * sum);
    cr_expect_eq(t.out_of_bounds, 0);
    cr_expect_str_eq(t.verdict, "OK");
    cs_text_free(&text);
}

/* The reader of real logs checks size / time = algbw and busbw / algbw = f(ranks) itself. */
Test(table, the_reader_of_nccl_tests_logs_reads_it)
{
    static const uint32_t ranks[] = {3, 8, 100};

    for (int i = 0; i < 3; i++) {
        cs_scenario  scenario = scenario_of(ranks[i], CS_ALLREDUCE);
        cs_result    results[20];
        cs_text      text = {0};
        cs_nccl_log *log  = NULL;
        cs_error     err  = {0};

        for (int k = 0; k < 20; k++) {
            double bytes = 4096 * pow(2, k);
            results[k]   = result_of((uint64_t)bytes, 5e-6 + bytes / 50e9, ranks[i]);
        }
        cs_results_nccl_table(&text, results, 20, &scenario);
        cs_status status = cs_nccl_log_parse(text.data, text.length, "table", 0, &log, &err);
        cr_assert_eq(status, CS_OK, "line %d: %s", err.input_line, err.message);
        cr_expect_eq(log->n_rows, 20);
        cr_expect_eq(log->collective, CS_ALLREDUCE);
        cr_expect_eq(log->n_ranks_listed, ranks[i] <= 16 ? ranks[i] : 0);
        cr_expect_leq(log->n_ranks_low, ranks[i]);
        cr_expect_geq(log->n_ranks_high, ranks[i]);
        for (size_t k = 0; k < log->n_rows; k++) {
            const cs_nccl_timing *timing = &log->rows[k].timings[CS_NCCL_OUT_OF_PLACE];
            cr_expect_eq(log->rows[k].size_bytes, results[k].bytes);
            cr_expect(timing->is_checked);
            cr_expect_float_eq(timing->time_s, results[k].exposed_s, 1.1e-3 * results[k].exposed_s);
        }
        cs_nccl_log_free(log);
        cs_text_free(&text);
    }
}

Test(table, counts_redop_and_root_follow_the_collective)
{
    static const struct {
        cs_collective collective;
        uint64_t      bytes;
        const char   *count, *type, *redop, *root;
    } cases[] = {
        {CS_ALLREDUCE, 1024, "256", "float", "sum", "-1"},
        {CS_ALLGATHER, 1024, "32", "float", "none", "-1"},
        {CS_REDUCESCATTER, 1024, "32", "float", "sum", "-1"},
        {CS_ALLTOALL, 1024, "32", "float", "none", "-1"},
        {CS_BROADCAST, 1024, "256", "float", "none", "5"},
        {CS_REDUCE, 1024, "256", "float", "sum", "5"},
        {CS_ALLREDUCE, 1023, "1023", "int8", "sum", "-1"},
        {CS_ALLGATHER, 1032, "129", "int8", "none", "-1"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cs_scenario scenario = scenario_of(8, cases[i].collective);
        cs_result   r        = result_of(cases[i].bytes, 1e-4, 8);
        cs_text     text     = {0};

        scenario.root = 5;
        cs_results_nccl_table(&text, &r, 1, &scenario);
        table t = read_table(text.data);
        cr_assert_eq(t.n_rows, 1);
        cr_expect_eq(t.rows[0].n_fields, 13);
        cr_expect_str_eq(t.rows[0].fields[1], cases[i].count);
        cr_expect_str_eq(t.rows[0].fields[2], cases[i].type);
        cr_expect_str_eq(t.rows[0].fields[3], cases[i].redop);
        cr_expect_str_eq(t.rows[0].fields[4], cases[i].root);
        cr_expect_str_eq(t.concluded, cs_collectives[cases[i].collective].perf_name);
        cs_text_free(&text);
    }
}

Test(table, wrong_and_unchecked_schedules)
{
    cs_scenario scenario = scenario_of(8, CS_ALLREDUCE);
    cs_result   r[3]     = {result_of(4, 1e-3, 8), result_of(8, 1e-3, 8), result_of(16, 1e-3, 8)};
    cs_text     text     = {0};

    r[1].verified = false;
    r[2].verified = false;
    snprintf(r[2].verdict.text, sizeof r[2].verdict.text, "rank 3 misses rank 1");
    cs_results_nccl_table(&text, r, 3, &scenario);
    table t = read_table(text.data);
    cr_assert_eq(t.n_rows, 3);
    cr_expect_str_eq(last(&t.rows[0], 3), "0");
    cr_expect_str_eq(last(&t.rows[1], 3), "N/A");
    cr_expect_str_eq(last(&t.rows[2], 3), "1");
    cr_expect_str_eq(last(&t.rows[2], 7), "1");
    cr_expect_eq(t.out_of_bounds, 1);
    cr_expect_str_eq(t.verdict, "FAILED");
    cr_expect_not_null(strstr(text.data, "# wrong at 16 B: rank 3 misses rank 1\n"));
    cs_text_free(&text);
}

/* Of a mesh, how many links work at once, unless all do. */
Test(table, the_line_of_a_mesh)
{
    cs_scenario scenario = scenario_of(8, CS_ALLREDUCE);
    cs_result   r        = {.algorithm = "ring", .collective = "allreduce", .model = "alpha-beta"};

    scenario.cluster.gpus_per_server    = 4;
    scenario.cluster.fabrics[CS_NVLINK] = (cs_fabric){CS_DIRECT, 1e-6, 100e9};
    for (uint32_t links = 1; links <= 3; links++) {
        cs_text text = {0};
        char    want[100];
        scenario.cluster.nvlink_concurrent = links;
        (void)snprintf(want, sizeof want, "#  nvlink (direct): alpha 1 us, bandwidth 100 GB/s%s\n",
                       links == 1   ? ", 1 of 3 links of a GPU at once"
                       : links == 2 ? ", 2 of 3 links of a GPU at once"
                                    : "");
        cs_results_nccl_table(&text, &r, 1, &scenario);
        cr_expect_not_null(strstr(text.data, want), "%s", text.data);
        cs_text_free(&text);
    }
}

Test(table, comments_say_what_nccl_tests_cannot)
{
    static const double      arrival_s[4] = {0, 0, 4480e-6, 0};
    static const cs_capacity fault    = {.rank = 1, .slowdown = 2, .from_s = 1e-3, .until_s = 2e-3};
    cs_scenario              scenario = scenario_of(4, CS_ALLREDUCE);
    cs_result                r        = result_of(1 << 20, 50e-6, 4);
    cs_text                  text     = {0};

    scenario.arrival_s  = arrival_s;
    scenario.capacity   = &fault;
    scenario.n_capacity = 1;
    r.elapsed_s         = 4530e-6;
    r.bound_s           = 4500e-6;
    r.gap               = 4530.0 / 4500.0;
    cs_results_nccl_table(&text, &r, 1, &scenario);
    cr_expect_not_null(strstr(text.data, "#  late: rank 2 by 4480 us\n"));
    cr_expect_not_null(strstr(text.data, "#  slow NIC: rank 1 by 2 from 1000 us until 2000 us\n"));
    cr_expect_not_null(strstr(text.data, "#  nic (switched): alpha 3 us, bandwidth 50 GB/s\n"));
    cr_expect_not_null(strstr(text.data,
                              "#    1048576      4530.000             -      4500.000    1.0067  "
                              "bandwidth\n"));
    cs_text_free(&text);
}

typedef struct sample_options {
    uint32_t segments;
    int      order;
} sample_options;

static const cs_field sample_table[] = {
    CS_OPTION_AUTO(sample_options, segments, 1, 4096, "how many"),
    CS_OPTION_CHOICE(sample_options, order, "up|down", "which way"),
    CS_FIELD_END,
};

/* The head has the options of the first row, and what `auto` chose for later ones. */
Test(table, options_that_change_with_the_size_are_said)
{
    static const sample_options options[4] = {{2, 0}, {2, 0}, {7, 0}, {7, 1}};
    cs_scenario                 scenario   = scenario_of(4, CS_ALLREDUCE);
    cs_result                   r[4];
    cs_text                     text = {0};

    for (size_t i = 0; i < 4; i++) {
        r[i]              = result_of((uint64_t)1 << (20 + i), 50e-6, 4);
        r[i].option_table = sample_table;
        memcpy(&r[i].options, &options[i], sizeof options[i]);
    }
    cs_results_nccl_table(&text, r, 4, &scenario);
    const char *first = strstr(text.data, "#  options {\"segments\": 2, \"order\": \"up\"}");
    const char *third =
        strstr(text.data, "#  from the row of 4194304 bytes on: {\"segments\": 7}\n");
    const char *last =
        strstr(text.data, "#  from the row of 8388608 bytes on: {\"order\": \"down\"}\n");
    cr_expect(first != NULL && third > first && last > third, "%s", text.data);
    cr_expect_null(strstr(text.data, "2097152 bytes on"));
    cs_text_free(&text);
}
