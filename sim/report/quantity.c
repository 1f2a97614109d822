/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/quantity.h"

#include "base/text.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NO_BREAK "\xc2\xa0"
#define MINUS    "\xe2\x88\x92"

const char *cs_quantity_name(cs_quantity unit)
{
    static const char *const names[] = {
#define X(id, name) [CS_QUANTITY_##id] = (name),
        CS_QUANTITIES(X)
#undef X
    };
    return names[unit];
}

cs_quantity cs_quantity_of(const char *column)
{
    static const char *const counts[] = {"ranks",  "gpus_per_server", "transfers",
                                         "rounds", "cluster.ranks",   "cluster.gpus_per_server",
                                         "servers"};

    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        if (strcmp(column, counts[i]) == 0) {
            return CS_QUANTITY_COUNT;
        }
    }
    return cs_ends_in(column, "bytes")      ? CS_QUANTITY_SIZE
           : cs_ends_in(column, "_s")       ? CS_QUANTITY_S
           : cs_ends_in(column, "_Bps")     ? CS_QUANTITY_BPS
           : cs_ends_in(column, "slowdown") ? CS_QUANTITY_RATIO
           : strcmp(column, "gap") == 0     ? CS_QUANTITY_RATIO
                                            : CS_QUANTITY_NUMBER;
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

static void seconds(double value, bool fixed, char *text)
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
    digits(value * units[i].factor, fixed && value != 0, number, sizeof number);
    (void)snprintf(text, CS_QUANTITY_BYTES, "%s %s", value == 0 ? "0" : number, units[i].name);
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
    (void)snprintf(text, CS_QUANTITY_BYTES, "%s %s", number, names[unit]);
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
    (void)snprintf(text, CS_QUANTITY_BYTES, "%s %s", number, names[unit]);
}

static void write(cs_quantity unit, double value, bool fixed, char text[CS_QUANTITY_BYTES])
{
    if (isnan(value) || isinf(value)) {
        (void)snprintf(text, CS_QUANTITY_BYTES, isnan(value) ? "–" : "never");
        return;
    }
    switch (unit) {
    case CS_QUANTITY_S: seconds(value, fixed, text); break;
    case CS_QUANTITY_SIZE: sizes(value, text); break;
    case CS_QUANTITY_BPS: rates(value, text); break;
    case CS_QUANTITY_RATIO: digits(value, fixed, text, CS_QUANTITY_BYTES); break;
    case CS_QUANTITY_COUNT:
    case CS_QUANTITY_NUMBER:
    case CS_QUANTITY_WORD: digits(value, false, text, CS_QUANTITY_BYTES); break;
    }
}

void cs_quantity_text(cs_quantity unit, double value, char text[CS_QUANTITY_BYTES])
{
    write(unit, value, true, text);
}

void cs_quantity_brief(cs_quantity unit, double value, char text[CS_QUANTITY_BYTES])
{
    if (value == 0) {
        (void)snprintf(text, CS_QUANTITY_BYTES, "0");
    } else {
        write(unit, value, false, text);
    }
}

void cs_percent_text(double part, char text[CS_QUANTITY_BYTES])
{
    double percent = fabs(part) * 100;
    char   number[40];

    if (isnan(part) || isinf(part)) {
        (void)snprintf(text, CS_QUANTITY_BYTES, "–");
        return;
    }
    (void)snprintf(number, sizeof number, percent > 0 ? "%.1f" : "%.0f", percent);
    if (strtod(number, NULL) >= 10) {
        (void)snprintf(number, sizeof number, "%.0f", percent);
        add_commas(number, sizeof number);
    }
    (void)snprintf(text, CS_QUANTITY_BYTES, "%s%s" NO_BREAK "%%",
                   part < 0 && strtod(number, NULL) > 0 ? MINUS : "", number);
}
