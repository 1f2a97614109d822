/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What collsim-simgrid replies: whatever it is, a replay with the model simgrid says what is wrong
 * in one line, or ends in a time; and what the model asks is what the protocol allows. */
#include "foreign.h"
#include "fuzz.h"
#include "models/simgrid/protocol.h"

#include <math.h>
#include <string.h>

extern const cs_model cs_model_simgrid;
const cs_model *const foreign_model = &cs_model_simgrid;

static uint32_t n_links, n_flows;

void foreign_begin(uint8_t settings, cs_options *options)
{
    (void)settings;
    (void)options;
    n_links = n_flows = 0;
}

void claim_open(const char *body, size_t bytes)
{
    cs_sg_open open;

    FUZZ_CLAIM(bytes >= sizeof open);
    memcpy(&open, body, sizeof open);
    FUZZ_CLAIM(bytes ==
               sizeof open + open.n_links * sizeof(double) + open.n_changes * sizeof(cs_sg_change));
    for (uint32_t i = 0; i < open.n_links; i++) {
        double bandwidth_Bps;
        memcpy(&bandwidth_Bps, body + sizeof open + i * sizeof bandwidth_Bps, sizeof bandwidth_Bps);
        FUZZ_CLAIM(isfinite(bandwidth_Bps) && bandwidth_Bps > 0);
    }
    for (uint32_t i = 0; i < open.n_changes; i++) {
        cs_sg_change c;
        memcpy(&c, body + sizeof open + open.n_links * sizeof(double) + i * sizeof c, sizeof c);
        FUZZ_CLAIM(c.time_s >= 0 && c.bandwidth_Bps > 0 && c.link < open.n_links);
    }
    n_links = open.n_links;
}

void claim_work(const char *body, size_t bytes)
{
    for (size_t at = 0; at < bytes;) {
        cs_sg_flow flow;
        FUZZ_CLAIM(bytes - at >= sizeof flow);
        memcpy(&flow, body + at, sizeof flow);
        at += sizeof flow;
        FUZZ_CLAIM(isfinite(flow.begin_s) && flow.begin_s >= 0 && flow.n_links >= 1);
        FUZZ_CLAIM((bytes - at) / sizeof(uint32_t) >= flow.n_links);
        for (uint32_t i = 0; i < flow.n_links; i++, at += sizeof(uint32_t)) {
            uint32_t link;
            memcpy(&link, body + at, sizeof link);
            FUZZ_CLAIM(link < n_links);
        }
        n_flows++;
    }
}

void claim_run(const char *body, size_t bytes)
{
    cs_sg_run run;

    FUZZ_CLAIM(bytes == sizeof run);
    memcpy(&run, body, sizeof run);
    FUZZ_CLAIM(run.horizon_s >= 0 && (n_flows > 0 || isfinite(run.horizon_s)));
}
