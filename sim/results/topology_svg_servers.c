/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Servers that are described: one server, its sockets side by side, switches and devices below
 * them, NVLinks above the GPUs, NICs at the bottom edge with their network links. Where there are
 * two kinds of servers, one below the other. */
#include "base/alloc.h"
#include "results/svg.h"
#include "results/topology_svg.h"

#include <stdio.h>

typedef struct drawing {
    const cs_machine *m;
    cs_text          *out, *back;    /* boxes; lines behind them */
    double            top;           /* of the server */
    double           *gpu_x, *nic_x; /* owned: left edges */
    double           *switch_x;      /* owned: middle */
    double            width;
} drawing;

enum { NVLINKS = 40, SOCKETS = 110, SWITCHES = 180, GPUS = 250, NICS = 320, SERVER = 430 };

/* Devices of one switch, or of the socket itself, from x on; GPUs above NICs. */
static double place_group(drawing *d, uint32_t socket, uint32_t pcie, double x)
{
    double gpu = x, nic = x;

    for (uint32_t i = 0; i < d->m->n_gpus; i++) {
        if (d->m->gpus[i].socket == socket && d->m->gpus[i].pcie == pcie) {
            d->gpu_x[i] = gpu;
            gpu += CS_TOPOLOGY_BOX + CS_TOPOLOGY_GAP;
        }
    }
    for (uint32_t i = 0; i < d->m->n_nics; i++) {
        if (d->m->nics[i].socket == socket && d->m->nics[i].pcie == pcie) {
            d->nic_x[i] = nic;
            nic += CS_TOPOLOGY_BOX + CS_TOPOLOGY_GAP;
        }
    }
    return gpu > nic ? gpu : nic;
}

/* Place what hangs at a socket and draw the socket over it. */
static double draw_socket(drawing *d, uint32_t socket, double x)
{
    const cs_machine *m   = d->m;
    double            end = place_group(d, socket, CS_NO_SWITCH, x);
    char              name[64];

    for (uint32_t i = 0; i < m->n_switches; i++) {
        if (m->switches[i].socket != socket) {
            continue;
        }
        double from = end;
        end         = place_group(d, socket, i, end);
        end         = end < from + CS_TOPOLOGY_BOX + CS_TOPOLOGY_GAP
                          ? from + CS_TOPOLOGY_BOX + CS_TOPOLOGY_GAP
                          : end;
        (void)snprintf(name, sizeof name, "%.4g GB/s", m->switches[i].uplink_Bps / 1e9);
        d->switch_x[i] = (from + end - CS_TOPOLOGY_GAP) / 2;
        cs_svg_line(d->back, d->switch_x[i], d->top + SOCKETS + CS_TOPOLOGY_HIGH, d->switch_x[i],
                    d->top + SWITCHES, "#666", 1.5);
        cs_svg_box(d->out, from, d->top + SWITCHES, end - CS_TOPOLOGY_GAP - from, CS_TOPOLOGY_HIGH,
                   "#e8e8e8", "PCIe switch", name);
    }
    end = end < x + CS_TOPOLOGY_BOX + CS_TOPOLOGY_GAP ? x + CS_TOPOLOGY_BOX + CS_TOPOLOGY_GAP : end;
    (void)snprintf(name, sizeof name, "socket %u", socket);
    cs_svg_box(d->out, x, d->top + SOCKETS, end - CS_TOPOLOGY_GAP - x, CS_TOPOLOGY_HIGH, "#cfe2f3",
               name, "");
    return end + 3 * CS_TOPOLOGY_GAP;
}

static void draw_devices(const drawing *d)
{
    const cs_machine *m = d->m;
    char              rate[48];

    for (uint32_t i = 0; i < m->n_gpus + m->n_nics; i++) {
        bool             is_nic = i >= m->n_gpus;
        const cs_device *v      = is_nic ? &m->nics[i - m->n_gpus] : &m->gpus[i];
        double           x      = is_nic ? d->nic_x[i - m->n_gpus] : d->gpu_x[i];
        double           y      = d->top + (is_nic ? NICS : GPUS);
        double           from =
            v->pcie == CS_NO_SWITCH ? SOCKETS + CS_TOPOLOGY_HIGH : SWITCHES + CS_TOPOLOGY_HIGH;
        double side = is_nic ? 8 : CS_TOPOLOGY_BOX / 2; /* past the GPU above it */

        cs_svg_line(d->back, x + side, d->top + from, x + side, y, "#666", 1);
        (void)snprintf(rate, sizeof rate, is_nic ? "%.4g GB/s" : "PCIe %.4g",
                       (is_nic ? v->wire_Bps : v->pcie_Bps) / 1e9);
        if (is_nic) {
            cs_svg_line(d->back, x + CS_TOPOLOGY_BOX / 2, y + CS_TOPOLOGY_HIGH,
                        x + CS_TOPOLOGY_BOX / 2, d->top + NICS + CS_TOPOLOGY_HIGH + 22, "#b45f06",
                        2);
        }
        cs_svg_box(d->out, x, y, CS_TOPOLOGY_BOX, CS_TOPOLOGY_HIGH, is_nic ? "#fce5cd" : "#d9ead3",
                   v->name, rate);
    }
    if (m->n_nics > 0) {
        cs_svg_box(d->out, CS_TOPOLOGY_MARGIN, d->top + NICS + CS_TOPOLOGY_HIGH + 22,
                   d->width - 2 * CS_TOPOLOGY_MARGIN, 20, "#f9cb9c", "network", "");
    }
}

static void draw_nvlinks(const drawing *d)
{
    const cs_machine *m = d->m;
    char              rate[64];

    if (m->nvswitch_Bps > 0) {
        (void)snprintf(rate, sizeof rate, "NVSwitches, %.4g GB/s a GPU", m->nvswitch_Bps / 1e9);
        cs_svg_box(d->out, CS_TOPOLOGY_MARGIN, d->top + NVLINKS, d->width - 2 * CS_TOPOLOGY_MARGIN,
                   24, "#93c47d", rate, "");
        for (uint32_t i = 0; i < m->n_gpus; i++) {
            double x = d->gpu_x[i] + CS_TOPOLOGY_BOX - 6;
            cs_svg_line(d->back, x, d->top + NVLINKS + 24, x, d->top + GPUS, "#38761d", 2);
        }
    }
    for (uint32_t i = 0; m->nvlink_Bps != NULL && i < m->n_gpus * m->n_gpus; i++) {
        uint32_t a = i / m->n_gpus, b = i % m->n_gpus;
        if (a >= b || m->nvlink_Bps[i] <= 0) {
            continue;
        }
        double x1 = d->gpu_x[a] + CS_TOPOLOGY_BOX / 2, x2 = d->gpu_x[b] + CS_TOPOLOGY_BOX / 2,
               y = d->top + GPUS + CS_TOPOLOGY_HIGH;
        cs_text_add(d->back,
                    "<path d=\"M%.1f %.1f Q%.1f %.1f %.1f %.1f\" fill=\"none\" "
                    "stroke=\"#38761d\" stroke-width=\"2\"><title>%s %u - %u: %.4g "
                    "GB/s</title></path>\n",
                    x1, y, (x1 + x2) / 2, y + 20 + (x2 > x1 ? x2 - x1 : x1 - x2) / 8, x2, y,
                    m->link_name, a, b, m->nvlink_Bps[i] / 1e9);
    }
}

/* Left to right over all sockets; returns the width. */
static double draw_parts(drawing *d)
{
    double x = CS_TOPOLOGY_MARGIN, before = 0;
    char   rate[64];

    for (uint32_t s = 0; s < d->m->n_sockets; s++) {
        double from = x;
        x           = draw_socket(d, s, x);
        if (s > 0) {
            cs_svg_line(d->back, before, d->top + SOCKETS + CS_TOPOLOGY_HIGH / 2, from,
                        d->top + SOCKETS + CS_TOPOLOGY_HIGH / 2, "#3d85c6", 3);
        }
        before = x - 4 * CS_TOPOLOGY_GAP;
    }
    d->width = x - 3 * CS_TOPOLOGY_GAP + CS_TOPOLOGY_MARGIN;
    if (d->m->n_sockets > 1 && d->m->socket_Bps > 0) {
        (void)snprintf(rate, sizeof rate, "between sockets %.4g GB/s", d->m->socket_Bps / 1e9);
        cs_svg_panel(d->out, d->width / 2, d->top + SOCKETS - 6, rate);
    }
    return d->width;
}

static cs_status draw_machine(const cs_machine *m, double top, double *width_p, cs_text *out,
                              cs_text *back)
{
    drawing d      = {.m        = m,
                      .out      = out,
                      .back     = back,
                      .top      = top,
                      .gpu_x    = CS_NEW(double, m->n_gpus + 1u),
                      .nic_x    = CS_NEW(double, m->n_nics + 1u),
                      .switch_x = CS_NEW(double, m->n_switches + 1u)};
    bool    failed = d.gpu_x == NULL || d.nic_x == NULL || d.switch_x == NULL;

    if (!failed) {
        double width = draw_parts(&d);
        draw_devices(&d);
        draw_nvlinks(&d);
        *width_p = width > *width_p ? width : *width_p;
    }
    cs_free(d.gpu_x);
    cs_free(d.nic_x);
    cs_free(d.switch_x);
    return failed ? CS_ENOMEM : CS_OK;
}

cs_status cs_topology_svg_servers(const cs_topology_view *view, cs_text *out, cs_error *err)
{
    cs_text   body = {0}, lines = {0};
    double    width = 320, height = SERVER;
    char      title[200];
    cs_status status = draw_machine(view->site->machine, 0, &width, &body, &lines);

    if (status == CS_OK && view->site->tail != NULL) {
        status = draw_machine(view->site->tail, SERVER, &width, &body, &lines);
        height = 2 * SERVER;
    }
    (void)snprintf(title, sizeof title, "%.100s: %u ranks, %u per server", view->name,
                   view->cluster->n_ranks, view->cluster->gpus_per_server);
    cs_topology_svg_begin(out, width, height, title);
    cs_text_add(out, "%s%s", lines.data != NULL ? lines.data : "",
                body.data != NULL ? body.data : "");
    cs_svg_end(out);
    if (status != CS_OK || body.failed || lines.failed) {
        status = CS_FAIL(err, CS_ENOMEM, "", "out of memory for a picture");
    }
    cs_text_free(&body);
    cs_text_free(&lines);
    return status;
}
