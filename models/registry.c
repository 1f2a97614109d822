/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The list of network models, made from models.def, and how one is found by name. */
#include "cs/model.h"

#include <string.h>

#define CS_MODEL(x) extern const cs_model cs_model_##x;
#include "models/models.def"
#undef CS_MODEL

const cs_model *const cs_models[] = {
#define CS_MODEL(x) &cs_model_##x,
#include "models/models.def"
#undef CS_MODEL
    NULL,
};

const cs_named cs_model_names = {
    .things      = cs_models,
    .n           = sizeof cs_models / sizeof cs_models[0] - 1,
    .stride      = sizeof(void *),
    .by_pointer  = true,
    .takes_parts = true,
    .name        = offsetof(cs_model, name),
    .aliases     = offsetof(cs_model, aliases),
    .status      = CS_ENOENT,
    .what        = "no model",
    .hint        = "; 'collsim list models' has all",
};

/* clang-format off */
const cs_missing cs_models_missing[] = {
#ifndef COLLSIM_HAS_SIMGRID
    {"simgrid", "SimGrid's flow-level network",
     "not part of this build: it needs libsimgrid-dev and g++"},
#endif
#ifndef COLLSIM_HAS_NS3
    {"ns3", "ns-3's packet-level network",
     "not part of this build: it needs libns3-dev and g++"},
#endif
    {NULL, NULL, NULL},
};
/* clang-format on */

cs_status cs_model_find(const char *name, const cs_model **model_p, cs_error *err)
{
    size_t index = 0;

    for (const cs_missing *m = cs_models_missing; m->name != NULL; m++) {
        if (strcmp(name, m->name) == 0) {
            return CS_FAIL(err, CS_EMISSING, "model", "model %s is %s", name, m->missing);
        }
    }
    CS_TRY(cs_find_named(&cs_model_names, name, &index, "model", err));
    *model_p = cs_models[index];
    return CS_OK;
}
