/* SPDX-License-Identifier: GPL-3.0-or-later */
/* traces/chakra.h -- the nodes of a Chakra execution trace, one by one, in any of its forms:
 *
 *   protobuf   varint length, GlobalMetadata; then varint length, Node, until the end
 *   objects    the same messages as JSON, one behind the other (its jsonizer)
 *   graph      {"workload_graph": [{"Id", "Name", "NodeType", ..}]} (its feeder)
 *
 * Every field is optional, unknown ones are skipped, integers may have any width, in JSON also
 * quotes. Nothing is allocated but the lists of dependencies.
 */
#ifndef CS_TRACES_CHAKRA_H
#define CS_TRACES_CHAKRA_H

#include "cs/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Numbers of the schema. */
enum {
    CS_CHAKRA_INVALID,
    CS_CHAKRA_METADATA,
    CS_CHAKRA_MEM_LOAD,
    CS_CHAKRA_MEM_STORE,
    CS_CHAKRA_COMP,
    CS_CHAKRA_SEND,
    CS_CHAKRA_RECV,
    CS_CHAKRA_COLL,
    CS_CHAKRA_TYPES = 11
};

/* A piece of the file; not NUL-terminated. */
typedef struct cs_chakra_text {
    const char *text; /* NULL: not there */
    size_t      length;
} cs_chakra_text;

typedef struct cs_chakra_node {
    uint64_t        id;
    uint64_t        type;
    uint64_t        duration_us;
    const uint64_t *data, *control; /* dependencies; valid during the call */
    size_t          n_data, n_control;
    bool            is_cpu_op;
    bool            has_bytes, has_dst, has_src, has_ops; /* has_ops: num_ops > 0 */
    uint64_t        comm_type, bytes, tag, src, dst, root;
    uint32_t        n_dims, n_dims_off;  /* of involved_dim: how many there are, and are false */
    bool            is_odd;              /* a number of it is none, or does not fit */
    cs_chakra_text  name, group, values; /* `values` of its inputs, as they stand in the file */
    char            digits[24];          /* of a group that is a number: `group` points here */
    size_t          at;                  /* where in the file it begins */
} cs_chakra_node;

/* Told of every node in the order of the file. */
typedef struct cs_chakra_reader {
    cs_status (*node)(void *user, const cs_chakra_node *node, cs_error *err);
    void *user;
} cs_chakra_reader;

/* May it be one? Looks at the beginning: a text of this length may be cut off from a file. O(1). */
enum { CS_CHAKRA_HEAD_BYTES = 1 << 20 };
bool cs_chakra_is(const char *text, size_t length);

/* Read it all. CS_EPARSE where it is none, or ends inside a node. `name` is the file's in errors.
 */
CS_MUST_CHECK cs_status cs_chakra_read(const char *text, size_t length, const char *name,
                                       const cs_chakra_reader *reader, cs_error *err);

/* The text that the trace was made from, as its metadata have it (input_file): of a collective that
 * was written as a trace, its program for MSCCL. A copy with a NUL behind it, the caller's
 * (cs_free); NULL where there is none. */
CS_MUST_CHECK cs_status cs_chakra_source(const char *text, size_t length, char **source_p,
                                         size_t *length_p, cs_error *err);

#endif
