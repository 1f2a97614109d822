/* SPDX-License-Identifier: GPL-3.0-or-later */
/* traces/calibration.h -- alpha and beta of a real machine, per range of sizes, with what they
 * are worth: confidence intervals, held-out errors, and where they come from.
 *
 * The measured times are described by t(S) = A + B S in each regime (fit.h). The port
 * parameters alpha_s and bandwidth_Bps are those with which the cost model of the ring
 * (AllReduce, AllGather, ReduceScatter) or of pairwise exchange (AlltoAll) takes just A + B S;
 * they are effective values, not those of a wire: NCCL changes algorithm and protocol with
 * the size, which is why there are regimes. See sim/doc/calibration.md.
 *
 * A calibration answers only for the collective, the number of ranks and the range of sizes
 * that were measured.
 */
#ifndef CS_TRACES_CALIBRATION_H
#define CS_TRACES_CALIBRATION_H

#include "base/statistics.h"
#include "base/text.h"
#include "cs/scenario.h"
#include "traces/fit.h"
#include "traces/nccl_tests.h"

/* A regime: t(S) = A + B S for min_bytes <= S <= max_bytes. Between two regimes lies the join of
 * their ends (cs_line_join). */
typedef struct cs_regime {
    uint64_t     min_bytes, max_bytes;
    size_t       n_points;
    cs_line      line;
    double       alpha_s;             /* of one port; >= 0 */
    double       bandwidth_Bps;       /* of one port; > 0 */
    cs_fit_error in_sample, held_out; /* in_sample.n = 0: of rates, see below */
} cs_regime;

/* Is it of the rates of a single size, with alpha given? No line was fitted: instead of a
 * confidence interval it has the slowest and the fastest rate. */
static inline bool cs_regime_is_of_rates(const cs_regime *regime)
{
    return regime->in_sample.n == 0;
}

/* What the calibration predicts for a number of ranks that it has not seen, by the cost model with
 * the same alpha and bandwidth, against logs of that number. */
typedef struct cs_other_ranks {
    uint32_t     n_ranks;
    cs_fit_error error; /* over the sizes inside the range */
} cs_other_ranks;

/* How it is known what changed at a break. */
typedef enum cs_break_evidence {
    CS_BREAK_UNKNOWN, /* nothing says it: the line bends, or the tuner changes elsewhere */
    CS_BREAK_TUNER, /* NCCL's tuner, as modelled (cs_nccl_picks), changes within half and twice the
                       sizes beside it */
    CS_BREAK_LOG,   /* NCCL's own lines, or nccl-tests' JSON, name both sides */
} cs_break_evidence;

/* Write what NCCL picks for an operation of `bytes` (nccl-tests' size column) on `n_ranks` GPUs,
 * whose name is somewhere in `machine`: "Ring/LL". False: that is not known. */
enum { CS_NCCL_CHOICE_BYTES = 24 };
typedef bool cs_nccl_picks(const char *machine, cs_collective collective, uint32_t n_ranks,
                           uint64_t bytes, char text[CS_NCCL_CHOICE_BYTES]);

/* A break between two regimes: from one algorithm and protocol ("Ring/LL") to another. */
typedef struct cs_break {
    uint64_t after_bytes, before_bytes;                            /* between these sizes */
    int      evidence;                                             /* cs_break_evidence */
    char     from[CS_NCCL_CHOICE_BYTES], to[CS_NCCL_CHOICE_BYTES]; /* may be empty */
} cs_break;

/* ---- two levels: the ports of NVLink and of the NICs (study/levels.h makes them) ---- */

/* What one log says of a level, and how well it is described. Errors are of the times in the log.
 */
typedef struct cs_level_log {
    char         name[128];          /* without folders */
    char         what[32];           /* "allreduce", "osu_latency" */
    uint32_t     n_ranks;            /* of a collective; 0: messages between two */
    size_t       n_points, n_unused; /* rows that are fitted; rows that say nothing of the level */
    cs_fit_error fitted;
    cs_fit_error left_out; /* by the other logs alone; n = 0: there are none, or other sizes */
} cs_level_log;

/* The ports of a fabric: over the bytes of one message, A is alpha_s and 1 / B bandwidth_Bps. */
typedef struct cs_level {
    size_t        n_regimes; /* 0: nothing was measured there */
    cs_regime     regimes[CS_MAX_REGIMES];
    size_t        n_points;
    cs_fit_error  in_sample, held_out; /* of messages, over all points */
    size_t        n_outliers;
    cs_outlier    outliers[CS_MAX_OUTLIERS];
    cs_level_log *logs; /* owned */
    size_t        n_logs;
} cs_level;

enum { CS_LEVELS = 2 }; /* CS_NIC, CS_NVLINK */

typedef struct cs_levels {
    uint32_t gpus_per_server; /* where NICs were measured; else the largest number of ranks */
    bool     is_any;          /* messages alone were measured: good for every collective */
    cs_level of[CS_LEVELS];
} cs_levels;

/* The regime of a message; between two of them what joins them. False above the largest message,
 * and below the smallest one unless `extends`: the outer regime then. */
bool cs_level_regime(const cs_level *level, uint64_t message_bytes, bool extends,
                     cs_regime *regime_p);

/* A calibration of two levels has `levels`, the texts, logs, column, seed, the schedule that is
 * taken for what ran and the collective; the rest is of one port for each rank, and empty there. */
typedef struct cs_calibration {
    cs_levels    *levels; /* owned; NULL: one port for each rank */
    cs_collective collective;
    uint32_t      n_ranks;
    bool          extrapolate; /* other numbers of ranks are answered, too; default: not */
    cs_nccl_side  column;      /* which side of the table was used */
    char          schedule[CS_NCCL_SCHEDULE_BYTES]; /* that was run, "ring"; empty: NCCL's own; of
                                                       two levels, what is taken for it */
    size_t       n_points;
    char         machine[128]; /* texts may be empty */
    char         versions[128];
    char         source[256];
    char         date[64];
    char         note[320];
    size_t       n_regimes; /* 1 .. CS_MAX_REGIMES, ranges increase */
    cs_regime    regimes[CS_MAX_REGIMES];
    cs_fit_error in_sample, held_out; /* over all points */
    uint64_t     hold_out_every;      /* k; 0: was not asked for */
    cs_fit_error every;               /* with every k-th size left out */
    uint64_t     seed;                /* of the bootstrap */
    size_t       n_outliers;          /* left out */
    cs_outlier   outliers[CS_MAX_OUTLIERS];

    size_t          n_breaks;
    cs_break        breaks[CS_MAX_REGIMES];
    cs_other_ranks *others; /* owned, by rising number */
    size_t          n_others;

    cs_point *points; /* n_points of them, by size, outliers too; owned; NULL: was loaded */

    cs_nccl_reading *logs;   /* how each was read; owned */
    size_t           n_logs; /* 0: not known */
} cs_calibration;

/* What the logs do not say. `{0}` takes everything from them, out-of-place. All texts are
 * borrowed; NULL: as the log has it, or empty. One that is longer than its place in the
 * calibration is refused. */
typedef struct cs_calibrate_options {
    bool          has_collective; /* `collective` is given */
    cs_collective collective;
    uint32_t      n_ranks; /* 0: from the logs; overrules their Rank lines, or says which logs of a
                              file are taken */
    cs_nccl_side   column;
    cs_fit_options fit;
    bool           extrapolate; /* copied to the calibration */
    const char    *machine, *versions, *date, *note;
    const char    *source; /* NULL: the names of the logs */
    cs_nccl_picks *picks;  /* asked of breaks that no log explains; NULL: nobody is */
} cs_calibrate_options;

/* Read `n` >= 1 files (cs_nccl_read) and fit the rows together that are of the first log's number
 * of ranks. All must be of the same collective, schedule and, where they name one, device;
 * otherwise each needs a calibration of its own. Logs of other numbers of ranks are held out as a
 * whole, and predicted. Of a file that holds several collectives or numbers of ranks, those that
 * the options give are taken, and held out. On CS_OK *calibration_p is the caller's
 * (cs_calibration_free). */
cs_status cs_calibrate(const char *const *paths, size_t n, const cs_calibrate_options *options,
                       cs_calibration **calibration_p, cs_error *err);

/* The same from logs that are read already; `names` are theirs in errors. */
cs_status cs_calibrate_logs(const cs_nccl_log *const *logs, const char *const *names, size_t n,
                            const cs_calibrate_options *options, cs_calibration **calibration_p,
                            cs_error *err);

/* What can be said of any log before it is fitted: its collective is known, its times are those of
 * the operation, and no result is wrong in the column that is used. *line_p is the line at fault.
 */
cs_status cs_calibrate_check(const cs_nccl_log *log, const cs_calibrate_options *options,
                             int *line_p, cs_error *err);

/* A calibration that has what the options and the logs say, and how the logs were read; to be
 * filled. `first` is the one that texts are taken from. */
cs_status cs_calibration_new(const cs_nccl_log *const *logs, size_t n,
                             const cs_calibrate_options *options, cs_calibration **calibration_p,
                             cs_error *err);

/* Frees a calibration of cs_calibrate() or cs_calibration_load(); NULL is allowed. */
void cs_calibration_free(cs_calibration *calibration);

/* The regime that holds `bytes` (nccl-tests' size column) in a calibration of one level; between
 * two of them what joins them, intervals too, with the larger errors of both. CS_ENOTSUP, with what
 * is accepted, for another collective, for a size outside the measured range, and for another
 * number of ranks unless `extrapolate` is set. */
cs_status cs_calibration_regime(const cs_calibration *calibration, cs_collective collective,
                                uint32_t n_ranks, uint64_t bytes, cs_regime *regime_p,
                                cs_error *err);

/* Its port parameters. */
cs_status cs_calibration_apply(const cs_calibration *calibration, cs_collective collective,
                               uint32_t n_ranks, uint64_t bytes, double *alpha_s_p,
                               double *bandwidth_Bps_p, cs_error *err);

/* The time of one operation and between what it may lie: by the largest error of a held-out size in
 * the regime of `bytes` (in both beside it, where it lies between two); for another number of ranks
 * by the largest error of those that were held out. The limits are 0 and infinite where nothing was
 * held out. CS_ENOTSUP as above. */
cs_status cs_calibration_time(const cs_calibration *calibration, cs_collective collective,
                              uint32_t n_ranks, uint64_t bytes, cs_estimate *time_s_p,
                              cs_error *err);

/* The cost model t = steps (alpha + wire_ratio S beta): how many steps, and which part of S
 * passes a port in each. `schedule` is that of a captured run, or empty. CS_ENOTSUP for collectives
 * whose time depends on an unknown depth (broadcast, reduce), for schedules without such a model,
 * and for a single rank. */
cs_status cs_calibration_steps(const char *schedule, cs_collective collective, uint32_t n_ranks,
                               double *steps_p, double *wire_ratio_p, cs_error *err);

/* A table for people, with units in the header. */
void cs_calibration_table(const cs_calibration *calibration, cs_text *text);

#endif
