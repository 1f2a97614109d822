/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A schedule in GOAL, the language of LogGOPSim's schedules.
 *
 * What is written. Every rank is a block of labelled operations. A message is one send and one
 * receive, whatever parts it has (CS_JOIN): the bytes of all parts, and all that they need. Its tag
 * is the number of its first part in the stream. `requires` (after the end) follows the data: a
 * send waits for what it sends, a receive into a place for those who still read it. `irequires`
 * (after the begin) keeps the sends of a rank in stream order. A barrier becomes an empty calc
 * between what a rank did before and what it does after; waiting for the other ranks is left out,
 * and so are arrivals, slow NICs, fabrics and shared groups. Reductions cost no time.
 *
 * The rules of the real program (txt2bin and LogGOPSim of spcl/LogGOPSim), which the files keep and
 * tests/support/goal.c checks:
 *   - `num_ranks N` stands first. The blocks `rank R {` .. `}` are those of ranks 0 to N - 1 in
 *     this order, each once: the reader appends them as they come and ends behind rank N - 1.
 *   - One statement a line, nothing behind it: `L: send Bb to R [tag T] [cpu C] [nic N]`,
 *     `L: recv Bb from R ..`, `L: calc NANOSECONDS [cpu C]`, `L requires M`, `L irequires M`.
 *   - A label is a letter, then letters, digits and '_', but none of the language's words. Labels
 *     belong to their block. A dependency names labels that were defined before it; a second
 *     definition of a label would be passed over in silence, so that none is used twice.
 *   - Messages are matched by source and tag, in the order of arrival; sizes are not compared. Here
 *     a tag names one message of a pair of ranks, both ends of which have its size. 2^32 - 1 would
 *     be any tag.
 *   - A message of k bytes costs (k - 1) G, in unsigned arithmetic: one of 0 bytes would end before
 *     it begins, before time 0 even. It is written as 1 byte, which costs no G.
 *   - Operations that wait in a circle are dropped without a word: here a dependency always points
 *     to an operation above, and a message to one later in the stream.
 *
 * How to compare times with -m loggp. A message takes o + L + (k - 1) G + o there and alpha + k G
 * here, so that `-o 0 -L (alpha + G) -g G -G G -S 2147483647` agrees to the last digit (G is a
 * whole number of nanoseconds per byte; above S a send waits for its receiver). What is different
 * there: a rank has one CPU, which takes a message in for its whole length and starts no send
 * meanwhile, so that sending what one has while something else comes in takes longer (giving sends
 * and receives a `cpu` each would not do: who waits for a receive starts at the time of its own
 * CPU); messages are taken in as they come, not in stream order; the ends of an exchange do not
 * wait for each other.
 *
 * Source: T. Hoefler, T. Schneider, A. Lumsdaine, "LogGOPSim", LSAP 2010.
 */
#include "schedules/export_list.h"

#define NONE SIZE_MAX

/* One rank's block in the making. */
typedef struct block {
    const cs_export_list *list;
    const cs_export_ops  *ops;
    uint32_t              rank;
    cs_text              *out;
    size_t                next_fence;
    size_t                last_send; /* operation, or NONE */
    size_t                join;      /* label of the calc of the last barrier, or NONE */
    size_t                joined;    /* operations before that calc */
} block;

static unsigned long long bytes_of(const cs_export_list *list, const cs_export_op *op)
{
    unsigned long long bytes = 0;

    for (uint32_t k = 0; k < op->n_parts; k++) {
        bytes += list->recording.transfers[op->transfer + k].bytes;
    }
    return bytes > 0 ? bytes : 1;
}

/* Labels: operation i is l<i + 1>; barrier k is b<k + 1>. */
static void add_operation(block *b, size_t i)
{
    const cs_export_op *op = &b->ops->ops[i];

    cs_text_add(b->out, "l%zu: %s %llub %s %u tag %zu\n", i + 1, op->is_send ? "send" : "recv",
                bytes_of(b->list, op), op->is_send ? "to" : "from", op->peer, op->transfer);
    for (size_t k = 0; k < op->n_needs; k++) {
        cs_text_add(b->out, "l%zu requires l%zu\n", i + 1, b->ops->needs[op->first_need + k] + 1);
    }
    if (b->join != NONE) {
        cs_text_add(b->out, "l%zu requires b%zu\n", i + 1, b->join + 1);
    }
    if (op->is_send && b->last_send != NONE) {
        cs_text_add(b->out, "l%zu irequires l%zu\n", i + 1, b->last_send + 1);
    }
    b->last_send = op->is_send ? i : b->last_send;
}

/* The barriers that stand before operation `i`. */
static void add_barriers(block *b, size_t i)
{
    const cs_export_list *list = b->list;

    for (; b->next_fence < list->recording.n_fences &&
           list->recording.fences[b->next_fence].index <= b->ops->ops[i].transfer;
         b->next_fence++) {
        if (list->recording.fences[b->next_fence].except == b->rank || b->joined == i) {
            continue;
        }
        cs_text_add(b->out, "b%zu: calc 0\n", b->next_fence + 1);
        for (size_t k = b->joined; k < i; k++) {
            cs_text_add(b->out, "b%zu requires l%zu\n", b->next_fence + 1, k + 1);
        }
        if (b->join != NONE) {
            cs_text_add(b->out, "b%zu requires b%zu\n", b->next_fence + 1, b->join + 1);
        }
        b->join   = b->next_fence;
        b->joined = i;
    }
}

static cs_status add_rank(const cs_export_list *list, const cs_export_ranks *ranks, uint32_t rank,
                          cs_text *out, cs_error *err)
{
    cs_arena      arena = {0};
    cs_export_ops ops;
    cs_status status = cs_export_rank_ops(list, ranks, rank, CS_EXPORT_MESSAGES, &arena, &ops, err);

    if (status == CS_OK) {
        block b     = {.list = list, .ops = &ops, .rank = rank, .out = out};
        b.last_send = NONE;
        b.join      = NONE;
        cs_text_add(out, "\nrank %u {\n", rank);
        for (size_t i = 0; i < ops.n_ops; i++) {
            add_barriers(&b, i);
            add_operation(&b, i);
        }
        cs_text_add(out, "}\n");
    }
    cs_arena_free(&arena);
    return status;
}

cs_status cs_export_goal(const cs_export_list *list, cs_text *out, cs_error *err)
{
    cs_arena        arena = {0};
    cs_export_ranks ranks;
    uint32_t        n      = list->scenario->cluster.n_ranks;
    cs_status       status = cs_export_sort_ranks(list, &arena, &ranks, err);

    cs_text_add(out, "num_ranks %u\n", n);
    for (uint32_t rank = 0; rank < n && status == CS_OK; rank++) {
        status = add_rank(list, &ranks, rank, out, err);
    }
    cs_arena_free(&arena);
    return status;
}
