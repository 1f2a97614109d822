/* SPDX-License-Identifier: GPL-3.0-or-later */
/* output/usage.h -- how much of the capacity of ports and links is in use, over time.
 *
 * The time of a run is cut in at most CS_USAGE_BINS bins of one width, which doubles as the run
 * goes on, so that nothing needs to be known before it. A row holds the bytes that passed a port,
 * all ports of a few ranks, or a link, bin by bin. The bytes of a message count evenly over the
 * time from its start to its end, start-up included: its mean rate, never more than the port has.
 *
 * Bins are sums, so a run of any length takes the same memory: it is an observer of its own and
 * reads no recording.
 *
 * A panel is all rows of one kind: a fabric and a direction, or the inner links of the topology.
 * Where there would be too many rows, consecutive ranks share one; but late ranks and those whose
 * NIC is slow at some time, a server of them together, have rows of their own.
 */
#ifndef CS_OUTPUT_USAGE_H
#define CS_OUTPUT_USAGE_H

#include "base/arena.h"
#include "base/text.h"
#include "cs/job.h"
#include "cs/result.h"

enum { CS_USAGE_BINS = 256, CS_USAGE_PANELS = 2 * CS_FABRICS + 1 };

/* More rows of ports than this are not made, besides those of late and of slow ranks: these are the
 * CS_USAGE_MOST_OWN latest, and as many that are slowest. */
enum { CS_USAGE_MOST_PORT_ROWS = 160, CS_USAGE_MOST_OWN = 8 };

typedef struct cs_usage_panel {
    bool     is_links; /* inner links; otherwise ports of `fabric`, sending or receiving */
    bool     sends;
    uint32_t fabric;
    size_t   first_row, n_rows;
    uint32_t per_row; /* ranks, or links, at most; see cs_usage_ranks() */
    uint32_t each;    /* rows of a rank: one for every local peer of a direct fabric, or 1 */
} cs_usage_panel;

typedef struct cs_usage {
    const cs_scenario *scenario; /* borrowed */
    cs_usage_panel     panels[CS_USAGE_PANELS];
    size_t             n_panels, n_rows;
    double             bin_s;       /* width of a bin; 0: nothing has been seen */
    double             until_s;     /* the latest end, and what cs_usage_extend() said */
    double (*bytes)[CS_USAGE_BINS]; /* [n_rows]; in the arena */
    uint32_t *group_of;             /* [ranks]: which of the groups that share rows; in the arena */
    uint32_t *starts;               /* [n_groups + 1]: the first rank of each; in the arena */
    uint32_t  n_groups;
    cs_arena  arena;
} cs_usage;

/* All zero; cs_usage_free() it, also after an error. `scenario` is borrowed until then.
 * CS_ENOMEM only. */
CS_MUST_CHECK cs_status cs_usage_init(cs_usage *usage, const cs_scenario *scenario, cs_error *err);

/* The observer that counts; for one replay. It does not fail. O(bins that a message spans, for
 * every port and link on its way). */
cs_observer cs_usage_observer(cs_usage *usage);

/* Extend the observed time to `until_s`. */
void cs_usage_extend(cs_usage *usage, double until_s);

/* How many bins the run spans. */
size_t cs_usage_n_bins(const cs_usage *usage);

/* Number of ports or links behind a row, and what those of them that work at once have together in
 * bytes per second while healthy. 0 ports: the row of a pair of ranks that has no port. */
size_t cs_usage_ports(const cs_usage *usage, const cs_usage_panel *panel, size_t row);
double cs_usage_capacity_Bps(const cs_usage *usage, const cs_usage_panel *panel, size_t row);

/* The ranks of a row of ports: `first` and all before `end`. */
typedef struct cs_usage_span {
    uint32_t first, end;
} cs_usage_span;
cs_usage_span cs_usage_ranks(const cs_usage *usage, const cs_usage_panel *panel, size_t row);

/* Bytes of a row over all bins. */
double cs_usage_bytes(const cs_usage *usage, const cs_usage_panel *panel, size_t row);

/* The share of the capacity of a row that one bin used: 0 .. 1, or a little more where flows share
 * a port at rates that change. */
double cs_usage_share(const cs_usage *usage, const cs_usage_panel *panel, size_t row, size_t bin);

/* The rows of a panel that are worth a look, in their order, into `rows`, which has room for all of
 * them: of ports, all that there are where their fabric carried something; of links, the
 * `most_links` that were most in use. CS_ENOMEM, without a record. */
CS_MUST_CHECK cs_status cs_usage_shown(const cs_usage *usage, const cs_usage_panel *panel,
                                       size_t most_links, size_t *rows, size_t *n_p);

/* "rank 0", "rank 0 → 3", "server 1", "ranks 8 .. 15", a link: of whom the row is, where `rank` is
 * what a rank is called. Cut where it does not fit. */
void cs_usage_row_name(const cs_usage *usage, const cs_usage_panel *panel, size_t row,
                       const char *rank, char *text, size_t text_bytes);

void cs_usage_free(cs_usage *usage);

/* ---- as a picture (heatmap.c) ---- */

/* Inner links beyond these, those of which less is in use, are left out and counted. */
enum { CS_HEATMAP_MOST_LINKS = 48 };

/* Add a self-contained SVG 1.1 of what was counted during the run that gave `result`: rows are
 * ports, time goes to the right, the darker the more of the nominal bandwidth is in use. Panels of
 * fabrics that carried nothing are left out. A row of one late rank is hatched until it comes. The
 * same run gives the same bytes; at most some 800 KB whatever the number of ranks. */
CS_MUST_CHECK cs_status cs_heatmap_svg(cs_usage *usage, const cs_result *result, cs_text *out,
                                       cs_error *err);

#endif
