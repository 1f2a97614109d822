/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Configurations that are refused, for the tests of their parts. */
#ifndef CS_TESTS_CONFIG_SETUP_H
#define CS_TESTS_CONFIG_SETUP_H

#include "support/config.h"

#include <criterion/criterion.h>

/* The whole line of the error that building case `index` gives. */
static inline const char *refusal(const cs_config *config, size_t index)
{
    static char text[900];
    cs_case     c   = {0};
    cs_error    err = {0};

    cr_assert_neq(cs_config_case(config, index, &c, &err), CS_OK);
    cr_assert_null(c.json);
    cs_error_text(&err, text, sizeof text);
    return text;
}

#endif
