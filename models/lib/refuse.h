/* SPDX-License-Identifier: GPL-3.0-or-later */
/* models/lib/refuse.h -- what port models cannot honour. */
#ifndef CS_MODELS_LIB_REFUSE_H
#define CS_MODELS_LIB_REFUSE_H

#include "cs/scenario.h"

/* Between the ports of a port model there is nothing. */
static inline cs_status cs_refuse_topology(const cs_scenario *scenario, const char *model,
                                           cs_error *err)
{
    if (scenario->cluster.topology == NULL) {
        return CS_OK;
    }
    return CS_FAIL(err, CS_ENOTSUP, "cluster.topology",
                   "model %s has no topology: accepted is {\"kind\": \"crossbar\"}", model);
}

#endif
