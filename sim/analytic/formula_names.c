/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The closed forms by name, and their values from arguments in an array. */
#include "algorithms/lib/nccl_time.h"
#include "analytic/formula.h"

#include <math.h>

enum { MOST_COUNT = 1 << 20 };

static uint32_t count(double value)
{
    return (uint32_t)value;
}

/* The slowdowns from argument `first` on; NAN is that of nobody. */
static uint32_t slow_ones(double *slow, const double *a, size_t first)
{
    uint32_t m = 0;

    for (size_t i = first; i < CS_FORMULA_MOST_ARGUMENTS; i++) {
        if (!isnan(a[i])) {
            slow[m++] = a[i];
        }
    }
    return m;
}

static double stragglar_rounds(const double *a)
{
    return cs_stragglar_rounds(count(a[0]));
}

static double theorem_2(const double *a)
{
    double   slow[CS_FORMULA_MOST_ARGUMENTS];
    uint32_t m = slow_ones(slow, a, 1);

    return m < count(a[0]) ? cs_formula_theorem_2(count(a[0]), m, slow) : (double)NAN;
}

static double parallel_rings(const double *a)
{
    return cs_formula_parallel_rings(count(a[0]), a[1], a[2], a[3]);
}

/* q, g, rounds, ramp, bubbles, alpha, l .. */
static double of_optcc(const double *a, double (*formula)(const cs_optcc_form *form))
{
    double        slow[CS_FORMULA_MOST_ARGUMENTS];
    cs_optcc_form form = {.servers     = count(a[0]),
                          .gpus        = count(a[1]),
                          .n_slow      = slow_ones(slow, a, 6),
                          .slow        = slow,
                          .rounds      = count(a[2]),
                          .ramp        = count(a[3]),
                          .has_bubbles = a[4] > 0,
                          .alpha       = a[5]};
    bool          says = form.n_slow > 0 && form.n_slow + 1 < form.servers && form.gpus > 0;

    return says ? formula(&form) : (double)NAN;
}

static double optcc_time(const cs_optcc_form *form)
{
    bool is_exact;
    return cs_formula_optcc(form, &is_exact);
}

static double optcc_exact(const cs_optcc_form *form)
{
    bool is_exact;

    (void)cs_formula_optcc(form, &is_exact);
    return is_exact;
}

static double optcc(const double *a)
{
    return of_optcc(a, optcc_time);
}

static double optcc_is_exact(const double *a)
{
    return of_optcc(a, optcc_exact);
}

static double optcc_sections(const double *a)
{
    return of_optcc(a, cs_formula_optcc_sections);
}

static double optcc_paper(const double *a)
{
    return of_optcc(a, cs_formula_optcc_paper);
}

static double optcc_limit(const double *a)
{
    return of_optcc(a, cs_formula_optcc_limit);
}

/* ---- what NCCL shows (algorithms/lib/nccl_time.h) ---- */

/* An AllReduce: g, servers, minor, generation, nics, nic_GBps, bytes. */
typedef struct nccl_case {
    cs_nccl_cluster cluster;
    cs_nccl_tuning  tuning; /* borrows the cluster */
    cs_nccl_choice  choice;
} nccl_case;

/* False: there is no such machine. */
static bool read_nccl(const double *a, nccl_case *c)
{
    const bool is_known = a[1] >= 1 && a[1] <= MOST_COUNT && a[2] >= CS_NCCL_OLDEST &&
                          a[2] <= CS_NCCL_NEWEST && a[3] >= CS_NCCL_VOLTA && a[3] < CS_NCCL_GPUS &&
                          a[4] >= 1 && a[4] <= MOST_COUNT && a[5] > 0 && a[6] >= 1;
    if (!is_known) {
        return false;
    }
    const cs_nccl_gpu     gpu     = (cs_nccl_gpu)a[3];
    const cs_nccl_setting setting = {
        .minor = count(a[2]), .algorithms = UINT32_MAX, .protocols = UINT32_MAX, .has_nvls = true};

    *c = (nccl_case){.cluster = {.gpu          = gpu,
                                 .fabric       = CS_NCCL_IB,
                                 .servers      = count(a[1]),
                                 .gpus         = count(a[0]),
                                 .nics         = count(a[4]),
                                 .nic_GBps     = a[5],
                                 .pcie_GBps    = a[5] > 24 ? 48 : 24,
                                 .sheet_GBps   = cs_nccl_sheet_GBps(gpu),
                                 .has_nvswitch = true}};
    cs_nccl_tune(&c->cluster, &setting, CS_ALLREDUCE, &c->tuning);
    return cs_nccl_choose(&c->tuning, a[6], &c->choice);
}

static double nccl_us(const double *a)
{
    nccl_case c;

    return read_nccl(a, &c)
               ? cs_nccl_time_us(&c.tuning, c.choice.algorithm, c.choice.protocol, a[6])
               : (double)NAN;
}

static double nccl_bound_us(const double *a)
{
    nccl_case c;

    return read_nccl(a, &c)
               ? 1e6 * cs_nccl_bound_s(&c.cluster, CS_ALLREDUCE, a[6], c.tuning.nvls.channels >= 2)
               : (double)NAN;
}

static double nccl_choice(const double *a)
{
    nccl_case c;

    return read_nccl(a, &c) ? (int)c.choice.algorithm * 10.0 + (int)c.choice.protocol : (double)NAN;
}

#define NCCL "g, servers, minor, generation, nics, nic_GBps, bytes"

#define OPTCC "q, g, rounds, ramp, bubbles, alpha, l .."

/* clang-format off */
const cs_formula cs_formulas[] = {
    {"ring", "n, alpha_s, x_s", "AllReduce by a ring", 3, 3, 1, .ndd = cs_formula_ring},
    {"rhd", "n, alpha_s, x_s", "recursive halving and doubling, with 3-2 elimination", 3, 3, 1, .ndd = cs_formula_rhd},
    {"allpairs", "n, alpha_s, x_s", "MSCCL's allpairs", 3, 3, 1, .ndd = cs_formula_allpairs},
    {"broadcast", "n, alpha_s, x_s", "the late rank's data in a binomial tree", 3, 3, 1, .ndd = cs_formula_broadcast},
    {"reduce_scatter", "n, alpha_s, x_s", "a ring ReduceScatter of n - 1 ranks: StragglAR's ideal delay", 3, 3, 1, .ndd = cs_formula_reduce_scatter},
    {"stragglar_rounds", "n", "rounds of StragglAR's main phase", 1, 1, 1, .list = stragglar_rounds},
    {"stragglar_best", "n, rounds, alpha_s, x_s", "StragglAR, its pre-phase hidden", 4, 4, 2, .nndd = cs_formula_stragglar_best},
    {"stragglar_worst", "n, rounds, alpha_s, x_s", "StragglAR, nobody late", 4, 4, 2, .nndd = cs_formula_stragglar_worst},
    {"critical_delay", "n, rounds, alpha_s, x_s", "the delay from which StragglAR beats the ring", 4, 4, 2, .nndd = cs_formula_critical_delay_exact},
    {"critical_delay_simplified", "n, alpha_s, x_s", "the same as the paper simplifies it", 3, 3, 1, .ndd = cs_formula_critical_delay_simplified},
    {"t0", "p, g", "g rings without a fault, in x_s", 2, 2, 2, .nn = cs_formula_t0},
    {"iccl", "p, g, l", "the ring over a slow NIC, in x_s", 3, 3, 2, .nnd = cs_formula_iccl},
    {"r2ccl", "p, l", "R2CCL, in x_s", 2, 2, 1, .nd = cs_formula_r2ccl},
    {"theorem_1", "p, l", "lower bound, one slow rank, in x_s", 2, 2, 1, .nd = cs_formula_theorem_1},
    {"theorem_2", "p, l ..", "lower bound, several slow ranks, in x_s", 2, 9, 1, .list = theorem_2},
    {"theorem_3", "q, g, l", "lower bound, one slow server of g GPUs, in x_s", 3, 3, 2, .nnd = cs_formula_theorem_3},
    {"theorem_6", "p, l", "sharper than theorem 1, in x_s", 2, 2, 1, .nd = cs_formula_theorem_6},
    {"theorem_13", "q, g, l", "sharper than theorem 3, in x_s", 3, 3, 2, .nnd = cs_formula_theorem_13},
    {"parallel_rings", "q, nic_s, nvlink_s, cross_s", "AllGather by Parallel Rings; times of a block", 3, 4, 1, .list = parallel_rings},
    {"optcc", OPTCC, "OptCC as it is built here, in x_s / g", 7, 10, 4, .list = optcc},
    {"optcc_is_exact", OPTCC, "1: a replay meets it; 0: a replay is not above", 7, 10, 4, .list = optcc_is_exact},
    {"optcc_sections", OPTCC, "sections of equal size", 7, 10, 4, .list = optcc_sections},
    {"optcc_paper", OPTCC, "what the paper says of as many sections, in x_s / g", 7, 10, 4, .list = optcc_paper},
    {"optcc_limit", OPTCC, "what it tends to with ever more sections, in x_s / g", 7, 10, 4, .list = optcc_limit},
    {"nccl_us", NCCL, "AllReduce by NCCL 2.minor behind NVSwitches, in us; generation: 1 A100, 2 H100, 3 B200", 7, 7, 1, .list = nccl_us},
    {"nccl_bound_us", NCCL, "its bound by the data sheet", 7, 7, 1, .list = nccl_bound_us},
    {"nccl_choice", NCCL, "10 x (tree, ring, nvls, nvlstree, pat: 0 .. 4) + (ll, ll128, simple: 0 .. 2)", 7, 7, 1, .list = nccl_choice},
    {.name = NULL},
};
/* clang-format on */

static double apply(const cs_formula *f, const double *a)
{
    return f->nd != NULL     ? f->nd(count(a[0]), a[1])
           : f->ndd != NULL  ? f->ndd(count(a[0]), a[1], a[2])
           : f->nn != NULL   ? f->nn(count(a[0]), count(a[1]))
           : f->nnd != NULL  ? f->nnd(count(a[0]), count(a[1]), a[2])
           : f->nndd != NULL ? f->nndd(count(a[0]), count(a[1]), a[2], a[3])
                             : f->list(a);
}

double cs_formula_value(const cs_formula *formula, const double *arguments, size_t n)
{
    double a[CS_FORMULA_MOST_ARGUMENTS];

    for (size_t i = 0; i < CS_FORMULA_MOST_ARGUMENTS; i++) {
        a[i] = i < n ? arguments[i] : (double)NAN;
    }
    for (size_t i = 0; i < formula->n_counts; i++) {
        double least = i == 0 ? 2 : 0;
        if (!(a[i] >= least && a[i] <= MOST_COUNT) || a[i] > floor(a[i])) {
            return (double)NAN;
        }
    }
    return apply(formula, a);
}
