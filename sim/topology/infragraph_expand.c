/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The graphs that InfraGraph's keys stand for: components are numbered, nested devices written out,
 * and every edge expanded into those between single components. */
#include "topology/infragraph_keys.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_NODES  65536u /* of a device with all that is in it */
#define MOST_UNITS  65536u
#define MOST_EDGES  ((size_t)1 << 20)
#define MOST_POINTS ((size_t)1 << 22) /* ends of all edges, written out */
#define MOST_WORDS  16

/* ---- devices ---- */

typedef struct device {
    cs_ig_device             flat;
    const cs_ig_device_keys *keys;
    cs_place                 place;
    uint32_t                *first, *width, *count; /* [n_components] nodes of one, and how many */
    struct device          **nested;                /* [n_components] or NULL */
    bool                     is_nic;                /* nested, it is one node */
    enum { UNSEEN, OPEN, DONE } state;
} device;

/* Single components that an end of an edge names, in order. */
typedef struct points {
    cs_ig_point *list;
    size_t       n, room;
} points;

typedef struct reader {
    cs_reading       *r;
    const cs_ig_keys *keys;
    cs_place          devices, infra;
    device           *list;               /* [n_devices] */
    uint32_t         *count, *first_unit; /* [n_instances] */
    device          **of;                 /* [n_instances]; NULL: not in the file */
    cs_ig_file       *file;
    points            ends[2];  /* of the edge that is read */
    size_t            n_points; /* of all that were read */
} reader;

#define FAIL(reader, place, ...) CS_REFUSE((reader)->r, (place), CS_EINVAL, __VA_ARGS__)

static void add_point(reader *f, const cs_place *place, points *p, cs_ig_point point)
{
    if (f->n_points++ == MOST_POINTS) {
        FAIL(f, place, "makes more than 2^22 ends of edges");
        return;
    }
    if (p->n == p->room) {
        size_t       room  = p->room == 0 ? 64 : 2 * p->room;
        cs_ig_point *grown = CS_ARENA_NEW(f->r->arena, cs_ig_point, room);
        if (grown == NULL) {
            CS_REFUSE_MEMORY(f->r, place, "a topology");
            return;
        }
        if (p->n > 0) {
            memcpy(grown, p->list, p->n * sizeof *grown);
        }
        p->list = grown;
        p->room = room;
    }
    p->list[p->n++] = point;
}

static bool add_edge(reader *f, const cs_place *place, cs_ig_edges *e, cs_ig_edge edge)
{
    if (e->n == MOST_EDGES) {
        FAIL(f, place, "makes more than 2^20 edges");
        return false;
    }
    if (e->n == e->room) {
        size_t      room  = e->room == 0 ? 64 : 2 * e->room;
        cs_ig_edge *grown = CS_ARENA_NEW(f->r->arena, cs_ig_edge, room);
        if (grown == NULL) {
            CS_REFUSE_MEMORY(f->r, place, "a topology");
            return false;
        }
        if (e->n > 0) {
            memcpy(grown, e->list, e->n * sizeof *grown);
        }
        e->list = grown;
        e->room = room;
    }
    e->list[e->n++] = edge;
    return true;
}

static int compare_points(const cs_ig_point *a, const cs_ig_point *b)
{
    if (a->unit != b->unit) {
        return a->unit < b->unit ? -1 : 1;
    }
    return (a->node > b->node) - (a->node < b->node);
}

/* Two edges by their ends and their link. */
static int compare_ends(const cs_ig_edge *x, const cs_ig_edge *y)
{
    int a = compare_points(&x->a, &y->a), b = compare_points(&x->b, &y->b);

    if (a != 0 || b != 0) {
        return a != 0 ? a : b;
    }
    return (x->link->number > y->link->number) - (x->link->number < y->link->number);
}

static int compare_edges(const void *left, const void *right)
{
    const cs_ig_edge *x = left, *y = right;
    int               ends = compare_ends(x, y);

    return ends != 0 ? ends : (x->row > y->row) - (x->row < y->row);
}

/* An edge that is said twice, or once each way, is one. */
static void sort_edges(cs_ig_edges *e)
{
    size_t kept = 0;

    if (e->n == 0) {
        return;
    }
    qsort(e->list, e->n, sizeof *e->list, compare_edges);
    for (size_t i = 1; i < e->n; i++) {
        if (compare_ends(&e->list[kept], &e->list[i]) != 0) {
            e->list[++kept] = e->list[i];
        }
    }
    e->n = kept + 1;
}

/* ---- names with slices ---- */

/* A part of "host[0:2]" or "cx5[3].port[0]": its name, and which of `total` it means. */
typedef struct part {
    const char *name;
    size_t      length;
    const char *rest;  /* behind the dot; NULL: it is the last one */
    const char *slice; /* behind the bracket; NULL: all are meant */
} part;

static bool read_number(const char **p, uint32_t *value_p)
{
    char         *end   = NULL;
    unsigned long value = isdigit((unsigned char)**p) ? strtoul(*p, &end, 10) : 0;

    if (end == NULL || value > CS_IG_MOST_EACH) {
        return false;
    }
    *p       = end;
    *value_p = (uint32_t)value;
    return true;
}

/* Split off the first part; false: it has no form that is known. */
static bool split(const char *text, part *p)
{
    size_t length = strcspn(text, ".[");

    *p = (part){.name = text, .length = length};
    if (length == 0) {
        return false;
    }
    text += length;
    if (*text == '[') {
        p->slice = text + 1;
        text += strcspn(text, "]");
        if (*text++ != ']') {
            return false;
        }
    }
    p->rest = *text == '.' ? text + 1 : NULL;
    return *text == '.' || *text == '\0';
}

/* The numbers of a slice as Python has them: i, from:to, from:to:step. */
static bool read_slice(const char *p, uint32_t total, uint32_t *from, uint32_t *to, uint32_t *step)
{
    *from         = 0;
    *to           = total;
    *step         = 1;
    bool has_from = read_number(&p, from);
    if (has_from && *p == ']') {
        *to = *from + 1;
        return *from < total;
    }
    if (*p++ != ':') {
        return false;
    }
    (void)read_number(&p, to);
    if (*p == ':') {
        p++;
        (void)read_number(&p, step);
    }
    return *p == ']' && *step > 0 && *from < *to && *to <= total;
}

static size_t find_component(const cs_ig_device_keys *d, const part *p)
{
    size_t i = 0;

    while (i < d->n_components && (strncmp(d->components[i].name, p->name, p->length) != 0 ||
                                   d->components[i].name[p->length] != '\0')) {
        i++;
    }
    return i;
}

/* Which of a name's things are meant, or a refusal. */
static bool meant(reader *f, const cs_place *place, const part *p, uint32_t total, uint32_t *from,
                  uint32_t *to, uint32_t *step)
{
    if (p->slice == NULL) {
        *from = 0;
        *to   = total;
        *step = 1;
        return true;
    }
    if (read_slice(p->slice, total, from, to, step)) {
        return true;
    }
    FAIL(f, place,
         "%.*s has no [%.*s: accepted are slices as [0], [0:%u] or [0:%u:2] of the %u that there "
         "are",
         (int)p->length, p->name, (int)strcspn(p->slice, "]") + 1, p->slice, total, total, total);
    return false;
}

/* The components that a path in a device means. They are nodes from `base` on, or all of them the
 * node `single`. */
static void find_points(reader *f, const cs_place *place, const device *d, const char *path,
                        cs_ig_point base, uint32_t single, points *out)
{
    part     p;
    uint32_t from, to, step;

    if (!split(path, &p)) {
        FAIL(f, place, "%.60s is no component: accepted is like xpu[0:8] or nic[0].port[0]", path);
        return;
    }
    size_t c = find_component(d->keys, &p);
    if (c == d->keys->n_components && p.rest != NULL && p.length == strlen(d->keys->name) &&
        strncmp(p.name, d->keys->name, p.length) == 0) {
        find_points(f, place, d, p.rest, base, single, out); /* the device names itself first */
        return;
    }
    if (c == d->keys->n_components) {
        FAIL(f, place, "%.*s is no component of device %.40s", (int)p.length, p.name,
             d->keys->name);
        return;
    }
    const device *inner = d->nested[c];
    if (!meant(f, place, &p, d->count[c], &from, &to, &step)) {
        return;
    }
    if (inner == NULL ? p.rest != NULL : p.rest == NULL && !inner->is_nic) {
        FAIL(f, place,
             inner == NULL ? "%.*s has no parts"
                           : "%.*s is a device: which component of it is missing",
             (int)p.length, p.name);
        return;
    }
    for (uint32_t i = from; i < to && !cs_reading_failed(f->r); i += step) {
        cs_ig_point at  = {base.unit, base.node + d->first[c] + i * d->width[c]};
        uint32_t    one = single != UINT32_MAX ? single : at.node;
        if (p.rest == NULL) {
            add_point(f, place, out, (cs_ig_point){at.unit, one});
        } else {
            bool is_single = single != UINT32_MAX || inner->is_nic;
            find_points(f, place, inner, p.rest, at, is_single ? one : UINT32_MAX, out);
        }
    }
}

static const cs_ig_link *find_link(reader *f, const cs_place *place, const cs_ig_link *links,
                                   size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(links[i].name, name) == 0) {
            return &links[i];
        }
    }
    FAIL(f, place, "%.60s is no link of the list 'links' beside it", name);
    return NULL;
}

/* The edges between the components of both ends. */
static void join(reader *f, const cs_place *place, bool all, const cs_ig_link *link, size_t row,
                 cs_ig_edges *edges)
{
    const points *x = &f->ends[0], *y = &f->ends[1];
    size_t        least = x->n < y->n ? x->n : y->n;

    for (size_t i = 0; i < (all ? x->n : least); i++) {
        for (size_t j = all ? 0 : i; j < (all ? y->n : i + 1); j++) {
            int        order = compare_points(&x->list[i], &y->list[j]);
            cs_ig_edge edge  = {x->list[i], y->list[j], link, (uint32_t)row};
            if (order > 0) {
                edge.a = y->list[j];
                edge.b = x->list[i];
            }
            if (order != 0 && !add_edge(f, place, edges, edge)) {
                return;
            }
        }
    }
}

/* Is the scheme many2many? Refused is what is neither. */
static bool joins_all(reader *f, const cs_place *edge, const char *scheme)
{
    cs_place place = cs_place_get(edge, "scheme");

    if (strcmp(scheme, "one2one") != 0 && strcmp(scheme, "many2many") != 0) {
        FAIL(f, &place, "%.40s is not accepted: one2one and many2many are", scheme);
    }
    return scheme[0] == 'm';
}

/* ---- connections of one line ---- */

/* "xpu.0.nvlink.nvlsw.0": two paths as edges have them, and a link between. */
typedef struct line {
    char *ends[2]; /* "xpu[0]", or "server[0].nic[1]" */
    char *link;
} line;

/* Write the words from `first` on, names and numbers in turns, as a path; returns where they end.
 */
static uint32_t write_path(char *const *words, uint32_t n, uint32_t first, char *to)
{
    uint32_t i = first;

    for (; i + 1 < n && isdigit((unsigned char)words[i + 1][0]) &&
           words[i + 1][strspn(words[i + 1], "0123456789")] == '\0';
         i += 2) {
        to += sprintf(to, "%s%s[%s]", i > first ? "." : "", words[i], words[i + 1]);
    }
    return i;
}

static bool read_line(reader *f, const cs_place *place, const char *text, line *l)
{
    char    *words[MOST_WORDS] = {NULL}, *save = NULL;
    size_t   bytes = 2 * strlen(text) + 8;
    uint32_t n     = 0;
    char    *copy  = cs_arena_strdup(f->r->arena, text);

    l->ends[0] = CS_ARENA_NEW(f->r->arena, char, bytes);
    l->ends[1] = CS_ARENA_NEW(f->r->arena, char, bytes);
    if (copy == NULL || l->ends[0] == NULL || l->ends[1] == NULL) {
        CS_REFUSE_MEMORY(f->r, place, "a topology");
        return false;
    }
    char *w = strtok_r(copy, ".", &save);
    for (; w != NULL && n < MOST_WORDS; w = strtok_r(NULL, ".", &save)) {
        words[n++] = w;
    }
    uint32_t at = write_path(words, n, 0, l->ends[0]);
    l->link     = at > 0 && at < n && w == NULL ? words[at] : NULL;
    if (l->link == NULL || at + 1 == n || write_path(words, n, at + 1, l->ends[1]) != n) {
        FAIL(f, place, "is no connection: accepted is like xpu.0.nvlink.nvlsw.0");
        return false;
    }
    return true;
}

/* ---- a device ---- */

static device *find_device(const reader *f, const char *name)
{
    for (size_t i = 0; i < f->keys->n_devices; i++) {
        if (strcmp(f->keys->devices[i].name, name) == 0) {
            return &f->list[i];
        }
    }
    return NULL;
}

static const char *what_of(const cs_ig_component *c)
{
    return c->choice != NULL ? c->choice : c->type != NULL ? c->type : "";
}

static cs_ig_kind kind_of(const cs_ig_component *c)
{
    static const struct {
        const char *word;
        cs_ig_kind  kind;
    } kinds[] = {
        {"xpu", CS_IG_XPU}, {"nic", CS_IG_NIC}, {"cpu", CS_IG_CPU}, {"switch", CS_IG_SWITCH}};

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(what_of(c), kinds[i].word) == 0) {
            return kinds[i].kind;
        }
    }
    return CS_IG_OTHER;
}

static void open_device(reader *f, device *d);

/* Components that are devices; whether this one is a NIC where it is nested itself. */
static void open_nested(reader *f, device *d)
{
    cs_place components = cs_place_get(&d->place, "components");
    bool     has_port   = false;

    for (size_t i = 0; i < d->keys->n_components && !cs_reading_failed(f->r); i++) {
        const cs_ig_component *c     = &d->keys->components[i];
        cs_place               place = cs_place_item(&components, i);
        if (strcmp(what_of(c), "device") == 0) {
            device *inner = find_device(f, c->name);
            if (inner == NULL || inner->state == OPEN) {
                FAIL(f, &place,
                     inner == NULL ? "%.60s is no device of the file"
                                   : "device %.60s is inside itself",
                     c->name);
                return;
            }
            open_device(f, inner);
            d->nested[i] = inner;
            d->flat.n_xpus += inner->flat.n_xpus * d->count[i];
        } else {
            d->flat.n_xpus += kind_of(c) == CS_IG_XPU ? d->count[i] : 0;
            has_port |= kind_of(c) == CS_IG_NIC || strcmp(what_of(c), "port") == 0;
        }
        if (d->flat.n_xpus > MOST_NODES) {
            FAIL(f, &place, "makes more than 65536 GPUs");
        }
    }
    d->is_nic = has_port && d->flat.n_xpus == 0;
}

/* Number the nodes of the components. */
static void number_nodes(reader *f, device *d)
{
    uint64_t n = 0;

    for (size_t i = 0; i < d->keys->n_components; i++) {
        const device *inner = d->nested[i];
        d->width[i]         = inner == NULL || inner->is_nic ? 1 : inner->flat.n_nodes;
        d->first[i]         = (uint32_t)n;
        n += (uint64_t)d->width[i] * d->count[i];
        if (n > MOST_NODES) {
            FAIL(f, &d->place, "has more than 65536 components");
            return;
        }
    }
    d->flat.n_nodes = (uint32_t)n;
    d->flat.nodes   = CS_ARENA_NEW(f->r->arena, cs_ig_node, n + 1);
    if (d->flat.nodes == NULL) {
        CS_REFUSE_MEMORY(f->r, &d->place, "a topology");
    }
}

/* Nodes, with those of nested devices and their edges. */
static void write_out(reader *f, device *d)
{
    for (size_t i = 0; i < d->keys->n_components && !cs_reading_failed(f->r); i++) {
        const device *inner = d->nested[i];
        cs_ig_kind    kind  = inner != NULL ? CS_IG_NIC : kind_of(&d->keys->components[i]);
        for (uint32_t k = 0; k < d->count[i]; k++) {
            uint32_t base = d->first[i] + k * d->width[i];
            if (inner == NULL || inner->is_nic) {
                d->flat.nodes[base] = (cs_ig_node){kind, d->keys->components[i].name, k};
                continue;
            }
            memcpy(&d->flat.nodes[base], inner->flat.nodes, d->width[i] * sizeof *d->flat.nodes);
            for (size_t e = 0; e < inner->flat.edges.n; e++) {
                cs_ig_edge edge = inner->flat.edges.list[e];
                edge.a.node += base;
                edge.b.node += base;
                if (!add_edge(f, &d->place, &d->flat.edges, edge)) {
                    return;
                }
            }
        }
    }
}

/* One end of an edge inside a device: the nested device and the component in it are one path. */
static void find_end(reader *f, const cs_place *edge, const char *key, const device *d,
                     const cs_ig_end *end, points *out)
{
    cs_place    place = cs_place_get(edge, key);
    cs_place    where = cs_place_get(&place, end->holder != NULL ? "device" : "component");
    const char *path  = end->component;

    if (end->holder != NULL) {
        size_t bytes  = strlen(end->holder) + strlen(end->component) + 2;
        char  *joined = CS_ARENA_NEW(f->r->arena, char, bytes);
        if (joined == NULL) {
            CS_REFUSE_MEMORY(f->r, &place, "a topology");
            return;
        }
        (void)snprintf(joined, bytes, "%s.%s", end->holder, end->component);
        path = joined;
    }
    find_points(f, &where, d, path, (cs_ig_point){0, 0}, UINT32_MAX, out);
}

static void inner_edges(reader *f, device *d)
{
    cs_place list              = cs_place_get(&d->place, "edges"),
             lines             = cs_place_get(&d->place, "connections");
    const cs_ig_device_keys *k = d->keys;

    for (size_t i = 0; i < k->n_edges && !cs_reading_failed(f->r); i++) {
        cs_place edge = cs_place_item(&list, i), where = cs_place_get(&edge, "link");
        f->ends[0].n = f->ends[1].n = 0;
        bool all                    = joins_all(f, &edge, k->edges[i].scheme);
        find_end(f, &edge, "ep1", d, &k->edges[i].ep1, &f->ends[0]);
        find_end(f, &edge, "ep2", d, &k->edges[i].ep2, &f->ends[1]);
        const cs_ig_link *link = find_link(f, &where, k->links, k->n_links, k->edges[i].link);
        if (!cs_reading_failed(f->r)) {
            join(f, &edge, all, link, i, &d->flat.edges);
        }
    }
    for (size_t i = 0; i < k->n_connections && !cs_reading_failed(f->r); i++) {
        cs_place edge = cs_place_item(&lines, i);
        f->ends[0].n = f->ends[1].n = 0;
        line l;
        if (!read_line(f, &edge, k->connections[i], &l)) {
            return;
        }
        find_points(f, &edge, d, l.ends[0], (cs_ig_point){0, 0}, UINT32_MAX, &f->ends[0]);
        find_points(f, &edge, d, l.ends[1], (cs_ig_point){0, 0}, UINT32_MAX, &f->ends[1]);
        const cs_ig_link *link = find_link(f, &edge, k->links, k->n_links, l.link);
        if (!cs_reading_failed(f->r)) {
            join(f, &edge, true, link, k->n_edges + i, &d->flat.edges);
        }
    }
}

/* A device as a graph, and those inside it before. */
static void open_device(reader *f, device *d)
{
    if (d->state != UNSEEN || cs_reading_failed(f->r)) {
        return;
    }
    d->state = OPEN;
    open_nested(f, d);
    if (!cs_reading_failed(f->r)) {
        number_nodes(f, d);
    }
    if (!cs_reading_failed(f->r)) {
        write_out(f, d);
        inner_edges(f, d);
        sort_edges(&d->flat.edges);
    }
    d->state = DONE;
}

/* ---- how many there are ---- */

/* Raise the count of a component that a connection of one line numbers. */
static void count_part(device *d, const part *p)
{
    size_t   c    = find_component(d->keys, p);
    uint32_t last = p->slice != NULL ? (uint32_t)strtoul(p->slice, NULL, 10) : 0;

    if (c < d->keys->n_components && d->keys->components[c].count == 0 && last < CS_IG_MOST_EACH &&
        d->count[c] <= last) {
        d->count[c] = last + 1;
    }
}

/* Components without a count have as many as the connections number. */
static void count_components(reader *f)
{
    for (size_t i = 0; i < f->keys->n_devices && !cs_reading_failed(f->r); i++) {
        device  *d     = &f->list[i];
        cs_place lines = cs_place_get(&d->place, "connections");
        for (size_t c = 0; c < d->keys->n_components; c++) {
            d->count[c] = d->keys->components[c].count > 0 ? d->keys->components[c].count : 1;
        }
        for (size_t k = 0; k < d->keys->n_connections && !cs_reading_failed(f->r); k++) {
            cs_place place = cs_place_item(&lines, k);
            line     l;
            part     p;
            for (int end = 0; end < 2 && read_line(f, &place, d->keys->connections[k], &l); end++) {
                if (split(l.ends[end], &p)) {
                    count_part(d, &p);
                }
            }
        }
    }
}

static size_t find_instance(const reader *f, const part *p)
{
    const cs_ig_instance *list = f->keys->instances;
    size_t                i    = 0;

    while (i < f->keys->n_instances &&
           (strncmp(list[i].name, p->name, p->length) != 0 || list[i].name[p->length] != '\0')) {
        i++;
    }
    return i;
}

/* The same for instances, and for components that only connections between them number. */
static void count_instances(reader *f)
{
    cs_place lines = cs_place_get(&f->infra, "connections");

    for (size_t i = 0; i < f->keys->n_instances; i++) {
        f->count[i] = f->keys->instances[i].count > 0 ? f->keys->instances[i].count : 1;
    }
    for (size_t k = 0; k < f->keys->n_connections && !cs_reading_failed(f->r); k++) {
        cs_place place = cs_place_item(&lines, k);
        line     l;
        part     p, inner;
        for (int end = 0; end < 2 && read_line(f, &place, f->keys->connections[k], &l); end++) {
            size_t i = split(l.ends[end], &p) ? find_instance(f, &p) : f->keys->n_instances;
            if (i == f->keys->n_instances) {
                continue; /* refused with its edge */
            }
            uint32_t last = p.slice != NULL ? (uint32_t)strtoul(p.slice, NULL, 10) : 0;
            if (f->keys->instances[i].count == 0 && last < CS_IG_MOST_EACH && f->count[i] <= last) {
                f->count[i] = last + 1;
            }
            if (f->of[i] != NULL && p.rest != NULL && split(p.rest, &inner)) {
                count_part(f->of[i], &inner);
            }
        }
    }
}

/* ---- instances ---- */

static void number_units(reader *f)
{
    uint64_t    n    = 0;
    cs_ig_file *file = f->file;

    for (size_t i = 0; i < f->keys->n_instances; i++) {
        f->first_unit[i] = (uint32_t)n;
        n += f->of[i] != NULL ? f->count[i] : 0;
        file->n_unknown += f->of[i] == NULL;
        if (n > MOST_UNITS) {
            FAIL(f, &f->infra, "has more than 65536 instances");
            return;
        }
    }
    file->n_units = (uint32_t)n;
    file->devices = CS_ARENA_NEW(f->r->arena, const cs_ig_device *, n + 1);
    file->names   = CS_ARENA_NEW(f->r->arena, const char *, n + 1);
    file->indices = CS_ARENA_NEW(f->r->arena, uint32_t, n + 1);
    if (file->devices == NULL || file->names == NULL || file->indices == NULL) {
        CS_REFUSE_MEMORY(f->r, &f->infra, "a topology");
        return;
    }
    for (size_t i = 0; i < f->keys->n_instances; i++) {
        for (uint32_t k = 0; f->of[i] != NULL && k < f->count[i]; k++) {
            uint32_t u       = f->first_unit[i] + k;
            file->devices[u] = &f->of[i]->flat;
            file->names[u]   = f->keys->instances[i].name;
            file->indices[u] = k;
        }
    }
}

/* A file of devices alone is one of the one that has GPUs. */
static void single_unit(reader *f)
{
    const device *server = NULL;
    cs_ig_file   *file   = f->file;

    for (size_t i = 0; i < f->keys->n_devices; i++) {
        bool is_nested = false;
        for (size_t k = 0; k < f->keys->n_devices; k++) {
            for (size_t c = 0; c < f->keys->devices[k].n_components; c++) {
                is_nested |= f->list[k].nested[c] == &f->list[i];
            }
        }
        if (f->list[i].flat.n_xpus == 0 || is_nested) {
            continue;
        }
        if (server != NULL) {
            FAIL(f, &f->infra,
                 "has no instances, and devices %.40s and %.40s have GPUs: accepted without "
                 "instances is one such device",
                 server->keys->name, f->list[i].keys->name);
            return;
        }
        server = &f->list[i];
    }
    file->devices = CS_ARENA_NEW(f->r->arena, const cs_ig_device *, 1);
    file->names   = CS_ARENA_NEW(f->r->arena, const char *, 1);
    file->indices = CS_ARENA_NEW(f->r->arena, uint32_t, 1);
    if (file->devices == NULL || file->names == NULL || file->indices == NULL) {
        CS_REFUSE_MEMORY(f->r, &f->infra, "a topology");
    } else if (server != NULL) {
        file->n_units    = 1;
        file->devices[0] = &server->flat;
        file->names[0]   = server->keys->name;
    }
}

/* An end of an edge between instances: "host[0:2]" and a component of its device. */
static void find_outer(reader *f, const cs_place *place, const char *instance,
                       const char *component, points *out)
{
    part     p;
    uint32_t from, to, step;
    size_t   i = split(instance, &p) ? find_instance(f, &p) : f->keys->n_instances;

    if (i == f->keys->n_instances) {
        FAIL(f, place, "%.60s is none of the instances", instance);
        return;
    }
    if (f->of[i] == NULL) {
        FAIL(f, place, "%.60s is of device %.60s, which is not in the file", instance,
             f->keys->instances[i].device);
        return;
    }
    if (!meant(f, place, &p, f->count[i], &from, &to, &step)) {
        return;
    }
    const char *path = p.rest != NULL ? p.rest : component;
    for (uint32_t k = from; k < to && path != NULL && !cs_reading_failed(f->r); k += step) {
        find_points(f, place, f->of[i], path, (cs_ig_point){f->first_unit[i] + k, 0}, UINT32_MAX,
                    out);
    }
}

static void outer_edges(reader *f)
{
    cs_place list       = cs_place_get(&f->infra, "edges"),
             lines      = cs_place_get(&f->infra, "connections");
    const cs_ig_keys *k = f->keys;

    for (size_t i = 0; i < k->n_edges && !cs_reading_failed(f->r); i++) {
        const cs_ig_edge_keys *e    = &k->edges[i];
        cs_place               edge = cs_place_item(&list, i), where = cs_place_get(&edge, "link");
        cs_place               ep1 = cs_place_get(&edge, "ep1"), ep2 = cs_place_get(&edge, "ep2");
        f->ends[0].n = f->ends[1].n = 0;
        bool all                    = joins_all(f, &edge, e->scheme);
        find_outer(f, &ep1, e->ep1.holder, e->ep1.component, &f->ends[0]);
        find_outer(f, &ep2, e->ep2.holder, e->ep2.component, &f->ends[1]);
        const cs_ig_link *link = find_link(f, &where, k->links, k->n_links, e->link);
        if (!cs_reading_failed(f->r)) {
            join(f, &edge, all, link, i, &f->file->edges);
        }
    }
    for (size_t i = 0; i < k->n_connections && !cs_reading_failed(f->r); i++) {
        cs_place edge = cs_place_item(&lines, i);
        f->ends[0].n = f->ends[1].n = 0;
        line l;
        if (!read_line(f, &edge, k->connections[i], &l)) {
            return;
        }
        find_outer(f, &edge, l.ends[0], NULL, &f->ends[0]);
        find_outer(f, &edge, l.ends[1], NULL, &f->ends[1]);
        const cs_ig_link *link = find_link(f, &edge, k->links, k->n_links, l.link);
        if (!cs_reading_failed(f->r)) {
            join(f, &edge, true, link, k->n_edges + i, &f->file->edges);
        }
    }
    f->file->n_rows = (uint32_t)k->n_edges;
    sort_edges(&f->file->edges);
}

/* ---- the file ---- */

/* The path of a place as a text that outlives it. */
static const char *path_of(reader *f, const cs_place *place)
{
    char path[CS_PATH_BYTES];

    cs_place_path(place, path);
    const char *kept = cs_arena_strdup(f->r->arena, path);
    if (kept == NULL) {
        CS_REFUSE_MEMORY(f->r, place, "a topology");
    }
    return kept;
}

/* Names must be unique, links get their numbers, lists their room. */
static void prepare_devices(reader *f)
{
    for (size_t i = 0; i < f->keys->n_devices && !cs_reading_failed(f->r); i++) {
        device                  *d = &f->list[i];
        const cs_ig_device_keys *k = d->keys = &f->keys->devices[i];
        size_t                   n           = k->n_components;

        d->place     = f->devices.node != NULL ? cs_place_item(&f->devices, i) : f->infra;
        d->flat.name = k->name;
        d->flat.path = path_of(f, &d->place);
        d->first     = CS_ARENA_NEW(f->r->arena, uint32_t, n + 1);
        d->width     = CS_ARENA_NEW(f->r->arena, uint32_t, n + 1);
        d->count     = CS_ARENA_NEW(f->r->arena, uint32_t, n + 1);
        d->nested    = CS_ARENA_NEW(f->r->arena, device *, n + 1);
        if (cs_reading_failed(f->r)) {
            return;
        }
        if (d->first == NULL || d->width == NULL || d->count == NULL || d->nested == NULL) {
            CS_REFUSE_MEMORY(f->r, &d->place, "a topology");
        } else if (find_device(f, k->name) != d) {
            FAIL(f, &d->place, "is a second device %.60s", k->name);
        }
        for (size_t l = 0; l < k->n_links; l++) {
            k->links[l].number = f->file->n_links++;
        }
    }
    for (size_t l = 0; l < f->keys->n_links; l++) {
        f->keys->links[l].number = f->file->n_links++;
    }
}

static void prepare_instances(reader *f)
{
    size_t n = f->keys->n_instances;

    f->count      = CS_ARENA_NEW(f->r->arena, uint32_t, n + 1);
    f->first_unit = CS_ARENA_NEW(f->r->arena, uint32_t, n + 1);
    f->of         = CS_ARENA_NEW(f->r->arena, device *, n + 1);
    if (f->count == NULL || f->first_unit == NULL || f->of == NULL) {
        CS_REFUSE_MEMORY(f->r, &f->infra, "a topology");
        return;
    }
    for (size_t i = 0; i < n && !cs_reading_failed(f->r); i++) {
        const part named = {.name   = f->keys->instances[i].name,
                            .length = strlen(f->keys->instances[i].name)};
        f->of[i]         = find_device(f, f->keys->instances[i].device);
        if (find_instance(f, &named) != i) {
            FAIL(f, &f->infra, "has instances %.60s twice", named.name);
        }
    }
}

static void build_file(reader *f)
{
    prepare_devices(f);
    if (!cs_reading_failed(f->r)) {
        prepare_instances(f);
    }
    if (!cs_reading_failed(f->r)) {
        count_components(f);
        count_instances(f);
    }
    for (size_t i = 0; i < f->keys->n_devices; i++) {
        open_device(f, &f->list[i]);
    }
    if (cs_reading_failed(f->r)) {
        return;
    }
    if (f->keys->n_instances == 0) {
        single_unit(f);
    } else {
        number_units(f);
    }
    if (!cs_reading_failed(f->r)) {
        outer_edges(f);
    }
}

cs_ig_file *cs_ig_read_file(cs_reading *r, const cs_place *root)
{
    cs_ig_file *file = CS_ARENA_NEW(r->arena, cs_ig_file, 1);
    cs_ig_keys *keys = CS_ARENA_NEW(r->arena, cs_ig_keys, 1);
    cs_place    wraps[2];
    reader      f = {.r = r, .keys = keys, .file = file};

    if (file == NULL || keys == NULL) {
        CS_REFUSE_MEMORY(r, root, "a topology");
        return NULL;
    }
    f.infra = cs_ig_read_keys(r, root, wraps, keys, &file->n_annotations);
    if (cs_reading_failed(r)) {
        return NULL;
    }
    f.devices  = cs_place_get(&f.infra, "devices"); /* nothing where the root is a device */
    file->path = path_of(&f, &f.infra);
    f.list     = CS_ARENA_NEW(r->arena, device, keys->n_devices + 1);
    if (f.list == NULL) {
        CS_REFUSE_MEMORY(r, root, "a topology");
        return NULL;
    }
    build_file(&f);
    return cs_reading_failed(r) ? NULL : file;
}
