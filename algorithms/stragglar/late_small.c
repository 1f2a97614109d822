/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One chunk, three ranks: see late_small.h. */
#include "algorithms/stragglar/late_small.h"

static cs_status add(cs_label_rounds *rounds, cs_label_kind kind, uint32_t src, uint32_t dst,
                     uint32_t chunk, cs_error *err)
{
    return cs_label_rounds_add(rounds, (cs_label_transfer){src, dst, chunk, kind}, err);
}

/* The i-th to know: label 0, the late rank, label 1, 2, .. */
static uint32_t knower(uint32_t n, uint32_t i)
{
    return i == 1 ? n - 1 : i - (i > 1);
}

cs_status cs_one_chunk_build(uint32_t n, cs_label_rounds *rounds_p, cs_error *err)
{
    cs_label_rounds rounds = {0};
    cs_status       status = add(&rounds, CS_LABEL_EXCHANGE, 0, n - 1, 0, err);

    if (status == CS_OK) {
        status = cs_label_rounds_end(&rounds, err);
    }
    for (uint32_t known = 2; known < n && status == CS_OK; known *= 2) {
        for (uint32_t i = 0; i < known && known + i < n && status == CS_OK; i++) {
            status = add(&rounds, CS_LABEL_COPY, knower(n, i), knower(n, known + i), 0, err);
        }
        if (status == CS_OK) {
            status = cs_label_rounds_end(&rounds, err);
        }
    }
    return cs_label_rounds_give(status, &rounds, rounds_p);
}

enum { LATE = 2 };

static cs_status two_chunks_round(cs_label_rounds *rounds, uint32_t round, cs_error *err)
{
    if (round < 2) {
        return add(rounds, CS_LABEL_EXCHANGE, round, LATE, round, err);
    }
    cs_status status = add(rounds, CS_LABEL_COPY, 0, 1, 0, err);
    return status != CS_OK ? status : add(rounds, CS_LABEL_COPY, 1, 0, 1, err);
}

/* What the late rank sends to label 0 in round 1 .. C - 1: label 0's chunks 2, 4, .. and label 1's
 * 1, 3, .. take turns, those of label 1 that are left over come last. */
static uint32_t turn_of(uint32_t chunks, uint32_t round)
{
    if (round + 1 == chunks && chunks % 2 == 0) {
        return chunks - 1;
    }
    return round % 2 == 1 ? round + 1 : round - 1;
}

/* What label 1 sends to the late rank in round 1 .. C, or 0 for nothing: its own chunks before the
 * late rank's turn to send them on, in rounds 1, 2, 4, 6, ..; label 0's two rounds after the late
 * rank's turn, when they are complete and have come by, in rounds 3, 5, 7, .. */
static uint32_t third_of(uint32_t chunks, uint32_t round)
{
    if (round == 1) {
        return 1;
    }
    uint32_t chunk = round % 2 == 0 ? round + 1 : round - 1;
    return chunk < chunks ? chunk : 0;
}

/* Round 0: chunk 0 is exchanged. What label 0 has in round r goes to label 1 in round r + 1. */
static cs_status many_chunks_round(cs_label_rounds *rounds, uint32_t chunks, uint32_t round,
                                   cs_error *err)
{
    uint32_t third = third_of(chunks, round);

    if (round == 0) {
        return add(rounds, CS_LABEL_EXCHANGE, 0, LATE, 0, err);
    }
    uint32_t  before = round == 1 ? 0 : turn_of(chunks, round - 1);
    cs_status status = add(rounds, CS_LABEL_COPY, 0, 1, before, err);
    if (status == CS_OK && round < chunks) {
        uint32_t chunk = turn_of(chunks, round);
        status = add(rounds, chunk % 2 == 0 ? CS_LABEL_LAST : CS_LABEL_COPY, LATE, 0, chunk, err);
    }
    if (status == CS_OK && third != 0) {
        status = add(rounds, third % 2 == 1 ? CS_LABEL_LAST : CS_LABEL_COPY, 1, LATE, third, err);
    }
    return status;
}

cs_status cs_three_ranks_build(uint32_t chunks, cs_label_rounds *rounds_p, cs_error *err)
{
    cs_label_rounds rounds = {0};
    cs_status       status = CS_OK;

    for (uint32_t r = 0; r <= chunks && status == CS_OK; r++) {
        status = chunks == 2 ? two_chunks_round(&rounds, r, err)
                             : many_chunks_round(&rounds, chunks, r, err);
        if (status == CS_OK) {
            status = cs_label_rounds_end(&rounds, err);
        }
    }
    return cs_label_rounds_give(status, &rounds, rounds_p);
}
