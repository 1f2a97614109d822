/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Command lines: an input is the words behind `collsim`, a line each. They are read by the tables
 * of the command that the first one names; what they set is set in a configuration, which is asked
 * for everything that does not run. Each is refused in one line, or makes cases that are what they
 * are called. Nothing is run and no file is written.
 */
#include "base/text.h"
#include "cli/cli.h"
#include "cli/scenario_args.h"
#include "cs/bound.h"
#include "fuzz.h"
#include "whatif/whatif_json.h"

#include <gsl/gsl_errno.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_WORDS = 256, MAX_CASES = 4, JOB_BYTES = 1 << 16 };

static const cs_command *const commands[] = {
#define X(name) &cs_command_##name,
    CS_COMMANDS(X)
#undef X
};

/* What the words chose: the structs of the command's tables, wherever they are in its job. */
typedef struct line {
    const cs_command *command;
    _Alignas(max_align_t) char job[JOB_BYTES];
} line;

/* Every row is one of the command's, and says where its value goes. */
static void claim_tables(const cs_command *command)
{
    for (const cs_arg_table *t = command->tables; t->args != NULL; t++) {
        for (const cs_arg *a = t->args; a->name != NULL; a++) {
            FUZZ_CLAIM(a->field.name != NULL || a->sets.path != NULL || a->is_help ||
                       (!cs_arg_is_option(a) && a->help[0] != '\0'));
            FUZZ_CLAIM(t->object + a->field.offset < JOB_BYTES);
            FUZZ_CLAIM(a->sets.path == NULL || t->config + sizeof(cs_config_choice) <= JOB_BYTES);
        }
    }
}

/* The table of the scenario's options; NULL: the command takes none. */
static const cs_arg_table *scenario_table(const cs_command *command)
{
    const cs_arg_table *t = command->tables;

    while (t->args != NULL && t->args != cs_scenario_args) {
        t++;
    }
    return t->args != NULL ? t : NULL;
}

static void claim_help(const cs_command *command)
{
    cs_text text = {0};

    for (const cs_arg_table *table = command->tables; table->args != NULL; table++) {
        cs_args_help(&text, table->args);
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

/* Files are not read: readers of files have targets of their own. */
static cs_status set_all(line *l, cs_config **config_p, cs_error *err)
{
    const cs_arg_table *scenario = scenario_table(l->command);
    const cs_arg_table *t        = l->command->tables;
    cs_status           status   = CS_OK;

    if (scenario != NULL) {
        cs_scenario_choice *choice = (cs_scenario_choice *)(void *)(l->job + scenario->object);
        choice->given.path         = NULL;
        status                     = cs_scenario_choice_finish(choice, err);
        *config_p                  = choice->config;
        choice->config             = NULL;
        return status;
    }
    if (t->config == CS_NOWHERE) {
        return CS_OK;
    }
    cs_config_choice *choice = (cs_config_choice *)(void *)(l->job + t->config);
    choice->path             = NULL;
    status                   = cs_config_choice_load(choice, config_p, err);
    if (status == CS_OK) {
        status = cs_config_choice_apply(choice, *config_p, err);
    }
    if (status == CS_OK) {
        cs_config_say_notes(*config_p);
    }
    return status;
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
    cs_status  status     = cs_cli_read(l->command, count, words, l->job, &wants_help, &err);

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
    line  *l      = calloc(1, sizeof *l);
    size_t n_done = 0;

    (void)gsl_set_error_handler_off(); /* as the program does */
    FUZZ_CLAIM(text != NULL && l != NULL);
    if (length > 0) {
        memcpy(text, data, length);
    }
    text[length] = '\0';
    int count    = split(text, words);
    for (; n_done < sizeof commands / sizeof commands[0]; n_done++) {
        if (strcmp(words[0], commands[n_done]->name) == 0) {
            l->command = commands[n_done];
            claim_tables(l->command);
            read_line(l, count - 1, words + 1);
            break;
        }
    }
    free(l);
    free(text);
    return 0;
}
