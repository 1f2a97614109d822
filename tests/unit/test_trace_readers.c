/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What would have helped, over every format of arrivals: `whatif --trace` and `montecarlo` read
 * the same ones, say the same of them, and what has no arrivals is refused by name. */
#include "call_log_setup.h"
#include "campaign/trace_whatif.h"
#include "montecarlo_setup.h"
#include "support/program.h"
#include "traces/arrival_file.h"

#include <sys/stat.h>
#include <zlib.h>

TestSuite(trace_readers, .init = set_up, .fini = tear_down);

#define TRACES COLLSIM_SOURCE_DIR "/traces/"

static void pack(const char *from, const char *to)
{
    cs_text text = ct_file_read(from);
    gzFile  file = gzopen(to, "wb");

    cr_assert_not_null(file);
    cr_assert_eq(gzwrite(file, text.data, (unsigned)text.length), (int)text.length);
    cr_assert_eq(gzclose(file), Z_OK);
    cs_text_free(&text);
}

/* rhd against ring on a trace, once as a what-if and once as iterations. */
static void expect_same(const char *trace_path, uint32_t n_ranks)
{
    static const char *const names[] = {"rhd"};
    const cs_trace_options   options = {.algorithms   = names,
                                        .n_algorithms = 1,
                                        .baseline     = "ring",
                                        .bytes        = 8u << 20,
                                        .period_s     = (double)NAN};
    cs_montecarlo_options    many    = options_of(10000, 1);
    cs_config               *config  = NULL;
    cs_arrival_trace         trace   = {0};
    cs_trace_report          report  = {0};
    cs_error                 err     = {0};
    char                     text[1200];

    cr_assert_eq(cs_arrival_file_load(trace_path, &trace, &err), CS_OK, "%s: %s", trace_path,
                 err.message);
    cr_assert_eq(trace.n_ranks, n_ranks);
    cr_assert_eq(cs_config_new(&config, NULL), CS_OK);
    cr_assert_eq(cs_trace_whatif(config, &trace, &options, &report, &err), CS_OK, "%s",
                 err.message);
    (void)snprintf(text, sizeof text, "{\"path\": \"%s\"}", trace_path);
    ct_set(config, "arrivals.trace", text);
    (void)snprintf(text, sizeof text, "%u", n_ranks);
    ct_set(config, "cluster.ranks", text);
    ct_set(config, "bytes", "8388608");
    ct_set(config, "sweep", "{\"algorithm.name\": [\"ring\", \"rhd\"]}");
    many.takes_fewer                = true;
    cs_montecarlo_report iterations = run(config, &many);
    cr_expect_eq(iterations.rows[1].iterations, trace.n_calls, "%s", trace_path);
    for (size_t i = 0; i < report.n_lines; i++) {
        const cs_trace_line *line = &report.lines[i];
        if (strcmp(line->algorithm, "rhd") == 0) {
            cr_expect_float_eq(line->exposed_s, iterations.rows[1].exposed_s.mean.value, 1e-14,
                               "%s", trace_path);
            cr_expect_float_eq(line->saved_s.value, iterations.rows[1].saved_s.mean.value, 1e-14,
                               "%s", trace_path);
            cr_expect(n_ranks == 2 || fabs(line->saved_s.value) > 0);
        }
    }
    cs_montecarlo_report_free(&iterations);
    cs_config_free(config);
    cs_trace_report_free(&report);
    cs_arrival_trace_free(&trace);
}

Test(trace_readers, every_format_serves_both)
{
    expect_same(TRACES "generated-arrivals8.csv", 8);
    expect_same(TRACES "generated-stragglar4.log", 4);
    expect_same(TRACES "generated-inspector8", 8);
    expect_same(TRACES "generated-recorder4", 4);
    expect_same(TRACES "generated-recorder4/rank_0.json," TRACES
                       "generated-recorder4/rank_1.json," TRACES
                       "generated-recorder4/rank_2.json," TRACES "generated-recorder4/rank_3.json",
                4);
    expect_same(TRACES "generated-kineto2-rank0.json," TRACES "generated-kineto2-rank1.json", 2);
}

/* A folder of compressed logs with other files among them. */
Test(trace_readers, compressed_and_mixed_folders)
{
    char name[300], from[300];

    for (int r = 0; r < 8; r++) {
        (void)snprintf(from, sizeof from, TRACES "generated-inspector8/node%d-pid%d.log", r / 4,
                       4000 + r);
        (void)snprintf(name, sizeof name, "%s/%d.log%s", folder, r, r % 2 == 0 ? ".gz" : "");
        if (r % 2 == 0) {
            pack(from, name);
        } else {
            cs_text text = ct_file_read(from);
            ct_file_write(name, text.data);
            cs_text_free(&text);
        }
    }
    (void)snprintf(name, sizeof name, "%s/README.md", folder);
    ct_file_write(name, "# What is here\n");
    (void)snprintf(name, sizeof name, "%s/all.log", folder);
    cs_text log = ct_file_read(TRACES "generated-ring8.log"); /* of nccl-tests */
    ct_file_write(name, log.data);
    cs_text_free(&log);
    expect_same(folder, 8);

    (void)snprintf(name, sizeof name, "%s/table.csv.gz", folder);
    pack(TRACES "generated-arrivals8.csv", name);
    expect_same(name, 8);
}

Test(trace_readers, what_has_no_arrivals_is_refused_by_name)
{
    static const struct {
        const char *file, *words;
    } cases[] = {
        {TRACES "generated-ring8.log",
         "is a log of nccl-tests, which has no arrivals: 'calibrate' and 'diagnose' read it"},
        {TRACES "generated-ras8-1.json",
         "is a snapshot of NCCL's RAS, which has no arrivals: 'arrivals' alone reads it"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cs_arrival_trace trace = {0};
        cs_error         err   = {0};
        char             arguments[600];
        cr_expect_eq(cs_arrival_file_load(cases[i].file, &trace, &err), CS_EPARSE);
        cr_expect_str_eq(err.message, cases[i].words);
        cr_expect_str_eq(err.input, cases[i].file);
        (void)snprintf(arguments, sizeof arguments, "whatif --trace %s", cases[i].file);
        ct_program_says(arguments, 2, cases[i].words);
        (void)snprintf(arguments, sizeof arguments,
                       "montecarlo %s/configs/montecarlo-trace.json --set "
                       "arrivals.trace.path='\"%s\"'",
                       COLLSIM_SOURCE_DIR, cases[i].file);
        ct_program_says(arguments, 2, cases[i].words);
    }
}

/* Logs with lost records, one file a rank. */
static void write_lossy(void)
{
    cs_text logs[MAX_RANKS] = {{0}};
    plant   p               = usual();

    p.n_calls    = 60;
    p.n_ranks    = 8;
    p.who        = 3;
    p.lost_ratio = 0.05;
    write_logs(&p, logs);
    for (uint32_t r = 0; r < p.n_ranks; r++) {
        char name[128];
        (void)snprintf(name, sizeof name, "%s/%u.log", folder, r);
        ct_file_write(name, logs[r].data);
    }
    free_logs(logs);
}

/* How many calls of how many were partly filled: as many as lack a record of those that are used.
 */
Test(trace_readers, both_say_what_was_filled_in)
{
    cs_arrival_trace         trace   = {0};
    cs_arrival_notes         notes   = {0};
    const cs_arrival_options options = {0};
    const char              *paths[] = {folder};
    plant                    p       = usual();
    size_t n_lost = 0, n_records = 0, n_partly = 0, n_calls = 0, expected = 0, filled = 0;
    char   words[64], arguments[600];

    write_lossy();
    cr_assert_eq(cs_arrival_files_load(paths, 1, &options, &trace, &notes, NULL), CS_OK);
    const char *line = strstr(notes.text.data, "lost: ");
    cr_assert_not_null(line, "%s", notes.text.data);
    cr_assert_eq(sscanf(line, "lost: %zu of %zu records (%*f %%), in %zu of %zu calls", &n_lost,
                        &n_records, &n_partly, &n_calls),
                 4, "%s", line);
    cr_expect_eq(n_calls, trace.n_calls);
    cr_expect_eq(n_records, trace.n_calls * 8);
    uint64_t first = 0,
             last  = 59; /* calls before a rank's first or behind its last record are not used */
    for (uint32_t r = 0; r < 8; r++) {
        uint64_t low = 0, high = 59;
        while (draw(low, r, 3) < 0.05) {
            low++;
        }
        while (draw(high, r, 3) < 0.05) {
            high--;
        }
        first = low > first ? low : first;
        last  = high < last ? high : last;
    }
    for (uint64_t c = first; c <= last; c++) {
        size_t n = 0;
        for (uint32_t r = 0; r < 8; r++) {
            n += draw(c, r, 3) < 0.05;
        }
        expected += n > 0 && n <= 2;
        filled += n <= 2 ? n : 0;
    }
    cr_expect_eq(n_partly, expected);
    cr_expect_eq(n_lost, filled);
    cr_expect_eq(p.first_sn, 1);
    (void)snprintf(words, sizeof words, ", in %zu of %zu calls: ", n_partly, n_calls);
    (void)snprintf(arguments, sizeof arguments, "whatif --trace %s -a rhd", folder);
    ct_program_says(arguments, 0, words);
    (void)snprintf(arguments, sizeof arguments, "whatif --trace %s -a rhd --format json", folder);
    ct_program_says(arguments, 0, words);
    (void)snprintf(arguments, sizeof arguments,
                   "montecarlo %s/configs/montecarlo-trace.json --set "
                   "arrivals.trace.path='\"%s\"' -i 10",
                   COLLSIM_SOURCE_DIR, folder);
    ct_program_says(arguments, 0, words);
    cs_arrival_trace_free(&trace);
    cs_arrival_notes_free(&notes);
}

/* Of a sweep over traces, the notes of each are said once. */
Test(trace_readers, notes_of_a_sweep)
{
    cs_config *config = eight_gpus("ring");
    cs_text    text   = {0};
    char       axis[1200];

    write_lossy();
    ct_set(config, "arrivals.trace", "{\"path\": \"nowhere.csv\"}");
    cs_config_arrival_notes(config, &text);
    cr_expect_null(text.data, "it is not there");
    (void)snprintf(axis, sizeof axis, "[\"%s\", \"%s\", \"%s\"]", TRACES "generated-arrivals8.csv",
                   folder, folder);
    ct_set(config, "sweep.arrivals.trace.path", axis);
    ct_set(config, "sweep.bytes", "[\"1MiB\", \"2MiB\"]");
    cs_config_arrival_notes(config, &text);
    cr_assert_not_null(text.data);
    const char *once = strstr(text.data, "lost: ");
    cr_assert_not_null(once);
    cr_expect_null(strstr(once + 1, "lost: "), "%s", text.data);
    cs_text_free(&text);
    cs_config_free(config);
}
