/* SPDX-License-Identifier: GPL-3.0-or-later */
/* In a row, an operation (a word, may be blank) and a root (absent in old logs) stand behind size,
 * count and type, then 8 fields, or 16 with per-iteration columns: time, algbw, busbw, #wrong and,
 * with 16, four more, for each of the two sides; last a time stamp of two fields, which is dropped.
 * So the number of fields behind the operation says which of them there are. */
#include "traces/nccl_reader.h"

#include "base/text.h"
#include "cs/cluster.h"
#include "cs/units.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const char *cs_nccl_side_name(cs_nccl_side side)
{
    return side == CS_NCCL_IN_PLACE ? "in-place" : "out-of-place";
}

uint32_t cs_nccl_type_bytes(const char *type)
{
    static const struct {
        const char *name;
        uint32_t    bytes;
    } types[] = {
        {"float", 4},    {"half", 2},     {"bfloat16", 2}, {"double", 8},
        {"int8", 1},     {"uint8", 1},    {"int32", 4},    {"uint32", 4},
        {"int64", 8},    {"uint64", 8},   {"f8e4m3", 1},   {"f8e5m2", 1},
        {"fp8_e4m3", 1}, {"fp8_e5m2", 1}, {"char", 1},     {"int", 4},
    };

    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
        if (strcmp(type, types[t].name) == 0) {
            return types[t].bytes;
        }
    }
    return 0;
}

static bool is_number(const char *text)
{
    return text[0] != '\0' && text[strspn(text, "0123456789")] == '\0';
}

bool cs_nccl_is_row(const cs_log_line *line)
{
    const cs_log_token *tokens = line->tokens;

    if (line->is_comment || line->n_tokens < 3) {
        return false;
    }
    return cs_nccl_type_bytes(tokens[2].text) > 0 ||
           (is_number(tokens[0].text) && is_number(tokens[1].text) && line->n_tokens >= 11);
}

bool cs_nccl_is_labelled_row(const cs_log_line *line)
{
    const cs_log_token *tokens = line->tokens;

    for (size_t t = 1; t + 2 < line->n_tokens && t + 2 < CS_LOG_MAX_TOKENS; t++) {
        if (is_number(tokens[t].text) && is_number(tokens[t + 1].text) &&
            cs_nccl_type_bytes(tokens[t + 2].text) > 0) {
            return true;
        }
    }
    return false;
}

/* Half a unit of the last digit of a number that is known to be one. */
static double half_unit(const char *text)
{
    const char *exponent = strpbrk(text, "eE");
    const char *point    = strchr(text, '.');
    long        power    = exponent != NULL ? strtol(exponent + 1, NULL, 10) : 0;

    if (point != NULL) {
        power -= (long)strspn(point + 1, "0123456789");
    }
    return 0.5 * pow(10.0, (double)power);
}

static bool read_number(const char *text, cs_printed *number_p)
{
    double value = 0;

    if (cs_parse_number(text, &value, "", NULL) != CS_OK) {
        return false;
    }
    *number_p = (cs_printed){value, half_unit(text)};
    return true;
}

static cs_status read_integer(cs_log_line *line, size_t index, const char *name, uint64_t *value_p,
                              cs_error *err)
{
    const char *text = line->tokens[index].text;

    line->fault_column = line->tokens[index].column;
    if (!is_number(text) ||
        cs_parse_integer(text, 0, (uint64_t)1 << 53, value_p, name, NULL) != CS_OK) {
        return CS_FAIL(err, CS_EPARSE, name, "'%.40s', accepted: an integer from 0 to 2^53", text);
    }
    return CS_OK;
}

static cs_status read_head(cs_log_line *line, cs_nccl_row *row, cs_error *err)
{
    const char *type = line->tokens[2].text;

    CS_TRY(read_integer(line, 0, "size", &row->size_bytes, err));
    CS_TRY(read_integer(line, 1, "count", &row->count, err));
    line->fault_column = line->tokens[2].column;
    if (cs_nccl_type_bytes(type) == 0) {
        return CS_FAIL(err, CS_EPARSE, "type", "'%.40s', accepted: a type of nccl-tests as float",
                       type);
    }
    memcpy(row->type, type, strlen(type) + 1);
    row->line = (uint32_t)line->number;
    return CS_OK;
}

/* A rate in GB/s; `name` is the column's. */
static cs_status read_rate(cs_log_line *line, size_t index, const char *name, cs_printed *rate_p,
                           cs_error *err)
{
    const char *text = line->tokens[index].text;

    line->fault_column = line->tokens[index].column;
    if (!read_number(text, rate_p) || rate_p->value < 0) {
        return CS_FAIL(err, CS_EPARSE, name, "'%.40s', accepted: GB/s, 0 or more", text);
    }
    return CS_OK;
}

static cs_status read_wrong(cs_log_line *line, size_t index, cs_nccl_timing *timing, cs_error *err)
{
    const char *text  = line->tokens[index].text;
    cs_printed  wrong = {0};

    line->fault_column = line->tokens[index].column;
    if (strcmp(text, "N/A") == 0) {
        return CS_OK;
    }
    if (!read_number(text, &wrong) || wrong.value < 0) {
        return CS_FAIL(err, CS_EPARSE, "#wrong", "'%.40s', accepted: a number or N/A", text);
    }
    timing->is_checked = true;
    timing->n_wrong    = wrong.value;
    return CS_OK;
}

/* Where busbw / algbw lies, given that both are rounded. */
static void set_ratio(cs_nccl_timing *timing, cs_printed algbw, cs_printed busbw)
{
    double low  = busbw.value - busbw.half;
    double room = algbw.value - algbw.half;

    timing->ratio_low  = low > 0 ? low / (algbw.value + algbw.half) : 0;
    timing->ratio_high = room > 0 ? (busbw.value + busbw.half) / room : HUGE_VAL;
}

/* Slack for what the arithmetic of the bounds below loses itself. */
#define ROUNDING 1e-9

/* nccl-tests prints algbw = size / time for every collective, each of the two rounded on its own.
 * So the time, give or take half a unit of its last digit, leaves a range that algbw, give or take
 * half a unit of its own, must meet. */
static cs_status check_rate(uint64_t size_bytes, cs_printed time, cs_printed algbw,
                            cs_nccl_side side, cs_error *err)
{
    double size_GBps_us = (double)size_bytes * 1e-3; /* in GB/s x us, as the columns have it */
    double low          = size_GBps_us / (time.value + time.half);
    double high =
        time.value > time.half ? size_GBps_us / (time.value - time.half) : (double)INFINITY;
    char printed[32];

    if (algbw.value + algbw.half >= low * (1 - ROUNDING) &&
        algbw.value - algbw.half <= high * (1 + ROUNDING)) {
        return CS_OK;
    }
    cs_number_text(algbw.value, printed, sizeof printed);
    return CS_FAIL(err, CS_EPARSE, "algbw",
                   "%s GB/s %s is not size / time, which is %.6g to %.6g GB/s as the time is "
                   "rounded: columns are shifted, or the row is not as nccl-tests wrote it",
                   printed, cs_nccl_side_name(side), low, high);
}

cs_status cs_nccl_timing_set(uint64_t size_bytes, cs_printed time, cs_printed algbw,
                             cs_printed busbw, bool is_cputime, cs_nccl_side side,
                             cs_nccl_timing *timing, cs_error *err)
{
    if (!is_cputime) {
        CS_TRY(check_rate(size_bytes, time, algbw, side, err));
    }
    timing->is_measured = true;
    timing->time_s      = time.value * 1e-6;
    timing->algbw_Bps   = algbw.value * 1e9;
    timing->busbw_Bps   = busbw.value * 1e9;
    set_ratio(timing, algbw, busbw);
    return CS_OK;
}

/* The four fields of one side, from `index` on. */
static cs_status read_side(cs_log_line *line, size_t index, cs_nccl_side side, bool is_cputime,
                           cs_nccl_row *row, cs_error *err)
{
    cs_nccl_timing *timing = &row->timings[side];
    const char     *text   = line->tokens[index].text;
    cs_printed      time = {0}, algbw = {0}, busbw = {0};

    if (strcmp(text, "N/A") == 0) {
        return CS_OK;
    }
    line->fault_column = line->tokens[index].column;
    if (!read_number(text, &time) || time.value <= 0) {
        return CS_FAIL(err, CS_EPARSE, "time", "'%.40s', accepted: microseconds above 0, or N/A",
                       text);
    }
    CS_TRY(read_rate(line, index + 1, "algbw", &algbw, err));
    CS_TRY(read_rate(line, index + 2, "busbw", &busbw, err));
    CS_TRY(read_wrong(line, index + 3, timing, err));
    line->fault_column = line->tokens[index + 1].column;
    return cs_nccl_timing_set(row->size_bytes, time, algbw, busbw, is_cputime, side, timing, err);
}

/* "2026-01-31 12:00:00" at the end of a row. */
static bool has_timestamp(const cs_log_line *line)
{
    const char *date, *time;

    if (line->n_tokens < 2 || line->n_tokens > CS_LOG_MAX_TOKENS) {
        return false;
    }
    date = line->tokens[line->n_tokens - 2].text;
    time = line->tokens[line->n_tokens - 1].text;
    return strlen(date) == 10 && date[4] == '-' && date[7] == '-' && strlen(time) == 8 &&
           time[2] == ':' && time[5] == ':';
}

/* The optional fields between type and time. Sets *first_p to the index of the first time
 * and *side_p to the number of fields of a side. */
static cs_status read_middle(cs_log_line *line, cs_nccl_row *row, size_t *first_p, size_t *side_p,
                             cs_error *err)
{
    size_t      end   = line->n_tokens - (has_timestamp(line) ? 2 : 0);
    size_t      at    = 3;
    const char *redop = end > 3 ? line->tokens[3].text : "";
    size_t      fields;

    if (redop[0] >= 'a' && redop[0] <= 'z' && strlen(redop) < sizeof row->redop &&
        strcmp(redop, "nan") != 0 && strcmp(redop, "inf") != 0) {
        memcpy(row->redop, redop, strlen(redop) + 1);
        at++;
    }
    fields    = end - at;
    row->root = CS_NCCL_NO_ROOT;
    if (fields == 9 || fields == 17) {
        cs_printed root    = {0};
        line->fault_column = line->tokens[at].column;
        if (!read_number(line->tokens[at].text, &root) || root.half != 0.5 || root.value < -1 ||
            root.value >= CS_MAX_RANKS) {
            return CS_FAIL(err, CS_EPARSE, "root", "'%.40s', accepted: a rank, or -1",
                           line->tokens[at].text);
        }
        row->root = (int32_t)root.value;
        at++;
        fields--;
    }
    if (fields != 8 && fields != 16) {
        line->fault_column = line->tokens[0].column;
        return CS_FAIL(err, CS_EPARSE, "",
                       "a row with %zu fields behind type and redop, accepted: 8 or 16, and a root",
                       fields);
    }
    *first_p = at;
    *side_p  = fields / 2;
    return CS_OK;
}

cs_status cs_nccl_row_parse(cs_log_line *line, bool is_cputime, cs_nccl_row *row_p, cs_error *err)
{
    cs_nccl_row row   = {0};
    size_t      first = 0, side_fields = 0;

    CS_TRY(read_head(line, &row, err));
    if (row.size_bytes > 0) {
        CS_TRY(read_middle(line, &row, &first, &side_fields, err));
        for (size_t side = 0; side < CS_NCCL_SIDES; side++) {
            CS_TRY(read_side(line, first + side * side_fields, (cs_nccl_side)side, is_cputime, &row,
                             err));
        }
    }
    line->fault_column = 0;
    if (row.size_bytes > 0 && !row.timings[0].is_measured && !row.timings[1].is_measured) {
        return CS_FAIL(err, CS_EPARSE, "time", "N/A out-of-place and in-place");
    }
    *row_p = row;
    return CS_OK;
}

/* NCCL's own name for a word, which may be the number of it; else the word. */
static const char *name_of(const char *word, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (strcasecmp(word, names[i]) == 0 || (word[0] == (char)('0' + i) && word[1] == '\0')) {
            return names[i];
        }
    }
    return word;
}

void cs_nccl_choice_text(const char *algorithm, const char *protocol, char text[24])
{
    static const char *const algorithms[] = {
        "Tree", "Ring", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree", "PAT"};
    static const char *const protocols[] = {"LL", "LL128", "Simple"};
    char                     words[64];

    (void)snprintf(words, sizeof words, "%.20s/%.20s", name_of(algorithm, algorithms, 7),
                   name_of(protocol, protocols, 3));
    cs_plain_text(text, 24, words);
}
