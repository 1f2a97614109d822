/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The matrix of `nvidia-smi topo -m`.
 *
 * Cells are separated by tabs, or by runs of two blanks or more where the text has no tab. Columns
 * and rows of GPUs (GPU0 ..) and NICs, then columns of affinities, of which "NUMA Affinity" is
 * used. NV#: so many NVLinks; PIX, PXB: the same PCIe switch; PHB, NODE: the same socket; SYS:
 * another. Rates stand nowhere in it: they are assumed and noted. What follows the first empty line
 * after the matrix (the legend) is not read.
 */
#include "config/machine_build.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEVICES = 256, MAX_CELLS = MAX_DEVICES + 16, CELL_BYTES = 40 };

enum { SYS = 100, NODE, PHB, PXB, PIX, SELF }; /* below: NVLinks */

typedef struct matrix {
    const char *input;
    cs_error   *err;
    bool        has_tabs;
    char        cells[MAX_CELLS][CELL_BYTES]; /* of the current line */
    uint32_t    n_cells;
    char        names[MAX_DEVICES][CELL_BYTES];
    uint32_t    n_devices, n_gpus, n_rows;
    uint32_t    numa_column; /* cell of a row; 0: none */
    uint8_t     relation[MAX_DEVICES][MAX_DEVICES];
    long        numa[MAX_DEVICES]; /* -1: unknown */
    int         line;
} matrix;

static cs_status fail(const matrix *m, const char *what, const char *cell)
{
    cs_status status = CS_FAIL(m->err, CS_EPARSE, "topo -m", "%s '%.39s'", what, cell);
    cs_error_locate(m->err, m->input, m->line, 0);
    return status;
}

/* The end of the cell at `p`. */
static const char *cell_end(const matrix *m, const char *p)
{
    while (*p != '\0' && *p != '\n' && *p != '\t' &&
           (m->has_tabs || !(isspace((unsigned char)p[0]) && isspace((unsigned char)p[1])))) {
        p++;
    }
    return p;
}

/* Keep a cell without blanks around it, and without terminal codes inside. */
static bool keep_cell(matrix *m, const char *from, const char *to)
{
    char    *out = m->cells[m->n_cells];
    uint32_t n   = 0;

    while (from < to) {
        if (*from == '\033') {
            while (from < to && !isalpha((unsigned char)*from)) {
                from++;
            }
            from += from < to;
        } else if ((n > 0 || !isspace((unsigned char)*from)) && n + 1 < CELL_BYTES) {
            out[n++] = *from++;
        } else {
            from++;
        }
    }
    while (n > 0 && isspace((unsigned char)out[n - 1])) {
        n--;
    }
    out[n] = '\0';
    return n > 0;
}

/* Cut a line into its cells; returns the next line. */
static const char *cut_line(matrix *m, const char *p)
{
    m->n_cells = 0;
    m->line++;
    while (*p != '\0' && *p != '\n') {
        const char *end = cell_end(m, p);
        if (m->n_cells < MAX_CELLS && keep_cell(m, p, end)) {
            m->n_cells++;
        }
        p = *end == '\t' ? end + 1 : end;
        while (!m->has_tabs && *p != '\n' && isspace((unsigned char)*p)) {
            p++;
        }
    }
    return *p == '\n' ? p + 1 : p;
}

static bool is_gpu(const char *name)
{
    return strncmp(name, "GPU", 3) == 0 && isdigit((unsigned char)name[3]);
}

static bool is_affinity(const char *name)
{
    return strstr(name, "ffinity") != NULL || strstr(name, "NUMA") != NULL;
}

static cs_status read_header(matrix *m)
{
    for (uint32_t i = 0; i < m->n_cells; i++) {
        if (is_affinity(m->cells[i])) {
            m->numa_column = strcmp(m->cells[i], "NUMA Affinity") == 0 ? i + 1 : m->numa_column;
            continue;
        }
        if (m->n_devices == MAX_DEVICES || m->n_devices != i) {
            return fail(m, "unexpected column", m->cells[i]);
        }
        if (is_gpu(m->cells[i]) && m->n_gpus != i) {
            return fail(m, "GPUs must stand first, not", m->cells[i]);
        }
        m->n_gpus += is_gpu(m->cells[i]);
        memcpy(m->names[m->n_devices++], m->cells[i], CELL_BYTES);
    }
    return m->n_gpus == 0 ? fail(m, "no column is a GPU, the first is", m->cells[0]) : CS_OK;
}

static cs_status read_relation(matrix *m, uint32_t row, uint32_t column, const char *cell)
{
    static const char *const words[] = {"SYS", "NODE", "PHB", "PXB", "PIX", "X"};
    uint8_t                 *out     = &m->relation[row][column];
    char                    *end;

    if (strncmp(cell, "NV", 2) == 0 && isdigit((unsigned char)cell[2])) {
        long links = strtol(cell + 2, &end, 10);
        *out       = (uint8_t)links;
        bool is_ok = *end == '\0' && links >= 1 && links < SYS && row < m->n_gpus &&
                     column < m->n_gpus && row != column;
        return is_ok ? CS_OK : fail(m, "no NVLinks:", cell);
    }
    for (uint32_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(cell, words[i]) == 0 && (i + SYS == SELF) == (row == column)) {
            *out = (uint8_t)(SYS + i);
            return CS_OK;
        }
    }
    return fail(m, "accepted are NV#, PIX, PXB, PHB, NODE, SYS, and X on the diagonal, not", cell);
}

static cs_status read_row(matrix *m)
{
    uint32_t  row    = m->n_rows;
    cs_status status = CS_OK;
    char     *end;

    if (row >= m->n_devices || strcmp(m->cells[0], m->names[row]) != 0) {
        return fail(m, "this row is not the column's of the same place:", m->cells[0]);
    }
    if (m->n_cells < m->n_devices + 1) {
        return fail(m, "too few cells in the row of", m->cells[0]);
    }
    for (uint32_t i = 0; i < m->n_devices && status == CS_OK; i++) {
        status = read_relation(m, row, i, m->cells[i + 1]);
    }
    m->numa[row] = -1;
    if (m->numa_column > 0 && m->n_cells > m->numa_column) {
        long numa    = strtol(m->cells[m->numa_column], &end, 10);
        m->numa[row] = end != m->cells[m->numa_column] && *end == '\0' && numa >= 0 ? numa : -1;
    }
    m->n_rows++;
    return status;
}

static cs_status read_lines(matrix *m, const char *text)
{
    const char *p      = text;
    cs_status   status = CS_OK;

    m->has_tabs = strchr(text, '\t') != NULL;
    while (*p != '\0' && status == CS_OK && (m->n_devices == 0 || m->n_rows < m->n_devices)) {
        p = cut_line(m, p);
        if (m->n_cells > 0) {
            status = m->n_devices == 0 ? read_header(m) : read_row(m);
        }
    }
    if (status == CS_OK && (m->n_devices == 0 || m->n_rows < m->n_devices)) {
        status = fail(m, "the matrix ends before the row of",
                      m->n_devices == 0 ? "GPU0" : m->names[m->n_rows]);
    }
    for (uint32_t i = 0; i < m->n_devices && status == CS_OK; i++) {
        for (uint32_t j = 0; j < i && status == CS_OK; j++) {
            if (m->relation[i][j] != m->relation[j][i]) {
                status = fail(m, "one relation one way and another one back:", m->names[i]);
            }
        }
    }
    return status;
}

/* The first device before `i` that is at least so near to it; or `i`. */
static uint32_t first_near(const matrix *m, uint32_t i, uint8_t relation)
{
    for (uint32_t j = 0; j < i; j++) {
        if (m->relation[i][j] >= relation && m->relation[i][j] < SELF) {
            return j;
        }
    }
    return i;
}

/* The same NUMA node, where both are known; else nearer than SYS. */
static bool same_socket(const matrix *m, uint32_t i, uint32_t j)
{
    if (m->numa[i] >= 0 && m->numa[j] >= 0) {
        return m->numa[i] == m->numa[j];
    }
    return m->relation[i][j] > SYS;
}

static void place(const matrix *m, cs_machine *machine, cs_device **devices)
{
    for (uint32_t i = 0; i < m->n_devices; i++) {
        uint32_t near = first_near(m, i, PXB), j = 0;

        while (j < i && !same_socket(m, i, j)) {
            j++;
        }
        devices[i]->socket = j < i ? devices[j]->socket : machine->n_sockets++;
        if (near < i && devices[near]->pcie == CS_NO_SWITCH) {
            devices[near]->pcie = machine->n_switches;
            machine->switches[machine->n_switches++] =
                (cs_pcie_switch){devices[near]->socket, CS_ASSUMED_PCIE_BPS};
        }
        devices[i]->pcie = near < i ? devices[near]->pcie : CS_NO_SWITCH;
        if (near < i) {
            devices[i]->socket = devices[near]->socket;
        }
    }
}

static cs_status fill(const matrix *m, cs_machine *machine, cs_arena *arena)
{
    cs_device *devices[MAX_DEVICES];
    uint32_t  *links = CS_ARENA_NEW(arena, uint32_t, (size_t)m->n_gpus * m->n_gpus);

    if (links == NULL) {
        return CS_ENOMEM;
    }
    for (uint32_t i = 0; i < m->n_devices; i++) {
        bool gpu    = i < m->n_gpus;
        devices[i]  = gpu ? &machine->gpus[i] : &machine->nics[i - m->n_gpus];
        *devices[i] = (cs_device){.pcie     = CS_NO_SWITCH,
                                  .pcie_Bps = CS_ASSUMED_PCIE_BPS,
                                  .wire_Bps = gpu ? 0 : CS_ASSUMED_NIC_BPS};
        memcpy(devices[i]->name, m->names[i], CELL_BYTES);
    }
    machine->n_gpus = m->n_gpus;
    machine->n_nics = m->n_devices - m->n_gpus;
    place(m, machine, devices);
    for (uint32_t i = 0; i < m->n_gpus * m->n_gpus; i++) {
        uint8_t relation = m->relation[i / m->n_gpus][i % m->n_gpus];
        links[i]         = relation < SYS ? relation : 0;
    }
    return cs_machine_set_nvlinks(machine, links, CS_ASSUMED_NVLINK_BPS, arena);
}

cs_status cs_smi_parse(const char *text, const char *input, cs_arena *arena, cs_machine **machine_p,
                       cs_error *err)
{
    matrix     *m = CS_ARENA_NEW(arena, matrix, 1);
    cs_machine *machine =
        cs_machine_new(arena, "nvidia-smi topo -m", MAX_DEVICES, MAX_DEVICES, MAX_DEVICES);
    cs_text   notes = {0};
    cs_status status;

    if (m == NULL || machine == NULL) {
        return CS_FAIL(err, CS_ENOMEM, "", "out of memory for a topology");
    }
    m->input = input;
    m->err   = err;
    status   = read_lines(m, text);
    if (status != CS_OK) {
        return status;
    }
    if (fill(m, machine, arena) != CS_OK) {
        return CS_FAIL(err, CS_ENOMEM, "", "out of memory for a topology");
    }
    cs_text_add(&notes, "the matrix has no rates: assumed are 25 GB/s an NVLink, 31.5 GB/s PCIe "
                        "(4.0 x16), 200 Gb/s a NIC, 60 GB/s between sockets\n"
                        "start-up times: assumed are NIC 3 us, NVLink 1 us, sockets 8 us\n");
    status = cs_machine_note(machine, &notes, arena, err);
    cs_text_free(&notes);
    *machine_p = machine;
    return status;
}
