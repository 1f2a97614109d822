/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All algorithms on all calls of a trace: see whatif/trace_whatif.h. */
#include "whatif/trace_whatif.h"

#include "base/alloc.h"
#include "base/text.h"
#include "config/scenario_json.h"
#include "traces/skew.h"
#include "whatif/trace_judgement.h"
#include "whatif/trace_player.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_ALGORITHMS = 128, MAX_SIZES = 1024, POLICIES_EACH = 3 };

static const char *const policy_names[] = {
#define X(id, name) [CS_TRACE_##id] = name,
    CS_TRACE_POLICY_MAP(X)
#undef X
};

const char *cs_trace_policy_name(cs_trace_policy policy)
{
    return policy_names[policy];
}

/* The work of one call of cs_trace_whatif(). */
typedef struct playing {
    cs_config              *config;
    const cs_arrival_trace *trace;
    const cs_trace_options *options;
    const char             *names[MAX_ALGORITHMS]; /* [0]: the baseline */
    size_t                  n_names;
    uint64_t                sizes[MAX_SIZES]; /* different ones */
    size_t                  n_sizes, common_size;
    size_t                 *size_of_call; /* in the arena of the report */
    cs_player              *player;
    cs_trace_report        *report;
    cs_error               *err;
} playing;

static cs_status no_memory(const playing *p)
{
    return CS_FAIL(p->err, CS_ENOMEM, "", "out of memory for a trace of %zu calls",
                   p->trace->n_calls);
}

static cs_status add_name(playing *p, const char *name, const char *option)
{
    const cs_algorithm *algorithm = NULL;
    cs_error            unknown   = {0};

    cs_status status = cs_algorithm_find(name, &algorithm, &unknown);
    if (status != CS_OK) {
        return CS_FAIL(p->err, status, option, "%s", unknown.message);
    }
    for (size_t i = 0; i < p->n_names; i++) {
        if (strcmp(p->names[i], algorithm->name) == 0) {
            return CS_OK;
        }
    }
    if (p->n_names == MAX_ALGORITHMS) {
        return CS_FAIL(p->err, CS_EINVAL, "--algorithm", "more than %d", MAX_ALGORITHMS);
    }
    p->names[p->n_names++] = algorithm->name;
    return CS_OK;
}

/* The baseline, then what is asked for, or all that know the collective. */
static cs_status choose_algorithms(playing *p, const cs_scenario *scenario)
{
    const cs_trace_options *o = p->options;
    const char             *baseline =
        o->baseline != NULL ? o->baseline : cs_default_algorithm(&scenario->cluster);
    cs_status status = add_name(p, baseline, "--baseline");

    for (size_t i = 0; i < o->n_algorithms && status == CS_OK; i++) {
        status = add_name(p, o->algorithms[i], "--algorithm");
    }
    for (size_t i = 0; o->n_algorithms == 0 && cs_algorithms[i] != NULL && status == CS_OK; i++) {
        if ((cs_algorithms[i]->collectives >> scenario->collective & 1u) != 0) {
            status = add_name(p, cs_algorithms[i]->name, "--algorithm");
        }
    }
    return status;
}

static uint64_t bytes_of(const playing *p, size_t call, uint64_t configured)
{
    if (p->options->bytes > 0) {
        return p->options->bytes;
    }
    return p->trace->bytes != NULL ? p->trace->bytes[call] : configured;
}

/* The different sizes, in the order of their first call, and the most common one (of several, the
 * largest). */
static cs_status choose_sizes(playing *p, uint64_t configured)
{
    size_t counts[MAX_SIZES] = {0};

    for (size_t c = 0; c < p->trace->n_calls; c++) {
        uint64_t bytes = bytes_of(p, c, configured);
        size_t   s     = 0;
        while (s < p->n_sizes && p->sizes[s] != bytes) {
            s++;
        }
        if (s == MAX_SIZES) {
            return CS_FAIL(p->err, CS_EINVAL, "bytes",
                           "more than %d different sizes: give one for all with --bytes",
                           MAX_SIZES);
        }
        p->sizes[s]        = bytes;
        p->n_sizes         = s == p->n_sizes ? s + 1 : p->n_sizes;
        p->size_of_call[c] = s;
        counts[s]++;
    }
    for (size_t s = 1; s < p->n_sizes; s++) {
        size_t best = p->common_size;
        if (counts[s] > counts[best] ||
            (counts[s] == counts[best] && p->sizes[s] > p->sizes[best])) {
            p->common_size = s;
        }
    }
    p->report->break_even_bytes = p->sizes[p->common_size];
    return CS_OK;
}

/* Algorithms as an axis: options that only some of them have are left out for others. */
static cs_status set_algorithms(playing *p, const char *const *names, size_t n)
{
    cs_value values[MAX_ALGORITHMS];

    for (size_t i = 0; i < n && i < MAX_ALGORITHMS; i++) {
        values[i] = (cs_value){.type = CS_VALUE_TEXT, .text = names[i]};
    }
    return cs_config_sweep_put(p->config, "algorithm.name", values, n, "--algorithm", p->err);
}

static cs_status set_sizes(playing *p)
{
    cs_value *values = CS_ARENA_NEW(&p->report->arena, cs_value, p->n_sizes);

    if (values == NULL) {
        return CS_FAIL(p->err, CS_ENOMEM, "--bytes", "out of memory for %zu sizes", p->n_sizes);
    }
    for (size_t i = 0; i < p->n_sizes; i++) {
        values[i] = (cs_value){.type = CS_VALUE_WHOLE, .whole = (int64_t)p->sizes[i]};
    }
    return cs_config_sweep_put(p->config, "bytes", values, p->n_sizes, "--bytes", p->err);
}

/* To see the scenario before it is known which algorithms there are: all, so that every option
 * belongs to one. */
static cs_status set_any_algorithm(playing *p)
{
    const char *names[MAX_ALGORITHMS];
    size_t      n = 0;

    for (; cs_algorithms[n] != NULL && n < MAX_ALGORITHMS; n++) {
        names[n] = cs_algorithms[n]->name;
    }
    return set_algorithms(p, names, n);
}

/* What contradicts a trace. */
static cs_status check_config(const playing *p)
{
    if (cs_config_count(p->config) != 1) {
        return CS_FAIL(p->err, CS_EINVAL, "sweep", "a what-if on a trace takes one scenario");
    }
    if (cs_config_has(p->config, "arrivals")) {
        return CS_FAIL(p->err, CS_EINVAL, "arrivals", "come from the trace: leave the key out");
    }
    if (p->options->bytes == 0 && p->trace->bytes == NULL && !cs_config_has(p->config, "bytes")) {
        return CS_FAIL(p->err, CS_EINVAL, "--bytes",
                       "the trace does not say how large its calls are: give a size");
    }
    return CS_OK;
}

/* The number of ranks is the trace's. */
static cs_status set_ranks(const playing *p)
{
    const cs_value n_ranks = {.type = CS_VALUE_WHOLE, .whole = p->trace->n_ranks};
    cs_case        c       = {0};

    if (cs_config_has(p->config, "cluster.ranks")) {
        cs_status status = cs_config_case(p->config, 0, &c, p->err);
        uint32_t  ranks  = c.scenario.cluster.n_ranks;
        cs_case_free(&c);
        if (status == CS_OK && ranks != p->trace->n_ranks) {
            return CS_FAIL(p->err, CS_EINVAL, "cluster.ranks", "is %u, the trace has %u ranks",
                           ranks, p->trace->n_ranks);
        }
        return status;
    }
    return cs_config_put(p->config, "cluster.ranks", &n_ranks, "--trace", p->err);
}

static cs_status prepare(playing *p)
{
    cs_arena *arena  = &p->report->arena;
    cs_case   c      = {0};
    cs_status status = check_config(p);

    if (status == CS_OK) {
        status = set_any_algorithm(p);
    }
    if (status == CS_OK) {
        status = set_ranks(p);
    }
    if (status == CS_OK) {
        status = cs_config_case(p->config, 0, &c, p->err);
    }
    if (status != CS_OK) {
        return status;
    }
    p->size_of_call = CS_ARENA_NEW(arena, size_t, p->trace->n_calls);
    status          = p->size_of_call != NULL ? CS_OK : no_memory(p);
    if (status == CS_OK) {
        status = choose_algorithms(p, &c.scenario);
    }
    if (status == CS_OK) {
        status = choose_sizes(p, c.scenario.bytes);
    }
    cs_case_free(&c);
    if (status == CS_OK) {
        status = set_algorithms(p, p->names, p->n_names);
    }
    return status == CS_OK ? set_sizes(p) : status;
}

static cs_status play_line(const playing *p, cs_trace_line *line, size_t algorithm)
{
    cs_error  refused = {0};
    cs_status status  = CS_OK;
    size_t    size    = p->common_size;

    line->call_s = CS_ARENA_NEW(&p->report->arena, double, p->trace->n_calls);
    if (line->call_s == NULL) {
        return no_memory(p);
    }
    for (size_t c = 0; c < p->trace->n_calls && status == CS_OK; c++) {
        status = cs_player_call(p->player, algorithm, line->policy, c, &line->call_s[c], &refused);
    }
    line->break_even_s = (double)NAN;
    if (status == CS_OK && !line->is_baseline) {
        status = cs_player_break_even(p->player, algorithm, line->policy, size, &line->break_even_s,
                                      &refused);
    }
    line->is_available = status == CS_OK;
    if (cs_status_is_refusal(status) && !line->is_baseline) {
        line->reason = cs_arena_strdup(&p->report->arena, refused.message);
        return line->reason != NULL ? CS_OK : no_memory(p);
    }
    if (status != CS_OK) {
        return CS_FAIL(p->err, status, line->is_baseline ? "--baseline" : line->algorithm, "%s",
                       refused.message);
    }
    return CS_OK;
}

/* The lines of one algorithm. */
static cs_status play_algorithm(playing *p, size_t algorithm)
{
    static const cs_trace_policy late[]  = {CS_TRACE_STATIC, CS_TRACE_DYNAMIC, CS_TRACE_ADAPTIVE};
    static const cs_trace_policy plain[] = {CS_TRACE_PLAIN};
    bool      is_late = cs_player_has_straggler(p->player, algorithm) && algorithm > 0;
    size_t    n       = is_late ? POLICIES_EACH : 1;
    cs_status status  = CS_OK;

    for (size_t i = 0; i < n && status == CS_OK; i++) {
        cs_trace_line *line = &p->report->lines[p->report->n_lines++];
        *line               = (cs_trace_line){.algorithm   = p->names[algorithm],
                                              .policy      = is_late ? late[i] : plain[i],
                                              .is_baseline = algorithm == 0};
        status              = play_line(p, line, algorithm);
        if (status == CS_OK && !line->is_available) {
            line->policy = CS_TRACE_PLAIN; /* once is enough */
            break;
        }
    }
    return status;
}

static cs_status play_all(playing *p)
{
    cs_skew         skew   = {0};
    cs_player_setup setup  = {.config       = p->config,
                              .trace        = p->trace,
                              .n_algorithms = p->n_names,
                              .n_sizes      = p->n_sizes,
                              .size_of_call = p->size_of_call,
                              .agreement_s  = p->options->agreement_s};
    cs_status       status = cs_skew_compute(p->trace, &skew, p->err);

    if (status != CS_OK) {
        return status;
    }
    setup.straggler = p->report->straggler = skew.straggler;
    p->report->zero_wait_s                 = skew.zero_wait_s.mean;
    cs_skew_free(&skew);
    p->report->lines =
        CS_ARENA_NEW(&p->report->arena, cs_trace_line, POLICIES_EACH * p->n_names + 1);
    status = p->report->lines != NULL ? cs_player_new(&setup, &p->player, p->err) : no_memory(p);
    for (size_t i = 0; i < p->n_names && status == CS_OK; i++) {
        status = play_algorithm(p, i);
    }
    if (status == CS_OK) {
        p->report->replays  = cs_player_replays(p->player);
        p->report->period_s = p->options->period_s;
        status              = cs_trace_judge(p->trace, p->report, p->err);
    }
    cs_player_free(p->player);
    return status;
}

cs_status cs_trace_whatif(cs_config *config, const cs_arrival_trace *trace,
                          const cs_trace_options *options, cs_trace_report *report_p, cs_error *err)
{
    cs_trace_report report = {0};
    playing         p      = {
                     .config = config, .trace = trace, .options = options, .report = &report, .err = err};
    cs_status status = prepare(&p);

    if (status == CS_OK) {
        status = play_all(&p);
    }
    if (status != CS_OK) {
        cs_trace_report_free(&report);
        return status;
    }
    *report_p = report;
    return CS_OK;
}

void cs_trace_report_free(cs_trace_report *report)
{
    cs_arena_free(&report->arena);
    *report = (cs_trace_report){0};
}
