/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tests/support/chakra.h -- writes Chakra execution traces, apart from the library's reader, in
 * each of their forms. */
#ifndef CT_SUPPORT_CHAKRA_H
#define CT_SUPPORT_CHAKRA_H

#include "base/text.h"

#include <stdint.h>

enum { CT_MOST_DEPS = 8 };

/* Numbers of the schema. */
enum { CT_METADATA = 1, CT_MEMORY = 2, CT_COMPUTE = 4, CT_SEND = 5, CT_RECEIVE = 6, CT_CALL = 7 };
enum { CT_ALL_REDUCE = 0, CT_ALL_GATHER = 2, CT_GATHER = 3, CT_BROADCAST = 5, CT_BARRIER = 9 };

typedef struct ct_node {
    uint64_t    id;
    unsigned    type;
    uint64_t    us;
    uint64_t    deps[CT_MOST_DEPS]; /* data dependencies, ended by the first that is 0 */
    uint64_t    control;            /* a control dependency; 0: none */
    bool        on_cpu;
    unsigned    comm_type; /* of calls */
    uint64_t    bytes;     /* of calls and messages */
    const char *group;     /* NULL: not said */
    unsigned    peer, tag; /* of messages */
    const char *values;    /* of the inputs; NULL */
    bool        lacks_dim; /* involved_dim has a dimension that is off */
} ct_node;

typedef enum ct_form {
    CT_WIRE,    /* protobuf */
    CT_OBJECTS, /* messages as JSON, one behind the other */
    CT_GRAPH,   /* {"workload_graph": [..]} */
    CT_FORMS
} ct_form;

void ct_chakra_add(const ct_node *nodes, size_t n, ct_form form, cs_text *text);

/* The same with the text that it was made from, in the metadata; not CT_GRAPH, which has none. */
void ct_chakra_add_made_from(const char *source, const ct_node *nodes, size_t n, ct_form form,
                             cs_text *text);

/* The same into a file. */
void ct_chakra_write(const char *path, const ct_node *nodes, size_t n, ct_form form);

#endif
