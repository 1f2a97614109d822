/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The list of figures, made from figures.def, and how one is found by name. */
#include "base/nearest.h"
#include "figures/figures.h"

#include <string.h>

#define CS_FIGURE(x) extern const cs_figure cs_figure_##x;
#include "figures/figures.def"
#undef CS_FIGURE

const cs_figure *const cs_figures[] = {
#define CS_FIGURE(x) &cs_figure_##x,
#include "figures/figures.def"
#undef CS_FIGURE
    NULL,
};

enum { N_FIGURES = sizeof cs_figures / sizeof cs_figures[0] - 1 };

cs_status cs_figure_find(const char *name, const cs_figure **figure_p, cs_error *err)
{
    const char *names[N_FIGURES];

    for (size_t i = 0; i < N_FIGURES; i++) {
        names[i] = cs_figures[i]->name;
        if (strcmp(name, names[i]) == 0) {
            *figure_p = cs_figures[i];
            return CS_OK;
        }
    }
    const char *near = cs_nearest(name, names, N_FIGURES);
    return CS_FAIL(err, CS_ENOENT, "figure", "no figure '%s'%s%s%s; 'collsim list figures' has all",
                   name, near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "");
}
