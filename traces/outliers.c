/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How much is far is measured on the points themselves: six times their usual deviation (1.4826
 * times the median of its size, as for a normal distribution), but at least 5 % from the other runs
 * of a size, and 20 % from the sizes beside it, since a curve bends. */
#include "traces/outliers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define USUAL       1.4826
#define FAR         6.0
#define LEAST_RUN   0.05
#define LEAST_SPIKE 0.2

static int ascending(const void *a, const void *b)
{
    const double *p = a, *q = b;

    return (*p > *q) - (*p < *q);
}

static double median_of(double *values, size_t n)
{
    qsort(values, n, sizeof *values, ascending);
    return n == 0 ? 0 : (values[(n - 1) / 2] + values[n / 2]) / 2;
}

/* The end of the size that begins at `first`, and the median of its times, which are sorted. */
static size_t size_at(const cs_point *points, size_t n, size_t first, double *median_p)
{
    size_t end = first;

    while (end < n && points[end].bytes == points[first].bytes) {
        end++;
    }
    *median_p = (points[(first + end - 1) / 2].time_s + points[(first + end) / 2].time_s) / 2;
    return end;
}

/* Far from the other runs of their size: of two runs the slower one. */
static size_t mark_runs(const cs_point *points, size_t n, double *room, double *expected)
{
    size_t n_repeated = 0, n_marked = 0;
    double median = 0;

    for (size_t first = 0, end; first < n; first = end) {
        end = size_at(points, n, first, &median);
        for (size_t i = first; i < end && end - first > 1; i++) {
            room[n_repeated++] = fabs(points[i].time_s / median - 1);
        }
    }
    double limit = fmax(LEAST_RUN, FAR * USUAL * median_of(room, n_repeated));
    for (size_t first = 0, end; first < n; first = end) {
        end = size_at(points, n, first, &median);
        if (end - first == 2) {
            median = points[first].time_s;
        }
        for (size_t i = first; i < end && end - first > 1; i++) {
            if (fabs(points[i].time_s / median - 1) > limit) {
                expected[i] = median;
                n_marked++;
            }
        }
    }
    return n_marked;
}

/* A size with the median of its times, on logarithmic scales. */
typedef struct spot {
    double x, y;
} spot;

/* What the straight line through a and b says at c's size, against what c says: positive where c is
 * slower. */
static double above(spot a, spot b, spot c)
{
    return c.y - (a.y + (b.y - a.y) * (c.x - a.x) / (b.x - a.x));
}

static spot spot_of(const double *spots, size_t i)
{
    return (spot){spots[2 * i], spots[2 * i + 1]};
}

/* How much slower size i is than the two beside it say; a negative number where these do not go
 * with their own neighbours when it is left out. The first size is held against the next alone; the
 * last but one must be slower than the last, too, whose other neighbour is not there. */
static double spike_at(const double *spots, size_t n, size_t i)
{
    const spot here = spot_of(spots, i), next = spot_of(spots, i + 1);
    double     slower = here.y - next.y, beside = 0;

    if (i > 0) {
        double over = above(spot_of(spots, i - 1), next, here);
        slower      = i + 2 < n ? over : fmin(over, slower);
    }
    if (i + 2 < n) {
        spot other = spot_of(spots, i > 0 ? i - 1 : 3);
        beside     = fabs(above(other, spot_of(spots, i + 2), next));
    }
    if (i >= 2) {
        beside = fmax(beside, fabs(above(spot_of(spots, i - 2), next, spot_of(spots, i - 1))));
    }
    return beside < slower / 3 ? slower : -1;
}

/* Take the size out whose spike is the largest, as long as there is one; `spots` are the medians of
 * the sizes. Returns how many. */
static size_t mark_spikes(const cs_point *points, size_t n, double *spots, size_t n_spots,
                          double *room, double *expected)
{
    size_t n_marked = 0;

    while (n_spots >= 6) {
        size_t worst   = 0;
        double largest = -1;
        for (size_t i = 1; i + 1 < n_spots; i++) {
            room[i - 1] =
                fabs(above(spot_of(spots, i - 1), spot_of(spots, i + 1), spot_of(spots, i)));
        }
        double limit = fmax(log1p(LEAST_SPIKE), FAR * USUAL * median_of(room, n_spots - 2));
        for (size_t i = 0; i + 1 < n_spots; i++) {
            double spike = spike_at(spots, n_spots, i);
            if (spike > largest) {
                largest = spike;
                worst   = i;
            }
        }
        if (largest <= limit) {
            break;
        }
        const spot here = spot_of(spots, worst), next = spot_of(spots, worst + 1);
        double over = worst > 0 ? above(spot_of(spots, worst - 1), next, here) : here.y - next.y;
        for (size_t i = 0; i < n; i++) {
            if (log((double)points[i].bytes) == here.x && expected[i] == 0) {
                expected[i] = exp(here.y - over);
                n_marked++;
            }
        }
        memmove(spots + 2 * worst, spots + 2 * worst + 2,
                (n_spots - worst - 1) * 2 * sizeof *spots);
        n_spots--;
    }
    return n_marked;
}

size_t cs_outliers_take(cs_point *points, size_t *n_p, double *room,
                        cs_outlier outliers[CS_MAX_OUTLIERS])
{
    const size_t n        = *n_p;
    double      *expected = room, *spots = room + n;
    size_t       n_spots = 0, n_out = 0, n_kept = 0;

    memset(expected, 0, n * sizeof *expected);
    size_t n_marked = mark_runs(points, n, spots, expected);
    for (size_t first = 0, end; first < n; first = end) {
        double median = 0;
        double kept   = 0;
        size_t n_runs = 0;
        end           = size_at(points, n, first, &median);
        for (size_t i = first; i < end; i++) {
            kept += expected[i] == 0 ? log(points[i].time_s) : 0;
            n_runs += expected[i] == 0;
        }
        if (n_runs > 0) {
            spots[2 * n_spots]     = log((double)points[first].bytes);
            spots[2 * n_spots + 1] = kept / (double)n_runs;
            n_spots++;
        }
    }
    n_marked += mark_spikes(points, n, spots, n_spots, room + 3 * n, expected);
    if (n_marked == 0 || n_marked > CS_MAX_OUTLIERS || 5 * n_marked > n) {
        return 0;
    }
    for (size_t i = 0; i < n; i++) {
        if (expected[i] > 0) {
            outliers[n_out++] = (cs_outlier){points[i], expected[i]};
        } else {
            points[n_kept++] = points[i];
        }
    }
    *n_p = n_kept;
    return n_out;
}
