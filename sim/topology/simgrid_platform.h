/* SPDX-License-Identifier: GPL-3.0-or-later */
/* topology/simgrid_platform.h -- the subset of SimGrid's platform XML that hosts, links and routes
 * need.
 *
 * <platform> holds one <zone> (or <AS>) with <host>s, which are the ranks in their order, <link>s
 * and <route>s of <link_ctn>s. A link is SHARED (one capacity for both ways, SimGrid's default) or
 * SPLITDUPLEX (one for each). A route is also the way back unless symmetrical="NO". Skipped are
 * <config>, <prop> and <router>; any other element is refused by its name.
 */
#ifndef CS_TOPOLOGY_SIMGRID_PLATFORM_H
#define CS_TOPOLOGY_SIMGRID_PLATFORM_H

#include "cs/route_table.h"
#include "input/xml.h"

cs_status cs_simgrid_platform_read(const cs_xml *root, const char *input, cs_arena *arena,
                                   const cs_route_table **table_p, cs_error *err);

#endif
