/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What collsim-simgrid is told: whatever the bytes, a message is refused by a sentence, or is what
 * SimGrid may be given; and no more memory is taken than there are bytes. SimGrid need not be
 * there.
 */
#include "claim.h"
#include "models/simgrid/request.hh"

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

void claim_platform(const cs_sg_platform &platform, size_t length)
{
    FUZZ_CLAIM(platform.bandwidth_Bps.size() <= length / sizeof(double));
    for (const double bandwidth_Bps : platform.bandwidth_Bps) {
        FUZZ_CLAIM(bandwidth_Bps > 0 && std::isfinite(bandwidth_Bps));
    }
    for (const cs_sg_change &c : platform.changes) {
        FUZZ_CLAIM(c.link < platform.bandwidth_Bps.size());
        FUZZ_CLAIM(c.time_s >= 0 && std::isfinite(c.time_s));
        FUZZ_CLAIM(c.bandwidth_Bps > 0 && std::isfinite(c.bandwidth_Bps));
    }
}

void claim_flows(cs_sg_request &request, size_t n_links, size_t length)
{
    std::vector<uint32_t> way;

    while (!request.is_over()) {
        const cs_sg_flow f = request.take_flow(n_links, &way);
        FUZZ_CLAIM(f.begin_s >= 0 && std::isfinite(f.begin_s) && f.number < CS_SG_MAX_FLOWS);
        FUZZ_CLAIM(way.size() == f.n_links && f.n_links <= length / sizeof(uint32_t));
        for (const uint32_t link : way) {
            FUZZ_CLAIM(link < n_links);
        }
    }
}

/* As the child does; false where the conversation ends. */
bool hear(input &bytes, size_t length, bool is_first, size_t *n_links)
{
    cs_sg_request request;

    if (!request.read_next(std::ref(bytes))) {
        return false;
    }
    if (is_first) {
        FUZZ_CLAIM(request.take_build().size() <= CS_TALK_BUILD_BYTES);
        const cs_sg_platform platform = request.take_platform();
        claim_platform(platform, length);
        *n_links = platform.bandwidth_Bps.size();
    } else if (request.kind == CS_TALK_WORK) {
        claim_flows(request, *n_links, length);
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
    input  bytes{data, length};
    size_t n_links  = 0;
    bool   is_first = true;

    try {
        while (hear(bytes, length, is_first, &n_links)) {
            is_first = false;
        }
    } catch (const std::runtime_error &e) {
        FUZZ_CLAIM(strlen(e.what()) > 0 && strchr(e.what(), '\n') == nullptr);
    }
    return 0;
}
