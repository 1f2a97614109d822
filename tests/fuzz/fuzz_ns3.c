/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What collsim-ns3 replies: whatever it is, a replay with the model ns3 says what is wrong in one
 * line, or ends in a time; and what the model asks is what the protocol allows. */
#include "foreign.h"
#include "fuzz.h"
#include "models/ns3/protocol.h"

#include <string.h>

extern const cs_model cs_model_ns3;
const cs_model *const foreign_model = &cs_model_ns3;

static cs_ns3_open opened;

void foreign_begin(uint8_t settings, cs_options *options)
{
    static const char *const modes[] = {"raw", "udp", "tcp", "raw"};

    FUZZ_CLAIM(cs_field_set(cs_model_ns3.options, options, "mode", modes[settings >> 4 & 3], "mode",
                            NULL) == CS_OK);
}

void claim_open(const char *body, size_t bytes)
{
    cs_ns3_link   link;
    cs_ns3_change change;

    FUZZ_CLAIM(bytes >= sizeof opened);
    memcpy(&opened, body, sizeof opened);
    FUZZ_CLAIM(opened.version == CS_NS3_VERSION && opened.mode <= CS_NS3_TCP);
    body += sizeof opened;
    FUZZ_CLAIM(bytes ==
               sizeof opened + opened.n_links * sizeof link + opened.n_changes * sizeof change);
    for (uint32_t i = 0; i < opened.n_links; i++, body += sizeof link) {
        memcpy(&link, body, sizeof link);
        FUZZ_CLAIM(link.bps > 0 && link.delay_ps >= 0);
        FUZZ_CLAIM(link.from == CS_NS3_SWITCH || link.from < opened.n_hosts);
        FUZZ_CLAIM(link.to == CS_NS3_SWITCH || link.to < opened.n_hosts);
    }
    for (uint32_t i = 0; i < opened.n_changes; i++, body += sizeof change) {
        memcpy(&change, body, sizeof change);
        FUZZ_CLAIM(change.time_ps >= 0 && change.bps > 0 && change.link < opened.n_links);
    }
}

void claim_work(const char *body, size_t bytes)
{
    for (size_t at = 0; at < bytes;) {
        cs_ns3_message m;
        uint32_t       n_ends = 0, link = 0;
        FUZZ_CLAIM(bytes - at >= sizeof m);
        memcpy(&m, body + at, sizeof m);
        at += sizeof m;
        FUZZ_CLAIM(m.begin_ps >= 0 && m.bytes >= 0 && m.mtu > 0 && m.n_paths > 0);
        FUZZ_CLAIM(m.first_path < m.n_paths && m.number < CS_NS3_MAX_MESSAGES);
        FUZZ_CLAIM((bytes - at) / sizeof link >= m.n_links);
        for (uint32_t i = 0; i < m.n_links; i++, at += sizeof link) {
            memcpy(&link, body + at, sizeof link);
            FUZZ_CLAIM(link == CS_NS3_END || link < opened.n_links);
            n_ends += link == CS_NS3_END;
        }
        FUZZ_CLAIM(link == CS_NS3_END);
        FUZZ_CLAIM(n_ends == m.n_paths + (opened.mode == CS_NS3_TCP));
    }
}

void claim_run(const char *body, size_t bytes)
{
    cs_ns3_run run;

    FUZZ_CLAIM(bytes == sizeof run);
    memcpy(&run, body, sizeof run);
    FUZZ_CLAIM(run.horizon_ps >= 0);
}
