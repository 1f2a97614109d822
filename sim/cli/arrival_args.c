/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How a trace is read: see arrival_args.h. */
#include "cli/arrival_args.h"

/* clang-format off */
const cs_arg cs_arrival_args[] = {
    CS_ARG_GROUP("how traces are read"),
    {.name = "warmup", .value = "N", .help = "leave out the first N iterations (logs of StragglAR: 1; others: 0)",
     .field = {.name = "warmup", .type = CS_FIELD_U32, .offset = offsetof(cs_arrival_choice, options.warmup),
               .max = UINT32_MAX >> 1},
     .marks = true, .mark = offsetof(cs_arrival_choice, options.sets_warmup)},
    CS_ARG_FLAG(cs_arrival_choice, options.skip_incomplete, 0, "skip-incomplete",
                "leave out iterations that lack a rank instead of refusing them"),
    CS_ARG_TEXT(cs_arrival_choice, options.category, 0, "category", "NAME[,..]",
                "timelines: the events that are a rank's work"),
    CS_ARG_TEXT(cs_arrival_choice, options.group, 0, "group", "NAME",
                "NCCL traces: the process group (the one with most calls)"),
    CS_ARG_TEXT(cs_arrival_choice, options.collective, 0, "collective", "C",
                "NCCL traces: which of its collectives (allreduce)"),
    CS_ARG_HELP_ROW,
    CS_ARG_LAST_ROW,
};
/* clang-format on */
