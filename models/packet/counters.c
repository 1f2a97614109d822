/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Packets that come to a port and packets that start there are two lists in the order of time. They
 * are merged up to the window of whoever comes next: all that happens on the link before it has
 * been told by then. What is summed over intervals of time is kept as rows of any order, each with
 * a part of an interval's sums; the report brings those of an interval and a link together. */
#include "models/packet/counters.h"

#include "models/packet/train.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_ROWS = 1024 };

/* CS_SAMPLE_AUTO begins with 100 ns. */
#define FIRST_SAMPLE 100000

typedef struct counted_link {
    cs_runs        came, started; /* that have not been merged */
    int64_t        queue;         /* bytes, as far as is merged */
    uint64_t       seen;          /* the last interval of the queue as far as is merged */
    cs_link_sample row;           /* of the interval [row_from, row_until); paused_s: picoseconds */
    cs_ps          row_from, row_until;
    cs_ps          paused_since; /* CS_PS_NEVER: it is not paused */
    cs_ps          busy, paused;
    cs_link_counts total;
} counted_link;

struct cs_packet_counters {
    const cs_packet_net *net;
    counted_link        *links;  /* owned [n_links] */
    cs_link_counts      *totals; /* owned [n_links]: of the report */
    cs_ps                sample; /* 0: no intervals */
    bool                 is_auto;
    cs_link_sample      *rows; /* owned */
    size_t               n_rows, capacity;
    bool                 failed; /* out of memory */
};

cs_packet_counters *cs_counters_open(const cs_packet_net *net, cs_ps sample)
{
    cs_packet_counters *c = CS_NEW(cs_packet_counters, 1);

    if (c == NULL) {
        return NULL;
    }
    c->net     = net;
    c->is_auto = sample == CS_PS_NEVER;
    c->sample  = c->is_auto ? FIRST_SAMPLE : sample;
    c->links   = CS_NEW(counted_link, net->n_links);
    c->totals  = CS_NEW(cs_link_counts, net->n_links);
    if (c->links == NULL || c->totals == NULL) {
        cs_counters_close(c);
        return NULL;
    }
    for (uint32_t l = 0; l < net->n_links; l++) {
        c->links[l].paused_since = CS_PS_NEVER;
        c->links[l].row.link     = l;
    }
    return c;
}

void cs_counters_close(cs_packet_counters *counters)
{
    if (counters == NULL) {
        return;
    }
    for (uint32_t l = 0; counters->links != NULL && l < counters->net->n_links; l++) {
        cs_free(counters->links[l].came.runs);
        cs_free(counters->links[l].started.runs);
    }
    cs_free(counters->links);
    cs_free(counters->totals);
    cs_free(counters->rows);
    cs_free(counters);
}

/* ---- rows of samples ---- */

static int by_place(const void *a, const void *b)
{
    const cs_link_sample *x = a, *y = b;
    int                   order = (x->interval > y->interval) - (x->interval < y->interval);
    return order != 0 ? order : (x->link > y->link) - (x->link < y->link);
}

static void add_row(cs_link_sample *sum, const cs_link_sample *row)
{
    sum->queue_bytes = row->queue_bytes > sum->queue_bytes ? row->queue_bytes : sum->queue_bytes;
    sum->bytes += row->bytes;
    sum->drops += row->drops;
    sum->marks += row->marks;
    sum->paused_s += row->paused_s;
}

/* One row for every interval and link, in that order. */
static void join_rows(cs_packet_counters *c)
{
    size_t n = 0;

    if (c->n_rows > 0) {
        qsort(c->rows, c->n_rows, sizeof *c->rows, by_place);
    }
    for (size_t i = 0; i < c->n_rows; i++) {
        if (n > 0 && by_place(&c->rows[n - 1], &c->rows[i]) == 0) {
            add_row(&c->rows[n - 1], &c->rows[i]);
        } else {
            c->rows[n++] = c->rows[i];
        }
    }
    c->n_rows = n;
}

/* Keep what the link's row holds, and empty it. */
static void keep_row(cs_packet_counters *c, counted_link *l)
{
    cs_link_sample *row      = &l->row;
    bool            is_empty = row->queue_bytes == 0 && row->bytes == 0 && row->drops == 0 &&
                    row->marks == 0 && !(row->paused_s > 0);

    if (!is_empty) {
        if (!cs_grow(&c->rows, &c->capacity, c->n_rows + 1, FIRST_ROWS, sizeof *c->rows)) {
            c->failed = true;
            return;
        }
        c->rows[c->n_rows++] = *row;
    }
    *row         = (cs_link_sample){.link = row->link};
    l->row_until = l->row_from = 0;
}

/* Intervals of twice the length, until `interval` is among the first CS_MOST_SAMPLES. */
static cs_ps lengthen(cs_packet_counters *c, cs_ps interval)
{
    for (; interval >= CS_MOST_SAMPLES; interval /= 2) {
        for (uint32_t i = 0; i < c->net->n_links; i++) {
            keep_row(c, &c->links[i]);
            c->links[i].seen /= 2;
        }
        for (size_t i = 0; i < c->n_rows; i++) {
            c->rows[i].interval /= 2;
        }
        join_rows(c);
        c->sample *= 2;
    }
    return interval;
}

/* The link's row for the interval that `t` is in. */
static cs_link_sample *row_at(cs_packet_counters *c, counted_link *l, cs_ps t)
{
    if (t < l->row_from || t >= l->row_until) {
        cs_ps interval = t / c->sample;
        keep_row(c, l);
        if (c->is_auto && interval >= CS_MOST_SAMPLES) {
            interval = lengthen(c, interval);
        }
        l->row.interval = (uint64_t)interval;
        l->row_from     = interval * c->sample;
        l->row_until    = l->row_from + c->sample;
    }
    return &l->row;
}

/* ---- the queue of a port ---- */

/* The queue has been so deep at `t`. */
static void see_queue(cs_packet_counters *c, counted_link *l, cs_ps t)
{
    uint64_t        bytes = l->queue > 0 ? (uint64_t)l->queue : 0;
    cs_link_sample *row   = row_at(c, l, t);

    row->queue_bytes = bytes > row->queue_bytes ? bytes : row->queue_bytes;
    l->seen          = row->interval;
}

/* What waited until `t` did so at the beginning of every interval before that, too. */
static void see_intervals(cs_packet_counters *c, counted_link *l, cs_ps t)
{
    for (cs_ps from; l->queue > 0 && (from = (cs_ps)(l->seen + 1) * c->sample) < t;) {
        see_queue(c, l, from);
    }
}

/* The first packet of a run has been merged. */
static void drop_packet(cs_runs *q)
{
    cs_run *run = cs_runs_first(q);

    if (--run->count == 0) {
        cs_runs_drop_first(q);
    }
    run->t += run->gap;
}

/* All that happened before `until`. A queue is deepest when a packet has come: those that start at
 * that moment are no longer in it, and come first here. */
static void merge(cs_packet_counters *c, counted_link *l, cs_ps until)
{
    for (;;) {
        cs_ps came    = l->came.n > 0 ? cs_runs_first(&l->came)->t : CS_PS_NEVER;
        cs_ps started = l->started.n > 0 ? cs_runs_first(&l->started)->t : CS_PS_NEVER;
        bool  starts  = started <= came;
        cs_ps t       = starts ? started : came;
        if (t >= until) {
            break;
        }
        if (c->sample > 0) {
            see_intervals(c, l, t);
        }
        cs_runs *q     = starts ? &l->started : &l->came;
        int64_t  bytes = cs_runs_first(q)->bytes;
        drop_packet(q);
        l->queue += starts ? -bytes : bytes;
        if (l->queue > (int64_t)l->total.deepest_bytes) {
            l->total.deepest_bytes = (uint64_t)l->queue;
        }
        if (c->sample > 0) {
            see_queue(c, l, t);
            l->row.bytes += starts ? (uint64_t)bytes : 0;
        }
    }
}

static void append(cs_packet_counters *c, cs_runs *q, cs_ps t, cs_ps gap, uint32_t count,
                   int64_t bytes)
{
    c->failed = c->failed || cs_runs_append(q, t, gap, count, 0, (uint32_t)bytes, 0) != CS_OK;
}

void cs_counters_come(cs_packet_counters *counters, uint32_t link, cs_ps t, cs_ps gap,
                      uint32_t count, int64_t bytes)
{
    counted_link *l = &counters->links[link];

    if (link < counters->net->n_senders) {
        return;
    }
    merge(counters, l, t / counters->net->window * counters->net->window);
    append(counters, &l->came, t, gap, count, bytes);
}

void cs_counters_start(cs_packet_counters *counters, uint32_t link, cs_ps t, cs_ps gap,
                       uint32_t count, int64_t bytes, cs_ps each)
{
    counted_link *l = &counters->links[link];

    l->total.packets += count;
    l->total.bytes += (uint64_t)bytes * count;
    l->busy += each * count;
    if (link >= counters->net->n_senders) {
        append(counters, &l->started, t, gap, count, bytes);
        return;
    }
    for (uint32_t i = 0; i < count && counters->sample > 0; i++) {
        row_at(counters, l, t + i * gap)->bytes += (uint64_t)bytes;
    }
}

/* ---- single events ---- */

void cs_counters_drop(cs_packet_counters *counters, uint32_t link, cs_ps t)
{
    counted_link *l = &counters->links[link];

    l->total.drops++;
    if (counters->sample > 0) {
        row_at(counters, l, t)->drops++;
    }
}

void cs_counters_mark(cs_packet_counters *counters, uint32_t link, cs_ps t)
{
    counted_link *l = &counters->links[link];

    l->total.marks++;
    if (counters->sample > 0) {
        row_at(counters, l, t)->marks++;
    }
}

void cs_counters_pause(cs_packet_counters *counters, uint32_t link, cs_ps t)
{
    counted_link *l = &counters->links[link];

    l->total.pauses++;
    l->paused_since = t;
}

void cs_counters_resume(cs_packet_counters *counters, uint32_t link, cs_ps t)
{
    counted_link *l = &counters->links[link];

    l->paused += t - l->paused_since;
    for (cs_ps from = l->paused_since; counters->sample > 0 && from < t && !counters->failed;) {
        cs_link_sample *row   = row_at(counters, l, from);
        cs_ps           until = l->row_until < t ? l->row_until : t;
        row->paused_s += (double)(until - from);
        from = until;
    }
    l->paused_since = CS_PS_NEVER;
}

/* ---- the report ---- */

cs_status cs_counters_report(cs_packet_counters *counters, cs_ps end, cs_link_report *report)
{
    cs_packet_counters *c = counters;

    for (uint32_t i = 0; i < c->net->n_links; i++) {
        counted_link *l = &c->links[i];
        if (l->paused_since < end) {
            cs_counters_resume(c, i, end);
        }
        merge(c, l, CS_PS_NEVER);
        c->totals[i]          = l->total;
        c->totals[i].busy_s   = (double)l->busy / 1e12;
        c->totals[i].paused_s = (double)l->paused / 1e12;
    }
    for (uint32_t i = 0; i < c->net->n_links; i++) {
        keep_row(c, &c->links[i]);
    }
    join_rows(c);
    for (size_t i = 0; i < c->n_rows; i++) {
        c->rows[i].paused_s /= 1e12;
    }
    *report = (cs_link_report){.n_links   = c->net->n_links,
                               .links     = c->totals,
                               .sample_s  = (double)c->sample / 1e12,
                               .n_samples = c->n_rows,
                               .samples   = c->rows};
    return c->failed ? CS_ENOMEM : CS_OK;
}
