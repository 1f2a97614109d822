/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One walk over the tree collects the devices, then the NVLinks are resolved by the bus ids of
 * their targets as NCCL does it: a target of the class of a GPU is one of the GPUs or, in a file of
 * a job that had only some, none of them; the class 0x068001 is a bridge to a POWER CPU; everything
 * else is an NVSwitch, among which what a virtual machine cannot see (fffffff:ffff:ff). A link of a
 * GPU to itself, as Azure's file for its NCv4 has them, joins nothing.
 *
 * Rates of devices, of a direction. Names: the PCI ID repository (pci-ids.ucw.cz). NVIDIA's data
 * sheets of P100, V100, A100, A800, H100, H800, H200 and B200, of which half is a direction's;
 * AMD's of Instinct MI50, MI100, MI250X, MI300X and MI350X: 92, 92, 100, 128 and 153.6 GB/s a link,
 * both directions together (RCCL reckons with 24, 36 and 48 GB/s in use on MI100, MI200 and MI300).
 * NICs: the rate of a port in the vendors' data sheets; EFA: Amazon EC2's P4d and P5.
 */
#include "topology/topology_file.h"

#include "topology/machine_build.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- devices whose rates are published ---- */

typedef struct known_gpu {
    const char *name;     /* "A100" */
    double      link_Bps; /* one NVLink or xGMI link */
    double      all_Bps;  /* all links of a GPU behind NVSwitches; 0: it has no such port */
} known_gpu;

typedef struct known_nic {
    const char *name; /* "ConnectX-7" */
    double      wire_Bps;
} known_nic;

#define COUNT(list) (sizeof(list) / sizeof(list)[0])

#define NVIDIA   0x10de
#define AMD      0x1002
#define MELLANOX 0x15b3
#define AMAZON   0x1d0f
#define BROADCOM 0x14e4
#define HPE      0x17db

/* X(id, name, rate of a link, rate of all links behind NVSwitches) */
#define GPU_MAP(X)                                \
    X(P100, "P100", 20e9, 80e9)                   \
    X(P100_PCIE, "P100 PCIe", 20e9, 0)            \
    X(V100, "V100", 25e9, 150e9)                  \
    X(V100_PCIE, "V100 PCIe", 25e9, 0)            \
    X(A100, "A100", 25e9, 300e9)                  \
    X(A100_PCIE, "A100 PCIe", 25e9, 0)            \
    X(A30, "A30", 25e9, 0)                        \
    X(A800, "A800", 25e9, 200e9)                  \
    X(A800_PCIE, "A800 PCIe", 25e9, 0)            \
    X(GA102, "A40 or A6000", 14.0625e9, 0)        \
    X(H100, "H100", 25e9, 450e9)                  \
    X(H100_PCIE, "H100 PCIe", 25e9, 0)            \
    X(H800, "H800", 25e9, 200e9)                  \
    X(H800_PCIE, "H800 PCIe", 25e9, 0)            \
    X(H20, "H20", 25e9, 450e9)                    \
    X(H200, "H200", 25e9, 450e9)                  \
    X(H200_NVL, "H200 NVL", 25e9, 0)              \
    X(GH200, "GH200", 25e9, 450e9)                \
    X(B200, "B200", 50e9, 900e9)                  \
    X(B300, "B300", 50e9, 900e9)                  \
    X(NO_NVLINK, "a GPU without NVLink", 25e9, 0) \
    X(MI50, "MI50", 46e9, 0)                      \
    X(MI100, "MI100", 46e9, 0)                    \
    X(MI200, "MI200", 50e9, 0)                    \
    X(MI300, "MI300", 64e9, 0)                    \
    X(MI350, "MI350", 76.8e9, 0)

enum {
#define X(id, name, link_Bps, all_Bps) id,
    GPU_MAP(X)
#undef X
};

static const known_gpu known_gpus[] = {
#define X(id, name, link_Bps, all_Bps) {name, link_Bps, all_Bps},
    GPU_MAP(X)
#undef X
};

static const struct {
    long vendor, device;
    int  gpu;
} gpu_rows[] = {
    {NVIDIA, 0x15f7, P100_PCIE}, {NVIDIA, 0x15f8, P100_PCIE}, {NVIDIA, 0x15f9, P100},
    {NVIDIA, 0x1db1, V100},      {NVIDIA, 0x1db3, V100_PCIE}, {NVIDIA, 0x1db4, V100_PCIE},
    {NVIDIA, 0x1db5, V100},      {NVIDIA, 0x1db6, V100_PCIE}, {NVIDIA, 0x1db8, V100},
    {NVIDIA, 0x1df5, V100},      {NVIDIA, 0x1df6, V100_PCIE}, {NVIDIA, 0x1eb8, NO_NVLINK}, /* T4 */
    {NVIDIA, 0x20b0, A100},      {NVIDIA, 0x20b1, A100_PCIE}, {NVIDIA, 0x20b2, A100},
    {NVIDIA, 0x20b3, A100},      {NVIDIA, 0x20b5, A100_PCIE}, {NVIDIA, 0x20b7, A30},
    {NVIDIA, 0x20bd, A800},      {NVIDIA, 0x20f1, A100_PCIE}, {NVIDIA, 0x20f3, A800},
    {NVIDIA, 0x20f5, A800_PCIE}, {NVIDIA, 0x20f6, A800_PCIE}, {NVIDIA, 0x2230, GA102},
    {NVIDIA, 0x2235, GA102},     {NVIDIA, 0x2236, NO_NVLINK}, /* A10 */
    {NVIDIA, 0x2237, NO_NVLINK},                              /* A10G */
    {NVIDIA, 0x2321, H100_PCIE}, {NVIDIA, 0x2322, H800_PCIE}, {NVIDIA, 0x2324, H800},
    {NVIDIA, 0x2328, H20},       {NVIDIA, 0x2329, H20},       {NVIDIA, 0x232c, H20},
    {NVIDIA, 0x2330, H100},      {NVIDIA, 0x2331, H100_PCIE}, {NVIDIA, 0x2335, H200},
    {NVIDIA, 0x2337, H100},      {NVIDIA, 0x2338, H100},      {NVIDIA, 0x2339, H100},
    {NVIDIA, 0x233b, H200_NVL},  {NVIDIA, 0x2342, GH200},     {NVIDIA, 0x2348, GH200},
    {NVIDIA, 0x26b1, NO_NVLINK}, /* RTX 6000 Ada */
    {NVIDIA, 0x26b5, NO_NVLINK}, /* L40 */
    {NVIDIA, 0x26b9, NO_NVLINK}, /* L40S */
    {NVIDIA, 0x27b8, NO_NVLINK}, /* L4 */
    {NVIDIA, 0x2901, B200},      {NVIDIA, 0x2909, B200},      {NVIDIA, 0x2941, B200},
    {NVIDIA, 0x3182, B300},      {NVIDIA, 0x31a1, B300},      {NVIDIA, 0x31c2, B300},
    {NVIDIA, 0x31c3, B300},      {AMD, 0x66a0, MI50},         {AMD, 0x66a1, MI50},
    {AMD, 0x7388, MI100},        {AMD, 0x738c, MI100},        {AMD, 0x738e, MI100},
    {AMD, 0x7408, MI200},        {AMD, 0x740c, MI200},        {AMD, 0x740f, MI200},
    {AMD, 0x74a0, MI300},        {AMD, 0x74a1, MI300},        {AMD, 0x74a2, MI300},
    {AMD, 0x74a5, MI300},        {AMD, 0x74a9, MI300},        {AMD, 0x74b5, MI300},
    {AMD, 0x74b9, MI300},        {AMD, 0x74bd, MI300},        {AMD, 0x75a0, MI350},
    {AMD, 0x75a3, MI350},
};

/* Physical and virtual functions. */
static const struct {
    long      vendor, device;
    known_nic nic;
} nic_rows[] = {
    {MELLANOX, 0x1013, {"ConnectX-4", 12.5e9}},
    {MELLANOX, 0x1014, {"ConnectX-4", 12.5e9}},
    {MELLANOX, 0x1017, {"ConnectX-5", 12.5e9}},
    {MELLANOX, 0x1018, {"ConnectX-5", 12.5e9}},
    {MELLANOX, 0x1019, {"ConnectX-5 Ex", 12.5e9}},
    {MELLANOX, 0x101a, {"ConnectX-5 Ex", 12.5e9}},
    {MELLANOX, 0x101b, {"ConnectX-6", 25e9}},
    {MELLANOX, 0x101c, {"ConnectX-6", 25e9}},
    {MELLANOX, 0x101d, {"ConnectX-6 Dx", 12.5e9}},
    {MELLANOX, 0x1021, {"ConnectX-7", 50e9}},
    {MELLANOX, 0x1023, {"ConnectX-8", 100e9}},
    {MELLANOX, 0xa2d2, {"BlueField", 12.5e9}},
    {MELLANOX, 0xa2d6, {"BlueField-2", 12.5e9}},
    {MELLANOX, 0xa2dc, {"BlueField-3", 50e9}},
    {AMAZON, 0xefa0, {"EFA", 12.5e9}},
    {AMAZON, 0xefa1, {"EFA", 12.5e9}},
    {BROADCOM, 0x1750, {"BCM57508", 25e9}},
    {BROADCOM, 0x1760, {"BCM57608", 50e9}},
    {HPE, 0x0501, {"Slingshot", 25e9}},
    {HPE, 0x0371, {"Slingshot 400", 50e9}},
};

static bool is_device(long vendor, long device, long of_vendor, long of_device)
{
    return device == of_device && (vendor == of_vendor || vendor < 0);
}

/* By PCI vendor and device, either -1 where the file does not have it; NULL: unknown. */
static const known_gpu *gpu_of_pci(long vendor, long device)
{
    for (size_t i = 0; i < COUNT(gpu_rows); i++) {
        if (is_device(vendor, device, gpu_rows[i].vendor, gpu_rows[i].device)) {
            return &known_gpus[gpu_rows[i].gpu];
        }
    }
    return NULL;
}

static const known_nic *nic_of_pci(long vendor, long device)
{
    for (size_t i = 0; i < COUNT(nic_rows); i++) {
        if (is_device(vendor, device, nic_rows[i].vendor, nic_rows[i].device)) {
            return &nic_rows[i].nic;
        }
    }
    return NULL;
}

/* By the compute capability of an NVIDIA GPU: 80 is 8.0. */
static const known_gpu *gpu_of_capability(long sm)
{
    switch (sm) {
    case 60: return &known_gpus[P100];
    case 70: return &known_gpus[V100];
    case 80: return &known_gpus[A100];
    case 86: return &known_gpus[GA102];
    case 90: return &known_gpus[H100];
    case 100: return &known_gpus[B200];
    case 103: return &known_gpus[B300];
    default: return NULL;
    }
}

/* By the architecture of an AMD GPU, in RCCL's forms: "gfx942", "gfx90a:sramecc+", "908". */
static const known_gpu *gpu_of_gcn(const char *gcn)
{
    static const struct {
        const char *form, *number;
        int         gpu;
    } rows[] = {{"gfx906", "906", MI50},  {"gfx908", "908", MI100}, {"gfx90a", "910", MI200},
                {"gfx940", "940", MI300}, {"gfx941", "941", MI300}, {"gfx942", "942", MI300},
                {"gfx950", "950", MI350}};

    for (size_t i = 0; i < COUNT(rows); i++) {
        if (strncmp(gcn, rows[i].form, strlen(rows[i].form)) == 0 ||
            strcmp(gcn, rows[i].number) == 0) {
            return &known_gpus[rows[i].gpu];
        }
    }
    return NULL;
}

/* ---- what the walk has found so far ---- */

enum { MOST_NIC_KINDS = 16 };

/* A PCIe bridge, the devices below it counted. */
typedef struct bridge {
    struct bridge *up; /* NULL: it is at a CPU, and a switch of the machine */
    uint32_t       number, n_gpus, n_nics;
} bridge;

typedef struct found_gpu {
    const cs_xml    *pci, *gpu; /* gpu: NULL where there is no such element */
    const known_gpu *kind;      /* NULL: unknown */
    bool             is_nvidia; /* as far as the file tells */
    cs_device        device;
    const bridge    *at;
    long             dev, sm; /* -1: unknown; sm is no capability where is_nvidia is false */
    uint32_t         place;   /* in the file */
} found_gpu;

typedef struct walk {
    const char      *input;
    cs_arena        *arena;
    cs_error        *err;
    cs_machine      *machine;
    found_gpu       *gpus;
    const bridge   **nics_at;        /* the bridges of the NICs */
    uint32_t         socket, bridge; /* where the walk is */
    bridge          *at;
    uint32_t         n_bridges;
    long            *numa; /* ids of the sockets */
    cs_machine_notes notes;
    bool             assumed_pcie, assumed_nic;
    const known_nic *assumed_nics[MOST_NIC_KINDS]; /* by their devices */
    uint32_t         n_assumed_nics;
} walk;

/* ---- links between the GPUs ---- */

/* One xGMI link of a GPU that nobody knows. */
#define ASSUMED_XGMI_BPS 50e9

/* A GPU by its bus id. */
typedef struct entry {
    const char *id;
    uint32_t    gpu;
} entry;

typedef struct linking {
    walk       *walk;
    entry      *ids; /* sorted */
    uint32_t    n_ids;
    uint32_t   *links;     /* [n_gpus][n_gpus] */
    uint32_t   *to_switch; /* [n_gpus] */
    uint32_t    n_xgmi, n_nvlink, n_self, n_absent;
    const char *absent; /* the first target that is not there */
} linking;

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

static void join(linking *l, uint32_t from, uint32_t to, uint32_t count)
{
    /* Either end may be the one that names the link. */
    uint32_t *there = &l->links[from * l->walk->machine->n_gpus + to];
    uint32_t *back  = &l->links[to * l->walk->machine->n_gpus + from];

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
        return CS_XML_FAIL(l->walk->err, l->walk->input, e,
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
        return CS_XML_FAIL(l->walk->err, l->walk->input, e,
                           "target \"%.40s\" is neither a GPU of the file nor a PCI address",
                           target);
    } else if (is_gpu) {
        l->absent = l->n_absent++ == 0 ? target : l->absent;
    } else if (kind != 0x068001) {
        l->to_switch[from] += (uint32_t)count;
    }
    return CS_OK;
}

static cs_status allocate(linking *l)
{
    walk  *w    = l->walk;
    size_t gpus = w->machine->n_gpus;

    l->ids       = CS_ARENA_NEW(w->arena, entry, gpus);
    l->links     = CS_ARENA_NEW(w->arena, uint32_t, gpus * gpus);
    l->to_switch = CS_ARENA_NEW(w->arena, uint32_t, gpus);
    if (l->ids == NULL || l->links == NULL || l->to_switch == NULL) {
        return CS_ENOMEM;
    }
    for (uint32_t i = 0; i < gpus; i++) {
        const char *id = cs_xml_get(w->gpus[i].pci, "busid");
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
    const found_gpu *gpu      = &l->walk->gpus[0];
    bool             is_xgmi  = l->n_xgmi > 0;
    double           rate_Bps = gpu->kind != NULL ? gpu->kind->link_Bps
                                : is_xgmi         ? ASSUMED_XGMI_BPS
                                                  : CS_ASSUMED_NVLINK_BPS;

    cs_machine_assume(&l->walk->notes, CS_RATE_NVLINK,
                      "the file has no rates of links between GPUs", "%.6g GB/s %s (%s)",
                      rate_Bps / 1e9, is_xgmi ? "an xGMI link" : "an NVLink",
                      gpu->kind != NULL ? gpu->kind->name : "GPUs of an unknown kind");
    return rate_Bps;
}

/* GPUs may have links to NVSwitches that do not work: the one with fewest sets the pace. */
static void use_switches(const linking *l, uint32_t least, uint32_t most)
{
    cs_machine *m = l->walk->machine;

    m->nvswitch_Bps = least * link_Bps(l);
    if (least < most) {
        cs_text_add(&l->walk->notes.text,
                    "GPUs have from %u to %u links to NVSwitches: the fewest count\n", least, most);
    }
}

/* What NCCL would find by itself. */
static void assume_switches(walk *w)
{
    static const char none[]     = "no NVLinks in the file, which leaves them to NCCL";
    const found_gpu  *gpu        = &w->gpus[0];
    const known_gpu  *kind       = gpu->kind;
    bool              is_unknown = kind == NULL && gpu->is_nvidia && gpu->sm < 0;

    if (kind != NULL && kind->all_Bps > 0) {
        w->machine->nvswitch_Bps = kind->all_Bps;
        cs_machine_assume(&w->notes, CS_RATE_NVLINK, none, "NVSwitches and %.0f GB/s a GPU (%s)",
                          kind->all_Bps / 1e9, kind->name);
    } else if (is_unknown) {
        w->machine->nvswitch_Bps = CS_ASSUMED_NVSWITCH_BPS;
        cs_machine_assume(&w->notes, CS_RATE_NVLINK, none,
                          "NVSwitches and %.0f GB/s a GPU (as of an H100, as the file does not say "
                          "which GPUs they are)",
                          CS_ASSUMED_NVSWITCH_BPS / 1e9);
    } else if (kind != NULL) {
        cs_text_add(&w->notes.text, "no links between GPUs in the file: for %s none are assumed\n",
                    kind->name);
    }
}

static void note_left_out(const linking *l)
{
    cs_text *text = &l->walk->notes.text;

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
    cs_machine *m     = l->walk->machine;
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
    m->link_name = l->n_xgmi > 0 || !l->walk->gpus[0].is_nvidia ? "xGMI" : m->link_name;
    if (most > 0) {
        use_switches(l, least, most);
    } else if (any) {
        return cs_machine_set_nvlinks(m, l->links, link_Bps(l), l->n_xgmi == 0, l->walk->arena);
    } else if (l->n_xgmi + l->n_nvlink == 0) {
        assume_switches(l->walk);
    }
    return CS_OK;
}

/* When all GPUs are there: the NVLinks or xGMI links between them and to NVSwitches, by the bus ids
 * of their targets; where the file has none, those of the GPUs' kind, with a note.
 * O((links + GPUs) log GPUs + GPUs^2). CS_ENOMEM comes without a message. */
static cs_status read_nvlinks(walk *w)
{
    linking l = {.walk = w};

    CS_TRY(allocate(&l));
    for (uint32_t i = 0; i < w->machine->n_gpus; i++) {
        const cs_xml *gpu = w->gpus[i].gpu;
        for (const cs_xml *e = gpu != NULL ? gpu->child : NULL; e != NULL; e = e->next) {
            if (strcmp(e->name, "nvlink") == 0 || strcmp(e->name, "xgmi") == 0) {
                CS_TRY(add_link(&l, i, e));
            }
        }
    }
    CS_TRY(use_links(&l));
    note_left_out(&l);
    return CS_OK;
}

/* ---- the walk ---- */

#define MOST_SWITCHES 1024

static cs_status bad_number(const walk *w, const cs_xml *e, const char *name)
{
    return CS_XML_FAIL(w->err, w->input, e, "%s=\"%.40s\" is not accepted: a whole number is", name,
                       cs_xml_get(e, name));
}

/* Rate of a PCIe link: GT/s times lanes, without what the code takes. A speed or width that is
 * empty or 0 is unknown, as it is to NCCL; so is what Linux says of a link that it does not know:
 * "Unknown", and 255 lanes. */
static cs_status pcie_rate(walk *w, const cs_xml *pci, double *rate_Bps_p, bool *is_assumed_p)
{
    const char *speed = cs_xml_get(pci, "link_speed");
    char       *end   = NULL;
    double      gts   = speed != NULL ? strtod(speed, &end) : 0;
    bool        says  = speed == NULL || strncmp(speed, "Unknown", 7) != 0;
    long        width;

    if (!cs_xml_number(pci, "link_width", 0, &width)) {
        return bad_number(w, pci, "link_width");
    }
    if (!(gts >= 0 && gts <= 1e4) || width < 0 || width > 1024 ||
        (says && end != NULL && *end != '\0' && (end == speed || strncmp(end, " GT/s", 5) != 0))) {
        return CS_XML_FAIL(w->err, w->input, pci,
                           "link_speed=\"%.40s\" link_width=\"%ld\" is no PCIe link: accepted is "
                           "like \"16.0 GT/s PCIe\" and 16",
                           speed != NULL ? speed : "", width);
    }
    bool is_known = gts > 0 && width > 0 && width != 255;
    w->assumed_pcie |= !is_known;
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
static void identify(found_gpu *g)
{
    long        vendor = id_of(g->pci, "vendor"), device = id_of(g->pci, "device");
    const char *gcn = g->gpu != NULL ? cs_xml_get(g->gpu, "gcn") : NULL;

    g->is_nvidia = gcn == NULL && (vendor == 0x10de || vendor < 0);
    g->kind      = device >= 0 ? gpu_of_pci(vendor, device) : NULL;
    if (g->kind == NULL && gcn != NULL) {
        g->kind = gpu_of_gcn(gcn);
    } else if (g->kind == NULL && g->is_nvidia) {
        g->kind = gpu_of_capability(g->sm);
    }
}

static cs_status add_gpu(walk *w, const cs_xml *pci, const cs_xml *gpu)
{
    cs_machine *m = w->machine;
    found_gpu   g = {.pci = pci, .gpu = gpu, .dev = -1, .sm = -1, .place = m->n_gpus, .at = w->at};
    cs_status   status;

    if (m->n_gpus == CS_MACHINE_MAX_GPUS) {
        return CS_XML_FAIL(w->err, w->input, pci, "more than %d GPUs", CS_MACHINE_MAX_GPUS);
    }
    if (gpu != NULL &&
        (!cs_xml_number(gpu, "dev", -1, &g.dev) || !cs_xml_number(gpu, "sm", -1, &g.sm))) {
        return bad_number(w, gpu, "dev");
    }
    identify(&g);
    status               = pcie_rate(w, pci, &g.device.pcie_Bps, &g.device.is_pcie_assumed);
    g.device.socket      = w->socket;
    g.device.pcie        = w->bridge;
    w->gpus[m->n_gpus++] = g;
    for (bridge *b = w->at; b != NULL; b = b->up) {
        b->n_gpus++;
    }
    return status;
}

/* The rate that the file leaves open: that of the device, where it is known. */
static double assume_nic(walk *w, const cs_xml *pci)
{
    const known_nic *nic  = nic_of_pci(id_of(pci, "vendor"), id_of(pci, "device"));
    uint32_t         i    = 0;
    bool             full = w->n_assumed_nics == MOST_NIC_KINDS;

    if (nic == NULL) {
        w->assumed_nic = true;
        return CS_ASSUMED_NIC_BPS;
    }
    while (i < w->n_assumed_nics && w->assumed_nics[i] != nic) {
        i++;
    }
    if (i == w->n_assumed_nics && !full) {
        w->assumed_nics[w->n_assumed_nics++] = nic;
    }
    return nic->wire_Bps;
}

static cs_status add_nic(walk *w, const cs_xml *pci, const cs_xml *net)
{
    cs_machine *m     = w->machine;
    cs_device  *d     = &m->nics[m->n_nics];
    long        speed = -1;
    const char *name  = net != NULL ? cs_xml_get(net, "name") : cs_xml_get(pci, "busid");
    cs_status   status;

    if (m->n_nics == CS_MACHINE_MAX_NICS) {
        return CS_XML_FAIL(w->err, w->input, pci, "more than %d NICs", CS_MACHINE_MAX_NICS);
    }
    if (net != NULL && (!cs_xml_number(net, "speed", -1, &speed) || speed == 0 || speed < -1)) {
        return CS_XML_FAIL(w->err, w->input, net,
                           "speed=\"%.40s\" is no rate: accepted are Mb/s above 0",
                           cs_xml_get(net, "speed"));
    }
    *d = (cs_device){.socket          = w->socket,
                     .pcie            = w->bridge,
                     .pcie_Bps        = CS_ASSUMED_PCIE_BPS,
                     .is_pcie_assumed = true,
                     .is_wire_assumed = speed < 0};
    (void)snprintf(d->name, sizeof d->name, "%.39s", name != NULL ? name : "net");
    status = strcmp(pci->name, "pci") == 0 ? pcie_rate(w, pci, &d->pcie_Bps, &d->is_pcie_assumed)
                                           : CS_OK;
    d->wire_Bps = speed > 0 ? (double)speed * 1e6 / 8 : assume_nic(w, pci);
    for (bridge *b = w->at; b != NULL; b = b->up) {
        b->n_nics++;
    }
    w->nics_at[m->n_nics++] = w->at;
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

static cs_status refuse_element(const walk *w, const cs_xml *e)
{
    return CS_XML_FAIL(w->err, w->input, e,
                       "unknown element <%.40s> in <%.40s>: known are system, cpu, pci, gpu, "
                       "nvlink, xgmi, nic, net; skipped are c2c, pcilink, gin, coll",
                       e->name, e->parent != NULL ? e->parent->name : "the file");
}

/* The <net>s of a <nic>. */
static cs_status walk_nic(walk *w, const cs_xml *pci, const cs_xml *nic)
{
    for (const cs_xml *e = nic->child; e != NULL; e = e->next) {
        if (strcmp(e->name, "net") == 0) {
            CS_TRY(add_nic(w, pci, e));
        } else if (!is_skipped(e->name)) {
            return refuse_element(w, e);
        }
    }
    return CS_OK;
}

static unsigned long class_of(const cs_xml *pci)
{
    const char *text = cs_xml_get(pci, "class");
    return text != NULL ? strtoul(text, NULL, 16) >> 8 : 0;
}

static cs_status check_nvlinks(const walk *w, const cs_xml *gpu)
{
    for (const cs_xml *e = gpu->child; e != NULL; e = e->next) {
        if (strcmp(e->name, "nvlink") != 0 && strcmp(e->name, "xgmi") != 0 &&
            !is_skipped(e->name)) {
            return refuse_element(w, e);
        }
    }
    return CS_OK;
}

/* A device without anything in it, as in files written by hand. */
static cs_status add_bare(walk *w, const cs_xml *pci)
{
    unsigned long class = class_of(pci);
    bool is_gpu =
        class == 0x0302 || class == 0x0300 ||
        ((class == 0x0380 || class == 0x1200) &&
         gpu_of_pci(id_of(pci, "vendor"), id_of(pci, "device")) != NULL); /* as AMD's are */

    return is_gpu ? add_gpu(w, pci, NULL) : class >> 8 == 0x02 ? add_nic(w, pci, NULL) : CS_OK;
}

/* A bridge directly at a socket becomes a switch. */
static cs_status enter_bridge(walk *w, const cs_xml *pci)
{
    cs_machine *m = w->machine;
    bridge     *b = CS_ARENA_NEW(w->arena, bridge, 1);

    if (b == NULL) {
        return CS_NO_MEMORY(w->err, "a topology");
    }
    *b    = (bridge){.up = w->at, .number = ++w->n_bridges};
    w->at = b;
    if (w->bridge != CS_NO_SWITCH) {
        return CS_OK;
    }
    if (m->n_switches == MOST_SWITCHES) {
        return CS_XML_FAIL(w->err, w->input, pci, "more than %d bridges at CPUs", MOST_SWITCHES);
    }
    cs_pcie_switch *s = &m->switches[m->n_switches];
    s->socket         = w->socket;
    w->bridge         = m->n_switches++;
    return pcie_rate(w, pci, &s->uplink_Bps, &s->is_uplink_assumed);
}

static bool has_pci(const cs_xml *pci)
{
    bool has = false;

    for (const cs_xml *e = pci->child; e != NULL && !has; e = e->next) {
        has = strcmp(e->name, "pci") == 0;
    }
    return has;
}

static cs_status walk_pci(walk *w, const cs_xml *pci)
{
    uint32_t outer = w->bridge;
    bridge  *above = w->at;

    if (pci->child == NULL) {
        return add_bare(w, pci);
    }
    if (class_of(pci) == 0x0604 || has_pci(pci)) {
        CS_TRY(enter_bridge(w, pci));
    }
    for (const cs_xml *e = pci->child; e != NULL; e = e->next) {
        if (strcmp(e->name, "pci") == 0) {
            CS_TRY(walk_pci(w, e));
        } else if (strcmp(e->name, "gpu") == 0) {
            CS_TRY(check_nvlinks(w, e));
            CS_TRY(add_gpu(w, pci, e));
        } else if (strcmp(e->name, "nic") == 0) {
            CS_TRY(walk_nic(w, pci, e));
        } else if (!is_skipped(e->name)) {
            return refuse_element(w, e);
        }
    }
    w->bridge = outer;
    w->at     = above;
    return CS_OK;
}

/* NUMA nodes by their numbers; a number that comes back is the same socket. */
static cs_status enter_cpu(walk *w, const cs_xml *cpu)
{
    long id;

    if (!cs_xml_number(cpu, "numaid", -1, &id)) {
        return bad_number(w, cpu, "numaid");
    }
    for (w->socket = 0; w->socket < w->machine->n_sockets; w->socket++) {
        if (w->numa[w->socket] == id && id >= 0) {
            return CS_OK;
        }
    }
    if (w->socket == CS_MACHINE_MAX_GPUS) {
        return CS_XML_FAIL(w->err, w->input, cpu, "more than %d <cpu>s", CS_MACHINE_MAX_GPUS);
    }
    w->numa[w->machine->n_sockets++] = id;
    return CS_OK;
}

static cs_status walk_system(walk *w, const cs_xml *system)
{
    for (const cs_xml *cpu = system->child; cpu != NULL; cpu = cpu->next) {
        if (strcmp(cpu->name, "cpu") != 0) {
            return refuse_element(w, cpu);
        }
        CS_TRY(enter_cpu(w, cpu));
        for (const cs_xml *e = cpu->child; e != NULL; e = e->next) {
            w->bridge = CS_NO_SWITCH;
            w->at     = NULL;
            if (strcmp(e->name, "pci") == 0) {
                CS_TRY(walk_pci(w, e));
            } else if (strcmp(e->name, "nic") == 0) {
                CS_TRY(walk_nic(w, e, e));
            } else if (!is_skipped(e->name)) {
                return refuse_element(w, e);
            }
        }
    }
    return CS_OK;
}

/* By `dev`; those without come last, in the order of the file. */
static int compare_gpus(const void *left, const void *right)
{
    const found_gpu *a = left, *b = right;
    unsigned long    x = (unsigned long)a->dev, y = (unsigned long)b->dev;

    if (x != y) {
        return x < y ? -1 : 1;
    }
    return (a->place > b->place) - (a->place < b->place);
}

/* The lowest bridge below a switch under which a device has company of the other kind; 0: none. */
static uint32_t shared_bridge(const bridge *at, bool with_nics)
{
    while (at != NULL && at->up != NULL && (with_nics ? at->n_nics : at->n_gpus) == 0) {
        at = at->up;
    }
    return at != NULL && at->up != NULL ? at->number : 0;
}

static void place_devices(walk *w)
{
    cs_machine *m = w->machine;

    qsort(w->gpus, m->n_gpus, sizeof *w->gpus, compare_gpus);
    for (uint32_t i = 0; i < m->n_gpus; i++) {
        m->gpus[i]        = w->gpus[i].device;
        m->gpus[i].bridge = shared_bridge(w->gpus[i].at, true);
        (void)snprintf(m->gpus[i].name, sizeof m->gpus[i].name, "gpu%u", i);
    }
    for (uint32_t i = 0; i < m->n_nics; i++) {
        m->nics[i].bridge = shared_bridge(w->nics_at[i], false);
    }
}

static void add_notes(walk *w)
{
    static const char no_speed[] = "NICs without a speed";

    if (w->assumed_pcie) {
        cs_machine_assume(&w->notes, CS_RATE_PCIE, "PCIe links without a speed",
                          "31.5 GB/s PCIe (4.0 x16)");
    }
    for (uint32_t i = 0; i < w->n_assumed_nics; i++) {
        cs_machine_assume(&w->notes, CS_RATE_NIC, no_speed, "%.6g Gb/s a NIC (%s)",
                          w->assumed_nics[i]->wire_Bps * 8 / 1e9, w->assumed_nics[i]->name);
    }
    if (w->assumed_nic) {
        cs_machine_assume(&w->notes, CS_RATE_NIC, no_speed, "200 Gb/s a NIC%s",
                          w->n_assumed_nics > 0 ? " (others)" : "");
    }
    if (w->machine->n_sockets > 1) {
        cs_machine_assume(&w->notes, CS_RATE_SOCKETS, "the path between sockets has no rate",
                          "60 GB/s between sockets");
    }
    cs_text_add(&w->notes.text,
                "start-up times: assumed are NIC 3 us, NVLink 1 us, sockets 8 us\n");
}

static cs_status place_and_link(walk *w)
{
    place_devices(w);
    CS_TRY(read_nvlinks(w));
    add_notes(w);
    return cs_machine_note(w->machine, &w->notes, w->arena, w->err);
}

static cs_status finish(walk *w)
{
    if (w->machine->n_gpus == 0) {
        return CS_FAIL(w->err, CS_EPARSE, w->input, "has no GPU");
    }
    cs_status status = place_and_link(w);
    return status == CS_ENOMEM ? CS_NO_MEMORY(w->err, "a topology") : status;
}

cs_status cs_nccl_topology_read(const cs_xml *root, const char *input, cs_arena *arena,
                                cs_machine **machine_p, cs_error *err)
{
    walk      w = {.input = input, .arena = arena, .err = err};
    cs_status status;

    w.machine = cs_machine_new(arena, "NCCL topology", CS_MACHINE_MAX_GPUS, CS_MACHINE_MAX_NICS,
                               MOST_SWITCHES);
    w.gpus    = CS_ARENA_NEW(arena, found_gpu, CS_MACHINE_MAX_GPUS);
    w.nics_at = CS_ARENA_NEW(arena, const bridge *, CS_MACHINE_MAX_NICS);
    w.numa    = CS_ARENA_NEW(arena, long, CS_MACHINE_MAX_GPUS);
    if (w.machine == NULL || w.gpus == NULL || w.nics_at == NULL || w.numa == NULL) {
        return CS_NO_MEMORY(err, "a topology");
    }
    status = walk_system(&w, root);
    if (status == CS_OK) {
        status = finish(&w);
    }
    cs_machine_notes_free(&w.notes);
    if (status == CS_OK) {
        *machine_p = w.machine;
    }
    return status;
}
