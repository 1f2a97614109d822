/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Jobs of training: the presets' sizes out of their architectures, buckets, and who refuses them.
 */
#include "training_setup.h"

static uint64_t parameters_of(const char *name)
{
    const cs_workload *workload = NULL;
    cr_assert_eq(cs_workload_find(name, &workload, NULL), CS_OK);
    return workload->n_parameters;
}

/* Rows and columns of a matrix, and its bias. */
static uint64_t full(uint64_t in, uint64_t out)
{
    return in * out + out;
}

/* Decoder layers with grouped attention and gated layers behind it (three matrices), each
 * with two norms, and a last norm. `bias`: of queries, keys and values. */
static uint64_t decoder(uint64_t layers, uint64_t width, uint64_t key_width, uint64_t inner,
                        bool bias)
{
    uint64_t attention = 2 * width * width + 2 * width * key_width;
    attention += bias ? width + 2 * key_width : 0;
    return layers * (attention + 3 * width * inner + 2 * width) + width;
}

/* BERT's and GPT-2's layers: all matrices with biases, norms with a scale and a shift. */
static uint64_t encoder(uint64_t layers, uint64_t width)
{
    return layers * (4 * full(width, width) + full(width, 4 * width) + full(4 * width, width) +
                     2 * 2 * width);
}

Test(workload, presets_follow_from_the_architectures)
{
    static const uint64_t channels[] = {3,   64,  64,  128, 128, 256, 256,
                                        256, 512, 512, 512, 512, 512, 512};
    uint64_t              vgg        = 0;

    /* 24 heads of 128, 8 of keys; the embedding is the head, too */
    cr_expect_eq(parameters_of("llama-3.2-3b"),
                 UINT64_C(128256) * 3072 + decoder(28, 3072, 8 * 128, 8192, false));
    cr_expect_eq(parameters_of("phi-3-mini-3.8b"),
                 2 * UINT64_C(32064) * 3072 + decoder(32, 3072, 3072, 8192, false));
    cr_expect_eq(parameters_of("qwen-2.5-3b"),
                 UINT64_C(151936) * 2048 + decoder(36, 2048, 2 * 128, 11008, true));
    /* tokens, places, segments, a norm; a pooler */
    cr_expect_eq(parameters_of("bert-large"), (30522 + 512 + 2) * UINT64_C(1024) + 2 * 1024 +
                                                  encoder(24, 1024) + full(1024, 1024));
    cr_expect_eq(parameters_of("gpt2"),
                 (50257 + 1024) * UINT64_C(768) + encoder(12, 768) + 2 * 768);
    for (size_t i = 1; i < sizeof channels / sizeof channels[0]; i++) {
        vgg += full(9 * channels[i - 1], channels[i]);
    }
    vgg += full(7 * 7 * 512, 4096) + full(4096, 4096) + full(4096, 1000);
    cr_expect_eq(parameters_of("vgg16"), vgg);
    /* the buffer of StragglAR's training log, in KiB */
    cr_expect_eq(parameters_of("llama-3.2-3b") * 4, UINT64_C(12549804) * 1024);
}

Test(workload, models_are_cut_into_full_buckets_and_a_rest)
{
    cs_config *config = job_config("ring");

    ct_set(config, "training", "{\"compute\": 0, \"model\": \"gpt2\", \"bucket\": \"25MiB\"}");
    cs_case            c = ct_case(config, 0);
    const cs_training *t = &c.training;
    cr_expect_eq(t->bytes, UINT64_C(124439808) * 4);
    cr_expect_eq(t->n_buckets, 19); /* 18 full ones */
    cr_expect_eq(t->n_sizes, 2);
    cr_expect_eq(t->size_bytes[0], 25 << 20);
    cr_expect_eq(t->size_bytes[1], t->bytes - 18 * (UINT64_C(25) << 20));
    for (uint32_t i = 0; i < t->n_buckets; i++) {
        cr_expect_eq(t->size_of[i], i == 18);
    }
    cr_expect_eq(c.job.scenario.bytes, 25 << 20);
    cs_case_free(&c);
    ct_set(config, "training.bytes_per_parameter", "2");
    ct_set(config, "training.bucket", "null");
    c = ct_case(config, 0);
    cr_expect_eq(c.training.n_buckets, 1);
    cr_expect_eq(c.training.n_sizes, 1);
    cr_expect_eq(c.job.scenario.bytes, 248879616);
    cs_case_free(&c);
    ct_set(config, "training.bucket", "124439808"); /* divides */
    c = ct_case(config, 0);
    cr_expect_eq(c.training.n_buckets, 2);
    cr_expect_eq(c.training.n_sizes, 1);
    cs_case_free(&c);
    cs_config_free(config);
}

/* Of two regimes: tests/errors/training-two-regimes. */
Test(workload, a_calibration_gives_the_nic)
{
    cs_config *config = NULL;
    cs_error   err    = {0};

    cr_assert_eq(cs_config_load(COLLSIM_SOURCE_DIR "/configs/h100x8-late.json", &config, &err),
                 CS_OK, "%s", err.message);
    ct_set(config, "sweep", "{}");
    ct_set(config, "bytes", "\"1GiB\"");
    cs_case single = ct_case(config, 0);
    cs_config_free(config);
    cr_assert_eq(cs_config_load(COLLSIM_SOURCE_DIR "/configs/h100x8-late.json", &config, &err),
                 CS_OK);
    ct_set(config, "sweep", "{}");
    ct_set(config, "training", "{\"compute\": 0, \"buckets\": [\"1GiB\", \"1GiB\"]}");
    cs_case both = ct_case(config, 0);
    cr_expect_eq(both.job.scenario.cluster.fabrics[CS_NIC].bandwidth_Bps,
                 single.job.scenario.cluster.fabrics[CS_NIC].bandwidth_Bps);
    cr_expect_eq(both.job.scenario.cluster.fabrics[CS_NIC].alpha_s,
                 single.job.scenario.cluster.fabrics[CS_NIC].alpha_s);
    cs_case_free(&single);
    cs_case_free(&both);
    cs_config_free(config);
}

/* Commands that time single calls refuse it, also where only a sweep has it. */
Test(workload, single_calls_have_none)
{
    cs_config *config = job_config("ring");
    cs_error   err    = {0};

    cr_expect_eq(cs_config_refuse_training(config, &err), CS_EINVAL);
    cr_expect_str_eq(err.where, "--set training");
    cs_config_free(config);
    cr_assert_eq(cs_config_new(&config, NULL), CS_OK);
    cr_expect_eq(cs_config_refuse_training(config, NULL), CS_OK);
    ct_set(config, "sweep.training.overlap", "[0, 1]");
    err = (cs_error){0};
    cr_expect_eq(cs_config_refuse_training(config, &err), CS_EINVAL);
    cr_expect_str_eq(err.where, "--set training.overlap");
    cs_config_free(config);
}
