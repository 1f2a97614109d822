/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "support/chakra.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

/* ---- protobuf ---- */

static void add_varint(cs_text *text, uint64_t value)
{
    for (; value >= 0x80; value >>= 7) {
        char byte = (char)((value & 0x7f) | 0x80);
        cs_text_add_bytes(text, &byte, 1);
    }
    char last = (char)value;
    cs_text_add_bytes(text, &last, 1);
}

static void add_number(cs_text *text, unsigned field, uint64_t value)
{
    add_varint(text, (uint64_t)field << 3);
    add_varint(text, value);
}

static void add_piece(cs_text *text, unsigned field, const char *bytes, size_t length)
{
    add_varint(text, (uint64_t)field << 3 | 2);
    add_varint(text, length);
    cs_text_add_bytes(text, bytes, length);
}

/* Numbers of different widths: the reader takes any. */
enum { INT32 = 7, INT64 = 9, UINT64 = 13, BOOL = 27, BOOL_LIST = 28, STRING = 29 };

static void add_attribute(cs_text *node, const char *name, unsigned field, uint64_t value,
                          const char *word)
{
    cs_text text = {0};

    add_piece(&text, 1, name, strlen(name));
    if (word != NULL) {
        add_piece(&text, field, word, strlen(word));
    } else {
        add_number(&text, field, value);
    }
    add_piece(node, 10, text.data, text.length);
    cs_text_free(&text);
}

static void add_attributes(cs_text *text, const ct_node *n)
{
    add_attribute(text, "is_cpu_op", BOOL, n->on_cpu, NULL);
    add_attribute(text, "tid", INT32, 7, NULL);
    if (n->type == CT_CALL) {
        add_attribute(text, "comm_type", INT64, n->comm_type, NULL);
    }
    if (n->bytes > 0) {
        add_attribute(text, "comm_size", n->bytes % 2 == 0 ? INT64 : UINT64, n->bytes, NULL);
    }
    if (n->type == CT_SEND || n->type == CT_RECEIVE) {
        add_attribute(text, n->type == CT_SEND ? "comm_dst" : "comm_src", INT32, n->peer, NULL);
        add_attribute(text, "comm_tag", INT32, n->tag, NULL);
    }
    if (n->group != NULL) {
        add_attribute(text, "pg_name", STRING, 0, n->group);
    }
    if (n->lacks_dim) {
        cs_text dims = {0}, attribute = {0};
        add_number(&dims, 1, 1);
        add_number(&dims, 1, 0);
        add_piece(&attribute, 1, "involved_dim", strlen("involved_dim"));
        add_piece(&attribute, BOOL_LIST, dims.data, dims.length);
        add_piece(text, 10, attribute.data, attribute.length);
        cs_text_free(&dims);
        cs_text_free(&attribute);
    }
}

static void add_wire_node(cs_text *all, const ct_node *n)
{
    cs_text text = {0}, piece = {0};

    add_number(&text, 1, n->id);
    add_piece(&text, 2, "a node", 6);
    add_number(&text, 3, n->type);
    if (n->control != 0) {
        add_number(&text, 4, n->control);
    }
    for (size_t i = 0; i < CT_MOST_DEPS && n->deps[i] != 0; i++) {
        add_varint(&piece, n->deps[i]);
    }
    if (piece.length > 0) {
        add_piece(&text, 5, piece.data, piece.length);
        piece.length = 0;
    }
    add_number(&text, 7, n->us);
    if (n->values != NULL) {
        add_piece(&piece, 1, n->values, strlen(n->values));
        add_piece(&text, 8, piece.data, piece.length);
    }
    add_attributes(&text, n);
    add_varint(all, text.length);
    cs_text_add_bytes(all, text.data, text.length);
    cs_text_free(&text);
    cs_text_free(&piece);
}

static void add_wire(cs_text *all, const char *source, const ct_node *nodes, size_t n)
{
    cs_text head = {0}, attribute = {0};

    add_piece(&head, 1, "1.0", 3);
    if (source != NULL) {
        add_piece(&attribute, 1, "schema", 6);
        add_piece(&head, 2, attribute.data, attribute.length);
        attribute.length = 0;
        add_piece(&attribute, 1, "input_file", 10);
        add_piece(&attribute, STRING, source, strlen(source));
        add_piece(&head, 2, attribute.data, attribute.length);
        cs_text_free(&attribute);
    }
    add_varint(all, head.length);
    cs_text_add_bytes(all, head.data, head.length);
    for (size_t i = 0; i < n; i++) {
        add_wire_node(all, &nodes[i]);
    }
    cs_text_free(&head);
}

/* ---- JSON ---- */

static void add_deps(cs_text *text, const char *key, const uint64_t *deps, size_t most,
                     const char *quote)
{
    cs_text_add(text, ", \"%s\": [", key);
    for (size_t i = 0; i < most && deps[i] != 0; i++) {
        cs_text_add(text, "%s%s%llu%s", i > 0 ? ", " : "", quote, (unsigned long long)deps[i],
                    quote);
    }
    cs_text_add(text, "]");
}

static void add_object(cs_text *text, const ct_node *n)
{
    static const char *const types[] = {"INVALID_NODE",   "METADATA_NODE", "MEM_LOAD_NODE",
                                        "MEM_STORE_NODE", "COMP_NODE",     "COMM_SEND_NODE",
                                        "COMM_RECV_NODE", "COMM_COLL_NODE"};

    cs_text_add(text, "{\"id\": \"%llu\", \"name\": \"a node\", \"type\": \"%s\"",
                (unsigned long long)n->id, types[n->type]);
    if (n->control != 0) {
        add_deps(text, "ctrlDeps", &n->control, 1, "\"");
    }
    add_deps(text, "dataDeps", n->deps, CT_MOST_DEPS, "\"");
    cs_text_add(text, ", \"durationMicros\": \"%llu\"", (unsigned long long)n->us);
    if (n->values != NULL) {
        cs_text_add(text, ", \"inputs\": {\"values\": ");
        cs_text_add_json_string(text, n->values);
        cs_text_add(text, "}");
    }
    cs_text_add(text, ", \"attr\": [{\"name\": \"is_cpu_op\", \"boolVal\": %s}",
                n->on_cpu ? "true" : "false");
    if (n->type == CT_CALL) {
        cs_text_add(text, ", {\"name\": \"comm_type\", \"int64Val\": \"%u\"}", n->comm_type);
    }
    if (n->bytes > 0) {
        cs_text_add(text, ", {\"name\": \"comm_size\", \"int64Val\": \"%llu\"}",
                    (unsigned long long)n->bytes);
    }
    if (n->type == CT_SEND || n->type == CT_RECEIVE) {
        cs_text_add(text,
                    ", {\"name\": \"%s\", \"int32Val\": %u}, "
                    "{\"name\": \"comm_tag\", \"int32Val\": %u}",
                    n->type == CT_SEND ? "comm_dst" : "comm_src", n->peer, n->tag);
    }
    if (n->group != NULL) {
        cs_text_add(text, ", {\"name\": \"pg_name\", \"stringVal\": \"%s\"}", n->group);
    }
    if (n->lacks_dim) {
        cs_text_add(text, ", {\"name\": \"involved_dim\", \"boolList\": "
                          "{\"values\": [true, false]}}");
    }
    cs_text_add(text, "]}\n");
}

static void add_graph_node(cs_text *text, const ct_node *n)
{
    cs_text_add(text, "{\"Id\": %llu, \"Name\": \"a node\", \"NodeType\": %u",
                (unsigned long long)n->id, n->type);
    if (n->control != 0) {
        add_deps(text, "ctrlDeps", &n->control, 1, "");
    }
    add_deps(text, "data_deps", n->deps, CT_MOST_DEPS, "");
    cs_text_add(text, ", \"runtime\": %llu, \"is_cpu_op\": %s", (unsigned long long)n->us,
                n->on_cpu ? "true" : "false");
    if (n->type == CT_CALL) {
        cs_text_add(text, ", \"comm_type\": %u", n->comm_type);
    }
    if (n->bytes > 0) {
        cs_text_add(text, ", \"comm_size\": %llu", (unsigned long long)n->bytes);
    }
    if (n->type == CT_SEND || n->type == CT_RECEIVE) {
        cs_text_add(text, ", \"%s\": %u, \"comm_tag\": %u",
                    n->type == CT_SEND ? "comm_dst" : "comm_src", n->peer, n->tag);
    }
    if (n->group != NULL) {
        cs_text_add(text, ", \"pg_name\": \"%s\"", n->group);
    }
    if (n->values != NULL) {
        cs_text_add(text, ", \"inputs\": {\"values\": ");
        cs_text_add_json_string(text, n->values);
        cs_text_add(text, "}");
    }
    if (n->lacks_dim) {
        cs_text_add(text, ", \"involved_dim\": [true, false]");
    }
    cs_text_add(text, "}");
}

void ct_chakra_add_made_from(const char *source, const ct_node *nodes, size_t n, ct_form form,
                             cs_text *text)
{
    if (form == CT_WIRE) {
        add_wire(text, source, nodes, n);
        return;
    }
    if (form == CT_GRAPH) {
        cs_text_add(text, "{\"workload_name\": \"w\", \"workload_graph\": [");
    } else {
        cs_text_add(text, "{\"version\": \"1.0\", \"attr\": [");
        if (source != NULL) {
            cs_text_add(text, "{\"name\": \"schema\", \"stringVal\": \"1\"}, {\"name\": "
                              "\"input_file\", \"stringVal\": ");
            cs_text_add_json_string(text, source);
            cs_text_add(text, "}");
        }
        cs_text_add(text, "]}\n");
    }
    for (size_t i = 0; i < n; i++) {
        if (form == CT_OBJECTS) {
            add_object(text, &nodes[i]);
        } else {
            cs_text_add(text, "%s", i > 0 ? ",\n" : "");
            add_graph_node(text, &nodes[i]);
        }
    }
    cs_text_add(text, form == CT_GRAPH ? "], \"ngpus\": 8}\n" : "\n");
}

void ct_chakra_add(const ct_node *nodes, size_t n, ct_form form, cs_text *text)
{
    ct_chakra_add_made_from(NULL, nodes, n, form, text);
}

void ct_chakra_write(const char *path, const ct_node *nodes, size_t n, ct_form form)
{
    cs_text text = {0};

    ct_chakra_add(nodes, n, form, &text);
    FILE *file = fopen(path, "wb");
    cr_assert(file != NULL && !text.failed);
    cr_assert_eq(fwrite(text.data, 1, text.length, file), text.length);
    cr_assert_eq(fclose(file), 0);
    cs_text_free(&text);
}
