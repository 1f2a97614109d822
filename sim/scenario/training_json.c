/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The key "training".
 *
 *   "training": {"compute": "120ms", "overlap": 0.5, "tail": "8ms",
 *                "model": "llama-3.2-3b", "bytes_per_parameter": 4, "bucket": "25MiB"}
 *
 * or, instead of a model, "buckets": ["1GiB", "512MiB"]. With "parallelism": "fsdp" or "experts"
 * the calls are those of scenario/training_calls.h:
 *
 *   {"compute": "2s", "parallelism": "fsdp", "model": "llama-3-8b", "bytes_per_parameter": 2}
 *   {"compute": "2s", "parallelism": "experts", "model": "mixtral-8x7b", "tokens": 4096}
 */
#include "scenario/scenario_json.h"
#include "scenario/training_calls.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define MAX_TIME_S 1e6
#define MAX_BYTES  ((double)((uint64_t)1 << 50))

typedef struct training_keys {
    double      compute_s, overlap_ratio, tail_s;
    const char *model;
    uint64_t    bytes_per_parameter, bucket; /* bucket: 0: one of everything */
    int         parallelism;                 /* DATA .. */
    double      forward_ratio;
    uint64_t    prefetch, tokens, bytes_per_activation;
    uint64_t   *buckets;
    size_t      n_buckets;
} training_keys;

enum { DATA, FSDP, EXPERTS };

/* clang-format off */
#define TIME(field, key, ...) \
    CS_KEY(training_keys, field, key, .unit = CS_UNIT_TIME, .max = MAX_TIME_S, __VA_ARGS__)
static const cs_field a_bucket[] = {
    {.name = "bucket", .type = CS_FIELD_U64, .unit = CS_UNIT_SIZE, .min = 1, .max = MAX_BYTES},
    CS_FIELD_END,
};
const cs_field cs_training_fields[] = {
    TIME(compute_s, "compute", .is_required = true, .help = "forward and backward, of every rank"),
    CS_KEY(training_keys, overlap_ratio, "overlap", .max = 1,
           .help = "part of the compute beside which calls may run"),
    TIME(tail_s, "tail", .help = "what follows the last call"),
    CS_KEY(training_keys, model, "model", .names = &cs_workload_names,
           .help = "'collsim list workloads'; this or 'buckets'"),
    CS_KEY(training_keys, bytes_per_parameter, "bytes_per_parameter", .fallback = 4, .min = 1, .max = 8,
           .help = "of a gradient: 1, 2, 4 or 8"),
    CS_KEY(training_keys, bucket, "bucket", .unit = CS_UNIT_SIZE, .min = 1, .max = MAX_BYTES,
           .has_null = true, .help = "what the model is cut into; null: nothing"),
    CS_KEY(training_keys, parallelism, "parallelism", .choices = "data|fsdp|experts",
           .help = "what is split: the batch, the parameters too, or the experts of a layer"),
    CS_KEY(training_keys, forward_ratio, "forward", .fallback = 1.0 / 3, .min = 0.01, .max = 0.99,
           .help = "part of the compute that is the forward pass; fsdp, experts"),
    CS_KEY(training_keys, prefetch, "prefetch", .fallback = 1, .max = 1000,
           .help = "layers whose parameters are gathered ahead; fsdp"),
    CS_KEY(training_keys, tokens, "tokens", .max = 1e9, .help = "of a rank and iteration; experts"),
    CS_KEY(training_keys, bytes_per_activation, "bytes_per_activation", .fallback = 2, .min = 1, .max = 8,
           .help = "of an element that goes to an expert: 1, 2, 4 or 8"),
    CS_KEY_LIST(training_keys, buckets, n_buckets, "buckets", a_bucket, .min = 1,
                .max = CS_MAX_LISTED_BUCKETS, .help = "sizes of the calls, in their order"),
    CS_FIELD_END,
};
/* clang-format on */

/* Room for so many buckets and sizes; false (refused) without memory. */
static bool make_room(cs_reading *r, const cs_place *field, size_t n_buckets, size_t n_sizes,
                      uint32_t **size_of_p, uint64_t **size_bytes_p)
{
    *size_of_p    = CS_ARENA_NEW(r->arena, uint32_t, n_buckets);
    *size_bytes_p = CS_ARENA_NEW(r->arena, uint64_t, n_sizes);
    if (*size_of_p == NULL || *size_bytes_p == NULL) {
        CS_REFUSE_MEMORY(r, field, "buckets");
        return false;
    }
    return true;
}

/* The place of a size among those that there are, where it is put if it is new. */
static uint32_t place_of(uint64_t bytes, uint64_t *size_bytes, uint32_t *n_sizes_p)
{
    uint32_t i = 0;

    while (i < *n_sizes_p && size_bytes[i] != bytes) {
        i++;
    }
    size_bytes[i] = bytes;
    *n_sizes_p += i == *n_sizes_p;
    return i;
}

/* "buckets": the sizes one by one. */
static void list_buckets(cs_reading *r, const cs_place *place, const training_keys *keys,
                         cs_training *t)
{
    uint32_t *size_of = NULL;
    uint64_t *size_bytes;

    if (!make_room(r, place, keys->n_buckets, keys->n_buckets, &size_of, &size_bytes)) {
        return;
    }
    for (size_t i = 0; i < keys->n_buckets; i++) {
        t->bytes += keys->buckets[i];
        size_of[i] = place_of(keys->buckets[i], size_bytes, &t->n_sizes);
    }
    t->n_buckets  = (uint32_t)keys->n_buckets;
    t->size_of    = size_of;
    t->size_bytes = size_bytes;
}

/* A model's gradients: full buckets, then what is left. */
static void cut(cs_reading *r, const cs_place *place, const training_keys *keys, cs_training *t)
{
    cs_place  bucket = cs_place_get(place, "bucket");
    uint64_t  full   = keys->bucket > 0 && keys->bucket < t->bytes ? keys->bucket : t->bytes;
    uint64_t  count = t->bytes / full, rest = t->bytes % full;
    uint64_t  total   = count + (rest > 0), *size_bytes;
    uint32_t *size_of = NULL;

    if (total > CS_MAX_BUCKETS) {
        CS_REFUSE(r, &bucket, CS_EINVAL,
                  "%" PRIu64 " bytes make %" PRIu64 " buckets: accepted are at most %d", full,
                  total, CS_MAX_BUCKETS);
        return;
    }
    if (!make_room(r, place, total, 2, &size_of, &size_bytes)) {
        return;
    }
    memset(size_of, 0, total * sizeof *size_of);
    size_of[total - 1] = rest > 0;
    size_bytes[0]      = full;
    size_bytes[1]      = rest;
    t->n_buckets       = (uint32_t)total;
    t->n_sizes         = rest > 0 ? 2 : 1;
    t->size_of         = size_of;
    t->size_bytes      = size_bytes;
}

/* Which keys are for which parallelism. */
static void refuse_foreign_keys(cs_reading *r, const cs_place *place, const training_keys *keys)
{
    static const struct {
        const char *key, *needs;
        unsigned    takers; /* bits 1 << DATA .. */
    } rows[] = {
        {"bucket", "data", 1u << DATA},
        {"buckets", "data", 1u << DATA},
        {"overlap", "data and experts", 1u << DATA | 1u << EXPERTS},
        {"bytes_per_parameter", "data and fsdp", 1u << DATA | 1u << FSDP},
        {"forward", "fsdp and experts", 1u << FSDP | 1u << EXPERTS},
        {"prefetch", "fsdp", 1u << FSDP},
        {"tokens", "experts", 1u << EXPERTS},
        {"bytes_per_activation", "experts", 1u << EXPERTS},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0] && !cs_reading_failed(r); i++) {
        cs_place field = cs_place_get(place, rows[i].key);
        if (field.node != NULL && (rows[i].takers >> keys->parallelism & 1u) == 0) {
            CS_REFUSE(r, &field, CS_EINVAL, "is accepted with the parallelism %s", rows[i].needs);
        }
    }
}

static bool is_size_of_number(cs_reading *r, const cs_place *place, const char *key, uint64_t bytes)
{
    cs_place each = cs_place_get(place, key);

    if ((bytes & (bytes - 1)) == 0) {
        return true;
    }
    CS_REFUSE(r, &each, CS_EINVAL,
              "%" PRIu64 " is the size of no number: accepted are 1, 2, "
              "4 and 8",
              bytes);
    return false;
}

/* The calls of sharded parameters or experts. */
static void shard(cs_reading *r, const cs_place *place, const training_keys *keys, cs_training *t)
{
    const cs_workload *w      = t->workload;
    cs_place           tokens = cs_place_get(place, "tokens"), model = cs_place_get(place, "model");
    bool               is_fsdp = keys->parallelism == FSDP;
    cs_sharding        s       = {.n_layers      = is_fsdp ? w->n_layers : w->n_expert_layers,
                                  .forward_ratio = keys->forward_ratio,
                                  .prefetch      = (uint32_t)keys->prefetch,
                                  .overlap_ratio = keys->overlap_ratio};

    if (!is_fsdp && w->n_experts == 0) {
        CS_REFUSE(r, &model, CS_EINVAL,
                  "%s has no experts: accepted are mixtral-8x7b and deepseek-v3", w->name);
    } else if (!is_fsdp && keys->tokens == 0) {
        CS_REFUSE(r, tokens.node != NULL ? &tokens : place, CS_EINVAL,
                  "experts need the number of 'tokens' of a rank, at least 1");
    } else if (is_fsdp) {
        s.bytes = w->n_parameters * keys->bytes_per_parameter;
    } else {
        s.bytes = keys->tokens * w->n_chosen * w->width * keys->bytes_per_activation;
    }
    if (!cs_reading_failed(r) &&
        !(is_fsdp ? cs_training_fsdp : cs_training_experts)(&s, r->arena, t)) {
        CS_REFUSE_MEMORY(r, place, "calls");
    }
}

static void read_workload(cs_reading *r, const cs_place *place, const training_keys *keys,
                          cs_training *t)
{
    uint64_t bytes = keys->bytes_per_parameter;

    if (!is_size_of_number(r, place, "bytes_per_parameter", bytes) ||
        !is_size_of_number(r, place, "bytes_per_activation", keys->bytes_per_activation) ||
        cs_workload_find(keys->model, &t->workload, &r->error) != CS_OK) {
        return;
    }
    if (keys->parallelism == DATA) {
        t->bytes = t->workload->n_parameters * bytes;
        cut(r, place, keys, t);
    } else {
        shard(r, place, keys, t);
    }
}

/* The first call's collective is that of the case, and its algorithm where none is named. */
static void set_collective(cs_reading *r, const cs_place *root, cs_case *c)
{
    const cs_training *t = &c->training;
    cs_scenario       *s = &c->job.scenario;

    if (t->size_collective == NULL || cs_reading_failed(r)) {
        return;
    }
    s->collective = t->size_collective[0];
    if (!cs_place_has(root, "algorithm")) {
        (void)!cs_algorithm_find(cs_default_algorithm(&s->cluster, s->collective),
                                 &c->job.algorithm, &r->error);
        c->job.options = (cs_options){0};
        cs_fields_default(c->job.algorithm->options, &c->job.options);
    }
}

/* What an iteration of training cannot have. */
static void refuse_contradictions(cs_reading *r, const cs_place *root, const cs_case *c)
{
    const cs_scenario *s     = &c->job.scenario;
    cs_place           bytes = cs_place_get(root, "bytes"), faults = cs_place_get(root, "faults");
    cs_place           collective = cs_place_get(root, "collective");

    if (bytes.node != NULL && !cs_reading_failed(r)) {
        CS_REFUSE(r, &bytes, CS_EINVAL, "the buckets of 'training' say how large the calls are");
    }
    cs_collective first =
        c->training.size_collective != NULL ? c->training.size_collective[0] : CS_ALLREDUCE;
    if (collective.node != NULL && s->collective != first && !cs_reading_failed(r)) {
        CS_REFUSE(r, &collective, CS_ENOTSUP, "the calls of 'training' are %s, not %s",
                  first == CS_ALLGATHER ? "allgather and reducescatter" : cs_collective_name(first),
                  cs_collective_name(s->collective));
    }
    for (size_t i = 0; i < s->n_capacity && !cs_reading_failed(r); i++) {
        if (s->capacity[i].from_s > 0 || isfinite(s->capacity[i].until_s)) {
            CS_REFUSE(r, &faults, CS_ENOTSUP,
                      "with 'training' NICs are slow from 0 and for ever; 'collsim whatif' has "
                      "faults that come and go");
        }
    }
}

void cs_read_training(cs_reading *r, const cs_place *place, const cs_field *row, void *object)
{
    cs_case      *c    = object;
    cs_training  *t    = &c->training;
    cs_place      root = *place->parent, buckets = cs_place_get(place, "buckets");
    training_keys keys = {.model = NULL};

    cs_fields_default(row->fields, &keys);
    if (!cs_read_fields(r, place, row->fields, &keys)) {
        return;
    }
    t->compute_s     = keys.compute_s;
    t->overlap_ratio = keys.overlap_ratio;
    t->tail_s        = keys.tail_s;
    refuse_foreign_keys(r, place, &keys);
    if (cs_reading_failed(r)) {
        return;
    }
    if ((keys.model != NULL) == (buckets.node != NULL)) {
        CS_REFUSE(r, place, CS_EINVAL, "accepted are a 'model', or the sizes of its 'buckets'");
    } else if (buckets.node != NULL &&
               (cs_place_has(place, "bucket") || cs_place_has(place, "bytes_per_parameter"))) {
        CS_REFUSE(r, &buckets, CS_EINVAL,
                  "'bucket' and 'bytes_per_parameter' cut a 'model', sizes are taken as they are");
    } else if (buckets.node != NULL) {
        list_buckets(r, &buckets, &keys, t);
    } else {
        read_workload(r, place, &keys, t);
    }
    refuse_contradictions(r, &root, c);
    set_collective(r, &root, c);
    for (uint32_t i = 0; i < t->n_sizes && !cs_reading_failed(r); i++) {
        c->job.scenario.bytes = i == 0 || t->size_bytes[i] > c->job.scenario.bytes
                                    ? t->size_bytes[i]
                                    : c->job.scenario.bytes;
    }
}
