/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tests/support/random_stream.h -- streams at random, for comparing two ways of timing them; they
 * are no collective. */
#ifndef CT_SUPPORT_RANDOM_STREAM_H
#define CT_SUPPORT_RANDOM_STREAM_H

#include "support/rng.h"
#include "support/stream.h"

/* Add 300 messages that use everything that `uses` of a plan declares. Each reads and writes from
 * one to `most_span` of `slots` slots (with CS_USES_SPAN, else one); chunks are below three. */
void ct_stream_add_random(ct_stream *stream, ct_rng *rng, const cs_cluster *cluster, uint32_t uses,
                          uint32_t slots, uint32_t most_span);

#endif
