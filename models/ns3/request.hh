/* SPDX-License-Identifier: GPL-2.0-or-later */
/* models/ns3/request.hh -- what collsim-ns3 is told, read and checked: see protocol.h. It needs no
 * ns-3.
 */
#ifndef CS_MODELS_NS3_REQUEST_HH
#define CS_MODELS_NS3_REQUEST_HH

#include "models/lib/child.hh"
#include "models/ns3/protocol.h"

/* The network: links by number, and how they change. */
struct cs_ns3_platform {
    cs_ns3_open                open{};
    std::vector<cs_ns3_link>   links;
    std::vector<cs_ns3_change> changes;
};

/* A message and its ways, one behind the other; way_at has where each begins. */
struct cs_ns3_work {
    cs_ns3_message        head{};
    std::vector<uint32_t> links;
    std::vector<uint32_t> way_at;
};

class cs_ns3_request : public cs_child_request
{
    static void must(bool holds, const char *why)
    {
        if (!holds) {
            throw std::runtime_error(why);
        }
    }

    /* Where ways begin: at a host; and with stacks they end at one. */
    static void find_ways(const cs_ns3_platform &platform, cs_ns3_work *work)
    {
        bool begins = true;

        work->way_at.clear();
        for (uint32_t i = 0; i < work->links.size(); i++) {
            const uint32_t link = work->links[i];
            if (link == CS_NS3_END) {
                must(!begins, "a way has no links");
                must(platform.open.mode == CS_NS3_RAW ||
                         platform.links[work->links[i - 1]].to != CS_NS3_SWITCH,
                     "a way ends at no host");
                begins = true;
                continue;
            }
            must(link < platform.links.size(), "a message takes a link that there is not");
            if (begins) {
                must(platform.links[link].from != CS_NS3_SWITCH, "a way begins at no host");
                work->way_at.push_back(i);
            }
            begins = false;
        }
        must(begins, "a way has no end");
    }

  public:
    /* Behind the build. */
    cs_ns3_platform take_platform()
    {
        cs_ns3_platform platform;
        cs_ns3_open    &open = platform.open;

        open = take<cs_ns3_open>(1)[0];
        must(open.version == CS_NS3_VERSION, "a program of another version speaks");
        must(open.mode <= CS_NS3_TCP && open.n_hosts <= size_t{2} * open.n_links &&
                 open.n_links <= CS_NS3_MAX_LINKS && open.queue_bytes >= 0 && open.queue_bytes <= UINT32_MAX &&
                 open.mark_bytes >= 0 && open.mark_bytes <= UINT32_MAX,
             "a setting makes no sense");
        platform.links   = take<cs_ns3_link>(open.n_links);
        platform.changes = take<cs_ns3_change>(open.n_changes);
        must_be_over();
        for (const cs_ns3_link &l : platform.links) {
            must(l.bps > 0 && l.delay_ps >= 0 && (l.from < open.n_hosts || l.from == CS_NS3_SWITCH) &&
                     (l.to < open.n_hosts || l.to == CS_NS3_SWITCH),
                 "a link makes no sense");
        }
        for (const cs_ns3_change &c : platform.changes) {
            must(c.time_ps >= 0 && c.bps > 0 && c.link < open.n_links,
                 "a change of a link makes no sense");
        }
        return platform;
    }

    /* One of the messages; is_over() behind the last one. */
    void take_work(const cs_ns3_platform &platform, cs_ns3_work *work)
    {
        const cs_ns3_message m = work->head = take<cs_ns3_message>(1)[0];
        const bool     is_tcp = platform.open.mode == CS_NS3_TCP;
        const size_t   n_ways = size_t{m.n_paths} + (is_tcp ? 1 : 0);

        must(m.begin_ps >= 0 && m.bytes >= 0 && m.mtu >= 1 && m.mtu <= CS_NS3_MAX_PACKET_BYTES &&
                 m.header <= CS_NS3_MAX_PACKET_BYTES - m.mtu && m.header >= CS_NS3_PPP_BYTES &&
                 m.bytes / m.mtu < INT32_MAX && m.number < CS_NS3_MAX_MESSAGES && m.n_paths >= 1 &&
                 m.first_path < m.n_paths,
             "a message makes no sense");
        must(platform.open.mode == CS_NS3_RAW ||
                 (m.header >= CS_NS3_UDP_BYTES && m.mtu + m.header <= CS_NS3_MAX_STACK_BYTES),
             "a packet is none of IPv4");
        must(!is_tcp || m.n_paths == 1, "a message of TCP has several ways");
        work->links = take<uint32_t>(m.n_links);
        find_ways(platform, work);
        must(work->way_at.size() == n_ways, "a message has other ways than it says");
    }

    int64_t take_horizon()
    {
        const int64_t horizon_ps = take<cs_ns3_run>(1)[0].horizon_ps;

        must_be_over();
        must(horizon_ps >= 0, "a horizon makes no sense");
        return horizon_ps;
    }
};

#endif
