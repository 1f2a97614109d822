/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Figures for the tests of their parts: those of the project, and files of a test's own. */
#ifndef CS_TESTS_FIGURE_SETUP_H
#define CS_TESTS_FIGURE_SETUP_H

#include "base/file.h"
#include "figures/figures.h"
#include "support/folder.h"

#include <criterion/criterion.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIGURES COLLSIM_SOURCE_DIR "/configs/figures"

/* Tests need not lie where the program does. */
static inline void find_figures(void)
{
    setenv("COLLSIM_FIGURES", FIGURES, 1);
}

/* The one that takes least time and has references, rules and several runs. */
static const char small_figure[] = "stragglar-5ab";

static inline cs_status compute_figure(const char *name, cs_figure_data *data, cs_error *err)
{
    const cs_figure_request request = {.name = name};

    find_figures();
    return cs_figure_compute(&request, data, err);
}

/* With `n` changes. */
static inline cs_status compute_changed(const char *name, const cs_figure_set *sets, size_t n,
                                        cs_figure_data *data, cs_error *err)
{
    const cs_figure_request request = {.name = name, .sets = sets, .n_sets = n};

    find_figures();
    return cs_figure_compute(&request, data, err);
}

static inline void put_file(const char *folder, const char *name, const char *text)
{
    char     path[256];
    cs_error err = {0};

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    cr_assert_eq(cs_file_write(path, text, strlen(text), &err), CS_OK, "%s", err.message);
}

/* How often a character is in a text. */
static inline size_t count(const char *text, char what)
{
    size_t n = 0;

    for (; *text != '\0'; text++) {
        n += *text == what;
    }
    return n;
}

#endif
