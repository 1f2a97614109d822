/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Histories of faults: see traces/fault_history.h. Nodes and types are found by hash tables of
 * their words, open faults by node and type, each a queue, the first one first. */
#include "traces/fault_history.h"

#include "base/alloc.h"
#include "base/random.h"
#include "input/gzip.h"
#include "input/locate.h"
#include "input/reader.h"

#include <math.h>
#include <string.h>

#define S_PER_DAY  86400.0
#define MAX_DAYS   1e6
#define MAX_EVENTS 4000000
#define NONE       UINT32_MAX

/* ---- keys ---- */

typedef struct event_keys {
    const char   *node;
    double        days;
    int           is_end;
    cs_fault_type type;
} event_keys;

/* clang-format off */
static const cs_field type_fields[] = {
    CS_KEY(cs_fault_type, level, "Level", .help = "of the fault: hardware, software"),
    CS_KEY(cs_fault_type, class_name, "Class", .help = "what failed"),
    CS_KEY(cs_fault_type, description, "Desc", .help = "how"),
    CS_FIELD_END,
};
static const cs_field event_fields[] = {
    CS_KEY(event_keys, node, "node_id", .is_required = true, .help = "the server"),
    CS_KEY(event_keys, days, "event_time", .max = MAX_DAYS, .is_required = true, .help = "days from the begin of the history"),
    CS_KEY(event_keys, is_end, "event_type", .choices = "fault_start|fault_end", .is_required = true,
           .help = "does a fault begin or end?"),
    CS_FIELD_END,
};
/* clang-format on */

/* ---- words ---- */

/* Numbers of things by the hash of their words. */
typedef struct word_index {
    uint32_t *slots; /* NONE: free */
    size_t    n, room;
} word_index;

static bool make_room(word_index *index, const uint64_t *hashes)
{
    size_t room = index->room > 0 ? 2 * index->room : 64;

    if (2 * index->n < index->room) {
        return true;
    }
    uint32_t *slots = CS_NEW(uint32_t, room);
    if (slots == NULL) {
        return false;
    }
    memset(slots, 0xff, room * sizeof *slots);
    for (uint32_t i = 0; i < index->n; i++) {
        size_t at = cs_mix64(hashes[i]) & (room - 1);
        while (slots[at] != NONE) {
            at = (at + 1) & (room - 1);
        }
        slots[at] = i;
    }
    cs_free(index->slots);
    index->slots = slots;
    index->room  = room;
    return true;
}

/* ---- what has been read so far ---- */

/* The open faults of a node and type. */
typedef struct open_queue {
    uint32_t node, type;
    uint32_t first, last; /* NONE: there is none */
} open_queue;

typedef struct builder {
    cs_fault_history history; /* its lists are on the heap until they are complete */
    size_t           room_nodes, room_types, room_faults;
    uint64_t        *node_hashes, *type_hashes;
    size_t           room_node_hashes, room_type_hashes;
    word_index       by_node, by_type, by_queue;
    open_queue      *queues; /* [by_queue.n] */
    uint64_t        *queue_hashes;
    size_t           room_queues, room_queue_hashes;
    uint32_t        *next; /* [n] the fault behind it in its queue; NONE */
    size_t           room_next;
} builder;

static void builder_free(builder *b)
{
    cs_free(b->node_hashes);
    cs_free(b->type_hashes);
    cs_free(b->by_node.slots);
    cs_free(b->by_type.slots);
    cs_free(b->by_queue.slots);
    cs_free(b->queues);
    cs_free(b->queue_hashes);
    cs_free(b->next);
}

static bool add_node(builder *b, const char *name, uint64_t hash)
{
    cs_fault_history *h = &b->history;
    size_t            n = h->n_nodes;

    if (!cs_grow(&h->nodes, &b->room_nodes, n + 1, 64, sizeof *h->nodes) ||
        !cs_grow(&b->node_hashes, &b->room_node_hashes, n + 1, 64, sizeof *b->node_hashes)) {
        return false;
    }
    h->nodes[n]       = name;
    b->node_hashes[n] = hash;
    h->n_nodes++;
    return true;
}

/* The number of a node, which may be new; NONE: out of memory. */
static uint32_t node_of(builder *b, const char *name)
{
    uint64_t hash = cs_hash_text(name);

    if (!make_room(&b->by_node, b->node_hashes)) {
        return NONE;
    }
    size_t at = cs_mix64(hash) & (b->by_node.room - 1);
    for (; b->by_node.slots[at] != NONE; at = (at + 1) & (b->by_node.room - 1)) {
        if (strcmp(b->history.nodes[b->by_node.slots[at]], name) == 0) {
            return b->by_node.slots[at];
        }
    }
    if (!add_node(b, name, hash)) {
        return NONE;
    }
    b->by_node.slots[at] = (uint32_t)b->by_node.n++;
    return b->by_node.slots[at];
}

static bool is_same_type(const cs_fault_type *a, const cs_fault_type *b)
{
    return strcmp(a->level, b->level) == 0 && strcmp(a->class_name, b->class_name) == 0 &&
           strcmp(a->description, b->description) == 0;
}

static uint32_t type_of(builder *b, const cs_fault_type *type)
{
    cs_fault_history *h    = &b->history;
    uint64_t          hash = cs_mix64(cs_hash_text(type->level)) ^
                    cs_mix64(cs_hash_text(type->class_name) + 1) ^ cs_hash_text(type->description);

    if (!make_room(&b->by_type, b->type_hashes)) {
        return NONE;
    }
    size_t at = cs_mix64(hash) & (b->by_type.room - 1);
    for (; b->by_type.slots[at] != NONE; at = (at + 1) & (b->by_type.room - 1)) {
        if (is_same_type(&h->types[b->by_type.slots[at]], type)) {
            return b->by_type.slots[at];
        }
    }
    if (!cs_grow(&h->types, &b->room_types, h->n_types + 1, 16, sizeof *h->types) ||
        !cs_grow(&b->type_hashes, &b->room_type_hashes, h->n_types + 1, 16,
                 sizeof *b->type_hashes)) {
        return NONE;
    }
    h->types[h->n_types]         = *type;
    b->type_hashes[h->n_types++] = hash;
    b->by_type.slots[at]         = (uint32_t)b->by_type.n++;
    return b->by_type.slots[at];
}

/* ---- events ---- */

/* The queue of a node and type, which may be new; NULL: out of memory. */
static open_queue *queue_of(builder *b, uint32_t node, uint32_t type)
{
    uint64_t hash = (uint64_t)node << 32 | type;
    size_t   n    = b->by_queue.n;

    if (!make_room(&b->by_queue, b->queue_hashes)) {
        return NULL;
    }
    size_t at = cs_mix64(hash) & (b->by_queue.room - 1);
    for (; b->by_queue.slots[at] != NONE; at = (at + 1) & (b->by_queue.room - 1)) {
        if (b->queue_hashes[b->by_queue.slots[at]] == hash) {
            return &b->queues[b->by_queue.slots[at]];
        }
    }
    if (!cs_grow(&b->queues, &b->room_queues, n + 1, 64, sizeof *b->queues) ||
        !cs_grow(&b->queue_hashes, &b->room_queue_hashes, n + 1, 64, sizeof *b->queue_hashes)) {
        return NULL;
    }
    b->queues[n]          = (open_queue){node, type, NONE, NONE};
    b->queue_hashes[n]    = hash;
    b->by_queue.slots[at] = (uint32_t)b->by_queue.n++;
    return &b->queues[n];
}

static bool begin_fault(builder *b, open_queue *queue, double time_s)
{
    cs_fault_history *h     = &b->history;
    uint32_t          fault = (uint32_t)h->n;

    if (!cs_grow(&h->faults, &b->room_faults, h->n + 1, 256, sizeof *h->faults) ||
        !cs_grow(&b->next, &b->room_next, h->n + 1, 256, sizeof *b->next)) {
        return false;
    }
    h->faults[fault] = (cs_fault_record){time_s, (double)INFINITY, queue->node, queue->type};
    b->next[fault]   = NONE;
    if (queue->first == NONE) {
        queue->first = fault;
    } else {
        b->next[queue->last] = fault;
    }
    queue->last = fault;
    h->n++;
    return true;
}

/* Close the first open fault; false: there is none. */
static bool end_fault(builder *b, open_queue *queue, double time_s)
{
    if (queue->first == NONE) {
        return false;
    }
    b->history.faults[queue->first].until_s = time_s;
    queue->first                            = b->next[queue->first];
    return true;
}

/* The keys of an event that it knows; others are skipped. */
static void read_event(cs_reading *r, const cs_place *item, event_keys *keys)
{
    *keys = (event_keys){.type = {"", "", ""}};
    if (!json_is_object(item->node)) {
        cs_refuse_kind(r, item, "an object with node_id, event_time and event_type");
        return;
    }
    for (const cs_field *row = event_fields; row->name != NULL && !cs_reading_failed(r); row++) {
        cs_read_required(r, item, row->name);
        cs_read_key(r, item, event_fields, row->name, keys);
    }
    cs_place type = cs_place_get(item, "fault_type");
    if (type.node != NULL && !json_is_object(type.node)) {
        cs_refuse_kind(r, &type, "an object with Level, Class and Desc");
    }
    for (const cs_field *row = type_fields; row->name != NULL && type.node != NULL; row++) {
        cs_read_key(r, &type, type_fields, row->name, &keys->type);
    }
}

static void add_event(cs_reading *r, const cs_place *item, const event_keys *keys, builder *b)
{
    double   time_s = keys->days * S_PER_DAY;
    cs_place time   = cs_place_get(item, "event_time");

    if (time_s < b->history.end_s) {
        CS_REFUSE(r, &time, CS_EINVAL, "%.15g days is before the event before it, %.15g",
                  keys->days, b->history.end_s / S_PER_DAY);
        return;
    }
    b->history.end_s = time_s;
    uint32_t    node = node_of(b, keys->node), type = node != NONE ? type_of(b, &keys->type) : NONE;
    open_queue *queue = type != NONE ? queue_of(b, node, type) : NULL;
    if (queue == NULL) {
        CS_REFUSE_MEMORY(r, item, "a history of faults");
    } else if (keys->is_end && !end_fault(b, queue, time_s)) {
        CS_REFUSE(r, item, CS_EINVAL,
                  "ends a fault of node '%.60s' (%.60s, %.60s) that has not begun", keys->node,
                  keys->type.class_name, keys->type.description);
    } else if (!keys->is_end && !begin_fault(b, queue, time_s)) {
        CS_REFUSE_MEMORY(r, item, "a history of faults");
    }
}

static void read_events(cs_reading *r, json_t *tree, builder *b)
{
    cs_place   root = cs_place_root(tree);
    size_t     n    = cs_read_elements(r, &root);
    event_keys keys;

    if (n > MAX_EVENTS) {
        CS_REFUSE(r, &root, CS_EINVAL, "%zu events: accepted are up to %d", n, MAX_EVENTS);
    }
    for (size_t i = 0; i < n && !cs_reading_failed(r); i++) {
        cs_place item = cs_place_item(&root, i);
        read_event(r, &item, &keys);
        if (!cs_reading_failed(r)) {
            add_event(r, &item, &keys, b);
        }
    }
    if (!cs_reading_failed(r) && b->history.n == 0) {
        CS_REFUSE(r, &root, CS_EINVAL, "has no fault: accepted is an array of events");
    }
}

/* Copy a list into the arena, and free it. */
static bool keep(cs_arena *arena, void *list_p, size_t n, size_t size)
{
    void *list, *kept = cs_arena_alloc(arena, n > 0 ? n : 1, size);

    memcpy(&list, list_p, sizeof list);
    if (kept != NULL && n > 0) {
        memcpy(kept, list, n * size);
    }
    cs_free(list);
    memcpy(list_p, &kept, sizeof kept);
    return kept != NULL;
}

static bool keep_lists(cs_fault_history *h)
{
    bool has_nodes  = keep(&h->arena, &h->nodes, h->n_nodes, sizeof *h->nodes);
    bool has_types  = keep(&h->arena, &h->types, h->n_types, sizeof *h->types);
    bool has_faults = keep(&h->arena, &h->faults, h->n, sizeof *h->faults);

    return has_nodes && has_types && has_faults;
}

static cs_status read_tree(json_t *tree, const char *text, size_t length, const char *name,
                           cs_fault_history *history_p, cs_error *err)
{
    builder    b       = {.history = {.end_s = 0}};
    cs_reading reading = {.arena = &b.history.arena};
    int        line = 0, column = 0;

    read_events(&reading, tree, &b);
    bool is_kept = keep_lists(&b.history);
    builder_free(&b);
    if (!cs_reading_failed(&reading) && !is_kept) {
        (void)CS_NO_MEMORY(&reading.error, "a history of faults");
    }
    if (!cs_reading_failed(&reading)) {
        *history_p = b.history;
        return CS_OK;
    }
    cs_fault_history_free(&b.history);
    if (reading.error.status != CS_ENOMEM) {
        cs_locate(text, length, reading.error.where, reading.key_is_wrong, &line, &column);
        cs_error_locate(&reading.error, name, line, column);
    }
    if (err != NULL && err->status == CS_OK) {
        *err = reading.error;
    }
    return reading.error.status;
}

cs_status cs_fault_history_parse(const char *text, size_t length, const char *name,
                                 cs_fault_history *history_p, cs_error *err)
{
    json_t *tree = NULL;

    CS_TRY(cs_tree_parse_array(text, length, name, &tree, err));
    cs_status status = read_tree(tree, text, length, name, history_p, err);
    json_decref(tree);
    return status;
}

cs_status cs_fault_history_load(const char *path, cs_fault_history *history_p, cs_error *err)
{
    char  *data   = NULL;
    size_t length = 0;

    CS_TRY(cs_gzip_read(path, CS_FAULT_HISTORY_MAX_BYTES, &data, &length, err));
    cs_status status = cs_fault_history_parse(data, length, path, history_p, err);
    cs_free(data);
    return status;
}

void cs_fault_history_free(cs_fault_history *history)
{
    cs_arena_free(&history->arena);
    *history = (cs_fault_history){.n = 0};
}
