/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A ring over eight GPUs, the last of which is 4.48 ms late: its time and the lower bound.
 *   cc late_ring.c $(pkg-config --cflags --libs collsim) && ./a.out */
#include <cs/collsim.h>
#include <stdio.h>

int main(void)
{
    const double      arrival_s[8] = {0, 0, 0, 0, 0, 0, 0, 4.48e-3};
    const cs_scenario scenario     = {
            .collective = CS_ALLREDUCE,
            .bytes      = 1u << 30,
            .arrival_s  = arrival_s,
            .cluster = {.n_ranks = 8, .gpus_per_server = 1, .fabrics = {{CS_SWITCHED, 3e-6, 450e9}}}};
    cs_job              job       = {.scenario = scenario, .verify = true};
    const cs_algorithm *algorithm = NULL;
    const cs_model     *model     = NULL;
    cs_result           result;
    cs_error            err = {0};

    if (cs_algorithm_find("ring", &algorithm, &err) == CS_OK &&
        cs_model_find("alpha-beta", &model, &err) == CS_OK) {
        cs_job_set_algorithm(&job, algorithm, NULL);
        cs_job_set_model(&job, model, NULL);
        if (cs_job_run(&job, NULL, 0, &result, &err) == CS_OK) {
            printf("elapsed %.6f s, bound %.6f s (%s), %s\n", result.elapsed_s, result.bound_s,
                   result.bound, result.verified ? "verified" : result.verdict.text);
            return 0;
        }
    }
    fprintf(stderr, "%s: %s\n", err.where, err.message);
    return 1;
}
