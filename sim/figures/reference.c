/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reference numbers for the StragglAR figures, computed by a program of its own from the
 * formulas of the paper (its section 4 and appendices B, F), with n - 2 + ceil(log2 n) rounds;
 * and once more with the rounds that the paper publishes (appendix E, figure 9).
 * They are typed in: nothing here is computed by this library.
 */
#include "figures/rows.h"
#include "figures/times.h"

/* clang-format off */
/* n, rounds, ring, rhd, StragglAR best, worst, broadcast best, worst, allpairs, ideal delay,
 * critical delay exact, simplified (all in ms), ring / StragglAR best. */
static const cs_figure_reference reference[] = {
    {4, 4, 3.59714, 3.59114, 3.19346, 4.79019, 4.77819, 7.97164, 3.58514, 1.59673, 1.19305, 1.19305, 1.12641},
    {6, 7, 4.00682, 5.98323, 3.36153, 5.2824, 7.16728, 11.009, 3.98282, 1.92087, 1.27558, 1.19605, 1.19196},
    {8, 9, 4.21766, 4.19366, 3.09483, 5.15806, 7.16728, 11.2937, 4.18166, 2.06322, 0.940394, 0.897785, 1.36281},
    {12, 14, 4.4405, 6.58576, 3.07885, 5.27802, 9.55637, 13.9547, 4.3805, 2.19918, 0.837517, 0.801364, 1.44226},
    {16, 18, 4.56392, 4.49792, 2.91731, 5.18633, 9.55637, 14.0944, 4.47992, 2.26902, 0.622407, 0.602523, 1.56443},
    {24, 27, 4.71134, 6.89002, 2.88207, 5.23042, 11.9455, 16.6422, 4.57934, 2.34835, 0.519071, 0.506103, 1.63471},
    {32, 35, 4.80906, 4.65306, 2.79898, 5.1981, 11.9455, 16.7437, 4.62906, 2.39912, 0.389043, 0.381827, 1.71815},
    {48, 52, 4.95477, 7.04515, 2.79593, 5.26926, 14.3346, 19.2812, 4.67877, 2.47333, 0.314492, 0.310262, 1.77213},
    {64, 68, 5.07562, 4.73362, 2.77947, 5.31368, 14.3346, 19.403, 4.70362, 2.53422, 0.238063, 0.235696, 1.82611},
    {96, 101, 5.29248, 7.12571, 2.83979, 5.48277, 16.7237, 22.0096, 4.72848, 2.64298, 0.190294, 0.188986, 1.86368},
    {128, 133, 5.4969, 4.7769, 2.89782, 5.64313, 16.7237, 22.2143, 4.7409, 2.7453, 0.146223, 0.145489, 1.89691},
    {192, 198, 5.89333, 7.169, 3.06754, 6.01114, 19.1127, 24.9999, 4.75333, 2.9436, 0.117811, 0.117421, 1.92119},
    {256, 262, 6.28354, 4.80154, 3.23759, 6.37633, 19.1127, 25.3902, 4.75954, 3.13874, 0.0927847, 0.0925654, 1.94081},
    {384, 391, 7.05776, 7.19364, 3.60893, 7.1348, 21.5018, 28.5536, 4.76576, 3.52586, 0.0770376, 0.0769241, 1.95564},
    {512, 519, 7.82887, 4.81687, 3.98045, 7.89187, 21.5018, 29.3247, 4.76887, 3.91142, 0.0630069, 0.062943, 1.96683},
    {768, 776, 9.36797, 7.20896, 4.74209, 9.42307, 23.8909, 33.2529, 4.77197, 4.68098, 0.0551013, 0.0550689, 1.97549},
    {1024, 1032, 10.9055, 4.82753, 5.50308, 10.9528, 23.8909, 34.7905, 4.77353, 5.44976, 0.0473199, 0.0473017, 1.98171},
};

/* n, rounds, StragglAR best, worst, critical delay (ms), ring / StragglAR best. */
static const struct {
    uint32_t n_ranks, rounds;
    double   best_ms, worst_ms, critical_ms, speedup;
} published[CS_N_PUBLISHED] = {
    {6, 7, 3.36153, 5.2824, 1.27558, 1.19196},
    {12, 15, 3.29876, 5.49794, 1.05743, 1.34611},
    {24, 27, 2.88207, 5.23042, 0.519071, 1.63471},
    {48, 57, 3.06477, 5.5381, 0.583332, 1.61668},
    {96, 108, 3.03661, 5.67959, 0.387111, 1.74289},
    {192, 208, 3.22247, 6.16607, 0.272737, 1.82883},
};
/* clang-format on */

const cs_figure_reference *cs_figure_reference_at(uint32_t n_ranks)
{
    for (size_t i = 0; i < sizeof reference / sizeof reference[0]; i++) {
        if (reference[i].n_ranks == n_ranks) {
            return &reference[i];
        }
    }
    return NULL;
}

void cs_figure_check_times(cs_figure_data *data, const cs_figure_times *times,
                           const cs_figure_reference *row)
{
    const struct {
        const char *what;
        double      got, want;
    } checks[] = {
        {"ring, ms", 1e3 * times->ring_s, row->ring_ms},
        {"rhd, ms", 1e3 * times->rhd_s, row->rhd_ms},
        {"allpairs, ms", 1e3 * times->allpairs_s, row->allpairs_ms},
        {"broadcast best, ms", 1e3 * times->broadcast_best_s, row->broadcast_best_ms},
        {"broadcast worst, ms", 1e3 * times->broadcast_worst_s, row->broadcast_worst_ms},
        {"stragglar best, ms", 1e3 * times->best_s, row->best_ms},
        {"stragglar worst, ms", 1e3 * times->worst_s, row->worst_ms},
        {"ideal delay, ms", 1e3 * times->ideal_delay_s, row->ideal_delay_ms},
        {"critical delay, ms", 1e3 * times->critical_s, row->critical_ms},
        {"ring over stragglar best", times->ring_s / times->best_s, row->speedup},
    };

    cs_figure_check_at(data, "rounds", row->n_ranks, times->rounds, row->rounds, 0);
    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++) {
        cs_figure_check_at(data, checks[i].what, row->n_ranks, checks[i].got, checks[i].want,
                           CS_SIX_DIGITS);
    }
}

void cs_figure_check_published(cs_figure_data *data, const cs_figure_times *times,
                               const cs_figure_published_times *p)
{
    uint32_t n = times->n_ranks;

    for (size_t i = 0; i < CS_N_PUBLISHED; i++) {
        if (published[i].n_ranks != n) {
            continue;
        }
        cs_figure_check_at(data, "published rounds", n, cs_figure_published_at(n),
                           published[i].rounds, 0);
        cs_figure_check_at(data, "published, best, ms", n, 1e3 * p->best_s, published[i].best_ms,
                           CS_SIX_DIGITS);
        cs_figure_check_at(data, "published, worst, ms", n, 1e3 * p->worst_s, published[i].worst_ms,
                           CS_SIX_DIGITS);
        cs_figure_check_at(data, "published, critical delay, ms", n, 1e3 * p->critical_s,
                           published[i].critical_ms, CS_SIX_DIGITS);
        cs_figure_check_at(data, "published, ring over best", n, times->ring_s / p->best_s,
                           published[i].speedup, CS_SIX_DIGITS);
    }
}
