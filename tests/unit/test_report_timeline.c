/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One run for the report page: its columns are the recording's, its causes and sub-lanes are sound,
 * and what is left out is said. */
#include "base/alloc.h"
#include "cs/recording.h"
#include "cs/result.h"
#include "cs/topology.h"
#include "engine/explain.h"
#include "input/tree.h"
#include "output/grid.h"
#include "output/usage.h"
#include "report/timeline.h"
#include "support/column.h"
#include "support/scene.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TICKS 2147483648.0

static ct_scene scene;

enum { START, DUR, FROM, TO, CHUNK, ROUND, OP, SIZE, FABRIC, WAIT, WHY, TX, RX, COLUMNS };
static const char *const keys[COLUMNS] = {"start", "dur",    "from", "to",  "chunk", "round", "op",
                                          "size",  "fabric", "wait", "why", "tx",    "rx"};

/* The object, unpacked. */
typedef struct view {
    cs_text text;
    json_t *json;
    size_t  n, n_path;
    double *columns[COLUMNS], *path;
} view;

static double number(const json_t *object, const char *key)
{
    const json_t *node = json_object_get(object, key);
    cr_assert(json_is_number(node), "%s is no number", key);
    return json_number_value(node);
}

static const char *word(const view *v, const char *list, double place)
{
    const json_t *node = json_array_get(json_object_get(v->json, list), (size_t)place);
    cr_assert(json_is_string(node), "%s has no %g", list, place);
    return json_string_value(node);
}

static cs_status write_view(cs_text *text, const char *model, size_t most, cs_error *err)
{
    const cs_timeline_name name = {"a \"title\"", 12, NULL};
    cs_job                 job  = ct_scene_job(&scene, model);

    return cs_timeline_json_most(text, &job, &name, most, err);
}

static void parse(view *v)
{
    cs_error err = {0};

    cr_assert_eq(cs_tree_parse(v->text.data, v->text.length, "run", &v->json, &err), CS_OK, "%s",
                 err.message);
    const json_t *c = json_object_get(v->json, "c");
    cr_assert_eq(json_object_size(c), COLUMNS);
    for (int k = 0; k < COLUMNS; k++) {
        size_t n;
        v->columns[k] = ct_column(json_object_get(c, keys[k]), &n);
        cr_assert(k == 0 || n == v->n);
        v->n = n;
    }
    v->path = ct_column(json_object_get(v->json, "critical"), &v->n_path);
}

static view open_view(const char *model, size_t most)
{
    view     v   = {0};
    cs_error err = {0};

    cr_assert_eq(write_view(&v.text, model, most, &err), CS_OK, "%s: %s", ct_scene_text(&scene),
                 err.message);
    parse(&v);
    return v;
}

static void close_view(view *v)
{
    for (int k = 0; k < COLUMNS; k++) {
        free(v->columns[k]);
    }
    free(v->path);
    json_decref(v->json);
    cs_text_free(&v->text);
}

static double end_of(const view *v, size_t k)
{
    return v->columns[START][k] + v->columns[DUR][k];
}

/* ---- against the recording ---- */

static void record(const char *model, cs_recording *recording, cs_result *result)
{
    cs_job      job      = ct_scene_job(&scene, model);
    cs_observer observer = cs_recording_observer(recording);

    cr_assert_eq(cs_job_run(&job, &observer, 1, result, NULL), CS_OK);
}

typedef struct wanted {
    double start, src;
    size_t index;
} wanted;

static int by_start(const void *left, const void *right)
{
    const wanted *a = left, *b = right;

    if (a->start != b->start) {
        return a->start < b->start ? -1 : 1;
    }
    if (a->src != b->src) {
        return a->src < b->src ? -1 : 1;
    }
    return (a->index > b->index) - (a->index < b->index);
}

static double tick(double time_s, double elapsed_s)
{
    return floor(time_s * (TICKS / elapsed_s) + 0.5);
}

static void expect_transfer(const view *v, size_t k, const cs_transfer *t, const cs_interval *when,
                            double elapsed_s)
{
    double start = tick(when->start_s, elapsed_s), end = tick(when->end_s, elapsed_s);

    cr_assert_eq(v->columns[START][k], start, "%s", ct_scene_text(&scene));
    cr_assert_eq(v->columns[DUR][k], fmax(end - start, 1));
    cr_assert_eq(v->columns[FROM][k], t->src);
    cr_assert_eq(v->columns[TO][k], t->dst);
    cr_assert_eq(v->columns[CHUNK][k], t->chunk);
    cr_assert_eq(v->columns[ROUND][k], t->round);
    cr_assert_eq(v->columns[FABRIC][k], cs_transfer_fabric(t));
    cr_assert_eq((cs_op)v->columns[OP][k], cs_transfer_op(t));
    const json_t *size =
        json_array_get(json_object_get(v->json, "sizes"), (size_t)v->columns[SIZE][k]);
    cr_assert_eq((uint64_t)json_integer_value(size), t->bytes);
    cr_assert_str_eq(word(v, "fabrics", v->columns[FABRIC][k]),
                     cs_fabric_name(cs_transfer_fabric(t)));
}

/* Every transfer, once, with its cause. */
static void expect_recording(const view *v, const char *model)
{
    cs_recording r      = {0};
    cs_result    result = {0};
    cs_arena     arena  = {0};
    cs_causes    causes = {0};

    record(model, &r, &result);
    cr_assert_eq(v->n, r.n_transfers, "%s: %zu of %zu", ct_scene_text(&scene), v->n, r.n_transfers);
    cr_assert_eq(cs_causes_find(&r, &scene.scenario, &arena, &causes, NULL), CS_OK);
    wanted *order = calloc(v->n + 1, sizeof *order);
    size_t *place = calloc(v->n + 1, sizeof *place);
    for (size_t i = 0; i < v->n; i++) {
        order[i] = (wanted){tick(r.intervals[i].start_s, result.elapsed_s), r.transfers[i].src, i};
    }
    qsort(order, v->n, sizeof *order, by_start);
    for (size_t k = 0; k < v->n; k++) {
        place[order[k].index] = k;
    }
    for (size_t k = 0; k < v->n; k++) {
        size_t          i     = order[k].index;
        const cs_cause *cause = &causes.causes[i];
        expect_transfer(v, k, &r.transfers[i], &r.intervals[i], result.elapsed_s);
        cr_assert_str_eq(word(v, "waits", v->columns[WAIT][k]), cs_wait_text(cause->wait));
        bool is_behind = cause->before == CS_NO_CAUSE || place[cause->before] >= k;
        cr_assert_eq(v->columns[WHY][k], is_behind ? 0 : (double)(k - place[cause->before]));
    }
    cr_assert_eq(v->n_path, causes.n_path);
    for (size_t k = 0; k < v->n_path; k++) {
        cr_assert_eq(v->path[k], (double)place[causes.path[k]]);
    }
    cr_assert_eq(number(v->json, "elapsed_s"), result.elapsed_s);
    cr_assert_eq(number(v->json, "exposed_s"), result.exposed_s);
    cr_assert_eq(number(v->json, "bound_s"), result.bound_s);
    cr_assert_eq(number(v->json, "transfers"), (double)result.transfers);
    cr_assert_eq(number(v->json, "tick_s"), result.elapsed_s / TICKS);
    free(order);
    free(place);
    cs_recording_free(&r);
    cs_arena_free(&arena);
}

/* What the ranks' ports are said to have sent is what they sent. */
static void expect_use(const view *v)
{
    const json_t *rows = json_object_get(json_object_get(v->json, "links"), "rows"), *row;
    double        sent = 0, want = 0, ranks = number(v->json, "ranks");
    size_t        r;

    json_array_foreach(rows, r, row)
    {
        const char *name  = json_string_value(json_object_get(row, "name"));
        bool        sends = strstr(name, " send") != NULL || strstr(name, "→") != NULL;
        double      bytes = number(row, "busy") * number(row, "capacity_Bps");
        sent += sends && strcmp(json_string_value(json_object_get(row, "kind")), "link") != 0
                    ? bytes * number(v->json, "elapsed_s")
                    : 0;
    }
    for (size_t k = 0; k < v->n; k++) {
        const json_t *sizes = json_object_get(v->json, "sizes");
        double        bytes = json_number_value(json_array_get(sizes, (size_t)v->columns[SIZE][k]));
        bool          back  = strcmp(word(v, "ops", v->columns[OP][k]), "exchange") == 0;
        want += v->columns[FROM][k] < ranks ? bytes : 0;
        want += back && v->columns[TO][k] < ranks ? bytes : 0;
    }
    cr_assert_float_eq(sent, want, 1e-6 * want, "%s: %.17g bytes, not %.17g", ct_scene_text(&scene),
                       sent, want);
}

/* Causes stand before what waited for them and had ended, but for a tick. */
static void expect_causes(const view *v)
{
    for (size_t k = 0; k < v->n; k++) {
        size_t why = (size_t)v->columns[WHY][k];
        cr_assert(k == 0 || v->columns[START][k] >= v->columns[START][k - 1]);
        cr_assert_leq(why, k);
        cr_assert(why == 0 || end_of(v, k - why) <= v->columns[START][k] + 1, "%s: transfer %zu",
                  ct_scene_text(&scene), k);
    }
}

/* From an arrival or the begin to the end of the run, without a hole. */
static void expect_path(const view *v)
{
    cr_assert_gt(v->n_path, 0);
    for (size_t k = 1; k < v->n_path; k++) {
        size_t here = (size_t)v->path[k], before = (size_t)v->path[k - 1];
        cr_assert(here - (size_t)v->columns[WHY][here] == before ||
                  v->columns[START][before] == v->columns[START][here]);
        cr_assert_leq(fabs(end_of(v, before) - v->columns[START][here]), 1);
    }
    cr_assert_leq(fabs(end_of(v, (size_t)v->path[v->n_path - 1]) - TICKS), 1);
}

/* The transfers of a port lie in lanes in which none begins before the one before it has ended, but
 * for the last of 250, which is said; a lane is used only where those below are taken. */
static void expect_lanes(const view *v)
{
    enum { LANES = 250 };
    const char *thinned    = json_string_value(json_object_get(v->json, "thinned"));
    bool        is_crowded = thinned != NULL && strstr(thinned, "more than 250") != NULL;
    bool        overlaps   = false;
    size_t      ends       = (size_t)number(v->json, "ends");
    double     *until      = calloc(ends * CS_FABRICS * 2 * LANES, sizeof *until);

    for (size_t k = 0; k < v->n; k++) {
        bool back = strcmp(word(v, "ops", v->columns[OP][k]), "exchange") == 0;
        for (int side = 0; side < 4; side++) {
            size_t end       = (size_t)v->columns[side % 2 == 0 ? FROM : TO][k];
            size_t lane      = (size_t)v->columns[side % 2 == 0 ? TX : RX][k];
            size_t direction = (size_t)(side == 0 || side == 3 ? 0 : 1);
            if (side >= 2 && !back) {
                continue;
            }
            cr_assert_lt(end, ends);
            double *port =
                until +
                ((end * CS_FABRICS + (size_t)v->columns[FABRIC][k]) * 2 + direction) * LANES;
            overlaps = overlaps || port[lane] > v->columns[START][k];
            cr_assert(port[lane] <= v->columns[START][k] || lane == LANES - 1, "%s: transfer %zu",
                      ct_scene_text(&scene), k);
            for (size_t below = 0; below < lane && !back; below++) {
                cr_assert_gt(port[below], v->columns[START][k]);
            }
            port[lane] = fmax(port[lane], end_of(v, k));
        }
    }
    cr_assert_eq(overlaps, is_crowded);
    free(until);
}

Test(report_timeline, columns_are_the_recording)
{
    static const char *const models[] = {NULL, "flow", NULL, "loggp"};
    ct_rng                   rng      = ct_rng_for(1601);

    for (size_t a = 0; cs_algorithms[a] != NULL; a++) {
        for (size_t i = 0; i < 2; i++) {
            const char *model = models[i + 2 * (a % 2)];
            ct_scene_random(&scene, cs_algorithms[a], &rng);
            if (model == NULL) {
                ct_scene_break_nics(&scene, &rng);
            }
            view v = open_view(model, 1000000);
            expect_recording(&v, model);
            expect_lanes(&v);
            expect_use(&v);
            if (model == NULL) {
                expect_causes(&v);
                expect_path(&v);
            }
            close_view(&v);
        }
    }
}

/* ---- by hand ---- */

Test(report_timeline, exchanges_are_one_transfer)
{
    ct_scene_set(&scene, "rhd", CS_ALLREDUCE, 8, 1 << 20);
    ct_scene_ready(&scene);
    view   v         = open_view(NULL, 100000);
    size_t exchanges = 0;
    for (size_t k = 0; k < v.n; k++) {
        exchanges += strcmp(word(&v, "ops", v.columns[OP][k]), "exchange") == 0;
    }
    cr_expect_eq(v.n + exchanges, (size_t)number(v.json, "transfers"));
    expect_lanes(&v);
    cr_expect_str_eq(json_string_value(json_object_get(v.json, "title")), "a \"title\"");
    cr_expect_eq(number(v.json, "setting"), 12);
    cr_expect_eq(number(v.json, "ends"), 8);
    cr_expect_eq(json_array_size(json_object_get(v.json, "fabrics")), 1);
    close_view(&v);
}

/* Messages without bytes take no time where there is no start-up: they begin with what they waited
 * for, which may stand behind them then. */
Test(report_timeline, causes_that_stand_behind_are_none)
{
    size_t n_behind = 0;

    ct_scene_set(&scene, "ring", CS_ALLGATHER, 8, 1); /* rank 7, which is late, brings nothing */
    scene.scenario.cluster.fabrics[CS_NIC].alpha_s = 0;
    scene.arrival_s[7]                             = 1e-6;
    scene.scenario.arrival_s                       = scene.arrival_s;
    ct_scene_ready(&scene);
    view v = open_view(NULL, 100000);
    expect_recording(&v, NULL);
    for (size_t k = 0; k < v.n; k++) {
        n_behind += v.columns[WHY][k] == 0 &&
                    strcmp(word(&v, "waits", v.columns[WAIT][k]), "its data") == 0;
        cr_expect_leq(v.columns[WHY][k], (double)k);
    }
    cr_expect_gt(n_behind, 0);
    close_view(&v);
}

/* The schedule with the ends of every exchange the other way round, which is the same schedule. */
static void turned_block(void *state, cs_block *block)
{
    scene.algorithm->next_block(state, block);
    for (size_t i = 0; i < block->count; i++) {
        cs_transfer      *t   = &block->transfers[i];
        const cs_transfer was = *t;
        static const struct {
            uint8_t a, b;
        } pairs[] = {{CS_OWN_SRC, CS_OWN_DST}, {CS_DONE_SRC, CS_DONE_DST}};
        if (cs_transfer_op(t) != CS_OP_EXCHANGE) {
            continue;
        }
        t->src      = was.dst;
        t->dst      = was.src;
        t->src_slot = was.dst_slot;
        t->dst_slot = was.src_slot;
        for (int k = 0; k < 2; k++) {
            t->flags = (uint8_t)(t->flags & ~(pairs[k].a | pairs[k].b));
            t->flags |= (was.flags & pairs[k].a) != 0 ? pairs[k].b : 0;
            t->flags |= (was.flags & pairs[k].b) != 0 ? pairs[k].a : 0;
        }
    }
}

/* Exchanges beside messages in one direction, on ports that are shared. */
Test(report_timeline, exchanges_lie_in_one_lane_of_both_directions)
{
    static const char *const names[] = {"stragglar", "merged_rhd", "broadcast"};
    const cs_timeline_name   name    = {"exchanges", -1, NULL};
    ct_rng                   rng     = ct_rng_for(1603);

    for (int i = 0; i < 45; i++) {
        const cs_algorithm *algorithm = NULL;
        cr_assert_eq(cs_algorithm_find(names[i % 3], &algorithm, NULL), CS_OK);
        ct_scene_random(&scene, algorithm, &rng);
        for (int is_turned = 0; is_turned < 2; is_turned++) {
            view         v      = {0};
            cs_error     err    = {0};
            cs_algorithm turned = *scene.algorithm;
            cs_job       job    = ct_scene_job(&scene, i % 2 == 0 ? "loggp" : "flow");
            turned.next_block   = turned_block;
            job.algorithm       = is_turned ? &turned : job.algorithm;
            cr_assert_eq(cs_timeline_json_most(&v.text, &job, &name, 1000000, &err), CS_OK, "%s",
                         err.message);
            parse(&v);
            expect_lanes(&v);
            close_view(&v);
        }
    }
}

/* All send to one at once: its port has a sub-lane for each of them. */
Test(report_timeline, a_shared_port_has_sub_lanes)
{
    double most = 0;

    ct_scene_set(&scene, "allpairs", CS_ALLREDUCE, 8, 1 << 20);
    ct_scene_ready(&scene);
    view v = open_view("flow", 100000);
    for (size_t k = 0; k < v.n; k++) {
        most = fmax(most, fmax(v.columns[RX][k], v.columns[TX][k]));
    }
    cr_expect_gt(most, 0);
    expect_lanes(&v);
    close_view(&v);
}

/* More than 250 at once at one port. */
Test(report_timeline, a_crowded_port_is_said)
{
    double most = 0;

    ct_scene_set(&scene, "allpairs", CS_ALLREDUCE, 254, 1 << 20);
    ct_scene_ready(&scene);
    view v = open_view("flow", 1000000);
    for (size_t k = 0; k < v.n; k++) {
        most = fmax(most, v.columns[RX][k]);
    }
    cr_expect_eq(most, 249);
    const char *thinned = json_string_value(json_object_get(v.json, "thinned"));
    cr_assert_not_null(thinned);
    cr_expect_not_null(strstr(thinned, "more than 250 transfers share a port"), "%s", thinned);
    cr_expect_null(strstr(thinned, "are shown"));
    close_view(&v);
}

static void expect_list(const view *v, const char *key, const char *want)
{
    char *text = json_dumps(json_object_get(v->json, key), JSON_COMPACT | JSON_REAL_PRECISION(6));
    cr_expect_str_eq(text, want, "%s", text);
    free(text);
}

/* GPU 3 comes late; server 1 is slow for a while, then for ever, and at a time that is never
 * reached; the port of GPU 6 alone is slow. */
Test(report_timeline, who_is_late_and_slow_and_when)
{
    static const cs_capacity steps[] = {{3, 2, 1e-6, 2e-6, false},
                                        {2, 4, 3e-6, (double)INFINITY, false},
                                        {6, 8, 0, 1e-6, true},
                                        {6, 8, 100, 101, true}};

    ct_scene_set(&scene, "ring", CS_ALLREDUCE, 8, 1 << 20);
    scene.scenario.cluster.gpus_per_server = 2;
    memcpy(scene.capacity, steps, sizeof steps);
    scene.scenario.capacity   = scene.capacity;
    scene.scenario.n_capacity = 4;
    scene.arrival_s[3]        = 4e-3;
    scene.scenario.arrival_s  = scene.arrival_s;
    ct_scene_ready(&scene);
    view v = open_view(NULL, 100000);
    expect_list(&v, "late", "[[3,0.004]]");
    expect_list(&v, "slow",
                "[[2,2,1e-6,2e-6],[2,4,3e-6,null],[3,2,1e-6,2e-6],[3,4,3e-6,null],[6,8,0,1e-6]]");
    expect_list(&v, "fabrics", "[\"nic\",\"nvlink\"]");
    cr_expect_eq(number(v.json, "last_arrival_s"), 4e-3);
    cr_expect_eq(number(v.json, "servers"), 4);
    expect_recording(&v, NULL);
    close_view(&v);
}

/* A port that is cut off: its slowdown is null. */
Test(report_timeline, a_dead_port_has_no_slowdown)
{
    ct_scene_set(&scene, "ring", CS_ALLREDUCE, 4, 1 << 20);
    scene.scenario.cluster.gpus_per_server = 4; /* nobody needs a NIC */
    scene.capacity[0]         = (cs_capacity){2, (double)INFINITY, 0, (double)INFINITY, true};
    scene.scenario.capacity   = scene.capacity;
    scene.scenario.n_capacity = 1;
    ct_scene_ready(&scene);
    view v = open_view(NULL, 100000);
    expect_list(&v, "slow", "[[2,null,0,null]]");
    close_view(&v);
}

Test(report_timeline, switches_are_ends)
{
    double most = 0;

    ct_scene_set(&scene, "nvls", CS_ALLREDUCE, 8, 1 << 20);
    ct_scene_ready(&scene);
    view v = open_view(NULL, 100000);
    cr_expect_eq(number(v.json, "ranks"), 8);
    cr_expect_eq(number(v.json, "ends"), 9);
    for (size_t k = 0; k < v.n; k++) {
        most = fmax(most, fmax(v.columns[FROM][k], v.columns[TO][k]));
    }
    cr_expect_eq(most, 8);
    expect_lanes(&v);
    close_view(&v);
}

/* ---- stages ---- */

Test(report_timeline, stages_are_the_grids)
{
    size_t n;

    ct_scene_set(&scene, "optcc", CS_ALLREDUCE, 8, 1 << 20);
    ct_scene_slow(&scene);
    ct_scene_ready(&scene);
    view          v      = open_view(NULL, 100000);
    const json_t *stages = json_object_get(v.json, "stages");
    const json_t *names = json_object_get(stages, "names"), *of = json_object_get(stages, "of");
    double       *places               = ct_column(of, &n);
    cs_result     result               = {0};
    cs_recording  r                    = {0};
    size_t        used[CS_GRID_STAGES] = {0}, n_used = 0;

    record(NULL, &r, &result);
    for (size_t i = 0; i < r.n_transfers; i++) {
        used[cs_grid_stage_of(&scene.scenario, &r.transfers[i], &r.intervals[i])]++;
    }
    cr_assert_eq(n, r.n_transfers);
    cs_grid_names kind = cs_grid_names_of(&scene.scenario, &result);
    for (uint32_t stage = 0; stage < CS_GRID_STAGES; stage++) {
        size_t here = 0;
        if (used[stage] == 0) {
            continue;
        }
        cr_expect_str_eq(json_string_value(json_array_get(names, n_used)),
                         cs_grid_stage_text(kind, stage));
        cr_expect_str_eq(
            json_string_value(json_array_get(json_object_get(stages, "colours"), n_used)),
            cs_grid_stage_colour(stage));
        for (size_t k = 0; k < n; k++) {
            here += places[k] == (double)n_used;
        }
        cr_expect_eq(here, used[stage]);
        n_used++;
    }
    cr_expect_eq(json_array_size(names), n_used);
    cr_expect_gt(n_used, 2);
    free(places);
    cs_recording_free(&r);
    close_view(&v);
}

Test(report_timeline, stages_are_those_of_small_runs)
{
    static const struct {
        uint32_t n;
        bool     has;
    } sizes[] = {{8, true},
                 {45, true},
                 {46, false},
                 {65, false}}; /* 2 n (n - 1) transfers; a tree has n - 1 */

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        bool is_tree = sizes[i].n == 65;
        ct_scene_set(&scene, is_tree ? "binomial" : "ring", is_tree ? CS_BROADCAST : CS_ALLREDUCE,
                     sizes[i].n, 1 << 20);
        ct_scene_ready(&scene);
        view v = open_view(NULL, 100000);
        cr_expect((v.n <= CS_GRID_MAX_TRANSFERS && sizes[i].n <= CS_GRID_MAX_RANKS) ==
                  sizes[i].has);
        cr_expect_eq(json_object_get(v.json, "stages") != NULL, sizes[i].has, "%u ranks",
                     sizes[i].n);
        close_view(&v);
    }
}

/* ---- use of ports and links ---- */

static void expect_row(const json_t *rows, size_t row, const char *name, const char *kind)
{
    const json_t *r = json_array_get(rows, row);
    cr_expect_str_eq(json_string_value(json_object_get(r, "name")), name);
    cr_expect_str_eq(json_string_value(json_object_get(r, "kind")), kind);
}

Test(report_timeline, use_of_ports_and_links)
{
    const cs_leaf_spine shape = {
        .n_leaves = 2, .n_spines = 2, .uplink_bandwidth_Bps = 1e9, .hop_latency_s = 1e-6};
    cs_link     links[8];
    cs_topology topology;
    size_t      n;

    cs_leaf_spine_make(&shape, links, &topology);
    ct_scene_set(&scene, "ring", CS_ALLGATHER, 8, 8 << 20);
    scene.scenario.cluster.topology = &topology;
    ct_scene_ready(&scene);
    view          v   = open_view("flow", 100000);
    const json_t *use = json_object_get(v.json, "links"), *rows = json_object_get(use, "rows");
    double       *part = ct_column(json_object_get(use, "share"), &n);
    size_t        bins = (size_t)number(use, "bins");
    cr_expect_eq(json_array_size(rows), 8 + 8 + 4, "links that carry nothing are left out");
    cr_assert_eq(n, 20 * bins);
    cr_expect(number(use, "bin_s") * (double)bins >= number(v.json, "elapsed_s"));
    expect_row(rows, 0, "GPU 0 sends", "nic");
    expect_row(rows, 15, "GPU 7 receives", "nic");
    for (size_t row = 0; row < 20; row++) { /* what is in use on the whole is the mean of bins */
        double sum = 0, busy = number(json_array_get(rows, row), "busy");
        double width_s = number(use, "bin_s"), elapsed_s = number(v.json, "elapsed_s");
        for (size_t b = 0; b < bins; b++) {
            sum += part[row * bins + b] / 255 * fmin(width_s, elapsed_s - (double)b * width_s) /
                   elapsed_s;
        }
        cr_expect_float_eq(sum, busy, 0.003, "row %zu: %g, not %g", row, sum, busy);
        cr_expect_gt(busy, 0);
    }
    cr_expect_eq(number(json_array_get(rows, 19), "capacity_Bps"), 1e9);
    cr_expect_str_eq(json_string_value(json_object_get(json_array_get(rows, 19), "kind")), "link");
    free(part);
    close_view(&v);
}

/* Pairs of a mesh, and ranks that share rows. */
Test(report_timeline, rows_say_whose_they_are)
{
    ct_scene_set(&scene, "ring", CS_ALLREDUCE, 4, 1 << 20);
    scene.scenario.cluster.gpus_per_server         = 4;
    scene.scenario.cluster.fabrics[CS_NVLINK].kind = CS_DIRECT;
    ct_scene_ready(&scene);
    view v = open_view(NULL, 100000);
    expect_row(json_object_get(json_object_get(v.json, "links"), "rows"), 0, "GPU 0 → 1", "nvlink");
    close_view(&v);
    ct_scene_set(&scene, "ring", CS_ALLGATHER, 256, 1 << 20);
    scene.scenario.cluster.gpus_per_server = 8;
    ct_scene_ready(&scene);
    v = open_view(NULL, 100000);
    expect_row(json_object_get(json_object_get(v.json, "links"), "rows"), 0, "server 0 sends",
               "nic");
    close_view(&v);
    ct_scene_set(&scene, "ring", CS_ALLGATHER, 256, 1 << 20);
    ct_scene_ready(&scene);
    v = open_view(NULL, 100000);
    expect_row(json_object_get(json_object_get(v.json, "links"), "rows"), 1, "GPUs 4 .. 7 send",
               "nic");
    close_view(&v);
}

/* ---- thinning ---- */

/* Is all of a rank there? */
static size_t count_of(const view *v, double rank)
{
    size_t n = 0;

    for (size_t k = 0; k < v->n; k++) {
        n += v->columns[FROM][k] == rank || v->columns[TO][k] == rank;
    }
    return n;
}

static bool is_on_path(const view *v, size_t k)
{
    bool is_on = false;

    for (size_t p = 0; p < v->n_path; p++) {
        is_on = is_on || (size_t)v->path[p] == k;
    }
    return is_on;
}

/* 16 ranks with 60 transfers each (30 sent, 30 received), 480 in all, 5 late. */
static void thin_scene(void)
{
    ct_scene_set(&scene, "ring", CS_ALLREDUCE, 16, 1 << 20);
    scene.arrival_s[5]       = 1e-5;
    scene.scenario.arrival_s = scene.arrival_s;
    ct_scene_ready(&scene);
}

Test(report_timeline, nothing_is_left_out_at_the_limit)
{
    thin_scene();
    view v = open_view(NULL, 480);
    cr_expect_eq(v.n, 480);
    cr_expect(json_is_null(json_object_get(v.json, "thinned")));
    cr_expect_not_null(json_object_get(v.json, "stages"));
    expect_recording(&v, NULL);
    close_view(&v);
}

Test(report_timeline, one_more_than_the_limit_is_thinned)
{
    thin_scene();
    view        v       = open_view(NULL, 479);
    const char *thinned = json_string_value(json_object_get(v.json, "thinned"));
    cr_assert_not_null(thinned);
    cr_expect_lt(v.n, 480);
    cr_expect_geq(v.n, 420, "of a ring's, one rank's at most does not fit");
    cr_expect_eq(strncmp(thinned, "4", 1), 0, "%s", thinned);
    cr_expect_not_null(strstr(thinned, " of 480 transfers are shown"), "%s", thinned);
    cr_expect_null(json_object_get(v.json, "stages"));
    expect_causes(&v);
    expect_lanes(&v);
    expect_path(&v);
    close_view(&v);
}

/* The path and all of the late rank, whose transfers are no more than fit; every other transfer
 * belongs to a rank of which all is there. */
Test(report_timeline, path_and_late_ranks_stay_whole)
{
    thin_scene();
    for (size_t most = 95; most < 480; most += 23) {
        view   v     = open_view(NULL, most);
        size_t whole = 0;
        bool   is_whole[16];
        cr_assert_leq(v.n, most);
        expect_path(&v);
        expect_causes(&v);
        cr_expect_eq(count_of(&v, 5), 60, "most %zu", most);
        for (uint32_t r = 0; r < 16; r++) {
            is_whole[r] = count_of(&v, r) == 60;
            whole += is_whole[r];
        }
        for (size_t k = 0; k < v.n; k++) {
            cr_expect(is_whole[(size_t)v.columns[FROM][k]] || is_whole[(size_t)v.columns[TO][k]] ||
                      is_on_path(&v, k));
        }
        cr_expect_geq(whole, 1);
        close_view(&v);
    }
}

/* The port of GPU 9 is slow for a while: it is as late ranks are. One that is slow when all is over
 * is as any other, of which the first ones stay. */
Test(report_timeline, slow_ranks_stay_whole)
{
    for (int is_over = 0; is_over < 2; is_over++) {
        ct_scene_set(&scene, "ring", CS_ALLREDUCE, 16, 1 << 20);
        scene.capacity[0]         = is_over ? (cs_capacity){9, 2, 100, 101, false}
                                            : (cs_capacity){9, 1.0001, 0, 1e-9, false};
        scene.scenario.capacity   = scene.capacity;
        scene.scenario.n_capacity = 1;
        ct_scene_ready(&scene);
        view v = open_view(NULL, 95);
        cr_expect_eq(count_of(&v, 9) == 60, !is_over);
        cr_expect_eq(json_array_size(json_object_get(v.json, "slow")), is_over ? 0 : 1);
        close_view(&v);
    }
}

/* A tree: the path is that of the root's messages; those of the next rank, which has as many, stay,
 * not those of many leaves. */
Test(report_timeline, busy_ranks_stay_whole)
{
    ct_scene_set(&scene, "binomial", CS_BROADCAST, 64, 1 << 20);
    ct_scene_ready(&scene);
    view all = open_view(NULL, 63), v = open_view(NULL, 14);
    cr_assert_eq(all.n, 63);
    cr_assert(count_of(&all, 0) == 6 && count_of(&all, 32) == 6);
    cr_expect(count_of(&v, 0) == 6 && count_of(&v, 32) == 6);
    cr_expect_eq(v.n, 14, "%zu", v.n);
    close_view(&all);
    close_view(&v);
}

/* Busy is who is busy for long: all send as often, but server 9 does it at half the rate. */
Test(report_timeline, busy_is_counted_in_seconds)
{
    ct_scene_set(&scene, "ring", CS_ALLREDUCE, 16, 1 << 20);
    for (uint32_t server = 0; server < 16; server++) {
        for (uint32_t f = 0; f < CS_FABRICS; f++) {
            scene.servers[server].bandwidth_Bps[f] = server == 9 ? 225e9 : 450e9;
        }
    }
    cs_cluster_set_servers(&scene.scenario.cluster, scene.servers);
    ct_scene_ready(&scene);
    view v = open_view(NULL, 95);
    cr_expect_eq(count_of(&v, 9), 60);
    const char *thinned = json_string_value(json_object_get(v.json, "thinned"));
    cr_expect_not_null(strstr(thinned, "and all of 2 of 16 GPUs"), "%s", thinned);
    close_view(&v);
}

/* A path longer than the limit: its end. */
Test(report_timeline, a_long_path_keeps_its_end)
{
    thin_scene();
    view all = open_view(NULL, 480), v = open_view(NULL, 10);
    cr_assert_gt(all.n_path, 10);
    cr_expect_eq(v.n, 10);
    cr_expect_eq(v.n_path, 10);
    cr_expect_leq(fabs(end_of(&v, (size_t)v.path[9]) - TICKS), 1);
    const char *thinned = json_string_value(json_object_get(v.json, "thinned"));
    cr_expect_not_null(strstr(thinned, "the last 10 of the critical path's "), "%s", thinned);
    close_view(&all);
    close_view(&v);
}

Test(report_timeline, counts_have_commas)
{
    ct_scene_set(&scene, "ring", CS_ALLREDUCE, 64, 1 << 20);
    ct_scene_ready(&scene);
    view        v       = open_view(NULL, 2000);
    const char *thinned = json_string_value(json_object_get(v.json, "thinned"));
    cr_expect_not_null(strstr(thinned, " of 8,064 transfers are shown: the critical path, and all "
                                       "of "),
                       "%s", thinned);
    close_view(&v);
}

/* ---- refusals ---- */

/* A ring that never sums up. */
static void wrong_block(void *state, cs_block *block)
{
    scene.algorithm->next_block(state, block);
    for (size_t i = 0; i < block->count; i++) {
        block->transfers[i].op_fabric =
            cs_op_fabric(CS_OP_COPY, cs_transfer_fabric(&block->transfers[i]));
    }
}

Test(report_timeline, a_wrong_schedule_is_refused)
{
    const cs_timeline_name name = {"wrong", -1, NULL};
    cs_text                text = {0};
    cs_error               err  = {0};

    ct_scene_set(&scene, "ring", CS_ALLREDUCE, 4, 1 << 20);
    ct_scene_ready(&scene);
    cs_algorithm wrong = *scene.algorithm;
    wrong.next_block   = wrong_block;
    cs_job job         = ct_scene_job(&scene, NULL);
    job.algorithm      = &wrong;
    job.verify         = false;
    cr_assert_eq(cs_timeline_json(&text, &job, &name, &err), CS_EWRONG);
    cr_expect(err.message[0] != '\0');
    cs_text_free(&text);
}

/* One server whose switch adds up, with more ends than 16 bits hold. */
Test(report_timeline, too_many_ends_are_refused)
{
    static cs_scenario     many;
    const cs_timeline_name name  = {"many", -1, NULL};
    const cs_algorithm    *nvls  = NULL;
    const cs_model        *model = NULL;
    cs_text                text  = {0};
    cs_error               err   = {0};
    cs_job                 job   = {0};

    many = (cs_scenario){
        .collective = CS_ALLREDUCE,
        .bytes      = 1 << 20,
        .cluster    = {.n_ranks         = 65536,
                       .gpus_per_server = 65536,
                       .fabrics         = {{CS_SWITCHED, 3e-6, 450e9}, {CS_SWITCHED, 1e-6, 900e9}}}};
    cr_assert_eq(cs_algorithm_find("nvls", &nvls, NULL), CS_OK);
    cr_assert_eq(cs_model_find("alpha-beta", &model, NULL), CS_OK);
    job.scenario = many;
    cs_job_set_algorithm(&job, nvls, NULL);
    cs_job_set_model(&job, model, NULL);
    cr_assert_eq(cs_field_set(nvls->options, &job.options, "heads", "1", "heads", &err), CS_OK,
                 "%s", err.message);
    cr_expect_eq(cs_timeline_json(&text, &job, &name, &err), CS_ENOTSUP, "%s", err.message);
    cr_expect_not_null(strstr(err.message, "65537 ranks and switches"), "%s", err.message);
    cs_text_free(&text);
}

Test(report_timeline, too_long_a_run_is_refused)
{
    const cs_timeline_name name = {"long", -1, NULL};
    cs_text                text = {0};
    cs_error               err  = {0};

    ct_scene_set(&scene, "ring", CS_ALLREDUCE, 1500, 1 << 20); /* 2 n (n - 1) = 4,497,000 */
    ct_scene_ready(&scene);
    cs_job job = ct_scene_job(&scene, NULL);
    cr_assert_eq(cs_timeline_json(&text, &job, &name, &err), CS_ENOTSUP);
    cr_expect_not_null(strstr(err.message, "4000000"), "%s", err.message);
    cs_text_free(&text);
}

Test(report_timeline, a_run_of_no_setting)
{
    const cs_timeline_name name = {"none", -1, NULL};
    view                   v    = {0};

    thin_scene();
    cs_job job = ct_scene_job(&scene, NULL);
    cr_assert_eq(cs_timeline_json(&v.text, &job, &name, NULL), CS_OK);
    parse(&v);
    cr_expect(json_is_null(json_object_get(v.json, "setting")));
    cr_expect_eq(v.n, 480);
    close_view(&v);
}

Test(report_timeline, the_same_bytes_twice)
{
    ct_rng  rng = ct_rng_for(1602);
    cs_text a = {0}, b = {0};

    ct_scene_random(&scene, cs_algorithms[0], &rng);
    cr_assert_eq(write_view(&a, "flow", 50, NULL), CS_OK);
    cr_assert_eq(write_view(&b, "flow", 50, NULL), CS_OK);
    cr_expect_str_eq(a.data, b.data);
    cs_text_free(&a);
    cs_text_free(&b);
}

Test(report_timeline, every_failed_allocation_is_reported)
{
    for (size_t most = 10; most <= 1000; most += 990) {
        cs_status status = CS_ENOMEM;
        long      passes = 0;
        thin_scene();
        for (; status != CS_OK && passes < 1000; passes++) {
            cs_text  text = {0};
            cs_error err  = {0};
            cs_alloc_fail_after(passes);
            status = write_view(&text, NULL, most, &err);
            cs_alloc_fail_after(-1);
            cr_assert(status == CS_OK || (status == CS_ENOMEM && err.message[0] != '\0'),
                      "allocation %ld: %d %s", passes, (int)status, err.message);
            cs_text_free(&text);
        }
        cr_expect_eq(status, CS_OK);
        cr_expect_gt(passes, 30);
    }
}
