/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What collsim-simgrid is told. */
#include "foreign_child.hh"
#include "models/simgrid/request.hh"

namespace
{

struct simgrid_child {
    using request = cs_sg_request;
    size_t n_links;

    void claim_open(request &r, size_t length)
    {
        const cs_sg_platform platform = r.take_platform();

        n_links = platform.bandwidth_Bps.size();
        FUZZ_CLAIM(n_links <= length / sizeof(double));
        for (const double bandwidth_Bps : platform.bandwidth_Bps) {
            FUZZ_CLAIM(bandwidth_Bps > 0 && std::isfinite(bandwidth_Bps));
        }
        for (const cs_sg_change &c : platform.changes) {
            FUZZ_CLAIM(c.link < n_links);
            FUZZ_CLAIM(c.time_s >= 0 && std::isfinite(c.time_s));
            FUZZ_CLAIM(c.bandwidth_Bps > 0 && std::isfinite(c.bandwidth_Bps));
        }
    }

    void claim_work(request &r, size_t length) const
    {
        std::vector<uint32_t> way;

        while (!r.is_over()) {
            const cs_sg_flow f = r.take_flow(n_links, &way);
            FUZZ_CLAIM(f.begin_s >= 0 && std::isfinite(f.begin_s) && f.number < CS_SG_MAX_FLOWS);
            FUZZ_CLAIM(way.size() == f.n_links && f.n_links <= length / sizeof(uint32_t));
            for (const uint32_t link : way) {
                FUZZ_CLAIM(link < n_links);
            }
        }
    }
};

} // namespace

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length)
{
    return fuzz_child<simgrid_child>(data, length);
}
