/* SPDX-License-Identifier: GPL-3.0-or-later */
/* collsim list: what there is. */
#include "base/column.h"
#include "campaign/ranks.h"
#include "cli/cli.h"
#include "cs/algorithm.h"
#include "cs/bound.h"
#include "cs/machine.h"
#include "cs/model.h"
#include "figures/figures.h"
#include "output/listing.h"
#include "scenario/workload.h"
#include "study/config.h"

#include <inttypes.h>
#include <string.h>

typedef struct list_job {
    const char *what;
    int         format;
} list_job;

/* clang-format off */
static const cs_arg list_args[] = {
    CS_ARG_CHOICE(list_job, format, 0, "format", "text|json", "how to print (text)"),
    CS_ARG_OPERAND(list_job, what, "list"),
    CS_ARG_HELP_ROW,
    CS_ARG_LAST_ROW,
};
static const cs_arg_table list_tables[] = {{list_args, 0, CS_NOWHERE, CS_NOWHERE}, {.args = NULL}};
/* clang-format on */

/* What every entry has. */
#define ENTRY(type) CS_COLUMN(type, name), CS_COLUMN(type, summary), CS_COLUMN(type, source)

typedef struct figure_entry {
    const char *name, *summary, *source;
} figure_entry;
static const cs_column figure_columns[]   = {ENTRY(figure_entry), CS_COLUMN_END};
static const cs_column bound_columns[]    = {ENTRY(cs_bound), CS_COLUMN(cs_bound, assumption),
                                             CS_COLUMN(cs_bound, is_general), CS_COLUMN_END};
static const cs_column workload_columns[] = {
    ENTRY(cs_workload),
    CS_COLUMN_AS("parameters", cs_workload, n_parameters),
    CS_COLUMN_AS("layers", cs_workload, n_layers),
    CS_COLUMN(cs_workload, width),
    CS_COLUMN_AS("experts", cs_workload, n_experts),
    CS_COLUMN_AS("experts_per_token", cs_workload, n_chosen),
    CS_COLUMN_AS("expert_layers", cs_workload, n_expert_layers),
    CS_COLUMN_END};

typedef struct feature {
    const char *name, *summary, *source;
    bool        available;
    const char *missing;
} feature;

static const cs_column feature_columns[] = {ENTRY(feature), CS_COLUMN(feature, available),
                                            CS_COLUMN(feature, missing), CS_COLUMN_END};

/* The next object, which is left open. */
static void open_entry(cs_text *text, const cs_column *columns, const void *entry)
{
    cs_json_next(text, "", "\n ");
    cs_text_add(text, "{");
    cs_json_row(text, &(cs_row){columns, entry, false});
}

static void add_entry(cs_text *text, const cs_column *columns, const void *entry)
{
    open_entry(text, columns, entry);
    cs_text_add(text, "}");
}

static void add_line(cs_text *text, const char *name, const char *summary)
{
    cs_text_add(text, "%-18s %s\n", name, summary);
}

static void add_options(cs_text *text, const cs_field *table)
{
    char fallback[64];

    for (const cs_field *o = table; o != NULL && o->name != NULL; o++) {
        cs_list_default_text(table, o, fallback, sizeof fallback);
        cs_text_add(text, "    --opt %-18s %s (%s%s%s)\n", o->name, o->help, fallback,
                    o->choices != NULL ? "; " : "", o->choices != NULL ? o->choices : "");
    }
}

/* Nothing is said of one that does AllReduce alone, as most. */
static void add_collectives(cs_text *text, uint32_t collectives)
{
    const char *between = "    does ";

    if (collectives == 1u << CS_ALLREDUCE) {
        return;
    }
    for (int c = 0; c < CS_COLLECTIVE_COUNT; c++) {
        if ((collectives & 1u << c) != 0) {
            cs_text_add(text, "%s%s", between, cs_collective_name((cs_collective)c));
            between = ", ";
        }
    }
    cs_text_add(text, "\n");
}

static void list_algorithms(cs_text *text, bool json, cs_error *err)
{
    (void)err;
    if (json) {
        cs_list_algorithms_json(text);
        return;
    }
    for (size_t i = 0; cs_algorithms[i] != NULL; i++) {
        const cs_algorithm *a = cs_algorithms[i];
        add_line(text, a->name, a->summary);
        add_collectives(text, a->collectives);
        add_options(text, a->options);
    }
}

static void add_missing_model(cs_text *text, const char *name, const char *summary,
                              const char *missing)
{
    cs_text_add(text, "%-18s not here: %s (%s)\n", name, missing, summary);
}

static void list_models(cs_text *text, bool json, cs_error *err)
{
    (void)err;
    if (json) {
        cs_list_models_json(text);
        return;
    }
    for (size_t i = 0; cs_models[i] != NULL; i++) {
        const cs_model *m       = cs_models[i];
        const char     *missing = m->missing != NULL ? m->missing() : NULL;
        if (missing != NULL) {
            add_missing_model(text, m->name, m->summary, missing);
        } else {
            add_line(text, m->name, m->summary);
            add_options(text, m->options);
        }
    }
    for (const cs_missing *m = cs_models_missing; m->name != NULL; m++) {
        add_missing_model(text, m->name, m->summary, m->missing);
    }
}

/* Those in the folder of figures. */
static void list_figures(cs_text *text, bool json, cs_error *err)
{
    cs_figure_entry *list     = NULL;
    size_t           n        = 0;
    bool             is_found = cs_figure_list(&list, &n, err) == CS_OK;

    for (size_t i = 0; is_found && i < n; i++) {
        if (json) {
            const figure_entry entry = {list[i].name, list[i].title, list[i].source};
            add_entry(text, figure_columns, &entry);
        } else {
            add_line(text, list[i].name, list[i].title);
        }
    }
    cs_figure_list_free(list, n);
}

static void list_bounds(cs_text *text, bool json, cs_error *err)
{
    (void)err;
    for (size_t i = 0; cs_bounds[i] != NULL; i++) {
        const cs_bound *b = cs_bounds[i];
        if (json) {
            add_entry(text, bound_columns, b);
        } else {
            add_line(text, b->name, b->summary);
            cs_text_add(text, "%18s %s; %s\n", "", b->assumption, b->source);
        }
    }
}

static void list_workloads(cs_text *text, bool json, cs_error *err)
{
    (void)err;
    for (const cs_workload *w = cs_workloads; w->name != NULL; w++) {
        if (json) {
            add_entry(text, workload_columns, w);
        } else {
            add_line(text, w->name, w->summary);
            cs_text_add(text, "%18s %" PRIu64 " parameters; %s\n", "", w->n_parameters, w->source);
        }
    }
}

/* What depends on libraries that need not be there. */
static void list_features(cs_text *text, bool json, cs_error *err)
{
    (void)err;
    static const char summary[] = "sweep and montecarlo over the ranks of mpirun";
    char              missing[200];
    bool              is_here = cs_ranks_available(missing, sizeof missing);

    const feature mpi = {"mpi", summary, "Open MPI", is_here, is_here ? NULL : missing};

    if (json) {
        add_entry(text, feature_columns, &mpi);
    } else if (is_here) {
        add_line(text, mpi.name, summary);
    } else {
        cs_text_add(text, "%-18s not here: %s (%s)\n", mpi.name, missing, summary);
    }
}

static void list_topologies(cs_text *text, bool json, cs_error *err)
{
    (void)err;
    if (json) {
        cs_list_topologies_json(text);
        return;
    }
    for (const cs_preset *p = cs_presets; p->name != NULL; p++) {
        add_line(text, p->name, p->summary);
        cs_text_add(text, "%18s %s\n", "", p->source);
    }
}

static void list_keys(cs_text *text, bool json, cs_error *err)
{
    (void)err;
    cs_config_keys(text, json);
}

static void list_schema(cs_text *text, bool json, cs_error *err)
{
    (void)err;
    (void)json; /* it is, in any case */
    cs_config_schema(text);
}

typedef struct list {
    const char *name;
    void (*add)(cs_text *text, bool json, cs_error *err); /* *err says what cannot be read */
} list;

static const list lists[] = {
    {"algorithms", list_algorithms}, {"models", list_models},       {"figures", list_figures},
    {"bounds", list_bounds},         {"workloads", list_workloads}, {"topologies", list_topologies},
    {"features", list_features},     {"keys", list_keys},           {"schema", list_schema},
};

static cs_status list_what(void *job, cs_text *text, cs_error *err)
{
    const cs_named  named = {.things  = lists,
                             .n       = sizeof lists / sizeof lists[0],
                             .stride  = sizeof lists[0],
                             .name    = offsetof(list, name),
                             .aliases = CS_NO_ALIASES,
                             .status  = CS_EINVAL,
                             .what    = "no list of"};
    const list_job *j     = job;
    size_t          index = 0;
    bool            json  = j->format == 1;

    if (j->what == NULL) {
        return CS_FAIL(err, CS_EINVAL, "list",
                       "needs algorithms, models, figures, bounds, workloads, topologies, "
                       "features, keys or schema");
    }
    cs_status status = cs_find_named(&named, j->what, &index, "list", err);
    if (status == CS_OK) {
        bool is_array = json && lists[index].add != list_schema;
        cs_text_add(text, "%s", is_array ? "[" : "");
        lists[index].add(text, json, err);
        cs_text_add(text, "%s", is_array ? "]\n" : "");
        status = err->status == CS_OK ? cs_text_status(text, err) : err->status;
    }
    return status;
}

static int list_run(int count, char *const *words)
{
    list_job j = {0};
    return cs_cli_answer(&cs_command_list, count, words, list_what, &j);
}

const cs_command cs_command_list = {
    .name     = "list",
    .usage    = "list algorithms|models|figures|bounds|workloads|topologies|features|keys|schema "
                "[--format json]",
    .summary  = "what there is, with sources and options",
    .tables   = list_tables,
    .examples = {"collsim list algorithms", "collsim list topologies --format json"},
    .run      = list_run,
};
