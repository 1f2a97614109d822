/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Results with the same key are a row; its cells are the fastest results of each algorithm. Rows
 * are found once, by a hash of their keys. */
#include "output/comparison.h"

#include "base/alloc.h"
#include "base/random.h"
#include "cs/topology.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_COLUMNS = 64, NAMED_RANKS = 3, LABEL_BYTES = 96 };

typedef struct view {
    const cs_compared  *rows;
    size_t              n, n_groups;
    size_t             *group_of; /* [n] */
    size_t             *firsts;   /* [n_groups] its first result */
    const cs_compared **cells;    /* [n_groups][n_columns] the fastest; NULL: none */
    const char         *reference;
    bool                has_colour;
    const char         *columns[MAX_COLUMNS]; /* algorithms in the order of their first result */
    size_t              n_columns;
    bool        presumes[MAX_COLUMNS];   /* a rank late: there is a column of its critical delay, */
    const char *references[MAX_COLUMNS]; /* ... against which; NULL: several */
    int         widths[2 * MAX_COLUMNS + 1];
    int         best_width;
    bool        has_marks;
} view;

void cs_delay_text(double delay_s, char text[CS_DELAY_TEXT_BYTES])
{
    if (isnan(delay_s)) {
        (void)snprintf(text, CS_DELAY_TEXT_BYTES, "-");
    } else if (isinf(delay_s)) {
        (void)snprintf(text, CS_DELAY_TEXT_BYTES, "never");
    } else {
        (void)snprintf(text, CS_DELAY_TEXT_BYTES, "%.2f", delay_s * 1e6);
    }
}

/* Append to a text of fixed size; what does not fit is cut. */
static void append(char *text, size_t text_bytes, const char *more)
{
    size_t used = strlen(text);
    snprintf(text + used, text_bytes - used, "%s%s", used > 0 ? ", " : "", more);
}

/* "slow 2 by 1.5 from 1000 to 2000 us", without the times where it is so all the time */
static void add_step(const cs_capacity *step, char *text, size_t text_bytes)
{
    char part[96], when[64] = "";

    if (isfinite(step->until_s)) {
        snprintf(when, sizeof when, " from %.6g to %.6g us", step->from_s * 1e6,
                 step->until_s * 1e6);
    } else if (step->from_s > 0) {
        snprintf(when, sizeof when, " from %.6g us", step->from_s * 1e6);
    }
    if (isinf(step->slowdown)) {
        snprintf(part, sizeof part, "%u cut off%s", step->rank, when);
    } else {
        snprintf(part, sizeof part, "slow %u%s by %.4g%s", step->rank,
                 step->is_single ? " alone" : "", step->slowdown, when);
    }
    append(text, text_bytes, part);
}

void cs_setting_topology(const cs_topology *topology, char *text, size_t text_bytes)
{
    double least = (double)INFINITY, most = 0;

    for (uint32_t i = 0; i < topology->n_links; i++) {
        least = fmin(least, topology->links[i].bandwidth_Bps);
        most  = fmax(most, topology->links[i].bandwidth_Bps);
    }
    snprintf(text, text_bytes, "%s", topology->kind->name);
    if (most > 0) {
        size_t used = strlen(text);
        snprintf(text + used, text_bytes - used,
                 least < most ? ", %u links of %.4g to %.4g GB/s" : ", %u links of %.4g GB/s",
                 topology->n_links, least / 1e9, most / 1e9);
    }
}

/* The ports that are in use: "nic 3 us, 50 GB/s, nvlink 1 us, 450 GB/s". */
static void add_ports(const cs_cluster *cluster, char *text, size_t text_bytes)
{
    for (uint32_t f = 0; f < cs_n_fabrics(cluster); f++) {
        const cs_fabric *fabric = &cluster->fabrics[f];
        char             part[64];
        if (f == CS_NIC && !cs_uses_nics(cluster)) {
            continue;
        }
        double least_Bps = cs_least_Bps(cluster, f), most_Bps = fabric->bandwidth_Bps;
        snprintf(part, sizeof part,
                 least_Bps < most_Bps ? "%s %.4g us, %.4g to %.4g GB/s" : "%s %.4g us, %.4g GB/s",
                 cs_fabric_name(f), fabric->alpha_s * 1e6, least_Bps / 1e9, most_Bps / 1e9);
        append(text, text_bytes, part);
    }
}

void cs_setting_text(const cs_scenario *scenario, char *text, size_t text_bytes)
{
    const cs_cluster *c = &scenario->cluster;
    uint32_t          n = c->n_ranks, late = 0;
    char              part[64];

    text[0] = '\0';
    if (c->uneven != NULL) {
        snprintf(part, sizeof part, "%u to %u GPUs per server", cs_least_gpus(c),
                 c->gpus_per_server);
        append(text, text_bytes, part);
    }
    add_ports(c, text, text_bytes);
    if (cs_waits_for_links(c, CS_NVLINK)) {
        snprintf(part, sizeof part, "%u of %u links at once", cs_links_at_once(c, CS_NVLINK),
                 cs_links_of(c, CS_NVLINK));
        append(text, text_bytes, part);
    }
    if (c->topology != NULL) {
        cs_setting_topology(c->topology, part, sizeof part);
        append(text, text_bytes, part);
    }
    for (uint32_t r = 0; r < n; r++) {
        late += cs_arrival(scenario, r) > 0;
    }
    if (late > NAMED_RANKS) {
        snprintf(part, sizeof part, "%u late, last by %.6g us", late,
                 cs_last_arrival(scenario) * 1e6);
        append(text, text_bytes, part);
    }
    for (uint32_t r = 0; r < n && late <= NAMED_RANKS; r++) {
        if (cs_arrival(scenario, r) > 0) {
            snprintf(part, sizeof part, "late %u by %.6g us", r, cs_arrival(scenario, r) * 1e6);
            append(text, text_bytes, part);
        }
    }
    for (size_t i = 0; i < scenario->n_capacity && i < NAMED_RANKS; i++) {
        add_step(&scenario->capacity[i], text, text_bytes);
    }
}

/* Are two servers of one kind? */
static bool is_same_kind(const cs_cluster *c, uint32_t a, uint32_t b)
{
    return cs_server_gpus(c, a) == cs_server_gpus(c, b) &&
           (c->servers == NULL || cs_same_server(&c->servers[a], &c->servers[b]));
}

void cs_setting_servers(const cs_cluster *cluster, const char *before, cs_text *text)
{
    const cs_cluster *c = cluster;
    uint32_t          n = c->servers != NULL || c->uneven != NULL ? cs_n_servers(c) : 0, listed = 0;

    for (uint32_t s = 0, end; s < n; s = end) {
        for (end = s + 1; end < n && is_same_kind(c, s, end); end++) {
        }
        if (listed++ == CS_MOST_LISTED) {
            cs_text_add(text, "%sservers %" PRIu32 "-%" PRIu32 ": others\n", before, s, n - 1);
            return;
        }
        cs_text_add(text, "%sserver%s %" PRIu32, before, end == s + 1 ? "" : "s", s);
        cs_text_add(text, end == s + 1 ? ":" : "-%" PRIu32 ":", end - 1);
        if (c->uneven != NULL) {
            uint32_t gpus = cs_server_gpus(c, s);
            cs_text_add(text, " %" PRIu32 " GPU%s%s", gpus, gpus == 1 ? "" : "s",
                        c->servers != NULL ? "," : "");
        }
        for (uint32_t f = 0; c->servers != NULL && f < cs_n_fabrics(c); f++) {
            cs_text_add(text, "%s %s %.6g GB/s", f == 0 ? "" : ",", cs_fabric_name(f),
                        cs_server_Bps(c, s, f) / 1e9);
        }
        cs_text_add(text, "\n");
    }
}

static uint64_t mix_number(uint64_t key, double number)
{
    return cs_hash_add(key, &number, sizeof number);
}

static uint64_t mix_topology(uint64_t key, const cs_topology *topology)
{
    if (topology == NULL) {
        return key;
    }
    key = cs_hash_add(key, topology->kind->name, strlen(topology->kind->name));
    for (uint32_t i = 0; i < topology->n_links; i++) {
        const cs_link *link = &topology->links[i];
        key                 = mix_number(mix_number(key, link->bandwidth_Bps), link->latency_s);
    }
    return mix_number(key, topology->n_links);
}

static uint64_t mix_servers(uint64_t key, const cs_cluster *cluster)
{
    uint32_t n = cluster->servers != NULL ? cs_n_servers(cluster) : 0;

    for (uint32_t s = 0; s < n; s++) {
        for (uint32_t f = 0; f < cs_n_fabrics(cluster); f++) {
            key = mix_number(key, cs_server_Bps(cluster, s, f));
        }
    }
    for (uint32_t s = 0; cluster->uneven != NULL && s < cs_n_servers(cluster); s++) {
        key = mix_number(key, cs_server_gpus(cluster, s));
    }
    return key;
}

uint64_t cs_setting_key(const cs_scenario *scenario, const cs_result *result)
{
    const cs_cluster *c   = &scenario->cluster;
    uint64_t          key = cs_hash_add(CS_HASH_BASIS, result->model, strlen(result->model));

    key = mix_number(mix_number(key, (double)scenario->collective), scenario->root);
    key = mix_number(mix_number(key, (double)scenario->bytes), c->n_ranks);
    key = mix_number(mix_number(key, c->gpus_per_server), c->sockets);
    key = mix_number(key, c->nvlink_concurrent);
    for (int f = 0; f < CS_FABRICS; f++) {
        key = mix_number(mix_number(key, c->fabrics[f].alpha_s), c->fabrics[f].bandwidth_Bps);
        key = mix_number(key, (double)c->fabrics[f].kind);
    }
    for (uint32_t r = 0; scenario->arrival_s != NULL && r < c->n_ranks; r++) {
        key = mix_number(key, scenario->arrival_s[r]);
    }
    for (size_t i = 0; i < scenario->n_capacity; i++) {
        const cs_capacity *step = &scenario->capacity[i];
        key                     = mix_number(mix_number(key, step->rank), step->slowdown);
        key                     = mix_number(mix_number(key, step->from_s), step->until_s);
        key                     = mix_number(key, step->is_single);
    }
    key = mix_servers(mix_topology(key, c->topology), c);
    return cs_hash_add(key, &result->model_options, sizeof result->model_options);
}

static bool same_step(const cs_capacity *a, const cs_capacity *b)
{
    return a->rank == b->rank && a->slowdown == b->slowdown && a->from_s == b->from_s &&
           a->until_s == b->until_s && a->is_single == b->is_single;
}

bool cs_same_conditions(const cs_scenario *a, const cs_scenario *b)
{
    bool is_same = a->n_capacity == b->n_capacity &&
                   mix_servers(0, &a->cluster) == mix_servers(0, &b->cluster) &&
                   mix_topology(0, a->cluster.topology) == mix_topology(0, b->cluster.topology);

    for (size_t i = 0; is_same && i < a->n_capacity; i++) {
        is_same = same_step(&a->capacity[i], &b->capacity[i]);
    }
    for (uint32_t r = 0; is_same && r < a->cluster.n_ranks; r++) {
        is_same = cs_arrival(a, r) == cs_arrival(b, r);
    }
    return is_same;
}

static size_t column_of(const view *v, const char *algorithm)
{
    size_t c = 0;

    while (c < v->n_columns && strcmp(v->columns[c], algorithm) != 0) {
        c++;
    }
    return c;
}

static void find_columns(view *v)
{
    for (size_t i = 0; i < v->n; i++) {
        size_t c = column_of(v, v->rows[i].result->algorithm);
        if (c == v->n_columns && c < MAX_COLUMNS) {
            v->columns[v->n_columns++] = v->rows[i].result->algorithm;
        }
    }
}

const char *cs_reference_algorithm(const char *const *names, size_t n)
{
    static const char *const plain[] = {"nccl", "nccl_rings", "ring"};

    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++) {
        for (size_t k = 0; k < n; k++) {
            if (strcmp(names[k], plain[i]) == 0) {
                return plain[i];
            }
        }
    }
    return NULL;
}

/* The place of a key in a table of `n` (a power of two) groups + 1; 0 is free. */
static size_t place_of(const cs_compared *rows, const size_t *table, const size_t *firsts, size_t n,
                       uint64_t key)
{
    size_t at = (size_t)(key ^ key >> 32) & (n - 1);

    while (table[at] > 0 && rows[firsts[table[at] - 1]].key != key) {
        at = (at + 1) & (n - 1);
    }
    return at;
}

/* The groups of results with the same key, in the order of their first ones. `group_of` and
 * `firsts` have room for `n`. */
static cs_status find_groups(const cs_compared *rows, size_t n, size_t *group_of, size_t *firsts,
                             size_t *n_groups_p, cs_error *err)
{
    size_t room = 16, n_groups = 0;

    while (room < 2 * n) {
        room *= 2;
    }
    size_t *table = CS_NEW(size_t, room);
    if (table == NULL) {
        return CS_NO_MEMORY(err, "a comparison");
    }
    for (size_t i = 0; i < n; i++) {
        size_t at = place_of(rows, table, firsts, room, rows[i].key);
        if (table[at] == 0) {
            firsts[n_groups] = i;
            table[at]        = ++n_groups;
        }
        group_of[i] = table[at] - 1;
    }
    cs_free(table);
    *n_groups_p = n_groups;
    return CS_OK;
}

static void close_view(view *v)
{
    cs_free(v->group_of);
    cs_free(v->firsts);
    cs_free(v->cells);
}

static cs_status open_view(view *v, cs_error *err)
{
    find_columns(v);
    v->reference = cs_reference_algorithm(v->columns, v->n_columns);
    v->group_of  = CS_NEW(size_t, v->n);
    v->firsts    = CS_NEW(size_t, v->n);
    if (v->group_of == NULL || v->firsts == NULL) {
        return CS_NO_MEMORY(err, "a comparison");
    }
    CS_TRY(find_groups(v->rows, v->n, v->group_of, v->firsts, &v->n_groups, err));
    v->cells = CS_NEW(const cs_compared *, v->n_groups * v->n_columns);
    if (v->cells == NULL) {
        return CS_NO_MEMORY(err, "a comparison");
    }
    for (size_t i = 0; i < v->n; i++) {
        const cs_compared *r = &v->rows[i];
        size_t             c = column_of(v, r->result->algorithm);
        if (c < v->n_columns) {
            const cs_compared **best = &v->cells[v->group_of[i] * v->n_columns + c];
            *best = *best == NULL || r->result->exposed_s < (*best)->result->exposed_s ? r : *best;
        }
    }
    return CS_OK;
}

/* Which algorithms presume a rank late, and what they are compared with. */
static void find_delays(view *v)
{
    for (size_t i = 0; i < v->n; i++) {
        const char *reference = v->rows[i].result->delay_reference;
        size_t      c         = column_of(v, v->rows[i].result->algorithm);
        if (c == v->n_columns || reference == NULL) {
            continue;
        }
        bool is_same     = v->references[c] != NULL && strcmp(v->references[c], reference) == 0;
        v->references[c] = !v->presumes[c] || is_same ? reference : NULL;
        v->presumes[c]   = true;
    }
}

/* The fastest result of a column in the row of result `i`, the first one that is there. */
static const cs_compared *cell(const view *v, size_t i, size_t column)
{
    return v->cells[v->group_of[i] * v->n_columns + column];
}

static double paced_s(const cs_compared *r)
{
    return isnan(r->paced_s) ? r->result->exposed_s : r->paced_s;
}

/* The best of a row; *paced_p: the best where messages that share an alpha are paced. */
static const cs_compared *best_of(const view *v, size_t first, const cs_compared **paced_p)
{
    const cs_compared *best = NULL, *paced = NULL;

    for (size_t c = 0; c < v->n_columns; c++) {
        const cs_compared *here = cell(v, first, c);
        if (here == NULL) {
            continue;
        }
        best  = best == NULL || here->result->exposed_s < best->result->exposed_s ? here : best;
        paced = paced == NULL || paced_s(here) < paced_s(paced) ? here : paced;
    }
    *paced_p = paced != NULL && paced_s(paced) < paced_s(best) ? paced : best;
    return best;
}

cs_status cs_compared_best(const cs_compared *rows, size_t n, bool *is_best, cs_error *err)
{
    view      v      = {.rows = rows, .n = n};
    cs_status status = open_view(&v, err);

    for (size_t i = 0; i < n && status == CS_OK; i++) {
        const cs_compared *paced, *best = best_of(&v, i, &paced);
        is_best[i] = best != NULL && rows[i].result->exposed_s <= best->result->exposed_s;
    }
    close_view(&v);
    return status;
}

/* "rhd", or "allpairs (rhd*)". */
static const cs_compared *best_label(view *v, size_t first, char label[LABEL_BYTES])
{
    const cs_compared *paced, *best = best_of(v, first, &paced);

    if (best == NULL || best == paced) {
        snprintf(label, LABEL_BYTES, "%s", best == NULL ? "-" : best->result->algorithm);
    } else {
        snprintf(label, LABEL_BYTES, "%s (%s*)", best->result->algorithm, paced->result->algorithm);
        v->has_marks = true;
    }
    return best;
}

/* Is it the first result of its row? */
static bool is_first(const view *v, size_t i)
{
    return v->firsts[v->group_of[i]] == i;
}

/* ---- columns ----
 *
 * Algorithms, the bound, and then the critical delays of those that presume a rank late. */

enum { LEAST_WIDTH = 12, CELL_BYTES = 96, LINE_WIDTH = 120, FRONT_WIDTH = 21 };

static size_t n_cells(const view *v)
{
    return 2 * v->n_columns + 1;
}

static bool is_delay(const view *v, size_t cell)
{
    return cell > v->n_columns;
}

static bool is_shown(const view *v, size_t cell)
{
    return !is_delay(v, cell) || v->presumes[cell - v->n_columns - 1];
}

static void title_of(const view *v, size_t cell, char text[CELL_BYTES])
{
    if (is_delay(v, cell)) {
        (void)snprintf(text, CELL_BYTES, "%s from", v->columns[cell - v->n_columns - 1]);
    } else {
        (void)snprintf(text, CELL_BYTES, "%s", cell < v->n_columns ? v->columns[cell] : "bound");
    }
}

static double bound_us(const view *v, size_t first)
{
    const cs_compared *paced, *best = best_of(v, first, &paced);

    return best == NULL
               ? 0
               : (best->result->bound_s - (best->result->elapsed_s - best->result->exposed_s)) *
                     1e6;
}

static void cell_text(const view *v, size_t first, size_t at, char text[CELL_BYTES])
{
    size_t             column = is_delay(v, at) ? at - v->n_columns - 1 : at;
    const cs_compared *here   = at == v->n_columns ? NULL : cell(v, first, column);

    if (is_delay(v, at)) {
        cs_delay_text(here == NULL ? (double)NAN : here->result->critical_delay_s, text);
    } else if (at == v->n_columns) {
        (void)snprintf(text, CELL_BYTES, "%.2f", bound_us(v, first));
    } else if (here == NULL) {
        (void)snprintf(text, CELL_BYTES, "-");
    } else {
        (void)snprintf(text, CELL_BYTES, "%.2f", here->result->exposed_s * 1e6);
    }
}

static int larger(int width, const char *text)
{
    int length = (int)strlen(text);
    return length > width ? length : width;
}

/* As wide as what stands in them. */
static void find_widths(view *v)
{
    char text[CELL_BYTES], label[LABEL_BYTES];

    for (size_t at = 0; at < n_cells(v); at++) {
        title_of(v, at, text);
        v->widths[at] = larger(0, text);
    }
    v->best_width = v->n_columns > 1 ? 10 : 0;
    for (size_t group = 0; group < v->n_groups; group++) {
        size_t i = v->firsts[group];
        for (size_t at = 0; at < n_cells(v); at++) {
            cell_text(v, i, at, text);
            v->widths[at] = larger(v->widths[at], text);
        }
        if (v->n_columns > 1) {
            (void)best_label(v, i, label);
            v->best_width = larger(v->best_width, label);
        }
    }
}

/* ---- behind the columns: the best, its gap, and what it gains on the reference ---- */

enum { GAP_WIDTH = 8 };

static bool has_gain(const view *v)
{
    return v->n_columns > 1 && v->reference != NULL;
}

/* "vs ring", right to be the title of "-27.8 %". */
static int gain_width(const view *v)
{
    int width = v->reference != NULL ? (int)strlen(v->reference) + 3 : 0;
    return width > GAP_WIDTH ? width : GAP_WIDTH;
}

static int tail_width(const view *v)
{
    return 2 + v->best_width + 1 + GAP_WIDTH + (has_gain(v) ? 1 + gain_width(v) : 0);
}

static void gain_text(const view *v, const cs_compared *best, char text[CELL_BYTES])
{
    const cs_compared *reference = cell(v, (size_t)(best - v->rows), column_of(v, v->reference));

    if (reference == NULL || reference == best) {
        (void)snprintf(text, CELL_BYTES, "-");
    } else {
        (void)snprintf(text, CELL_BYTES, "%+.1f %%",
                       100 * (best->result->exposed_s / reference->result->exposed_s - 1));
    }
}

static void add_tail_titles(cs_text *text, const view *v)
{
    char title[CELL_BYTES];

    cs_text_add(text, "  %-*s %*s", v->best_width, v->n_columns > 1 ? "best" : "", GAP_WIDTH,
                "gap");
    if (has_gain(v)) {
        (void)snprintf(title, sizeof title, "vs %s", v->reference);
        cs_text_add(text, " %*s", gain_width(v), title);
    }
}

static void add_tail(cs_text *text, view *v, size_t i)
{
    char               label[LABEL_BYTES], word[CELL_BYTES];
    const cs_compared *best = best_label(v, i, label);

    if (best == NULL) {
        return;
    }
    cs_text_add(text, "  %s%-*s%s", v->has_colour && v->n_columns > 1 ? "\033[1;32m" : "",
                v->best_width, v->n_columns > 1 ? label : "",
                v->has_colour && v->n_columns > 1 ? "\033[0m" : "");
    (void)snprintf(word, sizeof word, isnan(best->result->gap) ? "-" : "%.4f", best->result->gap);
    cs_text_add(text, " %*s", GAP_WIDTH, word);
    if (has_gain(v)) {
        gain_text(v, best, word);
        cs_text_add(text, " %*s", gain_width(v), word);
    }
}

/* What fits in a line all together is a little wider than it must be. */
static bool widen(view *v)
{
    int total = FRONT_WIDTH + tail_width(v), wider[2 * MAX_COLUMNS + 1];

    for (size_t at = 0; at < n_cells(v); at++) {
        bool is_wide = !is_delay(v, at) && v->widths[at] < LEAST_WIDTH;
        wider[at]    = is_wide ? LEAST_WIDTH : v->widths[at];
        total += is_shown(v, at) ? 1 + wider[at] : 0;
    }
    if (total > LINE_WIDTH) {
        return false;
    }
    memcpy(v->widths, wider, n_cells(v) * sizeof wider[0]);
    return true;
}

/* The end of the columns from `begin` on that fit in a line; the last line has the best, too. */
static size_t end_of_line(const view *v, size_t begin, int line_width)
{
    size_t end = begin, last = n_cells(v) - 1;
    int    width = FRONT_WIDTH;

    while (!is_shown(v, last)) {
        last--;
    }
    while (end < n_cells(v)) {
        int more = is_shown(v, end) ? 1 + v->widths[end] : 0;
        int best = end == last ? tail_width(v) : 0;
        if (end > begin && more > 0 && width + more + best > line_width) {
            break;
        }
        width += more;
        end++;
    }
    return end;
}

static uint32_t count_lines(const view *v, int line_width)
{
    uint32_t n = 0;

    for (size_t begin = 0; begin < n_cells(v); begin = end_of_line(v, begin, line_width)) {
        n++;
    }
    return n;
}

/* The width of lines of about one length, as few of them as there can be. */
static int even_width(const view *v)
{
    int      width = LINE_WIDTH;
    uint32_t n     = count_lines(v, width);

    while (n > 1 && width > FRONT_WIDTH && count_lines(v, width - 1) == n) {
        width--;
    }
    return width;
}

/* Of all rows; else NULL. */
static const char *common_setting(const view *v)
{
    for (size_t i = 1; i < v->n; i++) {
        if (strcmp(v->rows[i].setting, v->rows[0].setting) != 0) {
            return NULL;
        }
    }
    return v->rows[0].setting;
}

/* The columns from `begin` to `end` of all rows. */
static void add_lines(cs_text *text, view *v, size_t begin, size_t end, bool has_setting)
{
    bool is_last = end == n_cells(v);
    char word[CELL_BYTES];

    cs_text_add(text, "#%6s %13s", "ranks", "size (B)");
    for (size_t at = begin; at < end; at++) {
        title_of(v, at, word);
        if (is_shown(v, at)) {
            cs_text_add(text, " %*s", v->widths[at], word);
        }
    }
    if (is_last) {
        add_tail_titles(text, v);
        cs_text_add(text, "%s", has_setting ? "  setting" : "");
    }
    cs_text_add(text, "\n");
    for (size_t group = 0; group < v->n_groups; group++) {
        size_t i = v->firsts[group];
        cs_text_add(text, "#%6" PRIu64 " %13" PRIu64, v->rows[i].result->ranks,
                    v->rows[i].result->bytes);
        for (size_t at = begin; at < end; at++) {
            cell_text(v, i, at, word);
            if (is_shown(v, at)) {
                cs_text_add(text, " %*s", v->widths[at], word);
            }
        }
        if (is_last) {
            add_tail(text, v, i);
            cs_text_add(text, "%s%s", has_setting ? "  " : "",
                        has_setting ? v->rows[i].setting : "");
        }
        cs_text_add(text, "\n");
    }
}

/* Where columns do not fit in a line, lines of all rows stand below each other; a setting that is
 * that of all of them stands once. */
static void add_table(cs_text *text, view *v)
{
    find_widths(v);
    bool        is_wide = !widen(v) && count_lines(v, LINE_WIDTH) > 1;
    const char *setting = is_wide ? common_setting(v) : NULL;
    int         width   = is_wide ? even_width(v) : LINE_WIDTH;
    for (size_t begin = 0, end; begin < n_cells(v); begin = end) {
        end = end_of_line(v, begin, width);
        cs_text_add(text, begin > 0 ? "#\n" : "");
        add_lines(text, v, begin, end, setting == NULL);
    }
    if (setting != NULL) {
        cs_text_add(text, "# setting: %s\n", setting);
    }
}

/* ---- notes ---- */

/* Against what, where that differs: from which row on. */
static void add_references(cs_text *text, const view *v, size_t column)
{
    const char *before = NULL;

    for (size_t i = 0; i < v->n; i++) {
        const cs_compared *here      = is_first(v, i) ? cell(v, i, column) : NULL;
        const char        *reference = here != NULL ? here->result->delay_reference : NULL;
        if (reference != NULL && (before == NULL || strcmp(before, reference) != 0)) {
            cs_text_add(text, "#   from %" PRIu64 " ranks, %" PRIu64 " B on: %s\n",
                        here->result->ranks, here->result->bytes, reference);
            before = reference;
        }
    }
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* Are two columns compared with the same in every row? */
static bool same_references(const view *v, size_t a, size_t b)
{
    bool is_same = v->presumes[b] && same_text(v->references[a], v->references[b]);

    for (size_t i = 0; i < v->n && is_same && v->references[a] == NULL; i++) {
        const cs_compared *x = is_first(v, i) ? cell(v, i, a) : NULL;
        const cs_compared *y = is_first(v, i) ? cell(v, i, b) : NULL;
        is_same              = x == NULL || y == NULL ||
                  same_text(x->result->delay_reference, y->result->delay_reference);
    }
    return is_same;
}

/* What the delays mean, once for columns that are compared with the same. */
static void add_delay_notes(cs_text *text, const view *v)
{
    bool is_said[MAX_COLUMNS] = {false};

    for (size_t first = 0; first < v->n_columns; first++) {
        const char *reference = v->references[first];
        if (!v->presumes[first] || is_said[first]) {
            continue;
        }
        for (size_t c = first; c < v->n_columns; c++) {
            if (!is_said[c] && same_references(v, first, c)) {
                cs_text_add(text, "%s%s", c == first ? "# " : ", ", v->columns[c]);
                is_said[c] = true;
            }
        }
        cs_text_add(text,
                    " from: the delay of the late rank, us, from which on it is faster than %s "
                    "(collsim critical)%s\n",
                    reference != NULL ? reference : "the best plain schedule",
                    reference != NULL ? "" : ":");
        if (reference == NULL) {
            add_references(text, v, first);
        }
    }
}

/* The sizes of which something is said, if it is not said of all results of that algorithm. */
static void add_sizes(cs_text *text, const view *v, size_t first)
{
    enum { MOST_SAID = 4 };
    const cs_result *said = v->rows[first].result;
    size_t           all = 0, with = 0;

    for (size_t i = 0; i < v->n; i++) {
        const cs_result *r = v->rows[i].result;
        all += strcmp(r->algorithm, said->algorithm) == 0;
        with += r->note == said->note;
    }
    for (size_t i = first, n = 0; i < v->n && with < all; i++) {
        const cs_result *r = v->rows[i].result;
        if (r->note != said->note || n > MOST_SAID) {
            continue;
        }
        if (n == MOST_SAID) {
            cs_text_add(text, ", ..");
        } else {
            cs_text_add(text, "%s%" PRIu64 " ranks, %" PRIu64 " B", n == 0 ? " (" : "; ", r->ranks,
                        r->bytes);
        }
        n++;
    }
    cs_text_add(text, with < all ? ")\n" : "\n");
}

/* Has it been said? Notes are few. */
static bool is_said(const char *note, const char *said[MAX_COLUMNS], size_t *n_said)
{
    for (size_t i = 0; i < *n_said; i++) {
        if (said[i] == note) {
            return true;
        }
    }
    if (*n_said < MAX_COLUMNS) {
        said[(*n_said)++] = note;
    }
    return false;
}

/* What algorithms say of their choices, each of it once. */
static void add_notes(cs_text *text, const view *v)
{
    const char *said[MAX_COLUMNS];
    size_t      n_said = 0;

    if (has_gain(v)) {
        cs_text_add(text,
                    "# gap: elapsed time over the bound; vs %s: exposed time against %s, which "
                    "runs if nobody chooses\n",
                    v->reference, v->reference);
    }
    if (v->has_marks) {
        cs_text_add(text,
                    "# (NAME*): the best with %g us between messages that leave a port on one "
                    "alpha (--model-opt message_gap_s=%gus)\n",
                    CS_PACED_GAP_S * 1e6, CS_PACED_GAP_S * 1e6);
    }
    add_delay_notes(text, v);
    for (size_t i = 0; i < v->n; i++) {
        const char *note = v->rows[i].result->note;
        if (note != NULL && !is_said(note, said, &n_said)) {
            cs_text_add(text, "# %s", note);
            add_sizes(text, v, i);
        }
    }
}

cs_status cs_comparison(cs_text *text, const cs_compared *rows, size_t n,
                        const cs_comparison_look *look, cs_error *err)
{
    view      v      = {.rows = rows, .n = n, .has_colour = look->has_colour};
    cs_status status = open_view(&v, err);

    if (status == CS_OK && n > 0 && (v.n_columns > 1 || look->is_all)) {
        find_delays(&v);
        cs_text_add(text, "%s# %sxposed time (from the last arrival on), us\n",
                    look->is_all ? "" : "#\n", v.n_columns > 1 ? "Which schedule? E" : "E");
        add_table(text, &v);
        add_notes(text, &v);
    }
    close_view(&v);
    return status;
}
