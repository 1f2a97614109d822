/* SPDX-License-Identifier: GPL-3.0-or-later */
/* figures/optcc_sweep.h -- figures of several panels, each with the times of OptCC and of what it
 * is compared with, over the number of ranks, the size of the buffer, or the slowdown.
 */
#ifndef CS_FIGURES_OPTCC_SWEEP_H
#define CS_FIGURES_OPTCC_SWEEP_H

#include "figures/figures.h"

#include <stdint.h>

enum { CS_OPTCC_PANELS = 5, CS_OPTCC_STEPS = 8 };

typedef enum cs_optcc_axis { CS_OVER_RANKS, CS_OVER_BYTES, CS_OVER_SLOWDOWN } cs_optcc_axis;

typedef struct cs_optcc_panel {
    cs_optcc_axis axis;
    double        slow[2]; /* of the slow servers; the axis replaces all of them */
    const char   *title;
} cs_optcc_panel;

typedef struct cs_optcc_sweep {
    const char    *title, *subtitle;
    uint32_t       gpus, n_slow; /* GPUs of a server; slow servers */
    uint32_t       ranks;        /* where they are not the axis */
    uint64_t       bytes;
    double         gib[CS_OPTCC_STEPS]; /* the sizes, ended by 0 */
    uint32_t       n_panels;
    cs_optcc_panel panels[CS_OPTCC_PANELS];
} cs_optcc_sweep;

/* Replay all of it, check every point, fill table and picture. */
CS_MUST_CHECK cs_status cs_optcc_draw(cs_figure_data *data, const cs_optcc_sweep *sweep,
                                      cs_error *err);

#endif
