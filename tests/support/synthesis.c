/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "support/synthesis.h"

#include "base/alloc.h"

#include <criterion/criterion.h>

void ct_logical_servers(cs_logical *l, uint32_t n_fast, uint32_t n_slow)
{
    const cs_logical_kind kinds[] = {{n_fast, 4, 1, 12.5e9, {CS_DIRECT, 5e-6, 100e9}},
                                     {n_slow, 4, 1, 6.25e9, {CS_DIRECT, 5e-6, 50e9}}};

    cr_assert_eq(cs_logical_make(l, kinds, n_slow > 0 ? 2 : 1, 20e-6, NULL), CS_OK);
}

cs_synthesis ct_synthesis(const cs_logical *l, cs_collective collective, cs_synthesizer by)
{
    return (cs_synthesis){.logical      = l,
                          .collective   = collective,
                          .root         = CS_ANY_ROOT,
                          .bytes        = 256 << 20,
                          .n_trees      = 4,
                          .n_moves      = 1000,
                          .seed         = 1,
                          .by           = by,
                          .model        = CS_COST_VOLUME,
                          .solver_s     = 60,
                          .solver_nodes = 2000};
}

void ct_synthesis_without_memory(const cs_synthesis *q, long most)
{
    cs_status status = CS_ENOMEM;

    for (long passes = 0; status != CS_OK; passes++) {
        cs_strategy         s   = {0};
        cs_error            err = {0};
        cs_synthesis_result r;

        cr_assert_lt(passes, most);
        cs_alloc_fail_after(passes);
        status = cs_synthesize(q, &s, &r, &err);
        cs_alloc_fail_after(-1);
        cr_assert(status == CS_OK || status == CS_ENOMEM, "%s", err.message);
        cs_strategy_free(&s);
    }
}
