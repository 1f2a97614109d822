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
 * empty or 0 is unknown, as it is to NCCL. */
static cs_status pcie_rate(cs_nccl_found *n, const cs_xml *pci, double *rate_Bps_p)
{
    const char *speed = cs_xml_get(pci, "link_speed");
    char       *end   = NULL;
    double      gts   = speed != NULL ? strtod(speed, &end) : 0;
    long        width;

    if (!cs_xml_number(pci, "link_width", 0, &width)) {
        return bad_number(n, pci, "link_width");
    }
    if (!(gts >= 0 && gts <= 1e4) || width < 0 || width > 1024 ||
        (end != NULL && *end != '\0' && (end == speed || strncmp(end, " GT/s", 5) != 0))) {
        return CS_XML_FAIL(n->err, n->input, pci,
                           "link_speed=\"%.40s\" link_width=\"%ld\" is no PCIe link: accepted is "
                           "like \"16.0 GT/s PCIe\" and 16",
                           speed != NULL ? speed : "", width);
    }
    bool is_known = gts > 0 && width > 0;
    n->assumed_pcie |= !is_known;
    *rate_Bps_p = is_known ? gts * 1e9 * (double)width / 8 * (gts < 8 ? 0.8 : 128. / 130)
                           : CS_ASSUMED_PCIE_BPS;
    return CS_OK;
}

static cs_status add_gpu(cs_nccl_found *n, const cs_xml *pci, const cs_xml *gpu)
{
    cs_machine *m = n->machine;
    cs_nccl_gpu g = {.pci = pci, .gpu = gpu, .dev = -1, .sm = -1};
    cs_status   status;

    if (m->n_gpus == CS_MACHINE_MAX_GPUS) {
        return CS_XML_FAIL(n->err, n->input, pci, "more than %d GPUs", CS_MACHINE_MAX_GPUS);
    }
    if (gpu != NULL &&
        (!cs_xml_number(gpu, "dev", -1, &g.dev) || !cs_xml_number(gpu, "sm", -1, &g.sm))) {
        return bad_number(n, gpu, "dev");
    }
    status               = pcie_rate(n, pci, &g.device.pcie_Bps);
    g.device.socket      = n->socket;
    g.device.pcie        = n->bridge;
    n->gpus[m->n_gpus++] = g;
    return status;
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
    *d = (cs_device){.socket = n->socket, .pcie = n->bridge, .pcie_Bps = CS_ASSUMED_PCIE_BPS};
    (void)snprintf(d->name, sizeof d->name, "%.39s", name != NULL ? name : "net");
    status      = strcmp(pci->name, "pci") == 0 ? pcie_rate(n, pci, &d->pcie_Bps) : CS_OK;
    d->wire_Bps = speed > 0 ? (double)speed * 1e6 / 8 : CS_ASSUMED_NIC_BPS;
    n->assumed_nic |= speed < 0;
    m->n_nics++;
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
                       "nvlink, nic, net; skipped are c2c, pcilink, gin, coll",
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
        if (strcmp(e->name, "nvlink") != 0 && !is_skipped(e->name)) {
            status = refuse_element(n, e);
        }
    }
    return status;
}

/* A device without anything in it, as in files written by hand. */
static cs_status add_bare(cs_nccl_found *n, const cs_xml *pci)
{
    unsigned long class = class_of(pci);

    if (class == 0x0302 || class == 0x0300) {
        return add_gpu(n, pci, NULL);
    }
    return class >> 8 == 0x02 ? add_nic(n, pci, NULL) : CS_OK;
}

/* A bridge directly at a socket becomes a switch. */
static cs_status enter_bridge(cs_nccl_found *n, const cs_xml *pci)
{
    cs_machine *m = n->machine;

    if (n->bridge != CS_NO_SWITCH) {
        return CS_OK;
    }
    m->switches[m->n_switches].socket = n->socket;
    n->bridge                         = m->n_switches;
    if (m->n_switches == MOST_SWITCHES) {
        return CS_XML_FAIL(n->err, n->input, pci, "more than %d bridges at CPUs", MOST_SWITCHES);
    }
    return pcie_rate(n, pci, &m->switches[m->n_switches++].uplink_Bps);
}

static cs_status walk_pci(cs_nccl_found *n, const cs_xml *pci)
{
    uint32_t  outer     = n->bridge;
    bool      is_bridge = class_of(pci) == 0x0604;
    cs_status status    = CS_OK;

    if (pci->child == NULL) {
        return add_bare(n, pci);
    }
    if (is_bridge) {
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

/* By `dev`; those without stay in the order of the file. */
static void sort_gpus(cs_nccl_found *n)
{
    cs_machine *m = n->machine;

    for (uint32_t i = 1; i < m->n_gpus; i++) {
        cs_nccl_gpu g = n->gpus[i];
        uint32_t    j = i;
        for (; j > 0 && g.dev >= 0 && n->gpus[j - 1].dev > g.dev; j--) {
            n->gpus[j] = n->gpus[j - 1];
        }
        n->gpus[j] = g;
    }
    for (uint32_t i = 0; i < m->n_gpus; i++) {
        m->gpus[i] = n->gpus[i].device;
        (void)snprintf(m->gpus[i].name, sizeof m->gpus[i].name, "gpu%u", i);
    }
}

static void add_notes(cs_nccl_found *n)
{
    if (n->assumed_pcie) {
        cs_machine_assume(&n->notes, CS_RATE_PCIE, "PCIe links without a speed",
                          "31.5 GB/s (4.0 x16)");
    }
    if (n->assumed_nic) {
        cs_machine_assume(&n->notes, CS_RATE_NIC, "NICs without a speed", "200 Gb/s");
    }
    if (n->machine->n_sockets > 1) {
        cs_machine_assume(&n->notes, CS_RATE_SOCKETS, "between sockets", "60 GB/s a direction");
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
    sort_gpus(n);
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
    n.numa    = CS_ARENA_NEW(arena, long, CS_MACHINE_MAX_GPUS);
    if (n.machine == NULL || n.gpus == NULL || n.numa == NULL) {
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
