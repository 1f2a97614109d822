/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Observers of a replay and what they write: see watch.h. */
#include "cli/watch.h"

#include "cli/cli.h"
#include "results/heatmap.h"

cs_status cs_watch_open(cs_watch *w, const cs_watch_choice *choice, const cs_job *job,
                        cs_error *err)
{
    cs_status status = CS_OK;

    w->choice = choice;
    if (choice->trace_path != NULL) {
        status = cs_chrome_trace_open(&job->scenario, &w->trace, err);
        if (status == CS_OK) {
            w->observers[w->n_observers++] = cs_chrome_trace_observer(w->trace);
        }
    }
    if (status == CS_OK && choice->heatmap_path != NULL) {
        w->uses                        = true;
        status                         = cs_usage_init(&w->usage, &job->scenario, err);
        w->observers[w->n_observers++] = cs_usage_observer(&w->usage);
    }
    if (status == CS_OK && choice->explains) {
        status = cs_explain_text_open(job, &w->explain, err);
        if (status == CS_OK) {
            w->n_observers += cs_explain_text_observers(w->explain, w->observers + w->n_observers);
        }
    }
    return status;
}

static cs_status write_trace(const cs_watch *w, cs_error *err)
{
    cs_text   text   = {0};
    cs_status status = cs_chrome_trace_finish(w->trace, &text, err);

    if (status == CS_OK) {
        status = cs_cli_write(w->choice->trace_path, &text, err);
    }
    cs_text_free(&text);
    return status;
}

static cs_status write_heatmap(cs_watch *w, const cs_result *result, cs_error *err)
{
    cs_text   text   = {0};
    cs_status status = cs_heatmap_svg(&w->usage, result, &text, err);

    if (status == CS_OK) {
        status = cs_cli_write(w->choice->heatmap_path, &text, err);
    }
    cs_text_free(&text);
    return status;
}

cs_status cs_watch_report(cs_watch *w, const cs_result *result, cs_text *notes, cs_error *err)
{
    cs_status status = CS_OK;

    if (w->trace != NULL) {
        status = write_trace(w, err);
    }
    if (status == CS_OK && w->uses) {
        status = write_heatmap(w, result, err);
    }
    if (status == CS_OK && w->explain != NULL) {
        status = cs_explain_text_add(w->explain, result, notes, err);
    }
    return status;
}

void cs_watch_close(cs_watch *w)
{
    cs_chrome_trace_close(w->trace);
    cs_explain_text_close(w->explain);
    if (w->uses) {
        cs_usage_free(&w->usage);
    }
}
