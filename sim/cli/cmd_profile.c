/* SPDX-License-Identifier: GPL-3.0-or-later */
/* collsim profile: what AdapCC measures of every link of a cluster, and what measuring costs. */
#include "base/column.h"
#include "cli/cli.h"
#include "cli/scenario_args.h"
#include "cs/units.h"
#include "schedules/logical_xml.h"
#include "schedules/strategy_xml.h"
#include "study/renewal.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define MOST_TIME_S 1e6

enum { DEFAULT_PERIOD = 500 };

typedef struct profile_job {
    cs_scenario_choice choice;
    const char        *counts, *sizes; /* as written, or NULL */
    const char        *output_path;
    const char        *strategy_path, *next_path; /* trees in use, and to go on with; or NULL */
    cs_profile_options options;
    cs_renewal_terms   terms;
    int                format;
} profile_job;

/* What is printed. */
typedef struct answer_row {
    const cs_job    *job;
    cs_profile       profile;
    cs_strategy_file old;
    cs_strategy      made;
    cs_renewal       renewal; /* of the trees in use, where there are any */
} answer_row;

/* clang-format off */
#define NUMBER(field, name, value, help, ...) CS_ARG_NUMBER(profile_job, field, 0, name, value, help, __VA_ARGS__)
#define TIME(field, name, help) NUMBER(field, name, "T", help, .unit = CS_UNIT_TIME, .min = 0, .max = MOST_TIME_S)
static const cs_arg profile_args[] = {
    CS_ARG_GROUP("what is measured"),
    CS_ARG_TEXT(profile_job, counts, 0, "counts", "N,N,..", "messages that are sent one by one, and as one (2,4,8)"),
    CS_ARG_TEXT(profile_job, sizes, 0, "sizes", "S,S,..", "bytes of each (256kB,1MB,4MB)"),
    NUMBER(options.repeats, "repeats", "N", "times that all of them are sent (1)", .min = 1, .max = CS_MAX_FIT_POINTS),
    NUMBER(options.noise, "noise", "X", "standard deviation of a measured time, relatively; of --seed (0)", .min = 0, .max = 1),
    TIME(options.barrier_s, "barrier", "what the barrier of each round between servers costs (0)"),
    TIME(options.begin_s, "begin", "start then, but not before the last rank is there (0)"),
    NUMBER(terms.period, "period", "N", "iterations of training from one profile to the next (500)", .min = 1, .max = 1e9),
    TIME(terms.solve_s, "solve", "of a reconstruction: until there are new trees (0)"),
    TIME(terms.setup_s, "setup", "of a reconstruction: until their connections are set up (0)"),
    CS_ARG_TEXT(profile_job, strategy_path, 0, "strategy", "OLD.xml", "trees in use: are others better now?"),
    CS_ARG_TEXT(profile_job, next_path, 0, "next", "NEXT.xml", "write the trees there to go on with: the old ones, or others that pay"),
    CS_ARG_TEXT(profile_job, output_path, 'o', "output", "GRAPH.xml", "write the topology there as measured, for synthesize --graph"),
    CS_ARG_CHOICE(profile_job, format, 0, "format", "table|json", "how to print (table)"),
    CS_ARG_OPERAND(profile_job, choice.given.path, "configuration"),
    CS_ARG_HELP_ROW,
    CS_ARG_LAST_ROW,
};
static const cs_arg_table profile_tables[] = {
    CS_SCENARIO_TABLE(profile_job, choice), {profile_args, 0, CS_NOWHERE, CS_NOWHERE}, {.args = NULL}};
/* clang-format on */

static cs_status read_counts(const char *list, cs_profile_options *o, cs_error *err)
{
    char     word[CS_WORD_BYTES];
    uint64_t count = 0;

    o->n_counts = 0;
    do {
        if (o->n_counts == CS_PROFILE_MOST_COUNTS || !cs_args_word(&list, word)) {
            return CS_FAIL(err, CS_EINVAL, "--counts",
                           "accepted are 1 to %d numbers with commas between them: 2,4,8",
                           CS_PROFILE_MOST_COUNTS);
        }
        CS_TRY(cs_parse_integer(word, 2, 1 << 20, &count, "--counts", err));
        o->counts[o->n_counts++] = (uint32_t)count;
    } while (*list++ == ',');
    return CS_OK;
}

static cs_status read_sizes(const char *list, cs_profile_options *o, cs_error *err)
{
    char word[CS_WORD_BYTES];

    o->n_sizes = 0;
    do {
        if (o->n_sizes == CS_PROFILE_MOST_SIZES || !cs_args_word(&list, word)) {
            return CS_FAIL(err, CS_EINVAL, "--sizes",
                           "accepted are 1 to %d sizes with commas between them: 256kB,1MB,4MB",
                           CS_PROFILE_MOST_SIZES);
        }
        CS_TRY(cs_parse_bytes(word, &o->sizes[o->n_sizes++], "--sizes", err));
    } while (*list++ == ',');
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
    return p->duration_s + j->terms.solve_s + j->terms.setup_s;
}

static const cs_column renewal_columns[] = {
    CS_COLUMN(cs_renewal, old_s),
    CS_COLUMN(cs_renewal, new_s),
    CS_COLUMN_AS("break_even_iterations", cs_renewal, break_even),
    CS_COLUMN_AS("keep", cs_renewal, keeps),
    CS_COLUMN_END,
};

static void add_json(cs_text *text, const profile_job *j, const answer_row *row)
{
    const cs_profile *p = &row->profile;

    cs_text_add(text, "{");
    add_number(text, "duration_s", p->duration_s);
    cs_text_add(text, ", \"messages\": %" PRIu64 ", \"wire_bytes\": %" PRIu64 ", \"period\": %u",
                p->n_messages, p->wire_bytes, j->terms.period);
    add_number(text, "per_iteration_s", p->duration_s / j->terms.period);
    add_number(text, "reconstruction_s", reconstruction_s(j, p));
    cs_json_key(text, "trees");
    if (j->strategy_path != NULL) {
        cs_text_add(text, "{");
        cs_json_row(text, &(cs_row){renewal_columns, &row->renewal, false});
        cs_text_add(text, "}");
    } else {
        cs_text_add(text, "null");
    }
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

/* What becomes of the trees in use. */
static void add_renewal(cs_text *text, const profile_job *j, const cs_renewal *r)
{
    cs_text_add(text, "# trees in use %.3f us, new ones %.3f us: ", r->old_s * 1e6, r->new_s * 1e6);
    if (isinf(r->break_even)) {
        cs_text_add(text, "kept, the new ones save nothing\n");
    } else {
        cs_text_add(text, "%s, %.3f ms are saved in %.1f iterations of %u\n",
                    r->keeps ? "kept" : "changed", (j->terms.solve_s + j->terms.setup_s) * 1e3,
                    r->break_even, j->terms.period);
    }
}

static void add_table(cs_text *text, const profile_job *j, const answer_row *row)
{
    const cs_profile *p = &row->profile;
    const cs_cluster *c = &p->cluster;

    cs_text_add(text, "# %u servers of ", cs_n_servers(c));
    if (!cs_is_even(c)) {
        cs_text_add(text, "%u to ", cs_least_gpus(c));
    }
    cs_text_add(text, "%u GPUs, on %s: %" PRIu64 " messages, %.3f GB, %.3f ms\n",
                c->gpus_per_server, row->job->model->name, p->n_messages,
                (double)p->wire_bytes / 1e9, p->duration_s * 1e3);
    cs_text_add(text,
                "# every %u iterations: %.3f us each; with new trees: %.3f ms, %.3f us each\n",
                j->terms.period, p->duration_s / j->terms.period * 1e6,
                reconstruction_s(j, p) * 1e3, reconstruction_s(j, p) / j->terms.period * 1e6);
    if (j->strategy_path != NULL) {
        add_renewal(text, j, &row->renewal);
    }
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

static cs_status write_next(const profile_job *j, const answer_row *row, cs_error *err)
{
    cs_logical logical = {0}; /* new trees have no names of servers */
    cs_text    text    = {0};
    cs_status  status  = cs_logical_of_scenario(&logical, &row->job->scenario, err);

    if (status == CS_OK) {
        status = row->renewal.keeps ? cs_strategy_write(&text, &row->old.strategy, NULL, err)
                                    : cs_strategy_write(&text, &row->made, &logical, err);
    }
    if (status == CS_OK) {
        status = cs_cli_write(j->next_path, &text, err);
    }
    cs_text_free(&text);
    cs_logical_free(&logical);
    return status;
}

/* Hold the trees in use against others. */
static cs_status renew(const profile_job *j, answer_row *row, cs_error *err)
{
    const cs_scenario *s = &row->job->scenario;

    CS_TRY(cs_strategy_load(j->strategy_path, &row->old, err));
    cs_status status = cs_strategy_file_finish(&row->old, s->bytes, 0, err);
    if (status == CS_OK) {
        status = cs_renew_trees(&row->profile, s, (const cs_adapcc_options *)&row->job->options,
                                &j->terms, &row->old.strategy, &row->made, &row->renewal, err);
    }
    if (status == CS_EINVAL) {
        cs_error_locate(err, j->strategy_path, 0, 0);
    }
    return status == CS_OK && j->next_path != NULL ? write_next(j, row, err) : status;
}

static cs_status answer_case(profile_job *j, const cs_job *job, cs_text *text, cs_error *err)
{
    answer_row row = {.job = job};

    j->options.seed  = job->scenario.seed;
    cs_status status = cs_profile_run(job, &j->options, &row.profile, err);
    if (status == CS_OK && j->output_path != NULL) {
        status = write_graph(j, &row.profile, err);
    }
    if (status == CS_OK && j->strategy_path != NULL) {
        status = renew(j, &row, err);
    }
    if (status == CS_OK) {
        (j->format == CS_AS_JSON ? add_json : add_table)(text, j, &row);
    }
    cs_strategy_free(&row.old.strategy);
    cs_strategy_free(&row.made);
    cs_profile_free(&row.profile);
    return status;
}

static cs_status answer(void *job, cs_text *text, cs_error *err)
{
    profile_job *j      = job;
    cs_case      c      = {0};
    cs_status    status = CS_OK;

    if (j->next_path != NULL && j->strategy_path == NULL) {
        status = CS_FAIL(err, CS_EINVAL, "--next", "needs the trees in use: --strategy OLD.xml");
    }
    if (status == CS_OK && j->counts != NULL) {
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
    profile_job j = {.options = cs_profile_defaults(), .terms = {.period = DEFAULT_PERIOD}};
    return cs_cli_answer(&cs_command_profile, count, words, answer, &j);
}

const cs_command cs_command_profile = {
    .name     = "profile",
    .usage    = "profile [CONFIG.json] [options]",
    .summary  = "alpha and rate of every link, as AdapCC measures them, and what that costs",
    .tables   = profile_tables,
    .examples = {"collsim profile --topology adapcc -n 24",
                 "collsim profile --topology adapcc -n 24 -o graph.xml"},
    .run      = profile_run,
};
