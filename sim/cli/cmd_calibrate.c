/* SPDX-License-Identifier: GPL-3.0-or-later */
/* collsim calibrate: alpha and beta per regime from logs of nccl-tests and of tests of links; of
 * one port for each rank, or of NVLink and of the NICs. */
#include "algorithms/lib/nccl_tuning.h"
#include "cli/cli.h"
#include "cs/cluster.h"
#include "cs/units.h"
#include "output/residuals.h"
#include "study/levels.h"
#include "traces/calibration.h"
#include "traces/calibration_json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { MAX_LOGS = 256, MAX_SERVERS = 16 };

/* Of two levels. Texts are borrowed from the command line. */
typedef struct levels_choice {
    const char *nvlink[MAX_LOGS], *nic[MAX_LOGS];
    size_t      n_nvlink, n_nic;
    uint32_t    gpus_per_server; /* 0: as the logs say */
    const char *schedule;        /* NULL: the usual one */
    const char *servers;         /* numbers to predict for, or NULL */
    double      nvlink_alpha_s, nic_alpha_s;
    bool        has_nvlink_alpha, has_nic_alpha;
} levels_choice;

typedef struct calibrate_job {
    cs_calibrate_options options;
    levels_choice        levels;
    const char          *levels_option; /* the last one given that belongs to two levels */
    bool                 is_in_place;
    const char          *logs[MAX_LOGS];
    size_t               n_logs;
    const char          *output_path;
    cs_result_format     format;
} calibrate_job;

/* clang-format off */
#define TEXT(field, name, help) CS_ARG_TEXT(calibrate_job, options.field, 0, name, "TEXT", help)
static const cs_arg calibrate_args[] = {
    CS_ARG_GROUP("output"),
    CS_ARG_TEXT(calibrate_job, output_path, 'o', "output", "FILE", "write the calibration there, for run --calibration; FILE.svg, .png, .pdf: a picture of its residuals"),
    CS_ARG_GROUP("what was measured"),
    {.letter = 'c', .name = "collective", .value = "C", .help = "what was measured, where the log does not say it or holds several",
     .field = {.name = "collective", .type = CS_FIELD_CHOICE, .names = &cs_collective_names,
               .offset = offsetof(calibrate_job, options.collective)},
     .marks = true, .mark = offsetof(calibrate_job, options.has_collective)},
    CS_ARG_NUMBER(calibrate_job, options.n_ranks, 'n', "ranks", "N", "number of ranks, where the log does not say it or holds several",
                  .min = 2, .max = CS_MAX_RANKS),
    CS_ARG_FLAG(calibrate_job, is_in_place, 0, "in-place", "take the in-place columns (out-of-place)"),
    CS_ARG_GROUP("the fit"),
    CS_ARG_FLAG(calibrate_job, options.extrapolate, 0, "extrapolate", "allow the calibration for other numbers of ranks"),
    CS_ARG_NUMBER(calibrate_job, options.fit.hold_out_every, 0, "hold-out", "K", "leave out every K-th size, too, and predict it",
                  .min = 2, .max = CS_MAX_FIT_POINTS),
    CS_ARG_FLAG(calibrate_job, options.fit.keep_outliers, 0, "keep-outliers", "fit outliers, too"),
    CS_ARG_NUMBER(calibrate_job, options.fit.seed, 0, "seed", "N", "of the bootstrap of the intervals (0)", .max = 9007199254740992.0),
    CS_ARG_GROUP("to be kept in the calibration"),
    TEXT(machine, "machine", "what was measured on"),
    TEXT(versions, "versions", "of NCCL, drivers, .."),
    TEXT(source, "source", "where the logs come from (their names)"),
    TEXT(date, "date", "when it was measured"),
    TEXT(note, "note", "anything else"),
    CS_ARG_GROUP("how to print"),
    CS_ARG_CHOICE(calibrate_job, format, 0, "format", "table|json", "how to print (table)"),
    CS_ARG_OPERANDS(calibrate_job, logs, n_logs, "log"),
    CS_ARG_HELP_ROW,
    CS_ARG_LAST_ROW,
};
static const cs_arg levels_args[] = {
    CS_ARG_GROUP("two levels: NVLink and the NICs"),
    {.name = "nvlink", .value = "LOG", .help = "of one server: NVLink's part of two levels (repeatable)",
     .field = CS_ARG_LIST_FIELD(levels_choice, nvlink, n_nvlink, "nvlink")},
    {.name = "nic", .value = "LOG", .help = "of several servers: the NICs' part of two levels (repeatable)",
     .field = CS_ARG_LIST_FIELD(levels_choice, nic, n_nic, "nic")},
    CS_ARG_NUMBER(levels_choice, gpus_per_server, 'g', "gpus-per-server", "G", "GPUs of a server (as the logs say); sorts logs that are given without --nvlink and --nic",
                  .min = 1, .max = CS_MAX_RANKS),
    CS_ARG_TEXT(levels_choice, schedule, 'a', "algorithm", "A", "schedule that is taken for what ran (nccl_rings; ring where a server has one GPU)"),
    CS_ARG_TEXT(levels_choice, servers, 0, "servers", "N[,N..]", "predict the schedule's times on so many servers"),
    {.name = "nvlink-alpha", .value = "T", .help = "start-up time over NVLink, where its logs have rates alone",
     .field = {.name = "nvlink-alpha", .type = CS_FIELD_F64, .unit = CS_UNIT_TIME, .max = 1,
               .offset = offsetof(levels_choice, nvlink_alpha_s)},
     .marks = true, .mark = offsetof(levels_choice, has_nvlink_alpha)},
    {.name = "nic-alpha", .value = "T", .help = "start-up time over the NICs, where their logs have rates alone",
     .field = {.name = "nic-alpha", .type = CS_FIELD_F64, .unit = CS_UNIT_TIME, .max = 1,
               .offset = offsetof(levels_choice, nic_alpha_s)},
     .marks = true, .mark = offsetof(levels_choice, has_nic_alpha)},
    CS_ARG_LAST_ROW,
};
static const cs_arg_table calibrate_tables[] = {
    {calibrate_args, 0, CS_NOWHERE, CS_NOWHERE},
    {levels_args, offsetof(calibrate_job, levels), CS_NOWHERE, offsetof(calibrate_job, levels_option)},
    {.args = NULL}};
/* clang-format on */

/* The calibration into a file, or the picture of what it leaves over. */
static cs_status write_output(const cs_calibration *calibration, const char *path, cs_error *err)
{
    cs_picture kind       = CS_PICTURE_SVG;
    const bool is_picture = cs_picture_of(path, &kind);
    cs_text    text       = {0};
    cs_status  status     = CS_OK;

    if (is_picture && calibration->levels != NULL) {
        status = CS_FAIL(err, CS_ENOTSUP, "--output",
                         "pictures are of one level: accepted for two is a JSON file");
    } else if (is_picture) {
        status = cs_residuals_draw(calibration, kind, &text, err);
    } else {
        cs_calibration_json(calibration, &text);
    }
    status = status == CS_OK ? cs_cli_write(path, &text, err) : status;
    cs_text_free(&text);
    return status;
}

/* ---- two levels ---- */

static cs_status make_levels(const calibrate_job *j, cs_calibration **calibration_p, cs_error *err)
{
    const levels_choice  *l                = &j->levels;
    const cs_levels_files files[CS_LEVELS] = {
        [CS_NIC] = {l->nic, l->n_nic}, [CS_NVLINK] = {l->nvlink, l->n_nvlink}};
    const cs_levels_files   any     = {j->logs, j->n_logs};
    const cs_levels_options options = {
        .calibrate       = j->options,
        .gpus_per_server = l->gpus_per_server,
        .schedule        = l->schedule,
        .has_alpha       = {[CS_NIC] = l->has_nic_alpha, [CS_NVLINK] = l->has_nvlink_alpha},
        .alpha_s         = {[CS_NIC] = l->nic_alpha_s, [CS_NVLINK] = l->nvlink_alpha_s}};

    if (l->n_nvlink + l->n_nic + j->n_logs == 0) {
        return CS_FAIL(err, CS_EINVAL, "calibrate",
                       "needs logs: calibrate --nvlink LOG --nic LOG [-o FILE]");
    }
    if (l->n_nvlink + l->n_nic > 0 && j->n_logs > 0) {
        return CS_FAIL(err, CS_EINVAL, j->logs[0],
                       "is it of one server, or of several? accepted: --nvlink %s, --nic %s",
                       j->logs[0], j->logs[0]);
    }
    if (j->n_logs > 0 && l->gpus_per_server == 0) {
        return CS_FAIL(err, CS_EINVAL, j->levels_option,
                       "belongs to two levels: --nvlink LOG and --nic LOG, or -g G and logs of "
                       "either");
    }
    if (j->options.extrapolate) {
        return CS_FAIL(err, CS_EINVAL, "--extrapolate",
                       "belongs to one level: two levels are good for any number of servers");
    }
    if (j->options.fit.hold_out_every > 0) {
        return CS_FAIL(err, CS_EINVAL, "--hold-out",
                       "belongs to one level: of two, sizes and logs are held out one by one");
    }
    return cs_levels_calibrate(files, &any, &options, calibration_p, err);
}

static cs_status read_servers(const char *text, uint32_t servers[MAX_SERVERS], size_t *n_p,
                              cs_error *err)
{
    *n_p = 0;
    while (text != NULL) {
        char        word[16];
        const char *comma  = strchr(text, ',');
        size_t      length = comma != NULL ? (size_t)(comma - text) : strlen(text);
        uint64_t    n      = 0;

        if (*n_p == MAX_SERVERS || length >= sizeof word) {
            return CS_FAIL(err, CS_EINVAL, "--servers", "'%.60s': accepted are up to %d numbers",
                           text, MAX_SERVERS);
        }
        memcpy(word, text, length);
        word[length] = '\0';
        CS_TRY(cs_parse_integer(word, 1, CS_MAX_RANKS, &n, "--servers", err));
        servers[(*n_p)++] = (uint32_t)n;
        text              = comma != NULL ? comma + 1 : NULL;
    }
    return CS_OK;
}

/* One line: ranks, size, time and between what it may lie, bus bandwidth. */
static void add_prediction(const cs_calibration *c, cs_collective collective, uint32_t n_servers,
                           uint64_t bytes, const cs_estimate *time_s, bool is_json, bool is_first,
                           cs_text *text)
{
    const uint32_t n    = n_servers * c->levels->gpus_per_server;
    const double   rate = (double)bytes * cs_busbw_factor(collective, n) / time_s->value * 1e-9;
    char           low[32], high[32], value[32], busbw[32];

    if (!is_json) {
        cs_text_add(text, "%8u %8u %14" PRIu64 " %12.2f %12.2f ", n_servers, n, bytes,
                    time_s->value * 1e6, time_s->low * 1e6);
        if (isfinite(time_s->high)) {
            cs_text_add(text, "%12.2f %10.2f\n", time_s->high * 1e6, rate);
        } else {
            cs_text_add(text, "%12s %10.2f\n", "-", rate);
        }
        return;
    }
    cs_number_text(time_s->value, value, sizeof value);
    cs_number_text(time_s->low, low, sizeof low);
    cs_number_text(time_s->high, high, sizeof high);
    cs_number_text(rate, busbw, sizeof busbw);
    cs_text_add(text,
                "%s\n    {\"servers\": %u, \"ranks\": %u, \"bytes\": %" PRIu64
                ", \"collective\": \"%s\", \"algorithm\": \"%s\", \"expected_s\": %s, "
                "\"low_s\": %s, \"high_s\": %s, \"busbw_GBps\": %s}",
                is_first ? "" : ",", n_servers, n, bytes, cs_collective_name(collective),
                c->schedule, value, low, isfinite(time_s->high) ? high : "null", busbw);
}

/* The times on other numbers of servers, of every size from 1 KiB to 64 GiB that is calibrated, by
 * a factor of 4. */
static cs_status predict(const calibrate_job *j, const cs_calibration *c, cs_text *text,
                         cs_error *err)
{
    const bool    is_json    = j->format == CS_AS_JSON;
    cs_collective collective = j->options.has_collective ? j->options.collective : c->collective;
    uint32_t      servers[MAX_SERVERS];
    size_t        n = 0, n_rows = 0;
    cs_error      why = {0};

    CS_TRY(read_servers(j->levels.servers, servers, &n, err));
    if (!is_json) {
        cs_text_add(text,
                    "#\n# %s by %s: the time, and between what it may lie by intervals and "
                    "held-out errors\n# %6s %8s %14s %12s %12s %12s %10s\n"
                    "# %6s %8s %14s %12s %12s %12s %10s\n",
                    cs_collective_name(collective), c->schedule, "servers", "ranks", "size", "time",
                    "low", "high", "busbw", "", "", "(B)", "(us)", "(us)", "(us)", "(GB/s)");
    }
    for (size_t i = 0; i < n; i++) {
        for (uint64_t bytes = 1024; bytes <= (uint64_t)1 << 36; bytes *= 4) {
            cs_estimate time_s = {0};
            cs_error    wrong  = {0};
            cs_status   status = cs_levels_time(c, collective, servers[i], bytes, &time_s, &wrong);
            if (status == CS_OK) {
                add_prediction(c, collective, servers[i], bytes, &time_s, is_json, n_rows++ == 0,
                               text);
            } else if (status != CS_ENOTSUP) {
                return CS_FAIL(err, status, "--servers", "%s", wrong.message);
            } else if (why.status == CS_OK) {
                why = wrong;
            }
        }
    }
    return n_rows > 0 ? CS_OK : CS_FAIL(err, CS_ENOTSUP, "--servers", "%s", why.message);
}

/* ---- either ---- */

static bool wants_levels(const calibrate_job *j)
{
    return j->levels_option != NULL;
}

static cs_status print(const calibrate_job *j, const cs_calibration *calibration, cs_text *text,
                       cs_error *err)
{
    const bool predicts = j->levels.servers != NULL;

    if (j->format == CS_AS_TABLE) {
        cs_calibration_table(calibration, text);
        return predicts ? predict(j, calibration, text, err) : CS_OK;
    }
    if (!predicts) {
        cs_calibration_json(calibration, text);
        return CS_OK;
    }
    cs_text_add(text, "{\"calibration\": ");
    cs_calibration_json(calibration, text);
    cs_text_add(text, ", \"predictions\": [");
    CS_TRY(predict(j, calibration, text, err));
    cs_text_add(text, "\n]}\n");
    return CS_OK;
}

static cs_status calibrate(void *job, cs_text *text, cs_error *err)
{
    calibrate_job  *j           = job;
    cs_calibration *calibration = NULL;
    cs_status       status;

    j->options.picks  = cs_nccl_pick_text;
    j->options.column = j->is_in_place ? CS_NCCL_IN_PLACE : CS_NCCL_OUT_OF_PLACE;
    if (!wants_levels(j) && j->n_logs == 0) {
        return CS_FAIL(err, CS_EINVAL, "calibrate",
                       "needs a log: calibrate LOG.. [-o FILE], calibrate --nvlink LOG --nic LOG");
    }
    status = wants_levels(j) ? make_levels(j, &calibration, err)
                             : cs_calibrate(j->logs, j->n_logs, &j->options, &calibration, err);
    if (status == CS_OK) {
        status = print(j, calibration, text, err);
    }
    if (status == CS_OK && j->output_path != NULL) {
        status = write_output(calibration, j->output_path, err);
    }
    cs_calibration_free(calibration);
    return status;
}

static int calibrate_run(int count, char *const *words)
{
    calibrate_job j = {0};
    return cs_cli_answer(&cs_command_calibrate, count, words, calibrate, &j);
}

const cs_command cs_command_calibrate = {
    .name  = "calibrate",
    .usage = "calibrate LOG.. | --nvlink LOG.. --nic LOG.. [-o FILE.json|FILE.svg]",
    .summary =
        "alpha and beta per regime from measurements (nccl-tests, tests of links, captured runs)",
    .tables   = calibrate_tables,
    .examples = {"collsim calibrate traces/generated-ring8.log -o machine.json",
                 "collsim calibrate traces/generated-ring8.log --hold-out 4"},
    .run      = calibrate_run,
};
