/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The quantities of a configuration: see config/quantity.h. Of several rows that fit a key the
 * first counts. */
#include "config/quantity.h"

#include "cs/units.h"

#include <math.h>
#include <string.h>

#define MOST_LATENCY_S 0.01 /* of a network: light needs that long for 2000 km and back */
#define MOST_DELAY_S   1.0  /* of a rank: more is a crash rather than a straggler */
#define LEAST_RATE_BPS 1e6  /* of a link: that of Ethernet in 1980 */
#define US             "write #us for microseconds"
#define MS             "write #ms for milliseconds"
#define GB             "write #GB/s or #Gb/s"

/* clang-format off */
static const cs_quantity quantities[] = {
    {"alpha",        CS_QUANTITY_TIME, 0, MOST_LATENCY_S, US, NULL},
    {"latency",      CS_QUANTITY_TIME, 0, MOST_LATENCY_S, US, NULL},
    {"hop_latency",  CS_QUANTITY_TIME, 0, MOST_LATENCY_S, US, NULL},
    {"delay",        CS_QUANTITY_TIME, 0, MOST_DELAY_S, MS, NULL},
    {"distribution", CS_QUANTITY_TIME, 0, MOST_DELAY_S, MS, "arrivals."},
    {"mean",         CS_QUANTITY_TIME, 0, MOST_DELAY_S, MS, "arrivals."},
    {"stddev",       CS_QUANTITY_TIME, 0, MOST_DELAY_S, MS, "arrivals."},
    {"median",       CS_QUANTITY_TIME, 0, MOST_DELAY_S, MS, "arrivals."},
    {"value",        CS_QUANTITY_TIME, 0, MOST_DELAY_S, MS, "arrivals."},
    {"values",       CS_QUANTITY_TIME, 0, MOST_DELAY_S, MS, "arrivals."},
    {"min",          CS_QUANTITY_TIME, 0, MOST_DELAY_S, MS, "arrivals."},
    {"max",          CS_QUANTITY_TIME, 0, MOST_DELAY_S, MS, "arrivals."},
    {"scale",        CS_QUANTITY_TIME, 0, MOST_DELAY_S, MS, "arrivals."},
    {"agreement",    CS_QUANTITY_TIME, 0, MOST_DELAY_S, MS, NULL},
    {"from",         CS_QUANTITY_TIME, 0, 0, NULL, NULL},
    {"until",        CS_QUANTITY_TIME, 0, 0, NULL, NULL},
    {"compute",      CS_QUANTITY_TIME, 0, 0, NULL, NULL},
    {"tail",         CS_QUANTITY_TIME, 0, 0, NULL, NULL},
    {"horizon",      CS_QUANTITY_TIME, 0, 0, NULL, NULL},
    {"detect",       CS_QUANTITY_TIME, 0, 0, NULL, NULL},
    {"reschedule",   CS_QUANTITY_TIME, 0, 0, NULL, NULL},
    {"restart",      CS_QUANTITY_TIME, 0, 0, NULL, NULL},
    {"rejoin",       CS_QUANTITY_TIME, 0, 0, NULL, NULL},
    {"_s",           CS_QUANTITY_TIME, 0, MOST_LATENCY_S, US, NULL},
    {"bandwidth",    CS_QUANTITY_RATE, LEAST_RATE_BPS, (double)INFINITY, GB, NULL},
    {"_bandwidth",   CS_QUANTITY_RATE, LEAST_RATE_BPS, (double)INFINITY, GB, NULL},
    {"_Bps",         CS_QUANTITY_RATE, LEAST_RATE_BPS, (double)INFINITY, GB, NULL},
    {"bytes",        CS_QUANTITY_SIZE, 0, 0, NULL, NULL},
    {"bucket",       CS_QUANTITY_SIZE, 0, 0, NULL, NULL},
    {"buckets",      CS_QUANTITY_SIZE, 0, 0, NULL, NULL},
    {"_bytes",       CS_QUANTITY_SIZE, 0, 0, NULL, NULL},
};
/* clang-format on */

enum { N_QUANTITIES = sizeof quantities / sizeof quantities[0] };

/* The last key of a path, without the places in lists behind it. */
static const char *last_key(const char *path, size_t *length_p)
{
    size_t end = strlen(path);

    while (end > 0 && path[end - 1] == ']') {
        while (end > 0 && path[--end] != '[') {
        }
    }
    size_t begin = end;
    while (begin > 0 && path[begin - 1] != '.' && path[begin - 1] != ']') {
        begin--;
    }
    *length_p = end - begin;
    return path + begin;
}

/* Options are known by their ends alone. */
static bool fits(const cs_quantity *q, const char *path, const char *key, size_t length,
                 bool is_option)
{
    size_t n      = strlen(q->key);
    bool   is_end = q->key[0] == '_';

    if (q->within != NULL && strncmp(path, q->within, strlen(q->within)) != 0) {
        return false;
    }
    return is_end ? length > n && memcmp(key + length - n, q->key, n) == 0
                  : !is_option && length == n && memcmp(key, q->key, n) == 0;
}

const cs_quantity *cs_quantity_of(const char *path)
{
    static const char *const options[] = {"algorithm.options.", "model.options."};
    size_t                   length;
    const char              *key       = last_key(path, &length);
    bool                     is_option = false;

    for (size_t i = 0; i < 2; i++) {
        is_option = is_option || strncmp(path, options[i], strlen(options[i])) == 0;
    }
    for (size_t i = 0; i < N_QUANTITIES; i++) {
        if (fits(&quantities[i], path, key, length, is_option)) {
            return &quantities[i];
        }
    }
    return NULL;
}

const char *cs_quantity_suffix(const cs_quantity *quantity)
{
    switch (quantity->kind) {
    case CS_QUANTITY_TIME: return "_s";
    case CS_QUANTITY_RATE: return "_Bps";
    case CS_QUANTITY_SIZE: break;
    }
    return "_bytes";
}

static bool size_value(const json_t *node, cs_value *value_p)
{
    const char *text  = json_string_value(node);
    uint64_t    bytes = 0;

    if (json_is_integer(node)) {
        *value_p = (cs_value){.type = CS_VALUE_WHOLE, .whole = json_integer_value(node)};
        return true;
    }
    if (text == NULL || cs_parse_bytes(text, &bytes, NULL, NULL) != CS_OK) {
        return false;
    }
    *value_p = bytes <= INT64_MAX ? (cs_value){.type = CS_VALUE_WHOLE, .whole = (int64_t)bytes}
                                  : (cs_value){.type = CS_VALUE_REAL, .real = (double)bytes};
    return true;
}

bool cs_quantity_value(const cs_quantity *quantity, const json_t *node, cs_value *value_p)
{
    const char *text  = json_string_value(node);
    double      value = json_number_value(node);

    if (quantity->kind == CS_QUANTITY_SIZE) {
        return size_value(node, value_p);
    }
    cs_status status = CS_OK;
    if (text != NULL && quantity->kind == CS_QUANTITY_TIME) {
        status = cs_parse_time(text, &value, NULL, NULL);
    } else if (text != NULL) {
        status = cs_parse_rate(text, &value, NULL, NULL);
    }
    if (status != CS_OK || (text == NULL && !json_is_number(node))) {
        return false;
    }
    *value_p = (cs_value){.type = CS_VALUE_REAL, .real = value};
    return true;
}

/* Without a unit a text ends like a number. */
static bool is_bare(const json_t *node)
{
    const char *text   = json_string_value(node);
    size_t      length = text != NULL ? strlen(text) : 0;

    return json_is_number(node) ||
           (length > 0 &&
            (text[length - 1] == '.' || (text[length - 1] >= '0' && text[length - 1] <= '9')));
}

bool cs_quantity_is_odd(const cs_quantity *quantity, const json_t *node)
{
    cs_value value;

    if (quantity->most <= 0 || !is_bare(node) || !cs_quantity_value(quantity, node, &value)) {
        return false;
    }
    return value.real > 0 && !(value.real >= quantity->least && value.real < quantity->most);
}
