/* SPDX-License-Identifier: GPL-3.0-or-later */
/* serve/request.h -- may a request be answered, and what does it ask for? Decided from its first
 * line and headers alone, without a socket.
 *
 * Whoever can open a page in the user's browser can have it send requests to 127.0.0.1. So the Host
 * must be an address that the server listens on (a name that was bound to 127.0.0.1 is not), the
 * Origin must be the server's own, and what is sent must say that it is JSON, which a form cannot.
 */
#ifndef CS_SERVE_REQUEST_H
#define CS_SERVE_REQUEST_H

#include "cs/error.h"

#include <stddef.h>
#include <stdint.h>

enum { CS_REQUEST_MOST_BYTES = 1 << 20, CS_HOST_BYTES = 80 };

/* Statuses of HTTP that are given. */
enum {
    CS_HTTP_OK            = 200,
    CS_HTTP_BAD           = 400,
    CS_HTTP_FORBIDDEN     = 403,
    CS_HTTP_NOT_FOUND     = 404,
    CS_HTTP_METHOD        = 405,
    CS_HTTP_SLOW          = 408,
    CS_HTTP_LARGE         = 413,
    CS_HTTP_MEDIA         = 415,
    CS_HTTP_UNPROCESSABLE = 422,
    CS_HTTP_MANY          = 429,
    CS_HTTP_FAILED        = 500,
    CS_HTTP_BUSY          = 503,
};

typedef enum cs_route {
    CS_ROUTE_PAGE,
    CS_ROUTE_LIST,
    CS_ROUTE_RUN,
    CS_ROUTE_BOUND,
    CS_ROUTE_SWEEP,
    CS_ROUTE_CONFIG, /* the three of export */
    CS_ROUTE_COMMAND,
    CS_ROUTE_REPORT,
} cs_route;

/* What is asked for. */
typedef struct cs_call {
    cs_route    route;
    bool        wants_page, wants_trace; /* of a run */
    const char *body;                    /* borrowed; NULL: none */
    size_t      length;
} cs_call;

/* The first line and the headers; texts are borrowed, NULL: there is none. */
typedef struct cs_request_head {
    const char *method, *uri; /* with what stands behind "?" */
    const char *host, *origin, *content_type;
    size_t      n_hosts, n_origins; /* how often they came */
    const char *content_length;
} cs_request_head;

/* Where the server is. */
typedef struct cs_request_rules {
    uint16_t    port;
    const char *address; /* that of --listen, or to which the connection came; NULL: 127.0.0.1 */
} cs_request_rules;

/* Decide. 0, and the call without its body is filled; or the status of HTTP, with the error. */
int cs_request_check(const cs_request_rules *rules, const cs_request_head *head, cs_call *call,
                     cs_error *err);

/* The word of a status of HTTP in answers: "bad_value". Static storage. */
const char *cs_http_code(int http, cs_status status);

/* The status of HTTP that tells an error of the library. */
int cs_http_status(cs_status status);

#endif
