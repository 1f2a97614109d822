/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The list of figures, made from figures.def, and how one is found by name. */
#include "cs/named.h"
#include "figures/figures.h"

#define CS_FIGURE(x) extern const cs_figure cs_figure_##x;
#include "figures/figures.def"
#undef CS_FIGURE

const cs_figure *const cs_figures[] = {
#define CS_FIGURE(x) &cs_figure_##x,
#include "figures/figures.def"
#undef CS_FIGURE
    NULL,
};

static const cs_named figures = {
    .things      = cs_figures,
    .n           = sizeof cs_figures / sizeof cs_figures[0] - 1,
    .stride      = sizeof cs_figures[0],
    .by_pointer  = true,
    .takes_parts = true,
    .name        = offsetof(cs_figure, name),
    .aliases     = CS_NO_ALIASES,
    .status      = CS_ENOENT,
    .what        = "no figure",
    .hint        = "; 'collsim list figures' has all",
};

cs_status cs_figure_find(const char *name, const cs_figure **figure_p, cs_error *err)
{
    size_t    index  = 0;
    cs_status status = cs_find_named(&figures, name, &index, "figure", err);

    if (status == CS_OK) {
        *figure_p = cs_figures[index];
    }
    return status;
}
