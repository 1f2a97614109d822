/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Exports: what is written as text, JSON and GOAL, what is refused, memory that runs out. */
#include "base/alloc.h"
#include "export_setup.h"

Test(export, text_of_a_small_ring)
{
    sample  j    = open_sample("ring", "reducescatter", 2, "5");
    cs_text text = export_sample(&j, CS_EXPORT_TEXT);

    cr_assert_str_eq(text.data, "# ring reducescatter: 2 ranks, 5 bytes in 2 chunks, 1 rounds, 2 "
                                "messages\n"
                                "round 0\n"
                                "  0 -> 1  chunk 1  2 bytes  reduce  nic\n"
                                "  1 -> 0  chunk 0  3 bytes  reduce  nic\n");
    cs_text_free(&text);
    text = export_sample(&j, CS_EXPORT_JSON);
    cr_assert_str_eq(text.data,
                     "{\"format\": \"collsim-schedule\", \"version\": 1, \"collective\": "
                     "\"reducescatter\", \"algorithm\": \"ring\",\n"
                     " \"ranks\": 2, \"chunks\": 2, \"bytes\": 5,\n"
                     " \"transfers\": [\n"
                     "{\"round\": 0, \"src\": 0, \"dst\": 1, \"chunk\": 1, \"op\": \"reduce\"},\n"
                     "{\"round\": 0, \"src\": 1, \"dst\": 0, \"chunk\": 0, \"op\": \"reduce\"}\n"
                     "]}\n");
    cs_text_free(&text);
    close_sample(&j);
}

Test(export, formats_have_names)
{
    cs_export_format format;
    cs_error         err = {0};

    cr_assert_eq(cs_export_find("goal", &format, &err), CS_OK);
    cr_assert_eq(format, CS_EXPORT_GOAL);
    cr_assert_eq(cs_export_find("xml", &format, &err), CS_EINVAL);
}

Test(export, refuses_what_is_too_long)
{
    sample   j    = open_sample("ring", "allreduce", 2048, "1G");
    cs_text  text = {0};
    cs_error err  = {0};

    cr_assert_eq(cs_export_schedule(&j.c.job, CS_EXPORT_TEXT, &text, &err), CS_ENOTSUP);
    cr_assert_eq(text.length, 0);
    close_sample(&j);
}

Test(export, survives_every_failed_allocation)
{
    sample j = open_sample("rhd", "allreduce", 4, "1M");

    for (int f = 0; f < CS_EXPORT_COUNT; f++) {
        cs_status status = CS_ENOMEM;
        for (long passes = 0; status != CS_OK; passes++) {
            cs_text  text = {0};
            cs_error err  = {0};
            cr_assert_lt(passes, 1000);
            cs_alloc_fail_after(passes);
            status = cs_export_schedule(&j.c.job, (cs_export_format)f, &text, &err);
            cs_alloc_fail_after(-1);
            cr_assert(status == CS_OK || status == CS_ENOMEM);
            cs_text_free(&text);
        }
    }
    close_sample(&j);
}
