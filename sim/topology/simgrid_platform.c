/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hosts and links are counted, then filled, then routes; names are found in a JSON object as in a
 * dictionary. */
#include "topology/topology_file.h"

#include "input/tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef struct platform {
    const char     *input;
    cs_arena       *arena;
    cs_error       *err;
    json_t         *hosts, *links; /* name -> number; owned */
    cs_route_table *table;
    const char    **host_names, **link_names;
    cs_link        *link_list;
    bool           *is_split; /* per link: the one after it is its way down */
    uint32_t       *first;
    uint8_t        *count;
    uint32_t       *ways; /* [room] */
    size_t          n_ways, room;
} platform;

typedef struct unit {
    const char *name;
    double      factor;
} unit;

static const unit rates[] = {
    {"Bps", 1},      {"kBps", 1e3},   {"MBps", 1e6},      {"GBps", 1e9},
    {"TBps", 1e12},  {"KiBps", 1024}, {"MiBps", 1048576}, {"GiBps", 1073741824},
    {"bps", 0.125},  {"kbps", 125},   {"Mbps", 125e3},    {"Gbps", 125e6},
    {"Tbps", 125e9}, {"Kibps", 128},  {"Mibps", 131072},  {"Gibps", 134217728},
    {NULL, 0},
};
static const unit times[] = {
    {"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}, {"ps", 1e-12}, {"m", 60}, {NULL, 0},
};

/* A number with a unit; false where it is neither. */
static bool quantity(const char *text, const unit *units, double *value_p)
{
    char  *end;
    double value = text != NULL ? strtod(text, &end) : 0;

    if (text == NULL || end == text || !isfinite(value)) {
        return false;
    }
    for (const unit *u = units; u->name != NULL; u++) {
        if (strcmp(end, u->name) == 0) {
            *value_p = value * u->factor;
            return true;
        }
    }
    return false;
}

static const char *attribute(const cs_xml *e, const char *name)
{
    const char *text = cs_xml_get(e, name);
    return text != NULL ? text : "";
}

/* Enter a name that must be new. */
static cs_status enter(const platform *p, json_t *names, const cs_xml *e, const char *name,
                       uint32_t number)
{
    if (name[0] == '\0' || json_object_get(names, name) != NULL) {
        return CS_XML_FAIL(p->err, p->input, e, "id=\"%.60s\" is %s", name,
                           name[0] == '\0' ? "empty" : "there already");
    }
    return json_object_set_new(names, name, json_integer(number)) == 0
               ? CS_OK
               : CS_NO_MEMORY(p->err, "a topology");
}

static cs_status add_host(platform *p, const cs_xml *e)
{
    cs_route_table *t  = p->table;
    const char     *id = attribute(e, "id");

    if (t->n_hosts == CS_ROUTE_TABLE_MAX_HOSTS) {
        return CS_XML_FAIL(p->err, p->input, e, "more than %d hosts", CS_ROUTE_TABLE_MAX_HOSTS);
    }
    p->host_names[t->n_hosts] = id;
    return enter(p, p->hosts, e, id, t->n_hosts++);
}

static cs_status add_link(platform *p, const cs_xml *e)
{
    cs_route_table *t        = p->table;
    const char     *id       = attribute(e, "id");
    const char     *policy   = cs_xml_get(e, "sharing_policy");
    bool            is_split = policy != NULL && strcmp(policy, "SPLITDUPLEX") == 0;
    cs_link         link     = {0};

    if (policy != NULL && !is_split && strcmp(policy, "SHARED") != 0) {
        return CS_XML_FAIL(p->err, p->input, e,
                           "sharing_policy=\"%.30s\" of link %.60s is not accepted: SHARED and "
                           "SPLITDUPLEX are",
                           policy, id);
    }
    if (!quantity(cs_xml_get(e, "bandwidth"), rates, &link.bandwidth_Bps) ||
        !(link.bandwidth_Bps > 0)) {
        return CS_XML_FAIL(p->err, p->input, e,
                           "link %.60s has bandwidth=\"%.30s\": accepted are rates above 0 like "
                           "125MBps or 1Gbps",
                           id, attribute(e, "bandwidth"));
    }
    if (cs_xml_get(e, "latency") != NULL &&
        (!quantity(cs_xml_get(e, "latency"), times, &link.latency_s) || !(link.latency_s >= 0))) {
        return CS_XML_FAIL(p->err, p->input, e,
                           "link %.60s has latency=\"%.30s\": accepted are times like 50us", id,
                           attribute(e, "latency"));
    }
    for (uint32_t way = 0; way < 1u + is_split; way++) {
        p->link_names[t->n_links + way] = id;
        p->link_list[t->n_links + way]  = link;
    }
    p->is_split[t->n_links] = is_split;
    cs_status status        = enter(p, p->links, e, id, t->n_links);
    t->n_links += 1 + is_split;
    return status;
}

static bool is_skipped(const char *name)
{
    return strcmp(name, "config") == 0 || strcmp(name, "prop") == 0 || strcmp(name, "router") == 0;
}

static cs_status refuse_element(const platform *p, const cs_xml *e)
{
    return CS_XML_FAIL(p->err, p->input, e,
                       "<%.40s> is not part of the subset that is read: platform, one zone, host, "
                       "link, route, link_ctn; skipped are config, prop, router",
                       e->name);
}

/* The number of a name in an attribute. */
static cs_status find(const platform *p, const json_t *names, const cs_xml *e, const char *key,
                      const char *what, uint32_t *number_p)
{
    json_t *number = json_object_get(names, attribute(e, key));

    if (number == NULL) {
        return CS_XML_FAIL(p->err, p->input, e, "%s=\"%.60s\" names no %s", key, attribute(e, key),
                           what);
    }
    *number_p = (uint32_t)json_integer_value(number);
    return CS_OK;
}

/* A route's links into `ways`, forwards. */
static cs_status read_way(const platform *p, const cs_xml *route, uint32_t *ways, uint32_t *n_p)
{
    for (const cs_xml *e = route->child; e != NULL; e = e->next) {
        if (strcmp(e->name, "link_ctn") != 0) {
            if (!is_skipped(e->name)) {
                return refuse_element(p, e);
            }
            continue;
        }
        uint32_t    link      = 0;
        const char *direction = attribute(e, "direction");
        bool        is_down   = strcmp(direction, "DOWN") == 0;
        if (*n_p == CS_MAX_ROUTE) {
            return CS_XML_FAIL(p->err, p->input, e, "more than %u links in a route", CS_MAX_ROUTE);
        }
        CS_TRY(find(p, p->links, e, "id", "link", &link));
        if (p->is_split[link] ? !is_down && strcmp(direction, "UP") != 0
                              : direction[0] != '\0' && strcmp(direction, "NONE") != 0) {
            return CS_XML_FAIL(p->err, p->input, e,
                               "direction=\"%.20s\" of link %.60s: accepted are UP and DOWN for "
                               "SPLITDUPLEX links, none for SHARED ones",
                               direction, attribute(e, "id"));
        }
        ways[(*n_p)++] = link + is_down;
    }
    return CS_OK;
}

/* The same route back: the links in reverse, split ones the other way. */
static void turn(const platform *p, const uint32_t *ways, uint32_t n, uint32_t *back)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t link = ways[n - 1 - i];
        bool     down = link > 0 && p->is_split[link - 1];
        back[i]       = down ? link - 1 : p->is_split[link] ? link + 1 : link;
    }
}

static cs_status keep_way(platform *p, const cs_xml *e, uint32_t src, uint32_t dst,
                          const uint32_t *ways, uint32_t n)
{
    cs_route_table *t    = p->table;
    size_t          pair = (size_t)src * t->n_hosts + dst;

    if (p->count[pair] != CS_NO_ROUTE) {
        return CS_XML_FAIL(p->err, p->input, e, "a second route from %.60s to %.60s",
                           p->host_names[src], p->host_names[dst]);
    }
    if (p->n_ways + n > p->room) {
        size_t    room  = p->room == 0 ? 1024 : 2 * p->room;
        uint32_t *grown = CS_ARENA_NEW(p->arena, uint32_t, room);
        if (grown == NULL || room > UINT32_MAX) {
            return CS_NO_MEMORY(p->err, "a topology");
        }
        if (p->n_ways > 0) {
            memcpy(grown, p->ways, p->n_ways * sizeof *grown);
        }
        p->ways = grown;
        p->room = room;
    }
    p->first[pair] = (uint32_t)p->n_ways;
    p->count[pair] = (uint8_t)n;
    for (uint32_t i = 0; p->ways != NULL && i < n; i++) {
        p->ways[p->n_ways + i] = ways[i];
    }
    p->n_ways += n;
    t->max_route = n > t->max_route ? n : t->max_route;
    return CS_OK;
}

static cs_status add_route(platform *p, const cs_xml *e)
{
    uint32_t    src = 0, dst = 0, n = 0, ways[CS_MAX_ROUTE], back[CS_MAX_ROUTE];
    const char *symmetrical = attribute(e, "symmetrical");

    CS_TRY(find(p, p->hosts, e, "src", "host", &src));
    CS_TRY(find(p, p->hosts, e, "dst", "host", &dst));
    CS_TRY(read_way(p, e, ways, &n));
    if (src != dst) {
        CS_TRY(keep_way(p, e, src, dst, ways, n));
        if (strcasecmp(symmetrical, "NO") != 0) {
            turn(p, ways, n, back);
            CS_TRY(keep_way(p, e, dst, src, back, n));
        }
    }
    return CS_OK;
}

static cs_status read_devices(platform *p, const cs_xml *zone)
{
    for (const cs_xml *e = zone->child; e != NULL; e = e->next) {
        if (strcmp(e->name, "host") == 0) {
            CS_TRY(add_host(p, e));
        } else if (strcmp(e->name, "link") == 0) {
            CS_TRY(add_link(p, e));
        } else if (strcmp(e->name, "route") != 0 && !is_skipped(e->name)) {
            return refuse_element(p, e);
        }
    }
    return CS_OK;
}

static cs_status read_routes(platform *p, const cs_xml *zone)
{
    cs_route_table *t     = p->table;
    size_t          pairs = (size_t)t->n_hosts * t->n_hosts;

    p->first = CS_ARENA_NEW(p->arena, uint32_t, pairs + 1);
    p->count = CS_ARENA_NEW(p->arena, uint8_t, pairs + 1);
    if (p->first == NULL || p->count == NULL) {
        return CS_NO_MEMORY(p->err, "a topology");
    }
    memset(p->count, CS_NO_ROUTE, pairs);
    for (const cs_xml *e = zone->child; e != NULL; e = e->next) {
        if (strcmp(e->name, "route") == 0) {
            CS_TRY(add_route(p, e));
        }
    }
    return CS_OK;
}

static cs_status find_zone(const platform *p, const cs_xml *root, const cs_xml **zone_p)
{
    *zone_p = NULL;
    for (const cs_xml *e = root->child; e != NULL; e = e->next) {
        bool is_zone = strcmp(e->name, "zone") == 0 || strcmp(e->name, "AS") == 0;
        if (!is_zone && !is_skipped(e->name)) {
            return refuse_element(p, e);
        }
        if (is_zone && *zone_p != NULL) {
            return CS_XML_FAIL(p->err, p->input, e, "a second zone: one is accepted");
        }
        *zone_p = is_zone ? e : *zone_p;
    }
    if (*zone_p == NULL) {
        return CS_XML_FAIL(p->err, p->input, root, "has no zone");
    }
    const char *routing = attribute(*zone_p, "routing");
    if (strcmp(routing, "Full") != 0 && strcmp(routing, "None") != 0) {
        return CS_XML_FAIL(p->err, p->input, *zone_p,
                           "routing=\"%.30s\" is not accepted: Full is, with a route for every "
                           "pair of hosts",
                           routing);
    }
    return CS_OK;
}

static cs_status allocate(platform *p, const cs_xml *zone)
{
    size_t hosts = 1, links = 2;

    for (const cs_xml *e = zone->child; e != NULL; e = e->next) {
        hosts += strcmp(e->name, "host") == 0;
        links += 2 * (size_t)(strcmp(e->name, "link") == 0);
    }
    p->table      = CS_ARENA_NEW(p->arena, cs_route_table, 1);
    p->host_names = CS_ARENA_NEW(p->arena, const char *, hosts);
    p->link_names = CS_ARENA_NEW(p->arena, const char *, links);
    p->link_list  = CS_ARENA_NEW(p->arena, cs_link, links);
    p->is_split   = CS_ARENA_NEW(p->arena, bool, links);
    p->hosts      = json_object();
    p->links      = json_object();
    bool failed   = p->table == NULL || p->host_names == NULL || p->link_names == NULL ||
                  p->link_list == NULL || p->is_split == NULL || p->hosts == NULL ||
                  p->links == NULL;
    return failed ? CS_NO_MEMORY(p->err, "a topology") : CS_OK;
}

static cs_status read_zone(platform *p, const cs_xml *root, const cs_xml *zone)
{
    CS_TRY(allocate(p, zone));
    CS_TRY(read_devices(p, zone));
    if (p->table->n_hosts < 2) {
        return CS_XML_FAIL(p->err, p->input, root, "has %u hosts: accepted are 2 to %d",
                           p->table->n_hosts, CS_ROUTE_TABLE_MAX_HOSTS);
    }
    return read_routes(p, zone);
}

cs_status cs_simgrid_platform_read(const cs_xml *root, const char *input, cs_arena *arena,
                                   const cs_route_table **table_p, cs_error *err)
{
    platform      p    = {.input = input, .arena = arena, .err = err};
    const cs_xml *zone = NULL;

    CS_TRY(find_zone(&p, root, &zone));
    cs_status status = read_zone(&p, root, zone);
    json_decref(p.hosts);
    json_decref(p.links);
    CS_TRY(status);
    p.table->host_names  = p.host_names;
    p.table->link_names  = p.link_names;
    p.table->links       = p.link_list;
    p.table->first       = p.first;
    p.table->count       = p.count;
    p.table->route_links = p.ways;
    *table_p             = p.table;
    return CS_OK;
}
