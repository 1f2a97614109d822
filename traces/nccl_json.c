/* SPDX-License-Identifier: GPL-3.0-or-later */
/* nccl-tests (src/util.cu, files of version 1) writes one run: {"version", "args", "nccl_version",
 * "config": {"nthreads", "ngpus", "minimum_bytes", .., "devices": [{"rank", "group",
 * "device_info"}]}, "results": [{"size", "count", "type", "redop", "root", "out_of_place": {"time",
 * "alg_bw", "bus_bw", "nwrong"}, "in_place"}], "out_of_bounds", "average_bus_bandwidth", "errors"}.
 * Times and rates have six decimals. A process lists the first of its devices only, so the number
 * of ranks is the highest one + nthreads x ngpus. "nwrong" is null where nothing was checked,
 * "out_of_place" where it was not run.
 *
 * SimLLM writes {"nccl_version", "devices": [{"name"}], "collectives": [{"op", "width", "bytes",
 * "status", "time_us", "algbw_gbps", "busbw_gbps", "allreduce_mismatching_ranks"}]}: any order of
 * collectives and widths (ranks), sizes increasing in each.
 */
#include "traces/nccl_reader.h"

#include "base/alloc.h"
#include "cs/cluster.h"
#include "input/locate.h"
#include "input/reader.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- values, of which any may be missing ---- */

/* An integer from `least` on at a key; what is there stays where the key is missing. */
static void read_whole(cs_reading *r, const cs_place *parent, const char *key, uint64_t least,
                       uint64_t *value_p)
{
    cs_place place = cs_place_get(parent, key);

    if (cs_reading_failed(r) || place.node == NULL) {
        return;
    }
    const json_int_t value = json_integer_value(place.node);
    if (!json_is_integer(place.node) || value < (json_int_t)least || value > (json_int_t)1 << 53) {
        CS_REFUSE(r, &place, CS_EPARSE, "accepted: an integer from %" PRIu64 " to 2^53", least);
        return;
    }
    *value_p = (uint64_t)value;
}

static void read_text(cs_reading *r, const cs_place *parent, const char *key, char *to,
                      size_t bytes)
{
    cs_place place = cs_place_get(parent, key);

    if (cs_reading_failed(r) || place.node == NULL) {
        return;
    }
    if (!json_is_string(place.node)) {
        CS_REFUSE(r, &place, CS_EPARSE, "accepted: a text");
        return;
    }
    cs_plain_text(to, bytes, json_string_value(place.node));
}

/* What the writer printed with at most six decimals: the number, and half a unit of its last digit
 * as far as it can be told. */
static cs_printed read_printed(cs_reading *r, const cs_place *parent, const char *key, double least)
{
    cs_place    place = cs_place_get(parent, key);
    const char *point;
    char        text[40];
    cs_printed  printed = {json_number_value(place.node), 0};

    if (cs_reading_failed(r)) {
        return printed;
    }
    if (!json_is_number(place.node) || !isfinite(printed.value) || printed.value < least) {
        CS_REFUSE(r, place.node != NULL ? &place : parent, CS_EPARSE, "%s%saccepted: a number%s",
                  place.node != NULL ? "" : key, place.node != NULL ? "" : " is missing, ",
                  least > 0 ? " above 0" : ", 0 or more");
        return printed;
    }
    cs_number_text(printed.value, text, sizeof text);
    point        = strchr(text, '.');
    printed.half = 0.5 * pow(10, point != NULL ? -(double)strlen(point + 1) : 0);
    printed.half = strchr(text, 'e') != NULL ? 0.5e-6 : fmax(printed.half, 0.5e-6);
    return printed;
}

/* "true" in quotes, as nccl-tests writes it, or without; `otherwise` where it is neither. */
static bool is_said(const cs_place *parent, const char *key, bool otherwise)
{
    const json_t *node = json_object_get(parent->node, key);
    const char   *text = json_string_value(node);

    if (text != NULL) {
        return strcmp(text, "true") == 0 || (strcmp(text, "false") != 0 && otherwise);
    }
    return json_is_boolean(node) ? json_is_true(node) : otherwise;
}

static void read_version(cs_reading *r, const cs_place *root, char versions[96])
{
    uint64_t code = 0;
    char     version[CS_NCCL_VERSION_BYTES];

    read_whole(r, root, "nccl_version", 0, &code);
    if (cs_nccl_version_of_code(code, version)) {
        (void)snprintf(versions, 96, "NCCL version %s", version);
    }
}

/* Make room and remember it, for what comes after it. */
static bool push(cs_reading *r, cs_nccl_log *log, size_t *capacity, const cs_nccl_row *row)
{
    return !cs_reading_failed(r) && cs_nccl_log_push(log, capacity, row, &r->error) == CS_OK;
}

/* Sizes increase, as in a table. */
static void check_order(cs_reading *r, const cs_place *row, const char *key, const cs_nccl_log *log,
                        uint64_t size_bytes)
{
    const uint64_t last  = log->n_rows > 0 ? log->rows[log->n_rows - 1].size_bytes : 0;
    cs_place       place = cs_place_get(row, key);

    if (!cs_reading_failed(r) && size_bytes <= last) {
        CS_REFUSE(r, &place, CS_EPARSE,
                  "%" PRIu64 " after %" PRIu64 ": two tables are interleaved, or a second one "
                  "begins; give one table per file",
                  size_bytes, last);
    }
}

/* Take one side's numbers; an algbw that they contradict is refused at its key. */
static void set_timing(cs_reading *r, const cs_place *place, const char *algbw_key, bool is_cputime,
                       cs_nccl_side side, cs_printed time, cs_printed algbw, cs_printed busbw,
                       cs_nccl_row *row)
{
    cs_place rate = cs_place_get(place, algbw_key);
    cs_error why  = {0};

    if (!cs_reading_failed(r) && cs_nccl_timing_set(row->size_bytes, time, algbw, busbw, is_cputime,
                                                    side, &row->timings[side], &why) != CS_OK) {
        CS_REFUSE(r, &rate, why.status, "%s", why.message);
    }
}

/* ---- nccl-tests ---- */

static void read_side(cs_reading *r, const cs_place *row_place, cs_nccl_side side,
                      cs_nccl_heading *heading, cs_nccl_row *row)
{
    cs_place        place  = cs_place_get(row_place, side == 0 ? "out_of_place" : "in_place");
    cs_nccl_timing *timing = &row->timings[side];

    if (cs_reading_failed(r) || place.node == NULL || json_is_null(place.node)) {
        return;
    }
    if (!json_is_object(place.node)) {
        cs_refuse_kind(r, &place, "an object or null");
        return;
    }
    heading->is_cputime  = heading->is_cputime || cs_place_has(&place, "cpu_time");
    const char *time_key = cs_place_has(&place, "cpu_time") ? "cpu_time" : "time";
    cs_place    wrong    = cs_place_get(&place, "nwrong");
    cs_printed  time     = read_printed(r, &place, time_key, 1e-9);
    cs_printed  algbw    = read_printed(r, &place, "alg_bw", 0);
    cs_printed  busbw    = read_printed(r, &place, "bus_bw", 0);
    timing->is_checked   = wrong.node != NULL && !json_is_null(wrong.node);
    if (timing->is_checked) {
        timing->n_wrong = read_printed(r, &place, "nwrong", 0).value;
    }
    set_timing(r, &place, "alg_bw", heading->is_cputime, side, time, algbw, busbw, row);
}

/* "tuning": {"algo": "RING", "proto": "LL"}, where a version has it. */
static void read_choice(const cs_place *row_place, cs_nccl_row *row)
{
    const json_t *tuning    = json_object_get(row_place->node, "tuning");
    const char   *algorithm = json_string_value(json_object_get(tuning, "algo"));
    const char   *protocol  = json_string_value(json_object_get(tuning, "proto"));

    if (algorithm != NULL && protocol != NULL) {
        cs_nccl_choice_text(algorithm, protocol, row->choice);
    }
}

static void read_result(cs_reading *r, const cs_place *place, cs_nccl_log *log, size_t *capacity,
                        cs_nccl_heading *heading)
{
    cs_nccl_row row      = {.root = CS_NCCL_NO_ROOT};
    cs_place    type     = cs_place_get(place, "type");
    char        root[24] = "", size[48];

    cs_read_required(r, place, "size");
    cs_read_required(r, place, "type");
    read_whole(r, place, "size", 0, &row.size_bytes);
    read_whole(r, place, "count", 0, &row.count);
    read_text(r, place, "type", row.type, sizeof row.type);
    read_text(r, place, "redop", row.redop, sizeof row.redop);
    read_text(r, place, "root", root, sizeof root);
    if (cs_reading_failed(r)) {
        return;
    }
    if (cs_nccl_type_bytes(row.type) == 0) {
        CS_REFUSE(r, &type, CS_EPARSE, "'%.40s', accepted: a type of nccl-tests as float",
                  row.type);
        return;
    }
    if (root[0] != '\0') {
        row.root          = (int32_t)strtol(root, NULL, 10);
        heading->has_root = true;
    }
    heading->has_redop = heading->has_redop || row.redop[0] != '\0';
    (void)snprintf(size, sizeof size, "size %" PRIu64, row.size_bytes);
    if (row.size_bytes == 0) {
        cs_nccl_remark_add(&log->reading, CS_NCCL_EMPTY_ROWS, 0, size);
        return;
    }
    check_order(r, place, "size", log, row.size_bytes);
    read_side(r, place, CS_NCCL_OUT_OF_PLACE, heading, &row);
    read_side(r, place, CS_NCCL_IN_PLACE, heading, &row);
    read_choice(place, &row);
    if (!cs_reading_failed(r) && !row.timings[0].is_measured && !row.timings[1].is_measured) {
        CS_REFUSE(r, place, CS_EPARSE, "neither \"out_of_place\" nor \"in_place\" is there");
    }
    (void)push(r, log, capacity, &row);
}

/* The run, the ranks and the device. */
static void read_config(cs_reading *r, const cs_place *root, cs_nccl_run *run,
                        cs_nccl_heading *heading)
{
    cs_place config = cs_place_get(root, "config"), devices = cs_place_get(&config, "devices");
    uint64_t threads = 1, gpus = 1, validation = 1;

    if (cs_reading_failed(r) || !json_is_object(config.node)) {
        return;
    }
    read_whole(r, &config, "minimum_bytes", 0, &run->min_bytes);
    read_whole(r, &config, "maximum_bytes", 0, &run->max_bytes);
    read_whole(r, &config, "step_factor", 0, &run->step_factor);
    read_whole(r, &config, "step_bytes", 0, &run->step_bytes);
    read_whole(r, &config, "warmup_iters", 0, &run->n_warmup_iters);
    read_whole(r, &config, "iterations", 0, &run->n_iters);
    read_whole(r, &config, "validation", 0, &validation);
    read_whole(r, &config, "nthreads", 1, &threads);
    read_whole(r, &config, "ngpus", 1, &gpus);
    run->line         = cs_place_has(&config, "maximum_bytes") && run->min_bytes <= run->max_bytes;
    run->is_unchecked = validation == 0;
    for (size_t d = 0; d < json_array_size(devices.node) && !cs_reading_failed(r); d++) {
        cs_place device = cs_place_item(&devices, d);
        uint64_t rank = 0, group = 0;
        read_whole(r, &device, "rank", 0, &rank);
        read_whole(r, &device, "group", 0, &group);
        read_text(r, &device, "device_info", heading->device, sizeof heading->device);
        if (rank + threads * gpus > CS_MAX_RANKS || group >= CS_MAX_RANKS) {
            CS_REFUSE(r, &device, CS_EPARSE, "rank %" PRIu64 " of more than %u", rank,
                      CS_MAX_RANKS);
            return;
        }
        if (rank + threads * gpus > heading->n_listed) {
            heading->n_listed = (uint32_t)(rank + threads * gpus);
        }
        heading->n_groups = group >= heading->n_groups ? (uint32_t)group + 1 : heading->n_groups;
    }
}

/* The footers, and what NCCL complained about. */
static void read_footers(const cs_place *root, cs_nccl_reading *reading)
{
    cs_place wrong = cs_place_get(root, "out_of_bounds");
    cs_place rate  = cs_place_get(root, "average_bus_bandwidth");
    cs_place list  = cs_place_get(root, "errors");

    if (!is_said(&wrong, "okay", true)) {
        cs_nccl_remark_add(reading, CS_NCCL_FAILED_RESULTS, 0, "out_of_bounds is not okay");
    }
    if (!is_said(&rate, "okay", true)) {
        cs_nccl_remark_add(reading, CS_NCCL_FAILED_RUN, 0, "average_bus_bandwidth is not okay");
    }
    for (size_t e = 0; e < json_array_size(list.node); e++) {
        const char *text = json_string_value(json_array_get(list.node, e));
        if (text != NULL && text[0] != '\0') {
            cs_nccl_remark_add(reading, CS_NCCL_FAILED_RUN, 0, text);
        }
    }
}

/* The program that ran: its own first word. */
static void read_program(const cs_place *root, cs_nccl_heading *heading)
{
    const char *word  = json_string_value(json_array_get(json_object_get(root->node, "args"), 0));
    const char *slash = word != NULL ? strrchr(word, '/') : NULL;

    word = slash != NULL ? slash + 1 : word;
    if (word != NULL && cs_nccl_is_program(word)) {
        (void)snprintf(heading->mentioned, sizeof heading->mentioned, "%s", word);
    }
}

static void conclude(cs_reading *r, cs_nccl_log *log, const cs_nccl_heading *heading,
                     uint32_t n_ranks)
{
    int line = 0;

    log->reading.n_rows = log->n_rows;
    if (!cs_reading_failed(r)) {
        (void)cs_nccl_conclude(log, heading, n_ranks, &line, &r->error);
        if (strcmp(r->error.where, "Rank") == 0) {
            (void)snprintf(r->error.where, sizeof r->error.where, "config.devices");
        }
    }
}

static void read_nccl(cs_reading *r, const cs_place *root, uint32_t n_ranks, const char *name,
                      cs_nccl_logs *logs)
{
    cs_nccl_heading heading  = {.has_columns = true};
    cs_place        results  = cs_place_get(root, "results");
    cs_nccl_log    *log      = NULL;
    size_t          capacity = 0;

    if (cs_nccl_log_new(name, NULL, &log, &r->error) != CS_OK) {
        return;
    }
    read_version(r, root, heading.versions);
    read_config(r, root, &log->reading.run, &heading);
    read_program(root, &heading);
    for (size_t i = 0; i < cs_read_elements(r, &results); i++) {
        cs_place row = cs_place_item(&results, i);
        read_result(r, &row, log, &capacity, &heading);
    }
    if (!cs_reading_failed(r) && log->n_rows == 0) {
        CS_REFUSE(r, &results, CS_EPARSE, "no row with a size above 0");
    }
    read_footers(root, &log->reading);
    conclude(r, log, &heading, n_ranks);
    if (cs_reading_failed(r)) {
        cs_nccl_log_free(log);
        return;
    }
    (void)cs_nccl_logs_add(logs, log, name, &r->error);
}

/* ---- SimLLM ---- */

/* A log while its rows are collected. */
typedef struct sample_log {
    cs_nccl_log  *log;
    cs_collective collective;
    uint32_t      n_ranks;
    size_t        capacity;
} sample_log;

typedef struct samples {
    sample_log *logs;
    size_t      n, capacity;
    uint64_t    n_others; /* of other operations */
    char        other[48];
} samples;

/* The log of a collective on so many ranks, which is made where it is new. */
static sample_log *log_of(cs_reading *r, samples *s, cs_collective collective, uint32_t n_ranks,
                          const char *name)
{
    char part[64];

    for (size_t l = 0; l < s->n; l++) {
        if (s->logs[l].collective == collective && s->logs[l].n_ranks == n_ranks) {
            return &s->logs[l];
        }
    }
    (void)snprintf(part, sizeof part, "%s, %u ranks", cs_collective_name(collective), n_ranks);
    if (!cs_grow(&s->logs, &s->capacity, s->n + 1, 8, sizeof *s->logs)) {
        (void)CS_NO_MEMORY(&r->error, "the logs of a file");
        return NULL;
    }
    sample_log *made = &s->logs[s->n];
    *made            = (sample_log){.collective = collective, .n_ranks = n_ranks};
    if (cs_nccl_log_new(name, part, &made->log, &r->error) != CS_OK) {
        return NULL;
    }
    s->n++;
    return made;
}

/* One measurement; only those of AllReduce were checked. */
static void read_sample(cs_reading *r, const cs_place *place, const char *name, samples *s)
{
    cs_nccl_row   row    = {.root = CS_NCCL_NO_ROOT, .type = "float"};
    uint64_t      n      = 0;
    char          op[32] = "", status[32] = "", size[48];
    cs_collective collective;

    cs_read_required(r, place, "op");
    read_text(r, place, "op", op, sizeof op);
    read_text(r, place, "status", status, sizeof status);
    if (cs_reading_failed(r)) {
        return;
    }
    if (cs_collective_find(op, &collective, NULL) != CS_OK) {
        (void)snprintf(s->other, sizeof s->other, "op %s", op);
        s->n_others++;
        return;
    }
    cs_read_required(r, place, "width");
    cs_read_required(r, place, "bytes");
    read_whole(r, place, "width", 2, &n);
    read_whole(r, place, "bytes", 1, &row.size_bytes);
    if (!cs_reading_failed(r) && n > CS_MAX_RANKS) {
        cs_place width = cs_place_get(place, "width");
        CS_REFUSE(r, &width, CS_EPARSE, "accepted: 2 to %u", CS_MAX_RANKS);
    }
    sample_log *to = cs_reading_failed(r) ? NULL : log_of(r, s, collective, (uint32_t)n, name);
    if (to == NULL) {
        return;
    }
    if (status[0] != '\0' && strcmp(status, "measured") != 0) {
        (void)snprintf(size, sizeof size, "size %" PRIu64 " %.20s", row.size_bytes, status);
        cs_nccl_remark_add(&to->log->reading, CS_NCCL_UNMEASURED_ROWS, 0, size);
        return;
    }
    check_order(r, place, "bytes", to->log, row.size_bytes);
    cs_printed      time   = read_printed(r, place, "time_us", 1e-9);
    cs_nccl_timing *timing = &row.timings[CS_NCCL_OUT_OF_PLACE];
    timing->is_checked =
        collective == CS_ALLREDUCE && cs_place_has(place, "allreduce_mismatching_ranks");
    if (timing->is_checked) {
        timing->n_wrong = read_printed(r, place, "allreduce_mismatching_ranks", 0).value;
    }
    cs_printed algbw = read_printed(r, place, "algbw_gbps", 0);
    cs_printed busbw = read_printed(r, place, "busbw_gbps", 0);
    set_timing(r, place, "algbw_gbps", false, CS_NCCL_OUT_OF_PLACE, time, algbw, busbw, &row);
    const double factor = cs_busbw_factor(collective, (uint32_t)n);
    if (!cs_reading_failed(r) &&
        (factor < timing->ratio_low * (1 - 1e-6) || factor > timing->ratio_high * (1 + 1e-6))) {
        cs_place rate = cs_place_get(place, "busbw_gbps");
        CS_REFUSE(r, &rate, CS_EPARSE, "busbw / algbw is not that of %s on %" PRIu64 " ranks", op,
                  n);
    }
    (void)push(r, to->log, &to->capacity, &row);
}

static void read_simllm(cs_reading *r, const cs_place *root, const char *name, cs_nccl_logs *logs)
{
    cs_nccl_heading heading = {0};
    cs_place        list    = cs_place_get(root, "collectives");
    cs_place        devices = cs_place_get(root, "devices"), device = cs_place_item(&devices, 0);
    samples         s      = {0};
    size_t          n_kept = 0;

    read_version(r, root, heading.versions);
    read_text(r, &device, "name", heading.device, sizeof heading.device);
    for (size_t i = 0; i < cs_read_elements(r, &list); i++) {
        cs_place row = cs_place_item(&list, i);
        read_sample(r, &row, name, &s);
    }
    for (size_t l = 0; l < s.n; l++) {
        cs_nccl_log *log     = s.logs[l].log;
        log->collective_from = CS_NCCL_STATED;
        log->is_part         = true;
        log->collective      = s.logs[l].collective;
        log->n_ranks         = s.logs[l].n_ranks;
        log->reading.n_rows  = log->n_rows;
        memcpy(log->device, heading.device, sizeof log->device);
        memcpy(log->versions, heading.versions, sizeof log->versions);
        if (s.n_others > 0 && n_kept == 0) {
            cs_nccl_remark_add(&log->reading, CS_NCCL_OTHERS, 0, s.other);
            log->reading.remarks[CS_NCCL_OTHERS].n = s.n_others;
        }
        if (!cs_reading_failed(r) && log->n_rows > 0) {
            n_kept++;
            (void)cs_nccl_logs_add(logs, log, name, &r->error);
        } else {
            cs_nccl_log_free(log);
        }
    }
    cs_free(s.logs);
    if (!cs_reading_failed(r) && n_kept == 0) {
        CS_REFUSE(r, &list, CS_EPARSE, "no collective was measured");
    }
}

/* ---- nvbandwidth ---- */

/* One matrix, of which every cell is a row. */
static void read_matrix(cs_reading *r, const cs_place *place, const char *test, bool is_both,
                        const char *name, cs_nccl_logs *logs)
{
    cs_place     matrix   = cs_place_get(place, "bandwidth_matrix");
    cs_nccl_log *log      = NULL;
    size_t       capacity = 0;

    if (cs_nccl_log_new(name, test, &log, &r->error) != CS_OK) {
        return;
    }
    for (size_t i = 0; i < cs_read_elements(r, &matrix); i++) {
        cs_place line = cs_place_item(&matrix, i);
        for (size_t k = 0; k < cs_read_elements(r, &line); k++) {
            cs_place    cell    = cs_place_item(&line, k);
            const char *text    = json_string_value(cell.node);
            cs_nccl_row row     = {0};
            cs_error    why     = {0};
            bool        has_row = false;
            if (text == NULL) {
                cs_refuse_kind(r, &cell, "a text with a number, or \"N/A\"");
            } else if (cs_link_pair_row(text, is_both, &row, &has_row, &why) != CS_OK) {
                CS_REFUSE(r, &cell, why.status, "%s", why.message);
            } else if (has_row) {
                (void)push(r, log, &capacity, &row);
            }
        }
    }
    if (cs_reading_failed(r) || log->n_rows == 0) {
        cs_nccl_log_free(log);
        return;
    }
    log->measured       = CS_NCCL_RATE;
    log->reading.n_rows = log->n_rows;
    (void)snprintf(log->program, sizeof log->program, "nvbandwidth");
    (void)cs_nccl_logs_add(logs, log, name, &r->error);
}

/* {"nvbandwidth": {"testcases": [{"name", "status", "bandwidth_description", "bandwidth_matrix":
 * [["N/A", "276.1"], ..]}]}}; those between GPUs are taken. */
static void read_nvbandwidth(cs_reading *r, const cs_place *root, const char *name,
                             cs_nccl_logs *logs)
{
    cs_place     run      = cs_place_get(root, "nvbandwidth");
    cs_place     list     = cs_place_get(&run, "testcases");
    const size_t n_before = logs->n;

    for (size_t i = 0; i < cs_read_elements(r, &list); i++) {
        cs_place test             = cs_place_item(&list, i);
        char     description[160] = "", title[64] = "";
        bool     is_both = false;
        read_text(r, &test, "name", title, sizeof title);
        read_text(r, &test, "bandwidth_description", description, sizeof description);
        if (!cs_reading_failed(r) && cs_link_pairs(description, &is_both)) {
            read_matrix(r, &test, title, is_both, name, logs);
        }
    }
    if (!cs_reading_failed(r) && logs->n == n_before) {
        CS_REFUSE(r, &list, CS_EPARSE, "no rate between GPUs was measured");
    }
}

/* ---- either ---- */

cs_status cs_nccl_json_parse(const char *text, size_t length, const char *name, uint32_t n_ranks,
                             cs_nccl_logs *logs, cs_error *err)
{
    cs_arena     arena = {0};
    cs_reading   r     = {.arena = &arena};
    json_t      *tree  = NULL;
    int          line = 0, column = 0;
    const size_t n_before = logs->n;

    CS_TRY(cs_tree_parse(text, length, name, &tree, err));
    cs_place root = cs_place_root(tree);
    if (cs_place_has(&root, "results")) {
        read_nccl(&r, &root, n_ranks, name, logs);
    } else if (cs_place_has(&root, "collectives")) {
        read_simllm(&r, &root, name, logs);
    } else if (cs_place_has(&root, "nvbandwidth")) {
        read_nvbandwidth(&r, &root, name, logs);
    } else {
        CS_REFUSE(&r, &root, CS_EPARSE,
                  "JSON without \"results\" (nccl-tests -J), \"collectives\" (SimLLM) or "
                  "\"nvbandwidth\"");
    }
    json_decref(tree);
    cs_arena_free(&arena);
    if (!cs_reading_failed(&r)) {
        return CS_OK;
    }
    cs_nccl_logs_cut(logs, n_before);
    if (r.error.status != CS_ENOMEM) {
        cs_locate(text, length, r.error.where, r.key_is_wrong, &line, &column);
        cs_error_locate(&r.error, name, line, column);
    }
    if (err != NULL && err->status == CS_OK) {
        *err = r.error;
    }
    return r.error.status;
}
