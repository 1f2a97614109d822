/* SPDX-License-Identifier: GPL-3.0-or-later */
/* MSCCL++ plans: their JSON, and the rules that hold without running them. */
#include "schedules/mscclpp_plan.h"

#include "input/json_scan.h"
#include "input/locate.h"
#include "input/reader.h"
#include "schedules/mscclpp.h"

#include <stdio.h>
#include <string.h>

#define NONE   CS_MSCCL_NONE
#define NEEDED UINT32_MAX /* there is no value that stands for it */

enum { MEMORY, PORT, SWITCH };

typedef struct kind {
    const char *name, *src, *dst;
    uint32_t    traits;
} kind;

static const kind kinds[] = {
#define X(id, name, src, dst, traits) {name, src, dst, traits},
    CS_MSCCLPP_OP_MAP(X)
#undef X
};

/* Which channels, and which buffers of peers, the numbers of a thread block's operations mean. */
typedef struct names {
    uint32_t *channels[2], *buffers[2]; /* of memory, of ports; buffers: of the GPU's list */
    uint32_t  n_channels[2], n_buffers[2];
} names;

/* A buffer of a peer. */
typedef struct remote {
    uint32_t gpu, buffer;
} remote;

typedef struct reader {
    cs_reading       r;
    cs_mscclpp_plan *plan;
    uint32_t         gpu, block, op, inner; /* that is read */
    const char      *op_name;
    names            names;   /* of the thread block */
    remote          *remotes; /* of the GPU */
    uint32_t         n_remotes;
} reader;

uint32_t cs_mscclpp_traits(uint32_t op)
{
    return kinds[op].traits;
}

bool cs_mscclpp_is_plan(const char *text, size_t length)
{
    cs_scan      scan;
    cs_scan_text key;
    bool         has_gpus = false, has_format = false;

    cs_scan_begin(&scan, text, length);
    (void)cs_scan_enter(&scan, '{');
    while (!has_format && cs_scan_key(&scan, &key)) {
        has_gpus |= cs_scan_is(key, "gpus");
        has_format |= cs_scan_is(key, "format");
        cs_scan_skip(&scan);
    }
    return has_gpus && !has_format;
}

/* Values. All numbers are read as doubles: max_message_size is often 2^64 - 1. */

static bool is_number(const json_t *node, uint32_t most)
{
    double value = json_is_real(node) ? json_real_value(node) : -1;
    return value >= 0 && value <= most && value == (uint32_t)value;
}

/* A number in [0, most]; `fallback` where it is not there. */
static uint32_t number(reader *rd, const cs_place *object, const char *key, uint32_t fallback,
                       uint32_t most)
{
    cs_place place = cs_place_get(object, key);

    if (cs_reading_failed(&rd->r)) {
        return 0;
    }
    if (place.node == NULL && fallback == NEEDED) {
        CS_REFUSE(&rd->r, object, CS_EPARSE, "the key '%s' is missing", key);
        return 0;
    }
    if (place.node == NULL) {
        return fallback;
    }
    if (!is_number(place.node, most)) {
        CS_REFUSE(&rd->r, &place, CS_EPARSE, "accepted is an integer from 0 to %u", most);
        return 0;
    }
    return (uint32_t)json_real_value(place.node);
}

/* A text that must be there; "" where it is not. */
static const char *word(reader *rd, const cs_place *object, const char *key)
{
    cs_place place = cs_place_get(object, key);

    if (cs_reading_failed(&rd->r)) {
        return "";
    }
    if (place.node == NULL) {
        CS_REFUSE(&rd->r, object, CS_EPARSE, "the key '%s' is missing", key);
    } else if (!json_is_string(place.node)) {
        cs_refuse_kind(&rd->r, &place, "a text");
    }
    return json_is_string(place.node) ? json_string_value(place.node) : "";
}

/* One of three words. */
static uint32_t choice(reader *rd, const cs_place *object, const char *key,
                       const char *const words[3])
{
    const char *text  = word(rd, object, key);
    cs_place    place = cs_place_get(object, key);

    for (uint32_t i = 0; i < 3; i++) {
        if (strcmp(text, words[i]) == 0) {
            return i;
        }
    }
    if (!cs_reading_failed(&rd->r)) {
        CS_REFUSE(&rd->r, &place, CS_EPARSE, "'%.40s' is not known: accepted are %s, %s, %s", text,
                  words[0], words[1], words[2]);
    }
    return 0;
}

static uint32_t buffer_word(reader *rd, const cs_place *object)
{
    static const char *const words[3] = {"i", "o", "s"}; /* as cs_msccl_buffer */
    return choice(rd, object, "type", words);
}

static uint32_t channel_word(reader *rd, const cs_place *object, const char *key)
{
    static const char *const words[3] = {"memory", "port", "switch"};
    return choice(rd, object, key, words);
}

/* A list, and how long it is: 0 where there is none. */
static uint32_t list_of(reader *rd, const cs_place *object, const char *key, uint32_t most,
                        cs_place *list_p)
{
    *list_p = cs_place_get(object, key);
    if (cs_reading_failed(&rd->r) || list_p->node == NULL) {
        return 0;
    }
    if (!json_is_array(list_p->node)) {
        cs_refuse_kind(&rd->r, list_p, "an array");
        return 0;
    }
    if (json_array_size(list_p->node) > most) {
        CS_REFUSE(&rd->r, list_p, CS_ENOTSUP, "%zu elements are too many: accepted are %u",
                  json_array_size(list_p->node), most);
        return 0;
    }
    return (uint32_t)json_array_size(list_p->node);
}

/* An element that is a number. */
static uint32_t number_at(reader *rd, const cs_place *list, uint32_t index, uint32_t most)
{
    cs_place place = cs_place_item(list, index);

    if (!cs_reading_failed(&rd->r) && !is_number(place.node, most)) {
        CS_REFUSE(&rd->r, &place, CS_EPARSE, "accepted is an integer from 0 to %u", most);
    }
    return cs_reading_failed(&rd->r) ? 0 : (uint32_t)json_real_value(place.node);
}

/* Elements are objects that say their own place, or do not say it. */
static cs_place object_at(reader *rd, const cs_place *list, uint32_t index, const char *id)
{
    cs_place place = cs_place_item(list, index);

    if (!cs_reading_failed(&rd->r) && !json_is_object(place.node)) {
        cs_refuse_kind(&rd->r, &place, "an object");
    }
    if (id != NULL && number(rd, &place, id, index, UINT32_MAX - 1) != index &&
        !cs_reading_failed(&rd->r)) {
        cs_place at = cs_place_get(&place, id);
        CS_REFUSE(&rd->r, &at, CS_EPARSE, "stands at place %u of its list, which it must name",
                  index);
    }
    return place;
}

static void *memory(reader *rd, const cs_place *place, size_t count, size_t size)
{
    void *list = cs_reading_failed(&rd->r) ? NULL : cs_arena_alloc(rd->r.arena, count, size);

    if (list == NULL && !cs_reading_failed(&rd->r)) {
        CS_REFUSE_MEMORY(&rd->r, place, "a schedule");
    }
    return list;
}

/* Something about the operation that is read. */
#define REFUSE_OP(rd, place, status, format, ...)                                                \
    do {                                                                                         \
        char name_[CS_MSCCL_NAME_BYTES];                                                         \
        CS_REFUSE(&(rd)->r, (place), (status), "%s " format, name_op((rd), name_), __VA_ARGS__); \
    } while (0)

static const char *name_op(const reader *rd, char name[CS_MSCCL_NAME_BYTES])
{
    char inner[16] = "";

    if (rd->inner != NONE) {
        (void)snprintf(inner, sizeof inner, ".%u", rd->inner);
    }
    (void)snprintf(name, CS_MSCCL_NAME_BYTES, "op %u%s (%.20s) of thread block %u of GPU %u",
                   rd->op, inner, rd->op_name, rd->block, rd->gpu);
    return name;
}

/* The head. */

static void read_collective(reader *rd, const cs_place *root)
{
    cs_mscclpp_plan *plan  = rd->plan;
    const char      *text  = word(rd, root, "collective");
    cs_place         place = cs_place_get(root, "collective");
    size_t           index = 0;

    text = strcmp(text, "reduce_scatter") == 0 ? "reducescatter" : text;
    if (cs_reading_failed(&rd->r)) {
        return;
    }
    if (cs_find_named(&cs_collective_names, text, &index, "", NULL) != CS_OK) {
        CS_REFUSE(&rd->r, &place, CS_ENOTSUP, "'%.40s' is no collective: accepted are %s", text,
                  CS_COLLECTIVE_LIST);
    }
    plan->collective = (cs_collective)index;
    plan->root       = NONE;
    if (cs_collective_has_root(plan->collective)) {
        plan->root = number(rd, root, "root", NONE - 1, NONE - 1);
        plan->root = plan->root == NONE - 1 ? NONE : plan->root;
    }
}

static void read_head(reader *rd, const cs_place *root)
{
    cs_mscclpp_plan *plan  = rd->plan;
    json_t          *name  = json_object_get(root->node, "name");
    cs_place         place = cs_place_get(root, "inplace"), gpus;

    read_collective(rd, root);
    if (!cs_reading_failed(&rd->r) && !json_is_boolean(place.node)) {
        CS_REFUSE(&rd->r, place.node != NULL ? &place : root, CS_EPARSE,
                  "the key 'inplace' must be true or false");
    }
    plan->in_place = json_is_true(place.node);
    plan->name = cs_arena_strdup(rd->r.arena, json_is_string(name) ? json_string_value(name) : "");
    plan->n_gpus = list_of(rd, root, "gpus", CS_MAX_RANKS, &gpus);
    if (!cs_reading_failed(&rd->r) && plan->n_gpus < 2) {
        CS_REFUSE(&rd->r, &gpus, CS_EPARSE, "are %u: accepted are 2 to %u", plan->n_gpus,
                  CS_MAX_RANKS);
    }
    if (!cs_reading_failed(&rd->r) && plan->root != NONE && plan->root >= plan->n_gpus) {
        place = cs_place_get(root, "root");
        CS_REFUSE(&rd->r, &place, CS_EPARSE, "is none of the %u GPUs", plan->n_gpus);
    }
    plan->gpus = memory(rd, root, plan->n_gpus, sizeof *plan->gpus);
    if (plan->name == NULL && !cs_reading_failed(&rd->r)) {
        CS_REFUSE_MEMORY(&rd->r, root, "a schedule");
    }
}

/* Chunks. */

static void read_chunks(reader *rd, const cs_place *gpu, uint32_t index)
{
    cs_mscclpp_plan *plan = rd->plan;
    uint32_t         in   = number(rd, gpu, "input_chunks", NEEDED, CS_MSCCL_MAX_CHUNKS);
    uint32_t         out  = number(rd, gpu, "output_chunks", NEEDED, CS_MSCCL_MAX_CHUNKS);

    plan->gpus[index].n_scratch = number(rd, gpu, "scratch_chunks", 0, CS_MSCCL_MAX_CHUNKS);
    if (index == 0) {
        plan->n_inputs  = in;
        plan->n_outputs = out;
    } else if (!cs_reading_failed(&rd->r) && (in != plan->n_inputs || out != plan->n_outputs)) {
        CS_REFUSE(&rd->r, gpu, CS_EPARSE,
                  "input_chunks and output_chunks are %u and %u, and %u and %u of GPU 0", in, out,
                  plan->n_inputs, plan->n_outputs);
    }
}

/* In place, one of the numbers may be 0: the buffer is a part of the other, or the same. */
static void complete_chunks(cs_mscclpp_plan *plan)
{
    const cs_collective_row *row     = &cs_collectives[plan->collective];
    bool                     parts   = row->layout == CS_BLOCK_PER_RANK;
    uint32_t                 n       = plan->n_gpus;
    bool                     gathers = parts && row->from == CS_PARTY_FIRST;

    if (plan->in_place && plan->n_outputs == 0) {
        plan->n_outputs = gathers ? plan->n_inputs * n
                          : parts ? plan->n_inputs / n
                                  : plan->n_inputs;
    } else if (plan->in_place && plan->n_inputs == 0) {
        plan->n_inputs = gathers ? plan->n_outputs / n
                         : parts ? plan->n_outputs * n
                                 : plan->n_outputs;
    }
}

/* Do the numbers of chunks fit the collective? */
static void check_chunks(reader *rd, const cs_place *gpus)
{
    cs_mscclpp_plan         *plan  = rd->plan;
    const cs_collective_row *row   = &cs_collectives[plan->collective];
    bool                     parts = row->layout == CS_BLOCK_PER_RANK;
    uint64_t                 in = plan->n_inputs, out = plan->n_outputs, n = plan->n_gpus;
    bool                     fits =
        in > 0 && out > 0 &&
        (parts ? (row->from == CS_PARTY_FIRST ? out == in * n : in == out * n) : in == out) &&
        (row->layout != CS_BLOCK_PER_PAIR || in % n == 0);

    if (!cs_reading_failed(&rd->r) && !fits) {
        cs_place gpu = cs_place_item(gpus, 0);
        CS_REFUSE(&rd->r, &gpu, CS_EPARSE,
                  "input_chunks %u and output_chunks %u are no %s of %u GPUs", plan->n_inputs,
                  plan->n_outputs, row->name, plan->n_gpus);
    }
}

/* Channels. */

/* All peers of one type of a GPU's channels, behind those that are there; only counted where there
 * is no list yet. */
static void read_peers(reader *rd, const cs_place *gpu, uint32_t index, uint32_t type)
{
    cs_mscclpp_plan *plan = rd->plan;
    cs_mscclpp_gpu  *g    = &plan->gpus[index];
    cs_place         channels, peers;
    uint32_t         n_lists = list_of(rd, gpu, "channels", UINT16_MAX, &channels);

    g->first_channel[type] = plan->n_channels;
    for (uint32_t i = 0; i < n_lists && !cs_reading_failed(&rd->r); i++) {
        cs_place list  = object_at(rd, &channels, i, NULL);
        bool     is_it = channel_word(rd, &list, "channel_type") == type;
        uint32_t n     = is_it ? list_of(rd, &list, "connected_to", UINT16_MAX, &peers) : 0;
        for (uint32_t k = 0; k < n && !cs_reading_failed(&rd->r); k++) {
            uint32_t peer = number_at(rd, &peers, k, plan->n_gpus - 1);
            if (peer == index && !cs_reading_failed(&rd->r)) {
                CS_REFUSE(&rd->r, &peers, CS_EPARSE, "GPU %u has itself as a peer", index);
            }
            if (plan->channels != NULL) {
                plan->channels[plan->n_channels] =
                    (cs_mscclpp_channel){.gpu     = index,
                                         .peer    = peer,
                                         .index   = plan->n_channels - g->first_channel[type],
                                         .twin    = NONE,
                                         .is_port = type == PORT};
            }
            plan->n_channels++;
        }
    }
    g->n_channels[type] = plan->n_channels - g->first_channel[type];
}

/* The k-th channel to a peer ends at that peer's k-th one back. */
static void join_channels(const cs_mscclpp_plan *plan)
{
    for (uint32_t i = 0; i < plan->n_channels; i++) {
        cs_mscclpp_channel   *c    = &plan->channels[i];
        const cs_mscclpp_gpu *peer = &plan->gpus[c->peer];
        uint32_t              from = peer->first_channel[c->is_port];
        for (uint32_t k = from; k < from + peer->n_channels[c->is_port] && c->twin == NONE; k++) {
            if (plan->channels[k].peer == c->gpu && plan->channels[k].twin == NONE) {
                c->twin                = k;
                plan->channels[k].twin = i;
            }
        }
    }
}

static void read_channels(reader *rd, const cs_place *gpus)
{
    cs_mscclpp_plan *plan = rd->plan;

    for (int pass = 0; pass < 2; pass++) {
        if (pass == 1) {
            plan->channels = memory(rd, gpus, plan->n_channels, sizeof *plan->channels);
        }
        plan->n_channels = 0;
        for (uint32_t i = 0; i < plan->n_gpus && !cs_reading_failed(&rd->r); i++) {
            cs_place gpu = object_at(rd, gpus, i, "id");
            read_peers(rd, &gpu, i, MEMORY);
            read_peers(rd, &gpu, i, PORT);
        }
    }
    if (!cs_reading_failed(&rd->r)) {
        join_channels(plan);
    }
}

static void read_semaphores(reader *rd, const cs_place *gpu, uint32_t index)
{
    cs_mscclpp_gpu *g = &rd->plan->gpus[index];
    cs_place        list;

    g->n_semaphores = list_of(rd, gpu, "semaphores", UINT16_MAX, &list);
    g->semaphores   = memory(rd, gpu, g->n_semaphores, sizeof *g->semaphores);
    for (uint32_t i = 0; i < g->n_semaphores && !cs_reading_failed(&rd->r); i++) {
        cs_place semaphore = object_at(rd, &list, i, NULL);
        g->semaphores[i]   = number(rd, &semaphore, "init_value", NEEDED, INT32_MAX);
    }
}

/* What numbers in a thread block mean. */

static void read_remotes(reader *rd, const cs_place *gpu)
{
    cs_place list;

    rd->n_remotes = list_of(rd, gpu, "remote_buffers", UINT16_MAX, &list);
    rd->remotes   = memory(rd, gpu, rd->n_remotes, sizeof *rd->remotes);
    for (uint32_t i = 0; i < rd->n_remotes && !cs_reading_failed(&rd->r); i++) {
        cs_place buffer = object_at(rd, &list, i, NULL);
        rd->remotes[i]  = (remote){number(rd, &buffer, "rank", NEEDED, rd->plan->n_gpus - 1),
                                   buffer_word(rd, &buffer)};
        if (!cs_reading_failed(&rd->r) && rd->remotes[i].gpu == rd->gpu) {
            CS_REFUSE(&rd->r, &buffer, CS_EPARSE, "GPU %u has a buffer of itself as a peer's",
                      rd->gpu);
        }
    }
}

/* The numbers of one type in a list of lists: channel_ids of channels, remote_buffer_ids of
 * remote_buffer_refs. */
static uint32_t *read_names(reader *rd, const cs_place *block, const char *const keys[3],
                            uint32_t type, uint32_t below, uint32_t *n_p)
{
    uint32_t *ids = NULL;
    cs_place  lists, list;
    uint32_t  n_lists = list_of(rd, block, keys[0], UINT16_MAX, &lists);

    for (int pass = 0; pass < 2 && !cs_reading_failed(&rd->r); pass++) {
        ids  = pass == 1 ? memory(rd, block, *n_p, sizeof *ids) : NULL;
        *n_p = 0;
        for (uint32_t i = 0; i < n_lists && !cs_reading_failed(&rd->r); i++) {
            cs_place entry = object_at(rd, &lists, i, NULL);
            bool     is_it = channel_word(rd, &entry, keys[1]) == type;
            uint32_t n     = is_it ? list_of(rd, &entry, keys[2], UINT16_MAX, &list) : 0;
            for (uint32_t k = 0; k < n && !cs_reading_failed(&rd->r); k++) {
                uint32_t id = number_at(rd, &list, k, UINT32_MAX - 1);
                if (id >= below && !cs_reading_failed(&rd->r)) {
                    CS_REFUSE(&rd->r, &list, CS_EPARSE, "%u is not there: its GPU has %u of them",
                              id, below);
                }
                if (ids != NULL) {
                    ids[*n_p] = id;
                }
                (*n_p)++;
            }
        }
    }
    return ids;
}

static void read_block_names(reader *rd, const cs_place *block)
{
    static const char *const channels[3] = {"channels", "channel_type", "channel_ids"};
    static const char *const buffers[3]  = {"remote_buffer_refs", "access_channel_type",
                                            "remote_buffer_ids"};
    const cs_mscclpp_gpu    *g           = &rd->plan->gpus[rd->gpu];

    rd->names = (names){.n_channels = {0}};
    for (uint32_t type = MEMORY; type <= PORT; type++) {
        rd->names.channels[type] =
            read_names(rd, block, channels, type, g->n_channels[type], &rd->names.n_channels[type]);
        rd->names.buffers[type] =
            read_names(rd, block, buffers, type, rd->n_remotes, &rd->names.n_buffers[type]);
    }
}

/* Operations. */

static uint32_t chunks_of(const reader *rd, const cs_mscclpp_end *end)
{
    const cs_mscclpp_plan *plan = rd->plan;

    return end->buffer == CS_MSCCL_INPUT    ? plan->n_inputs
           : end->buffer == CS_MSCCL_OUTPUT ? plan->n_outputs
                                            : plan->gpus[end->gpu].n_scratch;
}

static void read_end(reader *rd, const cs_place *place, bool is_port, bool is_remote,
                     cs_mscclpp_end *end)
{
    if (is_remote) {
        uint32_t id = number(rd, place, "buffer_id", NEEDED, UINT32_MAX - 1);
        if (!cs_reading_failed(&rd->r) && id >= rd->names.n_buffers[is_port]) {
            REFUSE_OP(rd, place, CS_EPARSE,
                      "uses buffer_id %u: the thread block has %u buffers over that channel type",
                      id, rd->names.n_buffers[is_port]);
        }
        if (cs_reading_failed(&rd->r)) {
            return;
        }
        const remote *r = &rd->remotes[rd->names.buffers[is_port][id]];
        *end            = (cs_mscclpp_end){.gpu = r->gpu, .buffer = (uint8_t)r->buffer};
    } else {
        *end = (cs_mscclpp_end){.gpu = rd->gpu, .buffer = (uint8_t)buffer_word(rd, place)};
    }
    end->index = number(rd, place, "index", NEEDED, CS_MSCCL_MAX_CHUNKS);
    end->size  = number(rd, place, "size", NEEDED, CS_MSCCL_MAX_CHUNKS);
    if (!cs_reading_failed(&rd->r) &&
        (end->size == 0 || end->index + end->size > chunks_of(rd, end))) {
        REFUSE_OP(rd, place, CS_EPARSE, "uses %u chunks from %u on of a buffer of %u", end->size,
                  end->index, chunks_of(rd, end));
    }
}

/* Is the i-th buffer of a pattern of a peer? "l*" is any number of its own, "lr*" one of its own
 * and then any number of peers'. */
static bool is_peers(const char *pattern, uint32_t i)
{
    size_t at = strcspn(pattern, "*");
    return pattern[i < at ? i : at - 1] == 'r';
}

static bool fits_pattern(const char *pattern, uint32_t n)
{
    size_t length   = strlen(pattern);
    bool   has_more = length > 0 && pattern[length - 1] == '*';

    return has_more ? n + 2 >= length && n > 0 : n == length;
}

static cs_mscclpp_end *read_ends(reader *rd, const cs_place *op, const char *key, bool is_port,
                                 const char *pattern, uint32_t *n_p)
{
    cs_place        list;
    uint32_t        n = pattern[0] != '\0' ? list_of(rd, op, key, CS_MSCCLPP_MAX_ENDS, &list) : 0;
    cs_mscclpp_end *ends = memory(rd, op, n, sizeof *ends);

    if (!cs_reading_failed(&rd->r) && !fits_pattern(pattern, n)) {
        REFUSE_OP(rd, op, CS_EPARSE, "has %u buffers in %s: accepted are %s%s", n, key,
                  pattern[0] == '\0' ? "none" : pattern,
                  pattern[0] == '\0' ? "" : " (l: its own, r: of a peer, *: any more)");
    }
    for (uint32_t i = 0; i < n && !cs_reading_failed(&rd->r); i++) {
        cs_place end = object_at(rd, &list, i, NULL);
        read_end(rd, &end, is_port, is_peers(pattern, i), &ends[i]);
    }
    *n_p = cs_reading_failed(&rd->r) ? 0 : n;
    return ends;
}

/* Sizes that agree, and packets in scratch buffers. */
static void check_ends(reader *rd, const cs_place *place, const cs_mscclpp_op *op)
{
    uint32_t traits = kinds[op->kind].traits, n = op->n_src > op->n_dst ? op->n_src : op->n_dst;
    bool     pairs = (traits & CS_MSCCLPP_PAIRS) != 0;

    if (pairs && op->n_src != op->n_dst) {
        REFUSE_OP(rd, place, CS_EPARSE, "has %u src_buff and %u dst_buff: accepted are pairs",
                  op->n_src, op->n_dst);
    }
    for (uint32_t i = 0; i < n && !cs_reading_failed(&rd->r); i++) {
        const cs_mscclpp_end *src  = i < op->n_src ? &op->src[i] : NULL;
        const cs_mscclpp_end *dst  = i < op->n_dst ? &op->dst[i] : NULL;
        uint32_t              size = pairs ? op->src[i].size : op->src[0].size;
        bool                  sums = (traits & CS_MSCCLPP_SUM_PACKETS) != 0 && i > 0;
        if ((src != NULL && src->size != size) || (dst != NULL && dst->size != size)) {
            REFUSE_OP(rd, place, CS_EPARSE, "has buffers of different sizes, %u and %u", size,
                      src != NULL && src->size != size ? src->size : dst->size);
        } else if ((src != NULL && src->buffer != CS_MSCCL_SCRATCH &&
                    (sums || (traits & CS_MSCCLPP_FROM_PACKETS) != 0)) ||
                   (dst != NULL && dst->buffer != CS_MSCCL_SCRATCH &&
                    (sums || (traits & CS_MSCCLPP_TO_PACKETS) != 0))) {
            REFUSE_OP(rd, place, CS_EPARSE, "has packets in a buffer that is no scratch%s", "");
        }
    }
}

/* channel_ids and semaphore_ids as the plan's channels and the GPU's semaphores. */
static void read_ids(reader *rd, const cs_place *place, cs_mscclpp_op *op)
{
    const cs_mscclpp_gpu *g = &rd->plan->gpus[rd->gpu];
    bool     sems = op->kind == CS_MSCCLPP_SEM_ACQUIRE || op->kind == CS_MSCCLPP_SEM_RELEASE;
    cs_place list;
    uint32_t n =
        list_of(rd, place, sems ? "semaphore_ids" : "channel_ids", CS_MSCCLPP_MAX_LANES, &list);
    uint32_t *ids   = memory(rd, place, n, sizeof *ids);
    uint32_t  below = sems ? g->n_semaphores : rd->names.n_channels[op->is_port];

    for (uint32_t i = 0; i < n && !cs_reading_failed(&rd->r); i++) {
        ids[i] = number_at(rd, &list, i, UINT32_MAX - 1);
        if (!cs_reading_failed(&rd->r) && ids[i] >= below) {
            REFUSE_OP(rd, place, CS_EPARSE, "uses %s %u: there are %u",
                      sems ? "semaphore" : "channel", ids[i], below);
        } else if (!sems && !cs_reading_failed(&rd->r)) {
            ids[i] = g->first_channel[op->is_port] + rd->names.channels[op->is_port][ids[i]];
        }
    }
    op->ids   = ids;
    op->n_ids = n;
}

static bool needs_ids(const cs_mscclpp_op *op)
{
    switch (op->kind) {
    case CS_MSCCLPP_SIGNAL:
    case CS_MSCCLPP_WAIT:
    case CS_MSCCLPP_RLXSIGNAL:
    case CS_MSCCLPP_RLXWAIT:
    case CS_MSCCLPP_FLUSH:
    case CS_MSCCLPP_SEM_ACQUIRE:
    case CS_MSCCLPP_SEM_RELEASE: return true;
    default: return false;
    }
}

/* A put over a port goes over a channel each, to the GPU of its buffer. */
static void check_ids(reader *rd, const cs_place *place, const cs_mscclpp_op *op)
{
    uint32_t traits = kinds[op->kind].traits;
    bool     puts   = op->is_port && op->n_dst > 0;

    if (cs_reading_failed(&rd->r)) {
        return;
    }
    if (!op->is_port && (traits & CS_MSCCLPP_PORT) != 0) {
        REFUSE_OP(rd, place, CS_EPARSE, "is accepted over ports only%s", "");
    } else if (needs_ids(op) && op->n_ids == 0) {
        REFUSE_OP(rd, place, CS_EPARSE, "names no channel or semaphore%s", "");
    } else if (puts && (traits & (CS_MSCCLPP_PAIRS | CS_MSCCLPP_TO_PACKETS)) == 0) {
        REFUSE_OP(rd, place, CS_EPARSE, "is not accepted over ports%s", "");
    } else if (puts && (op->kind == CS_MSCCLPP_GET || op->n_ids != op->n_dst)) {
        REFUSE_OP(rd, place, CS_EPARSE, "has %u channels for %u buffers over ports", op->n_ids,
                  op->n_dst);
    }
    for (uint32_t i = 0; puts && i < op->n_dst && !cs_reading_failed(&rd->r); i++) {
        if (rd->plan->channels[op->ids[i]].peer != op->dst[i].gpu) {
            REFUSE_OP(rd, place, CS_EPARSE, "puts into a buffer of GPU %u over a channel to GPU %u",
                      op->dst[i].gpu, rd->plan->channels[op->ids[i]].peer);
        }
    }
}

static void read_group(reader *rd, const cs_place *place, cs_mscclpp_op *op)
{
    cs_place group = cs_place_get(place, "tbg_info");

    op->n_parts = 1;
    if (group.node == NULL) {
        return;
    }
    op->n_parts = number(rd, &group, "tbg_size", NEEDED, CS_MSCCLPP_MAX_PARTS);
    op->part    = number(rd, &group, "tb_id", NEEDED, CS_MSCCLPP_MAX_PARTS);
    if (!cs_reading_failed(&rd->r) && op->part >= op->n_parts) {
        REFUSE_OP(rd, &group, CS_EPARSE, "is number %u of a group of %u", op->part, op->n_parts);
    }
    if (!cs_reading_failed(&rd->r) && rd->inner != NONE) {
        REFUSE_OP(rd, &group, CS_ENOTSUP, "is of a group in a pipeline%s", "");
    }
}

static void read_kind(reader *rd, const cs_place *place, cs_mscclpp_op *op)
{
    static const char *const switches[] = {"glre", "glres", "gstore", "gstorepkt"};
    const char              *name       = word(rd, place, "name");

    rd->op_name = name;
    for (uint32_t i = 0; i < CS_MSCCLPP_OP_COUNT; i++) {
        if (strcmp(name, kinds[i].name) == 0) {
            op->kind    = (uint8_t)i;
            rd->op_name = kinds[i].name;
            return;
        }
    }
    for (size_t i = 0; i < sizeof switches / sizeof switches[0]; i++) {
        if (strcmp(name, switches[i]) == 0) {
            REFUSE_OP(rd, place, CS_ENOTSUP,
                      "adds up or spreads in a switch, which is not modelled%s", "");
        }
    }
    if (!cs_reading_failed(&rd->r)) {
        REFUSE_OP(rd, place, CS_ENOTSUP, "is not known%s", "");
    }
}

static void read_op(reader *rd, const cs_place *place, cs_mscclpp_op *op)
{
    uint32_t type = MEMORY;

    read_kind(rd, place, op);
    op->origin = rd->plan->n_origins;
    if (!cs_reading_failed(&rd->r)) {
        rd->plan->origins[rd->plan->n_origins++] =
            (cs_msccl_origin){rd->gpu, rd->block, rd->op, rd->inner, kinds[op->kind].name};
    }
    if (cs_place_has(place, "channel_type")) {
        type = channel_word(rd, place, "channel_type");
    }
    if (!cs_reading_failed(&rd->r) && type == SWITCH) {
        REFUSE_OP(rd, place, CS_ENOTSUP, "uses a switch, which is not modelled%s", "");
    }
    if (cs_reading_failed(&rd->r)) {
        return;
    }
    op->is_port = type == PORT;
    op->src     = read_ends(rd, place, "src_buff", op->is_port, kinds[op->kind].src, &op->n_src);
    op->dst     = read_ends(rd, place, "dst_buff", op->is_port, kinds[op->kind].dst, &op->n_dst);
    check_ends(rd, place, op);
    read_ids(rd, place, op);
    check_ids(rd, place, op);
    read_group(rd, place, op);
    op->message = number(rd, place, "message", 0, INT32_MAX - 1);
    op->round   = number(rd, place, "round", 0, INT32_MAX - 1);
    if (op->kind == CS_MSCCLPP_BARRIER) {
        op->barrier  = number(rd, place, "barrier_id", NEEDED, UINT16_MAX);
        op->n_blocks = number(rd, place, "num_threadblocks", NEEDED, CS_MSCCL_MAX_BLOCKS);
    }
}

/* A pipeline goes through so many chunks slice by slice, and so do its operations. */
static void read_pipeline(reader *rd, const cs_place *place, cs_mscclpp_op *op)
{
    cs_place       iterations = cs_place_get(place, "iter_context"), list;
    uint32_t       n          = number(rd, &iterations, "num_chunks", NEEDED, CS_MSCCL_MAX_CHUNKS);
    cs_mscclpp_op *inner;

    op->n_inner          = list_of(rd, place, "ops", CS_MSCCLPP_MAX_TIMES, &list);
    inner                = memory(rd, place, op->n_inner, sizeof *inner);
    op->inner            = inner;
    rd->plan->has_slices = true;
    for (rd->inner = 0; rd->inner < op->n_inner && !cs_reading_failed(&rd->r); rd->inner++) {
        cs_place       at = object_at(rd, &list, rd->inner, NULL);
        cs_mscclpp_op *o  = &inner[rd->inner];
        read_op(rd, &at, o);
        for (uint32_t i = 0; i < o->n_src && !cs_reading_failed(&rd->r); i++) {
            if (o->src[i].size != n) {
                REFUSE_OP(rd, &at, CS_ENOTSUP,
                          "moves %u chunks in a pipeline over %u, which is not modelled",
                          o->src[i].size, n);
            }
        }
        if (!cs_reading_failed(&rd->r) && o->kind == CS_MSCCLPP_PIPELINE) {
            REFUSE_OP(rd, &at, CS_EPARSE, "stands in a pipeline%s", "");
        }
    }
    rd->inner = NONE;
}

static void read_block(reader *rd, const cs_place *block, cs_mscclpp_block *b)
{
    cs_place list;

    read_block_names(rd, block);
    b->n_ops = list_of(rd, block, "ops", CS_MSCCLPP_MAX_TIMES, &list);
    b->ops   = memory(rd, block, b->n_ops, sizeof *b->ops);
    for (rd->op = 0; rd->op < b->n_ops && !cs_reading_failed(&rd->r); rd->op++) {
        cs_place place = object_at(rd, &list, rd->op, NULL);
        read_op(rd, &place, &b->ops[rd->op]);
        if (!cs_reading_failed(&rd->r) && b->ops[rd->op].kind == CS_MSCCLPP_PIPELINE) {
            read_pipeline(rd, &place, &b->ops[rd->op]);
        }
    }
}

static void read_gpu(reader *rd, const cs_place *gpu, uint32_t index)
{
    cs_mscclpp_gpu *g = &rd->plan->gpus[index];
    cs_place        list;

    rd->gpu   = index;
    rd->inner = NONE;
    read_semaphores(rd, gpu, index);
    read_remotes(rd, gpu);
    g->n_blocks = list_of(rd, gpu, "threadblocks", CS_MSCCL_MAX_BLOCKS, &list);
    g->blocks   = memory(rd, gpu, g->n_blocks, sizeof *g->blocks);
    for (rd->block = 0; rd->block < g->n_blocks && !cs_reading_failed(&rd->r); rd->block++) {
        cs_place block = object_at(rd, &list, rd->block, "id");
        read_block(rd, &block, &g->blocks[rd->block]);
    }
}

/* How many operations there may be: those of all lists called ops. */
static size_t count_ops(json_t *node, int depth)
{
    size_t  n = 0, i;
    json_t *item;

    if (json_is_object(node)) {
        const char *key;
        json_object_foreach(node, key, item)
        {
            n += strcmp(key, "ops") == 0 ? json_array_size(item) : 0;
            n += depth > 0 ? count_ops(item, depth - 1) : 0;
        }
        return n;
    }
    json_array_foreach(node, i, item)
    {
        n += depth > 0 ? count_ops(item, depth - 1) : 0;
    }
    return n;
}

static uint32_t common_multiple(uint32_t a, uint32_t b)
{
    uint32_t multiple = a;

    while (multiple % b != 0) {
        multiple += a;
    }
    return multiple;
}

/* Into how many parts chunks are cut, so that groups and slices have whole ones. */
static void find_split(reader *rd, const cs_place *gpus)
{
    cs_mscclpp_plan *plan = rd->plan;
    uint32_t         most = plan->n_inputs > plan->n_outputs ? plan->n_inputs : plan->n_outputs;

    plan->split = plan->has_slices ? CS_MSCCLPP_SLICES : 1;
    for (uint32_t g = 0; g < plan->n_gpus && !cs_reading_failed(&rd->r); g++) {
        most = plan->gpus[g].n_scratch > most ? plan->gpus[g].n_scratch : most;
        for (uint32_t b = 0; b < plan->gpus[g].n_blocks; b++) {
            const cs_mscclpp_block *block = &plan->gpus[g].blocks[b];
            for (uint32_t i = 0; i < block->n_ops && plan->split < CS_MSCCL_MAX_CHUNKS; i++) {
                plan->split = common_multiple(plan->split, block->ops[i].n_parts);
            }
        }
    }
    if (!cs_reading_failed(&rd->r) && (uint64_t)plan->split * most > CS_MSCCL_MAX_CHUNKS) {
        CS_REFUSE(
            &rd->r, gpus, CS_ENOTSUP,
            "%u chunks in %u parts each, for groups and pipelines, are too many: accepted are "
            "%d",
            most, plan->split, CS_MSCCL_MAX_CHUNKS);
    }
}

static void read_plan(reader *rd, const cs_place *root)
{
    cs_mscclpp_plan *plan = rd->plan;
    cs_place         gpus = cs_place_get(root, "gpus");

    read_head(rd, root);
    plan->origins =
        memory(rd, root, plan->n_gpus + count_ops(root->node, 8), sizeof *plan->origins);
    for (uint32_t i = 0; i < plan->n_gpus && !cs_reading_failed(&rd->r); i++) {
        cs_place gpu                     = object_at(rd, &gpus, i, "id");
        plan->origins[plan->n_origins++] = (cs_msccl_origin){.gpu = i};
        read_chunks(rd, &gpu, i);
    }
    complete_chunks(plan);
    check_chunks(rd, &gpus);
    read_channels(rd, &gpus);
    for (uint32_t i = 0; i < plan->n_gpus && !cs_reading_failed(&rd->r); i++) {
        cs_place gpu = cs_place_item(&gpus, i);
        read_gpu(rd, &gpu, i);
    }
    find_split(rd, &gpus);
}

cs_status cs_mscclpp_read(const char *text, size_t length, const char *input, cs_arena *arena,
                          cs_mscclpp_plan *plan, cs_error *err)
{
    reader rd = {.r = {.arena = arena}, .plan = plan, .op_name = ""};
    int    line, column;

    json_error_t problem = {.text = ""};

    *plan = (cs_mscclpp_plan){.split = 1};
    cs_tree_setup();
    json_t *tree =
        json_loadb(text, length, JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, &problem);
    if (tree == NULL) {
        return cs_tree_refuse(&problem, input, 0, err);
    }
    cs_place root = cs_place_root(tree);
    read_plan(&rd, &root);
    json_decref(tree);
    if (!cs_reading_failed(&rd.r)) {
        return CS_OK;
    }
    if (rd.r.error.status != CS_ENOMEM) {
        cs_locate(text, length, rd.r.error.where, false, &line, &column);
        cs_error_locate(&rd.r.error, input, line, column);
    }
    if (err != NULL && err->status == CS_OK) {
        *err = rd.r.error;
    }
    return rd.r.error.status;
}
