/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The servers of the StragglAR paper: see server.h. Sources: its section 4.1. */
#include "figures/server.h"

#include "analytic/formula.h"
#include "figures/times.h"

const cs_figure_server cs_figure_dgx_h100 = {.name             = "DGX H100",
                                             .n_ranks          = 8,
                                             .nominal_Bps      = 450e9,
                                             .mean_delay_s     = 4.48e-3,
                                             .critical_delay_s = 5.53e-3};
const cs_figure_server cs_figure_dgx_a100 = {.name             = "DGX A100",
                                             .n_ranks          = 8,
                                             .nominal_Bps      = 300e9,
                                             .mean_delay_s     = 9.46e-3,
                                             .critical_delay_s = 7.57e-3};

cs_figure_machine cs_figure_nominal(const cs_figure_server *server)
{
    return (cs_figure_machine){cs_figure_h100.alpha_s, server->nominal_Bps};
}

/* The critical delay is linear in alpha and in the time of the buffer, so that the latter
 * follows from it. */
cs_figure_machine cs_figure_implied(const cs_figure_server *server)
{
    uint32_t n = server->n_ranks, rounds = cs_stragglar_rounds(n);
    double   alpha_s   = cs_figure_h100.alpha_s;
    double   latency_s = cs_formula_critical_delay_exact(n, rounds, alpha_s, 0);
    double   share     = cs_formula_critical_delay_exact(n, rounds, 0, 1);
    double   x_s       = (server->critical_delay_s - latency_s) / share;

    return (cs_figure_machine){alpha_s, 4.0 * (double)CS_FIGURE_GIB / x_s};
}
