/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A job on NICs that fail, from JSON: see whatif/whatif_json.h. The timeline of faults and the
 * bandwidth trace become one list of faults, sorted by server and time, which may overlap: a trace
 * is one fault per line whose rate is below the NIC's. */
#include "whatif/whatif_json.h"
#include "algorithms/lib/nccl_tuning.h"

#include "scenario/scenario_json.h"
#include "study/config_state.h"
#include "traces/bandwidth.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(list) (sizeof(list) / sizeof(list)[0])

enum { MAX_CALLS = 100000 };

#define MAX_ITERATIONS ((double)((uint64_t)1 << 40))
#define MAX_TIME_S     1e12
#define MAX_SCALE      1e15
#define MAX_BATCH      1e12
#define LEAST_TURN_S   1e-3
#define MAX_LEVEL      1000
#define NO_FAULT       SIZE_MAX /* the fault is of the trace */
#define SHRINK_S       60       /* assumptions: sim/doc/whatif.md says so */
#define SPARE_S        180

/* The policies that are no algorithm. */
static const cs_whatif_policy plain_policies[] = {
    {.name = "healthy", .kind = CS_POLICY_HEALTHY}, {.name = "iccl", .kind = CS_POLICY_KEEP},
    {.name = "exclude", .kind = CS_POLICY_EXCLUDE}, {.name = "shrink", .kind = CS_POLICY_SHRINK},
    {.name = "restart", .kind = CS_POLICY_RESTART}, {.name = "spare", .kind = CS_POLICY_SPARE},
    {.name = "wait", .kind = CS_POLICY_WAIT},
};
static const char *const default_policies[] = {"iccl", "r2ccl", "optcc", "exclude", "wait"};
/* ... where links are profiled. */
static const char *const profiled_policies[] = {"nccl_rings", "adapcc", "stragglar", "optcc"};

/* The timers of a preset. `ib_retry_count` > 0: detection is InfiniBand's retransmission, whose
 * time is ib_retry_count * 4.096 us * 2^NCCL_IB_TIMEOUT. */
typedef struct timer_preset {
    double   detect_s, reschedule_s, restart_s;
    uint32_t ib_retry_count;
} timer_preset;

static const char *const  preset_names[] = {"default", "nccl"};
static const timer_preset presets[]      = {
         {.detect_s = 0.1, .reschedule_s = 1e-3, .restart_s = 600},
         {.reschedule_s = 1e-3, .restart_s = 600, .ib_retry_count = 7},
};

/* NCCL_IB_TIMEOUT where nobody sets it, from a version on (src/transport/net_ib.cc). */
static const struct {
    int      since;
    uint32_t ib_timeout;
} ib_timeouts[] = {{8, 14}, {14, 18}, {23, 20}};

static uint32_t usual_ib_timeout(int nccl_version)
{
    uint32_t timeout = 0;

    for (size_t i = 0; i < COUNT(ib_timeouts); i++) {
        timeout = CS_NCCL_NEWEST - nccl_version >= ib_timeouts[i].since ? ib_timeouts[i].ib_timeout
                                                                        : timeout;
    }
    return timeout;
}

static double ib_detect_s(uint32_t timeout, uint32_t retry_count)
{
    return retry_count * ldexp(4.096e-6, (int)timeout);
}

/* ---- the job ---- */

/* clang-format off */
#define TIME(type, field, key, ...)                                                                \
    CS_KEY(type, field, key, .unit = CS_UNIT_TIME, .max = MAX_TIME_S, __VA_ARGS__)
static const cs_field job_fields[] = {
    CS_KEY(cs_whatif_job, iterations, "iterations", .fallback = 1, .min = 1, .max = MAX_ITERATIONS,
           .help = "of the job; required, but with the key 'failures'"),
    TIME(cs_whatif_job, compute_s, "compute", .is_required = true, .help = "of an iteration"),
    CS_KEY(cs_whatif_job, call.scenario.bytes, "bytes", .unit = CS_UNIT_SIZE, .min = 1, .max = (double)CS_MAX_BYTES,
           .is_required = true, .help = "buffer of one AllReduce call"),
    CS_KEY(cs_whatif_job, calls, "calls", .fallback = 1, .min = 1, .max = MAX_CALLS,
           .help = "of an iteration, one after the other"),
    CS_KEY(cs_whatif_job, overlap_ratio, "overlap", .max = 1,
           .help = "part of the compute time beside which calls may run"),
    CS_KEY(cs_whatif_job, batch, "batch", .max = MAX_BATCH, .has_null = true,
           .help = "samples of an iteration, of all ranks together; null: not known"),
    CS_KEY(cs_whatif_job, spares, "spares", .fallback = 1, .max = CS_MAX_RANKS,
           .help = "servers that stand by for the policy spare"),
    TIME(cs_whatif_job, horizon_s, "horizon", .fallback = (double)INFINITY, .has_null = true,
         .is_above = true, .help = "the job is watched until then; null: to its end"),
    CS_FIELD_END,
};
/* clang-format on */

/* ---- timers ---- */

typedef struct timers_keys {
    int              preset, nccl_version;       /* CS_NCCL_NEWEST - its minor number */
    uint32_t         ib_timeout, ib_retry_count; /* 0: not given */
    cs_whatif_timers timers;                     /* NAN: not given */
} timers_keys;

/* clang-format off */
#define TIMER(field, key, ...) TIME(timers_keys, timers.field, key, .fallback = (double)NAN, __VA_ARGS__)
static const cs_field timers_fields[] = {
    CS_KEY(timers_keys, preset, "preset", .choices = "default|nccl", .help = "for those not given"),
    TIMER(detect_s, "detect", .help = "until a change is noticed"),
    TIMER(reschedule_s, "reschedule", .help = "until another schedule is ready"),
    TIMER(restart_s, "restart", .help = "stop and restart; without 'checkpoint' also recompute since the last one"),
    CS_KEY(timers_keys, timers.checkpoint, "checkpoint", .max = MAX_ITERATIONS, .has_null = true,
           .help = "iterations from one to the next, what follows is lost by a restart; null: 'restart' counts it"),
    TIMER(shrink_s, "shrink", .help = "until the others go on without a server"),
    TIMER(spare_s, "spare", .help = "until a spare server has taken over"),
    TIME(timers_keys, timers.rejoin_s, "rejoin", .fallback = (double)INFINITY, .has_null = true, .help = "stop to take a repaired server in; null: never"),
    CS_KEY(timers_keys, nccl_version, "nccl_version", .choices = CS_NCCL_VERSION_WORDS,
           .help = "of nccl: which NCCL_IB_TIMEOUT it has by default"),
    CS_KEY(timers_keys, ib_timeout, "ib_timeout", .min = 1, .max = 31, .help = "NCCL_IB_TIMEOUT, of nccl"),
    CS_KEY(timers_keys, ib_retry_count, "ib_retry_count", .min = 1, .max = 7,
           .help = "NCCL_IB_RETRY_CNT, of nccl"),
    CS_KEY(timers_keys, timers.tolerance_ratio, "tolerance", .max = 10,
           .help = "slowdowns within 1 + this of another count as the same"),
    CS_FIELD_END,
};
/* clang-format on */

/* NCCL_IB_TIMEOUT and NCCL_IB_RETRY_CNT say how long detection takes. */
static void check_ib_timers(cs_reading *r, const cs_place *place, const timer_preset *preset)
{
    static const char *const keys[] = {"nccl_version", "ib_timeout", "ib_retry_count"};

    for (size_t i = 0; i < COUNT(keys) && !cs_reading_failed(r); i++) {
        cs_place key = cs_place_get(place, keys[i]);
        if (key.node != NULL && preset->ib_retry_count == 0) {
            CS_REFUSE(r, &key, CS_EINVAL, "belongs to the preset \"nccl\"");
        } else if (key.node != NULL && cs_place_has(place, "detect")) {
            CS_REFUSE(r, &key, CS_EINVAL,
                      "says how long detection takes, and so does 'detect': "
                      "accepted is one of them");
        }
    }
}

static double given_or(double given_s, double otherwise_s)
{
    return isnan(given_s) ? otherwise_s : given_s;
}

static void read_timers(cs_reading *r, const cs_place *place, const cs_field *row, void *object)
{
    cs_whatif_timers *t    = &((cs_whatif_job *)object)->timers;
    timers_keys       keys = {.preset = 0};

    cs_fields_default(row->fields, &keys);
    if (place->node != NULL && !cs_read_fields(r, place, row->fields, &keys)) {
        return;
    }
    const timer_preset *preset   = &presets[keys.preset];
    double              detect_s = preset->detect_s;
    check_ib_timers(r, place, preset);
    if (preset->ib_retry_count > 0) {
        uint32_t timeout =
            keys.ib_timeout > 0 ? keys.ib_timeout : usual_ib_timeout(keys.nccl_version);
        uint32_t count = keys.ib_retry_count > 0 ? keys.ib_retry_count : preset->ib_retry_count;
        detect_s       = ib_detect_s(timeout, count);
    }
    *t =
        (cs_whatif_timers){.preset       = preset_names[keys.preset],
                           .detect_s     = given_or(keys.timers.detect_s, detect_s),
                           .reschedule_s = given_or(keys.timers.reschedule_s, preset->reschedule_s),
                           .restart_s    = given_or(keys.timers.restart_s, preset->restart_s),
                           .checkpoint   = keys.timers.checkpoint,
                           .shrink_s     = given_or(keys.timers.shrink_s, SHRINK_S),
                           .spare_s      = given_or(keys.timers.spare_s, SPARE_S),
                           .rejoin_s     = keys.timers.rejoin_s,
                           .tolerance_ratio = keys.timers.tolerance_ratio};
}

/* ---- policies ---- */

#define PLAIN_NAMES "healthy, iccl, exclude, shrink, restart, spare, wait"

static const cs_whatif_policy *find_plain(const char *name)
{
    for (size_t i = 0; i < COUNT(plain_policies); i++) {
        if (strcmp(name, plain_policies[i].name) == 0) {
            return &plain_policies[i];
        }
    }
    return NULL;
}

/* clang-format off */
static const cs_field policy_fields[] = {
    {.name = "algorithm", .type = CS_FIELD_PLUG_IN, .offset = offsetof(cs_whatif_policy, schedule.algorithm),
     .beside = offsetof(cs_whatif_policy, schedule.options), .names = &cs_algorithm_names,
     .read = cs_read_algorithm, .is_required = true, .help = "what runs"},
    CS_KEY(cs_whatif_policy, name, "label", .help = "its name in the results; the algorithm's where there is none"),
    CS_KEY(cs_whatif_policy, profiles, "profile", .choices = "auto|yes|no",
           .help = "links again and again? auto: if its schedule depends on the rates of NICs"),
    CS_KEY(cs_whatif_policy, recovery, "recovery", .choices = "auto|exclude|restart",
           .help = "from a death; auto: adapcc excludes the worker, others restart"),
    CS_FIELD_END,
};
static const cs_field policy_forms[] = {
    {.name = "name", .type = CS_FIELD_PLUG_IN, .names = &cs_algorithm_names,
     .choices = "healthy|iccl|exclude|shrink|restart|spare|wait"},
    {.name = "keys", .type = CS_FIELD_OBJECT, .fields = policy_fields},
    CS_FIELD_END,
};
static const cs_field a_policy[] = {
    {.name = "policy", .type = CS_FIELD_EITHER, .fields = policy_forms},
    CS_FIELD_END,
};
/* clang-format on */

/* An algorithm, by its name, with options, or with what else a policy has. */
static void read_algorithm_policy(cs_reading *r, const cs_place *item, cs_whatif_policy *policy)
{
    const char *name = json_string_value(item->node);

    if (name == NULL && !json_is_object(item->node)) {
        cs_refuse_kind(r, item, PLAIN_NAMES " or the name of an algorithm");
        return;
    }
    if (name == NULL && cs_place_has(item, "algorithm")) {
        (void)cs_read_fields(r, item, policy_fields, policy);
        return;
    }
    if (name == NULL) {
        cs_read_required(r, item, "name");
    }
    if (cs_reading_failed(r)) {
        return;
    }
    cs_read_algorithm(r, item, &policy_fields[0], policy);
    if (name != NULL && r->error.status == CS_ENOENT) {
        r->error = (cs_error){0};
        CS_REFUSE(r, item, CS_EINVAL,
                  "unknown policy '%.40s': accepted are " PLAIN_NAMES
                  " and the names of algorithms",
                  name);
    }
}

/* The schedule, where it has a coordinator that leaves out who does not come: asked to do so, by
 * the paper's rule if it has none. */
static cs_whatif_schedule excluding_of(const cs_whatif_schedule *schedule)
{
    cs_whatif_schedule s = *schedule;

    if (s.algorithm == NULL) {
        return s;
    }
    const cs_field *relay   = cs_field_find(s.algorithm->options, "relay");
    const cs_field *exclude = cs_field_find(s.algorithm->options, "exclude");
    if (relay == NULL || exclude == NULL) {
        return (cs_whatif_schedule){.algorithm = NULL};
    }
    cs_field_store(relay, &s.options, fmax(cs_field_load(relay, &s.options), 1));
    cs_field_store(exclude, &s.options, 1);
    return s;
}

/* What the keys of a policy leave open. */
static void complete_policy(cs_reading *r, const cs_place *item, const cs_whatif_job *job,
                            cs_whatif_policy *policy)
{
    const cs_algorithm *algorithm = policy->schedule.algorithm;
    bool                is_adapcc = algorithm != NULL && strcmp(algorithm->name, "adapcc") == 0;
    cs_place            profile   = cs_place_get(item, "profile");
    cs_place            recovery  = cs_place_get(item, "recovery");

    if (profile.node != NULL && !job->profiling.is_on) {
        CS_REFUSE(r, &profile, CS_EINVAL, "belongs to the key 'profile' of the configuration");
    } else if (recovery.node != NULL && !job->death.is_there) {
        CS_REFUSE(r, &recovery, CS_EINVAL, "belongs to the key 'death' of the configuration");
    }
    if (policy->name[0] == '\0' && algorithm != NULL) {
        policy->name = algorithm->name;
    }
    if (policy->recovery == CS_RECOVERY_AUTO) {
        policy->recovery = is_adapcc ? CS_RECOVERY_EXCLUDE : CS_RECOVERY_RESTART;
    }
    policy->excluding = excluding_of(&policy->schedule);
}

/* One of a list: a word, or an algorithm. */
static void read_policy(cs_reading *r, const cs_place *item, cs_whatif_job *job)
{
    const char             *name   = json_string_value(item->node);
    const cs_whatif_policy *plain  = name != NULL ? find_plain(name) : NULL;
    cs_whatif_policy        policy = {.name = "",
                                      .kind = job->profiling.is_on ? CS_POLICY_RUN : CS_POLICY_SWITCH};
    const bool is_nccl = name != NULL && strcmp(name, "nccl") == 0 && !job->profiling.is_on;

    if (plain != NULL) {
        policy = *plain;
    } else if (is_nccl && strcmp(job->schedule.algorithm->name, "nccl") != 0) {
        CS_REFUSE(
            r, item, CS_EINVAL,
            "'nccl' is what NCCL does about a dead NIC: accepted where the job's algorithm is "
            "nccl, here it is %s",
            job->schedule.algorithm->name);
    } else if (is_nccl) {
        policy = (cs_whatif_policy){.name = "nccl", .kind = CS_POLICY_RESTART};
    } else {
        read_algorithm_policy(r, item, &policy);
    }
    if (!cs_reading_failed(r)) {
        complete_policy(r, item, job, &policy);
    }
    for (size_t i = 0; i < job->n_policies && !cs_reading_failed(r); i++) {
        if (strcmp(job->policies[i].name, policy.name) != 0) {
            continue;
        }
        if (plain == NULL || job->policies[i].kind != plain->kind) {
            CS_REFUSE(r, item, CS_EINVAL, "'%s' is there already%s", policy.name,
                      plain == NULL ? ": accepted is another 'label'" : "");
        }
        return;
    }
    if (!cs_reading_failed(r)) {
        job->policies[job->n_policies++] = policy;
    }
}

/* The policies of a job that names none. */
static void add_default_policies(cs_reading *r, const cs_place *place, cs_whatif_job *job)
{
    bool               is_on = job->profiling.is_on;
    const char *const *names = is_on ? profiled_policies : default_policies;
    size_t             n     = is_on ? COUNT(profiled_policies) : COUNT(default_policies);

    for (size_t i = 0; i < n; i++) {
        const cs_whatif_policy *plain  = find_plain(names[i]);
        cs_whatif_policy        policy = {.name = names[i],
                                          .kind = is_on ? CS_POLICY_RUN : CS_POLICY_SWITCH};
        if (plain == NULL &&
            cs_algorithm_find(names[i], &policy.schedule.algorithm, NULL) == CS_OK) {
            cs_fields_default(policy.schedule.algorithm->options, &policy.schedule.options);
        }
        policy = plain != NULL ? *plain : policy;
        complete_policy(r, place, job, &policy);
        job->policies[job->n_policies++] = policy;
    }
}

/* `healthy`, then what is asked for, or the default policies. */
static void read_policies(cs_reading *r, const cs_place *list, const cs_field *row, void *object)
{
    enum { MOST_DEFAULTS = 5 };
    cs_whatif_job *job   = object;
    size_t         count = json_array_size(list->node);

    (void)row;
    if (list->node != NULL && !json_is_array(list->node)) {
        cs_refuse_kind(r, list, "an array");
        return;
    }
    job->policies = CS_ARENA_NEW(&job->arena, cs_whatif_policy, count + MOST_DEFAULTS + 1);
    if (job->policies == NULL) {
        (void)CS_NO_MEMORY(&r->error, "policies");
        return;
    }
    job->policies[job->n_policies++] = plain_policies[0];
    if (list->node != NULL && count == 0) {
        CS_REFUSE(r, list, CS_EINVAL, "names no policy: leave the key out for all of them");
    }
    for (size_t i = 0; i < count && !cs_reading_failed(r); i++) {
        cs_place item = cs_place_item(list, i);
        read_policy(r, &item, job);
    }
    if (list->node == NULL) {
        add_default_policies(r, list, job);
    }
}

/* ---- what changes beside the NICs, and who knows ---- */

/* clang-format off */
static const cs_field interference_fields[] = {
    TIME(cs_interference, every_s, "every", .fallback = 300, .min = LEAST_TURN_S, .help = "how long the same GPUs are slowed"),
    CS_KEY(cs_interference, gpus, "gpus", .fallback = 2, .max = CS_MAX_RANKS, .help = "of a server that are slowed at the same time, at most"),
    CS_KEY(cs_interference, level_ratio, "level", .max = MAX_LEVEL, .is_required = true,
           .help = "how much longer they compute, of their time: 4 is 400 %"),
    CS_FIELD_END,
};
static const cs_field profile_fields[] = {
    CS_KEY(cs_profiling, period, "period", .fallback = 500, .max = MAX_ITERATIONS,
           .help = "iterations from one profile to the next; 0: one at the begin alone"),
    TIME(cs_profiling, duration_s, "duration", .fallback = (double)NAN, .has_null = true,
         .help = "of a profile; null: of its probes"),
    TIME(cs_profiling, barrier_s, "barrier", .help = "behind every round of probes"),
    TIME(cs_profiling, rebuild_s, "rebuild", .fallback = 1, .help = "to set up another schedule"),
    CS_FIELD_END,
};
static const cs_field death_fields[] = {
    CS_KEY(cs_death, rank, "rank", .max = CS_MAX_RANKS - 1, .is_rank = true, .is_required = true,
           .help = "the worker that dies"),
    CS_KEY(cs_death, takes, "takes", .choices = "server|worker", .help = "who leaves: all of its server, or it alone"),
    TIME(cs_death, at_s, "at", .is_required = true, .help = "when, in job time"),
    TIME(cs_death, hang_s, "hang", .fallback = 15, .help = "until a hanging library is noticed"),
    TIME(cs_death, relaunch_s, "relaunch", .fallback = 60, .help = "to start again from a checkpoint"),
    CS_KEY(cs_death, checkpoint, "checkpoint", .fallback = 500, .min = 1, .max = MAX_ITERATIONS,
           .help = "iterations from one checkpoint to the next"),
    CS_FIELD_END,
};
/* clang-format on */

/* An object that may be missing; `is_there_p` becomes true where it is there. */
static void read_optional(cs_reading *r, const cs_place *place, const cs_field *row, void *object,
                          bool *is_there_p)
{
    cs_fields_default(row->fields, object);
    *is_there_p = place->node != NULL && cs_read_fields(r, place, row->fields, object);
}

static void read_interference(cs_reading *r, const cs_place *place, const cs_field *row,
                              void *object)
{
    cs_interference *interference = &((cs_whatif_job *)object)->interference;
    bool             is_there;

    read_optional(r, place, row, interference, &is_there);
    interference->gpus = is_there && interference->level_ratio > 0 ? interference->gpus : 0;
}

static void read_profile(cs_reading *r, const cs_place *place, const cs_field *row, void *object)
{
    cs_profiling *profiling = &((cs_whatif_job *)object)->profiling;

    read_optional(r, place, row, profiling, &profiling->is_on);
}

static void read_death(cs_reading *r, const cs_place *place, const cs_field *row, void *object)
{
    cs_whatif_job *job = object;

    const cs_cluster *c = r->cluster;
    read_optional(r, place, row, &job->death, &job->death.is_there);
    if (!job->death.is_there || cs_reading_failed(r) || c == NULL) {
        return;
    }
    bool is_alone = job->death.takes == CS_DEATH_WORKER;
    if (cs_n_servers(c) < 2 && !is_alone) {
        CS_REFUSE(r, place, CS_EINVAL, "the only server dies: accepted are two servers and more");
    }
    if (is_alone && (c->sockets > 1 || c->topology != NULL || c->nic_sharers > 0)) {
        cs_place takes = cs_place_get(place, "takes");
        CS_REFUSE(r, &takes, CS_ENOTSUP,
                  "worker: leaves a server with fewer GPUs than others, which is accepted where "
                  "servers have one socket, every GPU has its NIC, and nothing is between NICs");
    }
}

/* ---- faults ---- */

/* Faults while they are collected. */
typedef struct fault_item {
    cs_fault fault;
    uint32_t server;
    size_t   index; /* in "faults", or NO_FAULT */
} fault_item;

typedef struct fault_items {
    fault_item *items;
    size_t      n, room;
} fault_items;

static void append(cs_reading *r, fault_items *list, const cs_fault *fault,
                   const cs_cluster *cluster, size_t index)
{
    if (list->n == list->room) {
        size_t      room  = list->room > 0 ? 2 * list->room : 64;
        fault_item *items = CS_ARENA_NEW(r->arena, fault_item, room);
        if (items == NULL) {
            (void)CS_NO_MEMORY(&r->error, "faults");
            return;
        }
        if (list->n > 0) {
            memcpy(items, list->items, list->n * sizeof *items);
        }
        list->items = items;
        list->room  = room;
    }
    uint32_t server        = cs_server_of(cluster, fault->capacity.rank);
    list->items[list->n++] = (fault_item){*fault, server, index};
}

/* A value of null: no bandwidth is left. */
static void check_fault(cs_reading *r, const cs_place *item, void *object)
{
    cs_fault *f    = object;
    cs_place  down = cs_place_get(item, "down");

    cs_fault_check(r, item, f->is_down ? NULL : " (or \"down\": true)", f);
    if (isinf(f->capacity.slowdown) && !f->is_nic && down.node != NULL && !f->is_down &&
        !cs_reading_failed(r)) {
        CS_REFUSE(r, &down, CS_EINVAL, "is false, but a %s of null means a dead NIC",
                  cs_fault_key(f->kind));
    }
    f->is_down = f->is_down || (isinf(f->capacity.slowdown) && !f->is_nic);
    cs_fault_check_span(r, item, f);
}

/* clang-format off */
static const cs_field fault_fields[] = {
    CS_FAULT_WHO_ROWS,
#define CS_FAULT(kind, key, least, most, slowdown, help_, ...)                                     \
    CS_KEY(cs_fault, value, key, .fallback = (double)INFINITY, .min = (least), .max = (most),      \
           .has_null = true, .is_ratio = true, .help = help_ "; null: nothing is left"),
#include "scenario/faults.def"
#undef CS_FAULT
    CS_KEY(cs_fault, is_down, "down", .max = 1, .help = "no bandwidth until it is detected"),
    TIME(cs_fault, capacity.from_s, "from", .help = "begin, in job time"),
    CS_KEY(cs_fault, capacity.until_s, "until", .unit = CS_UNIT_TIME, .fallback = (double)INFINITY,
           .max = (double)INFINITY, .has_null = true, .help = "end; null: never"),
    CS_FAULT_FAILOVER_ROW,
    CS_FIELD_END,
};
static const cs_field a_fault[] = {
    {.name = "fault", .type = CS_FIELD_OBJECT, .fields = fault_fields, .check = check_fault},
    CS_FIELD_END,
};

/* The rank of a trace of all servers. */
#define ALL_SERVERS UINT32_MAX

typedef struct trace_keys {
    uint32_t    rank; /* ALL_SERVERS: lines have a server */
    const char *file;
    double      scale;
    double      amplify_ratio;
} trace_keys;

static const cs_field trace_fields[] = {
    CS_KEY(trace_keys, rank, "rank", .fallback = ALL_SERVERS, .max = CS_MAX_RANKS - 1, .is_rank = true, .has_null = true,
           .help = "a rank of the server whose NICs were measured; null: lines have a server"),
    CS_KEY_OF(CS_FIELD_FILE, trace_keys, file, "file", .is_required = true,
              .help = "lines of time and rate, or of time, server and rate, relative to the configuration"),
    CS_KEY(trace_keys, scale, "scale", .fallback = 1, .min = 1 / MAX_SCALE, .max = MAX_SCALE,
           .help = "what the rates are multiplied by"),
    CS_KEY(trace_keys, amplify_ratio, "amplify", .max = 1,
           .help = "x: a rate that has dropped is multiplied by 1 - x, one that has risen by 1 + x"),
    CS_FIELD_END,
};
/* clang-format on */

static void add_faults(cs_reading *r, const cs_fault_list *faults, const cs_cluster *cluster,
                       fault_items *list)
{
    for (size_t i = 0; i < faults->n && !cs_reading_failed(r); i++) {
        const cs_fault *fault = &faults->faults[i];
        if (fault->is_down || fault->capacity.slowdown > 1) {
            append(r, list, fault, cluster, i);
        }
    }
}

/* A line of a trace, and the line of the same server before it. */
typedef struct trace_step {
    size_t index;
    double rate_Bps, factor; /* as it is in the file, and what it is multiplied by */
} trace_step;

/* What amplifies a rate: it is that of the line before where the rate has not changed. */
static double amplify(const trace_step *before, double rate_Bps, double amplify_ratio)
{
    if (rate_Bps < before->rate_Bps) {
        return 1 - amplify_ratio;
    }
    return rate_Bps > before->rate_Bps ? 1 + amplify_ratio : before->factor;
}

/* The lines of a server, one fault per line whose rate is below the NIC's. */
static void add_trace_of(cs_reading *r, const cs_bandwidth_trace *trace, const trace_keys *keys,
                         const cs_cluster *cluster, uint32_t server, fault_items *list)
{
    double     sharers     = cluster->nic_sharers > 1 ? cluster->nic_sharers : 1;
    double     nominal_Bps = sharers * cs_server_Bps(cluster, server, CS_NIC); /* of the NIC */
    trace_step before      = {SIZE_MAX, 0, 1};

    for (size_t i = 0; i <= trace->n && !cs_reading_failed(r); i++) {
        if (i < trace->n && trace->server != NULL && trace->server[i] != server) {
            continue;
        }
        double until_s  = i < trace->n ? trace->time_s[i] : (double)INFINITY;
        double rate     = before.rate_Bps * before.factor * keys->scale;
        double slowdown = nominal_Bps / rate;
        bool   is_dead  = !(slowdown <= CS_MAX_SLOWDOWN);
        if (before.index != SIZE_MAX && slowdown > 1) {
            cs_fault fault = {.kind     = CS_FAULT_slowdown,
                              .is_down  = is_dead,
                              .capacity = {cs_server_first(cluster, server),
                                           is_dead ? (double)INFINITY : slowdown,
                                           trace->time_s[before.index], until_s, false}};
            append(r, list, &fault, cluster, NO_FAULT);
        }
        if (i < trace->n) {
            bool   is_first = before.index == SIZE_MAX;
            double factor =
                is_first ? 1 : amplify(&before, trace->rate_Bps[i], keys->amplify_ratio);
            before = (trace_step){i, trace->rate_Bps[i], factor};
        }
    }
}

static void add_trace(cs_reading *r, const cs_place *place, const cs_bandwidth_trace *trace,
                      const trace_keys *keys, const cs_cluster *cluster, fault_items *list)
{
    uint32_t n = cs_n_servers(cluster);

    if (trace->server == NULL) {
        add_trace_of(r, trace, keys, cluster, cs_server_of(cluster, keys->rank), list);
        return;
    }
    for (size_t i = 0; i < trace->n; i++) {
        if (trace->server[i] >= n) {
            cs_place file = cs_place_get(place, "file");
            CS_REFUSE(r, &file, CS_EINVAL, "has rates of server %u: accepted are 0 to %u",
                      trace->server[i], n - 1);
            return;
        }
    }
    for (uint32_t server = 0; server < n; server++) {
        add_trace_of(r, trace, keys, cluster, server, list);
    }
}

static void read_trace(cs_reading *r, const cs_place *place, const cs_cluster *cluster,
                       fault_items *list)
{
    trace_keys         keys  = {.file = NULL};
    cs_bandwidth_trace trace = {0};

    cs_fields_default(trace_fields, &keys);
    if (cs_read_fields(r, place, trace_fields, &keys) &&
        cs_bandwidth_load(keys.file, keys.rank == ALL_SERVERS, &trace, &r->error) == CS_OK) {
        add_trace(r, place, &trace, &keys, cluster, list);
        cs_bandwidth_free(&trace);
    }
}

static int compare(const void *left, const void *right)
{
    const fault_item *a = left, *b = right;

    if (a->server != b->server) {
        return a->server < b->server ? -1 : 1;
    }
    if (a->fault.capacity.from_s != b->fault.capacity.from_s) {
        return a->fault.capacity.from_s < b->fault.capacity.from_s ? -1 : 1;
    }
    return a->index < b->index ? -1 : a->index > b->index;
}

/* Refuse what cannot be together, at its place in the configuration. */
static void check_together(cs_reading *r, const cs_place *root, const fault_items *list,
                           const cs_fault *faults, const cs_cluster *cluster)
{
    cs_arena     arena = {0};
    cs_capacity *steps = NULL;
    size_t       n = 0, wrong = 0;
    cs_error     why    = {0};
    cs_status    status = cs_faults_merge(cluster, faults, list->n, CS_MAY_LOSE_SERVERS, &arena,
                                          &steps, &n, &wrong, &why);

    if (status == CS_ENOMEM) {
        (void)CS_NO_MEMORY(&r->error, "faults");
    } else if (status != CS_OK) {
        cs_place place = cs_place_get(root, "faults");
        cs_fault_refuse(r, &place, list->items[wrong].index, &why);
    }
    cs_arena_free(&arena);
}

/* "faults", and "bandwidth_trace" beside it. */
static void read_faults(cs_reading *r, const cs_place *place, const cs_field *row, void *object)
{
    cs_whatif_job *job    = object;
    cs_fault_list  faults = {NULL, 0};
    fault_items    list   = {NULL, 0, 0};
    cs_place       trace  = cs_place_get(place->parent, "bandwidth_trace");

    if (place->node != NULL) {
        cs_read_row(r, place, row, &faults);
    }
    add_faults(r, &faults, &job->call.scenario.cluster, &list);
    read_trace(r, &trace, &job->call.scenario.cluster, &list);
    if (cs_reading_failed(r) || list.n == 0) {
        return;
    }
    qsort(list.items, list.n, sizeof *list.items, compare);
    cs_fault *sorted = CS_ARENA_NEW(r->arena, cs_fault, list.n);
    if (sorted == NULL) {
        (void)CS_NO_MEMORY(&r->error, "faults");
        return;
    }
    for (size_t i = 0; i < list.n; i++) {
        sorted[i] = list.items[i].fault;
    }
    check_together(r, place->parent, &list, sorted, &job->call.scenario.cluster);
    job->faults   = sorted;
    job->n_faults = list.n;
}

/* ---- the root, in the order in which it is read ---- */

/* Everything that a scenario of the job's size can be refused for. */
static void check_cluster(cs_reading *r, const cs_whatif_job *job)
{
    if (!cs_reading_failed(r)) {
        (void)!cs_scenario_check(&job->call.scenario, &r->error);
    }
}

/* Every rank begins with as many samples as the others. */
static void check_batch(cs_reading *r, const cs_place *root, const cs_whatif_job *job)
{
    cs_place place   = cs_place_get(root, "job");
    cs_place batch   = cs_place_get(&place, "batch");
    uint32_t n_ranks = job->call.scenario.cluster.n_ranks;

    if (!cs_reading_failed(r) && job->batch % n_ranks != 0) {
        CS_REFUSE(r, &batch, CS_EINVAL,
                  "%llu samples are not shared evenly by %u ranks: accepted are multiples of that",
                  (unsigned long long)job->batch, n_ranks);
    }
}

/* The algorithm, once the cluster is known to be one. */
static void read_algorithm(cs_reading *r, const cs_place *place, const cs_field *row, void *object)
{
    cs_read_algorithm(r, place, row, object);
    check_cluster(r, object);
    check_batch(r, place->parent, object);
}

/* clang-format off */
const cs_field cs_whatif_fields[] = {
    CS_KEY(cs_whatif_job, name, "name", .help = "a name for people"),
    {.name = "description", .type = CS_FIELD_TEXT, .offset = CS_NOWHERE, .help = "a text for people"},
    {.name = "job", .type = CS_FIELD_OBJECT, .fields = job_fields, .is_required = true, .help = "iterations of training"},
    {.name = "model", .type = CS_FIELD_PLUG_IN, .offset = offsetof(cs_whatif_job, call.model),
     .beside = offsetof(cs_whatif_job, call.model_options), .names = &cs_model_names, .read = cs_read_model,
     .help = "a port model: 'collsim list models'"},
    CS_KEY_OF(CS_FIELD_OBJECT, cs_whatif_job, call.scenario.cluster, "cluster", .fields = cs_cluster_fields,
              .read = cs_read_cluster, .help = "ranks, servers and the ports between them"),
    {.name = "algorithm", .type = CS_FIELD_PLUG_IN, .offset = offsetof(cs_whatif_job, schedule.algorithm),
     .beside = offsetof(cs_whatif_job, schedule.options), .names = &cs_algorithm_names,
     .read = read_algorithm, .help = "what runs without a fault"},
    {.name = "timers", .type = CS_FIELD_OBJECT, .fields = timers_fields, .read = read_timers,
     .help = "how fast things are noticed and done"},
    {.name = "interference", .type = CS_FIELD_OBJECT, .fields = interference_fields, .read = read_interference,
     .help = "GPUs that other work slows"},
    {.name = "profile", .type = CS_FIELD_OBJECT, .fields = profile_fields, .read = read_profile,
     .help = "algorithms run from the begin and know the rates of their last profile"},
    {.name = "death", .type = CS_FIELD_OBJECT, .fields = death_fields, .read = read_death, .help = "a worker that dies"},
    {.name = "failures", .type = CS_FIELD_OBJECT, .fields = cs_failures_fields, .read = cs_read_failures,
     .help = "servers that fail again and again, for days"},
    CS_KEY(cs_whatif_job, call.scenario.seed, "seed", .fallback = 1, .max = 0x1p53, .help = "of everything that is random"),
    {.name = "policies", .type = CS_FIELD_LIST, .fields = a_policy, .read = read_policies, .min = 1,
     .help = "what to do about faults: iccl, exclude, shrink, restart, spare, wait and algorithms"},
    CS_KEY_LIST(cs_fault_list, faults, n, "faults", a_fault, .read = read_faults, .help = "NICs that fail"),
    {.name = "bandwidth_trace", .type = CS_FIELD_OBJECT, .fields = trace_fields, .read = cs_read_elsewhere,
     .help = "a measured rate of NICs"},
    {.name = "$schema", .type = CS_FIELD_TEXT, .offset = CS_NOWHERE,
     .help = "for editors: the JSON Schema of configurations; ignored"},
    CS_FIELD_END,
};
/* clang-format on */

cs_status cs_whatif_read(const cs_config *config, cs_whatif_job *job_p, cs_error *err)
{
    cs_whatif_job job = {
        .call = {.scenario = {.collective = CS_ALLREDUCE, .seed = 1}, .verify = true}};
    cs_reading reading = {.arena   = &job.arena,
                          .file_of = cs_config_file_of,
                          .cache   = config->files,
                          .context = config};
    json_t    *tree    = json_deep_copy(config->tree);

    if (config->axes.n_axes > 0) {
        (void)CS_FAIL(&reading.error, CS_EINVAL, "sweep", "a what-if takes one job, not a sweep");
    } else if (tree == NULL) {
        (void)CS_NO_MEMORY(&reading.error, "a job");
    } else {
        cs_place root = cs_place_root(tree);
        cs_fields_default(cs_whatif_fields, &job);
        (void)cs_read_fields(&reading, &root, cs_whatif_fields, &job);
        cs_check_failures(&reading, &root, &job);
    }
    json_decref(tree);
    job.files = reading.files;
    if (cs_reading_failed(&reading)) {
        cs_status status =
            cs_config_locate_error(config, &reading.error, reading.key_is_wrong, CS_NO_POINT, err);
        cs_whatif_job_free(&job);
        return status;
    }
    *job_p = job;
    return CS_OK;
}

void cs_whatif_job_free(cs_whatif_job *job)
{
    cs_held_files_release(job->files);
    cs_fault_history_free(&job->history);
    cs_arena_free(&job->arena);
    *job = (cs_whatif_job){0};
}
