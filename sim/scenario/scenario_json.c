/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One scenario from JSON: the root, the faults, and the algorithm and the model, whose options are
 * set through their own tables, so that this file knows none of them. */
#include "scenario/scenario_json.h"

#include "scenario/fault.h"

#include <math.h>
#include <string.h>

enum { MAX_NAMES = 256 };

#define MAX_SEED ((double)((uint64_t)1 << 53))

/* ---- algorithms and models ---- */

typedef struct plug_in {
    const char *name;
} plug_in;

static const cs_field plug_in_fields[] = {
    CS_KEY(plug_in, name, "name", .help = "of it"),
    {.name = "options", .type = CS_FIELD_ANY, .offset = CS_NOWHERE},
    CS_FIELD_END,
};

/* {"name": .., "options": {..}}, or the name alone; `fallback` where it is absent. NULL where that
 * is refused. */
static const char *read_plug_in(cs_reading *r, const cs_place *place, const char *fallback)
{
    plug_in p = {fallback};

    if (json_is_string(place->node)) {
        p.name = json_string_value(place->node);
    } else if (place->node != NULL) {
        (void)cs_read_fields(r, place, plug_in_fields, &p);
    }
    return cs_reading_failed(r) ? NULL : p.name;
}

/* Refuse a name that was not found, where it stands. */
static void refuse_name(cs_reading *r, const cs_place *place, const cs_error *wrong)
{
    cs_place name = json_is_object(place->node) ? cs_place_get(place, "name") : *place;

    CS_REFUSE(r, &name, wrong->status, "%s", wrong->message);
}

/* Does any algorithm or model have an option of that name? */
static bool is_option_of_any(const char *key)
{
    bool is_known = false;

    for (size_t i = 0; cs_algorithms[i] != NULL && !is_known; i++) {
        is_known = cs_field_find(cs_algorithms[i]->options, key) != NULL;
    }
    for (size_t i = 0; cs_models[i] != NULL && !is_known; i++) {
        is_known = cs_field_find(cs_models[i]->options, key) != NULL;
    }
    return is_known;
}

/* Of a plug-in without options, which may be one of several: the word may be misspelt. */
static cs_named names_of_all(const char **names)
{
    size_t count = 0;

    for (size_t i = 0; cs_algorithms[i] != NULL; i++) {
        const cs_field *row = cs_algorithms[i]->options;
        for (; row != NULL && row->name != NULL && count < MAX_NAMES; row++) {
            names[count++] = row->name;
        }
    }
    return (cs_named)CS_NAMED_WORDS(
        names, count, "unknown option",
        ": accepted are none; 'collsim list' has the options of all algorithms and models");
}

static void refuse_option(cs_reading *r, const cs_place *place, const char *key,
                          const cs_field *table)
{
    const char    *names[MAX_NAMES];
    size_t         index;
    cs_error       wrong     = {0};
    bool           is_in_all = !is_option_of_any(key) && (table == NULL || table->name == NULL);
    const cs_named named =
        is_in_all ? names_of_all(names) : cs_field_names(table, "unknown option");

    r->key_is_wrong = true;
    if (cs_find_named(&named, key, &index, "", &wrong) != CS_OK) {
        CS_REFUSE(r, place, wrong.status, "%s", wrong.message);
    }
}

/* One option; false if it is to be left out. */
static bool read_option(cs_reading *r, const cs_place *options, const char *key,
                        const cs_field *table, cs_options *out)
{
    char            path[CS_PATH_BYTES];
    cs_place        place = cs_place_get(options, key);
    const cs_field *row   = cs_field_find(table, key);

    if (row != NULL) {
        cs_read_option(r, &place, row, out);
        return true;
    }
    cs_place_path(&place, path);
    if (r->may_skip != NULL && r->may_skip(r->context, path) && is_option_of_any(key)) {
        return false;
    }
    refuse_option(r, &place, key, table);
    return true;
}

static void read_options(cs_reading *r, const cs_place *place, const cs_field *table,
                         cs_options *out)
{
    cs_fields_default(table, out);
    if (cs_reading_failed(r) || !json_is_object(place->node)) {
        return;
    }
    cs_place    options = cs_place_get(place, "options");
    const char *key;
    json_t     *value;
    void       *next;

    if (options.node != NULL && !json_is_object(options.node)) {
        cs_refuse_kind(r, &options, "an object of options");
    }
    json_object_foreach_safe(options.node, next, key, value)
    {
        if (!cs_reading_failed(r) && !read_option(r, &options, key, table, out)) {
            (void)json_object_del(options.node, key);
        }
    }
}

void cs_read_model(cs_reading *r, const cs_place *place, const cs_field *row, void *object)
{
    const char      *name    = read_plug_in(r, place, cs_models[0]->name);
    const cs_model **model_p = (const cs_model **)((char *)object + row->offset);
    cs_error         wrong   = {0};

    if (name == NULL) {
        return;
    }
    if (cs_model_find(name, model_p, &wrong) != CS_OK) {
        refuse_name(r, place, &wrong);
        return;
    }
    r->model = *model_p;
    read_options(r, place, r->model->options, (cs_options *)((char *)object + row->beside));
}

/* `fallback` is what it is where nothing is said. */
static void read_algorithm(cs_reading *r, const cs_place *place, const cs_field *row,
                           const char *fallback, void *object)
{
    const char          *name        = read_plug_in(r, place, fallback);
    const cs_algorithm **algorithm_p = (const cs_algorithm **)((char *)object + row->offset);
    cs_error             wrong       = {0};

    if (name == NULL) {
        return;
    }
    if (cs_algorithm_find(name, algorithm_p, &wrong) != CS_OK) {
        refuse_name(r, place, &wrong);
        return;
    }
    read_options(r, place, (*algorithm_p)->options, (cs_options *)((char *)object + row->beside));
}

void cs_read_algorithm(cs_reading *r, const cs_place *place, const cs_field *row, void *object)
{
    read_algorithm(r, place, row, cs_default_algorithm(r->cluster, CS_ALLREDUCE), object);
}

static void read_own_algorithm(cs_reading *r, const cs_place *place, const cs_field *row,
                               void *object)
{
    const cs_scenario *s = &((const cs_case *)object)->job.scenario;

    read_algorithm(r, place, row, cs_default_algorithm(&s->cluster, s->collective), object);
}

const char *cs_default_algorithm(const cs_cluster *cluster, cs_collective collective)
{
    if (cs_collective_has_root(collective)) {
        return "reduce_ring";
    }
    return collective == CS_ALLTOALL      ? "allpairs"
           : cluster->gpus_per_server > 1 ? "nccl_rings"
                                          : "ring";
}

/* ---- faults ---- */

static void check_fault(cs_reading *r, const cs_place *place, void *object)
{
    cs_fault_check(r, place, "", object);
    cs_fault_check_span(r, place, object);
}

static void read_faults(cs_reading *r, const cs_place *place, const cs_field *row, void *object)
{
    cs_case      *c     = object;
    cs_scenario  *s     = &c->job.scenario;
    cs_fault_list list  = {NULL, 0};
    cs_capacity  *steps = NULL;
    size_t        n = 0, index = 0;
    cs_error      wrong = {0};

    if (place->node == NULL) {
        return;
    }
    cs_read_row(r, place, row, &list);
    if (cs_reading_failed(r)) {
        return;
    }
    cs_status status = cs_faults_merge(&s->cluster, list.faults, list.n, CS_KEEPS_A_NIC, r->arena,
                                       &steps, &n, &index, &wrong);
    if (status == CS_ENOMEM) {
        CS_REFUSE_MEMORY(r, place, "faults");
    } else if (status != CS_OK) {
        cs_fault_refuse(r, place, index, &wrong);
    } else {
        s->capacity   = steps;
        s->n_capacity = n;
        c->faults     = list.faults;
        c->n_faults   = list.n;
    }
}

/* clang-format off */
static const cs_field fault_fields[] = {
    CS_FAULT_WHO_ROWS,
#define CS_FAULT(kind, key, least, most, slowdown, help_, ...)                                     \
    CS_KEY(cs_fault, value, key, .fallback = (double)INFINITY, .min = (least), .max = (most),      \
           .has_null = true, .is_ratio = true, .is_required = CS_FAULT_KINDS == 1,                 \
           .help = help_ "; null: nothing is left"),
#include "scenario/faults.def"
#undef CS_FAULT
    CS_KEY(cs_fault, capacity.from_s, "from", .unit = CS_UNIT_TIME, .max = (double)INFINITY,
           .help = "begin, counted from the first arrival"),
    CS_KEY(cs_fault, capacity.until_s, "until", .unit = CS_UNIT_TIME, .fallback = (double)INFINITY,
           .max = (double)INFINITY, .has_null = true, .help = "end; null: never"),
    CS_FAULT_FAILOVER_ROW,
    CS_FIELD_END,
};
static const cs_field fault[] = {
    {.name = "fault", .type = CS_FIELD_OBJECT, .fields = fault_fields, .check = check_fault},
    CS_FIELD_END,
};

/* ---- the root, in the order in which it is read: what others depend on comes first ---- */

const cs_field cs_scenario_fields[] = {
    {.name = "name", .type = CS_FIELD_TEXT, .offset = CS_NOWHERE, .help = "a name for people"},
    {.name = "description", .type = CS_FIELD_TEXT, .offset = CS_NOWHERE, .help = "a text for people"},
    CS_KEY_OF(CS_FIELD_CHOICE, cs_case, job.scenario.collective, "collective",
              .names = &cs_collective_names, .help = "what is to be done"),
    CS_KEY(cs_case, job.scenario.bytes, "bytes", .unit = CS_UNIT_SIZE, .fallback = 32 << 20, .min = 1,
           .max = (double)CS_MAX_BYTES,
           .help = "nccl-tests' size: of every rank's buffer, or of all blocks together"),
    CS_KEY(cs_case, job.scenario.seed, "seed", .fallback = 1, .max = MAX_SEED,
           .help = "seed of everything random"),
    CS_KEY(cs_case, job.verify, "verify", .fallback = 1, .max = 1,
           .help = "check that the schedule is the collective"),
    {.name = "model", .type = CS_FIELD_PLUG_IN, .offset = offsetof(cs_case, job.model),
     .beside = offsetof(cs_case, job.model_options), .names = &cs_model_names, .read = cs_read_model,
     .help = "network model: 'collsim list models'"},
    CS_KEY_OF(CS_FIELD_OBJECT, cs_case, job.scenario.cluster, "cluster", .fields = cs_cluster_fields,
              .read = cs_read_cluster, .help = "ranks, servers and the ports between them"),
    CS_KEY(cs_case, job.scenario.root, "root", .max = CS_MAX_RANKS - 1, .is_rank = true,
           .help = "root of broadcast and reduce"),
    {.name = "algorithm", .type = CS_FIELD_PLUG_IN, .offset = offsetof(cs_case, job.algorithm),
     .beside = offsetof(cs_case, job.options), .names = &cs_algorithm_names, .read = read_own_algorithm,
     .help = "'collsim list algorithms', or all; as NCCL: nccl_rings where a server has several GPUs, else "
             "ring; allpairs (alltoall), reduce_ring (broadcast, reduce)"},
    {.name = "arrivals", .type = CS_FIELD_OBJECT, .fields = cs_arrivals_fields,
     .read = cs_read_arrivals, .help = "who is late: the parts add up"},
    {.name = "montecarlo", .type = CS_FIELD_OBJECT, .fields = cs_montecarlo_fields,
     .read = cs_read_montecarlo, .help = "what algorithms know of the late rank"},
    CS_KEY_LIST(cs_fault_list, faults, n, "faults", fault, .read = read_faults,
                .help = "NICs that are slow or dead"),
    {.name = "training", .type = CS_FIELD_OBJECT, .fields = cs_training_fields,
     .read = cs_read_training, .help = "iterations of a job, for 'collsim montecarlo' alone"},
    {.name = "calibration", .type = CS_FIELD_FILE, .offset = CS_NOWHERE,
     .help = "a file of 'collsim calibrate': alpha and bandwidth of the NICs, and of NVLink"},
    {.name = "sweep", .type = CS_FIELD_ANY, .offset = CS_NOWHERE,
     .help = "lists of values by their paths: every combination is a scenario"},
    {.name = "figure", .type = CS_FIELD_ANY, .offset = CS_NOWHERE,
     .help = "what 'collsim figure' draws of it"},
    {.name = "$schema", .type = CS_FIELD_TEXT, .offset = CS_NOWHERE,
     .help = "for editors: the JSON Schema of configurations; ignored"},
    CS_FIELD_END,
};
/* clang-format on */

void cs_read_scenario(cs_reading *r, json_t *tree, cs_case *c)
{
    cs_place root = cs_place_root(tree);

    cs_fields_default(cs_scenario_fields, c);
    (void)cs_read_fields(r, &root, cs_scenario_fields, c);
}
