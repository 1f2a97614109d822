/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The state of a hunt: names, rounds, results. */
#include "hunt/hunt.h"

#include "base/alloc.h"
#include "base/random.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

cs_hunt_setting cs_hunt_default(void)
{
    return (cs_hunt_setting){.noise      = 0.05,
                             .confidence = 0.99,
                             .bad        = 1,
                             .rows       = 8,
                             .gpus       = 8,
                             .bytes      = (uint64_t)1 << 30};
}

/* ---- names ---- */

static bool is_name(const char *name)
{
    size_t length = 0;

    for (; name[length] != '\0'; length++) {
        unsigned char c = (unsigned char)name[length];
        if (!isalnum(c) && (c == '\0' || strchr("._-:=^", c) == NULL)) {
            return false;
        }
    }
    return length > 0 && length < CS_HUNT_NAME_BYTES && name[0] != '-' && name[0] != '.';
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Copy the names, which must differ. */
static cs_status take_names(cs_arena *arena, const char *const *names, size_t n, const char *what,
                            const char ***copies_p, cs_error *err)
{
    const char **copies = CS_ARENA_NEW(arena, const char *, n);
    const char **sorted = CS_NEW(const char *, n);
    cs_status    status = CS_OK;

    if (copies == NULL || sorted == NULL) {
        status = CS_NO_MEMORY(err, "%zu names", n);
    }
    for (size_t i = 0; i < n && status == CS_OK; i++) {
        char plain[64];
        cs_plain_text(plain, sizeof plain, names[i]);
        if (!is_name(names[i])) {
            status = CS_FAIL(err, CS_EINVAL, what,
                             "'%s' is no name: accepted are letters, digits and . _ - : =, up to "
                             "%d of them",
                             plain, CS_HUNT_NAME_BYTES - 1);
            break;
        }
        copies[i] = cs_arena_strdup(arena, names[i]);
        sorted[i] = copies[i];
        status    = copies[i] != NULL ? CS_OK : CS_NO_MEMORY(err, "%zu names", n);
    }
    if (status == CS_OK && n > 0) {
        qsort(sorted, n, sizeof *sorted, compare_names);
    }
    for (size_t i = 1; i < n && status == CS_OK; i++) {
        if (strcmp(sorted[i - 1], sorted[i]) == 0) {
            status = CS_FAIL(err, CS_EINVAL, what, "'%.60s' stands twice", sorted[i]);
        }
    }
    cs_free(sorted);
    *copies_p = copies;
    return status;
}

static cs_status check_setting(const cs_hunt_setting *s, size_t n_hosts, size_t n_rails,
                               cs_error *err)
{
    if (n_hosts < CS_HUNT_MIN_HOSTS || n_hosts > CS_HUNT_MAX_HOSTS) {
        return CS_FAIL(err, CS_EINVAL, "hosts", "are %zu: accepted are %d to %d", n_hosts,
                       CS_HUNT_MIN_HOSTS, CS_HUNT_MAX_HOSTS);
    }
    if (n_rails == 1 || n_rails > CS_HUNT_MAX_RAILS) {
        return CS_FAIL(err, CS_EINVAL, "rails", "are %zu: accepted are none, or 2 to %d", n_rails,
                       CS_HUNT_MAX_RAILS);
    }
    if (s->bad < 1 || s->bad > CS_HUNT_MAX_BAD || s->bad >= n_hosts) {
        return CS_FAIL(err, CS_EINVAL, "bad", "%u: accepted are 1 to %d, fewer than hosts", s->bad,
                       CS_HUNT_MAX_BAD);
    }
    if (s->group != 0 && (s->group < 2 || s->group > n_hosts / 2)) {
        return CS_FAIL(err, CS_EINVAL, "group", "%u hosts: accepted are 2 to half of the %zu",
                       s->group, n_hosts);
    }
    return CS_OK;
}

cs_status cs_hunt_begin(const cs_hunt_setting *setting, const char *const *hosts, size_t n_hosts,
                        const char *const *rails, size_t n_rails, cs_hunt *hunt_p, cs_error *err)
{
    cs_status status;

    *hunt_p = (cs_hunt){.setting = *setting};
    CS_TRY(check_setting(setting, n_hosts, n_rails, err));
    status = take_names(&hunt_p->arena, hosts, n_hosts, "hosts", &hunt_p->hosts, err);
    if (status == CS_OK && n_rails > 0) {
        status = take_names(&hunt_p->arena, rails, n_rails, "rails", &hunt_p->rails, err);
    }
    hunt_p->n_hosts = (uint32_t)n_hosts;
    hunt_p->n_rails = (uint32_t)n_rails;
    if (status != CS_OK) {
        cs_hunt_free(hunt_p);
    }
    return status;
}

cs_status cs_hunt_set_command(cs_hunt *hunt, const char *command, cs_error *err)
{
    hunt->command = cs_arena_strdup(&hunt->arena, command);
    return hunt->command != NULL ? CS_OK : CS_NO_MEMORY(err, "a command");
}

void cs_hunt_free(cs_hunt *hunt)
{
    cs_arena_free(&hunt->arena);
    *hunt = (cs_hunt){.n_hosts = 0};
}

/* ---- rounds ---- */

cs_status cs_hunt_add_round(cs_hunt *hunt, uint32_t n_groups, uint32_t size,
                            cs_hunt_round **round_p, cs_error *err)
{
    cs_hunt_round *round;

    if (hunt->n_rounds == CS_HUNT_MAX_ROUNDS) {
        return CS_FAIL(err, CS_EINVAL, "rounds", "are %d: the effect is too small for this noise",
                       CS_HUNT_MAX_ROUNDS);
    }
    round = CS_ARENA_NEW(&hunt->arena, cs_hunt_round, 1);
    if (round != NULL) {
        *round = (cs_hunt_round){
            .n_groups = n_groups,
            .size     = size,
            .group_of = CS_ARENA_NEW(&hunt->arena, uint32_t, hunt->n_hosts),
            .results  = CS_ARENA_NEW(&hunt->arena, cs_hunt_result,
                                     (size_t)n_groups * cs_hunt_n_tests(hunt)),
        };
    }
    if (round == NULL || round->group_of == NULL || round->results == NULL) {
        return CS_NO_MEMORY(err, "a round of %u groups", n_groups);
    }
    for (uint32_t i = 0; i < hunt->n_hosts; i++) {
        round->group_of[i] = CS_HUNT_IDLE;
    }
    hunt->rounds[hunt->n_rounds++] = round;
    *round_p                       = round;
    return CS_OK;
}

cs_status cs_hunt_put(cs_hunt *hunt, cs_hunt_result *place, double busbw_Bps, uint32_t rows,
                      const char *log, cs_error *err)
{
    const char *name = cs_arena_strdup(&hunt->arena, log);

    if (name == NULL) {
        return CS_NO_MEMORY(err, "a result");
    }
    *place = (cs_hunt_result){.busbw_Bps = busbw_Bps, .rows = rows, .log = name};
    return CS_OK;
}

uint32_t cs_hunt_group_size(const cs_hunt *hunt, const cs_hunt_round *round, uint32_t group)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < hunt->n_hosts; i++) {
        n += round->group_of[i] == group;
    }
    return n;
}

uint64_t cs_hunt_n_runs(const cs_hunt *hunt, const cs_hunt_round *round)
{
    return (uint64_t)round->n_groups * cs_hunt_n_tests(hunt);
}

uint64_t cs_hunt_n_all_runs(const cs_hunt *hunt)
{
    uint64_t n = 0;

    for (uint32_t t = 0; t < hunt->n_rounds; t++) {
        n += cs_hunt_n_runs(hunt, hunt->rounds[t]);
    }
    return n;
}

uint64_t cs_hunt_n_missing(const cs_hunt *hunt, const cs_hunt_round *round)
{
    uint64_t n = 0;

    for (uint64_t i = 0; i < cs_hunt_n_runs(hunt, round); i++) {
        n += !(round->results[i].busbw_Bps > 0);
    }
    return n;
}

/* ---- names of runs ---- */

void cs_hunt_id(const cs_hunt *hunt, char id[CS_HUNT_ID_BYTES])
{
    const cs_hunt_setting *s       = &hunt->setting;
    const double           reals[] = {s->effect, s->noise, s->confidence, s->healthy_Bps};
    const uint64_t         whole[] = {s->bad, s->rows, s->group, s->gpus, s->bytes, hunt->n_rails};
    uint64_t               hash    = cs_hash_add(CS_HASH_BASIS, reals, sizeof reals);

    hash = cs_hash_add(hash, whole, sizeof whole);
    for (uint32_t i = 0; i < hunt->n_hosts; i++) {
        hash = cs_hash_add(hash, hunt->hosts[i], strlen(hunt->hosts[i]) + 1);
    }
    for (uint32_t i = 0; i < hunt->n_rails; i++) {
        hash = cs_hash_add(hash, hunt->rails[i], strlen(hunt->rails[i]) + 1);
    }
    (void)snprintf(id, CS_HUNT_ID_BYTES, "%016" PRIx64, hash);
}

void cs_hunt_label(const cs_hunt *hunt, uint32_t round, uint32_t group, uint32_t test,
                   char label[CS_HUNT_LABEL_BYTES])
{
    (void)snprintf(label, CS_HUNT_LABEL_BYTES, "r%u-g%02u%s%s", round + 1, group + 1,
                   hunt->n_rails > 0 ? "-" : "", hunt->n_rails > 0 ? hunt->rails[test] : "");
}

bool cs_hunt_find_label(const cs_hunt *hunt, const char *label, uint32_t *round_p,
                        uint32_t *group_p, uint32_t *test_p)
{
    unsigned round = 0, group = 0;
    int      length = 0;

    if (sscanf(label, "r%5u-g%6u%n", &round, &group, &length) != 2 || round < 1 ||
        round > hunt->n_rounds || group < 1 || group > hunt->rounds[round - 1]->n_groups) {
        return false;
    }
    *round_p = round - 1;
    *group_p = group - 1;
    *test_p  = 0;
    if (hunt->n_rails == 0) {
        return label[length] == '\0';
    }
    for (uint32_t test = 0; label[length] == '-' && test < hunt->n_rails; test++) {
        if (strcmp(label + length + 1, hunt->rails[test]) == 0) {
            *test_p = test;
            return true;
        }
    }
    return false;
}

cs_status cs_hunt_put_failed(cs_hunt *hunt, const char *label, cs_error *err)
{
    uint32_t round, group, test;

    if (!cs_hunt_find_label(hunt, label, &round, &group, &test)) {
        return CS_FAIL(err, CS_EINVAL, "--failed", "'%.60s' is no run of this hunt", label);
    }
    return cs_hunt_put(hunt, cs_hunt_at(hunt, hunt->rounds[round], group, test), 1,
                       hunt->setting.rows, "failed", err);
}
