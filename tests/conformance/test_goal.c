/* SPDX-License-Identifier: GPL-3.0-or-later */
/* GOAL files of every algorithm: as they are kept in tests/exports/goal, by the rules of the real
 * LogGOPSim, and in the times of the LogGP model. COLLSIM_GOLDEN=FOLDER writes the files there.
 */
#include "base/alloc.h"
#include "base/file.h"
#include "schedules/export.h"
#include "support/goal.h"
#include "support/scene.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char folder[] = COLLSIM_SOURCE_DIR "/tests/exports/goal";

static cs_text export_scene(const ct_scene *scene)
{
    cs_text  text = {0};
    cs_error err  = {0};

    const cs_job job = ct_scene_job(scene, NULL);
    cr_assert_eq(cs_export_schedule(&job, CS_EXPORT_GOAL, &text, &err), CS_OK, "%s: %s",
                 ct_scene_text(scene), err.message);
    return text;
}

static ct_goal *read_goal(const char *name, const char *text)
{
    char     why[200];
    ct_goal *goal = ct_goal_read(text, why);

    cr_assert_not_null(goal, "%s: %s", name, why);
    return goal;
}

/* Two GPUs a server where that makes a difference, slow NICs for those that are made for them. */
static void set_golden_scene(ct_scene *scene, const cs_algorithm *a)
{
    static const char *const of_servers[] = {
        "blink",          "flat_ring",   "hierarchical",     "nccl_rings",
        "parallel_rings", "reduce_ring", "two_step_alltoall"};
    cs_collective collective = CS_ALLREDUCE;

    while ((a->collectives >> collective & 1u) == 0) {
        collective++;
    }
    ct_scene_set(scene, a->name, collective, 4, 1001);
    for (size_t i = 0; i < sizeof of_servers / sizeof of_servers[0]; i++) {
        if (strcmp(a->name, of_servers[i]) == 0) {
            scene->scenario.cluster.gpus_per_server = 2;
        }
    }
    if (strcmp(a->name, "nccl") == 0) { /* the file of the ring, whose time was measured */
        ct_scene_option(scene, "algorithm", "ring");
    }
    ct_scene_slow(scene);
    ct_scene_ready(scene);
}

static char *read_golden(const char *name)
{
    char     path[512], *text = NULL;
    size_t   length = 0;
    cs_error err    = {0};

    (void)snprintf(path, sizeof path, "%s/%s.goal", folder, name);
    cr_assert_eq(cs_file_read(path, 1 << 20, &text, &length, &err), CS_OK, "%s: %s", path,
                 err.message);
    return text;
}

static void write_golden(const char *name, const cs_text *text)
{
    const char *to = getenv("COLLSIM_GOLDEN");
    char        path[512];

    if (to != NULL) {
        (void)snprintf(path, sizeof path, "%s/%s.goal", to, name);
        cr_assert_eq(cs_file_write(path, text->data, text->length, NULL), CS_OK, "%s", path);
    }
}

/* What the real LogGOPSim said of the golden file, with -L 3002 -o 0 -g 2 -G 2 -S 2147483647. */
static uint64_t measured_ns(const char *name)
{
    char               path[512], word[64], *text = NULL;
    size_t             length = 0;
    unsigned long long time = 0, found = 0;
    int                used = 0;

    (void)snprintf(path, sizeof path, "%s/times", folder);
    cr_assert_eq(cs_file_read(path, 1 << 16, &text, &length, NULL), CS_OK, "%s", path);
    for (const char *at = text; sscanf(at, "%63s %llu%n", word, &time, &used) == 2; at += used) {
        found = strcmp(word, name) == 0 ? time : found;
    }
    cs_free(text);
    return found;
}

Test(conformance_goal, is_the_golden_file_of_every_algorithm)
{
    static ct_scene  scene;
    const ct_loggops real = {.L = 3002, .g = 2, .G = 2};

    for (size_t i = 0; cs_algorithms[i] != NULL; i++) {
        const char *name = cs_algorithms[i]->name;
        set_golden_scene(&scene, cs_algorithms[i]);
        if (ct_adds_in_switches(cs_algorithms[i])) {
            cs_error     err     = {0};
            cs_text      nothing = {0};
            const cs_job job     = ct_scene_job(&scene, NULL);
            cr_assert_eq(cs_export_schedule(&job, CS_EXPORT_GOAL, &nothing, &err), CS_ENOTSUP);
            cr_assert_not_null(strstr(err.message, "switches add up"), "%s", err.message);
            continue;
        }
        cs_text text = export_scene(&scene);
        write_golden(name, &text);
        char    *golden = read_golden(name);
        ct_goal *goal   = read_goal(name, golden);
        cr_assert_str_eq(text.data, golden, "%s has another GOAL file", name);
        cr_assert_eq(ct_goal_ranks(goal), 4);
        cr_assert_eq(ct_goal_time(goal, &real), measured_ns(name), "%s", name);
        ct_goal_free(goal);
        cs_free(golden);
        cs_text_free(&text);
    }
}

/* What a mutation does to a line; false where it does not apply. */
typedef bool mutation(char *line, size_t room);

static bool drop(char *line, size_t room)
{
    (void)room;
    line[0] = '\0';
    return true;
}

/* One more at the last, or at the first, number behind `key`. */
static bool count_up(char *line, size_t room, const char *key)
{
    char  rest[256];
    char *at = strstr(line, key);

    if (at == NULL) {
        return false;
    }
    at += strlen(key);
    char              *end;
    unsigned long long value = strtoull(at, &end, 10);
    (void)snprintf(rest, sizeof rest, "%s", end);
    (void)snprintf(at, room - (size_t)(at - line), "%llu%s", value + 1, rest);
    return true;
}

static bool enlarge(char *line, size_t room)
{
    return count_up(line, room, "send ");
}

static bool retag(char *line, size_t room)
{
    return count_up(line, room, "tag ");
}

static bool readdress(char *line, size_t room)
{
    return count_up(line, room, "from ");
}

/* A dependency on what is not defined yet. */
static bool look_ahead(char *line, size_t room)
{
    char *at = strstr(line, "requires l");
    if (at == NULL) {
        return false;
    }
    at += strlen("requires l");
    (void)snprintf(at, room - (size_t)(at - line), "9999\n");
    return true;
}

static bool empty_message(char *line, size_t room)
{
    char *at = strstr(line, "send ");
    if (at == NULL) {
        return false;
    }
    (void)room;
    size_t digits = strspn(at + 5, "0123456789");
    memset(at + 5, '0', digits);
    return true;
}

static bool relabel(char *line, size_t room)
{
    if (line[0] != 'l' || strchr(line, ':') == NULL || strncmp(line, "l1:", 3) == 0) {
        return false;
    }
    char rest[256];
    (void)snprintf(rest, sizeof rest, "%s", strchr(line, ':'));
    (void)snprintf(line, room, "l1%s", rest);
    return true;
}

static bool comment(char *line, size_t room)
{
    size_t length = strlen(line);
    if (strchr(line, ':') == NULL) {
        return false;
    }
    (void)snprintf(line + length - 1, room - length + 1, " // why\n");
    return true;
}

/* Is a file refused where line `number` is mutated? True where that cannot be done. */
static bool is_refused(const char *text, size_t number, mutation *mutate)
{
    char  *mutant = malloc(strlen(text) + 512), line[512], why[200];
    size_t length = 0, n = 0;
    bool   applies = false;

    for (const char *at = text; *at != '\0'; n++) {
        size_t bytes = strcspn(at, "\n") + 1;
        memcpy(line, at, bytes);
        line[bytes] = '\0';
        applies     = n == number ? mutate(line, sizeof line) : applies;
        length += (size_t)sprintf(mutant + length, "%s", line);
        at += bytes;
    }
    ct_goal *goal        = applies ? ct_goal_read(mutant, why) : NULL;
    bool     was_refused = goal == NULL;
    ct_goal_free(goal);
    free(mutant);
    return was_refused;
}

static bool is_operation(const char *text, size_t number)
{
    for (; number > 0; number--) {
        text = strchr(text, '\n') + 1;
    }
    return text[0] == 'l' && strcspn(text, ":") < strcspn(text, "\n");
}

/* Everything but a lost dependency, which makes another correct file, is found out. */
Test(conformance_goal, refuses_every_mutant_of_a_golden_file)
{
    static mutation *const mutations[] = {drop,       enlarge,       retag,   readdress,
                                          look_ahead, empty_message, relabel, comment};

    for (size_t i = 0; cs_algorithms[i] != NULL; i++) {
        if (ct_adds_in_switches(cs_algorithms[i])) {
            continue;
        }
        char *text = read_golden(cs_algorithms[i]->name);
        for (size_t line = 0, at = 0; text[at] != '\0'; line++) {
            at += strcspn(text + at, "\n") + 1;
            for (size_t m = 0; m < sizeof mutations / sizeof mutations[0]; m++) {
                bool may_pass = mutations[m] == drop && !is_operation(text, line);
                cr_assert(may_pass || is_refused(text, line, mutations[m]),
                          "%s: mutation %zu of line %zu is accepted", cs_algorithms[i]->name, m,
                          line + 1);
            }
        }
        cs_free(text);
    }
}

/* Ranks with NICs of 2 ns per byte behind 3 us. */
static double loggp_ns(ct_scene *scene)
{
    scene->scenario.cluster.fabrics[CS_NIC] = (cs_fabric){CS_SWITCHED, 3e-6, 5e8};
    ct_scene_ready(scene);
    return ct_scene_replay(scene, "loggp").elapsed_s * 1e9;
}

/* Equal times on LogGOPSim, to seven digits: of all algorithms if it could send and receive at the
 * same time, and of those that never send what they have while they receive as it is. */
static void compare_times(const char *name, cs_collective collective, uint32_t n, bool in_turns)
{
    static ct_scene  scene;
    const ct_loggops half = {.L = 3002, .g = 2, .G = 2}, duplex = {3002, 0, 2, 2, true};

    ct_scene_set(&scene, name, collective, n, 840 * 1024);
    double   want = loggp_ns(&scene);
    cs_text  text = export_scene(&scene);
    ct_goal *goal = read_goal(name, text.data);
    double   got = (double)ct_goal_time(goal, &half), both = (double)ct_goal_time(goal, &duplex);

    cr_assert_lt(fabs(both - want), 1e-7 * want, "%s: %.0f ns, LogGP says %.0f ns",
                 ct_scene_text(&scene), both, want);
    cr_assert(!in_turns || fabs(got - want) < 1e-7 * want, "%s: LogGOPSim %.0f ns, LogGP %.0f ns",
              ct_scene_text(&scene), got, want);
    ct_goal_free(goal);
    cs_text_free(&text);
}

Test(conformance_goal, takes_the_time_of_the_loggp_model)
{
    compare_times("ring", CS_ALLREDUCE, 8, true);
    compare_times("ring", CS_ALLGATHER, 5, true);
    compare_times("ring", CS_REDUCESCATTER, 7, true);
    compare_times("rhd", CS_ALLREDUCE, 8, true);
    compare_times("rhd", CS_ALLREDUCE, 13, true);
    compare_times("circulant", CS_ALLREDUCE, 8, true);
    compare_times("circulant", CS_ALLGATHER, 13, true);
    compare_times("circulant", CS_REDUCESCATTER, 16, true);
    compare_times("merged_rhd", CS_ALLREDUCE, 8, true);
    compare_times("merged_rhd", CS_ALLREDUCE, 16, true);
    compare_times("latency_optimal", CS_ALLREDUCE, 13, true);
    compare_times("iallgather_rd", CS_ALLGATHER, 16, true);
    compare_times("circulant", CS_ALLREDUCE, 6, false);
    compare_times("merged_rhd", CS_ALLREDUCE, 6, false);
    compare_times("allpairs", CS_ALLREDUCE, 8, false);
    compare_times("ibcast_btdd", CS_ALLGATHER, 8, false);
    compare_times("ibcast_knomial", CS_ALLGATHER, 13, false);
    compare_times("ibcast_linear", CS_ALLGATHER, 8, false);
}

/* One send for every message that the engine counts, whatever parts it has, some of no bytes. */
static void count_sends(const cs_algorithm *a, cs_collective collective, uint32_t n)
{
    static ct_scene scene;

    if ((a->collectives >> collective & 1u) == 0) {
        return;
    }
    ct_scene_set(&scene, a->name, collective, n, n % 2 == 0 ? 4096 * n : 3);
    ct_scene_slow(&scene);
    if (ct_scene_check(&scene, NULL) != CS_OK) {
        return;
    }
    cs_text  text = export_scene(&scene);
    ct_goal *goal = read_goal(a->name, text.data);

    cr_assert_eq(ct_goal_sends(goal), ct_scene_replay(&scene, "loggp").n_transfers, "%s",
                 ct_scene_text(&scene));
    ct_goal_free(goal);
    cs_text_free(&text);
}

Test(conformance_goal, joins_parts_into_one_message)
{
    for (size_t i = 0; cs_algorithms[i] != NULL; i++) {
        if (ct_adds_in_switches(cs_algorithms[i])) { /* GOAL cannot say that */
            continue;
        }
        for (cs_collective c = CS_ALLREDUCE; c < CS_COLLECTIVE_COUNT; c++) {
            for (uint32_t n = 2; n <= 13; n++) {
                count_sends(cs_algorithms[i], c, n);
            }
        }
    }
}
