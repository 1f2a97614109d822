/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Critical and ideal delays: against the StragglAR paper's formulas, against replays at many
 * delays, and what is said where there are none. */
#include "analytic/formula.h"
#include "base/alloc.h"
#include "cs/result.h"
#include "engine/delays.h"
#include "stragglar_setup.h"

#include <math.h>

static const cs_delays_choice any = {.against = NULL};

static cs_delays delays_of(const cs_job *job, const cs_delays_choice *choice)
{
    cs_delays d;
    cs_error  err = {0};

    cr_assert_eq(cs_job_delays(job, choice, &d, &err), CS_OK, "%s", err.message);
    return d;
}

/* ---- against formulas ---- */

Test(delays, as_the_paper_says)
{
    for (uint32_t n = 4; n <= 256; n += 2 + n / 3 * 2) {
        uint64_t bytes = (uint64_t)n * (n - 1) * 4096; /* all chunks are equal */
        uint32_t c     = cs_stragglar_rounds(n);
        double   x_s   = (double)bytes / 450e9;
        begin_late(n, bytes, n % 3 == 0 ? 0 : 1e-3);
        cs_job    job        = ct_scene_given(&scene, NULL);
        cs_delays d          = delays_of(&job, &any);
        double    critical_s = cs_formula_critical_delay_exact(n, c, 3e-6, x_s);
        double    ideal_s    = cs_formula_reduce_scatter(n, 3e-6, x_s);
        cr_assert(ct_is_close(d.critical_s, critical_s, 1e-9), "n=%u: %.12g, not %.12g s", n,
                  d.critical_s, critical_s);
        cr_assert(ct_is_close(d.ideal_s, ideal_s, 1e-9), "n=%u: %.12g, not %.12g s", n, d.ideal_s,
                  ideal_s);
        cr_assert_str_eq(d.reference, "ring");
    }
}

/* T_pre + T_main less the ring, of a pre-phase of two ring passes and a binomial tree. */
Test(delays, of_broadcast)
{
    uint32_t n     = 4;
    uint64_t bytes = 3 * 4 * 4096;
    double   x_s = (double)bytes / 450e9, alpha_s = 3e-6;

    ct_scene_set(&scene, "broadcast", CS_ALLREDUCE, n, bytes);
    cs_job    job    = ct_scene_given(&scene, NULL);
    cs_delays d      = delays_of(&job, &any);
    double    pre_s  = 2 * cs_formula_reduce_scatter(n, alpha_s, x_s);
    double    main_s = cs_formula_broadcast(n, alpha_s, x_s);
    double    ring_s = cs_formula_ring(n, alpha_s, x_s);
    cr_assert(ct_is_close(d.ideal_s, pre_s, 1e-9));
    cr_assert(ct_is_close(d.critical_s, pre_s + main_s - ring_s, 1e-9), "%.12g, not %.12g",
              d.critical_s, pre_s + main_s - ring_s);
}

/* ---- against replays ---- */

static double arrivals[CT_MOST_RANKS];

/* "ring", or "parallel_rings segments=2". */
static void set_reference(cs_job *job, const char *reference)
{
    const cs_algorithm *other = NULL;
    const char         *equal = strstr(reference, " segments=");
    char                name[64];
    cs_error            err = {0};

    snprintf(name, sizeof name, "%.*s", (int)strcspn(reference, " "), reference);
    cr_assert_eq(cs_algorithm_find(name, &other, &err), CS_OK, "%s", err.message);
    cs_job_set_algorithm(job, other, NULL);
    if (equal != NULL) {
        cr_assert_eq(cs_field_set(other->options, &job->options, "segments",
                                  equal + strlen(" segments="), "segments", &err),
                     CS_OK, "%s", err.message);
    }
}

/* Exposed time, with the rank `late` so long after the last of the others. */
static double exposed_s(const cs_job *asked, const char *algorithm, uint32_t late, double delay_s)
{
    cs_job    job  = *asked;
    uint32_t  n    = job.scenario.cluster.n_ranks;
    double    last = 0, first = (double)INFINITY;
    cs_result result;
    cs_error  err = {0};

    for (uint32_t r = 0; r < n; r++) {
        arrivals[r] = cs_arrival(&asked->scenario, r);
        last        = r == late ? last : fmax(last, arrivals[r]);
        first       = r == late ? first : fmin(first, arrivals[r]);
    }
    arrivals[late] = last + delay_s;
    for (uint32_t r = 0; r < n; r++) {
        arrivals[r] -= first;
    }
    job.scenario.arrival_s = arrivals;
    if (algorithm != NULL) {
        set_reference(&job, algorithm);
    }
    cr_assert_eq(cs_job_run(&job, NULL, 0, &result, &err), CS_OK, "%s", err.message);
    return result.exposed_s;
}

/* From the critical delay on it is faster, just before it is not; from the ideal delay on nothing
 * is gained, just before something is. `wobble` is how exact the prediction of what it chooses is,
 * relatively. */
static void check_delays(const cs_job *job, const cs_delays *d, uint32_t late, double wobble)
{
    double far_s = 1, end_s = exposed_s(job, NULL, late, far_s);
    double ring_s = exposed_s(job, d->reference, late, far_s), slack_s = wobble * ring_s;

    cr_assert_not_null(d->reference);
    if (isinf(d->critical_s)) {
        cr_assert(end_s >= ring_s * (1 - 1e-9), "%s: never, but %.12g < %.12g s",
                  ct_scene_text(&scene), end_s, ring_s);
    } else {
        double most_s = fmax(2 * d->ideal_s, 2 * d->critical_s) + 1e-6;
        for (int i = 0; i <= 24; i++) {
            double at_s = d->critical_s + (i == 0 ? 1e-5 * d->critical_s + slack_s
                                                  : (most_s - d->critical_s) * i / 24);
            double it_s = exposed_s(job, NULL, late, at_s);
            double r_s  = exposed_s(job, d->reference, late, at_s);
            cr_assert(it_s < r_s + slack_s, "%s: from %.9g s on, but at %.9g s %.12g and %.12g",
                      ct_scene_text(&scene), d->critical_s, at_s, it_s, r_s);
        }
        if (d->critical_s > 0) {
            double at_s = fmax(0, d->critical_s * (1 - 1e-5) - slack_s);
            double it_s = exposed_s(job, NULL, late, at_s);
            double r_s  = exposed_s(job, d->reference, late, at_s);
            cr_assert(it_s > r_s - slack_s, "%s: not before %.9g s, but at %.9g s %.12g and %.12g",
                      ct_scene_text(&scene), d->critical_s, at_s, it_s, r_s);
        }
    }
    double near_s = exposed_s(job, NULL, late, d->ideal_s + 1e-5 * d->ideal_s);
    cr_assert(near_s <= end_s * (1 + 2e-7 + wobble), "%s: ideal %.9g s: %.12g, then %.12g",
              ct_scene_text(&scene), d->ideal_s, near_s, end_s);
    if (d->ideal_s > 0) {
        double before_s = exposed_s(job, NULL, late, d->ideal_s * (1 - 1e-4));
        cr_assert(before_s > end_s * (1 - wobble), "%s: ideal %.9g s: %.12g before, then %.12g",
                  ct_scene_text(&scene), d->ideal_s, before_s, end_s);
    }
}

/* Some scenario: others late, a NIC slow, an alpha of its own. */
static uint32_t begin_random(ct_rng *rng, const char *algorithm)
{
    uint32_t n = 3 + ct_below(rng, 22), late = ct_below(rng, n);

    ct_scene_set(&scene, algorithm, CS_ALLREDUCE, n,
                 1 + (ct_word(rng) >> (36 + ct_below(rng, 16))));
    scene.scenario.cluster.fabrics[CS_NIC].alpha_s = ct_uniform(rng, 1e-7, 1e-5);
    for (uint32_t r = 0; r < n; r++) {
        bool is_late       = ct_below(rng, 4) == 0;
        scene.arrival_s[r] = is_late ? ct_uniform(rng, 0, 2e-4) : 0;
    }
    scene.arrival_s[(late + 1) % n] = 0;
    scene.scenario.arrival_s        = scene.arrival_s;
    if (ct_below(rng, 3) == 0) {
        scene.capacity[0] =
            (cs_capacity){ct_below(rng, n), ct_uniform(rng, 1, 3), 0, HUGE_VAL, false};
        scene.scenario.capacity   = scene.capacity;
        scene.scenario.n_capacity = 1;
    }
    set_number("straggler", late);
    return late;
}

static void check_random(const char *algorithm, const char *model, uint64_t salt, int count,
                         const char *chunks, double wobble)
{
    ct_rng rng = ct_rng_for(salt);

    for (int i = 0; i < count; i++) {
        uint32_t late = begin_random(&rng, algorithm);
        if (chunks != NULL) {
            set("chunks", chunks);
        }
        cs_job    job = ct_scene_given(&scene, model);
        cs_delays d   = delays_of(&job, &any);
        check_delays(&job, &d, late, wobble);
    }
}

Test(delays, stragglar_as_replayed)
{
    check_random("stragglar", NULL, 1401, 150, NULL, 0);
}

Test(delays, broadcast_as_replayed)
{
    check_random("broadcast", NULL, 1402, 80, NULL, 0);
}

Test(delays, loggp_as_replayed)
{
    check_random("stragglar", "loggp", 1403, 60, NULL, 0);
}

Test(delays, flow_as_replayed)
{
    check_random("stragglar", "flow", 1404, 25, NULL, 1e-7);
}

/* The number of chunks is chosen anew for every delay, by a prediction that knows no odd bytes. */
Test(delays, chunks_chosen_for_each_delay)
{
    check_random("stragglar", NULL, 1405, 60, "auto", 1e-2);
}

/* With the best number of chunks for every delay the critical delay is less than with any fixed
 * one. */
Test(delays, the_best_chunks_have_the_least_critical_delay)
{
    static const char *const numbers[] = {"5", "7", "14", "28", "42", "70"};

    begin_late(8, 840 << 16, 0);
    set("chunks", "auto");
    cs_job    job  = ct_scene_given(&scene, NULL);
    cs_delays best = delays_of(&job, &any);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        set("chunks", numbers[i]);
        job         = ct_scene_given(&scene, NULL);
        cs_delays d = delays_of(&job, &any);
        cr_assert(best.critical_s <= d.critical_s * (1 + 1e-6), "%s chunks: %.9g < %.9g s",
                  numbers[i], d.critical_s, best.critical_s);
    }
    cr_assert(best.critical_s > 0);
}

/* ---- on servers: it chooses itself from the critical delay on ---- */

static uint32_t late_ranks_at(const cs_job *asked, uint32_t late, double delay_s)
{
    cs_job   job = *asked;
    uint32_t n   = job.scenario.cluster.n_ranks, count;
    cs_error err = {0};

    for (uint32_t r = 0; r < n; r++) {
        arrivals[r] = r == late ? delay_s : 0;
    }
    job.scenario.arrival_s = arrivals;
    cr_assert_eq(cs_job_resolve(&job, &err), CS_OK, "%s", err.message);
    memcpy(&count, job.options.bytes + cs_field_find(job.algorithm->options, "late_ranks")->offset,
           sizeof count);
    cs_job_release(&job);
    return count;
}

static void begin_servers(uint32_t servers, uint32_t gpus, uint64_t bytes)
{
    begin_late(servers * gpus, bytes, 0);
    scene.scenario.cluster.gpus_per_server    = gpus;
    scene.scenario.cluster.fabrics[CS_NIC]    = (cs_fabric){CS_SWITCHED, 3e-6, 50e9};
    scene.scenario.cluster.fabrics[CS_NVLINK] = (cs_fabric){CS_SWITCHED, 1e-6, 450e9};
}

Test(delays, over_servers_it_runs_from_there_on)
{
    static const uint32_t servers[] = {2, 3, 4, 8}, gpus[] = {2, 4};
    int                   n_left = 0;

    for (size_t i = 0; i < 8; i++) {
        uint32_t n = servers[i / 2], g = gpus[i % 2], late = (uint32_t)i % (n * g);
        begin_servers(n, g, (uint64_t)3 << (20 + i));
        scene.arrival_s[late] = 1e-3;
        set("share", "1");
        cs_job    job = ct_scene_given(&scene, NULL);
        cs_delays d   = delays_of(&job, &any);
        cr_assert_not_null(d.reference);
        if (isinf(d.critical_s)) { /* as fast as the reference at the most */
            cr_assert(exposed_s(&job, NULL, late, 0.1) >= exposed_s(&job, d.reference, late, 0.1));
            continue;
        }
        cr_assert(d.critical_s > 0 && d.ideal_s >= d.critical_s * (1 - 1e-5));
        cr_assert_eq(late_ranks_at(&job, late, d.critical_s * 1.001), 1, "%s at %.9g s",
                     ct_scene_text(&scene), d.critical_s);
        double before_s = d.critical_s * 0.999, it_s = exposed_s(&job, NULL, late, before_s);
        bool   is_tie = it_s == exposed_s(&job, d.reference, late, before_s);
        cr_assert(is_tie || late_ranks_at(&job, late, before_s) == 0, "%s at %.9g s",
                  ct_scene_text(&scene), d.critical_s);
        n_left += late_ranks_at(&job, late, before_s) == 0;
    }
    cr_assert_geq(n_left, 4);
}

/* It is named as it runs instead just before the critical delay, in as many segments. */
Test(delays, the_reference_is_what_runs_instead)
{
    uint32_t n_segmented = 0;

    for (uint32_t servers = 2; servers <= 8; servers += 2) {
        char               label[64];
        uint32_t           segments, baseline;
        cs_error           err     = {0};
        static const char *names[] = {"",     "circulant",  "latency_optimal", "merged_rhd",  "rhd",
                                      "ring", "nccl_rings", "parallel_rings",  "hierarchical"};
        begin_servers(servers, 8, 1 << 30);
        cs_job          job   = ct_scene_given(&scene, NULL);
        const cs_field *table = job.algorithm->options;
        cs_delays       d     = delays_of(&job, &any);
        for (uint32_t r = 0; r < servers * 8; r++) {
            arrivals[r] = r + 1 == servers * 8 ? d.critical_s * 0.999 : 0;
        }
        job.scenario.arrival_s = arrivals;
        cr_assert_eq(cs_job_resolve(&job, &err), CS_OK, "%s", err.message);
        memcpy(&segments, job.options.bytes + cs_field_find(table, "baseline_segments")->offset,
               sizeof segments);
        memcpy(&baseline, job.options.bytes + cs_field_find(table, "baseline")->offset,
               sizeof baseline);
        snprintf(label, sizeof label, segments > 1 ? "%s segments=%u" : "%s", names[baseline],
                 segments);
        cr_expect_str_eq(d.reference, label, "%u servers", servers);
        n_segmented += segments > 1;
        cs_job_release(&job);
    }
    cr_assert_gt(n_segmented, 0);
}

/* Rings take 2 (N-1)/N x, the schedule as long as its pre-phase is not hidden (N-2)/(N-1) x more
 * than x: (N-2)/(N (N-1)) x without alpha, where NVLink is fast. */
Test(delays, over_servers_in_the_limit)
{
    for (uint32_t n = 4; n <= 8; n += 4) {
        begin_servers(n, 2, (uint64_t)1 << 34);
        scene.scenario.cluster.fabrics[CS_NIC].alpha_s = 1e-9;
        scene.scenario.cluster.fabrics[CS_NVLINK]      = (cs_fabric){CS_SWITCHED, 1e-10, 1e14};
        set("share", "1");
        cs_job    job    = ct_scene_given(&scene, NULL);
        cs_delays d      = delays_of(&job, &any);
        double    x_s    = (double)((uint64_t)1 << 34) / (2 * 50e9);
        double    want_s = (n - 2.0) / (n * (n - 1.0)) * x_s;
        cr_assert(fabs(d.critical_s - want_s) < 0.02 * x_s, "%u servers: %.6g, not %.6g s", n,
                  d.critical_s, want_s);
    }
}

/* From 156 to 220 us it gains half a thousandth: too little for steps of what it gains. */
Test(delays, a_little_is_gained_over_a_long_range)
{
    begin_servers(3, 2, 12 << 20);
    scene.scenario.cluster.fabrics[CS_NIC].alpha_s = 6.65648e-6;
    scene.scenario.cluster.fabrics[CS_NVLINK]      = (cs_fabric){CS_SWITCHED, 1e-6, 100e9};
    scene.capacity[0]         = (cs_capacity){.rank = 4, .slowdown = 2, .until_s = HUGE_VAL};
    scene.scenario.capacity   = scene.capacity;
    scene.scenario.n_capacity = 1;
    scene.arrival_s[3]        = 1e-3;
    cs_job    job             = ct_scene_given(&scene, "flow");
    cs_delays d               = delays_of(&job, &any);
    for (int i = -1; i <= 1; i += 2) {
        double at_s = d.critical_s * (1 + 1e-4 * i);
        bool   is_faster =
            exposed_s(&job, NULL, 3, at_s) < exposed_s(&job, d.reference, 3, at_s) * (1 - 1e-9);
        cr_assert_eq(is_faster, i > 0, "%.9g s of %.9g s", at_s, d.critical_s);
    }
}

/* ---- several late ranks ---- */

/* They move together, and keep their distance. */
Test(delays, several_late_ranks)
{
    begin_late(8, 36 << 20, 0);
    set("late_ranks", "2");
    cs_job    job      = ct_scene_given(&scene, NULL);
    cs_delays together = delays_of(&job, &any);
    cr_assert(together.critical_s > 0 && isfinite(together.critical_s));

    scene.arrival_s[2]  = 3e-4;
    scene.arrival_s[5]  = 3e-4;
    cs_job    elsewhere = ct_scene_given(&scene, NULL);
    cs_delays moved     = delays_of(&elsewhere, &any);
    cr_assert(ct_is_close(moved.critical_s, together.critical_s, 1e-6));
    cr_assert(ct_is_close(moved.ideal_s, together.ideal_s, 1e-6));

    scene.arrival_s[5] = 9e-4;
    cs_job    apart    = ct_scene_given(&scene, NULL);
    cs_delays less     = delays_of(&apart, &any);
    cr_assert(less.critical_s < together.critical_s);
}

/* Left to choose, it runs another schedule while nobody is late enough, and is compared with the
 * best of those. */
Test(delays, as_many_as_pay)
{
    begin_late(8, 1 << 30, 0);
    set("late_ranks", "auto");
    cs_job    job = ct_scene_given(&scene, NULL);
    cs_delays d   = delays_of(&job, &any);
    cr_assert_str_neq(d.reference, "ring");
    cr_assert(d.critical_s > 0);
    cr_assert_eq(late_ranks_at(&job, 7, d.critical_s * 0.99), 0);
    cr_assert_neq(late_ranks_at(&job, 7, d.critical_s * 1.01), 0);
}

/* ---- several crossings ---- */

/* While a NIC is slow now and then, the circulant AllReduce suffers with some delays and StragglAR
 * with others. The last crossing counts. */
Test(delays, the_last_of_several_crossings)
{
    extern const cs_algorithm     cs_algorithm_circulant;
    static const cs_delays_choice circulant = {.against = &cs_algorithm_circulant};
    enum { LOOKS = 2000 };
    const double most_s    = 12e-3;
    int          crossings = 0;
    double       last_s    = 0;

    begin_late(5, 1 << 30, 0);
    scene.capacity[0]         = (cs_capacity){0, 40, 0.5e-3, 1.45e-3, false};
    scene.capacity[1]         = (cs_capacity){0, 4, 2.6e-3, 3.36e-3, false};
    scene.capacity[2]         = (cs_capacity){0, 2, 4.9e-3, 6.8e-3, false};
    scene.scenario.capacity   = scene.capacity;
    scene.scenario.n_capacity = 3;
    cs_job    job             = ct_scene_given(&scene, NULL);
    cs_delays d               = delays_of(&job, &circulant);
    bool      was_faster      = false;
    for (int i = 0; i <= LOOKS; i++) {
        double at_s      = most_s * i / LOOKS;
        double other_s   = exposed_s(&job, "circulant", 4, at_s);
        bool   is_faster = other_s - exposed_s(&job, NULL, 4, at_s) > 0;
        crossings += is_faster != was_faster;
        last_s     = is_faster && !was_faster ? at_s : last_s;
        was_faster = is_faster;
    }
    cr_assert(was_faster);
    cr_assert_geq(crossings, 3, "%d crossings", crossings);
    cr_assert(d.critical_s <= last_s && d.critical_s > last_s - most_s / LOOKS,
              "%.9g s, not in (%.9g, %.9g]", d.critical_s, last_s - most_s / LOOKS, last_s);
}

/* The best of the baselines at a delay of the last rank. */
static double best_s(const cs_job *job, uint32_t n, double delay_s)
{
    static const char *const all[] = {"circulant", "latency_optimal", "rhd", "ring", "merged_rhd"};
    double                   least_s = (double)INFINITY;

    for (size_t a = 0; a < (n % 2 == 0 ? 5 : 4); a++) {
        least_s = fmin(least_s, exposed_s(job, all[a], n - 1, delay_s));
    }
    return least_s;
}

/* With rates that change, what is slower for ever may be faster with less delay: every baseline is
 * looked at. From the critical delay on all of them are slower, just before it one is not. */
Test(delays, no_rival_is_left_out_where_rates_change)
{
    static const cs_capacity steps[][3] = {
        {{4, 4, 105.2e-6, 139.4e-6, false},
         {4, 40, 227.3e-6, 408e-6, false},
         {4, 2, 600.4e-6, 812.4e-6, false}},
        {{0, 40, 54.46e-6, 94.07e-6, false},
         {0, 40, 268.9e-6, 308e-6, false},
         {0, 2, 407.8e-6, 561.8e-6, false}},
        {{2, 10, 121.9e-6, 212.3e-6, false},
         {2, 4, 280.8e-6, 465.5e-6, false},
         {2, 40, 626.8e-6, 716.6e-6, false}},
        {{3, 4, 196e-6, 347.1e-6, false},
         {3, 40, 557.6e-6, 721.3e-6, false},
         {3, 4, 788.2e-6, 888e-6, false}},
        {{3, 4, 347.2e-6, HUGE_VAL, false}}, /* what is slower for ever ... */
        {{4, 1.5, 496e-6, HUGE_VAL, false}}, /* ... is the fastest before */
        {{4, 2, 576.1e-6, HUGE_VAL, false}},
    };
    static const uint32_t  ranks[] = {5, 5, 6, 8, 7, 9, 6};
    const cs_delays_choice best    = {.is_against_best = true};

    for (size_t i = 0; i < sizeof ranks / sizeof ranks[0]; i++) {
        uint32_t n = ranks[i];
        begin_late(n, 1 << 26, 0);
        memcpy(scene.capacity, steps[i], sizeof steps[i]);
        scene.scenario.capacity   = scene.capacity;
        scene.scenario.n_capacity = i < 4 ? 3 : 1;
        cs_job    job             = ct_scene_given(&scene, NULL);
        cs_delays d               = delays_of(&job, &best);
        for (int k = -1; k < 200; k++) {
            double at_s = d.critical_s * (k < 0 ? 1 - 1e-5 : 1 + 1e-5 + 0.05 * k);
            double it_s = exposed_s(&job, NULL, n - 1, at_s), other_s = best_s(&job, n, at_s);
            cr_assert_eq(it_s < other_s, k >= 0, "%u ranks, %.9g of %.9g s: %.9g and %.9g", n, at_s,
                         d.critical_s, it_s, other_s);
        }
    }
}

/* ---- none ---- */

Test(delays, nobody_is_presumed_late)
{
    ct_scene_set(&scene, "ring", CS_ALLREDUCE, 8, 1 << 20);
    cs_job    job = ct_scene_given(&scene, NULL);
    cs_delays d   = delays_of(&job, &any);
    cr_assert(isnan(d.critical_s) && isnan(d.ideal_s) && d.reference == NULL);

    begin_late(8, 1 << 20, 1e-3);
    set("late_ranks", "0");
    job = ct_scene_given(&scene, NULL);
    d   = delays_of(&job, &any);
    cr_assert(isnan(d.critical_s) && isnan(d.ideal_s) && d.reference == NULL);
}

Test(delays, never_faster)
{
    ct_scene_set(&scene, "broadcast", CS_ALLREDUCE, 8, 1 << 30);
    cs_job    job = ct_scene_given(&scene, NULL);
    cs_delays d   = delays_of(&job, &any);
    cr_assert(isinf(d.critical_s) && d.ideal_s > 0 && isfinite(d.ideal_s));
    cr_assert_str_eq(d.reference, "ring");
}

Test(delays, against_others)
{
    extern const cs_algorithm cs_algorithm_rhd;

    begin_late(64, 1 << 30, 0);
    cs_job                 job  = ct_scene_given(&scene, NULL);
    const cs_delays_choice rhd  = {.against = &cs_algorithm_rhd};
    const cs_delays_choice best = {.is_against_best = true};
    cs_delays              ring = delays_of(&job, &any), d = delays_of(&job, &rhd);
    cr_assert_str_eq(d.reference, "rhd");
    cr_assert(d.critical_s > ring.critical_s);
    check_delays(&job, &d, 63, 0);
    cs_delays of_best = delays_of(&job, &best);
    cr_assert(of_best.critical_s >= d.critical_s);
    cr_assert_eq(of_best.ideal_s, ring.ideal_s);
}

Test(delays, what_takes_long_is_left_out)
{
    const cs_delays_choice some = {.most_transfers = 1000};

    begin_late(64, 1 << 30, 0);
    cs_job    job = ct_scene_given(&scene, NULL);
    cs_delays d   = delays_of(&job, &some);
    cr_assert(isnan(d.critical_s) && isnan(d.ideal_s) && d.reference == NULL);

    begin_late(64, 63 << 20, 0); /* a formula is no work */
    job = ct_scene_given(&scene, NULL);
    d   = delays_of(&job, &some);
    cr_assert(d.critical_s > 0 && d.ideal_s > 0);
}

/* No allocation that fails is taken for a refusal. */
Test(delays, without_memory)
{
    cs_status status = CS_ENOMEM;
    long      passes = 0;

    begin_servers(4, 2, 1 << 24);
    cs_job job = ct_scene_given(&scene, NULL);
    for (; status != CS_OK && passes < 100000; passes += 1 + passes / 8) {
        cs_delays d;
        cs_error  err = {0};
        cs_alloc_fail_after(passes);
        status = cs_job_delays(&job, &any, &d, &err);
        cs_alloc_fail_after(-1);
        cr_assert(status == CS_OK || status == CS_ENOMEM, "%s", err.message);
    }
    cr_assert_eq(status, CS_OK);
    cr_assert_gt(passes, 20);
}
