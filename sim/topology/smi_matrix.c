/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The matrix of `nvidia-smi topo -m`, with whatever stands around it in a pasted text: a prompt, a
 * date, headings, fences, the legend.
 *
 * It begins where a line has the names of devices (GPU0 ..) and the next one that is not empty is
 * the first device's row, "GPU0 X ..". Cells are words: GPUs (GPU0 ..) stand before NICs. NV#: so
 * many NVLinks; PIX: the same PCIe switch; PXB: the same one above others; PHB, NODE: the same NUMA
 * node; SYS (once SOC): another; N/A: unknown.
 *
 * Affinities may be empty cells. Tabs say which ones are. Blanks do where they stand for tabs of
 * eight columns, as a terminal prints them, or where cells are below their headings. Where cells
 * are missing and nothing of this tells which, the row's affinities count as unknown, with a note.
 *
 * NV# hides how two GPUs are connected over PCIe. So devices share a switch that are joined by PIX
 * and PXB, also by way of others, above all of NICs. Who shares a socket is found in this order:
 * the same switch; the same single NUMA node; PHB or NODE, unless the NUMA nodes differ; the same
 * affinity otherwise, and at last everything that nothing keeps apart (SYS, other NUMA nodes, other
 * CPUs). A range of NUMA nodes, as in a virtual machine, says less than one node does.
 *
 * Rates stand nowhere in it: they are assumed and noted.
 */
#include "topology/machine_build.h"

#include "base/random.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_DEVICES = 256,
    MAX_WORDS   = MAX_DEVICES + 32,
    NAME_BYTES  = CS_MACHINE_NAME_BYTES,
    TAB_COLUMNS = 8,
    NODE_WORDS  = 4, /* of 64 NUMA nodes each */
};

enum { UNKNOWN = 0, SYS = 100, NODE, PHB, PXB, PIX, SELF }; /* between: NVLinks */

typedef enum heading { CPU_AFFINITY, NUMA_AFFINITY, GPU_NUMA_ID, HEADINGS } heading;

static const char *const heading_words[HEADINGS] = {"CPU Affinity", "NUMA Affinity", "GPU NUMA ID"};

/* A part of a line. */
typedef struct span {
    const char *at;
    uint32_t    length, column; /* from 0 */
} span;

typedef struct line {
    const char *at, *end;
    int         number;
    uint32_t    n_words;
    span        words[MAX_WORDS];
} line;

/* A column of affinities: what it holds, and where its heading stands. */
typedef struct affinity_column {
    heading  heading;
    uint32_t from, to;
} affinity_column;

typedef struct affinity {
    uint64_t nodes[NODE_WORDS]; /* NUMA nodes; none: unknown */
    uint32_t n_nodes;
    uint64_t cpus; /* the hash of the list; 0: unknown */
} affinity;

typedef struct matrix {
    const char      *input;
    cs_error        *err;
    cs_machine_notes notes;
    char             names[MAX_DEVICES][NAME_BYTES];
    uint32_t         name_columns[MAX_DEVICES];
    uint32_t         n_devices, n_gpus, n_rows, n_columns, n_unclear;
    affinity_column  columns[HEADINGS];
    uint8_t          relation[MAX_DEVICES][MAX_DEVICES];
    affinity         affinities[MAX_DEVICES];
    uint32_t         first_unclear; /* row */
} matrix;

/* ---- lines ---- */

static cs_status fail(const matrix *m, int number, const char *what, const span *word)
{
    cs_status status =
        CS_FAIL(m->err, CS_EPARSE, "topo -m", "%s '%.*s'", what,
                (int)(word->length < NAME_BYTES ? word->length : NAME_BYTES - 1), word->at);
    cs_error_locate(m->err, m->input, number, (int)(word->column + 1));
    return status;
}

/* A word that stands nowhere in the line. */
static span span_of(const char *text)
{
    return (span){text, (uint32_t)strlen(text), UINT32_MAX};
}

static bool is_word(const span *s, const char *word)
{
    return s->length == strlen(word) && memcmp(s->at, word, s->length) == 0;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

/* The text without the codes of a terminal, line by line the same; NULL: no memory. */
static char *without_codes(const char *text, cs_arena *arena)
{
    char *clean = CS_ARENA_NEW(arena, char, strlen(text) + 1), *to = clean;

    while (clean != NULL && *text != '\0') {
        if (*text != '\033') {
            *to++ = *text++;
            continue;
        }
        text++;
        while (*text != '\0' && *text != '\n' && !isalpha((unsigned char)*text)) {
            text++;
        }
        text += *text != '\0' && *text != '\n';
    }
    return clean;
}

/* Cut the next line into words, those beyond MAX_WORDS left out; false: there is none. */
static bool next_line(line *l)
{
    const char *p = l->end;

    if (*p == '\0') {
        return false;
    }
    l->at      = p;
    l->n_words = 0;
    l->number++;
    while (*p != '\0' && *p != '\n') {
        const char *from = p;
        while (*p != '\0' && *p != '\n' && !is_blank(*p)) {
            p++;
        }
        if (p > from && l->n_words < MAX_WORDS) {
            l->words[l->n_words++] = (span){from, (uint32_t)(p - from), (uint32_t)(from - l->at)};
        }
        p += p == from;
    }
    l->end = p + (*p == '\n');
    return true;
}

/* The next line with a word in it. */
static bool next_words(line *l)
{
    bool is_there = next_line(l);

    while (is_there && l->n_words == 0) {
        is_there = next_line(l);
    }
    return is_there;
}

static bool is_gpu(const span *word)
{
    return word->length > 3 && word->length < NAME_BYTES && memcmp(word->at, "GPU", 3) == 0 &&
           isdigit((unsigned char)word->at[3]);
}

/* The cells of `nvidia-smi topo -p2p`, which looks alike and says something else. */
static bool is_of_peers(const span *word)
{
    static const char *const words[] = {"OK", "CNS", "GNS", "TNS", "NS", "DR", "U"};

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (is_word(word, words[i])) {
            return true;
        }
    }
    return false;
}

/* Does a matrix begin at the line? */
static bool is_header(const line *l, line *row)
{
    if (l->n_words == 0 || !is_gpu(&l->words[0])) {
        return false;
    }
    *row = (line){.end = l->end};
    return next_words(row) && row->n_words >= 2 && row->words[0].length == l->words[0].length &&
           memcmp(row->words[0].at, l->words[0].at, l->words[0].length) == 0 &&
           is_word(&row->words[1], "X") && !(row->n_words > 2 && is_of_peers(&row->words[2]));
}

/* Go on to the first line of a matrix; `row` is for looking ahead. */
static bool find_header(line *l, line *row)
{
    while (next_words(l)) {
        if (is_header(l, row)) {
            return true;
        }
    }
    return false;
}

/* ---- the first line ---- */

/* The heading that begins at a word, and how many words it has; HEADINGS: it is a device's name. */
static heading heading_at(const line *l, uint32_t word, uint32_t *n_words_p)
{
    for (int h = 0; h < HEADINGS; h++) {
        const char *rest = heading_words[h];
        uint32_t    n    = 0;
        while (*rest != '\0' && word + n < l->n_words) {
            size_t length = strcspn(rest, " ");
            span   want   = {rest, (uint32_t)length, 0};
            if (l->words[word + n].length != want.length ||
                memcmp(l->words[word + n].at, want.at, want.length) != 0) {
                break;
            }
            rest += length + (rest[length] == ' ');
            n++;
        }
        if (*rest == '\0') {
            *n_words_p = n;
            return (heading)h;
        }
    }
    *n_words_p = 1;
    return HEADINGS;
}

static cs_status add_device(matrix *m, const line *l, const span *word)
{
    uint32_t i = m->n_devices;

    if (i == MAX_DEVICES || m->n_columns > 0 || word->length >= NAME_BYTES) {
        return fail(m, l->number, "unexpected column", word);
    }
    if (is_gpu(word) && m->n_gpus != i) {
        return fail(m, l->number, "GPUs must stand first, not", word);
    }
    m->n_gpus += is_gpu(word);
    memcpy(m->names[i], word->at, word->length);
    m->name_columns[i] = word->column;
    m->n_devices++;
    return CS_OK;
}

static cs_status read_header(matrix *m, const line *l)
{
    uint32_t n = 1;

    for (uint32_t i = 0; i < l->n_words; i += n) {
        heading found = heading_at(l, i, &n);
        if (found == HEADINGS) {
            CS_TRY(add_device(m, l, &l->words[i]));
        } else if (m->n_columns < HEADINGS) {
            const span *last = &l->words[i + n - 1];
            m->columns[m->n_columns++] =
                (affinity_column){found, l->words[i].column, last->column + last->length};
        } else {
            return fail(m, l->number, "unexpected column", &l->words[i]);
        }
    }
    return CS_OK;
}

/* ---- affinities ---- */

/* "0", "0-1", "0,3-9,11-17"; anything else is unknown. */
static void read_nodes(const span *cell, affinity *a)
{
    const char *p = cell->at, *end = cell->at + cell->length;
    affinity    read = {.cpus = a->cpus};

    while (p < end && isdigit((unsigned char)*p)) {
        char         *stop;
        unsigned long from = strtoul(p, &stop, 10), to = from;
        if (stop < end && *stop == '-' && isdigit((unsigned char)stop[1])) {
            to = strtoul(stop + 1, &stop, 10);
        }
        if (to < from || to >= 64ul * NODE_WORDS) {
            return;
        }
        for (unsigned long node = from; node <= to; node++) {
            read.nodes[node / 64] |= (uint64_t)1 << node % 64;
        }
        p = stop;
        if (p < end && *p++ != ',') {
            return;
        }
    }
    if (p < end) {
        return;
    }
    for (int i = 0; i < NODE_WORDS; i++) {
        read.n_nodes += (uint32_t)__builtin_popcountll(read.nodes[i]);
    }
    *a = read;
}

static void take_cell(const matrix *m, uint32_t column, const span *cell, affinity *a)
{
    if (cell->length == 0 || is_word(cell, "N/A")) {
        return;
    }
    if (m->columns[column].heading == CPU_AFFINITY) {
        a->cpus = cs_mix64(cs_hash_bytes(cell->at, cell->length)) | 1;
    } else if (m->columns[column].heading == NUMA_AFFINITY) {
        read_nodes(cell, a);
    }
}

/* What follows the relations of a row, cut at the tabs. The first piece is the end of the last
 * relation's cell. */
static void take_tabs(const matrix *m, const char *rest, const char *end, affinity *a)
{
    const char *p = memchr(rest, '\t', (size_t)(end - rest));

    for (uint32_t column = 0; p != NULL && column < m->n_columns; column++) {
        const char *from = p + 1, *to;
        p                = memchr(from, '\t', (size_t)(end - from));
        to               = p != NULL ? p : end;
        while (from < to && isspace((unsigned char)*from)) {
            from++;
        }
        while (to > from && isspace((unsigned char)to[-1])) {
            to--;
        }
        take_cell(m, column, &(span){from, (uint32_t)(to - from), 0}, a);
    }
}

/* Do the relations stand where tabs of eight columns put them? */
static bool is_at_tabs(const matrix *m, const line *l)
{
    bool fits = true;

    for (uint32_t i = 0; i < m->n_devices && fits; i++) {
        uint32_t at = l->words[i + 1].column - l->words[0].column;
        fits        = at == TAB_COLUMNS * (i + 1) ||
               (is_word(&l->words[i + 1], "X") && at == TAB_COLUMNS * (i + 1) + 1);
    }
    return fits;
}

/* Words that tabs of eight columns put where they are; false: they are elsewhere. */
static bool take_stops(const matrix *m, const line *l, affinity *a)
{
    affinity read = {.n_nodes = 0};
    uint32_t word = m->n_devices + 1, stop = TAB_COLUMNS * (m->n_devices + 1);

    for (uint32_t column = 0; column < m->n_columns && word < l->n_words; column++) {
        uint32_t at = l->words[word].column - l->words[0].column;
        if (at < stop) {
            return false;
        }
        if (at == stop) {
            take_cell(m, column, &l->words[word], &read);
            stop += l->words[word].length / TAB_COLUMNS * TAB_COLUMNS;
            word++;
        }
        stop += TAB_COLUMNS;
    }
    *a = read;
    return true;
}

/* Do the relations stand below the names, with the row's own name beside them? */
static bool is_below_names(const matrix *m, const line *l)
{
    bool fits = m->name_columns[0] >= l->words[0].column + l->words[0].length;

    for (uint32_t i = 0; i < m->n_devices && fits; i++) {
        const span *word = &l->words[i + 1];
        uint32_t    from = m->name_columns[i], to = from + (uint32_t)strlen(m->names[i]);
        fits = word->column < to + 2 && word->column + word->length + 2 > from;
    }
    return fits;
}

/* Every word below a heading of its own; false: some are not. */
static bool take_below(const matrix *m, const line *l, affinity *a)
{
    affinity read   = {.n_nodes = 0};
    uint32_t column = 0;

    for (uint32_t i = m->n_devices + 1; i < l->n_words; i++, column++) {
        const span *word = &l->words[i];
        while (column < m->n_columns && word->column >= m->columns[column].to) {
            column++;
        }
        if (column == m->n_columns || word->column + word->length <= m->columns[column].from) {
            return false;
        }
        take_cell(m, column, word, &read);
    }
    *a = read;
    return true;
}

static void read_affinities(matrix *m, const line *l, uint32_t row)
{
    const span *relation = &l->words[m->n_devices], *last = &l->words[l->n_words - 1];
    affinity   *a      = &m->affinities[row];
    uint32_t    n_rest = l->n_words - m->n_devices - 1;

    if (memchr(l->at, '\t', (size_t)(last->at - l->at)) != NULL) {
        take_tabs(m, relation->at + relation->length, l->end, a);
    } else if (n_rest == m->n_columns) {
        for (uint32_t i = 0; i < n_rest; i++) {
            take_cell(m, i, &l->words[m->n_devices + 1 + i], a);
        }
    } else if (n_rest > 0 && m->n_columns > 0 && !(is_at_tabs(m, l) && take_stops(m, l, a)) &&
               !(is_below_names(m, l) && take_below(m, l, a))) {
        m->first_unclear = m->n_unclear == 0 ? row : m->first_unclear;
        m->n_unclear++;
    }
}

/* ---- rows ---- */

static cs_status read_relation(matrix *m, const line *l, uint32_t row, uint32_t column)
{
    static const struct {
        const char *word;
        uint8_t     relation;
    } words[]        = {{"SYS", SYS}, {"SOC", SYS}, {"NODE", NODE}, {"PHB", PHB},
                        {"PXB", PXB}, {"PIX", PIX}, {"X", SELF},    {"N/A", UNKNOWN}};
    const span *cell = &l->words[column + 1];
    uint8_t    *out  = &m->relation[row][column];

    if (cell->length > 2 && memcmp(cell->at, "NV", 2) == 0 && isdigit((unsigned char)cell->at[2])) {
        char *end;
        long  links = strtol(cell->at + 2, &end, 10);
        bool  is_ok = end == cell->at + cell->length && links >= 1 && links < SYS &&
                     row < m->n_gpus && column < m->n_gpus && row != column;
        *out = is_ok ? (uint8_t)links : 0;
        return is_ok ? CS_OK : fail(m, l->number, "no NVLinks:", cell);
    }
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (is_word(cell, words[i].word) && (words[i].relation == SELF) == (row == column)) {
            *out = words[i].relation;
            return CS_OK;
        }
    }
    return fail(m, l->number,
                "accepted are NV#, PIX, PXB, PHB, NODE, SYS, and X on the diagonal, not", cell);
}

static bool is_device(const matrix *m, const span *word)
{
    for (uint32_t i = 0; i < m->n_devices; i++) {
        if (is_word(word, m->names[i])) {
            return true;
        }
    }
    return false;
}

static cs_status read_row(matrix *m, const line *l)
{
    uint32_t row = m->n_rows;

    if (!is_word(&l->words[0], m->names[row])) {
        span missing = span_of(m->names[row]);
        return is_device(m, &l->words[0])
                   ? fail(m, l->number,
                          "this row is not the column's of the same place:", &l->words[0])
                   : fail(m, l->number, "the matrix ends before the row of", &missing);
    }
    if (l->n_words < m->n_devices + 1) {
        return fail(m, l->number, "too few cells in the row of", &l->words[0]);
    }
    for (uint32_t i = 0; i < m->n_devices; i++) {
        CS_TRY(read_relation(m, l, row, i));
    }
    read_affinities(m, l, row);
    m->n_rows++;
    return CS_OK;
}

static cs_status check_symmetry(const matrix *m, const line *last)
{
    for (uint32_t i = 0; i < m->n_devices; i++) {
        for (uint32_t j = 0; j < i; j++) {
            if (m->relation[i][j] != m->relation[j][i]) {
                span name = span_of(m->names[i]);
                return fail(m, last->number, "one relation one way and another one back:", &name);
            }
        }
    }
    return CS_OK;
}

/* Refuse a text without a matrix, at the line that looks like the beginning of one. */
static cs_status refuse_text(const matrix *m, const char *text)
{
    const char *gpu = strstr(text, "GPU0"), *at = text;
    int         number = 1;

    for (const char *p = text; gpu != NULL && p < gpu; p++) {
        number += *p == '\n';
        at = *p == '\n' ? p + 1 : at;
    }
    cs_status status =
        CS_FAIL(m->err, CS_EPARSE, "topo -m",
                "no matrix: accepted are a line 'GPU0 GPU1 ..' and below it a row for every device "
                "in it, the first one 'GPU0 X ..'");
    cs_error_locate(m->err, m->input, number, gpu != NULL ? (int)(gpu - at + 1) : 0);
    return status;
}

static cs_status read_lines(matrix *m, const char *text, line *l, line *row)
{
    *l = (line){.end = text};
    if (!find_header(l, row)) {
        return refuse_text(m, text);
    }
    CS_TRY(read_header(m, l));
    while (m->n_rows < m->n_devices) {
        if (!next_words(l)) {
            span missing = span_of(m->names[m->n_rows]);
            return fail(m, l->number, "the matrix ends before the row of", &missing);
        }
        CS_TRY(read_row(m, l));
    }
    CS_TRY(check_symmetry(m, l));
    if (find_header(l, row)) {
        (void)CS_FAIL(m->err, CS_EPARSE, "topo -m",
                      "a second matrix begins here: accepted is one, of one server");
        cs_error_locate(m->err, m->input, l->number, (int)(l->words[0].column + 1));
        return CS_EPARSE;
    }
    return CS_OK;
}

/* ---- who is together ---- */

/* Sets of devices. The first device of a set stands for it. */
typedef struct sets {
    uint32_t up[MAX_DEVICES];    /* a device before it in its set; itself: it is the first */
    uint32_t known[MAX_DEVICES]; /* of a first one: a device of the set with known NUMA nodes */
} sets;

/* Every device in a set of its own. */
static void separate(const matrix *m, sets *s)
{
    for (uint32_t i = 0; i < m->n_devices; i++) {
        s->up[i]    = i;
        s->known[i] = i;
    }
}

static uint32_t first_of(sets *s, uint32_t i)
{
    while (s->up[i] != i) {
        s->up[i] = s->up[s->up[i]];
        i        = s->up[i];
    }
    return i;
}

static void join(const matrix *m, sets *s, uint32_t i, uint32_t j)
{
    uint32_t a = first_of(s, i), b = first_of(s, j), low = a < b ? a : b, high = a < b ? b : a;

    s->up[high] = low;
    if (m->affinities[s->known[low]].n_nodes == 0) {
        s->known[low] = s->known[high];
    }
}

static bool same_nodes(const affinity *a, const affinity *b)
{
    return a->n_nodes > 0 && memcmp(a->nodes, b->nodes, sizeof a->nodes) == 0;
}

static bool other_nodes(const affinity *a, const affinity *b)
{
    bool meet = false;

    for (int i = 0; i < NODE_WORDS; i++) {
        meet = meet || (a->nodes[i] & b->nodes[i]) != 0;
    }
    return a->n_nodes > 0 && b->n_nodes > 0 && !meet;
}

/* Are two devices on different sockets, as far as their cells tell? */
static bool are_apart(const matrix *m, uint32_t i, uint32_t j)
{
    const affinity *a = &m->affinities[i], *b = &m->affinities[j];

    if (same_nodes(a, b) && a->n_nodes == 1) {
        return false;
    }
    bool knows_nodes = a->n_nodes > 0 && b->n_nodes > 0;
    bool other_cpus  = !knows_nodes && a->cpus != 0 && b->cpus != 0 && a->cpus != b->cpus;
    return m->relation[i][j] == SYS || other_nodes(a, b) || other_cpus;
}

static bool sets_are_apart(const matrix *m, sets *s, uint32_t first, uint32_t other)
{
    for (uint32_t i = first; i < m->n_devices; i++) {
        for (uint32_t j = other; j < m->n_devices && first_of(s, i) == first; j++) {
            if (first_of(s, j) == other && are_apart(m, i, j)) {
                return true;
            }
        }
    }
    return false;
}

/* Every set joins the first one before it that nothing keeps apart from it; with `alike`, the first
 * of the same affinity. O(devices^3). */
static void join_sets(const matrix *m, sets *s, bool alike)
{
    for (uint32_t i = 1; i < m->n_devices; i++) {
        for (uint32_t j = 0; j < i && s->up[i] == i; j++) {
            const affinity *a = &m->affinities[i], *b = &m->affinities[j];
            bool fits = !alike || same_nodes(a, b) || (a->cpus != 0 && a->cpus == b->cpus);
            if (s->up[j] == j && fits && !sets_are_apart(m, s, i, j)) {
                join(m, s, i, j);
            }
        }
    }
}

/* Join the sets of devices that have one of two relations. */
static void join_related(const matrix *m, sets *s, uint8_t relation, uint8_t or_relation)
{
    for (uint32_t i = 0; i < m->n_devices; i++) {
        for (uint32_t j = 0; j < i; j++) {
            const affinity *a = &m->affinities[s->known[first_of(s, i)]];
            const affinity *b = &m->affinities[s->known[first_of(s, j)]];
            bool is_near      = m->relation[i][j] == relation || m->relation[i][j] == or_relation;
            if (is_near && (relation >= PXB || !other_nodes(a, b))) {
                join(m, s, i, j);
            }
        }
    }
}

static void find_sockets(const matrix *m, sets *sockets)
{
    separate(m, sockets);
    join_related(m, sockets, PXB, PIX);
    for (uint32_t i = 0; i < m->n_devices; i++) {
        for (uint32_t j = 0; j < i; j++) {
            const affinity *a = &m->affinities[i], *b = &m->affinities[j];
            if (same_nodes(a, b) && a->n_nodes == 1) {
                join(m, sockets, i, j);
            }
        }
    }
    join_related(m, sockets, PHB, NODE);
    join_sets(m, sockets, true);
    join_sets(m, sockets, false);
}

/* Number the sets of two devices or more from 1 on, and give each device its set's number. */
static uint32_t number_sets(const matrix *m, sets *s, uint32_t *numbers)
{
    uint32_t n = 0, n_members[MAX_DEVICES] = {0};

    for (uint32_t i = 0; i < m->n_devices; i++) {
        n_members[first_of(s, i)]++;
    }
    for (uint32_t i = 0; i < m->n_devices; i++) {
        uint32_t first = first_of(s, i);
        numbers[i]     = n_members[first] < 2 ? 0 : first < i ? numbers[first] : ++n;
    }
    return n;
}

static void place_devices(const matrix *m, cs_machine *machine, cs_device **devices)
{
    sets     switches, bridges, sockets;
    uint32_t switch_of[MAX_DEVICES], bridge_of[MAX_DEVICES], first;

    separate(m, &switches);
    separate(m, &bridges);
    join_related(m, &switches, PXB, PIX);
    join_related(m, &bridges, PIX, PIX);
    find_sockets(m, &sockets);
    machine->n_switches = number_sets(m, &switches, switch_of);
    (void)number_sets(m, &bridges, bridge_of);
    for (uint32_t i = 0; i < m->n_devices; i++) {
        first              = first_of(&sockets, i);
        devices[i]->socket = first < i ? devices[first]->socket : machine->n_sockets++;
        devices[i]->bridge = bridge_of[i];
        devices[i]->pcie   = switch_of[i] > 0 ? switch_of[i] - 1 : CS_NO_SWITCH;
        if (switch_of[i] > 0) {
            machine->switches[switch_of[i] - 1] =
                (cs_pcie_switch){devices[i]->socket, CS_ASSUMED_PCIE_BPS, true};
        }
    }
}

/* ---- the machine ---- */

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
        *devices[i] = (cs_device){.pcie_Bps        = CS_ASSUMED_PCIE_BPS,
                                  .wire_Bps        = gpu ? 0 : CS_ASSUMED_NIC_BPS,
                                  .is_pcie_assumed = true,
                                  .is_wire_assumed = !gpu};
        memcpy(devices[i]->name, m->names[i], NAME_BYTES);
    }
    machine->n_gpus = m->n_gpus;
    machine->n_nics = m->n_devices - m->n_gpus;
    place_devices(m, machine, devices);
    for (uint32_t i = 0; i < m->n_gpus * m->n_gpus; i++) {
        uint8_t relation = m->relation[i / m->n_gpus][i % m->n_gpus];
        links[i]         = relation < SYS ? relation : 0;
    }
    return cs_machine_set_nvlinks(machine, links, CS_ASSUMED_NVLINK_BPS, true, arena);
}

static void add_notes(matrix *m, const cs_machine *machine)
{
    static const char none[]     = "the matrix has no rates";
    bool              has_nvlink = machine->nvswitch_Bps > 0 || machine->nvlink_Bps != NULL;

    if (m->n_unclear > 0) {
        cs_text_add(&m->notes.text,
                    "%s%s: cells of the affinities are missing, and nothing tells which ones: "
                    "where it is near counts as unknown\n",
                    m->names[m->first_unclear], m->n_unclear > 1 ? " and others" : "");
    }
    if (has_nvlink) {
        cs_machine_assume(&m->notes, CS_RATE_NVLINK, none, "25 GB/s an NVLink");
    }
    if (machine->n_nics > 0) {
        cs_machine_assume(&m->notes, CS_RATE_NIC, none, "200 Gb/s a NIC");
    }
    cs_machine_assume(&m->notes, CS_RATE_PCIE, none, "31.5 GB/s PCIe (4.0 x16)");
    if (machine->n_sockets > 1) {
        cs_machine_assume(&m->notes, CS_RATE_SOCKETS, none, "60 GB/s between sockets");
    }
    cs_text_add(&m->notes.text,
                "start-up times: assumed are NIC 3 us, NVLink 1 us, sockets 8 us\n");
}

cs_status cs_smi_parse(const char *text, const char *input, cs_arena *arena, cs_machine **machine_p,
                       cs_error *err)
{
    matrix     *m     = CS_ARENA_NEW(arena, matrix, 1);
    line       *lines = CS_ARENA_NEW(arena, line, 2);
    char       *clean = without_codes(text, arena);
    cs_machine *machine =
        cs_machine_new(arena, "nvidia-smi topo -m", MAX_DEVICES, MAX_DEVICES, MAX_DEVICES);

    if (m == NULL || lines == NULL || clean == NULL || machine == NULL) {
        return CS_NO_MEMORY(err, "a topology");
    }
    m->input = input;
    m->err   = err;
    CS_TRY(read_lines(m, clean, &lines[0], &lines[1]));
    if (fill(m, machine, arena) != CS_OK) {
        return CS_NO_MEMORY(err, "a topology");
    }
    add_notes(m, machine);
    CS_TRY(cs_machine_note(machine, &m->notes, arena, err));
    *machine_p = machine;
    return CS_OK;
}
