/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A scene for StragglAR, its options, its late ranks and its time. */
#ifndef CS_TESTS_STRAGGLAR_SETUP_H
#define CS_TESTS_STRAGGLAR_SETUP_H

#include "support/oracle.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static ct_scene scene;

/* The least k with 2^k >= n. */
static inline uint32_t log2_of(uint32_t n)
{
    uint32_t k = 0;
    while (1u << k < n) {
        k++;
    }
    return k;
}

static inline void set(const char *key, const char *value)
{
    ct_scene_option(&scene, key, value);
}

static inline void set_number(const char *key, uint32_t value)
{
    char text[16];
    snprintf(text, sizeof text, "%u", value);
    set(key, text);
}

/* The value of an option, after check() the one that it has resolved. */
static inline uint32_t option(const char *key)
{
    const cs_field *row = scene.algorithm->options;
    uint32_t        value;

    while (row->name != NULL && strcmp(row->name, key) != 0) {
        row++;
    }
    cr_assert_not_null(row->name, "no option %s", key);
    memcpy(&value, scene.options.bytes + row->offset, sizeof value);
    return value;
}

/* 3 us, 450 GB/s; the last rank comes `delay_s` after the others. */
static inline void begin_late(uint32_t n, uint64_t bytes, double delay_s)
{
    ct_scene_set(&scene, "stragglar", CS_ALLREDUCE, n, bytes);
    scene.arrival_s[n - 1]   = delay_s;
    scene.scenario.arrival_s = scene.arrival_s;
}

#endif
