/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "support/foreign.h"

#include "base/alloc.h"
#include "support/scene.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

const cs_model *ct_foreign_model(const char *name)
{
    const cs_model *model = NULL;
    cs_error        err   = {0};

    if (cs_model_find(name, &model, &err) != CS_OK) {
        (void)fprintf(stderr, "skipped: %s\n", err.message);
    }
    return model;
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

static cs_status replay(const ct_foreign *f, ct_scene *scene, cs_error *err)
{
    cs_outcome outcome;
    cs_job     job = ct_scene_job(scene, f->model);

    job.verify = false;
    return cs_job_replay(&job, NULL, 0, &outcome, err);
}

/* Some replay, in a scene that is the caller's. */
static void set_ring(ct_scene *scene, uint32_t n)
{
    ct_scene_set(scene, "ring", CS_ALLREDUCE, n, 1000000);
    ct_scene_ready(scene);
}

bool ct_foreign_takes_long(const cs_model *model, const cs_scenario *scenario)
{
    const cs_network *n = model->network;

    return n != NULL && n->is_foreign && n->queues_senders != NULL &&
           scenario->bytes * scenario->cluster.n_ranks > 1u << 25;
}

void ct_foreign_without_memory(const ct_foreign *f)
{
    static ct_scene scene;
    cs_status       status = CS_ENOMEM;
    long            passes = 0;

    if (ct_foreign_model(f->model) == NULL) {
        return;
    }
    set_ring(&scene, 4);
    size_t files = files_open();
    for (; status != CS_OK; passes++) {
        cs_error err = {0};
        cs_alloc_fail_after(passes);
        status = replay(f, &scene, &err);
        cs_alloc_fail_after(-1);
        cr_assert(status == CS_OK || status == CS_ENOMEM, "%ld: %s", passes, err.message);
        expect_no_child();
        cr_assert_eq(files_open(), files);
    }
    cr_assert_gt(passes, 10);
}

/* Put a program in the child's place: a shell script. */
void ct_foreign_replay_with(const ct_foreign *f, const char *script, const char *want)
{
    static ct_scene scene;
    char            folder[] = "/tmp/collsim-test-XXXXXX", path[64];
    cs_error        err      = {0};

    if (ct_foreign_model(f->model) == NULL) {
        return;
    }
    set_ring(&scene, 4);
    cr_assert_not_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/%s", folder, f->program);
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    (void)fprintf(file, "#!/bin/sh\n%s\n", script);
    (void)fclose(file);
    cr_assert_eq(chmod(path, 0700), 0);
    size_t files = files_open();
    (void)setenv("COLLSIM_MODULES", folder, 1);
    cs_status status = replay(f, &scene, &err);
    cr_assert_eq(status, CS_EIO, "%s: %s", script, cs_status_text(status));
    cr_assert_str_eq(err.where, "model");
    cr_assert_not_null(strstr(err.message, want), "%s: %s", script, err.message);
    cr_assert_eq(files_open(), files);
    expect_no_child();
    (void)unlink(path);
    (void)rmdir(folder);
}

void ct_foreign_fails(const ct_foreign *f)
{
    char said[64];

    (void)snprintf(said, sizeof said, "%s: out", f->program);
    ct_foreign_replay_with(f, "echo no such library >&2; echo more; exit 127",
                           "ended with status 127: no such library");
    ct_foreign_replay_with(f, "kill -KILL $$", "ended by signal 9");
    ct_foreign_replay_with(f, "exit 0", "ended with status 0");
    ct_foreign_replay_with(f, "head -c 16 >/dev/null; printf nonsense >&0; sleep 60",
                           "a reply makes no sense");
    ct_foreign_replay_with(f, "printf '\\006\\0\\0\\0\\003\\0\\0\\0out' >&0; sleep 60", said);
    ct_foreign_replay_with(f, "printf '\\004\\0\\0\\0\\0\\0\\0\\0' >&0; kill -TERM $$",
                           "ended by signal 15");
}

void ct_foreign_is_not_there(const ct_foreign *f)
{
    static ct_scene scene;
    cs_error        err     = {0};
    cs_options      options = {0};
    const cs_model *model   = ct_foreign_model(f->model);

    if (model == NULL) {
        return;
    }
    set_ring(&scene, 4);
    (void)setenv("COLLSIM_MODULES", "/nowhere", 1);
    cr_assert_eq(replay(f, &scene, &err), CS_EMISSING);
    cr_assert_not_null(strstr(err.message, f->package), "%s", err.message);
    cs_fields_default(model->options, &options);
    cr_assert_eq(model->check(&scene.scenario, &options, NULL), CS_EMISSING);
    cr_assert_not_null(model->missing());
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

void ct_foreign_is_killed(const ct_foreign *f)
{
    static ct_scene scene;
    pid_t           victim   = 0;
    cs_observer     observer = {.block = kill_it, .user = &victim};
    cs_outcome      outcome;
    cs_error        err = {0};

    if (ct_foreign_model(f->model) == NULL) {
        return;
    }
    set_ring(&scene, 64);
    cs_job job       = ct_scene_job(&scene, f->model);
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
