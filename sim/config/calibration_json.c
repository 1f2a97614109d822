/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calibrations as JSON: see config/calibration_json.h. One table per object lists its keys,
 * types and ranges; the writer and the reader both walk it, so that they cannot disagree.
 * Every key must be there; the few that are no plain fields (format, collective, column,
 * regimes) are treated by name.
 */
#include "config/calibration_json.h"

#include "base/alloc.h"
#include "base/file.h"
#include "config/locate.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

#define FORMAT "collsim-calibration-1"

typedef enum field_type {
    FIELD_TEXT,
    FIELD_BOOL,
    FIELD_U32,
    FIELD_U64,
    FIELD_COUNT, /* size_t */
    FIELD_F64,
} field_type;

typedef struct field {
    const char *key;
    field_type  type;
    size_t      offset, bytes; /* bytes: room of a text */
    double      min, max;
} field;

#define MOST 9007199254740992.0
#define TEXT_FIELD(key, member)                                                                   \
    {                                                                                             \
        key, FIELD_TEXT, offsetof(cs_calibration, member), sizeof(((cs_calibration *)0)->member), \
            0, 0                                                                                  \
    }
#define FIELD(key, type, object, member, min, max)       \
    {                                                    \
        key, type, offsetof(object, member), 0, min, max \
    }
#define REGIME_F64(key, member, max) FIELD(key, FIELD_F64, cs_regime, member, 0, max)

static const field head_fields[] = {
    FIELD("ranks", FIELD_U32, cs_calibration, n_ranks, 2, CS_MAX_RANKS),
    TEXT_FIELD("machine", machine),
    TEXT_FIELD("versions", versions),
    TEXT_FIELD("source", source),
    TEXT_FIELD("date", date),
    TEXT_FIELD("note", note),
    FIELD("points", FIELD_COUNT, cs_calibration, n_points, CS_REGIME_SIZES, MOST),
    FIELD("extrapolate_ranks", FIELD_BOOL, cs_calibration, extrapolate, 0, 1),
    FIELD("fit_mean_ratio", FIELD_F64, cs_calibration, in_sample.mean_ratio, 0, MOST),
    FIELD("fit_max_ratio", FIELD_F64, cs_calibration, in_sample.max_ratio, 0, MOST),
    FIELD("fit_points", FIELD_COUNT, cs_calibration, in_sample.n, 0, MOST),
    FIELD("held_out_mean_ratio", FIELD_F64, cs_calibration, held_out.mean_ratio, 0, MOST),
    FIELD("held_out_max_ratio", FIELD_F64, cs_calibration, held_out.max_ratio, 0, MOST),
    FIELD("held_out_points", FIELD_COUNT, cs_calibration, held_out.n, 0, MOST),
    {.key = NULL},
};

static const field regime_fields[] = {
    FIELD("min_bytes", FIELD_U64, cs_regime, min_bytes, 1, MOST),
    FIELD("max_bytes", FIELD_U64, cs_regime, max_bytes, 1, MOST),
    FIELD("points", FIELD_COUNT, cs_regime, n_points, CS_REGIME_SIZES, MOST),
    REGIME_F64("intercept_s", line.intercept_s, 1e6),
    REGIME_F64("intercept_low_s", line.intercept_low_s, 1e6),
    REGIME_F64("intercept_high_s", line.intercept_high_s, 1e9),
    REGIME_F64("slope_s_per_byte", line.slope_s_per_byte, 1),
    REGIME_F64("slope_low_s_per_byte", line.slope_low_s_per_byte, 1),
    REGIME_F64("slope_high_s_per_byte", line.slope_high_s_per_byte, 1e6),
    REGIME_F64("alpha_s", alpha_s, 1e6),
    REGIME_F64("bandwidth_Bps", bandwidth_Bps, 1e30),
    REGIME_F64("fit_mean_ratio", in_sample.mean_ratio, MOST),
    REGIME_F64("fit_max_ratio", in_sample.max_ratio, MOST),
    FIELD("fit_points", FIELD_COUNT, cs_regime, in_sample.n, 0, MOST),
    REGIME_F64("held_out_mean_ratio", held_out.mean_ratio, MOST),
    REGIME_F64("held_out_max_ratio", held_out.max_ratio, MOST),
    FIELD("held_out_points", FIELD_COUNT, cs_regime, held_out.n, 0, MOST),
    {.key = NULL},
};

/* How one log was read; of a run that the log does not announce, all is 0. */
static const field log_fields[] = {
    {"name", FIELD_TEXT, offsetof(cs_nccl_reading, name), sizeof((cs_nccl_reading *)0)->name, 0, 0},
    FIELD("lines", FIELD_COUNT, cs_nccl_reading, n_lines, 0, MOST),
    FIELD("rows", FIELD_COUNT, cs_nccl_reading, n_rows, 0, MOST),
    FIELD("run_line", FIELD_U32, cs_nccl_reading, run.line, 0, UINT32_MAX),
    FIELD("minimum_bytes", FIELD_U64, cs_nccl_reading, run.min_bytes, 0, MOST),
    FIELD("maximum_bytes", FIELD_U64, cs_nccl_reading, run.max_bytes, 0, MOST),
    FIELD("step_factor", FIELD_U64, cs_nccl_reading, run.step_factor, 0, MOST),
    FIELD("step_bytes", FIELD_U64, cs_nccl_reading, run.step_bytes, 0, MOST),
    FIELD("warmup_iters", FIELD_U64, cs_nccl_reading, run.n_warmup_iters, 0, MOST),
    FIELD("iterations", FIELD_U64, cs_nccl_reading, run.n_iters, 0, MOST),
    {.key = NULL},
};

static const field remark_fields[] = {
    FIELD("count", FIELD_U64, cs_nccl_remark, n, 1, MOST),
    FIELD("first_line", FIELD_U32, cs_nccl_remark, first_line, 0, UINT32_MAX),
    {"first", FIELD_TEXT, offsetof(cs_nccl_remark, first), sizeof((cs_nccl_remark *)0)->first, 0,
     0},
    {.key = NULL},
};

static const char *const head_names[] = {"format", "collective", "column", "logs", "regimes", NULL};
static const char *const log_names[]  = {"skipped_lines", "skipped", "doubts", NULL};
static const char *const remark_names[] = {"kind", NULL};

/* ---- writing ---- */

static void add_key(cs_text *text, const char *indent, const char *key)
{
    cs_text_add(text, "%s\"%s\": ", indent, key);
}

static void add_field(cs_text *text, const field *f, const void *object)
{
    const char *at = (const char *)object + f->offset;

    switch (f->type) {
    case FIELD_TEXT: cs_text_add_json_string(text, at); break;
    case FIELD_BOOL: cs_text_add(text, "%s", *(const bool *)at ? "true" : "false"); break;
    case FIELD_U32: cs_text_add(text, "%u", *(const uint32_t *)(const void *)at); break;
    case FIELD_U64:
        cs_text_add(text, "%llu", (unsigned long long)*(const uint64_t *)(const void *)at);
        break;
    case FIELD_COUNT: cs_text_add(text, "%zu", *(const size_t *)(const void *)at); break;
    case FIELD_F64: cs_text_add_number(text, *(const double *)(const void *)at); break;
    }
}

static void add_regime(cs_text *text, const cs_regime *regime)
{
    cs_text_add(text, "    {\n");
    for (const field *f = regime_fields; f->key != NULL; f++) {
        add_key(text, "      ", f->key);
        add_field(text, f, regime);
        cs_text_add(text, "%s\n", f[1].key != NULL ? "," : "");
    }
    cs_text_add(text, "    }");
}

/* , "key": [{"kind": .. }, ..] of the remarks that are doubts, or of those that are not. */
static void add_remarks(cs_text *text, const cs_nccl_reading *log, const char *key, bool is_doubt)
{
    bool is_first = true;

    cs_text_add(text, ",\n      \"%s\": [", key);
    for (int k = 0; k < CS_NCCL_REMARKS; k++) {
        const cs_nccl_remark_kind kind = (cs_nccl_remark_kind)k;
        if (log->remarks[k].n == 0 || cs_nccl_remark_is_doubt(kind) != is_doubt) {
            continue;
        }
        cs_text_add(text, "%s\n        {\"kind\": \"%s\"", is_first ? "" : ",",
                    cs_nccl_remark_name(kind));
        for (const field *f = remark_fields; f->key != NULL; f++) {
            add_key(text, ", ", f->key);
            add_field(text, f, &log->remarks[k]);
        }
        cs_text_add(text, "}");
        is_first = false;
    }
    cs_text_add(text, "]");
}

/* Nothing where it is not known how the logs were read. */
static void add_logs(cs_text *text, const cs_calibration *calibration)
{
    for (size_t l = 0; l < calibration->n_logs; l++) {
        const cs_nccl_reading *log = &calibration->logs[l];
        cs_text_add(text, "%s    {\n", l == 0 ? "  \"logs\": [\n" : "");
        for (const field *f = log_fields; f->key != NULL; f++) {
            add_key(text, "      ", f->key);
            add_field(text, f, log);
            cs_text_add(text, ",\n");
        }
        cs_text_add(text, "      \"skipped_lines\": %llu",
                    (unsigned long long)cs_nccl_n_skipped(log));
        add_remarks(text, log, "skipped", false);
        add_remarks(text, log, "doubts", true);
        cs_text_add(text, "\n    }%s\n", l + 1 < calibration->n_logs ? "," : "\n  ],");
    }
}

void cs_calibration_json(const cs_calibration *calibration, cs_text *text)
{
    cs_text_add(text, "{\n  \"format\": \"" FORMAT "\",\n  \"collective\": \"%s\",\n",
                cs_collective_name(calibration->collective));
    cs_text_add(text, "  \"column\": \"%s\",\n", cs_nccl_side_name(calibration->column));
    for (const field *f = head_fields; f->key != NULL; f++) {
        add_key(text, "  ", f->key);
        add_field(text, f, calibration);
        cs_text_add(text, ",\n");
    }
    add_logs(text, calibration);
    cs_text_add(text, "  \"regimes\": [\n");
    for (size_t r = 0; r < calibration->n_regimes; r++) {
        add_regime(text, &calibration->regimes[r]);
        cs_text_add(text, "%s\n", r + 1 < calibration->n_regimes ? "," : "");
    }
    cs_text_add(text, "  ]\n}\n");
}

/* ---- reading: `path` is where the object stands, for errors ---- */

static bool is_listed(const field *fields, const char *const *names, const char *key)
{
    for (const field *f = fields; f->key != NULL; f++) {
        if (strcmp(f->key, key) == 0) {
            return true;
        }
    }
    for (; names != NULL && *names != NULL; names++) {
        if (strcmp(*names, key) == 0) {
            return true;
        }
    }
    return false;
}

static cs_status check_keys(json_t *object, const char *path, const field *fields,
                            const char *const *names, cs_error *err)
{
    const char *key;
    json_t     *value;

    if (!json_is_object(object)) {
        return CS_FAIL(err, CS_EPARSE, path, "wrong type, accepted: an object");
    }
    json_object_foreach(object, key, value)
    {
        if (!is_listed(fields, names, key)) {
            char where[CS_PATH_BYTES];
            cs_path_add_key(where, path, key);
            return CS_FAIL(err, CS_EPARSE, where, "unknown key of a calibration");
        }
    }
    return CS_OK;
}

static cs_status get(json_t *object, const char *path, const char *key, json_t **value_p,
                     cs_error *err)
{
    *value_p = json_object_get(object, key);
    if (*value_p == NULL) {
        return CS_FAIL(err, CS_EPARSE, path, "the key \"%s\" is missing", key);
    }
    return CS_OK;
}

static cs_status read_text(json_t *value, const char *where, const field *f, char *to,
                           cs_error *err)
{
    const char *text = json_string_value(value);

    if (text == NULL || strlen(text) >= f->bytes) {
        return CS_FAIL(err, CS_EPARSE, where, "accepted: a text of at most %zu bytes",
                       f->bytes - 1);
    }
    memcpy(to, text, strlen(text) + 1);
    return CS_OK;
}

static cs_status read_number(json_t *value, const char *where, const field *f, void *to,
                             cs_error *err)
{
    bool   is_real = f->type == FIELD_F64;
    double number  = json_number_value(value);

    if (!(is_real ? json_is_number(value) : json_is_integer(value)) || !(number >= f->min) ||
        number > f->max) {
        return CS_FAIL(err, CS_EPARSE, where, "accepted: %s from %g to %g",
                       is_real ? "a number" : "an integer", f->min, f->max);
    }
    if (is_real) {
        *(double *)to = number;
    } else if (f->type == FIELD_U32) {
        *(uint32_t *)to = (uint32_t)json_integer_value(value);
    } else if (f->type == FIELD_U64) {
        *(uint64_t *)to = (uint64_t)json_integer_value(value);
    } else {
        *(size_t *)to = (size_t)json_integer_value(value);
    }
    return CS_OK;
}

static cs_status read_field(json_t *object, const char *path, const field *f, void *to,
                            cs_error *err)
{
    char     *at    = (char *)to + f->offset;
    json_t   *value = NULL;
    char      where[CS_PATH_BYTES];
    cs_status status = get(object, path, f->key, &value, err);

    if (status != CS_OK) {
        return status;
    }
    cs_path_add_key(where, path, f->key);
    if (f->type == FIELD_TEXT) {
        return read_text(value, where, f, at, err);
    }
    if (f->type != FIELD_BOOL) {
        return read_number(value, where, f, at, err);
    }
    if (!json_is_boolean(value)) {
        return CS_FAIL(err, CS_EPARSE, where, "accepted: true or false");
    }
    *(bool *)at = json_is_true(value);
    return CS_OK;
}

static cs_status read_fields(json_t *object, const char *path, const field *fields, void *to,
                             cs_error *err)
{
    cs_status status = CS_OK;

    for (const field *f = fields; f->key != NULL && status == CS_OK; f++) {
        status = read_field(object, path, f, to, err);
    }
    return status;
}

/* One of the texts that are no plain fields. */
static cs_status get_text(json_t *root, const char *key, const char **text_p, cs_error *err)
{
    json_t   *value  = NULL;
    cs_status status = get(root, "", key, &value, err);

    if (status == CS_OK && !json_is_string(value)) {
        status = CS_FAIL(err, CS_EPARSE, key, "wrong type, accepted: a text");
    }
    *text_p = status == CS_OK ? json_string_value(value) : "";
    return status;
}

static cs_status read_names(json_t *root, cs_calibration *c, cs_error *err)
{
    const char *format = "", *collective = "", *column = "";
    cs_status   status = get_text(root, "format", &format, err);

    if (status == CS_OK && strcmp(format, FORMAT) != 0) {
        status = CS_FAIL(err, CS_EPARSE, "format", "'%.40s', accepted: %s", format, FORMAT);
    }
    if (status == CS_OK) {
        status = get_text(root, "collective", &collective, err);
    }
    if (status == CS_OK && cs_collective_find(collective, &c->collective, NULL) != CS_OK) {
        status = CS_FAIL(err, CS_EPARSE, "collective", "'%.40s' is no collective", collective);
    }
    if (status == CS_OK) {
        status = get_text(root, "column", &column, err);
    }
    if (status == CS_OK && strcmp(column, cs_nccl_side_name(CS_NCCL_OUT_OF_PLACE)) != 0 &&
        strcmp(column, cs_nccl_side_name(CS_NCCL_IN_PLACE)) != 0) {
        status =
            CS_FAIL(err, CS_EPARSE, "column", "'%.40s', accepted: %s or %s", column,
                    cs_nccl_side_name(CS_NCCL_OUT_OF_PLACE), cs_nccl_side_name(CS_NCCL_IN_PLACE));
    }
    c->column = strcmp(column, cs_nccl_side_name(CS_NCCL_IN_PLACE)) == 0 ? CS_NCCL_IN_PLACE
                                                                         : CS_NCCL_OUT_OF_PLACE;
    return status;
}

static bool is_near(double a, double b)
{
    return fabs(a - b) <= 1e-6 * fmax(fabs(a), fabs(b)) + 1e-300;
}

/* Does the regime adjoin the one before it, and do its numbers agree? */
static cs_status check_regime(const cs_calibration *c, size_t index, const char *path,
                              cs_error *err)
{
    const cs_regime *regime = &c->regimes[index];
    double           steps = 0, wire_ratio = 0;
    cs_status status = cs_calibration_steps(c->collective, c->n_ranks, &steps, &wire_ratio, err);

    if (status != CS_OK) {
        return status;
    }
    if (regime->max_bytes < regime->min_bytes ||
        (index > 0 && regime->min_bytes != regime[-1].max_bytes + 1)) {
        return CS_FAIL(err, CS_EPARSE, path, "the ranges of the regimes must increase and adjoin");
    }
    if (!(regime->line.slope_s_per_byte > 0) || !(regime->bandwidth_Bps > 0)) {
        return CS_FAIL(err, CS_EPARSE, path, "slope and bandwidth must be above 0");
    }
    if (!is_near(regime->alpha_s * steps, regime->line.intercept_s) ||
        !is_near(regime->bandwidth_Bps * regime->line.slope_s_per_byte, steps * wire_ratio)) {
        return CS_FAIL(err, CS_EPARSE, path,
                       "alpha_s and bandwidth_Bps contradict intercept_s and slope_s_per_byte");
    }
    return CS_OK;
}

static cs_status read_regimes(json_t *root, cs_calibration *c, cs_error *err)
{
    json_t   *array  = NULL;
    cs_status status = get(root, "", "regimes", &array, err);

    if (status != CS_OK) {
        return status;
    }
    c->n_regimes = json_array_size(array);
    if (c->n_regimes < 1 || c->n_regimes > CS_MAX_REGIMES) {
        return CS_FAIL(err, CS_EPARSE, "regimes", "accepted: an array of 1 to %d regimes",
                       CS_MAX_REGIMES);
    }
    for (size_t r = 0; r < c->n_regimes && status == CS_OK; r++) {
        json_t *object = json_array_get(array, r);
        char    path[CS_PATH_BYTES];

        cs_path_add_index(path, "regimes", r);
        status = check_keys(object, path, regime_fields, NULL, err);
        if (status == CS_OK) {
            status = read_fields(object, path, regime_fields, &c->regimes[r], err);
        }
        if (status == CS_OK) {
            status = check_regime(c, r, path, err);
        }
    }
    return status;
}

/* Which kind of remark is it? */
static cs_status read_kind(json_t *object, const char *path, bool is_doubt,
                           cs_nccl_remark_kind *kind_p, cs_error *err)
{
    json_t     *value  = NULL;
    cs_status   status = get(object, path, "kind", &value, err);
    const char *name   = json_string_value(value);
    char        where[CS_PATH_BYTES];

    for (int k = 0; name != NULL && k < CS_NCCL_REMARKS; k++) {
        *kind_p = (cs_nccl_remark_kind)k;
        if (strcmp(cs_nccl_remark_name(*kind_p), name) == 0 &&
            cs_nccl_remark_is_doubt(*kind_p) == is_doubt) {
            return CS_OK;
        }
    }
    cs_path_add_key(where, path, "kind");
    return status != CS_OK ? status
                           : CS_FAIL(err, CS_EPARSE, where, "no kind of %s that is known",
                                     is_doubt ? "doubts" : "skipped lines");
}

static cs_status read_remarks(json_t *object, const char *path, const char *key, bool is_doubt,
                              cs_nccl_reading *log, cs_error *err)
{
    json_t   *array  = NULL;
    cs_status status = get(object, path, key, &array, err);
    char      list[CS_PATH_BYTES], at[CS_PATH_BYTES];

    cs_path_add_key(list, path, key);
    if (status == CS_OK && !json_is_array(array)) {
        return CS_FAIL(err, CS_EPARSE, list, "wrong type, accepted: an array");
    }
    for (size_t i = 0; i < json_array_size(array) && status == CS_OK; i++) {
        json_t             *item = json_array_get(array, i);
        cs_nccl_remark_kind kind = CS_NCCL_OTHERS;

        cs_path_add_index(at, list, i);
        status = check_keys(item, at, remark_fields, remark_names, err);
        if (status == CS_OK) {
            status = read_kind(item, at, is_doubt, &kind, err);
        }
        if (status == CS_OK && log->remarks[kind].n > 0) {
            status = CS_FAIL(err, CS_EPARSE, at, "the kind \"%s\" stands twice",
                             cs_nccl_remark_name(kind));
        }
        if (status == CS_OK) {
            status = read_fields(item, at, remark_fields, &log->remarks[kind], err);
        }
    }
    return status;
}

static cs_status read_log(json_t *object, const char *path, cs_nccl_reading *log, cs_error *err)
{
    json_t   *value = NULL;
    char      where[CS_PATH_BYTES];
    cs_status status = check_keys(object, path, log_fields, log_names, err);

    if (status == CS_OK) {
        status = read_fields(object, path, log_fields, log, err);
    }
    if (status == CS_OK) {
        status = read_remarks(object, path, "skipped", false, log, err);
    }
    if (status == CS_OK) {
        status = read_remarks(object, path, "doubts", true, log, err);
    }
    if (status == CS_OK) {
        status = get(object, path, "skipped_lines", &value, err);
    }
    if (status == CS_OK && (!json_is_integer(value) ||
                            (uint64_t)json_integer_value(value) != cs_nccl_n_skipped(log))) {
        cs_path_add_key(where, path, "skipped_lines");
        status = CS_FAIL(err, CS_EPARSE, where, "is not the sum of what was skipped");
    }
    return status;
}

/* How the logs were read; files of earlier versions do not say it. */
static cs_status read_logs(json_t *root, cs_calibration *c, cs_error *err)
{
    json_t   *array  = json_object_get(root, "logs");
    size_t    n      = json_array_size(array);
    cs_status status = CS_OK;

    if (array == NULL) {
        return CS_OK;
    }
    if (n == 0) {
        return CS_FAIL(err, CS_EPARSE, "logs", "accepted: an array of one log or more");
    }
    c->logs = CS_NEW(cs_nccl_reading, n);
    if (c->logs == NULL) {
        return CS_FAIL(err, CS_ENOMEM, "", "out of memory for %zu logs", n);
    }
    c->n_logs = n;
    for (size_t l = 0; l < n && status == CS_OK; l++) {
        char path[CS_PATH_BYTES];
        cs_path_add_index(path, "logs", l);
        status = read_log(json_array_get(array, l), path, &c->logs[l], err);
    }
    return status;
}

static cs_status read_root(json_t *root, cs_calibration *c, cs_error *err)
{
    cs_status status = check_keys(root, "", head_fields, head_names, err);

    if (status == CS_OK) {
        status = read_names(root, c, err);
    }
    if (status == CS_OK) {
        status = read_fields(root, "", head_fields, c, err);
    }
    if (status == CS_OK) {
        status = read_logs(root, c, err);
    }
    return status == CS_OK ? read_regimes(root, c, err) : status;
}

cs_status cs_calibration_parse(const char *text, size_t length, const char *name,
                               cs_calibration **calibration_p, cs_error *err)
{
    cs_error        own  = {0};
    json_error_t    json = {0};
    json_t         *root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &json);
    cs_calibration *c    = CS_NEW(cs_calibration, 1);
    cs_status       status;

    err = err != NULL ? err : &own;
    if (c == NULL) {
        status = CS_FAIL(err, CS_ENOMEM, "", "out of memory for a calibration");
    } else if (root == NULL) {
        status = CS_FAIL(err, CS_EPARSE, "", "%s", json.text);
        cs_error_locate(err, name, json.line, json.column);
    } else {
        int line = 0, column = 0;
        status = read_root(root, c, err);
        if (status != CS_OK) {
            cs_locate(text, length, err->where, false, &line, &column);
            cs_error_locate(err, name, line, column);
        }
    }
    json_decref(root);
    if (status != CS_OK) {
        cs_calibration_free(c);
        return status;
    }
    *calibration_p = c;
    return CS_OK;
}

cs_status cs_calibration_load(const char *path, cs_calibration **calibration_p, cs_error *err)
{
    char     *text   = NULL;
    size_t    length = 0;
    cs_status status = cs_file_read(path, (size_t)4 * 1024 * 1024, &text, &length, err);

    if (status == CS_OK) {
        status = cs_calibration_parse(text, length, path, calibration_p, err);
    }
    cs_free(text);
    return status;
}
