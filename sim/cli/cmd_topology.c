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
    {FORMAT, 0, "format", "text|json|svg", "how to print (text)"},
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
                                 .cluster = &c->scenario.cluster};
        cs_status (*const shows[])(const cs_topology_view *, cs_text *, cs_error *) = {
            cs_topology_text, cs_topology_json, cs_topology_svg};
        status = shows[q->format](&view, text, err);
    }
    cs_topology_file_close(&file);
    return status;
}

static int run(const request *q)
{
    cs_config *config = NULL;
    cs_case    c      = {0};
    cs_arena   arena  = {0};
    cs_text    text   = {0};
    cs_error   err    = {0};
    cs_status  status = cs_config_new(&config, &err);

    if (status == CS_OK) {
        status = set_case(q, config, &err);
    }
    if (status == CS_OK) {
        status = cs_config_case(config, 0, &c, &err);
    }
    if (status == CS_OK) {
        status = show(q, &c, &arena, &text, &err);
    }
    if (status == CS_OK) {
        status = cs_cli_write(q->out, &text, &err);
    }
    cs_text_free(&text);
    cs_arena_free(&arena);
    cs_case_free(&c);
    cs_config_free(config);
    return status == CS_OK ? CS_EXIT_DONE : cs_cli_fail(&err);
}

static int topology_run(int count, char *const *words)
{
    cs_args  args = {.tables = {topology_args, NULL}, .count = count, .words = words};
    cs_error err  = {0};
    request  q    = {0};
    int      id;

    while (err.status == CS_OK && (id = cs_args_next(&args, &err)) != CS_ARG_END) {
        switch (id) {
        case CS_ARG_HELP: return cs_cli_help(&cs_command_topology, topology_tables);
        case RANKS: q.ranks = args.value; break;
        case GPUS: q.gpus = args.value; break;
        case OUT: q.out = args.value; break;
        case FORMAT:
            (void)!cs_cli_choice(args.value, "text|json|svg", "--format", &q.format, &err);
            break;
        case CS_ARG_OPERAND:
            if (q.name != NULL) {
                (void)CS_FAIL(&err, CS_EINVAL, args.value, "only one topology is accepted");
            }
            q.name = args.value;
            break;
        default: break;
        }
    }
    if (err.status == CS_OK && q.name == NULL) {
        (void)CS_FAIL(&err, CS_EINVAL, "topology",
                      "needs a preset or a file: 'collsim list topologies' has the presets");
    }
    return err.status == CS_OK ? run(&q) : cs_cli_fail(&err);
}

const cs_command cs_command_topology = {
    .name    = "topology",
    .usage   = "topology PRESET|FILE [-n N] [-g G] [--format text|json|svg] [-o FILE]",
    .summary = "print and draw a topology: servers, ports, links and who shares them",
    .run     = topology_run,
};
