/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Requests by their first line and headers: see serve/request.h. */
#include "serve/request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- who asks ---- */

static bool is_host(const char *host, const char *address, uint16_t port)
{
    char        wanted[CS_HOST_BYTES];
    bool        is_v6 = strchr(address, ':') != NULL;
    const char *open = is_v6 ? "[" : "", *close = is_v6 ? "]" : "";

    (void)snprintf(wanted, sizeof wanted, "%s%s%s:%u", open, address, close, port);
    if (strcasecmp(host, wanted) == 0) {
        return true;
    }
    (void)snprintf(wanted, sizeof wanted, "%s%s%s", open, address, close);
    return port == 80 && strcasecmp(host, wanted) == 0;
}

static int check_host(const cs_request_rules *rules, const cs_request_head *head, cs_error *err)
{
    static const char *const own[]  = {"localhost", "127.0.0.1", "::1"};
    bool                     is_own = false;

    if (head->n_hosts != 1 || head->host == NULL) {
        (void)CS_FAIL(err, CS_EINVAL, "Host", "there are %zu: accepted is one", head->n_hosts);
        return CS_HTTP_BAD;
    }
    is_own = rules->address != NULL && is_host(head->host, rules->address, rules->port);
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
        is_own = is_own || is_host(head->host, own[i], rules->port);
    }
    if (!is_own) {
        (void)CS_FAIL(err, CS_EINVAL, "Host", "'%.80s' is not this server: accepted is %s:%u",
                      head->host, rules->address != NULL ? rules->address : "127.0.0.1",
                      rules->port);
        return CS_HTTP_FORBIDDEN;
    }
    return 0;
}

static int check_origin(const cs_request_head *head, cs_error *err)
{
    static const char scheme[] = "http://";

    if (head->n_origins == 0) {
        return 0;
    }
    if (head->n_origins > 1 || strncmp(head->origin, scheme, strlen(scheme)) != 0 ||
        strcasecmp(head->origin + strlen(scheme), head->host) != 0) {
        (void)CS_FAIL(err, CS_EINVAL, "Origin",
                      "'%.80s' is another page: accepted is the page of this server, http://%.80s",
                      head->origin, head->host);
        return CS_HTTP_FORBIDDEN;
    }
    return 0;
}

/* ---- what is asked for ---- */

typedef struct route_row {
    const char *path, *query;
    bool        is_post;
    cs_call     call;
} route_row;

/* All that is answered, word by word: what stands behind "?" is one of these texts. */
static const route_row routes[] = {
    {"/", NULL, false, {.route = CS_ROUTE_PAGE}},
    {"/api/v1/list", NULL, false, {.route = CS_ROUTE_LIST}},
    {"/api/v1/run", NULL, true, {.route = CS_ROUTE_RUN}},
    {"/api/v1/run", "page=1", true, {.route = CS_ROUTE_RUN, .wants_page = true}},
    {"/api/v1/run",
     "page=1&trace=1",
     true,
     {.route = CS_ROUTE_RUN, .wants_page = true, .wants_trace = true}},
    {"/api/v1/bound", NULL, true, {.route = CS_ROUTE_BOUND}},
    {"/api/v1/sweep", NULL, true, {.route = CS_ROUTE_SWEEP}},
    {"/api/v1/export", "as=config", true, {.route = CS_ROUTE_CONFIG}},
    {"/api/v1/export", "as=command", true, {.route = CS_ROUTE_COMMAND}},
    {"/api/v1/export", "as=report", true, {.route = CS_ROUTE_REPORT}},
};

enum { N_ROUTES = sizeof routes / sizeof routes[0] };

static bool same_text(const char *a, const char *b)
{
    return (a == NULL) == (b == NULL) && (a == NULL || strcmp(a, b) == 0);
}

/* " ?page=1 or .." */
static void list_queries(const char *path, size_t length, char *list, size_t bytes)
{
    size_t used = 0;

    list[0] = '\0';
    for (size_t i = 0; i < N_ROUTES && used < bytes; i++) {
        const route_row *r = &routes[i];
        if (strlen(r->path) == length && strncmp(r->path, path, length) == 0) {
            int n = snprintf(list + used, bytes - used, "%s%s%s", used > 0 ? ", " : "",
                             r->query != NULL ? "?" : "nothing", r->query != NULL ? r->query : "");
            used += n > 0 ? (size_t)n : 0;
        }
    }
}

static int find_route(const cs_request_head *head, const route_row **route_p, cs_error *err)
{
    const char      *question = strchr(head->uri, '?');
    size_t           length = question != NULL ? (size_t)(question - head->uri) : strlen(head->uri);
    const char      *query  = question != NULL && question[1] != '\0' ? question + 1 : NULL;
    bool             is_post = strcmp(head->method, "POST") == 0;
    bool             is_get = strcmp(head->method, "GET") == 0 || strcmp(head->method, "HEAD") == 0;
    const route_row *near   = NULL;
    char             list[120];

    for (size_t i = 0; i < N_ROUTES; i++) {
        const route_row *r = &routes[i];
        if (strlen(r->path) != length || strncmp(r->path, head->uri, length) != 0) {
            continue;
        }
        near = r;
        if (same_text(r->query, query) && (r->is_post ? is_post : is_get)) {
            *route_p = r;
            return 0;
        }
    }
    if (near == NULL) {
        (void)CS_FAIL(err, CS_ENOENT, "",
                      "there is no '%.80s': accepted are /, and below /api/v1/ list, run, bound, "
                      "sweep and export",
                      head->uri);
        return CS_HTTP_NOT_FOUND;
    }
    if (!(near->is_post ? is_post : is_get)) {
        (void)CS_FAIL(err, CS_EINVAL, "", "%s takes %s alone", near->path,
                      near->is_post ? "POST" : "GET");
        return CS_HTTP_METHOD;
    }
    list_queries(near->path, length, list, sizeof list);
    (void)CS_FAIL(err, CS_EINVAL, "", "'%.80s': accepted behind %s is %s", head->uri, near->path,
                  list);
    return CS_HTTP_BAD;
}

/* ---- what is sent ---- */

static int check_body(const cs_request_head *head, cs_error *err)
{
    static const char json[] = "application/json";
    const char       *type   = head->content_type != NULL ? head->content_type : "";
    size_t            length = strcspn(type, "; \t");

    if (length != strlen(json) || strncasecmp(type, json, length) != 0) {
        (void)CS_FAIL(err, CS_EINVAL, "Content-Type", "'%.80s': accepted is %s", type, json);
        return CS_HTTP_MEDIA;
    }
    if (head->content_length != NULL &&
        strtoull(head->content_length, NULL, 10) > CS_REQUEST_MOST_BYTES) {
        (void)CS_FAIL(err, CS_EINVAL, "Content-Length", "%.30s bytes: accepted are at most %d",
                      head->content_length, CS_REQUEST_MOST_BYTES);
        return CS_HTTP_LARGE;
    }
    return 0;
}

int cs_request_check(const cs_request_rules *rules, const cs_request_head *head, cs_call *call,
                     cs_error *err)
{
    const route_row *route = NULL;
    int              http  = check_host(rules, head, err);

    http = http == 0 ? check_origin(head, err) : http;
    http = http == 0 ? find_route(head, &route, err) : http;
    if (http == 0 && route->is_post) {
        http = check_body(head, err);
    }
    if (http == 0) {
        *call = route->call;
    }
    return http;
}

/* ---- statuses ---- */

int cs_http_status(cs_status status)
{
    switch (status) {
    case CS_OK: return CS_HTTP_OK;
    case CS_EINVAL:
    case CS_ENOENT:
    case CS_EPARSE: return CS_HTTP_BAD;
    case CS_ENOTSUP:
    case CS_ENOMEM:
    case CS_EMISSING:
    case CS_EWRONG: return CS_HTTP_UNPROCESSABLE;
    case CS_EIO:
    case CS_EINTERNAL:
    case CS_STATUS_COUNT: break;
    }
    return CS_HTTP_FAILED;
}

const char *cs_http_code(int http, cs_status status)
{
    switch (http) {
    case CS_HTTP_FORBIDDEN: return "forbidden";
    case CS_HTTP_NOT_FOUND: return "no_such_path";
    case CS_HTTP_METHOD: return "wrong_method";
    case CS_HTTP_SLOW: return "too_slow";
    case CS_HTTP_LARGE: return "too_large";
    case CS_HTTP_MEDIA: return "no_json";
    case CS_HTTP_MANY: return "too_many";
    case CS_HTTP_BUSY: return "busy";
    case CS_HTTP_FAILED: return "failed";
    case CS_HTTP_UNPROCESSABLE:
        return status == CS_ENOMEM     ? "limit"
               : status == CS_EMISSING ? "not_here"
               : status == CS_EWRONG   ? "wrong_schedule"
                                       : "refused";
    default: break;
    }
    return status == CS_EPARSE ? "malformed" : status == CS_ENOENT ? "no_such_name" : "bad_value";
}
