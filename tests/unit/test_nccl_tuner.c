/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The estimates of NCCL's tuner against those that NCCL 2.28 prints for one server of 8 GPUs, and
 * what it chooses. */
#include "traces/nccl_tuner.h"

#include <criterion/criterion.h>
#include <string.h>

static void expect(const char *machine, const char *choice, double latency_us, double rate_GBps)
{
    cs_nccl_estimate estimates[CS_NCCL_MOST_ESTIMATES];
    size_t n = cs_nccl_estimates(machine, CS_ALLREDUCE, 8, 64, estimates); /* trees reach all */

    for (size_t e = 0; e < n; e++) {
        if (strcmp(estimates[e].choice, choice) == 0) {
            cr_expect_float_eq(estimates[e].latency_us, latency_us, 0.05, "%s", choice);
            cr_expect_float_eq(estimates[e].rate_GBps, rate_GBps, 0.05, "%s: %g", choice,
                               estimates[e].rate_GBps);
            return;
        }
    }
    cr_expect(false, "%s is not there", choice);
}

Test(nccl_tuner, estimates_that_nccl_prints)
{
    expect("8 x H100", "Ring/LL", 15.0, 80.6);
    expect("8 x H100", "Ring/LL128", 40.6, 189.3);
    expect("8 x H100", "Ring/Simple", 56.0, 205.7);
    expect("8 x H100", "Tree/LL", 15.2, 43.6);
    expect("8 x H100", "NVLS/Simple", 25.0, 272.0);
    expect("A100-SXM4-40GB", "Ring/Simple", 56.0, 137.1);
    expect("A100-SXM4-40GB", "Ring/LL128", 40.6, 126.2);
}

/* Where runs of NCCL were seen to change: 8 H100 from a ring with LL to NVLS at 2 MiB, 8 A100 to
 * LL128 above 2 MiB, and to Simple at 16 MiB for ReduceScatter. */
Test(nccl_tuner, choices)
{
    static const char a100[] = "NVIDIA A100-SXM4-80GB";

    cr_expect_str_eq(cs_nccl_tuner_choice("H100", CS_ALLREDUCE, 8, 1 << 20), "Ring/LL");
    cr_expect_str_eq(cs_nccl_tuner_choice("H100", CS_ALLREDUCE, 8, 2 << 20), "NVLS/Simple");
    cr_expect_str_eq(cs_nccl_tuner_choice("H200", CS_ALLREDUCE, 2, 1 << 30), "Ring/Simple");
    cr_expect_str_eq(cs_nccl_tuner_choice(a100, CS_ALLREDUCE, 8, 2 << 20), "Ring/LL");
    cr_expect_str_eq(cs_nccl_tuner_choice(a100, CS_ALLREDUCE, 8, 4 << 20), "Ring/LL128");
    cr_expect_str_eq(cs_nccl_tuner_choice(a100, CS_REDUCESCATTER, 8, 8 << 20), "Ring/LL128");
    cr_expect_str_eq(cs_nccl_tuner_choice(a100, CS_REDUCESCATTER, 8, 16 << 20), "Ring/Simple");
}

Test(nccl_tuner, what_cannot_be_told)
{
    cr_expect_null(cs_nccl_tuner_choice("MI300X", CS_ALLREDUCE, 8, 1 << 20));
    cr_expect_null(cs_nccl_tuner_choice("GB200 NVL72", CS_ALLREDUCE, 8, 1 << 20));
    cr_expect_null(cs_nccl_tuner_choice("", CS_ALLREDUCE, 8, 1 << 20));
    cr_expect_null(cs_nccl_tuner_choice("H100", CS_ALLTOALL, 8, 1 << 20));
    cr_expect_null(cs_nccl_tuner_choice("H100", CS_ALLREDUCE, 16, 1 << 20));
    cr_expect_null(cs_nccl_tuner_choice("H100", CS_ALLREDUCE, 1, 1 << 20));
}
