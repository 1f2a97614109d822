/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Units and steps of an axis: see axis.h. */
#include "results/axis.h"

#include <math.h>
#include <stddef.h>

const char *cs_axis_unit(double until_s, double *unit_s_p)
{
    static const struct {
        const char *name;
        double      seconds;
    } units[] = {{"s", 1}, {"ms", 1e-3}, {"µs", 1e-6}, {"ns", 1e-9}};
    size_t i  = 0;

    while (i < 3 && until_s < 2 * units[i].seconds) {
        i++;
    }
    *unit_s_p = units[i].seconds;
    return units[i].name;
}

/* 1, 2 or 5 times a power of ten, at least `least` (> 0); the decimals that it needs. */
static double step_of(double least, int *decimals_p)
{
    double power = pow(10, floor(log10(least))), step = power;

    step        = step < least ? 2 * power : step;
    step        = step < least ? 5 * power : step;
    step        = step < least ? 10 * power : step;
    *decimals_p = (int)fmax(0, -floor(log10(step) + 1e-9));
    return step;
}

cs_axis cs_axis_until(double until_s, double least_s)
{
    cs_axis axis = {0};

    axis.unit = cs_axis_unit(until_s, &axis.unit_s);
    axis.step = step_of(least_s / axis.unit_s, &axis.decimals);
    while (axis.n_marks * axis.step * axis.unit_s <= until_s * (1 + 1e-9)) {
        axis.n_marks++;
    }
    return axis;
}
