/* SPDX-License-Identifier: GPL-3.0-or-later */
/* topology/infragraph.h -- InfraGraph's infrastructures: devices made of components, instances of
 * devices, edges between them.
 *
 * Read in three steps: what the file says (infragraph_keys.c) as graphs of components
 * (infragraph_expand.c), the graph of a device as a machine (infragraph_server.c), and the servers
 * with the switches between them as a site (infragraph.c). infragraph_write.c goes the other way.
 */
#ifndef CS_TOPOLOGY_INFRAGRAPH_H
#define CS_TOPOLOGY_INFRAGRAPH_H

#include "base/text.h"
#include "input/reader.h"
#include "topology/machine_build.h"

/* Does a JSON object, or do the first lines of a text, begin like an infrastructure? */
bool cs_is_infragraph(const json_t *object);
bool cs_begins_infragraph(const char *text);

/* Read the servers and the network of a file; refusals are the reading's, with the path of the
 * value. What the site points to is the reading's arena's. */
void cs_infragraph_read(cs_reading *r, const cs_place *root, cs_site *site);

/* Write the first `n_servers` servers of a site and what joins them, as YAML or JSON, so that they
 * read back as the same. CS_ENOTSUP: a part has no place in the format, and which. */
cs_status cs_infragraph_write(const cs_site *site, uint32_t n_servers, bool as_json, cs_text *out,
                              cs_error *err);

/* ---- between the steps ---- */

typedef enum cs_ig_kind { CS_IG_XPU, CS_IG_NIC, CS_IG_CPU, CS_IG_SWITCH, CS_IG_OTHER } cs_ig_kind;

/* A kind of link, which edges name. */
typedef struct cs_ig_link {
    const char *name;
    uint32_t    number;    /* unique in the file */
    double      rate_Bps;  /* 0: the file does not say */
    double      latency_s; /* where has_latency */
    bool        has_latency;
    bool        in_transfers; /* the rate was given in GT/s */
    bool        in_bytes;     /* ... in GB/s */
} cs_ig_link;

typedef struct cs_ig_node {
    cs_ig_kind  kind;
    const char *component;
    uint32_t    index; /* of the component */
} cs_ig_node;

/* One component of a device, or of the instance `unit` of one. */
typedef struct cs_ig_point {
    uint32_t unit, node;
} cs_ig_point;

typedef struct cs_ig_edge {
    cs_ig_point       a, b; /* a before b */
    const cs_ig_link *link;
    uint32_t          row; /* of the edges of the file, and then of the connections */
} cs_ig_edge;

typedef struct cs_ig_edges {
    cs_ig_edge *list;
    size_t      n, room;
} cs_ig_edges;

typedef struct cs_ig_device {
    const char *name;
    const char *path; /* in the file, for refusals */
    cs_ig_node *nodes;
    uint32_t    n_nodes;
    uint32_t    n_xpus;
    cs_ig_edges edges; /* sorted, each once */
} cs_ig_device;

/* A whole file, flat. Units are the instances' instances, in order. */
typedef struct cs_ig_file {
    const char          *path; /* of the infrastructure, for refusals */
    uint32_t             n_units, n_links, n_annotations, n_unknown;
    const cs_ig_device **devices; /* [n_units] */
    const char         **names;   /* [n_units] of the instance */
    uint32_t            *indices; /* [n_units] in the instance */
    cs_ig_edges          edges;   /* between units; sorted, each once */
    uint32_t             n_rows;  /* of edges; connections follow */
} cs_ig_file;

/* What was read and has no place, and what was assumed: for the notes. */
typedef struct cs_ig_notes {
    cs_machine_notes said;
    cs_text          parts; /* components that are left out, "8 storage, 1 bmc" */
    uint32_t         pcie, nvlinks, nvswitches, nic_wires, uplinks, sockets; /* without a rate */
    uint32_t         latencies;  /* of links inside servers, left out */
    uint32_t         transfers;  /* PCIe links in GT/s, taken as 16 lanes */
    uint32_t         pairs;      /* links of pairs of GPUs beside NVSwitches, left out */
    uint32_t         partial;    /* pairs of GPUs without a link of their own, beside others */
    uint32_t         loose;      /* GPUs and NICs that nothing joins to a CPU */
    uint32_t         wires;      /* NICs of several links, which are added */
    uint32_t         nics;       /* NICs without a link, where others have one: left out */
    uint32_t         spread;     /* GPUs whose NICs lead to several switches */
    uint32_t         inner;      /* switches with links inside: left out */
    bool             no_sockets; /* nothing between the CPUs */
    double           odd_Bps;    /* an implausible rate between devices; 0: none */
    const char      *odd_link;
} cs_ig_notes;

/* The link of a NIC to the network; of several the sum. */
typedef struct cs_ig_wire {
    bool     is_there, is_assumed, has_latency;
    uint32_t n_links;
    uint32_t vertex; /* of the network */
    double   rate_Bps, latency_s;
} cs_ig_wire;

cs_ig_file *cs_ig_read_file(cs_reading *r, const cs_place *root);

/* The machine of a device whose NICs have these wires ([n_nodes], those of other nodes are not
 * looked at; NULL: none is known); *nodes_p: the nodes of its NICs. NULL: refused. */
cs_machine *cs_ig_machine(cs_reading *r, const cs_ig_device *device, uint32_t n_links,
                          const cs_ig_wire *wires, cs_ig_notes *notes, uint32_t **nodes_p);

/* The NIC node of a device that an edge at a node leads to: itself, or the only one that is joined
 * to it. UINT32_MAX: there is none. */
uint32_t cs_ig_nic_at(const cs_ig_device *device, uint32_t node);

#endif
