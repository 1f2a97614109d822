/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "support/goal.h"

#include "cs/error.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NONE SIZE_MAX

enum { WHY = 200, LINE = 256, LABEL = 24 };

typedef enum kind { SEND = 1, RECV, CALC, MESSAGE, ARRIVED } kind;

/* An operation of a rank. */
typedef struct op {
    kind     kind;
    uint32_t rank, peer, tag;
    uint64_t size;
    size_t   n_needs; /* dependencies that are not met yet */
    size_t   first;   /* edge to who depends on this, or NONE */
    size_t   other;   /* other end of the message */
    char     label[LABEL];
} op;

typedef struct edge {
    size_t to, next;
    bool   from_start; /* irequires */
} edge;

struct ct_goal {
    uint32_t n_ranks, rank;
    bool     in_rank;
    op      *ops;
    size_t   n_ops, first_of_rank;
    edge    *edges;
    size_t   n_edges;
    size_t   line;
    char    *why;
};

static bool refuse(ct_goal *g, const char *format, ...) CS_PRINTF(2, 3);

static bool refuse(ct_goal *g, const char *format, ...)
{
    va_list args;
    int     head = snprintf(g->why, WHY, "line %zu: ", g->line);

    va_start(args, format);
    (void)vsnprintf(g->why + head, (size_t)(WHY - head), format, args);
    va_end(args);
    return false;
}

/* The next word of a line: letters and so on, a number, or one other character. */
static bool next_word(const char **at, char *word)
{
    size_t n = 0;

    while (**at == ' ' || **at == '\t') {
        (*at)++;
    }
    if (isalpha((unsigned char)**at)) {
        while ((isalnum((unsigned char)**at) || **at == '_') && n + 1 < LABEL) {
            word[n++] = *(*at)++;
        }
    } else if (isdigit((unsigned char)**at)) {
        while (isdigit((unsigned char)**at) && n + 1 < LABEL) {
            word[n++] = *(*at)++;
        }
    } else if (**at != '\0') {
        word[n++] = *(*at)++;
    }
    word[n] = '\0';
    return n > 0;
}

static bool expect(const char **at, const char *want)
{
    char word[LABEL];
    return next_word(at, word) && strcmp(word, want) == 0;
}

static bool read_number(const char **at, uint64_t most, uint64_t *value_p)
{
    char word[LABEL];

    if (!next_word(at, word) || !isdigit((unsigned char)word[0]) || strlen(word) > 18) {
        return false;
    }
    *value_p = strtoull(word, NULL, 10);
    return *value_p <= most;
}

static bool is_reserved(const char *word)
{
    static const char *const words[] = {"rank", "num_ranks", "send", "recv", "calc"};

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(word, words[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* The operation of the open rank with that label, or NONE. */
static size_t find(const ct_goal *g, const char *label)
{
    for (size_t i = g->first_of_rank; i < g->n_ops; i++) {
        if (strcmp(g->ops[i].label, label) == 0) {
            return i;
        }
    }
    return NONE;
}

static bool read_message(ct_goal *g, const char **at, op *o)
{
    uint64_t peer = 0, tag = 0;

    if (!read_number(at, UINT64_MAX, &o->size) || !expect(at, "b") ||
        !expect(at, o->kind == SEND ? "to" : "from") || !read_number(at, UINT32_MAX, &peer) ||
        !expect(at, "tag") || !read_number(at, (uint64_t)UINT32_MAX - 1, &tag)) {
        return refuse(g, "expected: send Bb to R tag T, or recv Bb from R tag T");
    }
    if (o->size == 0) {
        return refuse(g, "a message of no bytes ends before it begins");
    }
    if (peer >= g->n_ranks || peer == g->rank) {
        return refuse(g, "rank %" PRIu64 " is not another one", peer);
    }
    o->peer = (uint32_t)peer;
    o->tag  = (uint32_t)tag;
    return true;
}

/* An operation, behind its label and ':'. */
static bool read_operation(ct_goal *g, const char *at, const char *label)
{
    char word[LABEL];
    op   o = {.rank = g->rank, .first = NONE};

    if (find(g, label) != NONE) {
        return refuse(g, "label %s is there already, LogGOPSim would pass this one over", label);
    }
    if (!next_word(&at, word)) {
        return refuse(g, "expected: send, recv or calc");
    }
    o.kind = strcmp(word, "send") == 0 ? SEND : strcmp(word, "recv") == 0 ? RECV : CALC;
    (void)strcpy(o.label, label);
    if (o.kind == CALC && (strcmp(word, "calc") != 0 || !read_number(&at, UINT64_MAX, &o.size))) {
        return refuse(g, "expected: send, recv or calc and a number");
    }
    if (o.kind != CALC && !read_message(g, &at, &o)) {
        return false;
    }
    if (next_word(&at, word)) {
        return refuse(g, "'%s' behind the operation", word);
    }
    g->ops             = realloc(g->ops, (g->n_ops + 1) * sizeof *g->ops);
    g->ops[g->n_ops++] = o;
    return true;
}

static bool read_dependency(ct_goal *g, const char *at, const char *label, bool from_start)
{
    char   word[LABEL] = "", more[LABEL];
    size_t who = find(g, label), on = next_word(&at, word) ? find(g, word) : NONE;

    if (who == NONE || on == NONE) {
        return refuse(g, "label %s is not defined", who == NONE ? label : word);
    }
    if (who == on || next_word(&at, more)) {
        return refuse(g, "expected: another label and the end of the line");
    }
    g->edges             = realloc(g->edges, (g->n_edges + 1) * sizeof *g->edges);
    g->edges[g->n_edges] = (edge){who, g->ops[on].first, from_start};
    g->ops[on].first     = g->n_edges++;
    g->ops[who].n_needs += 1;
    return true;
}

static bool open_rank(ct_goal *g, const char *at)
{
    uint64_t rank;

    if (g->n_ranks == 0 || g->in_rank) {
        return refuse(g, "a rank before num_ranks, or inside another");
    }
    if (!read_number(&at, UINT32_MAX, &rank) || rank != g->rank || !expect(&at, "{")) {
        return refuse(g, "expected: rank %u {", g->rank);
    }
    g->in_rank       = true;
    g->first_of_rank = g->n_ops;
    return true;
}

static bool read_line(ct_goal *g, const char *line)
{
    char        word[LABEL], second[LABEL] = "";
    const char *at = line;
    uint64_t    n;

    if (!next_word(&at, word)) {
        return true;
    }
    if (strcmp(word, "num_ranks") == 0 && g->n_ranks == 0) {
        bool is_right = read_number(&at, 1 << 20, &n) && n > 0 && !next_word(&at, second);
        g->n_ranks    = is_right ? (uint32_t)n : 0;
        return is_right || refuse(g, "expected: num_ranks N");
    }
    if (strcmp(word, "rank") == 0) {
        return open_rank(g, at);
    }
    if (strcmp(word, "}") == 0 && g->in_rank) {
        g->in_rank = false;
        g->rank++;
        return !next_word(&at, second) || refuse(g, "'%s' behind }", second);
    }
    if (!g->in_rank || !isalpha((unsigned char)word[0]) || is_reserved(word) ||
        !next_word(&at, second)) {
        return refuse(g, "'%s' was not expected", word);
    }
    if (strcmp(second, ":") == 0) {
        return read_operation(g, at, word);
    }
    if (strcmp(second, "requires") != 0 && strcmp(second, "irequires") != 0) {
        return refuse(g, "expected: ':', requires or irequires");
    }
    return read_dependency(g, at, word, second[0] == 'i');
}

/* Sends and receives by ends and tag; sends first. */
static int by_message(const void *left, const void *right)
{
    const op *a = *(op *const *)left, *b = *(op *const *)right;
    uint32_t  src[2] = {a->kind == SEND ? a->rank : a->peer, b->kind == SEND ? b->rank : b->peer};
    uint32_t  dst[2] = {a->kind == SEND ? a->peer : a->rank, b->kind == SEND ? b->peer : b->rank};

    if (src[0] != src[1]) {
        return src[0] < src[1] ? -1 : 1;
    }
    if (dst[0] != dst[1]) {
        return dst[0] < dst[1] ? -1 : 1;
    }
    if (a->tag != b->tag) {
        return a->tag < b->tag ? -1 : 1;
    }
    return (int)a->kind - (int)b->kind;
}

static bool is_pair(const op *a, const op *b)
{
    return a->kind == SEND && b->kind == RECV && a->peer == b->rank && a->rank == b->peer &&
           a->tag == b->tag && a->size == b->size;
}

/* Every send has one receive of the same tag and size, and no two messages share a tag. */
static bool match(ct_goal *g)
{
    op   **sorted   = malloc((g->n_ops + 1) * sizeof *sorted);
    size_t count    = 0;
    bool   is_right = true;

    for (size_t i = 0; i < g->n_ops; i++) {
        if (g->ops[i].kind != CALC) {
            sorted[count++] = &g->ops[i];
        }
    }
    qsort(sorted, count, sizeof(op *), by_message);
    for (size_t i = 0; i < count && is_right; i += 2) {
        op  *a = sorted[i], *b = i + 1 < count ? sorted[i + 1] : NULL;
        op  *c        = i + 2 < count ? sorted[i + 2] : NULL;
        bool is_twice = c != NULL && by_message(&a, &c) == 0;
        if (b == NULL || !is_pair(a, b) || is_twice) {
            is_right = refuse(g, "rank %u: %s tag %u of rank %u has not one other end of its size",
                              a->rank, a->kind == SEND ? "send" : "recv", a->tag, a->peer);
        } else {
            a->other = (size_t)(b - g->ops);
            b->other = (size_t)(a - g->ops);
        }
    }
    free(sorted);
    return is_right;
}

static bool read_text(ct_goal *g, const char *text)
{
    char line[LINE];

    for (const char *at = text; *at != '\0' && !(g->n_ranks > 0 && g->rank == g->n_ranks);) {
        size_t length = strcspn(at, "\n");
        g->line++;
        if (length >= LINE || at[length] == '\0') {
            return refuse(g, "a long line, or one without an end");
        }
        memcpy(line, at, length);
        line[length] = '\0';
        at += length + 1;
        if (!read_line(g, line)) {
            return false;
        }
    }
    if (g->n_ranks == 0 || g->rank != g->n_ranks) {
        return refuse(g, "the blocks of ranks 0 to N - 1 are expected, %u are there", g->rank);
    }
    return match(g);
}

ct_goal *ct_goal_read(const char *text, char *why)
{
    ct_goal         *g    = calloc(1, sizeof *g);
    const ct_loggops zero = {.L = 1};

    g->why = why;
    why[0] = '\0';
    if (!read_text(g, text) ||
        (ct_goal_time(g, &zero) == UINT64_MAX && !refuse(g, "operations wait in a circle"))) {
        ct_goal_free(g);
        return NULL;
    }
    return g;
}

void ct_goal_free(ct_goal *goal)
{
    if (goal != NULL) {
        free(goal->ops);
        free(goal->edges);
        free(goal);
    }
}

size_t ct_goal_sends(const ct_goal *goal)
{
    size_t count = 0;

    for (size_t i = 0; i < goal->n_ops; i++) {
        count += goal->ops[i].kind == SEND;
    }
    return count;
}

uint32_t ct_goal_ranks(const ct_goal *goal)
{
    return goal->n_ranks;
}

/* The interpreter. Something that is to happen at a CPU: an operation that may begin, or a message
 * that comes in (`op` is the send). Of two at the same time, the first to be put in comes first. */
typedef struct event {
    uint64_t time, number;
    kind     kind;
    uint32_t rank;
    size_t   op;
} event;

typedef struct run {
    const ct_goal    *goal;
    const ct_loggops *p;
    event            *heap;
    size_t            n_events;
    uint64_t          number;
    uint64_t         *cpu, *tx, *rx; /* [ranks] free from then on */
    uint64_t          last;          /* arrival of a last byte, if receiving takes no CPU */
    size_t           *n_needs;       /* [ops] */
    bool             *is_there;      /* [ops] sends that came in, receives that wait */
    size_t            n_done;
    size_t           *fresh; /* [ops] that may begin now */
    size_t            n_fresh;
} run;

static bool before(const event *a, const event *b)
{
    return a->time < b->time || (a->time == b->time && a->number < b->number);
}

static void push(run *r, event e)
{
    size_t i = r->n_events++;

    for (; i > 0 && before(&e, &r->heap[(i - 1) / 2]); i = (i - 1) / 2) {
        r->heap[i] = r->heap[(i - 1) / 2];
    }
    r->heap[i] = e;
}

static event pop(run *r)
{
    event  top = r->heap[0], last = r->heap[--r->n_events];
    size_t i = 0;

    for (size_t child = 1; child < r->n_events; child = 2 * i + 1) {
        child += child + 1 < r->n_events && before(&r->heap[child + 1], &r->heap[child]);
        if (!before(&r->heap[child], &last)) {
            break;
        }
        r->heap[i] = r->heap[child];
        i          = child;
    }
    r->heap[i] = last;
    return top;
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Those who depend on the begin, or on the end, of an operation. */
static void settle(run *r, size_t done, bool from_start)
{
    r->n_done += !from_start;
    for (size_t e = r->goal->ops[done].first; e != NONE; e = r->goal->edges[e].next) {
        size_t to = r->goal->edges[e].to;
        if (r->goal->edges[e].from_start == from_start && --r->n_needs[to] == 0) {
            r->fresh[r->n_fresh++] = to;
        }
    }
}

static void take_send(run *r, const event *e)
{
    const op         *o = &r->goal->ops[e->op];
    const ct_loggops *p = r->p;

    settle(r, e->op, true);
    r->cpu[o->rank] = e->time + p->o;
    r->tx[o->rank]  = e->time + p->g + (o->size - 1) * p->G;
    push(r, (event){e->time + p->o + p->L, r->number++, MESSAGE, o->peer, e->op});
    settle(r, e->op, false);
}

/* A message comes in, at its first byte. */
static void take_message(run *r, const event *e)
{
    const op *o    = &r->goal->ops[e->op];
    size_t    recv = o->other;
    uint64_t  end  = e->time + r->p->o + (o->size - 1) * r->p->G;

    r->rx[o->peer] = e->time + r->p->g + (o->size - 1) * r->p->G;
    if (r->p->is_duplex) {
        push(r, (event){end, r->number++, ARRIVED, o->peer, e->op});
        return;
    }
    r->cpu[o->peer] = end;
    if (r->is_there[recv]) {
        settle(r, recv, false);
    }
    r->is_there[e->op] = true;
}

/* The last byte is there. */
static void take_arrival(run *r, const event *e)
{
    size_t recv = r->goal->ops[e->op].other;

    if (r->is_there[recv]) {
        settle(r, recv, false);
    }
    r->is_there[e->op] = true;
    r->last            = later(r->last, e->time);
}

static void take_recv(run *r, const event *e)
{
    settle(r, e->op, true);
    if (r->is_there[r->goal->ops[e->op].other]) {
        settle(r, e->op, false);
    }
    r->is_there[e->op] = true;
}

static uint64_t free_at(const run *r, const event *e)
{
    bool is_duplex = r->p->is_duplex;

    switch (e->kind) {
    case SEND: return later(r->cpu[e->rank], r->tx[e->rank]);
    case CALC: return r->cpu[e->rank];
    case MESSAGE: return is_duplex ? r->rx[e->rank] : later(r->cpu[e->rank], r->rx[e->rank]);
    case RECV:
    case ARRIVED: break;
    }
    return 0;
}

static void take(run *r, event e)
{
    uint64_t from = free_at(r, &e);

    if (from > e.time) {
        e.time = from;
        push(r, e);
        return;
    }
    switch (e.kind) {
    case SEND: take_send(r, &e); break;
    case RECV: take_recv(r, &e); break;
    case MESSAGE: take_message(r, &e); break;
    case ARRIVED: take_arrival(r, &e); break;
    case CALC:
        settle(r, e.op, true);
        r->cpu[e.rank] = e.time + r->goal->ops[e.op].size;
        settle(r, e.op, false);
        break;
    }
}

/* What may begin is put in, rank by rank, sends before receives before calcs. */
static void put_in(run *r, uint64_t now)
{
    for (uint32_t rank = 0; r->n_fresh > 0 && rank < r->goal->n_ranks; rank++) {
        for (kind k = SEND; k <= CALC; k++) {
            for (size_t i = 0; i < r->n_fresh; i++) {
                const op *o = &r->goal->ops[r->fresh[i]];
                event     e = {0, 0, k, rank, r->fresh[i]};
                if (o->rank == rank && o->kind == k) {
                    e.time   = r->p->is_duplex ? now : 0;
                    e.time   = later(e.time, k == RECV ? r->cpu[rank] : free_at(r, &e));
                    e.number = r->number++;
                    push(r, e);
                }
            }
        }
    }
    r->n_fresh = 0;
}

static uint64_t interpret(run *r)
{
    for (size_t i = 0; i < r->goal->n_ops; i++) {
        r->n_needs[i] = r->goal->ops[i].n_needs;
        if (r->n_needs[i] == 0) {
            r->fresh[r->n_fresh++] = i;
        }
    }
    put_in(r, 0);
    while (r->n_events > 0) {
        event e = pop(r);
        take(r, e);
        put_in(r, e.time);
    }
    uint64_t end = r->last;
    for (uint32_t rank = 0; rank < r->goal->n_ranks; rank++) {
        end = later(end, r->cpu[rank]);
    }
    return r->n_done == r->goal->n_ops ? end : UINT64_MAX;
}

uint64_t ct_goal_time(const ct_goal *goal, const ct_loggops *parameters)
{
    size_t n = goal->n_ops + 1;
    run    r = {.goal = goal, .p = parameters};

    r.heap       = malloc(2 * n * sizeof *r.heap);
    r.cpu        = calloc(goal->n_ranks, sizeof *r.cpu);
    r.tx         = calloc(goal->n_ranks, sizeof *r.tx);
    r.rx         = calloc(goal->n_ranks, sizeof *r.rx);
    r.n_needs    = calloc(n, sizeof *r.n_needs);
    r.is_there   = calloc(n, sizeof *r.is_there);
    r.fresh      = calloc(n, sizeof *r.fresh);
    uint64_t end = interpret(&r);

    free(r.heap);
    free(r.cpu);
    free(r.tx);
    free(r.rx);
    free(r.n_needs);
    free(r.is_there);
    free(r.fresh);
    return end;
}
