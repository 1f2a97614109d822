/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/schedule_arg.h"

static cs_status set_number(cs_config *config, const char *path, uint64_t number, cs_error *err)
{
    const cs_value value = {.type = CS_VALUE_WHOLE, .whole = (int64_t)number};

    return cs_config_put(config, path, &value, "--schedule", err);
}

cs_status cs_schedule_arg_load(cs_scenario_choice *choice, const char *path, cs_stored **schedule_p,
                               cs_error *err)
{
    cs_config *config = choice->config;

    if (cs_config_choice_has(&choice->given, "algorithm.name") ||
        cs_config_choice_has(&choice->given, "cluster.ranks")) {
        return CS_FAIL(
            err, CS_EINVAL, "--schedule",
            "brings its own schedule and ranks: --algorithm and --ranks are not accepted "
            "with it");
    }
    cs_status status = cs_schedule_load(path, schedule_p, err);
    if (status != CS_OK) {
        return status;
    }
    const cs_stored *schedule = *schedule_p;
    status                    = set_number(config, "cluster.ranks", schedule->n_ranks, err);
    if (status == CS_OK) {
        const cs_value name = {.type = CS_VALUE_TEXT,
                               .text = cs_collective_name(schedule->collective)};
        status              = cs_config_put(config, "collective", &name, "--schedule", err);
    }
    if (status == CS_OK && schedule->gpus_per_server > 1) {
        status = set_number(config, "cluster.gpus_per_server", schedule->gpus_per_server, err);
    }
    if (status == CS_OK && schedule->sockets > 1) {
        status = set_number(config, "cluster.sockets", schedule->sockets, err);
    }
    if (status == CS_OK && schedule->bytes > 0 && choice->min_bytes == 0 &&
        !cs_config_choice_has(&choice->given, "bytes")) {
        status = set_number(config, "bytes", schedule->bytes, err);
    }
    return status;
}
