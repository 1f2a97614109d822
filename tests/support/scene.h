/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tests/support/scene.h -- a scenario with an algorithm and the memory that they need, set up in a
 * line or two. A scene points into itself: pass it by pointer and do not copy it. */
#ifndef CT_SUPPORT_SCENE_H
#define CT_SUPPORT_SCENE_H

#include "cs/job.h"
#include "support/rng.h"

enum { CT_MOST_RANKS = 2048, CT_MOST_FAULTS = 32 };

typedef struct ct_scene {
    cs_scenario         scenario;
    const cs_algorithm *algorithm;
    cs_options          options; /* as check() left them */
    cs_plan             plan;
    double              arrival_s[CT_MOST_RANKS];
    cs_capacity         capacity[CT_MOST_FAULTS];
    cs_server           servers[CT_MOST_RANKS];
    cs_uneven           uneven;
    uint32_t            first[CT_MOST_RANKS + 1], server_of[CT_MOST_RANKS]; /* its tables */
} ct_scene;

/* The replay of a scene: the outcome and, per transfer of the stream, when it held its ports. */
typedef struct ct_run {
    cs_outcome   outcome;
    cs_interval *intervals; /* owned; NULL unless wanted */
    size_t       count, capacity;
} ct_run;

/* One GPU per server, NIC 3 us and 450 GB/s, NVLink 1 us and 900 GB/s, all ranks at 0, default
 * options. `algorithm` is a name in the registry. */
void ct_scene_set(ct_scene *scene, const char *algorithm, cs_collective collective, uint32_t n,
                  uint64_t bytes);

/* Set an option of the algorithm; a refusal fails the test. */
void ct_scene_option(ct_scene *scene, const char *key, const char *value);

/* A message of so many bytes over a fabric: alpha and the bytes at its bandwidth. */
double ct_scene_message_s(const ct_scene *scene, uint32_t fabric, double bytes);

/* Slow NICs for the algorithms that are made for them (those with an option `chosen`, which is set,
 * so that they do not run the ring instead): servers 1 and, from eight on, 4. Nothing for the
 * others. */
void ct_scene_slow(ct_scene *scene);

/* Arrivals in [0, most_s), the first one moved to 0. */
void ct_scene_arrive(ct_scene *scene, ct_rng *rng, double most_s);

/* Resolve the options and make the plan; a status that is not CS_OK is the algorithm's answer. What
 * is prepared for the plan lives as long as the test. */
cs_status ct_scene_check(ct_scene *scene, cs_error *err);

/* The same, and every refusal fails the test. */
void ct_scene_ready(ct_scene *scene);

/* The checked scene as a job on a model (NULL: alpha-beta) with its default options, to be
 * verified. What check() has prepared stays the scene's. */
cs_job ct_scene_job(const ct_scene *scene, const char *model);
/* The same, to be resolved by whoever runs it. */
cs_job ct_scene_given(const ct_scene *scene, const char *model);

/* Replay on a model (NULL: alpha-beta) with its default options; every failure fails the test. */
cs_outcome ct_scene_replay(const ct_scene *scene, const char *model);

/* The same on alpha-beta with an observer, which takes the model's general path. Free with
 * ct_run_free(). */
ct_run ct_scene_observe(const ct_scene *scene);
/* The same on another model (NULL: alpha-beta) with other options (NULL: defaults). */
ct_run ct_scene_observe_on(const ct_scene *scene, const cs_model *model, const void *options);
/* The same unverified, if the scenario and the model's check() allow it; a failure, or a refusal,
 * is the answer. Free the run in either case. */
cs_status ct_scene_try_on(const ct_scene *scene, const cs_model *model, const void *options,
                          ct_run *run_p, cs_error *err);
void      ct_run_free(ct_run *run);

/* |a - b| <= tolerance * max(|a|, |b|). */
int ct_is_close(double a, double b, double tolerance);

/* Algorithm, ranks, bytes and cluster in a line for messages; static storage. */
const char *ct_scene_text(const ct_scene *scene);

/* A random scene of at most 64 ranks that the algorithm accepts, checked. Seven of eight hurry. */
void ct_scene_random(ct_scene *scene, const cs_algorithm *algorithm, ct_rng *rng);

/* Do its switches add up (CS_USES_SWITCH), inside one server? */
bool ct_adds_in_switches(const cs_algorithm *algorithm);

/* Does the algorithm make trees for every scene, which takes longer than to replay them? */
bool ct_makes_trees(const cs_algorithm *algorithm);

/* An algorithm that searches for its schedule takes one that is there at once: AdapCC's search
 * takes as long as hundreds of replays of a small scene. */
void ct_scene_hurry(ct_scene *scene);

/* Faults of server after server, in order, with gaps or without; none if the algorithm refuses
 * them. Check the scene again. */
void ct_scene_break_nics(ct_scene *scene, ct_rng *rng);

/* Servers of one, two or four times lower rates, or all alike. */
void ct_scene_vary_servers(ct_scene *scene, ct_rng *rng);

/* Servers of so many GPUs each, one socket each. */
void ct_scene_set_gpus(ct_scene *scene, const uint32_t *gpus, uint32_t n_servers);

/* The ranks in servers of 1 to `most` GPUs, one socket each. */
void ct_scene_vary_gpus(ct_scene *scene, uint32_t most, ct_rng *rng);

/* A mesh of NVLinks: its GPUs drive all of their links or, as often, any number at once. */
void ct_scene_drive(ct_scene *scene, ct_rng *rng);

/* A random time between a hundredth of what the buffer takes and ten times that. */
double ct_scene_late_s(const ct_scene *scene, ct_rng *rng);

#endif
