/* SPDX-License-Identifier: GPL-3.0-or-later */
/* collsim relay: what AdapCC's coordinator decides, on paper. */
#include "base/alloc.h"
#include "cli/cli.h"
#include "cs/cluster.h"
#include "cs/scenario.h"
#include "cs/units.h"
#include "output/relay_report.h"
#include "schedules/strategy_xml.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MOST_TIME_S   1e6
#define MOST_RATE_BPS 1e18

enum { VOLUMES_OF_RULE = 0 };

typedef struct relay_job {
    const char   *ready, *active, *rate; /* as written */
    const char   *strategy, *output;     /* paths */
    const char   *decides_option;        /* the last one given that belongs to ready times */
    cs_collective collective;
    uint64_t      bytes; /* 0: not given */
    double        rate_Bps;
    int           rule, volumes; /* VOLUMES_OF_RULE, or 1 + cs_relay_volumes */
    bool          one_starts, has_cycle;
    int           join; /* 1: the coordinator announces who does not receive */
    double        cycle_s, rpc_s;
    uint64_t      chunk_bytes, batch;
    int           format;
} relay_job;

/* clang-format off */
#define NUMBER(field, letter, name, value, help, ...) CS_ARG_NUMBER(relay_job, field, letter, name, value, help, __VA_ARGS__)
static const cs_arg decides_args[] = {
    CS_ARG_TEXT(relay_job, ready, 0, "ready", "T,T,..", "when each worker is ready, in the order of ranks; 'never': it does not come"),
    NUMBER(bytes, 's', "bytes", "S", "tensor of each worker", .unit = CS_UNIT_SIZE, .min = 1, .max = (double)CS_MAX_BYTES),
    CS_ARG_TEXT(relay_job, rate, 0, "rate", "R", "of all links of the trees together"),
    CS_ARG_CHOICE(relay_job, rule, 0, "rule", "literal|premium", "wait as long as a start costs (the paper), or as it costs more than all together (the code)"),
    CS_ARG_CHOICE(relay_job, volumes, 0, "volumes", "auto|paper|code", "what a start costs (those of the rule)"),
    CS_ARG_FLAG(relay_job, one_starts, 0, "one-starts", "a single worker may start, too"),
    {.name = "cycle", .value = "T", .help = "time from one decision to the next (5ms)", .marks = true, .mark = offsetof(relay_job, has_cycle),
     .field = {.name = "cycle", .type = CS_FIELD_F64, .unit = CS_UNIT_TIME, .offset = offsetof(relay_job, cycle_s), .min = 1e-6, .max = MOST_TIME_S}},
    NUMBER(rpc_s, 0, "rpc", "T", "delay of a message to the coordinator, and back (0)", .unit = CS_UNIT_TIME, .min = 0, .max = MOST_TIME_S),
    NUMBER(chunk_bytes, 0, "chunk", "S", "relays that are ready in phase 1 join at the next chunk (the file's, or they do not)", .unit = CS_UNIT_SIZE, .min = 1, .max = (double)CS_MAX_BYTES),
    CS_ARG_CHOICE(relay_job, join, 0, "join", "interior|coordinator", "... in trees of a file where they receive, or everywhere: the coordinator announces them"),
    NUMBER(batch, 0, "batch", "G", "samples of a step, shared anew by those who are left", .min = 1, .max = 9e15),
    CS_ARG_TEXT(relay_job, output, 'o', "output", "LEFT.xml", "write the strategy there without those who are excluded"),
    CS_ARG_LAST_ROW,
};
static const cs_arg relay_args[] = {
    CS_ARG_GROUP("trees of a file"),
    CS_ARG_TEXT(relay_job, strategy, 0, "strategy", "FILE.xml", "say what every rank does in these trees"),
    CS_ARG_TEXT(relay_job, active, 0, "active", "R,R,..", "... while these ranks are ready, instead of --ready"),
    {.letter = 'c', .name = "collective", .value = "C", .help = CS_COLLECTIVE_LIST,
     .field = {.name = "collective", .type = CS_FIELD_CHOICE, .names = &cs_collective_names,
               .offset = offsetof(relay_job, collective)}},
    CS_ARG_GROUP("output"),
    CS_ARG_CHOICE(relay_job, format, 0, "format", "table|json", "how to print (table)"),
    CS_ARG_HELP_ROW,
    CS_ARG_LAST_ROW,
};
static const cs_arg_table relay_tables[] = {
    {decides_args, 0, CS_NOWHERE, offsetof(relay_job, decides_option)},
    {relay_args, 0, CS_NOWHERE, CS_NOWHERE}, {.args = NULL}};
/* clang-format on */

/* Say how a number without a unit was understood, where it is hardly meant so. True if it is. */
static bool say_if_odd(const char *option, const char *word, double value, const cs_plain *plain,
                       const char *unit, const char *instead)
{
    double number = 0;
    bool   is_odd = cs_parse_number(word, &number, option, NULL) == CS_OK && value > 0 &&
                  !(value >= plain->least && value < plain->most);

    if (is_odd) {
        (void)fprintf(stderr, "collsim: note: %s: %s is read as %s %s; write %s%s\n", option, word,
                      word, unit, word, instead);
    }
    return is_odd;
}

static cs_status parse_ready(const char *word, double *ready_s, cs_error *err)
{
    if (strcmp(word, "never") == 0) {
        *ready_s = (double)INFINITY;
        return CS_OK;
    }
    if (cs_parse_time(word, ready_s, "--ready", NULL) != CS_OK) {
        return CS_FAIL(err, CS_EINVAL, "--ready",
                       "'%s' is not a time: accepted are 3us, 4.48ms, 1s, seconds without a unit, "
                       "and never",
                       word);
    }
    if (!(*ready_s >= 0 && *ready_s <= MOST_TIME_S)) {
        return CS_FAIL(err, CS_EINVAL, "--ready", "%s is out of range: accepted are 0 to %g s",
                       word, MOST_TIME_S);
    }
    return CS_OK;
}

static cs_status read_rate(const char *text, double *rate_Bps_p, cs_error *err)
{
    CS_TRY(cs_parse_rate(text, rate_Bps_p, "--rate", err));
    if (!(*rate_Bps_p > 0 && *rate_Bps_p <= MOST_RATE_BPS)) {
        return CS_FAIL(err, CS_EINVAL, "--rate",
                       "%.40s is out of range: accepted are above 0 to %g B/s", text,
                       MOST_RATE_BPS);
    }
    (void)say_if_odd("--rate", text, *rate_Bps_p, &cs_plain_rate, "B/s", "GB/s");
    return CS_OK;
}

/* Times with commas between them; the caller frees them. */
static cs_status read_ready(const char *list, double **ready_p, uint32_t *n_p, cs_error *err)
{
    uint32_t n    = 1;
    bool     said = false;
    char     word[CS_WORD_BYTES];

    for (const char *c = list; *c != '\0'; c++) {
        n += *c == ',';
    }
    if (n < 2 || n > CS_MAX_RANKS) {
        return CS_FAIL(err, CS_EINVAL, "--ready", "%u times: accepted are those of 2 to %u workers",
                       n, CS_MAX_RANKS);
    }
    *ready_p = CS_NEW(double, n);
    *n_p     = n;
    if (*ready_p == NULL) {
        return CS_NO_MEMORY(err, "%u ready times", n);
    }
    for (uint32_t i = 0; i < n; i++, list += *list == ',') {
        if (!cs_args_word(&list, word)) {
            return CS_FAIL(err, CS_EINVAL, "--ready",
                           "worker %u has no time: accepted are times with commas between them: "
                           "0ms,1ms,30ms",
                           i);
        }
        CS_TRY(parse_ready(word, &(*ready_p)[i], err));
        if (!said) {
            said = say_if_odd("--ready", word, (*ready_p)[i], &cs_plain_delay, "s", "ms");
        }
    }
    return CS_OK;
}

/* Ranks with commas between them; the caller frees the flags of all. */
static cs_status read_active(const char *list, const cs_strategy *strategy, bool **active_p,
                             cs_error *err)
{
    uint32_t n_ranks = strategy->n_ranks;
    char     word[CS_WORD_BYTES];

    *active_p = CS_NEW(bool, n_ranks);
    if (*active_p == NULL) {
        return CS_NO_MEMORY(err, "%u ranks", n_ranks);
    }
    do {
        uint64_t rank = 0;
        if (!cs_args_word(&list, word)) {
            return CS_FAIL(err, CS_EINVAL, "--active",
                           "a rank is missing: accepted are ranks with commas between them: 0,2,3");
        }
        CS_TRY(cs_parse_integer(word, 0, n_ranks - 1, &rank, "--active", err));
        if (strategy->trees[0].parent[rank] == CS_TREE_ABSENT) {
            return CS_FAIL(err, CS_EINVAL, "--active", "rank %s is in no tree", word);
        }
        if ((*active_p)[rank]) {
            return CS_FAIL(err, CS_EINVAL, "--active", "rank %s stands there twice", word);
        }
        (*active_p)[rank] = true;
    } while (*list++ == ',');
    return CS_OK;
}

static cs_status check_args(const relay_job *j, cs_error *err)
{
    if (j->active != NULL) {
        if (j->strategy == NULL) {
            return CS_FAIL(err, CS_EINVAL, "--active", "needs the trees: --strategy FILE.xml");
        }
        if (j->ready != NULL) {
            return CS_FAIL(err, CS_EINVAL, "relay", "takes --ready or --active, not both");
        }
        if (j->decides_option != NULL) {
            return CS_FAIL(err, CS_EINVAL, j->decides_option,
                           "goes with --ready, not with --active");
        }
        return CS_OK;
    }
    if (j->ready == NULL) {
        return CS_FAIL(err, CS_EINVAL, "relay", "%s",
                       j->strategy != NULL
                           ? "needs to know who is ready: --active 0,2,3, or --ready 0ms,1ms,30ms"
                           : "needs ready times: relay --ready 0ms,1ms,30ms -s 64MB --rate 50GB/s");
    }
    if (j->bytes == 0) {
        return CS_FAIL(err, CS_EINVAL, "relay", "needs the tensor of each worker: --bytes S");
    }
    if (j->output != NULL && j->strategy == NULL) {
        return CS_FAIL(err, CS_EINVAL, "--output", "needs the trees: --strategy FILE.xml");
    }
    if (j->rate == NULL) {
        return CS_FAIL(err, CS_EINVAL, "relay", "needs the rate of all links together: --rate R");
    }
    return CS_OK;
}

static cs_relay_setting setting_of(const relay_job *j, uint32_t n_ranks)
{
    cs_relay_setting s =
        cs_relay_setting_of((cs_relay_rule)j->rule, n_ranks, (double)j->bytes, j->rate_Bps);

    s.collective = j->collective;
    s.one_starts = j->one_starts;
    if (j->volumes != VOLUMES_OF_RULE) {
        s.volumes = (cs_relay_volumes)(j->volumes - 1);
    }
    if (j->has_cycle) {
        s.cycle_s = j->cycle_s;
    }
    return s;
}

/* Write the trees without the excluded. */
static cs_status write_left(const char *path, cs_strategy *strategy, const cs_relay_times *times,
                            cs_error *err)
{
    cs_text   text     = {0};
    bool     *excluded = CS_NEW(bool, strategy->n_ranks);
    cs_status status   = CS_OK;

    if (excluded == NULL) {
        return CS_NO_MEMORY(err, "%u ranks", strategy->n_ranks);
    }
    for (uint32_t i = 0; i < strategy->n_ranks; i++) {
        excluded[i] = times->workers[i].role == CS_WORKER_FAULTY;
    }
    status = cs_strategy_exclude(strategy, excluded, err);
    if (status == CS_OK) {
        status = cs_strategy_write(&text, strategy, NULL, err);
    }
    if (status == CS_OK) {
        status = cs_cli_write(path, &text, err);
    }
    cs_text_free(&text);
    cs_free(excluded);
    return status;
}

/* The strategy may be NULL. */
static cs_status decide(const relay_job *j, const double *ready_s, uint32_t n,
                        cs_strategy *strategy, cs_text *text, cs_error *err)
{
    const cs_relay_case given = {.setting     = setting_of(j, n),
                                 .ready_s     = ready_s,
                                 .rpc_s       = j->rpc_s,
                                 .strategy    = strategy,
                                 .chunk_bytes = (double)j->chunk_bytes,
                                 .announces   = j->join == 1};
    cs_relay_times      times;

    CS_TRY(cs_relay_times_of(&given, &times, err));
    const cs_relay_report report = {.given      = &given,
                                    .times      = &times,
                                    .strategy   = strategy,
                                    .behaviours = times.behaviours,
                                    .n_ranks    = n,
                                    .batch      = j->batch};
    (j->format == CS_AS_JSON ? cs_relay_json : cs_relay_table)(&report, text);
    cs_status status = j->output != NULL ? write_left(j->output, strategy, &times, err) : CS_OK;
    cs_relay_times_free(&times);
    return status;
}

static cs_status answer_ready(relay_job *j, cs_strategy_file *file, cs_text *text, cs_error *err)
{
    double   *ready_s = NULL;
    uint32_t  n       = 0;
    cs_status status  = read_rate(j->rate, &j->rate_Bps, err);

    if (status == CS_OK) {
        status = read_ready(j->ready, &ready_s, &n, err);
    }

    if (status == CS_OK && j->strategy != NULL) {
        status = cs_strategy_file_finish(file, j->bytes, j->chunk_bytes, err);
    }
    if (status == CS_OK) {
        status = decide(j, ready_s, n, j->strategy != NULL ? &file->strategy : NULL, text, err);
    }
    cs_free(ready_s);
    return status;
}

static cs_status answer_active(const relay_job *j, const cs_strategy *strategy, cs_text *text,
                               cs_error *err)
{
    uint32_t      n          = strategy->n_ranks;
    bool         *active     = NULL;
    cs_behaviour *behaviours = CS_NEW(cs_behaviour, (size_t)strategy->n_trees * n);
    cs_status     status     = read_active(j->active, strategy, &active, err);

    if (status == CS_OK && behaviours == NULL) {
        status = CS_NO_MEMORY(err, "what %u ranks do", n);
    }
    if (status == CS_OK) {
        const cs_relay_report report = {
            .strategy = strategy, .behaviours = behaviours, .active = active, .n_ranks = n};
        for (uint32_t m = 0; m < strategy->n_trees; m++) {
            cs_behaviours_of(strategy, m, active, cs_collective_reduces(j->collective),
                             behaviours + (size_t)m * n);
        }
        (j->format == CS_AS_JSON ? cs_relay_json : cs_relay_table)(&report, text);
    }
    cs_free(behaviours);
    cs_free(active);
    return status;
}

static cs_status answer(void *job, cs_text *text, cs_error *err)
{
    relay_job       *j    = job;
    cs_strategy_file file = {.has_sizes = false};
    cs_status        status;

    CS_TRY(check_args(j, err));
    status = j->strategy != NULL ? cs_strategy_load(j->strategy, &file, err) : CS_OK;
    if (status == CS_OK) {
        status = j->active != NULL ? answer_active(j, &file.strategy, text, err)
                                   : answer_ready(j, &file, text, err);
    }
    cs_strategy_free(&file.strategy);
    return status;
}

static int relay_run(int count, char *const *words)
{
    relay_job j = {.collective = CS_ALLREDUCE};
    return cs_cli_answer(&cs_command_relay, count, words, answer, &j);
}

const cs_command cs_command_relay = {
    .name     = "relay",
    .usage    = "relay --ready T,T,.. -s S --rate R [options] | relay --strategy FILE.xml --active "
                "R,R,.. [options]",
    .summary  = "AdapCC's coordinator on paper: who starts when, who relays, who is given up",
    .tables   = relay_tables,
    .examples = {"collsim relay --ready 0s,1ms,2ms,30ms -s 64MB --rate 50GB/s",
                 "collsim relay --ready 0s,1ms,2ms,never -s 64MB --rate 50GB/s --rule premium"},
    .run      = relay_run,
};
