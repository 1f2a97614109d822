/* SPDX-License-Identifier: GPL-3.0-or-later */
/* InfraGraph's keys as tables of fields.
 *
 * Read is the schema of today (components with `count` and `choice`, links with `physical`, edges
 * of `ep1` and `ep2`) and the one before it (components with `type`, links with `bandwidth`,
 * connections like "xpu.0.nvlink.nvlsw.0", whose numbers say how many components there are).
 */
#include "topology/infragraph_keys.h"

#include <string.h>

#define MOST_LINKS      1024 /* kinds of links of a device */
#define MOST_DEVICES    1024
#define MOST_INSTANCES  4096
#define MOST_COMPONENTS 4096
#define MOST_RATE       1e9 /* in the units of the file */
#define MAX_BPS         1e15
#define MAX_SECONDS     1e3

/* ---- rates and latencies ---- */

typedef struct unit {
    const char *name;
    double      factor, divisor;
} unit;

static const unit rate_units[] = {
    {"gigabits_per_second", 1e9, 8},
    {"gigabytes_per_second", 1e9, 1},
    {"gigatransfers_per_second", 1e9, 8},
    {"giga_bits_per_second", 1e9, 8},
    {"giga_bytes_per_second", 1e9, 1},
    {"giga_transfers_per_second", 1e9, 8},
    {NULL, 0, 0},
};
static const unit time_units[] = {
    {"ms", 1, 1e3},
    {"us", 1, 1e6},
    {"ns", 1, 1e9},
    {NULL, 0, 0},
};

static const unit *find_unit(const unit *units, const char *name)
{
    while (units->name != NULL && strcmp(units->name, name) != 0) {
        units++;
    }
    return units->name != NULL ? units : NULL;
}

/* The only key of the object that is a unit, or the one that `choice` names. NULL: refused, or
 * there is none. */
static const unit *chosen_unit(cs_reading *r, const cs_place *place, const unit *units)
{
    cs_place    choice = cs_place_get(place, "choice");
    const char *name   = json_string_value(choice.node), *key;
    const unit *chosen = NULL;
    json_t     *value;

    json_object_foreach(place->node, key, value)
    {
        const unit *u     = find_unit(units, key);
        cs_place    wrong = cs_place_get(place, key);
        if (u == NULL && strcmp(key, "choice") != 0) {
            CS_REFUSE(r, &wrong, CS_EINVAL, "unknown unit: known are %s, %s and %s", units[0].name,
                      units[1].name, units[2].name);
            return NULL;
        }
        chosen = u != NULL && (name == NULL || strcmp(name, key) == 0) ? u : chosen;
    }
    if (chosen == NULL && choice.node != NULL) {
        CS_REFUSE(r, &choice, CS_EINVAL,
                  "chooses a unit that is not there: accepted is %s, %s or %s "
                  "with its value beside it",
                  units[0].name, units[1].name, units[2].name);
    }
    return chosen;
}

/* A rate or latency in the unit that is chosen; false where there is none, or it is refused. */
static bool read_measure(cs_reading *r, const cs_place *place, const unit *units,
                         const unit **unit_p, double *value_p)
{
    static const cs_field number = {
        .name = "value", .type = CS_FIELD_F64, .max = MOST_RATE, .is_above = true};

    if (cs_reading_failed(r) || place->node == NULL || json_is_null(place->node)) {
        return false;
    }
    if (!json_is_object(place->node)) {
        cs_refuse_kind(r, place, "an object with a unit as its key");
        return false;
    }
    const unit *u = chosen_unit(r, place, units);
    if (u == NULL) {
        return false;
    }
    cs_place value = cs_place_get(place, u->name);
    double   given = 0;
    cs_field row   = number;
    row.is_above   = units == rate_units; /* a latency may be 0 */
    cs_read_row(r, &value, &row, &given);
    *unit_p  = u;
    *value_p = given * u->factor / u->divisor;
    return !cs_reading_failed(r);
}

static void read_bandwidth(cs_reading *r, const cs_place *place, const cs_field *row, void *object)
{
    cs_ig_link *link     = object;
    const unit *u        = NULL;
    double      rate_Bps = 0;

    (void)row;
    if (!read_measure(r, place, rate_units, &u, &rate_Bps)) {
        return;
    }
    if (rate_Bps < 1 || rate_Bps > MAX_BPS) {
        CS_REFUSE(r, place, CS_EINVAL, "%.15g B/s is outside [1, 1e15]", rate_Bps);
        return;
    }
    link->in_transfers = strstr(u->name, "transfers") != NULL;
    link->in_bytes     = strstr(u->name, "bytes") != NULL;
    link->rate_Bps     = rate_Bps;
    if (link->in_transfers) { /* of 16 lanes, without what the code takes */
        link->rate_Bps *= 16 * (rate_Bps < 1e9 ? 0.8 : 128. / 130);
    }
}

static void read_latency(cs_reading *r, const cs_place *place, const cs_field *row, void *object)
{
    cs_ig_link *link = object;
    const unit *u    = NULL;

    (void)row;
    link->has_latency = read_measure(r, place, time_units, &u, &link->latency_s);
    if (link->has_latency && link->latency_s > MAX_SECONDS) {
        CS_REFUSE(r, place, CS_EINVAL, "%.15g s is outside [0, 1000]", link->latency_s);
    }
}

/* The object `custom`, whose key `type` says what a component is. */
static void read_custom(cs_reading *r, const cs_place *place, const cs_field *row, void *object)
{
    cs_ig_component      *keys     = object;
    static const cs_field fields[] = {
        CS_KEY(cs_ig_component, type, "type", .has_null = true, .help = "what it is"),
        CS_FIELD_END,
    };

    (void)row;
    if (place->node != NULL && !json_is_null(place->node)) {
        (void)cs_read_fields(r, place, fields, keys);
    }
}

/* ---- the tables ---- */

/* clang-format off */
#define SKIPPED(key)                                                                               \
    {.name = (key), .type = CS_FIELD_ANY, .offset = CS_NOWHERE, .read = cs_read_elsewhere}
#define NAME(type, ...) CS_KEY(type, name, "name", .is_required = true, __VA_ARGS__)
#define COUNT(type)                                                                                \
    CS_KEY(type, count, "count", .min = 1, .max = CS_IG_MOST_EACH, .help = "how many there are")

static const cs_field component_fields[] = {
    NAME(cs_ig_component, .help = "of the component"),
    SKIPPED("description"),
    COUNT(cs_ig_component),
    CS_KEY(cs_ig_component, choice, "choice", .help = "xpu, nic, cpu, switch, port, memory, device or custom"),
    CS_KEY(cs_ig_component, type, "type", .help = "the same in files of before"),
    {.name = "custom", .type = CS_FIELD_ANY, .offset = 0, .read = read_custom},
    SKIPPED("device"), SKIPPED("cpu"), SKIPPED("xpu"), SKIPPED("nic"), SKIPPED("memory"), SKIPPED("port"),
    SKIPPED("switch"), SKIPPED("external"),
    CS_FIELD_END,
};
static const cs_field physical_fields[] = {
    {.name = "bandwidth", .type = CS_FIELD_ANY, .offset = 0, .read = read_bandwidth},
    {.name = "latency", .type = CS_FIELD_ANY, .offset = 0, .read = read_latency},
    CS_FIELD_END,
};
static const cs_field link_fields[] = {
    NAME(cs_ig_link, .help = "of the kind of link"),
    SKIPPED("description"),
    {.name = "physical", .type = CS_FIELD_OBJECT, .offset = 0, .fields = physical_fields, .has_null = true,
     .help = "bandwidth and latency"},
    {.name = "bandwidth", .type = CS_FIELD_ANY, .offset = 0, .read = read_bandwidth},
    CS_FIELD_END,
};
static const cs_field inner_end_fields[] = {
    CS_KEY(cs_ig_end, holder, "device", .has_null = true, .help = "a device inside this one"),
    CS_KEY(cs_ig_end, component, "component", .is_required = true, .help = "a component, as in xpu[0:8]"),
    CS_FIELD_END,
};
static const cs_field outer_end_fields[] = {
    CS_KEY(cs_ig_end, holder, "instance", .is_required = true, .help = "an instance, as in host[0:4]"),
    CS_KEY(cs_ig_end, component, "component", .is_required = true, .help = "a component of its device"),
    CS_FIELD_END,
};
#define EDGE_ROWS(ends)                                                                            \
    CS_KEY_OF(CS_FIELD_OBJECT, cs_ig_edge_keys, ep1, "ep1", .fields = (ends), .is_required = true),       \
    CS_KEY_OF(CS_FIELD_OBJECT, cs_ig_edge_keys, ep2, "ep2", .fields = (ends), .is_required = true),       \
    CS_KEY(cs_ig_edge_keys, scheme, "scheme", .is_required = true, .help = "one2one or many2many"),       \
    CS_KEY(cs_ig_edge_keys, link, "link", .is_required = true, .help = "a kind of link"),                \
    CS_FIELD_END
static const cs_field inner_edge_fields[] = {EDGE_ROWS(inner_end_fields)};
static const cs_field outer_edge_fields[] = {EDGE_ROWS(outer_end_fields)};

static const cs_field a_component[]  = {{.type = CS_FIELD_OBJECT, .fields = component_fields}};
static const cs_field a_link[]       = {{.type = CS_FIELD_OBJECT, .fields = link_fields}};
static const cs_field an_inner_edge[] = {{.type = CS_FIELD_OBJECT, .fields = inner_edge_fields}};
static const cs_field an_outer_edge[] = {{.type = CS_FIELD_OBJECT, .fields = outer_edge_fields}};
static const cs_field a_connection[] = {{.type = CS_FIELD_TEXT}};

static const cs_field device_fields[] = {
    NAME(cs_ig_device_keys, .help = "of the device"),
    SKIPPED("description"),
    CS_KEY_LIST(cs_ig_device_keys, components, n_components, "components", a_component, .is_required = true,
                .max = MOST_COMPONENTS),
    CS_KEY_LIST(cs_ig_device_keys, links, n_links, "links", a_link, .max = MOST_LINKS, .has_null = true),
    CS_KEY_LIST(cs_ig_device_keys, edges, n_edges, "edges", an_inner_edge, .help = "between components", .has_null = true),
    CS_KEY_LIST(cs_ig_device_keys, connections, n_connections, "connections", a_connection, .help = "a line for each", .has_null = true),
    CS_FIELD_END,
};
static const cs_field instance_fields[] = {
    NAME(cs_ig_instance, .help = "of the instances"),
    SKIPPED("description"),
    CS_KEY(cs_ig_instance, device, "device", .is_required = true, .help = "of which they are"),
    COUNT(cs_ig_instance),
    CS_FIELD_END,
};
static const cs_field a_device[]    = {{.type = CS_FIELD_OBJECT, .fields = device_fields}};
static const cs_field an_instance[] = {{.type = CS_FIELD_OBJECT, .fields = instance_fields}};

static const cs_field infra_fields[] = {
    SKIPPED("name"), SKIPPED("description"),
    CS_KEY_LIST(cs_ig_keys, devices, n_devices, "devices", a_device, .is_required = true, .max = MOST_DEVICES),
    CS_KEY_LIST(cs_ig_keys, links, n_links, "links", a_link, .max = MOST_LINKS, .has_null = true),
    CS_KEY_LIST(cs_ig_keys, instances, n_instances, "instances", an_instance, .max = MOST_INSTANCES, .has_null = true),
    CS_KEY_LIST(cs_ig_keys, edges, n_edges, "edges", an_outer_edge, .help = "between instances", .has_null = true),
    CS_KEY_LIST(cs_ig_keys, connections, n_connections, "connections", a_connection, .help = "a line for each", .has_null = true),
    CS_FIELD_END,
};
/* What may stand around it. */
static const cs_field wrap_fields[] = {
    SKIPPED("infrastructure"), SKIPPED("infragraph"), SKIPPED("annotations"), SKIPPED("choice"), CS_FIELD_END,
};
/* clang-format on */

/* ---- the file ---- */

/* Go inside what stands around an infrastructure; count the annotations beside it. */
static cs_place find_infra(cs_reading *r, const cs_place *root, cs_place *wraps, uint32_t *n_p)
{
    static const char *const keys[] = {"infragraph", "infrastructure"};
    cs_place                 at     = *root;

    for (int i = 0; i < 2 && !cs_reading_failed(r); i++) {
        wraps[i]       = at;
        cs_place inner = cs_place_get(&wraps[i], keys[i]);
        if (inner.node == NULL) {
            continue;
        }
        if (cs_read_keys(r, &wraps[i], wrap_fields)) {
            json_t     *annotations = json_object_get(wraps[i].node, "annotations"), *list;
            const char *key;
            json_object_foreach(annotations, key, list)
            {
                *n_p += (uint32_t)json_array_size(list);
            }
        }
        at = inner;
    }
    return at;
}

/* Is the root a device, which needs no infrastructure around it? Then it is the only one. */
static void read_root(cs_reading *r, const cs_place *infra, cs_ig_keys *keys)
{
    if (!cs_place_has(infra, "components")) {
        (void)cs_read_fields(r, infra, infra_fields, keys);
        return;
    }
    keys->devices   = CS_ARENA_NEW(r->arena, cs_ig_device_keys, 1);
    keys->n_devices = 1;
    if (keys->devices == NULL) {
        CS_REFUSE_MEMORY(r, infra, "a topology");
        return;
    }
    (void)cs_read_fields(r, infra, device_fields, keys->devices);
}

cs_place cs_ig_read_keys(cs_reading *r, const cs_place *root, cs_place wraps[2], cs_ig_keys *keys,
                         uint32_t *n_p)
{
    cs_place infra = find_infra(r, root, wraps, n_p);

    if (!cs_reading_failed(r)) {
        read_root(r, &infra, keys);
    }
    return infra;
}

/* ---- what begins like one ---- */

static const char *const root_keys[] = {
    "infrastructure", "infragraph", "devices", "instances", "edges",       "connections",
    "links",          "components", "device",  "name",      "description", "annotations"};

bool cs_is_infragraph(const json_t *object)
{
    static const char *const telling[] = {"infrastructure", "infragraph", "devices", "instances",
                                          "components"};

    for (size_t i = 0; i < sizeof telling / sizeof telling[0]; i++) {
        if (json_object_get(object, telling[i]) != NULL) {
            return json_object_get(object, "kind") == NULL;
        }
    }
    return false;
}

/* The first line that says something begins with one of the keys. */
bool cs_begins_infragraph(const char *text)
{
    for (;;) {
        text += strspn(text, " \t\r\n");
        if (*text != '#' && *text != '%' && strncmp(text, "---", 3) != 0) {
            break;
        }
        text += strcspn(text, "\n");
    }
    bool   is_quoted = *text == '"' || *text == '\'';
    size_t length    = strcspn(text + is_quoted, is_quoted ? "\"'" : ": \t\r\n");

    for (size_t i = 0; i < sizeof root_keys / sizeof root_keys[0]; i++) {
        const char *end = text + is_quoted + length + is_quoted;
        if (strlen(root_keys[i]) == length &&
            strncmp(text + is_quoted, root_keys[i], length) == 0) {
            return end[strspn(end, " \t")] == ':';
        }
    }
    return false;
}
