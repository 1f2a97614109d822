/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Answers: see serve/api.h. */
#include "serve/api.h"

#include "campaign/config_run.h"
#include "report/report.h"

#include <string.h>

#define TYPE_JSON  "application/json"
#define TYPE_LINES "application/x-ndjson"
#define TYPE_HTML  "text/html; charset=utf-8"
#define TYPE_PLAIN "text/plain; charset=utf-8"

void cs_api_error(cs_text *text, int http, const cs_error *err)
{
    cs_text_add(text, "{\"error\": {\"code\": \"%s\", \"path\": ", cs_http_code(http, err->status));
    cs_text_add_json_string(text, err->where);
    cs_text_add(text, ", \"message\": ");
    cs_text_add_json_string(text,
                            err->message[0] != '\0' ? err->message : cs_status_text(err->status));
    if (err->input_line > 0) {
        cs_text_add(text, ", \"line\": %d, \"column\": %d", err->input_line, err->input_column);
    }
    cs_text_add(text, "}}\n");
}

/* ---- delivery ---- */

static cs_status send_all(const cs_api_sink *sink, const char *type, const cs_text *text,
                          cs_error *err)
{
    CS_TRY(sink->begin(sink->user, CS_HTTP_OK, type, err));
    return text->length > 0 ? sink->write(sink->user, text->data, text->length, err) : CS_OK;
}

/* Memory has its limit, which is named. */
static void name_limit(const cs_api *api, cs_error *why)
{
    if (why->status == CS_ENOMEM) {
        *why = (cs_error){0};
        (void)CS_FAIL(why, CS_ENOMEM, "",
                      "the run needs more than %.4g MiB of memory (--most-bytes)",
                      (double)api->most_bytes / 0x1p20);
    }
}

static cs_status send_error(const cs_api *api, const cs_api_sink *sink, const cs_error *why,
                            cs_error *err)
{
    cs_error named = *why;
    cs_text  text  = {0};

    name_limit(api, &named);
    int http = cs_http_status(named.status);
    cs_api_error(&text, http, &named);
    cs_status status = cs_text_status(&text, err);
    status           = status == CS_OK ? sink->begin(sink->user, http, TYPE_JSON, err) : status;
    status = status == CS_OK ? sink->write(sink->user, text.data, text.length, err) : status;
    cs_text_free(&text);
    return status;
}

/* ---- what is asked for ---- */

/* The configuration that was sent. */
static cs_status read_config(const cs_api *api, const cs_call *call, size_t most,
                             cs_config **config_p, cs_error *err)
{
    CS_TRY(cs_config_parse_guest(call->body != NULL ? call->body : "", call->length, api->base,
                                 config_p, err));
    size_t count = cs_config_count(*config_p);
    if (count > most) {
        return CS_FAIL(err, CS_ENOTSUP, "sweep", "%zu scenarios: accepted are at most %zu%s", count,
                       most, most < CS_API_MOST_SWEPT ? ", and more by /api/v1/sweep" : "");
    }
    return cs_config_refuse_training(*config_p, err);
}

static cs_status add_config(const cs_config *config, cs_text *text, cs_error *err)
{
    cs_text_add(text, "{\"schema\": 1, \"config\": ");
    return cs_config_json(config, 0, text, err);
}

static cs_status add_run(const cs_api *api, const cs_call *call, const cs_config *config,
                         cs_text *text, cs_error *err)
{
    char *rows = NULL;

    CS_TRY(add_config(config, text, err));
    if (call->wants_page) {
        cs_text_add(text, ", \"page\": ");
        CS_TRY(cs_api_page_data(api, config, call->wants_trace, text, err));
    } else {
        CS_TRY(cs_config_run(config, api->jobs, &rows, err));
        cs_text_add(text, ", \"rows\": %s", rows);
        cs_string_free(rows);
    }
    cs_text_add(text, "}\n");
    return CS_OK;
}

static cs_status add_bounds(const cs_config *config, cs_text *text, cs_error *err)
{
    char *rows = NULL;

    CS_TRY(add_config(config, text, err));
    CS_TRY(cs_config_bounds(config, &rows, err));
    cs_text_add(text, ", \"rows\": %s}\n", rows);
    cs_string_free(rows);
    return CS_OK;
}

/* Each line ends. */
static cs_status add_line(const cs_api *api, const cs_config *config, cs_text *text, cs_error *err)
{
    CS_TRY(cs_api_command(api, "run", config, text, err));
    cs_text_add(text, "\n");
    return CS_OK;
}

static cs_status add_export(const cs_config *config, cs_text *text, cs_error *err)
{
    CS_TRY(cs_config_json(config, 2, text, err));
    cs_text_add(text, "\n");
    return CS_OK;
}

/* The text that answers a call, and its type. */
static cs_status add_answer(const cs_api *api, const cs_call *call, const cs_config *config,
                            const char **type_p, cs_text *text, cs_error *err)
{
    *type_p = TYPE_JSON;
    switch (call->route) {
    case CS_ROUTE_LIST: cs_api_list(api, text); return CS_OK;
    case CS_ROUTE_RUN: return add_run(api, call, config, text, err);
    case CS_ROUTE_BOUND: return add_bounds(config, text, err);
    case CS_ROUTE_CONFIG: return add_export(config, text, err);
    case CS_ROUTE_COMMAND: *type_p = TYPE_PLAIN; return add_line(api, config, text, err);
    case CS_ROUTE_PAGE: *type_p = TYPE_HTML; return cs_api_page(api, config, true, text, err);
    case CS_ROUTE_REPORT: *type_p = TYPE_HTML; return cs_api_page(api, config, false, text, err);
    case CS_ROUTE_SWEEP: break;
    }
    return CS_FAIL(err, CS_EINTERNAL, "", "a call without an answer");
}

/* ---- sweeps ---- */

typedef struct sweeping {
    const cs_api_sink *sink;
    bool               has_begun;
} sweeping;

static cs_status send_row(void *user, const char *object, size_t length, cs_error *err)
{
    sweeping *s = user;

    if (!s->has_begun) {
        s->has_begun = true;
        CS_TRY(s->sink->begin(s->sink->user, CS_HTTP_OK, TYPE_LINES, err));
    }
    CS_TRY(s->sink->write(s->sink->user, object, length, err));
    return s->sink->write(s->sink->user, "\n", 1, err);
}

/* Behind rows an error is a line of its own. */
static cs_status sweep(const cs_api *api, const cs_config *config, const cs_api_sink *sink,
                       cs_error *err)
{
    sweeping  s      = {.sink = sink};
    cs_error  why    = {0};
    cs_text   text   = {0};
    cs_status status = cs_config_run_rows(config, api->jobs, send_row, &s, &why);

    if (status == CS_OK || !s.has_begun) {
        return status == CS_OK ? CS_OK : send_error(api, sink, &why, err);
    }
    name_limit(api, &why);
    cs_api_error(&text, cs_http_status(status), &why);
    status = cs_text_status(&text, err);
    status = status == CS_OK ? sink->write(sink->user, text.data, text.length, err) : status;
    cs_text_free(&text);
    return status;
}

/* ---- all of them ---- */

static bool takes_config(cs_route route)
{
    return route != CS_ROUTE_LIST && route != CS_ROUTE_PAGE;
}

static bool takes_many(cs_route route)
{
    return route == CS_ROUTE_SWEEP || route == CS_ROUTE_REPORT || route == CS_ROUTE_CONFIG ||
           route == CS_ROUTE_COMMAND;
}

cs_status cs_api_answer(const cs_api *api, const cs_call *call, const cs_api_sink *sink,
                        cs_error *err)
{
    cs_config  *guest  = NULL;
    cs_error    why    = {0};
    cs_text     text   = {0};
    const char *type   = TYPE_JSON;
    size_t      most   = takes_many(call->route) ? CS_API_MOST_SWEPT : CS_API_MOST_SCENARIOS;
    cs_status   status = CS_OK;

    if (takes_config(call->route)) {
        status = read_config(api, call, most, &guest, &why);
    }
    if (status == CS_OK && call->route == CS_ROUTE_REPORT) {
        status = cs_report_before(guest, &why);
    }
    const cs_config *config = guest != NULL ? guest : api->base;
    if (status == CS_OK && call->route == CS_ROUTE_SWEEP) {
        status = sweep(api, config, sink, err);
        cs_config_free(guest);
        return status;
    }
    if (status == CS_OK) {
        status = add_answer(api, call, config, &type, &text, &why);
    }
    status = status == CS_OK ? cs_text_status(&text, &why) : status;
    status = status == CS_OK ? send_all(sink, type, &text, err) : send_error(api, sink, &why, err);
    cs_text_free(&text);
    cs_config_free(guest);
    return status;
}
