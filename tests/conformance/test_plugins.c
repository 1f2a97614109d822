/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What every algorithm and every model promises beside what it computes: its description, its
 * options, and a clean end whichever allocation fails. */
#include "base/alloc.h"
#include "cs/result.h"
#include "support/stream.h"

#include <criterion/criterion.h>
#include <malloc.h>
#include <string.h>

static void check_description(const char *name, const char *summary, const char *source)
{
    cr_assert(name != NULL && name[0] != '\0');
    cr_assert(summary != NULL && strchr(summary, '\n') == NULL && strlen(summary) > 20, "%s", name);
    cr_assert(source != NULL && source[0] != '\0', "%s", name);
    cr_assert(strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-") == strlen(name), "%s", name);
}

static bool ends_in(const char *text, const char *end)
{
    size_t length = strlen(text), size = strlen(end);
    return length >= size && strcmp(text + length - size, end) == 0;
}

/* A real number is a quantity, so its key ends in a unit, or says that it is a ratio (an error rate
 * is one, and so is a share). */
static bool has_unit(const char *name)
{
    return ends_in(name, "_s") || ends_in(name, "_bytes") || ends_in(name, "_Bps") ||
           ends_in(name, "_ratio") || ends_in(name, "_fraction") || ends_in(name, "_rate") ||
           ends_in(name, "share");
}

/* Options are numbers, truth values, choices and texts only: they are sent between ranks. */
static const size_t option_bytes[CS_FIELD_ANY + 1] = {
    [CS_FIELD_BOOL] = sizeof(bool),    [CS_FIELD_U32] = sizeof(uint32_t),
    [CS_FIELD_U64] = sizeof(uint64_t), [CS_FIELD_F64] = sizeof(double),
    [CS_FIELD_CHOICE] = sizeof(int),
};

static void check_row(const cs_field *row, size_t struct_bytes, const char *owner)
{
    bool is_auto = row->has_auto && row->fallback >= (double)CS_AUTO;

    cr_assert(row->help != NULL && strchr(row->help, '\n') == NULL, "%s.%s", owner, row->name);
    size_t bytes = row->type == CS_FIELD_CHARS ? row->bytes : option_bytes[row->type];
    cr_assert(bytes > 0 && bytes <= CS_OPTION_TEXT_BYTES, "%s.%s", owner, row->name);
    cr_assert_leq(row->offset + bytes, struct_bytes, "%s.%s", owner, row->name);
    cr_assert_leq(row->max, 9007199254740992.0, "%s.%s: values travel as doubles", owner,
                  row->name);
    cr_assert_leq(row->min, row->max, "%s.%s", owner, row->name);
    cr_assert(is_auto || (row->fallback >= row->min && row->fallback <= row->max),
              "%s.%s: the default is outside the range", owner, row->name);
    cr_assert(row->type != CS_FIELD_F64 || has_unit(row->name),
              "%s.%s: the key of a quantity ends in its unit", owner, row->name);
    cr_assert_eq(row->type == CS_FIELD_CHOICE, row->choices != NULL, "%s.%s", owner, row->name);
}

static void check_table(const cs_field *table, size_t struct_bytes, const char *owner)
{
    cr_assert_leq(struct_bytes, CS_OPTIONS_MAX_BYTES, "%s", owner);
    cr_assert((table == NULL) == (struct_bytes == 0), "%s", owner);
    for (const cs_field *row = table; row != NULL && row->name != NULL; row++) {
        check_row(row, struct_bytes, owner);
        for (const cs_field *other = table; other < row; other++) {
            cr_assert_str_neq(other->name, row->name, "%s", owner);
        }
    }
}

Test(plugins, algorithms_describe_themselves)
{
    for (size_t i = 0; cs_algorithms[i] != NULL; i++) {
        const cs_algorithm *a = cs_algorithms[i], *found = NULL;
        check_description(a->name, a->summary, a->source);
        check_table(a->options, a->options_bytes, a->name);
        cr_assert(a->check != NULL && a->next_block != NULL && a->close != NULL);
        cr_assert((a->open != NULL) != (a->open_prepared != NULL), "%s", a->name);
        cr_assert((a->open_prepared != NULL) == (a->release != NULL), "%s", a->name);
        cr_assert(a->collectives != 0 && a->collectives >> CS_COLLECTIVE_COUNT == 0);
        cr_assert(i == 0 || strcmp(cs_algorithms[i - 1]->name, a->name) < 0, "not alphabetical");
        cr_assert(cs_algorithm_find(a->name, &found, NULL) == CS_OK && found == a);
    }
}

Test(plugins, models_describe_themselves)
{
    for (size_t i = 0; cs_models[i] != NULL; i++) {
        const cs_model *m = cs_models[i], *found = NULL;
        check_description(m->name, m->summary, m->source);
        cr_assert_not_null(strstr(m->summary, "leaves out"), "%s", m->name);
        check_table(m->options, m->options_bytes, m->name);
        cr_assert((m->serve != NULL) != (m->network != NULL) && m->latency_s != NULL);
        cr_assert(cs_model_find(m->name, &found, NULL) == CS_OK && found == m);
    }
    cr_assert_str_eq(cs_models[0]->name, "alpha-beta", "the default model");
}

Test(plugins, unknown_names_are_refused_with_the_nearest)
{
    const cs_algorithm *algorithm = NULL;
    const cs_model     *model     = NULL;
    cs_error            err       = {0};

    cr_assert_eq(cs_algorithm_find("rinng", &algorithm, &err), CS_ENOENT);
    cr_assert_not_null(strstr(err.message, "'ring'"), "%s", err.message);
    cr_assert_null(algorithm);
    err = (cs_error){0};
    cr_assert_eq(cs_model_find("logp", &model, &err), CS_ENOENT);
    cr_assert_not_null(strstr(err.message, "'loggp'"), "%s", err.message);
    for (const cs_missing *m = cs_models_missing; m->name != NULL; m++) {
        err = (cs_error){0};
        cr_assert_eq(cs_model_find(m->name, &model, &err), CS_EMISSING);
        cr_assert_not_null(strstr(err.message, m->missing), "%s", err.message);
    }
    cr_assert_null(model);
}

/* Collectives that an algorithm does not list are refused with a reason and what it does do. */
Test(plugins, other_collectives_are_refused)
{
    static ct_scene scene;

    for (size_t i = 0; cs_algorithms[i] != NULL; i++) {
        for (int c = 0; c < CS_COLLECTIVE_COUNT; c++) {
            cs_error err = {0};
            if ((cs_algorithms[i]->collectives >> c & 1u) == 0) {
                ct_scene_set(&scene, cs_algorithms[i]->name, (cs_collective)c, 4, 4096);
                cr_assert_eq(ct_scene_check(&scene, &err), CS_ENOTSUP);
                cr_assert_str_eq(err.where, "collective");
                cr_assert_not_null(strstr(err.message, "it does "), "%s", err.message);
            }
        }
    }
}

/* Sanitizers count no bytes in use: they find a leak when the test ends, and who leaked. */
#ifdef __SANITIZE_ADDRESS__
enum { REPEATS = 1 };
#else
enum { REPEATS = 2 };
#endif

/* Exact without the cache of glibc's threads: tests/CMakeLists.txt sets it to nothing. */
static size_t bytes_in_use(void)
{
    return mallinfo2().uordblks;
}

/* One run of which only the first `passes` allocations succeed. */
static cs_status starved(const cs_job *job, const cs_observer *observer, long passes)
{
    cs_error  err    = {0};
    cs_result result = {.ranks = 77};

    cs_alloc_fail_after(passes);
    cs_status status = cs_job_run(job, observer, observer != NULL, &result, &err);
    cs_alloc_fail_after(-1);
    cr_assert(status == CS_OK || status == CS_ENOMEM, "%s: %s", job->algorithm->name, err.message);
    cr_assert(status == CS_OK || (err.status == CS_ENOMEM && err.message[0] != '\0'));
    cr_assert(status == CS_OK || result.ranks == 77, "a result in spite of a failure");
    return status;
}

/* Let the first, second, third .. allocation fail until the run succeeds; beyond the first 128,
 * where a planner replays again what it has replayed before, a growing number is passed over.
 * Every run is repeated: what the C library keeps for itself no longer grows then, a leak does. */
static void starve(const cs_job *job, const cs_observer *observer)
{
    cs_status status = CS_ENOMEM;
    long      passes = 0;

    for (; status != CS_OK; passes += 1 + passes / 128) {
        size_t in_use[2];
        for (int half = 0; half < 2; half++) {
            for (int i = 0; i < REPEATS; i++) {
                status = starved(job, observer, passes);
            }
            in_use[half] = bytes_in_use();
        }
        cr_assert_eq(in_use[0], in_use[1], "%s on %s leaks when allocation %ld fails",
                     job->algorithm->name, job->model->name, passes);
        cr_assert_lt(passes, 10000);
    }
    cr_assert_gt(passes, 1, "hardly anything was allocated");
}

static cs_status look_away(void *user, const cs_block *block, const cs_interval *intervals,
                           cs_error *err)
{
    (void)user;
    (void)block;
    (void)intervals;
    (void)err;
    return CS_OK;
}

/* AllReduce where the algorithm does it, else the first one that it does. */
static cs_collective a_collective_of(const cs_algorithm *algorithm)
{
    uint32_t c = CS_ALLREDUCE;

    while ((algorithm->collectives >> c & 1u) == 0) {
        c = (c + 1) % CS_COLLECTIVE_COUNT;
    }
    return (cs_collective)c;
}

Test(plugins, no_algorithm_takes_other_collectives)
{
    static ct_scene scene;

    for (size_t a = 0; cs_algorithms[a] != NULL; a++) {
        for (cs_collective c = 0; c < CS_COLLECTIVE_COUNT; c++) {
            cs_error err = {0};
            if ((cs_algorithms[a]->collectives >> c & 1u) != 0) {
                continue;
            }
            ct_scene_set(&scene, cs_algorithms[a]->name, c, 8, 4096);
            cr_assert_eq(ct_scene_check(&scene, &err), CS_ENOTSUP);
            cr_assert_str_eq(err.where, "collective");
            cr_assert_not_null(strstr(err.message, cs_collective_name(c)), "%s", err.message);
        }
    }
}

Test(plugins, any_allocation_may_fail)
{
    static ct_scene scene;
    cs_observer     observer = {.block = look_away};

    for (size_t a = 0; cs_algorithms[a] != NULL; a++) {
        for (size_t m = 0; cs_models[m] != NULL; m++) {
            for (int faults = 0; faults < 3; faults++) {
                /* Behind the dispatcher memory grows with what is under way: few ranks. Where
                 * processes are started or trees synthesised, which takes its time, fewer runs. */
                const cs_network *network     = cs_models[m]->network;
                bool              makes_trees = strcmp(cs_algorithms[a]->name, "adapcc") == 0;
                uint32_t          n           = makes_trees ? 4 : network != NULL ? 16 : 32;
                bool              is_refused =
                    ct_adds_in_switches(cs_algorithms[a]) && !cs_models[m]->takes_switches;
                if (is_refused ||
                    (network != NULL && network->is_foreign && a % 8 != (size_t)faults) ||
                    (makes_trees && m % 3 != (size_t)faults)) {
                    continue;
                }
                ct_scene_set(&scene, cs_algorithms[a]->name, a_collective_of(cs_algorithms[a]), n,
                             4096);
                const uint32_t g = scene.scenario.cluster.gpus_per_server;
                if (faults == 2) { /* servers with a mesh, of which GPUs drive some links */
                    scene.scenario.cluster.gpus_per_server         = 4;
                    scene.scenario.cluster.fabrics[CS_NVLINK].kind = CS_DIRECT;
                    scene.scenario.cluster.nvlink_concurrent       = 2;
                    bool is_accepted = ct_scene_check(&scene, NULL) == CS_OK;
                    if (!is_accepted) {
                        scene.scenario.cluster.gpus_per_server         = g;
                        scene.scenario.cluster.fabrics[CS_NVLINK].kind = CS_SWITCHED;
                        scene.scenario.cluster.nvlink_concurrent       = 0;
                    }
                }
                scene.capacity[0] = (cs_capacity){1, 2, 0, faults == 1 ? 1.0 / 0.0 : 1e-3, false};
                scene.scenario.capacity   = scene.capacity;
                scene.scenario.n_capacity = faults > 0;
                const cs_job job          = ct_scene_given(&scene, cs_models[m]->name);
                starve(&job, faults != 2 ? &observer : NULL);
            }
        }
    }
}

/* The second look at a wrong schedule allocates, too. */
Test(plugins, any_allocation_of_the_second_look_may_fail)
{
    static ct_scene scene;
    cs_status       status = CS_ENOMEM;
    cs_verdict      verdict;

    ct_scene_set(&scene, "stragglar", CS_ALLREDUCE, 8, 4096);
    ct_scene_ready(&scene);
    ct_stream stream = ct_stream_record(&scene, 512);
    ct_stream_remove(&stream, stream.count / 2);
    cs_plan plan = scene.plan;
    ct_scene_play(&scene, &stream, &plan);
    const cs_job job = ct_scene_job(&scene, NULL);
    for (long passes = 0; status != CS_OK; passes++) {
        cs_error err = {0};
        cs_alloc_fail_after(passes);
        status = cs_job_verify(&job, &verdict, &err);
        cs_alloc_fail_after(-1);
        cr_assert(status == CS_OK || status == CS_ENOMEM);
        cr_assert_lt(passes, 100);
    }
    cr_assert(!verdict.is_correct && verdict.is_located);
    ct_stream_free(&stream);
}
