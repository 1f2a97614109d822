/* SPDX-License-Identifier: GPL-3.0-or-later */
/* traces/nccl_run.c -- see nccl_run.h. */
#include "traces/nccl_run.h"

#include "cs/units.h"

#include <string.h>

/* The whole number at `text`; NULL where there is none, else what stands behind it. */
static const char *read_number(const char *text, uint64_t *value_p)
{
    char   word[24];
    size_t length = strspn(text, "0123456789");

    if (length >= sizeof word) {
        return NULL;
    }
    memcpy(word, text, length);
    word[length] = '\0';
    return cs_parse_integer(word, 0, (uint64_t)1 << 53, value_p, "", NULL) == CS_OK ? text + length
                                                                                    : NULL;
}

/* The number behind a key at or behind `text`; NULL where there is none, else what follows it. */
static const char *read_key(const char *text, const char *key, uint64_t *value_p)
{
    const char *at = strstr(text, key);

    return at != NULL ? read_number(at + strlen(key), value_p) : NULL;
}

static bool read_header(cs_nccl_run *run, const cs_log_line *line)
{
    const char *text = line->text;
    cs_nccl_run read = {.line = (uint32_t)line->number};
    uint64_t    step = 0, validation = 1;

    if (read_key(text, "minBytes ", &read.min_bytes) == NULL ||
        read_key(text, "maxBytes ", &read.max_bytes) == NULL || read.min_bytes > read.max_bytes) {
        return false;
    }
    const char *unit = read_key(text, "step: ", &step);
    if (unit != NULL && strncmp(unit, "(factor)", 8) == 0) {
        read.step_factor = step;
    } else if (unit != NULL && strncmp(unit, "(bytes)", 7) == 0) {
        read.step_bytes = step;
    }
    const char *behind = read_key(text, "warmup iters: ", &read.n_warmup_iters);
    (void)read_key(behind != NULL ? behind : text, "iters: ", &read.n_iters);
    (void)read_key(text, "validation: ", &validation);
    read.is_unchecked = validation == 0;
    *run              = read;
    return true;
}

bool cs_nccl_run_read(cs_nccl_run *run, const cs_log_line *line)
{
    uint64_t max_bytes = 0;

    if (read_header(run, line)) {
        return true;
    }
    if (read_key(line->text, "Reducing maxBytes to ", &max_bytes) == NULL) {
        return false;
    }
    run->max_bytes = max_bytes < run->max_bytes ? max_bytes : run->max_bytes;
    run->min_bytes = max_bytes < run->min_bytes ? max_bytes : run->min_bytes;
    return true;
}

uint64_t cs_nccl_run_n_rows(const cs_nccl_run *run)
{
    uint64_t n_rows = 0;

    if (run->step_bytes > 0) {
        return (run->max_bytes - run->min_bytes) / run->step_bytes + 1;
    }
    if (run->step_factor < 2 || run->min_bytes == 0) {
        return 0;
    }
    for (uint64_t bytes = run->min_bytes; bytes > 0 && bytes <= run->max_bytes;) {
        n_rows++;
        bytes = bytes <= run->max_bytes / run->step_factor ? bytes * run->step_factor : 0;
    }
    return n_rows;
}
