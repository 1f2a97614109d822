/* SPDX-License-Identifier: GPL-3.0-or-later */
/* config/server_json.h -- a regular server written out: {"kind": "server", "gpus": 4, "nics": 2}.
 */
#ifndef CS_CONFIG_SERVER_JSON_H
#define CS_CONFIG_SERVER_JSON_H

#include "config/field.h"
#include "cs/machine.h"

/* The keys of the object, for whoever checks them. */
#define CS_SERVER_KEYS                                                                           \
    "kind", "servers", "gpus", "nics", "sockets", "pcie_switches", "nvlink", "nvlink_bandwidth", \
        "nic_bandwidth", "pcie_bandwidth", "switch_uplink_bandwidth", "socket_bandwidth"

/* Is the object one? */
bool cs_is_server(const json_t *object);

/* Read it; the site's machine is the arena's. */
void cs_read_server(cs_reading *r, const cs_field *field, cs_site *site);

#endif
