/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "algorithms/stragglar/rail.h"

#include "algorithms/stragglar/tail.h"
#include "base/log2.h"

uint32_t cs_rail_least_chunks(uint32_t servers)
{
    return servers <= 3 ? 2 : cs_log2_ceil(servers) + 1;
}

static cs_status add(cs_label_rounds *rounds, cs_label_kind kind, uint32_t src, uint32_t dst,
                     uint32_t chunk, cs_error *err)
{
    return cs_label_rounds_add(rounds, (cs_label_transfer){src, dst, chunk, kind}, err);
}

static cs_status build_three(uint32_t chunks, cs_label_rounds *rounds, cs_error *err)
{
    for (uint32_t r = 0; r <= chunks; r++) {
        if (r > 0) {
            CS_TRY(add(rounds, CS_LABEL_COPY, 0, 1, r - 1, err));
        }
        if (r < chunks) {
            CS_TRY(add(rounds, CS_LABEL_LAST, 2, 0, r, err));
            CS_TRY(add(rounds, CS_LABEL_LAST, 1, 2, r, err));
        }
        CS_TRY(cs_label_rounds_end(rounds, err));
    }
    return CS_OK;
}

/* Of halves: the chunk that the late server gives in a round. Even ones come first, then, a round
 * later, odd ones. */
static uint32_t half_given(uint32_t chunks, uint32_t round)
{
    uint32_t even  = (chunks + 1) / 2;
    uint32_t chunk = round < even ? 2 * round : round > even ? 2 * (round - 1 - even) + 1 : chunks;

    return chunk < chunks ? chunk : CS_NO_LABEL;
}

static cs_status build_halves(uint32_t chunks, cs_label_rounds *rounds, cs_error *err)
{
    for (uint32_t r = 0; r < cs_rail_rounds(3, chunks, true); r++) {
        uint32_t chunk = half_given(chunks, r);
        if (chunk != CS_NO_LABEL) {
            CS_TRY(add(rounds, CS_LABEL_LAST, 2, chunk % 2, chunk, err));
        }
        chunk = r >= 1 ? half_given(chunks, r - 1) : CS_NO_LABEL;
        if (chunk != CS_NO_LABEL) {
            CS_TRY(add(rounds, CS_LABEL_COPY, chunk % 2, 1 - chunk % 2, chunk, err));
        }
        chunk = r >= 2 ? half_given(chunks, r - 2) : CS_NO_LABEL;
        if (chunk != CS_NO_LABEL) {
            CS_TRY(add(rounds, CS_LABEL_COPY, 1 - chunk % 2, 2, chunk, err));
        }
        CS_TRY(cs_label_rounds_end(rounds, err));
    }
    return CS_OK;
}

uint32_t cs_rail_given(const cs_rail *rail, uint32_t round)
{
    if (rail->halves) {
        return half_given(rail->chunks, round);
    }
    return round < rail->chunks ? round : CS_NO_LABEL;
}

uint32_t cs_rail_completed(const cs_rail *rail, uint32_t round)
{
    if (rail->halves) {
        return round < 2 ? CS_NO_LABEL : half_given(rail->chunks, round - 2);
    }
    return round < rail->chunks ? round : CS_NO_LABEL;
}

uint32_t cs_rail_last_given(uint32_t chunks, bool halves)
{
    return halves && chunks > 1 ? chunks : chunks - 1;
}

uint32_t cs_rail_rounds(uint32_t servers, uint32_t chunks, bool halves)
{
    return halves ? cs_rail_last_given(chunks, true) + 3 : chunks - 1 + cs_log2_ceil(servers);
}

cs_status cs_rail_build(uint32_t servers, uint32_t chunks, bool halves, cs_arena *arena,
                        cs_rail *rail, cs_error *err)
{
    *rail = (cs_rail){.servers  = servers,
                      .chunks   = chunks,
                      .halves   = halves,
                      .n_rounds = cs_rail_rounds(servers, chunks, halves)};
    if (servers == 3) {
        return halves ? build_halves(chunks, &rail->stored, err)
                      : build_three(chunks, &rail->stored, err);
    }
    if (chunks == 1) {
        return cs_label_rounds_one_chunk(servers, &rail->stored, err);
    }
    CS_TRY(cs_rotation_build(servers, arena, &rail->rotation, err));
    CS_TRY(cs_tail_build(&rail->rotation, &rail->stored, err));
    rail->steady = chunks;
    rail->turn   = chunks % (servers - 1);
    rail->shift  = chunks - (servers - 1);
    return CS_OK;
}

cs_rail cs_rail_of_rounds(uint32_t servers, uint32_t chunks, const cs_label_rounds *rounds)
{
    return (cs_rail){
        .servers = servers, .chunks = chunks, .n_rounds = rounds->n_rounds, .stored = *rounds};
}

void cs_rail_free(cs_rail *rail)
{
    cs_label_rounds_free(&rail->stored);
}

uint32_t cs_rail_places(const cs_rail *rail, uint32_t round)
{
    size_t count;

    if (round < rail->steady) {
        return rail->servers - 1;
    }
    (void)cs_label_round(&rail->stored, round - rail->steady, &count);
    return (uint32_t)count;
}

static uint32_t turned(const cs_rail *rail, uint32_t label)
{
    uint32_t others = rail->servers - 1, sum = label + rail->turn;

    if (label == others) {
        return label;
    }
    return sum >= others ? sum - others : sum;
}

bool cs_rail_at(const cs_rail *rail, uint32_t round, uint32_t place, cs_label_transfer *out)
{
    const cs_rotation *r = &rail->rotation;

    if (round >= rail->steady) {
        size_t            count;
        cs_label_transfer t = cs_label_round(&rail->stored, round - rail->steady, &count)[place];
        *out = (cs_label_transfer){turned(rail, t.src), turned(rail, t.dst), t.chunk + rail->shift,
                                   t.kind};
        return true;
    }
    uint32_t owner = round % r->early, age = r->age[place];
    uint32_t src = owner + r->from[place], dst = owner + place;
    if (place == 0) {
        *out = (cs_label_transfer){owner, r->early, round, CS_LABEL_EXCHANGE};
        return true;
    }
    *out = (cs_label_transfer){src >= r->early ? src - r->early : src,
                               dst >= r->early ? dst - r->early : dst, round - age, CS_LABEL_COPY};
    return round >= age;
}
