/* SPDX-License-Identifier: GPL-3.0-or-later */
/* traces/nccl_names.h -- how NCCL, PyTorch and their tools call collectives and types. */
#ifndef CS_TRACES_NCCL_NAMES_H
#define CS_TRACES_NCCL_NAMES_H

#include "cs/collective.h"

#include <stdbool.h>
#include <stdint.h>

/* Does a name, up to its '(', have this part? Only its letters and digits count, in either case. */
bool cs_nccl_name_has(const char *name, const char *part);

/* The collective with the longest name that is part of it: AllReduce and ReduceScatter before
 * Reduce. "nccl:all_reduce", "AllReduce" and "ncclDevKernel_AllReduce_Sum_f32_RING_LL(..)" are
 * AllReduces. False where there is none. */
bool cs_nccl_collective_named(const char *name, cs_collective *collective_p);

/* "AllReduce", as NCCL's tools write it. */
const char *cs_nccl_collective_name(cs_collective collective);

/* Size of an element of PyTorch's type ("Float", "c10::BFloat16"); 0: unknown, or NULL. */
uint64_t cs_torch_type_bytes(const char *name);

#endif
