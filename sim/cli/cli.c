/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the commands share: see cli.h. */
#include "cli/cli.h"

#include "base/file.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

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
    if (fwrite(data, 1, text->length, stdout) != text->length || fflush(stdout) != 0) {
        if (errno == EPIPE) { /* `| head` has what it wants: end without a word, as others do */
            signal(SIGPIPE, SIG_DFL);
            raise(SIGPIPE);
        }
        return CS_FAIL(err, CS_EIO, "", "cannot write to standard output: %s", strerror(errno));
    }
    return CS_OK;
}

int cs_cli_print(cs_text *text)
{
    cs_error  err    = {0};
    cs_status status = cs_cli_write(NULL, text, &err);

    cs_text_free(text);
    return status == CS_OK ? CS_EXIT_DONE : cs_cli_fail(&err);
}

int cs_cli_help(const cs_command *command)
{
    cs_text text = {0};

    cs_text_add(&text, "usage: collsim %s\n%s\n\n", command->usage, command->summary);
    for (size_t i = 0; command->tables[i] != NULL; i++) {
        cs_args_help(&text, command->tables[i]);
    }
    return cs_cli_print(&text);
}

cs_status cs_cli_read(const cs_command *command, int count, char *const *words, cs_cli_take *take,
                      void *job, bool *wants_help_p, cs_error *err)
{
    cs_args   args   = {.count = count, .words = words};
    cs_status status = CS_OK;
    int       id;

    for (size_t i = 0; command->tables[i] != NULL; i++) {
        args.tables[i] = command->tables[i];
    }
    while (status == CS_OK && (id = cs_args_next(&args, err)) != CS_ARG_END) {
        if (id == CS_ARG_HELP) {
            *wants_help_p = true;
            break;
        }
        status = id == CS_ARG_ERROR ? err->status : take(job, id, &args, err);
    }
    return status;
}

int cs_cli_answer(const cs_command *command, int count, char *const *words, cs_cli_take *take,
                  cs_cli_reply *answer, void *job)
{
    bool      wants_help = false;
    cs_error  err        = {0};
    cs_text   text       = {0};
    cs_status status     = cs_cli_read(command, count, words, take, job, &wants_help, &err);

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

cs_status cs_cli_only(const char **operand_p, const char *value, const char *what, cs_error *err)
{
    if (*operand_p != NULL) {
        return CS_FAIL(err, CS_EINVAL, value, "only one %s is accepted", what);
    }
    *operand_p = value;
    return CS_OK;
}

cs_status cs_cli_choice(const char *text, const char *choices, const char *where, int *index_p,
                        cs_error *err)
{
    size_t length = strlen(text);
    int    index  = 0;

    for (const char *at = choices; at != NULL && *at != '\0'; index++) {
        const char *bar  = strchr(at, '|');
        size_t      here = bar != NULL ? (size_t)(bar - at) : strlen(at);
        if (here == length && strncmp(at, text, length) == 0) {
            *index_p = index;
            return CS_OK;
        }
        at = bar != NULL ? bar + 1 : NULL;
    }
    return CS_FAIL(err, CS_EINVAL, where, "'%s' is not one of %s", text, choices);
}
