/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/packet/deadlock.h"

#include <stdio.h>
#include <stdlib.h>

/* Of a name, and of a number with an arrow before it. */
enum { MOST_NAME_BYTES = 64, MOST_DIGITS = 20 };

static int by_links(const void *a, const void *b)
{
    const cs_packet_wait *x = a, *y = b;

    return x->from != y->from ? (x->from > y->from) - (x->from < y->from)
                              : (x->to > y->to) - (x->to < y->to);
}

/* Where the waits of a link begin; n if it has none. */
static size_t first_of(const cs_packet_wait *waits, size_t n, uint32_t from)
{
    size_t low = 0, high = n;

    while (low < high) {
        size_t middle = (low + high) / 2;
        if (waits[middle].from < from) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < n && waits[low].from == from ? low : n;
}

/* Sort, and keep what leads to a circle: every link that is left waits for one that is left. */
static size_t keep_circles(cs_packet_wait *waits, size_t n)
{
    size_t before;

    qsort(waits, n, sizeof *waits, by_links);
    do {
        size_t kept = 0;
        before      = n;
        for (size_t i = 0; i < n; i++) {
            /* what is removed behind `kept` leaves the links before it in order */
            if (first_of(waits, kept, waits[i].to) < kept ||
                first_of(waits + i, n - i, waits[i].to) < n - i) {
                waits[kept++] = waits[i];
            }
        }
        n = kept;
    } while (n < before);
    return n;
}

/* One of those that a link waits for, always the same. */
static uint32_t next_of(const cs_packet_wait *waits, size_t n, uint32_t link)
{
    return waits[first_of(waits, n, link)].to;
}

/* Names have arrows in them; numbers stand alone. */
static void name_link(const cs_packet_net *net, uint32_t link, char *name)
{
    if (net->ports != NULL) {
        cs_packet_link_text(net, link, name, MOST_NAME_BYTES);
    } else {
        (void)snprintf(name, MOST_NAME_BYTES, "%u", link);
    }
}

void cs_packet_deadlock_text(const cs_packet_net *net, cs_packet_wait *waits, size_t n, char *text,
                             size_t room)
{
    const char *between = net->ports != NULL ? "; " : " -> ";
    char        first[MOST_NAME_BYTES], name[MOST_NAME_BYTES];
    size_t      used, room_behind = 3 * (net->ports != NULL ? MOST_NAME_BYTES : MOST_DIGITS);
    uint32_t    link, lowest;

    n = n == 0 ? 0 : keep_circles(waits, n);
    if (n == 0) {
        (void)snprintf(text, room, "deadlock: paused links wait for each other");
        return;
    }
    link = waits[0].from;
    for (size_t i = 0; i < n; i++) { /* so many steps end in a circle */
        link = next_of(waits, n, link);
    }
    lowest = link;
    for (uint32_t at = next_of(waits, n, link); at != link; at = next_of(waits, n, at)) {
        lowest = at < lowest ? at : lowest;
    }
    name_link(net, lowest, first);
    used = (size_t)snprintf(text, room, "deadlock: links %s", first);
    link = next_of(waits, n, lowest);
    for (; link != lowest && used + room_behind < room; link = next_of(waits, n, link)) {
        name_link(net, link, name);
        used += (size_t)snprintf(text + used, room - used, "%s%s", between, name);
    }
    (void)snprintf(text + used, room - used, "%s%s%s%s wait for each other",
                   link == lowest ? "" : between, link == lowest ? "" : "..", between, first);
}
