/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "support/column.h"

#include <criterion/criterion.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static uint32_t digit(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char       *at       = c != '\0' ? strchr(digits, c) : NULL;

    cr_assert_not_null(at, "'%c' is no digit of base64", c);
    return (uint32_t)(at - digits);
}

unsigned char *ct_base64(const char *text, size_t *n_p)
{
    size_t         length = strlen(text), n = 0;
    unsigned char *bytes = malloc(length + 1);

    cr_assert_not_null(bytes);
    cr_assert_eq(length % 4, 0);
    for (size_t i = 0; i < length; i += 4) {
        size_t   here = text[i + 2] == '=' ? 1 : text[i + 3] == '=' ? 2 : 3;
        uint32_t bits = digit(text[i]) << 18 | digit(text[i + 1]) << 12;
        cr_assert(here == 3 || i + 4 == length, "'=' in the middle");
        bits |= here > 1 ? digit(text[i + 2]) << 6 : 0;
        bits |= here > 2 ? digit(text[i + 3]) : 0;
        for (size_t k = 0; k < here; k++) {
            bytes[n++] = (unsigned char)(bits >> (16 - 8 * k) & 255);
        }
    }
    *n_p = n;
    return bytes;
}

static double value_of(const char *type, uint64_t bits)
{
    double   real;
    float    single;
    uint32_t low = (uint32_t)bits;

    if (strcmp(type, "f64") == 0) {
        memcpy(&real, &bits, sizeof real);
        return real;
    }
    if (strcmp(type, "f32") == 0) {
        memcpy(&single, &low, sizeof single);
        return (double)single;
    }
    return (double)bits;
}

double *ct_column(const json_t *column, size_t *n_p)
{
    const char *type   = json_string_value(json_object_get(column, "type"));
    const char *z      = json_string_value(json_object_get(column, "z"));
    size_t      n      = (size_t)json_integer_value(json_object_get(column, "n"));
    bool        delta  = json_is_true(json_object_get(column, "delta"));
    size_t      n_z    = 0;
    uint64_t    last   = 0;
    double     *values = calloc(n + 1, sizeof *values);

    cr_assert(type != NULL && z != NULL && values != NULL &&
              json_object_size(column) == 3u + delta);
    size_t         bytes  = (size_t)atoi(type + 1) / 8;
    uint64_t       mask   = bytes == 8 ? UINT64_MAX : (UINT64_C(1) << (8 * bytes)) - 1;
    uLongf         n_raw  = (uLongf)(n * bytes + 1);
    unsigned char *packed = ct_base64(z, &n_z), *raw = malloc(n_raw);
    cr_assert_eq(uncompress(raw, &n_raw, packed, (uLong)n_z), Z_OK);
    cr_assert_eq(n_raw, n * bytes);
    for (size_t i = 0; i < n; i++) {
        uint64_t bits = 0;
        for (size_t k = 0; k < bytes; k++) {
            bits |= (uint64_t)raw[i * bytes + k] << (8 * k);
        }
        last      = delta ? (last + bits) & mask : bits;
        values[i] = value_of(type, last);
    }
    free(packed);
    free(raw);
    *n_p = n;
    return values;
}
