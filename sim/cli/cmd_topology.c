/* SPDX-License-Identifier: GPL-3.0-or-later */
/* collsim topology: what a preset or a file describes, as text, JSON or a picture. */
#include "base/arena.h"
#include "cli/cli.h"
#include "config/config.h"
#include "config/topology_file.h"
#include "results/topology_view.h"

enum { FORMAT = 1, OUT, RANKS, GPUS };

/* clang-format off */
static const cs_arg topology_args[] = {
    {RANKS, 'n', "ranks", "N", "number of GPUs (those of the topology)"},
    {GPUS, 'g', "gpus-per-server", "G", "GPUs of a server that are used (all)"},
    {FORMAT, 0, "format", "text|json|dot|svg", "how to print (text)"},
    {OUT, 'o', "out", "FILE", "write there instead of standard output"},
    CS_ARG_HELP_ROW,
    CS_ARG_LAST_ROW,
};
/* clang-format on */

static const cs_arg *const topology_tables[] = {topology_args, NULL};

typedef struct request {
    const char *name, *ranks, *gpus, *out;
    int         format;
} request;

/* The scenario that uses the topology on a network model. */
static cs_status set_case(const request *q, cs_config *config, cs_error *err)
{
    cs_text   name = {0};
    cs_status status;

    cs_text_add_json_string(&name, q->name);
    status = cs_text_status(&name, err);
    if (status == CS_OK) {
        status = cs_config_set(config, "cluster.topology", name.data, "topology", err);
    }
    if (status == CS_OK) {
        status = cs_config_set(config, "model.name", "flow", "topology", err);
    }
    if (status == CS_OK && q->ranks != NULL) {
        status = cs_config_set(config, "cluster.ranks", q->ranks, "--ranks", err);
    }
    if (status == CS_OK && q->gpus != NULL) {
        status =
            cs_config_set(config, "cluster.gpus_per_server", q->gpus, "--gpus-per-server", err);
    }
    cs_text_free(&name);
    return status;
}

static cs_status show(const request *q, const cs_case *c, cs_arena *arena, cs_text *text,
                      cs_error *err)
{
    cs_topology_file file   = {0};
    cs_status        status = cs_topology_open(q->name, arena, &file, err);

    if (status == CS_OK) {
        cs_topology_view view = {.name    = q->name,
                                 .format  = cs_topology_format_name(file.format),
                                 .site    = file.site.machine != NULL ? &file.site : NULL,
                                 .cluster = &c->job.scenario.cluster};
        cs_status (*const shows[])(const cs_topology_view *, cs_text *, cs_error *) = {
            cs_topology_text, cs_topology_json, cs_topology_dot, cs_topology_svg};
        status = shows[q->format](&view, text, err);
    }
    cs_topology_file_close(&file);
    return status;
}

static cs_status answer(void *job, cs_text *text, cs_error *err)
{
    const request *q      = job;
    cs_config     *config = NULL;
    cs_case        c      = {0};
    cs_arena       arena  = {0};
    cs_status      status;

    if (q->name == NULL) {
        return CS_FAIL(err, CS_EINVAL, "topology",
                       "needs a preset or a file: 'collsim list topologies' has the presets");
    }
    status = cs_config_new(&config, err);
    if (status == CS_OK) {
        status = set_case(q, config, err);
    }
    if (status == CS_OK) {
        status = cs_config_case(config, 0, &c, err);
    }
    if (status == CS_OK) {
        status = show(q, &c, &arena, text, err);
    }
    cs_arena_free(&arena);
    cs_case_free(&c);
    cs_config_free(config);
    return status == CS_OK ? cs_cli_write_output(q->out, text, err) : status;
}

static cs_status take_arg(void *job, int id, const cs_args *args, cs_error *err)
{
    request *q = job;

    switch (id) {
    case RANKS: q->ranks = args->value; return CS_OK;
    case GPUS: q->gpus = args->value; return CS_OK;
    case OUT: q->out = args->value; return CS_OK;
    case FORMAT:
        return cs_cli_choice(args->value, "text|json|dot|svg", "--format", &q->format, err);
    default: return cs_cli_only(&q->name, args->value, "topology", err);
    }
}

static int topology_run(int count, char *const *words)
{
    request q = {0};
    return cs_cli_answer(&cs_command_topology, count, words, take_arg, answer, &q);
}

const cs_command cs_command_topology = {
    .name    = "topology",
    .usage   = "topology PRESET|FILE [-n N] [-g G] [--format text|json|dot|svg] [-o FILE]",
    .summary = "print and draw a topology: servers, ports, links and who shares them",
    .tables  = topology_tables,
    .run     = topology_run,
};
