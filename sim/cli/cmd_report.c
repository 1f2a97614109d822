/* SPDX-License-Identifier: GPL-3.0-or-later */
/* collsim report: one page about results, or about a configuration that is run first. */
#include "campaign/thread_pool.h"
#include "campaign/trace_whatif.h"
#include "cli/cli.h"
#include "cli/data_args.h"
#include "report/chance.h"
#include "report/late.h"
#include "report/report.h"
#include "study/config.h"
#include "traces/arrival_file.h"

#include <stdio.h>
#include <string.h>

/* Pages above this are hard to send. */
#define LARGE_BYTES 3000000

enum { CS_MOST_TRACES = 256 };

typedef struct report_job {
    cs_data_choice choice;
    const char    *output, *title, *show;
    bool           no_runs, no_before;
    const char    *traces[CS_MOST_TRACES];
    size_t         n_traces;
    cs_text        chance; /* the section of that name, or empty */
    int            count;  /* the command line */
    char *const   *words;
} report_job;

/* clang-format off */
static const cs_arg report_args[] = {
    CS_ARG_GROUP("the page"),
    CS_ARG_TEXT(report_job, show, 0, "show", "COLUMN=VALUE[,..]", "what is shown first: bytes=1G,ranks=16 (a large one)"),
    CS_ARG_TEXT(report_job, title, 0, "title", "WORDS", "of the page (the configuration's name, or the file's)"),
    {.name = "trace", .value = "FILE[,FILE..]", .help = "who is late in a trace of arrivals, and what would have helped (repeatable)",
     .field = CS_ARG_LIST_FIELD(report_job, traces, n_traces, "trace")},
    CS_ARG_FLAG(report_job, no_runs, 0, "no-timeline", "leave out the timelines of the best schedule and of what runs today"),
    CS_ARG_FLAG(report_job, no_before, 0, "no-before", "where something is broken, leave out what was before"),
    CS_ARG_GROUP("output"),
    CS_ARG_TEXT(report_job, output, 'o', "output", "FILE.html", "the page (report.html)"),
    CS_ARG_HELP_ROW,
    CS_ARG_LAST_ROW,
};
static const cs_arg_table report_tables[] = {
    CS_DATA_TABLES(report_job, choice), {report_args, 0, CS_NOWHERE, CS_NOWHERE}, {.args = NULL}};
/* clang-format on */

/* The command line, so that it can be run again: words with blanks and the like are quoted. */
static void add_command(const report_job *j, cs_text *text)
{
    cs_text_add(text, "collsim report");
    for (int i = 0; i < j->count; i++) {
        const char *word = j->words[i];
        bool is_plain    = word[0] != '\0' && strpbrk(word, " \t\n'\"\\$`*?[]{}()<>|&;#~!") == NULL;
        cs_text_add(text, " ");
        cs_text_add(text, is_plain ? "" : "'");
        for (const char *p = word; *p != '\0'; p++) {
            cs_text_add(text, *p == '\'' ? "'\\''" : "%c", *p);
        }
        cs_text_add(text, is_plain ? "" : "'");
    }
}

static const char *title_of(const report_job *j)
{
    const cs_config *config = j->choice.scenario.config;
    const char      *path   = j->n_traces > 0 ? j->traces[0] : j->choice.scenario.given.path;
    const char      *name   = config != NULL ? cs_config_text(config, "name") : NULL;

    if (j->title != NULL) {
        return j->title;
    }
    if (name != NULL) {
        return name;
    }
    const char *slash = path != NULL ? strrchr(path, '/') : NULL;
    return slash != NULL ? slash + 1 : path; /* NULL: what was run */
}

static cs_status write_page(report_job *j, const cs_data *data, const cs_late *late,
                            const char *path, cs_text *answer, cs_error *err)
{
    const cs_config  *config  = j->choice.scenario.config;
    cs_text           command = {0}, html = {0};
    cs_report         report  = {.data = {0}};
    cs_report_options options = {
        .title       = title_of(j),
        .base        = j->choice.scenario.given.path != NULL ? j->choice.scenario.given.path : "",
        .start       = j->show,
        .description = config != NULL ? cs_config_text(config, "description") : NULL,
        .has_runs    = !j->no_runs,
        .begin       = late != NULL ? late->begin.data : NULL,
        .chance      = j->chance.data,
        .doubt       = late != NULL ? late->doubt.data : NULL,
        .late        = late != NULL ? late->json.data : NULL,
    };

    add_command(j, &command);
    options.command  = command.data != NULL ? command.data : "";
    cs_status status = cs_report_make(data, &options, &report, err);
    status           = status == CS_OK ? cs_report_html(&report, false, &html, err) : status;
    status           = status == CS_OK ? cs_cli_write(path, &html, err) : status;
    if (status == CS_OK) {
        cs_text_add(answer, "%s: %zu rows, %zu kB%s\n", path, data->n_rows, html.length / 1000,
                    html.length > LARGE_BYTES ? ": large to send; --no-timeline and --where make "
                                                "it smaller"
                                              : "");
        cs_text_add(answer, "%s", report.notes.data != NULL ? report.notes.data : "");
    }
    cs_report_free(&report);
    cs_text_free(&html);
    cs_text_free(&command);
    return status;
}

/* What chooses among rows or schedules has nothing to choose from. */
static cs_status check_trace(const report_job *j, cs_error *err)
{
    const char *option = j->choice.n_conditions > 0 ? "--where" : j->show != NULL ? "--show" : NULL;

    if (option == NULL && cs_config_names_algorithm(j->choice.scenario.config)) {
        option = "--algorithm";
    }
    return option != NULL ? CS_FAIL(err, CS_EINVAL, option,
                                    "a trace (--trace) is replayed by every schedule, as one page: "
                                    "there is nothing to choose")
                          : CS_OK;
}

/* The page about a trace: the configuration says what the cluster and the collective are. */
static cs_status answer_trace(report_job *j, const char *path, cs_text *text, cs_error *err)
{
    cs_arrival_options asked  = {.collective = NULL};
    unsigned           jobs   = j->choice.jobs > 0 ? j->choice.jobs : cs_processors();
    cs_arrival_trace   trace  = {0};
    cs_arrival_notes   notes  = {0};
    cs_trace_report    report = {0};
    cs_late            late   = {.data = {0}};

    CS_TRY(cs_scenario_choice_finish(&j->choice.scenario, err));
    CS_TRY(check_trace(j, err));
    asked.collective = cs_config_text(j->choice.scenario.config, "collective");
    cs_status status = cs_arrival_files_load(j->traces, j->n_traces, &asked, &trace, &notes, err);
    if (status == CS_OK) {
        const cs_trace_options options = {.period_s = notes.period_s, .jobs = jobs};
        status = cs_trace_whatif(j->choice.scenario.config, &trace, &options, &report, err);
    }
    if (status == CS_OK) {
        status =
            cs_late_make(&trace, &notes, &report,
                         asked.collective != NULL ? asked.collective : "allreduce", &late, err);
    }
    status = status == CS_OK ? write_page(j, &late.data, &late, path, text, err) : status;
    cs_late_free(&late);
    cs_trace_report_free(&report);
    cs_arrival_notes_free(&notes);
    cs_arrival_trace_free(&trace);
    return status;
}

/* Where arrivals are random, how times are distributed. */
static cs_status add_chance(report_job *j, cs_error *err)
{
    const cs_config *config   = j->choice.scenario.config;
    bool             is_there = false;

    if (config != NULL) {
        CS_TRY(cs_chance_is_there(config, &is_there, err));
    }
    return is_there ? cs_chance_json(&j->chance, config,
                                     j->choice.jobs > 0 ? j->choice.jobs : cs_processors(), err)
                    : CS_OK;
}

static cs_status answer_data(report_job *j, const char *path, cs_text *text, cs_error *err)
{
    cs_data data = {.has_scenarios = true};

    j->choice.with_before = !j->no_before;
    cs_status status      = cs_data_choice_load(&j->choice, &data, err);
    status                = status == CS_OK ? add_chance(j, err) : status;
    status                = status == CS_OK ? write_page(j, &data, NULL, path, text, err) : status;
    cs_data_free(&data);
    cs_text_free(&j->chance);
    return status;
}

static cs_status answer(void *job, cs_text *text, cs_error *err)
{
    report_job *j    = job;
    const char *path = j->output != NULL ? j->output : "report.html";

    if (!cs_ends_in(path, ".html")) {
        return CS_FAIL(err, CS_EINVAL, "--output", "'%s': accepted are names that end in .html",
                       path);
    }
    if (cs_report_policy(false) == NULL) { /* before what may take long */
        cs_text   none   = {0};
        cs_report report = {.data = {0}};
        return cs_report_html(&report, false, &none, err);
    }
    cs_status status =
        j->n_traces > 0 ? answer_trace(j, path, text, err) : answer_data(j, path, text, err);
    cs_scenario_choice_free(&j->choice.scenario);
    return status;
}

static int report_run(int count, char *const *words)
{
    report_job j = {.count = count, .words = words};
    return cs_cli_answer(&cs_command_report, count, words, answer, &j);
}

const cs_command cs_command_report = {
    .name     = "report",
    .usage    = "report [RESULTS|CONFIG.json] [options]",
    .summary  = "one page about results: the answer, when it holds, what happens inside",
    .tables   = report_tables,
    .examples = {"collsim report -a ring,rhd,stragglar -n 16 -s 1M:1G:x4 --late 7=10us:10ms:x4 -o "
                 "late.html",
                 "collsim report --trace traces/generated-stragglar4.log -o who-is-late.html"},
    .run      = report_run,
};
