/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "output/relay_report.h"

#include "base/alloc.h"
#include "base/column.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TICKS = 4 }; /* of the same workers that are shown; of more, the first and the last */

static const char *const rules[] = {[CS_RELAY_LITERAL] = "literal", [CS_RELAY_PREMIUM] = "premium"};
static const char *const volumes[] = {[CS_RELAY_PAPER] = "paper", [CS_RELAY_CODE] = "code"};

static const char *role_of(cs_relay_worker role)
{
    return role == CS_WORKER_ACTIVE ? "active" : role == CS_WORKER_FAULTY ? "excluded" : "late";
}

static bool is_active(const cs_relay_report *r, uint32_t rank)
{
    return r->times != NULL ? r->times->workers[rank].role == CS_WORKER_ACTIVE : r->active[rank];
}

/* ---- for people ---- */

/* The ranks that are active, or those that are not: "0-3,7". */
static void add_ranks(const cs_relay_report *r, bool active, cs_text *text)
{
    const char *comma = "";

    for (uint32_t i = 0; i < r->n_ranks; i++) {
        uint32_t last = i;
        if (is_active(r, i) != active) {
            continue;
        }
        while (last + 1 < r->n_ranks && is_active(r, last + 1) == active) {
            last++;
        }
        cs_text_add(text, last > i ? "%s%u-%u" : "%s%u", comma, i, last);
        comma = ",";
        i     = last;
    }
}

static void add_head(const cs_relay_report *r, cs_text *text)
{
    const cs_relay_setting *s = &r->given->setting;

    cs_text_add(text, "%u workers, %s of %.0f bytes each; all together, at %.6g GB/s: %.3f ms\n",
                s->n_ranks, cs_collective_name(s->collective), s->bytes, s->rate_Bps / 1e9,
                cs_relay_phase1_s(s, s->n_ranks) * 1e3);
    cs_text_add(text, "rule: %s, volumes: %s; a tick every %.6g ms", rules[s->rule],
                volumes[s->volumes], s->cycle_s * 1e3);
    if (r->given->rpc_s > 0) {
        cs_text_add(text, ", messages take %.6g ms", r->given->rpc_s * 1e3);
    }
    cs_text_add(text, "\n\n");
}

static void add_tick(const cs_relay_report *r, double tick, uint32_t k, cs_text *text)
{
    const cs_relay_setting *s       = &r->given->setting;
    const cs_relay_times   *t       = r->times;
    bool                    is_last = tick >= t->ticks, is_capped = false;

    cs_text_add(text, "%6.0f %12.3f %6u %12.3f ", tick, (t->first_s + tick * s->cycle_s) * 1e3, k,
                tick * s->cycle_s * 1e3);
    if (k < s->n_ranks && !isinf(cs_relay_first_tick(s, k))) {
        cs_text_add(text, "%12.3f  ", cs_relay_patience_s(s, k) * 1e3);
        is_capped = is_last && tick * s->cycle_s < cs_relay_patience_s(s, k) * (1 - 1e-6);
    } else {
        cs_text_add(text, "%12s  ", "-");
    }
    if (!is_last) {
        cs_text_add(text, k > 1 || s->one_starts ? "wait\n" : "wait: one alone does not start\n");
    } else if (k == s->n_ranks) {
        cs_text_add(text, "start with all\n");
    } else {
        cs_text_add(text, "start with ");
        add_ranks(r, true, text);
        if (is_capped) {
            cs_text_add(text, ": waited more than %.6g ms", s->cap_s * 1e3);
        }
        cs_text_add(text, "\n");
    }
}

/* The first tick behind `tick` at which more workers are ready, or the decision. */
static double next_change(const cs_relay_report *r, double tick)
{
    const cs_relay_times *t    = r->times;
    double                next = t->ticks;

    for (uint32_t i = 0; i < r->n_ranks; i++) {
        double at =
            ceil((r->given->ready_s[i] + r->given->rpc_s - t->first_s) / r->given->setting.cycle_s -
                 1e-6);
        next = at > tick ? fmin(next, at) : next;
    }
    return next;
}

/* Ticks from `from` on, before `to`, at which k workers are ready. */
static void add_waiting(const cs_relay_report *r, double from, double to, uint32_t k, cs_text *text)
{
    bool     is_long = to - from > MOST_TICKS;
    uint32_t n       = is_long ? 1 : (uint32_t)(to - from);

    for (uint32_t i = 0; i < n; i++) {
        add_tick(r, from + i, k, text);
    }
    if (is_long) {
        cs_text_add(text, "%6s\n", "..");
        add_tick(r, to - 1, k, text);
    }
}

static void add_ticks(const cs_relay_report *r, cs_text *text)
{
    double from = 0;

    cs_text_add(text, "%6s %12s %6s %12s %12s  %s\n", "# tick", "ms", "ready", "waited", "limit",
                "decision");
    while (from < r->times->ticks) {
        double to = next_change(r, from);
        add_waiting(r, from, to, cs_relay_ready_at(r->given, r->times, from), text);
        from = to;
    }
    add_tick(r, from, r->times->n_active, text);
}

typedef enum happening { STARTS, READY, ENDS_PHASE1, FROM, TO, EXCLUDED, ENDS } happening;

typedef struct event {
    double    time_s;
    happening what;
    uint32_t  rank;
} event;

static int by_time(const void *left, const void *right)
{
    const event *a = left, *b = right;

    if (a->time_s != b->time_s) {
        return a->time_s < b->time_s ? -1 : 1;
    }
    if (a->what != b->what) {
        return a->what < b->what ? -1 : 1;
    }
    return a->rank < b->rank ? -1 : a->rank > b->rank;
}

static void add_event(const cs_relay_report *r, const event *e, cs_text *text)
{
    const cs_relay_times        *t = r->times;
    const cs_relay_worker_times *w = &t->workers[e->rank];

    cs_text_add(text, "%12.3f  ", e->time_s * 1e3);
    switch (e->what) {
    case STARTS:
        cs_text_add(text, t->n_active > 1 ? "ranks " : "rank ");
        add_ranks(r, true, text);
        cs_text_add(text, t->n_active < r->n_ranks ? " start phase 1; relays: " : " start\n");
        if (t->n_active < r->n_ranks) {
            add_ranks(r, false, text);
            cs_text_add(text, "\n");
        }
        break;
    case READY:
        cs_text_add(text, "rank %u is ready: %s\n", e->rank,
                    w->missing_bytes < r->given->setting.bytes ? "it joins at the next chunk"
                                                               : "its tensor waits for phase 2");
        break;
    case ENDS_PHASE1:
        cs_text_add(text, "phase 1 is done");
        if (!isnan(t->deadline_s)) {
            cs_text_add(text, "; who is ready by %.3f is waited for", t->deadline_s * 1e3);
        }
        cs_text_add(text, "\n");
        break;
    case FROM:
        cs_text_add(text, "rank %u broadcasts %.0f bytes\n", e->rank, w->missing_bytes);
        break;
    case TO: cs_text_add(text, "all have the tensor of rank %u\n", e->rank); break;
    case EXCLUDED: cs_text_add(text, "rank %u is not ready: excluded\n", e->rank); break;
    case ENDS: cs_text_add(text, "done\n"); break;
    }
}

static void add_story(const cs_relay_report *r, cs_text *text)
{
    const cs_relay_times *t      = r->times;
    event                *events = CS_NEW(event, 3 * (size_t)r->n_ranks + 3);
    size_t                n      = 0;

    if (events == NULL) {
        text->failed = true;
        return;
    }
    events[n++] = (event){t->phase1_from_s, STARTS, 0};
    if (t->n_active < r->n_ranks) {
        events[n++] = (event){t->phase1_end_s, ENDS_PHASE1, 0};
    }
    events[n++] = (event){t->end_s, ENDS, 0};
    for (uint32_t i = 0; i < r->n_ranks; i++) {
        const cs_relay_worker_times *w       = &t->workers[i];
        const event                  maybe[] = {
                             {w->joined_s, READY, i},
                             {w->from_s, FROM, i},
                             {w->to_s, TO, i},
                             {w->role == CS_WORKER_FAULTY ? t->deadline_s : (double)NAN, EXCLUDED, i}};
        for (size_t k = 0; k < sizeof maybe / sizeof maybe[0]; k++) {
            if (!isnan(maybe[k].time_s)) {
                events[n++] = maybe[k];
            }
        }
    }
    qsort(events, n, sizeof *events, by_time);
    cs_text_add(text, "\n%12s\n", "# ms");
    for (size_t i = 0; i < n; i++) {
        add_event(r, &events[i], text);
    }
    cs_free(events);
}

static void add_end(const cs_relay_report *r, cs_text *text)
{
    const cs_relay_times *t       = r->times;
    double                first_s = t->first_s - r->given->rpc_s;
    uint32_t              n_left  = r->n_ranks - t->n_faulty;

    if (isnan(t->wait_all_s)) {
        return;
    }
    if (isinf(t->wait_all_s)) {
        cs_text_add(text, "\nWaiting for all instead: for ever.\n");
    } else {
        cs_text_add(text, "\nWaiting for all instead: until %.3f ms, %.2f x the time.\n",
                    t->wait_all_s * 1e3, (t->wait_all_s - first_s) / (t->end_s - first_s));
    }
    if (r->batch > 0) {
        unsigned long long n_more = r->batch % n_left, least = r->batch / n_left;
        cs_text_add(text, "%llu samples a step over %u workers: ", (unsigned long long)r->batch,
                    n_left);
        if (n_more > 0) {
            cs_text_add(text, "%llu for %llu of them, ", least + 1, n_more);
        }
        cs_text_add(text, "%llu for %llu.\n", least, n_left - n_more);
    }
}

static void add_tuples(const cs_relay_report *r, cs_text *text)
{
    for (uint32_t m = 0; m < r->strategy->n_trees; m++) {
        const cs_strategy_tree *tree = &r->strategy->trees[m];
        const cs_behaviour     *b    = &r->behaviours[(size_t)m * r->n_ranks];
        cs_text_add(text, "%s# tree %u\n", m > 0 || r->times != NULL ? "\n" : "", m);
        cs_text_add(text, "# rank  parent  active  recv  kernel  send\n");
        for (uint32_t g = 0; g < r->n_ranks; g++) {
            cs_text_add(text, "%6u  ", g);
            if (tree->parent[g] < r->n_ranks) {
                cs_text_add(text, "%6u", tree->parent[g]);
            } else {
                cs_text_add(text, "%6s", tree->parent[g] == CS_TREE_ROOT ? "root" : "-");
            }
            cs_text_add(text, "  %6d  %4d  %6d  %4d\n", b[g].is_active, b[g].has_recv,
                        b[g].has_kernel, b[g].has_send);
        }
    }
}

void cs_relay_table(const cs_relay_report *r, cs_text *text)
{
    if (r->times != NULL) {
        add_head(r, text);
        add_ticks(r, text);
        add_story(r, text);
        add_end(r, text);
    }
    if (r->strategy != NULL) {
        add_tuples(r, text);
    }
}

/* ---- for programs ---- */

typedef struct decision_row {
    const char *decision;
    double      time_s, phase1_end_s, end_s, ticks, first_s, deadline_s, wait_all_s;
    const char *rule, *volumes;
} decision_row;

static const cs_column decision_columns[] = {
    CS_COLUMN(decision_row, decision),
    CS_COLUMN(decision_row, time_s),
    CS_COLUMN(decision_row, ticks),
    CS_COLUMN(decision_row, phase1_end_s),
    CS_COLUMN(decision_row, end_s),
    CS_COLUMN(decision_row, first_s),
    CS_COLUMN(decision_row, deadline_s),
    CS_COLUMN(decision_row, wait_all_s),
    CS_COLUMN(decision_row, rule),
    CS_COLUMN(decision_row, volumes),
    CS_COLUMN_END,
};

typedef struct worker_row {
    uint32_t    rank;
    const char *role;
    double      ready_s, joined_s, missing_bytes, from_s, to_s;
    uint64_t    samples;
} worker_row;

static const cs_column worker_columns[] = {
    CS_COLUMN(worker_row, rank),
    CS_COLUMN(worker_row, role),
    CS_COLUMN(worker_row, ready_s),
    CS_COLUMN(worker_row, joined_s),
    CS_COLUMN(worker_row, missing_bytes),
    CS_COLUMN(worker_row, from_s),
    CS_COLUMN(worker_row, to_s),
    CS_COLUMN_MAYBE_AS("samples", worker_row, samples),
    CS_COLUMN_END,
};

static decision_row decision_of(const cs_relay_report *r)
{
    const cs_relay_times *t = r->times;

    if (t == NULL) {
        return (decision_row){.time_s       = (double)NAN,
                              .phase1_end_s = (double)NAN,
                              .end_s        = (double)NAN,
                              .ticks        = (double)NAN,
                              .first_s      = (double)NAN,
                              .deadline_s   = (double)NAN,
                              .wait_all_s   = (double)NAN};
    }
    return (decision_row){.decision     = t->n_active < r->n_ranks ? "partial" : "all",
                          .time_s       = t->decided_s,
                          .phase1_end_s = t->phase1_end_s,
                          .end_s        = t->end_s,
                          .ticks        = t->ticks,
                          .first_s      = t->first_s,
                          .deadline_s   = t->deadline_s,
                          .wait_all_s   = t->wait_all_s,
                          .rule         = rules[r->given->setting.rule],
                          .volumes      = volumes[r->given->setting.volumes]};
}

/* `gap` stands before each of them. */
static void add_json_workers(const cs_relay_report *r, const char *gap, cs_text *text)
{
    uint32_t n_left = r->n_ranks - r->times->n_faulty, index = 0;

    cs_text_add(text, "[");
    for (uint32_t i = 0; i < r->n_ranks; i++) {
        const cs_relay_worker_times *w       = &r->times->workers[i];
        bool                         is_left = w->role != CS_WORKER_FAULTY;
        worker_row                   row     = {.rank          = i,
                                                .role          = role_of(w->role),
                                                .ready_s       = r->given->ready_s[i],
                                                .joined_s      = w->joined_s,
                                                .missing_bytes = w->missing_bytes,
                                                .from_s        = w->from_s,
                                                .to_s          = w->to_s,
                                                .samples       = CS_NO_COUNT};
        if (r->batch > 0) {
            row.samples = is_left ? cs_relay_batch_of(r->batch, n_left, index) : 0;
        }
        index += is_left;
        cs_json_next(text, gap, gap);
        cs_text_add(text, "{");
        cs_json_row(text, &(cs_row){worker_columns, &row, false});
        cs_text_add(text, "}");
    }
    cs_text_add(text, "]");
}

/* What was decided and what came of it: the keys of an object that is open. */
static void add_decision(const cs_relay_report *r, const char *gap, cs_text *text)
{
    const decision_row row = decision_of(r);

    cs_json_row(text, &(cs_row){decision_columns, &row, false});
    cs_json_key(text, "active");
    cs_text_add(text, "[");
    for (uint32_t i = 0; i < r->n_ranks; i++) {
        if (is_active(r, i)) {
            cs_json_next(text, "", " ");
            cs_text_add(text, "%u", i);
        }
    }
    cs_text_add(text, "]");
    cs_json_key(text, "workers");
    if (r->times != NULL) {
        add_json_workers(r, gap, text);
    } else {
        cs_text_add(text, "null");
    }
}

void cs_relay_json(const cs_relay_report *r, cs_text *text)
{
    size_t n = r->strategy != NULL ? (size_t)r->strategy->n_trees * r->n_ranks : 0;

    cs_text_add(text, "{");
    add_decision(r, "\n  ", text);
    cs_json_key(text, "tuples");
    cs_text_add(text, r->strategy != NULL ? "[" : "null");
    for (size_t i = 0; i < n; i++) {
        const cs_behaviour *b = &r->behaviours[i];
        cs_json_next(text, "", " ");
        cs_text_add(text, "[%d, %d, %d, %d]", b->is_active, b->has_recv, b->has_kernel,
                    b->has_send);
    }
    cs_text_add(text, r->strategy != NULL ? "]}\n" : "}\n");
}

/* ---- of a run ---- */

static void add_comments(const cs_relay_report *r, cs_text *text)
{
    cs_text lines = {0};

    cs_relay_table(r, &lines);
    text->failed = text->failed || lines.failed;
    for (const char *line = lines.data; line != NULL && *line != '\0';) {
        const char *end    = strchr(line, '\n');
        size_t      length = end != NULL ? (size_t)(end - line) + 1 : strlen(line);
        cs_text_add(text, *line == '\n' ? "#" : *line == '#' ? "" : "# ");
        cs_text_add_bytes(text, line, length);
        line += length;
    }
    cs_text_free(&lines);
}

static void report_decisions(void *user, const void *decisions)
{
    const cs_late_decisions *d      = decisions;
    cs_late_report          *report = user;

    const cs_relay_report told = {
        .given = &d->given, .times = &d->times, .n_ranks = d->given.setting.n_ranks};
    add_comments(&told, &report->text);
    cs_json_key(&report->json, "decisions");
    cs_text_add(&report->json, "[{");
    add_decision(&told, " ", &report->json);
    cs_text_add(&report->json, "}]");
}

size_t cs_late_report_observe(cs_late_report *report, const cs_algorithm *algorithm,
                              cs_observer *observers)
{
    if (algorithm->decided != cs_late_decided) {
        return 0;
    }
    observers[0] = (cs_observer){.decided = report_decisions, .user = report};
    return 1;
}

void cs_late_report_free(cs_late_report *report)
{
    cs_text_free(&report->text);
    cs_text_free(&report->json);
}
