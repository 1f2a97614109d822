/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Colours and names of stages: see grid_stages.h. */
#include "results/grid_stages.h"

#include <string.h>

/* The stages of grid.h: colour, what any schedule does there, and what OptCC calls it. */
static const struct {
    const char *colour, *text, *optcc;
} stages[CS_GRID_STAGES] = {
    {"#5AA9D6", "copy between healthy ranks", "S4: final around the ring"},
    {"#BFE3F5", "reduce between healthy ranks", "S1: partial sum around the ring"},
    {"#9AD9C8", "exchange between healthy ranks", "exchange between healthy ranks"},
    {"#E58A2B", "copy to a slow rank", "S2: final to a slow rank"},
    {"#C9A3E3", "reduce to a slow rank", "to a slow rank, which adds (special section, bubbles)"},
    {"#F2C14E", "exchange with a slow rank", "exchange with a slow rank"},
    {"#E3A0C4", "copy from a slow rank", "final from a slow rank (special section, bubbles)"},
    {"#FBD5A0", "reduce from a slow rank", "S3: contribution of a slow rank"},
    {"#F6D98B", "exchange from a slow rank", "exchange from a slow rank"},
    {"#C66B5D", "copy between slow ranks", "copy between slow ranks"},
    {"#E9A79C", "reduce between slow ranks", "reduce between slow ranks"},
    {"#D98779", "exchange between slow ranks", "exchange between slow ranks"},
    {"#8DB580", "copy within a server", "distribute: final within a server"},
    {"#CFE5C4", "reduce within a server", "collect: contributions within a server"},
    {"#B0CFA3", "exchange within a server", "exchange within a server"},
};

cs_grid_names cs_grid_names_of(const cs_scenario *scenario, const cs_result *result)
{
    const cs_field *row      = cs_field_find(result->option_table, "chosen");
    char            text[32] = "";

    if (row != NULL) {
        (void)cs_field_text(row, &result->options, text, sizeof text);
    }
    return (cs_grid_names){.is_plain = scenario->n_faults == 0,
                           .is_optcc = strcmp(result->algorithm, "optcc") == 0 &&
                                       strcmp(text, "optcc") == 0};
}

const char *cs_grid_stage_colour(uint32_t stage)
{
    return stages[stage].colour;
}

const char *cs_grid_stage_text(cs_grid_names names, uint32_t stage)
{
    static const char *const plain[] = {"copy", "reduce", "exchange"};

    if (names.is_plain && stage < 3) {
        return plain[stage];
    }
    return names.is_optcc ? stages[stage].optcc : stages[stage].text;
}
