/* SPDX-License-Identifier: GPL-3.0-or-later */
/* MSCCL XML, and plans of MSCCL++: what is exported comes back as the same schedule; samples in the
 * dialects of public files are read; and what the reader and the engine's verifier accept is right
 * for an interpreter that knows nothing of them, whatever was changed in the file.
 *
 * The samples (tests/exports/msccl) have what generators of algorithm files write: fused steps and
 * several channels (ring-ll), scratch buffers, nops that wait and sums of several steps
 * (allpairs-scratch, hierarchical), buffers of their own with local copies (allpairs-out-of-place,
 * allgather, alltoall), steps of several chunks, roots that are not said (broadcast, reduce), and
 * the other name of a reduce-scatter. */
#include "base/alloc.h"
#include "base/file.h"
#include "schedules/export.h"
#include "schedules/schedule_json.h"
#include "support/msccl.h"
#include "support/scene.h"
#include "support/stream.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char folder[] = COLLSIM_SOURCE_DIR "/tests/exports/msccl";

static const char *const samples[] = {
    "allgather", "allpairs-out-of-place", "allpairs-scratch", "alltoall",
    "broadcast", "hierarchical",          "reduce",           "reducescatter",
    "ring-ll"};
enum { N_SAMPLES = sizeof samples / sizeof samples[0] };

static cs_status export_scene(const ct_scene *scene, cs_export_format format, cs_text *text,
                              cs_error *err)
{
    const cs_job job = ct_scene_job(scene, NULL);
    return cs_export_schedule(&job, format, text, err);
}

static cs_stored *read_text(const char *name, const char *text)
{
    cs_stored *stored = NULL;
    cs_error   err    = {0};

    cr_assert_eq(cs_schedule_parse(text, strlen(text), name, &stored, &err), CS_OK, "%s:%d: %s",
                 name, err.input_line, err.message);
    return stored;
}

/* Round trips. */

/* The scene with its stored schedule instead of its algorithm. */
static cs_outcome replay_stored(const ct_scene *scene, const cs_stored *stored, const char *model)
{
    const cs_stored_options options = {stored};
    cs_job                  job     = ct_scene_given(scene, model);
    cs_outcome              outcome;
    cs_error                err = {0};

    cs_job_set_algorithm(&job, &cs_algorithm_stored, &options);
    cr_assert_eq(cs_job_resolve(&job, &err), CS_OK, "%s: %s", ct_scene_text(scene), err.message);
    cr_assert_eq(cs_job_replay(&job, NULL, 0, &outcome, &err), CS_OK, "%s: %s",
                 ct_scene_text(scene), err.message);
    cr_assert(outcome.verified, "%s: %s", ct_scene_text(scene), outcome.verdict.text);
    cs_job_release(&job);
    return outcome;
}

static bool has_fence(const ct_scene *scene)
{
    ct_stream stream = ct_stream_record(scene, 512);
    bool      found  = false;

    for (size_t i = 0; i < stream.count; i++) {
        found |= (stream.transfers[i].flags & CS_FENCE) != 0;
    }
    ct_stream_free(&stream);
    return found;
}

/* Where the file says all that the schedule does, both take the same time. It does not say that the
 * ends of an exchange start together, that a shared group pays alpha once, and that ranks wait for
 * each other at a barrier. */
static void compare(const ct_scene *scene, const cs_stored *stored)
{
    static const char *const models[] = {"alpha-beta", "loggp"};
    bool                     is_said =
        (scene->plan.uses & (CS_USES_EXCHANGE | CS_USES_SHARED)) == 0 && !has_fence(scene);

    for (size_t m = 0; m < 2; m++) {
        cs_outcome want = ct_scene_replay(scene, models[m]);
        cs_outcome got  = replay_stored(scene, stored, models[m]);
        cr_assert(want.verified, "%s: %s", ct_scene_text(scene), want.verdict.text);
        cr_assert_eq(got.n_transfers, want.n_transfers, "%s", ct_scene_text(scene));
        cr_assert_eq(got.wire_bytes, want.wire_bytes, "%s", ct_scene_text(scene));
        cr_assert(!is_said || ct_is_close(got.elapsed_s, want.elapsed_s, 1e-12),
                  "%s on %s: %.12g s, directly %.12g s", ct_scene_text(scene), models[m],
                  got.elapsed_s, want.elapsed_s);
    }
}

static size_t n_compared, n_exports, n_only_xml;

/* Of a plan of MSCCL++: what an executor holds. */
static void check_limits(const char *text)
{
    size_t n_ops = 0, n_blocks = 0, most_ops = 0;

    for (const char *at = text; (at = strstr(at, "\n")) != NULL; at++) {
        n_blocks += strncmp(at, "\n        \"id\"", 13) == 0;
        n_ops = strncmp(at, "\n        \"id\"", 13) == 0 ? 0 : n_ops;
        n_ops += strncmp(at, "\n          {\"name\"", 18) == 0;
        most_ops = n_ops > most_ops ? n_ops : most_ops;
    }
    cr_assert(n_blocks > 0 && most_ops > 0);
    cr_assert_leq(most_ops, 64, "%zu operations", most_ops);
}

static void round_trip(cs_export_format format, const cs_algorithm *a, cs_collective collective,
                       uint32_t n, uint32_t g)
{
    static ct_scene scene;
    ct_rng          rng  = ct_rng_for(n * 16 + g);
    cs_text         text = {0};
    cs_error        err  = {0};

    if ((a->collectives >> collective & 1u) == 0 || n % g != 0) {
        return;
    }
    ct_scene_set(&scene, a->name, collective, n, 12345 * n + 7);
    scene.scenario.cluster.gpus_per_server = g;
    ct_scene_arrive(&scene, &rng, n % 3 == 0 ? 0 : 1e-4);
    ct_scene_slow(&scene);
    if (ct_scene_check(&scene, &err) != CS_OK) {
        return;
    }
    if (export_scene(&scene, format, &text, &err) != CS_OK) {
        cs_text xml = {0};
        cr_assert_eq(err.status, CS_ENOTSUP, "%s", err.message);
        if (export_scene(&scene, CS_EXPORT_MSCCL, &xml, NULL) == CS_OK) {
            n_only_xml++;
            cr_assert_not_null(strstr(err.message, "33 thread blocks of 64 operations"), "%s: %s",
                               ct_scene_text(&scene), err.message);
        }
        cs_text_free(&xml);
        return;
    }
    if (format == CS_EXPORT_MSCCLPP) {
        check_limits(text.data);
    }
    cs_stored *stored = read_text(a->name, text.data);
    cr_assert_eq(stored->collective, collective);
    cr_assert_eq(stored->n_chunks, scene.plan.n_chunks);
    cr_assert_eq(stored->bytes, 0, "a file has no size");
    n_exports++;
    if (!scene.plan.chunks_differ) {
        compare(&scene, stored);
        n_compared++;
    }
    cs_stored_free(stored);
    cs_text_free(&text);
}

static void round_trips(cs_export_format format, uint32_t most_ranks)
{
    static const uint32_t ranks[] = {2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 16, 20, 24, 32, 40, 64};

    n_exports = n_compared = n_only_xml = 0;
    for (size_t i = 0; cs_algorithms[i] != NULL; i++) {
        for (cs_collective c = CS_ALLREDUCE; c < CS_COLLECTIVE_COUNT; c++) {
            for (size_t k = 0; k < sizeof ranks / sizeof ranks[0] && ranks[k] <= most_ranks; k++) {
                round_trip(format, cs_algorithms[i], c, ranks[k], 1);
                round_trip(format, cs_algorithms[i], c, ranks[k], 2);
                round_trip(format, cs_algorithms[i], c, ranks[k], 4);
            }
        }
    }
}

Test(conformance_msccl, exports_come_back)
{
    round_trips(CS_EXPORT_MSCCL, 64);
    cr_assert_gt(n_exports, 900, "%zu exports", n_exports);
    cr_assert_gt(n_compared, 600, "%zu comparisons", n_compared);
}

/* The same as plans of MSCCL++, verified by their signals; the executor holds less. */
Test(conformance_msccl, plans_come_back)
{
    round_trips(CS_EXPORT_MSCCLPP, 24);
    cr_assert_leq(n_only_xml, 1, "%zu, as XML %zu more", n_exports, n_only_xml);
    cr_assert_gt(n_exports, 1500, "%zu exports", n_exports);
    cr_assert_gt(n_compared, 400, "%zu comparisons", n_compared);
}

/* Samples, and what was changed in them. */

static char *read_sample(const char *name)
{
    char     path[512], *text = NULL;
    size_t   length = 0;
    cs_error err    = {0};

    (void)snprintf(path, sizeof path, "%s/%s.xml", folder, name);
    cr_assert_eq(cs_file_read(path, 1 << 20, &text, &length, &err), CS_OK, "%s", err.message);
    return text;
}

/* Does the library take it for a correct collective? *root_p is then what it takes for the root. */
static bool is_accepted(const char *text, uint32_t *root_p)
{
    cs_stored *stored  = NULL;
    cs_verdict verdict = {0};
    cs_error   err     = {0};
    cs_status  status  = cs_schedule_parse(text, strlen(text), "mutant", &stored, &err);

    if (status == CS_OK) {
        status = cs_schedule_verify(stored, &verdict, &err);
        cr_assert_eq(status, CS_OK, "%s", err.message);
        *root_p = stored->root;
    } else {
        cr_assert(status == CS_EPARSE || status == CS_EWRONG || status == CS_ENOTSUP ||
                      status == CS_EINVAL,
                  "%s", err.message);
        cr_assert(err.message[0] != '\0' && err.input_line > 0, "%s", err.message);
    }
    cs_stored_free(stored);
    return status == CS_OK && verdict.is_correct;
}

/* Is it right in every random order, in all ways in which it may be called? */
static bool is_right(const char *text, uint32_t root)
{
    ct_msccl *program  = ct_msccl_read(text);
    bool      in_place = strstr(text, "inplace=\"1\"") != NULL;
    bool      both     = strstr(text, "outofplace=\"1\"") != NULL && in_place;
    bool      is_right = program != NULL;

    for (uint64_t seed = 1; seed <= 6 && is_right; seed++) {
        ct_msccl_call call = {.seed = seed, .in_place = in_place, .root = root};
        is_right           = ct_msccl_run(program, &call) == CT_MSCCL_RIGHT;
        if (is_right && both) {
            call.in_place = false;
            is_right      = ct_msccl_run(program, &call) == CT_MSCCL_RIGHT;
        }
    }
    ct_msccl_free(program);
    return is_right;
}

Test(conformance_msccl, samples_are_read)
{
    static const uint32_t roots[N_SAMPLES] = {[4] = 2, [6] = 1};

    for (size_t i = 0; i < N_SAMPLES; i++) {
        char    *text = read_sample(samples[i]);
        uint32_t root = 0;
        cr_assert(is_accepted(text, &root), "%s", samples[i]);
        cr_assert_eq(root, roots[i], "%s: root %u", samples[i], root);
        cr_assert(is_right(text, root), "%s", samples[i]);
        cs_free(text);
    }
}

/* A file as lines. */
typedef struct file {
    char (*lines)[320];
    size_t n;
} file;

static file split(const char *text)
{
    file f = {0};

    for (size_t i = 0; text[i] != '\0'; i++) {
        f.n += text[i] == '\n';
    }
    f.lines = calloc(f.n + 2, sizeof *f.lines);
    for (size_t i = 0; i < f.n; i++) {
        size_t length = strcspn(text, "\n");
        cr_assert_lt(length, sizeof f.lines[0]);
        memcpy(f.lines[i], text, length);
        text += length + 1;
    }
    return f;
}

static char *join(const file *f)
{
    char  *text   = calloc(f->n + 1, sizeof f->lines[0]);
    size_t length = 0;

    for (size_t i = 0; i < f->n; i++) {
        length += (size_t)sprintf(text + length, "%s\n", f->lines[i]);
    }
    return text;
}

static bool is_step(const file *f, size_t i)
{
    return i < f->n && strstr(f->lines[i], "<step") != NULL;
}

static long get(const char *line, const char *name)
{
    char key[40];

    (void)snprintf(key, sizeof key, " %s=\"", name);
    const char *at = strstr(line, key);
    return at == NULL ? -99 : strtol(at + strlen(key), NULL, 10);
}

/* Put another value into an attribute of a line. */
static void set(char *line, const char *name, const char *value)
{
    char key[40], rest[320];

    (void)snprintf(key, sizeof key, " %s=\"", name);
    char *at = strstr(line, key);
    cr_assert_not_null(at, "%s", name);
    at += strlen(key);
    (void)snprintf(rest, sizeof rest, "%s", strchr(at, '"'));
    (void)snprintf(at, 320 - (size_t)(at - line), "%s%s", value, rest);
}

static void set_number(char *line, const char *name, long value)
{
    char text[24];

    (void)snprintf(text, sizeof text, "%ld", value);
    set(line, name, text);
}

/* The steps of the thread block around line i are numbered anew; who waited for them still waits
 * for the same ones, for `lost` for nothing. */
static void renumber(file *f, size_t i, long first_changed, long by)
{
    size_t begin = i, end = i, gpu;
    long   s = 0, block;

    while (strstr(f->lines[begin], "<tb") == NULL) {
        begin--;
    }
    block = get(f->lines[begin], "id");
    for (size_t k = begin + 1; is_step(f, k); k++) {
        set_number(f->lines[k], "s", s++);
    }
    for (gpu = begin; strstr(f->lines[gpu], "<gpu") == NULL; gpu--) {
    }
    for (end = begin; strstr(f->lines[end], "</gpu") == NULL; end++) {
    }
    for (size_t k = gpu; k < end; k++) {
        if (is_step(f, k) && get(f->lines[k], "depid") == block) {
            long deps = get(f->lines[k], "deps");
            set_number(f->lines[k], "deps", deps >= first_changed && deps > 0 ? deps + by : deps);
        }
    }
}

static void drop_line(file *f, size_t i)
{
    memmove(f->lines + i, f->lines + i + 1, (f->n - i - 1) * sizeof f->lines[0]);
    f->n--;
}

typedef enum mutation {
    LOSE,      /* a step, without more */
    DROP,      /* a step, with everything numbered anew */
    SHIFT_SRC, /* by a chunk */
    SHIFT_DST,
    NO_WAIT, /* for another step */
    OTHER_TYPE,
    LONGER, /* by a chunk */
    TWICE,  /* the step */
    SWAP,   /* with the one behind it */
    OTHER_BUFFER,
    NO_MARK,    /* that others wait for it */
    OTHER_PEER, /* of the thread block */
    N_MUTATIONS,
} mutation;

static const char *other_type(const char *line, ct_rng *rng)
{
    static const char *const pairs[][2] = {{"r", "rrc"},   {"rrc", "r"},    {"cpy", "re"},
                                           {"re", "cpy"},  {"rcs", "rrcs"}, {"rrcs", "rrs"},
                                           {"rrs", "rcs"}, {"s", "cpy"}};
    char                     key[24];

    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        (void)snprintf(key, sizeof key, " type=\"%s\"", pairs[i][0]);
        if (strstr(line, key) != NULL) {
            return pairs[i][1];
        }
    }
    return ct_below(rng, 2) == 0 ? "re" : "r";
}

static void set_peer(file *f, size_t i, ct_rng *rng)
{
    while (strstr(f->lines[i], "<tb") == NULL) {
        i--;
    }
    const char *name = get(f->lines[i], "send") >= 0 ? "send" : "recv";
    set_number(f->lines[i], name, (long)ct_below(rng, 4));
}

/* Change something about the step in line i. */
static void mutate(file *f, size_t i, mutation what, ct_rng *rng)
{
    char *line = f->lines[i];
    long  by = ct_below(rng, 2) == 0 ? 1 : -1, s = get(line, "s");
    char  kept[320];

    switch (what) {
    case LOSE: drop_line(f, i); break;
    case DROP:
        drop_line(f, i);
        renumber(f, i - 1, s, -1);
        break;
    case SHIFT_SRC: set_number(line, "srcoff", get(line, "srcoff") + by); break;
    case SHIFT_DST: set_number(line, "dstoff", get(line, "dstoff") + by); break;
    case NO_WAIT: set(line, "depid", "-1"); break;
    case OTHER_TYPE: set(line, "type", other_type(line, rng)); break;
    case LONGER: set_number(line, "cnt", get(line, "cnt") + 1); break;
    case TWICE:
        memmove(f->lines + i + 1, f->lines + i, (f->n - i) * sizeof f->lines[0]);
        f->n++;
        renumber(f, i, s, 1);
        break;
    case SWAP:
        if (is_step(f, i + 1)) {
            memcpy(kept, line, sizeof kept);
            memcpy(line, f->lines[i + 1], sizeof kept);
            memcpy(f->lines[i + 1], kept, sizeof kept);
            renumber(f, i, 0, 0);
        }
        break;
    case OTHER_BUFFER:
        set(line, ct_below(rng, 2) == 0 ? "srcbuf" : "dstbuf", ct_below(rng, 2) == 0 ? "s" : "i");
        break;
    case NO_MARK: set(line, "hasdep", "0"); break;
    case OTHER_PEER: set_peer(f, i, rng); break;
    case N_MUTATIONS: break;
    }
}

/* Many mutants of a file; how many are refused. */
static size_t check_mutants(const char *name, const char *text, size_t tries, size_t *n_p)
{
    ct_rng rng       = ct_rng_for(strlen(text));
    size_t n_refused = 0;

    for (size_t t = 0; t < tries; t++) {
        file     f    = split(text);
        mutation what = (mutation)(t % N_MUTATIONS);
        size_t   i;
        uint32_t root = 0;
        do {
            i = ct_below(&rng, (uint32_t)f.n);
        } while (!is_step(&f, i));
        mutate(&f, i, what, &rng);
        char *mutant   = join(&f);
        bool  accepted = is_accepted(mutant, &root);
        cr_assert(!accepted || is_right(mutant, root),
                  "seed %llu: mutation %d of line %zu of %s is accepted, and wrong",
                  (unsigned long long)ct_seed(), what, i + 1, name);
        cr_assert(!accepted || what != LOSE, "line %zu of %s was lost", i + 1, name);
        n_refused += !accepted;
        free(mutant);
        free(f.lines);
    }
    *n_p += tries;
    return n_refused;
}

Test(conformance_msccl, accepts_no_wrong_mutant)
{
    static const char *const names[] = {"ring",      "rhd",        "circulant",         "allpairs",
                                        "stragglar", "merged_rhd", "double_binary_tree"};
    static ct_scene          scene;
    size_t                   n = 0, n_refused = 0;

    for (size_t i = 0; i < N_SAMPLES; i++) {
        char *text = read_sample(samples[i]);
        n_refused += check_mutants(samples[i], text, 300, &n);
        cs_free(text);
    }
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        cs_text text = {0};
        ct_scene_set(&scene, names[i], CS_ALLREDUCE, 4, 4096);
        ct_scene_ready(&scene);
        cr_assert_eq(export_scene(&scene, CS_EXPORT_MSCCL, &text, NULL), CS_OK);
        n_refused += check_mutants(names[i], text.data, 300, &n);
        cs_text_free(&text);
    }
    cr_assert_gt(n_refused, n * 3 / 5, "%zu of %zu refused", n_refused, n);
}

/* Numbers of messages are about order only, and a wrong one gives way to what the steps need. */
Test(conformance_msccl, numbers_of_messages_do_no_harm)
{
    static const char *const names[] = {
        "ring",      "rhd",        "circulant",          "allpairs",
        "stragglar", "merged_rhd", "double_binary_tree", "broadcast"};
    static ct_scene scene;
    ct_rng          rng = ct_rng_for(11);

    for (size_t i = 0; i < 10 * sizeof names / sizeof names[0]; i++) {
        cs_text  text = {0};
        uint32_t root;
        ct_scene_set(&scene, names[i / 10], CS_ALLREDUCE, 6, 4096);
        ct_scene_ready(&scene);
        cr_assert_eq(export_scene(&scene, CS_EXPORT_MSCCL, &text, NULL), CS_OK);
        file f = split(text.data);
        for (size_t k = 0; k < f.n; k++) {
            if (strstr(f.lines[k], " message=\"") != NULL) {
                set_number(f.lines[k], "message", 1 + (long)ct_below(&rng, 1u << i % 10));
                set_number(f.lines[k], "round", (long)ct_below(&rng, 20));
            }
        }
        char *mutant = join(&f);
        cr_assert(is_accepted(mutant, &root), "%s", names[i / 10]);
        free(mutant);
        free(f.lines);
        cs_text_free(&text);
    }
}
