/* SPDX-License-Identifier: GPL-3.0-or-later */
/* collsim serve: the page live, and its interface over HTTP. */
#include "base/alloc.h"
#include "campaign/thread_pool.h"
#include "cli/cli.h"
#include "cli/scenario_args.h"
#include "cli/signals.h"
#include "serve/serve.h"
#include "study/config.h"

#include <stdio.h>
#include <string.h>

#define DEFAULT_ADDRESS "127.0.0.1"
#define DEFAULT_PORT    8383
#define DEFAULT_TIME_S  10.0
#define DEFAULT_BYTES   (1ull << 30)

enum { SWEEP_TIMES = 60, NAME_BYTES = 32 };

typedef struct serve_job {
    cs_scenario_choice choice;
    const char        *address, *port;
    double             most_time_s;
    uint64_t           most_bytes;
    cs_api_option     *options; /* owned, with their names */
    char (*names)[NAME_BYTES];
} serve_job;

/* clang-format off */
static const cs_arg serve_args[] = {
    CS_ARG_GROUP("the server"),
    CS_ARG_TEXT(serve_job, port, 'p', "port", "P", "port to listen at (8383); 0: any that is free"),
    CS_ARG_TEXT(serve_job, address, 0, "listen", "ADDRESS", "address to listen at (127.0.0.1: this machine alone)"),
    CS_ARG_NUMBER(serve_job, most_time_s, 0, "most-time", "T", "a run is ended after so long (10s; a sweep after 60 times that)",
                  .unit = CS_UNIT_TIME, .min = 0.01, .max = 86400),
    CS_ARG_NUMBER(serve_job, most_bytes, 0, "most-bytes", "S", "... and may take so much memory (1G)",
                  .unit = CS_UNIT_SIZE, .min = 64 << 20, .max = (double)(1ull << 50)),
    CS_ARG_OPERAND(serve_job, choice.given.path, "configuration"),
    CS_ARG_HELP_ROW,
    CS_ARG_LAST_ROW,
};
static const cs_arg_table serve_tables[] = {
    CS_SCENARIO_TABLE(serve_job, choice), {serve_args, 0, CS_NOWHERE, CS_NOWHERE}, {.args = NULL}};
/* clang-format on */

static cs_status listening(void *user, const char *url, cs_error *err)
{
    const serve_job *j    = user;
    cs_text          text = {0};

    cs_text_add(&text, "%s\n", url);
    cs_status status = cs_cli_write(NULL, &text, err);
    cs_text_free(&text);
    if (j->address != NULL && strcmp(j->address, DEFAULT_ADDRESS) != 0 &&
        strcmp(j->address, "localhost") != 0 && strcmp(j->address, "::1") != 0) {
        fprintf(stderr,
                "collsim: warning: --listen %s: everybody who reaches this address can run "
                "scenarios here\n",
                j->address);
    }
    fprintf(stderr, "collsim: %s; Ctrl-C stops the server\n",
            cs_api_page_policy() != NULL
                ? "open the address in a browser"
                : "built without node-d3 (Debian): there is no page, only what is below /api/v1/");
    return status;
}

/* The options of scenarios, as the API writes command lines. */
static cs_status list_options(serve_job *j, size_t *n_p, cs_error *err)
{
    size_t n = 0, used = 0;

    while (cs_scenario_args[n].name != NULL) {
        n++;
    }
    j->options = CS_NEW(cs_api_option, n);
    j->names   = cs_calloc(n, sizeof *j->names);
    if (j->options == NULL || j->names == NULL) {
        return CS_NO_MEMORY(err, "options");
    }
    for (size_t i = 0; i < n; i++) {
        const cs_arg *arg = &cs_scenario_args[i];
        if (arg->sets.path == NULL) {
            continue;
        }
        if (arg->letter != 0) {
            (void)snprintf(j->names[used], NAME_BYTES, "-%c", arg->letter);
        } else {
            (void)snprintf(j->names[used], NAME_BYTES, "--%s", arg->name);
        }
        j->options[used] = (cs_api_option){j->names[used], arg->sets};
        used++;
    }
    *n_p = used;
    return CS_OK;
}

static cs_status read_port(const serve_job *j, uint16_t *port_p, cs_error *err)
{
    static const cs_field row  = {.name     = "port",
                                  .type     = CS_FIELD_U32,
                                  .min      = 0,
                                  .max      = UINT16_MAX,
                                  .fallback = DEFAULT_PORT};
    double                port = DEFAULT_PORT;

    if (j->port != NULL) {
        CS_TRY(cs_field_parse(&row, j->port, &port, "--port", err));
    }
    *port_p = (uint16_t)port;
    return CS_OK;
}

/* What the page begins with: where nothing is said, every algorithm. */
static cs_status choose_start(serve_job *j, cs_error *err)
{
    cs_config *config = j->choice.config;

    if (j->choice.given.path == NULL && !cs_config_names_algorithm(config)) {
        CS_TRY(cs_config_set(config, "algorithm", CS_ALL_ALGORITHMS, "serve", err));
    }
    if (cs_config_count(config) > CS_API_MOST_SWEPT) {
        return CS_FAIL(err, CS_EINVAL, "sweep",
                       "%zu scenarios: accepted are at most %d; 'collsim sweep' runs more",
                       cs_config_count(config), CS_API_MOST_SWEPT);
    }
    return cs_config_check(config, err); /* who opens the page would find that nothing runs */
}

static cs_status serve(serve_job *j, cs_error *err)
{
    cs_api           api     = {0};
    cs_serve_options options = {.api = &api, .listening = listening, .user = j};

    CS_TRY(read_port(j, &options.port, err));
    CS_TRY(cs_scenario_choice_finish(&j->choice, err));
    CS_TRY(choose_start(j, err));
    CS_TRY(cs_config_close_files(j->choice.config, err));
    CS_TRY(list_options(j, &api.n_options, err));
    api.base         = j->choice.config;
    api.base_path    = j->choice.given.path;
    api.options      = j->options;
    api.most_time_s  = j->most_time_s > 0 ? j->most_time_s : DEFAULT_TIME_S;
    api.most_sweep_s = SWEEP_TIMES * api.most_time_s;
    api.most_bytes   = j->most_bytes > 0 ? j->most_bytes : DEFAULT_BYTES;
    api.jobs         = cs_processors();
    options.address  = j->address != NULL ? j->address : DEFAULT_ADDRESS;
    options.stop     = cs_signals_stop_flag();
    return cs_serve(&options, err);
}

static int serve_run(int count, char *const *words)
{
    serve_job j          = {0};
    cs_error  err        = {0};
    bool      wants_help = false;
    cs_status status     = cs_cli_read(&cs_command_serve, count, words, &j, &wants_help, &err);

    if (status == CS_OK && wants_help) {
        return cs_cli_help(&cs_command_serve);
    }
    status = status == CS_OK ? serve(&j, &err) : status;
    cs_scenario_choice_free(&j.choice);
    cs_free(j.options);
    cs_free(j.names);
    return status == CS_OK ? CS_EXIT_DONE : cs_cli_fail(&err);
}

const cs_command cs_command_serve = {
    .name     = "serve",
    .usage    = "serve [CONFIG.json] [options]",
    .summary  = "the page of a scenario live in a browser, and its interface over HTTP",
    .tables   = serve_tables,
    .examples = {"collsim serve --port 0 configs/half-nic.json",
                 "collsim serve --port 0 -a ring,rhd,stragglar -n 16 -s 1G --late 7=4ms"},
    .run      = serve_run,
};
