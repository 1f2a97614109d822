/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "output/link_counters.h"

#include "base/alloc.h"
#include "base/column.h"
#include "engine/ports.h"
#include "models/lib/links.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static cs_status keep_report(void *user, const cs_link_report *report, cs_error *err)
{
    cs_link_counters *c = user;

    c->links   = CS_NEW(cs_link_counts, report->n_links);
    c->samples = CS_NEW(cs_link_sample, report->n_samples);
    if (c->links == NULL || c->samples == NULL) {
        return CS_NO_MEMORY(err, "the counters of %u links", report->n_links);
    }
    memcpy(c->links, report->links, report->n_links * sizeof *c->links);
    if (report->n_samples > 0) {
        memcpy(c->samples, report->samples, report->n_samples * sizeof *c->samples);
    }
    c->report         = *report;
    c->report.links   = c->links;
    c->report.samples = c->samples;
    return CS_OK;
}

cs_observer cs_link_counters_observer(cs_link_counters *counters, const cs_cluster *cluster,
                                      double sample_s)
{
    counters->cluster = cluster;
    return (cs_observer){.links = keep_report, .user = counters, .sample_s = sample_s};
}

void cs_link_counters_free(cs_link_counters *counters)
{
    cs_free(counters->links);
    cs_free(counters->samples);
    *counters = (cs_link_counters){0};
}

void cs_link_counters_name(const cs_link_counters *counters, uint32_t link,
                           char name[CS_COUNTED_NAME_BYTES])
{
    cs_ports ports = {0};

    cs_ports_place(&ports, counters->cluster, 0); /* models that count have no switches */
    cs_link_name(&ports, link, name, CS_COUNTED_NAME_BYTES);
}

/* ---- which links ---- */

static bool is_used(const cs_link_counts *c)
{
    return c->packets > 0 || c->pauses > 0 || c->drops > 0;
}

/* A link for sorting: the worst first, of equals the lowest. */
typedef struct place {
    const cs_link_counts *counts;
    uint32_t              link;
} place;

static int order_of(double a, double b)
{
    return (a < b) - (a > b);
}

static int worst_first(const void *a, const void *b)
{
    const place          *p = a, *q = b;
    const cs_link_counts *x = p->counts, *y = q->counts;
    const int             orders[] = {order_of((double)x->deepest_bytes, (double)y->deepest_bytes),
                                      order_of((double)x->drops, (double)y->drops),
                                      order_of(x->paused_s, y->paused_s), order_of(x->busy_s, y->busy_s)};

    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        if (orders[i] != 0) {
            return orders[i];
        }
    }
    return (p->link > q->link) - (p->link < q->link);
}

cs_status cs_link_counters_order(const cs_link_counters *counters, uint32_t **links_p,
                                 uint32_t *n_p, cs_error *err)
{
    uint32_t  n_links = counters->report.n_links, n = 0;
    uint32_t *links  = CS_NEW(uint32_t, n_links);
    place    *places = CS_NEW(place, n_links);

    if (links == NULL || places == NULL) {
        cs_free(links);
        cs_free(places);
        return CS_NO_MEMORY(err, "the counters of %u links", n_links);
    }
    for (uint32_t l = 0; l < n_links; l++) {
        if (is_used(&counters->links[l])) {
            places[n++] = (place){&counters->links[l], l};
        }
    }
    qsort(places, n, sizeof *places, worst_first);
    for (uint32_t i = 0; i < n; i++) {
        links[i] = places[i].link;
    }
    cs_free(places);
    *links_p = links;
    *n_p     = n;
    return CS_OK;
}

/* ---- as a table ---- */

cs_status cs_link_counters_table(cs_text *text, const cs_link_counters *counters, double elapsed_s,
                                 uint32_t most, cs_error *err)
{
    uint32_t *links, n;

    CS_TRY(cs_link_counters_order(counters, &links, &n, err));
    cs_text_add(text, "# links: %" PRIu32 " of %" PRIu32 " in use, the deepest queues first\n", n,
                counters->report.n_links);
    cs_text_add(text, "#   %12s  %8s  %10s  %8s  %8s  %6s\n", "deepest (B)", "pauses",
                "paused (us)", "drops", "marks", "use (%)");
    for (uint32_t i = 0; i < n && i < most; i++) {
        const cs_link_counts *c = &counters->links[links[i]];
        char                  name[CS_COUNTED_NAME_BYTES];
        cs_link_counters_name(counters, links[i], name);
        cs_text_add(text,
                    "#   %12" PRIu64 "  %8" PRIu64 "  %11.3f  %8" PRIu64 "  %8" PRIu64
                    "  %7.2f  %s\n",
                    c->deepest_bytes, c->pauses, c->paused_s * 1e6, c->drops, c->marks,
                    100 * c->busy_s / elapsed_s, name);
    }
    if (n > most) {
        cs_text_add(text, "#   ... %" PRIu32 " more ...\n", n - most);
    }
    cs_free(links);
    return CS_OK;
}

/* ---- as JSON ---- */

typedef struct link_row {
    char     link[CS_COUNTED_NAME_BYTES];
    uint64_t packets, carried_bytes, deepest_bytes, pauses;
    double   paused_s;
    uint64_t drops, marks;
    double   use_fraction;
} link_row;

static const cs_column link_columns[] = {
    CS_COLUMN(link_row, link),          CS_COLUMN(link_row, packets),
    CS_COLUMN(link_row, carried_bytes), CS_COLUMN(link_row, deepest_bytes),
    CS_COLUMN(link_row, pauses),        CS_COLUMN(link_row, paused_s),
    CS_COLUMN(link_row, drops),         CS_COLUMN(link_row, marks),
    CS_COLUMN(link_row, use_fraction),  CS_COLUMN_END};

void cs_link_counters_json(cs_text *text, const cs_link_counters *counters, double elapsed_s)
{
    cs_text_add(text, "{\"links\": [");
    for (uint32_t l = 0; l < counters->report.n_links; l++) {
        const cs_link_counts *c = &counters->links[l];
        if (!is_used(c)) {
            continue;
        }
        link_row row = {.packets       = c->packets,
                        .carried_bytes = c->bytes,
                        .deepest_bytes = c->deepest_bytes,
                        .pauses        = c->pauses,
                        .paused_s      = c->paused_s,
                        .drops         = c->drops,
                        .marks         = c->marks,
                        .use_fraction  = c->busy_s / elapsed_s};
        cs_link_counters_name(counters, l, row.link);
        cs_json_next(text, "{", " {");
        cs_json_row(text, &(cs_row){link_columns, &row, false});
        cs_text_add(text, "}");
    }
    cs_text_add(text, "]}");
}

/* ---- as a CSV ---- */

typedef struct sample_row {
    double   from_s, until_s;
    char     link[CS_COUNTED_NAME_BYTES];
    uint64_t queue_bytes, carried_bytes;
    double   paused_s;
    uint64_t drops, marks;
} sample_row;

static const cs_column sample_columns[] = {CS_COLUMN(sample_row, from_s),
                                           CS_COLUMN(sample_row, until_s),
                                           CS_COLUMN(sample_row, link),
                                           CS_COLUMN(sample_row, queue_bytes),
                                           CS_COLUMN(sample_row, carried_bytes),
                                           CS_COLUMN(sample_row, paused_s),
                                           CS_COLUMN(sample_row, drops),
                                           CS_COLUMN(sample_row, marks),
                                           CS_COLUMN_END};

void cs_link_counters_csv(cs_text *text, const cs_link_counters *counters)
{
    const cs_link_report *r         = &counters->report;
    double                sample_ps = round(r->sample_s * 1e12); /* whole: times have few digits */

    cs_csv_keys(text, sample_columns);
    cs_csv_end(text);
    for (size_t i = 0; i < r->n_samples; i++) {
        const cs_link_sample *s   = &r->samples[i];
        sample_row            row = {.from_s        = (double)s->interval * sample_ps / 1e12,
                                     .until_s       = (double)(s->interval + 1) * sample_ps / 1e12,
                                     .queue_bytes   = s->queue_bytes,
                                     .carried_bytes = s->bytes,
                                     .paused_s      = s->paused_s,
                                     .drops         = s->drops,
                                     .marks         = s->marks};
        cs_link_counters_name(counters, s->link, row.link);
        cs_csv_row(text, &(cs_row){sample_columns, &row, false});
        cs_csv_end(text);
    }
}
