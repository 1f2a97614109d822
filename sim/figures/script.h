/* SPDX-License-Identifier: GPL-3.0-or-later */
/* figures/script.h -- the gnuplot script around the commands of one figure.
 *
 * A figure's own commands set title, axes and key and plot columns of the file DATA by their
 * names ('plot DATA using "ranks":"ring_ms" ..'). They are run once for each kind of picture, so
 * they set everything they need and leave terminal and output alone. Line styles:
 *   1 StragglAR best, 2 StragglAR worst, 3 ring, 4 rhd, 5 allpairs, 6 broadcast, 7 a bound or
 *   limit, 8 a formula or approximation, 9 published by the paper.
 * Each has its colour, dashes and marker, so that it is told apart in grey, too.
 */
#ifndef CS_FIGURES_SCRIPT_H
#define CS_FIGURES_SCRIPT_H

#include "figures/figures.h"

/* The whole script of a figure: `gnuplot NAME.gp` beside NAME.csv draws NAME.svg and NAME.png.
 * The variables SVG and PNG, where they are set before, name other files. */
void cs_figure_script(const cs_figure *figure, const cs_figure_data *data, cs_text *script);

/* The commands for a title with a smaller second line. */
void cs_figure_title(cs_text *commands, const char *title, const char *subtitle);

/* The commands for a key above several panels: entries are 'keyentry ..' of gnuplot's plot,
 * `top` is the screen coordinate of its upper edge. Goes behind `set multiplot`, before the
 * panels; these have no key of their own. */
void cs_figure_legend(cs_text *commands, double top, const char *entries);

#endif
