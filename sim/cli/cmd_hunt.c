/* SPDX-License-Identifier: GPL-3.0-or-later */
/* collsim hunt: which groups of nodes to run next until the slow ones are known. */
#include "base/alloc.h"
#include "cli/cli.h"
#include "cli/progress.h"
#include "hunt/hosts.h"
#include "hunt/hunt_json.h"
#include "hunt/hunt_text.h"
#include "hunt/plan.h"
#include "hunt/script.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_LOGS = 8192, MAX_FAILED = 64, SIMULATED_ROUNDS = 20 };

typedef struct hunt_job {
    cs_hunt_setting  setting;
    const char      *hosts, *rails, *template, *state, *output;
    int              launcher;
    const char      *begins_option;    /* the last one given that belongs to a new hunt */
    const char      *simulates_option; /* ... to --simulate */
    uint64_t         simulate, seed;   /* simulate 0: no */
    cs_hunt_planted  planted;          /* bad 0, effect 0: as is hunted for */
    int              kind;             /* cs_suspect_kind, or any */
    const char      *logs[MAX_LOGS], *failed[MAX_FAILED];
    size_t           n_logs, n_failed;
    bool             goes_on, is_quiet;
    cs_result_format format;
} hunt_job;

enum { ANY_KIND = 3 };

/* clang-format off */
#define TEXT(field, letter, name, value, help) CS_ARG_TEXT(hunt_job, field, letter, name, value, help)
#define NUMBER(field, letter, name, value, help, ...) CS_ARG_NUMBER(hunt_job, field, letter, name, value, help, __VA_ARGS__)
static const cs_arg hunt_args[] = {
    CS_ARG_OPERANDS(hunt_job, logs, n_logs, "logs"),
    CS_ARG_GROUP("the hunt"),
    TEXT(state, 0, "state", "FILE", "what is known: written by --hosts, read and written by every call after it"),
    {.name = "failed", .value = "LABEL", .help = "this run failed, which counts as slow; repeatable",
     .field = CS_ARG_LIST_FIELD(hunt_job, failed, n_failed, "failed")},
    CS_ARG_FLAG(hunt_job, goes_on, 0, "go-on", "plan the next round although runs of the last one are missing"),
    CS_ARG_GROUP("output"),
    CS_ARG_CHOICE(hunt_job, format, 0, "format", "table|json", "how to print (table: a script for sh, the answer in comments)"),
    TEXT(output, 'o', "output", "FILE", "write there instead of standard output"),
    CS_QUIET_ROW(hunt_job, is_quiet),
    CS_ARG_HELP_ROW,
    CS_ARG_LAST_ROW,
};
static const cs_arg begin_args[] = {
    CS_ARG_GROUP("a new hunt"),
    TEXT(hosts, 0, "hosts", "FILE|LIST", "the nodes: a host file, or a list such as node[001-128,200],login"),
    TEXT(rails, 0, "rails", "NIC,NIC,..", "tell rails apart: the names of a node's NICs, as NCCL_IB_HCA has them (mlx5_[0-7])"),
    NUMBER(setting.gpus, 'g', "gpus-per-server", "G", "GPUs of a node (8)", .min = 1, .max = 1024),
    NUMBER(setting.bad, 0, "bad", "K", "how many are expected to be bad (1); others are found, too", .min = 1, .max = CS_HUNT_MAX_BAD),
    NUMBER(setting.effect, 0, "effect", "X", "the part of the bandwidth that they lose; 0.14 (not known: from 0.05 on)", .min = 0.001, .max = 0.9999),
    NUMBER(setting.noise, 0, "noise", "X", "standard deviation of a row of a log, relative; what the logs show counts more (0.05)", .min = 0, .max = 1),
    NUMBER(setting.rows, 0, "rows", "N", "rows of a log, so often a run measures (8)", .min = 1, .max = 1000),
    NUMBER(setting.bytes, 's', "bytes", "S", "buffer of the first row (1G)", .unit = CS_UNIT_SIZE, .min = 1048576, .max = 1099511627776.0),
    NUMBER(setting.confidence, 0, "confidence", "P", "probability from which on the answer is sure (0.99)", .min = 0.5, .max = 0.9999),
    NUMBER(setting.healthy_Bps, 0, "healthy", "R", "bus bandwidth that is expected, as collsim expect says (what most groups have)", .unit = CS_UNIT_RATE, .min = 1e6, .max = 1e15),
    NUMBER(setting.group, 0, "group", "N", "hosts of a group (as many as are good)", .min = 2, .max = CS_HUNT_MAX_HOSTS),
    CS_ARG_CHOICE(hunt_job, launcher, 0, "launcher", "mpirun|srun", "what starts a run"),
    TEXT(template, 0, "template", "COMMAND", "the command of a run with {hosts} or {slots}, {ranks}, {nodes}, {gpus}, {from}, {to}, {step}, {rail}, {label}"),
    CS_ARG_LAST_ROW,
};
static const cs_arg simulate_args[] = {
    CS_ARG_GROUP("simulated hunts"),
    NUMBER(simulate, 0, "simulate", "N", "hunt N times on these hosts after what is planted: how often is it found?", .min = 1, .max = 1e7),
    NUMBER(planted.bad, 0, "planted", "K", "how many are planted (--bad)", .min = 1, .max = CS_HUNT_MAX_BAD),
    NUMBER(planted.effect, 0, "planted-effect", "X", "what they lose, where --effect is not to be told (--effect)", .min = 0.001, .max = 0.9999),
    NUMBER(planted.run_noise, 0, "planted-noise", "X", "noise that all rows of a run share, of which the hunt is not told (0)", .min = 0, .max = 1),
    CS_ARG_CHOICE(hunt_job, kind, 0, "planted-kind", "node|nic|rail|any", "what is planted"),
    NUMBER(seed, 0, "seed", "N", "of what is planted and of the noise (1)", .max = 9007199254740992.0),
    CS_ARG_LAST_ROW,
};
static const cs_arg_table hunt_tables[] = {
    {hunt_args, 0, CS_NOWHERE, CS_NOWHERE},
    {begin_args, 0, CS_NOWHERE, offsetof(hunt_job, begins_option)},
    {simulate_args, 0, CS_NOWHERE, offsetof(hunt_job, simulates_option)}, {.args = NULL}};
/* clang-format on */

/* ---- a new hunt ---- */

static bool is_file(const char *path)
{
    struct stat s;

    return stat(path, &s) == 0;
}

static cs_status begin_with(const hunt_job *j, cs_arena *arena, cs_hunt *hunt, cs_error *err)
{
    const char **hosts = NULL, **rails = NULL;
    size_t       n_hosts = 0, n_rails = 0;
    bool         is_list = strpbrk(j->hosts, "[,") != NULL && !is_file(j->hosts);

    if (is_list) {
        CS_TRY(
            cs_hosts_parse(j->hosts, CS_HUNT_MAX_HOSTS, "--hosts", arena, &hosts, &n_hosts, err));
    } else {
        CS_TRY(cs_hosts_load(j->hosts, CS_HUNT_MAX_HOSTS, arena, &hosts, &n_hosts, err));
    }
    if (j->rails != NULL) {
        CS_TRY(
            cs_hosts_parse(j->rails, CS_HUNT_MAX_RAILS, "--rails", arena, &rails, &n_rails, err));
    }
    return cs_hunt_begin(&j->setting, hosts, n_hosts, rails, n_rails, hunt, err);
}

static cs_status begin(const hunt_job *j, cs_hunt *hunt, cs_error *err)
{
    cs_arena    arena   = {0};
    cs_status   status  = begin_with(j, &arena, hunt, err);
    const char *command = j->template;

    cs_arena_free(&arena);
    CS_TRY(status);
    if (command == NULL) {
        command = cs_script_command((cs_launcher)j->launcher, hunt->n_rails > 0);
    }
    CS_TRY(cs_script_check(hunt, command, err));
    return cs_hunt_set_command(hunt, command, err);
}

/* ---- results ---- */

/* Read what came back; at least one must be of use. */
static cs_status read_results(const hunt_job *j, cs_hunt *hunt, cs_error *err)
{
    cs_text   notes  = {0};
    size_t    n      = 0;
    cs_status status = CS_OK;

    for (size_t i = 0; i < j->n_failed && status == CS_OK; i++) {
        status = cs_hunt_put_failed(hunt, j->failed[i], err);
    }
    for (size_t i = 0; i < j->n_logs && status == CS_OK; i++) {
        status = cs_script_read(hunt, j->logs[i], &n, &notes, err);
    }
    status = status == CS_OK ? cs_text_status(&notes, err) : status;
    for (char *at = notes.data; status == CS_OK && at != NULL && *at != '\0';) {
        char *end = strchr(at, '\n');
        (void)fprintf(stderr, "collsim: note: %.*s\n", (int)(end - at), at);
        at = end + 1;
    }
    if (status == CS_OK && j->n_logs > 0 && n == 0) {
        status = CS_FAIL(err, CS_EINVAL, "hunt", "none of the logs is of use");
    }
    cs_text_free(&notes);
    return status;
}

/* ---- what next? ---- */

/* The last round where runs of it are missing; else a new one, unless the answer is sure. */
static cs_status plan(const hunt_job *j, cs_hunt *hunt, const cs_belief *belief, uint32_t *next_p,
                      cs_error *err)
{
    const cs_hunt_round *last    = hunt->n_rounds > 0 ? hunt->rounds[hunt->n_rounds - 1] : NULL;
    uint64_t             missing = last != NULL ? cs_hunt_n_missing(hunt, last) : 0;

    *next_p = CS_HUNT_NO_ROUND;
    if (cs_belief_is_sure(hunt, belief)) {
        return CS_OK;
    }
    if (missing > 0 && (!j->goes_on || missing == cs_hunt_n_runs(hunt, last))) {
        *next_p = hunt->n_rounds - 1;
        return CS_OK;
    }
    CS_TRY(cs_hunt_plan(hunt, belief, err));
    *next_p = hunt->n_rounds - 1;
    return CS_OK;
}

static cs_status go_on(const hunt_job *j, cs_hunt *hunt, cs_text *text, cs_error *err)
{
    cs_belief      belief;
    cs_hunt_report report = {.hunt = hunt, .belief = &belief};
    cs_status      status;

    CS_TRY(cs_belief_of(hunt, &belief, err));
    status = plan(j, hunt, &belief, &report.next, err);
    if (status == CS_OK && j->state != NULL) {
        status = cs_hunt_save(hunt, j->state, err);
    }
    if (status == CS_OK) {
        (j->format == CS_AS_JSON ? cs_hunt_report_json : cs_hunt_report_table)(&report, text);
        status = cs_text_status(text, err);
    }
    cs_belief_free(&belief);
    return status;
}

/* ---- simulated hunts ---- */

static cs_status simulate(const hunt_job *j, const cs_hunt *like, cs_text *text, cs_error *err)
{
    cs_hunt_planted planted = j->planted;
    cs_hunt_tally   tally;

    planted.bad    = planted.bad > 0 ? planted.bad : j->setting.bad;
    planted.effect = planted.effect > 0 ? planted.effect : j->setting.effect;
    planted.noise  = j->setting.noise;
    planted.is_any = j->kind == ANY_KIND;
    planted.kind   = planted.is_any ? CS_SUSPECT_NODE : (cs_suspect_kind)j->kind;
    if (!(planted.effect > 0)) {
        return CS_FAIL(err, CS_EINVAL, "--simulate", "needs --effect X, or --planted-effect X");
    }
    cs_cli_progress_begin("hunt", j->is_quiet);
    cs_status status = cs_hunt_simulate(like, &planted, j->simulate, SIMULATED_ROUNDS, j->seed,
                                        &cs_cli_listener, &tally, err);
    cs_cli_progress_end();
    CS_TRY(status);
    const cs_hunt_trials trials = {
        .like = like, .planted = &planted, .tally = &tally, .seed = j->seed};
    (j->format == CS_AS_JSON ? cs_hunt_trials_json : cs_hunt_trials_table)(&trials, text);
    return cs_text_status(text, err);
}

/* ---- the command ---- */

static cs_status check_args(const hunt_job *j, cs_error *err)
{
    if (j->hosts == NULL && j->state == NULL) {
        return CS_FAIL(err, CS_EINVAL, "hunt",
                       "needs a cluster, --hosts 'node[001-128]' --state hunt.json, or a hunt that "
                       "was begun, --state hunt.json LOG..");
    }
    if (j->hosts == NULL && j->begins_option != NULL) {
        return CS_FAIL(err, CS_EINVAL, j->begins_option,
                       "goes with --hosts: a hunt that was begun keeps what was asked for");
    }
    if (j->simulates_option != NULL && j->simulate == 0) {
        return CS_FAIL(err, CS_EINVAL, j->simulates_option, "goes with --simulate N");
    }
    if (j->simulate > 0 && (j->hosts == NULL || j->state != NULL)) {
        return CS_FAIL(err, CS_EINVAL, "--simulate", "goes with --hosts and without --state");
    }
    if (j->hosts != NULL && (j->n_logs > 0 || j->n_failed > 0 || j->goes_on)) {
        return CS_FAIL(err, CS_EINVAL, "--hosts",
                       "begins a hunt, of which there is no result yet: without it, --state FILE "
                       "goes on");
    }
    if (j->hosts != NULL && j->state != NULL && is_file(j->state)) {
        return CS_FAIL(err, CS_EINVAL, "--state",
                       "%s is there already: without --hosts it goes on, another name begins anew",
                       j->state);
    }
    return CS_OK;
}

static cs_status answer(void *job, cs_text *text, cs_error *err)
{
    hunt_job *j    = job;
    cs_hunt   hunt = {.n_hosts = 0};
    cs_status status;

    CS_TRY(check_args(j, err));
    status = j->hosts != NULL ? begin(j, &hunt, err) : cs_hunt_load(j->state, &hunt, err);
    if (status == CS_OK && j->simulate > 0) {
        status = simulate(j, &hunt, text, err);
    } else if (status == CS_OK) {
        status = read_results(j, &hunt, err);
        status = status == CS_OK ? go_on(j, &hunt, text, err) : status;
    }
    if (status == CS_OK) {
        status = cs_cli_write_output(j->output, text, err);
    }
    cs_hunt_free(&hunt);
    return status;
}

static int hunt_run(int count, char *const *words)
{
    static hunt_job j;

    j = (hunt_job){.setting = cs_hunt_default(), .seed = 1};
    return cs_cli_answer(&cs_command_hunt, count, words, answer, &j);
}

const cs_command cs_command_hunt = {
    .name     = "hunt",
    .usage    = "hunt --hosts FILE|LIST --state FILE [options] | hunt --state FILE [LOG|FOLDER..]",
    .summary  = "find the slow nodes, NICs or rails: which groups to run next under nccl-tests",
    .tables   = hunt_tables,
    .examples = {"collsim hunt --hosts 'node[01-16]'",
                 "collsim hunt --hosts 'node[0001-1024]' --simulate 100 --effect 0.14"},
    .run      = hunt_run,
};
