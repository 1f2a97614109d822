/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tests/support/post.h -- ranks that are threads of one process, with letter boxes instead of MPI.
 */
#ifndef CT_SUPPORT_POST_H
#define CT_SUPPORT_POST_H

#include "campaign/ranks.h"

#include <pthread.h>
#include <stdatomic.h>

enum { CT_MOST_POST_RANKS = 8 };

typedef struct ct_letter ct_letter;
typedef struct ct_post   ct_post;

/* The `self` of a rank's transport. */
typedef struct ct_seat {
    ct_post *post;
    int      rank;
} ct_seat;

struct ct_post {
    pthread_mutex_t lock;
    int             size;
    ct_seat         seats[CT_MOST_POST_RANKS];
    ct_letter      *first[CT_MOST_POST_RANKS], **last[CT_MOST_POST_RANKS];
    atomic_int      n_left, n_aborted, abort_code;
    size_t          n_waiting_rows, most_waiting_rows; /* in the box of rank 0 */
};

/* For `size` ranks; do not move it until it is closed. */
void ct_post_open(ct_post *post, int size);

/* The transport of one rank. MPI's abort would kill all: here they find the connection broken. */
cs_transport ct_post_transport(ct_post *post, int rank);

/* Free what nobody has read. */
void ct_post_close(ct_post *post);

#endif
