/* SPDX-License-Identifier: GPL-3.0-or-later */
/* collsim: how long a collective takes when a GPU is late or a NIC is broken. */
#include "cli/cli.h"
#include "cli/complete.h"
#include "cli/signals.h"
#include "cs/build.h"
#include "cs/named.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

static const cs_command *const commands[] = {
#define X(name) &cs_command_##name,
    CS_COMMANDS(X)
#undef X
        NULL,
};

enum { N_COMMANDS = sizeof commands / sizeof commands[0] - 1 };

static int print_usage(void)
{
    cs_text text = {0};

    cs_text_add(&text,
                "usage: collsim COMMAND [arguments]\n"
                "How long a collective takes when a GPU is late or a NIC is broken, how far that "
                "is from the\nbest possible, and which schedule should run instead.\n\n");
    for (size_t i = 0; i < N_COMMANDS; i++) {
        cs_text_add(&text, "  %-11s %s\n", commands[i]->name, commands[i]->summary);
    }
    cs_text_add(&text, "\n'collsim COMMAND --help' shows a command's options; 'man collsim' has "
                       "more.\n");
    return cs_cli_print(&text);
}

static int print_version(void)
{
    cs_text text = {0};

    cs_text_add(&text, "collsim %s (build %s)\n", COLLSIM_VERSION, cs_build());
    return cs_cli_print(&text);
}

/* For the completions of shells, which say so far: "complete run --model a". */
static int print_completions(int count, char *const *words)
{
    cs_text text = {0};

    if (count > 0) {
        cs_complete(&text, commands, count, words);
    }
    return cs_cli_print(&text);
}

/* Run the command of that name. */
static int run_command(const char *name, int count, char *const *words)
{
    static const cs_named named = {
        .things     = commands,
        .n          = N_COMMANDS,
        .stride     = sizeof(void *),
        .by_pointer = true,
        .name       = offsetof(cs_command, name),
        .aliases    = CS_NO_ALIASES,
        .status     = CS_EINVAL,
        .what       = "no command",
        .hint       = "; 'collsim --help' shows all",
    };
    size_t   index = 0;
    cs_error err   = {0};

    return cs_find_named(&named, name, &index, "", &err) == CS_OK
               ? commands[index]->run(count, words)
               : cs_cli_fail(&err);
}

/* Replays take the same megabytes and give them back over and over: glibc is told to keep them
 * instead of returning them to the system, which would hand them out again page by page. */
static void keep_memory(void)
{
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 16 << 20);
    mallopt(M_TRIM_THRESHOLD, 256 << 20);
#endif
}

/* A standard file that is closed is opened so that its use fails: its number must not go to a file
 * of ours, into which what is printed would be written. */
static void occupy_standard_files(void)
{
    for (int file = STDIN_FILENO; file <= STDERR_FILENO; file++) {
        if (fcntl(file, F_GETFD) < 0) {
            (void)open("/dev/null", file == STDIN_FILENO ? O_WRONLY : O_RDONLY);
        }
    }
}

int main(int argc, char **argv)
{
    keep_memory();
    occupy_standard_files();
    cs_signals_install();
    if (argc < 2) {
        int code = print_usage();
        return code == CS_EXIT_DONE ? CS_EXIT_USAGE : code;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        return print_usage();
    }
    if (strcmp(argv[1], "--version") == 0) {
        return print_version();
    }
    if (strcmp(argv[1], "complete") == 0) {
        return print_completions(argc - 2, argv + 2);
    }
    return run_command(argv[1], argc - 2, argv + 2);
}
