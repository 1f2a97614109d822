/* SPDX-License-Identifier: GPL-3.0-or-later */
/* links.c -- see links.h. */
#include "links.h"

#include <jansson.h>
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

bool cap_links_create(cap_links *links, uint32_t n_ranks, const uint64_t *sizes_bytes,
                      uint32_t n_sizes)
{
    const size_t n_links = (size_t)n_ranks * n_ranks;

    *links = (cap_links){.n_ranks     = n_ranks,
                         .n_sizes     = n_sizes,
                         .sizes_bytes = calloc(n_sizes, sizeof *links->sizes_bytes),
                         .minimum_s   = calloc(n_links * n_sizes, sizeof *links->minimum_s),
                         .median_s    = calloc(n_links * n_sizes, sizeof *links->median_s),
                         .host        = calloc(n_ranks, sizeof *links->host),
                         .links       = calloc(n_links, sizeof *links->links)};
    if (links->sizes_bytes == NULL || links->minimum_s == NULL || links->median_s == NULL ||
        links->host == NULL || links->links == NULL) {
        cap_links_destroy(links);
        return false;
    }
    memcpy(links->sizes_bytes, sizes_bytes, n_sizes * sizeof *sizes_bytes);
    return true;
}

void cap_links_destroy(cap_links *links)
{
    free(links->sizes_bytes);
    free(links->minimum_s);
    free(links->median_s);
    free(links->host);
    free(links->links);
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

bool cap_links_fit(cap_links *links)
{
    const uint32_t n      = links->n_ranks;
    double        *slopes = calloc((size_t)n * n, sizeof *slopes);

    if (slopes == NULL) {
        return false;
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
    free(slopes);
    return true;
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
    FILE       *out   = self;
    const char *where = finding->same_host ? "of its host" : "of other hosts";

    if (!finding->whole_rank) {
        fprintf(out, "# slow: from rank %u to rank %u at 1/%.2f of the median rate\n", finding->src,
                finding->dst, finding->slower);
    } else if (finding->sends) {
        fprintf(out,
                "# slow: rank %u sends to all ranks %s at 1/%.2f of the median rate, or less\n",
                finding->src, where, finding->slower);
    } else {
        fprintf(
            out,
            "# slow: rank %u receives from all ranks %s at 1/%.2f of the median rate, or less\n",
            finding->dst, where, finding->slower);
    }
}

static void count_slow(void *self, const slow *finding)
{
    (void)finding;
    (*(size_t *)self)++;
}

static void print_matrix(const cap_links *links, FILE *out, bool rates)
{
    fprintf(out, "#\n# %s, from (row) to (column)\n#     ",
            rates ? "bandwidth (GB/s)" : "alpha (us)");
    for (uint32_t dst = 0; dst < links->n_ranks; dst++) {
        fprintf(out, " %8u", dst);
    }
    for (uint32_t src = 0; src < links->n_ranks; src++) {
        fprintf(out, "\n%6u", src);
        for (uint32_t dst = 0; dst < links->n_ranks; dst++) {
            const cap_link *link = link_of(links, src, dst);
            if (src == dst || (rates && link->beta_s_per_byte <= 0)) {
                fprintf(out, " %8s", src == dst ? "-" : "?");
            } else {
                fprintf(out, rates ? " %8.4g" : " %8.2f",
                        rates ? 1e-9 / link->beta_s_per_byte : 1e6 * link->alpha_s);
            }
        }
    }
    fprintf(out, "\n");
}

void cap_links_table(const cap_links *links, FILE *out)
{
    size_t n_slow = 0;
    double worst  = 0;

    for (uint32_t i = 0; i < links->n_ranks * links->n_ranks; i++) {
        worst = fmax(worst, links->links[i].fit_error);
    }
    fprintf(
        out,
        "# Links of %u ranks, each pair alone on its ports. alpha: half an empty round trip;\n"
        "# bandwidth: slope from %d bytes on; alpha + bytes / bandwidth is at most %.1f %% off.\n",
        links->n_ranks, CAP_SLOPE_FROM_BYTES, 100 * worst);
    print_matrix(links, out, false);
    print_matrix(links, out, true);
    fprintf(out, "#\n");
    each_slow(links, print_slow, out);
    each_slow(links, count_slow, &n_slow);
    if (n_slow == 0) {
        fprintf(out, "# no link is slow: all have at least 1/%.2f of the median rate\n",
                CAP_SLOW_RATIO);
    }
}

static void append_slow(void *self, const slow *finding)
{
    json_t *entry = json_object();

    if (!finding->whole_rank || finding->sends) {
        json_object_set_new(entry, "src", json_integer(finding->src));
    }
    if (!finding->whole_rank || !finding->sends) {
        json_object_set_new(entry, "dst", json_integer(finding->dst));
    }
    json_object_set_new(entry, "same_host", json_boolean(finding->same_host));
    json_object_set_new(entry, "slower", json_real(finding->slower));
    json_array_append_new(self, entry);
}

static json_t *reals(const double *values, uint32_t n)
{
    json_t *array = json_array();

    for (uint32_t i = 0; i < n; i++) {
        json_array_append_new(array, json_real(values[i]));
    }
    return array;
}

static json_t *link_json(const cap_links *links, uint32_t src, uint32_t dst)
{
    const size_t    i    = (size_t)src * links->n_ranks + dst;
    const cap_link *link = &links->links[i];
    const bool      has  = link->beta_s_per_byte > 0;

    return json_pack(
        "{s:i, s:i, s:b, s:f, s:o, s:f, s:f, s:f, s:o, s:o}", "src", (int)src, "dst", (int)dst,
        "same_host", (int)link->same_host, "alpha_s", link->alpha_s, "bandwidth_Bps",
        has ? json_real(1 / link->beta_s_per_byte) : json_null(), "intercept_s", link->intercept_s,
        "fit_error", link->fit_error, "slower", link->slower, "round_trip_minimum_s",
        reals(links->minimum_s + i * links->n_sizes, links->n_sizes), "round_trip_median_s",
        reals(links->median_s + i * links->n_sizes, links->n_sizes));
}

char *cap_links_json(const cap_links *links, const char *machine)
{
    json_t *sizes = json_array(), *hosts = json_array(), *array = json_array(),
           *slowly = json_array();

    for (uint32_t i = 0; i < links->n_sizes; i++) {
        json_array_append_new(sizes, json_integer((json_int_t)links->sizes_bytes[i]));
    }
    for (uint32_t rank = 0; rank < links->n_ranks; rank++) {
        json_array_append_new(hosts, json_integer(links->host[rank]));
    }
    for (uint32_t src = 0; src < links->n_ranks; src++) {
        for (uint32_t dst = 0; dst < links->n_ranks; dst++) {
            if (src != dst) {
                json_array_append_new(array, link_json(links, src, dst));
            }
        }
    }
    each_slow(links, append_slow, slowly);
    json_t *root = json_pack("{s:s, s:i, s:s, s:i, s:o, s:o, s:o, s:o}", "format", "collsim-links",
                             "version", 1, "machine", machine, "ranks", (int)links->n_ranks,
                             "hosts", hosts, "sizes_bytes", sizes, "slow", slowly, "links", array);
    char   *text = root != NULL ? json_dumps(root, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) : NULL;
    json_decref(root);
    return text;
}
