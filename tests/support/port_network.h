/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tests/support/port_network.h -- alpha-beta as a network model, so that the dispatcher can be
 * compared with the single pass: a message ends start-up + bytes / rate after it starts, with the
 * arithmetic of the port model, and SHARED groups are served one by one. Or one that queues its
 * senders: a message starts so when the one before it on its sending ports has left them, and ends
 * `latency_s` after it has. */
#ifndef CT_SUPPORT_PORT_NETWORK_H
#define CT_SUPPORT_PORT_NETWORK_H

#include "cs/model.h"

typedef struct ct_port_options {
    double message_gap_s;
    bool   queues_senders;
    double latency_s;        /* where senders queue */
    bool   shares_receivers; /* ... every message as if it were alone at its receiver */
    bool   parts_exchanges;  /* ... each way of an exchange as if it were a message of its own */
} ct_port_options;

extern const cs_model ct_port_network;

#endif
