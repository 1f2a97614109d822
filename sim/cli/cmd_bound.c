/* SPDX-License-Identifier: GPL-3.0-or-later */
/* collsim bound: every lower bound of a scenario. */
#include "cli/cli.h"
#include "cli/scenario_args.h"
#include "cs/bound.h"
#include "cs/replay.h"

#include <math.h>

typedef struct bound_job {
    cs_scenario_choice choice;
    int                format;
    cs_text           *text;
} bound_job;

/* clang-format off */
static const cs_arg bound_args[] = {
    CS_ARG_CHOICE(bound_job, format, 0, "format", "table|json", "how to print (table)"),
    CS_ARG_OPERAND(bound_job, choice.given.path, "configuration"),
    CS_ARG_HELP_ROW,
    CS_ARG_LAST_ROW,
};
static const cs_arg_table bound_tables[] = {
    CS_SCENARIO_TABLE(bound_job, choice), {bound_args, 0, CS_NOWHERE, CS_NOWHERE}, {.args = NULL}};
/* clang-format on */

static bool does_collective(const cs_case *c)
{
    return (c->algorithm->collectives & 1u << c->scenario.collective) != 0;
}

/* What holds for the case's algorithm and model; where the algorithm does not do the collective,
 * for schedules whose transfers hold their ports, one at a time. */
static cs_status context_of(const cs_case *c, cs_bound_context *context, cs_error *err)
{
    cs_options options = c->options;
    cs_plan    plan    = {0};
    cs_status  status  = CS_OK;

    if (does_collective(c)) {
        status = cs_resolve(&c->scenario, c->algorithm, &options, c->model, &c->model_options,
                            &plan, err);
    } else if (c->model->check != NULL) {
        status = c->model->check(&c->scenario, &c->model_options, err);
    }
    if (status != CS_OK) {
        return status;
    }
    bool shared = cs_model_shares_ports(c->model, &c->model_options, plan.uses);
    *context    = (cs_bound_context){.scenario             = &c->scenario,
                                     .alpha_holds_port     = c->model->alpha_holds_port && !shared,
                                     .alpha_per_message    = !shared,
                                     .is_round_synchronous = plan.is_round_synchronous};
    for (uint32_t f = 0; f < CS_FABRICS; f++) {
        context->latency_s[f] = c->model->latency_s(&c->scenario, &c->model_options, f);
    }
    return CS_OK;
}

static void add_json(cs_text *text, const cs_bound *b, double seconds, const char *best, bool first)
{
    cs_text_add(text, "%s{\"name\": ", first ? "[" : ",\n ");
    cs_text_add_json_string(text, b->name);
    cs_text_add(text, ", \"bound_s\": ");
    cs_text_add_number(text, seconds);
    cs_text_add(text, ", \"is_general\": %s, \"is_best\": %s, \"summary\": ",
                b->is_general ? "true" : "false", b->name == best ? "true" : "false");
    cs_text_add_json_string(text, b->summary);
    cs_text_add(text, ", \"assumption\": ");
    cs_text_add_json_string(text, b->assumption);
    cs_text_add(text, ", \"source\": ");
    cs_text_add_json_string(text, b->source);
    cs_text_add(text, "}");
}

static void add_row(cs_text *text, const cs_bound *b, double seconds, const char *best)
{
    cs_text_add(text, "%-18s %14.3f  %c  %s", b->name, seconds * 1e6,
                b->name == best ? '*' : (b->is_general ? ' ' : '-'), b->summary);
    if (!b->is_general) {
        cs_text_add(text, " [%s]", b->assumption);
    }
    cs_text_add(text, "\n");
}

static void add_bounds(cs_text *text, const cs_bound_context *context, bool json)
{
    const char *best;
    bool        first = true;

    cs_best_bound(context, &best);
    if (!json) {
        cs_text_add(text, "# %-16s %14s     (* the largest, - not for every schedule)\n", "bound",
                    "us");
    }
    for (size_t i = 0; cs_bounds[i] != NULL; i++) {
        double seconds = cs_bounds[i]->seconds(context);
        if (isnan(seconds)) {
            continue;
        }
        if (json) {
            add_json(text, cs_bounds[i], seconds, best, first);
        } else {
            add_row(text, cs_bounds[i], seconds, best);
        }
        first = false;
    }
    cs_text_add(text, "%s", json ? (first ? "[]\n" : "]\n") : "");
}

static cs_status add_case(void *job, cs_case *c, cs_error *err)
{
    bound_job       *j    = job;
    bool             json = j->format == 1, does = does_collective(c);
    cs_bound_context context;
    cs_status        status = context_of(c, &context, err);

    if (status == CS_OK && !json) {
        cs_text_add(j->text, "# %s, %u ranks, %llu bytes, for schedules %s%s on %s\n",
                    cs_collective_name(c->scenario.collective), c->scenario.cluster.n_ranks,
                    (unsigned long long)c->scenario.bytes,
                    does ? "like " : "with one transfer at a time on a port",
                    does ? c->algorithm->name : "", c->model->name);
    }
    if (status == CS_OK) {
        add_bounds(j->text, &context, json);
    }
    return status;
}

static cs_status answer(void *job, cs_text *text, cs_error *err)
{
    bound_job *j = job;

    j->text = text;
    return cs_scenario_choice_run(&j->choice, j->format == 1, add_case, j, err);
}

static int bound_run(int count, char *const *words)
{
    bound_job j = {0};
    return cs_cli_answer(&cs_command_bound, count, words, answer, &j);
}

const cs_command cs_command_bound = {
    .name    = "bound",
    .usage   = "bound [CONFIG.json] [options]",
    .summary = "every lower bound of a scenario",
    .tables  = bound_tables,
    .run     = bound_run,
};
