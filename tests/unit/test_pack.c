/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Columns of the report page: what is packed comes out again, whatever the type. */
#include "base/alloc.h"
#include "input/tree.h"
#include "report/pack.h"
#include "support/column.h"
#include "support/rng.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The column that a text holds, unpacked. */
static double *unpack(const cs_text *text, size_t *n_p)
{
    cs_error err    = {0};
    json_t  *column = NULL;

    cr_assert_eq(cs_tree_parse(text->data, text->length, "column", &column, &err), CS_OK, "%s",
                 err.message);
    double *values = ct_column(column, n_p);
    json_decref(column);
    return values;
}

static void expect_same(cs_pack_type type, const double *values, size_t n, bool delta)
{
    cs_text  text = {0};
    size_t   n_got;
    cs_error err = {0};

    cr_assert_eq(cs_pack(&text, type, values, n, delta, &err), CS_OK, "%s", err.message);
    double *got = unpack(&text, &n_got);
    cr_assert_eq(n_got, n);
    for (size_t i = 0; i < n; i++) {
        double want = type == CS_PACK_F32 ? (double)(float)values[i] : values[i];
        cr_assert(got[i] == want || (isnan(got[i]) && isnan(want)),
                  "%d, value %zu: %.17g, not "
                  "%.17g",
                  (int)type, i, got[i], want);
    }
    free(got);
    cs_text_free(&text);
}

/* RFC 4648, section 10. */
Test(pack, base64_of_the_standard)
{
    static const char *const pairs[][2] = {{"", ""},
                                           {"f", "Zg=="},
                                           {"fo", "Zm8="},
                                           {"foo", "Zm9v"},
                                           {"foob", "Zm9vYg=="},
                                           {"fooba", "Zm9vYmE="},
                                           {"foobar", "Zm9vYmFy"}};

    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        cs_text text = {0};
        cs_base64(&text, (const unsigned char *)pairs[i][0], strlen(pairs[i][0]));
        cr_expect_str_eq(text.data != NULL ? text.data : "", pairs[i][1]);
        cs_text_free(&text);
    }
}

/* All bytes, and lengths around the room of a line. */
Test(pack, base64_of_any_bytes_and_lengths)
{
    unsigned char bytes[2400];

    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (unsigned char)(i * 37 + i / 256);
    }
    for (size_t n = 0; n <= sizeof bytes; n += n < 760 || n > 1540 ? 1 : 97) {
        cs_text text = {0};
        size_t  n_got;
        cs_base64(&text, bytes, n);
        unsigned char *got = ct_base64(text.data != NULL ? text.data : "", &n_got);
        cr_assert_eq(n_got, n);
        cr_assert_eq(memcmp(got, bytes, n), 0, "%zu bytes", n);
        free(got);
        cs_text_free(&text);
    }
}

Test(pack, every_type_comes_out_again)
{
    static const double whole[] = {0, 1, 2, 127, 128, 254, 255, 0, 255, 3};
    static const double wide[]  = {0, 65535, 1, 256, 255, 40000, 40000, 0};
    static const double large[] = {0, 4294967295.0, 1, 65536, 2147483648.0, 2147483647.0};
    const double        real[] = {0, -1.5, 1e-300, 1e300, 0.1, (double)NAN, (double)INFINITY, -0.0};
    const double        single[] = {0, -1.5, 0.1, (double)NAN, -(double)INFINITY, 16777217};

    for (int delta = 0; delta < 2; delta++) {
        expect_same(CS_PACK_U8, whole, 10, delta != 0);
        expect_same(CS_PACK_U16, wide, 8, delta != 0);
        expect_same(CS_PACK_U32, large, 6, delta != 0);
        expect_same(CS_PACK_U32, large, 0, delta != 0);
    }
    expect_same(CS_PACK_F64, real, 8, false);
    expect_same(CS_PACK_F32, single, 6, false);
}

/* Whole numbers pack as the same values do, and differences wrap. */
Test(pack, whole_numbers_are_packed_alike)
{
    static uint32_t whole[5000];
    static double   real[5000];
    cs_error        err = {0};
    ct_rng          rng = ct_rng_for(16);

    for (int type = CS_PACK_U8; type <= CS_PACK_U32; type++) {
        uint32_t most = type == CS_PACK_U8 ? 255 : type == CS_PACK_U16 ? 65535 : UINT32_MAX;
        for (size_t i = 0; i < 5000; i++) {
            whole[i] = ct_below(&rng, most);
            real[i]  = whole[i];
        }
        for (int delta = 0; delta < 2; delta++) {
            cs_text a = {0}, b = {0};
            cr_assert_eq(cs_pack_whole(&a, (cs_pack_type)type, whole, 5000, delta, &err), CS_OK);
            cr_assert_eq(cs_pack(&b, (cs_pack_type)type, real, 5000, delta, &err), CS_OK);
            cr_expect_str_eq(a.data, b.data);
            cs_text_free(&a);
            cs_text_free(&b);
            expect_same((cs_pack_type)type, real, 5000, delta != 0);
        }
    }
}

/* What ascends evenly is packed into next to nothing by its differences. */
Test(pack, differences_of_what_ascends_are_small)
{
    static uint32_t steps[100000];
    cs_text         as_is = {0}, delta = {0};
    cs_error        err = {0};

    for (uint32_t i = 0; i < 100000; i++) {
        steps[i] = 21474 * i;
    }
    cr_assert_eq(cs_pack_whole(&as_is, CS_PACK_U32, steps, 100000, false, &err), CS_OK);
    cr_assert_eq(cs_pack_whole(&delta, CS_PACK_U32, steps, 100000, true, &err), CS_OK);
    cr_expect_lt(delta.length, 2000);
    cr_expect_lt(20 * delta.length, as_is.length);
    cs_text_free(&as_is);
    cs_text_free(&delta);
}

Test(pack, every_failed_allocation_is_reported)
{
    static const uint32_t whole[] = {1, 2, 3};
    static const double   real[]  = {1, 2, 3};

    for (int is_whole = 0; is_whole < 2; is_whole++) {
        cs_status status = CS_ENOMEM;
        long      passes = 0;
        for (; status != CS_OK && passes < 20; passes++) {
            cs_text  text = {0};
            cs_error err  = {0};
            cs_alloc_fail_after(passes);
            status = is_whole ? cs_pack_whole(&text, CS_PACK_U16, whole, 3, true, &err)
                              : cs_pack(&text, CS_PACK_U16, real, 3, true, &err);
            cs_alloc_fail_after(-1);
            cr_assert(status == CS_OK || (status == CS_ENOMEM && err.message[0] != '\0'));
            cs_text_free(&text);
        }
        cr_expect_gt(passes, 2);
        cr_expect_eq(status, CS_OK);
    }
}
