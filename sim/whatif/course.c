/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A policy through a history: see whatif/course.h.
 *
 * Whatever happens does so a fixed time after an outage begins or ends. So there is no queue: six
 * cursors go through the outages, three in the order of their begins (it begins, it is known, it is
 * answered by another schedule) and three in that of their ends. What the servers that take part
 * add up to is kept up to date (`sums`), and is all that a decision looks at.
 */
#include "whatif/course.h"

#include "base/alloc.h"

#include <math.h>
#include <string.h>

/* What a policy does about a dead NIC, and about a server that is down. */
typedef enum answer {
    KEEP,    /* go on with the job's schedule */
    ADAPT,   /* go on with the policy's own */
    HOLD,    /* stand still until the repair; of a server, restart then */
    RESTART, /* from the last checkpoint, on the NICs that are left */
    EXCLUDE, /* from the last checkpoint, without the server */
    SHRINK,  /* go on without the server */
    SPARE,   /* from the last checkpoint, with another server in its place */
} answer;

/* One server: how many outages there are, of how many it is known, and is answered. */
typedef struct server {
    uint32_t dead, blind, known, answered; /* NICs; blind: dead and not known */
    uint32_t down, known_down;             /* outages of all of it */
    bool     takes_part;                   /* has a place in the job .. */
    bool     is_out;                       /* .. that is left empty */
} server;

/* Over the servers that have a place. */
typedef struct sums {
    cs_pace_state now, answered; /* of those that are not left out */
    uint32_t      members;       /* not left out */
    uint32_t      down, blind;   /* .. that are down; that have NICs whose death is not known */
    uint32_t      broken;        /* .. that are known to be down, or to have dead NICs */
    uint32_t      held;          /* .. that have dead NICs, known and not repaired yet */
    uint32_t      lost;          /* .. that are known to be down */
    uint32_t      answering;     /* .. with dead NICs that another schedule knows of */
    uint32_t      recovered;     /* left out, and known to be whole */
} sums;

typedef enum mode {
    RUNNING,
    STOPPED, /* until resume_s */
    WAITING, /* for the repair of a server, or for a spare */
} mode;

enum { BEGIN, KNOWN, ANSWERED, END, KNOWN_END, ANSWERED_END, CURSORS };

struct cs_walker {
    const cs_whatif_job *job;
    cs_pace_view        *view;
    uint32_t             nics, n_places, n_servers; /* with spares */
    server              *servers;

    const cs_whatif_policy *policy;
    answer                  nic_answer, server_answer;
    uint32_t                n_mine; /* servers that the policy ever sees */
    const cs_outages       *outages;
    size_t                  at[CURSORS];
    double                  delay_s[CURSORS];
    sums                    sums;
    double                  now_s, resume_s, pace_Hz; /* iterations per second */
    bool                    is_fresh;                 /* pace_Hz is that of the state */
    mode                    mode;
    bool                    has_crashed, has_news; /* the job ended; of a dead NIC */
    uint32_t                hung;                  /* it has failed, and nobody knows yet */
    double                  unsaved, writing_s;    /* since the last checkpoint; left of it */
    cs_course               course;
};

/* ---- what policies do ---- */

static answer server_answer_of(const cs_whatif_job *job, cs_policy_kind kind)
{
    static const answer recoveries[] = {
        [CS_SERVER_EXCLUDE] = EXCLUDE, [CS_SERVER_WAIT] = HOLD, [CS_SERVER_SPARE] = SPARE};

    switch (kind) {
    case CS_POLICY_EXCLUDE: return EXCLUDE;
    case CS_POLICY_SHRINK: return SHRINK;
    case CS_POLICY_SPARE: return SPARE;
    case CS_POLICY_WAIT: return HOLD;
    case CS_POLICY_HEALTHY:
    case CS_POLICY_KEEP:
    case CS_POLICY_SWITCH:
    case CS_POLICY_RUN:
    case CS_POLICY_RESTART:
    case CS_POLICY_KINDS: break;
    }
    return recoveries[job->failures.recovery];
}

static answer nic_answer_of(cs_policy_kind kind)
{
    switch (kind) {
    case CS_POLICY_EXCLUDE: return EXCLUDE;
    case CS_POLICY_SHRINK: return SHRINK;
    case CS_POLICY_SPARE: return SPARE;
    case CS_POLICY_WAIT: return HOLD;
    case CS_POLICY_RESTART: return RESTART;
    case CS_POLICY_SWITCH:
    case CS_POLICY_RUN: return ADAPT;
    case CS_POLICY_HEALTHY:
    case CS_POLICY_KEEP:
    case CS_POLICY_KINDS: break;
    }
    return KEEP;
}

bool cs_policy_has_spares(const cs_whatif_job *job, const cs_whatif_policy *policy)
{
    return job->spares > 0 && policy->kind != CS_POLICY_HEALTHY &&
           server_answer_of(job, policy->kind) == SPARE;
}

/* ---- life ---- */

cs_status cs_walker_new(const cs_whatif_job *job, cs_pace_view *view, cs_walker **walker_p,
                        cs_error *err)
{
    cs_walker *w = CS_NEW(cs_walker, 1);

    if (w != NULL) {
        w->job       = job;
        w->view      = view;
        w->nics      = cs_pace_nics(view);
        w->n_places  = cs_n_servers(&job->call.scenario.cluster);
        w->n_servers = w->n_places + job->spares;
        w->servers   = CS_NEW(server, w->n_servers);
    }
    if (w == NULL || w->servers == NULL) {
        cs_walker_free(w);
        return CS_NO_MEMORY(err, "a job's servers");
    }
    *walker_p = w;
    return CS_OK;
}

void cs_walker_free(cs_walker *walker)
{
    if (walker != NULL) {
        cs_free(walker->servers);
        cs_free(walker);
    }
}

/* ---- servers and their sums ---- */

static bool is_down(const cs_walker *w, const server *s)
{
    return s->down > 0 || s->dead >= w->nics;
}

static bool is_known_down(const cs_walker *w, const server *s)
{
    return s->known_down > 0 || s->known >= w->nics;
}

/* Must it leave, as the policy does? NICs alone are a reason for those who leave them out. */
static bool is_known_broken(const cs_walker *w, const server *s)
{
    bool leaves = w->nic_answer == EXCLUDE || w->nic_answer == SHRINK || w->nic_answer == SPARE;

    return is_known_down(w, s) || (leaves && s->known > 0);
}

/* Add a server to the sums, or take it out (-1). */
static void tally(cs_walker *w, const server *s, int sign)
{
    sums *t = &w->sums;

    if (!s->takes_part) {
        return;
    }
    if (s->is_out) {
        t->recovered += (uint32_t)sign * !is_known_broken(w, s);
        t->now.out      = (uint16_t)(t->now.out + sign);
        t->answered.out = (uint16_t)(t->answered.out + sign);
        return;
    }
    t->members += (uint32_t)sign;
    t->down += (uint32_t)sign * is_down(w, s);
    t->blind += (uint32_t)sign * (s->blind > 0);
    t->broken += (uint32_t)sign * is_known_broken(w, s);
    t->lost += (uint32_t)sign * is_known_down(w, s);
    t->held += (uint32_t)sign * (s->dead > s->blind);
    t->answering += (uint32_t)sign * (s->answered > 0 && s->answered < w->nics);
    if (s->dead > 0 && s->dead < w->nics) {
        uint16_t *n = &t->now.dead[s->dead - 1];
        *n          = (uint16_t)(*n + sign);
    }
    if (s->answered > 0 && s->answered < w->nics) {
        uint16_t *n = &t->answered.dead[s->answered - 1];
        *n          = (uint16_t)(*n + sign);
    }
    w->is_fresh = false;
}

static void place(cs_walker *w, server *s, bool takes_part, bool is_out)
{
    tally(w, s, -1);
    s->takes_part = takes_part;
    s->is_out     = is_out;
    tally(w, s, 1);
    w->is_fresh = false;
}

/* ---- how fast it goes ---- */

static bool stands_still(const cs_walker *w)
{
    return w->mode != RUNNING || w->has_crashed || w->sums.members == 0 || w->sums.down > 0 ||
           w->sums.blind > 0 || w->hung > 0 || (w->nic_answer == HOLD && w->sums.held > 0);
}

/* Of the state that is; while another schedule is not ready, or is of a state that is over, the
 * slower one of the two. */
static cs_status find_pace(cs_walker *w, cs_error *err)
{
    const cs_whatif_schedule *own    = w->nic_answer == ADAPT ? &w->policy->schedule : NULL;
    double                    time_s = 0, other_s = 0;

    w->is_fresh = true;
    w->pace_Hz  = 0;
    if (stands_still(w)) {
        return CS_OK;
    }
    bool is_answered = memcmp(&w->sums.now, &w->sums.answered, sizeof w->sums.now) == 0;
    own              = w->sums.answering > 0 ? own : NULL;
    if (own == NULL || !is_answered) {
        CS_TRY(cs_pace_time(w->view, NULL, &w->sums.now, &time_s, err));
    }
    if (own != NULL) {
        CS_TRY(cs_pace_time(w->view, own, &w->sums.answered, &other_s, err));
    }
    time_s     = fmax(time_s, other_s);
    w->pace_Hz = w->sums.members / (double)w->n_places / time_s;
    return CS_OK;
}

/* ---- work and checkpoints ---- */

static void work(cs_walker *w, double iterations)
{
    w->course.iterations += iterations;
    w->unsaved += iterations;
}

/* Work for some time at the pace of now. */
static void run_for(cs_walker *w, double time_s)
{
    double every = (double)w->job->timers.checkpoint, cost_s = w->job->failures.checkpoint_s;
    double pace = w->pace_Hz, written_s = fmin(time_s, w->writing_s);

    w->writing_s -= written_s;
    w->course.stopped_s += written_s;
    time_s -= written_s;
    if (w->writing_s > 0 || !(time_s > 0)) {
        return;
    }
    if (every == 0) {
        work(w, time_s * pace);
        return;
    }
    w->unsaved     = w->unsaved >= every ? 0 : w->unsaved; /* it has just been written */
    double until_s = (every - w->unsaved) / pace;
    if (time_s < until_s) {
        work(w, time_s * pace);
        return;
    }
    work(w, every - w->unsaved);
    w->unsaved = every;
    time_s -= until_s;
    double cycle_s = cost_s + every / pace, cycles = floor(time_s / cycle_s);
    w->course.iterations += cycles * every;
    w->course.stopped_s += cycles * cost_s;
    time_s -= cycles * cycle_s;
    written_s    = fmin(time_s, cost_s);
    w->writing_s = cost_s - written_s;
    w->course.stopped_s += written_s;
    if (!(w->writing_s > 0)) {
        w->unsaved = 0;
        work(w, (time_s - written_s) * pace);
    }
}

/* Go back to the last checkpoint. */
static void go_back(cs_walker *w)
{
    if (w->job->timers.checkpoint > 0) {
        double every = (double)w->job->timers.checkpoint;
        double lost  = w->unsaved >= every && !(w->writing_s > 0) ? 0 : w->unsaved;
        w->course.iterations -= lost;
        w->course.redone += lost;
    }
    w->unsaved   = 0;
    w->writing_s = 0;
}

static void advance(cs_walker *w, double until_s)
{
    double time_s = until_s - w->now_s;

    if (time_s > 0) {
        if (w->pace_Hz > 0) {
            run_for(w, time_s);
        } else if (w->mode == STOPPED) {
            w->course.stopped_s += time_s;
        } else {
            w->course.stalled_s += time_s;
        }
    }
    w->now_s = until_s;
}

/* ---- decisions ---- */

static void stop(cs_walker *w, double duration_s)
{
    w->mode     = STOPPED;
    w->resume_s = w->now_s + duration_s;
    w->is_fresh = false;
    w->course.restarts++;
}

/* Give the places of servers that are known to be down (or to be broken at all) to spares that are
 * whole, as far as there are any. */
static void replace(cs_walker *w, bool only_down)
{
    uint32_t spare = 0;

    for (uint32_t i = 0; i < w->n_mine; i++) {
        const server *s = &w->servers[i];
        if (!s->takes_part || !(only_down ? is_known_down(w, s) : is_known_broken(w, s))) {
            continue;
        }
        while (spare < w->n_mine &&
               (w->servers[spare].takes_part || is_known_broken(w, &w->servers[spare]) ||
                w->servers[spare].known > 0)) {
            spare++;
        }
        if (spare == w->n_mine) {
            return;
        }
        place(w, &w->servers[i], false, false);
        place(w, &w->servers[spare], true, false);
    }
}

static bool has_spare(const cs_walker *w)
{
    for (uint32_t i = 0; i < w->n_mine; i++) {
        const server *s = &w->servers[i];
        if (!s->takes_part && !is_known_broken(w, s) && s->known == 0) {
            return true;
        }
    }
    return false;
}

/* Leave out who is known to be broken, take in who is not. */
static void choose_members(cs_walker *w)
{
    for (uint32_t i = 0; i < w->n_places; i++) {
        server *s      = &w->servers[i];
        bool    is_out = is_known_broken(w, s);
        if (s->takes_part && s->is_out != is_out) {
            place(w, s, true, is_out);
        }
    }
}

static bool leaves_out(const cs_walker *w)
{
    return w->server_answer == EXCLUDE || w->server_answer == SHRINK;
}

/* The job has ended: a server is down, or it failed by itself. */
static void recover(cs_walker *w)
{
    const cs_whatif_timers *t = &w->job->timers;

    w->has_crashed = false;
    if (w->server_answer == SHRINK && w->sums.lost > 0) {
        stop(w, t->shrink_s);
        return;
    }
    go_back(w);
    if (w->server_answer == SPARE && w->sums.lost > 0) {
        replace(w, true);
        if (w->sums.lost == 0) {
            replace(w, false);
            stop(w, t->spare_s);
        } else {
            w->mode = WAITING;
        }
        return;
    }
    if (w->server_answer == HOLD && w->sums.down > 0) {
        w->mode = WAITING;
        return;
    }
    stop(w, t->restart_s);
}

/* Go on once nobody is missed any more. */
static void end_waiting(cs_walker *w)
{
    if (w->server_answer == SPARE && w->sums.lost > 0 && has_spare(w)) {
        replace(w, true);
        if (w->sums.lost == 0) {
            stop(w, w->job->timers.spare_s);
        }
    } else if (w->sums.down == 0) {
        stop(w, w->job->timers.restart_s);
    }
}

/* Stop for dead NICs that are known, as the policy does. */
static void answer_nics(cs_walker *w)
{
    const cs_whatif_timers *t = &w->job->timers;

    switch (w->nic_answer) {
    case RESTART:
        if (w->has_news) {
            go_back(w);
            stop(w, t->restart_s);
        }
        break;
    case EXCLUDE:
        if (w->sums.broken > 0) {
            go_back(w);
            stop(w, t->restart_s);
        }
        break;
    case SHRINK:
        if (w->sums.broken > 0) {
            stop(w, t->shrink_s);
        }
        break;
    case SPARE:
        if (w->sums.broken > 0 && has_spare(w)) {
            go_back(w);
            replace(w, false);
            stop(w, t->spare_s);
        }
        break;
    case KEEP:
    case ADAPT:
    case HOLD: break;
    }
    w->has_news = false;
}

/* Take repaired servers in again: where nobody is left, or where that is asked for. */
static void take_in(cs_walker *w)
{
    double rejoin_s = w->job->timers.rejoin_s;

    if (!leaves_out(w) || w->sums.recovered == 0) {
        return;
    }
    if (w->sums.members == 0) {
        stop(w, w->job->timers.restart_s);
    } else if (!isinf(rejoin_s)) {
        stop(w, rejoin_s);
    }
}

static void decide(cs_walker *w)
{
    if (w->mode == STOPPED && w->now_s >= w->resume_s) {
        w->mode     = RUNNING;
        w->has_news = false;
        w->is_fresh = false;
        if (leaves_out(w)) {
            choose_members(w);
        }
    }
    if (w->has_crashed) { /* also while it stops: it begins again */
        recover(w);
    } else if (w->mode == WAITING) {
        end_waiting(w);
    } else if (w->mode == RUNNING) {
        answer_nics(w);
        if (w->mode == RUNNING) {
            take_in(w);
        }
    }
}

/* ---- what happens ---- */

static void begin(cs_walker *w, const cs_outage *o)
{
    if (o->server == CS_NO_SERVER) {
        w->hung++;
        w->is_fresh = false;
        return;
    }
    server *s = &w->servers[o->server];
    tally(w, s, -1);
    if (o->takes_server) {
        s->down++;
    } else {
        s->dead++;
        s->blind++;
    }
    tally(w, s, 1);
}

/* The job ends if the server takes part, whether it is back or not. */
static void know(cs_walker *w, const cs_outage *o)
{
    bool lasts = o->until_s > o->from_s + w->delay_s[KNOWN];

    if (o->server == CS_NO_SERVER) {
        w->has_crashed = true;
        w->hung--;
        return;
    }
    server *s         = &w->servers[o->server];
    bool    is_member = s->takes_part && !s->is_out, was_down = is_known_down(w, s);
    if (lasts) {
        tally(w, s, -1);
        if (o->takes_server) {
            s->known_down++;
        } else {
            s->blind--;
            s->known++;
        }
        tally(w, s, 1);
    }
    if (is_member && (o->takes_server || (!was_down && is_known_down(w, s)))) {
        w->has_crashed = true;
    } else if (is_member && lasts) {
        w->has_news = true;
    }
}

static void answer_by_schedule(cs_walker *w, const cs_outage *o, int change)
{
    if (o->server == CS_NO_SERVER || o->takes_server ||
        !(o->until_s > o->from_s + w->delay_s[ANSWERED])) {
        return;
    }
    server *s = &w->servers[o->server];
    tally(w, s, -1);
    s->answered += (uint32_t)change;
    tally(w, s, 1);
}

static void end(cs_walker *w, const cs_outage *o)
{
    if (o->server == CS_NO_SERVER) {
        return;
    }
    bool    was_known = o->until_s > o->from_s + w->delay_s[KNOWN];
    server *s         = &w->servers[o->server];
    tally(w, s, -1);
    if (o->takes_server) {
        s->down--;
    } else {
        s->dead--;
        s->blind -= !was_known;
    }
    tally(w, s, 1);
}

static void forget(cs_walker *w, const cs_outage *o)
{
    if (o->server == CS_NO_SERVER || !(o->until_s > o->from_s + w->delay_s[KNOWN])) {
        return;
    }
    server *s = &w->servers[o->server];
    tally(w, s, -1);
    if (o->takes_server) {
        s->known_down--;
    } else {
        s->known--;
    }
    tally(w, s, 1);
}

static void happen(cs_walker *w, int cursor, const cs_outage *o)
{
    switch (cursor) {
    case BEGIN: begin(w, o); break;
    case KNOWN: know(w, o); break;
    case ANSWERED: answer_by_schedule(w, o, 1); break;
    case END: end(w, o); break;
    case KNOWN_END: forget(w, o); break;
    default: answer_by_schedule(w, o, -1); break;
    }
}

static const cs_outage *outage_at(const cs_walker *w, int cursor)
{
    size_t at = w->at[cursor];

    return &w->outages->list[cursor < END ? at : w->outages->by_end[at]];
}

/* The cursor of what happens next, and when; CURSORS: nothing does. */
static int next_of(cs_walker *w, double *time_s_p)
{
    int next = CURSORS;

    *time_s_p = (double)INFINITY;
    for (int c = 0; c < CURSORS; c++) {
        while (w->at[c] < w->outages->n && outage_at(w, c)->server != CS_NO_SERVER &&
               outage_at(w, c)->server >= w->n_mine) {
            w->at[c]++;
        }
        if (w->at[c] < w->outages->n) {
            const cs_outage *o      = outage_at(w, c);
            double           time_s = (c < END ? o->from_s : o->until_s) + w->delay_s[c];
            if (time_s < *time_s_p) {
                *time_s_p = time_s;
                next      = c;
            }
        }
    }
    return next;
}

static void start(cs_walker *w, const cs_whatif_policy *policy, const cs_outages *outages)
{
    double detect_s = w->job->timers.detect_s, ready_s = detect_s + w->job->timers.reschedule_s;

    w->policy        = policy;
    w->nic_answer    = nic_answer_of(policy->kind);
    w->server_answer = server_answer_of(w->job, policy->kind);
    w->n_mine        = w->n_places + (cs_policy_has_spares(w->job, policy) ? w->job->spares : 0);
    w->outages       = outages;
    w->sums          = (sums){.members = 0};
    w->now_s         = 0;
    w->mode          = RUNNING;
    w->has_crashed = w->has_news = false;
    w->hung                      = 0;
    w->unsaved = w->writing_s = 0;
    w->course                 = (cs_course){.iterations = 0};
    for (int c = 0; c < CURSORS; c++) {
        w->at[c]      = 0;
        w->delay_s[c] = c % END == BEGIN ? 0 : c % END == KNOWN ? detect_s : ready_s;
    }
    for (uint32_t i = 0; i < w->n_servers; i++) {
        w->servers[i] = (server){.takes_part = i < w->n_places};
        tally(w, &w->servers[i], 1);
    }
    w->is_fresh = false;
}

/* What was known before the job began ends nothing: it begins on the servers that are there, and
 * waits where it needs more. What began before and is noticed later strikes it as any other. */
static void begin_job(cs_walker *w)
{
    double time_s;

    for (int cursor = next_of(w, &time_s); time_s < 0; cursor = next_of(w, &time_s)) {
        happen(w, cursor, outage_at(w, cursor));
        w->at[cursor]++;
    }
    w->has_crashed = w->has_news = false;
    if (leaves_out(w)) {
        choose_members(w);
    } else if (w->server_answer == SPARE) {
        replace(w, false);
    }
    if (!leaves_out(w) && w->sums.lost > 0) {
        w->mode = WAITING;
    }
}

cs_status cs_walk(cs_walker *w, const cs_whatif_policy *policy, const cs_outages *outages,
                  double duration_s, cs_course *course_p, cs_error *err)
{
    static const cs_outages none;
    double                  next_s;

    start(w, policy, policy->kind == CS_POLICY_HEALTHY ? &none : outages);
    begin_job(w);
    while (w->now_s < duration_s) {
        if (!w->is_fresh) {
            CS_TRY(find_pace(w, err));
        }
        int  cursor  = next_of(w, &next_s);
        bool resumes = w->mode == STOPPED && w->resume_s < next_s;
        next_s       = resumes ? w->resume_s : next_s;
        advance(w, fmin(next_s, duration_s));
        if (next_s >= duration_s) {
            break;
        }
        if (!resumes) {
            happen(w, cursor, outage_at(w, cursor));
            w->at[cursor]++;
        }
        decide(w);
    }
    *course_p = w->course;
    return CS_OK;
}
