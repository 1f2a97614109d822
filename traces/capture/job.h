/* SPDX-License-Identifier: GPL-3.0-or-later */
/* capture/job.h -- what every rank has to do and to hold for one schedule.
 *
 * A rank's *memory* is one array of floats: its slots, behind them (only where the schedule sends
 * contributions from outside the slots) its own contribution to every chunk, and (only where slots
 * are used again) what it ends with. A *message* is made of *pieces*, each a run of floats in the
 * memories of both ends. An exchange is two messages, one each way, that are *partners*.
 *
 * Ports, as in collsim's models: a rank has for every link (CS_NIC: between servers, CS_NVLINK:
 * inside one, CS_CROSS: between the sockets of one) a sending and a receiving port. Each serves its
 * messages one at a time, in the order of the list. So everything that a message waits for at a
 * rank is a number of messages that a port of that rank has served:
 *
 *   a send starts when, for every link, the first data_after_receives[link] receives of its source
 * are complete (the data that it sends are there); what is received is put into place when, for
 * every link, the first place_after_sends[link] sends of the destination have left (old values that
 * are sent elsewhere, or back in an exchange, must not change before), and the first
 * place_after_receives[link] receives are complete. Messages that are only added to the same floats
 * do not wait for each other: they may come in any order, but must not be added at the same time.
 *
 * Ranks, links and numbers of messages are uint32_t, offsets and counts are in floats.
 */
#ifndef CAPTURE_JOB_H
#define CAPTURE_JOB_H

#include "schedule.h"

#define CAP_NONE UINT32_MAX

typedef struct cap_piece {
    uint64_t wire; /* where it lies in the message; a piece that brings again what the one before it
                      brought lies at the same place (is_repeat) */
    uint64_t from; /* in the source's memory */
    uint64_t to;   /* in the destination's memory */
    uint64_t base; /* adds: to = base + message, else to = message */
    uint64_t out;  /* the same values go there, too; CAP_NOWHERE: nowhere */
    uint64_t count;
    bool     adds, is_repeat;
} cap_piece;

#define CAP_NOWHERE UINT64_MAX

typedef struct cap_message {
    uint32_t id;       /* its place in the list; of partners, the second is the next one */
    uint32_t src, dst; /* ranks */
    uint32_t link;     /* CS_NIC, CS_NVLINK, CS_CROSS */
    uint32_t round;
    uint32_t partner; /* of an exchange, which starts when all four ports are free; or CAP_NONE */
    uint32_t fence;   /* so many fences stand before it */
    uint32_t send, receive;         /* its place among the sends of its source, the receives of its
                                       destination over this link */
    uint64_t count;                 /* floats on the wire */
    uint32_t first_piece, n_pieces; /* cap_job.pieces */
    bool     has_repeats;           /* some of its pieces bring the same */
    uint32_t data_after_receives[CS_FABRICS];  /* at src */
    uint32_t place_after_sends[CS_FABRICS];    /* at dst */
    uint32_t place_after_receives[CS_FABRICS]; /* at dst */
} cap_message;

/* The messages of a rank over one link, in the order of the list. */
typedef struct cap_port {
    uint32_t *sends, *receives; /* ids */
    uint32_t  n_sends, n_receives;
} cap_port;

typedef struct cap_rank {
    cap_port ports[CS_FABRICS];
    uint64_t n_floats; /* of its memory */
    /* Where these begin in its memory; CAP_NOWHERE: no message needs it. */
    uint64_t *slot_begin; /* [n_slots] */
    uint64_t *own_begin;  /* [n_chunks] its own contribution to a chunk, beside the slots */
    uint64_t *out_begin;  /* [n_chunks] what it ends with */
} cap_rank;

typedef struct cap_job {
    const cap_schedule *schedule; /* borrowed */
    cap_rank           *ranks;    /* [n_ranks] */
    cap_message        *messages; /* [n_messages] in the order of the list */
    uint32_t            n_messages;
    cap_piece          *pieces;
    uint32_t            n_pieces;
    uint64_t            most_count; /* of the longest message */
} cap_job;

/* The caller owns the job and keeps the schedule as long. CS_ENOMEM, CS_EINVAL (a chunk is put into
 * slots of which some begin elsewhere). O(transfers * chunks of each + ranks * slots). */
cs_status cap_job_make(const cap_schedule *schedule, cap_job **job_p, cs_error *err);

/* NULL is allowed. */
void cap_job_free(cap_job *job);

/* What rank `rank` contributes to float `at` of the buffer (cap_schedule.chunk_begin) in a
 * repetition: an integer from 1 to 4096, so that sums over CAP_MAX_RANKS ranks are exact and a
 * contribution that is missing shows. */
float cap_value(uint32_t rank, uint32_t repetition, uint64_t at);

/* Fill the memory of a rank before a repetition. What nobody may read before it was written is NaN.
 */
void cap_job_fill(const cap_job *job, uint32_t rank, uint32_t repetition, float *memory);

/* How many floats of what the rank is owed are wrong after a repetition: each one is compared.
 * O(floats * ranks). */
uint64_t cap_job_count_wrong(const cap_job *job, uint32_t rank, uint32_t repetition,
                             const float *memory);

/* Put a run of what came, floats [wire, wire + count) of a message, into the pieces of the
 * destination's memory that it belongs to. The runs of a message are taken in one after the other.
 * O(pieces + count). */
void cap_message_apply(const cap_job *job, const cap_message *message, uint64_t wire,
                       const float *values, uint64_t count, float *memory);

/* Where a message may be received in place from float `wire` on, without cap_message_apply(). NULL:
 * it has to be added, or put into several places. Either way for the next `*count_p` floats. */
float *cap_message_place(const cap_job *job, const cap_message *message, uint64_t wire,
                         float *memory, uint64_t *count_p);

#endif
