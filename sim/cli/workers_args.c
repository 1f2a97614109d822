/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Work on many threads or ranks: see workers_args.h. */
#include "cli/workers_args.h"

#include "campaign/thread_pool.h"
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

cs_status cs_workers_check_output(const cs_workers_choice *choice, cs_error *err)
{
    const char *path = choice->output;

    if (path != NULL && (path[0] == '\0' || path[0] == ':' || strncmp(path, "file:", 5) == 0)) {
        return CS_FAIL(err, CS_EINVAL, "--output", "'%s' is not the name of a file", path);
    }
    const char *dot = path != NULL ? strrchr(path, '.') : NULL;
    if (dot != NULL && (strcmp(dot, ".csv") == 0 || strcmp(dot, ".json") == 0)) {
        return CS_FAIL(
            err, CS_EINVAL, "--output",
            "'%s': a database is written here, FILE.db; 'collsim run -o' writes CSV and JSON",
            path);
    }
    return CS_OK;
}

cs_status cs_workers_config(const cs_workers_choice *choice, cs_config **config_p, cs_error *err)
{
    CS_TRY(cs_config_choice_load(&choice->config, config_p, err));
    CS_TRY(cs_config_choice_apply(&choice->config, *config_p, err));
    if (!choice->is_quiet && cs_ranks_prints(NULL)) {
        cs_config_say_notes(*config_p);
    }
    return CS_OK;
}

unsigned cs_workers_jobs(const cs_workers_choice *choice, const cs_ranks *ranks)
{
    return choice->jobs > 0 ? choice->jobs : ranks == NULL ? cs_processors() : 1;
}

int cs_workers_say_missing(const char *command, size_t missing, size_t total,
                           const cs_error *failure, bool keeps)
{
    char text[800];

    cs_error_text(failure, text, sizeof text);
    fprintf(stderr, "collsim: %s: %zu of %zu scenarios are missing%s: %s\n", command, missing,
            total, keeps ? " (the same command tries them again)" : "", text);
    return CS_EXIT_FAILED;
}

int cs_workers_leave(cs_ranks *ranks, int code)
{
    bool is_one = ranks != NULL && !cs_ranks_leads(ranks);

    cs_ranks_leave(ranks, code);
    return is_one ? CS_EXIT_DONE : code;
}
