/* SPDX-License-Identifier: GPL-3.0-or-later */
/* output/tracks.h -- which track of a timeline a slice goes on, and how many ports are busy.
 *
 * A port is (rank, direction, fabric, peer where the fabric has a port for each). Its slices lie
 * on its first lane; one that would overlap goes on the first lane that is free, each lane being
 * a track of its own.
 */
#ifndef CS_OUTPUT_TRACKS_H
#define CS_OUTPUT_TRACKS_H

#include "cs/cluster.h"
#include "cs/error.h"

#define CS_NO_PEER UINT32_MAX

enum { CS_TX = 0, CS_RX = 1 };

/* Identifiers of tracks within a rank: 0 is left for the rank's arrival; then the first lane of
 * every switched port, then all others in the order of their first slice. */
enum { CS_TID_ARRIVAL = 0, CS_TID_FIRST_PORT = 1, CS_TID_FIRST_EXTRA = 1 + 2 * CS_CROSS };

typedef struct cs_track {
    uint32_t direction, fabric, peer, lane, tid;
    int64_t  end_ps;        /* of the last slice */
    int64_t  port_until_ps; /* of the port's last slice; kept in lane 0 */
} cs_track;

typedef struct cs_track_list {
    cs_track *tracks; /* owned */
    size_t    count, capacity;
    uint32_t  n_extra;
} cs_track_list;

/* A sending port becomes busy (+1) or idle (-1). */
typedef struct cs_busy_change {
    int64_t at_ps;
    int64_t change;
} cs_busy_change;

typedef struct cs_tracks {
    uint32_t        n_ranks;
    cs_track_list  *ranks;   /* [n_ranks]; owned */
    cs_busy_change *changes; /* in the order of the slices; owned */
    size_t          n_changes, change_capacity;
} cs_tracks;

/* CS_ENOMEM, without a record: the caller says what for. cs_tracks_free() in every case. */
cs_status cs_tracks_init(cs_tracks *tracks, uint32_t n_ranks);

/* Place a slice of the port that direction, fabric and peer of `port` name. O(tracks of the
 * rank). CS_ENOMEM, without a record. */
cs_status cs_tracks_place(cs_tracks *tracks, uint32_t rank, cs_track port, int64_t start_ps,
                          int64_t end_ps, uint32_t *tid_p);

/* Sort the changes by time. */
void cs_tracks_sort_changes(cs_tracks *tracks);

void cs_tracks_free(cs_tracks *tracks);

#endif
