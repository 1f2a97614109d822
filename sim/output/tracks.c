/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A slice goes on the first lane whose last slice has ended (first fit). Every lane remembers only
 * its last end, which is enough because the slices of a port come in the order of the stream. A
 * port's busy time is the union of its slices; its changes are recorded as it grows.
 */
#include "output/tracks.h"

#include "base/alloc.h"

#include <stdlib.h>

cs_status cs_tracks_init(cs_tracks *tracks, uint32_t n_ranks)
{
    *tracks = (cs_tracks){.n_ranks = n_ranks, .ranks = CS_NEW(cs_track_list, n_ranks)};
    return tracks->ranks != NULL ? CS_OK : CS_ENOMEM;
}

static cs_track *add_track(cs_track_list *list, cs_track wanted)
{
    if (!cs_grow(&list->tracks, &list->capacity, list->count + 1, 4, sizeof *list->tracks)) {
        return NULL;
    }
    bool is_fixed = wanted.peer == CS_NO_PEER && wanted.lane == 0 && wanted.fabric < CS_CROSS;
    wanted.tid    = is_fixed ? CS_TID_FIRST_PORT + 2 * wanted.fabric + wanted.direction
                             : CS_TID_FIRST_EXTRA + list->n_extra++;

    list->tracks[list->count] = wanted;
    return &list->tracks[list->count++];
}

static cs_status add_change(cs_tracks *tracks, int64_t at_ps, int64_t change)
{
    if (!cs_grow(&tracks->changes, &tracks->change_capacity, tracks->n_changes + 1, 1024,
                 sizeof *tracks->changes)) {
        return CS_ENOMEM;
    }
    tracks->changes[tracks->n_changes++] = (cs_busy_change){at_ps, change};
    return CS_OK;
}

/* The port's busy time grows by what of the slice lies behind its last one. */
static cs_status extend_port(cs_tracks *tracks, cs_track *port, int64_t start_ps, int64_t end_ps)
{
    int64_t from_ps = start_ps > port->port_until_ps ? start_ps : port->port_until_ps;

    if (end_ps > from_ps) {
        port->port_until_ps = end_ps;
        if (port->direction == CS_TX) {
            CS_TRY(add_change(tracks, from_ps, 1));
            CS_TRY(add_change(tracks, end_ps, -1));
        }
    }
    return CS_OK;
}

/* The lanes of the port that there are: the first that is free, or NULL; how many were seen. */
static cs_track *free_lane(cs_track_list *list, const cs_track *port, int64_t start_ps,
                           cs_track **first_p, uint32_t *n_lanes_p)
{
    for (size_t i = 0; i < list->count; i++) {
        cs_track *t = &list->tracks[i];
        if (t->direction == port->direction && t->fabric == port->fabric && t->peer == port->peer) {
            *first_p = t->lane == 0 ? t : *first_p;
            ++*n_lanes_p;
            if (t->end_ps <= start_ps) {
                return t;
            }
        }
    }
    return NULL;
}

cs_status cs_tracks_place(cs_tracks *tracks, uint32_t rank, cs_track port, int64_t start_ps,
                          int64_t end_ps, uint32_t *tid_p)
{
    cs_track_list *list    = &tracks->ranks[rank];
    cs_track      *first   = NULL;
    uint32_t       n_lanes = 0;
    cs_track      *found   = free_lane(list, &port, start_ps, &first, &n_lanes);
    cs_status      status;

    if (first != NULL && (status = extend_port(tracks, first, start_ps, end_ps)) != CS_OK) {
        return status;
    }
    if (found == NULL) {
        port.lane = n_lanes;
        if ((found = add_track(list, port)) == NULL) {
            return CS_ENOMEM;
        }
        if (first == NULL && (status = extend_port(tracks, found, start_ps, end_ps)) != CS_OK) {
            return status;
        }
    }
    found->end_ps = end_ps;
    *tid_p        = found->tid;
    return CS_OK;
}

static int compare_changes(const void *left, const void *right)
{
    const cs_busy_change *a = left, *b = right;
    return (a->at_ps > b->at_ps) - (a->at_ps < b->at_ps);
}

void cs_tracks_sort_changes(cs_tracks *tracks)
{
    if (tracks->n_changes > 0) {
        qsort(tracks->changes, tracks->n_changes, sizeof *tracks->changes, compare_changes);
    }
}

void cs_tracks_free(cs_tracks *tracks)
{
    for (uint32_t rank = 0; tracks->ranks != NULL && rank < tracks->n_ranks; rank++) {
        cs_free(tracks->ranks[rank].tracks);
    }
    cs_free(tracks->ranks);
    cs_free(tracks->changes);
    *tracks = (cs_tracks){0};
}
