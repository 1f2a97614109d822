/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The matrix of `nvidia-smi topo -m` as people paste it: what stands around it, tabs and blanks,
 * empty and missing cells, NUMA ranges; and which NIC every GPU gets out of it. The texts are made
 * up, in the forms that public issue trackers show.
 */
#include "base/arena.h"
#include "base/text.h"
#include "support/config.h"
#include "support/folder.h"
#include "support/rng.h"
#include "topology/topology_file.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static cs_arena arena;

static const cs_machine *parse(const char *text)
{
    cs_topology_file file;
    cs_error         err = {0};

    cr_assert_eq(cs_topology_file_parse(text, strlen(text), "input", &arena, &file, &err), CS_OK,
                 "%d: %s %s\n%s", err.input_line, err.where, err.message, text);
    cr_assert_eq(file.format, CS_FORMAT_SMI);
    return file.site.machine;
}

/* The name of the only NIC of a GPU. */
static const char *nic_of(const cs_machine *m, uint32_t gpu)
{
    cs_nic_choice choice;

    cr_assert_eq(cs_machine_choose_nics(m, m->n_gpus, &arena, &choice), CS_OK);
    cr_assert_eq(choice.count[gpu], 1);
    return m->nics[choice.order[choice.first[gpu]]].name;
}

/* ---- 8 A100 and 4 NICs ---- */

/* Two GPUs and a NIC at every switch, two switches at a socket; the NICs' numbers do not follow
 * those of the GPUs. */
static const uint32_t near_nic[8] = {1, 1, 0, 0, 3, 3, 2, 2};

static const char *relation(uint32_t a, uint32_t b)
{
    bool     gpus = a < 8 && b < 8;
    uint32_t x = a < 8 ? near_nic[a] : a - 8, y = b < 8 ? near_nic[b] : b - 8;

    return a == b ? " X " : gpus ? "NV12" : x == y ? "PXB" : x / 2 == y / 2 ? "NODE" : "SYS";
}

/* `affinities` are the last cells of the rows of the GPUs on socket 0 and 1. */
static void write_a100(cs_text *text, const char *const affinities[2])
{
    for (uint32_t i = 0; i < 12; i++) {
        cs_text_add(text, i < 8 ? "\tGPU%u" : "\tmlx5_%u", i < 8 ? i : i - 8);
    }
    cs_text_add(text, "\tCPU Affinity\tNUMA Affinity\n");
    for (uint32_t i = 0; i < 12; i++) {
        cs_text_add(text, i < 8 ? "GPU%u" : "mlx5_%u", i < 8 ? i : i - 8);
        for (uint32_t j = 0; j < 12; j++) {
            cs_text_add(text, "\t%s", relation(i, j));
        }
        cs_text_add(text, "%s\n", i < 8 ? affinities[i / 4] : "\t\t");
    }
    cr_assert_not(text->failed);
}

static const char *const a100_affinities[][2] = {
    {"\t0-63\t0", "\t64-127\t1"},     /* as it should be */
    {"\t0-63\t0", "\t\t1"},           /* a job that may use the cores of one socket */
    {"\t0-127\t0-1", "\t0-127\t0-1"}, /* a virtual machine */
    {"\t\t", "\t\t"},
    {"\tN/A\tN/A", "\tN/A\tN/A"},
};

Test(smi_matrix, gpus_behind_nvswitches_have_the_nic_of_their_pcie_switch)
{
    for (size_t v = 0; v < sizeof a100_affinities / sizeof a100_affinities[0]; v++) {
        cs_text text = {0};
        write_a100(&text, a100_affinities[v]);
        const cs_machine *m = parse(text.data);
        cr_assert_eq(m->n_switches, 4, "%zu: %u", v, m->n_switches);
        cr_assert_eq(m->n_sockets, 2, "%zu: %u", v, m->n_sockets);
        cr_assert_float_eq(m->nvswitch_Bps, 300e9, 1);
        for (uint32_t i = 0; i < 8; i++) {
            char name[16];
            snprintf(name, sizeof name, "mlx5_%u", near_nic[i]);
            cr_assert_str_eq(nic_of(m, i), name, "%zu: GPU %u", v, i);
            cr_assert_eq(m->gpus[i].socket, i / 4);
            cr_assert_eq(m->gpus[i].pcie, i / 2);
        }
        cs_text_free(&text);
        cs_arena_free(&arena);
    }
}

/* An AllReduce of 1 GiB on two such servers: two GPUs to a NIC, not three. */
Test(smi_matrix, shared_nics_make_the_time)
{
    for (size_t v = 0; v < sizeof a100_affinities / sizeof a100_affinities[0]; v++) {
        char    folder[CT_FOLDER_BYTES], path[CT_FOLDER_BYTES + 16], quoted[CT_FOLDER_BYTES + 20];
        cs_text text      = {0};
        cs_config *config = NULL;
        ct_folder_make(folder);
        snprintf(path, sizeof path, "%s/topo.txt", folder);
        snprintf(quoted, sizeof quoted, "\"%s\"", path);
        write_a100(&text, a100_affinities[v]);
        ct_file_write(path, text.data);
        cr_assert_eq(cs_config_new(&config, NULL), CS_OK);
        ct_set(config, "cluster.topology", quoted);
        ct_set(config, "cluster.ranks", "16");
        ct_set(config, "algorithm.name", "nccl_rings");
        ct_set(config, "bytes", "1GiB");
        cs_case   c      = ct_case(config, 0);
        cs_result result = ct_result(&c);
        cr_assert_float_eq(result.elapsed_s, 20.2226592e-3, 1e-9, "%zu: %.9g s", v,
                           result.elapsed_s);
        cs_case_free(&c);
        cs_config_free(config);
        cs_text_free(&text);
        ct_folder_remove(folder);
    }
}

/* ---- what stands around it ---- */

#define TWO                                                         \
    "\tGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\n"             \
    "GPU0\t X \tNV4\tPIX\t0-15\t0\nGPU1\tNV4\t X \tSYS\t16-31\t1\n" \
    "NIC0\tPIX\tSYS\t X \t\t\n"

static const char *const around[] = {
    TWO,
    "\n\n" TWO "\nLegend:\n\n  X    = Self\n  NV#  = Connection traversing a bonded set of # "
    "NVLinks\n\nNIC Legend:\n\n  NIC0: mlx5_bond_0\n",
    "$ nvidia-smi topo -m\n" TWO "$ \n",
    "root@node17:~/runs# nvidia-smi topo -m\n" TWO,
    "[ann@c0301 ~]$ srun -N1 nvidia-smi topo -m | tee topo.txt\n" TWO,
    "Tue Mar  4 11:20:01 UTC 2025\n+---+\n| GPU0 is fine |\n+---+\n" TWO,
    "2025/03/04 11:20:01 c0301 nvidia-smi topo -m\n" TWO,
    "## Topology\n\n```\n" TWO "```\n\nGPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-0)\n",
    "GPU0 and GPU1 share a switch:\n" TWO,
    "GPU topology:\n" TWO "GPU0 is not used.\n",
    "<details><summary>topo -m</summary>\n\n" TWO "\n</details>\n",
    "\tGPU0\tGPU1\t\n GPU0\tX\tOK\t\n GPU1\tOK\tX\t\n\nLegend:\n  OK   = Status Ok\n\n" TWO,
    TWO "\n \tGPU0\tGPU1\t\n GPU0\tX\tGNS\t\n GPU1\tGNS\tX\t\n",
    "\t\033[4mGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\033[0m\r\nGPU0\t X "
    "\tNV4\tPIX\t0-15\t0\r\n"
    "GPU1\tNV4\t X \tSYS\t16-31\t1\r\nNIC0\tPIX\tSYS\t X \t\t\r\n",
    "- the topology:\n    ```\n        GPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\n"
    "    GPU0\t X \tNV4\tPIX\t0-15\t0\n    GPU1\tNV4\t X \tSYS\t16-31\t1\n    NIC0\tPIX\tSYS\t X\n",
    /* Blanks as a terminal prints tabs; squeezed; set by hand; the old word for SYS. */
    "        GPU0    GPU1    NIC0    CPU Affinity    NUMA Affinity\n"
    "GPU0     X      NV4     PIX     0-15    0\nGPU1    NV4      X      SYS     16-31   1\n"
    "NIC0    PIX     SYS      X              \n",
    "GPU0 GPU1 NIC0 CPU Affinity NUMA Affinity\nGPU0 X NV4 PIX 0-15 0\nGPU1 NV4 X SYS 16-31 1\n"
    "NIC0 PIX SYS X\n",
    "       GPU0  GPU1  NIC0   CPU Affinity  NUMA Affinity\n"
    "GPU0    X    NV4   PIX        0-15            0\nGPU1   NV4    X    SYS       16-31           "
    " 1\n"
    "NIC0   PIX   SYS    X\n",
    "\tGPU0\tGPU1\tNIC0\tCPU Affinity\nGPU0\t X \tNV4\tPIX\t0-15\nGPU1\tNV4\t X \tSOC\t16-31\n"
    "NIC0\tPIX\tSOC\t X \t\n",
};

Test(smi_matrix, is_found_in_a_pasted_text)
{
    for (size_t i = 0; i < sizeof around / sizeof around[0]; i++) {
        const cs_machine *m = parse(around[i]);
        cr_assert_eq(m->n_gpus, 2, "%s", around[i]);
        cr_assert_eq(m->n_nics, 1, "%s", around[i]);
        cr_assert_eq(m->n_sockets, 2, "%s", around[i]);
        cr_assert_eq(m->n_switches, 1, "%s", around[i]);
        cr_assert_eq(m->nics[0].pcie, m->gpus[0].pcie, "%s", around[i]);
        cr_assert_eq(m->gpus[1].pcie, CS_NO_SWITCH, "%s", around[i]);
        cr_assert_eq(m->gpus[1].socket, 1, "%s", around[i]);
        cr_assert_float_eq(m->nvlink_Bps[1], 100e9, 1);
        cr_assert_null(strstr(m->notes, "missing"), "%s", around[i]);
        cr_assert_not_null(
            strstr(m->notes, "the matrix has no rates: assumed are 25 GB/s an NVLink"));
        cs_arena_free(&arena);
    }
}

/* ---- random servers in every form of text ---- */

enum { MOST_GPUS = 8, MOST_NICS = 5, MOST = MOST_GPUS + MOST_NICS };

/* A server as it is. */
typedef struct truth {
    uint32_t n_gpus, n_nics, socket[MOST], pcie[MOST]; /* pcie: 0 is none */
    bool     has_nvlink, has_id;
    char     cpus[MOST][16], nodes[MOST][16];
} truth;

static truth random_server(ct_rng *rng)
{
    truth    t     = {.n_gpus     = 1 + ct_below(rng, MOST_GPUS),
                      .n_nics     = ct_below(rng, MOST_NICS + 1),
                      .has_nvlink = ct_below(rng, 2) == 0,
                      .has_id     = ct_below(rng, 2) == 0};
    uint32_t style = ct_below(rng, 3); /* of the NUMA column: one, a range, sometimes nothing */

    for (uint32_t i = 0; i < t.n_gpus + t.n_nics; i++) {
        t.socket[i] = ct_below(rng, 2);
        t.pcie[i]   = ct_below(rng, 3) == 0 ? 0 : 1 + 2 * t.socket[i] + ct_below(rng, 2);
    }
    for (uint32_t i = 0; i < t.n_gpus; i++) {
        bool has_cpus = ct_below(rng, 4) > 0, has_nodes = style < 2 || ct_below(rng, 3) > 0;
        snprintf(t.cpus[i], sizeof t.cpus[i], "%s",
                 !has_cpus          ? ""
                 : t.socket[i] == 0 ? "0-15,32-47"
                                    : "16-31");
        snprintf(t.nodes[i], sizeof t.nodes[i], "%s",
                 !has_nodes         ? ""
                 : style == 1       ? "0-1"
                 : t.socket[i] == 0 ? "0"
                                    : "1");
    }
    return t;
}

static const char *true_relation(const truth *t, uint32_t i, uint32_t j)
{
    if (i == j) {
        return " X ";
    }
    if (t->has_nvlink && i < t->n_gpus && j < t->n_gpus) {
        return "NV6";
    }
    return t->pcie[i] > 0 && t->pcie[i] == t->pcie[j] ? "PXB"
           : t->socket[i] == t->socket[j]             ? "NODE"
                                                      : "SYS";
}

static void add_name(const truth *t, uint32_t i, cs_text *text)
{
    cs_text_add(text, i < t->n_gpus ? "GPU%u" : "NIC%u", i < t->n_gpus ? i : i - t->n_gpus);
}

/* nvidia-smi prints a tab too many before the last cell; a person would not. */
static void write_tabs(const truth *t, const char *before_id, cs_text *text)
{
    uint32_t n = t->n_gpus + t->n_nics;

    for (uint32_t i = 0; i < n; i++) {
        cs_text_add(text, "\t");
        add_name(t, i, text);
    }
    cs_text_add(text, "\tCPU Affinity\tNUMA Affinity%s\n", t->has_id ? "\tGPU NUMA ID" : "");
    for (uint32_t i = 0; i < n; i++) {
        add_name(t, i, text);
        for (uint32_t j = 0; j < n; j++) {
            cs_text_add(text, "\t%s", true_relation(t, i, j));
        }
        if (i < t->n_gpus) {
            cs_text_add(text, "\t%s\t%s%s", t->cpus[i], t->nodes[i], t->has_id ? before_id : "");
        }
        cs_text_add(text, "\n");
    }
    cr_assert_not(text->failed);
}

/* Tabs as a terminal prints them, the whole text moved to the right. */
static void expand(const char *tabs, uint32_t indent, cs_text *text)
{
    for (uint32_t column = 0; *tabs != '\0'; tabs++) {
        if (column == 0) {
            cs_text_add(text, "%*s", (int)indent, "");
        }
        if (*tabs == '\n') {
            cs_text_add(text, "\n");
            column = 0;
        } else if (*tabs == '\t') {
            uint32_t blanks = 8 - column % 8;
            cs_text_add(text, "%*s", (int)blanks, "");
            column += blanks;
        } else {
            cs_text_add_bytes(text, tabs, 1);
            column++;
        }
    }
    cr_assert_not(text->failed);
}

/* Columns of 14, each cell in the middle of its own. */
static void write_by_hand(const char *tabs, cs_text *text)
{
    cs_text_add(text, "%s", "");
    while (*tabs != '\0') {
        size_t length = strcspn(tabs, "\t\n");
        size_t before = length < 13 ? (14 - length) / 2 : 0;
        cs_text_add(text, "%*s", (int)before, "");
        cs_text_add_bytes(text, tabs, length);
        cs_text_add(text, "%*s", (int)(length < 13 ? 14 - length - before : 1), "");
        if (tabs[length] == '\n') {
            cs_text_add(text, "\n");
        }
        tabs += length + (tabs[length] != '\0');
    }
    cr_assert_not(text->failed);
}

static void check_same(const cs_machine *a, const cs_machine *b, const char *text)
{
    cr_assert_eq(a->n_gpus, b->n_gpus, "%s", text);
    cr_assert_eq(a->n_nics, b->n_nics, "%s", text);
    cr_assert_eq(a->n_sockets, b->n_sockets, "%s", text);
    for (uint32_t i = 0; i < a->n_gpus + a->n_nics; i++) {
        const cs_device *x = i < a->n_gpus ? &a->gpus[i] : &a->nics[i - a->n_gpus];
        const cs_device *y = i < a->n_gpus ? &b->gpus[i] : &b->nics[i - a->n_gpus];
        cr_assert_str_eq(x->name, y->name, "%s", text);
        cr_assert_eq(x->socket, y->socket, "%s", text);
        cr_assert_eq(x->pcie, y->pcie, "%s", text);
    }
    cr_assert_str_eq(a->notes, b->notes, "%s", text);
}

/* Whatever the matrix says of two devices is in the machine. */
static void check_true(const truth *t, const cs_machine *m, const char *text)
{
    for (uint32_t i = 0; i < t->n_gpus + t->n_nics; i++) {
        const cs_device *x = i < t->n_gpus ? &m->gpus[i] : &m->nics[i - t->n_gpus];
        for (uint32_t j = 0; j < i; j++) {
            const cs_device *y      = j < t->n_gpus ? &m->gpus[j] : &m->nics[j - t->n_gpus];
            const char      *cell   = true_relation(t, i, j);
            bool             at_one = x->pcie != CS_NO_SWITCH && x->pcie == y->pcie;
            bool known = t->nodes[i][0] != '\0' && t->nodes[j][0] != '\0' && t->nodes[i][1] == '\0';
            cr_assert(strcmp(cell, "PXB") != 0 || at_one, "%u %u\n%s", i, j, text);
            cr_assert(!at_one || t->pcie[i] == t->pcie[j], "%u %u\n%s", i, j, text);
            cr_assert(strcmp(cell, "SYS") != 0 || x->socket != y->socket, "%u %u\n%s", i, j, text);
            cr_assert(strcmp(cell, "NODE") != 0 || x->socket == y->socket, "%u %u\n%s", i, j, text);
            cr_assert(!known || (x->socket == y->socket) == (t->socket[i] == t->socket[j]),
                      "%u %u\n%s", i, j, text);
        }
    }
}

Test(smi_matrix, says_the_same_in_every_form)
{
    ct_rng rng = ct_rng_for(11);

    for (int round = 0; round < 500; round++) {
        truth   t    = random_server(&rng);
        cs_text tabs = {0}, aligned = {0}, blanks = {0}, by_hand = {0};
        write_tabs(&t, "\t\tN/A", &tabs);
        write_tabs(&t, "\tN/A", &aligned);
        expand(tabs.data, 4 * ct_below(&rng, 3), &blanks);
        write_by_hand(aligned.data, &by_hand);
        const cs_machine *m = parse(tabs.data);
        check_true(&t, m, tabs.data);
        check_same(m, parse(blanks.data), blanks.data);
        check_same(m, parse(by_hand.data), by_hand.data);
        cs_text_free(&tabs);
        cs_text_free(&aligned);
        cs_text_free(&blanks);
        cs_text_free(&by_hand);
        cs_arena_free(&arena);
    }
}

/* ---- cells that are missing ---- */

/* Squeezed to single blanks, nothing tells whether the CPUs or the NUMA node is missing. */
Test(smi_matrix, says_what_cannot_be_told_apart)
{
    const cs_machine *m = parse("GPU0 GPU1 GPU2 CPU Affinity NUMA Affinity GPU NUMA ID\n"
                                "GPU0 X NV12 NV12 0-31 0 N/A\nGPU1 NV12 X NV12 1 N/A\n"
                                "GPU2 NV12 NV12 X 1 N/A\n");

    cr_assert_not_null(strstr(m->notes, "GPU1 and others: cells of the affinities are missing"),
                       "%s", m->notes);
    cs_arena_free(&arena);
}

/* Lists as servers with NUMA nodes of GPU memory have them. */
Test(smi_matrix, numa_lists)
{
    const cs_machine *m = parse(
        "        GPU0    GPU1    GPU2    GPU3    NIC0    CPU Affinity    NUMA Affinity   GPU NUMA "
        "ID\n"
        "GPU0     X      NV18    NV18    NV18    NODE    0-71    0,2-9           2\n"
        "GPU1    NV18     X      NV18    NV18    NODE    0-71    0,2-9           10\n"
        "GPU2    NV18    NV18     X      NV18    SYS     72-143  1,18-25         18\n"
        "GPU3    NV18    NV18    NV18     X      SYS     72-143  1,18-25         26\n"
        "NIC0    NODE    NODE    SYS     SYS      X \n");

    cr_assert_eq(m->n_sockets, 2);
    cr_assert_eq(m->gpus[1].socket, 0);
    cr_assert_eq(m->gpus[2].socket, 1);
    cr_assert_eq(m->gpus[3].socket, 1);
    cr_assert_eq(m->nics[0].socket, 0);
    cs_arena_free(&arena);
}

/* Ranges of a virtual machine are no reason for a socket each, and none against SYS. */
Test(smi_matrix, numa_ranges)
{
    const cs_machine *one = parse("\tGPU0\tGPU1\tGPU2\tNUMA Affinity\nGPU0\t X \tNV12\tNV12\t0-1\n"
                                  "GPU1\tNV12\t X \tNV12\t0-1\nGPU2\tNV12\tNV12\t X \t0-1\n");
    cr_assert_eq(one->n_sockets, 1);
    const cs_machine *two = parse("\tGPU0\tGPU1\tGPU2\tNUMA Affinity\nGPU0\t X \tNODE\tSYS\t0-1\n"
                                  "GPU1\tNODE\t X \tSYS\t0-1\nGPU2\tSYS\tSYS\t X \t0-1\n");
    cr_assert_eq(two->n_sockets, 2);
    cr_assert_eq(two->gpus[1].socket, 0);
    cs_arena_free(&arena);
}

/* A relation that the driver does not tell joins nothing and keeps nothing apart. */
Test(smi_matrix, relations_that_are_not_known)
{
    const cs_machine *m = parse("\tGPU0\tGPU1\tNIC0\tNUMA Affinity\nGPU0\t X \tN/A\tPHB\t0\n"
                                "GPU1\tN/A\t X \tSYS\t1\nNIC0\tPHB\tSYS\t X \t\n");

    cr_assert_null(m->nvlink_Bps);
    cr_assert_eq(m->n_switches, 0);
    cr_assert_eq(m->gpus[1].socket, 1);
    cr_assert_eq(m->nics[0].socket, 0);
    cs_arena_free(&arena);
}

/* PIX within PXB: the NIC at the GPU's own switch is nearer. */
Test(smi_matrix, a_switch_of_its_own_is_nearer)
{
    const cs_machine *m = parse("\tGPU0\tGPU1\tNIC0\tNIC1\nGPU0\t X \tNV6\tPXB\tPIX\n"
                                "GPU1\tNV6\t X \tPIX\tPXB\nNIC0\tPXB\tPIX\t X \tPXB\n"
                                "NIC1\tPIX\tPXB\tPXB\t X \n");

    cr_assert_eq(m->n_switches, 1);
    cr_assert_str_eq(nic_of(m, 0), "NIC1");
    cr_assert_str_eq(nic_of(m, 1), "NIC0");
    cs_arena_free(&arena);
}
