/* SPDX-License-Identifier: GPL-3.0-or-later */
/* AllGathers made of trees, and recursive doubling: completeness, and the rows of the paper's table
 * for four ranks. */
#include "support/oracle.h"

#include <criterion/criterion.h>

static ct_scene scene;

static const char *const names[] = {"ibcast_linear", "ibcast_knomial", "ibcast_btdd", "ibcast_btdh",
                                    "iallgather_rd"};

static ct_stream record(const char *name, uint32_t n)
{
    ct_scene_set(&scene, name, CS_ALLGATHER, n, 1000 * n + 3);
    ct_scene_ready(&scene);
    return ct_stream_record(&scene, 64);
}

Test(mpi_trees, complete_for_every_number_of_ranks)
{
    for (uint32_t i = 0; i < 5 * 70; i++) {
        uint32_t n = 2 + i / 5;
        if (i % 5 == 4 && (n & (n - 1)) != 0) {
            cs_error err = {0};
            ct_scene_set(&scene, names[4], CS_ALLGATHER, n, 4096);
            cr_assert_eq(ct_scene_check(&scene, &err), CS_ENOTSUP);
            continue;
        }
        ct_stream    stream = record(names[i % 5], n);
        ct_judgement j      = ct_judge(&scene.scenario, &scene.plan, &stream);
        uint32_t     blocks = 0;
        cr_assert(j.is_correct, "%s: %s", ct_scene_text(&scene), j.text);
        for (size_t k = 0; k < stream.count; k++) {
            blocks += stream.transfers[k].span;
        }
        cr_assert_eq(blocks, n * (n - 1), "%s", ct_scene_text(&scene));
        cr_assert_leq(stream.transfers[stream.count - 1].round + 1, scene.plan.n_rounds);
        ct_stream_free(&stream);
    }
}

/* Is there such a transfer of the block of `root` in this step? */
static bool has(const ct_stream *stream, uint32_t step, uint32_t root, uint32_t src, uint32_t dst)
{
    for (size_t i = 0; i < stream->count; i++) {
        const cs_transfer *t = &stream->transfers[i];
        if (t->round == step && t->chunk == root && t->src == src && t->dst == dst) {
            return true;
        }
    }
    return false;
}

/* Rows (step, root, src, dst) of table I, as printed or as they must be. */
Test(mpi_trees, rows_of_the_table_for_four_ranks)
{
    static const uint32_t doubling[][4] = {{0, 0, 0, 1}, {0, 1, 1, 0}, {0, 2, 2, 1}, {0, 3, 3, 1},
                                           {1, 0, 0, 2}, {1, 0, 1, 3}, {1, 1, 1, 2}, {1, 1, 0, 3},
                                           {1, 2, 2, 0}, {1, 2, 1, 3}, {1, 3, 3, 2}, {1, 3, 1, 0}};
    static const uint32_t halving[][4]  = {{0, 0, 0, 2}, {0, 1, 1, 3}, {0, 2, 2, 0}, {0, 3, 3, 1},
                                           {1, 0, 0, 1}, {1, 0, 2, 3}, {1, 1, 1, 2}, {1, 1, 3, 0},
                                           {1, 2, 2, 3}, {1, 2, 0, 1}, {1, 3, 3, 0}, {1, 3, 1, 2}};
    static const uint32_t linear[][4]   = {{0, 0, 0, 1}, {1, 0, 0, 2}, {2, 0, 0, 3}, {0, 2, 2, 0},
                                           {1, 2, 2, 1}, {2, 2, 2, 3}, {0, 3, 3, 0}, {2, 1, 1, 3}};
    static const uint32_t knomial[][4]  = {{0, 0, 0, 1}, {0, 3, 3, 0}, {1, 3, 3, 1}, {2, 1, 1, 0}};
    static const uint32_t pairwise[][4] = {{0, 0, 0, 1}, {0, 3, 3, 2}, {1, 0, 0, 2}, {1, 2, 3, 1}};
    static const struct {
        const char *name;
        const uint32_t (*rows)[4];
        size_t n_rows, n_transfers;
    } cases[] = {{"ibcast_btdd", doubling, 12, 12},
                 {"ibcast_btdh", halving, 12, 12},
                 {"ibcast_linear", linear, 8, 12},
                 {"ibcast_knomial", knomial, 4, 12},
                 {"iallgather_rd", pairwise, 4, 8}};

    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        ct_stream stream = record(cases[c].name, 4);
        cr_assert_eq(stream.count, cases[c].n_transfers);
        for (size_t i = 0; i < cases[c].n_rows; i++) {
            const uint32_t *row = cases[c].rows[i];
            cr_assert(has(&stream, row[0], row[1], row[2], row[3]), "%s, row %zu", cases[c].name,
                      i);
        }
        ct_stream_free(&stream);
    }
}
