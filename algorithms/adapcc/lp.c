/* SPDX-License-Identifier: GPL-3.0-or-later */
/* GLPK behind a guard: where it would end the process it comes back here instead.
 *
 * A program with binary variables is solved without them first, from which branch and bound starts,
 * with cuts. It is told of the solution that is known before the first node is branched on. */
#include "algorithms/adapcc/lp.h"

#include "base/alloc.h"

#include <math.h>

const char *cs_lp_end_name(cs_lp_end end)
{
    static const char *const names[] = {
#define X(id, name) name,
        CS_LP_ENDS(X)
#undef X
    };
    return names[end];
}

uint32_t cs_lp_add_row(cs_lp *lp, double low, double high)
{
    if (!cs_grow(&lp->rows, &lp->rows_room, lp->n_rows + 1, 64, sizeof *lp->rows)) {
        lp->lacks_memory = true;
        return 0;
    }
    lp->rows[lp->n_rows] = (cs_lp_row){low, high};
    return (uint32_t)lp->n_rows++;
}

uint32_t cs_lp_add_column(cs_lp *lp, double cost, double high, bool is_binary)
{
    if (!cs_grow(&lp->columns, &lp->columns_room, lp->n_columns + 1, 64, sizeof *lp->columns)) {
        lp->lacks_memory = true;
        return 0;
    }
    lp->columns[lp->n_columns] = (cs_lp_column){cost, high, is_binary};
    return (uint32_t)lp->n_columns++;
}

void cs_lp_add_term(cs_lp *lp, uint32_t row, uint32_t column, double factor)
{
    if (!cs_grow(&lp->terms, &lp->terms_room, lp->n_terms + 1, 256, sizeof *lp->terms)) {
        lp->lacks_memory = true;
        return;
    }
    lp->terms[lp->n_terms++] = (cs_lp_term){row, column, factor};
}

void cs_lp_free(cs_lp *lp)
{
    cs_free(lp->rows);
    cs_free(lp->columns);
    cs_free(lp->terms);
    *lp = (cs_lp){0};
}

#ifdef COLLSIM_HAS_GLPK

#include <glpk.h>
#include <setjmp.h>
#include <time.h>

/* One search. GLPK counts rows and columns from 1 on. */
typedef struct job {
    const cs_lp        *lp;
    const cs_lp_limits *limits;
    double             *x;       /* [columns] the best solution */
    int                *at, *of; /* [terms + 1] rows and columns */
    double             *factor;  /* [terms + 1] */
    double             *start;   /* [columns + 1] for GLPK */
    double              from_s;
    cs_lp_answer        answer;
    bool                has_start; /* GLPK was told of it */
    bool                is_lost;   /* neither solved nor ended by a limit */
    jmp_buf             back;
} job;

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Milliseconds that are left, 1 at least. */
static int left_ms(const job *j)
{
    double left = (j->limits->seconds - (now_s() - j->from_s)) * 1e3;

    return left < 1 ? 1 : left > 1e9 ? 1000000000 : (int)left;
}

static void come_back(void *info)
{
    job *j = info;

    longjmp(j->back, 1);
}

/* It speaks before it ends the process, though it was told not to. */
static int say_nothing(void *info, const char *text)
{
    (void)info;
    (void)text;
    return 1;
}

static int kind_of(double low, double high)
{
    bool has_low = low > -(double)INFINITY, has_high = high < (double)INFINITY;

    if (has_low && has_high) {
        return low < high ? GLP_DB : GLP_FX;
    }
    return has_low ? GLP_LO : has_high ? GLP_UP : GLP_FR;
}

static glp_prob *load(const job *j)
{
    const cs_lp *lp = j->lp;
    glp_prob    *p  = glp_create_prob();

    glp_set_obj_dir(p, GLP_MIN);
    glp_add_rows(p, (int)lp->n_rows);
    glp_add_cols(p, (int)lp->n_columns);
    for (size_t i = 0; i < lp->n_rows; i++) {
        const cs_lp_row *r = &lp->rows[i];
        glp_set_row_bnds(p, (int)i + 1, kind_of(r->low, r->high), r->low, r->high);
    }
    for (size_t i = 0; i < lp->n_columns; i++) {
        const cs_lp_column *c = &lp->columns[i];
        glp_set_obj_coef(p, (int)i + 1, c->cost);
        glp_set_col_bnds(p, (int)i + 1, kind_of(0, c->high), 0, c->high);
        if (c->is_binary) {
            glp_set_col_kind(p, (int)i + 1, GLP_BV);
        }
    }
    glp_load_matrix(p, (int)lp->n_terms, j->at, j->of, j->factor);
    return p;
}

/* Between the nodes of branch and bound. */
static void on_node(glp_tree *tree, void *info)
{
    job *j    = info;
    int  best = glp_ios_best_node(tree), made = 0;

    if (best != 0) {
        j->answer.bound = glp_ios_node_bound(tree, best);
    }
    if (!j->has_start && glp_ios_reason(tree) == GLP_IHEUR) {
        j->has_start = true;
        (void)glp_ios_heur_sol(tree, j->start);
    }
    glp_ios_tree_size(tree, NULL, NULL, &made);
    if ((uint32_t)made > j->limits->nodes) {
        glp_ios_terminate(tree);
    }
}

static void branch(job *j, glp_prob *p)
{
    glp_iocp parm;

    glp_init_iocp(&parm);
    parm.msg_lev  = GLP_MSG_OFF;
    parm.gmi_cuts = parm.mir_cuts = parm.cov_cuts = parm.clq_cuts = GLP_ON;
    parm.mip_gap                                                  = j->limits->gap;
    parm.tm_lim                                                   = left_ms(j);
    parm.cb_func                                                  = on_node;
    parm.cb_info                                                  = j;
    switch (glp_intopt(p, &parm)) {
    case 0: j->answer.end = CS_LP_SOLVED; break;
    case GLP_EMIPGAP: j->answer.end = CS_LP_GAP; break;
    case GLP_ETMLIM: j->answer.end = CS_LP_TIME; break;
    case GLP_ESTOP: j->answer.end = CS_LP_NODES; break;
    default: j->is_lost = true; return;
    }
    if (glp_mip_status(p) != GLP_FEAS && glp_mip_status(p) != GLP_OPT) {
        j->is_lost = j->answer.end == CS_LP_SOLVED;
        return;
    }
    double found = glp_mip_obj_val(p);
    if (j->answer.end == CS_LP_SOLVED) {
        j->answer.bound = found;
    } else if (j->answer.end == CS_LP_GAP) {
        j->answer.bound = fmax(j->answer.bound, found - j->limits->gap * fabs(found));
    }
    if (found < j->answer.objective) {
        j->answer.objective = found;
        for (size_t i = 0; i < j->lp->n_columns; i++) {
            j->x[i] = glp_mip_col_val(p, (int)i + 1);
        }
    }
}

static void solve(job *j)
{
    glp_prob *p            = load(j);
    bool      has_binaries = glp_get_num_bin(p) > 0;
    glp_smcp  parm;

    glp_init_smcp(&parm);
    parm.msg_lev = GLP_MSG_OFF;
    parm.tm_lim  = left_ms(j);
    glp_scale_prob(p, GLP_SF_AUTO);
    glp_adv_basis(p, 0);
    int ended = glp_simplex(p, &parm);
    if (ended == GLP_ETMLIM) {
        j->answer.end = CS_LP_TIME;
    } else if (ended != 0 || glp_get_status(p) != GLP_OPT) {
        j->is_lost = true;
    } else {
        j->answer.bound = glp_get_obj_val(p);
        if (has_binaries) {
            branch(j, p);
        }
    }
    if (!has_binaries && glp_get_prim_stat(p) == GLP_FEAS &&
        glp_get_obj_val(p) < j->answer.objective) {
        j->answer.objective = glp_get_obj_val(p);
        for (size_t i = 0; i < j->lp->n_columns; i++) {
            j->x[i] = glp_get_col_prim(p, (int)i + 1);
        }
    }
    glp_delete_prob(p);
}

/* False: GLPK had to give up. */
static bool solve_guarded(job *j)
{
    bool is_own = glp_init_env() == 0; /* else the thread uses GLPK, too */
    int  speaks = glp_term_out(GLP_OFF);

    if (setjmp(j->back) != 0) {
        glp_free_env();
        return false;
    }
    glp_error_hook(come_back, j);
    glp_term_hook(say_nothing, NULL);
    if (is_own) {
        glp_mem_limit(j->limits->memory_MB);
    }
    solve(j);
    glp_error_hook(NULL, NULL);
    glp_term_hook(NULL, NULL);
    glp_term_out(speaks);
    if (is_own) {
        glp_free_env();
    }
    return true;
}

const char *cs_lp_missing(void)
{
    return glp_config("TLS") != NULL ? NULL : "a GLPK that was built for threads (TLS)";
}

static cs_status solve_job(job *j, cs_error *err)
{
    const cs_lp *lp = j->lp;

    j->at     = CS_NEW(int, lp->n_terms + 1);
    j->of     = CS_NEW(int, lp->n_terms + 1);
    j->factor = CS_NEW(double, lp->n_terms + 1);
    j->start  = CS_NEW(double, lp->n_columns + 1);
    if (j->at == NULL || j->of == NULL || j->factor == NULL || j->start == NULL) {
        return CS_NO_MEMORY(err, "a linear program");
    }
    for (size_t i = 0; i < lp->n_terms; i++) {
        j->at[i + 1]     = (int)lp->terms[i].row + 1;
        j->of[i + 1]     = (int)lp->terms[i].column + 1;
        j->factor[i + 1] = lp->terms[i].factor;
    }
    for (size_t i = 0; i < lp->n_columns; i++) {
        j->start[i + 1] = j->x[i];
        j->answer.objective += lp->columns[i].cost * j->x[i];
    }
    if (!solve_guarded(j)) {
        return CS_FAIL(err, CS_ENOMEM, "solver",
                       "GLPK gave up on %zu rows and %zu columns with %d MB of memory", lp->n_rows,
                       lp->n_columns, j->limits->memory_MB);
    }
    if (j->is_lost) {
        return CS_FAIL(err, CS_EINTERNAL, "solver", "GLPK found no solution, though there is one");
    }
    return CS_OK;
}

cs_status cs_lp_solve(const cs_lp *lp, const cs_lp_limits *limits, double *x, cs_lp_answer *answer,
                      cs_error *err)
{
    job j = {.lp = lp, .limits = limits, .x = x, .from_s = now_s()};

    if (cs_lp_missing() != NULL) {
        return CS_FAIL(err, CS_ENOTSUP, "synthesizer", "needs %s", cs_lp_missing());
    }
    if (lp->lacks_memory) {
        return CS_NO_MEMORY(err, "a linear program");
    }
    cs_status status = solve_job(&j, err);
    if (status == CS_OK) {
        *answer         = j.answer;
        answer->seconds = now_s() - j.from_s;
    }
    cs_free(j.at);
    cs_free(j.of);
    cs_free(j.factor);
    cs_free(j.start);
    return status;
}

#else

const char *cs_lp_missing(void)
{
    return "GLPK, which this build lacks: apt-get install libglpk-dev, and build anew";
}

cs_status cs_lp_solve(const cs_lp *lp, const cs_lp_limits *limits, double *x, cs_lp_answer *answer,
                      cs_error *err)
{
    (void)lp;
    (void)limits;
    (void)x;
    (void)answer;
    return CS_FAIL(err, CS_ENOTSUP, "synthesizer", "needs %s", cs_lp_missing());
}

#endif
