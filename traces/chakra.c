/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "traces/chakra.h"

#include "base/alloc.h"
#include "input/json_scan.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The dependencies of the node at hand. */
typedef struct id_list {
    uint64_t *ids; /* owned */
    size_t    n, capacity;
} id_list;

/* What the file is read with. */
typedef struct chakra {
    const cs_chakra_reader *reader;
    const char             *name;
    id_list                 data, control;
} chakra;

static cs_status add_id(id_list *list, uint64_t id, cs_error *err)
{
    if (list->n == list->capacity &&
        !cs_grow(&list->ids, &list->capacity, list->n + 1, 64, sizeof *list->ids)) {
        return CS_NO_MEMORY(err, "the dependencies of a node");
    }
    list->ids[list->n++] = id;
    return CS_OK;
}

static cs_status hand_out(chakra *c, cs_chakra_node *node, cs_error *err)
{
    node->data      = c->data.ids;
    node->n_data    = c->data.n;
    node->control   = c->control.ids;
    node->n_control = c->control.n;
    return c->reader->node(c->reader->user, node, err);
}

/* ---- attributes, whatever the file calls and writes them ---- */

typedef enum attribute {
    IS_CPU_OP,
    COMM_TYPE,
    BYTES,
    TAG,
    SRC,
    DST,
    ROOT,
    OPERATIONS,
    GROUP,
    DIMS,
    NONE
} attribute;

static attribute attribute_of(const char *name, size_t length)
{
    static const struct {
        const char *name;
        attribute   is;
    } names[] = {
        {"is_cpu_op", IS_CPU_OP}, {"comm_type", COMM_TYPE}, {"comm_size", BYTES},
        {"comm_tag", TAG},        {"comm_src", SRC},        {"comm_dst", DST},
        {"root", ROOT},           {"pg_name", GROUP},       {"comm_group", GROUP},
        {"involved_dim", DIMS},   {"num_ops", OPERATIONS},
    };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strlen(names[i].name) == length && memcmp(name, names[i].name, length) == 0) {
            return names[i].is;
        }
    }
    return NONE;
}

static void set_number(cs_chakra_node *node, attribute which, uint64_t value)
{
    switch (which) {
    case IS_CPU_OP: node->is_cpu_op = value != 0; break;
    case COMM_TYPE: node->comm_type = value; break;
    case BYTES:
        node->bytes     = value;
        node->has_bytes = true;
        break;
    case TAG: node->tag = value; break;
    case SRC:
        node->src     = value;
        node->has_src = true;
        break;
    case DST:
        node->dst     = value;
        node->has_dst = true;
        break;
    case ROOT: node->root = value; break;
    case OPERATIONS: node->has_ops = value > 0; break;
    case GROUP:
    case DIMS:
    case NONE: break;
    }
}

static cs_chakra_node blank(size_t at)
{
    return (cs_chakra_node){.root = UINT64_MAX, .at = at};
}

/* ---- protobuf ---- */

typedef struct wire {
    const unsigned char *at, *end;
    bool                 is_wrong;
} wire;

/* One field: its number, and a value or a piece. */
typedef struct field {
    uint32_t number;
    uint32_t type; /* 0: varint, 1: 8 bytes, 2: a piece, 5: 4 bytes */
    uint64_t value;
    wire     piece;
} field;

static uint64_t take_varint(wire *w)
{
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 64 && w->at < w->end; shift += 7) {
        unsigned char byte = *w->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            return value;
        }
    }
    w->is_wrong = true;
    return 0;
}

static uint64_t take_fixed(wire *w, size_t n)
{
    uint64_t value = 0;

    if ((size_t)(w->end - w->at) < n) {
        w->is_wrong = true;
        return 0;
    }
    for (size_t i = 0; i < n; i++) {
        value |= (uint64_t)w->at[i] << (8 * i);
    }
    w->at += n;
    return value;
}

/* A piece behind its length. */
static wire take_piece(wire *w)
{
    uint64_t length = take_varint(w);
    wire     piece  = {w->at, w->at, w->is_wrong};

    if (w->is_wrong || length > (uint64_t)(w->end - w->at)) {
        w->is_wrong = piece.is_wrong = true;
        return piece;
    }
    piece.end = w->at = w->at + length;
    return piece;
}

/* The next field; false at the end, and where something is wrong. */
static bool take_field(wire *w, field *f)
{
    if (w->is_wrong || w->at == w->end) {
        return false;
    }
    uint64_t key = take_varint(w);
    f->number    = (uint32_t)(key >> 3);
    f->type      = (uint32_t)(key & 7);
    f->value     = 0;
    switch (f->type) {
    case 0: f->value = take_varint(w); break;
    case 1: f->value = take_fixed(w, 8); break;
    case 2: f->piece = take_piece(w); break;
    case 5: f->value = take_fixed(w, 4); break;
    default: w->is_wrong = true;
    }
    return !w->is_wrong;
}

static cs_chakra_text text_of(const wire *piece)
{
    return (cs_chakra_text){(const char *)piece->at, (size_t)(piece->end - piece->at)};
}

/* Numbers, one by one or packed. */
static cs_status take_deps(id_list *list, field *f, wire *node, cs_error *err)
{
    if (f->type == 0) {
        return add_id(list, f->value, err);
    }
    while (f->type == 2 && f->piece.at < f->piece.end) {
        uint64_t id = take_varint(&f->piece);
        if (f->piece.is_wrong) {
            node->is_wrong = true;
            return CS_OK;
        }
        CS_TRY(add_id(list, id, err));
    }
    return CS_OK;
}

/* Fields of an attribute's value. */
enum { SINT32 = 15, SINT64 = 17, BOOL_LIST = 28, STRING = 29 };

static void take_dims(cs_chakra_node *node, wire list)
{
    field f;

    while (take_field(&list, &f)) {
        uint64_t one = f.value;
        if (f.number == 1 && f.type == 0) {
            node->n_dims++;
            node->n_dims_off += one == 0;
        }
        while (f.number == 1 && f.type == 2 && f.piece.at < f.piece.end && !f.piece.is_wrong) {
            one = take_varint(&f.piece);
            node->n_dims++;
            node->n_dims_off += one == 0;
        }
    }
}

/* False: it is damaged. */
static bool take_attribute(cs_chakra_node *node, wire piece)
{
    field     f;
    attribute which = NONE;

    while (take_field(&piece, &f)) {
        if (f.number == 1 && f.type == 2) {
            which = attribute_of((const char *)f.piece.at, (size_t)(f.piece.end - f.piece.at));
            if (which == NONE) {
                return true;
            }
        } else if (f.number == STRING && f.type == 2 && which == GROUP) {
            node->group = text_of(&f.piece);
        } else if (f.number == BOOL_LIST && f.type == 2 && which == DIMS) {
            take_dims(node, f.piece);
        } else if (f.type == 0 && which == GROUP) {
            (void)snprintf(node->digits, sizeof node->digits, "%llu", (unsigned long long)f.value);
            node->group = (cs_chakra_text){node->digits, strlen(node->digits)};
        } else if (f.type != 2) {
            bool     is_zigzag = f.number == SINT32 || f.number == SINT64;
            uint64_t value     = is_zigzag ? (f.value >> 1) ^ (0 - (f.value & 1)) : f.value;
            set_number(node, which, value);
        }
    }
    return !piece.is_wrong;
}

static cs_status take_node(chakra *c, wire *w, cs_chakra_node *node, cs_error *err)
{
    field f, inner;

    while (take_field(w, &f)) {
        switch (f.number) {
        case 1: node->id = f.value; break;
        case 2: node->name = f.type == 2 ? text_of(&f.piece) : node->name; break;
        case 3: node->type = f.value; break;
        case 4: CS_TRY(take_deps(&c->control, &f, w, err)); break;
        case 5: CS_TRY(take_deps(&c->data, &f, w, err)); break;
        case 7: node->duration_us = f.value; break;
        case 8:
            while (f.type == 2 && take_field(&f.piece, &inner)) {
                if (inner.number == 1 && inner.type == 2) {
                    node->values = text_of(&inner.piece);
                }
            }
            break;
        case 10:
            if (f.type == 2 && !take_attribute(node, f.piece)) {
                w->is_wrong = true;
            }
            break;
        default: break;
        }
    }
    return CS_OK;
}

static cs_status read_wire(chakra *c, const char *text, size_t length, cs_error *err)
{
    const unsigned char *from = (const unsigned char *)text;
    wire                 all  = {from, from + length, false};

    (void)take_piece(&all); /* GlobalMetadata */
    while (!all.is_wrong && all.at < all.end) {
        cs_chakra_node node  = blank((size_t)(all.at - from));
        wire           piece = take_piece(&all);
        c->data.n = c->control.n = 0;
        if (all.is_wrong) {
            return CS_FAIL(
                err, CS_EPARSE, c->name,
                "byte %zu: the file ends inside a node: it is cut off, or no Chakra trace",
                node.at);
        }
        CS_TRY(take_node(c, &piece, &node, err));
        if (piece.is_wrong) {
            return CS_FAIL(err, CS_EPARSE, c->name,
                           "byte %zu: not a node: accepted are Chakra execution traces in protobuf",
                           node.at);
        }
        CS_TRY(hand_out(c, &node, err));
    }
    return all.is_wrong ? CS_FAIL(err, CS_EPARSE, c->name, "byte 0: no Chakra execution trace")
                        : CS_OK;
}

/* ---- JSON ---- */

/* A whole number, with quotes or without. */
static bool scan_whole(cs_scan *s, uint64_t *value_p)
{
    int64_t      number;
    cs_scan_text text;
    char         digits[24];

    while (s->at < s->end &&
           (*s->at == ' ' || *s->at == '\t' || *s->at == '\n' || *s->at == '\r')) {
        s->at++;
    }
    if (s->at < s->end && *s->at == '"') {
        if (!cs_scan_string(s, &text) || text.length == 0 || text.length >= sizeof digits) {
            return false;
        }
        memcpy(digits, text.text, text.length);
        digits[text.length] = '\0';
        char *end;
        errno = 0;
        *value_p =
            digits[0] == '-' ? (uint64_t)strtoll(digits, &end, 10) : strtoull(digits, &end, 10);
        return *end == '\0' && errno == 0;
    }
    if (s->at < s->end && (*s->at == 't' || *s->at == 'f')) {
        bool is  = false;
        bool ok  = cs_scan_bool(s, &is);
        *value_p = is;
        return ok;
    }
    if (!cs_scan_integer(s, &number)) {
        return false;
    }
    *value_p = (uint64_t)number;
    return true;
}

static uint64_t named(cs_scan_text text, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (names[i] != NULL && cs_scan_is(text, names[i])) {
            return i;
        }
    }
    return n;
}

/* A number, or one of these names. */
static uint64_t scan_named(cs_scan *s, const char *const *names, size_t n)
{
    cs_scan      before = *s;
    cs_scan_text text;
    uint64_t     value = n;

    if (scan_whole(s, &value)) {
        return value;
    }
    cs_scan again = before;
    return cs_scan_string(&again, &text) ? named(text, names, n) : n;
}

static const char *const type_names[CS_CHAKRA_TYPES] = {
    "INVALID_NODE", "METADATA_NODE",  "MEM_LOAD_NODE",  "MEM_STORE_NODE",
    "COMP_NODE",    "COMM_SEND_NODE", "COMM_RECV_NODE", "COMM_COLL_NODE",
    "STORAGE_NODE", "BATCH_NODE",     "CHECKPOINT_NODE"};
static const char *const comm_names[] = {
    "ALL_REDUCE", "REDUCE",         "ALL_GATHER",           "GATHER", "SCATTER", "BROADCAST",
    "ALL_TO_ALL", "REDUCE_SCATTER", "REDUCE_SCATTER_BLOCK", "BARRIER"};

static cs_status scan_deps(id_list *list, cs_scan *s, bool *is_odd_p, cs_error *err)
{
    uint64_t id;

    if (!cs_scan_enter(s, '[')) {
        return CS_OK;
    }
    while (cs_scan_element(s)) {
        if (scan_whole(s, &id)) {
            CS_TRY(add_id(list, id, err));
        } else {
            *is_odd_p = true;
        }
    }
    return CS_OK;
}

static void scan_dims(cs_chakra_node *node, cs_scan *s)
{
    bool is = false;

    if (!cs_scan_enter(s, '[')) {
        return;
    }
    while (cs_scan_element(s)) {
        if (cs_scan_bool(s, &is)) {
            node->n_dims++;
            node->n_dims_off += !is;
        }
    }
}

/* The value of an attribute, wherever it stands. */
static void scan_value(cs_chakra_node *node, attribute which, cs_scan *s)
{
    cs_scan_text text;
    uint64_t     value;

    if (which == GROUP) {
        cs_scan before = *s;
        if (cs_scan_string(s, &text)) {
            node->group = (cs_chakra_text){text.text, text.length};
        } else { /* a number: its digits */
            while (before.at < s->at && (*before.at < '0' || *before.at > '9')) {
                before.at++;
            }
            size_t length = 0;
            while (before.at + length < s->at && before.at[length] >= '0' &&
                   before.at[length] <= '9') {
                length++;
            }
            node->group = (cs_chakra_text){before.at, length};
        }
    } else if (which == COMM_TYPE) {
        node->comm_type = scan_named(s, comm_names, sizeof comm_names / sizeof comm_names[0]);
    } else if (which == DIMS) {
        scan_dims(node, s);
    } else if (which == NONE) {
        cs_scan_skip(s);
    } else if (scan_whole(s, &value)) {
        set_number(node, which, value);
    } else {
        node->is_odd = true;
    }
}

/* {"name": "comm_size", "int64Val": "1048576"}, or with "value". The name comes first. */
static void scan_attribute(cs_chakra_node *node, cs_scan *s)
{
    cs_scan_text key, text;
    attribute    which = NONE;

    if (!cs_scan_enter(s, '{')) {
        return;
    }
    while (cs_scan_key(s, &key)) {
        if (cs_scan_is(key, "name")) {
            which = cs_scan_string(s, &text) ? attribute_of(text.text, text.length) : NONE;
        } else if (cs_scan_is(key, "boolList")) {
            cs_scan_text inner;
            if (cs_scan_enter(s, '{')) {
                while (cs_scan_key(s, &inner)) {
                    scan_value(node, cs_scan_is(inner, "values") ? which : NONE, s);
                }
            }
        } else {
            bool is_value = cs_scan_is(key, "value") ||
                            (key.length > 3 && memcmp(key.text + key.length - 3, "Val", 3) == 0);
            scan_value(node, is_value ? which : NONE, s);
        }
    }
}

static void scan_attributes(cs_chakra_node *node, cs_scan *s)
{
    if (cs_scan_enter(s, '[')) {
        while (cs_scan_element(s)) {
            scan_attribute(node, s);
        }
    }
}

static void scan_inputs(cs_chakra_node *node, cs_scan *s)
{
    cs_scan_text key, text;

    if (!cs_scan_enter(s, '{')) {
        return;
    }
    while (cs_scan_key(s, &key)) {
        if (cs_scan_is(key, "values") && cs_scan_string(s, &text)) {
            node->values = (cs_chakra_text){text.text, text.length};
        } else if (!cs_scan_is(key, "values")) {
            cs_scan_skip(s);
        }
    }
}

typedef enum node_key {
    ID,
    NAME,
    TYPE,
    DATA,
    CONTROL,
    DURATION,
    INPUTS,
    ATTRIBUTES,
    OTHER
} node_key;

static node_key key_of(cs_scan_text key)
{
    static const struct {
        const char *name;
        node_key    is;
    } keys[] = {
        {"id", ID},
        {"Id", ID},
        {"name", NAME},
        {"Name", NAME},
        {"type", TYPE},
        {"NodeType", TYPE},
        {"ctrl_deps", CONTROL},
        {"ctrlDeps", CONTROL},
        {"data_deps", DATA},
        {"dataDeps", DATA},
        {"runtime", DURATION},
        {"duration_micros", DURATION},
        {"durationMicros", DURATION},
        {"inputs", INPUTS},
        {"attr", ATTRIBUTES},
        {"attrs", ATTRIBUTES},
    };

    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        if (cs_scan_is(key, keys[i].name)) {
            return keys[i].is;
        }
    }
    return OTHER;
}

/* What stands behind the '{' of a node, after its first key. */
static cs_status scan_node(chakra *c, cs_scan *s, cs_scan_text key, cs_chakra_node *node,
                           cs_error *err)
{
    cs_scan_text text;

    c->data.n = c->control.n = 0;
    do {
        switch (key_of(key)) {
        case ID: node->is_odd |= !scan_whole(s, &node->id); break;
        case NAME:
            if (cs_scan_string(s, &text)) {
                node->name = (cs_chakra_text){text.text, text.length};
            }
            break;
        case TYPE: node->type = scan_named(s, type_names, CS_CHAKRA_TYPES); break;
        case DATA: CS_TRY(scan_deps(&c->data, s, &node->is_odd, err)); break;
        case CONTROL: CS_TRY(scan_deps(&c->control, s, &node->is_odd, err)); break;
        case DURATION: node->is_odd |= !scan_whole(s, &node->duration_us); break;
        case INPUTS: scan_inputs(node, s); break;
        case ATTRIBUTES: scan_attributes(node, s); break;
        case OTHER: scan_value(node, attribute_of(key.text, key.length), s); break;
        }
    } while (cs_scan_key(s, &key));
    return CS_OK;
}

static int line_of(const char *text, const char *at)
{
    int line = 1;

    for (const char *p = text; p < at && line < INT_MAX; p++) {
        line += *p == '\n';
    }
    return line;
}

static cs_status malformed(const chakra *c, const char *text, const cs_scan *s, cs_error *err)
{
    cs_status status = CS_FAIL(err, CS_EPARSE, "",
                               "not the JSON of a Chakra execution trace: "
                               "it is malformed here, or cut off");
    cs_error_locate(err, c->name, line_of(text, s->at), 0);
    return status;
}

/* The array of "workload_graph". */
static cs_status scan_graph(chakra *c, cs_scan *s, const char *text, cs_error *err)
{
    cs_scan_text key;

    if (!cs_scan_enter(s, '[')) {
        return CS_OK;
    }
    while (cs_scan_element(s)) {
        cs_chakra_node node = blank((size_t)(s->at - text));
        if (cs_scan_enter(s, '{') && cs_scan_key(s, &key)) {
            CS_TRY(scan_node(c, s, key, &node, err));
            CS_TRY(s->is_wrong ? malformed(c, text, s, err) : hand_out(c, &node, err));
        }
    }
    return CS_OK;
}

/* Every object of the file: metadata, a node, or the graph. */
static cs_status read_json(chakra *c, const char *text, size_t length, cs_error *err)
{
    cs_scan      s;
    cs_scan_text key;
    bool         is_first = true;

    cs_scan_begin(&s, text, length);
    while (!cs_scan_is_at_end(&s) && !s.is_wrong) {
        cs_chakra_node node = blank((size_t)(s.at - text));
        if (cs_scan_enter(&s, '{') && cs_scan_key(&s, &key)) {
            bool has_nodes = false;
            while (is_first && !s.is_wrong && (key_of(key) == OTHER || key_of(key) == ATTRIBUTES)) {
                if (cs_scan_is(key, "workload_graph")) {
                    CS_TRY(scan_graph(c, &s, text, err));
                } else {
                    cs_scan_skip(&s);
                }
                has_nodes = true;
                if (!cs_scan_key(&s, &key)) {
                    break;
                }
            }
            if (!has_nodes) {
                CS_TRY(scan_node(c, &s, key, &node, err));
                CS_TRY(s.is_wrong ? malformed(c, text, &s, err) : hand_out(c, &node, err));
            }
        }
        is_first = false;
    }
    return s.is_wrong ? malformed(c, text, &s, err) : CS_OK;
}

/* ---- both ---- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* GlobalMetadata is a version, attributes, or nothing, and a node begins behind it, with a name or
 * a type; unless the text may be cut off before that. */
static bool is_wire(const char *text, size_t length)
{
    const unsigned char *from   = (const unsigned char *)text;
    wire                 all    = {from, from + length, false};
    bool                 is_cut = length >= CS_CHAKRA_HEAD_BYTES;
    bool                 names  = false;
    wire                 ahead  = all;
    uint64_t             n_head = take_varint(&ahead);
    field                f;

    if (is_cut && !ahead.is_wrong && n_head > (uint64_t)(ahead.end - ahead.at)) {
        return ahead.at < ahead.end && (*ahead.at == 0x0a || *ahead.at == 0x12);
    }
    wire head = take_piece(&all);
    while (take_field(&head, &f)) {
        if (f.number > 2 || f.type != 2) {
            return false;
        }
    }
    if (all.is_wrong || head.is_wrong || all.at == all.end) {
        return false;
    }
    wire node = take_piece(&all);
    if (is_cut && all.is_wrong) {
        return head.at > from; /* metadata, and the beginning of something */
    }
    while (take_field(&node, &f)) {
        names = names || (f.number == 2 && f.type == 2) || (f.number == 3 && f.type == 0);
        if (f.number > 32) {
            return false;
        }
    }
    return names && !node.is_wrong;
}

/* Is the object that begins here a node, or has it the graph of all? Taken as far as needed. */
static bool tells(cs_scan *s)
{
    cs_scan_text key, value;

    if (!cs_scan_enter(s, '{')) {
        return false;
    }
    while (cs_scan_key(s, &key)) {
        bool is_type = cs_scan_is(key, "type");
        if (cs_scan_is(key, "workload_graph") || cs_scan_is(key, "ctrlDeps") ||
            cs_scan_is(key, "dataDeps")) {
            return true;
        }
        if (!is_type) {
            cs_scan_skip(s);
        } else if (cs_scan_string(s, &value) && value.length > 5 &&
                   memcmp(value.text + value.length - 5, "_NODE", 5) == 0) {
            return true;
        }
    }
    return false;
}

bool cs_chakra_is(const char *text, size_t length)
{
    cs_scan s;

    cs_scan_begin(&s, text, length);
    bool is_first = tells(&s);
    if (is_first || length < 3) {
        return is_first;
    }
    if (text[0] == '{' && !s.is_wrong) { /* it may have been the metadata */
        return tells(&s);
    }
    bool is_cut = length >= CS_CHAKRA_HEAD_BYTES;
    if (is_cut && text[0] == '{' && memchr(text, '"', 16) != NULL) {
        return strncmp((const char *)memchr(text, '"', 16), "\"version\"", 9) == 0;
    }
    return is_wire(text, length);
}

/* Is the text JSON? A '{' may also be the length of metadata, 123 bytes, behind which a field's key
 * stands. */
static bool is_json(const char *text, size_t length)
{
    size_t at = 0;

    while (at < length && is_blank(text[at])) {
        at++;
    }
    return at < length && text[at] == '{' && (at > 0 || !is_wire(text, length));
}

/* ---- where it comes from ---- */

#define SOURCE "input_file"

/* The value of the attribute in the metadata, as it stands there. */
static cs_chakra_text wire_source(const char *text, size_t length)
{
    const unsigned char *from   = (const unsigned char *)text;
    wire                 all    = {from, from + length, false};
    wire                 head   = take_piece(&all);
    cs_chakra_text       source = {0};
    field                f, inner;

    while (take_field(&head, &f)) {
        bool is_source = false;
        while (f.number == 2 && f.type == 2 && take_field(&f.piece, &inner)) {
            cs_chakra_text value = inner.type == 2 ? text_of(&inner.piece) : (cs_chakra_text){0};
            if (inner.number == 1) {
                is_source =
                    value.length == strlen(SOURCE) && memcmp(value.text, SOURCE, value.length) == 0;
            } else if (inner.number == STRING && is_source) {
                source = value;
            }
        }
    }
    return source;
}

/* The same in JSON, with its escapes. */
static cs_chakra_text json_source(const char *text, size_t length)
{
    cs_chakra_text source = {0};
    cs_scan_text   key, value;
    cs_scan        s;

    cs_scan_begin(&s, text, length);
    if (!cs_scan_enter(&s, '{')) {
        return source;
    }
    while (cs_scan_key(&s, &key)) {
        if (!cs_scan_is(key, "attr") || !cs_scan_enter(&s, '[')) {
            if (!cs_scan_is(key, "attr")) {
                cs_scan_skip(&s);
            }
            continue;
        }
        while (cs_scan_element(&s)) {
            bool is_source = false;
            if (!cs_scan_enter(&s, '{')) {
                continue;
            }
            while (cs_scan_key(&s, &key)) {
                if (!cs_scan_string(&s, &value)) {
                    continue;
                }
                if (cs_scan_is(key, "name")) {
                    is_source = cs_scan_is(value, SOURCE);
                } else if (is_source && cs_scan_is(key, "stringVal")) {
                    source = (cs_chakra_text){value.text, value.length};
                }
            }
        }
    }
    return source;
}

/* A copy of a text as it stands in JSON, without its escapes. */
static char *unescaped(cs_chakra_text text, size_t *length_p)
{
    json_t *string = json_loadb(text.text - 1, text.length + 2, JSON_DECODE_ANY, NULL);
    char   *copy   = string != NULL ? cs_strdup(json_string_value(string)) : NULL;

    *length_p = copy != NULL ? strlen(copy) : 0;
    json_decref(string);
    return copy;
}

cs_status cs_chakra_source(const char *text, size_t length, char **source_p, size_t *length_p,
                           cs_error *err)
{
    bool           escaped = is_json(text, length);
    cs_chakra_text source  = escaped ? json_source(text, length) : wire_source(text, length);

    *source_p = NULL;
    *length_p = source.length;
    if (source.text == NULL) {
        return CS_OK;
    }
    if (escaped) {
        *source_p = unescaped(source, length_p);
    } else {
        *source_p = cs_calloc(source.length + 1, 1);
        if (*source_p != NULL) {
            memcpy(*source_p, source.text, source.length);
        }
    }
    if (*source_p == NULL && escaped) {
        return CS_FAIL(err, CS_EPARSE, "", "input_file is no text");
    }
    return *source_p != NULL ? CS_OK : CS_NO_MEMORY(err, "the source of a trace");
}

/* ---- all of it ---- */

cs_status cs_chakra_read(const char *text, size_t length, const char *name,
                         const cs_chakra_reader *reader, cs_error *err)
{
    chakra    c = {.reader = reader, .name = name};
    cs_status status =
        is_json(text, length) ? read_json(&c, text, length, err) : read_wire(&c, text, length, err);

    cs_free(c.data.ids);
    cs_free(c.control.ids);
    return status;
}
