/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/json_scan.h"

#include <math.h>
#include <string.h>

void cs_scan_begin(cs_scan *scan, const char *text, size_t length)
{
    *scan = (cs_scan){.at = text, .end = text + length};
}

/* What comes next; '\0' at the end, and where something is wrong. */
static char next(cs_scan *s)
{
    while (s->at < s->end &&
           (*s->at == ' ' || *s->at == '\t' || *s->at == '\n' || *s->at == '\r')) {
        s->at++;
    }
    return (char)(s->at < s->end && !s->is_wrong ? *s->at : '\0');
}

static bool refuse(cs_scan *s)
{
    s->is_wrong = true;
    return false;
}

/* Take a text whose first quote is next. */
static bool take_text(cs_scan *s, cs_scan_text *text_p)
{
    const char *from = s->at + 1, *at = from;

    for (;;) {
        const char *quote = at < s->end ? memchr(at, '"', (size_t)(s->end - at)) : NULL;
        if (quote == NULL) {
            s->at = s->end;
            return refuse(s);
        }
        size_t n_escapes = 0;
        while (quote - n_escapes > from && quote[-1 - (ptrdiff_t)n_escapes] == '\\') {
            n_escapes++;
        }
        if (n_escapes % 2 == 0) {
            *text_p = (cs_scan_text){from, (size_t)(quote - from)};
            s->at   = quote + 1;
            return true;
        }
        at = quote + 1;
    }
}

/* Take brackets and all that is in them. */
static void take_nested(cs_scan *s)
{
    cs_scan_text text;
    size_t       depth = 0;

    do {
        while (s->at < s->end && *s->at != '"' && *s->at != '{' && *s->at != '[' && *s->at != '}' &&
               *s->at != ']') {
            s->at++;
        }
        if (s->at == s->end) {
            (void)refuse(s);
            return;
        }
        if (*s->at == '"') {
            if (!take_text(s, &text)) {
                return;
            }
        } else {
            depth += *s->at == '{' || *s->at == '[';
            depth -= *s->at == '}' || *s->at == ']';
            s->at++;
        }
    } while (depth > 0);
}

static bool is_bare(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '+' || c == '.';
}

void cs_scan_skip(cs_scan *scan)
{
    cs_scan_text text;
    char         c = next(scan);

    if (c == '"') {
        (void)take_text(scan, &text);
    } else if (c == '{' || c == '[') {
        take_nested(scan);
    } else if (is_bare(c)) {
        while (scan->at < scan->end && is_bare(*scan->at)) {
            scan->at++;
        }
    } else {
        (void)refuse(scan);
    }
}

bool cs_scan_enter(cs_scan *scan, char bracket)
{
    if (next(scan) == bracket) {
        scan->at++;
        return true;
    }
    cs_scan_skip(scan);
    return false;
}

/* Go over the comma before all but the first; false at the closing bracket. */
static bool has_more(cs_scan *s, char opening, char closing)
{
    char c = next(s);

    if (c == closing) {
        s->at++;
        return false;
    }
    const char *before = s->at - 1;
    while (*before == ' ' || *before == '\t' || *before == '\n' || *before == '\r') {
        before--;
    }
    if (*before == opening) {
        return (c != '\0' && c != ',') || refuse(s);
    }
    if (c != ',') {
        return refuse(s);
    }
    s->at++;
    return next(s) != '\0' || refuse(s);
}

bool cs_scan_key(cs_scan *scan, cs_scan_text *key_p)
{
    if (scan->is_wrong || !has_more(scan, '{', '}')) {
        return false;
    }
    if (next(scan) != '"' || !take_text(scan, key_p) || next(scan) != ':') {
        return refuse(scan);
    }
    scan->at++;
    return true;
}

bool cs_scan_element(cs_scan *scan)
{
    return !scan->is_wrong && has_more(scan, '[', ']');
}

/* A number as it is written: mantissa x 10^exponent. */
typedef struct decimal {
    uint64_t mantissa;
    int      exponent;
    bool     is_negative;
} decimal;

static bool is_digit(const cs_scan *s)
{
    return s->at < s->end && *s->at >= '0' && *s->at <= '9';
}

/* Digits into the mantissa, as long as they fit; returns how many there were. */
static size_t take_digits(cs_scan *s, decimal *d, bool is_fraction)
{
    size_t n = 0;

    for (; is_digit(s); s->at++, n++) {
        if (d->mantissa <= (UINT64_MAX - 9) / 10) {
            d->mantissa = 10 * d->mantissa + (uint64_t)(*s->at - '0');
            d->exponent -= is_fraction;
        } else {
            d->exponent += !is_fraction;
        }
    }
    return n;
}

/* Take a number; another value is taken, too, and false. */
static bool take_decimal(cs_scan *s, decimal *d)
{
    char c = next(s);

    if (c != '-' && (c < '0' || c > '9')) {
        cs_scan_skip(s);
        return false;
    }
    *d = (decimal){.is_negative = c == '-'};
    s->at += c == '-';
    size_t n = take_digits(s, d, false);
    if (n > 0 && s->at < s->end && *s->at == '.') {
        s->at++;
        n = take_digits(s, d, true);
    }
    if (n > 0 && s->at < s->end && (*s->at == 'e' || *s->at == 'E')) {
        decimal power = {0};
        s->at++;
        power.is_negative = s->at < s->end && *s->at == '-';
        s->at += s->at < s->end && (*s->at == '-' || *s->at == '+');
        n         = take_digits(s, &power, false);
        int shift = power.mantissa < 10000 && power.exponent == 0 ? (int)power.mantissa : 10000;
        d->exponent += power.is_negative ? -shift : shift;
    }
    return (n > 0 && (s->at == s->end || !is_bare(*s->at))) || refuse(s);
}

bool cs_scan_integer(cs_scan *scan, int64_t *number_p)
{
    decimal d;

    if (!take_decimal(scan, &d)) {
        return false;
    }
    for (; d.exponent < 0 && d.mantissa > 0; d.exponent++) {
        d.mantissa /= 10;
    }
    for (; d.exponent > 0 && d.mantissa > 0 && d.mantissa <= INT64_MAX / 10; d.exponent--) {
        d.mantissa *= 10;
    }
    if ((d.exponent > 0 && d.mantissa > 0) || d.mantissa > INT64_MAX) {
        return false;
    }
    *number_p = d.is_negative ? -(int64_t)d.mantissa : (int64_t)d.mantissa;
    return true;
}

bool cs_scan_number(cs_scan *scan, double *number_p)
{
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                    1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const int           most     = (int)(sizeof powers / sizeof powers[0]) - 1;
    decimal             d;

    if (!take_decimal(scan, &d)) {
        return false;
    }
    double value = (double)d.mantissa;
    if (d.exponent >= -most && d.exponent <= most) {
        value = d.exponent < 0 ? value / powers[-d.exponent] : value * powers[d.exponent];
    } else {
        value *= pow(10, d.exponent);
    }
    *number_p = d.is_negative ? -value : value;
    return isfinite(value);
}

bool cs_scan_string(cs_scan *scan, cs_scan_text *text_p)
{
    if (next(scan) == '"') {
        return take_text(scan, text_p);
    }
    cs_scan_skip(scan);
    return false;
}

bool cs_scan_bool(cs_scan *scan, bool *value_p)
{
    *value_p = next(scan) == 't';

    const char *from = scan->at;
    cs_scan_skip(scan);
    return !scan->is_wrong && ((scan->at - from == 4 && memcmp(from, "true", 4) == 0) ||
                               (scan->at - from == 5 && memcmp(from, "false", 5) == 0));
}

bool cs_scan_is_at_end(cs_scan *scan)
{
    return next(scan) == '\0' && scan->at == scan->end;
}
