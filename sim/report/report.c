/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/report.h"

#include "base/alloc.h"
#include "cs/build.h"
#include "cs/job.h"
#include "cs/model.h"
#include "input/tree.h"
#include "output/look.h"
#include "report/answer.h"
#include "report/pack.h"
#include "report/page_parts.h"
#include "report/timeline.h"
#include "study/config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_ERRORS = 1000, MOST_WIDE = 20000, WORDS = 480, TITLE_BYTES = 160 };

/* What is being made. */
typedef struct making {
    const cs_data           *data;
    const cs_report_options *asked;
    cs_report               *report;
    cs_sweep                 sweep;
    cs_answers               answers;
    size_t                   start;
    char                     title[TITLE_BYTES];
    char                    *first_answer; /* owned: the ANSWER of the setting shown first */
    cs_text                  thinned;      /* strings with commas between them */
} making;

static cs_text *json_of(making *m)
{
    return &m->report->data;
}

/* "name": "text" with a comma in front */
static void add_key(cs_text *json, const char *key, const char *text)
{
    cs_text_add(json, ",\"%s\":", key);
    cs_text_add_json_string(json, text);
}

/* ---- head ---- */

static void add_colour(cs_text *json, const char *key, uint32_t colour)
{
    cs_text_add(json, ",\"%s\":\"#%06X\"", key, colour);
}

static void add_looks(making *m)
{
    cs_text *json = json_of(m);

    cs_text_add(json, ",\"looks\":{");
    for (size_t i = 0; i < m->sweep.n_algorithms; i++) {
        const cs_look *look = cs_look_of(m->sweep.algorithms[i]);
        cs_text_add(json, i > 0 ? "," : "");
        cs_text_add_json_string(json, m->sweep.algorithms[i]);
        cs_text_add(json, ":{\"title\":");
        cs_text_add_json_string(json, cs_look_title(m->sweep.algorithms[i]));
        add_colour(json, "light", look->light);
        add_colour(json, "dark", look->dark);
        add_key(json, "dash", look->dash);
        add_key(json, "mark", look->mark);
        cs_text_add(json, "}");
    }
    cs_text_add(json, "}");
}

static void add_head(making *m)
{
    cs_text *json = json_of(m);

    cs_text_add(json, "{\"schema\":1,\"live\":%s", m->asked->is_live ? "true" : "false");
    add_key(json, "title", m->title);
    add_key(json, "build", cs_build());
    add_key(json, "command", m->asked->command);
    add_looks(m);
    add_key(json, "baseline", m->answers.baseline);
}

/* ---- the sweep ---- */

static void add_dims(making *m)
{
    cs_text *json = json_of(m);

    cs_text_add(json, "\"dims\":[");
    for (size_t i = 0; i < m->sweep.n_dims; i++) {
        const cs_sweep_dim *d = &m->sweep.dims[i];
        cs_text_add(json, i > 0 ? ",{\"name\":" : "{\"name\":");
        cs_text_add_json_string(json, d->name);
        add_key(json, "label", d->label);
        add_key(json, "unit", cs_quantity_name(d->unit));
        cs_text_add(json, ",\"values\":[");
        for (size_t k = 0; k < d->n; k++) {
            cs_text_add(json, k > 0 ? "," : "");
            if (d->words != NULL) {
                cs_text_add_json_string(json, d->words[k]);
            } else {
                cs_text_add_number(json, d->values[k]);
            }
        }
        cs_text_add(json, "]}");
    }
    cs_text_add(json, "]");
}

/* Inputs that are the same everywhere. */
static void add_fixed(making *m)
{
    cs_text *json = json_of(m);
    size_t   n    = 0;
    double   value;

    cs_text_add(json, ",\"fixed\":[");
    for (size_t i = 0; i < m->data->n_columns; i++) {
        const cs_data_column *c = &m->data->columns[i];
        if (!cs_data_is_input(c->name) || strcmp(c->name, "algorithm") == 0 ||
            cs_data_values(m->data, c, &value, 1) != 1) {
            continue;
        }
        cs_text_add(json, n++ > 0 ? ",{\"name\":" : "{\"name\":");
        cs_text_add_json_string(json, c->name);
        add_key(json, "label", c->title);
        add_key(json, "unit",
                cs_quantity_name(c->has_words ? CS_QUANTITY_WORD : cs_quantity_of(c->name)));
        cs_text_add(json, ",\"value\":");
        if (c->has_words) {
            cs_text_add_json_string(json, c->words[(size_t)value]);
        } else {
            cs_text_add_number(json, value);
        }
        cs_text_add(json, "}");
    }
    cs_text_add(json, "]");
}

static cs_status add_settings(making *m, double *scratch, cs_error *err)
{
    const cs_sweep *s    = &m->sweep;
    cs_text        *json = json_of(m);

    cs_text_add(json, ",\"settings\":{\"n\":%zu,\"index\":[", s->n_settings);
    for (size_t i = 0; i < s->n_dims; i++) {
        for (size_t k = 0; k < s->n_settings; k++) {
            scratch[k] = s->index[k * s->n_dims + i];
        }
        cs_text_add(json, i > 0 ? "," : "");
        CS_TRY(cs_pack(json, s->dims[i].n <= 256 ? CS_PACK_U8 : CS_PACK_U32, scratch, s->n_settings,
                       true, err));
    }
    cs_text_add(json, "]}");
    return CS_OK;
}

/* What the page can show of a cell. */
typedef struct measure {
    const char *name, *label;
    cs_quantity unit;
} measure;

static const measure measures[] = {
    {"exposed_s", "exposed time", CS_QUANTITY_S},
    {"elapsed_s", "elapsed time", CS_QUANTITY_S},
    {"bound_s", "lower bound of elapsed time", CS_QUANTITY_S},
    {"bound_exposed_s", "lower bound", CS_QUANTITY_S},
    {"gap", "elapsed time over the bound", CS_QUANTITY_RATIO},
    {"busbw_GBps", "bus bandwidth, GB/s", CS_QUANTITY_NUMBER},
    {"critical_delay_s", "critical delay", CS_QUANTITY_S},
    {"transfers", "transfers", CS_QUANTITY_COUNT},
};

static cs_status add_measure(making *m, const measure *what, double *scratch, bool is_first,
                             cs_error *err)
{
    const cs_sweep       *s       = &m->sweep;
    size_t                n       = s->n_settings * s->n_algorithms;
    const cs_data_column *c       = cs_data_find(m->data, what->name);
    bool                  is_rest = strcmp(what->name, "bound_exposed_s") == 0;

    for (size_t i = 0; i < n; i++) {
        size_t setting = i / s->n_algorithms, algorithm = i % s->n_algorithms;
        scratch[i] = is_rest ? cs_answer_bound_s(s, setting, algorithm)
                             : cs_sweep_at(s, setting, algorithm, c);
    }
    cs_text_add(json_of(m), is_first ? "{\"name\":\"%s\"" : ",{\"name\":\"%s\"", what->name);
    add_key(json_of(m), "label", what->label);
    add_key(json_of(m), "unit", cs_quantity_name(what->unit));
    cs_text_add(json_of(m), ",\"values\":");
    CS_TRY(cs_pack(json_of(m), n > MOST_WIDE ? CS_PACK_F32 : CS_PACK_F64, scratch, n, false, err));
    cs_text_add(json_of(m), "}");
    return CS_OK;
}

/* Is there a number of it? */
static bool has_measure(const making *m, const measure *what)
{
    const cs_data_column *c =
        cs_data_find(m->data, strcmp(what->name, "bound_exposed_s") == 0 ? "bound_s" : what->name);

    return c != NULL && !c->has_words && cs_data_values(m->data, c, NULL, 0) > 0;
}

static cs_status add_measures(making *m, double *scratch, cs_error *err)
{
    bool is_first = true;

    cs_text_add(json_of(m), ",\"measures\":[");
    for (size_t i = 0; i < sizeof measures / sizeof measures[0]; i++) {
        if (has_measure(m, &measures[i])) {
            CS_TRY(add_measure(m, &measures[i], scratch, is_first, err));
            is_first = false;
        }
    }
    cs_text_add(json_of(m), "]");
    return CS_OK;
}

static cs_status add_states(making *m, double *scratch, cs_error *err)
{
    const cs_sweep *s    = &m->sweep;
    cs_text        *json = json_of(m);
    size_t          n = s->n_settings * s->n_algorithms, n_errors = 0;

    for (size_t i = 0; i < n; i++) {
        scratch[i] = cs_sweep_state(s, i / s->n_algorithms, i % s->n_algorithms);
    }
    cs_text_add(json, ",\"state\":");
    CS_TRY(cs_pack(json, CS_PACK_U8, scratch, n, false, err));
    cs_text_add(json, ",\"errors\":[");
    for (size_t i = 0; i < n && n_errors < MOST_ERRORS; i++) {
        const char *error = cs_sweep_error(s, i / s->n_algorithms, i % s->n_algorithms);
        if (error != NULL) {
            cs_text_add(json, n_errors++ > 0 ? ",[%zu," : "[%zu,", i);
            cs_text_add_json_string(json, error);
            cs_text_add(json, "]");
        }
    }
    cs_text_add(json, "]");
    return CS_OK;
}

static cs_status add_bound_names(making *m, double *scratch, cs_error *err)
{
    const cs_sweep       *s     = &m->sweep;
    const cs_data_column *bound = cs_data_find(m->data, "bound");
    size_t                n     = s->n_settings * s->n_algorithms;

    if (bound == NULL || !bound->has_words) {
        return CS_OK;
    }
    cs_text_add(json_of(m), ",\"bounds\":[");
    for (size_t i = 0; i < bound->n_words && i < 255; i++) {
        cs_text_add(json_of(m), i > 0 ? "," : "");
        cs_text_add_json_string(json_of(m), bound->words[i]);
    }
    for (size_t i = 0; i < n; i++) {
        uint32_t row   = s->rows[i];
        double   place = row > 0 ? bound->values[row - 1] : (double)NAN;
        scratch[i]     = place < 255 ? place : 255;
    }
    cs_text_add(json_of(m), "],\"bound\":");
    return cs_pack(json_of(m), CS_PACK_U8, scratch, n, false, err);
}

/* ---- answers ---- */

/* A hash table of texts of answers: `places` has room for `room`, a power of two. */
typedef struct answer_set {
    cs_text  *texts; /* [n] owned */
    size_t    n, capacity;
    uint32_t *places;
    size_t    room;
} answer_set;

static size_t place_of_answer(const answer_set *set, const char *text)
{
    size_t at = (size_t)cs_hash_text(text) & (set->room - 1);

    while (set->places[at] > 0 && strcmp(set->texts[set->places[at] - 1].data, text) != 0) {
        at = (at + 1) & (set->room - 1);
    }
    return at;
}

/* The place of an answer, which is the set's from now on. */
static cs_status take_answer(answer_set *set, cs_text *answer, double *place_p, cs_error *err)
{
    size_t at = place_of_answer(set, answer->data);

    if (set->places[at] == 0) {
        if (!cs_grow((void *)&set->texts, &set->capacity, set->n + 1, 16, sizeof *set->texts)) {
            cs_text_free(answer);
            return CS_NO_MEMORY(err, "answers");
        }
        set->texts[set->n++] = *answer;
        set->places[at]      = (uint32_t)set->n;
    } else {
        cs_text_free(answer);
    }
    *place_p = set->places[at] - 1;
    return CS_OK;
}

static void free_answers(answer_set *set)
{
    for (size_t i = 0; i < set->n; i++) {
        cs_text_free(&set->texts[i]);
    }
    cs_free(set->texts);
    cs_free(set->places);
}

static cs_status fill_answers(making *m, answer_set *set, double *scratch, cs_error *err)
{
    for (set->room = 16; set->room < 2 * m->sweep.n_settings;) {
        set->room *= 2;
    }
    set->places = CS_NEW(uint32_t, set->room);
    if (set->places == NULL) {
        return CS_NO_MEMORY(err, "answers");
    }
    for (size_t k = 0; k < m->sweep.n_settings; k++) {
        cs_text   answer = {0};
        cs_status status = cs_answer_json(&m->answers, k, &answer, err);
        if (status != CS_OK) {
            cs_text_free(&answer);
            return status;
        }
        CS_TRY(take_answer(set, &answer, &scratch[k], err));
    }
    m->first_answer = cs_strdup(set->texts[(size_t)scratch[m->start]].data);
    return m->first_answer != NULL ? CS_OK : CS_NO_MEMORY(err, "answers");
}

static cs_status add_answers(making *m, double *scratch, cs_error *err)
{
    answer_set set    = {0};
    cs_status  status = fill_answers(m, &set, scratch, err);

    cs_text_add(json_of(m), ",\"start\":%zu,\"answers\":[", m->start);
    for (size_t i = 0; i < set.n; i++) {
        cs_text_add(json_of(m), i > 0 ? ",%s" : "%s", set.texts[i].data);
    }
    cs_text_add(json_of(m), "],\"answer\":");
    free_answers(&set);
    return status == CS_OK
               ? cs_pack(json_of(m), CS_PACK_U32, scratch, m->sweep.n_settings, false, err)
               : status;
}

static cs_status add_sweep(making *m, cs_error *err)
{
    const cs_data_column *collective = cs_data_find(m->data, "collective");
    bool    is_one  = collective != NULL && collective->has_words && collective->n_words == 1;
    size_t  n       = m->sweep.n_settings * m->sweep.n_algorithms;
    double *scratch = CS_NEW(double, n + 1);

    if (scratch == NULL) {
        return CS_NO_MEMORY(err, "a report");
    }
    cs_text_add(json_of(m), ",\"sweep\":{\"collective\":");
    cs_text_add_json_string(json_of(m), is_one ? collective->words[0] : "collective");
    cs_text_add(json_of(m), ",");
    add_dims(m);
    add_fixed(m);
    cs_text_add(json_of(m), ",\"algorithms\":[");
    for (size_t i = 0; i < m->sweep.n_algorithms; i++) {
        cs_text_add(json_of(m), i > 0 ? "," : "");
        cs_text_add_json_string(json_of(m), m->sweep.algorithms[i]);
    }
    cs_text_add(json_of(m), "]");
    cs_status status = add_settings(m, scratch, err);
    status           = status == CS_OK ? add_measures(m, scratch, err) : status;
    status           = status == CS_OK ? add_states(m, scratch, err) : status;
    status           = status == CS_OK ? add_bound_names(m, scratch, err) : status;
    status           = status == CS_OK ? add_answers(m, scratch, err) : status;
    cs_text_add(json_of(m), "}");
    cs_free(scratch);
    return status;
}

/* ---- runs of the setting that is shown first ---- */

static void note_thinned(making *m, const char *sentence)
{
    cs_text_add(&m->thinned, m->thinned.length > 0 ? "," : "");
    cs_text_add_json_string(&m->thinned, sentence);
    cs_text_add(&m->report->notes, "%s\n", sentence);
}

/* A run, unless it cannot be shown: then why not is noted. `*n_p` counts runs. */
static cs_status add_run(making *m, size_t setting, size_t algorithm, const char *title,
                         size_t *n_p, cs_error *err)
{
    cs_case   c     = {0};
    cs_text   run   = {0};
    cs_error  wrong = {0};
    char      words[WORDS];
    cs_status status = cs_answer_case(&m->answers, setting, algorithm, &c, &wrong);

    cs_text                thinned = {0};
    const cs_timeline_name name    = {title, (long)setting, &thinned};
    c.job.verify                   = true;
    status = status == CS_OK ? cs_timeline_json(&run, &c.job, &name, &wrong) : status;
    if (status == CS_OK) {
        cs_text_add(json_of(m), *n_p > 0 ? "," : "");
        cs_text_add_bytes(json_of(m), run.data, run.length);
        ++*n_p;
        if (thinned.length > 0) {
            (void)snprintf(words, sizeof words, "timeline of %.60s: %.380s", title, thinned.data);
            note_thinned(m, words);
        }
    } else if (!cs_status_is_failure(status)) {
        (void)snprintf(words, sizeof words, "no timeline of %.60s: %s", title, wrong.message);
        note_thinned(m, words);
        status = CS_OK;
    } else if (err != NULL) {
        *err = wrong;
    }
    cs_text_free(&run);
    cs_text_free(&thinned);
    cs_case_free(&c);
    return status;
}

/* A run that is wanted, and its place among those that are there. */
typedef struct view_run {
    size_t setting, algorithm;
    long   place; /* -1: it could not be shown */
} view_run;

/* Two runs on one axis, or (`other` NULL) one. */
static void add_view(const making *m, const view_run *run, const view_run *other, bool is_before,
                     cs_text *views)
{
    const char *title = cs_look_title(m->sweep.algorithms[run->algorithm]);
    char        name[WORDS];

    if (other == NULL || other->algorithm == run->algorithm) {
        (void)snprintf(name, sizeof name, "%s%.60s", is_before ? "before and after: " : "", title);
    } else {
        (void)snprintf(name, sizeof name, "%.60s and %.60s",
                       cs_look_title(m->sweep.algorithms[other->algorithm]), title);
    }
    cs_text_add(views, "%s{\"name\":", views->length > 0 ? "," : "");
    cs_text_add_json_string(views, name);
    if (other != NULL) {
        cs_text_add(views, ",\"runs\":[%ld,%ld]}", other->place, run->place);
    } else {
        cs_text_add(views, ",\"runs\":[%ld]}", run->place);
    }
}

/* Neighbours share a view; `has_before`: the first is the second with nothing broken. */
static cs_status add_views(making *m, view_run *wanted, size_t n_wanted, bool has_before,
                           cs_error *err)
{
    cs_text views = {0};
    size_t  n     = 0;
    char    title[WORDS];

    cs_text_add(json_of(m), ",\"runs\":[");
    for (size_t i = 0; i < n_wanted; i++) {
        size_t was = n;
        (void)snprintf(title, sizeof title, "%.60s%s",
                       cs_look_title(m->sweep.algorithms[wanted[i].algorithm]),
                       has_before && i == 0 ? ", nothing broken" : "");
        CS_TRY(add_run(m, wanted[i].setting, wanted[i].algorithm, title, &n, err));
        wanted[i].place = n > was ? (long)was : -1;
    }
    for (size_t i = 0; i < n_wanted; i++) {
        bool has_left  = i > 0 && wanted[i - 1].place >= 0;
        bool has_right = i + 1 < n_wanted && wanted[i + 1].place >= 0;
        if (wanted[i].place >= 0 && (has_left || !has_right)) {
            add_view(m, &wanted[i], has_left ? &wanted[i - 1] : NULL,
                     has_before && has_left && i == 1, &views);
        }
    }
    cs_text_add(json_of(m), "],\"views\":[%s]", views.data != NULL ? views.data : "");
    cs_status status = cs_text_status(&views, err);
    cs_text_free(&views);
    return status;
}

static cs_status add_runs(making *m, cs_error *err)
{
    const cs_sweep *s    = &m->sweep;
    size_t          best = cs_answer_best(s, m->start), base = s->n_algorithms, n = 0, healthy;
    view_run        wanted[3];
    bool            has_before = false;

    for (size_t a = 0; a < s->n_algorithms; a++) {
        cs_cell_state state = cs_sweep_state(s, m->start, a);
        bool          ran   = state == CS_CELL_VERIFIED || state == CS_CELL_RUN;
        base =
            m->answers.baseline != NULL && ran && strcmp(s->algorithms[a], m->answers.baseline) == 0
                ? a
                : base;
    }
    if (best == s->n_algorithms || cs_data_find(m->data, "scenario") == NULL) {
        return CS_OK;
    }
    healthy      = cs_answer_before(s, m->start);
    size_t shown = base < s->n_algorithms ? base : best;
    if (healthy < s->n_settings && cs_sweep_state(s, healthy, shown) != CS_CELL_NONE) {
        wanted[n++] = (view_run){healthy, shown, -1};
        has_before  = true;
    }
    if (base < s->n_algorithms && base != best) {
        wanted[n++] = (view_run){m->start, base, -1};
    }
    wanted[n++] = (view_run){m->start, best, -1};
    return add_views(m, wanted, n, has_before, err);
}

/* ---- lower bounds of the setting that is shown first ---- */

static void add_bounds_of(making *m, const cs_job *job)
{
    const cs_bound_context context = cs_job_bounds(job);
    cs_text               *json    = json_of(m);
    const char            *best;
    size_t                 n = 0;

    (void)cs_best_bound(&context, &best);
    cs_text_add(json, ",\"lower\":[");
    for (size_t i = 0; cs_bounds[i] != NULL; i++) {
        const cs_bound *b       = cs_bounds[i];
        double          bound_s = b->seconds(&context);
        if (isnan(bound_s)) {
            continue;
        }
        cs_text_add(json, n++ > 0 ? ",{\"name\":" : "{\"name\":");
        cs_text_add_json_string(json, b->name);
        cs_text_add(json, ",\"bound_s\":");
        cs_text_add_number(json, bound_s);
        cs_text_add(json, ",\"is_best\":%s,\"is_general\":%s",
                    strcmp(b->name, best) == 0 ? "true" : "false",
                    b->is_general ? "true" : "false");
        add_key(json, "summary", b->summary);
        add_key(json, "source", b->source);
        add_key(json, "assumes", b->assumption);
        cs_text_add(json, "}");
    }
    cs_text_add(json, "]");
}

static cs_status add_lower(making *m, cs_error *err)
{
    size_t   best  = cs_answer_best(&m->sweep, m->start);
    cs_case  c     = {0};
    cs_error wrong = {0};

    if (best == m->sweep.n_algorithms || cs_data_find(m->data, "scenario") == NULL) {
        return CS_OK;
    }
    cs_status status = cs_answer_case(&m->answers, m->start, best, &c, &wrong);
    status           = status == CS_OK ? cs_job_resolve(&c.job, &wrong) : status;
    if (status == CS_OK) {
        add_bounds_of(m, &c.job);
    }
    cs_job_release(&c.job);
    cs_case_free(&c);
    if (cs_status_is_failure(status) && err != NULL) {
        *err = wrong;
        return status;
    }
    return CS_OK;
}

/* ---- where it comes from ---- */

static void add_source(making *m, const char *key, const char *html)
{
    cs_text *json = json_of(m), *out = &m->report->source;

    cs_text_add(json, json->data[json->length - 1] == '[' ? "[" : ",[");
    cs_text_add_json_string(json, key);
    cs_text_add(json, ",");
    cs_text_add_json_string(json, html);
    cs_text_add(json, "]");
    cs_text_add(out, "<dt>%s</dt><dd>%s</dd>\n", key, html);
}

/* "6 schedules × 4 GPUs × 25 size" */
static void add_scenario(making *m)
{
    cs_text html = {0};

    cs_html_text(&html, m->title);
    if (m->asked->description != NULL) {
        cs_text_add(&html, ": ");
        cs_html_text(&html, m->asked->description);
    }
    cs_text_add(&html, "<br>%zu schedule%s", m->sweep.n_algorithms,
                m->sweep.n_algorithms > 1 ? "s" : "");
    for (size_t i = 0; i < m->sweep.n_dims; i++) {
        const cs_sweep_dim *d = &m->sweep.dims[i];
        cs_text_add(&html, " × %zu ", d->n);
        if (strcmp(d->name, "ranks") == 0) {
            cs_text_add(&html, "numbers of GPUs");
        } else if (strcmp(d->name, "bytes") == 0) {
            cs_text_add(&html, "sizes");
        } else {
            cs_text_add(&html, "values of ");
            cs_html_text(&html, d->label);
        }
    }
    char rows[CS_QUANTITY_BYTES];
    cs_quantity_text(CS_QUANTITY_COUNT, (double)m->data->n_rows, rows);
    cs_text_add(&html, ", %s row%s", rows, m->data->n_rows == 1 ? "" : "s");
    add_source(m, "Scenario", html.data != NULL ? html.data : "");
    cs_text_free(&html);
}

static void add_models(making *m)
{
    const cs_data_column *column = cs_data_find(m->data, "model");
    cs_text               html   = {0};

    for (size_t i = 0; column != NULL && i < column->n_words; i++) {
        const cs_model *model   = NULL;
        cs_error        ignored = {0};
        cs_text_add(&html, i > 0 ? "<br>" : "");
        cs_html_text(&html, column->words[i]);
        if (cs_model_find(column->words[i], &model, &ignored) == CS_OK) {
            cs_text_add(&html, ": ");
            cs_html_text(&html, model->summary);
        }
    }
    if (html.data != NULL) {
        add_source(m, "Model, and what it leaves out", html.data);
    }
    cs_text_free(&html);
}

static void add_sources(making *m)
{
    cs_text html = {0};

    cs_text_add(json_of(m), ",\"source\":[");
    add_scenario(m);
    if (m->asked->command[0] != '\0') {
        cs_text_add(&html, "<code>");
        cs_html_text(&html, m->asked->command);
        cs_text_add(&html, "</code>");
        add_source(m, "Again", html.data != NULL ? html.data : "");
        cs_text_free(&html);
    }
    add_models(m);
    cs_html_text(&html, cs_build());
    cs_text_add(&html, ", %zu of %zu schedules verified while they ran", m->answers.n_verified,
                m->answers.n_run);
    add_source(m, "Build", html.data != NULL ? html.data : "");
    cs_text_free(&html);
    add_source(m, "Times",
               "exposed: from the last arrival to the last completion; elapsed, "
               "bounds and gaps count from the first arrival");
    cs_text_add(json_of(m), "]");
}

/* ---- HTML of the setting that is shown first ---- */

static cs_status add_first(making *m, cs_error *err)
{
    json_t    *answer = NULL, *tile;
    size_t     i;
    cs_report *r = m->report;
    cs_status  status =
        cs_tree_parse(m->first_answer, strlen(m->first_answer), "an answer", &answer, err);

    if (status != CS_OK) {
        return status;
    }
    const char *sentence = json_string_value(json_object_get(answer, "sentence"));
    const char *because  = json_string_value(json_object_get(answer, "because"));
    status               = cs_answer_text(&m->answers, m->start, sentence, &r->sentence, err);
    if (status == CS_OK) {
        status = cs_answer_text(&m->answers, m->start, because, &r->because, err);
    }
    json_array_foreach(json_object_get(answer, "tiles"), i, tile)
    {
        cs_text_add(&r->tiles, "<div class=\"tile\"><b>");
        if (status == CS_OK) {
            status = cs_answer_text(&m->answers, m->start,
                                    json_string_value(json_array_get(tile, 0)), &r->tiles, err);
        }
        cs_text_add(&r->tiles, "</b><span>");
        if (status == CS_OK) {
            status = cs_answer_text(&m->answers, m->start,
                                    json_string_value(json_array_get(tile, 1)), &r->tiles, err);
        }
        cs_text_add(&r->tiles, "</span></div>\n");
    }
    json_decref(answer);
    return status;
}

/* The fastest algorithm that is not listed yet, which is listed then; n_algorithms: none. */
static size_t next_slower(const cs_sweep *s, size_t setting, bool *is_listed)
{
    const cs_data_column *exposed = cs_data_find(s->data, "exposed_s");
    size_t                next    = s->n_algorithms;
    double                least   = (double)INFINITY;

    for (size_t a = 0; a < s->n_algorithms; a++) {
        double time_s = cs_sweep_at(s, setting, a, exposed);
        if (!is_listed[a] && time_s < least) {
            next  = a;
            least = time_s;
        }
    }
    if (next < s->n_algorithms) {
        is_listed[next] = true;
    }
    return next;
}

static cs_status add_ranking(making *m, cs_error *err)
{
    const cs_sweep          *s   = &m->sweep;
    cs_text                 *out = &m->report->ranking;
    char                     text[WORDS];
    static const char *const kinds[]   = {"time", "gain", "above", "gap"};
    bool                    *is_listed = CS_ARENA_NEW(&m->sweep.arena, bool, s->n_algorithms);

    if (is_listed == NULL) {
        return CS_NO_MEMORY(err, "a ranking");
    }

    cs_text_add(out,
                "<table><thead><tr><th>schedule</th><th>exposed time</th>"
                "<th>faster than %s</th><th>above the bound</th><th>elapsed / bound</th>"
                "</tr></thead><tbody>\n",
                m->answers.baseline != NULL ? cs_look_title(m->answers.baseline) : "-");
    for (size_t a; (a = next_slower(s, m->start, is_listed)) < s->n_algorithms;) {
        cs_text_add(out, "<tr><th>");
        cs_html_text(out, cs_look_title(s->algorithms[a]));
        cs_text_add(out, "</th>");
        for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
            (void)snprintf(text, sizeof text, "{%s:%.200s}", kinds[k], s->algorithms[a]);
            cs_text_add(out, "<td>");
            CS_TRY(cs_answer_text(&m->answers, m->start, text, out, err));
            cs_text_add(out, "</td>");
        }
        cs_text_add(out, "</tr>\n");
    }
    cs_text_add(out, "</tbody></table>");
    return cs_text_status(out, err);
}

static void add_header(making *m)
{
    const cs_answers *a   = &m->answers;
    cs_text          *out = &m->report->header;
    char              run[CS_QUANTITY_BYTES], verified[CS_QUANTITY_BYTES];

    cs_quantity_text(CS_QUANTITY_COUNT, (double)a->n_run, run);
    cs_quantity_text(CS_QUANTITY_COUNT, (double)a->n_verified, verified);
    cs_html_text(&m->report->title, m->title);
    cs_html_text(out, m->title);
    if (a->n_verified == 0) {
        cs_text_add(out, " <i>%s schedule%s, not verified</i>", run, a->n_run == 1 ? "" : "s");
    } else if (a->n_verified == a->n_run) {
        cs_text_add(out, " <i>%s schedule%s, all verified</i>", run, a->n_run == 1 ? "" : "s");
    } else {
        cs_text_add(out, " <i>%s of %s schedules verified</i>", verified, run);
    }
}

/* "8 to 64 GPUs", "1 GiB" */
static void add_range(const making *m, const char *name, cs_quantity unit, const char *behind,
                      char *text, size_t bytes)
{
    const cs_data_column *c = cs_data_find(m->data, name);
    double               *values;
    size_t                n = c != NULL && !c->has_words ? cs_data_values(m->data, c, NULL, 0) : 0;
    char                  first[CS_QUANTITY_BYTES], last[CS_QUANTITY_BYTES];

    values = n > 0 ? CS_NEW(double, n) : NULL;
    if (values == NULL) {
        return;
    }
    (void)cs_data_values(m->data, c, values, n);
    cs_quantity_text(unit, values[0], first);
    cs_quantity_text(unit, values[n - 1], last);
    size_t used = strlen(text);
    (void)snprintf(text + used, bytes - used, n > 1 ? ", %s to %s%s" : ", %s%.0s%s", first, last,
                   behind);
    cs_free(values);
}

/* What the page is called: as it was asked for, or "AllReduce, 8 to 64 GPUs, 1 GiB". */
static void choose_title(making *m)
{
    if (m->asked->title != NULL) {
        (void)snprintf(m->title, sizeof m->title, "%.150s", m->asked->title);
        return;
    }
    (void)snprintf(m->title, sizeof m->title, "%s", cs_answer_collective(&m->sweep));
    add_range(m, "ranks", CS_QUANTITY_COUNT, " GPUs", m->title, sizeof m->title);
    add_range(m, "bytes", CS_QUANTITY_SIZE, "", m->title, sizeof m->title);
}

/* ---- all of it ---- */

static cs_status make(making *m, cs_error *err)
{
    const cs_report_options *asked = m->asked;
    size_t                   most = asked->most_cells > 0 ? asked->most_cells : CS_SWEEP_MOST_CELLS;

    CS_TRY(cs_sweep_make(m->data, most, &m->sweep, err));
    choose_title(m);
    cs_answers_open(&m->answers, &m->sweep, asked->base);
    m->answers.begin = asked->begin;
    m->answers.doubt = asked->doubt;
    if (asked->doubt != NULL) {
        cs_text_add(&m->report->notes, "%s\n", asked->doubt);
    }
    CS_TRY(cs_answers_name_words(&m->answers, &m->sweep, err));
    CS_TRY(cs_sweep_choose(&m->sweep, asked->start, &m->start, err));
    if (m->sweep.thinned[0] != '\0') {
        note_thinned(m, m->sweep.thinned);
    }
    add_head(m);
    CS_TRY(add_sweep(m, err));
    if (asked->has_runs) {
        CS_TRY(add_runs(m, err));
    }
    CS_TRY(add_lower(m, err));
    if (asked->chance != NULL) {
        cs_text_add(json_of(m), ",\"chance\":%s", asked->chance);
    }
    if (asked->late != NULL) {
        cs_text_add(json_of(m), ",\"late\":%s", asked->late);
    }
    add_sources(m);
    cs_text_add(json_of(m), ",\"thinned\":[%s]}", m->thinned.data != NULL ? m->thinned.data : "");
    CS_TRY(add_first(m, err));
    CS_TRY(add_ranking(m, err));
    add_header(m);
    return cs_text_status(json_of(m), err);
}

cs_status cs_report_make(const cs_data *data, const cs_report_options *options, cs_report *report,
                         cs_error *err)
{
    making    m      = {.data = data, .asked = options, .report = report};
    cs_status status = make(&m, err);

    cs_answers_close(&m.answers);
    cs_sweep_free(&m.sweep);
    cs_free(m.first_answer);
    cs_text_free(&m.thinned);
    return status;
}

void cs_report_free(cs_report *r)
{
    cs_text *texts[] = {&r->data,  &r->title,   &r->header, &r->sentence, &r->because,
                        &r->tiles, &r->ranking, &r->source, &r->notes};

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        cs_text_free(texts[i]);
    }
}

cs_status cs_report_before(cs_config *config, cs_error *err)
{
    cs_text   point  = {0};
    json_t   *tree   = NULL;
    cs_status status = CS_OK;

    if (!cs_config_has(config, "faults") || cs_config_has_axis(config, "faults")) {
        return CS_OK;
    }
    CS_TRY(cs_config_check(config, err)); /* beside what was before, faults of nothing would run */
    status = cs_config_point(config, 0, &point, err);
    if (status == CS_OK) {
        status = cs_tree_parse(point.data, point.length, "", &tree, err);
    }
    json_t *faults = json_object_get(tree, "faults");
    if (json_array_size(faults) > 0) {
        json_t *both = json_pack("[[],O]", faults);
        char   *text = both != NULL ? json_dumps(both, JSON_COMPACT) : NULL;
        status = text != NULL ? cs_config_set(config, "sweep.faults", text, "before and after", err)
                              : CS_NO_MEMORY(err, "an axis");
        cs_string_free(text);
        json_decref(both);
    }
    json_decref(tree);
    cs_text_free(&point);
    return status;
}
