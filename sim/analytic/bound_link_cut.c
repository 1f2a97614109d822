/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What must enter, or leave, a group of ranks passes the links of its cut (cuts.h).
 *
 * Of any collective (from whom and to whom its chunks go says its row): every byte of an AllReduce
 * must enter the group, for its ranks need something that the others brought, and after the last of
 * the others has arrived; it must leave the group likewise. A ReduceScatter brings the group's own
 * blocks in, after that arrival; an AllGather and an AlltoAll bring what every other rank has for
 * the group, after that rank's arrival; a Broadcast enters where the root is outside, a Reduce
 * where it is inside. All of it flows through links that carry `capacity` together, after a
 * start-up and the latency of a route.
 *
 * Where k groups are a partition of the ranks, every byte of an AllReduce enters groups 2 (k - 1)
 * times at least: the group that first knows the sum of all has needed k - 1 transfers between
 * groups, each of the others one more (the volume bound, with groups for nodes).
 */
#include "analytic/cuts.h"
#include "base/alloc.h"
#include "cs/bound.h"
#include "cs/schedule.h"
#include "cs/topology.h"

#include <math.h>
#include <stdlib.h>

/* What one rank brings, and from when on. */
typedef struct piece {
    double arrival_s, bytes;
} piece;

static int latest_first(const void *a, const void *b)
{
    const piece *x = a, *y = b;
    return (x->arrival_s < y->arrival_s) - (x->arrival_s > y->arrival_s);
}

static bool is_sender(const cs_cut *cut, uint32_t rank)
{
    return cs_in_group(cut->group, rank) != cut->is_inward;
}

/* The last arrival among those whose data crosses. */
static double last_sender_s(const cs_scenario *s, const cs_cut *cut)
{
    double last_s = 0;

    for (uint32_t r = 0; r < s->cluster.n_ranks; r++) {
        last_s = is_sender(cut, r) ? fmax(last_s, cs_arrival(s, r)) : last_s;
    }
    return last_s;
}

/* Bytes of one value for all that those who receive are owed, whoever has them first. */
static double owed_bytes(const cs_scenario *s, const cs_cut *cut)
{
    cs_party to  = cs_collectives[s->collective].to;
    uint32_t n   = s->cluster.n_ranks;
    double   sum = 0;

    if (to != CS_PARTY_FIRST) {
        return to == CS_PARTY_ROOT && is_sender(cut, s->root) ? 0 : (double)s->bytes;
    }
    for (uint32_t r = 0; r < n; r++) {
        sum += is_sender(cut, r) ? 0 : (double)cs_split(s->bytes, n, r);
    }
    return sum;
}

/* Every sender has something of its own: the k that come last need the time of theirs after the
 * k-th arrival. */
static double pieces_s(const cs_scenario *s, const cs_cut *cut, piece *pieces)
{
    uint32_t n = s->cluster.n_ranks, count = 0;
    uint32_t receivers = cut->is_inward ? cut->size : n - cut->size;
    bool     is_split  = cs_collectives[s->collective].layout == CS_BLOCK_PER_PAIR;
    uint64_t of_pair   = s->bytes / n;
    double   bytes = 0, most_s = 0;

    for (uint32_t r = 0; r < n; r++) {
        double each =
            is_split ? (double)receivers * (double)of_pair : (double)cs_split(s->bytes, n, r);
        if (is_sender(cut, r)) {
            pieces[count++] = (piece){cs_arrival(s, r), each};
        }
    }
    qsort(pieces, count, sizeof *pieces, latest_first);
    for (uint32_t i = 0; i < count; i++) {
        bytes += pieces[i].bytes;
        double end_s = pieces[i].arrival_s + bytes / cut->capacity_Bps;
        most_s       = bytes > 0 ? fmax(most_s, end_s) : most_s;
    }
    return most_s;
}

/* Without start-up and latency. */
static double cut_s(const cs_scenario *s, const cs_cut *cut, piece *pieces)
{
    double bytes = owed_bytes(s, cut);

    if (!(bytes > 0)) {
        return 0;
    }
    switch (cs_collectives[s->collective].from) {
    case CS_PARTY_ALL: return last_sender_s(s, cut) + bytes / cut->capacity_Bps;
    case CS_PARTY_ROOT:
        return is_sender(cut, s->root) ? cs_arrival(s, s->root) + bytes / cut->capacity_Bps : 0;
    case CS_PARTY_FIRST: return pieces_s(s, cut, pieces);
    case CS_PARTY_SECOND: break; /* no collective has this */
    }
    return 0;
}

static int largest_first(const void *a, const void *b)
{
    const cs_cut *x = a, *y = b;
    int           order = (x->size < y->size) - (x->size > y->size);
    return order != 0 ? order
                      : (x->capacity_Bps > y->capacity_Bps) - (x->capacity_Bps < y->capacity_Bps);
}

/* Add the group to those taken, unless it shares a rank with one. */
static bool take_group(uint64_t *taken, const uint64_t *group, uint32_t n_words)
{
    for (uint32_t w = 0; w < n_words; w++) {
        if ((taken[w] & group[w]) != 0) {
            return false;
        }
    }
    for (uint32_t w = 0; w < n_words; w++) {
        taken[w] |= group[w];
    }
    return true;
}

/* The partition that takes the largest groups first, from cut `first` of the sorted list on; 0 if
 * they are none. */
static double partition_s(const cs_scenario *s, const cs_cut *cuts, size_t n_cuts, size_t first)
{
    uint64_t taken[CS_CUTS_MAX_RANKS / 64] = {0};
    uint32_t n = s->cluster.n_ranks, n_words = (n + 63) / 64, covered = 0, count = 0;
    double   capacity_Bps = 0, latency_s = (double)INFINITY;

    for (size_t i = first; i < n_cuts && covered < n; i++) {
        if (take_group(taken, cuts[i].group, n_words)) {
            covered += cuts[i].size;
            capacity_Bps += cuts[i].capacity_Bps;
            latency_s = fmin(latency_s, cuts[i].latency_s);
            count++;
        }
    }
    return covered == n ? latency_s + 2.0 * (count - 1) * (double)s->bytes / capacity_Bps : 0;
}

/* The best of all partitions that begin with groups of some size. */
static double partitions_s(const cs_scenario *s, cs_cut *cuts, size_t n_cuts)
{
    double most_s = 0;

    if (n_cuts == 0) {
        return 0;
    }
    qsort(cuts, n_cuts, sizeof *cuts, largest_first);
    for (size_t i = 0; i < n_cuts && s->collective == CS_ALLREDUCE; i++) {
        if (i == 0 || cuts[i].size != cuts[i - 1].size) {
            most_s = fmax(most_s, partition_s(s, cuts, n_cuts, i));
        }
    }
    return most_s;
}

static double best_cut_s(const cs_bound_context *context, cs_arena *arena)
{
    const cs_scenario *s      = context->scenario;
    piece             *pieces = CS_ARENA_NEW(arena, piece, s->cluster.n_ranks);
    cs_cut            *cuts   = NULL;
    size_t             n_cuts = 0;
    double             most_s = (double)NAN;

    /* Messages of a group may pay one start-up together, before a late rank arrives. */
    static const double none[CS_FABRICS] = {0};
    const double       *latency_s        = context->alpha_per_message ? context->latency_s : none;

    for (int inward = 0; inward < 2 && pieces != NULL; inward++) {
        if (!cs_find_cuts(&s->cluster, latency_s, inward != 0, arena, &cuts, &n_cuts)) {
            return (double)NAN;
        }
        double spread_s = partitions_s(s, cuts, n_cuts);
        if (spread_s > 0) {
            most_s = fmax(most_s, spread_s);
        }
        for (size_t i = 0; i < n_cuts; i++) {
            double end_s = cut_s(s, &cuts[i], pieces);
            if (end_s > 0) {
                most_s = fmax(most_s, end_s + cuts[i].latency_s);
            }
        }
    }
    return most_s;
}

static double link_cut_seconds(const cs_bound_context *context)
{
    cs_arena arena = {0};

    if (context->scenario->cluster.topology == NULL || context->scenario->bytes == 0) {
        return (double)NAN;
    }
    double bound_s = best_cut_s(context, &arena);
    cs_arena_free(&arena);
    return bound_s;
}

const cs_bound cs_bound_link_cut = {
    .name       = "link_cut",
    .summary    = "a + alpha + (bytes that enter or leave a group of ranks) / (rate of the links "
                  "that lead there); AllReduce, k groups: alpha + 2(k-1) bytes / (all these links)",
    .assumption = "a topology, at most 512 ranks; groups behind common links, and servers",
    .source     = "everything that enters a group passes a cut of links",
    .is_general = true,
    .seconds    = link_cut_seconds,
};
