/* SPDX-License-Identifier: GPL-3.0-or-later */
/* collsim profile: what AdapCC measures of every link of a cluster, and what measuring costs. */
#include "base/column.h"
#include "cli/cli.h"
#include "cli/scenario_args.h"
#include "cs/units.h"
#include "schedules/logical_xml.h"
#include "study/profile.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define MOST_TIME_S 1e6

enum { WORD_BYTES = 32, DEFAULT_PERIOD = 500 };

typedef struct profile_job {
    cs_scenario_choice choice;
    const char        *counts, *sizes; /* as written, or NULL */
    const char        *output_path;
    cs_profile_options options;
    uint32_t           period; /* iterations from one profile to the next */
    double             solve_s, setup_s;
    int                format;
} profile_job;

/* clang-format off */
#define NUMBER(field, name, value, help, ...) CS_ARG_NUMBER(profile_job, field, 0, name, value, help, __VA_ARGS__)
#define TIME(field, name, help) NUMBER(field, name, "T", help, .unit = CS_UNIT_TIME, .min = 0, .max = MOST_TIME_S)
static const cs_arg profile_args[] = {
    CS_ARG_TEXT(profile_job, counts, 0, "counts", "N,N,..", "messages that are sent one by one, and as one (2,4,8)"),
    CS_ARG_TEXT(profile_job, sizes, 0, "sizes", "S,S,..", "bytes of each (256kB,1MB,4MB)"),
    NUMBER(options.repeats, "repeats", "N", "times that all of them are sent (1)", .min = 1, .max = CS_MAX_FIT_POINTS / 2),
    NUMBER(options.noise, "noise", "X", "standard deviation of a measured time, relatively; of --seed (0)", .min = 0, .max = 1),
    TIME(options.barrier_s, "barrier", "what the barrier of each round between servers costs (0)"),
    TIME(options.begin_s, "begin", "start then, but not before the last rank is there (0)"),
    NUMBER(period, "period", "N", "iterations of training from one profile to the next (500)", .min = 1, .max = 1e9),
    TIME(solve_s, "solve", "of a reconstruction: until there are new trees (0)"),
    TIME(setup_s, "setup", "of a reconstruction: until their connections are set up (0)"),
    CS_ARG_TEXT(profile_job, output_path, 'o', "output", "GRAPH.xml", "write the topology there as measured, for synthesize --graph"),
    CS_ARG_CHOICE(profile_job, format, 0, "format", "table|json", "how to print (table)"),
    CS_ARG_OPERAND(profile_job, choice.given.path, "configuration"),
    CS_ARG_HELP_ROW,
    CS_ARG_LAST_ROW,
};
static const cs_arg_table profile_tables[] = {
    CS_SCENARIO_TABLE(profile_job, choice), {profile_args, 0, CS_NOWHERE, CS_NOWHERE}, {.args = NULL}};
/* clang-format on */

/* The next element of a list with commas; false: there is none, or it is too long. */
static bool take_word(const char **at, char word[WORD_BYTES])
{
    size_t length = strcspn(*at, ",");

    if (length == 0 || length >= WORD_BYTES) {
        return false;
    }
    memcpy(word, *at, length);
    word[length] = '\0';
    *at += length + ((*at)[length] == ',' && (*at)[length + 1] != '\0');
    return true;
}

static cs_status read_counts(const char *list, cs_profile_options *o, cs_error *err)
{
    char     word[WORD_BYTES];
    uint64_t count = 0;

    for (o->n_counts = 0; *list != '\0';) {
        if (o->n_counts == CS_PROFILE_MOST_COUNTS || !take_word(&list, word)) {
            return CS_FAIL(err, CS_EINVAL, "--counts",
                           "accepted are 1 to %d numbers with commas between them: 2,4,8",
                           CS_PROFILE_MOST_COUNTS);
        }
        CS_TRY(cs_parse_integer(word, 2, 1 << 20, &count, "--counts", err));
        o->counts[o->n_counts++] = (uint32_t)count;
    }
    return CS_OK;
}

static cs_status read_sizes(const char *list, cs_profile_options *o, cs_error *err)
{
    char word[WORD_BYTES];

    for (o->n_sizes = 0; *list != '\0';) {
        if (o->n_sizes == CS_PROFILE_MOST_SIZES || !take_word(&list, word)) {
            return CS_FAIL(err, CS_EINVAL, "--sizes",
                           "accepted are 1 to %d sizes with commas between them: 256kB,1MB,4MB",
                           CS_PROFILE_MOST_SIZES);
        }
        CS_TRY(cs_parse_bytes(word, &o->sizes[o->n_sizes++], "--sizes", err));
    }
    return CS_OK;
}

static const cs_column link_columns[] = {
    CS_COLUMN(cs_profile_link, src),
    CS_COLUMN(cs_profile_link, dst),
    CS_COLUMN(cs_profile_link, alpha_s),
    CS_COLUMN(cs_profile_link, alpha_low_s),
    CS_COLUMN(cs_profile_link, alpha_high_s),
    CS_COLUMN(cs_profile_link, bandwidth_Bps),
    CS_COLUMN(cs_profile_link, bandwidth_low_Bps),
    CS_COLUMN(cs_profile_link, bandwidth_high_Bps),
    CS_COLUMN_END,
};

static void add_number(cs_text *text, const char *key, double value)
{
    cs_json_key(text, key);
    cs_text_add_number(text, value);
}

static double reconstruction_s(const profile_job *j, const cs_profile *p)
{
    return p->duration_s + j->solve_s + j->setup_s;
}

static void add_json(cs_text *text, const profile_job *j, const cs_profile *p)
{
    cs_text_add(text, "{");
    add_number(text, "duration_s", p->duration_s);
    cs_text_add(text, ", \"messages\": %" PRIu64 ", \"wire_bytes\": %" PRIu64 ", \"period\": %u",
                p->n_messages, p->wire_bytes, j->period);
    add_number(text, "per_iteration_s", p->duration_s / j->period);
    add_number(text, "reconstruction_s", reconstruction_s(j, p));
    cs_json_key(text, "links");
    cs_text_add(text, "[");
    for (size_t i = 0; i < p->n_links; i++) {
        cs_json_next(text, "\n", "\n");
        cs_text_add(text, "{\"kind\": \"%s\"", cs_link_kind_name(p->links[i].kind));
        cs_json_row(text, &(cs_row){link_columns, &p->links[i], false});
        cs_text_add(text, "}");
    }
    cs_text_add(text, "]}\n");
}

static void add_link(cs_text *text, const cs_profile_link *l)
{
    cs_text_add(text, "%-7s %5u %5u %11.3f %10.3f %10.3f %11.4f %10.4f ",
                cs_link_kind_name(l->kind), l->src, l->dst, l->alpha_s * 1e6, l->alpha_low_s * 1e6,
                l->alpha_high_s * 1e6, l->bandwidth_Bps / 1e9, l->bandwidth_low_Bps / 1e9);
    if (isinf(l->bandwidth_high_Bps)) {
        cs_text_add(text, "%10s\n", "-");
    } else {
        cs_text_add(text, "%10.4f\n", l->bandwidth_high_Bps / 1e9);
    }
}

static void add_table(cs_text *text, const profile_job *j, const cs_job *job, const cs_profile *p)
{
    const cs_cluster *c = &p->cluster;

    cs_text_add(text, "# %u servers of %u GPUs, on %s: %" PRIu64 " messages, %.3f GB, %.3f ms\n",
                cs_n_servers(c), c->gpus_per_server, job->model->name, p->n_messages,
                (double)p->wire_bytes / 1e9, p->duration_s * 1e3);
    cs_text_add(text,
                "# every %u iterations: %.3f us each; with new trees: %.3f ms, %.3f us each\n",
                j->period, p->duration_s / j->period * 1e6, reconstruction_s(j, p) * 1e3,
                reconstruction_s(j, p) / j->period * 1e6);
    cs_text_add(text, "# %-5s %5s %5s %11s %10s %10s %11s %10s %10s\n", "kind", "src", "dst",
                "alpha (us)", "95 % from", "to", "rate (GB/s)", "95 % from", "to");
    for (size_t i = 0; i < p->n_links; i++) {
        add_link(text, &p->links[i]);
    }
}

static cs_status write_graph(const profile_job *j, const cs_profile *p, cs_error *err)
{
    cs_logical logical = {0};
    cs_text    text    = {0};
    cs_status  status  = cs_profile_graph(p, &logical, err);

    if (status == CS_OK) {
        cs_logical_write(&text, &logical);
        status = cs_cli_write(j->output_path, &text, err);
    }
    cs_text_free(&text);
    cs_logical_free(&logical);
    return status;
}

static cs_status answer_case(profile_job *j, const cs_job *job, cs_text *text, cs_error *err)
{
    cs_profile p = {0};

    j->options.seed  = job->scenario.seed;
    cs_status status = cs_profile_run(job, &j->options, &p, err);
    if (status == CS_OK && j->output_path != NULL) {
        status = write_graph(j, &p, err);
    }
    if (status == CS_OK && j->format == CS_AS_JSON) {
        add_json(text, j, &p);
    } else if (status == CS_OK) {
        add_table(text, j, job, &p);
    }
    cs_profile_free(&p);
    return status;
}

static cs_status answer(void *job, cs_text *text, cs_error *err)
{
    profile_job *j      = job;
    cs_case      c      = {0};
    cs_status    status = CS_OK;

    if (j->counts != NULL) {
        status = read_counts(j->counts, &j->options, err);
    }
    if (status == CS_OK && j->sizes != NULL) {
        status = read_sizes(j->sizes, &j->options, err);
    }
    if (status == CS_OK) {
        status = cs_scenario_choice_adapcc(&j->choice, "profile", &c, err);
    }
    if (status == CS_OK) {
        status = answer_case(j, &c.job, text, err);
    }
    cs_case_free(&c);
    cs_scenario_choice_free(&j->choice);
    return status;
}

static int profile_run(int count, char *const *words)
{
    profile_job j = {.options = cs_profile_defaults(), .period = DEFAULT_PERIOD};
    return cs_cli_answer(&cs_command_profile, count, words, answer, &j);
}

const cs_command cs_command_profile = {
    .name    = "profile",
    .usage   = "profile [CONFIG.json] [options]",
    .summary = "alpha and rate of every link, as AdapCC measures them, and what that costs",
    .tables  = profile_tables,
    .run     = profile_run,
};
