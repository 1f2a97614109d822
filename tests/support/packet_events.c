/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "support/packet_events.h"

#include <criterion/criterion.h>
#include <stdlib.h>

static bool is_before(const ct_packet_event *a, const ct_packet_event *b)
{
    if (a->t != b->t) {
        return a->t < b->t;
    }
    if (a->kind != b->kind) {
        return a->kind < b->kind;
    }
    return a->number != b->number ? a->number < b->number : a->serial < b->serial;
}

void ct_packet_put(ct_packet_events *q, cs_ps t, ct_packet_kind kind, uint32_t number,
                   int64_t value, const ct_packet *packet)
{
    ct_packet_event e = {t, kind, number, q->serial++, value, {0}};
    size_t          i = q->n++;

    q->n_moving += kind != CT_TIMER;
    cr_assert_geq(t, q->now, "an event in the past");
    if (packet != NULL) {
        e.packet = *packet;
    }
    if (q->n > q->capacity) {
        q->capacity = 2 * q->n;
        q->heap     = realloc(q->heap, q->capacity * sizeof e);
    }
    for (; i > 0 && is_before(&e, &q->heap[(i - 1) / 2]); i = (i - 1) / 2) {
        q->heap[i] = q->heap[(i - 1) / 2];
    }
    q->heap[i] = e;
}

void ct_packet_kick(ct_packet_events *q, cs_ps t, uint32_t link)
{
    ct_packet_put(q, t, CT_START, link, 0, NULL);
}

bool ct_packet_take(ct_packet_events *q, ct_packet_event *event)
{
    if (q->n == 0) {
        return false;
    }
    ct_packet_event last = q->heap[--q->n];
    size_t          i    = 0;
    *event               = q->heap[0];
    q->now               = event->t;
    q->n_moving -= event->kind != CT_TIMER;
    for (size_t c; (c = 2 * i + 1) < q->n; i = c) {
        c += c + 1 < q->n && is_before(&q->heap[c + 1], &q->heap[c]);
        if (!is_before(&q->heap[c], &last)) {
            break;
        }
        q->heap[i] = q->heap[c];
    }
    q->heap[i] = last;
    return true;
}

void ct_packet_events_free(ct_packet_events *q)
{
    free(q->heap);
    *q = (ct_packet_events){0};
}
