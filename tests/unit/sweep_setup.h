/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sweeps of rings into a file, and what the file holds. */
#ifndef CS_TESTS_SWEEP_SETUP_H
#define CS_TESTS_SWEEP_SETUP_H

#include "base/text.h"
#include "campaign/sweep.h"
#include "support/config.h"
#include "support/folder.h"
#include "support/query.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

static char folder[CT_FOLDER_BYTES], path[128], other[128];

static inline void set_up(void)
{
    ct_folder_make(folder);
    snprintf(path, sizeof path, "%s/r.db", folder);
    snprintf(other, sizeof other, "%s/other.db", folder);
}

static inline void tear_down(void)
{
    ct_folder_remove(folder);
}

static inline void axis(cs_config *config, const char *key, const char *json)
{
    char sweep[128];
    snprintf(sweep, sizeof sweep, "sweep.%s", key);
    ct_set(config, sweep, json);
}

/* `n_sizes` sizes on rings of four sizes. */
static inline cs_config *rings(int n_sizes)
{
    cs_config *config = NULL;
    cs_text    sizes  = {0};

    cr_assert_eq(cs_config_new(&config, NULL), CS_OK);
    ct_set(config, "algorithm.name", "ring");
    ct_set(config, "cluster.nic", "{\"bandwidth\": \"400Gb/s\", \"alpha\": \"2us\"}");
    axis(config, "cluster.ranks", "[2, 4, 8, 16]");
    for (int i = 1; i <= n_sizes; i++) {
        cs_text_add(&sizes, "%s%d", i == 1 ? "[" : ", ", 65536 * i);
    }
    cs_text_add(&sizes, "]");
    axis(config, "bytes", sizes.data);
    cs_text_free(&sizes);
    return config;
}

static inline cs_sweep_summary sweep_with(const cs_config *config, const cs_sweep_options *options)
{
    cs_sweep_summary summary = {0};
    cs_error         err     = {0};

    cr_assert_eq(cs_sweep(config, options, &summary, &err), CS_OK, "%s", err.message);
    return summary;
}

static inline cs_sweep_summary sweep_to(const cs_config *config, const char *file, unsigned jobs)
{
    cs_sweep_options options = {.path = file, .jobs = jobs};
    return sweep_with(config, &options);
}

static inline long count(const char *file, const char *condition)
{
    char sql[256];
    snprintf(sql, sizeof sql, "SELECT count(*) FROM results WHERE %s", condition);
    cs_text text = ct_query(file, sql);
    long    n    = atol(text.data);
    cs_text_free(&text);
    return n;
}

/* All columns of all rows, in the order in which they are stored. */
static inline void expect_same_rows(const char *left, const char *right)
{
    cs_text a = ct_query(left, "SELECT * FROM results"),
            b = ct_query(right, "SELECT * FROM results");
    cr_expect_gt(a.length, 0);
    cr_expect_str_eq(a.data, b.data);
    cs_text_free(&a);
    cs_text_free(&b);
}

#endif
