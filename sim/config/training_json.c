/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The key "training": see config/training_json.h.
 *
 *   "training": {"compute": "120ms", "overlap": 0.5, "tail": "8ms",
 *                "model": "llama-3.2-3b", "bytes_per_parameter": 4, "bucket": "25MiB"}
 *
 * or, instead of a model, "buckets": ["1GiB", "512MiB"].
 */
#include "config/training_json.h"

#include "config/scenario_json.h"
#include "cs/units.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define COUNT(list) (sizeof(list) / sizeof(list)[0])
#define MAX_TIME_S  1e6
#define MAX_BYTES   ((uint64_t)1 << 50)

static const char *const training_keys[] = {
    "compute", "overlap", "tail", "model", "bytes_per_parameter", "bucket", "buckets",
};

static bool is_there(const cs_field *parent, const char *key)
{
    return cs_field_get(parent, key).node != NULL;
}

static void read_time(cs_reading *r, const cs_field *parent, const char *key, double *time_s_p)
{
    cs_field field = cs_field_get(parent, key);

    cs_read_time(r, parent, key, time_s_p);
    if (!cs_reading_failed(r) && !(*time_s_p >= 0 && *time_s_p <= MAX_TIME_S)) {
        CS_REFUSE(r, &field, CS_EINVAL, "%.15g s is outside [0 s, %.15g s]", *time_s_p, MAX_TIME_S);
    }
}

static void check_size(cs_reading *r, const cs_field *field, uint64_t bytes)
{
    if (!cs_reading_failed(r) && (bytes == 0 || bytes > MAX_BYTES)) {
        CS_REFUSE(r, field, CS_EINVAL, "%" PRIu64 " is outside [1, %" PRIu64 "]", bytes, MAX_BYTES);
    }
}

/* Room for so many buckets and sizes; false (refused) without memory. */
static bool make_room(cs_reading *r, const cs_field *field, size_t n_buckets, size_t n_sizes,
                      uint32_t **size_of_p, uint64_t **size_bytes_p)
{
    *size_of_p    = CS_ARENA_NEW(r->arena, uint32_t, n_buckets);
    *size_bytes_p = CS_ARENA_NEW(r->arena, uint64_t, n_sizes);
    if (*size_of_p == NULL || *size_bytes_p == NULL) {
        CS_REFUSE(r, field, CS_ENOMEM, "out of memory for buckets");
        return false;
    }
    return true;
}

static uint64_t read_size(cs_reading *r, const cs_field *item)
{
    char        path[CS_PATH_BYTES];
    uint64_t    bytes = 0;
    const char *text  = cs_read_scalar(r, item);

    if (text != NULL) {
        cs_field_path(item, path);
        (void)cs_parse_bytes(text, &bytes, path, &r->error);
    }
    check_size(r, item, bytes);
    return bytes;
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
static void read_buckets(cs_reading *r, const cs_field *field, cs_training *t)
{
    cs_field  list    = cs_field_get(field, "buckets");
    size_t    count   = cs_read_array(r, &list);
    uint32_t *size_of = NULL;
    uint64_t *size_bytes;

    if (cs_reading_failed(r)) {
        return;
    }
    if (count < 1 || count > CS_MAX_LISTED_BUCKETS) {
        CS_REFUSE(r, &list, CS_EINVAL, "has %zu sizes: accepted are 1 to %d", count,
                  CS_MAX_LISTED_BUCKETS);
        return;
    }
    if (!make_room(r, &list, count, count, &size_of, &size_bytes)) {
        return;
    }
    for (size_t i = 0; i < count && !cs_reading_failed(r); i++) {
        cs_field item  = cs_field_item(&list, i);
        uint64_t bytes = read_size(r, &item);
        t->bytes += bytes;
        size_of[i] = place_of(bytes, size_bytes, &t->n_sizes);
    }
    t->n_buckets  = (uint32_t)count;
    t->size_of    = size_of;
    t->size_bytes = size_bytes;
}

static void read_workload(cs_reading *r, const cs_field *field, cs_training *t)
{
    cs_field    model = cs_field_get(field, "model"), each;
    const char *name  = NULL;
    uint64_t    bytes = 4;
    cs_error    wrong = {0};

    cs_read_text(r, field, "model", &name);
    if (!cs_reading_failed(r) && cs_workload_find(name, &t->workload, &wrong) != CS_OK) {
        CS_REFUSE(r, &model, wrong.status, "%s", wrong.message);
    }
    each = cs_field_get(field, "bytes_per_parameter");
    cs_read_whole(r, field, "bytes_per_parameter", 1, 8, &bytes);
    if (!cs_reading_failed(r) && (bytes & (bytes - 1)) != 0) {
        CS_REFUSE(r, &each, CS_EINVAL,
                  "%" PRIu64 " is the size of no number: accepted are 1, 2, "
                  "4 and 8",
                  bytes);
    }
    if (!cs_reading_failed(r)) {
        t->bytes = t->workload->n_parameters * bytes;
    }
}

/* A model's gradients: full buckets, then what is left. */
static void cut(cs_reading *r, const cs_field *field, cs_training *t)
{
    cs_field  bucket  = cs_field_get(field, "bucket");
    uint64_t  full    = t->bytes, *size_bytes;
    uint32_t *size_of = NULL;

    if (bucket.node != NULL && !json_is_null(bucket.node)) {
        cs_read_bytes(r, field, "bucket", &full);
        check_size(r, &bucket, full);
    }
    if (cs_reading_failed(r) || full == 0) {
        return;
    }
    full           = full < t->bytes ? full : t->bytes;
    uint64_t count = t->bytes / full, rest = t->bytes % full;
    uint64_t total = count + (rest > 0);
    if (total > CS_MAX_BUCKETS) {
        CS_REFUSE(r, &bucket, CS_EINVAL,
                  "%" PRIu64 " bytes make %" PRIu64 " buckets: accepted are at most %d", full,
                  total, CS_MAX_BUCKETS);
        return;
    }
    if (!make_room(r, field, total, 2, &size_of, &size_bytes)) {
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

/* What an iteration of training cannot have. */
static void refuse_contradictions(cs_reading *r, const cs_field *root, const cs_case *c)
{
    const cs_scenario *s     = &c->job.scenario;
    cs_field           bytes = cs_field_get(root, "bytes"), faults = cs_field_get(root, "faults");
    cs_field           collective = cs_field_get(root, "collective");

    if (bytes.node != NULL && !cs_reading_failed(r)) {
        CS_REFUSE(r, &bytes, CS_EINVAL, "the buckets of 'training' say how large the calls are");
    }
    if (s->collective != CS_ALLREDUCE && !cs_reading_failed(r)) {
        CS_REFUSE(r, &collective, CS_ENOTSUP, "the calls of 'training' are allreduce, not %s",
                  cs_collective_name(s->collective));
    }
    for (size_t i = 0; i < s->n_faults && !cs_reading_failed(r); i++) {
        if (s->faults[i].from_s > 0 || isfinite(s->faults[i].until_s)) {
            CS_REFUSE(r, &faults, CS_ENOTSUP,
                      "with 'training' NICs are slow from 0 and for ever; 'collsim whatif' has "
                      "faults that come and go");
        }
    }
}

void cs_read_training(cs_reading *r, const cs_field *root, cs_case *c)
{
    cs_field     field = cs_field_get(root, "training");
    cs_training *t     = &c->training;

    if (!cs_read_object(r, &field, training_keys, COUNT(training_keys))) {
        return;
    }
    cs_field buckets = cs_field_get(&field, "buckets");
    cs_read_required(r, &field, "compute");
    read_time(r, &field, "compute", &t->compute_s);
    cs_read_number(r, &field, "overlap", 0, 1, &t->overlap_ratio);
    read_time(r, &field, "tail", &t->tail_s);
    if (cs_reading_failed(r)) {
        return;
    }
    if (is_there(&field, "model") == (buckets.node != NULL)) {
        CS_REFUSE(r, &field, CS_EINVAL, "accepted are a 'model', or the sizes of its 'buckets'");
    } else if (buckets.node != NULL &&
               (is_there(&field, "bucket") || is_there(&field, "bytes_per_parameter"))) {
        CS_REFUSE(r, &buckets, CS_EINVAL,
                  "'bucket' and 'bytes_per_parameter' cut a 'model', sizes are taken as they are");
    } else if (buckets.node != NULL) {
        read_buckets(r, &field, t);
    } else {
        read_workload(r, &field, t);
        cut(r, &field, t);
    }
    refuse_contradictions(r, root, c);
    for (uint32_t i = 0; i < t->n_sizes && !cs_reading_failed(r); i++) {
        c->job.scenario.bytes = i == 0 || t->size_bytes[i] > c->job.scenario.bytes
                                    ? t->size_bytes[i]
                                    : c->job.scenario.bytes;
    }
}
