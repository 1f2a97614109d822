/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The list of network models, made from models.def, and how one is found by name. */
#include "base/nearest.h"
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

enum { N_MODELS = sizeof cs_models / sizeof cs_models[0] - 1 };

/* clang-format off */
const cs_missing cs_models_missing[] = {
    {"packet", "packets through queues and switches", "not part of this version"},
#ifndef COLLSIM_HAS_SIMGRID
    {"simgrid", "SimGrid's flow-level network",
     "not part of this build: it needs libsimgrid-dev and g++"},
#endif
    {"ns3", "ns-3's packet-level network", "not part of this version"},
    {NULL, NULL, NULL},
};
/* clang-format on */

cs_status cs_model_find(const char *name, const cs_model **model_p, cs_error *err)
{
    const char *names[N_MODELS];

    for (size_t i = 0; i < N_MODELS; i++) {
        names[i] = cs_models[i]->name;
        if (strcmp(name, names[i]) == 0) {
            *model_p = cs_models[i];
            return CS_OK;
        }
    }
    for (const cs_missing *m = cs_models_missing; m->name != NULL; m++) {
        if (strcmp(name, m->name) == 0) {
            return CS_FAIL(err, CS_EMISSING, "model", "model %s is %s", name, m->missing);
        }
    }
    const char *near = cs_nearest(name, names, N_MODELS);
    return CS_FAIL(err, CS_ENOENT, "model", "no model '%s'%s%s%s; 'collsim list models' has all",
                   name, near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "");
}
