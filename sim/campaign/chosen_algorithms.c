/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "campaign/chosen_algorithms.h"

#include <string.h>

cs_status cs_chosen_algorithms_add(cs_chosen_algorithms *list, const char *name, const char *option,
                                   cs_error *err)
{
    const cs_algorithm *algorithm = NULL;
    cs_error            unknown   = {0};

    for (size_t i = 0; i < list->n; i++) {
        if (strcmp(list->names[i], name) == 0) {
            return CS_OK;
        }
    }
    if (list->n == CS_MOST_CHOSEN_ALGORITHMS) {
        return CS_FAIL(err, CS_EINVAL, "--algorithm", "more than %d", CS_MOST_CHOSEN_ALGORITHMS);
    }
    cs_status status = cs_algorithm_find(name, &algorithm, &unknown);
    if (status != CS_OK) {
        return CS_FAIL(err, status, option, "%s", unknown.message);
    }
    list->names[list->n++] = algorithm->name;
    return CS_OK;
}

cs_status cs_chosen_algorithms_add_all(cs_chosen_algorithms *list, uint32_t collectives,
                                       cs_error *err)
{
    for (size_t i = 0; cs_algorithms[i] != NULL; i++) {
        if ((cs_algorithms[i]->collectives & collectives) != 0) {
            CS_TRY(cs_chosen_algorithms_add(list, cs_algorithms[i]->name, "--algorithm", err));
        }
    }
    return CS_OK;
}

cs_status cs_chosen_algorithms_sweep(const cs_chosen_algorithms *list, cs_config *config,
                                     cs_error *err)
{
    cs_value values[CS_MOST_CHOSEN_ALGORITHMS];

    for (size_t i = 0; i < list->n; i++) {
        values[i] = (cs_value){.type = CS_VALUE_TEXT, .text = list->names[i]};
    }
    return cs_config_sweep_put(config, "algorithm.name", values, list->n, "--algorithm", err);
}
