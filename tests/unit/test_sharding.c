/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Training with sharded parameters or experts: the calls of an iteration, what of them compute can
 * hide and what it must wait for, presets, and the examples. */
#include "campaign/trial.h"
#include "training_setup.h"

TestSuite(sharding, .init = set_up, .fini = tear_down);

/* 8 GPUs with one GPU a server, so that closed forms hold. */
static cs_config *sharded(const char *algorithm, const char *training)
{
    cs_config *config = eight_gpus(algorithm);

    ct_set(config, "training", training);
    return config;
}

static cs_iteration iteration_of(const cs_config *config)
{
    cs_case      c      = ct_case(config, 0);
    cs_samples   s      = samples_of(&c, 1, false);
    cs_iteration result = {.elapsed_s = s.elapsed_s[0], .exposed_s = s.exposed_s[0]};

    cs_samples_free(&s);
    cs_case_free(&c);
    return result;
}

/* An AllGather or ReduceScatter over a ring, of a layer of GPT-2 with parameters of 2 bytes; they
 * divide by 8 ranks and 12 layers but for a few bytes. */
#define GPT2_BYTES (124439808.0 * 2)
#define FSDP(compute, more)                                                           \
    "{\"compute\": \"" compute "\", \"parallelism\": \"fsdp\", \"model\": \"gpt2\", " \
    "\"bytes_per_parameter\": 2" more "}"

static double gather_s(void)
{
    return 7 * (ALPHA + GPT2_BYTES / 12 / 8 / RATE);
}

/* An AlltoAll of Mixtral: 1024 tokens, 2 experts of each, 4096 wide, 2 bytes. */
#define EXPERTS(compute, more)                                                                   \
    "{\"compute\": \"" compute "\", \"parallelism\": \"experts\", \"model\": \"mixtral-8x7b\", " \
    "\"tokens\": 1024" more "}"

static double exchange_s(void)
{
    return ALPHA + 7.0 / 8 * 1024 * 2 * 4096 * 2 / RATE;
}

/* ---- presets ---- */

/* Grouped attention, three matrices behind it, two norms a layer, a last norm, an embedding and a
 * head. */
static uint64_t decoder(uint64_t layers, uint64_t width, uint64_t keys, uint64_t inner,
                        uint64_t experts, uint64_t tokens)
{
    uint64_t attention = 2 * width * width + 2 * width * keys, mlp = 3 * width * inner;
    uint64_t behind = experts > 0 ? experts * mlp + experts * width : mlp;

    return layers * (attention + behind + 2 * width) + width + 2 * tokens * width;
}

/* Its latent attention: queries over 1536, keys and values over 512 and 64 for places; 128 heads of
 * 128, and 64 more for places in queries and keys; 3 layers without experts. */
static uint64_t deepseek_v3(void)
{
    const uint64_t w = 7168, heads = 128;
    uint64_t       attention = w * 1536 + 1536 + 1536 * heads * (128 + 64) + w * (512 + 64) + 512 +
                         512 * heads * (128 + 128) + heads * 128 * w;
    uint64_t dense  = attention + 2 * w + 3 * w * 18432;
    uint64_t expert = attention + 2 * w + 257 * (3 * w * 2048) + 256 * w;

    return 3 * dense + 58 * expert + w + 2 * 129280 * w;
}

Test(sharding, presets_follow_from_the_architectures)
{
    const struct {
        const char *name;
        uint64_t    n_parameters;
        uint32_t    layers, width, experts, chosen, expert_layers;
    } rows[] = {
        {"llama-3-8b", decoder(32, 4096, 1024, 14336, 0, 128256), 32, 4096, 0, 0, 0},
        {"llama-3-70b", decoder(80, 8192, 1024, 28672, 0, 128256), 80, 8192, 0, 0, 0},
        {"llama-3.1-405b", decoder(126, 16384, 1024, 53248, 0, 128256), 126, 16384, 0, 0, 0},
        {"mixtral-8x7b", decoder(32, 4096, 1024, 14336, 8, 32000), 32, 4096, 8, 2, 32},
        {"deepseek-v3", deepseek_v3(), 61, 7168, 256, 8, 58},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const cs_workload *w = NULL;
        cr_assert_eq(cs_workload_find(rows[i].name, &w, NULL), CS_OK);
        cr_expect_eq(w->n_parameters, rows[i].n_parameters, "%s", w->name);
        cr_expect_eq(w->n_layers, rows[i].layers);
        cr_expect_eq(w->width, rows[i].width);
        cr_expect_eq(w->n_experts, rows[i].experts);
        cr_expect_eq(w->n_chosen, rows[i].chosen);
        cr_expect_eq(w->n_expert_layers, rows[i].expert_layers);
    }
}

/* ---- the calls ---- */

Test(sharding, fsdp_gathers_every_layer_twice)
{
    cs_config         *config = sharded("ring", FSDP("1s", ", \"forward\": 0.25, \"prefetch\": 2"));
    cs_case            c      = ct_case(config, 0);
    const cs_training *t      = &c.training;
    double             last[2]                    = {0, 0};
    uint64_t           bytes[CS_COLLECTIVE_COUNT] = {0};
    uint32_t           n[CS_COLLECTIVE_COUNT]     = {0};

    cr_assert_eq(t->n_buckets, 36);
    cr_expect_eq(c.job.scenario.collective, CS_ALLGATHER);
    for (uint32_t k = 0; k < t->n_buckets; k++) {
        cs_collective collective = t->size_collective[t->size_of[k]];
        bool          gathers    = collective == CS_ALLGATHER;
        n[collective]++;
        bytes[collective] += t->size_bytes[t->size_of[k]];
        cr_expect(t->ready_ratio[k] >= last[gathers] && t->ready_ratio[k] <= 1, "%u", k);
        cr_expect(gathers ? t->needed_ratio[k] >= t->ready_ratio[k] : isinf(t->needed_ratio[k]));
        last[gathers] = t->ready_ratio[k];
    }
    cr_expect_eq(n[CS_ALLGATHER], 24);
    cr_expect_eq(n[CS_REDUCESCATTER], 12);
    cr_expect_eq(bytes[CS_ALLGATHER], 2 * 248879616);
    cr_expect_eq(bytes[CS_REDUCESCATTER], 248879616);
    cr_expect_eq(t->bytes, 3 * 248879616);
    cr_expect_float_eq(t->ready_ratio[5], 0.25 * 3 / 12, 1e-15); /* as layer 3 begins */
    cr_expect_float_eq(t->needed_ratio[5], 0.25 * 5 / 12, 1e-15);
    cr_expect_float_eq(t->needed_ratio[12], 0.25, 1e-15); /* the last layer backwards */
    cr_expect_float_eq(t->ready_ratio[35], 1, 1e-15);
    cs_case_free(&c);
    cs_config_free(config);
}

Test(sharding, experts_exchange_four_times_a_layer)
{
    cs_config         *config = sharded("allpairs", EXPERTS("1s", ", \"overlap\": 0.5"));
    cs_case            c      = ct_case(config, 0);
    const cs_training *t      = &c.training;

    cr_assert_eq(t->n_buckets, 4 * 32);
    cr_expect_eq(t->n_sizes, 1);
    cr_expect_eq(t->size_bytes[0], 1024 * 2 * 4096 * 2);
    cr_expect_eq(t->size_collective[0], CS_ALLTOALL);
    for (uint32_t k = 0; k < t->n_buckets; k++) {
        bool   is_back = k >= 64;
        double part    = (is_back ? 2.0 / 3 : 1.0 / 3) / 64;
        double ready   = is_back ? 1.0 / 3 + (k - 63) * part : (k + 1) * part;
        cr_expect_float_eq(t->ready_ratio[k], ready, 1e-14);
        cr_expect_float_eq(t->needed_ratio[k], ready + part / 2, 1e-14);
    }
    cs_case_free(&c);
    cs_config_free(config);
}

/* ---- the time ---- */

Test(sharding, without_compute_it_is_the_sum_of_the_calls)
{
    cs_config   *config = sharded("ring", FSDP("0s", ""));
    cs_iteration i      = iteration_of(config);

    cr_expect_float_eq(i.elapsed_s, 36 * gather_s(), 1e-9);
    cr_expect_float_eq(i.exposed_s, 36 * gather_s(), 1e-9);
    cs_config_free(config);
    config = sharded("allpairs", EXPERTS("0s", ""));
    cr_expect_float_eq(iteration_of(config).elapsed_s, 128 * exchange_s(), 1e-12);
    cs_config_free(config);
}

/* Long compute hides what is gathered ahead: all but the first layer of each pass, and the last
 * ReduceScatter. Without, all AllGathers are waited for. */
Test(sharding, compute_hides_what_is_gathered_ahead)
{
    cs_config *config = sharded("ring", FSDP("1s", ""));

    cr_expect_float_eq(iteration_of(config).exposed_s, 3 * gather_s(), 1e-8);
    ct_set(config, "training.prefetch", "5");
    cr_expect_float_eq(iteration_of(config).exposed_s, 3 * gather_s(), 1e-8);
    ct_set(config, "training.prefetch", "0");
    cr_expect_float_eq(iteration_of(config).exposed_s, 25 * gather_s(), 1e-8);
    cr_expect_float_eq(iteration_of(config).elapsed_s, 1 + 25 * gather_s(), 1e-8);
    cs_config_free(config);
}

/* Of every AlltoAll what is longer than the compute beside it; nobody computes beside the last. */
Test(sharding, compute_hides_part_of_an_exchange)
{
    cs_config *config    = sharded("allpairs", EXPERTS("1ms", ""));
    double     part_s[2] = {1e-3 / 3 / 64, 2e-3 / 3 / 64};

    cr_expect_float_eq(iteration_of(config).exposed_s, 128 * exchange_s(), 1e-12);
    ct_set(config, "training.overlap", "0.75");
    cr_assert_gt(exchange_s(), 0.75 * part_s[1]);
    /* the one at the end of the forward pass is beside the first half layer backwards */
    double hidden = 0.75 * (64 * part_s[0] + 63 * part_s[1]);
    cr_expect_float_eq(iteration_of(config).exposed_s, 128 * exchange_s() - hidden, 1e-12);
    ct_set(config, "training.overlap", "1");
    ct_set(config, "training.compute", "\"1s\"");
    cr_expect_float_eq(iteration_of(config).exposed_s, exchange_s(), 1e-12);
    cs_config_free(config);
}

/* Who computes longer is waited for in every call, and all go on together behind it. */
Test(sharding, a_slow_rank_makes_all_wait)
{
    cs_config *config = sharded("allpairs", EXPERTS("10ms", ""));

    ct_set(config, "arrivals", "{\"late\": [{\"rank\": 3, \"delay\": \"2ms\"}]}");
    cs_iteration i = iteration_of(config);
    cr_expect_float_eq(i.elapsed_s, 12e-3 + 128 * exchange_s(), 1e-12);
    cr_expect_float_eq(i.exposed_s, 128 * exchange_s(), 1e-12);
    cs_config_free(config);
}

Test(sharding, any_number_of_jobs_gives_the_same_bits)
{
    static const char *const jobs[] = {FSDP("20ms", ""), EXPERTS("20ms", ", \"overlap\": 0.5")};
    static const char *const algorithms[] = {"[\"ring\", \"circulant\"]",
                                             "[\"allpairs\", \"pairwise\"]"};

    for (int k = 0; k < 2; k++) {
        cs_config            *config  = sharded("ring", jobs[k]);
        cs_montecarlo_options options = options_of(20, 1);
        ct_set(config, "sweep.algorithm.name", algorithms[k]);
        ct_set(config, "arrivals", JOB_ARRIVALS);
        cs_text want = json_of_run(config, &options);
        options.jobs = 3;
        cs_text got  = json_of_run(config, &options);
        cr_assert_str_eq(got.data, want.data);
        cs_text_free(&got);
        options.is_replayed = true; /* closed forms are the replays */
        got                 = json_of_run(config, &options);
        cr_expect_neq(got.length, 0);
        cs_text_free(&got);
        cs_text_free(&want);
        cs_config_free(config);
    }
}

/* Nobody names an algorithm: as NCCL. */
Test(sharding, has_a_default_algorithm)
{
    cs_config *config = NULL;

    cr_assert_eq(cs_config_new(&config, NULL), CS_OK);
    ct_set(config, "training", EXPERTS("1s", ""));
    cs_case c = ct_case(config, 0);
    cr_expect_str_eq(c.job.algorithm->name, "allpairs");
    cs_case_free(&c);
    ct_set(config, "training", FSDP("1s", ""));
    c = ct_case(config, 0);
    cr_expect_str_eq(c.job.algorithm->name, "ring");
    cs_case_free(&c);
    cs_config_free(config);
}

Test(sharding, out_of_memory)
{
    static const char *const jobs[] = {FSDP("20ms", ""), EXPERTS("20ms", "")};

    for (int k = 0; k < 2; k++) {
        cs_config *config = sharded(k == 0 ? "ring" : "allpairs", jobs[k]);
        cs_status  status = CS_ENOMEM;
        for (long passes = 0; status == CS_ENOMEM && passes < 2000; passes++) {
            cs_case c = {0};
            cs_alloc_fail_after(passes);
            status = cs_config_case(config, 0, &c, NULL);
            cs_alloc_fail_after(-1);
            cs_case_free(&c);
        }
        cr_assert_eq(status, CS_OK);
        cs_config_free(config);
    }
}

/* ---- the examples ---- */

Test(sharding, the_examples_are_run)
{
    static const char *const names[] = {"/configs/training-fsdp.json",
                                        "/configs/training-experts.json"};
    static const size_t      rows[]  = {9, 6};

    for (int k = 0; k < 2; k++) {
        cs_config            *config  = NULL;
        cs_error              err     = {0};
        cs_montecarlo_options options = options_of(2, 2);
        char                  file[512];
        snprintf(file, sizeof file, "%s%s", COLLSIM_SOURCE_DIR, names[k]);
        cr_assert_eq(cs_config_load(file, &config, &err), CS_OK, "%s", err.message);
        ct_set(config, "cluster", "{\"topology\": {\"preset\": \"dgx-h100\", \"servers\": 2}}");
        cs_montecarlo_report report = run(config, &options);
        cr_assert_eq(report.n_rows, rows[k]);
        cr_expect_eq(report.failed, 0);
        for (size_t i = 0; i < report.n_rows; i++) {
            cr_expect_gt(report.rows[i].elapsed_s.mean.value, report.rows[i].compute_s);
        }
        cs_montecarlo_report_free(&report);
        cs_config_free(config);
    }
}
