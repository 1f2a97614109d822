/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Command lines: an input is the words behind `collsim`, a line each. They are read by the tables
 * of the command that the first one names; what they set is set in a configuration, which is asked
 * for everything that does not run. Each is refused in one line, or makes cases that are what they
 * are called. Nothing is run and no file is written.
 */
#include "base/text.h"
#include "cli/cli.h"
#include "cli/scenario_args.h"
#include "cli/whatif_trace.h"
#include "cli/workers_args.h"
#include "config/whatif_json.h"
#include "cs/bound.h"
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_WORDS = 256, MAX_CASES = 4 };

static const cs_command *const commands[] = {
#define X(name) &cs_command_##name,
    CS_COMMANDS(X)
#undef X
};

/* What the words chose. */
typedef struct line {
    const cs_command      *command;
    bool                   has_scenario; /* the command takes the options of one */
    cs_scenario_choice     scenario;
    cs_workers_choice      workers;
    cs_whatif_trace_choice trace;
} line;

static bool has_table(const cs_command *command, const cs_arg *table)
{
    size_t i = 0;

    while (command->tables[i] != NULL && command->tables[i] != table) {
        i++;
    }
    return command->tables[i] != NULL;
}

/* An option is one of the command's, under the name that it was asked for. */
static void claim_option(const line *l, int id, const cs_args *args)
{
    const cs_arg *row = NULL;

    for (size_t t = 0; l->command->tables[t] != NULL; t++) {
        for (const cs_arg *a = l->command->tables[t]; a->id != 0; a++) {
            bool is_named = a->name != NULL && strcmp(args->name + 2, a->name) == 0;
            bool is_short = a->name == NULL && a->letter == args->name[1];
            row           = a->id == id && (is_named || is_short) ? a : row;
        }
    }
    FUZZ_CLAIM(row != NULL);
    FUZZ_CLAIM((row->value != NULL) == (args->value != NULL));
}

/* An option of the command's own: where its values are a list of names, it is one of them. */
static cs_status take_own(const cs_args *args, cs_error *err)
{
    int       index  = -1;
    cs_status status = args->value == NULL ? CS_OK
                                           : cs_cli_choice(args->value, "table|json|csv|text|",
                                                           args->name, &index, err);

    FUZZ_CLAIM(status == CS_OK || index == -1);
    return CS_OK;
}

static cs_status take(void *job, int id, const cs_args *args, cs_error *err)
{
    line *l = job;

    FUZZ_CLAIM(id == CS_ARG_OPERAND || id > 0);
    if (id != CS_ARG_OPERAND) {
        claim_option(l, id, args);
    }
    if (id == CS_ARG_OPERAND) {
        return CS_OK; /* a file: readers of files have targets of their own */
    }
    if (l->has_scenario && id <= CS_SCENARIO_ARG_LAST) {
        return cs_scenario_choice_add(&l->scenario, id, args, err);
    }
    if (strcmp(args->name, "--set") == 0) {
        return cs_workers_choice_add(&l->workers, CS_WORKERS_SET, args, err);
    }
    if (id >= CS_WORKERS_ARG_FIRST && id < CS_ARG_HELP) {
        return cs_workers_choice_add(&l->workers, id, args, err);
    }
    if (cs_whatif_trace_arg_is(id)) {
        return cs_whatif_trace_add(&l->trace, id, args, err);
    }
    cs_error wrong = {0};
    return take_own(args, &wrong);
}

static void claim_help(const cs_command *command)
{
    cs_text text = {0};

    for (size_t i = 0; command->tables[i] != NULL; i++) {
        cs_args_help(&text, command->tables[i]);
    }
    FUZZ_CLAIM(!text.failed && text.data != NULL && strstr(text.data, "--help") != NULL);
    cs_text_free(&text);
}

/* ---- what was set ---- */

static void use_case(const cs_config *config, size_t index)
{
    cs_case   c      = {0};
    cs_error  err    = {0};
    cs_text   point  = {0};
    cs_status status = cs_config_case(config, index, &c, &err);

    if (status != CS_OK) {
        fuzz_claim_error(status, &err);
        (void)!cs_config_point(config, index, &point, NULL);
        cs_text_free(&point);
        return;
    }
    FUZZ_CLAIM(cs_scenario_check(&c.job.scenario, &err) == CS_OK);
    FUZZ_CLAIM(c.job.algorithm != NULL && c.job.model != NULL && c.json != NULL);
    cs_case_free(&c);
}

/* Some would be a job: of what-if, or of a cluster that trains. */
static void use_as_job(const cs_config *config)
{
    cs_whatif_job job    = {0};
    cs_error      err    = {0};
    cs_status     status = cs_whatif_read(config, &job, &err);

    if (status != CS_OK) {
        fuzz_claim_error(status, &err);
        return;
    }
    cs_whatif_job_free(&job);
}

static void use_config(cs_config *config)
{
    size_t count = cs_config_count(config);

    FUZZ_CLAIM(count >= 1 && count <= CS_CONFIG_MAX_CASES);
    FUZZ_CLAIM(cs_config_fingerprint(config) != 0);
    for (size_t i = 0; i < count && i < MAX_CASES; i++) {
        use_case(config, i);
    }
    use_as_job(config);
}

/* What the program would say beside its answer: whole lines of text. */
static void claim_said(const char *said)
{
    for (const char *at = said; *at != '\0'; at = strchr(at, '\n') + 1) {
        FUZZ_CLAIM(strncmp(at, "collsim: note: ", 15) == 0);
        FUZZ_CLAIM(strchr(at, '\n') != NULL);
    }
    for (const char *c = said; *c != '\0'; c++) {
        FUZZ_CLAIM(*c == '\n' || ((unsigned char)*c >= ' ' && *c != 0x7f));
    }
}

static cs_status set_all(line *l, cs_config **config_p, cs_error *err)
{
    cs_status status = CS_OK;

    if (l->has_scenario) {
        status             = cs_scenario_choice_finish(&l->scenario, err);
        *config_p          = l->scenario.config;
        l->scenario.config = NULL;
        return status;
    }
    status = cs_workers_check_output(&l->workers, err);
    return status == CS_OK ? cs_workers_config(&l->workers, config_p, err) : status;
}

/* The program's own words go to a text instead of standard error. */
static cs_status set_all_and_hear(line *l, cs_config **config_p, cs_error *err)
{
    char  *said   = NULL;
    size_t length = 0;
    FILE  *own = stderr, *heard = open_memstream(&said, &length);

    FUZZ_CLAIM(heard != NULL);
    stderr           = heard;
    cs_status status = set_all(l, config_p, err);
    stderr           = own;
    FUZZ_CLAIM(fclose(heard) == 0);
    claim_said(said);
    free(said);
    return status;
}

static void read_line(line *l, int count, char *const *words)
{
    bool       wants_help = false;
    cs_error   err        = {0};
    cs_config *config     = NULL;
    cs_status  status     = cs_cli_read(l->command, count, words, take, l, &wants_help, &err);

    if (status == CS_OK && wants_help) {
        claim_help(l->command);
    } else if (status == CS_OK) {
        status = set_all_and_hear(l, &config, &err);
    }
    if (status != CS_OK) {
        fuzz_claim_error(status, &err);
    } else if (config != NULL) {
        use_config(config);
    }
    cs_config_free(config);
}

/* The lines of the input, cut in place. */
static int split(char *text, char **words)
{
    int count = 0;

    for (char *at = text; at != NULL && count < MAX_WORDS;) {
        words[count++] = at;
        at             = strchr(at, '\n');
        if (at != NULL) {
            *at++ = '\0';
        }
    }
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length)
{
    char  *text = malloc(length + 1);
    char  *words[MAX_WORDS];
    line   l      = {0};
    size_t n_done = 0;

    FUZZ_CLAIM(text != NULL);
    if (length > 0) {
        memcpy(text, data, length);
    }
    text[length] = '\0';
    int count    = split(text, words);
    for (; n_done < sizeof commands / sizeof commands[0]; n_done++) {
        if (strcmp(words[0], commands[n_done]->name) == 0) {
            l.command      = commands[n_done];
            l.has_scenario = has_table(l.command, cs_scenario_args);
            read_line(&l, count - 1, words + 1);
            break;
        }
    }
    free(text);
    return 0;
}
