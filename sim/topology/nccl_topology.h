/* SPDX-License-Identifier: GPL-3.0-or-later */
/* topology/nccl_topology.h -- NCCL's and RCCL's topology XML: dumps (NCCL_TOPO_DUMP_FILE) and files
 * written by hand (NCCL_TOPO_FILE).
 *
 * <system> holds <cpu>s (one per NUMA node: a socket here), they hold <pci>s, which hold each
 * other, <gpu>s with their <nvlink>s or <xgmi>s, and <nic>s with their <net>s. A <pci> of class
 * 0x0302 or 0x0300 without anything in it is a GPU, one of class 0x02 a NIC. A bridge at a CPU is a
 * switch; those below it only say which NICs are nearest to a GPU. Skipped are PCI devices of other
 * classes and the elements <c2c>, <pcilink>, <gin> and <coll>; any other element is refused by its
 * name.
 *
 * GPUs are in the order of their `dev`. What a file does not say is assumed and noted, by the PCI
 * device where that is known.
 */
#ifndef CS_TOPOLOGY_NCCL_TOPOLOGY_H
#define CS_TOPOLOGY_NCCL_TOPOLOGY_H

#include "cs/machine.h"
#include "input/xml.h"

cs_status cs_nccl_topology_read(const cs_xml *root, const char *input, cs_arena *arena,
                                cs_machine **machine_p, cs_error *err);

#endif
