/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the commands share: see cli.h. */
#include "cli/cli.h"

#include "base/file.h"
#include "cli/progress.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

int cs_cli_exit_code(cs_status status)
{
    switch (status) {
    case CS_OK: return CS_EXIT_DONE;
    case CS_EWRONG: return CS_EXIT_NO;
    case CS_EINVAL:
    case CS_ENOTSUP:
    case CS_ENOENT:
    case CS_EPARSE: return CS_EXIT_USAGE;
    case CS_ENOMEM:
    case CS_EIO:
    case CS_EMISSING:
    case CS_EINTERNAL:
    case CS_STATUS_COUNT: break;
    }
    return CS_EXIT_FAILED;
}

int cs_cli_fail(const cs_error *err)
{
    char text[800];

    cs_error_text(err, text, sizeof text);
    cs_cli_progress_hide();
    fprintf(stderr, "collsim: %s\n", text);
    return cs_cli_exit_code(err->status);
}

cs_status cs_cli_write(const char *path, const cs_text *text, cs_error *err)
{
    cs_status   status = cs_text_status(text, err);
    const char *data   = text->data != NULL ? text->data : "";

    if (status != CS_OK) {
        return status;
    }
    if (path != NULL && strcmp(path, "-") != 0) {
        return cs_file_write(path, data, text->length, err);
    }
    cs_cli_progress_hide();
    if (fwrite(data, 1, text->length, stdout) != text->length || fflush(stdout) != 0) {
        if (errno == EPIPE) { /* `| head` has what it wants: end without a word, as others do */
            signal(SIGPIPE, SIG_DFL);
            raise(SIGPIPE);
        }
        return CS_FAIL(err, CS_EIO, "", "cannot write to standard output: %s", strerror(errno));
    }
    return CS_OK;
}

bool cs_cli_has_colour(void)
{
    const char *refused = getenv("NO_COLOR"), *terminal = getenv("TERM");

    return isatty(STDOUT_FILENO) && (refused == NULL || refused[0] == '\0') && terminal != NULL &&
           strcmp(terminal, "dumb") != 0;
}

int cs_cli_print(cs_text *text)
{
    cs_error  err    = {0};
    cs_status status = cs_cli_write(NULL, text, &err);

    cs_text_free(text);
    return status == CS_OK ? CS_EXIT_DONE : cs_cli_fail(&err);
}

static bool begins_with_heading(const cs_command *command)
{
    const cs_arg *row = command->tables->args;

    while (row->is_operand) {
        row++;
    }
    return row->name != NULL && row->name[0] == '\0';
}

int cs_cli_help(const cs_command *command)
{
    cs_text text = {0};

    cs_text_add(&text, "usage: collsim %s\n%s\n", command->usage, command->summary);
    if (!begins_with_heading(command)) {
        cs_text_add(&text, "\noptions:\n");
    }
    for (const cs_arg_table *table = command->tables; table->args != NULL; table++) {
        cs_args_help(&text, table->args);
    }
    for (size_t i = 0; i < CS_EXAMPLES && command->examples[i] != NULL; i++) {
        cs_text_add(&text, "%s  %s\n", i == 0 ? "\nexamples:\n" : "", command->examples[i]);
    }
    return cs_cli_print(&text);
}

static const cs_arg *row_of(const cs_arg *table, const char *name)
{
    while (table->name != NULL && (table->is_operand || strcmp(table->name, name) != 0)) {
        table++;
    }
    return table->name != NULL ? table : NULL;
}

static bool ends_in(const char *path, const char *end)
{
    size_t length = strlen(path), behind = strlen(end);

    return length > behind && strcasecmp(path + length - behind, end) == 0;
}

/* Where nobody has chosen a format, the end of the file's name does: .json, .csv. */
static void choose_format(const cs_arg_table *table, void *job)
{
    const cs_arg *format = row_of(table->args, "format"), *output = row_of(table->args, "output");
    const char   *path = NULL;

    if (format == NULL || output == NULL || strcmp(format->value, CS_RESULT_FORMAT_WORDS) != 0) {
        return;
    }
    memcpy(&path, (char *)job + table->object + output->field.offset, sizeof path);
    if (path != NULL && (ends_in(path, ".json") || ends_in(path, ".csv"))) {
        int chosen = ends_in(path, ".json") ? CS_AS_JSON : CS_AS_CSV;
        memcpy((char *)job + table->object + format->field.offset, &chosen, sizeof chosen);
    }
}

cs_status cs_cli_read(const cs_command *command, int count, char *const *words, void *job,
                      bool *wants_help_p, cs_error *err)
{
    cs_args       args   = {.tables = command->tables, .count = count, .words = words};
    cs_status     status = CS_OK;
    cs_args_found found;
    bool          has_format = false;

    while (status == CS_OK && (found = cs_args_next(&args, err)) != CS_ARGS_END) {
        if (found == CS_ARGS_OPTION && args.arg->is_help) {
            *wants_help_p = true;
            break;
        }
        status     = found == CS_ARGS_ERROR ? err->status : cs_args_take(&args, job, err);
        has_format = has_format || (found == CS_ARGS_OPTION && strcmp(args.name, "--format") == 0);
    }
    for (const cs_arg_table *t = command->tables; !has_format && t->args != NULL; t++) {
        choose_format(t, job);
    }
    return status;
}

int cs_cli_answer(const cs_command *command, int count, char *const *words, cs_cli_reply *answer,
                  void *job)
{
    bool      wants_help = false;
    cs_error  err        = {0};
    cs_text   text       = {0};
    cs_status status     = cs_cli_read(command, count, words, job, &wants_help, &err);

    if (status == CS_OK && wants_help) {
        return cs_cli_help(command);
    }
    if (status == CS_OK) {
        status = answer(job, &text, &err);
    }
    if (status != CS_OK) {
        cs_text_free(&text);
        return cs_cli_fail(&err);
    }
    return cs_cli_print(&text);
}

cs_status cs_cli_write_output(const char *path, cs_text *text, cs_error *err)
{
    cs_status status = CS_OK;

    if (path != NULL) {
        status = cs_cli_write(path, text, err);
        cs_text_free(text);
    }
    return status;
}
