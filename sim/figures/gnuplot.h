/* SPDX-License-Identifier: GPL-3.0-or-later */
/* figures/gnuplot.h -- the program gnuplot, run as a child process. */
#ifndef CS_FIGURES_GNUPLOT_H
#define CS_FIGURES_GNUPLOT_H

#include "cs/error.h"

#include <stdbool.h>

/* Run gnuplot in `folder` on the file `script` there, after the commands `first`; the user's
 * own settings of gnuplot are not read. Where gnuplot is not installed, *found_p is false and
 * the status CS_OK. A script that fails is CS_EIO, with the first line of gnuplot's complaint. */
CS_MUST_CHECK cs_status cs_gnuplot_run(const char *folder, const char *script, const char *first,
                                       bool *found_p, cs_error *err);

#endif
