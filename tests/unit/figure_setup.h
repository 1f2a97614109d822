/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Figures for the tests of their parts. */
#ifndef CS_TESTS_FIGURE_SETUP_H
#define CS_TESTS_FIGURE_SETUP_H

#include "figures/figures.h"

#include <criterion/criterion.h>
#include <stddef.h>

/* The one that takes least time. */
static inline const cs_figure *small_figure(void)
{
    const cs_figure *figure = NULL;

    cr_assert_eq(cs_figure_find("stragglar-5c", &figure, NULL), CS_OK);
    return figure;
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
