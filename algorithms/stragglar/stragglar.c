/* SPDX-License-Identifier: GPL-3.0-or-later */
/* StragglAR: an AllReduce that works while one rank is late, for every number of ranks.
 *
 * Phase 1, the pre-phase (barrier 1 in front): the N = n - 1 early ranks run a ReduceScatter among
 * themselves (phase1.h); label c mod N then holds the sum of all early contributions to chunk c.
 * Phase 2, the main phase (barrier 2 in front, for all): in round r the late rank exchanges chunk r
 * with its owner, both add and have the final value; at the same time the other final chunks
 * spread, one send and one receive per rank and round, by the rotational pattern of rotation.h; the
 * last rounds come from tail.h (phase2.h). C - 1 + ceil(log2 n) rounds of one of C chunks; for C =
 * n - 1, as in the paper, that is n - 2 + ceil(log2 n), which no schedule of these chunks can beat.
 *
 * Even n keep to the telephone model; odd n need the full-duplex one-port model, or a greedy
 * (telephone.h) that needs a round or two more. The straggler may be any rank; when it is not the
 * last to arrive, the early ranks wait for the last of them and nothing is hidden. Instead of one
 * rank none or several may count as late (`late_ranks`, multi_late.h). The paper's own rounds,
 * which are as many or more, are made by scripts/paper_schedule.
 *
 * On several servers of several GPUs each the late rank's server takes its place, and its mates
 * help (servers.h); `inside` says how, or that ranks are to know no servers. With `auto` a baseline
 * runs where it ends earlier, and the plan's note says so.
 *
 * Source: "Efficient AllReduce with Stragglers" (StragglAR); the rotational schedule and the choice
 * of chunks are this project's (sim/doc/stragglar.md).
 */
#include "algorithms/lib/accept.h"
#include "algorithms/stragglar/multi_late.h"
#include "algorithms/stragglar/phase1.h"
#include "algorithms/stragglar/phase2.h"
#include "algorithms/stragglar/rail.h"
#include "algorithms/stragglar/servers.h"
#include "algorithms/stragglar/servers_time.h"
#include "algorithms/stragglar/telephone.h"
#include "base/alloc.h"
#include "cs/capacity.h"

#include <assert.h>
#include <math.h>

/* ---- options ---- */

enum { MOST_CHUNKS = 1 << 20, MOST_AUTO_CHUNKS = 16384, MOST_ROOTS = 100 };

/* Of the main phase, if chunks are asked for beyond the paper's n - 1: a minute at 40 million
 * messages a second (alpha-beta, verified). */
#define MOST_MESSAGES ((uint64_t)1 << 31)

typedef enum port_model { PORT_AUTO, PORT_TELEPHONE, PORT_DUPLEX } port_model;

/* How the GPUs of a server share the work. */
typedef enum inside { INSIDE_AUTO, INSIDE_FLAT, INSIDE_CHAIN, INSIDE_TREE } inside;
typedef enum halves { HALVES_AUTO, HALVES_ON, HALVES_OFF } halves;

typedef struct stragglar_options {
    CS_LATE_OPTIONS;
    int      model;  /* port_model; resolved, only the last two */
    uint32_t chunks; /* 0: n - 1 */
    int      prephase;
    uint32_t late_ranks; /* k; 0: the baseline runs */
    uint32_t late_roots;
    int      baseline;       /* cs_late_baseline */
    int      inside, halves; /* of the enumerations; resolved, not auto */
    uint32_t steps; /* not in the table: of the main phase (cs_phase2_count), for one late rank */
} stragglar_options;

static const cs_field table[] = {
    CS_LATE_ROWS(stragglar_options),
    CS_OPTION_CHOICE(stragglar_options, model, "auto|telephone|duplex",
                     "may a rank receive from another one than it sends to? auto: for odd n only"),
    CS_OPTION_ROW(
        stragglar_options, chunks, 0, 0, MOST_CHUNKS, true, NULL,
        "parts of the buffer (over servers: of a rail's); 0: n - 1, as in the paper (over "
        "servers as auto); auto: the best number"),
    CS_OPTION_CHOICE(stragglar_options, prephase, "ring|circulant",
                     "how the early ranks reduce; fewer than n - 1 chunks: always circulant"),
    CS_OPTION_ROW(stragglar_options, late_ranks, 1, 0, CS_MAX_RANKS - 1, true, NULL,
                  "how many count as late, the last to arrive; 0: the baseline; auto: the best"),
    CS_OPTION_AUTO(stragglar_options, late_roots, 0, MOST_ROOTS,
                   "chunks that several late ranks complete, in tenths of late_ranks / n of all"),
    CS_OPTION_CHOICE(stragglar_options, baseline, CS_BASELINE_CHOICES,
                     "what runs when nobody counts as late; auto: the predicted best"),
    CS_OPTION_CHOICE(
        stragglar_options, inside, "auto|flat|chain|tree",
        "over servers: flat: as if there were none; auto: what ends first, or the baseline"),
    CS_OPTION_CHOICE(stragglar_options, halves, "auto|on|off",
                     "three servers: half the pre-phase, two rounds more"),
    CS_FIELD_END};

/* ---- how many chunks, with one late rank ----
 *
 * With q = ceil(log2 n) and x = s / rate the rotational schedule takes C - 1 + q rounds of alpha +
 * x / C for any C >= q + 1 (any C >= 2 of three ranks, any C of two), one chunk q rounds of alpha +
 * x. Before that stands the pre-phase, as far as the delay of the late rank does not hide it. The
 * main phase alone has its minimum near sqrt((q - 1) x / alpha), but the pre-phase makes steps: all
 * candidates are tried. */

/* alpha, and the seconds per byte of the two phases. */
typedef struct pace {
    double alpha_s, pre_s_per_byte, main_s_per_byte;
} pace;

static pace pace_of(const cs_scenario *s, uint32_t late)
{
    const cs_cluster *c          = &s->cluster;
    bool              is_one     = c->gpus_per_server == c->n_ranks;
    const cs_fabric  *f          = &c->fabrics[is_one ? CS_NVLINK : CS_NIC];
    double            slow_early = 1, slow_late = 1;

    uint32_t n_uneven = is_one || cs_nics_are_even(s) ? 0 : cs_n_servers(c);
    bool     lasts    = cs_capacity_is_constant(s);
    for (uint32_t server = 0; server < n_uneven; server++) {
        double slow = lasts ? cs_slowdown_always(s, server) : cs_server_ratio(c, server, CS_NIC);
        if (server == late && c->gpus_per_server == 1) {
            slow_late = slow;
        } else {
            slow_early = fmax(slow_early, slow);
        }
    }
    return (pace){f->alpha_s, slow_early / f->bandwidth_Bps,
                  fmax(slow_early, slow_late) / f->bandwidth_Bps};
}

/* Rounds of the rotational main phase. */
static uint32_t rotation_rounds(uint32_t n, uint32_t chunks)
{
    return chunks - 1 + cs_log2_ceil(n);
}

/* The end of the schedule, predicted from arrivals, alpha, rate and lasting faults: what the replay
 * gives, or a little more where the circulant pre-phase is not hidden and N does not divide C. */
static double end_s(const cs_scenario *s, const stragglar_options *o, const pace *p,
                    uint32_t chunks, uint32_t rounds, cs_prephase prephase)
{
    cs_late_layout layout = cs_late_layout_of(s, o->straggler, chunks, 1, prephase);
    double         bytes = (double)s->bytes / chunks, pre_s = 0;
    bool           is_exact;

    if (layout.early > 1) {
        pre_s = cs_phase1_s(&layout, bytes, p->alpha_s, p->pre_s_per_byte, &is_exact);
    }
    return cs_late_main_start_s(s, (const cs_late_options *)o, pre_s) +
           rounds * (p->alpha_s + bytes * p->main_s_per_byte);
}

/* A time before which no main phase begins: any ReduceScatter of m ranks needs ceil(log2 m)
 * messages and (m - 1)/m of the buffer. */
static double earliest_s(const cs_scenario *s, const stragglar_options *o, const pace *p)
{
    uint32_t early = s->cluster.n_ranks - 1;
    double   most  = (double)s->bytes * (early - 1) / early;

    return cs_late_main_start_s(s, (const cs_late_options *)o,
                                cs_log2_ceil(early) * p->alpha_s + most * p->pre_s_per_byte);
}

/* The C, up to MOST_AUTO_CHUNKS and one byte per chunk, whose end is the earliest; the least of
 * several. O(C log n). */
static uint32_t best_chunks(const cs_scenario *s, const stragglar_options *o)
{
    uint32_t    n = s->cluster.n_ranks, best = 1, q = cs_log2_ceil(n);
    cs_prephase prephase = (cs_prephase)o->prephase;
    pace        p        = pace_of(s, o->straggler);
    double      x_s      = (double)s->bytes * p.main_s_per_byte;
    double      best_s   = end_s(s, o, &p, 1, q, prephase);
    double      first_s  = earliest_s(s, o, &p);
    double      turning  = sqrt((q - 1) * x_s / p.alpha_s); /* from here on the main phase grows */
    uint64_t    most     = s->bytes < MOST_AUTO_CHUNKS ? s->bytes : MOST_AUTO_CHUNKS;

    for (uint32_t chunks = cs_rail_least_chunks(n); chunks <= most; chunks++) {
        uint32_t rounds = rotation_rounds(n, chunks);
        if (chunks > turning && first_s + rounds * (p.alpha_s + x_s / chunks) >= best_s) {
            break;
        }
        cs_late_layout layout =
            cs_late_layout_of(s, o->straggler, chunks, n == 3 ? chunks : q + 2, prephase);
        double this_s = end_s(s, o, &p, chunks, rounds, prephase);
        if (cs_late_layout_check(&layout, NULL) != CS_OK) {
            continue;
        }
        best   = this_s < best_s ? chunks : best;
        best_s = this_s < best_s ? this_s : best_s;
    }
    return best;
}

/* ---- one late rank: what its options come to ---- */

static bool is_telephone(const stragglar_options *o)
{
    return o->model == PORT_TELEPHONE;
}

/* Owners and slots, for resolved options. */
static cs_late_layout layout_of(const cs_scenario *scenario, const stragglar_options *o)
{
    uint32_t depth = cs_phase2_depth(scenario->cluster.n_ranks, o->chunks, is_telephone(o));
    return cs_late_layout_of(scenario, o->straggler, o->chunks, depth, (cs_prephase)o->prephase);
}

/* Odd n in the telephone model: what is stored is n - 1 chunks (or one). */
static cs_status check_telephone(const cs_scenario *scenario, stragglar_options *o,
                                 cs_label_rounds *greedy, cs_error *err)
{
    uint32_t n = scenario->cluster.n_ranks, rounds, steps;

    if (n > CS_TELEPHONE_MOST_RANKS) {
        return CS_FAIL(err, CS_ENOTSUP, "algorithm.options.model",
                       "telephone with an odd number of ranks is made by a slow greedy: at most %d "
                       "ranks, got %u; duplex needs a round less",
                       CS_TELEPHONE_MOST_RANKS, n);
    }
    if (o->chunks == CS_AUTO) {
        CS_TRY(cs_phase2_count(n, n - 1, true, &rounds, &steps, greedy, err));
        pace   p      = pace_of(scenario, o->straggler);
        double many_s = end_s(scenario, o, &p, n - 1, rounds, (cs_prephase)o->prephase);
        double one_s  = end_s(scenario, o, &p, 1, cs_log2_ceil(n), CS_PREPHASE_CIRCULANT);
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
    uint64_t most = MOST_MESSAGES / n;

    most = most > n - 1 ? most : n - 1;
    return chunks <= most ? CS_OK
                          : CS_FAIL(err, CS_ENOTSUP, "algorithm.options.chunks",
                                    "%u for %u ranks: %.2g messages would take minutes to replay; "
                                    "accepted are at most %llu, and auto",
                                    chunks, n, (double)chunks * n, (unsigned long long)most);
}

static cs_status check_chunks(const cs_scenario *scenario, stragglar_options *o,
                              cs_label_rounds *greedy, cs_error *err)
{
    uint32_t n = scenario->cluster.n_ranks, least = cs_rail_least_chunks(n);

    o->chunks = o->chunks == 0 ? n - 1 : o->chunks;
    if (n % 2 == 1 && is_telephone(o)) {
        return check_telephone(scenario, o, greedy, err);
    }
    if (o->chunks == CS_AUTO) {
        o->chunks = best_chunks(scenario, o);
    }
    if (o->chunks != 1 && o->chunks < least) {
        return CS_FAIL(err, CS_ENOTSUP, "algorithm.options.chunks",
                       "%u ranks: accepted are 1, %u or more, and auto, not %u", n, least,
                       o->chunks);
    }
    return check_messages(n, o->chunks, err);
}

static cs_status check_one(const cs_scenario *scenario, stragglar_options *o, cs_plan *plan,
                           cs_label_rounds *greedy, cs_error *err)
{
    uint32_t n = scenario->cluster.n_ranks, rounds = 0;

    if (o->model == PORT_AUTO) {
        o->model = n % 2 == 0 ? PORT_TELEPHONE : PORT_DUPLEX;
    }
    CS_TRY(cs_late_check(scenario, (cs_late_options *)o, err));
    CS_TRY(check_chunks(scenario, o, greedy, err));
    cs_late_layout layout = layout_of(scenario, o);
    o->prephase           = (int)layout.prephase;
    CS_TRY(cs_late_layout_check(&layout, err));
    CS_TRY(cs_phase2_count(n, o->chunks, is_telephone(o), &rounds, &o->steps, greedy, err));
    *plan = (cs_plan){.n_chunks = o->chunks,
                      .n_slots  = layout.n_slots,
                      .n_rounds = cs_phase1_rounds(&layout) + rounds,
                      .uses     = CS_USES_EXCHANGE | cs_phase1_uses(&layout) |
                              cs_uses_nvlink(&scenario->cluster)};
    return CS_OK;
}

/* ---- one late rank on servers of several GPUs ---- */

/* What is asked for and only ranks that know no servers have; NULL: nothing. */
static const char *flat_reason(const stragglar_options *o)
{
    if (o->entry_barrier_s > 0 || o->phase_barrier_s > 0) {
        return "a cost of barriers, which there are none of";
    }
    if (is_telephone(o)) {
        return "the telephone model";
    }
    return o->prephase == CS_PREPHASE_CIRCULANT ? "a circulant pre-phase" : NULL;
}

/* Does the schedule take account of servers? */
static bool is_over_servers(const cs_scenario *scenario, const stragglar_options *o)
{
    return o->late_ranks == 1 && o->inside != INSIDE_FLAT && cs_has_servers(&scenario->cluster) &&
           (o->inside != INSIDE_AUTO || flat_reason(o) == NULL);
}

static cs_servers_shape shape_of(const stragglar_options *o)
{
    return (cs_servers_shape){.late    = o->straggler,
                              .chunks  = o->chunks,
                              .is_tree = o->inside == INSIDE_TREE,
                              .halves  = o->halves == HALVES_ON};
}

/* When the last rank but the presumed one comes. */
static double early_s(const cs_scenario *scenario, const stragglar_options *o)
{
    double last_s = 0;

    for (uint32_t r = 0; r < scenario->cluster.n_ranks; r++) {
        last_s = r == o->straggler ? last_s : fmax(last_s, cs_arrival(scenario, r));
    }
    return last_s;
}

/* Which options a shape is made of: refused are those that do not go together. */
static cs_status check_servers_options(const cs_scenario *scenario, const stragglar_options *o,
                                       uint32_t most, cs_error *err)
{
    uint32_t servers = cs_n_servers(&scenario->cluster), least = cs_rail_least_chunks(servers);
    bool     is_free = o->chunks == 0 || o->chunks == CS_AUTO;

    if (flat_reason(o) != NULL) {
        return CS_FAIL(err, CS_ENOTSUP, "algorithm.options.inside",
                       "only flat goes with %s over servers of several GPUs", flat_reason(o));
    }
    if (o->halves == HALVES_ON && (servers != 3 || o->inside == INSIDE_TREE)) {
        return CS_FAIL(err, CS_ENOTSUP, "algorithm.options.halves",
                       "only for three servers and inside=chain; accepted are off and auto");
    }
    if (most == 0) {
        return CS_FAIL(err, CS_ENOTSUP, "cluster.ranks", "too many for stragglar over servers: %u",
                       scenario->cluster.n_ranks);
    }
    if (!is_free && o->inside == INSIDE_TREE && o->chunks != 1) {
        return CS_FAIL(err, CS_ENOTSUP, "algorithm.options.chunks",
                       "a tree has one chunk a rail: accepted are 1 and auto, not %u", o->chunks);
    }
    if (!is_free && ((o->chunks != 1 && o->chunks < least) || o->chunks > most)) {
        return CS_FAIL(err, CS_ENOTSUP, "algorithm.options.chunks",
                       "%u servers: accepted are 1, %u .. %u, and auto, not %u", servers, least,
                       most, o->chunks);
    }
    return CS_OK;
}

/* Of what the options leave open, the shape with the least predicted end. O(chunks). */
static cs_servers_shape best_shape(const cs_scenario *scenario, const stragglar_options *o,
                                   uint32_t most)
{
    const cs_servers_pace p       = cs_servers_pace_of(scenario);
    bool                  is_free = o->chunks == 0 || o->chunks == CS_AUTO;
    bool                  fits    = cs_most_slots(scenario->cluster.n_ranks) >= p.locals;
    double                first_s = early_s(scenario, o), best_s = (double)INFINITY;
    double                late_s = cs_arrival(scenario, o->straggler);
    cs_servers_shape      best   = shape_of(o);
    const struct {
        bool is_open, is_tree, halves;
    } ways[] = {
        {o->inside != INSIDE_TREE && o->halves != HALVES_ON, false, false},
        {o->inside != INSIDE_TREE && o->halves != HALVES_OFF && p.servers == 3, false, true},
        {o->inside != INSIDE_CHAIN && o->halves != HALVES_ON && fits && (is_free || o->chunks == 1),
         true, false}};

    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        cs_servers_shape way = {o->straggler, o->chunks, ways[i].is_tree, ways[i].halves};
        if (ways[i].is_open && is_free) {
            cs_servers_set_best_chunks(&p, most, first_s, late_s, &way);
        }
        double end = ways[i].is_open ? cs_servers_end_s(&p, &way, first_s, late_s) : best_s;
        best       = end < best_s ? way : best;
        best_s     = fmin(end, best_s);
    }
    return best;
}

static cs_status check_servers(const cs_scenario *scenario, stragglar_options *o, cs_plan *plan,
                               cs_error *err)
{
    double   room = (double)MOST_MESSAGES / cs_servers_messages(&scenario->cluster, 1);
    uint32_t most = cs_servers_most_chunks(&scenario->cluster);

    most = room < most ? (uint32_t)room : most;
    CS_TRY(cs_late_check(scenario, (cs_late_options *)o, err));
    CS_TRY(check_servers_options(scenario, o, most, err));
    const cs_servers_shape shape = best_shape(scenario, o, most);
    *plan                        = cs_servers_plan(scenario, &shape);
    o->chunks                    = shape.chunks;
    o->inside                    = shape.is_tree ? INSIDE_TREE : INSIDE_CHAIN;
    o->halves                    = shape.halves ? HALVES_ON : HALVES_OFF;
    o->model                     = PORT_DUPLEX;
    return CS_OK;
}

/* One late rank, with options that are replaced by what they come to. */
static cs_status check_late(const cs_scenario *scenario, stragglar_options *o, cs_plan *plan,
                            cs_label_rounds *greedy, cs_error *err)
{
    return is_over_servers(scenario, o) ? check_servers(scenario, o, plan, err)
                                        : check_one(scenario, o, plan, greedy, err);
}

/* ---- what has to be searched for ---- */

/* What check() makes for its plan, and the streams go through. */
typedef struct prepared {
    cs_label_rounds         greedy;     /* one late rank: rounds of telephone.h; mostly none */
    cs_multi_late_schedule *multi_late; /* of several late ranks; else NULL */
} prepared;

static void empty(prepared *p)
{
    cs_label_rounds_free(&p->greedy);
    cs_multi_late_free(p->multi_late);
    *p = (prepared){.multi_late = NULL};
}

static void release(void *given)
{
    empty(given);
    cs_free(given);
}

/* Hand it over to the plan, if there is anything. */
static cs_status keep(const prepared *p, cs_plan *plan, cs_error *err)
{
    if (p->greedy.n_rounds == 0 && p->multi_late == NULL) {
        return CS_OK;
    }
    prepared *kept = CS_NEW(prepared, 1);
    if (kept == NULL) {
        return CS_NO_MEMORY(err, "stragglar");
    }
    *kept          = *p;
    plan->prepared = kept;
    return CS_OK;
}

/* ---- another number of late ranks than one ---- */

extern const cs_algorithm cs_algorithm_stragglar;

/* What belongs to one late rank must not be asked for. */
static cs_status check_alone(const cs_scenario *scenario, const stragglar_options *o, cs_error *err)
{
    const char *what = NULL;

    if (o->straggler != CS_AUTO && o->straggler != cs_last_rank(scenario)) {
        what = "a straggler";
    } else if (o->entry_barrier_s > 0 || o->phase_barrier_s > 0) {
        what = "a cost of barriers, which there are none of";
    } else if (is_telephone(o)) {
        what = "the telephone model";
    }
    return what == NULL ? CS_OK
                        : CS_FAIL(err, CS_ENOTSUP, "algorithm.options.late_ranks",
                                  "only 1 late rank goes with %s", what);
}

/* When the schedule with one late rank ends, with the best options that are left free: predicted,
 * which holds where all ranks have one kind of port, otherwise as the forecast says. */
static cs_status one_end_s(const cs_scenario *scenario, const stragglar_options *o, double *end_p,
                           cs_error *err)
{
    const cs_forecast *f    = scenario->forecast;
    stragglar_options  one  = *o;
    cs_plan            plan = {0};
    prepared           made = {.multi_late = NULL};

    one.late_ranks   = 1;
    cs_status status = check_late(scenario, &one, &plan, &made.greedy, err);
    plan.prepared    = &made;
    if (status == CS_OK && f != NULL && !cs_one_port_kind(&scenario->cluster)) {
        status = f->elapsed_s(f, scenario, &cs_algorithm_stragglar, &one, &plan, end_p, err);
    } else if (status == CS_OK && is_over_servers(scenario, &one)) {
        const cs_servers_pace  p     = cs_servers_pace_of(scenario);
        const cs_servers_shape shape = shape_of(&one);
        *end_p                       = cs_servers_end_s(&p, &shape, early_s(scenario, &one),
                                                        cs_arrival(scenario, one.straggler));
    } else if (status == CS_OK) {
        pace     p      = pace_of(scenario, one.straggler);
        uint32_t rounds = rotation_rounds(scenario->cluster.n_ranks, one.chunks);
        *end_p          = end_s(scenario, &one, &p, one.chunks, rounds, (cs_prephase)one.prephase);
    }
    empty(&made);
    return status;
}

static cs_multi_late_choice choice_of(const stragglar_options *o)
{
    return (cs_multi_late_choice){o->late_ranks, o->chunks, o->late_roots,
                                  (cs_late_baseline)o->baseline};
}

/* `auto` may come to one. */
static cs_status check_other(const cs_scenario *scenario, stragglar_options *o, cs_plan *plan,
                             prepared *made, cs_error *err)
{
    cs_multi_late_choice choice = choice_of(o);
    double               one_s  = 0;

    CS_TRY(check_alone(scenario, o, err));
    if (o->late_ranks == CS_AUTO) {
        CS_TRY(one_end_s(scenario, o, &one_s, err));
    }
    CS_TRY(cs_multi_late_choose(scenario, one_s, &choice, &made->multi_late, err));
    if (choice.late == 1) {
        o->late_ranks = 1;
        o->baseline   = (int)choice.baseline;
        return check_late(scenario, o, plan, &made->greedy, err);
    }
    CS_TRY(cs_multi_late_plan(scenario, &choice, plan, &made->multi_late, err));
    o->late_ranks = choice.late;
    o->baseline   = (int)choice.baseline;
    o->late_roots = choice.roots;
    o->chunks     = choice.chunks;
    o->straggler  = cs_last_rank(scenario);
    o->model      = PORT_DUPLEX;
    o->prephase   = CS_PREPHASE_CIRCULANT;
    o->inside     = INSIDE_FLAT;
    return CS_OK;
}

#define NOTE(name) "stragglar: " name " runs instead: it ends earlier than with a late rank"

/* Over servers: the schedule for one late rank, or the baseline if that ends earlier. */
static cs_status check_auto(const cs_scenario *scenario, stragglar_options *o, cs_plan *plan,
                            prepared *made, cs_error *err)
{
    static const char *const notes[CS_BASELINE_COUNT] = {
        [CS_BASELINE_CIRCULANT]       = NOTE("circulant"),
        [CS_BASELINE_LATENCY_OPTIMAL] = NOTE("latency_optimal"),
        [CS_BASELINE_MERGED_RHD]      = NOTE("merged_rhd"),
        [CS_BASELINE_RHD]             = NOTE("rhd"),
        [CS_BASELINE_RING]            = NOTE("ring"),
        [CS_BASELINE_NCCL_RINGS]      = NOTE("nccl_rings"),
        [CS_BASELINE_PARALLEL_RINGS]  = NOTE("parallel_rings"),
        [CS_BASELINE_HIERARCHICAL]    = NOTE("hierarchical"),
    };
    cs_late_baseline baseline  = (cs_late_baseline)o->baseline;
    bool             is_faster = false;
    double           end       = 0;

    CS_TRY(one_end_s(scenario, o, &end, err));
    CS_TRY(cs_baseline_is_faster(scenario, end, &baseline, &is_faster, err));
    if (!is_faster) {
        return check_servers(scenario, o, plan, err);
    }
    o->late_ranks = 0;
    o->straggler  = CS_AUTO;
    o->baseline   = (int)baseline;
    CS_TRY(check_other(scenario, o, plan, made, err));
    plan->note = notes[baseline];
    return CS_OK;
}

/* Replace what is CS_AUTO or 0 for "as in the paper", and plan the schedule. Rounds that are
 * searched for (odd numbers of ranks in the telephone model, several late ranks) are made for it
 * and kept for the streams. */
static cs_status stragglar_check(const cs_scenario *scenario, void *options, cs_plan *plan,
                                 cs_error *err)
{
    stragglar_options *o       = options;
    prepared           made    = {.multi_late = NULL};
    bool               is_free = o->inside == INSIDE_AUTO && is_over_servers(scenario, o);
    cs_status          status  = is_free              ? check_auto(scenario, o, plan, &made, err)
                                 : o->late_ranks == 1 ? check_late(scenario, o, plan, &made.greedy, err)
                                                      : check_other(scenario, o, plan, &made, err);

    if (status == CS_OK) {
        status = keep(&made, plan, err);
    }
    if (status != CS_OK) {
        empty(&made);
    }
    o->late_roots = o->late_ranks == 1 ? 0 : o->late_roots;
    if (!is_over_servers(scenario, o)) {
        o->inside = INSIDE_FLAT;
        o->halves = HALVES_OFF;
    }
    if (o->baseline == CS_BASELINE_AUTO) { /* it does not run */
        o->baseline = (int)cs_baseline_predicted(scenario);
    }
    return status;
}

/* ---- the stream ---- */

typedef struct stragglar {
    cs_late_layout        layout;
    cs_arena              arena;
    bool                  is_in_phase1;
    cs_phase1             phase1;
    cs_phase2            *phase2;
    cs_multi_late_stream *other;   /* another number of late ranks than one, or ... */
    cs_servers           *servers; /* ... one on servers: all above is unused */
} stragglar;

static void stragglar_close(void *state)
{
    stragglar *s = state;

    if (s != NULL) {
        cs_phase2_close(s->phase2);
        cs_multi_late_close(s->other);
        cs_servers_close(s->servers);
        cs_arena_free(&s->arena);
        cs_free(s);
    }
}

static cs_status open_one(stragglar *s, const cs_scenario *scenario, const stragglar_options *o,
                          const cs_label_rounds *greedy, cs_error *err)
{
    s->layout       = layout_of(scenario, o);
    s->is_in_phase1 = scenario->cluster.n_ranks > 2;

    CS_TRY(cs_late_layout_build(&s->layout, &s->arena, err));
    cs_phase1_start(&s->phase1, &s->layout, o->entry_barrier_s);
    return cs_phase2_open(&s->layout, is_telephone(o), cs_phase1_rounds(&s->layout),
                          o->phase_barrier_s, greedy, &s->arena, &s->phase2, err);
}

static cs_status stragglar_open(const cs_scenario *scenario, const void *options, const void *given,
                                void **state_p, cs_error *err)
{
    static const prepared      nothing = {.multi_late = NULL};
    const prepared            *p       = given != NULL ? given : &nothing;
    const stragglar_options   *o       = options;
    const cs_multi_late_choice choice  = choice_of(o);
    stragglar                 *s       = CS_NEW(stragglar, 1);

    if (s == NULL) {
        return CS_NO_MEMORY(err, "stragglar");
    }
    const cs_servers_shape shape = shape_of(o);
    cs_status              status;

    if (is_over_servers(scenario, o)) {
        status = cs_servers_open(scenario, &shape, &s->servers, err);
    } else if (o->late_ranks == 1) {
        status = open_one(s, scenario, o, &p->greedy, err);
    } else {
        status = cs_multi_late_open(scenario, &choice, p->multi_late, &s->other, err);
    }
    if (status != CS_OK) {
        stragglar_close(s);
        return status;
    }
    *state_p = s;
    return CS_OK;
}

/* Phases begin with a new block, since barriers stand at the beginning of blocks. */
static void stragglar_next_block(void *state, cs_block *block)
{
    stragglar *s = state;

    block->count = 0;
    if (s->servers != NULL) {
        cs_servers_next(s->servers, block);
        return;
    }
    if (s->other != NULL) {
        cs_multi_late_next(s->other, block);
        return;
    }
    s->is_in_phase1 = s->is_in_phase1 && cs_phase1_next(&s->phase1, block);
    if (!s->is_in_phase1) {
        (void)cs_phase2_next(s->phase2, block);
    }
}

/* The pre-phase begins when the last early rank has come; then C - 1 + ceil(log2 n) rounds of one
 * chunk from barrier 2 on (or what the greedy takes). Exact for equal chunks, when all ranks move
 * in lockstep, and unless the pre-phase is known as a bound only and not hidden. */
static double one_closed_form_s(const cs_scenario *scenario, const stragglar_options *o)
{
    const cs_late_options *late   = (const cs_late_options *)o;
    cs_late_layout         layout = layout_of(scenario, o);
    uint32_t               fabric;
    double                 pre_s = 0;
    bool                   exact = true;

    if (!cs_is_uniform(scenario, &fabric) || scenario->bytes % o->chunks != 0) {
        return (double)NAN;
    }
    const cs_fabric *f     = &scenario->cluster.fabrics[fabric];
    uint64_t         bytes = scenario->bytes / o->chunks;
    if (scenario->cluster.n_ranks > 2) {
        pre_s = cs_phase1_s(&layout, (double)bytes, f->alpha_s, 1 / f->bandwidth_Bps, &exact);
    }
    double start_s = cs_late_main_start_s(scenario, late, pre_s);
    if (!exact && start_s > cs_late_main_start_s(scenario, late, 0)) {
        return (double)NAN;
    }
    return start_s + o->steps * cs_message_s(scenario, fabric, bytes);
}

/* Known where the NICs limit, for equal chunks, when the pre-phase is over. */
static double servers_closed_form_s(const cs_scenario *scenario, const stragglar_options *o)
{
    const cs_cluster      *c      = &scenario->cluster;
    const cs_servers_pace  p      = cs_servers_pace_of(scenario);
    const cs_servers_shape shape  = shape_of(o);
    double                 late_s = cs_arrival(scenario, o->straggler);

    if (!cs_nics_are_even(scenario) || c->servers != NULL || c->sockets > 1 ||
        c->fabrics[CS_NVLINK].kind != CS_SWITCHED ||
        scenario->bytes % ((uint64_t)p.locals * o->chunks) != 0 ||
        !cs_servers_is_exact(&p, &shape) ||
        early_s(scenario, o) + cs_servers_pre_s(&p, &shape) > late_s) {
        return (double)NAN;
    }
    return late_s + cs_servers_main_s(&p, &shape);
}

static double stragglar_closed_form_s(const cs_scenario *scenario, const void *options)
{
    const stragglar_options   *o      = options;
    const cs_multi_late_choice choice = choice_of(o);

    if (is_over_servers(scenario, o)) {
        return servers_closed_form_s(scenario, o);
    }
    return o->late_ranks == 1 ? one_closed_form_s(scenario, o)
                              : cs_multi_late_closed_form_s(scenario, &choice);
}

const cs_algorithm cs_algorithm_stragglar = {
    .name        = "stragglar",
    .summary     = "ReduceScatter among the others while one rank is late, then n-2+log2 n rounds",
    .source      = "Efficient AllReduce with Stragglers (StragglAR); rotational schedule",
    .collectives = 1u << CS_ALLREDUCE,
    .options     = table,
    .options_bytes = sizeof(stragglar_options),
    .check         = stragglar_check,
    .open_prepared = stragglar_open,
    .release       = release,
    .next_block    = stragglar_next_block,
    .close         = stragglar_close,
    .closed_form_s = stragglar_closed_form_s,
};
