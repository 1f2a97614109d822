/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Races of a program: does anything order every two steps that use a chunk of which one writes it?
 *
 * A step comes before another if there is a way along these: the steps of a thread block in order;
 * a step and the one that waits for it; a send and its receive. How far a step can see back is a
 * vector clock: per thread block, how many of its steps come before. For the thread blocks of one
 * GPU, first over ways inside the GPU; the pairs that are left, if any, over all ways, for some
 * thread blocks at a time. O(steps of a GPU x its thread blocks) time and memory, and O(all steps)
 * for every STRIDE thread blocks whose order rests on other GPUs; more than MOST_PASSES of these
 * are refused.
 *
 * A plan (cs_msccl_order) says itself which steps of a thread block come one behind the other, and
 * its steps use chunks of other GPUs, so that all its pairs are looked at over all ways. That is
 * done twice where signals are relaxed: what was written before one need not be seen behind it. A
 * GPU's call begins with a write of its input and output, and ends with one: who comes before or
 * behind it races with those to whom the buffers belong.
 */
#include "schedules/msccl_program.h"

#include <stdio.h>
#include <string.h>

#define NONE CS_MSCCL_NONE

enum { STRIDE = 16, MOST_PASSES = 512 };
enum { PLAN_STRIDE = 64 }; /* of a plan, which needs most thread blocks */

#define MOST_WORK ((uint64_t)1 << 27) /* steps of all passes over a plan */
#define NO_SLOT   UINT8_MAX

/* Two steps of a GPU of which nothing inside it says that `before` comes before `after`. */
typedef struct doubt {
    uint32_t before, after, place;
    bool     was_written, is_written; /* by `before`, by `after` */
} doubt;

/* Who read a place since it was written. */
typedef struct place_use {
    uint32_t step, next;
} place_use;

typedef struct checker {
    const cs_msccl_run     *run;
    const cs_msccl_program *p;
    cs_arena                arena;
    cs_error               *err;
    uint32_t               *place_in;      /* [n_steps] number of a step among those of its GPU */
    uint32_t               *begin, *steps; /* steps of GPU g: steps[begin[g]] to begin[g + 1] */
    uint16_t               *clock;         /* [steps of the GPU][its thread blocks] */
    uint16_t               *wide;          /* [n_steps][STRIDE, of a plan PLAN_STRIDE] */
    uint32_t               *writer, *readers; /* [n_places] of the GPU, or NONE */
    place_use              *pool;
    uint32_t                n_pool;
    doubt                  *doubts;
    size_t                  n_doubts;
    uint32_t                n_passes;
    uint64_t                work;
    uint8_t                *slot; /* [n_blocks] of a plan, in this pass, or NO_SLOT */
} checker;

static const cs_msccl_block *block_of(const checker *c, uint32_t step)
{
    return &c->p->blocks[c->p->steps[step].block];
}

/* The step before it in its thread block, or NONE. */
static uint32_t previous(const checker *c, uint32_t step)
{
    return step > block_of(c, step)->first_step ? step - 1 : NONE;
}

static uint32_t number_of(const checker *c, uint32_t step)
{
    return step - block_of(c, step)->first_step + 1;
}

static void join_clock(uint16_t *clock, const uint16_t *other, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        clock[i] = clock[i] > other[i] ? clock[i] : other[i];
    }
}

/* Clocks over ways inside a GPU. */
static void follow_gpu(checker *c, uint32_t gpu)
{
    uint32_t n = c->p->gpus[gpu].n_blocks;

    for (uint32_t i = c->begin[gpu]; i < c->begin[gpu + 1]; i++) {
        uint32_t  step = c->steps[i], before = previous(c, step);
        uint32_t  wait  = c->p->steps[step].waits_for;
        uint16_t *clock = &c->clock[(size_t)c->place_in[step] * n];
        memset(clock, 0, n * sizeof *clock);
        if (before != NONE) {
            memcpy(clock, &c->clock[(size_t)c->place_in[before] * n], n * sizeof *clock);
        }
        if (wait != NONE) {
            join_clock(clock, &c->clock[(size_t)c->place_in[wait] * n], n);
        }
        clock[block_of(c, step)->id] = (uint16_t)number_of(c, step);
    }
}

/* The step that stands for one in the order of a plan. */
static uint32_t event_of(const checker *c, uint32_t step)
{
    return c->p->orders[step].event;
}

/* Is it plain that one event of a plan comes before another? A GPU's call is around its thread
 * blocks; in one of these it is behind a step that joins all before it. */
static bool is_plain(const checker *c, uint32_t before, uint32_t after)
{
    const cs_msccl_step *b = &c->p->steps[before], *a = &c->p->steps[after];
    uint32_t             gpu = c->p->blocks[a->block].gpu;

    if (before == c->p->begins[gpu] || after == c->p->ends[gpu]) {
        return c->p->blocks[b->block].gpu == gpu &&
               (before == c->p->begins[gpu] || b->block < c->p->n_threads);
    }
    if (a->block != b->block) {
        return false;
    }
    while (after != NONE && after > before && !c->p->orders[after].joins) {
        after = c->p->orders[after].base;
    }
    return after != NONE && after > before;
}

static void doubt_plan(checker *c, const doubt *d)
{
    const doubt *last = c->n_doubts > 0 ? &c->doubts[c->n_doubts - 1] : NULL;

    if (event_of(c, d->before) == event_of(c, d->after) ||
        is_plain(c, event_of(c, d->before), event_of(c, d->after)) ||
        (last != NULL && last->before == d->before && last->after == d->after &&
         last->was_written == d->was_written)) {
        return;
    }
    c->doubts[c->n_doubts++] = *d;
}

static void need_order(checker *c, uint32_t before, uint32_t after, uint32_t place,
                       bool was_written, bool is_written)
{
    if (c->p->orders != NULL) {
        doubt_plan(c, &(doubt){before, after, place, was_written, is_written});
        return;
    }
    const cs_msccl_block *b = block_of(c, before);
    uint32_t              n = c->p->gpus[b->gpu].n_blocks;

    if (before != after &&
        c->clock[(size_t)c->place_in[after] * n + b->id] < number_of(c, before)) {
        c->doubts[c->n_doubts++] = (doubt){before, after, place, was_written, is_written};
    }
}

static void read_place(checker *c, uint32_t step, uint32_t place)
{
    if (c->writer[place] != NONE) {
        need_order(c, c->writer[place], step, place, true, false);
    }
    c->pool[c->n_pool] = (place_use){step, c->readers[place]};
    c->readers[place]  = c->n_pool++;
}

static void write_place(checker *c, uint32_t step, uint32_t place)
{
    if (c->writer[place] != NONE) {
        need_order(c, c->writer[place], step, place, true, true);
    }
    for (uint32_t r = c->readers[place]; r != NONE; r = c->pool[r].next) {
        need_order(c, c->pool[r].step, step, place, false, true);
    }
    c->writer[place]  = step;
    c->readers[place] = NONE;
}

/* A packet says itself that it is there: who reads it needs no order. */
static bool reads(const checker *c, uint32_t step)
{
    return (c->p->steps[step].traits & CS_MSCCL_READS) != 0 &&
           (c->p->orders == NULL || !c->p->orders[step].is_flagged);
}

/* Places that are the caller's before and behind the GPU's call. */
static uint32_t n_callers(const checker *c)
{
    return c->p->orders != NULL ? c->run->n_places - c->p->n_scratch : 0;
}

/* All uses of chunks of a GPU, in the order in which the steps were taken. */
static void use_places(checker *c, uint32_t gpu)
{
    const cs_msccl_run *run = c->run;

    for (uint32_t i = 0; i < run->n_places; i++) {
        c->writer[i]  = i < n_callers(c) ? c->p->begins[gpu] : NONE;
        c->readers[i] = NONE;
    }
    c->n_pool = 0;
    for (uint32_t i = c->begin[gpu]; i < c->begin[gpu + 1]; i++) {
        const cs_msccl_step *s = &c->p->steps[c->steps[i]];
        uint32_t src = cs_msccl_place(c->p, run->aliases, gpu, s->src.buffer, s->src.offset);
        uint32_t dst = cs_msccl_place(c->p, run->aliases, gpu, s->dst.buffer, s->dst.offset);
        for (uint32_t k = 0; k < s->count; k++) {
            if (reads(c, c->steps[i])) {
                read_place(c, c->steps[i], src + k);
            }
            if ((s->traits & CS_MSCCL_WRITES) != 0) {
                write_place(c, c->steps[i], dst + k);
            }
        }
    }
    for (uint32_t i = 0; i < n_callers(c); i++) {
        write_place(c, c->p->ends[gpu], i);
    }
}

static cs_status fail_on_race(const checker *c, const doubt *d)
{
    const cs_msccl_step *before = &c->p->steps[d->before], *after = &c->p->steps[d->after];

    return CS_MSCCL_FAIL(c->err, CS_EWRONG, c->p, after,
                         "races with the step in line %d: both use the same chunk of GPU %u, one "
                         "writes it, and neither waits for the other",
                         before->line, block_of(c, d->before)->gpu);
}

/* Two operations of a plan. */

/* "chunk 3 of the scratch buffer of GPU 1" */
static void name_place(const checker *c, uint32_t gpu, uint32_t place,
                       char text[CS_MSCCL_NAME_BYTES])
{
    static const char *const names[]   = {"input", "output", "scratch"};
    uint32_t                 n_scratch = c->p->n_scratch, buffer = CS_MSCCL_INPUT;

    if (place >= c->run->n_places - n_scratch) {
        buffer = CS_MSCCL_SCRATCH;
        place -= c->run->n_places - n_scratch;
    } else if (!c->run->aliases && place >= cs_msccl_chunks_of(c->p, CS_MSCCL_INPUT)) {
        buffer = CS_MSCCL_OUTPUT;
        place -= cs_msccl_chunks_of(c->p, CS_MSCCL_INPUT);
    }
    (void)snprintf(text, CS_MSCCL_NAME_BYTES, "chunk %u of the %s buffer of GPU %u",
                   place / c->p->split,
                   c->run->aliases && buffer == CS_MSCCL_INPUT ? "in-place" : names[buffer], gpu);
}

static cs_status fail_on_pair(const checker *c, uint32_t gpu, const doubt *d)
{
    const cs_msccl_step *before = &c->p->steps[d->before], *after = &c->p->steps[d->after];
    uint32_t             first = event_of(c, d->before), second = event_of(c, d->after);
    char                 name[CS_MSCCL_NAME_BYTES], other[CS_MSCCL_NAME_BYTES];
    char                 place[CS_MSCCL_NAME_BYTES];

    name_place(c, gpu, d->place, place);
    if (d->before == c->p->begins[gpu] || d->after == c->p->ends[gpu]) {
        bool                 is_early = d->before == c->p->begins[gpu];
        const cs_msccl_step *s        = is_early ? after : before;
        bool                 writes   = is_early ? d->is_written : d->was_written;
        return CS_MSCCL_FAIL(c->err, CS_EWRONG, c->p, s,
                             "%s %s %s, which nothing orders %s of that GPU's call",
                             cs_msccl_step_name(c->p, s, name), writes ? "writes" : "reads", place,
                             is_early ? "behind the begin" : "before the end");
    }
    const cs_msccl_origin *o      = &c->p->origins[c->p->orders[first].origin];
    const cs_msccl_origin *p      = &c->p->origins[c->p->orders[second].origin];
    bool                   is_one = o->gpu == p->gpu && o->block == p->block;
    return CS_MSCCL_FAIL(c->err, CS_EWRONG, c->p, after, "%s %s %s, which %s %s, and %s",
                         cs_msccl_step_name(c->p, after, name), d->is_written ? "writes" : "reads",
                         place, cs_msccl_step_name(c->p, before, other),
                         d->was_written ? "writes" : "reads",
                         is_one ? "no nop stands between them" : "nothing orders the two");
}

/* Clocks over all ways, for the thread blocks that have a slot. With `sees` only over those on
 * which what was written is seen. */
static void follow_plan(checker *c, bool sees)
{
    for (uint32_t i = 0; i < c->p->n_steps; i++) {
        uint32_t              step = c->run->order[i], wait = c->p->steps[step].waits_for;
        const cs_msccl_order *o     = &c->p->orders[step];
        uint16_t             *clock = &c->wide[(size_t)step * PLAN_STRIDE];
        if (o->event != step) {
            continue;
        }
        memset(clock, 0, PLAN_STRIDE * sizeof *clock);
        if (o->base != NONE) {
            memcpy(clock, &c->wide[(size_t)o->base * PLAN_STRIDE], PLAN_STRIDE * sizeof *clock);
        }
        if (wait != NONE && !(sees && o->is_relaxed)) {
            join_clock(clock, &c->wide[(size_t)event_of(c, wait) * PLAN_STRIDE], PLAN_STRIDE);
        }
        if (!o->joins) {
            continue;
        }
        uint32_t first = o->base != NONE ? o->base + 1 : block_of(c, step)->first_step;
        for (uint32_t k = first; k < step; k++) {
            if (event_of(c, k) == k) {
                join_clock(clock, &c->wide[(size_t)k * PLAN_STRIDE], PLAN_STRIDE);
            }
        }
        uint8_t slot = c->slot[c->p->steps[step].block];
        if (slot != NO_SLOT) {
            clock[slot] = (uint16_t)number_of(c, step);
        }
    }
}

/* Is a doubt unfounded? True also where its thread block has no slot in this pass. */
static bool is_ordered(const checker *c, const doubt *d)
{
    uint32_t before = event_of(c, d->before), after = event_of(c, d->after);
    uint8_t  slot = c->slot[c->p->steps[before].block];

    return slot == NO_SLOT || c->wide[(size_t)after * PLAN_STRIDE + slot] >= number_of(c, before);
}

/* Give the thread blocks of doubts from *at on slots, as many as there are; false: nobody is left.
 */
static bool give_slots(checker *c, size_t *at)
{
    uint8_t n = 0;

    memset(c->slot, NO_SLOT, c->p->n_blocks);
    for (; *at < c->n_doubts; (*at)++) {
        uint8_t *slot = &c->slot[c->p->steps[event_of(c, c->doubts[*at].before)].block];
        if (*slot == NO_SLOT && n == PLAN_STRIDE) {
            break;
        }
        *slot = *slot == NO_SLOT ? n++ : *slot;
    }
    return n > 0;
}

static cs_status pass_plan(checker *c, uint32_t gpu, size_t begin, size_t end, bool sees)
{
    c->work += c->p->n_steps;
    if (c->work > MOST_WORK) {
        return CS_FAIL(c->err, CS_ENOTSUP, "gpus", "a plan of %u steps is too large to be checked",
                       c->p->n_steps);
    }
    follow_plan(c, sees);
    for (size_t i = begin; i < end; i++) {
        const doubt *d = &c->doubts[i];
        if ((!sees || (d->was_written && d->before != c->p->begins[gpu])) && !is_ordered(c, d)) {
            return fail_on_pair(c, gpu, d);
        }
    }
    return CS_OK;
}

/* The doubts about the chunks of a GPU of a plan. */
static cs_status settle_plan(checker *c, uint32_t gpu)
{
    size_t end = 0;

    for (size_t begin = 0; give_slots(c, &end); begin = end) {
        CS_TRY(pass_plan(c, gpu, begin, end, false));
        if (c->p->relaxes) {
            CS_TRY(pass_plan(c, gpu, begin, end, true));
        }
    }
    return CS_OK;
}

/* Clocks over all ways, for STRIDE thread blocks of a GPU from `first` on. */
static void follow_all(checker *c, uint32_t gpu, uint32_t first)
{
    const cs_msccl_run *run = c->run;

    for (uint32_t i = 0; i < c->p->n_steps; i++) {
        uint32_t              step = run->order[i], before = previous(c, step);
        uint32_t              wait  = c->p->steps[step].waits_for;
        const cs_msccl_block *b     = block_of(c, step);
        uint16_t             *clock = &c->wide[(size_t)step * STRIDE];
        memset(clock, 0, STRIDE * sizeof *clock);
        if (before != NONE) {
            memcpy(clock, &c->wide[(size_t)before * STRIDE], STRIDE * sizeof *clock);
        }
        if (wait != NONE) {
            join_clock(clock, &c->wide[(size_t)wait * STRIDE], STRIDE);
        }
        if (run->incoming[step] != NONE) {
            join_clock(clock, &c->wide[(size_t)run->incoming[step] * STRIDE], STRIDE);
        }
        if (b->gpu == gpu && b->id >= first && b->id < first + STRIDE) {
            clock[b->id - first] = (uint16_t)number_of(c, step);
        }
    }
}

/* The doubts about the GPU, over all ways. */
static cs_status settle(checker *c, uint32_t gpu)
{
    for (uint32_t first = 0; c->n_doubts > 0 && first < c->p->gpus[gpu].n_blocks; first += STRIDE) {
        bool is_needed = false;
        for (size_t i = 0; i < c->n_doubts && !is_needed; i++) {
            uint32_t id = block_of(c, c->doubts[i].before)->id;
            is_needed   = id >= first && id < first + STRIDE;
        }
        if (!is_needed) {
            continue;
        }
        if (++c->n_passes > MOST_PASSES) {
            const cs_msccl_gpu *g = &c->p->gpus[gpu];
            cs_status           status =
                CS_FAIL(c->err, CS_ENOTSUP, "gpu",
                        "the order of more than %d thread blocks rests on other GPUs",
                        MOST_PASSES * STRIDE);
            cs_error_locate(c->err, c->p->input, g->line, g->column);
            return status;
        }
        follow_all(c, gpu, first);
        for (size_t i = 0; i < c->n_doubts; i++) {
            const doubt *d  = &c->doubts[i];
            uint32_t     id = block_of(c, d->before)->id;
            if (id >= first && id < first + STRIDE &&
                c->wide[(size_t)d->after * STRIDE + id - first] < number_of(c, d->before)) {
                return fail_on_race(c, d);
            }
        }
    }
    return CS_OK;
}

/* List the steps of every GPU; *most_clock_p and *most_uses_p are what one GPU needs. */
static cs_status list_steps(checker *c, size_t *most_clock_p, size_t *most_uses_p)
{
    const cs_msccl_program *p = c->p;

    c->begin    = CS_ARENA_NEW(&c->arena, uint32_t, (size_t)p->n_gpus + 2);
    c->steps    = CS_ARENA_NEW(&c->arena, uint32_t, p->n_steps);
    c->place_in = CS_ARENA_NEW(&c->arena, uint32_t, p->n_steps);
    if (c->begin == NULL || c->steps == NULL || c->place_in == NULL) {
        return CS_ENOMEM;
    }
    for (uint32_t i = 0; i < p->n_steps; i++) {
        c->begin[block_of(c, i)->gpu + 2]++;
    }
    for (uint32_t g = 0; g < p->n_gpus; g++) {
        c->begin[g + 2] += c->begin[g + 1];
    }
    for (uint32_t i = 0; i < p->n_steps; i++) {
        uint32_t step                                    = c->run->order[i];
        c->steps[c->begin[block_of(c, step)->gpu + 1]++] = step;
    }
    for (uint32_t g = 0; g < p->n_gpus; g++) {
        size_t uses = 0, n_steps = c->begin[g + 1] - c->begin[g];
        for (uint32_t i = c->begin[g]; i < c->begin[g + 1]; i++) {
            c->place_in[c->steps[i]] = i - c->begin[g];
            uses += c->p->steps[c->steps[i]].count;
        }
        *most_uses_p  = uses > *most_uses_p ? uses : *most_uses_p;
        n_steps       = p->orders != NULL ? 0 : n_steps * p->gpus[g].n_blocks;
        *most_clock_p = n_steps > *most_clock_p ? n_steps : *most_clock_p;
    }
    return CS_OK;
}

/* Every use is a doubt about at most one writer; a place_use is at most once one before a writer.
 */
static cs_status open_checker(checker *c)
{
    size_t most_clock = 1, most_uses = 1;

    if (list_steps(c, &most_clock, &most_uses) != CS_OK) {
        return CS_NO_MEMORY(c->err, "a schedule");
    }
    c->clock   = CS_ARENA_NEW(&c->arena, uint16_t, most_clock);
    c->wide    = CS_ARENA_NEW(&c->arena, uint16_t,
                              (size_t)c->p->n_steps * (c->p->orders != NULL ? PLAN_STRIDE : STRIDE));
    c->writer  = CS_ARENA_NEW(&c->arena, uint32_t, c->run->n_places);
    c->readers = CS_ARENA_NEW(&c->arena, uint32_t, c->run->n_places);
    c->pool    = CS_ARENA_NEW(&c->arena, place_use, most_uses);
    c->slot    = CS_ARENA_NEW(&c->arena, uint8_t, c->p->n_blocks);
    c->doubts  = CS_ARENA_NEW(&c->arena, doubt, 3 * most_uses + 2 * (size_t)n_callers(c));
    if (c->slot == NULL || c->clock == NULL || c->wide == NULL || c->writer == NULL ||
        c->readers == NULL || c->pool == NULL || c->doubts == NULL) {
        return CS_NO_MEMORY(c->err, "a schedule");
    }
    return CS_OK;
}

cs_status cs_msccl_check_order(const cs_msccl_run *run, cs_error *err)
{
    checker   c      = {.run = run, .p = run->program, .err = err};
    cs_status status = open_checker(&c);

    for (uint32_t g = 0; g < c.p->n_gpus && status == CS_OK; g++) {
        c.n_doubts = 0;
        if (c.p->orders == NULL) {
            follow_gpu(&c, g);
        }
        use_places(&c, g);
        status = c.p->orders == NULL ? settle(&c, g) : settle_plan(&c, g);
    }
    cs_arena_free(&c.arena);
    return status;
}
