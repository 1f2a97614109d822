/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/adapcc/lp.h -- linear programs, some of whose variables may be 0 or 1 alone, solved by
 * GLPK. A cost is to be as small as can be.
 *
 * GLPK is optional: cs_lp_missing() says what to install where a build has none. It would write to
 * the terminal and end the process when its memory ends or it is called wrongly; here it is silent,
 * and such an end is an error (CS_ENOMEM). It keeps what it needs per thread, and gives it back at
 * the end of each program, unless the thread used GLPK before by itself; after an error all that
 * GLPK had in the thread is gone.
 *
 * The answer is the same whenever the limit of time is not what ended the search.
 */
#ifndef CS_ALGORITHMS_ADAPCC_LP_H
#define CS_ALGORITHMS_ADAPCC_LP_H

#include "cs/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct cs_lp_row {
    double low, high; /* of the sum of its terms; -INFINITY, INFINITY: none */
} cs_lp_row;

typedef struct cs_lp_column {
    double cost, high; /* of a variable from 0 to `high`, INFINITY: any */
    bool   is_binary;
} cs_lp_column;

typedef struct cs_lp_term {
    uint32_t row, column;
    double   factor;
} cs_lp_term;

/* `{0}` is an empty one. Adding never fails: cs_lp_solve() says that memory ended. */
typedef struct cs_lp {
    size_t        n_rows, n_columns, n_terms;
    cs_lp_row    *rows;
    cs_lp_column *columns;
    cs_lp_term   *terms;
    size_t        rows_room, columns_room, terms_room;
    bool          lacks_memory;
} cs_lp;

/* Each returns the number of what it adds, from 0 on. A row has one term of a column at most. */
uint32_t cs_lp_add_row(cs_lp *lp, double low, double high);
uint32_t cs_lp_add_column(cs_lp *lp, double cost, double high, bool is_binary);
void     cs_lp_add_term(cs_lp *lp, uint32_t row, uint32_t column, double factor);
void     cs_lp_free(cs_lp *lp);

typedef struct cs_lp_limits {
    double   seconds;   /* of the clock on the wall, > 0 */
    uint32_t nodes;     /* of branch and bound, >= 1 */
    double   gap;       /* (objective - bound) / objective at which it ends, >= 0 */
    int      memory_MB; /* that GLPK may take, > 0 */
} cs_lp_limits;

/* Why a search ended. */
#define CS_LP_ENDS(X)   \
    X(SOLVED, "solved") \
    X(GAP, "gap")       \
    X(TIME, "time")     \
    X(NODES, "nodes")

typedef enum cs_lp_end {
#define X(id, name) CS_LP_##id,
    CS_LP_ENDS(X)
#undef X
} cs_lp_end;

/* "solved", "gap" .. Static storage. */
const char *cs_lp_end_name(cs_lp_end end);

typedef struct cs_lp_answer {
    cs_lp_end end;
    double    objective;
    double    bound;   /* no solution costs less; 0 where a limit came before there was one */
    double    seconds; /* that it took */
} cs_lp_answer;

/* NULL, or what to install. Static storage. */
const char *cs_lp_missing(void);

/* Solve it. x[n_columns] holds a solution at the begin, which is returned where nothing better is
 * found. Fails where GLPK is missing (CS_ENOTSUP), or memory ends. */
CS_MUST_CHECK cs_status cs_lp_solve(const cs_lp *lp, const cs_lp_limits *limits, double *x,
                                    cs_lp_answer *answer, cs_error *err);

#endif
