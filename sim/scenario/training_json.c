/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The key "training".
 *
 *   "training": {"compute": "120ms", "overlap": 0.5, "tail": "8ms",
 *                "model": "llama-3.2-3b", "bytes_per_parameter": 4, "bucket": "25MiB"}
 *
 * or, instead of a model, "buckets": ["1GiB", "512MiB"].
 */
#include "scenario/scenario_json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define MAX_TIME_S 1e6
#define MAX_BYTES  ((double)((uint64_t)1 << 50))

typedef struct training_keys {
    double      compute_s, overlap_ratio, tail_s;
    const char *model;
    uint64_t    bytes_per_parameter, bucket; /* bucket: 0: one of everything */
    uint64_t   *buckets;
    size_t      n_buckets;
} training_keys;

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

static void read_workload(cs_reading *r, const cs_place *place, const training_keys *keys,
                          cs_training *t)
{
    cs_place each  = cs_place_get(place, "bytes_per_parameter");
    uint64_t bytes = keys->bytes_per_parameter;

    if ((bytes & (bytes - 1)) != 0) {
        CS_REFUSE(r, &each, CS_EINVAL,
                  "%" PRIu64 " is the size of no number: accepted are 1, 2, "
                  "4 and 8",
                  bytes);
    } else if (cs_workload_find(keys->model, &t->workload, &r->error) == CS_OK) {
        t->bytes = t->workload->n_parameters * bytes;
        cut(r, place, keys, t);
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
    if (s->collective != CS_ALLREDUCE && !cs_reading_failed(r)) {
        CS_REFUSE(r, &collective, CS_ENOTSUP, "the calls of 'training' are allreduce, not %s",
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
    for (uint32_t i = 0; i < t->n_sizes && !cs_reading_failed(r); i++) {
        c->job.scenario.bytes = i == 0 || t->size_bytes[i] > c->job.scenario.bytes
                                    ? t->size_bytes[i]
                                    : c->job.scenario.bytes;
    }
}
