/* SPDX-License-Identifier: GPL-3.0-or-later */
/* figures/server.h -- the servers on which the StragglAR paper measured, as ports of the model.
 *
 * *Nominal* is the bandwidth between two GPUs that the paper gives. *Implied* is the one at which
 * the model has the critical delay that the paper measured for 4 GiB: what NCCL's send and receive
 * reach there, if the model holds otherwise. Alpha is 3 us, which the paper assumes, for all.
 */
#ifndef CS_FIGURES_SERVER_H
#define CS_FIGURES_SERVER_H

#include "figures/point.h"

typedef struct cs_figure_server {
    const char *name;
    uint32_t    n_ranks;
    double      nominal_Bps;
    double      mean_delay_s;     /* of the last rank, when fine-tuning Llama-3.2 */
    double      critical_delay_s; /* measured with 4 GiB */
} cs_figure_server;

extern const cs_figure_server cs_figure_dgx_h100, cs_figure_dgx_a100;

cs_figure_machine cs_figure_nominal(const cs_figure_server *server);
cs_figure_machine cs_figure_implied(const cs_figure_server *server);

#endif
