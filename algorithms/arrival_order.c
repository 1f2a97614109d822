/* SPDX-License-Identifier: GPL-3.0-or-later */
/* AllReduces over the ranks in the order of their arrivals, position 0 the first to come:
 * sorted_linear_tree and pre_reduced_ring. Of ranks that come together the lowest is first.
 *
 * sorted_linear_tree (SLT). The tree is a line, its root the last to come. The buffer goes along it
 * in c segments, each added up from position to position as soon as the next rank is there, and
 * from the root back along the same line. In a turn an edge carries one segment each way; edge i
 * begins when position i + 1 is expected, so no sum that can move waits behind one that cannot.
 * With messages of x seconds, n > 2 and one rank late by D, all of one kind of port,
 *   T = max(D, (n-2) x) + max(2c + n - 3, c + n - 1) x,
 * as the last but one sends every segment twice, on and back.
 *
 * pre_reduced_ring (PRR). The line closes to a ring. A segment is added up along all of it and goes
 * on around it as a copy: 2 (n-1) hops from where it starts. In a plain ring (`late` = 0) a segment
 * starts at every position. Else the last m = `late` ranks are not waited for: what a plain ring
 * starts at the n - m others starts at position 0 and is added up by all of them before any other
 * message, and of the late ones the positions n - 2, n - 4, .. > n - m - 1 start the rest, so that
 * g = floor(m/2) + 1 starts have equal parts of c segments each. An edge then carries at most
 * (2g - 1)/g of the buffer after the last arrival: all of it once for m = 1, nearly twice, as in
 * the plain ring, for many. For m = 1 and n > 2, one rank late by D,
 *   T = max(max(D, (n-2) x) + 2x, c x) + (c + n - 3) x.
 *
 * Source: J. Proficz, "Improving all-reduce collective operations for imbalanced process arrival
 * patterns", J. Supercomputing 74 (2018), doi 10.1007/s11227-018-2356-z. Its abstract and
 * introduction were at hand, its pseudo-code was not. From there: ranks sorted by arrival, a linear
 * tree, a ring of which early ranks reduce before the late ones come. Chosen here: the way back of
 * the tree, where segments of the ring start, how many there are, and all that `auto` decides.
 */
#include "algorithms/lib/accept.h"
#include "algorithms/lib/pieces.h"
#include "base/alloc.h"
#include "cs/arrivals.h"

#include <math.h>

extern const cs_algorithm cs_algorithm_sorted_linear_tree;
extern const cs_algorithm cs_algorithm_pre_reduced_ring;

enum {
    MOST_SEGMENTS = CS_MAX_SLOTS,
    MOST_AUTO     = 8192,
    MOST_SENT     = 1 << 24, /* messages of what auto chooses */
    MOST_REPLAYED = 200000   /* messages of what is replayed to choose */
};

/* ---- what both share ---- */

static cs_status sort_ranks(const cs_scenario *scenario, uint32_t **ranks_p, cs_error *err)
{
    uint32_t *ranks = CS_NEW(uint32_t, scenario->cluster.n_ranks);

    if (ranks == NULL) {
        return CS_NO_MEMORY(err, "the order of arrivals");
    }
    cs_ranks_by_arrival(scenario->arrival_s, scenario->cluster.n_ranks, ranks);
    *ranks_p = ranks;
    return CS_OK;
}

/* What is chosen is chosen without faults, so that none makes it faster, and without servers' own
 * rates, since a NIC that always had half its rate is as slow as one that lost it. */
static cs_scenario without_faults(const cs_scenario *scenario)
{
    cs_scenario healthy = *scenario;

    healthy.capacity        = NULL;
    healthy.n_capacity      = 0;
    healthy.cluster.servers = NULL;
    return healthy;
}

static cs_pace pace_of(const cs_scenario *scenario)
{
    const cs_scenario healthy = without_faults(scenario);
    return cs_usual_pace(&healthy);
}

/* Seconds of a message of the buffer's `parts`-th part. */
static double message_s(const cs_scenario *scenario, double parts)
{
    const cs_pace pace = pace_of(scenario);
    return pace.alpha_s + pace.s_per_byte * (double)scenario->bytes / parts;
}

/* The c that makes (busy c + fill) messages of a `starts` c-th of the buffer the shortest. */
static double predicted_segments(const cs_scenario *scenario, double starts, double busy,
                                 double fill)
{
    const cs_pace pace = pace_of(scenario);
    const double  all  = pace.s_per_byte * (double)scenario->bytes / starts;

    return pace.alpha_s > 0 ? sqrt(fill * all / (busy * pace.alpha_s)) : (double)MOST_AUTO;
}

/* At most so many segments of each start does auto make. */
static double most_segments(const cs_scenario *scenario, double starts)
{
    const uint32_t n    = scenario->cluster.n_ranks;
    const double   room = fmin((double)cs_most_slots(n), MOST_SENT / (2.0 * n));

    return fmax(1, fmin(MOST_AUTO, floor(fmin((double)scenario->bytes, room) / starts)));
}

/* Equal parts over ports of one kind, and nobody late but one: `*late_s_p`. */
static bool has_form(const cs_scenario *scenario, uint32_t parts, double *late_s_p,
                     double *message_s_p)
{
    uint32_t fabric, n_late = 0;

    if (!cs_is_uniform(scenario, &fabric) || scenario->bytes % parts != 0) {
        return false;
    }
    for (uint32_t r = 0; r < scenario->cluster.n_ranks; r++) {
        n_late += cs_arrival(scenario, r) > 0;
    }
    *late_s_p    = cs_last_arrival(scenario);
    *message_s_p = cs_message_s(scenario, fabric, scenario->bytes / parts);
    return n_late <= 1;
}

/* A segment from one position to another. */
static cs_transfer segment_between(const cs_scenario *scenario, uint32_t src, uint32_t dst,
                                   uint32_t segment, uint32_t segments, uint32_t round,
                                   bool reduces, bool is_done)
{
    return (cs_transfer){.src       = src,
                         .dst       = dst,
                         .chunk     = segment,
                         .src_slot  = (uint16_t)segment,
                         .dst_slot  = (uint16_t)segment,
                         .bytes     = cs_split(scenario->bytes, segments, segment),
                         .round     = round,
                         .span      = 1,
                         .flags     = is_done ? CS_DONE_DST : 0,
                         .op_fabric = cs_op_fabric(reduces ? CS_OP_REDUCE : CS_OP_COPY,
                                                   cs_fabric_of(&scenario->cluster, src, dst))};
}

/* ---- sorted_linear_tree ---- */

typedef struct line_options {
    uint32_t segments;
} line_options;

static const cs_field line_table[] = {
    CS_OPTION_AUTO(line_options, segments, 1, MOST_SEGMENTS,
                   "segments that the buffer is cut in; auto: those that end first"),
    CS_FIELD_END,
};

typedef struct line {
    const cs_scenario *scenario;
    uint32_t          *ranks; /* [n] by position */
    uint32_t          *first; /* [n - 1] the turn in which an edge carries segment 0 on */
    uint32_t           n, segments;
    uint32_t           turn, end_turn;
    bool               is_back; /* edges of a turn: first all on, then all back */
    uint32_t           edge;    /* next; on the way back as counted from the root */
    uint32_t           begin;   /* edges before it have carried all on */
} line;

/* When the edges begin, in turns that take as long as a message does: each a turn behind the one
 * before it, or when its far end comes. What is behind the last segment of the edge before it is no
 * turn: nobody sends. */
static void set_turns(line *l)
{
    const double turn_s = message_s(l->scenario, l->segments);
    double       begins = 0;

    for (uint32_t i = 0; i + 1 < l->n; i++) {
        double comes = turn_s > 0 ? cs_arrival(l->scenario, l->ranks[i + 1]) / turn_s : 0;
        double waits = i == 0 ? comes : fmax(1, comes - begins);
        begins += waits;
        l->first[i] = i == 0 ? 0 : l->first[i - 1] + (uint32_t)fmin(waits, l->segments);
    }
    l->end_turn = l->first[l->n - 2] + l->n - 1 + l->segments;
}

static void line_close(void *state)
{
    line *l = state;

    if (l != NULL) {
        cs_free(l->ranks);
        cs_free(l->first);
        cs_free(l);
    }
}

static cs_status line_open(const cs_scenario *scenario, const void *options, void **state_p,
                           cs_error *err)
{
    line *l = CS_NEW(line, 1);

    if (l == NULL) {
        return CS_NO_MEMORY(err, "a line");
    }
    l->scenario      = scenario;
    l->n             = scenario->cluster.n_ranks;
    l->segments      = ((const line_options *)options)->segments;
    l->first         = CS_NEW(uint32_t, l->n - 1);
    cs_status status = l->first == NULL ? CS_NO_MEMORY(err, "the turns of a line")
                                        : sort_ranks(scenario, &l->ranks, err);
    if (status != CS_OK) {
        line_close(l);
        return status;
    }
    set_turns(l);
    *state_p = l;
    return CS_OK;
}

static cs_status line_check(const cs_scenario *scenario, void *options, cs_plan *plan,
                            cs_error *err)
{
    line_options  *o = options;
    const uint32_t n = scenario->cluster.n_ranks;
    void          *state;

    if (o->segments == CS_AUTO) {
        const cs_scenario healthy   = without_faults(scenario);
        double            most      = most_segments(scenario, 1);
        double            predicted = fmin(most, predicted_segments(scenario, 1, 2, n - 1.0));
        CS_TRY(cs_choose_pieces(&cs_algorithm_sorted_linear_tree, &healthy, o, &o->segments,
                                predicted, most, 2.0 * n * predicted < MOST_REPLAYED, err));
    }
    CS_TRY(cs_accept_slots(scenario, "sorted_linear_tree", o->segments, err));
    CS_TRY(line_open(scenario, o, &state, err));
    *plan = (cs_plan){.n_chunks   = o->segments,
                      .n_slots    = o->segments,
                      .n_rounds   = ((line *)state)->end_turn,
                      .uses       = cs_uses_nvlink(&scenario->cluster),
                      .starts_own = true,
                      .uses_trees = true};
    line_close(state);
    return CS_OK;
}

/* The turn is over. */
static void next_turn(line *l)
{
    l->turn++;
    l->is_back = false;
    while (l->begin + 1 < l->n && l->turn >= l->first[l->begin] + l->segments) {
        l->begin++;
    }
    l->edge = l->begin;
}

/* All edges that are in their time, one after the other: those that carry on begin one after the
 * other, and so do those that carry back, from the root on. */
static void line_next_block(void *state, cs_block *block)
{
    line          *l    = state;
    const uint32_t last = l->n - 2, back = l->first[last] + 1; /* begins at the root */

    block->count = 0;
    while (l->turn < l->end_turn && block->count < block->capacity) {
        uint32_t i = l->edge, segment = l->turn - (l->is_back ? back + i : 0);
        if (!l->is_back && i <= last && l->turn >= l->first[i]) {
            block->transfers[block->count++] =
                segment_between(l->scenario, l->ranks[i], l->ranks[i + 1], segment - l->first[i],
                                l->segments, l->turn, true, i == last);
            l->edge++;
        } else if (!l->is_back) {
            l->is_back = true;
            l->edge    = l->turn >= back + l->segments ? l->turn - back - l->segments + 1 : 0;
        } else if (i <= last && l->turn >= back + i) {
            uint32_t src = l->ranks[last - i + 1], dst = l->ranks[last - i];
            block->transfers[block->count++] =
                segment_between(l->scenario, src, dst, segment, l->segments, l->turn, false, true);
            l->edge++;
        } else {
            next_turn(l);
        }
    }
}

static double line_closed_form_s(const cs_scenario *scenario, const void *options)
{
    const double c = ((const line_options *)options)->segments, n = scenario->cluster.n_ranks;
    double       late_s, x_s;

    if (!has_form(scenario, ((const line_options *)options)->segments, &late_s, &x_s)) {
        return (double)NAN;
    }
    return fmax(late_s, (n - 2) * x_s) + fmax(n > 2 ? 2 * c + n - 3 : 0, c + n - 1) * x_s;
}

const cs_algorithm cs_algorithm_sorted_linear_tree = {
    .name          = "sorted_linear_tree",
    .aliases       = "slt",
    .summary       = "along a line in the order of arrivals and back, in segments",
    .source        = "J. Proficz, J. Supercomputing 74 (2018), SLT",
    .collectives   = 1u << CS_ALLREDUCE,
    .options       = line_table,
    .options_bytes = sizeof(line_options),
    .check         = line_check,
    .open          = line_open,
    .next_block    = line_next_block,
    .close         = line_close,
    .closed_form_s = line_closed_form_s,
    .takes_uneven  = true,
};

/* ---- pre_reduced_ring ---- */

typedef struct ring_options {
    uint32_t segments, late;
} ring_options;

static const cs_field ring_table[] = {
    CS_OPTION_AUTO(ring_options, segments, 1, MOST_SEGMENTS,
                   "segments of each start; auto: those that end first"),
    CS_OPTION_AUTO(ring_options, late, 0, CS_MAX_RANKS - 1,
                   "last ranks that the others add up without; 0: a plain ring in the order of "
                   "arrivals; auto: how many ends first"),
    CS_FIELD_END,
};

typedef struct ring {
    const cs_scenario *scenario;
    uint32_t          *ranks; /* [n] by position */
    uint32_t           n, late, starts, segments;
    uint32_t           round;
    bool               is_early; /* early ranks alone so far */
    uint32_t           turn;     /* of these, or of all */
    uint32_t           start;    /* next, */
    uint32_t           hop;      /* .. and its next hop */
} ring;

static uint32_t starts_of(uint32_t n, uint32_t late)
{
    return late == 0 ? n : late / 2 + 1;
}

/* Where start `g` of a ring is. */
static uint32_t position_of(const ring *r, uint32_t g)
{
    return r->late == 0 ? g : g == 0 ? 0 : r->n - 2 * g;
}

/* Hops of segments of the first start that early ranks do alone. */
static uint32_t early_hops(uint32_t n, uint32_t late)
{
    return late == 0 ? 0 : n - late - 1;
}

static uint32_t early_turns(uint32_t n, uint32_t late, uint32_t segments)
{
    return early_hops(n, late) > 0 ? early_hops(n, late) + segments - 1 : 0;
}

/* Those of all: the longest way is that of a start from which nothing is done before. */
static uint32_t main_turns(uint32_t n, uint32_t late, uint32_t segments)
{
    return 2 * (n - 1) - (starts_of(n, late) > 1 ? 0 : early_hops(n, late)) + segments - 1;
}

/* What a ring takes in which the last `late` of the ranks are not waited for: they are done with at
 * `others_s`, and all have come at `last_s`. Exact for equal messages and one late rank. */
static double predicted_s(const cs_scenario *scenario, uint32_t late, double segments,
                          double others_s, double last_s)
{
    const uint32_t n = scenario->cluster.n_ranks;
    const double   g = starts_of(n, late), x_s = message_s(scenario, g * segments);

    if (late == 0) {
        return last_s + (2 * (n - 1.0) * segments) * x_s;
    }
    double hops  = early_hops(n, late);
    double fill  = g > 1 ? 2 * (n - 1.0) : late + n - 1.0;
    double ready = fmax(fmax(last_s, others_s + hops * x_s) + 2 * x_s, others_s + segments * x_s);
    return ready + ((2 * g - 1) * (segments - 1) + fill - 1) * x_s;
}

/* The segments that are predicted to end first: those of a plain ring are as small as they need to
 * be. */
static double segments_of(const cs_scenario *scenario, uint32_t late)
{
    const double n = scenario->cluster.n_ranks, g = starts_of(scenario->cluster.n_ranks, late);

    if (late == 0) {
        return 1;
    }
    return fmax(1, fmin(most_segments(scenario, g),
                        round(predicted_segments(scenario, g, 2 * g - 1, n + late))));
}

static cs_status choose_segments(const cs_scenario *scenario, ring_options *o, cs_error *err)
{
    const double g = starts_of(scenario->cluster.n_ranks, o->late);
    const double c = segments_of(scenario, o->late);

    return cs_choose_pieces(&cs_algorithm_pre_reduced_ring, scenario, o, &o->segments, c,
                            o->late == 0 ? 1 : most_segments(scenario, g),
                            2.0 * scenario->cluster.n_ranks * g * c < MOST_REPLAYED, err);
}

/* The segments of each start with so many late ranks, as asked for or as predicted. */
static double asked_segments(const cs_scenario *scenario, const ring_options *o, uint32_t late)
{
    return o->segments == CS_AUTO ? segments_of(scenario, late) : o->segments;
}

/* How many are not waited for, `least` at least: as predicted. */
static cs_status predict_late(const cs_scenario *scenario, const ring_options *o, uint32_t least,
                              uint32_t *late_p, cs_error *err)
{
    const uint32_t n      = scenario->cluster.n_ranks;
    const double   last_s = cs_last_arrival(scenario);
    double         best_s = (double)INFINITY;
    uint32_t      *ranks  = NULL;

    CS_TRY(sort_ranks(scenario, &ranks, err));
    *late_p = 1;
    for (uint32_t late = least; late < n; late++) {
        double c = asked_segments(scenario, o, late);
        if (starts_of(n, late) * c > (double)cs_most_slots(n)) {
            continue;
        }
        double others_s = late == 0 ? last_s : cs_arrival(scenario, ranks[n - 1 - late]);
        double time_s   = predicted_s(scenario, late, c, others_s, last_s);
        *late_p         = time_s < best_s ? late : *late_p;
        best_s          = fmin(best_s, time_s);
    }
    cs_free(ranks);
    return CS_OK;
}

/* Does a replay take little time? */
static bool is_quick(const cs_scenario *scenario, const ring_options *o, uint32_t late)
{
    const uint32_t n = scenario->cluster.n_ranks;
    return 2.0 * n * starts_of(n, late) * asked_segments(scenario, o, late) < MOST_REPLAYED;
}

static cs_status elapsed_s(const cs_scenario *scenario, const ring_options *o, uint32_t late,
                           double *time_s_p, cs_error *err)
{
    const cs_forecast *forecast = scenario->forecast;
    ring_options       asked    = {(uint32_t)asked_segments(scenario, o, late), late};
    cs_plan            plan     = {0};

    CS_TRY(cs_algorithm_pre_reduced_ring.check(scenario, &asked, &plan, err));
    return forecast->elapsed_s(forecast, scenario, &cs_algorithm_pre_reduced_ring, &asked, &plan,
                               time_s_p, err);
}

/* Of a plain ring, one that does not wait for the last rank, and the best of these as predicted,
 * the one that ends first in a replay, or where that takes long, the predicted one. */
static cs_status choose_late(const cs_scenario *scenario, ring_options *o, cs_error *err)
{
    uint32_t choices[] = {0, 1, 1}, best = 0;
    double   least_s = (double)INFINITY, time_s;

    CS_TRY(predict_late(scenario, o, 1, &choices[2], err));
    if (scenario->forecast == NULL || !is_quick(scenario, o, 0) || !is_quick(scenario, o, 1) ||
        !is_quick(scenario, o, choices[2])) {
        return predict_late(scenario, o, 0, &o->late, err);
    }
    for (size_t i = 0; i < (choices[2] == 1 ? 2 : 3); i++) {
        CS_TRY(elapsed_s(scenario, o, choices[i], &time_s, err));
        best    = time_s < least_s ? choices[i] : best;
        least_s = fmin(least_s, time_s);
    }
    o->late = best;
    return CS_OK;
}

static cs_status ring_check(const cs_scenario *scenario, void *options, cs_plan *plan,
                            cs_error *err)
{
    ring_options     *o       = options;
    const uint32_t    n       = scenario->cluster.n_ranks;
    const cs_scenario healthy = without_faults(scenario);

    if (o->late != CS_AUTO && o->late >= n) {
        return CS_FAIL(err, CS_EINVAL, "algorithm.options.late",
                       "%u late ranks of %u: accepted are 0 .. %u and auto", o->late, n, n - 1);
    }
    if (o->late == CS_AUTO) {
        CS_TRY(choose_late(&healthy, o, err));
    }
    if (o->segments == CS_AUTO) {
        CS_TRY(choose_segments(&healthy, o, err));
    }
    const uint64_t chunks = (uint64_t)starts_of(n, o->late) * o->segments;
    CS_TRY(cs_accept_slots(scenario, "pre_reduced_ring", chunks, err));
    *plan = (cs_plan){.n_chunks = (uint32_t)chunks,
                      .n_slots  = (uint32_t)chunks,
                      .n_rounds = early_turns(n, o->late, o->segments) +
                                  main_turns(n, o->late, o->segments),
                      .uses                 = cs_uses_nvlink(&scenario->cluster),
                      .starts_own           = true,
                      .is_round_synchronous = o->late == 0 && o->segments == 1};
    return CS_OK;
}

static void ring_close(void *state)
{
    ring *r = state;

    if (r != NULL) {
        cs_free(r->ranks);
        cs_free(r);
    }
}

static cs_status ring_open(const cs_scenario *scenario, const void *options, void **state_p,
                           cs_error *err)
{
    const ring_options *o = options;
    ring               *r = CS_NEW(ring, 1);

    if (r == NULL) {
        return CS_NO_MEMORY(err, "a ring");
    }
    r->scenario      = scenario;
    r->n             = scenario->cluster.n_ranks;
    r->late          = o->late;
    r->starts        = starts_of(r->n, o->late);
    r->segments      = o->segments;
    r->is_early      = early_turns(r->n, o->late, o->segments) > 0;
    cs_status status = sort_ranks(scenario, &r->ranks, err);
    if (status != CS_OK) {
        ring_close(r);
        return status;
    }
    *state_p = r;
    return CS_OK;
}

/* Hops of start `g` in this part: from `*first_p` on. */
static uint32_t end_of_hops(const ring *r, uint32_t g, uint32_t *first_p)
{
    uint32_t early = g == 0 ? early_hops(r->n, r->late) : 0;

    *first_p = r->is_early ? 0 : early;
    return r->is_early ? early : 2 * (r->n - 1);
}

static cs_transfer hop_of(const ring *r, uint32_t g, uint32_t hop, uint32_t number)
{
    uint64_t at = (uint64_t)position_of(r, g) + hop;

    while (at >= r->n) { /* at most twice around */
        at -= r->n;
    }
    uint32_t src = r->ranks[at], dst = r->ranks[at + 1 == r->n ? 0 : at + 1];
    uint32_t segment = g * r->segments + number;

    return segment_between(r->scenario, src, dst, segment, r->starts * r->segments, r->round,
                           hop < r->n - 1, hop + 2 >= r->n);
}

/* The next start, turn or part. */
static void next_start(ring *r)
{
    r->hop = 0;
    if (++r->start < (r->is_early ? 1 : r->starts)) {
        return;
    }
    r->start = 0;
    r->turn++;
    r->round++;
    if (r->is_early && r->turn == early_turns(r->n, r->late, r->segments)) {
        r->is_early = false;
        r->turn     = 0;
    }
}

/* In a turn each segment that is on its way goes a hop on. */
static void ring_next_block(void *state, cs_block *block)
{
    ring          *r   = state;
    const uint32_t end = main_turns(r->n, r->late, r->segments);

    block->count = 0;
    while ((r->is_early || r->turn < end) && block->count < block->capacity) {
        uint32_t first, last = end_of_hops(r, r->start, &first);
        uint32_t oldest = r->turn < r->segments ? 0 : r->turn - r->segments + 1;
        uint32_t hop    = first + (r->hop > oldest ? r->hop : oldest); /* hop: after the first */
        if (hop >= last || hop - first > r->turn) {
            next_start(r);
            continue;
        }
        block->transfers[block->count++] = hop_of(r, r->start, hop, r->turn - (hop - first));
        r->hop                           = hop - first + 1;
    }
}

/* A plain ring waits for the last one, whoever else is late; see above for one late rank. */
static double ring_closed_form_s(const cs_scenario *scenario, const void *options)
{
    const ring_options *o = options;
    const double        c = o->segments, n = scenario->cluster.n_ranks;
    double              late_s, x_s;

    if (o->late > 1 || (o->late == 0 && c > 1) ||
        !has_form(scenario, starts_of(scenario->cluster.n_ranks, o->late) * o->segments, &late_s,
                  &x_s)) {
        return (double)NAN;
    }
    if (o->late == 0) {
        return late_s + 2 * (n - 1) * x_s;
    }
    double copied_s = n > 2 ? c * x_s : 0; /* the first rank has sent all that it adds to */
    return fmax(fmax(late_s, (n - 2) * x_s) + 2 * x_s, copied_s) + (c + n - 3) * x_s;
}

const cs_algorithm cs_algorithm_pre_reduced_ring = {
    .name          = "pre_reduced_ring",
    .aliases       = "prr",
    .summary       = "a ring in the order of arrivals: the early ranks add up before the late come",
    .source        = "J. Proficz, J. Supercomputing 74 (2018), PRR",
    .collectives   = 1u << CS_ALLREDUCE,
    .options       = ring_table,
    .options_bytes = sizeof(ring_options),
    .check         = ring_check,
    .open          = ring_open,
    .next_block    = ring_next_block,
    .close         = ring_close,
    .closed_form_s = ring_closed_form_s,
    .takes_uneven  = true,
};
