/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/number.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NO_BREAK "\xc2\xa0"
#define MINUS    "\xe2\x88\x92"

const char *cs_page_unit_name(cs_page_unit unit)
{
    static const char *const names[] = {
#define X(id, name) [CS_PAGE_##id] = (name),
        CS_PAGE_UNITS(X)
#undef X
    };
    return names[unit];
}

static bool ends_in(const char *name, const char *end)
{
    size_t length = strlen(name), behind = strlen(end);

    return length >= behind && strcmp(name + length - behind, end) == 0;
}

cs_page_unit cs_page_unit_of(const char *column)
{
    static const char *const counts[] = {"ranks",  "gpus_per_server", "transfers",
                                         "rounds", "cluster.ranks",   "cluster.gpus_per_server",
                                         "servers"};

    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        if (strcmp(column, counts[i]) == 0) {
            return CS_PAGE_COUNT;
        }
    }
    return ends_in(column, "bytes")      ? CS_PAGE_BYTES
           : ends_in(column, "_s")       ? CS_PAGE_S
           : ends_in(column, "_Bps")     ? CS_PAGE_BPS
           : ends_in(column, "slowdown") ? CS_PAGE_RATIO
           : strcmp(column, "gap") == 0  ? CS_PAGE_RATIO
                                         : CS_PAGE_NUMBER;
}

/* Commas between thousands of what stands before a point. */
static void add_commas(char *number, size_t bytes)
{
    char   plain[64];
    size_t at = 0, whole;

    (void)snprintf(plain, sizeof plain, "%s", number);
    whole = strcspn(plain, ".");
    for (size_t i = 0; plain[i] != '\0' && at + 2 < bytes; i++) {
        size_t left  = whole > i ? whole - i : 0;
        number[at++] = plain[i];
        if (plain[i] != '-' && left > 1 && left % 3 == 1) {
            number[at++] = ',';
        }
    }
    number[at] = '\0';
}

/* Three significant digits, with commas and no decimals from 1000 on; trailing zeros stay where
 * `fixed`. */
static void digits(double value, bool fixed, char *text, size_t bytes)
{
    char plain[32];

    /* which digits are the first three is known when the value has been rounded to them */
    (void)snprintf(plain, sizeof plain, "%.2e", fabs(value));
    int exponent = (int)strtol(strchr(plain, 'e') + 1, NULL, 10);
    int decimals = value == 0 || exponent >= 2 ? 0 : exponent < -10 ? 12 : 2 - exponent;
    (void)snprintf(plain, sizeof plain, "%.*f", decimals, value);
    size_t length = strlen(plain), whole = strcspn(plain, ".");
    if (!fixed && whole < length) {
        while (plain[length - 1] == '0') {
            plain[--length] = '\0';
        }
        if (plain[length - 1] == '.') {
            plain[--length] = '\0';
        }
    }
    (void)snprintf(text, bytes, "%s", plain);
    add_commas(text, bytes);
}

static void seconds(double value, char *text)
{
    static const struct {
        double      below, factor;
        const char *name;
    } units[] = {{0.9995e-3, 1e6, "µs"}, {0.9995, 1e3, "ms"}, {(double)INFINITY, 1, "s"}};
    char   number[40];
    size_t i = 0;

    while (!(fabs(value) < units[i].below)) {
        i++;
    }
    digits(value * units[i].factor, value != 0, number, sizeof number);
    (void)snprintf(text, CS_PAGE_NUMBER_BYTES, "%s %s", value == 0 ? "0" : number, units[i].name);
}

static void sizes(double value, char *text)
{
    static const char *const names[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    char                     number[40];
    size_t                   unit = 0;

    for (; unit < 5 && fabs(value) >= 1023.5; unit++) {
        value /= 1024;
    }
    digits(value, false, number, sizeof number);
    (void)snprintf(text, CS_PAGE_NUMBER_BYTES, "%s %s", number, names[unit]);
}

static void rates(double value, char *text)
{
    static const char *const names[] = {"B/s", "kB/s", "MB/s", "GB/s", "TB/s"};
    char                     number[40];
    size_t                   unit = 0;

    for (; unit < 4 && fabs(value) >= 999.5; unit++) {
        value /= 1000;
    }
    digits(value, false, number, sizeof number);
    (void)snprintf(text, CS_PAGE_NUMBER_BYTES, "%s %s", number, names[unit]);
}

void cs_page_number(cs_page_unit unit, double value, char text[CS_PAGE_NUMBER_BYTES])
{
    if (isnan(value) || isinf(value)) {
        (void)snprintf(text, CS_PAGE_NUMBER_BYTES, isnan(value) ? "–" : "never");
        return;
    }
    switch (unit) {
    case CS_PAGE_S: seconds(value, text); break;
    case CS_PAGE_BYTES: sizes(value, text); break;
    case CS_PAGE_BPS: rates(value, text); break;
    case CS_PAGE_RATIO: digits(value, true, text, CS_PAGE_NUMBER_BYTES); break;
    case CS_PAGE_COUNT:
    case CS_PAGE_NUMBER:
    case CS_PAGE_WORD: digits(value, false, text, CS_PAGE_NUMBER_BYTES); break;
    }
}

void cs_page_percent(double part, char text[CS_PAGE_NUMBER_BYTES])
{
    double percent = fabs(part) * 100;
    char   number[40];

    if (isnan(part) || isinf(part)) {
        (void)snprintf(text, CS_PAGE_NUMBER_BYTES, "–");
        return;
    }
    (void)snprintf(number, sizeof number, percent > 0 ? "%.1f" : "%.0f", percent);
    if (strtod(number, NULL) >= 10) {
        (void)snprintf(number, sizeof number, "%.0f", percent);
        add_commas(number, sizeof number);
    }
    (void)snprintf(text, CS_PAGE_NUMBER_BYTES, "%s%s" NO_BREAK "%%",
                   part < 0 && strtod(number, NULL) > 0 ? MINUS : "", number);
}
