/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tests/support/msccl.h -- an interpreter of MSCCL's XML that knows nothing of the library's:
 * thread blocks take turns in random order, chunks are numbers. It reads files of one element a
 * line, and checks no more of them than it needs to run them. */
#ifndef CT_SUPPORT_MSCCL_H
#define CT_SUPPORT_MSCCL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ct_msccl ct_msccl;

typedef enum ct_msccl_end {
    CT_MSCCL_RIGHT, /* every output is what the collective says */
    CT_MSCCL_WRONG,
    CT_MSCCL_STUCK, /* some step can never be taken, or something sent is never received */
} ct_msccl_end;

/* NULL where the file makes no sense to it. Free with ct_msccl_free(). */
ct_msccl *ct_msccl_read(const char *text);
void      ct_msccl_free(ct_msccl *program);

uint32_t ct_msccl_gpus(const ct_msccl *program);

/* How a run is done. */
typedef struct ct_msccl_call {
    uint64_t seed;
    bool     in_place;
    uint32_t root;         /* of a broadcast or reduce */
    bool     is_chunkwise; /* chunks are so large that every one of a step is sent alone */
} ct_msccl_call;

ct_msccl_end ct_msccl_run(const ct_msccl *program, const ct_msccl_call *call);

#endif
