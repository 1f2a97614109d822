/* SPDX-License-Identifier: GPL-3.0-or-later */
/* NCCL's topology XML: see nccl_topology.h. One walk over the tree collects the devices, then
 * the NVLinks are resolved by the bus ids of their targets. */
#include "config/nccl_topology.h"

#include "config/nccl_found.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_SWITCHES 1024

static cs_status bad_number(const cs_nccl_found *n, const cs_xml *e, const char *name)
{
    return CS_XML_FAIL(n->err, n->input, e, "%s=\"%.40s\" is not accepted: a whole number is", name,
                       cs_xml_get(e, name));
}

/* Rate of a PCIe link: GT/s times lanes, without what the code takes. A speed or width that is
 * empty or 0 is unknown, as it is to NCCL; so is what Linux says of a link that it does not know:
 * "Unknown", and 255 lanes. */
static cs_status pcie_rate(cs_nccl_found *n, const cs_xml *pci, double *rate_Bps_p,
                           bool *is_assumed_p)
{
    const char *speed = cs_xml_get(pci, "link_speed");
    char       *end   = NULL;
    double      gts   = speed != NULL ? strtod(speed, &end) : 0;
    bool        says  = speed == NULL || strncmp(speed, "Unknown", 7) != 0;
    long        width;

    if (!cs_xml_number(pci, "link_width", 0, &width)) {
        return bad_number(n, pci, "link_width");
    }
    if (!(gts >= 0 && gts <= 1e4) || width < 0 || width > 1024 ||
        (says && end != NULL && *end != '\0' && (end == speed || strncmp(end, " GT/s", 5) != 0))) {
        return CS_XML_FAIL(n->err, n->input, pci,
                           "link_speed=\"%.40s\" link_width=\"%ld\" is no PCIe link: accepted is "
                           "like \"16.0 GT/s PCIe\" and 16",
                           speed != NULL ? speed : "", width);
    }
    bool is_known = gts > 0 && width > 0 && width != 255;
    n->assumed_pcie |= !is_known;
    *is_assumed_p = !is_known;
    *rate_Bps_p   = is_known ? gts * 1e9 * (double)width / 8 * (gts < 8 ? 0.8 : 128. / 130)
                             : CS_ASSUMED_PCIE_BPS;
    return CS_OK;
}

/* A number that a device is known by; -1: there is none. */
static long id_of(const cs_xml *e, const char *name)
{
    long id;
    return cs_xml_number(e, name, -1, &id) ? id : -1;
}

/* What a GPU is: by its PCI device, by the architecture that RCCL gives, by its capability (which
 * RCCL's files do not have: there `sm` is the number of compute units). */
static void identify(cs_nccl_gpu *g)
{
    long        vendor = id_of(g->pci, "vendor"), device = id_of(g->pci, "device");
    const char *gcn = g->gpu != NULL ? cs_xml_get(g->gpu, "gcn") : NULL;

    g->is_nvidia = gcn == NULL && (vendor == 0x10de || vendor < 0);
    g->kind      = device >= 0 ? cs_gpu_of_pci(vendor, device) : NULL;
    if (g->kind == NULL && gcn != NULL) {
        g->kind = cs_gpu_of_gcn(gcn);
    } else if (g->kind == NULL && g->is_nvidia) {
        g->kind = cs_gpu_of_capability(g->sm);
    }
}

static cs_status add_gpu(cs_nccl_found *n, const cs_xml *pci, const cs_xml *gpu)
{
    cs_machine *m = n->machine;
    cs_nccl_gpu g = {.pci = pci, .gpu = gpu, .dev = -1, .sm = -1, .place = m->n_gpus, .at = n->at};
    cs_status   status;

    if (m->n_gpus == CS_MACHINE_MAX_GPUS) {
        return CS_XML_FAIL(n->err, n->input, pci, "more than %d GPUs", CS_MACHINE_MAX_GPUS);
    }
    if (gpu != NULL &&
        (!cs_xml_number(gpu, "dev", -1, &g.dev) || !cs_xml_number(gpu, "sm", -1, &g.sm))) {
        return bad_number(n, gpu, "dev");
    }
    identify(&g);
    status               = pcie_rate(n, pci, &g.device.pcie_Bps, &g.device.is_pcie_assumed);
    g.device.socket      = n->socket;
    g.device.pcie        = n->bridge;
    n->gpus[m->n_gpus++] = g;
    for (cs_nccl_bridge *b = n->at; b != NULL; b = b->up) {
        b->n_gpus++;
    }
    return status;
}

/* The rate that the file leaves open: that of the device, where it is known. */
static double assume_nic(cs_nccl_found *n, const cs_xml *pci)
{
    const cs_known_nic *nic  = cs_nic_of_pci(id_of(pci, "vendor"), id_of(pci, "device"));
    uint32_t            i    = 0;
    bool                full = n->n_assumed_nics == CS_NCCL_MAX_NIC_KINDS;

    if (nic == NULL) {
        n->assumed_nic = true;
        return CS_ASSUMED_NIC_BPS;
    }
    while (i < n->n_assumed_nics && n->assumed_nics[i] != nic) {
        i++;
    }
    if (i == n->n_assumed_nics && !full) {
        n->assumed_nics[n->n_assumed_nics++] = nic;
    }
    return nic->wire_Bps;
}

static cs_status add_nic(cs_nccl_found *n, const cs_xml *pci, const cs_xml *net)
{
    cs_machine *m     = n->machine;
    cs_device  *d     = &m->nics[m->n_nics];
    long        speed = -1;
    const char *name  = net != NULL ? cs_xml_get(net, "name") : cs_xml_get(pci, "busid");
    cs_status   status;

    if (m->n_nics == CS_MACHINE_MAX_NICS) {
        return CS_XML_FAIL(n->err, n->input, pci, "more than %d NICs", CS_MACHINE_MAX_NICS);
    }
    if (net != NULL && (!cs_xml_number(net, "speed", -1, &speed) || speed == 0 || speed < -1)) {
        return CS_XML_FAIL(n->err, n->input, net,
                           "speed=\"%.40s\" is no rate: accepted are Mb/s above 0",
                           cs_xml_get(net, "speed"));
    }
    *d = (cs_device){.socket          = n->socket,
                     .pcie            = n->bridge,
                     .pcie_Bps        = CS_ASSUMED_PCIE_BPS,
                     .is_pcie_assumed = true,
                     .is_wire_assumed = speed < 0};
    (void)snprintf(d->name, sizeof d->name, "%.39s", name != NULL ? name : "net");
    status = strcmp(pci->name, "pci") == 0 ? pcie_rate(n, pci, &d->pcie_Bps, &d->is_pcie_assumed)
                                           : CS_OK;
    d->wire_Bps = speed > 0 ? (double)speed * 1e6 / 8 : assume_nic(n, pci);
    for (cs_nccl_bridge *b = n->at; b != NULL; b = b->up) {
        b->n_nics++;
    }
    n->nics_at[m->n_nics++] = n->at;
    return status;
}

static bool is_skipped(const char *name)
{
    static const char *const skipped[] = {"c2c", "pcilink", "gin", "coll"};

    for (size_t i = 0; i < sizeof skipped / sizeof skipped[0]; i++) {
        if (strcmp(name, skipped[i]) == 0) {
            return true;
        }
    }
    return false;
}

static cs_status refuse_element(const cs_nccl_found *n, const cs_xml *e)
{
    return CS_XML_FAIL(n->err, n->input, e,
                       "unknown element <%.40s> in <%.40s>: known are system, cpu, pci, gpu, "
                       "nvlink, xgmi, nic, net; skipped are c2c, pcilink, gin, coll",
                       e->name, e->parent != NULL ? e->parent->name : "the file");
}

/* The <net>s of a <nic>. */
static cs_status walk_nic(cs_nccl_found *n, const cs_xml *pci, const cs_xml *nic)
{
    cs_status status = CS_OK;

    for (const cs_xml *e = nic->child; e != NULL && status == CS_OK; e = e->next) {
        if (strcmp(e->name, "net") == 0) {
            status = add_nic(n, pci, e);
        } else if (!is_skipped(e->name)) {
            status = refuse_element(n, e);
        }
    }
    return status;
}

static unsigned long class_of(const cs_xml *pci)
{
    const char *text = cs_xml_get(pci, "class");
    return text != NULL ? strtoul(text, NULL, 16) >> 8 : 0;
}

static cs_status check_nvlinks(const cs_nccl_found *n, const cs_xml *gpu)
{
    cs_status status = CS_OK;

    for (const cs_xml *e = gpu->child; e != NULL && status == CS_OK; e = e->next) {
        if (strcmp(e->name, "nvlink") != 0 && strcmp(e->name, "xgmi") != 0 &&
            !is_skipped(e->name)) {
            status = refuse_element(n, e);
        }
    }
    return status;
}

/* A device without anything in it, as in files written by hand. */
static cs_status add_bare(cs_nccl_found *n, const cs_xml *pci)
{
    unsigned long class = class_of(pci);
    bool is_gpu =
        class == 0x0302 || class == 0x0300 ||
        ((class == 0x0380 || class == 0x1200) &&
         cs_gpu_of_pci(id_of(pci, "vendor"), id_of(pci, "device")) != NULL); /* as AMD's are */

    return is_gpu ? add_gpu(n, pci, NULL) : class >> 8 == 0x02 ? add_nic(n, pci, NULL) : CS_OK;
}

/* A bridge directly at a socket becomes a switch. */
static cs_status enter_bridge(cs_nccl_found *n, const cs_xml *pci)
{
    cs_machine     *m = n->machine;
    cs_nccl_bridge *b = CS_ARENA_NEW(n->arena, cs_nccl_bridge, 1);

    if (b == NULL) {
        return CS_FAIL(n->err, CS_ENOMEM, "", "out of memory for a topology");
    }
    *b    = (cs_nccl_bridge){.up = n->at, .number = ++n->n_bridges};
    n->at = b;
    if (n->bridge != CS_NO_SWITCH) {
        return CS_OK;
    }
    if (m->n_switches == MOST_SWITCHES) {
        return CS_XML_FAIL(n->err, n->input, pci, "more than %d bridges at CPUs", MOST_SWITCHES);
    }
    cs_pcie_switch *s = &m->switches[m->n_switches];
    s->socket         = n->socket;
    n->bridge         = m->n_switches++;
    return pcie_rate(n, pci, &s->uplink_Bps, &s->is_uplink_assumed);
}

static bool has_pci(const cs_xml *pci)
{
    bool has = false;

    for (const cs_xml *e = pci->child; e != NULL && !has; e = e->next) {
        has = strcmp(e->name, "pci") == 0;
    }
    return has;
}

static cs_status walk_pci(cs_nccl_found *n, const cs_xml *pci)
{
    uint32_t        outer  = n->bridge;
    cs_nccl_bridge *above  = n->at;
    cs_status       status = CS_OK;

    if (pci->child == NULL) {
        return add_bare(n, pci);
    }
    if (class_of(pci) == 0x0604 || has_pci(pci)) {
        status = enter_bridge(n, pci);
    }
    for (const cs_xml *e = pci->child; e != NULL && status == CS_OK; e = e->next) {
        if (strcmp(e->name, "pci") == 0) {
            status = walk_pci(n, e);
        } else if (strcmp(e->name, "gpu") == 0) {
            status = check_nvlinks(n, e);
            status = status == CS_OK ? add_gpu(n, pci, e) : status;
        } else if (strcmp(e->name, "nic") == 0) {
            status = walk_nic(n, pci, e);
        } else if (!is_skipped(e->name)) {
            status = refuse_element(n, e);
        }
    }
    n->bridge = outer;
    n->at     = above;
    return status;
}

/* NUMA nodes by their numbers; a number that comes back is the same socket. */
static cs_status enter_cpu(cs_nccl_found *n, const cs_xml *cpu)
{
    long id;

    if (!cs_xml_number(cpu, "numaid", -1, &id)) {
        return bad_number(n, cpu, "numaid");
    }
    for (n->socket = 0; n->socket < n->machine->n_sockets; n->socket++) {
        if (n->numa[n->socket] == id && id >= 0) {
            return CS_OK;
        }
    }
    if (n->socket == CS_MACHINE_MAX_GPUS) {
        return CS_XML_FAIL(n->err, n->input, cpu, "more than %d <cpu>s", CS_MACHINE_MAX_GPUS);
    }
    n->numa[n->machine->n_sockets++] = id;
    return CS_OK;
}

static cs_status walk_system(cs_nccl_found *n, const cs_xml *system)
{
    cs_status status = CS_OK;

    for (const cs_xml *cpu = system->child; cpu != NULL && status == CS_OK; cpu = cpu->next) {
        if (strcmp(cpu->name, "cpu") != 0) {
            return refuse_element(n, cpu);
        }
        status = enter_cpu(n, cpu);
        for (const cs_xml *e = cpu->child; e != NULL && status == CS_OK; e = e->next) {
            n->bridge = CS_NO_SWITCH;
            n->at     = NULL;
            if (strcmp(e->name, "pci") == 0) {
                status = walk_pci(n, e);
            } else if (strcmp(e->name, "nic") == 0) {
                status = walk_nic(n, e, e);
            } else if (!is_skipped(e->name)) {
                status = refuse_element(n, e);
            }
        }
    }
    return status;
}

/* By `dev`; those without come last, in the order of the file. */
static int compare_gpus(const void *left, const void *right)
{
    const cs_nccl_gpu *a = left, *b = right;
    unsigned long      x = (unsigned long)a->dev, y = (unsigned long)b->dev;

    if (x != y) {
        return x < y ? -1 : 1;
    }
    return (a->place > b->place) - (a->place < b->place);
}

/* The lowest bridge below a switch under which a device has company of the other kind; 0: none. */
static uint32_t shared_bridge(const cs_nccl_bridge *at, bool with_nics)
{
    while (at != NULL && at->up != NULL && (with_nics ? at->n_nics : at->n_gpus) == 0) {
        at = at->up;
    }
    return at != NULL && at->up != NULL ? at->number : 0;
}

static void place_devices(cs_nccl_found *n)
{
    cs_machine *m = n->machine;

    qsort(n->gpus, m->n_gpus, sizeof *n->gpus, compare_gpus);
    for (uint32_t i = 0; i < m->n_gpus; i++) {
        m->gpus[i]        = n->gpus[i].device;
        m->gpus[i].bridge = shared_bridge(n->gpus[i].at, true);
        (void)snprintf(m->gpus[i].name, sizeof m->gpus[i].name, "gpu%u", i);
    }
    for (uint32_t i = 0; i < m->n_nics; i++) {
        m->nics[i].bridge = shared_bridge(n->nics_at[i], false);
    }
}

static void add_notes(cs_nccl_found *n)
{
    static const char no_speed[] = "NICs without a speed";

    if (n->assumed_pcie) {
        cs_machine_assume(&n->notes, CS_RATE_PCIE, "PCIe links without a speed",
                          "31.5 GB/s PCIe (4.0 x16)");
    }
    for (uint32_t i = 0; i < n->n_assumed_nics; i++) {
        cs_machine_assume(&n->notes, CS_RATE_NIC, no_speed, "%.6g Gb/s a NIC (%s)",
                          n->assumed_nics[i]->wire_Bps * 8 / 1e9, n->assumed_nics[i]->name);
    }
    if (n->assumed_nic) {
        cs_machine_assume(&n->notes, CS_RATE_NIC, no_speed, "200 Gb/s a NIC%s",
                          n->n_assumed_nics > 0 ? " (others)" : "");
    }
    if (n->machine->n_sockets > 1) {
        cs_machine_assume(&n->notes, CS_RATE_SOCKETS, "the path between sockets has no rate",
                          "60 GB/s between sockets");
    }
    cs_text_add(&n->notes.text,
                "start-up times: assumed are NIC 3 us, NVLink 1 us, sockets 8 us\n");
}

static cs_status finish(cs_nccl_found *n)
{
    cs_status status = CS_OK;

    if (n->machine->n_gpus == 0) {
        return CS_FAIL(n->err, CS_EPARSE, n->input, "has no GPU");
    }
    place_devices(n);
    status = cs_nccl_read_nvlinks(n);
    if (status == CS_OK) {
        add_notes(n);
        status = cs_machine_note(n->machine, &n->notes, n->arena, n->err);
    }
    return status == CS_ENOMEM ? CS_FAIL(n->err, CS_ENOMEM, "", "out of memory for a topology")
                               : status;
}

cs_status cs_nccl_topology_read(const cs_xml *root, const char *input, cs_arena *arena,
                                cs_machine **machine_p, cs_error *err)
{
    cs_nccl_found n = {.input = input, .arena = arena, .err = err};
    cs_status     status;

    n.machine = cs_machine_new(arena, "NCCL topology", CS_MACHINE_MAX_GPUS, CS_MACHINE_MAX_NICS,
                               MOST_SWITCHES);
    n.gpus    = CS_ARENA_NEW(arena, cs_nccl_gpu, CS_MACHINE_MAX_GPUS);
    n.nics_at = CS_ARENA_NEW(arena, const cs_nccl_bridge *, CS_MACHINE_MAX_NICS);
    n.numa    = CS_ARENA_NEW(arena, long, CS_MACHINE_MAX_GPUS);
    if (n.machine == NULL || n.gpus == NULL || n.nics_at == NULL || n.numa == NULL) {
        return CS_FAIL(err, CS_ENOMEM, "", "out of memory for a topology");
    }
    status = walk_system(&n, root);
    if (status == CS_OK) {
        status = finish(&n);
    }
    cs_machine_notes_free(&n.notes);
    if (status == CS_OK) {
        *machine_p = n.machine;
    }
    return status;
}
