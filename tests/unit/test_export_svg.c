/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pictures of schedules: the grid's times are those of OptCC's description at p = 5, l = 2 and at
 * p = 7 with two slow ranks; what is drawn is complete, stays in the picture and is the same each
 * time; what is too large or wrong is refused. */
#include "base/alloc.h"
#include "output/grid.h"
#include "output/tracks.h"
#include "schedules/export.h"
#include "study/config.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct job {
    cs_config *config;
    cs_case    c;
} job;

static void set(job *j, const char *key, const char *value)
{
    cs_error err = {0};
    cr_assert_eq(cs_config_set(j->config, key, value, key, &err), CS_OK, "%s: %s", key,
                 err.message);
}

/* 100 B/s and no alpha: a section of 100 bytes takes 1 s. */
static job new_job(const char *algorithm, const char *ranks, const char *bytes)
{
    job      j   = {0};
    cs_error err = {0};

    cr_assert_eq(cs_config_new(&j.config, &err), CS_OK);
    set(&j, "algorithm.name", algorithm);
    set(&j, "cluster.ranks", ranks);
    set(&j, "bytes", bytes);
    set(&j, "cluster.nic.bandwidth", "100");
    set(&j, "cluster.nic.alpha", "0s");
    return j;
}

static void open_job(job *j)
{
    cs_error err = {0};

    cr_assert_eq(cs_config_case(j->config, 0, &j->c, &err), CS_OK, "%s: %s", err.where,
                 err.message);
}

static void close_job(job *j)
{
    cs_case_free(&j->c);
    cs_config_free(j->config);
}

static job optcc_5(void)
{
    job j = new_job("optcc", "5", "1200");

    set(&j, "faults[]", "{\"rank\": 0, \"slowdown\": 2}");
    set(&j, "algorithm.options.rounds", "4");
    open_job(&j);
    return j;
}

static job optcc_7(void)
{
    job j = new_job("optcc", "7", "1000");

    set(&j, "faults[]", "{\"rank\": 0, \"slowdown\": 2}");
    set(&j, "faults[]", "{\"rank\": 1, \"slowdown\": 2}");
    set(&j, "algorithm.options.rounds", "3");
    open_job(&j);
    return j;
}

static const char letters[CS_GRID_STAGES + 1] = "grxuRxDdxxxxxxx";

/* What a rank sends in every second, as OptCC's description prints it: destination and stage
 * (r S1, g S4, u S2, d S3; R and D: the special section's way to the slow rank and back), '.' for
 * nothing. */
static void print_sent(const cs_grid *grid, uint32_t rank, char *text, size_t columns)
{
    memset(text, '.', 2 * columns);
    text[2 * columns] = '\0';
    for (size_t i = 0; i < grid->recording.n_transfers; i++) {
        const cs_transfer *t    = &grid->recording.transfers[i];
        const cs_interval *when = &grid->recording.intervals[i];
        for (long s = lround(when->start_s); t->src == rank && s < lround(when->end_s); s++) {
            cr_assert_lt((size_t)s, columns);
            cr_assert_eq(text[2 * s], '.', "rank %u sends twice at %ld", rank, s);
            text[2 * s]     = (char)('0' + t->dst);
            text[2 * s + 1] = letters[grid->stages[i]];
        }
    }
}

static bool grid_is(job *j, const char *const *wanted, size_t n_ranks, size_t columns)
{
    cs_grid  grid = {0};
    cs_error err  = {0};
    char     text[128];
    bool     is_same = true;

    cr_assert_eq(cs_grid_fill(&grid, &j->c.job, &err), CS_OK, "%s", err.message);
    cr_assert_float_eq(grid.result.elapsed_s, (double)columns, 1e-9);
    for (uint32_t r = 0; r < n_ranks; r++) {
        print_sent(&grid, r, text, columns);
        is_same = is_same && strcmp(text, wanted[r]) == 0;
    }
    cs_grid_free(&grid);
    return is_same;
}

/* Typed from the description: p = 5, l = 2, 4 rounds, 12 sections, 32 s. */
static const char *const grid_5[] = {
    "2d2d3d3d4d4d1d1d2d2d3d3d4d4d1d1d2d2d3d3d4d4d1D1D................",
    "....2r2r2r0R0R......2r2g2r2g2r2g0u0u2r2g2r2g2r2g0u0u2g2g2g......",
    "3r......3r3r3g3r0u0u....3r3g3r3g3r3g0u0u3r3g3r3g3g..0u0u3g3g....",
    "4r4r........4r4g4r4g4r0u0u..4r4g4r4g4r4g0u0u4r4g4g4g....0u0u4g..",
    "1r1r1r..........1r1g1r1g1r1g0u0u1r1g1r1g1r1g0u0u1g1g1g......0u0u"};

Test(export_svg, grid_of_one_slow_rank)
{
    job j = optcc_5();

    cr_assert(grid_is(&j, grid_5, 5, 32));
    close_job(&j);
}

Test(export_svg, a_wrong_grid_is_noticed)
{
    job         j = optcc_5();
    const char *wrong[5];

    memcpy(wrong, grid_5, sizeof wrong);
    wrong[3] = "4r4r........4r4g4r4g4r0u0u..4r4g4r4g4g4r0u0u4r4g4g4g....0u0u4g..";
    cr_assert_not(grid_is(&j, wrong, 5, 32));
    close_job(&j);
}

Test(export_svg, grid_of_two_slow_ranks)
{
    static const char *const wanted[] = {
        "4d4d5d5d6d6d2d2d3d3d4d4d5d5d6d6d..2d2d..3d3d............................",
        "....4d4d5d5d6d6d2d2d3d3d4d4d5d5d6d6d..2d2d..3d3d........................",
        "..3r3r3r................3r3g3r3g3r3g3r3g0u0u1u1u3r3g3g3g3g..0u0u1u1u....",
        "........4r4r4r4r............4r4g4r4g4r4g4r4g0u0u1u1u4g4g4g4g....0u0u1u1u",
        "............5r5r5g5r5r0u0u1u1u..5r5g5r5g5r5g5r5g0u0u1u1u5g5g5g..........",
        "6r..............6r6g6r6g6r6r0u0u1u1u6r6g6r6g6r6g6g..0u0u1u1u6g6g........",
        "2r2r................2r2g2r2g2r2r2g0u0u1u1u2r2g2r2g2g2g..0u0u1u1u2g......"};
    job j = optcc_7();

    cr_assert(grid_is(&j, wanted, 7, 36));
    close_job(&j);
}

static size_t count(const char *text, const char *what)
{
    size_t n = 0;

    for (const char *at = text; (at = strstr(at, what)) != NULL; at += strlen(what)) {
        n++;
    }
    return n;
}

static cs_text draw(const job *j)
{
    cs_text  text = {0};
    cs_error err  = {0};

    cr_assert_eq(cs_export_schedule(&j->c.job, CS_EXPORT_SVG, &text, &err), CS_OK, "%s",
                 err.message);
    return text;
}

/* The number behind `name="` from `at` on. */
static double attribute(const char *at, const char *name)
{
    char key[32];

    snprintf(key, sizeof key, " %s=\"", name);
    const char *found = strstr(at, key);
    cr_assert_not_null(found);
    return strtod(found + strlen(key), NULL);
}

/* Every box lies inside the picture. Returns the sum of their widths. */
static double check_boxes(const char *svg)
{
    double width = attribute(svg, "width"), height = attribute(svg, "height"), total = 0;

    for (const char *at = svg; (at = strstr(at, "<g><rect")) != NULL; at++) {
        double x = attribute(at, "x"), y = attribute(at, "y");
        double w = attribute(at, "width"), h = attribute(at, "height");
        cr_assert(x >= 100 && x + w <= width - 10 && y >= 60 && y + h <= height - 30);
        cr_assert(w > 0 && h > 0);
        total += w;
    }
    return total;
}

Test(export_svg, every_end_of_every_transfer_is_a_box)
{
    job     j   = optcc_5();
    cs_text svg = draw(&j), again = draw(&j);

    /* 12 sections: S1 and S4 of 3 hops each, S2 and S3; two ends each. */
    cr_assert_eq(count(svg.data, "<g><rect"), (size_t)2 * 12 * (3 + 3 + 1 + 1));
    cr_assert_eq(count(svg.data, "<g>"), count(svg.data, "</g>"));
    cr_assert_eq(count(svg.data, "<text"), count(svg.data, "</text>"));
    cr_assert_eq(count(svg.data, "<svg"), 1);
    cr_assert_not_null(strstr(svg.data, "S1: partial sum around the ring"));
    cr_assert_not_null(strstr(svg.data, "32 s</text>"));
    cr_assert_not_null(strstr(svg.data, ">NIC 2 x slower<"));
    cr_assert_eq(count(svg.data, "class=\"slow\""), 2);
    cr_assert_str_eq(svg.data, again.data);
    /* 72 s on ring ports and 24 flows of 2 s, both ends, on an axis of 32 s and 960 pixels. */
    cr_assert_float_eq(check_boxes(svg.data), 2.0 * (72 + 48) * 960 / 32, 20);
    cs_text_free(&svg);
    cs_text_free(&again);
    close_job(&j);
}

Test(export_svg, exchanges_arrivals_and_timed_faults)
{
    job j = new_job("rhd", "4", "400");

    set(&j, "arrivals.late[]", "{\"rank\": 1, \"delay\": \"3s\"}");
    set(&j, "faults[]", "{\"rank\": 2, \"slowdown\": 2, \"from\": \"1s\", \"until\": \"4s\"}");
    open_job(&j);
    cs_text svg  = draw(&j);
    cs_grid grid = {0};

    cr_assert_eq(cs_grid_fill(&grid, &j.c.job, NULL), CS_OK);
    cr_assert_eq(count(svg.data, "<g><rect"), grid.n_bars);
    cr_assert_geq(grid.n_bars, 2 * grid.recording.n_transfers);
    cr_assert_eq(count(svg.data, "class=\"late\""), 2);
    cr_assert_eq(count(svg.data, "class=\"slow\""), 2);
    check_boxes(svg.data);
    cs_grid_free(&grid);
    cs_text_free(&svg);
    close_job(&j);
}

Test(export_svg, several_gpus_a_server_have_rows_for_nvlink)
{
    job j = new_job("ring", "4", "400");

    set(&j, "cluster.gpus_per_server", "2");
    open_job(&j);
    cs_grid grid = {0};

    cr_assert_eq(cs_grid_fill(&grid, &j.c.job, NULL), CS_OK);
    cr_assert_eq(grid.n_rows, 4 * 2 * 2);
    for (size_t i = 0; i < grid.n_bars; i++) {
        const cs_grid_row *row       = &grid.rows[grid.bars[i].row];
        bool               is_inside = row->rank / 2 == grid.bars[i].peer / 2;
        cr_assert_eq(row->fabric, is_inside ? CS_NVLINK : CS_NIC);
        cr_assert_eq(row->n_lanes, 1);
    }
    cs_grid_free(&grid);
    close_job(&j);
}

Test(export_svg, too_large_is_refused)
{
    static const struct {
        const char *ranks, *words;
    } cases[] = {{"65", "at most 64 ranks, not 65"}, {"64", "4000 transfers"}};

    for (size_t i = 0; i < 2; i++) {
        job      j    = new_job("ring", cases[i].ranks, "1000000");
        cs_text  text = {0};
        cs_error err  = {0};
        open_job(&j);
        cr_assert_eq(cs_export_schedule(&j.c.job, CS_EXPORT_SVG, &text, &err), CS_ENOTSUP);
        cr_assert_not_null(strstr(err.message, cases[i].words), "%s", err.message);
        cr_assert_eq(text.length, 0);
        cs_text_free(&text);
        close_job(&j);
    }
}

Test(export_svg, every_allocation_may_fail)
{
    job       j      = optcc_5();
    cs_status status = CS_ENOMEM;

    for (long passes = 0; status != CS_OK; passes++) {
        cs_text  text = {0};
        cs_error err  = {0};
        cr_assert_lt(passes, 500);
        cs_alloc_fail_after(passes);
        status = cs_export_schedule(&j.c.job, CS_EXPORT_SVG, &text, &err);
        cs_alloc_fail_after(-1);
        cr_assert(status == CS_OK || status == CS_ENOMEM, "%s", err.message);
        cs_text_free(&text);
    }
    close_job(&j);
}
