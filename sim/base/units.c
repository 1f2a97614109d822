/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Quantities as text: a decimal number and a unit, without anything around them.
 *
 * Every unit is 10^tens * 2^twos. So a size is computed exactly in integers, and a time or a
 * rate is the double nearest to its decimal number (the tens are added to the decimal
 * exponent before strtod(), and a power of two is exact): "4.48ms" is 4.48e-3. Units of the clock
 * and the calendar (a year is 365.25 days) have a factor beside that, and round once more.
 *
 * Digits, one decimal point and an exponent make a number; infinities, NANs, hexadecimal
 * numbers and blanks are refused. The decimal point of strtod() depends on the locale, which
 * the program leaves at "C".
 */
#include "cs/units.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct unit {
    const char *name;
    int         tens, twos;
    double      times; /* beside them; 0: once */
} unit;

static const unit size_units[] = {
    {"", 0, 0, 0},     {"B", 0, 0, 0},    {"K", 0, 10, 0},   {"M", 0, 20, 0},   {"G", 0, 30, 0},
    {"T", 0, 40, 0},   {"k", 0, 10, 0},   {"m", 0, 20, 0},   {"g", 0, 30, 0},   {"t", 0, 40, 0},
    {"KiB", 0, 10, 0}, {"MiB", 0, 20, 0}, {"GiB", 0, 30, 0}, {"TiB", 0, 40, 0}, {"kB", 3, 0, 0},
    {"MB", 6, 0, 0},   {"GB", 9, 0, 0},   {"TB", 12, 0, 0},  {NULL, 0, 0, 0},
};

static const unit rate_units[] = {
    {"", 0, 0, 0},       {"B/s", 0, 0, 0},    {"kB/s", 3, 0, 0},   {"MB/s", 6, 0, 0},
    {"GB/s", 9, 0, 0},   {"TB/s", 12, 0, 0},  {"KiB/s", 0, 10, 0}, {"MiB/s", 0, 20, 0},
    {"GiB/s", 0, 30, 0}, {"TiB/s", 0, 40, 0}, {"b/s", 0, -3, 0},   {"kb/s", 3, -3, 0},
    {"Mb/s", 6, -3, 0},  {"Gb/s", 9, -3, 0},  {"Tb/s", 12, -3, 0}, {"bps", 0, -3, 0},
    {"kbps", 3, -3, 0},  {"Mbps", 6, -3, 0},  {"Gbps", 9, -3, 0},  {"Tbps", 12, -3, 0},
    {NULL, 0, 0, 0},
};

static const unit time_units[] = {
    {"", 0, 0, 0},     {"ns", -9, 0, 0}, {"us", -6, 0, 0}, {"ms", -3, 0, 0},   {"s", 0, 0, 0},
    {"min", 0, 2, 15}, {"h", 2, 2, 9},   {"d", 2, 5, 27},  {"y", 2, 3, 39447}, {NULL, 0, 0, 0},
};

static const unit no_units[] = {{"", 0, 0, 0}, {NULL, 0, 0, 0}};

#define SIZE_FORMS   "4096, 8K, 32M, 1G, KiB, MiB, GiB, kB, MB, GB"
#define RATE_FORMS   "450GB/s, 450GiB/s, 200Gb/s, 200Gbps, or a bare number of B/s"
#define TIME_FORMS   "700ns, 3us, 4.48ms, 1s, 5min, 2h, 30d, 1y, or a bare number of seconds"
#define NUMBER_FORMS "numbers such as 2, 0.5, 8/7, 1e-3"

/* A number and its unit, taken apart. */
typedef struct quantity {
    const char *mantissa; /* digits, perhaps with a point */
    size_t      length;   /* ... of the mantissa, at most LONGEST_MANTISSA */
    int         exponent; /* decimal, with the unit's tens */
    int         twos;     /* of the unit */
    double      times;    /* of the unit; 0: once */
    bool        is_negative;
} quantity;

/* Digits of an exponent behind one that is large already do not matter. */
enum { LONGEST_MANTISSA = 100, LARGE_EXPONENT = 5000 };

/* Read "e-12" if it stands at *text_p and move behind it; 0 if there is none. */
static int take_exponent(const char **text_p)
{
    if (**text_p != 'e' && **text_p != 'E') {
        return 0;
    }
    const char *text  = *text_p + 1;
    bool        minus = *text == '-';
    int         value = 0;

    text += *text == '-' || *text == '+';
    if (!isdigit((unsigned char)*text)) {
        return 0;
    }
    for (; isdigit((unsigned char)*text); text++) {
        value = value < LARGE_EXPONENT ? value * 10 + (*text - '0') : value;
    }
    *text_p = text;
    return minus ? -value : value;
}

/* Take `text` apart; false if it is not a number with one of the units. */
static bool take_apart(const char *text, const unit *units, quantity *q)
{
    q->is_negative = *text == '-';
    text += q->is_negative;
    q->mantissa   = text;
    size_t digits = strspn(text, "0123456789");
    text += digits;
    if (*text == '.') {
        size_t decimals = strspn(text + 1, "0123456789");
        text += decimals + 1;
        digits += decimals;
    }
    q->length = (size_t)(text - q->mantissa);
    if (digits == 0 || q->length > LONGEST_MANTISSA) {
        return false;
    }
    q->exponent = take_exponent(&text);
    while (units->name != NULL && strcmp(units->name, text) != 0) {
        units++;
    }
    q->exponent += units->tens;
    q->twos  = units->twos;
    q->times = units->times;
    return units->name != NULL;
}

/* The double nearest to the quantity; an infinity if it is too large. */
static double nearest_double(const quantity *q)
{
    char text[LONGEST_MANTISSA + 16];

    memcpy(text, q->mantissa, q->length);
    text[q->length] = '\0';
    if (q->exponent != 0) {
        (void)snprintf(text + q->length, sizeof text - q->length, "e%d", q->exponent);
    }
    double value = ldexp(strtod(text, NULL), q->twos);
    value *= q->times > 0 ? q->times : 1;
    return q->is_negative ? -value : value;
}

static bool multiply(uint64_t *value, uint64_t factor)
{
    bool fits = *value <= UINT64_MAX / factor;
    *value *= fits ? factor : 1;
    return fits;
}

/* The mantissa without its point, trailing zeros behind the point left out; `tens` is
 * lowered by the digits behind the point. False if it needs more than 64 bits. */
static bool read_mantissa(const quantity *q, uint64_t *value_p, int *tens_p)
{
    const char *point  = memchr(q->mantissa, '.', q->length);
    size_t      length = q->length;
    uint64_t    value  = 0;

    while (point != NULL && length > 0 && q->mantissa[length - 1] == '0') {
        length--;
    }
    for (size_t i = 0; i < length; i++) {
        if (q->mantissa[i] == '.') {
            *tens_p -= (int)(length - i - 1);
            continue;
        }
        uint64_t digit = (uint64_t)(q->mantissa[i] - '0');
        if (!multiply(&value, 10) || value > UINT64_MAX - digit) {
            return false;
        }
        value += digit;
    }
    *value_p = value;
    return true;
}

/* The quantity as an integer, exactly; false if it is not one or needs more than 64 bits. */
static bool exact_integer(const quantity *q, uint64_t *value_p)
{
    int      tens = q->exponent, twos = q->twos;
    uint64_t value;

    if (!read_mantissa(q, &value, &tens)) {
        return false;
    }
    for (; tens < 0 && value > 0; tens++) {
        bool has_two = twos > 0 || value % 2 == 0;
        if (value % 5 != 0 || !has_two) {
            return false;
        }
        value = twos > 0 ? value / 5 : value / 10;
        twos -= twos > 0;
    }
    for (; tens > 0 && value > 0; tens--) {
        if (!multiply(&value, 10)) {
            return false;
        }
    }
    *value_p = value;
    return multiply(value_p, (uint64_t)1 << twos);
}

/* The error of all readers: `text` is not `what`. */
static cs_status refuse(cs_error *err, const char *where, const char *text, const char *what,
                        const char *forms)
{
    return CS_FAIL(err, CS_EINVAL, where, "'%.40s%s' %s: accepted are %s", text,
                   strlen(text) > 40 ? "..." : "", what, forms);
}

cs_status cs_parse_bytes(const char *text, uint64_t *bytes_p, const char *where, cs_error *err)
{
    quantity q;
    uint64_t bytes = 0;

    if (!take_apart(text, size_units, &q)) {
        return refuse(err, where, text, "is not a size", SIZE_FORMS);
    }
    if (q.is_negative) {
        return refuse(err, where, text, "is negative", SIZE_FORMS);
    }
    if (!exact_integer(&q, &bytes)) {
        bool is_large = nearest_double(&q) >= 0x1p64;
        return refuse(err, where, text,
                      is_large ? "is larger than any size" : "is not a whole number of bytes",
                      SIZE_FORMS);
    }
    *bytes_p = bytes;
    return CS_OK;
}

/* What rates and times have in common. */
static cs_status parse_real(const char *text, const unit *units, double *value_p, const char *where,
                            const char *what, const char *forms, cs_error *err)
{
    quantity q;

    if (!take_apart(text, units, &q)) {
        return refuse(err, where, text, what, forms);
    }
    double value = nearest_double(&q);
    if (isinf(value)) {
        return refuse(err, where, text, "is too large", forms);
    }
    if (q.is_negative && units != no_units) {
        return refuse(err, where, text, "is negative", forms);
    }
    *value_p = value;
    return CS_OK;
}

cs_status cs_parse_rate(const char *text, double *rate_Bps_p, const char *where, cs_error *err)
{
    return parse_real(text, rate_units, rate_Bps_p, where, "is not a rate", RATE_FORMS, err);
}

cs_status cs_parse_time(const char *text, double *time_s_p, const char *where, cs_error *err)
{
    return parse_real(text, time_units, time_s_p, where, "is not a time", TIME_FORMS, err);
}

/* "8/7": a quotient of two numbers. */
cs_status cs_parse_number(const char *text, double *value_p, const char *where, cs_error *err)
{
    const char *slash = strchr(text, '/');
    char        above[LONGEST_MANTISSA + 16];
    double      divisor = 0;

    if (slash != NULL && (size_t)(slash - text) < sizeof above && strchr(slash + 1, '/') == NULL) {
        memcpy(above, text, (size_t)(slash - text));
        above[slash - text] = '\0';
        CS_TRY(parse_real(above, no_units, value_p, where, "is not a number", NUMBER_FORMS, err));
        CS_TRY(
            parse_real(slash + 1, no_units, &divisor, where, "is not a number", NUMBER_FORMS, err));
        if (!isfinite(*value_p / divisor)) {
            return refuse(err, where, text, "is not finite", NUMBER_FORMS);
        }
        *value_p /= divisor;
        return CS_OK;
    }
    return parse_real(text, no_units, value_p, where, "is not a number", NUMBER_FORMS, err);
}

cs_status cs_parse_integer(const char *text, uint64_t min, uint64_t max, uint64_t *value_p,
                           const char *where, cs_error *err)
{
    size_t   sign   = *text == '-';
    size_t   length = strspn(text + sign, "0123456789");
    uint64_t value  = 0;
    bool     fits   = sign == 0;

    if (length == 0 || text[sign + length] != '\0') {
        return CS_FAIL(
            err, CS_EINVAL, where, "'%.40s%s' is not a whole number: accepted are %llu to %llu",
            text, strlen(text) > 40 ? "..." : "", (unsigned long long)min, (unsigned long long)max);
    }
    for (size_t i = 0; fits && i < length; i++) {
        uint64_t digit = (uint64_t)(text[i] - '0');
        fits           = multiply(&value, 10) && value <= UINT64_MAX - digit;
        value += fits ? digit : 0;
    }
    if (!fits || value < min || value > max) {
        return CS_FAIL(err, CS_EINVAL, where, "%.40s%s is outside [%llu, %llu]", text,
                       strlen(text) > 40 ? "..." : "", (unsigned long long)min,
                       (unsigned long long)max);
    }
    *value_p = value;
    return CS_OK;
}
