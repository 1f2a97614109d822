/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How a trace is read: see arrival_args.h. */
#include "cli/arrival_args.h"

#include "cli/cli.h"
#include "cs/units.h"

enum { WARMUP = CS_ARRIVAL_ARG_FIRST, SKIP, CATEGORY, GROUP, COLLECTIVE };

/* clang-format off */
const cs_arg cs_arrival_args[] = {
    {WARMUP, 0, "warmup", "N", "leave out the first N iterations (logs of StragglAR: 1; others: 0)"},
    {SKIP, 0, "skip-incomplete", NULL, "leave out iterations that lack a rank instead of refusing them"},
    {CATEGORY, 0, "category", "NAME[,..]", "timelines: the events that are a rank's work"},
    {GROUP, 0, "group", "NAME", "NCCL traces: the process group (the one with most calls)"},
    {COLLECTIVE, 0, "collective", "C", "NCCL traces: which of its collectives (allreduce)"},
    CS_ARG_HELP_ROW,
    CS_ARG_LAST_ROW,
};
/* clang-format on */

cs_status cs_arrival_choice_path(cs_arrival_choice *choice, const char *path, cs_error *err)
{
    if (choice->n_paths == CS_ARRIVAL_MAX_PATHS) {
        return CS_FAIL(err, CS_EINVAL, path, "more than %d traces", CS_ARRIVAL_MAX_PATHS);
    }
    choice->paths[choice->n_paths++] = path;
    return CS_OK;
}

cs_status cs_arrival_choice_add(cs_arrival_choice *choice, int id, const cs_args *args,
                                cs_error *err)
{
    cs_arrival_options *o      = &choice->options;
    uint64_t            number = 0;
    cs_status           status = CS_OK;

    choice->last_option = args->option;
    switch (id) {
    case WARMUP:
        status = cs_parse_integer(args->value, 0, UINT32_MAX >> 1, &number, "--warmup", err);
        o->sets_warmup = true;
        o->warmup      = (uint32_t)number;
        break;
    case SKIP: o->skip_incomplete = true; break;
    case CATEGORY: o->category = args->value; break;
    case GROUP: o->group = args->value; break;
    case COLLECTIVE: o->collective = args->value; break;
    default: return CS_FAIL(err, CS_EINTERNAL, args->name, "the option is in no table");
    }
    return status;
}
