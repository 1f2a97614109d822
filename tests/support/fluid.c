/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "support/fluid.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static size_t step_at(const ct_fluid_link *link, double now_s)
{
    size_t i = 0;

    while (i + 1 < link->n_steps && link->from_s[i + 1] <= now_s) {
        i++;
    }
    return i;
}

static bool crosses(const ct_fluid_flow *flow, uint32_t link)
{
    for (uint32_t k = 0; k < flow->n_links; k++) {
        if (flow->links[k] == link) {
            return true;
        }
    }
    return false;
}

/* What the link has left for each of its flows that still rise. */
static double room(const ct_fluid_link *links, uint32_t link, const ct_fluid_flow *flows,
                   const bool *is_active, const bool *rises, size_t n, double now_s,
                   const double *rates)
{
    double left  = links[link].bandwidth_Bps[step_at(&links[link], now_s)];
    size_t total = 0, rising = 0;

    for (size_t i = 0; i < n; i++) {
        if (is_active[i] && crosses(&flows[i], link)) {
            total++;
            rising += rises[i];
        }
    }
    left = total > 1 ? left / links[link].incast_ratio : left;
    for (size_t i = 0; i < n; i++) {
        left -= is_active[i] && crosses(&flows[i], link) ? rates[i] : 0;
    }
    return rising > 0 ? left / (double)rising : (double)INFINITY;
}

/* Rates of the flows that are active, at one moment. */
static void fluid_rates(const ct_fluid_link *links, size_t n_links, const ct_fluid_flow *flows,
                        const bool *is_active, size_t n_flows, double now_s, double *rates)
{
    bool  *rises = calloc(n_flows + 1, sizeof *rises);
    size_t open  = 0;

    for (size_t i = 0; i < n_flows; i++) {
        rates[i] = 0;
        rises[i] = is_active[i];
        open += is_active[i];
    }
    while (open > 0) {
        double least = (double)INFINITY;
        for (uint32_t l = 0; l < n_links; l++) {
            least = fmin(least, room(links, l, flows, is_active, rises, n_flows, now_s, rates));
        }
        for (size_t i = 0; i < n_flows; i++) {
            if (rises[i] && flows[i].cap_Bps > 0) {
                least = fmin(least, flows[i].cap_Bps - rates[i]);
            }
        }
        least = fmax(least, 0);
        for (size_t i = 0; i < n_flows; i++) {
            rates[i] += rises[i] ? least : 0;
        }
        for (size_t i = 0; i < n_flows; i++) {
            bool is_full = flows[i].cap_Bps > 0 && rates[i] >= flows[i].cap_Bps * (1 - 1e-12);
            for (uint32_t k = 0; k < flows[i].n_links && rises[i] && !is_full; k++) {
                uint32_t l    = flows[i].links[k];
                double   left = room(links, l, flows, is_active, rises, n_flows, now_s, rates);
                is_full       = left <= 1e-12 * links[l].bandwidth_Bps[0];
            }
            if (rises[i] && is_full) {
                rises[i] = false;
                open--;
                i = (size_t)-1; /* a link that was full before others stopped still is */
            }
        }
    }
    free(rises);
}

static double next_change(const ct_fluid_link *links, size_t n_links, double now_s)
{
    double next = (double)INFINITY;

    for (size_t l = 0; l < n_links; l++) {
        for (size_t i = 1; i < links[l].n_steps; i++) {
            next = links[l].from_s[i] > now_s ? fmin(next, links[l].from_s[i]) : next;
        }
    }
    return next;
}

void ct_fluid_run(const ct_fluid_link *links, size_t n_links, ct_fluid_flow *flows, size_t n_flows)
{
    double *left      = calloc(n_flows + 1, sizeof *left);
    double *rates     = calloc(n_flows + 1, sizeof *rates);
    bool   *is_active = calloc(n_flows + 1, sizeof *is_active);
    bool   *is_done   = calloc(n_flows + 1, sizeof *is_done);
    double  now       = 0;

    for (size_t i = 0; i < n_flows; i++) {
        left[i] = flows[i].bytes;
    }
    for (size_t n_done = 0; n_done < n_flows;) {
        double next = next_change(links, n_links, now);
        for (size_t i = 0; i < n_flows; i++) {
            is_active[i] = !is_done[i] && flows[i].begin_s <= now;
            next         = flows[i].begin_s > now ? fmin(next, flows[i].begin_s) : next;
        }
        fluid_rates(links, n_links, flows, is_active, n_flows, now, rates);
        for (size_t i = 0; i < n_flows; i++) {
            next = is_active[i] ? fmin(next, now + left[i] / rates[i]) : next;
        }
        for (size_t i = 0; i < n_flows; i++) {
            left[i] -= is_active[i] ? rates[i] * (next - now) : 0;
            if (is_active[i] && left[i] <= 1e-11 * (flows[i].bytes + 1)) {
                is_done[i]     = true;
                flows[i].end_s = next;
                n_done++;
            }
        }
        now = next;
    }
    free(left);
    free(rates);
    free(is_active);
    free(is_done);
}
