/* SPDX-License-Identifier: GPL-3.0-or-later */
/* output/residuals.h -- a picture of what a calibration leaves over. */
#ifndef CS_OUTPUT_RESIDUALS_H
#define CS_OUTPUT_RESIDUALS_H

#include "output/gnuplot.h"
#include "traces/calibration.h"

/* Add the commands of gnuplot that draw the relative residuals (measured / calibrated - 1, in
 * percent) of all points over their sizes, a colour for each regime, outliers as crosses, breaks as
 * lines with what changes there. The calibration must have its points (not one that was loaded):
 * CS_EINVAL. */
cs_status cs_residuals_script(const cs_calibration *calibration, cs_text *script, cs_error *err);

/* The picture itself, drawn by gnuplot: CS_EMISSING where that is not there. */
cs_status cs_residuals_draw(const cs_calibration *calibration, cs_picture kind, cs_text *picture,
                            cs_error *err);

#endif
