/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calibrations as JSON. One table per object lists its keys, types and ranges; the writer and the
 * reader both walk it, so that they cannot disagree. Every key must be there, but "logs". */
#include "traces/calibration_json.h"

#include "base/alloc.h"
#include "input/gzip.h"
#include "input/locate.h"
#include "input/reader.h"
#include "traces/log_line.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define MOST 9007199254740992.0 /* 2^53 */

/* A remark with its kind, a log with its remarks as lists, a calibration with its lists. */
typedef struct remark_keys {
    int            kind; /* cs_nccl_remark_kind */
    cs_nccl_remark remark;
} remark_keys;

typedef struct log_keys {
    cs_nccl_reading log;
    uint64_t        skipped_lines;
    remark_keys    *skipped, *doubts;
    size_t          n_skipped, n_doubts;
} log_keys;

/* A level with its lists. */
typedef struct level_keys {
    cs_level      level;
    int           fabric; /* as level_words */
    cs_regime    *regimes;
    cs_outlier   *outliers;
    cs_level_log *logs;
    size_t        n_regimes, n_outliers, n_logs;
} level_keys;

typedef struct root_keys {
    cs_calibration  c; /* first: the writer has no more */
    uint32_t        gpus_per_server;
    level_keys     *levels;
    size_t          n_levels;
    log_keys       *logs;
    cs_regime      *regimes;
    cs_outlier     *outliers;
    cs_break       *breaks;
    cs_other_ranks *others;
    size_t          n_logs, n_regimes, n_outliers, n_breaks, n_others;
} root_keys;

static const char *const kind_words[] = {
#define X(kind, name, is_doubt, what) name,
    CS_NCCL_REMARK_MAP(X)
#undef X
};
static const cs_named kind_names =
    CS_NAMED_WORDS(kind_words, CS_NCCL_REMARKS, "unknown kind", NULL);

static void check_log(cs_reading *r, const cs_place *place, void *object);

/* clang-format off */
#define FIELD(type, field, key, least, most) \
    CS_KEY(type, field, key, .min = (least), .max = (most), .is_required = true)
#define TEXT(type, field, key) CS_KEY(type, field, key, .is_required = true)
#define MAYBE(type, field, key) CS_KEY(type, field, key, .min = 0, .max = MOST)
#define ERRORS(type, prefix)                                                                       \
    FIELD(type, prefix in_sample.mean_ratio, "fit_mean_ratio", 0, MOST),                           \
    FIELD(type, prefix in_sample.max_ratio, "fit_max_ratio", 0, MOST),                             \
    FIELD(type, prefix in_sample.n, "fit_points", 0, MOST),                                        \
    FIELD(type, prefix held_out.mean_ratio, "held_out_mean_ratio", 0, MOST),                       \
    FIELD(type, prefix held_out.max_ratio, "held_out_max_ratio", 0, MOST),                         \
    FIELD(type, prefix held_out.n, "held_out_points", 0, MOST),                                    \
    MAYBE(type, prefix in_sample.median_ratio, "fit_median_ratio"),                                \
    MAYBE(type, prefix held_out.median_ratio, "held_out_median_ratio")

static const cs_field outlier_fields[] = {
    FIELD(cs_outlier, point.bytes, "size_bytes", 1, MOST),
    FIELD(cs_outlier, point.time_s, "time_s", 0, MOST),
    FIELD(cs_outlier, expected_s, "expected_s", 0, MOST),
    CS_FIELD_END,
};
static const cs_field an_outlier[] = {
    {.name = "outlier", .type = CS_FIELD_OBJECT, .fields = outlier_fields}, CS_FIELD_END};

/* As cs_break_evidence. */
static const cs_field break_fields[] = {
    FIELD(cs_break, after_bytes, "after_bytes", 1, MOST),
    FIELD(cs_break, before_bytes, "before_bytes", 1, MOST),
    CS_KEY_OF(CS_FIELD_CHOICE, cs_break, evidence, "evidence", .choices = "unknown|tuner|log",
              .is_required = true),
    TEXT(cs_break, from, "from"),
    TEXT(cs_break, to, "to"),
    CS_FIELD_END,
};
static const cs_field a_break[] = {
    {.name = "break", .type = CS_FIELD_OBJECT, .fields = break_fields}, CS_FIELD_END};

static const cs_field other_fields[] = {
    FIELD(cs_other_ranks, n_ranks, "ranks", 2, CS_MAX_RANKS),
    FIELD(cs_other_ranks, error.mean_ratio, "mean_ratio", 0, MOST),
    FIELD(cs_other_ranks, error.median_ratio, "median_ratio", 0, MOST),
    FIELD(cs_other_ranks, error.max_ratio, "max_ratio", 0, MOST),
    FIELD(cs_other_ranks, error.n, "points", 0, MOST),
    CS_FIELD_END,
};
static const cs_field an_other[] = {
    {.name = "other", .type = CS_FIELD_OBJECT, .fields = other_fields}, CS_FIELD_END};

static const cs_field remark_fields[] = {
    CS_KEY(remark_keys, kind, "kind", .names = &kind_names, .is_required = true),
    FIELD(remark_keys, remark.n, "count", 1, MOST),
    FIELD(remark_keys, remark.first_line, "first_line", 0, UINT32_MAX),
    TEXT(remark_keys, remark.first, "first"),
    CS_FIELD_END,
};
static const cs_field a_remark[] = {
    {.name = "remark", .type = CS_FIELD_OBJECT, .fields = remark_fields}, CS_FIELD_END};

/* How one log was read; of a run that the log does not announce, all is 0. */
static const cs_field log_fields[] = {
    TEXT(log_keys, log.name, "name"),
    FIELD(log_keys, log.n_lines, "lines", 0, MOST),
    FIELD(log_keys, log.n_rows, "rows", 0, MOST),
    FIELD(log_keys, log.run.line, "run_line", 0, UINT32_MAX),
    FIELD(log_keys, log.run.min_bytes, "minimum_bytes", 0, MOST),
    FIELD(log_keys, log.run.max_bytes, "maximum_bytes", 0, MOST),
    FIELD(log_keys, log.run.step_factor, "step_factor", 0, MOST),
    FIELD(log_keys, log.run.step_bytes, "step_bytes", 0, MOST),
    FIELD(log_keys, log.run.n_warmup_iters, "warmup_iters", 0, MOST),
    FIELD(log_keys, log.run.n_iters, "iterations", 0, MOST),
    FIELD(log_keys, skipped_lines, "skipped_lines", 0, MOST),
    CS_KEY_LIST(log_keys, skipped, n_skipped, "skipped", a_remark, .is_required = true),
    CS_KEY_LIST(log_keys, doubts, n_doubts, "doubts", a_remark, .is_required = true),
    CS_FIELD_END,
};
static const cs_field a_log[] = {
    {.name = "log", .type = CS_FIELD_OBJECT, .fields = log_fields, .check = check_log}, CS_FIELD_END};

static const cs_field regime_fields[] = {
    FIELD(cs_regime, min_bytes, "min_bytes", 1, MOST),
    FIELD(cs_regime, max_bytes, "max_bytes", 1, MOST),
    FIELD(cs_regime, n_points, "points", 1, MOST),
    FIELD(cs_regime, line.intercept_s, "intercept_s", 0, 1e6),
    FIELD(cs_regime, line.intercept_low_s, "intercept_low_s", 0, 1e6),
    FIELD(cs_regime, line.intercept_high_s, "intercept_high_s", 0, 1e9),
    FIELD(cs_regime, line.slope_s_per_byte, "slope_s_per_byte", 0, 1),
    FIELD(cs_regime, line.slope_low_s_per_byte, "slope_low_s_per_byte", 0, 1),
    FIELD(cs_regime, line.slope_high_s_per_byte, "slope_high_s_per_byte", 0, 1e6),
    FIELD(cs_regime, alpha_s, "alpha_s", 0, 1e6),
    FIELD(cs_regime, bandwidth_Bps, "bandwidth_Bps", 0, 1e30),
    ERRORS(cs_regime, ),
    CS_FIELD_END,
};
static const cs_field a_regime[] = {
    {.name = "regime", .type = CS_FIELD_OBJECT, .fields = regime_fields}, CS_FIELD_END};

/* One log of a level. */
#define LOG_ERRORS(field, prefix)                                                                  \
    FIELD(cs_level_log, field.mean_ratio, prefix "_mean_ratio", 0, MOST),                          \
    FIELD(cs_level_log, field.median_ratio, prefix "_median_ratio", 0, MOST),                      \
    FIELD(cs_level_log, field.max_ratio, prefix "_max_ratio", 0, MOST),                            \
    FIELD(cs_level_log, field.n, prefix "_points", 0, MOST)

static const cs_field level_log_fields[] = {
    TEXT(cs_level_log, name, "name"),
    TEXT(cs_level_log, what, "what"),
    FIELD(cs_level_log, n_ranks, "ranks", 0, CS_MAX_RANKS),
    FIELD(cs_level_log, n_points, "points", 0, MOST),
    FIELD(cs_level_log, n_unused, "unused_rows", 0, MOST),
    LOG_ERRORS(fitted, "fit"),
    LOG_ERRORS(left_out, "left_out"),
    CS_FIELD_END,
};
static const cs_field a_level_log[] = {
    {.name = "log", .type = CS_FIELD_OBJECT, .fields = level_log_fields}, CS_FIELD_END};

/* In the order of the fabrics. */
static const cs_field level_fields[] = {
    CS_KEY_OF(CS_FIELD_CHOICE, level_keys, fabric, "fabric", .choices = "nic|nvlink",
              .is_required = true),
    FIELD(level_keys, level.n_points, "points", 1, MOST),
    ERRORS(level_keys, level.),
    CS_KEY_LIST(level_keys, outliers, n_outliers, "outliers", an_outlier, .min = 1,
                .max = CS_MAX_OUTLIERS),
    CS_KEY_LIST(level_keys, logs, n_logs, "logs", a_level_log, .min = 1, .max = 1e6,
                .is_required = true),
    CS_KEY_LIST(level_keys, regimes, n_regimes, "regimes", a_regime, .min = 1,
                .max = CS_MAX_REGIMES, .is_required = true),
    CS_FIELD_END,
};
static const cs_field a_level[] = {
    {.name = "level", .type = CS_FIELD_OBJECT, .fields = level_fields}, CS_FIELD_END};

#define LEVELS_FORMAT "collsim-calibration-levels-1"

/* What a calibration of two levels has in place of the root below. */
static const cs_field levels_fields[] = {
    {.name = "format", .type = CS_FIELD_CHOICE, .offset = CS_NOWHERE, .choices = LEVELS_FORMAT,
     .is_required = true},
    CS_KEY_OF(CS_FIELD_CHOICE, root_keys, c.column, "column", .choices = "out-of-place|in-place",
              .is_required = true), /* as cs_nccl_side */
    FIELD(root_keys, gpus_per_server, "gpus_per_server", 1, CS_MAX_RANKS),
    TEXT(root_keys, c.schedule, "schedule"),
    TEXT(root_keys, c.machine, "machine"),
    TEXT(root_keys, c.versions, "versions"),
    TEXT(root_keys, c.source, "source"),
    TEXT(root_keys, c.date, "date"),
    TEXT(root_keys, c.note, "note"),
    MAYBE(root_keys, c.seed, "seed"),
    CS_KEY_LIST(root_keys, logs, n_logs, "logs", a_log, .min = 1, .max = 1e6),
    CS_KEY_LIST(root_keys, levels, n_levels, "levels", a_level, .min = 1, .max = CS_LEVELS,
                .is_required = true),
    CS_FIELD_END,
};

static const cs_field root_fields[] = {
    {.name = "format", .type = CS_FIELD_CHOICE, .offset = CS_NOWHERE, .choices = "collsim-calibration-1",
     .is_required = true},
    CS_KEY_OF(CS_FIELD_CHOICE, root_keys, c.collective, "collective", .names = &cs_collective_names,
              .is_required = true),
    CS_KEY_OF(CS_FIELD_CHOICE, root_keys, c.column, "column", .choices = "out-of-place|in-place",
              .is_required = true), /* as cs_nccl_side */
    FIELD(root_keys, c.n_ranks, "ranks", 2, CS_MAX_RANKS),
    CS_KEY(root_keys, c.schedule, "schedule", .is_required = false),
    TEXT(root_keys, c.machine, "machine"),
    TEXT(root_keys, c.versions, "versions"),
    TEXT(root_keys, c.source, "source"),
    TEXT(root_keys, c.date, "date"),
    TEXT(root_keys, c.note, "note"),
    FIELD(root_keys, c.n_points, "points", CS_REGIME_SIZES, MOST),
    FIELD(root_keys, c.extrapolate, "extrapolate_ranks", 0, 1),
    ERRORS(root_keys, c.),
    MAYBE(root_keys, c.seed, "seed"),
    MAYBE(root_keys, c.hold_out_every, "hold_out_every"),
    MAYBE(root_keys, c.every.mean_ratio, "every_mean_ratio"),
    MAYBE(root_keys, c.every.median_ratio, "every_median_ratio"),
    MAYBE(root_keys, c.every.max_ratio, "every_max_ratio"),
    MAYBE(root_keys, c.every.n, "every_points"),
    CS_KEY_LIST(root_keys, logs, n_logs, "logs", a_log, .min = 1, .max = 1e6),
    CS_KEY_LIST(root_keys, outliers, n_outliers, "outliers", an_outlier, .min = 1,
                .max = CS_MAX_OUTLIERS),
    CS_KEY_LIST(root_keys, breaks, n_breaks, "breaks", a_break, .min = 1, .max = CS_MAX_REGIMES),
    CS_KEY_LIST(root_keys, others, n_others, "other_ranks", an_other, .min = 1, .max = 1e6),
    CS_KEY_LIST(root_keys, regimes, n_regimes, "regimes", a_regime, .min = 1, .max = CS_MAX_REGIMES,
                .is_required = true),
    CS_FIELD_END,
};
/* clang-format on */

/* ---- writing ---- */

/* "key": value */
static void add_field(cs_text *text, const cs_field *row, const void *object)
{
    char value[64];

    cs_text_add(text, "\"%s\": ", row->name);
    if (row->type == CS_FIELD_CHARS) {
        cs_text_add_json_string(text, (const char *)object + row->offset);
    } else if (cs_field_text(row, object, value, sizeof value)) {
        cs_text_add(text, "%s", value);
    } else {
        cs_text_add_json_string(text, value);
    }
}

/* All rows that are no lists, each behind `before` and with `between` from the second on. */
static void add_fields(cs_text *text, const cs_field *fields, const void *object,
                       const char *before, const char *between)
{
    for (const cs_field *row = fields; row->name != NULL && row->type != CS_FIELD_LIST; row++) {
        cs_text_add(text, "%s%s", row == fields ? "" : between, before);
        add_field(text, row, object);
    }
}

/* , "key": [{"kind": .. }, ..] of the remarks that are doubts, or of those that are not. */
static void add_remarks(cs_text *text, const cs_nccl_reading *log, const char *key, bool is_doubt)
{
    bool is_first = true;

    cs_text_add(text, ",\n      \"%s\": [", key);
    for (int kind = 0; kind < CS_NCCL_REMARKS; kind++) {
        const remark_keys keys = {kind, log->remarks[kind]};
        if (keys.remark.n == 0 || cs_nccl_remark_is_doubt((cs_nccl_remark_kind)kind) != is_doubt) {
            continue;
        }
        cs_text_add(text, "%s\n        {", is_first ? "" : ",");
        add_fields(text, remark_fields, &keys, "", ", ");
        cs_text_add(text, "}");
        is_first = false;
    }
    cs_text_add(text, "]");
}

/* Nothing where it is not known how the logs were read. */
static void add_logs(cs_text *text, const cs_calibration *calibration)
{
    for (size_t l = 0; l < calibration->n_logs; l++) {
        const log_keys keys = {.log           = calibration->logs[l],
                               .skipped_lines = cs_nccl_n_skipped(&calibration->logs[l])};
        cs_text_add(text, "%s    {\n", l == 0 ? "  \"logs\": [\n" : "");
        add_fields(text, log_fields, &keys, "      ", ",\n");
        add_remarks(text, &keys.log, "skipped", false);
        add_remarks(text, &keys.log, "doubts", true);
        cs_text_add(text, "\n    }%s\n", l + 1 < calibration->n_logs ? "," : "\n  ],");
    }
}

/* "key": [{..}, ..] of objects side by side, one a line; nothing where there is none. */
static void add_list(cs_text *text, const char *key, const cs_field *fields, const void *objects,
                     size_t bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (i == 0) {
            cs_text_add(text, "  \"%s\": [\n", key);
        }
        cs_text_add(text, "    {");
        add_fields(text, fields, (const char *)objects + i * bytes, "", ", ");
        cs_text_add(text, "}%s\n", i + 1 < n ? "," : "\n  ],");
    }
}

static void add_regimes(cs_text *text, const cs_regime *regimes, size_t n)
{
    cs_text_add(text, "  \"regimes\": [\n");
    for (size_t r = 0; r < n; r++) {
        cs_text_add(text, "    {\n");
        add_fields(text, regime_fields, &regimes[r], "      ", ",\n");
        cs_text_add(text, "\n    }%s\n", r + 1 < n ? "," : "");
    }
    cs_text_add(text, "  ]\n");
}

static void add_levels(cs_text *text, const cs_calibration *c)
{
    const root_keys root     = {.c = *c, .gpus_per_server = c->levels->gpus_per_server};
    bool            is_first = true;

    add_fields(text, levels_fields, &root, "  ", ",\n");
    cs_text_add(text, ",\n");
    add_logs(text, c);
    cs_text_add(text, "  \"levels\": [");
    for (int l = 0; l < CS_LEVELS; l++) {
        const cs_level  *level = &c->levels->of[l];
        const level_keys keys  = {.level = *level, .fabric = l};
        if (level->n_regimes == 0) {
            continue;
        }
        cs_text_add(text, "%s{\n", is_first ? "" : ", ");
        add_fields(text, level_fields, &keys, "  ", ",\n");
        cs_text_add(text, ",\n");
        add_list(text, "outliers", outlier_fields, level->outliers, sizeof(cs_outlier),
                 level->n_outliers);
        add_list(text, "logs", level_log_fields, level->logs, sizeof(cs_level_log), level->n_logs);
        add_regimes(text, level->regimes, level->n_regimes);
        cs_text_add(text, "  }");
        is_first = false;
    }
    cs_text_add(text, "]\n}\n");
}

void cs_calibration_json(const cs_calibration *calibration, cs_text *text)
{
    if (calibration->levels != NULL) {
        cs_text_add(text, "{\n");
        add_levels(text, calibration);
        return;
    }
    cs_text_add(text, "{\n");
    add_fields(text, root_fields, calibration, "  ", ",\n");
    cs_text_add(text, ",\n");
    add_logs(text, calibration);
    add_list(text, "outliers", outlier_fields, calibration->outliers, sizeof(cs_outlier),
             calibration->n_outliers);
    add_list(text, "breaks", break_fields, calibration->breaks, sizeof(cs_break),
             calibration->n_breaks);
    add_list(text, "other_ranks", other_fields, calibration->others, sizeof(cs_other_ranks),
             calibration->n_others);
    add_regimes(text, calibration->regimes, calibration->n_regimes);
    cs_text_add(text, "}\n");
}

/* ---- reading ---- */

static bool is_near(double a, double b)
{
    return fabs(a - b) <= 1e-6 * fmax(fabs(a), fabs(b)) + 1e-300;
}

/* Does the regime lie above the one before it, and do its numbers agree? */
static const char *wrong_with_regime(const cs_regime *regime, bool is_first, double steps,
                                     double wire_ratio)
{
    if (regime->max_bytes < regime->min_bytes ||
        (!is_first && regime->min_bytes <= regime[-1].max_bytes)) {
        return "the ranges of the regimes must increase";
    }
    if (!(regime->line.slope_s_per_byte > 0) || !(regime->bandwidth_Bps > 0)) {
        return "slope and bandwidth must be above 0";
    }
    if (!is_near(regime->alpha_s * steps, regime->line.intercept_s) ||
        !is_near(regime->bandwidth_Bps * regime->line.slope_s_per_byte, steps * wire_ratio)) {
        return "alpha_s and bandwidth_Bps contradict intercept_s and slope_s_per_byte";
    }
    return NULL;
}

static void take_regimes(cs_reading *r, const cs_place *root, const root_keys *keys,
                         cs_calibration *c)
{
    cs_place list  = cs_place_get(root, "regimes");
    double   steps = 0, wire_ratio = 0;

    if (cs_calibration_steps(c->schedule, c->collective, c->n_ranks, &steps, &wire_ratio,
                             &r->error) != CS_OK) {
        return;
    }
    c->n_regimes = keys->n_regimes;
    for (size_t i = 0; i < c->n_regimes; i++) {
        cs_place    item  = cs_place_item(&list, i);
        const char *wrong = wrong_with_regime(&keys->regimes[i], i == 0, steps, wire_ratio);
        if (wrong != NULL && !cs_reading_failed(r)) {
            CS_REFUSE(r, &item, CS_EINVAL, "%s", wrong);
        }
        c->regimes[i] = keys->regimes[i];
    }
}

/* Put the remarks of a list where they belong by their kind. */
static void place_remarks(cs_reading *r, const cs_place *log, const char *key, bool is_doubt,
                          const remark_keys *remarks, size_t n, cs_nccl_reading *reading)
{
    cs_place list = cs_place_get(log, key);

    for (size_t i = 0; i < n && !cs_reading_failed(r); i++) {
        const cs_nccl_remark_kind kind = (cs_nccl_remark_kind)remarks[i].kind;
        cs_place item = cs_place_item(&list, i), word = cs_place_get(&item, "kind");
        if (cs_nccl_remark_is_doubt(kind) != is_doubt) {
            CS_REFUSE(r, &word, CS_EINVAL, "'%s' is no kind of %s", cs_nccl_remark_name(kind),
                      is_doubt ? "doubt" : "skipped lines");
        } else if (reading->remarks[kind].n > 0) {
            CS_REFUSE(r, &item, CS_EINVAL, "the kind '%s' stands twice", cs_nccl_remark_name(kind));
        }
        reading->remarks[kind] = remarks[i].remark;
    }
}

static void check_log(cs_reading *r, const cs_place *place, void *object)
{
    log_keys *keys = object;
    cs_place  sum  = cs_place_get(place, "skipped_lines");

    place_remarks(r, place, "skipped", false, keys->skipped, keys->n_skipped, &keys->log);
    place_remarks(r, place, "doubts", true, keys->doubts, keys->n_doubts, &keys->log);
    if (!cs_reading_failed(r) && keys->skipped_lines != cs_nccl_n_skipped(&keys->log)) {
        CS_REFUSE(r, &sum, CS_EINVAL, "is not the sum of what was skipped, %" PRIu64,
                  cs_nccl_n_skipped(&keys->log));
    }
}

/* How the logs were read; files of earlier versions do not say it. */
static void take_logs(cs_reading *r, const root_keys *keys, cs_calibration *c)
{
    if (keys->n_logs == 0 || cs_reading_failed(r)) {
        return;
    }
    c->logs = CS_NEW(cs_nccl_reading, keys->n_logs);
    if (c->logs == NULL) {
        (void)CS_NO_MEMORY(&r->error, "%zu logs", keys->n_logs);
        return;
    }
    c->n_logs = keys->n_logs;
    for (size_t i = 0; i < c->n_logs; i++) {
        c->logs[i] = keys->logs[i].log;
    }
}

static void take_lists(cs_reading *r, const root_keys *keys, cs_calibration *c)
{
    if (cs_reading_failed(r)) {
        return;
    }
    c->n_outliers = keys->n_outliers;
    if (keys->n_outliers > 0) {
        memcpy(c->outliers, keys->outliers, keys->n_outliers * sizeof *c->outliers);
    }
    c->n_breaks = keys->n_breaks;
    if (keys->n_breaks > 0) {
        memcpy(c->breaks, keys->breaks, keys->n_breaks * sizeof *c->breaks);
    }
    c->others = CS_NEW(cs_other_ranks, keys->n_others);
    if (c->others == NULL) {
        (void)CS_NO_MEMORY(&r->error, "%zu numbers of ranks", keys->n_others);
        return;
    }
    c->n_others = keys->n_others;
    if (keys->n_others > 0) {
        memcpy(c->others, keys->others, keys->n_others * sizeof *c->others);
    }
}

/* One level, whose lists are checked as those of a calibration are. */
static void take_level(cs_reading *r, const cs_place *place, const level_keys *keys,
                       cs_calibration *c)
{
    cs_level *level = &c->levels->of[keys->fabric];
    cs_place  list  = cs_place_get(place, "regimes");

    if (level->n_regimes > 0) {
        CS_REFUSE(r, place, CS_EINVAL, "the fabric stands twice");
        return;
    }
    *level = keys->level;
    for (size_t i = 0; i < keys->n_regimes && !cs_reading_failed(r); i++) {
        cs_place    item  = cs_place_item(&list, i);
        const char *wrong = wrong_with_regime(&keys->regimes[i], i == 0, 1, 1);
        if (wrong != NULL) {
            CS_REFUSE(r, &item, CS_EINVAL, "%s", wrong);
        }
        level->regimes[i] = keys->regimes[i];
    }
    level->n_regimes  = keys->n_regimes;
    level->n_outliers = keys->n_outliers;
    if (keys->n_outliers > 0) {
        memcpy(level->outliers, keys->outliers, keys->n_outliers * sizeof *level->outliers);
    }
    level->logs = CS_NEW(cs_level_log, keys->n_logs);
    if (level->logs == NULL) {
        (void)CS_NO_MEMORY(&r->error, "%zu logs", keys->n_logs);
        return;
    }
    level->n_logs = keys->n_logs;
    memcpy(level->logs, keys->logs, keys->n_logs * sizeof *level->logs);
    for (size_t i = 0; i < keys->n_logs; i++) {
        if (keys->logs[i].n_ranks > 0 &&
            cs_collective_find(keys->logs[i].what, &c->collective, NULL) == CS_OK) {
            c->levels->is_any = false;
        }
    }
}

static void take_levels(cs_reading *r, const cs_place *root, const root_keys *keys,
                        cs_calibration *c)
{
    cs_place list = cs_place_get(root, "levels");

    c->levels = CS_NEW(cs_levels, 1);
    if (c->levels == NULL) {
        (void)CS_NO_MEMORY(&r->error, "two levels");
        return;
    }
    c->levels->gpus_per_server = keys->gpus_per_server;
    c->levels->is_any          = true;
    for (size_t l = 0; l < keys->n_levels && !cs_reading_failed(r); l++) {
        cs_place item = cs_place_item(&list, l);
        take_level(r, &item, &keys->levels[l], c);
    }
}

/* The whole file into `c`. */
static void read_root(cs_reading *r, json_t *tree, cs_calibration *c)
{
    cs_place    root   = cs_place_root(tree);
    root_keys  *keys   = CS_ARENA_NEW(r->arena, root_keys, 1);
    const char *format = json_string_value(json_object_get(tree, "format"));

    if (keys == NULL) {
        (void)CS_NO_MEMORY(&r->error, "a calibration");
    } else if (format != NULL && strcmp(format, LEVELS_FORMAT) == 0) {
        if (cs_read_fields(r, &root, levels_fields, keys)) {
            *c = keys->c;
            take_levels(r, &root, keys, c);
            take_logs(r, keys, c);
        }
    } else if (cs_read_fields(r, &root, root_fields, keys)) {
        *c = keys->c;
        take_regimes(r, &root, keys, c);
        take_logs(r, keys, c);
        take_lists(r, keys, c);
    }
}

cs_status cs_calibration_parse(const char *text, size_t length, const char *name,
                               cs_calibration **calibration_p, cs_error *err)
{
    cs_arena        arena = {0};
    cs_reading      r     = {.arena = &arena};
    json_t         *tree  = NULL;
    cs_calibration *c     = NULL;
    int             line = 0, column = 0;
    cs_status       status = cs_tree_parse(text, length, name, &tree, err);

    if (status != CS_OK) {
        return status;
    }
    c = CS_NEW(cs_calibration, 1);
    if (c == NULL) {
        (void)CS_NO_MEMORY(&r.error, "a calibration");
    } else {
        read_root(&r, tree, c);
    }
    json_decref(tree);
    cs_arena_free(&arena);
    if (cs_reading_failed(&r)) {
        if (r.error.status != CS_ENOMEM) {
            cs_locate(text, length, r.error.where, r.key_is_wrong, &line, &column);
            cs_error_locate(&r.error, name, line, column);
        }
        if (err != NULL && err->status == CS_OK) {
            *err = r.error;
        }
        cs_calibration_free(c);
        return r.error.status;
    }
    *calibration_p = c;
    return CS_OK;
}

/* A calibration is an object that names its format; measurements name none. */
static bool is_measurement(const char *text)
{
    text += strspn(text, " \t\r\n");
    return *text != '\0' && (*text != '{' || strstr(text, "\"format\"") == NULL);
}

cs_status cs_calibration_load(const char *path, cs_calibration **calibration_p, cs_error *err)
{
    const cs_calibrate_options all_from_log = {0};
    char                      *text         = NULL;
    size_t                     length       = 0;
    cs_status                  status;

    CS_TRY(cs_gzip_read(path, CS_LOG_MAX_BYTES, &text, &length, err));
    if (is_measurement(text)) {
        cs_free(text);
        return cs_calibrate(&path, 1, &all_from_log, calibration_p, err);
    }
    status = cs_calibration_parse(text, length, path, calibration_p, err);
    cs_free(text);
    return status;
}
