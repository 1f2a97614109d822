/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The list of synthesisers, the heuristic and the released program.
 *
 * Moves that make it no more than a little slower are kept, too, ever fewer of them: a single move
 * seldom helps where all ports are busy. */
#include "algorithms/adapcc/synthesize.h"

#include "algorithms/adapcc/turns.h"
#include "base/alloc.h"
#include "base/random.h"

#include <math.h>
#include <string.h>

#define CODE_CHUNK_BYTES  ((uint64_t)4 << 20)
#define LEAST_CHUNK_BYTES ((uint64_t)256 << 10)
#define MOST_CHUNK_BYTES  ((uint64_t)16 << 20)

/* The first move may make it so much slower; starts that are improved, above how many ranks only
 * one is, and of how many trees at most bytes are shared out in the end. */
#define MOST_SLOWER .05
enum { MOST_STARTS = 3, FEW_RANKS = 256, MOST_SHARED = 8 };

/* Chunks. */

/* As many chunks of all trees, the largest of them of chunk_bytes at most: in every turn all trees
 * ask the ports for their shares then. */
static void set_chunk(cs_strategy *s, uint64_t chunk_bytes)
{
    uint64_t largest = 1, chunks = 1;

    for (uint32_t m = 0; m < s->n_trees; m++) {
        largest = s->trees[m].size_bytes > largest ? s->trees[m].size_bytes : largest;
    }
    chunks = chunk_bytes < largest ? (largest - 1) / (chunk_bytes > 0 ? chunk_bytes : 1) + 1 : 1;
    for (uint32_t m = 0; m < s->n_trees; m++) {
        cs_strategy_tree *t = &s->trees[m];
        t->chunk_bytes      = t->size_bytes > 0 ? (t->size_bytes - 1) / chunks + 1 : 1;
    }
}

/* Is the model one that is too dear for every move? */
static bool is_dear(const cs_synthesis *q)
{
    return q->model == CS_COST_TURNS && q->logical->holds_both;
}

/* May trees have shares of their own? Flows of several sizes that share ports fairly leave some of
 * them idle, which TURNS does not see. */
static bool may_differ(const cs_synthesis *q)
{
    return q->model != CS_COST_TURNS || q->logical->holds_both;
}

/* By the model of moves. */
static double cost_of(const cs_synthesis *q, cs_cost *cost, const cs_strategy *strategy)
{
    return cs_cost_s(cost, strategy, q->collective, is_dear(q) ? CS_COST_VOLUME : q->model);
}

typedef struct chunk_search {
    const cs_synthesis *q;
    cs_cost            *cost;
    cs_strategy        *strategy;
    uint64_t            best;
    double              best_s;
} chunk_search;

static void try_chunk(chunk_search *c, uint64_t chunk_bytes)
{
    set_chunk(c->strategy, chunk_bytes);
    double took_s = cost_of(c->q, c->cost, c->strategy);
    if (took_s < c->best_s) {
        c->best_s = took_s;
        c->best   = chunk_bytes > 0 ? chunk_bytes : 1;
    }
}

/* The best chunk by the model of moves. */
static double find_chunk(const cs_synthesis *q, cs_cost *cost, cs_strategy *strategy)
{
    static const double FACTORS[] = {.6, .75, 1.25, 1.5};
    chunk_search        c         = {q, cost, strategy, 1, (double)INFINITY};
    uint64_t            largest   = 1;

    if (q->chunk_bytes > 0) {
        try_chunk(&c, q->chunk_bytes);
        return c.best_s;
    }
    for (uint32_t m = 0; m < strategy->n_trees; m++) {
        uint64_t size = strategy->trees[m].size_bytes;
        largest       = size > largest ? size : largest;
    }
    uint64_t first = largest < LEAST_CHUNK_BYTES ? largest : LEAST_CHUNK_BYTES;
    for (uint64_t b = first; b <= MOST_CHUNK_BYTES && b <= largest; b *= 2) {
        try_chunk(&c, b);
    }
    uint64_t around = c.best;
    for (size_t i = 0; i < sizeof FACTORS / sizeof *FACTORS; i++) {
        try_chunk(&c, (uint64_t)((double)around * FACTORS[i]));
    }
    set_chunk(strategy, c.best);
    return c.best_s;
}

cs_status cs_synthesize_chunk(const cs_synthesis *request, cs_cost *cost, cs_strategy *strategy,
                              double *cost_s_p, cs_error *err)
{
    static const double FACTORS[] = {1, .5, 2};
    size_t              n         = request->chunk_bytes > 0 ? 1 : sizeof FACTORS / sizeof *FACTORS;
    uint64_t            around = 0, best = 0;

    *cost_s_p = find_chunk(request, cost, strategy);
    if (!is_dear(request)) {
        return CS_OK;
    }
    around = cs_strategy_chunk_bytes(strategy);
    for (size_t i = 0; i < n; i++) {
        uint64_t chunk_bytes = (uint64_t)((double)around * FACTORS[i]);
        double   took_s      = 0;

        set_chunk(strategy, chunk_bytes);
        CS_TRY(cs_turns_cost_s(cost, request->logical, strategy, request->collective,
                               request->model, &took_s, err));
        if (i == 0 || took_s < *cost_s_p) {
            *cost_s_p = took_s;
            best      = chunk_bytes;
        }
    }
    set_chunk(strategy, best);
    return CS_OK;
}

/* What the heuristic and the released program have at work. */
typedef struct search {
    const cs_synthesis *q;
    cs_planner          planner;
    cs_cost            *cost;
    uint32_t           *plans;  /* [trees][servers] */
    bool                chains; /* inside servers; else stars */
    cs_strategy         trial;
    double              best_s; /* of the strategy */
} search;

static cs_status open_search(search *s, cs_strategy *strategy, cs_error *err)
{
    const cs_logical *l       = s->q->logical;
    bool              is_code = s->q->by == CS_SYNTHESIZE_CODE;
    uint32_t          m       = s->q->n_trees;

    m = is_code && m > l->n_servers ? l->n_servers : m;
    CS_TRY(cs_planner_open(&s->planner, l, s->q->collective, s->q->root,
                           is_code ? CS_PLAN_BY_CODE : CS_PLAN_BY_RATE, err));
    CS_TRY(cs_strategy_make(strategy, l->n_ranks, m, err));
    CS_TRY(cs_strategy_make(&s->trial, l->n_ranks, m, err));
    CS_TRY(cs_cost_open(l, m, &s->cost, err));
    s->trial.n_members = l->n_ranks;
    s->plans           = CS_NEW(uint32_t, (size_t)m * l->n_servers);
    return s->plans != NULL ? CS_OK : CS_NO_MEMORY(err, "trees");
}

static void close_search(search *s)
{
    cs_planner_close(&s->planner);
    cs_strategy_free(&s->trial);
    cs_cost_close(s->cost);
    cs_free(s->plans);
}

static uint32_t *plan_of(const search *s, uint32_t m)
{
    return s->plans + (size_t)m * s->q->logical->n_servers;
}

static bool plant(search *s, uint32_t m)
{
    return cs_planner_plant(&s->planner, plan_of(s, m), m, s->chains, &s->trial, m);
}

/* The trial becomes the strategy. */
static void keep(const search *s, cs_strategy *strategy)
{
    size_t n = s->q->logical->n_ranks * sizeof(uint32_t);

    strategy->n_trees = s->trial.n_trees;
    for (uint32_t m = 0; m < strategy->n_trees; m++) {
        cs_strategy_tree       *to   = &strategy->trees[m];
        const cs_strategy_tree *from = &s->trial.trees[m];

        to->size_bytes  = from->size_bytes;
        to->chunk_bytes = from->chunk_bytes;
        memcpy(to->parent, from->parent, n);
    }
}

/* The heuristic. */

/* Trees to improve. */
typedef struct start {
    cs_plan_family family;
    bool           chains;
    uint32_t       n_trees;
    uint64_t       chunk_bytes;
    double         took_s;
} start;

/* The trial becomes the trees of a start, with equal shares. */
static void plan_start(search *s, const start *from)
{
    s->chains        = from->chains;
    s->trial.n_trees = from->n_trees;
    for (uint32_t m = 0; m < from->n_trees; m++) {
        cs_planner_plan(&s->planner, from->family, m, from->n_trees, plan_of(s, m));
        (void)plant(s, m);
    }
    cs_strategy_set_sizes(&s->trial, s->q->bytes, from->chunk_bytes);
}

/* Put a start among the best ones, of which there are *n_p so far. */
static void try_start(search *s, start x, start *best, uint32_t *n_p)
{
    plan_start(s, &x);
    x.took_s      = find_chunk(s->q, s->cost, &s->trial);
    x.chunk_bytes = cs_strategy_chunk_bytes(&s->trial);
    uint32_t at   = *n_p;
    while (at > 0 && x.took_s < best[at - 1].took_s) {
        at--;
    }
    if (at < MOST_STARTS) {
        *n_p += *n_p < MOST_STARTS;
        memmove(best + at + 1, best + at, (*n_p - at - 1) * sizeof *best);
        best[at] = x;
    }
}

/* Families with all trees, with half of them and with one; BALANCED with all numbers between: a
 * third of the buffer needs three. */
static uint32_t try_families(search *s, start *best)
{
    cs_plan_family families = cs_planner_families(&s->planner);
    uint32_t       n = 0, n_trees = s->q->n_trees;

    for (int inside = 0; inside < 2; inside++) {
        for (cs_plan_family f = CS_PLAN_CHAINS; f < families; f++) {
            for (uint32_t k = n_trees; k > 0; k--) {
                bool is_tried = k == n_trees || k == (n_trees + 1) / 2 || k == 1 ||
                                (f == CS_PLAN_BALANCED && n_trees < 8 && k > n_trees / 2);
                if (is_tried) {
                    try_start(s, (start){f, inside != 0, k, 1, 0}, best, &n);
                }
            }
        }
    }
    return n;
}

/* Some bytes of one tree go to another. */
static void shift_bytes(cs_strategy *trial, gsl_rng *random)
{
    uint32_t n = trial->n_trees, a = (uint32_t)gsl_rng_uniform_int(random, n);
    uint32_t b    = (a + 1 + (uint32_t)gsl_rng_uniform_int(random, n - 1)) % n;
    uint64_t part = trial->trees[a].size_bytes >> (2 + gsl_rng_uniform_int(random, 5));

    trial->trees[a].size_bytes -= part;
    trial->trees[b].size_bytes += part;
}

/* What a move may have to restore. */
typedef struct memory {
    uint32_t *plan;            /* [servers] */
    uint32_t *best;            /* [trees][servers] */
    uint64_t *sizes, *best_of; /* [trees] */
} memory;

static void note_sizes(const cs_strategy *trial, uint64_t *sizes)
{
    for (uint32_t m = 0; m < trial->n_trees; m++) {
        sizes[m] = trial->trees[m].size_bytes;
    }
}

static void take_sizes(cs_strategy *trial, const uint64_t *sizes, uint64_t chunk_bytes)
{
    for (uint32_t m = 0; m < trial->n_trees; m++) {
        trial->trees[m].size_bytes = sizes[m];
    }
    set_chunk(trial, chunk_bytes);
}

/* One move, which is taken back where it makes the time longer than `most_s`. Returns the time. */
static double try_move(search *s, memory *of, gsl_rng *random, uint64_t chunk_bytes, double now_s,
                       double most_s)
{
    uint32_t  n_trees = s->trial.n_trees, n = s->q->logical->n_servers;
    uint32_t  m        = (uint32_t)gsl_rng_uniform_int(random, n_trees);
    uint32_t *plan     = plan_of(s, m);
    bool      is_shift = n_trees > 1 && may_differ(s->q) && gsl_rng_uniform_int(random, 4) == 0;
    bool      is_tree  = true;

    if (is_shift) {
        note_sizes(&s->trial, of->sizes);
        shift_bytes(&s->trial, random);
        set_chunk(&s->trial, chunk_bytes);
    } else {
        memcpy(of->plan, plan, n * sizeof *plan);
        cs_planner_move(&s->planner, plan, random);
        is_tree = plant(s, m);
    }
    double took_s = is_tree ? cost_of(s->q, s->cost, &s->trial) : (double)INFINITY;
    if (took_s <= most_s) {
        return took_s;
    }
    if (is_shift) {
        take_sizes(&s->trial, of->sizes, chunk_bytes);
    } else {
        memcpy(plan, of->plan, n * sizeof *plan);
        (void)plant(s, m);
    }
    return now_s;
}

/* A part of tree a's bytes goes to tree b, if that helps. Returns the time. */
static double give_bytes(search *s, memory *of, uint64_t chunk_bytes, uint32_t a, uint32_t b,
                         uint64_t part, double best_s)
{
    note_sizes(&s->trial, of->sizes);
    s->trial.trees[a].size_bytes -= part;
    s->trial.trees[b].size_bytes += part;
    set_chunk(&s->trial, chunk_bytes);
    double took_s = cost_of(s->q, s->cost, &s->trial);
    if (took_s < best_s * (1 - 1e-12)) {
        return took_s;
    }
    take_sizes(&s->trial, of->sizes, chunk_bytes);
    return best_s;
}

/* Bytes go from each tree to each other one, in ever smaller parts. */
static void share_out(search *s, memory *of, uint64_t chunk_bytes)
{
    uint32_t n      = s->trial.n_trees;
    double   best_s = cost_of(s->q, s->cost, &s->trial);

    for (uint32_t bits = 2; bits < 8; bits++) {
        for (uint32_t a = 0; a < n; a++) {
            for (uint32_t b = 0; b < n; b++) {
                uint64_t part = s->trial.trees[a].size_bytes >> bits;
                best_s = a != b ? give_bytes(s, of, chunk_bytes, a, b, part, best_s) : best_s;
            }
        }
    }
}

/* Improve a start; its trees become the strategy's where they are the best so far. */
static cs_status improve(search *s, const start *from, cs_strategy *strategy, gsl_rng *random,
                         memory *of, cs_error *err)
{
    uint32_t n = s->q->logical->n_servers, n_moves = s->q->n_moves;
    size_t   bytes = (size_t)from->n_trees * n * sizeof *of->best;
    double   now_s = from->took_s, best_s = now_s;

    plan_start(s, from);
    memcpy(of->best, s->plans, bytes);
    note_sizes(&s->trial, of->best_of);
    for (uint32_t i = 0; i < n_moves && n > 2; i++) {
        double more = MOST_SLOWER * (1 - (double)i / n_moves);

        now_s = try_move(s, of, random, from->chunk_bytes, now_s, now_s * (1 + more));
        if (now_s < best_s * (1 - 1e-12)) {
            best_s = now_s;
            memcpy(of->best, s->plans, bytes);
            note_sizes(&s->trial, of->best_of);
        }
    }
    memcpy(s->plans, of->best, bytes);
    take_sizes(&s->trial, of->best_of, from->chunk_bytes);
    for (uint32_t m = 0; m < s->trial.n_trees; m++) {
        (void)plant(s, m);
    }
    if (s->trial.n_trees <= MOST_SHARED && may_differ(s->q)) {
        share_out(s, of, from->chunk_bytes);
    }
    CS_TRY(cs_synthesize_chunk(s->q, s->cost, &s->trial, &best_s, err));
    if (best_s < s->best_s) {
        s->best_s = best_s;
        keep(s, strategy);
    }
    return CS_OK;
}

static cs_status search_heuristic(search *s, cs_strategy *strategy, cs_error *err)
{
    size_t    n = s->q->logical->n_servers, m = s->trial.n_trees;
    gsl_rng  *random = cs_random_stream(s->q->seed, "adapcc.moves");
    memory    of     = {CS_NEW(uint32_t, n), CS_NEW(uint32_t, n * m), CS_NEW(uint64_t, m),
                        CS_NEW(uint64_t, m)};
    cs_status status = CS_OK;

    if (random != NULL && of.plan != NULL && of.best != NULL && of.sizes != NULL &&
        of.best_of != NULL) {
        start    starts[MOST_STARTS] = {0};
        uint32_t n_starts            = try_families(s, starts);

        n_starts = s->q->logical->n_ranks > FEW_RANKS && n_starts > 1 ? 1 : n_starts;

        s->best_s = (double)INFINITY;
        for (uint32_t i = 0; i < n_starts && status == CS_OK; i++) {
            status = improve(s, &starts[i], strategy, random, &of, err);
        }
    } else {
        status = CS_NO_MEMORY(err, "trees");
    }
    if (random != NULL) {
        gsl_rng_free(random);
    }
    cs_free(of.plan);
    cs_free(of.best);
    cs_free(of.sizes);
    cs_free(of.best_of);
    return status;
}

/* Let single ranks between leaves and root forward, or add up again, as long as this helps. */
static cs_status search_flags(search *s, cs_strategy *strategy, cs_error *err)
{
    const cs_synthesis *q      = s->q;
    double              best_s = cost_of(q, s->cost, strategy);

    for (bool helps = true; helps;) {
        helps = false;
        for (uint32_t m = 0; m < strategy->n_trees; m++) {
            cs_strategy_tree *t = &strategy->trees[m];

            for (uint32_t i = 1; i < strategy->n_members; i++) {
                bool *aggregates = &t->aggregates[t->order[i]];

                if (t->n_children[t->order[i]] == 0) {
                    continue;
                }
                *aggregates   = !*aggregates;
                double took_s = cost_of(q, s->cost, strategy);
                if (took_s < best_s * (1 - 1e-9)) {
                    best_s = took_s;
                    helps  = true;
                } else {
                    *aggregates = !*aggregates;
                }
            }
        }
    }
    return cs_synthesize_chunk(q, s->cost, strategy, &s->best_s, err);
}

static cs_status make_heuristic(const cs_synthesis *request, cs_strategy *strategy,
                                cs_synthesis_result *result, cs_error *err)
{
    search    s      = {.q = request};
    cs_status status = open_search(&s, strategy, err);

    if (status == CS_OK) {
        status = search_heuristic(&s, strategy, err);
    }
    if (status == CS_OK && request->may_forward && request->collective != CS_BROADCAST) {
        status = cs_strategy_check(strategy, err);
        if (status == CS_OK) {
            status = search_flags(&s, strategy, err);
        }
    }
    if (status == CS_OK) {
        result->cost_s = s.best_s;
    }
    close_search(&s);
    return status;
}

/* The released program. */
static cs_status make_code(const cs_synthesis *request, cs_strategy *strategy,
                           cs_synthesis_result *result, cs_error *err)
{
    search    s      = {.q = request, .chains = true};
    cs_status status = open_search(&s, strategy, err);

    if (status == CS_OK) {
        for (uint32_t m = 0; m < strategy->n_trees; m++) {
            cs_planner_plan_code(&s.planner, m, plan_of(&s, m));
            (void)plant(&s, m);
        }
        cs_strategy_set_sizes(&s.trial, request->bytes,
                              request->chunk_bytes > 0 ? request->chunk_bytes : CODE_CHUNK_BYTES);
        keep(&s, strategy);
        status = cs_turns_cost_s(s.cost, request->logical, &s.trial, request->collective,
                                 request->model, &result->cost_s, err);
    }
    close_search(&s);
    return status;
}

/* The list. */

static const struct {
    cs_status (*make)(const cs_synthesis *request, cs_strategy *strategy,
                      cs_synthesis_result *result, cs_error *err);
    /* Or with GLPK of trees of the heuristic, which are so many at most. */
    cs_synthesize_from *improve;
    uint32_t            most_known;
    cs_status (*refuse)(const cs_synthesis *request, cs_error *err); /* or NULL */
} synthesizers[] = {
    [CS_SYNTHESIZE_HEURISTIC] = {.make = make_heuristic},
    [CS_SYNTHESIZE_PACKING]   = {.improve = cs_synthesize_packing, .most_known = 8},
    [CS_SYNTHESIZE_MILP]      = {.improve    = cs_synthesize_milp,
                                 .most_known = CS_STRATEGY_MAX_TREES,
                                 .refuse     = cs_synthesize_refuse_milp},
    [CS_SYNTHESIZE_CODE]      = {.make = make_code},
};

const char *cs_synthesizer_name(cs_synthesizer synthesizer)
{
    static const char *const NAMES[] = {
#define X(id, name) #name,
        CS_SYNTHESIZERS(X)
#undef X
    };

    return NAMES[synthesizer];
}

/* The better trees by the model: the heuristic's, or what is made of them. A program leaves out
 * some of what the model counts. */
static cs_status improve_known(const cs_synthesis *request, cs_strategy *strategy,
                               cs_synthesis_result *result, cs_error *err)
{
    uint32_t            most  = synthesizers[request->by].most_known;
    cs_synthesis        few   = *request;
    cs_synthesis_result first = {0};
    cs_strategy         known = {0};

    if (cs_lp_missing() != NULL) {
        return CS_FAIL(err, CS_ENOTSUP, "synthesizer", "%s needs %s",
                       cs_synthesizer_name(request->by), cs_lp_missing());
    }
    if (synthesizers[request->by].refuse != NULL) {
        CS_TRY(synthesizers[request->by].refuse(request, err));
    }
    few.n_trees      = request->n_trees < most ? request->n_trees : most;
    cs_status status = make_heuristic(&few, &known, &first, err);
    if (status == CS_OK) {
        status = cs_strategy_check(&known, err);
    }
    if (status == CS_OK) {
        status = synthesizers[request->by].improve(request, &known, strategy, result, err);
    }
    if (status == CS_OK && (!result->has_solver || first.cost_s < result->cost_s)) {
        cs_strategy improved = *strategy;
        *strategy            = known;
        known                = improved;
        result->cost_s       = first.cost_s;
    }
    cs_strategy_free(&known);
    return status;
}

cs_status cs_synthesize(const cs_synthesis *request, cs_strategy *strategy,
                        cs_synthesis_result *result, cs_error *err)
{
    *strategy = (cs_strategy){0};
    *result   = (cs_synthesis_result){0};
    CS_TRY(synthesizers[request->by].make != NULL
               ? synthesizers[request->by].make(request, strategy, result, err)
               : improve_known(request, strategy, result, err));
    return cs_strategy_check(strategy, err);
}
