/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "support/stream.h"

#include "base/alloc.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { GUARD = 0x5a };

static void reserve(ct_stream *s, size_t more)
{
    if (s->count + more > s->capacity) {
        s->capacity  = 2 * (s->count + more);
        s->transfers = realloc(s->transfers, s->capacity * sizeof *s->transfers);
        s->fences    = realloc(s->fences, s->capacity * sizeof *s->fences);
        cr_assert(s->transfers != NULL && s->fences != NULL);
    }
}

void ct_stream_add(ct_stream *stream, cs_transfer transfer, const ct_fence *fence)
{
    bool has_fence = (transfer.flags & CS_FENCE) != 0;

    reserve(stream, 1);
    stream->transfers[stream->count] = transfer;
    stream->fences[stream->count++] =
        has_fence && fence != NULL ? *fence : (ct_fence){CS_FENCE_ALL, 0};
}

cs_transfer *ct_stream_send(ct_stream *stream, const cs_cluster *cluster, uint32_t src,
                            uint32_t dst, uint64_t bytes, cs_op op, uint32_t flags)
{
    uint32_t    fabric = cs_fabric_of(cluster, src, dst);
    cs_transfer t      = {.src       = src,
                          .dst       = dst,
                          .bytes     = bytes,
                          .span      = 1,
                          .flags     = (uint8_t)flags,
                          .op_fabric = cs_op_fabric(op, fabric)};

    ct_stream_add(stream, t, NULL);
    return &stream->transfers[stream->count - 1];
}

static void add_block(ct_stream *stream, const cs_block *block)
{
    const unsigned char *guard = (const unsigned char *)(block->transfers + block->capacity);
    ct_fence             fence = {block->fence_except, block->fence_s};

    cr_assert_leq(block->count, block->capacity);
    for (size_t i = 0; i < sizeof(cs_transfer); i++) {
        cr_assert_eq(guard[i], GUARD, "the block was written beyond its end");
    }
    for (size_t i = 0; i < block->count; i++) {
        cr_assert(i == 0 || (block->transfers[i].flags & CS_FENCE) == 0);
        cr_assert(i > 0 || (block->transfers[i].flags & CS_JOIN) == 0, "a message was torn apart");
        ct_stream_add(stream, block->transfers[i], &fence);
    }
}

ct_stream ct_stream_record(const ct_scene *scene, size_t capacity)
{
    const cs_algorithm *a      = scene->algorithm;
    ct_stream           stream = {0};
    void               *state  = NULL;
    cs_error            err    = {0};
    cs_block            block  = {.capacity = capacity};

    block.transfers = malloc((capacity + 1) * sizeof *block.transfers);
    cr_assert_not_null(block.transfers);
    memset(block.transfers, GUARD, (capacity + 1) * sizeof *block.transfers);
    const cs_job job = ct_scene_job(scene, NULL);
    cr_assert_eq(cs_job_open(&job, &state, &err), CS_OK, "%s", err.message);
    do {
        a->next_block(state, &block);
        add_block(&stream, &block);
    } while (block.count > 0);
    a->next_block(state, &block);
    cr_assert_eq(block.count, 0, "a stream that has ended goes on");
    a->close(state);
    a->close(NULL);
    free(block.transfers);
    return stream;
}

ct_stream ct_stream_copy(const ct_stream *stream)
{
    ct_stream copy = {0};

    reserve(&copy, stream->count);
    memcpy(copy.transfers, stream->transfers, stream->count * sizeof *copy.transfers);
    memcpy(copy.fences, stream->fences, stream->count * sizeof *copy.fences);
    copy.count = stream->count;
    return copy;
}

void ct_stream_free(ct_stream *stream)
{
    free(stream->transfers);
    free(stream->fences);
    *stream = (ct_stream){0};
}

bool ct_stream_equal(const ct_stream *a, const ct_stream *b)
{
    bool same = a->count == b->count &&
                memcmp(a->transfers, b->transfers, a->count * sizeof *a->transfers) == 0;

    for (size_t i = 0; same && i < a->count; i++) {
        same = a->fences[i].except == b->fences[i].except &&
               !(a->fences[i].cost_s < b->fences[i].cost_s) &&
               !(a->fences[i].cost_s > b->fences[i].cost_s);
    }
    return same;
}

/* Whatever takes a place takes the place's fence. */
static void move_fence(ct_stream *s, size_t from, size_t to)
{
    if ((s->transfers[from].flags & CS_FENCE) != 0) {
        s->transfers[from].flags &= (uint8_t)~CS_FENCE;
        s->transfers[to].flags |= CS_FENCE;
        s->fences[to] = s->fences[from];
    }
}

void ct_stream_insert(ct_stream *stream, size_t index, cs_transfer transfer)
{
    size_t behind = stream->count - index;

    reserve(stream, 1);
    memmove(stream->transfers + index + 1, stream->transfers + index,
            behind * sizeof *stream->transfers);
    memmove(stream->fences + index + 1, stream->fences + index, behind * sizeof *stream->fences);
    stream->count++;
    transfer.flags &= (uint8_t)~CS_FENCE;
    stream->transfers[index] = transfer;
    stream->fences[index]    = (ct_fence){CS_FENCE_ALL, 0};
    if (behind > 0) {
        move_fence(stream, index + 1, index);
    }
}

void ct_stream_remove(ct_stream *stream, size_t index)
{
    size_t behind = stream->count - index - 1;

    if (behind > 0) {
        move_fence(stream, index, index + 1);
    }
    memmove(stream->transfers + index, stream->transfers + index + 1,
            behind * sizeof *stream->transfers);
    memmove(stream->fences + index, stream->fences + index + 1, behind * sizeof *stream->fences);
    stream->count--;
}

typedef struct playback {
    const ct_stream *stream;
    size_t           next;
} playback;

static cs_status play_check(const cs_scenario *scenario, void *options, cs_plan *plan,
                            cs_error *err)
{
    (void)scenario;
    (void)options;
    (void)plan;
    (void)err;
    return CS_OK;
}

static cs_status play_open(const cs_scenario *scenario, const void *options, void **state_p,
                           cs_error *err)
{
    playback *p = CS_NEW(playback, 1);

    (void)scenario;
    if (p == NULL) {
        return CS_FAIL(err, CS_ENOMEM, "", "out of memory for a recorded stream");
    }
    memcpy(&p->stream, options, sizeof p->stream);
    *state_p = p;
    return CS_OK;
}

static void play_next_block(void *state, cs_block *block)
{
    playback        *p = state;
    const ct_stream *s = p->stream;

    block->count = 0;
    while (p->next < s->count && block->count < block->capacity) {
        bool has_fence = (s->transfers[p->next].flags & CS_FENCE) != 0;
        if (has_fence && block->count > 0) {
            return;
        }
        if (has_fence) {
            block->fence_except = s->fences[p->next].except;
            block->fence_s      = s->fences[p->next].cost_s;
        }
        block->transfers[block->count++] = s->transfers[p->next++];
    }
}

static const cs_algorithm played = {
    .name          = "played",
    .summary       = "a recorded stream",
    .source        = "tests",
    .collectives   = (1u << CS_COLLECTIVE_COUNT) - 1,
    .options_bytes = sizeof(const ct_stream *),
    .check         = play_check,
    .open          = play_open,
    .next_block    = play_next_block,
    .close         = cs_free,
};

void ct_scene_play(ct_scene *scene, const ct_stream *stream, const cs_plan *plan)
{
    scene->algorithm = &played;
    scene->plan      = *plan;
    memset(&scene->options, 0, sizeof scene->options);
    memcpy(&scene->options, &stream, sizeof stream);
}

void ct_stream_add_random(ct_stream *stream, ct_rng *rng, const cs_cluster *cluster, uint32_t uses,
                          uint32_t slots, uint32_t most_span)
{
    uint32_t n = cluster->n_ranks, round = 0;

    for (int i = 0; i < 300; i++) {
        static const cs_op ops[] = {CS_OP_COPY, CS_OP_REDUCE, CS_OP_EXCHANGE};
        uint32_t           src = ct_below(rng, n), dst = (src + 1 + ct_below(rng, n - 1)) % n;
        cs_op              op    = ops[ct_below(rng, (uses & CS_USES_EXCHANGE) != 0 ? 3 : 2)];
        uint32_t           flags = ct_below(rng, 4);
        bool               is_shared =
            (uses & CS_USES_SHARED) != 0 && op != CS_OP_EXCHANGE && ct_below(rng, 4) == 0;
        cs_transfer *t = ct_stream_send(stream, cluster, src, dst, ct_below(rng, 1000), op,
                                        flags | (is_shared ? CS_SHARED : 0));
        t->span     = (uint16_t)(1 + ((uses & CS_USES_SPAN) != 0 ? ct_below(rng, most_span) : 0));
        t->src_slot = (uint16_t)ct_below(rng, slots - most_span + 1);
        t->dst_slot = (uint16_t)ct_below(rng, slots - most_span + 1);
        t->chunk    = ct_below(rng, 3);
        round += ct_below(rng, 5) == 0;
        t->round = round;
        if (ct_below(rng, 60) == 0) {
            t->flags |= CS_FENCE;
            stream->fences[stream->count - 1] =
                (ct_fence){ct_below(rng, 2) == 0 ? CS_FENCE_ALL : ct_below(rng, n), 0.25};
        }
    }
}
