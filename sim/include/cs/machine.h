/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cs/machine.h -- what a server is made of: GPUs, NICs, PCIe switches, sockets, NVLinks.
 *
 * Plain data: read from a file (NCCL's topology XML, nvidia-smi's matrix) or from the table of
 * presets. From it follow the rates of a cluster's ports (cs_machine_ports) and the inner links
 * that ports do not show (cs_site_links): NICs that GPUs share, PCIe switches, the sockets' link.
 *
 * A device (GPU or NIC) hangs at a PCIe switch or at its socket, a switch at its socket, and the
 * sockets are joined pairwise. A socket may be a NUMA node, where that is what a file names.
 */
#ifndef CS_MACHINE_H
#define CS_MACHINE_H

#include "cs/named.h"
#include "cs/topology.h"

CS_BEGIN_C

#define CS_NO_SWITCH UINT32_MAX

enum { CS_MACHINE_NAME_BYTES = 40, CS_MACHINE_MAX_GPUS = 1024, CS_MACHINE_MAX_NICS = 1024 };

typedef struct cs_device {
    char     name[CS_MACHINE_NAME_BYTES];
    uint32_t socket;
    uint32_t pcie;     /* its switch, or CS_NO_SWITCH */
    uint32_t bridge;   /* number of one below that which it shares, for nearness alone; 0: none */
    double   pcie_Bps; /* of its own PCIe link, a direction */
    double   wire_Bps; /* NICs: to the network; GPUs: unused */
    bool     is_pcie_assumed, is_wire_assumed;
} cs_device;

typedef struct cs_pcie_switch {
    uint32_t socket;
    double   uplink_Bps; /* to its socket, a direction */
    bool     is_uplink_assumed;
} cs_pcie_switch;

/* Rates that a file may leave open. */
typedef enum cs_rate {
    CS_RATE_NVLINK,
    CS_RATE_NIC,
    CS_RATE_PCIE,
    CS_RATE_SOCKETS,
    CS_RATE_SWITCHES, /* links between switches of the network; no key gives it */
    CS_RATES
} cs_rate;

/* Borrowed by everything below. */
typedef struct cs_machine {
    char            name[64];
    const char     *notes; /* what was not known and assumed, a sentence per line; or NULL */
    const char     *assumed[CS_RATES]; /* the rates among it, in a few words; NULL: it is known */
    uint32_t        n_gpus, n_nics, n_switches, n_sockets;
    cs_device      *gpus, *nics; /* GPU i is local rank i */
    cs_pcie_switch *switches;
    const char     *link_name;    /* of what joins the GPUs: "NVLink", "xGMI" */
    double         *nvlink_Bps;   /* [n_gpus][n_gpus], a direction; 0: none. NULL: none at all */
    double          nvswitch_Bps; /* of a GPU's port to the NVSwitches; 0: there are none */
    double          socket_Bps;   /* between two sockets, a direction */
    double          cross_Bps;    /* measured rate of one GPU to another socket; 0: unknown */
    double          nic_alpha_s, nvlink_alpha_s, cross_alpha_s;
} cs_machine;

/* How the GPUs of a server reach each other. */
typedef enum cs_machine_mesh {
    CS_MESH_SWITCHED, /* NVSwitches */
    CS_MESH_FULL,     /* an NVLink for every pair */
    CS_MESH_SOCKETS,  /* NVLink within sockets only */
    CS_MESH_PARTIAL,  /* NVLink between some pairs, PCIe between the others */
    CS_MESH_NONE,     /* PCIe only */
} cs_machine_mesh;

/* A regular server: GPUs and NICs are spread evenly, in order, over the sockets and the switches;
 * GPU i is on socket i * n_sockets / n_gpus. Rates are a direction's. */
typedef struct cs_server_shape {
    uint32_t        n_gpus, n_nics, n_sockets, n_switches; /* n_nics and n_switches may be 0 */
    cs_machine_mesh mesh;                                  /* SWITCHED, FULL, SOCKETS or NONE */
    double          nvlink_Bps;                      /* of a GPU's port (SWITCHED) or of a pair */
    double          nic_Bps, nic_pcie_Bps, pcie_Bps; /* a NIC's, its PCIe link's, a GPU's */
    double          uplink_Bps, socket_Bps;          /* of a switch; between two sockets */
    double          cross_Bps; /* measured rate of one GPU to another socket; 0: unknown */
    double          nic_alpha_s, nvlink_alpha_s, cross_alpha_s;
    const char     *link_name; /* of what joins the GPUs; NULL: "NVLink" */
} cs_server_shape;

struct cs_arena;

/* The machine, in the arena's memory; NULL: there is none left. O(gpus^2). */
cs_machine *cs_server_make(const cs_server_shape *shape, const char *name, struct cs_arena *arena);

/* The ports that the first `g` GPUs of a server are given. */
typedef struct cs_machine_ports {
    cs_machine_mesh mesh;
    uint32_t        sockets; /* of equal size, each a run of GPUs; else 1 */
    cs_fabric       fabrics[CS_FABRICS];
    uint32_t        most_sharers; /* GPUs of one NIC; 0: no NICs */
} cs_machine_ports;

/* Which NICs a GPU uses: those nearest to it (below the same bridge, at its switch, at its socket,
 * elsewhere). GPUs with the same choice divide it: several NICs each, or several GPUs to a NIC. */
typedef struct cs_nic_choice {
    uint32_t *first;   /* [n_gpus] place in `order` of the GPU's first NIC */
    uint32_t *count;   /* [n_gpus] how many follow each other there; 0: there is no NIC */
    uint32_t *order;   /* NICs */
    uint32_t *sharers; /* [n_nics] GPUs of a NIC */
} cs_nic_choice;

/* O(gpus + nics). */
cs_status cs_machine_choose_nics(const cs_machine *machine, uint32_t g, struct cs_arena *arena,
                                 cs_nic_choice *choice);

/* The ports of the first `g` GPUs. With `is_network` the NIC ports have the NICs' full rate and the
 * NVLink ports that of the pair with most links, and the links limit the rest; without, GPUs that
 * share a NIC have an equal part of it each, and all pairs the links of the one with fewest. */
cs_status cs_machine_describe(const cs_machine *machine, uint32_t g, bool is_network,
                              struct cs_arena *arena, cs_machine_ports *ports);

/* A link between two switches, each way. */
typedef struct cs_switch_link {
    uint32_t from, to;
    cs_link  link; /* of one way */
} cs_switch_link;

/* The switches between the NICs of servers. */
typedef struct cs_site_network {
    uint32_t               n_servers, n_switches, n_links;
    const char *const     *names; /* [n_switches] */
    const cs_switch_link  *links; /* [n_links] */
    const uint32_t *const *at;    /* [n_servers][n_nics]: the switch that a NIC leads to */
} cs_site_network;

/* Servers of one kind, or of two: from server `first_tail` on `tail`. */
typedef struct cs_site {
    const cs_machine      *machine, *tail; /* tail: NULL, or as many GPUs */
    uint32_t               n_servers;      /* by default */
    uint32_t               first_tail;
    const cs_site_network *network; /* NULL: a crossbar between the NICs */
} cs_site;

/* The inner links of the first GPUs of the cluster's servers, and those of the network, in
 * `topology` (memory of the arena); topology->kind is NULL where the ports alone tell everything.
 * More servers than the network joins are refused. Ways through the network are a graph's
 * (cs/graph.h); a GPU of several NICs enters it at the switch of the first one. O(servers *
 * gpus^2), and a graph's. */
cs_status cs_site_links(const cs_site *site, const cs_cluster *cluster, struct cs_arena *arena,
                        cs_topology *topology, cs_error *err);

/* A row of the table of presets. */
typedef struct cs_preset {
    const char     *name, *summary, *source;
    uint32_t        n_servers; /* by default */
    const char     *aliases;   /* other names, "a|b"; or NULL */
    cs_server_shape server;
    const char     *tail; /* preset of the servers from `first_tail` on; NULL: all are alike */
    uint32_t        first_tail;
} cs_preset;

/* All of them; ends with a row whose name is NULL. */
CS_API extern const cs_preset cs_presets[];
CS_API extern const cs_named  cs_preset_names;

/* The site of a preset; CS_ENOENT with a suggestion for an unknown name. */
CS_MUST_CHECK cs_status cs_preset_find(const char *name, struct cs_arena *arena, cs_site *site,
                                       cs_error *err);

CS_END_C

#endif
