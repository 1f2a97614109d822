/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tests/support/mscclpp.h -- an interpreter of MSCCL++ plans that knows nothing of the library's:
 * chunks are numbers, and whatever may happen next happens in random order. The operations of a
 * thread block between two nops are done in any order, those of a thread (a channel or semaphore
 * in the list) in theirs; ports have a queue of their own. A GPU's call begins and ends at some
 * time: its buffers hold other things before and behind. It knows no pipelines, groups and
 * switches, and takes relaxed signals for signals. */
#ifndef CT_SUPPORT_MSCCLPP_H
#define CT_SUPPORT_MSCCLPP_H

#include <jansson.h>
#include <stdint.h>

typedef enum ct_mscclpp_end {
    CT_MSCCLPP_RIGHT, /* every output is what the collective says */
    CT_MSCCLPP_WRONG,
    CT_MSCCLPP_STUCK, /* something never happens, or signals are left over */
} ct_mscclpp_end;

ct_mscclpp_end ct_mscclpp_run(const json_t *plan, uint64_t seed, uint32_t root);

#endif
