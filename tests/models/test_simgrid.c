/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The simgrid model against the flow model: every algorithm on crossbars with late ranks and NICs
 * that fail and recover, random schedules over leaves and spines. Then children that fail. Where
 * SimGrid was not built in, the tests say so and pass. */
#include "base/alloc.h"
#include "cs/topology.h"
#include "support/scene.h"
#include "support/stream.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SCENES_EACH = 8, CASES = 1000, MOST_LINKS = 2 * 64 * 3 };

static ct_scene scene;

static const cs_model *model_of(const char *name)
{
    const cs_model *model = NULL;
    cs_error        err   = {0};

    if (cs_model_find(name, &model, &err) != CS_OK) {
        (void)fprintf(stderr, "skipped: %s\n", err.message);
    }
    return model;
}

static void expect_same(const ct_run *want, const ct_run *got, const char *what)
{
    double unit_s = want->outcome.elapsed_s;

    cr_assert_eq(got->count, want->count);
    for (size_t i = 0; i < want->count; i++) {
        cs_interval a = want->intervals[i], b = got->intervals[i];
        cr_assert(fabs(a.start_s - b.start_s) <= 1e-9 * unit_s &&
                      fabs(a.end_s - b.end_s) <= 1e-9 * unit_s,
                  "%s: %s: transfer %zu in [%.17g, %.17g] s on simgrid, [%.17g, %.17g] s on flow",
                  what, ct_scene_text(&scene), i, b.start_s, b.end_s, a.start_s, a.end_s);
    }
    cr_assert(ct_is_close(want->outcome.elapsed_s, got->outcome.elapsed_s, 1e-9), "%s: %s", what,
              ct_scene_text(&scene));
    cr_assert_eq(got->outcome.verified, want->outcome.verified);
}

/* What the scene takes on both. */
static void compare(const char *what)
{
    cs_options options = {0};

    cs_fields_default(model_of("flow")->options, &options);
    ct_run want = ct_scene_observe_on(&scene, model_of("flow"), &options);
    ct_run got  = ct_scene_observe_on(&scene, model_of("simgrid"), NULL);
    expect_same(&want, &got, what);
    ct_run_free(&want);
    ct_run_free(&got);
}

Test(simgrid, is_flow_for_every_algorithm_on_crossbars)
{
    for (size_t a = 0; cs_algorithms[a] != NULL && model_of("simgrid") != NULL; a++) {
        ct_rng rng = ct_rng_for(4200 + a);
        for (int i = 0; i < SCENES_EACH; i++) {
            char what[80];
            ct_scene_random(&scene, cs_algorithms[a], &rng);
            if (i % 3 != 0) {
                ct_scene_break_nics(&scene, &rng);
                ct_scene_ready(&scene);
            }
            (void)snprintf(what, sizeof what, "seed %llu, scene %d", (unsigned long long)ct_seed(),
                           i);
            compare(what);
        }
    }
}

/* Messages between anybody, alone, in groups and in exchanges. */
static void random_stream(ct_stream *stream, uint32_t n, uint32_t chunks, ct_rng *rng)
{
    uint32_t round = 0;

    for (uint32_t i = 1 + ct_below(rng, 8 * n); i > 0; i--) {
        uint32_t src = ct_below(rng, n), dst = (src + 1 + ct_below(rng, n - 1)) % n;
        uint32_t chunk = ct_below(rng, chunks);
        bool     group = ct_below(rng, 2) == 0;
        cs_op    op    = (cs_op)(ct_below(rng, 3) == 0 ? CS_OP_EXCHANGE : CS_OP_REDUCE);
        round += ct_below(rng, 4) == 0;
        cs_transfer t = {.bytes     = ct_below(rng, 20) == 0 ? 0 : 1 + ct_word(rng) % 100000000,
                         .src       = src,
                         .dst       = dst,
                         .chunk     = chunk,
                         .span      = 1,
                         .round     = round,
                         .src_slot  = (uint16_t)chunk,
                         .dst_slot  = (uint16_t)chunk,
                         .op_fabric = cs_op_fabric(group ? CS_OP_REDUCE : op, CS_NIC),
                         .flags     = (uint8_t)(group ? CS_SHARED : 0)};
        ct_stream_add(stream, t, NULL);
    }
}

static void random_case(ct_rng *rng, const char *what)
{
    static cs_link links[MOST_LINKS];
    ct_stream      stream = {0};
    cs_topology    topology;
    uint32_t       n = 2 + ct_below(rng, 15);

    ct_scene_set(&scene, "ring", CS_ALLREDUCE, n, 1 + ct_word(rng) % (1u << 28));
    cs_fabric    *nic   = &scene.scenario.cluster.fabrics[CS_NIC];
    cs_leaf_spine shape = {1 + ct_below(rng, n), 1 + ct_below(rng, 3), 0,
                           ct_below(rng, 2) * ct_uniform(rng, 0, 1e-5)};
    while ((n + shape.n_leaves - 1) / shape.n_leaves * (shape.n_leaves - 1) >= n) {
        shape.n_leaves--; /* no leaf is empty */
    }
    *nic = (cs_fabric){CS_SWITCHED, ct_below(rng, 2) * ct_uniform(rng, 0, 1e-5),
                       pow(10, ct_uniform(rng, 8, 11))};
    shape.uplink_bandwidth_Bps = nic->bandwidth_Bps * pow(2, ct_below(rng, 5)) / 4;
    if (ct_below(rng, 2) == 0) {
        shape.uplink_bandwidth_Bps *= ct_uniform(rng, 0.3, 1);
    }
    cs_leaf_spine_make(&shape, links, &topology);
    scene.scenario.cluster.topology = &topology;
    if (ct_below(rng, 2) == 0) {
        ct_scene_arrive(&scene, rng, ct_scene_late_s(&scene, rng));
    }
    if (ct_below(rng, 2) == 0) {
        ct_scene_break_nics(&scene, rng);
    }
    ct_scene_ready(&scene);
    random_stream(&stream, n, 4, rng);
    const cs_plan plan = {.n_chunks = 4,
                          .n_slots  = 4,
                          .n_rounds = 8 * 16 + 1,
                          .uses     = CS_USES_SHARED | CS_USES_EXCHANGE};
    ct_scene_play(&scene, &stream, &plan);
    compare(what);
    ct_stream_free(&stream);
}

Test(simgrid, is_flow_on_random_schedules_over_leaves_and_spines)
{
    ct_rng rng = ct_rng_for(4300);

    for (int i = 0; i < CASES && model_of("simgrid") != NULL; i++) {
        char what[80];
        (void)snprintf(what, sizeof what, "seed %llu, case %d", (unsigned long long)ct_seed(), i);
        random_case(&rng, what);
    }
    if (model_of("simgrid") != NULL) {
        (void)fprintf(stderr, "%d cases, seed %llu\n", CASES, (unsigned long long)ct_seed());
    }
}

static size_t files_open(void)
{
    DIR   *folder = opendir("/proc/self/fd");
    size_t n      = 0;

    cr_assert_not_null(folder);
    while (readdir(folder) != NULL) {
        n++;
    }
    closedir(folder);
    return n;
}

static void expect_no_child(void)
{
    cr_assert(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD, "a process is left");
}

static cs_status replay(cs_error *err)
{
    cs_outcome outcome;
    cs_job     job = ct_scene_job(&scene, "simgrid");

    job.verify = false;
    return cs_job_replay(&job, NULL, 0, &outcome, err);
}

static void set_ring(void)
{
    ct_scene_set(&scene, "ring", CS_ALLREDUCE, 4, 1000000);
    ct_scene_ready(&scene);
}

Test(simgrid, leaves_nothing_behind_when_memory_ends)
{
    cs_status status = CS_ENOMEM;
    long      passes = 0;

    if (model_of("simgrid") == NULL) {
        return;
    }
    set_ring();
    size_t files = files_open();
    for (; status != CS_OK; passes++) {
        cs_error err = {0};
        cs_alloc_fail_after(passes);
        status = replay(&err);
        cs_alloc_fail_after(-1);
        cr_assert(status == CS_OK || status == CS_ENOMEM, "%ld: %s", passes, err.message);
        expect_no_child();
        cr_assert_eq(files_open(), files);
    }
    cr_assert_gt(passes, 10);
}

/* Put a program in the child's place: a shell script. */
static void replay_with(const char *script, const char *want)
{
    char     folder[] = "/tmp/collsim-test-XXXXXX", path[64];
    cs_error err      = {0};

    cr_assert_not_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/collsim-simgrid", folder);
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    (void)fprintf(file, "#!/bin/sh\n%s\n", script);
    (void)fclose(file);
    cr_assert_eq(chmod(path, 0700), 0);
    size_t files = files_open();
    (void)setenv("COLLSIM_MODULES", folder, 1);
    cs_status status = replay(&err);
    cr_assert_eq(status, CS_EIO, "%s: %s", script, cs_status_text(status));
    cr_assert_str_eq(err.where, "model");
    cr_assert_not_null(strstr(err.message, want), "%s: %s", script, err.message);
    cr_assert_eq(files_open(), files);
    expect_no_child();
    (void)unlink(path);
    (void)rmdir(folder);
}

Test(simgrid, says_how_its_child_failed)
{
    if (model_of("simgrid") == NULL) {
        return;
    }
    set_ring();
    replay_with("echo no such library >&2; echo more; exit 127",
                "ended with status 127: no such library");
    replay_with("kill -KILL $$", "ended by signal 9");
    replay_with("exit 0", "ended with status 0");
    replay_with("head -c 16 >/dev/null; printf nonsense >&0; sleep 60", "a reply makes no sense");
    replay_with("printf '\\006\\0\\0\\0\\003\\0\\0\\0out' >&0; sleep 60", "collsim-simgrid: out");
    replay_with("printf '\\004\\0\\0\\0\\0\\0\\0\\0' >&0; kill -TERM $$", "ended by signal 15");
    /* An end at which nobody had begun. */
    replay_with(
        "printf '\\004\\0\\0\\0\\0\\0\\0\\0\\005\\0\\0\\0\\024\\0\\0\\0' >&0; "
        "printf '\\0\\0\\0\\0\\0\\0\\0\\0\\001\\0\\0\\0\\0\\0\\0\\0\\377\\0\\0\\0' >&0; sleep 60",
        "a flow ended that was not there");
}

Test(simgrid, names_what_is_not_there)
{
    cs_error err = {0};

    if (model_of("simgrid") == NULL) {
        return;
    }
    set_ring();
    (void)setenv("COLLSIM_MODULES", "/nowhere", 1);
    cr_assert_eq(replay(&err), CS_EMISSING);
    cr_assert_not_null(strstr(err.message, "libsimgrid-dev"), "%s", err.message);
    cr_assert_eq(model_of("simgrid")->check(&scene.scenario, NULL, NULL), CS_EMISSING);
    cr_assert_not_null(model_of("simgrid")->missing());
}

/* The process that this one has started, or 0. */
static pid_t my_child(void)
{
    char path[64];
    int  pid = 0;

    (void)snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *file = fopen(path, "r");
    if (file == NULL || fscanf(file, "%d", &pid) != 1) {
        pid = 0;
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return pid;
}

static cs_status kill_it(void *user, const cs_block *block, const cs_interval *intervals,
                         cs_error *err)
{
    pid_t *victim = user;

    (void)block;
    (void)intervals;
    (void)err;
    if (*victim == 0 && my_child() != 0) {
        *victim = my_child();
        kill(*victim, SIGKILL);
    }
    return CS_OK;
}

Test(simgrid, survives_the_end_of_its_child_under_way)
{
    pid_t       victim   = 0;
    cs_observer observer = {.block = kill_it, .user = &victim};
    cs_outcome  outcome;
    cs_error    err = {0};

    if (model_of("simgrid") == NULL) {
        return;
    }
    ct_scene_set(&scene, "ring", CS_ALLREDUCE, 64, 1000000);
    ct_scene_ready(&scene);
    cs_job job       = ct_scene_job(&scene, "simgrid");
    job.verify       = false;
    cs_status status = cs_job_replay(&job, &observer, 1, &outcome, &err);
    if (victim == 0) {
        (void)fprintf(stderr, "skipped: this kernel does not name a process's children\n");
        return;
    }
    cr_assert_eq(status, CS_EIO);
    cr_assert_not_null(strstr(err.message, "ended by signal 9"), "%s", err.message);
    expect_no_child();
}
