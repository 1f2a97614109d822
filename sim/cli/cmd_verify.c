/* SPDX-License-Identifier: GPL-3.0-or-later */
/* collsim verify: is this schedule file a correct collective? */
#include "cli/cli.h"
#include "cs/job.h"
#include "schedules/schedule_json.h"

typedef struct verify_job {
    const char *path;
} verify_job;

/* clang-format off */
static const cs_arg verify_args[] = {
    CS_ARG_OPERAND(verify_job, path, "file"),
    CS_ARG_HELP_ROW,
    CS_ARG_LAST_ROW,
};
static const cs_arg_table verify_tables[] = {{verify_args, 0, CS_NOWHERE, CS_NOWHERE}, {.args = NULL}};
/* clang-format on */

static int verify_file(const char *path)
{
    cs_stored *stored  = NULL;
    cs_text    text    = {0};
    cs_verdict verdict = {0};
    cs_error   err     = {0};
    cs_status  status  = cs_schedule_load(path, &stored, &err);

    if (status == CS_OK) {
        status = cs_schedule_verify(stored, &verdict, &err);
    }
    if (status == CS_OK && verdict.is_correct) {
        cs_text_add(&text, "%s: a correct %s over %u ranks: %zu messages, %u rounds\n", path,
                    cs_collective_name(stored->collective), stored->n_ranks,
                    cs_recording_messages(&stored->recording), stored->plan.n_rounds);
    } else if (status == CS_OK) {
        cs_text_add(&text, "%s: not a correct %s: %s\n", path,
                    cs_collective_name(stored->collective), verdict.text);
    }
    cs_stored_free(stored);
    if (status != CS_OK) {
        return cs_cli_fail(&err);
    }
    int code = cs_cli_print(&text);
    return code == CS_EXIT_DONE && !verdict.is_correct ? CS_EXIT_NO : code;
}

static int verify_run(int count, char *const *words)
{
    cs_error   err        = {0};
    verify_job j          = {NULL};
    bool       wants_help = false;
    cs_status  status     = cs_cli_read(&cs_command_verify, count, words, &j, &wants_help, &err);

    if (status == CS_OK && wants_help) {
        return cs_cli_help(&cs_command_verify);
    }
    if (status == CS_OK && j.path == NULL) {
        status = CS_FAIL(&err, CS_EINVAL, "verify", "needs a schedule file");
    }
    return status == CS_OK ? verify_file(j.path) : cs_cli_fail(&err);
}

const cs_command cs_command_verify = {
    .name    = "verify",
    .usage   = "verify FILE",
    .summary = "is this schedule file (JSON, MSCCL XML, MSCCL++ plan) a correct collective?",
    .tables  = verify_tables,
    .examples =
        {"collsim schedule rhd -n 8 --format msccl -o rhd.xml && collsim verify rhd.xml",
         "collsim schedule ring -n 4 --format json -o ring.json && collsim verify ring.json"},
    .run = verify_run,
};
