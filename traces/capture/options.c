/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "options.h"

#include "base/alloc.h"
#include "base/file.h"
#include "cs/units.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_REPETITIONS = 100000 };

static cs_status take_repetitions(void *target, const char *text, cs_error *err)
{
    uint64_t n = 0;

    CS_TRY(cs_parse_integer(text, 1, MOST_REPETITIONS, &n, "--repetitions", err));
    ((cap_options *)target)->repetitions = (uint32_t)n;
    return CS_OK;
}

static cs_status take_warmups(void *target, const char *text, cs_error *err)
{
    uint64_t n = 0;

    CS_TRY(cs_parse_integer(text, 0, MOST_REPETITIONS, &n, "--warm-up", err));
    ((cap_options *)target)->warmups = (uint32_t)n;
    return CS_OK;
}

static cs_status take_late(void *target, const char *text, cs_error *err)
{
    cap_options *o     = target;
    const char  *equal = strchr(text, '=');
    char         rank_text[16];
    uint64_t     rank = 0;
    cap_late     late;

    if (equal == NULL || (size_t)(equal - text) >= sizeof rank_text) {
        return CS_FAIL(err, CS_EINVAL, "--late", "'%.40s': accepted is RANK=TIME, as in 3=20ms",
                       text);
    }
    (void)snprintf(rank_text, sizeof rank_text, "%.*s", (int)(equal - text), text);
    CS_TRY(cs_parse_integer(rank_text, 0, UINT32_MAX - 1, &rank, "--late", err));
    CS_TRY(cs_parse_time(equal + 1, &late.late_s, "--late", err));
    if (!(late.late_s >= 0 && late.late_s <= 3600)) {
        return CS_FAIL(err, CS_EINVAL, "--late", "'%.40s': accepted are times from 0 to 1 h", text);
    }
    late.rank = (uint32_t)rank;
    if (!cs_grow(&o->late, &o->late_capacity, o->n_late + 1, 4, sizeof *o->late)) {
        return CS_NO_MEMORY(err, "the late ranks");
    }
    o->late[o->n_late++] = late;
    return CS_OK;
}

static cs_status take_machine(void *target, const char *text, cs_error *err)
{
    cap_options *o      = target;
    size_t       length = strlen(text);
    size_t       plain =
        strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-");

    if (length == 0 || plain < length || length >= sizeof o->machine) {
        return CS_FAIL(err, CS_EINVAL, "--machine",
                       "'%.80s': accepted is a word of up to 64 letters, digits and ._+-", text);
    }
    (void)snprintf(o->machine, sizeof o->machine, "%s", text);
    return CS_OK;
}

static cs_status take_json(void *target, const char *text, cs_error *err)
{
    (void)err;
    ((cap_options *)target)->json = text;
    return CS_OK;
}

static cs_status take_table(void *target, const char *text, cs_error *err)
{
    (void)err;
    ((cap_options *)target)->table = text;
    return CS_OK;
}

static cs_status take_trace(void *target, const char *text, cs_error *err)
{
    (void)err;
    ((cap_options *)target)->trace = text;
    return CS_OK;
}

static cs_status take_quiet(void *target, const char *text, cs_error *err)
{
    (void)text;
    (void)err;
    ((cap_options *)target)->is_quiet = true;
    return CS_OK;
}

static const cap_option common[] = {
    {"--repetitions", "N", "measured repetitions of every schedule (5)", take_repetitions},
    {"--warm-up", "N", "repetitions before them (1)", take_warmups},
    {"--late", "RANK=TIME", "the rank enters TIME after the start (repeatable)", take_late},
    {"--machine", "NAME", "what the machine is called in the results (its host name)",
     take_machine},
    {"--json", "FILE", "write every repetition there", take_json},
    {"--table", "FILE", "write nccl-tests' table there instead of printing it", take_table},
    {"--trace", "FILE", "write a Chrome trace of all messages there", take_trace},
    {"--quiet", NULL, "print no table", take_quiet},
    {NULL, NULL, NULL, NULL},
};

static void print_options(const cap_option *options)
{
    for (; options != NULL && options->name != NULL; options++) {
        char name[64];
        (void)snprintf(name, sizeof name, "%s%s%s", options->name,
                       options->value != NULL ? " " : "",
                       options->value != NULL ? options->value : "");
        (void)printf("  %-28s %s\n", name, options->help);
    }
}

static void print_help(const cap_program *program)
{
    (void)printf("usage: %s SCHEDULE.json.. [options]\n%s\n\n", program->name, program->summary);
    print_options(common);
    print_options(program->options);
    print_options((const cap_option[]){{"--help", NULL, "show this help", NULL},
                                       {"--version", NULL, "show the version", NULL},
                                       {NULL, NULL, NULL, NULL}});
    (void)printf(
        "\nexit codes: 0 all numbers are right, 1 some are wrong, 2 a file or an option is wrong,\n"
        "3 a rank, a connection or the machine failed\n");
}

static const cap_option *find(const cap_option *options, const char *name, size_t length)
{
    for (; options != NULL && options->name != NULL; options++) {
        if (strlen(options->name) == length && strncmp(options->name, name, length) == 0) {
            return options;
        }
    }
    return NULL;
}

/* One option, of the program or of all; `*i_p` is its place in argv. */
static cs_status take_option(int argc, char **argv, int *i_p, const cap_program *program,
                             void *target, cap_options *options, cs_error *err)
{
    const char       *word   = argv[*i_p];
    size_t            length = strcspn(word, "=");
    const cap_option *row    = find(program->options, word, length);
    const char       *text   = word[length] == '=' ? word + length + 1 : NULL;
    bool              is_own = row != NULL;

    row = is_own ? row : find(common, word, length);
    if (row == NULL) {
        return CS_FAIL(err, CS_EINVAL, "", "unknown option '%.60s'; %s --help has them all", word,
                       program->name);
    }
    if (row->value == NULL && text != NULL) {
        return CS_FAIL(err, CS_EINVAL, row->name, "takes no value");
    }
    if (row->value != NULL && text == NULL && (text = ++*i_p < argc ? argv[*i_p] : NULL) == NULL) {
        return CS_FAIL(err, CS_EINVAL, row->name, "%s is missing behind it", row->value);
    }
    return row->take(is_own ? target : options, text, err);
}

static cs_status add_schedule(cap_options *o, const char *path, cs_error *err)
{
    if (!cs_grow(&o->schedules, &o->schedule_capacity, o->n_schedules + 1, 8,
                 sizeof *o->schedules)) {
        return CS_NO_MEMORY(err, "the names of files");
    }
    o->schedules[o->n_schedules++] = path;
    return CS_OK;
}

/* The host's name as a word. */
static void name_machine(cap_options *o)
{
    char     host[sizeof o->machine] = "";
    cs_error ignored                 = {0};

    if (gethostname(host, sizeof host - 1) != 0 || take_machine(o, host, &ignored) != CS_OK) {
        (void)snprintf(o->machine, sizeof o->machine, "unnamed");
    }
}

/* Two names of one file; of files that are there, by what they are. */
static bool is_same_file(const char *a, const char *b)
{
    struct stat left, right;

    if (strcmp(a, b) == 0) {
        return true;
    }
    return stat(a, &left) == 0 && stat(b, &right) == 0 && left.st_dev == right.st_dev &&
           left.st_ino == right.st_ino && S_ISREG(left.st_mode);
}

/* Results must not take the place of a schedule, nor of each other. */
static cs_status check_outputs(const cap_options *o, cs_error *err)
{
    const char *const names[] = {"--json", "--table", "--trace", "--links"};
    const char *const paths[] = {o->json, o->table, o->trace, o->links};

    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        for (size_t k = 0; paths[i] != NULL && k < o->n_schedules; k++) {
            if (is_same_file(paths[i], o->schedules[k])) {
                return CS_FAIL(err, CS_EINVAL, names[i],
                               "'%.80s' is a schedule that is run: accepted are other files",
                               paths[i]);
            }
        }
        for (size_t k = 0; paths[i] != NULL && k < i; k++) {
            if (paths[k] != NULL && is_same_file(paths[i], paths[k])) {
                return CS_FAIL(err, CS_EINVAL, names[i], "'%.80s' is given to %s already", paths[i],
                               names[k]);
            }
        }
    }
    return CS_OK;
}

cs_status cap_options_parse(int argc, char **argv, const cap_program *program, void *target,
                            cap_options *options, cs_error *err)
{
    *options = (cap_options){.repetitions = 5, .warmups = 1};
    name_machine(options);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            print_help(program);
            options->is_done = true;
            return CS_OK;
        }
        if (strcmp(argv[i], "--version") == 0) {
            (void)printf("%s %s\n", program->name, COLLSIM_VERSION);
            options->is_done = true;
            return CS_OK;
        }
        CS_TRY(argv[i][0] == '-' ? take_option(argc, argv, &i, program, target, options, err)
                                 : add_schedule(options, argv[i], err));
    }
    CS_TRY(check_outputs(options, err));
    return options->n_schedules > 0 || program->needs_no_schedule
               ? CS_OK
               : CS_FAIL(
                     err, CS_EINVAL, "",
                     "no schedule: accepted are files that 'collsim schedule ALGORITHM --format "
                     "json -o FILE' writes");
}

void cap_options_free(cap_options *options)
{
    cs_free(options->schedules);
    cs_free(options->late);
}

cs_status cap_options_late(const cap_options *options, uint32_t n_ranks, double **late_p,
                           cs_error *err)
{
    double *late = NULL;

    if (options->n_late > 0 && (late = CS_NEW(double, n_ranks)) == NULL) {
        return CS_NO_MEMORY(err, "the late ranks");
    }
    for (size_t i = 0; i < options->n_late; i++) {
        if (options->late[i].rank >= n_ranks) {
            cs_free(late);
            return CS_FAIL(err, CS_EINVAL, "--late", "there is no rank %u among %u",
                           options->late[i].rank, n_ranks);
        }
        for (size_t k = 0; k < i; k++) {
            if (options->late[k].rank == options->late[i].rank) {
                cs_free(late);
                return CS_FAIL(err, CS_EINVAL, "--late", "rank %u is given twice",
                               options->late[i].rank);
            }
        }
        late[options->late[i].rank] = options->late[i].late_s;
    }
    *late_p = late;
    return CS_OK;
}

cs_status cap_write(const char *path, const cs_text *text, cs_error *err)
{
    CS_TRY(cs_text_status(text, err));
    if (path != NULL) {
        return cs_file_write(path, text->data, text->length, err);
    }
    if (fwrite(text->data, 1, text->length, stdout) != text->length || fflush(stdout) != 0) {
        return CS_FAIL(err, CS_EIO, "", "cannot write to standard output");
    }
    return CS_OK;
}

int cap_fail(const cap_program *program, const cs_error *err)
{
    char text[1024];

    cs_error_text(err, text, sizeof text);
    (void)fprintf(stderr, "%s: %s\n", program->name, text);
    switch (err->status) {
    case CS_OK: return CAP_OK;
    case CS_EWRONG: return CAP_WRONG;
    case CS_EINVAL:
    case CS_ENOTSUP:
    case CS_ENOENT:
    case CS_EPARSE: return CAP_USAGE;
    case CS_EMISSING: return CAP_SKIPPED;
    case CS_ENOMEM:
    case CS_EIO:
    case CS_EINTERNAL:
    case CS_STATUS_COUNT: break;
    }
    return CAP_BROKEN;
}
