/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The remarks on the reading of a log: counted by kind, and printed for people. */
#include "traces/nccl_tests.h"

#include <string.h>

static const struct {
    const char *name;
    bool        is_doubt;
    const char *what;
} kinds[CS_NCCL_REMARKS] = {
#define X(kind, name, is_doubt, what) {name, is_doubt, what},
    CS_NCCL_REMARK_MAP(X)
#undef X
};

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

const char *cs_nccl_remark_name(cs_nccl_remark_kind kind)
{
    return kinds[kind].name;
}

bool cs_nccl_remark_is_doubt(cs_nccl_remark_kind kind)
{
    return kinds[kind].is_doubt;
}

/* The text without blanks around it and with single ones inside; "..", where it is cut. */
static void shorten(const char *text, char first[96])
{
    char   single[96 + 1]; /* one more than fits, to see that it does not */
    size_t used = 0;

    for (; *text != '\0' && used + 1 < sizeof single; text++) {
        char letter = *text;
        if (letter == '\t') {
            letter = ' ';
        }
        if (letter != ' ' || (used > 0 && single[used - 1] != ' ')) {
            single[used++] = letter;
        }
    }
    bool is_cut = text[strspn(text, " \t")] != '\0' || used == 96;
    used -= used > 0 && single[used - 1] == ' ';
    single[used] = '\0';
    cs_plain_text(first, is_cut ? 96 - 2 : 96, single);
    if (is_cut) {
        memcpy(first + strlen(first), "..", 3);
    }
}

void cs_nccl_remark_add(cs_nccl_reading *reading, cs_nccl_remark_kind kind, int line,
                        const char *text)
{
    cs_nccl_remark *remark = &reading->remarks[kind];

    if (remark->n++ == 0) {
        remark->first_line = (uint32_t)line;
        shorten(text, remark->first);
    }
}

uint64_t cs_nccl_n_skipped(const cs_nccl_reading *reading)
{
    uint64_t n = 0;

    for (int k = 0; k < CS_NCCL_REMARKS; k++) {
        n += kinds[k].is_doubt ? 0 : reading->remarks[k].n;
    }
    return n;
}

/* "rows of size 0: 2, the first in line 15: 0 0 float sum 35.20 .." */
static void add_remark(const cs_nccl_reading *reading, cs_nccl_remark_kind kind, cs_text *text)
{
    const cs_nccl_remark *remark = &reading->remarks[kind];

    cs_text_add(text, "# %-10s %s", kinds[kind].is_doubt ? "warning" : "  skipped",
                kinds[kind].what);
    if (kind != CS_NCCL_UNCHECKED) {
        cs_text_add(text, ": %llu", (unsigned long long)remark->n);
    }
    if (remark->first_line > 0) {
        bool is_one = remark->n == 1 || kind == CS_NCCL_MISSING_ROWS || kind == CS_NCCL_UNCHECKED;
        cs_text_add(text, ", %s line %u: %s", is_one ? "see" : "the first in", remark->first_line,
                    remark->first);
    } else if (remark->first[0] != '\0') {
        cs_text_add(text, ", %s%s", remark->n == 1 ? "" : "the first: ", remark->first);
    }
    cs_text_add(text, "\n");
}

static void add_run(const cs_nccl_run *run, cs_text *text)
{
    if (run->line == 0) {
        return;
    }
    cs_text_add(text, "# %-10s %llu .. %llu B", "run", (unsigned long long)run->min_bytes,
                (unsigned long long)run->max_bytes);
    if (run->step_factor > 0) {
        cs_text_add(text, " by a factor of %llu", (unsigned long long)run->step_factor);
    } else if (run->step_bytes > 0) {
        cs_text_add(text, " in steps of %llu B", (unsigned long long)run->step_bytes);
    }
    if (run->n_iters > 0) {
        cs_text_add(text, ", %llu iterations after %llu of warm-up",
                    (unsigned long long)run->n_iters, (unsigned long long)run->n_warmup_iters);
    }
    cs_text_add(text, "\n");
}

void cs_nccl_reading_text(const cs_nccl_reading *reading, cs_text *text)
{
    uint64_t n_skipped = cs_nccl_n_skipped(reading);

    cs_text_add(text, "# %-10s %s: %zu rows", "log", reading->name, reading->n_rows);
    if (reading->n_lines > 0) {
        cs_text_add(text, " in %zu lines", reading->n_lines);
    }
    cs_text_add(text, ", ");
    if (n_skipped == 0) {
        cs_text_add(text, "none skipped\n");
    } else {
        cs_text_add(text, "%llu skipped\n", (unsigned long long)n_skipped);
    }
    add_run(&reading->run, text);
    for (int k = 0; k < CS_NCCL_REMARKS; k++) {
        if (reading->remarks[k].n > 0) {
            add_remark(reading, (cs_nccl_remark_kind)k, text);
        }
    }
}
