/* SPDX-License-Identifier: GPL-3.0-or-later */
/* results/grid_stages.h -- what the stages of a grid are called in a picture, and their colours. */
#ifndef CS_RESULTS_GRID_STAGES_H
#define CS_RESULTS_GRID_STAGES_H

#include "results/grid.h"

/* Which names fit a run. */
typedef struct cs_grid_names {
    bool is_plain; /* nobody is slow: the operations alone */
    bool is_optcc; /* OptCC's own; they fit only where it did not choose the ring */
} cs_grid_names;
cs_grid_names cs_grid_names_of(const cs_scenario *scenario, const cs_result *result);

/* Of a stage below CS_GRID_STAGES; static storage. */
const char *cs_grid_stage_colour(uint32_t stage);
const char *cs_grid_stage_text(cs_grid_names names, uint32_t stage);

#endif
