/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Chakra execution traces, in protobuf or JSON: up to the first record separator (0x1E) that of
 * rank 0, behind it that of rank 1; without one, one file for both. Refused in one line, or lists
 * that fit each other, and an iteration that ends or says who waits for whom. */
#include "fuzz.h"
#include "traces/chakra.h"
#include "whatif/execution_pass.h"

#include <math.h>
#include <string.h>

enum { MOST_NODES = 4000 };

static void claim_rank(const cs_execution_trace *t, const cs_execution *x)
{
    uint64_t needs = 0;

    FUZZ_CLAIM(x->n_nodes >= 1);
    for (uint32_t i = 0; i < x->n_nodes; i++) {
        const cs_work *w = &x->nodes[i];
        FUZZ_CLAIM(i == 0 || w->id > x->nodes[i - 1].id);
        FUZZ_CLAIM(w->kind < CS_WORK_KINDS && w->first_user <= w[1].first_user);
        FUZZ_CLAIM(w->duration_s >= 0 && isfinite(w->duration_s));
        for (uint32_t u = w->first_user; u < w[1].first_user; u++) {
            FUZZ_CLAIM(x->users[u] < x->n_nodes && x->nodes[x->users[u]].needs > 0);
        }
        needs += w->needs;
        if (w->kind == CS_WORK_CALL) {
            const cs_work_group *g = &t->groups[x->groups[w->group]];
            FUZZ_CLAIM(w->group < x->n_groups && w->sequence < g->n_calls);
            FUZZ_CLAIM(t->calls[g->first_call + w->sequence].collective == w->collective);
        }
        if (w->kind == CS_WORK_SEND || w->kind == CS_WORK_RECEIVE) {
            FUZZ_CLAIM(w->sequence < t->n_messages);
        }
    }
    FUZZ_CLAIM(x->nodes[x->n_nodes].first_user == needs);
}

static cs_status time_call(void *user, uint32_t call, double first_s, const double *arrival_s,
                           double *elapsed_s_p, cs_error *err)
{
    (void)user;
    (void)call;
    (void)first_s;
    (void)err;
    FUZZ_CLAIM(fmin(arrival_s[0], arrival_s[1]) == 0);
    *elapsed_s_p = fmax(arrival_s[0], arrival_s[1]) + 1e-6;
    return CS_OK;
}

static cs_status time_message(void *user, uint32_t message, double start_s, double *elapsed_s_p,
                              cs_error *err)
{
    (void)user;
    (void)message;
    (void)start_s;
    (void)err;
    *elapsed_s_p = 1e-6;
    return CS_OK;
}

static void run(const cs_execution_trace *t)
{
    const cs_cluster cluster   = {.n_ranks = 2, .gpus_per_server = 1};
    cs_call_clock    clock     = {.call = time_call, .message = time_message};
    double           ends_s[2] = {0, 0};

    for (int i = 0; i < 2; i++) {
        cs_pass_result result = {0};
        cs_error       err    = {0};
        clock.has_no_queues   = i == 1;
        cs_status status      = cs_execution_pass(t, &cluster, NULL, &clock, &result, &err);
        if (status != CS_OK) {
            fuzz_claim_error(status, &err);
        }
        ends_s[i] = status == CS_OK ? result.end_s : (double)NAN;
        FUZZ_CLAIM(status != CS_OK || (isfinite(result.end_s) && result.shared_s >= 0));
    }
    /* What waits for nothing but its needs is not later. */
    FUZZ_CLAIM(isnan(ends_s[0]) || isnan(ends_s[1]) || ends_s[1] <= ends_s[0] * (1 + 1e-9) + 1e-12);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length)
{
    const uint8_t     *cut      = length > 0 ? memchr(data, 0x1e, length) : NULL;
    size_t             n_first  = cut != NULL ? (size_t)(cut - data) : length;
    cs_execution_text  texts[2] = {{"0.et", (const char *)data, n_first}, {"1.et", NULL, 0}};
    cs_execution_trace trace    = {0};
    cs_error           err      = {0};

    if (length == 0) {
        return 0;
    }
    if (cut != NULL) {
        texts[1].text   = (const char *)cut + 1;
        texts[1].length = length - n_first - 1;
    }
    (void)cs_chakra_is(texts[0].text, texts[0].length);
    cs_status status = cs_execution_texts_read(texts, cut != NULL ? 2 : 1, 2, &trace, &err);
    if (status != CS_OK) {
        fuzz_claim_error(status, &err);
        return 0;
    }
    claim_rank(&trace, &trace.ranks[0]);
    claim_rank(&trace, &trace.ranks[1]);
    if (trace.n_nodes <= MOST_NODES) {
        run(&trace);
    }
    cs_execution_trace_free(&trace);
    return 0;
}
