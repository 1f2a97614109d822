/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "support/msccl.h"

#include "support/rng.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 512, WORD = 32, CHANNELS = 33, DEPTH = 16 };

typedef struct step {
    char     type[8];
    char     src_buffer, dst_buffer;
    long     src, dst, count, depid, deps;
    bool     has_dep;
    unsigned moved; /* chunks, in a run */
} step;

typedef struct block {
    long  gpu, id, send, recv, channel;
    step *steps;
    long  n_steps, next;
} block;

struct ct_msccl {
    char   coll[WORD];
    long   n_gpus, n_chunks, n_ahead;
    long   n_scratch; /* the most of a GPU */
    block *blocks;
    long   n_blocks;
};

/* Reading. */

/* The text of an attribute in a line; false where it is not there. */
static bool attribute(const char *line, const char *name, char *word)
{
    char   key[WORD];
    size_t n = 0;

    (void)snprintf(key, sizeof key, " %s=\"", name);
    const char *at = strstr(line, key);
    if (at == NULL) {
        return false;
    }
    for (at += strlen(key); at[n] != '"' && at[n] != '\0' && n + 1 < WORD; n++) {
        word[n] = at[n];
    }
    word[n] = '\0';
    return at[n] == '"';
}

static bool number(const char *line, const char *name, long *value_p)
{
    char word[WORD], *end;

    if (!attribute(line, name, word) || word[0] == '\0') {
        return false;
    }
    *value_p = strtol(word, &end, 10);
    return *end == '\0';
}

static bool read_algo(ct_msccl *m, const char *line)
{
    char protocol[WORD];

    if (!number(line, "ngpus", &m->n_gpus) || !number(line, "nchunksperloop", &m->n_chunks) ||
        !attribute(line, "coll", m->coll) || !attribute(line, "proto", protocol)) {
        return false;
    }
    m->n_ahead = strcmp(protocol, "Simple") == 0 ? 2 : 8;
    return true;
}

static bool read_block(ct_msccl *m, const char *line, long gpu)
{
    block b = {.gpu = gpu};

    m->blocks     = realloc(m->blocks, (size_t)(m->n_blocks + 1) * sizeof b);
    bool is_right = number(line, "id", &b.id) && number(line, "send", &b.send) &&
                    number(line, "recv", &b.recv) && number(line, "chan", &b.channel) &&
                    b.channel >= 0 && b.channel < CHANNELS && b.send < m->n_gpus &&
                    b.recv < m->n_gpus && b.send != gpu && b.recv != gpu;
    m->blocks[m->n_blocks++] = b;
    return is_right;
}

static bool read_step(ct_msccl *m, const char *line)
{
    block *b     = &m->blocks[m->n_blocks - 1];
    step   s     = {.src = 0};
    long   index = 0, has_dep = 0;
    char   from[WORD], to[WORD], type[WORD];

    if (!number(line, "s", &index) || index != b->n_steps || !attribute(line, "type", type) ||
        !attribute(line, "srcbuf", from) || !attribute(line, "dstbuf", to) ||
        !number(line, "srcoff", &s.src) || !number(line, "dstoff", &s.dst) ||
        !number(line, "cnt", &s.count) || !number(line, "depid", &s.depid) ||
        !number(line, "deps", &s.deps) || !number(line, "hasdep", &has_dep) || strlen(type) > 7) {
        return false;
    }
    (void)strcpy(s.type, type);
    s.src_buffer           = from[0];
    s.dst_buffer           = to[0];
    s.has_dep              = has_dep == 1;
    b->steps               = realloc(b->steps, (size_t)(b->n_steps + 1) * sizeof s);
    b->steps[b->n_steps++] = s;
    return true;
}

static bool read_line(ct_msccl *m, const char *line, long *gpu_p)
{
    long scratch = 0;

    line += strspn(line, " ");
    if (strncmp(line, "<algo", 5) == 0) {
        return read_algo(m, line);
    }
    if (strncmp(line, "<gpu", 4) == 0) {
        bool is_right = number(line, "id", gpu_p) && number(line, "s_chunks", &scratch);
        m->n_scratch  = scratch > m->n_scratch ? scratch : m->n_scratch;
        return is_right;
    }
    if (strncmp(line, "<tb", 3) == 0) {
        return read_block(m, line, *gpu_p);
    }
    return strncmp(line, "<step", 5) != 0 || (m->n_blocks > 0 && read_step(m, line));
}

ct_msccl *ct_msccl_read(const char *text)
{
    ct_msccl *m        = calloc(1, sizeof *m);
    bool      is_right = true;
    long      gpu      = -1;
    char      line[LINE];

    while (*text != '\0' && is_right) {
        size_t length = strcspn(text, "\n");
        is_right      = length < LINE;
        if (is_right) {
            memcpy(line, text, length);
            line[length] = '\0';
            is_right     = read_line(m, line, &gpu);
            text += length + (text[length] == '\n');
        }
    }
    if (!is_right || m->n_gpus < 2 || m->n_blocks == 0) {
        ct_msccl_free(m);
        return NULL;
    }
    return m;
}

void ct_msccl_free(ct_msccl *program)
{
    if (program != NULL) {
        for (long i = 0; i < program->n_blocks; i++) {
            free(program->blocks[i].steps);
        }
        free(program->blocks);
        free(program);
    }
}

uint32_t ct_msccl_gpus(const ct_msccl *program)
{
    return (uint32_t)program->n_gpus;
}

/* Running. */

/* What was sent over a connection and not received: chunks, and how many belong together. */
typedef struct connection {
    uint64_t *chunks;
    long      n_chunks;
    long      counts[DEPTH];
    long      n_messages;
} connection;

typedef struct machine {
    const ct_msccl      *m;
    const ct_msccl_call *call;
    ct_rng               rng;
    block               *blocks;  /* a copy: the steps' progress is the run's */
    uint64_t            *buffers; /* [gpus][3 * room] input, output, scratch */
    long                 room;
    connection          *connections; /* [gpus][gpus][CHANNELS] */
    uint64_t             nowhere;
    bool                 is_broken;
} machine;

static uint64_t word_of(long gpu, long chunk)
{
    ct_rng rng = {(uint64_t)gpu * 1000003u + (uint64_t)chunk * 7919u + 17u};
    return ct_word(&rng);
}

static bool is(const machine *x, const char *coll)
{
    return strcmp(x->m->coll, coll) == 0;
}

static bool scatters(const machine *x)
{
    return is(x, "reduce_scatter") || is(x, "reducescatter");
}

/* A chunk of a GPU, which breaks the run where there is none. In place, a block is a part of the
 * other buffer. */
static uint64_t *chunk_at(machine *x, long gpu, char buffer, long offset)
{
    long part = x->m->n_chunks / x->m->n_gpus, which = buffer == 'i' ? 0 : buffer == 'o' ? 1 : 2;
    long size = which == 2 ? x->m->n_scratch : x->m->n_chunks;

    size = (which == 0 && is(x, "allgather")) || (which == 1 && scatters(x)) ? part : size;
    if (offset < 0 || offset >= size) {
        x->is_broken = true;
        return &x->nowhere;
    }
    if (which < 2 && x->call->in_place) {
        offset += size < x->m->n_chunks ? gpu * part : 0;
        which = 0;
    }
    return &x->buffers[(gpu * 3 + which) * x->room + offset];
}

static connection *connection_of(machine *x, long src, long dst, long channel)
{
    return &x->connections[(src * x->m->n_gpus + dst) * CHANNELS + channel];
}

/* One chunk of a step: sums and copies of what is there and what comes in. */
static uint64_t compute(machine *x, const block *b, const step *s, long k, uint64_t received)
{
    bool     reads  = strcmp(s->type, "r") != 0 && strcmp(s->type, "rcs") != 0;
    bool     writes = strcmp(s->type, "s") != 0 && strcmp(s->type, "rrs") != 0;
    uint64_t value  = received + (reads ? *chunk_at(x, b->gpu, s->src_buffer, s->src + k) : 0);

    if (writes) {
        uint64_t *to = chunk_at(x, b->gpu, s->dst_buffer, s->dst + k);
        value += strcmp(s->type, "re") == 0 ? *to : 0;
        *to = value;
    }
    return value;
}

static bool is_ready(machine *x, const block *b, const step *s)
{
    for (long i = 0; s->depid >= 0 && i < x->m->n_blocks; i++) {
        const block *other = &x->blocks[i];
        if (other->gpu != b->gpu || other->id != s->depid) {
            continue;
        }
        for (long d = s->deps; d >= 0 && d < other->n_steps; d++) {
            if (other->steps[d].has_dep && strcmp(other->steps[d].type, "nop") != 0) {
                return other->next > d;
            }
        }
    }
    return s->depid < 0;
}

/* Take the next `count` chunks of the step, if its connections let it. */
static bool move(machine *x, block *b, step *s, long count)
{
    bool receives = s->type[0] == 'r' && strcmp(s->type, "re") != 0;
    bool sends    = strcmp(s->type, "s") == 0 || strcmp(s->type, "rcs") == 0 ||
                 strcmp(s->type, "rrs") == 0 || strcmp(s->type, "rrcs") == 0;
    if ((receives && b->recv < 0) || (sends && b->send < 0)) {
        x->is_broken = true;
        return false;
    }
    connection *in  = receives ? connection_of(x, b->recv, b->gpu, b->channel) : NULL;
    connection *out = sends ? connection_of(x, b->gpu, b->send, b->channel) : NULL;

    if ((in != NULL && in->n_messages == 0) || (out != NULL && out->n_messages >= x->m->n_ahead)) {
        return false;
    }
    if (in != NULL && in->counts[0] != count) {
        x->is_broken = true;
        return false;
    }
    for (long k = 0; k < count; k++) {
        uint64_t value = compute(x, b, s, (long)s->moved + k, in != NULL ? in->chunks[k] : 0);
        if (out != NULL) {
            out->chunks = realloc(out->chunks, (size_t)(out->n_chunks + 1) * sizeof value);
            out->chunks[out->n_chunks++] = value;
        }
    }
    if (in != NULL) {
        in->n_chunks -= count;
        memmove(in->chunks, in->chunks + count, (size_t)in->n_chunks * sizeof *in->chunks);
        memmove(in->counts, in->counts + 1, (size_t)--in->n_messages * sizeof *in->counts);
    }
    if (out != NULL) {
        out->counts[out->n_messages++] = count;
    }
    s->moved += (unsigned)count;
    return true;
}

/* Take a thread block's next step, or a chunk of it; false where it has to wait. */
static bool take(machine *x, block *b)
{
    if (b->next == b->n_steps) {
        return false;
    }
    step *s = &b->steps[b->next];
    if (!is_ready(x, b, s)) {
        return false;
    }
    if (strcmp(s->type, "nop") != 0) {
        if (!move(x, b, s, x->call->is_chunkwise ? 1 : s->count)) {
            return false;
        }
    }
    b->next += strcmp(s->type, "nop") == 0 || (long)s->moved >= s->count;
    return true;
}

static bool is_over(const machine *x)
{
    for (long i = 0; i < x->m->n_blocks; i++) {
        if (x->blocks[i].next < x->blocks[i].n_steps) {
            return false;
        }
    }
    for (long i = 0; i < x->m->n_gpus * x->m->n_gpus * CHANNELS; i++) {
        if (x->connections[i].n_messages > 0) {
            return false;
        }
    }
    return true;
}

/* Turns at random, and all in a row from time to time, so that nobody who can is left out. */
static void take_turns(machine *x)
{
    bool moves = true;

    while (moves && !x->is_broken) {
        moves = false;
        for (long i = 0; i < 2 * x->m->n_blocks && !x->is_broken; i++) {
            moves |= take(x, &x->blocks[ct_below(&x->rng, (uint32_t)x->m->n_blocks)]);
        }
        for (long i = 0; !moves && i < x->m->n_blocks && !x->is_broken; i++) {
            moves |= take(x, &x->blocks[i]);
        }
    }
}

static void fill_buffers(machine *x)
{
    long n = x->m->n_gpus, chunks = x->m->n_chunks;

    for (long i = 0; i < n * 3 * x->room; i++) {
        x->buffers[i] = ct_word(&x->rng); /* nobody may use it */
    }
    for (long g = 0; g < n; g++) {
        long size = is(x, "allgather") ? chunks / n : chunks;
        for (long i = 0; i < size; i++) {
            long chunk = is(x, "allgather") ? g * size + i : is(x, "alltoall") ? g * chunks + i : i;
            *chunk_at(x, g, 'i', i) = word_of(g, chunk);
        }
    }
}

/* What a GPU's output must have; false where it may have anything. */
static bool wanted(const machine *x, long gpu, long offset, uint64_t *want_p)
{
    long n = x->m->n_gpus, chunks = x->m->n_chunks, part = chunks / n;

    *want_p = 0;
    if (is(x, "allgather")) {
        *want_p = word_of(offset / part, offset);
    } else if (is(x, "alltoall")) {
        *want_p = word_of(offset / part, offset / part * chunks + gpu * part + offset % part);
    } else if (is(x, "broadcast")) {
        *want_p = word_of((long)x->call->root, offset);
    } else {
        for (long g = 0; g < n; g++) {
            *want_p += word_of(g, scatters(x) ? gpu * part + offset : offset);
        }
    }
    return !is(x, "reduce") || gpu == (long)x->call->root;
}

static bool is_right(machine *x)
{
    long     n = x->m->n_gpus, size = scatters(x) ? x->m->n_chunks / n : x->m->n_chunks;
    uint64_t want;

    for (long g = 0; g < n; g++) {
        for (long i = 0; i < size; i++) {
            if (wanted(x, g, i, &want) && *chunk_at(x, g, 'o', i) != want) {
                return false;
            }
        }
    }
    return true;
}

static void open_machine(machine *x)
{
    const ct_msccl *m = x->m;

    x->room        = m->n_chunks > m->n_scratch ? m->n_chunks : m->n_scratch;
    x->buffers     = calloc((size_t)(m->n_gpus * 3 * x->room), sizeof *x->buffers);
    x->connections = calloc((size_t)(m->n_gpus * m->n_gpus * CHANNELS), sizeof *x->connections);
    x->blocks      = malloc((size_t)m->n_blocks * sizeof *x->blocks);
    memcpy(x->blocks, m->blocks, (size_t)m->n_blocks * sizeof *x->blocks);
    for (long i = 0; i < m->n_blocks; i++) {
        size_t bytes       = (size_t)m->blocks[i].n_steps * sizeof(step);
        x->blocks[i].steps = malloc(bytes + 1);
        if (bytes > 0) {
            memcpy(x->blocks[i].steps, m->blocks[i].steps, bytes);
        }
    }
}

static void close_machine(machine *x)
{
    for (long i = 0; i < x->m->n_blocks; i++) {
        free(x->blocks[i].steps);
    }
    for (long i = 0; i < x->m->n_gpus * x->m->n_gpus * CHANNELS; i++) {
        free(x->connections[i].chunks);
    }
    free(x->blocks);
    free(x->connections);
    free(x->buffers);
}

ct_msccl_end ct_msccl_run(const ct_msccl *program, const ct_msccl_call *call)
{
    machine      x   = {.m = program, .call = call, .rng = ct_rng_for(call->seed)};
    ct_msccl_end end = CT_MSCCL_STUCK;

    open_machine(&x);
    fill_buffers(&x);
    take_turns(&x);
    if (!x.is_broken && is_over(&x)) {
        end = is_right(&x) ? CT_MSCCL_RIGHT : CT_MSCCL_WRONG;
    }
    close_machine(&x);
    return end;
}
