/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Logical topologies from XML and back: first servers by their numbers, then the ranks and NICs in
 * them, then links. */
#include "schedules/logical_xml.h"

#include "base/alloc.h"
#include "base/file.h"
#include "input/xml_reader.h"

#include <stdlib.h>
#include <string.h>

/* Ordered pairs that may have links of their own. */
#define MOST_PAIRS ((uint64_t)1 << 22)

enum { MOST_DEPTH = 64 };

static const double GIGABIT = 1e9 / 8, GIGABYTE = 1e9, MICROSECOND = 1e-6;
static const double MICROSECONDS = 1e6; /* in a second: 20 us are written as 20 */

/* A NIC by the number that a file gives it. */
typedef struct numbered {
    uint32_t id, nic;
} numbered;

typedef struct graph {
    cs_xml_reader              r;
    const cs_logical_defaults *defaults;
    cs_logical                *l;
    cs_xml                    *top;
    cs_xml                   **servers; /* [n_servers] elements by id */
    numbered                  *nics;    /* [n_nics] sorted by id */
    uint64_t                   n_pairs;
} graph;

#define REFUSE(g, element, ...) CS_XML_REFUSE(&(g)->r, (element), __VA_ARGS__)

static bool is_called(const cs_xml *e, const char *name)
{
    return strcmp(e->name, name) == 0;
}

/* How many servers, NICs and GPUs there are; all elements are where they belong. */
static cs_status count_elements(graph *g)
{
    uint64_t servers = 0, nics = 0, gpus = 0;

    CS_TRY(cs_xml_need_name(&g->r, g->top, "graph"));
    for (cs_xml *e = cs_xml_next(g->top, g->top); e != NULL; e = cs_xml_next(e, g->top)) {
        bool is_link = e->parent == g->top && is_called(e, "link");

        if (!is_link) {
            CS_TRY(cs_xml_need_name(&g->r, e,
                                    e->parent == g->top              ? "server"
                                    : is_called(e->parent, "server") ? "nic"
                                                                     : "gpu"));
        }
        if ((is_link || is_called(e, "gpu")) && e->child != NULL) {
            return REFUSE(g, e->child, "is not known here: <%s> has nothing in it", e->name);
        }
        servers += e->parent == g->top && !is_link;
        nics += is_called(e, "nic");
        gpus += is_called(e, "gpu");
    }
    if (gpus < 1 || gpus > CS_MAX_RANKS) {
        return REFUSE(g, g->top, "has %llu GPUs: accepted are 1 to %u", (unsigned long long)gpus,
                      CS_MAX_RANKS);
    }
    g->l->n_servers = (uint32_t)servers;
    g->l->n_nics    = (uint32_t)nics;
    g->l->n_ranks   = (uint32_t)gpus;
    return CS_OK;
}

static cs_status make_room(graph *g)
{
    cs_logical *l = g->l;

    l->servers   = CS_ARENA_NEW(&l->arena, cs_logical_server, l->n_servers);
    l->nics      = CS_ARENA_NEW(&l->arena, cs_logical_nic, l->n_nics);
    l->server_of = CS_ARENA_NEW(&l->arena, uint32_t, l->n_ranks);
    l->nic_of    = CS_ARENA_NEW(&l->arena, uint32_t, l->n_ranks);
    g->servers   = CS_ARENA_NEW(&g->r.arena, cs_xml *, l->n_servers);
    g->nics      = CS_ARENA_NEW(&g->r.arena, numbered, l->n_nics);
    if (l->servers == NULL || l->nics == NULL || l->server_of == NULL || l->nic_of == NULL ||
        g->servers == NULL || g->nics == NULL) {
        return CS_NO_MEMORY(g->r.err, "a logical topology");
    }
    return CS_OK;
}

static cs_status find_servers(graph *g)
{
    for (cs_xml *e = g->top->child; e != NULL; e = e->next) {
        uint32_t id = 0;

        if (is_called(e, "link")) {
            continue;
        }
        CS_TRY(cs_xml_need_number(&g->r, e, "id", g->l->n_servers - 1, &id));
        if (g->servers[id] != NULL) {
            return REFUSE(g, e, "id=\"%u\" is there twice, in line %d before", id,
                          g->servers[id]->line);
        }
        g->servers[id] = e;
    }
    return CS_OK;
}

/* What a file says of the links in a server. */
static cs_status read_fabrics(graph *g, const cs_xml *e, cs_logical_server *s)
{
    const char *kind = cs_xml_get(e, "nvlink");

    s->nvlink = g->defaults->nvlink;
    if (kind != NULL) {
        s->nvlink.kind = strcmp(kind, "switched") == 0 ? CS_SWITCHED : CS_DIRECT;
        if (s->nvlink.kind == CS_DIRECT && strcmp(kind, "direct") != 0) {
            return REFUSE(g, e, "nvlink=\"%.40s\": accepted are direct, switched", kind);
        }
    }
    s->n_sockets = 1;
    s->cross     = (cs_fabric){.kind = CS_SWITCHED};
    CS_TRY(cs_xml_take_real(&g->r, e, "nvlink_GBps", false, GIGABYTE, &s->nvlink.bandwidth_Bps));
    CS_TRY(cs_xml_take_real(&g->r, e, "nvlink_alpha_us", true, MICROSECOND, &s->nvlink.alpha_s));
    CS_TRY(cs_xml_take_number(&g->r, e, "links_at_once", CS_MAX_RANKS, &s->links_at_once));
    CS_TRY(cs_xml_take_number(&g->r, e, "sockets", CS_MAX_RANKS, &s->n_sockets));
    CS_TRY(cs_xml_take_real(&g->r, e, "cross_GBps", false, GIGABYTE, &s->cross.bandwidth_Bps));
    CS_TRY(cs_xml_take_real(&g->r, e, "cross_alpha_us", true, MICROSECOND, &s->cross.alpha_s));
    if (s->n_sockets < 1 || (s->n_sockets > 1 && s->cross.bandwidth_Bps <= 0)) {
        return REFUSE(g, e, "has %u sockets%s", s->n_sockets,
                      s->n_sockets < 1 ? ": accepted is 1 or more" : ", and no cross_GBps");
    }
    if (s->nvlink.kind != CS_DIRECT && s->links_at_once > 0) {
        return REFUSE(g, e, "links_at_once is of nvlink=\"direct\" alone");
    }
    return CS_OK;
}

/* One NIC and the GPUs near it. `seen` marks GPUs by their server. */
static cs_status read_nic(graph *g, const cs_xml *e, uint32_t server, uint32_t nic)
{
    cs_logical              *l = g->l;
    const cs_logical_server *s = &l->servers[server];
    cs_logical_nic          *n = &l->nics[nic];

    *n = (cs_logical_nic){server, g->defaults->nic_Bps, g->defaults->nic_Bps};
    CS_TRY(cs_xml_take_real(&g->r, e, "gbps", false, GIGABIT, &n->egress_Bps));
    n->ingress_Bps = n->egress_Bps;
    CS_TRY(cs_xml_take_real(&g->r, e, "gbps_in", false, GIGABIT, &n->ingress_Bps));
    g->nics[nic].nic = nic;
    CS_TRY(cs_xml_need_number(&g->r, e, "id", UINT32_MAX - 1, &g->nics[nic].id));
    for (const cs_xml *gpu = e->child; gpu != NULL; gpu = gpu->next) {
        uint32_t id = 0;

        CS_TRY(cs_xml_need_number(&g->r, gpu, "id", CS_MAX_RANKS - 1, &id));
        if (id < s->first_rank || id >= s->first_rank + s->n_gpus) {
            return REFUSE(g, gpu,
                          "id=\"%u\": accepted are %u to %u on server %u, since world ranks are "
                          "dense, server by server",
                          id, s->first_rank, s->first_rank + s->n_gpus - 1, server);
        }
        if (l->server_of[id] != UINT32_MAX) {
            return REFUSE(g, gpu, "id=\"%u\" is there twice", id);
        }
        l->server_of[id] = server;
        l->nic_of[id]    = nic;
    }
    return CS_OK;
}

static cs_status read_server(graph *g, uint32_t server, uint32_t *rank, uint32_t *nic)
{
    cs_xml            *e  = g->servers[server];
    cs_logical_server *s  = &g->l->servers[server];
    const char        *ip = NULL;

    *s = (cs_logical_server){.first_rank = *rank, .first_nic = *nic};
    for (const cs_xml *n = e->child; n != NULL; n = n->next) {
        s->n_nics++;
        for (const cs_xml *gpu = n->child; gpu != NULL; gpu = gpu->next) {
            s->n_gpus++;
        }
    }
    if (s->n_gpus < 1) {
        return REFUSE(g, e, "has no GPU");
    }
    CS_TRY(cs_xml_need_text(&g->r, e, "ip", &ip));
    s->ip = cs_arena_strdup(&g->l->arena, ip);
    if (s->ip == NULL) {
        return CS_NO_MEMORY(g->r.err, "a logical topology");
    }
    CS_TRY(read_fabrics(g, e, s));
    if (s->n_gpus % s->n_sockets != 0) {
        return REFUSE(g, e, "has %u GPUs on %u sockets: accepted are as many on each", s->n_gpus,
                      s->n_sockets);
    }
    for (const cs_xml *n = e->child; n != NULL; n = n->next) {
        CS_TRY(read_nic(g, n, server, (*nic)++));
    }
    *rank += s->n_gpus;
    return CS_OK;
}

static int by_ip(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* The ip tells servers apart. */
static cs_status check_ips(graph *g)
{
    uint32_t     n   = g->l->n_servers;
    const char **ips = CS_ARENA_NEW(&g->r.arena, const char *, n);

    if (ips == NULL) {
        return CS_NO_MEMORY(g->r.err, "a logical topology");
    }
    for (uint32_t i = 0; i < n; i++) {
        ips[i] = g->l->servers[i].ip;
    }
    qsort(ips, n, sizeof *ips, by_ip);
    for (uint32_t i = 1; i < n; i++) {
        if (strcmp(ips[i - 1], ips[i]) == 0) {
            return REFUSE(g, g->top, "has two servers with ip=\"%.40s\"", ips[i]);
        }
    }
    return CS_OK;
}

/* Links. */

static int by_id(const void *left, const void *right)
{
    const numbered *a = left, *b = right;

    return a->id != b->id ? (a->id > b->id) - (a->id < b->id)
                          : (a->nic > b->nic) - (a->nic < b->nic);
}

/* The server at an end of a link between servers: nicN. */
static cs_status find_server(graph *g, const cs_xml *e, const char *end, uint32_t *server_p)
{
    const char *text = NULL;
    char       *rest = NULL;

    CS_TRY(cs_xml_need_text(&g->r, e, end, &text));
    bool          is_nic = strncmp(text, "nic", 3) == 0 && text[3] >= '0' && text[3] <= '9';
    unsigned long id     = is_nic ? strtoul(text + 3, &rest, 10) : 0;
    if (!is_nic || *rest != '\0' || id >= UINT32_MAX) {
        return REFUSE(g, e, "%s=\"%.40s\": accepted is nicN with the id of a NIC", end, text);
    }
    for (size_t low = 0, high = g->l->n_nics; low < high;) {
        size_t          middle = low + (high - low) / 2;
        const numbered *at     = &g->nics[middle];
        if (at->id == id) {
            *server_p = g->l->nics[at->nic].server;
            bool again =
                (middle > 0 && at[-1].id == id) || (middle + 1 < g->l->n_nics && at[1].id == id);
            return again ? REFUSE(g, e, "%s=\"%.40s\": there are several NICs with that id", end,
                                  text)
                         : CS_OK;
        }
        low  = at->id < id ? middle + 1 : low;
        high = at->id < id ? high : middle;
    }
    return REFUSE(g, e, "%s=\"%.40s\": there is no such NIC", end, text);
}

/* Room for links between `n` things; none is there yet. */
static cs_status need_links(graph *g, const cs_xml *e, cs_logical_link **links_p, uint32_t n)
{
    if (*links_p != NULL) {
        return CS_OK;
    }
    g->n_pairs += (uint64_t)n * n;
    if (g->n_pairs > MOST_PAIRS) {
        return REFUSE(g, e, "joins one of more than 2^22 pairs");
    }
    *links_p = CS_ARENA_NEW(&g->l->arena, cs_logical_link, (size_t)n * n);
    return *links_p != NULL ? CS_OK : CS_NO_MEMORY(g->r.err, "a logical topology");
}

/* Where a link belongs, and what it has that its element does not say. */
typedef struct link_place {
    cs_logical_link *links; /* [n][n] */
    uint32_t         n, from, to;
    cs_logical_link  usual;
} link_place;

static double lesser(double a, double b)
{
    return a < b ? a : b;
}

static cs_status place_net(graph *g, const cs_xml *e, link_place *p)
{
    CS_TRY(find_server(g, e, "src", &p->from));
    CS_TRY(find_server(g, e, "dst", &p->to));
    CS_TRY(need_links(g, e, &g->l->net, g->l->n_servers));
    p->links = g->l->net;
    p->n     = g->l->n_servers;
    p->usual = (cs_logical_link){g->l->net_alpha_s,
                                 lesser(g->l->nics[g->l->servers[p->from].first_nic].egress_Bps,
                                        g->l->nics[g->l->servers[p->to].first_nic].ingress_Bps)};
    return CS_OK;
}

static cs_status place_inside(graph *g, const cs_xml *e, link_place *p)
{
    uint32_t from = 0, to = 0;

    CS_TRY(cs_xml_need_number(&g->r, e, "src", g->l->n_ranks - 1, &from));
    CS_TRY(cs_xml_need_number(&g->r, e, "dst", g->l->n_ranks - 1, &to));
    if (g->l->server_of[from] != g->l->server_of[to]) {
        return REFUSE(g, e,
                      "joins ranks %u and %u of two servers: accepted is kind=\"net\" between "
                      "their NICs",
                      from, to);
    }
    cs_logical_server *s = &g->l->servers[g->l->server_of[from]];
    CS_TRY(need_links(g, e, &s->links, s->n_gpus));
    *p = (link_place){s->links,
                      s->n_gpus,
                      from - s->first_rank,
                      to - s->first_rank,
                      {s->nvlink.alpha_s, s->nvlink.bandwidth_Bps}};
    return CS_OK;
}

/* Read the element of a link. The first time it gets what it says, the second time its other
 * direction the same, where that has got nothing. */
static cs_status read_link(graph *g, const cs_xml *e, bool is_second)
{
    link_place  p    = {0};
    const char *kind = NULL;

    CS_TRY(cs_xml_need_text(&g->r, e, "kind", &kind));
    if (strcmp(kind, "net") == 0) {
        CS_TRY(place_net(g, e, &p));
    } else if (strcmp(kind, "nvlink") == 0 || strcmp(kind, "pcie") == 0) {
        CS_TRY(place_inside(g, e, &p));
    } else {
        return REFUSE(g, e, "kind=\"%.40s\": accepted are nvlink, pcie, net", kind);
    }
    if (p.from == p.to) {
        return REFUSE(g, e, "joins a %s with itself", strcmp(kind, "net") == 0 ? "server" : "rank");
    }
    cs_logical_link *here = &p.links[(size_t)p.from * p.n + p.to];
    cs_logical_link *back = &p.links[(size_t)p.to * p.n + p.from];
    if (is_second) {
        *back = back->bandwidth_Bps > 0 ? *back : *here;
        return CS_OK;
    }
    if (here->bandwidth_Bps > 0) {
        return REFUSE(g, e, "joins a pair that has a link already");
    }
    CS_TRY(cs_xml_take_real(&g->r, e, "alpha_us", true, MICROSECOND, &p.usual.alpha_s));
    CS_TRY(cs_xml_take_real(&g->r, e, "GBps", false, GIGABYTE, &p.usual.bandwidth_Bps));
    *here = p.usual;
    return CS_OK;
}

static cs_status read_graph(graph *g)
{
    cs_logical *l    = g->l;
    uint32_t    rank = 0, nic = 0;

    CS_TRY(count_elements(g));
    CS_TRY(make_room(g));
    CS_TRY(find_servers(g));
    l->net_alpha_s = g->defaults->net_alpha_s;
    CS_TRY(cs_xml_take_real(&g->r, g->top, "alpha_us", true, MICROSECOND, &l->net_alpha_s));
    memset(l->server_of, 0xff, l->n_ranks * sizeof *l->server_of);
    for (uint32_t s = 0; s < l->n_servers; s++) {
        CS_TRY(read_server(g, s, &rank, &nic));
    }
    CS_TRY(check_ips(g));
    qsort(g->nics, l->n_nics, sizeof *g->nics, by_id);
    for (int second = 0; second < 2; second++) {
        for (const cs_xml *e = g->top->child; e != NULL; e = e->next) {
            if (is_called(e, "link")) {
                CS_TRY(read_link(g, e, second != 0));
            }
        }
    }
    return cs_logical_check(l, g->r.err);
}

cs_status cs_logical_parse(const char *text, size_t length, const char *input,
                           const cs_logical_defaults *defaults, cs_logical *logical, cs_error *err)
{
    graph g = {.r        = {.input = input, .err = err, .max_depth = MOST_DEPTH},
               .defaults = defaults,
               .l        = logical};

    *logical         = (cs_logical){0};
    cs_status status = cs_xml_read(&g.r, text, length, &g.top);
    status           = status == CS_OK ? read_graph(&g) : status;
    if (status != CS_OK && status != CS_ENOMEM) {
        cs_error_locate(err, input, 1, 1);
    }
    cs_xml_reader_free(&g.r);
    return status;
}

cs_status cs_logical_load(const char *path, const cs_logical_defaults *defaults,
                          cs_logical *logical, cs_error *err)
{
    char  *text   = NULL;
    size_t length = 0;

    *logical = (cs_logical){0};
    CS_TRY(cs_file_read(path, CS_LOGICAL_MAX_BYTES, &text, &length, err));
    cs_status status = cs_logical_parse(text, length, path, defaults, logical, err);
    cs_free(text);
    return status;
}

/* Writing. */

static void write_server(cs_text *text, const cs_logical *l, uint32_t server)
{
    const cs_logical_server *s = &l->servers[server];

    cs_text_add(text, "  <server id=\"%u\"", server);
    cs_xml_add_text(text, "ip", s->ip);
    cs_text_add(text, " nvlink=\"%s\"", s->nvlink.kind == CS_DIRECT ? "direct" : "switched");
    if (s->nvlink.bandwidth_Bps > 0) {
        cs_xml_add_real(text, "nvlink_GBps", s->nvlink.bandwidth_Bps / GIGABYTE);
        cs_xml_add_real(text, "nvlink_alpha_us", s->nvlink.alpha_s * MICROSECONDS);
    }
    if (s->links_at_once > 0) {
        cs_text_add(text, " links_at_once=\"%u\"", s->links_at_once);
    }
    if (s->n_sockets > 1) {
        cs_text_add(text, " sockets=\"%u\"", s->n_sockets);
        cs_xml_add_real(text, "cross_GBps", s->cross.bandwidth_Bps / GIGABYTE);
        cs_xml_add_real(text, "cross_alpha_us", s->cross.alpha_s * MICROSECONDS);
    }
    cs_text_add(text, ">\n");
    for (uint32_t i = s->first_nic; i < s->first_nic + s->n_nics; i++) {
        const cs_logical_nic *n = &l->nics[i];

        cs_text_add(text, "    <nic id=\"%u\"", i);
        cs_xml_add_real(text, "gbps", n->egress_Bps / GIGABIT);
        if (n->ingress_Bps < n->egress_Bps || n->ingress_Bps > n->egress_Bps) {
            cs_xml_add_real(text, "gbps_in", n->ingress_Bps / GIGABIT);
        }
        cs_text_add(text, ">");
        for (uint32_t g = s->first_rank; g < s->first_rank + s->n_gpus; g++) {
            if (l->nic_of[g] == i) {
                cs_text_add(text, "<gpu id=\"%u\"/>", g);
            }
        }
        cs_text_add(text, "</nic>\n");
    }
    cs_text_add(text, "  </server>\n");
}

/* A link of its own. One without would get that of the other direction: it is written as it is. */
static void write_link(cs_text *text, const char *end, const char *kind, uint32_t src, uint32_t dst,
                       double alpha_s, double bandwidth_Bps)
{
    cs_text_add(text, "  <link src=\"%s%u\" dst=\"%s%u\" kind=\"%s\"", end, src, end, dst, kind);
    cs_xml_add_real(text, "alpha_us", alpha_s * MICROSECONDS);
    cs_xml_add_real(text, "GBps", bandwidth_Bps / GIGABYTE);
    cs_text_add(text, "/>\n");
}

static void write_links(cs_text *text, const cs_logical *l, const cs_logical_server *s)
{
    for (uint32_t from = 0; s->links != NULL && from < s->n_gpus; from++) {
        for (uint32_t to = 0; to < s->n_gpus; to++) {
            bool has_own = s->links[(size_t)from * s->n_gpus + to].bandwidth_Bps > 0 ||
                           s->links[(size_t)to * s->n_gpus + from].bandwidth_Bps > 0;
            if (from != to && has_own) {
                const cs_logical_edge e =
                    cs_logical_edge_of(l, s->first_rank + from, s->first_rank + to);
                write_link(text, "", "nvlink", s->first_rank + from, s->first_rank + to, e.alpha_s,
                           e.bandwidth_Bps);
            }
        }
    }
}

void cs_logical_write(cs_text *text, const cs_logical *logical)
{
    const cs_logical *l = logical;

    cs_text_add(text, "<graph");
    cs_xml_add_real(text, "alpha_us", l->net_alpha_s * MICROSECONDS);
    cs_text_add(text, ">\n");
    for (uint32_t s = 0; s < l->n_servers; s++) {
        write_server(text, l, s);
    }
    for (uint32_t s = 0; s < l->n_servers; s++) {
        write_links(text, l, &l->servers[s]);
    }
    for (uint32_t from = 0; l->net != NULL && from < l->n_servers; from++) {
        for (uint32_t to = 0; to < l->n_servers; to++) {
            bool has_own = l->net[(size_t)from * l->n_servers + to].bandwidth_Bps > 0 ||
                           l->net[(size_t)to * l->n_servers + from].bandwidth_Bps > 0;
            if (from != to && has_own) {
                const cs_logical_edge e =
                    cs_logical_edge_of(l, l->servers[from].first_rank, l->servers[to].first_rank);
                write_link(text, "nic", "net", l->servers[from].first_nic, l->servers[to].first_nic,
                           e.alpha_s, e.bandwidth_Bps);
            }
        }
    }
    cs_text_add(text, "</graph>\n");
}
