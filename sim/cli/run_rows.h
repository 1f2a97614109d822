/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli/run_rows.h -- what `collsim run` prints of its scenarios: results, and of those that cannot
 * be run the reason. */
#ifndef CS_CLI_RUN_ROWS_H
#define CS_CLI_RUN_ROWS_H

#include "base/arena.h"
#include "cli/args.h"
#include "cs/result.h"
#include "output/comparison.h"
#include "study/all.h"

/* What a table shows: by itself blocks, one for an algorithm, a number of ranks and a setting, up
 * to CS_RUN_MOST_BLOCKS of them, and beyond that the comparison alone. */
typedef enum cs_run_detail { CS_RUN_AUTO, CS_RUN_SUMMARY, CS_RUN_FULL } cs_run_detail;
enum { CS_RUN_MOST_BLOCKS = 4 };

/* `{0}` may be freed. */
typedef struct cs_run_rows {
    const cs_config *config; /* borrowed */
    cs_result_format format;
    size_t           total, next;           /* scenarios; those that came so far */
    size_t           n, n_refused;          /* rows of them; of these */
    cs_left_out      left_out;              /* the others */
    size_t          *places;                /* [n] which scenario a row is */
    cs_result       *results;               /* [n]; of one that was refused: what is known of it */
    const char     **scenarios, **refusals; /* [n] as JSON, of tables none; why,
                                               NULL: it was run */
    const char      **blocks;               /* [n] of cs_result_rows */
    cs_compared      *compared;             /* [n - n_refused]: those that were run */
    size_t            first;                /* row of the table that is being filled */
    cs_case           last;                 /* of that table's last row; owned */
    cs_arena          arena;
    cs_sweep_columns *columns; /* owned; JSON and CSV alone have them */
    cs_value         *values;  /* [total] rows of them; owned */
    cs_text           text;    /* what is printed */
    cs_run_detail     detail;
    size_t            n_tables;   /* that were printed, or left out for a summary */
    bool              has_colour; /* the best is marked for a terminal */
    cs_error          first_refusal;
} cs_run_rows;

/* Room for all scenarios of `config`; what else is in `rows` is as the caller wants it. */
cs_status cs_run_rows_open(cs_run_rows *rows, const cs_config *config, cs_result_format format,
                           cs_error *err);

/* The next scenario was run; `blocks` is of cs_result_rows, or NULL. The case becomes the rows'. */
cs_status cs_run_rows_add(cs_run_rows *rows, cs_case *c, const cs_result *result,
                          const char *blocks, cs_error *err);

/* The next scenario cannot be run. `c` is its case, `{0}` where there is none; the caller's. */
cs_status cs_run_rows_refuse(cs_run_rows *rows, const cs_case *c, const cs_error *why,
                             cs_error *err);

/* Leave the next scenario out, where only "all" stands for its algorithm. */
bool cs_run_rows_leave_out(cs_run_rows *rows, const cs_error *why);

/* Complete the text. The first refusal where all are refused or left out. */
cs_status cs_run_rows_finish(cs_run_rows *rows, cs_error *err);

/* Behind what is printed: CS_EWRONG for the first schedule that was found wrong, else the first
 * refusal. */
cs_status cs_run_rows_verdict(const cs_run_rows *rows, cs_error *err);

void cs_run_rows_free(cs_run_rows *rows);

#endif
