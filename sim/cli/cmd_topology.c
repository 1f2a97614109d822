/* SPDX-License-Identifier: GPL-3.0-or-later */
/* collsim topology: what a preset or a file describes, as text, JSON, a picture or InfraGraph. */
#include "base/arena.h"
#include "cli/cli.h"
#include "cli/config_args.h"
#include "output/topology_view.h"
#include "topology/infragraph.h"
#include "topology/topology_file.h"

typedef struct request {
    cs_config_choice given;
    const char      *name, *out;
    int              format;
} request;

/* clang-format off */
static const cs_arg topology_args[] = {
    CS_ARG_GROUP("what is shown"),
    CS_ARG_KEY('n', "ranks", "N", "cluster.ranks", CS_SET_VALUE, NULL, "number of GPUs (those of the topology)"),
    CS_ARG_KEY('g', "gpus-per-server", "G", "cluster.gpus_per_server", CS_SET_VALUE, NULL, "GPUs of a server that are used (all)"),
    CS_ARG_GROUP("output"),
    CS_ARG_CHOICE(request, format, 0, "format", "text|json|dot|svg|infragraph", "how to print (text)"),
    CS_ARG_TEXT(request, out, 'o', "output", "FILE", "write there instead of standard output"),
    CS_ARG_OPERAND(request, name, "topology"),
    CS_ARG_HELP_ROW,
    CS_ARG_LAST_ROW,
};
static const cs_arg_table topology_tables[] = {
    {topology_args, 0, offsetof(request, given), CS_NOWHERE}, {.args = NULL}};
/* clang-format on */

/* The scenario that uses the topology on a network model. */
static cs_status set_case(const request *q, cs_config *config, cs_error *err)
{
    const cs_value name = {.type = CS_VALUE_TEXT, .text = q->name};
    const cs_value flow = {.type = CS_VALUE_TEXT, .text = "flow"};

    CS_TRY(cs_config_put(config, "cluster.topology", &name, "topology", err));
    CS_TRY(cs_config_put(config, "model.name", &flow, "topology", err));
    return cs_config_choice_apply(&q->given, config, err);
}

/* InfraGraph's YAML, or its JSON where the name of the output ends so. */
static cs_status write_infragraph(const request *q, const cs_topology_view *view, cs_text *text,
                                  cs_error *err)
{
    uint32_t g = view->cluster->gpus_per_server;

    if (view->site == NULL) {
        return CS_FAIL(
            err, CS_ENOTSUP, "--format",
            "infragraph is written of servers: %.100s (%s) does not say what its servers "
            "are made of",
            view->name, view->format);
    }
    if (g != view->site->machine->n_gpus || view->cluster->n_ranks % g != 0) {
        return CS_FAIL(err, CS_ENOTSUP, "--format",
                       "infragraph is written of whole servers: accepted are multiples of %u ranks",
                       view->site->machine->n_gpus);
    }
    return cs_infragraph_write(view->site, cs_n_servers(view->cluster),
                               q->out != NULL && cs_ends_in(q->out, ".json"), text, err);
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
        size_t own = sizeof shows / sizeof shows[0];
        status     = (size_t)q->format < own ? shows[q->format](&view, text, err)
                                             : write_infragraph(q, &view, text, err);
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

static int topology_run(int count, char *const *words)
{
    request q = {0};
    return cs_cli_answer(&cs_command_topology, count, words, answer, &q);
}

const cs_command cs_command_topology = {
    .name  = "topology",
    .usage = "topology PRESET|FILE [-n N] [-g G] [--format text|json|dot|svg|infragraph] [-o FILE]",
    .summary  = "print and draw a topology: servers, ports, links and who shares them",
    .tables   = topology_tables,
    .examples = {"collsim topology dgx-h100 -n 16",
                 "collsim topology configs/server.xml --format svg -o server.svg"},
    .run      = topology_run,
};
