/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Places of ways in a turn. Two ways to find some are tried, and what comes out is timed: how long
 * the ports need for turn after turn, and how long a first chunk is under way.
 *
 * By colours: a turn has as many places as the busiest port has ways, and a way gets one of which
 * both its ports have nothing yet: the edges of a bipartite graph need no more (Koenig). It is the
 * first one behind what the way needs; where the two ports have none in common, the ways in two
 * places change them along a path.
 *
 * By times: the turn is as long as the busiest port needs, and a way takes the first time at which
 * both its ports are free in every turn. Where there is none, the turn is made longer, or in the
 * end the way takes one that is not free.
 *
 * The busy times of a port are a list of intervals in ascending order, which grow together where
 * they touch. */
#include "algorithms/adapcc/turns.h"

#include "base/alloc.h"
#include "base/random.h"
#include "cs/schedule.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NO_BUSY  UINT32_MAX
#define NO_WAY   UINT32_MAX
#define LEAST_S  1e-12 /* of a message */
#define NO_PLACE ((double)INFINITY)

enum {
    MOST_CELLS  = 1 << 25,
    FEW_CHUNKS  = 4,
    SOME_CHUNKS = 12,
    MOST_WORK   = 1 << 20,
    LITTLE_WORK = 1 << 16
};

/* A time at which a port is busy in every turn. */
typedef struct busy {
    double   from_s, until_s; /* 0 <= from < until <= the turn's length */
    uint32_t next;
} busy;

typedef struct port {
    uint32_t   busy; /* its first one, or NO_BUSY */
    uint32_t   n_ways;
    double     load_s;
    double     free_s; /* while ways are timed */
    uint32_t   row;    /* its first cell */
    cs_palette colours;
} port;

/* What a way holds, and for how long: its ports. The messages of a turn pay the start-up together.
 */
typedef struct leg {
    port  *out, *in;
    double took_s;
} leg;

typedef struct placed {
    double   place;
    uint32_t way;
} placed;

typedef struct found {
    double   place;
    uint32_t lag;
} found;

typedef struct planner {
    cs_turn_way      *ways;
    size_t            n_ways, n_parts;
    const cs_logical *l;
    uint32_t          n_ports; /* of one direction; those of pairs stand behind the others */
    uint32_t          most_gpus;
    port             *out, *in; /* [n_ports] */
    leg              *legs;     /* [ways] */
    busy             *busies;
    uint32_t          n_busies;
    uint32_t         *queue;   /* [ways] in the order in which they take places */
    uint32_t         *highest; /* [parts] level */
    double           *ready_s; /* [parts][ranks] */
    double            turn_s;
    uint32_t         *cells; /* [ports in use][n_places] way, or NO_WAY */
    uint32_t          n_places;
    uint32_t         *path; /* [ways] */
    uint64_t          n_chunks;
    placed           *order;   /* [ways] as in a turn */
    double           *there_s; /* [parts][window][ranks] */
    size_t            room;
    found            *best;   /* [ways] of the tries so far */
    double            best_s; /* < 0: there was none */
} planner;

/* A link that pairs have for themselves is a port in one direction. */
static void find_ports(planner *p)
{
    for (size_t i = 0; i < p->n_ways; i++) {
        const cs_turn_way    *w = &p->ways[i];
        const cs_logical_edge e = cs_logical_edge_of(p->l, w->src, w->dst);
        leg                  *x = &p->legs[i];

        if (e.egress != CS_NO_PORT) {
            x->out = &p->out[e.egress];
            x->in  = &p->in[e.ingress];
        } else {
            uint32_t first = p->l->servers[p->l->server_of[w->src]].first_rank;
            x->out =
                &p->out[cs_logical_n_ports(p->l) + (size_t)w->src * p->most_gpus + w->dst - first];
            x->in = x->out;
        }
        x->took_s = LEAST_S + e.alpha_s + w->bytes / e.bandwidth_Bps;
        x->out->n_ways++;
        x->in->n_ways += x->in != x->out;
    }
}

/* ---- shared ---- */

/* Of two ways at one port, the one with the smaller number has the smaller colour. */
static void colour_ways(planner *p)
{
    for (size_t i = 0; i < p->n_ways; i++) {
        const leg *x = &p->legs[i];

        p->ways[i].lag   = p->ways[i].level;
        p->ways[i].place = cs_palette_take(&x->out->colours, &x->in->colours);
        if (x->out->n_ways > 1 || x->in->n_ways > 1) {
            p->ways[i].flags |= CS_SHARED;
        }
    }
}

/* ---- served: what tries have in common ---- */

static double *ready_at(const planner *p, const cs_turn_way *w, uint32_t rank)
{
    return &p->ready_s[(size_t)w->part * p->l->n_ranks + rank];
}

static void forget_ready(planner *p)
{
    memset(p->ready_s, 0, p->n_parts * p->l->n_ranks * sizeof *p->ready_s);
}

/* The first chunk of a way starts then: when is what it brings there? A little is left out, less
 * than the message, so that what follows at once does so in spite of rounding. */
static void bring(planner *p, const cs_turn_way *w, double at_s)
{
    double  took_s = p->legs[w->number].took_s, less_s = 1e-6 * p->turn_s;
    double  end_s = at_s + took_s - (less_s < took_s / 2 ? less_s : took_s / 2);
    double *ready = ready_at(p, w, w->dst);

    *ready = *ready > end_s ? *ready : end_s;
}

/* The lags that places in turns of that length leave: the least ones. */
static void find_lags(planner *p)
{
    forget_ready(p);
    for (size_t i = 0; i < p->n_ways; i++) {
        cs_turn_way *w      = &p->ways[p->queue[i]];
        double       from_s = *ready_at(p, w, w->src), turns = floor(from_s / p->turn_s);

        turns += turns * p->turn_s + w->place < from_s ? 1 : 0;
        w->lag = (uint32_t)turns;
        bring(p, w, turns * p->turn_s + w->place);
    }
}

static int by_place(const void *left, const void *right)
{
    const placed *a = left, *b = right;

    if (a->place < b->place || a->place > b->place) {
        return a->place < b->place ? -1 : 1;
    }
    return (a->way > b->way) - (a->way < b->way);
}

/* When so many chunks of every part are where they belong, if ports serve them in this order.
 * there_s[part][chunk % window][rank] says since when a rank has what it needs of a chunk. */
static double time_chunks(planner *p, uint32_t n_chunks, uint32_t window)
{
    double *there_s = p->there_s;
    size_t  n       = p->l->n_ranks;
    double  last_s  = 0;

    for (uint32_t i = 0; i < p->n_ports; i++) {
        p->out[i].free_s = p->in[i].free_s = 0;
    }
    for (uint32_t turn = 0; turn + 1 < n_chunks + window; turn++) {
        for (size_t part = 0; part < p->n_parts; part++) {
            memset(there_s + (part * window + turn % window) * n, 0, n * sizeof *there_s);
        }
        for (size_t i = 0; i < p->n_ways; i++) {
            const cs_turn_way *w     = &p->ways[p->order[i].way];
            const leg         *x     = &p->legs[w->number];
            uint32_t           chunk = turn - w->lag;

            if (chunk < n_chunks) { /* not before its first one: the difference is large then */
                double *at     = there_s + (w->part * window + chunk % window) * n;
                double  from_s = x->out->free_s > x->in->free_s ? x->out->free_s : x->in->free_s;
                from_s         = from_s > at[w->src] ? from_s : at[w->src];
                last_s         = from_s + x->took_s > last_s ? from_s + x->took_s : last_s;
                x->out->free_s = x->in->free_s = from_s + x->took_s;
                at[w->dst] = at[w->dst] > x->out->free_s ? at[w->dst] : x->out->free_s;
            }
        }
    }
    return last_s;
}

/* How long the try takes: by some chunks, and from there on at their pace. INFINITY: it takes too
 * much memory to see. */
static cs_status time_try(planner *p, double *took_s_p, cs_error *err)
{
    uint32_t few    = p->n_chunks < FEW_CHUNKS ? (uint32_t)p->n_chunks : FEW_CHUNKS;
    uint32_t some   = p->n_chunks < SOME_CHUNKS ? (uint32_t)p->n_chunks : SOME_CHUNKS;
    uint32_t window = 1;

    for (size_t i = 0; i < p->n_ways; i++) {
        window      = p->ways[i].lag + 1 > window ? p->ways[i].lag + 1 : window;
        p->order[i] = (placed){p->ways[i].place, (uint32_t)i};
    }
    size_t cells = p->n_parts * p->l->n_ranks * window;
    *took_s_p    = (double)INFINITY;
    if (cells > MOST_CELLS) {
        return CS_OK;
    }
    if (!cs_grow(&p->there_s, &p->room, cells, cells, sizeof *p->there_s)) {
        return CS_NO_MEMORY(err, "adapcc");
    }
    qsort(p->order, p->n_ways, sizeof *p->order, by_place);
    *took_s_p = time_chunks(p, some, window);
    if (some > few) {
        double pace_s = (*took_s_p - time_chunks(p, few, window)) / (some - few);
        *took_s_p += (double)(p->n_chunks - some) * pace_s;
    }
    return CS_OK;
}

/* Keep a try that is no worse than those before it. */
static cs_status keep_best(planner *p, bool *is_kept_p, cs_error *err)
{
    double took_s = 0;

    find_lags(p);
    CS_TRY(time_try(p, &took_s, err));
    *is_kept_p = took_s <= p->best_s || p->best_s < 0;
    if (*is_kept_p) {
        p->best_s = took_s;
        for (size_t i = 0; i < p->n_ways; i++) {
            p->best[i] = (found){p->ways[i].place, p->ways[i].lag};
        }
    }
    return CS_OK;
}

static void take_best(planner *p)
{
    for (size_t i = 0; i < p->n_ways; i++) {
        p->ways[i].place = p->best[i].place;
        p->ways[i].lag   = p->best[i].lag;
    }
}

/* Another way, of some at random the first one that has a port with `a` in common. */
static cs_turn_way *draw_rival(const planner *p, const cs_turn_way *a, gsl_rng *random)
{
    const leg   *x = &p->legs[a->number];
    cs_turn_way *b = NULL;

    for (int i = 0; i < 8; i++) {
        b            = &p->ways[gsl_rng_uniform_int(random, p->n_ways)];
        const leg *y = &p->legs[b->number];
        if (b != a && (x->out == y->out || x->in == y->in)) {
            break;
        }
    }
    return b;
}

/* Let two ways change their places, as long as there is something to gain and work left. `least_s`
 * is what the busiest port needs. */
static cs_status swap_places(planner *p, double least_s, uint64_t most_work, cs_error *err)
{
    gsl_rng  *random = cs_random_stream(1, "adapcc.turns");
    uint64_t  work = 0, a_turn = p->n_ways * (SOME_CHUNKS + FEW_CHUNKS);
    cs_status status = random != NULL ? CS_OK : CS_NO_MEMORY(err, "adapcc");

    take_best(p);
    while (status == CS_OK && p->n_ways > 1 && work + a_turn < most_work &&
           p->best_s > 1.02 * least_s * (double)p->n_chunks) {
        cs_turn_way *a       = &p->ways[gsl_rng_uniform_int(random, p->n_ways)];
        cs_turn_way *b       = draw_rival(p, a, random);
        double       place   = a->place;
        bool         is_kept = false;

        a->place = b->place;
        b->place = place;
        status   = keep_best(p, &is_kept, err);
        if (!is_kept) {
            b->place = a->place;
            a->place = place;
        }
        work += a_turn;
    }
    if (random != NULL) {
        gsl_rng_free(random);
    }
    return status;
}

/* ---- served: colours ---- */

/* Let the ways in the places `a` and `b` change them along the path from `in`, which has one in `a`
 * and none in `b`. */
static void change_places(planner *p, port *in, uint32_t a, uint32_t b)
{
    uint32_t length = 0, from = a, to = b;
    port    *at = in;

    for (uint32_t w = p->cells[at->row + a]; w != NO_WAY; length++) {
        p->path[length] = w;
        at              = at == p->legs[w].in ? p->legs[w].out : p->legs[w].in;
        from            = from == a ? b : a;
        w               = p->cells[at->row + from];
    }
    from = a;
    for (uint32_t i = 0; i < length; i++, from = to) {
        const port *out = p->legs[p->path[i]].out, *into = p->legs[p->path[i]].in;

        to = from == a ? b : a;
        if (p->cells[out->row + from] == p->path[i]) {
            p->cells[out->row + from] = NO_WAY;
        }
        if (p->cells[into->row + from] == p->path[i]) {
            p->cells[into->row + from] = NO_WAY;
        }
        p->cells[out->row + to]  = p->path[i];
        p->cells[into->row + to] = p->path[i];
    }
}

/* The place of a way: the first one behind what it needs that both its ports have free, or else the
 * first one that its sending port has. */
static void colour_way(planner *p, uint32_t way)
{
    cs_turn_way *w      = &p->ways[way];
    double       slot_s = p->turn_s / p->n_places, from_s = *ready_at(p, w, w->src);
    uint32_t     first = (uint32_t)fmod(ceil(from_s / slot_s), p->n_places);
    uint32_t     a = NO_WAY, b = NO_WAY, both = NO_WAY;
    port        *out = p->legs[way].out, *in = p->legs[way].in;

    for (uint32_t i = 0; i < p->n_places && both == NO_WAY; i++) {
        uint32_t place  = first + i < p->n_places ? first + i : first + i - p->n_places;
        bool     is_out = p->cells[out->row + place] == NO_WAY;
        bool     is_in  = p->cells[in->row + place] == NO_WAY;

        a    = is_out && a == NO_WAY ? place : a;
        b    = is_in && b == NO_WAY ? place : b;
        both = is_out && is_in ? place : both;
    }
    if (both == NO_WAY) {
        change_places(p, in, a, b);
        both = a;
    }
    p->cells[out->row + both] = way;
    p->cells[in->row + both]  = way;
    double at_s               = both * slot_s;
    at_s += at_s < from_s ? ceil((from_s - at_s) / p->turn_s) * p->turn_s : 0;
    bring(p, w, at_s);
}

static cs_status try_colours(planner *p, double turn_s, cs_error *err)
{
    uint64_t rows    = 0;
    bool     is_kept = false;

    p->turn_s   = turn_s;
    p->n_places = 0;
    for (uint32_t i = 0; i < p->n_ports; i++) {
        p->n_places = p->out[i].n_ways > p->n_places ? p->out[i].n_ways : p->n_places;
        p->n_places = p->in[i].n_ways > p->n_places ? p->in[i].n_ways : p->n_places;
        rows += (p->out[i].n_ways > 0 ? 1u : 0u) + (p->in[i].n_ways > 0 ? 1u : 0u);
    }
    if (rows * p->n_places > MOST_CELLS) {
        return CS_OK;
    }
    p->cells = CS_NEW(uint32_t, rows * p->n_places);
    p->path  = CS_NEW(uint32_t, p->n_ways);
    if (p->cells == NULL || p->path == NULL) {
        return CS_NO_MEMORY(err, "adapcc");
    }
    memset(p->cells, 0xff, rows * p->n_places * sizeof *p->cells);
    for (uint32_t i = 0, row = 0; i < p->n_ports; i++) {
        p->out[i].row = row;
        row += p->out[i].n_ways > 0 ? p->n_places : 0;
        p->in[i].row = row;
        row += p->in[i].n_ways > 0 ? p->n_places : 0;
    }
    forget_ready(p);
    for (size_t i = 0; i < p->n_ways; i++) {
        colour_way(p, p->queue[i]);
    }
    for (uint32_t i = 0; i < rows * p->n_places; i++) {
        if (p->cells[i] != NO_WAY) {
            p->ways[p->cells[i]].place = i % p->n_places * (turn_s / p->n_places);
        }
    }
    return keep_best(p, &is_kept, err);
}

/* ---- served: times ---- */

/* The first time from `from_s` on at which the port is free for so long in every turn. */
static double free_from(const planner *p, const port *at, double from_s, double message_s)
{
    double turn_s = p->turn_s, base_s = floor(from_s / turn_s) * turn_s, least_s = turn_s * 1e-9;

    for (int turns = 0; turns < 2; turns++, base_s += turn_s) {
        double at_s = turns == 0 ? from_s - base_s : 0;

        for (uint32_t i = at->busy; i != NO_BUSY; i = p->busies[i].next) {
            if (p->busies[i].until_s <= at_s + least_s) {
                continue;
            }
            if (p->busies[i].from_s >= at_s + message_s - least_s) {
                break;
            }
            at_s = p->busies[i].until_s;
        }
        double over_s = at_s + message_s - turn_s;
        if (over_s <= least_s ||
            (at_s < turn_s &&
             (at->busy == NO_BUSY || p->busies[at->busy].from_s >= over_s - least_s))) {
            return base_s + at_s;
        }
    }
    return NO_PLACE;
}

/* An interval within a turn. */
static void take(planner *p, port *at, double from_s, double until_s)
{
    uint32_t *link    = &at->busy;
    double    least_s = p->turn_s * 1e-9;

    while (*link != NO_BUSY && p->busies[*link].until_s < from_s - least_s) {
        link = &p->busies[*link].next;
    }
    if (*link == NO_BUSY || p->busies[*link].from_s > until_s + least_s) {
        p->busies[p->n_busies] = (busy){from_s, until_s, *link};
        *link                  = p->n_busies++;
        return;
    }
    busy *b    = &p->busies[*link];
    b->from_s  = b->from_s < from_s ? b->from_s : from_s;
    b->until_s = b->until_s > until_s ? b->until_s : until_s;
    while (b->next != NO_BUSY && p->busies[b->next].from_s <= b->until_s + least_s) {
        const busy *next = &p->busies[b->next];
        b->until_s       = b->until_s > next->until_s ? b->until_s : next->until_s;
        b->next          = next->next;
    }
}

static void take_place(planner *p, port *at, double from_s, double message_s)
{
    double at_s = from_s - floor(from_s / p->turn_s) * p->turn_s;

    if (at_s + message_s <= p->turn_s) {
        take(p, at, at_s, at_s + message_s);
    } else {
        take(p, at, at_s, p->turn_s);
        take(p, at, 0, at_s + message_s - p->turn_s);
    }
}

/* Give a way the first place that is free at both its ports, or else one that is not. */
static void place_way(planner *p, cs_turn_way *w)
{
    port  *out = p->legs[w->number].out, *in = p->legs[w->number].in;
    double took_s = p->legs[w->number].took_s, from_s = *ready_at(p, w, w->src);
    double at_s = from_s, last_s = from_s + p->turn_s;
    bool   is_placed = false;

    while (!is_placed && at_s <= last_s) {
        double there_s = free_from(p, out, at_s, took_s);
        there_s        = there_s < NO_PLACE ? free_from(p, in, there_s, took_s) : there_s;
        is_placed      = there_s <= at_s;
        at_s           = there_s;
    }
    at_s = is_placed ? at_s : from_s;
    if (is_placed) {
        take_place(p, out, at_s, took_s);
        if (in != out) {
            take_place(p, in, at_s, took_s);
        }
    }
    w->place = at_s - floor(at_s / p->turn_s) * p->turn_s;
    bring(p, w, at_s);
}

static cs_status try_times(planner *p, double turn_s, cs_error *err)
{
    bool is_kept = false;

    p->turn_s   = turn_s;
    p->n_busies = 0;
    forget_ready(p);
    for (uint32_t i = 0; i < p->n_ports; i++) {
        p->out[i].busy = p->in[i].busy = NO_BUSY;
    }
    for (size_t i = 0; i < p->n_ways; i++) {
        place_way(p, &p->ways[p->queue[i]]);
    }
    return keep_best(p, &is_kept, err);
}

/* ---- both ---- */

/* The ways by the levels behind them, most of them first; of as many, in their own order. */
static cs_status line_up(planner *p, cs_error *err)
{
    uint32_t  highest = 0;
    uint32_t *first;

    for (size_t i = 0; i < p->n_ways; i++) {
        const cs_turn_way *w = &p->ways[i];
        p->highest[w->part]  = w->level > p->highest[w->part] ? w->level : p->highest[w->part];
        highest              = w->level > highest ? w->level : highest;
    }
    first = CS_NEW(uint32_t, (size_t)highest + 2);
    if (first == NULL) {
        return CS_NO_MEMORY(err, "adapcc");
    }
    for (size_t i = 0; i < p->n_ways; i++) {
        first[highest - p->highest[p->ways[i].part] + p->ways[i].level + 1]++;
    }
    for (uint32_t v = 0; v <= highest; v++) {
        first[v + 1] += first[v];
    }
    for (uint32_t i = 0; i < p->n_ways; i++) {
        uint32_t behind           = highest - p->highest[p->ways[i].part] + p->ways[i].level;
        p->queue[first[behind]++] = i;
    }
    cs_free(first);
    return CS_OK;
}

static cs_status serve_ways(planner *p, uint64_t most_work, cs_error *err)
{
    static const double LONGER[] = {1, 1.05, 1.15, 1.3, 1.5};
    double              load_s   = 0;

    for (size_t i = 0; i < p->n_ways; i++) {
        const leg *x = &p->legs[i];

        x->out->load_s += x->took_s;
        x->in->load_s += x->in != x->out ? x->took_s : 0;
        load_s = x->out->load_s > load_s ? x->out->load_s : load_s;
        load_s = x->in->load_s > load_s ? x->in->load_s : load_s;
    }
    p->best_s = -1;
    CS_TRY(try_colours(p, load_s, err));
    for (size_t i = 0; i < sizeof LONGER / sizeof *LONGER; i++) {
        CS_TRY(try_times(p, load_s * LONGER[i], err));
    }
    CS_TRY(swap_places(p, load_s, most_work, err));
    take_best(p);
    return CS_OK;
}

static cs_status open_planner(planner *p, cs_error *err)
{
    for (uint32_t s = 0; s < p->l->n_servers; s++) {
        uint32_t gpus = p->l->servers[s].n_gpus;
        p->most_gpus  = gpus > p->most_gpus ? gpus : p->most_gpus;
    }
    p->n_ports = cs_logical_n_ports(p->l) + p->l->n_ranks * p->most_gpus;
    p->out     = CS_NEW(port, p->n_ports);
    p->in      = CS_NEW(port, p->n_ports);
    p->busies  = CS_NEW(busy, 4 * p->n_ways + 1);
    p->queue   = CS_NEW(uint32_t, p->n_ways);
    p->highest = CS_NEW(uint32_t, p->n_parts);
    p->ready_s = CS_NEW(double, p->n_parts * p->l->n_ranks);
    p->best    = CS_NEW(found, p->n_ways);
    p->legs    = CS_NEW(leg, p->n_ways);
    p->order   = CS_NEW(placed, p->n_ways);
    return p->out != NULL && p->in != NULL && p->busies != NULL && p->queue != NULL &&
                   p->highest != NULL && p->ready_s != NULL && p->best != NULL && p->legs != NULL &&
                   p->order != NULL
               ? CS_OK
               : CS_NO_MEMORY(err, "adapcc");
}

static void close_planner(planner *p)
{
    cs_free(p->out);
    cs_free(p->in);
    cs_free(p->busies);
    cs_free(p->queue);
    cs_free(p->highest);
    cs_free(p->ready_s);
    cs_free(p->best);
    cs_free(p->legs);
    cs_free(p->order);
    cs_free(p->there_s);
    cs_free(p->cells);
    cs_free(p->path);
}

cs_status cs_turns_plan(cs_turn_way *ways, size_t n_ways, size_t n_parts, uint64_t n_chunks,
                        const cs_logical *logical, bool are_shared, cs_error *err)
{
    planner p = {
        .ways = ways, .n_ways = n_ways, .n_parts = n_parts, .n_chunks = n_chunks, .l = logical};
    cs_status status = open_planner(&p, err);

    if (status == CS_OK) {
        find_ports(&p);
        status = are_shared ? CS_OK : line_up(&p, err);
    }
    if (status == CS_OK && are_shared) {
        colour_ways(&p);
    } else if (status == CS_OK) {
        status = serve_ways(&p, MOST_WORK, err);
    }
    close_planner(&p);
    return status;
}

/* The ways of tree m, in which a rank passes on what flows[rank] ranks have. */
static size_t add_tree(const cs_strategy *s, uint32_t m, cs_collective collective, uint32_t *flows,
                       uint32_t *depth, cs_turn_way *ways, size_t n)
{
    const cs_strategy_tree *t    = &s->trees[m];
    cs_turn_way             way  = {.part = m, .bytes = (double)t->chunk_bytes};
    bool                    up   = collective != CS_BROADCAST;
    uint32_t                last = t->order[s->n_members - 1];

    for (uint32_t i = 0; i < s->n_members; i++) {
        uint32_t g = t->order[i];
        depth[g]   = i > 0 ? depth[t->parent[g]] + 1 : 0;
        flows[g]   = 1;
    }
    for (uint32_t i = s->n_members; i-- > 1 && up;) {
        uint32_t g = t->order[i];

        way.src   = g;
        way.dst   = t->parent[g];
        way.level = depth[last] - depth[g];
        way.bytes = (double)t->chunk_bytes * flows[g];
        flows[way.dst] += t->aggregates[way.dst] ? 0 : flows[g];
        way.number = (uint32_t)n;
        ways[n++]  = way;
    }
    way.bytes = (double)t->chunk_bytes;
    for (uint32_t i = 1; i < s->n_members && collective != CS_REDUCE; i++) {
        way.dst    = t->order[i];
        way.src    = t->parent[way.dst];
        way.level  = (up ? depth[last] : 0) + depth[way.dst] - 1;
        way.number = (uint32_t)n;
        ways[n++]  = way;
    }
    return n;
}

static cs_status time_served(const cs_strategy *s, const cs_logical *logical,
                             cs_collective collective, double *took_s_p, cs_error *err)
{
    size_t       most   = (size_t)2 * s->n_trees * s->n_members;
    cs_turn_way *ways   = CS_NEW(cs_turn_way, most);
    uint32_t    *flows  = CS_NEW(uint32_t, s->n_ranks);
    uint32_t    *depth  = CS_NEW(uint32_t, s->n_ranks);
    planner      p      = {.ways = ways, .n_parts = s->n_trees, .l = logical};
    cs_status    status = CS_ENOMEM;

    if (ways == NULL || flows == NULL || depth == NULL) {
        (void)CS_NO_MEMORY(err, "adapcc");
    } else {
        for (uint32_t m = 0; m < s->n_trees; m++) {
            uint64_t chunks = cs_tree_n_chunks(&s->trees[m]);
            p.n_ways        = add_tree(s, m, collective, flows, depth, ways, p.n_ways);
            p.n_chunks      = chunks > p.n_chunks ? chunks : p.n_chunks;
        }
        status = open_planner(&p, err);
    }
    *took_s_p = 0;
    if (status == CS_OK && p.n_ways > 0) {
        find_ports(&p);
        status    = line_up(&p, err);
        status    = status == CS_OK ? serve_ways(&p, LITTLE_WORK, err) : status;
        *took_s_p = p.best_s;
    }
    close_planner(&p);
    cs_free(ways);
    cs_free(flows);
    cs_free(depth);
    return status;
}

cs_status cs_turns_cost_s(cs_cost *cost, const cs_logical *logical, const cs_strategy *strategy,
                          cs_collective collective, cs_cost_model model, double *cost_s_p,
                          cs_error *err)
{
    if (model == CS_COST_TURNS && logical->holds_both) {
        return time_served(strategy, logical, collective, cost_s_p, err);
    }
    *cost_s_p = cs_cost_s(cost, strategy, collective, model);
    return CS_OK;
}
