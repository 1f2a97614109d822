/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Single NICs that are slow or dead, also beside slow servers: over 10,000 random scenarios (about
 * 8 s) every algorithm takes at least as long as without them, no time is below its bound, and
 * whoever is cut off is used by nobody. Where NICs are shared, network models slow what is shared.
 */
#include "cs/result.h"
#include "scenario/fault.h"
#include "support/config.h"
#include "support/program.h"
#include "support/scene.h"
#include "support/stream.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SCENES = CT_CASES(10000), MOST_NIC_FAULTS = 6, MOST_BYTES = 1 << 22 };

static cs_fault one_fault(const ct_scene *scene, ct_rng *rng, int failover)
{
    const cs_cluster *c       = &scene->scenario.cluster;
    double            unit_s  = ct_scene_late_s(scene, rng);
    uint32_t          server  = ct_below(rng, ct_below(rng, 2) == 0 ? 1 : cs_n_servers(c));
    bool              is_nic  = ct_below(rng, 5) > 0;
    bool              is_dead = is_nic && ct_below(rng, 3) == 0;
    double            from_s  = ct_below(rng, 2) * ct_uniform(rng, 0, unit_s);
    double            until_s = from_s + ct_uniform(rng, 0.01, 1) * unit_s;
    double            slow    = is_dead ? (double)INFINITY : 1 + pow(10, ct_uniform(rng, -3, 1));

    return (cs_fault){.is_nic   = is_nic,
                      .server   = server,
                      .nic      = ct_below(rng, cs_n_nics(c, server)),
                      .failover = is_nic ? failover : CS_FAILOVER_POOL,
                      .value    = slow,
                      .capacity = {cs_server_first(c, server), slow, from_s,
                                   ct_below(rng, 2) == 0 ? (double)INFINITY : until_s, false}};
}

/* Random faults as capacity; false: a server has none left. */
static bool break_single_nics(ct_scene *scene, cs_arena *arena, ct_rng *rng)
{
    cs_fault     faults[MOST_NIC_FAULTS];
    int          failover = (int)ct_below(rng, CS_FAILOVERS);
    size_t       n        = 1 + ct_below(rng, MOST_NIC_FAULTS), n_steps, wrong;
    cs_capacity *steps;

    for (size_t i = 0; i < n; i++) {
        faults[i] = one_fault(scene, rng, failover);
    }
    if (cs_faults_merge(&scene->scenario.cluster, faults, n, CS_KEEPS_A_NIC, arena, &steps,
                        &n_steps, &wrong, NULL) != CS_OK) {
        return false;
    }
    scene->scenario.capacity   = steps;
    scene->scenario.n_capacity = n_steps;
    return true;
}

/* The time, above its bound; NAN where it is refused. */
static double elapsed_s(const ct_scene *scene, const cs_scenario *scenario, const cs_model *model,
                        cs_status *status_p)
{
    cs_job    job    = ct_scene_given(scene, NULL);
    cs_result result = {0};
    cs_error  err    = {0};

    job.scenario = *scenario;
    cs_job_set_model(&job, model, NULL);
    *status_p = cs_job_run(&job, NULL, 0, &result, &err);
    cr_assert(*status_p == CS_OK || *status_p == CS_ENOTSUP || *status_p == CS_EINVAL, "%s: %s",
              ct_scene_text(scene), err.message);
    if (*status_p != CS_OK) {
        return (double)NAN;
    }
    cr_assert(result.verified, "%s", ct_scene_text(scene));
    cr_assert(!(result.bound_s > result.elapsed_s * (1 + 1e-9)),
              "%s, %s: %.12g s, bound %s %.12g s", ct_scene_text(scene), model->name,
              result.elapsed_s, result.bound, result.bound_s);
    return result.elapsed_s;
}

/* The messages that run, in their order: the algorithm may have asked the model which are best. */
static ct_stream stream_of(const ct_scene *scene, const cs_scenario *scenario,
                           const cs_options *options, const cs_model *model)
{
    static ct_scene ran;
    cs_job          job = ct_scene_given(scene, NULL);

    job.scenario = *scenario;
    job.options  = *options;
    cs_job_set_model(&job, model, NULL);
    cr_assert_eq(cs_job_resolve(&job, NULL), CS_OK);
    ran              = *scene;
    ran.scenario     = job.scenario;
    ran.options      = job.options;
    ran.plan         = job.plan;
    ct_stream stream = ct_stream_record(&ran, 512);
    cs_job_release(&job);
    return stream;
}

/* How much less time a fault may take, relative: nothing but rounding. The same messages on shared
 * links, though, may end earlier with one of them slow: max-min fair rates are not monotone (what
 * is slow leaves its share to others). AdapCC's trees, whose messages wait for no round, show it;
 * what it chooses with a fault may not. */
static double tolerance(const ct_scene *scene, const cs_scenario *healthy,
                        const cs_options *options, const cs_model *model)
{
    if (strcmp(scene->algorithm->name, "adapcc") != 0 || model->network == NULL) {
        return 1e-9;
    }
    ct_stream without = stream_of(scene, healthy, options, model);
    ct_stream with    = stream_of(scene, &scene->scenario, options, model);
    bool      is_same = ct_stream_equal(&without, &with);
    ct_stream_free(&without);
    ct_stream_free(&with);
    return is_same ? 0.1 : 1e-9;
}

/* Several GPUs to most servers: single NICs are not the servers' own there. */
static void choose_scene(ct_scene *scene, const cs_algorithm *algorithm, ct_rng *rng)
{
    bool wants_many = ct_below(rng, 4) > 0;

    for (int tries = 0; tries < 40; tries++) {
        ct_scene_random(scene, algorithm, rng);
        const cs_cluster *c = &scene->scenario.cluster;
        if (scene->scenario.bytes <= MOST_BYTES && c->n_ranks <= 24 &&
            (!wants_many || (c->gpus_per_server > 1 && cs_uses_nics(c)))) {
            break;
        }
    }
    if (algorithm->options != NULL) { /* not as the check left them */
        cs_fields_default(algorithm->options, &scene->options);
        ct_scene_hurry(scene);
    }
}

Test(conformance_nic_faults, never_make_anything_faster, .timeout = 600)
{
    static ct_scene scene;
    ct_rng          rng = ct_rng_for(881);
    const cs_model *models[2];
    size_t          n_algorithms = 0, ran = 0, single = 0, slower = 0, refused = 0, cut = 0;

    cr_assert_eq(cs_model_find("alpha-beta", &models[0], NULL), CS_OK);
    cr_assert_eq(cs_model_find("flow", &models[1], NULL), CS_OK);
    while (cs_algorithms[n_algorithms] != NULL) {
        n_algorithms++;
    }
    for (size_t i = 0; i < SCENES; i++) {
        const cs_model *model = models[ct_below(&rng, 3) == 0];
        cs_arena        arena = {0};
        cs_status       healthy_status, status;

        choose_scene(&scene, cs_algorithms[i % n_algorithms], &rng);
        const cs_scenario healthy = scene.scenario;
        const cs_options  chosen  = scene.options;
        if (break_single_nics(&scene, &arena, &rng)) {
            double without_s = elapsed_s(&scene, &healthy, model, &healthy_status);
            scene.options    = chosen;
            double with_s    = elapsed_s(&scene, &scene.scenario, model, &status);
            bool   is_single = cs_capacity_is_single(&scene.scenario);
            bool   is_cut    = cs_capacity_cuts_off(&scene.scenario);
            ran += status == CS_OK;
            single += status == CS_OK && is_single;
            cut += status == CS_OK && is_cut;
            refused += status != CS_OK && is_cut;
            slower += with_s > without_s;
            bool is_faster = with_s < without_s * (1 - 1e-9);
            cr_expect(!is_faster ||
                          with_s >= without_s * (1 - tolerance(&scene, &healthy, &chosen, model)),
                      "%s, %s: %.12g s, with %zu steps %.12g s", ct_scene_text(&scene), model->name,
                      without_s, scene.scenario.n_capacity, with_s);
        }
        cs_arena_free(&arena);
    }
    cr_expect(ran > SCENES / 2 && single > SCENES / 5 && slower > SCENES / 4 &&
                  cut > SCENES / 500 && refused > SCENES / 50,
              "%zu ran, %zu with single ports, %zu slower, %zu beside a cut, %zu refused for one",
              ran, single, slower, cut, refused);
}

/* ---- NICs that GPUs share, and several NICs of a GPU ---- */

static double site_s(const char *model, const char *servers, const char *faults)
{
    char json[600];

    snprintf(json, sizeof json,
             "{\"algorithm\": \"parallel_rings\", \"model\": \"%s\", \"bytes\": \"8M\", "
             "\"cluster\": {\"topology\": {\"kind\": \"server\", \"servers\": 2, %s}}, "
             "\"faults\": [%s]}",
             model, servers, faults);
    cs_config *config = ct_config_of(json);
    cs_case    c      = ct_case(config, 0);
    cs_result  result = ct_result(&c);

    cr_assert_leq(result.bound_s, result.elapsed_s * (1 + 1e-9));
    cs_case_free(&c);
    cs_config_free(config);
    return result.elapsed_s;
}

/* 4 GPUs with 2 NICs: one dead, slowed or with neighbours, is half of the server, on ports and on
 * links that are shared. 2 GPUs with 4 NICs: one of four. */
Test(conformance_nic_faults, of_servers_with_other_numbers_of_nics)
{
    static const char *const models[] = {"alpha-beta", "flow", "packet"};
    static const char few[] = "\"gpus\": 4, \"nics\": 2", many[] = "\"gpus\": 2, \"nics\": 4";
    static const char all[] = "{\"rank\": 0, \"slowdown\": 2}";

    for (size_t m = 0; m < sizeof models / sizeof models[0]; m++) {
        double healthy_s = site_s(models[m], few, ""), half_s = site_s(models[m], few, all);
        cr_expect_gt(half_s, 1.8 * healthy_s, "%s: %g s, %g s", models[m], healthy_s, half_s);
        const char *const same[] = {
            "{\"server\": 0, \"nic\": 1, \"slowdown\": null}",
            "{\"server\": 0, \"nic\": 0, \"slowdown\": null, \"failover\": \"neighbour\"}",
            "{\"server\": 0, \"nic\": 0, \"slowdown\": 2}, {\"server\": 0, \"nic\": 1, "
            "\"slowdown\": 2}",
            "{\"server\": 0, \"nic\": 0, \"slowdown\": 4}, {\"server\": 0, \"nic\": 1, "
            "\"slowdown\": 1.3333333333333333}",
        };
        for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
            double is_s = site_s(models[m], few, same[i]);
            cr_expect_float_eq(is_s, half_s, 1e-9 * half_s, "%s, %s: %g s, not %g s", models[m],
                               same[i], is_s, half_s);
        }
        double three_s = site_s(models[m], many, "{\"rank\": 0, \"slowdown\": 1.3333333333333333}");
        double dead_s  = site_s(models[m], many, "{\"server\": 0, \"nic\": 2, \"slowdown\": null}");
        double own_s =
            site_s(models[m], many,
                   "{\"server\": 0, \"nic\": 2, \"slowdown\": null, \"failover\": \"none\"}");
        double twice_s = site_s(models[m], many, all);
        cr_expect_float_eq(dead_s, three_s, 1e-9 * three_s, "%s", models[m]);
        cr_expect_float_eq(own_s, twice_s, 1e-9 * twice_s, "%s: half of the NICs of a GPU",
                           models[m]);
    }
}

/* ---- as a user meets them ---- */

#define SMALL " -n 8 -g 4 -s 1M"

Test(conformance_nic_faults, options_and_what_they_refuse)
{
    static const struct {
        const char *arguments, *words;
    } refused[] = {
        {"run" SMALL " --kill-nic 1.4", "--kill-nic: NIC 4 is not there: server 1 has 4, 0 to 3"},
        {"run" SMALL " --kill-nic 2.0", "--kill-nic: server 2 is not there: accepted are 0 to 1"},
        {"run" SMALL " --kill-nic 3", "'3' is not of the form SERVER.NIC[@FROM[:UNTIL]]"},
        {"run" SMALL " --kill-nic 1.", "--kill-nic: '' is not a whole number"},
        {"run" SMALL " --kill-nic 1.1=2", "is not of the form SERVER.NIC[@FROM[:UNTIL]]"},
        {"run" SMALL " --kill-nic 0.1@2ms:1ms", "is not after the begin at 0.002 s"},
        {"run" SMALL " --slow-nic 1.1", "is not of the form SERVER.NIC=L[@FROM[:UNTIL]]"},
        {"run" SMALL " --slow-nic .1=2", "is not of the form SERVER.NIC=L[@FROM[:UNTIL]]"},
        {"run" SMALL " --slow-nic 1.1=0.5", "0.5 is outside [1, 1000000000]"},
        {"run" SMALL " --slow-nic 1.1=8/0", "accepted are numbers and fractions, as in 8/7"},
        {"run" SMALL " --slow 1=7/8", "7/8 is outside [1, 1000000000]"},
        {"run -n 4 --kill-nic 1.0", "the last NIC of server 1 dies, which has 1 for its 1 GPU"},
        {"run -n 8 -g 2 --kill-nic 1.0 --kill-nic 1.1@1s", "the last NIC of server 1 dies"},
        {"run" SMALL " -a parallel_rings --kill-nic 1.2 --set 'faults[0].failover=\"none\"'",
         "the NIC of rank 6 (GPU 2 of server 1) dies and nothing takes its place"},
        {"run" SMALL " -a optcc --slow-nic 1.2=2 --set 'faults[0].failover=\"none\"'",
         "accepted is the failover pool"},
        {"run" SMALL " -a adapcc --kill-nic 1.2 --set 'faults[0].failover=\"none\"'",
         "adapcc needs every NIC"},
        {"bound" SMALL " --kill-nic 1.4", "NIC 4 is not there"},
    };

    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        ct_program_says(refused[i].arguments, 2, refused[i].words);
    }
    ct_program_says("run" SMALL " -a ring --kill-nic 1.2 --set 'faults[0].failover=\"none\"'", 0,
                    "dead NIC: rank 6 is cut off");
    ct_program_says("run" SMALL " --slow-nic 1.2=3/2 --set 'faults[0].failover=\"neighbour\"'", 0,
                    "slow NIC: rank 6 alone by 1.5");
    ct_program_says("run" SMALL " --slow 4=8/7@1ms:2ms --slow 5=7/4@1500us", 0,
                    "slow NIC: rank 4 by 2 from 1500 us until 2000 us");
}

/* The result's scenario is a configuration that gives the same result. */
Test(conformance_nic_faults, are_read_back)
{
    json_t *first =
        ct_program_result("run" SMALL " -a parallel_rings --kill-nic 0.1@5us --slow-nic "
                          "1.2=8/7 --set 'faults[0].failover=\"neighbour\"' --format json");
    char      *text   = json_dumps(json_object_get(first, "scenario"), 0);
    cs_config *config = ct_config_of(text);
    cs_case    c      = ct_case(config, 0);
    cs_result  again  = ct_result(&c);

    cr_expect_eq(c.job.scenario.n_capacity, 3);
    cr_expect_eq(again.elapsed_s, json_number_value(json_object_get(first, "elapsed_s")));
    cs_case_free(&c);
    cs_config_free(config);
    free(text);
    json_decref(first);
}
