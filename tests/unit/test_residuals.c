/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The picture of what a calibration leaves over: its script, and the drawing where gnuplot is. */
#include "algorithms/lib/nccl_tuning.h"
#include "base/alloc.h"
#include "calibration_setup.h"
#include "output/residuals.h"

#include <stdlib.h>
#include <string.h>

/* The calibration of `two`, in which 2 KiB took twice as long, 4 MiB 5 % longer. */
static cs_calibration *make_disturbed(void)
{
    cs_calibrate_options options = {.machine = "8 x H100's {^_}", .picks = cs_nccl_pick_text};
    cs_calibration      *c       = NULL;
    cs_nccl_log         *log     = NULL;
    const char          *name    = "made.log";
    cs_text              text    = {0};
    cs_error             err     = {0};

    make_log(&text, "X100");
    cr_assert_eq(cs_nccl_log_parse(text.data, text.length, name, 0, &log, &err), CS_OK);
    log->rows[1].timings[0].time_s *= 2;
    log->rows[12].timings[0].time_s *= 1.05;
    cr_assert_eq(log->rows[12].size_bytes, 4 << 20);
    cr_assert_eq(cs_calibrate_logs((const cs_nccl_log *const *)&log, &name, 1, &options, &c, &err),
                 CS_OK, "%s", err.message);
    cs_nccl_log_free(log);
    cs_text_free(&text);
    return c;
}

Test(residuals, script)
{
    cs_calibration *c      = make_disturbed();
    cs_text         script = {0};
    double          bytes = 0, percent = 0;

    cr_assert_eq(c->n_regimes, 2);
    cr_assert_eq(c->n_outliers, 1);
    cr_assert_eq(cs_residuals_script(c, &script, NULL), CS_OK);
    cr_expect_not_null(strstr(script.data, "allreduce on 8 ranks, 8 x H100''s    "), "%s",
                       script.data);
    const char *outlier = strstr(script.data, "$block2 << END\n");
    cr_assert_not_null(outlier);
    cr_assert_eq(sscanf(outlier, "$block2 << END\n%lf %lf\nEND", &bytes, &percent), 2);
    cr_expect_eq(bytes, 2048);
    const char *largest = strstr(script.data, "\n4194304 ");
    cr_assert_not_null(largest);
    cr_assert_eq(sscanf(largest, "\n4194304 %lf", &percent), 1);
    cr_expect(percent > 3 && percent < 5, "%g", percent);
    cr_expect_not_null(strstr(script.data, "'Ring/LL to NVLS/Simple'"));
    cr_expect_null(strstr(script.data, "nan"));
    cs_text_free(&script);
    cs_free(c->points);
    c->points    = NULL;
    cs_error err = {0};
    cr_expect_eq(cs_residuals_script(c, &script, &err), CS_EINVAL);
    cr_expect_str_eq(err.message, "the calibration was loaded, it has no points");
    cs_text_free(&script);
    cs_calibration_free(c);
}

Test(residuals, picture)
{
    cs_calibration *c   = make_disturbed();
    cs_text         svg = {0};
    cs_error        err = {0};

    if (cs_residuals_draw(c, CS_PICTURE_SVG, &svg, &err) == CS_EMISSING) {
        cr_log_warn("skipped: no gnuplot");
    } else {
        cr_assert_eq(err.status, CS_OK, "%s", err.message);
        cr_expect_not_null(strstr(svg.data, "<svg"));
        cr_expect_not_null(strstr(svg.data, "outlier, left out"));
    }
    setenv("PATH", "/nowhere", 1);
    err = (cs_error){0};
    cr_expect_eq(cs_residuals_draw(c, CS_PICTURE_SVG, &svg, &err), CS_EMISSING);
    cr_expect_not_null(strstr(err.message, "apt-get install gnuplot-nox"));
    cs_text_free(&svg);
    cs_calibration_free(c);
}

Test(residuals, out_of_memory)
{
    cs_calibration *c      = make_disturbed();
    cs_status       status = CS_ENOMEM;

    for (long passes = 0; status != CS_OK; passes++) {
        cs_text script = {0};
        cr_assert_lt(passes, 100);
        cs_alloc_fail_after(passes);
        status = cs_residuals_script(c, &script, NULL);
        cs_alloc_fail_after(-1);
        cr_assert(status == CS_OK || status == CS_ENOMEM);
        cs_text_free(&script);
    }
    cs_calibration_free(c);
}
