/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Links between the GPUs of NCCL's and RCCL's topology XML: see nccl_found.h.
 *
 * What NCCL does with them is done here, too: a target of the class of a GPU is one of the GPUs or,
 * in a file of a job that had only some, none of them; the class 0x068001 is a bridge to a POWER
 * CPU; everything else is an NVSwitch, among which what a virtual machine cannot see
 * (fffffff:ffff:ff). A link of a GPU to itself, as Azure's file for its NCv4 has them, joins
 * nothing.
 */
#include "config/nccl_found.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* One xGMI link of a GPU that nobody knows. */
#define ASSUMED_XGMI_BPS 50e9

/* A GPU by its bus id. */
typedef struct entry {
    const char *id;
    uint32_t    gpu;
} entry;

typedef struct linking {
    cs_nccl_found *n;
    entry         *ids; /* sorted */
    uint32_t       n_ids;
    uint32_t      *links;     /* [n_gpus][n_gpus] */
    uint32_t      *to_switch; /* [n_gpus] */
    uint32_t       n_xgmi, n_nvlink, n_self, n_absent;
    const char    *absent; /* the first target that is not there */
} linking;

/* ---- bus ids ---- */

/* Skip what leads a number and count its digits. */
static size_t take_number(const char **id)
{
    size_t n = 0;

    *id += strspn(*id, "0:.");
    for (const char *p = *id; *p != '\0'; p++) {
        n += *p != ':' && *p != '.';
    }
    return n;
}

/* As hexadecimal numbers: 0A:00.0 is 0000:0a:00.0. */
static int compare_ids(const char *a, const char *b)
{
    size_t x = take_number(&a), y = take_number(&b);

    if (x != y) {
        return x < y ? -1 : 1;
    }
    for (; x > 0; x--, a++, b++) {
        a += strspn(a, ":.");
        b += strspn(b, ":.");
        int left = tolower((unsigned char)*a), right = tolower((unsigned char)*b);
        if (left != right) {
            return left < right ? -1 : 1;
        }
    }
    return 0;
}

static int compare_entries(const void *left, const void *right)
{
    const entry *a = left, *b = right;
    int          order = compare_ids(a->id, b->id);

    return order != 0 ? order : (a->gpu > b->gpu) - (a->gpu < b->gpu);
}

/* The first GPU of a bus id; UINT32_MAX: there is none. */
static uint32_t find_gpu(const linking *l, const char *id)
{
    uint32_t low = 0, high = l->n_ids;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (compare_ids(l->ids[middle].id, id) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < l->n_ids && compare_ids(l->ids[low].id, id) == 0 ? l->ids[low].gpu : UINT32_MAX;
}

static bool is_address(const char *target)
{
    return strchr(target, ':') != NULL &&
           target[strspn(target, "0123456789abcdefABCDEF:.")] == '\0';
}

/* ---- one link ---- */

static void join(linking *l, uint32_t from, uint32_t to, uint32_t count)
{
    /* Either end may be the one that names the link. */
    uint32_t *there = &l->links[from * l->n->machine->n_gpus + to];
    uint32_t *back  = &l->links[to * l->n->machine->n_gpus + from];

    *there = count > *there ? count : *there;
    *back  = *there > *back ? *there : *back;
}

static cs_status add_link(linking *l, uint32_t from, const cs_xml *e)
{
    const char   *target = cs_xml_get(e, "target"), *class = cs_xml_get(e, "tclass");
    unsigned long kind   = class != NULL ? strtoul(class, NULL, 16) : 0;
    bool          is_gpu = kind >> 16 == 0x03 || kind >> 16 == 0x12;
    long          count;

    if (!cs_xml_number(e, "count", 0, &count) || count < 1 || count > 1024 || target == NULL) {
        return CS_XML_FAIL(l->n->err, l->n->input, e,
                           "needs a target and a count from 1 to 1024, has count=\"%.20s\"",
                           cs_xml_get(e, "count") != NULL ? cs_xml_get(e, "count") : "");
    }
    *(strcmp(e->name, "xgmi") == 0 ? &l->n_xgmi : &l->n_nvlink) += 1;
    uint32_t to = is_gpu || kind == 0 ? find_gpu(l, target) : UINT32_MAX;
    if (to == from) {
        l->n_self++;
    } else if (to != UINT32_MAX) {
        join(l, from, to, (uint32_t)count);
    } else if ((is_gpu || kind == 0) && !is_address(target)) {
        return CS_XML_FAIL(l->n->err, l->n->input, e,
                           "target \"%.40s\" is neither a GPU of the file nor a PCI address",
                           target);
    } else if (is_gpu) {
        l->absent = l->n_absent++ == 0 ? target : l->absent;
    } else if (kind != 0x068001) {
        l->to_switch[from] += (uint32_t)count;
    }
    return CS_OK;
}

/* ---- all of them ---- */

static cs_status allocate(linking *l)
{
    cs_nccl_found *n    = l->n;
    size_t         gpus = n->machine->n_gpus;

    l->ids       = CS_ARENA_NEW(n->arena, entry, gpus);
    l->links     = CS_ARENA_NEW(n->arena, uint32_t, gpus * gpus);
    l->to_switch = CS_ARENA_NEW(n->arena, uint32_t, gpus);
    if (l->ids == NULL || l->links == NULL || l->to_switch == NULL) {
        return CS_ENOMEM;
    }
    for (uint32_t i = 0; i < gpus; i++) {
        const char *id = cs_xml_get(n->gpus[i].pci, "busid");
        if (id != NULL) {
            l->ids[l->n_ids++] = (entry){id, i};
        }
    }
    qsort(l->ids, l->n_ids, sizeof *l->ids, compare_entries);
    return CS_OK;
}

/* The rate of one link, and a note of it. */
static double link_Bps(const linking *l)
{
    const cs_nccl_gpu *gpu      = &l->n->gpus[0];
    bool               is_xgmi  = l->n_xgmi > 0;
    double             rate_Bps = gpu->kind != NULL ? gpu->kind->link_Bps
                                  : is_xgmi         ? ASSUMED_XGMI_BPS
                                                    : CS_ASSUMED_NVLINK_BPS;

    cs_machine_assume(&l->n->notes, CS_RATE_NVLINK, "the file has no rates of links between GPUs",
                      "%.6g GB/s %s (%s)", rate_Bps / 1e9, is_xgmi ? "an xGMI link" : "an NVLink",
                      gpu->kind != NULL ? gpu->kind->name : "GPUs of an unknown kind");
    return rate_Bps;
}

/* GPUs may have links to NVSwitches that do not work: the one with fewest sets the pace. */
static void use_switches(const linking *l, uint32_t least, uint32_t most)
{
    cs_machine *m = l->n->machine;

    m->nvswitch_Bps = least * link_Bps(l);
    if (least < most) {
        cs_text_add(&l->n->notes.text,
                    "GPUs have from %u to %u links to NVSwitches: the fewest count\n", least, most);
    }
}

/* What NCCL would find by itself. */
static void assume_switches(cs_nccl_found *n)
{
    static const char   none[]     = "no NVLinks in the file, which leaves them to NCCL";
    const cs_nccl_gpu  *gpu        = &n->gpus[0];
    const cs_known_gpu *kind       = gpu->kind;
    bool                is_unknown = kind == NULL && gpu->is_nvidia && gpu->sm < 0;

    if (kind != NULL && kind->all_Bps > 0) {
        n->machine->nvswitch_Bps = kind->all_Bps;
        cs_machine_assume(&n->notes, CS_RATE_NVLINK, none, "NVSwitches and %.0f GB/s a GPU (%s)",
                          kind->all_Bps / 1e9, kind->name);
    } else if (is_unknown) {
        n->machine->nvswitch_Bps = CS_ASSUMED_NVSWITCH_BPS;
        cs_machine_assume(&n->notes, CS_RATE_NVLINK, none,
                          "NVSwitches and %.0f GB/s a GPU (as of an H100, as the file does not say "
                          "which GPUs they are)",
                          CS_ASSUMED_NVSWITCH_BPS / 1e9);
    } else if (kind != NULL) {
        cs_text_add(&n->notes.text, "no links between GPUs in the file: for %s none are assumed\n",
                    kind->name);
    }
}

static void note_left_out(const linking *l)
{
    cs_text *text = &l->n->notes.text;

    if (l->n_self > 0) {
        cs_text_add(text, "links of a GPU to itself join nothing: %u left out\n", l->n_self);
    }
    if (l->n_absent > 0) {
        cs_text_add(text, "links to GPUs that the file does not have (%.40s): %u left out\n",
                    l->absent, l->n_absent);
    }
}

static cs_status use_links(const linking *l)
{
    cs_machine *m     = l->n->machine;
    uint32_t    least = UINT32_MAX, most = 0;
    bool        any = false;

    for (uint32_t i = 0; i < m->n_gpus; i++) {
        uint32_t up = l->to_switch[i];
        least       = up > 0 && up < least ? up : least;
        most        = up > most ? up : most;
    }
    for (size_t i = 0; i < (size_t)m->n_gpus * m->n_gpus && !any; i++) {
        any = l->links[i] > 0;
    }
    m->link_name = l->n_xgmi > 0 || !l->n->gpus[0].is_nvidia ? "xGMI" : m->link_name;
    if (most > 0) {
        use_switches(l, least, most);
    } else if (any) {
        return cs_machine_set_nvlinks(m, l->links, link_Bps(l), l->n_xgmi == 0, l->n->arena);
    } else if (l->n_xgmi + l->n_nvlink == 0) {
        assume_switches(l->n);
    }
    return CS_OK;
}

cs_status cs_nccl_read_nvlinks(cs_nccl_found *n)
{
    linking   l      = {.n = n};
    cs_status status = allocate(&l);

    for (uint32_t i = 0; i < n->machine->n_gpus && status == CS_OK; i++) {
        const cs_xml *gpu = n->gpus[i].gpu;
        for (const cs_xml *e = gpu != NULL ? gpu->child : NULL; e != NULL; e = e->next) {
            if (status == CS_OK &&
                (strcmp(e->name, "nvlink") == 0 || strcmp(e->name, "xgmi") == 0)) {
                status = add_link(&l, i, e);
            }
        }
    }
    if (status == CS_OK) {
        status = use_links(&l);
    }
    if (status == CS_OK) {
        note_left_out(&l);
    }
    return status;
}
