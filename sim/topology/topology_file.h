/* SPDX-License-Identifier: GPL-3.0-or-later */
/* topology/topology_file.h -- a file that describes a topology, whatever its format.
 *
 * Told apart by their contents: NCCL's topology XML (<system>), SimGrid's platform XML
 * (<platform>), the matrix of `nvidia-smi topo -m` (GPU0 is somewhere in it), and an object in JSON
 * with the keys of "cluster.topology".
 */
#ifndef CS_TOPOLOGY_TOPOLOGY_FILE_H
#define CS_TOPOLOGY_TOPOLOGY_FILE_H

#include "base/arena.h"
#include "cs/machine.h"
#include "cs/route_table.h"
#include "input/file_cache.h"
#include "input/tree.h"

typedef enum cs_topology_format {
    CS_FORMAT_PRESET,
    CS_FORMAT_NCCL,
    CS_FORMAT_SMI,
    CS_FORMAT_SIMGRID,
    CS_FORMAT_JSON,
} cs_topology_format;

typedef struct cs_topology_file {
    cs_topology_format    format;
    cs_site               site;        /* preset, NCCL, nvidia-smi */
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

#endif
