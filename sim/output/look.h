/* SPDX-License-Identifier: GPL-3.0-or-later */
/* output/look.h -- one colour, mark and dash for an algorithm, in every picture and on every page.
 *
 * Colours stand at least 3.2 times off the ground and 5 apart (OKLab x 100) for readers of any
 * sight; schedules of one family share its hue, and have dashes of their own.
 */
#ifndef CS_OUTPUT_LOOK_H
#define CS_OUTPUT_LOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct cs_look {
    const char *algorithm, *title; /* what it is called in words */
    uint32_t    light, dark;       /* 0xRRGGBB on light and dark ground */
    const char *dash;              /* lengths of line and gap in pixels, "9,3"; "": solid */
    const char *mark;  /* circle, square, triangle, down, diamond, cross, star, pentagon */
    int         point; /* gnuplot's number of that mark, filled */
} cs_look;

/* Of every algorithm; ends with a row without a name. */
extern const cs_look cs_looks[];

/* The look of an algorithm; one for all others where it is not known. O(looks). */
const cs_look *cs_look_of(const char *algorithm);

/* What an algorithm is called in words; its name where it is not known. O(looks). */
const char *cs_look_title(const char *algorithm);

/* Looks for things that are no algorithms, beside each other in one picture: k < CS_LOOKS_APART,
 * and no two share a hue. */
enum { CS_LOOKS_APART = 6 };
const cs_look *cs_look_apart(size_t k);

/* What stands for lower bounds, in every picture. */
#define CS_LOOK_INK  "#16191D"
#define CS_LOOK_GRID "#DAD8D4"

/* A colour mixed with the ground: `strength` 0 .. 1, 1 is the colour itself. */
uint32_t cs_look_mix(uint32_t colour, uint32_t ground, double strength);

/* Does the model flatter the algorithm: would many messages that meet at one GPU cost time, and
 * does the model (by its name) charge nothing for that? Who recommends it has to say so. */
bool cs_look_is_flattered(const char *algorithm, const char *model);

#endif
