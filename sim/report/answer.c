/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/answer.h"

#include "cs/collective.h"
#include "output/comparison.h"
#include "output/look.h"
#include "study/config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PART_BYTES = 256, SENTENCE_BYTES = 1536, KEY_BYTES = 512 };

/* The value of the dim of faults where there are none. */
#define NO_FAULT "no NIC broken"

/* ---- values of a setting ---- */

static const cs_data_column *column(const cs_sweep *s, const char *name)
{
    return cs_data_find(s->data, name);
}

static double exposed_s(const cs_sweep *s, size_t setting, size_t algorithm)
{
    return cs_sweep_at(s, setting, algorithm, s->exposed);
}

size_t cs_answer_best(const cs_sweep *s, size_t setting)
{
    size_t best = s->n_algorithms;

    for (size_t a = 0; a < s->n_algorithms; a++) {
        cs_cell_state state = cs_sweep_state(s, setting, a);
        bool          ran   = state == CS_CELL_VERIFIED || state == CS_CELL_RUN;
        if (ran &&
            (best == s->n_algorithms || exposed_s(s, setting, a) < exposed_s(s, setting, best))) {
            best = a;
        }
    }
    return best;
}

double cs_answer_bound_s(const cs_sweep *s, size_t setting, size_t algorithm)
{
    double last_arrival_s =
        cs_sweep_at(s, setting, algorithm, s->elapsed) - exposed_s(s, setting, algorithm);
    double bound_s = cs_sweep_at(s, setting, algorithm, s->bound) - last_arrival_s;

    return bound_s > 0 ? bound_s : (double)NAN;
}

static size_t algorithm_named(const cs_sweep *s, const char *name)
{
    size_t a = 0;

    while (a < s->n_algorithms && (name == NULL || strcmp(s->algorithms[a], name) != 0)) {
        a++;
    }
    return a;
}

/* ---- conditions ---- */

cs_status cs_answer_case(const cs_answers *a, size_t setting, size_t algorithm, cs_case *c,
                         cs_error *err)
{
    const cs_data_column *scenarios = column(a->sweep, "scenario");
    uint32_t              row       = a->sweep->rows[setting * a->sweep->n_algorithms + algorithm];
    const char *json   = scenarios != NULL && row > 0 ? cs_data_word(scenarios, row - 1) : NULL;
    cs_config  *config = NULL;

    if (json == NULL || cs_sweep_state(a->sweep, setting, algorithm) == CS_CELL_FAILED) {
        return CS_FAIL(err, CS_ENOENT, "scenario", "the rows do not say what was run");
    }
    cs_status status = cs_config_parse(json, strlen(json), a->base, &config, err);
    if (status == CS_OK) {
        status = cs_config_try_case(config, 0, c, err);
    }
    cs_config_free(config);
    return status;
}

/* A value of all rows, of which the first counts. O(rows log rows). */
static double same_value(const cs_sweep *s, const char *name)
{
    const cs_data_column *c     = column(s, name);
    double                value = (double)NAN;

    if (c != NULL && !c->has_words) {
        (void)cs_data_values(s->data, c, &value, 1);
    }
    return value;
}

void cs_answers_open(cs_answers *a, const cs_sweep *sweep, const char *base)
{
    *a          = (cs_answers){.sweep = sweep, .base = base};
    a->baseline = cs_reference_algorithm(sweep->algorithms, sweep->n_algorithms);
    a->ranks    = same_value(sweep, "ranks");
    a->bytes    = same_value(sweep, "bytes");
    memset(a->shares, -1, sizeof a->shares);
    for (size_t k = 0; k < sweep->n_settings; k++) {
        for (size_t i = 0; i < sweep->n_algorithms; i++) {
            cs_cell_state state = cs_sweep_state(sweep, k, i);
            a->n_verified += state == CS_CELL_VERIFIED;
            a->n_run += state != CS_CELL_NONE;
        }
    }
}

void cs_answers_close(cs_answers *a)
{
    cs_case_free(&a->last);
    cs_arena_free(&a->arena);
}

/* Sizes, ranks and delays above 0 change numbers of a sentence, not its words. */
static bool is_plain(const cs_sweep_dim *dim)
{
    return strcmp(dim->name, "ranks") == 0 || strcmp(dim->name, "bytes") == 0;
}

static bool is_delay(const cs_sweep_dim *dim)
{
    size_t length = strlen(dim->name);

    return dim->words == NULL && strncmp(dim->name, "arrivals.late[", 14) == 0 && length > 8 &&
           strcmp(dim->name + length - 8, ".delay_s") == 0;
}

static double value_of(const cs_sweep *s, size_t setting, size_t dim)
{
    return s->dims[dim].values[s->index[setting * s->n_dims + dim]];
}

static uint64_t key_of(const cs_sweep *s, size_t setting)
{
    uint64_t key = CS_HASH_BASIS;

    for (size_t i = 0; i < s->n_dims; i++) {
        uint32_t place = s->index[setting * s->n_dims + i];
        place          = is_plain(&s->dims[i])   ? 0
                         : is_delay(&s->dims[i]) ? value_of(s, setting, i) > 0
                                                 : place;
        key            = cs_hash_add(key, &place, sizeof place);
    }
    return key;
}

/* The case of any row of a setting, or NULL where its words are not known. */
static const cs_case *conditions(cs_answers *a, size_t setting)
{
    const cs_sweep *s   = a->sweep;
    uint64_t        key = key_of(s, setting);

    if (a->has_last && a->last_key == key) {
        return a->last.json != NULL ? &a->last : NULL;
    }
    cs_case_free(&a->last);
    a->last     = (cs_case){0};
    a->has_last = true;
    a->last_key = key;
    for (size_t i = 0; i < s->n_algorithms && a->last.json == NULL; i++) {
        cs_error ignored = {0};
        if (cs_answer_case(a, setting, i, &a->last, &ignored) != CS_OK) {
            cs_case_free(&a->last);
            a->last = (cs_case){0};
        }
    }
    return a->last.json != NULL ? &a->last : NULL;
}

/* "the NICs of GPU 3's server at 1/2 of their rate" */
static void fault_text(const cs_fault *f, char *text, size_t bytes)
{
    double slow = f->capacity.slowdown;
    char   part[48], who[64];

    if (f->is_nic) {
        (void)snprintf(who, sizeof who, "NIC %u of server %u", f->nic, f->server);
    } else {
        (void)snprintf(who, sizeof who, "the NICs of GPU %u's server", f->capacity.rank);
    }
    if (isinf(slow)) {
        (void)snprintf(text, bytes, "%s dead", who);
        return;
    }
    if (fabs(slow - round(slow)) < 1e-9) {
        (void)snprintf(part, sizeof part, "1/%.0f", slow);
    } else {
        (void)snprintf(part, sizeof part, "%.0f %%", 100 / slow);
    }
    (void)snprintf(text, bytes, "%s at %s of %s rate", who, part, f->is_nic ? "its" : "their");
}

void cs_answer_faults(const cs_fault *faults, size_t n, char *text, size_t bytes)
{
    if (n == 0) {
        (void)snprintf(text, bytes, NO_FAULT);
    } else if (n == 1) {
        fault_text(&faults[0], text, bytes);
    } else {
        (void)snprintf(text, bytes, "%zu faults of NICs", n);
    }
}

/* "GPU 7 late by 4.00 ms", "on time" */
static void late_text(const cs_scenario *scenario, char *text, size_t bytes)
{
    uint32_t n_late = 0, late = 0, n = scenario->cluster.n_ranks;
    char     delay[CS_QUANTITY_BYTES];

    for (uint32_t r = 0; r < n; r++) {
        n_late += cs_arrival(scenario, r) > 0;
        late = cs_arrival(scenario, r) > 0 ? r : late;
    }
    cs_quantity_text(CS_QUANTITY_S, cs_last_arrival(scenario), delay);
    if (n_late == 0) {
        (void)snprintf(text, bytes, "on time");
    } else if (n_late == 1) {
        (void)snprintf(text, bytes, "GPU %u late by %s", late, delay);
    } else {
        (void)snprintf(text, bytes, "%u GPUs late, by up to %s", n_late, delay);
    }
}

/* Any row that has value `place` of dim `i`: its case. */
static bool case_of_place(const cs_answers *a, size_t i, size_t place, cs_case *c)
{
    const cs_sweep *s     = a->sweep;
    cs_error        wrong = {0};

    for (size_t k = 0; k < s->n_settings; k++) {
        for (size_t n = 0; s->index[k * s->n_dims + i] == place && n < s->n_algorithms; n++) {
            if (s->rows[k * s->n_algorithms + n] > 0) {
                return cs_answer_case(a, k, n, c, &wrong) == CS_OK;
            }
        }
    }
    return false;
}

/* Has an earlier value of the dim that name? */
static bool is_taken(const cs_sweep_dim *d, size_t place, const char *text)
{
    for (size_t i = 0; i < place; i++) {
        if (strcmp(d->words[i], text) == 0) {
            return true;
        }
    }
    return false;
}

cs_status cs_answers_name_words(cs_answers *a, cs_sweep *s, cs_error *err)
{
    char text[PART_BYTES];

    for (size_t i = 0; i < s->n_dims; i++) {
        cs_sweep_dim *d         = &s->dims[i];
        bool          is_faults = strcmp(d->name, "faults") == 0;
        if (d->words == NULL || (!is_faults && strcmp(d->name, "arrivals.late") != 0)) {
            continue;
        }
        for (size_t k = 0; k < d->n; k++) {
            cs_case c = {0};
            if (case_of_place(a, i, k, &c)) {
                if (is_faults) {
                    cs_answer_faults(c.faults, c.n_faults, text, sizeof text - 24);
                } else {
                    late_text(&c.job.scenario, text, sizeof text - 24);
                }
                if (is_taken(d, k, text)) {
                    size_t used = strlen(text);
                    (void)snprintf(text + used, sizeof text - used, " (%zu)", k + 1);
                }
                d->words[k] = cs_arena_strdup(&a->arena, text);
            }
            cs_case_free(&c);
            if (d->words[k] == NULL) {
                return CS_NO_MEMORY(err, "names of values");
            }
        }
    }
    return CS_OK;
}

size_t cs_answer_before(const cs_sweep *s, size_t setting)
{
    for (size_t d = 0; d < s->n_dims; d++) {
        if (strcmp(s->dims[d].name, "faults") != 0 || s->dims[d].words == NULL) {
            continue;
        }
        for (size_t k = 0; k < s->n_settings; k++) {
            bool fits = strcmp(s->dims[d].words[s->index[k * s->n_dims + d]], NO_FAULT) == 0;
            for (size_t i = 0; i < s->n_dims; i++) {
                fits = fits &&
                       (i == d || s->index[k * s->n_dims + i] == s->index[setting * s->n_dims + i]);
            }
            if (fits && k != setting) {
                return k;
            }
        }
    }
    return s->n_settings;
}

/* ---- the sentence ---- */

static const cs_sweep_dim *dim_named(const cs_sweep *s, const char *name)
{
    for (size_t i = 0; i < s->n_dims; i++) {
        if (strcmp(s->dims[i].name, name) == 0) {
            return &s->dims[i];
        }
    }
    return NULL;
}

/* "{dim:bytes}", or the number where it is the same everywhere, which a page that is live may set:
 * "{set:bytes=1 GiB}". */
static void place_text(const cs_sweep *s, const char *name, const char *path, cs_quantity unit,
                       double value, char text[PART_BYTES])
{
    char number[CS_QUANTITY_BYTES];

    if (dim_named(s, name) != NULL) {
        (void)snprintf(text, PART_BYTES, "{dim:%.200s}", name);
        return;
    }
    cs_quantity_text(unit, value, number);
    (void)snprintf(text, PART_BYTES, "{set:%s=%s}", path, number);
}

static const char *collective_of(const cs_sweep *s)
{
    static const struct {
        const char *name, *text;
    } texts[]               = {{"allreduce", "an AllReduce"},        {"allgather", "an AllGather"},
                               {"reducescatter", "a ReduceScatter"}, {"alltoall", "an AlltoAll"},
                               {"broadcast", "a Broadcast"},         {"reduce", "a Reduce"}};
    const cs_data_column *c = column(s, "collective");
    const char           *name = c != NULL && c->n_words == 1 ? c->words[0] : "";

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (strcmp(name, texts[i].name) == 0) {
            return texts[i].text;
        }
    }
    return "a collective";
}

const char *cs_answer_collective(const cs_sweep *s)
{
    return strchr(collective_of(s), ' ') + 1;
}

/* The delay of the one late rank, as above; of several, the last one's. */
static void delay_text(const cs_sweep *s, double delay_s, bool is_one, char text[PART_BYTES])
{
    const char *name = "arrivals.late[0].delay_s";

    for (size_t i = 0; i < s->n_dims; i++) {
        name = is_delay(&s->dims[i]) ? s->dims[i].name : name;
    }
    if (is_one || dim_named(s, name) != NULL) {
        place_text(s, name, "arrivals.late[0].delay", CS_QUANTITY_S, delay_s, text);
    } else {
        cs_quantity_text(CS_QUANTITY_S, delay_s, text);
    }
}

/* " with NIC 5 of server 3 dead", or nothing. */
static void broken_text(const cs_sweep *s, const cs_case *c, char text[PART_BYTES])
{
    char faults[160];

    text[0] = '\0';
    if (dim_named(s, "faults") != NULL) {
        (void)snprintf(text, PART_BYTES, " with {dim:faults}");
    } else if (c != NULL && c->n_faults > 0) {
        cs_answer_faults(c->faults, c->n_faults, faults, sizeof faults);
        (void)snprintf(text, PART_BYTES, " with %s", faults);
    }
}

/* Add " of 1 GiB", " on 16 GPUs" to a sentence, where the rows say how many. */
static void add_known(const cs_sweep *s, const char *name, double value, const char *before,
                      const char *words, const char *behind, char text[SENTENCE_BYTES])
{
    size_t used = strlen(text);

    if (dim_named(s, name) != NULL || !isnan(value)) {
        (void)snprintf(text + used, SENTENCE_BYTES - used, "%s%s%s", before, words, behind);
    }
}

/* "When GPU 7 of {dim:ranks} comes {dim:..} late to an AllReduce of {dim:bytes}" */
static void begin_text(cs_answers *a, size_t setting, char text[SENTENCE_BYTES])
{
    const cs_sweep *s = a->sweep;
    const cs_case  *c = conditions(a, setting);
    char            ranks[PART_BYTES], bytes[PART_BYTES], delay[PART_BYTES], broken[PART_BYTES];
    uint32_t        n_late = 0, late = 0, n = c != NULL ? c->job.scenario.cluster.n_ranks : 0;
    bool            has_delay = false;

    if (a->begin != NULL) {
        (void)snprintf(text, SENTENCE_BYTES, "%s", a->begin);
        return;
    }
    place_text(s, "ranks", "cluster.ranks", CS_QUANTITY_COUNT, a->ranks, ranks);
    place_text(s, "bytes", "bytes", CS_QUANTITY_SIZE, a->bytes, bytes);
    broken_text(s, c, broken);
    for (uint32_t r = 0; r < n; r++) {
        n_late += cs_arrival(&c->job.scenario, r) > 0;
        late = cs_arrival(&c->job.scenario, r) > 0 ? r : late;
    }
    for (size_t i = 0; i < s->n_dims; i++) {
        has_delay = has_delay || is_delay(&s->dims[i]);
    }
    if (n_late > 0) {
        delay_text(s, cs_last_arrival(&c->job.scenario), n_late == 1, delay);
    }
    if (n_late == 1) {
        (void)snprintf(text, SENTENCE_BYTES, "When GPU %u of %s comes %s late to %s of %s%s", late,
                       ranks, delay, collective_of(s), bytes, broken);
    } else if (n_late > 1) {
        (void)snprintf(text, SENTENCE_BYTES,
                       "When %u of %s GPUs come late to %s of %s, the last by %s%s", n_late, ranks,
                       collective_of(s), bytes, delay, broken);
    } else if (has_delay) {
        delay_text(s, 0, true, delay);
        (void)snprintf(text, SENTENCE_BYTES,
                       "When all %s GPUs come on time (%s late) to %s of %s%s", ranks, delay,
                       collective_of(s), bytes, broken);
    } else {
        (void)snprintf(text, SENTENCE_BYTES, "For %s", collective_of(s));
        add_known(s, "bytes", a->bytes, " of ", bytes, "", text);
        add_known(s, "ranks", a->ranks, " on ", ranks, " GPUs", text);
        size_t used = strlen(text);
        (void)snprintf(text + used, SENTENCE_BYTES - used, "%s", broken);
    }
}

/* Does the best profit from what a port model leaves out: many messages at one port on one alpha?
 */
static bool profits_from_model(cs_answers *a, size_t setting, size_t best)
{
    const cs_data_column *model = column(a->sweep, "model");
    uint32_t              row   = a->sweep->rows[setting * a->sweep->n_algorithms + best];
    const char           *name  = model != NULL ? cs_data_word(model, row - 1) : NULL;
    cs_error              wrong = {0};
    cs_case               c     = {0};

    if (name == NULL || (strcmp(name, "alpha-beta") != 0 && strcmp(name, "loggp") != 0)) {
        return false;
    }
    if (best >= sizeof a->shares) {
        return false;
    }
    if (a->shares[best] < 0) {
        cs_status status = cs_answer_case(a, setting, best, &c, &wrong);
        status           = status == CS_OK ? cs_job_resolve(&c.job, &wrong) : status;
        a->shares[best]  = status == CS_OK && (c.job.plan.uses & CS_USES_SHARED) != 0 ? 1 : 0;
        cs_job_release(&c.job);
        cs_case_free(&c);
    }
    return a->shares[best] > 0;
}

/* The best of the algorithms that do not; n_algorithms: none. */
static size_t next_best(cs_answers *a, size_t setting)
{
    const cs_sweep *s    = a->sweep;
    size_t          next = s->n_algorithms;

    for (size_t i = 0; i < s->n_algorithms; i++) {
        cs_cell_state state = cs_sweep_state(s, setting, i);
        if ((state == CS_CELL_VERIFIED || state == CS_CELL_RUN) &&
            (next == s->n_algorithms || exposed_s(s, setting, i) < exposed_s(s, setting, next)) &&
            !profits_from_model(a, setting, i)) {
            next = i;
        }
    }
    return next;
}

/* What is said of a setting. */
typedef struct verdict {
    size_t      place;                     /* of the best; n_algorithms: none */
    const char *kind, *best, *base, *next; /* names of algorithms, or NULL */
    const char *presumes; /* the one with the least critical delay that is known, or NULL */
    const char *wrong;    /* what is wrong with a schedule, or why nothing ran */
    const char *wrong_of;
    bool        is_late;
    double      gain;
} verdict;

static void find_presuming(const cs_sweep *s, size_t setting, verdict *v)
{
    const cs_data_column *critical = column(s, "critical_delay_s");
    double                least    = (double)INFINITY;

    for (size_t i = 0; i < s->n_algorithms; i++) {
        double delay_s = cs_sweep_at(s, setting, i, critical);
        if (delay_s < least) {
            least       = delay_s;
            v->presumes = s->algorithms[i];
        }
    }
}

/* A schedule that is wrong outweighs everything; one that was refused counts where nothing ran. */
static void find_wrong(const cs_sweep *s, size_t setting, bool has_best, verdict *v)
{
    const cs_data_column *verified = column(s, "verified");

    for (size_t i = 0; i < s->n_algorithms && v->wrong == NULL; i++) {
        bool is_failed = cs_sweep_state(s, setting, i) == CS_CELL_FAILED;
        bool was_run   = is_failed && !isnan(exposed_s(s, setting, i)) && verified != NULL;
        if (is_failed && (was_run || !has_best)) {
            const char *error = cs_sweep_error(s, setting, i);
            v->wrong          = error != NULL ? error : "its data are wrong";
            v->wrong_of       = s->algorithms[i];
            v->kind           = "error";
        }
    }
}

static verdict judge(cs_answers *a, size_t setting)
{
    const cs_sweep *s    = a->sweep;
    const cs_case  *c    = conditions(a, setting);
    size_t          best = cs_answer_best(s, setting), base = algorithm_named(s, a->baseline);
    verdict         v = {.place = best, .kind = "run", .gain = 0};

    v.is_late = a->begin != NULL || (c != NULL && cs_last_arrival(&c->job.scenario) > 0);
    find_presuming(s, setting, &v);
    find_wrong(s, setting, best < s->n_algorithms, &v);
    if (best == s->n_algorithms) {
        v.kind = "error";
        return v;
    }
    v.best = s->algorithms[best];
    if (base < s->n_algorithms && !isnan(exposed_s(s, setting, base)) &&
        cs_sweep_state(s, setting, base) != CS_CELL_FAILED) {
        v.base = a->baseline;
        v.gain = 1 - exposed_s(s, setting, best) / exposed_s(s, setting, base);
    }
    if (v.wrong != NULL) {
        return v;
    }
    v.kind = s->n_algorithms == 1                              ? "alone"
             : v.base != NULL && v.gain < CS_ANSWER_LEAST_GAIN ? "keep"
                                                               : "run";
    if (strcmp(v.kind, "run") == 0 && profits_from_model(a, setting, best)) {
        size_t next = next_best(a, setting);
        v.next      = next < s->n_algorithms ? s->algorithms[next] : NULL;
    }
    return v;
}

/* `begin` is followed by a comma, unless it ends in a colon. */
static void add_sentence(const verdict *v, const char *begin, bool has_doubt, cs_text *out)
{
    const char *then = begin[0] != '\0' && begin[strlen(begin) - 1] == ':' ? "" : ",";

    if (v->wrong != NULL && v->best == NULL) {
        cs_text_add(out, "%s%s nothing could be run.", begin, then);
    } else if (v->wrong != NULL) {
        cs_text_add(out,
                    "✗ Wrong: the schedule of {name:%s} is not the collective. %s%s do not run it.",
                    v->wrong_of, begin, then);
    } else if (v->best == NULL) {
        cs_text_add(out, "%s%s nothing was run.", begin, then);
    } else if (has_doubt) {
        cs_text_add(out, "%s%s name the machine to learn what would have helped.", begin, then);
    } else if (strcmp(v->kind, "keep") == 0) {
        cs_text_add(out, "%s%s keep {run:%s}.", begin, then, v->base);
    } else if (strcmp(v->kind, "alone") == 0) {
        cs_text_add(out, "%s%s {run:%s} takes {time:%s}.", begin, then, v->best, v->best);
    } else if (v->next != NULL) {
        cs_text_add(out,
                    "%s%s run {run:%s}, or {run:%s} where many messages to one GPU at once cost "
                    "more than this model says.",
                    begin, then, v->best, v->next);
    } else {
        cs_text_add(out, "%s%s run {run:%s}.", begin, then, v->best);
    }
}

static void add_because(const verdict *v, bool has_bound, cs_text *out)
{
    const char *when = v->is_late ? " after the last GPU has come" : "";

    if (v->best == NULL || v->wrong != NULL) {
        cs_text_add(out, "%s%s", v->wrong != NULL && v->wrong_of != NULL ? v->wrong_of : "",
                    v->wrong != NULL ? ": " : "");
        for (const char *p = v->wrong; p != NULL && *p != '\0'; p++) {
            cs_text_add(out, *p == '{' ? "{{" : "%c", *p);
        }
        return;
    }
    if (strcmp(v->kind, "alone") == 0) {
        cs_text_add(out, "That is counted from the last arrival on; there is nothing here to "
                         "compare it with.");
        cs_text_add(out, has_bound ? " No schedule can be faster than {bound}." : "");
        return;
    }
    if (strcmp(v->kind, "keep") == 0 && strcmp(v->best, v->base) == 0) {
        cs_text_add(out, "Nothing that was tried is faster: it ends {time:%s}%s.", v->best,
                    v->is_late ? when : " after the start");
    } else if (strcmp(v->kind, "keep") == 0) {
        cs_text_add(out,
                    "The best schedule, {name:%s}, saves less than 2 %%: {time:%s} against "
                    "{time:%s}%s.",
                    v->best, v->best, v->base, when);
    } else {
        cs_text_add(out, "It ends {time:%s}%s", v->best, v->is_late ? when : " after the start");
        if (v->base != NULL) {
            cs_text_add(out, "; {name:%s} takes {time:%s}", v->base, v->base);
        }
        if (v->next != NULL) {
            cs_text_add(out, ", {name:%s} {time:%s}", v->next, v->next);
        }
        cs_text_add(out, ".");
    }
    cs_text_add(out, has_bound ? " No schedule can be faster than {bound}." : "");
}

/* Add the JSON string of a text with an algorithm's name in the place of "%s". */
static void add_named(cs_text *json, const char *form, const char *algorithm)
{
    cs_text     words = {0};
    const char *place = strstr(form, "%s");

    if (place != NULL) {
        cs_text_add_bytes(&words, form, (size_t)(place - form));
        cs_text_add(&words, "%s", algorithm);
    }
    cs_text_add(&words, "%s", place != NULL ? place + 2 : form);
    cs_text_add_json_string(json, words.data);
    json->failed = json->failed || words.failed;
    cs_text_free(&words);
}

/* A tile: a value of one algorithm, and words about another or the same. */
static void add_tile(cs_text *json, const char *value, const char *of, const char *text,
                     const char *about)
{
    bool is_first = json->length > 0 && json->data[json->length - 1] == '[';

    cs_text_add(json, is_first ? "[" : ",[");
    add_named(json, value, of);
    cs_text_add(json, ",");
    add_named(json, text, about);
    cs_text_add(json, "]");
}

/* How the best compares with what runs if nobody chooses, and with the bound. */
static void add_best_tiles(const verdict *v, bool has_bound, bool has_gap, cs_text *json)
{
    if (v->base != NULL && strcmp(v->kind, "alone") != 0) {
        add_tile(json, "{gain:%s}", v->best, "faster than {name:%s}, which runs if nobody chooses",
                 v->base);
    } else {
        add_tile(json, "{time:%s}", v->best, "exposed time of {name:%s}, from the last arrival on",
                 v->best);
    }
    if (has_bound) {
        add_tile(json, "{above:%s}", v->best,
                 "above the proven bound: at most {left:%s} is left to gain", v->best);
    }
    if (v->presumes != NULL) {
        add_tile(json, "{critical:%s}", v->presumes,
                 "is the critical delay: a GPU that is later makes {name:%s} pay", v->presumes);
    } else if (has_gap) {
        add_tile(json, "{gap:%s}", v->best,
                 "elapsed time over the bound, from the first arrival on", v->best);
    }
}

static void add_tiles(const cs_answers *a, const verdict *v, size_t setting, cs_text *json)
{
    const cs_sweep *s = a->sweep;
    char            value[PART_BYTES], text[PART_BYTES], number[CS_QUANTITY_BYTES];

    cs_text_add(json, "\"tiles\":[");
    if (v->best != NULL && a->doubt == NULL) {
        add_best_tiles(v, !isnan(cs_answer_bound_s(s, setting, v->place)),
                       !isnan(cs_sweep_at(s, setting, v->place, column(s, "gap"))), json);
    }
    cs_quantity_text(CS_QUANTITY_COUNT, (double)(a->n_verified > 0 ? a->n_verified : a->n_run),
                     number);
    (void)snprintf(value, sizeof value, "%s%s", number, a->n_verified == a->n_run ? " ✓" : "");
    cs_quantity_text(CS_QUANTITY_COUNT, (double)a->n_run, number);
    (void)snprintf(text, sizeof text,
                   a->n_verified == a->n_run
                       ? "schedules replayed and each checked, contribution by contribution"
                   : a->n_verified == 0 ? "schedules replayed, not checked"
                                        : "of %s schedules were checked and are right",
                   number);
    add_tile(json, value, "", text, "");
    cs_text_add(json, "]");
}

/* What it took before it broke: " With nothing broken NCCL's rings takes 5.28 ms." */
static void add_before(const cs_answers *a, size_t setting, const verdict *v, cs_text *out)
{
    const cs_sweep *s         = a->sweep;
    size_t          before    = cs_answer_before(s, setting);
    const char     *name      = v->base != NULL ? v->base : v->best;
    size_t          algorithm = algorithm_named(s, name);
    char            time[CS_QUANTITY_BYTES], more[CS_QUANTITY_BYTES];

    if (before == s->n_settings || algorithm == s->n_algorithms || v->wrong != NULL) {
        return;
    }
    double was_s = exposed_s(s, before, algorithm), is_s = exposed_s(s, setting, algorithm);
    if (!(was_s > 0)) {
        return;
    }
    cs_quantity_text(CS_QUANTITY_S, was_s, time);
    cs_percent_text(is_s / was_s - 1, more);
    cs_text_add(out, " With nothing broken {name:%s} takes %s: the fault costs it %s.", name, time,
                more);
}

cs_status cs_answer_json(cs_answers *a, size_t setting, cs_text *json, cs_error *err)
{
    char    begin[SENTENCE_BYTES];
    verdict v        = judge(a, setting);
    cs_text sentence = {0}, because = {0};

    begin_text(a, setting, begin);
    add_sentence(&v, begin, a->doubt != NULL, &sentence);
    if (a->doubt != NULL && v.best != NULL) {
        cs_text_add(&because,
                    "On the model {name:%s} is the fastest: it ends {time:%s} after the "
                    "last GPU has come.",
                    v.best, v.best);
    } else {
        add_because(&v, v.best != NULL && !isnan(cs_answer_bound_s(a->sweep, setting, v.place)),
                    &because);
    }
    add_before(a, setting, &v, &because);
    if (a->doubt != NULL) {
        cs_text_add(&because, " %s", a->doubt);
    }
    cs_text_add(json, "{\"sentence\":");
    cs_text_add_json_string(json, sentence.data != NULL ? sentence.data : "");
    cs_text_add(json, ",\"because\":");
    cs_text_add_json_string(json, because.data != NULL ? because.data : "");
    cs_text_add(json, ",\"best\":");
    cs_text_add_json_string(json, v.best);
    cs_text_add(json, ",\"kind\":\"%s\",", v.kind);
    add_tiles(a, &v, setting, json);
    cs_text_add(json, "}");
    bool failed = sentence.failed || because.failed;
    cs_text_free(&sentence);
    cs_text_free(&because);
    return failed ? CS_NO_MEMORY(err, "an answer") : cs_text_status(json, err);
}

/* ---- places filled ---- */

void cs_html_text(cs_text *html, const char *text)
{
    for (; *text != '\0'; text++) {
        switch (*text) {
        case '<': cs_text_add(html, "&lt;"); break;
        case '>': cs_text_add(html, "&gt;"); break;
        case '&': cs_text_add(html, "&amp;"); break;
        case '"': cs_text_add(html, "&quot;"); break;
        default: cs_text_add_bytes(html, text, 1); break;
        }
    }
}

static void fill_dim(const cs_sweep *s, size_t setting, const char *name, cs_text *html)
{
    char text[PART_BYTES];

    for (size_t i = 0; i < s->n_dims; i++) {
        if (strcmp(s->dims[i].name, name) == 0) {
            cs_sweep_text(&s->dims[i], s->index[setting * s->n_dims + i], text, sizeof text);
            cs_text_add(html, "<span class=\"num\" data-dim=\"");
            cs_html_text(html, name);
            cs_text_add(html, "\">");
            cs_html_text(html, text);
            cs_text_add(html, "</span>");
        }
    }
}

/* The value of a place of an algorithm. */
static void fill_value(const cs_answers *a, size_t setting, const char *kind, size_t algorithm,
                       cs_text *html)
{
    const cs_sweep *s       = a->sweep;
    double          time_s  = exposed_s(s, setting, algorithm);
    double          bound_s = cs_answer_bound_s(s, setting, algorithm);
    size_t          base    = algorithm_named(s, a->baseline);
    char            text[CS_QUANTITY_BYTES];

    if (strcmp(kind, "time") == 0) {
        cs_quantity_text(CS_QUANTITY_S, time_s, text);
    } else if (strcmp(kind, "elapsed") == 0) {
        cs_quantity_text(CS_QUANTITY_S, cs_sweep_at(s, setting, algorithm, s->elapsed), text);
    } else if (strcmp(kind, "critical") == 0) {
        cs_quantity_text(CS_QUANTITY_S,
                         cs_sweep_at(s, setting, algorithm, column(s, "critical_delay_s")), text);
    } else if (strcmp(kind, "gap") == 0) {
        cs_quantity_text(CS_QUANTITY_RATIO, cs_sweep_at(s, setting, algorithm, column(s, "gap")),
                         text);
    } else if (strcmp(kind, "above") == 0) {
        cs_percent_text(time_s / bound_s - 1, text);
    } else if (strcmp(kind, "left") == 0) {
        cs_percent_text(1 - bound_s / time_s, text);
    } else {
        double base_s = base < s->n_algorithms ? exposed_s(s, setting, base) : (double)NAN;
        cs_percent_text(1 - time_s / base_s, text);
    }
    cs_html_text(html, text);
}

static void fill_place(const cs_answers *a, size_t setting, const char *kind, const char *name,
                       cs_text *html)
{
    const cs_sweep *s         = a->sweep;
    size_t          algorithm = algorithm_named(s, name), best = cs_answer_best(s, setting);
    char            text[CS_QUANTITY_BYTES];

    if (strcmp(kind, "dim") == 0) {
        fill_dim(s, setting, name, html);
    } else if (strcmp(kind, "set") == 0) {
        const char *equals = strchr(name, '=');
        cs_html_text(html, equals != NULL ? equals + 1 : name);
    } else if (strcmp(kind, "bound") == 0) {
        cs_quantity_text(CS_QUANTITY_S,
                         best < s->n_algorithms ? cs_answer_bound_s(s, setting, best) : (double)NAN,
                         text);
        cs_html_text(html, text);
    } else if (strcmp(kind, "run") == 0) {
        cs_text_add(html, "<b class=\"run\" data-algorithm=\"");
        cs_html_text(html, name);
        cs_text_add(html, "\">");
        cs_html_text(html, cs_look_title(name));
        cs_text_add(html, "</b>");
    } else if (strcmp(kind, "name") == 0) {
        cs_html_text(html, cs_look_title(name));
    } else if (algorithm < s->n_algorithms) {
        fill_value(a, setting, kind, algorithm, html);
    }
}

cs_status cs_answer_text(const cs_answers *a, size_t setting, const char *text, cs_text *html,
                         cs_error *err)
{
    char   place[KEY_BYTES], letter[2] = "";
    size_t length;

    for (; *text != '\0'; text++) {
        if (text[0] == '{' && text[1] == '{') {
            cs_text_add(html, "{");
            text++;
            continue;
        }
        length = text[0] == '{' ? strcspn(text, "}") : 0;
        if (length > 1 && text[length] == '}' && length < sizeof place) {
            (void)snprintf(place, sizeof place, "%.*s", (int)length - 1, text + 1);
            char *colon = strchr(place, ':');
            if (colon != NULL) {
                *colon = '\0';
            }
            fill_place(a, setting, place, colon != NULL ? colon + 1 : "", html);
            text += length;
            continue;
        }
        letter[0] = *text;
        cs_html_text(html, letter);
    }
    return cs_text_status(html, err);
}
