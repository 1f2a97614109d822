/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Many iterations over ranks (threads with letter boxes here; tests/validation/mpi_sweep.py has
 * MPI's): the same bytes as one process, printed and in the file, also after a stop; and nobody
 * waits for a rank that cannot work. */
#include "base/alloc.h"
#include "campaign/montecarlo.h"
#include "support/config.h"
#include "support/folder.h"
#include "support/post.h"

#include <criterion/criterion.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char folder[CT_FOLDER_BYTES], one_path[128], many_path[128];

static void set_up(void)
{
    ct_folder_make(folder);
    snprintf(one_path, sizeof one_path, "%s/one.db", folder);
    snprintf(many_path, sizeof many_path, "%s/many.db", folder);
}

static void tear_down(void)
{
    ct_folder_remove(folder);
}

TestSuite(montecarlo_ranks, .init = set_up, .fini = tear_down, .timeout = 120);

/* 5 algorithms, 4 sizes, 6 and 8 ranks; with six ranks the presumed one does not exist. */
static cs_config *forty_scenarios(void)
{
    cs_config *config = NULL;

    cr_assert_eq(cs_config_new(&config, NULL), CS_OK);
    ct_set(config, "cluster", "{\"ranks\": 8, \"nic\": {\"bandwidth\": \"300GB/s\"}}");
    ct_set(config, "algorithm.name", "\"ring\"");
    ct_set(config, "algorithm.options.straggler", "7");
    ct_set(config, "arrivals",
           "{\"distribution\": {\"name\": \"lognormal\", \"mean\": \"1ms\", \"stddev\": \"1ms\"}, "
           "\"straggler\": {\"rank\": 0, \"persistence\": 0.8, \"delay\": \"4ms\"}}");
    ct_set(config, "montecarlo", "{\"prediction\": \"static\"}");
    ct_set(config, "sweep.algorithm.name",
           "[\"ring\", \"rhd\", \"allpairs\", \"broadcast\", \"stragglar\"]");
    ct_set(config, "sweep.bytes", "[1000, 2000, 3000, 1000003]");
    ct_set(config, "sweep.cluster.ranks", "[6, 8]");
    return config;
}

static cs_montecarlo_options options_of(const char *path, unsigned jobs)
{
    return (cs_montecarlo_options){
        .iterations = 600, .jobs = jobs, .confidence = 0.95, .path = path};
}

/* All ranks, and what becomes of them. */
typedef struct crowd {
    const cs_config      *config;
    cs_montecarlo_options options;
    int                   stop_rank; /* stops as soon as it has joined; -1: nobody */
    size_t                stop_at; /* iterations of rank 0's progress: everybody stops; 0: never */
    long                  worker_passes; /* allocations of the others' main threads; -1: all */
    cs_status             status;        /* of rank 0 */
    cs_error              err;
    cs_montecarlo_report  report;
    atomic_size_t         n_other_rows; /* in the reports of others */
    ct_post               post;
} crowd;

typedef struct hand {
    crowd *c;
    int    rank;
} hand;

static volatile sig_atomic_t stops[CT_MOST_POST_RANKS];

static void stop_all(void *user, uint64_t done, uint64_t total)
{
    const crowd *c = user;

    cr_assert_leq(done, total);
    if (c->stop_at > 0 && done >= c->stop_at) {
        stops[0] = 1;
    }
}

static void *run_rank(void *user)
{
    hand                 *h           = user;
    crowd                *c           = h->c;
    cs_transport          transport   = ct_post_transport(&c->post, h->rank);
    cs_ranks             *ranks       = cs_ranks_over(&transport);
    cs_montecarlo_options options     = c->options;
    cs_montecarlo_report  report      = {0};
    cs_error              err         = {0};
    uint64_t              fingerprint = 0;

    options.ranks = ranks;
    options.stop  = &stops[h->rank];
    if (h->rank != 0 && options.path != NULL) {
        options.path = "only rank 0 touches it";
    }
    options.progress = stop_all;
    options.user     = c;
    cs_status status = cs_montecarlo_fingerprint(c->config, &options, &fingerprint, &err);
    status           = cs_ranks_agree(ranks, status, fingerprint, &err);
    if (status == CS_OK) {
        cs_alloc_fail_after(h->rank == 0 ? -1 : c->worker_passes);
        status = cs_montecarlo_run(c->config, &options, &report, &err);
        cs_alloc_fail_after(-1);
    }
    if (h->rank == 0) {
        c->status = status;
        c->err    = err;
        c->report = report;
    } else {
        atomic_fetch_add(&c->n_other_rows, report.n_rows);
        cs_montecarlo_report_free(&report);
    }
    cs_ranks_leave(ranks, 3);
    return NULL;
}

static void run_crowd(crowd *c, int size)
{
    static hand hands[CT_MOST_POST_RANKS];
    pthread_t   threads[CT_MOST_POST_RANKS];

    ct_post_open(&c->post, size);
    for (int i = 0; i < size; i++) {
        stops[i] = i == c->stop_rank;
        hands[i] = (hand){c, i};
        cr_assert_eq(pthread_create(&threads[i], NULL, run_rank, &hands[i]), 0);
    }
    for (int i = 0; i < size; i++) {
        pthread_join(threads[i], NULL);
    }
    ct_post_close(&c->post);
}

static crowd crowd_of(const cs_config *config, unsigned jobs)
{
    return (crowd){.config        = config,
                   .options       = options_of(many_path, jobs),
                   .stop_rank     = -1,
                   .worker_passes = -1};
}

static cs_text json_of(cs_montecarlo_report *report)
{
    cs_text text = {0};

    cs_montecarlo_json(&text, report->rows, report->n_rows, &report->swept);
    cr_assert_not(text.failed);
    cs_montecarlo_report_free(report);
    return text;
}

/* One process: what it prints; its file is one.db. */
static cs_text alone(const cs_config *config, unsigned jobs)
{
    cs_montecarlo_options options = options_of(one_path, jobs);
    cs_montecarlo_report  report  = {0};
    cs_error              err     = {0};

    unlink(one_path);
    cr_assert_eq(cs_montecarlo_run(config, &options, &report, &err), CS_OK, "%s", err.message);
    return json_of(&report);
}

/* Every column of every row, in the order of the file. */
static cs_text file_text(const char *path)
{
    cs_text       text = {0};
    sqlite3      *db   = NULL;
    sqlite3_stmt *rows = NULL;

    cr_assert_eq(sqlite3_open(path, &db), SQLITE_OK);
    cr_assert_eq(sqlite3_prepare_v2(db, "SELECT * FROM montecarlo", -1, &rows, NULL), SQLITE_OK);
    while (sqlite3_step(rows) == SQLITE_ROW) {
        for (int i = 0; i < sqlite3_column_count(rows); i++) {
            if (sqlite3_column_type(rows, i) == SQLITE_FLOAT) {
                cs_text_add(&text, "%a|", sqlite3_column_double(rows, i));
            } else {
                const unsigned char *value = sqlite3_column_text(rows, i);
                cs_text_add(&text, "%s|", value != NULL ? (const char *)value : "NULL");
            }
        }
        cs_text_add(&text, "\n");
    }
    sqlite3_finalize(rows);
    sqlite3_close(db);
    cr_assert_not(text.failed);
    return text;
}

static void expect_same_file(const char *what)
{
    cs_text one = file_text(one_path), many = file_text(many_path);

    cr_assert_not_null(one.data);
    cr_expect_str_eq(many.data, one.data, "%s", what);
    cs_text_free(&one);
    cs_text_free(&many);
}

Test(montecarlo_ranks, the_bytes_are_those_of_one_process)
{
    static const struct {
        int      size;
        unsigned jobs;
    } cases[]         = {{2, 1}, {4, 1}, {3, 2}, {8, 1}};
    cs_config *config = forty_scenarios();
    cs_text    want = alone(config, 1), threaded = alone(config, 2);

    cr_expect_str_eq(threaded.data, want.data);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        crowd c = crowd_of(config, cases[i].jobs);
        unlink(many_path);
        run_crowd(&c, cases[i].size);
        cr_assert_eq(c.status, CS_OK, "%s", c.err.message);
        cr_expect_eq(c.report.count.run, 40);
        cr_expect_eq(c.report.failed, 8);
        cr_expect_not(c.report.count.is_stopped);
        cr_expect_eq(c.n_other_rows, 0);
        cr_expect_eq(c.post.n_left, cases[i].size);
        cr_expect_eq(c.post.n_aborted, 0);
        cs_text got = json_of(&c.report);
        cr_expect_str_eq(got.data, want.data, "case %zu", i);
        expect_same_file("many ranks");
        cs_text_free(&got);
    }
    cr_expect_neq(access("only rank 0 touches it", F_OK), 0);
    cs_text_free(&threaded);
    cs_text_free(&want);
    cs_config_free(config);
}

/* Rank 0 stops in the middle; then other ranks go on, then one process reads what is there. */
Test(montecarlo_ranks, stopped_and_run_again_it_goes_on)
{
    cs_config *config = forty_scenarios();
    cs_text    want   = alone(config, 1);
    crowd      c      = crowd_of(config, 1);

    c.stop_at = 7 * (size_t)600;
    run_crowd(&c, 3);
    cr_assert_eq(c.status, CS_OK, "%s", c.err.message);
    size_t kept = c.report.count.run;
    cr_expect(c.report.count.is_stopped && kept >= 7 && kept < 40, "%zu", kept);
    cr_expect_eq(c.report.n_rows, kept);
    cs_montecarlo_report_free(&c.report);
    c = crowd_of(config, 1);
    run_crowd(&c, 4);
    cr_assert_eq(c.status, CS_OK, "%s", c.err.message);
    cr_expect_eq(c.report.count.done_before, kept);
    cr_expect_eq(c.report.count.run, 40 - kept);
    cs_text got = json_of(&c.report);
    cr_expect_str_eq(got.data, want.data);
    cs_text_free(&got);
    expect_same_file("after a stop");
    c = crowd_of(config, 1);
    run_crowd(&c, 2);
    cr_expect_eq(c.report.count.done_before, 40);
    got = json_of(&c.report);
    cr_expect_str_eq(got.data, want.data);
    cs_text_free(&got);
    cs_text_free(&want);
    cs_config_free(config);
}

/* A worker that was asked to stop gives its scenario up, and the run ends. */
Test(montecarlo_ranks, a_worker_that_stops_ends_it)
{
    cs_config *config = forty_scenarios();
    crowd      c      = crowd_of(config, 1);

    c.options.iterations = 200000;
    c.stop_rank          = 1;
    run_crowd(&c, 2);
    cr_assert_eq(c.status, CS_OK, "%s", c.err.message);
    cr_expect(c.report.count.is_stopped);
    cr_expect_eq(c.report.n_rows, 0);
    cr_expect_eq(c.post.n_aborted, 0);
    cs_montecarlo_report_free(&c.report);
    cs_config_free(config);
}

Test(montecarlo_ranks, a_rank_without_memory_ends_it_and_nobody_waits)
{
    cs_config *config = forty_scenarios();
    cs_status  status = CS_ENOMEM;
    long       passes = 0;

    for (; status != CS_OK && passes < 3000; passes += passes < 30 ? 3 : 300) {
        crowd c              = crowd_of(config, 1);
        c.options.iterations = 1;
        c.options.path       = NULL;
        c.worker_passes      = passes;
        run_crowd(&c, 3);
        status = c.status;
        cr_assert(status == CS_OK || status == CS_ENOMEM || c.post.n_aborted > 0, "%s",
                  c.err.message);
        cr_expect(status != CS_OK || c.report.n_rows == 40);
        cs_montecarlo_report_free(&c.report);
    }
    cr_expect_eq(status, CS_OK);
    cr_expect_gt(passes, 3);
    cs_config_free(config);
}
