/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sets of suspects and their probabilities. */
#include "hunt/belief.h"

#include "base/alloc.h"
#include "hunt/likelihood.h"

#include <gsl/gsl_sf_gamma.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What is left out: sets below the best by so much (as logarithms), and of each size of sets all
 * but the best so many. */
#define MOST_BELOW 20.0
enum { BEAM = 200, MOST_IN_SET = CS_HUNT_MAX_BAD + 2, REFITS = 2, FEW_RUNS = 24 };

/* Of what is bad, so much are nodes and NICs, the rest rails. */
#define NODE_SHARE 0.5
#define NIC_SHARE  0.375

/* So much less likely is every one more, or fewer, than are expected. */
#define COUNT_FACTOR 0.1

/* Suspects that nothing so far tells apart: the same kind and rail, on hosts with the same groups.
 */
typedef struct entry {
    cs_suspect suspect; /* of the first host */
    uint32_t   kin;
    double     n;         /* how many there are */
    double     log_prior; /* odds of one */
    double     log_odds;  /* of any one of them, by themselves */
    double     p;         /* that one of them is bad, summed over sets */
} entry;

typedef struct suspects {
    uint32_t of[MOST_IN_SET]; /* entries, in the order of `entries` */
    uint32_t n;
    double   log_odds;     /* to the empty set */
    double   log_multiple; /* how many sets of suspects it stands for */
} suspects;

typedef struct sets {
    suspects *of;
    size_t    n, capacity;
} sets;

typedef struct search {
    const cs_hunt *hunt;
    cs_likelihood  l;
    uint32_t      *kin, *first_host, n_kin;
    double        *n_of_kin;
    entry         *entries;
    uint32_t       n_entries;
    double         log_count[MOST_IN_SET + 1]; /* what the number of suspects does to a set */
    sets           all;
    cs_arena      *arena;
} search;

const char *cs_suspect_kind_name(cs_suspect_kind kind)
{
    static const char *const names[] = {"node", "nic", "rail"};

    return names[kind];
}

/* ---- hosts that nothing tells apart ---- */

typedef struct host_key {
    uint64_t key;
    uint32_t host;
} host_key;

static int compare_keys(const void *a, const void *b)
{
    const host_key *x = a, *y = b;

    if (x->key != y->key) {
        return x->key < y->key ? -1 : 1;
    }
    return x->host < y->host ? -1 : x->host > y->host;
}

static bool has_result(const search *s, uint32_t round)
{
    return cs_hunt_n_missing(s->hunt, s->hunt->rounds[round]) <
           cs_hunt_n_runs(s->hunt, s->hunt->rounds[round]);
}

/* Number the hosts by the groups that they were in. O(rounds n log n). */
static cs_status find_kin(search *s, cs_error *err)
{
    uint32_t  n    = s->hunt->n_hosts;
    host_key *keys = CS_NEW(host_key, n);

    s->kin        = CS_ARENA_NEW(s->arena, uint32_t, n);
    s->first_host = CS_ARENA_NEW(s->arena, uint32_t, n);
    s->n_of_kin   = CS_ARENA_NEW(s->arena, double, n);
    if (keys == NULL || s->kin == NULL || s->first_host == NULL || s->n_of_kin == NULL) {
        cs_free(keys);
        return CS_NO_MEMORY(err, "%u hosts", n);
    }
    s->n_kin = 1;
    for (uint32_t t = 0; t < s->hunt->n_rounds; t++) {
        if (!has_result(s, t)) {
            continue;
        }
        for (uint32_t i = 0; i < n; i++) {
            uint64_t group = s->hunt->rounds[t]->group_of[i];
            keys[i]        = (host_key){(uint64_t)s->kin[i] << 32 | group, i};
        }
        qsort(keys, n, sizeof *keys, compare_keys);
        s->n_kin = 0;
        for (uint32_t i = 0; i < n; i++) {
            s->n_kin += i == 0 || keys[i].key != keys[i - 1].key;
            s->kin[keys[i].host] = s->n_kin - 1;
        }
    }
    for (uint32_t i = n; i-- > 0;) {
        s->first_host[s->kin[i]] = i;
        s->n_of_kin[s->kin[i]] += 1;
    }
    cs_free(keys);
    return CS_OK;
}

/* ---- entries ---- */

/* Does the suspect take part in a run? */
static bool takes_part(const search *s, const cs_suspect *suspect, uint32_t round, uint32_t group,
                       uint32_t test)
{
    if (suspect->kind != CS_SUSPECT_NODE && suspect->rail != test) {
        return false;
    }
    return suspect->kind == CS_SUSPECT_RAIL ||
           s->hunt->rounds[round]->group_of[suspect->host] == group;
}

/* Is one of the first `n` members of a set in the run? */
static bool is_hit(const search *s, const suspects *set, uint32_t n, uint32_t round, uint32_t group,
                   uint32_t test)
{
    for (uint32_t j = 0; j < n; j++) {
        if (takes_part(s, &s->entries[set->of[j]].suspect, round, group, test)) {
            return true;
        }
    }
    return false;
}

/* Calls for every run of a suspect, through which the caller looks once. */
typedef struct run_walk {
    uint32_t round, group, test, end_group, end_test;
    bool     is_begun;
} run_walk;

static bool enter_round(const search *s, const cs_suspect *suspect, run_walk *w)
{
    const cs_hunt_round *round   = s->hunt->rounds[w->round];
    bool                 is_rail = suspect->kind == CS_SUSPECT_RAIL;
    uint32_t             group   = is_rail ? 0 : round->group_of[suspect->host];

    w->group     = group;
    w->end_group = is_rail ? round->n_groups : group == CS_HUNT_IDLE ? group : group + 1;
    w->test      = suspect->kind == CS_SUSPECT_NODE ? 0 : suspect->rail;
    w->end_test  = suspect->kind == CS_SUSPECT_NODE ? s->l.n_tests : suspect->rail + 1;
    return w->group < w->end_group;
}

/* The next run that the suspect takes part in; false: there is none left. */
static bool next_run(const search *s, const cs_suspect *suspect, run_walk *w)
{
    if (w->is_begun) {
        if (++w->test < w->end_test) {
            return true;
        }
        if (++w->group < w->end_group) {
            w->test = suspect->kind == CS_SUSPECT_NODE ? 0 : suspect->rail;
            return true;
        }
        w->round++;
    }
    w->is_begun = true;
    while (w->round < s->hunt->n_rounds && !enter_round(s, suspect, w)) {
        w->round++;
    }
    return w->round < s->hunt->n_rounds;
}

static uint32_t run_of(const search *s, const run_walk *w)
{
    return s->l.first[w->round] + w->group * s->l.n_tests + w->test;
}

/* The evidence of all runs of a suspect that no member of the set takes part in (NULL: of all). */
static double evidence_of(const search *s, const cs_suspect *suspect, const suspects *set)
{
    run_walk w   = {.round = 0};
    double   sum = 0;

    while (next_run(s, suspect, &w)) {
        if (set == NULL || !is_hit(s, set, set->n, w.round, w.group, w.test)) {
            sum += s->l.ratio[run_of(s, &w)];
        }
    }
    return sum;
}

static int compare_entries(const void *a, const void *b)
{
    const entry *x = a, *y = b;

    if (x->log_odds != y->log_odds) {
        return x->log_odds > y->log_odds ? -1 : 1;
    }
    if (x->suspect.host != y->suspect.host) {
        return x->suspect.host < y->suspect.host ? -1 : 1;
    }
    return x->suspect.kind != y->suspect.kind ? (int)x->suspect.kind - (int)y->suspect.kind
                                              : (int)x->suspect.rail - (int)y->suspect.rail;
}

static void add_entry(search *s, cs_suspect suspect, uint32_t kin, double n, double mean)
{
    double p = fmin(0.5, mean);

    s->entries[s->n_entries++] =
        (entry){.suspect = suspect, .kin = kin, .n = n, .log_prior = log(p / (1 - p))};
}

static cs_status make_entries(search *s, cs_error *err)
{
    uint32_t rails = s->hunt->n_rails, hosts = s->hunt->n_hosts;
    double   bad = s->hunt->setting.bad, node_bad = rails > 0 ? bad * NODE_SHARE : bad;
    double   nic_bad = bad * NIC_SHARE / rails, rail_bad = bad * (1 - NODE_SHARE - NIC_SHARE);

    s->entries = CS_ARENA_NEW(s->arena, entry, (size_t)s->n_kin * (1 + rails) + rails);
    if (s->entries == NULL) {
        return CS_NO_MEMORY(err, "%u suspects", s->n_kin);
    }
    for (uint32_t k = 0; k < s->n_kin; k++) {
        uint32_t host = s->first_host[k];
        add_entry(s, (cs_suspect){CS_SUSPECT_NODE, host, 0}, k, s->n_of_kin[k], node_bad / hosts);
        for (uint32_t r = 0; r < rails; r++) {
            add_entry(s, (cs_suspect){CS_SUSPECT_NIC, host, r}, k, s->n_of_kin[k], nic_bad / hosts);
        }
    }
    for (uint32_t r = 0; r < rails; r++) {
        add_entry(s, (cs_suspect){CS_SUSPECT_RAIL, 0, r}, 0, 1, rail_bad / rails);
    }
    return CS_OK;
}

static void rank_entries(search *s)
{
    for (uint32_t i = 0; i < s->n_entries; i++) {
        entry *e    = &s->entries[i];
        e->log_odds = e->log_prior + log(e->n) + evidence_of(s, &e->suspect, NULL);
        e->p        = 0;
    }
    qsort(s->entries, s->n_entries, sizeof *s->entries, compare_entries);
}

/* Suspects that are bad independently of each other would have a Poisson distribution: what is
 * expected of their number instead, relative to that, and to none. */
static void set_counts(search *s)
{
    double mean = s->hunt->setting.bad;

    for (int n = 0; n <= MOST_IN_SET; n++) {
        s->log_count[n] = fabs(n - mean) * log(COUNT_FACTOR) - n * log(mean) + lgamma(n + 1.0);
    }
    for (int n = MOST_IN_SET; n >= 0; n--) {
        s->log_count[n] -= s->log_count[0];
    }
}

/* ---- sets ---- */

/* May two suspects take part in the same run, so that it counts once? */
static bool may_meet(const search *s, const cs_suspect *a, const cs_suspect *b)
{
    if (a->kind == CS_SUSPECT_RAIL || b->kind == CS_SUSPECT_RAIL) {
        return true;
    }
    for (uint32_t t = 0; t < s->hunt->n_rounds; t++) {
        const uint32_t *group_of = s->hunt->rounds[t]->group_of;
        if (group_of[a->host] == group_of[b->host] && group_of[a->host] != CS_HUNT_IDLE) {
            return true;
        }
    }
    return false;
}

/* How many suspects of an entry no member of the set hides, or is hidden by: nobody can tell a slow
 * NIC of a slow node, or of a slow rail. */
static double n_free(const search *s, const suspects *from, const entry *e)
{
    double n = e->n;

    for (uint32_t j = 0; j < from->n; j++) {
        const entry     *m = &s->entries[from->of[j]];
        const cs_suspect a = e->suspect, b = m->suspect;
        bool             rail = a.kind == CS_SUSPECT_RAIL || b.kind == CS_SUSPECT_RAIL;
        bool             nic  = a.kind == CS_SUSPECT_NIC || b.kind == CS_SUSPECT_NIC;
        if (a.kind == b.kind || !nic) {
            continue;
        }
        if (rail && a.rail == b.rail) {
            return 0;
        }
        n -= !rail && e->kin == m->kin;
    }
    return n;
}

/* The set with one more of entry `i`, which does not stand before its last one; false: there is no
 * more of it. */
static bool extend(const search *s, const suspects *from, uint32_t i, suspects *to)
{
    const entry *e     = &s->entries[i];
    double       n     = n_free(s, from, e);
    uint32_t     same  = 0;
    bool         meets = false;

    for (uint32_t j = 0; j < from->n; j++) {
        same += from->of[j] == i;
        meets = meets || may_meet(s, &s->entries[from->of[j]].suspect, &e->suspect);
    }
    if (same >= n) {
        return false;
    }
    *to             = *from;
    to->of[to->n++] = i;
    double multiple = log((n - same) / (same + 1.0));
    double evidence =
        meets ? evidence_of(s, &e->suspect, from) : e->log_odds - e->log_prior - log(e->n);
    to->log_multiple = from->log_multiple + multiple;
    to->log_odds     = from->log_odds + e->log_prior + multiple + evidence + s->log_count[to->n] -
                   s->log_count[from->n];
    return true;
}

static cs_status keep(sets *all, const suspects *one, cs_error *err)
{
    if (!cs_grow(&all->of, &all->capacity, all->n + 1, 256, sizeof *all->of)) {
        return CS_NO_MEMORY(err, "%zu sets of suspects", all->n + 1);
    }
    all->of[all->n++] = *one;
    return CS_OK;
}

static int compare_sets(const void *a, const void *b)
{
    const suspects *x = a, *y = b;

    if (x->log_odds != y->log_odds) {
        return x->log_odds > y->log_odds ? -1 : 1;
    }
    for (int i = 0; i < MOST_IN_SET; i++) {
        if (x->of[i] != y->of[i]) {
            return x->of[i] < y->of[i] ? -1 : 1;
        }
    }
    return 0;
}

/* Of the sets from `begin` on, a heap with the least likely one first, the BEAM best: is there a
 * place for this one? */
static cs_status keep_best(sets *all, size_t begin, const suspects *one, cs_error *err)
{
    suspects *heap = all->of + begin;
    size_t    n = all->n - begin, at = n;

    if (n < BEAM) {
        CS_TRY(keep(all, one, err));
        heap = all->of + begin;
        for (; at > 0 && compare_sets(one, &heap[(at - 1) / 2]) > 0; at = (at - 1) / 2) {
            heap[at] = heap[(at - 1) / 2];
        }
    } else if (compare_sets(one, heap) < 0) {
        size_t next = 1;
        for (at = 0; next < n; next = 2 * at + 1) {
            next += next + 1 < n && compare_sets(&heap[next + 1], &heap[next]) > 0;
            if (compare_sets(one, &heap[next]) >= 0) {
                break;
            }
            heap[at] = heap[next];
            at       = next;
        }
    } else {
        return CS_OK;
    }
    heap[at] = *one;
    return CS_OK;
}

/* Add every set of one more suspect to those that begin at `from`. */
static cs_status grow_sets(search *s, size_t from, double *best_p, cs_error *err)
{
    size_t   end  = s->all.n;
    uint32_t most = s->n_entries < BEAM || s->all.of[from].n == 0 ? s->n_entries : BEAM;

    for (size_t b = from; b < end; b++) {
        const suspects base  = s->all.of[b];
        uint32_t       start = base.n > 0 ? base.of[base.n - 1] : 0;
        for (uint32_t i = start; i < most; i++) {
            suspects next;
            double   alone = base.log_odds + s->entries[i].log_odds;
            if (base.n > 0 && alone < *best_p - MOST_BELOW) {
                break;
            }
            if (!extend(s, &base, i, &next)) {
                continue;
            }
            if (next.n == 1) {
                CS_TRY(keep(&s->all, &next, err));
            } else if (next.log_odds > *best_p - MOST_BELOW) {
                CS_TRY(keep_best(&s->all, end, &next, err));
            }
            *best_p = fmax(*best_p, next.log_odds);
        }
    }
    if (s->all.n > end) {
        qsort(s->all.of + end, s->all.n - end, sizeof *s->all.of, compare_sets);
    }
    return CS_OK;
}

/* All sets worth looking at: the empty one, every entry alone, then larger ones. */
static cs_status find_sets(search *s, cs_error *err)
{
    const suspects empty = {.n = 0};
    uint32_t       most  = s->hunt->setting.bad + 2;
    double         best  = 0;
    size_t         from  = 0;

    s->all.n = 0;
    CS_TRY(keep(&s->all, &empty, err));
    for (uint32_t n = 1; n <= most && from < s->all.n; n++) {
        size_t next = s->all.n;
        CS_TRY(grow_sets(s, from, &best, err));
        from = next;
    }
    return CS_OK;
}

/* ---- probabilities ---- */

static double log_total(const search *s)
{
    double most = 0, sum = 0;

    for (size_t i = 0; i < s->all.n; i++) {
        most = fmax(most, s->all.of[i].log_odds);
    }
    for (size_t i = 0; i < s->all.n; i++) {
        sum += exp(s->all.of[i].log_odds - most);
    }
    return most + log(sum);
}

/* Every entry's share, and how likely every run was hit. */
static void sum_up(search *s, double total)
{
    memset(s->l.hit, 0, s->l.n_runs * sizeof *s->l.hit);
    for (size_t b = 0; b < s->all.n; b++) {
        const suspects *one = &s->all.of[b];
        double          p   = exp(one->log_odds - total);
        if (p < 1e-12) {
            continue;
        }
        for (uint32_t j = 0; j < one->n; j++) {
            entry   *e = &s->entries[one->of[j]];
            run_walk w = {.round = 0};
            e->p += p;
            while (next_run(s, &e->suspect, &w)) {
                if (!is_hit(s, one, j, w.round, w.group, w.test)) {
                    s->l.hit[run_of(s, &w)] += p;
                }
            }
        }
    }
    for (uint32_t i = 0; i < s->l.n_runs; i++) {
        s->l.hit[i] = fmin(1, s->l.hit[i]);
    }
}

static void take_best(const search *s, double total, cs_belief *b)
{
    const suspects *best = &s->all.of[0];

    for (size_t i = 1; i < s->all.n; i++) {
        const suspects *one = &s->all.of[i];
        if (one->log_odds - one->log_multiple > best->log_odds - best->log_multiple) {
            best = one;
        }
    }
    b->none_p = exp(s->all.of[0].log_odds - total);
    b->best_p = exp(best->log_odds - best->log_multiple - total);
    b->n_best = best->n;
    for (uint32_t j = 0; j < best->n; j++) {
        b->best[j] = s->entries[best->of[j]].suspect;
    }
}

/* The likeliest suspects: entries are in the order of their odds, not of what sets make of them. */
static void take_top(const search *s, cs_belief *b)
{
    for (uint32_t i = 0; i < s->n_entries; i++) {
        const entry *e  = &s->entries[i];
        double       p  = e->p / e->n;
        uint32_t     at = b->n_top;
        if (!(p > 0)) {
            continue;
        }
        while (at > 0 && b->top_p[at - 1] < p) {
            at--;
        }
        if (at == CS_HUNT_TOP) {
            continue;
        }
        b->n_top = b->n_top < CS_HUNT_TOP ? b->n_top + 1 : CS_HUNT_TOP;
        for (uint32_t k = b->n_top - 1; k > at; k--) {
            b->top[k]   = b->top[k - 1];
            b->top_p[k] = b->top_p[k - 1];
            b->alike[k] = b->alike[k - 1];
        }
        b->top[at]   = e->suspect;
        b->top_p[at] = p;
        b->alike[at] = (uint32_t)e->n;
    }
}

static cs_status take_hosts(const search *s, cs_belief *b, cs_error *err)
{
    double *of_kin = CS_NEW(double, s->n_kin);

    b->kin    = s->kin;
    b->host_p = CS_ARENA_NEW(s->arena, double, s->hunt->n_hosts);
    if (of_kin == NULL || b->host_p == NULL) {
        cs_free(of_kin);
        return CS_NO_MEMORY(err, "%u hosts", s->hunt->n_hosts);
    }
    for (uint32_t i = 0; i < s->n_entries; i++) {
        if (s->entries[i].suspect.kind != CS_SUSPECT_RAIL) {
            of_kin[s->entries[i].kin] += s->entries[i].p / s->entries[i].n;
        }
    }
    for (uint32_t i = 0; i < s->hunt->n_hosts; i++) {
        b->host_p[i] = fmin(1, of_kin[s->kin[i]]);
    }
    cs_free(of_kin);
    return CS_OK;
}

static void take_scales(const search *s, cs_belief *b)
{
    const cs_hunt *hunt = s->hunt;

    b->noise        = s->l.noise;
    b->least_effect = -expm1(-s->l.least_drop);
    for (uint32_t t = 0; t < hunt->n_rounds; t++) {
        double center = s->l.center[s->l.size_of[s->l.first[t]]];
        if (has_result(s, t)) {
            b->healthy_Bps = exp(center);
        }
    }
}

/* ---- all of it ---- */

/* Fit the noise and the sets to each other, from one start; log of how well they fit. */
static cs_status fit(search *s, cs_likelihood_start start, double *total_p, double *fit_p,
                     cs_error *err)
{
    CS_TRY(cs_likelihood_begin(s->hunt, start, s->arena, &s->l, err));
    for (int i = 0;; i++) {
        rank_entries(s);
        CS_TRY(find_sets(s, err));
        *total_p = log_total(s);
        *fit_p   = *total_p + s->l.log_sound;
        sum_up(s, *total_p);
        if (i == REFITS || s->hunt->n_rounds == 0) {
            return CS_OK;
        }
        cs_likelihood_fit(s->hunt, &s->l);
    }
}

/* The better one of two starts, where runs are so few that the first may be at fault. */
static cs_status search_all(search *s, cs_belief *b, cs_error *err)
{
    double total = 0, from_median = 0, from_fastest = 0;

    CS_TRY(find_kin(s, err));
    CS_TRY(make_entries(s, err));
    set_counts(s);
    CS_TRY(fit(s, CS_FROM_MEDIAN, &total, &from_median, err));
    if (s->l.n_runs > 0 && s->l.n_runs <= FEW_RUNS) {
        CS_TRY(fit(s, CS_FROM_FASTEST, &total, &from_fastest, err));
        if (from_fastest < from_median) {
            CS_TRY(fit(s, CS_FROM_MEDIAN, &total, &from_median, err));
        }
    }
    take_best(s, total, b);
    take_top(s, b);
    take_scales(s, b);
    return take_hosts(s, b, err);
}

cs_status cs_belief_of(const cs_hunt *hunt, cs_belief *belief_p, cs_error *err)
{
    cs_belief belief = {.n_best = 0};
    search    s      = {.hunt = hunt, .arena = &belief.arena};
    cs_status status = search_all(&s, &belief, err);

    cs_free(s.all.of);
    if (status != CS_OK) {
        cs_belief_free(&belief);
        return status;
    }
    *belief_p = belief;
    return CS_OK;
}

void cs_belief_free(cs_belief *belief)
{
    cs_arena_free(&belief->arena);
    *belief = (cs_belief){.n_best = 0};
}

bool cs_belief_is_sure(const cs_hunt *hunt, const cs_belief *belief)
{
    return belief->healthy_Bps > 0 && belief->best_p >= hunt->setting.confidence;
}

/* ---- what no method can undercut ---- */

static double log2_choose(double n, double k)
{
    return (gsl_sf_lngamma(n + 1) - gsl_sf_lngamma(k + 1) - gsl_sf_lngamma(n - k + 1)) / log(2);
}

/* Bits that so many results carry at most, if `hits` of them are hit on average. */
static double channel_bits(double runs, double hits, double effect_over_noise)
{
    double q = fmin(0.5, hits / runs);

    return runs * 0.5 * log2(1 + effect_over_noise * effect_over_noise * q * (1 - q));
}

/* Suspects of these kinds, and how many sets of runs of a round are those of one of them. */
static void count_suspects(const cs_hunt *hunt, unsigned kinds, double *suspects_p,
                           double *patterns_p)
{
    double n = hunt->n_hosts, groups = floor(n / 2), rails = hunt->n_rails;
    bool   nodes = kinds == 0 || rails == 0 || (kinds & 1u << CS_SUSPECT_NODE) != 0;
    bool   nics  = kinds == 0 || (kinds & 1u << CS_SUSPECT_NIC) != 0;
    bool   whole = kinds == 0 || (kinds & 1u << CS_SUSPECT_RAIL) != 0;

    *suspects_p = n * nodes + n * rails * nics + rails * whole;
    *patterns_p = groups * nodes + groups * rails * nics + rails * whole;
}

cs_hunt_bound cs_hunt_bound_of(const cs_hunt *hunt, uint32_t bad, unsigned kinds, double effect)
{
    const cs_hunt_setting *s     = &hunt->setting;
    double                 tests = cs_hunt_n_tests(hunt), groups = floor(hunt->n_hosts / 2.0);
    double                 missing = 1 - s->confidence, needed, outcomes = 0, n_suspects, patterns;

    count_suspects(hunt, kinds, &n_suspects, &patterns);
    cs_hunt_bound bound = {.bits         = log2_choose(n_suspects, fmin(bad, n_suspects)),
                           .bits_per_run = 1};
    for (uint32_t k = 0; k <= bad && k <= patterns; k++) {
        outcomes += exp2(log2_choose(patterns, k));
    }
    bound.bits_per_round = log2(outcomes);
    if (effect > 0 && s->noise > 0) {
        double ratio       = -log1p(-effect) / (s->noise / sqrt(s->rows));
        bound.bits_per_run = fmin(1, channel_bits(1, 1, ratio));
        /* A rail is in all groups: nothing is known of how many runs are hit. */
        bound.bits_per_round =
            fmin(bound.bits_per_round,
                 channel_bits(groups * tests, hunt->n_rails > 0 ? groups * tests : bad, ratio));
    }
    needed =
        bound.bits * s->confidence + missing * log2(missing) + s->confidence * log2(s->confidence);
    needed       = fmax(needed, 0);
    bound.rounds = (uint64_t)ceil(needed / bound.bits_per_round - 1e-9);
    bound.runs   = (uint64_t)ceil(needed / bound.bits_per_run - 1e-9);
    return bound;
}
