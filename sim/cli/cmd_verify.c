/* SPDX-License-Identifier: GPL-3.0-or-later */
/* collsim verify: is this schedule file a correct collective? */
#include "cli/cli.h"
#include "config/schedule_json.h"
#include "cs/replay.h"

#include <stdio.h>

/* clang-format off */
static const cs_arg verify_args[] = {
    CS_ARG_HELP_ROW,
    CS_ARG_LAST_ROW,
};
/* clang-format on */

static const cs_arg *const verify_tables[] = {verify_args, NULL};

/* Any cluster will do: a schedule's meaning does not depend on time. */
static cs_status verify_stored(const cs_stored *stored, cs_verdict *verdict, cs_error *err)
{
    cs_scenario scenario = {
        .collective = stored->collective,
        .root       = stored->root,
        .bytes      = stored->bytes,
        .cluster    = {.n_ranks         = stored->n_ranks,
                       .gpus_per_server = stored->gpus_per_server,
                       .sockets         = stored->sockets,
                       .fabrics = {{CS_SWITCHED, 0, 1}, {CS_SWITCHED, 0, 1}, {CS_SWITCHED, 0, 1}}}};
    cs_stored_options options = {stored};
    cs_plan           plan    = {0};
    cs_status         status  = cs_algorithm_stored.check(&scenario, &options, &plan, err);

    if (status == CS_OK) {
        status = cs_verify(&scenario, &cs_algorithm_stored, &options, &plan, verdict, err);
    }
    return status;
}

static int verify_file(const char *path)
{
    cs_stored *stored  = NULL;
    cs_verdict verdict = {0};
    cs_error   err     = {0};
    cs_status  status  = cs_schedule_load(path, &stored, &err);

    if (status == CS_OK) {
        status = verify_stored(stored, &verdict, &err);
    }
    if (status == CS_OK && verdict.is_correct) {
        printf("%s: a correct %s over %u ranks: %zu transfers, %u rounds\n", path,
               cs_collective_name(stored->collective), stored->n_ranks, stored->n_transfers,
               stored->plan.n_rounds);
    } else if (status == CS_OK) {
        printf("%s: not a correct %s: %s\n", path, cs_collective_name(stored->collective),
               verdict.text);
    }
    cs_stored_free(stored);
    if (status != CS_OK) {
        return cs_cli_fail(&err);
    }
    return verdict.is_correct ? CS_EXIT_DONE : CS_EXIT_NO;
}

static int verify_run(int count, char *const *words)
{
    cs_args     args = {.tables = {verify_args, NULL}, .count = count, .words = words};
    cs_error    err  = {0};
    const char *path = NULL;
    int         id;

    while ((id = cs_args_next(&args, &err)) != CS_ARG_END) {
        if (id == CS_ARG_HELP) {
            return cs_cli_help(&cs_command_verify, verify_tables);
        }
        if (id == CS_ARG_OPERAND && path != NULL) {
            CS_FAIL(&err, CS_EINVAL, args.value, "only one file is accepted");
        }
        if (err.status != CS_OK) {
            return cs_cli_fail(&err);
        }
        path = args.value;
    }
    if (path == NULL) {
        CS_FAIL(&err, CS_EINVAL, "verify", "needs a schedule file");
        return cs_cli_fail(&err);
    }
    return verify_file(path);
}

const cs_command cs_command_verify = {
    .name    = "verify",
    .usage   = "verify FILE",
    .summary = "is this schedule file a correct collective?",
    .run     = verify_run,
};
