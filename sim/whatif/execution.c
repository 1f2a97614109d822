/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "whatif/execution.h"

#include "base/alloc.h"
#include "base/random.h"
#include "campaign/chosen_algorithms.h"
#include "campaign/trial.h"
#include "scenario/scenario_json.h"
#include "scenario/subset.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_KNOWN = 1 << 22 /* numbers in arrivals that are kept */ };

#define MESSAGE_ALGORITHM "binomial" /* a Broadcast to one rank is one transfer */
#define SAME_RATIO        1e-12

/* What calls of one sort have in common: a group, a collective, a size, a root. */
typedef struct call_shape {
    cs_scenario     scenario;
    const uint32_t *ranks; /* [scenario.cluster.n_ranks] */
    uint32_t        group; /* UINT32_MAX: two ranks of messages */
    uint64_t        bytes;
    uint32_t        src, dst; /* of messages; of calls root, 0 */
    uint8_t         collective;
} call_shape;

/* One shape under one algorithm and prediction. */
typedef struct runner {
    bool      is_tried, is_open;
    cs_case   c; /* of the algorithm, with the scenario of the shape; owns nothing */
    cs_trials trials;
    cs_error  refusal;
} runner;

/* A call that has been timed: its arrivals follow in `known_s`. */
typedef struct known_call {
    uint64_t hash;
    size_t   first;
    uint32_t shape, line;
    double   elapsed_s;
} known_call;

enum { LINE_FREE = -1, LINE_BOUND = -2 }; /* calls take no time, or their bound */

typedef struct study {
    cs_config                  *config;
    const cs_execution_options *options;
    cs_execution_report        *report;
    cs_execution_trace         *trace;
    const char                 *baseline; /* NULL: the default of each group */
    cs_chosen_algorithms        chosen;
    cs_case                    *cases; /* [n_names]; owned */
    bool                        has_windows;
    double                     *start_s;                         /* [n_ranks] or NULL */
    call_shape                 *shapes;                          /* owned */
    size_t             n_shapes, n_call_shapes, shapes_capacity; /* those of calls come first */
    uint32_t          *shape_of_call, *shape_of_message;
    cs_scenario       *group_scenarios; /* [n_groups] */
    cs_execution_line *lines;
    size_t            *algorithm_of; /* [n_lines] into names; baseline lines: see below */
    size_t             n_lines;
    runner            *runners; /* [n_lines][n_call_shapes], then [n_shapes]: defaults, messages */
    known_call        *known;   /* a hash table of a power of two */
    size_t             n_known, known_slots;
    double            *known_s;
    size_t             n_known_s, known_s_capacity;
    long               line;     /* that runs */
    uint32_t           presumed; /* of static predictions; UINT32_MAX: nobody */
    uint32_t          *own;      /* calls of the line's own algorithm */
    double            *zeros;
} study;

static cs_status no_memory(cs_error *err)
{
    return CS_NO_MEMORY(err, "a what-if on an execution trace");
}

/* ---- the trace, its ranks and the algorithms ---- */

/* Every algorithm, so that every option belongs to one. */
static cs_status sweep_all(study *s, cs_error *err)
{
    cs_chosen_algorithms all = {.n = 0};

    CS_TRY(cs_chosen_algorithms_add_all(&all, UINT32_MAX, err));
    return cs_chosen_algorithms_sweep(&all, s->config, err);
}

/* How many ranks the cluster has as it is described. */
static cs_status count_ranks(const study *s, uint32_t *n_p, cs_error *err)
{
    cs_case c = {0};

    CS_TRY(cs_config_case(s->config, 0, &c, err));
    *n_p = c.job.scenario.cluster.n_ranks;
    cs_case_free(&c);
    return CS_OK;
}

/* The trace, with as many ranks as the configuration says, or as there are files; one file alone is
 * for all ranks of the cluster. */
static cs_status load_trace(study *s, cs_error *err)
{
    const cs_execution_options *o       = s->options;
    bool                        is_said = cs_config_has(s->config, "cluster.ranks");
    uint32_t                    n_ranks = 0;
    cs_error                    missing = {0};
    char                        text[16];

    if (cs_config_count(s->config) != 1) {
        return CS_FAIL(err, CS_EINVAL, "sweep", "a what-if on a trace takes one scenario");
    }
    CS_TRY(sweep_all(s, err));
    if (is_said) {
        CS_TRY(count_ranks(s, &n_ranks, err));
    }
    cs_status status =
        cs_execution_trace_load(o->paths, o->n_paths, o->groups_path, n_ranks, s->trace, &missing);
    if (status == CS_EINVAL && !is_said && strcmp(missing.where, "--ranks") == 0) {
        missing = (cs_error){0};
        CS_TRY(count_ranks(s, &n_ranks, err));
        status = cs_execution_trace_load(o->paths, o->n_paths, o->groups_path, n_ranks, s->trace,
                                         &missing);
    }
    if (status != CS_OK) {
        if (err != NULL) {
            *err = missing;
        }
        return status;
    }
    (void)snprintf(text, sizeof text, "%u", s->trace->n_ranks);
    return cs_config_set(s->config, "cluster.ranks", text, "--trace", err);
}

/* The baseline, then what is asked for, or all that know a collective of the trace. */
static cs_status choose_algorithms(study *s, cs_error *err)
{
    uint32_t used = 0;

    for (uint32_t i = 0; i < s->trace->n_calls; i++) {
        used |= 1u << s->trace->calls[i].collective;
    }
    CS_TRY(cs_chosen_algorithms_add(&s->chosen, MESSAGE_ALGORITHM, "", err));
    if (s->baseline != NULL) {
        CS_TRY(cs_chosen_algorithms_add(&s->chosen, s->baseline, "--baseline", err));
    }
    for (size_t i = 0; i < s->options->n_algorithms; i++) {
        CS_TRY(cs_chosen_algorithms_add(&s->chosen, s->options->algorithms[i], "--algorithm", err));
    }
    if (s->options->n_algorithms == 0) {
        return cs_chosen_algorithms_add_all(&s->chosen, used, err);
    }
    return CS_OK;
}

/* The default of a call's group. */
static const char *default_of(const study *s, const cs_scenario *all, uint32_t number)
{
    const cs_work_call *call = &s->trace->calls[number];
    const cs_scenario  *part = &s->group_scenarios[call->group];

    return cs_default_algorithm(part->cluster.n_ranks > 1 ? &part->cluster : &all->cluster,
                                (cs_collective)call->collective);
}

/* "nccl_rings and ring" */
static cs_status name_defaults(study *s, const cs_scenario *all, cs_error *err)
{
    const char *seen[CS_COLLECTIVE_COUNT * 4];
    size_t      n    = 0;
    cs_text     text = {0};

    for (uint32_t i = 0; i < s->trace->n_calls && n < sizeof seen / sizeof seen[0]; i++) {
        const char *name = default_of(s, all, i);
        size_t      k    = 0;
        while (k < n && strcmp(seen[k], name) != 0) {
            k++;
        }
        if (k == n) {
            seen[n++] = name;
            cs_text_add(&text, "%s%s", text.length > 0 ? ", " : "", name);
        }
    }
    cs_status status = cs_text_status(&text, err);
    if (status == CS_OK && text.length > 0) { /* no calls, no defaults */
        s->report->defaults = cs_arena_strdup(&s->report->arena, text.data);
        status              = s->report->defaults != NULL ? CS_OK : no_memory(err);
    }
    cs_text_free(&text);
    return status;
}

/* Defaults of groups that nobody asked for. One for all is the baseline as if it had been asked
 * for. */
static cs_status add_defaults(study *s, const cs_scenario *all, cs_error *err)
{
    const char *one       = NULL;
    bool        are_alike = true;

    for (uint32_t i = 0; i < s->trace->n_calls; i++) {
        const char *name = default_of(s, all, i);
        CS_TRY(cs_chosen_algorithms_add(&s->chosen, name, "", err));
        are_alike = are_alike && (one == NULL || strcmp(one, name) == 0);
        one       = name;
    }
    if (s->baseline == NULL && are_alike) {
        s->baseline = one;
    }
    return s->baseline == NULL ? name_defaults(s, all, err) : CS_OK;
}

static cs_status build_cases(study *s, cs_error *err)
{
    CS_TRY(cs_chosen_algorithms_sweep(&s->chosen, s->config, err));
    s->cases = CS_NEW(cs_case, s->chosen.n);
    if (s->cases == NULL) {
        return no_memory(err);
    }
    for (size_t i = 0; i < s->chosen.n; i++) {
        CS_TRY(cs_config_case(s->config, i, &s->cases[i], err));
        s->cases[i].job.verify = false;
    }
    return CS_OK;
}

/* When ranks begin, and whether faults come and go. */
static cs_status read_scenario(study *s, const cs_scenario *all, cs_error *err)
{
    uint32_t n = s->trace->n_ranks;

    s->has_windows   = !cs_capacity_is_constant(all);
    s->report->model = s->cases[0].job.model->name;
    s->report->has_shared_links =
        all->cluster.topology != NULL || all->cluster.nic_sharers > 1 || all->cluster.nics != NULL;
    s->report->late_rank = UINT32_MAX;
    s->zeros             = CS_ARENA_NEW(&s->report->arena, double, n);
    if (s->zeros == NULL) {
        return no_memory(err);
    }
    if (all->arrival_s == NULL || cs_last_arrival(all) <= 0) {
        return CS_OK;
    }
    s->start_s = CS_ARENA_NEW(&s->report->arena, double, n);
    if (s->start_s == NULL) {
        return no_memory(err);
    }
    memcpy(s->start_s, all->arrival_s, n * sizeof *s->start_s);
    s->report->late_rank = cs_last_rank(all);
    s->report->late_s    = cs_last_arrival(all);
    return CS_OK;
}

/* ---- shapes ---- */

static cs_status scenarios_of_groups(study *s, const cs_scenario *all, cs_error *err)
{
    const cs_execution_trace *t = s->trace;

    s->group_scenarios = CS_ARENA_NEW(&s->report->arena, cs_scenario, (size_t)t->n_groups + 1);
    if (s->group_scenarios == NULL) {
        return no_memory(err);
    }
    for (uint32_t g = 0; g < t->n_groups; g++) {
        if (t->groups[g].n_ranks > 1) {
            CS_TRY(cs_scenario_subset(all, t->groups[g].ranks, t->groups[g].n_ranks,
                                      &s->report->arena, &s->group_scenarios[g], err));
        }
    }
    return CS_OK;
}

static bool is_same(const call_shape *a, const call_shape *b)
{
    return a->group == b->group && a->bytes == b->bytes && a->src == b->src && a->dst == b->dst &&
           a->collective == b->collective;
}

/* The number of a shape; added where it is new. `table` has slots, 0: free. */
static cs_status intern(study *s, const call_shape *wanted, uint32_t *table, size_t slots,
                        uint32_t *number_p, bool *is_new_p, cs_error *err)
{
    uint64_t hash = cs_mix64(wanted->bytes ^ cs_mix64((uint64_t)wanted->group << 32 | wanted->src) ^
                             cs_mix64((uint64_t)wanted->dst << 8 | wanted->collective));
    size_t   at   = (size_t)hash & (slots - 1);

    while (table[at] != 0 && !is_same(&s->shapes[table[at] - 1], wanted)) {
        at = (at + 1) & (slots - 1);
    }
    *is_new_p = table[at] == 0;
    if (*is_new_p) {
        if (!cs_grow(&s->shapes, &s->shapes_capacity, s->n_shapes + 1, 16, sizeof *s->shapes)) {
            return no_memory(err);
        }
        s->shapes[s->n_shapes++] = *wanted;
        table[at]                = (uint32_t)s->n_shapes;
    }
    *number_p = table[at] - 1;
    return CS_OK;
}

static cs_status add_call_shape(study *s, uint32_t call, uint32_t *table, size_t slots,
                                cs_error *err)
{
    const cs_work_call  *c      = &s->trace->calls[call];
    const cs_work_group *g      = &s->trace->groups[c->group];
    bool                 rooted = c->collective == CS_BROADCAST || c->collective == CS_REDUCE;
    call_shape           wanted = {.group      = c->group,
                                   .bytes      = c->bytes,
                                   .collective = c->collective,
                                   .src        = rooted ? c->root : 0,
                                   .ranks      = g->ranks};
    bool                 is_new = false;

    CS_TRY(intern(s, &wanted, table, slots, &s->shape_of_call[call], &is_new, err));
    if (!is_new || g->n_ranks < 2 || c->bytes == 0) {
        return CS_OK;
    }
    cs_scenario *scenario = &s->shapes[s->n_shapes - 1].scenario;
    *scenario             = s->group_scenarios[c->group];
    scenario->collective  = (cs_collective)c->collective;
    scenario->bytes       = c->bytes;
    for (uint32_t i = 0; i < g->n_ranks && rooted; i++) {
        scenario->root = g->ranks[i] == c->root ? i : scenario->root;
    }
    return CS_OK;
}

static cs_status add_message_shape(study *s, const cs_scenario *all, uint32_t message,
                                   uint32_t *table, size_t slots, cs_error *err)
{
    const cs_work_message *m       = &s->trace->messages[message];
    call_shape             wanted  = {.group      = UINT32_MAX,
                                      .bytes      = m->bytes > 0 ? m->bytes : 1,
                                      .collective = CS_BROADCAST,
                                      .src        = m->src,
                                      .dst        = m->dst};
    bool                   is_new  = false;
    uint32_t               low     = m->src < m->dst ? m->src : m->dst;
    uint32_t               pair[2] = {low, low == m->src ? m->dst : m->src};

    CS_TRY(intern(s, &wanted, table, slots, &s->shape_of_message[message], &is_new, err));
    if (!is_new || m->src == m->dst) {
        return CS_OK;
    }
    cs_scenario *scenario = &s->shapes[s->n_shapes - 1].scenario;
    CS_TRY(cs_scenario_subset(all, pair, 2, &s->report->arena, scenario, err));
    scenario->arrival_s  = NULL;
    scenario->collective = CS_BROADCAST;
    scenario->bytes      = wanted.bytes;
    scenario->root       = low == m->src ? 0 : 1;
    return CS_OK;
}

static cs_status find_shapes(study *s, const cs_scenario *all, cs_error *err)
{
    const cs_execution_trace *t     = s->trace;
    size_t                    slots = 64;

    while (slots < 2 * ((size_t)t->n_calls + t->n_messages)) {
        slots *= 2;
    }
    uint32_t *table     = CS_NEW(uint32_t, slots);
    s->shape_of_call    = CS_ARENA_NEW(&s->report->arena, uint32_t, (size_t)t->n_calls + 1);
    s->shape_of_message = CS_ARENA_NEW(&s->report->arena, uint32_t, (size_t)t->n_messages + 1);
    cs_status status    = table == NULL || s->shape_of_call == NULL || s->shape_of_message == NULL
                              ? no_memory(err)
                              : CS_OK;
    for (uint32_t i = 0; i < t->n_calls && status == CS_OK; i++) {
        status = add_call_shape(s, i, table, slots, err);
    }
    s->n_call_shapes = s->n_shapes;
    for (uint32_t i = 0; i < t->n_messages && status == CS_OK; i++) {
        status = add_message_shape(s, all, i, table, slots, err);
    }
    cs_free(table);
    return status;
}

/* ---- lines ---- */

static void add_line(study *s, size_t algorithm, cs_prediction policy, bool is_baseline,
                     const char *name)
{
    s->lines[s->n_lines] = (cs_execution_line){
        .algorithm = name, .policy = policy, .is_baseline = is_baseline, .is_available = true};
    s->algorithm_of[s->n_lines] = algorithm;
    s->n_lines++;
}

static bool is_asked_for(const study *s, const char *name, uint32_t used)
{
    bool is = s->options->n_algorithms == 0;

    for (size_t i = 0; i < s->options->n_algorithms; i++) {
        is = is || strcmp(s->options->algorithms[i], name) == 0;
    }
    const cs_algorithm *algorithm = NULL;
    return is && cs_algorithm_find(name, &algorithm, NULL) == CS_OK &&
           (s->options->n_algorithms > 0 || (algorithm->collectives & used) != 0);
}

/* Line 0 is the baseline; the last, where there are others, is hindsight. */
static cs_status make_lines(study *s, cs_error *err)
{
    uint32_t used = 0;

    s->lines        = CS_ARENA_NEW(&s->report->arena, cs_execution_line, 2 * s->chosen.n + 2);
    s->algorithm_of = CS_ARENA_NEW(&s->report->arena, size_t, 2 * s->chosen.n + 2);
    if (s->lines == NULL || s->algorithm_of == NULL) {
        return no_memory(err);
    }
    for (uint32_t i = 0; i < s->trace->n_calls; i++) {
        used |= 1u << s->trace->calls[i].collective;
    }
    add_line(s, s->chosen.n, CS_PREDICTION_NONE, true,
             s->baseline != NULL ? s->baseline : "default");
    for (size_t i = 0; i < s->chosen.n; i++) {
        const char *name = s->chosen.names[i];
        if ((s->baseline != NULL && strcmp(name, s->baseline) == 0) ||
            !is_asked_for(s, name, used)) {
            continue;
        }
        const cs_algorithm *a = s->cases[i].job.algorithm;
        if (cs_late_prediction_of(a, CS_PREDICTION_STATIC).straggler == NULL) {
            add_line(s, i, CS_PREDICTION_NONE, false, a->name);
        } else {
            add_line(s, i, CS_PREDICTION_STATIC, false, a->name);
            add_line(s, i, CS_PREDICTION_DYNAMIC, false, a->name);
        }
    }
    if (s->n_lines > 1) {
        add_line(s, s->chosen.n, CS_PREDICTION_HINDSIGHT, false, "best of all");
    }
    s->runners = CS_NEW(runner, s->n_lines * s->n_call_shapes + s->n_shapes + 1);
    return s->runners != NULL ? CS_OK : no_memory(err);
}

/* The algorithm of a line for a shape. */
static size_t algorithm_for(const study *s, size_t line, const call_shape *shape)
{
    const char *name = MESSAGE_ALGORITHM;

    if (line < s->n_lines && s->algorithm_of[line] < s->chosen.n) {
        return s->algorithm_of[line];
    }
    if (shape->group != UINT32_MAX) {
        name =
            line == 0 && s->baseline != NULL
                ? s->baseline
                : cs_default_algorithm(&shape->scenario.cluster, (cs_collective)shape->collective);
    }
    for (size_t i = 0; i < s->chosen.n; i++) {
        if (strcmp(s->chosen.names[i], name) == 0) {
            return i;
        }
    }
    return 0;
}

/* The rank that a static prediction presumes, in the numbers of the shape. */
static bool find_presumed(const study *s, const call_shape *shape, uint32_t *number_p)
{
    for (uint32_t i = 0; i < shape->scenario.cluster.n_ranks; i++) {
        if (shape->ranks != NULL && shape->ranks[i] == s->presumed) {
            *number_p = i;
            return true;
        }
    }
    return false;
}

/* What times a shape under a line, opened at first use; its refusal where that cannot be. */
static runner *runner_of(study *s, size_t line, uint32_t number)
{
    runner           *r     = &s->runners[line * s->n_call_shapes + number];
    const call_shape *shape = &s->shapes[number];

    if (r->is_tried) {
        return r;
    }
    r->is_tried          = true;
    r->c                 = s->cases[algorithm_for(s, line, shape)];
    cs_prediction policy = line < s->n_lines ? s->lines[line].policy : CS_PREDICTION_NONE;
    r->c.policy =
        (cs_prediction_policy){.prediction = policy, .agreement_s = s->options->agreement_s};
    if (policy == CS_PREDICTION_STATIC && !find_presumed(s, shape, &r->c.policy.presumed)) {
        (void)CS_FAIL(&r->refusal, CS_ENOTSUP, "", "no rank is late in this group");
        return r;
    }
    r->c.job.scenario      = shape->scenario;
    r->c.job.is_checked    = false;
    r->c.job.scenario.seed = s->cases[0].job.scenario.seed;
    r->c.arrivals          = (cs_arrival_process){0};
    r->is_open             = cs_trials_open(&r->c, false, false, &r->trials, &r->refusal) == CS_OK;
    return r;
}

/* ---- how long calls take ---- */

/* The faults as they are from `start_s` on. */
static cs_status shift_faults(const cs_scenario *scenario, double start_s, cs_capacity **steps_p,
                              size_t *n_p, cs_error *err)
{
    cs_capacity *steps = CS_NEW(cs_capacity, scenario->n_capacity + 1);
    size_t       n     = 0;

    if (steps == NULL) {
        return no_memory(err);
    }
    for (size_t i = 0; i < scenario->n_capacity; i++) {
        cs_capacity step = scenario->capacity[i];
        step.from_s      = fmax(0, step.from_s - start_s);
        step.until_s -= start_s;
        if (step.until_s > step.from_s) {
            steps[n++] = step;
        }
    }
    *steps_p = steps;
    *n_p     = n;
    return CS_OK;
}

/* A call that begins when faults are as they are then. */
static cs_status time_in_window(study *s, const runner *r, double start_s, const double *arrival_s,
                                double *elapsed_s_p, cs_error *err)
{
    cs_case      c     = r->c;
    cs_capacity *steps = NULL;
    cs_trials    trials;
    cs_trial     trial = {0};

    CS_TRY(shift_faults(&r->c.job.scenario, start_s, &steps, &c.job.scenario.n_capacity, err));
    c.job.scenario.capacity = steps;
    cs_status status        = cs_trials_open(&c, false, false, &trials, err);
    if (status == CS_OK) {
        status = cs_trial_run(&trials, arrival_s, 0, &trial, err);
        cs_trials_close(&trials);
    }
    cs_free(steps);
    s->report->n_replays++;
    *elapsed_s_p = trial.elapsed_s;
    return status;
}

static uint64_t hash_of(uint32_t shape, size_t line, const double *arrival_s, uint32_t n)
{
    uint64_t hash = cs_mix64((uint64_t)shape << 32 | line);

    for (uint32_t i = 0; i < n; i++) {
        uint64_t bits;
        memcpy(&bits, &arrival_s[i], sizeof bits);
        hash = cs_mix64(hash ^ bits) + i;
    }
    return hash;
}

/* The place of a call among those that have been timed. */
static known_call *find_known(study *s, uint64_t hash, uint32_t shape, size_t line,
                              const double *arrival_s, uint32_t n)
{
    size_t at = (size_t)hash & (s->known_slots - 1);

    for (;; at = (at + 1) & (s->known_slots - 1)) {
        known_call *k = &s->known[at];
        if (isnan(k->elapsed_s) ||
            (k->hash == hash && k->shape == shape && k->line == line &&
             memcmp(&s->known_s[k->first], arrival_s, n * sizeof *arrival_s) == 0)) {
            return k;
        }
    }
}

static bool grow_known(study *s)
{
    size_t      slots = s->known_slots > 0 ? 2 * s->known_slots : 1024;
    known_call *old = s->known, *grown = CS_NEW(known_call, slots);

    if (grown == NULL) {
        return false;
    }
    for (size_t i = 0; i < slots; i++) {
        grown[i].elapsed_s = (double)NAN;
    }
    for (size_t i = 0; i < s->known_slots; i++) {
        size_t at = (size_t)old[i].hash & (slots - 1);
        while (!isnan(old[i].elapsed_s) && !isnan(grown[at].elapsed_s)) {
            at = (at + 1) & (slots - 1);
        }
        if (!isnan(old[i].elapsed_s)) {
            grown[at] = old[i];
        }
    }
    cs_free(old);
    s->known       = grown;
    s->known_slots = slots;
    return true;
}

/* Where a call is among those that have been timed, or would be. */
static cs_status look_up(study *s, size_t line, uint32_t number, const double *arrival_s,
                         known_call **k_p, cs_error *err)
{
    uint32_t n = s->shapes[number].scenario.cluster.n_ranks;

    if (2 * (s->n_known + 1) > s->known_slots && !grow_known(s)) {
        return no_memory(err);
    }
    *k_p = find_known(s, hash_of(number, line, arrival_s, n), number, line, arrival_s, n);
    return CS_OK;
}

/* Keep how long it took, while there is room. */
static cs_status keep(study *s, known_call *k, size_t line, uint32_t number,
                      const double *arrival_s, double elapsed_s, cs_error *err)
{
    uint32_t n = s->shapes[number].scenario.cluster.n_ranks;

    if (s->n_known_s + n > MOST_KNOWN) {
        return CS_OK;
    }
    if (!cs_grow(&s->known_s, &s->known_s_capacity, s->n_known_s + n, 1024, sizeof *s->known_s)) {
        return no_memory(err);
    }
    memcpy(&s->known_s[s->n_known_s], arrival_s, n * sizeof *arrival_s);
    *k = (known_call){hash_of(number, line, arrival_s, n), s->n_known_s, number, (uint32_t)line,
                      elapsed_s};
    s->n_known_s += n;
    s->n_known++;
    return CS_OK;
}

/* A shape under a line, with these arrivals: from what is known, or by a replay. CS_ENOTSUP and
 * CS_EINVAL where the algorithm cannot run. */
static cs_status time_shape(study *s, size_t line, uint32_t number, double start_s,
                            const double *arrival_s, double *elapsed_s_p, cs_error *err)
{
    runner     *r     = runner_of(s, line, number);
    cs_trial    trial = {0};
    known_call *k     = NULL;

    if (!r->is_open) {
        return CS_FAIL(err, r->refusal.status, r->refusal.where, "%s", r->refusal.message);
    }
    if (s->has_windows) {
        return time_in_window(s, r, start_s, arrival_s, elapsed_s_p, err);
    }
    CS_TRY(look_up(s, line, number, arrival_s, &k, err));
    if (!isnan(k->elapsed_s)) {
        *elapsed_s_p = k->elapsed_s;
        return CS_OK;
    }
    CS_TRY(cs_trial_run(&r->trials, arrival_s, 0, &trial, err));
    s->report->n_replays++;
    *elapsed_s_p = trial.elapsed_s;
    return keep(s, k, line, number, arrival_s, trial.elapsed_s, err);
}

/* Can a line not run the shape, so that another algorithm takes its place? */
static bool is_refusal(cs_status status)
{
    return status == CS_ENOTSUP || status == CS_EINVAL;
}

/* A line's algorithm, or else the baseline, or else the default. */
static cs_status time_line(study *s, size_t line, uint32_t number, double start_s,
                           const double *arrival_s, bool *is_own_p, double *elapsed_s_p,
                           cs_error *err)
{
    const size_t others[] = {line, 0, s->n_lines};
    cs_status    status   = CS_OK;

    for (size_t i = line == 0 ? 1 : 0; i < 3; i++) {
        cs_error refusal = {0};
        status    = time_shape(s, others[i], number, start_s, arrival_s, elapsed_s_p, &refusal);
        *is_own_p = others[i] == line;
        if (status == CS_OK || !is_refusal(status) || i == 2) {
            if (status != CS_OK && err != NULL) {
                *err = refusal;
            }
            return status;
        }
        if (i == 0 && line > 0 && s->lines[line].reason == NULL) {
            s->lines[line].reason = cs_arena_strdup(&s->report->arena, refusal.message);
        }
    }
    return status;
}

/* The fastest of all lines. */
static cs_status time_best(study *s, uint32_t number, double start_s, const double *arrival_s,
                           double *elapsed_s_p, cs_error *err)
{
    double best_s = (double)INFINITY;

    for (size_t line = 0; line + 1 < s->n_lines; line++) {
        double elapsed_s = (double)INFINITY;
        bool   is_own    = false;
        CS_TRY(time_line(s, line, number, start_s, arrival_s, &is_own, &elapsed_s, err));
        best_s = fmin(best_s, elapsed_s);
    }
    *elapsed_s_p = best_s;
    return CS_OK;
}

/* What bounds may assume of the schedules of lines that have been looked at. */
typedef struct assumptions {
    cs_bound_context list[CS_MOST_CHOSEN_ALGORITHMS];
    size_t           n;
} assumptions;

static bool are_same(const cs_bound_context *a, const cs_bound_context *b)
{
    bool same = true;

    for (uint32_t f = 0; f < CS_FABRICS; f++) {
        same = same && a->latency_s[f] == b->latency_s[f];
    }
    return same && a->alpha_holds_port == b->alpha_holds_port &&
           a->alpha_per_message == b->alpha_per_message &&
           a->is_round_synchronous == b->is_round_synchronous && a->ranks_relay == b->ranks_relay &&
           a->uses_trees == b->uses_trees && a->uses_switches == b->uses_switches &&
           a->uses_network_switch == b->uses_network_switch && a->shares_ports == b->shares_ports;
}

/* Add what a line's schedule allows to assume. Has a line before been the same? */
static bool is_seen(assumptions *seen, const cs_bound_context *bounds)
{
    for (size_t i = 0; i < seen->n; i++) {
        if (are_same(&seen->list[i], bounds)) {
            return true;
        }
    }
    if (seen->n < CS_MOST_CHOSEN_ALGORITHMS) {
        seen->list[seen->n++] = *bounds;
    }
    return false;
}

/* The lower bound of one line's schedules; INFINITY where it has none, or one before is the same.
 */
static double bound_of(const runner *r, const double *arrival_s, const cs_capacity *steps,
                       size_t n_steps, assumptions *seen)
{
    cs_job      job     = r->trials.planned.is_resolved ? r->trials.planned : r->c.job;
    bool        is_mine = !job.is_resolved;
    double      bound_s = (double)INFINITY;
    const char *name;

    job.scenario.arrival_s = arrival_s;
    if (steps != NULL) {
        job.scenario.capacity   = steps;
        job.scenario.n_capacity = n_steps;
    }
    job.is_checked = true;
    if (cs_job_resolve(&job, NULL) == CS_OK) {
        const cs_bound_context bounds = cs_job_bounds(&job);
        bound_s = is_seen(seen, &bounds) ? (double)INFINITY : cs_best_bound(&bounds, &name);
    }
    if (is_mine) {
        cs_job_release(&job);
    }
    return bound_s;
}

/* The least that any line's schedule may take with these arrivals. */
static cs_status find_least(study *s, uint32_t number, double start_s, const double *arrival_s,
                            double *elapsed_s_p, cs_error *err)
{
    double       least_s = (double)INFINITY;
    cs_capacity *steps   = NULL;
    size_t       n_steps = 0;
    assumptions  seen    = {.n = 0};

    if (s->has_windows) {
        CS_TRY(shift_faults(&s->shapes[number].scenario, start_s, &steps, &n_steps, err));
    }
    for (size_t line = 0; line <= s->n_lines; line++) {
        bool          is_hindsight = line > 0 && line + 1 == s->n_lines; /* one of the others */
        const runner *r            = is_hindsight ? NULL : runner_of(s, line, number);
        if (r != NULL && r->is_open) {
            least_s = fmin(least_s, bound_of(r, arrival_s, steps, n_steps, &seen));
        }
    }
    cs_free(steps);
    *elapsed_s_p = isinf(least_s) ? 0 : least_s;
    return CS_OK;
}

static cs_status bound_shape(study *s, uint32_t number, double start_s, const double *arrival_s,
                             double *elapsed_s_p, cs_error *err)
{
    const size_t line = s->n_lines + 1;
    known_call  *k    = NULL;
    double       elapsed_s;

    if (!s->has_windows) {
        CS_TRY(look_up(s, line, number, arrival_s, &k, err));
    }
    if (k != NULL && !isnan(k->elapsed_s)) {
        *elapsed_s_p = k->elapsed_s;
        return CS_OK;
    }
    CS_TRY(find_least(s, number, start_s, arrival_s, &elapsed_s, err));
    *elapsed_s_p = elapsed_s;
    return k != NULL ? keep(s, k, line, number, arrival_s, elapsed_s, err) : CS_OK;
}

static cs_status time_number(study *s, uint32_t number, double start_s, const double *arrival_s,
                             bool *is_own_p, double *elapsed_s_p, cs_error *err)
{
    *is_own_p    = false;
    *elapsed_s_p = 0;
    if (s->line == LINE_FREE) {
        return CS_OK;
    }
    if (s->line == LINE_BOUND) {
        return bound_shape(s, number, start_s, arrival_s, elapsed_s_p, err);
    }
    if (s->lines[s->line].policy == CS_PREDICTION_HINDSIGHT) {
        return time_best(s, number, start_s, arrival_s, elapsed_s_p, err);
    }
    return time_line(s, (size_t)s->line, number, start_s, arrival_s, is_own_p, elapsed_s_p, err);
}

static cs_status time_call(void *user, uint32_t call, double first_s, const double *arrival_s,
                           double *elapsed_s_p, cs_error *err)
{
    study              *s      = user;
    const cs_work_call *c      = &s->trace->calls[call];
    bool                is_own = false;

    if (c->bytes == 0) { /* nothing is sent, and all wait for the last */
        *elapsed_s_p = 0;
        return CS_OK;
    }
    cs_status status =
        time_number(s, s->shape_of_call[call], first_s, arrival_s, &is_own, elapsed_s_p, err);

    if (s->line >= 0) {
        s->lines[s->line].n_own += is_own;
    }
    return status;
}

static cs_status time_message(void *user, uint32_t message, double start_s, double *elapsed_s_p,
                              cs_error *err)
{
    study *s = user;

    *elapsed_s_p = 0;
    return s->line == LINE_FREE ? CS_OK
                                : time_shape(s, s->n_lines, s->shape_of_message[message], start_s,
                                             s->zeros, elapsed_s_p, err);
}

/* ---- the lines, run ---- */

static cs_status run_line(study *s, long line, cs_pass_result *result_p, cs_error *err)
{
    const cs_call_clock clock = {
        .call = time_call, .message = time_message, .user = s, .has_no_queues = line == LINE_BOUND};

    s->line = line;
    return cs_execution_pass(s->trace, &s->cases[0].job.scenario.cluster, s->start_s, &clock,
                             result_p, err);
}

/* The longest chain of dependencies, or the most that a rank has to compute. */
static cs_status find_bound(study *s, cs_error *err)
{
    cs_pass_result result = {0};

    CS_TRY(run_line(s, LINE_BOUND, &result, err));
    s->report->bound_s = result.end_s;
    for (uint32_t r = 0; r < s->trace->n_ranks; r++) {
        double compute_s     = s->trace->ranks[r].compute_s;
        double start_s       = s->start_s != NULL ? s->start_s[r] : 0;
        s->report->compute_s = fmax(s->report->compute_s, compute_s);
        s->report->bound_s   = fmax(s->report->bound_s, start_s + compute_s);
    }
    return CS_OK;
}

static void fill_line(study *s, size_t number, double end_s)
{
    cs_execution_line *line = &s->lines[number];

    line->iteration_s = end_s;
    line->exposed_s   = end_s - s->report->without_calls_s;
    line->saved_s     = s->report->baseline.end_s - end_s;
    line->saved_s     = fabs(line->saved_s) <= SAME_RATIO * end_s ? 0 : line->saved_s;
    line->gap         = s->report->bound_s > 0 ? end_s / s->report->bound_s : (double)NAN;
    bool runs = line->n_own > 0 || line->is_baseline || line->policy == CS_PREDICTION_HINDSIGHT ||
                s->trace->n_calls == 0;
    if (runs) {
        line->reason = NULL;
        return;
    }
    line->is_available = false;
    line->reason       = line->reason != NULL ? line->reason : "there is no call that it can do";
    line->iteration_s = line->exposed_s = line->saved_s = line->gap = (double)NAN;
}

static int by_time(const void *a, const void *b)
{
    const cs_execution_line *x = a, *y = b;
    bool                     x_last = !x->is_available || x->policy == CS_PREDICTION_HINDSIGHT;
    bool                     y_last = !y->is_available || y->policy == CS_PREDICTION_HINDSIGHT;

    if (x_last != y_last) {
        return x_last ? 1 : -1;
    }
    if (x->is_available != y->is_available) {
        return x->is_available ? -1 : 1;
    }
    if (x->is_available && x->iteration_s != y->iteration_s) {
        return x->iteration_s < y->iteration_s ? -1 : 1;
    }
    if (x->is_baseline != y->is_baseline) {
        return x->is_baseline ? -1 : 1;
    }
    int names = strcmp(x->algorithm, y->algorithm);
    return names != 0 ? names : (int)x->policy - (int)y->policy;
}

static void give_places(study *s)
{
    double   before_s = -1;
    uint32_t place    = 0;

    qsort(s->lines, s->n_lines, sizeof *s->lines, by_time);
    for (size_t i = 0; i < s->n_lines; i++) {
        cs_execution_line *line = &s->lines[i];
        if (line->is_available && line->policy != CS_PREDICTION_HINDSIGHT) {
            bool is_same_time = i > 0 && line->iteration_s - before_s <= SAME_RATIO * before_s;
            place             = is_same_time ? place : (uint32_t)i + 1;
            line->place       = place;
            before_s          = line->iteration_s;
        }
    }
    s->report->lines   = s->lines;
    s->report->n_lines = s->n_lines;
}

static cs_status run_all(study *s, cs_error *err)
{
    cs_pass_result result = {0};

    CS_TRY(run_line(s, LINE_FREE, &result, err));
    s->report->without_calls_s = result.end_s;
    CS_TRY(run_line(s, 0, &s->report->baseline, err));
    if (s->options->baseline != NULL && s->lines[0].n_own == 0 && s->trace->n_calls > 0) {
        return CS_FAIL(err, CS_EINVAL, "--baseline", "%s can do none of the calls of the trace",
                       s->options->baseline);
    }
    s->presumed = s->report->baseline.straggler;
    CS_TRY(find_bound(s, err));
    fill_line(s, 0, s->report->baseline.end_s);
    for (size_t i = 1; i < s->n_lines; i++) {
        cs_tell(&s->options->listener, i, s->n_lines);
        CS_TRY(run_line(s, (long)i, &result, err));
        fill_line(s, i, result.end_s);
    }
    cs_tell(&s->options->listener, s->n_lines, s->n_lines);
    give_places(s);
    return CS_OK;
}

static cs_status prepare(study *s, cs_error *err)
{
    cs_case first = {0};

    CS_TRY(load_trace(s, err));
    CS_TRY(choose_algorithms(s, err));
    CS_TRY(cs_config_case(s->config, 0, &first, err)); /* to know the groups' defaults */
    cs_status status = scenarios_of_groups(s, &first.job.scenario, err);
    if (status == CS_OK) {
        status = add_defaults(s, &first.job.scenario, err);
    }
    cs_case_free(&first);
    CS_TRY(status);
    CS_TRY(build_cases(s, err));
    const cs_scenario *all = &s->cases[0].job.scenario;
    CS_TRY(read_scenario(s, all, err));
    CS_TRY(scenarios_of_groups(s, all, err));
    CS_TRY(find_shapes(s, all, err));
    return make_lines(s, err);
}

static void free_study(study *s)
{
    for (size_t i = 0; s->runners != NULL && i < s->n_lines * s->n_call_shapes + s->n_shapes; i++) {
        if (s->runners[i].is_open) {
            cs_trials_close(&s->runners[i].trials);
        }
    }
    for (size_t i = 0; s->cases != NULL && i < s->chosen.n; i++) {
        cs_case_free(&s->cases[i]);
    }
    cs_free(s->runners);
    cs_free(s->cases);
    cs_free(s->shapes);
    cs_free(s->known);
    cs_free(s->known_s);
}

cs_status cs_execution_whatif(cs_config *config, const cs_execution_options *options,
                              cs_execution_report *report_p, cs_error *err)
{
    cs_execution_report report = {0};
    study               s      = {.config   = config,
                                  .options  = options,
                                  .report   = &report,
                                  .trace    = &report.trace,
                                  .baseline = options->baseline,
                                  .presumed = UINT32_MAX};
    cs_status           status = prepare(&s, err);

    if (status == CS_OK) {
        status = run_all(&s, err);
    }
    free_study(&s);
    if (status == CS_OK) {
        *report_p = report;
    } else {
        cs_execution_report_free(&report);
    }
    return status;
}

void cs_execution_report_free(cs_execution_report *report)
{
    cs_execution_trace_free(&report->trace);
    cs_arena_free(&report->arena);
    *report = (cs_execution_report){0};
}
