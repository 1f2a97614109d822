/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Servers that differ, and what they have in common. */
#include "cs/cluster.h"

#include <math.h>

void cs_cluster_set_servers(cs_cluster *cluster, const cs_server *servers)
{
    uint32_t n         = cs_n_servers(cluster);
    bool     are_alike = true;

    for (uint32_t f = 0; f < CS_FABRICS; f++) {
        double most_Bps = servers[0].bandwidth_Bps[f];
        for (uint32_t s = 1; s < n; s++) {
            double rate_Bps = servers[s].bandwidth_Bps[f];
            bool   is_other = f < cs_n_fabrics(cluster) && rate_Bps != servers[0].bandwidth_Bps[f];
            are_alike       = are_alike && !is_other;
            most_Bps        = fmax(most_Bps, rate_Bps);
        }
        cluster->fabrics[f].bandwidth_Bps = most_Bps;
    }
    cluster->servers = are_alike ? NULL : servers;
}

void cs_cluster_set_gpus(cs_cluster *cluster, const uint32_t *gpus, uint32_t n_servers,
                         cs_uneven *uneven)
{
    uint32_t most = 0, first = 0;
    bool     are_alike = true;

    for (uint32_t s = 0; s < n_servers; s++) {
        uneven->first[s] = first;
        for (uint32_t i = 0; i < gpus[s]; i++) {
            uneven->server_of[first++] = s;
        }
        most      = gpus[s] > most ? gpus[s] : most;
        are_alike = are_alike && gpus[s] == gpus[0];
    }
    uneven->first[n_servers] = first;
    uneven->n_servers        = n_servers;
    cluster->n_ranks         = first;
    cluster->gpus_per_server = most;
    cluster->uneven          = are_alike ? NULL : uneven;
}

uint32_t cs_least_gpus(const cs_cluster *cluster)
{
    uint32_t n     = cluster->uneven != NULL ? cluster->uneven->n_servers : 0;
    uint32_t least = cluster->gpus_per_server;

    for (uint32_t s = 0; s < n; s++) {
        uint32_t gpus = cs_server_gpus(cluster, s);
        least         = gpus < least ? gpus : least;
    }
    return least;
}

double cs_least_Bps(const cs_cluster *cluster, uint32_t fabric)
{
    uint32_t n         = cluster->servers != NULL ? cs_n_servers(cluster) : 0;
    double   least_Bps = cluster->fabrics[fabric].bandwidth_Bps;

    for (uint32_t s = 0; s < n; s++) {
        least_Bps = fmin(least_Bps, cluster->servers[s].bandwidth_Bps[fabric]);
    }
    return least_Bps;
}
