/* SPDX-License-Identifier: GPL-3.0-or-later */
/* models/simgrid/request.hh -- what collsim-simgrid is told, read and checked: see protocol.h. It
 * needs no SimGrid. What is not as the protocol says is thrown as std::runtime_error, before memory
 * is taken for it.
 */
#ifndef CS_MODELS_SIMGRID_REQUEST_HH
#define CS_MODELS_SIMGRID_REQUEST_HH

#include "models/simgrid/protocol.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

/* The platform: links by number, and how they change. */
struct cs_sg_platform {
    std::string               build;
    std::vector<double>       bandwidth_Bps;
    std::vector<cs_sg_change> changes;
};

class cs_sg_request
{
    std::vector<char> body;
    size_t            at = 0;

    template <class T> std::vector<T> take(size_t count)
    {
        if (count > (body.size() - at) / sizeof(T)) {
            throw std::runtime_error("a message is too short");
        }
        std::vector<T> items(count);
        if (count > 0) {
            memcpy(static_cast<void *>(items.data()), body.data() + at, count * sizeof(T));
        }
        at += count * sizeof(T);
        return items;
    }
    void must_be(uint32_t wanted, const char *why) const
    {
        if (kind != wanted) {
            throw std::runtime_error(why);
        }
    }
    void must_be_over() const
    {
        if (!is_over()) {
            throw std::runtime_error("a message is too long");
        }
    }

  public:
    uint32_t kind = 0;

    /* Read the next message by read(data, bytes), which says whether it could. False at the end of
     * the conversation. */
    template <class Read> bool read_next(Read read)
    {
        constexpr size_t piece_bytes = size_t{1} << 20;
        cs_sg_frame      frame;

        if (!read(&frame, sizeof frame)) {
            return false;
        }
        kind = frame.kind;
        at   = 0;
        body.clear();
        while (body.size() < frame.bytes) {
            const size_t n = std::min(piece_bytes, frame.bytes - body.size());
            body.resize(body.size() + n);
            if (!read(body.data() + body.size() - n, n)) {
                return false;
            }
        }
        return true;
    }

    bool is_over() const
    {
        return at == body.size();
    }

    cs_sg_platform take_platform()
    {
        const auto     open = take<cs_sg_open>(1)[0];
        cs_sg_platform platform;

        must_be(CS_SG_OPEN, "the first message is not the first");
        platform.build.assign(open.build, strnlen(open.build, sizeof open.build));
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
