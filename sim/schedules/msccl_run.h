/* SPDX-License-Identifier: GPL-3.0-or-later */
/* schedules/msccl_run.h -- an MSCCL program of which all steps were taken: which messages went, and
 * what they carried. */
#ifndef CS_SCHEDULES_MSCCL_RUN_H
#define CS_SCHEDULES_MSCCL_RUN_H

#include "schedules/msccl_program.h"

/* What a place holds: nothing, a GPU's own chunk, or a value. */
#define CS_MSCCL_NOTHING UINT32_MAX
#define CS_MSCCL_OWN     ((uint32_t)1 << 31)

/* A chunk that came with a message, or a sum of two others that the GPU had. */
typedef struct cs_msccl_value {
    uint32_t a, b;  /* sum of these; of a message: itself, CS_MSCCL_NONE */
    uint32_t chunk; /* of the collective; of a sum: of its first part */
    uint32_t place; /* where it was put first */
    uint32_t step;  /* that made it */
    uint64_t print; /* sum of pseudo-random words of all contributions */
} cs_msccl_value;

typedef struct cs_msccl_message {
    uint32_t send_step, recv_step;
    uint32_t first; /* of payloads; the values at the receiver are first_value .. */
    uint32_t first_value;
    uint32_t number; /* of the file, or 0; what is one message has one number */
    uint32_t round;
    uint8_t  state, count;
} cs_msccl_message;

/* A program that was run, in place or not. */
typedef struct cs_msccl_run {
    const cs_msccl_program *program;
    bool                    aliases;
    uint32_t                n_places;
    uint32_t               *at;       /* [gpus][places] at the end: what is there */
    cs_msccl_message       *messages; /* in stream order */
    uint32_t                n_messages;
    uint32_t               *payloads; /* what was sent, chunk by chunk */
    cs_msccl_value         *values;
    uint32_t                n_values;
    uint32_t               *order;    /* [n_steps] steps in an order in which they were taken */
    uint32_t               *incoming; /* [n_steps] step that sent what a step received, or NONE */
} cs_msccl_run;

/* Take all steps. CS_EPARSE: some can never be taken; CS_EWRONG: one reads what is not there. */
cs_status cs_msccl_take_steps(const cs_msccl_program *p, bool aliases, cs_arena *arena,
                              cs_msccl_run *run, cs_error *err);

/* The sum of the words of all contributions in a value of a GPU. */
uint64_t cs_msccl_print(const cs_msccl_run *run, uint32_t gpu, uint32_t value);

/* Do any two steps race for a chunk? CS_EWRONG with both. */
cs_status cs_msccl_check_order(const cs_msccl_run *run, cs_error *err);

#endif
