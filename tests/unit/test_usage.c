/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Use of ports and links over time: no byte is lost or doubled, whatever the schedule, the model
 * and the width of the bins; by hand for a few messages. The picture is whole, small, the same each
 * time, and says who is late, slow and idle. */
#include "base/alloc.h"
#include "cs/topology.h"
#include "output/port_stats.h"
#include "output/usage.h"
#include "support/scene.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static ct_scene scene;

static void replay(const char *model_name, const cs_observer *observers, size_t n)
{
    cs_job     job = ct_scene_job(&scene, model_name);
    cs_outcome outcome;
    cs_error   err = {0};

    job.verify = false;
    cr_assert_eq(cs_job_replay(&job, observers, n, &outcome, &err), CS_OK, "%s: %s",
                 ct_scene_text(&scene), err.message);
}

/* Which of the rows of ranks has this one, by their spans. */
static size_t group_of(const cs_usage *usage, const cs_usage_panel *p, uint32_t rank)
{
    size_t group = 0;

    while (cs_usage_ranks(usage, p, group * p->each).end <= rank) {
        group++;
    }
    cr_assert_leq(cs_usage_ranks(usage, p, group * p->each).first, rank);
    return group;
}

/* Every row has the bytes of its ports as port_stats.h counts them. */
static void expect_bytes_of_ports(const cs_usage *usage, const cs_port_stats *stats)
{
    const cs_cluster *c = &scene.scenario.cluster;
    uint32_t          n = c->n_ranks;

    for (size_t k = 0; k < usage->n_panels; k++) {
        const cs_usage_panel *p         = &usage->panels[k];
        double                want[160] = {0};
        cr_assert_leq(p->n_rows, 160);
        for (uint32_t r = 0; r < n; r++) {
            bool     is_direct = scene.scenario.cluster.fabrics[p->fabric].kind == CS_DIRECT;
            uint32_t server = cs_server_of(c, r), first = cs_server_first(c, server);
            uint32_t count = is_direct ? cs_server_gpus(c, server) : 1;
            for (uint32_t peer = first; peer < first + count; peer++) {
                size_t row = (size_t)group_of(usage, p, r) * p->each + (peer - first) % p->each;
                want[row] += (double)cs_port_stats_at(stats, p->sends, p->fabric, r, peer)->bytes;
            }
        }
        for (size_t row = 0; row < p->n_rows; row++) {
            cr_assert_float_eq(cs_usage_bytes(usage, p, row), want[row], 1e-9 * want[row] + 1e-6,
                               "%s, panel %zu row %zu", ct_scene_text(&scene), k, row);
            cr_assert(want[row] <= 0 || cs_usage_ports(usage, p, row) > 0);
        }
    }
}

/* Shares times capacity times the bins' widths are the bytes, too. */
static void expect_shares_add_up(const cs_usage *usage)
{
    size_t n_bins = cs_usage_n_bins(usage);

    cr_assert(n_bins > CS_USAGE_BINS / 2 && n_bins <= CS_USAGE_BINS, "%zu bins: %s", n_bins,
              ct_scene_text(&scene));
    for (size_t k = 0; k < usage->n_panels; k++) {
        const cs_usage_panel *p = &usage->panels[k];
        for (size_t row = 0; row < p->n_rows; row++) {
            double bytes = cs_usage_bytes(usage, p, row), sum = 0;
            double capacity_Bps = cs_usage_capacity_Bps(usage, p, row);
            for (size_t b = 0; b < n_bins; b++) {
                double width_s = fmin(usage->bin_s, usage->until_s - (double)b * usage->bin_s);
                sum += cs_usage_share(usage, p, row, b) * capacity_Bps * width_s;
            }
            cr_assert_float_eq(sum, bytes, 1e-9 * bytes + 1e-6, "%s", ct_scene_text(&scene));
        }
    }
}

static void check_scene(const char *model)
{
    cs_usage      usage = {0};
    cs_port_stats stats = {0};

    cr_assert_eq(cs_usage_init(&usage, &scene.scenario, NULL), CS_OK);
    cr_assert_eq(cs_port_stats_init(&stats, &scene.scenario.cluster, NULL), CS_OK);
    const cs_observer observers[] = {cs_usage_observer(&usage), cs_port_stats_observer(&stats)};
    replay(model, observers, 2);
    expect_bytes_of_ports(&usage, &stats);
    expect_shares_add_up(&usage);
    cs_usage_free(&usage);
    cs_port_stats_free(&stats);
}

Test(usage, no_byte_is_lost_for_any_algorithm_and_model)
{
    ct_rng rng = ct_rng_for(41);

    for (size_t a = 0; cs_algorithms[a] != NULL; a++) {
        for (int i = 0; i < 6; i++) {
            ct_scene_random(&scene, cs_algorithms[a], &rng);
            check_scene(i % 3 == 0 ? "alpha-beta" : i % 3 == 1 ? "flow" : "loggp");
        }
    }
}

/* A run that begins with what takes no time has as many bins as any other. */
Test(usage, an_empty_beginning_sets_no_width)
{
    cs_usage usage = {0};

    ct_scene_set(&scene, "ring", CS_ALLREDUCE, 2, 200);
    ct_scene_ready(&scene);
    cr_assert_eq(cs_usage_init(&usage, &scene.scenario, NULL), CS_OK);
    cs_usage_extend(&usage, 0);
    cs_usage_extend(&usage, 0x54p-42);
    cr_expect_gt(cs_usage_n_bins(&usage), CS_USAGE_BINS / 2);
    cr_expect_leq(cs_usage_n_bins(&usage), CS_USAGE_BINS);
    cs_usage_free(&usage);
}

/* 100 B/s, no start-up: rank 0 sends for the whole first half of the time, its neighbour too. */
Test(usage, shares_by_hand)
{
    cs_usage usage = {0};

    ct_scene_set(&scene, "ring", CS_ALLREDUCE, 2, 200);
    scene.scenario.cluster.fabrics[CS_NIC] = (cs_fabric){CS_SWITCHED, 0, 100};
    scene.arrival_s[1]                     = 2;
    scene.scenario.arrival_s               = scene.arrival_s;
    ct_scene_ready(&scene);
    cr_assert_eq(cs_usage_init(&usage, &scene.scenario, NULL), CS_OK);
    const cs_observer observer = cs_usage_observer(&usage);
    replay("alpha-beta", &observer, 1);
    /* Nothing for 2 s, then two steps of 1 s each: 4 s in 256 bins of 2^-6 s. */
    cr_assert_eq(usage.n_panels, 2);
    cr_assert_eq(usage.bin_s, 0x1p-6);
    cr_assert_eq(cs_usage_n_bins(&usage), 256);
    for (size_t b = 0; b < 256; b++) {
        for (size_t row = 0; row < 2; row++) {
            double got = cs_usage_share(&usage, &usage.panels[b % 2], row, b);
            cr_assert_float_eq(got, b < 128 ? 0 : 1, 1e-9, "bin %zu row %zu: %g", b, row, got);
        }
    }
    /* A run that goes on: wider bins, the same bytes, half the shares at the end. */
    cs_usage_extend(&usage, 5);
    cr_assert_eq(usage.bin_s, 0x1p-5);
    cr_assert_eq(cs_usage_n_bins(&usage), 160);
    cr_assert_float_eq(cs_usage_bytes(&usage, &usage.panels[0], 0), 200, 1e-9);
    cr_assert_float_eq(cs_usage_share(&usage, &usage.panels[0], 0, 64), 1, 1e-9);
    cr_assert_eq(cs_usage_share(&usage, &usage.panels[0], 0, 130), 0);
    cs_usage_free(&usage);
}

/* What passes an uplink is what leaves its leaf over its spine. */
Test(usage, links_between_ports)
{
    const cs_leaf_spine shape = {
        .n_leaves = 2, .n_spines = 2, .uplink_bandwidth_Bps = 1e9, .hop_latency_s = 1e-6};
    cs_link     links[8];
    cs_topology topology;
    cs_usage    usage = {0};

    cs_leaf_spine_make(&shape, links, &topology);
    ct_scene_set(&scene, "ring", CS_ALLGATHER, 8, 8000);
    scene.scenario.cluster.topology = &topology;
    ct_scene_ready(&scene);
    cr_assert_eq(cs_usage_init(&usage, &scene.scenario, NULL), CS_OK);
    const cs_observer observer = cs_usage_observer(&usage);
    replay("flow", &observer, 1);
    const cs_usage_panel *p = &usage.panels[usage.n_panels - 1];
    cr_assert(p->is_links);
    cr_assert_eq(p->n_rows, 8);
    /* The ring leaves leaf 0 from 3 to 4 and leaf 1 from 7 to 0, both over spine 1: 7 blocks. */
    const double want[] = {0, 0, 7000, 7000, 0, 0, 7000, 7000};
    for (size_t row = 0; row < 8; row++) {
        cr_expect_float_eq(cs_usage_bytes(&usage, p, row), want[row], 1e-6, "link %zu", row);
        cr_expect_eq(cs_usage_capacity_Bps(&usage, p, row), 1e9);
    }
    cs_usage_free(&usage);
}

/* Few rows whatever the number of ranks, and all ranks in them. */
Test(usage, many_ranks_share_rows)
{
    static const uint32_t shapes[][2] = {{8, 1},  {80, 1},   {81, 1},    {1024, 1}, {64, 4},
                                         {96, 3}, {1024, 8}, {256, 256}, {12, 6}};

    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        cs_usage usage = {0};
        ct_scene_set(&scene, "ring", CS_ALLREDUCE, shapes[i][0], 1 << 20);
        scene.scenario.cluster.gpus_per_server = shapes[i][1];
        cr_assert_eq(cs_usage_init(&usage, &scene.scenario, NULL), CS_OK);
        cr_expect_leq(usage.n_rows, CS_USAGE_MOST_PORT_ROWS);
        for (size_t k = 0; k < usage.n_panels; k++) {
            size_t ports = 0;
            for (size_t row = 0; row < usage.panels[k].n_rows; row++) {
                ports += cs_usage_ports(&usage, &usage.panels[k], row);
            }
            cr_expect_eq(ports, shapes[i][0], "%u ranks, panel %zu", shapes[i][0], k);
        }
        bool is_fine = shapes[i][0] * (shapes[i][1] > 1 ? 4 : 2) <= CS_USAGE_MOST_PORT_ROWS;
        cr_expect_eq(usage.panels[0].per_row == 1, is_fine);
        cr_expect(usage.panels[0].per_row == 1 || shapes[i][0] / shapes[i][1] < 8 ||
                  usage.panels[0].per_row % shapes[i][1] == 0);
        cs_usage_free(&usage);
    }
}

/* The rows that have exactly these ranks. */
static size_t rows_of_span(const cs_usage *usage, uint32_t first, uint32_t end)
{
    const cs_usage_panel *p = &usage->panels[0];
    size_t                n = 0;

    for (size_t row = 0; row < p->n_rows; row++) {
        cs_usage_span span = cs_usage_ranks(usage, p, row);
        n += span.first == first && span.end == end;
    }
    return n;
}

/* However many ranks there are: a late rank and a slow server stand alone, and no port is lost. */
Test(usage, late_and_slow_ranks_have_rows_of_their_own)
{
    cs_usage usage  = {0};
    double  *late_s = cs_calloc(1024, sizeof *late_s);

    ct_scene_set(&scene, "ring", CS_ALLREDUCE, 1024, 1 << 20);
    scene.scenario.cluster.gpus_per_server = 4;
    late_s[701]                            = 1e-3;
    scene.scenario.arrival_s               = late_s;
    scene.capacity[0]                      = (cs_capacity){.rank = 34, .slowdown = 2, .until_s = 9};
    scene.capacity[1] = (cs_capacity){.rank = 1023, .slowdown = 4, .until_s = 9, .is_single = true};
    scene.scenario.capacity   = scene.capacity;
    scene.scenario.n_capacity = 2;
    cr_assert_eq(cs_usage_init(&usage, &scene.scenario, NULL), CS_OK);
    cr_expect_eq(rows_of_span(&usage, 701, 702), 1);
    cr_expect_eq(rows_of_span(&usage, 32, 36), 1, "the whole server of rank 34");
    cr_expect_eq(rows_of_span(&usage, 1023, 1024), 1);
    cr_expect_gt(usage.panels[0].per_row, 4);
    for (size_t k = 0; k < usage.n_panels; k++) {
        size_t ports = 0;
        for (size_t row = 0; row < usage.panels[k].n_rows; row++) {
            ports += cs_usage_ports(&usage, &usage.panels[k], row);
        }
        cr_expect_eq(ports, 1024, "panel %zu", k);
    }
    cs_usage_free(&usage);
    cs_free(late_s);
}

/* Where all are late, the latest stand alone: at most two more rows for each. */
Test(usage, the_latest_have_rows_of_their_own_where_all_are_late)
{
    cs_usage usage  = {0};
    double  *late_s = cs_calloc(1024, sizeof *late_s);

    ct_scene_set(&scene, "ring", CS_ALLREDUCE, 1024, 1 << 20);
    for (uint32_t rank = 0; rank < 1024; rank++) {
        late_s[rank] = (double)(rank * 389 % 1024) * 1e-6; /* each delay once; nobody's is 1024 */
    }
    scene.scenario.arrival_s = late_s;
    cr_assert_eq(cs_usage_init(&usage, &scene.scenario, NULL), CS_OK);
    for (uint32_t rank = 0; rank < 1024; rank++) {
        bool is_latest = late_s[rank] > (1023.5 - CS_USAGE_MOST_OWN) * 1e-6;
        cr_expect_eq(rows_of_span(&usage, rank, rank + 1) == 1, is_latest, "rank %u", rank);
    }
    cr_expect_leq(usage.n_rows, CS_USAGE_MOST_PORT_ROWS + 4 * CS_USAGE_MOST_OWN);
    cs_usage_free(&usage);
    cs_free(late_s);
}

/* A run and its picture. */
static cs_status picture(cs_text *text)
{
    cs_usage  usage  = {0};
    cs_result result = {0};
    cs_error  err    = {0};
    cs_job    job    = ct_scene_given(&scene, NULL);
    cs_status status = cs_usage_init(&usage, &scene.scenario, &err);

    job.verify                 = false;
    const cs_observer observer = cs_usage_observer(&usage);
    if (status == CS_OK) {
        status = cs_job_run(&job, &observer, 1, &result, &err);
    }
    if (status == CS_OK) {
        status = cs_heatmap_svg(&usage, &result, text, &err);
    }
    cs_usage_free(&usage);
    return status;
}

static size_t count(const char *text, const char *what)
{
    size_t n = 0;

    for (const char *at = strstr(text, what); at != NULL; at = strstr(at + 1, what)) {
        n++;
    }
    return n;
}

/* Area of all cells of a shade, in pixels: "M.. h W v H h .. z" one after the other. */
static double area(const char *svg, int shade)
{
    char   key[32];
    double sum = 0, width, height;

    snprintf(key, sizeof key, "<path class=\"u%d\" d=\"", shade);
    const char *at = strstr(svg, key);
    cr_assert_not_null(at);
    for (at += strlen(key); *at == 'M'; at = strchr(at, 'z') + 1) {
        cr_assert_eq(sscanf(at, "M%*f %*fh%lfv%lf", &width, &height), 2, "%.40s", at);
        sum += width * height;
    }
    return sum;
}

Test(usage, picture_is_whole_and_the_same_each_time)
{
    cs_text first = {0}, second = {0};

    ct_scene_set(&scene, "ring", CS_ALLREDUCE, 2, 200);
    scene.scenario.cluster.fabrics[CS_NIC] = (cs_fabric){CS_SWITCHED, 0, 100};
    scene.arrival_s[1]                     = 2;
    scene.scenario.arrival_s               = scene.arrival_s;
    scene.capacity[0]       = (cs_capacity){.rank = 0, .slowdown = 2, .from_s = 50, .until_s = 60};
    scene.scenario.capacity = scene.capacity;
    scene.scenario.n_capacity = 1;
    ct_scene_ready(&scene);
    cr_assert_eq(picture(&first), CS_OK);
    cr_assert_eq(picture(&second), CS_OK);
    cr_assert_eq(first.length, second.length);
    cr_assert_eq(memcmp(first.data, second.data, first.length), 0);
    cr_assert_not_null(strstr(first.data, "</svg>\n"));
    /* Two ranks sending and receiving: half of the time idle, half of it full; 3 px a bin. */
    cr_assert_float_eq(area(first.data, 0), 4 * 128 * 3 * 18, 1e-6);
    cr_assert_float_eq(area(first.data, 20), 4 * 128 * 3 * 18, 1e-6);
    cr_assert_float_eq(area(first.data, 10), 0, 1e-6);
    cr_assert_eq(count(first.data, "50.0 % in use on average"), 2 + 4);
    cr_assert_eq(count(first.data, "not arrived yet"), 1);
    cr_assert_eq(count(first.data, "<path class=\"h\""), 2, "the late rank sends and receives");
    cr_assert_eq(count(first.data, "slow NIC at some time"), 1);
    cr_assert_eq(count(first.data, "<rect class=\"s\""), 2);
    cs_text_free(&first);
    cs_text_free(&second);
}

Test(usage, pictures_of_many_ranks_are_small)
{
    cs_text text = {0};

    ct_scene_set(&scene, "rhd", CS_ALLREDUCE, 1024, 1 << 30);
    ct_scene_ready(&scene);
    cr_assert_eq(picture(&text), CS_OK);
    cr_assert_lt(text.length, 300000);
    cr_assert_not_null(strstr(text.data, "1024 ports of 450 GB/s"));
    cr_assert_not_null(strstr(text.data, "ranks 0 .. 15"));
    cs_text_free(&text);
}

/* The row of a late rank is named and hatched among 1024; sizes are in the units they are asked in.
 */
Test(usage, pictures_of_many_ranks_show_who_is_late)
{
    cs_text text   = {0};
    double *late_s = cs_calloc(1024, sizeof *late_s);

    ct_scene_set(&scene, "ring", CS_ALLREDUCE, 1024, 3 << 20);
    late_s[700]              = 5e-3;
    scene.scenario.arrival_s = late_s;
    ct_scene_ready(&scene);
    cr_assert_eq(picture(&text), CS_OK);
    cr_expect_eq(count(text.data, ">rank 700</text>"), 2, "sending and receiving");
    cr_expect_eq(count(text.data, "<path class=\"h\""), 2);
    cr_expect_eq(count(text.data, "1024 ranks, 3 MiB, "), 2, "the title, twice");
    cr_expect_eq(count(text.data, "<title>Use of ports over time: allreduce by ring, "), 1);
    cr_expect_null(strstr(text.data, " MB"));
    cs_text_free(&text);
    cs_free(late_s);
}

/* A row of several ranks has what their GPUs drive at once; a row of a pair its link. */
Test(usage, links_that_do_not_work_at_once_are_no_capacity)
{
    for (uint32_t most = 0; most <= 4; most++) {
        for (uint32_t servers = 1; servers <= 64; servers *= 64) {
            cs_usage usage;
            ct_scene_set(&scene, "ring", CS_ALLREDUCE, 4 * servers, 4096);
            scene.scenario.cluster.gpus_per_server         = 4;
            scene.scenario.cluster.fabrics[CS_NVLINK].kind = CS_DIRECT;
            scene.scenario.cluster.nvlink_concurrent       = most;
            cr_assert_eq(cs_usage_init(&usage, &scene.scenario, NULL), CS_OK);
            const cs_usage_panel *p    = &usage.panels[2 * CS_NVLINK];
            double                link = scene.scenario.cluster.fabrics[CS_NVLINK].bandwidth_Bps;
            double each = p->each > 1 ? 1 : p->per_row * (most == 0 || most > 3 ? 3 : most);
            cr_assert_eq(p->each > 1, servers == 1);
            cr_expect_eq(cs_usage_capacity_Bps(&usage, p, 1), each * link, "%u of %u servers", most,
                         servers);
            cs_usage_free(&usage);
        }
    }
}

Test(usage, out_of_memory_is_an_error)
{
    cs_status status = CS_ENOMEM;

    ct_scene_set(&scene, "ring", CS_ALLGATHER, 4, 4096);
    scene.scenario.cluster.gpus_per_server         = 2;
    scene.scenario.cluster.fabrics[CS_NVLINK].kind = CS_DIRECT;
    ct_scene_ready(&scene);
    for (long passes = 0; status == CS_ENOMEM && passes < 10000; passes++) {
        cs_text text = {0};
        cs_alloc_fail_after(passes);
        status = picture(&text);
        cs_alloc_fail_after(-1);
        cr_assert(status == CS_OK || status == CS_ENOMEM);
        cs_text_free(&text);
    }
    cr_assert_eq(status, CS_OK);
}

/* As a user runs it. */
static int run_program(const char *arguments)
{
    char command[512];
    (void)snprintf(command, sizeof command, "%s %s >/dev/null 2>&1", COLLSIM_BINARY, arguments);
    int status = system(command); /* NOLINT(cert-env33-c): the test's own words */
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

Test(usage, command)
{
    char path[] = "/tmp/cs_heatmap_XXXXXX", arguments[256];
    int  fd     = mkstemp(path);

    cr_assert_geq(fd, 0);
    close(fd);
    snprintf(arguments, sizeof arguments, "run -n 4,8 --heatmap %s", path);
    cr_expect_eq(run_program(arguments), 2, "two scenarios have no picture");
    snprintf(arguments, sizeof arguments, "run -n 4 --explain --heatmap %s", path);
    cr_expect_eq(run_program(arguments), 0);
    FILE *file      = fopen(path, "r");
    char  begin[64] = "";
    cr_assert_not_null(file);
    cr_expect_not_null(fgets(begin, sizeof begin, file));
    fclose(file);
    cr_expect_str_eq(begin, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    cr_expect_eq(run_program("run -n 4 --heatmap /nonexistent/x.svg"), 3);
    unlink(path);
}
