/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A profile is a sequence of turns, in each of which every server is the source of one link: a turn
 * for each ordered pair of the largest server's GPUs (a smaller one has had all its pairs before
 * the last, and rests), then the N - 1 rounds between servers. A turn takes all its times
 * ("points": n messages, or one n times as long), a point all its messages, and a message of all
 * links of the turn is a step. Before each step there is a barrier, of which those cost something
 * that begin a round. The stream counts the steps up, and so does the observer, who adds up how
 * long each link took; at the end of a turn its links are fitted.
 */
#include "study/profile.h"

#include "base/alloc.h"
#include "base/random.h"
#include "cs/algorithm.h"

#include <assert.h>
#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_BARRIER_S 1e6

cs_profile_options cs_profile_defaults(void)
{
    return (cs_profile_options){.counts   = {2, 4, 8},
                                .n_counts = 3,
                                .sizes    = {256000, 1000000, 4000000},
                                .n_sizes  = 3,
                                .repeats  = 1};
}

const char *cs_link_kind_name(cs_link_kind kind)
{
    static const char *const names[] = {
#define X(id, name) #name,
        CS_LINK_KINDS(X)
#undef X
    };
    return names[kind];
}

void cs_profile_free(cs_profile *profile)
{
    cs_free(profile->links);
    *profile = (cs_profile){0};
}

/* ---- what is sent, step by step ---- */

/* One time of a link. */
typedef struct probe {
    uint32_t n_messages; /* one after the other */
    uint64_t bytes;      /* of each */
} probe;

static uint32_t count_probes(const cs_profile_options *o)
{
    return (uint32_t)((size_t)2 * o->repeats * o->n_counts * o->n_sizes);
}

static probe probe_of(const cs_profile_options *o, uint32_t index)
{
    size_t   combination = index / 2;
    uint64_t size        = o->sizes[combination % o->n_sizes];
    uint32_t count       = o->counts[combination / o->n_sizes % o->n_counts];

    return index % 2 == 0 ? (probe){count, size} : (probe){1, count * size};
}

static uint32_t turns_inside(const cs_cluster *c)
{
    return c->gpus_per_server * (c->gpus_per_server - 1);
}

static uint32_t count_turns(const cs_cluster *c)
{
    return turns_inside(c) + cs_n_servers(c) - 1;
}

/* Is a link of the server measured in this turn? */
static bool takes_part(const cs_cluster *c, uint32_t turn, uint32_t server)
{
    uint32_t g = cs_server_gpus(c, server);

    return turn >= turns_inside(c) || turn < g * (g - 1);
}

/* The link of a turn whose source is in `server`, which takes part. */
static cs_profile_link link_of(const cs_cluster *c, uint32_t turn, uint32_t server)
{
    uint32_t inside = turns_inside(c);

    if (turn >= inside) {
        uint32_t to = (server + turn - inside + 1) % cs_n_servers(c);
        return (cs_profile_link){.kind = CS_LINK_NET, .src = server, .dst = to};
    }
    uint32_t g = cs_server_gpus(c, server), first = cs_server_first(c, server);
    assert(g > 0);
    uint32_t        from = turn % g, to = (from + turn / g + 1) % g;
    cs_profile_link l = {.src = first + from, .dst = first + to};
    l.kind            = cs_fabric_of(c, l.src, l.dst) == CS_CROSS ? CS_LINK_PCIE : CS_LINK_NVLINK;
    return l;
}

/* So many GPUs send for the source of a turn: between servers, all that share a NIC of which the
 * port of each has a part. */
static uint32_t count_senders(const cs_cluster *c, uint32_t turn)
{
    bool has_parts = c->topology == NULL && c->nic_sharers > 0;

    return turn >= turns_inside(c) && has_parts && c->gpus_per_server % c->nic_sharers == 0 &&
                   cs_least_gpus(c) >= c->nic_sharers
               ? c->nic_sharers
               : 1;
}

/* The transfers of a step are numbered server by server: the first one from `next` on whose server
 * takes part in the turn, or the number of all. */
static uint32_t find_next(const cs_cluster *c, uint32_t turn, uint32_t next)
{
    uint32_t n_senders = count_senders(c, turn), n = cs_n_servers(c) * n_senders;

    while (next < n && !takes_part(c, turn, next / n_senders)) {
        next++;
    }
    return next;
}

/* Where a profile is. */
typedef struct step {
    uint32_t turn, probe, message;
} step;

static void go_on(step *at, const cs_profile_options *o)
{
    if (++at->message < probe_of(o, at->probe).n_messages) {
        return;
    }
    at->message = 0;
    if (++at->probe == count_probes(o)) {
        at->probe = 0;
        at->turn++;
    }
}

/* ---- the schedule ---- */

typedef struct stream {
    const cs_cluster         *cluster;
    const cs_profile_options *asked;
    step                      at;
    uint32_t                  next; /* of the step's transfers, server by server */
} stream;

/* The options of the algorithm. */
typedef struct stream_options {
    const cs_profile_options *asked;
} stream_options;

static cs_status stream_check(const cs_scenario *scenario, void *options, cs_plan *plan,
                              cs_error *err)
{
    (void)options;
    (void)err;
    *plan = (cs_plan){.n_chunks      = 1,
                      .n_slots       = 1,
                      .n_rounds      = count_turns(&scenario->cluster),
                      .uses          = scenario->cluster.gpus_per_server > 1 ? CS_USES_NVLINK : 0,
                      .chunks_differ = true};
    return CS_OK;
}

static cs_status stream_open(const cs_scenario *scenario, const void *options, void **state_p,
                             cs_error *err)
{
    stream *st = CS_NEW(stream, 1);

    if (st == NULL) {
        return CS_NO_MEMORY(err, "a profile");
    }
    st->cluster = &scenario->cluster;
    st->asked   = ((const stream_options *)options)->asked;
    *state_p    = st;
    return CS_OK;
}

static cs_transfer transfer_of(const stream *st, uint32_t n_senders, bool is_first)
{
    const cs_cluster     *c    = st->cluster;
    uint32_t              part = st->next % n_senders;
    const cs_profile_link l    = link_of(c, st->at.turn, st->next / n_senders);
    bool                  net  = l.kind == CS_LINK_NET;
    uint32_t              src  = net ? cs_server_first(c, l.src) + part : l.src;
    uint32_t              dst  = net ? cs_server_first(c, l.dst) + part : l.dst;

    return (cs_transfer){.src = src,
                         .dst = dst,
                         .bytes =
                             cs_split(probe_of(st->asked, st->at.probe).bytes, n_senders, part),
                         .round     = st->at.turn,
                         .span      = 1,
                         .flags     = CS_OWN_SRC | (is_first ? CS_FENCE : 0),
                         .op_fabric = cs_op_fabric(CS_OP_COPY, cs_fabric_of(c, src, dst))};
}

/* What is left of a step. */
static void stream_next_block(void *state, cs_block *block)
{
    stream           *st  = state;
    const cs_cluster *c   = st->cluster;
    bool     begins_round = st->at.turn >= turns_inside(c) && st->at.probe + st->at.message == 0;
    uint32_t n_senders = count_senders(c, st->at.turn), n = cs_n_servers(c) * n_senders;

    block->count        = 0;
    block->fence_except = CS_FENCE_ALL;
    block->fence_s      = begins_round ? st->asked->barrier_s : 0;
    if (st->at.turn == count_turns(c)) {
        return;
    }
    bool is_first = st->next == 0;
    st->next      = find_next(c, st->at.turn, st->next);
    while (block->count < block->capacity && st->next < n) {
        block->transfers[block->count++] = transfer_of(st, n_senders, is_first);

        is_first = false;
        st->next = find_next(c, st->at.turn, st->next + 1);
    }
    if (st->next == n) {
        st->next = 0;
        go_on(&st->at, st->asked);
    }
}

static const cs_algorithm probes = {
    .name          = "profile",
    .summary       = "AdapCC's probes of every link",
    .collectives   = UINT32_MAX,
    .options_bytes = sizeof(stream_options),
    .check         = stream_check,
    .open          = stream_open,
    .next_block    = stream_next_block,
    .close         = cs_free,
    .takes_uneven  = true,
};

/* ---- what is measured ---- */

typedef struct sized {
    uint64_t bytes;
    uint32_t probe;
} sized;

typedef struct meter {
    const cs_profile_options *asked;
    cs_profile               *profile;
    gsl_rng                  *noise; /* NULL: there is none */
    step                      at;
    uint32_t                  next;                /* of the step's transfers */
    double                    begin_s, last_end_s; /* of the step; of all messages so far */
    double                   *end_s;  /* [n_servers] of a link's message in this step */
    double                   *took_s; /* [n_servers][n_probes] in this turn */
    sized                    *order;  /* [n_probes] by size */
    cs_point                 *points; /* [n_probes] of one link */
} meter;

static int by_size(const void *left, const void *right)
{
    const sized *a = left, *b = right;

    return a->bytes != b->bytes ? (a->bytes > b->bytes) - (a->bytes < b->bytes)
                                : (a->probe > b->probe) - (a->probe < b->probe);
}

static cs_status open_meter(meter *m, cs_error *err)
{
    const cs_profile_options *o = m->asked;
    size_t                    n = count_probes(o), n_servers = cs_n_servers(&m->profile->cluster);
    size_t                    n_links = count_turns(&m->profile->cluster) * n_servers;

    m->took_s         = CS_NEW(double, n *n_servers);
    m->end_s          = CS_NEW(double, n_servers);
    m->order          = CS_NEW(sized, n);
    m->points         = CS_NEW(cs_point, n);
    m->noise          = o->noise > 0 ? cs_random_stream(o->seed, "profile.noise") : NULL;
    m->profile->links = CS_NEW(cs_profile_link, n_links);
    if (m->took_s == NULL || m->end_s == NULL || m->order == NULL || m->points == NULL ||
        m->profile->links == NULL || (o->noise > 0 && m->noise == NULL)) {
        return CS_NO_MEMORY(err, "a profile of %zu links", n_links);
    }
    for (uint32_t i = 0; i < n; i++) {
        m->order[i] = (sized){probe_of(o, i).bytes, i};
    }
    qsort(m->order, n, sizeof *m->order, by_size);
    return CS_OK;
}

static void close_meter(meter *m)
{
    cs_free(m->took_s);
    cs_free(m->end_s);
    cs_free(m->order);
    cs_free(m->points);
    if (m->noise != NULL) {
        gsl_rng_free(m->noise);
    }
}

/* What a clock shows for a time. */
static double read_clock(meter *m, double time_s)
{
    if (m->noise == NULL) {
        return time_s;
    }
    double variance = log1p(m->asked->noise * m->asked->noise);
    double z        = gsl_cdf_ugaussian_Pinv(cs_random_uniform(m->noise));
    return time_s * exp(sqrt(variance) * z - variance / 2);
}

/* The link of a turn that took the times of one row. */
static cs_status fit_link(meter *m, uint32_t server, cs_error *err)
{
    const cs_cluster *c    = &m->profile->cluster;
    uint32_t          n    = count_probes(m->asked);
    double           *took = m->took_s + (size_t)server * n;
    cs_profile_link   l    = link_of(c, m->at.turn, server);
    cs_line           line = {0};

    for (uint32_t i = 0; i < n; i++) {
        const sized *of = &m->order[i];
        uint32_t     k  = probe_of(m->asked, of->probe).n_messages;
        m->points[i]    = (cs_point){of->bytes, read_clock(m, took[of->probe]) / k};
    }
    if (!cs_line_fit(m->points, n, &line)) {
        return CS_FAIL(err, CS_EINVAL, "profile",
                       "the times from %s %u to %u do not grow with the size: accepted are larger "
                       "sizes, more repeats or less noise, and links that do not change meanwhile",
                       l.kind == CS_LINK_NET ? "server" : "rank", l.src, l.dst);
    }
    l.alpha_s           = line.intercept_s;
    l.alpha_low_s       = line.intercept_low_s;
    l.alpha_high_s      = line.intercept_high_s;
    l.bandwidth_Bps     = 1 / line.slope_s_per_byte;
    l.bandwidth_low_Bps = 1 / line.slope_high_s_per_byte;
    l.bandwidth_high_Bps =
        line.slope_low_s_per_byte > 0 ? 1 / line.slope_low_s_per_byte : (double)INFINITY;
    m->profile->links[m->profile->n_links++] = l;
    return CS_OK;
}

/* All messages of a step have come. */
static cs_status end_step(meter *m, cs_error *err)
{
    uint32_t n_servers = cs_n_servers(&m->profile->cluster), n = count_probes(m->asked);
    step     next = m->at;

    for (uint32_t k = 0; k < n_servers; k++) {
        if (takes_part(&m->profile->cluster, m->at.turn, k)) {
            m->took_s[(size_t)k * n + m->at.probe] += m->end_s[k] - m->begin_s;
            m->last_end_s = fmax(m->last_end_s, m->end_s[k]);
            m->end_s[k]   = 0;
        }
    }
    go_on(&next, m->asked);
    if (next.turn > m->at.turn) {
        for (uint32_t k = 0; k < n_servers; k++) {
            if (takes_part(&m->profile->cluster, m->at.turn, k)) {
                CS_TRY(fit_link(m, k, err));
            }
        }
        memset(m->took_s, 0, (size_t)n_servers * n * sizeof *m->took_s);
    }
    m->at   = next;
    m->next = 0;
    return CS_OK;
}

static cs_status see_block(void *user, const cs_block *block, const cs_interval *intervals,
                           cs_error *err)
{
    meter            *m         = user;
    const cs_cluster *c         = &m->profile->cluster;
    uint32_t          n_senders = count_senders(c, m->at.turn);

    if ((block->transfers[0].flags & CS_FENCE) != 0) {
        m->begin_s = m->last_end_s + block->fence_s;
    }
    m->next = find_next(c, m->at.turn, m->next);
    for (size_t i = 0; i < block->count; i++) {
        uint32_t k  = m->next / n_senders;
        m->end_s[k] = fmax(m->end_s[k], intervals[i].end_s);
        m->next     = find_next(c, m->at.turn, m->next + 1);
    }
    return m->next == cs_n_servers(c) * n_senders ? end_step(m, err) : CS_OK;
}

/* ---- the run ---- */

static cs_status check_options(const cs_profile_options *o, cs_error *err)
{
    uint64_t n_probes = 2 * (uint64_t)o->repeats * o->n_counts * o->n_sizes;

    if (o->n_counts < 1 || o->n_counts > CS_PROFILE_MOST_COUNTS || o->n_sizes < 1 ||
        o->n_sizes > CS_PROFILE_MOST_SIZES || o->repeats < 1 || n_probes > CS_MAX_FIT_POINTS) {
        return CS_FAIL(
            err, CS_EINVAL, "repeats",
            "%u x %zu counts x %zu sizes: accepted are 1 to %d counts, 1 to %d sizes, and "
            "%d times of a link in all, two of each",
            o->repeats, o->n_counts, o->n_sizes, CS_PROFILE_MOST_COUNTS, CS_PROFILE_MOST_SIZES,
            CS_MAX_FIT_POINTS);
    }
    for (size_t i = 0; i < o->n_counts * o->n_sizes; i++) {
        uint32_t count = o->counts[i / o->n_sizes];
        uint64_t size  = o->sizes[i % o->n_sizes];

        if (count < 2 || size < 1 || size > CS_MAX_BYTES / count) {
            return CS_FAIL(
                err, CS_EINVAL, count < 2 ? "counts" : "sizes",
                "%u messages of %llu bytes: accepted are 2 messages or more of 1 byte or "
                "more, together at most %llu bytes",
                count, (unsigned long long)size, (unsigned long long)CS_MAX_BYTES);
        }
    }
    if (!(o->noise >= 0 && o->noise <= 1)) {
        return CS_FAIL(err, CS_EINVAL, "noise", "%g is outside [0, 1]", o->noise);
    }
    if (!(o->barrier_s >= 0 && o->barrier_s <= MOST_BARRIER_S) ||
        !(o->begin_s >= 0 && o->begin_s <= CS_MAX_ARRIVAL_S)) {
        return CS_FAIL(err, CS_EINVAL, o->barrier_s >= 0 ? "begin" : "barrier",
                       "a barrier of %g s and a begin at %g s: accepted are 0 to %g s each",
                       o->barrier_s, o->begin_s, CS_MAX_ARRIVAL_S);
    }
    return CS_OK;
}

/* The pairs of servers and of their GPUs, as the files of topologies count them. */
static cs_status check_cluster(const cs_cluster *c, cs_error *err)
{
    uint64_t n = cs_n_servers(c), g = c->gpus_per_server, pairs = n * n + n * g * g;

    return pairs <= CS_PROFILE_MOST_PAIRS
               ? CS_OK
               : CS_FAIL(err, CS_ENOTSUP, "cluster.ranks",
                         "%llu servers of up to %llu GPUs have %llu pairs: accepted are up to 2^22",
                         (unsigned long long)n, (unsigned long long)g, (unsigned long long)pairs);
}

/* A scenario from a time on, in which nobody is late: what is left of its steps, in an array that
 * the caller frees. */
static cs_status begin_at(cs_scenario *s, double begin_s, cs_capacity **steps_p, cs_error *err)
{
    cs_capacity *steps = CS_NEW(cs_capacity, s->n_capacity);
    size_t       n     = 0;

    if (steps == NULL) {
        return CS_NO_MEMORY(err, "a profile");
    }
    for (size_t i = 0; i < s->n_capacity; i++) {
        if (s->capacity[i].until_s > begin_s) {
            steps[n]        = s->capacity[i];
            steps[n].from_s = fmax(0, steps[n].from_s - begin_s);
            steps[n].until_s -= begin_s;
            n++;
        }
    }
    s->arrival_s  = NULL;
    s->capacity   = steps;
    s->n_capacity = n;
    *steps_p      = steps;
    return CS_OK;
}

/* Replay the probes of a scenario that has no arrivals, from its time 0 on, on the model of a job.
 * `observer` may be NULL. */
static cs_status replay_probes(const cs_job *of, const cs_scenario *scenario,
                               const cs_profile_options *options, cs_observer *observer,
                               cs_outcome *outcome, cs_error *err)
{
    const stream_options asked = {options};
    cs_job               job   = {.scenario = *scenario};

    cs_job_set_algorithm(&job, &probes, &asked);
    cs_job_set_model(&job, of->model, &of->model_options);
    cs_status status = cs_job_resolve(&job, err);
    if (status == CS_OK) {
        status = cs_job_replay(&job, observer, observer != NULL ? 1 : 0, outcome, err);
    }
    cs_job_release(&job);
    return status;
}

/* The same, while a meter reads the times of a profile. */
static cs_status measure(const cs_job *of, const cs_scenario *scenario,
                         const cs_profile_options *options, cs_profile *profile, cs_error *err)
{
    meter       m        = {.asked = options, .profile = profile};
    cs_observer observer = {.block = see_block, .user = &m};
    cs_outcome  outcome  = {0};
    cs_status   status   = open_meter(&m, err);

    if (status == CS_OK) {
        status = replay_probes(of, scenario, options, &observer, &outcome, err);
    }
    profile->duration_s = outcome.elapsed_s;
    profile->n_messages = outcome.n_transfers;
    profile->wire_bytes = outcome.wire_bytes;
    close_meter(&m);
    return status;
}

/* What a job's probes are replayed on; the steps are the caller's to free. */
static cs_status set_scenario(const cs_job *job, const cs_profile_options *options, cs_scenario *s,
                              cs_capacity **steps_p, cs_error *err)
{
    *s       = job->scenario;
    s->bytes = 1; /* any */
    if (!job->is_checked) {
        CS_TRY(cs_scenario_check(s, err));
    }
    CS_TRY(check_cluster(&s->cluster, err));
    CS_TRY(check_options(options, err));
    return begin_at(s, fmax(options->begin_s, cs_last_arrival(s)), steps_p, err);
}

cs_status cs_profile_run(const cs_job *job, const cs_profile_options *options, cs_profile *profile,
                         cs_error *err)
{
    cs_scenario  scenario;
    cs_capacity *steps = NULL;

    *profile = (cs_profile){.cluster = job->scenario.cluster};
    CS_TRY(set_scenario(job, options, &scenario, &steps, err));
    cs_status status = measure(job, &scenario, options, profile, err);
    cs_free(steps);
    return status;
}

cs_status cs_profile_time(const cs_job *job, const cs_profile_options *options,
                          double *duration_s_p, cs_error *err)
{
    cs_scenario  scenario;
    cs_capacity *steps   = NULL;
    cs_outcome   outcome = {0};

    CS_TRY(set_scenario(job, options, &scenario, &steps, err));
    cs_status status = replay_probes(job, &scenario, options, NULL, &outcome, err);
    cs_free(steps);
    if (status == CS_OK) {
        *duration_s_p = outcome.elapsed_s;
    }
    return status;
}

/* ---- what the synthesiser takes ---- */

/* A positive number to four digits: two profiles that agree so far have the same trees. */
static double to_digits(double x)
{
    double scale = x > 0 ? pow(10, 3 - floor(log10(x))) : 1;

    return round(x * scale) / scale;
}

static cs_logical_link rounded(const cs_profile_link *link)
{
    return (cs_logical_link){to_digits(link->alpha_s), to_digits(link->bandwidth_Bps)};
}

/* A link of two ranks; its server's fabric has the rate and alpha of the best. */
static void set_inside(cs_logical *l, const cs_profile_link *link)
{
    const cs_logical_link own  = rounded(link);
    cs_logical_server    *s    = &l->servers[l->server_of[link->src]];
    cs_fabric            *f    = link->kind == CS_LINK_PCIE ? &s->cross : &s->nvlink;
    uint32_t              from = link->src - s->first_rank, to = link->dst - s->first_rank;

    s->links[(size_t)from * s->n_gpus + to] = own;
    f->bandwidth_Bps                        = fmax(f->bandwidth_Bps, own.bandwidth_Bps);
    f->alpha_s                              = fmin(f->alpha_s, own.alpha_s);
}

/* A link of two servers; each of their NICs has its rate at least, or (`n_sharers`) the part that a
 * GPU's port has of one. */
static void set_between(cs_logical *l, const cs_profile_link *link, uint32_t n_sharers)
{
    const cs_logical_link    own  = rounded(link);
    const cs_logical_server *from = &l->servers[link->src], *to = &l->servers[link->dst];
    double                   part_Bps = own.bandwidth_Bps / n_sharers;

    l->net[(size_t)link->src * l->n_servers + link->dst] = own;
    l->net_alpha_s                                       = fmin(l->net_alpha_s, own.alpha_s);
    for (uint32_t i = 0; i < from->n_nics; i++) {
        cs_logical_nic *nic = &l->nics[from->first_nic + i];
        nic->egress_Bps     = fmax(nic->egress_Bps, part_Bps);
    }
    for (uint32_t i = 0; i < to->n_nics; i++) {
        cs_logical_nic *nic = &l->nics[to->first_nic + i];
        nic->ingress_Bps    = fmax(nic->ingress_Bps, part_Bps);
    }
}

/* Forget every alpha and rate that is measured, and make room for those of pairs. */
static cs_status forget_rates(cs_logical *l, cs_error *err)
{
    size_t n      = l->n_servers;
    bool   failed = false;

    for (uint32_t k = 0; k < l->n_servers; k++) {
        cs_logical_server *s = &l->servers[k];

        if (s->n_gpus > 1) {
            s->links = CS_ARENA_NEW(&l->arena, cs_logical_link, (size_t)s->n_gpus * s->n_gpus);
            failed   = failed || s->links == NULL;
            if (s->n_gpus > s->n_sockets) {
                s->nvlink = (cs_fabric){s->nvlink.kind, (double)INFINITY, 0};
            }
            if (s->n_sockets > 1) {
                s->cross = (cs_fabric){s->cross.kind, (double)INFINITY, 0};
            }
        }
    }
    if (n > 1) {
        l->net         = CS_ARENA_NEW(&l->arena, cs_logical_link, n * n);
        failed         = failed || l->net == NULL;
        l->net_alpha_s = (double)INFINITY;
        for (uint32_t i = 0; i < l->n_nics; i++) {
            l->nics[i].egress_Bps = l->nics[i].ingress_Bps = 0;
        }
    }
    return failed ? CS_NO_MEMORY(err, "a logical topology") : CS_OK;
}

cs_status cs_profile_graph(const cs_profile *profile, cs_logical *logical, cs_error *err)
{
    const cs_scenario scenario  = {.cluster = profile->cluster};
    uint32_t          n_sharers = count_senders(&profile->cluster, turns_inside(&profile->cluster));

    CS_TRY(cs_logical_of_scenario(logical, &scenario, err));
    CS_TRY(forget_rates(logical, err));
    for (size_t i = 0; i < profile->n_links; i++) {
        const cs_profile_link *link = &profile->links[i];
        if (link->kind == CS_LINK_NET) {
            set_between(logical, link, n_sharers);
        } else {
            set_inside(logical, link);
        }
    }
    return cs_logical_check(logical, err);
}
