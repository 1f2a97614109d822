/* SPDX-License-Identifier: GPL-3.0-or-later */
/* collsim expect: what nccl-tests would show on a cluster. */
#include "algorithms/lib/nccl_time.h"
#include "base/alloc.h"
#include "cli/cli.h"
#include "cli/nccl_args.h"
#include "cli/scenario_args.h"
#include "output/expect_rows.h"
#include "output/tuner_audit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_CANDIDATES = 16, MOST_LISTS = 256 };

/* What is worth a line of a tuner's configuration. */
static const double AUDITED_RATIO = 0.05;

/* nccl-tests' curve, where no size is given. */
enum { FIRST_BYTES = 8 };
#define LAST_BYTES ((uint64_t)8 << 30)

typedef struct expect_job {
    cs_scenario_choice choice; /* of the sizes and the collective */
    cs_nccl_asked      asked;
    const char        *output;
    bool               explains, audits;
    const char        *measured[MOST_LISTS]; /* of logs */
    size_t             n_measured;
    cs_result_format   format;
    cs_nccl_cluster    cluster;
    cs_nccl_setting    setting;
    cs_nccl_tuning     tuning; /* of the collective of the sizes; borrows the cluster */
    cs_expect_row     *rows;   /* owned */
    size_t             n_rows, row_capacity;
    cs_expect_loss    *losses; /* owned; of the sizes so far */
    size_t             n_losses, loss_capacity;
    cs_collective      collective; /* of them */
    cs_text           *text;
} expect_job;

/* clang-format off */
#define TEXT(field, letter, name, value, help) CS_ARG_TEXT(expect_job, field, letter, name, value, help)
#define SIZE(field, letter, name, help)                                                            \
    CS_ARG_NUMBER(cs_scenario_choice, field, letter, name, "S", help, .unit = CS_UNIT_SIZE, .min = 1, \
                  .max = (double)CS_MAX_BYTES)
static const cs_arg size_args[] = {
    CS_ARG_GROUP("what is run"),
    CS_ARG_KEY('c', "collective", "C", "collective", CS_SET_VALUE, NULL, "allreduce (default), allgather, reducescatter, alltoall"),
    CS_ARG_KEY('s', "bytes", "S[,S..]", "bytes", CS_SET_LIST, NULL, "nccl-tests' size: 4096, 8K, 32M, 1G (8 to 8G)"),
    SIZE(min_bytes, 'b', "min-bytes", "sizes from here"),
    SIZE(max_bytes, 'e', "max-bytes", "... up to here"),
    CS_ARG_NUMBER(cs_scenario_choice, factor, 'f', "factor", "F", "... each F times the one before (2)",
                  .min = 1.001, .max = 1e15),
    CS_ARG_LAST_ROW,
};
static const cs_arg expect_args[] = {
    CS_ARG_GROUP("output"),
    CS_ARG_FLAG(expect_job, explains, 0, "explain", "the estimates of all candidates, too"),
    CS_ARG_FLAG(expect_job, audits, 0, "audit", "instead, sizes for which NCCL's choice loses more than 5 %, as a configuration of its tuner plugin"),
    {.name = "measured", .value = "[A[/P]=]FILE|FOLDER[,..]", .help = "... by these logs of nccl-tests or NCCL Inspector instead of by the model; A/P: what was forced in them (repeatable)",
     .field = CS_ARG_LIST_FIELD(expect_job, measured, n_measured, "measured")},
    CS_ARG_FORMAT(expect_job, format, "how to print (table)"),
    TEXT(output, 'o', "output", "FILE", "write there instead of standard output; FILE.json, .csv: so"),
    CS_ARG_HELP_ROW,
    CS_ARG_LAST_ROW,
};
static const cs_arg_table expect_tables[] = {
    {size_args, offsetof(expect_job, choice), offsetof(expect_job, choice) + offsetof(cs_scenario_choice, given), CS_NOWHERE},
    {cs_nccl_args, offsetof(expect_job, asked), CS_NOWHERE, CS_NOWHERE},
    {expect_args, 0, CS_NOWHERE, CS_NOWHERE}, {.args = NULL}};
/* clang-format on */

static void explain(const expect_job *j, uint64_t bytes, const cs_nccl_choice *choice)
{
    const cs_nccl_tuning *t = &j->tuning;
    cs_expect_candidate   all[MOST_CANDIDATES];
    size_t                n = 0;

    for (uint32_t a = 0; a < CS_NCCL_ALGORITHMS; a++) {
        for (uint32_t p = 0; p < CS_NCCL_PROTOCOLS; p++) {
            if (t->cost[a][p].bandwidth_GBps <= 0 || n == MOST_CANDIDATES) {
                continue;
            }
            all[n++] = (cs_expect_candidate){
                .algorithm      = cs_nccl_algorithm_names[a],
                .protocol       = cs_nccl_protocol_names[p],
                .latency_us     = t->cost[a][p].latency_us,
                .bandwidth_GBps = t->cost[a][p].bandwidth_GBps,
                .estimate_us    = cs_nccl_estimate_us(t, a, p, (double)bytes),
                .expected_us    = cs_nccl_time_us(t, a, p, (double)bytes),
                .is_filtered =
                    (t->setting.algorithms >> a & 1u) == 0 || (t->setting.protocols >> p & 1u) == 0,
                .is_chosen = choice->algorithm == a && choice->protocol == p,
            };
        }
    }
    cs_expect_candidates(j->text, bytes, all, n);
}

/* What takes the least expected time at a size, of what NCCL may choose and has been measured: not
 * trees in one server, nor PAT, whose times are NCCL's own estimates. */
static cs_nccl_choice fastest(const cs_nccl_tuning *t, double bytes, double *least_us_p)
{
    cs_nccl_choice best = {.protocol = CS_NCCL_SIMPLE};

    *least_us_p = (double)INFINITY;
    for (cs_nccl_algorithm a = 0; a < CS_NCCL_PAT; a++) {
        for (cs_nccl_protocol p = 0; p < CS_NCCL_PROTOCOLS; p++) {
            bool is_there = (a != CS_NCCL_TREE || t->cluster->servers > 1) &&
                            t->cost[a][p].bandwidth_GBps > 0 &&
                            (t->setting.algorithms >> a & 1u) != 0 &&
                            (t->setting.protocols >> p & 1u) != 0;
            double us = is_there ? cs_nccl_time_us(t, a, p, bytes) : (double)INFINITY;
            if (us < *least_us_p) {
                *least_us_p = us;
                best        = (cs_nccl_choice){.algorithm = a, .protocol = p};
            }
        }
    }
    return best;
}

/* The size, and those up to the next one; a size behind another of the same answer goes with it. */
static cs_status audit(expect_job *j, uint64_t bytes, const cs_nccl_choice *choice, double us,
                       cs_error *err)
{
    double               least_us;
    const cs_nccl_choice best      = fastest(&j->tuning, (double)bytes, &least_us);
    const char          *algorithm = cs_nccl_algorithm_names[best.algorithm];
    const char          *protocol  = cs_nccl_protocol_names[best.protocol];
    cs_expect_loss      *last      = j->n_losses > 0 ? &j->losses[j->n_losses - 1] : NULL;

    if (j->n_rows > 0 && bytes <= j->rows[j->n_rows - 1].bytes) {
        return CS_FAIL(err, CS_EINVAL, "--audit", "needs sizes that grow: %llu follows %llu",
                       (unsigned long long)bytes, (unsigned long long)j->rows[j->n_rows - 1].bytes);
    }
    if (last != NULL && last->max_bytes == UINT64_MAX) { /* it ends where this size begins */
        last->max_bytes = bytes - 1;
    }
    if (!(us > (1 + AUDITED_RATIO) * least_us)) {
        return CS_OK;
    }
    if (last != NULL && last->max_bytes == bytes - 1 && last->algorithm == algorithm &&
        last->protocol == protocol) {
        last->max_bytes  = UINT64_MAX;
        last->lost_ratio = fmax(last->lost_ratio, us / least_us - 1);
        return CS_OK;
    }
    if (!cs_grow(&j->losses, &j->loss_capacity, j->n_losses + 1, 16, sizeof *j->losses)) {
        return CS_NO_MEMORY(err, "%zu ranges", j->n_losses + 1);
    }
    j->losses[j->n_losses++] =
        (cs_expect_loss){.min_bytes       = bytes,
                         .max_bytes       = UINT64_MAX,
                         .algorithm       = algorithm,
                         .protocol        = protocol,
                         .chosen          = cs_nccl_algorithm_names[choice->algorithm],
                         .chosen_protocol = cs_nccl_protocol_names[choice->protocol],
                         .lost_ratio      = us / least_us - 1};
    return CS_OK;
}

/* The rows of the sizes share the tuning. */
static cs_status add_case(void *user, cs_case *c, cs_error *err)
{
    expect_job         *j          = user;
    const cs_collective collective = c->job.scenario.collective;
    const uint64_t      bytes      = c->job.scenario.bytes;
    const uint32_t      ranks      = j->cluster.servers * j->cluster.gpus;
    const bool          is_p2p     = collective == CS_ALLTOALL;
    cs_nccl_choice      choice     = {.protocol = CS_NCCL_SIMPLE};
    double              us;

    if (j->n_rows == 0) {
        CS_TRY(cs_nccl_time_check(&j->cluster, collective, err));
        cs_nccl_tune(&j->cluster, &j->setting, collective, &j->tuning);
    }
    if (is_p2p) {
        us = cs_nccl_alltoall_us(&j->cluster, (double)bytes);
    } else if (cs_nccl_choose(&j->tuning, (double)bytes, &choice)) {
        us = cs_nccl_time_us(&j->tuning, choice.algorithm, choice.protocol, (double)bytes);
    } else {
        return CS_FAIL(err, CS_EINVAL, j->asked.algorithms != NULL ? "--nccl-algo" : "--nccl-proto",
                       "nothing is left that does %s here", cs_collective_name(collective));
    }
    j->collective = collective;
    if (j->audits && is_p2p) {
        return CS_FAIL(err, CS_ENOTSUP, "--audit", "alltoall leaves NCCL nothing to choose");
    }
    if (j->audits) {
        CS_TRY(audit(j, bytes, &choice, us, err));
    }
    if (!cs_grow(&j->rows, &j->row_capacity, j->n_rows + 1, 64, sizeof *j->rows)) {
        return CS_NO_MEMORY(err, "%zu rows", j->n_rows + 1);
    }
    if (j->explains && !is_p2p) {
        explain(j, bytes, &choice);
    }
    const bool   in_network = j->tuning.nvls.channels >= 2;
    const double off        = cs_nccl_uncertainty(&j->cluster, collective, (double)bytes);
    j->rows[j->n_rows++]    = (cs_expect_row){
           .bytes     = bytes,
           .algorithm = is_p2p ? "p2p" : cs_nccl_algorithm_names[choice.algorithm],
           .protocol  = cs_nccl_protocol_names[choice.protocol],
           .channels  = is_p2p ? CS_NO_CHANNELS : cs_nccl_channels(&j->tuning, &choice, (double)bytes),
           .expected_s = us / 1e6,
           .low_s      = us / 1e6 * (1 - off),
           .high_s     = us / 1e6 * (1 + off),
           .bound_s    = cs_nccl_bound_s(&j->cluster, collective, (double)bytes, in_network),
           .busbw_GBps = (double)bytes / us / 1e3 * cs_busbw_factor(collective, ranks),
    };
    return CS_OK;
}

/* The collective alone: the sizes are those of the logs. */
static cs_status take_collective(void *user, cs_case *c, cs_error *err)
{
    expect_job *j = user;

    j->collective = c->job.scenario.collective;
    if (j->collective == CS_ALLTOALL) {
        return CS_FAIL(err, CS_ENOTSUP, "--audit", "alltoall leaves NCCL nothing to choose");
    }
    CS_TRY(cs_nccl_time_check(&j->cluster, j->collective, err));
    cs_nccl_tune(&j->cluster, &j->setting, j->collective, &j->tuning);
    return CS_OK;
}

/* What NCCL chose against what else was measured. */
static cs_status audit_measured(expect_job *j, cs_text *text, cs_error *err)
{
    cs_measured_choices measured = {.n = 0};
    cs_status           status   = cs_scenario_choice_visit(&j->choice, take_collective, j, err);

    for (size_t i = 0; i < j->n_measured && status == CS_OK; i++) {
        status = cs_measured_choices_read(&measured, j->measured[i], NULL, err);
    }
    if (status == CS_OK) {
        status = cs_tuner_audit(&measured, &j->tuning, AUDITED_RATIO, text, err);
    }
    cs_measured_choices_free(&measured);
    return status == CS_OK ? cs_cli_write_output(j->output, text, err) : status;
}

/* What the last size stands for ends with it. */
static cs_status print_audit(expect_job *j, cs_text *text, cs_error *err)
{
    if (j->n_losses > 0 && j->losses[j->n_losses - 1].max_bytes == UINT64_MAX) {
        j->losses[j->n_losses - 1].max_bytes = j->rows[j->n_rows - 1].bytes;
    }
    cs_expect_audit(text, j->losses, j->n_losses, cs_collective_name(j->collective),
                    j->cluster.servers, j->cluster.servers * j->cluster.gpus, AUDITED_RATIO);
    return cs_cli_write_output(j->output, text, err);
}

static cs_status print(expect_job *j, cs_text *text, cs_error *err)
{
    if (j->audits) {
        return print_audit(j, text, err);
    }
    switch (j->format) {
    case CS_AS_JSON: cs_expect_rows_json(text, j->rows, j->n_rows); break;
    case CS_AS_CSV: cs_expect_rows_csv(text, j->rows, j->n_rows); break;
    case CS_AS_TABLE:
        cs_expect_rows_table(text, j->rows, j->n_rows, cs_nccl_is_measured(&j->cluster));
        break;
    }
    return cs_cli_write_output(j->output, text, err);
}

static cs_status answer(void *job, cs_text *text, cs_error *err)
{
    expect_job *j      = job;
    cs_status   status = CS_OK;

    if ((j->explains || j->audits) && j->format != CS_AS_TABLE) {
        return CS_FAIL(err, CS_EINVAL, j->explains ? "--explain" : "--audit",
                       "is for --format table");
    }
    if (j->explains && j->audits) {
        return CS_FAIL(err, CS_EINVAL, "--audit", "goes without --explain");
    }
    if (j->n_measured > 0 && !j->audits) {
        return CS_FAIL(err, CS_EINVAL, "--measured", "belongs to --audit");
    }
    j->text   = text;
    status    = cs_nccl_asked_setting(&j->asked, &j->setting, err);
    status    = status == CS_OK ? cs_nccl_asked_cluster(&j->asked, &j->cluster, err) : status;
    bool bare = !cs_config_choice_has(&j->choice.given, "bytes") && j->choice.min_bytes == 0 &&
                j->choice.max_bytes == 0;
    if (j->n_measured > 0 && !bare) {
        return CS_FAIL(err, CS_EINVAL, "--measured", "goes without sizes: those of the logs count");
    }
    if (bare) {
        j->choice.min_bytes = FIRST_BYTES;
        j->choice.max_bytes = j->n_measured > 0 ? FIRST_BYTES : LAST_BYTES;
    }
    status = status == CS_OK ? cs_scenario_choice_finish(&j->choice, err) : status;
    if (status == CS_OK && j->format == CS_AS_TABLE) {
        cs_nccl_heading_add(&j->cluster, &j->setting, text);
    }
    if (status == CS_OK && j->n_measured > 0) {
        status = audit_measured(j, text, err);
    } else if (status == CS_OK) {
        status = cs_scenario_choice_visit(&j->choice, add_case, j, err);
        status = status == CS_OK ? print(j, text, err) : status;
    }
    cs_free(j->rows);
    cs_free(j->losses);
    cs_scenario_choice_free(&j->choice);
    return status;
}

static int expect_run(int count, char *const *words)
{
    expect_job j = {.output = NULL};
    return cs_cli_answer(&cs_command_expect, count, words, answer, &j);
}

const cs_command cs_command_expect = {
    .name     = "expect",
    .usage    = "expect --topology NAME|FILE [-n N] [-g G] [options]",
    .summary  = "what nccl-tests would show: the time of what NCCL picks",
    .tables   = expect_tables,
    .examples = {"collsim expect --topology dgx-h100 -n 16",
                 "collsim expect --topology dgx-h100 -n 16 -s 32M --explain"},
    .run      = expect_run,
};
