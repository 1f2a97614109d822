/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Measurements are sorted by size and choice, so that those of one choice at one size, a "way",
 * are neighbours, and so are the ways of a size. */
#include "output/tuner_audit.h"

#include "base/alloc.h"
#include "base/statistics.h"
#include "output/expect_rows.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST = 3, WORD_BYTES = 48 };

#define CHANCE 0.01 /* that anything is said of noise alone */
#define OF_MEDIANS                                                                             \
    1.2533              /* standard error of a median over that of a mean, of normal variables \
                         */
#define TO_SIGMA 1.4826 /* median of |x| of a normal variable to its standard deviation */

typedef struct sample {
    cs_measured_choice one;        /* with both names */
    bool               is_guessed; /* NCCL chose, and the model says what */
} sample;

/* One choice at one size. */
typedef struct way {
    const sample *samples; /* [n] by their times */
    size_t        n;
    bool          is_default;      /* NCCL ran it by itself */
    double        median_s, sigma; /* of logarithms; NAN: less than LEAST */
} way;

typedef enum verdict { LOSES, SMALL, NOISE, FEW, BEST, ALONE, UNSAID, NOT_RUN } verdict;

static const char *const verdicts[] = {
    [LOSES]   = "loses",
    [SMALL]   = "too little",
    [NOISE]   = "within the noise",
    [FEW]     = "too few measurements",
    [BEST]    = "nothing is faster",
    [ALONE]   = "nothing else was measured",
    [UNSAID]  = "several ran by themselves, none of them the model's",
    [NOT_RUN] = "NCCL's choice was not measured",
};

/* What is said of a size. */
typedef struct finding {
    uint64_t   bytes;
    const way *chosen, *best; /* NULL: not known */
    verdict    verdict;
    double     lost_ratio, noise_ratio; /* NAN: not known */
} finding;

typedef struct audit {
    const cs_nccl_tuning *tuning;
    double                threshold;
    sample               *samples; /* [n] */
    way                  *ways;
    finding              *findings;
    cs_expect_loss       *losses; /* [n_findings]; all owned */
    size_t                n, n_ways, n_findings, n_losses;
    double                usual_sigma, student; /* how many standard errors are no chance */
} audit;

/* ---- what ran ---- */

static void set_name(char *name, const char *word)
{
    if (name[0] == '\0') {
        (void)snprintf(name, CS_CHOICE_NAME_BYTES, "%s", word);
    }
}

/* What the model picks at a size, of what the names allow ("": any). */
static void pick(const cs_nccl_tuning *tuning, uint64_t bytes, char *algorithm, char *protocol)
{
    cs_nccl_tuning t      = *tuning;
    cs_nccl_choice choice = {.protocol = CS_NCCL_SIMPLE};

    for (uint32_t a = 0; a < CS_NCCL_ALGORITHMS && algorithm[0] != '\0'; a++) {
        if (strcmp(algorithm, cs_nccl_algorithm_names[a]) != 0) {
            t.setting.algorithms &= ~(1u << a);
        }
    }
    for (uint32_t p = 0; p < CS_NCCL_PROTOCOLS && protocol[0] != '\0'; p++) {
        if (strcmp(protocol, cs_nccl_protocol_names[p]) != 0) {
            t.setting.protocols &= ~(1u << p);
        }
    }
    if (!cs_nccl_choose(&t, (double)bytes, &choice)) { /* of what the model lacks */
        choice.protocol = CS_NCCL_SIMPLE;
    }
    set_name(algorithm, cs_nccl_algorithm_names[choice.algorithm]);
    set_name(protocol, cs_nccl_protocol_names[choice.protocol]);
}

/* By size, choice and time; guesses apart from what logs say, because they may be wrong. */
static int compare(const void *left, const void *right)
{
    const sample *a = left, *b = right;

    if (a->one.bytes != b->one.bytes) {
        return a->one.bytes < b->one.bytes ? -1 : 1;
    }
    int order = strcmp(a->one.algorithm, b->one.algorithm);
    order     = order == 0 ? strcmp(a->one.protocol, b->one.protocol) : order;
    order     = order == 0 ? (int)a->is_guessed - (int)b->is_guessed : order;
    if (order != 0) {
        return order;
    }
    return (a->one.time_s > b->one.time_s) - (a->one.time_s < b->one.time_s);
}

static bool is_same_way(const sample *a, const sample *b)
{
    return a->one.bytes == b->one.bytes && strcmp(a->one.algorithm, b->one.algorithm) == 0 &&
           strcmp(a->one.protocol, b->one.protocol) == 0 && a->is_guessed == b->is_guessed;
}

/* Those of the collective on these ranks. */
static cs_status choose_samples(audit *a, const cs_measured_choices *measured, cs_error *err)
{
    a->samples = CS_NEW(sample, measured->n);
    if (a->samples == NULL) {
        return CS_NO_MEMORY(err, "the measurements of an audit");
    }
    for (size_t i = 0; i < measured->n; i++) {
        sample s = {.one = measured->all[i]};
        if (s.one.collective == a->tuning->collective && s.one.n_ranks == a->tuning->ranks) {
            s.is_guessed = !s.one.is_forced && s.one.algorithm[0] == '\0';
            pick(a->tuning, s.one.bytes, s.one.algorithm, s.one.protocol);
            a->samples[a->n++] = s;
        }
    }
    qsort(a->samples, a->n, sizeof a->samples[0], compare);
    if (a->n > 0) {
        return CS_OK;
    }
    return measured->n == 0
               ? CS_FAIL(err, CS_EINVAL, "--measured",
                         "no measurement: accepted are logs of nccl-tests and of NCCL's Inspector "
                         "from version 4.2 on")
               : CS_FAIL(err, CS_EINVAL, "--measured",
                         "no measurement of %s on %u ranks: the first of %zu is of %s on %u",
                         cs_collective_name(a->tuning->collective), a->tuning->ranks, measured->n,
                         cs_collective_name(measured->all[0].collective), measured->all[0].n_ranks);
}

/* ---- how long it took ---- */

/* Of few, the standard deviation; of many the median distance to the median, which outliers do not
 * move. `scratch` has room for n. */
static double sigma_of(const way *w, double *scratch)
{
    enum { MANY = 16 };
    double middle = log(w->median_s), squares = 0;

    for (size_t i = 0; i < w->n; i++) {
        double off = log(w->samples[i].one.time_s) - middle;
        scratch[i] = fabs(off);
        squares += off * off;
    }
    if (w->n < MANY) {
        return sqrt(squares / (double)(w->n - 1));
    }
    cs_sort_samples(scratch, w->n);
    return TO_SIGMA * cs_estimate_quantile(scratch, w->n, 0.5, 0).value;
}

static void describe_way(way *w, double *scratch)
{
    for (size_t i = 0; i < w->n; i++) {
        scratch[i]    = w->samples[i].one.time_s;
        w->is_default = w->is_default || !w->samples[i].one.is_forced;
    }
    w->median_s = cs_estimate_quantile(scratch, w->n, 0.5, 0).value; /* they are sorted */
    w->sigma    = w->n >= LEAST ? sigma_of(w, scratch) : (double)NAN;
}

/* The ways, and the noise that they usually have: the middle of those that have one. */
static cs_status find_ways(audit *a, cs_error *err)
{
    double *scratch = CS_NEW(double, a->n);
    size_t  end = 0, n_sigmas = 0;

    a->ways = CS_NEW(way, a->n);
    if (scratch == NULL || a->ways == NULL) {
        cs_free(scratch);
        return CS_NO_MEMORY(err, "the choices of an audit");
    }
    for (size_t begin = 0; begin < a->n; begin = end) {
        for (end = begin; end < a->n && is_same_way(&a->samples[begin], &a->samples[end]);) {
            end++;
        }
        way *w = &a->ways[a->n_ways++];
        *w     = (way){.samples = &a->samples[begin], .n = end - begin};
        describe_way(w, scratch);
    }
    for (size_t i = 0; i < a->n_ways; i++) {
        if (!isnan(a->ways[i].sigma)) {
            scratch[n_sigmas++] = a->ways[i].sigma;
        }
    }
    cs_sort_samples(scratch, n_sigmas);
    a->usual_sigma =
        n_sigmas > 0 ? cs_estimate_quantile(scratch, n_sigmas, 0.5, 0).value : (double)NAN;
    cs_free(scratch);
    return CS_OK;
}

static uint64_t bytes_of(const way *w)
{
    return w->samples[0].one.bytes;
}

/* Where the ways of a size end that begin there. */
static size_t end_of_size(const audit *a, size_t begin)
{
    size_t end = begin;

    while (end < a->n_ways && bytes_of(&a->ways[end]) == bytes_of(&a->ways[begin])) {
        end++;
    }
    return end;
}

/* So many standard errors would no comparison of noise be apart, in 99 of 100 audits: Bonferroni's,
 * over all ways that could be compared. */
static void find_student(audit *a)
{
    double freedom = 0;
    size_t n       = 0, end;

    for (size_t i = 0; i < a->n_ways; i++) {
        freedom += a->ways[i].n >= LEAST ? (double)(a->ways[i].n - 1) : 0;
    }
    for (size_t begin = 0; begin < a->n_ways; begin = end) {
        end = end_of_size(a, begin);
        n += end - begin - 1;
    }
    a->student = cs_student_t(fmax(freedom, 1), 1 - CHANCE / (double)(n > 0 ? n : 1));
}

/* ---- what is said ---- */

static bool is_of_model(const audit *a, const way *w)
{
    char algorithm[CS_CHOICE_NAME_BYTES] = "", protocol[CS_CHOICE_NAME_BYTES] = "";

    pick(a->tuning, bytes_of(w), algorithm, protocol);
    return strcmp(algorithm, w->samples[0].one.algorithm) == 0 &&
           strcmp(protocol, w->samples[0].one.protocol) == 0;
}

/* What NCCL ran by itself; where nothing did, what the model says, if it was forced. What a log
 * says comes before what the model does. */
static const way *find_chosen(const audit *a, size_t begin, size_t end, finding *f)
{
    const way *only = NULL, *of_model = NULL;
    size_t     n_default = 0;

    for (size_t i = begin; i < end; i++) {
        const way *w = &a->ways[i];
        n_default += w->is_default;
        only     = w->is_default ? w : only;
        of_model = is_of_model(a, w) && (of_model == NULL || w->is_default > of_model->is_default)
                       ? w
                       : of_model;
    }
    if (n_default == 1) {
        return only;
    }
    f->verdict = n_default > 1 ? UNSAID : NOT_RUN;
    return of_model;
}

/* The fastest of the others: of those that were measured often enough, if there are such. */
static const way *find_best(const audit *a, size_t begin, size_t end, const way *chosen)
{
    const way *best = NULL;

    for (size_t i = begin; i < end; i++) {
        const way *w = &a->ways[i];
        if (w == chosen) {
            continue;
        }
        bool is_often = w->n >= LEAST, was_often = best != NULL && best->n >= LEAST;
        if (best == NULL || is_often > was_often ||
            (is_often == was_often && w->median_s < best->median_s)) {
            best = w;
        }
    }
    return best;
}

/* How far chance takes two medians apart, as a ratio. */
static double noise_of(const audit *a, const way *x, const way *y)
{
    double sx = fmax(x->sigma, a->usual_sigma), sy = fmax(y->sigma, a->usual_sigma);

    return expm1(a->student * OF_MEDIANS * sqrt(sx * sx / (double)x->n + sy * sy / (double)y->n));
}

static finding find_loss(const audit *a, size_t begin, size_t end)
{
    finding f = {.bytes       = bytes_of(&a->ways[begin]),
                 .verdict     = ALONE,
                 .lost_ratio  = (double)NAN,
                 .noise_ratio = (double)NAN};

    f.chosen = find_chosen(a, begin, end, &f);
    if (f.chosen == NULL) {
        return f;
    }
    f.verdict = ALONE;
    f.best    = find_best(a, begin, end, f.chosen);
    if (f.best == NULL) {
        return f;
    }
    f.lost_ratio = f.chosen->median_s / f.best->median_s - 1;
    if (f.chosen->n < LEAST || f.best->n < LEAST) {
        f.verdict = f.lost_ratio > 0 ? FEW : BEST;
        return f;
    }
    f.noise_ratio = noise_of(a, f.chosen, f.best);
    f.verdict     = f.lost_ratio <= 0               ? BEST
                    : f.lost_ratio <= a->threshold  ? SMALL
                    : f.lost_ratio <= f.noise_ratio ? NOISE
                                                    : LOSES;
    return f;
}

/* Findings beside each other of the same answer are one range. */
static void add_loss(audit *a, size_t at)
{
    const finding            *f = &a->findings[at], *before = at > 0 ? f - 1 : NULL;
    const cs_measured_choice *best = &f->best->samples[0].one, *ran = &f->chosen->samples[0].one;
    cs_expect_loss           *last = a->n_losses > 0 ? &a->losses[a->n_losses - 1] : NULL;

    if (last != NULL && before != NULL && before->verdict == LOSES &&
        strcmp(last->algorithm, best->algorithm) == 0 &&
        strcmp(last->protocol, best->protocol) == 0) {
        last->max_bytes  = f->bytes;
        last->lost_ratio = fmax(last->lost_ratio, f->lost_ratio);
        return;
    }
    a->losses[a->n_losses++] = (cs_expect_loss){.min_bytes       = f->bytes,
                                                .max_bytes       = f->bytes,
                                                .algorithm       = best->algorithm,
                                                .protocol        = best->protocol,
                                                .chosen          = ran->algorithm,
                                                .chosen_protocol = ran->protocol,
                                                .lost_ratio      = f->lost_ratio};
}

static cs_status judge(audit *a, cs_error *err)
{
    size_t end;

    a->findings = CS_NEW(finding, a->n_ways);
    a->losses   = CS_NEW(cs_expect_loss, a->n_ways);
    if (a->findings == NULL || a->losses == NULL) {
        return CS_NO_MEMORY(err, "the sizes of an audit");
    }
    for (size_t begin = 0; begin < a->n_ways; begin = end) {
        end                          = end_of_size(a, begin);
        a->findings[a->n_findings++] = find_loss(a, begin, end);
        if (a->findings[a->n_findings - 1].verdict == LOSES) {
            add_loss(a, a->n_findings - 1);
        }
    }
    return CS_OK;
}

/* ---- text ---- */

/* "tree/ll128?", its median and how often it was measured. */
static void add_way(cs_text *text, const way *w)
{
    char word[WORD_BYTES] = "-";

    if (w == NULL) {
        cs_text_add(text, " %18s %12s %6s", word, "-", "-");
        return;
    }
    (void)snprintf(word, sizeof word, "%s/%s%s", w->samples[0].one.algorithm,
                   w->samples[0].one.protocol,
                   w->samples[0].is_guessed || !w->is_default ? "?" : "");
    cs_text_add(text, " %18s %12.2f %6zu", word, w->median_s * 1e6, w->n);
}

static void add_best(cs_text *text, const way *w)
{
    char word[WORD_BYTES] = "-";

    if (w == NULL) {
        cs_text_add(text, " %18s %12s %6s", word, "-", "-");
        return;
    }
    (void)snprintf(word, sizeof word, "%s/%s", w->samples[0].one.algorithm,
                   w->samples[0].one.protocol);
    cs_text_add(text, " %18s %12.2f %6zu", word, w->median_s * 1e6, w->n);
}

static void add_percent(cs_text *text, double ratio)
{
    if (isnan(ratio)) {
        cs_text_add(text, " %7s", "-");
    } else {
        cs_text_add(text, " %7.1f", 100 * ratio);
    }
}

static void add_notes(const audit *a, const cs_measured_choices *measured, cs_text *text)
{
    const char *at = measured->notes.data;

    cs_text_add(text, "# %zu measurements of %s on %u ranks", a->n,
                cs_collective_name(a->tuning->collective), a->tuning->ranks);
    if (measured->n > a->n) {
        cs_text_add(text, "; %zu of other collectives or ranks are left out", measured->n - a->n);
    }
    cs_text_add(text, "\n");
    while (at != NULL && *at != '\0') {
        size_t length = strcspn(at, "\n");
        cs_text_add(text, "# ");
        cs_text_add_bytes(text, at, length);
        cs_text_add(text, "\n");
        at += length + (at[length] == '\n');
    }
}

static void print(const audit *a, const cs_measured_choices *measured, cs_text *text)
{
    add_notes(a, measured, text);
    cs_text_add(text, "#%12s %18s %12s %6s %18s %12s %6s %7s %7s\n", "size", "NCCL's choice",
                "median (us)", "of", "fastest other", "median (us)", "of", "loss %", "noise %");
    for (size_t i = 0; i < a->n_findings; i++) {
        const finding *f = &a->findings[i];
        cs_text_add(text, "#%12" PRIu64, f->bytes);
        add_way(text, f->chosen);
        add_best(text, f->best);
        add_percent(text, f->lost_ratio);
        add_percent(text, f->noise_ratio);
        cs_text_add(text, "  %s\n", verdicts[f->verdict]);
    }
    cs_text_add(text,
                "# ?: the logs do not say what ran, or that NCCL chose it: it is the model's. "
                "noise: what chance does in one of %.0f audits\n"
                "# a line needs three measurements of both, more than %.0f %% and more than the "
                "noise; sizes that were not measured are in none but between measured ones\n",
                1 / CHANCE, 100 * a->threshold);
    cs_expect_loss_lines(text, a->losses, a->n_losses, cs_collective_name(a->tuning->collective),
                         a->tuning->cluster->servers, a->tuning->ranks);
}

cs_status cs_tuner_audit(const cs_measured_choices *measured, const cs_nccl_tuning *tuning,
                         double threshold, cs_text *text, cs_error *err)
{
    audit     a      = {.tuning = tuning, .threshold = threshold};
    cs_status status = choose_samples(&a, measured, err);

    if (status == CS_OK) {
        status = find_ways(&a, err);
    }
    if (status == CS_OK) {
        find_student(&a);
        status = judge(&a, err);
    }
    if (status == CS_OK) {
        print(&a, measured, text);
        status = cs_text_status(text, err);
    }
    cs_free(a.samples);
    cs_free(a.ways);
    cs_free(a.findings);
    cs_free(a.losses);
    return status;
}
