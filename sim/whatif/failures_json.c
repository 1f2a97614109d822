/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What fails in a job of days, from JSON: see whatif/outages.h and whatif/whatif_json.h.
 *
 * Presets have what was published of real fleets; what was not is an assumption, and
 * sim/doc/failures.md says which is which. */
#include "whatif/failures.h"
#include "whatif/whatif_json.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_sf_gamma.h>
#include <math.h>
#include <string.h>

#define COUNT(list) (sizeof(list) / sizeof(list)[0])

#define DAY_S       86400.0
#define MAX_LASTS_S 1e12
#define MAX_TRIALS  1e6
#define LEAST_SHAPE 0.2
#define MAX_SHAPE   100.0
#define MAX_FACTOR  1e9
#define MAX_OUTAGES 1e6 /* of a trial, expected */
#define MAX_NODES   1e7 /* of a fleet, whose faults are listed by node */
#define MAX_SERVERS 65535u
#define MAX_CAUSES  64
#define NOT_GIVEN   (double)NAN

/* ---- presets ---- */

/* 16,384 H100 in servers of 8, 54 days, 419 unexpected interruptions, by cause. Software is counted
 * per server, so that a smaller job has fewer of its failures. */
#define LLAMA3_DAYS 54.0
static const cs_failure_cause llama3[] = {
    {"GPU and its memory", CS_TAKES_GPU, 16384 * LLAMA3_DAYS / 268 * DAY_S, 1, DAY_S, 1},
    {"NIC, switch or cable", CS_TAKES_NIC, 16384 * LLAMA3_DAYS / 42 * DAY_S, 1, DAY_S, 1},
    {"rest of the server", CS_TAKES_SERVER, 2048 * LLAMA3_DAYS / 46 * DAY_S, 1, DAY_S, 1},
    {"software", CS_TAKES_SERVER, 2048 * LLAMA3_DAYS / 63 * DAY_S, 1, 0, 1},
};

/* 400 servers, 348 days: 70 faults of NICs and cables, 514 others. Servers of eight NICs. */
#define HBD_SERVER_DAYS (400 * 348.0)
static const cs_failure_cause infinitehbd[] = {
    {"NIC or cable", CS_TAKES_NIC, 8 * HBD_SERVER_DAYS / 70 * DAY_S, 1, 7.424 * DAY_S, 0.48},
    {"rest of the server", CS_TAKES_SERVER, HBD_SERVER_DAYS / 514 * DAY_S, 1, 5.278 * DAY_S, 0.43},
};

typedef struct preset {
    const char             *name, *source;
    const cs_failure_cause *causes;
    size_t                  n;
} preset;

#define PRESET_NAMES "none|llama3|infinitehbd"
static const preset presets[] = {
    {NULL, NULL, NULL, 0},
    {"llama3",
     "Llama Team, \"The Llama 3 Herd of Models\", arXiv:2407.21783, 2024, table 5; "
     "repairs of a day are assumed",
     llama3, COUNT(llama3)},
    {"infinitehbd",
     "C. Shou et al., \"InfiniteHBD\", SIGCOMM 2025, its fault trace; eight NICs a "
     "server are assumed",
     infinitehbd, COUNT(infinitehbd)},
};

/* ---- keys ---- */

typedef struct history_keys {
    const char  *file;
    uint32_t     nodes;    /* 0: those that are named */
    double       length_s; /* NAN: to the last event */
    const char **nics, **ignored;
    size_t       n_nics, n_ignored;
    bool         has_nics; /* a list of them, which may be empty */
    int          pick;
    bool         predicts;
} history_keys;

typedef struct failure_keys {
    int               preset;
    cs_failure_cause *causes;
    size_t            n_causes;
    double           *mtbf_factors, *mttr_factors;
    size_t            n_mtbf_factors, n_mttr_factors;
    history_keys      history;
    cs_failures       failures;
} failure_keys;

/* Classes of faults that take a NIC where nothing else is said. */
static const char *const usual_nics[] = {"NIC", "Parameter Plane Cable"};

/* clang-format off */
#define LASTS(field, key, ...) \
    CS_KEY(cs_failure_cause, field, key, .unit = CS_UNIT_TIME, .max = MAX_LASTS_S, __VA_ARGS__)
static const cs_field cause_fields[] = {
    CS_KEY(cs_failure_cause, name, "name", .help = "for people"),
    CS_KEY(cs_failure_cause, takes, "takes", .choices = "nic|gpu|server|job", .is_required = true,
           .help = "what fails; a GPU takes its server with it"),
    LASTS(mtbf_s, "mtbf", .is_above = true, .is_required = true, .help = "mean time until one of them fails, from the begin or its repair on"),
    CS_KEY(cs_failure_cause, shape, "shape", .fallback = 1, .min = LEAST_SHAPE, .max = MAX_SHAPE,
           .help = "of that time's Weibull distribution; 1: exponential"),
    LASTS(mttr_s, "mttr", .fallback = 0, .help = "mean time to repair it; 0: it is whole again at once"),
    CS_KEY(cs_failure_cause, repair_shape, "repair_shape", .fallback = 1, .min = LEAST_SHAPE, .max = MAX_SHAPE,
           .help = "of that time's Weibull distribution; 1: exponential"),
    CS_FIELD_END,
};
static const cs_field a_cause[] = {
    {.name = "cause", .type = CS_FIELD_OBJECT, .fields = cause_fields}, CS_FIELD_END};
static const cs_field a_factor[] = {
    {.name = "factor", .type = CS_FIELD_F64, .max = MAX_FACTOR, .is_above = true}, CS_FIELD_END};
static const cs_field a_word[] = {{.name = "word", .type = CS_FIELD_TEXT}, CS_FIELD_END};
static const cs_field history_fields[] = {
    CS_KEY_OF(CS_FIELD_FILE, history_keys, file, "file", .is_required = true,
              .help = "what was recorded of a fleet, relative to the configuration"),
    CS_KEY(history_keys, nodes, "nodes", .max = MAX_NODES, .has_null = true, .help = "servers of the fleet; null: those that are named"),
    CS_KEY(history_keys, length_s, "length", .unit = CS_UNIT_TIME, .is_above = true, .max = MAX_LASTS_S, .fallback = NOT_GIVEN,
           .has_null = true, .help = "of the record; null: to its last event"),
    CS_KEY_LIST(history_keys, nics, n_nics, "nics", a_word, .max = 1000, .help = "classes and descriptions of faults of a NIC; others take the server"),
    CS_KEY_LIST(history_keys, ignored, n_ignored, "ignore", a_word, .max = 1000, .help = "those that are no fault"),
    CS_KEY(history_keys, pick, "pick", .choices = "resample|blocks", .help = "servers at random for every trial, or every server once"),
    CS_KEY(history_keys, predicts, "predict", .max = 1, .help = "the second half from the first"),
    CS_FIELD_END,
};
const cs_field cs_failures_fields[] = {
    CS_KEY(failure_keys, failures.duration_s, "duration", .unit = CS_UNIT_TIME, .is_above = true, .max = MAX_LASTS_S,
           .fallback = NOT_GIVEN, .has_null = true, .help = "of the job, for each trial; null: of the history"),
    CS_KEY(failure_keys, failures.trials, "trials", .fallback = 1000, .min = 1, .max = MAX_TRIALS,
           .help = "histories of failures that are drawn"),
    CS_KEY(failure_keys, failures.confidence, "confidence", .fallback = 0.95, .min = 0.5, .max = 0.9999,
           .help = "of intervals"),
    CS_KEY(failure_keys, preset, "preset", .choices = PRESET_NAMES, .help = "causes of a fleet of which they were published"),
    CS_KEY_LIST(failure_keys, causes, n_causes, "causes", a_cause, .min = 1, .max = MAX_CAUSES,
                .help = "why something fails, how often and for how long"),
    {.name = "history", .type = CS_FIELD_OBJECT, .fields = history_fields, .offset = offsetof(failure_keys, history),
     .help = "what was recorded, instead of causes"},
    CS_KEY(failure_keys, failures.nics, "nics", .max = CS_MAX_SERVER_NICS, .has_null = true,
           .help = "of a server; null: one for every GPU that has its own"),
    CS_KEY_OF(CS_FIELD_CHOICE, failure_keys, failures.failover, "failover", .choices = "pool|neighbour|none",
              .help = "of a dead NIC: all GPUs of the server share what is left; its GPUs use the next NIC; or the server is down"),
    CS_KEY(failure_keys, failures.recovery, "recovery", .choices = "exclude|wait|spare",
           .help = "from a server that is down, of policies that answer dead NICs only"),
    CS_KEY(failure_keys, failures.checkpoint_s, "checkpoint_cost", .unit = CS_UNIT_TIME, .max = MAX_LASTS_S,
           .help = "how long the job stops to write a checkpoint"),
    CS_KEY_LIST(failure_keys, mtbf_factors, n_mtbf_factors, "mtbf_factors", a_factor, .min = 1, .max = 1000,
                .help = "what every mtbf is multiplied by, one table for each"),
    CS_KEY_LIST(failure_keys, mttr_factors, n_mttr_factors, "mttr_factors", a_factor, .min = 1, .max = 1000,
                .help = "what every mttr is multiplied by, one table for each"),
    CS_FIELD_END,
};
/* clang-format on */

/* The causes: of a preset, or one's own. */
static void choose_causes(cs_reading *r, const cs_place *place, failure_keys *keys)
{
    const preset *p        = &presets[keys->preset];
    cs_place      duration = cs_place_get(place, "duration");
    int           n        = (p->n > 0) + (keys->n_causes > 0) + (keys->history.file != NULL);

    if (n != 1) {
        CS_REFUSE(r, place, CS_EINVAL, "accepted is one of 'causes', 'preset' and 'history'");
        return;
    }
    if (isnan(keys->failures.duration_s) && keys->history.file == NULL) {
        if (duration.node != NULL) {
            CS_REFUSE(r, &duration, CS_EINVAL, "is null: accepted is a time, without a 'history'");
        }
        cs_read_required(r, place, "duration");
        return;
    }
    for (size_t i = 0; i < keys->n_causes; i++) {
        cs_failure_cause *cause = &keys->causes[i];
        if (cause->name == NULL || cause->name[0] == '\0') {
            cause->name = cs_failure_takes_name((cs_failure_takes)cause->takes);
        }
        if (cause->takes == CS_TAKES_JOB && cause->mttr_s > 0) {
            cs_place causes = cs_place_get(place, "causes"), item = cs_place_item(&causes, i);
            CS_REFUSE(r, &item, CS_EINVAL,
                      "takes the job and nothing that needs a repair: accepted is no 'mttr'");
            return;
        }
    }
    keys->failures.preset   = p->name;
    keys->failures.source   = p->source;
    keys->failures.causes   = p->n > 0 ? p->causes : keys->causes;
    keys->failures.n_causes = p->n > 0 ? p->n : keys->n_causes;
}

/* ---- a history ---- */

static bool is_among(const cs_fault_type *type, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(words[i], type->class_name) == 0 || strcmp(words[i], type->description) == 0) {
            return true;
        }
    }
    return false;
}

/* Every word must be one of the file. */
static void check_words(cs_reading *r, const cs_place *place, const char *key, const char **words,
                        size_t n, const cs_fault_history *history)
{
    cs_place list = cs_place_get(place, key);

    for (size_t i = 0; i < n && !cs_reading_failed(r); i++) {
        bool is_there = false;
        for (size_t t = 0; t < history->n_types && !is_there; t++) {
            is_there = is_among(&history->types[t], &words[i], 1);
        }
        cs_place item = cs_place_item(&list, i);
        if (!is_there) {
            CS_REFUSE(r, &item, CS_EINVAL, "'%.60s' is no Class and no Desc of the history",
                      words[i]);
        }
    }
}

/* What each type of fault takes; NULL: out of memory. */
static const uint8_t *sort_types(cs_arena *arena, const history_keys *keys,
                                 const cs_fault_history *history)
{
    uint8_t           *takes    = CS_ARENA_NEW(arena, uint8_t, history->n_types);
    bool               is_usual = !keys->has_nics;
    const char *const *nics     = is_usual ? usual_nics : keys->nics;
    size_t             n_nics   = is_usual ? COUNT(usual_nics) : keys->n_nics;

    for (size_t t = 0; takes != NULL && t < history->n_types; t++) {
        const cs_fault_type *type = &history->types[t];
        takes[t]                  = is_among(type, keys->ignored, keys->n_ignored) ? CS_TAKES_KINDS
                                    : is_among(type, nics, n_nics)                 ? CS_TAKES_NIC
                                                                   : CS_TAKES_SERVER;
    }
    return takes;
}

static void check_fleet(cs_reading *r, const cs_place *place, cs_whatif_job *job)
{
    cs_failures *f       = &job->failures;
    cs_recorded *rec     = &f->recorded;
    uint32_t     servers = cs_n_servers(&job->call.scenario.cluster) + job->spares;
    cs_place     nodes = cs_place_get(place, "nodes"), length = cs_place_get(place, "length");

    f->duration_s = isnan(f->duration_s) ? rec->length_s : f->duration_s;
    if (rec->n_nodes < job->history.n_nodes) {
        CS_REFUSE(r, &nodes, CS_EINVAL, "%u: the history names %zu", rec->n_nodes,
                  job->history.n_nodes);
    } else if (rec->length_s < job->history.end_s || !(rec->length_s > 0)) {
        CS_REFUSE(r, &length, CS_EINVAL, "%.6g s: the last event is at %.6g s", rec->length_s,
                  job->history.end_s);
    } else if (f->duration_s > rec->length_s) {
        CS_REFUSE(r, place, CS_EINVAL, "is of %.6g s: accepted is a 'duration' of at most that",
                  rec->length_s);
    } else if ((rec->pick == CS_PICK_BLOCKS || rec->predicts) && rec->n_nodes < servers) {
        CS_REFUSE(r, place, CS_EINVAL,
                  "is of %u servers, fewer than the job and its spares, %u: accepted is \"pick\": "
                  "\"resample\" without 'predict'",
                  rec->n_nodes, servers);
    }
}

static void read_history(cs_reading *r, const cs_place *place, history_keys *keys,
                         cs_whatif_job *job)
{
    cs_recorded      *rec = &job->failures.recorded;
    cs_fault_history *h   = &job->history;

    keys->has_nics = cs_place_get(place, "nics").node != NULL;
    if (cs_fault_history_load(keys->file, h, &r->error) != CS_OK) {
        return;
    }
    check_words(r, place, "nics", keys->nics, keys->n_nics, h);
    check_words(r, place, "ignore", keys->ignored, keys->n_ignored, h);
    *rec = (cs_recorded){.path     = keys->file,
                         .takes    = sort_types(r->arena, keys, h),
                         .n_nodes  = keys->nodes > 0 ? keys->nodes : (uint32_t)h->n_nodes,
                         .length_s = isnan(keys->length_s) ? h->end_s : keys->length_s,
                         .pick     = keys->pick,
                         .predicts = keys->predicts};
    if (rec->takes == NULL) {
        CS_REFUSE_MEMORY(r, place, "a history of faults");
    } else if (!cs_reading_failed(r)) {
        check_fleet(r, place, job);
    }
}

/* What k dead NICs of a server leave of it, which stand side by side: with `neighbour` their GPUs
 * then crowd onto one NIC, and the server is as slow as these. */
static double slowdown_of(const cs_failures *f, const cs_cluster *c, uint32_t k, cs_arena *arena,
                          cs_error *err)
{
    cs_fault     faults[CS_MAX_SERVER_NICS];
    cs_capacity *steps = NULL;
    size_t       n     = 0, wrong;

    if (k == f->nics || (f->failover == CS_FAILOVER_NONE && k > 0)) {
        return (double)INFINITY;
    }
    if (f->failover == CS_FAILOVER_POOL || k == 0) {
        return f->nics / (double)(f->nics - k);
    }
    for (uint32_t i = 0; i < k; i++) {
        faults[i] = (cs_fault){.kind     = CS_FAULT_slowdown,
                               .value    = (double)INFINITY,
                               .is_nic   = true,
                               .nic      = i,
                               .failover = f->failover,
                               .capacity = {0, (double)INFINITY, 0, (double)INFINITY, false}};
    }
    return cs_faults_merge(c, faults, k, CS_MAY_LOSE_SERVERS, arena, &steps, &n, &wrong, err) ==
                       CS_OK &&
                   n > 0
               ? steps[0].slowdown
               : 1;
}

static void find_slowdowns(cs_reading *r, const cs_place *place, cs_failures *f,
                           const cs_cluster *c)
{
    cs_error wrong = {0};

    for (uint32_t k = 0; k <= f->nics && !cs_reading_failed(r); k++) {
        f->slowdowns[k] = slowdown_of(f, c, k, r->arena, &wrong);
        if (wrong.status != CS_OK) {
            CS_REFUSE(r, place, wrong.status, "%s", wrong.message);
        }
    }
}

/* Servers that are alike, with so many NICs. */
static void check_servers(cs_reading *r, const cs_place *place, cs_failures *f, const cs_cluster *c)
{
    cs_place nics = cs_place_get(place, "nics");
    uint32_t own  = cs_n_nics(c, 0);

    if (!cs_is_even(c) || c->servers != NULL) {
        CS_REFUSE(r, place, CS_ENOTSUP, "servers differ: accepted are servers that are alike");
    } else if (cs_n_servers(c) < 2 || cs_n_servers(c) > MAX_SERVERS) {
        CS_REFUSE(r, place, CS_EINVAL, "%u servers: accepted are 2 to %u", cs_n_servers(c),
                  MAX_SERVERS);
    } else if (f->nics == 0 && own > CS_MAX_SERVER_NICS) {
        CS_REFUSE(r, &nics, CS_ENOTSUP, "a server has %u NICs: accepted are up to %u", own,
                  CS_MAX_SERVER_NICS);
    }
    if (!cs_reading_failed(r) && f->failover != CS_FAILOVER_POOL && f->nics > 0 && f->nics != own) {
        CS_REFUSE(r, &nics, CS_EINVAL, "%u: with this failover it is %u, as the cluster has them",
                  f->nics, own);
    }
    f->nics = f->nics > 0 ? f->nics : own;
    find_slowdowns(r, place, f, c);
}

/* Refuse what would take for ever. */
/* Failures of a component in so long a time, at least and up to a factor of two: renewals N with
 * E N + 1 >= t / E min(X, t). A shape below one brings more of them early on than 1 / mtbf says.
 * Source: K. B. Erickson, "The strong law of large numbers when the mean is undefined", Trans. AMS
 * 185 (1973), lemma 1. */
static double least_failures(const cs_failure_cause *cause, double mtbf_s, double duration_s)
{
    double scale_s = mtbf_s / gsl_sf_gamma(1 + 1 / cause->shape);
    double part    = gsl_cdf_gamma_P(pow(duration_s / scale_s, cause->shape), 1 / cause->shape, 1);

    return fmax(duration_s / mtbf_s, duration_s / (mtbf_s * part) - 1);
}

static void check_amount(cs_reading *r, const cs_place *place, const cs_whatif_job *job)
{
    const cs_failures *f       = &job->failures;
    const cs_cluster  *c       = &job->call.scenario.cluster;
    double             outages = 0, least = 1;
    cs_fleet           fleet = {.gpus = c->gpus_per_server, .nics = f->nics};

    for (size_t i = 0; i < f->n_mtbf_factors; i++) {
        least = i == 0 ? f->mtbf_factors[0] : fmin(least, f->mtbf_factors[i]);
    }
    for (size_t i = 0; i < f->n_causes; i++) {
        double servers = f->causes[i].takes == CS_TAKES_JOB ? 1 : cs_n_servers(c) + job->spares;
        outages += least_failures(&f->causes[i], f->causes[i].mtbf_s * least, f->duration_s) *
                   servers * cs_cause_components(&f->causes[i], &fleet);
    }
    if (outages > MAX_OUTAGES) {
        CS_REFUSE(r, place, CS_EINVAL, "%.3g failures a trial are expected: accepted are %.3g",
                  outages, MAX_OUTAGES);
    }
}

void cs_read_failures(cs_reading *r, const cs_place *place, const cs_field *row, void *object)
{
    cs_whatif_job *job  = object;
    failure_keys   keys = {.preset = 0};

    cs_fields_default(row->fields, &keys);
    if (place->node == NULL || !cs_read_fields(r, place, row->fields, &keys)) {
        return;
    }
    choose_causes(r, place, &keys);
    job->failures                = keys.failures;
    job->failures.is_there       = true;
    job->failures.mtbf_factors   = keys.mtbf_factors;
    job->failures.n_mtbf_factors = keys.n_mtbf_factors;
    job->failures.mttr_factors   = keys.mttr_factors;
    job->failures.n_mttr_factors = keys.n_mttr_factors;
    if (!cs_reading_failed(r)) {
        check_servers(r, place, &job->failures, &job->call.scenario.cluster);
    }
    cs_place history = cs_place_get(place, "history");
    bool     varies  = keys.n_mtbf_factors + keys.n_mttr_factors > 0;
    if (keys.history.file != NULL && varies && !cs_reading_failed(r)) {
        CS_REFUSE(r, &history, CS_EINVAL, "has no 'mtbf_factors' and 'mttr_factors'");
    }
    if (keys.history.file != NULL && !cs_reading_failed(r)) {
        read_history(r, &history, &keys.history, job);
    }
}

void cs_check_failures(cs_reading *r, const cs_place *root, const cs_whatif_job *job)
{
    static const char *const others[] = {"faults", "bandwidth_trace", "interference", "profile",
                                         "death"};
    const cs_failures       *f        = &job->failures;
    cs_place                 jobs     = cs_place_get(root, "job");
    cs_place                 place    = cs_place_get(root, "failures");
    double settings = fmax(1, (double)f->n_mtbf_factors) * fmax(1, (double)f->n_mttr_factors);

    if (cs_reading_failed(r)) {
        return;
    }
    if (!f->is_there) {
        cs_read_required(r, &jobs, "iterations");
        return;
    }
    for (size_t i = 0; i < COUNT(others) && !cs_reading_failed(r); i++) {
        cs_place other = cs_place_get(root, others[i]);
        if (other.node != NULL) {
            CS_REFUSE(r, &other, CS_EINVAL, "does not go with 'failures'");
        }
    }
    cs_place compute = cs_place_get(&jobs, "compute");
    if (!(job->compute_s > 0) && !cs_reading_failed(r)) {
        CS_REFUSE(r, &compute, CS_EINVAL, "0 s: accepted with 'failures' is more");
    }
    cs_place horizon = cs_place_get(&jobs, "horizon");
    if (horizon.node != NULL && !cs_reading_failed(r)) {
        CS_REFUSE(r, &horizon, CS_EINVAL, "does not go with 'failures', which have a 'duration'");
    }
    if (!cs_reading_failed(r) &&
        settings * (double)f->trials * (double)job->n_policies > CS_MAX_COURSES) {
        CS_REFUSE(r, &place, CS_EINVAL,
                  "%.3g trials of all policies and factors: accepted are %.3g",
                  settings * (double)f->trials * (double)job->n_policies, CS_MAX_COURSES);
    }
    if (!cs_reading_failed(r)) {
        check_amount(r, &place, job);
    }
}
