/* SPDX-License-Identifier: GPL-3.0-or-later */
/* models/simgrid/request.hh -- what collsim-simgrid is told, read and checked: see protocol.h. It
 * needs no SimGrid.
 */
#ifndef CS_MODELS_SIMGRID_REQUEST_HH
#define CS_MODELS_SIMGRID_REQUEST_HH

#include "models/lib/child.hh"
#include "models/simgrid/protocol.h"

#include <cmath>

/* The platform: links by number, and how they change. */
struct cs_sg_platform {
    std::vector<double>       bandwidth_Bps;
    std::vector<cs_sg_change> changes;
};

struct cs_sg_request : cs_child_request {
    /* Behind the build. */
    cs_sg_platform take_platform()
    {
        const auto     open = take<cs_sg_open>(1)[0];
        cs_sg_platform platform;

        platform.bandwidth_Bps = take<double>(open.n_links);
        platform.changes       = take<cs_sg_change>(open.n_changes);
        must_be_over();
        for (const double bandwidth_Bps : platform.bandwidth_Bps) {
            if (!(bandwidth_Bps > 0 && std::isfinite(bandwidth_Bps))) {
                throw std::runtime_error("a link makes no sense");
            }
        }
        for (const cs_sg_change &c : platform.changes) {
            if (!(c.time_s >= 0 && std::isfinite(c.time_s) && c.bandwidth_Bps > 0 &&
                  std::isfinite(c.bandwidth_Bps) && c.link < open.n_links)) {
                throw std::runtime_error("a change of a link makes no sense");
            }
        }
        return platform;
    }

    /* One of the flows of a message, and the links of its way; is_over() behind the last one. */
    cs_sg_flow take_flow(size_t n_links, std::vector<uint32_t> *way)
    {
        const auto f = take<cs_sg_flow>(1)[0];

        if (!(f.begin_s >= 0 && std::isfinite(f.begin_s)) || f.number >= CS_SG_MAX_FLOWS) {
            throw std::runtime_error("a flow makes no sense");
        }
        *way = take<uint32_t>(f.n_links);
        for (const uint32_t link : *way) {
            if (link >= n_links) {
                throw std::runtime_error("a flow takes a link that there is not");
            }
        }
        return f;
    }

    double take_horizon()
    {
        const double horizon_s = take<cs_sg_run>(1)[0].horizon_s;

        must_be_over();
        if (!(horizon_s >= 0)) {
            throw std::runtime_error("a horizon makes no sense");
        }
        return horizon_s;
    }
};

#endif
