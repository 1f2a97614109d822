/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Iterations against a reference that looks at every node of every rank at every point in time. */
#include "support/chakra.h"
#include "support/rng.h"
#include "whatif/execution_pass.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { RANKS = 4, NODES = 48, MOST_MESSAGES = RANKS * NODES };

/* What calls and messages take, whoever asks. */
static double call_s(const cs_execution_trace *t, uint32_t call, double skew_s)
{
    return skew_s + 1e-9 * (double)t->calls[call].bytes;
}

static double message_s(const cs_execution_trace *t, uint32_t message)
{
    return 2e-9 * (double)t->messages[message].bytes;
}

static cs_status clock_call(void *user, uint32_t call, double first_s, const double *arrival_s,
                            double *elapsed_s_p, cs_error *err)
{
    const cs_execution_trace *t      = user;
    double                    last_s = 0;

    (void)first_s;
    (void)err;
    for (uint32_t i = 0; i < t->groups[t->calls[call].group].n_ranks; i++) {
        last_s = fmax(last_s, arrival_s[i]);
    }
    *elapsed_s_p = call_s(t, call, last_s);
    return CS_OK;
}

static cs_status clock_message(void *user, uint32_t message, double start_s, double *elapsed_s_p,
                               cs_error *err)
{
    (void)start_s;
    (void)err;
    *elapsed_s_p = message_s(user, message);
    return CS_OK;
}

/* ---- the reference ---- */

typedef enum state { WAITS, IS_READY, RUNS, IS_DONE } state;

typedef struct reference {
    const cs_execution_trace *t;
    state                     states[RANKS][NODES];
    double                    ends_s[RANKS][NODES];
    bool                      is_busy[RANKS][2];
    double                    port_s[RANKS][2];
    double                    message_ends_s[MOST_MESSAGES];
    uint32_t                  n_ended[64]; /* calls of groups */
    bool                      in_call[64];
    double                    now_s;
} reference;

static bool needs_are_done(const reference *r, uint32_t rank, uint32_t node)
{
    const cs_execution *x = &r->t->ranks[rank];

    for (uint32_t i = 0; i < x->n_nodes; i++) {
        for (uint32_t u = x->nodes[i].first_user; u < x->nodes[i + 1].first_user; u++) {
            if (x->users[u] == node && r->states[rank][i] != IS_DONE) {
                return false;
            }
        }
    }
    return true;
}

static void begin(reference *r, uint32_t rank, uint32_t node, double end_s)
{
    r->states[rank][node] = RUNS;
    r->ends_s[rank][node] = end_s;
}

/* What begins by itself. */
static bool begin_ready(reference *r, uint32_t rank, uint32_t node)
{
    const cs_work *w = &r->t->ranks[rank].nodes[node];

    if (w->kind == CS_WORK_NOTHING) {
        r->states[rank][node] = IS_DONE;
    } else if (w->kind == CS_WORK_OTHER) {
        begin(r, rank, node, r->now_s + w->duration_s);
    } else if (w->kind == CS_WORK_SEND) {
        double start_s     = fmax(r->now_s, fmax(r->port_s[rank][0], r->port_s[w->group][1]));
        double end_s       = start_s + message_s(r->t, w->sequence);
        r->port_s[rank][0] = r->port_s[w->group][1] = r->message_ends_s[w->sequence] = end_s;
        begin(r, rank, node, end_s);
    } else if (w->kind == CS_WORK_RECEIVE && r->message_ends_s[w->sequence] <= r->now_s) {
        r->states[rank][node] = IS_DONE;
    } else {
        return false;
    }
    return true;
}

/* The next call of a group, where all its ranks are ready. */
static bool begin_call(reference *r, uint32_t group)
{
    const cs_execution_trace *t = r->t;
    const cs_work_group      *g = &t->groups[group];
    uint32_t                  nodes[RANKS], n = 0;

    if (r->in_call[group] || r->n_ended[group] == g->n_calls) {
        return false;
    }
    for (uint32_t i = 0; i < g->n_ranks; i++) {
        const cs_execution *x = &t->ranks[g->ranks[i]];
        for (uint32_t k = 0; k < x->n_nodes; k++) {
            const cs_work *w = &x->nodes[k];
            if (w->kind == CS_WORK_CALL && x->groups[w->group] == group &&
                w->sequence == r->n_ended[group] && r->states[g->ranks[i]][k] == IS_READY) {
                nodes[n++] = k;
            }
        }
    }
    if (n < g->n_ranks) {
        return false;
    }
    double skew_free_s = g->n_ranks > 1 ? call_s(t, g->first_call + r->n_ended[group], 0) : 0;
    for (uint32_t i = 0; i < n; i++) {
        begin(r, g->ranks[i], nodes[i], r->now_s + skew_free_s);
    }
    r->in_call[group] = true;
    return true;
}

static bool begin_served(reference *r, uint32_t rank, cs_work_kind kind)
{
    const cs_execution *x    = &r->t->ranks[rank];
    bool               *busy = &r->is_busy[rank][kind == CS_WORK_HOST];

    for (uint32_t i = 0; i < x->n_nodes && !*busy; i++) {
        if (x->nodes[i].kind == kind && r->states[rank][i] == IS_READY) {
            begin(r, rank, i, r->now_s + x->nodes[i].duration_s);
            *busy = true;
            return true;
        }
    }
    return false;
}

/* One thing that happens now; false: nothing does. */
static bool step(reference *r)
{
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        for (uint32_t i = 0; i < r->t->ranks[rank].n_nodes; i++) {
            if (r->states[rank][i] == WAITS && needs_are_done(r, rank, i)) {
                r->states[rank][i] = IS_READY;
                return true;
            }
            if (r->states[rank][i] == IS_READY && begin_ready(r, rank, i)) {
                return true;
            }
        }
    }
    for (uint32_t g = 0; g < r->t->n_groups; g++) {
        if (begin_call(r, g)) {
            return true;
        }
    }
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        if (begin_served(r, rank, CS_WORK_HOST) || begin_served(r, rank, CS_WORK_COMPUTE)) {
            return true;
        }
    }
    return false;
}

/* Go to the next end. False: nothing runs. */
static bool advance(reference *r)
{
    double next_s = (double)INFINITY;

    for (uint32_t rank = 0; rank < RANKS; rank++) {
        for (uint32_t i = 0; i < r->t->ranks[rank].n_nodes; i++) {
            next_s = r->states[rank][i] == RUNS ? fmin(next_s, r->ends_s[rank][i]) : next_s;
        }
    }
    if (isinf(next_s)) {
        return false;
    }
    r->now_s = next_s;
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        const cs_execution *x = &r->t->ranks[rank];
        for (uint32_t i = 0; i < x->n_nodes; i++) {
            if (r->states[rank][i] != RUNS || r->ends_s[rank][i] > next_s) {
                continue;
            }
            r->states[rank][i] = IS_DONE;
            if (x->nodes[i].kind == CS_WORK_HOST || x->nodes[i].kind == CS_WORK_COMPUTE) {
                r->is_busy[rank][x->nodes[i].kind == CS_WORK_HOST] = false;
            }
            uint32_t group = x->nodes[i].kind == CS_WORK_CALL ? x->groups[x->nodes[i].group] : 0;
            if (x->nodes[i].kind == CS_WORK_CALL && r->in_call[group] &&
                r->n_ended[group] == x->nodes[i].sequence) {
                r->in_call[group] = false;
                r->n_ended[group]++;
            }
        }
    }
    return true;
}

/* When the last node ends; NAN: ranks wait for each other without end. */
static double reference_end_s(const cs_execution_trace *t)
{
    reference r = {.t = t};

    for (uint32_t i = 0; i < t->n_messages; i++) {
        r.message_ends_s[i] = (double)INFINITY;
    }
    do {
        while (step(&r)) {
        }
    } while (advance(&r));
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        for (uint32_t i = 0; i < t->ranks[rank].n_nodes; i++) {
            if (r.states[rank][i] != IS_DONE) {
                return (double)NAN;
            }
        }
    }
    return r.now_s;
}

/* ---- random traces ---- */

static const char groups_text[] =
    "['[{\"pg_name\": \"a\", \"ranks\": [0, 1]}, {\"pg_name\": \"b\", \"ranks\": [2, 3]}, "
    "{\"pg_name\": \"c\", \"ranks\": [1, 2, 3]}]']";

static bool is_in(const char *group, uint32_t rank)
{
    return group[0] == '0' || (group[0] == 'a' && rank < 2) || (group[0] == 'b' && rank >= 2) ||
           (group[0] == 'c' && rank >= 1);
}

/* Nodes 2 .. of all ranks: the same plan, with what each rank has in it. */
static void make_ranks(ct_rng *rng, ct_node nodes[RANKS][NODES])
{
    static const char *const groups[] = {"0", "a", "b", "c"};

    for (uint32_t r = 0; r < RANKS; r++) {
        nodes[r][0] = (ct_node){.id = 1, .type = CT_METADATA, .values = groups_text};
    }
    for (uint64_t i = 1; i < NODES; i++) {
        uint32_t    what = ct_below(rng, 8), from = ct_below(rng, RANKS);
        uint32_t    to    = (from + 1 + ct_below(rng, RANKS - 1)) % RANKS;
        uint64_t    bytes = 1 + ct_below(rng, 1 << 28);
        const char *group = groups[ct_below(rng, 4)];
        for (uint32_t r = 0; r < RANKS; r++) {
            ct_node *n = &nodes[r][i];
            *n = (ct_node){.id = i + 1, .type = CT_COMPUTE, .us = 1 + ct_below(rng, 1 << 18)};
            if (what == 0 && is_in(group, r)) {
                n->type  = CT_CALL;
                n->group = group;
                n->bytes = bytes;
            } else if (what == 1 && (r == from || r == to)) {
                n->type  = r == from ? CT_SEND : CT_RECEIVE;
                n->peer  = r == from ? to : from;
                n->bytes = bytes;
            } else {
                n->on_cpu = what == 2;
                n->type   = what == 3 ? CT_MEMORY : CT_COMPUTE;
            }
            uint32_t n_deps = ct_below(rng, 3);
            for (uint32_t k = 0; k < n_deps; k++) {
                n->deps[k] = 1 + ct_below(rng, (uint32_t)i);
            }
        }
    }
}

Test(execution_pass, as_a_reference_that_looks_at_everything)
{
    ct_rng rng     = ct_rng_for(171);
    int    n_ended = 0;

    for (int i = 0; i < 400 / CT_EVERY; i++) {
        ct_node            nodes[RANKS][NODES];
        cs_text            texts[RANKS];
        cs_execution_text  given[RANKS];
        cs_execution_trace t   = {0};
        cs_error           err = {0};
        memset(texts, 0, sizeof texts);
        make_ranks(&rng, nodes);
        for (uint32_t r = 0; r < RANKS; r++) {
            ct_chakra_add(nodes[r], NODES, (ct_form)(i % CT_FORMS), &texts[r]);
            given[r] = (cs_execution_text){"rank", texts[r].data, texts[r].length};
        }
        cr_assert_eq(cs_execution_texts_read(given, RANKS, RANKS, &t, &err), CS_OK, "%s",
                     err.message);
        const cs_cluster    cluster = {.n_ranks = RANKS, .gpus_per_server = 1};
        const cs_call_clock clock   = {.call = clock_call, .message = clock_message, .user = &t};
        cs_pass_result      result  = {0};
        cs_status           status  = cs_execution_pass(&t, &cluster, NULL, &clock, &result, &err);
        double              want_s  = reference_end_s(&t);
        cr_expect_eq(status == CS_OK, !isnan(want_s), "iteration %d: %s", i, err.message);
        if (status == CS_OK) {
            cr_expect_float_eq(result.end_s, want_s, 1e-9 * want_s,
                               "iteration %d: %.12g, not %.12g", i, result.end_s, want_s);
            n_ended++;
        }
        for (uint32_t r = 0; r < RANKS; r++) {
            cs_text_free(&texts[r]);
        }
        cs_execution_trace_free(&t);
    }
    cr_expect_gt(n_ended, 20 / CT_EVERY);
}
