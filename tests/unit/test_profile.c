/* SPDX-License-Identifier: GPL-3.0-or-later */
/* AdapCC's profile: the formulas by hand, the fit against its normal equations, every model against
 * the truth, errors of noise, durations, and what new trees make of a NIC that got slow. */
#include "study/renewal.h"

#include "algorithms/adapcc/late.h"
#include "algorithms/adapcc/synthesize.h"
#include "base/alloc.h"
#include "schedules/logical_xml.h"
#include "support/config.h"
#include "support/rng.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define NET_ALPHA    20e-6
#define NET_BPS      12.5e9
#define NVLINK_ALPHA 5e-6
#define NVLINK_BPS   100e9
#define FOREVER      ((double)INFINITY)

enum { MIB = 1 << 20 };

/* `n` ranks on servers of `g` GPUs, on a model; slow NICs as in `steps`. */
static cs_job make_job(uint32_t n, uint32_t g, const char *model, const cs_capacity *steps,
                       size_t n_steps)
{
    const cs_model *found = NULL;
    cs_job          job   = {.scenario = {.capacity = steps, .n_capacity = n_steps}};
    cs_cluster     *c     = &job.scenario.cluster;

    *c                    = (cs_cluster){.n_ranks = n, .gpus_per_server = g};
    c->fabrics[CS_NIC]    = (cs_fabric){CS_SWITCHED, NET_ALPHA, NET_BPS};
    c->fabrics[CS_NVLINK] = (cs_fabric){CS_DIRECT, NVLINK_ALPHA, NVLINK_BPS};
    cr_assert_eq(cs_model_find(model, &found, NULL), CS_OK);
    cs_job_set_model(&job, found, NULL);
    return job;
}

static cs_profile must_profile(const cs_job *job, const cs_profile_options *options)
{
    cs_profile profile = {0};
    cs_error   err     = {0};

    cr_assert_eq(cs_profile_run(job, options, &profile, &err), CS_OK, "%s: %s", err.where,
                 err.message);
    return profile;
}

static cs_profile_link find(const cs_profile *p, cs_link_kind kind, uint32_t src, uint32_t dst)
{
    size_t i = 0;

    while (i < p->n_links &&
           (p->links[i].kind != kind || p->links[i].src != src || p->links[i].dst != dst)) {
        i++;
    }
    cr_assert_lt(i, p->n_links, "no %s from %u to %u", cs_link_kind_name(kind), src, dst);
    return p->links[i];
}

/* t1 = 4 (20 us + 80 us) = 400 us, t2 = 20 us + 320 us = 340 us:
 * alpha = (400 - 340) / 3 = 20 us, beta = (4 x 340 - 400) us / (4 x 3 x 1 MB) = 8e-11 s/B. */
Test(profile, two_times_by_hand)
{
    cs_job             job     = make_job(2, 1, "alpha-beta", NULL, 0);
    cs_profile_options options = {
        .counts = {4}, .n_counts = 1, .sizes = {1000000}, .n_sizes = 1, .repeats = 1};
    cs_profile p = must_profile(&job, &options);

    cr_assert_eq(p.n_links, 2u);
    for (size_t i = 0; i < 2; i++) {
        cr_assert_float_eq(p.links[i].alpha_s, (400e-6 - 340e-6) / 3, 1e-15);
        cr_assert_float_eq(1 / p.links[i].bandwidth_Bps, (4 * 340e-6 - 400e-6) / 12e6, 1e-22);
        cr_assert(isinf(p.links[i].bandwidth_high_Bps), "two times leave nothing to judge by");
    }
    cr_assert_float_eq(p.duration_s, 740e-6, 1e-12);
    cr_assert_eq(p.n_messages, 10u);
    cr_assert_eq(p.wire_bytes, 16000000u);
    cs_profile_free(&p);
}

/* A NIC gets slower after the first size: the times lie on no line, and the estimate is that of the
 * weighted normal equations over rows (n, n s, t1) and (1, n s, t2). */
Test(profile, the_fit_is_that_of_the_normal_equations)
{
    const uint32_t counts[] = {2, 5};
    const uint64_t sizes[]  = {300000, 2000000};
    double         time_s = 0, turn_s = 0, a = 0, ab = 0, b = 0, ta = 0, tb = 0;

    for (int pass = 0; pass < 2; pass++) { /* the first one finds when the second count begins */
        time_s = 0;
        for (int i = 0; i < 4; i++) {
            double n = counts[i / 2], s = (double)sizes[i % 2];
            double slowdown = pass == 1 && time_s >= turn_s * (1 - 1e-9) ? 3 : 1;
            double t1       = n * (NET_ALPHA + s * slowdown / NET_BPS);
            double t2       = NET_ALPHA + n * s * slowdown / NET_BPS;
            if (pass == 1) {
                a += n * n / (t1 * t1) + 1 / (t2 * t2);
                ab += n * n * s / (t1 * t1) + n * s / (t2 * t2);
                b += n * s * n * s * (1 / (t1 * t1) + 1 / (t2 * t2));
                ta += n / t1 + 1 / t2;
                tb += n * s * (1 / t1 + 1 / t2);
            }
            time_s += t1 + t2;
            turn_s = pass == 0 && i == 2 ? time_s : turn_s;
        }
    }
    const cs_capacity  slow    = {0, 3, turn_s, FOREVER, false};
    cs_job             job     = make_job(2, 1, "alpha-beta", &slow, 1);
    cs_profile_options options = {
        .counts = {2, 5}, .n_counts = 2, .sizes = {300000, 2000000}, .n_sizes = 2, .repeats = 1};
    cs_profile p   = must_profile(&job, &options);
    double     det = a * b - ab * ab;

    cr_assert_gt((ta * b - tb * ab) / det, 1e-6, "alpha %g is not held at 0", ta);
    cr_assert_float_eq(p.links[0].alpha_s / ((ta * b - tb * ab) / det), 1, 1e-9);
    cr_assert_float_eq(p.links[0].bandwidth_Bps * ((a * tb - ab * ta) / det), 1, 1e-9);
    cr_assert_lt(p.links[0].bandwidth_low_Bps, .9 * p.links[0].bandwidth_Bps);
    cs_profile_free(&p);
}

/* Times that leave no start-up time: none is less than 0. */
Test(profile, alpha_is_never_negative)
{
    const cs_capacity  slow    = {0, 4, 1.335e-3, FOREVER, false};
    cs_job             job     = make_job(2, 1, "alpha-beta", &slow, 1);
    cs_profile_options options = {
        .counts = {2}, .n_counts = 1, .sizes = {4000000, 16000000}, .n_sizes = 2, .repeats = 1};
    cs_profile p = must_profile(&job, &options);

    cr_assert_float_eq(p.links[0].alpha_s, 0, 0);
    cr_assert_gt(p.links[0].bandwidth_Bps, 0);
    cs_profile_free(&p);
}

/* On every model that is built in, a NIC of 6.25 GB/s among those of 12.5. */
Test(profile, a_slow_nic_is_seen_on_every_model)
{
    static const char *const models[] = {"alpha-beta", "loggp", "flow", "packet"};
    const cs_capacity        slow     = {5, 2, 0, FOREVER, false};
    cs_profile_options       options  = cs_profile_defaults();

    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        bool       is_exact = strcmp(models[i], "packet") != 0;
        cs_job     job      = make_job(12, 4, models[i], &slow, 1);
        cs_profile p        = must_profile(&job, &options);
        double     healthy  = find(&p, CS_LINK_NET, 2, 0).bandwidth_Bps;

        cr_assert_eq(p.n_links, 3u * 12 + 6);
        cr_expect_float_eq(healthy / NET_BPS, 1, is_exact ? 1e-9 : .03, "%s: %g", models[i],
                           healthy);
        for (uint32_t k = 0; k < 3; k += 2) {
            double out = find(&p, CS_LINK_NET, 1, k).bandwidth_Bps;
            double in  = find(&p, CS_LINK_NET, k, 1).bandwidth_Bps;
            cr_expect_float_eq(out / (healthy / 2), 1, is_exact ? 1e-9 : .01, "%s", models[i]);
            cr_expect_float_eq(in / (healthy / 2), 1, is_exact ? 1e-9 : .01, "%s", models[i]);
        }
        const cs_profile_link nvlink = find(&p, CS_LINK_NVLINK, 7, 6);
        cr_expect_float_eq(nvlink.bandwidth_Bps / NVLINK_BPS, 1, is_exact ? 1e-9 : .03);
        cr_expect_float_eq(nvlink.alpha_s, NVLINK_ALPHA, is_exact ? 1e-12 : 1e-6);
        cs_profile_free(&p);
    }
}

/* Random clusters, each with a slow NIC, on the models whose times are straight lines. */
Test(profile, random_clusters_are_found_as_they_are)
{
    static const char *const models[] = {"alpha-beta", "loggp", "flow"};
    cs_profile_options       options  = cs_profile_defaults();
    ct_rng                   rng      = ct_rng_for(99);

    for (int i = 0; i < 60; i++) {
        uint32_t    g = 1 + ct_below(&rng, 4), n = 2 + ct_below(&rng, 4);
        uint32_t    broken = ct_below(&rng, n);
        cs_capacity slow   = {broken * g, ct_uniform(&rng, 1, 4), 0, FOREVER, false};
        cs_job      job    = make_job(n * g, g, models[i % 3], &slow, 1);
        cs_fabric  *f      = job.scenario.cluster.fabrics;

        for (uint32_t k = CS_NIC; k <= CS_NVLINK; k++) {
            f[k].alpha_s       = ct_uniform(&rng, 0, 5e-5);
            f[k].bandwidth_Bps = ct_uniform(&rng, 1e9, 4e11);
        }
        f[CS_NVLINK].kind = i % 2 == 0 ? CS_DIRECT : CS_SWITCHED;
        job.scenario.cluster.nvlink_concurrent =
            f[CS_NVLINK].kind == CS_DIRECT ? ct_below(&rng, g) : 0;
        cs_profile p = must_profile(&job, &options);
        cr_assert_eq(p.n_links, (size_t)n * g * (g - 1) + (size_t)n * (n - 1));
        for (size_t k = 0; k < p.n_links; k++) {
            const cs_profile_link *l   = &p.links[k];
            bool                   net = l->kind == CS_LINK_NET;
            double slowed       = net && (l->src == broken || l->dst == broken) ? slow.slowdown : 1;
            const cs_fabric *of = &f[net ? CS_NIC : CS_NVLINK];
            cr_assert_float_eq(l->bandwidth_Bps * slowed / of->bandwidth_Bps, 1, 1e-7, "%d: %s", i,
                               models[i % 3]);
            cr_assert_float_eq(l->alpha_s, of->alpha_s, 1e-10, "%d: %s", i, models[i % 3]);
        }
        cs_profile_free(&p);
    }
}

/* Servers with GPUs, NICs and NVLinks of their own: every pair is found as it is, in as long as the
 * slowest link of each turn takes. */
Test(profile, servers_of_other_sizes_are_found_as_they_are)
{
    static const char *const models[] = {"alpha-beta", "loggp", "flow"};
    cs_profile_options       options  = cs_profile_defaults();
    ct_rng                   rng      = ct_rng_for(7);

    for (int i = 0; i < 60; i++) {
        uint32_t  gpus[5], first[6], server_of[20], n = 2 + ct_below(&rng, 4), inside = 0;
        cs_uneven uneven = {.first = first, .server_of = server_of};
        cs_server servers[5];
        cs_job    job = make_job(2, 1, models[i % 3], NULL, 0);

        for (uint32_t s = 0; s < n; s++) {
            gpus[s] = 1 + ct_below(&rng, 4);
            inside += gpus[s] * (gpus[s] - 1);
            servers[s] =
                (cs_server){{ct_uniform(&rng, 1e9, 2e10), ct_uniform(&rng, 5e10, 4e11), 1}};
        }
        cs_cluster *c = &job.scenario.cluster;
        cs_cluster_set_gpus(c, gpus, n, &uneven);
        cs_cluster_set_servers(c, servers);
        cs_profile p = must_profile(&job, &options);
        cr_assert_eq(p.n_links, (size_t)inside + (size_t)n * (n - 1));
        for (size_t k = 0; k < p.n_links; k++) {
            const cs_profile_link *l   = &p.links[k];
            bool                   net = l->kind == CS_LINK_NET;
            uint32_t               a   = net ? l->src : cs_server_of(c, l->src);
            uint32_t               b   = net ? l->dst : cs_server_of(c, l->dst);
            uint32_t               f   = net ? CS_NIC : CS_NVLINK;
            double                 Bps = fmin(cs_server_Bps(c, a, f), cs_server_Bps(c, b, f));
            cr_assert(net ? a != b : a == b && l->src != l->dst);
            cr_assert_float_eq(l->bandwidth_Bps / Bps, 1, 1e-7, "%d: %s", i, models[i % 3]);
            cr_assert_float_eq(l->alpha_s, net ? NET_ALPHA : NVLINK_ALPHA, 1e-10);
            for (size_t other = 0; other < k; other++) {
                cr_assert(l->kind != p.links[other].kind || l->src != p.links[other].src ||
                          l->dst != p.links[other].dst);
            }
        }
        cs_profile_free(&p);
    }
}

/* Ranks 0-3, 4-5, 6: the pair of the smaller server is measured beside the first two of the
 * larger one, and is the slower link there. */
Test(profile, a_smaller_server_is_done_first)
{
    static const uint32_t gpus[]    = {4, 2, 1};
    const cs_server       servers[] = {
              {{NET_BPS, NVLINK_BPS, 1}}, {{NET_BPS, NVLINK_BPS / 2, 1}}, {{NET_BPS / 4, NVLINK_BPS, 1}}};
    uint32_t           first[4], server_of[7];
    cs_uneven          uneven  = {.first = first, .server_of = server_of};
    cs_job             job     = make_job(7, 1, "flow", NULL, 0);
    cs_profile_options options = {
        .counts = {2}, .n_counts = 1, .sizes = {1000000}, .n_sizes = 1, .repeats = 1};

    cs_cluster_set_gpus(&job.scenario.cluster, gpus, 3, &uneven);
    cs_cluster_set_servers(&job.scenario.cluster, servers);
    cs_profile p      = must_profile(&job, &options);
    double     fast_s = 3 * NVLINK_ALPHA + 4e6 / NVLINK_BPS;
    double     half_s = 3 * NVLINK_ALPHA + 8e6 / NVLINK_BPS;
    double     net_s  = 3 * NET_ALPHA + 16e6 / NET_BPS;

    cr_assert_float_eq(p.duration_s, 2 * half_s + 10 * fast_s + 2 * net_s, 1e-12);
    cr_assert_eq(p.n_messages, 3u * (12 + 2) + 3u * 2 * 3);
    cr_expect_eq(p.links[1].src, 4u);
    cr_expect_eq(p.links[3].src, 5u);
    cs_profile_free(&p);
}

/* A preset whose last servers are slower, in NIC and NVLinks. */
Test(profile, servers_that_differ_are_seen_on_every_model)
{
    static const char *const models[] = {"alpha-beta", "loggp", "flow", "packet"};
    cs_profile_options       options  = cs_profile_defaults();
    cs_config *config = ct_config_of("{\"cluster\": {\"topology\": \"adapcc\", \"ranks\": 24}}");

    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        ct_set(config, "model.name", models[i]);
        cs_case    c     = ct_case(config, 0);
        cs_profile p     = must_profile(&c.job, &options);
        double     error = strcmp(models[i], "packet") == 0 ? .03 : 1e-9;

        cr_expect_float_eq(find(&p, CS_LINK_NVLINK, 0, 1).bandwidth_Bps / 100e9, 1, error, "%s",
                           models[i]);
        cr_expect_float_eq(find(&p, CS_LINK_NVLINK, 18, 17).bandwidth_Bps / 50e9, 1, error, "%s",
                           models[i]);
        cr_expect_float_eq(find(&p, CS_LINK_NET, 3, 0).bandwidth_Bps / 12.5e9, 1, error, "%s",
                           models[i]);
        cr_expect_float_eq(find(&p, CS_LINK_NET, 5, 0).bandwidth_Bps / 6.25e9, 1, error, "%s",
                           models[i]);
        cs_profile_free(&p);
        cs_case_free(&c);
    }
    cs_config_free(config);
}

/* max_s of the sums over pairs, the slowest link of each round, and a barrier for each of them. */
Test(profile, its_duration_is_the_sum_of_its_rounds)
{
    const cs_server servers[6] = {
        {{NET_BPS, NVLINK_BPS, 1}},         {{NET_BPS, NVLINK_BPS, 1}},
        {{NET_BPS, NVLINK_BPS, 1}},         {{NET_BPS, NVLINK_BPS, 1}},
        {{NET_BPS / 2, NVLINK_BPS / 2, 1}}, {{NET_BPS / 2, NVLINK_BPS / 2, 1}}};
    cs_job             job      = make_job(24, 4, "alpha-beta", NULL, 0);
    cs_profile_options o        = cs_profile_defaults();
    double             inside_s = 0, round_s = 0;

    cs_cluster_set_servers(&job.scenario.cluster, servers);
    o.barrier_s = 1e-3;
    for (size_t i = 0; i < 9; i++) {
        double n = o.counts[i / 3], s = (double)o.sizes[i % 3];
        inside_s += (n + 1) * NVLINK_ALPHA + 2 * n * s / (NVLINK_BPS / 2);
        round_s += (n + 1) * NET_ALPHA + 2 * n * s / (NET_BPS / 2);
    }
    cs_profile p = must_profile(&job, &o);
    cr_assert_float_eq(p.duration_s / (12 * inside_s + 5 * (round_s + 1e-3)), 1, 1e-9);
    cr_assert_float_eq(find(&p, CS_LINK_NET, 0, 4).bandwidth_Bps / (NET_BPS / 2), 1, 1e-9);
    cr_assert_float_eq(find(&p, CS_LINK_NET, 3, 0).bandwidth_Bps / NET_BPS, 1, 1e-9);
    cr_assert_float_eq(find(&p, CS_LINK_NVLINK, 20, 23).bandwidth_Bps / (NVLINK_BPS / 2), 1, 1e-9);
    cs_profile_free(&p);
}

/* A NIC that four GPUs share is measured whole, though the port of each has a part of it. */
Test(profile, a_shared_nic_is_measured_whole)
{
    cs_job             job = make_job(12, 4, "alpha-beta", NULL, 0);
    cs_profile_options o   = cs_profile_defaults();
    cs_logical         l   = {0};

    job.scenario.cluster.fabrics[CS_NIC].bandwidth_Bps = NET_BPS / 4;
    job.scenario.cluster.nic_sharers                   = 4;
    cs_profile p                                       = must_profile(&job, &o);
    cr_assert_float_eq(find(&p, CS_LINK_NET, 0, 2).bandwidth_Bps / NET_BPS, 1, 1e-9);
    cr_assert_float_eq(find(&p, CS_LINK_NET, 0, 2).alpha_s, NET_ALPHA, 1e-12);
    cr_assert_eq(cs_profile_graph(&p, &l, NULL), CS_OK);
    cr_assert_float_eq(cs_logical_edge_of(&l, 1, 9).egress_Bps, NET_BPS / 4, 0);
    cr_assert_float_eq(cs_logical_edge_of(&l, 1, 9).bandwidth_Bps, NET_BPS / 4, 0);
    cs_logical_free(&l);
    cs_profile_free(&p);
}

Test(profile, links_across_sockets_are_pcie)
{
    cs_job             job = make_job(8, 4, "alpha-beta", NULL, 0);
    cs_profile_options o   = cs_profile_defaults();
    cs_logical         l   = {0};

    job.scenario.cluster.sockets           = 2;
    job.scenario.cluster.fabrics[CS_CROSS] = (cs_fabric){CS_SWITCHED, 8e-6, 20e9};
    cs_profile p                           = must_profile(&job, &o);
    cr_assert_float_eq(find(&p, CS_LINK_PCIE, 5, 6).bandwidth_Bps / 20e9, 1, 1e-9);
    cr_assert_float_eq(find(&p, CS_LINK_NVLINK, 5, 4).bandwidth_Bps / NVLINK_BPS, 1, 1e-9);
    cr_assert_eq(cs_profile_graph(&p, &l, NULL), CS_OK);
    cr_assert_float_eq(cs_logical_edge_of(&l, 4, 7).bandwidth_Bps, 20e9, 0, "to four digits");
    cr_assert_float_eq(cs_logical_edge_of(&l, 4, 7).egress_Bps, 20e9, 0);
    cr_assert_float_eq(cs_logical_edge_of(&l, 4, 5).bandwidth_Bps, NVLINK_BPS, 0);
    cr_assert_float_eq(cs_logical_edge_of(&l, 4, 5).alpha_s, NVLINK_ALPHA, 0);
    cs_logical_free(&l);
    cs_profile_free(&p);
}

/* Of 4032 links with 18 times each, that are 2 % off, 95 % of the intervals have the truth. */
Test(profile, intervals_hold_the_truth)
{
    cs_job             job  = make_job(64, 1, "alpha-beta", NULL, 0);
    cs_profile_options o    = cs_profile_defaults();
    double             mean = 0, alpha = 0, n_rates = 0, n_alphas = 0, differs = 0;

    o.noise      = .02;
    o.seed       = 11;
    cs_profile p = must_profile(&job, &o), again = must_profile(&job, &o);
    o.seed           = 12;
    cs_profile other = must_profile(&job, &o);
    double     n     = (double)p.n_links;
    for (size_t i = 0; i < p.n_links; i++) {
        const cs_profile_link *l = &p.links[i];
        mean += l->bandwidth_Bps / n;
        alpha += l->alpha_s / n;
        n_rates += l->bandwidth_low_Bps <= NET_BPS && NET_BPS <= l->bandwidth_high_Bps;
        n_alphas += l->alpha_low_s <= NET_ALPHA && NET_ALPHA <= l->alpha_high_s;
        differs += fabs(l->bandwidth_Bps - other.links[i].bandwidth_Bps) > 0;
        cr_assert_float_eq(l->bandwidth_Bps, again.links[i].bandwidth_Bps, 0);
    }
    cr_expect_float_eq(mean / NET_BPS, 1, 2e-3, "%g", mean);
    cr_expect_float_eq(alpha / NET_ALPHA, 1, 1e-2, "%g", alpha);
    cr_expect(n_rates / n > .93 && n_rates / n < .97, "%g", n_rates / n);
    cr_expect(n_alphas / n > .93 && n_alphas / n < .97, "%g", n_alphas / n);
    cr_expect_float_eq(differs, n, 0);
    cr_expect_float_eq(p.duration_s, other.duration_s, 0, "what is measured takes as long as ever");
    cs_profile_free(&p);
    cs_profile_free(&again);
    cs_profile_free(&other);
}

/* Four times as often takes four times as long, and leaves half of the error. */
Test(profile, repeats_make_it_surer)
{
    cs_job             job     = make_job(16, 1, "alpha-beta", NULL, 0);
    cs_profile_options o       = cs_profile_defaults();
    double             width[] = {0, 0}, took_s[] = {0, 0};

    o.noise = .02;
    for (int i = 0; i < 2; i++) {
        o.repeats    = i == 0 ? 1 : 4;
        cs_profile p = must_profile(&job, &o);
        for (size_t k = 0; k < p.n_links; k++) {
            width[i] += p.links[k].bandwidth_high_Bps - p.links[k].bandwidth_low_Bps;
        }
        took_s[i] = p.duration_s;
        cs_profile_free(&p);
    }
    cr_assert_float_eq(took_s[1] / took_s[0], 4, 1e-9);
    cr_assert(width[1] < .55 * width[0] && width[1] > .4 * width[0], "%g, %g", width[0], width[1]);
}

/* From a time on, and not before the last rank is there. */
Test(profile, begins_when_it_is_told)
{
    const cs_capacity steps[] = {
        {0, 3, 0, 5, false}, {1, 2, 7, 2000, false}, {1, 4, 2000, FOREVER, false}};
    const double       late[]   = {0, 0, 6.5};
    const double       begins[] = {0, 6, 10, 3000}, slow[][2] = {{3, 1}, {1, 1}, {1, 2}, {1, 4}};
    cs_job             job = make_job(3, 1, "alpha-beta", steps, 3);
    cs_profile_options o   = cs_profile_defaults();

    for (int is_late = 0; is_late < 2; is_late++) {
        job.scenario.arrival_s = is_late ? late : NULL;
        for (int i = 0; i < 4; i++) {
            int at       = is_late && i == 0 ? 1 : i;
            o.begin_s    = begins[i];
            cs_profile p = must_profile(&job, &o);
            cr_expect_float_eq(find(&p, CS_LINK_NET, 0, 2).bandwidth_Bps * slow[at][0] / NET_BPS, 1,
                               1e-9, "%d", i);
            cr_expect_float_eq(find(&p, CS_LINK_NET, 2, 1).bandwidth_Bps * slow[at][1] / NET_BPS, 1,
                               1e-9, "%d", i);
            cr_expect_lt(p.duration_s, 1, "it does not count from the first arrival");
            cs_profile_free(&p);
        }
    }
}

/* A step of more messages than a block has room for. */
Test(profile, many_servers)
{
    cs_job             job = make_job(600, 1, "alpha-beta", NULL, 0);
    cs_profile_options o   = {
          .counts = {2}, .n_counts = 1, .sizes = {1000000}, .n_sizes = 1, .repeats = 1};
    cs_profile p = must_profile(&job, &o);

    cr_assert_eq(p.n_links, 600u * 599);
    for (size_t i = 0; i < p.n_links; i++) {
        cr_assert_float_eq(p.links[i].bandwidth_Bps / NET_BPS, 1, 1e-6);
        cr_assert_float_eq(p.links[i].alpha_s / NET_ALPHA, 1, 1e-4);
    }
    cs_profile_free(&p);
}

/* ---- what comes of it ---- */

static cs_strategy trees_for(const cs_logical *l, cs_collective collective, double *took_s)
{
    const cs_synthesis  q = {.logical    = l,
                             .collective = collective,
                             .root       = CS_ANY_ROOT,
                             .bytes      = 256 * MIB,
                             .n_trees    = 4,
                             .n_moves    = 500,
                             .seed       = 1,
                             .by         = CS_SYNTHESIZE_HEURISTIC,
                             .model      = CS_COST_TURNS};
    cs_strategy         s = {0};
    cs_synthesis_result result;
    cs_error            err = {0};

    cr_assert_eq(cs_synthesize(&q, &s, &result, &err), CS_OK, "%s", err.message);
    *took_s = result.cost_s;
    return s;
}

static cs_logical graph_of(const cs_job *job)
{
    cs_profile_options o   = cs_profile_defaults();
    cs_profile         p   = must_profile(job, &o);
    cs_logical         l   = {0};
    cs_error           err = {0};

    cr_assert_eq(cs_profile_graph(&p, &l, &err), CS_OK, "%s", err.message);
    cs_profile_free(&p);
    return l;
}

/* On the network itself, checked. */
static double replayed_s(const cs_job *on, cs_collective collective, const cs_strategy *s)
{
    const cs_strategy_options options = {.strategy = s, .chunk_bytes = 1};
    cs_job                    job     = *on;
    cs_outcome                outcome = {0};
    cs_error                  err     = {0};

    job.verify              = true;
    job.scenario.collective = collective;
    job.scenario.bytes      = 256 * MIB;
    cs_job_set_algorithm(&job, &cs_algorithm_strategy, &options);
    cr_assert_eq(cs_job_resolve(&job, &err), CS_OK, "%s", err.message);
    cr_assert_eq(cs_job_replay(&job, NULL, 0, &outcome, &err), CS_OK, "%s", err.message);
    cr_assert(outcome.verified);
    cs_job_release(&job);
    return outcome.elapsed_s;
}

static double cost_s(const cs_logical *l, cs_collective collective, const cs_strategy *s)
{
    cs_cost *cost = NULL;

    cr_assert_eq(cs_cost_open(l, s->n_trees, &cost, NULL), CS_OK);
    double took_s = cs_cost_s(cost, s, collective, CS_COST_TURNS);
    cs_cost_close(cost);
    return took_s;
}

static uint32_t degree(const cs_strategy_tree *t, uint32_t n, uint32_t rank)
{
    uint32_t count = t->parent[rank] != CS_TREE_ROOT;

    for (uint32_t g = 0; g < n; g++) {
        count += t->parent[g] == rank;
    }
    return count;
}

/* NIC 2 of six falls from 12.5 to 6.25 GB/s: in an AllReduce it becomes a leaf of every tree, and
 * in a Reduce a leaf, or the root of some, with a single child. */
Test(profile, trees_of_a_new_profile_are_faster)
{
    static const cs_collective collectives[] = {CS_ALLREDUCE, CS_REDUCE};
    const cs_capacity          slow          = {2, 2, 0, FOREVER, false};
    cs_job                     healthy       = make_job(6, 1, "alpha-beta", NULL, 0);
    cs_job                     degraded      = make_job(6, 1, "alpha-beta", &slow, 1);
    cs_logical                 before = graph_of(&healthy), after = graph_of(&degraded);

    cr_assert_float_eq(after.nics[2].egress_Bps, 6.25e9, 0);
    cr_assert_float_eq(after.nics[3].egress_Bps, 12.5e9, 0);
    for (size_t i = 0; i < 2; i++) {
        double      took_s = 0;
        cs_strategy old    = trees_for(&before, collectives[i], &took_s);
        double      old_s = cost_s(&after, collectives[i], &old), new_s = 0;
        cs_strategy new = trees_for(&after, collectives[i], &new_s);
        uint32_t roots = 0, most = 0;

        for (uint32_t m = 0; m < new.n_trees; m++) {
            uint32_t d = degree(&new.trees[m], 6, 2);
            most       = d > most ? d : most;
            roots += cs_tree_root(&new.trees[m]) == 2;
        }
        cr_expect_eq(most, 1u, "%s", cs_collective_name(collectives[i]));
        cr_expect(collectives[i] == CS_ALLREDUCE || roots >= 1, "%u roots", roots);
        cr_expect_lt(new_s, .9 * old_s, "%s: %g, %g with the old ones",
                     cs_collective_name(collectives[i]), new_s, old_s);
        cs_strategy_free(&old);
        cs_strategy_free(&new);
    }
    cs_logical_free(&before);
    cs_logical_free(&after);
}

/* ... and not only by the cost model. Where ports carry one message at a time, a single GPU a
 * server gains nothing: a message to the slow NIC holds the fast one at its other end for as long.
 */
Test(profile, trees_of_a_new_profile_are_replayed_faster)
{
    static const struct {
        uint32_t    n, g, slow;
        const char *model;
    } rows[] = {{16, 4, 8, "alpha-beta"}, {6, 1, 2, "packet"}};

    for (size_t i = 0; i < 2; i++) {
        const cs_capacity slow     = {rows[i].slow, 2, 0, FOREVER, false};
        cs_job            healthy  = make_job(rows[i].n, rows[i].g, rows[i].model, NULL, 0);
        cs_job            degraded = make_job(rows[i].n, rows[i].g, rows[i].model, &slow, 1);
        cs_logical        before = graph_of(&healthy), after = graph_of(&degraded);
        double            took_s = 0;
        cs_strategy       old    = trees_for(&before, CS_ALLREDUCE, &took_s);
        cs_strategy new          = trees_for(&after, CS_ALLREDUCE, &took_s);
        double old_s             = replayed_s(&degraded, CS_ALLREDUCE, &old);
        double new_s             = replayed_s(&degraded, CS_ALLREDUCE, &new);

        cr_expect_lt(new_s, .85 * old_s, "%s: %g, %g with the old ones", rows[i].model, new_s,
                     old_s);
        cs_strategy_free(&old);
        cs_strategy_free(&new);
        cs_logical_free(&before);
        cs_logical_free(&after);
    }
}

/* ---- whether trees are changed ---- */

static cs_status renew(const cs_job *on, cs_collective collective, const cs_strategy *old,
                       const cs_renewal_terms *terms, cs_renewal *r, cs_error *err)
{
    const cs_adapcc_options  how  = {.trees = 4, .chunk = CS_AUTO, .moves = 10};
    const cs_profile_options what = cs_profile_defaults();
    cs_scenario              s    = on->scenario;
    cs_profile               p    = {0};
    cs_strategy              made = {0};

    s.collective     = collective;
    s.bytes          = 256 * MIB;
    cs_status status = cs_profile_run(on, &what, &p, err);
    if (status == CS_OK) {
        status = cs_renew_trees(&p, &s, &how, terms, old, &made, r, err);
    }
    cs_strategy_free(&made);
    cs_profile_free(&p);
    return status;
}

Test(profile, trees_are_changed_where_that_pays)
{
    const cs_capacity slow     = {8, 2, 0, FOREVER, false};
    cs_job            healthy  = make_job(16, 4, "alpha-beta", NULL, 0);
    cs_job            degraded = make_job(16, 4, "alpha-beta", &slow, 1);
    cs_logical        before = graph_of(&healthy), after = graph_of(&degraded);
    double            took_s = 0;
    cs_strategy       old    = trees_for(&before, CS_ALLREDUCE, &took_s);
    cs_renewal_terms  terms  = {.solve_s = .1, .setup_s = .3, .period = 500};
    cs_renewal        r      = {0};
    cs_error          err    = {0};

    cr_assert_eq(renew(&degraded, CS_ALLREDUCE, &old, &terms, &r, &err), CS_OK, "%s", err.message);
    cr_assert_float_eq(r.old_s, cost_s(&after, CS_ALLREDUCE, &old), 1e-15);
    cr_assert_lt(r.new_s, .6 * r.old_s);
    cr_assert_float_eq(r.break_even * (r.old_s - r.new_s), .4, 1e-12);
    cr_assert(!r.keeps);
    terms.period = (uint32_t)r.break_even; /* one less than what it takes */
    cr_assert_eq(renew(&degraded, CS_ALLREDUCE, &old, &terms, &r, &err), CS_OK);
    cr_assert(r.keeps);
    terms.period++;
    cr_assert_eq(renew(&degraded, CS_ALLREDUCE, &old, &terms, &r, &err), CS_OK);
    cr_assert(!r.keeps);

    terms = (cs_renewal_terms){.period = 1};
    cr_assert_eq(renew(&healthy, CS_ALLREDUCE, &old, &terms, &r, &err), CS_OK);
    cr_assert(r.keeps && isinf(r.break_even), "what is free is not better for that: %g, %g",
              r.old_s, r.new_s);
    cs_strategy_free(&old);
    cs_logical_free(&before);
    cs_logical_free(&after);
}

Test(profile, trees_of_others_are_refused)
{
    cs_job           job    = make_job(4, 1, "alpha-beta", NULL, 0);
    cs_job           few    = make_job(3, 1, "alpha-beta", NULL, 0);
    cs_logical       l      = graph_of(&job);
    double           took_s = 0;
    cs_strategy      old    = trees_for(&l, CS_ALLREDUCE, &took_s);
    cs_renewal_terms terms  = {.period = 500};
    cs_renewal       r      = {0};
    cs_error         err    = {0};

    cr_assert_eq(renew(&few, CS_ALLREDUCE, &old, &terms, &r, &err), CS_EINVAL);
    cr_assert_not_null(strstr(err.message, "4"), "%s", err.message);
    err = (cs_error){0};
    cr_assert_eq(renew(&job, CS_ALLGATHER, &old, &terms, &r, &err), CS_ENOTSUP);
    cr_assert_str_eq(err.where, "collective");
    cs_status status = CS_ENOMEM;
    for (long passes = 0; status != CS_OK; passes++) {
        cr_assert_lt(passes, 3000);
        err = (cs_error){0};
        cs_alloc_fail_after(passes);
        status = renew(&job, CS_ALLREDUCE, &old, &terms, &r, &err);
        cs_alloc_fail_after(-1);
        cr_assert(status == CS_OK || status == CS_ENOMEM, "%s", err.message);
    }
    cs_strategy_free(&old);
    cs_logical_free(&l);
}

/* A file of it reads back as the same topology. */
Test(profile, a_graph_survives_its_file)
{
    const cs_capacity   slow = {5, 2, 0, FOREVER, false};
    cs_job              job  = make_job(12, 4, "packet", &slow, 1);
    cs_logical          l = graph_of(&job), back = {0};
    cs_text             text     = {0};
    cs_error            err      = {0};
    cs_logical_defaults defaults = {1, 1, {CS_SWITCHED, 1, 1}};

    cs_logical_write(&text, &l);
    cr_assert_eq(cs_logical_parse(text.data, text.length, "g.xml", &defaults, &back, &err), CS_OK,
                 "%s", err.message);
    for (uint32_t src = 0; src < 12; src++) {
        for (uint32_t dst = 0; dst < 12; dst++) {
            if (src == dst) {
                continue;
            }
            const cs_logical_edge a = cs_logical_edge_of(&l, src, dst);
            const cs_logical_edge b = cs_logical_edge_of(&back, src, dst);
            cr_assert_float_eq(a.alpha_s, b.alpha_s, 1e-15);
            cr_assert_float_eq(a.bandwidth_Bps / b.bandwidth_Bps, 1, 1e-12);
            cr_assert_eq(a.egress, b.egress);
        }
    }
    cs_text_free(&text);
    cs_logical_free(&l);
    cs_logical_free(&back);
}

/* ---- what is refused ---- */

static void check_refused(cs_job *job, const cs_profile_options *o, const char *where,
                          const char *words)
{
    cs_profile p      = {0};
    cs_error   err    = {0};
    cs_status  status = cs_profile_run(job, o, &p, &err);

    cr_assert(cs_status_is_refusal(status), "%s: %s", words, cs_status_text(status));
    cr_assert_str_eq(err.where, where, "%s", err.message);
    cr_assert_not_null(strstr(err.message, words), "%s", err.message);
    cs_profile_free(&p);
}

Test(profile, options_out_of_range_are_refused)
{
    cs_job             job = make_job(3, 1, "alpha-beta", NULL, 0);
    cs_profile_options o   = cs_profile_defaults();

    o.counts[1] = 1;
    check_refused(&job, &o, "counts", "2 messages or more");
    o          = cs_profile_defaults();
    o.sizes[2] = 0;
    check_refused(&job, &o, "sizes", "1 byte or more");
    o.sizes[2] = CS_MAX_BYTES / 2;
    check_refused(&job, &o, "sizes", "together at most");
    o         = cs_profile_defaults();
    o.n_sizes = 0;
    check_refused(&job, &o, "repeats", "1 to 16 sizes");
    o         = cs_profile_defaults();
    o.repeats = 57;
    check_refused(&job, &o, "repeats", "1024 times of a link");
    o.repeats = UINT32_MAX;
    check_refused(&job, &o, "repeats", "1024 times of a link");
    o       = cs_profile_defaults();
    o.noise = 1.5;
    check_refused(&job, &o, "noise", "outside [0, 1]");
    o           = cs_profile_defaults();
    o.barrier_s = -1;
    check_refused(&job, &o, "barrier", "accepted are 0 to");
    o         = cs_profile_defaults();
    o.begin_s = (double)NAN;
    check_refused(&job, &o, "begin", "accepted are 0 to");
    o          = cs_profile_defaults();
    o.n_counts = o.n_sizes = 1;
    o.sizes[0]             = 1;
    o.noise                = .5;
    check_refused(&job, &o, "profile", "do not grow with the size");
}

Test(profile, clusters_without_links_or_with_too_many_are_refused)
{
    cs_profile_options o   = cs_profile_defaults();
    cs_job             job = make_job(1, 1, "alpha-beta", NULL, 0);

    check_refused(&job, &o, "cluster.ranks", "outside [2, ");
    job = make_job(4096, 1, "alpha-beta", NULL, 0);
    check_refused(&job, &o, "cluster.ranks", "16781312 pairs");
    job                           = make_job(4, 2, "loggp", NULL, 0);
    *(double *)&job.model_options = 1; /* o, of more than alpha */
    check_refused(&job, &o, "model.options.overhead_s", "twice the overhead");

    job          = make_job(4, 4, "alpha-beta", NULL, 0);
    cs_profile p = must_profile(&job, &o);
    cs_logical l = {0};
    cr_assert_eq(p.n_links, 12u, "a server alone has NVLinks");
    cr_assert_eq(cs_profile_graph(&p, &l, NULL), CS_OK);
    cr_assert_eq(l.n_servers, 1u);
    cs_logical_free(&l);
    cs_profile_free(&p);
}

Test(profile, memory_may_end)
{
    static const char *const models[] = {"alpha-beta", "flow"};
    const cs_capacity        slow     = {3, 2, 0, 1, false};
    cs_profile_options       o        = cs_profile_defaults();

    o.noise = .01;
    for (size_t i = 0; i < 2; i++) {
        cs_job    job    = make_job(6, 2, models[i], &slow, 1);
        cs_status status = CS_ENOMEM;
        for (long passes = 0; status != CS_OK; passes++) {
            cs_profile p   = {0};
            cs_logical l   = {0};
            cs_error   err = {0};

            cr_assert_lt(passes, 500);
            cs_alloc_fail_after(passes);
            status = cs_profile_run(&job, &o, &p, &err);
            status = status == CS_OK ? cs_profile_graph(&p, &l, &err) : status;
            cs_alloc_fail_after(-1);
            cr_assert(status == CS_OK || status == CS_ENOMEM, "%s", err.message);
            cs_logical_free(&l);
            cs_profile_free(&p);
        }
    }
}
