/* SPDX-License-Identifier: GPL-3.0-or-later */
/* hunt/hunt.h -- which nodes, NICs or rails of a cluster are slow: what was asked for, the rounds
 * of runs so far and their results. What they say is in hunt/belief.h, what to run next in
 * hunt/plan.h.
 *
 * A round is what is launched at a time. In it every host belongs to one group at most; groups run
 * side by side. A group makes one run (one start of a program of nccl-tests, one log) after the
 * other: with all NICs, or where rails are told apart, one for each rail. A run is as slow as the
 * slowest of what takes part in it.
 */
#ifndef CS_HUNT_HUNT_H
#define CS_HUNT_HUNT_H

#include "base/arena.h"
#include "base/text.h"

#include <stdint.h>

enum {
    CS_HUNT_MIN_HOSTS  = 4,
    CS_HUNT_MAX_HOSTS  = 65536,
    CS_HUNT_MAX_RAILS  = 32,
    CS_HUNT_MAX_ROUNDS = 64,
    CS_HUNT_MAX_BAD    = 6, /* that are looked for at a time */
    CS_HUNT_NAME_BYTES = 128,
    CS_HUNT_ID_BYTES   = 17,
};

/* The group of a host that is in none. */
#define CS_HUNT_IDLE UINT32_MAX

/* ---- what is asked for ---- */

typedef struct cs_hunt_setting {
    double   effect;      /* part of the bandwidth that is lost, (0, 1); 0: not known */
    double   noise;       /* standard deviation of one row of a log, relative */
    double   confidence;  /* when to stop */
    uint32_t bad;         /* how many are expected, 1 .. CS_HUNT_MAX_BAD */
    uint32_t rows;        /* of a log: so many times is measured in one run */
    uint32_t group;       /* hosts of a group; 0: as many as are good for the next round */
    uint32_t gpus;        /* of a host */
    uint64_t bytes;       /* of the collective: the first row's */
    double   healthy_Bps; /* bus bandwidth to be expected; 0: what most groups have */
} cs_hunt_setting;

cs_hunt_setting cs_hunt_default(void);

/* ---- rounds ---- */

typedef struct cs_hunt_result {
    double      busbw_Bps; /* 0: there is none yet */
    uint32_t    rows;      /* that it is the mean of */
    const char *log;       /* without folders; NULL where there is no result */
} cs_hunt_result;

typedef struct cs_hunt_round {
    uint32_t        n_groups;
    uint32_t        size;     /* of most groups; some may have one host more */
    uint32_t       *group_of; /* of every host, or CS_HUNT_IDLE */
    cs_hunt_result *results;  /* n_groups x n_tests: group * n_tests + test */
} cs_hunt_round;

/* `{0}` may be freed. All is in the arena. */
typedef struct cs_hunt {
    cs_hunt_setting setting;
    const char    **hosts;
    uint32_t        n_hosts;
    const char    **rails;   /* as NCCL_IB_HCA names their NICs */
    uint32_t        n_rails; /* 0: rails are not told apart */
    const char     *command; /* of a run, with places for its hosts (hunt/script.h); or NULL */
    cs_hunt_round  *rounds[CS_HUNT_MAX_ROUNDS];
    uint32_t        n_rounds;
    cs_arena        arena;
} cs_hunt;

/* Begin with copies of the names; `rails` may be NULL. Refused are names that stand twice or are
 * not made of what host names and NICs are made of, and numbers out of range. On an error the hunt
 * is freed. O(n log n). */
CS_MUST_CHECK cs_status cs_hunt_begin(const cs_hunt_setting *setting, const char *const *hosts,
                                      size_t n_hosts, const char *const *rails, size_t n_rails,
                                      cs_hunt *hunt_p, cs_error *err);
void                    cs_hunt_free(cs_hunt *hunt);

/* Keep a copy of the command of runs. */
CS_MUST_CHECK cs_status cs_hunt_set_command(cs_hunt *hunt, const char *command, cs_error *err);

/* Add an empty round, whose hosts are all idle: the caller fills it. `size` >= 2 hosts for each of
 * the groups. */
CS_MUST_CHECK cs_status cs_hunt_add_round(cs_hunt *hunt, uint32_t n_groups, uint32_t size,
                                          cs_hunt_round **round_p, cs_error *err);

/* Runs that a group makes: one, or one for each rail. */
static inline uint32_t cs_hunt_n_tests(const cs_hunt *hunt)
{
    return hunt->n_rails > 0 ? hunt->n_rails : 1;
}

static inline cs_hunt_result *cs_hunt_at(const cs_hunt *hunt, const cs_hunt_round *round,
                                         uint32_t group, uint32_t test)
{
    return &round->results[(size_t)group * cs_hunt_n_tests(hunt) + test];
}

/* Put a result where it belongs; `log` is copied. */
CS_MUST_CHECK cs_status cs_hunt_put(cs_hunt *hunt, cs_hunt_result *place, double busbw_Bps,
                                    uint32_t rows, const char *log, cs_error *err);

/* Hosts of a group. O(n). */
uint32_t cs_hunt_group_size(const cs_hunt *hunt, const cs_hunt_round *round, uint32_t group);

/* Runs of a round, or of all; those that have no result. */
uint64_t cs_hunt_n_runs(const cs_hunt *hunt, const cs_hunt_round *round);
uint64_t cs_hunt_n_all_runs(const cs_hunt *hunt);
uint64_t cs_hunt_n_missing(const cs_hunt *hunt, const cs_hunt_round *round);

/* ---- names of runs ---- */

/* A hash of hosts, rails and what is asked for: the same for the same hunt. */
void cs_hunt_id(const cs_hunt *hunt, char id[CS_HUNT_ID_BYTES]);

/* "r1-g07", or with rails "r1-g07-mlx5_0"; rounds and groups count from 1. */
enum { CS_HUNT_LABEL_BYTES = CS_HUNT_NAME_BYTES + 40 };
void cs_hunt_label(const cs_hunt *hunt, uint32_t round, uint32_t group, uint32_t test,
                   char label[CS_HUNT_LABEL_BYTES]);

/* The run of a label failed, as runs do on a host that is broken: it counts as slower than any. */
CS_MUST_CHECK cs_status cs_hunt_put_failed(cs_hunt *hunt, const char *label, cs_error *err);

/* Find what a label names; false: it is none of this hunt. */
bool cs_hunt_find_label(const cs_hunt *hunt, const char *label, uint32_t *round_p,
                        uint32_t *group_p, uint32_t *test_p);

#endif
