/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What crosses between processes: it comes back as it was, and whatever is cut, too long or not
 * what it says is refused, never read beyond. */
#include "campaign/wire.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Test(wire, values_come_back)
{
    static const double reals[] = {0.0, -0.0, 1.0 / 3, -1e308, 5e-324, (double)INFINITY};
    cs_text             to      = {0};
    size_t              length  = 0;

    cs_wire_put_u8(&to, 200);
    cs_wire_put_u32(&to, 0xfedcba98u);
    cs_wire_put_u64(&to, 0xfedcba9876543210u);
    cs_wire_put_text(&to, "straggler");
    cs_wire_put_text(&to, "");
    cs_wire_put_text(&to, NULL);
    cs_wire_put_bytes(&to, "a\0b", 3);
    for (int i = 0; i < 6; i++) {
        cs_wire_put_f64(&to, reals[i]);
    }
    cs_wire_put_f64(&to, (double)NAN);
    cs_wire from = cs_wire_over(to.data, to.length);
    cr_expect_eq(cs_wire_u8(&from), 200);
    cr_expect_eq(cs_wire_u32(&from), 0xfedcba98u);
    cr_expect_eq(cs_wire_u64(&from), 0xfedcba9876543210u);
    cr_expect_str_eq(cs_wire_text(&from), "straggler");
    cr_expect_str_eq(cs_wire_text(&from), "");
    cr_expect_null(cs_wire_text(&from));
    cr_expect_eq(memcmp(cs_wire_bytes(&from, &length), "a\0b", 3), 0);
    cr_expect_eq(length, 3);
    for (int i = 0; i < 6; i++) {
        double value = cs_wire_f64(&from);
        cr_expect_eq(memcmp(&value, &reals[i], sizeof value), 0);
    }
    cr_expect(isnan(cs_wire_f64(&from)));
    cr_expect_eq(cs_wire_end(&from, "it", NULL), CS_OK);
    cr_expect_eq(cs_wire_u8(&from), 0);
    cr_expect_eq(cs_wire_end(&from, "it", NULL), CS_EIO);
    cs_text_free(&to);
}

Test(wire, bytes_have_the_same_order_on_every_machine)
{
    cs_text to = {0};

    cs_wire_put_u32(&to, 0x01020304u);
    cs_wire_put_f64(&to, 1.0);
    cr_expect_eq(to.length, 12);
    cr_expect_eq(memcmp(to.data, "\4\3\2\1\0\0\0\0\0\0\xf0\x3f", 12), 0);
    cs_text_free(&to);
}

Test(wire, errors_come_back)
{
    cs_text  to  = {0};
    cs_error err = {0}, back;
    char     want[800], got[800];

    (void)CS_FAIL(&err, CS_EPARSE, "cluster.ranks", "is %d", 7);
    cs_error_locate(&err, "a/b.json", 12, 3);
    cs_wire_put_error(&to, &err);
    for (size_t n = 0; n < to.length; n++) {
        cs_wire short_one = cs_wire_over(to.data, n);
        cs_wire_error(&short_one, &back);
        cr_expect_eq(cs_wire_end(&short_one, "it", NULL), CS_EIO);
    }
    cs_wire from = cs_wire_over(to.data, to.length);
    cs_wire_error(&from, &back);
    cr_expect_eq(cs_wire_end(&from, "it", NULL), CS_OK);
    cr_expect_eq(back.status, CS_EPARSE);
    cs_error_text(&err, want, sizeof want);
    cs_error_text(&back, got, sizeof got);
    cr_expect_str_eq(got, want);
    to.data[0] = 99;
    from       = cs_wire_over(to.data, to.length);
    cs_wire_error(&from, &back);
    cr_expect_eq(cs_wire_end(&from, "it", NULL), CS_EIO);
    cs_text_free(&to);
}

/* A column of every type. */
typedef struct sample {
    const char *text, *json, *none;
    char        chars[6];
    uint64_t    count;
    uint32_t    small;
    double      real;
    bool        flag;
} sample;

static const cs_column sample_columns[] = {
    CS_COLUMN(sample, text),
    CS_COLUMN_ROW("json", CS_COLUMN_JSON, sample, json),
    CS_COLUMN(sample, none),
    CS_COLUMN(sample, chars),
    CS_COLUMN(sample, count),
    CS_COLUMN(sample, small),
    CS_COLUMN(sample, real),
    CS_COLUMN(sample, flag),
    CS_COLUMN_END,
};

Test(wire, rows_come_back_with_every_type_of_column)
{
    const sample before = {"words", "{}", NULL, "chars", UINT64_MAX, 0xfedcba98u, 1.0 / 3, true};
    sample       after  = {0};
    cs_text      to     = {0};

    cs_wire_put_row(&to, &(cs_row){sample_columns, &before, false});
    cs_wire from = cs_wire_over(to.data, to.length);
    cs_wire_take_row(&from, sample_columns, &after);
    cr_expect_eq(cs_wire_end(&from, "it", NULL), CS_OK);
    cr_expect_str_eq(after.text, "words");
    cr_expect_str_eq(after.json, "{}");
    cr_expect_null(after.none);
    cr_expect_str_eq(after.chars, "chars");
    cr_expect_eq(after.count, UINT64_MAX);
    cr_expect_eq(after.small, 0xfedcba98u);
    cr_expect_eq(after.real, 1.0 / 3);
    cr_expect(after.flag);
    to.data[to.length - 1] = 2; /* a flag that is neither */
    from                   = cs_wire_over(to.data, to.length);
    cs_wire_take_row(&from, sample_columns, &after);
    cr_expect_eq(cs_wire_end(&from, "it", NULL), CS_EIO);
    cs_text_free(&to);
}
