/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What stragglar may be asked for: see stragglar_options.h. */
#include "algorithms/pattern/stragglar_options.h"

#include "algorithms/lemon/matching.h"
#include "algorithms/pattern/accept.h"
#include "algorithms/pattern/late_chunks.h"
#include "algorithms/pattern/late_pre.h"
#include "algorithms/pattern/matching_rounds.h"
#include "algorithms/pattern/paper_rounds.h"
#include "algorithms/pattern/telephone_odd.h"

#include <assert.h>

extern const cs_algorithm cs_algorithm_stragglar;

enum { VARIANT_ROTATION, VARIANT_PAPER, VARIANT_MATCHING };
enum { MOST_CHUNKS = 1 << 20, MOST_ROOTS = 100 };

const cs_field cs_stragglar_table[] = {
    CS_LATE_ROWS(cs_stragglar_options),
    CS_OPTION_CHOICE(cs_stragglar_options, model, "auto|telephone|duplex",
                     "may a rank receive from another one than it sends to? auto: for odd n only"),
    CS_OPTION_ROW(cs_stragglar_options, chunks, 0, 0, MOST_CHUNKS, true, NULL,
                  "parts of the buffer; 0: n - 1, as in the paper; auto: the best number"),
    CS_OPTION_CHOICE(cs_stragglar_options, prephase, "ring|circulant",
                     "how the early ranks reduce; fewer than n - 1 chunks: always circulant"),
    CS_OPTION_CHOICE(cs_stragglar_options, variant, "rotation|paper|matching",
                     "rounds: ours; the paper's Algorithm 1 (powers of two), appendix E (even n)"),
    CS_OPTION_CHOICE(cs_stragglar_options, ties, "published|newest",
                     "of equal matchings: as many rounds as published, or nearly always fewer"),
    CS_OPTION_ROW(cs_stragglar_options, late_ranks, 1, 0, CS_MAX_RANKS - 1, true, NULL,
                  "how many count as late, the last to arrive; 0: the baseline; auto: the best"),
    CS_OPTION_AUTO(cs_stragglar_options, late_roots, 0, MOST_ROOTS,
                   "several late ranks complete this / 10 x late_ranks / n of the chunks"),
    CS_OPTION_CHOICE(cs_stragglar_options, baseline, CS_BASELINE_CHOICES,
                     "what runs when nobody counts as late; auto: the predicted best"),
    CS_FIELD_END};

cs_late_source cs_stragglar_source(uint32_t n, const cs_stragglar_options *o)
{
    if (o->variant == VARIANT_PAPER) {
        return CS_LATE_PAPER;
    }
    if (o->variant == VARIANT_MATCHING) {
        return o->ties == CS_TIES_NEWEST ? CS_LATE_MATCHING_NEWEST : CS_LATE_MATCHING;
    }
    if (o->chunks == 1) {
        return CS_LATE_ONE_CHUNK;
    }
    if (n == 3) {
        return CS_LATE_THREE_RANKS;
    }
    return n % 2 == 1 && o->model == CS_STRAGGLAR_TELEPHONE ? CS_LATE_TELEPHONE_ODD
                                                            : CS_LATE_ROTATION;
}

cs_late_layout cs_stragglar_layout(const cs_scenario *scenario, const cs_stragglar_options *o)
{
    uint32_t n     = scenario->cluster.n_ranks;
    uint32_t depth = cs_late_main_depth(cs_stragglar_source(n, o), n, o->chunks);
    return cs_late_layout_of(scenario, o->straggler, o->chunks, depth, (cs_prephase)o->prephase);
}

/* Are the rounds of a source not known before they have been made? */
static bool is_searched(cs_late_source source)
{
    return source == CS_LATE_TELEPHONE_ODD || source == CS_LATE_MATCHING ||
           source == CS_LATE_MATCHING_NEWEST;
}

/* Rounds of the main phase, and of those that are searched for how long they take. */
static cs_status main_rounds(uint32_t n, cs_stragglar_options *o, uint32_t *rounds_p, cs_error *err)
{
    cs_label_rounds      rounds = {0};
    const cs_label_shape shape  = {.n = n, .early = n - 1, .chunks = o->chunks};

    *rounds_p = cs_late_main_rounds(n, o->chunks);
    if (!is_searched(cs_stragglar_source(n, o))) {
        return CS_OK;
    }
    cs_status status = cs_late_main_build(cs_stragglar_source(n, o), n, o->chunks, &rounds, err);
    if (status == CS_OK) {
        *rounds_p = rounds.n_rounds;
        status    = cs_label_rounds_steps(&rounds, &shape, &o->steps, err);
    }
    cs_label_rounds_free(&rounds);
    return status;
}

/* Odd n in the telephone model: what is stored is n - 1 chunks (or one). */
static cs_status check_telephone(const cs_scenario *scenario, cs_stragglar_options *o,
                                 cs_error *err)
{
    uint32_t n = scenario->cluster.n_ranks, rounds;

    if (n > CS_TELEPHONE_MOST_RANKS) {
        return CS_FAIL(err, CS_ENOTSUP, "algorithm.options.model",
                       "telephone with an odd number of ranks is made by a slow greedy: at most %d "
                       "ranks, got %u; duplex needs a round less",
                       CS_TELEPHONE_MOST_RANKS, n);
    }
    if (o->chunks == CS_AUTO) {
        o->chunks        = n - 1;
        cs_status status = main_rounds(n, o, &rounds, err);
        if (status != CS_OK) {
            return status;
        }
        const cs_late_options *late = (const cs_late_options *)o;
        double many_s = cs_late_end_s(scenario, late, n - 1, rounds, (cs_prephase)o->prephase);
        double one_s  = cs_late_end_s(scenario, late, 1, cs_log2_ceil(n), CS_PREPHASE_CIRCULANT);
        o->chunks     = one_s < many_s ? 1 : n - 1;
    }
    if (o->chunks != 1 && o->chunks != n - 1) {
        return CS_FAIL(err, CS_ENOTSUP, "algorithm.options.chunks",
                       "%u ranks in the telephone model: accepted are 1, %u and auto, not %u", n,
                       n - 1, o->chunks);
    }
    return CS_OK;
}

/* The main phase has n messages per chunk. As many chunks as ranks are nobody's mistake. */
static cs_status check_messages(uint32_t n, uint32_t chunks, cs_error *err)
{
    assert(n >= 2);
    uint64_t most = CS_STRAGGLAR_MOST_MESSAGES / n;

    most = most > n - 1 ? most : n - 1;
    return chunks <= most ? CS_OK
                          : CS_FAIL(err, CS_ENOTSUP, "algorithm.options.chunks",
                                    "%u for %u ranks: %.2g messages would take minutes to replay; "
                                    "accepted are at most %llu, and auto",
                                    chunks, n, (double)chunks * n, (unsigned long long)most);
}

static cs_status check_chunks(const cs_scenario *scenario, cs_stragglar_options *o, cs_error *err)
{
    uint32_t n = scenario->cluster.n_ranks, least = cs_late_least_chunks(n);

    o->chunks = o->chunks == 0 ? n - 1 : o->chunks;
    if (n % 2 == 1 && o->model == CS_STRAGGLAR_TELEPHONE) {
        return check_telephone(scenario, o, err);
    }
    if (o->chunks == CS_AUTO) {
        const cs_late_options *late = (const cs_late_options *)o;
        o->chunks                   = cs_late_best_chunks(scenario, late, (cs_prephase)o->prephase);
    }
    if (o->chunks != 1 && o->chunks < least) {
        return CS_FAIL(err, CS_ENOTSUP, "algorithm.options.chunks",
                       "%u ranks: accepted are 1, %u or more, and auto, not %u", n, least,
                       o->chunks);
    }
    return check_messages(n, o->chunks, err);
}

/* The paper's own generators: n - 1 chunks, and not every n. */
static cs_status check_variant(const cs_scenario *scenario, cs_stragglar_options *o, cs_error *err)
{
    const char *where = "algorithm.options.variant";
    uint32_t    n     = scenario->cluster.n_ranks;

    if (o->variant == VARIANT_PAPER && !cs_paper_rounds_exist(n)) {
        return CS_FAIL(err, CS_ENOTSUP, where,
                       "paper (Algorithm 1) needs a power of two, got %u ranks; rotation does all "
                       "numbers",
                       n);
    }
    if (o->variant == VARIANT_MATCHING && (n % 2 == 1 || n > CS_MATCHING_MOST)) {
        return CS_FAIL(err, CS_ENOTSUP, where,
                       "matching (appendix E) needs an even number of at most %u ranks, got %u; "
                       "rotation does all numbers",
                       CS_MATCHING_MOST, n);
    }
    if (o->variant == VARIANT_MATCHING && !cs_matching_is_here()) {
        return CS_FAIL(err, CS_EMISSING, where,
                       "matching needs LEMON, which this build has not found (Debian: apt-get "
                       "install liblemon-dev g++, then build again)");
    }
    o->chunks = o->chunks == 0 || o->chunks == CS_AUTO ? n - 1 : o->chunks;
    if (o->chunks != n - 1) {
        return CS_FAIL(err, CS_ENOTSUP, "algorithm.options.chunks",
                       "the paper's generators have n - 1 = %u chunks, not %u", n - 1, o->chunks);
    }
    return CS_OK;
}

static cs_status check_options(const cs_scenario *scenario, cs_stragglar_options *o, cs_error *err)
{
    cs_status status = cs_late_check(scenario, (cs_late_options *)o, err);

    if (o->model == CS_STRAGGLAR_AUTO) {
        o->model =
            scenario->cluster.n_ranks % 2 == 0 ? CS_STRAGGLAR_TELEPHONE : CS_STRAGGLAR_DUPLEX;
    }
    if (status == CS_OK) {
        status = o->variant == VARIANT_ROTATION ? check_chunks(scenario, o, err)
                                                : check_variant(scenario, o, err);
    }
    if (status == CS_OK) {
        o->prephase = (int)cs_stragglar_layout(scenario, o).prephase;
    }
    return status;
}

/* One late rank. */
static cs_status check_one(const cs_scenario *scenario, cs_stragglar_options *o, cs_plan *plan,
                           cs_error *err)
{
    uint32_t  n = scenario->cluster.n_ranks, rounds = 0;
    cs_status status = check_options(scenario, o, err);

    if (status != CS_OK) {
        return status;
    }
    cs_late_layout layout = cs_stragglar_layout(scenario, o);
    status                = cs_late_layout_check(&layout, err);
    if (status == CS_OK) {
        status = main_rounds(n, o, &rounds, err);
    }
    if (status == CS_OK) {
        *plan = (cs_plan){.n_chunks = o->chunks,
                          .n_slots  = layout.n_slots,
                          .n_rounds = cs_late_pre_rounds(&layout) + rounds,
                          .uses     = CS_USES_EXCHANGE | cs_late_pre_uses(&layout) |
                                  cs_uses_nvlink(&scenario->cluster)};
    }
    return status;
}

/* What belongs to one late rank must not be asked for where another number counts as late. */
static cs_status check_alone(const cs_scenario *scenario, const cs_stragglar_options *o,
                             cs_error *err)
{
    const char *what = NULL;

    if (o->straggler != CS_AUTO && o->straggler != cs_last_rank(scenario)) {
        what = "a straggler";
    } else if (o->entry_barrier_s > 0 || o->phase_barrier_s > 0) {
        what = "a cost of barriers, which there are none of";
    } else if (o->variant != VARIANT_ROTATION) {
        what = "a variant";
    } else if (o->model == CS_STRAGGLAR_TELEPHONE) {
        what = "the telephone model";
    }
    return what == NULL ? CS_OK
                        : CS_FAIL(err, CS_ENOTSUP, "algorithm.options.late_ranks",
                                  "only 1 late rank goes with %s", what);
}

/* When the schedule with one late rank ends, with the best options that are left free: predicted,
 * which holds where all ranks have one kind of port, otherwise as the forecast says. */
static cs_status one_end_s(const cs_scenario *scenario, const cs_stragglar_options *o,
                           double *end_p, cs_error *err)
{
    const cs_forecast   *f    = scenario->forecast;
    cs_stragglar_options one  = *o;
    cs_plan              plan = {0};
    uint32_t             n    = scenario->cluster.n_ranks;

    one.late_ranks   = 1;
    cs_status status = check_one(scenario, &one, &plan, err);
    if (status == CS_OK && f != NULL && !cs_one_port_kind(&scenario->cluster)) {
        status = f->elapsed_s(f, scenario, &cs_algorithm_stragglar, &one, &plan, end_p, err);
    } else if (status == CS_OK) {
        *end_p = cs_late_end_s(scenario, (const cs_late_options *)&one, one.chunks,
                               cs_late_main_rounds(n, one.chunks), (cs_prephase)one.prephase);
    }
    return status;
}

cs_late_number cs_stragglar_number(const cs_stragglar_options *o)
{
    return (cs_late_number){o->late_ranks, o->chunks, o->late_roots, (cs_late_baseline)o->baseline};
}

/* Another number of late ranks than one; `auto` may come to one. */
static cs_status check_number(const cs_scenario *scenario, cs_stragglar_options *o, cs_plan *plan,
                              cs_error *err)
{
    cs_late_number number = cs_stragglar_number(o);
    double         one_s  = 0;
    cs_status      status = check_alone(scenario, o, err);

    if (status == CS_OK && o->late_ranks == CS_AUTO) {
        status = one_end_s(scenario, o, &one_s, err);
    }
    if (status == CS_OK) {
        status = cs_late_number_choose(scenario, one_s, &number, err);
    }
    if (status == CS_OK && number.late == 1) {
        o->late_ranks = 1;
        o->baseline   = (int)number.baseline;
        return check_one(scenario, o, plan, err);
    }
    if (status == CS_OK) {
        status = cs_late_number_plan(scenario, &number, plan, err);
    }
    if (status == CS_OK) {
        o->late_ranks = number.late;
        o->baseline   = (int)number.baseline;
        o->late_roots = number.roots;
        o->chunks     = number.chunks;
        o->straggler  = cs_last_rank(scenario);
        o->model      = CS_STRAGGLAR_DUPLEX;
        o->prephase   = CS_PREPHASE_CIRCULANT;
    }
    return status;
}

cs_status cs_stragglar_resolve(const cs_scenario *scenario, cs_stragglar_options *o, cs_plan *plan,
                               cs_error *err)
{
    cs_status status;

    status        = o->late_ranks == 1 ? check_one(scenario, o, plan, err)
                                       : check_number(scenario, o, plan, err);
    o->late_roots = o->late_ranks == 1 ? 0 : o->late_roots;
    if (o->baseline == CS_BASELINE_AUTO) { /* it does not run */
        o->baseline = (int)cs_baseline_predicted(scenario);
    }
    return status;
}

uint32_t cs_stragglar_steps(uint32_t n, const cs_stragglar_options *o)
{
    return is_searched(cs_stragglar_source(n, o)) ? o->steps : cs_late_main_rounds(n, o->chunks);
}
