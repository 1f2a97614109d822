/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A job on NICs that fail, from JSON: see config/whatif_json.h. The timeline of faults and the
 * bandwidth trace become one sorted list of outages (whatif_faults.c). */
#include "config/whatif_json.h"

#include "config/config_state.h"
#include "config/scenario_json.h"
#include "config/whatif_faults.h"

#include <math.h>
#include <string.h>

#define COUNT(list) (sizeof(list) / sizeof(list)[0])

enum { MAX_CALLS = 100000 };

#define MAX_ITERATIONS ((uint64_t)1 << 40)
#define MAX_TIME_S     1e12

static const char *const root_keys[] = {
    "name",   "description",     "job",      "algorithm", "cluster", "model",
    "faults", "bandwidth_trace", "policies", "timers",
};
static const char *const job_keys[] = {
    "iterations", "compute", "bytes", "calls", "overlap", "horizon",
};
static const char *const timer_keys[] = {
    "preset", "detect",     "reschedule",     "restart",
    "rejoin", "ib_timeout", "ib_retry_count", "tolerance",
};

/* The policies that are no algorithm. */
static const cs_whatif_policy plain_policies[] = {
    {.name = "healthy", .kind = CS_POLICY_HEALTHY},
    {.name = "iccl", .kind = CS_POLICY_KEEP},
    {.name = "exclude", .kind = CS_POLICY_EXCLUDE},
    {.name = "wait", .kind = CS_POLICY_WAIT},
};
static const char *const default_policies[] = {"iccl", "r2ccl", "optcc", "exclude", "wait"};

/* The timers of a preset. `ib_timeout` > 0: detection is InfiniBand's retransmission, whose
 * time is ib_retry_count * 4.096 us * 2^ib_timeout. */
typedef struct timer_preset {
    double   detect_s, reschedule_s, restart_s;
    uint32_t ib_timeout, ib_retry_count;
} timer_preset;

static const char *const  preset_names[] = {"default", "nccl"};
static const timer_preset presets[]      = {
         {.detect_s = 0.1, .reschedule_s = 1e-3, .restart_s = 600},
         {.reschedule_s = 1e-3, .restart_s = 600, .ib_timeout = 20, .ib_retry_count = 7},
};

static double ib_detect_s(uint32_t timeout, uint32_t retry_count)
{
    return retry_count * ldexp(4.096e-6, (int)timeout);
}

/* A time in [0, MAX_TIME_S]; null is INFINITY where it is allowed. */
static void read_time(cs_reading *r, const cs_field *parent, const char *key, bool has_null,
                      double *time_s_p)
{
    cs_field field = cs_field_get(parent, key);

    if (has_null && field.node != NULL && json_is_null(field.node)) {
        *time_s_p = (double)INFINITY;
        return;
    }
    double time_s = *time_s_p;
    cs_read_time(r, parent, key, &time_s);
    if (!cs_reading_failed(r) && field.node != NULL && !(time_s >= 0 && time_s <= MAX_TIME_S)) {
        CS_REFUSE(r, &field, CS_EINVAL, "%.15g s is outside [0 s, %.15g s]", time_s, MAX_TIME_S);
        return;
    }
    *time_s_p = time_s;
}

static void read_job(cs_reading *r, const cs_field *root, cs_whatif_job *job)
{
    cs_field field = cs_field_get(root, "job");

    cs_read_required(r, root, "job");
    if (!cs_read_object(r, &field, job_keys, COUNT(job_keys))) {
        return;
    }
    cs_read_required(r, &field, "iterations");
    cs_read_required(r, &field, "compute");
    cs_read_required(r, &field, "bytes");
    cs_read_whole(r, &field, "iterations", 1, MAX_ITERATIONS, &job->iterations);
    read_time(r, &field, "compute", false, &job->compute_s);
    cs_read_bytes(r, &field, "bytes", &job->bytes);
    cs_read_u32(r, &field, "calls", 1, MAX_CALLS, &job->calls);
    cs_read_number(r, &field, "overlap", 0, 1, &job->overlap_ratio);
    read_time(r, &field, "horizon", true, &job->horizon_s);
    cs_field bytes   = cs_field_get(&field, "bytes");
    cs_field horizon = cs_field_get(&field, "horizon");
    if (!cs_reading_failed(r) && (job->bytes == 0 || job->bytes > CS_MAX_BYTES)) {
        CS_REFUSE(r, &bytes, CS_EINVAL, "%llu is outside [1, %llu]", (unsigned long long)job->bytes,
                  (unsigned long long)CS_MAX_BYTES);
    }
    if (!cs_reading_failed(r) && !(job->horizon_s > 0)) {
        CS_REFUSE(r, &horizon, CS_EINVAL, "is 0: accepted are later times and null");
    }
}

/* NCCL_IB_TIMEOUT and NCCL_IB_RETRY_CNT. */
static void read_ib_timers(cs_reading *r, const cs_field *field, const timer_preset *preset,
                           cs_whatif_timers *timers)
{
    static const char *const keys[]  = {"ib_timeout", "ib_retry_count"};
    uint32_t                 timeout = preset->ib_timeout, retry_count = preset->ib_retry_count;
    cs_field                 detect = cs_field_get(field, "detect");

    for (size_t i = 0; i < COUNT(keys); i++) {
        cs_field key = cs_field_get(field, keys[i]);
        if (key.node != NULL && !cs_reading_failed(r) && preset->ib_timeout == 0) {
            CS_REFUSE(r, &key, CS_EINVAL, "belongs to the preset \"nccl\"");
        } else if (key.node != NULL && !cs_reading_failed(r) && detect.node != NULL) {
            CS_REFUSE(r, &key, CS_EINVAL,
                      "says how long detection takes, and so does 'detect': "
                      "accepted is one of them");
        }
    }
    cs_read_u32(r, field, "ib_timeout", 1, 31, &timeout);
    cs_read_u32(r, field, "ib_retry_count", 1, 7, &retry_count);
    if (preset->ib_timeout > 0) {
        timers->detect_s = ib_detect_s(timeout, retry_count);
    }
}

static void read_timers(cs_reading *r, const cs_field *root, cs_whatif_timers *timers)
{
    cs_field field = cs_field_get(root, "timers");
    size_t   index = 0;

    if (field.node != NULL && cs_read_object(r, &field, timer_keys, COUNT(timer_keys))) {
        cs_read_word(r, &field, "preset", preset_names, COUNT(preset_names), &index);
    }
    const timer_preset *preset = &presets[index];
    *timers                    = (cs_whatif_timers){.preset       = preset_names[index],
                                                    .detect_s     = preset->detect_s,
                                                    .reschedule_s = preset->reschedule_s,
                                                    .restart_s    = preset->restart_s,
                                                    .rejoin_s     = (double)INFINITY};
    if (field.node == NULL || cs_reading_failed(r)) {
        return;
    }
    read_ib_timers(r, &field, preset, timers);
    read_time(r, &field, "detect", false, &timers->detect_s);
    read_time(r, &field, "reschedule", false, &timers->reschedule_s);
    read_time(r, &field, "restart", false, &timers->restart_s);
    read_time(r, &field, "rejoin", true, &timers->rejoin_s);
    cs_read_number(r, &field, "tolerance", 0, 10, &timers->tolerance_ratio);
}

static const cs_whatif_policy *find_plain(const char *name)
{
    for (size_t i = 0; i < COUNT(plain_policies); i++) {
        if (strcmp(name, plain_policies[i].name) == 0) {
            return &plain_policies[i];
        }
    }
    return NULL;
}

/* One of a list: a word, or an algorithm with options. */
static void read_policy(cs_reading *r, const cs_field *item, cs_whatif_job *job)
{
    const char             *name   = json_string_value(item->node);
    const cs_whatif_policy *plain  = name != NULL ? find_plain(name) : NULL;
    cs_whatif_policy        policy = {.kind = CS_POLICY_SWITCH};

    if (plain != NULL) {
        policy = *plain;
    } else if (name == NULL && !json_is_object(item->node)) {
        CS_REFUSE(r, item, CS_EINVAL,
                  "is %s: accepted are healthy, iccl, exclude, wait and the names of "
                  "algorithms",
                  cs_tree_kind(item->node));
    } else {
        cs_whatif_schedule *s = &policy.schedule;
        if (name == NULL) {
            cs_read_required(r, item, "name");
        }
        cs_read_algorithm(r, item, "", &s->algorithm, &s->options);
    }
    if (cs_reading_failed(r)) {
        if (name != NULL && plain == NULL && r->error.status == CS_ENOENT) {
            r->error = (cs_error){0};
            CS_REFUSE(r, item, CS_EINVAL,
                      "unknown policy '%.40s': accepted are healthy, iccl, exclude, wait and the "
                      "names of "
                      "algorithms",
                      name);
        }
        return;
    }
    if (policy.schedule.algorithm != NULL) {
        policy.name = policy.schedule.algorithm->name;
    }
    for (size_t i = 0; i < job->n_policies; i++) {
        if (job->policies[i].name == policy.name && policy.kind == CS_POLICY_SWITCH) {
            CS_REFUSE(r, item, CS_EINVAL, "'%s' is there already", policy.name);
            return;
        }
        if (job->policies[i].name == policy.name) {
            return;
        }
    }
    job->policies[job->n_policies++] = policy;
}

/* `healthy`, then what is asked for, or the default policies. */
static void read_policies(cs_reading *r, const cs_field *root, cs_whatif_job *job)
{
    cs_field list  = cs_field_get(root, "policies");
    size_t   count = cs_read_array(r, &list);

    job->policies =
        CS_ARENA_NEW(&job->arena, cs_whatif_policy, count + COUNT(default_policies) + 1);
    if (job->policies == NULL) {
        (void)CS_FAIL(&r->error, CS_ENOMEM, "", "out of memory for policies");
        return;
    }
    job->policies[job->n_policies++] = plain_policies[0];
    if (list.node != NULL && count == 0 && !cs_reading_failed(r)) {
        CS_REFUSE(r, &list, CS_EINVAL, "names no policy: leave the key out for all of them");
    }
    for (size_t i = 0; i < count && !cs_reading_failed(r); i++) {
        cs_field item = cs_field_item(&list, i);
        read_policy(r, &item, job);
    }
    for (size_t i = 0; list.node == NULL && i < COUNT(default_policies); i++) {
        const char             *name   = default_policies[i];
        const cs_whatif_policy *plain  = find_plain(name);
        cs_whatif_policy        policy = {.name = name, .kind = CS_POLICY_SWITCH};
        if (plain == NULL && cs_algorithm_find(name, &policy.schedule.algorithm, NULL) == CS_OK) {
            cs_options_default(policy.schedule.algorithm->options, &policy.schedule.options);
        }
        job->policies[job->n_policies++] = plain != NULL ? *plain : policy;
    }
}

/* Everything that a scenario of the job's size can be refused for. */
static void check_cluster(cs_reading *r, const cs_whatif_job *job)
{
    cs_scenario scenario = {
        .collective = CS_ALLREDUCE, .bytes = job->bytes, .cluster = job->cluster};

    if (!cs_reading_failed(r)) {
        (void)!cs_scenario_check(&scenario, &r->error);
    }
}

static void read_root(cs_reading *r, json_t *tree, const char *input, cs_whatif_job *job)
{
    cs_field    root  = cs_field_root(tree);
    cs_field    model = cs_field_get(&root, "model"), algorithm = cs_field_get(&root, "algorithm");
    const char *text = NULL;

    job->calls     = 1;
    job->horizon_s = (double)INFINITY;
    if (!cs_read_object(r, &root, root_keys, COUNT(root_keys))) {
        return;
    }
    cs_read_text(r, &root, "name", &job->name);
    cs_read_text(r, &root, "description", &text);
    read_job(r, &root, job);
    cs_read_model(r, &model, &job->model, &job->model_options);
    cs_read_cluster(r, &root, job->model, &job->cluster);
    cs_read_algorithm(r, &algorithm, cs_default_algorithm(&job->cluster), &job->schedule.algorithm,
                      &job->schedule.options);
    check_cluster(r, job);
    read_timers(r, &root, &job->timers);
    read_policies(r, &root, job);
    cs_read_outages(r, &root, input, job);
}

cs_status cs_whatif_read(const cs_config *config, cs_whatif_job *job_p, cs_error *err)
{
    cs_whatif_job job     = {0};
    cs_reading    reading = {.arena   = &job.arena,
                             .file_of = cs_config_file_of,
                             .cache   = config->files,
                             .context = config};
    json_t       *tree    = json_deep_copy(config->tree);

    if (config->axes.n_axes > 0) {
        (void)CS_FAIL(&reading.error, CS_EINVAL, "sweep", "a what-if takes one job, not a sweep");
    } else if (tree == NULL) {
        (void)CS_FAIL(&reading.error, CS_ENOMEM, "", "out of memory for a job");
    } else {
        read_root(&reading, tree, config->input, &job);
    }
    json_decref(tree);
    job.files = reading.files;
    if (cs_reading_failed(&reading)) {
        cs_status status =
            cs_config_blame(config, &reading.error, reading.blames_key, CS_NO_POINT, err);
        cs_whatif_job_free(&job);
        return status;
    }
    *job_p = job;
    return CS_OK;
}

void cs_whatif_job_free(cs_whatif_job *job)
{
    cs_held_files_release(job->files);
    cs_arena_free(&job->arena);
    *job = (cs_whatif_job){0};
}
