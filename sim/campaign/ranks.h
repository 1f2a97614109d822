/* SPDX-License-Identifier: GPL-3.0-or-later */
/* campaign/ranks.h -- the processes that mpirun started, of which this is one.
 *
 * Rank 0 leads: it reads and writes files, prints, and decides when it is over. The others have
 * the same arguments and the same configuration, and work for it. In order: cs_ranks_join(),
 * cs_ranks_agree(), cs_workers_run(), cs_ranks_leave(); the workers run once at most. A NULL
 * `cs_ranks *` is a process that is alone, and allowed everywhere.
 *
 * When a process dies, mpirun ends the others; nobody here waits for the dead in any other way.
 */
#ifndef CS_CAMPAIGN_RANKS_H
#define CS_CAMPAIGN_RANKS_H

#include "base/text.h"
#include "campaign/transport.h"

#include <stdint.h>

/* What crosses between rank 0 and another one. */
typedef enum cs_message_kind {
    CS_MESSAGE_NONE,      /* nothing came */
    CS_MESSAGE_HELLO,     /* to 0: who I am, and what is wrong with me */
    CS_MESSAGE_BROADCAST, /* from 0: what to know before work begins; in pieces, the last is
                             empty */
    CS_MESSAGE_ITEMS,     /* from 0: numbers of items to work on */
    CS_MESSAGE_END,       /* from 0: it is over */
    CS_MESSAGE_ROWS,      /* to 0: what became of some */
    CS_MESSAGE_SKIPPED,   /* to 0: an item that I cannot do, and why */
    CS_MESSAGE_FAILED,    /* to 0: an error ended my work */
    CS_MESSAGE_STOP,      /* to 0: I was asked to stop, and so should all */
    CS_MESSAGE_BYE        /* to 0: I leave */
} cs_message_kind;

typedef struct cs_message {
    cs_message_kind kind;
    int             from;
    char           *data; /* owned: cs_message_free() */
    size_t          bytes;
} cs_message;

typedef struct cs_ranks {
    cs_transport transport;
    int          n_left;  /* on rank 0: others that have said goodbye */
    bool         is_over; /* rank 0 has said so; or it has been heard */
    bool         is_lost; /* the connection is broken */
} cs_ranks;

/* Is there an mpirun around this process, and are there others? Then join them; else *ranks_p is
 * NULL. CS_ENOTSUP where the program cannot (it was built without MPI, or the launcher is of
 * another MPI): to go on alone would be several processes on one file. */
CS_MUST_CHECK cs_status cs_ranks_join(cs_ranks **ranks_p, cs_error *err);

/* Ranks over a given transport. NULL: out of memory. */
cs_ranks *cs_ranks_over(const cs_transport *transport);

/* Is it this process that reads, writes and decides? */
bool cs_ranks_leads(const cs_ranks *ranks);

/* Is it this process that prints? Works without ranks, too, where joining them failed. */
bool cs_ranks_prints(const cs_ranks *ranks);

/* Has everybody come this far with `status` CS_OK, the same build and the same `fingerprint`
 * (of whatever must be the same)? Rank 0 gets an error if not, its own one first; the others
 * get their own. */
CS_MUST_CHECK cs_status cs_ranks_agree(cs_ranks *ranks, cs_status status, uint64_t fingerprint,
                                       cs_error *err);

/* Rank 0 ends it, and everybody leaves; frees `ranks`. Where somebody does not answer, mpirun is
 * told to end all with `exit_code`, and this does not return: print and close everything before.
 */
void cs_ranks_leave(cs_ranks *ranks, int exit_code);

/* Is MPI at hand? Else the sentence says what is missing. */
bool cs_ranks_available(char *text, size_t text_bytes);

/* For the workers. Send; CS_EIO when the connection is lost. */
CS_MUST_CHECK cs_status cs_ranks_send(cs_ranks *ranks, int to, cs_message_kind kind,
                                      const char *data, size_t bytes, cs_error *err);

/* The next message, waiting at most `wait_s` for it: CS_MESSAGE_NONE when none came. What is in
 * *message_p before is not freed. */
CS_MUST_CHECK cs_status cs_ranks_receive(cs_ranks *ranks, double wait_s, cs_message *message_p,
                                         cs_error *err);

void cs_message_free(cs_message *message);

/* Rank 0: tell all others that it is over. Only the first call does something. */
void cs_ranks_end(cs_ranks *ranks);

/* Seconds on a clock that only goes forward. */
double cs_ranks_now_s(void);

#endif
