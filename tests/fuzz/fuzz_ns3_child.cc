/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What collsim-ns3 is told. */
#include "foreign_child.hh"
#include "models/ns3/request.hh"

namespace
{

/* Every way has links and an end, and begins at a host; those of stacks end at one. */
void claim_ways(const cs_ns3_platform &platform, const cs_ns3_work &work)
{
    for (const uint32_t at : work.way_at) {
        size_t i = at;
        FUZZ_CLAIM(i < work.links.size() && work.links[i] < platform.links.size());
        FUZZ_CLAIM(platform.links[work.links[i]].from != CS_NS3_SWITCH);
        while (work.links[i + 1] != CS_NS3_END) {
            i++;
            FUZZ_CLAIM(i + 1 < work.links.size() && work.links[i] < platform.links.size());
        }
        FUZZ_CLAIM(platform.open.mode == CS_NS3_RAW ||
                   platform.links[work.links[i]].to != CS_NS3_SWITCH);
    }
}

struct ns3_child {
    using request = cs_ns3_request;
    cs_ns3_platform platform;

    void claim_open(request &r, size_t length)
    {
        platform                = r.take_platform();
        const cs_ns3_open &open = platform.open;
        FUZZ_CLAIM(open.version == CS_NS3_VERSION && open.mode <= CS_NS3_TCP);
        FUZZ_CLAIM(platform.links.size() == open.n_links &&
                   open.n_links <= length / sizeof(cs_ns3_link));
        FUZZ_CLAIM(platform.changes.size() == open.n_changes &&
                   open.n_changes <= length / sizeof(cs_ns3_change));
        FUZZ_CLAIM(open.n_hosts <= open.n_links * size_t{2});
        for (const cs_ns3_link &l : platform.links) {
            FUZZ_CLAIM(l.bps > 0 && l.delay_ps >= 0);
            FUZZ_CLAIM(l.from == CS_NS3_SWITCH || l.from < open.n_hosts);
            FUZZ_CLAIM(l.to == CS_NS3_SWITCH || l.to < open.n_hosts);
        }
        for (const cs_ns3_change &c : platform.changes) {
            FUZZ_CLAIM(c.link < open.n_links && c.time_ps >= 0 && c.bps > 0);
        }
    }

    void claim_work(request &r, size_t length) const
    {
        cs_ns3_work work;

        while (!r.is_over()) {
            r.take_work(platform, &work);
            const cs_ns3_message &m = work.head;
            FUZZ_CLAIM(m.begin_ps >= 0 && m.bytes >= 0 && m.number < CS_NS3_MAX_MESSAGES);
            FUZZ_CLAIM(m.mtu >= 1 && m.header >= CS_NS3_PPP_BYTES);
            FUZZ_CLAIM(size_t{m.mtu} + m.header <= CS_NS3_MAX_PACKET_BYTES);
            FUZZ_CLAIM(m.first_path < m.n_paths && m.n_paths <= work.way_at.size());
            FUZZ_CLAIM(work.links.size() == m.n_links && m.n_links <= length / sizeof(uint32_t));
            claim_ways(platform, work);
        }
    }
};

} // namespace

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length)
{
    return fuzz_child<ns3_child>(data, length);
}
