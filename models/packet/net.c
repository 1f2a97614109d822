/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/packet/net.h"

#include "base/alloc.h"

#include <stdio.h>

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void find_range(cs_packet_link *link)
{
    link->low_bps = link->high_bps = link->bps;
    for (uint32_t i = 0; i < link->n_changes; i++) {
        int64_t bps    = link->changes[i].bps;
        link->low_bps  = bps < link->low_bps ? bps : link->low_bps;
        link->high_bps = bps > link->high_bps ? bps : link->high_bps;
    }
}

void cs_packet_net_finish(cs_packet_net *net, int64_t least_bytes)
{
    int64_t bytes = smaller(least_bytes < 1 ? 1 : least_bytes, CS_PAUSE_FRAME_BYTES);

    if (net->cut_through_bytes > 0) {
        bytes = smaller(bytes, net->cut_through_bytes);
    }
    net->window = CS_LONGEST_WINDOW;
    for (uint32_t l = 0; l < net->n_links; l++) {
        cs_packet_link *link = &net->links[l];
        find_range(link);
        net->window = smaller(net->window, link->delay + cs_packet_ps(link->high_bps, bytes));
    }
    net->window = net->window < 1 ? 1 : net->window;
}

void cs_packet_link_text(const cs_packet_net *net, uint32_t link, char *text, size_t room)
{
    if (net->ports != NULL) {
        cs_link_name(net->ports, link, text, room);
    } else {
        (void)snprintf(text, room, "link %u", link);
    }
}

void cs_packet_headroom_text(const cs_packet_net *net, uint32_t link, int64_t ingress, char *text,
                             size_t room)
{
    int64_t xoff = net->links[link].xoff;
    char    name[64];

    cs_packet_link_text(net, link, name, sizeof name);
    (void)snprintf(text, room,
                   "headroom of %s is too small: %lld bytes that came over it wait, more than "
                   "xoff %lld and headroom %lld; set headroom_bytes to %lld or more",
                   name, (long long)ingress, (long long)xoff, (long long)net->headroom_bytes,
                   (long long)(ingress - xoff));
}

void cs_packet_net_free(cs_packet_net *net)
{
    cs_free(net->links);
    cs_free(net->changes);
    *net = (cs_packet_net){0};
}
