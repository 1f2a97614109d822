/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "scenario/training_calls.h"

#include <math.h>

enum { MOST_SIZES = 4 };

/* The lists while they are filled. */
typedef struct calls {
    uint32_t     *size_of;
    double       *ready_ratio, *needed_ratio;
    uint64_t      size_bytes[MOST_SIZES];
    cs_collective size_collective[MOST_SIZES];
    uint32_t      n_sizes, n;
    uint64_t      bytes;
} calls;

static bool make_room(calls *c, uint32_t n, cs_arena *arena)
{
    *c = (calls){.size_of      = CS_ARENA_NEW(arena, uint32_t, n),
                 .ready_ratio  = CS_ARENA_NEW(arena, double, n),
                 .needed_ratio = CS_ARENA_NEW(arena, double, n)};
    return c->size_of != NULL && c->ready_ratio != NULL && c->needed_ratio != NULL;
}

static void add(calls *c, cs_collective collective, uint64_t bytes, double ready, double needed)
{
    uint32_t i = 0;

    while (i < c->n_sizes && (c->size_bytes[i] != bytes || c->size_collective[i] != collective)) {
        i++;
    }
    c->size_bytes[i]      = bytes;
    c->size_collective[i] = collective;
    c->n_sizes += i == c->n_sizes;
    c->size_of[c->n]      = i;
    c->ready_ratio[c->n]  = fmax(0, ready);
    c->needed_ratio[c->n] = needed;
    c->bytes += bytes;
    c->n++;
}

static bool hand_over(const calls *c, cs_arena *arena, cs_training *t)
{
    uint64_t      *bytes       = CS_ARENA_NEW(arena, uint64_t, c->n_sizes);
    cs_collective *collectives = CS_ARENA_NEW(arena, cs_collective, c->n_sizes);

    if (bytes == NULL || collectives == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < c->n_sizes; i++) {
        bytes[i]       = c->size_bytes[i];
        collectives[i] = c->size_collective[i];
    }
    t->bytes           = c->bytes;
    t->n_buckets       = c->n;
    t->size_of         = c->size_of;
    t->ready_ratio     = c->ready_ratio;
    t->needed_ratio    = c->needed_ratio;
    t->n_sizes         = c->n_sizes;
    t->size_bytes      = bytes;
    t->size_collective = collectives;
    return true;
}

bool cs_training_fsdp(const cs_sharding *sharding, cs_arena *arena, cs_training *t)
{
    uint32_t layers = sharding->n_layers;
    double   f = sharding->forward_ratio, forward = f / layers, backward = (1 - f) / layers;
    double   ahead = sharding->prefetch;
    calls    c;

    if (!make_room(&c, 3 * layers, arena)) {
        return false;
    }
    for (uint32_t i = 0; i < layers; i++) {
        uint64_t bytes = cs_split(sharding->bytes, layers, i);
        add(&c, CS_ALLGATHER, bytes, (i - ahead) * forward, i * forward);
    }
    for (uint32_t i = 0; i <= layers; i++) { /* the last layer first */
        if (i < layers) {
            uint64_t bytes = cs_split(sharding->bytes, layers, layers - 1 - i);
            /* what was gathered before the forward pass has ended belongs to it */
            add(&c, CS_ALLGATHER, bytes, fmax(f, f + (i - ahead) * backward), f + i * backward);
        }
        if (i > 0) {
            uint64_t bytes = cs_split(sharding->bytes, layers, layers - i);
            add(&c, CS_REDUCESCATTER, bytes, f + i * backward, (double)INFINITY);
        }
    }
    return hand_over(&c, arena, t);
}

bool cs_training_experts(const cs_sharding *sharding, cs_arena *arena, cs_training *t)
{
    uint32_t layers = sharding->n_layers;
    double   f      = sharding->forward_ratio;
    calls    c;

    if (!make_room(&c, 4 * layers, arena)) {
        return false;
    }
    for (uint32_t half = 1; half <= 4 * layers; half++) {
        bool   is_back = half > 2 * layers;
        double part    = (is_back ? 1 - f : f) / (2.0 * layers);
        double ready   = is_back ? f + (half - 2 * layers) * part : half * part;
        add(&c, CS_ALLTOALL, sharding->bytes, ready, ready + sharding->overlap_ratio * part);
    }
    return hand_over(&c, arena, t);
}
