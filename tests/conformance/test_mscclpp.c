/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Plans of MSCCL++: samples of all that is modelled are right; whatever is taken away from them,
 * and from plans that this program writes, what is still accepted is right for an interpreter that
 * knows nothing of the library's, in every random order. The samples are in tests/exports/mscclpp.
 */
#include "base/alloc.h"
#include "base/file.h"
#include "schedules/export.h"
#include "schedules/schedule_json.h"
#include "support/mscclpp.h"
#include "support/rng.h"
#include "support/scene.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct sample {
    const char *name;
    uint32_t    root;
    bool        is_known; /* to the interpreter */
} sample;

static const sample samples[] = {
    {"allgather-put", 0, true},         {"allreduce-rres", 0, true},
    {"allreduce-barrier", 0, true},     {"reduce-ports", 1, true},
    {"allreduce-packets", 0, true},     {"broadcast-packets", 0, true},
    {"reducescatter-packets", 0, true}, {"allreduce-recspkt", 0, true},
    {"alltoall-twice", 0, true},        {"allreduce-slices", 0, false},
    {"allgather-group", 0, false},
};
enum { N_SAMPLES = sizeof samples / sizeof samples[0] };

static json_t *read_sample(const char *name)
{
    char         path[512], *text = NULL;
    size_t       length  = 0;
    cs_error     err     = {0};
    json_error_t problem = {0};

    (void)snprintf(path, sizeof path, COLLSIM_SOURCE_DIR "/tests/exports/mscclpp/%s.json", name);
    cr_assert_eq(cs_file_read(path, 1 << 20, &text, &length, &err), CS_OK, "%s", err.message);
    json_t *plan = json_loads(text, JSON_DECODE_INT_AS_REAL, &problem);
    cr_assert_not_null(plan, "%s: %s", name, problem.text);
    cs_free(text);
    return plan;
}

static json_t *export_plan(const char *algorithm, cs_collective collective, uint32_t n, uint32_t g)
{
    static ct_scene scene;
    cs_text         text = {0};
    cs_error        err  = {0};

    ct_scene_set(&scene, algorithm, collective, n, 4096 * n);
    scene.scenario.cluster.gpus_per_server = g;
    cr_assert_eq(ct_scene_check(&scene, &err), CS_OK, "%s", err.message);
    const cs_job job = ct_scene_job(&scene, NULL);
    cr_assert_eq(cs_export_schedule(&job, CS_EXPORT_MSCCLPP, &text, &err), CS_OK, "%s",
                 err.message);
    json_t *plan = json_loads(text.data, JSON_DECODE_INT_AS_REAL, NULL);
    cr_assert_not_null(plan);
    cs_text_free(&text);
    return plan;
}

/* What the library says of a plan; CS_EWRONG also where the verifier says no. */
static cs_status judge(const json_t *plan, cs_error *err, uint32_t *root_p)
{
    char      *text    = json_dumps(plan, JSON_COMPACT);
    cs_stored *stored  = NULL;
    cs_verdict verdict = {0};
    cs_status  status  = cs_schedule_parse(text, strlen(text), "plan", &stored, err);

    if (status == CS_OK) {
        *root_p = stored->root;
        cr_assert_eq(cs_schedule_verify(stored, &verdict, err), CS_OK, "%s", err->message);
        status = verdict.is_correct ? CS_OK : CS_FAIL(err, CS_EWRONG, "", "%s", verdict.text);
    } else {
        cr_assert(err->message[0] != '\0' && err->input_line > 0, "%s", err->message);
    }
    cs_stored_free(stored);
    free(text);
    return status;
}

/* In how many of so many random orders is it not right? */
static uint32_t count_wrong(const json_t *plan, uint32_t root, uint32_t tries)
{
    uint32_t n = 0;

    for (uint64_t seed = 1; seed <= tries; seed++) {
        n += ct_mscclpp_run(plan, seed, root) != CT_MSCCLPP_RIGHT;
    }
    return n;
}

Test(conformance_mscclpp, samples_are_right)
{
    for (size_t i = 0; i < N_SAMPLES; i++) {
        json_t  *plan = read_sample(samples[i].name);
        uint32_t root = 9;
        cs_error err  = {0};
        cr_assert_eq(judge(plan, &err, &root), CS_OK, "%s: %s", samples[i].name, err.message);
        cr_assert_eq(root, samples[i].root, "%s: root %u", samples[i].name, root);
        cr_assert(!samples[i].is_known || count_wrong(plan, root, CT_CASES(40)) == 0, "%s",
                  samples[i].name);
        json_decref(plan);
    }
}

/* Taking away. */

static json_t *ops_at(const json_t *plan, size_t gpu, size_t block)
{
    const json_t *g = json_array_get(json_object_get(plan, "gpus"), gpu);
    return json_object_get(json_array_get(json_object_get(g, "threadblocks"), block), "ops");
}

static const char *name_at(const json_t *plan, size_t gpu, size_t block, size_t op)
{
    return json_string_value(json_object_get(json_array_get(ops_at(plan, gpu, block), op), "name"));
}

typedef struct counts {
    size_t n, n_refused, n_confirmed; /* confirmed: wrong in some random order, too */
} counts;

/* Judge a mutant: what is accepted must be right. */
static bool check_mutant(const char *name, const json_t *mutant, uint32_t root, bool is_known,
                         counts *c)
{
    cs_error  err    = {0};
    uint32_t  read   = root;
    cs_status status = judge(mutant, &err, &read);
    bool      is_ok  = status == CS_OK && read == root;

    c->n++;
    cr_assert(status == CS_OK || status == CS_EWRONG, "%s: %s", name, err.message);
    if (is_ok && is_known) {
        cr_assert_eq(count_wrong(mutant, root, CT_CASES(30)), 0, "%s: accepted, and wrong", name);
    }
    c->n_refused += !is_ok;
    c->n_confirmed += !is_ok && is_known && count_wrong(mutant, root, CT_CASES(30)) > 0;
    return is_ok;
}

/* Every operation is lost once. Signals, waits, what moves data: all are missed. */
static counts lose_ops(const char *name, const json_t *plan, uint32_t root, bool is_known)
{
    counts c = {0};

    for (size_t g = 0; g < json_array_size(json_object_get(plan, "gpus")); g++) {
        for (size_t b = 0; ops_at(plan, g, b) != NULL; b++) {
            for (size_t i = 0; i < json_array_size(ops_at(plan, g, b)); i++) {
                char        text[160];
                const char *op     = name_at(plan, g, b, i);
                json_t     *mutant = json_deep_copy(plan);
                (void)json_array_remove(ops_at(mutant, g, b), i);
                (void)snprintf(text, sizeof text, "%s without op %zu (%s) of block %zu of GPU %zu",
                               name, i, op, b, g);
                bool is_ok = check_mutant(text, mutant, root, is_known, &c);
                cr_assert(!is_ok || strcmp(op, "nop") == 0 || strcmp(op, "flush") == 0 ||
                              (strcmp(op, "copy") == 0 && strcmp(name, "alltoall-twice") != 0),
                          "%s is not missed", text);
                json_decref(mutant);
            }
        }
    }
    return c;
}

Test(conformance_mscclpp, what_is_lost_is_missed)
{
    counts all = {0};

    for (size_t i = 0; i < N_SAMPLES; i++) {
        json_t *plan = read_sample(samples[i].name);
        counts  c    = lose_ops(samples[i].name, plan, samples[i].root, samples[i].is_known);
        all.n += c.n;
        all.n_refused += c.n_refused;
        all.n_confirmed += c.n_confirmed;
        json_decref(plan);
    }
    cr_assert_eq(all.n, 211);
    cr_assert_eq(all.n_refused, 199, "%zu", all.n_refused);
    cr_assert_gt(all.n_confirmed, 120, "%zu", all.n_confirmed);
}

/* A signal and the wait for it. */

/* One thread of an operation that signals or waits. */
typedef struct lane {
    size_t gpu, block, op, index;
    bool   waits;
    bool   is_port;
    long   channel; /* of the GPU */
    long   turn;    /* of all such of the channel */
} lane;

enum { MOST_LANES = 4000 };
static lane   lanes[MOST_LANES];
static size_t n_lanes;

static long number_at(const json_t *list, size_t i)
{
    return (long)json_number_value(json_array_get(list, i));
}

/* The channel of the GPU that number `at` of a thread block means. */
static long channel_of(const json_t *block, const char *type, long at)
{
    const json_t *list;
    size_t        i;

    json_array_foreach(json_object_get(block, "channels"), i, list)
    {
        const json_t *ids = json_object_get(list, "channel_ids");
        if (strcmp(json_string_value(json_object_get(list, "channel_type")), type) == 0) {
            return number_at(ids, (size_t)at);
        }
    }
    return -1;
}

static void list_lanes_of(const json_t *plan, size_t g, size_t b, size_t i)
{
    const json_t *gpu   = json_array_get(json_object_get(plan, "gpus"), g);
    const json_t *block = json_array_get(json_object_get(gpu, "threadblocks"), b);
    const json_t *op    = json_array_get(ops_at(plan, g, b), i);
    const char   *name  = name_at(plan, g, b, i), *type;
    const json_t *ids   = json_object_get(op, "channel_ids");
    bool          waits = strstr(name, "wait") != NULL;

    if (!waits && strstr(name, "signal") == NULL && strncmp(name, "pws", 3) != 0) {
        return;
    }
    type = json_string_value(json_object_get(op, "channel_type"));
    for (size_t k = 0; k < json_array_size(ids); k++) {
        lane l = {g,
                  b,
                  i,
                  k,
                  waits,
                  strcmp(type, "port") == 0,
                  channel_of(block, type, number_at(ids, k)),
                  0};
        for (size_t j = 0; j < n_lanes; j++) {
            l.turn += lanes[j].gpu == g && lanes[j].is_port == l.is_port &&
                      lanes[j].channel == l.channel && lanes[j].waits == waits;
        }
        cr_assert_lt(n_lanes, MOST_LANES);
        lanes[n_lanes++] = l;
    }
}

static void list_lanes(const json_t *plan)
{
    n_lanes = 0;
    for (size_t g = 0; g < json_array_size(json_object_get(plan, "gpus")); g++) {
        for (size_t b = 0; ops_at(plan, g, b) != NULL; b++) {
            for (size_t i = 0; i < json_array_size(ops_at(plan, g, b)); i++) {
                list_lanes_of(plan, g, b, i);
            }
        }
    }
}

/* The peer of a channel, and how many channels to it come before. */
static long peer_of(const json_t *plan, size_t g, bool is_port, long channel, long *before_p)
{
    const json_t *gpu = json_array_get(json_object_get(plan, "gpus"), g), *list;
    size_t        i;

    json_array_foreach(json_object_get(gpu, "channels"), i, list)
    {
        const char   *type  = json_string_value(json_object_get(list, "channel_type"));
        const json_t *peers = json_object_get(list, "connected_to");
        if ((strcmp(type, "port") == 0) != is_port) {
            continue;
        }
        long peer = number_at(peers, (size_t)channel);
        *before_p = 0;
        for (long k = 0; k < channel; k++) {
            *before_p += number_at(peers, (size_t)k) == peer;
        }
        return peer;
    }
    return -1;
}

/* The signal that a wait is for. */
static const lane *signal_of(const json_t *plan, const lane *wait)
{
    long before = 0, peer = peer_of(plan, wait->gpu, wait->is_port, wait->channel, &before);

    for (size_t i = 0; i < n_lanes; i++) {
        const lane *l    = &lanes[i];
        long        back = 0;
        if (l->waits || (long)l->gpu != peer || l->is_port != wait->is_port ||
            l->turn != wait->turn) {
            continue;
        }
        if (peer_of(plan, l->gpu, l->is_port, l->channel, &back) == (long)wait->gpu &&
            back == before) {
            return l;
        }
    }
    return NULL;
}

/* Take a thread out of an operation. A put that signals still puts, and flushes. */
static void drop_lane(json_t *plan, const lane *l)
{
    json_t     *op   = json_array_get(ops_at(plan, l->gpu, l->block), l->op);
    const char *name = name_at(plan, l->gpu, l->block, l->op);

    if (strncmp(name, "pws", 3) != 0) {
        (void)json_array_remove(json_object_get(op, "channel_ids"), l->index);
        return;
    }
    if (strcmp(name, "pwsf") == 0) {
        json_t *flush =
            json_pack("{ssssso}", "name", "flush", "channel_type", "port", "channel_ids",
                      json_deep_copy(json_object_get(op, "channel_ids")));
        (void)json_array_insert_new(ops_at(plan, l->gpu, l->block), l->op + 1, flush);
    }
    (void)json_object_set_new(op, "name", json_string("put"));
}

/* Operations without any thread are none. */
static void drop_empty(json_t *plan)
{
    for (size_t g = 0; g < json_array_size(json_object_get(plan, "gpus")); g++) {
        for (size_t b = 0; ops_at(plan, g, b) != NULL; b++) {
            json_t *ops = ops_at(plan, g, b);
            for (size_t i = json_array_size(ops); i-- > 0;) {
                const json_t *ids = json_object_get(json_array_get(ops, i), "channel_ids");
                if (ids != NULL && json_array_size(ids) == 0) {
                    (void)json_array_remove(ops, i);
                }
            }
        }
    }
}

/* Every wait is lost once together with its signal, so that all others still have theirs. */
static counts lose_pairs(const char *name, const json_t *plan, uint32_t root)
{
    counts c = {0};

    list_lanes(plan);
    for (size_t i = 0; i < n_lanes; i++) {
        const lane *wait = &lanes[i], *signal = wait->waits ? signal_of(plan, wait) : NULL;
        char        text[160];
        if (!wait->waits) {
            continue;
        }
        cr_assert_not_null(signal, "%s: wait %zu", name, i);
        json_t *mutant = json_deep_copy(plan);
        drop_lane(mutant, wait); /* first: the other may bring a flush into its list */
        drop_lane(mutant, signal);
        drop_empty(mutant);
        (void)snprintf(text, sizeof text, "%s without wait %zu.%zu.%zu.%zu and its signal", name,
                       wait->gpu, wait->block, wait->op, wait->index);
        (void)check_mutant(text, mutant, root, true, &c);
        json_decref(mutant);
    }
    return c;
}

typedef struct expected {
    const char   *name; /* of a sample, or of an algorithm */
    cs_collective collective;
    uint32_t      n, g; /* n = 0: a sample */
    size_t        pairs, refused;
} expected;

/* What is left of the pairs is not needed: allreduce-barrier waits twice for what it needs once,
 * alltoall-twice signals twice; and of those that are written, most that say that a receiver is
 * ready follow from others. */
static const expected table[] = {
    {"allgather-put", 0, 0, 0, 12, 12},   {"allreduce-rres", 0, 0, 0, 12, 12},
    {"allreduce-barrier", 0, 0, 0, 8, 4}, {"reduce-ports", 0, 0, 0, 3, 3},
    {"alltoall-twice", 0, 0, 0, 6, 2},    {"ring", CS_ALLREDUCE, 3, 1, 24, 11},
    {"ring", CS_ALLGATHER, 4, 2, 24, 16}, {"rhd", CS_ALLREDUCE, 4, 4, 32, 14},
    {"tree", CS_BROADCAST, 4, 4, 12, 8},
};

Test(conformance_mscclpp, pairs_that_are_lost_are_missed_or_not_needed)
{
    size_t n_refused = 0, n_confirmed = 0;

    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        const expected *e = &table[i];
        json_t         *plan =
            e->n == 0 ? read_sample(e->name) : export_plan(e->name, e->collective, e->n, e->g);
        uint32_t root = strcmp(e->name, "reduce-ports") == 0;
        cr_assert_eq(count_wrong(plan, root, CT_CASES(30)), 0, "%s", e->name);
        counts c = lose_pairs(e->name, plan, root);
        cr_assert(c.n == e->pairs && c.n_refused == e->refused, "%s: %zu of %zu refused", e->name,
                  c.n_refused, c.n);
        n_refused += c.n_refused;
        n_confirmed += c.n_confirmed;
        json_decref(plan);
    }
    cr_assert_gt(n_confirmed, n_refused / 2, "%zu of %zu go wrong", n_confirmed, n_refused);
}
