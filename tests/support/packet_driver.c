/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "support/packet_driver.h"

#include "support/rng.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Keys are odd multiples, so that they are no numbers of anything else. */
enum { KEY = 37 };

typedef struct driver {
    const ct_packet_world    *world;
    const ct_packet_schedule *schedule;
    const cs_packet_engine   *engine;
    void                     *state;
    cs_event_queue            ends;
    ct_packet_run             run;
    cs_ps                     now;
    uint32_t                 *handed;  /* [n_senders]: the first message that is not handed over */
    uint32_t                 *numbers; /* [n_sends]: that the engine knows it by */
    uint32_t                 *free_list; /* numbers that nobody has */
    uint32_t                  n_free, n_numbers;
} driver;

static bool hand_over(driver *d, uint32_t m)
{
    const ct_packet_send *s = &d->schedule->sends[m];

    d->numbers[m]                   = d->n_free > 0 ? d->free_list[--d->n_free] : d->n_numbers++;
    const cs_packet_message message = {.key        = (uint64_t)m * KEY,
                                       .number     = d->numbers[m],
                                       .bytes      = s->bytes,
                                       .mtu        = s->mtu,
                                       .header     = s->header,
                                       .ready      = d->now + s->startup,
                                       .n_paths    = s->n_paths,
                                       .first_path = s->first_path,
                                       .ways       = d->schedule->ways + s->ways};
    d->run.status                   = d->engine->send(d->state, &message);
    return d->run.status == CS_OK;
}

static bool hand_over_all(driver *d)
{
    for (uint32_t p = 0; p < d->world->net.n_senders; p++) {
        uint32_t *m = &d->handed[p];
        while (d->schedule->late[p] <= d->now && *m < d->schedule->n_sends &&
               ct_packet_waits_no_more(d->schedule, *m, d->run.end)) {
            if (!hand_over(d, *m)) {
                return false;
            }
            *m = ct_packet_next(d->schedule, p, *m + 1);
        }
    }
    return true;
}

/* The first rank that comes after now, or at 0. */
static cs_ps next_rank(const driver *d)
{
    cs_ps next = CS_PS_NEVER;

    for (uint32_t p = 0; p < d->world->net.n_senders; p++) {
        const cs_ps late = d->schedule->late[p];
        next             = late > d->now && late < next ? late : next;
    }
    return next;
}

static void take_ends(driver *d)
{
    const size_t n = cs_events_take(&d->ends);

    for (size_t i = 0; i < n; i++) {
        const uint64_t key = d->ends.batch[i].key, m = key / KEY;
        cr_assert(key % KEY == 0 && m < d->schedule->n_sends, "%s: no message has the key %llu",
                  d->engine->name, (unsigned long long)key);
        cr_assert(d->run.end[m] == CS_PS_NEVER, "%s: message %llu ends twice", d->engine->name,
                  (unsigned long long)m);
        d->run.end[m] = d->now;
        d->run.n_missing--;
        d->free_list[d->n_free++] = d->numbers[m];
    }
}

/* Let the engine run up to the next thing that happens and go there; false: nothing will. */
static bool go_on(driver *d, ct_rng *rng)
{
    const cs_ps rank = next_rank(d);
    cs_ps       stop = d->now;

    for (;;) {
        stop = rng == NULL ? rank : stop + ct_below(rng, 2000000) * (cs_ps)(1 + ct_below(rng, 9));
        stop = stop < rank && d->run.n_missing > 0 && rng != NULL ? stop : rank;
        d->run.status = d->engine->run(d->state, stop);
        if (d->run.status != CS_OK) {
            return false;
        }
        const double end = cs_events_next_s(&d->ends);
        if (isfinite(end) ? end <= (double)stop || stop == rank
                          : stop == rank || d->engine->is_idle(d->state)) {
            break;
        }
    }
    const double end = cs_events_next_s(&d->ends);
    if (!isfinite(end) && rank == CS_PS_NEVER) {
        cr_assert(d->engine->is_idle(d->state), "%s stops and is not idle, %s", d->engine->name,
                  ct_packet_text(&d->world->setting));
        return false;
    }
    cr_assert(!isfinite(end) || end >= (double)d->now, "%s: an end in the past, %s",
              d->engine->name, ct_packet_text(&d->world->setting));
    d->now = isfinite(end) && end < (double)rank ? (cs_ps)end : rank;
    if (end == (double)d->now) {
        take_ends(d);
    }
    return true;
}

ct_packet_run ct_packet_drive(const ct_packet_world *world, const cs_packet_engine *engine,
                              uint64_t stops)
{
    const size_t n   = world->schedule.n_sends;
    ct_rng       rng = {stops};
    cs_error     err = {0};
    driver       d   = {.world     = world,
                        .schedule  = &world->schedule,
                        .engine    = engine,
                        .run       = {.end = calloc(n, sizeof(cs_ps)), .n_missing = n},
                        .handed    = calloc(world->net.n_senders, sizeof(uint32_t)),
                        .numbers   = calloc(n, sizeof(uint32_t)),
                        .free_list = calloc(n, sizeof(uint32_t))};

    for (size_t i = 0; i < n; i++) {
        d.run.end[i] = CS_PS_NEVER;
    }
    for (uint32_t p = 0; p < world->net.n_senders; p++) {
        d.handed[p] = ct_packet_next(d.schedule, p, 0);
    }
    engine->close(NULL);
    d.run.status = engine->open(&world->net, &d.ends, &d.state, &err);
    if (d.run.status == CS_OK) {
        while (hand_over_all(&d) && go_on(&d, stops > 0 ? &rng : NULL)) {
        }
        engine->count(d.state, &d.run.totals);
        if (d.run.n_missing > 0 && d.run.status != CS_ENOMEM) {
            const char *why = engine->why(d.state);
            (void)snprintf(d.run.why, sizeof d.run.why, "%s", why != NULL ? why : "");
        }
    }
    engine->close(d.state);
    cs_events_free(&d.ends);
    free(d.handed);
    free(d.numbers);
    free(d.free_list);
    return d.run;
}

void ct_packet_run_free(ct_packet_run *run)
{
    free(run->end);
    *run = (ct_packet_run){0};
}

/* Is it true why messages are missing: a cycle of ports that wait for each other, where the oracle
 * knows of ports that do, or else the number of packets that were lost? */
static void expect_reason(const ct_packet_world *w, const ct_packet_answer *want,
                          const ct_packet_run *run)
{
    static const char begin[] = "deadlock: links ", end[] = " wait for each other";
    const char       *text = run->why, *world = ct_packet_text(&w->setting);
    unsigned          first, last, next;
    uint64_t          lost;
    int               used;

    if (want->waits == NULL) {
        cr_assert(sscanf(text, "%" SCNu64 " packet", &lost) == 1 && lost == want->totals.drops,
                  "%" PRIu64 " packets were lost: %s, %s", want->totals.drops, text, world);
        return;
    }
    cr_assert(strncmp(text, begin, strlen(begin)) == 0 &&
                  sscanf(text + strlen(begin), "%u%n", &first, &used) == 1,
              "%s: %s", text, world);
    text += strlen(begin) + (size_t)used;
    for (last = first; sscanf(text, " -> %u%n", &next, &used) == 1; text += used, last = next) {
        cr_assert(last < w->net.n_links && next < w->net.n_links &&
                      want->waits[last * w->net.n_links + next],
                  "%u does not wait for %u: %s, %s", last, next, run->why, world);
    }
    cr_assert(last == first && strstr(run->why, " -> ") != NULL && strcmp(text, end) == 0,
              "no cycle: %s, %s", run->why, world);
}

/* Up to here a double has every picosecond; what is repeated again and again may take longer. */
#define EXACT_PS ((cs_ps)1 << 53)

void ct_packet_same(const ct_packet_world *world, const ct_packet_answer *want,
                    const cs_packet_engine *engine, uint64_t stops)
{
    ct_packet_run           run = ct_packet_drive(world, engine, stops);
    const cs_packet_totals *got = &run.totals, *all = &want->totals;
    const char             *text = ct_packet_text(&world->setting);

    if (want->overflowed != CS_NO_LINK) {
        cr_assert(run.status == CS_EWRONG && strstr(run.why, "headroom") != NULL,
                  "%s: the headroom of link %" PRIu32 " is exceeded: status %d, \"%s\", %s",
                  engine->name, want->overflowed, (int)run.status, run.why, text);
        ct_packet_run_free(&run);
        return;
    }
    if (run.status == CS_EWRONG && strstr(run.why, "are under way for longer") != NULL) {
        cs_ps latest = 0;
        for (size_t i = 0; i < world->schedule.n_sends; i++) {
            latest = want->end[i] > latest ? want->end[i] : latest;
        }
        cr_assert(latest > EXACT_PS, "%s: %s, on the oracle to %" PRId64 " ps, %s", engine->name,
                  run.why, latest, text);
        ct_packet_run_free(&run);
        return;
    }
    cr_assert_eq(run.status, CS_OK, "%s: %s, %s", engine->name, run.why, text);
    for (size_t i = 0; i < world->schedule.n_sends; i++) {
        cr_assert_eq(run.end[i], want->end[i],
                     "%s, trains %d, windows of %" PRId64 " ps: message %zu ends at %" PRId64
                     " ps, on the oracle at %" PRId64 ", %s",
                     engine->name, world->net.trains, world->net.window, i, run.end[i],
                     want->end[i], text);
    }
    cr_assert(got->packets == all->packets && got->pauses == all->pauses &&
                  got->drops == all->drops && got->marks == all->marks &&
                  got->resent == all->resent,
              "%s: packets %" PRIu64 " (oracle %" PRIu64 "), pauses %" PRIu64 " (%" PRIu64
              "), drops %" PRIu64 " (%" PRIu64 "), marks %" PRIu64 " (%" PRIu64 "), resent %" PRIu64
              " (%" PRIu64 "), %s",
              engine->name, got->packets, all->packets, got->pauses, all->pauses, got->drops,
              all->drops, got->marks, all->marks, got->resent, all->resent, text);
    if (want->n_missing > 0) {
        expect_reason(world, want, &run);
    }
    ct_packet_run_free(&run);
}
