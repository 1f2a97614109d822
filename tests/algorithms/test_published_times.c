/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The times of the StragglAR paper's model (alpha = 3 us, 1 GiB, 450 GB/s or 450 GiB/s per port;
 * n = 2^k and 3 * 2^k), by replay, to the six digits of the reference table.
 *
 * 1 GiB does not split evenly in n - 1 chunks, which a formula does not notice. The replay takes
 * n (n - 1) KiB instead, at a bandwidth that makes it last as long; then 1 GiB itself, to the byte
 * per chunk that it differs.
 */
#include "support/stream.h"

#include <criterion/criterion.h>
#include <math.h>

/* Milliseconds. "best": the late rank comes when the others are ready; "worst": it is not late. */
typedef struct row {
    double   rate_Bps;
    uint32_t n, rounds;
    double   ring, rhd, sar_best, sar_worst, bcast_ideal, bcast_worst, msccl, pre_phase, critical;
} row;

/* clang-format off */
static const row rows[] = {
    {450e9, 4, 4, 3.59714, 3.59114, 3.19346, 4.79019, 4.77819, 7.97164, 3.58514, 1.59673, 1.19305},
    {450e9, 6, 7, 4.00682, 5.98323, 3.36153, 5.2824, 7.16728, 11.009, 3.98282, 1.92087, 1.27558},
    {450e9, 8, 9, 4.21766, 4.19366, 3.09483, 5.15806, 7.16728, 11.2937, 4.18166, 2.06322, 0.940394},
    {450e9, 12, 14, 4.4405, 6.58576, 3.07885, 5.27802, 9.55637, 13.9547, 4.3805, 2.19918, 0.837517},
    {450e9, 16, 18, 4.56392, 4.49792, 2.91731, 5.18633, 9.55637, 14.0944, 4.47992, 2.26902, 0.622407},
    {450e9, 24, 27, 4.71134, 6.89002, 2.88207, 5.23042, 11.9455, 16.6422, 4.57934, 2.34835, 0.519071},
    {450e9, 32, 35, 4.80906, 4.65306, 2.79898, 5.1981, 11.9455, 16.7437, 4.62906, 2.39912, 0.389043},
    {450e9, 48, 52, 4.95477, 7.04515, 2.79593, 5.26926, 14.3346, 19.2812, 4.67877, 2.47333, 0.314492},
    {450e9, 64, 68, 5.07562, 4.73362, 2.77947, 5.31368, 14.3346, 19.403, 4.70362, 2.53422, 0.238063},
    {450e9, 96, 101, 5.29248, 7.12571, 2.83979, 5.48277, 16.7237, 22.0096, 4.72848, 2.64298, 0.190294},
    {450e9, 128, 133, 5.4969, 4.7769, 2.89782, 5.64313, 16.7237, 22.2143, 4.7409, 2.7453, 0.146223},
    {450e9, 192, 198, 5.89333, 7.169, 3.06754, 6.01114, 19.1127, 24.9999, 4.75333, 2.9436, 0.117811},
    {450e9, 256, 262, 6.28354, 4.80154, 3.23759, 6.37633, 19.1127, 25.3902, 4.75954, 3.13874, 0.0927847},
    {450e9, 384, 391, 7.05776, 7.19364, 3.60893, 7.1348, 21.5018, 28.5536, 4.76576, 3.52586, 0.0770376},
    {450e9, 512, 519, 7.82887, 4.81687, 3.98045, 7.89187, 21.5018, 29.3247, 4.76887, 3.91142, 0.0630069},
    {450e9, 768, 776, 9.36797, 7.20896, 4.74209, 9.42307, 23.8909, 33.2529, 4.77197, 4.68098, 0.0551013},
    {450e9, 1024, 1032, 10.9055, 4.82753, 5.50308, 10.9528, 23.8909, 34.7905, 4.77353, 5.44976, 0.0473199},
    {450.0 * 1073741824, 4, 4, 3.35133, 3.34533, 2.97496, 4.46244, 4.45044, 7.42541, 3.33933, 1.48748, 1.11111},
    {450.0 * 1073741824, 6, 7, 3.7337, 5.57356, 3.13211, 4.92189, 6.67567, 10.2552, 3.7097, 1.78978, 1.18819},
    {450.0 * 1073741824, 8, 9, 3.93089, 3.90689, 2.88414, 4.8069, 6.67567, 10.5212, 3.89489, 1.92276, 0.876016},
    {450.0 * 1073741824, 12, 14, 4.14007, 6.13511, 2.87028, 4.92048, 8.90089, 13.0013, 4.08007, 2.0502, 0.780411},
    {450.0 * 1073741824, 16, 18, 4.25667, 4.19067, 2.72067, 4.83674, 8.90089, 13.133, 4.17267, 2.11607, 0.580074},
    {450.0 * 1073741824, 24, 27, 4.39726, 6.41889, 2.6897, 4.8813, 11.1261, 15.5093, 4.26526, 2.1916, 0.48404},
    {450.0 * 1073741824, 32, 35, 4.49156, 4.33556, 2.61396, 4.8545, 11.1261, 15.6072, 4.31156, 2.24054, 0.362943},
    {450.0 * 1073741824, 48, 52, 4.63385, 6.56378, 2.61463, 4.92757, 13.3513, 17.9772, 4.35785, 2.31294, 0.293718},
    {450.0 * 1073741824, 64, 68, 4.753, 4.411, 2.60259, 4.97554, 13.3513, 18.0972, 4.381, 2.37295, 0.222538},
    {450.0 * 1073741824, 96, 101, 4.96815, 6.63922, 2.66557, 5.1464, 15.5766, 20.5382, 4.40415, 2.48083, 0.178255},
    {450.0 * 1073741824, 128, 133, 5.17172, 4.45172, 2.72621, 5.30893, 15.5766, 20.742, 4.41572, 2.58272, 0.137211},
    {450.0 * 1073741824, 192, 198, 5.5673, 6.67994, 2.89766, 5.67825, 17.8018, 23.363, 4.4273, 2.78059, 0.110956},
    {450.0 * 1073741824, 256, 262, 5.95708, 4.47508, 3.06922, 6.04473, 17.8018, 23.7528, 4.43308, 2.97551, 0.0876487},
    {450.0 * 1073741824, 384, 391, 6.73087, 6.70331, 3.44164, 6.80406, 20.027, 26.7518, 4.43887, 3.36242, 0.0731891},
    {450.0 * 1073741824, 512, 519, 7.50176, 4.48976, 3.81401, 7.56189, 20.027, 27.5227, 4.44176, 3.74787, 0.060122},
    {450.0 * 1073741824, 768, 776, 9.04066, 6.71799, 4.5763, 9.09362, 22.2522, 31.2869, 4.44466, 4.51732, 0.0529654},
    {450.0 * 1073741824, 1024, 1032, 10.5781, 4.5001, 5.33777, 10.6238, 22.2522, 32.8243, 4.4461, 5.28605, 0.0457184},
};
/* clang-format on */
enum { N_ROWS = sizeof rows / sizeof rows[0] };

static ct_scene scene;

/* Equal when written with six significant digits, half a digit allowed. */
static void check_digits(const row *r, const char *what, double got_ms, double want_ms)
{
    double unit = pow(10, floor(log10(want_ms)) - 5);

    cr_assert(fabs(got_ms - want_ms) <= 0.5000001 * unit, "n=%u %.0f B/s %s: %.9g ms, not %.6g ms",
              r->n, r->rate_Bps, what, got_ms, want_ms);
}

static void set_scene(const row *r, const char *algorithm, uint64_t bytes, double delay_s)
{
    ct_scene_set(&scene, algorithm, CS_ALLREDUCE, r->n, bytes);
    scene.scenario.cluster.fabrics[CS_NIC].bandwidth_Bps =
        r->rate_Bps * ((double)bytes / 1073741824.0);
    scene.arrival_s[r->n / 2] = delay_s;
    scene.scenario.arrival_s  = scene.arrival_s;
    ct_scene_ready(&scene);
}

static double exposed_ms(const row *r, const char *algorithm, uint64_t bytes, double delay_s)
{
    set_scene(r, algorithm, bytes, delay_s);
    return ct_scene_replay(&scene, NULL).exposed_s * 1e3;
}

static void check_row(const row *r)
{
    uint64_t bytes = (uint64_t)r->n * (r->n - 1) * 1024;
    double   ring = exposed_ms(r, "ring", bytes, 0), worst = exposed_ms(r, "stragglar", bytes, 0);
    double   late_s = 64e-3;

    check_digits(r, "ring", ring, r->ring);
    if ((r->n & (r->n - 1)) == 0) { /* others: a formula for what is not executed like this */
        check_digits(r, "rhd", exposed_ms(r, "rhd", bytes, 0), r->rhd);
    }
    check_digits(r, "stragglar worst", worst, r->sar_worst);
    check_digits(r, "stragglar best", exposed_ms(r, "stragglar", bytes, late_s), r->sar_best);
    check_digits(r, "broadcast worst", exposed_ms(r, "broadcast", bytes, 0), r->bcast_worst);
    check_digits(r, "broadcast best", exposed_ms(r, "broadcast", bytes, late_s), r->bcast_ideal);
    check_digits(r, "allpairs", exposed_ms(r, "allpairs", bytes, 0), r->msccl);
    check_digits(r, "critical delay", worst - ring, r->critical);
    check_digits(r, "pre-phase", worst - exposed_ms(r, "stragglar", bytes, late_s), r->pre_phase);
    set_scene(r, "stragglar", bytes, 0);
    cr_assert_eq(scene.plan.n_rounds, r->n - 2 + r->rounds);
}

Test(published_times, to_six_digits)
{
    for (int i = 0; i < N_ROWS; i++) {
        check_row(&rows[i]);
    }
}

/* The delay at which StragglAR takes as long as the ring is the critical delay. */
Test(published_times, critical_delay_is_where_they_meet)
{
    for (int i = 0; i < N_ROWS; i++) {
        const row *r      = &rows[i];
        uint64_t   bytes  = (uint64_t)r->n * (r->n - 1) * 1024;
        double     late   = r->critical * 1e-3;
        double     before = exposed_ms(r, "stragglar", bytes, late * 0.99);
        double     behind = exposed_ms(r, "stragglar", bytes, late * 1.01);
        double     ring   = exposed_ms(r, "ring", bytes, late);
        cr_assert(before > ring && behind < ring, "n=%u", r->n);
    }
}

/* A whole GiB: the largest chunk is less than a byte above the mean. */
Test(published_times, one_gibibyte)
{
    for (int i = 0; i < N_ROWS; i++) {
        const row *r       = &rows[i];
        uint64_t   bytes   = (uint64_t)1 << 30;
        double     error   = 5e-6 + (double)r->n / 1073741824.0;
        double     best_ms = exposed_ms(r, "stragglar", bytes, 64e-3);
        cr_assert(ct_is_close(best_ms, r->sar_best, error));
        cr_assert(ct_is_close(exposed_ms(r, "ring", bytes, 0), r->ring, 5e-6));
        cr_assert(ct_is_close(exposed_ms(r, "broadcast", bytes, 0), r->bcast_worst, error));
    }
}
