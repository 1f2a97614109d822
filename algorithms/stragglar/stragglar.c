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
 * runs where it ends earlier, and the plan's note says so; or a share of the buffer goes this way,
 * and the rest around rings (sharing.h).
 *
 * Source: "Efficient AllReduce with Stragglers" (StragglAR); the rotational schedule and the choice
 * of chunks are this project's (sim/doc/stragglar.md).
 */
#include "algorithms/lib/accept.h"
#include "algorithms/stragglar/multi_late.h"
#include "algorithms/stragglar/phase1.h"
#include "algorithms/stragglar/phase2.h"
#include "algorithms/stragglar/rail.h"
#include "algorithms/stragglar/servers_choice.h"
#include "algorithms/stragglar/sharing.h"
#include "algorithms/stragglar/telephone.h"
#include "base/alloc.h"
#include "cs/capacity.h"

#include <assert.h>
#include <math.h>

/* ---- options ---- */

enum {
    MOST_CHUNKS        = 1 << 20,
    MOST_AUTO_CHUNKS   = 16384,
    MOST_ROOTS         = 100,
    MOST_SEGMENTS      = 1024,
    MOST_REST_SEGMENTS = 64,
};

/* Of the main phase, if chunks are asked for beyond the paper's n - 1: a minute at 40 million
 * messages a second (alpha-beta, verified). */
#define MOST_MESSAGES ((uint64_t)1 << 31)

typedef enum port_model { PORT_AUTO, PORT_TELEPHONE, PORT_DUPLEX } port_model;

/* How the GPUs of a server share the work. */
typedef enum inside { INSIDE_AUTO, INSIDE_FLAT, INSIDE_CHAIN, INSIDE_TREE, INSIDE_DIRECT } inside;
typedef enum halves { HALVES_AUTO, HALVES_ON, HALVES_OFF } halves;

typedef struct stragglar_options {
    CS_LATE_OPTIONS;
    int      model;  /* port_model; resolved, only the last two */
    uint32_t chunks; /* 0: n - 1 */
    int      prephase;
    uint32_t late_ranks; /* k; 0: the baseline runs */
    uint32_t late_roots;
    int      baseline; /* cs_baseline */
    uint32_t baseline_segments;
    int      inside, halves; /* of the enumerations; resolved, not auto */
    uint32_t gateways;
    double   share;         /* of the buffer, by the schedule for the late rank; the rest is .. */
    uint32_t rest_segments; /* .. in so many; resolved, not auto; 0 where there is no rest */
    /* not in the table: */
    uint32_t steps;      /* of the main phase (cs_phase2_count), for one late rank */
    uint64_t main_bytes; /* share < 1: the share */
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
    CS_OPTION_AUTO(
        stragglar_options, baseline_segments, 1, MOST_SEGMENTS,
        "of hierarchical and parallel_rings then; auto: over servers the best of 1 .. 16"),
    CS_OPTION_CHOICE(
        stragglar_options, inside, "auto|flat|chain|tree|direct",
        "over servers: flat: as if there were none; auto: what ends first, or the baseline"),
    CS_OPTION_AUTO(stragglar_options, gateways, 1, CS_MAX_RANKS,
                   "over servers: GPUs of one that use their NIC, as many for each of its NICs"),
    CS_OPTION_CHOICE(stragglar_options, halves, "auto|on|off",
                     "three servers: half the pre-phase, two rounds more"),
    CS_OPTION_ROW(stragglar_options, share, (double)CS_AUTO, 0, 1, true, NULL,
                  "of the buffer for the late rank's schedule, the rest by rings behind it; auto: "
                  "the best with inside=auto over servers, else 1"),
    CS_OPTION_AUTO(stragglar_options, rest_segments, 0, MOST_REST_SEGMENTS,
                   "of the rest, one behind the other; 0 as auto: the best number"),
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
    return o->late_ranks > 0 && o->inside != INSIDE_FLAT && cs_has_servers(&scenario->cluster) &&
           (o->inside != INSIDE_AUTO || flat_reason(o) == NULL);
}

static cs_servers_wish wish_of(const stragglar_options *o)
{
    bool is_any = o->inside == INSIDE_AUTO;

    return (cs_servers_wish){.straggler  = o->straggler,
                             .late_ranks = o->late_ranks,
                             .chunks     = o->chunks,
                             .gateways   = o->gateways,
                             .forms  = {[CS_SERVERS_CHAIN]  = is_any || o->inside == INSIDE_CHAIN,
                                        [CS_SERVERS_TREE]   = is_any || o->inside == INSIDE_TREE,
                                        [CS_SERVERS_DIRECT] = is_any || o->inside == INSIDE_DIRECT},
                             .whole  = o->halves != HALVES_ON,
                             .halves = o->halves != HALVES_OFF};
}

/* Refuse options that do not go together. */
static cs_status check_servers_options(const cs_scenario *scenario, const stragglar_options *o,
                                       cs_error *err)
{
    uint32_t l = scenario->cluster.gpus_per_server;

    if (flat_reason(o) != NULL) {
        return CS_FAIL(err, CS_ENOTSUP, "algorithm.options.inside",
                       "only flat goes with %s over servers of several GPUs", flat_reason(o));
    }
    if (o->gateways != CS_AUTO && (o->gateways > l || l % o->gateways != 0)) {
        return CS_FAIL(err, CS_ENOTSUP, "algorithm.options.gateways",
                       "%u of %u GPUs; accepted are divisors of %u and auto", o->gateways, l, l);
    }
    if (o->late_ranks >= scenario->cluster.n_ranks && o->late_ranks != CS_AUTO) {
        return CS_FAIL(err, CS_EINVAL, "algorithm.options.late_ranks",
                       "%u late ranks of %u; accepted are 0 .. %u and auto", o->late_ranks,
                       scenario->cluster.n_ranks, scenario->cluster.n_ranks - 1);
    }
    if (o->late_ranks > 1 && o->straggler != CS_AUTO && o->straggler != cs_last_rank(scenario)) {
        return CS_FAIL(err, CS_ENOTSUP, "algorithm.options.late_ranks",
                       "only 1 late rank goes with a straggler");
    }
    return o->late_roots == CS_AUTO || o->late_roots == 0
               ? CS_OK
               : CS_FAIL(err, CS_ENOTSUP, "algorithm.options.late_roots",
                         "over servers late ranks complete nothing first; accepted are 0 and auto");
}

/* The schedule over servers that the options leave open and that ends first. */
static cs_status choose_servers(const cs_scenario *scenario, stragglar_options *o,
                                cs_servers_choice *choice, cs_error *err)
{
    CS_TRY(check_servers_options(scenario, o, err));
    CS_TRY(cs_late_check(scenario, (cs_late_options *)o, err));
    const cs_servers_wish wish = wish_of(o);
    return cs_servers_choose(scenario, &wish, choice, err);
}

static cs_status shape_of(const cs_scenario *scenario, const stragglar_options *o,
                          cs_servers_shape *shape, cs_error *err)
{
    *shape = (cs_servers_shape){.form     = o->inside == INSIDE_TREE     ? CS_SERVERS_TREE
                                            : o->inside == INSIDE_DIRECT ? CS_SERVERS_DIRECT
                                                                         : CS_SERVERS_CHAIN,
                                .gateways = o->gateways,
                                .chunks   = o->chunks,
                                .halves   = o->halves == HALVES_ON};
    return cs_servers_count_late(scenario, o->straggler, o->late_ranks, &shape->late, err);
}

/* Put what was chosen into the options. */
static cs_status take_servers(const cs_scenario *scenario, const cs_servers_shape *shape,
                              const cs_multi_late_schedule *rounds, stragglar_options *o,
                              cs_plan *plan, cs_error *err)
{
    static const int inside_of[] = {[CS_SERVERS_CHAIN]  = INSIDE_CHAIN,
                                    [CS_SERVERS_DIRECT] = INSIDE_DIRECT,
                                    [CS_SERVERS_TREE]   = INSIDE_TREE};

    o->late_ranks = shape->late.count;
    o->chunks     = shape->chunks;
    o->inside     = inside_of[shape->form];
    o->gateways   = shape->gateways;
    o->halves     = shape->halves ? HALVES_ON : HALVES_OFF;
    o->late_roots = 0;
    o->model      = PORT_DUPLEX;
    return cs_servers_plan(scenario, shape, rounds, plan, err);
}

/* ---- what has to be searched for ---- */

/* What check() makes for its plan, and the streams go through. */
typedef struct prepared {
    cs_plan                 main;       /* of the share, if there is one */
    cs_label_rounds         greedy;     /* one late rank: rounds of telephone.h; mostly none */
    cs_multi_late_schedule *multi_late; /* of several late ranks, or servers; else NULL */
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
    if (p->greedy.n_rounds == 0 && p->multi_late == NULL && p->main.n_chunks == 0) {
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

/* ---- a share for one late rank, the rest by rings ---- */

extern const cs_algorithm cs_algorithm_stragglar;

static bool is_shared(const stragglar_options *o)
{
    return o->share < 1;
}

static cs_sharing_shape sharing_of(const cs_scenario *scenario, const stragglar_options *o)
{
    return (cs_sharing_shape){.is_flat    = !is_over_servers(scenario, o),
                              .late       = o->straggler,
                              .main_bytes = o->main_bytes,
                              .segments   = o->rest_segments};
}

static uint64_t share_bytes(const cs_scenario *scenario, double share)
{
    return (uint64_t)llround(share * (double)scenario->bytes);
}

/* The scenario and the options of the share alone. */
static cs_scenario share_scenario(const cs_scenario *scenario, const stragglar_options *o)
{
    cs_scenario share = *scenario;

    share.bytes    = o->main_bytes;
    share.forecast = NULL;
    return share;
}

static stragglar_options share_options(const stragglar_options *o)
{
    stragglar_options share = *o;

    share.share = 1;
    return share;
}

/* As the formulas see the machine; ranks that know no servers are servers of one GPU. */
static cs_servers_pace sharing_pace(const cs_scenario *scenario, const stragglar_options *o)
{
    if (is_over_servers(scenario, o)) {
        return cs_servers_pace_of(scenario);
    }
    pace p = pace_of(scenario, o->straggler);
    return (cs_servers_pace){.servers        = scenario->cluster.n_ranks,
                             .locals         = 1,
                             .nic_sharers    = 1,
                             .bytes          = (double)scenario->bytes,
                             .nic_alpha_s    = p.alpha_s,
                             .nic_s_per_byte = p.main_s_per_byte};
}

/* The late rank alone. */
static cs_servers_late late_of(const cs_scenario *scenario, const stragglar_options *o)
{
    cs_servers_late late = {.rank       = o->straggler,
                            .count      = 1,
                            .servers    = 1,
                            .most       = 1,
                            .most_mixed = 1,
                            .last_s     = cs_arrival(scenario, o->straggler)};

    for (uint32_t r = 0; r < scenario->cluster.n_ranks; r++) {
        late.early_s =
            r == o->straggler ? late.early_s : fmax(late.early_s, cs_arrival(scenario, r));
    }
    return late;
}

/* What the rest takes behind the share, predicted, with the best number of segments if that is
 * free. */
static double set_rest(const cs_servers_pace *p, stragglar_options *o)
{
    bool     is_free = o->rest_segments == 0 || o->rest_segments == CS_AUTO;
    uint32_t first = is_free ? 1 : o->rest_segments, last = is_free ? MOST_REST_SEGMENTS : first;
    cs_sharing_shape way    = {.main_bytes = o->main_bytes};
    double           best_s = (double)INFINITY;

    for (way.segments = first; way.segments <= last; way.segments++) {
        double this_s    = cs_sharing_rest_s(p, &way);
        o->rest_segments = this_s < best_s ? way.segments : o->rest_segments;
        best_s           = fmin(this_s, best_s);
    }
    return best_s;
}

/* A share, and what is best for the rest; when all has ended, predicted. */
static double set_share(const cs_scenario *scenario, double share, const cs_servers_late *late,
                        stragglar_options *o)
{
    const cs_servers_pace whole      = sharing_pace(scenario, o);
    cs_servers_pace       p          = whole;
    cs_servers_shape      shape      = {.form     = CS_SERVERS_CHAIN,
                                        .late     = *late,
                                        .gateways = whole.locals,
                                        .chunks   = o->chunks,
                                        .halves   = o->halves == HALVES_ON};
    double                main_end_s = fmax(late->early_s, late->last_s);

    o->main_bytes = share_bytes(scenario, share);
    o->share      = (double)o->main_bytes / (double)scenario->bytes;
    p.bytes       = (double)o->main_bytes;
    if (o->main_bytes > 0) {
        if (o->chunks == 0 || o->chunks == CS_AUTO) {
            cs_servers_set_best_chunks(&p, cs_servers_most_chunks(&scenario->cluster, late),
                                       &shape);
        }
        main_end_s = cs_servers_end_s(&p, &shape);
    }
    return main_end_s + set_rest(&whole, o);
}

/* Plan both parts of resolved bytes. */
static cs_status plan_shared(const cs_scenario *scenario, stragglar_options *o, cs_plan *plan,
                             prepared *made, cs_error *err)
{
    const cs_scenario sub    = share_scenario(scenario, o);
    stragglar_options alone  = share_options(o);
    cs_servers_choice choice = {.rounds = NULL};

    if (o->main_bytes > 0 && is_over_servers(scenario, o)) {
        CS_TRY(choose_servers(&sub, &alone, &choice, err));
        CS_TRY(take_servers(&sub, &choice.shape, NULL, &alone, &made->main, err));
    } else if (o->main_bytes > 0) {
        CS_TRY(check_one(&sub, &alone, &made->main, &made->greedy, err));
    }
    alone.share                  = o->share;
    *o                           = alone;
    const cs_sharing_shape shape = sharing_of(scenario, o);
    return cs_sharing_plan(scenario, &shape, &made->main, plan, err);
}

/* The share that was asked for. */
static cs_status check_share(const cs_scenario *scenario, stragglar_options *o, cs_plan *plan,
                             prepared *made, cs_error *err)
{
    bool has_chain   = o->inside != INSIDE_TREE && o->inside != INSIDE_DIRECT;
    bool has_all     = o->gateways == CS_AUTO || o->gateways == scenario->cluster.gpus_per_server;
    const char *what = o->late_ranks != 1 ? "late_ranks=1"
                       : !has_chain       ? "inside=chain and inside=flat"
                       : !has_all         ? "all GPUs as gateways"
                                          : NULL;

    if (what != NULL) {
        return CS_FAIL(err, CS_ENOTSUP, "algorithm.options.share", "less than 1 only goes with %s",
                       what);
    }
    CS_TRY(cs_late_check(scenario, (cs_late_options *)o, err));
    const cs_servers_late late = late_of(scenario, o);
    o->inside                  = is_over_servers(scenario, o) ? INSIDE_CHAIN : INSIDE_FLAT;
    o->gateways                = scenario->cluster.gpus_per_server;
    (void)set_share(scenario, o->share, &late, o);
    return plan_shared(scenario, o, plan, made, err);
}

/* The share with the least predicted end: in steps of a 16th, then of a 64th around the best. */
static double best_share(const cs_scenario *scenario, const cs_servers_late *late,
                         const stragglar_options *o)
{
    double first = 1. / 16, last = 15. / 16, by = 1. / 16, best = 0, best_s = (double)INFINITY;

    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; first + i * by <= last; i++) {
            stragglar_options way    = *o;
            double            this_s = set_share(scenario, first + i * by, late, &way);
            best                     = this_s < best_s ? first + i * by : best;
            best_s                   = fmin(this_s, best_s);
        }
        first = best - 3. / 64;
        last  = fmin(best + 3. / 64, 63. / 64);
        by    = 1. / 64;
    }
    return best;
}

/* When a share ends: as the forecast says, else as predicted; never, where it is refused. */
static cs_status share_end_s(const cs_scenario *scenario, double share, const cs_servers_late *late,
                             stragglar_options *o, double *end_p, cs_error *err)
{
    const cs_forecast *f    = scenario->forecast;
    cs_plan            plan = {0};
    prepared           made = {.multi_late = NULL};

    *end_p           = set_share(scenario, share, late, o);
    cs_status status = plan_shared(scenario, o, &plan, &made, err);
    if (status == CS_OK && f != NULL) {
        plan.prepared         = &made;
        plan.ignores_arrivals = true; /* with these options, which were chosen for them */
        status = f->elapsed_s(f, scenario, &cs_algorithm_stragglar, o, &plan, end_p, err);
    }
    empty(&made);
    *end_p = status == CS_OK ? *end_p : (double)INFINITY;
    return cs_status_is_refusal(status) ? CS_OK : status;
}

/* From what is predicted to be the best on by steps: fewer segments, more, a smaller share, a
 * larger one, each for as long as it ends earlier. */
static cs_status improve_share(const cs_scenario *scenario, const cs_servers_late *late,
                               uint32_t chunks, stragglar_options *best, double *best_p,
                               cs_error *err)
{
    static const struct {
        int    segments;
        double share;
    } steps[] = {{-1, 0}, {1, 0}, {0, -1. / 32}, {0, 1. / 32}};

    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        for (bool goes_on = true; goes_on;) {
            stragglar_options way      = *best;
            double            share    = best->share + steps[i].share, end;
            int64_t           segments = (int64_t)best->rest_segments + steps[i].segments;
            if (share <= 0 || share >= 1 || segments < 1 || segments > MOST_REST_SEGMENTS) {
                break;
            }
            way.chunks        = chunks;
            way.rest_segments = (uint32_t)segments;
            CS_TRY(share_end_s(scenario, share, late, &way, &end, err));
            goes_on = end < *best_p;
            *best   = goes_on ? way : *best;
            *best_p = fmin(end, *best_p);
        }
    }
    return CS_OK;
}

/* Over servers, where a delay does not hide the pre-phase of what was chosen: the best share, if
 * that ends earlier; then *choice_p ends with it. */
static cs_status try_shares(const cs_scenario *scenario, const stragglar_options *o,
                            cs_servers_choice *choice, stragglar_options *shared, cs_error *err)
{
    const cs_servers_late *late = &choice->shape.late;
    const cs_servers_pace  p    = cs_servers_pace_of(scenario);
    stragglar_options      way  = *o;
    double                 best = (double)INFINITY;

    if (o->share < CS_AUTO || late->count != 1 || late->early_s >= late->last_s ||
        o->gateways != CS_AUTO || o->halves == HALVES_ON ||
        late->early_s + cs_servers_pre_s(&p, &choice->shape) <= late->last_s) {
        return CS_OK;
    }
    if (choice->is_bound) {
        CS_TRY(cs_servers_forecast(scenario, choice, err));
    }
    way.inside     = INSIDE_CHAIN;
    way.late_ranks = 1;
    way.gateways   = p.locals;
    CS_TRY(share_end_s(scenario, best_share(scenario, late, &way), late, &way, &best, err));
    if (scenario->forecast != NULL && best < (double)INFINITY &&
        (o->rest_segments == 0 || o->rest_segments == CS_AUTO)) {
        CS_TRY(improve_share(scenario, late, o->chunks, &way, &best, err));
    }
    if (best < choice->end_s) {
        *shared       = way;
        choice->end_s = best;
    }
    return CS_OK;
}

/* ---- another number of late ranks than one ---- */

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

/* When the schedule with one late rank ends that knows no servers, with the best options that are
 * left free: predicted, which holds where all ranks have one kind of port, otherwise as the
 * forecast says. */
static cs_status one_end_s(const cs_scenario *scenario, const stragglar_options *o, double *end_p,
                           cs_error *err)
{
    const cs_forecast *f    = scenario->forecast;
    stragglar_options  one  = *o;
    cs_plan            plan = {0};
    prepared           made = {.multi_late = NULL};

    one.late_ranks   = 1;
    one.share        = 1;
    one.inside       = INSIDE_FLAT;
    cs_status status = check_one(scenario, &one, &plan, &made.greedy, err);
    plan.prepared    = &made;
    if (status == CS_OK && f != NULL && !cs_one_port_kind(&scenario->cluster)) {
        status = f->elapsed_s(f, scenario, &cs_algorithm_stragglar, &one, &plan, end_p, err);
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
    return (cs_multi_late_choice){o->late_ranks, o->chunks, o->late_roots, (cs_baseline)o->baseline,
                                  o->baseline_segments};
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
        return check_one(scenario, o, plan, &made->greedy, err);
    }
    CS_TRY(cs_multi_late_plan(scenario, &choice, plan, &made->multi_late, err));
    o->late_ranks        = choice.late;
    o->baseline          = (int)choice.baseline;
    o->baseline_segments = choice.segments;
    o->late_roots        = choice.roots;
    o->chunks            = choice.chunks;
    o->straggler         = cs_last_rank(scenario);
    o->model             = PORT_DUPLEX;
    o->prephase          = CS_PREPHASE_CIRCULANT;
    o->inside            = INSIDE_FLAT;
    return CS_OK;
}

/* The baseline instead of what was planned so far. */
static cs_status run_instead(const cs_scenario *scenario, const cs_baseline_choice *baseline,
                             stragglar_options *o, cs_plan *plan, prepared *made, cs_error *err)
{
    static const char *const notes[CS_BASELINE_COUNT] = {
#define X(id, name)                                                                             \
    [CS_BASELINE_##id] = "stragglar: " #name " runs instead: it ends earlier than with a late " \
                         "rank",
        CS_BASELINE_MAP(X)
#undef X
    };

    empty(made);
    o->late_ranks        = 0;
    o->straggler         = CS_AUTO;
    o->baseline          = (int)baseline->baseline;
    o->baseline_segments = baseline->segments;
    CS_TRY(check_other(scenario, o, plan, made, err));
    plan->note = notes[baseline->baseline];
    return CS_OK;
}

/* Over servers: the schedule for late ranks, a share of it, or the baseline if that ends earlier.
 */
static cs_status check_auto(const cs_scenario *scenario, stragglar_options *o, cs_plan *plan,
                            prepared *made, cs_error *err)
{
    cs_baseline_choice baseline = {(cs_baseline)o->baseline, o->baseline_segments};
    double             instead_s;
    cs_servers_choice  choice = {.rounds = NULL};
    stragglar_options  shared = *o;

    shared.share = 1;
    CS_TRY(choose_servers(scenario, o, &choice, err));
    made->multi_late = choice.rounds;
    CS_TRY(try_shares(scenario, o, &choice, &shared, err));
    o->share = 1;
    CS_TRY(cs_baseline_before(scenario, choice.end_s, &baseline, &instead_s, err));
    if (instead_s < choice.end_s && choice.is_bound) {
        CS_TRY(cs_servers_forecast(scenario, &choice, err));
    }
    if (instead_s < choice.end_s) {
        return run_instead(scenario, &baseline, o, plan, made, err);
    }
    if (is_shared(&shared)) {
        empty(made);
        *o = shared;
        return plan_shared(scenario, o, plan, made, err);
    }
    return take_servers(scenario, &choice.shape, choice.rounds, o, plan, err);
}

/* The same where every server has late ranks: they know no servers. */
static cs_status check_all_late(const cs_scenario *scenario, stragglar_options *o, cs_plan *plan,
                                prepared *made, cs_error *err)
{
    const cs_forecast *f        = scenario->forecast;
    cs_baseline_choice baseline = {(cs_baseline)o->baseline, o->baseline_segments};
    double             end_s = (double)INFINITY, instead_s = (double)INFINITY;

    o->inside = INSIDE_FLAT;
    o->share  = 1;
    CS_TRY(check_other(scenario, o, plan, made, err));
    if (f != NULL) {
        plan->prepared   = made;
        cs_status status = f->elapsed_s(f, scenario, &cs_algorithm_stragglar, o, plan, &end_s, err);
        plan->prepared   = NULL;
        CS_TRY(status);
        CS_TRY(cs_baseline_before(scenario, end_s, &baseline, &instead_s, err));
    }
    return instead_s < end_s ? run_instead(scenario, &baseline, o, plan, made, err) : CS_OK;
}

static cs_status check_servers(const cs_scenario *scenario, stragglar_options *o, cs_plan *plan,
                               prepared *made, cs_error *err)
{
    cs_servers_choice choice = {.rounds = NULL};
    cs_servers_late   late;

    if (o->inside == INSIDE_AUTO && o->late_ranks > 1 &&
        o->late_ranks < scenario->cluster.n_ranks) {
        CS_TRY(cs_servers_count_late(scenario, 0, o->late_ranks, &late, err));
        if (cs_servers_accept_late(scenario, &late, NULL) != CS_OK) {
            return check_all_late(scenario, o, plan, made, err);
        }
    }
    if (o->inside == INSIDE_AUTO) {
        return check_auto(scenario, o, plan, made, err);
    }
    CS_TRY(choose_servers(scenario, o, &choice, err));
    made->multi_late = choice.rounds;
    return take_servers(scenario, &choice.shape, choice.rounds, o, plan, err);
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
    cs_status          status;

    if (is_shared(o) ? share_bytes(scenario, o->share) == scenario->bytes : !is_free) {
        o->share = 1;
    }
    status = is_shared(o)                   ? check_share(scenario, o, plan, &made, err)
             : is_over_servers(scenario, o) ? check_servers(scenario, o, plan, &made, err)
             : o->late_ranks == 1           ? check_one(scenario, o, plan, &made.greedy, err)
                                            : check_other(scenario, o, plan, &made, err);

    if (status == CS_OK) {
        status = keep(&made, plan, err);
    }
    if (status != CS_OK) {
        empty(&made);
    }
    o->share         = fmin(o->share, 1);
    o->rest_segments = is_shared(o) ? o->rest_segments : 0;
    o->late_roots    = o->late_ranks == 1 ? 0 : o->late_roots;
    if (!is_over_servers(scenario, o)) {
        o->inside   = INSIDE_FLAT;
        o->halves   = HALVES_OFF;
        o->gateways = scenario->cluster.gpus_per_server;
    }
    if (o->baseline == CS_BASELINE_AUTO) { /* it does not run */
        o->baseline = (int)cs_baseline_predicted(scenario);
    }
    if (o->baseline_segments == CS_AUTO) {
        o->baseline_segments = 1;
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
    cs_sharing           *sharing; /* a share of the buffer, which is this scenario, and the rest */
    cs_scenario           share;
} stragglar;

static void stragglar_close(void *state)
{
    stragglar *s = state;

    if (s != NULL) {
        cs_phase2_close(s->phase2);
        cs_multi_late_close(s->other);
        cs_servers_close(s->servers);
        cs_sharing_close(s->sharing);
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
                                void **state_p, cs_error *err);

static cs_status open_shared(stragglar *s, const cs_scenario *scenario, const stragglar_options *o,
                             const prepared *p, cs_error *err)
{
    const cs_sharing_shape  shape = sharing_of(scenario, o);
    const stragglar_options alone = share_options(o);
    cs_sharing_main         main  = {&p->main, NULL, NULL};

    s->share = share_scenario(scenario, o);
    if (o->main_bytes > 0) {
        main.algorithm = &cs_algorithm_stragglar;
        CS_TRY(stragglar_open(&s->share, &alone, p, &main.state, err));
    }
    return cs_sharing_open(scenario, &shape, &main, &s->sharing, err);
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
    cs_servers_shape shape;
    cs_status        status;

    if (is_shared(o)) {
        status = open_shared(s, scenario, o, p, err);
    } else if (is_over_servers(scenario, o)) {
        status = shape_of(scenario, o, &shape, err);
        status = status == CS_OK
                     ? cs_servers_open(scenario, &shape, p->multi_late, &s->servers, err)
                     : status;
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
    if (s->sharing != NULL) {
        cs_sharing_next(s->sharing, block);
        return;
    }
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

static double stragglar_closed_form_s(const cs_scenario *scenario, const void *options)
{
    const stragglar_options   *o      = options;
    const cs_multi_late_choice choice = choice_of(o);

    if (is_shared(o)) {
        return (double)NAN;
    }
    if (is_over_servers(scenario, o)) {
        cs_servers_shape shape;
        return o->late_ranks == 1 && shape_of(scenario, o, &shape, NULL) == CS_OK
                   ? cs_servers_closed_form_s(scenario, &shape)
                   : (double)NAN;
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
