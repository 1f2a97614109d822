/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/data_args.h"

#include "campaign/thread_pool.h"
#include "cli/progress.h"
#include "report/report.h"

#include <stdio.h>

/* clang-format off */
const cs_arg cs_data_args[] = {
    CS_ARG_GROUP("results that are there, and threads"),
    {.name = "where", .value = "COLUMN=VALUE", .help = "only rows with that value: bytes=1G, ranks=16 (repeatable)",
     .field = CS_ARG_LIST_FIELD(cs_data_choice, conditions, n_conditions, "where")},
    CS_ARG_NUMBER(cs_data_choice, jobs, 'j', "jobs", "JOBS", "threads for what is run (one per processor)",
                  .min = 1, .max = 1024),
    CS_ARG_OPERAND(cs_data_choice, scenario.given.path, "results or configuration"),
    CS_ARG_LAST_ROW,
};
/* clang-format on */

/* What the options would change was run long ago. */
static cs_status refuse_options(const cs_scenario_choice *choice, cs_error *err)
{
    char origin[40] = "--min-bytes";

    if (choice->given.n_set > 0) {
        (void)snprintf(origin, sizeof origin, "--%s", choice->given.set[0].arg->name);
    }
    return choice->given.n_set > 0 || choice->min_bytes > 0 || choice->max_bytes > 0
               ? CS_FAIL(err, CS_EINVAL, origin,
                         "%s holds results: options are for configurations, which are run; "
                         "--where chooses rows",
                         choice->given.path)
               : CS_OK;
}

static cs_status load(cs_data_choice *choice, cs_data *data, cs_error *err)
{
    cs_scenario_choice *s    = &choice->scenario;
    cs_data_kind        kind = CS_DATA_CONFIG;

    if (s->given.path != NULL) {
        CS_TRY(cs_data_kind_of(s->given.path, &kind, err));
    }
    if (kind == CS_DATA_ROWS) {
        CS_TRY(refuse_options(s, err));
        return cs_data_read(s->given.path, data, err);
    }
    CS_TRY(cs_scenario_choice_finish(s, err));
    if (choice->with_before) {
        CS_TRY(cs_report_before(s->config, err));
    }
    cs_cli_progress_begin("scenarios", s->is_quiet || cs_config_count(s->config) == 1);
    cs_status status = cs_data_run_told(
        s->config, choice->jobs > 0 ? choice->jobs : cs_processors(), &cs_cli_listener, data, err);
    cs_cli_progress_end();
    return status;
}

cs_status cs_data_choice_load(cs_data_choice *choice, cs_data *data, cs_error *err)
{
    CS_TRY(load(choice, data, err));
    for (size_t i = 0; i < choice->n_conditions; i++) {
        CS_TRY(cs_data_keep(data, choice->conditions[i], "--where", err));
    }
    return CS_OK;
}
