/* SPDX-License-Identifier: GPL-3.0-or-later */
/* output/gnuplot.h -- what pictures of one answer share: scripts for gnuplot with their data in
 * them. Figures have scripts of their own (sim/figures). */
#ifndef CS_OUTPUT_GNUPLOT_H
#define CS_OUTPUT_GNUPLOT_H

#include "base/text.h"

typedef enum cs_picture { CS_PICTURE_SVG, CS_PICTURE_PNG, CS_PICTURE_PDF, CS_PICTURES } cs_picture;

/* Which kind a file is to be by its ending, whatever its case; false: no picture. `path` may be
 * NULL, and `kind_p`. */
bool cs_picture_of(const char *path, cs_picture *kind_p);

/* Add words between single quotes, in which gnuplot doubles them; without what it takes for markup.
 */
void cs_gnuplot_quoted(cs_text *script, const char *words);

/* Add a logarithmic axis of sizes from `low` to `high` bytes, with some room and ticks at powers of
 * 16, and the border and ticks of the other one. */
void cs_gnuplot_sizes(cs_text *script, double low, double high);

/* The size of letters of a title: 14 points, or what makes that many of them as wide as the
 * picture. */
double cs_gnuplot_letters(size_t length, int width);

/* Draw a script, which leaves the terminal to this: the picture's bytes, as large as `width` by
 * `height` pixels of an SVG, whose title is what the script sets as title or, over panels, as label
 * 1. CS_EMISSING where gnuplot is not there. */
enum { CS_PICTURE_WIDTH = 900, CS_PICTURE_HEIGHT = 480 };
CS_MUST_CHECK cs_status cs_gnuplot_draw(const cs_text *script, cs_picture kind, int width,
                                        int height, cs_text *picture, cs_error *err);

#endif
