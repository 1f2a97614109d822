/* SPDX-License-Identifier: GPL-3.0-or-later */
/* collsim list: what there is. */
#include "cli/cli.h"
#include "config/schema.h"
#include "config/workload.h"
#include "cs/algorithm.h"
#include "cs/bound.h"
#include "cs/machine.h"
#include "cs/model.h"
#include "figures/figures.h"
#include "sweep/ranks.h"

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

static void add_member(cs_text *text, const char *key, const char *value)
{
    cs_text_add(text, ", ");
    cs_text_add_json_string(text, key);
    cs_text_add(text, ": ");
    cs_text_add_json_string(text, value);
}

static void fallback_text(const cs_field *table, const cs_field *row, char *text, size_t bytes)
{
    cs_options options = {0};

    cs_fields_default(table, &options);
    cs_field_text(row, &options, text, bytes);
}

static void add_options_json(cs_text *text, const cs_field *table)
{
    char fallback[64];

    cs_text_add(text, ", \"options\": [");
    for (const cs_field *o = table; o != NULL && o->name != NULL; o++) {
        fallback_text(table, o, fallback, sizeof fallback);
        cs_text_add(text, "%s{\"name\": ", o == table ? "" : ", ");
        cs_text_add_json_string(text, o->name);
        add_member(text, "type", cs_field_type_name(o));
        add_member(text, "default", fallback);
        add_member(text, "help", o->help);
        cs_text_add(text, "}");
    }
    cs_text_add(text, "]");
}

static void add_options_text(cs_text *text, const cs_field *table)
{
    char fallback[64];

    for (const cs_field *o = table; o != NULL && o->name != NULL; o++) {
        fallback_text(table, o, fallback, sizeof fallback);
        cs_text_add(text, "    --opt %-18s %s (%s%s%s)\n", o->name, o->help, fallback,
                    o->choices != NULL ? "; " : "", o->choices != NULL ? o->choices : "");
    }
}

/* One entry; `extra` is a further member, or NULL. */
static void add_entry(cs_text *text, bool json, size_t index, const char *name, const char *summary,
                      const char *source)
{
    if (!json) {
        cs_text_add(text, "%-18s %s\n", name, summary);
        return;
    }
    cs_text_add(text, "%s{\"name\": ", index == 0 ? "[" : ",\n ");
    cs_text_add_json_string(text, name);
    add_member(text, "summary", summary);
    add_member(text, "source", source);
}

/* Nothing is said in words of one that does AllReduce alone, as most. */
static void add_collectives(cs_text *text, bool json, uint32_t collectives)
{
    const char *between = json ? ", \"collectives\": [" : "    does ";

    if (!json && collectives == 1u << CS_ALLREDUCE) {
        return;
    }
    for (int c = 0; c < CS_COLLECTIVE_COUNT; c++) {
        if ((collectives & 1u << c) != 0) {
            cs_text_add(text, json ? "%s\"%s\"" : "%s%s", between,
                        cs_collective_name((cs_collective)c));
            between = ", ";
        }
    }
    cs_text_add(text, json ? "]" : "\n");
}

static void list_missing_parts(cs_text *text)
{
    for (const cs_missing_part *m = cs_algorithms_missing; m->name != NULL; m++) {
        cs_text_add(text, "%-18s not here: %s (%s)\n", m->name, m->part, m->missing);
    }
}

static void list_algorithms(cs_text *text, bool json)
{
    for (size_t i = 0; cs_algorithms[i] != NULL; i++) {
        const cs_algorithm *a = cs_algorithms[i];
        add_entry(text, json, i, a->name, a->summary, a->source);
        add_collectives(text, json, a->collectives);
        if (json) {
            add_options_json(text, a->options);
            cs_text_add(text, "}");
        } else {
            add_options_text(text, a->options);
        }
    }
    if (!json) {
        list_missing_parts(text);
    }
}

/* JSON lists what can be used. */
static void add_missing_model(cs_text *text, bool json, const char *name, const char *summary,
                              const char *missing)
{
    if (!json) {
        cs_text_add(text, "%-18s not here: %s (%s)\n", name, missing, summary);
    }
}

static void list_models(cs_text *text, bool json)
{
    for (size_t i = 0; cs_models[i] != NULL; i++) {
        const cs_model *m       = cs_models[i];
        const char     *missing = m->missing != NULL ? m->missing() : NULL;
        if (missing != NULL) {
            add_missing_model(text, json, m->name, m->summary, missing);
            continue;
        }
        add_entry(text, json, i, m->name, m->summary, m->source);
        if (json) {
            add_options_json(text, m->options);
            cs_text_add(text, "}");
        } else {
            add_options_text(text, m->options);
        }
    }
    for (const cs_missing *m = cs_models_missing; m->name != NULL; m++) {
        add_missing_model(text, json, m->name, m->summary, m->missing);
    }
}

static void list_figures(cs_text *text, bool json)
{
    for (size_t i = 0; cs_figures[i] != NULL; i++) {
        add_entry(text, json, i, cs_figures[i]->name, cs_figures[i]->summary,
                  cs_figures[i]->source);
        cs_text_add(text, "%s", json ? "}" : "");
    }
}

static void list_bounds(cs_text *text, bool json)
{
    for (size_t i = 0; cs_bounds[i] != NULL; i++) {
        const cs_bound *b = cs_bounds[i];
        add_entry(text, json, i, b->name, b->summary, b->source);
        if (json) {
            add_member(text, "assumption", b->assumption);
            cs_text_add(text, ", \"is_general\": %s}", b->is_general ? "true" : "false");
        } else {
            cs_text_add(text, "%18s %s; %s\n", "", b->assumption, b->source);
        }
    }
}

static void list_workloads(cs_text *text, bool json)
{
    for (const cs_workload *w = cs_workloads; w->name != NULL; w++) {
        add_entry(text, json, (size_t)(w - cs_workloads), w->name, w->summary, w->source);
        if (json) {
            cs_text_add(text, ", \"parameters\": %" PRIu64 "}", w->n_parameters);
        } else {
            cs_text_add(text, "%18s %" PRIu64 " parameters; %s\n", "", w->n_parameters, w->source);
        }
    }
}

/* What depends on libraries that need not be there. */
static void list_features(cs_text *text, bool json)
{
    static const char summary[] = "sweep and montecarlo over the ranks of mpirun";
    char              missing[200];
    bool              is_here = cs_ranks_available(missing, sizeof missing);

    if (!json && !is_here) {
        cs_text_add(text, "%-18s not here: %s (%s)\n", "mpi", missing, summary);
        return;
    }
    add_entry(text, json, 0, "mpi", summary, "Open MPI");
    if (json) {
        cs_text_add(text, ", \"available\": %s", is_here ? "true" : "false");
        add_member(text, "missing", is_here ? NULL : missing);
        cs_text_add(text, "}");
    }
}

static void list_topologies(cs_text *text, bool json)
{
    for (size_t i = 0; cs_presets[i].name != NULL; i++) {
        const cs_preset *p = &cs_presets[i];
        add_entry(text, json, i, p->name, p->summary, p->source);
        if (json) {
            cs_text_add(text, ", \"servers\": %u}", p->n_servers);
        } else {
            cs_text_add(text, "%18s %s\n", "", p->source);
        }
    }
}

static void list_keys(cs_text *text, bool json)
{
    cs_config_keys(text, json);
}

static void list_schema(cs_text *text, bool json)
{
    (void)json; /* it is, in any case */
    cs_config_schema(text);
}

typedef struct list {
    const char *name;
    void (*add)(cs_text *text, bool json);
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
        lists[index].add(text, json);
        cs_text_add(text, "%s", json && lists[index].add != list_schema ? "]\n" : "");
    }
    return status == CS_OK ? cs_text_status(text, err) : status;
}

static int list_run(int count, char *const *words)
{
    list_job j = {0};
    return cs_cli_answer(&cs_command_list, count, words, list_what, &j);
}

const cs_command cs_command_list = {
    .name    = "list",
    .usage   = "list algorithms|models|figures|bounds|workloads|topologies|features|keys|schema "
               "[--format json]",
    .summary = "what there is, with sources and options",
    .tables  = list_tables,
    .run     = list_run,
};
