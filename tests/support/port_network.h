/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tests/support/port_network.h -- alpha-beta as a network model, so that the dispatcher can be
 * compared with the single pass: a message ends start-up + bytes / rate after it starts, with the
 * arithmetic of the port model, and SHARED groups are served one by one. Its one
 * option is message_gap_s (a struct of that double). */
#ifndef CT_SUPPORT_PORT_NETWORK_H
#define CT_SUPPORT_PORT_NETWORK_H

#include "cs/model.h"

extern const cs_model ct_port_network;

#endif
