/* SPDX-License-Identifier: GPL-3.0-or-later */
/* capture/links.c -- see links.h. */
#include "links.h"

#include "base/alloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

uint32_t cap_tournament_rounds(uint32_t n)
{
    return n % 2 == 0 ? (n == 0 ? 0 : n - 1) : (n == 1 ? 0 : n);
}

uint32_t cap_tournament_partner(uint32_t n, uint32_t round, uint32_t rank)
{
    /* For odd n a rank n is invented; whoever meets it sits out. The last rank stays, the others
     * turn: r and p meet where r + p = round modulo the number of those who turn. */
    const uint32_t turning = n % 2 == 0 ? n - 1 : n;

    if (rank == turning) {
        const uint32_t half = (turning + 1) / 2; /* the inverse of 2 */
        return (uint32_t)((uint64_t)round * half % turning);
    }
    const uint32_t partner = (round % turning + turning - rank) % turning;
    if (partner != rank) {
        return partner;
    }
    return n % 2 == 0 ? turning : rank;
}

/* May a and b meet while busy ranks of each host are at work? An idle host takes any pair. */
static bool has_room(uint32_t host_a, uint32_t host_b, const uint32_t *capacity,
                     const uint32_t *busy)
{
    const uint32_t more = host_a == host_b ? 2 : 1;

    return (busy[host_a] == 0 || busy[host_a] + more <= capacity[host_a]) &&
           (busy[host_b] == 0 || busy[host_b] + more <= capacity[host_b]);
}

uint32_t cap_tournament_turns(uint32_t n, uint32_t round, const uint32_t *host,
                              const uint32_t *capacity, uint32_t *turn, uint32_t *busy)
{
    uint32_t n_turns = 0;

    memset(busy, 0, (size_t)n * n * sizeof *busy);
    memset(turn, 0, n * sizeof *turn);
    for (uint32_t a = 0; a < n; a++) {
        const uint32_t b = cap_tournament_partner(n, round, a);
        if (b <= a) {
            continue;
        }
        uint32_t mine = 0;
        while (!has_room(host[a], host[b], capacity, busy + (size_t)mine * n)) {
            mine++;
        }
        busy[(size_t)mine * n + host[a]]++;
        busy[(size_t)mine * n + host[b]]++;
        turn[a] = turn[b] = mine;
        n_turns           = mine + 1 > n_turns ? mine + 1 : n_turns;
    }
    return n_turns;
}

cs_status cap_links_create(cap_links *links, uint32_t n_ranks, const uint64_t *sizes_bytes,
                           uint32_t n_sizes, cs_error *err)
{
    const size_t n_links = (size_t)n_ranks * n_ranks;

    *links = (cap_links){.n_ranks     = n_ranks,
                         .n_sizes     = n_sizes,
                         .sizes_bytes = cs_calloc(n_sizes, sizeof *links->sizes_bytes),
                         .minimum_s   = cs_calloc(n_links * n_sizes, sizeof *links->minimum_s),
                         .median_s    = cs_calloc(n_links * n_sizes, sizeof *links->median_s),
                         .host        = cs_calloc(n_ranks, sizeof *links->host),
                         .links       = cs_calloc(n_links, sizeof *links->links)};
    if (links->sizes_bytes == NULL || links->minimum_s == NULL || links->median_s == NULL ||
        links->host == NULL || links->links == NULL) {
        cap_links_destroy(links);
        return CS_NO_MEMORY(err, "%u x %u links", n_ranks, n_ranks);
    }
    memcpy(links->sizes_bytes, sizes_bytes, n_sizes * sizeof *sizes_bytes);
    return CS_OK;
}

void cap_links_destroy(cap_links *links)
{
    cs_free(links->sizes_bytes);
    cs_free(links->minimum_s);
    cs_free(links->median_s);
    cs_free(links->host);
    cs_free(links->links);
    *links = (cap_links){0};
}

static int by_value(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

void cap_minimum_median(double *values, size_t n, double *minimum_p, double *median_p)
{
    qsort(values, n, sizeof *values, by_value);
    *minimum_p = values[0];
    *median_p  = n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/* back_s: what the empty answer takes, which is alpha as well. */
static void fit_link(const uint64_t *bytes, const double *round_trip_s, uint32_t n, double back_s,
                     cap_link *link)
{
    double   x_mean = 0, y_mean = 0, xy = 0, xx = 0;
    uint32_t n_used = 0;

    for (uint32_t i = 0; i < n; i++) {
        if (bytes[i] >= CAP_SLOPE_FROM_BYTES) {
            n_used++;
            x_mean += ((double)bytes[i] - x_mean) / n_used;
            y_mean += (round_trip_s[i] - back_s - y_mean) / n_used;
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        if (bytes[i] >= CAP_SLOPE_FROM_BYTES) {
            const double x = (double)bytes[i] - x_mean;
            xx += x * x;
            xy += x * (round_trip_s[i] - back_s - y_mean);
        }
    }
    link->alpha_s         = back_s;
    link->beta_s_per_byte = xx > 0 ? xy / xx : 0;
    link->intercept_s     = y_mean - link->beta_s_per_byte * x_mean;
    link->fit_error       = 0;
    for (uint32_t i = 0; i < n; i++) {
        const double time = round_trip_s[i] - back_s;
        if (bytes[i] >= CAP_SLOPE_FROM_BYTES && time > 0) {
            const double fitted = back_s + link->beta_s_per_byte * (double)bytes[i];
            link->fit_error     = fmax(link->fit_error, fabs(fitted / time - 1));
        }
    }
}

cs_status cap_links_fit(cap_links *links, cs_error *err)
{
    const uint32_t n      = links->n_ranks;
    double        *slopes = cs_calloc((size_t)n * n, sizeof *slopes);

    if (slopes == NULL) {
        return CS_NO_MEMORY(err, "%u x %u links", n, n);
    }
    for (uint32_t i = 0; i < n * n; i++) {
        cap_link *link  = &links->links[i];
        link->same_host = links->host[i / n] == links->host[i % n];
        if (i / n != i % n) {
            const double *there = links->minimum_s + (size_t)i * links->n_sizes;
            const double *back  = links->minimum_s + (size_t)(i % n * n + i / n) * links->n_sizes;
            fit_link(links->sizes_bytes, there, links->n_sizes, fmin(there[0], back[0]) / 2, link);
        }
    }
    for (int same = 0; same < 2; same++) {
        double minimum = 0, median = 0;
        size_t n_slopes = 0;
        for (uint32_t i = 0; i < n * n; i++) {
            if (i / n != i % n && links->links[i].same_host == same &&
                links->links[i].beta_s_per_byte > 0) {
                slopes[n_slopes++] = links->links[i].beta_s_per_byte;
            }
        }
        if (n_slopes > 0) {
            cap_minimum_median(slopes, n_slopes, &minimum, &median);
        }
        for (uint32_t i = 0; i < n * n; i++) {
            if (links->links[i].same_host == same && median > 0) {
                links->links[i].slower = fmax(0, links->links[i].beta_s_per_byte / median);
            }
        }
    }
    cs_free(slopes);
    return CS_OK;
}

/* ---- who is slow ---- */

static const cap_link *link_of(const cap_links *links, uint32_t src, uint32_t dst)
{
    return &links->links[(size_t)src * links->n_ranks + dst];
}

/* How much slower than the median a rank sends (or receives) on all its links of a kind: the least
 * of them; 0 where it has fewer than two. */
static double rank_slower(const cap_links *links, uint32_t rank, bool sends, bool same_host)
{
    double   least = HUGE_VAL;
    uint32_t n     = 0;

    for (uint32_t other = 0; other < links->n_ranks; other++) {
        const cap_link *link = sends ? link_of(links, rank, other) : link_of(links, other, rank);
        if (other != rank && link->same_host == same_host) {
            least = fmin(least, link->slower);
            n++;
        }
    }
    return n < 2 ? 0 : least;
}

typedef struct slow {
    bool     whole_rank, sends;
    uint32_t src, dst; /* of a rank that sends: src; that receives: dst */
    bool     same_host;
    double   slower;
} slow;

/* Calls visit for each finding, ranks first, in the order of their numbers. */
static void each_slow(const cap_links *links, void (*visit)(void *self, const slow *finding),
                      void            *self)
{
    for (uint32_t rank = 0; rank < links->n_ranks; rank++) {
        for (int kind = 0; kind < 4; kind++) {
            const bool   sends = kind % 2 == 0, same_host = kind / 2 == 1;
            const double slower = rank_slower(links, rank, sends, same_host);
            if (slower > CAP_SLOW_RATIO) {
                visit(self, &(slow){.whole_rank = true,
                                    .sends      = sends,
                                    .src        = rank,
                                    .dst        = rank,
                                    .same_host  = same_host,
                                    .slower     = slower});
            }
        }
    }
    for (uint32_t src = 0; src < links->n_ranks; src++) {
        for (uint32_t dst = 0; dst < links->n_ranks; dst++) {
            const cap_link *link = link_of(links, src, dst);
            if (src != dst && link->slower > CAP_SLOW_RATIO &&
                rank_slower(links, src, true, link->same_host) <= CAP_SLOW_RATIO &&
                rank_slower(links, dst, false, link->same_host) <= CAP_SLOW_RATIO) {
                visit(self, &(slow){.src       = src,
                                    .dst       = dst,
                                    .same_host = link->same_host,
                                    .slower    = link->slower});
            }
        }
    }
}

/* ---- output ---- */

static void print_slow(void *self, const slow *finding)
{
    cs_text    *text  = self;
    const char *where = finding->same_host ? "of its host" : "of other hosts";

    if (!finding->whole_rank) {
        cs_text_add(text, "# slow: from rank %u to rank %u at 1/%.2f of the median rate\n",
                    finding->src, finding->dst, finding->slower);
    } else {
        cs_text_add(text, "# slow: rank %u %s all ranks %s at 1/%.2f of the median rate, or less\n",
                    finding->src, finding->sends ? "sends to" : "receives from", where,
                    finding->slower);
    }
}

static void print_matrix(cs_text *text, const cap_links *links, bool rates)
{
    cs_text_add(text, "#\n# %s, from (row) to (column)\n#     ",
                rates ? "bandwidth (GB/s)" : "alpha (us)");
    for (uint32_t dst = 0; dst < links->n_ranks; dst++) {
        cs_text_add(text, " %8u", dst);
    }
    for (uint32_t src = 0; src < links->n_ranks; src++) {
        cs_text_add(text, "\n%6u", src);
        for (uint32_t dst = 0; dst < links->n_ranks; dst++) {
            const cap_link *link = link_of(links, src, dst);
            if (src == dst || (rates && link->beta_s_per_byte <= 0)) {
                cs_text_add(text, " %8s", src == dst ? "-" : "?");
            } else if (rates) {
                cs_text_add(text, " %8.4g", 1e-9 / link->beta_s_per_byte);
            } else {
                cs_text_add(text, " %8.2f", 1e6 * link->alpha_s);
            }
        }
    }
    cs_text_add(text, "\n");
}

void cap_links_table(cs_text *text, const cap_links *links)
{
    double worst = 0;

    for (uint32_t i = 0; i < links->n_ranks * links->n_ranks; i++) {
        worst = fmax(worst, links->links[i].fit_error);
    }
    cs_text_add(
        text,
        "# Links of %u ranks, each pair alone on its ports. alpha: half an empty round trip;\n"
        "# bandwidth: slope from %d bytes on; alpha + bytes / bandwidth is at most %.1f %% off.\n",
        links->n_ranks, CAP_SLOPE_FROM_BYTES, 100 * worst);
    print_matrix(text, links, false);
    print_matrix(text, links, true);
    cs_text_add(text, "#\n");
    const size_t before = text->length;
    each_slow(links, print_slow, text);
    if (text->length == before) {
        cs_text_add(text, "# no link is slow: all have at least 1/%.2f of the median rate\n",
                    CAP_SLOW_RATIO);
    }
}

static void slow_json(void *self, const slow *finding)
{
    cs_text *text = self;

    cs_text_add(text, "%s{", text->data[text->length - 1] == '[' ? "" : ", ");
    if (!finding->whole_rank || finding->sends) {
        cs_text_add(text, "\"src\": %u, ", finding->src);
    }
    if (!finding->whole_rank || !finding->sends) {
        cs_text_add(text, "\"dst\": %u, ", finding->dst);
    }
    cs_text_add(text, "\"same_host\": %s, \"slower\": ", finding->same_host ? "true" : "false");
    cs_text_add_number(text, finding->slower);
    cs_text_add(text, "}");
}

static void add_numbers(cs_text *text, const char *key, const double *values, uint32_t n)
{
    cs_text_add(text, ", \"%s\": [", key);
    for (uint32_t i = 0; i < n; i++) {
        cs_text_add(text, i > 0 ? ", " : "");
        cs_text_add_number(text, values[i]);
    }
    cs_text_add(text, "]");
}

static void link_json(cs_text *text, const cap_links *links, uint32_t src, uint32_t dst)
{
    const size_t    i    = (size_t)src * links->n_ranks + dst;
    const cap_link *link = &links->links[i];
    const struct {
        const char *key;
        double      value;
    } numbers[] = {
        {"alpha_s", link->alpha_s},
        {"bandwidth_Bps", link->beta_s_per_byte > 0 ? 1 / link->beta_s_per_byte : (double)NAN},
        {"intercept_s", link->intercept_s},
        {"fit_error", link->fit_error},
        {"slower", link->slower},
    };

    cs_text_add(text, "%s\n  {\"src\": %u, \"dst\": %u, \"same_host\": %s",
                text->data[text->length - 1] == '[' ? "" : ",", src, dst,
                link->same_host ? "true" : "false");
    for (size_t k = 0; k < sizeof numbers / sizeof numbers[0]; k++) {
        cs_text_add(text, ", \"%s\": ", numbers[k].key);
        cs_text_add_number(text, numbers[k].value);
    }
    add_numbers(text, "round_trip_minimum_s", links->minimum_s + i * links->n_sizes,
                links->n_sizes);
    add_numbers(text, "round_trip_median_s", links->median_s + i * links->n_sizes, links->n_sizes);
    cs_text_add(text, "}");
}

void cap_links_json(cs_text *text, const cap_links *links, const char *machine)
{
    const uint32_t n = links->n_ranks;

    cs_text_add(text, "{\"format\": \"collsim-links\", \"version\": 1, \"machine\": ");
    cs_text_add_json_string(text, machine);
    cs_text_add(text, ", \"ranks\": %u,\n \"hosts\": [", n);
    for (uint32_t rank = 0; rank < n; rank++) {
        cs_text_add(text, "%s%u", rank > 0 ? ", " : "", links->host[rank]);
    }
    cs_text_add(text, "], \"sizes_bytes\": [");
    for (uint32_t i = 0; i < links->n_sizes; i++) {
        cs_text_add(text, "%s%llu", i > 0 ? ", " : "", (unsigned long long)links->sizes_bytes[i]);
    }
    cs_text_add(text, "],\n \"slow\": [");
    if (!text->failed) {
        each_slow(links, slow_json, text);
    }
    cs_text_add(text, "],\n \"links\": [");
    for (uint32_t i = 0; i < n * n && !text->failed; i++) {
        if (i / n != i % n) {
            link_json(text, links, i / n, i % n);
        }
    }
    cs_text_add(text, "]}\n");
}
