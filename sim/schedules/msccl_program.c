/* SPDX-License-Identifier: GPL-3.0-or-later */
/* MSCCL's XML: elements, attributes and the rules that hold without taking a step. */
#include "schedules/msccl_program.h"

#include "input/xml.h"

#include <stdio.h>
#include <string.h>

#define COUNT(list) (sizeof(list) / sizeof(list)[0])

typedef struct reader {
    cs_msccl_program *p;
    cs_arena         *arena;
    cs_error         *err;
} reader;

static const char *const op_names[] = {
#define X(id, name, traits) [CS_MSCCL_##id] = name,
    CS_MSCCL_OP_MAP(X)
#undef X
};
static const uint8_t op_traits[] = {
#define X(id, name, traits) [CS_MSCCL_##id] = (uint8_t)(traits),
    CS_MSCCL_OP_MAP(X)
#undef X
};
static const char *const buffer_names[] = {
    [CS_MSCCL_INPUT] = "i", [CS_MSCCL_OUTPUT] = "o", [CS_MSCCL_SCRATCH] = "s"};

static const cs_msccl_origin *origin_of(const cs_msccl_program *p, const cs_msccl_step *step)
{
    return &p->origins[p->orders[step - p->steps].origin];
}

const char *cs_msccl_step_name(const cs_msccl_program *p, const cs_msccl_step *step,
                               char name[CS_MSCCL_NAME_BYTES])
{
    if (p->origins == NULL) {
        (void)snprintf(name, CS_MSCCL_NAME_BYTES, "the step in line %d", step->line);
        return name;
    }
    const cs_msccl_origin *o = origin_of(p, step);
    if (o->name == NULL) {
        (void)snprintf(name, CS_MSCCL_NAME_BYTES, "the call of GPU %u", o->gpu);
    } else if (o->inner == CS_MSCCL_NONE) {
        (void)snprintf(name, CS_MSCCL_NAME_BYTES, "op %u (%s) of thread block %u of GPU %u", o->op,
                       o->name, o->block, o->gpu);
    } else {
        (void)snprintf(name, CS_MSCCL_NAME_BYTES, "op %u.%u (%s) of thread block %u of GPU %u",
                       o->op, o->inner, o->name, o->block, o->gpu);
    }
    return name;
}

/* The path of an operation in the file. */
static void put_path(const cs_msccl_origin *o, char *path, size_t bytes)
{
    if (o->name == NULL) {
        (void)snprintf(path, bytes, "gpus[%u]", o->gpu);
    } else if (o->inner == CS_MSCCL_NONE) {
        (void)snprintf(path, bytes, "gpus[%u].threadblocks[%u].ops[%u]", o->gpu, o->block, o->op);
    } else {
        (void)snprintf(path, bytes, "gpus[%u].threadblocks[%u].ops[%u].ops[%u]", o->gpu, o->block,
                       o->op, o->inner);
    }
}

cs_status cs_msccl_fail_at(cs_status status, cs_error *err, const cs_msccl_program *p,
                           const cs_msccl_step *step)
{
    if (p->origins == NULL) {
        cs_error_locate(err, p->input, step->line, step->column);
    } else if (err != NULL) {
        put_path(origin_of(p, step), err->where, sizeof err->where);
    }
    return status;
}

/* Attributes. */

static cs_status missing(const reader *r, const cs_xml *e, const char *name)
{
    return CS_XML_FAIL(r->err, r->p->input, e, "the attribute '%s' is missing", name);
}

/* A number that must be there, in [least, most]. */
static cs_status number(const reader *r, const cs_xml *e, const char *name, long least, long most,
                        long *value_p)
{
    const char *text = cs_xml_get(e, name);

    if (text == NULL) {
        return missing(r, e, name);
    }
    if (*text == '\0' || !cs_xml_number(e, name, 0, value_p) || *value_p < least ||
        *value_p > most) {
        return CS_XML_FAIL(r->err, r->p->input, e, "%s=\"%.40s\": accepted is %ld to %ld", name,
                           text, least, most);
    }
    return CS_OK;
}

/* One of some words; *which_p is its number. */
static cs_status word(const reader *r, const cs_xml *e, const char *name, const char *const *words,
                      size_t n_words, size_t *which_p)
{
    const char *text = cs_xml_get(e, name);
    char        list[200];
    size_t      length = 0;

    if (text == NULL) {
        return missing(r, e, name);
    }
    for (size_t i = 0; i < n_words; i++) {
        if (strcmp(text, words[i]) == 0) {
            *which_p = i;
            return CS_OK;
        }
    }
    list[0] = '\0';
    for (size_t i = 0; i < n_words; i++) {
        size_t more = strlen(words[i]);
        if (length + more + 3 < sizeof list) {
            memcpy(list + length, i > 0 ? ", " : "", i > 0 ? 3 : 1);
            length += i > 0 ? 2 : 0;
            memcpy(list + length, words[i], more + 1);
            length += more;
        }
    }
    return CS_XML_FAIL(r->err, r->p->input, e, "%s=\"%.40s\": accepted are %s", name, text, list);
}

/* Elements: only `name` may be there. */
static cs_status count_children(const reader *r, const cs_xml *e, const char *name, size_t *count_p)
{
    *count_p = 0;
    for (const cs_xml *c = e->child; c != NULL; c = c->next) {
        if (strcmp(c->name, name) != 0) {
            return CS_XML_FAIL(r->err, r->p->input, c, "is not known here: accepted is <%s>", name);
        }
        (*count_p)++;
    }
    return CS_OK;
}

/* The program's head. */

/* Both flags; a file without `outofplace` is for the one or for the other. */
static cs_status read_modes(reader *r, const cs_xml *algo)
{
    long in = 0, out = 0;

    CS_TRY(number(r, algo, "inplace", 0, 1, &in));
    out = in == 0;
    if (cs_xml_get(algo, "outofplace") != NULL) {
        CS_TRY(number(r, algo, "outofplace", 0, 1, &out));
    }
    if (in == 0 && out == 0) {
        return CS_XML_FAIL(r->err, r->p->input, algo, "is neither for inplace nor for outofplace");
    }
    r->p->in_place     = in != 0;
    r->p->out_of_place = out != 0;
    return CS_OK;
}

/* coll=".."; of two words for a collective the first is the one that is written. */
static const char *const collective_names[] = {
    "allreduce", "allgather", "reduce_scatter", "reducescatter", "alltoall", "broadcast", "reduce"};
static const cs_collective collectives[COUNT(collective_names)] = {
    CS_ALLREDUCE, CS_ALLGATHER, CS_REDUCESCATTER, CS_REDUCESCATTER,
    CS_ALLTOALL,  CS_BROADCAST, CS_REDUCE};

const char *cs_msccl_collective_name(cs_collective collective)
{
    for (size_t i = 0; i < COUNT(collectives); i++) {
        if (collectives[i] == collective) {
            return collective_names[i];
        }
    }
    return NULL;
}

static cs_status read_collective(reader *r, const cs_xml *algo)
{
    static const char *const protocols[] = {"Simple", "LL", "LL128"};
    size_t                   name = 0, protocol = 0;
    long                     root = 0;

    CS_TRY(word(r, algo, "coll", collective_names, COUNT(collective_names), &name));
    CS_TRY(word(r, algo, "proto", protocols, COUNT(protocols), &protocol));
    r->p->collective = collectives[name];
    r->p->n_ahead    = protocol == 0 ? 2 : 8;
    r->p->root       = CS_MSCCL_NONE;
    if (cs_xml_get(algo, "root") != NULL) {
        CS_TRY(number(r, algo, "root", 0, (long)r->p->n_gpus - 1, &root));
        r->p->root = (uint32_t)root;
    }
    return CS_OK;
}

static cs_status check_chunks(const reader *r, const cs_xml *algo)
{
    const cs_msccl_program *p       = r->p;
    bool                    divides = cs_collectives[p->collective].layout != CS_WHOLE;

    if (divides && p->n_chunks % p->n_gpus != 0) {
        return CS_XML_FAIL(
            r->err, p->input, algo,
            "nchunksperloop=\"%u\" is no multiple of the %u GPUs, each of which has a "
            "block of them",
            p->n_chunks, p->n_gpus);
    }
    return CS_OK;
}

static cs_status read_head(reader *r, const cs_xml *algo)
{
    const char *name = cs_xml_get(algo, "name");
    long        n = 0, chunks = 0, channels = 0;

    CS_TRY(number(r, algo, "ngpus", 2, CS_MAX_RANKS, &n));
    CS_TRY(number(r, algo, "nchunksperloop", 1, CS_MSCCL_MAX_CHUNKS, &chunks));
    CS_TRY(number(r, algo, "nchannels", 1, CS_MSCCL_MAX_CHANNELS, &channels));
    for (size_t i = 0; name != NULL && name[i] != '\0' && i + 1 < sizeof r->p->name; i++) {
        r->p->name[i] = name[i];
    }
    r->p->n_gpus     = (uint32_t)n;
    r->p->n_chunks   = (uint32_t)chunks;
    r->p->n_channels = (uint32_t)channels;
    CS_TRY(read_collective(r, algo));
    CS_TRY(read_modes(r, algo));
    return check_chunks(r, algo);
}

/* Buffers. */

uint32_t cs_msccl_chunks_of(const cs_msccl_program *p, uint32_t buffer)
{
    const cs_collective_row *row      = &cs_collectives[p->collective];
    cs_party                 party    = buffer == CS_MSCCL_INPUT ? row->from : row->to;
    bool                     is_block = row->layout == CS_BLOCK_PER_RANK && party == CS_PARTY_FIRST;

    return is_block ? p->n_chunks / p->n_gpus : p->n_chunks;
}

uint32_t cs_msccl_n_places(const cs_msccl_program *p, bool aliases)
{
    uint32_t both = cs_msccl_chunks_of(p, CS_MSCCL_INPUT) + cs_msccl_chunks_of(p, CS_MSCCL_OUTPUT);
    return (aliases ? p->n_chunks : both) + p->n_scratch;
}

uint32_t cs_msccl_place(const cs_msccl_program *p, bool aliases, uint32_t gpu, uint32_t buffer,
                        uint32_t offset)
{
    uint32_t size = cs_msccl_chunks_of(p, buffer);

    if (buffer == CS_MSCCL_SCRATCH) {
        return cs_msccl_n_places(p, aliases) - p->n_scratch + offset;
    }
    if (aliases) { /* a block lies in the other buffer */
        return size < p->n_chunks ? gpu * size + offset : offset;
    }
    return buffer == CS_MSCCL_INPUT ? offset : cs_msccl_chunks_of(p, CS_MSCCL_INPUT) + offset;
}

static bool is_per_pair(const cs_msccl_program *p)
{
    return cs_collectives[p->collective].layout == CS_BLOCK_PER_PAIR;
}

uint32_t cs_msccl_all_chunks(const cs_msccl_program *p)
{
    return is_per_pair(p) ? p->n_gpus * p->n_chunks : p->n_chunks;
}

uint32_t cs_msccl_chunk(const cs_msccl_program *p, uint32_t gpu, uint32_t buffer, uint32_t offset)
{
    uint32_t size = cs_msccl_chunks_of(p, buffer), block = p->n_chunks / p->n_gpus;

    if (is_per_pair(p)) {
        return buffer == CS_MSCCL_INPUT
                   ? gpu * p->n_chunks + offset
                   : offset / block * p->n_chunks + gpu * block + offset % block;
    }
    return size < p->n_chunks ? gpu * size + offset : offset;
}

/* Steps. */

static cs_status read_end(const reader *r, const cs_xml *e, const cs_msccl_gpu *gpu,
                          const cs_msccl_step *step, bool is_src, cs_msccl_end *end_p)
{
    const char *buffer_key = is_src ? "srcbuf" : "dstbuf",
               *offset_key = is_src ? "srcoff" : "dstoff";
    size_t buffer          = 0;
    long   offset          = 0;
    bool   is_used         = (step->traits & (is_src ? CS_MSCCL_READS : CS_MSCCL_WRITES)) != 0;

    CS_TRY(word(r, e, buffer_key, buffer_names, COUNT(buffer_names), &buffer));
    CS_TRY(number(r, e, offset_key, is_used ? 0 : -1, INT16_MAX, &offset));
    if (is_used && (uint32_t)offset + step->count > gpu->n_chunks[buffer]) {
        return CS_XML_FAIL(
            r->err, r->p->input, e, "%u chunks from %s=\"%ld\" on are outside the %u of buffer %s",
            step->count, offset_key, offset, gpu->n_chunks[buffer], buffer_names[buffer]);
    }
    *end_p = (cs_msccl_end){(uint16_t)(offset < 0 ? 0 : offset), (uint8_t)buffer};
    return CS_OK;
}

/* A step that reads and writes different chunks must not write what it has yet to read. */
static cs_status check_overlap(const reader *r, const cs_xml *e, const cs_msccl_step *step)
{
    uint32_t distance = step->src.offset < step->dst.offset
                            ? (uint32_t)step->dst.offset - step->src.offset
                            : (uint32_t)step->src.offset - step->dst.offset;
    bool is_both = (step->traits & CS_MSCCL_READS) != 0 && (step->traits & CS_MSCCL_WRITES) != 0;

    if (is_both && step->src.buffer == step->dst.buffer && distance > 0 && distance < step->count) {
        return CS_XML_FAIL(r->err, r->p->input, e, "reads and writes chunks that overlap");
    }
    return CS_OK;
}

/* depid and deps, kept as a thread block of the GPU and a step of it until all are known. */
static cs_status read_wait(const reader *r, const cs_xml *e, const cs_msccl_gpu *gpu,
                           cs_msccl_step *step)
{
    long block = -1, deps = -1, has_dep = 0;

    CS_TRY(number(r, e, "depid", -1, INT16_MAX, &block));
    CS_TRY(number(r, e, "deps", -1, CS_MSCCL_MAX_STEPS - 1, &deps));
    CS_TRY(number(r, e, "hasdep", 0, 1, &has_dep));
    if (block >= 0 && (block >= (long)gpu->n_blocks || block >= CS_MSCCL_MAX_AWAITED || deps < 0)) {
        return CS_XML_FAIL(
            r->err, r->p->input, e,
            "waits for step %ld of thread block %ld: there are %u of them, the first %d "
            "can be waited for",
            deps, block, gpu->n_blocks, CS_MSCCL_MAX_AWAITED);
    }
    step->has_dep   = has_dep != 0;
    step->waits_for = block < 0 ? CS_MSCCL_NONE : (uint32_t)block << 16 | (uint32_t)deps;
    return CS_OK;
}

/* The message that a step sends, and its round in the schedule: in files of this program. */
static cs_status read_number(const reader *r, const cs_xml *e, cs_msccl_step *step)
{
    long message = 0, round = 0;

    if ((step->traits & CS_MSCCL_SENDS) == 0) {
        return CS_OK;
    }
    if (cs_xml_get(e, "message") == NULL || cs_xml_get(e, "round") == NULL) {
        r->p->has_numbers = false;
        return CS_OK;
    }
    CS_TRY(number(r, e, "message", 1, INT32_MAX - 1, &message));
    CS_TRY(number(r, e, "round", 0, INT32_MAX - 1, &round));
    step->number = (uint32_t)message;
    step->round  = (uint32_t)round;
    return CS_OK;
}

static cs_status read_step(reader *r, const cs_xml *e, uint32_t block, uint32_t index)
{
    cs_msccl_program     *p    = r->p;
    const cs_msccl_block *b    = &p->blocks[block];
    cs_msccl_step        *step = &p->steps[p->n_steps];
    size_t                op   = 0;
    long                  s = 0, count = 0;

    CS_TRY(number(r, e, "s", 0, CS_MSCCL_MAX_STEPS - 1, &s));
    CS_TRY(word(r, e, "type", op_names, COUNT(op_names), &op));
    CS_TRY(number(r, e, "cnt", op == CS_MSCCL_NOP ? 0 : 1, CS_MSCCL_MAX_COUNT, &count));
    if (s != (long)index) {
        return CS_XML_FAIL(r->err, p->input, e, "s=\"%ld\" stands where step %u belongs", s, index);
    }
    *step = (cs_msccl_step){.op     = (uint8_t)op,
                            .traits = op_traits[op],
                            .count  = (uint16_t)count,
                            .block  = block,
                            .line   = e->line,
                            .column = e->column};
    CS_TRY(read_end(r, e, &p->gpus[b->gpu], step, true, &step->src));
    CS_TRY(read_end(r, e, &p->gpus[b->gpu], step, false, &step->dst));
    CS_TRY(check_overlap(r, e, step));
    CS_TRY(read_wait(r, e, &p->gpus[b->gpu], step));
    CS_TRY(read_number(r, e, step));
    if (((step->traits & CS_MSCCL_SENDS) != 0 && b->send == CS_MSCCL_NONE) ||
        ((step->traits & CS_MSCCL_RECEIVES) != 0 && b->recv == CS_MSCCL_NONE)) {
        return CS_XML_FAIL(r->err, p->input, e, "type=\"%s\" in a thread block without such a peer",
                           op_names[op]);
    }
    p->n_steps++;
    return CS_OK;
}

/* The step behind nops that wait waits for something itself, or the runtime refuses the file. */
static cs_status check_nops(const reader *r, const cs_msccl_block *b)
{
    const cs_msccl_program *p        = r->p;
    bool                    has_nops = false;

    for (uint32_t i = b->first_step; i < b->first_step + b->n_steps; i++) {
        const cs_msccl_step *s     = &p->steps[i];
        bool                 waits = s->waits_for != CS_MSCCL_NONE;
        if ((s->op == CS_MSCCL_NOP && !waits) || (s->op != CS_MSCCL_NOP && has_nops && !waits)) {
            return CS_MSCCL_FAIL(
                r->err, CS_EPARSE, p, s,
                "%s depid=\"-1\": the runtime counts its steps by what they wait for",
                s->op == CS_MSCCL_NOP ? "a nop with" : "a step behind nops with");
        }
        has_nops = s->op == CS_MSCCL_NOP;
    }
    return CS_OK;
}

static cs_status read_block(reader *r, const cs_xml *e, uint32_t gpu, uint32_t block)
{
    cs_msccl_program *p    = r->p;
    cs_msccl_block   *b    = &p->blocks[block];
    long              send = -1, recv = -1, channel = 0;
    uint32_t          index = 0;
    long              n     = (long)p->n_gpus;
    size_t            count = 0;

    CS_TRY(number(r, e, "send", -1, n - 1, &send));
    CS_TRY(number(r, e, "recv", -1, n - 1, &recv));
    CS_TRY(number(r, e, "chan", 0, (long)p->n_channels - 1, &channel));
    if (send == (long)gpu || recv == (long)gpu) {
        return CS_XML_FAIL(r->err, p->input, e, "GPU %u has itself as a peer", gpu);
    }
    CS_TRY(count_children(r, e, "step", &count));
    b->channel    = (uint32_t)channel;
    b->send       = send < 0 ? CS_MSCCL_NONE : (uint32_t)send;
    b->recv       = recv < 0 ? CS_MSCCL_NONE : (uint32_t)recv;
    b->first_step = p->n_steps;
    for (const cs_xml *c = e->child; c != NULL; c = c->next) {
        CS_TRY(read_step(r, c, block, index++));
    }
    b->n_steps = p->n_steps - b->first_step;
    return check_nops(r, b);
}

/* A channel has so many thread blocks of a GPU that send, and that receive. */
static cs_status check_channels(const reader *r, const cs_msccl_gpu *g)
{
    const cs_msccl_program *p                           = r->p;
    uint32_t                n[2][CS_MSCCL_MAX_CHANNELS] = {{0}};

    for (uint32_t i = g->first_block; i < g->first_block + g->n_blocks; i++) {
        const cs_msccl_block *b = &p->blocks[i];
        n[0][b->channel] += b->send != CS_MSCCL_NONE;
        n[1][b->channel] += b->recv != CS_MSCCL_NONE;
        if (n[0][b->channel] > CS_MSCCL_MAX_PEERS || n[1][b->channel] > CS_MSCCL_MAX_PEERS) {
            cs_status status =
                CS_FAIL(r->err, CS_EPARSE, "tb",
                        "channel %u has more than %d thread blocks that send, or that "
                        "receive",
                        b->channel, CS_MSCCL_MAX_PEERS);
            cs_error_locate(r->err, p->input, b->line, b->column);
            return status;
        }
    }
    return CS_OK;
}

/* Thread blocks stand anywhere in their GPU, but their numbers have no gaps. */
static cs_status read_blocks(reader *r, const cs_xml *e, uint32_t gpu)
{
    cs_msccl_program *p = r->p;
    cs_msccl_gpu     *g = &p->gpus[gpu];

    for (const cs_xml *c = e->child; c != NULL; c = c->next) {
        long id = 0;
        CS_TRY(number(r, c, "id", 0, (long)g->n_blocks - 1, &id));
        cs_msccl_block *b = &p->blocks[g->first_block + (uint32_t)id];
        if (b->line != 0) {
            return CS_XML_FAIL(r->err, p->input, c, "id=\"%ld\" is there twice", id);
        }
        *b = (cs_msccl_block){.gpu = gpu, .id = (uint32_t)id, .line = c->line, .column = c->column};
        CS_TRY(read_block(r, c, gpu, g->first_block + (uint32_t)id));
    }
    return check_channels(r, g);
}

/* GPUs. */

static cs_status read_sizes(reader *r, const cs_xml *e, cs_msccl_gpu *g)
{
    static const char *const keys[] = {"i_chunks", "o_chunks", "s_chunks"};

    for (uint32_t b = 0; b < 3; b++) {
        long most = b == CS_MSCCL_SCRATCH ? CS_MSCCL_MAX_CHUNKS : (long)cs_msccl_chunks_of(r->p, b),
             n    = 0;
        CS_TRY(number(r, e, keys[b], 0, most, &n));
        g->n_chunks[b] = (uint32_t)n;
    }
    if (g->n_chunks[CS_MSCCL_SCRATCH] > r->p->n_scratch) {
        r->p->n_scratch = g->n_chunks[CS_MSCCL_SCRATCH];
    }
    return CS_OK;
}

/* What the GPU's own parser counts. */
static cs_status check_elements(const reader *r, const cs_xml *e, size_t n_blocks, size_t n_steps)
{
    size_t elements = 1 + r->p->n_gpus + n_blocks + n_steps;

    if (n_blocks > CS_MSCCL_MAX_BLOCKS || elements > CS_MSCCL_MAX_ELEMENTS) {
        return CS_XML_FAIL(
            r->err, r->p->input, e,
            "%zu thread blocks and %zu elements (steps, thread blocks, all GPUs) are "
            "too many: accepted are %d and %d",
            n_blocks, elements, CS_MSCCL_MAX_BLOCKS, CS_MSCCL_MAX_ELEMENTS);
    }
    return CS_OK;
}

/* A GPU's element on the first pass: its size, and how much is in it. */
static cs_status open_gpu(reader *r, const cs_xml *e)
{
    cs_msccl_program *p        = r->p;
    long              id       = 0;
    size_t            n_blocks = 0, n_steps = 0, all_steps = 0;

    CS_TRY(number(r, e, "id", 0, (long)p->n_gpus - 1, &id));
    if (p->gpus[id].line != 0) {
        return CS_XML_FAIL(r->err, p->input, e, "id=\"%ld\" is there twice", id);
    }
    CS_TRY(read_sizes(r, e, &p->gpus[id]));
    CS_TRY(count_children(r, e, "tb", &n_blocks));
    for (const cs_xml *c = e->child; c != NULL; c = c->next) {
        CS_TRY(count_children(r, c, "step", &n_steps));
        all_steps += n_steps;
        if (n_steps > CS_MSCCL_MAX_STEPS) {
            return CS_XML_FAIL(r->err, p->input, c, "%zu steps are too many: accepted are %d",
                               n_steps, CS_MSCCL_MAX_STEPS);
        }
    }
    CS_TRY(check_elements(r, e, n_blocks, all_steps));
    p->gpus[id].first_block = p->n_blocks;
    p->gpus[id].n_blocks    = (uint32_t)n_blocks;
    p->gpus[id].line        = e->line;
    p->gpus[id].column      = e->column;
    p->n_blocks += (uint32_t)n_blocks;
    p->n_steps += (uint32_t)all_steps;
    return CS_OK;
}

static cs_status read_gpus(reader *r, const cs_xml *algo)
{
    cs_msccl_program *p      = r->p;
    size_t            n_gpus = 0;

    CS_TRY(count_children(r, algo, "gpu", &n_gpus));
    if (n_gpus != p->n_gpus) {
        return CS_XML_FAIL(r->err, p->input, algo, "ngpus=\"%u\", and %zu <gpu> are there",
                           p->n_gpus, n_gpus);
    }
    p->gpus = CS_ARENA_NEW(r->arena, cs_msccl_gpu, p->n_gpus);
    if (p->gpus == NULL) {
        return CS_NO_MEMORY(r->err, "a schedule");
    }
    for (const cs_xml *c = algo->child; c != NULL; c = c->next) {
        CS_TRY(open_gpu(r, c));
    }
    p->blocks = CS_ARENA_NEW(r->arena, cs_msccl_block, p->n_blocks);
    p->steps  = CS_ARENA_NEW(r->arena, cs_msccl_step, p->n_steps);
    if (p->blocks == NULL || p->steps == NULL) {
        return CS_NO_MEMORY(r->err, "a schedule");
    }
    p->n_steps = 0;
    for (const cs_xml *c = algo->child; c != NULL; c = c->next) {
        long id = 0;
        CS_TRY(number(r, c, "id", 0, (long)p->n_gpus - 1, &id));
        CS_TRY(read_blocks(r, c, (uint32_t)id));
    }
    return CS_OK;
}

/* A wait ends with the first step that says so, at or behind the one that is named. */
static cs_status resolve_waits(const reader *r)
{
    cs_msccl_program *p = r->p;

    for (uint32_t i = 0; i < p->n_steps; i++) {
        cs_msccl_step *s = &p->steps[i];
        if (s->waits_for == CS_MSCCL_NONE) {
            continue;
        }
        const cs_msccl_gpu   *g  = &p->gpus[p->blocks[s->block].gpu];
        const cs_msccl_block *b  = &p->blocks[g->first_block + (s->waits_for >> 16)];
        uint32_t              at = s->waits_for & 0xffffu, from = at;
        while (at < b->n_steps && (!p->steps[b->first_step + at].has_dep ||
                                   p->steps[b->first_step + at].op == CS_MSCCL_NOP)) {
            at++;
        }
        if (at >= b->n_steps) {
            return CS_MSCCL_FAIL(
                r->err, CS_EPARSE, p, s,
                "waits for step %u of thread block %u, and neither that nor one behind "
                "it has hasdep=\"1\"",
                from, b->id);
        }
        s->waits_for = b->first_step + at;
    }
    return CS_OK;
}

static cs_status check_size(const reader *r, const cs_xml *algo)
{
    const cs_msccl_program *p      = r->p;
    uint64_t                places = (uint64_t)cs_msccl_n_places(p, p->in_place) * p->n_gpus;
    uint64_t                moves  = 0;

    if (p->out_of_place) {
        places = (uint64_t)cs_msccl_n_places(p, false) * p->n_gpus;
    }
    for (uint32_t i = 0; i < p->n_steps; i++) {
        moves += p->steps[i].count;
    }
    if (places > CS_MSCCL_MAX_PLACES || moves > CS_MSCCL_MAX_MOVES) {
        return CS_XML_FAIL(
            r->err, p->input, algo,
            "%llu chunks in all buffers and %llu in all steps are too many: accepted "
            "are 2^24 and 2^21",
            (unsigned long long)places, (unsigned long long)moves);
    }
    return CS_OK;
}

static cs_status read_algo(reader *r, const cs_xml *algo)
{
    if (strcmp(algo->name, "algo") != 0) {
        return CS_XML_FAIL(r->err, r->p->input, algo, "is not known: accepted is <algo>, of MSCCL");
    }
    CS_TRY(read_head(r, algo));
    CS_TRY(read_gpus(r, algo));
    CS_TRY(check_size(r, algo));
    CS_TRY(resolve_waits(r));
    for (uint32_t i = 0; !r->p->has_numbers && i < r->p->n_steps; i++) {
        r->p->steps[i].number = 0;
    }
    return CS_OK;
}

cs_status cs_msccl_read(const char *text, size_t length, const char *input, cs_arena *arena,
                        cs_msccl_program *program, cs_error *err)
{
    cs_arena  tree = {0};
    cs_xml   *algo = NULL;
    reader    r    = {.p = program, .arena = arena, .err = err};
    cs_status status;

    *program = (cs_msccl_program){.input = input, .has_numbers = true, .split = 1};
    status   = cs_xml_parse(text, length, input, CS_XML_USUAL_DEPTH, &tree, &algo, err);
    if (status == CS_OK) {
        status = read_algo(&r, algo);
    }
    cs_arena_free(&tree);
    return status;
}
