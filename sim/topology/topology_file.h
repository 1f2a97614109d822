/* SPDX-License-Identifier: GPL-3.0-or-later */
/* topology/topology_file.h -- a file that describes a topology, whatever its format.
 *
 * Told apart by their contents: NCCL's topology XML (<system>), SimGrid's platform XML
 * (<platform>), the matrix of `nvidia-smi topo -m` (GPU0 is somewhere in it), InfraGraph's YAML or
 * JSON (it begins with one of its keys), and an object in JSON with the keys of "cluster.topology".
 */
#ifndef CS_TOPOLOGY_TOPOLOGY_FILE_H
#define CS_TOPOLOGY_TOPOLOGY_FILE_H

#include "base/arena.h"
#include "cs/machine.h"
#include "cs/route_table.h"
#include "input/file_cache.h"
#include "input/tree.h"
#include "input/xml.h"

typedef enum cs_topology_format {
    CS_FORMAT_PRESET,
    CS_FORMAT_NCCL,
    CS_FORMAT_SMI,
    CS_FORMAT_SIMGRID,
    CS_FORMAT_INFRAGRAPH,
    CS_FORMAT_JSON,
} cs_topology_format;

typedef struct cs_topology_file {
    cs_topology_format    format;
    cs_site               site;        /* preset, NCCL, nvidia-smi, InfraGraph */
    const cs_route_table *routes;      /* SimGrid */
    json_t               *tree;        /* JSON; owned */
    uint64_t              fingerprint; /* of the text; 0: a preset */
} cs_topology_file;

/* Files are read up to this size. */
enum { CS_TOPOLOGY_MAX_BYTES = 16 << 20 };

/* Read a file; everything but the tree is the arena's. CS_EIO: cannot be read; CS_EPARSE: what is
 * wrong, with the line. */
cs_status cs_topology_file_load(const char *path, cs_arena *arena, cs_topology_file *file,
                                cs_error *err);

/* For a cache: cs_topology_file_load() into a cs_topology_file with an arena of its own. The
 * fingerprint is of the file's bytes. */
extern const cs_file_kind cs_topology_file_kind;

/* The same for a text of `length` bytes with a NUL behind it; `input` names it in errors. */
cs_status cs_topology_file_parse(const char *text, size_t length, const char *input,
                                 cs_arena *arena, cs_topology_file *file, cs_error *err);

/* A preset's name or a file's: a preset, or anything without a dot or a slash. */
bool cs_topology_is_preset(const char *name);

/* Find a preset or read a file. */
cs_status cs_topology_open(const char *name, cs_arena *arena, cs_topology_file *file,
                           cs_error *err);

/* Give back what is not the arena's. */
void cs_topology_file_close(cs_topology_file *file);

/* "NCCL topology XML" and so on. */
const char *cs_topology_format_name(cs_topology_format format);

/* Readers of one format each; what they make is the arena's. */

/* NCCL's and RCCL's topology XML: dumps (NCCL_TOPO_DUMP_FILE) and files written by hand
 * (NCCL_TOPO_FILE).
 *
 * <system> holds <cpu>s (one per NUMA node: a socket here), they hold <pci>s, which hold each
 * other, <gpu>s with their <nvlink>s or <xgmi>s, and <nic>s with their <net>s. A <pci> of class
 * 0x0302 or 0x0300 without anything in it is a GPU, one of class 0x02 a NIC. A bridge at a CPU is a
 * switch; those below it only say which NICs are nearest to a GPU. Skipped are PCI devices of other
 * classes and the elements <c2c>, <pcilink>, <gin> and <coll>; any other element is refused by its
 * name.
 *
 * GPUs are in the order of their `dev`. What a file does not say is assumed and noted, by the PCI
 * device where that is known. */
cs_status cs_nccl_topology_read(const cs_xml *root, const char *input, cs_arena *arena,
                                cs_machine **machine_p, cs_error *err);

/* The subset of SimGrid's platform XML that hosts, links and routes need.
 *
 * <platform> holds one <zone> (or <AS>) with <host>s, which are the ranks in their order, <link>s
 * and <route>s of <link_ctn>s. A link is SHARED (one capacity for both ways, SimGrid's default) or
 * SPLITDUPLEX (one for each). A route is also the way back unless symmetrical="NO". Skipped are
 * <config>, <prop> and <router>; any other element is refused by its name. */
cs_status cs_simgrid_platform_read(const cs_xml *root, const char *input, cs_arena *arena,
                                   const cs_route_table **table_p, cs_error *err);

#endif
