/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One iteration: the timing cases of a late rank, what predictions and fallbacks cost. */
#include "campaign/trial.h"
#include "montecarlo_setup.h"

TestSuite(montecarlo_trial, .init = set_up, .fini = tear_down);

static cs_trial trial_of(const cs_config *config, const double *arrival_s, uint32_t previous)
{
    cs_case   c      = ct_case(config, 0);
    cs_trials trials = {0};
    cs_trial  trial  = {0};
    cs_error  err    = {0};

    cr_assert_eq(cs_trials_open(&c, false, false, &trials, &err), CS_OK, "%s", err.message);
    cr_assert_eq(cs_trial_run(&trials, arrival_s, previous, &trial, &err), CS_OK, "%s",
                 err.message);
    cr_assert_eq(cs_trial_prove(&trials, arrival_s, previous, &err), CS_OK, "%s", err.message);
    cs_trials_close(&trials);
    cs_case_free(&c);
    return trial;
}

/* A job of its own for these arrivals. */
static double alone_s(const cs_config *config, const double *arrival_s)
{
    cs_case    c       = ct_case(config, 0);
    cs_outcome outcome = {0};
    cs_error   err     = {0};

    c.job.scenario.arrival_s = arrival_s;
    cr_assert_eq(cs_job_resolve(&c.job, &err), CS_OK, "%s", err.message);
    cr_assert_eq(cs_job_replay(&c.job, NULL, 0, &outcome, &err), CS_OK, "%s", err.message);
    cs_job_release(&c.job);
    cs_case_free(&c);
    return outcome.elapsed_s;
}

/* AdapCC's trees are made once, where nothing is decided by who is late. */
Test(montecarlo_trial, a_plan_that_ignores_arrivals_serves_all)
{
    static const double arrivals[][8] = {{0, 1e-4, 3e-4, 0, 2e-4, 0, 1e-4, 0}, {5e-3, 0}, {0}};
    cs_config          *config        = base_config("adapcc");
    cs_case             c             = ct_case(config, 0);
    cs_trials           trials        = {0};
    cs_error            err           = {0};

    cr_assert_eq(cs_trials_open(&c, false, false, &trials, &err), CS_OK, "%s", err.message);
    cr_expect(trials.planned.is_resolved);
    for (int i = 0; i < 3; i++) {
        cs_trial trial = {0};
        cr_assert_eq(cs_trial_run(&trials, arrivals[i], 0, &trial, &err), CS_OK);
        cr_expect(trial.elapsed_s == alone_s(config, arrivals[i]), "%d", i);
    }
    cs_trials_close(&trials);
    cs_case_free(&c);
    ct_set(config, "algorithm.options.relay", "\"literal\"");
    c = ct_case(config, 0);
    cr_assert_eq(cs_trials_open(&c, false, false, &trials, &err), CS_OK, "%s", err.message);
    cr_expect_not(trials.planned.is_resolved, "relays depend on who is late");
    cs_trials_close(&trials);
    cs_case_free(&c);
    cs_config_free(config);
}

/* d >= T_RS: c tau; 0 <= d < T_RS: T_RS - d + c tau; d <= 0: T_RS + c tau. */
Test(montecarlo_trial, exposed_time_follows_the_delay)
{
    static const double others[8] = {0, 1e-4, 3e-4, 0, 2e-4, 0, 1e-4, 0};
    static const double delays[]  = {-2e-4, 0, 1e-6, 1e-3, 2e-3, 3.0855e-3, 3.1e-3, 1e-2};
    cs_config          *config    = base_config("stragglar");

    ct_set(config, "algorithm.options.straggler", "5");
    for (size_t i = 0; i < sizeof delays / sizeof delays[0]; i++) {
        double arrival_s[8], d = delays[i];
        memcpy(arrival_s, others, sizeof others);
        arrival_s[5]   = 3e-4 + d;
        double   want  = 9 * tau + (d <= 0 ? t_rs : fmax(0, t_rs - d));
        cs_trial trial = trial_of(config, arrival_s, 0);
        cr_expect_float_eq(trial.exposed_s, want, 1e-12, "d = %g: %.15g", d, trial.exposed_s);
        cr_expect_float_eq(trial.elapsed_s, want + fmax(3e-4, arrival_s[5]), 1e-12);
        cr_expect_eq(trial.is_hit, d >= 0);
        cr_expect_not(trial.fell_back);
    }
    cs_config_free(config);
}

Test(montecarlo_trial, barriers_and_agreement_are_paid)
{
    static const double arrival_s[8] = {0, 0, 0, 4e-3, 0, 1e-3, 0, 0};
    cs_config          *config       = base_config("stragglar");

    ct_set(config, "algorithm.options", "{\"entry_barrier_s\": 2e-3, \"phase_barrier_s\": 5e-5}");
    ct_set(config, "montecarlo", "{\"prediction\": \"dynamic\", \"agreement\": \"20us\"}");
    cs_trial trial = trial_of(config, arrival_s, 0);
    double   begin = 1e-3 + 2e-3 + 2e-5 + t_rs; /* later than rank 3 */
    cr_expect_float_eq(trial.elapsed_s, begin + 5e-5 + 9 * tau, 1e-12);
    cr_expect(trial.is_hit);
    ct_set(config, "montecarlo", "{\"prediction\": \"oracle\", \"agreement\": \"20us\"}");
    trial = trial_of(config, arrival_s, 0);
    cr_expect_float_eq(trial.elapsed_s, begin - 2e-5 + 5e-5 + 9 * tau, 1e-12);
    cs_config_free(config);
}

Test(montecarlo_trial, the_fallback_runs_where_the_presumed_rank_is_there)
{
    static const double hit[8] = {0, 0, 0, 0, 0, 0, 0, 4e-3}, miss[8] = {0, 0, 4e-3, 0, 0, 0, 0, 0};
    cs_config          *config = base_config("stragglar");

    ct_set(config, "montecarlo",
           "{\"prediction\": \"static\", \"presumed\": 7, "
           "\"agreement\": \"20us\", \"fallback\": \"ring\"}");
    cs_trial trial = trial_of(config, hit, 0);
    cr_expect_not(trial.fell_back);
    cr_expect_float_eq(trial.exposed_s, fmax(t_rs + 2e-5, 4e-3) - 4e-3 + 9 * tau, 1e-12);
    trial = trial_of(config, miss, 0);
    cr_expect(trial.fell_back);
    cr_expect_not(trial.is_hit);
    cr_expect_float_eq(trial.exposed_s, ring8 + 2e-5, 1e-12);
    cr_expect_float_eq(trial.elapsed_s, 4e-3 + ring8 + 2e-5, 1e-12);
    ct_set(config, "montecarlo.prediction", "\"dynamic\"");
    cs_config_free(config);
}

/* Two ranks have no pre-phase, so nothing to agree about. */
Test(montecarlo_trial, two_ranks_agree_at_no_cost)
{
    static const double arrival_s[2] = {1e-3, 0};
    cs_config          *config       = base_config("stragglar");

    ct_set(config, "cluster.ranks", "2");
    ct_set(config, "montecarlo", "{\"prediction\": \"dynamic\", \"agreement\": \"20us\"}");
    cs_trial trial = trial_of(config, arrival_s, 0);
    cr_expect_float_eq(trial.exposed_s, ALPHA + BYTES / 300e9, 1e-12);
    cs_config_free(config);
}

Test(montecarlo_trial, previous_presumes_who_was_last_before)
{
    static const double arrival_s[8] = {0, 0, 0, 0, 1e-2, 0, 0, 0};
    cs_config          *config       = base_config("stragglar");

    ct_set(config, "montecarlo.prediction", "\"previous\"");
    cr_expect_float_eq(trial_of(config, arrival_s, 4).exposed_s, 9 * tau, 1e-12);
    cr_expect_float_eq(trial_of(config, arrival_s, 3).exposed_s, 9 * tau + t_rs, 1e-12);
    cr_expect_not(trial_of(config, arrival_s, 3).is_hit);
    cs_config_free(config);
}

/* Where links or sockets limit the transfers every iteration is a replay. */
Test(montecarlo_trial, closed_forms_know_no_topology)
{
    static const double arrival_s[8] = {0, 1e-4, 0, 4e-3, 0, 0, 0, 0};
    cs_config          *config       = base_config("stragglar");

    ct_set(config, "model.name", "\"flow\"");
    cs_trial crossbar = trial_of(config, arrival_s, 0);
    ct_set(config, "cluster.topology",
           "{\"kind\": \"leaf-spine\", \"leaves\": 2, \"spines\": 1, "
           "\"uplink_bandwidth\": \"1GB/s\"}");
    cs_trial links = trial_of(config, arrival_s, 0);
    cr_expect_not(crossbar.was_replayed);
    cr_expect(links.was_replayed);
    cr_expect_gt(links.elapsed_s, 10 * crossbar.elapsed_s);
    cs_config_free(config);
}

/* Adaptive is static with a fallback: the one that is named, else what runs by default. */
Test(montecarlo_trial, adaptive_ranks_fall_back_on_what_runs_by_default)
{
    static const double hit[8] = {0, 0, 0, 0, 0, 0, 0, 4e-3}, miss[8] = {0, 0, 4e-3, 0, 0, 0, 0, 0};
    cs_config          *config = base_config("stragglar");

    ct_set(config, "montecarlo",
           "{\"prediction\": \"adaptive\", \"presumed\": 7, \"agreement\": \"20us\"}");
    cs_trial trial = trial_of(config, hit, 0);
    cr_expect(trial.is_hit && !trial.fell_back);
    cr_expect_float_eq(trial.exposed_s, fmax(t_rs + 2e-5, 4e-3) - 4e-3 + 9 * tau, 1e-12);
    trial = trial_of(config, miss, 0);
    cr_expect(trial.fell_back);
    cr_expect_float_eq(trial.exposed_s, ring8 + 2e-5, 1e-12);
    ct_set(config, "montecarlo.fallback", "\"rhd\"");
    cs_case c = ct_case(config, 0);
    cr_expect_str_eq(c.policy.fallback->name, "rhd");
    cs_case_free(&c);
    cs_config_free(config);
}

Test(montecarlo_trial, adaptive_needs_a_rank)
{
    cs_config *config = base_config("stragglar");
    cs_case    c      = {0};
    cs_error   err    = {0};

    ct_set(config, "montecarlo", "{\"prediction\": \"adaptive\"}");
    cr_expect_eq(cs_config_case(config, 0, &c, &err), CS_EINVAL);
    cr_expect_not_null(strstr(err.message, "adaptive needs a rank"), "%s", err.message);
    cs_config_free(config);
}
