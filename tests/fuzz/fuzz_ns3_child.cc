/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What collsim-ns3 is told: whatever the bytes, a message is refused by a sentence, or is what ns-3
 * may be given; and no more memory is taken than there are bytes. ns-3 need not be there.
 */
#include "claim.h"
#include "models/ns3/request.hh"

#include <functional>

namespace
{

/* The bytes that are left. */
struct input {
    const uint8_t *at;
    size_t         left;

    bool operator()(void *data, size_t bytes)
    {
        if (bytes > left) {
            return false;
        }
        memcpy(data, at, bytes);
        at += bytes;
        left -= bytes;
        return true;
    }
};

void claim_platform(const cs_ns3_platform &platform, size_t length)
{
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

void claim_messages(cs_ns3_request &request, const cs_ns3_platform &platform)
{
    cs_ns3_work work;

    while (!request.is_over()) {
        request.take_work(platform, &work);
        const cs_ns3_message &m = work.head;
        FUZZ_CLAIM(m.begin_ps >= 0 && m.bytes >= 0 && m.number < CS_NS3_MAX_MESSAGES);
        FUZZ_CLAIM(m.mtu >= 1 && m.header >= CS_NS3_PPP_BYTES);
        FUZZ_CLAIM(size_t{m.mtu} + m.header <= CS_NS3_MAX_PACKET_BYTES);
        FUZZ_CLAIM(m.first_path < m.n_paths && m.n_paths <= work.way_at.size());
        FUZZ_CLAIM(work.links.size() == m.n_links);
        claim_ways(platform, work);
    }
}

/* As the child does; false where the conversation ends. */
bool hear(input &bytes, size_t length, bool is_first, cs_ns3_platform *platform)
{
    cs_ns3_request request;

    if (!request.read_next(std::ref(bytes))) {
        return false;
    }
    if (is_first) {
        FUZZ_CLAIM(request.take_build().size() <= CS_TALK_BUILD_BYTES);
        *platform = request.take_platform();
        claim_platform(*platform, length);
    } else if (request.kind == CS_TALK_WORK) {
        claim_messages(request, *platform);
    } else if (request.kind == CS_TALK_RUN) {
        FUZZ_CLAIM(request.take_horizon() >= 0);
    } else {
        return false;
    }
    FUZZ_CLAIM(request.is_over());
    return true;
}

} // namespace

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length)
{
    input           bytes{data, length};
    cs_ns3_platform platform;
    bool            is_first = true;

    try {
        while (hear(bytes, length, is_first, &platform)) {
            is_first = false;
        }
    } catch (const std::runtime_error &e) {
        FUZZ_CLAIM(strlen(e.what()) > 0 && strchr(e.what(), '\n') == nullptr);
    }
    return 0;
}
