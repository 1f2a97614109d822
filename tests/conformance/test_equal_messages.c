/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which schedules have a time that says how long one of their messages took: those that say so
 * (cs_algorithm.equal_messages) take as long on all clusters where the start-up time alone makes a
 * message as long as start-up time and bytes together do; the others fail somewhere. And where all
 * servers do the same (keep_one_server), one of them takes as long as all. */
#include "algorithms/lib/accept.h"
#include "study/level_messages.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

typedef struct shape {
    uint32_t n_ranks, gpus_per_server;
} shape;

static const shape     shapes[]   = {{4, 1}, {5, 1}, {8, 1},  {16, 1}, {4, 4},  {8, 8},
                                     {8, 4}, {6, 2}, {16, 4}, {16, 8}, {32, 4}, {24, 8}};
static const cs_fabric ports[][2] = {
    {[CS_NIC] = {CS_SWITCHED, 3e-6, 25e9}, [CS_NVLINK] = {CS_SWITCHED, 1e-6, 450e9}},
    {[CS_NIC] = {CS_SWITCHED, 30e-6, 5e9}, [CS_NVLINK] = {CS_SWITCHED, 4e-6, 20e9}},
    {[CS_NIC] = {CS_SWITCHED, 1e-6, 80e9}, [CS_NVLINK] = {CS_SWITCHED, 9e-6, 90e9}},
};
enum { N_SHAPES = sizeof shapes / sizeof shapes[0], N_PORTS = sizeof ports / sizeof ports[0] };

/* Without a slow NIC it runs another algorithm's schedule, the fastest one on the ports. */
static bool is_a_chooser(const char *name)
{
    return strcmp(name, "r2ccl") == 0;
}

static cs_scenario scenario_on(cs_collective collective, shape at, uint64_t bytes, size_t which)
{
    cs_scenario s = cs_level_scenario(collective, at.n_ranks, at.gpus_per_server, bytes);

    s.cluster.fabrics[CS_NIC]    = ports[which][CS_NIC];
    s.cluster.fabrics[CS_NVLINK] = ports[which][CS_NVLINK];
    return s;
}

/* The time on ports, of all servers or by one; NAN where the algorithm refuses the scenario. */
static double time_on(const char *name, const cs_scenario *s, bool is_of_all)
{
    cs_job     job;
    cs_outcome outcome = {0};
    cs_error   err     = {0};
    double     time_s  = 0;

    cr_assert_eq(cs_level_job(name, s, &job, &err), CS_OK);
    if (cs_job_resolve(&job, &err) != CS_OK) {
        return (double)NAN;
    }
    cr_assert_eq(is_of_all ? cs_job_replay(&job, NULL, 0, &outcome, &err)
                           : cs_level_time(&job, &time_s, &err),
                 CS_OK, "%s", err.message);
    cs_job_release(&job);
    return is_of_all ? outcome.elapsed_s : time_s;
}

static uint64_t bytes_for(shape at)
{
    return (uint64_t)at.n_ranks * at.gpus_per_server * 12 * 65536;
}

/* Is the time that of messages alone? */
static bool is_of_messages(const char *name, cs_collective collective, shape at, size_t which)
{
    const cs_scenario s      = scenario_on(collective, at, bytes_for(at), which);
    const double      time_s = time_on(name, &s, true);
    cs_scenario       same   = s;
    uint64_t          messages[CS_FABRICS];
    cs_error          err = {0};

    if (isnan(time_s)) {
        return true;
    }
    cr_assert_eq(cs_level_messages(name, &s, messages, &err), CS_OK, "%s", err.message);
    for (uint32_t f = 0; f <= CS_NVLINK; f++) {
        cs_fabric *port     = &same.cluster.fabrics[f];
        port->bandwidth_Bps = CS_FAST_BPS;
        port->alpha_s       = cs_message_s(&s, f, messages[f]) - (double)messages[f] / CS_FAST_BPS;
    }
    return fabs(time_on(name, &same, true) / time_s - 1) < 1e-9;
}

Test(equal_messages, said_where_they_are)
{
    for (const cs_algorithm *const *a = cs_algorithms; *a != NULL; a++) {
        for (cs_collective c = 0; c < CS_COLLECTIVE_COUNT; c++) {
            const bool does_it  = ((*a)->collectives >> c & 1u) != 0;
            const bool is_said  = ((*a)->equal_messages >> c & 1u) != 0;
            bool       is_equal = does_it;
            for (size_t i = 0; is_equal && i < N_SHAPES; i++) {
                for (size_t p = 0; is_equal && p < N_PORTS; p++) {
                    is_equal = is_of_messages((*a)->name, c, shapes[i], p);
                    cr_expect(is_equal || !is_said, "%s, %s: not on %u ranks, %u a server",
                              (*a)->name, cs_collective_name(c), shapes[i].n_ranks,
                              shapes[i].gpus_per_server);
                }
            }
            cr_expect(is_said == is_equal || is_a_chooser((*a)->name), "%s, %s: said %d, is %d",
                      (*a)->name, cs_collective_name(c), is_said, is_equal);
        }
    }
}

/* To the last bit, on servers of which each has another part of the buffer. */
Test(equal_messages, one_server_for_all)
{
    static const shape more[] = {{12, 4}, {40, 8}, {21, 3}, {36, 2}, {9, 1}, {66, 6}};
    size_t             n      = 0;

    for (const cs_algorithm *const *a = cs_algorithms; *a != NULL; a++) {
        for (cs_collective c = 0; (*a)->keep_one_server != NULL && c < CS_COLLECTIVE_COUNT; c++) {
            for (size_t i = 0; i < N_SHAPES + sizeof more / sizeof more[0]; i++) {
                const shape at      = i < N_SHAPES ? shapes[i] : more[i - N_SHAPES];
                const bool  does_it = ((*a)->collectives >> c & 1u) != 0;
                for (size_t p = 0; does_it && p < N_PORTS; p++) {
                    for (uint64_t bytes = bytes_for(at); bytes < 1u << 30; bytes = bytes * 8 + 5) {
                        const cs_scenario s     = scenario_on(c, at, bytes, p);
                        const double      all_s = time_on((*a)->name, &s, true);
                        const double      one_s = time_on((*a)->name, &s, false);
                        cr_expect_eq(one_s, all_s, "%s, %s, %u ranks, %u a server: %.17g, %.17g",
                                     (*a)->name, cs_collective_name(c), at.n_ranks,
                                     at.gpus_per_server, one_s, all_s);
                        n++;
                    }
                }
            }
        }
    }
    cr_expect_gt(n, 500, "%zu", n);
}
