/* SPDX-License-Identifier: GPL-3.0-or-later */
/* NVLinks of NCCL's topology XML: see nccl_found.h. */
#include "config/nccl_found.h"

#include <stdlib.h>
#include <string.h>

/* Published rates of one NVLink and direction, and of all links of a GPU, by compute capability. */
static double link_rate_Bps(long sm)
{
    return sm >= 100 && sm < 110 ? 50e9 : sm >= 60 && sm < 70 ? 20e9 : CS_ASSUMED_NVLINK_BPS;
}

static double all_links_Bps(long sm)
{
    return sm < 0                   ? 450e9
           : sm == 60               ? 80e9
           : sm == 70               ? 150e9
           : sm == 80               ? 300e9
           : sm == 90               ? 450e9
           : sm == 100 || sm == 103 ? 900e9
                                    : 0;
}

static cs_status add_nvlink(cs_nccl_found *n, uint32_t from, const cs_xml *e, uint32_t *links,
                            uint32_t *to_switch)
{
    cs_machine *m      = n->machine;
    const char *target = cs_xml_get(e, "target"), *class = cs_xml_get(e, "tclass");
    long        count;

    if (!cs_xml_number(e, "count", 0, &count) || count < 1 || count > 1024 || target == NULL) {
        return CS_XML_FAIL(n->err, n->input, e,
                           "needs a target and a count from 1 to 1024, has count=\"%.20s\"",
                           cs_xml_get(e, "count") != NULL ? cs_xml_get(e, "count") : "");
    }
    if (class != NULL && strtoul(class, NULL, 16) >> 8 == 0x0680) {
        to_switch[from] += (uint32_t)count;
        return CS_OK;
    }
    for (uint32_t i = 0; i < m->n_gpus; i++) {
        const char *id = cs_xml_get(n->gpus[i].pci, "busid");
        if (id != NULL && strcmp(id, target) == 0 && i != from) {
            /* Either end may be the one that names the link. */
            uint32_t *there = &links[from * m->n_gpus + i], *back = &links[i * m->n_gpus + from];
            *there = (uint32_t)count > *there ? (uint32_t)count : *there;
            *back  = *there > *back ? *there : *back;
            return CS_OK;
        }
    }
    bool is_cpu = class != NULL && strtoul(class, NULL, 16) >> 16 == 0x06;
    if (is_cpu) {
        return CS_OK; /* to a POWER or Arm CPU */
    }
    return CS_XML_FAIL(n->err, n->input, e, "target \"%.40s\" is no GPU of the file", target);
}

cs_status cs_nccl_read_nvlinks(cs_nccl_found *n)
{
    cs_machine *m      = n->machine;
    uint32_t   *links  = CS_ARENA_NEW(n->arena, uint32_t, (size_t)m->n_gpus * m->n_gpus);
    uint32_t   *up     = CS_ARENA_NEW(n->arena, uint32_t, m->n_gpus);
    bool        any    = false;
    long        sm     = n->gpus[0].sm;
    cs_status   status = links == NULL || up == NULL ? CS_ENOMEM : CS_OK;

    for (uint32_t i = 0; i < m->n_gpus && status == CS_OK; i++) {
        const cs_xml *gpu = n->gpus[i].gpu;
        for (const cs_xml *e = gpu != NULL ? gpu->child : NULL; e != NULL; e = e->next) {
            if (status == CS_OK && strcmp(e->name, "nvlink") == 0) {
                any    = true;
                status = add_nvlink(n, i, e, links, up);
            }
        }
    }
    if (status != CS_OK) {
        return status;
    }
    if (up[0] > 0) {
        m->nvswitch_Bps = up[0] * link_rate_Bps(sm);
    } else if (any) {
        return cs_machine_set_nvlinks(m, links, link_rate_Bps(sm), n->arena);
    } else if (all_links_Bps(sm) > 0) {
        m->nvswitch_Bps = all_links_Bps(sm);
        cs_machine_assume(&n->notes, CS_RATE_NVLINK,
                          "no NVLinks in the file, which leaves them to NCCL",
                          "NVSwitches and %.0f GB/s a GPU", m->nvswitch_Bps / 1e9);
    }
    return CS_OK;
}
